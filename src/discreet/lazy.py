"""Public names that are loaded when they are first used, so that importing the package costs nothing.

A face is a module with a stub beside it. The stub is the one list of its names: type checkers read it, and `attach` reads
from it where each name lives.
"""

from __future__ import annotations

import importlib
import re

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_LINE = re.compile(r"^from (\.[\w.]*) import (\w+) as \2$", re.MULTILINE)


def attach(
    name: str, file: str, package: str | None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of the module `name`, from the lines `from .room import thing as thing` of its stub.

    A line `from . import room as room` names a module.
    """
    with open(file.removesuffix(".py") + ".pyi", encoding="utf-8") as stub:
        homes = {thing: home for home, thing in _LINE.findall(stub.read())}

    loaded: dict[
        str, Any
    ] = {}  # modules by the names that were asked for: looking them up again takes longer than small calls

    def load(thing: str) -> Any:
        if thing in loaded:
            return getattr(loaded[thing], thing)
        home = homes.get(thing)
        if home is None:
            raise AttributeError(f"module {name!r} has no attribute {thing!r}", name=thing)
        is_module = not home.strip(".")
        value = importlib.import_module(home + thing if is_module else home, package)
        if is_module:
            return value
        loaded[thing] = value
        return getattr(value, thing)

    return load, lambda: sorted(homes), sorted(homes)
