"""What the command line says before it pays: corrections for whoever holds the data, and one question on a terminal."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dt
from discreet.cli import terminal

from .test_cli import assert_one_good_error, run, survey  # noqa: F401  # fixtures

WRONG = ["--count", "education = 'High' and income > 50000"]


@pytest.fixture
def asked(survey):  # noqa: F811
    """The options of a release whose condition is misspelt."""
    at = survey.index("--count")
    return [*survey[:at], *WRONG, *survey[at + 2 :]]


@pytest.fixture
def typed(monkeypatch):
    """Somebody at a terminal who answers."""

    def answer(text):
        monkeypatch.setattr(terminal, "is_interactive", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return answer


def spent():
    with dt.Ledger("b.db") as book:
        return book["s"].balance().spent


def test_check_alone_pays_nothing(run, survey, asked):  # noqa: F811
    before = Path("b.db").read_bytes()
    told = run("release", *asked, "--check", "-o", "out.csv")
    assert (told.code, told.err) == (1, "")
    assert "For you alone, not for publication." in told.out
    assert "true of no row in a group" in told.out
    assert "'high'" not in told.out
    assert "It would charge epsilon 1/2 of 1 left" in told.out
    found = json.loads(run("release", *asked, "--check", "--json").out)
    assert [finding["what"] for finding in found["findings"]] == ["key that no row has", "condition"]
    right = run("release", *survey, "--check")
    assert (right.code, right.err) == (0, "")
    assert "nothing to correct" in right.out
    assert "keep it if your public list has it; its noisy zero is part of the table" in right.out  # of the key x
    assert Path("b.db").read_bytes() == before
    assert not Path("out.csv").exists()
    assert_one_good_error(run("release", *survey, "--check", "--yes"))
    assert_one_good_error(run("release", *survey, "--check", "--by", "nowhere"))


def test_without_a_terminal_nothing_is_asked_or_compared(run, asked):  # noqa: F811
    told = run("release", *asked, "-o", "out.csv")
    assert (told.code, told.err) == (0, "")
    assert json.loads(Path("out.json").read_text())["record"]["checked"] is None
    assert spent() == Fraction(1, 2)


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "maybe\n"])
def test_on_a_terminal_only_a_yes_pays(run, asked, typed, answer):  # noqa: F811
    typed(answer)
    before = Path("b.db").read_bytes()
    told = run("release", *asked, "-o", "out.csv")
    assert (told.code, told.out) == (1, "")
    assert "true of no row in a group" in told.err
    assert "Pay 1/2 of 1? [y/N]" in told.err
    assert told.err.endswith("Not paid: nothing was drawn or charged.\n")
    assert Path("b.db").read_bytes() == before
    assert not Path("out.csv").exists()


def test_on_a_terminal_a_yes_pays_once(run, survey, typed):  # noqa: F811
    typed("y\n")
    told = run("release", *survey, "-o", "out.csv")
    assert told.code == 0
    assert told.err.count("Pay 1/2 of 1? [y/N]") == 1
    assert "Pay" not in told.out
    assert json.loads(Path("out.json").read_text())["record"]["checked"] == "checked against the data before payment"
    assert "checked against the data before payment" in Path("out.html").read_text()
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0
    again = run("release", *survey)  # stored: there is nothing to pay, and nothing is asked
    assert (again.code, again.err) == (0, "")
    assert spent() == Fraction(1, 2)


def test_on_a_terminal_yes_is_not_asked(run, asked, typed):  # noqa: F811
    typed("")
    told = run("release", *asked, "--yes", "-o", "out.csv")
    assert told.code == 0
    assert "true of no row in a group" in told.err, "it is said all the same"
    assert "Pay" not in told.err
    assert json.loads(Path("out.json").read_text())["record"]["checked"]


def test_a_script_that_says_yes_has_what_is_asked_about_otherwise(run):  # noqa: F811
    """A part that no row names is refused where parts are public, with the advice to say --yes: then it must be drawn."""
    Path("births.csv").write_text("month,sex,ill\n2026-01,f,yes\n2026-02,m,no\n")
    Path("keys.json").write_text('{"sex": ["f", "m"]}')
    at = ["--ledger", "p.db"]
    terms = ["--budget", "2", "--relation", "change-one", "--public", "sex,month", "--parts", "month"]
    assert run("ledger", "create", "births", *terms, *at).code == 0
    assert run("admit", "births.csv", "--dataset", "births", *at).code == 0
    asked = ["births.csv", "--dataset", "births", "--count", "ill = 'yes'", "--by", "sex", "--domain", "keys.json", *at]
    asked += ["--part", "2026-1"]
    for words in (
        ["release", *asked, "--epsilon", "1/2"],
        ["release-to", *asked, "--audience", "a=1/2", "--audience", "b=1/4"],
    ):
        refused = run(*words)
        assert_one_good_error(refused)
        assert "--yes" in refused.err
        told = run(*words, "--yes", "-o", f"{words[0]}.csv")
        assert (told.code, "Pay" in told.err) == (0, False)


def test_what_caps_leave_is_said_where_it_is_paid(run, typed):  # noqa: F811
    Path("town.csv").write_text("sex\nf\nm\n")
    at = ["--ledger", "p.db"]
    assert (
        run("ledger", "create", "town", "--budget", "20", "--relation", "add-remove", "--per", "year", "4", *at).code
        == 0
    )
    assert run("admit", "town.csv", "--dataset", "town", *at).code == 0
    asked = ["town.csv", "--dataset", "town", "--epsilon", "1", *at]
    for left, paid, counted in ((4, "y\n", "*"), (3, "n\n", "sex = 'f'")):
        typed(paid)
        told = run("release", *asked, "--count", counted)
        year = dt.Ledger("p.db")["town"].balance().periods[0].name
        assert f"Pay 1 of {left} ({left} of 4 left in the year {year})? [y/N]" in told.err


def test_a_part_is_named_where_it_is_paid_for(run, typed):  # noqa: F811
    Path("births.csv").write_text("month,sex\n2026-01,f\n2026-02,m\n")
    Path("keys.json").write_text('{"sex": ["f", "m"]}')
    made = run(
        "ledger",
        "create",
        "births",
        "--budget",
        "2",
        "--relation",
        "add-remove",
        "--parts",
        "month",
        "--ledger",
        "p.db",
    )
    assert "parts by month, each with this budget" in made.out
    assert run("admit", "births.csv", "--dataset", "births", "--ledger", "p.db").code == 0
    asked = ["births.csv", "--dataset", "births", "--count", "*", "--by", "sex", "--domain", "keys.json"]
    asked += ["--epsilon", "1/2", "--ledger", "p.db"]
    typed("y\n")
    told = run("release", *asked, "--part", "2026-01", "-o", "january.csv")
    assert "Pay 1/2 of 2 for part 2026-01? [y/N]" in told.err
    assert run("check-release", "january.json", "--ledger", "p.db").code == 0
    typed("n\n")
    told = run("release", *asked, "--part", "2026-1")
    assert "no row names it" in told.err
    told = run("release", *asked)
    assert "Pay 1/2 of 3/2 for every part? [y/N]" in told.err
    shown = json.loads(run("ledger", "show", "births", "--ledger", "p.db", "--json").out)
    assert [(row["part"], row["left"]) for row in shown] == [("", "3/2"), ("2026-01", "3/2"), ("(any other)", "2")]
    charged = run(
        "ledger", "charge", "births", "--epsilon", "2", "--what", "x", "--part", "2026-02", "--ledger", "p.db"
    )
    assert "2 of 2 spent, 0 left in part 2026-02" in charged.out
    assert run("ledger", "verify", "births", "--ledger", "p.db").code == 0
    terms = ["--budget", "2", "--relation", "change-one", "--public", "sex", "--parts", "month", "--ledger", "p.db"]
    refused = run("ledger", "create", "moving", *terms)
    assert_one_good_error(refused)
    assert "one person may change" in refused.err


def test_a_preview_compares_too(run, asked):  # noqa: F811
    told, same = run("preview", *asked, "--check"), run("release", *asked, "--check")
    assert (told.code, told.out) == (1, same.out)
    assert spent() == 0


def to_audiences(options):
    """The options of a release for two audiences, whose larger epsilon is 1/2."""
    at = options.index("--epsilon")
    return [*options[:at], "--audience", "office=1/2", "--audience", "all=1/4", *options[at + 2 :]]


def test_audiences_are_compared_before_they_are_paid_for(run, survey, asked, typed):  # noqa: F811
    told = run("release-to", *to_audiences(asked), "--check")
    assert (told.code, told.err) == (1, "")
    assert "true of no row in a group" in told.out
    assert "It would charge epsilon 1/2 of 1 left" in told.out
    assert_one_good_error(run("release-to", *to_audiences(asked), "--check", "--mechanism", "uniform"))
    typed("n\n")
    refused = run("release-to", *to_audiences(asked), "-o", "for.csv")
    assert (refused.code, refused.out, spent()) == (1, "", 0)
    assert "Pay 1/2 of 1? [y/N]" in refused.err
    assert not Path("for-all.csv").exists()
    typed("y\n")
    assert run("release-to", *to_audiences(survey), "-o", "for.csv").code == 0
    assert json.loads(Path("for-all.json").read_text())["record"]["checked"]
    assert spent() == Fraction(1, 2)


def test_what_was_not_read_is_said_beside_an_answer_for_machines(run, survey):  # noqa: F811
    assert run("release", *survey).err == ""
    for form in ("--json", "--csv"):
        again = run("release", *survey, form)
        assert again.err.endswith("this is the answer stored for version 1, at no charge. A file is not read again.\n")
        assert "not read again" not in again.out


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"y\n", 0)])
def test_a_real_terminal(run, asked, answer, code):  # noqa: F811
    import pty

    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "discreet", "release", *asked], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the terminal was closed at the other end
            break
        if not part:
            break
        if b"[y/N]" in text + part and b"[y/N]" not in text:
            os.write(ours, answer)
        text += part
    os.close(ours)
    assert child.wait() == code
    assert b"Pay 1/2 of 1? [y/N]" in text
    assert (b"Charged epsilon 1/2" in text) is (code == 0)


def test_a_bar_makes_room_for_a_question(monkeypatch):
    """While somebody is asked nothing else is written."""
    from rich.console import Console

    out = io.StringIO()
    monkeypatch.setattr(terminal, "Console", lambda stderr: Console(file=out, force_terminal=True))
    with terminal.progress("working") as bar:
        bar.bar.start()
        with bar.paused():
            assert not bar.bar.live.is_started
            assert not bar.shown.is_alive()
        assert bar.shown.is_alive()
    assert not bar.shown.is_alive()


@pytest.mark.parametrize("budget", [("--rho", "1/5", "--delta", "0.5"), ("--rho", "1e9", "--delta", "1e-9")])
def test_terms_that_hardly_protect_are_named_before_they_are_fixed(run, typed, budget):  # noqa: F811
    words = ["ledger", "create", "wide", *budget, "--relation", "add-remove", "--ledger", "p.db"]
    typed("n\n")
    told = run(*words)
    assert told.code == 2
    assert "Fix these terms for good? [y/N]" in told.err
    is_delta = budget[-1] == "0.5"
    assert ("Delta 0.5 is large" in told.err) is is_delta
    assert ("promises hardly anything: epsilon " in told.err) is not is_delta
    assert not Path("p.db").exists()
    typed("y\n")
    assert run(*words).code == 0
    assert dt.Ledger("p.db")["wide"].terms.delta in (Fraction(1, 2), Fraction(1, 10**9))


def test_terms_that_protect_are_fixed_without_a_question(run, typed):  # noqa: F811
    typed("")
    at = ["--relation", "add-remove", "--ledger", "p.db"]
    for name, *budget in (("a", "--budget", "6"), ("b", "--rho", "1/5", "--delta", "1e-9")):
        told = run("ledger", "create", name, *budget, *at)
        assert (told.code, told.err) == (0, "")
