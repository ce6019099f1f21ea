"""Nothing that a table or its library says crosses our border: hostile sources, and every part of the errors that come of them."""

from __future__ import annotations

import random
from fractions import Fraction

import pandas as pd
import pytest

import discreet as dt
from discreet.engines import table_source
from discreet.engines.guard import Guarded
from discreet.errors import DiscreetError, TableInputError
from discreet.questions.domain import Domain
from tests.engines.one_count import count_groups

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

SECRET = "anna-12345"


class TheirError(Exception):
    """An error of another library, that keeps the value it stumbled over."""

    def __init__(self):
        super().__init__(f"invalid value {SECRET!r}")
        self.object = SECRET


def told_by(error):
    """Every text that hangs on an error, however deep."""
    seen, ahead, texts = set(), [error], []
    while ahead:
        one = ahead.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        texts += [repr(one), str(one), repr(getattr(one, "__notes__", ""))]
        if isinstance(one, BaseException):
            ahead += [*one.args, *vars(one).values(), one.__cause__, one.__context__]
    return "\n".join(texts)


def error_of(way, table):
    try:
        way(table)
    except Exception as error:
        return error
    return None


def hide():
    """As `from None` hides an error."""
    try:
        raise TheirError
    except TheirError:
        raise TableInputError("The table could not be read.") from None


class OursInTheirs(TheirError, DiscreetError):
    """What a reader meets that uses discreet itself."""


def broken_reader(error=TheirError):
    def batches():
        yield pa.record_batch({"g": ["a"], "u": [1]})
        raise error

    return pa.RecordBatchReader.from_batches(pa.schema([("g", pa.string()), ("u", pa.int64())]), batches())


def broken_relation():
    connection = duckdb.connect()
    return connection.sql(f"SELECT g, CAST(u AS BIGINT) AS u FROM (VALUES ('a', '1'), ('a', '{SECRET}')) t(g, u)")


def broken_lazy_frame():
    def fail(frame):
        raise TheirError

    return pl.DataFrame({"g": ["a"], "u": [1]}).lazy().map_batches(fail, schema={"g": pl.String, "u": pl.Int64})


class BrokenFrame(pd.DataFrame):
    """A data frame whose columns cannot be had."""

    def __getitem__(self, key):
        raise TheirError


class WithoutEnd:
    """A stream of Arrow data that breaks off."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise TheirError

    def read_all(self):
        raise TheirError


def damaged(folder, name):
    path = folder / name
    table = pa.table({"g": ["a", SECRET] * 2000, "u": list(range(4000))})
    if name.endswith("parquet"):
        pq.write_table(table, path, compression="none", use_dictionary=False)
    else:
        with pa.ipc.new_file(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as file:
            file.write_table(table)
    data = bytearray(path.read_bytes())
    rng = random.Random(5)
    for _ in range(200):
        data[rng.randrange(8, len(data) // 2)] ^= 0xFF
    path.write_bytes(data)
    return path


SOURCES = {
    "reader": lambda folder: broken_reader(),
    "reader that uses us": lambda folder: broken_reader(OursInTheirs),
    "relation": lambda folder: broken_relation(),
    "lazy frame": lambda folder: broken_lazy_frame(),
    "frame": lambda folder: BrokenFrame({"g": ["a"], "u": [1]}),
    "stream": lambda folder: WithoutEnd(),
    "parquet": lambda folder: damaged(folder, "t.parquet"),
    "arrow": lambda folder: damaged(folder, "t.arrow"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_no_error_of_a_hostile_source_tells_a_value(tmp_path, kind):
    ways = [
        lambda table: count_groups(table, predicate="u >= 0", by=["g"], domain=Domain.of({"g": ["a"]})),
        lambda table: count_groups(table, predicate="u >= 0", by=["g"], domain=Domain.of({"g": ["a"]}), unit="u"),
        lambda table: dt.profile(table),
        lambda table: dt.profile(table, sum="u:0..10", unit="u", domain={"g": ["a"]}),
    ]
    raised = [error for error in (error_of(way, SOURCES[kind](tmp_path)) for way in ways) if error is not None]
    assert raised
    for error in raised:
        assert isinstance(error, DiscreetError)
        assert SECRET not in told_by(error)
        assert error.__context__ is None
        assert error.__cause__ is None


@pytest.mark.parametrize("kind", ["reader", "reader that uses us", "relation", "lazy frame", "frame", "stream"])
def test_a_release_of_a_hostile_source_charges_nothing_and_tells_nothing(tmp_path, kind):
    with dt.Ledger(tmp_path / "budget.db") as book:
        book.create("people", "2", relation="add-remove")
        with pytest.raises(DiscreetError) as caught:
            book["people"].release(SOURCES[kind](tmp_path), count="u >= 0", by=["g"], domain={"g": ["a"]}, epsilon=1)
        assert SECRET not in told_by(caught.value)
        assert book["people"].balance().spent == Fraction(0)


def test_the_walk_sees_what_only_a_context_holds():
    """The negative control: what `from None` leaves behind."""
    with pytest.raises(TableInputError) as hidden:
        hide()
    assert SECRET in told_by(hidden.value)
    with pytest.raises(TableInputError) as held, Guarded(lambda: TableInputError("The table could not be read.")):
        raise TheirError
    assert SECRET not in told_by(held.value)
    with pytest.raises(KeyboardInterrupt), Guarded(lambda: TableInputError("")):
        raise KeyboardInterrupt


def test_long_ids_and_texts_take_no_room():
    """22 MB in one id did not fit in a small memory, 260 MB never ended; the short one beside it is the control."""
    long = "x" * 22_000_000
    table = pa.table({"u": [long, long + "y", "s", long], "g": ["a", "a", "a", long]})
    asked = {
        "predicate": "u >= 'x' or g = 'a'",
        "by": ["g"],
        "domain": Domain.of({"g": ["a"]}),
        "unit": "u",
        "memory_mb": 32,
    }
    found = count_groups(table, **asked)
    assert (found.sizes.tolist(), found.counts.tolist()) == ([3], [3])
    many = pa.table({"u": [f"{k:06}" + "x" * 60_000 for k in range(1000)], "g": ["a"] * 1000})
    found = count_groups(many, **asked)
    assert (found.sizes.tolist(), found.counts.tolist()) == ([1000], [1000])
    coded = pa.table(
        {
            "u": pa.DictionaryArray.from_arrays(pa.array([0, 1] * 1500), pa.array(["x" * 10**6, "y" * 10**6])),
            "g": pa.array(["a"] * 3000),
        }
    )
    assert count_groups(coded, **asked).sizes.tolist() == [2]


def test_nobody_can_write_what_anothers_id_becomes():
    from discreet.engines.plain import LONGEST_TEXT, plain

    ids = pa.array(["x" * 65, "x" * 64, "x" * 66])
    became = plain(ids, as_id=True).to_pylist()
    assert became[1] == "x" * 64
    forged = plain(pa.array([became[0], became[0].removeprefix("sha256:")]), as_id=True).to_pylist()
    assert len({*became, *forged}) == 5
    texts = pa.array(["\u20ac" * 30_000, "\u20ac" * 30_001, "x" + "\u20ac" * 30_000])
    short = plain(texts)
    short.validate(full=True)
    assert len({*short.to_pylist()}) == 3
    assert all(len(value.encode()) > LONGEST_TEXT for value in short.to_pylist())
    assert set(plain(pa.array(short.to_pylist())).to_pylist()).isdisjoint(short.to_pylist())


def test_the_least_decimal_stops_nothing():
    """-2^127 passes Arrow's own validation."""
    for kind in (
        pa.decimal128(38, 0),
        pa.decimal128(10, 3),
        pa.decimal256(76, 0),
        pa.decimal64(18, 2),
        pa.decimal32(9, 0),
    ):
        least = -(2 ** (8 * kind.byte_width - 1))
        data = b"".join(n.to_bytes(kind.byte_width, "little", signed=True) for n in (least, 7))
        column = pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(data)])
        table = pa.table({"x": column, "g": ["a", "a"]})
        asked = {"by": ["g"], "domain": Domain.of({"g": ["a"]})}
        assert count_groups(table, predicate="x >= 0 or x < 0", **asked).counts.tolist() == [1], kind
        assert count_groups(table, predicate="x is null", unit="x", **asked).sizes.tolist() == [1], kind


@pytest.mark.parametrize(
    "kind",
    [pa.decimal64(5, 2), pa.decimal64(18, 0), pa.decimal128(18, 2), pa.decimal128(19, 0), pa.decimal128(21, 2)],
    ids=str,
)
def test_a_decimal_of_one_digit_too_many_is_missing(kind):
    """Whatever stands beside it, in 64 bits or more, on either side of zero."""
    most, each = 10**kind.precision, kind.byte_width
    for within in ([7], [most - 1, 1 - most], [-1, min(2 ** (8 * each - 1), most) - 1]):
        for beyond in ([], [most], [-most], [most + 2**62] if each == 16 else [], [-(2 ** (8 * each - 1))]):
            data = b"".join(n.to_bytes(each, "little", signed=True) for n in (*within, *beyond))
            column = pa.Array.from_buffers(kind, len(within) + len(beyond), [None, pa.py_buffer(data)])
            asked = {"by": ["g"], "domain": Domain.of({"g": ["a"]}), "predicate": "x >= 0 or x < 0"}
            found = count_groups(pa.table({"x": column, "g": ["a"] * len(column)}), **asked)
            assert found.counts.tolist() == [len(within)], (within, beyond)


def test_ctrl_c_is_no_damage():
    """DuckDB makes an error of its own of it; that must not be taken for one of the table's."""
    with pytest.raises(KeyboardInterrupt) as caught, Guarded(lambda: TableInputError("damaged")):
        raise RuntimeError("Query interrupted")
    assert caught.value.__cause__ is caught.value.__context__ is None
    with pytest.raises(TableInputError), Guarded(lambda: TableInputError("damaged")):  # negative control
        raise RuntimeError("another error")


def test_ctrl_c_while_rows_are_handed_over_is_ctrl_c(monkeypatch):
    """Arrow and the engine each make an error of their own of it on its way."""
    asked = {"predicate": "u >= 0", "by": ["g"], "domain": Domain.of({"g": ["a"]})}
    table = pa.table({"u": [1, 2], "g": ["a", "a"]})

    def pressed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(table_source, "plain", pressed)
        with pytest.raises(KeyboardInterrupt) as caught:
            count_groups(table, **asked)
    assert caught.value.__cause__ is caught.value.__context__ is None
    count_groups(table, **asked)  # negative control
