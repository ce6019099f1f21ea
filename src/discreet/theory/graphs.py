"""The graph of a query: its answers, joined when neighbouring databases have them (Brenner and Nissim, FOCS 2010).

It says what one mechanism can do for many users. For a path, as of a count, the geometric mechanism is universally optimal
(Ghosh, Roughgarden and Sundararajan 2009); `discreet.theory.regret` computes how far other graphs are from that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import MetricError, PrivacyError, SizeError
from ..exact.arithmetic import show
from ..exact.level import Level
from ..exact.neighbours import Neighbours
from ..present.views import Result, View, plain

_MOST_DATABASES = 2**16
_DRAWN = 60  # answers that a picture has room for
_NEAR = 10  # neighbours of an answer that are printed
_MOST_PAIRS = 2**22  # of databases, put to a predicate


@dataclass(frozen=True, repr=False)
class Graph(Result):
    """The answers of a query, and which of them neighbouring databases can have."""

    vertices: tuple[Hashable, ...]
    edges: tuple[tuple[Hashable, Hashable], ...]

    def __post_init__(self) -> None:
        if not self.vertices or len(set(self.vertices)) != len(self.vertices):
            raise MetricError("A graph needs vertices, each named once; leave out the repeated ones.")
        known, seen = set(self.vertices), set()
        for u, v in self.edges:
            if u == v or u not in known or v not in known or frozenset((u, v)) in seen:
                raise MetricError(f"({show(u)}, {show(v)}) is no new edge between two vertices; give each edge once.")
            seen.add(frozenset((u, v)))

    @classmethod
    def of(cls, edges: Any) -> Graph:
        """A graph as it is, or the graph of a list of edges or of neighbours that are pairs."""
        if isinstance(edges, Graph):
            return edges
        if isinstance(edges, Neighbours):
            if not edges.links or not edges.is_plain:
                raise MetricError(f"A graph has pairs of answers and no more, not {edges}; give its edges.")
            edges = [[int(x) if x.denominator == 1 else x for x in link[:2]] for link in edges.links]
        pairs = _pairs(edges, "A graph is a list of edges, for example [(0, 1), (1, 2)]")
        return cls(_ordered(v for pair in pairs for v in pair), _distinct(pairs))

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """The edges, as positions in `vertices`."""
        place = {v: k for k, v in enumerate(self.vertices)}
        return tuple((place[u], place[v]) for u, v in self.edges)

    @cached_property
    def near(self) -> tuple[tuple[int, ...], ...]:
        """For each vertex its neighbours, as positions."""
        found: list[list[int]] = [[] for _ in self.vertices]
        for u, v in self.places:
            found[u].append(v)
            found[v].append(u)
        return tuple(tuple(sorted(line)) for line in found)

    @cached_property
    def distances(self) -> tuple[tuple[int, ...], ...]:
        """The number of edges between any two vertices; -1 where there is no way."""
        return tuple(self._distances_from(k) for k in range(len(self.vertices)))

    def _distances_from(self, start: int) -> tuple[int, ...]:
        found, ring = {start: 0}, [start]
        while ring:
            ring = [v for v in dict.fromkeys(v for u in ring for v in self.near[u]) if v not in found]
            found.update({v: 1 + min(found[u] for u in self.near[v] if u in found) for v in ring})
        return tuple(found.get(k, -1) for k in range(len(self.vertices)))

    @property
    def degree(self) -> int:
        """The largest number of neighbours of a vertex."""
        return max(len(line) for line in self.near)

    @property
    def is_connected(self) -> bool:
        return min(self._distances_from(0)) >= 0

    @property
    def is_tree(self) -> bool:
        """Connected, with one edge fewer than vertices: no cycle."""
        return self.is_connected and len(self.edges) == len(self.vertices) - 1

    @property
    def is_path(self) -> bool:
        """A tree without a fork. Only these serve all users with monotone losses (Brenner and Nissim 2010)."""
        return self.is_tree and self.degree <= 2

    def _title(self) -> str:
        kind = (
            "a path" if self.is_path else "a tree" if self.is_tree else "connected" if self.is_connected else "in parts"
        )
        return f"{len(self.vertices)} answers and {len(self.edges)} edges, {kind}"

    def view(self) -> View:
        rows = tuple(
            (str(v), ", ".join(str(self.vertices[k]) for k in near[:_NEAR]) + (", ..." if len(near) > _NEAR else ""))
            for v, near in zip(self.vertices, self.near, strict=True)
        )
        return View(self._title(), ("answer", "neighbours"), rows)

    def plot(self) -> Any:
        """The answers around a circle, joined where neighbouring databases have them."""
        from ..present import plot

        if len(self.vertices) > _DRAWN:
            raise SizeError(f"{len(self.vertices)} answers have no picture; draw a graph of at most {_DRAWN}.")
        serves = "One" if self.is_path else "No one"
        word = f"{serves} mechanism serves all users" if self.is_connected else "The answers and their neighbours"
        return plot.network([str(v) for v in self.vertices], self.places, word, self._title())

    def to_dict(self) -> dict[str, Any]:
        """The answers and the edges between them, numbers as they are."""
        return {"vertices": plain(self.vertices), "edges": plain(self.edges), "is_path": self.is_path}


def query_graph(databases: Iterable[Any], query: Callable[[Any], Hashable], neighbours: Any = "hamming") -> Graph:
    """The graph of a query on small databases: its answers, joined when two neighbouring databases have them.

    `neighbours` is "hamming" (databases are sequences of one length; neighbours differ in one record), a predicate of
    two databases, or a list of pairs of them.

    >>> import discreet as dt
    >>> from itertools import product
    >>> dt.theory.query_graph(product((0, 1), repeat=3), sum).is_path              # a count
    True
    >>> dt.theory.query_graph(product((0, 1, 2), repeat=2), sum).edges             # a sum of larger numbers
    ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4))
    """
    known = list(itertools.islice(databases, _MOST_DATABASES + 1))
    if len(known) > _MOST_DATABASES:
        raise SizeError(f"There are more than {_MOST_DATABASES} databases; a graph shows on fewer people: give fewer.")
    if not known:
        raise MetricError("There are no databases; give at least one, for example itertools.product((0, 1), repeat=3).")
    answers = [query(d) for d in known]
    if isinstance(neighbours, str):
        if neighbours != "hamming":
            raise MetricError(f'neighbours = {show(neighbours)} is not known; use "hamming", a predicate or pairs.')
        pairs = _one_record_apart(known, answers)
    elif callable(neighbours):
        if len(known) ** 2 > 2 * _MOST_PAIRS:
            raise SizeError(f'{len(known)} databases have too many pairs for a predicate; use "hamming" or pairs.')
        pairs = [
            (answers[i], answers[k])
            for i, k in itertools.combinations(range(len(known)), 2)
            if neighbours(known[i], known[k]) or neighbours(known[k], known[i])
        ]
    else:
        listed = _pairs(neighbours, "Neighbours are pairs of databases, for example [((0, 0), (0, 1))]")
        pairs = [(query(u), query(v)) for u, v in listed]
        answers += [x for pair in pairs for x in pair]
    return Graph(_ordered(answers), _distinct(pairs))


def _one_record_apart(known: list[Any], answers: list[Hashable]) -> list[tuple[Hashable, Hashable]]:
    try:
        records = [tuple(d) for d in known]
    except TypeError:
        raise MetricError('Neighbours "hamming" need databases that are sequences of records; give tuples.') from None
    if any(len(r) != len(records[0]) for r in records):
        raise MetricError('Neighbours "hamming" need databases of one length; use a predicate for those that grow.')
    groups: dict[Any, dict[Hashable, None]] = {}
    for record, answer in zip(records, answers, strict=True):
        for k in range(len(record)):  # all that agree but for record k
            groups.setdefault((k, record[:k], record[k + 1 :]), {})[answer] = None
    return [pair for group in groups.values() for pair in itertools.combinations(group, 2)]


def _pairs(given: Any, message: str) -> list[tuple[Any, Any]]:
    if isinstance(given, Mapping):  # its values would be lost without a word
        raise MetricError(f"{message}; a mapping says more than pairs: give list(...) of it if its keys are meant.")
    try:
        pairs = [tuple(pair) for pair in given]
    except TypeError:
        raise MetricError(f"{message}, not {show(given)}.") from None
    if not pairs or any(len(pair) != 2 for pair in pairs):
        raise MetricError(f"{message}; got {show(pairs)}.")
    return [(u, v) for u, v in pairs]


def _ordered(answers: Iterable[Any]) -> tuple[Hashable, ...]:
    return tuple(_sorted(dict.fromkeys(answers)))


def _sorted(found: Iterable[Any]) -> list[Any]:
    kept = list(found)
    try:
        return sorted(kept)
    except TypeError:  # answers that have no order stay in the order in which they came
        return kept


def _distinct(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Hashable, Hashable], ...]:
    edges: dict[Any, Any] = {frozenset(pair): _ordered(pair) for pair in pairs if pair[0] != pair[1]}
    return tuple((edge[0], edge[1]) for edge in _sorted(edges.values()))


def tree_mechanism(graph: Any, *, alpha: object = None, epsilon: object = None) -> tuple[tuple[Fraction, ...], ...]:
    """The geometric mechanism of a tree: Pr[report v | truth i] = a^dist(v, i) (1 - a (deg v - 1)) / (1 + a), exactly.

    Its rows sum to 1 on every tree, and it keeps alpha along every edge. It is a mechanism if and only if no weight is
    negative, that is a <= 1/(maxdeg - 1): on a path always, where it is the truncated geometric mechanism of Ghosh et al.
    (2009). In trials it was the best for the 0-1 loss and every prior; that is not proved here.
    """
    tree, a = Graph.of(graph), Level.of(alpha=alpha, epsilon=epsilon).alpha
    if not tree.is_tree or len(tree.vertices) < 2:
        raise MetricError("The graph is no tree of two or more answers; `regret` takes any connected graph.")
    weights = [(1 - a * (len(line) - 1)) / (1 + a) for line in tree.near]
    if min(weights) < 0:
        raise PrivacyError(
            f"An answer with {tree.degree} neighbours leaves a negative weight at alpha = {a}; "
            f"ask for alpha <= 1/{tree.degree - 1}.",
            witness=tree.vertices[weights.index(min(weights))],
        )
    return tuple(tuple(w * a**d for w, d in zip(weights, line, strict=True)) for line in tree.distances)
