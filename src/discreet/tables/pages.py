"""Pages for people: a release as one HTML file that needs nothing else, with its intervals drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from html import escape
from typing import Any

from ..numbers.exact import ball, float_above
from ..present.html import page, table
from .question import MISSING
from .results import Release, asked_in_words

_MOST_ROWS = 400  # beyond this the page shows the first ones and points to the CSV


def statement(record: Mapping[str, Any]) -> str:
    """What the people in the data should know, in plain words."""
    bound = times_at_most(Fraction(record["epsilon_charged"]))
    otherwise = "with any other data of yours" if record["relation"] == "bit" else "if you were not in the data at all"
    return (
        "<div class='box'><p><b>For the people in these data.</b> These counts are not exact. Random noise was added to them "
        f"before anyone saw them. {escape(str(record['protects']))} Whatever somebody concludes about you from this table "
        f"is at most {bound} times as likely with your data as {otherwise}. "
        f"{escape(str(record['person']))}</p>"
        + "".join(f"<p class='small'>{escape(text)}</p>" for text in record["beware"])
        + "</div>"
    )


def times_at_most(epsilon: Fraction) -> str:
    """e^epsilon for a reader, never below it: three digits, or two of what is above 1 where that is little."""
    if epsilon > 40:  # log10(e) = 0.43429448190325182..., rounded up
        return f"10<sup>{math.ceil(epsilon * Fraction('0.43429448190325183'))}</sup>"
    factor = Decimal(float_above(lambda: ball(epsilon).exp()))
    little = factor < Decimal("1.1")
    with localcontext(prec=2 if little else 3, rounding=ROUND_CEILING):
        rounded = factor - 1 if little else +factor
    return f"{(1 + rounded if little else rounded).normalize():,f}"


def interval_bar(low: float, high: float, report: float, width: int = 260) -> str:
    """An interval as a small picture on a scale from 0 to 1: a bar from low to high and a dot at the report."""
    left, right, dot = (6 + min(max(x, 0.0), 1.0) * (width - 12) for x in (low, high, report))
    return (
        f"<svg width='{width}' height='16' aria-hidden='true'>"
        f"<line x1='6' y1='8' x2='{width - 6}' y2='8' stroke='#eee9df' stroke-width='2'/>"
        f"<line x1='{left:.1f}' y1='8' x2='{right:.1f}' y2='8' stroke='#c9a5bd' stroke-width='7' stroke-linecap='round'/>"
        f"<circle cx='{dot:.1f}' cy='8' r='4' fill='#7a3b69'/></svg>"
    )


def rows_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], value: str, more: int = 0) -> str:
    """Rows with their intervals drawn on one scale: as shares of their groups where the sizes are public, else as counts.

    `more` counts the rows that are not given.
    """
    shown = rows[:_MOST_ROWS]
    shares = bool(shown) and "n" in shown[0]

    def unit(row: Mapping[str, Any]) -> float:
        return float(max(row["n"], 1)) if shares else 1.0

    known = [r for r in shown if r["low"] is not None and r[value] is not None]
    top = (
        max((float(r["high"] if r["high"] is not None else 2 * r[value] + 1) / unit(r) for r in known), default=1.0)
        or 1.0
    )
    fitted = bool(shown) and "fitted" in shown[0]
    lines = []
    for r in shown:
        exact = " (exact)" if r.get("mechanism") == "public zero" else ""
        span = bar = ""
        if r["low"] is not None and r[value] is not None:
            span = f"{r['low']} to {'any' if r['high'] is None else r['high']}"
            scale = top * unit(r)
            bar = interval_bar(r["low"] / scale, 1.0 if r["high"] is None else r["high"] / scale, r[value] / scale)
        counts = [*([r["n"]] if shares else []), r[value], *([r["fitted"]] if fitted else [])]
        numbers = [_number(x) + (exact if k == shares else "") for k, x in enumerate(counts)]
        lines.append([*(escape(str(MISSING if r[k] is None else r[k])) for k in keys), *numbers, span, bar])
    counted = [*(["of"] if shares else []), value, *(["fitted to the totals"] if fitted else []), "95 % interval"]
    picture = f"share of the group, 0 to {top:.0%}" if shares else f"0 to {top:.0f}"
    right = [False] * len(keys) + [True] * len(counted) + [False]
    drawn = table([*keys, *counted, picture], lines, right)
    if len(rows) + more > len(shown):
        drawn += f"<p class='small'>The first {len(shown)} of {len(rows) + more} rows; the CSV has all of them.</p>"
    return drawn


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else escape(str(value))


def release_page(release: Release) -> str:
    """A release for people: the table, the intervals as pictures, and what it means for those in the data."""
    record = release.record
    what = asked_in_words(record)
    several = [name for name in ("count", "statistic") if name in release.columns and name not in record["by"]]
    keys = [*record["by"], *several]
    first = release.rows(_MOST_ROWS)
    parts = [
        f"<h1>{escape(str(record['dataset']))}: {escape(what)}</h1>",
        f"<p class='lead'>{record['groups']} groups, epsilon {escape(str(record['epsilon_charged']))}, "
        f"{escape(str(record['released']))}</p>",
        statement(record),
        "<h2>Counts</h2>",
        rows_table(first, keys, "report", release.size - len(first)),
    ]
    for margin, rows in release.margins.items():
        parts.append(f"<h2>Totals by {escape(margin)}, matching their parts</h2>")
        parts.append(rows_table(rows, [margin, *several], "total"))
    left = record["budget"]
    parts.append(
        f"<h2>How to read this</h2><p>The 95 % interval, {escape(str(record['interval']))}. Where there are totals, the parts "
        "fitted to them add up; the reports need not. The CSV has an unbiased estimate for each count, for adding up and not for "
        f"reading: it may be negative.</p><p>Budget: {left['spent']} of {left['budget']} spent, {left['left']} left.</p>"
    )
    return page(f"{record['dataset']}: private counts", "\n".join(parts))
