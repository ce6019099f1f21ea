"""discreet answers "how many?" without giving anyone away.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import errors as errors
    from . import noise as noise
    from .auditing import audit as audit
    from .derivation import derivable as derivable
    from .designs.making import design as design
    from .designs.weak import weakly_honest as weakly_honest
    from .distances import kantorovich as kantorovich
    from .distances import kl_divergence as kl_divergence
    from .distances import total_variation as total_variation
    from .files import load as load
    from .graphs import query_graph as query_graph
    from .grid import Grid as Grid
    from .level import Level as Level
    from .mechanism import Mechanism as Mechanism
    from .mechanisms.fair import explicit_fair as explicit_fair
    from .mechanisms.geometric import geometric as geometric
    from .mechanisms.laplace import laplace as laplace
    from .mechanisms.matrix import from_matrix as from_matrix
    from .mechanisms.response import randomized_response as randomized_response
    from .mechanisms.rounding import cell_key as cell_key
    from .mechanisms.rounding import random_rounding as random_rounding
    from .mechanisms.rounding import suppression as suppression
    from .mechanisms.staircase import staircase as staircase
    from .mechanisms.uniform import uniform as uniform
    from .neighbours import Neighbours as Neighbours
    from .planning import plan as plan
    from .posteriors import coverage as coverage
    from .posteriors import credible_interval as credible_interval
    from .posteriors import likelihood_interval as likelihood_interval
    from .posteriors import posterior as posterior
    from .posteriors import unbiased as unbiased
    from .privacy import calibrate as calibrate
    from .privacy import check_privacy as check_privacy
    from .recovery.making import recover as recover
    from .remaps import bayes_risk as bayes_risk
    from .remaps import best_remap as best_remap
    from .remaps import user_utility as user_utility
    from .remaps import vulnerability as vulnerability
    from .source import Job as Job
    from .source import insecure_source as insecure_source
    from .structure import explain as explain
    from .structure import properties as properties
    from .sums import exact_mean as exact_mean
    from .sums import exact_sum as exact_sum
    from .tables.ledger import Ledger as Ledger
    from .tables.release import release as release
    from .universality import regret as regret
    from .utility import expected_loss as expected_loss
    from .utility import rmse as rmse
    from .utility import worst_loss as worst_loss

__version__ = "0.1.0"

_HOME = {
    "errors": None,
    "noise": None,
    "audit": "auditing",
    "derivable": "derivation",
    "design": "designs.making",
    "weakly_honest": "designs.weak",
    "kantorovich": "distances",
    "kl_divergence": "distances",
    "total_variation": "distances",
    "load": "files",
    "query_graph": "graphs",
    "Grid": "grid",
    "Level": "level",
    "Mechanism": "mechanism",
    "explicit_fair": "mechanisms.fair",
    "geometric": "mechanisms.geometric",
    "laplace": "mechanisms.laplace",
    "from_matrix": "mechanisms.matrix",
    "randomized_response": "mechanisms.response",
    "cell_key": "mechanisms.rounding",
    "random_rounding": "mechanisms.rounding",
    "suppression": "mechanisms.rounding",
    "staircase": "mechanisms.staircase",
    "uniform": "mechanisms.uniform",
    "Neighbours": "neighbours",
    "plan": "planning",
    "coverage": "posteriors",
    "credible_interval": "posteriors",
    "likelihood_interval": "posteriors",
    "posterior": "posteriors",
    "unbiased": "posteriors",
    "calibrate": "privacy",
    "check_privacy": "privacy",
    "recover": "recovery.making",
    "bayes_risk": "remaps",
    "best_remap": "remaps",
    "user_utility": "remaps",
    "vulnerability": "remaps",
    "Job": "source",
    "insecure_source": "source",
    "explain": "structure",
    "properties": "structure",
    "exact_mean": "sums",
    "exact_sum": "sums",
    "Ledger": "tables.ledger",
    "release": "tables.release",
    "regret": "universality",
    "expected_loss": "utility",
    "rmse": "utility",
    "worst_loss": "utility",
}  # name: the module that has it; None: the name is a module

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    home = _HOME[name]
    value = (
        importlib.import_module(f".{name}", __name__)
        if home is None
        else getattr(importlib.import_module(f".{home}", __name__), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
