"""Pictures: plain values in (numbers, names, titles), a chart of Altair out; one look for all, and files that need no network.

Altair is loaded when the first picture is drawn, so that everything else works without it.
"""

from .chart_files import KINDS, inline, save, svg
from .charts import curves, dots, heat_map, law, live_curves, live_law, recovered, tracks
from .looks import beside, can_draw

__all__ = [
    "KINDS",
    "beside",
    "can_draw",
    "curves",
    "dots",
    "heat_map",
    "inline",
    "law",
    "live_curves",
    "live_law",
    "recovered",
    "save",
    "svg",
    "tracks",
]
