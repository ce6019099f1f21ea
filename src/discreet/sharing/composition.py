"""What several reports give away together: the curve of (epsilon, delta) after k of them, with certified bounds.

The curve is analysis: every event is at most e^epsilon times as likely under a neighbour, plus delta. No release, level or charge
of discreet rests on it; a concentrated ledger adds up rhos.

`recalibrate` asks the other way round, in three ways: the level each of k users must get so that together they learn no more
than one level allows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any

from ..errors import DiscreetError, GridError, LevelError
from ..exact.aliases import Rational
from ..exact.arithmetic import as_written, ball, float_above, minus_log_above, show, show_above
from ..exact.given import share, whole
from ..exact.grid import Grid, GridLike
from ..exact.level import Epsilon, Level, LevelLike
from ..exact.neighbours import Neighbours, NeighboursLike
from ..measure.utility import expected_loss
from ..mechanism import Procedure, procedure_of
from ..mechanisms.additive import geometric
from ..noise import GeometricNoise
from ..present.views import Result, View, plain
from ..progress import Progress
from .curve import Bounds, Candidates, Curve, Listed, SamePair
from .enumeration import Enumerated, enumerated
from .losses import Losses, losses_of, shifted_losses
from .pairs import OnePair, Pairs, distinct, has_one_pair, pairs_of
from .promises import Approximate, of_gaussian

DELTAS = ("1e-3", "1e-6", "1e-9")  # of the table that is shown
_DRAWN = ("1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "1e-3", "1e-2", "1e-1")  # of a picture
_MOST_USES = 10**9
_PRECISE = 4096  # bits of a sum of logarithms: those of numbers next to 1 cancel
_MOST_TRIED = 2**12  # pairs of which the worst is sought where all reports are at one
_MOST_CHOICES = 64  # ways to place different counts on pairs, up to which all are tried
_STEPS = 40  # halvings of the epsilon that is looked for


@dataclass(frozen=True, repr=False)
class Composition(Result):
    """The privacy curve of `uses[i]` reports by each `mechanisms[i]`, of one count or of different ones (`of`)."""

    mechanisms: tuple[Procedure | Approximate, ...]
    uses: tuple[int, ...]
    of: str
    neighbours: tuple[Neighbours | None, ...]  # None where a curve is all that is known
    _worst: Candidates = field(compare=False)  # what the upper bounds cover
    _tried: Candidates = field(compare=False)  # what the lower bounds are of
    _exact: Enumerated | None = field(compare=False, default=None)  # where every sequence of reports was gone through
    _known: dict[Any, Bounds] = field(compare=False, default_factory=dict)
    _progress: Progress | None = field(compare=False, default=None)

    def delta(self, epsilon: Any) -> float:
        """A delta that holds at this epsilon: errors of discretising and rounding are inside."""
        return self.delta_bounds(epsilon)[1]

    def epsilon(self, delta: Any) -> float:
        """An epsilon that holds at this delta; inf where the reports tell for sure more often than that."""
        return self.epsilon_bounds(delta)[1]

    def delta_bounds(self, epsilon: Any) -> Bounds:
        """What the smallest delta at this epsilon lies between."""
        asked = float(_epsilon(epsilon))
        if self._is_pure(epsilon):
            return 0.0, 0.0
        if self._exact is not None:
            return self._exact.delta_bounds(_epsilon(epsilon))
        low, high = self._bounds(("delta", asked), lambda among: among.delta_bounds(asked, self._progress))
        return low, min(high, self.optimal_delta(epsilon))

    def epsilon_bounds(self, delta: Any) -> Bounds:
        """What the smallest epsilon at this delta lies between."""
        asked = float(_share(delta))
        if self._exact is not None:
            return self._exact.epsilon_bounds(_share(delta))
        low, high = self._bounds(("epsilon", asked), lambda among: among.epsilon_bounds(asked, self._progress))
        return low, min(high, self.optimal_epsilon(delta))

    @cached_property
    def basic(self) -> float:
        """The sum of the epsilons (delta = 0), rounded up; inf where one report can give a truth away for sure, or has a delta."""
        each = list(zip(self._alphas, self.uses, strict=True))
        if 0 in self._alphas:
            return math.inf
        return float_above(lambda: sum((-ball(a).log() * k for a, k in each), ball(Fraction(0))), bits=_PRECISE)

    @property
    def _pure(self) -> float:
        """`basic` for people: where each report keeps a rational epsilon that was asked for, their sum."""
        claims = [m.claim for m in self.mechanisms if isinstance(m, Procedure)]
        asked = [claim.asked for claim in claims if claim.asked is not None and claim.asked.base is None]
        if len(asked) < len(self.uses) or not all(e.admits(a) for e, a in zip(asked, self._alphas, strict=True)):
            return self.basic
        return as_written(sum((k * e.factor for e, k in zip(asked, self.uses, strict=True)), Fraction(0)), self.basic)

    def optimal_delta(self, epsilon: Any) -> float:
        """A delta that holds at this epsilon for every mechanism of these levels (Kairouz, Oh and Viswanath 2015)."""
        if self._is_open:
            return 1.0
        return 0.0 if self._is_pure(epsilon) else self._by_levels.delta_bounds(float(_epsilon(epsilon)))[1]

    def optimal_epsilon(self, delta: Any) -> float:
        """An epsilon that holds at this delta for every mechanism of these levels."""
        asked = float(_share(delta))
        return math.inf if self._is_open else min(self.basic, self._by_levels.epsilon_bounds(asked)[1])

    def view(self, deltas: Sequence[Any] = DELTAS, epsilons: Sequence[Any] = ()) -> View:
        """The epsilon at a few deltas, or the delta at a few epsilons."""
        asked, found = ("epsilon", "delta") if epsilons else ("delta", "epsilon")
        columns = (asked, f"{found} <=", "at least", "from levels <=", "pure epsilon <=")
        most = math.inf if epsilons else self._pure
        rows = tuple(
            (str(x), min(high, most), low, min(levels, most), self._pure)
            for x, low, high, levels in self._at(deltas, epsilons)
        )
        return View(self._title(), columns, rows, self._notes())

    def to_dict(self, deltas: Sequence[Any] = DELTAS, epsilons: Sequence[Any] = ()) -> dict[str, Any]:
        """The curve at a few deltas or epsilons, bounds on both sides; what is infinite is null."""
        asked, found = ("epsilon", "delta") if epsilons else ("delta", "epsilon")
        curve = [
            {asked: str(x), found: high, "at_least": low, "from_levels": levels}
            for x, low, high, levels in self._at(deltas, epsilons)
        ]
        return {"of": self.of, "uses": list(self.uses), "pure": plain(self.basic), "curve": plain(curve)}

    def plot(self) -> Any:
        """epsilon against delta: of these reports, of any mechanisms of their levels, and the sum of the epsilons."""
        from ..present import plot

        rows = [
            {"name": name, "at": float(delta), "value": epsilon}
            for delta, _, high, levels in self._at(_DRAWN, ())
            for name, epsilon in (
                ("these reports, at most", high),
                ("any of these levels", levels),
                ("sum of the epsilons", self.basic),
            )
        ]
        title = f"At delta {DELTAS[1]}, {sum(self.uses)} reports keep epsilon {show_above(self.epsilon(DELTAS[1]))}"
        return plot.tracks(rows, title, self._title(), x="delta", y="epsilon", log_x=True, zero=True)

    def _at(self, deltas: Sequence[Any], epsilons: Sequence[Any]) -> list[tuple[Any, float, float, float]]:
        if epsilons:
            return [(x, *self.delta_bounds(x), self.optimal_delta(x)) for x in epsilons]
        return [(x, *self.epsilon_bounds(x), self.optimal_epsilon(x)) for x in deltas]

    def _title(self) -> str:
        each = zip(self.mechanisms, self.uses, strict=True)
        sequence = "; ".join(f"{k} by {_described(m)}" for m, k in each)
        return f"{sum(self.uses)} report{'s' * (sum(self.uses) > 1)} of {self.of}: {sequence}"

    def _notes(self) -> tuple[str, ...]:
        levels = "from levels: optimal composition of the levels alone; pure: their sum, where delta is 0"
        if self._exact is not None:
            return (levels, "exact, up to the last digit of a float: every sequence of reports was gone through")
        if self.of == "one count":
            return (levels,)
        return (
            levels,
            "epsilon covers every choice of counts, also one made as reports come in; at least: of those tried",
        )

    def _is_pure(self, epsilon: Any) -> bool:
        """Is a number no less than the sum of the epsilons, as it was written?"""
        read = _epsilon(epsilon)
        return read.base is None and read.factor >= self.basic

    def _bounds(self, key: Any, find: Callable[[Candidates], Bounds]) -> Bounds:
        if key not in self._known:
            low, high = find(self._worst)
            self._known[key] = (low, high) if self._worst is self._tried else (min(find(self._tried)[0], high), high)
        return self._known[key]

    @cached_property
    def _alphas(self) -> tuple[Fraction, ...]:
        """The tight level of each mechanism between these neighbours; 0 where there is none without a delta."""
        return tuple(
            m.level if isinstance(m, Approximate) else min(ratio.alpha**ratio.power for ratio, _ in m.ratios(between))
            for m, between in zip(self.mechanisms, self.neighbours, strict=True)
        )

    @property
    def _is_open(self) -> bool:
        """Is there a mechanism of which no level is known, with or without a delta?"""
        return any(a == 0 and isinstance(m, Procedure) for m, a in zip(self.mechanisms, self._alphas, strict=True))

    @cached_property
    def _by_levels(self) -> Candidates:
        """Two reports, one 1/alpha times as likely, the other alpha times: the worst that a level allows. With a delta the worst
        that is known."""
        each = zip(self.mechanisms, self._alphas, self.uses, strict=True)
        return Listed(
            [Curve(tuple((m.above.law if isinstance(m, Approximate) else _two_reports(a), k) for m, a, k in each))]
        )


def compose(
    mechanism: Any,
    k: Any = 1,
    *,
    of: str = "one count",
    neighbours: NeighboursLike | None = None,
    progress: Progress | None = None,
) -> Composition:
    """The privacy curve of k reports by a mechanism; or of k[0] by m[0], k[1] by m[1], ... for lists of both. A mechanism
    of which only an epsilon with a delta is known, or normal noise, is given by `approximate_dp(...)`.

    of="one count": all are about one count, so one pair of neighbouring truths stands behind all of them, and the curve is
    the worst over pairs after convolving. of="different counts": each count may sit at another pair and direction, also
    one chosen as reports come in; the curve is that of a dominating pair per mechanism (Zhu, Dong and Wang 2022), and the
    lower bound that of the choices tried. Where reports are few and tables small, all sequences of reports are enumerated:
    then both bounds are the exact value, up to the last digit of a float.

    On neighbouring counts the loss of the geometric mechanism is +epsilon or -epsilon, so that optimal composition
    (Kairouz, Oh and Viswanath 2015) is attained:

    >>> import discreet as dt
    >>> c = dt.sharing.compose(dt.geometric(100, epsilon="1/10"), 20)
    >>> f"{c.basic:.4g} {c.epsilon('1e-3'):.4g} {c.delta('1.6'):.4g}"
    '2 1.154 9.128e-06'
    """
    kinds = (Procedure, Approximate)
    listed = isinstance(mechanism, (list, tuple)) and bool(mechanism) and all(isinstance(x, kinds) for x in mechanism)
    mechanisms = (
        tuple(mechanism) if listed else (mechanism if isinstance(mechanism, Approximate) else procedure_of(mechanism),)
    )
    uses = _uses(k, len(mechanisms) if listed else None)
    if of not in ("one count", "different counts"):
        raise DiscreetError(f'of = {show(of)} is not known; give of="one count" or of="different counts".')
    known = [x for x in mechanisms if isinstance(x, Procedure)]
    if of == "one count" and len({x.inputs for x in known}) > 1:
        raise GridError('These mechanisms have different true values, so no one count; give of="different counts".')
    between = tuple(
        None
        if isinstance(x, Approximate)
        else x.neighbours
        if neighbours is None
        else Neighbours.of(neighbours, x.inputs)
        for x in mechanisms
    )
    kept = [(t, x) for t, x in zip(between, mechanisms, strict=True) if t is not None and isinstance(x, Procedure)]
    if of == "one count" and len({t.reduced(x.inputs) for t, x in kept}) > 1:
        raise DiscreetError("These mechanisms have different neighbours; give neighbours= for those that are meant.")
    curves = [_with_delta(x, t) for x, t in zip(mechanisms, between, strict=True)]
    # one pair of truths stands for all of geometric noise, but then all mechanisms must have it
    short = of == "different counts" or all(isinstance(x, Approximate) or has_one_pair(x) for x in curves)
    pairs: list[Pairs | OnePair] = [
        x.above if isinstance(x, Approximate) else pairs_of(x, x.neighbours if t is None else t, short)
        for x, t in zip(curves, between, strict=True)
    ]
    pairs = distinct(pairs) if of == "one count" else [distinct([p])[0] for p in pairs]
    lower = [x.below if isinstance(x, Approximate) else p for x, p in zip(curves, pairs, strict=True)]
    is_exact = all(x.is_exact for x in curves if isinstance(x, Approximate))
    exact = enumerated(pairs, uses, of == "one count") if is_exact else None
    worst: Candidates
    tried: Candidates
    if of == "one count":
        worst = SamePair(pairs, uses)
        tried = worst if is_exact else SamePair(lower, uses)
    else:
        worst = Listed([Curve(tuple((p.dominating(), n) for p, n in zip(pairs, uses, strict=True)))])
        tried = _tried(lower, uses)
    return Composition(mechanisms, uses, of, between, worst, tried, exact, _progress=progress)


def _with_delta(m: Procedure | Approximate, between: Neighbours | None) -> Procedure | Approximate:
    """Gaussian noise by its curve, since it has no level; everything else as it is."""
    if isinstance(m, Approximate) or between is None or m.channel.concentration(1) is None:
        return m
    steps = between.farthest(m.inputs)
    if steps is None:
        raise DiscreetError(
            "Composition is between neighbours, and these have distances other than 1; give neighbours= for those meant."
        )
    return of_gaussian(m, steps)


def _described(m: Procedure | Approximate) -> str:
    return m.what if isinstance(m, Approximate) else f"{m.recipe.family} {m.outputs}, {m.privacy}"


def _tried(pairs: Sequence[Pairs | OnePair], uses: Sequence[int]) -> Candidates:
    """Where different counts may sit: everywhere, if there are few ways; else all at one pair, or each at its most telling."""
    if all(p.size <= _MOST_CHOICES for p in pairs):
        kinds = [list({x.key: x for x in map(p.losses, range(p.size))}.values()) for p in pairs]
        ways = math.prod(math.comb(len(kind) + k - 1, k) for kind, k in zip(kinds, uses, strict=True))
        if ways <= _MOST_CHOICES:
            each = (
                itertools.combinations_with_replacement(kind, k) if len(kind) > 1 else [[(kind[0], k)]]
                for kind, k in zip(kinds, uses, strict=True)
            )
            return Listed([Curve(_counted(choice)) for choice in itertools.product(*each)])
    if len(pairs) == 1 and pairs[0].size <= _MOST_TRIED:
        return SamePair(pairs, uses)
    return Listed([Curve(tuple((p.losses(p.most_telling()), k) for p, k in zip(pairs, uses, strict=True)))])


def _counted(choice: Sequence[Any]) -> tuple[tuple[Losses, int], ...]:
    """The losses that were chosen, each with how often."""
    found: dict[Any, tuple[Losses, int]] = {}
    for item in itertools.chain.from_iterable(choice):
        losses, k = item if isinstance(item, tuple) else (item, 1)
        found[losses.key] = losses, k + found.get(losses.key, (losses, 0))[1]
    return tuple(found.values())


def _two_reports(alpha: Fraction) -> Losses:
    top, bottom = alpha.numerator, alpha.denominator
    return losses_of([bottom, top], [top, bottom], top + bottom)


def _uses(k: Any, size: int | None) -> tuple[int, ...]:
    """How often each mechanism is used: one number for all of them, or one for each."""
    if size is not None and isinstance(k, (list, tuple)):
        if len(k) != size:
            raise DiscreetError(f"k has {len(k)} numbers for {size} mechanisms; give one for each.")
        return tuple(whole(x, "k", most=_MOST_USES, example=20) for x in k)
    return (whole(k, "k", most=_MOST_USES, example=20),) * (size or 1)


def _share(delta: Any) -> Fraction:
    return share(delta, "delta", "every event is at most e^epsilon times as likely, plus delta", example="1e-6")


def _epsilon(epsilon: Any) -> Epsilon:
    read = Epsilon.parse(epsilon)
    if read is None or read.factor < 0:
        raise LevelError(f'epsilon = {show(epsilon)} must be a number of 0 or more; write for example epsilon="1.6".')
    return read


@dataclass(frozen=True, repr=False)
class Recalibration(Result):
    """One row for each way; `level` is the alpha of each user's own report, exact."""

    question: str
    table: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]

    def __getitem__(self, way: str) -> Mapping[str, Any]:
        found = {row["way"]: row for row in self.table}
        if way not in found:
            raise DiscreetError(f"{way} is none of the ways; choose from {'; '.join(found)}.")
        return found[way]

    def view(self) -> View:
        return replace(View.of(self.question, self.table), notes=self.notes)

    def to_dict(self) -> dict[str, Any]:
        return {"question": self.question, "rows": plain(self.table), "notes": list(self.notes)}


def recalibrate(
    k: Any,
    *,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    delta: Rational | None = None,
    n: GridLike | None = None,
) -> Recalibration:
    """The level of each of k users' geometric reports of one count, so that all together keep to a level.

    By pure composition the k-th root of alpha. With a delta, by the exact curve of k reports, which lets each user have
    more: that is analysis, and no release or charge rests on it. By a cascade alpha itself: every report is made from the
    sharpest one, so that together they say no more than that one. `n` says how large the count can be; without, noise has
    no end.

    >>> import discreet as dt
    >>> ways = dt.sharing.recalibrate(4, alpha="1/16")
    >>> [(row["way"], str(row["alpha"])) for row in ways.table]
    [('pure composition', '1/2'), ('cascade', '1/16')]
    """
    users, level = whole(k, "k", most=10**6, example=5), Level.of(alpha=alpha, epsilon=epsilon)
    grid = None if n is None else Grid.of(n)
    ways = {"pure composition": level.per_step(users)}
    if delta is not None:
        read = share(delta, "delta", "how likely the reports may tell more than the level says", example="1e-6")
        ways[f"exact curve at delta {delta}"] = _by_curve(users, level, float(read), ways["pure composition"])
    ways["cascade"] = level.alpha
    rows = tuple(
        MappingProxyType(
            {"way": way, "alpha": a, "epsilon <=": minus_log_above(a), "mean |error|": _mean_error(a, grid)}
        )
        for way, a in ways.items()
    )
    notes = ["cascade: each report is made from a sharper one, so that all together tell no more than the sharpest"]
    if delta is not None:
        notes.insert(0, "exact curve: analysis with a delta; no release, level or charge rests on it")
    return Recalibration(f"{users} users who together may learn {level}; the level of each", rows, tuple(notes))


def _mean_error(alpha: Fraction, grid: Grid | None) -> float:
    """Of the noise itself; on a grid, where it is clamped, the mean over all counts."""
    return float(
        GeometricNoise(alpha).mean_absolute if grid is None else expected_loss(geometric(grid, alpha=alpha), "l1")
    )


def _by_curve(users: int, level: Level, delta: float, safe: Fraction) -> Fraction:
    """The smallest alpha found whose k reports have at most this delta at the level's epsilon, proved by the upper bound."""
    target = level.epsilon * (1 - 1e-14)  # the level's own is rounded up
    best, low, high = safe, minus_log_above(safe), level.epsilon
    for _ in range(_STEPS):
        middle = (low + high) / 2
        tried = Level.of(epsilon=middle).alpha
        if Listed([Curve(((shifted_losses(tried, 1), users),))]).delta_bounds(target)[1] <= delta * (1 - 1e-14):
            best, low = tried, middle
        else:
            high = middle
    return min(best, safe)
