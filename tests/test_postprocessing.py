"""remap, truncate, then: inherited levels, exact merging, clear refusals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.channels import Map, Table, Then
from discreet.errors import RemapError, SingularError, SizeError, TableError
from tests import reference

A = Fraction(3, 4)
GM, EM = dt.geometric(4, alpha=A), dt.explicit_fair(4, alpha=A)


def law(m: dt.Mechanism) -> list[list[Fraction]]:
    weights, total = m.channel.integers()
    return [[Fraction(int(w), total) for w in row] for row in weights.tolist()]


def test_a_deterministic_remap_adds_columns():
    expected = [[row[0] + row[1], row[2], row[3] + row[4]] for row in reference.geometric(4, A)]
    for given in (
        [0, 0, 1, 2, 2],
        {0: 0, 1: 0, 2: 1, 3: 2, 4: 2},
        lambda y: (0, 0, 1, 2, 2)[y],
        np.array([0, 0, 1, 2, 2]),
    ):
        assert law(GM.remap(given, outputs=dt.Grid(0, 2))) == expected


def test_a_table_stays_a_table_under_a_deterministic_remap():
    assert isinstance(EM.remap([0, 0, 1, 2, 2]).channel, Table)


def test_a_random_remap_is_the_exact_product():
    t = [["1/2", "1/2", 0], [0, 1, 0], ["1/3", "1/3", "1/3"], [0, 0, 1], ["0.25", "0.25", "0.5"]]
    exact = [[Fraction(x) for x in row] for row in t]
    for m, own in ((GM, reference.geometric(4, A)), (EM, law(EM))):
        assert law(m.remap(t)) == reference.multiply(own, exact)


def test_a_float_remap_is_rounded_to_whole_rows():
    """Rows of thirds in floats do not sum to one exactly; the sealed remap does."""
    m = GM.remap(np.full((5, 3), 1 / 3))
    assert np.abs(m.matrix - 1 / 3).max() < 1e-15
    assert dt.check_privacy(m).tight > Fraction(999999, 1000000)


def test_remapping_to_one_report_gives_perfect_privacy():
    assert GM.remap([2] * 5).alpha == 1


def test_the_level_becomes_tight():
    """Thresholding GM at its middle tells the truth's side: the level of that table, not the claim it came from."""
    m = GM.remap([0, 0, 0, 4, 4])
    rows = law(m)
    tight = min(min(p / q, q / p) for i in range(4) for p, q in zip(rows[i], rows[i + 1], strict=True) if p and q)
    assert m.alpha == tight


def test_truncate_moves_the_mass_to_the_ends():
    inner = EM.truncate(1, 3)
    assert inner.outputs == dt.Grid(1, 3)
    assert law(inner) == [[row[0] + row[1], row[2], row[3] + row[4]] for row in law(EM)]


def test_then_is_the_product():
    both = GM.then(EM)
    assert law(both) == reference.multiply(reference.geometric(4, A), law(EM))
    assert both.alpha >= A


def test_a_large_sequence_inherits_its_level():
    m = dt.geometric(5000, alpha="9/10").remap(lambda y: y // 2)
    assert isinstance(m.channel, Then)
    verdict = dt.check_privacy(m)
    assert verdict.holds
    assert not verdict.exact
    assert m.alpha == Fraction(9, 10)
    worse = dt.check_privacy(m, alpha="95/100")
    assert not worse.holds
    assert "as far as can be proved" in str(worse)


def test_sequences_of_channels_are_their_matrices():
    rng = np.random.default_rng(3)
    m = GM.remap([[0.5, 0.5, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0.25, 0.75, 0], [0, 0, 0, 0.5, 0.5]])
    p = rng.dirichlet(np.ones(5))
    np.testing.assert_allclose(m.channel.solve(m.channel.push(p)), p, atol=1e-10)


def test_a_permutation_can_be_undone_and_a_merging_cannot():
    q = np.array([0.1, 0.2, 0.3, 0.4])
    turn = Map(np.array([3, 2, 1, 0]), 4)
    np.testing.assert_allclose(turn.push(turn.solve(q)), q)
    with pytest.raises(SingularError):
        Map(np.array([0, 0, 1, 2]), 4).solve(q)


@pytest.mark.parametrize(
    ("targets", "words"),
    [
        ([0, 1], "one entry for each"),
        ([0, 1, 2, 3, 9], "not on the grid"),
        ([0, 1, 2, 3, 0.5], "not on the grid"),
        ({0: 0}, "no entry"),
        (5, "function"),
        ("01234", "function"),
        ([[0.5, 0.4]] * 5, "sums to"),
        ([[1.5, -0.5]] * 5, "not a probability"),
        ([[float("nan"), 1]] * 5, "not a probability"),
        ([[1], [1], [1], [1], [0.5, 0.5]], "all of one length"),
    ],
)
def test_remaps_that_do_not_fit_are_refused(targets, words):
    with pytest.raises(RemapError, match=words):
        GM.remap(targets)


def test_truncations_that_do_not_fit_are_refused():
    with pytest.raises(RemapError, match="narrows"):
        GM.truncate(0, 9)
    with pytest.raises(RemapError, match="not on the reports' grid"):
        GM.truncate("1/2", "7/2")
    with pytest.raises(RemapError, match="narrows"):
        dt.geometric(dt.Grid(0, None), alpha=A).truncate(-3, 5)
    with pytest.raises(SizeError, match="make the mechanism on"):
        dt.geometric(10**9, alpha=A).truncate(0, 5)


def test_sequences_that_do_not_fit_are_refused():
    with pytest.raises(RemapError, match="reports live on"):
        GM.then(dt.geometric(5, alpha=A))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([[1, 1]], "two rows"),
        ([[1, 2], [2, 2]], "same total"),
        ([[1, 2], [2, 1]], "multiple of"),
        ([[1.5, 0.5], [1, 1]], "integers"),
        ([[-1, 3], [1, 1]], "integers"),
        ([[0, 0], [0, 0]], "between 1"),
        ([[2**63, 2**63], [2**63, 2**63]], "between 1"),
        ([1, 2], "two rows"),
    ],
)
def test_tables_that_are_none_are_refused(weights, words):
    with pytest.raises(TableError, match=words):
        Table(weights)


def test_sums_beyond_64_bits_do_not_wrap():
    """Three weights whose sum is 2^64 + 4 would look like 4 in machine words."""
    row = np.array([2**63, 2**63, 4, 0], dtype=np.uint64)
    with pytest.raises(TableError, match="between 1"):
        Table(np.array([row, row]))


def test_vectors_of_the_wrong_length_are_refused():
    with pytest.raises(TableError, match="length 5"):
        GM.channel.push(np.ones(4))
