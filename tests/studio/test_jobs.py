"""All work is a job that ends when nobody waits for it: connections that are closed, pages that go on, names not yet known."""

from __future__ import annotations

import json
import re
import socket
import threading
from contextlib import closing

import pytest
import uvicorn
from fastapi.testclient import TestClient

from discreet.studio import choose_room, jobs
from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import configured, make_app

LONG = 60  # seconds until a test gives up; none of them is decided by a clock
ASKED = {"n": 6, "alpha": "1/2"}


class Endless:
    """In place of a design: it goes on until it is called off, or until the test lets it end."""

    def __init__(self):
        self.begun, self.stopped, self.enough = threading.Semaphore(0), threading.Semaphore(0), threading.Event()

    def __call__(self, *given, progress=None, **more):
        self.begun.release()
        step = 0
        try:
            while not self.enough.wait(0.005):
                step += 1
                if progress is not None:
                    progress(f"step {step}")
        except BaseException:
            self.stopped.release()
            raise
        raise AssertionError("nobody called it off")


@pytest.fixture
def endless(monkeypatch):
    made = Endless()
    monkeypatch.setattr(choose_room, "design", made)
    monkeypatch.setattr(choose_room, "_designs", {})
    yield made
    made.enough.set()


class Server:
    def __init__(self, folder):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.keys = Keys(self.listening.getsockname()[1])
        self.app = make_app(self.keys, Place(folder, folder))
        self.server = uvicorn.Server(configured(self.app, log_level="error"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True)
        self.thread.start()

    def sent(self, method, path, body=None, **headers):
        """A connection on which a whole question was sent."""
        text = b"" if body is None else json.dumps(body).encode()
        own = {
            "host": f"127.0.0.1:{self.keys.port}",
            HEADER: self.keys.secret,
            "content-length": len(text),
            "content-type": "application/json",
            **headers,
        }
        line = socket.create_connection(("127.0.0.1", self.keys.port), timeout=LONG)
        line.sendall(
            "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in own.items()), "", ""]).encode() + text
        )
        return line

    def end(self):
        self.server.should_exit = True
        self.thread.join(LONG)
        self.listening.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("studio"))
    yield running
    running.end()


def heard(line):
    """An answer to its end: all of them are one object in JSON."""
    text = b""
    while not text.endswith(b"}"):
        part = line.recv(2**16)
        assert part
        text += part
    return text.decode()


WAYS = [
    ("/api/choose/cell", {"mechanism": "optimum", "truth": 0, "report": 0}),
    ("/api/choose/file", {"mechanism": "optimum"}),
    ("/api/choose/optimum", {}),
]


@pytest.mark.parametrize(("path", "more"), WAYS, ids=[path for path, _ in WAYS])
def test_work_ends_when_the_connection_is_closed_that_asked_for_it(server, endless, monkeypatch, path, more):
    """Also before its name was told."""
    monkeypatch.setattr(jobs, "SOON", LONG)
    line = server.sent("POST", path, {**ASKED, **more})
    assert endless.begun.acquire(timeout=LONG)
    assert not endless.stopped.acquire(blocking=False)  # as long as somebody waits it goes on
    line.close()
    assert endless.stopped.acquire(timeout=LONG)


def test_work_ends_when_the_connection_is_closed_that_asks_for_it_again(server, endless, monkeypatch):
    monkeypatch.setattr(jobs, "_PATIENCE", 2 * LONG)  # that is another reason to end
    monkeypatch.setattr(jobs, "_ASK_AGAIN", LONG)
    with server.sent("POST", "/api/choose/optimum", ASKED) as line:
        name = re.search(r'"job":"([^"]+)"', heard(line))[1]
    assert endless.begun.acquire(timeout=LONG)
    line = server.sent("GET", f"/api/jobs/{name}")
    line.close()
    assert endless.stopped.acquire(timeout=LONG)


def test_work_ends_when_nobody_asks_for_it_again(server, endless, monkeypatch):
    monkeypatch.setattr(jobs, "_PATIENCE", 0.05)
    with server.sent("POST", "/api/choose/optimum", ASKED) as line:
        assert '"done":false' in heard(line)
    assert endless.stopped.acquire(timeout=LONG)


def test_what_was_abandoned_before_its_turn_is_not_begun(server, endless, monkeypatch):
    """Two work, and what a slider passed by in the meantime waits behind them."""
    monkeypatch.setattr(jobs, "SOON", LONG)
    first = [server.sent("POST", "/api/choose/optimum", {**ASKED, "n": n}) for n in (5, 6)]
    for _ in first:
        assert endless.begun.acquire(timeout=LONG)
    row = server.app.state.jobs._long
    passed = [server.sent("POST", "/api/choose/optimum", {**ASKED, "n": n}) for n in range(7, 20)]
    assert wait_for(lambda: row.waiting.qsize() == len(passed))
    waiting = list(server.app.state.jobs._jobs.values())[-len(passed) :]
    for line in passed:
        line.close()
    assert wait_for(lambda: all(job.off for job in waiting))
    for line in first:
        line.close()
    assert wait_for(lambda: all(job.ended.done() for job in waiting))
    assert not endless.begun.acquire(blocking=False)


def wait_for(true):
    pause = threading.Event()
    for _ in range(100 * LONG):
        if true():
            return True
        pause.wait(0.01)
    return False


@pytest.fixture
def guest(tmp_path):
    keys = Keys(7535)
    with closing(TestClient(make_app(keys, Place(tmp_path, tmp_path)), base_url="http://127.0.0.1:7535")) as client:
        client.headers[HEADER] = keys.secret
        yield client


NAMED = "0123456789abcdef-0123"


def test_a_page_names_its_work_and_calls_it_off_by_that_name(guest, endless):
    promise = guest.post("/api/choose/optimum", json=ASKED, headers={jobs.NAME: NAMED}).json()
    assert (promise["job"], promise["done"]) == (NAMED, False)
    assert endless.begun.acquire(timeout=LONG)
    assert guest.post(f"/api/jobs/{NAMED}/off").json()["told"] == "called off"
    assert endless.stopped.acquire(timeout=LONG)
    answer = guest.get(f"/api/jobs/{NAMED}")
    assert (answer.status_code, answer.json()["detail"]) == (422, "This was called off.")


def test_work_that_was_called_off_before_its_question_came_is_not_begun(guest, endless):
    """A page goes on while its question is still on its way."""
    assert guest.post(f"/api/jobs/{NAMED}/off").status_code == 200
    answer = guest.post("/api/choose/optimum", json=ASKED, headers={jobs.NAME: NAMED})
    assert (answer.status_code, answer.json()["detail"]) == (422, "This was called off.")
    assert not endless.begun.acquire(blocking=False)


def test_nobody_takes_the_name_of_other_work(guest, endless):
    for name in (NAMED, NAMED, "short", "x" * 65, "a b" * 8):
        assert not guest.post("/api/choose/optimum", json=ASKED, headers={jobs.NAME: name}).json()["done"]
    named = list(guest.app.state.jobs._jobs)
    assert named.count(NAMED) == 1
    assert not {"short", "x" * 65, "a b" * 8} & set(named)
    assert len(named) == 5


def test_what_is_quick_does_not_wait_for_what_is_long(guest, endless):
    for n in (35, 36, 37):  # of no other test, whose last threads may still keep what they designed
        assert not guest.post("/api/choose/optimum", json={**ASKED, "n": n}).json()["done"]
    assert guest.post("/api/choose/faces", json=ASKED).status_code == 200
