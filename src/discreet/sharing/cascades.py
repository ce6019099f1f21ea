"""Cascades: one count for several audiences, each at a level of its own, of which sharing reveals nothing more.

The most accurate report is drawn from the truth; each next one is a remap of the report before it, never of the truth
(Gupte and Sundararajan 2010; proved in Coq: proofs/Cascade.v, step_leads and coalition_law). So whoever pools reports knows
what the least private of them says, and noise besides. A cascade knows no ledger: it says what it costs.
docs/theory/cascade.md has the proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from ..channels import Finite, Geometric, Mixture
from ..channels.contract import Integers
from ..channels.ratios import worst_ratio
from ..errors import GridError, LevelError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import minus_log_above, show, show_above, show_rational
from ..exact.given import positive
from ..exact.grid import FARTHEST, Grid, GridLike
from ..exact.level import Level
from ..exact.positions import values_at
from ..measure.privacy import Verdict, Witness, check_privacy
from ..mechanism import Mechanism, Procedure, allows
from ..mechanisms.additive import geometric
from ..present.views import Result, View, plain
from ..randomness.source import warn_of_seed
from ..sampling import Places, checked_source, draw_chain

if TYPE_CHECKING:
    from .cascade_reports import CascadeReports

Indices = NDArray[np.int64]

CITATION = "Gupte, Sundararajan, Universally optimal privacy mechanisms for minimax agents, PODS 2010"
_LISTED = 2**18  # entries of a joint distribution that is written out in integers
_WORK = 2**28  # bits of the products for it


def kept(a: Fraction, b: Fraction, *, end: bool) -> Fraction:
    """How often the step from level a to level b keeps a report: at an end of the grid, or anywhere else."""
    shrink = (1 - b) / (1 - a)
    return a / b * (shrink if end else shrink**2)


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

    def __reduce__(self) -> Any:
        return Cascade, (self.levels, self.grid, self.sensitivity)  # without what was worked out

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

    # Releasing

    def release(
        self,
        values: Any,
        *,
        clamp: bool = False,
        source: Any = None,
    ) -> CascadeReports:
        """One report for each level, of one true value or of each of many; the first from the truth, each next from the
        one before it.

        `source` is that of `Mechanism.sample`.
        """
        from .cascade_reports import CascadeReports

        source = checked_source(source)
        insecure = warn_of_seed(source)
        found = Places.of(self.grid, values, clamp)
        low, _ = self.span

        def places(start: int, stop: int) -> NDArray[np.int64]:
            return found.at(start, stop) - low if low else found.at(start, stop)

        drawn = draw_chain(self.steps, found.size, places, source)
        for reports in drawn if low else ():
            reports += low
        if found.shape is None:
            return CascadeReports(self, tuple(self.grid.value(int(place)) for (place,) in drawn), None, insecure)
        values_of = (found.kind(values_at(self.grid, reports).reshape(found.shape)) for reports in drawn)
        return CascadeReports(self, tuple(values_of), found.size, insecure)

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
