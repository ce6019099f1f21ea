"""Pictures: plain values in (numbers, names, titles), a chart of Altair out; one look for all, and files that need no network.

Altair is loaded when the first picture is drawn, so that everything else works without it.
"""

from .charts import curves, dots, heat_map, heat_maps, law, laws, recovered, words_grid
from .live import live_curves, live_heat_map, live_law
from .looks import below, beside, can_draw
from .saving import KINDS, inline, save, svg
from .track_charts import tracks

__all__ = [
    "KINDS",
    "below",
    "beside",
    "can_draw",
    "curves",
    "dots",
    "heat_map",
    "heat_maps",
    "inline",
    "law",
    "laws",
    "live_curves",
    "live_heat_map",
    "live_law",
    "recovered",
    "save",
    "svg",
    "tracks",
    "words_grid",
]
