"""check-release: what was saved holds, and every changed byte is noticed. (test_forgeries.py makes all digests anew.)"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas
import pytest

import discreet as dt
from discreet.errors import FileError, LedgerError
from discreet.tables.saved.checking import Case, Check, ReleaseVerdict, _is_worth, judged
from discreet.tables.saved.release_files import digest_of, record_text
from discreet.tables.saved.saved_release import Saved

from .asking import at, release_any

LEDGER = "the ledger"
FILES = ("the record", "the rows", "the totals", "the page for people")
DOMAIN = {"town": ["a", "b", None], "age": ["old", "young"]}
MAPPED = {**DOMAIN, "area": {"of": "town", "map": {"north": ["a", None], "south": ["b"]}}}


@pytest.fixture(scope="module")
def people() -> pandas.DataFrame:
    rng = np.random.default_rng(11)
    return pandas.DataFrame(
        {
            "town": np.array(["a", "b", None], dtype=object)[rng.choice(3, 300, p=[0.7, 0.27, 0.03])],
            "age": rng.choice(["old", "young"], 300),
            "ill": rng.random(300) < 0.3,
            "income": rng.integers(0, 5000, 300) * 2.0,
            "id": rng.integers(0, 150, 300),
        }
    )


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("checking") / "budget.db") as ledger:
        ledger.create("bits", "99", relation="change-one", public=["town", "age"])
        ledger.create("people", "99", relation="add-remove")
        ledger.create("persons", "99", relation="add-remove", unit="id")
        yield ledger


SUMS = {"count": "ill", "sum": {"income": dt.Grid(0, 10000, 4)}, "mean": "income:0..10000/4", "share": {"part": "ill"}}
FEW = {**SUMS, "sum": {"income": dt.Grid(0, 10000, 500)}, "mean": "income:0..10000/500"}
ASKED = {
    "counts and totals": {"dataset": "people", "count": {"ill": "ill", "well": "not ill"}, "margins": ["town", "age"]},
    "totals of bits": {"dataset": "bits", "count": "ill", "margins": ["age"]},
    "few bits": {"dataset": "bits", **SUMS, "by": ["town"], "domain": {"town": ["a", None, "z"]}},
    "several margins": {"dataset": "people", **FEW, "domain": MAPPED, "margins": ["area+age", [], "area"]},
    "measured": {
        "dataset": "people",
        "domain": MAPPED,
        "measure_totals": [[], ["area"]],
        "margins": ["age", ["age", "area"]],
    },
    "measured sums": {
        "dataset": "people",
        **FEW,
        "domain": MAPPED,
        "measure_totals": {"age+area": 1, "total": 2, "cells": 3},
        "margins": ["area+age"],
        "weights": {"part": 3},
        "epsilon": 2,
    },
    "measured sums of bits": {
        "dataset": "bits",
        **FEW,
        "domain": {
            **MAPPED,
            "town": ["a", "b", None, "z"],
            "area": {"of": "town", "map": {"north": ["a", None], "south": ["b"], "west": ["z"]}},
        },
        "measure_totals": ["total", "area"],
        "epsilon": 3,
    },
    "measured with a bound": {"dataset": "people", "measure_totals": ["total"], "epsilon": 2},
    "measured of persons": {
        "dataset": "persons",
        **FEW,
        "max_groups": 2,
        "epsilon": "ln(3)",
        "measure_totals": ["total"],
    },
    "measured rows of persons": {
        "dataset": "persons",
        **FEW,
        "counted": "rows",
        "max_rows": 3,
        "epsilon": "ln(3)",
        "measure_totals": ["total"],
        "margins": ["age"],
    },
    "measured with a pooled cell": {
        "dataset": "people",
        "pool_other": True,
        "domain": MAPPED,
        "measure_totals": ["area"],
    },
    "measured twice": {
        "dataset": "people",
        **FEW,
        "domain": MAPPED,
        "measure_totals": ["area", "total"],
        "margins": ["age"],
        "epsilon": 2,
    },
    "measured bits": {
        "dataset": "bits",
        "count": "ill",
        "measure_totals": ["town"],
        "domain": {"town": ["a", "b", "z"], "age": ["old", "young"]},
        "margins": ["age", []],
    },
    "keys that are numbers": {
        "dataset": "people",
        "by": ["id"],
        "domain": {"id": [1, 2, 3, None], "part": {"of": "id", "map": {"low": [1, 2], "high": [3, None]}}},
        "margins": ["part"],
        "measure_totals": ["total"],
    },
    "a pooled cell": {"dataset": "bits", "count": "ill", "pool_other": True, "margins": ["town"]},
    "one's own mechanism": {
        "dataset": "bits",
        "count": "ill",
        "mechanism": dt.geometric(300, alpha="3/4").truncate(2, 250),
    },
    "halves": {
        "dataset": "bits",
        "count": "ill",
        "mechanism": dt.geometric(300, alpha="3/4").remap(lambda v: v / 2, outputs=dt.Grid(0, 150, "1/2")),
    },
    "a bound": {"dataset": "people", "alpha": "1/2", "epsilon": None},
    "sums of bits": {"dataset": "bits", **SUMS},
    "sums under add-remove": {"dataset": "people", **SUMS, "weights": {"part": 3}},
    "sums of persons": {"dataset": "persons", **SUMS, "max_groups": 2, "epsilon": "ln(3)"},
    "public zeros": {"dataset": "bits", "count": "ill", "domain": {"town": ["y", "z"], "age": ["old"]}},
}


def released(people, book, **asked) -> dt.results.Release:
    level = {} if "audiences" in asked else {"epsilon": "1/2"}
    return release_any(people, ledger=book, **{"by": ["town", "age"], "domain": DOMAIN, **level, **asked})


@pytest.mark.parametrize("what", ASKED)
def test_what_was_saved_holds(people, book, tmp_path, what):
    released(people, book, **ASKED[what]).save(tmp_path / "x.csv", bom=what == "a bound")
    verdict = dt.check_release(tmp_path / "x.json", ledger=book)
    assert verdict.holds, str(verdict)
    assert (
        verdict.complete is bool(verdict) is (what != "public zeros")
    )  # where nothing was charged the ledger has no line
    if list(ASKED).index(what) % 4:
        return
    alone = dt.check_release(tmp_path / "x.json")  # what the ledger adds is alike in all of them
    assert [check.matter for check in alone.checks if check.held is not True] == [LEDGER]
    assert alone.holds


@pytest.fixture(scope="module", params=["counts and totals", "few bits", "measured"])
def saved(people, book, tmp_path_factory, request) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    released(people, book, **ASKED[request.param]).save(folder / "x.csv")
    return folder


def wrong(path: Path, ledger: dt.Ledger | None = None) -> set[str]:
    return {check.matter for check in dt.check_release(path, ledger=ledger).checks if check.held is False}


def test_every_changed_byte_is_noticed(saved, tmp_path):
    """A lost and an added byte too."""
    folder = Path(shutil.copytree(saved, tmp_path / "s"))
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        places = range(0, len(content), max(1, len(content) // 100))
        changes = [content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :] for k in places]
        for changed in [*changes, content[:-1], content + b"\n"]:
            path.write_bytes(changed)
            try:
                case = Case(Saved.read(folder / "x.json"))
            except FileError:  # not JSON any more, or no record
                continue
            assert any(judged(case, matter).held is False for matter in FILES), path.name
        path.write_bytes(content)
    assert dt.check_release(folder / "x.json").holds  # negative control: put back, all of it holds


def test_a_consistent_other_release_is_refuted_by_the_ledger_alone(people, book, tmp_path):
    """Reports of another draw with their own intervals, under the line and head of the true one."""
    true = released(people, book, dataset="people", version="true")
    twin = released(people, book, dataset="people", version="twin")
    kept = ("version", "question", "ledger_line", "ledger_head", "released", "budget")
    forged = dt.results.Release(
        twin.columns, twin.margins, {**twin.record, **{name: true.record[name] for name in kept}}
    )
    assert true.columns["report"] != twin.columns["report"]
    forged.save(tmp_path / "x.csv")
    assert not wrong(tmp_path / "x.json")
    assert wrong(tmp_path / "x.json", book) == {LEDGER}


def test_what_fits_in_itself_is_refuted_by_the_ledger(people, book, tmp_path):
    """Reports under the other's name, reports of another draw, another condition, another version, more of the budget."""
    both = {"ill": "ill", "well": "not ill"}
    true = released(people, book, dataset="people", count=both, version="swapped")
    reports, half = true.columns["report"], len(true.columns["report"]) // 2
    twin = released(people, book, dataset="people", count={"ill": "not ill", "well": "ill"}, version="swapped")
    assert twin.columns["report"] == [*reports[half:], *reports[:half]] != reports  # the same question in another order
    drawn = [released(people, book, dataset="people", version=name) for name in ("one", "two")]
    assert drawn[0].columns["report"] != drawn[1].columns["report"]
    kept = ("version", "question", "ledger_line", "ledger_head", "released", "budget")
    spent = {**true.record["budget"], "spent": "98", "left": "1"}
    swapped = {**true.record["answer"], "reports": true.record["answer"]["reports"][::-1]}
    forged = {
        "swapped": dt.results.Release(twin.columns, {}, {**true.record, "answer": swapped}),
        "another draw": dt.results.Release(
            drawn[1].columns, {}, {**drawn[1].record, **{k: drawn[0].record[k] for k in kept}}
        ),
        "another version": dt.results.Release(true.columns, {}, {**true.record, "version": "other"}),
        "more spent": dt.results.Release(true.columns, {}, {**true.record, "budget": spent}),
    }
    for name, made in forged.items():
        made.save(tmp_path / "x.csv", overwrite=True)
        assert not wrong(tmp_path / "x.json"), name
        assert wrong(tmp_path / "x.json", book) == {LEDGER}, name
    where = json.loads(json.dumps(true.record["statistics"]).replace("not ill", "ill"))
    dt.results.Release(true.columns, {}, {**true.record, "statistics": where}).save(tmp_path / "x.csv", overwrite=True)
    assert "the record" in wrong(tmp_path / "x.json")


def test_a_file_that_is_none_of_its_own_is_noticed(people, book, tmp_path):
    made = released(people, book, dataset="people", version="files")
    made.save(tmp_path / "x.csv")
    (tmp_path / "x-by-age.csv").write_text("age,total\nold,999\n")
    told = json.loads((tmp_path / "x.json").read_text())["record"]
    told["files"]["x-by-age.csv"] = digest_of((tmp_path / "x-by-age.csv").read_bytes())
    (tmp_path / "x.json").write_text(record_text(told, {}))
    assert wrong(tmp_path / "x.json") == {"the record"}


def test_the_margins_of_each_audience_hold(people, book, tmp_path):
    """And the totals of one are not those of the other."""
    asked = {
        "dataset": "people",
        "domain": MAPPED,
        "audiences": at("3/10", "4/5"),
        "margins": ["area+age", []],
    }
    both = released(people, book, **asked)
    for name in both:
        both[name].save(tmp_path / "x.csv", overwrite=True)
        assert dt.check_release(tmp_path / "x.json", ledger=book).complete
        assert not wrong(tmp_path / "x.json", book)
    first, second = both["3/10"], both["4/5"]
    dt.results.Release(first.columns, second.margins, first.record).save(tmp_path / "x.csv", overwrite=True)
    assert "the totals" in wrong(tmp_path / "x.json", book)


def test_a_cut_or_changed_ledger_is_noticed(people, book, tmp_path):
    released(people, book, dataset="people", version="cut").save(tmp_path / "x.csv")
    with dt.Ledger(tmp_path / "other.db") as empty:
        empty.create("people", "99", relation="add-remove")
        assert wrong(tmp_path / "x.json", empty) == {LEDGER}
    with pytest.raises(LedgerError, match="There is no ledger"):
        dt.check_release(tmp_path / "x.json", ledger=tmp_path / "nowhere.db")


@pytest.mark.parametrize("version", [0, 2, 4, "1", None])
def test_a_record_of_another_version_is_bad_input(saved, tmp_path, version):
    folder = Path(shutil.copytree(saved, tmp_path / "s"))
    document = json.loads((folder / "x.json").read_text())
    record = {**document["record"], "format_version": version}
    (folder / "x.json").write_text(record_text(record, document["margins"]))
    with pytest.raises(FileError, match=r"record of a release has version .* reads version 1\. .* save again"):
        dt.check_release(folder / "x.json")


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"record": {"format": "discreet-mechanism"}}', "[" * 10**5, "\xff"]
)
def test_what_is_no_record_is_bad_input(tmp_path, content):
    (tmp_path / "x.json").write_text(content, encoding="latin-1")
    for name in ("x.json", "y.json"):
        with pytest.raises(FileError):
            dt.check_release(tmp_path / name)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda f: (f / "x.csv").write_text(""),
        lambda f: (f / "x.csv").write_bytes(b"\xff,"),
        lambda f: (f / "x.csv").write_text('a,"b\n'),
        lambda f: (f / "x.csv").write_text("report,report\n1,2\n"),
    ],
)
def test_a_csv_that_is_none_is_a_check_that_fails(saved, tmp_path, break_it):
    folder = Path(shutil.copytree(saved, tmp_path / "s"))
    break_it(folder)
    verdict = dt.check_release(folder / "x.json")
    assert not verdict
    assert wrong(folder / "x.json") == {"the rows"}
    assert isinstance(verdict, ReleaseVerdict)
    json.dumps(verdict.to_dict())


def test_a_csv_that_is_missing_fails_once(saved, tmp_path):
    """The rest is made again from the record."""
    folder = Path(shutil.copytree(saved, tmp_path / "s"))
    (folder / "x.csv").unlink()
    assert wrong(folder / "x.json") == {"the rows"}


def test_a_release_that_spends_the_last_of_a_budget_holds(people, tmp_path):
    with dt.Ledger(tmp_path / "small.db") as ledger:
        ledger.create("people", "1/2", relation="add-remove")
        released(people, ledger, dataset="people").save(tmp_path / "x.csv")
        assert ledger["people"].balance().left == 0
        assert dt.check_release(tmp_path / "x.json", ledger=ledger)


def test_groups_that_are_free_are_free_for_every_audience(people, book, tmp_path):
    """Nothing was drawn and nothing charged: a record that says its audiences paid is refuted without the ledger."""
    asked = ASKED["public zeros"] | {"audiences": at("3/10", "4/5")}
    made = released(people, book, **asked)["3/10"]
    made.save(tmp_path / "x.csv")
    assert not wrong(tmp_path / "x.json")
    worth = dt.Level.of(alpha="3/10").charge
    paid = {**made.record["audience"], "charged": str(worth)}
    dt.results.Release(made.columns, {}, {**made.record, "audience": paid}).save(tmp_path / "x.csv", overwrite=True)
    assert "what it cost" in wrong(tmp_path / "x.json")


@pytest.mark.parametrize("epsilon", ["1/2", "3", "ln(3)"])
def test_a_charge_is_what_its_level_is_worth(epsilon):
    """Not less by anything, and not more than what rounding adds: an epsilon by up to 1e-12, its level by 62 bits."""
    level = dt.Level.of(epsilon=epsilon)
    charge = level.charge
    assert _is_worth(charge, level)
    assert not _is_worth(charge - Fraction(1, 10**11), level)
    assert not _is_worth(charge + Fraction(15, 10**12), level)


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ((True, True), "x.json: holds"),
        ((True, False), "x.json: does not hold"),
        ((True, None), "x.json: NOT CHECKED: b; what could be checked holds"),
        ((False, None), "x.json: does not hold; not checked: b"),
    ],
)
def test_the_verdict_says_first_what_is_not_known(held, words):
    verdict = ReleaseVerdict("x.json", tuple(Check(*one) for one in zip("ab", held, strict=True)))
    assert verdict.view().title == words
    assert bool(verdict) is (held == (True, True))
