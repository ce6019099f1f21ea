"""One number of two groups: an interval for their difference that holds, and where people are sent to it."""

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dt
from discreet.errors import RecoveryError

WAVE = dt.square_wave(100, epsilon=2)
PLACES = np.arange(101)
NORTH, SOUTH = (stats.binom.pmf(PLACES, 100, chance) for chance in (0.37, 0.42))


def seen(law, reports, seed, m=WAVE):
    """An estimate from so many reports; its distribution does not matter here."""
    counts = np.random.default_rng(seed).multinomial(reports, m.finite().push(law))
    return dt.recover(counts, m, "ibu", iterations=1, kind="counts")


def test_means_that_differ_are_seen_to_where_no_share_is():
    north, south = seen(NORTH, 10_000, 1), seen(SOUTH, 10_000, 2)
    told = north.difference(south, of="mean", names=("north", "south"))
    assert told.high < 0
    assert told.low < -5 < told.high  # the truth
    assert told.difference == pytest.approx(north.direct().estimate - south.direct().estimate)
    assert "The two differ, with at least 0.95 confidence." in str(told)
    shares = north.difference(south)
    assert ((shares.low < 0) & (shares.high > 0)).all()
    assert 'difference(..., of="mean")' in str(shares)
    few = seen(NORTH, 100, 1).difference(seen(SOUTH, 100, 2), of="mean")
    assert few.low < 0 < few.high
    assert "do not show that the two differ" in str(few)


@pytest.mark.parametrize(
    ("of", "f"), [("mean", PLACES), ("cdf(29)", PLACES <= 29), (lambda age: age > 50, PLACES > 50)]
)
def test_the_interval_is_what_both_groups_own_leave(of, f):
    """At 0.9 each group's is the one at 0.95."""
    one, other = seen(NORTH, 3000, 3), seen(SOUTH, 2000, 4)
    told = one.difference(other, 0.9, of=of)
    (low, high), (least, most) = one.interval(0.95, f), other.interval(0.95, f)
    assert (told.low, told.high) == pytest.approx((low - most, high - least))
    assert (told.first, told.second) == pytest.approx((one.direct(f).estimate, other.direct(f).estimate))


def test_it_covers():
    """400 times; without the half of the error for each group, at less than half of the confidence, it does not."""
    m, truths = dt.square_wave(20, epsilon=1), [stats.binom.pmf(np.arange(21), 20, p) for p in (0.3, 0.5)]
    covered = control = 0
    for seed in range(400):
        one, other = (seen(law, 500, [seed, k], m) for k, law in enumerate(truths))
        told, narrow = one.difference(other, of="mean"), one.difference(other, 0.3, of="mean")
        covered += told.low <= -4 <= told.high
        control += narrow.low <= -4 <= narrow.high
    assert covered >= 0.95 * 400
    assert not control >= 0.95 * 400


def test_groups_are_compared_by_name_and_for_machines():
    rng = np.random.default_rng(5)
    ages = np.concatenate([rng.binomial(100, 0.3, 2000), rng.binomial(100, 0.6, 2000), rng.binomial(100, 0.6, 100)])
    table = {"region": ["north"] * 2000 + ["south"] * 2000 + [None] * 100}
    table = pa.table(table | {"age": WAVE.sample(ages, source=dt.insecure_source(5))})
    groups = dt.recover(dt.tally(table, "age", WAVE, by="region"), WAVE, "ibu", by="region", iterations=1)
    told = groups.difference("north", "south", of="mean")
    assert repr(told) == "<NumberDifference mean: north less south, with an interval at 0.95 confidence>"
    written = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    assert written["groups"] == ["north", "south"]
    assert (written["of"], written["confidence"]) == ("mean", 0.95)
    assert {name: written[name] for name in told.rows()[0]} == told.rows()[0]
    assert written["low"] < -30 < written["high"]
    assert "mean: north less (missing)" in str(groups.difference("north", None, of="mean"))


def test_reports_without_a_group_are_a_group_with_a_label():
    aged = pa.table({"region": ["north", None], "age": [3, 4], "count": [500, 300]})
    groups = dt.recover(aged, dt.square_wave(10, epsilon=2), "ibu", by="region", iterations=1)
    assert [row[0] for row in groups.view().rows] == ["north", "(missing)"]
    assert groups.to_dict()["groups"][1]["group"] == [None]
    assert groups[None].reports == 300


def test_intervals_of_means_say_why_they_are_not_centred():
    counts = pa.table({"g": [1, 2], "x": [3, 4], "count": [50, 30]})
    groups = dt.recover(counts, dt.square_wave(10, epsilon=2), "ibu", by="g", iterations=1)
    assert "need not be in the middle" in str(groups)
    named = dt.recover(counts, dt.randomized_response(10, epsilon=2), "ibu", by="g", iterations=1)
    assert "need not be in the middle" not in str(named)


def test_what_cannot_be_compared_is_refused():
    one = seen(NORTH, 100, 1)
    for of in ("cells", "cdf"):
        with pytest.raises(RecoveryError, match=r"has a number for each value.*cdf\(29\)"):
            one.difference(one, of=of)
    with pytest.raises(RecoveryError, match="other answers"):
        one.difference(dt.recover([3, 4, 5], dt.square_wave(10, epsilon=2), "ibu", kind="reports"), of="mean")
    with pytest.raises(RecoveryError, match="confidence"):
        one.difference(one, 2, of="mean")
    names = dt.recover({"a": 3, "b": 4}, dt.randomized_response(["a", "b"], epsilon=1))
    with pytest.raises(RecoveryError, match="no mean"):
        names.difference(names, of="mean")
    assert names.difference(names, of=lambda name: name == "a").difference == 0
    assert "of=" not in str(names.difference(names))  # names have no mean to be sent to
