"""Who is one person: the same for releases and for perturb, whatever type an id has and however it is wrapped and handed over.

The reference looks at what Python wrote into the column, and never at what the library made of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dt
from discreet.engines import plain, sources
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from tests.collect.test_hostile import coded, runs

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
pd = pytest.importorskip("pandas")
pq = pytest.importorskip("pyarrow.parquet")

SURE = dt.geometric(9, epsilon=45)


def fixed(kind: Any, width: int, numbers: list[int]) -> Any:
    return pa.Array.from_buffers(
        kind, 3, [None, pa.py_buffer(b"".join(n.to_bytes(width, "little", signed=True) for n in numbers))]
    )


def sized(kind: Any, words: list[bytes]) -> Any:
    return pa.array(words, pa.binary()).cast(pa.binary_view() if "view" in str(kind) else pa.large_binary()).view(kind)


# three ids each, and how many people they are: exact, or nobody
IDS: dict[str, tuple[Any, int]] = {
    "days": (fixed(pa.date32(), 4, [5, 6, 2**31 - 1]), 3),
    "one day in milliseconds": (fixed(pa.date64(), 8, [0, 1, 86_400_000]), 3),
    "one microsecond": (fixed(pa.timestamp("ns"), 8, [0, 1, 999]), 3),
    "far seconds": (fixed(pa.timestamp("s"), 8, [0, 2**62, 2**62 + 1]), 3),
    "far milliseconds in a zone": (fixed(pa.timestamp("ms", "Asia/Tokyo"), 8, [-(2**62), 2**62, 2**62 + 1]), 3),
    "float64": (pa.array([0.0, -0.0, 5e-324]), 2),
    "float32": (pa.array([np.float32(0.1), np.nextafter(np.float32(0.1), np.float32(1)), np.nan], pa.float32()), 2),
    "float16": (pa.array(np.array([1, 1.001, np.nan], np.float16)), 2),
    "int64": (pa.array([2**53, 2**53 + 1, -(2**63)]), 3),
    "uint64": (pa.array([2**64 - 1, 2**64 - 2, 2**63], pa.uint64()), 3),
    "bool": (pa.array([True, False, None]), 2),
    "decimal128": (pa.array([Decimal("0.10000000000000000001"), Decimal("0.1"), None], pa.decimal128(30, 20)), 2),
    "decimal256": (pa.array([10**60, 10**60 + 1, 10**60 + 1], pa.decimal256(70, 0)), 2),
    "a decimal of too many digits": (fixed(pa.decimal128(2, 0), 16, [99, 100, 98]), 2),
    "binary": (pa.array([b"\xff", b"\xff\xfe", b"\xff"]), 2),
    "fixed binary": (pa.array([b"ab", b"\xff\xfe", None], pa.binary(2)), 2),
    "long bytes": (pa.array([b"x" * 5000, b"x" * 4999 + b"y", b"x" * 5000], pa.large_binary()), 2),
    "long texts": (pa.array(["x" * 5000, "x" * 4999 + "y", "x" * 64]), 3),
    **{
        f"no UTF-8, {kind}": (sized(kind, [b"\xff\xfe anna", b"\xff\xfe anna", b"bert"]), 1)
        for kind in (pa.large_string(), pa.string_view())
    },
    **{
        f"long and no UTF-8, {kind}": (sized(kind, [b"x" * 100 + b"\xff", b"y" * 5000 + b"\xff", b"bert"]), 1)
        for kind in (pa.large_string(), pa.string_view())
    },
    "uuid": (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16), b"\xff" * 16, None], pa.binary(16))), 2),
    "nothing": (pa.nulls(3), 0),
}
WAYS = {
    "plain": lambda column: column,
    "dictionary": lambda column: coded(column, [2, 0, 1]),
    "runs": lambda column: runs(column, 2, 3, 4),
    "runs of a dictionary": lambda column: runs(coded(column, [2, 0, 1]), 1, 2, 3),
}
NO_IDS = {
    "durations": pa.array([1, 2, None], pa.duration("s")),
    "times of day": pa.array([1, 2, None], pa.time64("us")),
    "lists": pa.array([[1], [2], None]),
}


def has_coded_extension(kind: Any) -> bool:
    """Are there codes of an extension's values? Arrow writes them into a file that it cannot open."""
    if pa.types.is_run_end_encoded(kind):
        return has_coded_extension(kind.value_type)
    return pa.types.is_dictionary(kind) and isinstance(kind.value_type, pa.BaseExtensionType)


def tables(column: Any, folder: Path) -> Iterator[Any]:
    """Each id twice, from memory, a reader and a file."""
    table = pa.table({"id": pa.chunked_array([column, column]), "x": [3] * (2 * len(column))})
    yield table
    yield table.to_reader()
    if not has_coded_extension(column.type):
        with pa.ipc.new_file(str(folder / "ids.arrow"), table.schema) as file:
            file.write_table(table)
        yield folder / "ids.arrow"


def released(table: Any) -> int:
    asked = {"predicates": [None], "by": [], "domain": Domain.of({}), "unit": "id"}
    return int(count_each(table, **asked).counts[0].sizes[0])


def perturbed(table: Any, book: dt.Ledger, name: str) -> int:
    """One report of each person: as many as there are people."""
    book.create(name, 10**6, unit="id")
    if isinstance(table, Path):
        book[name].admit(table)
    made = book[name].perturb(table, "x", SURE, on_bad="map=0")
    return sum(made["count"].to_pylist())


@pytest.mark.parametrize("name", IDS)
def test_people_are_counted_alike_by_releases_and_perturb(name, tmp_path):
    column, expected = IDS[name]
    with dt.Ledger(tmp_path / "budget.db") as book:
        for way, wrap in WAYS.items():
            wrapped = wrap(column)
            for one, other in zip(tables(wrapped, tmp_path), tables(wrapped, tmp_path), strict=True):
                found = released(one), perturbed(other, book, f"{way} {type(other).__name__}")
                assert found == (expected, expected), way


@pytest.mark.parametrize("name", NO_IDS)
def test_what_identifies_nobody_is_refused_by_both(name, tmp_path):
    table = pa.table({"id": NO_IDS[name], "x": [1, 2, 3]})
    with dt.Ledger(tmp_path / "budget.db") as book:
        for ask in (lambda: released(table), lambda: perturbed(table, book, "people")):
            with pytest.raises(dt.errors.TableInputError, match="identifies nobody"):
                ask()
        assert book["people"].balance().spent == 0


OBJECTS = {
    "decimals": ([Decimal("0.10000000000000000001"), Decimal("0.1"), Decimal("0.10")], 2),
    "a decimal beside its float": ([Decimal("0.1"), 0.1, Decimal("0.5")], 3),
    "whole numbers however they are held": ([7, 7.0, Decimal("7.000")], 1),
    "fractions": ([Fraction(1, 3), 1 / 3, Fraction(2, 6)], 2),
    "half, however it is held": ([Decimal("0.50"), 0.5, Fraction(1, 2)], 1),
    "no text": (["\ud800", "a", "a"], 1),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_of_pandas_are_told_apart_exactly(name, tmp_path):
    values, expected = OBJECTS[name]
    frame = pd.DataFrame({"id": pd.Series(values, dtype=object), "x": [1, 2, 3]})
    with dt.Ledger(tmp_path / "budget.db") as book:
        assert (released(frame), perturbed(frame, book, "people")) == (expected, expected)


ROUNDED = ("one day in milliseconds", "one microsecond", "far seconds", "far milliseconds in a zone", "long bytes")


@pytest.mark.parametrize("name", [*ROUNDED, "no UTF-8, large_string", "no UTF-8, string_view"])
def test_a_border_that_rounds_ids_would_be_seen(name, tmp_path, monkeypatch):
    """Negative control of both ways: ids are read as other values are, long bytes by their first 64, texts as their bytes."""
    read = plain._plain_words
    if name in ROUNDED:
        monkeypatch.setattr(plain, "_plain_words", lambda column, as_id: read(column, False))
        monkeypatch.setattr(plain, "shortened", lambda value, as_id: bytes(value[:64]))
    else:
        monkeypatch.setattr(
            plain, "_texts", lambda raw: pa.array([raw.to_pylist().index(x) for x in raw.to_pylist()]).cast("string")
        )
    column, expected = IDS[name]
    table = pa.table({"id": column, "x": [3] * len(column)})
    with dt.Ledger(tmp_path / "budget.db") as book:
        assert released(table) != expected != perturbed(table, book, "people")


def test_objects_that_are_rounded_would_be_seen(monkeypatch):
    """Negative control: Decimals told apart as floats are one person fewer."""
    read = sources._text_of
    monkeypatch.setattr(sources, "_text_of", lambda value, is_id=False: read(value))
    values, expected = OBJECTS["decimals"]
    assert released(pd.DataFrame({"id": pd.Series(values, dtype=object), "x": [1, 2, 3]})) == expected - 1


@pytest.mark.campaign
def test_ids_of_every_kind_by_brute_force(tmp_path):
    """Ten ids of random bytes in every type that can be an id, in random orders, wrappings and batches: as many people as there are
    different values, of texts as many as are UTF-8, and both ways alike."""
    rng = np.random.default_rng(1)
    widths = {
        **dict.fromkeys(
            (pa.int64(), pa.uint64(), pa.date64(), pa.timestamp("s"), pa.timestamp("ms", "UTC"), pa.timestamp("ns")), 8
        ),
        **dict.fromkeys((pa.int32(), pa.uint32(), pa.date32()), 4),
        pa.int16(): 2,
        pa.int8(): 1,
        pa.binary(16): 16,
    }
    with dt.Ledger(tmp_path / "budget.db") as book:
        for trial in range(200):
            order = rng.integers(0, 10, 60)
            kind = list(widths)[int(rng.integers(len(widths)))]
            words = [rng.bytes(widths[kind]) for _ in range(10)]
            whole = words
            if trial % 3 == 0:
                kind = [pa.large_string(), pa.string_view(), pa.large_binary(), pa.binary_view()][int(rng.integers(4))]
                words = [rng.bytes(int(rng.choice([0, 1, 2, 63, 64, 65, 5000]))) for _ in range(10)]
                is_text = "string" in str(kind)
                words = [w if k % 2 else w.hex().encode() for k, w in enumerate(words)]
                whole = [w for w in words if not is_text or _is_utf8(w)]
                column = sized(kind, [words[k] for k in order])
            else:
                column = pa.Array.from_buffers(kind, 60, [None, pa.py_buffer(b"".join(words[k] for k in order))])
            expected = len({words[k] for k in order} & {*whole})
            wrapped = [
                column,
                coded(column, list(range(60))),
                runs(column, *range(1, 61)),
            ][trial % 3]
            table = pa.table({"id": wrapped, "x": [3] * 60})
            found = released(table), perturbed(table, book, f"trial {trial}")
            assert found == (expected, expected), (trial, kind)


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
