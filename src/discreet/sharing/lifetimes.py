"""What a person reveals in all: several questions, asked again and again, before anything is collected.

Three ways to ask again, and what all reports of one question together keep (between any two values):

    fresh       every report is drawn anew: epsilons add up; with a delta, by composition of the mechanisms themselves
    memo        the report of a value is kept and repeated, and after `most` different values the last one is for good: most times
                epsilon, between histories that change and come back at the same moments (discreet.collect.reporter)
    permanent   a permanent answer is drawn once for a value and kept, and every report is drawn from it anew (RAPPOR; Erlingsson,
                Pihur and Korolova 2014): all reports are post-processing of the permanent answer, so they keep its epsilon, and k
                of them keep ln((1 + e^(p + k q)) / (e^p + e^(k q))), p and q the epsilons of the two stages

The last formula: let x and x' be two values. The k reports depend on the permanent answer z by a weight that varies by a factor of
e^(k q) at most: w (1 + (e^(kq) - 1) g(z)) with 0 <= g <= 1. The means G and G' of g(z) under x and x' keep G <= e^p G' and
1 - G' <= e^p (1 - G). The ratio (1 + (e^(kq) - 1) G) / (1 + (e^(kq) - 1) G') is largest where both are equalities,
G' = 1/(1 + e^p), and is what is said. Binary randomised response twice attains it for k = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import flint

from ..errors import DiscreetError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import as_written, ball, float_above, show, show_delta
from ..exact.given import share, whole
from ..exact.level import Level, charged_above
from ..measure.privacy import check_privacy
from ..mechanism import Mechanism, Procedure
from ..present.views import Result, View, plain
from .composition import compose
from .promises import Approximate, approximate_dp

_MOST_TIMES = 10**6
_BITS = 256
ALL = "all questions"


@dataclass(frozen=True, repr=False)
class Lifetime(Result):
    """One row for each question, and one for all of them together; every number is an epsilon, never below the truth.

    The columns: `reports`, how many; `each <=`, what one of them keeps; `fresh <=`, with fresh noise every time, and with a delta
    where one was given; `memo <=`, where each value's report is kept; `permanent <=`, where a permanent answer is, and
    `one report <=`, what one report from it keeps.
    """

    question: str
    table: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]

    def __getitem__(self, question: str) -> Mapping[str, Any]:
        found = {row["question"]: row for row in self.table}
        if question not in found:
            raise DiscreetError(f"{show(question)} is none of the questions; choose from {', '.join(found)}.")
        return found[question]

    def view(self) -> View:
        return replace(View.of(self.question, self.table), notes=self.notes)

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "rows": plain(self.table), "notes": list(self.notes)}


@dataclass(frozen=True)
class _Asked:
    """One question: its epsilon between any two values, as people say it; how often, and how else it may be answered."""

    name: str
    epsilon: Fraction
    mechanism: Procedure | Approximate
    times: int
    most: int | None
    permanent: Fraction | None


def lifetime(
    questions: Any,
    *,
    times: Any = 1,
    most: Any = None,
    permanent: Any = None,
    delta: Rational | None = None,
) -> Lifetime:
    """What the reports of one person reveal in all, as epsilon between any two values: for several questions, asked so often.

    Before anything is collected: fresh noise adds up, a memo costs `most` times epsilon, a permanent answer bounds all that is
    drawn from it (discreet.sharing.lifetimes).

        questions   a mechanism or an epsilon for each question, by name; or one of them alone
        times       how often each is asked: 52 for every week of a year; one number for all, or by name
        most        with a memo: how many different values of a person get a report of their own; one number, or by name for the
                    questions that have a memo (one that is asked once needs none, and counts once)
        permanent   with permanent answers: their mechanism or epsilon, one for all, or by name for the questions that have one;
                    the questions' own mechanisms then draw each report from the permanent answer
        delta       what fresh reports keep is told with this delta as well, by composition

    >>> import discreet as dt
    >>> year = dt.sharing.lifetime({"brand": 1, "hours": "1/2"}, times=52, most=3, permanent=2)
    >>> print(year["brand"]["fresh <="], year["brand"]["memo <="], year["all questions"]["fresh <="])
    52.0 3.0 78.0
    """
    asked = _read(questions, times, most, permanent)
    allowed = (
        None if delta is None else share(delta, "delta", "it is added to e^epsilon times a probability", example="1e-6")
    )
    rows = [_row(one, allowed) for one in asked]
    columns = dict.fromkeys(column for row in rows for column in row)
    # a memo, or permanent answers, may be for some questions alone: one that is asked once counts once in any case
    rows = [
        {column: row.get(column, row["fresh <="] if row["reports"] == 1 else None) for column in columns}
        for row in rows
    ]
    if len(asked) > 1:
        rows.append(_together(asked, rows, allowed))
    many = f"{len(asked)} questions" if len(asked) > 1 else asked[0].name
    often = "" if len({one.times for one in asked}) > 1 else f", {asked[0].times} times"
    return Lifetime(
        f"What a person reveals in all, as epsilon between any two values: {many}{often}",
        tuple(map(MappingProxyType, rows)),
        _notes(asked, allowed),
    )


def _read(questions: Any, times: Any, most: Any, permanent: Any) -> list[_Asked]:
    named = questions if isinstance(questions, Mapping) else {"one question": questions}
    if not named or ALL in named:
        raise DiscreetError('Say what is asked, by name; write for example {"brand": 1, "hours": "1/2"}.')
    found = []
    for name, given in named.items():
        epsilon, mechanism = _epsilon(given, str(name))
        kept = _of(most, name, named, "most")
        answer = _of(permanent, name, named, "permanent")
        found.append(
            _Asked(
                str(name),
                epsilon,
                mechanism,
                whole(_of(times, name, named, "times"), "times", most=_MOST_TIMES, example=52),
                None if kept is None else whole(kept, "most", most=_MOST_TIMES, example=5),
                None if answer is None else _epsilon(answer, f"the permanent answer of {name}")[0],
            )
        )
    return found


def _of(given: Any, name: Any, named: Mapping[Any, Any], what: str) -> Any:
    """One for all questions, or by name: `times` for each of them, anything else for those that have it."""
    if not isinstance(given, Mapping):
        return given
    known = ", ".join(map(str, named))
    if what == "times" and set(given) != set(named):
        raise DiscreetError(f"times by name needs one for each question: {known}.")
    for other in given:
        if other not in named:
            raise DiscreetError(f"{what} names {show(other)}, which is none of the questions; choose from {known}.")
    return given.get(name)


def _epsilon(given: Any, name: str) -> tuple[Fraction, Procedure | Approximate]:
    """The epsilon between any two values of a mechanism, as it was asked or from above; and what is composed."""
    if not isinstance(given, Procedure):
        epsilon = Level.of(epsilon=given).charge
        return epsilon, approximate_dp(epsilon=epsilon, delta=0)
    verdict = check_privacy(given, neighbours="any")
    if verdict.tight in (0, 1):
        why = "reveals nothing, ever" if verdict.tight else "does not hide any two values from each other"
        raise DiscreetError(
            f"The mechanism of {name} {why}; give one with a local epsilon, such as randomized_response(9, epsilon=1)."
        )
    above = charged_above(verdict.epsilon)
    if not isinstance(given, Mechanism) or given.claim.asked is None:
        return above, given
    claimed = given.claim.asked
    apart = Fraction(given.inputs.n or 1, given.neighbours.span(given.inputs) or 1)  # the ends, in steps of the claim
    asked = (replace(claimed, factor=claimed.factor * far) for far in (Fraction(1), apart))
    known = [Level(verdict.tight, epsilon).charge for epsilon in asked if epsilon.admits(verdict.tight)]
    return min([above, *known]), given


def _row(one: _Asked, delta: Fraction | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": one.name,
        "reports": one.times,
        "each <=": _shown(one.epsilon),
        "fresh <=": _shown(one.times * one.epsilon),
    }
    if delta is not None:
        row[_with(delta)] = _composed([one], delta, row["fresh <="])
    if one.most is not None:
        row["memo <="] = _shown(min(one.most, one.times) * one.epsilon)
    if one.permanent is not None:
        values = 1 if one.most is None else min(one.most, one.times)
        row["permanent <="] = min(row["fresh <="], _shown(values * one.permanent), _after(one, one.times, values))
        row["one report <="] = _after(one, 1, 1)
    return row


def _together(asked: list[_Asked], rows: list[dict[str, Any]], delta: Fraction | None) -> dict[str, Any]:
    """All questions in one row: what is not asked of all has no sum."""
    total: dict[str, Any] = {"question": ALL, "reports": sum(one.times for one in asked)}
    for column in list(rows[0])[2:]:
        if delta is not None and column == _with(delta):
            total[column] = _composed(asked, delta, total["fresh <="])
        else:
            known = [row[column] for row in rows]
            total[column] = None if None in known else _sum(known)
    return total


def _composed(asked: list[_Asked], delta: Fraction, most: float) -> float:
    """The epsilon of all fresh reports with this delta; a mechanism that is too large to look at counts by its level."""
    uses = [one.times for one in asked]
    known = [one.mechanism for one in asked]
    by_level: list[Any] = [approximate_dp(epsilon=one.epsilon, delta=0) for one in asked]
    try:
        found = compose(known, uses, neighbours="any")
        return min(most, found.epsilon(delta))
    except SizeError:
        return min(most, compose(by_level, uses).epsilon(delta))


def _after(one: _Asked, reports: int, values: int) -> float:
    """ln((1 + e^(p + k q)) / (e^p + e^(k q))), so many times; from above."""
    assert one.permanent is not None
    p, q = one.permanent, one.epsilon

    def value() -> flint.arb:
        first, all_ = (-ball(p)).exp(), (-ball(q) * reports).exp()
        return ((1 + first * all_) / (first + all_)).log() * values

    return float_above(value, bits=_BITS)


def _shown(total: Fraction) -> float:
    """A float that is not below, and prints as it was written where that is short."""
    return as_written(total, math.nextafter(float(total), math.inf))


def _sum(numbers: list[float]) -> float:
    return _shown(sum((Fraction(repr(x)) for x in numbers), Fraction(0)))


def _with(delta: Fraction) -> str:
    return f"with delta {show_delta(delta)} <="


def _notes(asked: list[_Asked], delta: Fraction | None) -> tuple[str, ...]:
    notes = ["fresh: every report is drawn anew, and epsilons add up"]
    if delta is not None:
        notes.append(
            f"with delta {show_delta(delta)}: the same by composition, also where values change; analysis, never charged"
        )
    if any(one.most is not None for one in asked):
        notes.append(
            "memo: epsilon once for each different value, up to most, between people whose values change, and come back, at the "
            "same moments. It does not hide when a value changes: anyone who has the reports sees that, so between others there is "
            "no bound. A lost memo, or a second device, counts as new values"
        )
    if any(one.permanent is not None for one in asked):
        notes.append(
            "permanent: whatever is drawn from a permanent answer reveals no more than that answer, its epsilon, times most, if "
            "given. Where values change at different moments, only the bound for fresh reports is proved. one report: what a "
            "single one reveals"
        )
    return tuple(notes)
