"""Reports around a circle: how far the report lies from the truth has one distribution, the same for every truth.

Randomised response, the square wave and projective response are of this form: near the truth, or at places of another set
that turns with it, each report has one chance, and all others have another.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import flint
import numpy as np
from numpy.typing import NDArray

from ..exact.arithmetic import ball
from ..randomness.alias import RealAlias
from ..randomness.source import Stream
from .contract import Indices


@final
@dataclass(frozen=True, eq=False)
class Circle:
    """How far to turn around so many reports, drawn exactly with one word."""

    turn: RealAlias
    size: int

    @classmethod
    def of(cls, near: NDArray[np.bool_], inside: Fraction, outside: Fraction) -> Circle:
        """Places around the circle that are `near` have the chance `inside` each, all others `outside`."""
        here, chances = near.tolist(), (outside, inside)
        floors = [x.numerator * 2**64 // x.denominator for x in chances]

        def balls() -> list[flint.arb]:
            made = [ball(x) for x in chances]
            return [made[x] for x in here]

        return cls(RealAlias.of([floors[x] for x in here], balls), len(here))

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        """A report for each place."""
        self.turn.draw(stream, out)
        out += places
        moved = out.view(
            np.uint64
        )  # less the size, a report within it wraps to the far end of 64 bits: the smaller one is right
        np.minimum(moved, moved - np.uint64(self.size), out=moved)
        return out

    def one(self, place: int, stream: Stream) -> int:
        """The same for one place."""
        return (place + self.turn.one(stream)) % self.size


def coin(chance: Fraction) -> RealAlias:
    """1 with this chance, else 0."""
    chances = [1 - chance, chance]
    return RealAlias.of([x.numerator * 2**64 // x.denominator for x in chances], lambda: [ball(x) for x in chances])
