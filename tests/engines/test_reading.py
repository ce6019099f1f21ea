"""Ways of reading: the same people, however an office's program wrote them, and no silent misreading."""

from __future__ import annotations

import csv
import io
import shlex

import pytest

import discreet as dt
from discreet.engines.reading import Reading
from discreet.errors import TableInputError
from discreet.questions.domain import Domain
from tests.engines.one_count import count_groups

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

TOWNS = ["Zürich", "Genève", "Köniz; Süd", 'St. "Gallen"', "O'Berg"]
ROWS = [(TOWNS[k % 5], ["1.5", "2", "10.25", "", "NA"][k % 5], str(k % 3)) for k in range(60)]
DOMAIN = Domain.of({"Ort": TOWNS})


def written(path, reading: Reading, separator: str, rows=ROWS):
    """The rows by the standard library's writer, in that way."""
    how = {"quotechar": reading.quote} if reading.quote else {"quoting": csv.QUOTE_NONE, "quotechar": None}
    text = io.StringIO(newline="")
    out = csv.writer(text, delimiter=separator, **how)
    out.writerow(["Ort", "Einkommen", "Zahl"])
    for town, income, number in rows:
        out.writerow([town, income.replace(".", reading.decimal or "."), number])
    path.write_bytes(text.getvalue().encode(reading.encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "iso8859-15", "cp850"])
@pytest.mark.parametrize(
    ("separator", "decimal", "quote"), [(";", ",", '"'), ("tab", ",", "'"), ("|", ".", "none"), (None, ".", '"')]
)
def test_people_are_counted_alike_however_they_are_written(tmp_path, encoding, separator, decimal, quote):
    reading = Reading.of(encoding=encoding, separator=separator, decimal=decimal, quote=quote, null="NA")
    path = written(tmp_path / "t.csv", reading, reading.separator or ",")
    asked = {
        "einkommen >= 1.75": lambda x: x not in ("", "NA", "1.5"),
        "einkommen IS NULL": lambda x: x in ("", "NA"),
    }
    for predicate, holds in asked.items():
        found = count_groups(path, predicate=predicate, by=["ort"], domain=DOMAIN, reading=reading)
        assert found.counts.tolist() == [sum(t == town and holds(x) for t, x, _ in ROWS) for town in TOWNS]
        assert found.dropped == 0
    whole = count_groups(path, predicate=None, by=["Zahl"], domain=Domain.of({"Zahl": [0, 1, 2]}), reading=reading)
    assert whole.sizes.tolist() == [20, 20, 20]


def test_a_number_with_the_other_mark_is_missing_and_never_another_number(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x\n1.234\n1,5\n2\n-3,0\n")
    lines = path.read_text().replace("\n", ";1\n").replace("x;1", "x;y")
    path.write_text(lines)

    def count(predicate, decimal):
        reading = Reading.of(separator=";", decimal=decimal)
        return count_groups(path, predicate=predicate, by=[], domain=Domain.of({}), reading=reading).counts.tolist()

    assert [count("x > 1.4 or x = -3", ","), count("x < 1.4", ","), count("x = 1.2340", ".")] == [[3], [1], [1]]
    assert [count("x < 2", "."), count("x > 1000", ",")] == [[1], [0]]
    keys = Domain.of({"x": [-3, 2]})
    found = count_groups(path, predicate=None, by=["x"], domain=keys, reading=Reading.of(separator=";", decimal=","))
    assert found.sizes.tolist() == [1, 1]
    comma = Reading.of(separator=";", decimal=",")
    texts = count_groups(path, predicate=None, by=["x"], domain=Domain.of({"x": ["1,5"]}), reading=comma)
    assert texts.sizes.tolist() == [1]  # a text stays what it is


@pytest.mark.parametrize(
    ("content", "options", "told"),
    [
        ("Ort\nZürich\n".encode("latin-1"), {}, "line 2 is no text in UTF-8; say its encoding"),
        (
            b"Ort\na\nb\x80\n",
            {"encoding": "latin-1"},
            "line 3 is no text in iso8859-1; say another encoding, such as cp1252",
        ),
        (b"Ort\n\xfc\nb\x81\n", {"encoding": "cp1252"}, "line 3 is no text in cp1252"),
        (b'Ort,x\n"a,1\n', {}, r"line 2 is opened by a quotation mark that is never closed.*\(quote, separator\)"),
        (b"Ort,x\na,1,2\nb,1\nc\n", {}, "lines 2, 4 are not of 2 fields"),
        (b"\xef\xbb\xbfOrt\na\n", {"encoding": "latin-1"}, "byte order mark of UTF-8.*leave out the encoding"),
        (b"Ort\na\n\0\n", {}, "line 3 is no text: it holds a zero byte; take it out, or convert"),
        (b"Ort,x\na\rb,1\n", {}, "line 2 is broken by a carriage return"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_line(tmp_path, content, options, told):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableInputError, match=told) as caught:
        count_groups(path, predicate=None, by=["Ort"], domain=Domain.of({"Ort": ["a"]}), reading=Reading.of(**options))
    assert "rich" not in str(caught.value)


@pytest.mark.parametrize(
    ("end", "advice"), [(b"\r\n", "shorten it"), (b"\n", "shorten it"), (b"\r", "write LF or CR LF")]
)
def test_a_line_that_is_too_long_may_lack_its_end(tmp_path, end, advice):
    """Where carriage returns alone end the lines that it is made of, they are what to write otherwise."""
    path = tmp_path / "t.csv"
    path.write_bytes(b"Ort\r\na" + end + b"b" * 2**22 + end)
    number = 2 if end == b"\r" else 3
    with pytest.raises(TableInputError, match=f"line {number} is longer than 1048576 bytes; {advice}"):
        count_groups(path, predicate=None, by=["Ort"], domain=Domain.of({"Ort": ["a"]}))


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "utf-16"},
        {"encoding": "shift-jis"},
        {"encoding": "utf-7"},
        {"encoding": "nonsense"},
        {"encoding": 3},
        {"separator": ""},
        {"separator": "ab"},
        {"separator": "x"},
        {"separator": "\n"},
        {"decimal": ";"},
        {"quote": "ab"},
        {"quote": ";", "separator": ";"},
        {"null": 3},
        {"null": [1]},
        {"encoding": "cp037"},
    ],
)
def test_ways_of_reading_that_make_no_sense_are_refused(options):
    with pytest.raises(TableInputError):
        Reading.of(**options)


def test_a_way_of_reading_survives_being_written_down():
    for reading in (Reading(), Reading.of(encoding="cp1252", separator="tab", decimal=",", quote="none", null="NA,..")):
        assert Reading.from_dict(reading.to_dict()) == reading
    assert Reading().options() == ""
    told = Reading.of(encoding="latin-1", separator="\t", null="NA").options()
    assert told == " --encoding iso8859-1 --separator tab --null NA"
    told = Reading.of(separator=";", quote="'", null="k. A.").options()  # a shell reads these as they are meant
    assert shlex.split(told) == ["--separator", ";", "--quote", "'", "--null", "k. A."]


def test_the_names_may_stand_below_titles(tmp_path):
    """Lines keep the numbers that an editor shows, and what stands above the names is read by nobody, whatever it is."""
    path = tmp_path / "t.csv"
    for mark, end in ((b"", b"\n"), (b"\xef\xbb\xbf", b"\r\n")):
        lines = [b'Residents "of;the town', b"\xff\x00;;;;;", b"", b"town;age", b"a;30", b"b;", b'"b";7']
        path.write_bytes(mark + end.join(lines) + end)
        report = dt.profile(dt.read(path, separator=";", header_row=4))
        assert (report.names, report.size) == (("town", "age"), 3)
        assert [f.places for f in report.findings if f.what == "missing"] == [(6,)]
        assert report.reading.options() == " --separator ';' --header-row 4"
        for row, told in (
            (3, "as line 3; put one first"),
            (8, "as line 8"),
            (9, "as line 9"),
            (2**20, "as line 1048576"),
        ):
            with pytest.raises(TableInputError, match=told):
                dt.profile(dt.read(path, separator=";", header_row=row))
    path.write_bytes(b"A title\n\ntown;age\na;30\nb;1;2\n")
    with pytest.raises(
        TableInputError, match=r"lines 3, 4, 5 are not of 1 fields as the first line .* \(--header-row 3\)"
    ):
        dt.profile(dt.read(path, separator=";"))
    with pytest.raises(TableInputError, match="line 5 is not of 2 fields as line 3 is"):
        dt.profile(dt.read(path, separator=";", header_row=3))
    path.write_bytes(
        b"town;age\na;30\nb\nc;1\n\nd;5\n"
    )  # a line that lacks a field is no reason to look for the names elsewhere
    with pytest.raises(
        TableInputError, match="line 3 is not of 2 fields as the first line is; complete such a line"
    ) as odd:
        dt.profile(dt.read(path, separator=";"))
    assert odd.value.remedies == ()
    path.write_bytes(b"town;pay, gross\na;1,5\nb;2,5\nc;3\nd;4,5\n")  # most lines have one comma, but all a semicolon
    with pytest.raises(TableInputError, match=r"line 4 is not of 2 fields .*; or say the separator") as odd:
        dt.profile(path)
    assert odd.value.remedies == (("separator", ";"),)
    path.write_bytes(b"A title\ntown;age\na;30\n")
    with pytest.raises(TableInputError, match=r'Line 2 of .* --separator ";"'):
        dt.profile(dt.read(path, header_row=2))
