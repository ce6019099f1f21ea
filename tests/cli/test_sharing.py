"""`discreet cascade`: reports for people and machines, stored and extended, and one sentence for what is wrong."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

import discreet as dt
from tests.cli.test_cli import NEXT_MOVE, assert_one_good_error, run  # noqa: F401

ASKED = ["cascade", "--alphas", "3/10,1/2,4/5", "--n", 100]


def test_a_cascade_is_printed_stored_and_extended(run, monkeypatch):  # noqa: F811
    told = run(*ASKED, "--value", 42, "--fingerprint", "5f1c", "-o", "r.json")
    assert (told.code, told.err) == (0, "")
    assert "all of it costs epsilon <= 1.20398" in told.out
    stored = dt.results.CascadeReports.load("r.json")
    assert all(f" {report}" in told.out for report in stored)
    more = run("cascade", "--stored", "r.json", "--add", "2/5", "-o", "more.json")
    assert "the new level costs nothing" in more.out
    monkeypatch.setattr("sys.stdin", io.StringIO("42\n"))
    finer = run("cascade", "--stored", "more.json", "--add", "1/10", "--value", "-", "--fingerprint", "5f1c", "-o", "-")
    grown = dt.results.CascadeReports.loads(finer.out)
    assert [str(x.alpha) for x in grown.cascade.levels] == ["1/10", "3/10", "2/5", "1/2", "4/5"]
    assert [grown.at(x) for x in ("3/10", "1/2", "4/5")] == list(stored)
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
        ["cascade", "--stored", "none.json", "--add", "1/2"],
        ["cascade", "--stored", "none.json"],
        ["cascade", "--stored", "none.json", "--add", "1/2", "--n", 5],
        ["cascade", "--stored", "none.json", "--add", "1/2", "--sensitivity", 2],
        [*ASKED, "--value", 42, "--add", "1/5"],
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
        (["--add", "1/10", "-o", "new.json"], "give --value"),
        (["--add", "1/10", "--value", 57, "-o", "new.json"], "--fingerprint"),
        (["--add", "2/5", "--value", 57, "--fingerprint", "f", "-o", "new.json"], "leave out --value"),
        (["--add", "1/2", "-o", "new.json"], "alpha 1/2 is stored already; see its report with --stored alone"),
        (["--add", "1/2", "--add-epsilon", "2", "-o", "new.json"], "exactly one"),
        (["--value", 57], "leave out --value"),
        (["-o", "copy.json"], "say which level to add"),
        (["--add", "1/10", "--value", 571, "--fingerprint", "f", "-o", "new.json"], "say --clamp"),
    ):
        told = run("cascade", "--stored", "r.json", *words)
        assert_one_good_error(told)
        assert needed in told.err
        assert "57" not in told.err


def test_no_level_is_drawn_twice_from_one_state(run):  # noqa: F811
    """What is added must be kept, and what is kept is not overwritten by chance."""
    run(*ASKED, "--value", 42, "--fingerprint", "f", "-o", "r.json")
    before = Path("r.json").read_bytes()
    for more in (["--add", "9/10"], ["--add", "1/10", "--value", 42, "--fingerprint", "f", "--json"]):
        told = run("cascade", "--stored", "r.json", *more)
        assert_one_good_error(told)
        assert "give -o" in told.err
        assert "Nothing was drawn" in told.err
    for words in ([*ASKED, "--value", 42], ["cascade", "--stored", "r.json", "--add", "9/10"]):
        Path("other.json").write_bytes(before)
        told = run(*words, "-o", "other.json")
        assert_one_good_error(told)
        assert "other.json exists" in told.err
        assert "--overwrite" in told.err
    assert Path("other.json").read_bytes() == Path("r.json").read_bytes() == before
    told = run("cascade", "--stored", "r.json", "--add", "9/10", "-o", "other.json", "--overwrite", "--json")
    assert "use other.json from now on" in told.err
    assert json.loads(told.out)["levels"][3]["alpha"] == "9/10"
    told = run("cascade", "--stored", "r.json", "--add", "9/10", "-o", "r.json")
    assert (told.code, told.err) == (0, "")
    assert "from now on" not in told.out
    stored = dt.results.CascadeReports.load("r.json")
    assert [*stored][:3] == [*dt.results.CascadeReports.loads(before)]
    assert run("cascade", "--stored", "r.json").out.splitlines()[:6] == str(stored).splitlines()[:6]
    assert run(*ASKED, "--value", 42, "-o", "r.json", "--overwrite").code == 0
    assert len(dt.results.CascadeReports.load("r.json")) == 3


def test_levels_that_are_asked_as_epsilons_stay_so(run):  # noqa: F811
    run("cascade", "--epsilons", "1,1/2", "--n", 50, "--value", 57, "--clamp", "--fingerprint", "f", "-o", "r.json")
    assert run("cascade", "--stored", "r.json", "--add-epsilon", "ln(2)/10", "-o", "r.json").code == 0
    told = run("cascade", "--stored", "r.json", "--add-epsilon", 2, "--value", 50, "--fingerprint", "f", "-o", "r.json")
    assert (
        "the new level costs epsilon <= 1.00001 more" in told.out or "the new level costs epsilon <= 1 more" in told.out
    )
    asked = [level["asked"] for level in json.loads(run("cascade", "--stored", "r.json", "--json").out)["levels"]]
    assert asked == ["epsilon 2", "epsilon 1", "epsilon 1/2", "epsilon ln(2)/10"]


def test_what_mixed_reports_tell_is_what_the_library_says(run):  # noqa: F811
    run("make", "randomized-response", "--n", 9, "--epsilon", 1, "-o", "rr.json")
    told = json.loads(run("shuffled", "rr.json", "--reports", 10_000, "--delta", "1e-6", "--json").out)
    found = dt.sharing.shuffled(dt.load("rr.json"), reports=10_000, delta="1e-6")
    assert told == found.to_dict()
    assert "10000 mixed reports" in run("shuffled", "rr.json", "--reports", 10_000, "--delta", "1e-6").out
    for words in (["rr.json", "--epsilon", 1], ["--delta", "1e-6"]):
        assert_one_good_error(run("shuffled", "--reports", 10, "--delta", "1e-6", *words))


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
