"""A release is a table: one number to print, rows by their keys, frames, pictures; CSVs as offices write them."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import json
import types
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import discreet as dt
from discreet import verify
from discreet.errors import ReleaseError, TableInputError
from discreet.questions.domain import Domain
from tests.asking import ask_release
from tests.cells import for_each

PEOPLE = pandas.DataFrame(
    {
        "town": ["a", "b", None] * 60,
        "age": [1, 2] * 90,
        "pay": [100 * (k % 9) for k in range(180)],
        "ill": [True, False] * 90,
    }
)
ASKED = {"by": ["town", "age"], "domain": {"town": ["a", "b", None], "age": [1, 2]}}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("table") / "budget.db") as ledger:
        ledger.create("town", "99", relation="change-one", public=["town", "age"])
        ledger.create("people", "99", relation="add-remove")
        yield ledger


@pytest.fixture(scope="module")
def made(book):
    return book["town"].release(PEOPLE, count="ill", epsilon="1/2", **ASKED).with_totals("town", "total")


@pytest.fixture(scope="module")
def several(book):
    return (
        book["people"]
        .release(
            PEOPLE,
            count={"ill": "ill"},
            sum={"pay": "pay:0..800/0.5"},
            mean={"mean": "pay:0..800/100"},
            epsilon=3,
            **ASKED,
        )
        .with_totals("age")
    )


def test_the_first_columns_are_keys_number_and_interval(made, several):
    assert list(made.columns)[:6] == ["town", "age", "published", "low", "high", "n"]
    assert list(several.columns)[:6] == ["town", "age", "statistic", "published", "low", "high"]
    assert list(made.margins["town"][0])[:4] == ["town", "total", "low", "high"]


def test_what_is_published_adds_up_to_the_totals_and_lies_in_its_interval(made, several):
    assert made.columns["published"] == made.columns["fitted"]
    for line in made.margins["town"]:
        assert line["total"] == sum(row["published"] for row in made if row["town"] == line["town"])
    for row in several:
        name = "report" if row["statistic"] == "mean" else "fitted"
        assert row["published"] == row[name]
        for end, sign in (("low", 1), ("high", -1)):
            assert row[end] is None or sign * (row["published"] - row[end]) >= 0
    for line in several.margins["age"]:
        parts = [
            row["published"] for row in several if (row["age"], row["statistic"]) == (line["age"], line["statistic"])
        ]
        assert line["statistic"] == "mean" or line["total"] == sum(parts)


def test_a_report_beyond_what_is_possible_is_published_as_the_end_of_its_interval(book):
    """Means of a few people at a small epsilon: most reports lie outside 0..800, and every published number inside."""
    given = {"dataset": "town", "ledger": book, "mean": "pay:0..800/100", **ASKED}
    rows = [row for k in range(4) for row in ask_release(PEOPLE, epsilon="1/50", version=f"m{k}", **given)]
    outside = [row for row in rows if not 0 <= row["report"] <= 800]
    assert outside  # 24 reports with a standard error of about 1,900
    assert all(row["published"] == (row["low"] if row["report"] < 0 else row["high"]) for row in outside)
    assert all(row["published"] == row["report"] for row in rows if row not in outside)
    assert all(0 <= row["published"] <= 800 for row in rows)


def test_a_release_has_a_length_rows_and_keys(made, several, book):
    assert (len(made), len(several)) == (6, 18)
    assert list(made) == made.rows()
    assert made["a", 1] == made.rows()[0]
    assert made[None, np.int64(2)]["published"] == made.columns["published"][-1]
    assert made[np.str_("b"), 2.0] == made.rows()[3]
    assert several["b", 2, "mean"]["statistic"] == "mean"
    assert ("a", 1) in made
    assert ("a", True) not in made  # True is no 1
    assert made.rows()[0] not in made
    one = book["people"].release(PEOPLE, epsilon=1)
    assert (len(one), one[()]) == (1, one.rows()[0])
    pandas.testing.assert_frame_equal(pandas.DataFrame(list(made)), made.to_pandas())


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("report", r"is a column: made.columns\['report'\].*made\['a', 1\]"),
        ("a", r"No row has the key 'a'. Give a value for each of town, age, for example made\['a', 1\]"),
        (("a", 3), "No row has the key"),
        (slice(0, 2), "No row has the key"),
        ([], "No row has the key"),
        (np.array([1, 2]), "No row has the key"),
        (("a", 1, "ill"), "No row has the key"),
    ],
)
def test_a_key_that_no_row_has_is_answered_by_how_a_key_looks(made, key, words):
    with pytest.raises(ReleaseError, match=words):
        made[key]
    assert key not in made


def test_as_frames(made, several, book):
    asked = {"dataset": "people", "ledger": book, "epsilon": 1, "version": "frames"}
    both = ask_release(PEOPLE, count="ill", mean="pay:0..800/100", **asked)
    assert {*map(type, both.columns["report_u"])} == {int, type(None)}  # a count has no second report
    frame = both.to_pandas()  # whole numbers stay whole where some are missing
    assert [None if x is pandas.NA else x for x in frame["report_u"]] == both.columns["report_u"]
    assert frame["report_u"].dtype == "Int64"
    assert made.to_polars().to_dict(as_series=False) == dict(made.columns)
    assert made.to_pandas()["published"].tolist() == made.columns["published"]
    assert isinstance(several.to_pandas(), pandas.DataFrame)
    assert isinstance(several.to_polars(), polars.DataFrame)


def test_a_picture_has_the_published_numbers_their_intervals_and_the_totals(made, several):
    drawn = made.plot().to_dict()
    panels, data = drawn["concat"], drawn["datasets"]
    assert [panel["title"]["text"] for panel in panels] == [
        ["by town, age"],
        ["Totals by town, of the groups listed"],
        ["Total of the groups listed"],
    ]
    dots = data[panels[0]["data"]["name"]]
    assert [(d["name"], d["value"], d["low"], d["high"]) for d in dots] == [
        (f"{row['town'] or '(missing)'}, {row['age']}", row["published"], row["low"], row["high"]) for row in made
    ]
    totals = data[panels[1]["data"]["name"]]
    assert [(d["value"], d["low"], d["high"]) for d in totals] == [
        (line["total"], line["low"], line["high"]) for line in made.margins["town"]
    ]
    drawn = several.presented(title="Pay", labels={"mean": "Mean pay", "town": "Gemeinde"}).plot().to_dict()
    assert drawn["title"]["text"] == ["Pay"]
    assert "Mean pay: by Gemeinde, age" in [panel["title"]["text"][0] for panel in drawn["concat"]]


def test_a_long_picture_says_how_many_rows_it_shows_and_means_of_nobody_are_counted(book):
    """Groups of nobody have no mean; that they are empty is public here."""
    given = {"dataset": "town", "ledger": book, "mean": "pay:0..800/100", "by": "town", "epsilon": 1}
    nobody = [f"none {k}" for k in range(99)]
    (panel,) = ask_release(PEOPLE, **given, domain={"town": ["a", *nobody]}).plot().to_dict()["concat"]
    assert panel["title"]["subtitle"] == ["the first 40 of 100; 39 without a number"]
    with pytest.raises(ReleaseError, match="No group has a number to draw"):
        ask_release(PEOPLE, **given, domain={"town": nobody}).plot()


HOLDERS = {
    "array": np.array,
    "objects": lambda values: np.array(values, dtype=object),
    "masked": np.ma.array,
    "series": pandas.Series,
    "index": pandas.Index,
    "category": lambda values: pandas.Series(values, dtype="category"),
    "polars": polars.Series,
    "arrow": pyarrow.array,
    "chunked": lambda values: pyarrow.chunked_array([values]),
    "set": set,
    "frozen": frozenset,
    "keys view": lambda values: dict.fromkeys(values).keys(),
}


@for_each("holder", HOLDERS)
@for_each("values", [["a", "b"], [1, 2, 30], [False, True]])
def test_values_of_a_column_may_be_held_by_whatever_holds_them(holder, values):
    read = Domain.of({"k": HOLDERS[holder](values)}).keys
    assert read == tuple((value,) for value in values)
    assert {type(value) for (value,) in read} == {type(values[0])}


@for_each(
    "held",
    [
        pandas.Series(["a", None]),
        pandas.Series(["a", np.nan], dtype=object),
        pandas.Series(["a", pandas.NA], dtype="string"),
        pandas.Series(["a", pandas.NaT], dtype=object),
        pandas.Series(["a", None], dtype="category"),
        np.array(["a", None], dtype=object),
        np.array(["a", np.float32("nan")], dtype=object),
        np.array(["a", np.datetime64("NaT")], dtype=object),
        np.ma.array(["a", "x"], mask=[False, True]),
        polars.Series(["a", None]),
        pyarrow.array(["a", None]),
        {"a", None},
        ["a", float("nan")],
        ["a", decimal.Decimal("NaN")],
    ],
)
def test_what_stands_for_nothing_is_the_key_of_missing_values(held):
    assert Domain.of({"k": held}).keys == (("a",), (None,))


def test_numbers_of_a_column_with_missing_ones_are_whole_numbers_again():
    for held in (
        pandas.Series([1, None, 3]),
        np.array([1.0, np.nan, 3.0], dtype=np.float32),
        pandas.array([1, None, 3]),
    ):
        assert Domain.of({"k": held}).keys == ((1,), (None,), (3,))


SCALARS = {
    np.int8(3): 3,
    np.uint64(3): 3,
    np.float16(3): 3,
    np.longdouble(3): 3,
    np.bool_(True): True,
    np.str_("x"): "x",
    decimal.Decimal(3): 3,
}


def test_scalars_of_numpy_are_read_as_the_value_that_they_stand_for():
    for given, value in SCALARS.items():
        ((read,),) = Domain.of({"k": [given]}).keys
        assert (read, type(read)) == (value, type(value))


@for_each(
    "held",
    [
        np.array(["2026-01-31"], dtype="datetime64[D]"),
        np.array(["2026-01-31"], dtype="datetime64[ns]"),
        pandas.Series(pandas.to_datetime(["2026-01-31"])),
        polars.Series([datetime.date(2026, 1, 31)]),
        [datetime.datetime(2026, 1, 31)],
        pandas.Series(pandas.to_datetime(["2026-01-31"], utc=True)),
    ],
)
def test_days_are_declared_as_texts(held):
    with pytest.raises(TableInputError, match="declare days and times as texts"):
        Domain.of({"k": held})


@for_each(
    "held",
    [
        np.array([1], dtype="timedelta64[D]"),
        np.array([1], dtype="timedelta64[ns]"),
        pandas.Series(pandas.to_timedelta([1], unit="D")),
        pandas.Series(pandas.period_range("2026-01", periods=1, freq="M")),
        pandas.Series(pandas.interval_range(0, 1)),
        np.array([0.5]),
        np.array([np.inf]),
        np.array([1j]),
        np.array([b"a"]),
        np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
        np.array([[1, 2]]),
        np.array([2**63], dtype=np.uint64),
        [decimal.Decimal("sNaN")],
        [np.array([1, 2])],
        polars.Series([[1, 2]]),
    ],
)
def test_what_is_no_key_is_refused_with_a_sentence(held):
    with pytest.raises(
        TableInputError, match=r"cannot be a declared key; (use whole numbers|a band of numbers needs a label)"
    ):
        Domain.of({"k": held})


@for_each("held", ["ab", b"ab", 3, None, np.array(3), (x for x in "ab"), iter("ab"), PEOPLE, list, np.array])
def test_what_holds_no_values_is_refused_with_a_sentence(held):
    with pytest.raises(TableInputError, match="Declare groups as"):
        Domain.of({"k": held})


def test_a_set_is_put_in_order_and_one_of_several_kinds_refused():
    assert Domain.of({"k": {30, 4, None, 100}}).keys == ((4,), (30,), (100,), (None,))
    with pytest.raises(TableInputError, match="mix numbers, texts and booleans"):
        Domain.of({"k": {1, "a"}})


@pytest.mark.parametrize("kind", [str, Path])
def test_a_domain_may_be_the_path_of_its_file(tmp_path, kind):
    (tmp_path / "domain.json").write_text(json.dumps({"age": [1, 2], "town": ["a", None], "other": [1]}))
    read = dt.Question(by=["town", "age"], domain=kind(tmp_path / "domain.json"))
    assert read == dt.Question(by=["town", "age"], domain={"town": ["a", None], "age": [1, 2]})
    with pytest.raises(TableInputError, match=r"There is no file 'nowhere\.json' of declared groups"):
        dt.Question(by=["town"], domain=kind(tmp_path / "nowhere.json"))


def number(text: str) -> float | None:
    return float(text.replace(",", ".")) if text else None


@pytest.mark.parametrize(("words", "separator", "mark"), [
    ({"decimal": ","}, ";", ","),
    ({"decimal": ",", "separator": "tab"}, "\t", ","),
    ({"separator": "semicolon"}, ";", "."),
    ({"separator": "|"}, "|", "."),
])  # fmt: skip
def test_csvs_with_other_marks_say_the_same_and_are_checked(several, book, tmp_path, words, separator, mark):
    several.save(tmp_path / "x.csv", bom=True, **words)
    assert dt.check_release(tmp_path / "x.json", ledger=book)
    lines = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text("utf-8-sig")), delimiter=separator))
    for line, row in zip(lines, several, strict=True):
        assert [number(line[name]) for name in ("published", "low", "standard_error")] == [
            row[name] for name in ("published", "low", "standard_error")
        ]
        assert line["epsilon"] == row["epsilon"]
    assert any(mark in line["low"] for line in lines)
    totals = (tmp_path / "x-by-age.csv").read_text("utf-8-sig")
    assert len(next(csv.reader(io.StringIO(totals), delimiter=separator))) == len(several.margins["age"][0])
    alone = verify.Release(json.loads((tmp_path / "x.json").read_text()), str(tmp_path / "x.json"))
    assert [line["low"] for line in alone.table("x.csv")] == [
        "" if row["low"] is None else str(row["low"]) for row in several
    ]
    profile = dt.profile(dt.read(tmp_path / "x.csv", separator=separator, decimal=mark))  # and discreet reads them back
    assert not profile.grave
    assert profile.names == tuple(several.columns)


def test_a_changed_number_of_such_a_csv_is_found(several, tmp_path):
    several.save(tmp_path / "x.csv", decimal=",")
    text = (tmp_path / "x.csv").read_text()
    line = next(line for line in text.splitlines() if ";mean;" in line and line.split(";")[4])
    cells = line.split(";")
    for wrong in (cells[4].replace(",", ".") if "," in cells[4] else f"{cells[4]},0", "3,25"):
        other = ";".join([*cells[:4], wrong, *cells[5:]])
        (tmp_path / "x.csv").write_text(text.replace(line, other))
        checks = {check.matter: check for check in dt.check_release(tmp_path / "x.json").checks}
        assert checks["the rows"].held is False
    alone = verify.Release(json.loads((tmp_path / "x.json").read_text()), str(tmp_path / "x.json"))
    (tmp_path / "x.csv").write_text(text.replace(line, ";".join([*cells[:4], "3.25", *cells[5:]])))
    with pytest.raises(verify.Fault, match="has a decimal point"):
        alone.table("x.csv")


def test_the_lone_verifier_knows_which_number_is_to_be_printed(made, several, tmp_path):
    for name, release in (("made", made), ("several", several)):
        release.save(tmp_path / f"{name}.csv")
        alone = verify.Release(json.loads((tmp_path / f"{name}.json").read_text()), str(tmp_path / f"{name}.json"))
        for line in alone.table(f"{name}.csv"):
            kind = {"ill": "count", "pay": "sum", "mean": "mean"}[line.get("statistic", "ill")]
            said = types.SimpleNamespace(kind=kind)
            assert line["published"] == alone._to_print(line, said)
            assert alone._to_print({**line, "fitted": "", "report": "999999"}, said) == (line["high"] or "999999")
            assert alone._to_print({**line, "fitted": "7"}, said) == (line["published"] if kind == "mean" else "7")


def test_words_of_the_publisher_are_in_the_record_and_the_page_is_made_again_with_them(made, book, tmp_path):
    words = {
        "title": "People  who\nare ill",
        "source": "Register",
        "notes": "First.",
        "labels": {"town": "Gemeinde", "count": "Ill"},
    }
    made.save(tmp_path / "x.csv", **words)
    assert dt.check_release(tmp_path / "x.json", ledger=book)
    saved = json.loads((tmp_path / "x.json").read_text())["record"]["presentation"]
    assert saved == {
        "title": "People who are ill",
        "source": "Register",
        "notes": ["First."],
        "labels": {"town": "Gemeinde", "count": "Ill"},
        "separator": ",",
        "decimal": ".",
    }
    page = (tmp_path / "x.html").read_text()
    (tmp_path / "x.html").write_text(page.replace("Source: Register", "Source: Census"))
    checks = {check.matter: check.held for check in dt.check_release(tmp_path / "x.json").checks}
    assert checks["the page for people"] is False
    assert made.record["presentation"]["title"] is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"decimal": ";"}, 'is "." or ","'),
        ({"decimal": None}, 'is "." or ","'),
        ({"separator": ";;"}, "or the word tab"),
        ({"separator": '"'}, "or the word tab"),
        ({"separator": "\n"}, "or the word tab"),
        ({"separator": 3}, "or the word tab"),
        ({"separator": ",", "decimal": ","}, 'both ","'),
        ({"title": ""}, "title '' is not a text"),
        ({"title": "\ud800"}, "is not a text that can be written"),
        ({"title": 3}, "title 3 is not a text"),
        ({"source": " "}, "source ' ' is not"),
        ({"notes": [1]}, "note 1 is not"),
        ({"notes": 1}, "neither a text nor a list"),
        ({"labels": ["town"]}, "are not texts by name"),
        ({"labels": {"town": None}}, "label None is not"),
        ({"labels": {"low": "x"}}, "no column or statistic 'low' to label; there are town, age, count"),
    ],
)
def test_words_that_cannot_be_are_refused_with_a_sentence(made, tmp_path, words, told):
    with pytest.raises(ReleaseError, match=told):
        made.save(tmp_path / "x.csv", **words)
    assert not list(tmp_path.iterdir())
