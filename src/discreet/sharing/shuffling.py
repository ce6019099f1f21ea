"""What mixing adds: reports that are private each for itself tell less about a person when nobody knows whose is whose.

Whoever sees N reports in an order that has nothing to do with the people learns about one of them at most epsilon, but for a
delta, though each report alone keeps a larger local epsilon: Feldman, McMillan and Talwar, "Hiding among the clones" (FOCS 2021).
Three bounds are given. Theirs in closed form; theirs in numbers, for every mechanism of the level; and one that knows how far
apart the distributions of two answers are, which for randomised response with many answers is much smaller
(discreet.sharing.clones; docs/theory/shuffling.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import DiscreetError
from ..exact.aliases import Rational
from ..exact.arithmetic import ball, float_above, precision, show_above, show_delta
from ..exact.given import share, whole
from ..exact.level import Level, LevelLike
from ..measure.privacy import check_privacy
from ..mechanism import Procedure, procedure_of
from ..present.views import Result, View, plain
from ..progress import Progress, tell
from .clones import LEAST_DELTA, MOST_REPORTS, Clones, delta_above

_BITS = 64  # of e^(local epsilon), rounded up
_TAIL = 1e-4  # of delta: what is added instead of looked at
_NEAR = 2e-4  # the part by which the epsilon that is found may be larger than the best that is proved
_STEP = 1.5  # between epsilons that are tried at first
_STEPS = 40
_LARGEST = 30  # a local epsilon beyond which no number of reports that is looked at hides anybody: e^30 is 10^13
_COUNTED = (
    "reports counts people who follow the protocol, with one fresh report each that nothing links to them: no device or "
    "address, no time, no memo that comes back; what an observer can tell apart does not count"
)
_ANALYSIS = "Analysis: no release, level or charge of discreet rests on it, and the mixing is not discreet's."


@dataclass(frozen=True, repr=False)
class Shuffled(Result):
    """What `reports` mixed reports of one mechanism tell about a person: `epsilon`, but for `delta`; never below the truth.

    `local` is the epsilon of a report alone, without a delta. `for_this` uses how far apart two answers are under this
    mechanism, `for_any` holds for every mechanism of the level, and so does `closed_form`, inf where its conditions do not
    hold; `epsilon` is the least of them. Where none is below `local`, mixing adds nothing that can be proved, and epsilon is that.
    """

    what: str
    reports: int
    delta: Fraction
    local: float
    for_this: float
    for_any: float
    closed_form: float

    @property
    def epsilon(self) -> float:
        return min(self.local, self.for_this, self.for_any, self.closed_form)

    @property
    def helps(self) -> bool:
        """Is it less than a report alone tells?"""
        return self.epsilon < self.local

    def view(self) -> View:
        ways = {
            "each report alone, without a delta": self.local,
            "mixed, in closed form, any mechanism": self.closed_form,
            "mixed, any mechanism of this level": self.for_any,
            "mixed, this mechanism": self.for_this,
        }
        rows = tuple((way, epsilon) for way, epsilon in ways.items() if epsilon < math.inf)
        if self.helps:
            found = f"epsilon <= {show_above(self.epsilon)} with delta {show_delta(self.delta)}"
        else:
            found = f"epsilon <= {show_above(self.local)}: so few reports hide nobody at delta {show_delta(self.delta)}"
        title = f"{self.reports} mixed reports, {self.what}: {found}"
        return View(title, ("what is seen", "epsilon <="), rows, (_COUNTED, _ANALYSIS))

    def to_dict(self) -> dict[str, Any]:
        """What was asked and found; a bound that does not hold is null."""
        found = {
            "what": self.what,
            "reports": self.reports,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "local": self.local,
            "for_this": self.for_this,
            "for_any": self.for_any,
            "closed_form": self.closed_form,
            "helps": self.helps,
        }
        return {name: plain(value) for name, value in found.items()}


def shuffled(
    mechanism: Procedure | None = None,
    *,
    reports: Rational,
    delta: Rational,
    alpha: LevelLike | None = None,
    epsilon: LevelLike | None = None,
    progress: Progress | None = None,
) -> Shuffled:
    """What mixed reports of a mechanism tell about one person, as epsilon with a delta (Feldman, McMillan and Talwar 2021).

    Neighbours are two answers of one person, any two; everybody else's answers may be known. It is analysis: a ledger charges what
    each report keeps alone.

        mechanism   the mechanism by which each person reports; or give its local level alone
        reports     how many people report: those who follow the protocol, each with one fresh report that nothing links to them.
                    People whose answers or reports are known otherwise, second reports of a person and answers that come
                    from a memo do not count
        delta       what is added to e^epsilon times a probability, such as "1e-6"
        alpha       the level of any mechanism, where none is given; or `epsilon`

    >>> import discreet as dt
    >>> found = dt.sharing.shuffled(dt.randomized_response(99, epsilon=1), reports=100_000, delta="1e-6")
    >>> f"{found.local:.4g} {found.closed_form:.4g} {found.for_any:.4g} {found.epsilon:.4g}"
    '1 0.07255 0.01529 0.002014'
    """
    what, local, power, clones = _read(mechanism, alpha, epsilon)
    number = whole(reports, "reports", most=MOST_REPORTS, example=100_000)
    allowed = share(delta, "delta", "it is added to e^epsilon times a probability", example="1e-6")
    if allowed < LEAST_DELTA:
        raise DiscreetError(f"delta = {show_delta(allowed)} is below 1e-100, which nothing tells from 0; give more.")
    if local > _LARGEST:
        return Shuffled(what, number, allowed, local, math.inf, math.inf, math.inf)
    tell(progress, "mixing", 0.0)
    for_any = _smallest(Clones(power, Fraction(1)), number, allowed, local)
    tell(progress, "mixing", 0.3)
    for_this = math.inf if clones is None else _smallest(clones, number, allowed, local)
    return Shuffled(what, number, allowed, local, for_this, for_any, _closed_form(power, number, allowed))


def _read(mechanism: Any, alpha: Any, epsilon: Any) -> tuple[str, float, Fraction, Clones | None]:
    """In words, the local epsilon, e^epsilon rounded up, and what is known of the mechanism."""
    if mechanism is None:
        level = Level.of(alpha=alpha, epsilon=epsilon)
        return f"each at {level}", level.epsilon, _power(level.alpha, level.epsilon), None
    if alpha is not None or epsilon is not None:
        raise DiscreetError("A mechanism has a level of its own; leave alpha and epsilon out.")
    m = procedure_of(mechanism)
    verdict = check_privacy(m, neighbours="any")
    channel = m.channel.finite()
    if channel is None or verdict.tight == 1 or verdict.epsilon == math.inf:
        why = "tells nothing: there is nothing to hide" if verdict.tight == 1 else "has no local level"
        raise DiscreetError(
            f"Between any two values this mechanism {why}; give one with a local epsilon, such as "
            "randomized_response(9, epsilon=1)."
        )
    power = _power(verdict.tight, verdict.epsilon)
    apart = channel.total_variation() if power > 1 else None
    known = None if apart is None else Clones(power, apart[0] * (power + 1) / (power - 1), apart[1])
    what = f"{m.recipe.family} {m.inputs}, each at epsilon <= {show_above(verdict.epsilon)}"
    return what, verdict.epsilon, power, known


def _power(alpha: Fraction, epsilon: float) -> Fraction:
    """e^epsilon, rounded up; 0 where it is too large to matter."""
    return Fraction(0) if epsilon > _LARGEST else Fraction(math.ceil(2**_BITS / alpha), 2**_BITS)


def _smallest(clones: Clones, reports: int, delta: Fraction, local: float) -> float:
    """The smallest epsilon found at which this delta is proved; inf where there is none below the local one."""
    tail = float(delta) * _TAIL

    def excess(x: float) -> float:
        """ln of the delta at epsilon x over the one allowed; what is above 0 is too much."""
        found = delta_above(clones, reports, Fraction(math.exp(x)), tail)
        return -math.inf if found == 0 else math.log(found) - math.log(delta) + 2.0**-40

    top = local * (1 - 2.0**-10)
    if math.exp(top) >= clones.power or excess(top) > 0:
        return math.inf
    # two standard deviations of a mean of so many reports, as a first guess
    spread = math.sqrt(2 * math.log(2 / delta) * float(clones.telling) / (reports * float(clones.all)))
    low, high = 0.0, top
    x = min(max(spread * math.tanh(local / 2), 2.0**-50), top)
    over, under = math.nan, math.nan
    for _ in range(_STEPS):
        found = excess(x)
        if found > 0:
            low, over = x, found
        else:
            high, under = x, found
        if high <= low * (1 + _NEAR):
            break
        x = _next(low, high, over, under)
    power = Fraction(math.exp(high))
    return float_above(lambda: ball(power).log())


def _next(low: float, high: float, over: float, under: float) -> float:
    """Where to look next, by the line through both ends in logarithms; never too near to one of them."""
    if low == 0 or math.isnan(under):
        return min(low * _STEP, (low + high) / 2) if low else high / _STEP
    width = math.log(high / low)
    part = over / (over - under) if under > -math.inf else 0.5
    return low * math.exp(width * min(max(part, 0.1), 0.9))


def _closed_form(power: Fraction, reports: int, delta: Fraction) -> float:
    """Theorem 3.1 of Feldman, McMillan and Talwar (2021), where its condition e^(local epsilon) <= N / (16 ln(2/delta)) holds."""
    with precision(256):
        e, small = ball(power), ball(delta)
        if not 16 * e * (2 / small).log() <= reports:
            return math.inf

    def value() -> Any:
        e, small = ball(power), ball(delta)
        root = (e * (4 / small).log() / reports).sqrt()
        return ((e - 1) / (e + 1) * (8 * root + 8 * e / reports)).log1p()

    return float_above(value)
