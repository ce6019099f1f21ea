"""How the documentation becomes a site: offline, without warnings, and with nothing that is fetched from outside."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for reference.py, which writes pages from the code

project, author = "discreet", "the authors of discreet"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "discreet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_show_copyright = False
html_copy_source = False
html_use_index = False  # the pages of the reference list every name
templates_path: list[str] = []
mathjax_path = "tex-svg.js"  # MathJax 3, copied below: the fonts are in it
highlight_language = "text"
smartquotes = False  # quotes and dashes within signatures and options are what people type


def _mathjax() -> Path:
    """The one file of MathJax that the site needs, from the package that carries it."""
    for place in map(Path, sys.path):
        found = place / "sphinx-mathjax-offline" / "static" / "mathjax" / "tex-svg.js"
        if found.is_file():
            return found
    raise FileNotFoundError("Install what requirements/docs.in names: sphinx-mathjax-offline carries MathJax.")


def _beside(name: str) -> ModuleType:
    """A module of this folder."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _write_pages(app: Any) -> None:
    _beside("reference").write(HERE / "reference")
    _beside("notebook_pages").write_pages()


def _without_links_outside(app: Any, name: str, text: list[str]) -> None:
    """Files of the project that are no pages of the site: programs and notebooks are downloaded, of others the name is said."""
    text[0] = re.sub(r"\n\n```$", "\n```", text[0], flags=re.MULTILINE)  # the blank line that ends a session
    downloaded = r"(?:\.\./)*(?:src/[^)]*\.(?:py|mjs)|[^)/]*\.ipynb)"
    text[0] = re.sub(rf"\[([^\]]+)\]\(({downloaded})\)", _downloaded, text[0])
    elsewhere = r"(?:benchmarks|src|tests|README|CONTRIBUTING|VISION)[^)]*"
    text[0] = re.sub(rf"\[([^\]]+)\]\((?:\.\./)*({elsewhere})\)", _named, text[0])


def _downloaded(link: re.Match[str]) -> str:
    words = link[1].replace("`", "")
    return f"{{download}}`{words} <{link[2]}>`"


def _named(link: re.Match[str]) -> str:
    if link[2].endswith(link[1]) or link[2] == f"{link[1].upper()}.md":  # Contributing: CONTRIBUTING.md
        return f"`{link[2]}`"
    before = link.string[: link.start()].rpartition("\n\n")[2]
    within = before.count("(") > before.count(")")  # no brackets within brackets
    return f"{link[1]}: `{link[2]}`" if within else f"{link[1]} (`{link[2]}`)"


def _mark_wide_pictures(app: Any, page: Any) -> None:
    """Several charts side by side: on a phone such a picture is not shrunk until nobody can read it, but scrolls."""
    for picture in page.findall(nodes.image):
        path = Path(app.srcdir) / picture["uri"]
        drawn = path.read_text(encoding="utf-8") if path.suffix == ".svg" else ""
        width = re.match(r"[^>]*<svg[^>]* width=\"(\d+)", drawn)
        if width and int(width[1]) > 700:
            picture["classes"].append("wide")


def _copy_mathjax(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        shutil.copyfile(_mathjax(), Path(app.outdir) / "_static" / "tex-svg.js")


def setup(app: Any) -> None:
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _without_links_outside)
    formulas = _beside("formulas")
    app.connect("doctree-read", formulas.raise_powers, priority=400)
    app.connect("doctree-read", formulas.let_lines_end)
    app.connect("doctree-read", formulas.keep_together)
    app.connect("doctree-read", _mark_wide_pictures)
    app.connect("build-finished", _copy_mathjax)
