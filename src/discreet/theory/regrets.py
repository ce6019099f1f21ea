"""Can one mechanism serve every user of a query? The graph of its answers decides; how far off it is, a linear program.

The answers of a query are the vertices of a graph; two are joined when neighbouring databases have them (Brenner and
Nissim, Impossibility of differentially private universally optimal mechanisms, FOCS 2010). If the graph is a path, as for
a count, the geometric mechanism is universally optimal: followed by the user's own remap it is as good, for every prior
and every loss that grows with the distance, as the best mechanism for that user alone (Ghosh, Roughgarden and
Sundararajan 2009). If the graph has a cycle or a vertex of degree 3, there is no universally optimal mechanism, with one
qualification that `graphs.tree_mechanism` shows: on a tree the 0-1 loss seems to be served below a threshold of alpha (in trials).

`regret` computes what is lost. A report's column x of probabilities lies in the cone x_u >= a x_v (all edges). Its extreme
rays are x = a^h for integer heights h that differ by at most 1 along edges, where the edges that differ by exactly 1
connect all vertices. A mechanism is a choice of weights w >= 0 on the rays with sum_x w_x x = 1, and a user who remaps
well loses sum_x w_x c(x) with c(x) = min_j sum_i p_i x_i l(i, j): linear in w. So the best mechanism for one user, and the
one whose worst regret over many users is least, are linear programs. A float solver suggests the answers; what is
returned is proved from them in integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, LossError, MetricError, SizeError
from ..exact.arithmetic import show, show_above, show_below
from ..exact.grid import Grid
from ..exact.level import Level, LevelLike
from ..lp import Optimum, Program, dense
from ..measure.loss import Loss, loss_name, loss_of
from ..measure.prior import Prior, prior_of
from ..present.views import Result, View, plain
from .graphs import Graph

Floats = NDArray[np.float64]
Integers = NDArray[Any]

_MOST_RAYS = 2**12
_MOST_STEPS = 2**18  # partial heights tried on the way to the rays
_MOST_COSTS = 2**20  # rays times users
_BITS = 80  # of the fixed point in which a solver's floats are read
_ONE = 1 << _BITS


@dataclass(frozen=True, eq=False, repr=False)
class Regret(Result):
    """How far the best single mechanism is from serving every user: certainly from `lower` to `upper`.

    `columns` is a mechanism that attains `upper`, exactly: for each report its probabilities over the answers. `worst`
    is the position of a user who loses most by it; `optima[k]` bounds from below what user k's own best mechanism loses.
    """

    graph: Graph
    level: Level
    lower: Fraction
    upper: Fraction
    columns: tuple[tuple[Fraction, ...], ...]
    worst: int
    losses: tuple[Fraction, ...]
    optima: tuple[Fraction, ...]

    @property
    def is_positive(self) -> bool:
        """Proved: no private mechanism is the best for all of these users at once."""
        return self.lower > 0

    def view(self) -> View:
        told = f"{len(self.losses)} users at {self.level}"
        if self.is_positive:
            return View(
                f"no mechanism serves all {told}: the best leaves some user a regret between "
                f"{show_below(self.lower)} and {show_above(self.upper)}"
            )
        return View(f"one mechanism serves all {told}, up to a regret of {show_above(self.upper, 2)}")

    def rows(self) -> list[dict[str, Any]]:
        """What each user loses by the mechanism, and at least by the user's own best; exact."""
        return [
            {"user": k, "loss": loss, "own best": best, "regret": loss - best}
            for k, (loss, best) in enumerate(zip(self.losses, self.optima, strict=True))
        ]

    def to_dict(self) -> dict[str, Any]:
        """The bounds as exact texts, and the users' losses."""
        bounds = {"alpha": self.level.alpha, "lower": self.lower, "upper": self.upper}
        told: dict[str, Any] = plain(
            {**bounds, "is_positive": self.is_positive, "worst": self.worst, "users": self.rows()}
        )
        return told


def subset_users(graph: Any) -> list[tuple[list[Fraction], str]]:
    """A user for every set of two or more answers, who holds just these possible, all alike, and wants the right one."""
    size = len(Graph.of(graph).vertices)
    if size > 12:
        raise SizeError(f"{size} answers have too many subsets; give your own users, as (prior, loss) pairs.")
    sets = (s for k in range(2, size + 1) for s in itertools.combinations(range(size), k))
    return [([Fraction(int(i in s), len(s)) for i in range(size)], "l0") for s in sets]


def regret(
    graph: Any, *, alpha: LevelLike | None = None, epsilon: LevelLike | None = None, users: Sequence[Any] | None = None
) -> Regret:
    """The least worst regret of one mechanism over a list of users, with proved bounds on both sides.

    `graph` is a Graph or a list of edges. A user is a pair (prior, loss): a distribution on the answers, as for Prior, a list in
    the order of the vertices or a mapping of answers; and "l0", "distance" (in the graph), a function of answer and
    guess, or a matrix with a row for each answer. Without users, those of `subset_users`. A regret of 0 means that one
    mechanism, remapped by each user, is the best for all of them. On a path or cycle up to 10 answers with the default
    users (seconds); up to 13 on a path or star and 12 on a cycle with 200 users of your own (half a minute).

    >>> import discreet as dt
    >>> triangle = dt.theory.regret([("red", "green"), ("green", "blue"), ("blue", "red")], alpha="1/2")
    >>> print(triangle)
    no mechanism serves all 4 users at alpha 1/2 (epsilon <= 0.693148): the best leaves some user a regret between \
0.0416666 and 0.0416667
    >>> triangle.is_positive, dt.theory.regret([(0, 1), (1, 2)], alpha="1/2").is_positive
    (True, False)
    """
    answers, level = Graph.of(graph), Level.of(alpha=alpha, epsilon=epsilon)
    if not answers.is_connected or len(answers.vertices) < 2:
        raise MetricError(
            "The answers must be two or more, and joined by chains of neighbours; take one part at a time."
        )
    given = subset_users(answers) if users is None else list(users)
    if not given:
        raise DiscreetError("Without users there is nothing to regret; give (prior, loss) pairs, or leave them out.")
    heights = _heights(answers)
    if len(heights) * len(given) > _MOST_COSTS:
        raise SizeError(
            f"{len(given)} users times {len(heights)} extreme columns are more than {_MOST_COSTS}; give fewer users."
        )
    rays = _Rays(answers, level.alpha, heights)
    costs = [rays.costs(*_user(answers, user)) for user in given]
    solver = _Solver(rays)
    own = [solver.best(cost) for cost in costs]
    optima = [rays.below(cost, dual) for cost, (_, dual) in zip(costs, own, strict=True)]
    weights, dual, shares = solver.fairest(costs, [float(x) for x in optima])
    made = rays.mended(weights)
    losses = [made.loss(cost) for cost in costs]
    gaps = [loss - best for loss, best in zip(losses, optima, strict=True)]
    whole = sum(shares)
    busy = [k for k, share in enumerate(shares) if share] if whole else []
    mixed = rays.mixed([(Fraction(shares[k], whole), costs[k]) for k in busy]) if busy else None
    floor = Fraction(0)
    if mixed is not None:  # weak duality: some user has at least the regret of their mixture
        floor = rays.below(mixed, dual) - sum(
            (Fraction(shares[k], whole) * rays.mended(own[k][0]).loss(costs[k]) for k in busy), Fraction(0)
        )
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    return Regret(
        answers,
        level,
        max(floor, Fraction(0)),
        max(gaps[worst], Fraction(0)),
        made.columns,
        worst,
        tuple(losses),
        tuple(optima),
    )


def _user(graph: Graph, user: Any) -> tuple[Prior, Loss]:
    if not isinstance(user, (tuple, list)) or len(user) != 2:
        raise DiscreetError(f'A user is a pair (prior, loss), not {show(user)}; write for example (None, "l0").')
    prior, loss = user
    grid = Grid(0, len(graph.vertices) - 1)
    if isinstance(prior, Mapping):
        place = {v: k for k, v in enumerate(graph.vertices)}
        strange = next((v for v in prior if v not in place), None)
        if strange is not None:
            raise MetricError(f"The prior names {show(strange)}, which is no answer of the query; name its answers.")
        prior = [prior.get(v, 0) for v in graph.vertices]
    if loss_name(loss) == "distance":
        loss = graph.distances
    elif isinstance(loss, str) and loss_name(loss) != "l0":
        raise LossError(f'loss = {show(loss)} is not known here; use "l0", "distance", a function or a matrix.')
    elif callable(loss):
        loss = [[loss(u, v) for v in graph.vertices] for u in graph.vertices]
    reports = grid
    if not isinstance(loss, (str, Loss)) and hasattr(loss, "__len__") and len(loss) and hasattr(loss[0], "__len__"):
        reports = Grid(0, max(len(loss[0]), 2) - 1)  # guesses need not be answers
    return prior_of(prior, grid), loss_of(loss, grid, reports)


def _heights(graph: Graph) -> list[tuple[int, ...]]:
    """Every height, lowest 0, that is extreme: at most 1 apart along edges, and exactly 1 along enough to connect all."""
    order = sorted(range(len(graph.vertices)), key=graph.distances[0].__getitem__)
    spare = len(graph.edges) - len(order) + 1  # edges beyond a spanning tree: no more than these may be level
    partial: list[tuple[dict[int, int], int]] = [({order[0]: 0}, 0)]
    steps = 0
    for k, v in enumerate(order[1:], 1):
        earlier = [u for u in graph.near[v] if u in order[:k]]
        grown = []
        for h, flat in partial:
            near = [h[u] for u in earlier]
            choices = [(x, flat + near.count(x)) for x in range(max(near) - 1, min(near) + 2)]
            grown += [({**h, v: x}, level) for x, level in choices if level <= spare]
            steps += 3
            if steps > _MOST_STEPS:
                raise _too_many(graph)
        partial = grown
    found = [tuple(h[k] - min(h.values()) for k in range(len(order))) for h, _ in partial if _tight(graph, h)]
    if len(found) > _MOST_RAYS:
        raise _too_many(graph)
    return found


def _too_many(graph: Graph) -> SizeError:
    return SizeError(
        f"A graph of {len(graph.vertices)} answers and {len(graph.edges)} edges has too many extreme columns (more than "
        f"{_MOST_RAYS}); take fewer answers: 13 on a path or star, 12 on a cycle."
    )


def _tight(graph: Graph, h: Mapping[int, int]) -> bool:
    seen, todo = {0}, [0]
    while todo:
        x = todo.pop()
        fresh = [y for y in graph.near[x] if y not in seen and h[x] != h[y]]
        seen.update(fresh)
        todo += fresh
    return len(seen) == len(h)


@dataclass(frozen=True, eq=False)
class _Costs:
    """What a user loses at each ray, numerators / denominator, and at any column."""

    numerators: Integers
    denominator: int
    lost: tuple[tuple[Fraction, ...], ...]  # p_i l(i, j)

    @cached_property
    def floats(self) -> Floats:
        return np.array([n / self.denominator for n in self.numerators.tolist()])

    def at(self, column: Sequence[Fraction]) -> Fraction:
        return min(
            sum((x * line[j] for x, line in zip(column, self.lost, strict=True)), Fraction(0))
            for j in range(len(self.lost[0]))
        )


@dataclass(frozen=True, eq=False)
class _RayMechanism:
    """An exact mechanism: weights on rays over 2^80, scaled by `scale`, and one column of its own for what is missing."""

    support: list[tuple[int, int]]
    scale: Fraction
    rest: tuple[Fraction, ...]
    columns: tuple[tuple[Fraction, ...], ...]

    def loss(self, cost: _Costs) -> Fraction:
        main = sum(w * int(cost.numerators[k]) for k, w in self.support)
        return self.scale * Fraction(main, _ONE * cost.denominator) + cost.at(self.rest)


class _Rays:
    """The extreme columns a^h as integers over q^H, and what can be proved about them."""

    def __init__(self, graph: Graph, a: Fraction, heights: list[tuple[int, ...]]) -> None:
        p, q = a.numerator, a.denominator
        top = max(max(h) for h in heights)
        power = [p**d * q ** (top - d) for d in range(top + 1)]
        self.graph, self.a, self.one = graph, a, power[0]
        self.exact = np.array([[power[d] for d in h] for h in heights], dtype=object)
        self.floats = np.array([[x / self.one for x in row] for row in self.exact.tolist()])

    def costs(self, prior: Prior, loss: Loss) -> _Costs:
        weights = np.array(prior.weights, dtype=object)
        lost = weights[:, None] * loss.numerators.astype(object)
        small = self.one * int(lost.max(initial=0)) * len(weights) < 2**62
        kind = np.int64 if small else object
        numerators = (self.exact.astype(kind) @ lost.astype(kind)).min(axis=1).astype(object)
        denominator = prior.total * loss.denominator
        table = tuple(tuple(Fraction(int(x), denominator) for x in row) for row in lost)
        return _Costs(numerators, denominator * self.one, table)

    def mixed(self, parts: list[tuple[Fraction, _Costs]]) -> _Costs:
        """The shared cost of several users, ray by ray; nothing is asked of other columns."""
        common = 1
        for share, cost in parts:
            common = math.lcm(common, share.denominator * cost.denominator)
        total = sum(
            cost.numerators * (share.numerator * (common // (share.denominator * cost.denominator)))
            for share, cost in parts
        )
        return _Costs(np.asarray(total), common, ((),))

    def below(self, cost: _Costs, dual: Floats) -> Fraction:
        """A proved lower bound of the cost of every mechanism: y with y.x <= c(x) on all rays gives sum(y).

        The solver's y is lowered evenly by its largest violation: a ray's entries sum to at least 1.
        """
        y = [int(Fraction(v) * _ONE) for v in dual.tolist()]
        scale, rest = cost.denominator // self.one, cost.denominator % self.one
        assert rest == 0
        excess = (self.exact @ np.array(y, dtype=object)) * scale - cost.numerators * _ONE
        drop = max(Fraction(int(excess.max()), _ONE * cost.denominator), Fraction(0))
        return Fraction(sum(y), _ONE) - len(y) * drop

    def mended(self, weights: Floats) -> _RayMechanism:
        """The solver's weights as an exact mechanism.

        They are scaled down until what each answer lacks is itself a private column, which becomes one more report.
        """
        kept = np.flatnonzero(weights > 2.0**-60)
        chosen = self.exact[kept]
        scaled = np.array([int(w * 2**60) << (_BITS - 60) for w in weights[kept].tolist()], dtype=object)
        for _ in range(2):  # what is missing, exactly, spread over the weights that are there
            rest = np.array([float(Fraction(int(x), _ONE * self.one)) for x in _ONE * self.one - scaled @ chosen])
            more = np.linalg.lstsq(self.floats[kept].T, rest, rcond=None)[0]
            scaled = np.maximum(scaled + np.array([int(Fraction(x) * _ONE) for x in more.tolist()], dtype=object), 0)
        support = [(int(k), int(w)) for k, w in zip(kept, scaled, strict=True) if w]
        sums = [Fraction(int(x), _ONE * self.one) for x in scaled @ chosen]
        lack = [1 - s for s in sums]
        both = [*self.graph.places, *((v, u) for u, v in self.graph.places)]
        short = max([Fraction(0), *((self.a * lack[v] - lack[u]) / (1 - self.a) for u, v in both)])
        scale = 1 / (1 + short)
        own = tuple(1 - scale * s for s in sums)
        columns = [tuple(scale * Fraction(w * int(x), _ONE * self.one) for x in self.exact[k]) for k, w in support]
        return _RayMechanism(support, scale, own, (*columns, own) if any(own) else tuple(columns))


class _Solver:
    """The linear programs, in floats. Nothing it says is believed before it is checked."""

    def __init__(self, rays: _Rays) -> None:
        self.rays = rays
        size = rays.floats.shape[1]  # every answer's probabilities sum to 1
        self.program = Program(np.zeros(len(rays.floats)), dense(rays.floats.T), np.ones(size), np.ones(size))

    def best(self, cost: _Costs) -> tuple[Floats, Floats]:
        """The weights of the best mechanism for one user, and the prices of the answers."""
        best = _optimum(self.program, cost.floats)
        return best.unknowns, best.multipliers

    def fairest(self, costs: list[_Costs], optima: list[float]) -> tuple[Floats, Floats, list[int]]:
        """The weights with the least worst regret, the prices, and each user's share in the dual as an integer."""
        rays, size = self.rays.floats, self.rays.floats.shape[1]
        sums = np.hstack([rays.T, np.zeros((size, 1))])  # the last variable is the regret
        regrets = np.hstack([np.array([cost.floats for cost in costs]), -np.ones((len(costs), 1))])
        lower = np.append(np.ones(size), np.full(len(costs), -np.inf))
        upper = np.append(np.ones(size), optima)
        cost = np.append(np.zeros(len(rays)), 1.0)
        best = _optimum(Program(cost, dense(np.vstack([sums, regrets])), lower, upper), None)
        prices = best.multipliers
        return best.unknowns[:-1], prices[:size], [max(int(-v * 2**60), 0) for v in prices[size:].tolist()]


def _optimum(program: Program, cost: Floats | None) -> Optimum:
    best = program.solve(cost)
    if best is None:
        raise DiscreetError(
            f"The solver gave up ({program.status}); try an alpha farther from 0 and 1, or fewer answers."
        )
    return best
