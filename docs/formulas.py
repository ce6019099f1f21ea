"""Formulas within sentences end lines as words do: MathJax 3 breaks none, and a phone is narrower than many of them.

A long formula becomes several, side by side, between which a line may end, after a relation, a comma or a sign as in a printed
book. And the bracket or comma that touches a formula stays on its line, and the square that ends a proof on that of its last word.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

TOKENS = re.compile(r"\\(?:left|right)\s*(?:\\.|.)|\\[a-zA-Z]+|\\.|\s+|\S")
RELATIONS = {"=", "<", ">", r"\le", r"\ge", r"\in", r"\to", r"\propto", ","}
SIGNS = {"+", "-"}
OPEN, CLOSE = re.compile(r"[{(\[]|\\\{|\\left"), re.compile(r"[})\]]|\\\}|\\right")
SHORT = 8  # fewer tokens than these are not put on a line of their own


def pieces(formula: str) -> list[str]:
    """A formula in pieces between which a line may end. Nothing is cut within brackets, bars or what is above or below."""
    tokens = TOKENS.findall(formula)
    found, first, visible, depth, bars, before = [], 0, 0, 0, 0, ","
    for place, token in enumerate(tokens):
        if token.isspace():
            continue
        depth += bool(OPEN.match(token)) - bool(CLOSE.match(token))
        bars += token == "|"
        visible += token not in "{}^_"
        enough = 6 if token in RELATIONS else 10 if token in SIGNS and before not in RELATIONS else len(tokens)
        if depth == 0 == bars % 2 and visible > enough and len(tokens) - place > SHORT:
            found.append("".join(tokens[first : place + 1]) + "{}")  # which keeps the space after the relation
            first, visible = place + 1, 0
        before = token
    return [*found, "".join(tokens[first:])]


def let_lines_end(app: Any, page: nodes.document) -> None:
    for formula in list(page.findall(nodes.math)):
        line, place = formula.parent, formula.parent.index(formula)
        before, after = (line[i] if 0 <= i < len(line) else None for i in (place - 1, place + 1))
        parts: list[nodes.Node] = [nodes.math(part, part) for part in pieces(formula.astext())]
        if formula.astext() == r"\square":
            _keep_with_its_word(line, place)
            continue
        if isinstance(after, nodes.Text) and (touching := re.match(r"\S+", after)):
            line[place + 1] = nodes.Text(after[touching.end() :])
            parts[-1] = nodes.inline("", "", parts[-1], nodes.Text(touching[0]), classes=["formula"])
        if isinstance(before, nodes.Text) and (touching := re.search(r"\S+$", before)):
            line[place - 1] = nodes.Text(before[: touching.start()])
            parts[0] = nodes.inline("", "", nodes.Text(touching[0]), parts[0], classes=["formula"])
        line[place : place + 1] = parts


def _keep_with_its_word(line: nodes.Element, place: int) -> None:
    """The formula at a place on one line with the word, or the formula, that stands before it."""
    square, end = line[place], place
    while end and isinstance(line[end - 1], nodes.Text) and not str(line[end - 1]).strip():
        end -= 1
    before = line[end - 1] if end else None
    if isinstance(before, nodes.Text) and (last := re.search(r"\S+\s*$", before)):
        kept = nodes.inline("", "", nodes.Text(last[0].rstrip()), classes=["formula"])
        line[end - 1 : place + 1] = [nodes.Text(before[: last.start()]), kept]
    elif isinstance(before, nodes.inline) and "formula" in before["classes"]:
        kept = before
        del line[end : place + 1]
    else:
        return
    kept += [nodes.Text(" "), square]
