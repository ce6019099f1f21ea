"""Every refusal of a question: an error of ours, of one line, that says what to do next. No kind of value makes another one."""

from __future__ import annotations

import datetime
import json
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pyarrow as pa
import pytest

import discreet as dt
from discreet.errors import DiscreetError, ReleaseError
from discreet.questions.predicate import parse
from discreet.questions.question import QuestionParts


class Odd:
    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


PLAIN = [
    *(
        None,
        True,
        0,
        -1,
        2**70,
        1.5,
        float("nan"),
        3j,
        "",
        " ",
        "*",
        "a",
        "x > 1",
        "\ud800",
        "a\0b",
        "9" * 50,
        b"a",
        ...,
    ),
    *(Decimal("NaN"), Decimal("1e99999"), Fraction(1, 3), datetime.date(2020, 1, 1), Odd(), len, object),
    *(np.arange(3), np.array(5), np.array([[1, 2]]), np.float64("nan"), np.str_("a"), np.datetime64("NaT")),
    *(
        pandas.NA,
        pandas.NaT,
        pandas.Series(["a"]),
        pandas.DataFrame({"a": [1]}),
        pa.array([1]),
        range(3),
        {"a"},
        {5, "a"},
    ),
    *(dt.Grid(0, 9), dt.Grid(None, None), dt.geometric(4, alpha="1/2"), dt.Question, "x:0..9", "x:9..0", "income"),
]
NESTED = [
    *(
        [],
        [None],
        ["a", "a"],
        ["a", 1],
        [["a"]],
        [[]],
        (),
        {},
        {"a": None},
        {1: "a"},
        {None: 1},
        {pandas.NA: 1},
        {"": "x"},
    ),
    *({"a": [[1]]}, {"a": {"of": "b"}}, {"a": {"of": "a", "map": {}}}, {"a": [1], "b": {"of": "a", "map": 5}}),
    *({"a": [1], "b": {"of": "a", "map": {"x": [[1]]}}}, {"keys": [[1]]}, {"keys": 3}, {"a": "file:none.csv"}),
    *({"a": {"x": {"dates": 5}}}, {"a": {"x": {"codes": b"a"}}}, {"a": {"age_at": 5, "bands": {}}}, {"a": {1: [1, 2]}}),
    *({"format": "discreet-domain"}, {"format": "discreet-domain", "version": 1, "source": "s", "columns": 5}),
]
GROUPS = {"by": ["a"], "domain": {"a": [1, 2], "b": {"of": "a", "map": {"1": "x", "2": "y"}}}}
BESIDE = [{}, GROUPS, {**GROUPS, "measure_totals": ["b"]}, {"counted": "rows", "max_rows": 4}, {"sum": "x:0..9"}]


def refused(make):
    """What was said, where something was made or refused; whoever sees another error sees this fail."""
    try:
        made = make()
    except DiscreetError as error:
        shows_more = error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__)
        return "it shows the error behind it" if shows_more else str(error)
    assert dt.Question.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert "\n" not in repr(made)
    return None


@pytest.mark.parametrize("name", QuestionParts.__annotations__)
def test_no_value_of_a_part_makes_another_error_than_ours(name):
    given = [
        *PLAIN,
        *NESTED,
        *([each] for each in PLAIN),
        *([each, "b"] for each in PLAIN),
        *([[each]] for each in PLAIN),
    ]
    given += [{"a": each} for each in [*PLAIN, *NESTED]] + [{"a": {"b": each}} for each in PLAIN]
    told = {
        refused(lambda v=value, b=beside: dt.Question(**{**b, name: v})) for value in given for beside in BESIDE
    } - {None}
    assert told
    assert [text for text in told if "\n" in text or not text.endswith((".", "?"))] == []
    assert [text for text in told if not re.search(r"[;:] |[.,] [A-Za-z]| must | give | write | needs ", text)] == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"by": ["town"]}, "Declare the groups"),
        ({"by": 5}, "by = 5 must be a column or a list of them"),
        ({"by": [None], "domain": {"a": [1]}}, r"by = \[None\] must be"),
        ({"by": ["a", "A"], "domain": {"a": [1], "A": [1]}}, "names 'A' twice"),
        ({"domain": {"a": [1, 2]}}, "name them all with by"),
        ({"by": ["report"], "domain": {"report": [1]}}, "rename it in the data"),
        ({"by": ["statistic"], "domain": {"statistic": [1]}, "sum": "x:0..9"}, "rename it in the data"),
        ({"mechanism": "laplace"}, "is not known"),
        ({"mechanism": []}, r"mechanism = \[\] is not known"),
        ({"max_groups": 0}, "max_groups"),
        ({"pool_other": 1}, "True or False"),
        ({"pool_other": True, "by": ["a"], "domain": {"a": ["(other)"]}}, "pooled cell"),
        ({"by": ["a"], "domain": {"a": [None, "(missing)"]}}, "is the name of missing values"),
        ({"measure_totals": ["x"]}, "measure_totals are columns"),
        ({"weights": {"x": 1}}, "weights name"),
        ({"count": []}, "count is a"),
        ({"count": " "}, "count is a"),
        (
            {"purpose": "adding"},
            "purpose is no part of a question. Leave it out: all counts are drawn so that they add up",
        ),
        ({"max_count": 9}, "max_count is no part of a question. Leave it out: noise on counts has no ends"),
        ({"sum": "x", "bounds": (0, 9)}, 'sum="x:0..9"'),
        ({"groupby": "a"}, 'by=\\["sex", "district"\\]'),
        ({"max_group": 3}, "Did you mean 'max_groups'"),
        ({"epsilon": 1}, "where the question is asked"),
        ({"margins": "sex"}, r"with_totals\(\"sex\""),
        ({"confidence": ".9"}, r"presented\(confidence="),
        ({"ledger": "b.db"}, r'ledger\["town"\]\.release'),
        ({"separator": ";"}, r'read\("p.csv", separator=";"\)'),
    ],
)
def test_what_is_wrong_is_said_at_once(asked, words):
    with pytest.raises(ReleaseError, match=words):
        dt.Question(**asked)


def test_a_wrong_word_is_named_where_a_question_is_asked(tmp_path):
    table, account = pa.table({"x": [1]}), dt.Ledger(tmp_path / "budget.db").create("d", 1, relation="add-remove")
    with pytest.raises(ReleaseError, match=r'sum="x:0..9"'):
        account.release(table, sum="x", bounds=(0, 9), epsilon=1)
    with pytest.raises(ReleaseError, match=r'sum="x:0..9"'):
        account.release(table, dt.Question(), bounds=(0, 9), epsilon=1)
    with pytest.raises(ReleaseError, match=r'audiences={"ministry"'):
        account.release_to(table, audiences={"a": 1}, alpha="1/2")


def test_no_refusal_has_a_name_that_may_be_somebody_s(caplog):
    """The first line of a text file may be a person's, where the names of columns are missing."""
    columns = ["Anna Planted", "a"]
    for text in ("Anna = 1", "planted = 1", 'a = "Anna Plante"', "b IS NULL", "a > ", "a IN (b)", "lower(a) = 1"):
        with pytest.raises(DiscreetError) as caught:
            parse(text, columns, quotable=False)
        error = caught.value
        shown = [str(error), repr(error), *map(repr, error.args), repr(vars(error)), caplog.text]
        assert not any("Anna Planted" in part for part in shown)
        assert error.__cause__ is None
        assert error.__context__ is None or error.__suppress_context__
    with pytest.raises(DiscreetError, match="Anna Planted"):  # a typed table's names are its schema
        parse("b = 1", columns)
