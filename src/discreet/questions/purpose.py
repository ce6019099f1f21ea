"""What a release is for, which chooses its mechanisms: declared, and part of the question.

    reading        each count is read by itself: small groups get the explicit fair mechanism, whose reports are not drawn to
                   the ends, larger ones the geometric. This is the default.
    adding         counts are added up: the geometric mechanism throughout. Its channel has an inverse, so its unbiased
                   estimate is the only one, and by Jensen's inequality that of no remap of it has a smaller variance.

The choice rests on declared and public facts alone. The default does not look at margins or hierarchies, which may be asked
for later and must lead to the same question then. Sums and means are for adding, whatever else is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import ReleaseError
from ..exact.arithmetic import show
from .statistic import Statistic

READING, ADDING = "reading", "adding"
SMALL_GROUP = 64  # up to this size, reading takes the explicit fair mechanism; beyond it, the geometric one


@dataclass(frozen=True)
class Purpose:
    """What a release is for."""

    name: str = READING
    declared: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, purpose: object) -> Purpose:
        """As it was asked for, in any case."""
        if purpose is None:
            return cls()
        name = purpose.strip().lower() if isinstance(purpose, str) else ""
        if name not in (READING, ADDING):
            raise ReleaseError(f'purpose = {show(purpose)} is not known; use "reading" or "adding".')
        return cls(name, declared=True)

    def written(self) -> dict[str, str]:
        """For the question and the record."""
        return {"name": self.name}

    @classmethod
    def read(cls, written: Mapping[str, str] | None) -> Purpose:
        """Again from what `written` gave."""
        return cls() if written is None or written["name"] == READING else cls.of(written["name"])

    def family(self, top: int | None) -> str:
        """The family of mechanisms for counts from 0 to `top` (None: any number)."""
        return "explicit_fair" if self.name == READING and top is not None and top <= SMALL_GROUP else "geometric"

    def check(self, statistics: Iterable[Statistic], relation: str) -> None:
        """Does the purpose make sense for what is asked? Sums and means, and shares of unknown sizes, are for adding alone."""
        wrong = [each.kind for each in statistics if each.kind in ("sum", "mean") or each.is_pair(relation)]
        if self.declared and self.name != ADDING and wrong:
            raise ReleaseError(
                f'A {wrong[0]} gets unbounded noise, which is for adding; for another purpose than "adding" ask '
                "for counts in a separate call."
            )


FOR_READING = Purpose()
