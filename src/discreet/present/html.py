"""What is shown, as a piece of HTML for a notebook or a page. Every text is escaped; nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from .words import are_right, cells

if TYPE_CHECKING:
    from .views import View

MOST_ROWS = 100

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1d2430; background: #fbfaf7; margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem } h2 { font-size: 1.15rem; margin-top: 2rem }
p.lead { color: #4a5568; margin-top: 0 } .box { background: #fff; border: 1px solid #e4e0d8; border-radius: 8px;
       padding: .8rem 1.2rem; }
table { border-collapse: collapse; width: 100%; background: #fff; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #eee9df; text-align: left; } td.n, th.n { text-align: right }
th { font-weight: 600; color: #4a5568; font-size: .85rem } tr:hover td { background: #f6f3ec }
svg { display: block } svg.marks { max-width: 100%; height: auto }
@media (max-width: 40rem) { table { display: block; overflow-x: auto } }
.small { color: #6b7280; font-size: .85rem } a { color: #7a3b69 }
"""


def section(shown: View, most: int = MOST_ROWS) -> str:
    """Title, table, parts and notes as HTML."""
    parts = [f"<p>{_lines(shown.title)}</p>"] if shown.title else []
    if shown.rows:
        texts, rest = cells(shown, most)
        parts.append(table(shown.columns, [[escape(x) for x in row] for row in texts], are_right(shown)))
        parts += [f"<p>{escape(rest)}</p>"] if rest else []
    parts += [section(part, most) for part in shown.parts]
    parts += ["<p>" + "<br>".join(_lines(note) for note in shown.notes) + "</p>"] if shown.notes else []
    return "<div>" + "".join(parts) + "</div>"


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[bool],
    *,
    caption: str = "",
    heads: int = 0,
    kinds: Sequence[str] = (),
) -> str:
    """A table of cells (and a caption) that are HTML already; those of some columns stand to the right.

    The first `heads` cells of a row are its head. `kinds` names a class for each column; such a table becomes one block for
    each row where the screen is narrow, every cell with the name of its column.
    """
    align = ['style="text-align:right"' if r else 'style="text-align:left"' for r in right]
    names = [escape(name) for name in columns]
    named = (
        [f' class="{kind}" data-name="{name}"' for kind, name in zip(kinds, names, strict=True)]
        if kinds
        else [""] * len(names)
    )
    head = "".join(f'<th scope="col"{more} {a}>{name}</th>' for name, more, a in zip(names, named, align, strict=True))
    tags = [('th scope="row"', "th") if k < heads else ("td", "td") for k in range(len(names))]
    opening = [f"<{tag}{more} {a}>" for (tag, _), more, a in zip(tags, named, align, strict=True)]
    closing = [f"</{end}>" for _, end in tags]
    body = "".join(
        "<tr>" + "".join(a + x + b for a, x, b in zip(opening, row, closing, strict=True)) + "</tr>" for row in rows
    )
    told = f"<caption>{caption}</caption>" if caption else ""
    return f"<table{' class=rows' if kinds else ''}>{told}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def page(title: str, body: str, style: str = "") -> str:
    """A whole page around a body, in one file that needs nothing else; `style` adds to the look of all pages."""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}{style}</style></head>'
        f"<body>\n{body}\n</body></html>\n"
    )


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")
