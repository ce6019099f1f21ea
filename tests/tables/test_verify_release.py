"""verify.py on releases and exported ledgers: what a journalist can check with the standard library alone, and its forgeries."""

from __future__ import annotations

import copy
import csv
import functools
import hashlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

import discreet as dt
from discreet import verify
from discreet.ledger.terms import Price
from discreet.present.words import csv_lines
from discreet.tables.saved.release_files import contents_of, digest_of, record_text
from tests.cells import for_each

from .test_forgeries import ASKED, book, changed, kind_of, leaves, plausible, rebuilt, released  # noqa: F401

WHATS = [*ASKED, "the other audience"]
Document = dict[str, Any]


@pytest.fixture(scope="module")
def shelf(released, book, tmp_path_factory):  # noqa: F811
    """Every release in a folder of its own, with an export of the ledger that opens it where it was published whole."""
    folders = {}
    for what, made in released.items():
        folder = folders[what] = tmp_path_factory.mktemp("published")
        for path, text in contents_of(made, folder / "x.csv").items():
            path.write_text(text, encoding="utf-8", newline="")
        record = made.record
        whole = record["audience"] is None
        exported = book[record["dataset"]].export(published=[record["ledger_line"]] if whole else [])
        (folder / "ledger.json").write_text(json.dumps(exported))
    return folders


def document_of(folder: Path) -> Document:
    return verify._document(str(folder / "x.json"))[1]


def ledger_of(folder: Path) -> Document:
    return dict(json.loads((folder / "ledger.json").read_text()))


@functools.cache
def _history_of(folder: Path) -> Any:
    return verify.history(ledger_of(folder))


def judged(folder: Path, document: Document | None = None, ledger: Document | None = None) -> verify.Verdict:
    told = _history_of(folder) if ledger is None else verify.history(ledger)
    return verify.check_release(document_of(folder) if document is None else document, str(folder / "x.json"), told)


def failing(verdict: verify.Verdict) -> list[str]:
    return [finding.words for finding in verdict.findings if not finding.held]


def test_measured_totals_of_public_zeros_have_no_level_to_compare(tmp_path):
    """Nothing was drawn, and nothing is left unchecked but the charge; a level that is no number is found."""
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="change-one", public=["g", "h"])
        table = pandas.DataFrame({"g": ["x"], "h": ["a"], "ill": ["yes"]})
        asked = {
            "count": "ill = 'yes'",
            "by": ["g", "h"],
            "domain": {"g": ["p", "q"], "h": ["r", "s"]},
            "measure_totals": ["g"],
        }
        ledger["d"].release(table, epsilon=1, **asked).save(tmp_path / "x.csv")
        exported = ledger["d"].export()
    document = document_of(tmp_path)
    assert failing(judged(tmp_path, document, exported)) == [
        "Nothing was charged for it, so no line of the ledger confirms it."
    ]
    record = json.loads(json.dumps(document["record"]))
    record["measured"][0]["statistics"][0]["alpha"] = "some"
    assert len(failing(judged(tmp_path, resigned(document, record=record), exported))) > 1


def resigned(document: Document, **changes: Any) -> Document:
    """With another record or other totals, and its digest made anew."""
    told = {**document, **changes}
    return dict(json.loads(record_text(told["record"], told["margins"])))


@for_each("what", WHATS)
def test_a_true_release_holds(shelf, what):
    verdict = judged(shelf[what])
    assert failing(verdict) == []
    opened = any("are those that line" in finding.words for finding in verdict.findings)
    assert opened is ("audience" not in what)
    assert any("ask for an export that opens" in words for words in verdict.beyond) is not opened


AREAS = {"town": ["a", "b", "c", "z"], "area": {"of": "town", "map": {"north": ["a", "b"], "south": ["c", "z"]}}}


@pytest.mark.parametrize("relation", ["change-one", "add-remove"])
def test_empty_groups_of_shares_and_totals_by_containers_hold(tmp_path, relation):
    """The two numbers of an empty public group are 0; the groups of a total by a container are those of the declared map."""
    table = pandas.DataFrame({"town": [*"aabbcc"], "ill": ["yes", None, "no", "yes", "no", "no"], "x": 1})
    change = relation == "change-one"
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation=relation, public=["town"] if change else [])
        made = (
            ledger["d"]
            .release(
                table,
                epsilon="1/100",
                sum="x:0..9",
                share="ill = 'yes' missing out",
                count="ill = 'no'",
                by="town",
                domain=AREAS,
                measure_totals=["area"],
            )
            .presented(simultaneous=True)
        )
        made.save(tmp_path / "x.csv")
        exported = ledger["d"].export(published=[made.record["ledger_line"]])
    assert [made.columns[c][-1] for c in ("report_u", "report_v")] == [0, 0] or not change
    assert failing(judged(tmp_path, None, exported)) == []
    document = document_of(tmp_path)
    domain = document["record"]["question"]["domain"]
    question = document["record"]["question"]
    mapped = [{**domain["containers"][0], "map": [[town, town] for town in AREAS["town"]]}]
    for odd in (
        mapped,
        [],
        [{**domain["containers"][0], "map": [["a"]]}],
        [{**domain["containers"][0], "map": "a"}],
        None,
    ):
        record = {**document["record"], "question": {**question, "domain": {**domain, "containers": odd}}}
        assert failing(judged(tmp_path, resigned(document, record=record), exported))


def test_a_correction_that_no_line_declares_is_refused(tmp_path):
    """It may move people between parts, so that it is declared when its data are admitted."""
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove", parts="p")
        table = pandas.DataFrame({"p": ["a", "b"]})
        ledger["d"].release(table, epsilon=1)
        made = ledger["d"].release(table, epsilon=1, part="a")
        made.save(tmp_path / "x.csv")
        exported = ledger["d"].export(published=[made.record["ledger_line"]])
    document = document_of(tmp_path)
    assert failing(judged(tmp_path, document, exported)) == []
    forged = {**document["record"], "supersedes": {"version": "0", "reason": "late", "line": 2}}
    found = failing(judged(tmp_path, resigned(document, record=forged), exported))
    assert found == ["The ledger did not admit its data as a correction, and counts parts as if nobody had moved."]


def test_every_cell_of_the_files_is_compared(shelf):
    """All but intervals, estimates, standard errors and what is fitted; those of totals are in the record too."""
    unnoticed: set[tuple[str, str]] = set()
    for folder in shelf.values():
        document = document_of(folder)
        for name in document["record"]["files"]:
            if not name.endswith(".csv"):
                continue
            true = (folder / name).read_text(encoding="utf-8")
            head, *rows = csv.reader(io.StringIO(true, newline=""))
            for c, column in enumerate(head):
                forged = copy.deepcopy(rows)
                forged[-1][c] = plausible(int(forged[-1][c]) if forged[-1][c].isdigit() else forged[-1][c])[0]
                text = csv_lines(head, forged)
                (folder / name).write_text(text, encoding="utf-8", newline="")
                files = {**document["record"]["files"], name: digest_of(text.encode())}
                held = judged(folder, resigned(document, record={**document["record"], "files": files})).holds
                unnoticed |= {(name, column)} if held else set()
            (folder / name).write_text(true, encoding="utf-8", newline="")
    assert unnoticed <= {("x.csv", column) for column in ("low", "high", "estimate", "standard_error", "fitted")}


@for_each("what", [what for what in ASKED if what != "an audience"])
def test_reports_that_were_made_up_are_refuted_by_what_the_ledger_is_committed_to(shelf, what, tmp_path):
    """All that follows from them is made anew by the library itself: in itself such a release holds."""
    document = document_of(shelf[what])
    record = copy.deepcopy(document["record"])
    group = next(k for k, size in enumerate(record["answer"]["sizes"]) if size)
    record["answer"]["reports"][0][group] += -1 if record["answer"]["reports"][0][group] else 1
    for path, text in contents_of(rebuilt(record).release, tmp_path / "x.csv").items():
        path.write_text(text, encoding="utf-8", newline="")
    forged = document_of(tmp_path)
    *alone, without_ledger = verify.check_release(forged, str(tmp_path / "x.json")).findings
    assert all(finding.held for finding in alone)
    assert without_ledger.held is None
    (words,) = failing(judged(tmp_path, forged, ledger_of(shelf[what])))
    assert "is committed to another question or answer" in words


def test_a_record_that_was_saved_again_is_not_accused(shelf):
    """The same fields in another order are the same answer; of the file of a mechanism no order is known."""
    told = {}
    for what, folder in shelf.items():
        document = document_of(folder)
        again = json.loads(json.dumps(document, sort_keys=True))
        assert list(again["record"]["answer"]) != list(document["record"]["answer"])
        told[what] = failing(judged(folder, again))
    assert not any(told.values())


def test_an_invented_correction_is_refuted(shelf):
    """The answer is committed to what it corrects, or to nothing."""
    (what, *_) = ASKED
    document = document_of(shelf[what])
    forged = {**document["record"], "supersedes": {"version": "2025-12", "reason": "late", "line": None}}
    found = failing(judged(shelf[what], resigned(document, record=forged)))
    assert len(found) == 1
    assert "is committed to another question" in found[0]


def test_a_reader_who_hangs_up_sees_no_traceback(shelf):
    """Also where all that is printed is held back until the end; what was not read to its end did not hold."""
    (what, *_) = ASKED
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, verify.__file__, *(str(shelf[what] / name) for name in ("x.json", "ledger.json"))]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.stderr, done.returncode) == ("", 1)


# Ledgers


def relinked(ledger: Document) -> Document:
    """With all hashes and the head made anew, as somebody can who writes the whole history again."""
    told, link = copy.deepcopy(ledger), bytes(32)
    for line in told["entries"]:
        body = json.dumps(line["entry"], sort_keys=True, separators=(",", ":"))
        link = hashlib.sha256(link + body.encode()).digest()
        line["hash"] = link.hex()
    told["head"] = {"count": len(told["entries"]), "hash": link.hex()}
    return told


def edits(ledger: Document) -> Iterator[tuple[str, Document]]:
    """Every value of every line changed, lines dropped, swapped and doubled, the end cut off."""
    for path in leaves(ledger["entries"]):
        if path[1:] and path[1] == "entry" and len(path) > 2:
            old = ledger["entries"]
            for name in path:
                old = old[name]
            for new in plausible(old):
                if new != old:
                    yield f"{path}: {new}", changed(ledger, ("entries", *path), new)
    entries = ledger["entries"]
    for k in range(len(entries)):
        yield f"without line {k + 1}", {**ledger, "entries": [*entries[:k], *entries[k + 1 :]]}
        yield f"line {k + 1} twice", {**ledger, "entries": [*entries[: k + 1], *entries[k:]]}
        if k:
            swapped = [*entries[: k - 1], entries[k], entries[k - 1], *entries[k + 1 :]]
            yield f"lines {k} and {k + 1} swapped", {**ledger, "entries": swapped}


@pytest.fixture
def small(ledger_of_town):
    return ledger_of_town


@pytest.fixture(scope="module")
def ledger_of_town(tmp_path_factory):
    """A history with lines of every kind, and a cap."""
    with dt.Ledger(tmp_path_factory.mktemp("town") / "l.db") as ledger:
        ledger.create("town", 20, relation="add-remove", per={"year": 2, "month": 1})
        line = ledger.book.note_admission("town", "v1", data="file", reading={}, columns=[]).number
        pending = ledger.book.begin("town", {"q": 1}, epsilon=Fraction(1, 2), data="d", admission=line, what="words")
        ledger.book.finish(pending, "an answer")
        ledger.book.begin("town", {"q": 2}, epsilon=Fraction(1, 4), data="d", what="words")
        ledger["town"].charge(epsilon="1/4", what="elsewhere")
        return dict(json.loads(json.dumps(ledger["town"].export(words=True, published=[pending.charge]))))


def test_parts_have_a_budget_each(tmp_path):
    """The largest sum counts; a charge for all parts counts in each of them."""
    with dt.Ledger(tmp_path / "l.db") as ledger:
        ledger.create("births", 1, relation="add-remove", parts="month", per={"year": "3/4"})
        for part, epsilon in (("2026-01", "1/2"), ("2026-02", "1/4"), (None, "1/8"), ("2026-02", "1/4")):
            ledger.book.note_charge(
                "births", Price.of(Fraction(epsilon)), "words", basis="drawn by a mechanism", part=part
            )
        told = dict(json.loads(json.dumps(ledger["births"].export())))
    verdict, found = verify.check_ledger(told)
    assert verdict.holds
    assert found is not None
    assert found.spent == Fraction(5, 8)
    last = {part: found.sums_of(part)[-1] for part in (None, "2026-01", "2026-02", "2026-03")}
    assert list(last.values()) == [Fraction(5, 8), Fraction(5, 8), Fraction(5, 8), Fraction(1, 8)]
    assert found.sums_of("2026-02")[2] == Fraction(1, 4)
    whole = relinked(changed(told, ("entries", 3, "entry", "epsilon"), "3/8"))  # 3/8 + 1/2 is beyond the year's cap
    assert "Line 4 charges more than the year" in str(refusal(whole))
    lumped = copy.deepcopy(told)
    del lumped["entries"][2]["entry"]["part"], lumped["entries"][4]["entry"]["part"]
    assert "charges more than" in str(refusal(relinked(lumped)))
    lost = copy.deepcopy(told)
    del lost["entries"][0]["entry"]["parts"]
    assert "charges for a part that the data set does not have" in str(refusal(relinked(lost)))


def refusal(ledger: Document, head: str | None = None) -> str | None:
    verdict, _ = verify.check_ledger(ledger, head)
    return next(iter(failing(verdict)), None)


def test_a_true_ledger_holds(small):
    verdict, told = verify.check_ledger(small)
    assert verdict.holds
    assert told is not None
    assert [finding.words for finding in verdict.findings[1:]] == [
        "1 of 20 is spent, in 3 charges, of which 1/4 was stated and drawn elsewhere; 1 without an answer",
        "no charge went beyond the budget or the caps: at most 1 a month, 2 a year",
    ]
    assert refusal(relinked(small)) is None  # the forger of these tests makes what the ledger makes


def test_every_edit_of_a_ledger_is_found(small):
    for what, forged in edits(small):
        assert refusal(forged) is not None, what
    for count in range(1, len(small["entries"])):
        cut = relinked({**small, "entries": small["entries"][:count]})
        assert refusal({**small, "entries": cut["entries"]}) is not None


def test_a_history_that_was_written_anew_is_found_by_a_head_that_was_kept(small):
    """In itself it may hold: a smaller charge, an end that was cut off."""
    head = f"{small['head']['count']}:{small['head']['hash']}"
    assert refusal(small, head) is None
    earlier = f"4:{small['entries'][3]['hash']}"
    assert refusal(small, earlier) is None
    beyond = [verify.check_ledger(small, kept)[0].beyond[0] for kept in (None, earlier, f"4:{'0' * 64}")]
    assert beyond[0] == beyond[2]
    assert beyond[0].startswith("whether the ledger was rewritten or its end removed")
    assert beyond[1] == "whether lines after line 4, whose head was kept, were rewritten or removed"
    cut = relinked({**small, "entries": small["entries"][:-1]})
    cheaper = relinked(changed(small, ("entries", 4, "entry", "epsilon"), "1/8"))
    for forged in (cut, cheaper):
        assert refusal(forged) is None
        assert "was never the end of this history" in str(refusal(forged, head))


@for_each(
    "line, name, new, words",
    [
        (0, "budget", "3/4", "Line 6 charges more than the budget had left"),
        (2, "epsilon", "3/4", "Line 6 charges more than the month"),
        (2, "epsilon", "0/1", "Line 3 charges nothing"),
        (2, "epsilon", "-1/2", "negative"),
        (2, "epsilon", "1/0", "denominator"),
        (2, "epsilon", "1e9", "not an integer"),
        (0, "per", {"year": "1/8"}, "Line 3 charges more than the year"),
        (0, "per", {"week": "1/8"}, "unreadable caps"),
        (0, "relation", "zero-concentrated", "unknown relation"),
        (0, "name", "city", "the terms of another data set"),
        (3, "charge", 5, "answers no charge that waited"),
        (3, "charge", 6, "answers no charge that waited"),
        (5, "when", "2020-01-01T00:00:00+00:00", "dated before the line"),
        (5, "when", "yesterday", "has no time"),
        (4, "kind", "gift", "unknown kind"),
        (4, "parts", ["a"], "which this program does not know"),
        (4, "number", 7, "another number"),
        (1, "kind", "create", "wrong place"),
    ],
)
def test_a_history_that_was_written_anew_must_add_up(small, line, name, new, words):
    forged = copy.deepcopy(small)
    forged["entries"][line]["entry"][name] = new
    assert words in str(refusal(relinked(forged)))


def test_words_must_open_their_digest(small):
    forged = copy.deepcopy(small)
    forged["entries"][4]["what"] = "other words"
    assert "words of line 5 are others" in str(refusal(forged))


# Whatever stands in the files


JUNK = [
    None,
    True,
    -1,
    0,
    1.5,
    10**4000,
    2**64,
    "",
    "x",
    "1/0",
    "1e999999999",
    "9" * 5000,
    "\ud800",
    [],
    [[]],
    {},
    {"x": 1},
]


@pytest.mark.long
def test_every_value_may_be_anything_and_there_is_a_verdict(shelf, small):
    """No exception, and never a long wait: of every kind of value several are tried, others in each release."""
    turns, seen = itertools.cycle(JUNK), set[tuple[str, ...]]()
    for what in ("sizes", "persons", "measured", "own"):
        document, told = document_of(shelf[what]), verify.history(ledger_of(shelf[what]))
        for kind, path in {kind_of(path): path for path in leaves(document["record"])}.items():
            for junk in itertools.islice(turns, 2 if kind in seen else 5):
                seen.add(kind)
                forged = {**document, "record": changed(document["record"], path, junk)}
                verdict = verify.check_release(forged, str(shelf[what] / "x.json"), told)
                assert len(verdict.findings) >= 8
    for path in leaves(small):
        for junk in itertools.islice(turns, 5):
            verdict, _ = verify.check_ledger(changed(small, path, junk))
            assert verdict.findings


@for_each("name", ["../x.csv", "/etc/hostname", "a\0b", "", "..", "sub/x.csv", "C:\\x.csv", 5])
def test_no_other_file_is_read_than_those_beside_the_record(shelf, name):
    document = document_of(shelf["fair"])
    release = verify.Release(document, str(shelf["fair"] / "x.json"))
    with pytest.raises(verify.Fault):
        release.beside(name)


BYTES = {
    "deep": b"[" * 200_000,
    "deep objects": b'{"record":' * 100_000,
    "a key twice": b'{"format": "discreet-ledger", "format": "discreet-ledger"}',
    "NaN": b'{"format": "discreet-ledger", "version": NaN}',
    "infinity": b'{"format": "discreet-ledger", "version": 1e999}',
    "a long number": b'{"format": "discreet-ledger", "version": ' + b"1" * 10**5 + b"}",
    "cut": b'{"format": "discreet-led',
    "not JSON": b"PK\x03\x04",
    "not UTF-8": b'{"format": "\xff"}',
    "a list": b"[1]",
    "nothing": b"",
    "another format": b'{"format": "discreet-answer"}',
    "no record": b'{"record": {"format": "discreet-question"}}',
    "an empty ledger": b'{"format": "discreet-ledger"}',
    "an empty record": b'{"record": {"format": "discreet-release"}}',
}


@for_each("what", BYTES)
def test_every_file_gets_a_sentence(what, tmp_path, capsys):
    (tmp_path / "odd.json").write_bytes(BYTES[what])
    code = verify.main([str(tmp_path / "odd.json")])
    told = capsys.readouterr()
    assert code == (1 if "empty" in what else 2)
    assert "Traceback" not in told.out + told.err
    assert told.out or told.err.startswith("refused (")


def test_the_lone_script_checks_a_release_with_its_ledger(shelf, tmp_path):
    """As a journalist does: one file, copied into the folder with what was published."""
    for file in shelf["sizes"].iterdir():
        shutil.copy(file, tmp_path)
    script = shutil.copy(verify.__file__, tmp_path / "verify.py")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", "-W", "error", script, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    done = run("x.json", "ledger.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("verdict: all of this holds") == 2
    assert "DOES NOT HOLD" not in done.stdout
    assert "not opened" not in done.stdout
    exported = json.loads((tmp_path / "ledger.json").read_text())
    entries = [{k: v for k, v in line.items() if k != "salt"} for line in exported["entries"]]
    closed = {**exported, "entries": entries}
    (tmp_path / "closed.json").write_text(json.dumps(closed))
    done = run("x.json", "closed.json")
    assert done.returncode == 0
    assert "verdict: all of this holds; the commitment to its reports was not opened, so" in done.stdout
    rows = (tmp_path / "x.csv").read_text()
    (tmp_path / "x.csv").write_text(rows.replace("a,", "b,", 1))
    done = run("x.json")
    assert done.returncode == 1
    assert "DOES NOT HOLD: 'x.csv' was changed after it was written" in done.stdout
    assert run("x.json", "--head").returncode == run("--help").returncode == run().returncode == 2
    assert "give that too" in run("x.json", "--head", "1:ab").stderr
    assert "one after the other" in run("ledger.json", "./ledger.json").stderr


def test_families_are_made_as_the_library_makes_them():
    """Two programs, one distribution: otherwise a true release would be refused."""
    import discreet as dt
    from discreet import files

    level = dt.Level.of(epsilon="1/3")
    cases: list[tuple[dt.Mechanism, tuple[Any, ...]]] = []
    for n in (1, 2, 7, 8, 30):
        for alpha in (level.alpha, dt.Level.of(alpha="9/10").alpha, 1 - dt.Level.of(alpha=f"1/{2**61}").alpha):
            cases += [
                (dt.explicit_fair(n, alpha=alpha), ("explicit_fair", n, alpha, None)),
                (dt.randomized_response(n, alpha=alpha), ("randomized_response", n, alpha, None)),
            ]
    everywhere = dt.Grid(None, None)
    for change in (1, 2, 3, 100, 4096):
        noise = dt.geometric(everywhere, alpha=level.alpha, sensitivity=change)
        cases.append((noise, ("geometric", None, level.alpha, change)))
    for m, (family, top, alpha, change) in cases:
        law = verify._law(family, top, alpha, change, 1, verify.Effort())
        assert json.loads(json.dumps(files.law(m))) == law.written
        assert m.digest == verify.digest({**law.written, "alpha": str(alpha), "neighbours": law.neighbours})


def test_without_a_ledger_the_verdict_says_what_was_not_checked(shelf, capsys):
    """Exit code 1, as docs/howto/journalist.md says of what could not be checked."""
    [record] = [path for path in shelf["sizes"].glob("*.json") if "record" in path.read_text(encoding="utf-8")]
    assert verify.main([str(record)]) == 1
    said = capsys.readouterr().out.splitlines()
    [missing] = [line for line in said if "NOT CHECKED" in line]
    assert "no ledger was given" in missing
    assert said[-1] == "verdict: what was checked holds, but not all was checked"
    assert not [line for line in said if "DOES NOT HOLD" in line]
