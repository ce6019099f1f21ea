"""`discreet cascade`: reports for people and machines, stored and extended, and one sentence for what is wrong."""

from __future__ import annotations

import io
import json

import pytest

import discreet as dt
from tests.cli.test_cli import NEXT_MOVE, assert_one_good_error, run  # noqa: F401

ASKED = ["cascade", "--alphas", "3/10,1/2,4/5", "--n", 100]


def test_a_cascade_is_printed_stored_and_extended(run, monkeypatch):  # noqa: F811
    told = run(*ASKED, "--value", 42, "--fingerprint", "5f1c", "-o", "r.json")
    assert (told.code, told.err) == (0, "")
    assert "all of it costs epsilon <= 1.20398" in told.out
    stored = dt.CascadeReports.load("r.json")
    assert all(f" {report}" in told.out for report in stored)
    more = run("cascade", "--stored", "r.json", "--add", "2/5", "-o", "more.json")
    assert "the new level costs nothing" in more.out
    monkeypatch.setattr("sys.stdin", io.StringIO("42\n"))
    finer = run("cascade", "--stored", "more.json", "--add", "1/10", "--value", "-", "--fingerprint", "5f1c", "-o", "-")
    grown = dt.CascadeReports.loads(finer.out)
    assert [str(x.alpha) for x in grown.cascade.levels] == ["1/10", "3/10", "2/5", "1/2", "4/5"]
    assert [grown.at(x) for x in ("3/10", "1/2", "4/5")] == list(stored)
    told = json.loads(run(*ASKED, "--value", 7, "--json").out)
    assert [0 <= level["report"] <= 100 for level in told["levels"]] == [True] * 3
    assert told["price"]["alpha"] == "3/10"
    lines = run("cascade", "--epsilons", "1,1/2", "--low", "0", "--high", "none", "--value", 7, "--csv").out.splitlines()
    assert (lines[0], len(lines)) == ("audience,alpha,epsilon <=,report", 3)


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
        ["cascade", "--stored", "none.json", "--add", "1/2"],
        ["cascade", "--stored", "none.json", "--value", 57],
        ["cascade", "--stored", "none.json", "--add", "1/2", "--n", 5],
        ["cascade", "--stored", "none.json", "--add", "1/2", "--sensitivity", 2],
        ["cascade", "--stored", "r.json", "--add", "1/2", "-o", "r.json"],
        [*ASKED, "--value", 57, "--json", "--csv"],
    ],
)
def test_what_is_wrong_is_one_sentence_without_the_true_value(run, words):  # noqa: F811
    told = run(*words)
    assert_one_good_error(told)
    assert NEXT_MOVE.search(told.err)
    assert "57" not in told.err


def test_what_a_further_level_needs_is_said_in_words_of_the_command(run):  # noqa: F811
    run(*ASKED, "--value", 57, "--fingerprint", "f", "-o", "r.json")
    for words, needed in (
        (["--add", "1/10"], "give --value"),
        (["--add", "1/10", "--value", 57], "--fingerprint"),
        (["--add", "2/5", "--value", 57, "--fingerprint", "f"], "leave out --value"),
    ):
        told = run("cascade", "--stored", "r.json", *words)
        assert_one_good_error(told)
        assert needed in told.err
        assert "57" not in told.err
