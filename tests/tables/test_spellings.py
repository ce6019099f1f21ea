"""Spellings that differ only in case or form are told before anything is paid; no key is ever offered."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.tables.count.typing_errors import _different, form, other_spellings

from .asking import ask

ROWS = [
    ("yes", "north"),
    ("Yes ", "SOUTH"),
    ("no", "Süd"),
    ("yes", "su\u0308d"),
    ("YES", "north  east"),
    ("maybe", "west"),
]


@pytest.fixture(params=["csv", "parquet", "dictionary"])
def book(request, tmp_path):
    asthma, district = zip(*ROWS, strict=True)
    path = tmp_path / ("people.csv" if request.param == "csv" else "people.parquet")
    if request.param == "csv":
        path.write_text("asthma,district,age\n" + "".join(f"{a},{d},5\n" for a, d in ROWS), encoding="utf-8")
    else:
        table = pa.table({"asthma": asthma, "district": district, "age": [5] * len(ROWS)})
        if request.param == "dictionary":
            table = table.set_column(0, "asthma", table["asthma"].combine_chunks().dictionary_encode())
        pq.write_table(table, path)
    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("d", 9, relation="add-remove")
        dt.admit(path, dataset="d", ledger=book)
        yield lambda **asked: [
            (o.column, o.asked, o.there) for o in other_spellings(path, book, ask("d", epsilon="1/2", **asked))
        ]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"count": "asthma = 'Yes'"}, [("asthma", "Yes", t) for t in ("yes", "Yes ", "YES")]),
        ({"count": "asthma = 'yes'"}, [("asthma", "yes", t) for t in ("Yes ", "YES")]),
        ({"count": "asthma in ('yes', 'YES', 'Yes ')"}, []),
        ({"count": "not (ASTHMA <> 'No' or age > 4)"}, [("asthma", "No", "no")]),
        ({"share": ["asthma = 'MAYBE'"]}, [("asthma", "MAYBE", "maybe")]),
        ({"mean": ["age:0..100 where asthma = 'MAYBE'"]}, [("asthma", "MAYBE", "maybe")]),
        (
            {"by": ["district"], "domain": {"district": ["North", "South", "west", "east", "nort"]}},
            [("district", "North", "north"), ("district", "South", "SOUTH")],
        ),
        ({"by": ["district"], "domain": {"district": ["Süd"]}}, [("district", "Süd", "su\u0308d")]),
        ({"by": ["district"], "domain": {"district": ["North East"]}}, [("district", "North East", "north  east")]),
        (
            {"by": ["district"], "domain": {"district": {"all": ["NORTH", "West"]}}},
            [("district", "NORTH", "north"), ("district", "West", "west")],
        ),
        ({"count": "age > 3"}, []),
        ({"count": "asthma = 'perhaps'"}, []),
        ({"count": "asthma = 'ye'"}, []),
        ({}, []),
    ],
)
def test_only_what_differs_in_case_or_form_is_told(book, asked, told):
    """Keys that the file has and nobody wrote ("maybe", "west"), or that were written and it lacks ("east"), never stand there."""
    assert sorted(book(**asked)) == sorted(told)


def test_the_form_of_a_text():
    same = ["Straße", "STRASSE", " strasse", "ｓｔｒａｓｓｅ", "Stra\u00dfe\u00a0"]
    assert len({form(text) for text in same}) == 1
    for other in ("Strase", "Stra-sse", "Strasse 1", "Sträße"):
        assert form(other) != form("Straße")


def test_what_is_no_text_has_no_spelling():
    """Bytes that are no UTF-8 in a column of texts, numbers: nothing is told, and nothing fails."""
    odd = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0\5\0\0\0"), pa.py_buffer(b"\xff\xfeyes")]
    )
    assert _different(odd) == _different(pa.array([1, 2])) == []
    assert _different(pa.array(["a", None, "b", "a"])) == ["a", "b"]


def test_it_ends_when_nobody_waits_for_it(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("asthma\nyes\n")

    def enough(line):
        raise KeyboardInterrupt

    with dt.Ledger(tmp_path / "b.db") as book:
        book.create("d", 9, relation="add-remove")
        dt.admit(path, dataset="d", ledger=book)
        with pytest.raises(KeyboardInterrupt):
            other_spellings(path, book, ask("d", epsilon="1/2", count="asthma = 'Yes'"), enough)
