"""recover: what it reads, what it refuses, and every method against an independent one."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Map, Mixture, Then
from discreet.errors import DiscreetError, RecoveryError, SingularError, SizeError
from discreet.recovery.ibu import _after, ibu
from discreet.recovery.likelihood import Fit, is_injective
from discreet.recovery.mle import _MassNewton
from discreet.recovery.recover import inverse, to_simplex
from discreet.recovery.tallies import histogram_of
from discreet.seal import stochastic_table
from tests.profiles import examples

FOUR = dt.geometric(4, alpha="1/2")
COUNTS = np.array([30, 25, 20, 15, 10]) * 100
LAW = [0.1, 0.55, 0.25, 0.1, 0]


# The contract


def test_the_maximum_likelihood_estimate():
    e = dt.recover(COUNTS, FOUR, method="mle")
    np.testing.assert_allclose(e.distribution, LAW, atol=1e-7)
    assert e.gap < 1e-8
    assert e.log_likelihood < 0


def test_a_newton_step_is_found_where_the_hessian_is_singular():
    """Two values that no report tells apart: a ridge makes the factor, and one refinement takes it out again."""
    p, z, gradient, wanted = np.array([0.3, 0.6]), np.array([0.2, 0.1]), np.array([0.5, 0.4]), np.array([0.6, 1.2])
    hessian = np.ones((2, 2))
    dp, dz = _MassNewton(hessian, p, z, gradient).solve(wanted)
    np.testing.assert_allclose(hessian @ dp, wanted / p + z - gradient, rtol=1e-6)
    np.testing.assert_allclose(z * dp + p * dz, wanted)


def test_an_exact_number_of_iterations():
    e = dt.recover(COUNTS, FOUR, method="ibu", iterations=5000)
    assert abs(sum(e.distribution) - 1) < 1e-12
    assert e.iterations == 5000
    assert [k for k, _, _ in e.trace] == [0, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000, 2000, 3000, 5000]
    np.testing.assert_allclose(e.distribution, LAW, atol=1e-3)


def test_auto_is_the_default():
    e = dt.recover(COUNTS, FOUR)
    low, high = e.interval(0.95)
    assert low < high
    assert 0 <= float(e.mean()) <= 4
    assert e.quantile(0.5) in range(5)
    assert e.method == "auto"


def test_the_inverse_is_the_maximum_here():
    counts = np.array([2500, 2000, 2000, 1500, 2000])
    e = dt.recover(counts, FOUR, method="inverse")
    np.testing.assert_allclose(e.distribution, [0.1, 0.35, 0.3, 0.15, 0.1], atol=1e-14)
    assert e.gap < 1e-14
    assert e.unique
    assert e.log_likelihood == pytest.approx(float(counts @ np.log(counts / 10000)), rel=1e-12)
    other = dt.recover(COUNTS, FOUR, method="inverse")  # r[4] = -0.1: the projection is not the maximum
    assert other.unique is None
    assert other.gap > 1e-3
    assert dt.recover(COUNTS, FOUR, method="mle").log_likelihood > other.log_likelihood + 1


# What it reads


def test_every_kind_of_column_gives_one_histogram():
    pyarrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    reports = [0, 3, 3, 1, 4, 4, 4, 0]
    expected = [2, 1, 0, 2, 3]
    columns = [
        reports,
        tuple(reports),
        np.array(reports),
        np.array(reports, dtype=np.uint8),
        np.array(reports, dtype=float),
        np.array(reports).reshape(2, 4),
        [Fraction(r) for r in reports],
        [Decimal(r) for r in reports],
        pyarrow.array(reports),
        pyarrow.chunked_array([reports[:3], reports[3:]]),
        pandas.Series(reports, index=range(8, 0, -1)),
        polars.Series("r", reports),
        {0: 2, 1: 1, 3: 2, 4: 3},
        {"0": 2, 1.0: 1, 3: 2, 4: np.int64(3)},
    ]
    for column in columns:
        assert histogram_of(column, FOUR).tolist() == expected
    for counts in (expected, tuple(expected), np.array(expected, dtype=float), pandas.Series(expected)):
        assert histogram_of(counts, FOUR, "counts").tolist() == expected
        assert histogram_of(counts, FOUR, "counts").tolist() == expected


def test_as_many_numbers_as_reports_are_counts_unless_you_say_otherwise():
    assert histogram_of([4, 4, 9, 0, 1], FOUR).tolist() == [4, 4, 9, 0, 1]
    with pytest.raises(RecoveryError, match='set kind="reports" or kind="counts"'):
        histogram_of([4, 4, 4, 0, 1], FOUR)
    long = dt.geometric(40, alpha="1/2")
    assert "Read as a histogram" in str(dt.recover(np.arange(41), long, "inverse"))
    assert "histogram" not in str(dt.recover(np.arange(41), long, "inverse", kind="counts"))
    assert histogram_of([4, 4, 4, 0, 1], FOUR, "reports").tolist() == [1, 1, 0, 0, 3]
    assert histogram_of([4, 4, 4, 0, 1, 1], FOUR).tolist() == [1, 2, 0, 0, 3]


@pytest.mark.parametrize(("library", "kind"), [("pyarrow", "table"), ("pandas", "DataFrame"), ("polars", "DataFrame")])
def test_a_tally_is_no_histogram_of_uncertain_meaning(library, kind):
    """Though it has as many cells as there are reports, and each could be one."""
    table = getattr(pytest.importorskip(library), kind)
    mechanism, tally = dt.geometric(39, alpha="1/2"), {"y": list(range(20)), "count": [1 + k % 7 for k in range(20)]}
    estimate = dt.recover(table(tally), mechanism, "inverse")
    assert not any("histogram" in note for note in estimate.notes)
    assert str(estimate) == str(dt.recover(dict(zip(*tally.values(), strict=True)), mechanism, "inverse"))
    assert any("histogram" in note for note in dt.recover(tally["count"] * 2, mechanism, "inverse").notes)


def test_reports_on_grids_that_are_no_counts():
    m = dt.geometric(dt.Grid("-1/5", "1/5", "1/10"), alpha="1/2")
    drawn = m.sample(np.full(200, 0.1), source=dt.insecure_source(1))
    counts = histogram_of(drawn, m)
    assert counts.sum() == 200
    assert histogram_of(["0.1", *drawn.tolist()], m).tolist() == (counts + np.eye(5)[3]).tolist()
    assert histogram_of(drawn.astype(np.float32), m).tolist() == counts.tolist()
    for end in (-0.2, 0.2):
        assert histogram_of([end], m).sum() == 1  # the float nearest to an end, though it lies beyond it
        with pytest.raises(RecoveryError, match="outside"):
            histogram_of([float(np.nextafter(end, 9 * end))], m)
    for far in (float("inf"), float("-inf")):
        with pytest.raises(RecoveryError, match="outside"):
            histogram_of([0.1, far], m)
    assert histogram_of(["0.1", "0.1", "-1/5"], m).tolist() == [1, 0, 0, 2, 0]
    assert histogram_of({Fraction(1, 10): 3}, m).tolist() == [0, 0, 0, 3, 0]
    with pytest.raises(RecoveryError, match=r"position 1, 0.15.* between two values"):
        histogram_of([0.1, 0.15], m)
    even = dt.geometric(dt.Grid(0, 10, 2), alpha="1/2")
    assert histogram_of(np.array([2, 2, 10]), even).tolist() == [0, 2, 0, 0, 0, 1]
    with pytest.raises(RecoveryError, match="position 2, 3, lies between"):
        histogram_of(np.array([2, 2, 3]), even)


@given(st.integers(1, 30), st.data())
@settings(max_examples=examples(40))
def test_reports_and_their_histogram_say_the_same(n, data):
    m = dt.geometric(n, alpha="1/2")
    reports = data.draw(st.lists(st.integers(0, n), min_size=1, max_size=40))
    counts = histogram_of(reports, m, "reports")
    assert counts.tolist() == [reports.count(k) for k in range(n + 1)]
    assert histogram_of({k: reports.count(k) for k in set(reports)}, m).tolist() == counts.tolist()


@pytest.mark.parametrize(
    ("data", "kind", "words"),
    [
        ([0, 1, 7], "auto", r"position 2, 7, lies outside the reports' grid 0..4"),
        ([0, -1, 2], "auto", r"position 1, -1, lies outside"),
        (np.array([0, 1, 2, 9]), "auto", "position 3, 9,"),
        ([0, 1.5, 2], "auto", "position 1, 1.5, lies between"),
        ([0.2, 0.2, 0.2, 0.2, 0.2], "auto", "position 0, 0.2.*if these are counts, they must be whole"),
        ([1, 2, 3, -4, 5], "auto", "position 3, -4.*if these are counts"),
        ([0.0, float("nan")], "auto", "position 1, nan, is missing"),
        ([0, None, 2], "auto", "position 1"),
        ([0, "many", 2], "auto", "position 1 is missing or not a number"),
        (np.ma.masked_array([1, 2], [False, True]), "auto", "position 1 is missing"),
        ([1, 2, 3, 4, -5], "counts", "count at position 4 is -5"),
        ([1, 2.5, 3, 4, 5], "counts", "count at position 1 is 2.5"),
        ([1, float("nan"), 3, 4, 5], "counts", "count at position 1 is nan"),
        ([1, 2, 3], "counts", r"one count for each of the 5 reports.*kind=\"reports\""),
        ({0: 1, 9: 2}, "auto", "position 1, 9, is not on"),
        ({0: 1, 1: -2}, "auto", "count of the report 1 is -2"),
        ({0: 1, 1: 0.5}, "auto", "count of the report 1 is 0.5"),
        ({0: 1}, "reports", "mapping"),
        ([], "auto", "no reports"),
        ([0, 0, 0, 0, 0], "counts", "no reports"),
        ({}, "auto", "no reports"),
        ([2**53, 2**53, 1, 1, 1], "counts", "at most 2.53"),
        (object(), "auto", "Cannot read reports from object"),
        ("0123", "auto", "Cannot read reports from str; make a tally of the file first"),
        (Path("0123"), "auto", "make a tally of the file first"),
        (pd.DataFrame({"x": [1, 2], "g": ["a", None]}), "auto", "DataFrame; make a tally of the table first"),
        ([1, 2], "histograms", "kind = 'histograms'"),
    ],
)
def test_what_cannot_be_reports_is_refused_by_position(data, kind, words):
    with pytest.raises(RecoveryError, match=words):
        histogram_of(data, FOUR, kind)


def test_missing_values_in_columns_are_named():
    pyarrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    for column in (
        pyarrow.array([1, 2, None]),
        pandas.Series([1, 2, None]),
        polars.Series([1, 2, None]),
        pandas.Series([1, 2, None], dtype="Int64"),
    ):
        with pytest.raises(RecoveryError, match="position 2 is missing"):
            histogram_of(column, FOUR)


def test_unbounded_and_huge_mechanisms_say_what_to_do():
    with pytest.raises(RecoveryError, match="truncate"):
        dt.recover([1, 2, 3], dt.geometric(dt.Grid(None, None), alpha="1/2"))
    with pytest.raises(SizeError, match="coarser"):
        dt.recover([1, 2, 3], dt.geometric(10**9, alpha="1/2"))


def test_a_report_that_cannot_be_is_refused():
    m = dt.geometric(4, alpha="1/2").remap([0, 0, 2, 4, 4])
    for method in ("ibu", "mle", "auto", "inverse"):
        with pytest.raises(RecoveryError, match="position 1 of the reports' grid was seen"):
            dt.recover([5, 1, 5, 0, 5], m, method)


# Options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "em"}, "method = 'em'"),
        ({"method": "mle", "iterations": 5}, 'iterations is for method="ibu", not "mle"'),
        ({"method": "auto", "start": LAW}, 'start is for method="ibu"'),
        ({"method": "inverse", "gap": 1e-3}, 'gap is for method="auto" or "mle" or "ibu"'),
        ({"method": "mle", "accelerate": True}, "accelerate is for"),
        ({"method": "ibu", "iterations": -1}, "iterations = -1"),
        ({"method": "ibu", "iterations": 2.5}, "iterations = 2.5"),
        ({"method": "ibu", "gap": 0}, "gap = 0"),
        ({"method": "mle", "gap": float("nan")}, "gap = nan"),
        ({"method": "ibu", "iterations": 5, "accelerate": True}, "Accelerated steps cannot be counted"),
        ({"method": "ibu", "start": LAW}, "no probability to the true value at position 4"),
        ({"method": "ibu", "start": [0.5, 0.5]}, "5 probabilities"),
        ({"method": "ibu", "start": [0.3] * 5}, "sum to 1"),
        ({"method": "ibu", "start": "uniform"}, "must be a list of at least one number"),
        ({"kind": "frequencies"}, "kind ="),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(RecoveryError, match=words):
        dt.recover(COUNTS, FOUR, **options)


def test_the_mechanism_must_be_one():
    with pytest.raises(RecoveryError, match="is no mechanism"):
        dt.recover(COUNTS, FOUR.matrix)
    assert issubclass(RecoveryError, DiscreetError)


def test_every_method_says_how_far_it_is():
    said: list[str] = []
    dt.recover(COUNTS, FOUR, "ibu", iterations=2500, progress=said.append)
    assert said[0].startswith("step 0, gap")
    assert said[-1].startswith("step 2500, gap")
    assert len(said) == 4


# The update


def test_a_gap_is_met_or_the_shortfall_is_said():
    met = dt.recover(COUNTS, FOUR, "ibu", gap=1e-7)
    assert met.gap <= 1e-7
    assert met.notes == ()
    short = dt.recover(COUNTS, FOUR, "ibu", gap=1e-12, iterations=50)
    assert short.gap > 1e-12
    assert short.iterations == 50
    assert "Stopped after 50 steps" in short.notes[0]
    assert dt.recover(COUNTS, FOUR, "ibu").gap <= 1e-6
    plain = dt.recover(COUNTS, FOUR, "ibu", gap=1e-5, accelerate=False)
    assert plain.iterations > 2 * dt.recover(COUNTS, FOUR, "ibu", gap=1e-5).iterations


def test_acceleration_saves_what_was_measured():
    """n = 100, randomised response: tens of evaluations where plain steps need thousands (a measurement, with room)."""
    m = dt.randomized_response(100, epsilon="ln 2")
    truth = np.zeros(101)
    truth[[15, 40, 65, 90]] = 0.2, 0.3, 0.1, 0.4
    counts = np.random.default_rng(1).multinomial(100_000, truth @ m.matrix)
    fast, slow = (dt.recover(counts, m, "ibu", gap=1e-4, accelerate=a) for a in (True, False))
    assert fast.iterations < 100
    assert slow.iterations > 2000
    assert abs(fast.log_likelihood - slow.log_likelihood) <= 100_000 * 1e-4


def test_recursions_and_matrix_products_are_the_same_steps(monkeypatch):
    rng = np.random.default_rng(2)
    stairs = dt.staircase(30, step=1, epsilon=1, sensitivity=2)
    for m in (dt.geometric(40, alpha="4/5"), dt.randomized_response(40, alpha="1/3"), stairs):
        counts = rng.multinomial(300, np.full(m.outputs.size, 1 / m.outputs.size))
        counts[3] = 0  # one that was not seen
        products = dt.recover(counts, m, "ibu", iterations=200)
        with monkeypatch.context() as patched:
            patched.setattr("discreet.recovery.ibu._PRODUCTS", 0)
            steps = dt.recover(counts, m, "ibu", iterations=200)
        np.testing.assert_allclose(steps.distribution, products.distribution, rtol=1e-9, atol=1e-12)
        assert steps.gap == pytest.approx(products.gap, rel=1e-6)


def test_large_grids_are_fine():
    m = dt.geometric(20_000, epsilon="0.01")
    counts = np.bincount(m.sample(np.full(3000, 7000), source=dt.insecure_source(3)), minlength=20_001)
    e = dt.recover(counts, m, "ibu", iterations=20)
    assert abs(e.mean() - 7000) < 20
    assert abs(m.finite().solve(counts / 3000) @ np.arange(20_001) - 7000) < 20
    assert abs(dt.recover(counts, m, "inverse").mean() - 7000) < 50


def test_steps_that_are_kept():
    kept, k = [0], 0
    while k < 10**6:
        kept.append(k := _after(k))
    assert kept[:12] == [0, 1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300]
    assert kept[-1] == 10**6
    assert _after(7) == 10
    assert _after(60) == 100


# The inverse


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=12))
@settings(max_examples=examples(100))
def test_the_nearest_law(values):
    r = np.array(values) + (1 - sum(values)) / len(values)
    law = to_simplex(r)
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1)
    # optimality: the multiplier is the same wherever the law is positive, and no smaller elsewhere
    moved = r - law
    t = moved[law > 0]
    assert np.ptp(t) < 1e-9
    assert (moved[law == 0] <= t.max() + 1e-9).all()


def test_the_inverse_is_moved_to_the_nearest_distribution():
    q = np.array([35, 5, 30, 5, 25])
    raw = q / 100 @ np.linalg.inv(FOUR.matrix)
    near = dt.recover(q, FOUR, "inverse")
    assert raw.min() < 0
    assert "moved to the nearest distribution" in near.notes[0]
    clipped = np.maximum(raw, 0) / np.maximum(raw, 0).sum()
    assert np.linalg.norm(near.distribution - raw) < np.linalg.norm(clipped - raw)
    best = dt.recover(q, FOUR, "ibu", gap=1e-9)
    assert near.log_likelihood < best.log_likelihood
    assert best.log_likelihood - near.log_likelihood <= 100 * near.gap


def test_channels_without_an_inverse_say_so():
    with pytest.raises(SingularError):
        dt.recover([1, 2, 3, 4, 5], dt.uniform(4), "inverse")
    flat = dt.from_matrix([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["3/8", "3/8", "1/4"]], alpha="1/2")
    with pytest.raises(SingularError, match="maximum likelihood"):
        dt.recover([4, 2, 3], flat, "inverse")
    merged = dt.geometric(4, alpha="1/2").remap([0, 0, 2, 4, 4])
    with pytest.raises(SingularError):
        dt.recover([5, 0, 5, 0, 5], merged, "inverse")


# Uniqueness


@given(st.integers(1, 5), st.data())
@settings(max_examples=examples(60))
def test_is_injective_is_the_rank(n, data):
    m = data.draw(st.sampled_from([dt.geometric, dt.randomized_response, dt.explicit_fair]))(n, alpha="1/2")
    seen = np.array(data.draw(st.lists(st.booleans(), min_size=n + 1, max_size=n + 1).filter(any)))
    augmented = np.column_stack([m.matrix[:, seen], np.ones(n + 1)])
    assert is_injective(m.finite(), seen / seen.sum()) == (np.linalg.matrix_rank(augmented) == n + 1)


# h with Ch = f


CHANNELS = [
    dt.geometric(1, alpha="1/2").finite(),
    dt.geometric(9, alpha="9/10").finite(),
    dt.explicit_fair(6, alpha="1/2").finite(),
    dt.randomized_response(7, alpha="1/3").finite(),
    dt.staircase(8, step=1, epsilon=2, sensitivity=2).finite(),
    Then(dt.geometric(5, alpha="1/2").finite(), Map(np.array([5, 4, 3, 2, 1, 0]), 6)),
    Then(dt.geometric(5, alpha="1/2").finite(), Map(np.array([0, 1, 2, 4, 5, 6]), 7)),
    Then(dt.geometric(5, alpha="1/2").finite(), dt.randomized_response(5, alpha="1/3").finite()),
    stochastic_table([["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]])[0],  # more reports than values
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda c: f"{type(c).__name__}-{c.rows}x{c.reports}")
def test_unpull_solves_for_functions_and_for_many(channel):
    rng = np.random.default_rng(4)
    many = rng.normal(size=(channel.rows, 3))
    solved = channel.unpull(many)
    np.testing.assert_allclose(channel.matrix @ solved, many, atol=1e-9)
    for k in range(3):
        np.testing.assert_allclose(channel.unpull(many[:, k]), solved[:, k], atol=1e-9)
    if channel.rows == channel.reports:
        np.testing.assert_allclose(solved, np.linalg.solve(channel.matrix, many), atol=1e-7)
    np.testing.assert_allclose(channel.unpull(np.full(channel.rows, 7.0)), 7.0, rtol=1e-12)
    with pytest.raises(DiscreetError, match="one number for each"):
        channel.unpull(np.ones(channel.rows + 1))


def test_unpull_refuses_what_has_no_solution():
    place = np.arange(5.0)
    merged = dt.geometric(4, alpha="1/2").remap([0, 0, 2, 4, 4]).finite()
    for channel in (Mixture(5, Fraction(0)), merged, Map(np.array([0, 0, 1, 2, 3]), 4)):
        with pytest.raises(SingularError):
            channel.unpull(place)
    np.testing.assert_array_equal(Mixture(5, Fraction(0)).unpull(np.ones(5)), np.ones(5))
    even = Map(np.array([0, 0, 1, 1, 2]), 3)  # a function that the merged values share is fine
    np.testing.assert_array_equal(even.unpull(np.array([1.0, 1, 5, 5, 9])), [1, 5, 9])


def test_then_finds_a_solution_that_its_first_part_alone_misses():
    first = stochastic_table([["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]])[0]
    chain = Then(first, Map(np.array([0, 0, 1]), 2))
    f = np.array([1.0, 4.0])
    np.testing.assert_allclose(chain.matrix @ chain.unpull(f), f, atol=1e-12)


def test_fits_cannot_change():
    fit = inverse(FOUR.finite(), COUNTS / COUNTS.sum())
    assert isinstance(fit, Fit)
    with pytest.raises(ValueError, match="read-only"):
        fit.law[0] = 1
    e = dt.recover(COUNTS, FOUR, "inverse")
    with pytest.raises(ValueError, match="read-only"):
        e.counts[0] = 1
    counts = COUNTS.copy()
    dt.recover(counts, FOUR, "inverse")
    counts[0] = 7  # what was given stays the caller's
    assert json.dumps(e.to_dict())
    assert ibu(FOUR.finite(), COUNTS / COUNTS.sum(), iterations=0).law.tolist() == [0.2] * 5
