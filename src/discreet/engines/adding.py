"""What a person adds to a sum, as SQL: whole steps of a row, by a rule that looks at that row alone, and then of a person.

A row's value x becomes floor((x - origin)/step + 1/2), a whole number of steps, in whole numbers where x is a whole number, a
decimal or a text (read to 18 places), and in floats where it is one, or beyond 125 bits. What is no finite number is none.
Steps, never values, are added up, so that nobody's part depends on the order of rows or on what others have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ..errors import TableInputError
from ..exact.arithmetic import show
from ..questions.predicate import COMMA, UNTYPED, family, number_text, quoted
from ..questions.statistic import SumOf

FARTHEST = 2**62  # steps of a row, either way, and of a sum
_PLACES = 18  # of texts, after the point
_WIDEST = 2**125
WHOLE_BITS = {
    "TINYINT": 7,
    "SMALLINT": 15,
    "INTEGER": 31,
    "BIGINT": 63,
    "UTINYINT": 8,
    "USMALLINT": 16,
    "UINTEGER": 32,
    "UBIGINT": 64,
}
_PLAIN = r"[+-]?(\d+\.?\d*|\.\d+)"


@dataclass(frozen=True)
class SumSql:
    """One sum of the rows of a table with an id column, or of a table in which every row is a person."""

    asked: SumOf
    column: str  # as the table spells it
    type_name: str
    by_people: bool
    number: int

    def __post_init__(self) -> None:
        if family(self.type_name) not in ("number", "untyped"):
            raise TableInputError(
                f"Column {show(self.column)} has type {self.type_name}, which is no number to add up; convert "
                "the column, or count its values."
            )

    @property
    def read(self) -> list[str]:
        """What is read of a row: as a whole number of 10^-places, where it is one, and as a float, where that is needed."""
        name, j = quoted(self.column), self.number
        if self.type_name in (UNTYPED, COMMA):
            text = f"trim({number_text(name, self.type_name)}, ' \t')"
            whole = (
                f"CASE WHEN regexp_full_match({text}, '{_PLAIN}') THEN TRY_CAST({text} || 'e{_PLACES}' AS HUGEINT) END"
            )
            return [f"{whole} AS r{j}", f"{self._ratio(f'TRY_CAST({text} AS DOUBLE)')} AS q{j}"]
        if self.type_name.startswith("DECIMAL"):
            return [f"{self._digits(name)} AS r{j}", f"{self._ratio(name)} AS q{j}"]
        return [f"{name} AS r{j}", f"{self._ratio(name)} AS q{j}"]

    @property
    def steps(self) -> str:
        """A row in steps, from what was read of it; NULL where it has no number."""
        low, high = (-FARTHEST, FARTHEST) if self.by_people else self.asked.steps
        in_floats = self._from_float(low, high)
        if self.type_name in (UNTYPED, COMMA):
            return self._from_whole(low, high, _PLACES, 10**36, in_floats)
        if self.type_name.startswith("DECIMAL"):
            return self._from_whole(low, high, self._decimal[1], 10 ** self._decimal[0], in_floats)
        return (
            self._from_whole(low, high, 0, 2 ** WHOLE_BITS[self.type_name], in_floats)
            if self.type_name in WHOLE_BITS
            else in_floats
        )

    def _digits(self, name: str) -> str:
        """A decimal without its point. The engine multiplies its digits by 10^scale and stops where the type cannot hold that, so
        each type is handed the values that fit it alone; 64 bits take a tenth of the time that texts take."""
        width, scale = self._decimal
        digits = f"replace({name}::VARCHAR, '.', '')::HUGEINT"
        for held, kind in ((38, "HUGEINT"), (18, "BIGINT")):
            if width + scale <= held:
                digits = f"({name}::DECIMAL({held}, {scale}) * {10**scale}::DECIMAL({scale + 1}, 0))::{kind}"
            elif 2 * scale < held:
                low, high = (f"'{sign}{10 ** (held - 2 * scale) - 1}'::{self.type_name}" for sign in ("-", ""))
                few = f"(CASE WHEN {name} BETWEEN {low} AND {high} THEN {name} END)::DECIMAL({held}, {scale})"
                digits = f"coalesce(({few} * {10**scale}::DECIMAL({scale + 1}, 0))::{kind}::HUGEINT, {digits})"
        return digits

    @property
    def _decimal(self) -> tuple[int, int]:
        width, scale = map(int, self.type_name[8:-1].split(","))
        return width, scale

    def _from_whole(self, low: int, high: int, places: int, reach: int, otherwise: str) -> str:
        """floor((a r + c) / t), clamped, of a whole number r up to `reach` either way; `otherwise` beyond what can be computed."""
        a, c = 1 / (10**places * self.asked.grid.step), Fraction(1, 2) - self.asked.origin / self.asked.grid.step
        common = math.lcm(a.denominator, c.denominator)
        top, factor = int(a * common), math.gcd(int(a * common), common)
        top, plus, bottom = top // factor, int(c * common) // factor, common // factor
        first, last = (
            (bottom * low - plus) // top,
            -((plus - bottom * high) // top),
        )  # up to which it is low, from which high
        if max(bottom, abs(plus)) >= _WIDEST:
            return otherwise
        raw, widest = f"r{self.number}", (_WIDEST - abs(plus)) // top
        cases = [f"WHEN {raw} <= {first} THEN {low}"] if first >= -reach else []
        cases += [f"WHEN {raw} >= {last} THEN {high}"] if last <= reach else []
        most = min(reach, max(abs(first), abs(last)))
        if most > widest or self.type_name in (UNTYPED, COMMA):
            cases.append(
                f"WHEN {raw} IS NULL OR NOT {raw} BETWEEN {-min(widest, reach)} AND {min(widest, reach)} THEN {otherwise}"
            )
        kind = "BIGINT" if top * min(most, widest) + abs(plus) < FARTHEST else "HUGEINT"
        number, farthest = f"TRY_CAST({raw} AS {kind})", min(most, widest)
        if farthest < reach or self.type_name in (
            UNTYPED,
            COMMA,
        ):  # beyond it nothing is computed, wherever the engine does so
            number = f"(CASE WHEN {raw} BETWEEN {-farthest} AND {farthest} THEN {number} END)"
        moved = f"({top}::{kind} * {number} + ({plus})::{kind})"
        divided = moved if bottom == 1 else f"{moved} // {bottom}::{kind}"
        if bottom > 1 and low < 0:  # the engine cuts off towards zero
            divided = f"({divided} - ({moved} % {bottom}::{kind} < 0)::INTEGER)"
        steps = f"CASE {' '.join(cases)} ELSE {divided} END" if cases else divided
        return f"TRY_CAST({steps} AS BIGINT)"

    def _ratio(self, x: str) -> str:
        """A value over the step as a float, NULL where it is not finite; without an origin that is no multiple of the step."""
        step, shift = self.asked.grid.step, self.asked.origin / self.asked.grid.step
        x = f"({x})::DOUBLE"
        if Fraction(float(step)) == step:
            ratio = f"{x} / {_double(step)}"
        else:
            ratio = f"{x} * {_double(step.denominator)} / {_double(step.numerator)}"
        ratio = ratio if shift.denominator == 1 else f"{ratio} - ({_double(shift)})"
        return f"CASE WHEN isfinite({x}) THEN {ratio} END"

    def _from_float(self, low: int, high: int) -> str:
        """The nearest whole number to the ratio, exactly, clamped."""
        q, shift = f"q{self.number}", self.asked.origin / self.asked.grid.step
        back = shift.numerator if shift.denominator == 1 else 0
        near = max(abs(low + back), abs(high + back)) <= 2**53  # so that floats have the ends
        first, last = (low + back, high + back) if near else (-FARTHEST, FARTHEST)
        nearest = (
            f"((CASE WHEN {q} <= {_double(first)} THEN {first} WHEN {q} >= {_double(last)} THEN {last} "
            f"ELSE TRY_CAST(floor({q}) AS BIGINT) + ({q} - floor({q}) >= 0.5)::INTEGER END) - ({back}))"
        )
        return nearest if near else clamped(nearest, low, high)

    @property
    def of_person(self) -> str:
        """What a person adds, within the bounds; NULL for one without a number."""
        return f"CASE WHEN a{self.number} > 0 THEN {clamped(self.total, *self.asked.steps)}::BIGINT END"

    @property
    def total(self) -> str:
        """What a person would add without bounds, from the sum s of the rows' steps and their number a, to the nearest.

        Several rows are several origins: a person's values a origin + s step are moved to origin + k step.
        """
        s, a, shift = f"s{self.number}", f"a{self.number}", self.asked.origin / self.asked.grid.step
        p, q = shift.numerator, shift.denominator
        more = f"2 * ({a} - 1)::HUGEINT * {abs(p)}"
        if p > 0:
            s = f"({s} + ({more} + {q}) // {2 * q})"
        elif p < 0:
            s = f"({s} - ({more} + {q - 1}) // {2 * q})"
        return s


def clamped(sql: str, low: int, high: int) -> str:
    """A number moved to the nearer of two ends; NULL stays what it is."""
    return f"(CASE WHEN {sql} < {low} THEN {low} WHEN {sql} > {high} THEN {high} ELSE {sql} END)"


def _double(number: Fraction | int) -> str:
    return f"'{float(number)!r}'::DOUBLE"
