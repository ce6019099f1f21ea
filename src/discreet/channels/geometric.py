"""The truncated geometric law on a grid of any size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import ArrayLike

from ..errors import TableError
from ..exact.arithmetic import log_of
from ..noise import DiscreteNoise, GeometricNoise
from ..progress import Progress
from .contract import Fault, Finite, Floats, Integers
from .noisy import Clamped, Closed

if TYPE_CHECKING:
    from .fit import Fit

_MAX_BITS = 2**28  # of all integer weights together, when the law is written out exactly


@final
@dataclass(frozen=True)
class Geometric(Closed):
    """C[i, j] = w_j a^|i-j| on 0..n, with w = 1/(1+a) at the ends and (1-a)/(1+a) between (Ghosh et al. 2009).

    push and pull are two first-order recursions, solve is a tridiagonal product: O(n), no matrix.
    """

    n: int
    a: Fraction

    def __post_init__(self) -> None:
        if self.n < 1 or not 0 < self.a < 1:
            raise TableError(f"A truncated geometric law needs n >= 1 and 0 < a < 1, not n = {self.n}, a = {self.a}.")

    @cached_property
    def _law(self) -> GeometricNoise:
        return GeometricNoise(self.a)

    @property
    def noise(self) -> GeometricNoise:
        return self._law

    @property
    def decay(self) -> Fraction:
        return self.a

    @property
    def is_structured(self) -> bool:
        return True

    def likeliest(self, q: Floats, gap: float, progress: Progress | None = None) -> Fit:
        from .knots import geometric_mle  # it loads SciPy

        return geometric_mle(self, q, gap, progress)

    def log_column(self, j: int) -> Floats:
        """By the logarithm of a: far from the report it lies below the smallest float."""
        return np.asarray(log_of(self.a) * np.abs(np.arange(self.rows) - j))

    def written(self) -> dict[str, Any]:
        return {"kind": "geometric", "n": self.n, "a": str(self.a)}

    def integers(self) -> tuple[Integers, int] | None:
        p, q = self.a.numerator, self.a.denominator
        if q.bit_length() * self.n * self.rows * self.reports > _MAX_BITS:
            return None
        # times (q + p) q^n: ends q p^d q^(n-d), between (q - p) p^d q^(n-d)
        powers = np.array([p**d * q ** (self.n - d) for d in range(self.n + 1)], dtype=object)
        place = np.arange(self.rows)
        weights = (q - p) * powers[np.abs(place[:, None] - place[None, :])]
        weights[:, 0], weights[:, -1] = q * powers, q * powers[::-1]
        return weights, (q + p) * q**self.n

    def _end_weights(self) -> tuple[float, float]:
        return float(1 / (1 + self.a)), float((1 - self.a) / (1 + self.a))

    def _matrix(self) -> Floats:
        end, middle = self._end_weights()
        # exp(d ln a) keeps its relative accuracy where a power of the rounded a would lose d units in the last place
        place = np.arange(self.rows)
        matrix = middle * np.exp(log_of(self.a) * np.arange(self.rows))[np.abs(place[:, None] - place[None, :])]
        matrix[:, [0, -1]] *= end / middle
        return np.asarray(matrix)

    def _smooth(self, v: Floats, a: float | None = None) -> Floats:
        """sum_i v_i a^|i-j| for every j: a recursion forwards and one backwards."""
        from scipy.signal import lfilter  # a slow import, kept out of the way of those who do not need it

        a = float(self.a) if a is None else a
        forward = lfilter([1.0], [1.0, -a], v)
        backward = lfilter([1.0], [1.0, -a], v[..., ::-1])[..., ::-1]
        return np.asarray(forward + backward - v)

    def _weigh(self, v: Floats) -> Floats:
        end, middle = self._end_weights()
        weighed = middle * v
        weighed[..., [0, -1]] = end * v[..., [0, -1]]
        return weighed

    def push(self, p: ArrayLike) -> Floats:
        return self._weigh(self._smooth(self._vector(p, self.rows, "The law of the true value")))

    def pull(self, v: ArrayLike) -> Floats:
        return self._smooth(self._weigh(self._vector(v, self.reports, "The values of the reports")))

    def push_rows(self, laws: Floats) -> Floats:
        return self._weigh(self._smooth(laws))

    def pull_rows(self, functions: Floats) -> Floats:
        return self._smooth(self._weigh(functions))

    def pull_squares(self, v: Floats) -> Floats:
        """(w_y a^|x-y|)^2 is w_y^2 (a^2)^|x-y|: the recursions of a^2."""
        return self._smooth(self._weigh(self._weigh(v)), float(self.a**2))

    def solve(self, q: ArrayLike) -> Floats:
        """q G^-1; G^-1 has the rows [1, -a]/(1-a), [-a, 1+a^2, -a]/(1-a)^2, [-a, 1]/(1-a)."""
        vector = self._vector(q, self.reports, "The law of the reports")
        a, gap = float(self.a), float(1 - self.a)
        scaled = vector / gap**2
        scaled[[0, -1]] = vector[[0, -1]] / gap
        solution = scaled * float(1 + self.a**2)
        solution[[0, -1]] = scaled[[0, -1]]
        solution[1:] -= a * scaled[:-1]
        solution[:-1] -= a * scaled[1:]
        return np.asarray(solution)

    def unpull(self, f: ArrayLike) -> Floats:
        """G^-1 f. By second differences, h_j = f_j - a (f_(j-1) - 2 f_j + f_(j+1)) / (1-a)^2, which loses no digits where f
        is straight; at the ends h_0 = f_0 - a (f_1 - f_0) / (1-a), and the same mirrored."""
        target = self._columns(f)
        overshoot = float(self.a / (1 - self.a))
        solution = target.copy()
        solution[1:-1] -= float(self.a / (1 - self.a) ** 2) * np.diff(target, 2, axis=0)
        solution[0] -= overshoot * (target[1] - target[0])
        solution[-1] += overshoot * (target[-1] - target[-2])
        return solution

    def faults(self) -> dict[str, Fault]:
        """S, RM and RH always hold; for n >= 2 F never, WH iff n >= 2a/(1-a), CM and CH iff a <= 1/2 (Cormode et al. 2018)."""
        if self.n == 1:
            return {}
        faults = {"F": Fault(low=(1, 1), high=(0, 0))}
        if self.n * (1 - self.a) < 2 * self.a:
            faults["WH"] = Fault(low=(1, 1), high=None)
        if self.a > Fraction(1, 2):
            faults["CM"] = faults["CH"] = Fault(low=(1, 1), high=(1, 0))
        return faults


def closed(n: int, noise: DiscreteNoise) -> Finite:
    """Noise on the grid 0..n, as the kind that knows most about it."""
    return Clamped(n, noise) if noise.decay is None else Geometric(n, noise.decay)
