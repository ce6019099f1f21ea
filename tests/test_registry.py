"""The one list of families: it is true of the functions it names, light to load, and what everybody reads."""

from __future__ import annotations

import inspect
import subprocess
import sys
from fractions import Fraction
from typing import get_args

import pytest

import discreet as dt
from discreet.errors import ReleaseError
from discreet.registry import FAMILIES, PLANNED, RELEASED, legend


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_family_is_a_public_function_that_takes_what_the_list_says(family):
    _, *rooms, _ = family.call.partition("(")[0].split(".")
    function = getattr(getattr(dt, rooms[0]) if rooms else dt, family.name)
    assert function.__module__ == f"discreet.{family.home}"
    assert set(family.takes) <= set(list(inspect.signature(function).parameters)[1:])
    example = dict(family.example)
    first = example.pop("n", None) or example.pop("matrix")
    assert family.make(first, **example).recipe.family == family.name


def test_names_are_told_apart():
    for names in ([f.name for f in FAMILIES], [f.word for f in FAMILIES], [n for f in FAMILIES for n in f.compared]):
        assert len(set(names)) == len(names)


def test_the_list_loads_nothing_heavy():
    """The command line reads it when it starts."""
    code = "import sys, discreet.registry; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'flint', 'rich')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_everybody_reads_it():
    from discreet.cli.mechanisms import Family

    assert get_args(Family) == tuple(f.name.replace("_", "-") for f in FAMILIES)
    assert [c.family for c in dt.plan_error(3, alpha="1/2")] == list(PLANNED)
    assert all(name in legend() for f in FAMILIES for name in list(f.compared)[:1])
    with pytest.raises(ReleaseError) as caught:
        dt.Question(mechanism="staircase")
    assert all(name in str(caught.value) for name in RELEASED)


@pytest.mark.parametrize("name", RELEASED)
def test_what_is_released_with_serves_counts_of_any_group(name):
    for n in (1, 2, 64, 1000):
        m = RELEASED[name].make(dt.Grid(0, n), alpha="9/10")
        assert (m.inputs.n, m.outputs.n) == (n, n)
        assert m.alpha == Fraction(9, 10)
