"""Cormode, Kulkarni and Srivastava, Constrained private mechanisms for count data (ICDE 2018), by its slides."""

from ..frame import Paper

PAPER = Paper(
    "Cormode, Kulkarni, Srivastava: Constrained private mechanisms for count data (ICDE 2018, slides)",
    "GM is the truncated geometric mechanism, UM guesses, EM is the explicit fair one, WM the weakly honest one (with CM: "
    "column monotone as well). L0 is the probability of a wrong report at a uniform truth, rescaled so that guessing has 1. "
    "S symmetric; RH, RM, CH, CM row and column honest and monotone; F fair; WH weakly honest. a = alpha = e^-epsilon.",
)
