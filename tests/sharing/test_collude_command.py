"""discreet collude: the library's answer, in three forms, and errors of one line."""

from __future__ import annotations

import csv
import io
import json

import pytest

import discreet as dt
from discreet.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: object) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        return stopped.value.code, *capsys.readouterr()

    return call


def test_the_table_is_the_librarys(run):
    words = ("collude", "--alpha", "0.5", "--k", "1,3,5,11", "--mechanism", "geometric,laplace,staircase")
    code, out, err = run(*words)
    assert (code, err) == (0, "")
    assert len(out.splitlines()) == 2 + 12 + 1
    rows = json.loads(run(*words, "--json")[1])
    assert [(row["name"], row["k"]) for row in rows[:5]] == [*(("geometric", k) for k in (1, 3, 5, 11)), ("laplace", 1)]
    assert (
        rows[1]["expected_loss"] == dt.sharing.collude(dt.geometric(dt.Grid(None, None), alpha="1/2"), 3).expected_loss
    )
    assert rows[9] == dt.sharing.collude({"staircase": dt.staircase(alpha="1/2")}, [3])[0].to_dict()
    table = list(csv.DictReader(io.StringIO(run(*words, "--csv")[1])))
    assert [float(line["l1"]) for line in table] == [row["expected_loss"] for row in rows]


def test_files_strategies_and_priors(run):
    m = dt.explicit_fair(6, alpha="1/3")
    m.save("m.json")
    words = ("-m", "m.json", "--k", 4, "--strategy", "bayes", "--loss", "l0", "--prior", "binomial(0.3)")
    code, out, _ = run("collude", *words, "--json")
    assert code == 0
    expected = dt.sharing.collude({"m.json": m}, [4], "bayes", "l0", "binomial(0.3)")[0].to_dict()
    assert json.loads(out) == [expected]
    words = ("--n", 40, "--epsilon", "1", "--sensitivity", 4, "-m", "staircase", "--k", 7, "--strategy", "mle")
    drawn = run("collude", *words, "--runs", 300)
    assert "95 % interval of what was drawn, seed 0" in drawn[1]
    assert {"from", "to"} <= set(drawn[1].splitlines()[1].split())


@pytest.mark.parametrize(
    "words",
    [
        ("--alpha", "1/2", "--k", "0"),
        ("--alpha", "1/2", "--k", "three"),
        ("--alpha", "1/2", "--k", ""),
        ("--alpha", "1/2"),
        ("--k", "3"),
        ("--alpha", "2", "--k", "3"),
        ("--alpha", "1/2", "--k", "3", "--mechanism", "gauss"),
        ("--alpha", "1/2", "--k", "3", "--mechanism", ","),
        ("--alpha", "1/2", "--k", "3", "--mechanism", "uniform"),
        ("--alpha", "1/2", "--k", "3", "--mechanism", "explicit-fair"),
        ("--alpha", "1/2", "--k", "3", "--strategy", "mean"),
        ("--alpha", "1/2", "--k", "3", "--runs", "0"),
        ("--alpha", "1/2", "--k", "3", "--json", "--csv"),
        ("--k", "3", "--mechanism", "missing.json"),
    ],
)
def test_bad_input_is_one_clear_sentence(run, words):
    code, out, err = run("collude", *words)
    assert (code, out) == (2, "")
    assert err.startswith("discreet: ")
    assert err.count("\n") == 1
    assert len(err) < 400


def test_a_median_beyond_the_true_values_is_moved_or_left(run):
    """One report of a square wave, by hand: 11/12 where it is moved to an end of 0..3, 7/6 where it is left."""
    words = ("collude", "--n", 3, "--alpha", "1/3", "--k", 1, "--mechanism", "square-wave")
    for more, loss, told in (((), 11 / 12, "is moved to the end"), (("--no-clamp",), 7 / 6, "as it is")):
        (row,) = json.loads(run(*words, *more, "--json")[1])
        assert row["expected_loss"] == pytest.approx(loss, abs=1e-14)
        assert told in run(*words, *more)[1]
