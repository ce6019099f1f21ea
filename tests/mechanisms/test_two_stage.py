"""Rounded, then noise: any partition of the range, and a level that brute force finds on the integers of both stages."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import verify
from discreet.channels import then
from discreet.errors import GridError, PrivacyError, SizeError
from tests import reference
from tests.profiles import examples
from tests.test_verify import document, kind_of_fault, put, resigned

PAPER = {(-10, -5): -10, (-5, 5): 0, (5, 10): 10}
HALVES = dt.Grid(-10, 10, "1/2")


def paper_cell(x: Fraction) -> int:
    """[-10, -5) to the first of the three values, [-5, 5) to the second, [5, 10] to the third."""
    return 0 if x < -5 else 1 if x < 5 else 2


def law(m: dt.Mechanism) -> list[list[Fraction]]:
    return [[m.channel.entry(i, j) for j in range(m.outputs.size)] for i in range(m.inputs.size)]


def tight(m: dt.Mechanism) -> Fraction:
    """The smallest ratio of any report between any two true values at most the sensitivity apart, pair by pair."""
    rows = law(m)
    pairs = ((i, k) for i in range(len(rows)) for k in range(i + 1, min(len(rows), i + m.sensitivity + 1)))
    return min(reference.ratio(p, q) for i, k in pairs for p, q in zip(rows[i], rows[k], strict=True))


def test_the_papers_mechanism_entry_by_entry():
    a = Fraction(3, 10)
    second = reference.geometric(2, a)
    for cells in (PAPER, [-10, 0, 10], "10, 0, -10", "-10..-5: -10; -5..5: 0; 5..10: 10"):
        m = dt.queries.rounded(HALVES, cells, alpha=a, sensitivity=10)
        assert law(m) == [second[paper_cell(Fraction(k, 2) - 10)] for k in range(41)]
        assert m.alpha == tight(m) == a
        assert m.outputs == dt.Grid(-10, 10, 10)
    assert dict(m.recipe.parameters)["cells"] == "-10..-5: -10, -5..5: 0, 5..10: 10"


@pytest.mark.parametrize("step", ["1/3", "1/7", "2"])
def test_on_any_grid_that_divides_the_sensitivity_the_papers_cells_are_one_jump_apart(step):
    top = 10 // Fraction(step) * Fraction(step)
    m = dt.queries.rounded(dt.Grid(-top, top, step), [-10, 0, 10], alpha="1/2", sensitivity=10)
    assert dict(m.recipe.parameters)["jump"] == "10"
    assert tight(m) == Fraction(1, 2)


def test_a_grid_that_does_not_divide_the_sensitivity_may_cost_a_jump():
    """34 steps of 3/10 stand for 10: values 10.2 apart are then neighbours, two cells apart."""
    m = dt.queries.rounded(dt.Grid("-9.9", "9.9", "3/10"), [-10, 0, 10], alpha="1/4", sensitivity=10)
    assert (m.sensitivity, dict(m.recipe.parameters)["jump"], tight(m)) == (34, "20", Fraction(1, 4))


def test_cells_that_are_too_narrow_get_more_noise_and_not_less_privacy():
    """Values within 10 may then fall two cells apart: each step keeps the square root."""
    m = dt.queries.rounded(HALVES, {(-10, -4): -10, (-4, 4): 0, (4, 10): 10}, alpha="1/4", sensitivity=10)
    assert law(m)[20] == reference.geometric(2, Fraction(1, 2))[1]
    assert tight(m) == m.alpha == Fraction(1, 4)


@st.composite
def partitions(draw):
    size = draw(st.integers(3, 14))
    cuts = sorted(draw(st.sets(st.integers(1, size - 1), min_size=1, max_size=4)))
    values = draw(
        st.lists(
            st.sampled_from([Fraction(k, 2) for k in range(-4, 9)]), min_size=len(cuts) + 1, max_size=len(cuts) + 1
        )
    )
    ends = [0, *cuts, size]
    return size, {(ends[k], ends[k + 1]): value for k, value in enumerate(values)}


@settings(max_examples=examples(40))
@given(
    partitions(),
    st.integers(1, 6),
    st.sampled_from(["geometric", "staircase", "explicit_fair"]),
    st.fractions(Fraction(1, 9), Fraction(9, 10), max_denominator=20),
)
def test_whatever_the_cells_the_level_holds(parts, sensitivity, second, a):
    """Cells may come in any order of values; the level asked for holds between all pairs, and for the geometric is tight."""
    size, cells = parts
    if len(set(cells.values())) == 1:
        with pytest.raises(GridError, match="one cell"):
            dt.queries.rounded(size, cells, alpha=a, sensitivity=sensitivity, then=second)
        return
    m = dt.queries.rounded(size, cells, alpha=a, sensitivity=sensitivity, then=second)
    found = tight(m)
    assert m.alpha == a <= found
    if second == "geometric":
        assert float(found - a) < 1e-15
    for k in range(size + 1):  # rounded as the cells say, the upper end with the last one
        value = next(v for (low, high), v in cells.items() if low <= k < high or k == high == size)
        assert np.array_equal(m.matrix[k], m.matrix[next(i for (i, _), v in cells.items() if v == value)])


@pytest.mark.parametrize("second", ["geometric", "staircase"])
def test_a_law_too_large_to_write_out_is_bounded_by_its_widest_jump(second, monkeypatch, tmp_path):
    """What brute force finds on a small law is what the bound says when nothing may be written out, in both checkers."""
    cells = {(0, 3): 4, (3, 7): 0, (7, 9): 5, (9, 20): 2}
    small = dt.queries.rounded(20, cells, alpha="1/3", sensitivity=2, then=second, outputs=dt.Grid(-3, 9))
    found = tight(small)
    monkeypatch.setattr(then, "_MAX_PRODUCT", 0)
    monkeypatch.setattr(verify, "MAX_PRODUCT", 0)
    large = dt.queries.rounded(20, cells, alpha="1/3", sensitivity=2, then=second, outputs=dt.Grid(-3, 9))
    worst = large.worst
    assert not worst.exact
    assert Fraction(1, 3) <= worst.alpha**worst.power <= found
    assert worst.alpha**worst.power == pytest.approx(found, rel=1e-15)
    assert {large.inputs.value(worst.first), large.inputs.value(worst.second)} <= set(range(3, 9))
    for i, k in ((0, 2), (2, 3), (6, 8)):  # between two values it is exact after all
        ratio = large.channel.ratio(i, k)
        assert ratio.bound**ratio.power == max(p / q for p, q in zip(law(small)[i], law(small)[k], strict=True))
    large.save(tmp_path / "m.json")
    assert dt.load(tmp_path / "m.json") == large
    assert verify.main([str(tmp_path / "m.json")]) == 0
    claimed = document(large)
    targets = claimed["channel"]["first"]["targets"].split()
    for lie in (
        put("level", "alpha", "2/5"),
        put("channel", "first", "targets", " ".join([*targets[:8], "12", *targets[9:]])),
    ):
        assert kind_of_fault(resigned(claimed, lie)) == "claim"
    with pytest.raises(PrivacyError):
        dt.Mechanism(
            large.inputs, large.outputs, large.channel, dt.Level(Fraction(2, 5)), large.neighbours, large.recipe
        )


def test_reports_may_lie_on_a_wider_or_finer_grid():
    m = dt.queries.rounded(HALVES, [-10, 0, 10], alpha="1/2", sensitivity=10, outputs=dt.Grid(-100, 100, 5))
    first = reference.geometric(40, m.channel.entry(0, 17) / m.channel.entry(0, 18))[
        18
    ]  # -10 is the 19th of 41 reports
    assert [float(x) for x in law(m)[0]] == pytest.approx([float(x) for x in first])
    assert float(tight(m)) == pytest.approx(0.5, abs=1e-15)
    with pytest.raises(GridError, match="'-10' is not on"):
        dt.queries.rounded(HALVES, [-10, 0, 10], alpha="1/2", sensitivity=10, outputs=dt.Grid(-9, 9))


def test_a_second_stage_of_ones_own():
    made = dt.queries.rounded(
        9, [0, 9], epsilon=1, then=lambda grid, alpha, sensitivity: dt.randomized_response(grid, alpha=alpha)
    )
    assert law(made)[4] == law(dt.randomized_response(dt.Grid(0, 9, 9), epsilon=1))[0]
    assert dict(made.recipe.parameters)["then"] == "randomized_response"
    with pytest.raises(PrivacyError, match="does not hold"):  # it took no notice of the level
        dt.queries.rounded(
            9, [0, 9], epsilon=1, then=lambda grid, alpha, sensitivity: dt.geometric(grid, epsilon=2, sensitivity=9)
        )
    with pytest.raises(GridError, match="make it for"):
        dt.queries.rounded(9, [0, 9], epsilon=1, then=lambda grid, alpha, sensitivity: dt.geometric(9, alpha=alpha))


def test_answers_are_drawn_by_their_cell():
    m = dt.queries.rounded(HALVES, [-10, 0, 10], alpha="1/10", sensitivity=10)
    drawn = m.sample(np.repeat([-5.5, -5, 4.5, 5], 10**5), source=dt.insecure_source(1)).reshape(4, -1)
    counts = np.array([[(row == value).sum() for value in (-10, 0, 10)] for row in drawn])
    rows = np.array(reference.geometric(2, Fraction(1, 10)), dtype=float)[[0, 1, 1, 2]]
    squares = ((counts - 1e5 * rows) ** 2 / (1e5 * rows)).sum(axis=1)  # 2 degrees of freedom each
    assert (squares < 36).all()  # a chance of 1.5e-8 each
    wrong = rows[[0, 0, 2, 3]]
    assert (((counts - 1e5 * wrong) ** 2 / (1e5 * wrong)).sum(axis=1) > 36).tolist() == [False, True, False, False]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ({(-10, -5): 0, (-4, 10): 5}, "a gap"),
        ({(-10, -5): 0, (-6, 10): 5}, "an overlap"),
        ({(-10, 0): 0, (0, 9): 5}, "end to end"),
        ({(0, -10): 0}, "no part of a range"),
        ({"low": 3}, "no part of a range"),
        ([4], "one cell"),
        ([0, 100], "nearest to no answer"),
        ([0, 100, 200], "nearest to no answer"),
        ([], "list of at least one number"),
        ("1, few", "finite number"),
        ("0..5: 3, 7", "cannot be read"),
        (7, "list of at least one number"),
    ],
)
def test_cells_that_are_none_are_refused(cells, told):
    with pytest.raises(GridError, match=told):
        dt.queries.rounded(HALVES, cells, alpha="1/2", sensitivity=10)


def test_what_else_is_refused():
    with pytest.raises(GridError, match="give both"):
        dt.queries.rounded(dt.Grid(0, None), [0, 5], alpha="1/2")
    with pytest.raises(GridError, match="two ends"):
        dt.queries.rounded(9, [0, 9], alpha="1/2", outputs=dt.Grid(0, None, 9))
    with pytest.raises(GridError, match="geometric, staircase"):
        dt.queries.rounded(9, [0, 5], alpha="1/2", then="laplace")
    with pytest.raises(SizeError, match="coarser"):
        dt.queries.rounded(2**30, [0, 5], alpha="1/2")
