"""The difference between two releases: its intervals cover whatever is true, by exact enumeration of all reports."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.tables.saved import differences
from discreet.tables.saved.differences import difference
from tests.asking import ask_release

DOMAIN = {"g": ["a"]}


def _table(ill, well, value=0):
    return pa.table({"g": ["a"] * (ill + well), "ill": ["yes"] * ill + ["no"] * well, "x": [value] * (ill + well)})


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("open", 100, relation="add-remove")
        ledger.create("public", 100, relation="change-one", public=["g"])
        yield ledger


def _released(book, table, version, dataset="public", epsilon=2, **asked):
    asked = {"count": "ill = 'yes'", "by": "g", "domain": DOMAIN} | asked
    return ask_release(table, dataset=dataset, ledger=book, epsilon=epsilon, version=version, **asked)


def _with_report(made, report):
    """The same release, had this been drawn."""
    return replace(made, record={**made.record, "answer": {**made.record["answer"], "reports": [[report]]}})


def _fair(n):
    """What may be reported of each truth, and how likely that is."""
    m = dt.explicit_fair(n, epsilon=2)
    return {x: {y: m.channel.entry(x, y) for y in range(n + 1)} for x in range(n + 1)}


def _noisy(truths):
    """The same of noise on all whole numbers; what lies farther than 3 steps off counts as missed."""
    noise = dt.noise.geometric(epsilon=2)
    return {x: {x + k: noise.exact(k) for k in range(-3, 4)} for x in truths}


def _covered(later, earlier, laws, confidence, narrower=0):
    """The least probability, over these true numbers, that the interval covers their difference."""
    new, old = laws
    known = {}

    def ends(y, z):
        if (y, z) not in known:
            found = difference(_with_report(later, y), _with_report(earlier, z), confidence=confidence).rows()[0]
            known[y, z] = found["low"] + narrower, found["high"] - narrower
        return known[y, z]

    return min(
        sum(p * q for y, p in new[x].items() for z, q in old[w].items() if ends(y, z)[0] <= x - w <= ends(y, z)[1])
        for x, w in itertools.product(new, old)
    )


@pytest.mark.parametrize("confidence", ["0.5", "0.95"])
@pytest.mark.parametrize("family", ["explicit_fair", "geometric"])
def test_public_groups_are_covered_whatever_is_true(book, family, confidence):
    asked = {} if family == "geometric" else {"mechanism": family}
    later, earlier = _released(book, _table(2, 2), "2", **asked), _released(book, _table(1, 2), "1", **asked)
    assert later.columns["mechanism"] == earlier.columns["mechanism"] == [family]
    laws = (_noisy(range(5)), _noisy(range(4))) if family == "geometric" else (_fair(4), _fair(3))
    assert _covered(later, earlier, laws, confidence) >= Fraction(confidence)
    found = [difference(_with_report(later, y), _with_report(earlier, 3 - y)).rows()[0] for y in range(-3, 8)]
    assert all(-3 <= row["low"] < row["high"] <= 4 for row in found)  # what is possible, and never a point


def test_counts_of_private_sizes_are_covered_and_one_step_less_is_not(book):
    """Negative control: intervals that are one step narrower at both ends fail for some truth."""
    asked = {"dataset": "open"}
    later, earlier = _released(book, _table(2, 2), "2", **asked), _released(book, _table(1, 2), "1", **asked)
    laws = _noisy([0, 4]), _noisy([0, 3])
    assert _covered(later, earlier, laws, "0.95") >= Fraction(19, 20)
    assert _covered(later, earlier, laws, "0.95", narrower=1) < Fraction(19, 20)


def test_noise_without_ends_is_convolved_exactly(book):
    """Sums: both errors have one distribution, and the reach of their difference is that of the convolution, step by step."""
    asked = {"dataset": "open", "count": None, "sum": "x:0..5/1", "epsilon": 1}
    later, earlier = (_released(book, _table(300, 300, 4), version, **asked) for version in ("2", "1"))  # far from 0
    found = difference(later, earlier).rows()[0]
    noise = dt.staircase(dt.Grid(None, None), epsilon=1, sensitivity=5).channel.noise
    if later.columns["mechanism"] == ["geometric"]:
        noise = dt.geometric(dt.Grid(None, None), epsilon=1, sensitivity=5).channel.noise
    far = 400
    weights = {k: float(noise.upper(k) - noise.upper(k + 1)) if k >= 0 else 0.0 for k in range(far)}
    weights |= {-k: weights[k] for k in range(1, far)}

    def miss(reach):
        """Pr[|difference of the noises| > reach], by a sum over both."""
        return sum(p * sum(q for b, q in weights.items() if abs(a - b) > reach) for a, p in weights.items())

    half = found["high"] - found["difference"]
    assert found["difference"] - found["low"] == half
    assert miss(half) <= 0.05 < miss(half - 1)


def test_a_difference_is_narrower_than_both_intervals(book):
    asked = {"dataset": "open", "epsilon": 1}
    later, earlier = (_released(book, _table(30, 30), version, **asked) for version in ("2", "1"))
    found = difference(later, earlier).rows()[0]
    assert found["low"] <= found["difference"] <= found["high"]
    alone = later.columns["high"][0] - later.columns["low"][0]
    assert found["high"] - found["low"] < 2 * alone, "narrower than both intervals one after the other"


def test_shares_means_and_totals_have_intervals_too(book):
    asked = {"count": None, "share": "ill = 'yes'", "mean": "x:0..5", "dataset": "open", "margins": [[]], "epsilon": 8}
    later, earlier = (_released(book, _table(20, 20, 3), version, **asked) for version in ("2", "1"))
    found = difference(later, earlier)
    assert [row["statistic"] for row in found.rows()] == ["x", "share"]
    for row in (*found.rows(), *found.margins["total"]):
        assert row["low"] <= row["difference"] <= row["high"]


def test_the_numbers_are_those_that_were_published_and_add_up(book):
    """With totals, fitted ones: the parts of a difference add up to that of the total, and each interval holds its own."""
    table = pa.table({"g": list("aabc"), "ill": ["yes"] * 4})
    for k in range(6):
        later, earlier = (
            book["open"]
            .release(table, epsilon="1/4", version=version, by="g", domain={"g": list("abc")})
            .with_totals("total")
            for version in (f"{k} later", f"{k}")
        )
        found = later.difference(earlier)
        assert found.columns["later"] == later.columns["published"]
        assert found.columns["earlier"] == earlier.columns["published"]
        (total,) = found.margins["total"]
        assert sum(found.columns["difference"]) == total["difference"]
        assert all(row["low"] <= row["difference"] <= row["high"] for row in (*found.rows(), total))


def test_public_zeros_are_exact(book):
    later, earlier = (_released(book, _table(0, 0), version) for version in ("2", "1"))
    assert difference(later, earlier).rows() == [
        {"g": "a", "earlier": 0, "later": 0, "difference": 0, "low": 0, "high": 0}
    ]


def test_files_and_releases_are_compared_alike(book, tmp_path):
    later, earlier = _released(book, _table(2, 2), "2"), _released(book, _table(1, 2), "1")
    for made, name in ((later, "later"), (earlier, "earlier")):
        made.save(tmp_path / f"{name}.csv")
    assert (
        later.difference(earlier).to_dict() == difference(tmp_path / "later.json", tmp_path / "earlier.json").to_dict()
    )


def test_one_question_in_two_spellings_has_a_difference(book):
    """What the ledger knows as one question is one, whatever its statistics are called and in whichever order they were asked."""
    book.create("rich", 400, relation="change-one", public=["g"])
    first = {
        "count": {"sick": "ill = 'yes'", "both": "ill = 'yes' AND x > 0"},
        "weights": {"both": 2},
        "margins": "total",
    }
    other = {"count": ["x>0 and ill='yes'", "ILL='yes'"], "margins": "total"}
    later = _released(book, _table(9, 2, 1), "2", "rich", 60, **first)
    earlier = _released(book, _table(3, 2, 1), "1", "rich", 60, **other)
    found = difference(later, earlier.presented(labels={"ILL='yes'": "Sick"}))
    assert [(row["count"], row["earlier"], row["later"]) for row in found.rows()] == [("sick", 3, 9), ("both", 3, 9)]
    assert [(row["count"], row["difference"]) for row in found.margins["total"]] == [("sick", 6), ("both", 6)]
    for changed in (["x>0 and ill='yes'", "ill='no'"], ["x>1 and ill='yes'", "ill='yes'"], "ill='yes'"):
        other = _released(book, _table(3, 2, 1), f"of {changed}", "rich", 60, count=changed)
        with pytest.raises(ReleaseError, match="different questions"):
            difference(later, other)


def test_what_has_no_difference_is_refused(book):
    made = _released(book, _table(2, 2), "1")
    with pytest.raises(ReleaseError, match="one charge"):
        made.difference(made)
    other = _released(book, _table(2, 2), "2", count="ill = 'no'")
    with pytest.raises(ReleaseError, match="different questions"):
        made.difference(other)
    with pytest.raises(ReleaseError, match="confidence"):
        made.difference(_released(book, _table(2, 2), "3"), confidence=2)


def test_releases_that_count_different_things_have_no_difference(book):
    book.create("units", 100, relation="add-remove", unit="x", parts="ill")
    asked = {"dataset": "units", "count": "*", "epsilon": 1}
    table = _table(2, 2)
    made = {
        "units": _released(book, table, "1", **asked),
        "rows": _released(book, table, "2", **asked, counted="rows", max_rows=3),
        "fewer rows": _released(book, table, "3", **asked, counted="rows", max_rows=2),
        "a part": _released(book, table, "4", **asked, part="yes"),
    }
    for later, earlier in itertools.combinations(made, 2):
        with pytest.raises(ReleaseError, match=r"count different things|of a part alone"):
            made[later].difference(made[earlier])
    other = _released(book, table, "5", **asked, part="no")
    assert "version 4 (part yes) minus version 5 (part no)" in str(made["a part"].difference(other))


def test_differences_are_of_published_numbers(book):
    """Fitted to their totals, they differ from the reports; an interval holds the difference of what readers see."""
    asked = {"by": ["g", "ill"], "domain": {"g": ["a"], "ill": ["yes", "no"]}, "margins": [[]], "dataset": "open"}
    made = [
        ask_release(_table(4, 5), ledger=book, epsilon="1/10", version=v, **asked, measure_totals="total")
        for v in ("2", "1")
    ]
    found = made[0].difference(made[1])
    assert found.columns["later"] == made[0].columns["published"]
    assert found.columns["earlier"] == made[1].columns["published"]
    for row in found.rows():
        assert row["low"] <= row["later"] - row["earlier"] == row["difference"] <= row["high"]


@pytest.mark.parametrize(
    "other",
    [{"counted": "rows", "max_rows": 1, "max_groups": 1}, {"max_groups": 1}, {"pool_other": True}],
    ids=lambda other: next(iter(other)),
)
def test_what_is_counted_in_another_way_has_no_difference(book, other):
    book.create("homes", 100, relation="add-remove", unit="home")
    homes = _table(4, 4).append_column("home", pa.array([k // 2 for k in range(8)]))
    asked = {"dataset": "homes", "by": ["g", "ill"], "domain": {"g": ["a"], "ill": ["yes", "no"]}, "max_groups": 2}
    with pytest.raises(ReleaseError, match=r"count different things|pooled group"):
        _released(book, homes, "2", **{**asked, **other}).difference(_released(book, homes, "1", **asked))


def test_the_notes_say_what_is_not_the_same_in_both(book):
    both = {"ledger": book, "epsilon": 1, "by": "x"}
    young = {"x": {"young": [0, 17], "old": [18, None]}}
    later = ask_release(_table(2, 2), dataset="open", version="2", domain=young, **both)
    domain = {"x": {"young": [0, 29], "old": [30, None]}}
    text = str(later.difference(ask_release(_table(2, 2), dataset="open", version="1", domain=domain, **both)))
    assert "Groups by x, such as 'young', stand for other values" in text
    same = ask_release(_table(2, 2), dataset="open", version="3", domain=young, **both)
    [covers] = later.difference(same).record["notes"]
    assert covers.endswith("If it contains 0, the reports do not show a change.")


def test_the_notes_count_how_many_of_many_intervals_miss(book):
    asked = {"dataset": "open", "ledger": book, "epsilon": "1/2", "by": "x", "margins": ["total"]}
    asked |= {"domain": {"x": list(range(24))}}
    early, late = (ask_release(_table(2, 2), version=version, **asked) for version in ("many", "more"))
    note = "Each of these 25 intervals covers by itself, not all of them at once: on average up to {} of them miss by chance"
    assert note.format("1.3") in str(late.difference(early))  # 25 times 0.05, rounded up
    assert note.format("2.5") in str(late.difference(early, confidence="0.9"))
    assert "miss by chance" not in str(late.difference(early, confidence="0.99"))


def test_groups_that_one_release_lacks_are_left_out_and_counted(book):
    both = {"by": "g", "dataset": "public", "ledger": book, "epsilon": 1, "count": "ill = 'yes'"}
    later = ask_release(_table(2, 2), version="2", domain={"g": ["a", "b"]}, **both)
    earlier = ask_release(_table(2, 2), version="1", domain={"g": ["a", "c"]}, **both)
    found = later.difference(earlier)
    assert found.columns["g"] == ["a"]
    assert "2 rows are in one of the releases only" in str(found)
    assert differences.Difference is dt.results.Difference


def test_the_notes_say_where_the_map_behind_totals_is_another_one(book):
    def released(version, **maps):
        domain = {
            "g": ["north", "south"],
            **{name: {"of": "g", "map": pairs} for name, pairs in maps.items()},
        }
        margins = [[name] for name in maps]
        return (
            book["open"].release(_table(4, 4), version=version, domain=domain, by="g", epsilon=1).with_totals(*margins)
        )

    one = {"north": "A", "south": "B"}
    first = released("1", region=one, land=one)
    told = released("2", region={"north": "A", "south": "A"}, land=one).difference(first).record["notes"]
    assert [note for note in told if note.startswith("Totals")] == [
        "Totals by region are of other groups in one release than in the other: 'south' was moved."
    ]
    same = released("3", region=one, land=dict(reversed(one.items()))).difference(first).record["notes"]
    assert not [note for note in same if note.startswith("Totals")]
