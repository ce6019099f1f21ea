"""The declared groups of a release: keys are declared, never learned from the data."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import TableInputError
from ..numbers.exact import encodable, parse_exact, show

Key = int | str | bool

MOST_KEYS = 10**6


@dataclass(frozen=True)
class Domain:
    """The declared groups, in order; make one with `Domain.of`. `columns` is empty when only the keys were given."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...], ...]

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[Any]], columns: Sequence[str] = ()) -> Domain:
        """From {column: values, ...}, every combination, or from {"keys": [[value, ...], ...]}, these and no others."""
        if not isinstance(groups, Mapping) or not all(isinstance(v, (list, tuple, range)) for v in groups.values()):
            raise TableInputError('Declare groups as {column: [values]} or {"keys": [[value, ...], ...]}.')
        listed = groups.get("keys") if len(groups) == 1 else None
        explicit = bool(listed) and all(isinstance(key, (list, tuple)) for key in listed or ())
        used = [
            values for name, values in groups.items() if not columns or name in columns
        ]  # a domain may serve several
        size = len(listed or ()) if explicit else math.prod(map(len, used))
        if not 1 <= size <= MOST_KEYS:
            raise TableInputError(f"{size} groups are declared; there must be 1 to {MOST_KEYS}.")
        if explicit:
            names, keys = tuple(columns), tuple(tuple(map(_key, key)) for key in listed or ())
            if len({len(key) for key in keys} | ({len(names)} if names else set())) != 1:
                raise TableInputError(f"Every declared key needs one value for each of the {len(names) or ''} columns.")
            lists = [[key[k] for key in keys] for k in range(len(keys[0]))]
        else:
            names = tuple(columns) or tuple(groups)
            lacking = [name for name in names if name not in groups]
            if lacking:
                raise TableInputError(
                    f"No values are declared for {', '.join(lacking)}; the declared columns are {', '.join(groups) or 'none'}. "
                    "Add them to the domain, or correct the spelling."
                )
            lists = [list(map(_key, groups[name])) for name in names]
            keys = tuple(itertools.product(*lists))
        if any(len({type(value) for value in values}) > 1 for values in lists):
            raise TableInputError("A column of the declared keys mixes numbers, texts and booleans; keep to one kind.")
        if len(set(keys)) != size:
            raise TableInputError("A declared key stands there twice; every key needs to be declared once.")
        return cls(names, keys)

    @classmethod
    def read(cls, path: str | os.PathLike[str], columns: Sequence[str] = ()) -> Domain:
        """From a JSON file that holds what `Domain.of` takes."""
        try:
            groups = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError:
            raise TableInputError(
                f"There is no file {show(Path(path).name)} of declared groups; check the path."
            ) from None
        except (ValueError, RecursionError) as error:
            line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
            raise TableInputError(
                f'{show(Path(path).name)} is not JSON{line}; declare groups as {{"column": ["value", ...], ...}}.'
            ) from None
        return cls.of(groups, columns)

    def ordered(self, columns: Sequence[str]) -> Domain:
        """The same groups with their columns in another order."""
        if not self.columns or self.columns == tuple(columns):
            return Domain(tuple(columns), self.keys)
        mine = [name.lower() for name in self.columns]  # the engine knows no case
        if sorted(mine) != sorted(name.lower() for name in columns):
            raise TableInputError(
                f"Groups are declared for {', '.join(self.columns)}, but the columns to group by are "
                f"{', '.join(columns) or 'none'}. Declare the same columns."
            )
        places = [mine.index(name.lower()) for name in columns]
        return Domain(tuple(columns), tuple(tuple(key[p] for p in places) for key in self.keys))

    def __len__(self) -> int:
        return len(self.keys)


def _key(value: Any) -> Key:
    if type(value) is int and -(2**63) <= value < 2**63:  # the plain case first: there may be a million
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (str, np.str_)) and "\0" not in value and encodable(str(value)):
        return str(value)
    number = None if isinstance(value, str) else parse_exact(value)
    if number is not None and number.denominator == 1 and -(2**63) <= number < 2**63:
        return int(number)
    raise TableInputError(f"{show(value)} cannot be a declared key; use whole numbers of 64 bits, texts or booleans.")
