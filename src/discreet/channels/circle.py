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
from ..exact.frozen import frozen
from ..randomness.alias import RealAlias, looked_up
from ..randomness.source import Stream
from .contract import Indices


@final
@dataclass(frozen=True, eq=False)
class Circle:
    """How far to turn, drawn exactly with one word; and positions modulo the number of reports, since a look-up beats dividing."""

    turn: RealAlias
    positions: NDArray[np.int64]

    @classmethod
    def of(cls, near: NDArray[np.bool_], inside: Fraction, outside: Fraction) -> Circle:
        """Places around the circle that are `near` have the chance `inside` each, all others `outside`."""
        here, chances = near.tolist(), (outside, inside)
        floors = [x.numerator * 2**64 // x.denominator for x in chances]

        def balls() -> list[flint.arb]:
            made = [ball(x) for x in chances]
            return [made[x] for x in here]

        turn = RealAlias.of([floors[x] for x in here], balls)
        return cls(turn, frozen(np.arange(2 * len(here)) % len(here)))

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        """A report for each place."""
        moved = self.turn.draw(stream, np.empty_like(out))
        moved += places
        return looked_up(self.positions, moved, out)

    def one(self, place: int, stream: Stream) -> int:
        """The same for one place."""
        return (place + self.turn.one(stream)) * 2 % len(self.positions) // 2


def coin(chance: Fraction) -> RealAlias:
    """1 with this chance, else 0."""
    chances = [1 - chance, chance]
    return RealAlias.of([x.numerator * 2**64 // x.denominator for x in chances], lambda: [ball(x) for x in chances])
