"""Relabelled releases: another word or number in the record, in its page and in its tables, with all digests made anew.

A ledger that was exported with the commitment opened tells which answer to which question was drawn. Every leaf of the records here
is changed in these ways: alone, in all that stands outside the answer, in the answer too, and with all that follows from it made
anew by the library, also as if it had been asked again. Both checkers must refuse it, or name the field in the list of what they
did not compare.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet import verify
from discreet.errors import DiscreetError
from discreet.tables.publish.rebuilding import rebuild
from discreet.tables.saved.checking import _BROKEN
from discreet.tables.saved.release_files import contents_of, digest_of, record_text
from tests import profiles
from tests.asking import ask_release

from .asking import at, release_any
from .test_forgeries import changed, kind_of, leaves, plausible, value_at

TOWNS = {"town": ["a", "b", "c"]}
BANDS = {"age": {"under 40": [0, 39], "40 and over": [40, None]}}
AREA = {"area": {"of": "town", "map": {"north": ["a", "b"], "south": ["c"]}}}
SICK = {"ill": "cond = 'hiv'", "well": "cond = 'none'"}
ASKED: dict[str, dict[str, Any]] = {
    "conditions": {
        "dataset": "bits",
        "count": SICK,
        "share": {"part": "cond = 'hiv'"},
        "mean": "income:0..1000/250",
        "weights": {"part": 2},
        "presented": {"title": "Illness", "source": "register", "notes": "early figures", "labels": {"town": "Town"}},
    },
    "bands": {"dataset": "people", "by": ["age"], "domain": BANDS, "measure_totals": ["total"], "version": "2026-11"},
    "containers": {
        "dataset": "people",
        "count": SICK,
        "domain": {**TOWNS, **AREA},
        "measure_totals": {"area": 1, "cells": 9},
        "margins": ["total"],
    },
    "units": {
        "dataset": "persons",
        "mean": "income:0..1000/250",
        "max_groups": 2,
        "domain": {"town": ["a", None]},
        "pool_other": True,
    },
    "rows": {"dataset": "persons", "count": "cond = 'hiv'", "counted": "rows", "max_rows": 3},
    "own": {"dataset": "bits", "count": "cond = 'hiv'", "mechanism": dt.geometric(130, alpha="3/4")},
    "rho": {
        "dataset": "census",
        "sum": "income:0..1000/250",
        "share": {"part": "cond = 'hiv'"},
        "measure_totals": ["total"],
        "epsilon": None,
        "rho": "1/5",
    },
    "corrected": {"dataset": "people", "version": "2026-03", "supersedes": "2026-01", "reason": "late registrations"},
    "part": {
        "dataset": "births",
        "part": "2026-01",
        "count": "cond = 'hiv'",
        "simultaneous": True,
        "margins": ["total"],
    },
    "audience": {"dataset": "people", "audiences": at("3/10", "4/5"), "count": "cond = 'hiv'"},
}
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("relabelled") / "budget.db") as ledger:
        ledger.create("bits", "99", relation="change-one", public=["town"])
        ledger.create("people", "99", relation="add-remove")
        ledger.create("persons", "99", relation="add-remove", unit="id")
        ledger.create("census", rho="99", delta="1e-9", relation="change-one", public=["town"])
        ledger.create("births", "99", relation="add-remove", parts="month")
        yield ledger


@pytest.fixture(scope="module")
def shelf(book, tmp_path_factory) -> dict[str, tuple[Path, Files]]:
    """Each release saved in a folder of its own, with an export of the ledger that opens its commitment; and its files."""
    rng = np.random.default_rng(7)
    people = pa.table(
        {
            "town": ["a"] * 70 + ["b"] * 12 + ["c"] * 8,
            "age": rng.integers(0, 90, 90),
            "cond": rng.choice(["hiv", "flu", "none"], 90),
            "income": rng.integers(0, 1000, 90),
            "id": rng.integers(0, 60, 90),
            "month": rng.choice(["2026-01", "2026-02"], 90),
        }
    )
    found = {}
    for what, given in ASKED.items():
        asked = {"by": ["town"], "domain": TOWNS, **given}
        words = asked.pop("presented", {})
        level = {} if {"audiences", "rho"} & asked.keys() else {"epsilon": "3/2"}
        if what == "corrected":
            asked["supersedes"], table = "2026-01", tmp_path_factory.mktemp("data") / "people.csv"
            for version in ("2026-01", "2026-03"):
                corrects = {**asked, "version": version}
                if version == "2026-01":
                    del corrects["supersedes"], corrects["reason"]
                table.write_text("town\na\na\nb\n" + "c\n" * len(corrects), encoding="utf-8")
                book["people"].admit(table, version=version)
                made = ask_release(table, ledger=book, confirm=lambda check: True, **level, **corrects)
        else:
            made = release_any(people, ledger=book, **level, **asked)
        if isinstance(made, dt.results.Audiences):
            made = made["4/5"]
        folder, record = tmp_path_factory.mktemp("published"), made.record
        made.save(folder / "x.csv", **words)
        opened = [record["ledger_line"]] if record["audience"] is None else []
        (folder / "ledger.json").write_text(json.dumps(book[record["dataset"]].export(published=opened)))
        found[what] = folder, {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "ledger.json"}
    return found


def document_of(files: Files) -> dict[str, Any]:
    return dict(json.loads(files["x.json"]))


def signed(files: Files, record: Any, margins: Any) -> Files:
    """The files with another record, and all digests made anew."""
    listed = {name: digest_of(files[name]) if name in files else digest for name, digest in record["files"].items()}
    return {**files, "x.json": record_text({**record, "files": listed}, margins).encode()}


def everywhere(value: Any, old: str, new: str) -> Any:
    """A document with another word wherever the word stands."""
    if isinstance(value, dict):
        return {everywhere(name, old, new): everywhere(part, old, new) for name, part in value.items()}
    if isinstance(value, list):
        return [everywhere(part, old, new) for part in value]
    return re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _: new, value) if isinstance(value, str) else value


def forgeries(files: Files, path: tuple[Any, ...], new: Any) -> dict[str, Files]:
    """A leaf with another value: alone, its word everywhere but in the answer, in the answer too, and with all that follows."""
    told = document_of(files)
    record, margins, old = told["record"], told["margins"], value_at(told["record"], path)
    alone = changed(record, path, new)
    found = {"alone": signed(files, alone, margins)}
    if isinstance(old, str) and isinstance(new, str) and re.search(r"[^\W\d]", old):
        texts = {
            name: everywhere(text.decode(), html.escape(old), html.escape(new)).encode() for name, text in files.items()
        }
        for where in ("outside the answer", "everywhere"):
            words = {**everywhere(record, old, new), "files": record["files"]}
            words |= {"answer": alone["answer"]} if where == "outside the answer" else {}
            words |= {name: record[name] for name in ("format", "format_version")}
            with contextlib.suppress(KeyError):  # the name of a field is such a word, too
                found[where] = signed(texts, words, everywhere(margins, old, new))
    with contextlib.suppress(*_BROKEN):
        for how, repeated in (("remade", record["repeated"]), ("as if asked again", True)):
            told = json.loads(json.dumps({**alone, "repeated": repeated} if path[0] != "repeated" else alone))
            again = contents_of(rebuild(told).release, Path("x.csv"))
            found[how] = {place.name: text.encode() for place, text in again.items()}
    return {how: forged for how, forged in found.items() if not says_the_same(forged, files)}


def says_the_same(forged: Files, files: Files) -> bool:
    """Is it the true release, given again?"""
    told, true = ({**document_of(each)["record"], "repeated": False, "files": None} for each in (forged, files))
    return told == true and forged["x.csv"] == files["x.csv"]


def put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        (folder / name).write_bytes(content)


def told_by_verify(folder: Path) -> tuple[bool, str]:
    """Does verify.py take it, run as a program; and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = verify.main([str(folder / "ledger.json"), str(folder / "x.json")])
    return code == 0, printed.getvalue()


def told_by_check_release(folder: Path, book: dt.Ledger) -> tuple[bool, str]:
    try:
        verdict = dt.check_release(folder / "x.json", ledger=book)
    except DiscreetError as refused:
        return False, str(refused)
    return bool(verdict), str(verdict)


def is_named(path: tuple[Any, ...], told: str) -> bool:
    """Is the field, or one that it lies in, in a list of what was not checked?"""
    lists = [line.rpartition(": ")[2] for line in told.splitlines() if "not compared" in line.lower()]
    names = {name for line in lists for name in line.rstrip(".").split(", ")}
    return any(".".join(kind_of(path)[: n + 1]) in names for n in range(len(kind_of(path))))


def test_negative_control_the_true_releases_hold(shelf, book):
    for what, (folder, files) in shelf.items():
        put(folder, files)
        assert told_by_verify(folder)[0], what
        assert told_by_check_release(folder, book)[0], what
        assert not is_named(("question", "statistics", 0, "what"), told_by_verify(folder)[1]) or what == "audience"


def test_negative_control_a_checker_that_takes_every_commitment_is_found_out(shelf, monkeypatch):
    """A condition in other words in record, page and tables, its answer as it was: only the commitment tells."""
    folder, files = shelf["rows"]
    path = ("question", "statistics", 0, "what")
    forged = forgeries(files, path, "cond = 'flu'")["outside the answer"]
    assert b"hiv" not in forged["x.html"]
    put(folder, forged)
    takes, told = told_by_verify(folder)
    assert not takes
    monkeypatch.setattr(verify, "_opens", lambda *_: True)
    takes, told = told_by_verify(folder)
    put(folder, files)
    assert takes
    assert not is_named(path, told)


def in_turn(shelf) -> dict[tuple[str, ...], set[str]]:
    """In which records a kind of leaf is changed: in each that has it, or with little time in one."""
    holders: dict[tuple[str, ...], list[str]] = {}
    for what, (_, files) in shelf.items():
        for kind in dict.fromkeys(map(kind_of, leaves(document_of(files)["record"]))):
            holders.setdefault(kind, []).append(what)
    if profiles.current() != "dev":
        return {kind: set(those) for kind, those in holders.items()}
    return {kind: {those[k % len(those)]} for k, (kind, those) in enumerate(holders.items())}


def test_every_relabelled_leaf_is_refused_or_named(shelf, book):
    accepted, tried = set(), 0
    chosen = in_turn(shelf)
    for what, (folder, files) in shelf.items():
        record, seen = document_of(files)["record"], set()
        for path in leaves(record):
            kind = kind_of(path)
            if path[0] == "files" or "channel" in path or what not in chosen[kind] or (kind, path[-1]) in seen:
                continue
            seen.add((kind, path[-1]))
            for new in plausible(value_at(record, path)):
                if new == value_at(record, path):
                    continue
                for how, forged in forgeries(files, path, new).items():
                    put(folder, forged)
                    tried += 1
                    for who, (takes, told) in {
                        "verify": told_by_verify(folder),
                        "check-release": told_by_check_release(folder, book),
                    }.items():
                        if takes and not is_named(path, told):
                            accepted.add((who, ".".join(kind), how))
        put(folder, files)
    assert tried > 400
    assert not accepted, "\n".join(map(str, sorted(accepted)))


def test_what_was_spent_is_that_of_the_answers_own_line(shelf, book):
    """What was spent later belongs to an answer that is given again, and to no other."""
    folder, files = shelf["bands"]
    record, exported = document_of(files)["record"], (folder / "ledger.json").read_bytes()
    budget, line = record["budget"], record["ledger_line"]
    spent = book["people"].balance().spent
    later = {**budget, "spent": str(spent), "left": str(Fraction(budget["budget"]) - spent)}
    (folder / "ledger.json").write_text(json.dumps(book["people"].export(published=[line])))
    for told, repeated, holds in ((budget, False, True), (later, False, False), (later, True, True)):
        made = rebuild(json.loads(json.dumps({**record, "budget": told, "repeated": repeated}))).release
        put(folder, {place.name: text.encode() for place, text in contents_of(made, Path("x.csv")).items()})
        assert told_by_verify(folder)[0] is holds
        assert told_by_check_release(folder, book)[0] is holds
    put(folder, {**files, "ledger.json": exported})


@pytest.mark.parametrize("path", [(), ("budget",), ("question",), ("answer",), ("ledger_head",), ("statistics", 0)])
def test_a_field_that_nobody_knows_is_refused(shelf, book, path):
    """Its negative control is that the true releases hold (above)."""
    folder, files = shelf["rows"]
    told = document_of(files)
    record = changed(told["record"], path, {**value_at(told["record"], path), "approved": "by the ministry"})
    put(folder, signed(files, record, told["margins"]))
    assert not told_by_verify(folder)[0]
    assert not told_by_check_release(folder, book)[0]
    put(folder, files)


@pytest.mark.parametrize("audiences", [None, {}, "", ["9/10"]])
def test_a_rho_has_an_empty_list_of_audiences(shelf, book, audiences):
    folder, files = shelf["rho"]
    told = document_of(files)
    assert told["record"]["audiences"] == []
    put(folder, signed(files, {**told["record"], "audiences": audiences}, told["margins"]))
    assert not told_by_verify(folder)[0]
    assert not told_by_check_release(folder, book)[0]
    put(folder, files)
