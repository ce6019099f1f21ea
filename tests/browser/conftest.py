"""A real browser, Debian's Chromium, on a real studio."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.studio.access import Keys
from discreet.studio.release_room import Place
from discreet.studio.server import bundle, configured, make_app


@dataclass
class Studio:
    """A studio that runs in a thread, the folder of its ledgers, and its browser."""

    keys: Keys
    folder: Path
    browser: Any
    place: Place

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.keys.port}"


@pytest.fixture(scope="package")  # while it is open, its event loop stands in the way of others
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs a browser: install Debian's package chromium")
    import uvicorn
    from playwright.sync_api import sync_playwright

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    keys, folder = Keys(listening.getsockname()[1]), tmp_path_factory.mktemp("ledgers")
    place = Place(tmp_path_factory.mktemp("uploads"), folder)
    server = uvicorn.Server(configured(make_app(keys, place), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    bundle()
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield Studio(keys, folder, browser, place)
        browser.close()
    server.should_exit = True
    thread.join(10)
    listening.close()


class Guest:
    """One page of the browser, which notes what goes wrong in it and what it asks for outside."""

    def __init__(self, studio: Studio, context: Any) -> None:
        self.studio, self.page = studio, context.new_page()
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.on(
            "request", lambda r: None if r.url.startswith((studio.address, "blob:")) else self.outside.append(r.url)
        )

    def go(self, room: str) -> Any:
        self.page.goto(f"{self.studio.address}/{room}")
        return self.page

    def painted(self, times: int = 1) -> None:
        self.page.wait_for_function(
            "times => Number(document.body?.dataset.painted) >= times", arg=times, timeout=30_000
        )


@pytest.fixture(params=[1280, 390], ids=["wide", "narrow"])
def guest(studio: Studio, request: pytest.FixtureRequest) -> Iterator[Guest]:
    context = studio.browser.new_context(
        viewport={"width": request.param, "height": 900},
        color_scheme="light" if request.param > 1000 else "dark",  # each look once
        accept_downloads=True,
    )
    context.add_init_script(f"localStorage.setItem('discreet-key', '{studio.keys.secret}')")
    guest = Guest(studio, context)
    yield guest
    assert not guest.errors
    assert not guest.outside
    context.close()
