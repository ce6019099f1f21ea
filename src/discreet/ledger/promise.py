"""What exactly is promised to the people in a data set: one page for whoever must answer for it, with the ledger's numbers.

docs/promise.md is its general form. Both have the same headings in the same order, and the sentences here that hold for every data
set stand there word by word (tests/ledger/test_promise.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any

import flint

from ..exact.arithmetic import ball, certified_ceil, float_above, show_above, show_amount, show_delta
from ..exact.concentrated import epsilon_above
from ..present.views import Result, View
from .balances import Balance
from .chain import STATED
from .history import Entry
from .periods import MONTHS
from .terms import Terms

HEADINGS = (
    "What is promised",
    "The whole budget",
    "Pacing",
    "What adds up",
    "What is not promised",
)
DEFINITION = (
    "Differential privacy: whatever is published from these data, singly or all together, is at most e^epsilon times as likely as "
    "it would be if one person were changed, whatever a reader knows besides."
)
CHANGED = {
    "change-one": "Changed means: the private attributes of one person are other ones (relation change-one). That a person is in "
    "the data, and in which group, is not protected.",
    "add-remove": "Changed means: one person is in the data or is not (relation add-remove). Everything about a person is "
    "protected, including whether they took part.",
}
PERSON = "The privacy unit, called a person here, is everything with one value of {unit}."
TWICE = (
    "Facts about somebody who is known to be in the data are protected less, with twice the epsilon, because replacing an answer "
    "by another is two changes: one record is removed, another is added."
)
A_ROW = "One person, the privacy unit, is one row: somebody with k rows has k times the epsilon."
PROVED = "This is proved in whole numbers. There is no small probability with which it fails (no delta)."
# The same where the terms are concentrated (rho and delta)
WITH_DELTA = (
    "Differential privacy with a delta: every event, in all that is published from these data together, is at most e^epsilon times "
    "as likely as it would be if one person were changed, plus delta, whatever a reader knows besides."
)
TWICE_RHO = (
    "Facts about somebody who is known to be in the data are protected less, with four times the rho, because replacing an answer "
    "by another is two changes: one record is removed, another is added."
)
A_ROW_RHO = "One person, the privacy unit, is one row: for somebody with k rows rho is k^2 times as large."
PROVED_RHO = (
    "This is proved in whole numbers, or by a theorem about rational weights; epsilon follows from rho and delta, rounded up. "
    "Delta is added to a probability: it is not the probability that something else is revealed."
)
ENDS_HERE = "if it ends here by a rule fixed beforehand"
PARTS = (
    "Each part by {column} has this budget; what is spent is that of the part that has spent most. The promise holds for whoever "
    "is in one part alone: that nobody is in another part in another version of the data is stated, not checked."
)
PACING = "A cap paces spending and promises no privacy: the promise is the whole budget."
ADDS_UP = (
    "Releases: the epsilons of everything that was ever published from the same people add up.",
    "Years: a new version of the data spends the same budget, which belongs to the people and not to the file.",
    "Corrections: the release that corrects another is paid for again. What it corrects stays published, and both add up.",
    "Several persons: a group of k people is protected with k times the epsilon, that is, less.",
)
ADDS_UP_RHO = (
    "Releases: the rhos of everything that was ever published from the same people add up, whatever was chosen after earlier "
    "releases were seen.",
    *ADDS_UP[1:3],
    "Several persons: a group of k people is protected with k^2 times the rho, from which epsilon follows.",
)
NOT_PROMISED = (
    "Facts about groups: what follows about a person from everybody else's data can be learned with or without them.",
    "The operator: nothing holds against whoever can read the data, or the ledger together with its secret.",
    "Other data sets: the same people under another name, or in another ledger, have another budget, and the sum of both counts.",
    "Other ways: data can leak through logs, letters or people who talk; that is not counted here.",
    "That epsilon is small enough: that is a decision, not a theorem.",
)
BEFORE = tuple(Fraction(x) for x in ("1/100", "1/10", "1/2"))  # how sure somebody may be beforehand
_LARGE = tuple((Decimal(10) ** k, name) for k, name in ((12, "trillion"), (9, "billion"), (6, "million")))
_FLOATS = 700  # e^x is a float up to here
_NINES = 12  # digits after the point up to which a share is told from 100 %


def odds_factor(epsilon: Fraction) -> str:
    """e^epsilon for people, rounded up: by so much the odds between two neighbouring data sets change at most.

    >>> odds_factor(Fraction(1, 2)), odds_factor(Fraction(20)), odds_factor(Fraction(1000))
    ('1.649', '490 million', '10^435')
    """
    if epsilon > _FLOATS:
        return f"10^{certified_ceil(lambda: ball(epsilon) / flint.arb(10).log())}"
    above = Decimal(repr(float_above(lambda: ball(epsilon).exp())))
    with localcontext() as context:
        context.rounding = ROUND_CEILING
        if above >= 10**15:
            return f"10^{certified_ceil(lambda: ball(epsilon) / flint.arb(10).log())}"
        if above < 1000:
            return str(above.quantize(Decimal("0.001")))
        context.prec = 2
        short = +above
        for size, name in _LARGE:
            if short >= size:
                return f"{(short / size).normalize():f} {name}"
        return f"{short:,.0f}"


def sure_afterwards(before: Fraction, epsilon: Fraction) -> str:
    """How sure somebody can be of a statement about one person afterwards, at most, in per cent and rounded up: Bayes' rule with
    odds that grow by e^epsilon. As many digits as tell it from 100.

    >>> sure_afterwards(Fraction(1, 10), Fraction(1, 2)), sure_afterwards(Fraction(1, 10), Fraction(20))
    ('15.5 %', '99.999999 %')
    """
    if not epsilon:
        return f"{math.ceil(before * 1000) / 10} %"
    if epsilon > _FLOATS:
        return "100 %"

    def share() -> flint.arb:
        """In per cent."""
        return 100 * ball(before) / (ball(before) + ball(1 - before) * (-ball(epsilon)).exp())

    for digits in range(1, _NINES + 1):
        scaled = certified_ceil(lambda: share() * 10**digits)  # noqa: B023 - called at once; irrational by Lindemann's theorem
        if scaled < 100 * 10**digits:
            return f"{Decimal(scaled).scaleb(-digits)} %"
    return "100 %"


def beyond(epsilon: Fraction, rho: Fraction) -> str:
    """How probable it is, at most and rounded up, that the odds change by more than e^epsilon under a budget of rho:
    exp(-(epsilon - rho)^2 / (4 rho)), from the moments of the privacy loss (Bun and Steinke 2016). It is no delta.

    >>> beyond(Fraction(2), Fraction(14, 250))
    '4.8e-08'
    """
    if not rho or epsilon <= rho:
        return "0" if not rho else "1"
    return show_above(float_above(lambda: (-ball((epsilon - rho) ** 2 / (4 * rho))).exp()), 2)


@dataclass(frozen=True)
class Odds:
    """What an amount of the budget does to odds: an epsilon, which under concentrated terms follows from rho and delta."""

    epsilon: Fraction
    rho: Fraction | None = None

    @classmethod
    def of(cls, terms: Terms, amount: Fraction, times: int = 1) -> Odds:
        """Of so much of the budget, `times` changes apart: then epsilon is as many times as large, and rho that squared
        (Bun and Steinke 2016, proposition 1.9)."""
        if terms.delta is None:
            return cls(times * amount)
        return cls(epsilon_above(times**2 * amount, terms.delta), times**2 * amount)

    @property
    def shown(self) -> str:
        return show_amount(self.epsilon) if self.rho is None else show_above(float(self.epsilon))

    def words(self) -> str:
        """The factor, and what becomes of a suspicion."""
        sure = f"{odds_factor(self.epsilon)}: a suspicion of 10 % becomes at most {sure_afterwards(BEFORE[1], self.epsilon)}"
        return (
            sure
            if self.rho is None
            else f"{sure}, except with a probability of at most {beyond(self.epsilon, self.rho)}"
        )

    def row(self) -> dict[str, Any]:
        """The same as cells of a table."""
        return {
            **({} if self.rho is None else {"rho": show_amount(self.rho)}),
            "epsilon": self.shown,
            "odds change by at most": odds_factor(self.epsilon),
            **({} if self.rho is None else {"more with probability at most": beyond(self.epsilon, self.rho)}),
            **{f"{before * 100} % becomes at most": sure_afterwards(before, self.epsilon) for before in BEFORE},
        }


@dataclass(frozen=True, repr=False)
class Promise(Result):
    """What is promised to the people in a data set, with its numbers: the whole budget first, caps second, and where it ends.

    `stated` is what was charged for reports that were drawn elsewhere, as somebody stated.
    """

    terms: Terms
    balance: Balance
    stated: Fraction = Fraction(0)

    def definition(self) -> list[str]:
        """Differential privacy in one sentence, and who and what is protected in this data set."""
        unit, pure = self.terms.unit, self.terms.delta is None
        person = PERSON.format(unit=unit) if unit is not None else A_ROW if pure else A_ROW_RHO
        changed = CHANGED[self.terms.relation]
        return [DEFINITION, changed, person, PROVED] if pure else [WITH_DELTA, changed, person, PROVED_RHO]

    def whole(self) -> list[str]:
        """The promise in odds."""
        budget, spent, delta, rho = self.balance.budget, self.balance.spent, self.terms.delta, self.terms.rho
        most = "" if self.terms.parts is None else " in the part that has spent most"
        promised = f"epsilon {Odds.of(self.terms, budget).shown}"
        promised += "" if delta is None else f" with delta {show_delta(delta)} (rho {show_amount(budget)})"
        left = f"What is left, {rho}{show_amount(self.balance.left)}, may still be spent."
        ends = f"{ENDS_HERE[0].upper()}{ENDS_HERE[1:]}, that is epsilon {Odds.of(self.terms, spent).shown} with this delta. "
        return [
            f"The promise is the whole budget: {promised} for everything that is ever published from "
            f"{self.terms.name}. {self._odds(budget)}",
            f"Spent so far{most}: {rho}{show_amount(spent)}. {'' if delta is None else ends}{left}",
            *([] if self.terms.parts is None else [PARTS.format(column=self.terms.parts)]),
        ]

    def _odds(self, amount: Fraction) -> str:
        """What an amount does to odds. Where presence is protected, an attribute has two changes between its values."""
        about = "that one person is in the data" if self._twice else "of a statement about one person"
        once = f"It changes the odds {about} by a factor of at most {Odds.of(self.terms, amount).words()}."
        twice = TWICE if self.terms.delta is None else TWICE_RHO
        return (
            f"{once} {twice} These odds change by at most {Odds.of(self.terms, amount, 2).words()}."
            if self._twice
            else once
        )

    @property
    def _twice(self) -> bool:
        return self.terms.relation == "add-remove"

    def pacing(self) -> list[str]:
        """Caps, which come second."""
        if not self.terms.per:
            return ["There is no cap: all of the budget may be spent on one day."]
        rho = self.terms.rho
        paced = [f"At most {rho}{show_amount(cap)} is spent in a {kind} (UTC)." for kind, cap in self.terms.per]
        kind = self.terms.per[0][0]  # the longest period; shorter ones may leave less of it
        most = min(cap * (MONTHS[kind] // MONTHS[shorter]) for shorter, cap in self.terms.per)
        periods = math.ceil(self.balance.budget / most)
        after = f"After {periods} {kind}{'s' if periods > 1 else ''} all of {rho}{show_amount(self.balance.budget)} may be spent."
        return [*paced, PACING, after]

    def limits(self) -> list[str]:
        """Where the promise ends."""
        stated = (
            f"What was charged elsewhere: {self.terms.rho}{show_amount(self.stated)} was stated, and the ledger believes it."
            if self.stated
            else "What was charged elsewhere: the ledger believes what is stated; nothing was so far."
        )
        public = ", ".join(self.terms.public) or "there are none"
        columns = "Public columns" if self.terms.relation == "add-remove" else "Public columns, and the sizes of groups"
        small = NOT_PROMISED[-1]
        small = small if self.terms.delta is None else small.replace("epsilon is", "epsilon and delta are")
        return [NOT_PROMISED[0], f"{columns}: {public}.", *NOT_PROMISED[1:-1], stated, small]

    def sections(self) -> dict[str, list[str]]:
        """Every heading with its sentences, in the order in which they are read."""
        adds_up = ADDS_UP if self.terms.delta is None else ADDS_UP_RHO
        texts = [self.definition(), self.whole(), self.pacing(), list(adds_up), self.limits()]
        return dict(zip(HEADINGS, texts, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """How sure somebody can be afterwards, after the whole budget and after what is spent so far; where presence is protected,
        that one person is in the data, and after twice as much what is true of somebody who is known to be."""
        ends = "" if self.terms.delta is None else f", {ENDS_HERE}"
        spent = [("the whole budget", self.balance.budget), (f"what is spent so far{ends}", self.balance.spent)]
        known = "facts about somebody known to be in the data: "
        twice = "twice " if self.terms.delta is None else "two changes, "
        changes = [(1, ""), (2, f"{known}{twice}")][: 1 + self._twice]
        return [
            {"after": f"{word}{what}", **Odds.of(self.terms, amount, times).row()}
            for times, word in changes
            for what, amount in spent
        ]

    def words(self) -> str:
        """The page as plain text."""
        return str(self)

    def view(self) -> View:
        parts = []
        for heading, sentences in self.sections().items():
            shown = View.of("\n".join([heading, *sentences]), self.rows() if heading == HEADINGS[1] else [])
            parts.append(shown)
        return View(f"{self.terms.name}: what is promised to the people in it", parts=tuple(parts))

    def to_dict(self) -> dict[str, Any]:
        """Terms, amounts as exact texts, and every sentence by its heading."""
        return {
            "terms": self.terms.to_dict(),
            **{name: str(getattr(self.balance, name)) for name in ("budget", "spent", "left")},
            "stated": str(self.stated),
            "odds": self.rows(),
            "promise": self.sections(),
        }

    def to_html(self) -> str:
        """The page for people, as a file that needs nothing else."""
        from html import escape

        from ..present.html import page, section, table

        told = self.rows()
        odds = table(
            [*told[0]], [[escape(str(x)) for x in row.values()] for row in told], [False, *[True] * (len(told[0]) - 1)]
        )
        body = f"<h1>{escape(self.terms.name)}: what is promised to the people in it</h1>"
        for heading, sentences in self.sections().items():
            body += f"\n<h2>{heading}</h2>" + "".join(section(View(text)) for text in sentences)
            body += odds if heading == HEADINGS[1] else ""
        return page(f"{self.terms.name}: what is promised", body)


def promise_of(terms: Terms, balance: Balance, history: Sequence[Entry]) -> Promise:
    """The page of a data set, by what its ledger says."""
    stated = (entry.charged or Fraction(0) for entry in history if entry.facts.get("basis") == STATED)
    return Promise(terms, balance, sum(stated, Fraction(0)))
