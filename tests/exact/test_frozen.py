"""What a mechanism, a design or an estimate keeps and hands out cannot be changed under its level."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import discreet as dt
from discreet.exact.frozen import frozen, is_frozen
from discreet.measure.loss import loss_of
from discreet.measure.prior import prior_of


def arrays(thing: Any, name: str, seen: set[int]) -> Iterator[tuple[str, np.ndarray]]:
    """Every array reachable from a thing: its attributes, cached ones too, and what lies in tuples, lists and mappings."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield name, thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from arrays(value, f"{name}[{key!r}]", seen)
    elif isinstance(thing, (tuple, list)):
        for k, value in enumerate(thing[:50]):
            yield from arrays(value, f"{name}[{k}]", seen)
    elif type(thing).__module__.startswith("discreet") and hasattr(thing, "__dict__"):
        for key, value in vars(thing).items():
            yield from arrays(value, f"{name}.{key}", seen)


def used(m: dt.mechanism.Mechanism) -> dt.mechanism.Mechanism:
    """After use, so that everything that is built once has been built."""
    m.sample(1)
    m.sample(np.array([1, 1]))
    dt.check_privacy(m)
    if m.inputs.n is not None:
        m.channel.push(np.full(m.inputs.size, 1 / m.inputs.size))
        if m.inputs.n < 100:
            _ = m.matrix, m.channel.integers(), m.inputs == m.outputs and dt.properties(m)
    return m


MECHANISMS = {
    "geometric": lambda: dt.geometric(8, alpha="1/2"),
    "geometric with digits": lambda: dt.geometric(2**20, alpha="9999/10000"),
    "geometric open": lambda: dt.geometric(dt.Grid(None, None), alpha="1/2"),
    "randomised response": lambda: dt.randomized_response(8, epsilon=1),
    "randomised response, large": lambda: dt.randomized_response(2**15, epsilon=1),
    "uniform": lambda: dt.uniform(8),
    "explicit fair": lambda: dt.explicit_fair(8, alpha="9/10"),
    "weakly honest": lambda: dt.weakly_honest(4, alpha="9/10"),
    "laplace": lambda: dt.laplace(epsilon=1),
    "laplace closed": lambda: dt.laplace(2, epsilon=1, step="1/4"),
    "staircase": lambda: dt.staircase(epsilon=1),
    "staircase closed": lambda: dt.staircase(8, epsilon=1, sensitivity=3),
    "from matrix": lambda: dt.from_matrix([[0.75, 0.25], [0.25, 0.75]], alpha="1/4"),
    "remap": lambda: dt.geometric(8, alpha="1/2").remap(lambda j: j // 2 * 2),
    "remap of a table": lambda: dt.explicit_fair(8, alpha="9/10").remap(lambda j: j // 2 * 2),
    "random remap": lambda: dt.geometric(2, alpha="1/2").remap(np.eye(3) * 0.5 + 1 / 6),
    "truncated": lambda: dt.geometric(8, alpha="1/2").truncate(2, 6),
    "then": lambda: dt.geometric(8, alpha="1/2").then(dt.randomized_response(8, epsilon=1)),
    "design": lambda: dt.design(4, alpha="9/10", loss="l1", require={"WH"}).mechanism,
}


def writeable(thing: Any) -> list[str]:
    """The arrays that somebody could write to, after trying."""
    found = []
    for name, array in arrays(thing, type(thing).__name__, set()):
        try:
            array.setflags(write=True)
            found.append(name)
        except ValueError:
            pass
    return found


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
def test_no_array_of_a_mechanism_can_be_made_writeable(make):
    m = used(make())
    copies = [m, copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))]
    for each in copies:
        assert writeable(used(each)) == []
        assert each.digest == m.digest


def test_the_walk_finds_arrays():
    """Negative control: an array that can be written to is found where it lies."""
    m = used(dt.explicit_fair(8, alpha="9/10"))
    assert len(list(arrays(m, "m", set()))) >= 3
    object.__setattr__(m.channel, "spare", (np.zeros(3),))
    assert [name for name in writeable(m) if "spare" in name]


@pytest.mark.parametrize("make", MECHANISMS.values(), ids=MECHANISMS)
def test_what_integers_hands_out_does_not_reach_the_verdict(make):
    m = make()
    if m.inputs.n is None or m.channel.integers() is None:
        return
    before, weights = dt.check_privacy(m).tight, m.channel.integers()[0]
    try:
        weights.setflags(write=True)
        weights[:] = 1
    except ValueError:
        pass
    assert dt.check_privacy(m).tight == before


def test_results_keep_what_cannot_be_changed():
    g = dt.geometric(6, alpha="1/2")
    e = dt.recover(np.array([3, 5, 8, 5, 3, 2, 1]), g, kind="counts")
    e.interval(0.95)
    d = dt.design(4, alpha="9/10", loss="l1", prior="binomial(0.3)")
    prior = prior_of("binomial(0.3)", g.inputs)
    loss = loss_of("l1", g.inputs, g.outputs)
    for thing in (e, d, prior, loss):
        _ = getattr(thing, "floats", None)
        for each in (thing, copy.copy(thing), copy.deepcopy(thing)):
            # a certificate's multipliers are Python's integers; its bound is a number of its own, and verify.py computes it anew
            assert [name for name in writeable(each) if "multipliers" not in name] == []


def test_frozen_numbers_are_the_same_numbers():
    for array in (
        np.arange(6).reshape(2, 3),
        np.arange(6.0)[::2],
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
    ):
        kept = frozen(array)
        assert np.array_equal(kept, array)
        assert (kept.dtype, kept.shape) == (array.dtype, array.shape)
        assert is_frozen(kept)
        assert frozen(kept) is kept
        assert not is_frozen(array)
        if kept.size:
            for view in (kept, kept[:1], kept.T, kept.view(np.uint8) if kept.flags.c_contiguous else kept):
                with pytest.raises(ValueError, match="WRITEABLE"):
                    view.setflags(write=True)
