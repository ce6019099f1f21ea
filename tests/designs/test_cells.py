"""Designs for a list of values and for the cells of an interval, against sums, integrals and linear programs of their own."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import discreet as dt
from discreet import verify
from discreet.designs import Cells
from discreet.designs.interval_priors import interval_prior
from discreet.errors import DesignError, GridError, LossError, OutOfRangeError, PriorError, SizeError


def least(loss: np.ndarray, prior: list[float], pairs: list[tuple[int, int]], alpha: float) -> float:
    """The least mean loss by a general solver: a variable for each entry, a row for each demand."""
    size, reports = loss.shape
    rows = []
    for i, k in pairs:
        for one, other in ((i, k), (k, i)):
            for r in range(reports):
                row = np.zeros(size * reports)
                row[one * reports + r], row[other * reports + r] = alpha, -1.0
                rows.append(row)
    sums = np.kron(np.eye(size), np.ones(reports))
    found = optimize.linprog(
        (np.array(prior)[:, None] * loss).ravel(),
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=sums,
        b_eq=np.ones(size),
    )
    return float(found.fun)


def test_values_that_are_equally_spaced_are_a_grid():
    grid = dt.Grid(2, 8, 2)
    same = dt.design([2, 4, 6, 8], alpha="1/2", sensitivity=4, prior=[".1", ".2", ".3", ".4"])
    known = dt.design(grid, alpha="1/2", sensitivity=4, prior=[".1", ".2", ".3", ".4"])
    assert same.objective == pytest.approx(known.objective, abs=1e-9)
    assert same.reports == known.reports == (2, 4, 6, 8)
    assert same.mechanism.neighbours == known.mechanism.neighbours


@pytest.mark.parametrize("loss", ["l1", "l2", "asymmetric(1, 3)", "tail(2)", "threshold(4)", "l0"])
def test_values_that_are_not_equally_spaced(loss):
    values, law = [0, 1, "3/2", 4, 9], [0.3, 0.1, 0.2, 0.3, 0.1]
    numbers = np.array([float(Fraction(x)) for x in values])
    truth, report = numbers[:, None], numbers[None, :]
    costs = {
        "l1": abs(report - truth),
        "l2": (report - truth) ** 2,
        "asymmetric(1, 3)": np.where(report > truth, report - truth, 3 * (truth - report)),
        "tail(2)": abs(report - truth) > 2,
        "threshold(4)": (report >= 4) != (truth >= 4),
        "l0": report != truth,
    }
    pairs = [(i, k) for i, k in itertools.combinations(range(5), 2) if numbers[k] - numbers[i] <= 3]
    assert (3, 4) not in pairs  # 9 has no neighbour
    assert (2, 3) in pairs
    found = dt.design(values, alpha="1/3", loss=loss, prior=law, sensitivity=3)
    assert found.objective == pytest.approx(least(np.asarray(costs[loss], float), law, pairs, 1 / 3), abs=1e-8)
    assert found.gap < 1e-8
    assert set(found.problem.edges) == set(pairs)


def test_a_function_sees_the_values_and_the_prior_names_them():
    seen = []
    dt.design([0, 1, 5], alpha="1/2", loss=lambda x, r: seen.append((x, r)) or abs(x - r), prior={0: "1/2", 5: "1/2"})
    assert {x for x, _ in seen} == {0, 1, 5}
    known = dt.design([0, 1, 5], alpha="1/2", prior={0: "1/2", 5: "1/2"}, neighbours=[(0, 1), (1, 5)])
    assert known.problem.edges == ((0, 1), (1, 2))
    worst = dt.design([0, 1, 5], alpha="1/2", risk="worst", among=[0, 5], sensitivity=5)
    assert worst.objective == pytest.approx(5 / 3, abs=1e-9)  # two values, a/(1+a) of their distance


def test_cells_are_neighbours_when_some_of_their_numbers_are():
    cells = Cells([0, 1, 2, 5])
    assert cells.neighbours(Fraction(1)).places(dt.Grid.of(2)) == ((0, 1), (1, 2))  # of 0..1 and 2..5 no two within 1
    assert cells.neighbours(Fraction(101, 100)).places(dt.Grid.of(2)) == ((0, 1), (0, 2), (1, 2))
    made = dt.design(cells, alpha="1/2", sensitivity="3/2")
    rng = np.random.default_rng(1)
    table = made.mechanism.matrix
    for x, y in rng.uniform(0, 5, (2000, 2)):
        if abs(x - y) <= 1.5:
            assert (table[cells.place(x)] >= (0.5 - 1e-12) * table[cells.place(y)]).all()
    by_middles = dt.design(
        ["1/2", "3/2", "7/2"], alpha="1/2", sensitivity="3/2"
    )  # a control: 0.9 and 2.1 are within 3/2
    far = by_middles.mechanism.matrix
    assert not (far[cells.place(0.9)] >= 0.5 * far[cells.place(2.1)]).all()


def test_a_number_lies_in_the_cell_with_its_lower_end():
    cells = Cells([0, "1/3", 1, 2])
    assert [cells.place(x) for x in (0, 0.33, "1/3", 0.999, 1, 2.0)] == [0, 0, 1, 1, 2, 2]
    with pytest.raises(OutOfRangeError) as refused:
        cells.place(2.0000001)
    assert "2.0000001" not in str(refused.value)
    with pytest.raises(OutOfRangeError) as refused:
        dt.design([0, 1, 7], alpha="1/2").sample(3.14159)
    assert "3.14" not in str(refused.value)
    drawn = dt.design(cells, alpha="1/2", sensitivity=1).sample(0.7, source=dt.insecure_source(1))
    assert drawn in dt.design(cells, alpha="1/2", sensitivity=1).reports


@pytest.mark.parametrize(
    ("name", "density"),
    [
        ("uniform", stats.uniform(-1, 4)),
        ("normal(0, 1)", stats.truncnorm(-1, 3)),
        ("beta(2, 5)", stats.beta(2, 5, -1, 4)),
        ("maximum(3)", stats.beta(3, 1, -1, 4)),
        ("minimum(4)", stats.beta(1, 4, -1, 4)),
    ],
)
@pytest.mark.parametrize("loss", ["l1", "asymmetric(2, 1)", "l2"])
def test_the_risk_is_what_real_answers_cost_at_most(name, density, loss):
    """By integrals over the interval: of the loss itself, and of straight lines between its values at the ends of a cell and at
    the report in it. For losses that are linear on both sides these are the same."""
    cells = Cells([-1, "-1/2", 0, "1/4", 1, 2, 3])
    made = dt.design(cells, alpha="1/2", loss=loss, prior=name, sensitivity=1)
    table, reports = made.mechanism.matrix, [float(r) for r in made.reports]

    def cost(x: float, r: float) -> float:
        if loss == "l2":
            return (r - x) ** 2
        return abs(r - x) * (2 if loss != "l1" and r > x else 1)

    total = chords = 0.0
    for k, (low, high) in enumerate(itertools.pairwise(map(float, cells.edges))):
        for a, b in itertools.pairwise(sorted({low, reports[k], high})):
            mass, moment = (integrate.quad(lambda x, n=n: x**n * density.pdf(x), a, b)[0] for n in (0, 1))
            for r, chance in zip(reports, table[k], strict=True):
                total += chance * integrate.quad(lambda x, r=r: cost(x, r) * density.pdf(x), a, b)[0]
                chords += chance * ((b * mass - moment) * cost(a, r) + (moment - a * mass) * cost(b, r)) / (b - a)
    assert made.objective == pytest.approx(chords, abs=1e-7)
    assert total <= made.objective + 1e-8
    assert (made.objective - total > 1e-3) == (loss == "l2")


@pytest.mark.parametrize(
    ("prior", "density"),
    [
        ("uniform", stats.uniform(0, 2)),
        ("normal(1/2, 1/4)", stats.truncnorm(-2, 6, 0.5, 0.25)),
        ("beta(1/2, 3)", stats.beta(0.5, 3, 0, 2)),
        ("maximum(100)", stats.beta(100, 1, 0, 2)),
        ("minimum(7)", stats.beta(1, 7, 0, 2)),
        (stats.beta(2, 2, 0, 2).cdf, stats.beta(2, 2, 0, 2)),
    ],
)
def test_probabilities_and_means_of_cells(prior, density):
    edges = [Fraction(k, 10) for k in (0, 1, 3, 6, 10, 15, 19, 20)]
    found = interval_prior(prior, Fraction(0), Fraction(2)).on(edges)
    assert float(sum(found.chances)) == pytest.approx(1, abs=1e-11)
    for (low, high), chance, mean in zip(
        itertools.pairwise(map(float, edges)), found.chances, found.means, strict=True
    ):
        exact = density.cdf(high) - density.cdf(low)
        assert float(chance) == pytest.approx(exact, abs=1e-11)
        assert low <= mean[0] <= mean[1] <= high
        if exact > 1e-6:
            middle = integrate.quad(lambda x: x * density.pdf(x), low, high, epsabs=1e-13)[0] / exact
            assert float(mean[0]) - 1e-7 <= middle <= float(mean[1]) + 1e-7
            assert mean[1] - mean[0] <= (high - low) / (15 if callable(prior) else 10**6)


def test_points_are_exact():
    found = interval_prior({0: "1/4", "1/2": "1/4", 2: "1/2"}, Fraction(0), Fraction(2)).on(
        [Fraction(x) for x in (0, 1, 2)]
    )
    assert found.chances == (Fraction(1, 2), Fraction(1, 2))
    assert found.means == ((Fraction(1, 4),) * 2, (Fraction(2),) * 2)
    assert found.off == 0


def test_cells_by_quantiles_have_equal_probabilities():
    for prior in ("normal(0, 1)", "maximum(100)", "beta(2, 5)"):
        cells = Cells.quantiles(-10, 10, prior, 16)
        assert cells.size == 16
        assert [float(p) for p in cells.prior(prior).chances] == pytest.approx([1 / 16] * 16, rel=0.02)
    assert Cells.quantiles(0, 1, "uniform", 4) == Cells.suited(0, 1, "uniform", 4) == Cells.evenly(0, 1, 4)
    suited = Cells.suited(-10, 10, "normal(0, 1)", 31)
    assert [-edge for edge in suited.edges[::-1]] == list(suited.edges)
    assert Fraction(1, 4) in Cells.suited(0, 1, {"1/4": "1/2", 1: "1/2"}, 3).edges


def test_the_file_of_a_design_for_cells_is_verified(tmp_path):
    made = dt.design(Cells.quantiles(0, 1, "beta(2, 5)", 6), alpha="1/2", prior="beta(2, 5)", sensitivity="1/2")
    made.mechanism.save(tmp_path / "cells.json")
    told = verify.verify(verify.read(tmp_path / "cells.json"))
    assert told.risk_and_bound is not None
    assert "l1 over cells" in told.asked
    assert dict(made.mechanism.recipe.parameters)["sensitivity"] == "1/2"
    assert "cells" in dict(made.mechanism.recipe.parameters)


@pytest.mark.parametrize(
    ("values", "given", "error", "words"),
    [
        ([1, 0], {}, GridError, "rising"),
        ([1], {}, GridError, "two"),
        ([0, "x"], {}, GridError, "true value"),
        ([0, 1], {"sensitivity": "1/2"}, DesignError, "nothing to protect"),
        ([0, 1], {"sensitivity": 0}, GridError, "positive"),
        ([0, 1], {"prior": "normal(0, 1)"}, PriorError, "list of values"),
        ([0, 1], {"prior": {2: 1}}, PriorError, "none of"),
        ([0, 1], {"priors": [[1, 0], [0, 1]]}, DesignError, "grids"),
        ([0, 1], {"risk": "worst", "among": [3]}, DesignError, "none of"),
        ([0, 1], {"neighbours": [(0, 2)]}, DesignError, "none of"),
        (range(500), {}, SizeError, "too large"),
        (Cells([0, 1, 2]), {"loss": "l0"}, LossError, "over a cell"),
        (Cells([0, 1, 2]), {"neighbours": 1}, DesignError, "sensitivity"),
        (Cells([0, 1, 2]), {"prior": "binomial(1/2)"}, PriorError, "interval"),
        (Cells([0, 1, 2]), {"prior": "normal(10000, 1)"}, PriorError, "no probability"),
        (Cells([0, 1, 2]), {"risk": "worst", "among": [3]}, DesignError, "none of"),
    ],
)
def test_what_is_wrong_is_said(values, given, error, words):
    with pytest.raises(error, match=words):
        dt.design(values, **{"alpha": "1/2", **given})


@pytest.mark.parametrize("edges", [[0, 1], [0, 1, 1], [0, "x", 1], 7, "012"])
def test_edges_rise(edges):
    with pytest.raises(GridError, match="edges"):
        Cells(edges)
