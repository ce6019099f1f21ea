"""What leaves a ledger for others: the lines of a data set with their hashes, so that anybody can follow the chain (verify.py).

The hash of a line covers all of it, so nothing in a line can be left out. Nothing in it is a secret: terms, amounts and times are
for everybody; questions, words and answers are there as digests under random salts that stay here; fingerprints of data are keyed
by the ledger's secret and by their line (secret.py), so that not even two of them can be compared. Salts, words and stored answers
lie beside the lines, and leave only where somebody asks for them: the words of all lines, and the salt of a published answer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..errors import LedgerError
from ..formats import VERSION
from .chain import Account, Head, entries_of
from .stores import Rows


def exported(
    account: Account,
    entries: Rows,
    answers: Rows,
    admissions: Rows,
    words: Rows,
    with_words: bool,
    published: Collection[int],
) -> dict[str, Any]:
    """A history for others: lines with their hashes; words, and the salts of published answers, where they are asked for."""
    name, stored = account.name, {charge: (number, salt) for charge, number, _, salt, _ in answers}
    lines = [entry.to_dict() for entry in entries_of(name, entries, admissions, words)]
    for number, salt, text in words if with_words else ():
        lines[number - 1] |= {"what": text, "salt": salt}
    for charge in published:
        if charge not in stored:
            raise LedgerError(f"Line {charge} of {name!r} is no charge with a stored answer. Nothing was exported.")
        number, salt = stored[charge]
        lines[number - 1] |= {"salt": salt}
    head = Head(account.count, account.head).to_dict()
    return {"format": "discreet-ledger", "version": VERSION, "name": name, "head": head, "entries": lines}
