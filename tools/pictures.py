"""The pictures of README and docs, made by the very lines that stand on their pages.

    python tools/pictures.py                      # make pictures: all of them, into docs/images
    python tools/pictures.py docs/howto/tables.md # those of one page

A page that shows images/NAME.svg saves NAME.svg in its own Python lines; one that shows images/NAME.png saves NAME.html, of which
Debian's Chromium takes the picture. Another page may show it again. The lines are run as tests/test_documentation.py runs them,
each page in an empty folder.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SHOWN = re.compile(r"!\[[^\]]+\]\((?:docs/|\.\./)?images/([\w-]+\.\w+)\)")
WIDTH, MOST = 760, 1100  # points of the screen: pages are cut off below, after a whole line
WHOLE = """most => [...document.querySelectorAll("p, li, tr, h2, h3, summary")]
    .map((block) => block.getBoundingClientRect().bottom).filter((end) => end < most)"""


def pages() -> dict[Path, list[str]]:
    """The pages that show pictures, with the names of these."""
    texts = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = {path: SHOWN.findall(path.read_text(encoding="utf-8")) for path in texts if "_build" not in path.parts}
    return {path: names for path, names in found.items() if names}


def make(path: Path, names: list[str]) -> None:
    """Run a page's lines, and keep the pictures that it shows and saves."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            failed = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
        finally:
            os.chdir(ROOT)
        if failed:
            raise SystemExit(f"{path.relative_to(ROOT)}: its lines do not run as they stand there.")
        for name in names:
            saved = Path(folder, name)
            if saved.suffix == ".png" and saved.with_suffix(".html").exists():
                shoot(saved.with_suffix(".html"), saved)
            if saved.exists():
                shutil.copyfile(saved, IMAGES / name)
                print(f"{name}: {saved.stat().st_size:,} bytes", flush=True)


def shoot(page: Path, out: Path) -> None:
    """A picture of the beginning of a page."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("The picture of a page needs Chromium: install Debian's package chromium.")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport={"width": WIDTH, "height": 100})
        shown.goto(page.as_uri())
        height = shown.evaluate("document.documentElement.scrollHeight")
        if height > MOST:
            height = max(shown.evaluate(WHOLE, MOST))
        shown.screenshot(path=str(out), full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
        browser.close()


def main(chosen: list[str]) -> None:
    """All pages, or those that are named."""
    IMAGES.mkdir(exist_ok=True)
    wanted = {Path(name).resolve() for name in chosen}
    for path, names in pages().items():
        if not wanted or path in wanted:
            make(path, names)
    missing = {name for names in pages().values() for name in names if not (IMAGES / name).exists()}
    if missing and not wanted:
        raise SystemExit(f"Shown, and saved by no page: {', '.join(sorted(missing))}.")


if __name__ == "__main__":
    main(sys.argv[1:])
