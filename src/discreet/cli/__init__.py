"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import (  # each registers its commands
    cascades,
    designs,
    mechanisms,
    queries,
    recovery,
    sharing,
    studies,
    tables,
    tour,
)
from .app import app, main

__all__ = ["app", "cascades", "designs", "main", "mechanisms", "queries", "recovery", "sharing", "studies", "tables", "tour"]
