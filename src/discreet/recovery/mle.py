"""Maximum likelihood to a certified gap: by the structure of the channel where it has one."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..blas import one_thread
from ..channels import Finite
from ..progress import Progress, tell
from .ibu import ibu
from .likelihood import Fit, Floats, certificate

_DENSE = 3000  # true values up to which Newton's method with a dense matrix is used
_ALIKE = 1000  # the same where each value has a set of reports of its own: there the iterative update is quick
_STEPS = 100
_FLAT = 1e-7  # a mechanism whose reports differ by less, between any two truths, tells nothing in floats
_MASS = 1e-7  # a true value with less mass than this is not in the support


def mle(channel: Finite, q: Floats, *, gap: float = 1e-9, progress: Progress | None = None) -> Fit:
    """The distribution of the true values with the largest likelihood, certified by the gap max_i (C(q/(pC)))_i - 1."""
    nothing = says_nothing(channel, q)
    if nothing is not None:
        return nothing
    known = channel.likeliest(q, gap, progress)
    if known is not None:
        return known
    dense = _DENSE if channel.hits(q) is None else _ALIKE
    if channel.rows <= dense and channel.rows * channel.reports <= 2**24:
        with one_thread():
            return _dense_mle(channel, q, gap, progress)
    return ibu(channel, q, gap=gap, accelerate=True, progress=progress)


def says_nothing(channel: Finite, q: Floats) -> Fit | None:
    """The uniform distribution, where reports hardly depend on the truth and rounding would choose; else None."""
    worst = channel.worst(channel.rows - 1)
    if not (worst.alpha > 0 and worst.power * float(1 - worst.alpha) < _FLAT):
        return None
    uniform = np.full(channel.rows, 1 / channel.rows)
    note = (
        "These reports hardly depend on the truth, so no distribution is likelier than another; use a larger epsilon."
    )
    return Fit(uniform, certificate(channel, q, uniform), 0, (), (note,), unique=None)


def _dense_mle(channel: Finite, q: Floats, gap: float, progress: Progress | None) -> Fit:
    """Any table: an interior point for min -sum q ln(pC) + sum p over p >= 0, with dense Newton steps.

    At its solution sum p = 1 by itself. Interior points end in the middle of the set of solutions, so their support
    is as large as it can be: with it we see whether there is more than one.
    """
    seen = np.flatnonzero(q)
    weights = q[seen]
    matrix = channel.matrix[:, seen]
    able = np.flatnonzero(matrix.max(axis=1) > 0)  # true values that can give a report that was seen
    matrix = np.ascontiguousarray(matrix[able])
    size = len(able)
    p, z = np.full(size, 1.0 / size), np.ones(size)
    best, best_gap, step = p, np.inf, 0
    trace: list[tuple[int, float, float]] = []
    for step in range(_STEPS):
        chances = p @ matrix
        slope = matrix @ (weights / chances)
        own = max(float((slope * p.sum()).max()) - 1, 0.0)
        trace.append((step, float(weights @ np.log(chances / p.sum())), own))
        tell(progress, f"step {step}, gap {own:.1e}")
        if own < best_gap:
            best, best_gap = p / p.sum(), own
        if own <= gap:
            break
        scaled = matrix * (np.sqrt(weights) / chances)
        hessian = scaled @ scaled.T
        hessian[np.arange(size), np.arange(size)] += z / p
        newton = _MassNewton(hessian, p, z, 1 - slope)
        mu = float(p @ z) / size
        dp, dz = newton.solve(-p * z)
        then = float((p + _reach(p, dp) * dp) @ (z + _reach(z, dz) * dz)) / size
        centre = max(min(1.0, max(then / mu, 0.0)) ** 3 * mu, 1e-17)
        dp, dz = newton.solve(centre - p * z - (dp * dz if step > 1 else 0.0))
        most = 0.9995 if mu < 1e-6 else 0.95
        p, z = p + _reach(p, dp, most) * dp, z + _reach(z, dz, most) * dz
    law = np.zeros(channel.rows)
    law[able] = best
    note = () if best_gap <= gap else (f"Rounding stopped it at a gap of {best_gap:.1e}, not {gap:.1e}.",)
    alone = _is_unique(matrix, best)
    if not alone:
        note = (
            *note,
            "Other distributions explain the reports equally well: the maximum likelihood estimate is not unique.",
        )
    return Fit(law, best_gap, step, _thinned(trace), note, unique=alone)


class _MassNewton:
    """H dp - dz = z - gradient and z dp + p dz = wanted; H scaled to a unit diagonal, with a ridge where it is singular."""

    def __init__(self, hessian: Floats, p: Floats, z: Floats, gradient: Floats) -> None:
        self.p, self.z, self.gradient = p, z, gradient
        self.scale = 1 / np.sqrt(np.diag(hessian))
        self.matrix = hessian * self.scale[:, None] * self.scale
        ridge = 0.0
        while True:
            try:
                self.factor = cho_factor(self.matrix + ridge * np.eye(len(p)), lower=True, check_finite=False)
                return
            except np.linalg.LinAlgError:
                ridge = max(1e-15, 10 * ridge)

    def solve(self, wanted: Floats) -> tuple[Floats, Floats]:
        right = (wanted / self.p + self.z - self.gradient) * self.scale
        found = cho_solve(self.factor, right, check_finite=False)
        found += cho_solve(self.factor, right - self.matrix @ found, check_finite=False)  # one refinement
        dp = found * self.scale
        return dp, (wanted - self.z * dp) / self.p


def _is_unique(matrix: Floats, law: Floats) -> bool:
    """Is there no direction within the support that leaves the chances of all reports seen as they are?"""
    support = law > _MASS
    values = np.linalg.svd(matrix[support], compute_uv=False)
    return len(values) >= int(support.sum()) and bool(values[-1] > 1e-11 * values[0])


def _thinned(trace: list[tuple[int, float, float]]) -> tuple[tuple[int, float, float], ...]:
    return tuple(trace) if len(trace) <= 40 else (*trace[:20], *trace[20::10])


def _reach(v: Floats, dv: Floats, most: float = 1.0) -> float:
    """How far v + t dv stays positive, times `most`, up to t = 1."""
    return min(1.0, most / max(1e-300, float((-dv / v).max())))
