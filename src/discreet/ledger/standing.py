"""The last charge of this process, for whoever stops it: the ledger itself says what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .chain import STATED, Answer, Pending, facts_of
from .entries import ENTRIES
from .repeated import answer_of
from .stores import Store


@dataclass(frozen=True)
class Charged:
    """A charge that was written, or about to be, and how to open its ledger anew: the one that wrote it may be closed by now."""

    pending: Pending
    make: Callable[[], Store]

    def stands(self) -> str:
        """What became of it, in words."""
        line = f"Charge {self.pending.charge} of {self.pending.name!r} stands"
        try:
            facts, answer = self._found()
        except Exception:  # the ledger cannot be asked now
            return f"Whether {self.pending.name!r} was charged cannot be seen now: look at its history before you ask again."
        if facts.get("kind") != "charge":
            return "Nothing was charged."
        if facts.get("basis") == STATED:
            return f"{line}."
        if answer is None:
            return f"{line}, and no answer to it was stored: nothing was shown, and asking again is charged again."
        return f"{line}, and its answer is stored: ask the same again to get it, free of charge."

    def _found(self) -> tuple[dict[str, Any], Answer | None]:
        """What its line says, if it is there, and its answer."""
        name, charge = self.pending.name, self.pending.charge
        store = self.make()
        try:
            with store.transaction() as run:
                lines = run(f"{ENTRIES} AND number = :charge", name=name, charge=charge)
                return facts_of(name, charge, lines[0][1]) if lines else {}, answer_of(run, name, charge)
        finally:
            store.close()


_last: list[Charged] = []


def charging(pending: Pending, make: Callable[[], Store]) -> Pending:
    """Remember a charge, just before it is committed."""
    _last[:] = [Charged(pending, make)]
    return pending


def last_charge() -> Charged | None:
    return _last[0] if _last else None


def forget() -> None:
    """Forget the last charge."""
    _last.clear()
