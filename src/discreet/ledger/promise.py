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

from ..exact.arithmetic import ball, certified_ceil, float_above, show_amount
from ..present.views import Result, View
from .chain import STATED, Balance, Entry, Terms, total_of
from .periods import MONTHS

HEADINGS = (
    "What is promised",
    "The whole budget",
    "Pacing, which is no promise",
    "What adds up",
    "What is not promised",
)
DEFINITION = (
    "Differential privacy: nothing that is published from these data, and not all of it together, is more than e^epsilon times as "
    "likely as it would be if one person were changed, whatever a reader knows besides."
)
CHANGED = {
    "change-one": "Changed means: the private attributes of one person are other ones (relation change-one). That a person is in "
    "the data, and in which group, is not protected.",
    "add-remove": "Changed means: one person is in the data or is not (relation add-remove). Everything about a person is "
    "protected, also that they took part.",
}
PERSON = "One person, the privacy unit, is everything with one value of {unit}."
TWICE = (
    "Two records of one person are two changes apart, one out and the other in: what is true of somebody who is known to be in the "
    "data is hidden by twice the epsilon."
)
A_ROW = "One person, the privacy unit, is one row: somebody with k rows has k times the epsilon."
PROVED = "This is proved in whole numbers. There is no small probability with which it fails (no delta)."
PARTS = (
    "Each part by {column} has this budget; what is spent is that of the part that has spent most. The promise holds for whoever "
    "is in one part alone: that nobody is in another part in another version of the data is stated, not checked."
)
PACING = "A cap paces spending and promises no privacy: the promise is the whole budget."
ADDS_UP = (
    "Releases: the epsilons of everything that was ever published from the same people add up.",
    "Years: a new version of the data spends the same budget, which belongs to the people and not to the file.",
    "Several persons: for k people who change together the promise is k times epsilon.",
)
NOT_PROMISED = (
    "Facts about groups: what follows about a person from everybody else's data can be learned with or without them.",
    "The operator: nothing holds against whoever can read the data, or the ledger together with its secret.",
    "Other data sets: the same people under another name, or in another ledger, have another budget, and the sum of both counts.",
    "Other ways: data may get out by a log, a letter or somebody who talks; that is not counted here.",
    "That epsilon is small enough: that is a decision, not a theorem.",
)
_UNITS = (
    ("One person, the privacy unit,", "One unit"),
    ("one person", "one unit"),
    ("a person", "a unit"),
    ("somebody who is known", "a unit that is known"),
    ("that they took part", "that it took part"),
    ("Several persons: for k people who change together", "Several units: for k units that change together"),
    ("with or without them", "with or without it"),
    ("from the same people", "from the same units"),
    ("the same people under", "the same units under"),
    ("belongs to the people and", "belongs to the units and"),
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


def _factor_and_suspicion(epsilon: Fraction) -> str:
    return f"{odds_factor(epsilon)}: a suspicion of 10 % becomes at most {sure_afterwards(BEFORE[1], epsilon)}"


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
        unit = self.terms.unit
        person = A_ROW if unit is None else PERSON.format(unit=unit)
        return [DEFINITION, CHANGED[self.terms.relation], person, PROVED]

    def whole(self) -> list[str]:
        """The promise in odds."""
        budget, spent = self.balance.budget, self.balance.spent
        most = "" if self.terms.parts is None else " in the part that has spent most"
        return [
            f"The promise is the whole budget: epsilon {show_amount(budget)} for everything that is ever published from "
            f"{self.terms.name}. {self._odds(budget)}",
            f"Spent so far{most}: {show_amount(spent)}. What is left, {show_amount(self.balance.left)}, may still be spent.",
            *([] if self.terms.parts is None else [PARTS.format(column=self.terms.parts)]),
        ]

    def _odds(self, epsilon: Fraction) -> str:
        """What epsilon does to odds. Where presence is protected, an attribute has two changes between its values."""
        about = "that one person is in the data" if self._twice else "of a statement about one person"
        once = f"It changes the odds {about} by a factor of at most {_factor_and_suspicion(epsilon)}."
        return (
            f"{once} {TWICE} These odds change by at most {_factor_and_suspicion(2 * epsilon)}."
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
        paced = [f"At most {show_amount(cap)} is spent in a {kind} (UTC)." for kind, cap in self.terms.per]
        kind = self.terms.per[0][0]  # the longest period; shorter ones may leave less of it
        most = min(cap * (MONTHS[kind] // MONTHS[shorter]) for shorter, cap in self.terms.per)
        periods = math.ceil(self.balance.budget / most)
        after = f"After {periods} {kind}{'s' if periods > 1 else ''} all of {show_amount(self.balance.budget)} may be spent."
        return [*paced, PACING, after]

    def limits(self) -> list[str]:
        """Where the promise ends."""
        stated = (
            f"What was charged elsewhere: {show_amount(self.stated)} was stated, and the ledger believes it."
            if self.stated
            else "What was charged elsewhere: the ledger believes what is stated; nothing was so far."
        )
        public = ", ".join(self.terms.public) or "there are none"
        columns = "Public columns" if self.terms.relation == "add-remove" else "Public columns, and the sizes of groups"
        return [NOT_PROMISED[0], f"{columns}: {public}.", *NOT_PROMISED[1:-1], stated, NOT_PROMISED[-1]]

    def sections(self) -> dict[str, list[str]]:
        """Every heading with its sentences, in the order in which they are read; of units where these are no persons."""
        texts = [self.definition(), self.whole(), self.pacing(), list(ADDS_UP), self.limits()]
        if self.terms.unit is not None:
            texts = [[_of_units(text) for text in some] for some in texts]
        return dict(zip(HEADINGS, texts, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """How sure somebody can be afterwards, after the whole budget and after what is spent so far; where presence is protected,
        that one person is in the data, and after twice as much what is true of somebody who is known to be."""
        spent = [("the whole budget", self.balance.budget), ("what is spent so far", self.balance.spent)]
        spent += [(f"twice {what}", 2 * epsilon) for what, epsilon in spent] if self._twice else []
        return [
            {
                "after": what,
                "epsilon": show_amount(epsilon),
                "odds change by <=": odds_factor(epsilon),
                **{f"{before * 100} % becomes <=": sure_afterwards(before, epsilon) for before in BEFORE},
            }
            for what, epsilon in spent
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


def _of_units(text: str) -> str:
    """A sentence about persons as one about units: an id may be that of a household."""
    for person, unit in _UNITS:
        text = text.replace(person, unit)
    return text


def promise_of(terms: Terms, balance: Balance, history: Sequence[Entry]) -> Promise:
    """The page of a data set, by what its ledger says."""
    charges = [entry.facts.get("epsilon") for entry in history if entry.facts.get("basis") == STATED]
    return Promise(terms, balance, sum((total_of(terms.name, epsilon) for epsilon in charges), Fraction(0)))
