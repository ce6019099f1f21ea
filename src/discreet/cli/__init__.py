"""The command line. Library verbs are commands: make, check, show, audit, design, compare, plan, release, ledger, demo."""

from . import designs, mechanisms, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "designs", "main", "mechanisms", "tables", "tour"]
