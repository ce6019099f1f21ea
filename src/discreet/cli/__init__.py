"""The command line: library verbs are commands. See `discreet --help`, and app.KINDS for the list.

Nothing is loaded here but what it takes to be stopped in good order: Ctrl+C is heard from the first moment on.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; whoever stops it with Ctrl+C is told what was done until then, and the exit code is 130."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        from . import stopping

        with stopping.heard(words, to_the_end=arguments is None):
            from .app import main as begin

            begin(words)
    except KeyboardInterrupt:
        from . import stopping

        sys.exit(stopping.said(to_the_end=arguments is None))
