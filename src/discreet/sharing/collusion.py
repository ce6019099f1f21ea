"""What k users learn who share their reports of one count.

Beside an exact curve stand two yardsticks: the error that a large k would give, and one report at k times the epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

from ..channels import Additive, closed
from ..channels.contract import MATRIX_ENTRIES
from ..errors import DiscreetError, LossError, PriorError, SizeError
from ..exact.aliases import Rational
from ..exact.arithmetic import show, show_above
from ..exact.given import function_name, whole
from ..exact.level import Level
from ..measure.loss import loss_name
from ..measure.prior import PriorLike
from ..measure.privacy import Verdict, check_privacy
from ..mechanism import Mechanism, Procedure, open_ends, procedure_of
from ..noise import (
    ContinuousNoise,
    DiscreteNoise,
    GeometricNoise,
    Laplace,
    Nearest,
    NoiseDistribution,
    Staircase,
    StaircaseNoise,
)
from ..noise.distributions import LOSSES
from ..present.views import Result, View, plain
from ..progress import Progress
from .assessments import (
    ALONE,
    Assessment,
    Clamped,
    Errors,
    closed_median,
    open_median,
    rounded_median,
    table_median,
)
from .by_likelihood import Guesser, Strategy, by_types, has_few_types
from .drawing import Coalition, finite_drawn
from .guarantee import Guarantee
from .medians import median_level, median_noise

_DEEPEST = 700.0  # an epsilon beyond which e^-epsilon has no float
_LONGEST = 2**15  # bits of a level to the power k
_MOST = 10**6  # reports
_STRATEGIES: dict[str, Strategy] = {"median": "median", "mle": "mle", "bayes": "bayes"}


@dataclass(frozen=True, repr=False)
class Collusion(Result):
    """What k reports of one truth give away to whoever makes one estimate of them.

    `expected_loss` and `exact_answer` (the chance that the estimate is the truth) are means under the prior; `worst` is the
    largest mean loss of a truth. `joint_level` is what the k reports keep together, `level` what the estimate alone keeps;
    both are None for noise on the line, which is for analysis. `level` is that of the reports together, not exact, where it
    is not known. `interval` and `exact_interval` (95 %) and `runs` are there where it was drawn. `large_k` is what the formula
    for many reports says of the median's l1, `one_report` the loss of one report of the same family at k times the epsilon.
    `median_is_likeliest` is the chance that the median makes the reports likeliest, for strategies that look at the
    likelihood. `notes` say what the estimate is where that is not plain: where reports go beyond the true values, whether
    their median is moved to the end or left there. `is_fine` is False where one person moves the truth by one step of the
    grid: `large_k` is wrong there, and tables leave it out.
    """

    name: str
    k: int
    strategy: str
    loss: str
    expected_loss: float
    worst: float | None
    exact_answer: float
    joint_level: Guarantee | None
    level: Guarantee | None
    large_k: float | None = None
    one_report: float | None = None
    interval: tuple[float, float] | None = None
    exact_interval: tuple[float, float] | None = None
    median_is_likeliest: float | None = None
    runs: int | None = None
    seed: int | None = None
    errors: Errors | NoiseDistribution = field(default=None, compare=False)  # type: ignore[assignment]
    notes: tuple[str, ...] = ()
    is_fine: bool = True

    @cached_property
    def error_distribution(self) -> Any:
        """The distribution of estimate - truth under the prior: {error: probability} on a grid; on the line a value with cdf
        and quantile."""
        return MappingProxyType(self.errors.law()) if isinstance(self.errors, Errors) else self.errors

    def row(self) -> dict[str, Any]:
        """One line of a table."""
        low, high = (None, None) if self.interval is None else self.interval
        return {
            "mechanism": self.name,
            "k": self.k,
            self.loss: self.expected_loss,
            "from": low,
            "to": high,
            "for large k": self.large_k if self.is_fine else None,
            "one at k eps": self.one_report,
            "exact": self.exact_answer,
            "reports' eps <=": None if self.joint_level is None else self.joint_level.written,
            "estimate's eps <=": None if self.level is None else self.level.epsilon,
        }

    def view(self) -> View:
        drawn = (
            ""
            if self.interval is None
            else f" (95 %: {self.interval[0]:.6g} to {self.interval[1]:.6g}, {self.runs} runs)"
        )
        lines = [
            f"{self.k} report{'s' * (self.k > 1)} of {self.name}, {self.strategy}: mean {self.loss} "
            f"{self.expected_loss:.6g}{drawn}, exact with probability {self.exact_answer:.6g}"
        ]
        if self.joint_level is not None and self.level is not None:
            most = "" if self.level.exact else "at most "
            lines.append(
                f"epsilon {show_above(self.joint_level.written)} for the reports together, "
                f"{most}{show_above(self.level.epsilon)} for the estimate alone"
            )
        return View("\n".join(lines), notes=self.notes)

    def to_dict(self) -> dict[str, Any]:
        levels = {name: getattr(self, name) for name in ("joint_level", "level")}
        others = {
            one.name: plain(getattr(self, one.name))
            for one in fields(self)
            if one.name not in (*levels, "errors", "is_fine")
        }
        return {**others, **{name: None if kept is None else kept.to_dict() for name, kept in levels.items()}}


@dataclass(frozen=True, repr=False)
class Collusions(Result):
    """Several collusions: a curve over k, or one for each mechanism."""

    found: tuple[Collusion, ...]

    def __getitem__(self, place: int) -> Collusion:
        return self.found[place]

    def __len__(self) -> int:
        return len(self.found)

    def view(self) -> View:
        first = self.found[0]
        rows = [one.row() for one in self.found]
        for name in [name for name in rows[0] if all(row[name] is None for row in rows)]:
            rows = [{key: value for key, value in row.items() if key != name} for row in rows]
        meanings = {
            "for large k": "sqrt(2/(pi k))/(2 f(0)), right on the line as k grows; not for whole numbers",
            "one at k eps": "one report at k times the epsilon",
        }
        told = "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items() if name in rows[0])
        notes = [told] if told else []
        if any(one.runs is not None for one in self.found):
            notes.append(f"from, to: 95 % interval of what was drawn, seed {first.seed}")
        title = f"k users share their reports: {first.loss} of their estimate ({first.strategy})"
        common = dict.fromkeys(note for one in self.found for note in one.notes)
        return replace(View.of(title, rows), notes=(*notes, *common))

    def plot(self) -> Any:
        """The loss of the estimate against k, a line for each mechanism, with the 95 % band of what was drawn."""
        from ..present import plot

        rows = [
            {"name": one.name, "at": one.k, "value": one.expected_loss}
            | ({} if one.interval is None else dict(zip(("low", "high"), one.interval, strict=True)))
            for one in self.found
        ]
        last = max(one.k for one in self.found)
        best = min((one for one in self.found if one.k == last), key=lambda one: one.expected_loss)
        least = "least " if len({one.name for one in self.found}) > 1 else ""
        title = f"The {least}mean {best.loss} of {last} users together is {best.expected_loss:.4g}, with {best.name}"
        what = f"estimate: {best.strategy}{'' if best.runs is None else '; shaded: 95 % intervals of what was drawn'}"
        return plot.tracks(rows, title, what, x="users who share (k)", y=f"mean {best.loss}", zero=True)

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [one.to_dict() for one in self.found]}


@overload
def collude(
    mechanism: Procedure | ContinuousNoise | Nearest,
    k: Rational,
    strategy: str = ...,
    loss: Any = ...,
    prior: PriorLike | None = ...,
    *,
    clamp: bool = ...,
    runs: Rational | None = ...,
    seed: Rational = ...,
    progress: Progress | None = ...,
) -> Collusion: ...


@overload
def collude(
    mechanism: Procedure | ContinuousNoise | Nearest | Mapping[str, Any],
    k: Iterable[Any],
    strategy: str = ...,
    loss: Any = ...,
    prior: PriorLike | None = ...,
    *,
    clamp: bool = ...,
    runs: Rational | None = ...,
    seed: Rational = ...,
    progress: Progress | None = ...,
) -> Collusions: ...


def collude(
    mechanism: Any,
    k: Any,
    strategy: str = "median",
    loss: Any = "l1",
    prior: PriorLike | None = None,
    *,
    clamp: bool = True,
    runs: Rational | None = None,
    seed: Rational = 0,
    progress: Progress | None = None,
) -> Collusion | Collusions:
    """What k users learn who share their k independent reports of one truth, or one user who asks k times.

    Users are readers who got a report of one and the same answer, not people whose own values are collected.

        k         how many users share their reports. Several numbers, as several mechanisms by name, give a table
        strategy  what they make of the reports: the median, the likeliest value, or the best one for loss and prior. "median"
                  (of an even number the lower one in the middle), "mle" (the value that makes the reports likeliest) or
                  "bayes" (the value with the smallest mean loss under the posterior: its median for l1, its mode for l0). Of
                  equally good values they take the one nearest to the median report
        loss      what a wrong report costs
        prior     what is publicly known about the truth
        clamp     move a median that lies beyond the true values, where reports go beyond them, to their end, which
                  everybody knows. False leaves it
        runs      how often to simulate where that is needed
        seed      makes what is drawn repeatable: for analysis and tests, never for reports about people

    The median is computed exactly for every mechanism: Pr[median >= t] = Pr[Bin(k, Pr[report >= t]) >= (k+1)/2]. The others
    are exact where k reports have at most 10^6 types, and where a theorem says that they are the median (geometric
    noise, also truncated: its likelihood is a^(sum of distances)); else they are simulated. They need a grid with two ends.

    The mechanism may be noise on the line such as dt.noise.staircase(...), for analysis and with the median (there a loss of
    one's own is a function of the error), also rounded to a grid, dt.noise.nearest(...).

    >>> import discreet as dt
    >>> g = dt.geometric(dt.Grid(None, None), alpha="1/2")
    >>> three = dt.sharing.collude(g, 3)
    >>> round(three.expected_loss, 4), three.joint_level.alpha, three.level.alpha
    (0.7196, Fraction(1, 8), Fraction(1, 4))
    """
    kind = _STRATEGIES.get(strategy.strip().lower() if isinstance(strategy, str) else "")
    if kind is None:
        raise DiscreetError(f'strategy = {show(strategy)} is not known; use "median", "mle" or "bayes".')
    times = None if runs is None else whole(runs, "runs", 2, 10**8, example=10_000)
    number = whole(seed, "seed", 0, 2**63 - 1, example=1)
    many = not isinstance(k, (str, bytes)) and hasattr(k, "__iter__") and getattr(k, "shape", None) != ()
    sizes = [whole(x, "k", 1, _MOST, example=3) for x in (k if many else [k])]
    if not sizes:
        raise DiscreetError("There is no number of users in an empty list; give for example k=[1, 3, 5].")
    named = mechanism if isinstance(mechanism, Mapping) else {_name(mechanism): mechanism}
    if not named:
        raise DiscreetError("There is no mechanism in an empty mapping; give at least one by its name.")
    coalitions = [Coalition(size, kind, loss, prior, clamp, times, number, progress) for size in sizes]
    learnt = tuple(_collude(str(name), noisy, users) for name, noisy in named.items() for users in coalitions)
    return Collusions(learnt) if many or isinstance(mechanism, Mapping) else learnt[0]


def _name(m: Any) -> str:
    if isinstance(m, Nearest):
        return f"{_name(m.law)}, rounded"
    return m.recipe.family if isinstance(m, Procedure) else type(m).__name__.lower()


def _collude(name: str, m: Any, users: Coalition) -> Collusion:
    k, strategy, loss, prior = users.k, users.strategy, users.loss, users.prior
    if isinstance(m, (ContinuousNoise, Nearest)):
        answer, joint, kept = _on_the_line(m, users), None, None
    else:
        if max(procedure_of(m).inputs.size or 0, m.outputs.size or 0) > MATRIX_ENTRIES:
            raise SizeError(
                f"{m.inputs} has more than 2^24 values, too many to go through; use a coarser grid, or an open one such as "
                "Grid(None, None), where all truths are alike."
            )
        one = check_privacy(m)
        joint = Guarantee.power(one, k).for_asked(m.claim, one, k)
        answer, kept = _estimated(m, users, one)
        kept = kept or Guarantee(joint.alpha, joint.epsilon, False)
    sharper = at_once(m, k)
    if sharper is None:
        other = None
    elif isinstance(sharper, Mechanism):
        other = _median(sharper, 1, loss, prior).loss
    else:
        other = _on_the_line(sharper, Coalition(1, "median", loss)).loss
    cost = loss_name(loss) or (function_name(loss) if callable(loss) else "loss")
    return Collusion(
        name,
        k,
        strategy,
        cost,
        answer.loss,
        float(answer.losses.max()) if answer.runs is None else None,
        answer.exact,
        joint,
        kept,
        large_k(m, k) if cost == "l1" else None,
        other,
        answer.interval,
        answer.exact_interval,
        answer.likeliest,
        answer.runs,
        None if answer.runs is None else users.seed,
        answer.errors,
        _what_it_is(name, m, strategy, users.clamp),
        isinstance(m, (ContinuousNoise, Nearest)) or m.sensitivity != 1,
    )


def _what_it_is(name: str, m: Any, strategy: Strategy, clamp: bool) -> tuple[str, ...]:
    """Where the median report need not be a true value: what is made of it."""
    if strategy != "median" or isinstance(m, (ContinuousNoise, Nearest)):
        return ()
    within, aligned = m.inputs.contains(m.outputs), (m.outputs.step / m.inputs.step).denominator == 1
    if within and aligned:
        return ()
    if clamp and not within:
        between = "" if aligned else ", and may lie between two true values"
        return (
            f"{name}: reports are {m.outputs}; a median beyond {m.inputs} is moved to the end{between}. "
            "clamp=False leaves it where it lies.",
        )
    return (
        f"{name}: the estimate is the median report as it is, one of {m.outputs}, also where that is no true value of {m.inputs}; "
        'strategy "mle" or "bayes" keeps to the true values.',
    )


def _estimated(m: Procedure, users: Coalition, one: Verdict) -> tuple[Assessment, Guarantee | None]:
    """The estimate of a strategy, and its level where that is known."""
    k, strategy, loss, prior = users.k, users.strategy, users.loss, users.prior
    if strategy == "median":
        to = Clamped.of(m.inputs, m.outputs) if users.clamp else None
        level = median_level(m, k, one, None if to is None else (to.targets, to.grid.size or 0))
        return _median(m, k, loss, prior, to), level
    if _is_the_median(m, strategy, loss, prior):
        return replace(_median(m, k, loss, prior), likeliest=1.0), median_level(m, k, one)
    if m.channel.finite() is None:
        raise SizeError(
            f'The strategy "{strategy}" goes through the true values, and {m.inputs} has no end; truncate the mechanism first, or '
            "use the median."
        )
    guesser = Guesser.of(m, strategy, loss, prior)
    if has_few_types(m, k):
        return by_types(m, k, guesser, loss, prior, users.progress)
    return finite_drawn(m, users, guesser), None


def _is_the_median(m: Procedure, strategy: Strategy, loss: Any, prior: Any) -> bool:
    """With geometric noise, clamped or not, a report is w_y a^|x-y| likely: the likelihood falls with the sum of distances,
    which the median makes smallest. The weights w of the reports, larger at the ends, do not depend on the truth."""
    if m.channel.noise is None or m.channel.noise.decay is None:
        return False
    flat = prior is None or (isinstance(prior, str) and prior.strip().lower() == "uniform")
    return strategy == "mle" or (flat and loss_name(loss) == "l0")


def _median(m: Procedure, k: int, loss: Any, prior: Any, to: Clamped | None = None) -> Assessment:
    if to is not None:
        return table_median(m, k, loss, prior, to)
    if m.channel.finite() is not None:
        return closed_median(m, k, loss, prior) or table_median(m, k, loss, prior)
    if prior is not None:
        raise PriorError(
            f"On the open grid {m.inputs} every truth has the same errors; leave out the prior, or truncate first."
        )
    return open_median(m, k, loss)


def _on_the_line(law: ContinuousNoise | Nearest, users: Coalition) -> Assessment:
    k, strategy, loss = users.k, users.strategy, users.loss
    if users.prior is not None:
        raise PriorError(
            "On the line every truth has the same errors; leave out the prior, or use a mechanism on a grid."
        )
    if strategy != "median" and not (strategy == "mle" and isinstance(law, Laplace)):
        raise DiscreetError(
            f'The strategy "{strategy}" is not known for this noise on the line; use "median", or a mechanism on a grid such as '
            "dt.staircase."
        )
    if isinstance(law, Nearest):
        return rounded_median(law, k, loss)
    cost, middle = _of_error(loss), median_noise(law, k)
    named = loss_name(loss) in LOSSES  # l0, l1, l2 are the moments of that order
    mean = middle.moment(int(loss_name(loss)[1])) if named else middle.expected_loss(cost, "numerical")
    return Assessment(ALONE * mean, 0 * ALONE, ALONE, middle, likeliest=None if strategy == "median" else 1.0)


def _of_error(loss: Any) -> Callable[[float], float]:
    name = loss_name(loss)
    if name in LOSSES:
        return LOSSES[name]
    if not callable(loss):
        raise LossError(
            f'loss = {show(loss)} is not known on the line; use "l0", "l1", "l2" or a function of the error.'
        )
    return loss  # type: ignore[no-any-return]


def large_k(m: Procedure | ContinuousNoise | Nearest, k: int) -> float | None:
    """sqrt(2/(pi k)) / (2 f), f the density at 0: E|median| of k draws of a density, as k grows.

    These are equations 16 (Laplace), 17 (staircase) and, with the probability of 0 for f, 18 (geometric) of Chen, Pal and
    Golubchik. On the line the ratio to the exact value goes to 1. On integers it does not: there the error falls
    exponentially as soon as the median's spread is below a step, and for rounded noise nobody has proposed a formula.
    """
    if isinstance(m, Nearest):
        return None
    if isinstance(m, ContinuousNoise):
        peak = float(m.density(0.0))
    elif m.channel.noise is not None:
        peak = float(m.channel.noise.pmf(0)) / float(m.inputs.step)
    else:
        return None
    return math.sqrt(2 / (math.pi * k)) / (2 * peak)


def at_once(m: Procedure | ContinuousNoise | Nearest, k: int) -> Any:
    """The same family with one report at k times the epsilon, which is what composition allows k reports to be; None for
    families of which this makes no sense."""
    match m:
        case Laplace():
            return Laplace(m.scale / k)
        case Staircase() if k * m.epsilon < _DEEPEST:
            return Staircase.best(k * m.epsilon, m.sensitivity, "l1")
        case Nearest():
            sharper = at_once(m.law, k)
            return None if sharper is None else Nearest(sharper, m.step)
        case Mechanism():
            noise = None if m.channel.noise is None else _sharper(m.channel.noise, k)
            if noise is None:
                return None
            grid = m.inputs
            channel = Additive(noise, *open_ends(grid)) if grid.n is None else closed(grid.n, noise)
            return replace(m, channel=channel, level=Level(Fraction(0)), certificate=None)  # it claims nothing
    return None


def _sharper(noise: DiscreteNoise, k: int) -> DiscreteNoise | None:
    match noise:
        case GeometricNoise(a) if a.denominator.bit_length() * k <= _LONGEST:
            return GeometricNoise(a**k)
        case StaircaseNoise(b, size, _) if b.denominator.bit_length() * k <= _LONGEST:
            return StaircaseNoise.best(b**k, size, "l1")
    return None
