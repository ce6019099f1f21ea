"""Columns of texts that are handed over as different ones and codes: nothing that is found depends on it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import sources
from discreet.engines.duckdb import count_each
from discreet.engines.sources import open_table
from discreet.questions.domain import Domain
from discreet.questions.predicate import LONGEST_TEXT

DRAW = np.random.default_rng(11)
SIZE = 600
WORDS = ["aachen", "Bonn", "", "köln", "x" * (LONGEST_TEXT + 5), b"\xff no text", None, "nowhere"]
DOMAIN = Domain.of({"town": ["aachen", "köln", "", "Bonn", None]})


def column(chosen, kind: pa.DataType) -> pa.Array:
    """Words as they stand, those too that are no texts."""
    raw = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
    given = [word.encode() if isinstance(word, str) else word for word in (WORDS[k] for k in chosen)]
    return pa.array(given, raw).view(kind)


CHOSEN = np.concatenate(
    [DRAW.integers(0, 4, SIZE // 2), DRAW.integers(2, 8, SIZE // 2)]
)  # other words in later row groups
AGES = DRAW.integers(0, 90, SIZE)
IDS = [f"person {k}" for k in DRAW.integers(0, 90, SIZE)]


def table_of(kind: pa.DataType) -> pa.Table:
    return pa.table({"town": column(CHOSEN, kind), "age": AGES, "id": IDS})


def numbers_of(found) -> list:
    return [
        (c.sizes.tolist(), c.counts.tolist(), c.other_size, c.other_count, c.dropped, c.fingerprint)
        for c in found.counts
    ]


ASKED = [
    {"predicates": [None, "town = 'Bonn' OR age > 50", "town IS NULL", "town < 'b'", "town IN ('köln', 'nowhere')"]},
    {"predicates": ["age > 50", "town <> 'aachen'"], "unit": "id", "max_groups": 2, "other": True},
    {"predicates": ["age > 50"], "unit": "town", "max_groups": 2},
    {"predicates": ["age > 50"], "unit": "id", "counted": "town", "max_rows": 2},
    {"predicates": ["age > 50"], "part": ("town", "Bonn")},
]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(asked))
def test_codes_change_nothing_that_is_found(tmp_path, monkeypatch, kind, asked):
    table, file = table_of(kind), tmp_path / "people.parquet"
    pq.write_table(table, file, row_group_size=100)
    question = {"by": ["town"], "domain": DOMAIN, **asked}
    source = open_table(file, again=False)
    source.bind(["town", "age"])
    assert source.coded == {"town"}
    found = count_each(file, **question)
    sizes = Counter(int(k) for k in CHOSEN)
    if list(asked) == ["predicates"] and len(asked["predicates"]) > 1:
        missing = sizes[5] + sizes[6]
        assert found.counts[0].sizes.tolist() == [sizes[0], sizes[3], sizes[2], sizes[1], missing]
        assert found.counts[2].counts.tolist() == [0, 0, 0, 0, missing]
        assert found.counts[4].counts.tolist() == [0, sizes[3], 0, 0, 0]
    monkeypatch.setattr(sources, "_FEW_TEXTS", 0)
    source.bind(["town", "age"])
    assert not source.coded
    assert numbers_of(count_each(file, **question)) == numbers_of(found)
    # in memory: as a column of codes, and as one of texts
    coded = table.set_column(0, "town", table["town"].combine_chunks().view(binary_of(kind)).dictionary_encode())
    words = coded["town"].combine_chunks()
    coded = coded.set_column(0, "town", pa.DictionaryArray.from_arrays(words.indices, words.dictionary.view(kind)))
    assert numbers_of(count_each(coded, **question)) == numbers_of(count_each(table, **question))


def binary_of(kind: pa.DataType) -> pa.DataType:
    return pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()


def test_many_texts_and_other_columns_are_read_as_they_are(tmp_path):
    many = [f"street {k} of a town with a long name" for k in range(20_000)]
    table = pa.table({"few": ["a", "b"] * 10_000, "many": many, "number": range(20_000), "raw": [b"a", b"b"] * 10_000})
    pq.write_table(table, tmp_path / "people.parquet")
    source = open_table(tmp_path / "people.parquet", again=False)
    source.bind(["few", "many", "number", "raw"])
    assert source.coded == {"few"}
    pq.write_table(table, tmp_path / "plain.parquet", use_dictionary=False)
    source = open_table(tmp_path / "plain.parquet", again=False)
    source.bind(["few", "many"])
    assert not source.coded


def test_codes_that_give_way_to_texts_by_their_differences_are_counted():
    """parquet-java, and so Spark, may end a column that begins as codes in DELTA_BYTE_ARRAY, which Arrow does not read as codes."""
    file = Path(__file__).parent / "dictionary_then_delta.parquet"  # written by another library
    assert {"RLE_DICTIONARY", "DELTA_BYTE_ARRAY"} <= {*pq.ParquetFile(file).metadata.row_group(0).column(0).encodings}
    domain = Domain.of({"town": ["köln", "bonn", "street 399"]})
    [found] = count_each(file, predicates=["town <> 'bonn'"], by=["town"], domain=domain).counts
    assert (found.sizes.tolist(), found.counts.tolist(), found.dropped) == ([100, 100, 1], [100, 0, 1], 199)


@pytest.mark.parametrize("is_coded", [False, True], ids=["texts", "codes"])
@pytest.mark.parametrize("names", [["a.b", "a"], ["a", "a.b"]], ids=" ".join)
def test_a_column_named_as_the_field_of_another_is_counted(tmp_path, names, is_coded):
    towns = pa.array(["x", "y", "x", "x"])
    columns = {"a.b": towns.dictionary_encode() if is_coded else towns, "a": pa.array([{"b": "y"}] * 4)}
    pq.write_table(pa.table({name: columns[name] for name in names}), tmp_path / "people.parquet", row_group_size=2)
    domain = Domain.of({"a.b": ["x", "y"]})
    [found] = count_each(tmp_path / "people.parquet", predicates=[None], by=["a.b"], domain=domain).counts
    assert found.sizes.tolist() == [3, 1]


def test_more_texts_than_the_codes_of_a_file_can_name_are_counted(tmp_path):
    """Codes of one byte, and two lists of 100 texts in one row group: by what the file says, Arrow does not read it."""
    codes = pa.array(range(100), pa.int8())
    lists = [pa.array([f"{letter}{k}" for k in range(100)]) for letter in "ab"]
    towns = pa.chunked_array([pa.DictionaryArray.from_arrays(codes, words) for words in lists])
    pq.write_table(pa.table({"town": towns}), tmp_path / "people.parquet")
    domain = Domain.of({"town": ["a0", "b99", "c0"]})
    [found] = count_each(tmp_path / "people.parquet", predicates=[None], by=["town"], domain=domain).counts
    assert (found.sizes.tolist(), found.dropped) == ([1, 1, 0], 198)
