"""The command line: exit codes, clean streams, errors that end with the next move, examples that run."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet import files, verify
from discreet.cli import main
from discreet.cli.app import app
from discreet.collect.reporter import Reporter
from discreet.designs import Cells
from discreet.ledger.book import Book
from tests import reference
from tests.test_verify import bytes_of, document, put, resigned

COMMANDS = [name for name in app if not name.startswith("-")]
CONSOLE_SCRIPT = Path(sys.executable).parent / "discreet"
# What people can do next: an imperative or an example
NEXT_MOVE = re.compile(
    r"\b(for example|check|choose|give|say|leave|use|write|see|run|try|save|move|truncate|available|did you mean)\b"
    r"|--help",
    re.IGNORECASE,
)


class Told(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., Told]:
    """Run the command line in an empty folder; how it ended and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> Told:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        assert isinstance(stopped.value.code, int)
        return Told(stopped.value.code, *capsys.readouterr())

    return call


@pytest.fixture
def gm(run) -> str:
    """The file of a small geometric mechanism in the current folder, as `make` writes it (tested below)."""
    dt.geometric(8, alpha="9/10").save("gm.json")
    return "gm.json"


def assert_one_good_error(told: Told, code: int = 2) -> None:
    """One line on standard error that ends with the next move, nothing on standard output, no traceback."""
    assert told.code == code
    assert told.out == ""
    assert "Traceback" not in told.err
    assert told.err.startswith("discreet: ")
    assert told.err.count("\n") == 1, "one or two sentences on one line"
    assert told.err.endswith((".\n", "?\n"))
    assert len(told.err) < 400


# make


@pytest.mark.parametrize(
    ("family", "made"),
    [
        ("geometric", dt.geometric(8, alpha="9/10")),
        ("explicit-fair", dt.explicit_fair(8, alpha="9/10")),
        ("randomized-response", dt.randomized_response(8, alpha="9/10")),
    ],
)
def test_make_saves_what_the_library_makes(run, family, made):
    told = run("make", family, "--n", 8, "--alpha", "9/10", "-o", "m.json")
    assert (told.code, told.err) == (0, "")
    assert f"saved to m.json, the file's digest is {Reporter.load('m.json').digest}\n" in told.out
    assert dt.load("m.json").digest == made.digest


# Every family besides: the words on the command line, and the same from the library
NEW = {
    "names": (
        ["randomized-response", "--names", "Fiat, Alfa Romeo,VW", "--other", "another", "--epsilon", "1"],
        dt.randomized_response(dt.Names(["Fiat", "Alfa Romeo", "VW"], other="another"), epsilon=1),
    ),
    "weakly honest": (
        ["weakly-honest", "--n", "4", "--alpha", "9/10", "--require", "CM"],
        dt.weakly_honest(4, alpha="9/10", require={"CM"}),
    ),
    "laplace": (["laplace", "--epsilon", "1", "--sensitivity", "0.5"], dt.laplace(epsilon=1, sensitivity="0.5")),
    "laplace on counts": (["laplace", "--n", "3", "--epsilon", "ln(2)"], dt.laplace(3, epsilon="ln(2)")),
    "laplace in steps": (
        ["laplace", "--low", "0", "--high", "none", "--step", "1/4", "--alpha", "1/3"],
        dt.laplace(dt.Grid(0, None, "1/4"), alpha="1/3"),
    ),
    "staircase": (
        ["staircase", "--n", "12", "--step", "1", "--alpha", "1/3", "--sensitivity", "4", "--r", "2"],
        dt.staircase(12, step=1, alpha="1/3", sensitivity=4, r=2),
    ),
    "staircase, best for l2": (
        ["staircase", "--step", "0.1", "--epsilon", "2", "--sensitivity", "1", "--r", "l2"],
        dt.staircase(step="1/10", epsilon=2, r="l2"),
    ),
    "gaussian": (
        ["gaussian", "--low", "none", "--high", "none", "--rho", "1/3", "--sensitivity", "2"],
        dt.gaussian(dt.Grid(None, None), rho="1/3", sensitivity=2),
    ),
    "gaussian in steps": (
        ["gaussian", "--low", "0", "--high", "none", "--step", "1/4", "--standard-error", "20"],
        dt.gaussian(dt.Grid(0, None, "1/4"), standard_error=20),
    ),
    "rounded": (
        [
            "rounded",
            "--low",
            "-10",
            "--high",
            "10",
            "--step",
            "1/2",
            "--alpha=0.3",
            "--sensitivity=10",
            "--cells=-10, 0, 10",
        ],
        dt.queries.rounded(dt.Grid(-10, 10, "1/2"), [-10, 0, 10], alpha="0.3", sensitivity=10),
    ),
    "rounded, any cells": (
        ["rounded", "--n", "9", "--cells", "0..2: 1; 2..9: 6", "--epsilon", "1", "--then", "explicit-fair"],
        dt.queries.rounded(9, {(0, 2): 1, (2, 9): 6}, epsilon=1, then="explicit_fair"),
    ),
    "projective response": (
        ["projective-response", "--n", "99", "--epsilon", "1/2"],
        dt.projective_response(99, epsilon="1/2"),
    ),
    "square wave": (["square-wave", "--n", "12", "--epsilon", "ln(3)"], dt.square_wave(12, epsilon="ln(3)")),
    "square wave, its width": (
        ["square-wave", "--low", "15", "--high", "95", "--step", "5", "--alpha", "1/5", "--width", "2"],
        dt.square_wave(dt.Grid(15, 95, 5), alpha="1/5", width=2),
    ),
    "random rounding": (["random-rounding", "--n", "20", "--base", "5"], dt.traditional.random_rounding(20, base=5)),
    "suppression": (
        ["suppression", "--n", "9", "--below", "3", "--no-show-zero"],
        dt.traditional.suppression(9, below=3, show_zero=False),
    ),
    "cell key": (
        ["cell-key", "--n", "9", "--deviation", "3", "--variance", "1.5", "--never-report", "1"],
        dt.traditional.cell_key(9, deviation=3, variance="3/2", never_report=1),
    ),
}


@pytest.mark.parametrize("name", NEW)
def test_make_knows_every_family(run, name):
    """Saved, summed up, verified and loaded: the same mechanism as from the library."""
    words, made = NEW[name]
    told = run("make", *words, "-o", "m.json", "--json")
    assert (told.code, told.err) == (0, "")
    summary = json.loads(told.out)
    assert summary["digest"] == made.digest == files.load_procedure("m.json").digest
    assert (summary["family"], Fraction(summary["alpha"])) == (words[0].replace("-", "_"), made.claim.alpha)
    assert (summary["inputs"], summary["outputs"]) == (str(made.inputs), str(made.outputs))
    assert summary["sensitivity_steps"] == made.sensitivity
    assert (summary["epsilon"] is None) == (summary["tight_epsilon"] is None) == (made.claim.alpha == 0)
    assert (summary["local_epsilon"] is None) == (made.inputs.n is None or made.claim.alpha == 0)
    assert verify.main(["m.json"]) == 0
    told = run("make", *words)
    assert told.out.startswith(f"{made.recipe.family} on {made.inputs}")


def test_what_cannot_be_compared_or_made_is_one_sentence(run):
    assert_one_good_error(run("compare", "--n", "5", "--low", "3", "--alpha", "1/2"))
    assert_one_good_error(run("make", "rounded", "--n", "5", "--alpha", "1/2"))
    assert_one_good_error(run("make", "rounded", "--n", "5", "--alpha", "1/2", "--cells", "0..2: 1; 3..5: 2"))


@pytest.mark.parametrize("name", NEW)
def test_check_and_show_know_every_family(run, name):
    """What claims nothing fails its check; what has no end shows its noise; everything else a map or a table."""
    words, made = NEW[name]
    run("make", *words, "-o", "m.json")
    told = run("check", "m.json")
    claims = made.claim.alpha > 0 or made.is_concentrated
    assert (told.code, told.err) == (0 if claims else 1, "")
    assert told.out.startswith("holds" if claims else "no level is claimed")
    checked = run("check", "m.json", "--epsilon", "1/100")
    assert checked.code == 1
    assert checked.out.startswith("does not hold")
    found = json.loads(run("check", "m.json", "--json").out)
    assert found["holds"] is claims
    if made.is_concentrated:
        assert Fraction(found["proved_rho"]) == made.rho
    else:
        assert (found["tight_epsilon"] is None) == (made.claim.alpha == 0)
    told = run("show", "m.json")
    assert (told.code, told.err) == (0, "")
    assert ("noise: mean distance" in told.out) == (made.inputs.n is None)
    assert ("For each true value" in told.out) == (made.inputs.n is not None and made.inputs.n < 2000)
    shown = json.loads(run("show", "m.json", "--json").out)
    assert (shown["matrix"] is None) == (made.inputs.n is None or made.inputs.n > 255)
    if shown["matrix"] is not None:
        assert shown["matrix"] == made.matrix.tolist()
    if made.inputs.n is None:
        assert_one_good_error(run("show", "m.json", "--csv"))
    else:
        assert len(run("show", "m.json", "--csv").out.splitlines()) == made.inputs.n + 2


def test_check_decides_rho_and_delta(run):
    run("make", "gaussian", "--n", "100", "--q", "99/100", "-o", "m.json")
    for words, code in (
        (["--rho", "0.0101"], 0),
        (["--rho", "0.0100"], 1),
        (["--epsilon", "1", "--delta", "1e-6"], 0),
        (["--epsilon", "1/10", "--delta", "1e-6"], 1),
        (["--alpha", "1/2", "--delta", "1/100"], 0),
    ):
        told = run("check", "m.json", *words)
        assert (told.code, told.err) == (code, "")
        assert told.out.startswith("does not hold" if code else "holds")
    assert json.loads(run("check", "m.json", "--epsilon", "1", "--delta", "1e-6", "--json").out)["needed_delta"] < 1e-12
    assert_one_good_error(run("check", "m.json", "--rho", "1", "--delta", "1e-6"))
    assert_one_good_error(run("check", "m.json", "--delta", "1e-6"))
    assert_one_good_error(run("make", "gaussian", "--n", "8"))
    assert_one_good_error(run("make", "gaussian", "--n", "8", "--rho", "1", "--q", "1/2"))
    told = run("audit", "m.json", "--delta", "1e-3", "--draws", "20000", "--seed", "4")
    assert (told.code, "with delta 0.001" in told.out) == (0, True)


def test_show_says_how_large_unbounded_noise_is(run):
    """Laplace of scale 1/2: a mean distance of 1/2, a deviation of 1/sqrt 2, and 95 % within ln(20)/2."""
    run("make", *NEW["laplace"][0], "-o", "m.json")
    line = next(row for row in run("show", "m.json").out.splitlines() if row.startswith("noise: "))
    mean, deviation, reach = (float(x) for x in re.findall(r"\d+\.\d+", line.replace("95 %", "")))
    assert mean == pytest.approx(0.5, rel=1e-3)
    assert deviation == pytest.approx(0.5**0.5, rel=1e-3)
    assert reach == pytest.approx(math.log(20) / 2, abs=1 / 2048)


def test_every_family_of_the_catalogue_can_be_made_here():
    """A family that the library gains is missed here until the command line knows it."""
    from typing import get_args

    from discreet.cli.mechanisms import Family
    from discreet.registry import FAMILIES

    assert set(get_args(Family)) == {f.name.replace("_", "-") for f in FAMILIES}
    tried = {words[0] for words, _ in NEW.values()} | {"geometric", "explicit-fair", "randomized-response", "uniform"}
    assert tried | {"from-matrix"} == set(get_args(Family))


# from-matrix

MATRICES = {
    "csv": "2/3,1/3\n1/3,2/3\n",
    "csv with spaces": " 2/3 , 1/3 \n\n1/3, 2/3",
    "csv of another system": "2/3,1/3\r\n1/3,2/3\r\n",
    "csv in quotes": '"2/3","1/3"\n"1/3","2/3"\n',
    "json": '[["2/3", "1/3"], ["1/3", "2/3"]]',
    "json on many lines": '\n [\n  ["2/3", "1/3"],\n  ["1/3", "2/3"]\n ]\n',
}


@pytest.mark.parametrize("name", MATRICES)
def test_make_reads_a_matrix_exactly(run, name, monkeypatch):
    """Fractions in CSV and JSON, from a file and from standard input: no float comes between."""
    made = dt.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], alpha="1/2")
    Path("matrix").write_text(MATRICES[name])
    assert run("make", "from-matrix", "--matrix", "matrix", "--alpha", "1/2", "-o", "m.json").code == 0
    assert dt.load("m.json").digest == made.digest
    assert verify.main(["m.json"]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO(MATRICES[name]))
    told = run("make", "from-matrix", "--matrix", "-", "--alpha", "1/2", "--json")
    assert json.loads(told.out)["digest"] == made.digest


@pytest.mark.parametrize("text", ["0.7,0.3\n0.3,0.7\n", "[[0.7, 0.3], [0.3, 0.7]]", "[[0.7, 0.30], [3e-1, 0.7]]"])
def test_make_reads_decimals_of_a_matrix_exactly(run, text):
    """0.3/0.7 is 3/7, a level that the floats next to them miss."""
    Path("matrix").write_text(text)
    told = run("make", "from-matrix", "--matrix", "matrix", "--json")
    assert json.loads(told.out)["alpha"] == "3/7"
    floats = dt.from_matrix([[0.7, 0.3], [0.3, 0.7]])
    assert floats.alpha != Fraction(3, 7), "the control: as floats it is another matrix"


def test_make_puts_a_matrix_on_a_grid_and_keeps_properties(run):
    Path("m.csv").write_text("\n".join(",".join(map(str, row)) for row in reference.geometric(4, Fraction(2, 5))))
    words = ["make", "from-matrix", "--matrix", "m.csv", "--alpha", "2/5", "--require", "WH, CM,S"]
    assert run(*words, "--low", "-1", "--high", "1", "--step", "1/2", "--sensitivity", "1/2", "-o", "m.json").code == 0
    m = dt.load("m.json")
    assert m.inputs == m.outputs == dt.Grid(-1, 1, "1/2")
    assert dict(m.recipe.parameters)["require"] == "CM S WH"
    assert {"WH", "CM", "S"} <= dt.properties(m)
    assert_one_good_error(run(*words, "--n", "5"))
    assert_one_good_error(run("make", "from-matrix", "--matrix", "m.csv", "--alpha", "1/2"))
    assert_one_good_error(run("make", "from-matrix", "--matrix", "m.csv", "--alpha", "2/5", "--require", "F"))
    assert_one_good_error(run("make", "from-matrix", "--matrix", "m.csv", "--alpha", "2/5", "--require", "X"))
    assert_one_good_error(run("make", "from-matrix", "--matrix", "m.csv", "--step", "1/2"))


BAD_MATRICES = {
    "empty": b"",
    "blank": b" \n\n",
    "one row": b"0.5,0.5\n",
    "ragged": b"0.5,0.5\n1\n",
    "ragged json": b"[[0.5, 0.5], [1]]",
    "words": b"truth,lie\n0.5,0.5\n",
    "negative": b"1.5,-0.5\n0.5,0.5\n",
    "no sum": b"0.5,0.4\n0.5,0.5\n",
    "a json object": b'{"matrix": [[0.5, 0.5], [0.5, 0.5]]}',
    "a json list of numbers": b"[0.5, 0.5]",
    "a json list of texts": b'["01", "10"]',
    "a json list of objects": b'[{"0": 1, "1": 0}, {"1": 1, "0": 0}]',
    "json of nothing": b"[]",
    "json of nulls": b"[[null, 1], [1, null]]",
    "json of NaN": b"[[NaN, 1], [1, 0]]",
    "json of booleans": b"[[true, false], [false, true]]",
    "json too deep": b"[" * 100_000,
    "cut json": b"[[0.5, 0.5], [0.5",
    "a number of 5000 digits": b"[[1" + b"0" * 5000 + b", 0], [0, 1]]",
    "not text": bytes(range(256)),
    "UTF-16": "0.5,0.5\n0.5,0.5\n".encode("utf-16"),
    "a long line": b"x" * 200_000,
    "1/0": b"1/0,1\n0,1\n",
}


@pytest.mark.parametrize("name", BAD_MATRICES)
def test_a_bad_matrix_is_one_error(run, name):
    Path("matrix").write_bytes(BAD_MATRICES[name])
    told = run("make", "from-matrix", "--matrix", "matrix", "--alpha", "1/2", "-o", "m.json")
    assert_one_good_error(told)
    assert NEXT_MOVE.search(told.err) or "fill the gaps" in told.err or "every row must sum to 1" in told.err
    assert not Path("m.json").exists()


def test_a_matrix_that_cannot_be_found_is_one_error(run):
    for name in ("none.csv", ".", "none/matrix.csv"):
        told = run("make", "from-matrix", "--matrix", name, "--alpha", "1/2")
        assert_one_good_error(told)
        assert name in told.err


# Options that belong to another family
STRAY = {
    "r": (["laplace", "--epsilon", "1", "--r", "2"], "--r does not go with laplace"),
    "require": (["geometric", "--n", "8", "--alpha", "1/2", "--require", "F"], "--require does not go with geometric"),
    "base": (["staircase", "--epsilon", "1", "--base", "3"], "--base does not go with staircase"),
    "below": (["random-rounding", "--n", "8", "--below", "3"], "--below does not go with random-rounding"),
    "level": (["random-rounding", "--n", "8", "--epsilon", "1"], "--epsilon does not go with random-rounding"),
    "level of suppression": (["suppression", "--n", "8", "--alpha", "1/2"], "--alpha does not go with suppression"),
    "sensitivity": (["suppression", "--n", "8", "--sensitivity", "2"], "--sensitivity does not go with suppression"),
    "show zero": (["cell-key", "--n", "8", "--show-zero"], "--show-zero does not go with cell-key"),
    "deviation": (["uniform", "--n", "8", "--deviation", "3"], "--deviation does not go with uniform"),
    "variance": (["explicit-fair", "--n", "8", "--alpha", "1/2", "--variance", "3"], "--variance does not go with"),
    "never report": (["suppression", "--n", "8", "--never-report", "1"], "--never-report does not go with"),
    "matrix": (["geometric", "--n", "8", "--alpha", "1/2", "--matrix", "m.csv"], "from-matrix go together"),
    "no matrix": (["from-matrix", "--alpha", "1/2"], "from-matrix go together"),
    "response": (["randomized-response", "--n", "8", "--alpha", "1/2", "--sensitivity", "2"], "any two values"),
    "r of words": (["staircase", "--epsilon", "1", "--r", "l3"], "--r l3 must"),
    "r too long": (["staircase", "--step", "1", "--epsilon", "1", "--r", "2"], "--r 2 must"),
    "base 1": (["random-rounding", "--n", "8", "--base", "1"], "--base 1 must"),
    "base 2.5": (["random-rounding", "--n", "8", "--base", "2.5"], "--base 2.5 must"),
    "no n": (["suppression", "--below", "3"], "--n 100"),
    "open": (["cell-key", "--low", "0", "--high", "none"], "give n"),
    "n and low": (["laplace", "--n", "3", "--low", "0", "--epsilon", "1"], "either --n or --low"),
    "a step that does not fit": (["laplace", "--n", "8", "--step", "3", "--epsilon", "1"], "whole number of steps"),
    "no level": (["laplace"], "exactly one of alpha and epsilon"),
}


@pytest.mark.parametrize("name", STRAY)
def test_an_option_of_another_family_is_refused_with_a_sentence(run, name):
    words, sentence = STRAY[name]
    told = run("make", *words, "-o", "m.json")
    assert_one_good_error(told)
    assert sentence in told.err
    assert NEXT_MOVE.search(told.err)
    assert not Path("m.json").exists()


def test_make_uniform_needs_no_level(run):
    assert run("make", "uniform", "--n", 4, "-o", "m.json").code == 0
    assert dt.load("m.json").alpha == 1


def test_make_reads_decimals_exactly(run):
    """0.9 is 9/10, not the float next to it."""
    assert run("make", "geometric", "--n", 8, "--alpha", "0.9", "-o", "m.json").code == 0
    assert dt.load("m.json").alpha == Fraction(9, 10)


@pytest.mark.parametrize(
    ("words", "grid"),
    [
        (["--low", "-5", "--high", "5"], dt.Grid(-5, 5)),
        (["--low", "0", "--high", "1", "--step", "1/4"], dt.Grid(0, 1, "1/4")),
        (["--low", "-1/2", "--high", "7/2", "--step", "1/2"], dt.Grid("-1/2", "7/2", "1/2")),
        (["--n", "8", "--step", "2"], dt.Grid(0, 8, 2)),
        (["--low", "0", "--high", "none"], dt.Grid(0, None)),
        (["--low", "none", "--high", "7"], dt.Grid(None, 7)),
        (["--low", "none", "--high", "none"], dt.Grid(None, None)),
    ],
    ids=str,
)
def test_make_takes_any_grid(run, words, grid):
    assert run("make", "geometric", *words, "--epsilon", "ln(2)/10", "--sensitivity", 2, "-o", "m.json").code == 0
    m = dt.load("m.json")
    assert m.inputs == grid
    assert m.sensitivity == min(2 / grid.step, grid.n or 8), "no two values are farther apart than the grid is long"


def test_make_without_a_file_says_so(run, tmp_path):
    told = run("make", "geometric", "--n", 8, "--alpha", "9/10")
    assert (told.code, told.err) == (0, "")
    assert "-o FILE" in told.out
    assert list(tmp_path.iterdir()) == []


def test_make_json_parses(run):
    told = run("make", "geometric", "--n", 8, "--epsilon", "ln(2)/10", "--json")
    summary = json.loads(told.out)
    m = dt.geometric(8, epsilon="ln(2)/10")
    assert (summary["digest"], summary["asked_epsilon"]) == (m.digest, "ln(2)/10")
    assert (Fraction(summary["alpha"]), summary["sensitivity_steps"]) == (m.alpha, 1)


@pytest.mark.parametrize("words", [["-o", "-"], ["--out", "-"], ["--out=-"]], ids=" ".join)
def test_make_writes_to_standard_output(run, words):
    told = run("make", "geometric", "--n", 8, "--alpha", "9/10", *words)
    assert (told.code, told.err) == (0, "")
    assert files.loads(told.out.encode()).digest == dt.geometric(8, alpha="9/10").digest
    assert not Path("-").exists()


# check


def test_check_holds(run, gm):
    told = run("check", gm)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("holds")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--alpha", "9/10"], 0),
        (["--alpha", "0.9000000001"], 1),
        (["--alpha", "0.8999999999"], 0),
        (["--epsilon", "ln(10/9)"], 0),
        (["--epsilon", "0.105360515"], 1),
        (["--epsilon", "0.105360516"], 0),
        (["--epsilon", "0.2", "--group", "2"], 1),
        (["--epsilon", "0.22", "--group", "2"], 0),
        (["--epsilon", "0.5", "--neighbours", "any"], 1),
        (["--epsilon", "0.9", "--neighbours", "any"], 0),
        (["--alpha", "9/10", "--neighbours", "line"], 0),
    ],
    ids=str,
)
def test_check_says_by_its_exit_code_whether_a_level_holds(run, gm, words, code):
    """ln(10/9) = 0.1053605156..., and 8 ln(10/9) = 0.843 over the whole grid."""
    told = run("check", gm, *words)
    assert (told.code, told.err) == (code, "")
    assert told.out.startswith("does not hold" if code else "holds")
    told = run("check", gm, *words, "--json")
    assert told.code == code
    assert json.loads(told.out)["holds"] is (code == 0)


def test_check_json_has_the_witness(run, gm):
    told = json.loads(run("check", gm, "--epsilon", "0.05", "--json").out)
    assert told["tight_alpha"] == "9/10"
    assert "times as likely" in told["witness"]


def test_check_reads_standard_input(run, gm, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(gm).read_bytes())))
    assert run("check", "-", "--alpha", "9/10").code == 0


def test_check_refuses_a_tampered_file(run, gm):
    d = resigned(document(dt.load(gm)), put("level", "alpha", "91/100"))
    Path(gm).write_bytes(bytes_of(d))
    told = run("check", gm)
    assert told.code in (1, 2)
    assert told.out == ""
    assert "does not hold" in told.err


def test_check_of_an_unbounded_mechanism(run):
    run("make", "geometric", "--low", 0, "--high", "none", "--alpha", "1/2", "-o", "m.json")
    assert run("check", "m.json").code == 0
    assert_one_good_error(run("check", "m.json", "--neighbours", "any"))


# show


def test_show_has_the_level_the_heat_map_and_the_losses(run, gm):
    told = run("show", gm)
    assert (told.code, told.err) == (0, "")
    assert "geometric on 0..8" in told.out
    assert "alpha 9/10" in told.out
    assert "properties: RH RM S" in told.out
    assert len(re.findall(r"^\d [ .:=+*#%@-]{18}$", told.out, re.MULTILINE)) == 9, "a row of shades for each true value"
    assert "CH  fails" in told.out


def test_show_json_has_the_matrix(run, gm):
    shown = json.loads(run("show", gm, "--json").out)
    expected = reference.geometric(8, Fraction(9, 10))
    assert [pytest.approx([float(x) for x in row], rel=1e-12) for row in expected] == shown["matrix"]
    assert shown["properties"] == ["RH", "RM", "S"]


def test_show_csv_parses(run, gm):
    rows = list(csv.DictReader(io.StringIO(run("show", gm, "--csv").out)))
    law = reference.geometric(8, Fraction(9, 10))
    assert [row["true"] for row in rows] == list("012345678")
    assert [float(row["truthful"]) for row in rows] == pytest.approx([float(law[i][i]) for i in range(9)])
    means = [float(sum(p * abs(i - j) for j, p in enumerate(law[i]))) for i in range(9)]
    assert [float(row["l1"]) for row in rows] == pytest.approx(means)
    bias = [float(sum(p * (j - i) for j, p in enumerate(law[i]))) for i in range(9)]
    assert [float(row["bias"]) for row in rows] == pytest.approx(bias, abs=1e-12)


@pytest.mark.parametrize("words", [["--n", "1000000000"], ["--low", "0", "--high", "none"]], ids=" ".join)
def test_show_of_what_has_no_matrix(run, words):
    run("make", "geometric", *words, "--epsilon", "0.1", "-o", "m.json")
    told = run("show", "m.json")
    assert (told.code, told.err) == (0, "")
    assert json.loads(run("show", "m.json", "--json").out)["matrix"] is None
    assert_one_good_error(run("show", "m.json", "--csv"))


def test_show_of_a_remap_to_other_reports(run, tmp_path):
    """Where true values and reports differ there is no truth to report: that column stays empty."""
    dt.geometric(3, alpha="1/2").remap([0, 0, 1, 1], outputs=1).save(tmp_path / "m.json")
    assert "0..3 -> 0..1" in run("show", "m.json").out
    rows = list(csv.DictReader(io.StringIO(run("show", "m.json", "--csv").out)))
    assert [row["truthful"] for row in rows] == [""] * 4


def test_show_lets_no_control_characters_of_a_file_through(run, gm):
    """A file from elsewhere must not steer the terminal."""
    Path(gm).write_bytes(bytes_of(resigned(document(dt.load(gm)), put("recipe", "family", "\x1b[2J\x1b]0;x\x07"))))
    told = run("show", gm)
    assert "\x1b" not in told.out + told.err


def test_show_does_not_read_markup_in_a_file(run, gm):
    Path(gm).write_bytes(bytes_of(resigned(document(dt.load(gm)), put("recipe", "family", "[bold]x[/bold]"))))
    assert run("show", gm).out.startswith("[bold]x[/bold] on 0..8")


# demo


@pytest.mark.long
def test_the_tour_compares_releases_repeats_and_refuses(run):
    told = run("demo", "--out", "some/where")
    assert (told.code, told.err) == (0, "")
    assert all(re.search(rf"^{name} ", told.out, re.MULTILINE) for name in ("GM", "EM", "UM", "kRR"))
    for words in ("left: 1.", "at no charge (the same reports)", "is refused", "geometric"):
        assert words in told.out
    folder = Path("some/where")
    rows = list(csv.DictReader((folder / "asthma.csv").read_text().splitlines()))
    assert len(rows) == 240
    assert all(int(r["low"]) <= int(r["published"]) <= int(r["high"]) <= int(r["n"]) for r in rows)
    page = (folder / "index.html").read_text()
    assert "asthma.csv" in page
    assert page.count("<svg") >= 2  # two pictures of the ages
    assert page.count("class='bar'") >= 16
    assert sum(int(r["count"]) for r in csv.DictReader((folder / "ages.csv").read_text().splitlines())) == 200_000
    assert "in truth 41.8" in told.out
    assert run("recover", folder / "ages.csv", "-m", folder / "wave.json").code == 0
    assert "where they live, by name" in page
    named = run("recover", folder / "districts.csv", "-m", folder / "names.json", "--csv")
    assert named.out.splitlines()[1].startswith("D01,0.4")
    assert json.loads((folder / "asthma.json").read_text())["record"]["relation"] == "change-one"
    assert dt.load(folder / "GM.json").digest == dt.geometric(8, alpha="9/10").digest
    assert run("check", folder / "kRR.json", "--neighbours", "any").code == 0
    assert verify.check_ledger(json.loads((folder / "ledger.json").read_text()))[0].holds


@pytest.mark.long
def test_the_demo_has_its_picture_without_the_extra_and_compares_as_the_definitions_do(run, monkeypatch):
    """What a first install has: the ages are there to be seen, recovered and true. In the comparison L0 is one minus the mean
    of the diagonal; EM's epsilon is ln(10/9), UM's nothing."""
    for package in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr("discreet.cli.tour.PEOPLE", 5000)
    told = run("demo", "--json")
    assert told.code == 0
    page = Path("demo-out/index.html").read_text(encoding="utf-8")
    assert "extra plots" not in page
    section = page[page.index("without anybody telling") :]
    picture = section[section.index("<svg") : section.index("</svg>")]
    assert picture.count("<polyline") == 2
    assert "recovered from the reports" in picture
    assert "the truth" in picture
    a = Fraction(9, 10)
    laws = {
        "GM": reference.geometric(8, a),
        "EM": reference.explicit_fair(8, a),
        "UM": reference.uniform(8),
        "kRR": reference.randomized_response(8, a),
    }
    by_json = json.loads(told.out)["comparison"]
    by_csv = list(csv.DictReader(Path("demo-out/comparison.csv").read_text().splitlines()))
    for rows in (by_json, by_csv):
        assert [row["mechanism"] for row in rows] == list(laws)
        for row in rows:
            law = laws[row["mechanism"]]
            assert float(row["L0"]) == pytest.approx(float(1 - sum(law[i][i] for i in range(9)) / 9))
            distance = sum(law[i][j] * abs(i - j) for i in range(9) for j in range(9)) / 9
            assert float(row["L1"]) == pytest.approx(float(distance))
            assert str(row["proved"]) == "True"


# Help


def test_the_commands_are_library_verbs():
    assert {"make", "check", "show", "demo"} <= set(COMMANDS)


def examples(help_text: str) -> list[str]:
    return re.findall(r"^\s*Example:\s+(discreet .*?)\s*$", help_text, re.MULTILINE)


@pytest.mark.long
def test_every_help_has_an_example_and_every_example_runs(run, months, monkeypatch):
    """In the order of the commands: make writes what the others read. gm.json has alpha 9/10: 0.05 cannot hold."""
    monkeypatch.setattr(
        "uvicorn.Server.run", lambda server, sockets: None
    )  # the studio would run until somebody stops it
    monkeypatch.setattr("discreet.cli.tour.PEOPLE", 5000)  # the whole tour has a test of its own
    Path("people.csv").write_text("sex,education,income,age\n" + "f,high,>50K,40\nm,low,<=50K,30\n" * 30)
    Path("domain.json").write_text('{"sex": ["f", "m"]}')
    Path("reports.csv").write_text("id,y\n" + "\n".join(f"{k},{k % 9}" for k in range(60)) + "\n")
    Path("data.csv").write_text("id,x\n" + "\n".join(f"{k},{k * k % 101}.5" for k in range(9)) + "\n")
    dt.geometric(8, alpha="1/2").save("g.json")
    pq.write_table(pa.table({"age": [k % 9 for k in range(60)]}), "ages.parquet")
    found = []
    ledger = [
        ["ledger"],
        *(["ledger", name] for name in ("create", "charge", "show", "promise", "history", "verify", "head", "export")),
    ]
    rest = [[name] for name in COMMANDS if name != "ledger"]
    for words in ([], *rest[:1], *ledger[1:2], *rest[1:], *ledger[2:], ledger[0]):
        told = run(*words, "--help")
        assert (told.code, told.err) == (0, "")
        lines = examples(told.out)
        assert lines, f"no example in discreet {' '.join(words)} --help"
        found += lines
    first = next(line for line in found if line.startswith("discreet release people.csv --dataset census"))
    assert "--rho" in first
    found.insert(found.index(first), "discreet admit people.csv --dataset census --ledger budget.db")
    for line in found:
        told = run(*shlex.split(line)[1:])
        assert told.code == (1 if line == "discreet check gm.json --epsilon 0.05" else 0), line
        assert told.err == ""
        assert told.out


@pytest.fixture
def survey(run):
    Path("people.csv").write_text("sex,education,income\n" + "f,high,60000\nm,low,9000\nm,high,70000\n" * 30)
    Path("domain.json").write_text('{"sex": ["f", "m", "x"], "education": ["high", "low"]}')
    told = run(
        "ledger",
        "create",
        "s",
        "--ledger",
        "b.db",
        "--budget",
        "1",
        "--relation",
        "change-one",
        "--public",
        "sex,education",
    )
    assert told.code == 0
    assert run("admit", "people.csv", "--dataset", "s", "--ledger", "b.db").code == 0
    return [
        "people.csv",
        "--dataset",
        "s",
        "--ledger",
        "b.db",
        "--domain",
        "domain.json",
        "--by",
        "sex,education",
        "--count",
        "income > 50000",
        "--epsilon",
        "1/2",
    ]


@pytest.fixture
def months(run, survey):
    """Two releases of one question, january.json and march.json."""
    assert run("release", *survey, "-o", "january.csv").code == 0
    with Path("people.csv").open("a") as more:
        more.write("f,low,55000\n" * 7)
    assert run("admit", "people.csv", "--dataset", "s", "--ledger", "b.db", "--version", "2").code == 0
    assert run("release", *survey, "--version", "2", "-o", "march.csv").code == 0


def test_totals_of_a_map_the_grand_total_and_measured_ones(run, survey):
    """The containing column is in no file but domain.json; a stored answer is read without the data."""
    Path("domain.json").write_text(
        '{"sex": ["f", "m", "x"], "education": ["high", "low"], '
        '"kind": {"of": "sex", "map": {"known": ["f", "m"], "other": ["x"]}}}'
    )
    words = [*survey, "--margins", "kind, kind+education", "--measure-totals", "total=1,cells=3"]
    told = run("release", *words, "-o", "out.csv")
    assert (told.code, told.err) == (0, "")
    assert "Total of the groups listed (the groups add up to it):" in told.out
    assert "Totals by kind and education" in told.out
    saved = json.loads(Path("out.json").read_text())
    assert list(saved["record"]["files"]) == [
        "out.html",
        "out-by-kind.csv",
        "out-by-kind-and-education.csv",
        "out-by-total.csv",
        "out.csv",
    ]
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0
    assert [level["epsilon"] for level in saved["record"]["measured"]] == ["1/8", "3/8"]
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert saved["margins"]["total"][0]["total"] == sum(int(row["fitted"]) for row in rows)
    Path("people.csv").write_text("")
    again = json.loads(run("release", *words, "--json").out)
    assert again["record"]["repeated"]
    assert again["margins"] == saved["margins"]
    assert "A file is not read again." in run("release", *words).out
    Path("people.csv").unlink()
    told = run("release", *words)
    assert_one_good_error(told)
    assert "There is no file 'people.csv' there; check the path." in told.err
    assert_one_good_error(run("release", *survey, "--measure-totals", "income"))
    assert_one_good_error(run("release", *survey, "--margins", "kind+income"))


def test_a_release_writes_rows_totals_record_and_page(run, survey):
    told = run("release", *survey, "--margins", "sex", "-o", "out.csv")
    assert (told.code, told.err) == (0, "")
    assert "Charged epsilon 1/2" in told.out
    assert "Empty groups: f/low, x/high" in told.out
    rows = list(csv.DictReader(Path("out.csv").read_text().splitlines()))
    assert len(rows) == 6
    totals = list(csv.DictReader(Path("out-by-sex.csv").read_text().splitlines()))
    assert [int(t["total"]) for t in totals] == [sum(int(r["fitted"]) for r in rows if r["sex"] == s) for s in "fmx"]
    assert json.loads(Path("out.json").read_text())["record"]["epsilon_charged"] == "1/2"
    assert Path("out.html").read_text().count("class='bar'") >= 6
    again = run("release", *survey, "--json")
    assert json.loads(again.out)["record"]["repeated"]
    assert "1/2" in run("ledger", "show", "--ledger", "b.db").out
    lines = json.loads(run("ledger", "history", "s", "--ledger", "b.db", "--json").out)
    assert [line["kind"] for line in lines] == ["create", "admitted", "charge", "answer"]
    assert lines[2]["epsilon"]
    head = run("ledger", "head", "s", "--ledger", "b.db").out.strip()
    assert run("ledger", "verify", "s", "--ledger", "b.db", "--head", head).code == 0
    assert run("ledger", "verify", "s", "--ledger", "b.db", "--head", "2" + head[1:]).code == 1


@pytest.mark.parametrize("out", ["people.csv", "b.csv", "domain.csv", "nodir/out.csv", "out.txt", "domain.json"])
def test_no_output_overwrites_an_input_and_none_is_charged_in_vain(run, survey, out):
    before = {name: Path(name).read_bytes() for name in ("people.csv", "domain.json")}
    told = run("release", *survey, "-o", out)
    if out == "b.csv":  # b.json, b.html and b.csv are free; only b.db is taken
        assert told.code == 0
        return
    assert_one_good_error(told)
    assert {name: Path(name).read_bytes() for name in before} == before
    assert json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out)[0]["spent"] == "0"


def spent(run) -> str:
    return json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out)[0]["spent"]


def beside() -> dict[str, bytes]:
    """Everything in the folder but the ledger, by name."""
    return {p.name: p.read_bytes() for p in Path().iterdir() if not p.name.startswith("b.db")}


@pytest.mark.parametrize("there", ["out.csv", "out.json", "out.html", "out-by-sex.csv"])
def test_what_is_there_is_not_overwritten_without_force(run, survey, there):
    Path(there).write_text("mine")
    before = beside()
    told = run("release", *survey, "--margins", "sex", "-o", "out.csv")
    assert_one_good_error(told)
    assert "say --overwrite" in told.err
    assert beside() == before
    assert spent(run) == "0"
    assert run("release", *survey, "--margins", "sex", "-o", "out.csv", "--force").code == 0
    assert Path(there).read_text() != "mine"


def test_force_replaces_the_files_of_an_earlier_release_and_no_others(run, survey):
    assert run("release", *survey, "--margins", "sex,education", "-o", "out.csv").code == 0
    listed = json.loads(Path("out.json").read_text())["record"]["files"]
    assert sorted(listed) == ["out-by-education.csv", "out-by-sex.csv", "out.csv", "out.html"]
    Path("out-by-age.csv").write_text("somebody's")
    Path("outer-by-sex.csv").write_text("somebody's")
    first = beside()
    assert_one_good_error(run("release", *survey, "--margins", "sex", "-o", "out.csv"))
    assert beside() == first
    assert run("release", *survey, "--margins", "sex", "-o", "out.csv", "--overwrite").code == 0
    assert beside().keys() == first.keys() - {"out-by-education.csv"}
    assert [*json.loads(Path("out.json").read_text())["record"]["files"]] == ["out.html", "out-by-sex.csv", "out.csv"]


@pytest.mark.parametrize(
    "listed",
    [
        [
            "../keep-by-x.csv",
            "people.csv",
            "domain.json",
            "b.db",
            "kept.txt",
            "out-by-/../people.csv",
            "",
            None,
            3,
            "out-by-link.csv",
        ],
        "people.csv",
        None,
        7,
        {"people.csv": 1},
    ],
)
def test_a_record_that_lists_what_is_not_its_own_deletes_nothing(run, survey, listed):
    record = {"format": "discreet-release", "format_version": 1, "files": listed}
    Path("out.json").write_text(json.dumps({"record": record, "margins": {}}))
    Path("kept.txt").write_text("kept")
    Path("../keep-by-x.csv").write_text("kept")
    Path("out-by-link.csv").symlink_to("kept.txt")
    before = beside()
    assert run("release", *survey, "-o", "out.csv", "--force").code == 0
    assert before.keys() <= beside().keys()
    assert Path("../keep-by-x.csv").read_text() == "kept"


@pytest.mark.parametrize("written", ["no json", "[1]", "{}", '{"record": {"format": "other"}}', "[" * 100_000])
def test_force_beside_a_json_that_is_no_record(run, survey, written):
    Path("out.json").write_text(written)
    assert run("release", *survey, "-o", "out.csv", "--force").code == 0


def test_margins_have_files_of_their_own(run):
    Path("people.csv").write_text("a b,a_b,a%20b,ä,ill\n" + "x,y,z,w,1\nx,y,z,w,0\n" * 20)
    names = ["a b", "a_b", "a%20b", "ä"]
    Path("domain.json").write_text(json.dumps(dict(zip(names, (["x"], ["y"], ["z"], ["w"]), strict=True))))
    run("ledger", "create", "s", "--ledger", "b.db", "--budget", "1", "--relation", "add-remove")
    run("admit", "people.csv", "--dataset", "s", "--ledger", "b.db")
    told = run(
        "release",
        "people.csv",
        "--dataset",
        "s",
        "--ledger",
        "b.db",
        "--domain",
        "domain.json",
        "--by",
        ",".join(names),
        "--epsilon",
        "1/2",
        "--margins",
        ",".join(names),
        "-o",
        "out.csv",
    )
    assert (told.code, told.err) == (0, "")
    written = sorted(Path().glob("out-by-*.csv"))
    heads = {next(csv.reader(p.read_text().splitlines()))[0] for p in written}
    assert heads == set(names)
    assert Path("out-by-a_b.csv") in written  # plain names stay as they are


def test_an_o_that_cannot_be_written_is_refused_before_the_charge(run, survey):
    Path("out.html").mkdir()
    assert_one_good_error(run("release", *survey, "-o", "out.csv", "--force"))
    assert_one_good_error(run("release", *survey, "-o", "n" * 250 + ".csv"))
    assert spent(run) == "0"
    assert not list(Path().glob(".*"))


def test_force_never_overwrites_the_secret(run, survey, monkeypatch):
    """Without its secret a ledger can charge nothing more."""
    Path("key.json").write_bytes(Path("b.db.secret").read_bytes())
    Path("key.json").chmod(0o600)
    Path("link.csv").symlink_to("b.db.secret")
    before = Path("key.json").read_bytes()
    assert_one_good_error(run("release", *survey, "-o", "link.csv", "--force"))
    monkeypatch.setenv("DISCREET_SECRET", "key.json")
    assert_one_good_error(run("release", *survey, "-o", "key.csv", "--force"))
    assert [Path(name).read_bytes() for name in ("key.json", "b.db.secret")] == [before, before]
    assert spent(run) == "0"


def test_links_that_hide_a_file_are_refused_before_the_charge(run, survey):
    Path("two.csv").symlink_to("two.json")
    Path("round.csv").symlink_to("round.csv")
    for out in ("two.csv", "round.csv"):
        assert_one_good_error(run("release", *survey, "-o", out, "--force"))
    assert spent(run) == "0"


def test_a_disk_that_fills_up_leaves_all_files_as_they_were_and_says_that_asking_again_is_free(
    run, survey, monkeypatch
):
    assert run("release", *survey, "--margins", "sex,education", "-o", "out.csv").code == 0
    before, real, staged = beside(), os.fsync, []

    def full(number: int) -> None:
        staged.append(number)
        if len(staged) == 6:  # four files are tried out, then a second one is written
            raise OSError(28, "No space left on device")
        real(number)

    words = ["release", *survey[:-1], "1/4", "--margins", "sex", "-o", "out.csv", "--force"]
    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        told = run(*words)
    assert_one_good_error(told)
    assert "No space left" in told.err
    assert "ask the same question again, and it costs nothing" in told.err
    assert beside() == before
    assert spent(run) == "3/4"
    assert json.loads(run(*words, "--json").out)["record"]["repeated"]
    assert spent(run) == "3/4"
    assert not Path("out-by-education.csv").exists()


def test_an_office_file_is_looked_at_admitted_and_released(run):
    """Each wrong way ends with the option that helps; the right one gives a table."""
    lines = ["Ort;Einkommen", *(f"{town};{k},5" for k in range(100) for town in ("Zürich", "Genève", "NA"))]
    Path("p.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    run("ledger", "create", "town", "--ledger", "b.db", "--budget", "1", "--relation", "add-remove")
    admit = ["admit", "p.csv", "--dataset", "town", "--ledger", "b.db"]
    for options, told in (
        ([], '--separator ";"'),
        (["--separator", ";"], "such as latin-1"),
        (["--separator", ";", "--encoding", "latin-1"], '--decimal ","'),
    ):
        refused = run(*admit, *options)
        assert_one_good_error(refused)
        assert told in refused.err
    how = ["--separator", ";", "--encoding", "latin-1", "--null", "NA"]
    grave = run("profile", "p.csv", *how)
    assert (grave.code, grave.err) == (1, "")
    assert "number with a comma" in grave.out
    assert run("profile", "p.csv", *how, "-o", "-").code == 1
    looked = run("profile", "p.csv", *how, "--decimal", ",", "-o", "learned.json")
    assert (looked.code, looked.err) == (0, "")
    assert_one_good_error(run("profile", "p.csv", *how, "-o", "learned.json"))  # what is there is kept
    admitted = run(*admit, *how, "--decimal", ",", "--domain", "learned.json", "--json")
    assert json.loads(admitted.out)["note"] == "For you alone, not for publication."
    asked = ["release", "p.csv", "--dataset", "town", "--ledger", "b.db", "--by", "Ort", "--epsilon", "1", "--json"]
    assert "learned from the data" in run(*asked, "--domain", "learned.json").err
    keys = {
        "format": "discreet-domain",
        "version": 1,
        "source": "towns of 2026",
        "columns": {"Ort": ["Zürich", "Genève", None]},
    }
    Path("domain.json").write_text(json.dumps(keys))
    told = json.loads(run(*asked, "--domain", "domain.json", "--count", "Einkommen >= 20.5").out)
    assert told["record"]["question"]["domain"]["source"] == "towns of 2026"
    assert all(abs(row["report"] - 80) < 40 for row in told["rows"])  # e^-40: never by chance
    with Path("p.csv").open("ab") as more:
        more.write(b"Bern;1,5\r\n")
    told = run(*asked, "--domain", "domain.json")
    assert (told.code, told.out) == (2, "")
    assert told.err.endswith("--encoding iso8859-1 --separator ';' --decimal , --null NA --version 1-revised\n")


def test_a_preview_charges_nothing_and_rows_in_no_group_are_for_the_operator(run, survey, monkeypatch):
    told = run("preview", *survey)
    assert told.code == 0
    assert "nothing was drawn or charged" in told.out
    assert json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out)[0]["spent"] == "0"
    with Path("people.csv").open("a") as more:
        more.write("z,high,1\n" * 7)
    assert run("admit", "people.csv", "--dataset", "s", "--ledger", "b.db", "--version", "2").code == 0
    from discreet.engines import duckdb as counting

    opened, open_table = [], counting.open_table
    monkeypatch.setattr(counting, "open_table", lambda *a, **k: opened.append(1) or open_table(*a, **k))
    told = run("release", *survey, "--check", "--version", "2")
    assert re.search(r"rows +in no group +7 ", told.out)
    assert len(opened) == 1  # the file is not counted again


@pytest.mark.parametrize(
    "words",
    [
        ["ledger", "show", "--ledger", "typo.db"],
        ["ledger", "history", "s", "--ledger", "typo.db"],
        ["release", "people.csv", "--dataset", "s", "--ledger", "typo.db", "--epsilon", "1", "--count", "income > 1"],
    ],
)
def test_reading_a_ledger_that_is_not_there_makes_none(run, survey, words):
    assert_one_good_error(run(*words))
    assert not Path("typo.db").exists()


@pytest.mark.parametrize(
    "change",
    [
        {"--count": "income > '50000'"},
        {"--count": "income"},
        {"--count": "incom > 1"},
        {"--domain": "nope.json"},
        {"--by": "sex,educaton"},
        {"--epsilon": "1, 1e-6"},
        {"--dataset": "t"},
        {"--count": "income > 1; DROP TABLE x"},
        {"--epsilon": "5"},
        {"--margins": "income"},
        {"--mechanism": "laplace"},
    ],
)
def test_a_bad_release_is_one_error_and_free(run, survey, change):
    words = list(survey)
    for name, value in change.items():
        if name in words:
            words[words.index(name) + 1] = value
        else:
            words += [name, value]
    assert_one_good_error(run("release", *words))
    assert json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out)[0]["spent"] == "0"


def test_no_command_at_all_shows_the_help(run):
    told = run()
    assert told.code == 0
    assert examples(told.out)


def test_version(run):
    assert run("--version") == (0, dt.__version__ + "\n", "")


# Bad input

GEOMETRIC = ["make", "geometric"]
LEVEL = ["--alpha", "9/10"]
BAD = {
    "n 0": [*GEOMETRIC, "--n", "0", *LEVEL],
    "n -3": [*GEOMETRIC, "--n", "-3", *LEVEL],
    "n abc": [*GEOMETRIC, "--n", "abc", *LEVEL],
    "n 1.5": [*GEOMETRIC, "--n", "1.5", *LEVEL],
    "n empty": [*GEOMETRIC, "--n", "", *LEVEL],
    "n nan": [*GEOMETRIC, "--n", "nan", *LEVEL],
    "n a digit that is none": [*GEOMETRIC, "--n", "\u00b2", *LEVEL],
    "n of 5000 digits": [*GEOMETRIC, "--n", "9" * 5000, *LEVEL],
    "n too large": [*GEOMETRIC, "--n", str(2**62 + 1), *LEVEL],
    "n too large for a table": ["make", "explicit-fair", "--n", "5000", *LEVEL],
    "n and low": [*GEOMETRIC, "--n", "8", "--low", "0", *LEVEL],
    "n and high": [*GEOMETRIC, "--n", "8", "--high", "8", *LEVEL],
    "no n": [*GEOMETRIC, *LEVEL],
    "alpha 1": [*GEOMETRIC, "--n", "8", "--alpha", "1"],
    "alpha 0": [*GEOMETRIC, "--n", "8", "--alpha", "0"],
    "alpha -1/2": [*GEOMETRIC, "--n", "8", "--alpha", "-1/2"],
    "alpha nan": [*GEOMETRIC, "--n", "8", "--alpha", "nan"],
    "alpha abc": [*GEOMETRIC, "--n", "8", "--alpha", "abc"],
    "alpha 1/0": [*GEOMETRIC, "--n", "8", "--alpha", "1/0"],
    "alpha of 5000 digits": [*GEOMETRIC, "--n", "8", "--alpha", "0." + "9" * 5000],
    "epsilon -1": [*GEOMETRIC, "--n", "8", "--epsilon", "-1"],
    "epsilon 0": [*GEOMETRIC, "--n", "8", "--epsilon", "0"],
    "epsilon nan": [*GEOMETRIC, "--n", "8", "--epsilon", "nan"],
    "epsilon inf": [*GEOMETRIC, "--n", "8", "--epsilon", "inf"],
    "epsilon abc": [*GEOMETRIC, "--n", "8", "--epsilon", "abc"],
    "epsilon ln(0)": [*GEOMETRIC, "--n", "8", "--epsilon", "ln(0)"],
    "epsilon tiny": [*GEOMETRIC, "--n", "8", "--epsilon", "1e-30"],
    "alpha and epsilon": [*GEOMETRIC, "--n", "8", *LEVEL, "--epsilon", "1"],
    "no level": [*GEOMETRIC, "--n", "8"],
    "low above high": [*GEOMETRIC, "--low", "9", "--high", "1", *LEVEL],
    "low at high": [*GEOMETRIC, "--low", "9", "--high", "9", *LEVEL],
    "low abc": [*GEOMETRIC, "--low", "abc", "--high", "9", *LEVEL],
    "step 0": [*GEOMETRIC, "--n", "8", "--step", "0", *LEVEL],
    "step -1": [*GEOMETRIC, "--n", "8", "--step", "-1", *LEVEL],
    "step abc": [*GEOMETRIC, "--n", "8", "--step", "abc", *LEVEL],
    "step 3": [*GEOMETRIC, "--n", "8", "--step", "3", *LEVEL],
    "sensitivity 0": [*GEOMETRIC, "--n", "8", "--sensitivity", "0", *LEVEL],
    "sensitivity nan": [*GEOMETRIC, "--n", "8", "--sensitivity", "nan", *LEVEL],
    "sensitivity of uniform": ["make", "uniform", "--n", "8", "--sensitivity", "2"],
    "level of uniform": ["make", "uniform", "--n", "8", *LEVEL],
    "open uniform": ["make", "uniform", "--low", "0", "--high", "none"],
    "unknown family": ["make", "gaussian", "--n", "8", *LEVEL],
    "no family": ["make"],
    "no value": [*GEOMETRIC, "--n"],
    "unknown option": [*GEOMETRIC, "--n", "8", *LEVEL, "--colour"],
    "a word too many": [*GEOMETRIC, "more", "--n", "8", *LEVEL],
    "an option twice": [*GEOMETRIC, "--n", "8", "--n", "9", *LEVEL],
    "no such folder": [*GEOMETRIC, "--n", "8", *LEVEL, "-o", "none/m.json"],
    "a file as folder": [*GEOMETRIC, "--n", "8", *LEVEL, "-o", "gm.json/m.json"],
    "a folder as output": [*GEOMETRIC, "--n", "8", *LEVEL, "-o", "."],
    "an empty output": [*GEOMETRIC, "--n", "8", *LEVEL, "-o", ""],
    "a file as the demo's folder": ["demo", "--out", "gm.json"],
    "unknown command": ["destroy"],
    "show nothing": ["show"],
    "show a missing file": ["show", "none.json"],
    "show a folder": ["show", "."],
    "show no mechanism": ["show", "other.json"],
    "check a missing file": ["check", "none.json"],
    "check a folder": ["check", "."],
    "check epsilon -1": ["check", "gm.json", "--epsilon", "-1"],
    "check alpha 1": ["check", "gm.json", "--alpha", "1"],
    "check alpha and epsilon": ["check", "gm.json", "--alpha", "1/2", "--epsilon", "1"],
    "check group 0": ["check", "gm.json", "--group", "0"],
    "check group abc": ["check", "gm.json", "--group", "abc"],
    "check group with line": ["check", "gm.json", "--group", "2", "--neighbours", "line"],
    "check neighbours abc": ["check", "gm.json", "--neighbours", "abc"],
}


@pytest.fixture
def bad(run, gm, tmp_path) -> Callable[[str], Told]:
    Path("other.json").write_text("[]")

    def call(name: str) -> Told:
        told = run(*BAD[name])
        assert {p.name for p in tmp_path.iterdir()} == {"gm.json", "other.json"}, "bad input left a file"
        return told

    return call


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_error_with_the_next_move_and_exit_code_2(bad, name):
    told = bad(name)
    assert_one_good_error(told)
    assert NEXT_MOVE.search(told.err)


def test_ctrl_c_is_no_traceback(run, monkeypatch):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "load_procedure", interrupt)
    told = run("show", "gm.json")
    assert (told.code, told.out) == (130, "")
    assert "Traceback" not in told.err


# The console script, as people run it


def script(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([CONSOLE_SCRIPT, *words], text=True, timeout=20, **options)  # type: ignore[call-overload]


def test_the_console_script_has_the_exit_codes(tmp_path):
    making = ("make", "geometric", "--n", "8", "--alpha", "9/10")
    for words, code in [
        ((*making, "-o", "gm.json"), 0),
        (("check", "gm.json"), 0),
        (("check", "gm.json", "--epsilon", "0.05"), 1),
        (("check", "none.json"), 2),
    ]:
        told = script(*words, cwd=tmp_path, capture_output=True)
        assert told.returncode == code, words
        assert bool(told.stderr) == (code == 2)
        assert bool(told.stdout) == (code != 2)


def test_debug_keeps_the_exit_code(tmp_path):
    told = script("make", "geometric", "--n", "8", "--alpha", "1", "--debug", cwd=tmp_path, capture_output=True)
    assert "Traceback" in told.stderr
    assert told.returncode == 2


@pytest.mark.parametrize("words", [["check"], ["show"], ["show", "--csv"], ["show", "--json"]], ids=" ".join)
def test_a_reader_that_hangs_up_is_no_error(words, tmp_path):
    """`discreet check gm.json | true`: silence, and the exit code of a check that held."""
    dt.geometric(60, alpha="9/10").save(tmp_path / "gm.json")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        told = script(words[0], "gm.json", *words[1:], cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE)
    finally:
        os.close(writer)
    assert told.stderr == ""
    assert told.returncode == 0


# Designs, plans and recovery


def test_a_design_is_saved_with_a_certificate_that_check_verifies(run):
    told = run("design", "--n", "6", "--alpha", "9/10", "--loss", "l1", "--require", "wh,cm", "-o", "best.json")
    assert (told.code, told.err) == (0, "")
    assert run("check", "best.json").code == 0
    risk, bound = verify.verify(verify.read("best.json")).risk_and_bound
    assert 0 <= risk - bound < Fraction(1, 10**8)
    content = json.loads(Path("best.json").read_text())
    content["certificate"]["objective"] = "1/2"
    Path("worse.json").write_text(json.dumps({**content, "digest": verify.digest(content)}))
    assert run("check", "worse.json").code == 1


def test_compare_shows_that_the_geometric_serves_the_prior_as_well_as_the_best(run):
    told = run("compare", "--n", "6", "--alpha", "3/4", "--loss", "l2", "--prior", "binomial(0.3)", "--json")
    rows = {row["mechanism"]: row for row in json.loads(told.out)}
    assert rows["GM"]["best use"] == pytest.approx(rows["best l2"]["L2"], rel=1e-9)
    assert rows["EM"]["best use"] > rows["GM"]["best use"] * 1.0001
    assert run("compare", "--n", "6", "--alpha", "3/4", "--csv").out.count("\n") == 8
    wide = json.loads(run("compare", "--n", "1100", "--alpha", "3/4", "--json").out)
    assert [row["mechanism"] for row in wide][:1] == ["GM"]
    assert "EM" not in {row["mechanism"] for row in wide}


def test_plans_for_people_and_machines(run):
    found = json.loads(run("plan-epsilon", "--n", "100", "--error", "5", "--json").out)
    assert {row["family"] for row in found["choices"]} == {"geometric", "explicit_fair", "randomized_response"}
    assert run("plan-error", "--n", "100", "--epsilon", "1/2", "--csv").out.startswith("family,")
    needed = json.loads(run("plan-reports", "--n", "10", "--epsilon", "1", "--standard-error", "0.1", "--json").out)
    assert all(isinstance(row["reports"], int) for row in needed["choices"])
    assert "reports" in run("plan-reports", "--n", "10", "--epsilon", "1", "--standard-error", "0.1").out


def test_recovering_from_files_of_reports_and_of_counts(run):
    dt.geometric(4, alpha="1/2").save("g.json")
    counts = [2500, 2000, 2000, 1500, 2000]
    Path("reports.csv").write_text("y\n" + "".join(f"{k}\n" * c for k, c in enumerate(counts)))
    Path("counts.csv").write_text("report,n\n" + "".join(f"{k},{c}\n" for k, c in enumerate(counts)))
    one = run("recover", "reports.csv", "-m", "g.json", "--method", "mle", "-o", "e.json")
    assert (one.code, one.err) == (0, "")
    assert "#" in one.out
    two = run(
        "recover", "counts.csv", "--column", "report", "--counts", "n", "-m", "g.json", "--method", "mle", "--json"
    )
    saved, told = json.loads(Path("e.json").read_text()), json.loads(two.out)
    assert saved == told
    assert told["distribution"] == pytest.approx([0.1, 0.35, 0.3, 0.15, 0.1], abs=1e-7)
    assert told["fit"]["holds"]
    low, high = told["direct"]["interval"]
    assert low < told["direct"]["mean"] < high


def test_recovering_names_and_numbers(run):
    dt.randomized_response(4, epsilon=2).save("r.json")
    Path("counts.csv").write_text("y,count\n0,900\n1,300\n2,200\n3,180\n4,170\n")
    asked = "recover", "counts.csv", "-m", "r.json"
    names, same, numbers = (run(*asked, *more) for more in ([], ["--names"], ["--ordered"]))
    assert [one.code for one in (names, same, numbers)] == [0, 0, 0]
    assert "interval of the mean" not in names.out + same.out
    assert "values are names (the mechanism treats all alike" in names.out
    assert "values are names (ordered=False)" in same.out
    assert "interval of the mean" in numbers.out
    assert json.loads(run(*asked, "--json").out)["ordered"] is False
    assert json.loads(run(*asked, "--ordered", "--json").out)["ordered"] is True


@pytest.mark.parametrize("output", [[], ["--json"], ["--csv"], ["-o", "e.json"], ["-o", "-"]], ids=str)
def test_reports_that_do_not_fit_the_mechanism_are_told_and_the_exit_code_says_so(run, output):
    """Ends that a geometric mechanism cannot leave so rare: without noise there would be -10 % at 4."""
    dt.geometric(4, alpha="1/2").save("g.json")
    Path("counts.csv").write_text("y,count\n0,3000\n1,2500\n2,2000\n3,1500\n4,1000\n")
    told = run("recover", "counts.csv", "-m", "g.json", *output)
    assert told.code == 1
    machine = output not in ([], ["-o", "e.json"])
    assert "do not fit the mechanism" in " ".join((told.err if machine else told.out).split())
    assert ("do not fit" in told.out) == (not machine or "--csv" not in output)
    if output == ["-o", "e.json"]:
        assert not json.loads(Path("e.json").read_text())["fit"]["holds"]


def test_reports_stand_below_the_name_of_their_column(run):
    dt.geometric(8, epsilon=40).save("g.json")
    for content, column in (("y\n3\n0\n8\n", []), ("a,y\n1,3\n2,0\n3,8\n", ["--column", "y"])):
        Path("r.csv").write_text(content)
        told = run("recover", "r.csv", "-m", "g.json", "--json", *column)
        assert json.loads(told.out)["direct"]["mean"] == pytest.approx(11 / 3)


def test_a_decimal_comma_is_no_true_value_either(run):
    """It was cut off: 1,5 was drawn for as 1."""
    dt.geometric(8, epsilon=40).save("g.json")
    for content in ("y\n3\n1,5\n", "3\n1,5\n"):
        Path("values.csv").write_text(content)
        told = run("sample", "g.json", "values.csv")
        assert_one_good_error(told)
        assert "position 1 stands in a line with more columns" in told.err
        assert "5" not in told.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("3\n0\n8\n", "put a line of names above the reports"),
        ("1,5\n", "no name of a column"),
        ("1e-9999999\n1\n", "no name of a column"),
        ("y\nabc\n", "is not a report on 0..4"),
        ("y\n9\n", "is not a report on 0..4"),
        ("y\n1\n\n2\n", "row 2 of the column 'y' of r.csv is missing"),
        ("y,count\n1,2,3\n", "Nothing was counted"),
        ("", "is empty"),
        ("a,b\n1,2\n", "--column"),
        ("y\n", "report"),
        ("y\n\x00\n", "zero byte"),
    ],
)
def test_reports_that_cannot_be_recovered_from_are_refused_in_a_sentence(run, content, words):
    dt.geometric(4, alpha="1/2").save("g.json")
    Path("r.csv").write_text(content)
    told = run("recover", "r.csv", "-m", "g.json", "-o", "e.json")
    assert_one_good_error(told)
    assert words in told.err
    assert not Path("e.json").exists()


# sample


def test_reports_of_values_from_words_files_and_standard_input(run, monkeypatch):
    dt.geometric(8, epsilon=40).save("g.json")  # e^-40: reports are the truth, so order and reading show
    Path("column.txt").write_text("3\n0\n8\n")
    Path("people.csv").write_text("id,y\n1,3\n2,0\n3,8\n")
    for words in (["3", "0", "8"], ["column.txt"], ["people.csv", "--column", "y"], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n3\n0\n8\n"))
        told = run("sample", "g.json", *words)
        assert (told.code, told.out, told.err) == (0, "3\n0\n8\n", "")
    assert run("sample", "g.json", "--value", "3", "--size", "4", "--csv").out == "report\n3\n3\n3\n3\n"
    told = json.loads(run("sample", "g.json", "13/2", "-7", "99", "--clamp", "--json").out)
    assert told == {"family": "geometric", "digest": dt.load("g.json").digest, "reports": [7, 0, 8]}
    assert run("sample", "g.json", "3", "0", "8", "-o", "out.csv").code == 0
    assert Path("out.csv").read_text() == "report\n3\n0\n8\n"
    assert run("recover", "out.csv", "-m", "g.json", "--method", "mle", "--json").code == 0


def test_reports_on_the_command_line_have_the_law(run, gm):
    """6 standard errors: a false alarm in 10^8."""
    drawn = json.loads(run("sample", gm, "--value", "3", "--size", "100000", "--json").out)["reports"]
    law = reference.geometric(8, Fraction(9, 10))[3]
    for report, p in enumerate(map(float, law)):
        assert abs(drawn.count(report) / 1e5 - p) < 6 * math.sqrt(p * (1 - p) / 1e5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["3", "77"], "position 1 lies outside 0..8"),
        (["3", "77", "--size", "2"], "--size"),
        ([], "--value"),
        (["--value", "77", "--size", "3"], "--clamp"),
        (["3", "77x"], "position 1"),
        (["none.csv"], "cannot be read"),
        (["two.csv"], "--column"),
        (["two.csv", "--column", "z"], "--column"),
        (["--value", "77", "3"], "once"),
        (["bad.csv"], "position 1"),
        (["3", "--size", "many"], "whole number"),
        (["3", "--column", "y"], "--column"),
        (["two.csv", "--column", "y", "-o", "two.csv"], "overwritten"),
        (["3", "-o", "gm.json"], "overwritten"),
        (["3", "--json", "--csv"], "--csv"),
    ],
)
def test_what_cannot_be_sampled_is_refused_by_its_position_and_never_quoted(run, gm, words, said):
    Path("two.csv").write_text("77,y\n77,3\n")
    Path("bad.csv").write_text("y\n3\n77x\n")
    before = Path(gm).read_bytes(), Path("two.csv").read_bytes()
    told = run("sample", gm, *words)
    assert_one_good_error(told)
    assert said in told.err
    assert "77" not in told.err
    assert (Path(gm).read_bytes(), Path("two.csv").read_bytes()) == before


def test_sensitivity_says_what_is_private_and_quotes_no_record(run):
    Path("data.csv").write_text("id,x\na,1\nb,2.5\nc,77.25\n")
    told = run(
        "sensitivity", "--query", "median", "data.csv", "--column", "x", "--low", 0, "--high", 100, "--beta", "ln 2"
    )
    assert (told.code, told.err) == (0, "")
    private = [line for line in told.out.splitlines() if line.startswith(("local", "smooth"))]
    assert len(private) == 2
    assert all("do not publish" in line for line in private)
    assert "global       100" in told.out
    words = [
        "sensitivity",
        "--query",
        "median",
        "data.csv",
        "--column",
        "x",
        "--low",
        "0",
        "--high",
        "100",
        "--records",
        "3",
    ]
    found = json.loads(run(*words, "--beta", "ln 2", "--json").out)
    q = dt.queries.query("median", records=3, low=0, high=100)
    data = [1, Fraction("2.5"), Fraction("77.25")]
    assert (
        found["local"]
        == q.local_sensitivity(data).to_dict()
        == {"value": 74.75, "private": True, "note": "do not publish"}
    )
    assert found["smooth"] == q.smooth_sensitivity(data, beta="ln 2").to_dict()
    assert found["notes"] == []
    assert "do not publish" in run(*words, "--csv").out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["data.csv", "--column", "x", "--low", "0", "--high", "50"],
            "line 4 lies outside 0..50; widen the range, or say --clamp",
        ),
        (
            ["data.csv", "--column", "x", "--low", "0", "--high", "100", "--records", "4"],
            "3 records, and 4 were declared",
        ),
        (["data.csv", "--column", "id", "--low", "0", "--high", "100"], "line 2 is no number"),
        (["data.csv", "--low", "0", "--high", "100"], "has the columns id, x; say which one with --column"),
        (
            ["data.csv", "--column", "X", "--low", "0", "--high", "100"],
            "has no column X; it has the columns id, x; say",
        ),
        (["data.csv", "--query", "count", "--column", "x"], "line 3 is neither 0 nor 1"),
        (["data.csv", "--column", "x"], "declare the range"),
        (["none.csv", "--low", "0", "--high", "100"], "cannot be read"),
        (["--low", "0", "--high", "100"], "number of records"),
    ],
)
def test_a_sensitivity_that_cannot_be_told_is_refused_in_a_sentence(run, words, told):
    Path("data.csv").write_text("id,x\na,1\nb,2.5\nc,77.25\n")
    found = run("sensitivity", *([] if "--query" in words else ["--query", "median"]), *words)
    assert (found.code, found.out) == (2, "")
    assert told in found.err
    assert NEXT_MOVE.search(found.err) or "declare" in found.err
    assert "77" not in found.err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("x\n1\n2,77\n3\n", "line 3 has more or fewer columns"),  # else a decimal comma would be read as another number
        ("x,y\n1,2\n77\n", "line 3 has more or fewer columns"),
        ('"x"\n"1"\n\n77\n', "Line 3 of data.csv is empty, a missing record"),  # the number of records would be another
        ("\nx\n1\n\n77\n", "Line 4 of data.csv is empty"),
        ('x,y\n1,"a\nb"\n2,c\nz,77\n', "line 5 is no number"),  # a field of two lines
        ("77,y\n3,4\n", "has no column x; it has 2 columns"),  # a line with a number in it may be a record
        ("77 Main Road,NA\nb,3\n", "has no column x; it has 2 columns"),
        ("x\n", "has a heading and no records"),
        ("", "is empty"),
    ],
)
def test_a_file_of_records_is_refused_where_its_lines_are_not_alike(run, lines, told):
    Path("data.csv").write_text(lines)
    found = run("sensitivity", "--query", "median", "data.csv", "--column", "x", "--low", "0", "--high", "100")
    assert_one_good_error(found)
    assert told in found.err
    assert "77" not in found.err


@pytest.mark.parametrize("place", ["reports.csv", "gm.json", "./reports.csv"])
def test_recovering_does_not_write_over_what_it_reads(run, gm, place):
    Path("reports.csv").write_text("y\n3\n4\n")
    before = Path(gm).read_bytes(), Path("reports.csv").read_bytes()
    told = run("recover", "reports.csv", "-m", gm, "-o", place)
    assert_one_good_error(told)
    assert "overwritten" in told.err
    assert (Path(gm).read_bytes(), Path("reports.csv").read_bytes()) == before


@pytest.mark.parametrize(
    "words", [["make", "from-matrix", "--matrix"], ["design", "--n", "1", "--prior"]], ids=["a matrix", "a prior"]
)
def test_a_file_of_numbers_is_not_written_over_by_what_is_made_of_it(run, words):
    Path("numbers.csv").write_text("0.5,0.5\n0.5,0.5\n")
    told = run(*words, "numbers.csv", "--alpha", "1/2", "-o", "numbers.csv")
    assert_one_good_error(told)
    assert "overwritten" in told.err
    assert Path("numbers.csv").read_text() == "0.5,0.5\n0.5,0.5\n"


# What the library says is what the command line prints


def test_designs_for_values_and_for_cells(run):
    level = ("--alpha", "1/4", "--sensitivity", "3")
    made = dt.design([-3, 0, 1, 5], alpha="1/4", sensitivity=3)
    assert json.loads(run("design", "--values", "-3,0,1,5", *level, "--json").out) == made.to_dict()
    assert "the reports: -3, 0, 1, 5" in run("design", "--values", "-3, 0, 1, 5", *level).out
    cells = dt.design(Cells([0, 1, 2, 5]), alpha="1/4", sensitivity=3, prior="beta(2, 5)")
    told = json.loads(run("design", "--edges", "0 1 2 5", *level, "--prior", "beta(2, 5)", "--json").out)
    assert told == cells.to_dict()
    assert told["reports"] == [str(report) for report in cells.reports]
    refused = run("design", "--edges", "0,1,2", "--n", "8", *level)
    assert refused.code == 2
    assert "give one of them" in refused.err


def test_json_is_what_to_dict_has(run, gm):
    m = dt.load(gm)
    assert (
        json.loads(run("make", "geometric", "--n", 8, "--alpha", "9/10", "--json").out)
        == dt.measure.describe(m).to_dict()
    )
    assert json.loads(run("show", gm, "--json").out) == dt.measure.describe(m, matrix=True).to_dict()
    assert json.loads(run("check", gm, "--json").out) == dt.check_privacy(m).to_dict()
    words = ("--n", 4, "--alpha", "9/10", "--loss", "l0", "--require", "F")
    made = dt.design(4, alpha="9/10", loss="l0", require="F")
    assert json.loads(run("design", *words, "--json").out) == made.to_dict()
    assert str(made) in run("design", *words).out
    assert str(dt.check_privacy(m)) == run("check", gm).out.strip()
    found = json.loads(run("audit", gm, "--draws", 1000, "--seed", 7, "--json").out)
    assert found == dt.audit(m, draws=1000, source=dt.insecure_source(7)).to_dict()
    Path("r.csv").write_text("y\n" + "3\n4\n8\n" * 20)
    estimate = dt.recover([3, 4, 8] * 20, m, "mle")
    told = json.loads(run("recover", "r.csv", "-m", gm, "--method", "mle", "--json", "--confidence", "0.9").out)
    assert told == estimate.to_dict("0.9")
    assert told["direct"]["interval"] == pytest.approx(estimate.interval("0.9", "mean"))
    assert run("recover", "r.csv", "-m", gm, "--method", "mle").out.startswith(str(estimate))


def test_an_audit_of_what_claims_nothing_has_json(run):
    """An infinite claim is null: JSON has no infinity."""
    run("make", "random-rounding", "--n", 20, "-o", "m.json")
    told = run("audit", "m.json", "--draws", 1000, "--json")
    assert told.code == 0
    assert json.loads(told.out)["claimed"] is None


def test_a_release_is_printed_as_the_library_prints_it(run, survey):
    told = run("release", *survey, "--margins", "sex")
    with dt.Ledger("b.db") as book:
        made = (
            book["s"]
            .release(
                "people.csv",
                by=["sex", "education"],
                count="income > 50000",
                epsilon="1/2",
                domain=json.loads(Path("domain.json").read_text()),
            )
            .with_totals("sex")
        )
        balances = book.balances()
    assert made.record["repeated"]
    note, *rest = lines_of(str(made))
    assert note.endswith(
        "this is the answer stored for version 1, at no charge. A file is not read again."
    )  # first, before the old numbers
    assert lines_of(told.out)[: made.size + 2] == rest[: made.size + 2]
    again = run("release", *survey, "--margins", "sex")
    assert lines_of(again.out) == lines_of(str(made))
    assert json.loads(run("release", *survey, "--margins", "sex", "--json").out) == made.to_dict()
    assert run("release", *survey, "--margins", "sex", "--csv").out == made.to_csv()
    assert lines_of(run("ledger", "show", "--ledger", "b.db").out) == lines_of(str(balances))
    assert json.loads(run("ledger", "show", "--ledger", "b.db", "--json").out) == balances.rows()


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_a_ledger_without_data_sets_has_nothing_to_show(run):
    Book("b.db").close()
    assert run("ledger", "show", "--ledger", "b.db") == (0, "nothing yet\n", "")
    assert run("ledger", "show", "--ledger", "b.db", "--json") == (0, "[]\n", "")
    told = run("ledger", "show", "--ledger", "b.db", "--csv")
    assert told == (0, "data set,relation,budget,spent,left,without answer,left by caps\n", "")
