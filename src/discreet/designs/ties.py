"""`uniqueness`: is the best mechanism the only one? Decided in exact arithmetic, with the proof or a second best one.

A corner x of the linear program is made exact from the constraints that make it, and proved best by exact multipliers
z of these: E'y + A'z = c with z >= 0. Any best solution keeps every constraint with a positive multiplier tight. So if all
z > 0 and the tight constraints have one solution, x is the only one. If the best is unique there are such multipliers (Goldman
and Tucker 1956); where the solver finds none, a corner of the best face far from x is made exact too, and is as good as x.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..errors import DesignError, SizeError
from ..exact.arithmetic import show
from ..lp import Program
from ..present.views import Result, View, plain
from .constraints import Inequalities, essential
from .design import Design
from .problem import Problem
from .rational import Floats, near_solution, rank_of

Matrix = tuple[tuple[Fraction, ...], ...]
Row = dict[int, Fraction]

_MOST = 13  # values


@dataclass(frozen=True, eq=False, repr=False)
class Uniqueness(Result):
    """The exact optimum, an exact best matrix, and another one where there is one (rows are true values)."""

    problem: Problem
    optimum: Fraction
    first: Matrix
    second: Matrix | None

    def __bool__(self) -> bool:
        return self.is_unique

    @property
    def is_unique(self) -> bool:
        return self.second is None

    def view(self) -> View:
        risk = f"{self.problem.loss.name} of {float(self.optimum):.9g} at {self.problem.level}"
        return View(f"{'one mechanism alone has' if self.is_unique else 'several mechanisms have'} the least {risk}")

    def to_dict(self) -> dict[str, Any]:
        """The verdict, the optimum and the matrices, exactly."""
        return {
            "unique": self.is_unique,
            "optimum": plain(self.optimum),
            "first": plain(self.first),
            "second": None if self.second is None else plain(self.second),
        }


def uniqueness(design: Design) -> Uniqueness:
    """Is the best mechanism for what a design was asked the only one? For the average risk and up to 13 values.

    >>> import discreet as dt
    >>> bool(dt.theory.uniqueness(dt.design(4, alpha="9/10", loss="l0")))     # the geometric mechanism
    True
    >>> bool(dt.theory.uniqueness(dt.design(4, alpha="9/10", loss="l0", require={"WH"})))
    False
    """
    if not isinstance(design, Design):
        raise DesignError(f"uniqueness takes a design, not {show(design)}; give what dt.design returns.")
    if design.problem.risk != "average":
        raise DesignError("Uniqueness is decided for the average risk under one prior; design for that.")
    if design.certificate is None or design.problem.size > _MOST:
        raise SizeError(f"Uniqueness is decided for up to {_MOST} values; use a coarser grid.")
    program = _Exact(design.problem)
    first, value = program.best()
    second = program.another(first, value)
    return Uniqueness(design.problem, value, program.matrix(first), None if second is None else program.matrix(second))


class _Line(NamedTuple):
    """One constraint: entries . x >= right, or equal to it."""

    entries: Row
    right: Fraction


class _Exact:
    """The linear program of a problem in Fractions: min c x, equations, inequalities; x >= 0 is among or implied by these."""

    def __init__(self, problem: Problem) -> None:
        self.problem, size = problem, problem.size
        self.unknowns = size * size
        cost, denominator = problem.costs()
        self.cost = [Fraction(int(x), denominator) for x in cost.ravel()]
        one = Fraction(1)
        self.equal = [_Line({j * size + i: one for i in range(size)}, one) for j in range(size)]
        if "F" in problem.require:
            self.equal += [_Line({0: one, j * (size + 1): -one}, Fraction(0)) for j in range(1, size)]
        if "S" in problem.require:
            last = self.unknowns - 1
            self.equal += [_Line({k: one, last - k: -one}, Fraction(0)) for k in range((last + 1) // 2)]
        self.least = list(self._inequalities(Inequalities(problem, essential(problem.require))))

    def _inequalities(self, whole: Inequalities) -> Any:
        """P[p] - u P[q] >= h, with the exact u: the level, or 1."""
        size, alpha = self.problem.size, self.problem.level.alpha
        for p, q, u, h in zip(whole.p.tolist(), whole.q.tolist(), whole.u.tolist(), whole.h.tolist(), strict=True):
            entries = {p: Fraction(1)}
            if q < self.unknowns:
                entries[q] = Fraction(-1) if u == 1.0 else -alpha
            yield _Line(entries, Fraction(1, size) if h else Fraction(0))

    def matrix(self, x: Sequence[Fraction]) -> Matrix:
        size = self.problem.size
        return tuple(tuple(x[j * size : (j + 1) * size]) for j in range(size))

    # A corner, made exact

    def best(self) -> tuple[list[Fraction], Fraction]:
        """An exact corner with the least cost; `another` proves that it has it."""
        found = self._corner(np.array([float(x) for x in self.cost]), [])
        return found, _dot(self.cost, found)

    def _corner(self, cost: Floats, more: list[_Line]) -> list[Fraction]:
        """The corner that the solver finds best for these costs, on the equations `more` besides, exactly."""
        equal, lines = [*self.equal, *more], [*self.equal, *more, *self.least]
        low = np.array([float(line.right) for line in lines])
        high = np.where(np.arange(len(lines)) < len(equal), low, np.inf)
        scale = float(np.abs(cost).max()) or 1.0
        program = Program(cost / scale, _entries(lines), low, high, 1.0)
        best = program.solve()
        if best is not None:
            rows, columns = program.tight()
            made = [line for line, tight in zip(lines, rows, strict=True) if tight]
            made += [
                _Line({k: Fraction(1)}, Fraction(round(best.unknowns[k]))) for k in np.flatnonzero(columns).tolist()
            ]
            found = near_solution(*self._equations([*equal, *made]), best.unknowns, signed=range(self.unknowns))
            if found is not None and all(_at(line, found) >= line.right for line in self.least):
                return found
        raise DesignError(
            "The best mechanism could not be made exact, so nothing is decided; try a simpler level or loss."
        )

    def _equations(self, lines: list[_Line]) -> tuple[list[list[Fraction]], list[Fraction]]:
        rows = [[line.entries.get(k, Fraction(0)) for k in range(self.unknowns)] for line in lines]
        return rows, [line.right for line in lines]

    # Multipliers, and another corner

    def another(self, x: list[Fraction], value: Fraction) -> list[Fraction] | None:
        """A second best corner; None where there is none, which is proved. Both ways x itself is proved best."""
        tight = [line for line in self.least if _at(line, x) == line.right]
        z = self._multipliers(tight)
        rows, _ = self._equations([*self.equal, *tight])
        if min(z, default=Fraction(1)) > 0 and rank_of(rows, self.unknowns) == self.unknowns:
            return None
        away = np.zeros(self.unknowns)
        for line in tight:
            for k, factor in line.entries.items():
                away[k] -= float(factor)
        same_value = _Line({k: c for k, c in enumerate(self.cost) if c}, value)
        other = self._corner(away, [same_value] if same_value.entries else [])
        if other == x:
            raise DesignError(
                "Whether there is another best mechanism is too close to call; try a simpler level or loss."
            )
        return other

    def _multipliers(self, tight: list[_Line]) -> list[Fraction]:
        """Exact multipliers z >= 0 of the tight constraints with E'y + A'z = c, none 0 if that can be."""
        lines, count = [*self.equal, *tight], len(self.equal)
        row, column, value = _entries(lines)  # of the constraints; turned around, an unknown is an equation
        smallest, unknowns = 2 * count + len(tight), self.unknowns
        of_y = row < count
        entries = (
            np.concatenate([column, column[of_y], unknowns + np.arange(len(tight)), unknowns + np.arange(len(tight))]),
            np.concatenate([row, row[of_y] + len(lines), count + np.arange(len(tight)), np.full(len(tight), smallest)]),
            np.concatenate([value, -value[of_y], np.ones(len(tight)), -np.ones(len(tight))]),
        )
        scale = max(map(float, self.cost)) or 1.0
        target = np.array([float(c) / scale for c in self.cost])
        low, high = np.append(target, np.zeros(len(tight))), np.append(target, np.full(len(tight), np.inf))
        cost = np.zeros(smallest + 1)
        cost[smallest] = -1.0
        most = np.full(smallest + 1, np.inf)
        most[smallest] = 1.0
        best = Program(cost, entries, low, high, most).solve()
        if best is not None:
            y = best.unknowns[:count] - best.unknowns[len(lines) : len(lines) + count]
            near = np.append(y, best.unknowns[count : len(lines)]) * scale
            rows = [[Fraction(0)] * len(lines) for _ in range(unknowns)]
            for j, line in enumerate(lines):
                for k, factor in line.entries.items():
                    rows[k][j] = factor
            found = near_solution(rows, self.cost, near, signed=range(count))
            if found is not None:
                return found[count:]
        raise DesignError(
            "The best mechanism could not be proved best exactly, so nothing is decided; try a simpler level."
        )


def _entries(lines: Sequence[_Line]) -> tuple[Any, Any, Floats]:
    """The constraints as the entries of a Program."""
    places = [(i, k, float(x)) for i, line in enumerate(lines) for k, x in line.entries.items()]
    row, column, value = zip(*places, strict=True)
    return np.array(row), np.array(column), np.array(value)


def _at(line: _Line, x: Sequence[Fraction]) -> Fraction:
    return sum((factor * x[k] for k, factor in line.entries.items()), Fraction(0))


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
