"""Excel files: cells as a text file's fields, dates in ISO, what a sheet does not keep exactly refused."""

from __future__ import annotations

import io
import random
import re
import zipfile
from xml.sax.saxutils import escape

import pyarrow
import pytest

import discreet as dt
from discreet.engines import excel
from discreet.engines.excel import Excel
from discreet.engines.held_file import HeldFile
from discreet.engines.reading import Reading
from discreet.errors import TableInputError
from discreet.questions.domain import Domain
from tests.engines.one_count import count_groups

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
calamine = pytest.importorskip("python_calamine")

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACK = "http://schemas.openxmlformats.org/package/2006"


def cell(value):
    """One cell as Excel writes it; a text that begins with < is XML already."""
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str) and value.startswith("<"):
        return value
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


def part(tag, namespace, *inside):
    return f'<{tag} xmlns="{namespace}" xmlns:r="{_REL}">{"".join(inside)}</{tag}>'


def related(number, kind, target):
    return f'<Relationship Id="rId{number}" Type="{_REL}/{kind}" Target="{target}"/>'


def workbook(path, encoding="utf-8", /, **sheets):
    """The smallest workbook that is read, written by hand: no library decides what stands in it."""
    links, kind = f"{_PACK}/relationships", "application/vnd.openxmlformats-officedocument.spreadsheetml"
    files = [f"worksheets/sheet{k}.xml" for k, _ in enumerate(sheets, 1)]
    named = [f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(sheets, 1)]
    types = {"workbook.xml": "sheet.main", "styles.xml": "styles", **dict.fromkeys(files, "worksheet")}
    content = [f'<Override PartName="/xl/{name}" ContentType="{kind}.{what}+xml"/>' for name, what in types.items()]
    formats = "".join(
        f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in (0, 14, 22)
    )  # plain, day, moment
    parts = {
        "[Content_Types].xml": part("Types", f"{_PACK}/content-types", *content),
        "_rels/.rels": part("Relationships", links, related(1, "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": part("workbook", _MAIN, "<sheets>", *named, "</sheets>"),
        "xl/_rels/workbook.xml.rels": part(
            "Relationships",
            links,
            related(99, "styles", "styles.xml"),
            *(related(k, "worksheet", file) for k, file in enumerate(files, 1)),
        ),
        "xl/styles.xml": part("styleSheet", _MAIN, f'<cellXfs count="3">{formats}</cellXfs>'),
    }
    for file, rows in zip(files, sheets.values(), strict=True):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        written = f'<?xml version="1.0" encoding="{encoding}"?>' + part(
            "worksheet", _MAIN, f"<sheetData>{lines}</sheetData>"
        )
        parts[f"xl/{file}"] = written.encode(encoding)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def counted(path, by, keys, predicate=None, **how):
    found = count_groups(path, predicate=predicate, by=[by], domain=Domain.of({by: keys}), reading=Reading.of(**how))
    return found.counts.tolist()


DAY = '<c s="1"><v>43861</v></c>'  # 31 January 2020
MOMENT = '<c s="2"><v>43861.5</v></c>'
ERROR = '<c t="e"><v>#N/A</v></c>'
UNKNOWN = "<c><f>A1+1</f></c>"


def test_cells_are_read_one_by_one(tmp_path):
    rows = [
        ["town", "x", "day", "ok"],
        ["Zürich", 1.0, DAY, True],
        ["Zürich", 1.5, DAY, False],
        ["b c", -0.0, MOMENT, None],
        [None, None, None, None],
        [ERROR, UNKNOWN, None, True],
        ["NA", 2**53 - 1, None, True],
        ["7", "1,5", None, None],
    ]
    path = workbook(tmp_path / "t.xlsx", people=rows)
    assert counted(path, "town", ["Zürich", "b c", "NA", "7", None]) == [2, 1, 1, 1, 1]
    assert counted(path, "town", ["Zürich", None], null="NA") == [2, 2]
    assert counted(path, "x", [1, 0, 2**53 - 1, None]) == [1, 1, 1, 2]  # "1,5" is no number: missing
    assert counted(path, "x", [0], "x > 1.4") == [0]
    assert counted(path, "day", ["2020-01-31", "2020-01-31 12:00:00", None]) == [2, 1, 3]
    assert counted(path, "ok", [True, False, None]) == [3, 1, 2]
    for decimal, expected in ((".", [1]), (",", [2])):
        found = count_groups(
            path, predicate="x = 1.5", by=[], domain=Domain.of({}), reading=Reading.of(decimal=decimal)
        )
        assert found.counts.tolist() == expected


def test_admission_lists_empty_cells_by_their_rows(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx", people=[["town", "x"], ["a", 1.0], ["a", ERROR], ["b", UNKNOWN], [None, None], ["b", 2.0]]
    )
    report = dt.profile(path)
    (gone,) = [f for f in report.findings if f.column == "x"]
    assert (report.size, report.place, gone.count, gone.places) == (4, "row", 2, (3, 4))
    assert "formulas without a value" in gone.advice
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", "1", relation="change-one", public=["town"])
        book["town"].admit(path)
        made = book["town"].release(path, by=["town"], domain={"town": ["a", "b"]}, count="x > 1", epsilon=1)
        assert made.columns["n"] == [2, 2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([["x"], [1.0], [float(2**53)]], r"whole numbers of 2\^53 and beyond, .* stand in row 3; write them as texts"),
        ([["x"], [-1e300]], "stand in row 2; write them as texts"),
        (
            [["x", None], [1.0, 2.0]],
            "cells beside the named columns stand in row 2.*in another row.*--header-row 3",
        ),
        ([["x", 3.0], [1.0, 2.0]], "first row"),
        ([["x", "X"], [1.0, 2.0]], "same name"),
    ],
)
def test_what_a_sheet_does_not_keep_is_refused(tmp_path, rows, told):
    with pytest.raises(TableInputError, match=told):
        dt.profile(workbook(tmp_path / "t.xlsx", people=rows))


def test_one_of_several_sheets_is_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1.0]], two=[["x"], [2.0], [2.0]])
    with pytest.raises(TableInputError, match="2 sheets, 'one', 'two'; say which one"):
        dt.profile(path)
    with pytest.raises(TableInputError, match="no sheet 'three'; its sheets are 'one', 'two'"):
        dt.profile(dt.read(path, sheet="three"))
    assert (dt.profile(dt.read(path, sheet="one")).size, dt.profile(dt.read(path, sheet="two")).size) == (1, 2)
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(TableInputError, match="no readable Excel file"):
        dt.profile(tmp_path / "bad.xlsx")


def test_the_names_may_stand_below_a_title(tmp_path):
    """As offices write sheets; rows keep the numbers that the sheet shows, and the ledger keeps how it is read."""
    rows = [["Residents of the town", "", ""], ["", "", ""], ["town", "age"], ["a", 30.0], ["b", ""], ["b", 7.0]]
    path = workbook(tmp_path / "t.xlsx", people=rows)
    with pytest.raises(TableInputError, match=r"cells beside the named columns stand in rows 3, 4, 6"):
        dt.profile(path)
    for wrong, told in ((2, "Row 2 of 't.xlsx' must hold the names"), (4, "Row 4 of"), (9, r"--header-row 3")):
        with pytest.raises(TableInputError, match=told):
            dt.profile(dt.read(path, header_row=wrong))
    report = dt.profile(dt.read(path, header_row=3))
    assert (report.names, report.size) == (("town", "age"), 3)
    assert [f.places for f in report.findings if f.what == "missing"] == [(5,)]
    assert report.reading.options() == " --header-row 3"
    for bad in (0, "2.000", "three"):
        with pytest.raises(TableInputError, match="header_row"):
            dt.profile(dt.read(path, header_row=bad))
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", 1, relation="add-remove")
        book["town"].admit(dt.read(path, header_row=3))
        asked = {"count": "age >= 7", "by": ["town"], "domain": {"town": ["a", "b"]}, "epsilon": "1/2"}
        assert book["town"].release(path, **asked).size == 2
        assert book.book.admission("town", "1").reading["header_row"] == 3
    with pytest.raises(TableInputError, match="A table in memory is not read by header_row; leave that out"):
        dt.profile(dt.read(pyarrow.table({"a": [1]}), header_row=3))


def far(place):
    return f'<c r="{place}"><v>3</v></c>'


ROW = "</row><row r='1048576'>"


@pytest.mark.parametrize(
    "row",
    [
        [far("XFD1048576")],
        [far("CV1048576")],
        [far("XFD3"), far("B1048576")],
        ["<c r='XFD1048576' t='str'><v>x</v></c>"],
        [far("XFD3") + ROW + "<c><v>3</v></c>"],  # below, by its row alone
        ["<c><v>3</v></c>" * 16384 + ROW + "<c><v>3</v></c>"],  # and to the right by those before it
        [far("xfd1048576").replace("<c ", "<c\ns='1' ")],
        [far("XFD3") + "</row>" + "<row/>" * 10**5 + "<row><c><v>3</v></c>"],  # below, by the rows above it
    ],
    ids=["corner", "hundredth", "two", "quotes", "row", "unplaced", "spelling", "empty rows"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_cell_far_from_the_table_is_a_sentence_and_not_the_end(tmp_path, row, encoding):
    """The library would take 549 GB for the corner of a sheet, and end the process; 3.2 GB for its hundredth column."""
    path = workbook(tmp_path / "t.xlsx", encoding, people=[["x", "y"], [1.0, 2.0], row])
    told = r"'t.xlsx' spans (1048576|100004) rows and (16384|100) columns, up to (XFD|CV)1\d+, which is more than 67108864 cells"
    with pytest.raises(TableInputError, match=told):
        dt.profile(path)


def test_two_cells_in_a_small_file_end_nothing(tmp_path):
    """As spreadsheets save them, packed, and with their farthest cells said; and as many cells as there may be are read."""
    for place, size in (("XFD1048576", 1048576 * 16384), ("CV1048576", 1048576 * 100)):
        path = workbook(tmp_path / "t.xlsx", people=[[far("A1"), far(place)]])
        assert packed(path).stat().st_size < 2500
        with pytest.raises(TableInputError, match="is more than 67108864 cells; clear what stands far"):
            dt.profile(path)
        assert excel._span(HeldFile(path), "people", None) == (1048576, size // 1048576)


def test_cells_that_only_have_a_style_may_stand_anywhere(tmp_path):
    """Spreadsheets write such cells down to the last row."""
    empty = ['<c r="XFD3" s="1"/>', "</row><row r='1048576'><c r='A1048576' s='1'></c>"]
    assert dt.profile(workbook(tmp_path / "t.xlsx", people=[["x", "y"], [1.0, 2.0], empty])).size == 1
    path = workbook(tmp_path / "t.xlsx", people=[["x", "y"], [1.0, 2.0], [far("B100000")]])
    report = dt.profile(path)
    assert (report.size, report.findings[0].places) == (2, (100000,))


def test_as_many_cells_as_there_may_be_and_not_one_more(tmp_path, monkeypatch):
    """Of another sheet it does not matter."""
    monkeypatch.setattr(excel, "_CELLS", 200)
    for row, held in ((100, True), (101, False)):
        path = workbook(
            tmp_path / "t.xlsx",
            people=[[text("x", "A1"), text("y", "B1")], [far(f"B{row}")]],
            more=[[far("XFD1048576")]],
        )
        if held:
            assert dt.profile(dt.read(path, sheet="people")).size == 1
        else:
            with pytest.raises(
                TableInputError, match="101 rows and 2 columns, up to B101, which is more than 200 cells"
            ):
                dt.profile(dt.read(path, sheet="people"))


@pytest.mark.parametrize("block", [37, 500, 2**22])
@pytest.mark.parametrize("is_placed", [True, False])
def test_the_span_of_a_sheet_is_what_the_library_makes_of_it(tmp_path, monkeypatch, block, is_placed):
    """In whatever pieces it is looked at, from the first row and column to the farthest cell with something in it."""
    monkeypatch.setattr(excel, "_BLOCK", block)
    draw = random.Random(5)
    for _ in range(20):
        lines = []
        for row in range(draw.randrange(1, 30)):
            cells = []
            for column in range(draw.randrange(1, 40)):
                where = f' r="{excel._letters(column + 1)}{row + 1}"' if is_placed or draw.random() < 0.1 else ""
                cells.append(f"<c{where}><v>1</v></c>" if draw.random() < 0.1 else f"<c{where}/>")
            lines.append(["".join(cells), *(["</row><row r='99'>"] if draw.random() < 0.03 else [])])
        path = workbook(tmp_path / "t.xlsx", people=lines)
        sheet = calamine.CalamineWorkbook.from_path(path).get_sheet_by_name("people")
        with zipfile.ZipFile(path) as archive:
            content = archive.read("xl/worksheets/sheet1.xml")
        rows, columns = excel._Cells().span(io.BytesIO(content), None)
        assert (rows, columns) == tuple(k + 1 for k in sheet.end or (-1, -1))


@pytest.mark.parametrize(
    ("letters", "number"), [("A", 1), ("Z", 26), ("AA", 27), ("AZ", 52), ("ZZ", 702), ("XFD", 16384)]
)
def test_columns_have_letters(letters, number):
    assert excel._number(letters) == number
    assert excel._letters(number) == letters


def packed(path, *parts):
    """All of it packed, with some parts more."""
    with zipfile.ZipFile(path) as archive:
        before = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*before, *parts]:
            archive.writestr(name, content)
    return path


def test_what_is_packed_beyond_measure_is_not_unpacked(tmp_path):
    path = packed(workbook(tmp_path / "t.xlsx", people=[["x"], [1.0]]), ("xl/sharedStrings.xml", b" " * (2**26 + 1)))
    with pytest.raises(TableInputError, match=r"'t.xlsx' unpacks from 0.1 MB to 64 MB, more than a table is read from"):
        dt.profile(path)
    small = packed(workbook(tmp_path / "t.xlsx", people=[["x"], [1.0]]), ("xl/media/a.bin", b" " * 2**20))
    assert dt.profile(small).size == 1  # pictures may be packed well


def test_a_part_that_is_there_twice_is_refused(tmp_path):
    path = workbook(tmp_path / "t.xlsx", people=[["x"], [1.0]])
    with pytest.raises(TableInputError, match="no readable Excel file"):
        dt.profile(packed(path, ("XL/worksheets\\sheet1.xml", "<worksheet/>")))


def test_reading_ends_where_it_is_told_to(tmp_path):
    """By whoever hears how far it is: the studio calls off what nobody waits for."""
    told = []

    def enough(line):
        told.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dt.profile(workbook(tmp_path / "t.xlsx", people=[["x"], [1.0]]), progress=enough)
    assert told == ["reading the sheet"]


def test_rows_come_as_they_stand_whatever_is_left_out(tmp_path):
    """Against what was written, place by place, and rows by their numbers in the sheet."""
    draw = random.Random(7)
    for _ in range(5):
        at = {(draw.randrange(2, 60), draw.randrange(4)): draw.randrange(100) for _ in range(draw.randrange(1, 40))}
        lines = [["a", "b", "c", "d"]]
        for row in sorted({row for row, _ in at}):
            cells = [f'<c r="{"ABCD"[c]}{row}"><v>{at[row, c]}</v></c>' for c in range(4) if (row, c) in at]
            lines.append(["".join(cells)])
        found = Excel(HeldFile(workbook(tmp_path / "t.xlsx", people=lines)), Reading())
        found.bind(["d", "a"])
        ((numbers, columns),) = found.placed()
        rows = sorted({row for row, _ in at})
        assert numbers.tolist() == rows
        for column, place in zip(columns, (3, 0), strict=True):
            assert column.to_pylist() == [str(at[row, place]) if (row, place) in at else None for row in rows]


def damaged(draw, sheet):
    """A sheet after one to three accidents: bytes changed, cut out or put in, places of rows and cells mixed up."""
    pieces = [b'r="1"', b'r="0"', b'r="99"', b'r="A0"', b'r="AZ3"', b"<row>", b"</row>", b"<c/>", b'<row r="3"/>']
    pieces += [b't="s"', b't="e"', b"<v>1e999</v>", b"&#0;", b"\xff", b"<!--", b'<dimension ref="B5:C9"/>']
    for _ in range(draw.randrange(1, 4)):
        at, kind = draw.randrange(len(sheet)), draw.randrange(4)
        places = [found.span() for found in re.finditer(rb'r="[^"]*"', sheet)]
        start, end = draw.choice(places) if kind == 3 and places else (at, at + (0, 1, 25, 0)[kind])
        sheet = sheet[:start] + draw.choice(pieces) * (kind != 2) + sheet[end:]
    return sheet


def test_a_damaged_sheet_is_read_from_any_row_or_refused(tmp_path):
    """No other error leaves the reader, and what it reads are texts below the row of names, as many as there are names."""
    draw, path, ends = random.Random(28), tmp_path / "t.xlsx", {"read": 0, "refused": 0}
    rows = [["Residents", "", ""], ["", "", ""], ["town", "age"], ["a", 30.0], ["b", ""], ["b", 7.0]]
    placed = [[text(value, "ABC"[k] + str(n)) for k, value in enumerate(row)] for n, row in enumerate(rows, 1)]
    for tries in range(200):
        workbook(path, people=rows if tries % 2 else placed)
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        parts["xl/worksheets/sheet1.xml"] = damaged(draw, parts["xl/worksheets/sheet1.xml"])
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        for row in (1, 3, 4, 7, 2**20):
            try:
                sheet = Excel(HeldFile(path), Reading(header_row=row))
            except TableInputError:
                ends["refused"] += 1
                continue
            ends["read"] += 1
            assert all(isinstance(name, str) and name.strip() for name in sheet.header)
            for numbers, columns in sheet.parts:
                assert len(columns) == len(sheet.header)
                assert min(numbers) > row
                assert all(isinstance(cell, str) for column in columns for cell in column.to_pylist())
    assert min(ends.values()) > 5


def text(value, place):
    """A cell that says where it stands."""
    return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
