"""The documentation as a site: it builds without a warning, asks for nothing outside, and its page of commands is current."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(out / "trees"), str(ROOT / "docs"), str(out / "html")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return out / "html"


def test_every_page_is_reached_from_the_first(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")} - {"genindex.html", "search.html"}
    texts = [p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")]
    written = {p.with_suffix(".html").as_posix() for p in texts if "_build" not in p.parts}
    assert pages == written
    reached, ahead = set(), ["index.html"]
    while ahead:
        page = ahead.pop()
        reached.add(page)
        text = (site / page).read_text(encoding="utf-8")
        for target in re.findall(r'href="([^"#:]+\.html)', text):
            linked = (site / page).parent.joinpath(target).resolve()
            if linked.exists() and (name := linked.relative_to(site.resolve()).as_posix()) not in reached:
                ahead.append(name)
    assert pages <= reached


def test_nothing_is_loaded_from_outside(site):
    for path in site.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="([^"]+)"', path.read_text(encoding="utf-8"))
        assert not [target for target in loaded if "://" in target or target.startswith("//")], path.name
    assert (site / "_static" / "tex-svg.js").stat().st_size > 10**6


def test_the_page_of_commands_is_current():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == reference.commands(), "run `make readme`"
