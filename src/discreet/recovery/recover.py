"""recover: the law of the true values from many reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import RecoveryError
from ..exact.aliases import Rational
from ..exact.arithmetic import show
from ..exact.given import positive
from ..mechanism import Procedure, procedure_of
from ..progress import Progress
from ..randomness.source import FROM_SEED, is_marked
from .counts import could_be_reports, histogram_of
from .estimate import Estimate
from .ibu import GAP, ibu
from .inverse import inverse
from .likelihood import Fit, check_possible, mean_log_likelihood

_OPTIONS = {  # the options that each method understands
    "auto": ("gap",),
    "mle": ("gap",),
    "ibu": ("iterations", "gap", "start", "accelerate"),
    "inverse": ("projection",),
}
_TIGHT = 1e-9


def recover(
    reports: Any,
    mechanism: Procedure,
    method: str = "auto",
    *,
    kind: str = "auto",
    iterations: int | None = None,
    gap: Rational | None = None,
    start: Any = None,
    projection: str | None = None,
    accelerate: bool | None = None,
    progress: Progress | None = None,
) -> Estimate:
    """The law of the true values behind many reports of one mechanism.

    `reports` is a histogram with one count for each report, a mapping {report: count}, a tally as `perturb` makes it, or the
    reports themselves in a list, array or Series; `kind` says which where that is not clear (see discreet.recovery.counts).
    Methods:

        "auto"      a regularised law: how far to go towards the maximum likelihood is decided on the reports; for most
                    truths it is nearer to them than the likeliest law is
        "mle"       the maximum likelihood estimate, certified to `gap`
        "ibu"       the iterative Bayesian update: exactly `iterations` steps from `start` (uniform unless you say
                    otherwise), or until the certificate meets `gap` (1e-6 unless you say otherwise; accelerated unless
                    accelerate=False)
        "inverse"   q C^-1, with `projection` "simplex", "clip" or "none" where it is no law

    Reports are private already, so this costs no privacy.

    >>> import discreet as dt
    >>> e = dt.recover([2500, 2000, 2000, 1500, 2000], dt.geometric(4, alpha="1/2"), method="inverse")
    >>> e.distribution.round(6).tolist(), e.gap < 1e-12       # Proposition 3: the maximum likelihood estimate
    ([0.1, 0.35, 0.3, 0.15, 0.1], True)
    >>> low, high = e.interval(0.95)                          # of the mean, from the reports alone
    >>> round(low, 3), round(e.mean(), 3), round(high, 3)
    (1.759, 1.8, 1.841)
    """
    procedure_of(mechanism, RecoveryError)
    if not isinstance(method, str) or method not in _OPTIONS:
        raise RecoveryError(f'method = {show(method)} must be "auto", "mle", "ibu" or "inverse".')
    given = {"iterations": iterations, "gap": gap, "start": start, "projection": projection, "accelerate": accelerate}
    for name, value in given.items():
        if value is not None and name not in _OPTIONS[method]:
            takers = " or ".join(f'"{other}"' for other, names in _OPTIONS.items() if name in names)
            raise RecoveryError(f'{name} is for method={takers}, not "{method}"; leave it out.')
    gap = None if gap is None else float(positive(gap, "gap", example=GAP, error=RecoveryError))
    counts = histogram_of(reports, mechanism, kind)
    notes: tuple[str, ...] = ()
    as_histogram = kind == "auto" and not isinstance(reports, Mapping) and np.size(reports) == len(counts)
    if as_histogram and could_be_reports(counts, mechanism.outputs):
        notes = ('Read as a histogram; if these are the reports themselves, set kind="reports".',)
    if is_marked(reports):
        notes = (*notes, FROM_SEED)
    channel = mechanism.finite()
    q = counts / counts.sum()
    check_possible(channel, q)
    fit: Fit
    match method:
        case "inverse":
            fit = inverse(channel, q, projection="simplex" if projection is None else projection)
        case "ibu":
            fast = iterations is None if accelerate is None else accelerate
            fit = ibu(channel, q, start=start, iterations=iterations, gap=gap, accelerate=fast, progress=progress)
        case "mle":
            from .mle import mle

            fit = mle(channel, q, gap=_TIGHT if gap is None else gap, progress=progress)
        case _:
            from .auto import auto

            fit = auto(channel, counts, gap=_TIGHT if gap is None else gap, progress=progress)
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
    )
