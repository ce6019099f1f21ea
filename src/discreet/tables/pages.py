"""Pages for people: a release as one HTML file that needs nothing else, with its intervals drawn."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from typing import Any

from ..numbers.exact import ball, float_above
from .results import Release

_MOST_ROWS = 400  # beyond this the page shows the first ones and points to the CSV

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2430; background: #fbfaf7; margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2rem }
p.lead { color: #4a5568; margin-top: 0 } .box { background: #fff; border: 1px solid #e4e0d8; border-radius: 8px;
       padding: .8rem 1.2rem; }
table { border-collapse: collapse; width: 100%; background: #fff; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #eee9df; text-align: left; } td.n, th.n { text-align: right }
th { font-weight: 600; color: #4a5568; font-size: .85rem } tr:hover td { background: #f6f3ec }
svg { display: block } .small { color: #6b7280; font-size: .85rem } a { color: #7a3b69 }
"""


def page(title: str, body: str) -> str:
    """A whole page around a body."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body>\n{body}\n</body></html>\n"
    )


def statement(record: Mapping[str, Any]) -> str:
    """What the people in the data should know, in plain words."""
    bound = times_at_most(Fraction(record["epsilon_charged"]))
    otherwise = "with any other data of yours" if record["relation"] == "bit" else "if you were not in the data at all"
    return (
        "<div class='box'><p><b>For the people in these data.</b> These counts are not exact. Random noise was added to them "
        f"before anyone saw them. {html.escape(str(record['protects']))} Whatever somebody concludes about you from this table "
        f"is at most {bound} times as likely with your data as {otherwise}. "
        f"{html.escape(str(record['person']))}</p>"
        + "".join(f"<p class='small'>{html.escape(text)}</p>" for text in record["beware"])
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


def rows_table(rows: Sequence[Mapping[str, Any]], keys: Sequence[str], value: str) -> str:
    """Rows with their intervals drawn on one scale: as shares of their groups where the sizes are public, else as counts."""
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
    columns = [*keys, *(["of"] if shares else []), value, *(["fitted to the totals"] if fitted else [])]
    head = "".join(f"<th{'' if k in keys else ' class=n'}>{html.escape(k)}</th>" for k in columns)
    picture = f"share of the group, 0 to {top:.0%}" if shares else f"0 to {top:.0f}"
    lines = [f"<table><tr>{head}<th class='n'>95 % interval</th><th>{picture}</th></tr>"]
    for r in shown:
        cells = "".join(f"<td>{html.escape(str(r[k]))}</td>" for k in keys)
        cells += f"<td class='n'>{r['n']}</td>" if shares else ""
        exact = r.get("mechanism") == "public zero"
        cells += f"<td class='n'>{_number(r[value])}{' (exact)' if exact else ''}</td>"
        cells += f"<td class='n'>{_number(r['fitted'])}</td>" if fitted else ""
        span = bar = ""
        if r["low"] is not None and r[value] is not None:
            span = f"{r['low']} to {'any' if r['high'] is None else r['high']}"
            scale = top * unit(r)
            bar = interval_bar(r["low"] / scale, 1.0 if r["high"] is None else r["high"] / scale, r[value] / scale)
        lines.append(f"<tr>{cells}<td class='n'>{span}</td><td>{bar}</td></tr>")
    lines.append("</table>")
    if len(rows) > len(shown):
        lines.append(f"<p class='small'>The first {len(shown)} of {len(rows)} rows; the CSV has all of them.</p>")
    return "".join(lines)


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else html.escape(str(value))


def release_page(release: Release) -> str:
    """A release for people: the table, the intervals as pictures, and what it means for those in the data."""
    record = release.record
    what = ", ".join(text or "people" for text in record["counts"].values())
    keys = [*record["by"], *(["count"] if len(record["counts"]) > 1 else [])]
    parts = [
        f"<h1>{html.escape(str(record['dataset']))}: {html.escape(what)}</h1>",
        f"<p class='lead'>{record['groups']} groups, epsilon {html.escape(str(record['epsilon_charged']))}, "
        f"{html.escape(str(record['released']))}</p>",
        statement(record),
        "<h2>Counts</h2>",
        rows_table(release.rows, keys, "report"),
    ]
    for margin, rows in release.margins.items():
        parts.append(f"<h2>Totals by {html.escape(margin)}, matching their parts</h2>")
        parts.append(rows_table(rows, [margin, *(["count"] if len(record["counts"]) > 1 else [])], "total"))
    left = record["budget"]
    parts.append(
        f"<h2>How to read this</h2><p>The 95 % interval, {html.escape(str(record['interval']))}. Where there are totals, the parts "
        "fitted to them add up; the reports need not. The CSV has an unbiased estimate for each count, for adding up and not for "
        f"reading: it may be negative.</p><p>Budget: {left['spent']} of {left['budget']} spent, {left['left']} left.</p>"
    )
    return page(f"{record['dataset']}: private counts", "\n".join(parts))
