"""Mechanisms from a matrix of probabilities, from the numbers that people write down to the drawn report."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dt
from discreet import verify
from discreet.errors import DiscreetError, GridError, LevelError, PrivacyError, SealError, StructureError
from discreet.mechanisms.matrix import from_matrix
from tests import reference

pandas = pytest.importorskip("pandas")

HALVES = [["2/3", "1/3"], ["1/3", "2/3"]]
UNEVEN = [[0.5, 0.3, 0.2], [0.4, 0.35, 0.25], [0.3, 0.35, 0.35]]
RECTANGLE = [["1/2", "1/4", "1/8", "1/8"], ["1/4", "1/4", "1/4", "1/4"], ["1/8", "1/4", "1/4", "3/8"]]
ALARM = 1e-7


def law(m: dt.Mechanism) -> list[list[Fraction]]:
    weights, total = m.channel.integers()
    return [[Fraction(w, total) for w in row] for row in weights.tolist()]


def ratios(rows: list[list[Fraction]], steps: int) -> Fraction:
    """The tight level of a law, from the definition."""
    close = [(i, k) for i in range(len(rows)) for k in range(len(rows)) if 0 < abs(i - k) <= steps]
    return min(reference.ratio(x, y) for i, k in close for x, y in zip(rows[i], rows[k], strict=True))


def apart(m: dt.Mechanism, target: Any) -> Fraction:
    """The total variation of the worst row."""
    return max(
        sum((abs(p - Fraction(x)) for p, x in zip(row, wanted, strict=True)), Fraction(0)) / 2
        for row, wanted in zip(law(m), target, strict=True)
    )


# What may be given


def test_fractions_and_texts_are_kept_to_the_last_digit():
    exact = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]
    for given in (exact, HALVES, tuple(map(tuple, HALVES)), [[" 2/3", "1/3"], ["1/3 ", "4/6"]]):
        m = from_matrix(given, alpha="1/2")
        assert law(m) == exact
        assert m.recipe.distance == 0
        assert m.alpha == ratios(law(m), 1) == Fraction(1, 2)


def test_floats_decimals_arrays_and_frames_are_one_matrix():
    made = [
        from_matrix(UNEVEN, alpha="1/2"),
        from_matrix(np.array(UNEVEN), alpha="1/2"),
        from_matrix(np.array(UNEVEN, dtype=object), alpha="1/2"),
        from_matrix(pandas.DataFrame(UNEVEN, columns=["none", "one", "many"], index=["a", "b", "c"]), alpha="1/2"),
    ]
    assert all(law(m) == law(made[0]) for m in made)
    assert apart(made[0], UNEVEN) <= made[0].recipe.distance < 1e-15
    texts = [[Decimal(str(x)) for x in row] for row in UNEVEN]
    decimal = from_matrix(texts, alpha="1/2")
    assert apart(decimal, texts) == decimal.recipe.distance == 0
    assert law(decimal) != law(made[0])  # 0.3 as written is not the float 0.3


def test_integers_and_mixed_kinds_are_read_exactly():
    m = from_matrix([[1, 0, 0], [0.25, "1/2", Decimal("0.25")], [0, np.int64(0), Fraction(1)]])
    assert law(m) == [[1, 0, 0], [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)], [0, 0, 1]]


def test_single_precision_floats_are_what_they_are():
    """Their rows sum to 1 only to seven digits, which is refused instead of stretched."""
    rough = np.array([[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7]], dtype=np.float32)
    with pytest.raises(SealError, match=r"Row 0 of the matrix sums to 1\.0000000298;"):
        from_matrix(rough)
    widened = rough.astype(np.float64)
    m = from_matrix(widened / widened.sum(axis=1, keepdims=True))
    assert apart(m, widened / widened.sum(axis=1, keepdims=True)) <= m.recipe.distance < 1e-15


@pytest.mark.parametrize(
    "bad",
    [
        [[0.5, 0.5], [0.5, float("nan")]],
        [[0.5, 0.5]],
        [[0.5, 0.5], [1.0]],
        "1/2",
        [["x", "1"], ["0", "1"]],
        pandas.DataFrame([[0.5, 0.5], [0.5, None]]),
        np.full((2, 2, 2), 0.25),
        [[0.5, 0.5], [0.6, 0.6]],
        None,
    ],
)
def test_what_is_no_matrix_is_refused(bad):
    with pytest.raises(SealError):
        from_matrix(bad, alpha="1/2")


# Grids


def test_a_square_matrix_stands_on_one_grid():
    m = from_matrix(UNEVEN)
    assert (m.inputs, m.outputs) == (dt.Grid(0, 2), dt.Grid(0, 2))
    grid = dt.Grid("1/2", "3/2", "1/2")
    m = from_matrix(UNEVEN, inputs=grid)
    assert (m.inputs, m.outputs) == (grid, grid)
    assert set(m.sample(["1/2"] * 200, source=dt.insecure_source(1))) == {Fraction(1, 2), 1, Fraction(3, 2)}
    assert from_matrix(UNEVEN, inputs=2).inputs == dt.Grid(0, 2)
    apart_grids = from_matrix(UNEVEN, inputs=grid, outputs=dt.Grid(10, 30, 10))
    assert (apart_grids.inputs, apart_grids.outputs) == (grid, dt.Grid(10, 30, 10))


def test_a_matrix_that_is_not_square_has_two_grids():
    m = from_matrix(RECTANGLE, alpha="1/2")
    assert (m.inputs, m.outputs) == (dt.Grid(0, 2), dt.Grid(0, 3))
    assert law(m) == [[Fraction(x) for x in row] for row in RECTANGLE]
    other = from_matrix(RECTANGLE, inputs=dt.Grid(5, 7), outputs=dt.Grid(-10, 20, 10))
    assert set(other.sample([5, 6, 7] * 100, source=dt.insecure_source(2))) == {-10, 0, 10, 20}


def test_grids_that_do_not_fit_are_refused():
    with pytest.raises(GridError, match=r"3 true values, but the grid 0\.\.3 has 4"):
        from_matrix(UNEVEN, inputs=3)
    with pytest.raises(GridError, match=r"4 reports, but the grid 0\.\.2 has 3"):
        from_matrix(RECTANGLE, outputs=2)
    with pytest.raises(GridError, match=r"the grid 0\.\.inf has None"):
        from_matrix(UNEVEN, inputs=dt.Grid(0, None))
    with pytest.raises(GridError, match=r"need one grid, and here are 0\.\.2 and 1\.\.3"):
        from_matrix(UNEVEN, outputs=dt.Grid(1, 3), require=["RM"])


# Levels


def test_a_stated_level_is_claimed_as_stated():
    m = from_matrix(HALVES, alpha="1/4")
    assert m.alpha == Fraction(1, 4)
    assert dt.check_privacy(m).tight == Fraction(1, 2)
    by_epsilon = from_matrix(HALVES, epsilon="ln(2)")
    assert by_epsilon.alpha == Fraction(1, 2)
    assert by_epsilon.recipe.distance == 0
    assert dict(by_epsilon.recipe.parameters)["epsilon"] == "ln(2)"
    with pytest.raises(LevelError, match="both given"):
        from_matrix(HALVES, alpha="1/2", epsilon=1)


def test_without_a_level_the_tight_one_is_claimed():
    for matrix, steps in ((HALVES, 1), (RECTANGLE, 1), (RECTANGLE, 2), (UNEVEN, 1), (UNEVEN, 2)):
        m = from_matrix(matrix, sensitivity=steps)
        assert m.alpha == ratios(law(m), steps)
        assert "alpha" not in dict(m.recipe.parameters)
    assert from_matrix(RECTANGLE).alpha == Fraction(1, 2)
    assert from_matrix(RECTANGLE, sensitivity=2).alpha == Fraction(1, 4)


def test_without_a_level_nothing_and_everything_can_be_claimed():
    nothing = from_matrix([[1, 0], [0, 1]])
    assert (nothing.alpha, nothing.epsilon) == (0, math.inf)
    everything = from_matrix([["1/3", "2/3"]] * 4)
    assert (everything.alpha, everything.epsilon) == (1, 0)
    floats = from_matrix([[0.1, 0.2, 0.7, 0.0]] * 4)
    assert floats.alpha == 1
    assert not floats.channel.weights[:, 3].any()


def test_floats_with_impossible_reports_claim_no_level():
    """Their rows sum to 1 only up to rounding; mending that makes nothing possible that was not."""
    given = [[0.1, 0.2, 0.7], [0.7, 0.3, 0.0]]
    assert sum(map(Fraction, given[0])) != 1
    m = from_matrix(given)
    assert m.alpha == 0
    assert m.channel.weights[1, 2] == 0


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    "matrix", [UNEVEN, RECTANGLE, reference.geometric(6, Fraction(7, 9))], ids=["uneven", "wide", "GM"]
)
def test_a_refusal_names_the_pair_and_a_level_that_is_then_accepted(matrix, steps):
    with pytest.raises(PrivacyError, match=r"row \d+, column \d+ is .*, but row \d+, column \d+ is ") as caught:
        from_matrix(matrix, alpha="99/100", sensitivity=steps)
    witness, exact = caught.value.witness, [[Fraction(x) for x in row] for row in matrix]
    above, below = (exact[i][witness.report] for i in (witness.first, witness.second))
    assert 0 < abs(witness.first - witness.second) <= steps
    assert float(below / above) == pytest.approx(float(ratios(exact, steps)), rel=1e-12)  # no other pair is worse
    told = re.search(r"ask for epsilon ([0-9.e-]+) or more", str(caught.value))[1]
    assert float(told) == pytest.approx(-math.log(below / above), rel=1e-5)
    for level in ({"epsilon": told}, {"alpha": witness.alpha}):
        m = from_matrix(matrix, sensitivity=steps, **level)
        assert ratios(law(m), steps) >= m.alpha
        assert apart(m, exact) <= m.recipe.distance < 1e-12
    with pytest.raises(PrivacyError):
        from_matrix(matrix, sensitivity=steps, alpha=Fraction(1001, 1000) * below / above)


def test_an_impossible_report_beside_a_possible_one_has_no_level():
    with pytest.raises(PrivacyError, match=r"row 0, column 0 is 1, but row 1, column 0 is 0; no epsilon holds"):
        from_matrix([[1, 0], [0, 1]], epsilon=5)


def test_sensitivity_is_in_the_units_of_the_grid():
    grid = dt.Grid(0, 1, "1/2")
    matrix = reference.geometric(2, Fraction(1, 2))
    assert from_matrix(matrix, inputs=grid, sensitivity="1/2", alpha="1/2").sensitivity == 1
    assert from_matrix(matrix, inputs=grid, sensitivity=1, alpha="1/4").sensitivity == 2
    with pytest.raises(PrivacyError):
        from_matrix(matrix, inputs=grid, sensitivity=1, alpha="1/2")


def test_neighbours_take_the_place_of_a_sensitivity():
    matrix = reference.geometric(2, Fraction(1, 2))
    halves = dt.Grid(0, 1, "1/2")
    assert from_matrix(matrix, inputs=halves, neighbours=1).sensitivity == 1  # one step, though it is half a unit
    assert from_matrix(matrix, inputs=halves, neighbours=1, sensitivity="1/2").sensitivity == 1
    assert from_matrix(matrix, sensitivity=2).sensitivity == 2
    with pytest.raises(GridError, match="leave out the sensitivity"):
        from_matrix(matrix, neighbours=1, sensitivity=2)


# Properties


def test_required_properties_hold_and_others_are_not_promised():
    target = np.array(reference.explicit_fair(9, Fraction(2, 3)), dtype=float)
    m = from_matrix(target, alpha="2/3", require=["F", "RM", "CM", "S", "WH", "RH", "CH"])
    assert reference.properties(law(m)) == reference.ALL_PROPERTIES
    assert ratios(law(m), 1) >= Fraction(2, 3)
    assert dict(m.recipe.parameters)["require"] == "CH CM F RH RM S WH"
    assert apart(m, target) <= m.recipe.distance < 1e-12
    rough = target + np.random.default_rng(3).uniform(-1e-13, 1e-13, size=target.shape)
    assert not {"F", "S"} & reference.properties([[Fraction(x) for x in row] for row in rough])
    assert {"F", "S"} <= reference.properties(law(from_matrix(rough, alpha="2/3", require={"F", "S"})))


def test_properties_the_matrix_lacks_are_refused():
    with pytest.raises(StructureError, match=r"does not have S .*leave S out") as caught:
        from_matrix(UNEVEN, alpha="1/2", require={"S", "RM"})
    (i, j), (k, m) = caught.value.fault.low, caught.value.fault.high
    assert (k, m) == (2 - i, 2 - j)
    assert UNEVEN[i][j] < UNEVEN[k][m]
    with pytest.raises(StructureError, match="none of the seven"):
        from_matrix(UNEVEN, require={"honest"})
    with pytest.raises((StructureError, GridError), match="require none"):
        from_matrix(RECTANGLE, require={"RM"})


# Files


MADE = {
    "kept": lambda: from_matrix(HALVES, alpha="1/2"),
    "rounded": lambda: from_matrix(UNEVEN, epsilon="0.7", require={"RM"}),
    "wide": lambda: from_matrix(RECTANGLE, inputs=dt.Grid(5, 7), outputs=dt.Grid("-1/2", 1, "1/2"), sensitivity=2),
    "measured": lambda: from_matrix(UNEVEN),
    "nothing": lambda: from_matrix([[1, 0], [0, 1]]),
    "everything": lambda: from_matrix([["1/3", "2/3"]] * 3),
    "unused reports": lambda: from_matrix(
        [[0.6, 0, 0.4], [0.5, 0, 0.5], [0.4, 0, 0.6]], alpha="4/5", require={"RM", "S"}
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_files_keep_everything(name, tmp_path):
    m = MADE[name]()
    m.save(tmp_path / "m.json")
    again = dt.load(tmp_path / "m.json")
    assert law(again) == law(m)
    assert (again.inputs, again.outputs, again.sensitivity) == (m.inputs, m.outputs, m.sensitivity)
    assert (again.level, again.recipe, again.digest) == (m.level, m.recipe, m.digest)
    proved = verify.verify(verify.read(tmp_path / "m.json"))
    assert proved.alpha == m.alpha
    assert proved.tight == ratios(law(m), m.sensitivity)


def test_the_verifier_alone_accepts_the_file_and_notices_a_changed_weight(tmp_path):
    path = tmp_path / "m.json"
    MADE["rounded"]().save(path)
    script = Path(verify.__file__)

    def exit_code() -> int:
        return subprocess.run(
            [sys.executable, "-I", str(script), str(path)], capture_output=True, check=False
        ).returncode

    assert exit_code() == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    first = [int(w) for w in document["channel"]["rows"][0].split()]
    first[0], first[1] = first[1], first[0]
    document["channel"]["rows"][0] = " ".join(map(str, first))
    document["digest"] = verify.digest(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    assert exit_code() == 1


# Draws


def test_reports_of_probability_zero_are_never_drawn():
    m = MADE["unused reports"]()
    drawn = m.sample(np.repeat([0, 1, 2], 20_000), source=dt.insecure_source(4))
    assert set(drawn.tolist()) == {0, 2}


def test_draws_follow_the_matrix():
    """Chi-squared in every row; the law of another row is rejected."""
    m = from_matrix(UNEVEN, alpha="1/2")
    size = 50_000
    for i, row in enumerate(UNEVEN):
        drawn = m.sample(np.full(size, i), source=dt.insecure_source(5 + i))
        seen = np.bincount(drawn, minlength=3)
        assert stats.chisquare(seen, np.array(row) / sum(row) * size).pvalue > ALARM
        other = np.array(UNEVEN[(i + 1) % 3])
        assert stats.chisquare(seen, other / other.sum() * size).pvalue < ALARM


def test_the_recipe_says_what_was_given():
    told = dict(from_matrix(UNEVEN, alpha="1/2", sensitivity=2, require=["S", "RM"][1:]).recipe.parameters)
    assert told == {"inputs": "0..2", "outputs": "0..2", "sensitivity": "2", "require": "RM", "alpha": "1/2"}
    assert repr(from_matrix(RECTANGLE, alpha="1/2")).startswith("<from_matrix 0..2 -> 0..3, alpha 1/2,")


def test_mechanisms_and_matrices_are_told_apart():
    m = dt.geometric(3, alpha="1/2")
    for given in (m, dt.design(2, alpha="1/2")):
        with pytest.raises(SealError, match="is a mechanism already"):
            dt.from_matrix(given)
    for matrix in (m.matrix, m.matrix.tolist(), [m.matrix]):
        with pytest.raises(DiscreetError, match="from_matrix"):
            dt.compare(matrix, alpha="1/2")
