"""Names as answers: a list of texts in place of a grid of numbers.

Brands and diagnoses have no order and no distance: their positions 0, 1, ... are places in a list, and no more. So any two names
are neighbours, and whatever needs an order or a number (a mean, a median, noise that is added) refuses names in a sentence. A
list of names is a grid whose values are texts: a function that reads `n` with `answers_of` takes names, one that reads it with
`Grid.of` does not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, GridError, OutOfRangeError
from .arithmetic import show
from .code_lists import MARK, read_code_list
from .frozen import frozen
from .grid import Grid, GridLike
from .intake import as_texts

MOST_NAMES = 2**20
LONGEST_NAME = 1000  # characters
# what breaks a line, turns what stands about it around or is half a character; and what nobody sees
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff]")


def _unordered(what: str) -> Any:
    """A property, or method, of grids that names do not have: asked for, it says so."""

    def refuse(self: Names, *_: object) -> NoReturn:
        raise GridError(f"Names have no order and no distance from each other, so that {what}.")

    return refuse


_NUMBER = "they are no numbers to reckon with; use what needs no order, such as l0, shares or total variation"


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Names(Grid):
    """Answers that are names: at least two texts, each once; their order is that of the list, and means nothing.

        names    a list of texts, a NumPy, Arrow, pandas or Polars column of them, or "file:codes.csv": the codes of a public
                 code list (a CSV file with a column code)
        other    the answer of whoever gives one that is not declared; it is added where the list does not have it

    Names are found as they are written: "fiat" is not "Fiat". Reports must be declared names: `other` is for true values alone.

    >>> Names(["red", "green", "blue"], other="another")
    Names(['red', 'green', 'blue', 'another'], other='another')
    """

    names: tuple[str, ...] = ()
    other: str | None = None

    def __init__(self, names: Any, other: str | None = None) -> None:
        listed = _listed(names)
        if other is not None:
            _checked([other])
            listed += [] if other in listed else [other]
        if not 2 <= len(listed) <= MOST_NAMES:
            few = "; with a single possible answer there is nothing to protect" if len(listed) == 1 else ""
            found = "is 1 name" if len(listed) == 1 else f"are {len(listed)} names"
            raise GridError(f"There {found}; give between 2 and {MOST_NAMES:,}{few}.")
        _checked(listed)
        object.__setattr__(self, "names", tuple(listed))
        object.__setattr__(self, "other", other)

    is_ordered = False
    is_integer = False
    is_counts = False
    whole_reach = whole_numbers = (0, -1)
    low = high = step = anchor = reach = ends = terms = property(_unordered(_NUMBER))
    scaled = floats = nearest = contains = _unordered(_NUMBER)
    steps = _unordered("there is no sensitivity: any two are neighbours")

    @property
    def n(self) -> int:
        return len(self.names) - 1

    @property
    def among(self) -> str:
        return f"one of the {self}"

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of each name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def array(self) -> NDArray[Any]:
        """The names as an array of Python's texts."""
        return frozen(np.array(self.names, dtype=object))

    @cached_property
    def unknown(self) -> int:
        """The position of what is not declared; -1 where it has none."""
        return -1 if self.other is None else self.places[self.other]

    def value(self, position: int) -> Any:
        return self.names[position]

    @cached_property
    def _lookup(self) -> dict[object, int]:
        """Where each text goes but those that are not declared; an empty one is missing."""
        return dict([*self.places.items(), ("", -1)])

    def position(self, value: object, *, clamp: bool = False, at: int = 0) -> int:
        """The position of a true value: that of the name, or of `other` for a text that is not declared."""
        return int(self.positions([value], clamp=clamp, offset=at)[0])

    def positions(self, values: list[Any], *, clamp: bool = False, offset: int = 0) -> NDArray[np.int64]:
        """The same for many; `offset` is added to the position that an error names."""
        if clamp:
            raise GridError(
                "Names have no order, so that none is the nearest to another; leave out clamp, and declare an answer for all "
                "others (other=)."
            )
        found = np.fromiter(map(self._lookup.get, values, repeat(self.unknown)), np.int64, len(values))
        kinds = set(map(type, values))
        texts = all(issubclass(kind, str) for kind in kinds)
        bad = found < 0 if texts else [not isinstance(v, str) or k < 0 for k, v in zip(found, values, strict=True)]
        for k in np.flatnonzero(bad)[:1].tolist():
            absent = not isinstance(values[k], str) or not values[k]
            why = "is missing or not a text; leave it out or fill it in before sampling" if absent else None
            raise self.refusal(offset + k, why)
        return found

    def refusal(self, at: int, why: str | None = None) -> OutOfRangeError:
        sentence = why or f"is none of the {len(self.names)} names; declare it, or an answer for all others (other=)"
        return OutOfRangeError(f"The true value at position {at} {sentence}. Nothing was drawn.", position=at)

    def place(self, value: object) -> int | None:
        return self.places.get(value) if isinstance(value, str) else None

    placed = place

    def place_of(self, value: object, what: str, error: type[DiscreetError] = OutOfRangeError) -> int:
        place = self.place(value)
        if place is None:
            raise error(f"{what} {show(value)} is none of the {len(self.names)} names; give one of them.", value=value)
        return place

    def written(self) -> dict[str, Any]:
        return {"names": list(self.names), "other": self.other}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and (self.names, self.other) == (other.names, other.other)

    def __hash__(self) -> int:
        return hash((self.names, self.other))

    def __str__(self) -> str:
        return f"{len(self.names)} names"

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.names if len(self.names) <= 6 else (*self.names[:3],)))
        more = "" if len(self.names) <= 6 else f", ... {len(self.names)} names"
        return f"Names([{shown}{more}]" + (")" if self.other is None else f", other={self.other!r})")


AnswersLike = GridLike | Names | Sequence[str]  # n, a grid or names


def answers_of(given: Any) -> Grid:
    """A grid or names as they are; else names from a list, a column or "file:codes.csv"; else the grid 0, 1, ..., n."""
    if isinstance(given, Grid):
        return given
    return Names(given) if is_list_of_names(given) else Grid.of(given)


def is_list_of_names(given: Any) -> bool:
    """Is this a list, or names a file with one? Any other text is a number."""
    if isinstance(given, str):
        return given.startswith(MARK)
    return not isinstance(given, (bytes, Grid)) and hasattr(given, "__len__") and getattr(given, "ndim", 1) > 0


def read_answers(part: dict[str, Any]) -> Grid:
    """What `written` wrote, of a grid or of names; verify.py has checked every field before."""
    if "names" in part:
        return Names(part["names"], part["other"])
    return Grid(*(None if part[end] is None else Fraction(part[end]) for end in ("low", "high", "step")))


def _listed(names: Any) -> list[Any]:
    if isinstance(names, Names):
        return list(names.names)
    if isinstance(names, str) and names.startswith(MARK):
        return list(read_code_list(Path(names.removeprefix(MARK))).keys)
    if not is_list_of_names(names) or isinstance(names, (dict, set, frozenset)):
        raise GridError(f'Names are a list of texts, or "file:codes.csv" for a code list, not {show(names)}.')
    if isinstance(names, (list, tuple)):
        return list(names)
    try:
        return list(as_texts(names)[1].tolist())
    except OutOfRangeError:
        raise GridError(
            f"Cannot read names from {type(names).__name__}; give a list or a column of texts, without missing ones."
        ) from None


def _checked(names: list[Any]) -> None:
    """Refuse what could not be told apart, printed or found again; names are public, so that a sentence may quote them."""
    seen: dict[str, int] = {}
    for k, name in enumerate(names):
        if not isinstance(name, str):
            raise GridError(f"The name at position {k} is {show(name)}; names are texts: write for example '1' for 1.")
        wrong = _fault(name)
        if wrong is not None:
            raise GridError(f"The name at position {k}, {show(name)}, {wrong}.", value=name)
        alike = " ".join(unicodedata.normalize("NFC", _UNSEEN.sub("", name)).split())
        first = seen.setdefault(alike, k)
        if first != k:
            raise GridError(
                f"The names at positions {first} and {k} look alike, {show(name)}; declare each once. Names are declared "
                "beforehand, never taken from a column of answers.",
                value=name,
            )


def _fault(name: str) -> str | None:
    if not _UNSEEN.sub("", name).strip():
        return "is empty; take it out, or say what it stands for"
    if name != name.strip():
        return "begins or ends with a blank; take it off"
    if len(name) > LONGEST_NAME:
        return f"has more than {LONGEST_NAME} characters; shorten it"
    if _UNFIT.search(name):
        return "holds a character that cannot be written in one line; take it out"
    return None
