"""discreet answers "how many?" without giving anyone away.

The public names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # as typing has it, which takes longer to load than all of this
if TYPE_CHECKING:
    from . import errors as errors
    from . import noise as noise
    from .collect.perturbing import Perturbed as Perturbed
    from .collect.perturbing import perturb as perturb
    from .collect.perturbing import perturb_file as perturb_file
    from .collect.tallying import tally as tally
    from .designs.design import Design as Design
    from .designs.design import design as design
    from .designs.families import Priors as Priors
    from .designs.ties import uniqueness as uniqueness
    from .designs.weakly_honest import weakly_honest as weakly_honest
    from .exact.grid import Grid as Grid
    from .exact.level import Level as Level
    from .exact.neighbours import Neighbours as Neighbours
    from .files import load as load
    from .ledger.chain import Balance as Balance
    from .ledger.ledger import Ledger as Ledger
    from .measure.auditing import Audit as Audit
    from .measure.auditing import audit as audit
    from .measure.description import describe as describe
    from .measure.distances import kantorovich as kantorovich
    from .measure.distances import kl_divergence as kl_divergence
    from .measure.distances import total_variation as total_variation
    from .measure.loss import Loss as Loss
    from .measure.posteriors import coverage as coverage
    from .measure.posteriors import credible_interval as credible_interval
    from .measure.posteriors import likelihood_interval as likelihood_interval
    from .measure.posteriors import posterior as posterior
    from .measure.posteriors import unbiased as unbiased
    from .measure.prior import Prior as Prior
    from .measure.privacy import Verdict as Verdict
    from .measure.privacy import calibrate as calibrate
    from .measure.privacy import check_privacy as check_privacy
    from .measure.properties import explain as explain
    from .measure.properties import properties as properties
    from .measure.remaps import bayes_risk as bayes_risk
    from .measure.remaps import best_remap as best_remap
    from .measure.remaps import user_utility as user_utility
    from .measure.remaps import vulnerability as vulnerability
    from .measure.utility import expected_loss as expected_loss
    from .measure.utility import rmse as rmse
    from .measure.utility import worst_loss as worst_loss
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
    from .mechanisms.two_stage import rounded as rounded
    from .mechanisms.uniform import uniform as uniform
    from .mechanisms.wave import square_wave as square_wave
    from .planning.choices import Plan as Plan
    from .planning.compare import Comparison as Comparison
    from .planning.compare import compare as compare
    from .planning.plan import plan as plan
    from .randomness.source import Job as Job
    from .randomness.source import insecure_source as insecure_source
    from .recovery.estimate import Estimate as Estimate
    from .recovery.recover import recover as recover
    from .scalar.calculator import Sensitivity as Sensitivity
    from .scalar.calculator import sensitivity as sensitivity
    from .scalar.curves import Tradeoff as Tradeoff
    from .scalar.curves import tradeoff as tradeoff
    from .scalar.private import PrivateNumber as PrivateNumber
    from .scalar.queries import Query as Query
    from .scalar.queries import query as query
    from .scalar.refinement import continuous_bounds as continuous_bounds
    from .scalar.smooth_law import SmoothLaw as SmoothLaw
    from .scalar.smooth_law import SmoothReport as SmoothReport
    from .scalar.splits import Admissible as Admissible
    from .scalar.splits import admissible as admissible
    from .scalar.sums import exact_mean as exact_mean
    from .scalar.sums import exact_sum as exact_sum
    from .sharing.cascades import Cascade as Cascade
    from .sharing.cascades import cascade as cascade
    from .sharing.collusion import Collusion as Collusion
    from .sharing.collusion import collude as collude
    from .sharing.composition import Composition as Composition
    from .sharing.composition import compose as compose
    from .sharing.recalibration import Recalibration as Recalibration
    from .sharing.recalibration import recalibrate as recalibrate
    from .sharing.stored import CascadeReports as CascadeReports
    from .studies.shelf import study as study
    from .tables.admission import Look as Look
    from .tables.admission import look as look
    from .tables.audiences import Audiences as Audiences
    from .tables.checking import check_release as check_release
    from .tables.release import release as release
    from .tables.results import Release as Release
    from .theory.derivable import derivable as derivable
    from .theory.graphs import query_graph as query_graph
    from .theory.minimax import minimax_remap as minimax_remap
    from .theory.regret import regret as regret

if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_HOME = {
    "errors": None,
    "noise": None,
    "Perturbed": "collect.perturbing",
    "perturb": "collect.perturbing",
    "perturb_file": "collect.perturbing",
    "tally": "collect.tallying",
    "Audit": "measure.auditing",
    "Balance": "ledger.chain",
    "Design": "designs.design",
    "Estimate": "recovery.estimate",
    "Loss": "measure.loss",
    "Prior": "measure.prior",
    "Priors": "designs.families",
    "Release": "tables.results",
    "Audiences": "tables.audiences",
    "Verdict": "measure.privacy",
    "audit": "measure.auditing",
    "describe": "measure.description",
    "derivable": "theory.derivable",
    "Composition": "sharing.composition",
    "compose": "sharing.composition",
    "Recalibration": "sharing.recalibration",
    "recalibrate": "sharing.recalibration",
    "design": "designs.design",
    "uniqueness": "designs.ties",
    "weakly_honest": "designs.weakly_honest",
    "kantorovich": "measure.distances",
    "kl_divergence": "measure.distances",
    "total_variation": "measure.distances",
    "load": "files",
    "query_graph": "theory.graphs",
    "Grid": "exact.grid",
    "Level": "exact.level",
    "Mechanism": "mechanism",
    "explicit_fair": "mechanisms.fair",
    "geometric": "mechanisms.geometric",
    "laplace": "mechanisms.laplace",
    "from_matrix": "mechanisms.matrix",
    "randomized_response": "mechanisms.response",
    "square_wave": "mechanisms.wave",
    "cell_key": "mechanisms.rounding",
    "random_rounding": "mechanisms.rounding",
    "suppression": "mechanisms.rounding",
    "staircase": "mechanisms.staircase",
    "rounded": "mechanisms.two_stage",
    "uniform": "mechanisms.uniform",
    "Neighbours": "exact.neighbours",
    "Plan": "planning.choices",
    "Comparison": "planning.compare",
    "compare": "planning.compare",
    "plan": "planning.plan",
    "coverage": "measure.posteriors",
    "credible_interval": "measure.posteriors",
    "likelihood_interval": "measure.posteriors",
    "posterior": "measure.posteriors",
    "unbiased": "measure.posteriors",
    "calibrate": "measure.privacy",
    "check_privacy": "measure.privacy",
    "recover": "recovery.recover",
    "bayes_risk": "measure.remaps",
    "best_remap": "measure.remaps",
    "user_utility": "measure.remaps",
    "vulnerability": "measure.remaps",
    "Job": "randomness.source",
    "insecure_source": "randomness.source",
    "explain": "measure.properties",
    "properties": "measure.properties",
    "Sensitivity": "scalar.calculator",
    "sensitivity": "scalar.calculator",
    "PrivateNumber": "scalar.private",
    "Query": "scalar.queries",
    "query": "scalar.queries",
    "SmoothLaw": "scalar.smooth_law",
    "SmoothReport": "scalar.smooth_law",
    "Admissible": "scalar.splits",
    "admissible": "scalar.splits",
    "Tradeoff": "scalar.curves",
    "tradeoff": "scalar.curves",
    "continuous_bounds": "scalar.refinement",
    "exact_mean": "scalar.sums",
    "exact_sum": "scalar.sums",
    "Cascade": "sharing.cascades",
    "CascadeReports": "sharing.stored",
    "cascade": "sharing.cascades",
    "Collusion": "sharing.collusion",
    "collude": "sharing.collusion",
    "study": "studies.shelf",
    "Ledger": "ledger.ledger",
    "Look": "tables.admission",
    "look": "tables.admission",
    "check_release": "tables.checking",
    "release": "tables.release",
    "minimax_remap": "theory.minimax",
    "regret": "theory.regret",
    "expected_loss": "measure.utility",
    "rmse": "measure.utility",
    "worst_loss": "measure.utility",
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
