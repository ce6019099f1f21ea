"""The border: whatever a column is wrapped in, its plain values."""

from __future__ import annotations

import ctypes
import hashlib
import uuid

import pyarrow as pa
import pytest

from discreet.engines.plain import LONGEST_TEXT, decoded, inner_type, plain, plain_type, shortened

WORDS = pa.array(["a", None, "b", "a"])


class Named(pa.ExtensionType):
    """Somebody's own name for a column of texts."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "tests.named")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Named:
        return cls(storage)


def by_dictionary(words: pa.Array, *indices: int | None, kind: pa.DataType | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind or pa.int8()), words)


def by_runs(words: pa.Array, *ends: int) -> pa.Array:
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int16()), words)


def named(words: pa.Array) -> pa.Array:
    return pa.ExtensionArray.from_storage(Named(words.type), words)


WRAPPED = {
    "plain": (WORDS, ["a", None, "b", "a"]),
    "a slice": (WORDS.slice(2), ["b", "a"]),
    "a dictionary": (by_dictionary(WORDS, 2, None, 1, 0), ["b", None, None, "a"]),
    "a slice of a dictionary": (by_dictionary(WORDS, 2, None, 1, 0).slice(3), ["a"]),
    "unsigned indices": (by_dictionary(WORDS, 2, None, 3, kind=pa.uint64()), ["b", None, "a"]),
    "runs": (by_runs(WORDS, 1, 2, 5, 6), ["a", None, "b", "b", "b", "a"]),
    "a slice of runs": (by_runs(WORDS, 1, 2, 5, 6).slice(3, 3), ["b", "b", "a"]),
    "a name": (named(WORDS), ["a", None, "b", "a"]),
    "runs of a dictionary": (by_runs(by_dictionary(WORDS, 2, None, 0), 2, 3, 4), ["b", "b", None, "a"]),
    "a dictionary of runs": (by_dictionary(by_runs(WORDS, 1, 2, 5, 6), 4, None, 5, 1), ["b", None, "a", None]),
    "a dictionary of a name": (by_dictionary(named(WORDS), 2, 2, None), ["b", "b", None]),
    "a name of a dictionary": (named(by_dictionary(WORDS, 2, None)), ["b", None]),
    "nobody": (by_dictionary(WORDS), []),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_every_wrapping_comes_off(name):
    """Against the values written beside it."""
    column, expected = WRAPPED[name]
    assert inner_type(column.type) == pa.string()
    assert plain(column).type == plain_type("x", column.type)
    assert decoded(plain(column)).to_pylist() == plain(column, as_id=True).to_pylist() == expected


def test_an_index_that_names_no_word_is_a_missing_value():
    for indices, kind in (([0, 5, -1, 0], pa.int8()), ([0, 2**64 - 1, 2**63, 0], pa.uint64())):
        buffers = pa.array(indices, kind).buffers()
        column = pa.DictionaryArray.from_buffers(pa.dictionary(kind, pa.string()), 4, buffers, WORDS)
        assert decoded(plain(column)).to_pylist() == ["a", None, None, "a"]


def test_uuids_stay_and_booleans_in_bytes_are_booleans():
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([uuid.UUID(int=1).bytes, None], pa.binary(16)))
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([2, 0, None], pa.int8()))
    for column, kind in ((ids, pa.uuid()), (flags, pa.bool_())):
        for wrapped in (column, by_dictionary(column, *range(len(column)))):
            assert plain(wrapped).type == inner_type(wrapped.type) == kind
    assert plain(flags).to_pylist() == [True, False, None]


def test_of_a_large_dictionary_only_what_stands_in_the_rows_is_looked_at():
    words = pa.array([f"word {k}" for k in range(1000)])
    made = plain(by_dictionary(words, 999, None, 7, 999, kind=pa.int32()))
    assert decoded(made).to_pylist() == ["word 999", None, "word 7", "word 999"]
    assert len(made.dictionary) == 3  # of which one is missing
    lists = by_dictionary(pa.array([[k] for k in range(9)]), 8, None)  # never compared, so never picked from
    assert plain(lists).to_pylist() == [True, None]


def lengthened(column: pa.Array, size: int) -> pa.Array:
    """A column that says it has more rows than its parts hold, as another program may hand it over: nobody has validated it."""
    array, schema = ctypes.create_string_buffer(80), ctypes.create_string_buffer(72)
    column._export_to_c(ctypes.addressof(array), ctypes.addressof(schema))
    ctypes.c_int64.from_buffer(array).value = size
    return pa.Array._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))


def test_a_column_that_is_shorter_than_it_says_is_refused():
    with pytest.raises(pa.ArrowInvalid):
        plain(lengthened(by_runs(WORDS, 1, 2, 5, 6), 8))


@pytest.mark.parametrize("character", ["a", "é", "€", "😀"])
@pytest.mark.parametrize("shift", range(4))
def test_a_long_text_is_cut_between_two_characters(character, shift):
    """Whole characters of at most so many bytes, then the digest: no value of one person makes the text unreadable."""
    whole = "a" * (LONGEST_TEXT - 4 + shift) + 3 * character + "b" * 8
    digest = "sha256:" + hashlib.sha256(whole.encode()).hexdigest()
    kept = max(k for k in range(LONGEST_TEXT - 4, LONGEST_TEXT + 1) if len(whole[:k].encode()) <= LONGEST_TEXT)
    assert shortened(whole.encode(), False).decode() == whole[:kept] + digest
    assert shortened(whole.encode(), True).decode() == digest
    assert plain(pa.array([whole, None, "short"])).to_pylist() == [whole[:kept] + digest, None, "short"]
