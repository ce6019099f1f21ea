"""Channels: the conditional law of reports given true values, one contract and seven final kinds.

    Channel                 ratio, worst: every privacy verdict derives from these two
    ├── Additive            noise added on an unbounded grid
    └── Finite              adds row, push, pull, solve, matrix, integers
        ├── Table           integer weights: the truth of every small mechanism
        ├── Geometric       the truncated geometric law on a grid of any size, no matrix
        ├── Clamped         other noise added and clamped to a finite grid
        ├── Keep            the value is kept or drawn uniformly, on a grid of any size
        ├── Map             a deterministic map: a remap, or suppression
        └── Then            two channels in sequence

Rows are true values and columns reports, both as positions on their grids.
"""

from .additive import Additive, Clamped
from .contract import Channel, Fault, Finite, Ratio
from .geometric import Geometric
from .keep import Keep
from .table import MAX_ENTRIES, Table
from .then import Map, Then

__all__ = [
    "MAX_ENTRIES",
    "Additive",
    "Channel",
    "Clamped",
    "Fault",
    "Finite",
    "Geometric",
    "Keep",
    "Map",
    "Ratio",
    "Table",
    "Then",
]
