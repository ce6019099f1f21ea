"""A question is a value: checked once, equal by content, written down and read again."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pickle
from fractions import Fraction

import pytest

import discreet as dt
from discreet.errors import DiscreetError
from discreet.questions.domain import Domain
from discreet.questions.question import QuestionParts

TOWNS = {"town": ["a", "b"], "age": {"0-17": [0, 17], "18+": [18, None], "?": None}}
MAPPED = {"town": ["a", None, "b"], "area": {"of": "town", "map": {"north": ["a", None], "south": ["b"]}}}
QUESTIONS = {
    "everybody": {},
    "a condition": {"count": "ill = 'yes'"},
    "named": {"count": {"ill": "sick", "all": "*"}, "by": "town", "domain": {"town": ["a", "b"]}},
    "a list": {"count": ["x > 1", "*", "x > 2"]},
    "sums": {"sum": {"pay": dt.Grid(0, 1000, 10)}, "mean": 'pay:0..1000/10 where "a b" > 3 missing 20', "share": "ill"},
    "one name for two": {"sum": "pay:-5..10/0.5", "mean": "pay:-5..10/0.5"},
    "weights": {"count": "ill", "sum": "pay:0..9", "weights": {"count": "1/999983", "pay": "3/999979"}},
    "recoded": {"by": ["age", "town"], "domain": TOWNS, "pool_other": True},
    "a map": {"by": ["town"], "domain": MAPPED, "measure_totals": [[], "area"], "max_groups": 3},
    "measured": {"by": ["town", "age"], "domain": TOWNS, "measure_totals": {"town": 2, "total": "1/7", "cells": 9}},
    "numbers as keys": {"by": ["floor", "yes"], "domain": {"keys": [[1, True], [2, False], [None, True]]}},
    "a family": {"mechanism": "geometric"},
    "one's own": {"mechanism": dt.geometric(9, epsilon="1/3")},
    "rows": {"count": ["*", "x > 1"], "counted": "rows", "max_rows": "6"},
    "ids": {"counted": "person", "max_rows": 6},
    "of a source": {
        "by": ["town"],
        "domain": {"format": "discreet-domain", "version": 1, "source": "a map", "columns": {"town": ["a"]}},
    },
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_what_is_written_down_is_read_again(what):
    asked = dt.Question(**QUESTIONS[what])
    again = dt.Question.from_dict(json.loads(json.dumps(asked.to_dict())))
    assert again == asked
    assert hash(again) == hash(asked)
    assert again.to_dict() == asked.to_dict()
    assert str(again) == str(asked)
    assert pickle.loads(pickle.dumps(asked)) == asked


def test_questions_of_other_contents_are_others():
    made = [dt.Question(**asked) for asked in QUESTIONS.values()]
    assert len({*made}) == len(made)
    assert all(a != b for k, a in enumerate(made) for b in made[:k])


def test_equal_however_it_is_spelled():
    one = dt.Question(count="ill", by=["a"], domain={"a": [1, 2]}, weights={"count": 5}, max_groups=2)
    other = dt.Question(count={"count": "ill"}, by="a", domain=Domain.of({"a": (1, 2)}), weights={}, max_groups="2")
    assert one == other
    assert one != dt.Question(count="ill", by=["a"], domain={"a": [2, 1]}, max_groups=2)


def test_a_question_stays_as_it_is():
    asked = dt.Question(count="ill")
    with pytest.raises(dataclasses.FrozenInstanceError):
        asked.max_groups = 5


@pytest.mark.parametrize("what", QUESTIONS)
def test_words_for_people_and_one_line_for_machines(what):
    asked = dt.Question(**QUESTIONS[what])
    assert repr(asked).startswith("Question(")
    assert len(repr(asked)) < 200
    assert "\n" not in repr(asked)
    counted = None if asked.counted == "units" else asked.counted_words(None)
    assert all(one.words(counted) in str(asked) for one in asked.statistics)
    assert counted is None or f"{counted}" in str(asked)


def test_words_say_what_is_asked():
    asked = dt.Question(
        **{**QUESTIONS["recoded"], "count": {"few": "x > 1"}, "mechanism": "geometric", "max_groups": 2},
        measure_totals=["town"],
    )
    assert str(asked) == (
        "count of x > 1 (few) by age, town, 7 groups (one of them of all others); totals measured: town, drawn by geometric; "
        "a person in up to 2 groups"
    )
    long = dt.Question(count=[f"x = {k}" for k in range(60)])
    assert repr(long).endswith("...)")
    assert "and 40 more" in str(long)


def test_a_person_counts_in_no_more_groups_than_there_are():
    groups = {"by": ["a"], "domain": {"a": [1, 2, 3]}}
    assert dt.Question(**groups, max_groups=9) == dt.Question(**groups, max_groups=3)
    assert dt.Question(**groups, max_groups=9, pool_other=True).max_groups == 4
    assert dt.Question(**groups, max_groups=2).max_groups == 2


def spoiled(asked, **changes):
    return {**dt.Question(**asked).to_dict(), **changes}


@pytest.mark.parametrize(
    "written",
    [
        {},
        [],
        None,
        spoiled({}, format="discreet-answer"),
        spoiled({}, version=2),
        spoiled({}, statistics=[]),
        spoiled({}, statistics=[{"name": "x", "kind": "median", "what": "x", "weight": "1"}]),
        spoiled({}, statistics=[{"name": "x", "kind": "count", "what": "x", "weight": "1/2"}]),
        spoiled({}, statistics=[{"name": "x", "kind": "count", "what": "x", "weight": "none"}]),
        spoiled(
            {}, statistics=[{"name": "x", "kind": "count", "what": "x", "weight": "1e999999999"}]
        ),  # fills the memory
        spoiled({}, max_groups=-1),
        spoiled({}, pool_other=None),
        spoiled({}, mechanism="laplace"),
        spoiled({}, mechanism={"format": "x"}),
        spoiled({}, domain=None),
        spoiled({}, by=None),
        spoiled(QUESTIONS["a map"], measure_totals=[{"by": ["area"], "part": "1"}]),
        spoiled(QUESTIONS["a map"], measure_totals=[{"by": ["area"], "part": "-1/2"}]),
        spoiled(QUESTIONS["a map"], measure_totals=[{"by": ["nowhere"], "part": "1/2"}]),
        spoiled(QUESTIONS["a map"], domain={**dt.Question(**QUESTIONS["a map"]).to_dict()["domain"], "containers": 3}),
        {name: value for name, value in spoiled({}).items() if name != "max_groups"},
    ],
)
def test_what_is_no_question_is_refused(written):
    with pytest.raises(DiscreetError):
        dt.Question.from_dict(written)


def test_parts_of_epsilon_stay_exact():
    asked = dt.Question(**QUESTIONS["weights"])
    first, second = (one.weight for one in asked.statistics)
    assert (first + second, first / second) == (1, Fraction(999979, 3 * 999983))
    measured = dt.Question(**QUESTIONS["measured"])
    assert [part for _, part in measured.tiers] == [Fraction(14, 78), Fraction(1, 78)]
    assert measured.cells_part == Fraction(63, 78)


def test_parts_as_keywords_are_those_that_a_question_takes():
    """What `release` takes in place of a Question: the same names, of the same types."""
    parameters = dict(inspect.signature(dt.Question).parameters)
    del parameters["other"]  # which are refused
    assert QuestionParts.__annotations__.keys() == parameters.keys()
    types = {name: part.__forward_arg__ for name, part in QuestionParts.__annotations__.items()}
    assert types == {name: part.annotation for name, part in parameters.items()}
