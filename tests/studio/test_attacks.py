"""A studio as it runs: floods, half uploads, many questions at once, and every way of ending it. Nothing stays behind."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet.studio import server
from discreet.studio.access import HEADER
from discreet.studio.server import MOST_WAITING

pytestmark = pytest.mark.skipif(os.name != "posix", reason="asks the system about processes")


class Running:
    """`discreet studio` in a process and a folder of its own, and a browser that was let in."""

    def __init__(self, folder: Path, *words: str, **settings: str) -> None:
        code = f"from discreet.cli import main; main(['studio', *{words or ('--no-open',)}])"
        with (folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=folder,
                env={**os.environ, "TMPDIR": str(folder), **settings},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        line = self.process.stdout.readline()
        self.folder, self.port = folder, int(re.search(r":(\d+)/", line)[1])
        self.key = line.strip().rsplit("#key=", 1)[1]

    def ask(self, method, path, body=None):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        own = {HEADER: self.key, "content-type": "application/json"}
        line.request(method, f"/{path}", body=body, headers=own)
        answer = line.getresponse()
        answer.read()
        line.close()
        return answer

    def begin(self, path, *headers):
        line = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        told = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"{HEADER}: {self.key}", *headers, "", ""]
        line.sendall("\r\n".join(told).encode())
        return line

    def kept(self):
        return list(self.folder.glob("discreet-studio-*/*/*"))

    def end(self, how):
        self.process.send_signal(how)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.stdout.close()


def until(true, seconds=60):
    """Whether it comes true; no test is decided by how soon."""
    limit = time.monotonic() + seconds
    while not true() and time.monotonic() < limit:
        time.sleep(0.02)
    return true()


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("studio"))
    yield running
    running.end(signal.SIGINT)
    assert not list(running.folder.glob("discreet-studio-*"))


@pytest.mark.parametrize("path", ["table", "reports", "mechanism"])
def test_a_gigabyte_is_cut_off_and_removed_whether_its_length_is_told_or_not(studio, path):
    with studio.begin(f"/api/upload/{path}", f"Content-Length: {2**30}") as line:
        assert b" 413 " in line.recv(100)
    block, limit = b"a" * 2**20, {"table": 256, "reports": 16, "mechanism": 32}[path]
    with studio.begin(f"/api/upload/{path}", "Transfer-Encoding: chunked") as line:
        for _ in range(limit + 1):
            line.sendall(b"100000\r\n" + block + b"\r\n")
        assert b" 413 " in line.recv(100)
    assert until(lambda: not studio.kept())
    assert studio.ask("GET", "choose").status == 200


def test_half_an_upload_is_removed_when_its_sender_goes(studio):
    with studio.begin("/api/upload/table", "Content-Length: 1000000") as line:
        line.sendall(b"abc")
        assert until(studio.kept)
    assert until(lambda: not studio.kept())


def closed(line):
    """Whether the other end has closed the connection."""
    line.setblocking(False)
    try:
        return line.recv(2**16) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_halves_of_requests_keep_nobody_waiting_and_are_not_kept(studio):
    """With the key and without, heads and bodies, more of them than may wait: the oldest go at once, the others soon."""
    slow = [studio.begin("/api/choose/faces", "Content-Length: 1000") for _ in range(MOST_WAITING // 2)]
    for k in range(2 * MOST_WAITING):
        slow.append(socket.create_connection(("127.0.0.1", studio.port), timeout=60))
        slow[-1].sendall(b"GET /choose HTTP/1.1\r\nHost: x"[: k % 30])
    assert studio.ask("GET", "choose").status == 200
    assert studio.ask("GET", "api/enter").status == 204
    assert until(lambda: all(map(closed, slow)))
    for line in slow:
        line.close()


def test_many_designs_at_once_leave_the_studio_awake(studio):
    """Two at a time, however many are asked for; the pages come as before."""
    found = []

    def one(k):
        body = {"n": 100, "alpha": f"{800 + k}/1000", "loss": "l2", "require": ["RH", "RM", "CH", "CM", "F", "WH", "S"]}
        found.append(studio.ask("POST", "api/choose/optimum", json.dumps(body)).status)

    threads = [threading.Thread(target=one, args=[k]) for k in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(found) <= {200, 422}  # a promise each; the oldest of too many are called off
    assert found.count(200) >= 64
    assert studio.ask("GET", "choose").status == 200
    told = Path(f"/proc/{studio.process.pid}/status")
    if told.exists():
        assert int(re.search(r"Threads:\s+(\d+)", told.read_text())[1]) < 60


@pytest.mark.long
def test_the_log_holds_nothing(studio):
    assert studio.ask("POST", "api/upload/table", b"a,b\n1,2\n").status == 200  # it goes when the studio is interrupted
    assert (studio.folder / "log").read_text() == ""


@pytest.mark.long
def test_no_command_line_holds_the_key_and_nothing_is_left_when_the_terminal_is_closed(tmp_path):
    """In place of a browser a script notes what it is called with: all users of the machine can read it. SIGHUP goes the way of
    SIGTERM. The file of a studio that was killed outright goes when the next one starts."""
    left = tmp_path / f"discreet-studio-{_ended_process()}-x" / "y"
    left.mkdir(parents=True)
    (left / "table.csv").write_text("private")
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$0" "$@" > "$TMPDIR/called.new" && mv "$TMPDIR/called.new" "$TMPDIR/called"\n')
    browser.chmod(0o700)
    running = Running(tmp_path, "--open", BROWSER=str(browser))
    assert until(lambda: not left.exists())
    assert until((tmp_path / "called").exists)
    (door,) = tmp_path.glob("discreet-studio-*/open.html")
    called = (tmp_path / "called").read_text().split()
    assert called == [str(browser), door.as_uri()]
    assert running.key not in "".join(called)
    assert running.key in door.read_text()
    assert (door.stat().st_mode & 0o777, door.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert running.ask("GET", "api/enter").status == 204
    assert not door.exists()  # it was used
    assert running.ask("POST", "api/upload/table", b"a,b\n1,2\n").status == 200
    (mine,) = running.kept()
    assert mine.stat().st_mode & 0o077 == 0 or mine.parent.stat().st_mode & 0o077 == 0
    running.end(signal.SIGHUP)
    assert not list(tmp_path.glob("discreet-studio-*"))
    assert "Traceback" not in (tmp_path / "log").read_text()


def _ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.long
def test_a_folder_that_goes_while_what_was_left_is_swept_stops_no_studio(tmp_path, monkeypatch):
    """Everybody may make folders of such names beside ours and take them away: another studio does, or another user."""
    monkeypatch.setattr(server.tempfile, "gettempdir", lambda: str(tmp_path))
    left, gone = tmp_path / f"{server._PREFIX}{2**22 + 1}-left", tmp_path / f"{server._PREFIX}{2**22 + 2}-gone"
    left.mkdir()
    monkeypatch.setattr(server.Path, "glob", lambda folder, pattern: iter([gone, left]))
    server._sweep()
    assert not left.exists()
