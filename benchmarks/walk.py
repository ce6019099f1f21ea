"""The walk of a release, counted: Python calls and modules entered, SQL statements and transactions.

One number about an admitted file is released: once to load what is loaded once, then again under another version of the
data, counted. Nothing here is a time; calls differ a little from run to run, statements do not.

    python benchmarks/walk.py            a table for people
    python benchmarks/walk.py --steps    the modules in the order in which they are first entered, with their calls
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import _page

import discreet as dt

PEOPLE = 300


class Calls:
    """Counts every call of a function of the package while it is switched on."""

    def __init__(self) -> None:
        self.modules: Counter[str] = Counter()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.partition(".")[0] == "discreet":
            self.modules[name.partition(".")[2] or name] += 1

    def of(self, act: Callable[[], Any]) -> Any:
        sys.setprofile(self)
        try:
            return act()
        finally:
            sys.setprofile(None)


class Statements:
    """Counts the statements that SQLite runs on every connection that is open already."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def watch(self, ledger: dt.Ledger) -> None:
        for store in list(ledger.book._stores):
            connection: sqlite3.Connection = store._connection
            connection.set_trace_callback(self.texts.append)

    @property
    def transactions(self) -> int:
        return sum(text.startswith("BEGIN") for text in self.texts)


def measured(folder: Path, from_file: bool) -> tuple[Calls, Statements]:
    """What releasing one number takes: of an admitted file, or of a table in memory."""
    import pyarrow
    from pyarrow import csv

    people = pyarrow.table({"ill": ["yes", "no", "no"] * (PEOPLE // 3)})
    calls, statements = Calls(), Statements()
    with dt.Ledger(folder / "budget.db") as ledger:
        account = ledger.create("people", "9", relation="add-remove")
        table: Any = people
        if from_file:
            table = folder / "people.csv"
            csv.write_csv(people, table)
            for version in ("warm", "counted"):
                account.admit(dt.read(table, null=version), version=version)  # read in ways of their own

        def ask(version: str) -> dt.results.Release:
            return account.release(table, version=version, count="ill = 'yes'", epsilon="1/2")

        ask("warm")
        statements.watch(ledger)
        made = calls.of(lambda: ask("counted"))
        assert not made.record["repeated"]
    return calls, statements


def main() -> None:
    steps, lines = "--steps" in sys.argv[1:], []
    for name, from_file in (("an admitted file", True), ("a table in memory", False)):
        with tempfile.TemporaryDirectory() as folder:
            calls, statements = measured(Path(folder), from_file)
        print(
            f"one number of {name}: {sum(calls.modules.values())} calls in {len(calls.modules)} modules, "
            f"{statements.transactions} transactions, {len(statements.texts)} SQL statements"
        )
        ours = (
            f"{sum(calls.modules.values()):,} calls in {len(calls.modules)} modules, {len(statements.texts)} statements"
        )
        lines.append(_page.Line(f"release of one number of {name}", ours))
        if steps:
            for module, times in calls.modules.items():
                print(f"  {times:5}  {module}")
            for text in statements.texts:
                print(f"         {' '.join(text.split())[:110]}")
    _page.keep(__file__, lines)


if __name__ == "__main__":
    main()
