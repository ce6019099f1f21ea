"""Pictures of intervals in one column: a scale on which most rows can be read, and a bar for each row on it."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

_READABLE = 20.0  # a bar that reaches less than a 20th of the scale's length is a dot

Span = tuple[float, float, float]  # low, high, report; an end may be infinite


@dataclass(frozen=True)
class Scale:
    """From `low` to `high`; `cut` says that some rows lie beyond an end."""

    low: float
    high: float
    cut: bool = False

    @classmethod
    def of(cls, spans: Sequence[Span]) -> Scale:
        """The scale that shows most of the rows: those whose bars end on it, and reach farther than a dot.

        One huge cell does not flatten the others: its bar is cut. Where several scales show as many, the longest is taken.

        >>> Scale.of([(0, 12, 5), (2, 14, 8), (990_000, 1_010_000, 1_000_000)])
        Scale(low=0.0, high=14.0, cut=True)
        >>> Scale.of([(-40, 10, -15), (0, 90, 45)])
        Scale(low=-40.0, high=90.0, cut=False)
        """
        reaches = sorted(reach for span in spans if 0 < (reach := _reach(span)) < math.inf)
        if not reaches:
            return cls(0.0, 1.0, any(math.isinf(_reach(span)) for span in spans))
        longest = max(range(len(reaches)), key=lambda k: (k - bisect_left(reaches, reaches[k] / _READABLE), k))
        shown = [span for span in spans if _reach(span) <= reaches[longest]]
        low, high = min(0.0, *(float(s[0]) for s in shown)), max(0.0, *(float(s[1]) for s in shown))
        return cls(low, high, len(shown) < len(spans))

    def place(self, value: float) -> float:
        """Where a value stands, in percent of the scale's length; what lies beyond stands at its end."""
        return 100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def bar(self, span: Span) -> str:
        """An interval as a small picture: a bar from low to high, a dot at the report, and a mark where the bar is cut."""
        low, high, report = span
        left, right = self.place(low), self.place(high)
        zero = f"<i class='zero' style='left:{self.place(0.0):.1f}%'></i>" if self.low < 0 else ""
        marks = ("<i class='cut left'></i>" if low < self.low else "") + (
            "<i class='cut right'></i>" if high > self.high else ""
        )
        dot = f"<i class='dot' style='left:{self.place(report):.1f}%'></i>" if self.low <= report <= self.high else ""
        return (
            f"<div class='bar' aria-hidden='true'>{zero}<i class='span' style='left:{left:.1f}%;width:{right - left:.1f}%'></i>"
            f"{dot}{marks}</div>"
        )


def _reach(span: Span) -> float:
    return max(abs(span[0]), abs(span[1]))
