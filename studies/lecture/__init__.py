"""Foundations of Privacy, lecture 7: Laplace and geometric mechanisms, utility, optimal mechanisms."""

from ..frame import Paper

PAPER = Paper(
    "Foundations of Privacy, lecture 7 (slides and exercises)",
    "The utility of a mechanism is what a user gains by guessing from its reports, averaged over the user's prior and with the "
    "best remap of reports to guesses. A gain of 1 for the right guess is called `identity`; D minus the distance, D being the "
    "longest, is called `distance`. a is alpha = e^-epsilon. The slides ask and define more than they claim: what is marked "
    "`solved` is an answer to an exercise, compared with what the library computes.",
)
