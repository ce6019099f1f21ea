"""A question beside what it counted, before it is paid for: for whoever holds the file, who alone sees what comes out.

A condition `asthma = 'Yes'` counts nobody where the file writes yes, and a key in another spelling than the file's stays empty:
both would be charged. So the check says which keys no row has, which conditions are true of no row and how many rows are in no
group, from the numbers that were counted. It never says how the data write a value, which `discreet profile` shows, and no key is
ever proposed to be added or removed, since the declared keys must not follow from the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...exact.arithmetic import show, show_amount
from ...ledger.periods import Period
from ...present.views import Result, View, plain
from .admitting import ALONE
from .true_numbers import TrueNumbers

KEEP = "keep it if your public list has it; its noisy zero is part of the table"
_MOST_NAMED = 10  # keys that are named in one finding


@dataclass(frozen=True)
class QuestionFinding:
    """One finding: of what kind, where in the question, what the data have there, and what to do."""

    what: str
    where: str
    found: str
    proposal: str
    to_correct: bool = True  # or may it be as it is meant?

    def __str__(self) -> str:
        return f"{self.what}, {self.where}: {self.found}; {self.proposal}."


@dataclass(frozen=True, repr=False)
class QuestionCheck(Result):
    """A question compared with the data, for whoever holds them: what may be a mistake in it, its price, and what is left, of the
    budget and of the caps of this time."""

    findings: tuple[QuestionFinding, ...]
    dataset: str
    charge: Fraction
    left: Fraction
    paid_by: str | None = None  # "part 2026-01" or "every part", where the data set has parts
    advice: str | None = None  # what would count all groups of a unit, or make totals more accurate; nothing to correct
    cut: str | None = None  # how many units have more than may count: an exact number
    periods: tuple[Period, ...] = ()  # what is left by the caps, where there are some
    measure: str = "epsilon"  # of the charge and of what is left; or rho

    @property
    def proposals(self) -> tuple[QuestionFinding, ...]:
        """The findings that look like mistakes. Where all rows are in a group, a key that no row has is none, and is to stay."""
        return tuple(finding for finding in self.findings if finding.to_correct)

    @property
    def price(self) -> str:
        """What is paid, of what: "1/2 of 2" or "rho 1/800 of 1/5", and what caps leave of it now."""
        caps = [
            f"{show_amount(each.left)} of {show_amount(each.cap)} left in the {each.kind} {each.name}"
            for each in self.periods
        ]
        by_caps = f" ({', '.join(caps)})" if caps else ""
        measure = "rho " if self.measure == "rho" else ""
        return f"{measure}{show_amount(self.charge)} of {show_amount(self.left)}{by_caps}"

    @property
    def passes(self) -> bool:
        """Is nothing proposed, and as much left as it would charge?"""
        return not self.proposals and self.charge <= self.left

    def _title(self) -> str:
        n = len(self.proposals)
        found = f"{n} to correct" if n else "nothing to correct"
        return f"{self.dataset}: the question compared with the data; {found}. {ALONE}"

    def view(self) -> View:
        rows = [(f.what, f.where, f.found, f.proposal) for f in self.findings]
        whose = f" in {self.paid_by}" if self.paid_by else ""
        caps = "".join(f" {period}." for period in self.periods)
        now = next((f" in the {period.kind} {period.name}" for period in self.periods if period.left == self.left), "")
        price = (
            f"It would charge {self.measure} {show_amount(self.charge)} of {show_amount(self.left)} left{now or whose}"
        )
        price += ", and so it would be refused" if self.charge > self.left else ""
        price = f"{price}; the check charged nothing.{caps}" if self.charge else "It would charge nothing."
        spelling = "Correct spellings only: do not choose by this what to publish."
        return View(
            self._title(),
            ("what", "where", "found", "proposal") if rows else (),
            tuple(rows),
            (*([spelling] if rows else []), *filter(None, (self.cut, self.advice)), price),
        )

    def to_dict(self) -> dict[str, Any]:
        """The findings, the price and what is left; for the operator too."""
        return {
            "note": ALONE,
            "dataset": self.dataset,
            "findings": [plain(vars(finding)) for finding in self.findings],
            self.measure: str(self.charge),
            "left": str(self.left),
            "paid_by": self.paid_by,
            **({"periods": [period.to_dict() for period in self.periods]} if self.periods else {}),
            **({} if self.advice is None else {"advice": self.advice}),
            **({} if self.cut is None else {"cut": self.cut}),
        }


def question_findings(numbers: TrueNumbers, part: str | None = None) -> Iterator[QuestionFinding]:
    """What was counted that nobody may have meant; `part` is the one that was asked for."""
    if part is not None and not numbers.has_rows:
        write = "write it as the data do; what would be paid for is noise alone"
        yield QuestionFinding("part", show(part), "no row names it", write)
        return
    question, sizes = numbers.question, numbers.first.sizes.tolist()
    lost = numbers.dropped + numbers.first.other_size
    for k, name in enumerate(question.by):
        seen = {key[k] for key, size in zip(question.domain.keys, sizes, strict=True) if size}
        empty = [key for key in dict.fromkeys(key[k] for key in question.domain.keys) if key not in seen]
        if empty:
            more = f" and {len(empty) - _MOST_NAMED} more" if len(empty) > _MOST_NAMED else ""
            listed = ", ".join("null" if key is None else show(key) for key in empty[:_MOST_NAMED]) + more
            how = f"correct its spelling, or {KEEP}" if lost else KEEP
            yield QuestionFinding("key that no row has", f"by {name}", listed, how, to_correct=bool(lost))
    for statistic in question.statistics:
        if statistic.conditions and not numbers.has_met(statistic.name):
            how = "write its values as the file does, which discreet profile shows"
            yield QuestionFinding("condition", ", ".join(statistic.conditions), "true of no row in a group", how)
    if numbers.dropped:
        how = "they are not counted, which may be meant"
        yield QuestionFinding("rows", "in no group", f"{numbers.dropped:,}", how, to_correct=False)
