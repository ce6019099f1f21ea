"""The one look of all pictures: sizes of letters, colours that everybody can tell apart, charts side by side.

The colours are those of Okabe and Ito (Color universal design, 2008). Where it matters, shape or dashes tell the same, so
that a picture printed in grey still reads.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ...errors import MissingExtraError

Chart = Any  # an altair.Chart or one of its kin: the package is optional, so its types are not named here

BLUE, ORANGE, GREEN, SKY, PURPLE, YELLOW, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#56B4E9",
    "#CC79A7",
    "#E69F00",
    "#000000",
)
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW, SKY, BLACK)
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [12, 4], [1, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "stroke")
GREY = "#6b7280"
_LETTERS = 13  # points: legible when a page is printed at two thirds of its size
_WIDE = 74  # letters of a title in a line, over a chart of 520 points


def can_draw() -> bool:
    """Is what draws and saves pictures installed?"""
    return all(find_spec(name) is not None for name in ("altair", "vl_convert"))


def altair() -> Any:
    """The package that makes charts, or an error that says how to install it."""
    if not can_draw():
        raise MissingExtraError.needing("Pictures need altair and vl-convert-python", "plots")
    import altair

    return altair


def data(rows: Sequence[dict[str, Any]]) -> Any:
    return altair().InlineData(values=list(rows))


def heading(title: str, subtitle: str = "", width: int = 520) -> Any:
    """A title in as many lines as its chart's width needs."""
    letters = max(int(_WIDE * width / 520), 24)
    lines = [line for part in subtitle.split("\n") for line in textwrap.wrap(part, int(letters * 1.15))]
    more = {"subtitle": lines} if lines else {}
    return altair().TitleParams(textwrap.wrap(title, letters) or [""], **more)


def noted(chart: Chart, note: str) -> Chart:
    """The chart with one more line below its title, once."""
    alt = altair()
    title = chart.title if isinstance(chart.title, alt.TitleParams) else alt.TitleParams("")
    lines = [] if title.subtitle is alt.Undefined else list(title.subtitle)
    return chart.properties(title=alt.TitleParams(title.text, subtitle=[*(x for x in lines if x != note), note]))


def dressed(chart: Chart) -> Chart:
    """A chart with the look of all: the last thing done to it."""
    font = "Helvetica, Arial, sans-serif"
    return (
        chart.configure(font=font, background="white", padding=8)
        .configure_title(
            anchor="start",
            fontSize=_LETTERS + 2,
            subtitleFontSize=_LETTERS - 1,
            subtitleColor="#4a5568",
            subtitlePadding=4,
            offset=10,
        )
        .configure_axis(
            labelFontSize=_LETTERS - 1,
            titleFontSize=_LETTERS,
            titleFontWeight="normal",
            gridColor="#eceff3",
            domainColor=GREY,
            tickColor=GREY,
            titlePadding=6,
            labelFlush=False,  # numbers stand below their ticks, also at the ends
            labelSeparation=10,  # room for readers whose letters are wider than those that were measured
        )
        .configure_legend(
            labelFontSize=_LETTERS - 1,
            titleFontSize=_LETTERS,
            titleFontWeight="normal",
            symbolSize=110,
            labelLimit=320,
            symbolStrokeWidth=2.5,
            columnPadding=32,
        )
        .configure_header(labelFontSize=_LETTERS, titleFontSize=_LETTERS, labelFontWeight="bold")
        .configure_view(stroke="#d5dae1")
    )


def _bare(chart: Chart) -> Chart:
    """A copy without the look: only the outermost chart may have one."""
    bare = chart.copy(deep=False)
    bare.config = altair().Undefined
    return bare


def beside(*charts: Chart, title: str = "", subtitle: str = "", columns: int | None = None) -> Chart:
    """Pictures next to each other, some in a row, as one."""
    alt = altair()
    joined = alt.concat(*map(_bare, charts), columns=columns or len(charts))
    if title:
        joined = joined.properties(title=heading(title, subtitle, 760 if min(columns or 2, len(charts)) > 1 else 330))
    return dressed(joined.resolve_scale(color="independent", shape="independent", strokeDash="independent"))
