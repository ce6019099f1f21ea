"""The privacy budget of named data sets, kept so that a crash can waste some of it but never lend any.

A question is charged first, then drawn, and its answer is stored before anyone sees it. So whatever was shown is paid
for, whenever the process dies. A charge without an answer stays: nobody can know what was seen of it. The same question
about the same data gets the stored answer, free of charge, because a second draw would tell more than was paid for.

Entries are only ever added. Each carries SHA-256(hash of the one before || its own canonical JSON), so that a line that
was changed, dropped or put in between is found by `verify`. A chain alone cannot show that its end was cut off or that
all of it was written anew: for that, keep a `Head` elsewhere and give it to `verify`. Questions and answers stand in the
chain as salted digests, and the fingerprint of the data under a secret that lies outside the ledger (secret.py), so that
the chain can be shown to others without telling what was asked, answered or counted.

Charges add up: the sum of the epsilons bounds the privacy loss of all answers together (basic composition; Dwork,
McSherry, Nissim and Smith 2006; proved in Coq for questions that follow from earlier answers: proofs/Ledger.v, ledger_private
and ledger_guards), as exact rationals: ten times 0.1 is 1. Under concentrated terms rho is what adds up (prices.py).
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, final
from weakref import WeakSet

from ..errors import LedgerError
from ..exact import arithmetic
from ..exact.aliases import Rational
from ..formats import VERSION
from .balances import Balance, Balances, balance_of
from .chain import (
    START,
    STATED,
    Admission,
    Answer,
    DataSetRows,
    Head,
    Pending,
    Relation,
    canonical,
    digest,
    question_text,
    salted,
)
from .entries import (
    Consulted,
    Row,
    answer_of,
    append,
    check_part,
    insert,
    names_of,
    row_of,
    rows_of,
    state_of,
    store_answer,
    stored_answers,
    words_given,
)
from .entries import charge as charge_line
from .history import Entry, entries_of, exported
from .postgres import Postgres
from .promise import Promise, promise_of
from .secret import Secret
from .sqlite import Sqlite, near_ledger
from .state import State, audit, spent_by_line
from .stores import ADMITTING, CHARGING, CREATING, PATIENCE, Run, Store, storing
from .terms import Price, Terms, terms_given

if TYPE_CHECKING:
    from .spending import Paid

__all__ = ["Admission", "Answer", "Balance", "Book", "Entry", "Head", "Pending", "Relation", "Terms"]


@final
class Book:
    """The budgets in one file or one PostgreSQL database; safe to share by threads, and to use after a fork.

    A file that is not there yet becomes an empty ledger. `secret` names the file of its secret: by default what the
    variable DISCREET_SECRET names, else the ledger's own name with .secret added, or for PostgreSQL a file in the
    folder discreet of the user's configuration. It is made with the first data set, and only charges need it.
    `patience` is how many seconds to wait for other processes.

    >>> ledger = Book("budget.db")
    >>> terms = ledger.create("town", budget="1", relation="add-remove")
    >>> print(ledger.charge("town", epsilon="1/4", what="a table of the year before").left)
    3/4
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        secret: str | os.PathLike[str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._make = opener(place, patience)
        self._mine = threading.local()
        self._stores: WeakSet[Store] = WeakSet()
        self._closed = False
        store = self._store()
        self.place = store.place
        self._secret = Secret(secret, store.default_secret, self.place)
        with store.transaction():
            pass  # what is no ledger is refused here, not at the first charge

    @classmethod
    def existing(cls, place: str | os.PathLike[str], *, secret: str | os.PathLike[str] | None = None) -> Book:
        """Open an existing ledger: a mistyped name must not look like an untouched budget."""
        name = name_of_place(place)
        if "://" not in name and not Path(name).is_file():
            raise LedgerError(
                f"There is no ledger {name}; check the path.{near_ledger(Path(name))} A new ledger is made with: "
                f"discreet ledger create NAME --ledger {name} ..."
            )
        return cls(place, secret=secret)

    def __repr__(self) -> str:
        return f"Book({self.place!r})"

    @property
    def secret_file(self) -> Path:
        """Where its secret lies, or will when the first data set is made."""
        return self._secret.path

    def __enter__(self) -> Book:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads; whatever was written is on disk already."""
        self._closed = True
        for store in list(self._stores):
            store.close()

    def create(
        self,
        name: str,
        budget: Rational | None = None,
        *,
        rho: Rational | None = None,
        delta: Rational | None = None,
        relation: Relation = "change-one",
        public: Sequence[str] = (),
        unit: str | None = None,
        per: Mapping[str, Any] | Sequence[tuple[str, Any]] = (),
        parts: str | None = None,
    ) -> Terms:
        """Open the account of a data set. Its terms stay: another budget needs another name.

        The `budget` is the sum of all epsilons. With `rho` and `delta` in its place the terms are concentrated: rho adds up, many
        tables of Gaussian noise are cheaper, and the whole budget promises an epsilon with that delta. A `budget` with a `delta` is
        such terms too, with the largest rho that promises no more than that epsilon.
        `per` caps what is spent in a month, a quarter or a year besides the whole: {"month": "1/2"}.
        `parts` names a column whose values divide people into parts that share nobody, such as the month of a birth: then each
        part has the whole budget, and a charge for one leaves the others as they were. Nobody may ever change it: under change-one
        privacy it is a public column.
        """
        facts = terms_given(name, budget, relation, public, unit, per, parts, rho, delta)
        salt = secrets.token_hex(16)
        facts |= {"kind": "create", "version": VERSION, "salt": salted(salt, "")}
        store = self._store()
        with store.transaction(CREATING, write=True) as run:
            store.inspect()  # a damaged index may hide a data set of this name
            self._secret.key(run, store.for_update)
            made = run(
                "INSERT INTO discreet_history (name, salt, count, head) VALUES (:name, :salt, 0, :head) "
                "ON CONFLICT (name) DO NOTHING RETURNING name",
                name=name,
                salt=salt,
                head=START,
            )
            if made:
                return append(store, State(name, salt), facts).terms
            known = self._said(run, name).terms
            raise LedgerError(
                f"There is a data set {name!r} in {self.place} already: leave out create, and use it as it is. Its terms "
                f"stay: {known.words()}."
            )

    def note_admission(
        self,
        name: str,
        version: str,
        *,
        data: str,
        reading: Mapping[str, Any],
        columns: Sequence[str],
        codes: Sequence[str] = (),
        supersedes: str | None = None,
        parts_as: Mapping[str, Any] | None = None,
    ) -> Admission:
        """Record that a version was admitted: its file's digest (under the secret), how it is read, and which columns were named as
        codes when it was checked. Once.

        With `supersedes` it corrects an earlier version, and may have moved people from part to part: every charge after this line
        counts for every part, whatever it is of. `parts_as` says how the column of parts is read, which the first admission fixes.
        """
        if not (isinstance(version, str) and version and arithmetic.encodable(version)):
            raise LedgerError("A version of the data must be a text of your choice, such as 2026-11.")
        told = {"version": version, "reading": dict(reading), "columns": list(columns)}
        told |= ({"codes": list(codes)} if codes else {}) | ({} if supersedes is None else {"supersedes": supersedes})
        text = canonical(told)
        salt = secrets.token_hex(16)
        store = self._store()
        with store.transaction(ADMITTING, write=True) as run:
            said = self._changing(run, name)
            state, known = said.state, said.admission(version)
            if known is not None:
                same = (dict(known.reading), known.supersedes) == (dict(reading), supersedes)
                if same and said.is_admitted(known, data):
                    return known
                raise LedgerError(
                    f"Version {version!r} of {name!r} was admitted before (line {known.number}), from another file, read in "
                    "another way, or not as this correction. Nothing was changed: give these data a new version."
                )
            if supersedes is None:
                check_part(state, None, parts_as)
            elif said.admission(supersedes) is None:
                raise LedgerError(
                    f"No version {arithmetic.show(supersedes)} of {name!r} was admitted, so none can correct it. Nothing was "
                    "changed: name an earlier version with supersedes."
                )
            fingerprint = said.fingerprint("admitted", state.count + 1, data)
            facts: dict[str, Any] = {"kind": "admitted", "fingerprint": fingerprint, "commitment": salted(salt, text)}
            facts |= {} if supersedes is None else {"correction": True}
            facts |= {} if parts_as is None else {"parts_as": dict(parts_as)}
            after = append(store, state, facts)
            insert(run, "admission", name=name, number=after.count, version=version, salt=salt, text=text)
            known_by = dict(reading), tuple(columns), fingerprint, tuple(codes), supersedes
            return Admission(name, version, after.count, after.when, *known_by)

    def admission(self, name: str, version: str) -> Admission | None:
        """How a version of a data set was admitted; None when it was not."""
        with self.consult(name) as said:
            return said.admission(version)

    def admissions(self, name: str) -> list[Admission]:
        """How the versions of a data set were admitted, the last one at the end."""
        with self.consult(name) as said:
            return said.admissions()

    def begin(
        self,
        name: str,
        question: Mapping[str, Any],
        *,
        epsilon: Fraction | None = None,
        rho: Fraction | None = None,
        data: str,
        fresh: bool = False,
        admission: int | None = None,
        what: str = "",
        part: str | None = None,
        parts_as: Mapping[str, Any] | None = None,
    ) -> Answer | Pending:
        """The stored answer of a question, or a charge for it that is on disk when this returns.

        `admission` is the line that admitted the data: an answer about the same admission is given without comparing data.
        `what` says in words what is asked: it is kept beside the chain, for `history`.
        `part` is the one that is charged, where the question was asked of its rows alone; else all of them are. Of data that were
        not admitted `parts_as` says how they read the column of parts.

        A question asked before about other data (another fingerprint) is refused, unless `fresh` is true: an answer that
        changes under the same question is usually a mistake. A stored answer about the same data is never drawn anew, fresh
        or not. Processes that ask the same new question at once are each charged.
        """
        price = Price.of(epsilon, rho)
        if not (data and arithmetic.encodable(data)):
            raise LedgerError(
                "The fingerprint of the data must be a text. Give the one that was computed from the data."
            )
        if not arithmetic.encodable(what):
            raise LedgerError("what must be a text of valid characters, without NUL. Nothing was charged.")
        asked = question_text(question)
        store = self._store()
        with store.transaction(CHARGING, write=True) as run:
            said, others = self._changing(run, name), False
            state, fingerprint = said.state, partial(said.fingerprint, "data", data=data)
            for line, known, answer in stored_answers(run, state, asked):
                same = admission is not None and known.get("admission") == admission
                if same or known.get("fingerprint") == fingerprint(line):
                    return answer()
                others = True
            if others and not fresh:
                raise LedgerError(
                    f"This question about {name!r} was answered from other data than these (or from the same data in "
                    "another kind of table). Nothing was charged: "
                    "give the question a new version, or ask with fresh to pay for an answer from these data."
                )
            facts: dict[str, Any] = {"question": digest(state.salt, "question", asked)}
            facts |= {"fingerprint": fingerprint(state.count + 1)}
            facts |= {} if admission is None else {"admission": admission}
            facts |= {} if part is None or parts_as is None else {"parts_as": dict(parts_as)}
            return Pending(name, charge_line(store, state, price, facts, what, part))

    def charge(
        self,
        dataset: str,
        *,
        epsilon: object = None,
        alpha: object = None,
        rho: object = None,
        what: str,
        part: str | None = None,
    ) -> Balance:
        """Record what was spent on a data set, or a part, where the library cannot see it; the line says "stated, unverified"."""
        price = Price.read(alpha=alpha, epsilon=epsilon, rho=rho)
        self.note_charge(dataset, price, what, basis=STATED, part=part)
        return self.balance(dataset, part)

    def spend(
        self,
        dataset: str,
        *,
        epsilon: object = None,
        alpha: object = None,
        rho: object = None,
        what: str,
        part: str | None = None,
    ) -> Paid:
        """A charge for one report of any mechanism: `with ledger.spend("town", epsilon="1/2", what="...") as paid:
        report = paid.sample(m, value)`. The charge is written and synced when the block is entered, and stays.

        With `part` that part is charged alone: the value must be computed from its rows, which nobody can check here."""
        from .spending import Paid  # which needs mechanisms: other charges do not wait for them

        price = Price.read(alpha=alpha, epsilon=epsilon, rho=rho)
        return Paid(self, dataset, price, words_given(what), part)

    def note_charge(self, name: str, price: Price, what: str, *, basis: str, part: str | None = None) -> Pending:
        """Write a charge for something else than a question: drawn by a mechanism, or stated by whoever drew it elsewhere."""
        words = words_given(what)
        store = self._store()
        with store.transaction(CHARGING, write=True) as run:
            said = self._changing(run, name)
            self._secret.proved(said.proof)  # which every charge needs
            return Pending(name, charge_line(store, said.state, price, {"basis": basis, "question": ""}, words, part))

    @contextmanager
    def consult(self, name: str) -> Iterator[Consulted]:
        """What the ledger says of a data set, all of it read in one transaction, which lasts as long as the block."""
        with self._store().transaction() as run:
            yield self._said(run, name)

    def charges_of(self, name: str, question: Mapping[str, Any]) -> list[int]:
        """The lines that charged for a question and were answered."""
        with self.consult(name) as said:
            return [charge for charge, *_ in stored_answers(said.run, said.state, question_text(question))]

    def finish(self, pending: Pending, answer: str) -> Answer:
        """Store the answer of a charge, and its salted commitment; both are on disk when this returns, so show it then.

        A charge has one answer: a second one is refused, so that nobody draws until a draw pleases. Where storing fails (a full
        disk, a lost connection), show nothing: the charge stands without an answer, and asking again is charged again.
        """
        if not isinstance(pending, Pending):
            raise LedgerError("Finish with the Pending that begin gave; a stored answer is finished already.")
        if not arithmetic.encodable(answer):
            raise LedgerError("An answer must be a text of valid characters, without NUL. Nothing was stored.")
        store = self._store()
        with store.transaction(storing(pending.name, pending.charge), write=True) as run:
            return store_answer(store, self._changing(run, pending.name).state, pending.charge, answer)

    def answer(self, name: str, charge: int) -> Answer | None:
        """The stored answer of a charge, as it was committed to; None where there is none."""
        with self.consult(name) as said:
            return answer_of(said.run, name, charge) if type(charge) is int and 0 < charge < 2**63 else None

    def datasets(self) -> list[str]:
        """The names of all data sets."""
        with self._store().transaction() as run:
            return names_of(run)

    def terms(self, name: str) -> Terms:
        """What was agreed for a data set."""
        with self.consult(name) as said:
            return said.terms

    def balance(self, name: str, part: str | None = None) -> Balance:
        """What a data set has spent and has left, in all and in the periods of now. Where its terms declare parts, of one of them,
        or of the one that has spent most."""
        with self.consult(name) as said:
            return balance_of(said.state, part)

    def balances(self, name: str | None = None) -> Balances:
        """What was agreed, spent and left for a data set, or for all of them."""
        names = self.datasets() if name is None else [name]
        return Balances(tuple((self.terms(each), self.balance(each)) for each in names))

    def promise(self, name: str) -> Promise:
        """A page for whoever must answer for a data set: the whole budget in odds, what is spent, pacing, what is not promised."""
        return promise_of(self.terms(name), self.balance(name), self.history(name))

    def head(self, name: str) -> Head:
        """The end of the history now. Keep it where the ledger's owner cannot write, and give it to `verify` later."""
        with self._store().transaction() as run:
            return row_of(run, name, self.place).head

    def history(self, name: str) -> list[Entry]:
        """Every line of a data set with what was asked in words, oldest first, as it stands; `verify` says whether to
        believe it."""
        return entries_of(self._rows(name))

    def spent_by_line(self, name: str, part: str | None = None) -> list[Fraction]:
        """What counted as spent after each line: for a part, or else for the one that had spent most."""
        return spent_by_line(self._rows(name), part)

    def verify(self, name: str, head: Head | None = None) -> Head:
        """Check every line, and return the head; the first bad line is named in a LedgerError.

        Hashes, salted commitments, one answer at most for each charge, and no charge beyond the budget or a cap. With a `head`
        that was kept elsewhere also that all lines up to it are still there, and are the same.
        """
        state = audit(self._rows(name), head)
        return Head(state.count, state.head)

    def export(self, name: str, *, words: bool = False, published: Collection[int] = ()) -> dict[str, Any]:
        """The history for others to check, without answers, questions and salts; its hashes can be computed anew.

        With `words`, what each line was about as well, with the salt that opens its digest. `published` are charges whose answers
        were published as they are stored: their lines get the salt that opens the commitment to the answer, for whoever has it.
        """
        return exported(self._rows(name), words, published)

    def _store(self) -> Store:
        if self._closed:
            raise LedgerError("This ledger is closed. Open it again with Ledger(...).")
        store: Store | None = getattr(self._mine, "store", None)
        if store is None:
            store = self._mine.store = self._make()
            self._stores.add(store)
        return store

    def _changing(self, run: Run, name: str) -> Consulted:
        """What the ledger says of a data set, which is locked until the transaction ends.

        A file is only as good as the last journal beside it was (sqlite.py): before a connection changes a data set for the
        first time, the whole file is checked, and all rows of the data set.
        """
        store = self._store()
        # before the row is looked for, which a damaged index hides
        audited = name not in store.inspected and store.inspect()
        row = row_of(run, name, self.place, store.for_update)
        if audited:
            store.states[name] = audit(rows_of(run, row), None)
        store.inspected.add(name)
        return self._followed(run, row)

    def _said(self, run: Run, name: str) -> Consulted:
        return self._followed(run, row_of(run, name, self.place))

    def _followed(self, run: Run, row: Row) -> Consulted:
        """What the lines of a data set say; what this connection knows of them is followed from there on."""
        states = self._store().states
        states[row.name] = state_of(run, row, states.get(row.name))
        return Consulted(states[row.name], self._secret, row.proof, run)

    def _rows(self, name: str) -> DataSetRows:
        with self._store().transaction() as run:
            return rows_of(run, row_of(run, name, self.place))


def opener(place: str | os.PathLike[str], patience: float) -> Callable[[], Store]:
    """How to make a store for a thread, from a file's name or the address of a PostgreSQL database."""
    text = name_of_place(place)
    if text.startswith(("postgresql://", "postgres://")):
        return lambda: Postgres(text, patience)
    if "://" in text:
        raise LedgerError("A ledger's address starts with postgresql://. Write it so, or give a file's name.")
    real = os.path.realpath(text)  # once: a later thread may find another folder, or another end of a symbolic link
    first = iter([True])  # one that is gone later is missing, and no new one: that would be an untouched budget
    return lambda: Sqlite(text, real, patience, make=next(first, False))


def name_of_place(place: Any) -> str:
    """The file's name or the address, as somebody gave it."""
    text = os.fspath(place) if isinstance(place, (str, os.PathLike)) else ""
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:" or Path(text).is_dir():
        raise LedgerError("A ledger lives in a file on disk, or in PostgreSQL. Give a file's name or an address.")
    return text
