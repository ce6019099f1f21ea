"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import (  # each registers its commands
    admission,
    cascades,
    designs,
    ledgers,
    mechanisms,
    queries,
    recovery,
    sharing,
    studies,
    studio,
    tables,
    tour,
)
from .app import app, main

__all__ = [
    "admission", "app", "cascades", "designs", "ledgers", "main", "mechanisms", "queries", "recovery", "sharing", "studies",
    "studio", "tables", "tour",
]  # fmt: skip
