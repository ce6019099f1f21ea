"""The command that opens the studio."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .app import command
from .options import Number, entry


@command()
def studio(
    *,
    port: Annotated[Number, entry("The port on 127.0.0.1; 0 is any free one, which is safer.")] = "0",
    open: Annotated[bool, Parameter(name="--open", negative="--no-open", help="Open the page in the browser.")] = True,
) -> int:
    """Open the studio: a web page of this machine alone.

    Mechanisms side by side, releases, recovery, and what people learn who share. It runs until Ctrl+C.

    Example: discreet studio --no-open
    """
    import importlib.util

    from ..errors import MissingExtraError

    if any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "altair", "vl_convert")):
        raise MissingExtraError.needing("The studio needs FastAPI, uvicorn and what draws pictures", "studio")
    from ..studio.server import serve

    serve(port, show=open)
    return 0
