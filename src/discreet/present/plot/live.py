"""Pictures whose numbers change while one looks: the chart is made once, its data come by name."""

from __future__ import annotations

from .charts import _SHADES
from .looks import BLUE, COLOURS, GREY, ORANGE, SHAPES, Chart, altair, dressed


def live_heat_map(width: int = 205, height: int = 106) -> Chart:
    """A channel whose cells are given later as "cells" (truth, report, share, told), its diagonal as "own" (truth, report), and
    below it how often each report comes beside how often it is true, as "reports" (report, often, known, told).

    The parameters `top` and `most` are the largest share and the largest height of all charts that are compared, so that
    they have one scale. `told` is what hovering says: one ready text, since under a strict policy every expression is
    interpreted.
    """
    alt = altair()
    top, most = alt.param(name="top", value=1.0), alt.param(name="most", value=1.0)
    bare = {"ticks": False, "domain": False, "labelOverlap": True}
    x = alt.X("report:O", title=None, axis=None)
    y = alt.Y("truth:O", title="true value", axis=alt.Axis(**bare))
    shades = alt.Scale(range=_SHADES, domainMin=0, domainMax=alt.expr("top"), interpolate="lab", clamp=True)
    squares = (
        alt.Chart(alt.NamedData("cells"))
        .mark_rect(cursor="pointer", aria=False)
        .encode(x=x, y=y, color=alt.Color("share:Q", scale=shades, legend=None), tooltip="told:N")
    )
    own = (
        alt.Chart(alt.NamedData("own"))
        .mark_rect(aria=False, filled=False, stroke=ORANGE, strokeWidth=1)
        .encode(x=x, y=y)
    )
    below = alt.X("report:O", title="report", axis=alt.Axis(labelAngle=0, **bare))
    up = alt.Scale(domainMin=0, domainMax=alt.expr("most"), nice=False)
    often = alt.Chart(alt.NamedData("reports"))
    bars = often.mark_bar(color=BLUE, aria=False).encode(
        x=below,
        y=alt.Y("often:Q", title="often", scale=up, axis=alt.Axis(labels=False, grid=False, **bare)),
        tooltip="told:N",
    )
    known = often.mark_tick(color=ORANGE, thickness=2, aria=False).encode(
        x=below, y=alt.Y("known:Q", scale=up), tooltip="told:N"
    )
    channel = alt.layer(squares, own).properties(width=width, height=height)
    return dressed(
        alt.vconcat(channel, alt.layer(bars, known).properties(width=width, height=40), spacing=4).add_params(top, most)
    )


def live_curves(x: str, y: str, *, width: int = 420, height: int = 230, log_x: bool = False) -> Chart:
    """Curves whose points are given later as "points": x, y, series, told."""
    alt = altair()
    return dressed(
        alt.Chart(alt.NamedData("points"))
        .mark_line(point={"size": 45, "filled": True})
        .encode(
            x=alt.X("x:Q", title=x, scale=alt.Scale(type="log" if log_x else "linear", nice=False)),
            y=alt.Y("y:Q", title=y, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "series:N", title=None, scale=alt.Scale(range=list(COLOURS)), legend=alt.Legend(orient="top")
            ),
            shape=alt.Shape("series:N", title=None, scale=alt.Scale(range=list(SHAPES)), legend=None),
            tooltip="told:N",
        )
        .properties(width=width, height=height)
    )


def live_law(x: str = "value", *, width: int = 560, height: int = 260) -> Chart:
    """A recovered law, given later as "law" (value, end, share, zero, told), with what was reported as "noisy" (value, share)
    and intervals of the mean share of groups of values as "intervals" (from, to, low, high, told), cut at the parameter top;
    those that go on beyond it also as "cut" (middle, high, told), with an arrow each."""
    alt = altair()
    top = alt.param(name="top", value=1.0)
    axis = alt.X("value:Q", title=x, scale=alt.Scale(nice=False, zero=False))
    up = alt.Y(
        "share:Q", title="probability of a value", scale=alt.Scale(domainMin=0, domainMax=alt.expr("top"), nice=False)
    )
    bars = alt.Chart(alt.NamedData("law")).mark_rect(color=BLUE, opacity=0.75)
    bars = bars.encode(x=axis, x2="end:Q", y=up, y2="zero:Q", tooltip="told:N")
    noisy = alt.Chart(alt.NamedData("noisy")).mark_line(interpolate="step-after", color=ORANGE, strokeWidth=1.5)
    noisy = noisy.encode(x=axis, y=up)
    spans = alt.Chart(alt.NamedData("intervals"))
    boxes = spans.mark_rect(fillOpacity=0, stroke=GREY, strokeWidth=1.5, clip=True).encode(
        x=alt.X("from:Q"), x2="to:Q", y=alt.Y("low:Q"), y2="high:Q", tooltip="told:N"
    )
    arrows = alt.Chart(alt.NamedData("cut")).mark_point(
        shape="triangle-up", filled=True, opacity=1, size=60, color=GREY, yOffset=5
    )
    arrows = arrows.encode(x=alt.X("middle:Q"), y=alt.Y("high:Q"), tooltip="told:N")
    return dressed(alt.layer(bars, noisy, boxes, arrows).add_params(top).properties(width=width, height=height))
