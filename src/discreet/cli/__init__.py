"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import (  # each registers its commands
    admission,
    cascades,
    collecting,
    designs,
    ledgers,
    mechanisms,
    queries,
    recovery,
    sharing,
    studies,
    tables,
    tour,
)
from .app import app, main

__all__ = [
    "admission", "app", "cascades", "collecting", "designs", "ledgers", "main", "mechanisms", "queries", "recovery", "sharing",
    "studies", "tables", "tour",
]  # fmt: skip
