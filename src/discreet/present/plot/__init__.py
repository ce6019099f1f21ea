"""Pictures: plain values in (numbers, names, titles), a chart of Altair out; one look for all, and files that need no network.

Altair is loaded when the first picture is drawn, so that everything else works without it.
"""

from .chart_files import KINDS, inline, kind_of, save, svg
from .charts import curves, distribution, dots, heat_map, live_curves, network, recovered, tracks
from .looks import beside, can_draw, noted
from .recovery_charts import live_distribution, live_intervals, live_reports

__all__ = [
    "KINDS",
    "beside",
    "can_draw",
    "curves",
    "distribution",
    "dots",
    "heat_map",
    "inline",
    "kind_of",
    "live_curves",
    "live_distribution",
    "live_intervals",
    "live_reports",
    "network",
    "noted",
    "recovered",
    "save",
    "svg",
    "tracks",
]
