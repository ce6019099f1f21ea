"""Hubs and rays: the Newton matrix in the variables X[i] = hub_i ray_i + rest (why, see folded.py).

The hub of a report is its diagonal entry; rest is 0 there. The ray of report i is the present iterate X[i] over its hub, or
1 at the hub and 0 elsewhere under column monotonicity, where a hub is needed for fairness alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .constraints import Indices, scatter
from .folded import FoldedProgram
from .problem import Floats

_SETTLED = 1e-14  # relative: an inequality whose slack is its left-hand side up to rounding


@dataclass(frozen=True, eq=False)
class OtherHubs:
    """H between free entries and rays of other reports: H[entry, ray of report] is the sum of its values."""

    entry: Indices
    report: Indices
    value: Floats


@dataclass(frozen=True, eq=False)
class HubTerms:
    """What hubs add to the Newton matrix; without hubs all is zero."""

    rays: Floats  # [i, j]: ray_i at truth j
    curvature: Floats  # (hubs, hubs): rays' H rays
    along_own: Floats  # [i, j]: H between X[i, j] and ray_i
    along_others: OtherHubs | None


def hub_terms(
    program: FoldedProgram, weights: Floats, slacks: Floats, x: Floats, infeasible: Floats, damping: float
) -> HubTerms:
    """What H = G' diag(weights) G has along the rays; `infeasible` is G X - s - h.

    With S = G rays, the slopes of the inequalities: curvature = S' diag(weights) S, along_own and along_others are
    G' diag(weights) S. The curvature's diagonal is damped.
    """
    layout, kept = program.layout, program.kept
    reports, entries, hubs, shape = layout.reports, layout.entries, layout.hub_of_report, layout.is_unknown.shape
    if not program.has_hubs:
        return HubTerms(np.zeros(shape), np.zeros((0, 0)), np.zeros(shape), None)
    rays = np.zeros(entries)
    if program.has_rays:
        rays = np.where(layout.is_unknown, x[:entries].reshape(shape) / x[hubs][:, None], 0.0).ravel()
    rays[hubs] = 1.0
    inside = kept.inside
    first, second, factor, report = kept.first[inside], kept.second[inside], kept.factor[inside], kept.report[inside]
    slope = rays[first] - factor * rays[second]
    if program.has_rays:  # G X is the slack itself, free of cancellation, where they differ by rounding alone
        settled = (factor > 0) & (np.abs(infeasible[inside]) <= _SETTLED * (1 + np.abs(x[first])))
        slope = np.where(settled, slacks[inside] / x[hubs][report], slope)
    pull = weights[inside] * slope
    curvature = np.diag(scatter(report, pull * slope, reports))
    along_own = scatter(first, pull * program.first_is_free[inside], entries)
    along_own -= scatter(second, factor * pull * program.second_is_free[inside], entries)
    along_others = _between_reports(program, weights, rays, curvature, along_own) if len(kept.between) else None
    curvature[np.diag_indices(reports)] *= 1 + damping
    return HubTerms(rays.reshape(shape), curvature, along_own.reshape(shape), along_others)


def _between_reports(
    program: FoldedProgram, weights: Floats, rays: Floats, curvature: Floats, along_own: Floats
) -> OtherHubs:
    """The same for inequalities between two reports; `curvature` and `along_own` are added to in place."""
    kept, between, reports, entries = program.kept, program.kept.between, program.layout.reports, program.layout.entries
    first, second, factor, weight = kept.first[between], kept.second[between], kept.factor[between], weights[between]
    one, other = kept.report[between], kept.other_report[between]
    ray, other_ray = rays[first], factor * rays[second]  # slope = ray of one report - other_ray of the other
    places = [one * reports + one, other * reports + other, one * reports + other, other * reports + one]
    mixed = -weight * ray * other_ray
    terms = [weight * ray * ray, weight * other_ray * other_ray, mixed, mixed]
    curvature += scatter(np.concatenate(places), np.concatenate(terms), reports * reports).reshape(reports, reports)
    first_free, second_free = program.first_is_free[between], program.second_is_free[between] * factor
    along_own += scatter(first, weight * ray * first_free, entries) + scatter(
        second, weight * other_ray * second_free, entries
    )
    return OtherHubs(
        np.concatenate([first, second]),
        np.concatenate([other, one]),
        np.concatenate([-weight * other_ray * first_free, -weight * ray * second_free]),
    )
