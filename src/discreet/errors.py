"""What can go wrong, as one tree.

    ValueError
    └── DiscreetError            every error that discreet raises on purpose
        ├── LevelError           an alpha or epsilon that is no privacy level
        ├── GridError            a grid, or a sensitivity on it, that makes no sense
        ├── OutOfRangeError      a true value outside the mechanism's inputs
        ├── SourceError          randomness that failed, or was asked for in a way that would undo the noise
        ├── TableError           integer weights that do not form a table
        ├── PrivacyError         a claimed level that does not hold; carries the witness
        ├── SealError            a matrix of probabilities that cannot become integers
        ├── RemapError           a post-processing that does not fit the mechanism
        ├── SizeError            something too large to write out as a matrix
        ├── SingularError        a channel that cannot be inverted
        ├── StructureError       a question about the seven properties that has no meaning here
        ├── LossError            a loss or gain that cannot be read
        ├── PriorError           a prior that cannot be read, or is no distribution on the true values
        ├── DesignError          a design problem that cannot be read, or that the solver could not finish
        ├── RecoveryError        reports, or options, from which no distribution of the true values can be recovered
        ├── MetricError          a distance between true values, or between distributions, that cannot be read
        ├── AuditError           an audit that cannot be made as asked
        ├── LedgerError          a ledger of budgets that cannot be read, written or believed
        │   └── BudgetError      a charge beyond what is left of the budget or of a cap; carries asked and left
        ├── ReleaseError         a release that its declarations, or the terms of its data set, do not allow
        ├── FileError            a mechanism file that was refused; its kind says why
        ├── PredicateError       a predicate that is more than a condition on one row, or does not fit its table
        ├── TableInputError      a table, a file or declared groups that cannot be counted as asked
        └── MissingExtraError    an optional package that is not installed

A PrivacyWarning is no error: what was asked for is done, and tells more than it seems to.

Messages say what was wrong, where, and what to do next. A value that may be private stands neither in a message
nor in an attribute, which trackers of errors collect: an error says at which position it was.

>>> import discreet as dt
>>> try:
...     dt.geometric(8, alpha="1/2").sample(9)
... except dt.errors.OutOfRangeError as error:
...     print(error.position, error.low, error.high)
0 0 8
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any


class DiscreetError(ValueError):
    """The root of every error that discreet raises on purpose; keyword details become attributes."""

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        for name, value in details.items():
            setattr(self, name, value)


class LevelError(DiscreetError):
    """An alpha or epsilon that is no privacy level. `value` is what was given."""


class GridError(DiscreetError):
    """A grid, or a sensitivity on it, that makes no sense."""


class OutOfRangeError(DiscreetError):
    """A true value outside the inputs' grid: its `position`, and the grid's `low` and `high`. It does not hold the value."""


class SourceError(DiscreetError):
    """Randomness that failed, or was asked for in a way that would undo the noise. Nothing was drawn."""


class TableError(DiscreetError):
    """Integer weights that do not form a table."""


class PrivacyError(DiscreetError):
    """A claimed level that does not hold. `witness` shows where."""


class SealError(DiscreetError):
    """A matrix of probabilities that cannot become integers. `row` and `column` where one entry is to blame."""


class RemapError(DiscreetError):
    """A post-processing that does not fit the mechanism's reports."""


class SizeError(DiscreetError):
    """Something too large to write out as a matrix."""


class SingularError(DiscreetError):
    """A channel that cannot be inverted."""


class StructureError(DiscreetError):
    """A question about the seven properties that has no meaning for this mechanism."""


class LossError(DiscreetError):
    """A loss or gain that cannot be read."""


class PriorError(DiscreetError):
    """A prior that cannot be read, or is no distribution on the true values."""


class DesignError(DiscreetError):
    """A design problem that cannot be read, or that the solver could not finish. Nothing is returned."""


class RecoveryError(DiscreetError):
    """Reports, or options, from which no distribution of the true values can be recovered. `position` where one is to blame."""


class MetricError(DiscreetError):
    """A distance between true values, or between distributions, that cannot be read."""


class AuditError(DiscreetError):
    """An audit that cannot be made as asked."""


class LedgerError(DiscreetError):
    """A ledger of budgets that cannot be read, written or believed. Nothing was half-written."""


class BudgetError(LedgerError):
    """A charge beyond what is left of the budget: nothing was charged. `asked` and `left` are exact.

    Of a cap, `left` is of its `period`, such as 2026-11, and `begins` is the first day of the next one.
    """

    asked: Fraction
    left: Fraction
    period: str | None = None
    begins: str | None = None


class ReleaseError(DiscreetError):
    """A release that its declarations, or the terms of its data set, do not allow. Nothing was charged."""


class FileError(DiscreetError):
    """A mechanism file that was refused, nothing loaded. `kind` is one of `discreet.verify.KINDS`."""

    kind: str


class PredicateError(DiscreetError):
    """A predicate that is more than a condition on one row, or does not fit its table. No data were read."""


class TableInputError(DiscreetError):
    """A table, a file or declared groups that cannot be counted as asked. Nothing was released.

    `remedies` are ways of reading that would mend it: options of `profile`, and what to say.
    """

    remedies: tuple[tuple[str, str], ...] = ()


class PrivacyWarning(UserWarning):
    """What was asked for is done, and tells more than it seems to."""


FROM_SEED = "Drawn from a seed: not private."  # such a warning, and what every view of such a result says


class MissingExtraError(DiscreetError):
    """An optional package that is not installed; the message says how to install it."""

    @classmethod
    def needing(cls, what: str, extra: str) -> MissingExtraError:
        """`what` says in words what needs a package of the extra; until discreet is published, a checkout installs it."""
        return cls(f'{what}; in a checkout of discreet, run pip install ".[{extra}]".')


def __dir__() -> list[str]:
    """The tree alone."""
    return [name for name, kind in globals().items() if isinstance(kind, type) and issubclass(kind, Exception)]
