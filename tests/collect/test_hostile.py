"""Batches that hold what no library can convert: read by rules that no value breaks, or refused by the type alone.

Each hostile column has a twin of the same type with ordinary values. Whatever is asked, both get the same answer or the same
refusal, to the letter: nobody learns from success or failure what stands in a row. And nothing that hangs on an error quotes it.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dt
from discreet.collect.placing import BadValueRule, places_of
from discreet.collect.request import PerturbRequest
from discreet.engines.plain import plain
from discreet.engines.sources import open_table
from discreet.errors import DiscreetError, ReleaseError, TableInputError

SURE = dt.geometric(100, epsilon=45)  # a report differs from its truth with probability 6e-20
SECRET = b"\xff\xfesecret-4711\xc3"  # no UTF-8
FAR, DAYS, LEAST = 2**60 + 4711, 2**31 - 1, -(2**127)
FARTHEST = 2**31 - 9  # a scale that no number of an engine has: such a column is refused by its type
MARKS = (
    "secret",
    "4711",
    str(FAR),
    str(DAYS),
    str(LEAST),
    str(-LEAST),
    "170141183460469231731687303715884105728",
    str(2**62 + 1),
    str(-(2**63)),
)


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
TEXTS = {
    str(kind): pair(sized, WORDS, SECRET, kind)
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
}
TIMES = {
    **{f"date32 {k}": pair(fixed, NUMBERS, DAYS - k, pa.date32(), 4) for k in (0, 1)},
    "date64": pair(fixed, (0, 86_400_000, 172_800_000), FAR, pa.date64(), 8),
    "time32": pair(fixed, NUMBERS, DAYS, pa.time32("ms"), 4),
    "time64": pair(fixed, NUMBERS, FAR, pa.time64("ns"), 8),
    **{
        str(kind): pair(fixed, NUMBERS, far, kind, 8)
        for unit, far in (("s", FAR), ("ms", -FAR), ("us", -(2**63)), ("ns", FAR))
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "Europe/Berlin"), pa.duration(unit))
    },
    "a strange zone": pair(fixed, NUMBERS, FAR, pa.timestamp("us", "Nowhere/4242"), 8),
    "month_day_nano": pair(fixed, NUMBERS, 2**126 + 4711, pa.month_day_nano_interval(), 16),
}
DECIMALS = {
    str(kind): pair(fixed, (7 * unit, 8 * unit, 9 * unit), least, kind, width)
    for kind, width, unit, least in (
        (pa.decimal32(9, 2), 4, 100, -(2**31)),
        (pa.decimal64(18, 2), 8, 100, -(2**63)),
        (pa.decimal128(38, 2), 16, 100, LEAST),
        (pa.decimal256(76, 2), 32, 100, -(2**255)),
        (pa.decimal128(38, -3), 16, 1, LEAST),
        (pa.decimal32(3, -9), 4, 1, -(2**31)),
        (pa.decimal256(76, FARTHEST), 32, 1, 2**255 - 1),
        (pa.decimal128(38, -FARTHEST), 16, 1, -LEAST - 1),
        (pa.decimal64(1, 0), 8, 1, FAR),
    )
}
PLAIN = {
    "int64": pair(fixed, NUMBERS, -(2**63), pa.int64(), 8),
    "uint64": pair(fixed, NUMBERS, -1, pa.uint64(), 8),
    "int8": pair(fixed, NUMBERS, -128, pa.int8(), 1),
    "float16": pair(fixed, (0x4700, 0x4800, 0x4880), 0x7E01, pa.float16(), 2),
    "float16 inf": pair(fixed, (0x4700, 0x4800, 0x4880), 0x7C00, pa.float16(), 2),
    "float32": pair(fixed, (0x40E00000, 0x41000000, 0x41100000), 0x7FC01267, pa.float32(), 4),
    "float64": pair(fixed, (0, 0, 0), 0x7FF8000000001267, pa.float64(), 8),
    "bool": (pa.array([True, False, True]), pa.array([True, None, True])),
    "null": (pa.nulls(3), pa.nulls(3)),
    "fixed binary": pair(lambda *w: pa.array(w, pa.binary(4)), (b"0007", b"0008", b"0009"), b"\xff\xfe\x12\x67"),
}
WRAPPED = {
    "dictionary": tuple(coded(words, [0, 1, 2]) for words in TEXTS["string"]),
    "dictionary, twice": tuple(coded(sized(pa.string(), b"7", word, word), [0, 1, 2]) for word in (b"8", SECRET)),
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
    "uuid": tuple(
        pa.ExtensionArray.from_storage(pa.uuid(), pa.array(words, pa.binary(16)))
        for words in ([b"7" * 16, b"8" * 16, b"9" * 16], [b"7" * 16, b"\xffsecret-4711\xc3\xc3\xc3\xc3", b"9" * 16])
    ),
    "bool8": tuple(
        pa.ExtensionArray.from_storage(pa.bool8(), pa.array(words, pa.int8())) for words in ([0, 1, 1], [0, -111, 1])
    ),
    "json": tuple(pa.ExtensionArray.from_storage(pa.json_(), words) for words in TEXTS["string"]),
    "opaque": tuple(
        pa.ExtensionArray.from_storage(pa.opaque(pa.date32(), "a", "b"), words) for words in TIMES["date32 0"]
    ),
    "list": (pa.array([[7], [8], [9]]), pa.array([[7], [4711], None])),
    "list of texts": tuple(pa.ListArray.from_arrays(pa.array([0, 1, 2, 3]), words) for words in TEXTS["string"]),
    "fixed list": tuple(pa.FixedSizeListArray.from_arrays(words, 1) for words in TEXTS["string"]),
    "struct": tuple(pa.StructArray.from_arrays([words], ["secret"]) for words in TEXTS["string"]),
    "map": tuple(pa.MapArray.from_arrays(pa.array([0, 1, 2, 3]), words, words) for words in TEXTS["string"]),
    "union": tuple(pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [words]) for words in TEXTS["string"]),
    "runs of lists": (runs(pa.array([[7], [8], [9]]), 1, 2, 3), runs(pa.array([[7], [4711], None]), 1, 2, 3)),
}
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


NESTED = {"list", "list of texts", "fixed list", "struct", "map", "union", "runs of lists"}
NO_IDS = {
    *NESTED,
    "time32",
    "time64",
    "month_day_nano",
    *(f"duration[{unit}]" for unit in ("s", "ms", "us", "ns")),
    f"decimal256(76, {FARTHEST})",
    f"decimal128(38, {-FARTHEST})",
}
NO_NUMBERS = {
    *NESTED,
    *TIMES,
    "binary",
    "large_binary",
    "binary_view",
    "fixed binary",
    "dictionary of days",
    "runs of days",
    "uuid",
    "opaque",
}
NO_SCALE = {f"decimal256(76, {FARTHEST})", f"decimal128(38, {-FARTHEST})"}
SEVEN_AND_NINE = (
    {
        *TEXTS,
        *WRAPPED,
        "decimal32(9, 2)",
        "decimal64(18, 2)",
        "decimal128(38, 2)",
        "decimal256(76, 2)",
        "int64",
        "uint64",
        "int8",
        "float16",
        "float16 inf",
        "float32",
    }
    - NO_NUMBERS
    - {"dictionary, twice", "bool8"}
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_value_decides_what_comes_of_a_perturbation(name, tmp_path):
    """As values and as ids; in memory, from a file, from a reader."""
    ordinary, hostile = HOSTILE[name]
    assert ordinary.type == hostile.type
    ways: dict[str, Callable[[pa.Array], Any]] = {
        "mapped": lambda c: dt.perturb(held({"age": c}), "age", SURE, on_bad="map=0"),
        "clamped": lambda c: dt.perturb(held({"age": c}), "age", SURE, on_bad="clamp,map=0"),
        "a file": lambda c: dt.perturb(arrow_file(tmp_path / "hostile.arrow", c), "age", SURE, on_bad="map=0"),
    }
    for way, ask in ways.items():
        both = [outcome(partial(ask, column)) for column in (ordinary, hostile)]
        assert both[0] == both[1], way
        refused = name in NO_NUMBERS or name in NO_SCALE
        assert both[0][0] is TableInputError if refused else both[0] in (3, "made"), way
    ids = [outcome(lambda c=c: ids_of(c)) for c in (ordinary, hostile)]
    assert ids[0] == ids[1]
    assert ids[0][0] is TableInputError if name in NO_IDS else ids[0] == "made"
    if name in SEVEN_AND_NINE:
        made = dt.perturb(pa.table({"age": hostile}).to_reader(), "age", SURE, on_bad="map=0")
        assert made.to_pydict() == {"age": [0, 7, 9], "count": [1, 1, 1]}


@pytest.mark.parametrize(
    "name",
    [
        "string",
        "string_view",
        "binary",
        "date32 0",
        "timestamp[us]",
        "duration[ns]",
        "month_day_nano",
        "decimal128(38, 2)",
        "decimal32(3, -9)",
        "float16",
        "dictionary, lost",
        "runs of texts",
        "uuid",
        "struct",
        "runs of lists",
    ],
)
def test_with_a_ledger_a_type_is_refused_before_the_charge_and_a_value_never(name, tmp_path):
    _, hostile = HOSTILE[name]
    with dt.Ledger(tmp_path / "budget.db") as book:
        for dataset, columns, refused, terms in [
            ("rows", {"age": hostile}, name in NO_NUMBERS, {"relation": "change-one"}),
            ("people", {"age": pa.array([1, 2, 3]), "id": hostile}, name in NO_IDS, {"unit": "id"}),
        ]:
            book.create(dataset, 10**6, **terms)
            came = outcome(lambda: book[dataset].perturb(held(columns), "age", SURE, on_bad="map=0"))  # noqa: B023
            assert came[0] in (TableInputError, ReleaseError) if refused else isinstance(came, int)
            assert book[dataset].balance().spent == (0 if refused else 4500)


def ids_of(column: pa.Array) -> list[Any]:
    source = open_table(pa.table({"id": column}).to_reader(), again=False)
    source.bind(["id"], "id")
    return [batch.column(source.ids) for batch in source.plain_batches()]


def held(columns: dict[str, pa.Array]) -> Any:
    """In memory; by a reader where Narwhals knows no such type, which it refuses whatever the values are."""
    table = pa.table(columns)
    unknown = any(str(kind).startswith("decimal128") and kind.scale < 0 for kind in table.schema.types)
    return table.to_reader() if unknown else table


def arrow_file(path: Path, column: pa.Array) -> Path:
    table = pa.table({"age": column})
    with pa.ipc.new_file(str(path), table.schema) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_goes_wrong_quotes_a_value(name, tmp_path):
    """Where an answer may depend on rows (an error by declared choice, groups, tallies), only the words are ours."""
    _, hostile = HOSTILE[name]
    table = pa.table({"age": hostile})
    beside = pa.table({"age": [1, 2, 3], "town": hostile})
    asks = [
        lambda: dt.perturb(table, "age", SURE),
        lambda: dt.perturb(table, "age", SURE, on_bad="clamp"),
        lambda: dt.perturb(table, "age", SURE, on_bad="drop"),
        lambda: dt.tally(table, "age"),
        lambda: dt.tally(table, "age", SURE),
        lambda: dt.tally(pa.table({"age": [1, 2, 3], "count": hostile}), "age"),
        lambda: dt.tally(pa.table({"age": hostile, "count": [1, 2, 3]}), "age", SURE),
        lambda: dt.perturb(beside, "age", SURE, rows=True, by="town"),
        lambda: dt.perturb(beside, "age", SURE, rows=True, by="town", on_bad="drop"),
        *(
            lambda kind=kind: dt.perturb(beside, "age", SURE, out=tmp_path / f"made.{kind}", by="town")
            for kind in ("csv", "parquet", "arrow")
        ),
    ]
    for ask in asks:
        outcome(ask)
    told = [  # these quote a report, which is private already, or carry the value for whoever holds it as an attribute
        lambda: dt.recover(pa.table({"age": hostile, "count": [1, 2, 3]}), SURE),
        lambda: dt.recover(hostile, SURE, kind="reports"),
        lambda: SURE.sample(hostile),
    ]
    for ask in told:
        with suppress(DiscreetError):
            ask()


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


def test_runs_are_read_wherever_they_are_cut():
    """550 of 1000 people were 0 when runs were not read: against the decoded column, in every slice, with missing runs."""
    rng = np.random.default_rng(2)
    ends = np.cumsum(rng.integers(1, 9, 40))
    words = pa.array([None if k % 7 == 3 else int(x) for k, x in enumerate(rng.integers(0, 101, 40))])
    grid = SURE.inputs
    kinds = (pa.int64(), pa.float32(), pa.string(), pa.decimal128(20, 1))
    for values in (*map(words.cast, kinds), words.dictionary_encode()):
        column = runs(values, *ends.tolist())
        whole = [word for word, size in zip(words.to_pylist(), np.diff([0, *ends]), strict=True) for _ in range(size)]
        for start in range(0, len(whole), 11):
            for length in (0, 1, 5, 50):
                places, stay = places_of(grid, plain(column.slice(start, length)), BadValueRule.of("drop", grid))
                here = whole[start : start + length]
                assert places.tolist() == [x for x in here if x is not None]
                assert stay is None or stay.tolist() == [x is not None for x in here]


def broken_text(offset: int) -> pa.Array:
    """Three texts, of which nobody checked where they begin and end."""
    ends = np.array([0, 1, offset, 3], np.int32)
    return pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"789")])


def view_of(size: int, buffer: int) -> pa.Array:
    """Views, of which nobody checked how long they are and into which buffer they point."""
    word = size.to_bytes(4, "little", signed=True) + b"7   " + buffer.to_bytes(4, "little", signed=True) + bytes(4)
    return pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(3 * word)])


BROKEN = {
    **{f"text {offset}": broken_text(offset) for offset in (2**30, -5)},
    **{f"view {view}": view_of(*view) for view in ((100, 77), (100, -1), (-1, 0))},
}
BROKEN |= {f"dictionary of {name}": coded(words, [0, 1, 2]) for name, words in BROKEN.items()}
BROKEN |= {
    f"list of {name}": pa.Array.from_buffers(
        pa.list_(words.type), 3, pa.array([[0], [1], [2]]).buffers()[:2], children=[words]
    )
    for name, words in BROKEN.items()
    if name[0] in "tv"
}
BROKEN["list"] = pa.Array.from_buffers(
    pa.list_(pa.int64()),
    3,
    [None, pa.py_buffer(np.array([0, 1, 2**28, 3], np.int32).tobytes())],
    children=[pa.array([1, 2, 3])],
)

ASKS = """
import os, sys, warnings
import pyarrow as pa
import discreet as dt
from discreet.engines.duckdb import count_each
from discreet.questions.domain import Domain
from tests.collect.test_hostile import BROKEN, SURE, outcome
warnings.simplefilter("ignore")
for name, words in BROKEN.items():
    beside = pa.table({"age": [1, 2, 3], "town": words})
    counts = pa.table({"age": words, "count": [1, 2, 3]})
    for ask in (lambda: dt.perturb(beside, "age", SURE, rows=True, by="town"),
                lambda: dt.perturb(beside, "age", SURE, rows=True, by="town", on_bad="drop"),
                lambda: dt.perturb(counts, "age", SURE, on_bad="map=0"), lambda: dt.tally(counts, "age"),
                lambda: dt.recover(counts, SURE), lambda: dt.recover(words, SURE, kind="reports"), lambda: SURE.sample(words)):
        assert issubclass(outcome(ask)[0], dt.errors.DiscreetError), name
    for more in ({}, {"unit": "town"}, {"by": ["town"], "domain": Domain.of({"town": ["7"]})}):
        asked = {"by": [], "domain": Domain.of({}), **more}
        came = outcome(lambda: count_each(beside, predicates=["town = '7'", None], **asked))
        assert issubclass(came[0], dt.errors.DiscreetError), (name, more, came)
print("alive")
"""


UNCHECKED = """
from discreet.engines import plain
plain._raw = lambda column: column.cast("large_binary") if "view" in str(column.type) else column
"""


def asked(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=Path(__file__).parents[2])


def test_no_content_ends_the_process():
    """Offsets, lengths and buffers that are not there, kept, counted and recovered from: a sentence, each time."""
    done = asked(ASKS)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


def test_content_that_nobody_checks_ends_the_process():
    """Negative control: the same without the look at where each value begins and ends."""
    assert asked(UNCHECKED + ASKS).stdout == ""


def test_an_admitted_file_with_one_broken_text_is_charged_and_answered(tmp_path):
    path = tmp_path / "ages.parquet"
    pq.write_table(
        pa.table({"age": sized(pa.string(), b"7", SECRET, b"9"), "id": sized(pa.string(), b"a", b"b", SECRET)}), path
    )
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("ages", 10**6, unit="id")
        book["ages"].admit(path)
        made = book["ages"].perturb(path, "age", SURE, on_bad="map=0")
        assert made.to_pydict() == {"age": [0, 7], "count": [1, 1]}  # an id that is no UTF-8 is nobody's
        assert book["ages"].balance().spent == 4500


def test_a_reader_that_breaks_off_quotes_nothing(tmp_path):
    """Its own error, and that of a library which converts for it; the first batch was good."""

    def broken() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"age": [1, 2]})
        raise ValueError("invalid value 'secret-4711'")

    schema = pa.schema([("age", pa.int64())])
    for ask in (
        lambda reader: dt.perturb(reader, "age", SURE),
        lambda reader: dt.tally(reader, "age"),
        lambda reader: dt.perturb(reader, "age", SURE, out=tmp_path / "made.csv"),
    ):
        with pytest.raises(TableInputError, match="broke off") as caught:
            ask(pa.RecordBatchReader.from_batches(schema, broken()))
        assert_quotes_nothing(caught.value)
    assert [*tmp_path.iterdir()] == []
    texts = pd.arrays.ArrowExtensionArray(pa.chunked_array([sized(pa.string(), b"7", SECRET)]))
    frame = pd.DataFrame({"age": [1, 2], "town": texts})
    assert outcome(lambda: dt.perturb(frame, "age", SURE, rows=True, by="town")) is not None


def test_reports_are_counted_before_the_charge(tmp_path):
    """The inputs of this wave fit, its reports do not: it is refused before anything is charged, at every try."""
    table = pa.table({"age": [1, 2]})
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("ages", "10", relation="change-one")
        wide = dt.square_wave(2**24 - 1, epsilon="1/2")
        assert wide.inputs.size == 2**24 < wide.outputs.size
        for _ in range(2):
            with pytest.raises(ReleaseError, match="coarser grid"):
                book["ages"].perturb(table, "age", wide, on_bad="map=0")
        assert (book["ages"].balance().spent, book["ages"].balance().pending) == (0, 0)
        most = dt.randomized_response(2**24 - 1, epsilon="1/2")  # just as many as can be counted
        asked = PerturbRequest.of(column="age", mechanism=most, charged=book["ages"].paying(), on_bad="map=0")
        assert asked.mechanism.outputs.size == 2**24
        fits = dt.square_wave(1000, epsilon="1/2")
        book["ages"].perturb(table, "age", fits, on_bad="map=0")
        assert book["ages"].balance().spent == Fraction(1, 2)
