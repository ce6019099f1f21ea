"""Who may talk to the studio: this machine's own browser, after it showed the token of the first address, and nobody else.

A page anywhere can make a browser send requests to 127.0.0.1, and any name can be made to lead there. So the Host must be
ours, an Origin must be ours, and every request but the first carries a cookie that no other site can send (SameSite=Strict)
and no script can read (HttpOnly). Bodies are counted as they come in: whoever sends too much is cut off.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
import traceback
from dataclasses import dataclass, field
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

MOST_BODY = 2**20  # of a question; what is dropped into the studio has limits of its own
_UPLOADS = {"/api/upload/table": 2**28, "/api/upload/reports": 2**24, "/api/upload/mechanism": 2**25}
ENTRANCE = "/enter"
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


@dataclass
class Keys:
    """The token of the first address, which opens once, and the cookie that it is exchanged for."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _used: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def name(self) -> str:
        """Of the cookie. A browser sends cookies to all ports of a machine: each studio has its own."""
        return f"discreet-studio-{self.port}"

    @property
    def address(self) -> str:
        """The first address, with the token."""
        return f"http://127.0.0.1:{self.port}{ENTRANCE}?token={self.token}"

    def exchange(self, token: str) -> str | None:
        """The cookie for the token, once."""
        with self._lock:
            if self._used or not _same(token, self.token):
                return None
            self._used = True
            return self.cookie


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
        names = (f"127.0.0.1:{keys.port}", f"localhost:{keys.port}")
        self._hosts = {name.encode() for name in names}
        self._origins = {f"http://{name}".encode() for name in names}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused, begun = self._refused(scope), False
        if refused is not None:
            wanted = b"".join(value for name, value in scope["headers"] if name.lower() == b"accept")
            await _answer(send, *refused, page=b"text/html" in wanted)
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
        except Exception as error:  # the words of other libraries may quote what is private: they are neither sent nor logged
            place = traceback.extract_tb(error.__traceback__)[-1]
            _LOG.error("%s in %s, line %s", type(error).__name__, place.name, place.lineno)
            if not begun:
                await _answer(send, 500, "The studio made a mistake with this; try the same on the command line.")

    def _refused(self, scope: Any) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "The studio answers to 127.0.0.1 and localhost alone; open the address that discreet studio printed."
        if any(origin not in self._origins for origin in headers.get(b"origin", [])) or any(
            site not in (b"same-origin", b"none") for site in headers.get(b"sec-fetch-site", []) if scope["path"] != ENTRANCE
        ):
            return 403, "The studio answers its own pages alone."
        if scope["path"] != ENTRANCE and not self._known(headers):
            return 401, "Open the address that discreet studio printed: it lets this browser in, once. Start it again for another."
        lengths = headers.get(b"content-length", [])
        most = _most(scope["path"])
        if any(not text.isdigit() or int(text[:20]) > most for text in lengths):
            return 413, _too_large(most)
        return None

    def _known(self, headers: dict[bytes, list[bytes]]) -> bool:
        for text in headers.get(b"cookie", []):
            try:
                morsel = SimpleCookie(text.decode("latin-1")).get(self.keys.name)
            except CookieError:
                continue
            if morsel is not None and _same(morsel.value, self.keys.cookie):
                return True
        return False


def _most(path: str) -> int:
    return _UPLOADS.get(path, MOST_BODY)


def _same(given: str, own: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), own.encode())


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
        title = "<title>discreet studio</title>"
        kind, body = b"text/html; charset=utf-8", f"<!doctype html><html lang=en>{title}<p>{escape(sentence)}"
    length = str(len(body.encode())).encode()
    await send({"type": "http.response.start", "status": status,
                "headers": [(b"content-type", kind), (b"content-length", length), *_HEADERS]})  # fmt: skip
    await send({"type": "http.response.body", "body": body.encode()})
