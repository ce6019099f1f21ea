"""Sharing k reports where it is drawn: intervals against exact answers; and the curves of figure 4."""

from __future__ import annotations

import math

import pytest

import discreet as dt
from discreet.sharing.by_likelihood import Guesser
from discreet.sharing.drawing import Coalition, finite_drawn

OPEN = dt.Grid(None, None)


def test_drawn_intervals_cover_what_is_exact():
    """20 seeds: 95 % intervals of loss and hits around the exact values by types; and not around those of another strategy."""
    m = dt.staircase(6, alpha="1/3", sensitivity=3)
    exact, other = dt.sharing.collude(m, 3, "bayes"), dt.sharing.collude(m, 3, "median")
    guesser = Guesser.of(m, "bayes", "l1", None)
    covered = wrong = right = 0
    for seed in range(20):
        drawn = finite_drawn(m, Coalition(3, "bayes", "l1", runs=4000, seed=seed), guesser)
        low, high = drawn.interval
        covered += low <= exact.expected_loss <= high
        wrong += low <= other.expected_loss <= high
        right += drawn.exact_interval[0] <= exact.exact_answer <= drawn.exact_interval[1]
        assert drawn.likeliest == pytest.approx(exact.median_is_likeliest, abs=0.05)
    assert covered >= 16
    assert right >= 16
    assert wrong <= 4


def test_too_many_types_are_drawn():
    m = dt.explicit_fair(30, alpha="1/2")
    found = dt.sharing.collude(m, 12, "mle", runs=3000, seed=4)
    assert found.runs == 3000
    assert found.interval[0] < found.expected_loss < found.interval[1]
    assert (
        found
        == dt.sharing.collude(m, 12, "mle", runs=3000, seed=4)
        != dt.sharing.collude(m, 12, "mle", runs=3000, seed=5)
    )
    assert (found.level.alpha, found.level.exact) == (found.joint_level.alpha, False)
    assert found.worst is None
    assert sum(found.error_distribution.values()) == pytest.approx(1)
    assert (
        dt.sharing.collude(m, 100, "mle", runs=500).expected_loss < found.expected_loss
    )  # counts, not lists of reports
    assert found.expected_loss < dt.sharing.collude(m, 12).expected_loss


def test_open_geometric_guesses_are_the_median_where_a_theorem_says_so():
    m = dt.geometric(OPEN, alpha="1/2")
    assert dt.sharing.collude(m, 5, "mle").expected_loss == dt.sharing.collude(m, 5).expected_loss
    assert dt.sharing.collude(m, 5, "bayes", "l0").expected_loss == dt.sharing.collude(m, 5, loss="l0").expected_loss


def test_figure_4():
    """Its curves: on the line the error falls like 1/sqrt(k), on integers exponentially, and one report at k epsilon is
    far below both: composition bounds what can be learnt, it does not say that this is learnt."""
    ks = [1, 3, 11, 31, 101]
    laws = {"laplace": dt.noise.laplace(alpha="1/2"), "staircase": dt.noise.staircase(alpha="1/2")}
    curves = dt.sharing.collude({**laws, "geometric": dt.geometric(OPEN, alpha="1/2")}, ks)
    rows = {(row["mechanism"], row["k"]): row for row in curves.rows()}
    for name in ("laplace", "staircase"):
        assert rows[name, 101]["l1"] / rows[name, 11]["l1"] == pytest.approx(math.sqrt(11 / 101), rel=0.15)
        assert rows[name, 101]["l1"] == pytest.approx(rows[name, 101]["for large k"], rel=0.07)
    assert rows["geometric", 101]["l1"] < rows["geometric", 11]["l1"] / 100
    assert rows["geometric", 101]["for large k"] is None  # wrong on whole numbers: more than 100 times too large
    [geometric] = [one for one in curves.found if (one.name, one.k) == ("geometric", 101)]
    assert geometric.large_k > 100 * rows["geometric", 101]["l1"]
    assert all(row["one at k eps"] <= row["l1"] + 1e-12 for row in rows.values())
