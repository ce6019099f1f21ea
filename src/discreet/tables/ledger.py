"""A ledger as people use it: it makes data sets and gives them again. What is written in it is the matter of the book beneath."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, final

from ..exact.aliases import Rational
from ..ledger.balances import Balances
from ..ledger.book import Book, Relation, name_of_place
from ..ledger.stores import PATIENCE
from .dataset import DataSet


@final
class Ledger:
    """The budgets in one file or one PostgreSQL database; safe to share by threads, to use after a fork, and to pickle.

    A file that is not there yet is made with the first data set; asking for one that nobody made makes no file. `secret` names
    the file of its secret: by default what the variable DISCREET_SECRET names, else the ledger's own name with .secret added, or
    for PostgreSQL a file in the folder discreet of the user's configuration. It is made with the first data set, and only charges
    need it. `patience` is how many seconds to wait for other processes.

    >>> ledger = Ledger("budget.db")
    >>> town = ledger.create("town", budget="1", relation="add-remove")
    >>> print(ledger["town"].charge(epsilon="1/4", what="a table of the year before").left)
    3/4
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        *,
        secret: str | os.PathLike[str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.place = name_of_place(place)
        self._secret, self._patience = secret, patience
        self._address = self.place if "://" in self.place else os.path.abspath(self.place)
        self._book = self._opened() if self._is_there() else None

    def _is_there(self) -> bool:
        return "://" in self.place or Path(self._address).is_file()

    def _opened(self) -> Book:
        return Book(self.place, secret=self._secret, patience=self._patience)

    @property
    def book(self) -> Book:
        """The book of this ledger, which knows its lines and no table; one that is not there is refused."""
        if self._book is None:
            self._book = self._opened() if self._is_there() else Book.existing(self.place)
        return self._book

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._address, self._secret, self._patience)

    def __repr__(self) -> str:
        return f"Ledger({self.place!r})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads; whatever was written is on disk already."""
        if self._book is not None:
            self._book.close()

    @property
    def secret_file(self) -> Path:
        """Where its secret lies."""
        return self.book.secret_file

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
    ) -> DataSet:
        """Open the account of a data set. Its terms stay: another budget needs another name.

        The `budget` is the sum of all epsilons. With `rho` and `delta` in its place the terms are concentrated: rho adds up, many
        tables of Gaussian noise are cheaper, and the whole budget promises an epsilon with that delta. A `budget` with a `delta` is
        such terms too, with the largest rho that promises no more than that epsilon.
        `per` caps what is spent in a month, a quarter or a year besides the whole: {"month": "1/2"}.
        `parts` names a column whose values divide people into parts that share nobody, such as the month of a birth: then each
        part has the whole budget, and a charge for one leaves the others as they were. Nobody may ever change it: under change-one
        privacy it is a public column.
        """
        if self._book is None:
            self._book = self._opened()
        self._book.create(
            name, budget, rho=rho, delta=delta, relation=relation, public=public, unit=unit, per=per, parts=parts
        )
        return DataSet(self, name)

    def __getitem__(self, name: str) -> DataSet:
        """A data set that was made before."""
        self.book.terms(name)
        return DataSet(self, name)

    def __iter__(self) -> Iterator[str]:
        """The names of all data sets."""
        return iter(self.book.datasets())

    def __len__(self) -> int:
        return len(self.book.datasets())

    def balances(self) -> Balances:
        """What was agreed, spent and left for all data sets."""
        return self.book.balances()


def _again(place: str, secret: str | os.PathLike[str] | None, patience: float) -> Ledger:
    return Ledger(place, secret=secret, patience=patience)


@contextmanager
def opened_book(ledger: Ledger | str | os.PathLike[str]) -> Iterator[Book]:
    """The book of an open ledger, or of an existing one that is opened for as long as the block lasts."""
    if isinstance(ledger, Ledger):
        yield ledger.book
    else:
        with Book.existing(ledger) as book:
            yield book
