"""Honest releases hold, whatever was asked: check-release must not cry wolf."""

from __future__ import annotations

import csv
import io
import itertools
import random
from dataclasses import replace
from fractions import Fraction

import pandas
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.exact.level import Level
from discreet.tables.saved.checking import CHECKERS, Case, judged
from tests.asking import ask_release, ask_release_to
from tests.tables.test_forgeries import saved

from .asking import at, release_any

ODD = [
    "a\rb",
    "a\nb",
    "a\r\nb",
    'say "so"',
    "tab\there",
    "'quoted",
    "=1+1",
    "",
    " ",
    "(other",
    "a,b",
    "\r",
    "\n",
    "Ünï",
    "0",
    "\u2028",
]


@pytest.fixture
def book(tmp_path):
    with dt.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("bits", "9999", relation="change-one", public=["town", "age"])
        ledger.create("people", "9999", relation="add-remove")
        ledger.create("persons", "9999", relation="add-remove", unit="id")
        yield ledger


@pytest.fixture(scope="module")
def people():
    rng = random.Random(3)
    rows = [
        {
            "town": rng.choice([*ODD, None]),
            "age": rng.choice([1, 2, 3]),
            "ill": rng.random() < 0.5,
            "income": rng.choice([None, *range(-200, 1000, 7)]),
            "id": rng.randrange(60),
        }
        for _ in range(120)
    ]
    return pandas.DataFrame(rows)


def faults(made, book) -> list[tuple[str, str]]:
    """What does not hold, or was not checked though the ledger is there."""
    found = []
    for one in made.audiences.values() if isinstance(made, dt.results.Audiences) else [made]:
        case = Case(saved(one), book.book)
        found += [(m, check.told) for m in CHECKERS for check in [judged(case, m)] if check.held is not True]
    return found


def assert_alike(made, again) -> None:
    """The stored answer is the answer: what holds of one of them holds of the other."""
    both = (one.audiences.values() if isinstance(one, dt.results.Audiences) else [one] for one in (made, again))
    for first, second in zip(*both, strict=True):
        assert (second.rows(), second.margins) == (first.rows(), first.margins)
        assert {**first.record, "repeated": second.record["repeated"]} == dict(second.record)


def test_audiences_where_all_groups_are_empty(people, book):
    made = book["bits"].release_to(
        people,
        count="ill",
        by=["age"],
        domain={"age": [77, 78]},
        audiences={"a": "1/2", "b": 1, "c": "ln(9)"},
    )
    made = replace(made, audiences={name: one.with_totals("total") for name, one in made.audiences.items()})
    assert book["bits"].balance().spent == 0
    assert {(matter, told[:19]) for matter, told in faults(made, book)} == {("the ledger", "Nothing was charged")}


def test_audiences_of_a_sum_so_fine_that_only_geometric_noise_can_hide_it(people, book):
    fine = {
        "dataset": "people",
        "ledger": book,
        "by": ["age"],
        "domain": {"age": [1, 2]},
        "sum": "income:0..1000000/0.25",
    }
    assert not faults(ask_release_to(people, **fine, audiences=at("1/2", "3/4")), book)
    with pytest.raises(ReleaseError, match="wider than any number"):  # the staircase that one audience would get
        ask_release(people, **fine, alpha="1/2")


def test_the_empty_text_and_the_missing_value_are_two_keys(people, book):
    asked = {
        "dataset": "people",
        "ledger": book,
        "by": ["town", "age"],
        "epsilon": 1,
        "margins": ["town"],
        "measure_totals": ["age"],
    }
    made = ask_release(people, domain={"town": ["", None, " "], "age": [1, 2]}, **asked)
    assert not faults(made, book)
    rows = list(csv.reader(io.StringIO(saved(made).files["x.csv"].decode(), newline="")))[1:]
    assert [row[0] for row in rows] == ["", "", "(missing)", "(missing)", " ", " "]
    assert [line["town"] for line in made.margins["town"]] == ["", "(missing)", " "]
    alone = ask_release(people, domain={"town": [None, " "], "age": [1, 2]}, **asked)
    assert alone.columns["town"] == [None, None, " ", " "]  # as ever
    for other in (False, True):
        with pytest.raises(ReleaseError, match=r"\(missing\) is the name of missing values"):
            ask_release(people, domain={"town": [None, "(missing)"], "age": [1, 2]}, **asked, pool_other=other)


@pytest.mark.parametrize("spelled", [["1", "1/2"], ["ln(3)", "3/10"], ["1e-9", "1e-10"], ["40", "35.5"]])
def test_a_level_asked_for_by_its_own_alpha_costs_what_it_cost(people, book, spelled):
    """And the other way round; for one audience and for several. What was charged once is what is said ever after."""
    asked = {"dataset": "people", "ledger": book, "by": ["age"], "domain": {"age": [1, 2, 3]}}
    alphas = [Level.of(epsilon=one).alpha for one in spelled]
    for version, (first, second) in enumerate(itertools.permutations([{"epsilon": spelled[0]}, {"alpha": alphas[0]}])):
        before = book["people"].balance().spent
        new, again = (ask_release(people, **asked, **level, version=f"one {version}") for level in (first, second))
        assert again.columns == new.columns
        assert again.record["repeated"]
        paid = str(book["people"].balance().spent - before)
        assert {one.record["epsilon_charged"] for one in (new, again)} == {paid}
        assert not faults(new, book) + faults(again, book)
    for version, (first, second) in enumerate(itertools.permutations([spelled, [Level(alpha) for alpha in alphas]])):
        before = book["people"].balance().spent
        new, again = (
            ask_release_to(people, **asked, audiences=dict(zip("ab", levels, strict=True)), version=f"many {version}")
            for levels in (first, second)
        )
        paid = str(book["people"].balance().spent - before)
        assert again["a"].record["repeated"]
        assert {one.record["audience"]["charged"] for made in (new, again) for one in made.audiences.values()} == {paid}
        assert not faults(new, book) + faults(again, book)


def test_one_condition_under_two_names_keeps_its_reports(people, book, tmp_path):
    """In whatever order the names are asked for again, read from the data or without them; new names get what is left."""
    path = tmp_path / "people.csv"
    people[["age", "ill"]].to_csv(path, index=False)
    book["people"].admit(path, version="2")
    for table, version in ((people, "1"), (path, "2")):

        def reports(names, table=table, version=version, ill="ill" if version == "1" else "ill = 'True'", **level):
            counts = {f"count {name}": ill for name in names}
            made = release_any(
                table,
                dataset="people",
                ledger=book,
                count=counts,
                version=version,
                share=dict.fromkeys(names, ill),
                **level,
            )
            made = made["9999/10000"] if "audiences" in level else made
            assert not faults(made, book)
            one = [made.columns[c] for c in ("report", "report_u", "report_v")]
            return dict(zip(made.columns["statistic"], zip(*one, strict=True), strict=True)), made.record["repeated"]

        for level in [{"audiences": at("9/10", "9999/10000")}] if version == "1" else [{"epsilon": "1/2000"}]:
            first, repeated = reports(["x", "y", "z"], **level)
            assert not repeated
            assert len({first[name] for name in "xyz"}) == 3  # alike by chance less than once in 10^6
            for order in ("zyx", "yzx"):
                assert reports(order, **level) == (first, True)
            renamed = reports(["z", "b", "a"], **level)[0]
            assert [renamed[name] for name in "zab"] == [first[name] for name in "zxy"]
            assert renamed == reports(["a", "z", "b"], **level)[0]


def test_keys_of_all_kinds_are_written_so_that_they_are_read_again(people, book):
    made = book["people"].release(people, by=["town"], domain={"town": ODD}, epsilon=1).with_totals("total")
    text = saved(made).files["x.csv"].decode()
    assert [row[0] for row in csv.reader(io.StringIO(text, newline=""))][1:] == ODD
    assert not faults(made, book)
    assert '"a\rb"' in text


def test_random_questions_hold(people, book):
    """What can be asked, in random combinations; always with the ledger, and asked again."""
    rng = random.Random(8)
    towns = lambda: rng.sample([*ODD, None], rng.randint(1, 4))  # noqa: E731
    held = 0
    for k in range(12):
        dataset = rng.choice(["bits", "people", "persons"])
        bit = dataset == "bits"
        step, low = rng.choice(["5", "0.5", "1.25"]), rng.choice(["0", "-10", "-2.25", "0.75"])
        high = float(Fraction(low) + rng.randint(1, 9) * Fraction(step))
        of = f"income:{low}..{high}/{step}{rng.choice(['', ' missing ' + low])}"
        ages = rng.sample([1, 2, 3, 9], rng.randint(2, 4))
        asked = {
            "dataset": dataset,
            "by": rng.choice([["town"], ["town", "age"], []] if not bit else [["town"], ["age", "town"]]),
            "domain": {"town": towns(), "age": ages, "part": {"of": "age", "map": {"low": ages[:1], "high": ages[1:]}}},
            "count": rng.choice(["ill", {"i": "ill", "j": "ill"}, None if not bit else "not ill", None]),
            "sum": rng.choice([None, of]),
            "mean": rng.choice([None, of.partition(" ")[0]]),
            "share": rng.choice([None, "ill"]),
            "pool_other": rng.random() < 0.3,
            "max_groups": rng.choice([1, 3]) if dataset == "persons" else 1,
            "version": str(k),
            **rng.choice(
                [{"epsilon": 2}, {"alpha": "1/3"}, {"epsilon": "ln(5)"}, {"audiences": {"a": 1, "b": "ln(9)"}}]
            ),
        }
        used = {*asked["by"], *(["part"] if "age" in asked["by"] else [])}
        asked["domain"] = {name: values for name, values in asked["domain"].items() if name in used}
        possible = ["total", *(["age", "part+town", "part"] if len(asked["by"]) > 1 else [])] if asked["by"] else []
        asked["margins"] = rng.sample(possible, rng.randint(0, len(possible)))
        if "audiences" not in asked and possible:
            asked["measure_totals"] = rng.choice([(), ["total"], possible[:2]])
        try:
            made, again = (release_any(people, ledger=book, **asked) for _ in range(2))
        except ReleaseError:
            continue  # not every combination may be asked
        held += 1
        wrong = [one for one in faults(made, book) if "Nothing was charged" not in one[1]]
        assert not wrong, asked
        assert_alike(made, again)
    assert held > 4
