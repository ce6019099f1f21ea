"""recover: the distribution of the true values from many reports.

One of the ways is the inverse: r = q C^-1, the distribution that would imply exactly the frequencies seen, brought back
to a distribution where it is none. With more reports than values there need be no such distribution; then r is the unbiased
estimate of each probability, where the channel has one in closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from ..channels import Finite
from ..errors import RecoveryError, SingularError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import positive
from ..mechanism import Procedure, procedure_of
from ..progress import Progress
from ..randomness.provenance import check_drawn_by, drawn_by
from ..randomness.source import is_marked
from .estimate import Estimate
from .ibu import GAP, ibu
from .likelihood import Fit, Floats, certificate, check_possible, mean_log_likelihood
from .shares import GroupEstimates
from .tallies import by_group, counts_of

_SOLVED = 1e-9  # an inverse is one when it implies the frequencies up to this
_REACHED = 1e-9  # a gap below this is none
_ROUNDING = 1e-12  # of the largest entry: what is less below zero is zero


def inverse(channel: Finite, q: Floats) -> Fit:
    """r = q C^-1, or the distribution nearest to it where r has negative entries.

    If r is a distribution it is the maximum likelihood estimate (Fernandes, Lefki and Palamidessi, Proposition 3; true of any
    channel with an inverse): it implies q itself, and no distribution does better. Else the nearest one need not be: the gap says
    how far it may be. O(n) for geometric and randomised-response channels.
    """
    raw = channel.solve(q)
    implies = bool(np.abs(channel.push(raw) - q).max() <= _SOLVED)
    if channel.rows == channel.reports and not implies:
        raise SingularError(
            "The reports do not determine the distribution of the true value: the channel has no inverse that floats can hold; "
            "use a maximum likelihood estimate."
        )
    negative = int(np.count_nonzero(raw < -_ROUNDING * np.abs(raw).max()))
    law = to_simplex(raw) if negative else np.maximum(raw, 0.0) / np.maximum(raw, 0.0).sum()
    gap = certificate(channel, q, law)
    if negative:
        entries = f"{negative} of {len(raw)} entries of the inverse {'is' if negative == 1 else 'are'} negative"
        reached = "The maximum likelihood may be higher by the gap"
        if gap < _REACHED:
            reached = "The certificate shows that it is the maximum all the same"
        note = f"{entries}; moved to the nearest distribution. {reached} (Proposition 3 does not apply)."
    elif implies:
        note = "The inverse has no negative entry, so it is the maximum likelihood estimate (Proposition 3)."
    else:
        note = (
            "No estimate is negative. There are more reports than values, so the likelihood may be higher by the gap."
        )
    return Fit(law, gap, notes=(note,), unique=True if implies and not negative else None)


def to_simplex(r: Floats) -> Floats:
    """The distribution nearest to r in Euclidean distance: max(r - t, 0), with the t that makes it sum to 1."""
    falling = np.sort(r)[::-1]
    thresholds = (np.cumsum(falling) - 1.0) / np.arange(1, len(r) + 1)
    t = thresholds[np.flatnonzero(falling > thresholds)[-1]]
    law = np.maximum(r - t, 0.0)
    return np.asarray(law / law.sum())


_OPTIONS = {  # the options that each method understands
    "auto": ("gap",),
    "mle": ("gap",),
    "ibu": ("iterations", "gap", "start", "accelerate"),
    "inverse": (),
}
_TIGHT = 1e-9


class _Options(TypedDict, total=False):
    kind: str
    ordered: bool | None
    iterations: int | None
    gap: Rational | None
    start: Any
    accelerate: bool | None
    progress: Progress | None


@overload
def recover(
    reports: Any, mechanism: Procedure, method: str = ..., *, by: None = ..., **options: Unpack[_Options]
) -> Estimate: ...
@overload
def recover(
    reports: Any, mechanism: Procedure, method: str = ..., *, by: str | Sequence[str], **options: Unpack[_Options]
) -> GroupEstimates: ...
def recover(
    reports: Any,
    mechanism: Procedure,
    method: str = "auto",
    *,
    by: str | Sequence[str] | None = None,
    kind: str = "auto",
    ordered: bool | None = None,
    iterations: int | None = None,
    gap: Rational | None = None,
    start: Any = None,
    accelerate: bool | None = None,
    progress: Progress | None = None,
) -> Estimate | GroupEstimates:
    """The distribution of the true values behind many reports of one mechanism.

    `reports` is a histogram with one count for each report, a mapping {report: count}, a tally as `perturb` makes it, or the
    reports themselves in a list, array or Series; `kind` says which where that is not clear (see discreet.recovery.tallies).
    Methods:

        "auto"      a regularised distribution: how far to go towards the maximum likelihood is decided on the reports; for most
                    truths it is nearer to them than the likeliest distribution is
        "mle"       the maximum likelihood estimate, certified to `gap`
        "ibu"       the iterative Bayesian update: exactly `iterations` steps from `start` (uniform unless you say
                    otherwise), or until the certificate meets `gap` (1e-6 unless you say otherwise; accelerated unless
                    accelerate=False)
        "inverse"   q C^-1, or the nearest distribution where it is none

    `ordered` says whether the values are numbers in their order, or names that happen to have numbers: brands, diagnoses. Unless
    you say, it is True where the mechanism itself knows distances (geometric, Laplace, staircase, square wave), and False
    where it treats all values alike (randomised response): for ages or incomes by randomised response say ordered=True. "auto"
    then takes values next to each other to be alike; for names it gives the same distribution in every numbering, and
    no mean is printed.

    Where answers are names there is no order: `shares` and `top` have their shares with intervals and ranks that hold together,
    `difference` compares two estimates. With `by`, a tally by groups (see tally) gives an estimate for each group.

    Reports are private already, so this costs no privacy. A tally that says that another mechanism drew it is refused.

    >>> import discreet as dt
    >>> e = dt.recover([2500, 2000, 2000, 1500, 2000], dt.geometric(4, alpha="1/2"), method="inverse")
    >>> e.distribution.round(6).tolist(), e.gap < 1e-12       # Proposition 3: the maximum likelihood estimate
    ([0.1, 0.35, 0.3, 0.15, 0.1], True)
    >>> low, high = e.interval(0.95)                          # of the mean, from the reports alone
    >>> round(low, 3), round(e.mean(), 3), round(high, 3)
    (1.759, 1.8, 1.841)
    """
    procedure_of(mechanism, RecoveryError)
    if (said := drawn_by(reports)) is not None:
        check_drawn_by(said, mechanism.digest, RecoveryError)
    if by is not None:
        asked = _Options(kind=kind, ordered=ordered, progress=progress)
        asked |= _Options(iterations=iterations, gap=gap, start=start, accelerate=accelerate)
        columns, insecure = (by,) if isinstance(by, str) else tuple(by), is_marked(reports)
        found = {group: recover(part, mechanism, method, **asked) for group, part in by_group(reports, columns).items()}
        marked = tuple((group, replace(e, insecure=insecure)) for group, e in found.items())
        return GroupEstimates(columns, marked, insecure)
    if not isinstance(method, str) or method not in _OPTIONS:
        raise RecoveryError(f'method = {show(method)} must be "auto", "mle", "ibu" or "inverse".')
    given = {"iterations": iterations, "gap": gap, "start": start, "accelerate": accelerate}
    for name, value in given.items():
        if value is not None and name not in _OPTIONS[method]:
            takers = " or ".join(f'"{other}"' for other, names in _OPTIONS.items() if name in names)
            raise RecoveryError(f'{name} is for method={takers}, not "{method}"; leave it out.')
    gap = None if gap is None else float(positive(gap, "gap", example=GAP, error=RecoveryError))
    if ordered is not None and not isinstance(ordered, (bool, np.bool_)):
        raise RecoveryError(f"ordered = {show(ordered)} must be True (numbers in their order) or False (names).")
    if ordered and not mechanism.inputs.is_ordered:
        raise RecoveryError("Names have no order; leave out ordered=True.")
    counts, could_be_reports = counts_of(reports, mechanism, kind)
    notes: tuple[str, ...] = ()
    if could_be_reports:
        notes = ('Read as a histogram; if these are the reports themselves, set kind="reports".',)
    channel = mechanism.finite()
    in_order = (mechanism.inputs.is_ordered and channel.knows_distances) if ordered is None else bool(ordered)
    q = counts / counts.sum()
    check_possible(channel, q)
    fit: Fit
    match method:
        case "inverse":
            fit = inverse(channel, q)
        case "ibu":
            fast = iterations is None if accelerate is None else accelerate
            fit = ibu(channel, q, start=start, iterations=iterations, gap=gap, accelerate=fast, progress=progress)
        case "mle":
            from .mle import mle

            fit = mle(channel, q, gap=_TIGHT if gap is None else gap, progress=progress)
        case _:
            from .auto import auto

            fit = auto(channel, counts, ordered=in_order, gap=_TIGHT if gap is None else gap, progress=progress)
    likelihood = mean_log_likelihood(channel, q, fit.law) * int(counts.sum())
    return Estimate(
        mechanism,
        counts,
        method,
        fit.law,
        fit.gap,
        likelihood,
        fit.iterations,
        fit.trace,
        (*fit.notes, *notes),
        fit.unique,
        fit.atoms,
        in_order,
        ordered is not None,
        is_marked(reports),
    )
