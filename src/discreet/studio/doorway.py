"""How the browser is handed the first address: by a file for this user alone, since everybody can read a command line."""

from __future__ import annotations

import os
import webbrowser
from html import escape
from pathlib import Path

_NAME = "open.html"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>discreet studio</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}"></head>
<body><p><a href="{address}">Open the studio</a></p></body></html>
"""


def show(address: str, folder: Path) -> None:
    """Open a file in the browser that leads on to the address."""
    path = folder / _NAME
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(_PAGE.format(address=escape(address)))
    except OSError:  # the studio was closed at once, or the disk is full: the address was printed
        return
    webbrowser.open(path.resolve().as_uri())


def shut(folder: Path) -> None:
    """Nobody needs the file any more; else it goes with the folder."""
    (folder / _NAME).unlink(missing_ok=True)
