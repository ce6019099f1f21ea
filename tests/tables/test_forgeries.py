"""Forged releases: inventions that fit in themselves. (test_relabelled.py changes every value of a record, test_checking.py bytes.)

A forger has the code: whatever is changed, all that follows from it (intervals, totals, words, page, digests) is made anew by
the library itself. With the ledger every such forgery is refuted.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.exact.level import Level
from discreet.files import document
from discreet.ledger.book import Terms
from discreet.tables.ask.asked import spelling_of
from discreet.tables.draw import answers
from discreet.tables.draw.measures import measures_for, tiers_for
from discreet.tables.publish.rebuilding import Rebuilt, _asked, rebuild
from discreet.tables.saved.checking import _BROKEN, CHECKERS, Case, ReleaseVerdict, _checked, judged
from discreet.tables.saved.release_files import contents_of, digest_of, record_text
from discreet.tables.saved.saved_release import Saved

from .asking import at, release_any

PLACE = Path("x.csv")
LEDGER, RECORD, LEVELS, COST = "the ledger", "the record", "mechanisms and their levels", "what it cost"
ORDER = sorted(
    CHECKERS, key=[RECORD, COST, LEDGER, LEVELS].__contains__, reverse=True
)  # the cheap and telling ones first

MAP = {"area": {"of": "town", "map": {"north": ["a", "b"], "south": ["c"]}}}
TOWNS = {"town": ["a", "b", "c"]}
AGES = {"age": {"under 40": [0, 39], "40 and over": [40, None]}}
SUM = {"income": dt.Grid(0, 1000, 250)}
ASKED = {
    "sizes": {
        "dataset": "bits",
        "count": "ill",
        "share": {"part": "ill"},
        "mean": "income:0..1000/250",
        "weights": {"part": 2},
        "domain": TOWNS,
    },
    "fair": {
        "dataset": "bits",
        "count": {"ill": "ill", "well": "not ill"},
        "domain": {"town": ["b", "c", "z"]},
        "mechanism": "explicit_fair",
    },
    "measured": {
        "dataset": "people",
        "domain": {**TOWNS, **MAP},
        "measure_totals": {"area": 1, "cells": 9},
        "margins": ["total"],
    },
    "staircase": {"dataset": "people", "sum": SUM, "domain": TOWNS, "epsilon": 4},
    "persons": {
        "dataset": "persons",
        "count": "*",
        "mean": "income:0..1000/250",
        "max_groups": 2,
        "epsilon": "ln(3)",
        "domain": {"town": ["a", None]},
        "pool_other": True,
    },
    "rows": {"dataset": "persons", "count": "ill", "counted": "rows", "max_rows": 3, "domain": {"town": ["a", "b"]}},
    "an audience": {
        "dataset": "people",
        "audiences": at("3/10", "4/5"),
        "domain": TOWNS,
        "margins": ["total"],
    },
    "own": {
        "dataset": "bits",
        "count": "ill",
        "domain": {"town": ["b", "c"]},
        "mechanism": dt.geometric(130, alpha="3/4"),
    },
    "bands": {
        "dataset": "people",
        "by": ["age"],
        "domain": AGES,
        "alpha": "1/2",
        "epsilon": None,
        "measure_totals": ["total"],
    },
    "rho": {
        "dataset": "census",
        "count": "ill",
        "share": {"part": "ill"},
        "sum": SUM,
        "domain": TOWNS,
        "measure_totals": ["total"],
        "rho": "1/5",
        "epsilon": None,
    },
    "rho of units": {
        "dataset": "homes",
        "count": {"ill": "ill"},
        "max_groups": 2,
        "domain": TOWNS,
        "measure_totals": {"total": 1, "cells": 1},
        "rho": "3/10",
        "epsilon": None,
    },
    "epsilon for rho": {"dataset": "census", "count": "ill", "domain": {"town": ["a", "b"]}, "epsilon": "1/3"},
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("forged") / "budget.db") as ledger:
        ledger.create("bits", "99", relation="change-one", public=["town"])
        ledger.create("people", "99", relation="add-remove")
        ledger.create("persons", "99", relation="add-remove", unit="id")
        ledger.create("census", rho="99", delta="1e-9", relation="change-one", public=["town"])
        ledger.create("homes", rho="99", delta="1e-9", relation="add-remove", unit="id")
        yield ledger


@pytest.fixture(scope="module")
def released(book):
    rng = np.random.default_rng(5)
    people = pandas.DataFrame(
        {
            "town": np.array(["a"] * 70 + ["b"] * 12 + ["c"] * 8, dtype=object),
            "age": rng.integers(0, 90, 90),
            "ill": rng.random(90) < 0.4,
            "income": rng.integers(0, 1000, 90),
            "id": rng.integers(0, 60, 90),
        }
    )
    made = {}
    for what, asked in ASKED.items():
        level = {} if "audiences" in asked else {"epsilon": "3/2"}
        one = release_any(people, ledger=book, **{"by": ["town"], **level, **asked})
        made[what] = one["4/5"] if isinstance(one, dt.results.Audiences) else one
        if isinstance(one, dt.results.Audiences):
            made["the other audience"] = one["3/10"]
    return made


@dataclass(frozen=True)
class Held(Saved):
    """A saved release in memory."""

    files: dict[str, bytes] = field(default_factory=dict)

    def beside(self, name):
        return self.files.get(name)

    @classmethod
    def made(cls, files: dict[Path, str]):
        held = {path.name: text.encode() for path, text in files.items()}
        return replace(cls.of(Path("x.json"), held["x.json"]), files=held)


def saved(made: dt.results.Release) -> Held:
    return Held.made(contents_of(made, PLACE))


def rewritten(held: Held, record=None, margins=None, **files: str) -> Held:
    """With another record or other files, and all digests made anew."""
    texts = {Path(name): content.decode() for name, content in held.files.items()} | {
        Path(n): t for n, t in files.items()
    }
    listed = {path.name: digest_of(text.encode()) for path, text in texts.items() if path.name != "x.json"}
    told = {**(held.record if record is None else record), "files": listed}
    return Held.made(
        {**texts, Path("x.json"): record_text(told, held.document["margins"] if margins is None else margins)}
    )


def rebuilt(record) -> Rebuilt | None:
    """Everything made anew from a changed record, as the library makes it; None where it cannot be."""
    try:
        return rebuild(json.loads(json.dumps(record)))
    except _BROKEN:
        return None


def remade(record) -> Held | None:
    again = rebuilt(record)
    return None if again is None else saved(again.release)


def case_of(held: Held, book: dt.Ledger | None, again: Rebuilt | None = None) -> Case:
    """A case; where its record says what a known one says, with what that makes."""
    case = Case(held, None if book is None else book.book)
    if again is not None:
        vars(case)["rebuilt"] = again
    return case


def refuted(held: Held, book: dt.Ledger | None, again: Rebuilt | None = None) -> str | None:
    """The first matter that does not hold."""
    case = case_of(held, book, again)
    return next((matter for matter in ORDER if judged(case, matter).held is False), None)


def unchecked(held: Held, book: dt.Ledger | None, again: Rebuilt | None = None) -> list[str]:
    case = case_of(held, book, again)
    return [matter for matter in CHECKERS if judged(case, matter).held is None]


@pytest.mark.parametrize("what", ASKED)
def test_negative_control_the_true_release_holds_and_is_checked_in_full(released, book, what):
    true = saved(released[what])
    assert (refuted(true, book), unchecked(true, book), unchecked(true, None)) == (None, [], [LEDGER])
    assert remade(true.record).files == true.files  # the forger makes what the library makes


def plausible(value):
    """Other values of the same kind, as somebody would write them who means to deceive or makes a slip."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value * 10 if value > 1 else value + 1]
        case float():
            return [value * 1.25 if value else 0.5]
        case None:
            return ["x", 5]
        case str():
            swaps = {
                "change-one": "add-remove",
                "add-remove": "change-one",
                "geometric": "explicit_fair",
                "explicit_fair": "geometric",
                "staircase": "geometric",
                "gaussian": "geometric",
                "count": "share",
                "share": "count",
                "sum": "mean",
                "mean": "sum",
                "north": "south",
                "south": "north",
                "ill": "NOT ill",
            }
            try:
                number = Fraction(value)
            except (ValueError, ZeroDivisionError):
                return [swaps.get(value, f"{value}x")]
            return [str(number * Fraction(9, 10)) if number else "1", str((1 + number) / 2)]
        case list():
            return [value[:-1], value[::-1], [*value, *value[:1]]] if value else [["x"]]
        case dict():
            return (
                [{name: part for name, part in value.items() if name != gone} for gone in [*value][:1]] if value else []
            )
    raise AssertionError(value)


def leaves(value, path=()):
    """Every single value, list and mapping of a record; of a list the first and the last entries."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    elif isinstance(value, list):
        for k in sorted({0, len(value) - 1} & {*range(len(value))}):
            yield from leaves(value[k], (*path, k))


def value_at(value, path):
    for name in path:
        value = value[name]
    return value


def changed(value, path, new):
    """The same with another value at a path; only what lies on the path is copied."""
    if not path:
        return new
    value = copy.copy(value)
    value[path[0]] = changed(value[path[0]], path[1:], new)
    return value


def kind_of(path):
    """A path without the numbers of its entries."""
    return tuple(name for name in path if not isinstance(name, int))


def chosen_anew(record):
    """With the mechanisms that its question, sizes and level choose, and their digests, whatever drew the reports."""
    question = dt.Question.from_dict(record["question"])
    asked = _asked(record, question)
    asked = asked if record["alpha"] is None else asked.at(Level(Fraction(record["alpha"])))
    delta = None if record["delta"] is None else Fraction(record["delta"])
    terms = Terms(record["dataset"], Fraction(99), record["relation"], question.by, record["unit"], "", delta=delta)
    sizes, answer = np.array(record["answer"]["sizes"]), record["answer"]
    contents = spelling_of(asked, record["table_columns"], terms).contents
    measures, tiers = measures_for(asked, terms, sizes), tiers_for(asked, terms, sizes)
    record["answer"] = {**answer, **answers.drawn_by(question, measures, contents, sizes, tiers)}


def with_sizes(record):
    """A share of 25 % becomes 2.5 %: the public sizes of all groups ten times as large."""
    record["answer"]["sizes"] = [10 * n for n in record["answer"]["sizes"]]
    chosen_anew(record)


def with_parts(record):
    """A total that was drawn at a tenth of epsilon, published as if it had been nine tenths."""
    (measured,) = record["question"]["measure_totals"]
    measured["part"] = "9/10"
    chosen_anew(record)


def with_weights(record):
    for one in record["question"]["statistics"]:
        one["weight"] = str(Fraction(1, len(record["question"]["statistics"])))
    chosen_anew(record)


def with_family(record):
    """Narrower intervals: of a mechanism that was not the one that drew."""
    entry = record["answer"]["measures"][0]["mechanism"]
    entry |= {"family": "geometric", "change": entry.get("change", 1)}
    entry["digest"] = answers._digest([answers._again(entry, 1)])


def with_level(record):
    """Privacy that nobody got: every report at a more private level than it was drawn at."""
    record["alpha"] = str((1 + Fraction(record["alpha"])) / 2)
    if record["question"]["mechanism"] == "auto":  # one's own stays what it is
        chosen_anew(record)


def with_levels_all_the_way(record):
    """The same with what it would have cost."""
    level = Level.of(epsilon=Fraction(record["epsilon_charged"]) / 2)
    record["alpha"], record["epsilon_charged"] = str(level.alpha), str(level.charge)
    chosen_anew(record)


def with_narrower_noise(record):
    """Smaller errors for the same rho: noise of a q that rho does not pay for."""
    entry = record["answer"]["measures"][0]["mechanism"]
    entry["q"] = str(Fraction(entry["q"]) ** 2)
    entry["digest"] = answers._digest([answers._again(entry, 1)])


def with_less_rho(record):
    """Privacy that nobody got, with what it would have cost."""
    record["rho"] = record["rho_charged"] = str(Fraction(record["rho"]) / 2)
    chosen_anew(record)


def with_delta(record):
    """A delta that was not agreed."""
    record["delta"] = "1/1000000000000"


def with_map(record):
    """Another town in the north, whose total was measured without it."""
    record["question"]["domain"]["containers"][0]["map"] = [["a", "north"], ["b", "south"], ["c", "south"]]


def without_line(record):
    """Nothing was charged, so that the ledger is not asked."""
    record |= {"ledger_line": None, "ledger_head": None, "epsilon_charged": "0"}


def of_another_audience(record):
    record["alpha"], record["epsilon_charged"] = "3/10", record["audience"]["charged"]
    chosen_anew(record)


def in_one_group(record):
    record["question"]["max_groups"] = 1
    chosen_anew(record)


def of_fewer_rows(record):
    record["question"]["max_rows"] = 2
    chosen_anew(record)


def of_units(record):
    record["question"] |= {"counted": "units", "max_rows": None, "max_groups": 3}
    chosen_anew(record)


def with_bounds(record):
    """Incomes of up to 100,000: reports a hundred times as large."""
    record["question"]["statistics"][0]["what"] = "income:0..100000/25000"
    chosen_anew(record)


def with_condition(record):
    record["question"]["statistics"][0]["what"] = "not ill"
    chosen_anew(record)


FORGERIES = [
    ("rows", of_fewer_rows),
    ("rows", of_units),
    ("sizes", with_sizes),
    ("fair", with_sizes),
    ("own", with_sizes),
    ("measured", with_parts),
    ("sizes", with_weights),
    ("fair", with_family),
    ("staircase", with_family),
    ("sizes", with_level),
    ("measured", with_level),
    ("own", with_level),
    ("bands", with_levels_all_the_way),
    ("staircase", with_levels_all_the_way),
    ("measured", with_map),
    ("bands", without_line),
    ("fair", without_line),
    ("an audience", without_line),
    ("an audience", of_another_audience),
    ("persons", in_one_group),
    ("staircase", with_bounds),
    ("fair", with_condition),
    ("rho", with_narrower_noise),
    ("rho of units", with_narrower_noise),
    ("rho", with_less_rho),
    ("rho", with_delta),
    ("epsilon for rho", with_delta),
    ("rho of units", in_one_group),
    ("epsilon for rho", with_level),
]


# what of them is refuted without the ledger: that the question chooses these mechanisms, and that they are worth the charge
ALONE = {"with_family": LEVELS, "with_level": COST, "without_line": COST, "with_narrower_noise": LEVELS}


@pytest.mark.parametrize(("what", "forge"), FORGERIES, ids=[f"{what} {forge.__name__}" for what, forge in FORGERIES])
def test_what_fits_in_itself_is_refuted_by_what_was_stored(released, book, what, forge):
    true = saved(released[what])
    record = copy.deepcopy(dict(true.record))
    forge(record)
    forged = remade(record)
    assert forged is not None
    assert forged.files != true.files
    # rounded, both audiences may have the same reports: then it is theirs, under a name that the ledger does not know
    if forged.record["answer"] != saved(released["the other audience"]).record["answer"]:
        assert refuted(forged, book) is not None
    assert refuted(forged, None) == ALONE.get(forge.__name__)


def test_a_mechanism_of_ones_own_is_described_as_it_was_stored(released, book):
    true = saved(released["own"])
    own = ASKED["own"]["mechanism"]
    cited = replace(own, recipe=replace(own.recipe, citation="Nobody, 1900"))
    assert cited == own
    forged = remade({**true.record, "question": {**true.record["question"], "mechanism": document(cited)}})
    assert refuted(forged, None) is None
    assert judged(Case(forged, book.book), LEDGER).told == (
        f"Line {true.record['ledger_line']} was asked with another question.mechanism."
    )


@pytest.mark.parametrize("method", [0, 2, "1", None])
def test_a_record_of_another_method_is_for_the_version_that_wrote_it(released, book, method):
    true = saved(released["sizes"])
    forged = rewritten(true, {**true.record, "method": method, "discreet": "9.9"})
    verdict = _checked(Case(forged, book.book))
    assert (verdict.holds, verdict.complete, bool(verdict)) == (True, False, False)
    assert "discreet '9.9'" in str(verdict)


def test_without_a_ledger_the_first_line_says_so(released):
    verdict = ReleaseVerdict("x.json", tuple(judged(Case(saved(released["bands"])), one) for one in CHECKERS))
    assert (verdict.holds, verdict.complete, bool(verdict)) == (True, False, False)
    assert str(verdict).splitlines()[0] == "x.json: NOT CHECKED: the ledger; what could be checked holds"


def test_groups_without_number_are_refuted_and_take_no_memory(released, book):
    true = saved(released["bands"])
    for size in (10**15, -(10**15), 0):
        assert refuted(rewritten(true, {**true.record, "groups": size}), book) == RECORD
        answer = {**true.record["answer"], "sizes": [size, size]}
        assert refuted(rewritten(true, {**true.record, "answer": answer}), book) is not None


@pytest.mark.parametrize("huge", ["1e999999999", "1/1e-999999999", "-1E+999999999"])
def test_numbers_that_would_fill_the_memory_are_none(released, book, huge):
    """In every place of the record that holds a number as a text."""
    true, tried = saved(released["measured"]), 0
    for path in leaves(true.record):
        value = value_at(true.record, path)
        shown = path[0] in ("presentation", "confidence", "audience")
        if isinstance(value, str) and not shown and re.fullmatch(r"-?\d+(/\d+)?(\.\d+)?", value):
            assert refuted(rewritten(true, changed(true.record, path, huge)), book) is not None, path
            tried += 1
    assert tried > 10


def test_files_under_other_names_have_no_other_content(released, book, tmp_path):
    released["bands"].save(tmp_path / "x.csv")
    for suffix in (".csv", ".json", ".html"):
        (tmp_path / "x").with_suffix(suffix).rename((tmp_path / "renamed").with_suffix(suffix))
    verdict = dt.check_release(tmp_path / "renamed.json", ledger=book)
    assert not verdict.holds
    assert "x.json, line" not in str(verdict)
    assert "renamed.json" in str(verdict)
