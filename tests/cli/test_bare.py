"""The command line where the extras are missing: what needs one says so, and everything else works."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dt
from discreet.questions import predicate
from tests.cli.test_cli import assert_one_good_error, examples, months, run, survey  # noqa: F401
from tests.cli.test_grammar import ALL

EXTRAS = [
    "duckdb",
    "pyarrow",
    "narwhals",
    "altair",
    "vl_convert",
    "fastapi",
    "uvicorn",
    "python_calamine",
    "pg8000",
    "pyspark",
]
NEED = {
    "profile": "tables",
    "admit": "tables",
    "preview": "tables",
    "release": "tables",
    "release-to": "tables",
    "perturb": "tables",
    "tally": "tables",
    "recover": "tables",
    "demo": "tables",
    "studio": "studio",
}
FILES = {
    "people.csv": "sex,income,age\nf,>50K,40\nm,<=50K,30\n",
    "domain.json": '{"sex": ["f", "m"]}',
    "data.csv": "x\n1.5\n2\n",
    "reports.csv": "y\n1\n2\n3\n",
    "ages.parquet": "",
}


@pytest.mark.parametrize("name", [name for name in ALL if name not in {"check-release", "compare-releases"}])
def test_a_command_works_or_says_what_to_install(run, monkeypatch, name):  # noqa: F811
    """The examples of its help, with no extra at hand."""
    for path, text in {**FILES, **({"noisy.parquet": ""} if name == "tally" else {})}.items():
        Path(path).write_text(text)
    for path in ("g.json", "gm.json"):
        dt.geometric(8, alpha="9/10").save(path)
    with dt.Ledger("budget.db") as ledger:
        if name != "ledger create":
            ledger.create("survey-2026", budget="6", relation="change-one", public=["sex"])
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    for line in examples(run(*name.split(), "--help").out):
        told = run(*shlex.split(line)[1:])
        needed = "plots" if line.endswith(".pdf") else NEED.get(name)
        if needed is not None:
            assert_one_good_error(told)
            assert told.err.endswith(f'; in a checkout of discreet, run pip install ".[{needed}]".\n'), line
        else:
            assert told.code == (line.endswith("check gm.json --epsilon 0.05")), line


def test_a_release_is_not_called_broken_for_want_of_a_package(run, months, monkeypatch):  # noqa: F811
    compare = ["compare-releases", "march.json", "january.json"]
    assert run("check-release", "january.json", "--ledger", "b.db").code == 0
    assert run(*compare).code == 0
    monkeypatch.setitem(sys.modules, "duckdb", None)
    predicate.in_one_order.cache_clear()  # as in a new process
    predicate._syntax.cache_clear()
    for words in (["check-release", "january.json"], compare):
        told = run(*words)
        assert_one_good_error(told)
        assert 'run pip install ".[tables]"' in told.err


def test_python_runs_the_package_itself():
    """`python -m discreet` is the same program, with the same exit codes."""
    command = [sys.executable, "-m", "discreet"]
    told = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"{dt.__version__}\n", "")
    wrong = subprocess.run([*command, "mak"], capture_output=True, text=True, check=False)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("discreet: ")
