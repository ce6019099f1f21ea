"""Batches that hold what no library can convert: read by rules that no value breaks, or refused by the type alone.

Each hostile column has a twin of the same type with ordinary values. Whatever is asked, both get the same answer or the same
refusal, to the letter: nobody learns from success or failure what stands in a row. And nothing that hangs on an error quotes it.
"""

from __future__ import annotations

import datetime
import itertools
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.collect.batches import perturb_batches
from discreet.collect.charging import FirstRows
from discreet.collect.values import Rule, places_of
from discreet.errors import DiscreetError, ReleaseError, TableInputError

SURE = dt.geometric(100, epsilon=45)  # a report differs from its truth with probability 6e-20
SECRET = b"\xff\xfesecret-4711\xc3"  # no UTF-8
FAR, DAYS, LEAST = 2**60 + 4711, 2**31 - 1, -(2**127)
MARKS = ("secret", "4711", str(FAR), str(DAYS), str(LEAST), str(-LEAST), "170141183460469231731687303715884105728",
         str(2**62 + 1), str(-(2**63)))  # fmt: skip


def fixed(kind: pa.DataType, width: int, *numbers: int) -> pa.Array:
    data = b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(data)])


def sized(kind: pa.DataType, *words: bytes) -> pa.Array:
    if kind in (pa.string_view(), pa.binary_view()):
        return pa.Array.from_buffers(kind, len(words), pa.array(words, pa.binary_view()).buffers())
    ends = np.cumsum([0, *map(len, words)]).astype(np.int64 if "large" in str(kind) else np.int32)
    return pa.Array.from_buffers(kind, len(words), [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(words))])


def coded(words: pa.Array, codes: list[int | None]) -> pa.Array:
    """A dictionary whose indices nobody checked."""
    valid = pa.array(codes, pa.int8())
    kind = pa.dictionary(pa.int8(), words.type)
    return pa.DictionaryArray.from_buffers(kind, len(codes), valid.buffers(), words)


def runs(words: pa.Array, *ends: int) -> pa.Array:
    kind = pa.run_end_encoded(pa.int32(), words.type)
    return pa.Array.from_buffers(kind, ends[-1], [None], children=[pa.array(ends, pa.int32()), words])


def pair(make: Callable[..., pa.Array], ordinary: Any, hostile: Any, *before: Any) -> tuple[pa.Array, pa.Array]:
    return make(*before, ordinary[0], ordinary[1], ordinary[2]), make(*before, ordinary[0], hostile, ordinary[2])


WORDS, NUMBERS = (b"7", b"8", b"9"), (7, 8, 9)
TEXTS = {str(kind): pair(sized, WORDS, SECRET, kind) for kind in (
    pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())}  # fmt: skip
TIMES = {
    **{f"date32 {k}": pair(fixed, NUMBERS, DAYS - k, pa.date32(), 4) for k in (0, 1)},
    "date64": pair(fixed, (0, 86_400_000, 172_800_000), FAR, pa.date64(), 8),
    "time32": pair(fixed, NUMBERS, DAYS, pa.time32("ms"), 4), "time64": pair(fixed, NUMBERS, FAR, pa.time64("ns"), 8),
    **{str(kind): pair(fixed, NUMBERS, far, kind, 8) for unit, far in (("s", FAR), ("ms", -FAR), ("us", -(2**63)), ("ns", FAR))
       for kind in (pa.timestamp(unit), pa.timestamp(unit, "Europe/Berlin"), pa.duration(unit))},
    "a strange zone": pair(fixed, NUMBERS, FAR, pa.timestamp("us", "Nowhere/4242"), 8),
    "month_day_nano": pair(fixed, NUMBERS, 2**126 + 4711, pa.month_day_nano_interval(), 16),
}  # fmt: skip
DECIMALS = {
    str(kind): pair(fixed, (7 * unit, 8 * unit, 9 * unit), least, kind, width)
    for kind, width, unit, least in (
        (pa.decimal32(9, 2), 4, 100, -(2**31)), (pa.decimal64(18, 2), 8, 100, -(2**63)), (pa.decimal128(38, 2), 16, 100, LEAST),
        (pa.decimal256(76, 2), 32, 100, -(2**255)), (pa.decimal128(38, -3), 16, 1, LEAST), (pa.decimal32(3, -9), 4, 1, -(2**31)),
        (pa.decimal256(76, 2**31 - 1), 32, 1, 2**255 - 1), (pa.decimal128(38, -(2**31)), 16, 1, -LEAST - 1), (pa.decimal64(1, 0), 8, 1, FAR),
    )
}  # fmt: skip
PLAIN = {
    "int64": pair(fixed, NUMBERS, -(2**63), pa.int64(), 8), "uint64": pair(fixed, NUMBERS, -1, pa.uint64(), 8),
    "int8": pair(fixed, NUMBERS, -128, pa.int8(), 1), "float16": pair(fixed, (0x4700, 0x4800, 0x4880), 0x7E01, pa.float16(), 2),
    "float16 inf": pair(fixed, (0x4700, 0x4800, 0x4880), 0x7C00, pa.float16(), 2),
    "float32": pair(fixed, (0x40E00000, 0x41000000, 0x41100000), 0x7FC01267, pa.float32(), 4),
    "float64": pair(fixed, (0, 0, 0), 0x7FF8000000001267, pa.float64(), 8),
    "bool": (pa.array([True, False, True]), pa.array([True, None, True])),
    "null": (pa.nulls(3), pa.nulls(3)),
    "fixed binary": pair(lambda *w: pa.array(w, pa.binary(4)), (b"0007", b"0008", b"0009"), b"\xff\xfe\x12\x67"),
}  # fmt: skip
WRAPPED = {
    "dictionary": tuple(coded(words, [0, 1, 2]) for words in TEXTS["string"]),
    "dictionary, twice": (coded(sized(pa.string(), b"7", b"7", b"8"), [0, 1, 2]), coded(sized(pa.string(), b"7", SECRET, SECRET), [0, 1, 2])),
    "dictionary, lost": (coded(TEXTS["string"][0], [0, 1, 2]), coded(TEXTS["string"][0], [0, 111, 2])),
    "dictionary, negative": (coded(TEXTS["string"][0], [0, 1, 2]), coded(TEXTS["string"][0], [0, -1, 2])),
    "dictionary, none": (coded(TEXTS["string"][0], [0, 1, 2]), coded(pa.array(["7", None, "9"]), [0, 1, 2])),
    "dictionary of days": tuple(coded(words, [0, 1, 2]) for words in TIMES["date32 0"]),
    "dictionary of numbers": tuple(coded(words, [0, 1, 2]) for words in PLAIN["int64"]),
    "dictionary of float16": tuple(coded(words, [0, 1, 2]) for words in PLAIN["float16"]),
    "dictionary of decimals": tuple(coded(words, [0, 1, 2]) for words in DECIMALS["decimal32(9, 2)"]),
    "runs of texts": tuple(runs(words, 1, 2, 3) for words in TEXTS["string"]),
    "runs of views": tuple(runs(words, 1, 2, 3) for words in TEXTS["string_view"]),
    "runs of numbers": tuple(runs(words, 1, 2, 3) for words in PLAIN["int64"]),
    "runs of days": tuple(runs(words, 1, 2, 3) for words in TIMES["date32 0"]),
    "runs of decimals": tuple(runs(words, 1, 2, 3) for words in DECIMALS["decimal128(38, 2)"]),
    "runs of a dictionary": tuple(runs(coded(words, [0, 1, 2]), 1, 2, 3) for words in TEXTS["string"]),
    "uuid": tuple(pa.ExtensionArray.from_storage(pa.uuid(), pa.array(words, pa.binary(16))) for words in (
        [b"7" * 16, b"8" * 16, b"9" * 16], [b"7" * 16, b"\xffsecret-4711\xc3\xc3\xc3\xc3", b"9" * 16])),
    "bool8": tuple(pa.ExtensionArray.from_storage(pa.bool8(), pa.array(words, pa.int8())) for words in ([0, 1, 1], [0, -111, 1])),
    "json": tuple(pa.ExtensionArray.from_storage(pa.json_(), words) for words in TEXTS["string"]),
    "opaque": tuple(pa.ExtensionArray.from_storage(pa.opaque(pa.date32(), "a", "b"), words) for words in TIMES["date32 0"]),
    "list": (pa.array([[7], [8], [9]]), pa.array([[7], [4711], None])),
    "list of texts": tuple(pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), words) for words in TEXTS["string"]),
    "fixed list": tuple(pa.FixedSizeListArray.from_arrays(words, 1) for words in TEXTS["string"]),
    "struct": tuple(pa.StructArray.from_arrays([words], ["secret"]) for words in TEXTS["string"]),
    "map": tuple(pa.MapArray.from_arrays(pa.array([0, 1, 2, 3]), words, words) for words in TEXTS["string"]),
    "union": tuple(pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [words]) for words in TEXTS["string"]),
    "runs of lists": (runs(pa.array([[7], [8], [9]]), 1, 2, 3), runs(pa.array([[7], [4711], None]), 1, 2, 3)),
}  # fmt: skip
HOSTILE: dict[str, Any] = {**TEXTS, **TIMES, **DECIMALS, **PLAIN, **WRAPPED}


def hung_on(error: BaseException) -> Iterator[str]:
    """All that can be found out from an exception without looking into frames."""
    waiting: list[Any] = [error]
    seen: set[int] = set()
    while waiting:
        it = waiting.pop()
        if id(it) in seen:
            continue
        seen.add(id(it))
        yield repr(it)
        yield str(it)
        if isinstance(it, BaseException):
            waiting += [it.args, it.__cause__, it.__context__, getattr(it, "__notes__", None), vars(it)]
            if isinstance(it, UnicodeError):
                waiting += [getattr(it, "object", None)]
        elif isinstance(it, dict):
            waiting += [*it.keys(), *it.values()]
        elif isinstance(it, (list, tuple, set, frozenset)):
            waiting += it
        elif isinstance(it, (pa.Array, pa.Scalar, pa.RecordBatch, pa.Table)):
            yield "4711 a piece of data"


def assert_quotes_nothing(error: BaseException, marks: tuple[str, ...] = MARKS) -> None:
    assert isinstance(error, DiscreetError), repr(error)
    for text in hung_on(error):
        assert not any(mark in text for mark in marks), text


def outcome(ask: Callable[[], Any]) -> Any:
    """What came of it: a result, or a refusal whose words are ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = ask()
    except Exception as error:
        assert_quotes_nothing(error)
        return type(error), str(error)
    return sum(made["count"].to_pylist()) if isinstance(made, pa.Table) and "count" in made.column_names else "made"


names = itertools.count()


def charged(book: dt.Ledger, dataset: str, table: Any) -> Any:
    """A question of its own each time; a refusal charges nothing, an answer its price."""
    before = book.balance(dataset).spent
    try:
        made = dt.perturb(table, "age", SURE, dataset=dataset, ledger=book, on_bad="map=0", version=str(next(names)))
    except DiscreetError:
        assert book.balance(dataset).spent == before
        raise
    assert book.balance(dataset).spent == before + 4500
    return made


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    with dt.Ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        ledger.create("rows", 10**9, relation="bit")
        ledger.create("people", 10**9, unit="id")
        yield ledger


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_decides_what_comes_of_a_perturbation(name, book, tmp_path):
    """As values, as ids; in memory, from a file, from a reader, batch by batch; with a ledger and without."""
    twins = HOSTILE[name]
    assert twins[0].type == twins[1].type
    ways: dict[str, Callable[[pa.Array], Any]] = {
        "mapped": lambda c: dt.perturb(pa.table({"age": c}), "age", SURE, on_bad="map=0"),
        "clamped": lambda c: dt.perturb(pa.table({"age": c}), "age", SURE, on_bad="clamp,map=0"),
        "read": lambda c: dt.perturb(pa.table({"age": c}).to_reader(), "age", SURE, on_bad="map=0"),
        "charged": lambda c: charged(book, "rows", pa.table({"age": c})),
        "ids": lambda c: charged(book, "people", pa.table({"age": [1, 2, 3], "id": c})),
        "batches": lambda c: list(perturb_batches([pa.record_batch({"age": c})], "age", SURE, on_bad="map=0")),
        "a file": lambda c: dt.perturb(arrow_file(tmp_path / "hostile.arrow", c), "age", SURE, on_bad="map=0"),
        "into a file": lambda c: dt.perturb_file(
            pa.table({"age": c}), tmp_path / "made.csv", "age", SURE, on_bad="map=0", overwrite=True),
    }  # fmt: skip
    for way, ask in ways.items():
        ordinary, hostile = (outcome(lambda column=column: ask(column)) for column in twins)
        if way == "ids":  # NaN, a missing one and a repeated one are reports of fewer people, and no failure
            ordinary, hostile = ("made" if isinstance(each, int) else each for each in (ordinary, hostile))
        assert ordinary == hostile, way
        assert ordinary in (3, "made") or ordinary[0] in (TableInputError, ReleaseError), way


def arrow_file(path: Path, column: pa.Array) -> Path:
    table = pa.table({"age": column})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_goes_wrong_quotes_a_value(name, tmp_path):
    """Where an answer may depend on rows (an error by declared choice, kept columns, tallies), only the words are ours."""
    ordinary, hostile = HOSTILE[name]
    table = pa.table({"age": hostile})
    beside = pa.table({"age": [1, 2, 3], "kept": hostile})
    asks = [
        lambda: dt.perturb(table, "age", SURE), lambda: dt.perturb(table, "age", SURE, on_bad="clamp"),
        lambda: dt.perturb(table, "age", SURE, on_bad="drop"),
        lambda: dt.tally(table, "age"), lambda: dt.tally(table, "age", SURE),
        lambda: dt.tally(pa.table({"age": [1, 2, 3], "count": hostile}), "age"),
        lambda: dt.tally(pa.table({"age": hostile, "count": [1, 2, 3]}), "age", SURE),
        lambda: dt.perturb(beside, "age", SURE, rows=True, keep="kept"),
        lambda: dt.perturb(beside, "age", SURE, rows=True, keep="kept", on_bad="drop"),
        *(lambda kind=kind: dt.perturb_file(beside, tmp_path / f"kept.{kind}", "age", SURE, rows=True, keep="kept")
          for kind in ("csv", "parquet", "arrow")),
    ]  # fmt: skip
    for ask in asks:
        outcome(ask)
    told = [  # these quote a report, which is private already, or carry the value for whoever holds it as an attribute
        lambda: dt.recover(pa.table({"age": hostile, "count": [1, 2, 3]}), SURE),
        lambda: dt.recover(hostile, SURE, kind="reports"), lambda: SURE.sample(hostile),
    ]  # fmt: skip
    for ask in told:
        try:
            ask()
        except DiscreetError as error:
            assert "Unicode" not in "".join(hung_on(error))


def test_the_walk_finds_what_other_libraries_quote():
    """Negative control: PyArrow's own errors, bare and hidden behind one of ours."""
    with pytest.raises(UnicodeDecodeError) as bare:
        TEXTS["string"][1].to_pylist()
    hidden = TableInputError("The table is damaged.")
    hidden.__context__ = bare.value
    kept = TableInputError("The table is damaged.", engine=bare.value)
    for error in (hidden, kept):
        with pytest.raises(AssertionError):
            assert_quotes_nothing(error)
