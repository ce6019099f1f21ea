"""Ctrl+C at any moment: no traceback, exit code 130, one line that says what was written, and a ledger that holds."""

from __future__ import annotations

import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dt
import discreet.files as files
import discreet.ledger.book as ledgers
import discreet.tables.release as releasing
import discreet.tables.saved.release_files as saving
from discreet.cli import main
from discreet.ledger.sqlite import Sqlite

from .test_cli import Told, run, survey  # noqa: F401  (fixtures)


class Stopped:
    """A function that is stopped by Ctrl+C, before or after it did its work, when it is called for the n-th time."""

    def __init__(self, real, after=False, call=1):
        self.real, self.after, self.left = real, after, call

    def __call__(self, *given, **named):
        self.left -= 1
        if self.left == 0 and not self.after:
            signal.raise_signal(signal.SIGINT)
        found = self.real(*given, **named)
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return found


def told_once(told: Told) -> str:
    assert told.code == 130
    assert "Traceback" not in told.err
    (line,) = told.err.splitlines()
    assert line.startswith("discreet: stopped. ")
    return line.removeprefix("discreet: stopped. ")


def ledger_says(name="s", place="b.db"):
    with dt.Ledger(place) as book:
        balance = book[name].balance()
        return balance.spent, balance.pending


CHARGED = (
    "What was charged until then stands: see discreet ledger history. A stored answer is given again free of charge. "
)
NOT_WRITTEN = f"{CHARGED}out.csv was not written."


@pytest.mark.parametrize(
    ("where", "name", "after", "stands"),
    [
        (releasing, "_counted", False, (0, 0)),  # before the data are read
        (ledgers.Book, "begin", False, (0, 0)),
        (ledgers, "charge_line", True, (0, 0)),  # written, and not committed
        (ledgers.Book, "begin", True, (Fraction(1, 2), 1)),
        (releasing, "_draw", False, (Fraction(1, 2), 1)),
        (releasing, "_draw", True, (Fraction(1, 2), 1)),
        (ledgers.Book, "finish", False, (Fraction(1, 2), 1)),
        (ledgers.Book, "finish", True, (Fraction(1, 2), 0)),
        (saving, "write_together", False, (Fraction(1, 2), 0)),
        (
            files.os,
            "link",
            True,
            (Fraction(1, 2), 0),
        ),  # one of the files is there
    ],
)
def test_a_release_that_is_stopped_leaves_what_stands(run, survey, monkeypatch, where, name, after, stands):  # noqa: F811
    words = ("release", *survey, "-o", "out.csv")
    with monkeypatch.context() as patch:
        stop = Stopped(getattr(where, name), after)
        patch.setattr(where, name, (lambda self, *a, **k: stop(self, *a, **k)) if isinstance(where, type) else stop)
        assert told_once(run(*words)) == NOT_WRITTEN
        assert stop.left == 0, "it was stopped where it was meant to be"
    assert not Path("out.csv").exists()
    assert not list(Path().glob(".*out*")), "nothing half written is left"
    spent, pending = ledger_says()
    assert (spent, pending) == stands
    again = run(*words)  # what the line says of asking again is true
    assert again.code == 0
    assert ledger_says() == ((spent, 0) if spent and not pending else (spent + Fraction(1, 2), pending))


@pytest.mark.parametrize("after", [False, True])
def test_stopped_at_the_commit_itself(run, survey, monkeypatch, after):  # noqa: F811
    real, real_line, armed = Sqlite.run, ledgers.charge_line, []

    def line(*given, **named):
        armed.append(True)
        return real_line(*given, **named)

    def commit(self, sql, **named):
        if sql != "COMMIT" or len(armed) != 1:
            return real(self, sql, **named)
        armed.append(True)
        found = real(self, sql, **named) if after else []
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(ledgers, "charge_line", line)
    monkeypatch.setattr(Sqlite, "run", commit)
    told = told_once(run("release", *survey, "-o", "out.csv"))
    assert len(armed) == 2
    assert told == NOT_WRITTEN
    assert ledger_says()[0] == (Fraction(1, 2) if after else 0)


def test_a_stated_charge_that_is_stopped(run, survey, monkeypatch):  # noqa: F811
    for after, spent in ((False, 0), (True, Fraction(1, 8))):
        stop = Stopped(ledgers.Book.note_charge, after)
        with monkeypatch.context() as patch:
            patch.setattr(ledgers.Book, "note_charge", lambda self, *a, stop=stop, **k: stop(self, *a, **k))
            told = run("ledger", "charge", "s", "--epsilon", "1/8", "--what", "elsewhere", "--ledger", "b.db")
            assert told_once(told) == CHARGED.strip()
        assert ledger_says() == (spent, 0)


def test_stopped_after_everything_was_written(run, survey, monkeypatch):  # noqa: F811
    import discreet.cli.terminal as terminal

    monkeypatch.setattr(terminal, "show", Stopped(terminal.show))
    assert told_once(run("release", *survey, "-o", "out.csv")) == f"{CHARGED}out.csv was written, all of it."
    assert run("check-release", "out.json", "--ledger", "b.db").code == 0


def test_a_stored_answer_that_is_not_written_costs_nothing(run, survey, monkeypatch):  # noqa: F811
    assert run("release", *survey).code == 0
    monkeypatch.setattr(files, "_stage", Stopped(files._stage))
    assert told_once(run("release", *survey, "-o", "out.csv")) == NOT_WRITTEN
    assert ledger_says() == (Fraction(1, 2), 0)


def test_a_library_that_makes_an_error_of_it(run, survey, monkeypatch):  # noqa: F811
    """DuckDB, NumPy and others turn an interrupt into an error of theirs; it is a stop all the same."""

    def swallowed(*_: object, **__: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr(releasing, "_counted", swallowed)
    assert told_once(run("release", *survey, "-o", "out.csv")) == NOT_WRITTEN


def test_without_a_ledger_nothing_is_said_of_charges(run, monkeypatch):  # noqa: F811
    monkeypatch.setattr(files, "_stage", Stopped(files._stage))
    assert (
        told_once(run("make", "geometric", "--n", "4", "--alpha", "1/2", "--out=m.json")) == "m.json was not written."
    )
    Path("m.json").write_text("{}")
    monkeypatch.setattr(files, "_stage", Stopped(files._stage))
    assert (
        told_once(run("make", "geometric", "--n", "4", "--alpha", "1/2", "-o", "m.json")) == "m.json was not written."
    )
    assert Path("m.json").read_text() == "{}"
    monkeypatch.setattr(files, "_stage", Stopped(files._stage, call=3))
    assert told_once(run("demo", "-o", "out")) == "What is in out may not be all of it; run it again."


def test_perturbing(run, monkeypatch):  # noqa: F811
    Path("ages.csv").write_text("age\n" + "3\n4\n" * 20)
    assert run("make", "geometric", "--n", "8", "--epsilon", "1/8", "-o", "g.json").code == 0
    assert run("ledger", "create", "s", "--budget", "9", "--relation", "change-one", "--ledger", "b.db").code == 0
    assert run("admit", "ages.csv", "--dataset", "s", "--ledger", "b.db").code == 0
    words = (
        "perturb",
        "ages.csv",
        "--column",
        "age",
        "-m",
        "g.json",
        "-o",
        "noisy.csv",
        "--dataset",
        "s",
        "--ledger",
        "b.db",
        "--on-bad",
        "map=0",
    )
    for after in (False, True):
        stop = Stopped(ledgers.Book.finish, after)
        with monkeypatch.context() as patch:
            patch.setattr(ledgers.Book, "finish", lambda self, *a, stop=stop: stop(self, *a))
            assert told_once(run(*words)) == f"{CHARGED}noisy.csv was not written."
    assert run(*words).code == 0
    assert ledger_says() == (2, 1)


def test_from_the_first_moment_on(tmp_path):
    """A process of its own that is stopped at the import of each module that the command line loads: no traceback of ours."""
    code = (
        "import builtins, signal, sys\n"
        "from discreet.cli import main\n"
        "real, left = builtins.__import__, [int(sys.argv[1])]\n"
        "def counted(*given, **named):\n"
        "    left[0] -= 1\n"
        "    if left[0] == 0:\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "    return real(*given, **named)\n"
        "builtins.__import__ = counted\n"
        "main(['design', '--n', '3', '--alpha', '1/2', '-o', 'best.json'])\n"
    )
    seen = set()
    for at in (1, 2, 3, 5, 9, 40, 400, 1500):
        ended = subprocess.run(
            [sys.executable, "-c", code, str(at)], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert (ended.returncode, ended.stdout) == (130, ""), ended.stderr
        seen.add(ended.stderr)
    assert seen == {"discreet: stopped before anything was done.\n", "discreet: stopped. best.json was not written.\n"}
    assert not list(tmp_path.iterdir())


def test_the_exit_code_of_others_is_theirs(run):  # noqa: F811
    """The control: nothing was stopped, so nothing is said of it."""
    assert run("make", "geometric", "--n", "4").code == 2
    with pytest.raises(SystemExit) as ended:
        main(["make", "geometric", "--n", "4", "--alpha", "1/2", "-o", "m.json"])
    assert ended.value.code == 0
