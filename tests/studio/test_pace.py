"""Connections that wait for their client: each must go on at a pace, and the oldest of too many goes. No clock decides here."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn
from uvicorn.server import ServerState

from discreet.studio.server import PACE, paced

HEAD = b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"
GET = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n"


class Wire:
    """A transport that notes whether it was given up. `unsent` is what the client did not read yet."""

    def __init__(self):
        self.gone, self.unsent = False, 0

    def abort(self):
        self.gone = True

    close = abort

    def is_closing(self):
        return self.gone

    def get_write_buffer_size(self):
        return self.unsent

    def get_extra_info(self, name, default=None):
        return default

    def write(self, data):
        pass

    def pause_reading(self):
        pass

    resume_reading = pause_reading


class Server:
    """Protocols without sockets, whose timers never fire: a test looks at them itself."""

    def __init__(self, answers=True, most=4):
        self.made, self.working = paced(most, 1e9), asyncio.Event()

        async def app(scope, receive, send):
            if not answers:
                while (await receive()).get("more_body"):
                    pass
                await self.working.wait()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

        self.config = uvicorn.Config(app, log_level="critical")
        self.state = ServerState()

    async def connect(self, *parts):
        line = self.made(self.config, self.state, {})
        line.connection_made(Wire())
        await self.send(line, *parts)
        return line

    async def send(self, line, *parts):
        for part in parts:
            line.data_received(part)
            for _ in range(5):
                await asyncio.sleep(0)  # the application has its turn


@pytest.mark.parametrize(
    "sent", [[], [b"GET"], [GET[:-1]], [HEAD], [HEAD, b"abc"]], ids=["none", "word", "head", "body", "part"]
)
@pytest.mark.parametrize("answers", [True, False])
def test_whoever_stops_halfway_is_given_up_and_whoever_goes_on_is_not(sent, answers):
    async def test():
        server = Server(answers)
        line = await server.connect(*sent)
        if HEAD in sent and not answers:
            await server.send(line, b"a" * (PACE // 2), b"a" * (PACE // 2))
            line._look()
            assert not line.transport.gone
            await server.send(line, b"a" * (PACE - 1))
        line._look()
        assert line.transport.gone
        assert not server.made.waiting

    asyncio.run(test())


def test_whoever_waits_for_the_studio_is_not_given_up():
    async def test():
        server = Server(answers=False)
        line = await server.connect(GET)
        for _ in range(3):
            line._look()
        assert not line.transport.gone
        assert not server.made.waiting
        server.working.set()
        while not line.cycle.response_complete:
            await asyncio.sleep(0)
        assert list(server.made.waiting) == [line]

    asyncio.run(test())


def test_whoever_does_not_read_the_answer_is_given_up():
    async def test():
        line = await Server().connect(GET)
        line.transport.unsent = 10 * PACE
        line._begin()
        line.transport.unsent = 9 * PACE
        line._look()
        assert not line.transport.gone
        line.transport.unsent = 8 * PACE + 1
        line._look()
        assert line.transport.gone

    asyncio.run(test())


def test_the_oldest_of_too_many_goes_and_none_that_the_studio_works_for():
    async def test():
        server = Server(answers=False)
        working = [await server.connect(GET) for _ in range(10)]
        half = [await server.connect(GET[:9]) for _ in range(7)]
        assert [line.transport.gone for line in half] == [True] * 3 + [False] * 4
        late = await server.connect(GET)
        assert not any(line.transport.gone for line in [*working, late])
        assert len(server.made.waiting) == 3
        server.working.set()

    asyncio.run(test())
