"""Chen, Pal and Golubchik, Oblivious mechanisms in differential privacy: experiments, conjectures, and open questions (2016)."""

from ..frame import Paper

PAPER = Paper(
    "Chen, Pal, Golubchik: Oblivious mechanisms in differential privacy: experiments, conjectures, and open questions (2016)",
    "a is alpha = e^-epsilon, D the sensitivity. The loss is the mean |error|, divided by D unless said otherwise. Means and "
    "maxima are numbers on the line; counts are whole numbers with D = 1, and Laplace and staircase noise are rounded for them. "
    "The heuristic rounds an answer on -10..10 to -10, 0 or 10 and adds geometric noise in steps of D = 10. Side information "
    "is a prior: N(0, 1) for the mean, that of the largest of 100 uniform records for the maximum; answers are real numbers "
    "on [-10, 10]. There D = 10 is what the paper declares: of 100 records on [-10, 10] the sensitivity of the maximum is 20, "
    "that of the mean 1/5.",
)
