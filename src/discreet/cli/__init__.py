"""The command line: library verbs are commands. See `discreet --help`, and app.KINDS for the list."""

from .app import app, main

__all__ = ["app", "main"]
