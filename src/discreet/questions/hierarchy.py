"""Columns that contain another one: municipalities lie in districts, by a map that is declared with the keys.

    {"municipality": ["m1", "m2", "m3"], "district": {"of": "municipality", "map": {"m1": "north", "m2": "north", "m3": "south"}}}

The containing column is never read from the data: a total by district is a sum over the municipalities that the map puts
there. The map may list each key's container, or each container's keys ({"north": ["m1", "m2"], ...}), which is how keys that
are numbers or null are written. A container may lie in another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TableInputError
from ..exact.arithmetic import encodable, show

Label = str


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
    if set(declared) != {"of", "map"} or not isinstance(listed, Mapping) or not listed:
        raise TableInputError(
            f'{show(column)} has an unknown kind of declaration; write {{"of": {show(declared["of"])}, '
            '"map": {key: container, ...}}, or {container: [keys], ...} as its map.'
        )
    if all(isinstance(keys, (list, tuple)) for keys in listed.values()):
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
    stray = [key for key in containers if key not in set(finer)]
    if stray:
        raise TableInputError(
            f"The map of {show(column)} has {show(stray[0])}, which is not a declared key of "
            f"{show(declared['of'])}; correct the spelling or remove it."
        )
    return {key: containers[key] for key in finer}
