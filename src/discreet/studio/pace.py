"""Connections that wait for their client are few and do not wait for long: nobody keeps the studio busy with halves of requests.

uvicorn gives up a connection that is idle between two requests, and no other. Here one that waits for its client, for the rest of
a request or for an answer to be taken, must go on at a pace; and where too many wait, the oldest goes: whoever sends a
request as a whole is not turned away for the sake of those who do not.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 128
WINDOW = 5.0  # seconds
PACE = 2**16  # bytes in each window


class Paced(H11Protocol):
    """uvicorn's own reading of HTTP, watched."""

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


def paced(most: int = MOST, window: float = WINDOW) -> type[Any]:
    """The protocol of one server."""
    return type("PacedHere", (Paced,), {"waiting": {}, "most": most, "window": window})
