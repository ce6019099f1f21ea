"""`discreet cascade`: reports for people and machines, and one sentence for what is wrong."""

from __future__ import annotations

import io
import json

import pytest

from tests.cli.test_cli import NEXT_MOVE, assert_one_good_error, run  # noqa: F401

ASKED = ["cascade", "--alphas", "3/10,1/2,4/5", "--n", 100]


def test_a_cascade_is_printed(run, monkeypatch):  # noqa: F811
    told = run(*ASKED, "--value", 42)
    assert (told.code, told.err) == (0, "")
    assert "all of it costs epsilon <= 1.20398" in told.out
    monkeypatch.setattr("sys.stdin", io.StringIO("42\n"))
    assert len(run(*ASKED, "--value", "-", "--csv").out.splitlines()) == 4
    told = json.loads(run(*ASKED, "--value", 7, "--json").out)
    assert [0 <= level["report"] <= 100 for level in told["levels"]] == [True] * 3
    assert told["price"]["alpha"] == "3/10"
    lines = run(
        "cascade", "--epsilons", "1,1/2", "--low", "0", "--high", "none", "--value", 7, "--csv"
    ).out.splitlines()
    assert (lines[0], len(lines)) == ("audience,asked as,alpha,epsilon <=,report", 3)


@pytest.mark.parametrize(
    "words",
    [
        [*ASKED],
        ["cascade", "--n", 5, "--value", 57],
        [*ASKED, "--value", "many"],
        [*ASKED, "--value", 573],
        ["cascade", "--alphas", "1/2,3/10", "--n", 5, "--value", 57],
        ["cascade", "--alphas", "1/2,,3/10", "--n", 5, "--value", 57],
        ["cascade", "--alphas", "1/2", "--epsilons", "1", "--n", 5, "--value", 57],
        ["cascade", "--alphas", "1/2", "--value", 57],
        [*ASKED, "--value", 57, "--json", "--csv"],
        [*ASKED, "--value", 571],
    ],
)
def test_what_is_wrong_is_one_sentence_without_the_true_value(run, words):  # noqa: F811
    told = run(*words)
    assert_one_good_error(told)
    assert NEXT_MOVE.search(told.err)
    assert "57" not in told.err


@pytest.mark.parametrize(
    ("words", "missing", "example"),
    [
        (["compose", "g.json"], "--k is missing", "discreet compose g.json --k 20"),
        (["check"], "FILE is missing", "discreet check gm.json"),
        (["sensitivity", "data.csv"], "--query is missing", "discreet sensitivity --query median"),
        (["compose", "g.json", "--k"], "--k needs a value after it", "discreet compose g.json --k 20"),
    ],
)
def test_what_was_never_written_is_missing(run, words, missing, example):  # noqa: F811
    told = run(*words)
    assert_one_good_error(told)
    assert missing in told.err
    assert example in told.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["collude", "-m", "g.json", "--k", 3, "--alpha", "1/2"], "leave out --alpha"),
        (["collude", "-m", "g.json", "--k", 3, "--n", 5], "leave out --n"),
        (
            ["sensitivity", "--query", "mean", "--records", 10, "--low", 0, "--high", 1, "--beta", "1/2"],
            "--beta is for records",
        ),
        (["sensitivity", "--query", "mean", "--records", 10], "as in --low 0"),
        (["sensitivity", "--query", "mean", "--low", 0, "--high", 1], "give for example --records 1000"),
    ],
)
def test_no_option_is_ignored_and_none_is_named_as_in_python(run, words, said):  # noqa: F811
    told = run(*words)
    assert_one_good_error(told)
    assert said in told.err


def test_families_have_their_names_with_either_line(run):  # noqa: F811
    one, other = (
        run("make", word, "--n", 3, "--alpha", "1/2", "-o", "-") for word in ("explicit_fair", "explicit-fair")
    )
    assert one.code == other.code == 0
    assert one.out == other.out
    asked = ["collude", "--k", 3, "--n", 3, "--alpha", "1/2", "--json", "-m"]
    found = [json.loads(run(*asked, word).out)[0]["expected_loss"] for word in ("explicit_fair", "explicit-fair")]
    assert found[0] == found[1]
