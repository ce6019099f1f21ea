"""Formulas within sentences end lines as words do: MathJax 3 breaks none, and a phone is narrower than many of them.

A long formula becomes several, side by side, between which a line may end, after a relation, a comma or a sign as in a printed
book. The bracket or comma that touches a formula stays on its line, and the square that ends a proof on that of its last word; so
do a number with its unit (95 %), and short code (--check). Sentences that a terminal shows too, such as those of
docstrings, write e^epsilon: here it becomes a formula.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

TOKENS = re.compile(r"\\(?:left|right)\s*(?:\\.|.)|\\[a-zA-Z]+|\\.|\s+|\S")
RELATIONS = {"=", "<", ">", r"\le", r"\ge", r"\in", r"\to", r"\propto", ","}
SIGNS = {"+", "-"}
OPEN, CLOSE = re.compile(r"[{(\[]|\\\{|\\left"), re.compile(r"[})\]]|\\\}|\\right")
POWER = re.compile(r"((?<![\w^])(?<!\^\()[A-Za-z0-9]+|(?<=[)|]))\^(-?[A-Za-z0-9]+)(?![\w^(])")
GREEK = {"alpha": r"\alpha", "beta": r"\beta", "delta": r"\delta", "epsilon": r"\varepsilon", "rho": r"\rho"}
SHORT = 8  # fewer tokens than these are not put on a line of their own
UNIT = re.compile(r"(?<=\d) (?=(?:%|(?:m?s|[kKMGT]B)\b))")
TYPED = 36  # words of code up to this long end no line at their hyphens
EXACT = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)


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


def powers(text: str) -> list[str]:
    """A sentence in pieces, of which every second is a power: ["at most ", "e^{\\varepsilon}", " times"]."""
    found, end = list[str](), 0
    for power in POWER.finditer(text):
        found += [text[end : power.start()], "{}^{{{}}}".format(*map(_symbol, power.groups()))]
        end = power.end()
    return [*found, text[end:]]


def _symbol(name: str) -> str:
    """A letter, a whole number, the name of a Greek letter or another name; after a bracket nothing is below."""
    word = name.removeprefix("-")
    shown = GREEK.get(word, word if len(word) == 1 or word.isdigit() else rf"\mathrm{{{word}}}" if word else "{}")
    return name.removesuffix(word) + shown


def raise_powers(app: Any, page: nodes.document) -> None:
    if page["source"].endswith("commands.md"):  # which has what people type, such as --priors "x^2 in ..20"
        return
    kept = (nodes.FixedTextElement, nodes.literal, nodes.math, nodes.raw, nodes.title)
    for text in [text for text in page.findall(nodes.Text) if POWER.search(text)]:
        holder = text.parent
        while holder is not None and not isinstance(holder, kept):
            holder = holder.parent
        if holder is None:
            place = text.parent.index(text)
            parts = [nodes.math(part, part) if k % 2 else nodes.Text(part) for k, part in enumerate(powers(text))]
            text.parent[place : place + 1] = parts


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


def keep_together(app: Any, page: nodes.document) -> None:
    for text in list(page.findall(nodes.Text)):
        if UNIT.search(text) and not isinstance(text.parent, EXACT):
            text.parent.replace(text, nodes.Text(UNIT.sub("\u00a0", text)))
    for code in page.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= TYPED:
            code["classes"].append("whole")


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
