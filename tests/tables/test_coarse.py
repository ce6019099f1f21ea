"""Rounded and hidden reports: cells by their definition, intervals that cover exactly, nothing finer left."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.tables.publish.coarse import Coarse, Line, MergedReports
from tests.cells import for_each

ERROR = Fraction(1, 20)
WAYS = [(5, None), (None, 5), (5, 5), (3, 7), (1, 2), (50, None), (None, 50), ("5/2", 4), (50, 50), (1, None)]
CLOSED = [
    dt.geometric(20, alpha="3/4"),
    dt.geometric(7, alpha="1/10"),
    dt.geometric(3, alpha="99/100"),
    dt.explicit_fair(12, alpha="3/4"),
    dt.explicit_fair(7, epsilon=4),
    dt.randomized_response(44, epsilon="1/10"),
    dt.staircase(dt.Grid(0, 15), alpha="1/2", sensitivity=3),
    dt.geometric(dt.Grid(-6, 9, "1/2"), alpha="1/2"),
    dt.geometric(12, alpha="1/2").remap(lambda r: r - r % 2),
]
OPEN = [
    dt.geometric(dt.Grid(0, None), alpha="3/5"),
    dt.geometric(dt.Grid(None, None), alpha="1/3"),
    dt.geometric(dt.Grid(None, 30), alpha="4/5"),
    dt.staircase(dt.Grid(None, None), alpha="1/2", sensitivity=4),
    dt.geometric(dt.Grid(0, None, 100), alpha="1/2", sensitivity=300),
]


def shown(value: Fraction, round_to: object, hide_below: object) -> Fraction | None:
    """By the words of the documentation: the nearest multiple, halves upwards; then hidden where that is below."""
    if round_to is not None:
        width = Fraction(round_to)
        value = min(
            (k * width for k in range(math.floor(value / width), math.floor(value / width) + 2)),
            key=lambda multiple: (abs(multiple - value), -multiple),
        )
    return None if hide_below is not None and value < hide_below else value


@for_each("way", WAYS)
@pytest.mark.parametrize("m", [*CLOSED, *OPEN], ids=repr)
def test_a_cell_holds_the_reports_that_are_shown_alike(m, way):
    grid, coarse = m.outputs, Coarse.of(*way)
    places = np.arange(
        *((0, grid.n + 1) if grid.n is not None else (-60 if grid.low is None else 0, 1 if grid.high else 60))
    )
    expected = [shown(Fraction(grid.value(p)), *way) for p in places.tolist()]
    cells = coarse.cells(Line.of(grid), places)
    assert cells.shown == [None if x is None else x if x.denominator == 1 else float(x) for x in expected]
    inside = {p: k for k, p in enumerate(places.tolist())}
    for k, (first, last) in enumerate(zip(cells.first.tolist(), cells.last.tolist(), strict=True)):
        assert first <= places[k] <= last
        for p, alike in ((first, True), (last, True), (first - 1, False), (last + 1, False)):
            if p in inside:
                assert (expected[inside[p]] == expected[k]) is alike


def merged_rows(m, way):
    """The law after merging, in fractions: for each truth the cells in their order with their chances."""
    labels = [shown(Fraction(m.outputs.value(p)), *way) for p in range(m.outputs.size)]
    order = list(dict.fromkeys(labels))
    rows = []
    for x in range(m.inputs.size):
        chances = dict.fromkeys(order, Fraction(0))
        for p, label in enumerate(labels):
            chances[label] += m.finite().entry(x, p)
        rows.append([chances[label] for label in order])
    return [order.index(label) for label in labels], rows


@for_each("way", WAYS)
@pytest.mark.parametrize("m", CLOSED, ids=repr)
def test_intervals_invert_the_merged_channel(m, way):
    """Coverage of every truth, and the interval of every cell from the definition, in fractions."""
    which, rows = merged_rows(m, way)
    low, high = MergedReports(m.channel, Line.of(m.outputs), Coarse.of(*way)).interval(np.arange(m.outputs.size), ERROR)
    for x in range(m.inputs.size):
        assert sum(m.finite().entry(x, p) for p in range(m.outputs.size) if low[p] <= x <= high[p]) >= 1 - ERROR
    up_to = [list(accumulate(row, initial=Fraction(0))) for row in rows]
    for p, cell in enumerate(which):
        truths = [x for x, at in enumerate(up_to) if at[cell + 1] > ERROR / 2 and at[-1] - at[cell] > ERROR / 2]
        assert (low[p], high[p]) == ((truths[0], truths[-1]) if truths else (0, m.inputs.size - 1))


@for_each("way", WAYS)
@pytest.mark.parametrize("m", OPEN, ids=repr)
def test_intervals_of_open_noise_cover_and_are_no_wider_than_they_must_be(m, way):
    grid, noise = m.outputs, m.channel.noise
    lowest, highest = (-400 if grid.low is None else 0), (0 if grid.high is not None else 400)
    reports = np.arange(lowest, highest + 1)
    reading = MergedReports(m.channel, Line.of(grid), Coarse.of(*way))
    cells, (low, high) = reading.cells(reports), reading.interval(reports, ERROR)

    def at_least(report: int, x: int) -> Fraction:  # Pr[report or more], clamped at a closed end
        return Fraction(1) if report <= (-(2**60) if grid.low is None else 0) else noise.upper(report - x)

    def at_most(report: int, x: int) -> Fraction:
        return Fraction(1) if report >= (2**60 if grid.high is None else 0) else noise.upper(x - report)

    for x in range(max(lowest, -60), min(highest, 60) + 1, 7):
        held = reports[(low <= x) & (x <= high)].tolist()
        assert held == list(range(held[0], held[-1] + 1))
        assert at_least(held[0], x) - (1 - at_most(held[-1], x)) >= 1 - ERROR
    for k in range(150, len(reports) - 150, 11):
        first, last = int(cells.first[k]), int(cells.last[k])
        for x, accepted in ((low[k], True), (high[k], True), (low[k] - 1, False), (high[k] + 1, False)):
            if abs(x) < 2**60 and (grid.low is None or x >= 0) and (grid.high is None or x <= 0):
                assert (at_least(first, int(x)) > ERROR / 2 and at_most(last, int(x)) > ERROR / 2) is accepted


def test_reading_a_rounded_report_as_if_it_were_the_report_covers_too_little():
    """The negative control of the tests above: what intervals of the channel before merging would do."""
    m = dt.geometric(40, alpha="1/10")
    rounded = np.array([min(5 * ((p + 2) // 5), 40) for p in range(41)])
    low, high = m.channel.interval(rounded, ERROR)
    held = [sum(m.finite().entry(x, p) for p in range(41) if low[p] <= x <= high[p]) for x in range(41)]
    assert min(held) < Fraction(1, 2)
    merged, _ = MergedReports(m.channel, Line.of(m.outputs), Coarse.of(5)).interval(np.arange(41), ERROR)
    assert merged[20] > 20 - 2 - 5  # and the merged ones are not as wide as everything


def test_an_estimate_is_left_where_there_is_one_and_else_bounds():
    twos = dt.geometric(6, alpha="1/2").remap(lambda r: 2 * r, outputs=dt.Grid(0, 12))
    kept = MergedReports(
        twos.channel, Line.of(twos.outputs), Coarse.of(2)
    )  # only even reports occur: nothing is merged
    assert kept.estimate(np.array([4])) == pytest.approx(2.0)
    assert twos.channel.standard_error <= kept.standard_error <= 2.0  # that of the noise bounds it
    m = dt.geometric(20, alpha="1/2")
    lost = MergedReports(m.channel, Line.of(m.outputs), Coarse.of(5, 3))
    assert np.isnan(lost.estimate(np.array([4]))).all()
    assert math.isnan(lost.standard_error)
    least, most = lost.around(np.array([0, 4, 20]))
    assert (least.tolist(), most.tolist()) == ([-1, 3, 18], [2, 7, 21])  # at the ends by the overshoot a / (1 - a) = 1
    line = dt.geometric(dt.Grid(None, None), alpha="1/2")
    least, most = MergedReports(line.channel, Line.of(line.outputs), Coarse.of(None, 3)).around(np.array([-9, 4]))
    assert (least.tolist(), most.tolist()) == ([-math.inf, 4], [2, 4])
    fair = dt.explicit_fair(8, alpha="1/2")
    least, most = MergedReports(fair.channel, Line.of(fair.outputs), Coarse.of(3)).around(np.arange(9))
    own = fair.channel.estimate(np.arange(9))
    assert ((least <= own) & (own <= most)).all()


@pytest.mark.parametrize("bad", [{"round_to": 0}, {"round_to": -5}, {"hide_below": "x"}, {"round_to": math.nan}])
def test_bad_widths_are_refused_in_a_sentence(bad):
    with pytest.raises(ReleaseError, match="positive number"):
        Coarse.of(**bad)


@pytest.mark.parametrize("round_to", ["5/2", None])
def test_what_is_hidden_does_not_decide_how_others_are_written(round_to):
    """10 or 10.0: a hidden 2.5 beside it would tell."""
    line = Line.of(dt.Grid(0, 20, 1 if round_to else "1/2"))
    texts = {str(Coarse.of(round_to, 5).cells(line, np.array([hidden, 10])).shown) for hidden in (0, 1, 2, 3)}
    assert len(texts) == 1


def test_far_reports_are_merged_without_wrapping():
    grid = dt.Grid(0, None)
    far = np.array([2**61 - 1, 2**61 - 2])
    cells = Coarse.of(Fraction(10**6, 7)).cells(Line.of(grid), far)
    assert all(a <= p <= b for a, p, b in zip(cells.first.tolist(), far.tolist(), cells.last.tolist(), strict=True))
    assert cells.last.max() <= 2**61
