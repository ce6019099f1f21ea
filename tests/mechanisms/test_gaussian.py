"""The Gaussian mechanism: its channel entry by entry, its claims, its reports read, its files and what follows it."""

from __future__ import annotations

import json
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet import files, verify
from discreet.channels import Clamped, Map, Then
from discreet.channels.properties import LETTERS, shape_faults
from discreet.errors import FileError, LevelError, SingularError
from discreet.exact.arithmetic import precision
from discreet.measure.description import describe
from discreet.mechanism import Mechanism, Recipe
from discreet.noise import GaussianNoise
from tests.gaussian_reference import Reference, decimal

OPEN = dt.Grid(None, None)
SIZES = [("1/5", 1), ("1/2", 2), ("9/10", 7), ("99/100", 30), ("999/1000", 12)]


def reference_rows(m: Mechanism) -> list[list[Decimal]]:
    n = m.inputs.n
    reference = Reference(m.channel.noise.q, n)
    return [reference.row(x, n) for x in range(n + 1)]


@pytest.mark.parametrize(("q", "n"), SIZES)
def test_rows_are_those_of_clamped_noise(q, n):
    m = dt.gaussian(n, q=q)
    rows = reference_rows(m)
    for i, row in enumerate(rows):
        assert float(sum(m.matrix[i])) == pytest.approx(1, abs=1e-14)
        assert m.channel.row(i) == pytest.approx(m.matrix[i], rel=1e-12)
        with precision(128):
            balls = m.channel.row_balls(i)
        for j, truth in enumerate(row):
            assert m.matrix[i, j] == pytest.approx(float(truth), rel=2e-15)
            assert abs(decimal(m.channel.entry(i, j)) / truth - 1) < Decimal("1e-30")
            assert float(balls[j].mid()) == pytest.approx(float(truth), rel=1e-14)
    law = np.linspace(1, 2, n + 1)
    assert m.channel.push(law) == pytest.approx(law @ m.matrix, rel=1e-12)
    assert m.channel.pull(law) == pytest.approx(m.matrix @ law, rel=1e-12)
    assert m.channel.integers() is None  # theta is no rational: there is no table


@pytest.mark.parametrize(("q", "n"), SIZES)
@pytest.mark.parametrize("steps", [1, 3])
def test_ratios_are_bounds_that_the_end_reaches(q, n, steps):
    m = dt.gaussian(n, q=q)
    rows = reference_rows(m)
    pairs = [(i, k) for i in range(n + 1) for k in range(n + 1) if 0 < abs(i - k) <= steps]
    for i, k in pairs:
        truth = max(a / b for a, b in zip(rows[i], rows[k], strict=True))
        ratio = m.channel.ratio(i, k)
        told = decimal(ratio.bound) ** ratio.power
        assert truth <= told <= truth * (1 + Decimal("1e-15"))
        assert rows[i][ratio.report] / rows[k][ratio.report] == truth
    worst = m.channel.worst(steps)
    largest = max(max(a / b for a, b in zip(rows[i], rows[k], strict=True)) for i, k in pairs)
    assert largest <= decimal(worst.bound) ** worst.power <= largest * (1 + Decimal("1e-15"))


def test_wide_grids_have_ratios_too_long_to_write_out():
    ratio = dt.gaussian(10**6, q="1/2").channel.worst(3)
    assert ratio.power > 1000
    assert float(math.log(ratio.bound) * ratio.power) == pytest.approx(6e6 * math.log(2), rel=1e-4)
    half_open = dt.gaussian(dt.Grid(0, None), q="9/10").channel
    assert half_open.ratio(5, 3).bound is None
    assert half_open.ratio(3, 5).report == 0
    assert half_open.ratio(4, 4).bound == 1


@pytest.mark.parametrize(("q", "n"), [*SIZES, ("3/5", 4), ("4/5", 2), ("13/20", 9)])
def test_properties_are_those_of_the_entries(q, n):
    """By the theorem against the entries, rounded to whole numbers over 10^40."""
    m = dt.gaussian(n, q=q)
    weights = np.array([[int(p.scaleb(40)) for p in row] for row in reference_rows(m)], dtype=object)
    broken = set(shape_faults(weights, 10**40))
    assert set(m.channel.faults()) == broken
    assert dt.properties(m) == set(LETTERS) - broken


def test_claims():
    m = dt.gaussian(100, q="99/100")
    assert float(m.rho) == pytest.approx(-math.log(0.99), rel=1e-11)
    assert m.rho >= Fraction("0.01005033585350144118")
    assert (m.alpha, m.epsilon, m.is_concentrated) == (0, math.inf, True)
    assert repr(m) == "<gaussian 0..100, rho <= 0.0100504>"
    assert dt.gaussian(OPEN, rho="1/3", sensitivity=5).rho == Fraction(1, 3)
    assert dt.gaussian(OPEN, standard_error=20).rho == Fraction(1, 800)
    assert dt.gaussian(dt.Grid(0, None, "1/2"), standard_error=20).rho == Fraction(1, 800)
    assert dt.gaussian(5, rho=2, sensitivity=9).rho <= 2  # neighbours are at most 5 steps apart
    assert not dt.geometric(8, epsilon=1).is_concentrated
    with pytest.raises(LevelError, match="no rho"):
        _ = dt.from_matrix([[1, 0], ["1/2", "1/2"]]).rho


def test_a_pure_mechanism_has_the_rho_of_its_level():
    assert Fraction("0.46211715726") < dt.geometric(8, epsilon=1).rho < Fraction("0.46211716")
    assert dt.geometric(8, epsilon=1).rho == dt.randomized_response(3, epsilon=1).rho
    assert dt.uniform(4).rho == 0


def test_equal_mechanisms():
    m = dt.gaussian(100, q="99/100")
    assert m == dt.gaussian(100, q=0.99) == pickle.loads(pickle.dumps(m))
    assert hash(m) == hash(dt.gaussian(100, q=0.99))
    assert m != dt.gaussian(100, q="98/100")
    assert m != dt.gaussian(100, q="99/100", sensitivity=2)
    assert m.digest != dt.geometric(100, alpha="99/100").digest


def test_post_processing_keeps_the_rho():
    m = dt.gaussian(100, q="99/100")
    for after in (m.truncate(10, 20), m.remap(lambda x: x // 7), m.then(dt.randomized_response(100, epsilon=1))):
        assert after.rho == m.rho
        assert after.is_concentrated
        assert dt.check_privacy(after, rho=m.rho)
    wide = dt.gaussian(OPEN, standard_error=20)
    assert wide.truncate(0, 50) == dt.gaussian(50, standard_error=20)
    before = Then(Map(np.array([0, 3, 4]), 5), Clamped(4, GaussianNoise(Fraction(1, 2))))
    assert before.concentration(1) == (Fraction(1, 2), 9)  # a map before it moves neighbours three apart
    assert before.concentration(2) == (Fraction(1, 2), 16)


def test_a_level_that_is_claimed_of_it_must_hold():
    grid = dt.Grid(0, 100)
    channel = Clamped(100, GaussianNoise(Fraction(99, 100)))
    recipe = Recipe("mine")
    assert Mechanism(grid, grid, channel, dt.Level.of(epsilon=3), dt.Neighbours.steps(1), recipe).epsilon <= 3.1
    with pytest.raises(dt.errors.PrivacyError):
        Mechanism(grid, grid, channel, dt.Level.of(epsilon=2), dt.Neighbours.steps(1), recipe)


@pytest.mark.parametrize(
    "bad", [{}, {"rho": 1, "q": "1/2"}, {"rho": 0}, {"q": "3/2"}, {"standard_error": -1}, {"rho": "x"}]
)
def test_what_cannot_be_made(bad):
    with pytest.raises(LevelError):
        dt.gaussian(8, **bad)


# Reports read


@pytest.mark.parametrize(("q", "n"), [("1/2", 6), ("9/10", 15), ("99/100", 40)])
@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
def test_intervals_cover_every_truth_in_exact_enumeration(q, n, confidence):
    m = dt.gaussian(n, q=q)
    ends = [dt.measure.confidence_interval(m, y, confidence=confidence) for y in range(n + 1)]
    for truth, row in enumerate(reference_rows(m)):
        covered = sum(p for p, (low, high) in zip(row, ends, strict=True) if low <= truth <= high)
        assert covered >= Decimal(confidence)
        assert abs(decimal(dt.measure.coverage(m, ends)[truth]) - covered) < Decimal("1e-24")


def test_intervals_on_open_grids_are_no_wider_than_they_must_be():
    m = dt.gaussian(OPEN, standard_error=20)
    low, high = dt.measure.confidence_interval(m, 0, confidence="0.95")
    reference = Reference(m.channel.noise.q)
    assert (low, high) == (-39, 39)
    assert 2 * reference.tail(high + 1) <= Decimal("0.05") < 2 * reference.tail(high)


def test_estimates():
    """On an open grid the report itself; clamped, where the channel can be inverted, its inverse; else it is said."""
    wide = dt.gaussian(OPEN, standard_error=20)
    assert wide.channel.estimate(np.array([3, -7])).tolist() == [3, -7]
    assert wide.channel.standard_error == pytest.approx(20, rel=1e-11)
    sharp = dt.gaussian(10, q="1/20")
    rows = np.array([[float(p) for p in row] for row in reference_rows(sharp)])
    assert rows @ dt.measure.unbiased_estimate(sharp) == pytest.approx(np.arange(11), abs=1e-9)
    with pytest.raises(SingularError):
        dt.measure.unbiased_estimate(dt.gaussian(100, q="99/100"))


def test_losses_and_remaps():
    m = dt.gaussian(12, q="4/5")
    rows = np.array([[float(p) for p in row] for row in reference_rows(m)])
    away = np.abs(np.arange(13)[:, None] - np.arange(13)[None, :])
    assert float(dt.expected_loss(m, "l1")) == pytest.approx((rows * away).sum() / 13, rel=1e-12)
    assert float(dt.measure.bayes_risk(m, loss="l1")) <= float(dt.expected_loss(m, "l1")) + 1e-12
    found = dt.recover(np.bincount(m.sample(np.full(4000, 5), source=dt.insecure_source(2)), minlength=13), m)
    assert found.distribution[4:7].sum() > 0.9


def test_it_has_pictures():
    pytest.importorskip("altair")
    m = dt.gaussian(12, q="4/5")
    assert m.plot() is not None
    assert m.plot("distribution", at=3) is not None


def test_what_is_described():
    told = describe(dt.gaussian(OPEN, standard_error=20))
    assert "no level, but rho <= 0.00125 (zCDP)" in told.headline
    assert "0.275168 with delta 1e-9" in told.headline
    assert Fraction(told.to_dict()["rho"]) == Fraction(1, 800)
    assert told.to_dict()["epsilon"] is None
    assert "95 % of it within 39" in str(told)
    assert "clamped" not in told.headline
    ended = dt.gaussian(5, rho="1/2")  # report 5 is farthest from both: the ratio of its tails is the largest
    rows = [[ended.channel.entry(x, y) for y in range(6)] for x in range(6)]
    worst = max(rows[x][y] / rows[z][y] for x in range(6) for z in (x - 1, x + 1) if 0 <= z < 6 for y in range(6))
    told = describe(ended).headline
    (own,) = re.findall(
        r"clamped to its ends it keeps epsilon <= (\S+) without a delta, too, which it does not claim", told
    )
    assert math.log(worst) <= float(own) <= math.log(worst) + 1e-5


# Files


MADE = {
    "closed": dt.gaussian(100, q="99/100"),
    "open": dt.gaussian(OPEN, rho="1/7", sensitivity=3),
    "half open": dt.gaussian(dt.Grid(0, None, "1/2"), standard_error=20),
    "truncated": dt.gaussian(40, q="9/10").truncate(5, 20),
    "remapped": dt.gaussian(40, q="9/10").remap(lambda x: x // 5, outputs=dt.Grid(0, 8)),
    "then": dt.gaussian(8, q="9/10").then(dt.randomized_response(8, epsilon=1)),
}


@pytest.mark.parametrize("name", MADE)
def test_files_hold_q_and_no_rows_and_come_back(name, tmp_path, capsys):
    m = MADE[name]
    m.save(tmp_path / "m.json")
    text = (tmp_path / "m.json").read_text()
    assert '"q"' in text
    again = dt.load(tmp_path / "m.json")
    assert again == m
    assert again.rho == m.rho == Fraction(json.loads(text)["claims"]["rho"])
    assert verify.main([str(tmp_path / "m.json")]) == 0
    assert f"verified: rho {m.rho} (zero-concentrated privacy) holds" in capsys.readouterr().out


def tampered(m: Mechanism, change) -> bytes:
    body = files.document(m)
    del body["digest"]
    change(body)
    return json.dumps({**body, "digest": verify.digest(body)}).encode()


def test_a_file_that_claims_too_much_is_refused():
    m = dt.gaussian(100, q="99/100")
    rho = m.rho

    def claims(value):
        return lambda body: body["claims"].update(rho=value)

    for value, kind in (
        (str(rho * Fraction(99_999, 100_000)), "claim"),
        ("0", "claim"),
        ("-1", "claim"),
        (None, "shape"),
        (0.5, "shape"),
        ("nan", "shape"),
    ):
        with pytest.raises(verify.Fault) as fault:
            verify.verify(verify.parse(tampered(m, claims(value))))
        assert fault.value.kind == kind
    assert verify.verify(verify.parse(tampered(m, claims(str(2 * rho))))).rho == 2 * rho  # less privacy may be claimed

    def wider(body):
        body["neighbours"]["steps"] = 2

    def sharper(body):
        body["channel"]["noise"]["q"] = "98/100"

    for change in (wider, sharper):
        with pytest.raises(verify.Fault, match="gives away"):
            verify.verify(verify.parse(tampered(m, change)))
    for q in ("0", "1", "3/2", "x"):
        with pytest.raises(verify.Fault):
            verify.verify(verify.parse(tampered(m, lambda body, q=q: body["channel"]["noise"].update(q=q))))
    with pytest.raises(verify.Fault, match="of Gaussian noise"):
        verify.verify(verify.parse(tampered(dt.geometric(8, epsilon=1), claims("1"))))
    with pytest.raises(verify.Fault):
        verify.verify(verify.parse(tampered(m, lambda body: body["level"].update(alpha="1/10"))))


def test_a_level_that_its_file_cannot_prove_is_not_saved(tmp_path):
    grid = dt.Grid(0, 100)
    channel = Clamped(100, GaussianNoise(Fraction(99, 100)))
    m = Mechanism(grid, grid, channel, dt.Level.of(epsilon=3), dt.Neighbours.steps(1), Recipe("mine"))
    with pytest.raises(FileError, match="does not hold"):
        m.save(tmp_path / "m.json")
