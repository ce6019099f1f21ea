"""What several reports give away together: the curve of (epsilon, delta) after k of them, with certified bounds.

The curve is analysis: every event is at most e^epsilon times as likely under a neighbour, plus delta. No release, level or charge
of discreet rests on it; a concentrated ledger adds up rhos.

Each mechanism stands for the pair of distributions that dominates it (discreet.sharing.pairs), so the curve holds wherever the
counts sit and whatever is asked next. Geometric noise and randomised response have that very curve. Where the worst pair of true
values is not the same at every epsilon, reports of one count may give away a little less (docs/theory/composition.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..errors import DiscreetError, LevelError
from ..exact.arithmetic import as_written, ball, float_above, show, show_above
from ..exact.given import share, whole
from ..exact.level import Epsilon
from ..exact.neighbours import Neighbours, NeighboursLike
from ..mechanism import Procedure, procedure_of
from ..present.views import Result, View, plain
from .curve import Bounds, Curve
from .losses import Losses, losses_of
from .pairs import dominating_losses
from .promises import Approximate, of_gaussian

DELTAS = ("1e-3", "1e-6", "1e-9")  # of the table that is shown
_DRAWN = ("1e-12", "1e-10", "1e-8", "1e-6", "1e-4", "1e-3", "1e-2", "1e-1")  # of a picture
_MOST_USES = 10**9
_PRECISE = 4096  # bits of a sum of logarithms: those of numbers next to 1 cancel


@dataclass(frozen=True, repr=False)
class Composition(Result):
    """The privacy curve of `uses[i]` reports by each `mechanisms[i]`, of one count or of different ones."""

    mechanisms: tuple[Procedure | Approximate, ...]
    uses: tuple[int, ...]
    neighbours: tuple[Neighbours | None, ...]  # None where a curve is all that is known
    _curve: Curve = field(compare=False)
    _known: dict[Any, Bounds] = field(compare=False, default_factory=dict)

    def delta(self, epsilon: Any) -> float:
        """A delta that holds at this epsilon: errors of discretising and rounding are inside."""
        return self.dominating_delta(epsilon)[1]

    def epsilon(self, delta: Any) -> float:
        """An epsilon that holds at this delta; inf where the reports tell for sure more often than that."""
        return self.dominating_epsilon(delta)[1]

    def dominating_delta(self, epsilon: Any) -> Bounds:
        """What the smallest delta of the dominating curve at this epsilon lies between: the second holds for the reports, the
        first says how sharp it is."""
        if self._is_pure(epsilon):
            return 0.0, 0.0
        asked = float(_epsilon(epsilon))
        if ("delta", asked) not in self._known:
            self._known["delta", asked] = self._curve.delta(asked)
        low, high = self._known["delta", asked]
        return low, min(high, self.optimal_delta(epsilon))

    def dominating_epsilon(self, delta: Any) -> Bounds:
        """What the smallest epsilon of the dominating curve at this delta lies between."""
        asked = float(_share(delta))
        if ("epsilon", asked) not in self._known:
            self._known["epsilon", asked] = self._curve.epsilon(asked)
        low, high = self._known["epsilon", asked]
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
        return 0.0 if self._is_pure(epsilon) else self._by_levels.delta(float(_epsilon(epsilon)))[1]

    def optimal_epsilon(self, delta: Any) -> float:
        """An epsilon that holds at this delta for every mechanism of these levels."""
        asked = float(_share(delta))
        return math.inf if self._is_open else min(self.basic, self._by_levels.epsilon(asked)[1])

    def view(self, deltas: Sequence[Any] = DELTAS, epsilons: Sequence[Any] = ()) -> View:
        """The epsilon at a few deltas, or the delta at a few epsilons."""
        asked, found = ("epsilon", "delta") if epsilons else ("delta", "epsilon")
        columns = (asked, f"{found} <=", "from levels <=", "pure epsilon <=")
        most = math.inf if epsilons else self._pure
        rows = tuple(
            (str(x), min(high, most), min(levels, most), self._pure) for x, high, levels in self._at(deltas, epsilons)
        )
        notes = ("from levels: optimal composition of the levels alone; pure: their sum, where delta is 0",)
        return View(self._title(), columns, rows, notes)

    def to_dict(self, deltas: Sequence[Any] = DELTAS, epsilons: Sequence[Any] = ()) -> dict[str, Any]:
        """The curve at a few deltas or epsilons; what is infinite is null."""
        asked, found = ("epsilon", "delta") if epsilons else ("delta", "epsilon")
        curve = [{asked: str(x), found: high, "from_levels": levels} for x, high, levels in self._at(deltas, epsilons)]
        return {"uses": list(self.uses), "pure": plain(self.basic), "curve": plain(curve)}

    def plot(self) -> Any:
        """epsilon against delta: of these reports, of any mechanisms of their levels, and the sum of the epsilons."""
        from ..present import plot

        rows = [
            {"name": name, "at": float(delta), "value": epsilon}
            for delta, high, levels in self._at(_DRAWN, ())
            for name, epsilon in (
                ("these reports, at most", high),
                ("any of these levels", levels),
                ("sum of the epsilons", self.basic),
            )
        ]
        title = f"At delta {DELTAS[1]}, {sum(self.uses)} reports keep epsilon {show_above(self.epsilon(DELTAS[1]))}"
        return plot.tracks(rows, title, self._title(), x="delta", y="epsilon", log_x=True, zero=True)

    def _at(self, deltas: Sequence[Any], epsilons: Sequence[Any]) -> list[tuple[Any, float, float]]:
        if epsilons:
            return [(x, self.delta(x), self.optimal_delta(x)) for x in epsilons]
        return [(x, self.epsilon(x), self.optimal_epsilon(x)) for x in deltas]

    def _title(self) -> str:
        each = zip(self.mechanisms, self.uses, strict=True)
        sequence = "; ".join(f"{k} by {_described(m)}" for m, k in each)
        return f"{sum(self.uses)} report{'s' * (sum(self.uses) > 1)}: {sequence}"

    def _is_pure(self, epsilon: Any) -> bool:
        """Is a number no less than the sum of the epsilons, as it was written?"""
        read = _epsilon(epsilon)
        return read.base is None and read.factor >= self.basic

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
    def _by_levels(self) -> Curve:
        """Two reports, one 1/alpha times as likely, the other alpha times: the worst that a level allows. With a delta the worst
        that is known."""
        each = zip(self.mechanisms, self._alphas, self.uses, strict=True)
        return Curve(tuple((m.losses if isinstance(m, Approximate) else _two_reports(a), k) for m, a, k in each))


def compose(mechanism: Any, k: Any = 1, *, neighbours: NeighboursLike | None = None) -> Composition:
    """The privacy curve of k reports by a mechanism; or of k[0] by m[0], k[1] by m[1], ... for lists of both. A mechanism
    of which only an epsilon with a delta is known, or normal noise, is given by `approximate_dp(...)`.

    The reports may be about one count or about different ones, each chosen when the reports before it are known: the curve
    is that of a dominating pair for each mechanism (Zhu, Dong and Wang 2022).

    On neighbouring counts the loss of the geometric mechanism is +epsilon or -epsilon, so that optimal composition
    (Kairouz, Oh and Viswanath 2015) is attained:

    >>> import discreet as dt
    >>> c = dt.sharing.compose(dt.geometric(100, epsilon="1/10"), 20)
    >>> f"{c.basic:.4g} {c.epsilon('1e-3'):.4g} {c.delta('1.6'):.4g}"
    '2 1.154 9.128e-06'
    """
    kinds = (Procedure, Approximate)
    listed = isinstance(mechanism, (list, tuple)) and bool(mechanism) and all(isinstance(x, kinds) for x in mechanism)
    given = mechanism if listed else [mechanism]
    mechanisms = tuple(x if isinstance(x, Approximate) else procedure_of(x) for x in given)
    uses = _uses(k, len(mechanisms) if listed else None)
    between = tuple(_between(x, neighbours) for x in mechanisms)
    losses = map(_losses, mechanisms, between)
    return Composition(mechanisms, uses, between, Curve(tuple(zip(losses, uses, strict=True))))


def _between(m: Procedure | Approximate, neighbours: NeighboursLike | None) -> Neighbours | None:
    if isinstance(m, Approximate):
        return None
    return m.neighbours if neighbours is None else Neighbours.of(neighbours, m.inputs)


def _losses(m: Procedure | Approximate, between: Neighbours | None) -> Losses:
    """Of the dominating pair; of Gaussian noise, which has no level, by what is known of its curve."""
    if isinstance(m, Approximate):
        return m.losses
    assert between is not None
    if m.channel.concentration(1) is None:
        return dominating_losses(m, between)
    steps = between.farthest(m.inputs)
    if steps is None:
        raise DiscreetError(
            "Composition is between neighbours, and these have distances other than 1; give neighbours= for those meant."
        )
    return of_gaussian(m, steps).losses


def _described(m: Procedure | Approximate) -> str:
    return m.what if isinstance(m, Approximate) else f"{m.recipe.family} {m.outputs}, {m.privacy}"


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
