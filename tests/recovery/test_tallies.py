"""Files of reports: what is in them is read as it stands, or refused in a sentence; nothing is guessed."""

from __future__ import annotations

from fractions import Fraction

import pytest

import discreet as dt
from discreet.errors import RecoveryError
from discreet.recovery.tallies import Reports, layout_of, read_reports

SEVEN = {3: 5, 1: 2}

READ = {
    "one in each line": "3\n3\n1\n3\n3\n1\n3\n",
    "a name above": "y\n3\n3\n1\n3\n3\n1\n3",
    "a tally": "age,count\n3,4\n1,2\n3,1\n",
    "its columns the other way": "count,age\n4,3\n2,1\n1,3\n",
    "in capitals": "Age,Count\n3,4\n1,2\n3,1\n",
    "semicolons": "age;count\n3;4\n1;2\n3;1\n",
    "tabs": "age\tcount\n3\t4\n1\t2\n3\t1\n",
    "a mark in front": b"\xef\xbb\xbfage,count\n3,5\n1,2\n",
    "UTF-16, as spreadsheets save text": "age\tcount\n3\t5\n1\t2\n".encode("utf-16"),
    "Latin-1 names": "Größe;count\n3;5\n1;2\n".encode("latin-1"),
    "quotes": '"age","count"\n"3","5"\n"1","2"\n',
    "a comma in a quoted name": '"age, in years",count\n3,5\n1,2\n',
    "a separator in a quoted name": '"age; years",count\n3,5\n1,2\n',
    "blank lines": "\n\ny\n3\n\n3\n1\n3\n \n3\n1\n3\n\n",
    "CRLF": "age,count\r\n3,5\r\n1,2\r\n",
    "CR alone": "age,count\r3,5\r1,2\r",
    "a hint of spreadsheets": "sep=;\r\nage;count\r\n3;5\r\n1;2\r\n",
    "empty columns at the end": "y,,\n3,,\n3,,\n1,,\n,,\n3,,\n3,,\n1,,\n3,,\n",
    "blanks around": " age , count \n 3 , 5 \n 1 , 2 \n",
    "other spellings of a number": "y\n3.0\n+3\n1e0\n6/2\n0.3e1\n1\n3\n",
}


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_what_is_clear_is_read(text):
    assert read_reports(text) == Reports(SEVEN)


REFUSED = {
    "two numbers, no names": ("0,12\n1,3\n", "2 numbers and no names"),
    "the same with semicolons": ("0;12\n", "2 numbers and no names"),
    "a decimal comma": ("1,5\n2,5\n", "write a point"),
    "below a name": ("y\n1,5\n", "write a point"),
    "in a later line alone": ("y\n3\n1\n1,5\n", "Line 4"),
    "in quotes": ('"1,5"\n"2,5"\n', "write a point"),
    "thousands": ('y\n"1,500"\n', "write a point"),
    "beside a count": ("y;count\n1,5;3\n", "write a point"),
    "a number with blanks": ("y\n1 500\n", "no number"),
    "no report at all": ("y\n", "no report"),
    "nothing": ("", "is empty"),
    "blank lines alone": ("\n \n\r\n", "is empty"),
    "words": ("y\n3\nx\n", "Line 3"),
    "NA": ("y\n3\nNA\n", "perturb them first"),
    "a missing report": ("y,count\n3,2\n,4\n", "Line 3 of The file has no report"),
    "a missing count": ("y,count\n3,2\n4\n", "Line 3"),
    "a negative count": ("y,count\n3,-2\n", "whole counts"),
    "half a count": ("y,count\n3,2.5\n", "whole counts"),
    "a count beyond counting": ("y,count\n3,99999999999999999\n", "whole counts"),
    "a line that is longer": ("y,count\n3,2,1\n", "3 columns where the first line has 2"),
    "not a number": ("y\nnan\n", "no number"),
    "infinity": ("y\ninf\n", "no number"),
    "a number of a book's length": (f"y\n{'1' * 5000}\n", "no number"),
    "a power beyond all": ("y\n1e-9999999\n", "no number"),
    "such a power without a name": ("1e-9999999\n1\n", "Line 1"),
    "a zip file": (b"PK\x03\x04\x14\x00\x06\x00\x08\x00", "not a text"),
    "a NUL further down": ("y\n\0\n", "no number"),
    "an open quote": ('y\n"3\n1\n2\n', "Line 2"),
    "a field without end": (f'y\n"{"x" * 200_000}', "cannot be read as CSV"),
    "bool": ("y\nTrue\n", "no number"),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_clear_is_refused_in_a_sentence(text, words):
    with pytest.raises(RecoveryError, match=words) as refused:
        read_reports(text)
    assert len(str(refused.value)) < 300
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("id,report\n1,3\n2,3\n", ("id", "report")),
        ("id;report;count\n1;3;2\n", ("id", "report", "count")),
        ("count,Count\n1,3\n", ("count", "Count")),
    ],
)
def test_of_several_columns_one_is_asked_for(text, columns):
    assert read_reports(text) == Reports({}, columns)


def test_columns_are_taken_by_their_names():
    text = "id,report,count,n\n7,3,4,1\n8,1,2,2\n9,1/2,2,3\n"
    assert read_reports(text, column="report").seen == {3: 4, 1: 2, Fraction(1, 2): 2}
    assert read_reports(text, column="report", counts="n").seen == {3: 1, 1: 2, Fraction(1, 2): 3}
    assert read_reports(text, column="count").seen == {4: 1, 2: 2}
    assert read_reports("id,report\n7,3\n8,1\n", column="report").seen == {3: 1, 1: 1}
    for given, words in (
        ({"column": "nobody"}, "no column nobody"),
        ({"column": "report", "counts": "report"}, "both reports and counts"),
        ({"column": "report", "counts": "nobody"}, "no column nobody"),
    ):
        with pytest.raises(RecoveryError, match=words):
            read_reports(text, **given)
    with pytest.raises(RecoveryError, match="several columns"):
        read_reports("y,y\n1,2\n", column="y")


def test_a_row_of_data_is_no_heading():
    """The first line may be of names in part: a number is then no name of a column."""
    assert read_reports("a17,3\nb4,2\n").columns == ("a17", "3")
    with pytest.raises(RecoveryError, match="name of a column"):
        read_reports("a17,3\nb4,2\n", column="3")


def test_many_different_lines_are_for_the_command_line():
    text = "y\n" + "\n".join(map(str, range(50)))
    assert len(read_reports(text, most=50).seen) == 50
    with pytest.raises(RecoveryError, match="more than 49 different lines"):
        read_reports(text, most=49)


def test_it_says_how_far_it_is_and_so_can_be_stopped():
    told = []
    read_reports("3\n" * 40_000, progress=told.append)
    assert told == ["line 1", "line 16385", "line 32769"]


def test_reports_are_counted_by_group_and_each_line_once_where_that_is_said():
    text = "region;age;count\nnorth;3;4\nsouth;1;2\nnorth;3;1\n"
    found = read_reports(text, column="age", by="region")
    assert found.groups == {"north": {3: 5}, "south": {1: 2}}
    assert found.seen == {3: 5, 1: 2}
    once = read_reports(text, column="age", by="region", counts=False)
    assert once.groups == {"north": {3: 2}, "south": {1: 1}}
    assert read_reports(text, column="age", counts=False).groups == {}
    assert read_reports("region,age\nnorth,3\n", by="region").seen == {3: 1}  # the one that is left
    for wrong in ({"column": "age", "by": "age"}, {"column": "age", "counts": "count", "by": "count"}):
        with pytest.raises(RecoveryError, match="cannot have the groups as well"):
            read_reports(text, **wrong)


def test_the_layout_is_the_one_that_is_read():
    assert layout_of("größe;n\n1;2\n".encode("latin-1")) == (("größe", "n"), ";", "latin-1")
    assert layout_of(b"1\n2\n") == ((), ",", "utf-8")
    names = dt.randomized_response(["yes", "no"], epsilon=1).outputs
    assert layout_of(b"yes\nno\n", names).names == ()
    assert layout_of(b"answer\nno\n", names).names == ("answer",)
