"""One report of any mechanism, paid for before it is drawn and stored before it is shown.

A charge covers a mechanism when the worst ratio of its channel, between all true values that one person can turn into one
another, is at most e^epsilon; or for a rho, when its noise keeps that. Both are decided exactly, on the channel itself. One
person changes a count by 1, whether a bit or a person's presence is private, and a mechanism whose neighbours are further apart was
made for more: the larger of the two counts, unless `change` says how far one person moves this value.
"""

from __future__ import annotations

import math
import os
import threading
from fractions import Fraction
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from ..errors import DiscreetError, FileError, LedgerError
from ..exact import arithmetic, given
from ..exact.concentrated import keeps, of_power
from ..exact.level import Epsilon
from ..exact.neighbours import Neighbours
from ..exact.rho import pure_rho
from ..formats import VERSION
from ..mechanism import Mechanism, mechanism_of
from .chain import SPENT, Pending, canonical
from .terms import Price

if TYPE_CHECKING:
    from .book import Book

FORMAT = "discreet-draw"


@final
class Paid:
    """A charge for one report, made by `spend` of a data set and used in a `with` block."""

    def __init__(self, ledger: Book, dataset: str, price: Price, what: str, part: str | None = None) -> None:
        self.dataset, self.price, self.what, self.part = dataset, price, what, part
        self._ledger, self._lock = ledger, threading.Lock()
        self._pending: Pending | None = None
        self._process, self._drawn, self._over = os.getpid(), False, False

    def __repr__(self) -> str:
        line = "not charged yet" if self._pending is None else f"line {self._pending.charge}"
        return f"<Paid {self.dataset!r}, {self.price}, {line}>"

    def __reduce__(self) -> NoReturn:
        raise LedgerError("A charge is for one report, so it cannot be copied or pickled; make another with spend.")

    @property
    def line(self) -> int | None:
        """The line of the charge, once it is written."""
        return None if self._pending is None else self._pending.charge

    def __enter__(self) -> Paid:
        with self._lock:
            if self._pending is not None:
                raise LedgerError(
                    f"{self._stands} and is for one block alone. Call spend again, which is charged again."
                )
            self._process = os.getpid()  # the one that may draw
            self._pending = self._ledger.note_charge(self.dataset, self.price, self.what, basis=SPENT, part=self.part)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over = True  # the charge stands, drawn or not, however the block ended

    def sample(self, mechanism: Any, value: Any, *, clamp: bool = False, change: object = None) -> Any:
        """The report for one true value, once: drawn after the charge is on disk, stored before it is returned.

        What is refused (a mechanism that the charge does not cover, a value outside its inputs) draws nothing, and the
        charge can still be used. Where storing failed, nothing is shown, and the charge stands without a report.
        `change` is how far one person moves the value at most, where that is not 1.
        """
        if self._process != os.getpid():  # asked without the lock, which a thread may have held at the fork
            raise LedgerError(
                f"{self._stands}, for the process that made it and not for its children. Call spend in each."
            )
        with self._lock:
            pending = self._usable()
            m = _checked(mechanism, value)
            covers(self.price, m, change)
            law = _digest(m)  # everything that may fail comes first
            self._drawn = True  # whatever happens from here on, there is no second draw
            try:
                report = m.sample(value, clamp=clamp)
            except DiscreetError:  # refused before anything was drawn
                self._drawn = False
                raise
            self._ledger.finish(pending, _text(law, m, report))
            return report

    @property
    def _stands(self) -> str:
        return f"Charge {self.line} of {self.dataset!r} stands"

    def _usable(self) -> Pending:
        if self._pending is None:
            raise LedgerError(
                "Nothing is charged yet: write `with ledger.spend(...) as paid:` and sample inside of it."
            )
        if self._drawn:
            raise LedgerError(f"{self._stands}, and its report was drawn. Call spend again, which is charged again.")
        if self._over:
            raise LedgerError(f"{self._stands}, but its block is over. Call spend again, which is charged again.")
        return self._pending


def covers(price: Price, m: Mechanism, change: object = None) -> None:
    """Refuse a mechanism that reveals more about one person than the price pays for; compared exactly.

    Rounding to a grid turns values d apart into positions at most ceil(d / step) apart.
    """
    grid = m.inputs
    if not grid.is_ordered:
        if change is not None:
            raise LedgerError("One person changes a name to any other; leave out change=. Nothing was drawn.")
        _paid_for(price, m, Neighbours.any(), None, "from any answer to any other")
        return
    far = Fraction(1) if change is None else given.positive(change, "change", error=LedgerError)
    if change is None:
        span = m.neighbours.reduced(grid).span(
            grid
        )  # pairs that are all those so many steps apart are as good as steps
        if span is None:
            raise LedgerError(
                f"The mechanism was made for {m.neighbours}, and one person changes a count by 1; give one whose "
                "neighbours are steps, or say with change= how far one person moves the value. "
                "Nothing was drawn."
            )
        far = max(far, span * grid.step)
    steps = max(1, math.ceil(far / grid.step))
    told = m.channel.concentration(steps) if price.measure == "rho" else None
    if told is not None and keeps(*told, price.amount):
        return
    _paid_for(price, m, Neighbours.steps(steps), told, f"by up to {far}")


def _paid_for(price: Price, m: Mechanism, near: Neighbours, told: tuple[Fraction, int] | None, far: str) -> None:
    """Refuse a mechanism that reveals more between these neighbours than was paid for."""
    for ratio, _ in m.ratios(near):
        epsilon = arithmetic.minus_log_above(ratio.alpha, ratio.power)  # infinite where some report rules a value out
        if price.measure == "rho":
            covered = math.isfinite(epsilon) and (not epsilon or pure_rho(Fraction(epsilon)) <= price.amount)
        else:
            covered = Epsilon(price.amount).admits(ratio.alpha, ratio.power)
        if not covered:
            most = f"an epsilon of {arithmetic.show_above(epsilon)}"
            most = most if told is None else f"a rho of {arithmetic.show_decimal(of_power(*told))}"
            raise LedgerError(
                f"The mechanism reveals as much about one person, who moves the value {far}, as {most}; {price} was "
                f"charged. Nothing was drawn: use a mechanism of a smaller {price.measure} (or, if one person moves the value by "
                "less, say so with change=)."
            )


def _checked(m: Any, value: Any) -> Mechanism:
    if isinstance(value, (list, tuple)) or np.ndim(value) > 0:  # a list may be ragged
        raise LedgerError(
            "A charge is for one report of one true value: one person may change several values. Use release "
            "for tables, or spend for each. Nothing was drawn."
        )
    return mechanism_of(m, LedgerError)


def _digest(m: Mechanism) -> str | None:
    try:
        return m.digest
    except FileError:  # too long a sequence to be written down
        return None


def _text(law: str | None, m: Mechanism, report: Any) -> str:
    return canonical({"format": FORMAT, "version": VERSION, "mechanism": repr(m), "digest": law, "report": str(report)})
