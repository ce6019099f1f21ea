"""What a ledger says when nothing is to be written: of a data set, before it is asked for anything (`Consulted`, in one
transaction), and of the last charge of this process, for whoever stops it (`Charged`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

from ..exact import arithmetic
from .chain import STATED, Account, Admission, Answer, Pending, Terms, Totals, admission_of, facts_of, question_text
from .entries import ENTRIES, answer_of, stored_answers
from .secret import Secret, keyed
from .stores import Run, Store

_ADMITTED = (
    "SELECT a.number, e.body, a.salt, a.text FROM discreet_admission a "
    "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name"
)


@final
@dataclass(frozen=True)
class Consulted:
    """The terms of a data set, its totals, and while the block of `Ledger.consult` lasts what was admitted and answered."""

    account: Account
    terms: Terms
    secret: Secret
    run: Run

    @property
    def totals(self) -> Totals:
        """What may be spent in all, and what was."""
        return self.account.totals

    def admission(self, version: str) -> Admission | None:
        """How a version was admitted; None when it was not."""
        return read_admission(self.run, self.account.name, version) if arithmetic.encodable(version) else None

    def admissions(self) -> list[Admission]:
        """How all versions were admitted, in the order of their lines."""
        return [
            admission_of(self.account.name, *row)
            for row in self.run(f"{_ADMITTED} ORDER BY a.number", name=self.account.name)
        ]

    def stored(self, question: Mapping[str, Any], admission: int) -> Answer | None:
        """The stored answer of a question about an admitted version; None when there is none."""
        for _, known, answer in stored_answers(self.run, self.account, question_text(question)):
            if known.get("admission") == admission:
                return answer()
        return None

    def is_admitted(self, admission: Admission, data: str) -> bool:
        """Is this the digest of the file that was admitted? A missing secret, or another one, is refused. It needs no
        transaction, so that a large file may be read meanwhile."""
        key = self.secret.proved(self.account.proof)
        return keyed(key, "admitted", self.account.salt, data) == admission.fingerprint


def read_admission(run: Run, name: str, version: str) -> Admission | None:
    """How a version of a data set was admitted; None when it was not."""
    rows = run(f"{_ADMITTED} AND a.version = :version", name=name, version=version)
    return admission_of(name, *rows[0]) if rows else None


@dataclass(frozen=True)
class Charged:
    """A charge that was written, or about to be, and how to open its ledger anew: the one that wrote it may be closed by now."""

    pending: Pending
    make: Callable[[], Store]

    def stands(self) -> str:
        """What became of it, in words: asked of the ledger itself."""
        line = f"Charge {self.pending.charge} of {self.pending.name!r} stands"
        try:
            facts, answer = self._line_and_answer()
        except Exception:  # the ledger cannot be asked now
            return f"Whether {self.pending.name!r} was charged cannot be seen now: look at its history before you ask again."
        if facts.get("kind") != "charge":
            return "Nothing was charged."
        if facts.get("basis") == STATED:
            return f"{line}."
        if answer is None:
            return f"{line}, and no answer to it was stored: nothing was shown, and asking again is charged again."
        return f"{line}, and its answer is stored: ask the same again to get it, free of charge."

    def _line_and_answer(self) -> tuple[dict[str, Any], Answer | None]:
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
