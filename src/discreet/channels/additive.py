"""Noise added to the true value on a grid that is open at one end or both."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from ..noise import NoiseDraws, NoiseLaw
from ..source import Stream
from .contract import Channel, Indices, Ratio


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

    @cached_property
    def _draws(self) -> NoiseDraws:
        return self.noise.draws()

    def draw(self, places: Indices, stream: Stream, out: Indices) -> Indices:
        out = self._draws.draw(stream, out)
        out += places  # both are below 2^62: no sum wraps
        return out if self.low is None and self.high is None else np.clip(out, self.low, self.high, out=out)

    def draw_one(self, place: int, stream: Stream) -> int:
        report = place + self._draws.one(stream)
        report = report if self.low is None else max(report, self.low)
        return report if self.high is None else min(report, self.high)

    def worst(self, distance: int) -> Ratio:
        start = 0 if self.high is None else self.high - distance
        return self.ratio(start, start + distance)
