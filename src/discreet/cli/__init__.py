"""The command line: discreet make | check | show | audit | release | ledger | demo. Library verbs are commands."""

from . import mechanisms, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "main", "mechanisms", "tables", "tour"]
