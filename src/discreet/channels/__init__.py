"""Channels: the conditional distribution of reports given true values, one contract and nine final kinds.

    Channel                 ratio, worst: every privacy verdict derives from these two; draw; how a report is read
    ├── Noisy               noise added to the truth, clamped where the grid ends
    │   ├── Additive        on an open grid
    │   └── Closed          on 0..n, finite
    │       ├── Geometric   the truncated geometric distribution on a grid of any size, no matrix
    │       └── Clamped     other distributions
    └── Finite              adds row, push, pull, solve, matrix, integers
        ├── Table           integer weights: the truth of every small mechanism
        ├── Mixture         the value is kept, or drawn uniformly or by another channel
        ├── TwoLevels       some reports at one level, all others at another
        │   ├── Window      those near the truth
        │   └── Projective  those in a hyperplane: for categories
        ├── Map             a deterministic map: a remap, or suppression
        └── Then            two channels in sequence

Rows are true values and columns reports, both as positions on their grids. Whatever differs between kinds is a method.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import FileError
from ..noise import read_noise
from .contract import Channel, Finite, GridRoom, PropertyFault, Ratio
from .mixture import Mixture
from .noisy import Additive, Clamped, Geometric, closed
from .projective import Projective
from .shares import Space
from .table import MAX_ENTRIES, Table
from .then import Map, Then
from .window import Window

__all__ = [
    "MAX_ENTRIES",
    "Additive",
    "Channel",
    "Clamped",
    "Finite",
    "Geometric",
    "GridRoom",
    "Map",
    "Mixture",
    "Projective",
    "PropertyFault",
    "Ratio",
    "Table",
    "Then",
    "Window",
    "closed",
    "read_channel",
]


def read_channel(part: Mapping[str, Any]) -> Channel:
    """A channel as its method `written` has it; verify.py has checked every field before."""
    match part["kind"]:
        case "table":
            return Table(np.array([[int(w) for w in row.split()] for row in part["rows"]], dtype=np.uint64))
        case "geometric":
            return Geometric(int(part["n"]), Fraction(part["a"]))
        case "mixture":
            other, ends = part.get("other"), part.get("ends")
            return Mixture(
                int(part["size"]),
                Fraction(part["keep"]),
                None if other is None else _read_finite(other),
                None if ends is None else Fraction(ends),
            )
        case "window":
            return Window(int(part["n"]), int(part["width"]), Fraction(part["a"]))
        case "projective":
            space = Space(*(int(part[name]) for name in ("p", "m", "t")))
            recurrence = tuple(int(r) for r in part["recurrence"].split())
            return Projective(int(part["size"]), space, recurrence, Fraction(part["a"]))
        case "additive":
            return Additive(read_noise(part["noise"]), part["low"], part["high"])
        case "clamped":
            return Clamped(int(part["n"]), read_noise(part["noise"]))
        case "map":
            return Map(np.array([int(t) for t in part["targets"].split()], dtype=np.int64), int(part["size"]))
        case "then":
            return Then(_read_finite(part["first"]), _read_finite(part["second"]))
    raise FileError(
        f"A channel of the kind {str(part['kind'])[:20]!r} is not known; use a newer discreet.", kind="shape"
    )


def _read_finite(part: Mapping[str, Any]) -> Finite:
    channel = read_channel(part).finite()
    if channel is None:
        raise FileError("Only finite channels follow one another.", kind="shape")
    return channel
