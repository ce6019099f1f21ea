"""What a ledger says about a data set before any charge: read in one transaction, without writing anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from ..exact import arithmetic
from .chain import Account, Admission, Answer, Terms, Totals, admission_of, question_text
from .repeated import stored_answers
from .secret import Secret, keyed
from .stores import Run


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
    rows = run(
        "SELECT a.number, e.body, a.salt, a.text FROM discreet_admission a "
        "JOIN discreet_entry e ON e.name = a.name AND e.number = a.number WHERE a.name = :name AND a.version = :version",
        name=name,
        version=version,
    )
    return admission_of(name, *rows[0]) if rows else None
