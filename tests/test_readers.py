"""Two readers of mechanism files, dt.load and verify.py: what one takes the other takes."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import math
import random
from collections import Counter
from typing import Any

import pytest

import discreet as dt
from discreet import files, verify
from discreet.errors import FileError
from discreet.registry import FAMILIES
from tests.collect.test_reporter_javascript import mutated, signed_as_it_stands
from tests.profiles import examples
from tests.test_files import EVERY_KIND
from tests.test_proofs import designed, forge, mend
from tests.test_verify import document, put, resigned

Document = dict[str, Any]


def verdicts(d: Document) -> tuple[bool, bool]:
    """Does verify.py take it, and does dt.load? Any error but their own is a failure."""
    text = signed_as_it_stands(d).encode()
    try:
        verify.verify(verify.parse(text))
        proved = True
    except verify.Fault:
        proved = False
    try:
        files.loads_procedure(text)
        loaded = True
    except FileError:
        loaded = False
    return proved, loaded


def models() -> list[Document]:
    """A file of every kind, of every family and of designs with certificates, without the long ones."""
    made = [document(m) for m, _ in EVERY_KIND.values()]
    for family in FAMILIES:
        example = dict(family.example)
        first = example.pop("n", None) or example.pop("matrix")
        made.append(document(family.build(first, **example)))
    return [d for d in (*made, *designed()) if len(json.dumps(d)) < 6000]


def test_both_take_and_refuse_the_same_mutated_files():
    rng, originals, tally = random.Random(44), models(), Counter[tuple[bool, bool]]()
    families = {d["recipe"]["family"] for d in originals}
    assert {family.name for family in FAMILIES} <= families
    for _ in range(examples(3000)):
        d = copy.deepcopy(rng.choice(originals))
        if rng.randrange(3) == 0:
            d = mutated(rng, d)
        else:
            with contextlib.suppress(LookupError, ValueError, TypeError, AttributeError, ZeroDivisionError):
                forge(d, rng)
            if rng.randrange(2):
                mend(d, rng)
        both = verdicts(d)
        tally[both] += 1
        assert both[0] == both[1], json.dumps(d)
    assert min(tally[True, True], tally[False, False]) > sum(tally.values()) / 10


@pytest.mark.parametrize("n", [3, 4, 9])
def test_both_take_the_recurrences_of_primitive_polynomials_alone(n):
    """All of a field. Some others have as many zeros as a hyperplane has points: private, but not what they are called."""
    d = document(dt.projective_response(n, alpha="1/3"))
    p, degree = d["channel"]["p"], d["channel"]["m"] * d["channel"]["t"]
    taken = 0
    for factors in itertools.product(range(p), repeat=degree):
        is_primitive = order_of_x(p, factors) == p**degree - 1
        changed = resigned(d, put("channel", "recurrence", " ".join(map(str, factors))))
        assert verdicts(changed) == (is_primitive, is_primitive), factors
        taken += is_primitive
    phi = sum(1 for k in range(1, p**degree) if math.gcd(k, p**degree - 1) == 1)
    assert taken == phi // degree  # as many as there are primitive polynomials


def order_of_x(p: int, factors: tuple[int, ...]) -> int:
    """How many powers of x modulo x^n + r_(n-1) x^(n-1) + ... + r_0 come before 1 comes again; 0 where it never does."""
    n = len(factors)
    power = [0] * n
    power[0] = 1
    for k in range(1, p**n):
        last = power[-1]
        power = [(x - last * r) % p for x, r in zip([0, *power[:-1]], factors, strict=True)]
        if power == [1] + [0] * (n - 1):
            return k
    return 0


def test_both_look_for_pairs_of_neighbours_within_the_ends_of_a_grid():
    for grid, inside, outside in (
        (dt.Grid(None, 10), "-5 -2", "-1 1"),
        (dt.Grid(0, None), "2 5", "-1 1"),
        (dt.Grid(None, None), "-7 -5", None),
    ):
        near = {"kind": "pairs", "pairs": inside}
        d = document(dt.geometric(grid, alpha="1/2"))
        d = resigned(d, lambda d, near=near: d.update(neighbours=near, level={"alpha": "1/1000", "epsilon": None}))
        d["claims"]["tight"] = None
        assert verdicts(resigned(d, lambda _: None)) == (True, True)
        if outside is not None:
            assert verdicts(resigned(d, put("neighbours", "pairs", outside))) == (False, False)
