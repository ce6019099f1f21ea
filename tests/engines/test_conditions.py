"""Conditions are total: every pair of types, with the farthest values and constants, alone and together, against plain Python."""

from __future__ import annotations

import operator
import random
import uuid
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.duckdb import count_each
from discreet.errors import PredicateError
from discreet.exact.grid import Grid
from discreet.questions import conditions
from discreet.questions.domain import Domain
from discreet.questions.statistic import SumOf

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

ROWS = 12
SIGNS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EPOCH = datetime(1970, 1, 1)


def from_words(kind, numbers):
    """An array from the whole numbers that it holds, whatever its type says of them."""
    width, signed = kind.byte_width, not pa.types.is_unsigned_integer(kind)
    data = b"".join((n or 0).to_bytes(width, "little", signed=signed) for n in numbers)
    there = pa.array([n is not None for n in numbers])
    return pa.Array.from_buffers(kind, len(numbers), [there.buffers()[1], pa.py_buffer(data)])


def whole_numbers(kind):
    def make(rng):
        bits, unsigned = kind.bit_width, pa.types.is_unsigned_integer(kind)
        low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        some = [
            low,
            low + 1,
            high,
            high - 1,
            0,
            1,
            -1,
            40,
            2**53,
            2**53 + 1,
            rng.randint(low, high),
            rng.randint(-9, 9),
        ]
        values = [rng.choice([v for v in some if low <= v <= high] + [None]) for _ in range(ROWS)]
        return from_words(kind, values), [None if v is None else Fraction(v) for v in values], "whole"

    return make


def decimals(kind):
    def make(rng):
        least, most = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
        digits = 10**kind.precision
        some = [
            digits - 1,
            1 - digits,
            0,
            1,
            -1,
            5 * digits // 9,
            rng.randrange(-digits + 1, digits),
            digits,
            -digits,
            least,
            most,
        ]
        if 0 <= kind.scale < kind.precision:
            some += [10**kind.scale, -(10**kind.scale), 40 * 10**kind.scale % digits]
        held = [rng.choice([*(v for v in some if least <= v <= most), None]) for _ in range(ROWS)]
        values = [None if v is None or abs(v) >= digits else Fraction(v) / Fraction(10) ** kind.scale for v in held]
        wide = max(kind.precision + max(-kind.scale, 0), kind.scale) > 38
        return (
            from_words(kind, held),
            [as_double(v) for v in values] if wide else values,
            "float64" if wide else "decimal",
        )

    return make


def floats(kind):
    def make(rng):
        dtype = {16: np.float16, 32: np.float32, 64: np.float64}[kind.bit_width]
        info = np.finfo(dtype)
        some = [
            info.max,
            -info.max,
            info.tiny,
            0.0,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            0.1,
            40,
            1 / 3,
            -1.5,
            rng.gauss(0, 100),
        ]
        values = np.array([rng.choice(some) for _ in range(ROWS)], dtype=dtype)
        family = f"float{max(kind.bit_width, 32)}"
        return pa.array(values), [None if np.isnan(v) else exact_or_inf(float(v)) for v in values], family

    return make


def exact_or_inf(x):
    return x if np.isinf(x) else Fraction(x)


def as_double(x):
    """The nearest double, as Python's division of whole numbers finds it."""
    if x is None or isinstance(x, float):
        return x
    try:
        return Fraction(x.numerator / x.denominator)
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def as_single(x):
    """The nearest float of 32 bits, by rounding whole numbers, half to even; a number beyond all of them stays what it is."""
    if isinstance(x, float) or x == 0:
        return x
    size, sign = abs(x), 1 if x > 0 else -1
    power = -149
    while size / Fraction(2) ** power >= 2**24:
        power += 1
    steps = round(size / Fraction(2) ** power)  # of a Fraction: half to even
    found = steps * Fraction(2) ** power
    return sign * found if found < 2**128 else x


def moments(unit, zone):
    def make(rng):
        per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        day = 1577836800 * per
        some = [0, -1, 1, 2**63 - 1, -(2**63) + 1, day, day - 1, -(2**62), 10**16, rng.randint(0, 2 * 10**9) * per]
        held = [rng.choice([*some, None]) for _ in range(ROWS)]
        values = [None if v is None else (v * 10**6) // per for v in held]
        values = [None if v is None or abs(v) >= 9_223_372_022_400_000_000 else Fraction(v) for v in values]
        return from_words(pa.timestamp(unit, zone), held), values, "zoned" if zone else "time"

    return make


def days(kind):
    def make(rng):
        per = 86_400_000 if pa.types.is_date64(kind) else 1
        far = 2 ** (kind.bit_width - 1)
        held = [rng.choice([0, -1, 1, far - 1, -far, 18262 * per, 18262 * per - 1, None]) for _ in range(ROWS)]
        values = [None if v is None or abs(v // per) > 2**31 - 2 else Fraction(v // per) for v in held]
        return from_words(kind, held), values, "date"

    return make


TEXTS = [
    "",
    "a",
    "ab",
    "b",
    "a\0",
    "\u00e9",
    "\U0001f600",
    "\uffff",
    "9",
    "10",
    "a" * 70_000,
    "a" * 70_000 + "b",
    None,
    "%",
    "_",
    "'",
]


def texts(kind):
    def make(rng):
        values = [rng.choice(TEXTS) for _ in range(ROWS)]
        bad = (b"\xff", b"a\xed\xa0\x80")
        raw = [rng.choice(bad) if rng.random() < 0.1 else None if v is None else v.encode() for v in values]
        kept = [None if r is None or b"\xff" in r or b"\xed" in r else v for r, v in zip(raw, values, strict=True)]
        if pa.types.is_string_view(kind):
            return pa.array(kept, kind), kept, "text"
        array = pa.array(raw, pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
        return array.view(kind), kept, "text"

    return make


def uuids(rng):
    values = [rng.choice([uuid.UUID(int=k) for k in (0, 1, 2**127, 2**128 - 1)] + [None]) for _ in range(ROWS)]
    array = pa.array([None if v is None else v.bytes for v in values], pa.binary(16))
    return pa.ExtensionArray.from_storage(pa.uuid(), array), [None if v is None else str(v) for v in values], "text"


def booleans(rng):
    values = [rng.choice([True, False, None]) for _ in range(ROWS)]
    return pa.array(values), values, "boolean"


def bytes_of_booleans(rng):
    held = [rng.choice([0, 1, 2, -128, None]) for _ in range(ROWS)]
    array = pa.ExtensionArray.from_storage(pa.bool8(), pa.array(held, pa.int8()))
    return array, [None if v is None else v != 0 for v in held], "boolean"


KINDS = {
    **{
        str(k): whole_numbers(k)
        for k in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    **{
        str(k): decimals(k)
        for k in (
            pa.decimal32(9, 0),
            pa.decimal32(5, 5),
            pa.decimal32(3, -2),
            pa.decimal64(18, 0),
            pa.decimal64(12, 3),
            pa.decimal64(18, 18),
            pa.decimal128(38, 0),
            pa.decimal128(38, 18),
            pa.decimal128(38, 37),
            pa.decimal128(38, 38),
            pa.decimal128(20, 0),
            pa.decimal128(4, 1),
            pa.decimal128(19, 10),
            pa.decimal128(30, -8),
            pa.decimal128(38, -3),
            pa.decimal128(1, 0),
            pa.decimal256(20, 2),
            pa.decimal256(38, 19),
            pa.decimal256(39, 0),
            pa.decimal256(76, 38),
            pa.decimal256(76, 76),
            pa.decimal256(50, -30),
        )
    },
    **{str(k): floats(k) for k in (pa.float16(), pa.float32(), pa.float64())},
    **{str(k): texts(k) for k in (pa.string(), pa.large_string(), pa.string_view())},
    **{
        f"{u} {z}": moments(u, z)
        for u in ("s", "ms", "us", "ns")
        for z in (None, "UTC", "Europe/Berlin", "Mars/Olympus")
    },
    "date32": days(pa.date32()),
    "date64": days(pa.date64()),
    "uuid": uuids,
    "boolean": booleans,
    "bool8": bytes_of_booleans,
}


def encoded(rng, array):
    """The same column as it is, or by a dictionary, or by runs."""
    way = rng.choice(["plain", "plain", "dictionary", "runs", "slice"])
    size = len(array)
    try:
        if way == "dictionary":
            return pa.DictionaryArray.from_arrays(pa.array(range(size), pa.int8()), array, safe=False)
        if way == "runs":
            return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, size + 1), pa.int32()), array)
    except pa.ArrowInvalid:
        return array  # which only such a column as it is can hold
    return (
        pa.concat_arrays([array, array]).slice(size)
        if way == "slice" and not pa.types.is_string_view(array.type)
        else array
    )


NUMBERS = [
    "0",
    "-1",
    "1.5",
    "40",
    "0.1",
    "1e-300",
    "1e300",
    "99999999999999999999999999999999999999",
    "0.5",
    "-0.5",
    "99999999999999999999999999999999999999.5",
    "100000000000000000000000000000000000000",
    "9007199254740993",
    "3.4028235e38",
    "1e39",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "127",
    "128",
    "65504",
    "0.99999999999999999999999999999999999999",
    "340282356779733661637539395458142568447",
    "1.7976931348623157e308",
    "0.333333333333333333333333333333333333331",
    "-170141183460469231731687303715884105728",
]
TIMES = [
    "1970-01-01",
    "2020-01-01",
    "0001-01-01",
    "9999-12-31",
    "1969-12-31 23:59:59.999999",
    "2020-01-01 00:00:00.000001",
]


NUMBERS_LIKE = ("whole", "decimal", "float32", "float64")


def constant(rng, family):
    """The text of a constant, and what it means."""
    if family in NUMBERS_LIKE:
        text = rng.choice(NUMBERS)
        value = Fraction(Decimal(text))
        return text, value if family in ("whole", "decimal") else as_single(
            value
        ) if family == "float32" else as_double(value)
    if family == "text":
        text = rng.choice(
            [t for t in TEXTS if t is not None and "\0" not in t and len(t) < 100] + [str(uuid.UUID(int=1))]
        )
        return "'" + text.replace("'", "''") + "'", text
    if family == "boolean":
        return rng.choice([("true", True), ("false", False)])
    text = rng.choice(TIMES[:4] if family == "date" else TIMES)
    moment = datetime.fromisoformat(text)
    if family == "date":
        return f"'{text}'", Fraction((moment - EPOCH).days)
    shift = timedelta(0)
    if family == "zoned" and rng.random() < 0.3 and not text.startswith(("0001", "9999")):
        text, shift = text + "+02:00" if " " in text else text + " 00:00:00+02:00", timedelta(hours=2)
    return f"'{text}'", Fraction((moment - shift - EPOCH) // timedelta(microseconds=1))


def compared(sign, x, y):
    if x is None or y is None:
        return None
    if isinstance(x, str):
        x, y = x.encode(), y.encode()
    return SIGNS[sign](x, y)


def both(sign, x, y, families):
    if "float32" in families or "float64" in families:
        x, y = as_double(x), as_double(y)
    return compared(sign, x, y)


def all_of(parts):
    return False if False in parts else None if None in parts else True


def negated(x):
    return None if x is None else not x


def leaf(rng, columns):
    """A comparison as text, and its value on each row."""
    name = rng.choice(list(columns))
    values, family = columns[name]
    other = rng.choice(list(columns))
    others, its = columns[other]
    numbers = {"whole", "float32", "float64"}
    alike = name == other if family == "decimal" else family == its  # two of decimals may be of unlike types
    fits = alike or {family, its} <= numbers or {family, its} == {"time", "zoned"}
    way = rng.choice(["constant", "constant", "column", "in", "between", "null"])
    if way == "column" and fits:
        sign = rng.choice(list(SIGNS))
        return f"{name} {sign} {other}", [both(sign, x, y, (family, its)) for x, y in zip(values, others, strict=True)]
    if way == "in":
        given = [constant(rng, family) for _ in range(rng.randint(1, 3))] + (
            [("NULL", None)] if rng.random() < 0.3 else []
        )
        found = [negated(all_of([negated(compared("=", x, c)) for _, c in given])) for x in values]
        turned = rng.random() < 0.3
        text = f"{name} {'NOT IN' if turned else 'IN'} ({', '.join(t for t, _ in given)})"
        return text, [negated(x) for x in found] if turned else found
    if way == "between":
        (low, a), (high, b) = constant(rng, family), constant(rng, family)
        return f"{name} BETWEEN {low} AND {high}", [
            all_of([compared(">=", x, a), compared("<=", x, b)]) for x in values
        ]
    if way == "null":
        return f"{name} IS NULL", [x is None for x in values]
    sign, (text, value) = rng.choice(list(SIGNS)), constant(rng, family)
    return f"{name} {sign} {text}", [compared(sign, x, value) for x in values]


def condition(rng, columns, depth=2):
    way = rng.choice(["leaf", "AND", "OR", "NOT"]) if depth else "leaf"
    if way == "leaf":
        return leaf(rng, columns)
    text, values = condition(rng, columns, depth - 1)
    if way == "NOT":
        return f"NOT ({text})", [negated(x) for x in values]
    more, others = condition(rng, columns, depth - 1)
    pairs = [(x, y) for x, y in zip(values, others, strict=True)]
    made = [all_of(p) if way == "AND" else negated(all_of([negated(x) for x in p])) for p in pairs]
    return f"({text}) {way} ({more})", made


def trial(rng, names, alone):
    """One table of these kinds; conditions and sums asked in one call, and one of them `alone`; returns how many were compared."""
    columns, arrays = {}, {"row": pa.array(range(ROWS))}
    for name, kind in zip("abcdef", names, strict=False):
        array, values, family = KINDS[kind](rng)
        arrays[name], columns[name] = encoded(rng, array), (values, family)
    table = pa.table(arrays)
    asked = [condition(rng, columns) for _ in range(3 * len(names))]
    sums = {name: values for name, (values, family) in columns.items() if family in NUMBERS_LIKE}
    bounds = Grid(-100, 100, rng.choice([1, "1/3", "1/8"]))
    found = count_each(
        table,
        predicates=[text for text, _ in asked],
        sums=[SumOf(name, bounds) for name in sums],
        by=["row"],
        domain=Domain.of({"row": list(range(ROWS))}),
    )
    for counts, (text, expected) in zip(found.counts, asked, strict=True):
        assert counts.counts.tolist() == [int(x is True) for x in expected], (names, text, columns)
    for added, values in zip(found.sums, sums.values(), strict=True):
        assert added.people.tolist() == [int(x is not None and not isinstance(x, float)) for x in values], names
        for total, x in zip(added.sums.tolist(), values, strict=True):
            if isinstance(x, Fraction) and bounds.step != Fraction(1, 3):  # by which floats are not divided exactly
                steps = (x / bounds.step + Fraction(1, 2)).__floor__()
                assert total == min(max(steps, -100 // bounds.step), 100 // bounds.step), (names, x)
    if alone:
        text, expected = rng.choice(asked)
        one = count_each(table, predicates=[text], by=[], domain=Domain.of({}))
        assert one.counts[0].counts.tolist() == [sum(x is True for x in expected)], (names, text, columns)
    return len(asked) + len(sums) + alone


def test_no_value_and_no_constant_makes_a_condition_fail_or_wrong():
    rng = random.Random(17)
    kinds = list(KINDS) * 2
    rng.shuffle(kinds)
    for k in range(0, len(kinds), 4):
        trial(rng, kinds[k : k + 4], alone=k % 16 == 0)


def test_the_comparison_sees_an_answer_that_is_wrong_by_one_row(monkeypatch):
    """The negative control: a rule that is wrong at one end alone."""
    right = conditions._threshold
    monkeypatch.setattr(
        conditions, "_threshold", lambda sign, number, kind: right("<=" if sign == "<" else sign, number, kind)
    )

    def trials():
        rng = random.Random(17)
        for _ in range(10):
            trial(rng, ["int8", "decimal128(4, 1)"], alone=False)

    with pytest.raises(AssertionError):
        trials()


def test_texts_of_a_file_without_types_are_read_as_what_they_are_compared_with(tmp_path):
    """Numbers as Python reads them; whatever else stands there is missing, and stops nothing."""
    numbers = ["0", "-1", "40", "0.1", "1e3", " 7 ", "-0.0", "1e-400", "123456789012345678901234567890", "9" * 4_000]
    others = ["abc", "--", "1.2.3", "nan", "tr\u00fce", "1e", "+", "'", "\u0660"]
    path = tmp_path / "t.csv"
    path.write_text("row,x\n" + "".join(f"{k},{text}\n" for k, text in enumerate([*numbers, *others])))
    constants = ["0", "0.1", "40", "-1e-300", "1e300", "9007199254740992", "0.333333333333333333333333333333333"]
    asked = [(f"x {sign} {c}", sign, c) for sign in SIGNS for c in constants if abs(Fraction(c)) <= 2**53]
    domain = Domain.of({"row": list(range(len(numbers) + len(others)))})
    found = count_each(path, predicates=[text for text, _, _ in asked], by=["row"], domain=domain).counts
    for counts, (text, sign, c) in zip(found, asked, strict=True):
        assert counts.counts[: len(numbers)].tolist() == [SIGNS[sign](float(n), float(c)) for n in numbers], text
        assert not counts.counts[len(numbers) :].any(), text
    both = count_each(path, predicates=["x IN (0, 40)", "x = '40'", "x = true"], by=[], domain=Domain.of({})).counts
    assert [c.counts.tolist() for c in both[:2]] == [[sum(float(n) in (0, 40) for n in numbers)], [1]]


def test_an_answer_hangs_on_nothing_else_in_the_query():
    """Two decimals of 38 digits, of which 18 are after the point; a constant that no whole number can be."""
    wide = pa.table(
        {
            "a": pa.array([Decimal(10) ** 19, Decimal(1)], pa.decimal128(38, 18)),
            "b": pa.array([Decimal("0.5"), Decimal(1)], pa.decimal128(38, 18)),
            "age": pa.array([40, None]),
        }
    )
    texts = [
        "a >= b AND a <> b",
        "a >= b",
        "age IN (0.5, 99999999999999999999999999999999999999)",
        "age < 1e38",
        "NOT (age > 1e38)",
    ]
    expected = [[1], [2], [0], [1], [1]]
    together = count_each(wide, predicates=texts, by=[], domain=Domain.of({})).counts
    assert [c.counts.tolist() for c in together] == expected
    for text, counts in zip(texts, expected, strict=True):
        assert count_each(wide, predicates=[text], by=[], domain=Domain.of({})).counts[0].counts.tolist() == counts, (
            text
        )


def test_decimals_of_unlike_types_are_not_compared():
    """Which would take a decimal wider than the engine has; a column has one type whatever its values are."""
    numbers = [Decimal(1), None]
    kinds = {
        "a": pa.decimal128(4, 1),
        "b": pa.decimal128(4, 2),
        "c": pa.int64(),
        "d": pa.float64(),
        "e": pa.decimal128(4, 1),
    }
    table = pa.table({name: pa.array(numbers).cast(kind) for name, kind in kinds.items()})
    assert count_each(table, predicates=["a = e"], by=[], domain=Domain.of({})).counts[0].counts.tolist() == [1]
    for other in "bcd":
        for text in (f"a <= {other}", f"{other} <> a"):
            with pytest.raises(PredicateError, match="give both one type"):
                count_each(table, predicates=[text], by=[], domain=Domain.of({}))
