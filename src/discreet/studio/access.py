"""Who may talk to the studio: the pages of this machine's own browser that were handed the key, and nobody else.

A page anywhere can make a browser send requests to 127.0.0.1, any name can be made to lead there, and a browser sends cookies
to every port of a machine, so to every other server on it. So the Host must be ours, an Origin must be ours, there is no
cookie, and every question carries a key in a header: made anew at each start, handed over in the fragment of the first
address, which no browser sends, and kept by the page, for its own port alone. Pages, scripts and styles are the same for all
and need none. Bodies are counted as they come in: whoever sends too much is cut off.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import traceback
from dataclasses import dataclass, field
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from .rooms import ROOMS, notice

MOST_BODY = 2**20  # of a question; what is dropped into the studio has limits of its own
_UPLOADS = {
    "/api/upload/table": 2**28,
    "/api/upload/codes": 2**22,
    "/api/upload/reports": 2**24,
    "/api/upload/mechanism": 2**25,
}
HEADER = "x-discreet-key"
_PAGES = {"/", *(f"/{room.name}" for room in ROOMS)}
_LOG = logging.getLogger(__name__)

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in (
        ("content-security-policy", _POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    )
)


@dataclass(frozen=True)
class Keys:
    """The key of one studio, and the address that hands it over."""

    port: int
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def address(self) -> str:
        """The first address. What stands behind # is for the page: it is neither sent nor logged."""
        return f"http://127.0.0.1:{self.port}/{ROOMS[0].name}#key={self.secret}"

    def opens(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self.secret.encode())


class TooLarge(HTTPException):
    """A body beyond its limit: an answer of its own, which no reader of bodies takes for a body that it cannot parse."""

    def __init__(self, most: int) -> None:
        super().__init__(413, _too_large(most))


def _too_large(most: int) -> str:
    return f"That is more than {most // 2**20} MB; use the command line for larger files."


class Guard:
    """Every request passes here first, and every answer last."""

    def __init__(self, app: Any, keys: Keys) -> None:
        self.app, self.keys = app, keys
        self._host = f"127.0.0.1:{keys.port}".encode()  # localhost may lead to another address, where others can listen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused, begun = self._refused(scope), False
        if refused is not None:
            await _answer(send, *refused, page=read_by_a_person(scope))
            return

        async def sent(message: Any) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message["headers"] if name.lower() not in dict(_HEADERS)]
                message = {**message, "headers": [*kept, *_HEADERS]}
            await send(message)

        try:
            await self.app(scope, _counted(receive, _most(scope["path"])), sent)
        except ClientDisconnect:
            return
        except (
            Exception
        ) as error:  # the words of other libraries may quote what is private: they are neither sent nor logged
            place = traceback.extract_tb(error.__traceback__)[-1]
            _LOG.error("%s in %s, line %s", type(error).__name__, place.name, place.lineno)
            if not begun:
                await _answer(send, 500, "The studio made a mistake with this; try the same on the command line.")

    def _refused(self, scope: Any) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        path, given = scope["path"], headers.get(HEADER.encode(), [])
        if headers.get(b"host") != [self._host]:
            return 421, "The studio answers to 127.0.0.1 alone; open the address that discreet studio printed."
        # an address may be opened from elsewhere, such as a file: the page that comes tells nothing without the key
        typed = path in _PAGES and headers.get(b"sec-fetch-mode") == [b"navigate"]
        if any(origin != b"http://" + self._host for origin in headers.get(b"origin", [])) or any(
            site not in (b"same-origin", b"none") for site in headers.get(b"sec-fetch-site", []) if not typed
        ):
            return 403, "The studio answers its own pages alone."
        known = len(given) == 1 and self.keys.opens(given[0])
        if not known and not (scope["method"] in ("GET", "HEAD") and is_open(path)):
            if read_by_a_person(scope) and not path.startswith("/api"):
                return 404, NO_PAGE
            return 401, "Only the studio's own pages get an answer here. Open the address that discreet studio printed."
        lengths = headers.get(b"content-length", [])
        most = _most(path)
        if any(not text.isdigit() or int(text[:20]) > most for text in lengths):
            return 413, _too_large(most)
        return None


NO_PAGE = "There is no page at this address."


def is_open(path: str) -> bool:
    """Whether it is the same for everybody: a page without its content, or a file that comes with the package."""
    return path in _PAGES or path == "/vega.js" or path.startswith("/static/")


def read_by_a_person(scope: Any) -> bool:
    """Whether a browser asks for a page to show: then a refusal is a page too."""
    return any(name.lower() == b"accept" and b"text/html" in value for name, value in scope["headers"])


def _most(path: str) -> int:
    return _UPLOADS.get(path, MOST_BODY)


def _counted(receive: Any, most: int) -> Any:
    read = 0

    async def counted() -> Any:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            raise TooLarge(most)
        return message

    return counted


async def _answer(send: Any, status: int, sentence: str, page: bool = False) -> None:
    """A sentence: as JSON, or for whoever typed an address, to be read."""
    kind, body = b"application/json", json.dumps({"detail": sentence})
    if page:
        kind, body = b"text/html; charset=utf-8", notice(sentence)
    length = str(len(body.encode())).encode()
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", kind), (b"content-length", length), *_HEADERS],
        }
    )
    await send({"type": "http.response.body", "body": body.encode()})
