"""One number of two groups, a mean or the share of some values, and how far apart the two are.

Each group has its own interval, which misses with half of what is allowed. With the rest both hold, whatever the groups have to do
with each other, and then the difference lies between the ends' differences (Bonferroni's bound).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import RecoveryError
from ..exact.given import share
from ..present.views import Result, View, plain

if TYPE_CHECKING:
    from .estimate import Estimate

_DIRECT = (
    "Both numbers are unbiased estimates, directly from the reports; those of the recovered distributions are others."
)


@dataclass(frozen=True, repr=False)
class NumberDifference(Result):
    """What `of` says about one group less the same about another, with an interval that holds with the probability `confidence`,
    at least, for many reports."""

    names: tuple[str, str]
    of: str
    first: float
    second: float
    low: float
    high: float
    confidence: float
    notes: tuple[str, ...] = ()
    insecure: bool = False  # some reports were drawn from a seed

    @classmethod
    def between(
        cls, one: Estimate, other: Estimate, of: Any, confidence: Any, names: tuple[str, str]
    ) -> NumberDifference:
        sure = share(confidence, "confidence", "how often the interval covers", error=RecoveryError)
        if isinstance(of, str) and of in ("cells", "cdf"):
            raise RecoveryError(
                f'of = "{of}" has a number for each value, and this compares one; write for example of="cdf(29)", or leave of '
                "out for the shares of all values."
            )
        first, second = (e.direct(of).estimate for e in (one, other))
        (low, high), (least, most) = (e.interval((1 + sure) / 2, of) for e in (one, other))
        doubts = tuple(f"{name}: {e.fit}" for name, e in zip(names, (one, other), strict=True) if not e.fit.holds)
        said = of if isinstance(of, str) else "mean of a function"
        insecure = one.insecure or other.insecure
        return cls(names, said, first, second, low - most, high - least, float(sure), doubts, insecure)

    @property
    def difference(self) -> float:
        """The first less the second: unbiased, as both are."""
        return self.first - self.second

    def rows(self) -> list[dict[str, Any]]:
        """One row: both numbers, their difference and its interval."""
        numbers = (self.first, self.second, self.difference, self.low, self.high)
        return [dict(zip(("first", "second", "difference", "low", "high"), numbers, strict=True))]

    def view(self) -> View:
        numbers = (self.first, self.second, self.difference, self.low, self.high)
        columns = (*self.names, "difference", "low", "high")
        return View(self._title(), columns, (tuple(float(f"{number:.4g}") for number in numbers),), self._words())

    def _title(self) -> str:
        return f"{self.of}: {self.names[0]} less {self.names[1]}, with an interval at {self.confidence:.4g} confidence"

    def _words(self) -> tuple[str, ...]:
        apart = self.low > 0 or self.high < 0
        return (
            *self.notes,
            f"The two differ, with at least {self.confidence:.4g} confidence."
            if apart
            else "These reports do not show that the two differ.",
            _DIRECT,
            f"The interval is what the groups' own intervals at {(1 + self.confidence) / 2:.4g} leave (Bonferroni's bound), and "
            "holds for many reports.",
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "groups": list(self.names),
            "of": self.of,
            **{name: plain(number) for name, number in self.rows()[0].items()},
            "confidence": plain(self.confidence),
            "notes": list(self._words()),
        }
