"""The library's sentences in the words of a page: whoever has fields before them reads of fields."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import discreet
from discreet.studio.field_words import FIELDS, in_fields

HOUSE = Path(discreet.__file__).parent
ROOMS = ("tables", "questions", "engines", "ledger", "exact")  # whose sentences the room Release shows
APART = {"publish/page.py", "engines/reading.py"}  # a style sheet; and options() which is a command line
OPTION = re.compile(r"--[a-z]|\bin Python\b|\bdiscreet (?:admit|release|ledger)\b")


def sentences():
    """Every text of the rooms that names an option or a command: f-strings with an x for what is filled in."""
    for room in ROOMS:
        for path in sorted((HOUSE / room).rglob("*.py")):
            if any(str(path).endswith(apart) for apart in APART):
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            told = {id(node.body[0].value) for node in ast.walk(tree) if _has_docstring(node)}
            inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in ast.walk(tree):
                if id(node) in told or id(node) in inner:
                    continue
                if isinstance(node, ast.JoinedStr):
                    text = "".join(p.value if isinstance(p, ast.Constant) else "x" for p in node.values)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    text = node.value
                else:
                    continue
                if OPTION.search(text) and " " in text:
                    yield f"{path.name}:{node.lineno}", text


def _has_docstring(node):
    bodied = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and node.body
    return bodied and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)


# Texts that no page can show: of reports that were drawn elsewhere, of other ways to ask, of what stands in a docstring's table.
ELSEWHERE = re.compile(
    r"^ --codes|^discreet admit|discreet (ledger (export|spend|create|remove|balance|history|check|head)|release --audience|"
    r"admit x|perturb|tally|check-release|verify)|--rotate|--secret|proof of the secret|postgres|DISCREET_SECRET",
    re.IGNORECASE,
)


def test_no_sentence_of_the_library_names_an_option_on_a_page():
    found = list(sentences())
    shown = [(where, text) for where, text in found if not ELSEWHERE.search(text)]
    assert len(shown) > 12  # the walk finds them
    left = [(where, in_fields(text)) for where, text in shown if OPTION.search(in_fields(text))]
    assert left == []


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ('use --null "k.A." if they mean missing', 'enter "k.A." as Missing values if they mean missing'),
        ("or which line it is (--header-row 3).", "or which line it is (Line of names, such as 3)."),
        ("name the column with --codes", "name the column in the field Columns of codes"),
        ("max_rows = 0 must be at least 1.", "Most rows of a unit = 0 must be at least 1."),
        (
            "This very file was admitted as version '2': say --version 2",
            "This very file was admitted as version '2': enter 2 as Version of the data.",
        ),
        ("In 'table.csv', line 3 is no text", "In the file, line 3 is no text"),
        ("A predicate must be a text", "A condition must be a text"),
        ("nothing to change here", "nothing to change here"),
    ],
)
def test_sentences_speak_of_fields(told, shown):
    assert in_fields(told) == shown


def test_every_field_that_is_named_stands_on_the_page():
    page = (HOUSE / "studio" / "static" / "release.html").read_text(encoding="utf-8")
    elsewhere = {"Quotation mark", "Epsilon", "Totals", "Keys", "Data set", "Rho"}  # drawn by the scripts, or a title
    assert [name for name in FIELDS.values() if name not in page and name not in elsewhere] == []
