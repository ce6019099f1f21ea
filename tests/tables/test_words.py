"""Titles, sources, notes and labels of any text: the page has them as text, the CSV as fields, and nothing else changes.

The page is read by html.parser and the CSV by csv, which know nothing of how they were written.
"""

from __future__ import annotations

import csv
import io
import json
from html.parser import HTMLParser

import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import ReleaseError
from tests.profiles import examples
from tests.shortcuts import folder_in_memory

PLAIN = {"title": "xtitlex", "source": "xsourcex", "notes": ["xnotex"], "labels": {"town": "xtownx", "ill": "xillx"}}
HOSTILE = [
    "<script>alert(1)</script>",
    "</title><h1>",
    "a&amp;b",
    "'\"><img src=x onerror=y>",
    "=1+2",
    "a\r\nb",
    "]]>",
    "<!--",
    "\u202eabc",
]
TEXTS = st.one_of(
    st.text(max_size=30), st.sampled_from(HOSTILE), st.text("<>&\"'/=; ,\n\tä\u202e\u0000\ud800\u2028", max_size=12)
)


def is_text(text: str) -> bool:
    """Can it be written at all: valid characters without NUL, and something to read?"""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text and any(c.isprintable() and not c.isspace() for c in text)


VALID = TEXTS.filter(is_text)


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags, self.texts = list[object](), list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, [name for name, _ in attrs]))

    def handle_endtag(self, tag: str) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.tags.append(("comment", data))

    @classmethod
    def of(cls, page: str) -> Tags:
        found = cls()
        found.feed(page)
        found.close()
        return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release with totals, and its page with plain words."""
    with folder_in_memory(tmp_path_factory.mktemp("words")) as folder, dt.Ledger(folder / "b.db") as ledger:
        ledger.create("town", 9, relation="add-remove")
        table = polars.DataFrame({"town": ["a", "b;c", 'd"e', "=f"] * 5, "ill": [True, False] * 10})
        found = (
            ledger["town"]
            .release(
                table,
                count={"ill": "ill", "all": "*"},
                by="town",
                domain={"town": ["a", "b;c", 'd"e', "=f"]},
                epsilon=1,
            )
            .with_totals("total")
        )
        yield found, ledger, Tags.of(found.presented(**PLAIN).to_html()).tags


@settings(max_examples=examples(40), deadline=None)
@given(title=VALID, source=VALID, note=VALID, town=VALID, ill=VALID)
def test_words_are_texts_wherever_they_stand(tmp_path_factory, made, title, source, note, town, ill):
    release, ledger, tags = made
    words = {"title": title, "source": source, "notes": [note], "labels": {"town": town, "ill": ill}}
    given_texts = (title, source, note, town, ill)
    shown = release.presented(**words)
    page = Tags.of(shown.to_html())
    assert page.tags == tags  # no tag more, none less, none with another attribute
    kept = shown.record["presentation"]
    joined = "\n".join(page.texts)
    for text in (kept["title"], kept["source"], kept["notes"][0], kept["labels"]["town"], kept["labels"]["ill"]):
        assert text in joined
    for mine, theirs in zip(
        given_texts, (kept["title"], kept["source"], kept["notes"][0], *kept["labels"].values()), strict=True
    ):
        if mine.isprintable():
            assert theirs.split() == mine.split()  # only blanks may go
        assert theirs.isprintable()
    assert shown.columns == release.columns
    with folder_in_memory(tmp_path_factory.mktemp("words")) as folder:
        shown.save(folder / "x.csv")
        assert dt.check_release(folder / "x.json", ledger=ledger).holds
        assert json.loads((folder / "x.json").read_text(encoding="utf-8"))["record"]["presentation"] == kept


@settings(max_examples=examples(100), deadline=None)
@given(text=TEXTS, place=st.sampled_from(["title", "source", "notes", "label"]))
def test_what_cannot_be_read_is_refused_at_once(made, text, place):
    """Before anything is paid: what is kept can be read again from the record."""
    words = {"labels": {"town": text}} if place == "label" else {place: [text] if place == "notes" else text}
    if not is_text(text):
        with pytest.raises(ReleaseError, match="give some words, or leave it out"):
            made[0].presented(**words)
    else:
        shown = made[0].presented(**words)
        assert shown.presentation.to_dict() == shown.record["presentation"]


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", "."), (";", ","), ("tab", ","), ("|", "."), (None, ",")]
)
def test_marks_change_no_field(made, separator, decimal):
    """Read with the marks that were asked for, every field is what it is without any."""
    release, *_ = made

    def fields(text: str, mark: str) -> list[list[str]]:
        return list(csv.reader(io.StringIO(text), delimiter=mark))

    marks = release.presented(separator=separator, decimal=decimal)
    plain, other = (
        fields(release.to_csv(), ","),
        fields(marks.to_csv(), {"tab": "\t", None: ";"}.get(separator, separator)),
    )
    assert len(plain) == len(other) == 9
    keys = plain[0].index("town")
    for one, two in zip(plain, other, strict=True):
        assert one[keys] == two[keys]
        for mine, theirs in zip(one, two, strict=True):
            is_number = mine.replace(".", "", 1).lstrip("-").isdigit()
            assert theirs == (mine.replace(".", decimal) if is_number else mine)
