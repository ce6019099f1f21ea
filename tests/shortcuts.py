"""What makes tests quick that are about numbers, not about disks or parsers."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def folder_in_memory(otherwise: Path) -> Iterator[Path]:
    """A folder where syncing takes no time, or the one given if this machine has none."""
    if not os.access("/dev/shm", os.W_OK):
        yield otherwise
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@contextmanager
def options_read_once() -> Iterator[None]:
    """Remember what the command line's library reads off each command's signature and each type, and hand out copies.

    That is half of the time of a call in one process; a process of its own reads it once. Copies, since parsing writes into it.
    """
    from cyclopts import App, field_info

    read, known = App.assemble_argument_collection, dict[Any, Any]()
    fields_of, types = field_info._generic_class_field_infos, dict[Any, Any]()

    def remembered(app: Any, *, default_parameter: Any = None, parse_docstring: bool = False) -> Any:
        if default_parameter is not None:
            return read(app, default_parameter=default_parameter, parse_docstring=parse_docstring)
        way = [
            app,
            *(part for level in app.app_stack.stack for part in level),
        ]  # kept, so that no other app gets their ids
        key = (*map(id, way), parse_docstring)
        if key not in known:
            known[key] = read(app, parse_docstring=parse_docstring), way
        return _without_words(known[key][0], {})

    def fields(kind: Any, **options: bool) -> Any:
        key = (kind, *sorted(options.items()))
        if key not in types:
            types[key] = fields_of(kind, **options)
        return dict(types[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "assemble_argument_collection", remembered)
        patch.setattr(field_info, "_generic_class_field_infos", fields)
        yield


def _without_words(arguments: Any, copied: dict[int, Any]) -> Any:
    """A copy of a command's arguments before any word was given to them; what parsing leaves alone is shared."""
    for argument in arguments:
        if id(argument) not in copied:
            copied[id(argument)] = own = copy.copy(argument)
            own.tokens = list(argument.tokens)
            own.children = _without_words(argument.children, copied)
    return type(arguments)(copied[id(argument)] for argument in arguments)


@contextmanager
def each_frame_counted_once() -> Iterator[None]:
    """Remember what a release counts in a small frame of pandas: to open the engine takes longer than all the rest.

    The same bytes and the same question have the same answer, which tests/engines shows. Files, other kinds of tables,
    whoever watches the progress and whatever is refused go to the engine each time.
    """
    from discreet.tables.count import true_numbers

    count, known = true_numbers.count_each, dict[bytes, Any]()

    def remembered(table: Any, **asked: Any) -> Any:
        from pandas import DataFrame

        if not isinstance(table, DataFrame) or len(table) > 2000 or asked["progress"] or not sys.modules.get("duckdb"):
            return count(table, **asked)
        key = pickle.dumps((table, asked))
        if key not in known:
            known[key] = count(table, **asked)
        return copy.deepcopy(known[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(true_numbers, "count_each", remembered)
        yield
