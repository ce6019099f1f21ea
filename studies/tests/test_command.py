"""`python -m studies`: lists, runs, writes, and refuses in a sentence."""

from __future__ import annotations

import csv
import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import studies
from discreet.present.plot import looks
from studies import shelf
from studies.__main__ import main
from studies.cormode import fair_matrix

pytestmark = pytest.mark.outside("studies")

ROOT = Path(studies.__file__).parent.parent


class Told(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., Told]:
    """Run the command line in an empty folder; how it ended and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> Told:
        capsys.readouterr()
        try:
            code = main(words)
        except SystemExit as stopped:  # argparse leaves this way
            code = stopped.code
        return Told(code, *capsys.readouterr())

    return call


def assert_one_good_error(told: Told) -> None:
    """One line on standard error that ends with the next move, nothing on standard output, no traceback."""
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith("studies: ")
    assert told.err.count("\n") == 1
    assert told.err.endswith(".\n")
    assert len(told.err) < 700, "an unknown name is told all that are known"


def test_a_study_is_listed_run_written_and_refused(run):
    told = run("list", "--json")
    assert told.code == 0
    names = [row["study"] for row in json.loads(told.out)]
    assert names == list(shelf.all_studies())
    assert names[names.index("properties") :][:2] == ["properties", "fair-matrix"]
    told = run("fair-matrix", "--quick", "-o", "new/folder")
    assert (told.code, told.err) == (0, "")
    assert "HOLDS: the matrix for n = 7" in told.out
    written = {path.name for path in Path("new/folder").iterdir()}
    kinds = ("json", "svg", "png", "html")
    assert written == {"claims.csv", "report.html", "fair-matrix-1.csv"} | {f"fair-matrix.{kind}" for kind in kinds}
    assert json.loads(run("fair-matrix", "--json").out)["unexpected"] == []
    claims = list(csv.DictReader(Path("new/folder/claims.csv").read_text().splitlines()))
    assert [row["verdict"] for row in claims] == ["holds"] * 4
    assert list(csv.DictReader(run("fair-matrix", "--quick", "--csv").out.splitlines())) == claims
    assert_one_good_error(run("cake"))
    Path("file").write_text("")
    assert_one_good_error(run("fair-matrix", "-o", "file"))
    assert_one_good_error(run("adult", "--adult", "file"))


def test_the_list_is_a_table_for_people_and_for_spreadsheets(run):
    told = run("list")
    assert told.code == 0
    assert all(re.search(rf"^{name} ", told.out, re.MULTILINE) for name in shelf.all_studies())
    papers = {study.paper.title for study in shelf.all_studies().values()}
    assert all(told.out.count(paper) == 1 for paper in papers)
    rows = list(csv.DictReader(run("list", "--csv").out.splitlines()))
    assert [row["study"] for row in rows] == list(shelf.all_studies())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scores", "--adult", "none.csv"), "leave it out"),
        (("list", "-o", "x"), "leave out -o"),
        (("list", "--quick"), "leave out -o, --adult and --quick"),
    ],
)
def test_no_option_is_ignored(run, words, said):
    told = run(*words)
    assert_one_good_error(told)
    assert said in told.err
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "required: NAME"), (("list", "--json", "--csv"), "not allowed with"), (("list", "--x"), "--x")],
)
def test_what_cannot_be_read_is_refused(run, words, said):
    told = run(*words)
    assert (told.code, told.out) == (2, "")
    assert said in told.err


def test_all_studies_are_one_line_each_and_a_report(run, monkeypatch):
    two = {name: shelf.all_studies()[name] for name in ("fair-matrix", "heat-maps")}
    monkeypatch.setattr(shelf, "all_studies", lambda: two)
    monkeypatch.setitem(fair_matrix.EXPECTED, "entries that differ", (3, 0))
    told = run("all", "--quick", "-o", "out")
    assert told.code == 1
    starts = (
        "fair-matrix: ",
        "    UNEXPECTED: entries that differ",
        "heat-maps: ",
        "written to out: report.html",
        "every claim",
    )
    assert all(line.startswith(start) for line, start in zip(told.out.splitlines(), starts, strict=True))
    assert "out/report.html; one study in full: make studies STUDY=NAME" in told.out
    assert Path("out/report.html").exists()


def test_a_study_without_what_draws_leaves_out_pictures_and_says_so(run, monkeypatch):
    monkeypatch.setattr(looks, "find_spec", lambda name: None)
    told = run("fair-matrix", "--quick", "-o", "out")
    assert (told.code, told.err) == (0, "")
    assert 'run pip install ".[plots]"' in told.out
    assert {path.name for path in Path("out").iterdir()} == {
        "claims.csv",
        "report.html",
        "fair-matrix.json",
        "fair-matrix-1.csv",
    }


def test_a_study_with_an_unexpected_number_has_code_1(run, monkeypatch):
    monkeypatch.setitem(fair_matrix.EXPECTED, "entries that differ", (3, 0))
    told = run("fair-matrix", "--quick")
    assert told.code == 1
    assert "UNEXPECTED: entries that differ is 0, expected 3" in told.out


def test_ctrl_c_has_code_130(run, monkeypatch):
    def stopped(*words: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shelf, "study", stopped)
    told = run("fair-matrix")
    assert (told.code, told.out) == (130, "")
    assert "run it again" in told.err


def test_python_runs_it_from_the_checkout():
    """The exit code reaches the shell."""
    command = [sys.executable, "-m", "studies"]
    listed = subprocess.run([*command, "list"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "fair-matrix" in listed.stdout
    refused = subprocess.run([*command, "cake"], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")


def test_docstrings():
    names = [module.name for module in pkgutil.walk_packages(studies.__path__, "studies.")]
    names = [name for name in names if not name.startswith(("studies.tests", "studies.__main__"))]
    found = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(each.failed for each in found) == 0
    assert sum(each.attempted for each in found) > 0
