"""Best remaps: against all remaps, against linear programs over all private mechanisms, and fast against exact."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DiscreetError, LossError, SizeError
from discreet.measure import remaps
from discreet.measure.loss import Loss, loss_of
from tests import reference
from tests.profiles import examples
from tests.strategies import mechanisms
from tests.work import lines_of

HALF = Fraction(1, 2)


def cost(m: dt.Mechanism, prior: list[Fraction], loss: Loss, remap: list[int]) -> Fraction:
    """The expected loss of one remap, from its definition."""
    channel = m.finite()
    return sum(
        prior[i] * channel.entry(i, r) * Fraction(int(loss.numerators[i, w]), loss.denominator)
        for i in range(channel.rows)
        for r, w in enumerate(remap)
    )


def draw_prior(data, size: int) -> list[Fraction]:
    weights = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    return [Fraction(w, sum(weights)) for w in weights]


# Small channels, exactly


@settings(max_examples=examples(60))
@given(mechanisms(max_n=3), st.sampled_from(["l0", "l1", "l2", "tail(1)", "asymmetric(1, 3)"]), st.data())
def test_no_remap_is_better_and_the_first_of_the_best_is_taken(m, name, data):
    """Report by report: every guess is tried, in Fractions."""
    channel, loss = m.finite(), loss_of(name, m.inputs, m.inputs)
    prior, best, risk = draw_prior(data, channel.rows), [], Fraction(0)
    for r in range(channel.reports):
        costs = [
            sum(
                prior[i] * channel.entry(i, r) * Fraction(int(loss.numerators[i, w]), loss.denominator)
                for i in range(channel.rows)
            )
            for w in range(channel.rows)
        ]
        best.append(m.inputs.value(costs.index(min(costs))))
        risk += min(costs)
    assert dt.measure.best_remap(m, name, prior) == best
    assert dt.measure.bayes_risk(m, name, prior, exact=True) == risk
    assert dt.measure.bayes_risk(m, name, prior) == float(risk)


def test_integers_beyond_64_bits_are_multiplied_whatever_the_loss_is():
    """Also where every loss is zero, and the weights alone do not fit."""
    weights = np.array([[2**70, 1], [5, 2**63]], dtype=object)
    for prices in ([[0], [0]], [[1], [2]], [[2**65], [-3]]):
        must = [[sum(int(weights[i, r]) * prices[i][0] for i in range(2))] for r in range(2)]
        assert remaps._product(weights, np.array(prices, dtype=object)).tolist() == must


def test_all_remaps_of_a_small_mechanism():
    m, prior = dt.geometric(3, alpha="2/3"), [Fraction(k, 10) for k in (1, 2, 3, 4)]
    for name in ("l0", "l1", "l2", "threshold(2)"):
        loss = loss_of(name, m.inputs, m.inputs)
        least = min(cost(m, prior, loss, list(r)) for r in product(range(4), repeat=4))
        assert dt.measure.bayes_risk(m, name, prior, exact=True) == least
        assert cost(m, prior, loss, dt.measure.best_remap(m, name, prior)) == least


def test_the_contract():
    g = dt.geometric(4, alpha="1/2")
    assert dt.measure.best_remap(g, "l2") == [1, 1, 2, 3, 3]
    assert dt.measure.bayes_risk(g, exact=True) == Fraction(8, 15)
    assert abs(dt.measure.bayes_risk(g) - 8 / 15) < 1e-15
    assert dt.theory.vulnerability(g, exact=True) == Fraction(7, 15)


@pytest.mark.parametrize("n", [1, 2, 4, 9])
@pytest.mark.parametrize("a", [Fraction(1, 3), HALF, Fraction(9, 10)])
def test_the_utility_of_the_geometric_mechanism(n, a):
    """Exercise 4: U = ((n+1) - (n-1)a) / ((n+1)(1+a)) for the uniform prior and the identity."""
    g = dt.geometric(n, alpha=a)
    assert dt.theory.user_utility(g, exact=True) == ((n + 1) - (n - 1) * a) / ((n + 1) * (1 + a))
    assert dt.theory.user_utility(g) == pytest.approx(dt.theory.vulnerability(g), abs=1e-15)
    assert dt.theory.user_utility(dt.uniform(n), exact=True) == Fraction(1, n + 1)  # exercise 6: lower


def test_the_utility_by_distance_is_the_span_minus_the_distance():
    """Exercise 5, with the remap: D minus the smallest expected distance."""
    for g in (dt.geometric(5, alpha="3/4"), dt.explicit_fair(dt.Grid(0, 2, "1/2"), alpha="3/4")):
        span = g.inputs.high - g.inputs.low
        assert dt.theory.user_utility(g, gain="distance", exact=True) == span - dt.measure.bayes_risk(
            g, loss="l1", exact=True
        )
        as_function = dt.theory.user_utility(g, gain=lambda t, w, span=span: span - abs(t - w), exact=True)
        assert as_function == dt.theory.user_utility(g, gain="distance", exact=True)
    negative = dt.theory.user_utility(g, gain=lambda t, w: -abs(t - w), exact=True)
    assert negative == dt.theory.user_utility(g, gain="distance", exact=True) - span


@settings(max_examples=examples(40))
@given(st.integers(2, 5), st.integers(1, 4), st.data())
def test_the_utility_of_any_channel_from_databases(databases, reports, data):
    """Against the maximum over all remaps, database by database; the query need not be one to one."""
    rows = [
        [Fraction(w, sum(row)) for w in row]
        for row in (
            data.draw(st.lists(st.integers(0, 5), min_size=reports, max_size=reports).filter(any))
            for _ in range(databases)
        )
    ]
    query = data.draw(st.lists(st.integers(0, 2), min_size=databases, max_size=databases))
    prior, answers = draw_prior(data, databases), sorted(set(query))
    for gain, rule in (
        ("identity", lambda y, w: int(y == w)),
        ("distance", lambda y, w: answers[-1] - answers[0] - abs(y - w)),
        (lambda y, w: y - 2 * w, lambda y, w: y - 2 * w),
    ):
        best = max(
            sum(prior[x] * rows[x][z] * rule(query[x], guess[z]) for x in range(databases) for z in range(reports))
            for guess in product(answers, repeat=reports)
        )
        assert dt.theory.user_utility(rows, gain, prior, query=query, exact=True) == best
        table = [[rule(y, w) for w in answers] for y in answers]
        assert dt.theory.user_utility(rows, table, prior, query=query) == pytest.approx(float(best), abs=1e-15)


def test_an_oblivious_channel_over_databases_is_its_mechanism():
    """Two people: four databases, the count as the query, the prior of the count from that of the databases."""
    g, query = dt.geometric(2, alpha="1/2"), [0, 1, 1, 2]
    rows = [[g.finite().entry(y, z) for z in range(3)] for y in query]
    assert dt.theory.user_utility(rows, query=query, exact=True) == dt.theory.user_utility(
        g, ["1/4", "1/2", "1/4"], exact=True
    )
    floats = dt.theory.user_utility(g.matrix[query], query=query)
    assert floats == pytest.approx(dt.theory.user_utility(g, "binomial(0.5)"), abs=1e-12)


def test_post_processing_cannot_raise_utility():
    """Exercise 7: it may lower it, and the best remap does not."""
    g = dt.geometric(4, alpha="1/2")
    merged = g.remap([0, 0, 2, 4, 4])
    assert dt.theory.vulnerability(merged, exact=True) < dt.theory.vulnerability(g, exact=True)
    kept = g.remap(dt.measure.best_remap(g, "l1", "binomial(0.3)"))
    assert dt.measure.bayes_risk(kept, "l1", "binomial(0.3)") == pytest.approx(
        dt.measure.bayes_risk(g, "l1", "binomial(0.3)"), abs=1e-14
    )
    assert dt.expected_loss(kept, "l1", "binomial(0.3)") == pytest.approx(
        dt.measure.bayes_risk(g, "l1", "binomial(0.3)"), abs=1e-14
    )


# No private mechanism is better for anyone (Ghosh, Roughgarden and Sundararajan 2009)


def monotone_loss(rng: np.random.Generator, n: int) -> np.ndarray:
    """Any loss that does not fall as the report moves away from the truth; neither convex nor symmetric."""
    steps = rng.exponential(size=(n + 1, n + 1)) * rng.integers(0, 2, (n + 1, n + 1))
    loss = np.zeros((n + 1, n + 1))
    for i in range(n + 1):
        loss[i, i + 1 :] = np.cumsum(steps[i, i + 1 :])
        loss[i, :i] = np.cumsum(steps[i, :i][::-1])[::-1]
    return loss


def least_over_all_private_mechanisms(prior: np.ndarray, loss: np.ndarray, a: float) -> float:
    from scipy.optimize import linprog

    size = len(prior)
    rows, bounds = [], []
    for i, j, r in product(range(size), range(size), range(size)):
        if abs(i - j) == 1:  # a C[i, r] <= C[j, r]
            row = np.zeros((size, size))
            row[i, r], row[j, r] = a, -1
            rows.append(row.ravel())
            bounds.append(0.0)
    sums = np.kron(np.eye(size), np.ones(size))
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        (prior[:, None] * loss).ravel(), np.array(rows), bounds, sums, np.ones(size), method="highs", options=options
    )
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize("seed", range(8))
def test_the_remapped_geometric_is_as_good_as_any_private_mechanism(seed):
    rng = np.random.default_rng(seed)
    n, a = int(rng.integers(2, 7)), float(rng.choice([0.3, 0.5, 0.8, 0.95]))
    prior, loss = rng.dirichlet(np.ones(n + 1)), monotone_loss(rng, n)
    g = dt.geometric(n, alpha=a)
    risk = dt.measure.bayes_risk(g, loss, prior)
    assert risk == pytest.approx(least_over_all_private_mechanisms(prior, loss, a), abs=1e-8)
    assert np.all(np.diff(dt.measure.best_remap(g, loss, prior)) >= 0)  # nondecreasing


def test_a_weaker_mechanism_is_worse_for_someone():
    """Negative control: the explicit fair mechanism is private at the same level, and not universally optimal."""
    prior, loss = np.full(5, 0.2), loss_of("l1", dt.Grid(0, 4), dt.Grid(0, 4)).floats
    best = least_over_all_private_mechanisms(prior, loss, 0.5)
    assert dt.measure.bayes_risk(dt.explicit_fair(4, alpha="1/2"), "l1", prior) > best + 1e-3


@settings(max_examples=examples(60))
@given(st.integers(1, 9), st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50), st.data())
def test_the_geometric_remap_never_falls(n, a, data):
    g, prior = dt.geometric(n, alpha=a), draw_prior(data, n + 1)
    for loss in ("l0", "l1", "l2", "tail(1)", "asymmetric(1, 3)", "threshold(2)"):
        assert np.all(np.diff(np.array(dt.measure.best_remap(g, loss, prior), dtype=float)) >= 0)


# Fast against exact


@pytest.fixture
def in_floats(monkeypatch):
    """Nothing is small enough for integers."""
    monkeypatch.setattr(remaps, "_EXACT", 0)


@pytest.mark.usefixtures("in_floats")
@settings(max_examples=examples(60))
@given(st.integers(1, 14), st.sampled_from(["1/1000", "1/2", "9/10", "9999/10000"]), st.data())
def test_recursions_find_a_best_remap(n, a, data):
    """A tie may go either way, so compare what the remap costs, in Fractions."""
    step = data.draw(st.sampled_from([Fraction(1), Fraction(1, 3)]))
    g, prior = dt.geometric(dt.Grid(-1, -1 + n * step, step), alpha=a), draw_prior(data, n + 1)
    for name in ("l0", "l1", "l2", "lp(3)", "tail(1)", "asymmetric(1, 3)"):
        loss = loss_of(name, g.inputs, g.inputs)
        places = [g.inputs.position(w) for w in dt.measure.best_remap(g, name, prior)]
        least = dt.measure.bayes_risk(g, name, prior, exact=True)
        assert float(cost(g, prior, loss, places)) == pytest.approx(float(least), rel=1e-9, abs=1e-12)
        assert dt.measure.bayes_risk(g, name, prior) == pytest.approx(float(least), rel=1e-8, abs=1e-9)


@pytest.mark.usefixtures("in_floats")
def test_matrices_in_floats_are_those_in_integers():
    m = dt.explicit_fair(12, alpha="4/5")
    for name in ("l0", "l1", "l2"):
        assert dt.measure.bayes_risk(m, name, "binomial(0.3)") == pytest.approx(
            float(dt.measure.bayes_risk(m, name, "binomial(0.3)", exact=True)), rel=1e-12
        )


@pytest.mark.parametrize("loss", ["l0", "l1", "l2"])
def test_fast_ways_are_the_general_one(loss):
    """The three O(n) ways against the recursions for every guess, at a size that integers do not reach."""
    g = dt.geometric(300, alpha="19/20")
    for prior in (None, "binomial(0.3)", "normal(100, 5)", {0: "1/3", 290: "2/3"}):
        written = loss_of(loss, g.inputs, g.inputs)
        assert dt.measure.best_remap(g, loss, prior) == dt.measure.best_remap(g, written, prior)
        assert dt.measure.bayes_risk(g, loss, prior) == pytest.approx(
            dt.measure.bayes_risk(g, written, prior), rel=1e-9
        )


@pytest.mark.parametrize("loss", ["l0", "l1", "l2", "asymmetric(1, 3)"])
def test_reports_beyond_the_smallest_float_are_read_as_well(loss):
    """Pr[report 0 | truth 1500] = 2^-1500: no float, and yet the truth is known."""
    g = dt.geometric(1500, alpha="1/2")
    assert set(dt.measure.best_remap(g, loss, {1500: 1})) == {1500}
    assert dt.measure.bayes_risk(g, loss, {1500: 1}) == pytest.approx(0, abs=1e-6)
    read = dt.measure.best_remap(g, "l0", {0: "1/2", 1499: "1/2"})
    assert read == [0] * 750 + [1499] * 751


def test_many_reports_take_one_step_each():
    n = 10**5
    g, remaps = dt.geometric(n, alpha="1/2"), []
    for loss in ("l2", "l0"):
        lines_of(lambda loss=loss: remaps.append(dt.measure.best_remap(g, loss)), most=2 * n)
    # far from the ends the posterior is symmetric; at the end its mean is sum k 2^-k / sum 2^-k = 1
    assert remaps[0][:1] == [1]
    assert remaps[0][100 : n - 99] == list(range(100, n - 99))
    assert remaps[1] == list(range(n + 1))


def test_guesses_may_live_elsewhere():
    m = dt.traditional.random_rounding(9, base=3)
    assert set(dt.measure.best_remap(m, "l1", guesses=dt.Grid(0, 9, 3))) <= {0, 3, 6, 9}
    assert dt.measure.bayes_risk(m, loss="l1") <= dt.measure.bayes_risk(m, loss="l1", guesses=dt.Grid(0, 9, 3))


def test_refusals_say_the_next_move():
    g = dt.geometric(4, alpha="1/2")
    with pytest.raises(SizeError, match="exact=False"):
        dt.measure.bayes_risk(dt.geometric(500, alpha="1/2"), exact=True)
    with pytest.raises(SizeError, match="truncate"):
        dt.measure.best_remap(dt.geometric(dt.Grid(None, None), alpha="1/2"), "l1")
    with pytest.raises(LossError, match="smaller grids"):
        dt.measure.best_remap(dt.geometric(10**5, alpha="1/2"), "lp(3)")
    with pytest.raises(LossError, match="leave query out"):
        dt.theory.user_utility(g, query=[0, 1, 2, 3, 4])
    with pytest.raises(LossError, match="identity"):
        dt.theory.user_utility(g, gain="same")
    rows = [[0.5, 0.5], [0.25, 0.75]]
    for wrong, words in (
        ({"query": None}, "give query"),
        ({"query": [0]}, "one for each row"),
        ({"query": [0, "x"]}, "'x' at database 1; give a finite number"),
        ({"query": [0, 1], "gain": "same"}, "identity"),
        ({"query": [0, 1], "gain": [[1]]}, "check its shape"),
        (
            {"query": [0, 1], "gain": [[1, 0], [float("nan"), 1]]},
            "Row 1, column 0 of the gain is nan; give a finite number",
        ),
    ):
        with pytest.raises(LossError, match=words):
            dt.theory.user_utility(rows, **wrong)
    for bad, words in (
        ([[0.5, 0.6], [0.5, 0.5]], "Row 0 .* divide"),
        ([[0.5, 0.5], [1.5, -0.5]], "Row 1"),
        ([[0.5, 0.5], [1]], "all of one length; fill the gaps"),
        (7, "7 is no mechanism; make one"),
    ):
        with pytest.raises(DiscreetError, match=words):
            dt.theory.user_utility(bad, query=[0, 1])


def test_the_reference_agrees_on_the_law():
    """The law behind all of this is the published one."""
    g = dt.geometric(4, alpha="1/2")
    assert [[g.finite().entry(i, j) for j in range(5)] for i in range(5)] == reference.geometric(4, HALF)
