"""Excel files: cells as a text file's fields, dates in ISO, what a sheet does not keep exactly refused."""

from __future__ import annotations

import zipfile
from xml.sax.saxutils import escape

import pytest

import discreet as dt
from discreet.engines.duckdb import count_groups
from discreet.engines.reading import Reading
from discreet.errors import TableInputError
from discreet.questions.domain import Domain

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


def workbook(path, **sheets):
    """The smallest workbook that is read, written by hand: no library decides what stands in it."""
    links, kind = f"{_PACK}/relationships", "application/vnd.openxmlformats-officedocument.spreadsheetml"
    files = [f"worksheets/sheet{k}.xml" for k, _ in enumerate(sheets, 1)]
    named = [f'<sheet name="{name}" sheetId="{k}" r:id="rId{k}"/>' for k, name in enumerate(sheets, 1)]
    types = {"workbook.xml": "sheet.main", "styles.xml": "styles", **dict.fromkeys(files, "worksheet")}
    content = [f'<Override PartName="/xl/{name}" ContentType="{kind}.{what}+xml"/>' for name, what in types.items()]
    formats = "".join(f'<xf numFmtId="{number}" applyNumberFormat="1"/>' for number in (0, 14, 22))  # plain, day, moment
    parts = {
        "[Content_Types].xml": part("Types", f"{_PACK}/content-types", *content),
        "_rels/.rels": part("Relationships", links, related(1, "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": part("workbook", _MAIN, "<sheets>", *named, "</sheets>"),
        "xl/_rels/workbook.xml.rels": part("Relationships", links, related(99, "styles", "styles.xml"),
                                           *(related(k, "worksheet", file) for k, file in enumerate(files, 1))),
        "xl/styles.xml": part("styleSheet", _MAIN, f'<cellXfs count="3">{formats}</cellXfs>'),
    }  # fmt: skip
    for file, rows in zip(files, sheets.values(), strict=True):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/{file}"] = part("worksheet", _MAIN, f"<sheetData>{lines}</sheetData>")
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
        ["town", "x", "day", "ok"], ["Zürich", 1.0, DAY, True], ["Zürich", 1.5, DAY, False], ["b c", -0.0, MOMENT, None],
        [None, None, None, None], [ERROR, UNKNOWN, None, True], ["NA", 2**53 - 1, None, True], ["7", "1,5", None, None],
    ]  # fmt: skip
    path = workbook(tmp_path / "t.xlsx", people=rows)
    assert counted(path, "town", ["Zürich", "b c", "NA", "7", None]) == [2, 1, 1, 1, 1]
    assert counted(path, "town", ["Zürich", None], null="NA") == [2, 2]
    assert counted(path, "x", [1, 0, 2**53 - 1, None]) == [1, 1, 1, 2]  # "1,5" is no number: missing
    assert counted(path, "x", [0], "x > 1.4") == [0]
    assert counted(path, "day", ["2020-01-31", "2020-01-31 12:00:00", None]) == [2, 1, 3]
    assert counted(path, "ok", [True, False, None]) == [3, 1, 2]
    for decimal, expected in ((".", [1]), (",", [2])):
        found = count_groups(path, predicate="x = 1.5", by=[], domain=Domain.of({}), reading=Reading.of(decimal=decimal))
        assert found.counts.tolist() == expected


def test_admission_lists_empty_cells_by_their_rows(tmp_path):
    path = workbook(tmp_path / "t.xlsx", people=[["town", "x"], ["a", 1.0], ["a", ERROR], ["b", UNKNOWN], [None, None], ["b", 2.0]])
    report = dt.look(path)
    (gone,) = [f for f in report.findings if f.column == "x"]
    assert (report.size, report.place, gone.count, gone.places) == (4, "row", 2, (3, 4))
    assert "formulas without a value" in gone.advice
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", "1", relation="bit", public=["town"])
        book.admit(path, "town")
        made = dt.release(path, dataset="town", ledger=book, by=["town"], domain={"town": ["a", "b"]}, count="x > 1", epsilon=1)
        assert made.columns["n"] == [2, 2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([["x"], [1.0], [float(2**53)]], r"whole numbers of 2\^53 and beyond, .* stand in row 3; write them as texts"),
        ([["x"], [-1e300]], "stand in row 2; write them as texts"),
        ([["x", None], [1.0, 2.0]], "cells beside the named columns stand in row 2"),
        ([["x", 3.0], [1.0, 2.0]], "first row"),
        ([["x", "X"], [1.0, 2.0]], "same name"),
    ],
)
def test_what_a_sheet_does_not_keep_is_refused(tmp_path, rows, told):
    with pytest.raises(TableInputError, match=told):
        dt.look(workbook(tmp_path / "t.xlsx", people=rows))


def test_one_of_several_sheets_is_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", one=[["x"], [1.0]], two=[["x"], [2.0], [2.0]])
    with pytest.raises(TableInputError, match="2 sheets; say which one"):
        dt.look(path)
    with pytest.raises(TableInputError, match="no sheet 'three'"):
        dt.look(path, sheet="three")
    assert (dt.look(path, sheet="one").size, dt.look(path, sheet="two").size) == (1, 2)
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(TableInputError, match="no readable Excel file"):
        dt.look(tmp_path / "bad.xlsx")
