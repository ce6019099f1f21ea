"""What people write, read once: whole numbers, shares, positive numbers, lists, distributions and matrices, as exact values.

Texts, Fractions, Decimals and NumPy's scalars are read like Python's own numbers; a bool is not a number. A float that is a
parameter is its shortest decimal, in a list or a matrix its binary value (see discreet.exact.arithmetic). Messages have one
form: what was given, what it must be, and what to write instead. The caller says which error is its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from ..errors import DiscreetError
from .arithmetic import parse_entry, parse_exact, show
from .written import misread

Number = Fraction | float  # a float is finite here, and stands for its binary value
Error = type[DiscreetError]

WITHIN = Fraction(1, 10**9)  # probabilities of floats sum to 1 up to this
_CALLED = re.compile(r"\s*([a-z]+\d?)\s*(?:\(([^()]*)\))?\s*")
NAMELESS = "a function"  # a lambda, in tables and files
# Names of losses and priors of ours, and of columns of results
_OURS = {"l0", "l1", "l2", "uniform", "matrix", "numbers", "gain", "x"}
_COLUMNS = {"mechanism", "proved", "properties", "rescaled", "rmse", "worst", "k", "to", "exact"}
_TAKEN = _OURS | _COLUMNS
_NO_NUMBERS = "mMcSV"  # durations, dates, complex numbers, bytes, records: NumPy would turn some into whole numbers


def function_name(function: object) -> str:
    """What a function of somebody's own is called in tables and files: as its def calls it; never as a loss, a prior or a column
    of ours is called, since names of ours say what they are."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not name.isidentifier():
        return NAMELESS
    return f"function {name}" if name.lower() in _TAKEN else name


def number(
    value: object,
    name: str,
    wanted: str,
    fits: Callable[[Fraction], bool],
    *,
    example: object,
    whole: bool = False,
    error: Error = DiscreetError,
) -> Fraction:
    """An exact number with a condition; `wanted` says in words what it must do, `example` what to write.

    With `whole`, a text such as "20.000" is refused, which people read in two ways.
    """
    odd = misread(value, whole=whole)
    if odd is not None:
        raise error(f"{name} = {show(value)} {odd}.", value=value)
    exact = parse_exact(value)
    if exact is None or not fits(exact):
        shown = f'"{example}"' if isinstance(example, str) else example
        raise error(f"{name} = {show(value)} must {wanted}; write for example {name}={shown}.", value=value)
    return exact


def whole(
    value: object,
    name: str,
    least: int = 1,
    most: int | None = None,
    *,
    example: object = None,
    error: Error = DiscreetError,
) -> int:
    """A whole number of `least` or more, and at most `most`.

    >>> import numpy as np
    >>> whole(np.int64(8), "n"), whole("8", "n"), whole(8.0, "n")
    (8, 8, 8)
    """
    reach = f"of at least {least}" if most is None else f"from {_short(least)} to {_short(most)}"
    top = math.inf if most is None else most
    shown = least if example is None else example
    wanted = f"be a whole number {reach}"
    exact = number(
        value,
        name,
        wanted,
        lambda x: x.denominator == 1 and least <= x <= top,
        example=shown,
        whole=True,
        error=error,
    )
    return int(exact)


def share(
    value: object, name: str, what: str, *, closed: bool = False, example: object = "0.95", error: Error = DiscreetError
) -> Fraction:
    """A number between 0 and 1, with the two themselves where it is closed; `what` says what it is a share of."""
    ends = " (or be one of them)" if closed else ""
    return number(
        value,
        name,
        f"lie between 0 and 1{ends}: {what}",
        (lambda x: 0 <= x <= 1) if closed else (lambda x: 0 < x < 1),
        example=example,
        error=error,
    )


def positive(
    value: object,
    name: str,
    what: str = "",
    *,
    zero: bool = False,
    example: object = 1,
    whole: bool = False,
    error: Error = DiscreetError,
) -> Fraction:
    """A number above 0, or from 0 up; `what` says what it measures. `whole` is as in `number`."""
    wanted = f"be a {'number of 0 or more' if zero else 'positive number'}{what and ' ' + what}"
    return number(value, name, wanted, lambda x: x > 0 or (zero and x == 0), example=example, whole=whole, error=error)


def called(text: str, known: Mapping[str, int]) -> tuple[str, list[Fraction]] | None:
    """A name, in any case, and the numbers it is called with; None for one that is not known to take so many.

    >>> called(" Asymmetric(1, 1/2)", {"asymmetric": 2})
    ('asymmetric', [Fraction(1, 1), Fraction(1, 2)])
    """
    match = _CALLED.fullmatch(text.lower())
    if match is None:
        return None
    numbers = [parse_exact(part) for part in match[2].split(",")] if match[2] is not None else []
    found = [x for x in numbers if x is not None]
    return (match[1], found) if known.get(match[1]) == len(numbers) == len(found) else None


def _short(bound: int) -> str:
    """A bound in words that people read: 2^63 - 1, not its nineteen digits."""
    power = abs(bound) + 1
    if power < 2**40 or power.bit_count() != 1:
        return str(bound)
    return f"2^{power.bit_length() - 1} - 1" if bound > 0 else f"1 - 2^{power.bit_length() - 1}"


# Lists and distributions

Bounds = tuple[float, float, str]  # of an entry; and what is said of one that is not within them, or no number
ANY: Bounds = (-math.inf, math.inf, "; give a finite number")
NOT_NEGATIVE: Bounds = (0.0, math.inf, "; give a finite number of 0 or more, none negative: add a constant to them all")
CHANCE: Bounds = (0.0, 1 + 1e-9, ", which is not a probability; use numbers from 0 to 1")


def vector(
    values: Any,
    what: str,
    *,
    size: int | None = None,
    bounds: Bounds = ANY,
    bools: bool = False,
    at: Callable[[int], str] = "position {}".format,
    error: Error = DiscreetError,
) -> list[Number]:
    """A list of exact numbers; `at` says in words where an entry stands. With `bools`, True is 1."""
    items = _items(values, 1)
    if not items or isinstance(items[0], (list, tuple, np.ndarray)):
        raise error(f"{what} must be a list of at least one number, not {show(values)}; give a list or an array.")
    if size is not None and len(items) != size:
        noun = "probabilities" if bounds[2] == CHANCE[2] else "numbers"
        raise error(f"{what} has {len(items)} of the {size} {noun} that it needs; give one for each.")
    if _all_within(values, bounds):
        return items
    found = []
    for k, item in enumerate(items):
        exact = _within(item, bounds, bools)
        if exact is None:
            raise error(f"{what} has {show(item)} at {at(k)}{bounds[2]}.", position=k)
        found.append(exact)
    return found


def law(
    values: Any,
    what: str,
    *,
    size: int | None = None,
    below: Fraction = Fraction(0),
    at: Callable[[int], str] = "position {}".format,
    error: Error = DiscreetError,
) -> list[Number]:
    """Probabilities that sum to 1, up to the rounding of floats. What lies less than `below` under 0 counts as 0.

    >>> law(["1/3", "2/3"], "The prior"), law([0.25, 0.75], "The prior")
    ([Fraction(1, 3), Fraction(2, 3)], [0.25, 0.75])
    """
    found = vector(values, what, size=size, bounds=(-float(below), *CHANCE[1:]), at=at, error=error)
    _sums_to_one(found, what, error)
    return [max(x, 0.0) for x in found] if below else found


def _sums_to_one(chances: Sequence[Number], what: str, error: Error, **details: Any) -> None:
    others = [x for x in chances if type(x) is not float]
    total = sum((Fraction(x) for x in others), Fraction(math.fsum(x for x in chances if type(x) is float)))
    if abs(total - 1) > WITHIN:
        raise error(
            f"{what} sums to {float(total):.12g}; probabilities must sum to 1: give them divided by their sum.",
            **details,
        )


def whole_parts(numbers: Sequence[Number]) -> tuple[list[int], int]:
    """The same numbers as integers over one common denominator."""
    ratios = [x.as_integer_ratio() for x in numbers]
    common = math.lcm(*{bottom for _, bottom in ratios})
    return [top * (common // bottom) for top, bottom in ratios], common


def weights(numbers: Sequence[Number]) -> tuple[int, ...]:
    """The smallest integers in the same proportions."""
    parts, _ = whole_parts(numbers)
    divisor = math.gcd(*parts) or 1
    return tuple(x // divisor for x in parts)


# Matrices


def rows_of(given: Any, what: str, *, least: int = 1, error: Error = DiscreetError) -> list[list[Any]]:
    """The rows of a list of lists, an array or a frame, all of one length; entries as they are."""
    rows = _items(given, 2)
    lines = [] if rows is None else [_items(row, 1) for row in rows]
    found = [line for line in lines if line]
    if (
        rows is None
        or len(found) < len(rows)
        or len(found) < least
        or any(len(line) != len(found[0]) for line in found)
    ):
        many = "rows" if least == 1 else f"at least {least} rows"
        raise error(f"{what} must be a list of {many} of numbers, all of one length; fill the gaps.")
    return found


def matrix(
    given: Any,
    what: str,
    *,
    shape: tuple[int, int] | None = None,
    bounds: Bounds = ANY,
    bools: bool = False,
    least: int = 1,
    error: Error = DiscreetError,
) -> list[list[Number]]:
    """A matrix of exact numbers, of `least` rows or more; an error names row and column. With `bools`, True is 1.

    >>> matrix([["1/3", 2], [0.5, 0]], "The loss")
    [[Fraction(1, 3), Fraction(2, 1)], [0.5, Fraction(0, 1)]]
    """
    rows = rows_of(given, what, least=least, error=error)
    if shape is not None and (len(rows), len(rows[0])) != shape:
        raise error(
            f"{what} must have {shape[0]} rows and {shape[1]} columns, not {len(rows)} and {len(rows[0])}; check its shape."
        )
    if _all_within(given, bounds):
        return rows
    found: list[list[Number]] = []
    for i, row in enumerate(rows):
        found.append([])
        for j, item in enumerate(row):
            exact = _within(item, bounds, bools)
            if exact is None:
                raise error(f"Row {i}, column {j} of {_inside(what)} is {show(item)}{bounds[2]}.", row=i, column=j)
            found[-1].append(exact)
    return found


def stochastic(given: Any, what: str, *, least: int = 1, error: Error = DiscreetError) -> list[list[Fraction]]:
    """A matrix whose rows are distributions, up to the rounding of floats."""
    read = matrix(given, what, bounds=CHANCE, least=least, error=error)
    rows = [[Fraction(x) for x in row] for row in read]
    for i, row in enumerate(rows):
        _sums_to_one(row, f"Row {i} of {_inside(what)}", error, row=i)
    return rows


def _inside(what: str) -> str:
    """A name as it is written within a sentence."""
    return what[0].lower() + what[1:]


def _within(item: Any, bounds: Bounds, bools: bool) -> Number | None:
    """An entry as a number, when it is one within the bounds."""
    if bools and isinstance(item, (bool, np.bool_)):
        item = int(item)
    exact = item if type(item) is float and math.isfinite(item) else parse_entry(item)
    return exact if exact is not None and bounds[0] <= exact <= bounds[1] else None


def _all_within(given: Any, bounds: Bounds) -> bool:
    """Is this an array of floats that are all right? A million are looked at at once."""
    if type(given) is not np.ndarray or given.dtype != np.float64:
        return False
    return bool((np.isfinite(given) & (given >= bounds[0]) & (given <= bounds[1])).all())


def _items(given: Any, dimensions: int) -> list[Any] | None:
    """What a list, an array or a frame holds; None for a text, a mapping, a set, something masked or no collection."""
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if isinstance(given, np.ndarray):
        plain = given.ndim == dimensions and given.dtype.kind not in _NO_NUMBERS
        return given.tolist() if plain and not isinstance(given, np.ma.MaskedArray) else None
    if isinstance(given, (str, bytes, Mapping, set, frozenset)):
        return None
    try:
        return list(given)
    except TypeError:
        return None
