"""Writing lines: the terms of a data set, the next line of a chain with its time and its words, a charge within budget and caps."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..errors import BudgetError, LedgerError
from ..exact import arithmetic
from . import periods
from .amounts import TOTAL_BITS, chargeable, fits, rational_text
from .chain import START, STATED, Account, Terms, bad, canonical, facts_of, link_of, salted, terms_of, total_of
from .periods import Period, Running, read_caps
from .stores import Run

ENTRIES = "SELECT number, body, hash FROM discreet_entry WHERE name = :name"
_LONGEST = 1000  # characters of what somebody writes about a charge


def terms_given(name: Any, budget: Any, relation: Any, public: Any, unit: Any, per: Any) -> dict[str, Any]:
    """The terms of a data set as someone writes them, checked before they are fixed for good: what its first line will say."""
    total = arithmetic.parse_exact(budget)
    if total is None or not chargeable(total):
        raise LedgerError(f'A budget must be a positive rational such as "1" or "1/2", not {arithmetic.show(budget)}.')
    if relation not in ("change-one", "add-remove"):
        raise LedgerError(f'A relation must be "change-one" or "add-remove", not {arithmetic.show(relation)}.')
    if (
        isinstance(public, str)
        or not isinstance(public, Sequence)
        or not all(isinstance(c, str) for c in public)
        or len({*public}) < len(public)
    ):
        raise LedgerError("Public columns must be a list of different names, such as ['district'].")
    if relation == "add-remove" and public:
        raise LedgerError("Under add-remove privacy nothing about a person is public; leave out the public columns.")
    if not (isinstance(name, str) and 0 < len(name) <= 200 and name.isprintable()):
        raise LedgerError("A data set's name must have 1 to 200 printable characters. Choose another one.")
    if unit is not None and not isinstance(unit, str):
        raise LedgerError("A unit must be the name of a column, or None.")
    caps = {kind: rational_text(cap) for kind, cap in read_caps(per, total)}
    facts = {"name": name, "budget": rational_text(total), "relation": relation, "public": list(public), "unit": unit}
    return facts | ({"per": caps} if caps else {})


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
    for line in account.lines:
        if line[0] == number:
            return line
    rows = run(f"{ENTRIES} AND number = :number", name=account.name, number=number)
    return rows[0] if rows else None


def agreed(run: Run, account: Account) -> Terms:
    """The terms in the first line, whose hash must follow: caps are stored nowhere else."""
    first = line_of(run, account, 1)
    if first is None:
        bad(account.name, 1, "is missing")
    _, body, link = first
    if link_of(START, body) != link:
        bad(account.name, 1, "was changed: its hash does not follow")
    return terms_of(facts_of(account.name, 1, body))


def running_of(account: Account, terms: Terms) -> Running:
    """The totals of a data set's row beside the whole sum."""
    found = Running.of(account.running, terms.per)
    if found is None:
        raise LedgerError(f"A total of {account.name!r} cannot be read: the ledger was changed. Use verify.")
    return found


def charge(run: Run, account: Account, epsilon: Fraction, facts: dict[str, Any], words: str) -> int:
    """Write a charge if the budget and the caps allow it; returns its line."""
    name, terms = account.name, agreed(run, account)
    budget, spent = total_of(name, account.budget), total_of(name, account.spent)
    total, left = spent + epsilon, budget - spent
    if total > budget:
        raise BudgetError(
            f"{name!r} has {arithmetic.show_rational(left)} left of its budget {arithmetic.show_rational(budget)}, but "
            f"{arithmetic.show_rational(epsilon)} was asked. Nothing was charged: ask for less, or stop here.",
            asked=epsilon,
            left=left,
        )
    when, running = time_of(run, account), running_of(account, terms)
    for period in running.periods(terms.per, when):
        if epsilon > period.left:
            raise _capped(name, epsilon, period, ahead=when > periods.clock())
    after = running.charged(terms.per, when, epsilon, stated=facts.get("basis") == STATED)
    if not all(fits(x, TOTAL_BITS) for x in (total, *(sum_ for *_, sum_ in after.spent))):
        raise LedgerError(
            f"The total of {name!r} would need a number of more than {TOTAL_BITS} bits. Nothing was charged: "
            "ask for an epsilon that has a denominator in common with earlier ones, such as a decimal."
        )
    facts = {"kind": "charge", "epsilon": rational_text(epsilon), **facts}
    return int(append(run, account, facts, words=words, spent=total, running=after, when=when)["number"])


def _capped(name: str, epsilon: Fraction, period: Period, *, ahead: bool) -> BudgetError:
    show = arithmetic.show_rational
    at_most = f" and has no more than {show(period.cap)} either" if epsilon > period.cap else ""
    less = "ask for less, or " if period.left else ""
    time = " (the last line is dated later than this machine's clock, and so its time counts)" if ahead else ""
    return BudgetError(
        f"{name!r} has {show(period.left)} left of the {show(period.cap)} that may be spent in the {period.kind} {period.name}, "
        f"in UTC{time}, but {show(epsilon)} was asked. Nothing was charged: {less}wait for the "
        f"next {period.kind}, which begins on {period.next}{at_most}.",
        asked=epsilon,
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


def check_epsilon(epsilon: object) -> None:
    if not (isinstance(epsilon, Fraction) and chargeable(epsilon)):
        raise LedgerError("An epsilon to charge must be a positive Fraction whose parts are below 2^256. Round it up.")
