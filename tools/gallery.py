"""Make the pictures of docs/gallery.md: run its lines, and save what each section calls `picture`.

python tools/gallery.py docs/gallery.md docs/images/gallery
"""

from __future__ import annotations

import doctest
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

SECTION = re.compile(
    r"^## [^\n]+\n\n!\[[^\]]+\]\(images/gallery/([\w-]+)\.svg\)\n\n```python\n(.*?)```", re.MULTILINE | re.DOTALL
)


def sections(text: str) -> dict[str, str]:
    """The lines of each picture, by the name of its file; those before the first section are under ""."""
    opening = text.partition("\n## ")[0]
    return {"": opening, **dict(SECTION.findall(text))}


def pictures(text: str) -> dict[str, Any]:
    """The chart of each section, made in the current folder; lines that answer other than the page says are an error."""
    names: dict[str, Any] = {}
    found = {}
    for name, body in sections(text).items():
        test = doctest.DocTestParser().get_doctest(body, names, name, None, 0)
        names.pop("picture", None)
        for example in test.examples:
            exec(compile(example.source, f"<{name}>", "single"), names)
        if name:
            found[name] = names["picture"]
    return found


def main(page: str, folder: str, ending: str = "svg") -> None:
    from discreet.present import plot

    text, out = Path(page).read_text(encoding="utf-8"), Path(folder).resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for name, chart in pictures(text).items():
            plot.save(chart, out / f"{name}.{ending}")
        os.chdir(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
