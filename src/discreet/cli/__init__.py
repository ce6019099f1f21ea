"""The command line: library verbs are commands. See `discreet --help`, and app.COMMANDS for the list."""

from . import (  # noqa: F401  # each registers its commands
    admission,
    cascades,
    collecting,
    designs,
    ledgers,
    mechanisms,
    queries,
    recovery,
    releases,
    sharing,
    studies,
    studio,
    tables,
    tour,
)
from .app import app, main

__all__ = ["app", "main"]
