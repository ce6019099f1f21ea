"""The lines of a data set in its database, written and read.

Written: the next line of a chain with its time and its words, a charge within budget and caps. Answers are stored beside their
charge, and checked against their lines before anybody sees them again. Read: what a ledger says of a data set before it is asked
for anything (`Consulted`, in one transaction).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, final

from ..errors import BudgetError, LedgerError
from ..exact import arithmetic
from ..exact.written import did_you_mean
from . import periods
from .chain import (
    Admission,
    Answer,
    DataSetRows,
    Head,
    Totals,
    admission_of,
    canonical,
    digest,
    facts_of,
    link_of,
    question_text,
    salted,
)
from .periods import TOTAL_BITS, Period, fits, rational
from .secret import Secret, fingerprint_of
from .state import State, replay
from .stores import Run, Store
from .terms import Price, Terms, part_given

ENTRIES = "SELECT number, body, hash FROM discreet_entry WHERE name = :name AND number > :after ORDER BY number"
# A data set's row with the proof of the secret, and the last line that there is: that is where the row says, or there was a change.
ENDS = (
    "SELECT salt, count, head, (SELECT proof FROM discreet_ledger), "
    "COALESCE((SELECT max(number) FROM discreet_entry WHERE name = :name), 0) FROM discreet_history WHERE name = :name"
)
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


class Row(NamedTuple):
    """A data set's row: where its history ends, beside the last line that there is, and the ledger's proof of its secret."""

    name: str
    salt: str
    head: Head
    last: int
    proof: str


def row_of(run: Run, name: str, place: str, for_update: str = "") -> Row:
    """A data set's row, locked where a statement says how."""
    found = run(f"{ENDS}{for_update}", name=name) if arithmetic.encodable(name) else []
    if (
        found and for_update and found[0][1] > found[0][4]
    ):  # it waited for the lock, and saw the lines as they were before
        found = run(ENDS, name=name)
    if not found:
        guess = did_you_mean(name, names_of(run)) if isinstance(name, str) else ""
        more = guess or " Make it with create, or list the data sets with show."
        raise LedgerError(f"There is no data set {name!r} in {place}.{more}")
    salt, count, link, proof, last = found[0]
    if (type(count), type(last)) != (int, int):
        raise LedgerError(f"The row of {name!r} cannot be read: the ledger was changed. Bring back a good copy.")
    return Row(name, salt, Head(count, link), last, proof)


def names_of(run: Run) -> list[str]:
    """The names of all data sets."""
    return sorted(name for (name,) in run("SELECT name FROM discreet_history"))


def state_of(run: Run, row: Row, known: State | None) -> State:
    """What the lines of a data set say up to the end that its row has: that is known, or follows from what is known with the lines
    that were added since, or else all lines are followed."""
    if known is not None and known.salt == row.salt and known.count <= row.head.count == row.last:
        try:
            is_new = known.count < row.head.count
            found = replay(run(ENTRIES, name=row.name, after=known.count), known) if is_new else known
            return found.ending(row.head)
        except LedgerError:  # the history is another one by now, and its own lines say what there is to know of it
            pass
    return replay(run(ENTRIES, name=row.name, after=0), State(row.name, row.salt)).ending(row.head)


def insert(run: Run, table: str, **values: str | int) -> None:
    """Write a row."""
    named = ", ".join(f":{column}" for column in values)
    run(f"INSERT INTO discreet_{table} ({', '.join(values)}) VALUES ({named})", **values)


def append(store: Store, state: State, facts: Mapping[str, Any], *, words: str = "", when: str = "") -> State:
    """Add one line to the chain, and its words beside it; what the lines say then. It must follow as for whoever reads it later."""
    name, number, salt = state.name, state.count + 1, secrets.token_hex(16)
    told = {**facts, "number": number, "when": when or state.next_time()}
    told |= {"words": salted(salt, words)} if words else {}
    body = canonical(told)
    link = link_of(state.head, body)
    store.states[name] = after = replay([(number, body, link)], state)  # if it is committed: its end says so
    insert(store.run, "entry", name=name, number=number, body=body, hash=link)
    store.run(
        "UPDATE discreet_history SET count = :count, head = :head WHERE name = :name",
        name=name,
        count=number,
        head=link,
    )
    if words:
        insert(store.run, "words", name=name, number=number, salt=salt, text=words)
    return after


def rows_of(run: Run, row: Row) -> DataSetRows:
    """All rows of a data set, each kind in the order of its lines."""
    told = [
        run(f"SELECT {columns} FROM discreet_{table} WHERE name = :name ORDER BY number", name=row.name)
        for columns, table in (
            ("number, body, hash", "entry"),
            ("charge, number, question, salt, text", "answer"),
            ("number, version, salt, text", "admission"),
            ("number, salt, text", "words"),
        )
    ]
    return DataSetRows(row.name, row.salt, row.head, *told)


def check_part(state: State, part: str | None, parts_as: Mapping[str, Any] | None) -> None:
    """Refuse another way of reading the column of parts than the first, in which people have other parts, and a part that cannot
    be there."""
    name, column = state.name, state.terms.parts
    if not state.reads_alike(parts_as or state.parts_as):
        raise LedgerError(
            f"The column of parts {column} of {name!r} was first read as {reading_words(state.parts_as)}, and here as "
            f"{reading_words(parts_as)}: one person would be in two parts, each with a budget. Nothing was changed: read it as "
            "before, or admit these data as a correction (supersedes), after which every charge counts for every part."
        )
    kind = (state.parts_as or parts_as or {}).get("type")
    if part is not None and not state.corrected and not periods.may_be_part(part, kind):
        wanted = {"date": "a day, as yyyy-mm-dd", "boolean": "true or false", "number": "a whole number"}[str(kind)]
        raise LedgerError(
            f"{arithmetic.show(part)} is no part of {name!r}: in the column {column} a part is {wanted}. Nothing was "
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


def charge(store: Store, state: State, price: Price, facts: dict[str, Any], words: str, part: object = None) -> int:
    """Write a charge if the budget and the caps allow it, of a part or of all of them; returns its line."""
    name, terms = state.name, state.terms
    cost, part = price.under(terms), part_given(terms, part)
    check_part(state, part, facts.get("parts_as"))
    totals, when, show = state.totals(part), state.next_time(), arithmetic.show_amount
    whose = repr(name) if part is None else f"Part {part!r} of {name!r}"
    if cost > totals.left:
        every = part is None and state.parts and not state.corrected
        raise BudgetError(
            f"{whose} has {terms.rho}{show(totals.left)} left of its budget {show(terms.budget)}"
            f"{' in the part that has spent most' if every else ''}, but {_asked(price, cost)} was asked"
            f"{' of every part' if every else ''}. Nothing was charged: ask for less, "
            f"{f'ask about one part ({terms.parts}), ' if every else ''}or stop here.",
            asked=cost,
            left=totals.left,
        )
    found = state.periods(when, part)
    for period in found:
        if cost > period.left:
            raise _capped(whose, cost, period, ahead=when > periods.clock())
    if not all(fits(spent + cost, TOTAL_BITS) for spent in (totals.spent, *(period.spent for period in found))):
        raise LedgerError(
            f"The total of {name!r} would need a number of more than {TOTAL_BITS} bits. Nothing was charged: "
            f"ask for an amount of {terms.measure} that has a denominator in common with earlier ones, such as a decimal."
        )
    told = {"kind": "charge", **price.facts(terms), **facts, **({} if part is None else {"part": part})}
    return append(store, state, told, words=words, when=when).count


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


def stored_answers(run: Run, state: State, question: str) -> Iterator[tuple[int, dict[str, Any], Callable[[], Answer]]]:
    """The charges of a question that were answered, oldest first, each with a way to its answer."""
    for row in run(_OF_QUESTION, name=state.name, question=digest(state.salt, "question", question)):
        charge, charged = row[0], row[3]
        yield charge, facts_of(state.name, charge, charged), partial(_answer, state.name, row, state)


def answer_of(run: Run, name: str, charge: int) -> Answer | None:
    """The stored answer of a charge; None where it has none."""
    rows = run(_OF_CHARGE, name=name, charge=charge)
    return _answer(name, rows[0]) if rows else None


def _answer(name: str, row: Sequence[Any], state: State | None = None) -> Answer:
    charge, salt, text, charged, answered, *end = row
    facts, charging = facts_of(name, charge, answered), facts_of(name, charge, charged)
    if facts.get("commitment") != salted(salt, text):
        raise LedgerError(f"The stored answer of charge {charge} of {name!r} was changed. Use verify.")
    totals = None if state is None else state.totals(charging.get("part"))
    return Answer(text, charge, str(facts.get("when")), True, Head(*end), _paid(charging), totals)


def _paid(facts: Mapping[str, Any]) -> Mapping[str, Fraction]:
    """What the line of a charge says that it cost: an epsilon, a rho, or an epsilon with its rho."""
    told = {measure: rational(facts.get(measure)) for measure in ("epsilon", "rho")}
    return {measure: amount for measure, amount in told.items() if amount is not None}


def store_answer(store: Store, state: State, charge: int, answer: str) -> Answer:
    """Store the answer of a charge, its first, with its salted commitment."""
    name, salt, charged = state.name, secrets.token_hex(16), state.waiting.get(charge)
    if charged is None:
        raise LedgerError(
            f"{name!r} has no charge {charge} that waits for an answer. If it has its answer, ask again to get it; else finish "
            "with what begin gave."
        )
    after = append(store, state, {"kind": "answer", "charge": charge, "commitment": salted(salt, answer)})
    question = str(charged.get("question"))
    insert(store.run, "answer", name=name, charge=charge, number=after.count, question=question, salt=salt, text=answer)
    totals, head = after.totals(charged.get("part")), Head(after.count, after.head)
    return Answer(answer, charge, after.when, False, head, _paid(charged), totals)


@final
@dataclass(frozen=True)
class Consulted:
    """The terms of a data set, its totals, and while the block of `Book.consult` lasts what was admitted and answered."""

    state: State
    secret: Secret
    proof: str  # of the ledger's secret
    run: Run

    @property
    def terms(self) -> Terms:
        """What was agreed."""
        return self.state.terms

    def totals_of(self, part: str | None) -> Totals:
        """What may be spent in all, and what was: of a part, or of the one that has spent most."""
        return self.state.totals(part)

    def check_part(self, part: str | None, parts_as: Mapping[str, Any] | None) -> None:
        """Refuse a part as a charge of it would be refused; `parts_as` is of data that were not admitted."""
        check_part(self.state, part_given(self.terms, part), parts_as)

    def admission(self, version: str) -> Admission | None:
        """How a version was admitted; None when it was not."""
        told = {"version": version} if arithmetic.encodable(version) else None
        return next(self._admitted(" AND a.version = :version", **told), None) if told else None

    def admissions(self) -> list[Admission]:
        """How all versions were admitted, in the order of their lines."""
        return [*self._admitted(" ORDER BY a.number")]

    def _admitted(self, which: str, **values: str) -> Iterator[Admission]:
        for row in self.run(_ADMITTED + which, name=self.state.name, **values):
            yield admission_of(self.state.name, *row)

    def stored(self, question: Mapping[str, Any], admission: int | None) -> Answer | None:
        """The stored answer of a question about an admitted version, or about a table in memory; None when there is none."""
        for _, known, answer in stored_answers(self.run, self.state, question_text(question)):
            if known.get("admission") == admission:
                return answer()
        return None

    def is_admitted(self, admission: Admission, data: str) -> bool:
        """Is this the digest of the file that was admitted? A missing secret, or another one, is refused. It needs no
        transaction, so that a large file may be read meanwhile."""
        return self.fingerprint("admitted", admission.number, data) == admission.fingerprint

    def fingerprint(self, what: str, line: int, data: str) -> str:
        """What a line holds of data, under the secret."""
        return fingerprint_of(self.secret.proved(self.proof), what, self.state.salt, line, data)
