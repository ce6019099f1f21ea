"""Neighbours many steps apart: the cheapest ray against all rays, designs against the whole linear program, files refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import discreet as dt
from discreet import verify
from discreet.designs import columns, many_steps
from discreet.designs.many_steps import least_risk
from discreet.designs.ray_master import RayMaster
from discreet.designs.rays import cheapest_rays, costs_nothing_negative, price_cut, price_cuts, recursion
from discreet.designs.windows import Risks
from discreet.errors import SizeError
from discreet.lp import Program, dense
from tests.cells import for_each
from tests.test_verify import document, kind_of_fault, put, resigned


def all_heights(size: int, reach: int) -> np.ndarray:
    """All integers h with h_0 = 0 that differ by at most 1 within `reach` steps, one row each."""
    found = [[0]]
    for _ in range(size - 1):
        found = [
            [*h, v] for h in found for v in (h[-1] - 1, h[-1], h[-1] + 1) if all(abs(v - w) <= 1 for w in h[-reach:])
        ]
    return np.array(found)


# Rays


@for_each("size, reach", [(2, 1), (3, 2), (6, 1), (7, 2), (7, 3), (8, 5), (6, 5)])
@for_each("alpha", [0.05, 0.5, 0.95])
def test_the_cheapest_ray_is_the_cheapest_of_all(size, reach, alpha):
    prices = np.random.default_rng(size * 10 + reach).normal(0.3, 1, (size, 40))
    rays = alpha ** all_heights(size, reach).astype(float)
    least = (rays @ prices).min(axis=0)
    free = recursion(prices, reach, lambda v: alpha * v, lambda v: v / alpha).free[0]
    np.testing.assert_allclose(free, least, rtol=1e-12, atol=1e-12)
    found, cost = cheapest_rays(prices, reach, alpha)
    np.testing.assert_allclose(cost, least * found[0], rtol=1e-9, atol=1e-12)
    assert found.max() == 1
    for ray in (found / found[0]).T:  # each is one of them
        assert np.abs(rays - ray).max(axis=1).min() < 1e-9 * rays.max()
    up = price_cut(prices, reach, alpha)
    shares = ((rays @ prices) / rays.sum(axis=1)[:, None]).min()
    assert up == pytest.approx(max(0.0, -shares), abs=1e-12)


def test_several_sets_of_prices_are_cut_as_each_alone():
    random = np.random.default_rng(3)
    sets = [random.normal(shift, 1, (9, reports)) for shift, reports in ((0.1, 7), (9.0, 4), (-0.5, 1))]
    cuts = price_cuts(sets, *cheapest_rays(np.hstack(sets), 3, 0.4), 3, 0.4)
    rays = 0.4 ** all_heights(9, 3).astype(float)
    least = [min(0.0, float(((rays @ prices) / rays.sum(axis=1)[:, None]).min())) for prices in sets]
    np.testing.assert_allclose(cuts, -np.array(least), atol=1e-12)
    assert cuts[1] == 0 < min(cuts[0], cuts[2])


@pytest.mark.parametrize(("size", "reach"), [(2, 1), (7, 1), (7, 2), (7, 4), (7, 6)])
def test_on_integers_the_cost_is_never_above_the_true_one_and_near_it(size, reach):
    random = np.random.default_rng(reach)
    heights = all_heights(size, reach).tolist()
    for alpha in (Fraction(1, 3), Fraction(9, 10), Fraction(3, 100)):
        weights = [[alpha**h for h in line] for line in heights]
        for _ in range(4):
            prices = [int(x) for x in random.integers(-(2**40), 2**41, size)]
            costs = [sum(map(Fraction.__mul__, map(Fraction, prices), line)) for line in weights]
            worst = max(sum(line) for line in weights)
            found = verify._cheapest_ray(prices, reach, alpha)
            assert min(costs) - 4 * worst <= found <= min(costs)
            holder = np.array(prices, dtype=object)[:, None]
            assert costs_nothing_negative(holder, reach, alpha) == (found >= 0)
            if min(costs) < 0:
                assert found < 0


# Designs


def whole_program(loss: np.ndarray, alpha: float, reach: int, risks: Risks) -> float:
    """The least t + b lam over all matrices, by HiGHS on every pair of neighbours."""
    size = len(loss)
    priced = 0 if risks.price is None else len(risks.price)
    rows = []
    for j in range(size):
        for i in range(size):
            for k in range(max(0, i - reach), min(size, i + reach + 1)):
                if i != k:
                    row = np.zeros((size, size))
                    row[i, j], row[k, j] = alpha, -1.0
                    rows.append(np.concatenate([row.ravel(), np.zeros(1 + priced)]))
    for r, weights in enumerate(risks.rows):
        credit = np.zeros(0) if risks.credit is None else risks.credit[r]
        rows.append(np.concatenate([(weights[:, None] * loss).ravel(), [-1.0], -credit]))
    sums = np.zeros((size, size * size + 1 + priced))
    for i in range(size):
        sums[i, i * size : (i + 1) * size] = 1.0
    cost = np.concatenate([np.zeros(size * size), [1.0], np.zeros(0) if risks.price is None else risks.price])
    found = linprog(
        cost,
        np.array(rows),
        np.zeros(len(rows)),
        sums,
        np.ones(size),
        bounds=[(0, None)] * (size * size) + [(None, None)] + [(0, None)] * priced,
    )
    assert found.status == 0
    return float(found.fun)


@pytest.mark.parametrize("seed", range(14))
def test_designs_are_as_good_as_the_whole_program(seed):
    """Random losses, priors, worst cases, several priors, and limits with a price; folded where they are symmetric."""
    random = np.random.default_rng(seed)
    size = int(random.integers(3, 10))
    reach, alpha = int(random.integers(1, size + 1)), float(random.choice([0.05, 0.3, 0.5, 0.9, 0.95]))
    place = np.arange(size)
    loss = [
        np.abs(place[:, None] - place) * 1.0,
        (place[:, None] != place) * 1.0,
        random.random((size, size)),
        (place[:, None] - place) ** 2.0,
    ][seed % 4]
    rows = [
        random.dirichlet(np.ones(size))[None],
        np.eye(size)[random.random(size) < 0.8],
        random.dirichlet(np.ones(size), 3),
        np.full((1, size), 1 / size),
        np.eye(size),
    ][seed % 5]
    rows = rows if len(rows) else np.eye(size)
    risks = Risks(rows)
    if seed >= 10:
        risks = Risks(np.eye(size), random.random((size, 2)), np.array([0.4, 0.7]))
    mirrored = seed % 5 in (3, 4) and seed < 10 and np.array_equal(loss, loss[::-1, ::-1])
    best = least_risk(loss, alpha, reach, risks, mirrored)
    assert best.gap < 1e-8 * max(1.0, loss.max())
    optimum = whole_program(loss, alpha, reach, risks)
    assert best.rows.sum() == pytest.approx(optimum, abs=1e-7 * loss.max())
    if risks.credit is None:
        assert (risks.rows @ (best.matrix * loss).sum(axis=1)).max() == pytest.approx(optimum, abs=1e-7 * loss.max())
    for d in range(1, min(reach, size - 1) + 1):
        assert (best.matrix[d:] >= alpha * best.matrix[:-d]).all()
        assert (best.matrix[:-d] >= alpha * best.matrix[d:]).all()


@pytest.mark.parametrize("seed", range(12))
def test_columns_find_the_corner_of_the_whole_program(seed):
    """The way that larger grids go, on small ones: one prior, worst cases, three priors; folded and not."""
    random = np.random.default_rng(100 + seed)
    size, alpha = int(random.integers(5, 10)), float(random.choice([0.05, 0.5, 0.95]))
    reach, place = int(random.integers(2, size)), np.arange(size)
    mirrored = seed % 2 == 0
    loss = np.abs(place[:, None] - place) * 1.0 if mirrored else random.random((size, size))
    law = random.dirichlet(np.ones(size), 3)
    even = (law + law[:, ::-1]) / 2
    rows = [even[:1] if mirrored else law[:1], np.eye(size), even if mirrored else law]
    risks = Risks(rows[seed // 2 % 3])
    best = many_steps._by_columns(loss, alpha, reach, risks, mirrored, None)
    assert best is not None
    assert best.gap < 1e-8
    optimum = whole_program(loss, alpha, reach, risks)
    assert best.rows.sum() == pytest.approx(optimum, abs=1e-8 * loss.max())
    assert (risks.rows @ (best.matrix * loss).sum(axis=1)).max() == pytest.approx(optimum, abs=1e-8 * loss.max())
    assert price_cut(best.prior[:, None] * loss - best.rows[:, None], reach, alpha) < 1e-12  # the bound is one


@pytest.mark.parametrize("seed", range(6))
def test_the_master_program_ends_where_the_simplex_method_does(seed):
    """min c x + 3 t, A x + f t = b, x >= 0; unknowns that are added later count, and one that is too dear does not."""
    random = np.random.default_rng(seed)
    rows, count = 6, 20
    free, a = np.repeat([0.0, 1.0], 3), random.normal(size=(rows, count))
    bounds = a @ random.random(count) + free * random.normal()
    y = random.normal(size=rows)
    y += free * (3 - free @ y) / 3
    cost = y @ a + random.random(count)  # so that y is feasible
    master = RayMaster(bounds, free, 3.0, y)
    master.append(a[:, :12], np.ones(12))
    master.append(a[:, 12:], np.ones(8))
    master.c[:] = cost
    master.move(y, np.full(count, 1e-6))
    for _ in range(40):
        if master.apart < 1e-11 or not master.step():
            break
    entries = dense(np.hstack([a, free[:, None], -free[:, None]]))
    best = Program([*cost, 3, -3], entries, bounds, bounds).solve()
    assert best is not None
    assert float(cost @ master.x) + 3 * master.t == pytest.approx(best.value, abs=1e-7)
    assert float(bounds @ master.y) == pytest.approx(best.value, abs=1e-7)
    assert np.abs(master.missing()).max() < 1e-8
    dear = master.x < 1e-7
    master.keep(~dear)
    assert np.abs(master.missing()).max() < 1e-5  # what was left out did not count
    master.keep(np.arange(len(master.x)) > 0)
    assert np.abs(master.missing()).max() > 1e-3  # what is left does


def test_where_columns_give_up_the_iteration_takes_over(monkeypatch):
    place = np.arange(70)
    loss, law = np.abs(place[:, None] - place) / 69, np.arange(1.0, 71) / np.arange(1.0, 71).sum()
    asked = (loss, 0.5, 30, Risks(law[None]), False)
    corner = many_steps._by_columns(*asked, None)
    monkeypatch.setattr(columns, "_ROUNDS", 1)
    monkeypatch.setattr(many_steps, "_MANY", 35)
    assert many_steps._by_columns(*asked, None) is None
    found = least_risk(*asked)
    assert max(found.gap, corner.gap) < 1e-8
    assert found.rows.sum() == pytest.approx(corner.rows.sum(), abs=1e-8)


def bell(size: int, width: float) -> list[float]:
    law = np.exp(-0.5 * ((np.arange(size) - (size - 1) / 2) / width) ** 2)
    return list(law / law.sum())


@pytest.mark.parametrize(
    ("sensitivity", "prior", "alpha", "value"),
    [
        ("1/2", bell(41, 4.1), "3/10", 0.06920354),
        ("1/10", bell(41, 4.1), "1/2", 0.06897442),
        ("1/2", None, "9/10", 0.25536585),
        ("1/2", None, "19/20", 0.25605106),
    ],
)
def test_values_that_were_computed_by_column_generation(sensitivity, prior, alpha, value):
    d = dt.design(dt.Grid(0, 1, "1/40"), alpha=alpha, loss="l1", sensitivity=sensitivity, prior=prior)
    assert d.objective == pytest.approx(value, abs=6e-9)
    assert d.gap < 1e-8
    assert dt.check_privacy(d.mechanism).holds
    assert d.certificate is not None
    assert d.certificate.multipliers.keys() == {"rows"}


def test_one_step_is_the_theorem_and_the_whole_grid_any_two():
    """At D = 1 the best mechanism is a remap of the geometric one; for D beyond the grid all pairs are neighbours."""
    size, place = 30, np.arange(30)
    loss, law = np.abs(place[:, None] - place) * 1.0, np.arange(1.0, 31) / np.arange(1.0, 31).sum()
    one = least_risk(loss, 0.7, 1, Risks(law[None]), False)
    assert one.rows.sum() == pytest.approx(dt.design(29, alpha="7/10", loss="l1", prior=list(law)).objective, abs=1e-7)
    local = dt.design(size - 1, alpha="1/3", loss="l0", neighbours="any")
    assert 1 - local.objective == pytest.approx(1 / (1 + (size - 1) / 3), abs=1e-7)  # randomised response


@pytest.mark.parametrize("risk", ["average", "worst"])
def test_both_solvers_agree_where_both_can(risk, monkeypatch):
    """On 24 values, with an asymmetric loss, and with symmetry required of a problem that has none."""
    from discreet.designs import design as making

    for require in ((), "S") if risk == "average" else ((),):
        asked = {"alpha": "2/5", "loss": "asymmetric(1, 3)", "risk": risk, "require": require, "sensitivity": 5}
        if risk == "average":
            asked["prior"] = "binomial(0.3)"
        ours = dt.design(23, **asked)
        monkeypatch.setattr(making.many_steps, "suits", lambda problem: False)
        other = dt.design(23, **asked)
        monkeypatch.undo()
        assert ours.certificate.multipliers.keys() == {"rows"}
        assert "level" in other.certificate.multipliers
        assert ours.objective == pytest.approx(other.objective, rel=1e-7)
        assert max(ours.gap, other.gap) < 1e-8
        assert ours.bound <= other.objective
        assert other.bound <= ours.objective
        assert set(require and ["S"]) <= set(dt.properties(ours.mechanism))


# Files


@pytest.fixture(scope="module")
def long() -> dt.Mechanism:
    d = dt.design(dt.Grid(0, 1, "1/200"), alpha="1/2", loss="l1", sensitivity="1/2")
    assert 0 <= d.gap < 1e-8
    return d.mechanism


@pytest.mark.long
def test_two_hundred_values_are_saved_and_proved_elsewhere(long, tmp_path, monkeypatch):
    long.save(tmp_path / "long.json")
    # with a sixteenth of the effort that a reader may take
    monkeypatch.setattr(verify.Effort.__init__, "__defaults__", (verify.MAX_EFFORT // 16,))
    found = verify.verify(verify.read(tmp_path / "long.json"))
    risk, bound = found.risk_and_bound
    assert 0 <= risk - bound < Fraction(1, 10**8)
    assert "100 steps" in found.among
    assert dt.load(tmp_path / "long.json").digest == long.digest
    assert (tmp_path / "long.json").stat().st_size < 2**20  # a line of multipliers, not one for each pair


@pytest.mark.long
def test_what_the_rays_do_not_prove_is_refused(long):
    original = document(long)
    rows = [int(x) for x in original["certificate"]["multipliers"]["rows"][0].split()]
    more = 2 ** (original["certificate"]["bits"] - 30)

    def raised(place: int, amount: int):
        changed = [y + amount * (i == place) for i, y in enumerate(rows)]
        bound = Fraction(sum(changed), 2 ** original["certificate"]["bits"])
        return resigned(
            resigned(original, put("certificate", "multipliers", "rows", [" ".join(map(str, changed))])),
            put("certificate", "bound", str(bound)),
        )

    verify.verify(raised(100, 0))
    verify.verify(raised(100, -more))  # less is proved too
    assert kind_of_fault(raised(100, more)) == "claim"
    assert kind_of_fault(raised(0, 2**40 * more)) == "claim"
    assert (
        kind_of_fault(resigned(original, put("certificate", "multipliers", "rows", [" ".join(map(str, rows[1:]))])))
        == "shape"
    )
    assert kind_of_fault(resigned(original, put("certificate", "multipliers", "CH", ["0"]))) == "shape"
    assert kind_of_fault(resigned(original, put("neighbours", {"kind": "steps", "steps": 101}))) == "claim"


def test_a_level_that_asks_for_less_needs_other_multipliers(long):
    """The same multipliers for neighbours 20 steps apart: that cone is larger, and some ray of it costs less than nothing."""
    proof = document(long)["certificate"]
    law, per = [int(w) for w in proof["prior"]["weights"].split()], int(proof["loss"]["denominator"])
    losses = [[int(x) for x in line.split()] for line in proof["loss"]["rows"]]

    def bound(reach: int) -> Fraction:
        lines, alpha = proof["multipliers"]["rows"], Fraction(proof["alpha"])
        return verify._ray_bound(lines, proof["bits"], alpha, reach, set(), law, losses, per, verify.Effort())

    assert bound(100) == bound(120) == Fraction(proof["bound"])
    with pytest.raises(verify.Fault, match="a ray costs less than nothing"):
        bound(20)


def test_the_sizes_that_are_solved_are_told():
    with pytest.raises(SizeError, match="401 values"):
        dt.design(402, alpha="1/2", sensitivity=3)
    with pytest.raises(SizeError, match=r"with properties.*128 values"):
        dt.design(128, alpha="1/2", sensitivity=3, require="RM")
    with pytest.raises(SizeError, match=r"graph of neighbours.*128 values"):
        dt.design(128, alpha="1/2", neighbours=[(0, 1)])
