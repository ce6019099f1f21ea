"""Forged releases: every value of the record, every cell of its files, and inventions that fit in themselves.

A forger has the code: whatever is changed, all that follows from it (intervals, totals, words, page, digests) is made anew by
the library itself. With the ledger every such forgery is refuted, but for what the asker was free to choose, named below.
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
from discreet.errors import FileError
from discreet.exact.level import Level
from discreet.present.words import csv_text
from discreet.tables.publish.page import release_page
from discreet.tables.saved.checking import _BROKEN, CHECKERS, Case, ReleaseVerdict, judged
from discreet.tables.saved.rebuilt import rebuild
from discreet.tables.saved.release_files import contents_of, digest_of, outputs, record_text
from discreet.tables.saved.saved_release import Saved
from tests import profiles

from .asking import at, release_any

PLACE = Path("x.csv")
LEDGER, PAGE = "the ledger", "the page for people"
# the cheap and telling ones first: a forgery is refuted by the first that fails
ORDER = sorted(
    CHECKERS,
    key=[
        "the record's own file",
        "what it cost",
        LEDGER,
        "what the record says",
        "rows and their keys",
        "totals",
        "mechanisms and their levels",
        "intervals and estimates",
        PAGE,
        "digests of the files",
    ].index,
)

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
    "fair": {"dataset": "bits", "count": {"ill": "ill", "well": "not ill"}, "domain": {"town": ["b", "c", "z"]}},
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
    "an audience": {
        "dataset": "people",
        "audiences": at("3/10", "4/5"),
        "domain": TOWNS,
        "margins": ["total"],
        "round_to": 5,
        "hide_below": 10,
    },
    "own": {
        "dataset": "bits",
        "count": "ill",
        "domain": {"town": ["b", "c"]},
        "mechanism": dt.geometric(130, alpha="3/4"),
    },
    "bound": {
        "dataset": "people",
        "by": ["age"],
        "domain": AGES,
        "max_count": 30,
        "alpha": "1/2",
        "epsilon": None,
        "purpose": "adding",
        "measure_totals": ["total"],
    },
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("forged") / "budget.db") as ledger:
        ledger.create("bits", "99", relation="change-one", public=["town"])
        ledger.create("people", "99", relation="add-remove")
        ledger.create("persons", "99", relation="add-remove", unit="id")
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

    @property
    def parts(self):
        return copy.deepcopy((dict(self.record), self.columns, dict(self.margins)))


def saved(made: dt.results.Release) -> Held:
    return Held.made(contents_of(made, PLACE))


def rewritten(held: Held, record=None, margins=None, **files: str) -> Held:
    """With another record or other files, and all digests made anew."""
    texts = {Path(name): content.decode() for name, content in held.files.items()} | {
        Path(n): t for n, t in files.items()
    }
    listed = {path.name: digest_of(text.encode()) for path, text in texts.items() if path.name != "x.json"}
    told = {**(held.record if record is None else record), "files": listed}
    return Held.made({**texts, Path("x.json"): record_text(told, held.margins if margins is None else margins)})


def remade(held: Held, record=None, columns=None, margins=None) -> Held | None:
    """Everything made anew from a changed record, rows or totals, as the library makes it; None where it cannot be."""
    changed = rewritten(held, record, margins)
    vars(changed)["columns"] = held.columns if columns is None else columns
    try:
        again = rebuild(changed).release
    except _BROKEN:
        return None
    told = {name: changed.record[name] for name in ("question", "audience", "purpose")}  # those it only looks at
    return saved(replace(again, record={**again.record, **told, "discreet": changed.record["discreet"]}))


def refuted(held: Held, book: dt.Ledger | None) -> str | None:
    """The first matter that does not hold."""
    case = Case(held, book)
    return next((matter for matter in ORDER if judged(case, matter).held is False), None)


def unchecked(held: Held, book: dt.Ledger | None) -> list[str]:
    case = Case(held, book)
    return [matter for matter in CHECKERS if judged(case, matter).held is None]


@pytest.mark.parametrize("what", ASKED)
def test_negative_control_the_true_release_holds_and_is_checked_in_full(released, book, what):
    true = saved(released[what])
    assert (refuted(true, book), unchecked(true, book), unchecked(true, None)) == (None, [], [LEDGER])
    again = remade(true)
    assert again.files == true.files  # the forger makes what the library makes


# What the asker is free to choose, and no stored answer knows: nothing else follows from it, or what follows is true of it.
FREE = {
    ("discreet",): "the version that wrote it, when its words and page are today's",
    ("domain_source",): "where the asker says that the keys come from",
    ("repeated",): "whether the answer was new or given again: it is the same answer",
    ("by",): "the case of a column's name, which the engine does not know",
    ("statistics", "name"): "the names of statistics: the question has none",
    ("audience", "name"): "what the asker calls the audience: its level is what was charged for",
    ("round_to",): "rounding again, from the same stored reports",
    ("hide_below",): "hiding again, from the same stored reports",
    ("margins",): "totals of the published parts, which anybody can add up",
    ("containers",): "the map behind totals that were not measured: they are what the map says",
    ("own_mechanism",): "how one's own mechanism was made, when its law is the stored one",
}


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
                "count": "share",
                "share": "count",
                "sum": "mean",
                "mean": "sum",
                "adding": "reading",
                "reading": "adding",
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


def at(value, path):
    for name in path:
        value = value[name]
    return value


def changed(record, path, new):
    record = copy.deepcopy(record)
    at(record, path[:-1])[path[-1]] = new
    return record


def kind_of(path):
    """A path without the numbers of its entries."""
    return tuple(name for name in path if not isinstance(name, int))


def is_free(path):
    return any(kind_of(path)[: len(free)] == free for free in FREE)


@pytest.fixture(scope="module")
def in_turn(released):
    """For each kind of value the releases in which it is forged: in three of those that have it, or in all with more time."""
    holders = {}
    for what in ASKED:
        for kind in dict.fromkeys(kind_of(path) for path in leaves(dict(released[what].record))):
            holders.setdefault(kind, []).append(what)
    if profiles.current() != "dev":
        return holders
    return {
        kind: {those[(start + k * len(those) // 3) % len(those)] for k in range(3)}
        | ({*those} if kind in FREE else set())
        for start, (kind, those) in enumerate(holders.items())
    }


@pytest.mark.parametrize("what", ASKED)
def test_every_value_of_the_record_is_refuted_or_free(released, book, in_turn, what):
    """Changed alone with new digests, and with everything that follows from it made anew."""
    true = saved(released[what])
    passed, unseen = set(), []
    for path in leaves(dict(true.record)):
        if path[0] == "files" or path[:2] == ("own_mechanism", "channel"):  # digests, made anew; the law, below
            continue
        if what not in in_turn[kind_of(path)]:
            continue
        for new in plausible(at(true.record, path)):
            if new == at(true.record, path):
                continue
            record = changed(dict(true.record), path, new)
            try:
                forgeries = [rewritten(true, record), remade(true, record)]
            except FileError:  # no record any more
                continue
            for forged in forgeries:
                if forged is None or forged.files == true.files:
                    continue  # it cannot be made, or nothing came of it
                told = json.loads(forged.text)["record"]
                assert told != json.loads(true.text)["record"]
                if refuted(forged, book) is None and not unchecked(forged, book):
                    passed.add(kind_of(path))
                    unseen += [] if is_free(path) else [(path, new)]
    assert not unseen
    assert ("discreet",) in passed  # the test reaches what cannot be noticed


@pytest.mark.parametrize("what", ASKED)
def test_every_cell_of_the_rows_and_totals_is_refuted(released, book, what):
    """Written over alone, and with everything that follows from it made anew: reports, sizes, mechanisms, keys."""
    true = saved(released[what])
    size, many = true.record["groups"], len(true.record["statistics"])
    unseen = []
    record, columns, margins = true.parts
    for name in columns:
        for k in sorted({0, size - 1, size * many - 1}):
            alone = copy.deepcopy(columns)
            alone[name][k] = f"1{columns[name][k]}"
            whole = copy.deepcopy(columns)
            for place in (
                range(k % size, size * many, size) if name in ("n", *record["by"]) else [k]
            ):  # of all statistics
                whole[name][place] = other_cell(name, columns[name][place])
            rows = "\n".join([",".join(alone), *map(",".join, zip(*alone.values(), strict=True)), ""])
            for forged in (rewritten(true, **{"x.csv": rows}), remade(true, columns=whole)):
                if forged is None or forged.files == true.files:
                    continue
                unseen += [(name, k)] if refuted(forged, book) is None else []
    for margin, lines in margins.items():
        for name in lines[0]:
            forged_lines = copy.deepcopy(lines)
            forged_lines[0][name] = plausible(lines[0][name])[0]
            text = {outputs(PLACE, [margin])[1].name: csv_text(forged_lines)}
            for forged in (
                rewritten(true, margins={**margins, margin: forged_lines}, **text),
                rewritten(true, margins={**margins, margin: forged_lines}),
                rewritten(true, **text),
                remade(true, margins={**margins, margin: forged_lines}),
            ):
                if forged is None or forged.files == true.files:
                    continue
                unseen += [(margin, name)] if refuted(forged, book) is None else []
    assert not unseen


def other_cell(name, text):
    if name == "mechanism":
        return {"geometric": "explicit_fair", "explicit_fair": "geometric", "staircase": "geometric"}.get(
            text, "geometric"
        )
    return str(int(text) + 5) if text.lstrip("-").isdigit() else f"{text}5"


def test_every_line_of_the_page_is_refuted(released, book):
    true = saved(released["measured"])
    lines = true.files["x.html"].decode().split("\n")
    for k, line in enumerate(lines):
        for new in ([*lines[:k], *lines[k + 1 :]], [*lines[:k], line + "7", *lines[k + 1 :]]):
            assert refuted(rewritten(true, **{"x.html": "\n".join(new)}), book) == PAGE, line


def shared(record, parts: dict[str, Fraction] | None = None, tiers: list[Fraction] | None = None):
    """A record in which the parts of statistics, or of measured levels, are others, with their epsilons and levels."""
    record = copy.deepcopy(record)
    mine, asked = record["audience"], record["question"]
    level = Level(Fraction(asked["level"] if mine is None else mine["alpha"]))
    groups = record["max_groups"] if record["unit"] is not None else 1
    charge = Fraction(record["epsilon_charged"])
    for one in record["statistics"]:
        one["part"] = str(parts[one["name"]]) if parts else one["part"]
    for tier, part in zip(record["measured"], tiers or [], strict=bool(tiers)):
        tier["part"], tier["epsilon"] = str(part), str(charge * part / groups)
    levels = record["measured"] or [{"part": "1"}]
    for tier in levels:
        for one, of in zip(tier.get("statistics", record["statistics"]), record["statistics"], strict=True):
            share = Fraction(of["part"]) * Fraction(tier["part"]) / groups
            one["epsilon"], one["alpha"] = str(charge * share), str(level.power(share))
    return record


def with_sizes(held):
    """A share of 25 % becomes 2.5 %: the public sizes of all groups ten times as large."""
    record, columns, margins = held.parts
    columns["n"] = [str(10 * int(n)) for n in columns["n"]]
    return remade(held, record, columns, margins)


def with_parts(held):
    """A total that was drawn at a tenth of epsilon, published as if it had been nine tenths."""
    record, columns, margins = held.parts
    return remade(held, shared(record, tiers=[Fraction(9, 10), Fraction(1, 10)]), columns, margins)


def with_weights(held):
    record, columns, margins = held.parts
    names = [one["name"] for one in record["statistics"]]
    parts = dict.fromkeys(names, Fraction(1, len(names)))
    return remade(held, shared(record, parts), columns, margins)


def with_family(held):
    """Narrower intervals: of a mechanism that was not the one that drew."""
    record, columns, margins = held.parts
    columns["mechanism"] = ["geometric" if one != "public zero" else one for one in columns["mechanism"]]
    return remade(held, record, columns, margins)


def with_level(held):
    """Privacy that nobody got: every report at a more private level than it was drawn at."""
    record, columns, margins = held.parts
    for one in record["statistics"]:
        one["alpha"] = str((1 + Fraction(one["alpha"])) / 2)
    return remade(held, record, columns, margins)


def with_levels_all_the_way(held):
    """The same with the level of the question, and what it would have cost."""
    record, columns, margins = held.parts
    level = Level.of(epsilon=Fraction(record["epsilon_charged"]) / 2)
    record["question"]["level"] = str(level.alpha)
    record["epsilon_charged"] = str(level.charge)
    return remade(held, shared(record), columns, margins)


def with_map(held):
    """Another town in the north, whose total was measured without it."""
    record, columns, margins = held.parts
    moved = [[key, {"a": "north", "b": "south", "c": "south"}[key]] for key, _ in record["containers"][0]["map"]]
    record["containers"][0]["map"] = moved
    return remade(held, record, columns, margins)


def without_line(held):
    """Nothing was charged, so that the ledger is not asked."""
    record, columns, margins = held.parts
    record |= {"ledger_line": None, "ledger_head": None, "epsilon_charged": "0"}
    return remade(held, record, columns, margins)


def of_another_audience(held):
    record, columns, margins = held.parts
    own = Level.of(alpha="3/10")
    record["audience"] = {
        "name": "3/10",
        "alpha": "3/10",
        "epsilon": record["audience"]["charged"],
        "charged": record["audience"]["charged"],
    }
    record["epsilon_charged"] = record["audience"]["charged"]
    for one in record["statistics"]:
        one["alpha"] = str(own.alpha)
    return remade(held, record, columns, margins)


def without_bound(held):
    record, columns, margins = held.parts
    record["max_count"] = 300
    return remade(held, record, columns, margins)


def in_one_group(held):
    record, columns, margins = held.parts
    record["max_groups"] = 1
    return remade(held, shared(record), columns, margins)


def with_bounds(held):
    """Incomes of up to 100,000: reports a hundred times as large."""
    record, columns, margins = held.parts
    record["statistics"][0] |= {"high": "100000", "step": "25000"}
    columns["report"] = [str(100 * int(x)) for x in columns["report"]]
    return remade(held, record, columns, margins)


def with_condition(held):
    record, columns, margins = held.parts
    record["statistics"][0]["where"] = "not ill"
    return remade(held, record, columns, margins)


FORGERIES = [
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
    ("bound", with_levels_all_the_way),
    ("staircase", with_levels_all_the_way),
    ("measured", with_map),
    ("bound", without_line),
    ("fair", without_line),
    ("an audience", without_line),
    ("an audience", of_another_audience),
    ("bound", without_bound),
    ("persons", in_one_group),
    ("staircase", with_bounds),
    ("fair", with_condition),
]


@pytest.mark.parametrize(("what", "forge"), FORGERIES, ids=[f"{what} {forge.__name__}" for what, forge in FORGERIES])
def test_what_fits_in_itself_is_refuted_by_what_was_stored(released, book, what, forge):
    true = saved(released[what])
    forged = forge(true)
    assert forged is not None
    assert forged.files != true.files
    if (
        forged.files != saved(released["the other audience"]).files
    ):  # rounded, both may have the same reports: then it is theirs
        assert refuted(forged, book) is not None


@pytest.mark.parametrize("version", ["0.0.9", None])
def test_another_version_turns_no_check_off_in_silence(released, book, version):
    """The words of other versions are not known: then they are not checked, which is said first and is no success."""
    true = saved(released["sizes"])
    record = {**true.record, "discreet": version}
    assert (
        refuted(rewritten(true, record), book) is None
    )  # negative control: its words and page are today's, and are checked
    assert not unchecked(rewritten(true, record), book)
    cited, named = ([{**one, name: "Nobody"} for one in record["mechanisms"]] for name in ("citation", "family"))
    page = release_page(released["sizes"]).replace("noise", "no noise")
    for forged, matter in (
        (rewritten(true, record, **{"x.html": page}), PAGE),
        (remade(true, {**record, "protects": "Everything."}), None),  # made anew, the words are today's again
        (rewritten(true, {**record, "protects": "Everything."}), "what the record says"),
        (rewritten(true, {**record, "beware": []}), "what the record says"),
        (rewritten(true, {**record, "mechanisms": cited}), "what the record says"),
    ):
        case = Case(forged, book)
        checks = tuple(judged(case, one) for one in CHECKERS)
        verdict = ReleaseVerdict("x.json", checks)
        if matter is None:
            assert verdict
            continue
        assert matter in {check.matter for check in checks if check.held is None}
        assert not verdict
        assert str(verdict).splitlines()[0].startswith(f"x.json: NOT CHECKED: {matter}")
    assert refuted(rewritten(true, {**record, "mechanisms": named}), book)
    assert refuted(rewritten(true, {**true.record, "protects": "Everything."}), book) == "what the record says"


def test_without_a_ledger_the_first_line_says_so(released):
    verdict = ReleaseVerdict("x.json", tuple(judged(Case(saved(released["bound"])), one) for one in CHECKERS))
    assert (verdict.holds, verdict.complete, bool(verdict)) == (True, False, False)
    assert str(verdict).splitlines()[0] == "x.json: NOT CHECKED: the ledger; what could be checked holds"


def spelled(row):
    """The cells of a row as another program might write them, or somebody who hopes that they are read otherwise."""
    yield "", "\n\n", row
    yield "", "\r\n", row
    yield '"', "\n", row
    for write in (
        " {}".format,
        "{} ".format,
        "+{}".format,
        "{}0".format,
        lambda x: f"{x[0]}_{x[1:]}",
        lambda x: x.translate({48 + k: 0x660 + k for k in range(10)}),
        lambda x: repr(float(x) * (1 + 1e-8)),
    ):
        yield "", "\n", [write(cell) if "." in cell and not cell[0].isalpha() else cell for cell in row]
    yield "", "\n", [row[0], repr(float(row[1]) * (1 + 1e-13)), *row[2:]]  # the report, by less than a step


def test_a_csv_has_one_spelling(book):
    people = pandas.DataFrame({"town": ["a", "a"], "income": [500, 700]})
    made = dt.release(
        people, dataset="people", ledger=book, by=["town"], domain={"town": ["a"]}, epsilon=1, sum="income:0..999/0.3"
    )
    true = saved(made)
    head, row, _ = (line.split(",") for line in true.files["x.csv"].decode().split("\n"))
    assert head[1] == "report"
    for quote, end, cells in [("", "\n", row), *spelled(row)]:
        text = "".join(",".join(f"{quote}{cell}{quote}" for cell in line) + end for line in (head, cells))
        forged = rewritten(true, **{"x.csv": text})
        assert (refuted(forged, book) is None) is (forged.files == true.files), text
    other = rewritten(true, {**true.record, "discreet": "0.0.9"}, **{"x.csv": true.files["x.csv"].decode() + "\n"})
    assert unchecked(other, book)[0] == "rows and their keys"


def test_groups_without_number_are_refuted_and_take_no_memory(released, book):
    true = saved(released["bound"])
    for size in (10**15, -(10**15), 0):
        forged = rewritten(true, {**true.record, "groups": size})
        assert [judged(Case(forged, book), matter).held for matter in ("rows and their keys", LEDGER)] == [False, False]


@pytest.mark.parametrize("huge", ["1e999999999", "1/1e-999999999", "-1E+999999999"])
def test_numbers_that_would_fill_the_memory_are_none(released, book, huge):
    """In every place of the record that holds a number as a text."""
    true, tried = saved(released["measured"]), 0
    for path in leaves(true.record):
        value = at(true.record, path)
        if isinstance(value, str) and not is_free(path) and re.fullmatch(r"-?\d+(/\d+)?(\.\d+)?", value):
            assert refuted(rewritten(true, changed(true.record, path, huge)), book) is not None, path
            tried += 1
    assert tried > 10


def test_files_under_other_names_have_no_other_content(released, book, tmp_path):
    released["bound"].save(tmp_path / "x.csv")
    for suffix in (".csv", ".json", ".html"):
        (tmp_path / "x").with_suffix(suffix).rename((tmp_path / "renamed").with_suffix(suffix))
    verdict = dt.check_release(tmp_path / "renamed.json", ledger=book)
    assert not verdict.holds
    assert "The record names no file renamed.csv. Keep every file of a release under the name" in str(verdict)
    assert "was changed after" not in str(verdict)
