"""Cascades: one count for several audiences, each at a level of its own, of which sharing reveals nothing more.

The most accurate report is drawn from the truth; each next one is a remap of the report before it, never of the truth
(Gupte and Sundararajan 2010; proved in Coq: proofs/Cascade.v, step_leads and coalition_law). So whoever pools reports knows
what the least private of them says, and noise besides. A
cascade knows no ledger: it says what it costs, and `CascadeReports` keeps what is needed to add a level later.

A level that is added later is a report between two others (`Bridge`), drawn afterwards: exactly, in a few words, on a grid of
any size. Between a report u at level a and a report v at level c, both on 0..n, one at level b (a < b < c) has the distribution

    Pr[r] = T_{a,b}[u, r] T_{b,c}[r, v] / T_{a,c}[u, v].

T keeps a value or draws it anew, so r is u kept, or v that will be kept, or neither: then its weight is
b^|u-r| c^|r-v| over all whole numbers, moved to the ends where it lies beyond them. That distribution has three geometric pieces:
before u, between u and v, beyond v. With level 0 for the truth itself, T_{0,b} is the geometric mechanism: a less private
report than all others lies between the truth and the first of them. docs/theory/cascade.md has the proof.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar, final

import flint
import numpy as np
from numpy.typing import NDArray

from ..channels import Finite, Geometric, Mixture
from ..channels.contract import Integers
from ..channels.ratios import worst_ratio
from ..errors import GridError, LevelError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, minus_log_above, precision, show, show_above, show_rational
from ..exact.given import positive
from ..exact.grid import FARTHEST, Grid, GridLike
from ..exact.level import Level
from ..measure.privacy import Verdict, Witness, check_privacy
from ..mechanism import Mechanism, Procedure, allows
from ..mechanisms.additive import geometric
from ..present.views import Result, View, plain
from ..randomness.alias import RealAlias
from ..randomness.digits import REACH, GeometricDraws, floor_of, slow_geometric
from ..randomness.source import Source, warn_of_seed
from ..sampling import Places, checked_source, draw_chain

if TYPE_CHECKING:
    from .cascade_reports import CascadeReports

Indices = NDArray[np.int64]
Number = TypeVar("Number", Fraction, flint.arb)

AT_FIRST, AT_SECOND, BEFORE, BETWEEN, BEYOND = range(5)
_PRECISION = 512  # bits: the floors of 64-bit words lose next to nothing
CITATION = "Gupte, Sundararajan, Universally optimal privacy mechanisms for minimax agents, PODS 2010"
_LISTED = 2**18  # entries of a joint distribution that is written out in integers
_WORK = 2**28  # bits of the products for it


def kept(a: Fraction, b: Fraction, *, end: bool) -> Fraction:
    """How often the step from level a to level b keeps a report: at an end of the grid, or anywhere else."""
    shrink = (1 - b) / (1 - a)
    return a / b * (shrink if end else shrink**2)


def fresh(b: Fraction, *, end: bool) -> Fraction:
    """w_r, where the geometric mechanism at level b has the entries w_r b^|i-r|."""
    return 1 / (1 + b) if end else (1 - b) / (1 + b)


@final
@dataclass(frozen=True)
class Bridge:
    """The distribution of a report at level b given those at levels a (0: the truth itself) and c, on the grid 0..n."""

    n: int
    a: Fraction
    b: Fraction
    c: Fraction

    @cached_property
    def ratio(self) -> Fraction:
        return self.b / self.c

    def weights(self, apart: int, end: bool, power: Number, one: Number) -> list[Number]:
        """Of the five pieces, for two reports so many steps apart, the first at an end or not; all over w_v c^apart.

        `power` is ratio^apart, as a Fraction or a ball; so is `one`, which is 1.
        """
        b, c = self.b, self.c
        u_kept, stays = kept(self.a, b, end=end), kept(b, c, end=end)
        at_u = u_kept * (1 - stays) + (u_kept * stays / fresh(c, end=end) if apart == 0 else 0)
        at_v = (
            (1 - u_kept) * b * (1 - c * c) / (c * (1 - b * b))
        )  # at an end or not: what is kept more often is drawn less
        neither = (1 - u_kept) * (c - b) * (1 - b * c) / (c * (1 - b * b))
        tail, middle = b * c / (1 - b * c), c / (c - b)
        plain = [at_u, at_v, neither * tail, neither * middle, neither * tail]
        scaled = [_as(x, one) for x in plain]
        factors = [one, power, one, one - _as(self.ratio, one) * power, power]
        return [x * factor for x, factor in zip(scaled, factors, strict=True)]

    def _piece(self, apart: int, end: bool) -> RealAlias:
        """Which of the five pieces it is, with one word."""

        def chances() -> list[flint.arb]:
            weights = self.weights(apart, end, ball(self.ratio) ** apart, flint.arb(1))
            total = sum(weights, flint.arb(0))
            return [w / total for w in weights]

        with precision(_PRECISION + 4 * max(x.denominator.bit_length() for x in (self.a, self.b, self.c))):
            floors = [max(floor_of(p * flint.arb(2) ** 64), 0) for p in chances()]
        return RealAlias.of(floors, chances)

    @cached_property
    def _tail(self) -> GeometricDraws:
        return GeometricDraws.of(self.b * self.c, self.n, signed=False)

    @cached_property
    def _inner(self) -> GeometricDraws:
        return GeometricDraws.of(self.ratio, None, signed=False)

    def draw(self, u: Indices, v: Indices, stream: Source) -> Indices:
        """A report for each pair. All pieces are drawn for every pair, so that the number of words depends on none of them;
        the time also depends on how many different distances there are."""
        apart, towards = np.abs(v - u), np.where(v >= u, 1, -1)
        piece, tail = np.empty_like(u), self._tail.draw(stream, np.empty_like(u)) + 1
        inner = self._modulo(apart + 1, stream)
        for distance, end, items in _groups(apart, (u == 0) | (u == self.n)):
            piece[items] = self._piece(distance, end).draw(stream, np.empty(len(items), dtype=np.int64))
        found = np.choose(piece, [u, v, u - towards * tail, u + towards * inner, v + towards * tail])
        return np.clip(found, 0, self.n, out=found)

    def _modulo(self, sizes: Indices, stream: Source) -> Indices:
        """Of each size m a number below it with chances proportional to ratio^x: a geometric number modulo m, since its
        remainder is independent of the quotient. Beyond the reach of 64 bits the geometric distribution begins anew."""
        drawn = self._inner.draw(stream, np.empty_like(sizes))
        found = drawn % sizes
        for item in np.flatnonzero(drawn >= REACH):
            total, more = REACH, REACH
            while more >= REACH:
                more = slow_geometric(self.ratio, partial(stream.more_for, int(item)))
                total += more
            found[item] = total % int(sizes[item])
        return found


def _as(x: Fraction, one: Number) -> Number:
    return ball(x) if isinstance(one, flint.arb) else x


def _groups(apart: Indices, at_end: NDArray[np.bool_]) -> Iterator[tuple[int, bool, Indices]]:
    """The items of each distance, those that start at an end apart."""
    for end in (False, True):
        mine = np.flatnonzero(at_end == end)
        distances, counts = np.unique(apart[mine], return_counts=True)
        ordered = mine[np.argsort(apart[mine], kind="stable")]
        for distance, stop, count in zip(distances.tolist(), np.cumsum(counts), counts, strict=True):
            yield distance, end, ordered[stop - count : stop]


def cascade(
    levels: Any = None, n: GridLike | None = None, *, epsilons: Any = None, sensitivity: Rational = 1
) -> Cascade:
    """One release for several audiences, each at a level of its own, on 0..n or a Grid.

        levels       the levels, the most accurate (smallest alpha) first. ["3/10", "1/2", "4/5"]
        n            the largest count: true values and reports are 0..n. Or a Grid
        epsilons     the levels as epsilons instead, the largest first
        sensitivity  how much one person can change the answer, in its units; by default 1

    Any coalition's reports together are exactly as private as its least private member's (Gupte and Sundararajan 2010),
    so the whole release costs what its most accurate level costs. Each report is one of the geometric mechanism at its
    level: a remap leads from each level to every more private one, which the fair and the weakly honest mechanisms do not
    have.

    >>> import discreet as dt
    >>> c = dt.sharing.cascade(["3/10", "1/2", "4/5"], 100)
    >>> reports = c.release(42)
    >>> len(reports)
    3
    >>> c.coalition(["1/2", "4/5"]).tight
    Fraction(1, 2)
    """
    name, given = ("epsilon", epsilons) if levels is None else ("alpha", levels)
    if levels is not None and epsilons is not None and n is None:
        raise LevelError("The first argument are levels as alphas; with epsilons write n=, for example n=100.")
    if levels is not None and epsilons is not None:
        raise LevelError("Levels and epsilons say the same thing; give one of them.")
    if n is None:
        raise LevelError('A cascade needs the largest count or a Grid, for example cascade(["3/10", "1/2"], 100).')
    grid, change = Grid.of(n), positive(sensitivity, "sensitivity", "in the answer's units", error=GridError)
    return Cascade(tuple(_level(x, name) for x in _listed(given)), grid, change)


def _listed(given: Any) -> list[Any]:
    if isinstance(given, str):
        given = given.split(",")
    if isinstance(given, (Level, Mechanism, Fraction, float, int)) or not isinstance(given, Iterable):
        raise LevelError(f'A cascade takes a list of levels, for example ["3/10", "1/2", "4/5"], not {show(given)}.')
    found = list(given)
    if not found:
        raise LevelError('A cascade needs at least one level, for example ["3/10", "1/2", "4/5"].')
    return found


def _level(given: Any, name: str) -> Level:
    if isinstance(given, Mechanism) or isinstance(getattr(given, "mechanism", None), Mechanism):
        raise LevelError(
            "A cascade takes levels, not mechanisms: it is made of geometric ones, since those of other families (EM, WM) are "
            "not remaps of one another at every two levels; give the levels, or release another mechanism at one level alone."
        )
    return Level.of(**{name: given})


@final
@dataclass(frozen=True, repr=False)
class Cascade(Result):
    """Levels from the most accurate to the most private, on one grid; make one with `discreet.sharing.cascade`."""

    levels: tuple[Level, ...]
    grid: Grid
    sensitivity: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        for (first, a), (second, b) in pairwise(zip(self.levels, self.decays, strict=True)):
            if second.alpha <= first.alpha:
                raise LevelError(
                    f"The levels of a cascade go from the most accurate to the most private, but {level_words(second)} follows "
                    f"{level_words(first)}; give smaller alphas (larger epsilons) first, each level once.",
                    value=(first, second),
                )
            if b <= a:
                raise LevelError(
                    f"{level_words(first)} and {level_words(second)} are the same over a sensitivity of "
                    f"{self.grid.steps(self.sensitivity)} steps; give levels farther apart, or one of them.",
                    value=(first, second),
                )

    # What it is made of

    @cached_property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """For each level the mechanism that its audience sees: the geometric one, exactly."""
        return tuple(geometric(self.grid, alpha=level, sensitivity=self.sensitivity) for level in self.levels)

    @cached_property
    def decays(self) -> tuple[Fraction, ...]:
        """Each level's alpha for one step of the grid; the levels themselves where the sensitivity is one step."""
        return tuple(level.per_step(self.grid.steps(self.sensitivity)) for level in self.levels)

    @cached_property
    def span(self) -> tuple[int, int]:
        """Positions from the first report on, and how many steps there are: an open end saturates at 2^61 steps."""
        low = -FARTHEST if self.grid.low is None else 0
        high = (
            self.grid.n
            if self.grid.n is not None
            else 0
            if self.grid.low is None and self.grid.high is not None
            else FARTHEST
        )
        return low, high - low

    @cached_property
    def steps(self) -> tuple[Finite, ...]:
        """The channels in sequence, on places 0..n: the geometric one, then the remap T from each level to the next.

        T keeps a report with probability (a/b) ((1-b)/(1-a))^2, at the grid's ends (a/b) (1-b)/(1-a), and else adds fresh
        noise of level b. An open end counts from the farthest place that 64 bits hold, where reports saturate anyway.
        """
        n = self.span[1]
        return Geometric(n, self.decays[0]), *(step(n, a, b) for a, b in pairwise(self.decays))

    @property
    def price(self) -> Level:
        """What the whole release costs: its most accurate level, once."""
        return self.levels[0]

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the distribution, for keyed sources."""
        ends = [None if end is None else str(end) for end in (self.grid.low, self.grid.high)]
        law = [
            "discreet cascade",
            *ends,
            str(self.grid.step),
            str(self.sensitivity),
            [str(x.alpha) for x in self.levels],
        ]
        return f"sha256:{hashlib.sha256(json.dumps(law).encode()).hexdigest()}"

    # Releasing

    def release(
        self,
        values: Any,
        *,
        fingerprint: str | None = None,
        clamp: bool = False,
        source: Any = None,
    ) -> CascadeReports:
        """One report for each level, of one true value or of each of many; the first from the truth, each next from the
        one before it.

        `fingerprint` is a keyed fingerprint of the data, any text of yours: only with it can a less private level be added
        later. It is never computed here. `source` is that of `Mechanism.sample`.
        """
        from .cascade_reports import CascadeReports, checked_fingerprint

        source = checked_source(source)
        insecure = warn_of_seed(source)
        proof = checked_fingerprint(fingerprint)
        found = Places.of(self.grid, values, clamp)
        low, _ = self.span

        def places(start: int, stop: int) -> NDArray[np.int64]:
            return found.at(start, stop) - low if low else found.at(start, stop)

        drawn = draw_chain(self.steps, found.size, places, source)
        for reports in drawn if low else ():
            reports += low
        return CascadeReports(self, tuple(drawn), found.shape, proof, found.kind, insecure)

    # What coalitions learn

    def place(self, level: Any = None, *, epsilon: Any = None) -> int:
        """Where a level, given as an alpha, as an epsilon or as a Level, stands among those of the cascade."""
        if isinstance(level, (list, tuple, Mechanism)):
            raise LevelError(f"{show(level)} is no level; give one of {self._names}.", value=level)
        wanted = Level.of(alpha=level, epsilon=epsilon)
        alphas = [x.alpha for x in self.levels]
        if wanted.alpha not in alphas:
            raise LevelError(f"{level_words(wanted)} is no level of this cascade; it has {self._names}.", value=level)
        return alphas.index(wanted.alpha)

    @property
    def _names(self) -> str:
        asked = next((x.asked for x in self.levels if x.asked is not None), None)
        if asked is None:
            return ", ".join(show_rational(x.alpha) for x in self.levels)
        return (
            f'{", ".join(map(level_words, self.levels))} (write epsilon="{asked}" for one that was asked as an epsilon)'
        )

    def _members(self, coalition: Any, epsilons: Any) -> list[int]:
        if coalition is not None and epsilons is not None:
            raise LevelError("Levels and epsilons say the same thing; give one of them.")
        if epsilons is not None:
            return sorted({self.place(epsilon=x) for x in _listed(epsilons)})
        return sorted({self.place(x) for x in (self.levels if coalition is None else _listed(coalition))})

    def joint(self, coalition: Any = None, *, epsilons: Any = None) -> NDArray[Any]:
        """The exact joint distribution of a coalition's reports, by default everyone's: an array of Fractions whose first axis is
        the truth, and each further one the report of a member. For small grids only."""
        members = self._members(coalition, epsilons)
        found = self._joint(members)
        if found is None:
            raise SizeError(
                f"The joint distribution of {len(members)} reports on {self.grid} is too large to write out; "
                "coalition says how private it is."
            )
        weights, total = found
        fractions = np.array([Fraction(int(w), total) for w in weights.ravel().tolist()], dtype=object)
        return fractions.reshape([self.span[1] + 1] * (len(members) + 1))

    def _joint(self, members: Sequence[int]) -> tuple[Integers, int] | None:
        """Integer weights over one total, a row for each truth; None when too large. Summed over who is no member."""
        size = self.span[1] + 1
        entries = size ** (len(members) + 1)
        if self.grid.n is None or entries > _LISTED:
            return None
        weights: Integers = np.eye(size, dtype=np.int64).astype(object)[
            :, None, :
        ]  # truth, members so far, present report
        total = 1
        for k, channel in enumerate(self.steps[: members[-1] + 1]):
            exact = channel.integers()
            if exact is None or (total * exact[1]).bit_length() * entries * size > _WORK:
                return None
            weights, total = np.tensordot(weights, exact[0].astype(object), axes=1), total * exact[1]
            if k in members[:-1]:  # a member remembers its report: one more column for each of its values
                kept_apart = weights[:, :, :, None] * np.eye(size, dtype=np.int64).astype(object)
                weights = kept_apart.reshape(size, -1, size)
        return weights.reshape(size, -1), total

    def coalition(self, members: Any = None, *, epsilons: Any = None) -> Verdict:
        """How private the reports of a coalition are together, by default everyone's; asked at the level of its least
        private member. On small grids every entry of the joint distribution is looked at; else it is the theorem of Gupte and
        Sundararajan: the reports of all others are drawn from that member's (proved in Coq:
        proofs/Cascade.v, coalition_private)."""
        places = self._members(members, epsilons)
        mine = self.mechanisms[places[0]]
        found = self._joint(places)
        if found is None:
            return check_privacy(mine)
        ratio = worst_ratio(found[0], self.grid.steps(self.sensitivity))
        shape = [self.span[1] + 1] * len(places)
        reports = tuple(self.grid.value(int(r)) for r in np.unravel_index(ratio.report or 0, shape))
        witness = Witness(self.grid.value(ratio.first), self.grid.value(ratio.second), reports, ratio.bound)
        words = f"{mine.neighbours.words(self.grid)}, {len(places)} reports together"
        return Verdict(
            allows(mine.level, ratio, Fraction(1)),
            mine.level,
            words,
            ratio.alpha,
            minus_log_above(ratio.alpha),
            witness,
        )

    def columns(self, last: str) -> tuple[str, ...]:
        """The headings of a table with a line for each level; how it was asked is said where that was an epsilon."""
        asked = ("asked as",) if any(level.asked is not None for level in self.levels) else ()
        return "audience", *asked, "alpha", "epsilon <=", last

    def lines(self, last: Iterable[Any]) -> tuple[tuple[Any, ...], ...]:
        """The lines of that table."""
        asked = len(self.columns("")) > 4
        return tuple(
            (k, *((level_words(level),) if asked else ()), show_rational(level.alpha), level.epsilon, each)
            for k, (level, each) in enumerate(zip(self.levels, last, strict=True), 1)
        )

    def view(self) -> View:
        return View(
            f"cascade of {len(self.levels)} level{'s' if len(self.levels) > 1 else ''} on {self.grid}",
            self.columns("standard error"),
            self.lines([_error(m) for m in self.mechanisms]),
            (f"all of it costs epsilon <= {show_above(self.price.epsilon)}, whoever shares with whom",),
        )

    def to_dict(self) -> dict[str, Any]:
        """The grid, the levels and the price."""
        return {
            "grid": str(self.grid),
            "sensitivity": plain(self.sensitivity),
            "levels": [
                {
                    "alpha": plain(x.alpha),
                    "epsilon": plain(x.epsilon),
                    "asked": None if x.asked is None else level_words(x),
                }
                for x in self.levels
            ],
            "price": {"alpha": plain(self.price.alpha), "epsilon": plain(self.price.epsilon)},
        }


def step(n: int, a: Fraction, b: Fraction) -> Mixture:
    """T_{a,b} = G_a^-1 G_b on 0..n, for a < b: a remap of reports at level a into reports at level b."""
    return Mixture(n + 1, kept(a, b, end=False), Geometric(n, b), kept(a, b, end=True))


def _error(m: Procedure) -> float:
    return m.channel.standard_error * float(m.inputs.step)


def level_words(level: Level) -> str:
    """A level as it was asked: by its alpha, or by an epsilon."""
    return f"alpha {show_rational(level.alpha)}" if level.asked is None else f"epsilon {level.asked}"
