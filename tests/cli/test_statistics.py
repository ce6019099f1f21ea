"""Statistics on the command line: several of a kind, named where an = is no comparison."""

from __future__ import annotations

import pytest

from discreet.cli.options import PresentationOptions, by_name
from discreet.cli.releases import _audiences
from discreet.cli.statistic_texts import statistic_arguments
from discreet.errors import DiscreetError, ReleaseError
from discreet.questions.domain import read_groups
from discreet.questions.margins import measure_of
from discreet.questions.statistic import statistics_of


def conditions(*texts):
    return statistic_arguments(list(texts), None, None, None, "")["count"]


@pytest.mark.parametrize(
    "text",
    [
        "sick='yes'",
        "x = 1 or y = 2",
        "x=y or z = 2",
        "a=b",
        "sick",
        "x>=3",
        "a = 'b=c'",
        "x = ",
        "NOT x=1",
    ],
)
def test_a_condition_is_a_condition_whatever_its_equals_signs(text):
    assert conditions(text) == text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("ill=sick='yes'", "sick='yes'"),
        ("ill = sick = 'yes'", "sick = 'yes'"),
        ("ill=x > 3 and y = 1", "x > 3 and y = 1"),
        ("ill=x IN (1, 2)", "x IN (1, 2)"),
        ("ill=x between 1 and 2", "x between 1 and 2"),
        ("ill=a IS NULL", "a IS NULL"),
    ],
)
def test_a_name_before_a_condition_is_its_name(text, what):
    assert conditions(text) == {"ill": what}
    assert conditions(text, "z = 1") == {"ill": what, "z = 1": "z = 1"}


@pytest.mark.parametrize("end", ["", " where age >= 18", " missing out", " where note = 'a=b where c' missing out"])
def test_a_name_before_a_share_is_its_name(end):
    def shares(*texts):
        return statistic_arguments(None, None, None, list(texts), "")["share"]

    assert shares(f"sick = 'yes'{end}") == f"sick = 'yes'{end}"
    assert shares(f"ill=sick = 'yes'{end}") == {"ill": f"sick = 'yes'{end}"}
    assert shares(f"sick = 'yes where x'{end}", f"ill=a > 1{end}") == {
        f"sick = 'yes where x'{end}": f"sick = 'yes where x'{end}",
        "ill": f"a > 1{end}",
    }


def test_sums_and_weights_are_named():
    asked = statistic_arguments(
        None, ["income:0..9/3", "pay=income:0..5 where x = 1"], ["age:0..120"], None, "pay=2, income=1/2"
    )
    assert asked["sum"] == {"income": "income:0..9/3", "pay": "income:0..5 where x = 1"}
    assert (asked["mean"], asked["count"], asked["share"]) == (["age:0..120"], None, None)
    assert asked["weights"] == {"pay": "2", "income": "1/2"}
    with pytest.raises(ReleaseError, match="names and numbers"):
        statistic_arguments(None, None, None, None, "pay")
    with pytest.raises(ReleaseError, match="own name"):
        statistic_arguments(None, ["a=x:0..1", "a=y:0..1"], None, None, "")


@pytest.mark.parametrize(
    "read",
    [
        lambda *pairs: statistic_arguments(None, None, None, None, ",".join(pairs))["weights"],
        lambda *pairs: measure_of(",".join(pairs)),
        lambda *pairs: by_name("--times", ",".join(pairs), "brand=52"),
        lambda *pairs: _audiences(list(pairs)),
        lambda *pairs: PresentationOptions(label=list(pairs)).words()["labels"],
    ],
    ids=["weights", "measured totals", "numbers", "audiences", "labels"],
)
def test_a_name_has_one_value(read):
    """Neither the first nor the last wins: which one was meant is not known."""
    assert read("a = 1", "b=2", "A=1") == {"a": "1", "b": "2", "A": "1"}
    for pairs in (("a=1", "a=2"), ("a=1", "b=2", "a =1"), ("a=1", "b=")):
        with pytest.raises(DiscreetError, match=r"once|one|a name of its own"):
            read(*pairs)


def test_a_column_of_a_domain_file_is_declared_once(tmp_path):
    (tmp_path / "d.json").write_text('{"sex": ["f", "m"], "age": {"of": "a", "map": {"x": ["1"], "x": ["2"]}}}')
    with pytest.raises(DiscreetError, match=r"'d.json' declares 'x' twice; declare it once\."):
        read_groups(tmp_path / "d.json")
    (tmp_path / "d.json").write_text('{"sex": ["f", "m"], "age": ["x", "x2"]}')
    assert list(read_groups(tmp_path / "d.json")) == ["sex", "age"]


def test_everybody_is_counted_beside_others():
    assert conditions("*") == "*"
    assert conditions("all=*", "x = 1") == {"all": "*", "x = 1": "x = 1"}
    names = [(one.name, one.where) for one in statistics_of(["*", "x = 1"], None, None, None, None)]
    assert names == [("all", None), ("x = 1", "x = 1")]
    assert [one.where for one in statistics_of("*", None, None, None, None)] == [None]
