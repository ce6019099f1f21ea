"""The studio's server: pages, scripts, and the questions that its rooms ask. It listens on 127.0.0.1 and asks nobody outside."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from ..errors import DiscreetError, MissingExtraError
from ..exact.given import whole
from . import charts, choose, collude, doorway, jobs, recover, release, uploads
from .guard import NO_PAGE, Guard, Keys, read_by_a_person
from .pages import ROOMS, notice, page
from .wire import Problem

_STATIC = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problem} for code in (400, 401, 403, 404, 413, 421, 422, 429)
}


def make_app(keys: Keys, place: release.Place) -> FastAPI:
    """The studio behind its guard."""
    app = FastAPI(
        title="discreet studio",
        version=version("discreet"),
        description="Questions that the rooms of the studio ask. Levels and numbers are read as texts, exactly.",
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        responses=_REFUSALS,
    )
    app.state.place, app.state.jobs = place, jobs.Jobs()
    app.add_middleware(Guard, keys=keys)
    app.add_exception_handler(DiscreetError, _refused)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _problem)
    for module in (charts, choose, release, recover, collude, jobs):
        app.include_router(module.router)

    @app.get("/api/enter", status_code=204, tags=["enter"])
    def enter() -> Response:
        """Whether the key is the right one. Whoever has it needs the file no more that handed it over."""
        doorway.shut(place.uploads)
        return Response(status_code=204)

    @app.get("/", include_in_schema=False)
    async def first() -> Response:
        return RedirectResponse(f"/{ROOMS[0].name}", status_code=303)

    for room in ROOMS:
        app.add_api_route(f"/{room.name}", _page_of(room.name), include_in_schema=False)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(name: str) -> Response:
        files = {path.name: path for path in _STATIC.iterdir()}  # a name that is none of these leads nowhere
        if name not in files or files[name].suffix not in _TYPES:
            raise HTTPException(404, "There is no such file.")
        return Response(files[name].read_bytes(), headers={"content-type": _TYPES[files[name].suffix]})

    @app.get("/vega.js", include_in_schema=False)
    def vega() -> Response:
        return Response(bundle(), headers={"content-type": _TYPES[".js"]})

    return app


def _page_of(name: str) -> Callable[[], Awaitable[Response]]:
    async def room() -> Response:
        return Response(page(name), media_type="text/html")

    return room


@lru_cache(maxsize=1)
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as vl-convert carries them: nothing is fetched, nothing is kept in the project."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError.needing("The studio's pictures need altair and vl-convert-python", "plots") from None
    make: Any = vl_convert.javascript_bundle  # its stub demands what may be left out
    return str(make())


def _said(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"detail": sentence}, status_code=status)


async def _refused(request: Request, error: Exception) -> Response:
    return _said(422, _without_folders(str(error), request.app.state.place))


def _without_folders(text: str, place: release.Place) -> str:
    """A sentence of the library for whoever sees the page, who knows files by their names: not where they lie on this machine."""
    folders = {
        place.uploads,
        place.ledgers,
        Path(os.environ.get("DISCREET_SECRET") or place.ledgers / "x").absolute().parent,
    }
    known = {str(path) for folder in folders for path in (folder, folder.resolve())} - {os.sep}
    for folder in sorted(known, key=len, reverse=True):  # an upload lies one deeper, in a folder of its own
        text = re.sub(re.escape(folder) + r"[/\\]+(?:[0-9a-f]{16}[/\\]+)?", "", text)
    return text


async def _not_understood(request: Request, error: Exception) -> Response:
    """Where the first thing stands that was not understood, and what was expected; never what was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _said(400, "The body is no JSON.")
    place = ".".join(str(part) for part in first["loc"] if part != "body")
    return _said(422, f"{place or 'body'}: {first['msg']}.")


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if read_by_a_person(request.scope):
        return HTMLResponse(
            notice(NO_PAGE if error.status_code == 404 else str(error.detail)), error.status_code, error.headers
        )
    return JSONResponse({"detail": str(error.detail)}, status_code=error.status_code, headers=error.headers)


def configured(app: FastAPI, **more: Any) -> Any:
    """How uvicorn serves the studio."""
    import uvicorn

    from .pace import paced

    quiet = {"log_level": "error", "access_log": False, "server_header": False, "proxy_headers": False, "ws": "none"}
    return uvicorn.Config(app, http=paced(), timeout_graceful_shutdown=2, **{**quiet, **more})


def serve(port: int = 0, *, show: bool = True, tell: Callable[[str], None] = print) -> None:
    """Run the studio until it is interrupted; a port of 0 is any free one."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtraError.needing("The studio needs FastAPI and uvicorn", "studio") from None
    port = whole(port, "port", 0, 65535)
    with closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as listening:
        # elsewhere "reuse" means a port whose last owner is gone; on Windows it would let another process take ours
        alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening.setsockopt(socket.SOL_SOCKET, alone, 1)
        try:
            listening.bind(("127.0.0.1", port))
        except OSError as error:
            raise DiscreetError(
                f"Port {port} of 127.0.0.1 cannot be used ({error.strerror}); leave --port out."
            ) from None
        listening.listen(128)  # a browser that is quicker than the server waits, and is not turned away
        keys = Keys(listening.getsockname()[1])
        tell(
            f"The studio is at {keys.address}\nWhoever has this address is let in: keep it to yourself. Press Ctrl+C to close it."
        )
        threading.Thread(target=bundle, daemon=True).start()  # it takes a second or two
        with uploads.folder() as place, uploads.closed_in_time():
            if show:
                threading.Timer(0.5, doorway.show, [keys.address, place]).start()
            app = make_app(keys, release.Place(place, Path.cwd()))
            uvicorn.Server(configured(app)).run(sockets=[listening])
