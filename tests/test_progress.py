"""Progress: one kind of callable for all long work, which takes a line of text."""

from __future__ import annotations

import pytest

import discreet as dt
from discreet.progress import Told, part, tell


def test_a_line_is_a_text_that_knows_how_much_is_done():
    assert (Told("counting", 0.425), Told("counting", 0.425).done) == ("counting: 42 %", 0.425)
    assert (Told("step 3"), Told("step 3").done) == ("step 3", None)


def test_a_part_is_told_as_a_part_of_the_whole():
    seen: list[Told] = []
    second_half = part(seen.append, 0.5, 0.5)
    for done in (0.0, 0.5, 1.0):
        tell(second_half, "drawing", done)
    assert [(line.words, line.done) for line in seen] == [("drawing", 0.5), ("drawing", 0.75), ("drawing", 1.0)]


def test_nobody_needs_to_listen():
    assert part(None, 0.0, 0.5) is None
    tell(None, "counting", 0.5)


@pytest.mark.parametrize(
    "work",
    [
        lambda tell: dt.design(40, alpha="99/100", loss="l2", require="WH", progress=tell),
        lambda tell: dt.recover(
            [40, 30, 20, 30], dt.geometric(3, alpha="1/2"), "ibu", kind="counts", iterations=5, progress=tell
        ),
        lambda tell: dt.recover(
            [40, 30, 20, 30], dt.explicit_fair(3, alpha="1/2"), "mle", kind="counts", progress=tell
        ),
        lambda tell: dt.recover([40, 30, 20, 30], dt.geometric(3, alpha="1/2"), "mle", kind="counts", progress=tell),
    ],
)
def test_all_long_work_tells_lines(work, capsys):
    seen: list[Told] = []
    work(seen.append)
    assert seen
    assert all(type(line) is Told and line and "\n" not in line for line in seen)
    work(print)
    assert capsys.readouterr().out.splitlines() == seen
