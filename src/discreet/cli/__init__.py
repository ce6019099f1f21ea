"""The command line. Library verbs are commands: make, check, show, audit, design, compare, plan, recover, release, ledger, demo."""

from . import designs, mechanisms, recovery, tables, tour  # each registers its commands
from .app import app, main

__all__ = ["app", "designs", "main", "mechanisms", "recovery", "tables", "tour"]
