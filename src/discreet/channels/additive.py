"""Noise added to the true value on a grid that is open at one end or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ..noise import NoiseLaw
from .contract import Channel, Ratio


@final
@dataclass(frozen=True)
class Additive(Channel):
    """report = truth + noise, saturating at `low` or `high` where there is one (never both: that is a finite kind)."""

    noise: NoiseLaw
    low: int | None = None
    high: int | None = None

    @property
    def rows(self) -> None:
        return None

    @property
    def reports(self) -> None:
        return None

    def ratio(self, first: int, second: int) -> Ratio:
        # report `first` is hit by zero noise; saturating merges reports, which makes no ratio larger
        return Ratio(self.noise.shift_ratio(), first, second, first, power=abs(first - second))

    def worst(self, distance: int) -> Ratio:
        start = 0 if self.high is None else self.high - distance
        return self.ratio(start, start + distance)
