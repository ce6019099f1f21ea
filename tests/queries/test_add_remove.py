"""Add-remove neighbours of scalar queries: the global sensitivity against the definition, on all data sets."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from fractions import Fraction

import pytest

import discreet as dt
from discreet.cli import main
from discreet.errors import DiscreetError, GridError, ReleaseError

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


def by_definition(answer, values, most, empty):
    """The answers on all data sets of up to `most` records, and the most that one record more changes one of them."""
    sets = [x for m in range(most + 1) for x in itertools.combinations_with_replacement(values, m)]
    answers = {x: Fraction(answer(x)) if x else empty for x in sets}
    changes = [abs(answers[x] - answers[tuple(sorted((*x, v)))]) for x in sets if len(x) < most for v in values]
    return answers, max(changes)


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
    answers, largest = by_definition(ANSWERS[name], values, most, empty)
    assert q.global_sensitivity == largest
    assert q.output == (min(answers.values()), max(answers.values()))


def test_it_is_not_what_one_changed_record_can_do():
    """The control: with one record changed the mean of two moves by half, and here by all."""
    opened = dt.queries.query("mean", records=2, low=0, high=1, relation="add-remove", empty=0)
    assert (opened.global_sensitivity, dt.queries.query("mean", records=2, low=0, high=1).global_sensitivity) == (
        1,
        1 / 2,
    )


def test_it_is_told():
    q = dt.queries.query("median", records=9, low=0, high=100, relation="add-remove", empty=50)
    assert "up to 9 records" in str(q)
    assert "one record is there or is not" in str(q)
    assert q.to_dict()["relation"] == "add-remove"
    assert q.steps(1) == 100
    told = dt.queries.sensitivity("median", records=9, low=0, high=100, relation="add-remove", empty=50)
    assert told.global_sensitivity == 100
    assert dt.queries.sensitivity(q).to_dict() == told.to_dict()


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


def test_what_cannot_be_asked():
    q = dt.queries.query("count", records=2, relation="add-remove")
    with pytest.raises(DiscreetError, match="the global sensitivity alone is known; leave the data out"):
        dt.queries.sensitivity(q, [0, 1])
    with pytest.raises(ReleaseError, match="is not known; give"):
        dt.queries.query("count", records=2, relation="presence")
    with pytest.raises(GridError, match="leave empty out"):
        dt.queries.query("mean", records=2, low=0, high=1, empty=0)
    with pytest.raises(DiscreetError, match="leave out at_least and relation"):
        dt.queries.sensitivity(max, domain=[0, 1], records=2, relation="add-remove")


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
