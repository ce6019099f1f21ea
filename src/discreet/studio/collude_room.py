"""The room of those who share: what k users learn together from independent reports, and from a cascade."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from ..errors import DiscreetError
from ..exact.arithmetic import show_above, show_rational
from ..exact.level import Level
from ..measure.utility import expected_loss
from ..progress import Progress, tell
from ..registry import FAMILIES
from ..sharing.cascades import cascade
from ..sharing.collusion import collude
from .jobs import Promise, as_job, promised
from .rooms import CountsForm, Form, LevelForm

Member = Literal["geometric", "explicit_fair", "randomized_response"]
_FAMILIES = {f.name: f for f in FAMILIES}
_MOST_VALUES = 50


def _usual() -> list[Member]:
    return ["geometric", "explicit_fair"]


router = APIRouter(prefix="/api/collude", tags=["collude"])


class SharingForm(CountsForm):
    """Up to `most` users with reports of one count, each drawn anew."""

    n: int = Field(20, ge=1, le=_MOST_VALUES)
    most: int = Field(11, ge=1, le=51)
    mechanisms: list[Member] = Field(default_factory=_usual, min_length=1, max_length=3)


class Learnt(BaseModel):
    """What k users learn by the median of their reports."""

    mechanism: str
    k: int
    loss: float
    exact: float
    epsilon: float


class Finding(BaseModel):
    """What the numbers of one mechanism say."""

    mechanism: str
    sentence: str


class Shared(BaseModel):
    """The numbers, a sentence for each mechanism, and what computes the same in Python."""

    rows: list[Learnt]
    findings: list[Finding]
    python: str


class AudiencesForm(Form):
    """Audiences at several levels, in any order."""

    n: int = Field(20, ge=1, le=_MOST_VALUES)
    levels: Annotated[list[LevelForm], Field(min_length=1, max_length=8)]


class Audience(BaseModel):
    alpha: str
    epsilon: str
    loss: float


class Together(BaseModel):
    """All audiences together: independent reports against a cascade."""

    audiences: list[Audience]
    independent: str
    cascade: str
    cascade_loss: float
    sentence: str
    python: str


@router.post("/shared")
async def shared(request: Request, asked: SharingForm) -> Promise[Shared]:
    """The mean distance of their estimate from the truth, how often it is the truth, and what they paid together."""
    level = asked.level()
    found: Promise[Shared] = await promised(request, lambda progress: _shared(asked, level, progress))
    return found


def _shared(asked: SharingForm, level: Level, progress: Progress) -> Shared:
    rows = []
    users = range(1, asked.most + 1, 2)  # an even number learns no more than one fewer, by the median
    names = list(dict.fromkeys(asked.mechanisms))
    pairs = [(name, k) for name in names for k in users]
    for number, (name, k) in enumerate(pairs):
        tell(progress, f"{_users(k)} with {name.replace('_', ' ')}", number / len(pairs))
        rows.append(_learnt(name, asked.n, level.alpha, k))
    ends = {name: [row for row in rows if row.mechanism == name] for name in names}
    findings = [Finding(mechanism=name, sentence=_finding(own[0], own[-1])) for name, own in ends.items()]
    made = ", ".join(f'"{name}": dt.{name}({asked.n}, {asked.spelt()})' for name in names)
    python = f"import discreet as dt\n\nprint(dt.sharing.collude({{{made}}}, {list(users)}))\n"
    return Shared(rows=rows, findings=findings, python=python)


def _users(k: int) -> str:
    return "1 user" if k == 1 else f"{k} users"


def _finding(first: Learnt, last: Learnt) -> str:
    """The finding, as the numbers have it."""
    spent = f"epsilon {show_above(last.epsilon)}"
    if last.k == 1:
        return f"One user alone is off by {last.loss:.3g} on average. The report has {spent}; let more users share, and see."
    gain = (
        "noise that is drawn anew for everybody is averaged away"
        if last.loss < 0.99 * first.loss
        else "the median of their reports is hardly nearer to the truth than one report"
    )
    return (
        f"{_users(last.k)} with reports of their own are off by {last.loss:.3g} on average, one alone by {first.loss:.3g}: {gain}. "
        f"Together their reports have {spent}."
    )


@lru_cache(maxsize=4096)
def _learnt(name: str, n: int, alpha: Fraction, k: int) -> Learnt:
    c = collude(_FAMILIES[name].make(n, alpha=alpha), k)
    assert c.joint_level is not None  # counts have two ends
    return Learnt(mechanism=name, k=k, loss=c.expected_loss, exact=c.exact_answer, epsilon=c.joint_level.epsilon)


@router.post("/audiences")
@as_job(quick=True)
def audiences(asked: AudiencesForm) -> Together:
    """The levels side by side: what all of them together keep if drawn independently, and in a cascade."""
    levels = sorted((form.level(f"levels.{k}.") for k, form in enumerate(asked.levels)), key=lambda level: level.alpha)
    steps = cascade(levels, asked.n)
    each = [
        Audience(alpha=show_rational(m.alpha), epsilon=show_above(m.epsilon), loss=float(expected_loss(m, "l1")))
        for m in steps.mechanisms
    ]
    apart = Level(_product([m.alpha for m in steps.mechanisms]))
    kept, least = show_above(steps.price.epsilon), min(steps.mechanisms, key=lambda m: m.alpha)
    sentence = (
        f"Drawn independently, all audiences together would hold epsilon {show_above(apart.epsilon)}. In a cascade each report is "
        f"made from the one before it: together they hold {kept}, that of the least private one, and learn no more than it does."
    )
    return Together(
        audiences=each,
        independent=show_above(apart.epsilon),
        cascade=kept,
        cascade_loss=float(expected_loss(least, "l1")),
        sentence=sentence,
        python=_cascade_spelt(asked, levels),
    )


def _cascade_spelt(asked: AudiencesForm, levels: list[Level]) -> str:
    """The same in Python: the levels in order, each as it was written."""
    written = {form.level().alpha: f"dt.Level.of({form.spelt()})" for form in asked.levels}
    given = ", ".join(written[level.alpha] for level in levels)
    return f"import discreet as dt\n\nprint(dt.sharing.cascade([{given}], {asked.n}))\n"


def _product(alphas: list[Fraction]) -> Fraction:
    product = Fraction(1)
    for alpha in alphas:
        product *= alpha
    if product <= 0:
        raise DiscreetError("A level is above 0; give alphas such as 3/10.")
    return product
