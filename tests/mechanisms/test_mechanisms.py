"""The four families against their closed forms, each computed two ways."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.channels import Additive, Geometric, Mixture, Table
from discreet.errors import GridError, SingularError, SizeError
from discreet.noise import GeometricNoise
from tests import reference
from tests.cells import for_each
from tests.profiles import examples
from tests.strategies import geometrics, levels, sizes

ALPHAS = [Fraction(3, 10), Fraction(1, 2), Fraction(31, 50), Fraction(9, 10), Fraction(99, 100)]
ALL = reference.ALL_PROPERTIES
exactly = settings(max_examples=examples(120))


def dense(rows) -> np.ndarray:
    return np.array([[float(x) for x in row] for row in rows])


def exact_law(m: dt.Mechanism) -> list[list[Fraction]]:
    weights, total = m.channel.integers()
    return [[Fraction(int(w), total) for w in row] for row in weights.tolist()]


# Geometric


@for_each("a", ALPHAS)
@for_each("n", [1, 2, 3, 4, 8])
def test_a_small_geometric_is_the_law_to_the_last_digit(n, a):
    assert exact_law(dt.geometric(n, alpha=a)) == reference.geometric(n, a)


@exactly
@given(geometrics())
def test_the_geometric_is_exact_and_has_the_properties_of_the_theorem(made):
    """WH iff n >= 2a/(1-a), CM iff CH iff a <= 1/2, S RM RH always, F never from n = 2 on."""
    m, n, a = made
    expected = {"S", "RM", "RH"}
    if reference.gm_is_weakly_honest(n, a):
        expected |= {"WH"}
    if reference.gm_is_column_honest(n, a):
        expected |= {"CH", "CM"}
    assert dt.properties(m) == expected | ({"F"} if n == 1 else set())
    assert dt.check_privacy(m).tight == a
    assert exact_law(m) == reference.geometric(n, a)


@pytest.mark.parametrize("alpha", ["1/100", "1/2", "3/5", "9/10", "999/1000"])
def test_two_values_have_all_seven_properties_and_three_do_not(alpha):
    """What the theorem says of CH, CM, F and WH is about inner values: it begins at n = 2."""
    assert dt.properties(dt.geometric(1, alpha=alpha)) == {"RH", "RM", "CH", "CM", "F", "WH", "S"}
    assert ("CH" in dt.properties(dt.geometric(2, alpha=alpha))) == (Fraction(alpha) <= Fraction(1, 2))
    assert "F" not in dt.properties(dt.geometric(2, alpha=alpha))


@pytest.mark.parametrize(("n", "alpha"), [(100, "1/2"), (18, "9/10"), (60, "1/2")])
def test_equalities_on_the_edge_of_a_property_are_kept(n, alpha):
    """CM at a = 1/2 and WH at n = 2a/(1-a) are equalities that a rounded table would lose."""
    assert ("CM" if alpha == "1/2" else "WH") in dt.properties(dt.geometric(n, alpha=alpha))


def test_a_billion_values_without_a_matrix():
    m = dt.geometric(10**9, epsilon="0.01")
    assert isinstance(m.channel, Geometric)
    assert dt.properties(m) == {"RH", "RM", "WH", "S"}
    assert "F" in dt.measure.explain(m)
    assert dt.check_privacy(m).holds
    with pytest.raises(SizeError, match="push, pull and solve"):
        _ = m.matrix


@exactly
@given(st.integers(1, 60), levels, st.integers(0, 2**32 - 1))
def test_the_recursions_are_the_dense_law(n, a, seed):
    """push, pull, matrix in O(n) against exact Fractions."""
    law, exact = Geometric(n, a), dense(reference.geometric(n, a))
    rng = np.random.default_rng(seed)
    p, v = rng.dirichlet(np.ones(n + 1)), rng.normal(size=n + 1)
    np.testing.assert_allclose(law.matrix, exact, rtol=1e-12, atol=1e-300)  # below that, floats lose their digits
    np.testing.assert_allclose(law.push(p), p @ exact, rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(law.pull(v), exact @ v, rtol=1e-12, atol=1e-12 * np.abs(v).max())


@for_each("a", ALPHAS)
@for_each("n", [1, 2, 3, 7, 12])
def test_the_inverse_is_tridiagonal(n, a):
    """solve against the exact tridiagonal inverse, and that against exact elimination."""
    inverse = reference.geometric_inverse(n, a)
    assert inverse == reference.inverse(reference.geometric(n, a))
    law = Geometric(n, a)
    for q in (np.eye(n + 1)[n // 2], np.linspace(-1, 2, n + 1)):
        np.testing.assert_allclose(law.solve(q), q @ dense(inverse), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(law.push(law.solve(q)), q, rtol=1e-9, atol=1e-9)


def test_the_norm_of_the_inverse():
    """((1+a)/(1-a))^2, 833 at a = 2^-0.1."""
    a = dt.Level.of(epsilon="ln(2)/10").alpha
    norm = max(np.abs(Geometric(100, a).solve(row)).sum() for row in np.eye(101))
    assert norm == pytest.approx(float(((1 + a) / (1 - a)) ** 2), rel=1e-9)
    assert round(norm) == 833


@for_each("a", ALPHAS)
@for_each("n", [1, 2, 5, 9])
def test_closed_forms_of_the_geometric(n, a):
    """E|error|, the rescaled L0 = 2a/(1+a), unbiased count and square: from the channel and from the formula."""
    m = dt.geometric(n, alpha=a)
    from discreet.measure.utility import loss_per_value

    expected = [float(reference.gm_error(i, n, a)) for i in range(n + 1)]
    np.testing.assert_allclose(loss_per_value(m, "l1"), expected, rtol=1e-12)
    assert dt.expected_loss(m, "l0") * (n + 1) / n == pytest.approx(float(2 * a / (1 + a)), rel=1e-12)
    count = [float(reference.unbiased_count(j, n, a)) for j in range(n + 1)]
    square = [float(reference.unbiased_square(j, n, a)) for j in range(n + 1)]
    np.testing.assert_allclose(m.channel.pull(count), np.arange(n + 1), atol=1e-9)
    np.testing.assert_allclose(m.channel.pull(square), np.arange(n + 1) ** 2, atol=1e-7)


@for_each("a", ALPHAS)
@for_each("n", [1, 3, 6, 8])
def test_the_law_of_independent_bits_is_the_geometric(n, a):
    """Bits, overflow, sign and clamp give exactly the row of the channel."""
    assert reference.sampler_law(n, a) == exact_law(dt.geometric(n, alpha=a))


@pytest.mark.parametrize("steps", [2, 3, 7])
def test_a_larger_sensitivity_shares_the_level_over_its_steps(steps):
    m = dt.geometric(30, alpha="1/2", sensitivity=steps)
    assert m.sensitivity == steps
    verdict = dt.check_privacy(m)
    assert verdict.holds
    assert Fraction(1, 2) <= verdict.tight < Fraction(1, 2) + Fraction(1, 10**12)
    assert not dt.check_privacy(dt.geometric(30, alpha="1/2"), alpha="1/2", group=steps).holds


def test_a_fractional_sensitivity_rounds_up_to_steps():
    m = dt.geometric(dt.Grid(0, 10, "1/2"), alpha="1/2", sensitivity="0.6")
    assert m.sensitivity == 2


def test_half_open_and_open_grids_are_additive():
    for grid in (dt.Grid(None, None), dt.Grid(0, None), dt.Grid(None, 7)):
        m = dt.geometric(grid, alpha="3/4")
        assert isinstance(m.channel, Additive)
        assert dt.check_privacy(m).tight == Fraction(3, 4)
        with pytest.raises(SizeError, match="truncate"):
            _ = m.matrix


def test_truncating_the_unbounded_gives_the_truncated():
    m = dt.geometric(dt.Grid(None, None), alpha="3/4").truncate(0, 6)
    assert exact_law(m) == reference.geometric(6, Fraction(3, 4))


@pytest.mark.parametrize("a", ALPHAS)
def test_geometric_noise_closed_forms(a):
    noise, k = GeometricNoise(a), np.arange(-4000, 4001)
    p = noise.pmf(k)
    assert p[4000 - 5 : 4000 + 6] == pytest.approx([float(reference.discrete_laplace(d, a)) for d in range(-5, 6)])
    assert p.sum() == pytest.approx(1)
    assert (p * np.abs(k)).sum() == pytest.approx(float(noise.mean_absolute))
    assert (p * k.astype(float) ** 2).sum() == pytest.approx(float(noise.variance))
    np.testing.assert_allclose(noise.cdf(k), np.cumsum(p), atol=1e-12)


# Explicit fair


@for_each("a", ALPHAS)
@for_each("n", range(1, 13))
def test_the_fair_mechanism_is_the_paper_s(n, a):
    """EM against the independent reference: entries, diagonal, all seven properties, L0."""
    m = dt.explicit_fair(n, alpha=a)
    np.testing.assert_allclose(m.matrix, dense(reference.explicit_fair(n, a)), rtol=1e-12)
    assert dt.properties(m) == ALL
    assert dt.check_privacy(m, alpha=a).holds
    assert dt.expected_loss(m, "l0") * (n + 1) / n == pytest.approx(float(reference.em_l0_rescaled(n, a)), rel=1e-12)
    assert m.matrix[0, 0] == pytest.approx(float(reference.em_diagonal(n, a)), rel=1e-12)


@exactly
@given(sizes, levels)
def test_the_fair_mechanism_keeps_all_seven_properties_at_every_level(n, a):
    """One integer for each exponent: all properties, and a distance that bounds the exact total variation."""
    m = dt.explicit_fair(n, alpha=a)
    assert dt.properties(m) == ALL
    assert m.recipe.distance < 1e-12
    powers = [a ** reference.fair_exponent(n, n // 2, j) for j in range(n + 1)]
    target = [x / sum(powers) for x in powers]
    mine = exact_law(m)[n // 2]
    assert sum(abs(p - q) for p, q in zip(mine, target, strict=True)) / 2 <= Fraction(m.recipe.distance)


@pytest.mark.parametrize(("n", "epsilon"), [(1000, "0.01"), (1000, "1"), (1000, "5"), (100, "ln(2)/10"), (257, "1/3")])
def test_large_tables_stay_within_1e12_of_their_target(n, epsilon):
    m = dt.explicit_fair(n, epsilon=epsilon)
    assert isinstance(m.channel, Table)
    assert 0 < m.recipe.distance < 1e-12
    assert m.channel.weights.min() > 0
    assert m.channel.total == 2**63


@for_each("epsilon", ["1e-17", Fraction(1, 2**59), "40", "700"])
@for_each("n", [1, 2, 7, 8])
@for_each("family", [dt.geometric, dt.explicit_fair, dt.randomized_response])
def test_extreme_levels_hold_too(family, n, epsilon):
    """Where 63 bits cannot tell the classes apart, the mechanism gets more private, never less."""
    m = family(n, epsilon=epsilon)
    assert dt.check_privacy(m, epsilon=epsilon).holds
    assert dt.properties(m) >= {"RH", "RM", "S"}


def test_the_fair_mechanism_says_where_it_ends():
    with pytest.raises(SizeError, match="1023"):
        dt.explicit_fair(5000, alpha="1/2")


def test_numbers_of_the_facts():
    """At n = 4, alpha = 9/10: unscaled L0 of GM .7579, EM .7738; the slide's EM .776 is alpha = 10/11."""
    assert dt.expected_loss(dt.geometric(4, alpha="9/10"), "l0") == pytest.approx(0.757895, abs=5e-7)
    assert dt.expected_loss(dt.explicit_fair(4, alpha="9/10"), "l0") == pytest.approx(0.967195 * 4 / 5, abs=5e-7)
    assert round(dt.expected_loss(dt.explicit_fair(4, alpha="10/11"), "l0"), 3) == 0.776
    for family, l1, l2 in ((dt.geometric, 1.715, 4.794), (dt.explicit_fair, 1.515, 3.730)):
        m = family(4, alpha="9/10")
        assert dt.expected_loss(m, "l1") == pytest.approx(l1, abs=6e-4)
        assert dt.expected_loss(m, "l2") == pytest.approx(l2, abs=6e-4)
    assert dt.expected_loss(dt.uniform(4), "l1") == pytest.approx(1.6)


# Randomised response and uniform


@exactly
@given(sizes, levels)
def test_randomised_response_is_its_closed_form(n, a):
    m = dt.randomized_response(n, alpha=a)
    np.testing.assert_allclose(m.matrix, dense(reference.randomized_response(n, a)), rtol=1e-12)
    assert dt.check_privacy(m, alpha=a, neighbours="any").holds
    assert dt.properties(m) == ALL
    assert dt.check_privacy(m).tight == a


@pytest.mark.parametrize("n", [1, 4, 30])
def test_keeping_in_linear_time_is_the_dense_channel(n):
    keep: Mixture = dt.randomized_response(n, alpha="2/3").channel
    p = np.random.default_rng(5).dirichlet(np.ones(n + 1))
    exact = dense(reference.randomized_response(n, Fraction(2, 3)))
    np.testing.assert_allclose(keep.push(p), p @ exact, rtol=1e-13)
    np.testing.assert_allclose(keep.pull(p), exact @ p, rtol=1e-13)
    np.testing.assert_allclose(keep.solve(p @ exact), p, atol=1e-12)
    assert keep.worst(1).alpha == Fraction(2, 3)


def test_randomised_response_and_uniform_of_any_size():
    m = dt.randomized_response(10**8, epsilon=1)
    assert dt.check_privacy(m, neighbours="any").holds
    assert dt.properties(m) == ALL
    assert dt.check_privacy(dt.uniform(10**8), neighbours="any").tight == 1


@pytest.mark.parametrize("n", [1, 2, 4, 8, 100])
def test_uniform_is_perfectly_private(n):
    m = dt.uniform(n)
    assert exact_law(m) == reference.uniform(n)
    assert m.alpha == 1
    assert m.epsilon == 0
    with pytest.raises(SingularError):
        m.channel.solve(np.ones(n + 1) / (n + 1))


@pytest.mark.parametrize("family", [dt.explicit_fair, dt.randomized_response])
def test_an_open_grid_is_refused_where_it_makes_no_sense(family):
    with pytest.raises(GridError, match="both ends"):
        family(dt.Grid(0, None), alpha="1/2")
    with pytest.raises(GridError, match="both ends"):
        dt.uniform(dt.Grid(0, None))


# The same law, grids, level and neighbours


OPEN = dt.Grid(None, None)
SAME: dict[str, tuple[dt.Mechanism, dt.Mechanism]] = {
    "made twice": (dt.geometric(8, alpha="1/2"), dt.geometric(8, alpha="1/2")),
    "truncated": (dt.geometric(8, alpha="1/2"), dt.geometric(OPEN, alpha="1/2").truncate(0, 8)),
    "half open, truncated": (dt.geometric(8, alpha="1/2"), dt.geometric(dt.Grid(0, None), alpha="1/2").truncate(0, 8)),
    "another name of the level": (dt.geometric(8, alpha="1/2"), dt.geometric(8, epsilon="ln 2")),
    "stairs of one step": (dt.geometric(8, alpha="1/2"), dt.staircase(8, alpha="1/2", step=1)),
    "a map that moves nothing": (dt.geometric(8, alpha="1/2"), dt.geometric(8, alpha="1/2").remap(list(range(9)))),
    "two maps in a row": (
        dt.geometric(8, alpha="1/2").remap([0, 0, 0, 0, 4, 4, 4, 4, 8]),
        dt.geometric(8, alpha="1/2").remap([0, 0, 2, 2, 4, 4, 6, 6, 8]).remap(lambda y: {2: 0, 6: 4}.get(y, y)),
    ),
    "a table made twice": (
        dt.explicit_fair(4, alpha="9/10"),
        dt.from_matrix(
            [
                [Fraction(int(w), int(sum(row))) for w in row]
                for row in dt.explicit_fair(4, alpha="9/10").channel.weights
            ],
            alpha="9/10",
        ),
    ),
    "pairs that are steps": (
        dt.geometric(4, alpha="1/2"),
        dt.Mechanism(
            dt.Grid(0, 4),
            dt.Grid(0, 4),
            dt.geometric(4, alpha="1/2").channel,
            dt.Level.of(alpha="1/2"),
            [(3, 4), (1, 0), (1, 2), (2, 3), (0, 1)],
            dt.uniform(1).recipe,
        ),
    ),
    "all steps, any two": (
        dt.randomized_response(4, alpha="1/2"),
        dt.Mechanism(
            dt.Grid(0, 4),
            dt.Grid(0, 4),
            dt.randomized_response(4, alpha="1/2").channel,
            dt.Level.of(alpha="1/2"),
            4,
            dt.uniform(1).recipe,
        ),
    ),
    "kept with one probability": tuple(
        dt.Mechanism(
            dt.Grid(0, 4),
            dt.Grid(0, 4),
            Mixture(5, Fraction(1, 3), Geometric(4, Fraction(1, 2)), ends),
            dt.Level(Fraction(0)),
            1,
            dt.uniform(1).recipe,
        )
        for ends in (None, Fraction(1, 3))
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_law_grids_level_and_neighbours_are_equal(name, tmp_path):
    a, b = SAME[name]
    assert a == b
    assert (hash(a), a.digest) == (hash(b), b.digest)
    assert len({a, b}) == 1
    b.save(tmp_path / "b.json")
    assert dt.load(tmp_path / "b.json") == a


def test_what_is_equal_draws_alike_from_the_same_words():
    """A keyed source is made for a digest: mechanisms that share it must not give two reports for one record."""
    for a, b in SAME.values():
        if a.inputs.n:
            values = np.arange(400) % a.inputs.n
            drawn = [m.sample(values, source=dt.insecure_source(7)) for m in (a, b)]
            assert np.array_equal(*drawn)


@pytest.mark.parametrize(
    "other",
    [
        dt.geometric(8, alpha="1/3"),
        dt.geometric(9, alpha="1/2"),
        dt.geometric(8, alpha="1/2").truncate(1, 8),
        dt.geometric(8, alpha="1/2", sensitivity=2),
        dt.geometric(dt.Grid(0, 16, 2), alpha="1/2", sensitivity=2),
        dt.from_matrix(dt.geometric(8, alpha="1/2").matrix),
        dt.geometric(OPEN, alpha="1/2"),
        None,
        "geometric",
        0.5,
        dt.Mechanism(
            dt.Grid(0, 8),
            dt.Grid(0, 8),
            dt.geometric(8, alpha="1/2").channel,
            dt.Level(Fraction(1, 4)),
            1,
            dt.uniform(1).recipe,
        ),
        dt.Mechanism(
            dt.Grid(0, 8),
            dt.Grid(0, 8),
            dt.geometric(8, alpha="1/2").channel,
            dt.Level(Fraction(1, 2)),
            [(0, 1), (3, 4)],
            dt.uniform(1).recipe,
        ),
        dt.Mechanism(
            dt.Grid(0, 8),
            dt.Grid(0, 8),
            dt.geometric(8, alpha="1/2").channel,
            dt.Level(Fraction(1, 2)),
            {(0, 1): 2},
            dt.uniform(1).recipe,
        ),
    ],
    ids=str,
)
def test_another_law_grid_level_or_neighbour_is_another_mechanism(other):
    m = dt.geometric(8, alpha="1/2")
    assert m != other
    if isinstance(other, dt.Mechanism):
        assert m.digest != other.digest


def test_a_sequence_too_long_to_write_down_equals_itself_alone():
    def long() -> dt.Mechanism:
        m = dt.geometric(1, alpha="1/2")
        for _ in range(70):
            m = m.then(dt.randomized_response(1, epsilon=20))
        return m

    m = long()
    assert m == m
    assert m != long()


# Neighbours that a mechanism holds


def test_a_number_is_steps_and_the_sensitivity_is_read_from_the_neighbours():
    m = dt.geometric(8, alpha="1/2", sensitivity=3)
    assert (m.neighbours, m.sensitivity) == (dt.Neighbours.steps(3), 3)
    assert dt.randomized_response(8, alpha="1/2").neighbours == dt.Neighbours.any()
    assert dt.randomized_response(8, alpha="1/2").sensitivity == 8
    ring = dt.Mechanism(m.inputs, m.outputs, m.channel, dt.Level(Fraction(0)), [(0, 8)], m.recipe)
    assert (ring.neighbours, ring.sensitivity) == (dt.Neighbours.pairs([(0, 8)]), None)


@pytest.mark.parametrize("bad", [0, -1, "x", 1.5, None, True, [], [(0, 9)], [(1, 1)], {(0, 1): -1}], ids=str)
def test_neighbours_that_make_no_sense_are_refused_by_a_mechanism(bad):
    m = dt.geometric(8, alpha="1/2")
    with pytest.raises(ValueError, match=r"\."):
        dt.Mechanism(m.inputs, m.outputs, m.channel, m.level, bad, m.recipe)


def test_post_processing_keeps_neighbours_and_may_tighten_the_level_between_them():
    grid, pairs = dt.Grid(0, 4), dt.Neighbours.pairs([(0, 1), (3, 4)])
    m = dt.Mechanism(
        grid, grid, dt.geometric(4, alpha="1/2").channel, dt.Level(Fraction(1, 2)), pairs, dt.uniform(1).recipe
    )
    merged = m.remap([0, 0, 0, 4, 4])
    assert merged.neighbours == pairs
    law = merged.matrix[:, [0, 4]]
    least = min(min(x, y) / max(x, y) for i, k in ((0, 1), (3, 4)) for x, y in zip(law[i], law[k], strict=True))
    assert float(merged.alpha) == pytest.approx(least, rel=1e-12)
    for made in (m.then(dt.geometric(4, alpha="1/2")), m.truncate(1, 3)):
        assert made.neighbours == pairs
    open_one = dt.Mechanism(
        OPEN,
        OPEN,
        dt.geometric(OPEN, alpha="1/2").channel,
        dt.Level(Fraction(1, 2)),
        [(0, 1), (-5, -4)],
        dt.uniform(1).recipe,
    )
    assert open_one.truncate(0, 4).neighbours == dt.Neighbours.pairs([(0, 1)])
    with pytest.raises(ValueError, match="None of the pairs"):
        open_one.truncate(2, 4)


def test_the_worst_ratio_is_computed_once(monkeypatch, tmp_path):
    """Making, checking, post-processing and saving ask the channel once for each mechanism."""
    asked, worst = [], Table.worst
    monkeypatch.setattr(Table, "worst", lambda self, distance: asked.append(distance) or worst(self, distance))
    m = dt.explicit_fair(6, alpha="9/10")
    m.save(tmp_path / "m.json")
    assert dt.check_privacy(m).holds
    assert asked == [1]
    asked.clear()
    dt.from_matrix(m.matrix).remap([0, 0, 2, 2, 4, 4, 6]).save(tmp_path / "m.json")
    assert len(asked) <= 2
