"""Pictures of a recovery whose numbers come later, by name: reports beside what is expected, a distribution with whiskers, and
names with intervals."""

from __future__ import annotations

from .looks import BLUE, ORANGE, Chart, altair, dressed


def live_reports(names: bool = False, *, width: int = 560, height: int = 200) -> Chart:
    """How often each report came, beside how often it is expected: given later as "seen" (value, end, count, zero, told), bars, and
    "expected" (value, count, told), points without a colour of their own. Reports are numbers, or `names` on an axis of names."""
    alt = altair()
    up = alt.Y("count:Q", title="reports", scale=alt.Scale(domainMin=0))
    seen, look = alt.Chart(alt.NamedData("seen")), {"opacity": 0.75, "color": ORANGE}
    if names:
        axis = alt.X("value:N", title=None, sort=None, axis=alt.Axis(labelAngle=-40, labelLimit=110))
        bars = seen.mark_bar(**look).encode(x=axis, y=up, tooltip="told:N")
    else:
        axis = alt.X("value:Q", title="report", scale=alt.Scale(nice=False, zero=False))
        bars = seen.mark_rect(**look).encode(x=axis, x2="end:Q", y=up, y2="zero:Q", tooltip="told:N")
    points = alt.Chart(alt.NamedData("expected")).mark_point(filled=True, size=26, opacity=1)
    points = points.encode(x=axis, y=up, tooltip="told:N")
    return dressed(alt.layer(bars, points).properties(width=width, height=height))


def live_distribution(x: str = "true value", *, width: int = 560, height: int = 240) -> Chart:
    """A recovered distribution, given later as "bars" (value, end, share, zero, told), with a whisker for the mean share of each
    group of values as "whiskers" (middle, low, high, told), cut at the parameter top; those that go on beyond it also as "cut",
    with an arrow each. Whiskers have no colour of their own: whoever shows it chooses one that stands out from the ground."""
    alt = altair()
    top = alt.param(name="top", value=1.0)
    axis = alt.X("value:Q", title=x, scale=alt.Scale(nice=False, zero=False))
    up = alt.Y(
        "share:Q", title="share", axis=alt.Axis(format="~%"), scale=alt.Scale(domainMin=0, domainMax=alt.expr("top"))
    )
    bars = alt.Chart(alt.NamedData("bars")).mark_rect(color=BLUE, opacity=0.75)
    bars = bars.encode(x=axis, x2="end:Q", y=up, y2="zero:Q", tooltip="told:N")
    spans, middle = alt.Chart(alt.NamedData("whiskers")), alt.X("middle:Q")
    rules = spans.mark_rule(strokeWidth=2).encode(x=middle, y="low:Q", y2="high:Q", tooltip="told:N")
    ends = [
        spans.mark_tick(orient="horizontal", size=9, thickness=2).encode(x=middle, y=end, tooltip="told:N")
        for end in ("low:Q", "high:Q")
    ]
    arrows = alt.Chart(alt.NamedData("cut")).mark_text(text="▲", dy=5, fontSize=11)
    arrows = arrows.encode(x=middle, y="high:Q", tooltip="told:N")
    return dressed(alt.layer(bars, rules, *ends, arrows).add_params(top).properties(width=width, height=height))


def live_intervals(x: str, *, share: bool = False, width: int = 520) -> Chart:
    """Names downwards, each with a number and its interval: data given later as "rows" (name, value, low, high, told), and as
    "plain" (name, value, told) numbers beside them, hollow. Whiskers have no colour of their own."""
    alt = altair()
    axis = alt.Axis(format="~%") if share else alt.Axis()
    across = alt.X("value:Q", title=x, axis=axis, scale=alt.Scale(zero=share, nice=True))
    down = alt.Y("name:N", title=None, sort=None, axis=alt.Axis(labelLimit=130))
    here = alt.Chart(alt.NamedData("rows"))
    rules = here.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q", y=down, tooltip="told:N")
    ends = [
        here.mark_tick(orient="vertical", size=9, thickness=2).encode(x=end, y=down, tooltip="told:N")
        for end in ("low:Q", "high:Q")
    ]
    points = here.mark_point(filled=True, size=80, opacity=1, color=BLUE).encode(x=across, y=down, tooltip="told:N")
    plain = alt.Chart(alt.NamedData("plain")).mark_point(size=60, strokeWidth=2, opacity=1, color=ORANGE)
    plain = plain.encode(x=across, y=down, tooltip="told:N")
    return dressed(alt.layer(rules, *ends, points, plain).properties(width=width, height=alt.Step(22)))
