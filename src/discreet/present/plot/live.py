"""Pictures whose numbers change while one looks: the chart is made once, its data come by name."""

from __future__ import annotations

from .charts import _SHADES
from .looks import ORANGE, Chart, altair, dressed


def live_heat_map(size: int = 190) -> Chart:
    """A channel whose cells are given later as "cells" (truth, report, share, told), and its diagonal as "own" (truth, report).

    The parameter `top` is the largest share of all charts that are compared, so that they have one scale of colours.
    `told` is what hovering says: one ready text, since under a strict policy every expression is interpreted.
    """
    alt = altair()
    top = alt.param(name="top", value=1.0)
    x = alt.X("report:O", title="report", axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False, domain=False))
    y = alt.Y("truth:O", title="true value", axis=alt.Axis(labelOverlap=True, ticks=False, domain=False))
    shades = alt.Scale(range=_SHADES, domainMin=0, domainMax=alt.expr("top"), interpolate="lab", clamp=True)
    squares = alt.Chart(alt.NamedData("cells")).mark_rect(cursor="pointer", aria=False).encode(
        x=x, y=y, color=alt.Color("share:Q", scale=shades, legend=None), tooltip="told:N"
    )  # fmt: skip
    own = alt.Chart(alt.NamedData("own")).mark_rect(aria=False, filled=False, stroke=ORANGE, strokeWidth=1).encode(x=x, y=y)
    return dressed(alt.layer(squares, own).add_params(top).properties(width=size, height=size))
