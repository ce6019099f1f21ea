"""A data set's row in its database, with both ends of its history: read in one statement, and refused where it was changed."""

from __future__ import annotations

from dataclasses import replace

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.written import did_you_mean
from .chain import Account, digest, link_of
from .periods import begun_and_removed
from .stores import Rows, Run

# A data set's row with the proof of the secret, its first line, and its last: number, body and hash, number 0 where it is missing.
ACCOUNT = (
    "SELECT d.name, d.budget, d.spent, d.salt, d.count, d.head, d.running, (SELECT proof FROM discreet_ledger), "
    "COALESCE(f.number, 0), COALESCE(f.body, ''), COALESCE(f.hash, ''), "
    "COALESCE(e.number, 0), COALESCE(e.body, ''), COALESCE(e.hash, '') FROM discreet_data_set d "
    "LEFT JOIN discreet_entry f ON f.name = d.name AND f.number = 1 "
    "LEFT JOIN discreet_entry e ON e.name = d.name AND e.number >= d.count WHERE d.name = :name ORDER BY e.number"
)


def account_row(run: Run, name: str, place: str, for_update: str, *, removed: bool) -> Account:
    """A data set's row, locked where a statement says how; that of one that was removed only for whoever asks for it."""
    rows: Rows = []
    if arithmetic.encodable(name):
        if for_update:  # first the lock: a statement that waits for it would see the lines as they were before
            run(f"SELECT name FROM discreet_data_set WHERE name = :name{for_update}", name=name)
        rows = run(ACCOUNT, name=name)
    if not rows:
        guess = did_you_mean(name, names_of(run)) if isinstance(name, str) else ""
        more = guess or " Make it with create, or list the data sets with show."
        raise LedgerError(f"There is no data set {name!r} in {place}.{more}")
    account = account_of(rows)
    if not (account.salt and digest(account, "", "") and link_of(account.head, "")) or type(account.count) is not int:
        raise LedgerError(f"The row of {name!r} cannot be read: the ledger was changed. Bring back a good copy.")
    if account.removed and not removed:
        raise LedgerError(
            f"The data set {name!r} in {place} was removed, as its history says. Make it anew with create, or list the "
            "data sets with show."
        )
    return account


def account_of(rows: Rows) -> Account:
    """What `ACCOUNT` gave, a row for each line at the end."""
    first, end = (rows[0][8:11],), tuple(row[11:] for row in rows)
    return replace(Account(*rows[0][:8]), first=first if first[0][0] else (), end=end if end[0][0] else ())


def names_of(run: Run) -> list[str]:
    """The names of all data sets that were not removed."""
    rows = run("SELECT name, running FROM discreet_data_set")
    return sorted(name for name, running in rows if not begun_and_removed(running)[1])
