"""Pictures of an estimate: the recovered distribution beside the noisy reports, and its distribution function within its band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DiscreetError, RecoveryError, SingularError, SizeError
from ..exact.arithmetic import show
from ..measure.prior import prior_of
from ..present import plot
from .likelihood import Floats

if TYPE_CHECKING:
    from .estimate import Estimate

_GROUPS = 21  # intervals of a picture
_NAMED = 60  # names whose intervals a picture has room for
_DRAWN_NAMES = 30  # names of a picture: the most frequent
_MOST_DRAWN = 5000  # values that a picture has room for
_WAYS = {
    "auto": "regularised",
    "mle": "maximum likelihood",
    "ibu": "iterative Bayesian update",
    "inverse": "inverse channel",
}


def drawn(e: Estimate, kind: Any, confidence: Any, truth: Any, seed: int) -> Any:
    """The picture of an estimate; see Estimate.plot."""
    if kind not in ("distribution", "cdf"):
        raise RecoveryError(f'kind = {show(kind)} is not a picture of an estimate; choose "distribution" or "cdf".')
    size, m = len(e.distribution), e.mechanism
    if not m.inputs.is_ordered:
        if kind == "cdf":
            e._need_order("distribution function")
        return e.top(_DRAWN_NAMES, confidence).plot()
    if max(size, len(e.counts)) > _MOST_DRAWN:
        raise SizeError(f"A distribution over {size} values is too large for a picture; recover it on a coarser grid.")
    values = m.inputs.floats(size)
    law = None if truth is None else prior_of(truth, m.inputs).floats
    what = f"{e.reports:,} reports of {m.recipe.family} on {m.inputs}, recovered by {e.method} ({_WAYS[e.method]})"
    if kind == "cdf":
        return _function(e, values, law, confidence, seed, what)
    if e.ordered:
        title = f"The recovered distribution has mean {e.mean():.4g} and median {e.quantile(0.5)}"
    else:
        often = ", ".join(f"{m.inputs.value(k)} ({e.distribution[k]:.1%})" for k in e.most_frequent()[:3])
        title = f"The most frequent values are {often}"
    if e.atoms:
        title += "; single values stand out: " + ", ".join(f"{v:.4g} ({mass:.0%})" for v, mass in e.atoms[:6])
    title = _warned(e, title)
    held = group_intervals(e, values, confidence)
    of = "groups of values" if e.ordered else "values"
    words = f"\ngrey: {float(confidence):.0%} intervals of {of}, from the reports alone" if held else ""
    noisy = None if not m.outputs.is_ordered else (m.outputs.floats(len(e.counts)), e.counts / e.reports)
    true = None if law is None else (values, law)
    return plot.recovered(values, e.distribution, title, what + words, noisy=noisy, truth=true, intervals=held)


def _warned(e: Estimate, title: str) -> str:
    return (
        title
        if e.fit.holds
        else f"These reports do not fit the mechanism. If it made them: {title[0].lower()}{title[1:]}"
    )


def group_intervals(e: Estimate, values: Floats, confidence: Any) -> list[tuple[float, float, float, float]]:
    """Intervals for the mean probability of a value in each group; none where the reports do not determine them.

    Names have no neighbours: each is a group, up to so many.
    """
    if not e.ordered and len(values) > _NAMED:
        return []
    wide = -(-len(values) // _GROUPS) if e.ordered else 1
    groups = [np.arange(k, min(k + wide, len(values))) for k in range(0, len(values), wide)]
    found = []
    try:
        for group in groups:
            share = np.zeros(len(values))
            share[group] = 1 / len(group)
            found.append((float(values[group[0]]), float(values[group[-1]]), *e.interval(confidence, share)))
    except SingularError:
        return []
    except DiscreetError:
        if e.reports < 2:  # a single report has no standard error
            return []
        raise
    return found


def _function(e: Estimate, values: Floats, law: Floats | None, confidence: Any, seed: int, what: str) -> Any:
    low, high = e.band(confidence, seed=seed)
    series = {"recovered": (values, np.cumsum(e.distribution))}
    if law is not None:
        series["true"] = (values, np.cumsum(law))
    title = f"The whole true distribution function is within the band with {float(confidence):.0%} confidence"
    return plot.curves(
        series,
        _warned(e, title),
        what,
        x="value",
        y="probability of this value or less",
        bands={"recovered": (values, low, high)},
        points=False,
        zero=True,
        stepped=True,
    )
