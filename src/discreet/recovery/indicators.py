"""The probability of one value, or of a value and all below it, by its name: "cell(3)", "cdf(3)"."""

from __future__ import annotations

import math
import re

import numpy as np

from ..errors import DiscreetError
from ..exact.arithmetic import parse_exact, show
from ..exact.grid import Grid
from .likelihood import Floats

_AT = re.compile(r"\s*(cell|cdf)\s*\(([^()]*)\)\s*")


def indicator(of: str, grid: Grid, error: type[DiscreetError]) -> tuple[str, Floats] | None:
    """What is meant in words, and 1 for each value that counts and 0 for the others; None for what is no such name.

    >>> words, numbers = indicator("cdf(3)", Grid(2, 5), DiscreetError)
    >>> words, numbers.tolist()
    ('Pr[value <= 3]', [1.0, 1.0, 0.0, 0.0])
    """
    match = _AT.fullmatch(of)
    number = parse_exact(match[2]) if match else None
    if match is None or number is None or grid.size is None:
        return None
    position, place = (number - grid.anchor) / grid.step, np.arange(grid.size)
    if not 0 <= position < grid.size or (match[1] == "cell" and position.denominator != 1):
        raise error(f"of = {show(of)}: the value {number} is not on {grid}; name one that is.")
    if match[1] == "cell":
        return f"Pr[value = {number}]", (place == int(position)).astype(np.float64)
    return f"Pr[value <= {number}]", (place <= math.floor(position)).astype(np.float64)
