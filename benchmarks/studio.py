"""How soon the studio answers a slider, and how soon Chromium has painted it.

Usage: python benchmarks/studio.py [--rounds 12]

A studio runs in a thread; every round asks for a level that was not asked for before, so that nothing is kept from an earlier
one. Painted is what a person waits for: from the move of the slider until all six pictures and the best design are on the
screen, measured in the page. Beside a design: while the studio designs another optimum that takes
seconds. It needs Debian's package chromium; without it only answers are timed.

Writes results/studio.json and results/studio.md beside this file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import _machine
import _page
import uvicorn

from discreet.studio.access import HEADER, Keys
from discreet.studio.release_room import Place
from discreet.studio.server import bundle, configured, make_app

RESULTS = _page.FOLDER
ANSWER, PAINT = 0.150, {8: 0.200, 20: 0.200, 50: 0.600}  # seconds that are allowed
_MOVE = """([n, alpha]) => new Promise((done) => {
  const form = document.querySelector("#sliders"), start = performance.now();
  document.body.dataset.painted = 0;
  form.n.value = n; form.alpha.value = alpha;
  form.n.dispatchEvent(new Event("input", { bubbles: true }));
  const all = () => Number(document.body.dataset.painted) >= 6;
  const look = () => all() ? done((performance.now() - start) / 1000) : requestAnimationFrame(look);
  look();
})"""


@dataclass(frozen=True)
class Row:
    """One line of the results, in seconds."""

    case: str
    best: float
    median: float
    asked: float | None

    @property
    def met(self) -> str:
        return (
            ""
            if self.asked is None
            else "yes"
            if self.median < self.asked
            else "at best"
            if self.best < self.asked
            else "no"
        )


@contextmanager
def studio() -> Iterator[Keys]:
    """A studio in a thread."""
    with tempfile.TemporaryDirectory() as name, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        keys = Keys(listening.getsockname()[1])
        server = uvicorn.Server(configured(make_app(keys, Place(Path(name), Path(name))), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        bundle()
        while not server.started:
            time.sleep(0.05)
        yield keys
        server.should_exit = True
        thread.join(10)


def timed(case: str, task: Callable[[int], float], rounds: int, asked: float | None) -> Row:
    """The best and the median of some rounds, after one that does not count."""
    times = [task(turn) for turn in range(rounds + 1)][1:]
    return Row(case, min(times), statistics.median(times), asked)


@contextmanager
def designing(keys: Keys) -> Iterator[None]:
    """Optima that take seconds each, one after another, asked for by somebody else meanwhile."""
    over, own = threading.Event(), {HEADER: keys.secret, "content-type": "application/json"}

    def ask(line: http.client.HTTPConnection, method: str, path: str, body: str | None = None) -> Any:
        line.request(method, path, body=body, headers=own)
        return json.loads(line.getresponse().read())

    def work() -> None:
        line, turn = http.client.HTTPConnection("127.0.0.1", keys.port), 0
        while not over.is_set():
            turn += 1
            settings = {"n": 50, "alpha": f"{370 - turn}/1009", "loss": "l2", "prior": "binomial(0.2)"}
            promise = ask(line, "POST", "/api/choose/optimum", json.dumps({**settings, "require": ["WH", "CM"]}))
            while not promise.get("done", True) and not over.is_set():
                promise = ask(line, "GET", f"/api/jobs/{promise['job']}")
        if not promise.get("done", True):
            ask(line, "POST", f"/api/jobs/{promise['job']}/off")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    time.sleep(0.5)
    yield
    over.set()
    thread.join(30)


def answers(keys: Keys, rounds: int) -> list[Row]:
    """Questions to the server, over one connection as a browser has it."""
    line = http.client.HTTPConnection("127.0.0.1", keys.port)
    own = {HEADER: keys.secret, "content-type": "application/json"}

    def asking(path: str, n: int, **more: Any) -> Callable[[int], float]:
        def one(turn: int) -> float:
            body = json.dumps({"n": n, "alpha": f"{900 - turn}/1001", **more})
            start = time.perf_counter()
            line.request("POST", path, body=body, headers=own)
            line.getresponse().read()
            return time.perf_counter() - start

        return one

    rows = [
        timed(
            f"the five known mechanisms, n = {n}: the answer", asking("/api/choose/faces", n, loss="l1"), rounds, ANSWER
        )
        for n in (8, 20, 50)
    ]
    for require in ([], ["WH", "CM"]):
        told = f"the best of n = 50{', with WH and CM' if require else ''}: the answer or a promise"
        rows.append(timed(told, asking("/api/choose/optimum", 50, loss="l1", require=require), rounds, ANSWER))
    rows.append(
        timed("11 users who share, n = 20: the answer or a promise", asking("/api/collude/shared", 20), rounds, ANSWER)
    )
    with designing(keys):
        rows += [
            timed(
                f"the five, n = {n}, beside a design: the answer",
                asking("/api/choose/faces", n, loss="l2"),
                rounds,
                ANSWER,
            )
            for n in (20, 50)
        ]
    return rows


def paintings(keys: Keys, rounds: int, chromium: str) -> list[Row]:
    """Moves of the slider in a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(keys.address)
        page.wait_for_function("() => Number(document.body.dataset.painted) >= 6")
        rows = [
            timed(
                f"n = {n}: all six painted",
                lambda turn, n=n: page.evaluate(_MOVE, [n, f"{800 - turn}/1003"]),
                rounds,
                bar,
            )
            for n, bar in PAINT.items()
        ]
        with designing(keys):
            rows += [
                timed(
                    f"n = {n}: all six painted, beside a design",
                    lambda turn, n=n: page.evaluate(_MOVE, [n, f"{700 - turn}/1003"]),
                    rounds,
                    PAINT[n],
                )
                for n in (20, 50)
            ]
        browser.close()
    return rows


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="How soon the studio answers and paints.")
    parser.add_argument("--rounds", type=int, default=12, help="timed rounds of each case")
    rounds = parser.parse_args().rounds
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    chromium = shutil.which("chromium")
    with studio() as keys:
        rows = answers(keys, rounds)
        rows += paintings(keys, rounds, chromium) if chromium else []
    about = (
        f"{datetime.now(UTC).date().isoformat()}, Python {platform.python_version()}, {_machine.cpu_model()}, "
        f"{os.cpu_count()} cores, load {load} at the start. {rounds} rounds of each case, each at a level of "
        "its own. Met: the median is below what is asked for; at best: the quickest round is."
    )
    heading = ["| case | best, ms | median, ms | asked, ms | met |", "|---|--:|--:|--:|---|"]
    lines = ["# The studio", "", about, "", *heading]
    for row in rows:
        asked = "" if row.asked is None else f"under {1000 * row.asked:.0f}"
        lines.append(f"| {row.case} | {1000 * row.best:.0f} | {1000 * row.median:.0f} | {asked} | {row.met} |")
    print("\n".join(lines))
    _page.keep(
        __file__,
        [
            _page.Line(
                f"studio: {row.case}",
                f"{_page.seconds(row.median)}, best {_page.seconds(row.best)}",
                bar="" if row.asked is None else f"under {_page.seconds(row.asked)}",
                met=None if row.asked is None else row.median < row.asked,
            )
            for row in rows
        ],
    )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "studio.json").write_text(
        json.dumps({"about": about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n"
    )
    (RESULTS / "studio.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
