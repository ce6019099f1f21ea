"""The documentation as a site: it builds without a warning, asks for nothing outside, and its page of commands is current."""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "-q",
            "-b",
            "html",
            "-d",
            str(out / "trees"),
            str(ROOT / "docs"),
            str(out / "html"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return out / "html"


@pytest.mark.outside("site")
def test_every_page_is_reached_from_the_first(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"search.html"}
    texts = [p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")]
    written = {p.with_suffix(".html").as_posix() for p in texts if "_build" not in p.parts}
    assert pages == written
    reached, ahead = {"index.html"}, ["index.html"]
    while ahead:
        page = ahead.pop()
        text = (site / page).read_text(encoding="utf-8")
        for target in re.findall(r'href="([^"#:]+\.html)', text):
            linked = (site / page).parent.joinpath(target).resolve()
            if linked.exists() and (name := linked.relative_to(site.resolve()).as_posix()) not in reached:
                reached.add(name)
                ahead.append(name)
    assert pages <= reached


@pytest.mark.outside("site")
def test_nothing_is_loaded_from_outside(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="([^"]+)"', path.read_text(encoding="utf-8"))
        assert not [target for target in loaded if "://" in target or target.startswith("//")], path.name
    assert (site / "_static" / "tex-svg.js").stat().st_size > 10**6


def broken(folder: Path) -> set[tuple[str, str]]:
    """The links within a site, files and places in them, that lead nowhere."""
    texts = {path.resolve(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    found = set()
    for path, text in texts.items():
        for target in re.findall(r'<(?:a|img|script|link)\b[^>]*?\b(?:href|src)="([^"]+)"', text):
            file, _, place = unquote(html.unescape(target)).partition("#")
            if ":" in file or target == "#":
                continue
            linked = path.parent.joinpath(file.partition("?")[0]).resolve() if file else path
            if not linked.exists() or (place and linked in ids and place not in ids[linked]):
                found.add((path.name, target))
    return found


def test_a_broken_link_is_noticed(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="#here">1</a><a href="#gone">2</a><a href="b.html">3</a><a class="x" href="a.html#here">4</a>',
        encoding="utf-8",
    )
    assert broken(tmp_path) == {("a.html", "#gone"), ("a.html", "b.html")}


@pytest.mark.outside("site")
def test_links_and_anchors_lead_somewhere(site):
    assert not broken(site)


@pytest.mark.outside("site")
def test_search_and_copying_work_without_a_server(site):
    """As files: whoever searches for others' words finds the glossary, and a click copies what one would type."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs a browser: install Debian's package chromium")
    with ThreadPoolExecutor(1) as thread:
        found, copied = thread.submit(_searched, chromium, site, ["unbounded", "zcdp", "ldp", "accountant"]).result()
    for word, pages in found.items():
        assert any("glossary.html" in page for page in pages), word
    assert copied.startswith("import discreet as dt\npeople = {")
    assert ">>>" not in copied


def _searched(chromium, site, words):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page, found = browser.new_page(), {}
        for word in words:
            page.goto(f"{(site / 'search.html').as_uri()}?q={word}")
            page.wait_for_selector("#search-results p:has-text('Search finished')")  # entries come one by one
            found[word] = [link.get_attribute("href") for link in page.locator("#search-results li a").all()]
        page.goto((site / "index.html").as_uri())
        page.evaluate("copy = async (text) => { window.copied = text; }")
        page.locator("#a-first-release button.copy").click()
        copied = page.evaluate("window.copied")
        browser.close()
    return found, copied


def test_the_page_of_commands_is_current():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference.commands(), "run `make readme`"


@pytest.mark.outside("site")
def test_a_browser_shows_the_mathematics_and_asks_for_nothing_outside(site, tmp_path):
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs a browser: install Debian's package chromium")
    pages = [path for path in sorted(site.rglob("*.html")) if 'class="math' in path.read_text(encoding="utf-8")]
    assert {"fair.html", "geometric.html", "recovery.html"} <= {path.name for path in pages}
    control = tmp_path / "control.html"
    control.write_text(
        "<img src='http://127.0.0.1:9/picture.png'><script>throw new Error('seen')</script>", encoding="utf-8"
    )
    with ThreadPoolExecutor(1) as thread:  # a thread of its own: another test may have a browser open in this one
        found = thread.submit(_looked_at, chromium, [control, site / "index.html", *pages]).result()
    formulas, faults, asked = found.pop(control)
    assert (formulas, faults, asked[1:]) == (0, ["seen"], ["http://127.0.0.1:9/picture.png"])
    for path, (formulas, faults, asked) in found.items():
        assert not [url for url in asked if not url.startswith(("file://", "data:"))], path
        assert not faults, path
        assert formulas or path.name == "index.html"


def _looked_at(chromium, paths):
    """For each page: how many formulas it shows, what went wrong in it, and what it asked for."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = {}
    with playwright.sync_playwright() as play:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = play.chromium.launch(executable_path=chromium, args=flags)
        for path in paths:
            page, faults, asked = browser.new_page(), [], []
            page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            page.goto(path.as_uri())
            if "tex-svg.js" in path.read_text(encoding="utf-8"):
                page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
                page.evaluate("MathJax.startup.promise")
            faults += page.locator("[data-mml-node=merror]").all_inner_texts()
            found[path] = (page.locator("mjx-container svg").count(), faults, asked)
            page.close()
        browser.close()
    return found
