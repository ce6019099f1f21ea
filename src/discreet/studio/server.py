"""The studio's server: pages, scripts, and the questions that its rooms ask. It listens on 127.0.0.1 and asks nobody outside."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import h11
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import DiscreetError, MissingExtraError
from ..exact.given import whole
from . import (
    choose_room,
    collude_room,
    jobs,
    recover_given,
    recover_room,
    release_place,
    release_question,
    release_room,
    rooms,
)
from .access import NO_PAGE, Guard, Keys, read_by_a_person
from .field_words import in_fields
from .rooms import ROOMS, Refusal, notice, page

_STATIC = Path(__file__).parent / "static"
MOST_WAITING = 128
WINDOW = 5.0  # seconds
PACE = 2**16  # bytes in each window
_PREFIX = "discreet-studio-"  # of the folders in which dropped files lie
_DOORWAY = "open.html"
_DOORWAY_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>discreet studio</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={address}"></head>
<body><p><a href="{address}">Open the studio</a></p></body></html>
"""
_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
_WHOLE = "write a whole number"
_EXPECTED = {  # what a field should hold, where a person may have written it
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "int_type": _WHOLE,
    "finite_number": _WHOLE,
    "greater_than_equal": "write a number from {ge}",
    "less_than_equal": "write a number up to {le}",
    "string_too_long": "write at most {max_length} characters",
    "too_long": "give at most {max_length}",
    "string_type": "a text is missing here",
}
_KIND = re.compile(r"constrained-str|list\[.*\]")  # how a choice of kinds is named within a place
_REFUSALS: dict[int | str, dict[str, Any]] = {
    code: {"model": Refusal} for code in (400, 401, 403, 404, 413, 421, 422, 429)
}


def make_app(keys: Keys, place: release_room.Place) -> FastAPI:
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
    for module in (
        rooms,
        choose_room,
        release_place,
        release_room,
        release_question,
        recover_given,
        recover_room,
        collude_room,
        jobs,
    ):
        app.include_router(module.router)

    @app.get("/api/enter", status_code=204, tags=["enter"])
    def enter() -> Response:
        """Whether the key is the right one. Whoever has it needs the file no more that handed it over."""
        close_doorway(place.uploads)
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


def _refusal(status: int, sentence: str, field: str | None = None) -> JSONResponse:
    return JSONResponse({"detail": sentence, **({} if field is None else {"field": field})}, status_code=status)


async def _refused(request: Request, error: Exception) -> Response:
    sentence = in_fields(_without_folders(str(error), request.app.state.place))
    return _refusal(422, sentence, getattr(error, "field", None))


def _without_folders(text: str, place: release_room.Place) -> str:
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
    first = max(error.errors(), key=lambda found: len(found["loc"]))  # of a choice, the way that went furthest
    if first["type"] == "json_invalid":
        return _refusal(400, "The body is no JSON.")
    place = ".".join(str(part) for part in first["loc"] if part != "body" and not _KIND.fullmatch(str(part)))
    told = _EXPECTED.get(first["type"])
    words = first["msg"] if told is None else told.format(**first.get("ctx", {}))
    return _refusal(422, in_fields(f"{place or 'body'}: {words}."), place or None)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if read_by_a_person(request.scope):
        return HTMLResponse(
            notice(NO_PAGE if error.status_code == 404 else str(error.detail)), error.status_code, error.headers
        )
    return JSONResponse({"detail": str(error.detail)}, status_code=error.status_code, headers=error.headers)


# Connections, the folder, and the way in


class Paced(H11Protocol):
    """uvicorn's own reading of HTTP, watched: connections that wait for their client are few and do not wait for long, so that
    nobody keeps the studio busy with halves of requests.

    uvicorn gives up a connection that is idle between two requests, and no other. Here one that waits for its client, for the
    rest of a request or for an answer to be taken, must go on at a pace; and where too many wait, the oldest goes: whoever
    sends a request as a whole is not turned away for the sake of those who do not.
    """

    waiting: ClassVar[dict[Paced, None]]
    most: ClassVar[int]
    window: ClassVar[float]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._moved = self._unsent = 0
        self._watch: asyncio.TimerHandle | None = None
        self._settle()

    def data_received(self, data: bytes) -> None:
        self._moved += len(data)
        super().data_received(data)
        self._settle()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)

    def _on_client(self) -> bool:
        """Whether it is the client's turn: to send on, to read, or to ask anew."""
        answered = self.cycle is None or self.cycle.response_complete
        complete = self.conn.their_state not in (h11.IDLE, h11.SEND_BODY)
        return answered or not (complete or self.flow.read_paused) or self.transport.get_write_buffer_size() > 0

    def _settle(self) -> None:
        if self.transport.is_closing() or not self._on_client():
            self.waiting.pop(self, None)
        elif self not in self.waiting:
            self.waiting[self] = None
            self._begin()
            while len(self.waiting) > self.most:
                next(iter(self.waiting))._give_up()

    def _begin(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._moved, self._unsent = 0, self.transport.get_write_buffer_size()
        self._watch = self.loop.call_later(self.window, self._look)

    def _look(self) -> None:
        unread = self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY
        went = self._moved + self._unsent - self.transport.get_write_buffer_size()
        if self._on_client() and (unread or went < PACE):
            self._give_up()
        else:
            self._begin()

    def _give_up(self) -> None:
        self._leave()
        self.transport.abort()

    def _leave(self) -> None:
        self.waiting.pop(self, None)
        if self._watch is not None:
            self._watch.cancel()


def paced(most: int = MOST_WAITING, window: float = WINDOW) -> type[Any]:
    """The protocol of one server."""
    return type("PacedHere", (Paced,), {"waiting": {}, "most": most, "window": window})


@contextmanager
def _own_folder() -> Iterator[Path]:
    """A folder for what is dropped into the studio, for its user alone, which goes with it.

    What studios left behind that were killed goes first.
    """
    _sweep()
    with tempfile.TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-") as name:  # others cannot read such folders
        yield Path(name)


def _sweep() -> None:
    if os.name != "posix":  # elsewhere nobody can be asked whether a process lives without a signal to it
        return
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        process = left.name.removeprefix(_PREFIX).split("-")[0]
        with suppress(FileNotFoundError):  # everybody makes such names, and takes them away again
            if (
                process.isdecimal()
                and left.lstat().st_uid == os.getuid()
                and not left.is_symlink()
                and not _is_running(int(process))
            ):
                shutil.rmtree(left, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


@contextmanager
def _closed_in_time() -> Iterator[None]:
    """A studio that is ended, or whose terminal is closed, leaves by this way too: else its folder would stay."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    def end(number: int, frame: Any) -> None:
        signal.raise_signal(signal.SIGTERM)  # the server's own way of ending, which then comes to `leave`

    ways = {"SIGTERM": leave, "SIGHUP": end}
    before = {name: signal.signal(getattr(signal, name), way) for name, way in ways.items() if hasattr(signal, name)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def open_doorway(address: str, folder: Path) -> None:
    """Open a file in the browser that leads on to the address: a file for this user alone, since everybody can read a command
    line."""
    path = folder / _DOORWAY
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            out.write(_DOORWAY_PAGE.format(address=escape(address)))
    except OSError:  # the studio was closed at once, or the disk is full: the address was printed
        return
    webbrowser.open(path.resolve().as_uri())


def close_doorway(folder: Path) -> None:
    """Nobody needs the file any more; else it goes with the folder."""
    (folder / _DOORWAY).unlink(missing_ok=True)


def configured(app: FastAPI, **more: Any) -> Any:
    """How uvicorn serves the studio."""
    quiet = {"log_level": "error", "access_log": False, "server_header": False, "proxy_headers": False, "ws": "none"}
    return uvicorn.Config(app, http=paced(), timeout_graceful_shutdown=2, **{**quiet, **more})


def serve(port: int = 0, *, show: bool = True, tell: Callable[[str], None] = print) -> None:
    """Run the studio until it is interrupted; a port of 0 is any free one."""
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
        with _own_folder() as place, _closed_in_time():
            if show:
                threading.Timer(0.5, open_doorway, [keys.address, place]).start()
            app = make_app(keys, release_room.Place(place, Path.cwd()))
            uvicorn.Server(configured(app)).run(sockets=[listening])
