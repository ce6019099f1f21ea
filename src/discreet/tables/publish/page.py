"""Pages for people: a release as one HTML file that needs nothing else, with its intervals drawn."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from functools import partial
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...exact.arithmetic import ball, float_above, show_delta
from ...exact.concentrated import epsilon_above
from ...present.html import page, table
from ...present.words import moment
from ...questions.margins import OF_TOTALS, TOTAL
from ...questions.statistic import ADDED
from ..draw.measures import PUBLIC_ZERO
from ..totals.margin_rows import left_out_words
from .error_statement import TITLE, ErrorStatement, errors_in_html
from .presentation import labelled
from .readings import Confidence
from .words import (
    adding_up,
    amount,
    asked_in_words,
    charged_words,
    checked_words,
    correction_words,
    labelled_key,
    of_which,
    total_words,
    totals_title,
    what_in_words,
)

if TYPE_CHECKING:
    from .released import Release

_MOST_ROWS = 400  # beyond this the page shows the first ones and points to the CSV


def statement(record: Mapping[str, Any], mark: str = ".") -> str:
    """What the people in the data should know, in plain words; `mark` is the decimal mark."""
    epsilon, plus = promised(record)
    bound, more = _marked(times_at_most(epsilon), mark), _marked(plus, mark)
    otherwise, known = f"with any other data of yours{more}", ""
    if record["relation"] == "add-remove":
        twice = _marked(times_at_most(promised(record, 2)[0]), mark)
        otherwise = f"without{more}"
        known = (
            f"Where it is known that you are in the data, any conclusion about what they say of you is at most {twice} times as "
            f"likely as if they said something else{more}: that is two changes, your data removed and other data added. "
        )
    return (
        "<div class='box'><p><b>For the people in these data.</b> These numbers are not exact. Random noise was added to them "
        f"before anyone saw them. {escape(str(record['protects']))} Any conclusion that someone draws about you from this table "
        f"is at most {bound} times as likely with your data as {otherwise}. {known}"
        f"{escape(str(record['person']))}</p>"
        + "".join(
            f"<p class='small'>{escape(text)}</p>"
            for text in [*record["beware"], *checked_words(record)]
            if text not in _of_totals(record)  # which stands beside the totals
        )
        + "</div>"
    )


def _of_totals(record: Mapping[str, Any]) -> list[str]:
    """What totals leave out, where there are any."""
    return left_out_words(record["left_out"]) if record["margins"] or record["measured"] else []


def promised(record: Mapping[str, Any], changes: int = 1) -> tuple[Fraction, str]:
    """The epsilon of a release, so many changes apart; of one that spent rho, with what is added to a probability: delta, in
    words. Of k changes epsilon is k times as large, and rho k squared (Bun and Steinke 2016, proposition 1.9)."""
    if record["epsilon_charged"] is not None:
        return changes * Fraction(record["epsilon_charged"]), ""
    rho, delta = changes**2 * Fraction(record["rho_charged"]), Fraction(record["delta"])
    return epsilon_above(rho, delta), f", plus {show_delta(delta)}"


def times_at_most(epsilon: Fraction) -> str:
    """e^epsilon for a reader, rounded up: three digits, or two of what is above 1 where that is little."""
    if epsilon > 40:  # log10(e) = 0.43429448190325182..., rounded up
        return f"10<sup>{math.ceil(epsilon * Fraction('0.43429448190325183'))}</sup>"
    factor = Decimal(float_above(lambda: ball(epsilon).exp()))
    little = factor < Decimal("1.1")
    with localcontext(prec=2 if little else 3, rounding=ROUND_CEILING):
        rounded = factor - 1 if little else +factor
    return f"{(1 + rounded if little else rounded).normalize():,f}"


def rows_table(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    value: str,
    more: int = 0,
    *,
    caption: str = "",
    kind: str = "count",
    labels: Mapping[str, str] = MappingProxyType({}),
    interval: str = "95 % interval",
    size: str = "of",
    head: str | None = None,
    codes: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    mark: str = ".",
) -> str:
    """Rows with the number of a column and its interval, drawn on one scale: counts as shares of their groups where the sizes
    are public.

    `more` counts the rows that are not given. `kind` is that of the statistic, `size` the name of the column of public sizes,
    `head` that of the numbers, where they have a label. `labels` are what columns are called, `codes`, by column, what their keys
    are called, `mark` the decimal mark.
    """
    shown = rows[:_MOST_ROWS]
    sized = bool(shown) and "n" in shown[0]
    shares = sized and kind == "count"
    percent, number = partial(_percent, mark=mark), partial(_number, mark=mark)
    written = (
        percent if kind == "share" else partial(_mean, unit=_unit_of(shown), mark=mark) if kind == "mean" else number
    )
    spans = [_span(row, value, float(max(row["n"], 1)) if shares else 1.0) for row in shown]
    scale = Scale.of([span for span in spans if span is not None])
    lines = []
    for row, span in zip(shown, spans, strict=True):
        exact = " (exact)" if row.get("mechanism") == PUBLIC_ZERO and row[value] is not None else ""
        ends = ["any" if row[name] is None else written(row[name], out) for name, out in _OUTWARD.items()]
        report = "not determined" if row[value] is None else written(row[value]) + exact
        numbers = [*([number(row["n"])] if sized else []), report]
        known = row["low"] is not None or row["high"] is not None
        drawn = [f"{ends[0]} to {ends[1]}" if known else "", scale.bar(span) if span else ""]
        names = [labelled_key(row[k], codes.get(k, {})) for k in keys]
        lines.append([*(f"<bdi>{escape(name)}</bdi>" for name in names), *numbers, *drawn])
    headed = head or {"published": kind, TOTAL: total_words([{"kind": kind}])[0]}.get(value, value)
    counted = [*([size] if sized else []), headed, interval]
    kinds = ["key"] * len(keys) + ["number"] * len(counted) + ["picture"]
    right = [False] * len(keys) + [True] * len(counted) + [False]
    end = percent if shares else written
    words = (
        f"{'share of the group, ' if shares else ''}{end(scale.low, ROUND_FLOOR)} to {end(scale.high, ROUND_CEILING)}"
    )
    caption = f"{escape(caption)}<span class='narrow'>{'; ' if caption else ''}bars: {words}</span>"
    names = [labels.get(key, key) for key in keys]
    html = table([*names, *counted, words], lines, right, caption=caption, heads=len(keys), kinds=kinds)
    if scale.cut:
        html += "<p class='small'>The scale is chosen so that most rows can be read: a bar with an arrow goes on beyond it.</p>"
    if len(rows) + more > len(shown):
        html += f"<p class='small'>The first {number(len(shown))} of {number(len(rows) + more)} rows; the CSV has all of them.</p>"
    return html


_OUTWARD = {"low": ROUND_FLOOR, "high": ROUND_CEILING}  # an interval that is rounded must not become narrower


def _span(row: Mapping[str, Any], value: str, unit: float) -> Span | None:
    """The interval of a row and its report, to be drawn; None where there is none. An end that is missing is open."""
    if row[value] is None or (row["low"] is None and row["high"] is None):
        return None
    low, high = (-math.inf if row["low"] is None else row["low"]), (math.inf if row["high"] is None else row["high"])
    return low / unit, high / unit, row[value] / unit


_MARKS = str.maketrans(",.", ".,")
_GROUPED_OR_DECIMAL = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+(?:e[+-]?\d+)?)(?!\w|[.,]\d)", re.ASCII
)


def _marked(text: str, mark: str) -> str:
    """A number with the page's decimal mark: beside a decimal comma thousands are separated by points."""
    return text if mark == "." else text.translate(_MARKS)


def _sentence(text: str, mark: str, names: Collection[str] = ()) -> str:
    """A sentence with its numbers so, and with these names as they are.

    >>> _sentence("each within 2.5, all 1,234 within 3,986.25; 95 of 100 cases.", ",")
    'each within 2,5, all 1.234 within 3.986,25; 95 of 100 cases.'
    >>> _sentence("bmi > 2.5: each within 12.5.", ",", ["bmi > 2.5"])
    'bmi > 2.5: each within 12,5.'
    """
    if mark == ".":
        return text
    numbered = sorted(filter(_GROUPED_OR_DECIMAL.search, names), key=len, reverse=True)
    kept = "|".join(map(re.escape, numbered)) or "(?!)"
    either = re.compile(rf"(?<![\w.,])(?P<name>{kept})(?!\w|[.,]\d)|{_GROUPED_OR_DECIMAL.pattern}", re.ASCII)
    return either.sub(lambda found: found[0] if found["name"] else _marked(found[0], mark), text)


def _as_published(value: float) -> Decimal:
    """A number as the CSV has it, in its shortest digits: rounded outwards, 0.3 stays 0.3."""
    return Decimal(str(value))


def _percent(value: float, rounding: str = ROUND_HALF_EVEN, mark: str = ".") -> str:
    """A share for people.

    >>> _percent(0.29, ROUND_FLOOR), _percent(0.07, ROUND_CEILING), _percent(0.12345, ROUND_FLOOR)
    ('29 %', '7 %', '12.34 %')
    """
    return _marked(f"{(_as_published(value) * 100).quantize(Decimal('0.01'), rounding).normalize():f} %", mark)


def _number(value: Any, rounding: str = ROUND_HALF_EVEN, mark: str = ".") -> str:
    """A number for people: whole ones in full, others in six digits or, where they are large, two after the point.

    >>> _number(3986), _number(3986, mark=","), _number(2625.82, mark=","), _number(0.3, ROUND_FLOOR)
    ('3,986', '3.986', '2.625,82', '0.3')
    """
    if value is None:
        return ""
    if abs(value) < _IN_FULL and value == int(value):
        return _marked(f"{int(value):,}", mark)
    with localcontext(prec=max(6, len(str(int(abs(value)))) + 2) if abs(value) < _IN_FULL else 6, rounding=rounding):
        short = (+_as_published(value)).normalize()
    return _marked(f"{short:,f}" if 1e-4 <= abs(value) < _IN_FULL else str(short), mark)


_IN_FULL = 10**15


def _unit_of(rows: Sequence[Mapping[str, Any]]) -> int | None:
    """The power of ten to which means are written: about a hundredth of the narrowest interval beside them, and none where none
    has two ends of some width."""
    widths = [
        row["high"] - row["low"] for row in rows if None not in (row["low"], row["high"]) and row["high"] > row["low"]
    ]
    return math.floor(math.log10(min(widths))) - 2 if widths else None


def _mean(value: Any, rounding: str = ROUND_HALF_EVEN, *, unit: int | None, mark: str = ".") -> str:
    """A mean for people, to a power of ten.

    >>> _mean(30953.98472304452, unit=1), _mean(33867.2, ROUND_CEILING, unit=1), _mean(2.5, unit=-2)
    ('30,950', '33,870', '2.5')
    >>> _mean(12.3456, ROUND_FLOOR, unit=-2), _mean(0.3, ROUND_FLOOR, unit=-3), _mean(-0.001, unit=-2)
    ('12.34', '0.3', '0')
    """
    if value is None or unit is None or abs(value) >= _IN_FULL:
        return _number(value, rounding, mark)
    shown = _as_published(value).quantize(Decimal(1).scaleb(unit), rounding) + 0  # no -0
    return _marked(f"{shown.normalize():,f}", mark)


def release_page(release: Release) -> str:
    """A release for people: totals, rows, the intervals as pictures, and what it means for those in the data. What only
    statisticians need stands folded below."""
    record, words = release.record, release.presentation
    asked, labels = record["statistics"], dict(words.labels)
    what = asked_in_words(record) if len(asked) == 1 else ", ".join(labels.get(s["name"], s["name"]) for s in asked)
    several = next((name for name in ("statistic", "count") if len(asked) > 1 and name in release.columns), None)
    most = max(_MOST_ROWS // max(len(asked), 1), 50)
    codes = record["question"]["domain"].get("labels", {})
    interval = (
        f"{Confidence.of(record['confidence']).words()} interval{', all at once' if record['simultaneous'] else ''}"
    )
    described = f"{record['dataset']}: {what}{_part_title(record)}"
    parts = [
        f"<h1>{escape(words.title or described)}</h1>",
        f"<p class='lead'>{escape(described) + '<br>' if words.title else ''}"
        f"{_number(record['groups'], mark=words.decimal)} groups, {escape(_sentence(charged_words(record), words.decimal))}, "
        f"{escape(moment(str(record['released'])))}</p>",
        *(f"<p class='box'><b>{escape(words)}</b></p>" for words in correction_words(record)),
        statement(record, words.decimal),
    ]
    folded = []

    def tables(
        statistic: Mapping[str, Any],
        rows: Sequence[Mapping[str, Any]],
        keys: Sequence[str],
        value: str,
        more: int,
        caption: str,
    ) -> None:
        """The rows for readers, and folded below the same for statisticians."""
        kind, size = statistic["kind"], _size_name(statistic)
        same: dict[str, Any] = {"caption": caption, "labels": labels, "codes": codes, "mark": words.decimal}
        head = labels.get(statistic["name"])
        parts.append(rows_table(rows, keys, value, more, interval=interval, kind=kind, size=size, head=head, **same))
        folded.append(statisticians_table(rows, keys, more, **same))

    left_out = [f"<p class='small'>{escape(text)}</p>" for text in _of_totals(record)]
    whole = f"in{of_which(record).removeprefix('of')}"
    for margin, totals in sorted(release.margins.items(), key=lambda named: named[0] != TOTAL):  # what is in all, first
        keys = [name for name in (totals or [{}])[0] if name not in (*OF_TOTALS, several)]
        by = " and ".join(labels.get(key, key) for key in keys)
        title = totals_title(margin, record, by=by)
        parts.append(f"<h2>{escape(title)}{adding_up(margin, record)}</h2>")
        parts += left_out
        left_out = []  # it is said once
        for statistic in asked:
            own = [row for row in totals if several is None or row.get(several, statistic["name"]) == statistic["name"]]
            caption = _caption(statistic, f"by {by}" if keys else whole, labels, record)
            more = len(own) - most
            tables(statistic, own[:most], keys, "total", more, caption)
    parts.append("<h2>Each group</h2>")
    size = release.size // max(len(asked), 1)
    for k, statistic in enumerate(asked):
        own = release.rows(most, start=k * size)[:size]
        by = ", ".join(labels.get(key, key) for key in record["by"])
        caption, more = _caption(statistic, f"by {by}" if by else "", labels, record), size - len(own)
        tables(statistic, own, record["by"], "published", more, caption)
    parts += [f"<p>{escape(note)}</p>" for note in words.notes]
    parts += [f"<p class='small'>Source: {escape(words.source)}</p>"] if words.source else []
    left = record["budget"]
    counted, *errors = ErrorStatement(record).sentences()
    names = {*labelled(record), *labels.values(), record["counted"]}
    notes = [counted, *(_sentence(text, words.decimal, names) for text in errors)]  # the first quotes the question
    limits = errors_in_html(record, lambda text: _sentence(text, words.decimal, names))
    parts.append(f"<h2>{TITLE}</h2>{limits}<ul>{''.join(f'<li>{escape(x)}</li>' for x in notes)}</ul>")
    spent, budget, rest = (_sentence(amount(left[name]), words.decimal) for name in ("spent", "budget", "left"))
    rho = "" if record["delta"] is None else "rho "
    of_part = "" if record["part"] is None else f" of part {escape(str(record['part']))}"
    parts.append(
        f"<h2>How to read this</h2><p>The dot is the number, the bar its {interval}: {escape(str(record['interval']))}."
        f"{_adds(record)} "
        "In the CSV these are the columns <code>published</code>, <code>low</code> and <code>high</code>, in those of totals "
        "<code>total</code>, <code>low</code> and <code>high</code>.</p>"
        f"<p>Budget{of_part}: {rho}{spent} of {budget} spent, {rest} left. The record beside this page can be "
        "checked without the data: <code>discreet check-release</code>.</p>"
    )
    parts.append(
        "<details><summary>For statisticians: reports and mechanisms</summary>"
        f"<p>{' '.join(_drawn(record))}</p>{''.join(folded)}</details>"
    )
    return page(words.title or f"{record['dataset']}: private statistics", "\n".join(parts), STYLE)


def _drawn(record: Mapping[str, Any]) -> list[str]:
    """What the folded columns are, of the statistics that there are."""
    asked, said = record["statistics"], []
    if not all(statistic["pair"] for statistic in asked):
        added = any(statistic["kind"] in ADDED for statistic in asked) and (record["margins"] or record["measured"])
        fitted = "Fitted numbers add up to the totals. " if added else ""
        said.append(
            f"The report is what was drawn. {fitted}With a standard error it is unbiased: it is for adding up and not for "
            "reading, and may lie beyond what is possible."
        )
    if any(statistic["pair"] for statistic in asked):
        said.append(
            "Of a mean or share over a private number of people two numbers were drawn: report u, of what they have, and report v, "
            "of what they lack to the upper bound. Its report is u/(u + v) of the way from the lower bound to the upper one, and "
            "is not unbiased."
        )
    return said


def _adds(record: Mapping[str, Any]) -> str:
    """Do the published numbers add up to the totals?"""
    if not record["margins"] and not record["measured"]:
        return ""
    if not any(statistic["kind"] in ADDED for statistic in record["statistics"]):
        return ""
    return " Counts and sums were fitted to the totals, so that they add up."


_FOLDED = (
    "report",
    "fitted",
    "standard_error",
    "report_u",
    "report_v",
    "interval_by",
    "mechanism",
    "epsilon",
    "rho",
)


def statisticians_table(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    more: int,
    *,
    caption: str,
    labels: Mapping[str, str],
    codes: Mapping[str, Mapping[str, str]],
    mark: str = ".",
) -> str:
    """What was drawn of each row and how; nothing where all of it is in the first table. Names as in `rows_table`."""
    names = [name for name in _FOLDED if any(row.get(name) is not None for row in rows)]
    if not names:
        return ""
    right = [not any(isinstance(row[name], str) for row in rows) for name in names]
    lines = [
        [
            *(f"<bdi>{escape(labelled_key(row[k], codes.get(k, {})))}</bdi>" for k in keys),
            *(escape(x) if isinstance(x := row[name], str) else _number(x, mark=mark) for name in names),
        ]
        for row in rows
    ]
    heads = [*(labels.get(key, key) for key in keys), *(name.replace("_", " ") for name in names)]
    kinds = ["key"] * len(keys) + ["number"] * len(names)
    html = table(heads, lines, [False] * len(keys) + right, caption=escape(caption), heads=len(keys), kinds=kinds)
    return html + (
        f"<p class='small'>The first {_number(len(rows), mark=mark)} rows; the CSV has all of them.</p>"
        if more > 0
        else ""
    )


def _size_name(statistic: Mapping[str, Any]) -> str:
    """What the public size of a group is to a statistic: a ratio of two numbers is of those who answered."""
    return "in the group" if statistic["pair"] else "of"


def _part_title(record: Mapping[str, Any]) -> str:
    return "" if record["part"] is None else f" ({record['parts']} {record['part']})"


def _caption(statistic: Mapping[str, Any], by: str, labels: Mapping[str, str], record: Mapping[str, Any]) -> str:
    if statistic["name"] in labels:
        return f"{labels[statistic['name']]} {by}".strip()
    named = f"{statistic['name']}: " if statistic["name"] not in (statistic["what"], statistic["kind"]) else ""
    return f"{named}{statistic['kind']} of {what_in_words(statistic, record)} {by}".strip()


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
        """The place of a value, in percent of the scale's length; values beyond the scale are placed at its end."""
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


STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #566072; --paper: #fbfaf7; --card: #fff; --line: #e4e0d8;
  --rail: #efeae0; --span: #c9a5bd; --dot: #7a3b69 }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e6df; --soft: #aab2bf; --paper: #16181d; --card: #1e2128;
  --line: #363b45; --rail: #2c3038; --span: #7d5470; --dot: #e9a8d3 } }
body { color: var(--ink); background: var(--paper) } p.lead, th, caption, .small { color: var(--soft) } a { color: var(--dot) }
.box, table { background: var(--card) } .box, th, td { border-color: var(--line) } h1, h2, td, th { overflow-wrap: anywhere }

.rows { margin-top: 1.2rem } details { margin-top: 2rem } summary { cursor: pointer; font-weight: 600 }
.rows caption { text-align: left; font-size: .85rem; padding: .2rem .6rem; background: var(--paper) }
.rows thead th { vertical-align: bottom; border-bottom-width: 2px }
.rows tbody th { color: var(--ink); font-size: 1rem; font-weight: 500 }
.narrow { display: none } .rows .number { white-space: nowrap } .rows tr:hover > * { background: var(--rail) }
.rows .picture { width: 34%; min-width: 9rem; padding-left: 1rem; padding-right: 1rem }

.bar { position: relative; height: 16px; background: linear-gradient(var(--rail), var(--rail)) no-repeat 0 50% / 100% 2px }
.bar i { position: absolute; top: 4px; height: 8px; border-radius: 4px }
.bar .span { background: var(--span); min-width: 2px } .bar .zero { width: 1px; background: var(--soft); top: 0; height: 16px }
.bar .dot { width: 9px; height: 9px; margin-left: -4.5px; top: 3.5px; border-radius: 50%; background: var(--dot) }
.bar .cut { width: 0; height: 0; top: 2px; border: 6px solid transparent; border-radius: 0 }
.bar .right { right: -13px; border-left-color: var(--dot) } .bar .left { left: -13px; border-right-color: var(--dot) }

@media (max-width: 640px) { body { margin: 1rem auto } .narrow { display: inline }
  .rows, .rows caption, .rows tbody { display: block; width: auto }
  .rows thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden }
  .rows tr { display: flex; flex-wrap: wrap; column-gap: 1rem; align-items: baseline; padding: .5rem .6rem;
    border-bottom: 1px solid var(--line) }
  .rows tbody th, .rows td { border: 0; padding: 0 } .rows tbody th { font-weight: 600 } .rows td:empty { display: none }
  .rows td.number::before { content: attr(data-name) ": "; color: var(--soft); font-size: .85rem }
  .rows .picture { flex-basis: 100%; padding: .2rem .9rem } }
@media print { body { background: #fff } tr { break-inside: avoid } }
"""
