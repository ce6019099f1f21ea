"""Presenting: one set of plain values, the same story as text, as HTML and as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.present.html import section
from discreet.present.views import Result, View
from discreet.present.words import cell, csv_text, text

TABLE = View("Two rows", ("name", "n", "epsilon <="), (("a", 10, 0.12345678), ("<b>", 9, 1 / 3)), ("a note",))


@dataclass(frozen=True, repr=False)
class Small(Result):
    words: str

    def view(self) -> View:
        return View(self.words, TABLE.columns, TABLE.rows)

    def to_dict(self) -> dict[str, Any]:
        return {"words": self.words}


def test_text_has_columns_below_each_other():
    lines = text(TABLE).splitlines()
    assert lines == ["Two rows", "name   n  epsilon <=", "a     10      0.1235", "<b>    9      0.3334", "a note"]


def test_a_bound_is_rounded_up_and_a_number_is_not():
    assert cell(0.12341, above=True) == "0.1235"
    assert cell(0.12341) == "0.12341"
    assert (cell(True), cell(False), cell(None), cell(float("nan"))) == ("yes", "NO", "", "")
    assert cell(Fraction(1, 3)) == "1/3"


def test_a_bound_from_below_is_rounded_down_and_a_number_is_not():
    rows = [{"lower bound": 1.23456, "at least": 9.87e-9 / 7, "mean": 1.23456}]
    number, small, mean = text(View.of("", rows)).splitlines()[-1].split()
    assert (number, mean) == ("1.2345", "1.2346")
    assert Fraction(small) <= Fraction(9.87e-9 / 7) < Fraction(small) + Fraction(1, 10**13)


def test_long_tables_say_what_they_leave_out():
    long = View("t", ("k",), tuple((k,) for k in range(1000)))
    assert "... and 976 more rows" in text(long)
    assert text(long).count("\n") == 26
    assert "... and 900 more rows" in section(long)


def test_html_escapes_everything():
    page = section(View("<script>", ("<i>",), (("<img>",),), ("&",)))
    assert "<script>" not in page
    assert "<img>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;" in page
    assert "<p>&amp;</p>" in page
    assert section(View("t", notes=("a<", "b"))).endswith("<p>a&lt;<br>b</p></div>")


def test_an_empty_table_is_not_drawn():
    empty = View("nothing yet", ("a", "b"))
    assert text(empty) == "nothing yet"
    assert "<table>" not in section(empty)


def test_parts_stand_between_the_table_and_the_notes():
    shown = View("t", ("k",), ((1,),), ("a note",), (View("part", ("x",), ((2,),)),))
    assert text(shown) == "t\nk\n1\n\npart\nx\n2\n\na note"
    page = section(shown)
    assert page.index("<td") < page.index("part") < page.index("a note")


def test_rows_that_are_not_given_are_counted():
    assert "... and 7 more rows" in text(View("t", ("k",), ((1,),), more=7))


def test_the_points_of_a_column_are_aligned():
    lines = text(View("", ("x", "small"), ((0.5, 1e-9), (12.25, 2e-9), (-1e-17, 0.0), (None, 3e-9)))).splitlines()
    assert lines == ["      x  small", " 0.5000  1e-09", "12.2500  2e-09", " 0.0000      0", "         3e-09"]


def test_a_cell_is_one_line_and_steers_no_terminal():
    assert cell("a\nb\x1b[31m\u2028c") == "a b [31m c"
    assert repr(Small("one\rtwo\x1b[31m")).isprintable()


def test_every_result_is_alike():
    result = Small("x" * 1000 + "\nsecond line")
    assert repr(result).startswith("<Small xxx")
    assert len(repr(result)) < 200
    assert "\n" not in repr(result)
    assert str(result).splitlines()[1] == "second line"
    assert result.rows()[1] == {"name": "<b>", "n": 9, "epsilon <=": 1 / 3}
    assert result._repr_html_().startswith("<div>")


def test_csv_has_the_numbers_in_full():
    assert csv_text([]) == ""
    assert csv_text([{"a": 1 / 3, "b": "x,y"}]) == 'a,b\n0.3333333333333333,"x,y"\n'


def test_what_is_shown_steers_no_terminal():
    shown = View("a\x1b[2J\nb\r", ("c\n",), (("\x07",),), ("d\x1b",))
    told = text(View("", parts=(shown,)))
    assert told.replace("\n", "").isprintable()
    assert told.splitlines() == ["", "a [2J", "b ", "c", "", "d "]
