"""A plain picture of curves as inline SVG, drawn by ourselves: for pages that must have one, whatever is installed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Series = tuple[Sequence[float], Sequence[float]]

_WIDE, _HIGH, _LEFT, _TOP, _RIGHT, _BELOW = 640, 300, 62, 58, 14, 46  # of the picture, and what is around the curves
_LOOKS = (
    ("#0072B2", ""),
    ("#D55E00", "7 3"),
    ("#009E73", "2 2"),
    ("#CC79A7", "9 3 2 3"),
)  # colour, and dashes for print in grey


def sketch(series: Mapping[str, Series], title: str, x: str, y: str) -> str:
    """Curves over a common axis, from 0 upwards; those with a name of their own stand in a legend. Every text is escaped."""
    places = [float(p) for across, _ in series.values() for p in across]
    low, high = min(places), max(places)
    top = max(max(float(v) for v in up) for _, up in series.values()) or 1.0
    step_x, step_y = _round_step(high - low or 1.0), _round_step(top)

    def across(value: float) -> float:
        return _LEFT + (value - low) / (high - low or 1.0) * (_WIDE - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HIGH - _BELOW - value / top * (_HIGH - _TOP - _BELOW)

    parts = [f'<text x="8" y="18" font-size="15" font-weight="bold">{escape(title)}</text>']
    for value in _ticks(0.0, top, step_y):
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDE - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="#e4e0d8"/>'
        )
        parts.append(f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.6g}</text>')
    for value in _ticks(low, high, step_x):
        parts.append(f'<text x="{across(value):.1f}" y="{_HIGH - _BELOW + 18}" text-anchor="middle">{value:.6g}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDE) / 2:.0f}" y="{_HIGH - 8}" text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text x="8" y="{_TOP - 8}">{escape(y)}</text>')
    for k, (name, (at, values)) in enumerate(series.items()):
        colour, dashes = _LOOKS[k % len(_LOOKS)]
        points = " ".join(f"{across(float(p)):.1f},{up(float(v)):.1f}" for p, v in zip(at, values, strict=True))
        look = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dashes or "none"}"'
        parts.append(f'<polyline points="{points}" {look}/>')
        start = _LEFT + 90 + 190 * k
        parts.append(f'<line x1="{start}" x2="{start + 26}" y1="{_TOP - 12}" y2="{_TOP - 12}" {look}/>')
        parts.append(f'<text x="{start + 32}" y="{_TOP - 8}">{escape(name)}</text>')
    return (
        f'<svg class="marks" role="img" aria-label="{escape(title)}" xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" '
        f'height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}" font-family="Helvetica, Arial, sans-serif" font-size="12" '
        f'style="background:#fff">{"".join(parts)}</svg>'
    )


def _round_step(length: float) -> float:
    """A round number of which a length has four to nine."""
    unit = 10.0 ** math.floor(math.log10(length))
    return next(step for step in (unit / 10, unit / 5, unit / 2, unit, 2 * unit) if length / step < 10)


def _ticks(low: float, high: float, step: float) -> list[float]:
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
