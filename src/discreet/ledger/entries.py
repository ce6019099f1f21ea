"""The lines of a data set in its database, written and read.

Written: the next line of a chain with its time and its words, a charge within budget and caps.
Answers are stored beside their charge, and checked against their lines before anybody sees them again. Read: what a ledger
says of a data set before it is asked for anything (`Consulted`, in one transaction), and of the last charge of this process, for
whoever stops it (`Charged`).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, final

from ..errors import BudgetError, LedgerError
from ..exact import arithmetic
from . import periods
from .balances import Balance
from .chain import (
    SPENT,
    START,
    STATED,
    Account,
    Admission,
    Answer,
    Head,
    Pending,
    Terms,
    Totals,
    admission_of,
    bad,
    canonical,
    digest,
    facts_of,
    link_of,
    question_text,
    salted,
    terms_of,
    total_of,
)
from .periods import TOTAL_BITS, Period, Running, fits, rational_text
from .prices import Price
from .secret import Secret, fingerprint_of
from .stores import Rows, Run, Store
from .terms import part_given

ENTRIES = "SELECT number, body, hash FROM discreet_entry WHERE name = :name"
_ADMITTED = (
    "SELECT a.number, e.body, a.salt, a.text FROM discreet_admission a "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name"
)
_LONGEST = 1000  # characters of what somebody writes about a charge
_STORED = (
    "SELECT a.charge, a.salt, a.text, c.body, e.body, e.number, e.hash FROM discreet_answer a "
    "JOIN discreet_entry c ON c.name = a.name AND c.number = a.charge "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name AND "
)
# The answers of one question, the one that was stored first at the front, so that it stays the one that is repeated.
_OF_QUESTION = f"{_STORED} a.question = :question ORDER BY a.number"
_OF_CHARGE = f"{_STORED} a.charge = :charge"

# The answers that this process could not store, by the charge that stands for each; of ledgers by place and data set.
_unstored: dict[tuple[str, str], dict[int, str]] = {}


def append(
    run: Run,
    account: Account,
    facts: dict[str, Any],
    *,
    words: str = "",
    spent: Fraction | None = None,
    running: Running | None = None,
    when: str | None = None,
) -> dict[str, Any]:
    """Add one line to the chain, and its words beside it; move the data set's totals with it."""
    number, salt = account.count + 1, secrets.token_hex(16)
    facts = {**facts, "number": number, "when": when or time_of(run, account)}
    facts |= {"words": salted(salt, words)} if words else {}
    body = canonical(facts)
    link = link_of(account.head, body)
    run(
        "INSERT INTO discreet_entry (name, number, body, hash) VALUES (:name, :number, :body, :hash)",
        name=account.name,
        number=number,
        body=body,
        hash=link,
    )
    run(
        "UPDATE discreet_data_set SET count = :number, head = :hash, spent = :spent, running = :running WHERE name = :name",
        name=account.name,
        number=number,
        hash=link,
        spent=account.spent if spent is None else rational_text(spent),
        running=account.running if running is None else running.text,
    )
    if words:
        run(
            "INSERT INTO discreet_words (name, number, salt, text) VALUES (:name, :number, :salt, :text)",
            name=account.name,
            number=number,
            salt=salt,
            text=words,
        )
    return facts


def lines_of(run: Run, name: str) -> tuple[Rows, Rows, Rows, Rows]:
    """All rows of a data set: its lines, answers, admissions and words, each in the order of its lines."""
    entries = run(f"{ENTRIES} ORDER BY number", name=name)
    answers = run(
        "SELECT charge, number, question, salt, text FROM discreet_answer WHERE name = :name ORDER BY number",
        name=name,
    )
    admissions = run(
        "SELECT number, version, salt, text FROM discreet_admission WHERE name = :name ORDER BY number", name=name
    )
    words = run("SELECT number, salt, text FROM discreet_words WHERE name = :name ORDER BY number", name=name)
    return entries, answers, admissions, words


def time_of(run: Run, account: Account) -> str:
    """The time of the next line: the later of the clock and the last line."""
    now = periods.clock()
    if not account.count:
        return now
    last = line_of(run, account, account.count)
    when = facts_of(account.name, account.count, last and last[1]).get("when")
    if not periods.is_time(when):
        bad(account.name, account.count, "has an unreadable time")
    return max(now, str(when))


def line_of(run: Run, account: Account, number: int) -> tuple[Any, ...] | None:
    """A line of a data set: number, body and hash; None where there is none. What was read with the account is not read again."""
    for line in (*account.first, *account.end):
        if line[0] == number:
            return line
    rows = run(f"{ENTRIES} AND number = :number", name=account.name, number=number)
    return rows[0] if rows else None


def agreed(run: Run, account: Account) -> Terms:
    """The terms in the line that made the data set, whose hash must follow: caps are stored nowhere else. It is the first, or
    for one that was removed and made anew the one after its removal."""
    begun = account.begun
    first, before = line_of(run, account, begun), START if begun == 1 else _hash_of(run, account, begun - 1)
    if first is None:
        bad(account.name, begun, "is missing")
    _, body, link = first
    facts = facts_of(account.name, begun, body)
    if link_of(before, body) != link or (begun > 1 and facts.get("kind") != "create"):
        bad(account.name, begun, "was changed: its hash does not follow")
    return terms_of(facts)


def _hash_of(run: Run, account: Account, number: int) -> str:
    line = line_of(run, account, number)
    return "" if line is None else str(line[2])


def running_of(account: Account, terms: Terms) -> Running:
    """The totals of a data set's row beside the whole sum."""
    found = Running.of(account.running, terms.per)
    if found is None:
        raise LedgerError(f"A total of {account.name!r} cannot be read: the ledger was changed. Use verify.")
    return found


def balance_of(account: Account, terms: Terms, when: str, settled: int, part: object) -> Balance:
    """What a data set has spent and left at a time, of a part or of the one that has spent most; `settled`
    lines are those of admissions, and of charges with their answers."""
    running, part = running_of(account, terms), part_given(terms, part)
    budget, spent = total_of(account.name, account.budget), total_of(account.name, account.spent)
    pending = account.count - running.begun - settled - running.stated
    counted, found = running.counted(spent, part), running.periods(terms.per, when, part)
    if part is not None or terms.parts is None or running.corrected:
        return Balance(budget, counted, budget - counted, pending, found, part, delta=terms.delta)
    by_part = tuple((each, running.counted(spent, each)) for each in sorted(running.parts))
    others = running.counted(spent, "")  # of a part without charges of its own: no part has this name
    return Balance(budget, counted, budget - counted, pending, found, None, by_part, others, terms.delta)


def check_part(terms: Terms, running: Running, part: str | None, parts_as: Mapping[str, Any] | None) -> None:
    """Refuse another way of reading the column of parts than the first, in which people have other parts, and a part that cannot
    be there."""
    if not running.reads_alike(parts_as or running.parts_as):
        raise LedgerError(
            f"The column of parts {terms.parts} of {terms.name!r} was first read as {reading_words(running.parts_as)}, and here as "
            f"{reading_words(parts_as)}: one person would be in two parts, each with a budget. Nothing was changed: read it as "
            "before, or admit these data as a correction (supersedes), after which every charge counts for every part."
        )
    kind = (running.parts_as or parts_as or {}).get("type")
    if part is not None and not running.corrected and not periods.may_be_part(part, kind):
        wanted = {"date": "a day, as yyyy-mm-dd", "boolean": "true or false", "number": "a whole number"}[str(kind)]
        raise LedgerError(
            f"{arithmetic.show(part)} is no part of {terms.name!r}: in the column {terms.parts} a part is {wanted}. Nothing was "
            "charged: write the part as the column has it."
        )


def reading_words(parts_as: Mapping[str, Any] | None) -> str:
    """A way of reading the column of parts, for people.

    >>> reading_words({"type": "date", "form": "dd.mm.yyyy"})
    'date (form dd.mm.yyyy)'
    """
    told = dict(parts_as or {"type": "text"})
    kind = told.pop("type", "text")
    said = ", ".join(f"{name} {value}" for name, value in sorted(told.items()))
    return f"{kind} ({said})" if said else str(kind)


def charge(run: Run, account: Account, price: Price, facts: dict[str, Any], words: str, part: object = None) -> int:
    """Write a charge if the budget and the caps allow it, of a part or of all of them; returns its line."""
    name, terms = account.name, agreed(run, account)
    cost = price.under(terms)
    budget, spent, running = total_of(name, account.budget), total_of(name, account.spent), running_of(account, terms)
    part = part_given(terms, part)
    check_part(terms, running, part, facts.get("parts_as"))
    running = running.having_read(facts.get("parts_as"))
    counted = running.counted(spent, part)
    total, left = counted + cost, budget - counted
    whose = repr(name) if part is None else f"Part {part!r} of {name!r}"
    if total > budget:
        every = part is None and running.parts and not running.corrected
        raise BudgetError(
            f"{whose} has {terms.rho}{arithmetic.show_amount(left)} left of its budget {arithmetic.show_amount(budget)}"
            f"{' in the part that has spent most' if every else ''}, but {_asked(price, cost)} was asked"
            f"{' of every part' if every else ''}. Nothing was charged: ask for less, "
            f"{f'ask about one part ({terms.parts}), ' if every else ''}or stop here.",
            asked=cost,
            left=left,
        )
    when = time_of(run, account)
    for period in running.periods(terms.per, when, part):
        if cost > period.left:
            raise _capped(whose, cost, period, ahead=when > periods.clock())
    stated = facts.get("basis") == STATED
    after = running.charged(terms.per, when, cost, stated=stated, part=part)
    own, in_periods = after.parts.get(part or "", (Fraction(0), ()))
    if not all(fits(x, TOTAL_BITS) for x in (total, own, *(x for *_, x in (*after.spent, *in_periods)))):
        raise LedgerError(
            f"The total of {name!r} would need a number of more than {TOTAL_BITS} bits. Nothing was charged: "
            f"ask for an amount of {terms.measure} that has a denominator in common with earlier ones, such as a decimal."
        )
    facts = {"kind": "charge", **price.facts(terms), **facts, **({} if part is None else {"part": part})}
    most = max(spent, total)
    return int(append(run, account, facts, words=words, spent=most, running=after, when=when)["number"])


def _asked(price: Price, cost: Fraction) -> str:
    """What was asked for, with what it costs where that is something else."""
    asked = arithmetic.show_rational(price.amount)
    return asked if cost == price.amount else f"{price} (rho {arithmetic.show_rational(cost)})"


def _capped(whose: str, cost: Fraction, period: Period, *, ahead: bool) -> BudgetError:
    show = arithmetic.show_rational
    at_most = f" and has no more than {show(period.cap)} either" if cost > period.cap else ""
    less = "ask for less, or " if period.left else ""
    time = " (the last line is dated later than this machine's clock, and so its time counts)" if ahead else ""
    return BudgetError(
        f"{whose} has {show(period.left)} left of the {show(period.cap)} that may be spent in the {period.kind} {period.name}, "
        f"in UTC{time}, but {show(cost)} was asked. Nothing was charged: {less}wait for the "
        f"next {period.kind}, which begins on {period.next}{at_most}.",
        asked=cost,
        left=period.left,
        period=period.name,
        begins=period.next,
    )


def words_given(what: object) -> str:
    """What somebody writes about a charge: some words, in one line."""
    if not isinstance(what, str) or not what.strip() or len(what) > _LONGEST or not what.isprintable():
        raise LedgerError(
            f"Say in one line of up to {_LONGEST} characters what is charged for, such as "
            'what="a histogram of ages". Nothing was charged.'
        )
    return what.strip()


def stored_answers(
    run: Run, account: Account, question: str
) -> Iterator[tuple[int, dict[str, Any], Callable[[], Answer]]]:
    """The charges of a question that were answered, oldest first, each with a way to its answer."""
    for row in run(_OF_QUESTION, name=account.name, question=digest(account, "question", question)):
        charge, charged = row[0], row[3]
        yield charge, facts_of(account.name, charge, charged), partial(_answer, account.name, row, account)


def answer_of(run: Run, name: str, charge: int) -> Answer | None:
    """The stored answer of a charge; None where it has none."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    return _answer(name, rows[0]) if rows else None


def report_of(run: Run, name: str, charge: int) -> dict[str, Any] | None:
    """The stored report of a charge for a single one; None where it has none, or was for something else."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    if not rows:
        return None
    text, charged = _answer(name, rows[0]).text, facts_of(name, charge, rows[0][3])
    return dict(json.loads(text)) if charged.get("basis") == SPENT else None


def _answer(name: str, row: Sequence[Any], account: Account | None = None) -> Answer:
    charge, salt, text, charged, answered, *end = row
    facts, charging_facts = facts_of(name, charge, answered), facts_of(name, charge, charged)
    part = charging_facts.get("part")
    totals = None if account is None else account.totals_of(part)
    if facts.get("commitment") != salted(salt, text):
        raise LedgerError(f"The stored answer of charge {charge} of {name!r} was changed. Use verify.")
    paid = _paid(name, charging_facts)
    return Answer(text, charge, str(facts.get("when")), repeated=True, head=Head(*end), paid=paid, totals=totals)


def _paid(name: str, facts: Mapping[str, Any]) -> Mapping[str, Fraction]:
    """What the line of a charge says that it cost: an epsilon, a rho, or an epsilon with its rho."""
    return {measure: total_of(name, str(facts[measure])) for measure in ("epsilon", "rho") if measure in facts}


def store_answer(run: Run, account: Account, charge: int, answer: str) -> Answer:
    """Store the answer of a charge, its first, with its salted commitment."""
    name, salt, facts = account.name, secrets.token_hex(16), _charged(run, account, charge)
    if facts.get("kind") != "charge" or facts.get("basis") == STATED:
        raise LedgerError(f"{name!r} has no charge {charge}. Finish with what begin gave.")
    told = append(run, account, {"kind": "answer", "charge": charge, "commitment": salted(salt, answer)})
    first = run(
        "INSERT INTO discreet_answer (name, charge, number, question, salt, text) "
        "VALUES (:name, :charge, :number, :question, :salt, :text) ON CONFLICT (name, charge) DO NOTHING RETURNING charge",
        name=name,
        charge=charge,
        number=told["number"],
        question=str(facts.get("question")),
        salt=salt,
        text=answer,
    )
    if not first:  # the transaction is undone, with the line
        raise LedgerError(f"Charge {charge} of {name!r} already has its answer. Ask again to get it.")
    head = Head(told["number"], link_of(account.head, canonical(told)))
    totals = account.totals_of(facts.get("part"))
    return Answer(answer, charge, told["when"], repeated=False, head=head, paid=_paid(name, facts), totals=totals)


@contextmanager
def keeping(place: str, pending: Pending, answer: str) -> Iterator[None]:
    """Keep an answer in this process when it could not be stored, until it is. Before, it is its own thread's alone: another one
    that asks the same meanwhile would take its place, and storing it would be refused."""
    mine = _unstored.setdefault((place, pending.name), {})
    try:
        yield
    except BaseException:
        mine[pending.charge] = answer
        raise
    mine.pop(pending.charge, None)


def kept_answer(
    run: Run, account: Account, place: str, question: str, fingerprint: Callable[[int], str]
) -> Answer | None:
    """The answer of a charge for this question about these data that could not be stored before: now it is. Digests are salted
    and fingerprints keyed by ledger, so that no other one at the same place is taken for it."""
    for charge, answer in list(_unstored.get((place, account.name), {}).items()):  # other threads add to it
        facts = _charged(run, account, charge)
        if (facts.get("question"), facts.get("fingerprint")) == (question, fingerprint(charge)):
            return replace(store_answer(run, account, charge, answer), repeated=True)
    return None


def _charged(run: Run, account: Account, charge: int) -> dict[str, Any]:
    """The content of a charge's line."""
    line = line_of(run, account, charge)
    return {} if line is None else facts_of(account.name, charge, line[1])


# What a ledger says when nothing is to be written


@final
@dataclass(frozen=True)
class Consulted:
    """The terms of a data set, its totals, and while the block of `Ledger.consult` lasts what was admitted and answered."""

    account: Account
    terms: Terms
    secret: Secret
    run: Run

    @property
    def totals(self) -> Totals:
        """What may be spent in all, and what was."""
        return self.account.totals

    def totals_of(self, part: str | None) -> Totals:
        """The same of a part."""
        return self.account.totals_of(part)

    def check_part(self, part: str | None, parts_as: Mapping[str, Any] | None) -> None:
        """Refuse a part as a charge of it would be refused; `parts_as` is of data that were not admitted."""
        check_part(self.terms, running_of(self.account, self.terms), part_given(self.terms, part), parts_as)

    def admission(self, version: str) -> Admission | None:
        """How a version was admitted; None when it was not."""
        return read_admission(self.run, self.account.name, version) if arithmetic.encodable(version) else None

    def admissions(self) -> list[Admission]:
        """How all versions were admitted, in the order of their lines."""
        rows = self.run(f"{_ADMITTED} ORDER BY a.number", name=self.account.name)
        return [admission_of(self.account.name, *row) for row in rows]

    def stored(self, question: Mapping[str, Any], admission: int | None) -> Answer | None:
        """The stored answer of a question about an admitted version, or about a table in memory; None when there is none."""
        for _, known, answer in stored_answers(self.run, self.account, question_text(question)):
            if known.get("admission") == admission:
                return answer()
        return None

    def is_admitted(self, admission: Admission, data: str) -> bool:
        """Is this the digest of the file that was admitted? A missing secret, or another one, is refused. It needs no
        transaction, so that a large file may be read meanwhile."""
        key = self.secret.proved(self.account.proof)
        return fingerprint_of(key, "admitted", self.account.salt, admission.number, data) == admission.fingerprint


def read_admission(run: Run, name: str, version: str) -> Admission | None:
    """How a version of a data set was admitted; None when it was not."""
    rows = run(f"{_ADMITTED} AND a.version = :version", name=name, version=version)
    return admission_of(name, *rows[0]) if rows else None


@dataclass(frozen=True)
class Charged:
    """A charge that was written, or about to be, and how to open its ledger anew: the one that wrote it may be closed by now."""

    pending: Pending
    make: Callable[[], Store]

    def stands(self) -> str:
        """What became of it, in words: asked of the ledger itself."""
        line = f"Charge {self.pending.charge} of {self.pending.name!r} stands"
        try:
            facts, answer = self._line_and_answer()
        except Exception:  # the ledger cannot be asked now
            return f"Whether {self.pending.name!r} was charged cannot be seen now: look at its history before you ask again."
        if facts.get("kind") != "charge":
            return "Nothing was charged."
        if facts.get("basis") == STATED:
            return f"{line}."
        if answer is None:
            return f"{line}, and no answer to it was stored: nothing was shown, and asking again is charged again."
        return f"{line}, and its answer is stored: ask the same again to get it, free of charge."

    def _line_and_answer(self) -> tuple[dict[str, Any], Answer | None]:
        """What its line says, if it is there, and its answer."""
        name, charge = self.pending.name, self.pending.charge
        store = self.make()
        try:
            with store.transaction() as run:
                lines = run(f"{ENTRIES} AND number = :charge", name=name, charge=charge)
                return facts_of(name, charge, lines[0][1]) if lines else {}, answer_of(run, name, charge)
        finally:
            store.close()


_last: list[Charged] = []


def charging(pending: Pending, make: Callable[[], Store]) -> Pending:
    """Remember a charge, just before it is committed."""
    _last[:] = [Charged(pending, make)]
    return pending


def last_charge() -> Charged | None:
    return _last[0] if _last else None


def forget() -> None:
    """Forget the last charge."""
    _last.clear()
