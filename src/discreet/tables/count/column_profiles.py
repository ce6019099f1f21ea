"""What the columns of a table hold, counted in one pass: for whoever holds the data, and for nobody else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engines.dates import days_of
from ...engines.sources import TableSource
from ...progress import Progress, tell

MOST_VALUES = 1000  # different values of a column that are kept apart
MOST_WORDS = 50  # texts among numbers that are kept
_MOST_KEYS = 100  # a column of more different values gets no proposed keys
MOST_PLACES = 5  # lines that are named
BY_POINT = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
BY_COMMA = r"^\s*[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?\s*$"
_GROUPED = (  # thousands separators: points, commas, or apostrophes and blanks
    r"^\s*[+-]?\d{1,3}((\.\d{3})+(\.\d{3}|,\d+)|(,\d{3})+(,\d{3}|\.\d+)|(['\x{2019} \x{a0}\x{202f}]\d{3})+([.,]\d+)?)\s*$"
)
_SPACED = r"^\s|\s$"
_BLANKS = (b" ", b"\t", b"\n", b"\f", b"\r")
_DOTTED = r"^\s*\d{1,2}\.\d{1,2}\.\d{4}\s*$"  # a day as German offices write it

Flags = NDArray[np.bool_]


@dataclass
class Tally:
    """How many values are of some kind, and where the first of them are."""

    count: int = 0
    places: list[int] = field(default_factory=list)

    def add(self, flags: Flags, numbers: NDArray[np.int64]) -> None:
        flagged = int(flags.sum())
        self.count += flagged
        if flagged and len(self.places) < MOST_PLACES:
            self.places += numbers[flags][: MOST_PLACES - len(self.places)].tolist()


@dataclass
class Column:
    """One column: what was missing, which values there were (None when more than MOST_VALUES), which are numbers."""

    name: str
    values: Counter[Any] | None = field(default_factory=Counter)
    first: dict[Any, int] = field(default_factory=dict)  # where a value was first seen
    missing: Tally = field(default_factory=Tally)
    numbers: Tally = field(default_factory=Tally)
    foreign: Tally = field(default_factory=Tally)  # numbers with the other decimal mark
    texts: Tally = field(default_factory=Tally)  # no numbers
    grouped: Tally = field(default_factory=Tally)  # of these, numbers with thousands separators
    spaced: Tally = field(default_factory=Tally)
    dotted: Tally = field(default_factory=Tally)  # of these, days as dd.mm.yyyy
    dated: Tally = field(default_factory=Tally)  # of a column of declared dates: texts that are one
    undated: Tally = field(default_factory=Tally)  # and those that are none
    words: Counter[str] = field(default_factory=Counter)  # those of `texts`, as long as they are few
    kind: str = ""
    varied: bool = False  # do most rows have a value of their own?

    def add(self, array: Any, numbers: NDArray[np.int64], own: str, other: str) -> None:
        import pyarrow as pa

        missing = array.is_null().to_numpy(zero_copy_only=False)
        self.missing.add(missing, numbers)
        if missing.all():
            return
        if pa.types.is_string_view(array.type) or pa.types.is_decimal(array.type):
            array = array.cast(pa.string())
        of_texts = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        if not of_texts:
            self.kind = "dates" if pa.types.is_date(array.type) else str(array.type)
        if self.values is None and not of_texts:
            return  # there are too many to tell more of them
        if self.values is None and self.varied:
            words, codes = array.fill_null(""), np.arange(len(array))
        else:
            try:
                coded = array.dictionary_encode()
            except pa.ArrowNotImplementedError:  # what has no such code is counted as there, and no more
                self.kind, self.values = str(array.type), None
                return
            words, codes = coded.dictionary, coded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            self.varied = 2 * len(words) > len(array)
            self._keep(words, codes, ~missing, numbers)
        if of_texts:
            self._read(words, codes, ~missing, numbers, own, other)

    def _read(
        self, words: Any, codes: NDArray[np.int64], there: Flags, numbers: NDArray[np.int64], own: str, other: str
    ) -> None:
        """Texts that are numbers, nearly so, or none; what is one needs no second look."""
        is_own = _matched(words, own)
        rest = np.flatnonzero(~is_own)
        foreign, grouped, dotted = (_matched_of(words, rest, pattern) for pattern in (other, _GROUPED, _DOTTED))
        is_text = ~(is_own | foreign)
        spaced = _matched(words, _SPACED) if _has_blanks(words) else np.zeros(len(words), dtype=np.bool_)
        for tally, flags in (
            (self.numbers, is_own),
            (self.foreign, foreign),
            (self.texts, is_text),
            (self.grouped, grouped & is_text),
            (self.spaced, spaced),
            (self.dotted, dotted),
        ):
            if flags.any():
                tally.add(flags[codes] & there, numbers)
        odd = np.flatnonzero(is_text)
        if len(odd) <= MOST_WORDS >= len(self.words):
            times = np.bincount(codes[there], minlength=len(is_own))
            self.words.update({words[int(k)].as_py(): int(times[k]) for k in odd if times[k]})

    def as_days(self, array: Any, numbers: NDArray[np.int64], form: str, also_iso: bool) -> Any:
        """Some rows of a column of dates as days, those that are none as missing."""
        days = days_of(array, form, also_iso)
        missing, none = (some.is_null().to_numpy(zero_copy_only=False) for some in (array, days))
        self.dated.add(~none, numbers)
        self.undated.add(none & ~missing, numbers)
        return days

    def _keep(self, dictionary: Any, codes: NDArray[np.int64], there: Flags, numbers: NDArray[np.int64]) -> None:
        if self.values is None or len(dictionary) > MOST_VALUES:
            self.values = None
            return
        words, codes = _plain(dictionary), codes[there]
        counts = np.bincount(codes, minlength=len(words)).tolist()
        firsts = np.zeros(len(words), dtype=np.int64)
        firsts[codes[::-1]] = numbers[there][::-1]  # the first row of each is written last
        for value, count, place in zip(words, counts, firsts.tolist(), strict=True):
            self.values[value] += count
            self.first.setdefault(value, place)
        if len(self.values) > MOST_VALUES:
            self.values = None

    @property
    def there(self) -> int:
        """Values that are not missing."""
        return self.numbers.count + self.foreign.count + self.texts.count

    @property
    def kind_in_words(self) -> str:
        if self.kind or not self.there:
            return self.kind or "empty"
        if self.texts.count == 0:
            return "numbers"
        return "mostly numbers" if self.is_numeric else "texts"

    @property
    def is_numeric(self) -> bool:
        """Are at least nine in ten of the texts numbers?"""
        return 10 * self.texts.count <= self.there

    @property
    def has_words_among_numbers(self) -> bool:
        """Are at least half of the texts numbers, and the others a few words without digits? Then these may mean missing."""
        words = [word for word in self.words if not any(c.isdigit() for c in word)]
        few = 0 < len(self.words) == len(words) <= MOST_PLACES
        return few and 2 * self.numbers.count >= self.there and self.words.total() == self.texts.count


def _plain(values: Any) -> list[Any]:
    """Values as Python has them; a day or time beyond its calendar as a number of its own."""
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        return [_plain_one(value) for value in values]


def _plain_one(value: Any) -> Any:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return (value.value,)  # neither a text nor a number, which would be proposed as a key


def _matched(texts: Any, pattern: str) -> Flags:
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False), dtype=np.bool_)


def _matched_of(texts: Any, some: NDArray[np.intp], pattern: str) -> Flags:
    """The same where only some of them can match."""
    flags = np.zeros(len(texts), dtype=np.bool_)
    if len(some):
        flags[some] = _matched(texts.take(some), pattern)
    return flags


def _has_blanks(texts: Any) -> bool:
    """Does any of their bytes look like a blank to a regular expression? Those beside a slice are looked at too."""
    held = texts.buffers()[2]
    content = b"" if held is None else held.to_pybytes()
    return any(blank in content for blank in _BLANKS)


def seen_columns(
    source: TableSource,
    wanted: Sequence[str],
    unit: str | None,
    progress: Progress | None,
    dates: Mapping[str, str] | None = None,
) -> tuple[int, list[Column], Counter[Any]]:
    """The number of rows, the wanted columns, and how often each id of the column `unit` occurs.

    `dates` has the forms of columns that the source hands over as texts, so that texts which are no dates can be counted.
    """
    source.bind(wanted)
    own, other = (BY_COMMA, BY_POINT) if source.decimal == "," else (BY_POINT, BY_COMMA)
    columns, rows, ids = [Column(name) for name in source.used], 0, Counter[Any]()
    for numbers, arrays in _batches_with_progress(source, progress):
        rows += len(numbers)
        for column, array in zip(columns, arrays, strict=True):
            if dates and column.name in dates:
                array = column.as_days(array, numbers, dates[column.name], source.has_iso_days)
            column.add(array, numbers, own, other)
            if column.name == unit:
                ids.update(_plain(array.drop_null()))
    return rows, columns, ids


def _batches_with_progress(source: TableSource, progress: Progress | None) -> Iterator[tuple[Any, Any]]:
    for numbers, arrays in source.numbered():
        tell(progress, "reading", min(source.done / source.total, 1.0) if source.total else 0.0)
        if len(numbers):
            yield numbers, arrays


def proposed_keys(column: Column) -> tuple[Any, ...]:
    """Proposed keys: whole numbers where all are, else texts; none for ids, measurements and columns of many values."""
    values: list[Any] = [] if column.values is None else [v for v in column.values if isinstance(v, (str, int, bool))]
    if not 0 < len(values) <= _MOST_KEYS or len(values) < len(column.values or ()):
        return ()
    if len(values) > 1 and max((column.values or Counter()).values()) == 1:
        return ()  # every row has its own
    if all(isinstance(v, str) and _is_plain_whole(v) for v in values):
        values = [int(v) for v in values]
    return (*sorted(values), *([None] if column.missing.count else []))


def _is_plain_whole(text: str) -> bool:
    """A whole number as it is mostly written; 01 is a code."""
    return len(text) < 19 and text.isascii() and text.isdigit() and str(int(text)) == text
