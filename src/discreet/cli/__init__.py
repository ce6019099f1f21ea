"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import designs, mechanisms, recovery, sharing, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "designs", "main", "mechanisms", "recovery", "sharing", "tables", "tour"]
