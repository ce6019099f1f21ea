"""Between which true values is a level claimed? One value, and the one reading of what people write for it.

A mechanism holds its neighbours and files write them down; wherever `neighbours=` is given, it is read here:

    3, Neighbours.steps(3)             all true values at most three steps of the grid apart
    "any", Neighbours.any()            any two (local privacy)
    [(0, 1), (1, 2)], .pairs(...)      the edges of a graph, by their true values; a Graph of `query_graph` too
    {0: [1, 2], 1: [2]}, .adjacency()  the neighbours of each value, by either of the two; or a list of them, in the grid's order
    a matrix of 0 and 1                1 joins neighbours, 0 demands nothing
    {(0, 1): "1/10"}                   some pairs, each at its distance d: probabilities differ by at most alpha^-d
    a square matrix, .distances(...)   the distance of every two values of the grid, in its order (inf: no demand)
    Path("graph.csv")                  a file with the columns from and to (and distance), or with a matrix; in JSON any of the
                                       above, or {"pairs": ...}, {"adjacency": ...}, {"distances": ...} to say which

Nothing is guessed. Two lists of two numbers on a grid of two values may be two pairs or a matrix of distances, and lists of two
on as many values as there are lists may be pairs or the neighbours of each value: where both readings make sense and differ,
they are refused with a sentence that names the two spellings. So is a matrix of 0 and 1 that could be one of distances: 0 within
classes of values, 1 between them. Tuples of two are pairs. What a graph was read as is printed with
every verdict on it.
"""

from __future__ import annotations

import itertools
import math
import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ..errors import MetricError, SizeError
from .arithmetic import parse_exact, show
from .grid import Grid
from .small_files import Sheet, did_you_mean_file, file_name, is_file, read_small
from .written import misread

_MOST_PAIRS = 2**21  # looked at one by one
_NEXT = Fraction(1, 2**20)  # steps: a float, or a short decimal, that stands for a value of the grid
_PAIRS = "Neighbours are a list of pairs of true values, for example [(0, 1), (1, 2)]"
_IN_FILES = ', and in a file {"pairs": ...}, {"adjacency": ...} or {"distances": ...}'
_NOTHING = "These distances demand nothing: every pair is infinitely far apart. Give some finite ones."
_ADJACENCY = "The neighbours of each value are a mapping such as {0: [1, 2], 1: [2]}, or a list of them for each value of the grid"

Link = tuple[Fraction, Fraction, Fraction]  # two true values and their distance
Demand = tuple[int, int, Fraction]  # two positions and the distance at which alpha^-distance is allowed


@dataclass(frozen=True)
class Neighbours:
    """Who is a neighbour of whom, and how far apart: `steps`, `pairs`, `distances` or `any`.

    `reach` is a number of steps; `links` are pairs of true values with their distances; `table` has the distance of
    every two values of a grid, None where nothing is demanded. `read_as` says how it was written.

    >>> import discreet as dt
    >>> dt.check_privacy(dt.geometric(4, alpha="1/2"), alpha="1/4", neighbours=dt.Neighbours.pairs([(0, 2), (1, 3)])).holds
    True
    """

    kind: Literal["steps", "pairs", "distances", "any"]
    reach: int | None = None
    links: tuple[Link, ...] = ()
    table: tuple[tuple[Fraction | None, ...], ...] = ()
    read_as: str = field(default="", compare=False)

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
        return cls("pairs", links=links, read_as="pairs")

    @classmethod
    def adjacency(cls, given: Any, grid: Grid | None = None) -> Neighbours:
        """The neighbours of each value: {value: its neighbours}; a list of them for each value of a grid, by default 0, 1, 2, ...;
        or a square matrix of 0 and 1, where 1 joins neighbours. Two are neighbours where either names the other.

        >>> str(Neighbours.adjacency({0: [1, 2], 1: [2]}))
        'a graph of neighbours (3 pairs, given by the neighbours of each value)'
        """
        if isinstance(given, Mapping):
            return cls._adjacent(list(given.items()))
        rows = _listed(given)
        if not all(isinstance(row, (list, tuple, set, frozenset)) for row in rows):
            raise MetricError(f"{_ADJACENCY}, not {show(given)}.")
        values = Grid.of(max(len(rows) - 1, 1)) if grid is None else grid
        if len(rows) != values.size:
            raise MetricError(f"{_ADJACENCY}; there are {len(rows)} of them, and {values} has {values.size} values.")
        named = [Fraction(values.value(k)) for k in range(len(rows))]
        if len(rows) > 1 and all(isinstance(row, (list, tuple)) and len(row) == len(rows) for row in rows):
            return cls._joined(rows, named)
        return cls._adjacent(list(zip(named, rows, strict=True)))

    @classmethod
    def _adjacent(cls, near: list[tuple[Any, Any]]) -> Neighbours:
        """Each value with those next to it."""
        for value, others in near:
            if isinstance(others, (str, bytes, Mapping)) or not isinstance(others, Iterable):
                raise MetricError(f"{_ADJACENCY}; of {show(value)} there is {show(others)}.")
        pairs = {frozenset(_pair((value, other))) for value, others in near for other in others}
        if not pairs:
            raise MetricError(f"{_ADJACENCY}; no value has a neighbour.")
        links = tuple((*sorted(pair), Fraction(1)) for pair in sorted(pairs, key=sorted))
        return cls("pairs", links=links, read_as="the neighbours of each value")  # type: ignore[arg-type]

    @classmethod
    def _joined(cls, rows: list[Any], values: list[Fraction]) -> Neighbours:
        """A matrix of 0 and 1, in the order of the values."""
        if not _are_zeros_and_ones(rows):
            raise MetricError(
                "A matrix that joins neighbours has 0 and 1 alone; give distances as dt.Neighbours.distances(...)."
            )
        ones = [[parse_exact(_number(x)) == 1 for x in row] for row in rows]
        for i, k in itertools.combinations_with_replacement(range(len(rows)), 2):
            if ones[i][k] != ones[k][i] or (i == k and ones[i][i]):
                raise MetricError(
                    f"Row {i}, column {k} of the matrix is {int(ones[i][k])} and row {k}, column {i} is {int(ones[k][i])}; "
                    "neighbours are so both ways, and no value is its own."
                )
        links = tuple(
            (values[i], values[k], Fraction(1)) for i, k in itertools.combinations(range(len(rows)), 2) if ones[i][k]
        )
        if not links:
            raise MetricError("A matrix of zeros joins nobody; write 1 where two values are neighbours.")
        return cls("pairs", links=links, read_as="a matrix of 0 and 1")

    @classmethod
    def distances(cls, given: Any) -> Neighbours:
        """A mapping {(u, v): distance} of some pairs, or a square matrix with the distance of every two values."""
        if isinstance(given, Mapping):
            return cls("distances", links=_links(given), read_as="distances of some pairs")
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
        return cls("distances", table=table, read_as="a matrix of distances")

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
            hint = did_you_mean_file(given) if isinstance(given, str) else ""
            raise MetricError(
                f'neighbours = {show(given)} is not known; use "any", "line", a number of steps, pairs or distances{hint}.'
            )
        if is_file(given):
            found = cls._in_file(given, grid)
            return replace(found, read_as=f"{found.read_as} in {file_name(given)}")
        if isinstance(given, Mapping):
            near = given and not any(isinstance(key, (tuple, frozenset)) for key in given)
            return cls.adjacency(given) if near and _are_lists(given.values()) else cls.distances(given)
        if isinstance(given, (numbers.Number, np.generic)):
            return cls.steps(given)
        rows = _listed(_edges(given))
        of_two = all(isinstance(row, (tuple, set, frozenset)) and len(row) == 2 for row in rows)
        square = len(rows) == grid.size and all(
            isinstance(row, (list, tuple)) and len(row) == len(rows) for row in rows
        )
        if not square and len(rows) == grid.size and _are_lists(rows) and not all(isinstance(x, tuple) for x in rows):
            if any(len(row) != 2 for row in rows):
                return cls.adjacency(rows, grid)
            return cls._either(
                rows, grid, lambda rows: cls.adjacency(rows, grid), "the neighbours of each value", "adjacency"
            )
        if of_two or not square:
            return cls.pairs(rows)
        if len(rows) == 2:
            return cls._either(rows, grid, cls.distances, "a matrix of distances", "distances")
        if _are_zeros_and_ones(rows) and _may_join(rows):
            if _are_classes(rows):
                raise MetricError(
                    f"This matrix of 0 and 1 on {grid} may join neighbours, or hold distances (0 between values that must not be "
                    "told apart at all), and these differ; write dt.Neighbours.adjacency(...) for neighbours, "
                    f"dt.Neighbours.distances(...) for distances{_IN_FILES}."
                )
            return cls.adjacency(rows, grid)
        return cls.distances(rows)

    @classmethod
    def _either(
        cls, rows: list[Any], grid: Grid, other: Callable[[Any], Neighbours], words: str, spelling: str
    ) -> Neighbours:
        """Lists of two: pairs or something else, where only one makes sense or both say the same."""
        found = []
        for reading in (other, cls.pairs):
            try:
                read = reading(rows)
                found.append((read, set(read.demands(grid))))
            except MetricError:
                continue
        nearly = len(found) == 1 and found[0][0].kind == "distances" and _are_nearly_values(rows, grid)
        if nearly or (len(found) == 2 and found[0][1] != found[1][1]):
            raise MetricError(
                f"{show(rows)} may be pairs of true values or {words} on {grid}, and these differ; write "
                f"dt.Neighbours.pairs([(0, 5)]) for pairs of true values, dt.Neighbours.{spelling}(...) for {words}{_IN_FILES}."
            )
        return found[0][0] if found else (cls.distances(rows) if len(rows) == 2 else cls.pairs(rows))  # what is wrong

    @classmethod
    def _in_file(cls, path: Any, grid: Grid) -> Neighbours:
        """What a file says: CSV with a heading or a matrix; JSON as one would write it here."""
        example = "a line from,to and then a line for each pair, such as 0,1"
        found, name = read_small(path, "the neighbours", example, MetricError), file_name(path)
        if isinstance(found, Sheet) and found.heading is not None:
            names = [part.lower() for part in found.heading]
            if names not in (["from", "to"], ["from", "to", "distance"]):
                raise MetricError(
                    f"The columns of {name} are called {', '.join(map(show, found.heading))}; call them from and to, or from, to "
                    "and distance."
                )
            if any(len(line) != len(names) for line in found.lines):
                raise MetricError(f"Some line of {name} has not {len(names)} cells; give each line a pair.")
            if len(names) == 2:
                return cls.pairs([line[:2] for line in found.lines])
            if len({line[:2] for line in found.lines}) < len(found.lines):
                raise MetricError(f"{name} has a pair twice; give each its one distance.")
            return cls.distances({line[:2]: line[2] for line in found.lines})
        if isinstance(found, Sheet):
            return cls.of([list(line) for line in found.lines], grid)
        kinds = {"pairs": cls.pairs, "adjacency": lambda rows: cls.adjacency(rows, grid), "distances": cls.distances}
        if isinstance(found, dict) and len(found) == 1 and next(iter(found)) in kinds:
            kind, found = next(iter(found.items()))
            return kinds[kind](found)
        return cls.of(found, grid)

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
                return replace(Neighbours.pairs(list(values)), read_as=self.read_as)
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
        one = Fraction(1)
        for i in range(n + 1):
            for k in range(i + 1, min(i + reach, n) + 1):
                yield i, k, one
                yield k, i, one

    def places(self, grid: Grid) -> tuple[tuple[int, int], ...]:
        """The pairs as positions, each once and in order, where nothing but pairs is meant."""
        if not self.is_plain:
            raise MetricError(
                "Mechanisms are made for neighbours, not for distances other than 1. A level by distances (metric privacy) can "
                "only be checked: dt.check_privacy(m, epsilon=..., neighbours=...)."
            )
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
                count = len({frozenset(link[:2]) for link in self.links})
                many = f"{count} pair{'s' if count > 1 else ''}"
                return (
                    f"a graph of neighbours ({many}, {_given_as(self.read_as)})"
                    if self.read_as
                    else "a graph of neighbours"
                )
            case "distances":
                told = "a matrix of distances" if self.table else "distances between some values"
                return f"{told}, as in {self.read_as.rpartition(' in ')[2]}" if " in " in self.read_as else told
        return "any two values"


def _given_as(what: str) -> str:
    return f"given as {what}" if what.startswith("pairs") else f"given by {what}"


def _are_lists(items: Iterable[Any]) -> bool:
    return all(isinstance(item, (list, tuple, set, frozenset)) for item in items)


def _number(value: Any) -> Any:
    """A truth value as the number that it stands for."""
    return int(value) if isinstance(value, (bool, np.bool_)) else value


def _are_zeros_and_ones(rows: Iterable[Any]) -> bool:
    return all(parse_exact(_number(x)) in (0, 1) for row in rows for x in row)


def _may_join(rows: list[Any]) -> bool:
    """Is some pair joined and some other not?"""
    return {parse_exact(_number(x)) for i, row in enumerate(rows) for x in row[:i]} == {0, 1}


def _are_classes(rows: list[Any]) -> bool:
    """Are zeros and ones distances too: is 0 the distance within classes of values, and 1 that between them?"""
    same = [frozenset(k for k, x in enumerate(row) if parse_exact(_number(x)) == 0) for row in rows]
    return all(same[k] == own for own in same for k in own)


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


# steps, "any" or "line", pairs, the neighbours of each value, {pair: distance}, a matrix, or a file of one of them
NeighboursLike = int | str | os.PathLike[str] | Neighbours | Iterable[Any]
