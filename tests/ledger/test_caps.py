"""Caps: exact, in UTC, whatever the clock does; raced for by processes, and found when somebody changes them."""

from __future__ import annotations

import datetime
import json
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import BudgetError, LedgerError
from discreet.ledger import chain, periods
from discreet.ledger.book import Book
from tests import crashes
from tests.ledger.conftest import Place
from tests.profiles import examples

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""

    def set_to(text: str) -> None:
        monkeypatch.setattr(periods, "clock", lambda: f"{text}+00:00")

    set_to("2026-11-30T23:59:59")
    return set_to


def ask(ledger: Book, epsilon: Fraction, question: object = None) -> object:
    asked = {"q": len(ledger.history("town")) if question is None else question}
    return ledger.begin("town", asked, epsilon=epsilon, data="d")


def test_a_month_is_a_month_of_utc(ledger, clock):
    ledger.create("town", 6, relation="add-remove", per={"month": "1/2"})
    ask(ledger, Fraction(1, 3))
    with pytest.raises(
        BudgetError, match=r"1/6 left of the 1/2 .* month 2026-11, in UTC, but 1/5 .* 2026-12-01\.$"
    ) as caught:
        ask(ledger, Fraction(1, 5))
    assert (caught.value.asked, caught.value.left) == (Fraction(1, 5), Fraction(1, 6))
    assert (caught.value.period, caught.value.begins) == ("2026-11", "2026-12-01")
    ask(ledger, Fraction(1, 6))  # to the last bit
    with pytest.raises(BudgetError, match="0 left of the 1/2"):
        ask(ledger, Fraction(1, 2**255))
    (period,) = ledger.balance("town").periods
    assert (period.name, period.cap, period.spent, period.left, period.next) == ("2026-11", HALF, HALF, 0, "2026-12-01")
    clock("2026-12-01T00:00:00")
    (period,) = ledger.balance("town").periods
    assert (period.name, period.spent) == ("2026-12", 0)
    with pytest.raises(BudgetError, match=r"ask for less, or wait .* 2027-01-01 and has no more than 1/2 either"):
        ask(ledger, Fraction(3, 4))
    ask(ledger, HALF)
    assert ledger.balance("town").left == 5
    assert "month 2026-12" in str(ledger.balances())
    ledger.verify("town")


def test_the_longest_wait_is_told(ledger, clock):
    ledger.create("town", 2, per=[("Month", "1/4"), ("quarter", 0.5), ("year", "1/2")])
    assert ledger.terms("town").per == (("year", HALF), ("quarter", HALF), ("month", Fraction(1, 4)))
    ask(ledger, Fraction(1, 4))
    clock("2026-12-02T00:00:00")
    ask(ledger, Fraction(1, 4))
    with pytest.raises(BudgetError, match="in the year 2026"):
        ask(ledger, TENTH)
    clock("2027-01-01T00:00:00")
    ask(ledger, Fraction(1, 4))
    with pytest.raises(BudgetError, match="in the month 2027-01"):
        ask(ledger, TENTH)
    ledger.verify("town")


def test_a_clock_set_back_opens_nothing(ledger, clock):
    """The time is the later of the clock and the last line: neither an earlier month nor the same one twice."""
    ledger.create("town", 6, per={"month": "1/2"})
    ask(ledger, HALF)
    clock("2026-12-31T12:00:00")
    ask(ledger, HALF)
    for back in ("2026-12-01T00:00:00", "2026-10-05T00:00:00", "1970-01-01T00:00:00"):
        clock(back)
        with pytest.raises(
            BudgetError, match=r"2026-12, in UTC \(the last line is dated later than this machine's clock"
        ):
            ask(ledger, TENTH)
        assert ledger.balance("town").periods[0].name == "2026-12"
    clock("2027-01-01T00:00:00")
    ask(ledger, HALF)
    clock("2026-12-31T23:59:59")
    with pytest.raises(BudgetError, match="2027-01"):
        ask(ledger, TENTH)
    times = [entry.when for entry in ledger.history("town")]
    assert times == sorted(times)
    ledger.verify("town")


MONTHS = st.integers(min_value=12 * 1999, max_value=12 * 2003)
STEPS = st.lists(st.tuples(MONTHS, st.integers(1, 28), st.fractions("1/20", "1/2", max_denominator=20)), max_size=12)


@settings(max_examples=examples(25))
@given(STEPS, st.dictionaries(st.sampled_from(["month", "quarter", "year"]), st.fractions("1/4", 1, max_denominator=6)))
def test_caps_are_what_a_calendar_says(tmp_path_factory, steps, caps):
    """Against a plain list of all charges with dates, added up anew for every question."""
    length = {"month": 1, "quarter": 3, "year": 12}
    paid: list[tuple[int, Fraction]] = []
    here = 0
    with Book(tmp_path_factory.mktemp("l") / "l.db") as ledger, pytest.MonkeyPatch.context() as patch:
        patch.setattr(periods, "clock", lambda: "1999-01-01T00:00:00+00:00")
        ledger.create("town", 2, per=caps)
        for k, (months, day, epsilon) in enumerate(steps):
            date = datetime.datetime(months // 12, months % 12 + 1, day, tzinfo=datetime.UTC)
            patch.setattr(periods, "clock", lambda date=date: date.isoformat(timespec="seconds"))
            now = max(months, here)
            sums = {kind: sum(e for m, e in paid if m // length[kind] == now // length[kind]) for kind in caps}
            fits = all(sums[kind] + epsilon <= caps[kind] for kind in caps) and sum(e for _, e in paid) + epsilon <= 2
            try:
                ask(ledger, epsilon, k)
                assert fits
                paid.append((now, epsilon))
                here = now
            except BudgetError:
                assert not fits
        ledger.verify("town")
        assert ledger.balance("town").spent == sum(e for _, e in paid)


@pytest.mark.parametrize(
    "per",
    [
        {"week": 1},
        {"month": 0},
        {"month": "-1"},
        {"month": "7"},
        {"month": "some"},
        {"month": None},
        {3: 1},
        "month",
        3,
        ["month"],
        [("month", 1), ("MONTH", 1)],
        {"month": Fraction(1, 2**256)},
        {"month": float("nan")},
    ],
    ids=str,
)
def test_bad_caps_are_refused(tmp_path, per):
    with Book(tmp_path / "l.db") as ledger:
        with pytest.raises(LedgerError):
            ledger.create("town", 6, per=per)
        assert ledger.datasets() == []


@pytest.mark.parametrize("kind", ["month", "quarter", "year"])
def test_a_period_ends_where_the_next_begins(kind):
    """Day by day over three years, one of them a leap year: the names change on the days that were told before."""
    day = datetime.date(2027, 1, 1)
    told, name, changes = "2027-01-01", "", 0
    while day < datetime.date(2030, 1, 1):
        when = f"{day}T23:59:59+00:00"
        if (now := periods.name_of(kind, when)) != name:
            assert str(day) == told
            assert now > name
            name, changes = now, changes + 1
        told = periods.next_of(kind, when)
        day += datetime.timedelta(days=1)
    assert changes == {"month": 36, "quarter": 12, "year": 3}[kind]
    assert periods.next_of(kind, "9999-12-31T00:00:00+00:00") == "10000-01-01"


@pytest.mark.parametrize("when", ["2026-13-01T00:00:00+00:00", "2026-11-01", "2026-11-01T00:00:00+01:00", "", None, 3])
def test_what_is_no_time(when):
    assert not periods.is_time(when)


def test_processes_race_for_a_cap(ledger, tmp_path):
    ledger.create("town", 6, per={"year": "1/2"})
    raced = crashes.race(ledger, ["town"], Fraction(1, 40), 4, tmp_path)
    assert sum(raced.shares) == 20
    assert ledger.balance("town").periods[0].left == 0
    ledger.verify("town")


def rewritten(place: Place, number: int, **changes: object) -> None:
    """Change facts of a line and compute all hashes anew, as somebody who may write the file can."""
    rows = place.execute("SELECT number, body FROM discreet_entry ORDER BY number")
    link, statements = "0" * 64, []
    for k, body in rows:
        facts = json.loads(body) | (changes if k == number else {})
        text = chain.canonical({key: value for key, value in facts.items() if value is not None})
        link = chain.link_of(link, text)
        quoted = text.replace("'", "''")
        statements.append(f"UPDATE discreet_entry SET body = '{quoted}', hash = '{link}' WHERE number = {k}")
    place.execute(*statements, f"UPDATE discreet_history SET head = '{link}'")


@pytest.mark.parametrize(
    ("changes", "line", "why"),
    [
        ((1, {"per": {"month": "1/4"}}), 2, "charges more than the month 2026-11 had left"),
        ((1, {"per": {"month": "x"}}), 1, "unreadable caps"),
        ((1, {"per": {"week": "1/1"}}), 1, "unreadable caps"),
        ((1, {"version": 2}), 1, "another version"),
        ((1, {"version": None}), 1, "another version"),
        ((1, {"when": "soon"}), 1, "unreadable time"),
        ((2, {"when": "2026-11-01T00:00:00+00:00"}), 2, "dated before"),
        ((3, {"when": "2026-11-30T23:59:59+00:00"}), 3, "charges more than the month"),
        ((3, {"when": "soon"}), 3, "unreadable time"),
        ((3, {"epsilon": "5/8"}), 3, "charges more than the month 2026-12"),
        ((2, {"words": None}), 3, "words that belong to no line"),
        ((3, {"words": "0" * 64}), 3, "lost its words"),
    ],
    ids=str,
)
def test_a_rewritten_chain_is_read_anew(place, ledger, clock, changes, line, why):
    """Even where every hash follows again: what the lines say must agree with itself."""
    ledger.create("town", 6, per={"month": "1/2"})
    ledger.charge("town", epsilon="3/8", what="one")
    clock("2026-12-01T00:00:00")
    ledger.charge("town", epsilon="3/8", what="two")
    kept = ledger.verify("town")
    rewritten(place, changes[0], **changes[1])
    with pytest.raises(LedgerError, match=why) as caught:
        ledger.verify("town")
    assert caught.value.line == line
    with pytest.raises(
        LedgerError, match=r"rewritten|cannot be read|unreadable caps|unreadable time|had left|dated|another version"
    ):
        ledger.verify("town", head=kept)


DAMAGE = {
    "a larger cap": 'UPDATE discreet_entry SET body = replace(body, \'"month":"1/2"\', \'"month":"5/1"\') WHERE number = 1',
    "other words": "UPDATE discreet_words SET text = 'two'",
    "no words": "DELETE FROM discreet_words",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_and_not_charged(place, ledger, clock, damage):
    ledger.create("town", 6, per={"month": "1/2"})
    ledger.charge("town", epsilon="3/8", what="one")
    place.execute(DAMAGE[damage])
    with pytest.raises(LedgerError):
        ledger.verify("town")
    if "://" not in ledger.place:  # a file is audited by every process before its first change
        with Book(ledger.place) as again, pytest.raises(LedgerError, match=r"\.$"):
            again.charge("town", epsilon="1/4", what="more")
    if damage == "a larger cap":  # and by whoever has not followed it before, wherever it is
        with Book(ledger.place if "://" not in ledger.place else place.address) as again:
            for call in (lambda: again.charge("town", epsilon="1/4", what="more"), lambda: again.balance("town")):
                with pytest.raises(LedgerError, match="Line 1 of 'town' was changed"):
                    call()
        with pytest.raises(
            dt.errors.BudgetError, match="1/8 left of the 1/2"
        ):  # who has followed it knows what it said
            ledger.charge("town", epsilon="1/4", what="more")
    if "words" in damage:
        assert "use verify" in ledger.history("town")[1].what


def test_without_its_first_line_nothing_is_known_and_nothing_charged(place, ledger):
    ledger.create("town", 6, per={"month": "1/2"})
    place.execute("DELETE FROM discreet_entry WHERE number = 1")
    with Book(place.address) as again:
        for call in (again.terms, again.balance, lambda name: again.charge(name, epsilon=1, what="x")):
            with pytest.raises(LedgerError, match="Line 1 of 'town' is missing"):
                call("town")


# Stated charges, words


def test_a_stated_charge_says_so(ledger):
    ledger.create("town", 2, relation="add-remove")
    left = ledger.charge("town", epsilon="1/3", what="  a histogram, drawn elsewhere ")
    assert (left.left, left.pending) == (Fraction(5, 3), 0)
    ledger.charge("town", alpha="1/2", what="half as likely")
    assert Fraction("0.69314718055") < ledger.balance("town").spent - Fraction(1, 3) < Fraction("0.693147180561")
    lines = ledger.history("town")
    assert lines[1].what == "stated, unverified: a histogram, drawn elsewhere"
    assert lines[1].rows()[0] | {"when": ""} == {
        "line": 2,
        "when": "",
        "kind": "charge",
        "epsilon": "1/3",
        "what": lines[1].what,
    }
    told = ledger.export("town")
    assert told["entries"][1]["entry"]["basis"] == "stated, unverified"
    assert "histogram" not in json.dumps(told)
    opened = ledger.export("town", words=True)["entries"][1]
    assert chain.salted(opened["salt"], opened["what"]) == opened["entry"]["words"]
    assert len(opened["salt"]) == 32  # 128 bits
    with pytest.raises(LedgerError, match="no charge 2"):
        ledger.finish(chain.Pending("town", 2), "an answer")
    with pytest.raises(BudgetError):
        ledger.charge("town", epsilon=1, what="too much")
    for bad in (
        {"epsilon": 0},
        {"epsilon": "1/2", "alpha": "1/2"},
        {},
        {"epsilon": "1/2", "what": ""},
        {"epsilon": 1, "what": "a\nb"},
        {"epsilon": 1, "what": 3},
        {"epsilon": 1, "what": "x" * 1001},
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            ledger.charge("town", **{"what": "x", **bad})
    assert ledger.verify("town").count == 3


def test_history_says_what_was_asked(tmp_path):
    pytest.importorskip("duckdb")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"g": ["a", "b"] * 30, "x": [1, 2, 3] * 20})
    with Book(tmp_path / "l.db") as ledger:
        ledger.create("town", "7/3", relation="add-remove", per={"year": "2"})
        ledger.begin("town", {"q": 1}, epsilon=Fraction(1, 7), data="d")
        dt.Ledger(tmp_path / "l.db")["town"].release(
            table,
            count={"few": "x < 2", "x > 2": "x > 2"},
            by=["g"],
            domain={"g": ["a", "b"]},
            epsilon="1/3",
            version="2026-01",
        )
        what = [entry.what for entry in ledger.history("town")]
        assert what[0] == (
            "budget 7/3, at most 2 a year, relation add-remove (protects whether a person is in the data), no public columns, "
            "each row is one person"
        )
        assert what[1] == "no words were kept"
        for part in ("x < 2", "few", "x > 2", "by g", "2 groups", "version 2026-01", "epsilon 0.333334"):
            assert part in what[2], part
        assert what[3] == "the answer of line 3"
        assert "x < 2" not in json.dumps(ledger.export("town"))
        ledger.verify("town")


def test_the_command_line_states_charges_and_caps(tmp_path, capsys, monkeypatch):
    from discreet.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(["ledger", *words, "--ledger", "budget.db"])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    made = run(
        "create", "town", "--budget", "6", "--per", "month", "1/2", "--per", "year", "2", "--relation", "add-remove"
    )
    assert made[0] == 0
    assert "at most 2 a year, at most 1/2 a month" in made[1]
    code, out, _ = run("charge", "town", "--epsilon", "1/4", "--what", "a histogram, drawn elsewhere")
    assert code == 0
    assert "1/4 of 1/2 left in the month" in out
    code, _, err = run("charge", "town", "--epsilon", "1/3", "--what", "more")
    assert code == 2
    assert re.search(r"1/4 left of the 1/2 .* begins on \d{4}-\d\d-01", err)
    (line,) = json.loads(run("history", "town", "--json")[1])[1:]
    assert (line["epsilon"], line["what"]) == ("1/4", "stated, unverified: a histogram, drawn elsewhere")
    assert re.search(r"epsilon +what *\n", run("history", "town")[1])  # nothing stands between them
    assert json.loads(run("show", "--json")[1])[0]["left by caps"].startswith("7/4 of 2 left in the year")
    assert run("verify", "town")[0] == 0
    assert '"what": "a histogram, drawn elsewhere"' in run("export", "town", "--words")[1]
    assert run("create", "t", "--budget", "1", "--per", "week", "1", "--relation", "change-one")[0] == 2
