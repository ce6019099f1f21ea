"""A release as a picture: for each group the published number and its interval, the totals beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ReleaseError
from ...present import plot
from ...questions.margins import OF_TOTALS
from .readings import Confidence
from .words import asked_in_words, labelled_key, totals_title

if TYPE_CHECKING:
    from .released import Release

_MOST = 40  # rows of one panel: beyond, the first ones are drawn and the title says so
_IN_A_ROW = 2  # more than two would be too small to read on a page


def release_picture(release: Release) -> Any:
    """A panel of dots with whiskers for each statistic and for each of its totals; those without any number are left out."""
    record, words = release.record, release.presentation
    labels, asked = dict(words.labels), record["statistics"]
    several = next((name for name in ("statistic", "count") if len(asked) > 1 and name in release.columns), None)
    size, panels = release.size // max(len(asked), 1), []
    codes = record["question"]["domain"].get("labels", {})
    for k, statistic in enumerate(asked):
        name = statistic["name"]
        what, unit = labels.get(name, name) if several else "", _unit(statistic)
        rows = release.rows(_MOST, start=k * size)[:size]
        by = ", ".join(labels.get(column, column) for column in record["by"])
        panels += _panel(rows, record["by"], "published", _titled(what, f"by {by}" if by else ""), unit, size, codes)
        for margin, lines in release.margins.items():
            own = [row for row in lines if several is None or row[several] == name]
            keys = [column for column in (own or [{}])[0] if column not in (*OF_TOTALS, several)]
            by = " and ".join(labels.get(column, column) for column in keys)
            title = totals_title(margin, record, name, by=by)
            panels += _panel(own[:_MOST], keys, "total", _titled(what, title), unit, len(own), codes)
    if not panels:
        raise ReleaseError("No group has a number to draw: none of them is determined.")
    title = words.title or f"{record['dataset']}: {asked_in_words(record)}"
    at_once = ", all at once" if record["simultaneous"] else ""
    interval = f"Dots: published numbers; whiskers: {Confidence.of(record['confidence']).words()} intervals{at_once}"
    return plot.beside(
        *panels, title=title, subtitle=interval, columns=min(1 + len(release.margins), _IN_A_ROW, len(panels))
    )


def _panel(
    rows: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    value: str,
    title: str,
    unit: str,
    size: int,
    codes: Mapping[str, Mapping[str, str]],
) -> list[Any]:
    """One picture, or none where no row has a number."""
    known = [row for row in rows if row[value] is not None]
    if not known:
        return []
    ends = [float(row[name]) for row in known for name in (value, "low", "high") if row[name] is not None]
    dots = [
        {
            "name": ", ".join(labelled_key(row[key], codes.get(key, {})) for key in keys) or "all",
            "series": unit,
            "value": row[value],
            "low": float(min(ends) if row["low"] is None else row["low"]),  # an open end reaches that of the picture
            "high": float(max(ends) if row["high"] is None else row["high"]),
        }
        for row in known
    ]
    lacking = len(rows) - len(known)
    notes = [f"the first {len(rows)} of {size:,}"] if size > len(rows) else []
    notes += [f"{lacking} without a number"] if lacking else []
    return [plot.dots(dots, title, "; ".join(notes), x=unit, width=300, what="group")]


def _titled(what: str, rest: str) -> str:
    return f"{what}: {rest}" if what and rest else what or rest


def _unit(statistic: Mapping[str, Any]) -> str:
    return (
        str(statistic["kind"])
        if statistic["kind"] in ("count", "share")
        else f"{statistic['kind']} of {statistic['column']}"
    )
