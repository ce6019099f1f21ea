"""Dates in declared forms against an independent reader: every day of 1850 to 2100 in every form, and texts that nearly are one."""

from __future__ import annotations

import random
from datetime import date, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest

import discreet as dt
from discreet.engines.dates import days_of, read_dates
from discreet.engines.reading import Reading
from discreet.engines.sources import open_table
from discreet.errors import PredicateError, TableInputError
from discreet.questions.domain import Domain
from discreet.questions.recoding import Recoding
from tests.asking import ask_admission, ask_preview, ask_release
from tests.cells import for_each

from .one_count import count_groups, refused
from .test_excel import workbook

FORMS = (
    "dd.mm.yyyy",
    "d.m.yyyy",
    "yyyy-mm-dd",
    "dd/mm/yyyy",
    "mm/dd/yyyy",
    "yyyymmdd",
    "m/d/yyyy",
    "dd-mm-yyyy",
    "ddmmyyyy",
)
DAYS = [date(1850, 1, 1) + timedelta(days=k) for k in range((date(2101, 1, 1) - date(1850, 1, 1)).days)]
LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parts_of(form):
    """The runs of equal letters of a form, and what stands between them."""
    runs: list[str] = []
    for letter in form:
        if runs and runs[-1][0] == letter:
            runs[-1] += letter
        else:
            runs.append(letter)
    return runs


def written(days, form):
    """Days in a form, by Python's own numbers."""
    pattern = "".join(f"{{{run[0]}:0{len(run)}d}}" if run[0] in "dmy" else run for run in parts_of(form))
    return [pattern.format(d=day.day, m=day.month, y=day.year) for day in days]


def read_slowly(text, form):
    """A day by hand, one character after another: no pattern, no library's idea of a date."""
    numbers, rest = {}, text
    for run in parts_of(form):
        if run[0] not in "dmy":
            if rest[:1] != run:
                return None
            rest = rest[1:]
            continue
        digits = ""
        most = 2 if len(run) == 1 else len(run)
        while rest and rest[0] in "0123456789" and len(digits) < most:
            digits, rest = digits + rest[0], rest[1:]
        if len(digits) < len(run):
            return None
        numbers[run[0]] = int(digits)
    year, month, day = numbers["y"], numbers["m"], numbers["d"]
    if rest or year == 0 or not 1 <= month <= 12:
        return None
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return date(year, month, day) if 1 <= day <= LENGTHS[month - 1] + (leap and month == 2) else None


def read(texts, form, **how):
    return days_of(pa.array(texts, pa.string()), form, **how).to_pylist()


@for_each("form", FORMS)
def test_every_day_of_250_years_is_read_in_every_form(form):
    assert read(written(DAYS, form), form) == DAYS
    if form == "d.m.yyyy":  # reads the longer ones too
        assert read(written(DAYS, "dd.mm.yyyy"), form) == DAYS


NEARLY = (
    *(
        "",
        " ",
        "unbekannt",
        "0",
        "-",
        "31",
        "31.12",
        "31.12.",
        "12.1990",
        ".12.1990",
        "31..1990",
        "31.12.19900",
        "31.12.990",
    ),
    *(
        "31.02.1990",
        "30.02.2000",
        "29.02.1900",
        "29.02.2000",
        "29.02.1999",
        "31.04.2000",
        "00.01.2000",
        "01.00.2000",
        "01.13.2000",
    ),
    *(
        "32.01.2000",
        "1.1.2000",
        "01.1.2000",
        "1.01.2000",
        "001.01.2000",
        "01.01.0000",
        "01.01.0001",
        "31.12.9999",
        "01.01.99",
    ),
    *(
        " 01.01.2000",
        "01.01.2000 ",
        "01 .01.2000",
        "01.01.2000\n",
        "\t01.01.2000",
        "01.01.2000\u00a0",
        "01.01.2000 12:00",
    ),
    *(
        "+1.01.2000",
        "-1.01.2000",
        "01.-1.2000",
        "01.01.-200",
        "01.01.2000 BC",
        "01.01.2000v",
        "44 BC",
        "01,01,2000",
        "01-01-2000",
    ),
    *(
        "\u0660\u0661.\u0660\u0661.\u0662\u0660\u0660\u0660",
        "\uff10\uff11.\uff10\uff11.\uff12\uff10\uff10\uff10",
        "01.01.20\u06f0\u06f0",
    ),
    *(
        "0x.01.2000",
        "1e.01.2000",
        "01.01.2e03",
        "01.Jan.2000",
        "01.01.2000T",
        "2000-01-01",
        "2000-13-01",
        "2000-02-30",
        "20000101",
    ),
    *(
        "0000-01-01",
        "20001301",
        "2000011",
        "200001011",
        "01/13/2000",
        "13/01/2000",
        "1/1/2000",
        "01012000",
        "31021990",
        "2000-1-1",
    ),
    *(
        "2000-W01-1",
        "2000-001",
        "now",
        "today",
        "infinity",
        "epoch",
        "NULL",
        "1\u00b2.01.2000",
        "01.01.2000\r",
        "01\u2024 01.2000",
    ),
)


@for_each("form", FORMS)
def test_what_is_nearly_a_date_is_read_as_the_slow_reader_does(form):
    shuffled, letters = random.Random(28), "0123456789./- dmy\u0661"
    texts = [*NEARLY]
    for text in written(shuffled.sample(DAYS, 400), form):
        at = shuffled.randrange(len(text))
        texts += [text[:at] + shuffled.choice(letters) + text[at + 1 :], text[:at] + text[at + 1 :]]
        texts += [text[:at] + shuffled.choice(letters) + text[at:], text * 2]
    expected = [read_slowly(text, form) for text in texts]
    assert read(texts, form) == expected
    assert None in expected
    assert any(expected)
    assert read([None, *texts], form, also_iso=True) == [
        None,
        *(day or read_slowly(text, "yyyy-mm-dd") for text, day in zip(texts, expected, strict=True)),
    ]


def test_whole_numbers_are_dates_where_all_eight_digits_are_there():
    assert days_of(pa.array([20000101, 20001301, None, -20000101, 101]), "yyyymmdd").to_pylist() == [
        *(date(2000, 1, 1), None, None, None, None)
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("born:dd.mm.yy", "25 may mean 1925 or 2025"),
        ("born:yymmdd", "two digits|form of dates"),
        ("born:dmyyyy", "not a form"),
        ("born:yyyy-dd-mm", "not a form"),
        ("born:dd.mm-yyyy", "not a form"),
        ("born:dd.mm.yyyy hh:mm", "not a form"),
        ("born", "with their column"),
        (":dd.mm.yyyy", "with their column"),
        (["a:dd.mm.yyyy", "A:d.m.yyyy"], "two forms"),
        ({"a": 3}, "not a form"),
        (7, "Declare dates as"),
        ([7], "Declare dates as"),
        ({7: "dd.mm.yyyy"}, "with their column"),
    ],
)
def test_a_form_that_cannot_be_read_is_refused(given, told):
    with pytest.raises(TableInputError, match=told):
        read_dates(given)


def test_a_reading_with_dates_is_kept_and_said_again():
    reading = Reading.of(dates=["a b:TT.MM.JJJJ", "c:yyyymmdd"])
    assert Reading.from_dict(reading.to_dict()) == reading
    assert reading.options() == " --dates 'a b:dd.mm.yyyy' --dates c:yyyymmdd"
    assert "dates" not in Reading().to_dict()


PEOPLE = {
    "born": ["31.12.1989", "01.01.1990", "29.02.2000", "31.02.1990", "unbekannt", None, "01.01.1990"],
    "g": list("aabbaba"),
}


def sources(folder):
    """The same people in every kind of table that has texts."""
    table = pa.table(PEOPLE)
    text = folder / "p.csv"
    rows = zip(*PEOPLE.values(), strict=True)
    text.write_text("title\nborn;g\n" + "".join(f"{a or ''};{b}\n" for a, b in rows))
    import pyarrow.parquet as pq

    pq.write_table(table, folder / "p.parquet")
    coded = table.set_column(0, "born", table["born"].combine_chunks().dictionary_encode())
    return [
        (text, Reading.of(separator=";", header_row=2, dates="BORN:dd.mm.yyyy")),
        *((each, Reading.of(dates={"born": "dd.mm.yyyy"})) for each in (folder / "p.parquet", table, coded)),
        *(
            (each, Reading.of(dates={"born": "dd.mm.yyyy"}))
            for each in (table.to_pandas(), table.to_pandas(types_mapper=pd_types))
        ),
    ]


def pd_types(kind):
    import pandas as pd

    return pd.ArrowDtype(kind)


def test_conditions_keys_bands_and_ages_compare_dates_in_every_kind_of_table(tmp_path):
    pytest.importorskip("pandas")
    for table, reading in sources(tmp_path):

        def counted(table=table, reading=reading, **asked):
            asked = {"predicate": None, "by": ["g"], "domain": Domain.of({"g": ["a", "b"]}), **asked}
            return count_groups(table, reading=reading, **asked)

        assert counted(predicate="born < '1990-01-01'").counts.tolist() == [1, 0]
        assert counted(predicate="born >= '1990-01-01'").counts.tolist() == [2, 1]
        assert counted(predicate="born IS NULL").counts.tolist() == [1, 2]
        assert counted(predicate="born in ('1990-01-01', '2000-02-29')").counts.tolist() == [2, 1]
        keys = Domain.of({"born": ["1990-01-01", "1989-12-31", None]})
        assert counted(by=["born"], domain=keys).sizes.tolist() == [2, 1, 3]
        bands = {"before": {"dates": [None, "1989-12-31"]}, "after": [date(1990, 1, 1), None], "unknown": None}
        assert counted(by=["born"], domain=Domain.of({"born": bands})).sizes.tolist() == [1, 3, 3]
        ages = {"age_at": "2010-02-28", "bands": {"9": [9, 9], "10-20": [10, 20], "unknown": None}}
        assert counted(by=["born"], domain=Domain.of({"born": ages})).sizes.tolist() == [1, 3, 3]
        with pytest.raises(PredicateError, match="compare it with a date in quotes, such as '2020-01-31'"):
            counted(predicate="born < '01.01.1990'")
        told = "Column 'born' identifies people, and ids are no dates"
        with pytest.raises(TableInputError, match=told):
            counted(unit="born", max_groups=2)


def test_columns_that_cannot_have_a_form_are_refused_by_their_types():
    table = pa.table({"x": [1.5], "d": pa.array([0], pa.date32()), "t": pa.array([0], pa.timestamp("us")), "g": ["a"]})
    domain = Domain.of({"g": ["a"]})
    for name, told in (("x", "declared of texts"), ("d", "dates of its own"), ("t", "dates of its own")):
        refused(told, table, predicate=f"{name} IS NULL", reading=Reading.of(dates={name: "d.m.yyyy"}), domain=domain)
    refused("There is no column 'y'", table, reading=Reading.of(dates={"y": "d.m.yyyy"}), domain=domain)


def age(born, day):
    """Completed years, by counting birthdays one by one; that of 29 February is 1 March where the year has none."""
    years = 0
    while True:
        try:
            birthday = born.replace(year=born.year + years + 1)
        except ValueError:
            birthday = date(born.year + years + 1, 3, 1)
        if birthday > day:
            return years
        years += 1


@for_each(
    "day",
    [date(2026, 1, 1), date(2024, 2, 29), date(2025, 2, 28), date(2025, 3, 1), date(2000, 12, 31), date(1900, 2, 28)],
)
def test_ages_are_completed_years(day):
    cuts = [0, 1, 17, 18, 64, 65, 99]
    bands = {f"{a}": [a, b - 1] for a, b in pairwise(cuts)} | {"99": [99, None], "no": None}
    recoding = Recoding.of("born", {"age_at": day.isoformat(), "bands": bands})
    around = [day.year - years for years in (0, 1, 2, 17, 18, 64, 65, 66, 99, 100)]
    days = [d for d in DAYS if d.year in around and (d.month in (2, 3) or d.month == day.month)]
    expected = dict.fromkeys(bands, 0) | {"no": 1}
    for born in days:
        if born <= day:
            expected[str(max(cut for cut in cuts if cut <= age(born, day)))] += 1
    domain = Domain.of({"born": {"age_at": day, "bands": bands}})
    plain = pa.array([*days, None], pa.date32())
    for born_on in (
        plain,
        plain.cast(pa.timestamp("us")),
        plain.cast(pa.timestamp("s")).cast(pa.timestamp("s", "UTC")),
    ):
        counts = count_groups(pa.table({"born": born_on}), predicate=None, by=["born"], domain=domain)
        assert dict(zip(recoding.labels, counts.sizes.tolist(), strict=True)) == expected
        assert counts.dropped == sum(born > day for born in days)


def test_a_time_lies_on_its_day_and_a_text_without_a_type_is_an_iso_day(tmp_path):
    last = pa.table({"t": pa.array([-1, 0, 86_400_000_000 - 1, 86_400_000_000, None], pa.timestamp("us"))})
    domain = Domain.of(
        {"t": {"day": {"dates": ["1970-01-01", "1970-01-01"]}, "later": [date(1970, 1, 2), None], "no": None}}
    )
    assert count_groups(last, predicate=None, by=["t"], domain=domain).sizes.tolist() == [2, 1, 1]
    path = tmp_path / "t.csv"
    texts = [
        "1970-01-01",
        "1970-1-1",
        "1970-01-01 00:00:00",
        "01.01.1970",
        "0000-01-01",
        "",
        "9999-12-31",
        "1970-02-30",
    ]
    path.write_text("t,u\n" + "".join(f"{text},1\n" for text in texts))
    assert count_groups(path, predicate=None, by=["t"], domain=domain).sizes.tolist() == [1, 1, 6]
    refused("has type VARCHAR and no dates", pa.table({"t": ["1970-01-01"]}), predicate=None, by=["t"], domain=domain)
    refused("has type BIGINT and no dates", pa.table({"t": [1]}), predicate=None, by=["t"], domain=domain)


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": {"dates": ["1990-01-01"]}},
        {"a": {"dates": [None, None]}},
        {"a": {"dates": ["1990-1-1", None]}},
        {"a": {"dates": ["19900101", None]}},
        {"a": {"dates": ["1990-01-02", "1990-01-01"]}},
        {"a": {"dates": ["1990-01-01", "1991-01-01"]}, "b": {"dates": ["1991-01-01", None]}},
        {"a": {"dates": ["1990-01-01", None]}, "b": [0, 1]},
        {"a": {"dates": ["1990-01-01", None]}, "b": ["x"]},
        {"a": {"dates": 7}},
        {"age_at": "2026-01-01", "bands": {"a": [-1, 3]}},
        {"age_at": "2026-01-01", "bands": {"a": [0, 1.5]}},
        {"age_at": "2026-01-01", "bands": {"a": [0, 17], "b": [17, None]}},
        {"age_at": "2026-01-01", "bands": {"a": ["x"]}},
        {"age_at": "1.1.2026", "bands": {"a": [0, 3]}},
        {"age_at": "0999-01-01", "bands": {"a": [0, 3]}},
        {"age_at": None, "bands": {"a": [0, 3]}},
        {"age_at": "2026-01-01", "bands": {}},
        {"age_at": "2026-01-01", "bands": {"a": [501, None]}},
    ],
)
def test_bands_of_dates_and_ages_that_mean_nothing_are_refused(wrong):
    with pytest.raises(TableInputError, match="recoding of 'born'"):
        Domain.of({"born": wrong})


def test_a_question_with_dates_is_written_and_read_again():
    ages = {"age_at": "2026-01-01", "bands": {"0-17": [0, 17], "18+": [18, None], "unknown": None}}
    question = dt.Question(by="born", domain={"born": ages})
    assert dt.Question.from_dict(question.to_dict()) == question
    born = {"0-17": {"dates": ["2008-01-02", "2026-01-01"]}, "18+": {"dates": [None, "2008-01-01"]}, "unknown": None}
    assert dt.Question(by="born", domain={"born": born}) == question


def test_what_is_no_date_is_counted_for_whoever_admits(tmp_path):
    path = sources(tmp_path)[0][0]
    how = {"separator": ";", "header_row": 2}
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("town", 9, relation="add-remove")
        report = ask_admission(path, dataset="town", ledger=book, dates={"born": "dd.mm.yyyy"}, **how)
        found = {f.what: (f.count, f.places, f.grave) for f in report.findings if f.column == "born"}
        assert found == {"missing": (3, (6, 7, 8), False), "no date as dd.mm.yyyy": (2, (6, 7), False)}
        assert dict(report.columns[0])["holds"] == "dates"
        asked = {"dataset": "town", "ledger": book, "epsilon": 1}
        checked = ask_preview(path, count="born < '1990-01-01'", check=True, **asked).check
        assert checked.findings == ()
        with pytest.raises(TableInputError, match=r"no date as mm/dd/yyyy .in line 3, 4, 5, 6, 7.") as caught:
            ask_admission(path, dataset="town", ledger=book, version="2", dates="born:mm/dd/yyyy", **how)
        assert "unbekannt" not in str(caught.value)
        with pytest.raises(TableInputError, match=r"There is no column 'borm'. Did you mean 'born'"):
            ask_admission(path, dataset="town", ledger=book, version="2", dates="borm:d.m.yyyy", **how)


def test_the_sheets_own_dates_stand_beside_those_written_as_texts(tmp_path):
    pytest.importorskip("python_calamine")
    day = '<c s="1"><v>43861</v></c>'  # 31 January 2020
    moment = '<c s="2"><v>43861.5</v></c>'
    rows = [
        ["title", ""],
        ["born", "n"],
        [day, 1.0],
        ["01.01.1990", 1.0],
        ["31.02.1990", 1.0],
        ["2000-02-29", 1.0],
        [moment, 1.0],
    ]
    workbook(tmp_path / "p.xlsx", people=rows)
    source = open_table(tmp_path / "p.xlsx", again=True, reading=Reading.of(dates="born:dd.mm.yyyy", header_row=2))
    source.bind(["born"])
    [(_, [days])] = source.numbered()
    assert days.to_pylist() == [date(2020, 1, 31), date(1990, 1, 1), None, date(2000, 2, 29), None]
    bands = Domain.of({"born": {"old": {"dates": [None, "1999-12-31"]}, "new": {"dates": ["2000-01-01", None]}}})
    how = {"predicate": None, "by": ["born"], "domain": bands}
    assert count_groups(tmp_path / "p.xlsx", reading=Reading.of(header_row=2), **how).sizes.tolist() == [0, 2]


def test_a_table_in_memory_is_released_with_its_dates(in_memory):
    table, dates = pa.table(PEOPLE), {"born": "dd.mm.yyyy"}
    with dt.Ledger(in_memory / "b.db") as book:
        book.create("town", 999, relation="add-remove")
        asked = {"dataset": "town", "ledger": book, "count": "born < '1990-01-02'", "epsilon": 60}
        made = ask_release(table, dates=dates, **asked)
        assert made.rows()[0]["report"] == 3  # another number with a probability of some e^-60
        found = {f.what: f.count for f in dt.profile(dt.read(table, dates=dates)).findings if f.column == "born"}
        assert found["no date as dd.mm.yyyy"] == 2
        assert ask_preview(table, dates=dates, check=True, **asked).check.findings == ()
        with pytest.raises(TableInputError, match="There is no column 'x'"):
            ask_release(table, dates={"x": "d.m.yyyy"}, **asked)
        with pytest.raises(TableInputError, match="1925 or 2025"):
            ask_release(table, dates={"born": "d.m.yy"}, **asked)
        assert book["town"].balance().spent == 60
