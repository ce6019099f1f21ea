"""Columns of texts that are handed over as different ones and codes: nothing that is found depends on it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engines import settling, sources
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


def test_long_texts_are_handed_over_a_few_at_a_time(monkeypatch):
    """However many rows share them: their words take little room, each time."""
    monkeypatch.setattr(settling, "_AT_ONCE", 5000)
    words = pa.array([f"{k}" * 100 for k in range(10, 90)])
    codes = pa.array(DRAW.integers(0, 80, 1000).astype(np.int32), mask=DRAW.random(1000) < 0.1)
    table = pa.table({"town": pa.DictionaryArray.from_arrays(codes, words), "n": range(1000)})
    source = open_table(table, again=False)
    source.bind(["town", "n"])
    batches = list(pa.RecordBatchReader.from_stream(source))
    assert len(batches) > 20
    for batch in batches:
        batch.validate(full=True)
        assert batch.column("town").dictionary.nbytes < 2 * 5000
    assert pa.Table.from_batches(batches)["town"].to_pylist() == table["town"].to_pylist()
    monkeypatch.setattr(settling, "_AT_ONCE", 50_000)
    assert len(list(pa.RecordBatchReader.from_stream(source))) == 1  # negative control
