"""Margins: which totals were asked for, the cells that each of them adds up, and the parts of epsilon of measured ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ReleaseError
from ..exact.arithmetic import show
from ..exact.written import by_name, did_you_mean
from .domain import Domain
from .statistic import weight_of

if TYPE_CHECKING:
    from .question import Question

Indices = NDArray[np.int64]
Margin = tuple[str, ...]  # the columns that a total is by; none for the grand total

TOTAL, CELLS = "total", "cells"
_PARTS = 100  # epsilon is divided into so many parts, unless weights are given
# columns of the rows of totals that are no keys
OF_TOTALS = ("n", "total", "low", "high", "interval_by", "report", "report_u", "report_v", "mechanism", "digest")


def margin_name(margin: Margin) -> str:
    """What a margin is called: sex, sex+district, or total."""
    return "+".join(margin) or TOTAL


def read_margins(given: Any, by: Sequence[str], domain: Domain, what: str = "margins") -> tuple[Margin, ...]:
    """Margins as they are asked for: columns, lists of columns, "a+b" for both, [] or "total" for the grand total.

    >>> read_margins(["sex", ["sex", "age"], []], ["sex", "age", "town"], Domain.of({"sex": ["f"], "age": [1], "town": [1]}))
    (('sex',), ('sex', 'age'), ())
    """
    known = [*by, *(h.column for h in domain.hierarchies)]
    try:
        listed = [given] if isinstance(given, str) else list(given)
        margins = [margin_of(margin, known) for margin in listed]
    except TypeError:
        raise ReleaseError(
            f'{what} = {show(given)} is not a list of margins; for example {what}=["sex", ["sex", "age"], []].'
        ) from None
    for margin in margins:
        if set(margin) == set(by):
            raise ReleaseError(
                f"The counts themselves are by {', '.join(margin) or 'nothing'}; a margin is a total over the "
                "other columns of `by`."
            )
        unknown = [name for name in margin if name not in known]
        if unknown:
            raise ReleaseError(
                f"{what} are columns of `by` ({', '.join(known) or 'none'}), not "
                f"{', '.join(unknown)}.{did_you_mean(unknown[0], [*known, TOTAL])}"
            )
    distinct = {frozenset(margin): margin for margin in reversed(margins)}
    kept = tuple(margin for margin in dict.fromkeys(margins) if distinct[frozenset(margin)] == margin)
    if len({margin_name(margin) for margin in kept}) < len(kept):
        raise ReleaseError(f"Two of the {what} have the same name; rename the column with a + in the data.")
    return kept


def margin_of(given: Any, known: Sequence[str]) -> Margin:
    """One of them, where there are these columns."""
    if isinstance(given, str):
        if given in known:
            return (given,)
        return () if given == TOTAL else tuple(name.strip() for name in given.split("+"))
    names = list(given)
    if not all(isinstance(name, str) for name in names):
        raise TypeError("no names of columns")
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Groups:
    """The totals of one margin: their keys, and for each cell the total it belongs to."""

    margin: Margin
    keys: tuple[tuple[Any, ...], ...]
    place: Indices

    @property
    def members(self) -> list[Indices]:
        """For each total its cells."""
        order = np.argsort(self.place, kind="stable")
        return np.split(order, np.searchsorted(self.place[order], np.arange(1, len(self.keys))))


def groups_of(margin: Margin, by: Sequence[str], domain: Domain, cells: Sequence[tuple[Any, ...]]) -> Groups:
    """The totals of a margin over cells with these keys. A containing column is looked up in the declared map; the pooled
    cell, which no map knows, keeps its own name."""
    contained = {h.column: (by.index(h.of), dict(h.containers)) for h in domain.hierarchies if h.of in by}
    looks = [(by.index(name), None) if name in by else contained[name] for name in margin]
    keys = [
        tuple(cell[k] if containers is None else containers.get(cell[k], cell[k]) for k, containers in looks)
        for cell in cells
    ]
    places: dict[tuple[Any, ...], int] = {}
    place = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    return Groups(margin, tuple(places), place)


def read_tiers(given: Any, question: Question) -> tuple[tuple[Margin, Fraction], ...]:
    """Which totals to measure, each with its part of epsilon: margins, or {margin: weight, ..., "cells": weight}.

    Without weights the parts are those of `best_parts`, in hundredths.
    """
    if given is None or (isinstance(given, (Sequence, Mapping)) and not given):
        return ()
    weights = given if isinstance(given, Mapping) else None
    others = {} if weights is None else dict(weights)
    rest = others.pop(CELLS, 1)
    names = given if weights is None else list(others)
    margins = read_margins(names, question.by, question.domain, "measure_totals")
    if question.nothing_adds_up:
        raise ReleaseError(question.nothing_adds_up)
    if weights is not None:
        numbers = [*map(weight_of, others.values()), weight_of(rest)]
        if len(margins) < len(names):
            raise ReleaseError("Two of the totals to measure are the same; name each once.")
        return tuple((margin, number / sum(numbers)) for margin, number in zip(margins, numbers, strict=False))
    sizes = [len(groups_of(margin, question.by, question.domain, question.cells).keys) for margin in margins]
    return tuple(zip(margins, best_parts([*sizes, len(question.cells)])[:-1], strict=True))


def measure_of(text: str) -> list[str] | dict[str, str]:
    """What to measure as the command line has it: total,district, or with weights total=1,district=2,cells=6.

    >>> measure_of("total=1, cells=6")
    {'total': '1', 'cells': '6'}
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not any("=" in name for name in names):
        return names
    wrong = (
        "The totals to measure are named once each, and their weights are numbers, such as total=1,district=2,cells=6."
    )
    return by_name([name if "=" in name else f"{name}=1" for name in names], ReleaseError(wrong), last=True)


def best_parts(sizes: Sequence[int]) -> list[Fraction]:
    """Parts of epsilon for tables of these sizes, for the least expected squared error of all of them together.

    The error of one report goes with 1/part^2, so that sum size/part^2 is least, under sum part = 1, where the parts go with
    the cube roots of the sizes. They are rounded to hundredths; the last, of the cells, takes the rest. (Fitting them together
    lowers the error further; the parts that are best for the fit are close to these, see docs/totals.md.)

    >>> best_parts([1, 240])
    [Fraction(7, 50), Fraction(43, 50)]
    """
    return _hundredths([size ** (1 / 3) for size in sizes])


def _hundredths(shares: Sequence[float]) -> list[Fraction]:
    """Numbers as parts of 1, in hundredths; the last takes the rest."""
    roots = [round(1000 * share) for share in shares]
    parts = [Fraction(max(1, round(_PARTS * root / sum(roots))), _PARTS) for root in roots[:-1]]
    if sum(parts) >= 1:
        raise ReleaseError(
            f"{len(parts)} tiers are too many to measure at once; measure fewer totals, or give weights."
        )
    return [*parts, 1 - sum(parts, Fraction(0))]


def best_rho_parts(sizes: Sequence[int], squares: Sequence[int]) -> list[Fraction]:
    """The same for parts of rho. The error of one report goes with squares/part, the squares being those of the moves that one
    unit makes in a table, so that the parts go with the roots of sizes times squares.

    >>> best_rho_parts([1, 240], [1, 1])
    [Fraction(3, 50), Fraction(47, 50)]
    """
    return _hundredths([size**0.5 * square**0.5 for size, square in zip(sizes, squares, strict=True)])


def largest_moves(place: Indices, most: int) -> tuple[int, ...]:
    """How often a unit in up to `most` groups lies in each of the totals that these belong to, where the squares add up to most: in
    all groups of the largest total, then in those of the next.

    >>> largest_moves(np.array([0, 0, 0, 1, 1, 2]), 4)
    (3, 1)
    """
    moves, left = [], most
    for size in sorted(np.bincount(place).tolist(), reverse=True):
        moves.append(min(size, left))
        left -= moves[-1]
        if not left:
            break
    return tuple(moves)
