"""Numbers computed from private data without noise, which say so wherever they are written."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NoReturn, final

from ..errors import DiscreetError

WARNING = "private: do not publish"


@final
class PrivateNumber:
    """A number computed from private data without noise. Only `float(v)` and `int(v)` open it.

    Whatever is written of it (text, format, HTML, `to_dict`) carries the words "do not publish". It has no arithmetic and
    no order, so that nothing else is made of it without being opened, and it is not pickled. What asks Python for a float
    opens it too: `math.sqrt(v)`, `"%f" % v`. `float(v)` is rounded up: a sensitivity must never be too small.

    >>> v = PrivateNumber(Fraction(2, 5))
    >>> v, f"{v:.2f}"
    (0.4 (private: do not publish), '0.40 (private: do not publish)')
    """

    __slots__ = ("_value",)

    def __init__(self, value: Fraction) -> None:
        self._value = Fraction(value)

    def __float__(self) -> float:
        nearest = float(self._value)
        return nearest if Fraction(nearest) >= self._value else math.nextafter(nearest, math.inf)

    def __int__(self) -> int:
        """The whole number itself; of another number the next one above it."""
        return math.ceil(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivateNumber) and self._value == other._value

    def __hash__(self) -> int:
        return hash((PrivateNumber, self._value))  # that of a whole number would be the number

    def __repr__(self) -> str:
        return f"{float(self):.12g} ({WARNING})"

    def __format__(self, spec: str) -> str:
        return f"{format(float(self), spec)} ({WARNING})" if spec else repr(self)

    def _repr_html_(self) -> str:
        return f"{float(self):.12g} <strong>({WARNING})</strong>"

    def to_dict(self) -> dict[str, Any]:
        """The number with its warning, for machines."""
        return {"value": float(self), "private": True, "note": "do not publish"}

    def __copy__(self) -> PrivateNumber:
        return self

    def __deepcopy__(self, memo: object) -> PrivateNumber:
        return self

    def __reduce__(self) -> NoReturn:
        raise DiscreetError(
            "A private number is not written to files: do not publish it; keep float(v) where you must."
        )
