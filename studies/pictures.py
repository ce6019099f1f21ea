"""Pictures that studies alone draw: channels side by side, distributions over each other, words in a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from discreet.present.plot import beside, heat_map
from discreet.present.plot.charts import (
    HEIGHT,
    WIDTH,
    Numbers,
    Row,
    Series,
    colour_by,
    dash_by,
    in_blocks,
    name_and_numbers,
    number_pairs,
    value_axis,
)
from discreet.present.plot.looks import Chart, altair, data, dressed, heading


def heat_maps(
    named: Mapping[str, Any], values: Numbers, title: str, subtitle: str = "", *, columns: int = 2, size: int = 250
) -> Chart:
    """Channels on one grid, with one scale of colours for all."""
    top = max(
        float(in_blocks(np.asarray(matrix, dtype=float), list(values), list(values))[0].max())
        for matrix in named.values()
    )
    drawn = [
        heat_map(matrix, values, values, name, top=top, size=size, legend=k == min(columns, len(named)) - 1)
        for k, (name, matrix) in enumerate(named.items())
    ]
    return beside(*drawn, title=title, subtitle=subtitle, columns=columns)


def laws(
    series: Series,
    title: str,
    subtitle: str = "",
    *,
    x: str = "value",
    y: str = "probability",
    width: int = WIDTH,
    height: int = HEIGHT,
    filled: str = "",
) -> Chart:
    """Laws over each other as outlines of steps; the one named by `filled` as an area behind."""
    alt = altair()
    names = list(series)
    rows: list[Row] = [
        {"name": name, "value": v, "share": s}
        for name, (values, shares) in series.items()
        for v, s in number_pairs(values, shares)
    ]
    axis = value_axis(x, [row["value"] for row in rows], half=0)
    y_axis = alt.Y("share:Q", title=y, scale=alt.Scale(nice=True))
    colour, dash, told = colour_by(names), dash_by(names), name_and_numbers(x, y)
    layers = []
    if filled:
        area = alt.Chart(data([row for row in rows if row["name"] == filled]))
        layers.append(area.mark_area(interpolate="step", opacity=0.3).encode(x=axis, y=y_axis, color=colour))
    layers.append(
        alt.Chart(data(rows))
        .mark_line(interpolate="step", strokeWidth=1.8)
        .encode(x=axis, y=y_axis, color=colour, strokeDash=dash, tooltip=told)
    )
    return dressed(alt.layer(*layers).properties(title=heading(title, subtitle, width), width=width, height=height))


def words_grid(rows: Sequence[Row], title: str, subtitle: str = "", *, width: int = 460) -> Chart:
    """A word in every cell of a grid, and a colour for each word: rows have "row", "column" and "word"."""
    alt = altair()
    order = {key: list(dict.fromkeys(r[key] for r in rows)) for key in ("row", "column", "word")}
    colours = ["#9ecae1", "#f4f5f7", "#fdd0a2", "#c7e9c0", "#dadaeb"]
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "column:N",
            title=None,
            sort=order["column"],
            axis=alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False),
        ),
        y=alt.Y("row:N", title=None, sort=order["row"], axis=alt.Axis(ticks=False, domain=False)),
    )
    scale = alt.Scale(domain=order["word"], range=[colours[k % len(colours)] for k in range(len(order["word"]))])
    cell = base.mark_rect(stroke="white", strokeWidth=3).encode(color=alt.Color("word:N", scale=scale, legend=None))
    word = base.mark_text(fontSize=12, color="#1d2430").encode(text="word:N")
    height = 34 * len(order["row"])
    return dressed((cell + word).properties(title=heading(title, subtitle, width), width=width, height=height))
