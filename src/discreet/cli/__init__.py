"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import designs, mechanisms, recovery, studies, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "designs", "main", "mechanisms", "recovery", "studies", "tables", "tour"]
