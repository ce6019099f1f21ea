"""The iterative Bayesian update: an exact number of steps, or until the certificate is met."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..channels import Finite
from ..channels.contract import MATRIX_ENTRIES
from ..errors import RecoveryError
from ..exact.given import law as law_of
from ..exact.given import whole
from ..progress import Progress, tell
from .likelihood import Fit, Floats, is_injective

GAP = 1e-6  # where neither a number of steps nor a gap is asked for
_MOST = 100_000  # steps where only a gap is asked for
_PRODUCTS = 2**17  # entries up to which a matrix product is faster than the recursions of a structured channel
_FLOOR = 0.1  # an extrapolation keeps at least this part of two plain steps: nearer to 0 it would stall
_OFTEN = 1000  # steps between two words of progress


def ibu(
    channel: Finite,
    q: Floats,
    *,
    start: Any = None,
    iterations: int | None = None,
    gap: float | None = None,
    accelerate: bool = False,
    progress: Progress | None = None,
) -> Fit:
    """p <- p (C (q / pC)), entry by entry, from a start with full support (Fernandes, Lefki and Palamidessi, Definition 1).

    It converges to a maximum likelihood estimate (Theorem 1; ElSalamouny and Palamidessi 2020 for any channel), and the
    likelihood never falls. With `iterations` alone it does exactly that many steps; with `gap` it stops when the certificate
    is met, after at most `iterations` steps. `accelerate` extrapolates from two steps (SQUAREM, Varadhan and Roland
    2008), never to a lower likelihood; a step is then one evaluation of the update. Each step is one push and one pull.
    """
    law = _start(start, channel.rows)
    most = _MOST if iterations is None else whole(iterations, "iterations", 0, example=1000, error=RecoveryError)
    if accelerate and gap is None and iterations is not None:
        raise RecoveryError("Accelerated steps cannot be counted as plain ones: give a gap, or set accelerate=False.")
    goal = gap if gap is not None else GAP if iterations is None else None
    run = _Iteration(channel, q, goal, most, progress)
    law = run.accelerated(law) if accelerate else run.plain(law)
    notes = []
    if goal is not None and run.gap > goal:
        notes.append(
            f"Stopped after {run.steps} steps with the gap {run.gap:.2g}, not {goal:.2g}: this is not yet the maximum "
            'likelihood estimate; use method="mle", or allow more iterations.'
        )
    return Fit(law, run.gap, run.steps, tuple(run.trace), tuple(notes), True if is_injective(channel, q) else None)


class _Iteration:
    """One run: what a step is, and what has been seen on the way."""

    def __init__(self, channel: Finite, q: Floats, goal: float | None, most: int, progress: Progress | None) -> None:
        self.seen = q > 0
        self.q = q[self.seen]
        self.push, self.pull = _operators(channel, self.seen)
        self.goal, self.most, self.progress = goal, most, progress
        self.steps, self.next = 0, 0
        self.gap = math.inf
        self.trace: list[tuple[int, float, float]] = []

    def value(self, implied: Floats) -> float:
        return float(self.q @ np.log(implied)) if implied.min() > 0 else -math.inf

    def plain(self, law: Floats) -> Floats:
        push, pull, q, goal = self.push, self.pull, self.q, self.goal
        while True:
            implied = push(law)
            gradient = pull(q / implied)
            if (goal is not None or self.steps >= self.next or self.steps == self.most) and self.looked(
                law, implied, gradient
            ):
                return law
            law = law * gradient
            self.steps += 1

    def looked(self, law: Floats, implied: Floats, gradient: Floats) -> bool:
        """Write down where the run stands; is it over?"""
        self.gap = max(float(gradient.max()) - 1.0, 0.0)
        over = self.steps >= self.most or (self.goal is not None and self.gap <= self.goal)
        if over or self.steps >= self.next:
            self.trace.append((self.steps, self.value(implied), self.gap))
            self.next = _after(self.steps)
        if over or self.steps % _OFTEN == 0:
            tell(self.progress, f"step {self.steps}, gap {self.gap:.1e}")
        return over

    def accelerated(self, law: Floats) -> Floats:
        """Two steps, a jump along their squared extrapolation if it gains, and one step from where it lands."""
        while True:
            points = [law]
            for _ in range(2):
                implied = self.push(points[-1])
                gradient = self.pull(self.q / implied)
                if self.looked(points[-1], implied, gradient):
                    return points[-1]
                points.append(points[-1] * gradient)
                self.steps += 1
            landed, implied = self.jump(*points)
            gradient = self.pull(self.q / implied)
            if self.looked(landed, implied, gradient):
                return landed
            law = landed * gradient
            self.steps += 1

    def jump(self, first: Floats, second: Floats, third: Floats) -> tuple[Floats, Floats]:
        change = second - first
        bend = third - second - change
        plain = self.push(third)
        bar, length = self.value(plain), float(np.linalg.norm(bend))
        size = min(-1.0, -float(np.linalg.norm(change)) / length) if length > 0 else -1.0
        while size < -1.0 - 1e-3:
            law = np.maximum(first - 2 * size * change + size**2 * bend, _FLOOR * third)
            law /= law.sum()
            implied = self.push(law)
            if self.value(implied) >= bar:
                return law, implied
            size = (size - 1.0) / 2
        return third, plain


def _operators(channel: Finite, seen: Any) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """pC on the reports seen, and C v for v on them: by a matrix where that is small or all there is."""
    entries = channel.rows * channel.reports
    if entries <= _PRODUCTS or (not channel.is_structured and entries <= MATRIX_ENTRIES):
        across = np.ascontiguousarray(channel.matrix[:, seen])
        down = np.ascontiguousarray(across.T)
        return down.__matmul__, across.__matmul__
    if seen.all():
        return channel.push, channel.pull
    values = np.zeros(channel.reports)

    def pull(v: Floats) -> Floats:
        values[seen] = v
        return channel.pull(values)

    return (lambda p: channel.push(p)[seen]), pull


def _start(start: Any, rows: int) -> Floats:
    if start is None:
        return np.full(rows, 1.0 / rows)
    law = np.array(law_of(start, "The start", size=rows, error=RecoveryError), dtype=np.float64)
    empty = np.flatnonzero(law <= 0)
    if len(empty):
        raise RecoveryError(
            f"The start gives no probability to the true value at position {empty[0]}, and would never find any there; "
            "start from a distribution with full support.",
            position=int(empty[0]),
        )
    return np.asarray(law / law.sum())


def _after(step: int) -> int:
    """The next of 1, 2, 3, 5, 10, 20, 30, 50, 100, ... after a step."""
    scale: int = 10 ** (len(str(step)) - 1)
    return next(m * scale for m in (1, 2, 3, 5, 10, 20) if m * scale > step)
