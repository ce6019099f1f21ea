"""Traditional methods are no mechanisms: they have no level, what spends a budget refuses them, everything else takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dt
from discreet import verify
from discreet.errors import DiscreetError, FileError, LedgerError, ReleaseError
from discreet.traditional.methods import METHODS
from tests.asking import ask_release

ALL = {
    "random_rounding": dt.traditional.random_rounding(30, base=3),
    "suppression": dt.traditional.suppression(30),
    "cell_key": dt.traditional.cell_key(30),
}


@pytest.mark.parametrize("name", ALL)
def test_a_method_has_no_level(name):
    m = ALL[name]
    assert isinstance(m, dt.traditional.Method)
    assert not isinstance(m, dt.Mechanism)
    assert not any(hasattr(m, word) for word in ("level", "alpha", "epsilon", "to_opendp", "remap", "truncate", "then"))
    assert not isinstance(dt.geometric(30, alpha="1/2"), dt.traditional.Method)
    assert m.recipe.family == name
    assert "not private" in repr(m)
    assert "\n" not in repr(m)
    with pytest.raises(AttributeError):
        m.recipe = None
    assert not dt.check_privacy(m, epsilon=5).holds
    assert "no level is claimed" in str(dt.check_privacy(m))


def test_the_families_are_those_that_a_file_may_name():
    assert set(METHODS) == set(ALL)


def test_methods_are_equal_by_their_law_and_never_equal_to_a_mechanism():
    assert dt.traditional.random_rounding(30, base=3) == ALL["random_rounding"]
    assert hash(dt.traditional.random_rounding(30, base=3)) == hash(ALL["random_rounding"])
    assert dt.traditional.random_rounding(30, base=5) != ALL["random_rounding"]
    small = dt.traditional.random_rounding(2, base=2)
    alike = dt.from_matrix([["1", "0"], ["1/2", "1/2"], ["0", "1"]], inputs=2, outputs=dt.Grid(0, 2, 2))
    assert np.array_equal(alike.matrix, small.matrix)
    assert alike != small
    assert small != alike


@pytest.mark.parametrize("name", ALL)
def test_what_spends_a_budget_refuses_a_method(name, tmp_path):
    m = ALL[name]
    ledger = dt.Ledger(tmp_path / "ledger.db")
    ledger.create("town", budget="4", relation="add-remove")
    table = pa.table({"g": ["a", "b"] * 5, "x": list(range(10))})
    asked = {"dataset": "town", "ledger": ledger, "by": ["g"], "domain": {"g": ["a", "b"]}, "epsilon": "1"}
    words = f"{name} is a traditional method, which is not private"
    with pytest.raises(ReleaseError, match=words):
        ask_release(table, mechanism=m, **asked)
    with pytest.raises(LedgerError, match=words), ledger["town"].spend(epsilon="1", what="one count") as paid:
        paid.sample(m, 7)
    with pytest.raises(DiscreetError, match=words):
        dt.perturb(table, column="x", mechanism=m)
    with pytest.raises(DiscreetError, match=words):
        dt.theory.derivable(m)
    assert ledger["town"].balance().left in (3, 4)  # a charge is never given back


def test_everything_that_needs_no_level_takes_a_method():
    m = ALL["random_rounding"]
    assert m.sample([3, 6]) == [3, 6]
    assert m.matrix.shape == (31, 11)
    assert dt.expected_loss(m, "l1") == pytest.approx(np.mean([4 / 3 if i % 3 else 0 for i in range(31)]))
    assert dt.measure.posterior(m, 3)[3] == pytest.approx(1 / 3)
    assert dt.measure.confidence_interval(m, 6) == (4, 8)
    assert set(dt.properties(dt.from_matrix(np.eye(3).tolist()))) >= {"F"}
    assert dt.measure.describe(m).to_dict()["tight_epsilon"] is None
    found = dt.compare({"office": m, "ours": dt.geometric(30, epsilon=1)}, neighbours=1)
    assert not found["office"]["proved"]
    counts = np.zeros(11, dtype=np.int64)
    counts[4] = 1000
    assert dt.recover(counts, m, method="mle", kind="counts").distribution[12] == pytest.approx(1)
    assert dt.audit(m, draws=1000, pairs=[(0, 1)]).epsilon_lower > 0
    assert m.plot() is not None
    private = dt.geometric(30, epsilon=1).then(m)
    assert isinstance(private, dt.Mechanism)
    assert dt.check_privacy(private, epsilon=1).holds


@pytest.mark.parametrize("name", ALL)
def test_a_file_of_a_method_is_whole_but_claims_nothing(name, tmp_path):
    path = tmp_path / "method.json"
    ALL[name].save(path)
    assert dt.traditional.Method.load(path) == ALL[name]
    with pytest.raises(FileError, match=f"holds {name}, a traditional method .*Method.load"):
        dt.load(path)
    done = subprocess.run(
        [sys.executable, str(Path(verify.__file__)), str(path)], capture_output=True, text=True, check=True
    )
    assert "claims no privacy" in done.stdout
    dt.geometric(4, alpha="1/2").save(path)
    with pytest.raises(FileError, match="holds a mechanism"):
        dt.traditional.Method.load(path)
