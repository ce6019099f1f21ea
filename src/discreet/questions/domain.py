"""The declared groups of a release: keys are declared, never learned from the data.

In a file, {"column": [values], ...} declares every combination, with null for missing values where they are to be
counted, {"column": {label: band or codes}} groups by labels (recoding.py), and {"column": {"of": column, "map": ...}} says
which column this one contains (below); {"column": "file:list.csv"} names a public code list (code_lists.py). What `discreet
profile` writes says so:

    {"format": "discreet-domain", "version": 1, "learned": ..., "source": ..., "columns": {"column": [values], ...}}

and is refused until "learned" is taken out and "source" names the public source of the keys.

Columns may contain another one: municipalities lie in districts, by a map that is declared with the keys.

    {"municipality": ["m1", "m2", "m3"], "district": {"of": "municipality", "map": {"m1": "north", "m2": "north", "m3": "south"}}}

The containing column is never read from the data: a total by district is a sum over the municipalities that the map puts
there. The map may list each key's container, or each container's keys ({"north": ["m1", "m2"], ...}), which is how keys that
are numbers or null are written. A container may lie in another.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, KeysView, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import TableInputError
from ..exact.arithmetic import encodable, parse_exact, show
from ..exact.code_lists import MARK, code_list_files, with_code_lists
from .predicate import LONGEST_TEXT
from .recoding import Recoding

Key = int | str | bool | None  # None: the value is missing
Label = str  # of a containing column's keys

FORMAT, VERSION = "discreet-domain", 1

MOST_KEYS = 10**6
_KEPT = 2**17  # keys whose different values are kept: those of a million would take 60 MB


@dataclass(frozen=True)
class Domain:
    """The declared groups, in order; make one with `Domain.of`. `columns` is empty when only the keys were given."""

    columns: tuple[str, ...]
    keys: tuple[tuple[Key, ...], ...]
    recodings: tuple[Recoding | None, ...] = ()  # one for each column where there is any
    source: str = ""  # where the keys come from, where somebody said so
    hierarchies: tuple[Hierarchy, ...] = ()  # columns that contain one of these; no part of what is read or asked
    labels: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()  # of columns, what their codes are called

    @classmethod
    def of(cls, groups: Mapping[str, Sequence[Any]], columns: Sequence[str] = ()) -> Domain:
        """From {column: values, ...}, every combination, or from {"keys": [[value, ...], ...]}, these and no others.

        None among the values stands for missing ones; {label: band or codes} in place of values groups by labels.

        >>> Domain.of({"age": {"0-17": [0, 17], "18+": [18, None]}, "sex": ["f", None]}).keys
        (('0-17', 'f'), ('0-17', None), ('18+', 'f'), ('18+', None))
        """
        groups, source, labels = _unmarked(with_code_lists(groups))
        groups = {name: _values(v) for name, v in groups.items()} if isinstance(groups, Mapping) else groups
        if not isinstance(groups, Mapping) or not all(
            isinstance(v, (list, tuple, range, Mapping)) for v in groups.values()
        ):
            raise TableInputError('Declare groups as {column: [values]} or {"keys": [[value, ...], ...]}.')
        declared: Mapping[str, Any] = groups
        groups = {name: v for name, v in groups.items() if not is_hierarchy(v)}
        recoded = {name: Recoding.of(str(name), v) for name, v in groups.items() if isinstance(v, Mapping)}
        groups = {name: recoded[name].labels if name in recoded else v for name, v in groups.items()}
        listed = groups.get("keys") if len(groups) == 1 else None
        explicit = bool(listed) and all(isinstance(key, (list, tuple)) for key in listed or ())
        used = [
            values for name, values in groups.items() if not columns or name in columns
        ]  # a domain may serve several
        size = len(listed or ()) if explicit else math.prod(map(len, used))
        if not 1 <= size <= MOST_KEYS:
            raise TableInputError(f"{size} groups are declared; there must be between 1 and {MOST_KEYS}.")
        if explicit:
            names, keys = tuple(columns), tuple(tuple(map(declared_key, key)) for key in listed or ())
            if len({len(key) for key in keys} | ({len(names)} if names else set())) != 1:
                raise TableInputError(f"Every declared key needs one value for each of the {len(names) or ''} columns.")
            lists = [[key[k] for key in keys] for k in range(len(keys[0]))]
        else:
            names = tuple(columns) or tuple(groups)
            lacking = [name for name in names if name not in groups]
            if lacking and lacking[0] in declared:
                raise TableInputError(
                    f"{lacking[0]} is defined by its map of {declared[lacking[0]]['of']} and is never read: group by "
                    f"{declared[lacking[0]]['of']}, and ask for {lacking[0]} as a margin."
                )
            if lacking:
                raise TableInputError(
                    f"No values are declared for {', '.join(lacking)}; the declared columns are {', '.join(groups) or 'none'}. "
                    "Add them to the domain, or correct the spelling."
                )
            lists = [_declared_keys(groups[name]) for name in names]
            with _uncollected():
                keys = tuple(itertools.product(*lists))
        mixed = [k for k, values in enumerate(lists) if len({*map(type, values)} - {type(None)}) > 1]
        if mixed:
            column = show(names[mixed[0]]) if names else f"column {mixed[0] + 1}"
            raise TableInputError(f"The declared keys of {column} mix numbers, texts and booleans; use one kind.")
        if len(set(keys)) != size if explicit else any(len(set(values)) != len(values) for values in lists):
            repeated = next(key for key, times in Counter(keys).items() if times > 1)
            raise TableInputError(
                f"The key {', '.join(map(show, repeated))} is declared twice; declare every key once."
            )
        recodings = tuple(recoded.get(name) for name in names)
        wanted = {
            name: v for name, v in declared.items() if is_hierarchy(v) and _base(name, declared) in (*names, None)
        }
        listed_keys = zip(names, lists, strict=bool(names)) if wanted else ()
        hierarchies = read_hierarchies(wanted, {name: list(dict.fromkeys(values)) for name, values in listed_keys})
        named = read_labels({name: own for name, own in labels.items() if name in names or name in wanted})
        return cls(names, keys, recodings if any(recodings) else (), source, hierarchies, named)

    @classmethod
    def read(cls, path: str | os.PathLike[str], columns: Sequence[str] = ()) -> Domain:
        """From a JSON file that holds what `Domain.of` takes."""
        return cls.of(read_groups(path), columns)

    def ordered(self, columns: Sequence[str]) -> Domain:
        """The same groups with their columns in another order."""
        if not self.columns or self.columns == tuple(columns):
            return replace(self, columns=tuple(columns))
        own = [name.lower() for name in self.columns]  # the engine knows no case
        if sorted(own) != sorted(name.lower() for name in columns):
            raise TableInputError(
                f"Groups are declared for {', '.join(self.columns)}, but the columns to group by are "
                f"{', '.join(columns) or 'none'}. Declare the same columns."
            )
        places = [own.index(name.lower()) for name in columns]
        recodings = tuple(self.recodings[p] for p in places) if self.recodings else ()
        return Domain(
            tuple(columns),
            tuple(tuple(key[p] for p in places) for key in self.keys),
            recodings,
            self.source,
            tuple(replace(h, of=columns[places.index(own.index(h.of.lower()))]) for h in self.hierarchies),
            self.labels,
        )

    def contents(self, columns: Sequence[str]) -> str:
        """Keys, and how values become them, as one text: the identity of a domain, whatever the order of columns, keys, labels
        and codes; `columns` are the names that they are sorted by."""
        order = sorted(range(len(columns)), key=lambda k: columns[k].lower())  # the engine knows no case
        recodings = [self.recodings[k] for k in order] if self.recodings else []
        labels = [None if r is None else r.declared() for r in recodings]
        return json.dumps([sorted(key_texts(self, columns)), labels], sort_keys=True, separators=(",", ":"))

    @property
    def values(self) -> tuple[frozenset[Key], ...]:
        """The different values of each column of the keys."""
        return self._kept_values if len(self.keys) <= _KEPT else self._different()

    @cached_property
    def _kept_values(self) -> tuple[frozenset[Key], ...]:
        return self._different()

    def _different(self) -> tuple[frozenset[Key], ...]:
        return tuple([frozenset(map(itemgetter(k), self.keys)) for k in range(len(self.keys[0]))])

    def __len__(self) -> int:
        return len(self.keys)


@contextmanager
def _uncollected() -> Iterator[None]:
    """While a million small tuples are made, which cannot be garbage: the collector would look at all of them again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def key_lists(domain: Domain) -> list[list[Key]]:
    """The declared keys as lists, as JSON has them."""
    with _uncollected():
        return list(map(list, domain.keys))


def key_texts(domain: Domain, names: Sequence[str]) -> list[str]:
    """Each declared key as a text of its content, its columns by name: the same in whatever order they are declared.

    >>> key_texts(Domain.of({"sex": ["f"], "Age": [7]}), ["sex", "Age"])
    ['"age" 7 "sex" "f"']
    """
    columns = [name.lower() for name in domain.columns or names]
    texts = []
    for k in sorted(range(len(columns)), key=columns.__getitem__):
        name = json.dumps(columns[k])
        column = [key[k] for key in domain.keys]
        once = column if len(domain.values[k]) == len(column) else domain.values[k]
        written = [f"{name} {v if type(v) is int else json.dumps(v)}" for v in once]
        if once is not column:
            spelled = dict(zip(once, written, strict=True))
            written = [spelled[v] for v in column]
        texts.append(written)
    if len(texts) == 1:
        return texts[0]
    return list(map(" ".join, zip(*texts, strict=True))) if texts else [""] * len(domain)


def read_groups(path: str | os.PathLike[str]) -> Any:
    """Declared groups as their JSON file has them, checked no further; or as COLUMN=file:LIST has them of one code list."""
    column, is_list, listed = os.fspath(path).partition(f"={MARK}")
    if is_list:
        return with_code_lists({column: MARK + listed})
    try:
        groups = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=_each_once)
    except TableInputError as error:
        raise TableInputError(f"{show(Path(path).name)} {error}") from None
    except OSError:
        column, is_list, listed = os.fspath(path).partition("=")
        write = f"write {column}={MARK}{listed} for a code list" if is_list else "check the path"
        raise TableInputError(f"There is no file {show(Path(path).name)} of declared groups; {write}.") from None
    except (ValueError, RecursionError) as error:
        line = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise TableInputError(
            f'{show(Path(path).name)} is not JSON{line}; declare groups as {{"column": ["value", ...], ...}}.'
        ) from None
    return with_code_lists(groups, Path(path).parent)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The parts of a JSON object, by name."""
    parts = dict(pairs)
    if len(parts) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise TableInputError(f"declares {show(twice)} twice; declare it once.")
    return parts


def files_of_groups(path: str | None) -> list[Path]:
    """The files from which `read_groups` read declared groups: the domain's own, and the code lists that it names."""
    _, is_list, listed = (path or "").partition(f"={MARK}")
    if path is None or is_list:
        return [Path(listed)] if is_list else []
    own = Path(path)
    return [own, *code_list_files(json.loads(own.read_text(encoding="utf-8")), own.parent)]


def declared_columns(groups: Any) -> dict[str, Any]:
    """The declaration of each column, learned from the data or not; empty where keys are listed without their columns."""
    if isinstance(groups, Domain):
        plain = {name: list(dict.fromkeys(key[k] for key in groups.keys)) for k, name in enumerate(groups.columns)}
        return {**plain, **{r.column: r.declared() for r in groups.recodings if r is not None}}
    groups = with_code_lists(groups)
    if isinstance(groups, Mapping) and groups.get("format") == FORMAT:
        groups = groups.get("columns")
    if not isinstance(groups, Mapping):
        raise TableInputError("Declare groups as {column: [values]}.")
    keys = groups.get("keys") if len(groups) == 1 else None
    listed = isinstance(keys, (list, tuple)) and all(isinstance(key, (list, tuple)) for key in keys)
    return {} if listed else {name: what for name, what in groups.items() if not is_hierarchy(what)}


def _base(column: str, declared: Mapping[str, Any]) -> str | None:
    """The column that a containing one contains in the end; None where that is not declared, or where they go in a circle."""
    seen: list[str] = []
    while column in declared and is_hierarchy(declared[column]) and column not in seen:
        seen.append(column)
        column = declared[column]["of"]
    return column if column in declared and column not in seen else None


def _unmarked(groups: Any) -> tuple[Any, str, Mapping[str, Any]]:
    """The groups, their source and what their codes are called; those that were learned from the data are refused."""
    if not isinstance(groups, Mapping) or groups.get("format") != FORMAT:
        return groups, "", {}
    if groups.get("version") != VERSION:
        raise TableInputError(
            f"This domain has version {show(groups.get('version'))}; this version of discreet reads version {VERSION}."
        )
    if "learned" in groups:
        raise TableInputError(
            "This domain was learned from the data, so its keys reveal something about them. Take the keys from "
            'a public source, name it as "source", then remove "learned". Nothing was charged.'
        )
    others = [str(name) for name in groups if name not in ("format", "version", "source", "columns", "labels")]
    if others:  # the mark by another name, perhaps
        raise TableInputError(
            f"This domain has {show(others[0])}, which is not a part of a domain; the parts are format, version, "
            "source, columns and labels. Nothing was charged."
        )
    source = groups.get("source")
    if not (isinstance(source, str) and source.strip() and encodable(source)):
        raise TableInputError(
            'This domain does not say where its keys come from; name their public source as "source". '
            "Nothing was charged."
        )
    labels = groups.get("labels", {})
    if not isinstance(labels, Mapping) or not all(isinstance(own, Mapping) for own in labels.values()):
        raise TableInputError('Labels are declared as {"column": {"code": "label", ...}}. Nothing was charged.')
    return groups.get("columns"), source, labels


def read_labels(labels: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """What the codes of columns are called, once all of it is text."""
    pairs = [pair for own in labels.values() for pair in own.items()]
    if not all(isinstance(text, str) and encodable(text) for pair in pairs for text in pair):
        raise TableInputError("Labels and the codes that they name must be texts.")
    return tuple((name, tuple(own.items())) for name, own in labels.items())


def _values(given: Any) -> Any:
    """Keys as a list, whatever holds them: an array of NumPy or Arrow, a Series, an Index; a set in order. Others as they are."""
    if isinstance(given, (set, frozenset)):
        try:
            return sorted(given, key=lambda value: (value is None, "" if value is None else value))
        except TypeError:
            return list(given)  # of several kinds, which is refused below
    if isinstance(given, KeysView):
        return list(given)
    if isinstance(given, np.ndarray) and given.dtype.kind in "mM":
        return list(given)  # days and times, which tolist() makes bare numbers of
    for name in ("to_pylist", "tolist", "to_list"):
        if not isinstance(given, type) and callable(getattr(given, name, None)):
            return getattr(given, name)()
    return given


def _declared_keys(values: Sequence[Any]) -> list[Key]:
    """Those of one column; plain whole numbers at once, as there may be a million."""
    if {*map(type, values)} == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return list(values)
    return list(map(declared_key, values))


def declared_key(value: Any) -> Key:
    """A key as it is declared, a scalar of NumPy or pandas as the value that it stands for; NaN, NaT and NA are missing ones."""
    if value is None:
        return None
    if type(value) is int and -(2**63) <= value < 2**63:  # the plain case first: there may be a million
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (str, np.str_)) and "\0" not in value and encodable(str(value)):
        if len(value) > LONGEST_TEXT // 4 and len(value.encode()) > LONGEST_TEXT:
            raise TableInputError(
                f"A declared key has more than {LONGEST_TEXT} bytes, the most that texts are compared by; shorten it."
            )
        return str(value)
    if _is_missing(value):
        return None
    number = None if isinstance(value, str) else parse_exact(value)
    if number is not None and number.denominator == 1 and -(2**63) <= number < 2**63:
        return int(number)
    dates = isinstance(value, (date, np.datetime64))
    instead = (
        "declare days and times as texts, as the file writes them"
        if dates
        else "use whole numbers of 64 bits, texts or booleans"
    )
    if isinstance(value, (list, tuple)) and len(value) == 2:
        instead = f'a band of numbers needs a label: {{"column": {{"label": {json.dumps(value, default=str)}, ...}}}}'
    raise TableInputError(f"{show(value)} cannot be a declared key; {instead}.")


def _is_missing(value: Any) -> bool:
    """Is it one of the values that stand for none? They are not equal to themselves; pandas' NA does not even say so."""
    try:
        unlike = value != value
    except Exception:  # whatever a type of somebody's own says
        return False
    return unlike is True or (isinstance(unlike, np.bool_) and bool(unlike)) or type(unlike).__name__ == "NAType"


# Columns that contain others


@dataclass(frozen=True)
class Hierarchy:
    """For each key of a declared column, the container that it lies in; make one with `read_hierarchies`."""

    column: str
    of: str  # the declared column
    containers: tuple[tuple[Any, Label], ...]  # (key, container), in the order of the keys


def is_hierarchy(declared: Any) -> bool:
    """Is this how a containing column is declared? Labels of a recoding are never texts."""
    return isinstance(declared, Mapping) and isinstance(declared.get("of"), str)


def read_hierarchies(groups: Mapping[str, Any], keys: Mapping[str, Sequence[Any]]) -> tuple[Hierarchy, ...]:
    """Every containing column that is declared, checked against the keys of the columns: each lies in one container."""
    hierarchies: dict[str, Hierarchy] = {}
    waiting = {name: what for name, what in groups.items() if is_hierarchy(what)}
    while waiting:
        ready = {name: what for name, what in waiting.items() if what["of"] not in waiting}
        if not ready:
            raise TableInputError(
                f"{show(next(iter(waiting)))} contains itself by way of others; let each column contain a finer one."
            )
        for name, what in ready.items():
            below = hierarchies.get(what["of"])
            finer = tuple(dict.fromkeys(label for _, label in below.containers)) if below else keys.get(what["of"])
            if finer is None:
                raise TableInputError(
                    f"{show(name)} is declared to contain {show(what['of'])}, for which no values are declared; "
                    "declare them, or correct the spelling."
                )
            containers = _containers(name, what, finer)
            pairs = [(key, containers[label]) for key, label in below.containers] if below else list(containers.items())
            hierarchies[name] = Hierarchy(name, below.of if below else what["of"], tuple(pairs))
            del waiting[name]
    return tuple(hierarchies.values())


def _containers(column: str, declared: Mapping[str, Any], finer: Sequence[Any]) -> dict[Any, Label]:
    """The container of each key of the finer column."""
    listed = declared.get("map")
    is_pairs = isinstance(listed, list) and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in listed)
    if set(declared) != {"of", "map"} or not (is_pairs or isinstance(listed, Mapping)) or not listed:
        raise TableInputError(
            f'{show(column)} has an unknown kind of declaration; write {{"of": {show(declared["of"])}, '
            '"map": {key: container, ...}}, or {container: [keys], ...} as its map.'
        )
    if is_pairs:  # as a question is written down
        pairs = [(key, label) for key, label in listed]
    elif all(isinstance(keys, (list, tuple)) for keys in listed.values()):
        pairs = [(key, container) for container, keys in listed.items() for key in keys]
    else:
        spelt = {str(key): key for key in finer if not isinstance(key, (str, type(None)))}  # JSON writes keys as texts
        pairs = [(spelt.get(key, key) if isinstance(key, str) else key, container) for key, container in listed.items()]
    if not all(isinstance(label, str) and encodable(label) and label for _, label in pairs):
        raise TableInputError(f"The containers in the map of {show(column)} must be texts.")
    try:
        containers, repeated = dict(pairs), len({key for key, _ in pairs}) < len(pairs)
    except TypeError:  # a key that is a list
        containers, repeated = {}, True
    if repeated:
        raise TableInputError(f"The map of {show(column)} has a key in two places; each key lies in one container.")
    lacking = [key for key in finer if key not in containers]
    if lacking:
        raise TableInputError(
            f"The map of {show(column)} does not mention {show(lacking[0])}, a declared key of "
            f"{show(declared['of'])}; give every key a container ({len(lacking)} have none)."
        )
    known = set(finer)
    stray = [key for key in containers if key not in known]
    if stray:
        raise TableInputError(
            f"The map of {show(column)} has {show(stray[0])}, which is not a declared key of "
            f"{show(declared['of'])}; correct the spelling or remove it."
        )
    return {key: containers[key] for key in finer}
