"""Releases by a mechanism of one's own: whatever its reports look like, intervals cover, and nothing fails once it is paid."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.channels import Additive, Then
from discreet.errors import ReleaseError, StructureError
from discreet.tables.publish.page import release_page
from tests.asking import ask_release

from ..cells import for_each

GOAL = Fraction(19, 20)
G60, G20 = dt.geometric(60, alpha="3/4"), dt.geometric(20, alpha="1/2")
SCRAMBLED = np.random.default_rng(5).permutation(21).tolist()
WIDE = [[6, 3, 1, 1, 1], [3, 6, 1, 1, 1], [1, 3, 6, 1, 1]]  # three truths, five reports
TALL = [["5/6", "1/6"], ["1/2", "1/2"], ["1/3", "2/3"], ["1/6", "5/6"], ["1/6", "5/6"]]  # five truths, two reports

OWN = {
    "truncated": G60.truncate(10, 50),
    "then suppression": G60.then(dt.traditional.suppression(60)),
    "then rounding": G60.then(dt.traditional.random_rounding(60, base=3)),
    "then rounding, twice": G20.then(dt.traditional.random_rounding(20, base=5)).remap(
        lambda v: -v, outputs=dt.Grid(-20, 0, 5)
    ),
    "coarse": G20.remap(lambda v: v // 4 * 4, outputs=dt.Grid(0, 20, 4)),
    "far away": G20.remap(lambda v: v + 1000, outputs=dt.Grid(1000, 1020)),
    "negative": G20.remap(lambda v: v - 30, outputs=dt.Grid(-30, -10)),
    "halves": G20.remap(lambda v: Fraction(v, 2), outputs=dt.Grid(0, 10, "1/2")),
    "thirds": G20.remap(lambda v: Fraction(v - 7, 3), outputs=dt.Grid("-7/3", "13/3", "1/3")),
    "scrambled": G20.remap(SCRAMBLED),
    "two reports": G20.remap(lambda v: int(v > 10), outputs=1),
    "sparse": G20.remap(lambda v: 5 * v, outputs=100),  # most reports never come
    "random remap": G20.remap([[Fraction(1 + (i == j), 22) for j in range(21)] for i in range(21)]),
    "staircase": dt.staircase(20, epsilon=1, sensitivity=2, step=1),
    "laplace": dt.laplace(dt.Grid(0, 20), epsilon="1/2"),
    "fair": dt.explicit_fair(12, alpha="2/3"),
    "response": dt.randomized_response(9, epsilon=3),
    "uniform": dt.uniform(6),
    "more reports": dt.from_matrix([[Fraction(w, 12) for w in row] for row in WIDE], outputs=dt.Grid(10, 50, 10)),
    "fewer reports": dt.from_matrix(TALL, outputs=dt.Grid(-1, 3, 4)),
}


@pytest.fixture
def ledger(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("people", "100", relation="add-remove")
        book.create("bits", "100", relation="change-one", public=["k"])
        yield book


@pytest.fixture
def people() -> pandas.DataFrame:
    return pandas.DataFrame({"k": [0, 1, 1], "bit": ["yes", "no", "yes"]})


def every_report(m: dt.Mechanism) -> list[int | Fraction]:
    return [m.outputs.value(j) for j in range(m.outputs.size)]


def reporting(monkeypatch, reports: list[int | Fraction]) -> None:
    """From now on a draw for so many groups gives these reports, in their order."""
    real = dt.Mechanism.sample

    def sample(self, values, clamp):
        if len(values) != len(reports):
            return real(self, values, clamp=clamp)
        return np.array([int(r) if self.outputs.is_integer else float(r) for r in reports])

    monkeypatch.setattr(dt.Mechanism, "sample", sample)


def released(people, ledger, m: dt.Mechanism, groups: int, **other):
    asked = {"dataset": "people", "by": ["k"], "domain": {"k": list(range(groups))}, "epsilon": "5"}
    return ask_release(people, ledger=ledger, mechanism=m, **{**asked, **other})


def with_reports(people, ledger, m: dt.Mechanism, reports: list[int | Fraction]):
    """A release of as many groups as there are reports, which gets these reports."""
    with pytest.MonkeyPatch.context() as patch:
        reporting(patch, reports)
        return released(people, ledger, m, len(reports))


@pytest.mark.parametrize("name", OWN)
def test_every_report_of_ones_own_mechanism_is_read_right(people, ledger, name):
    m = OWN[name]
    reports = every_report(m)
    made = with_reports(people, ledger, m, reports)
    assert_intervals_cover(m, made, reports)
    assert made.columns["standard_error"] == [None] * len(reports)  # no sum of them is unbiased
    assert any("do not add up these counts" in text.lower() for text in made.record["beware"])


def assert_intervals_cover(m: dt.Mechanism, made: dt.results.Release, reports: list[int | Fraction]) -> None:
    """Exactly: for each true count the chances of the reports whose interval holds it, added up, as fractions."""
    assert [Fraction(r).limit_denominator(10) for r in made.columns["report"]] == reports
    ends = list(zip(made.columns["low"], made.columns["high"], strict=True))
    weights, total = m.finite().integers()
    for x, row in enumerate(weights.tolist()):
        assert Fraction(sum(w for w, (low, high) in zip(row, ends, strict=True) if low <= x <= high), total) >= GOAL
    assert all(0 <= low <= high <= m.inputs.n for low, high in ends)
    exact = [dt.measure.confidence_interval(m, report) for report in reports]
    assert ends == exact
    moved = [min(max(x, low), high) for x, (low, high) in zip(reports, exact, strict=True)]
    assert made.columns["published"] == moved
    json.dumps([made.rows(), made.record], allow_nan=False)
    release_page(made)
    assert len(made.to_pandas()) == len(reports)


def test_the_intervals_of_a_truncated_mechanism_are_where_its_reports_are():
    """Negative control of the coverage: not everything, but 20 give or take the reach of the noise.

    Pr[noise >= k] = a^k/(1+a) is at most 1/40 from k = 11 on for a = 3/4.
    """
    assert dt.measure.confidence_interval(OWN["truncated"], 20) == (10, 30)
    assert dt.measure.confidence_interval(OWN["far away"], 1007) == dt.measure.confidence_interval(G20, 7)
    assert dt.measure.confidence_interval(OWN["halves"], "7/2") == dt.measure.confidence_interval(G20, 7)


@for_each("m", [OWN["fair"], OWN["truncated"], OWN["halves"], dt.geometric(dt.Grid(0, None), alpha="1/2")])
def test_nothing_is_added_up_of_reports_with_ends(people, ledger, m):
    """Refused by the sentence that preview and check say, measured ones before anything is charged; the rest is released."""
    why = "Counts drawn by a mechanism of your own cannot be added up: .* leave the mechanism out"
    before = ledger["people"].balance().spent
    with pytest.raises(ReleaseError, match=why):
        released(people, ledger, m, 2, measure_totals=[[]])
    assert ledger["people"].balance().spent == before
    with pytest.raises(ReleaseError, match=why):
        released(people, ledger, m, 2).with_totals("total")
    with pytest.raises(ReleaseError, match="Counts drawn by explicit_fair cannot be added up"):
        released(people, ledger, "explicit_fair", 2, dataset="bits", count="bit = 'yes'").with_totals("total")
    told = ledger["people"].preview(table=people, by=["k"], domain={"k": [0, 1]}, epsilon=5, mechanism=m, check=True)
    assert re.search(why, told.advice)
    assert re.search(why, str(told.check).replace("\n", " "))
    assert released(people, ledger, m, 2).columns["published"]
    assert ledger["people"].balance().spent == before + 5  # one charge: nothing was charged for what was refused


@pytest.mark.parametrize("name", OWN)
def test_the_preview_of_one_s_own_mechanism(people, ledger, name):
    m = OWN[name]
    rows = ledger["people"].preview(table=people, by=["k"], domain={"k": [0]}, epsilon=5, mechanism=m).rows()
    assert 0 <= rows[0]["half width"] <= m.inputs.n / 2


def test_one_s_own_mechanism_under_bit_privacy(people, ledger):
    """Public zeros beside it, a pooled cell, halves as reports."""
    made = released(
        people,
        ledger,
        OWN["halves"],
        0,
        dataset="bits",
        count="bit = 'yes'",
        pool_other=True,
        domain={"k": [0, 7]},
    )
    assert made.columns["mechanism"] == ["remap", "public zero", "remap"]
    assert made.columns["report"][1] == 0
    assert all(2 * r == int(2 * r) for r in made.columns["report"])
    again = released(
        people,
        ledger,
        OWN["halves"],
        0,
        dataset="bits",
        count="bit = 'yes'",
        pool_other=True,
        domain={"k": [0, 7]},
    )
    assert again.record["repeated"]
    assert dict(again.columns) == dict(made.columns)


@pytest.mark.parametrize(
    "m",
    [
        dt.geometric(90, alpha="3/4").truncate(20, 70),
        dt.geometric(90, alpha="3/4").truncate(20, 70).remap(lambda v: v // 10 * 10, outputs=dt.Grid(20, 90, 10)),
        dt.staircase(60, epsilon=1, sensitivity=3, step=1).remap(lambda v: 60 - v),
    ],
    ids=repr,
)
def test_mapped_reports_whose_law_is_too_large_to_write_out_cover_all_the_same(m, monkeypatch):
    weights, total = m.channel.integers()
    monkeypatch.setattr(Then, "integers", lambda self: None)  # as if it were larger
    low, high = m.channel.interval(np.arange(m.outputs.size), 1 - GOAL)
    for x, row in enumerate(weights.tolist()):
        assert Fraction(sum(w for w, a, b in zip(row, low, high, strict=True) if a <= x <= b), total) >= GOAL
    assert np.median(high - low) < m.inputs.n / 2


def test_a_large_truncated_mechanism_is_released(people, ledger):
    made = released(people, ledger, dt.geometric(10**5, alpha="1/2").truncate(10, 10**4), 2)
    assert made.columns["report"][0] >= 10
    assert made.columns["low"][0] == 0  # 10 stands for everything below


# Open grids


OPEN = [
    dt.geometric(dt.Grid(0, None), alpha="3/4"),
    dt.laplace(dt.Grid(0, None), epsilon="1/3"),
    dt.staircase(dt.Grid(0, None), epsilon=1, sensitivity=2),
    dt.staircase(dt.Grid(0, None), epsilon="1/2", sensitivity=5),
    dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=3),
]


@pytest.mark.parametrize("m", OPEN, ids=repr)
def test_intervals_on_open_grids_cover(m):
    """The misses of a truth are two tails of the noise: from the first report whose interval lies above it, or below it."""
    assert isinstance(m.channel, Additive)
    noise, low_end = m.channel.noise, m.channel.low
    for x in range(0, 60, 7):
        reports = np.arange(0 if low_end is not None else x - 400, x + 400)
        low, high = m.channel.interval(reports, 1 - GOAL)
        below, above = reports[high < x], reports[low > x]
        assert np.array_equal(below, reports[: len(below)])  # two tails, each without a gap
        assert np.array_equal(above, reports[len(reports) - len(above) :])
        missed = (noise.upper(int(x - below[-1])) if len(below) else 0) + noise.upper(int(above[0] - x))
        assert 0 < missed <= 1 - GOAL
        assert (high - low).max() < 200  # and no interval of everything


@pytest.mark.parametrize("m", OPEN[:4], ids=repr)
def test_open_mechanisms_of_one_s_own_are_released(people, ledger, monkeypatch, m):
    far = 2**61 - 1  # where reports of an open grid saturate
    reporting(monkeypatch, [0, 5, far])
    made = released(people, ledger, m, 3)
    assert made.columns["low"][0] == 0
    assert made.columns["low"][2] <= far <= made.columns["high"][2]
    release_page(made)


def test_noise_wider_than_the_numbers_there_are_does_not_wrap():
    """At alpha so near to 1 the noise passes every position; an interval is then everything, on both sides of the report."""
    m = dt.geometric(dt.Grid(0, None), alpha=1 - Fraction(1, 2**100))
    low, high = m.channel.interval(np.array([0, 2**61 - 1]), 1 - GOAL)
    assert low.tolist() == [0, 0]
    assert (high >= 2**61 - 1).all()


def test_very_wide_noise_has_an_interval_too(people, ledger):
    """The tails of a staircase are certified by their logarithms, however far out they lie."""
    m = dt.staircase(dt.Grid(0, None), epsilon="1e-4", sensitivity=2)
    made = released(people, ledger, m, 2)
    reach = (made.columns["high"][0] - made.columns["report"][0]) + 1
    law = m.channel.noise
    assert law.upper(reach) <= (1 - GOAL) / 2 < law.upper(reach - 1)


# Nothing fails after the charge


@pytest.mark.parametrize(
    "m",
    [
        G20.remap(lambda v: Fraction(v, 3**40), outputs=dt.Grid(0, Fraction(20, 3**40), Fraction(1, 3**40))),
        dt.geometric(dt.Grid(0, 20, "1/2"), alpha="1/2"),
        dt.geometric(100, alpha=1 - Fraction(1, 2**1060)),
    ],
    ids=["too fine", "halves in", "too noisy"],
)
def test_what_cannot_be_read_is_refused_and_free(people, ledger, m):
    with pytest.raises((ReleaseError, StructureError)):
        released(people, ledger, m, 2)
    assert ledger["people"].balance().spent == 0


def test_a_law_too_large_to_write_out_is_read_in_floats_with_a_margin():
    m = dt.geometric(300, alpha="1/2").then(dt.traditional.random_rounding(300))
    assert m.finite().integers() is None
    low, high = m.channel.interval(np.arange(m.outputs.size), 1 - GOAL)
    covered = (low[None, :] <= np.arange(301)[:, None]) & (np.arange(301)[:, None] <= high[None, :])
    assert ((m.matrix * covered).sum(axis=1) >= float(GOAL)).all()
    assert (high - low).max() < 30  # and not everything


@pytest.mark.parametrize("epsilon", ["1e-17", "1e-9", "1/10", "40"])
@pytest.mark.parametrize("end", [0, 1])
def test_totals_over_small_and_large_groups_do_not_fail(ledger, monkeypatch, epsilon, end):
    table = pandas.DataFrame({"k": [0] * 10 + [1] * 200, "bit": ["yes", "no"] * 105})
    ledger.create("both", "100", relation="change-one", public=["k", "j"])
    reporting(monkeypatch, [[0, 0, 0], [10, 200, 0]][end])
    made = (
        ledger["both"]
        .release(
            table.assign(j=1), count="bit = 'yes'", by=["k", "j"], epsilon=epsilon, domain={"k": [0, 1, 2], "j": [1]}
        )
        .with_totals("j", "k")
    )
    assert made.record["epsilon_charged"] == str(Fraction(epsilon))
    release_page(made)
    json.dumps([made.rows(), dict(made.margins)], allow_nan=False)


@pytest.mark.parametrize("epsilon", ["1e-17", "1e-6"])
@pytest.mark.parametrize("report", [-(2**60), 0, 3, 2**60])
def test_totals_of_enormous_reports_end_and_do_not_wrap(ledger, monkeypatch, epsilon, report):
    table = pandas.DataFrame({"k": [0, 1], "j": [1, 1]})
    keys = list(range(9))
    reporting(monkeypatch, [report] * 9)
    made = (
        ledger["people"]
        .release(table, by=["k", "j"], domain={"k": keys, "j": [1]}, epsilon=epsilon, mechanism="geometric")
        .with_totals("j")
    )
    total = made.margins["j"][0]
    assert total["total"] == sum(made.columns["fitted"])
    assert 0 <= total["low"] <= total["total"] <= total["high"]


def test_a_level_between_some_pairs_of_counts_is_no_level_of_a_count(people, ledger):
    """It holds between 0 and 1 alone; a person may change any other count, which this mechanism would report as it is."""
    shown = dt.from_matrix(
        [["2/3", "1/3", 0, 0], ["1/3", "2/3", 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], neighbours=[(0, 1)]
    )
    assert shown.alpha == Fraction(1, 2)
    with pytest.raises(ReleaseError, match="any count by one"):
        ledger["people"].release(people, mechanism=shown, by=["k"], domain={"k": [0, 1]}, epsilon=5)
    assert ledger["people"].balance().spent == 0


def test_a_mechanism_with_an_end_brings_it_and_the_release_says_so(ledger):
    """Of a private size a count is moved into its inputs; a public size that is larger is refused."""
    many = pandas.DataFrame({"k": [0] * 30, "bit": ["yes"] * 30})
    sharp = dt.geometric(3, epsilon=40)
    made = released(many, ledger, sharp, 1, epsilon=40)
    assert made.columns["published"] == [3]
    assert "Counts above 3 are counted as 3, and intervals are of these counts." in made.record["beware"]
    with pytest.raises(ReleaseError, match="a group may have 30; make it larger"):
        released(many, ledger, G20, 1, dataset="bits", count="bit = 'yes'")
    assert ledger["bits"].balance().spent == 0


def test_no_interval_reaches_beyond_the_public_size_of_a_group(ledger):
    """A mechanism made for 30 may report 25 of a group of 9: the count is still at most 9."""
    ledger.create("sized", "9", relation="change-one", public=["k"])
    table = pandas.DataFrame({"k": [0] * 9 + [1] * 30, "x": [True, False, False] * 13})
    made = ledger["sized"].release(
        table,
        count="x = true",
        by=["k"],
        domain={"k": [0, 1]},
        epsilon="1/2",
        mechanism=dt.staircase(30, epsilon="1/2", sensitivity=3),
    )
    assert made.columns["high"][0] <= 9
    assert made.columns["high"][1] > 9
    assert all(low <= high for low, high in zip(made.columns["low"], made.columns["high"], strict=True))
