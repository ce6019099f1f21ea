"""Text files: read strictly, without guessing, and refused by the line that may concern others."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.held_file import HeldFile
from discreet.engines.reading import Reading
from discreet.errors import PredicateError, TableInputError
from discreet.questions.domain import Domain
from tests.engines.one_count import count_groups, refused
from tests.profiles import examples

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


def test_text_files_are_read_without_guessing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfg,x\r\n1,5\r\n01,"6"\r\n1.0,nonsense\r\n1.5,7\r\n\r\n"1\n",8\n1,9')
    whole = count_groups(path, predicate="x >= 6", by=["g"], domain=Domain.of({"g": [1]}))
    assert (whole.sizes.tolist(), whole.counts.tolist()) == ([5], [3])
    texts = count_groups(path, predicate=None, by=["g"], domain=Domain.of({"g": ["1", "01"]}))
    assert texts.sizes.tolist() == [2, 1]


def test_a_large_csv_with_quoted_line_breaks_is_counted_right(tmp_path):
    """Above 8 MB several threads would guess where lines begin: one row more moved a cell by tens of thousands."""
    path = tmp_path / "notes.csv"
    note = '"he said ""hi"" \n b,9,"'
    lines = [f"{'ab'[k % 2]},{k % 10},{note}" for k in range(400_000)]
    for extra in ([], ["a,5,z"], ["a,5," + "z" * 1001]):
        path.write_text("\n".join(["g,x,t", *lines, *extra]) + "\n")
        found = count_groups(path, predicate="x > 3", by=["g"], domain=Domain.of({"g": ["a", "b"]}))
        assert found.sizes.tolist() == [200_000 + len(extra), 200_000]
        assert found.counts.tolist() == [120_000 + len(extra), 120_000]


GOOD = b"a,1,x\n"
BAD_LINES = {
    "bare CR": (b"a,no\ra,1,x\n", "carriage return"),
    "bare CR at the end": (b"a,1,secret\r", "carriage return"),
    "too many fields": (b"secret,b,a,1\n", "of 3 fields"),
    "too few fields": (b"secret,b\n", "of 3 fields"),
    "no UTF-8": (b"a,1,secret\xff\n", "UTF-8"),
    "a surrogate": (b"a,1,secret\xed\xa0\x80\n", "UTF-8"),
    "NUL": (b"a,1,secret\0\n", "UTF-8"),
    "a mark in a plain field": (b'a,1,5" secret\n', "quotation mark"),
    "text behind a mark": (b'a,1,"secret"x\n', "quotation mark"),
    "a blank before a mark": (b'a,1, "secret"\n', "quotation mark"),
    "a backslash escapes nothing": (b'a,1,"secret\\""\n', "quotation mark"),
    "a mark never closed": (b'a,1,"secret\n', "never closed|quotation mark"),
    "too long": (b"a,1," + b"z" * 2**20 + b"\n", "longer than"),
    "too long, over lines": (b'a,1,"' + b"z\n" * 2**20 + b'"\n', "longer than"),
}
BAD_FILES = [
    (bad, before, after)
    for bad, (line, _) in BAD_LINES.items()
    for before in (2, 300_000 if len(line) > 2**20 else 1500)
    for after in (0, 2)[: 1 + line.endswith(b"\n")]
]


@pytest.mark.parametrize(("bad", "before", "after"), BAD_FILES)
def test_a_line_that_may_concern_others_refuses_the_file(tmp_path, monkeypatch, bad, before, after):
    """By its number and not by what stands in it.

    Also beyond the first block that is read: small blocks for short lines, true ones for the longest.
    """
    from discreet.engines import reading

    line, why = BAD_LINES[bad]
    if before == 1500:
        monkeypatch.setattr(reading, "_BLOCK", 4096)
    path = tmp_path / "t.csv"
    path.write_bytes(b"g,x,t\n" + GOOD * before + line + GOOD * after)
    number = r"[23]\d{5}" if before > 2 and "over" in bad else str(before + 2)
    for unit in (None, "t"):
        refused(f"line {number} is .*({why})", path, unit=unit)


@pytest.mark.parametrize(("before", "after"), dict.fromkeys((before, after) for _, before, after in BAD_FILES))
def test_the_same_files_without_that_line_are_counted(tmp_path, monkeypatch, before, after):
    """The control of the test above."""
    from discreet.engines import reading

    if before == 1500:
        monkeypatch.setattr(reading, "_BLOCK", 4096)
    path = tmp_path / "t.csv"
    path.write_bytes(b"g,x,t\n" + GOOD * (before + after))
    found = count_groups(path, predicate="x = 1", by=["g"], domain=Domain.of({"g": ["a"]}))
    assert found.counts.tolist() == [before + after]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("shift", range(-2, 3))
def test_how_long_a_line_may_be_does_not_hang_on_the_lines_before_it(tmp_path, end, shift):
    """A record of the greatest length that begins where a block of the file ends; one byte more is too long."""
    from discreet.engines.reading import _BLOCK, LONGEST

    path = tmp_path / "t.csv"
    before = b"g,t\na," + b"y" * (_BLOCK + shift - len(b"g,t\na,\n")) + b"\n"
    asked = {"predicate": None, "by": ["g"], "domain": Domain.of({"g": ["a"]})}
    for last in (end, b""):
        path.write_bytes(before + b"a," + b"z" * (LONGEST - 2) + last)
        assert count_groups(path, **asked).sizes.tolist() == [2]
        path.write_bytes(before + b"a," + b"z" * (LONGEST - 1) + last)
        refused("line 3 is longer than", path, predicate=None)


def test_every_bad_line_is_numbered(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("g,x\na,1\nb\na,1,2\n\n" + '"x\ny",2\n' + "c\n")
    refused("lines 3, 4, 8 are not of 2 fields", path)
    path.write_text("g,x\n" + "c\n" * 9)
    refused(r"lines 2, 3, 4, 5, 6, \.\.\. are", path)


PIECES = [
    "a",
    "1",
    '"',
    ",",
    "\n",
    "\r",
    "\r\n",
    " ",
    "\u00e9",
    "\\",
    "#",
    "NULL",
    "\t",
    "'",
    "\U0001f600",
    "nan",
    "\x1a",
    "\x85",
    "\u2028",
    "|",
    ";",
    "\ufeff",
]
values = st.lists(st.sampled_from(PIECES), max_size=5).map("".join)


@settings(max_examples=examples(200))
@given(
    data=st.data(),
    columns=st.integers(1, 3),
    mark=st.booleans(),
    last=st.booleans(),
    block=st.sampled_from([1, 5, 2**20]),
)
def test_the_strict_reader_reads_what_a_writer_wrote(tmp_path_factory, data, columns, mark, last, block):
    """Any texts, as RFC 4180 has them written, come back; so does what Python's own reader makes of the same file."""
    from discreet.engines import reading

    rows = data.draw(st.lists(st.tuples(*[values] * columns), max_size=6))
    text = ",".join(f"c{k}" for k in range(columns)) + "\n"
    for row in rows:
        if columns > 1 and data.draw(st.booleans()):
            text += data.draw(st.sampled_from(["\n", "\r\n"]))  # an empty line is nobody's
        written = [
            f'"{v.replace(chr(34), chr(34) * 2)}"' if set(v) & set('",\r\n') or data.draw(st.booleans()) else v
            for v in row
        ]
        text += ",".join(written) + data.draw(st.sampled_from(["\n", "\r\n"]))
    if last and rows and (columns > 1 or rows[-1][0]):
        text = text.removesuffix("\n").removesuffix("\r")
    path = tmp_path_factory.mktemp("rfc") / "t.csv"
    above = data.draw(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), max_size=3))
    titles = b"".join(line + b"\n" for line in above)  # what stands above the header is not read
    path.write_bytes(b"\xef\xbb\xbf" * mark + titles + text.encode())
    how = Reading(header_row=1 + len(above))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_BLOCK", block)
        parts = list(
            reading.read_lines(HeldFile(path), how, ",", columns, range(columns), lambda done: None, numbered=True)
        )
        found = [row for _, *part in parts for row in zip(*[column.to_pylist() for column in part], strict=True)]
    assert found == [tuple(v or None for v in row) for row in rows]
    assert all(number > how.header_row for numbers, *_ in parts for number in numbers.tolist())
    with io.StringIO(text, newline="") as file:
        theirs = [tuple(row) or ("",) for row in csv.reader(file, strict=True)][1:]
    assert found == [tuple(v or None for v in row) for row in theirs if columns == 1 or row != ("",)]


def test_one_persons_line_breaks_make_no_people(tmp_path):
    """One field of a thousand bare or quoted line breaks is one person, or none; it was a thousand."""
    path = tmp_path / "t.csv"
    asked = {"predicate": None, "by": ["g"], "domain": Domain.of({"g": ["yes", "no"]})}
    path.write_bytes(b"g\nno\n" + b'"no\ryes' + b"\ryes" * 999 + b'"\n' + b'"no\nyes\nyes"\n' + b"yes\n")
    assert count_groups(path, **asked).sizes.tolist() == [1, 1]
    path.write_bytes(b"g\nno" + b"\ryes" * 1000 + b"\n")
    with pytest.raises(TableInputError, match="line 2"):
        count_groups(path, **asked)


def test_names_of_a_text_file_are_never_quoted(tmp_path):
    """Without a heading the first person stands there."""
    path = tmp_path / "t.csv"
    path.write_text("anna,secretly ill,41\nbert,well,40\n")
    for changes in (
        {"predicate": "anne = 1"},
        {"predicate": None, "by": ["annn"]},
        {"predicate": None, "unit": "an"},
        {"predicate": "secretly = 1"},
        {"predicate": None, "by": ["x", "X"]},
    ):
        question = {"predicate": None, "by": [], "domain": Domain.of({}), **changes}
        with pytest.raises((TableInputError, PredicateError), match="first line") as caught:
            count_groups(path, **question)
        for told in ("anna", "ill", "41", "Did you mean"):
            assert told not in str(caught.value)
    path.write_text("anna,ill,anna\n")
    with pytest.raises(TableInputError, match="Columns 1 and 3") as caught:
        count_groups(path, predicate=None, by=[], domain=Domain.of({}))
    assert "anna" not in str(caught.value)
