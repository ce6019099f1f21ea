"""The guard at which errors of other libraries end: what they say may quote a value, in whatever part of an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NoReturn, TypeVar

from ..errors import DiscreetError, TableInputError

T = TypeVar("T")

_INTERRUPTED = ("Query interrupted",)  # what DuckDB makes of Ctrl+C


class Guarded:
    """A block in which other libraries read data: an error of theirs becomes ours, and ours has no other one behind it.

    `raise ... from None` would only hide the other error: it still stands in the new one's context, with all that it holds.
    `foreign`: nothing of ours runs in it, so that an error of ours comes from somebody else's use of us, with their values.
    """

    def __init__(self, refusal: Callable[[], DiscreetError | KeyboardInterrupt], foreign: bool = False) -> None:
        self.refusal, self.foreign = refusal, foreign

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> Literal[False]:
        if isinstance(error, DiscreetError) and not self.foreign:
            error.__cause__ = error.__context__ = None
        elif type(error) is RuntimeError and error.args == _INTERRUPTED:
            _raise_alone(KeyboardInterrupt())
        elif isinstance(error, Exception):
            _raise_alone(self.refusal())
        return False


def without_values(
    work: Callable[[], T], refusal: str, error: type[DiscreetError] = TableInputError, **attributes: Any
) -> T:
    """What some work with other libraries gives; where they fail, our own sentence, with nothing that they said behind it."""
    with Guarded(lambda: error(refusal, **attributes)):
        return work()


def _raise_alone(made: BaseException) -> NoReturn:
    try:
        raise made
    except BaseException:
        made.__cause__ = made.__context__ = None
        raise
