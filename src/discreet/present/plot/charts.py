"""One function a picture. Each takes numbers, names and a title that states the finding, and gives a chart.

Axes are named with their units; hovering over a mark tells its numbers where the picture is a page.

`tracks` draws curves from the rows of a table. In the live pictures numbers change while one looks: the chart is made once,
its data come by name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import DiscreetError
from .looks import BLUE, COLOURS, DASHES, GREY, ORANGE, SHAPES, Chart, altair, data, dressed, heading

WIDTH, HEIGHT = 520, 300
_CELLS = 60  # values of a heat map side by side; beyond, neighbouring ones are put together
_WRITTEN = 9  # values up to which every cell has its number
_TICKS = 12
SHADES = ["#ffffff", "#9ecae1", "#3182bd", "#08306b"]  # darker is likelier, on paper too

Numbers = Any  # a list, a range or an array of numbers
Row = dict[str, Any]
Series = Mapping[str, tuple[Numbers, Numbers]]  # by name: where, and how much there


def heat_map(
    matrix: Any,
    rows: Sequence[Any],
    columns: Sequence[Any],
    title: str,
    subtitle: str = "",
    *,
    top: float | None = None,
    size: int = 360,
    legend: bool = True,
) -> Chart:
    """A channel: true values downwards, reports across, darker is likelier; where a truth is
    its own report the cell is outlined.

    Long sides are put together in blocks, and the subtitle says so: reports add up, true values are averaged.
    """
    alt = altair()
    subtitle = "\n".join(filter(None, (subtitle, _block_words(rows, columns))))
    shares, down, across = in_blocks(np.asarray(matrix, dtype=float), list(rows), list(columns))
    tall, wide = _together(rows), _together(columns)
    place = {str(value): j for j, value in enumerate(columns)}
    same = {(i // tall, place[str(value)] // wide) for i, value in enumerate(rows) if str(value) in place}
    cells = [
        {
            "truth": i,
            "report": j,
            "share": float(shares[i, j]),
            "on": (i, j) in same,
            "true value": down[i],
            "reported": across[j],
        }
        for i in range(len(down))
        for j in range(len(across))
    ]
    most = float(shares.max()) if top is None else top
    height = size * min(len(down) / len(across), 1.4)
    base = alt.Chart(data(cells)).encode(
        x=alt.X("report:O", title="report", axis=_ticks(list(map(str, columns))[::wide], labelAngle=0)),
        y=alt.Y("truth:O", title="true value", axis=_ticks(list(map(str, rows))[::tall])),
    )
    shades = alt.Scale(range=SHADES, domain=[0, most], interpolate="lab")
    named = "probability" if wide == 1 else "of a block"
    squares = base.mark_rect(aria=False).encode(
        color=alt.Color("share:Q", title=named, scale=shades, legend=alt.Legend() if legend else None),
        tooltip=["true value:N", "reported:N", alt.Tooltip("share:Q", title="probability", format=".4g")],
    )
    thin = 2.0 if len(down) <= 20 else 0.8
    diagonal = base.transform_filter("datum.on").mark_rect(aria=False, filled=False, stroke=ORANGE, strokeWidth=thin)
    layers = [squares, diagonal]
    if max(len(down), len(across)) <= _WRITTEN:
        dark = alt.condition(f"datum.share > {0.55 * most}", alt.value("white"), alt.value("#1d2430"))
        layers.append(
            base.mark_text(fontSize=11, aria=False).encode(text=alt.Text("share:Q", format=".2f"), color=dark)
        )
    return dressed(alt.layer(*layers).properties(title=heading(title, subtitle, size + 90), width=size, height=height))


def distribution(
    values: Numbers, shares: Numbers, title: str, subtitle: str = "", *, x: str = "report", mark: Any = None
) -> Chart:
    """A distribution as bars; the bar at `mark` stands out."""
    alt = altair()
    rows = [
        {"value": v, "share": s, "here": mark is not None and v == float(mark)} for v, s in number_pairs(values, shares)
    ]
    bar = (
        alt.Chart(data(rows))
        .mark_bar(size=_bar(len(rows)))
        .encode(
            x=value_axis(x, [row["value"] for row in rows]),
            y=alt.Y("share:Q", title="probability"),
            color=alt.condition("datum.here", alt.value(ORANGE), alt.value(BLUE)),
            tooltip=[alt.Tooltip("value:Q", title=x), alt.Tooltip("share:Q", title="probability", format=".4g")],
        )
    )
    return dressed(bar.properties(title=heading(title, subtitle), width=WIDTH, height=HEIGHT))


def recovered(
    values: Numbers,
    shares: Numbers,
    title: str,
    subtitle: str = "",
    *,
    noisy: tuple[Numbers, Numbers] | None = None,
    truth: tuple[Numbers, Numbers] | None = None,
    intervals: Sequence[tuple[float, float, float, float]] = (),
    x: str = "value",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """A recovered distribution as bars, the noisy one and the true one as outlines, and intervals (from, to, low, high) of the mean
    probability of a value in a group. One that leaves the picture at the top ends there in an arrow."""
    alt = altair()
    top = 1.12 * max(float(np.max(s)) for _, s in filter(None, ((values, shares), noisy, truth)))
    y = alt.Y("share:Q", title="probability of a value", scale=alt.Scale(domain=[0, top or 1.0], nice=False))
    places = _floats(values)
    axis = value_axis(x, places + (_floats(noisy[0]) if noisy else []))
    lines = {"true": truth, "noisy reports": noisy}
    colours = {"recovered": BLUE, "true": "#1d2430", "noisy reports": ORANGE}
    names = [name for name in colours if lines.get(name, ()) is not None]
    known = alt.Scale(domain=names, range=[colours[name] for name in names])
    colour = alt.Color("name:N", title=None, scale=known, legend=alt.Legend(orient="top"))
    bars = [{"name": "recovered", "value": v, "share": s} for v, s in number_pairs(values, shares)]
    layers = [
        alt.Chart(data(bars))
        .mark_bar(size=_bar(len(bars), width), opacity=0.75)
        .encode(x=axis, y=y, color=colour, tooltip=name_and_numbers(x, "probability"))
    ]
    for name, line in lines.items():
        if line is not None:
            rows = [{"name": name, "value": v, "share": s} for v, s in number_pairs(*line)]
            dash = [1, 0] if name == "true" else [4, 2]
            steps = alt.Chart(data(rows)).mark_line(interpolate="step", strokeWidth=1.6, strokeDash=dash)
            layers.append(steps.encode(x=axis, y=y, color=colour))
    held: list[Row] = [
        {
            "from": a,
            "to": b,
            "value": (a + b) / 2,
            "low": min(max(low, 0.0), top),
            "high": min(max(high, 0.0), top),
            "cut": high > top,
        }
        for a, b, low, high in intervals
    ]
    cut = sum(row["cut"] for row in held)
    if cut:
        goes = "1 interval goes" if cut == 1 else f"{cut} intervals go"
        subtitle += f"\n{goes} on beyond the top of the picture (arrows)"
    if held:
        base = alt.Chart(data(held)).encode(
            x=axis,
            y=alt.Y("low:Q"),
            y2="high:Q",
            tooltip=["from:Q", "to:Q", alt.Tooltip("low:Q", format=".4g"), alt.Tooltip("high:Q", format=".4g")],
        )
        cap = {"color": GREY, "orient": "horizontal", "size": 8, "thickness": 1.4}
        ends = alt.Chart(data(held)).encode(x=axis)
        layers += [
            base.mark_rule(strokeWidth=1.2, color=GREY),
            ends.mark_tick(**cap).encode(y=alt.Y("low:Q")),
            ends.transform_filter("!datum.cut").mark_tick(**cap).encode(y=alt.Y("high:Q")),
            ends.transform_filter("datum.cut")
            .mark_point(shape="triangle-up", filled=True, opacity=1, size=60, color=GREY, yOffset=4)
            .encode(y=alt.Y("high:Q")),
        ]
    return dressed(alt.layer(*layers).properties(title=heading(title, subtitle, width), width=width, height=height))


def curves(
    series: Series,
    title: str,
    subtitle: str = "",
    *,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    bands: Mapping[str, tuple[Numbers, Numbers, Numbers]] | None = None,
    points: bool = True,
    rules: Mapping[str, float] | None = None,
    zero: bool = False,
    stepped: bool = False,
    legend: bool = True,
    span: tuple[float, float] | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Chart:
    """Lines by name, with bands (where, low, high) around some of them, and upright rules with a word at places of x.

    On a log scale `span` says where y begins and ends, for pictures that share it."""
    alt = altair()
    names = list(series)
    rows: list[Row] = [
        {"name": name, "value": v, "share": s}
        for name, (places, levels) in series.items()
        for v, s in number_pairs(places, levels)
    ]
    x_scale = alt.Scale(type="log", nice=False) if log_x else alt.Scale(zero=False, nice=True)
    held: list[Row] = [
        {"name": name, "value": v, "low": low, "high": high}
        for name, (places, lows, highs) in (bands or {}).items()
        for v, low, high in zip(_floats(places), _floats(lows), _floats(highs), strict=True)
    ]
    heights = [row["share"] for row in rows] + [end for row in held for end in (row["low"], row["high"])]
    heights = [height for height in heights if height > 0 or not log_y]
    ends = list(span) if span else [min(heights) / 1.3, max(heights) * 1.3]
    y_scale = alt.Scale(type="log", domain=ends) if log_y else alt.Scale(zero=zero)
    ticks = sorted({row["value"] for row in rows})
    form = "~s" if ticks[0] >= 1 else "~g" if ticks[0] >= 1e-3 else ".0e"
    kept = {"values": ticks, "format": form} if log_x and len(ticks) <= 8 else {"tickCount": 8}
    across = alt.X("value:Q", title=x, scale=x_scale, axis=alt.Axis(labelOverlap=True, **kept))
    up = alt.Y("share:Q", title=y, scale=y_scale, axis=alt.Axis(tickCount=6, labelOverlap=True))
    colour, told, layers = colour_by(names, legend=legend), name_and_numbers(x, y), []
    shape = {"interpolate": "step-after" if stepped else "linear", "strokeWidth": 2}
    line = alt.Chart(data(rows)).encode(x=across, y=up, color=colour, tooltip=told)
    if points:  # a layer for each line: an encoding of dashes would fray the points in the legend
        for k, name in enumerate(names):
            own = alt.Chart(data([row for row in rows if row["name"] == name])).encode(x=across, y=up, color=colour)
            layers.append(own.mark_line(strokeDash=DASHES[k % len(DASHES)], **shape))
    else:
        layers.append(line.mark_line(**shape).encode(strokeDash=dash_by(names, legend=legend)))
    if points:
        layers.append(line.mark_point(filled=True, size=55, opacity=1).encode(shape=_shape(names, legend=legend)))
    if held:
        band = alt.Chart(data(held)).mark_area(opacity=0.2, interpolate="step-after" if stepped else "linear")
        layers.append(band.encode(x=across, y=alt.Y("low:Q", title=y, scale=y_scale), y2="high:Q", color=colour))
    if rules:
        upright = alt.Chart(data([{"value": float(at), "word": word} for word, at in rules.items()]))
        layers.append(upright.mark_rule(color=GREY, strokeDash=[3, 3]).encode(x=across))
        word = upright.mark_text(align="left", dx=4, baseline="top", color=GREY, fontSize=11)
        layers.append(word.encode(x=across, y=alt.value(3), text="word:N"))
    return dressed(alt.layer(*layers).properties(title=heading(title, subtitle, width), width=width, height=height))


def dots(
    rows: Sequence[Row],
    title: str,
    subtitle: str = "",
    *,
    x: str,
    log: bool = False,
    zero: bool = True,
    width: int = 420,
    joined: bool = True,
    what: str = "mechanism",
) -> Chart:
    """Names downwards, and for each a dot by series: rows have "name", "series" and "value", perhaps "low" and "high"."""
    alt = altair()
    names, series = list(dict.fromkeys(r["name"] for r in rows)), list(dict.fromkeys(r["series"] for r in rows))
    heights = [float(r["value"]) for r in rows]
    scale = alt.Scale(type="log", domain=[min(heights) / 1.5, max(heights) * 1.5]) if log else alt.Scale(zero=zero)
    across = alt.X("value:Q", title=x, scale=scale, axis=alt.Axis(labelOverlap=True))
    down = alt.Y("name:N", title=None, sort=names, axis=alt.Axis(labelLimit=260, grid=True))
    base = alt.Chart(data([{**r, "value": float(r["value"])} for r in rows]))
    layers = []
    if joined and len(series) > 1:
        layers.append(base.mark_line(color="#c8cfd8", strokeWidth=2).encode(x=across, y=down, detail="name:N"))
    if any("low" in r for r in rows):
        low = alt.X("low:Q", title=x, scale=scale)
        layers.append(
            base.mark_rule(strokeWidth=2).encode(x=low, x2="high:Q", y=down, color=colour_by(series, "series"))
        )
    told = [
        alt.Tooltip("name:N", title=what),
        alt.Tooltip("series:N", title="what"),
        alt.Tooltip("value:Q", format=".5g"),
    ]
    layers.append(
        base.mark_point(filled=True, size=90, opacity=1).encode(
            x=across, y=down, color=colour_by(series, "series"), shape=_shape(series, "series"), tooltip=told
        )
    )
    return dressed(
        alt.layer(*layers).properties(title=heading(title, subtitle, width), width=width, height=26 * len(names) + 10)
    )


def network(names: Sequence[str], edges: Sequence[tuple[int, int]], title: str, subtitle: str = "") -> Chart:
    """Names around a circle, joined by edges between their positions."""
    alt = altair()
    size, turn = 320, 2 * math.pi / max(len(names), 1)
    placed: list[Row] = [
        {
            "name": name,
            "x": math.sin(k * turn),
            "y": math.cos(k * turn),
            "lx": 1.14 * math.sin(k * turn),
            "ly": 1.14 * math.cos(k * turn),
        }
        for k, name in enumerate(names)
    ]
    lines = [{"x": placed[a]["x"], "y": placed[a]["y"], "x2": placed[b]["x"], "y2": placed[b]["y"]} for a, b in edges]
    scale = alt.Scale(domain=[-1.3, 1.3], nice=False)
    x, y = alt.X("x:Q", axis=None, scale=scale), alt.Y("y:Q", axis=None, scale=scale)
    points = alt.Chart(data(placed))
    layers = [
        alt.Chart(data(lines)).mark_rule(color=GREY, strokeWidth=1.6).encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
        points.mark_point(filled=True, size=110, opacity=1, color=BLUE).encode(x=x, y=y, tooltip="name:N"),
        points.mark_text(fontSize=12).encode(
            x=alt.X("lx:Q", axis=None, scale=scale), y=alt.Y("ly:Q", axis=None, scale=scale), text="name:N"
        ),
    ]
    return dressed(alt.layer(*layers).properties(title=heading(title, subtitle, size + 90), width=size, height=size))


# What the pictures share


def in_blocks(matrix: Any, rows: list[Any], columns: list[Any]) -> tuple[Any, list[str], list[str]]:
    """A matrix with neighbouring values put together where there are many, and the names of its rows and columns."""
    tall, wide = _together(rows), _together(columns)
    starts = np.arange(0, len(columns), wide)
    added = np.add.reduceat(matrix, starts, axis=1)
    tops = np.arange(0, len(rows), tall)
    sizes = np.diff(np.append(tops, len(rows)))[:, None]
    mean = np.add.reduceat(added, tops, axis=0) / sizes
    return mean, _named(rows, tall), _named(columns, wide)


def _block_words(rows: Sequence[Any], columns: Sequence[Any]) -> str:
    """What a square stands for where there are too many values for a square each; nothing where there are not."""
    tall, wide = _together(rows), _together(columns)
    across = f"{wide} reports next to each other, their probabilities added up" if wide > 1 else ""
    down = f"the mean over {tall} true values next to each other" if tall > 1 else ""
    return f"each square: {', '.join(filter(None, (across, down)))}" if across or down else ""


def _together(values: Sequence[Any]) -> int:
    return -(-len(values) // _CELLS)


def _named(values: list[Any], together: int) -> list[str]:
    groups = [values[k : k + together] for k in range(0, len(values), together)]
    return [str(g[0]) if len(g) == 1 else f"{g[0]} to {g[-1]}" for g in groups]


def _ticks(names: Sequence[str], **more: Any) -> Any:
    """An axis over cells that names some of them."""
    step = -(-len(names) // _TICKS)
    kept = list(range(0, len(names), step))
    words = "{" + ",".join(f"{k}: {json.dumps(names[k])}" for k in kept) + "}"
    return altair().Axis(
        values=kept, labelExpr=f"({words})[datum.value]", labelOverlap=False, ticks=False, domain=False, **more
    )


def number_pairs(values: Numbers, shares: Numbers) -> list[tuple[float, float]]:
    return list(zip(_floats(values), _floats(shares), strict=True))


def _floats(values: Numbers) -> list[float]:
    return [float(v) for v in values]


def value_axis(title: str, values: Numbers, half: float = 0.5) -> Any:
    """The axis of values: as long as they are, with half a value's width at each end for its bar."""
    alt = altair()
    places = sorted(set(values))
    step = min((b - a for a, b in pairwise(places)), default=1.0)
    domain = [places[0] - half * step, places[-1] + half * step]
    whole = alt.Axis(tickMinStep=step, labelOverlap=True)
    return alt.X("value:Q", title=title, scale=alt.Scale(domain=domain, nice=False), axis=whole)


def _bar(count: int, width: int = WIDTH) -> float:
    return max(0.82 * width / count, 1.0)


def colour_by(names: Sequence[str], field: str = "name", legend: bool = True) -> Any:
    alt = altair()
    scale = alt.Scale(domain=list(names), range=[COLOURS[k % len(COLOURS)] for k in range(len(names))])
    return alt.Color(f"{field}:N", title=None, scale=scale, legend=_legend(names) if legend else None)


def _legend(names: Sequence[str]) -> Any:
    """Above the picture; none where there is one name alone."""
    if len(names) == 1:
        return None
    longest = max(map(len, names))
    return altair().Legend(orient="top", symbolOpacity=1, columns=2 if longest > 28 else 3 if longest > 14 else 5)


def dash_by(names: Sequence[str], field: str = "name", legend: bool = True) -> Any:
    alt = altair()
    scale = alt.Scale(domain=list(names), range=[DASHES[k % len(DASHES)] for k in range(len(names))])
    return alt.StrokeDash(f"{field}:N", title=None, scale=scale, legend=_legend(names) if legend else None)


def _shape(names: Sequence[str], field: str = "name", legend: bool = True) -> Any:
    alt = altair()
    scale = alt.Scale(domain=list(names), range=[SHAPES[k % len(SHAPES)] for k in range(len(names))])
    return alt.Shape(f"{field}:N", title=None, scale=scale, legend=_legend(names) if legend else None)


def name_and_numbers(x: str, y: str) -> list[Any]:
    alt = altair()
    numbers = alt.Tooltip("value:Q", title=x, format=",~r"), alt.Tooltip("share:Q", title=y, format=".4g")
    return [alt.Tooltip("name:N", title=" "), *numbers]


def tracks(rows: Iterable[Row], title: str, subtitle: str = "", **more: Any) -> Chart:
    """Rows have "name", "at" and "value", perhaps "low" and "high"; those with a number that is not finite are left out."""
    kept = [row for row in rows if all(math.isfinite(value) for key, value in row.items() if key != "name")]
    if not kept:
        raise DiscreetError("Nothing here is finite, so there is no picture; ask for other numbers.")
    names = list(dict.fromkeys(row["name"] for row in kept))
    own = {name: [row for row in kept if row["name"] == name] for name in names}
    series = {name: ([row["at"] for row in found], [row["value"] for row in found]) for name, found in own.items()}
    held = {name: [row for row in found if "low" in row] for name, found in own.items()}
    bands = {
        name: ([row["at"] for row in found], [row["low"] for row in found], [row["high"] for row in found])
        for name, found in held.items()
        if found
    }
    return curves(series, title, subtitle, bands=bands, **more)


def _axis(channel: Any, field: str, title: str, log: bool, **scale: Any) -> Any:
    """An axis of a live picture; of a logarithmic one, only 1, 2, 5, 10, 20, ... have a line and a number."""
    alt = altair()
    if not log:
        return channel(field, title=title, scale=alt.Scale(**scale))
    test = "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) >= 0"
    axis = alt.Axis(
        gridOpacity={"condition": {"test": test, "value": 1}, "value": 0},
        tickOpacity={"condition": {"test": test, "value": 1}, "value": 0},
        labelExpr=f"{test} ? format(datum.value, '~g') : ''",
        labelOverlap="greedy",
        labelSeparation=8,
    )
    return channel(field, title=title, scale=alt.Scale(type="log", **scale), axis=axis)


def live_curves(
    x: str,
    y: str,
    *,
    width: int = 420,
    height: int = 230,
    log_x: bool = False,
    log_y: bool = False,
    chosen: bool = False,
) -> Chart:
    """Curves whose points are given later as "points": x, y, series, told; where some are `chosen`, these as "chosen", ringed."""
    alt = altair()
    lines = (
        alt.Chart(alt.NamedData("points"))
        .mark_line(point={"size": 45, "filled": True})
        .encode(
            x=_axis(alt.X, "x:Q", x, log_x, nice=False),
            y=_axis(alt.Y, "y:Q", y, log_y, **({} if log_y else {"zero": False})),
            color=alt.Color(
                "series:N", title=None, sort=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top")
            ),
            shape=alt.Shape("series:N", title=None, sort=None, scale=alt.Scale(range=list(SHAPES)), legend=None),
            tooltip="told:N",
        )
    )
    if not chosen:
        return dressed(lines.properties(width=width, height=height))
    ringed = (
        alt.Chart(alt.NamedData("chosen"))
        .mark_point(size=260, strokeWidth=2.5, color=COLOURS[3])
        .encode(x="x:Q", y="y:Q", tooltip="told:N")
    )
    return dressed(alt.layer(lines, ringed).properties(width=width, height=height))
