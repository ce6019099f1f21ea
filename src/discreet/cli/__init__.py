"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import cascades, designs, mechanisms, queries, recovery, sharing, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "cascades", "designs", "main", "mechanisms", "queries", "recovery", "sharing", "tables", "tour"]
