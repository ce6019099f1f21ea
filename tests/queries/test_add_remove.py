"""Add-remove neighbours of scalar queries: global, local and smooth sensitivity against the definition, on all data sets."""

from __future__ import annotations

import functools
import itertools
import json
import math
import statistics
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.cli import main
from discreet.errors import DiscreetError, GridError, OutOfRangeError, ReleaseError, SizeError, TableInputError

ANSWERS = {
    "count": sum,
    "sum": sum,
    "mean": lambda x: Fraction(sum(x)) / len(x),
    "max": max,
    "min": min,
    "median": statistics.median_low,
    "quantile(1/4)": lambda x: sorted(x)[max(math.ceil(Fraction(len(x), 4)), 1) - 1],
    "quantile(0.9)": lambda x: sorted(x)[math.ceil(Fraction(9 * len(x), 10)) - 1],
    "quantile(2/3)": lambda x: sorted(x)[math.ceil(Fraction(2 * len(x), 3)) - 1],
}


@functools.cache
def distances(values, most):
    """All data sets of up to `most` records, and how many records must be removed and added from each to each."""
    sets = [x for m in range(most + 1) for x in itertools.combinations_with_replacement(values, m)]
    counted = {x: Counter(x) for x in sets}
    return sets, {
        (x, y): sum(((counted[x] - counted[y]) + (counted[y] - counted[x])).values()) for x in sets for y in sets
    }


def by_definition(answer, values, most, empty):
    """The answers, local sensitivities, and the largest of them within each distance."""
    sets, apart = distances(values, most)
    answers = {x: Fraction(answer(x)) if x else empty for x in sets}
    local = dict.fromkeys(sets, Fraction(0))
    for (x, y), d in apart.items():
        if d == 1:
            local[x] = max(local[x], abs(answers[x] - answers[y]))

    def nearby(x):
        found = [Fraction(0)] * (2 * most + 1)
        for y in sets:
            found[apart[x, y]] = max(found[apart[x, y]], local[y])
        return list(itertools.accumulate(found, max))

    return answers, local, nearby


SETTINGS = [
    (1, (0, 2, 5), Fraction(1)),
    (2, (-3, 0, 1), Fraction(0)),
    (3, (0, 1, 4, 6), Fraction(6)),
    (4, (0, 3, 4), Fraction(-2)),
    (5, (0, 1, 5), Fraction(5, 2)),
]


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize(("most", "values", "empty"), SETTINGS)
def test_sensitivities_are_those_of_the_definition(name, most, values, empty):
    """The domain holds both ends and the records, between which the closed forms choose; beta = ln 2 makes all discounts exact."""
    low, high = values[0], values[-1]
    if name == "count":
        values, low, high = (0, 1), None, None
    if name in ("count", "sum"):
        empty = Fraction(0)
    q = dt.queries.query(name, records=most, low=low, high=high, relation="add-remove", empty=empty)
    answers, local, nearby = by_definition(ANSWERS[name], values, most, empty)
    assert q.global_sensitivity == max(local.values())
    assert q.output == (min(answers.values()), max(answers.values()))
    for x in local:
        near = nearby(x)
        assert q.answer(x)._value == answers[x]
        assert q.local_sensitivity(x)._value == local[x]
        reach = q._reach(q._read(x))
        assert [reach.exact(min(k, reach.last)) for k in range(len(near))] == near
        smooth = max(a / 2**k for k, a in enumerate(near))
        told = q.smooth_sensitivity(x[::-1], beta="ln 2")._value
        assert smooth <= told <= smooth * (1 + Fraction(1, 2**51))


def test_it_is_not_what_one_changed_record_can_do():
    """The controls: with one record changed the mean of two moves by half, and here by all; a full data set has no room."""
    opened = dt.queries.query("mean", records=2, low=0, high=1, relation="add-remove", empty=0)
    assert (opened.global_sensitivity, dt.queries.query("mean", records=2, low=0, high=1).global_sensitivity) == (
        1,
        1 / 2,
    )
    total = dt.queries.query("sum", records=2, low=0, high=5, relation="add-remove")
    assert total.local_sensitivity([1, 2])._value == 2
    assert total.local_sensitivity([1])._value == 5
    count = dt.queries.query("count", records=2, relation="add-remove")
    assert [int(count.local_sensitivity(x)) for x in ([0, 0], [0, 1], [0], [])] == [0, 1, 1, 1]


def test_many_records_and_records_of_every_kind():
    rng = np.random.default_rng(0)
    x = rng.random(500)
    for name in ("median", "max", "mean"):
        q = dt.queries.query(name, records=1000, low=0, high=1, relation="add-remove", empty="1/2")
        one, other = (
            q.smooth_sensitivity(x, beta="1/3"),
            q.smooth_sensitivity([Fraction(v) for v in x.tolist()], beta="1/3"),
        )
        assert one == other
        assert float(q.local_sensitivity(x)) <= float(one) <= float(q.global_sensitivity)
    # next to the median of 500 records, rank 250: one more has the same rank, one fewer too
    ordered = np.sort(x)
    median = dt.queries.query("median", records=1000, low=0, high=1, relation="add-remove", empty=0)
    gaps = [Fraction(b) - Fraction(a) for a, b in itertools.pairwise(ordered.tolist()[248:251])]
    assert median.local_sensitivity(x)._value == max(gaps[1], Fraction(0))
    rough = [Fraction(1, 3), Fraction(10**20 + 1, 10**20 + 2), Fraction(1, 7)]
    assert float(median.smooth_sensitivity(rough, beta=1)) > 0
    assert isinstance(dt.queries.sensitivity(median, x).smooth, dt.results.PrivateNumber)


def test_it_is_told():
    q = dt.queries.query("median", records=9, low=0, high=100, relation="add-remove", empty=50)
    assert "up to 9 records" in str(q)
    assert "one record is there or is not" in str(q)
    assert q.to_dict()["relation"] == "add-remove"
    assert q.steps(1) == 100
    told = dt.queries.sensitivity("median", [1, 2, 30], records=9, low=0, high=100, relation="add-remove", empty=50)
    assert told.global_sensitivity == 100
    assert "do not publish" in str(told)
    assert told.local == q.local_sensitivity([1, 2, 30])
    assert dt.queries.sensitivity(q).local is None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        ({"name": "mean", "records": 3, "low": 0, "high": 1}, GridError, "declare the mean of none, as in empty=0"),
        ({"name": "sum", "records": 3, "low": 0, "high": 1, "empty": 1}, GridError, "sum of no records is 0"),
        ({"name": "variance", "records": 3, "low": 0, "high": 1, "empty": 1}, ReleaseError, "public number of records"),
        ({"name": "mean", "at_least": 3, "low": 0, "high": 1, "empty": 1}, GridError, "number of records is private"),
        ({"name": "mean", "records": 3, "low": 1, "high": 0, "empty": 1}, GridError, "must lie below"),
        (
            {"name": "mean", "records": 3, "low": 0, "high": 1, "empty": "many"},
            DiscreetError,
            "the answer on no records",
        ),
        ({"name": "count", "records": 3, "low": 2}, GridError, "0 or 1"),
    ],
)
def test_queries_that_make_no_sense(call, error, words):
    with pytest.raises(error, match=words):
        dt.queries.query(**call, relation="add-remove")


def test_data_that_make_no_sense():
    q = dt.queries.query("count", records=2, relation="add-remove")
    with pytest.raises(TableInputError, match="more than 2 records, the largest number that was declared"):
        q.answer([0, 1, 1])
    with pytest.raises(OutOfRangeError, match="position 1 is neither 0 nor 1"):
        q.answer([0, "1/2"])
    with pytest.raises(TableInputError, match="one line"):
        q.answer([[0, 1]])
    with pytest.raises(ReleaseError, match="global sensitivity"):
        q.release([0, 1], step=1, epsilon=1)
    with pytest.raises(ReleaseError, match="is not known; give"):
        dt.queries.query("count", records=2, relation="presence")
    with pytest.raises(GridError, match="leave empty out"):
        dt.queries.query("mean", records=2, low=0, high=1, empty=0)
    with pytest.raises(DiscreetError, match="leave out at_least and relation"):
        dt.queries.sensitivity(max, domain=[0, 1], records=2, relation="add-remove")
    far = dt.queries.query("median", records=10**5, low=0, high=1, relation="add-remove", empty=0)
    with pytest.raises(SizeError, match="give a larger beta"):
        far.smooth_sensitivity(["1/2"] * 40_000, beta="1e-6")


def test_the_command_takes_relation_and_at_least(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")

    def told(*words):
        with pytest.raises(SystemExit) as stopped:
            main(["sensitivity", *map(str, words)])
        return stopped.value.code, *capsys.readouterr()

    ages = ("--query", "mean", "--low", 0, "--high", 120)
    assert json.loads(told(*ages, "--at-least", 100, "--json")[1])["global"] == "6/5"
    opened = (*ages, "--records", 100, "--relation", "add-remove")
    assert json.loads(told(*opened, "--empty", 40, "--json")[1])["global"] == "80"
    code, _, error = told(*opened)
    assert code != 0
    assert "declare the mean of none" in error
    assert told("--query", "standard-deviation", "--records", 5, "--low", 0, "--high", 10)[1].startswith(
        "standard deviation of 5 records in 0..10: global sensitivity 4"
    )
