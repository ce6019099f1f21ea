"""verify.py on its own: the lone script, its directed bounds, and its verdicts against independent oracles."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import files, verify
from discreet.channels import Additive, Clamped, Geometric, Map, Mixture, Then
from discreet.errors import PrivacyError
from discreet.exact.level import Epsilon, Level
from discreet.mechanism import Recipe
from discreet.noise import StaircaseNoise
from tests import reference
from tests.cells import for_each
from tests.profiles import examples
from tests.work import lines_of

SCRIPT = Path(verify.__file__)
Document = dict[str, Any]


def document(m: dt.Mechanism) -> Document:
    """What a file of the mechanism holds, after one trip through JSON."""
    return json.loads(files.text(m))


def resigned(original: Document, change: Callable[[Document], Any]) -> Document:
    """A changed document with a fresh digest: only the deeper checks can refuse it."""
    changed = copy.deepcopy(original)
    change(changed)
    if "digest" in changed:
        changed["digest"] = verify.digest(changed)
    return changed


def put(*path: Any) -> Callable[[Document], None]:
    """Set what the path names to the last argument."""
    *way, last, value = path

    def change(d: Any) -> None:
        for key in way:
            d = d[key]
        d[last] = value

    return change


def apart(steps: Any) -> Callable[[Document], None]:
    """Claim it for neighbours so many steps apart."""
    return put("neighbours", {"kind": "steps", "steps": steps})


def bytes_of(d: Document) -> bytes:
    return json.dumps(d).encode()


def kind_of_fault(d: Document) -> str:
    with pytest.raises(verify.Fault) as caught:
        verify.verify(d)
    assert caught.value.kind in verify.KINDS
    return caught.value.kind


# The lone script


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """verify.py copied to an empty folder and run with nothing but the standard library."""
    folder = tmp_path_factory.mktemp("lone")
    copied = Path(shutil.copy(SCRIPT, folder / "verify.py"))

    def run(*arguments: str | os.PathLike[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-S", "-W", "error", copied, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=20,
        )

    return run


def test_the_script_runs_where_it_lies(tmp_path):
    """As README says: beside it lie folders of discreet, and one has the name of a module of the standard library."""
    dt.explicit_fair(4, alpha="1/2").save(tmp_path / "m.json")
    done = subprocess.run([sys.executable, SCRIPT, "m.json"], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("verified: alpha 1/2")


@pytest.mark.parametrize(
    "m",
    [
        dt.explicit_fair(4, alpha="1/2"),
        dt.geometric(10**9, epsilon="ln(2)/10"),
        dt.geometric(dt.Grid(None, 5, "1/2"), epsilon=0.3),
        dt.randomized_response(5000, alpha="1/3"),
        dt.staircase(12, step=1, alpha="1/3", sensitivity=4),
        dt.staircase(10**9, step=1, epsilon=1, sensitivity=4),
        dt.staircase(dt.Grid(None, None), alpha="1/3", sensitivity=3000, r=1200).truncate(0, 1100),
        dt.staircase(dt.Grid(None, 5, "1/2"), epsilon=0.3, sensitivity=2),
        dt.laplace(epsilon="ln(3)/2", sensitivity="1/3"),
        dt.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], alpha="1/2"),
        dt.from_matrix(dt.geometric(6, alpha="0.7").matrix, alpha="0.7", require={"S"}),
        dt.square_wave(10, epsilon=1),
        dt.square_wave(10**6, alpha="1/3"),
        dt.projective_response(9, epsilon=1),
        dt.projective_response(9999, alpha="1/3"),
        dt.traditional.random_rounding(10),
        dt.traditional.suppression(10),
        dt.traditional.suppression(10**5),
        dt.traditional.cell_key(10),
    ],
    ids=[
        "table",
        "geometric",
        "additive",
        "keep",
        "clamped stairs",
        "huge stairs",
        "stairs with a bound",
        "open stairs",
        "laplace",
        "matrix",
        "matrix of floats",
        "square wave",
        "long square wave",
        "projective response",
        "long projective response",
        "rounding",
        "suppression",
        "long suppression",
        "cell key",
    ],
)
def test_the_lone_script_verifies_what_discreet_saved(lone, m, tmp_path):
    m.save(tmp_path / "m.json")
    told = lone(tmp_path / "m.json")
    assert (told.returncode, told.stderr) == (0, "")
    claim = f"verified: alpha {m.claim.alpha} " if m.claim.alpha else "the file is whole, but it claims no privacy"
    assert told.stdout.startswith(claim)


@pytest.mark.parametrize(
    ("level", "epsilon", "said"),
    [
        ({"epsilon": "1/2"}, "1/2", " (epsilon 1/2) holds for all"),
        ({"epsilon": "ln(3)/2"}, "1/2 ln(3)", " (epsilon 1/2 ln(3)) holds for all"),
        ({"alpha": "9/10"}, "", "verified: alpha 9/10 holds for all"),
    ],
)
def test_the_lone_script_says_the_epsilon_that_was_asked_for(lone, tmp_path, level, epsilon, said):
    dt.geometric(4, **level).save(tmp_path / "m.json")
    assert verify.verify(verify.read(tmp_path / "m.json")).epsilon == epsilon
    assert said in lone(tmp_path / "m.json").stdout.splitlines()[0]


def test_the_lone_script_lists_the_properties_of_the_theorem(lone, tmp_path):
    """EM has all seven."""
    dt.explicit_fair(4, alpha="1/2").save(tmp_path / "m.json")
    assert lone(tmp_path / "m.json").stdout.splitlines()[2] == "properties: RH, RM, CH, CM, F, WH, S"


def test_the_lone_script_says_1_when_a_claim_fails(lone, tmp_path):
    wrong = resigned(document(dt.geometric(8, alpha="9/10")), put("level", "alpha", "901/1000"))
    (tmp_path / "m.json").write_bytes(bytes_of(wrong))
    told = lone(tmp_path / "m.json")
    assert (told.returncode, told.stdout) == (1, "")
    assert told.stderr.startswith("refused (claim): ")


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\x80\x81"], ids=str)
def test_the_lone_script_says_2_when_a_file_cannot_be_read(lone, tmp_path, content):
    if content is not None:
        (tmp_path / "m.json").write_bytes(content)
    told = lone(tmp_path / "m.json")
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("refused (")
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize("arguments", [[], ["--head"], ["--help"]], ids=str)
def test_the_lone_script_says_how_to_use_it(lone, arguments):
    told = lone(*arguments)
    assert told.returncode == 2
    assert "usage: python verify.py FILE ..." in told.stderr


def test_the_lone_script_survives_a_number_beyond_floats(lone, tmp_path):
    """1e999 is JSON, and no float: a refusal, not a traceback."""
    text = files.text(dt.geometric(8, alpha="9/10")).replace('"distance": 0.0', '"distance": 1e999')
    assert "1e999" in text
    (tmp_path / "m.json").write_text(text)
    told = lone(tmp_path / "m.json")
    assert "Traceback" not in told.stderr
    assert told.returncode != 0


# Directed bounds against decimal arithmetic that is far more precise than the bounds

EXPONENTS = ["0", "1/1152921504606846976", "1/1000", "1/3", "1/2", "1", "5/3", "10", "127/2", "100", "128"]
BASES = ["1", "1152921504606846977/1152921504606846976", "10/9", "3/2", "2", "3", "4", "1000", "1" + "0" * 40]


def as_decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


@for_each("bits", [64, 128, 192])
@for_each("text", EXPONENTS)
def test_exp_bounds_enclose_the_exponential(text, bits):
    x = Fraction(text)
    low, high = verify._exp_bounds(x, bits)
    with localcontext() as context:
        context.prec = 150
        truth = as_decimal(x).exp()
        assert as_decimal(low) <= truth <= as_decimal(high)
        assert (as_decimal(high) - as_decimal(low)) / truth < Decimal(2) ** (40 - bits), "the bounds are useless"


@for_each("bits", [64, 128, 192])
@for_each("text", BASES)
def test_log_bounds_enclose_the_logarithm(text, bits):
    r = Fraction(text)
    low, high = verify._log_bounds(r, bits)
    with localcontext() as context:
        context.prec = 150
        truth = as_decimal(r).ln()
        assert as_decimal(low) <= truth <= as_decimal(high)
        assert as_decimal(high) - as_decimal(low) < Decimal(2) ** (20 - bits), "the bounds are useless"


@given(st.fractions(0, 128, max_denominator=10**6))
@settings(max_examples=examples(60))
def test_exp_bounds_enclose_any_exponential(x):
    low, high = verify._exp_bounds(x, 128)
    with localcontext() as context:
        context.prec = 120
        assert as_decimal(low) <= as_decimal(x).exp() <= as_decimal(high)


@given(st.fractions(1, 10**9, max_denominator=10**6))
@settings(max_examples=examples(60))
def test_log_bounds_enclose_any_logarithm(r):
    low, high = verify._log_bounds(r, 128)
    with localcontext() as context:
        context.prec = 120
        assert as_decimal(low) <= as_decimal(r).ln() <= as_decimal(high)


@given(st.fractions(0, 60, max_denominator=1000), st.fractions(1, 99, max_denominator=1000), st.integers(12, 40))
@settings(max_examples=examples(200))
def test_bounds_of_few_bits_enclose_too(x, r, bits):
    """Where every rounding is large, a rounding in the wrong direction shows."""
    with localcontext() as context:
        context.prec = 80
        low, high = map(as_decimal, verify._exp_bounds(x, bits))
        assert low <= as_decimal(x).exp() <= high
        low, high = map(as_decimal, verify._log_bounds(r, bits))
        assert low <= as_decimal(r).ln() <= high


# Is alpha at least e^-epsilon?

EPSILONS = [
    *("1e-15", "0.001", "0.1", "1/3", "0.5", "1", "2.5", "10", "40", "61.9"),
    *("ln(2)", "ln(2)/10", "ln(3)/7", "3/2 ln(5)", "ln(10/9)", "ln(2)/5000", "ln(1.0001)*4099", "7919/7907 ln(3)"),
]


@pytest.mark.parametrize("text", EPSILONS)
def test_grants_agrees_with_ball_arithmetic_at_the_edge(text):
    """The smallest multiple of 2^-62 at or above e^-epsilon, and its neighbours."""
    epsilon = Epsilon.parse(text)
    assert epsilon is not None
    with localcontext() as context:
        context.prec = 80
        factor = as_decimal(epsilon.factor)
        exponent = factor if epsilon.base is None else factor * as_decimal(epsilon.base).ln()
        k = math.ceil((-exponent).exp() * 2**62)
    for numerator in (k - 1, k, k + 1):
        alpha = Fraction(numerator, 2**62)
        if 0 <= alpha <= 1:
            assert verify.grants(alpha, epsilon.factor, epsilon.base) == epsilon.admits(alpha), numerator - k
    assert not verify.grants(Fraction(k - 2, 2**62), epsilon.factor, epsilon.base)
    assert verify.grants(min(Fraction(k + 2, 2**62), Fraction(1)), epsilon.factor, epsilon.base)


@pytest.mark.parametrize("base", [None, Fraction(3, 2)])
@pytest.mark.parametrize("factor", [Fraction(1, 3), Fraction(4099, 4111), Fraction(12347, 1009)])
def test_grants_decides_however_close_alpha_is(factor, base):
    """Decimals just below and above e^-epsilon, closer and closer: false below, true above."""
    with localcontext() as context:
        context.prec = 400
        exponent = as_decimal(factor) if base is None else as_decimal(factor) * as_decimal(base).ln()
        truth = (-exponent).exp()
        edges = [(int(truth.scaleb(digits)), 10**digits) for digits in (50, 54, 57, 60, 63, 113, 115, 117, 300)]
    for below, scale in edges:
        assert not verify.grants(Fraction(below, scale), factor, base), scale
        assert verify.grants(Fraction(below + 1, scale), factor, base), scale


@pytest.mark.parametrize(("alpha", "factor", "base"), [("1/2", "1", "2"), ("1/2", "1/10", "1024"), ("4/9", "2", "3/2")])
def test_grants_an_equality_and_nothing_beyond_it(alpha, factor, base):
    edge, tiny = Fraction(alpha), Fraction(1, 10**40)
    assert verify.grants(edge, Fraction(factor), Fraction(base))
    assert not verify.grants(edge - tiny, Fraction(factor), Fraction(base))
    assert not verify.grants(edge, Fraction(factor) - tiny, Fraction(base))


@given(
    st.fractions(0, 1, max_denominator=10**6),
    st.fractions(Fraction(1, 10**4), 20, max_denominator=10**4),
    st.none() | st.fractions(Fraction(10001, 10000), 100, max_denominator=10**4),
)
@settings(max_examples=examples(120))
def test_grants_agrees_with_ball_arithmetic_anywhere(alpha, factor, base):
    assert verify.grants(alpha, factor, base) == Epsilon(factor, base).admits(alpha)


@pytest.mark.parametrize("epsilon", ["100", "127.9", "128.1", "200", "5000"])
def test_grants_decides_far_beyond_62_nats(epsilon):
    """A level below 2^-128 is weak, but true when epsilon is larger still."""
    factor = Fraction(epsilon)
    for alpha in (Fraction(1, 10**50), Fraction(1, 10**60), Fraction(1, 2**128)):
        assert verify.grants(alpha, factor, None) == Epsilon(factor).admits(alpha), alpha


@given(st.fractions(0, 1, max_denominator=100), st.integers(1, 60), st.fractions(0, 1, max_denominator=10**9))
@settings(max_examples=examples(80))
def test_powers_are_compared_exactly(a, power, alpha):
    assert verify._keeps(verify._Ratio(a, power), alpha, Fraction(1), verify.Effort()) == (a**power >= alpha)


@pytest.mark.parametrize("power", [10**6, 10**9, 10**18])
def test_powers_too_long_to_write_out_are_compared_by_bounds(power):
    """(1 - 1/power)^power lies just below 1/e."""
    ratio = verify._Ratio(1 - Fraction(1, power), power)
    below_e = Epsilon(Fraction(1)).granted()  # at least 1/e
    assert not verify._keeps(ratio, below_e, Fraction(1), verify.Effort())
    assert verify._keeps(ratio, below_e - Fraction(1, power), Fraction(1), verify.Effort())
    assert verify._keeps(ratio, Fraction(0), Fraction(1), verify.Effort())


# Ratios and properties against the plain definitions

tables = st.integers(2, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 4), min_size=size, max_size=size).filter(any), min_size=size, max_size=size
    )
)


def same_totals(rows: list[list[int]]) -> list[list[int]]:
    """Rows scaled to one total that the cells of drawing divide."""
    total = math.lcm(*map(sum, rows)) * 8
    return [[w * (total // sum(row)) for w in row] for row in rows]


def part_of(weights: list[list[int]]) -> Document:
    return {"kind": "table", "total": str(sum(weights[0])), "rows": [" ".join(map(str, row)) for row in weights]}


@given(tables, st.integers(1, 6))
@settings(max_examples=examples(120))
def test_the_tight_level_of_a_table_is_the_smallest_ratio(rows, distance):
    weights = same_totals(rows)
    n = len(weights)
    pairs = [(i, k) for i in range(n) for k in range(n) if abs(i - k) <= distance]
    expected = min(
        (Fraction(weights[k][j], weights[i][j]) for i, k in pairs for j in range(n) if weights[i][j]), default=1
    )
    found = verify._channel(part_of(weights)).tight(distance)
    assert (found.alpha, found.power, found.exact) == (expected, 1, True)


@given(tables)
@settings(max_examples=examples(120))
def test_the_properties_of_a_table_are_those_of_the_definitions(rows):
    weights = same_totals(rows)
    law = [[Fraction(w, sum(row)) for w in row] for row in weights]
    assert set(verify._channel(part_of(weights)).properties() or ()) == reference.properties(law)


@for_each("a", ["1/10", "1/2", "51/100", "9/10"])
@for_each("n", [1, 2, 3, 8, 18, 19])
def test_the_properties_of_a_geometric_law_are_those_of_its_weights(n, a):
    channel = verify._channel({"kind": "geometric", "n": n, "a": a})
    law = reference.geometric(n, Fraction(a))
    weights, total = channel.weights
    assert [[Fraction(w, total) for w in row] for row in weights] == law
    assert set(channel.properties() or ()) == reference.properties(law)
    assert channel.tight(1).alpha == verify._table_ratio(weights, 1).alpha


@pytest.mark.parametrize("keep", ["0", "1/10", "99/100"])
def test_the_claims_for_keeping_are_those_of_its_weights(keep):
    channel = verify._channel({"kind": "mixture", "size": 5, "keep": keep})
    weights, total = channel.weights
    law = [[Fraction(w, total) for w in row] for row in weights]
    assert [sum(row) for row in law] == [1] * 5
    assert law[2][2] == Fraction(keep) + (1 - Fraction(keep)) / 5
    assert set(channel.properties() or ()) == reference.properties(law)
    assert channel.tight(3).alpha == law[0][1] / law[0][0]


def test_two_channels_in_sequence_are_multiplied():
    first, second = reference.geometric(3, Fraction(1, 2)), reference.geometric(3, Fraction(1, 3))
    part = {"kind": "then", "first": {"kind": "geometric", "n": 3, "a": "1/2"}}
    channel = verify._channel({**part, "second": {"kind": "geometric", "n": 3, "a": "1/3"}})
    product = [[sum(first[i][k] * second[k][j] for k in range(4)) for j in range(4)] for i in range(4)]
    weights, total = channel.weights
    assert [[Fraction(w, total) for w in row] for row in weights] == product


def test_what_is_too_large_to_multiply_inherits_a_safe_level():
    part = {"kind": "then", "first": {"kind": "geometric", "n": 10**6, "a": "1/2"}}
    ratio = verify._channel({**part, "second": {"kind": "mixture", "size": 10**6 + 1, "keep": "1/2"}}).tight(3)
    assert (ratio.alpha, ratio.power, ratio.exact) == (Fraction(1, 2), 3, False)


def test_a_map_too_large_to_write_out_is_refused_as_a_mechanism():
    """A map keeps no secret; without weights there is nothing to check."""
    grids = {
        "inputs": {"low": "0", "high": "2", "step": "1"},
        "outputs": {"low": "0", "high": "999999999", "step": "1"},
    }
    change = {"channel": {"kind": "map", "size": 10**9, "targets": "0 5 7"}, **grids}
    assert kind_of_fault(resigned(document(dt.geometric(2, alpha="9/10")), lambda d: d.update(change))) in (
        "claim",
        "shape",
    )


# What verify proves is what the package claims


@pytest.mark.parametrize("sensitivity", [1, 2, 5, 8])
@pytest.mark.parametrize("epsilon", ["0.1", "ln(3)/2"])
def test_verify_finds_what_check_privacy_finds(sensitivity, epsilon):
    for m in (
        dt.geometric(8, epsilon=epsilon, sensitivity=sensitivity),
        dt.explicit_fair(8, epsilon=epsilon, sensitivity=sensitivity),
    ):
        found, verdict = verify.verify(document(m)), dt.check_privacy(m)
        assert found.tight**found.power == verdict.tight
        assert found.alpha == m.alpha
        assert set(found.properties or ()) == dt.properties(m)


@st.composite
def stairs(draw: st.DrawFn) -> tuple[dt.Mechanism, Fraction, int, int]:
    """A staircase on any kind of grid that claims nothing, for neighbours any number of steps apart."""
    b, D = draw(st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=30)), draw(st.integers(1, 9))
    noise = StaircaseNoise(b, D, draw(st.integers(1, D)))
    n, steps = draw(st.integers(1, 16)), draw(st.integers(1, 20))
    ends = draw(st.sampled_from([(0, n), (0, None), (None, n), (None, None)]))
    grid = dt.Grid(*ends)
    channel = Clamped(n, noise) if None not in ends else Additive(noise, *(None if e is None else 0 for e in ends))
    return dt.Mechanism(grid, grid, channel, Level(Fraction(0)), steps, Recipe("test")), b, D, noise.r


@given(stairs())
@settings(max_examples=examples(150))
def test_verify_finds_the_level_of_any_staircase(case):
    """Its own derivation against the library's, and both against all pairs where the grid is finite."""
    m, b, D, _ = case
    found, worst = verify.verify(document(m)), m.channel.worst(m.sensitivity)
    assert (
        (found.tight, found.power, found.exact) == (worst.alpha, worst.power, worst.exact) == (*worst_of(m, b, D), True)
    )
    if m.inputs.n is not None:
        law = [[m.channel.entry(i, j) for j in range(m.channel.rows)] for i in range(m.channel.rows)]
        assert found.tight**found.power == reference.tight_alpha(law, m.sensitivity)
        assert set(found.properties or ()) == dt.properties(m) == reference.properties(law)


def worst_of(m: dt.Mechanism, b: Fraction, D: int) -> tuple[Fraction, int]:
    """b for each edge between neighbours, by the theorem; or the entries' own ratio where the ends hide the edges."""
    edges = -(-min(m.sensitivity, m.inputs.n or m.sensitivity) // D)
    if m.inputs.n is None:
        return b, edges
    law = [[m.channel.entry(i, j) for j in range(m.channel.rows)] for i in range(m.channel.rows)]
    tight = reference.tight_alpha(law, m.sensitivity)
    return (b, edges) if tight == b**edges else (tight, 1)


@given(
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=30),
    st.integers(1, 6).flatmap(lambda D: st.tuples(st.just(D), st.integers(1, D))),
    st.integers(1, 9),
)
@settings(max_examples=examples(60))
def test_the_weights_of_clamped_stairs_are_those_of_the_library(b, stair, n):
    D, r = stair
    part = {"kind": "clamped", "n": n, "noise": {"family": "staircase", "b": str(b), "D": D, "r": r}}
    weights, total = verify._channel(part).weights
    channel = Clamped(n, StaircaseNoise(b, D, r))
    assert all(sum(row) == total for row in weights)
    for i in range(n + 1):
        assert [Fraction(w, total) for w in weights[i]] == [channel.entry(i, j) for j in range(n + 1)]


@pytest.mark.parametrize("targets", [[0, 0, 0], [0, 1, 1], [2, 2, 0]])
def test_the_level_of_a_map_is_all_or_nothing_small_or_large(targets):
    for size in (3, 10**6):
        part = {"kind": "map", "size": size, "targets": " ".join(map(str, targets))}
        ratio = verify._channel(part).tight(1)
        assert (ratio.alpha, ratio.power, ratio.exact) == (int(len(set(targets)) == 1), 1, True)


def test_a_ratio_too_long_to_write_out_is_a_bound_here_too():
    """Digits beyond what Python prints: the file has the theorem's bound, and the reader agrees."""
    b = Fraction(10**1200 // 3, 10**1200)
    grid = dt.Grid(0, 20)
    made = dt.Mechanism(grid, grid, Clamped(20, StaircaseNoise(b, 8, 7)), Level(Fraction(0)), 20, Recipe("test"))
    found = verify.verify(document(made))
    assert (found.tight, found.power, found.exact) == (b, 3, False)


def test_a_level_that_flint_admits_is_admitted_here():
    """Levels written by hand beside their epsilon, on the edge."""
    m = dt.uniform(4)
    for text in ("0.1", "3", "ln(2)/10", "45"):
        asked = Epsilon.parse(text)
        level = Level(asked.granted(), asked)
        made = dt.Mechanism(m.inputs, m.outputs, m.channel, level, m.sensitivity, m.recipe)
        assert verify.verify(document(made)).alpha == asked.granted()


# The digest


def test_the_digest_covers_everything_but_itself():
    d = document(dt.explicit_fair(2, alpha="1/2"))
    assert d["digest"] == verify.digest(d)
    for key in d.keys() - {"digest"}:
        assert verify.digest({**d, key: "else"}) != d["digest"], key
    assert verify.digest({**d, "digest": "else"}) == d["digest"]
    assert verify.digest(dict(reversed(d.items()))) == d["digest"], "the order of keys must not matter"


def test_the_digest_is_plain_sha256_of_canonical_json():
    """Anyone can compute it with other tools: sorted keys, no white space, ASCII."""
    import hashlib

    d = {"b": [1, "é"], "a": None, "digest": "x"}
    assert verify.digest(d) == "sha256:" + hashlib.sha256(b'{"a":null,"b":[1,"\\u00e9"]}').hexdigest()


def test_the_limits_are_those_of_the_package():
    """A file that discreet writes with one limit must not be read with another."""
    from discreet.channels import contract, mixture, noisy, table, then
    from discreet.noise import discrete

    assert then._MAX_PRODUCT == verify.MAX_PRODUCT
    assert then._MAX_WORK == verify.MAX_WORK
    assert {room._MAX_BITS for room in (then, noisy, mixture)} == {verify.MAX_WEIGHT_BITS}
    assert (table.MAX_ENTRIES, table.MAX_TOTAL) == (verify.MAX_ENTRIES, verify.MAX_TOTAL)
    assert noisy.MAX_ENTRIES == mixture.MAX_ENTRIES == verify.MAX_ENTRIES
    assert discrete.LONGEST_STAIR == verify.MAX_STAIR
    assert contract.WRITTEN_BITS == verify.WRITTEN_BITS


# Nothing goes unread


def holders(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to every object of a document."""
    if isinstance(value, dict):
        return [way, *(found for key, part in value.items() for found in holders(part, (*way, key)))]
    return (
        [found for k, part in enumerate(value) for found in holders(part, (*way, k))] if isinstance(value, list) else []
    )


WHOLE = {
    "design": dt.design(3, alpha="9/10", loss="l1", require="WH").mechanism,
    "then": dt.geometric(4, epsilon="ln(2)/3").remap([0, 0, 2, 4, 4]).then(dt.randomized_response(4, alpha="1/2")),
    "additive": dt.staircase(dt.Grid(0, None), alpha="1/3", sensitivity=3),
    "clamped": dt.staircase(9, step=1, alpha="1/3", sensitivity=3),
    "table": dt.explicit_fair(3, alpha="1/2"),
}


@for_each("key", ["local_epsilon", "\u0430lpha", "alpha ", "Alpha", "", "\ud800", "certificate"])
@pytest.mark.parametrize("name", WHOLE)
def test_an_unknown_key_anywhere_is_refused(name, key):
    """But for a recipe's parameters, which are words for people."""
    d = document(WHOLE[name])
    verify.verify(d)  # as it is, nothing is wrong
    for way in holders(d):
        if way[-1:] == ("parameters",) or (way, key) == ((), "certificate"):
            continue
        assert kind_of_fault(resigned(d, put(*way, key, "1/2"))) == "shape", way


def test_the_claims_of_another_kind_of_privacy_are_refused():
    for claims in ({"local_epsilon": "1/10"}, {"\u0430lpha": "1"}, {"tight_local": {"alpha": "1"}}):
        d = resigned(document(dt.geometric(8, alpha="1/2")), lambda d, claims=claims: d["claims"].update(claims))
        assert kind_of_fault(d) == "shape"
        d = resigned(document(dt.geometric(8, alpha="1/2")), lambda d, claims=claims: d["level"].update(claims))
        assert kind_of_fault(d) == "shape"


def test_a_key_that_stands_twice_is_refused_at_every_level():
    text = files.text(WHOLE["then"])
    for key in ("alpha", "format", "power", "kind", "low", "family", "second", "digest"):
        doubled = re.sub(rf'"{key}": ', f'"{key}": null, "{key}": ', text, count=1)
        assert doubled != text
        with pytest.raises(verify.Fault, match="twice"):
            verify.parse(doubled.encode())


# Work is counted before it is done

LONG = 10**150 + 267  # of the rationals below


def link(n: int, seed: int, digits: int = 0) -> Document:
    long = 10**digits if digits else LONG
    return {"kind": "geometric", "n": n, "a": f"{long // 2 + seed}/{long + 2 * seed + 1}"}


def row_of(n: int, count: int, digits: int = 0, *, right: bool = False) -> Document:
    part = link(n, 1, digits)
    for k in range(count):
        pair = [link(n, k + 2, digits), part] if right else [part, link(n, k + 2, digits)]
        part = {"kind": "then", "first": pair[0], "second": pair[1]}
    return part


def tree_of(n: int, height: int, digits: int = 0) -> Document:
    if not height:
        return link(n, 1, digits)
    return {"kind": "then", "first": tree_of(n, height - 1, digits), "second": tree_of(n, height - 1, digits)}


def kept(size: int, count: int, digits: int) -> Document:
    keep = {"kind": "mixture", "size": size, "keep": f"{10**digits // 2}/{10**digits + 1}"}
    part = keep
    for _ in range(count):
        part = {"kind": "then", "first": part, "second": keep}
    return part


def holding(part: Document, rows: int, **other: Any) -> Document:
    d = document(dt.geometric(rows - 1, alpha="1/2"))
    return resigned(d, lambda d: d.update(channel=part, level={"alpha": "0", "epsilon": None}, **other))


NEAR_ONE = f"{10**4100 - 1}/{10**4100}"
OPEN = {"low": None, "high": None, "step": "1"}
BUSY: dict[str, Callable[[], Document]] = {
    "a row of long numbers": lambda: holding(row_of(8, 63), 9),
    "a row from the right": lambda: holding(row_of(8, 63, right=True), 9),
    "a tree": lambda: holding(tree_of(4, 9), 5),
    "a row of the longest numbers": lambda: holding(row_of(1, 64, 4100), 2),
    "large steps": lambda: holding(kept(128, 64, 20), 128),
    "long large steps": lambda: holding(kept(60, 64, 100), 60),
    "the longest stairs": lambda: holding(
        {"kind": "clamped", "n": 12, "noise": {"family": "staircase", "b": NEAR_ONE, "D": 8, "r": 7}},
        13,
        neighbours={"kind": "any"},
    ),
    "a long recurrence": lambda: holding(
        {
            "kind": "projective",
            "size": 2,
            "p": 2,
            "m": 1,
            "t": 21,
            "recurrence": "1 " * 20 + "1",
            "a": "1/2",
        },
        2,
        outputs={"low": "0", "high": str(2**21 - 2), "step": "1"},
        neighbours={"kind": "any"},
    ),
    "a recurrence for a long power of a prime": lambda: holding(
        {"kind": "projective", "size": 2, "p": 2, "m": 20, "t": 2, "recurrence": "1 1 " * 20, "a": "1/2"},
        2,
        outputs={"low": "0", "high": str(2**20), "step": "1"},
        neighbours={"kind": "any"},
    ),
    "a long epsilon": lambda: resigned(
        document(dt.uniform(2)), put("level", {"alpha": NEAR_ONE, "epsilon": {"factor": f"1/{10**4100}", "base": None}})
    ),
    "a long logarithm": lambda: resigned(
        document(dt.uniform(2)),
        put("level", {"alpha": NEAR_ONE, "epsilon": {"factor": f"1/{10**4100}", "base": f"{10**4100 + 7}/{10**4099}"}}),
    ),
    "a huge sensitivity": lambda: holding(
        {"kind": "additive", "noise": {"family": "geometric", "a": NEAR_ONE}, "low": None, "high": None},
        2,
        inputs=OPEN,
        outputs=OPEN,
        neighbours={"kind": "steps", "steps": str(10**4100)},
    ),
    "pairs without end": lambda: resigned(
        document(WHOLE["design"]), put("neighbours", {"kind": "pairs", "pairs": "0 1 " * 10**5})
    ),
    "pairs without any end": lambda: resigned(
        document(WHOLE["design"]), put("neighbours", {"kind": "pairs", "pairs": "0 1 " * 10**7})
    ),
    "distances without end": lambda: resigned(
        document(WHOLE["design"]), put("neighbours", {"kind": "distances", "pairs": "0 1", "distances": NEAR_ONE})
    ),
    "all pairs of a large table": lambda: resigned(
        document(dt.explicit_fair(300, alpha="1/2")),
        put(
            "neighbours",
            {
                "kind": "pairs",
                "pairs": " ".join(f"{i} {k}" for i in range(300) for k in range(i + 1, i + 120) if k <= 300),
            },
        ),
    ),
}


@pytest.mark.parametrize("name", BUSY)
def test_no_small_file_keeps_its_reader_busy(name, monkeypatch):
    """Refused or read: a 64th of the effort takes few lines beside those for every byte; what a line may multiply is counted
    below."""
    d = BUSY[name]()
    monkeypatch.setattr(verify.Effort.__init__, "__defaults__", (verify.MAX_EFFORT // 64,))

    def verified() -> None:
        with contextlib.suppress(verify.Fault):
            verify.verify(d)

    lines_of(verified, most=100_000 + 3 * len(bytes_of(d)))


def test_a_row_of_long_numbers_is_refused_by_count_and_not_by_patience(monkeypatch):
    monkeypatch.setattr(verify.Effort.__init__, "__defaults__", (verify.MAX_EFFORT // 8,))
    d = BUSY["a row of long numbers"]()
    assert len(bytes_of(d)) < 30_000
    with pytest.raises(verify.Fault, match="too long") as caught:
        verify.verify(d)
    assert caught.value.kind == "too large"


def test_accents_in_the_wrong_order_are_refused_by_count_and_not_by_patience():
    """To put them in order takes as many steps as there are pairs of them."""
    names = ["a" + "\u0345" * 498 + "\u0327" * 498 + str(k) for k in range(40)]
    verify._answers({"names": names, "other": None}, "inputs", verify.Effort(80 * 1001**2))
    with pytest.raises(verify.Fault, match="too long") as caught:
        verify._answers({"names": names, "other": None}, "inputs", verify.Effort(79 * 997**2))
    assert caught.value.kind == "too large"


@pytest.mark.parametrize("operations", [2**12, 2**16, 2**20])
def test_nothing_is_multiplied_beyond_the_effort_that_is_left(operations, monkeypatch):
    """Every product of whole matrices is paid for first: with less effort fewer of them are made."""
    made = []
    product = int.__mul__
    channel = verify._channel(row_of(8, 63), verify.Effort(operations))
    monkeypatch.setattr(
        verify, "map", lambda f, *lines: made.append(len(lines[0])) or map(product, *lines), raising=False
    )
    with pytest.raises(verify.Fault, match="too long"):
        channel.tight(1)
    assert sum(made) * 50 <= operations


@pytest.mark.parametrize("bits", [20, 100, 1000, 10_000, 100_000])
def test_the_count_of_a_product_grows_like_its_time(bits):
    assert verify._times(bits, bits) >= (bits // 30) ** 1.5
    assert verify._times(bits, 30) >= bits / 30
    assert verify._times(30, bits) == verify._times(bits, 30)


def test_what_people_chain_is_far_from_the_limit(monkeypatch):
    monkeypatch.setattr(verify, "MAX_EFFORT", verify.MAX_EFFORT // 4)
    monkeypatch.setattr(verify.Effort.__init__, "__defaults__", (verify.MAX_EFFORT,))
    m = dt.geometric(100, epsilon="0.1")
    for part in (
        dt.randomized_response(100, epsilon=1),
        dt.geometric(100, epsilon="0.3"),
        dt.explicit_fair(100, alpha="1/2"),
    ):
        m = m.then(part)
    assert verify.verify(document(m)).alpha == m.alpha


# What no file should hold


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e400",
        "1" + "0" * 100_000,
        "-" + "9" * 4300,
        "[" * 100_000,
        '{"a":' * 100_000,
        "\ud800",
        '"\\ud800',
        "0x10",
        "01",
        "+1",
        "--1",
        "1_000",
    ],
    ids=lambda x: ascii(x)[:12],
)
def test_what_is_no_number_of_a_file_is_refused_before_it_is_read(text):
    whole = files.text(dt.geometric(8, alpha="9/10"))
    data = whole.replace('"steps": 1', f'"steps": {text}').encode("utf-8", "surrogatepass")
    with pytest.raises(verify.Fault) as caught:
        verify.parse(data)
    assert caught.value.kind == "unreadable"


def test_a_number_of_many_digits_is_refused_whatever_the_interpreter_allows():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(verify.Fault, match="too many digits"):
            verify.parse(b'{"format": "discreet-mechanism", "version": 1' + b"0" * 5000 + b"}")
    finally:
        sys.set_int_max_str_digits(before)


PLACES = [
    ("neighbours", "steps"),
    ("neighbours",),
    ("neighbours", "kind"),
    ("channel", "n"),
    ("channel", "a"),
    ("level", "alpha"),
    ("inputs", "low"),
    ("inputs", "step"),
    ("claims", "tight", "power"),
    ("claims", "tight", "alpha"),
    ("claims", "tight", "exact"),
    ("recipe", "distance"),
    ("version",),
    ("recipe", "family"),
    ("claims", "properties"),
    ("level", "epsilon"),
    ("recipe", "of"),
]
ODD = [
    True,
    False,
    1.0,
    -0.0,
    0.5,
    -1,
    0,
    "-1",
    "1.0",
    "1e3",
    "0x1",
    " 1",
    "1 ",
    "+1",
    "\u0661",
    "1/-2",
    "1/0",
    "/",
    "1/2/3",
    "9" * 4201,
    "\ud800",
    "a\x00b",
    [],
    {},
    [1],
    {"a": 1},
    "1" * 10**6,
    10**4000,
    -(10**4000),
]


@pytest.mark.parametrize("way", PLACES, ids=".".join)
def test_an_odd_value_is_refused_or_means_what_it_says(way):
    """Whatever stands in one place behind a valid digest: a Fault with a sentence, or a file whose claims are true."""
    d = document(dt.geometric(8, alpha="9/10"))
    for value in ODD:
        changed = resigned(d, put(*way, value))
        if way[-1] == "exact" and value is True:
            continue  # what stands there
        try:
            found = verify.verify(changed)
        except verify.Fault:
            assert kind_of_fault(changed) in verify.KINDS
            continue
        assert found.alpha <= found.tight**found.power
        assert way[0] in ("recipe", "inputs") or value in (0, "-0"), (way, value)


@pytest.mark.parametrize("sensitivity", [0, -1, "0", "-3", "1.5", 1.5, True, None, "", [], "1/2"], ids=repr)
def test_a_sensitivity_of_no_steps_is_refused(sensitivity):
    for m in (
        dt.geometric(8, alpha="9/10"),
        dt.geometric(dt.Grid(None, None), alpha="1/2"),
        dt.explicit_fair(3, alpha="1/2"),
    ):
        assert kind_of_fault(resigned(document(m), apart(sensitivity))) == "shape"


def test_a_huge_sensitivity_is_the_whole_grid_or_breaks_the_claim():
    whole = resigned(document(dt.uniform(4)), apart(10**4000))
    assert verify.verify(whole).tight == 1
    for m in (dt.geometric(8, alpha="9/10"), dt.geometric(dt.Grid(None, None), alpha="1/2")):
        assert kind_of_fault(resigned(document(m), apart(10**4000))) == "claim"


@pytest.mark.parametrize("version", [0, 2, 3, True, "1", 1.0, None, [1]], ids=repr)
def test_every_other_version_is_refused(version):
    d = document(dt.uniform(3))
    assert d["version"] == 1
    verify.verify(d)
    assert kind_of_fault(resigned(d, put("version", version))) == "version"


def test_no_depth_of_nesting_is_a_crash():
    """What the reader of JSON just manages may be too deep for the writer, which makes the digest."""
    for depth in range(700, 1010):
        text = '{"format": "discreet-mechanism", "version": 1, "digest": "", "x": ' + "[" * depth + "]" * depth + "}"
        with pytest.raises(verify.Fault):
            verify.verify(verify.parse(text.encode()))


# Neighbours of every kind

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
KEPT = Mixture(5, Fraction(1, 3), Geometric(4, Fraction(1, 2)), Fraction(1, 4))
CHANNELS: dict[str, Any] = {
    "table": dt.explicit_fair(4, alpha="1/2").channel,
    "geometric": Geometric(4, Fraction(1, 2)),
    "keep": Mixture(5, Fraction(1, 3)),
    "keep or draw": KEPT,
    "stairs": Clamped(4, StaircaseNoise(Fraction(1, 3), 2, 1)),
    "then": Then(Geometric(4, Fraction(1, 2)), KEPT),
    "map": Then(Geometric(4, Fraction(1, 2)), Map([0, 0, 2, 3, 3], 5)),
}


def law_of(channel: Any) -> list[list[Fraction]]:
    return [[channel.entry(i, j) for j in range(5)] for i in range(5)]


def least(law: list[list[Fraction]], i: int, k: int) -> Fraction:
    """The smallest ratio between two rows, either way round, straight from the entries."""
    return min(min(x, y) / max(x, y) for x, y in zip(law[i], law[k], strict=True) if x or y)


@pytest.mark.parametrize("name", CHANNELS)
def test_the_level_of_a_graph_is_that_of_its_pairs_and_not_a_hair_more(name):
    """For every kind of channel and several graphs: the file of the tight level is verified, a stricter claim refused."""
    channel, grid = CHANNELS[name], dt.Grid(0, 4)
    for pairs in (RING, [(0, 4)], [(1, 3), (0, 2)], [(2, 3)]):
        alpha = min(least(law_of(channel), i, k) for i, k in pairs)
        m = dt.Mechanism(grid, grid, channel, Level(alpha), dt.Neighbours.pairs(pairs), Recipe("test"))
        d = document(m)
        found = verify.verify(d)
        assert (found.alpha, found.tight, found.exact) == (alpha, alpha, False)
        assert found.between == f"{len(pairs)} given pairs of true values"
        assert files.loads(bytes_of(d)) == m
        more = alpha + Fraction(1, 10**9)
        if more < 1:
            assert kind_of_fault(resigned(d, put("level", "alpha", str(more)))) == "claim"
            with pytest.raises(PrivacyError, match="does not hold between"):
                dt.Mechanism(grid, grid, channel, Level(more), dt.Neighbours.pairs(pairs), Recipe("test"))


@pytest.mark.parametrize("name", CHANNELS)
@for_each("distance", ["1", "2", "1/2", "3/2", "7"])
def test_the_level_at_a_distance_is_verified_exactly(name, distance):
    """ratio >= alpha^d, compared as integers to the power of d's denominator; for d <= 1 the first claim is tight."""
    channel, grid, d = CHANNELS[name], dt.Grid(0, 4), Fraction(distance)
    tight = least(law_of(channel), 0, 3)
    alpha = tight ** int(1 / d) if d < 1 else tight  # holds, tightly for d <= 1
    m = dt.Mechanism(grid, grid, channel, Level(alpha), dt.Neighbours.distances({(0, 3): d}), Recipe("test"))
    written = document(m)
    assert written["neighbours"] == {"kind": "distances", "pairs": "0 3", "distances": distance}
    verify.verify(written)
    assert files.loads(bytes_of(written)).neighbours == m.neighbours
    for more in (alpha + Fraction(1, 10**9), alpha + Fraction(1, 3)):
        if not 0 < more < 1:
            continue
        fits = tight**d.denominator >= more**d.numerator
        changed = resigned(written, put("level", "alpha", str(more)))
        if fits:
            verify.verify(changed)
        else:
            assert kind_of_fault(changed) == "claim"


@pytest.mark.parametrize("size", [5, 60, 700])
@pytest.mark.parametrize("ends", [None, Fraction(1, 4), Fraction(9, 10)])
def test_keeping_or_drawing_by_another_channel_is_verified_at_every_size(size, ends):
    """Small by its weights; large by the two sorts of rows: the library and the lone script find the same level."""
    a = Fraction(99, 100) if size > 100 else Fraction(1, 2)
    channel = Mixture(size, Fraction(1, 3), Geometric(size - 1, a), ends)
    assert (channel.integers() is None) == (size == 700)
    for steps in (1, 2, size - 1):
        worst, grid = channel.worst(steps), dt.Grid(0, size - 1)
        m = dt.Mechanism(grid, grid, channel, Level(worst.alpha), steps, Recipe("test"))
        d = document(m)
        found = verify.verify(d)
        assert (found.tight, found.exact) == (worst.alpha, worst.exact)
        assert files.loads(bytes_of(d)) == m
        if worst.alpha:
            more = str(worst.alpha + Fraction(1, 10**9))
            assert kind_of_fault(resigned(d, put("level", "alpha", more))) == "claim"


def test_a_changed_channel_that_draws_is_refused():
    grid = dt.Grid(0, 4)
    d = document(dt.Mechanism(grid, grid, KEPT, Level(KEPT.worst(1).alpha), 1, Recipe("test")))
    for change, kind in (
        (put("channel", "other", "a", "1/3"), "claim"),
        (put("channel", "ends", "1/2"), "claim"),
        (put("channel", "ends", "1"), "shape"),
        (put("channel", "ends", "-1/2"), "shape"),
        (put("channel", "other", "n", 5), "shape"),
        (put("channel", "other", None), "shape"),
        (put("channel", "other", {}), "shape"),
        (put("channel", "size", 6), "shape"),
        (lambda d: d["channel"].pop("ends"), "shape"),
        (lambda d: d["channel"].pop("other"), "shape"),
    ):
        assert kind_of_fault(resigned(d, change)) == kind


@pytest.mark.parametrize(
    "part",
    [
        None,
        [],
        "any",
        {},
        {"kind": "all"},
        {"kind": "any", "steps": 1},
        {"kind": "steps"},
        {"kind": "pairs"},
        {"kind": "pairs", "pairs": "0 1", "distances": "1"},
        {"kind": "pairs", "pairs": "1 0"},
        {"kind": "pairs", "pairs": "-1 0"},
        {"kind": "pairs", "pairs": ["0 1"]},
        {"kind": "distances", "pairs": "0 1"},
        {"kind": "pairs", "pairs": "0 1/2"},
        {"kind": "distances", "pairs": "0 1", "distances": "-1"},
        {"kind": "distances", "pairs": "0 1", "distances": "1 1"},
        {"kind": "distances", "pairs": "0 1 1 2", "distances": "1"},
        {"kind": "distances", "pairs": "0 1", "distances": "inf"},
        {"kind": ["steps"], "steps": 1},
    ],
    ids=str,
)
def test_neighbours_that_make_no_sense_are_refused(part):
    assert kind_of_fault(resigned(document(dt.geometric(8, alpha="9/10")), put("neighbours", part))) == "shape"


def test_no_two_values_of_an_open_grid_are_any_two():
    d = document(dt.geometric(dt.Grid(None, None), alpha="1/2"))
    assert kind_of_fault(resigned(d, put("neighbours", {"kind": "any"}))) == "shape"


def test_pairs_on_an_open_grid_are_positions():
    grid = dt.Grid(None, 10, "1/2")
    m = dt.Mechanism(
        grid,
        grid,
        Additive(StaircaseNoise(Fraction(1, 3), 2, 1), None, 0),
        Level(Fraction(1, 9)),
        [("9", "15/2")],
        Recipe("test"),
    )
    d = document(m)
    assert d["neighbours"] == {"kind": "pairs", "pairs": "-5 -2"}
    verify.verify(d)
    assert files.loads(bytes_of(d)) == m
    assert kind_of_fault(resigned(d, put("neighbours", "pairs", "-6 -1"))) == "claim"  # three edges of stairs
    assert kind_of_fault(resigned(d, put("neighbours", "pairs", "-1 1"))) == "shape"  # beyond the grid's end


def test_every_function_says_what_it_does():
    """A stranger reads this file alone. What overrides a method of the class above it does what is said there."""
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"))
    told = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and ast.get_docstring(n)} | {"__init__"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert ast.get_docstring(node) or node.name in told, f"line {node.lineno}: {node.name}"


def test_a_long_tight_level_has_a_short_decimal_beside_it(lone, tmp_path):
    dt.geometric(8, epsilon="1/10").save(tmp_path / "m.json")
    assert re.search(r"tight level: \d+/\d+ \(about 0\.904837418\)\n", lone(tmp_path / "m.json").stdout)  # e^-0.1
    dt.geometric(8, alpha="1/2").save(tmp_path / "short.json")
    assert "tight level: 1/2\n" in lone(tmp_path / "short.json").stdout
