"""What a release is for, which chooses its mechanisms: declared, and part of the question.

    reading        each count is read by itself: small groups get the explicit fair mechanism, whose reports are not drawn to
                   the ends, larger ones the geometric. This is the default.
    adding         counts are added up: the geometric mechanism throughout. Its channel has an inverse, so its unbiased
                   estimate is the only one, and by Jensen's inequality that of no remap of it has a smaller variance.
    least error    the least expected loss for a declared loss and a public prior: a design with its certificate. Such
                   reports are for reading one by one; most have no unbiased estimate.

The choice rests on declared and public facts alone. The default does not look at margins or hierarchies, which may be asked
for later and must lead to the same question then. Sums and means are for adding, whatever else is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import ReleaseError
from ..exact.arithmetic import parse_entry, parse_exact, show
from ..exact.grid import Grid
from ..measure.loss import loss_of
from ..measure.prior import Prior, prior_given
from .statistic import Statistic

READING, ADDING, LEAST = "reading", "adding", "least error"
PURPOSES = (READING, ADDING, LEAST)
SMALL_GROUP = 64  # up to this size, reading takes the explicit fair mechanism; beyond it, the geometric one
LARGEST = 200  # people of a group for which a design is made: half a second each
_SIZES = 100  # different sizes of group that one release makes designs for

Law = tuple[Fraction, ...] | tuple[tuple[Fraction, Fraction], ...]  # one chance for each value, or values with theirs


@dataclass(frozen=True)
class Purpose:
    """What a release is for; of the least error, by which loss and under which prior (a text, or exact chances)."""

    name: str = READING
    loss: str | None = None
    prior: str | Law | None = None
    declared: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, purpose: object, loss: object = None, prior: object = None) -> Purpose:
        """As it was asked for: names in any case."""
        if purpose is None and loss is None and prior is None:
            return cls()
        name = " ".join(purpose.lower().replace("_", " ").replace("-", " ").split()) if isinstance(purpose, str) else ""
        if purpose is not None and name not in PURPOSES:
            raise ReleaseError(f'purpose = {show(purpose)} is not known; use "reading", "adding" or "least error".')
        if name != LEAST and (loss is not None or prior is not None):
            raise ReleaseError('A loss and a prior need purpose="least error"; add it, or leave them out.')
        if name != LEAST:
            return cls(name, declared=True)
        if not isinstance(loss, str):
            raise ReleaseError(
                'The least error needs a loss given by name, for groups of every size: loss="l1", "l2" or '
                '"threshold(5)", for example.'
            )
        spelled = "".join(loss.lower().split())
        loss_of(spelled, Grid(0, LARGEST), Grid(0, 1))  # is there such a loss?
        return cls(LEAST, spelled, _spelled(prior), declared=True)

    def written(self) -> dict[str, Any]:
        """For the question and the record."""
        if self.name != LEAST:
            return {"name": self.name}
        return {"name": self.name, "loss": self.loss, "prior": _written(self.prior)}

    @classmethod
    def read(cls, written: Mapping[str, Any] | None) -> Purpose:
        """Again from what `written` gave."""
        if written is None or written["name"] == READING:
            return cls()
        prior = written.get("prior")
        pairs = isinstance(prior, list) and prior and isinstance(prior[0], list)
        return cls.of(written["name"], written.get("loss"), dict(prior) if pairs and prior is not None else prior)

    def family(self, top: int | None) -> str | None:
        """The family of mechanisms for counts from 0 to `top` (None: any number); None for a design of its own."""
        if self.name == LEAST:
            return None
        return "explicit_fair" if self.name == READING and top is not None and top <= SMALL_GROUP else "geometric"

    def check(self, statistics: Iterable[Statistic], relation: str) -> None:
        """Does the purpose make sense for what is asked? Sums and means, and shares of unknown sizes, are for adding alone."""
        wrong = [each.kind for each in statistics if each.kind in ("sum", "mean") or each.is_pair(relation)]
        if self.declared and self.name != ADDING and wrong:
            raise ReleaseError(
                f'A {wrong[0]} gets unbounded noise, which is for adding; for another purpose than "adding" ask '
                "for counts in a separate call."
            )

    def check_sizes(self, sizes: int) -> None:
        """Are there few enough different sizes of group?"""
        if self.name == LEAST and sizes > _SIZES:
            raise ReleaseError(
                f'purpose="least error" makes a design for each size of group, for at most {_SIZES} sizes, and '
                f'there are {sizes}; use "reading" or "adding", or fewer groups.'
            )


FOR_READING = Purpose()


def _spelled(prior: Any) -> str | Law | None:
    """A prior as a value of its own: a name, or exact chances."""
    if prior is None:
        return "uniform"
    prior = prior_given(prior)
    if isinstance(prior, str):
        return "".join(prior.lower().split())
    if isinstance(prior, Prior):
        return tuple(Fraction(w, prior.total) for w in prior.weights)
    pairs = (
        prior.items()
        if isinstance(prior, Mapping)
        else enumerate(prior)
        if hasattr(prior, "__iter__") and getattr(prior, "shape", None) != ()
        else ()
    )
    read = [(parse_exact(value), parse_entry(chance)) for value, chance in pairs]
    known = [(value, chance) for value, chance in read if value is not None and chance is not None]
    if not read or len(known) < len(read):
        raise ReleaseError(
            'The prior must be public knowledge about a count: "uniform", "binomial(0.3)", a list of probabilities or '
            "{value: probability}."
        )
    return tuple(sorted(known)) if isinstance(prior, Mapping) else tuple(chance for _, chance in known)


def _written(prior: str | Law | None) -> Any:
    if prior is None or isinstance(prior, str):
        return prior
    return [[str(x) for x in part] if isinstance(part, tuple) else str(part) for part in prior]
