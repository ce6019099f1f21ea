"""Fernandes, Lefki and Palamidessi, Utility-preserving privacy mechanisms for counting queries (2019)."""

from ..frame import Paper

PAPER = Paper(
    "Fernandes, Lefki, Palamidessi: Utility-preserving privacy mechanisms for counting queries (2019)",
    "True values and reports are 0..100. kRR is randomised response with epsilon ln 2 between any two values; the geometric "
    "mechanism has ln(2)/10 between neighbours, so 10 ln 2 between 0 and 100. The law of the true values is recovered from many "
    "reports: by 5000 steps of the iterative Bayesian update as in the paper, by the exact maximum likelihood (MLE), or by "
    "`auto`. The Kantorovich distance is in values: how far the mass of one law must be moved on average to make it the other.",
)
