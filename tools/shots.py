"""Pictures of every room and state of the studio, at the width of a desk and of a phone, in the light and in the dark.

    python tools/shots.py docs/shots              # make shots: all of them
    python tools/shots.py out --only release      # one room, to look at while it is changed

It needs Debian's Chromium, and walks through the rooms as a person does, with the made-up town.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import tempfile
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
Shoot = Callable[[str], None]
SHRINK = (Path(__file__).parent / "shrink.js").read_text(encoding="utf-8")


@contextmanager
def studio() -> Iterator[Any]:
    """A studio of its own; its keys."""
    import uvicorn

    from discreet.studio.access import Keys
    from discreet.studio.collude_room import _learnt
    from discreet.studio.release_room import Place
    from discreet.studio.server import bundle, configured, make_app

    _learnt.cache_clear()  # else what takes long the first time is there at once the third time, and cannot be called off
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listening:
        uploads, ledgers = Path(folder) / "uploads", Path(folder) / "ledgers"
        uploads.mkdir()
        ledgers.mkdir()
        listening.bind(("127.0.0.1", 0))
        keys = Keys(listening.getsockname()[1])
        server = uvicorn.Server(configured(make_app(keys, Place(uploads, ledgers)), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        bundle()
        try:
            yield keys
        finally:
            server.should_exit = True
            thread.join(10)


def release(page: Any, shoot: Shoot) -> None:
    """From the made-up town to its page, and what stands there on the way."""
    page.wait_for_selector("body[data-ready]")
    shoot("1-nothing-yet")
    page.click("[data-example]")
    page.wait_for_selector("#findings .problem")
    shoot("2-cannot-be-read")
    for label in ("Read with ; (semicolon)", "Read as Latin-1", "Decimal comma"):
        page.get_by_role("button", name=label).first.click()
        page.wait_for_function(
            "told => ![...document.querySelectorAll('.mend button')].some((b) => b.textContent === told)", arg=label
        )
    page.get_by_role("button", name="k.A. is missing").wait_for()
    shoot("3-findings")
    page.get_by_role("button", name="k.A. is missing").click()
    page.wait_for_selector("#findings .fine")
    page.click("#file-done")
    page.wait_for_selector("#meaning .said")
    page.fill("[name=budget]", "2x")
    page.wait_for_selector("#meaning .wrong")
    shoot("4-budget-wrong")
    page.fill("[name=budget]", "2")
    page.wait_for_selector("#meaning .said")
    page.locator("#many > summary").click()
    page.wait_for_selector("#tables-chart canvas")
    page.wait_for_timeout(300)
    shoot("5-budget")
    page.locator("#many > summary").click()
    page.click("#budget-done")
    page.wait_for_selector("dialog")
    shoot("6-budget-for-good")
    page.get_by_role("button", name="Open it, for good").click()
    page.wait_for_selector("#step-3[data-state=open]")
    shoot("7-question")
    page.fill(".expression", "asthma = ")
    page.click("#question-done")
    page.wait_for_selector("#step-3 .wrong")
    shoot("8-question-wrong")
    page.fill(".expression", "asthma = 'Yes'")
    page.click("#question-done")
    page.wait_for_selector("#mistakes")
    page.wait_for_selector("#curve canvas")
    page.wait_for_timeout(300)
    shoot("9-preview-mistake")
    page.get_by_role("button", name="Correct the question").click()
    page.fill(".expression", "asthma = 'yes'")
    page.click("#question-done")
    page.wait_for_selector("#preview .fine")
    page.wait_for_selector("#curve canvas")
    page.wait_for_timeout(300)
    shoot("10-preview")
    page.click("#preview-done")
    page.click("#pay")
    page.wait_for_selector("dialog")
    shoot("11-pay")
    page.locator("dialog .main").click()
    page.wait_for_selector("#made h3")
    page.wait_for_function("() => document.querySelector('.result')?.shadowRoot?.querySelector('table')")
    shoot("12-published")


def choose(page: Any, shoot: Shoot) -> None:
    """Six mechanisms, small and large, an error, a design that takes long and is called off, and every number as a table."""
    page.wait_for_function("() => Number(document.body.dataset.painted) >= 6")
    shoot("1-six")
    page.locator("#face-geometric .term").focus()
    shoot("2-a-term")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Use the example").click()
    page.wait_for_selector("#face-optimum canvas[aria-label*='21 truths']")
    page.locator("#face-explicit_fair .heat").focus()
    for key in ("Home", "PageDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_selector("#told-table td")
    shoot("3-example")
    page.fill("#level [name=alpha]", "7/2")
    page.wait_for_selector("#level .wrong")
    shoot("4-error")
    page.fill("#level [name=epsilon]", "1")
    page.select_option("[name=loss]", "l2")
    page.locator("#sliders [name=n]").fill("50")
    page.wait_for_selector("#face-uniform[data-state=fresh]")
    page.wait_for_selector("#face-optimum[data-state=computing] .state button:visible")
    shoot("5-being-designed")
    page.locator("#face-optimum .state button").click()
    page.wait_for_selector("#face-optimum[data-state=late]")
    shoot("6-called-off")
    page.uncheck("[name=require][value=WH]")
    page.uncheck("[name=require][value=CM]")
    page.select_option("[name=loss]", "l1")
    page.wait_for_selector("#face-optimum[data-state=fresh]")
    page.check("#bent")
    shoot("7-fifty")
    page.locator("#matrix summary").click()
    page.wait_for_selector("#matrix-table td")
    shoot("8-as-a-table")


def recover(page: Any, shoot: Shoot) -> None:
    """Both examples, and what stands there where something is not as it should be."""
    page.wait_for_selector("body[data-ready]")
    shoot("1-nothing-yet")
    page.click("[data-example=numbers]")
    page.wait_for_selector("#go:not([aria-disabled=true])")
    two = b"".join(b"%d,%d\n" % (k, 15 + k * k % 40) for k in range(200))
    page.set_input_files("#reports-file", {"name": "survey.csv", "mimeType": "text/csv", "buffer": b"id,age\n" + two})
    page.wait_for_selector("#columns:visible")
    shoot("2-two-columns-asked")
    page.click("[data-example=numbers]")
    _painted(page, 1)
    shoot("3-numbers")
    page.get_by_label("epsilon", exact=True).fill("1/10")
    page.click("#make")
    page.wait_for_selector("#go:not([aria-disabled=true])")
    shoot("4-out-of-date")
    _painted(page, 2)
    shoot("5-misfit")
    page.set_input_files("#reports-file", {"name": "x.csv", "mimeType": "text/csv", "buffer": b"age\n20\n1000\n"})
    page.wait_for_selector("#reports .wrong")
    shoot("6-reports-wrong")
    page.click("[data-example=categories]")
    page.wait_for_selector("#columns:visible")
    _painted(page, 3)
    shoot("7-categories-by-group")


def _painted(page: Any, times: int) -> None:
    """Recover, and wait for the pictures."""
    page.wait_for_selector("#go:not([aria-disabled=true])")
    page.click("#go")
    page.wait_for_function("times => Number(document.body.dataset.painted) >= times", arg=times)
    page.wait_for_timeout(300)


def collude(page: Any, shoot: Shoot) -> None:
    """What users learn, an error at its audience, work that takes long and is called off, and the example as a table."""
    page.wait_for_function("() => Number(document.body.dataset.painted) >= 1")
    page.wait_for_selector("#cascade td")
    shoot("1-curves")
    page.get_by_role("textbox", name="epsilon of audience 2").fill("3x")
    page.wait_for_selector("#levels .wrong")
    shoot("2-error")
    page.get_by_role("textbox", name="epsilon of audience 2").fill("1")
    page.fill("#level [name=epsilon]", "1/10")
    page.locator("[name=most]").fill("51")
    page.locator("#sliders [name=n]").fill("50")
    page.wait_for_selector("#shared[data-state=computing] .state button:visible")
    shoot("3-being-computed")
    page.locator("#shared .state button").click()
    page.wait_for_selector("#shared[data-state=late]")
    shoot("4-called-off")
    page.get_by_role("button", name="Use the example").click()
    page.wait_for_selector("#shared[data-state=fresh]")
    page.locator("#as-table summary").click()
    shoot("5-as-a-table")


ROOMS = {"release": release, "choose": choose, "recover": recover, "collude": collude}


def shots(out: Path, rooms: Sequence[str], widths: Sequence[int], schemes: Sequence[str]) -> list[Path]:
    """Pictures of these rooms, written to a folder."""
    from playwright.sync_api import sync_playwright

    out.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        blank = browser.new_page()
        for width, scheme, room in product(widths, schemes, rooms):
            with studio() as keys:
                context = browser.new_context(
                    viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
                )
                context.add_init_script(f"localStorage.setItem('discreet-key', '{keys.secret}')")
                page = context.new_page()
                page.set_default_timeout(60_000)
                page.goto(f"http://127.0.0.1:{keys.port}/{room}")

                def shoot(state: str, page: Any = page, named: str = f"{width}-{scheme}", of: str = room) -> None:
                    path = out / f"{of}-{state}-{named}.png"
                    page.wait_for_timeout(200)
                    if of in ("choose", "collude"):
                        page.evaluate(
                            "() => scrollTo(0, 0)"
                        )  # what stays in view stands at its place in the whole page
                    taken = page.screenshot(full_page=page.locator("dialog").count() == 0)
                    path.write_bytes(b64decode(blank.evaluate(SHRINK, b64encode(taken).decode())))
                    made.append(path)

                ROOMS[room](page, shoot)
                context.close()
        browser.close()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=ROOMS)
    parser.add_argument("--width", type=int, choices=WIDTHS)
    parser.add_argument("--scheme", choices=SCHEMES)
    given = parser.parse_args()
    widths, schemes = [given.width] if given.width else WIDTHS, [given.scheme] if given.scheme else SCHEMES
    for path in shots(given.out, [given.only] if given.only else list(ROOMS), widths, schemes):
        print(f"{path}: {path.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
