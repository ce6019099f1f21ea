"""What people read when the words of a command are wrong: our sentences, with options instead of Python's arguments."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from discreet.cli import app
from tests.cli.test_cli import assert_one_good_error, gm, run, survey  # noqa: F401

PARSERS = re.compile(r"[Uu]nused|[Tt]oken|[Uu]nable|convert|[Pp]arameter|positional|[Ii]nvalid value")
PYTHON = re.compile(r"\b[a-z_]+ ?= ?['\[(]|[\[{]\(|True|False|None")
ADMITTED = ["admit", "p.csv", "--dataset", "s", "--ledger", "b.db"]
ASKED = ["release", "p.csv", "--dataset", "s", "--ledger", "b.db", "--epsilon", "1"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", "a.json", "b.json"], "a.json, b.json are words that discreet compare does not take; write for example"),
        (["show", "gm.json", "again"], "again is a word that discreet show does not take"),
        (["plan-reports", "--names", "brands.csv"], "--names takes no list here: it is a switch; write --n 499 --names"),
        (["show", "gm.json", "--jsn"], "--jsn is no option of discreet show. Did you mean --json?"),
        (["show", "gm.json", "--json=maybe"], "--json takes no value; write --json alone"),
        (["recover", "r.csv", "-m", "gm.json", "--method", "best"], "--method best is not known; use auto, mle, ibu, inverse"),
        (["make", "geometri"], 'FAMILY geometri is not known; use geometric, explicit-fair'),
        (["compare", "--n"], "--n needs a value after it; write for example discreet compare --n 8"),
        (["compare", "--n", "8", "--n", "9"], "--n is given more than once; give it once"),
        (["ledger", "create", "s", "--per", "month"], "--per needs 2 words after it"),
        (["ledger", "create"], "DATASET is missing; write for example"),
        (["audit", "gm.json", "--pairs", "0 1"], '--pairs are two neighbouring true values each, for example --pairs "0,1 50,51"'),
        (["audit", "math:floor"], 'for example --pairs "0,1"'),
        (["audit", "gm.json", "--pairs", "0,x"], 'write for example --pairs "0,1 50,51"'),
        (["audit", "gm.json", "--draws", "ln 2"], '--draws "ln 2" must be a whole number of at least 100'),
        ([*ASKED, "--count", "*", "--by", "town", "age"], "--by takes one value each time; write --by town --by age."),
        ([*ASKED, "--count", "x = 1", "y = 2", "z"], "write --count 'x = 1' --count 'y = 2' --count z."),
        ([*ASKED, "--count", "*", "--separator", ";"], "--separator is fixed at admission (discreet admit): the file is read as"),
        (["preview", "p.csv", "--dataset", "s", "--ledger", "b.db", "--sheet=A"], "--sheet is fixed at admission (discreet admit)"),
        ([*ASKED, "--median", "age:0..99"], "There are no medians or quantiles of groups here; OpenDP has private quantiles."),
        ([*ASKED, "--unit", "id"], "--unit is fixed when the data set is created (discreet ledger create); leave it out"),
        ([*ADMITTED, "--public", "sex"], "--public is fixed when the data set is created"),
        ([*ADMITTED, "--separater", ";"], "--separater is no option of discreet admit. Did you"),
        (["make", "gaussian", "--n", "9", "--sigma", "2"], "--sigma is no option of discreet make. Did you mean --standard-error?"),
        (["compare", "--n", "9", "--rho", "1"], "--rho is no option of discreet compare. See"),
        (["ledger", "create", "s", "--epsilon", "1"], "--epsilon is no option of discreet ledger create. Did you mean --budget?"),
        ([*ASKED, "--count", "*", "--delta", "1e-9"], "--delta is fixed when the data set is created (discreet ledger create)"),
        (["make", "gaussian", "--n", "9", "--epsilon", "1"], "the level of its noise is a rho. Give --rho instead"),
        (["make", "geometric", "--n", "9", "--rho", "1"], "--rho does not go with geometric. Give --epsilon or --alpha instead."),
        (["check-release", "gm.json"], "gm.json is not the record of a release; it is a mechanism: use discreet check."),
        (["make", "geometric", "--n", "20.000", "--epsilon", "1"], "--n 20.000 may mean 20 or 20000: write 20 or 20000."),
        (["make", "geometric", "--n", "20", "--epsilon", "0,5"], "--epsilon 0,5 has a comma: write 0.5."),
        ([*ASKED, "--count", "*", "--max-groups", "20.000"], "--max-groups 20.000 may mean 20 or 20000"),
        ([*ASKED, "--sum", "x:0..200.000/100"], "'200.000' in the bounds of the sum of 'x' may mean 200 or 200000"),
        (["perturb", "p.csv", "--column", "x", "-m", "gm.json", "--on-bad", "keep"], "--on-bad keep is not known; use"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)  # fmt: skip
def test_our_sentences(run, gm, words, said):  # noqa: F811
    told = run(*words)
    assert told.code == 2
    assert said in told.err
    assert told.err.count("\n") == 1
    assert not PARSERS.search(told.err), "the parser's words"
    assert not PYTHON.search(told.err), "how Python would write it"


def test_the_patterns_see_what_they_look_for():
    """The control: these were said."""
    for text in ("Unused Tokens: ['a']", 'unable to convert "x" into int', "parameter --n requires an argument"):
        assert PARSERS.search(text)
    for text in ("pairs=[(0, 1)]", "on_bad = 'keep'", "pass clamp=True"):
        assert PYTHON.search(text)


def test_a_text_without_quotes(run, survey):  # noqa: F811
    """`yes` is read as the name of a column, and the message says how a text is written."""
    words = ["release", "people.csv", "--dataset", "s", "--ledger", "b.db", "--epsilon", "1/2"]
    for count, said in {"sex = yes": "There is no column 'yes'.", "sex in (yes, 'f')": "texts"}.items():
        told = run(*words, "--count", count)
        assert_one_good_error(told)
        assert said in told.err
        assert "in single quotes" in told.err
    told = run(*words, "--count", "sx = 'f'")
    assert_one_good_error(told)
    assert "quotes" not in told.err, "the column itself is misspelled"


def test_a_record_that_was_cut_off_and_one_without_its_rows(run, survey):  # noqa: F811
    words = ["--by", "sex", "--domain", "sex.json", "--epsilon", "1/2", "--count", "income > 1", "-o", "out.csv"]
    Path("sex.json").write_text('{"sex": ["f", "m"]}')
    assert run("release", "people.csv", "--dataset", "s", "--ledger", "b.db", *words).code == 0
    whole = Path("out.json").read_text()
    for size in (1, 100, len(whole) - 3):
        Path("out.json").write_text(whole[:size])
        told = run("check-release", "out.json")
        assert_one_good_error(told)
        assert "not complete JSON: it was cut off or edited" in told.err
    for other in ("sex,report\n", "[1]", "{}"):
        Path("out.json").write_text(other)
        assert "is not the record of a release" in run("check-release", "out.json").err
    Path("out.json").write_text(whole)
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0
    Path("out.csv").unlink()
    told = run("check-release", "out.json", "--ledger", "b.db", "--json")
    found = json.loads(told.out)
    assert (told.code, found["holds"], found["complete"]) == (1, False, True)
    failed = [check["told"] for check in found["checks"] if check["held"] is False]
    assert failed == ["out.csv is missing; put it beside the record, under the name that it was written with."]


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("words", [["make", "geometric", "--n", "3", "--alpha", "1/2", "-o", "g.json"], ["show"]])
def test_ctrl_c_after_everything_was_done(tmp_path, words):
    """A process of its own, as the console script runs it: what was done stays done, and the exit code is its own."""
    code = (
        "import atexit, signal, sys\nfrom discreet.cli import main\n"
        "atexit.register(lambda: signal.raise_signal(signal.SIGINT))\n"
        "try:\n    main()\nfinally:\n    signal.raise_signal(signal.SIGINT)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ended.stderr
    assert "KeyboardInterrupt" not in ended.stderr
    if words[0] == "make":
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "saved to g.json" in ended.stdout
        assert ended.args[-1] == "g.json"
        assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN, "here nothing has changed"
    else:
        assert ended.returncode == 2
        assert "FILE is missing" in ended.stderr


def test_every_phrase_that_is_put_into_options_is_a_phrase_of_the_library():
    """A sentence that is worded anew in the library must be worded anew here, or Python's words reach the terminal."""
    source = Path(discreet.__file__).parent
    texts = [
        re.sub(r"[\"']\s*\n\s*f?[\"']", "", path.read_text(encoding="utf-8"))
        for path in source.rglob("*.py")
        if path.parent.name != "cli"
    ]
    assert [phrase for phrase in app._PHRASES if not any(phrase in text for text in texts)] == []


def test_names_and_places_of_data_sets(run, survey):  # noqa: F811
    """A slip of the finger is asked about: a second budget for the same people would be paid for twice."""
    terms = ["--budget", "9", "--relation", "add-remove"]
    told = run("ledger", "create", "s", "--ledger", "b.db", *terms)
    assert_one_good_error(told)
    assert "There is a data set 's' in b.db already: leave out discreet ledger create, and use it as it is." in told.err
    assert "another name" not in told.err
    assert "is a new ledger" not in run("ledger", "create", "survey-2026", "--ledger", "b.db", *terms).out
    told = run("ledger", "head", "survey-2025", "--ledger", "b.db")
    assert_one_good_error(told)
    assert "Did you mean 'survey-2026'?" in told.err
    told = run("ledger", "show", "--ledger", "bb.db")
    assert_one_good_error(told)
    assert "There is no ledger bb.db; check the path. Did you mean 'b.db'?" in told.err
    told = run("ledger", "create", "s", "--ledger", "bb.db", *terms)
    assert (told.code, told.err) == (0, "")
    assert told.out.endswith("; bb.db is a new ledger\n")


def test_a_record_is_told_from_a_mechanism(run, survey):  # noqa: F811
    assert run("release", *survey, "-o", "out.csv").code == 0
    told = run("check", "out.json")
    assert told.code == 2
    assert "It is the record of a release: use discreet check-release." in told.err
