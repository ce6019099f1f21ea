"""Between which true values is a level claimed? One value, and the one reading of what people write for it.

A mechanism holds its neighbours and files write them down; wherever `neighbours=` is given, it is read here:

    3, Neighbours.steps(3)             all true values at most three steps of the grid apart
    "any", Neighbours.any()            any two (local privacy)
    [(0, 1), (1, 2)], .pairs(...)      the edges of a graph, by their true values; a Graph of `query_graph` too
    {(0, 1): "1/10"}                   some pairs, each at its distance d: probabilities differ by at most alpha^-d
    a square matrix, .distances(...)   the distance of every two values of the grid, in its order (inf: no demand)

Nothing is guessed. Two lists of two numbers on a grid of two values may be two pairs or a matrix of distances: where both
readings make sense and differ, they are refused with a sentence that names the two spellings. Tuples of two are pairs.
"""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..errors import MetricError, SizeError
from .arithmetic import parse_exact, show
from .grid import Grid
from .written import misread

_MOST_PAIRS = 2**21  # looked at one by one
_NEXT = Fraction(1, 2**20)  # steps: a float, or a short decimal, that stands for a value of the grid
_PAIRS = "Neighbours are a list of pairs of true values, for example [(0, 1), (1, 2)]"
_NOTHING = "These distances demand nothing: every pair is infinitely far apart. Give some finite ones."
_SPELLINGS = "write Neighbours.pairs([(0, 5)]) for pairs of true values, Neighbours.distances(...) for a matrix"

Link = tuple[Fraction, Fraction, Fraction]  # two true values and their distance
Demand = tuple[int, int, Fraction]  # two positions and the distance at which alpha^-distance is allowed


@dataclass(frozen=True)
class Neighbours:
    """Who is a neighbour of whom, and how far apart: `steps`, `pairs`, `distances` or `any`.

    `reach` is a number of steps; `links` are pairs of true values with their distances; `table` has the distance of
    every two values of a grid, None where nothing is demanded.

    >>> import discreet as dt
    >>> dt.check_privacy(dt.geometric(4, alpha="1/2"), alpha="1/4", neighbours=dt.Neighbours.pairs([(0, 2), (1, 3)])).holds
    True
    """

    kind: Literal["steps", "pairs", "distances", "any"]
    reach: int | None = None
    links: tuple[Link, ...] = ()
    table: tuple[tuple[Fraction | None, ...], ...] = ()

    @classmethod
    def steps(cls, number: Any) -> Neighbours:
        """All true values at most `number` steps of the grid apart."""
        odd = misread(number, whole=True)
        if odd is not None:
            raise MetricError(f"The number of steps {show(number)} {odd}.")
        steps = parse_exact(number)
        if steps is None or steps.denominator != 1 or steps < 1:
            raise MetricError(f"{show(number)} is not a number of steps between neighbours; give 1 or more.")
        return cls("steps", reach=int(steps))

    @classmethod
    def any(cls) -> Neighbours:
        """Any two true values."""
        return cls("any")

    @classmethod
    def line(cls, grid: Grid) -> Neighbours:
        """Any two true values of a grid, as far apart as their difference.

        Distances add along the grid and ratios multiply, so that those of one step say it all.
        """
        if grid.step == 1:
            return cls.steps(1)
        if grid.n is None or grid.n > _MOST_PAIRS:
            raise MetricError(
                f"The line through {grid} has too many steps to be listed; give both ends, or a step of 1."
            )
        ends = [Fraction(grid.value(k)) for k in range(grid.n + 1)]
        return cls("distances", links=tuple((a, b, grid.step) for a, b in itertools.pairwise(ends)))

    @classmethod
    def pairs(cls, edges: Any) -> Neighbours:
        """These pairs of true values, one apart, in either order."""
        links = tuple((*_pair(edge), Fraction(1)) for edge in _listed(_edges(edges)))
        if not links:
            raise MetricError(f"{_PAIRS}; there is none.")
        return cls("pairs", links=links)

    @classmethod
    def distances(cls, given: Any) -> Neighbours:
        """A mapping {(u, v): distance} of some pairs, or a square matrix with the distance of every two values."""
        if isinstance(given, Mapping):
            return cls("distances", links=_links(given))
        rows = _listed(given)
        if any(not isinstance(row, (list, tuple)) or len(row) != len(rows) for row in rows):
            raise MetricError(
                "A matrix of distances has a row and a column for each true value; give a square one, "
                "or {(0, 1): distance} for some pairs."
            )
        if len(rows) ** 2 > _MOST_PAIRS:
            raise MetricError(
                f"A matrix of distances between {len(rows)} values has too many pairs to check one by one."
            )
        table = tuple(tuple(_distance(x, i, k) for k, x in enumerate(row)) for i, row in enumerate(rows))
        for i, k in itertools.combinations_with_replacement(range(len(rows)), 2):
            if table[i][k] != table[k][i] or (i == k and table[i][i] != 0):
                raise MetricError(
                    f"Row {i}, column {k} of the distances is {show(rows[i][k])} and row {k}, column {i} is "
                    f"{show(rows[k][i])}; a distance is the same both ways, and 0 from a value to itself."
                )
        if all(x is None for i, row in enumerate(table) for x in row[:i]):
            raise MetricError(_NOTHING)
        return cls("distances", table=table)

    @classmethod
    def of(cls, given: Any, grid: Grid) -> Neighbours:
        """What someone wrote for the neighbours among the true values of a grid: the one reading, without a guess."""
        if isinstance(given, Neighbours):
            return given
        if isinstance(given, (str, bytes)):
            if given == "any":
                return cls.any()
            if given == "line":
                return cls.line(grid)
            if parse_exact(given) is not None:
                return cls.steps(given)
            raise MetricError(
                f'neighbours = {show(given)} is not known; use "any", "line", a number of steps, pairs or distances.'
            )
        if isinstance(given, Mapping):
            return cls.distances(given)
        if isinstance(given, (numbers.Number, np.generic)):
            return cls.steps(given)
        rows = _listed(_edges(given))
        of_two = all(isinstance(row, (tuple, set, frozenset)) and len(row) == 2 for row in rows)
        square = len(rows) == grid.size and all(
            isinstance(row, (list, tuple)) and len(row) == len(rows) for row in rows
        )
        if of_two or not square:
            return cls.pairs(rows)
        return cls.distances(rows) if len(rows) > 2 else cls._either(rows, grid)

    @classmethod
    def _either(cls, rows: list[Any], grid: Grid) -> Neighbours:
        """Two lists of two numbers on two values: pairs or a matrix, where only one makes sense or both say the same."""
        found = []
        for reading in (cls.distances, cls.pairs):
            try:
                read = reading(rows)
                found.append((read, set(read.demands(grid))))
            except MetricError:
                continue
        nearly = len(found) == 1 and found[0][0].kind == "distances" and _are_nearly_values(rows, grid)
        if nearly or (len(found) == 2 and found[0][1] != found[1][1]):
            raise MetricError(
                f"{show(rows)} may be pairs of true values or a matrix of distances on {grid}, and these differ; "
                f"{_SPELLINGS}."
            )
        return found[0][0] if found else cls.distances(rows)  # which says what is wrong with it

    @property
    def is_plain(self) -> bool:
        """Is every distance 1, so that there are neighbours and no more?"""
        listed = [d for *_, d in self.links] + [d for i, row in enumerate(self.table) for d in row[:i] if d is not None]
        return all(d == 1 for d in listed)

    def span(self, grid: Grid) -> int | None:
        """The number of steps, where all true values at most so many steps apart are meant; None for pairs and distances."""
        self._fit(grid)
        if self.kind == "any" and grid.n is None:
            raise MetricError(
                "On an open grid two values may be any distance apart, and no noise hides that; "
                "truncate the mechanism first, or give a number of steps."
            )
        reach = grid.n if self.kind == "any" else self.reach
        return reach if grid.n is None or reach is None else min(reach, grid.n)

    def _fit(self, grid: Grid) -> None:
        if not grid.is_ordered and self.kind != "any":
            raise MetricError(
                'Names have no order and no distances, so that any two are neighbours; give neighbours="any", or leave it out.'
            )

    def farthest(self, grid: Grid) -> int | None:
        """How many steps apart the farthest neighbours are; None where they have distances."""
        if not self.is_plain:
            return None
        span = self.span(grid)
        return max(abs(i - k) for i, k, _ in self.demands(grid)) if span is None else span

    def reduced(self, grid: Grid) -> Neighbours:
        """The same neighbours in their shortest form: what demands the same of the same pairs at distance 1 is one value.

        Pairs that are all pairs at most so many steps apart are those steps, and the steps of a whole grid any two.
        """
        span = self.span(grid)
        if span is None:
            links = sorted((i, k, d) for i, k, d in self.demands(grid) if i < k)
            values = {(grid.value(i), grid.value(k)): d for i, k, d in links}
            if any(d != 1 for d in values.values()):
                return Neighbours.distances(values)
            span = max(k - i for i, k, _ in links)
            if grid.n is None or len(links) != span * (grid.n + 1) - span * (span + 1) // 2:
                return Neighbours.pairs(list(values))
        return Neighbours.any() if span == grid.n else Neighbours.steps(span)

    def within(self, grid: Grid) -> Neighbours:
        """Those of them that are values of a smaller grid."""
        if self.span(grid) is not None or self.table:
            return self
        links = tuple(link for link in self.links if None not in (grid.place(link[0]), grid.place(link[1])))
        if not links:
            raise MetricError(f"None of the pairs of neighbours lies in {grid}; choose ends that leave some.")
        return Neighbours(self.kind, links=links)

    def written(self, grid: Grid) -> dict[str, Any]:
        """As a mechanism's file has them: pairs by their positions on the grid of true values."""
        if self.kind in ("steps", "any"):
            return {"kind": self.kind} | ({} if self.reach is None else {"steps": self.reach})
        links = sorted((i, k, d) for i, k, d in self.demands(grid) if i < k)
        part = {"kind": self.kind, "pairs": " ".join(f"{i} {k}" for i, k, _ in links)}
        return part if self.kind == "pairs" else {**part, "distances": " ".join(str(d) for *_, d in links)}

    @classmethod
    def read(cls, part: Mapping[str, Any], grid: Grid) -> Neighbours:
        """What `written` wrote; verify.py has checked every field before."""
        match part["kind"]:
            case "steps":
                return cls.steps(int(part["steps"]))
            case "any":
                return cls.any()
        places = [grid.value(int(place)) for place in part["pairs"].split()]
        pairs = list(zip(places[::2], places[1::2], strict=True))
        if part["kind"] == "pairs":
            return cls.pairs(pairs)
        return cls.distances(dict(zip(pairs, part["distances"].split(), strict=True)))

    def demands(self, grid: Grid) -> Iterator[Demand]:
        """Every pair of positions that something is demanded of, both ways round, with its distance.

        For steps and any two values a channel knows the worst pair itself; written out they must be few.
        """
        self._fit(grid)
        if self.kind in ("steps", "any"):
            yield from self._near(grid)
        elif self.table:
            if len(self.table) != grid.size:
                size = "no end" if grid.size is None else grid.size
                raise MetricError(f"The distances are between {len(self.table)} values, but {grid} has {size}.")
            for i, k in itertools.permutations(range(len(self.table)), 2):
                distance = self.table[i][k]
                if distance is not None:
                    yield i, k, distance
        else:
            known: dict[tuple[int, int], Fraction] = {}
            for u, v, distance in self.links:
                i, k = _places(grid, u, v)
                if known.setdefault((min(i, k), max(i, k)), distance) != distance:
                    raise MetricError(f"The values {u} and {v} have two distances; give one.")
            for (i, k), distance in known.items():
                yield i, k, distance
                yield k, i, distance

    def _near(self, grid: Grid) -> Iterator[Demand]:
        n = grid.n
        if n is None:
            raise SizeError(f"The pairs of {grid} cannot be written out one by one; give both ends.")
        reach = n if self.reach is None else min(self.reach, n)
        if (n + 1) * reach > _MOST_PAIRS:
            raise SizeError(f"{grid} has too many pairs of neighbours to write out; use a coarser grid.")
        for i in range(n + 1):
            for k in range(i + 1, min(i + reach, n) + 1):
                yield i, k, Fraction(1)
                yield k, i, Fraction(1)

    def places(self, grid: Grid) -> tuple[tuple[int, int], ...]:
        """The pairs as positions, each once and in order, where nothing but pairs is meant."""
        if not self.is_plain:
            raise MetricError("Distances other than 1 say more than who is a neighbour; give the pairs alone.")
        return tuple(sorted({(i, k) for i, k, _ in self.demands(grid) if i < k}))

    def words(self, grid: Grid) -> str:
        """For people, in the units of the grid."""
        span = self.span(grid)
        if span is None:
            return str(self)
        return "any two values" if span == grid.n else f"neighbours at most {span * grid.step} apart"

    def __str__(self) -> str:
        match self.kind:
            case "steps":
                return f"neighbours at most {'one step' if self.reach == 1 else f'{self.reach} steps'} apart"
            case "pairs":
                return "a graph of neighbours"
            case "distances":
                return "a matrix of distances" if self.table else "distances between some values"
        return "any two values"


def _edges(given: Any) -> Any:
    """The edges of a graph of ours; anything else as it is."""
    edges = getattr(given, "edges", None)
    if edges is None or isinstance(given, Neighbours):
        return given
    if not isinstance(edges, tuple):  # a graph of another library may hold weights, or vertices that look like pairs
        raise MetricError(f"{_PAIRS}; of another library's graph give list(graph.edges).")
    return edges


def _listed(given: Any) -> list[Any]:
    """The items of a list, set, iterator, array or data frame; rows of the latter two as lists of plain numbers."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise MetricError(f"{_PAIRS}, not {show(given)}.")
    if hasattr(given, "to_numpy"):  # a data frame would iterate over its columns' names
        given = given.to_numpy()
    if isinstance(given, np.ma.MaskedArray) or (isinstance(given, np.ndarray) and given.ndim != 2):
        raise MetricError("An array of neighbours has two dimensions and no masked entry; give a plain one.")
    items = itertools.islice(given.tolist() if isinstance(given, np.ndarray) else given, _MOST_PAIRS + 1)
    found = [item.tolist() if isinstance(item, np.ndarray) else item for item in items]
    if len(found) > _MOST_PAIRS:
        raise MetricError(f"More than {_MOST_PAIRS} pairs are too many to check one by one; give fewer.")
    return found


def _pair(edge: Any) -> tuple[Fraction, Fraction]:
    if not isinstance(edge, (tuple, list, set, frozenset)) or len(edge) != 2:
        raise MetricError(f"{_PAIRS}; {show(edge)} is not a pair.")
    first, second = (parse_exact(x) for x in edge)
    if first is None or second is None:
        raise MetricError(f"{show(edge)} is not a pair of numbers; name values of the grid.")
    if first == second:
        raise MetricError(f"{show(edge)} is one value; give pairs of two different values.")
    return first, second


def _links(given: Mapping[Any, Any]) -> tuple[Link, ...]:
    links = []
    for pair, value in given.items():
        if not isinstance(pair, (tuple, frozenset)):
            raise MetricError(
                f"Distances between some values are a mapping such as {{(0, 1): '1/10'}}; {show(pair)} is not a pair."
            )
        first, second = _pair(pair)
        distance = _distance(value, first, second)
        if distance is not None:
            links.append((first, second, distance))
    if not links:
        raise MetricError(_NOTHING)
    return tuple(links)


def _distance(value: Any, first: Any, second: Any) -> Fraction | None:
    """A distance, exactly; None when it is infinite: nothing is demanded."""
    if _is_infinite(value):
        return None
    distance = parse_exact(value)
    if distance is None or distance < 0:
        raise MetricError(f"The distance between {first} and {second} is {show(value)}; give a number >= 0, or inf.")
    return distance


def _is_infinite(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() == "inf"
    try:
        return not isinstance(value, numbers.Rational) and math.isinf(value) and value > 0
    except (TypeError, ValueError, OverflowError):
        return False


def _are_nearly_values(rows: list[Any], grid: Grid) -> bool:
    """Is each next to a value of the grid? 0.333333 is not 1/3, but whoever writes it may well mean that value."""
    numbers = [parse_exact(x) for row in rows for x in row]
    steps = [None if x is None else (x - grid.anchor) / grid.step for x in numbers]
    return all(s is not None and abs(s - round(s)) <= _NEXT and 0 <= round(s) <= 1 for s in steps)


def _places(grid: Grid, first: Fraction, second: Fraction) -> tuple[int, int]:
    places = grid.place(first), grid.place(second)
    if places[0] is None or places[1] is None:
        off = first if places[0] is None else second
        raise MetricError(f"{off} is not a value of {grid}; name values of the grid.")
    return places[0], places[1]


NeighboursLike = int | str | Neighbours | Iterable[Any]  # steps, "any" or "line", pairs, {pair: distance} or a matrix
