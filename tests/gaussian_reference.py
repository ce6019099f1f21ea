"""The discrete Gaussian written out with the decimal module: weights q^(x^2), their sums, and rows of clamped noise."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 60


def decimal(x: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = DIGITS
        return Decimal(x.numerator) / Decimal(x.denominator)


class Reference:
    """Chances and tails, by adding up weights until they are below 10^-80 of the first one that counts."""

    def __init__(self, q: Fraction, farthest: int = 0) -> None:
        with localcontext() as context:
            context.prec = DIGITS
            rate = -decimal(q).ln()
            self.weights = [Decimal(1)]
            while len(self.weights) <= farthest + 2 or self.weights[-1] > Decimal(10) ** -80 * self.weights[farthest]:
                self.weights.append((-rate * len(self.weights) ** 2).exp())
            self.sums = [Decimal(0)] * (len(self.weights) + 1)  # of the weights from each place on
            for k in range(len(self.weights) - 1, -1, -1):
                self.sums[k] = self.sums[k + 1] + self.weights[k]
            self.theta = 1 + 2 * self.sums[1]

    def chance(self, k: int) -> Decimal:
        with localcontext() as context:
            context.prec = DIGITS
            return self.weights[abs(k)] / self.theta if abs(k) < len(self.weights) else Decimal(0)

    def tail(self, k: int) -> Decimal:
        with localcontext() as context:
            context.prec = DIGITS
            if k > 0:
                return self.sums[min(k, len(self.weights))] / self.theta
            return 1 - self.sums[min(1 - k, len(self.weights))] / self.theta

    def row(self, truth: int, n: int) -> list[Decimal]:
        """The reports 0..n of noise that is clamped there."""
        inner = [self.chance(y - truth) for y in range(1, n)]
        return [self.tail(truth), *inner, self.tail(n - truth)]
