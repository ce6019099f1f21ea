"""`minimax_remap`: what a user without a prior makes of a report, who wants to be safe whatever the truth is.

He reads report y as guess r with a chance T[y, r] such that his largest mean loss over the true values is smallest. That is a
linear program, and his remap must be random: a prior that nature draws by punishes every single-minded one. Gupte and
Sundararajan (2010) prove that on the geometric mechanism he does as well as with the mechanism that is best for him among all
private ones (`design(risk="worst")`), whatever his loss that never falls with the distance and whatever values he rules out.

The program has a column for each report and guess. Few of them matter: guesses are added, for each report the best one under
the present least favourable prior, until none is missing. What comes out is rounded, and judged in integers: its worst loss
from above, and from below by the least favourable prior, under which even the best remap has no smaller mean loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import RemapError, SizeError
from ..exact.arithmetic import show, show_above
from ..exact.grid import Grid
from ..lp import Optimum, Program, dense
from ..measure.loss import Loss, LossLike, loss_of
from ..measure.prior import Prior
from ..measure.remaps import bayes_risk
from ..mechanism import Mechanism, mechanism_of
from ..present.views import Result, View, plain

Floats = NDArray[np.float64]

_MOST = 2**23  # products of integers for an exact answer
_BITS = 40  # after the point, of a remap's chances and of the prior
_CLOSE = 1e-11  # relative: when no guess is missing
_ROUNDS = 500
_TOGETHER = 4  # guesses that are added for each report at once


@dataclass(frozen=True, eq=False, repr=False)
class MinimaxRemap(Result):
    """A random remap, its exact worst loss, and a bound that no remap of this mechanism goes below, with its prior."""

    mechanism: Mechanism  # remapped, and as private as before
    remap: tuple[tuple[Fraction, ...], ...]  # a row for each report, a column for each guess
    risk: Fraction
    bound: Fraction
    prior: Prior  # least favourable

    @cached_property
    def gap(self) -> float:
        """By how much a remap could be better at most, rounded up."""
        left = self.risk - self.bound
        return float(np.nextafter(float(left), np.inf)) if left > 0 else 0.0

    @property
    def is_random(self) -> bool:
        """Does some report have two guesses?"""
        return any(max(row) < 1 for row in self.remap)

    def view(self) -> View:
        kind = "a random remap" if self.is_random else "a remap"
        return View(
            f"{kind} with a worst loss of {float(self.risk):.9g}; no remap is better by more than {show_above(self.gap, 2)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """The remap as floats; risk and bound exactly, as far as they can be written."""
        exact = {"risk": self.risk, "bound": self.bound, "gap": self.gap, "is_random": self.is_random}
        floats = [[float(x) for x in row] for row in self.remap]
        return {**plain(exact), "prior": self.prior.floats.tolist(), "remap": floats, "digest": self.mechanism.digest}


def minimax_remap(
    mechanism: Mechanism, loss: LossLike, *, among: Iterable[Any] | None = None, guesses: Grid | int | None = None
) -> MinimaxRemap:
    """The random remap of a mechanism with the least worst loss over the true values, or over those `among`.

    >>> import discreet as dt
    >>> g = dt.geometric(4, alpha="9/10")
    >>> safe = dt.theory.minimax_remap(g, "l0")
    >>> fair = dt.design(4, alpha="9/10", loss="l0", require={"F"})      # is no remap of g, and has the same worst loss
    >>> safe.is_random, abs(float(safe.risk) - fair.objective) < 1e-9, safe.gap < 1e-9
    (True, True, True)
    """
    channel, grid = mechanism_of(mechanism).finite(), mechanism.inputs if guesses is None else Grid.of(guesses)
    written, places = loss_of(loss, mechanism.inputs, grid), _places(mechanism.inputs, among)
    exact = channel.integers()
    if exact is None or len(places) * channel.reports * (grid.size or 0) > _MOST:
        raise SizeError(
            f"A remap of {channel.reports} reports to {grid.size} guesses for {len(places)} true values is too large for an "
            "exact answer; use a smaller grid."
        )
    chances, law = _solve(channel.matrix[places], written.floats[places])
    whole = _whole(chances)
    prior = _prior(law, places, channel.rows)
    risk = _worst(exact[0].astype(object)[places], exact[1], whole, written, places)
    bound = bayes_risk(mechanism, written, prior, guesses=grid, exact=True)
    remap = tuple(tuple(Fraction(int(x), 2**_BITS) for x in row) for row in whole)
    return MinimaxRemap(
        mechanism.remap([list(row) for row in remap], outputs=grid), remap, risk, Fraction(bound), prior
    )


def _places(grid: Grid, among: Iterable[Any] | None) -> list[int]:
    if among is None:
        return list(range(grid.size or 0))
    if isinstance(among, str) or not hasattr(among, "__iter__"):
        raise RemapError(f"among = {show(among)} is no list of values; name values of the grid.")
    found = sorted({grid.place_of(value, "among: the value", RemapError) for value in among})
    if not found:
        raise RemapError("among is empty: the worst case needs at least one value; name some, or leave it out.")
    return found


def _solve(chances: Floats, losses: Floats) -> tuple[Floats, Floats]:
    """The remap and the least favourable prior in floats, from guesses added as they are missed.

    A prior that is best for few guesses swings wildly; so guesses are looked for half way between it and the best so far.
    """
    truths, reports = chances.shape
    costs, every = losses / (float(losses.max()) or 1.0), np.arange(reports)[:, None]
    some = min(_TOGETHER, losses.shape[1] - 1)
    used = np.zeros((reports, losses.shape[1]), dtype=bool)
    law = centre = np.full(truths, 1 / truths)
    best = -np.inf
    for _ in range(_ROUNDS):
        for between in ((law + centre) / 2, law):
            by_guess = (between[:, None] * chances).T @ costs  # the mean loss of each report and guess
            if (least := float(by_guess.min(axis=1).sum())) > best:
                best, centre = least, between
            used[every, np.argpartition(by_guess, some, axis=1)[:, :some]] = True
        place = np.nonzero(used)
        found = _master(chances, costs, place)
        if found.value - best <= _CLOSE:
            break
        law = np.maximum(found.multipliers[:truths], 0.0)
        law = law / (law.sum() or 1.0)
    remap = np.zeros(used.shape)
    remap[place] = np.maximum(found.unknowns[:-1], 0.0)
    return remap / remap.sum(axis=1, keepdims=True), centre


def _master(chances: Floats, costs: Floats, place: tuple[NDArray[Any], ...]) -> Optimum:
    """The least t with t >= the mean loss of each truth, over the given guesses alone."""
    (truths, reports), (report, guess) = chances.shape, place
    count = len(report)
    row, column, value = dense(np.hstack([-chances[:, report] * costs[:, guess], np.ones((truths, 1))]))
    entries = np.append(row, truths + report), np.append(column, np.arange(count)), np.append(value, np.ones(count))
    ends = np.append(np.zeros(truths), np.ones(reports))
    best = Program(
        np.append(np.zeros(count), 1.0), entries, ends, np.append(np.full(truths, np.inf), ends[truths:])
    ).solve()
    if best is None:
        raise RemapError("The solver found no remap, so nothing is returned; try another loss or a smaller grid.")
    return best


def _whole(chances: Floats) -> NDArray[Any]:
    """Multiples of 2^-40, rounded down; the likeliest guess of each report gets what is left."""
    whole = np.floor(chances * 2.0**_BITS).astype(np.int64).astype(object)
    for row in whole:
        row[row.argmax()] += 2**_BITS - int(row.sum())
    return np.asarray(whole)


def _prior(law: Floats, places: list[int], size: int) -> Prior:
    weights = [0] * size
    for place, x in zip(places, law.tolist(), strict=True):
        weights[place] = int(x * 2.0 ** (_BITS + 20))
    return Prior("least favourable", tuple(weights))


def _worst(weights: NDArray[Any], total: int, remap: NDArray[Any], loss: Loss, places: list[int]) -> Fraction:
    """The exact largest mean loss of the truths."""
    means = ((weights @ remap) * loss.numerators.astype(object)[places]).sum(axis=1)
    return Fraction(max(int(x) for x in means), (total << _BITS) * loss.denominator)
