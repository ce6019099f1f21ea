"""How much a call has to do, counted and not timed: a count is the same on every machine, however busy that is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import discreet

PACKAGE = str(Path(discreet.__file__).parent)


class TooMuchWork(AssertionError):
    """More lines than were allowed."""


def lines_of(call: Callable[[], Any], *, most: float = float("inf")) -> int:
    """How many lines of the package a call runs, in this thread; stopped with an error at the first line beyond `most`.

    What NumPy or a long integer does within a line counts as one: the count tells loops written in Python from loops that
    are not, and an algorithm from one whose steps grow with its input.
    """
    count = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise TooMuchWork(f"more than {most} lines")
        return line

    def entered(frame: FrameType, event: str, arg: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
