"""Notebooks as pages of the site: run from top to bottom, with what they show, and a link to the file itself."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "notebooks"


def write_pages() -> None:
    """A page of Markdown beside each notebook; one that is newer than its notebook stays."""
    for path in sorted(HERE.glob("*.ipynb")):
        page = path.with_suffix(".md")
        if not page.exists() or page.stat().st_mtime < path.stat().st_mtime:
            page.write_text(as_page(path, run(path)), encoding="utf-8")


def run(path: Path) -> Any:
    """A notebook with its output, run in a folder of its own."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        client = nbclient.NotebookClient(
            notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute(env={**os.environ, "IPYTHONDIR": str(Path(folder) / "ipython")})
    return notebook


def as_page(path: Path, notebook: Any) -> str:
    """Its cells as Markdown: code as blocks, output as text, HTML or pictures within the page."""
    title, _, rest = notebook.cells[0].source.partition("\n")
    parts = [
        title,
        f"[Download this notebook]({path.name}). What it shows was drawn when this site was built.",
        rest.strip(),
    ]
    for cell in notebook.cells[1:]:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [shown(output) for output in cell.outputs]
    return "\n\n".join(part for part in parts if part) + "\n"


def shown(output: Any) -> str:
    """One output of a cell. Blank lines would end a block of HTML."""
    if output.output_type == "stream":
        return _text(output.text)
    if output.output_type == "error":
        return _text(f"{output.ename}: {output.evalue}")
    data = output.data
    if "text/html" in data:
        return _html("".join(data["text/html"]))
    if "image/svg+xml" in data:
        return _html("".join(data["image/svg+xml"]))
    if "image/png" in data:
        content = "".join(data["image/png"].split())
        assert base64.b64decode(content)
        return _html(f'<img alt="the picture that the cell above draws" src="data:image/png;base64,{content}">')
    return _text(data.get("text/plain", ""))


def _html(text: str) -> str:
    lines = "\n".join(line for line in text.splitlines() if line.strip())
    return f'<div class="output">\n{lines}\n</div>'


def _text(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"
