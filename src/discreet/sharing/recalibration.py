"""The level each of k users must get so that together they learn no more than one level allows: three ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import minus_log_above
from ..exact.given import share, whole
from ..exact.grid import Grid, GridLike
from ..exact.level import Level, LevelLike
from ..measure.utility import expected_loss
from ..mechanisms.additive import geometric
from ..noise import GeometricNoise
from ..present.views import Result, View, plain
from .curve import Curve, Listed
from .losses import shifted_losses

_STEPS = 40  # halvings of the epsilon that is looked for


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
