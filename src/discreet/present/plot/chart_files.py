"""Charts as files: SVG, PNG, PDF, a page that moves, or the chart's own JSON. Nothing in them is fetched from anywhere."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import DiscreetError, FileError
from ...exact.arithmetic import one_line
from ..saving import save_bytes
from .looks import Chart, altair, can_draw

KINDS = (".svg", ".png", ".pdf", ".html", ".json")
_PNG_SCALE = 2.0  # twice the points of the screen: sharp when printed
_MOST = 2**20  # letters of a picture inside a notebook


def save(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart in the kind that its name ends with: .svg, .png, .pdf, .html (with tooltips; needs no network) or .json.

    >>> import discreet as dt
    >>> save(dt.geometric(4, alpha="1/2").plot(), "picture.bmp")
    Traceback (most recent call last):
    ...
    discreet.errors.FileError: picture.bmp: pictures are saved as .svg, .png, .pdf, .html, .json; choose one of these endings.
    """
    makers: dict[str, Callable[[Chart], str | bytes]] = {
        ".svg": svg,
        ".png": _png,
        ".pdf": _pdf,
        ".html": _page,
        ".json": _source,
    }
    made = makers[kind_of(path)](chart)
    save_bytes(path, made if isinstance(made, bytes) else made.encode())


def kind_of(path: str | os.PathLike[str]) -> str:
    """The ending that says how a picture is written."""
    kind = Path(path).suffix.lower()
    if kind not in KINDS:
        raise FileError(
            f"{os.fspath(path)}: pictures are saved as {', '.join(KINDS)}; choose one of these endings.", kind="missing"
        )
    return kind


def svg(chart: Chart, prefix: str = "") -> str:
    """The picture as SVG. Inside one page each needs a prefix of its own: its parts have names that must not be shared."""
    altair()
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(_source(chart))
    return _prefixed(text, prefix) if prefix else text


def inline(draw: Callable[[], Chart]) -> str:
    """A picture for a notebook, as SVG that runs nothing; empty where it cannot be drawn or would be too large."""
    if not can_draw():
        return ""
    try:
        text = svg(draw())
    except DiscreetError:  # an open grid, too many values: what is shown in words stays
        return ""
    own = "d" + hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"<div>{_prefixed(text, own)}</div>" if len(text) <= _MOST else ""


def _prefixed(text: str, prefix: str) -> str:
    """The parts of a picture by names of its own: those of another one in the same page must not be taken for them."""
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}\1"', text)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}\1)", text)


def _png(chart: Chart) -> bytes:
    altair()
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(_source(chart), scale=_PNG_SCALE))


def _pdf(chart: Chart) -> bytes:
    altair()
    import vl_convert

    return bytes(vl_convert.vegalite_to_pdf(_source(chart)))


def _page(chart: Chart) -> str:
    altair()
    import vl_convert

    return str(vl_convert.vegalite_to_html(_source(chart), bundle=True))


def _source(chart: Chart) -> str:
    return json.dumps(_cleaned(chart.to_dict()))


def _cleaned(part: Any) -> Any:
    """Names come from users and files: a control character in one of them would stop what draws, and the program with it."""
    if isinstance(part, dict):
        return {key: _cleaned(value) for key, value in part.items()}
    if isinstance(part, list):
        return [_cleaned(value) for value in part]
    return one_line(part) if isinstance(part, str) else part
