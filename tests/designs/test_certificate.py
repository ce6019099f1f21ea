"""Certificates of designs: bounds that hold whatever the multipliers are, and files that prove them elsewhere.

The bound is recomputed here in Fractions from the text of a saved file, constraint by constraint, and compared with the
optimum of the linear program in test_design. Files with a changed certificate get a fresh digest, so that only the
arithmetic can refuse them.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import files, verify
from discreet.designs import certificate as certificates
from discreet.errors import FileError
from tests.cells import for_each
from tests.designs.test_design import SEVEN, Case, any_case, best_value, integers, plain, risk_of
from tests.profiles import examples
from tests.test_verify import Document, apart, bytes_of, document, kind_of_fault, put, resigned

ONE = 1 << 60

Row = tuple[dict[tuple[int, int], Fraction], Fraction, Fraction]  # entries, right-hand side, multiplier


# The bound of a file, from the definitions


def lines(text: list[str]) -> list[list[Fraction]]:
    return [[Fraction(int(x), ONE) for x in line.split()] for line in text]


def constraints(proof: Document, n: int, pairs: list[tuple[int, int]]) -> Iterator[Row]:
    """Every constraint that has a multiplier: its entries (truth, report), its right-hand side, its multiplier."""
    alpha, none = Fraction(proof["alpha"]), Fraction(0)
    told = {kind: lines(text) for kind, text in proof["multipliers"].items()}
    one = Fraction(1)
    for j in range(n + 1):
        yield {(j, i): one for i in range(n + 1)}, one, told["rows"][0][j]
    for e, (j, k) in enumerate(pairs):
        for i in range(n + 1):
            yield {(j, i): one, (k, i): -alpha}, none, told["level"][2 * e][i]
            yield {(k, i): one, (j, i): -alpha}, none, told["level"][2 * e + 1][i]
    for j in range(n):
        for i in range(n + 1):
            near, far = (j, j + 1) if j >= i else (j + 1, j)  # of the two, the one nearer to i
            if "RM" in told:
                yield {(near, i): one, (far, i): -one}, none, told["RM"][j][i]
            if "CM" in told:
                yield {(i, near): one, (i, far): -one}, none, told["CM"][i][j]
    for j in range(n + 1):
        for i in range(n + 1):
            if i != j and "RH" in told:
                yield {(i, i): one, (j, i): -one}, none, told["RH"][j][i]
            if i != j and "CH" in told:
                yield {(j, j): one, (j, i): -one}, none, told["CH"][j][i]
        if "WH" in told:
            yield {(j, j): one}, Fraction(1, n + 1), told["WH"][0][j]
        if "F" in told and j < n:
            yield {(j, j): one, (j + 1, j + 1): -one}, none, told["F"][0][j]


def bound_of(proof: Document, near: int | list[tuple[int, int]]) -> Fraction:
    """Right-hand sides times multipliers, and every negative reduced cost at its own size.

    `near` is how many steps apart neighbours are, or their pairs.
    """
    losses = [
        [Fraction(int(x), int(proof["loss"]["denominator"])) for x in row.split()] for row in proof["loss"]["rows"]
    ]
    weights = [int(w) for w in proof["prior"]["weights"].split()]
    n = len(weights) - 1
    reduced = {(j, i): Fraction(weights[j], sum(weights)) * losses[j][i] for j in range(n + 1) for i in range(n + 1)}
    if "S" in proof["require"]:
        reduced = {(j, i): (x + reduced[n - j, n - i]) / 2 for (j, i), x in reduced.items()}
    if isinstance(near, int):
        near = [(j, k) for j in range(n + 1) for k in range(j + 1, min(j + near, n) + 1)]
    pairs = sorted({(min(pair), max(pair)) for pair in near})
    value = Fraction(0)
    for entries, right, multiplier in constraints(proof, n, pairs):
        value += right * multiplier
        for place, x in entries.items():
            reduced[place] -= x * multiplier
    return value + sum((min(x, Fraction(0)) for x in reduced.values()), Fraction(0))


@for_each("seed", range(40))
def test_the_bound_of_a_file_is_what_its_multipliers_prove(seed):
    case = any_case(seed, most=6)
    d = case.design()
    proof = document(d.mechanism)["certificate"]
    assert bound_of(proof, case.neighbours) == Fraction(proof["bound"])
    assert Fraction(proof["objective"]) == risk_of(case, *integers(d))
    assert Fraction(proof["bound"]) <= Fraction(proof["objective"])
    assert d.certificate is not None
    assert Fraction(proof["bound"]) == d.certificate.bound
    assert Fraction(d.bound) <= d.certificate.bound
    verified = verify.verify(document(d.mechanism))
    assert verified.risk_and_bound == (Fraction(proof["objective"]), Fraction(proof["bound"]))


# Sound whatever the multipliers are


SMALL = [
    plain(3, "3/4", "l0", {"WH"}),
    plain(3, "3/4", "l2", SEVEN),
    plain(4, "2/3", "l1", {"F", "CH"}),
    plain(2, "9/10", "l1", {"RM", "RH", "CM", "CH", "WH", "F"}),
    plain(3, "1/2", "l1", {"RH", "CH"}, sensitivity=2),
    plain(3, "1/2", "l2", {"WH", "S"}, graph=[(0, 1), (2, 3), (0, 3)]),
    Case(
        3,
        {"alpha": "3/4"},
        "asymmetric(1, 3)",
        [[Fraction(max(j - i, 0) + 3 * max(i - j, 0)) for j in range(4)] for i in range(4)],
        [Fraction(w, 16) for w in (1, 4, 8, 3)],
        [Fraction(w, 16) for w in (1, 4, 8, 3)],
        frozenset({"S", "CM"}),
    ),
    Case(
        3,
        {"alpha": "3/4"},
        "l1",
        [[Fraction(abs(i - j)) for j in range(4)] for i in range(4)],
        [],
        None,
        frozenset({"WH", "RM"}),
        "worst",
        (0, 1, 3),
    ),
]


@cache
def solved(k: int) -> tuple[Any, float]:
    return SMALL[k].design(), best_value(SMALL[k])


def shapes(size: int, edges: int) -> dict[str, tuple[int, ...]]:
    return {
        "rows": (size,),
        "level": (2 * edges, size),
        "RM": (size - 1, size),
        "CM": (size, size - 1),
        "RH": (size, size),
        "CH": (size, size),
        "WH": (size,),
        "F": (size - 1,),
    }


@settings(max_examples=examples(150), derandomize=True)
@given(k=st.integers(0, len(SMALL) - 1), seed=st.integers(0, 10**9), kind=st.sampled_from(["any", "near", "large"]))
def test_no_multipliers_prove_more_than_the_optimum(k, seed, kind):
    """Any size, any sign where there is one: close to the best ones the bound comes close, and never above."""
    d, best = solved(k)
    r = np.random.default_rng(seed)
    problem, size = d.problem, d.problem.size
    multipliers = {}
    for letter, shape in shapes(size, len(problem.edges)).items():
        if letter in ("rows", "level") or letter in problem.require:
            known = d.certificate.multipliers.get(letter, np.zeros(shape, dtype=object)).astype(np.float64) / ONE
            noise = r.normal(size=shape) * {"any": 0.3, "near": 10.0 ** r.uniform(-9, -1), "large": 50.0}[kind]
            values = noise if kind != "near" else known + noise * (r.random(shape) < 0.3)
            values = values if letter in ("rows", "F") else np.maximum(values, 0.0)
            multipliers[letter] = np.array([int(x * ONE) for x in values.ravel()], dtype=object).reshape(shape)
    prior = problem.prior if problem.risk == "average" else d.certificate.prior
    if problem.risk == "worst" and kind == "any":
        prior = certificates.Prior(
            "any", tuple(int(w) if j in problem.among else 0 for j, w in enumerate(r.integers(1, 9, size)))
        )
    found = certificates.bound(problem, prior, multipliers)
    assert found <= best + 1e-9
    changed = certificates.Certificate(problem, prior, multipliers, 60, d.certificate.worst, found).document()
    assert bound_of(changed, list(problem.edges)) == found
    text = resigned(document(d.mechanism), put("certificate", changed))
    assert verify.verify(text).risk_and_bound == (d.certificate.objective, found)


def test_the_bound_is_the_optimum_itself_where_the_multipliers_are_good():
    for k in range(len(SMALL)):
        d, best = solved(k)
        assert float(d.certificate.bound) == pytest.approx(best, abs=1e-8)


# The lone script


@pytest.fixture(scope="module")
def lone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Document], subprocess.CompletedProcess[str]]:
    """verify.py copied to an empty folder and run with nothing but the standard library."""
    folder = tmp_path_factory.mktemp("lone")
    copied = Path(shutil.copy(verify.__file__, folder / "verify.py"))

    def run(content: Document) -> subprocess.CompletedProcess[str]:
        (folder / "m.json").write_bytes(bytes_of(content))
        return subprocess.run(
            [sys.executable, "-I", "-S", "-W", "error", copied, folder / "m.json"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


MADE: dict[str, Callable[[], dt.Mechanism]] = {
    "average": lambda: dt.design(5, alpha="9/10", loss="l1", require="WH").mechanism,
    "worst among some": lambda: (
        dt.design(5, alpha="3/4", loss="l2", risk="worst", among=[0, 2, 5], require="RH").mechanism
    ),
    "symmetry with an asymmetric cost": lambda: (
        dt.design(
            5, alpha="3/4", loss="asymmetric(1, 3)", prior=["1/2", "1/4", "1/8", "1/8", 0, 0], require="S WH"
        ).mechanism
    ),
    "graph": lambda: dt.design(5, alpha="3/4", loss="l0", neighbours=[(0, 1), (1, 2), (2, 0), (3, 4)]).mechanism,
    "graph with symmetry": lambda: (
        dt.design(4, alpha="3/4", loss="l1", neighbours=[(0, 4), (1, 3)], require="S").mechanism
    ),
    "sensitivity 2": lambda: dt.design(6, alpha="2/3", loss="l1", sensitivity=2, require="CH").mechanism,
    "geometric": lambda: dt.design(8, alpha="1/2", loss="l0").mechanism,
    "geometric with a property": lambda: dt.design(8, alpha="1/2", loss="l0", require="WH S RM").mechanism,
    "remap": lambda: dt.design(8, alpha="9/10", loss="l2", prior="binomial(0.3)").mechanism,
    "explicit fair": lambda: dt.design(7, alpha="9/10", loss="l0", prior="beta(2, 5)", require="F").mechanism,
    "fair": lambda: dt.design(5, alpha="9/10", loss="l1", require="F").mechanism,
    "fair and honest": lambda: dt.design(5, alpha="9/10", loss="l1", require="F CH").mechanism,
    "monotone": lambda: dt.design(5, alpha="9/10", loss="l2", require="CM").mechanism,
    "all seven": lambda: dt.design(6, epsilon="0.3", loss="l2", require=SEVEN).mechanism,
    "interior point": lambda: dt.design(20, epsilon="0.3", loss="l2", require="WH CM").mechanism,
    "another grid": lambda: (
        dt.design(dt.Grid("1/2", 4, "1/2"), alpha="3/4", loss="l1", sensitivity="1/2", require="WH").mechanism
    ),
    "weakly honest": lambda: dt.weakly_honest(4, alpha="9/10"),
}


@pytest.mark.parametrize("name", MADE)
def test_the_lone_script_proves_designs(lone, name):
    m = MADE[name]()
    told = lone(json.loads(files.text(m)))
    assert (told.returncode, told.stderr) == (0, "")
    line = next(line for line in told.stdout.splitlines() if line.startswith("design: "))
    assert m.certificate is not None
    risk, bound = Fraction(m.certificate["objective"]), Fraction(m.certificate["bound"])
    pattern = r"design: risk at most (\S+); no mechanism of this kind goes below (\S+); the gap is at most (\S+)"
    printed = re.fullmatch(pattern, line)
    assert printed is not None
    above, below, gap = (Fraction(number) for number in printed.groups())
    assert risk <= above <= risk * (1 + Fraction(1, 10**8))  # rounded up
    assert bound * (1 - Fraction(1, 10**8)) <= below <= bound
    assert risk - bound <= gap <= (risk - bound) * Fraction(11, 10)
    assert risk - bound < 1e-7


@pytest.mark.parametrize("name", ["average", "graph", "remap", "worst among some"])
def test_a_certificate_stays_with_its_file(name, tmp_path):
    m = MADE[name]()
    m.save(tmp_path / "m.json")
    loaded = dt.load(tmp_path / "m.json")
    assert loaded.certificate == m.certificate
    assert files.text(loaded) == files.text(m)


# Altered certificates


@cache
def original(name: str) -> Document:
    return document(MADE[name]())


def on_proof(change: Callable[[Document], Any]) -> Callable[[Document], Any]:
    return lambda d: change(d["certificate"])


def word(*path: Any, at: int = 0, by: Callable[[int], Any]) -> Callable[[Document], None]:
    """Change one integer of a line of integers within the certificate."""

    def change(d: Document) -> None:
        holder: Any = d["certificate"]
        for key in path[:-1]:
            holder = holder[key]
        words = holder[path[-1]].split()
        words[at] = str(by(int(words[at])))
        holder[path[-1]] = " ".join(words)

    return change


def added(name: str, by: Fraction) -> Callable[[Document], None]:
    return on_proof(lambda p: p.__setitem__(name, str(Fraction(p[name]) + by)))


def dropped(*path: Any) -> Callable[[Document], None]:
    def change(p: Document) -> None:
        for key in path[:-1]:
            p = p[key]
        del p[path[-1]]

    return on_proof(change)


TINY = Fraction(1, 10**15)
ALTERED: dict[str, tuple[str, Callable[[Document], Any], str]] = {
    "objective up": ("average", added("objective", TINY), "claim"),
    "objective down": ("average", added("objective", -TINY), "claim"),
    "objective of the worst case": ("worst among some", added("objective", -TINY), "claim"),
    "bound up": ("average", added("bound", TINY), "claim"),
    "bound down": ("average", added("bound", -TINY), "claim"),
    "bound of a theorem up": ("explicit fair", added("bound", TINY), "claim"),
    "fewer bits": ("average", on_proof(lambda p: p.update(bits=59)), "claim"),
    "bits without end": ("average", on_proof(lambda p: p.update(bits=10**9)), "shape"),
    "a row multiplier up": ("average", word("multipliers", "rows", 0, at=2, by=lambda x: x + 2**50), "claim"),
    "a row multiplier up by one unit": ("average", word("multipliers", "rows", 0, at=2, by=lambda x: x + 1), "claim"),
    "a level multiplier up": ("average", word("multipliers", "level", 1, at=3, by=lambda x: x + 2**62), "claim"),
    "an honesty multiplier up": ("average", word("multipliers", "WH", 0, at=2, by=lambda x: x + 2**55), "claim"),
    "a fairness multiplier changed": ("fair", word("multipliers", "F", 0, at=0, by=lambda x: x + 2**58), "claim"),
    "a negative level multiplier": ("average", word("multipliers", "level", 0, at=0, by=lambda x: -1), "claim"),
    "a negative honesty multiplier": ("average", word("multipliers", "WH", 0, at=0, by=lambda x: -(2**58)), "claim"),
    "a negative monotonicity multiplier": ("monotone", word("multipliers", "CM", 1, at=0, by=lambda x: -1), "claim"),
    "a loss raised": ("average", word("loss", "rows", 1, at=4, by=lambda x: x + 1), "claim"),
    "a loss below zero": ("average", word("loss", "rows", 1, at=1, by=lambda x: -1), "shape"),
    "losses divided": ("average", put("certificate", "loss", "denominator", "2"), "claim"),
    "losses over zero": ("average", put("certificate", "loss", "denominator", "0"), "shape"),
    "a prior weight raised": ("average", word("prior", "weights", at=1, by=lambda x: x + 1), "claim"),
    "a negative prior weight": ("average", word("prior", "weights", at=1, by=lambda x: -1), "shape"),
    "a prior of zeros": ("average", put("certificate", "prior", "weights", "0 0 0 0 0 0"), "shape"),
    "a prior outside the worst case": ("worst among some", word("prior", "weights", at=1, by=lambda x: 5), "claim"),
    "another least favourable prior": (
        "worst among some",
        word("prior", "weights", at=0, by=lambda x: x // 2 + 1),
        "claim",
    ),
    "a property that does not hold": ("average", put("certificate", "require", ["F", "WH"]), "claim"),
    "an unknown property": ("average", put("certificate", "require", ["WH", "XX"]), "claim"),
    "a property taken away": ("average", put("certificate", "require", []), "shape"),
    "symmetry taken away": ("symmetry with an asymmetric cost", put("certificate", "require", ["WH"]), "claim"),
    "properties as a text": ("average", put("certificate", "require", "WH"), "claim"),
    "neighbours taken away": ("graph", apart(1), "claim"),
    "one pair taken away": ("graph", put("neighbours", "pairs", "0 1 0 2 1 2"), "shape"),
    "another pair": ("graph", put("neighbours", "pairs", "0 1 0 2 1 2 4 5"), "claim"),
    "half a pair": ("graph", put("neighbours", "pairs", "0 1 0 2 1 2 3"), "shape"),
    "a pair of one": ("graph", put("neighbours", "pairs", "0 1 0 2 1 2 3 3"), "shape"),
    "a pair beyond the values": ("graph", put("neighbours", "pairs", "0 1 0 2 1 2 3 6"), "shape"),
    "pairs in another order": ("graph", put("neighbours", "pairs", "0 1 1 2 0 2 3 4"), "shape"),
    "a pair twice": ("graph", put("neighbours", "pairs", "0 1 0 1 0 2 1 2 3 4"), "shape"),
    "no pairs": ("graph", put("neighbours", "pairs", ""), "shape"),
    "a tight level of a graph": ("graph", put("claims", "tight", {"alpha": "3/4", "power": 1, "exact": True}), "shape"),
    "pairs in the certificate": ("graph", put("certificate", "neighbours", "0 1 0 2 1 2 3 4"), "shape"),
    "distances of a graph": (
        "graph",
        put("neighbours", {"kind": "distances", "pairs": "0 1 0 2 1 2 3 4", "distances": "2 1 1 1"}),
        "shape",
    ),
    "a graph for a line": ("average", put("neighbours", {"kind": "pairs", "pairs": "0 1 1 2 2 3 3 4"}), "shape"),
    "a stricter level": ("average", put("certificate", "alpha", "91/100"), "claim"),
    "a laxer level": ("average", put("certificate", "alpha", "89/100"), "claim"),
    "a laxer level of a graph": ("graph", put("certificate", "alpha", "74/100"), "claim"),
    "a stricter level of a graph": ("graph", put("certificate", "alpha", "76/100"), "claim"),
    "no level at all": ("graph", put("certificate", "alpha", "0"), "shape"),
    "level one": ("graph", put("certificate", "alpha", "1"), "shape"),
    "the worst case for the average": ("average", put("certificate", "risk", "worst"), "shape"),
    "the worst case of all for the average": (
        "average",
        on_proof(lambda p: p.update(risk="worst", among="0 1 2 3 4 5")),
        "claim",
    ),
    "the average for the worst case": ("worst among some", put("certificate", "risk", "average"), "claim"),
    "a risk of no kind": ("average", put("certificate", "risk", "avarage"), "shape"),
    "fewer values in the worst case": ("worst among some", put("certificate", "among", "2 5"), "claim"),
    "no values in the worst case": ("worst among some", put("certificate", "among", ""), "shape"),
    "values beyond the grid": ("worst among some", put("certificate", "among", "0 2 6"), "shape"),
    "multipliers for fairness": ("average", put("certificate", "multipliers", "F", ["0 0 0 0 0"]), "shape"),
    "multipliers for symmetry": ("graph with symmetry", put("certificate", "multipliers", "S", ["0 0 0 0 0"]), "shape"),
    "multipliers for row honesty": ("average", put("certificate", "multipliers", "RH", ["0 0 0 0 0 0"] * 6), "shape"),
    "multipliers for nothing": ("average", put("certificate", "multipliers", "XX", ["0"]), "shape"),
    "no row multipliers": ("average", dropped("multipliers", "rows"), "shape"),
    "no level multipliers": ("average", dropped("multipliers", "level"), "shape"),
    "no honesty multipliers": ("average", dropped("multipliers", "WH"), "claim"),
    "a line too many": ("average", on_proof(lambda p: p["multipliers"]["level"].append("0 0 0 0 0 0")), "shape"),
    "a line too few": ("average", on_proof(lambda p: p["multipliers"]["level"].pop()), "shape"),
    "a number too many": (
        "average",
        on_proof(lambda p: p["multipliers"]["rows"].__setitem__(0, "0 0 0 0 0 0 0")),
        "shape",
    ),
    "a number too few": ("average", on_proof(lambda p: p["multipliers"]["WH"].__setitem__(0, "0 0 0 0 0")), "shape"),
    "no integers": ("average", put("certificate", "multipliers", "rows", ["a b c d e f"]), "shape"),
    "floats": ("average", put("certificate", "multipliers", "rows", ["0.5 0 0 0 0 0"]), "shape"),
    "numbers that are no text": ("average", put("certificate", "multipliers", "rows", [[0, 0, 0, 0, 0, 0]]), "shape"),
    "multipliers as a list": ("average", put("certificate", "multipliers", []), "shape"),
    "a certificate of nothing": ("average", put("certificate", {}), "shape"),
    "a certificate as a text": ("average", put("certificate", "best of all"), "shape"),
    "a loss of the wrong size": ("average", on_proof(lambda p: p["loss"]["rows"].pop()), "shape"),
    "a prior of the wrong size": ("average", put("certificate", "prior", "weights", "1 1 1 1 1"), "shape"),
    "a bound that is no number": ("average", put("certificate", "bound", "nan"), "shape"),
    "an objective that is no text": ("average", put("certificate", "objective", 1), "shape"),
    "another mechanism's certificate": (
        "average",
        lambda d: d.__setitem__("certificate", original("fair")["certificate"]),
        "claim",
    ),
    "a claimed sensitivity": ("average", apart(2), "claim"),
    **{
        f"no {name}": ("average", dropped(name), "shape")
        for name in ("loss", "prior", "risk", "require", "alpha", "objective", "bound", "multipliers")
    },
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_certificates_are_refused(name):
    which, change, kind = ALTERED[name]
    changed = resigned(original(which), change)
    assert changed != original(which)
    assert kind_of_fault(changed) == kind
    with pytest.raises(FileError) as caught:
        files.loads(bytes_of(changed))
    assert caught.value.kind == kind


@pytest.mark.parametrize("name", ["bound up", "a negative honesty multiplier", "a property taken away", "another pair"])
def test_the_lone_script_refuses_altered_certificates(lone, name):
    which, change, kind = ALTERED[name]
    told = lone(resigned(original(which), change))
    assert told.returncode == (1 if kind == "claim" else 2)
    assert told.stderr.startswith(f"refused ({kind}): ")
    assert told.stdout == ""


def test_a_changed_certificate_without_a_fresh_digest_is_refused():
    changed = json.loads(json.dumps(original("average")))
    changed["certificate"]["bound"] = "1"
    assert kind_of_fault(changed) == "digest"


def test_random_changes_prove_nothing_more():
    """Multipliers moved at random and the bound adjusted to them: accepted, since true, and never above the optimum."""
    case = plain(5, "9/10", "l1", {"WH"})
    best, r = best_value(case), random.Random(8)
    for _ in range(40):
        changed = json.loads(json.dumps(original("average")))
        proof = changed["certificate"]
        for kind, rows in proof["multipliers"].items():
            for k, line in enumerate(rows):
                moved = [int(x) + (r.randint(-(2**57), 2**57) if r.random() < 0.1 else 0) for x in line.split()]
                rows[k] = " ".join(str(x if kind == "rows" else max(x, 0)) for x in moved)
        bound = bound_of(proof, 1)
        assert bound <= best + 1e-9
        proof["bound"] = str(bound)
        changed["digest"] = verify.digest(changed)
        assert verify.verify(changed).risk_and_bound == (Fraction(proof["objective"]), bound)


@pytest.mark.parametrize("step", [Fraction(1, 10**6), Fraction(1, 10**3), 1, 10**5])
def test_the_unit_of_the_loss_does_not_matter(step):
    """The same problem in other units: the risk scales, and what is proved of it is as sharp."""
    plain = dt.design(20, alpha="9/10", loss="l2", require="WH")
    other = dt.design(dt.Grid(0, 20 * step, step), sensitivity=step, alpha="9/10", loss="l2", require="WH")
    assert other.certificate.gap < 1e-8
    assert float(other.certificate.objective / step**2) == pytest.approx(plain.objective, rel=1e-8)


# A certificate of another problem


def named(change: Callable[[Document], Any], recipe: bool = True) -> Document:
    """A design for nothing at all, with a true bound of 0: loss, prior and their names may be chosen freely."""
    d = json.loads(json.dumps(original("average")))
    proof = d["certificate"]
    proof["loss"] = {"name": "l1", "denominator": "1", "rows": ["0 0 0 0 0 0"] * 6}
    proof["multipliers"] = {
        kind: [" ".join("0" for _ in line.split()) for line in lines] for kind, lines in proof["multipliers"].items()
    }
    change(proof)
    losses = [
        [Fraction(int(x), int(proof["loss"]["denominator"])) for x in row.split()] for row in proof["loss"]["rows"]
    ]
    law, weights = (
        [int(w) for w in proof["prior"]["weights"].split()],
        [list(map(int, r.split())) for r in d["channel"]["rows"]],
    )
    risk = sum(p * sum(a * b for a, b in zip(x, w, strict=True)) for p, x, w in zip(law, losses, weights, strict=True))
    proof.update(objective=str(risk / sum(law) / int(d["channel"]["total"])), bound="0")
    if recipe:
        d["recipe"]["parameters"].update(loss=proof["loss"]["name"], prior=proof["prior"]["name"])
    d["digest"] = verify.digest(d)
    return d


def losing(name: str, entry: Callable[[int, int], Any], unit: int = 1) -> Callable[[Document], None]:
    rows = [" ".join(str(int(Fraction(entry(i, j)) * unit)) for j in range(6)) for i in range(6)]
    return lambda proof: proof.update(loss={"name": name, "denominator": str(unit), "rows": rows})


LOSSES: dict[str, tuple[Callable[[int, int], Any], int]] = {
    "l0": (lambda i, j: i != j, 1),
    "l1": (lambda i, j: abs(i - j), 3),
    "l2": (lambda i, j: (i - j) ** 2, 1),
    "lp(3)": (lambda i, j: abs(i - j) ** 3, 1),
    "lp(64)": (lambda i, j: abs(i - j) ** 64, 1),
    "tail(2)": (lambda i, j: abs(i - j) > 2, 1),
    "tail(3/2)": (lambda i, j: abs(i - j) >= 2, 5),
    "threshold(5/2)": (lambda i, j: (i >= 3) != (j >= 3), 1),
    "threshold(-1)": (lambda i, j: 0, 1),
    "asymmetric(1, 3)": (lambda i, j: j - i if j > i else 3 * (i - j), 1),
    "asymmetric(1/2, 1/3)": (lambda i, j: Fraction(j - i, 2) if j > i else Fraction(i - j, 3), 6),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_name_of_a_loss_is_compared_with_its_numbers(name):
    entry, unit = LOSSES[name]
    found = verify.verify(named(losing(name, entry, unit)))
    assert found.asked == f"average risk, loss {name} (recomputed), prior uniform (recomputed)"
    for i, j in ((0, 1), (3, 3), (5, 0)):
        other = losing(name, lambda x, y, i=i, j=j: entry(x, y) + (1 if (x, y) == (i, j) else 0), unit)
        assert kind_of_fault(named(other)) == "claim"


def test_the_level_of_the_bound_is_that_of_the_mechanism(tmp_path, capsys):
    """A constant report claims alpha 1/2, truly, and is best at alpha 999/1000: nobody may read that as best at 1/2."""
    m = dt.design(4, alpha="999/1000", loss="l1", neighbours=[(0, 1), (1, 2), (2, 3), (3, 4)]).mechanism
    assert (m.neighbours, m.alpha) == (dt.Neighbours.steps(1), Fraction(999, 1000)), "these pairs are a line"
    d = json.loads(files.text(m))
    (tmp_path / "m.json").write_bytes(bytes_of(d))
    assert verify.main([str(tmp_path / "m.json")]) == 0
    kind = "alpha 999/1000 between true values at most one step apart, properties required: none"
    assert f"mechanisms of this kind: {kind}\n" in capsys.readouterr().out
    d["level"] = {"alpha": "1/2", "epsilon": None}
    del d["recipe"]["parameters"]["alpha"]
    d["digest"] = verify.digest(d)
    with pytest.raises(verify.Fault, match="The certificate is about another level than the mechanism's"):
        verify.verify(d)


def test_the_values_of_a_worst_case_and_the_properties_are_told():
    m = dt.design(4, alpha="1/2", loss="l1", risk="worst", require="S,WH", among=[1, 2]).mechanism
    assert verify.verify(json.loads(files.text(m))).among == (
        "alpha 1/2 between true values at most one step apart, properties required: S, WH, worst case among 2 values"
    )


def test_a_loss_of_nothing_called_l1_is_refused():
    """Its risk is 0 and so is its bound: all true, and about another problem than the name says."""
    with pytest.raises(verify.Fault, match="not the l1") as caught:
        verify.verify(named(lambda proof: None))
    assert caught.value.kind == "claim"


@pytest.mark.parametrize(
    "name",
    [
        "matrix",
        "function f",
        "gain",
        "L1",
        "l1 ",
        "l1 (recomputed)",
        "\u04c01",
        "l\u0661",
        "lp(3/2)",
        "lp(2/1)",
        "lp(65)",
        "lp(0)",
        "lp(06)",
        "tail()",
        "asymmetric(1)",
        "l1(1)",
        "l3",
        "",
        "uniform",
        "tail(1/2, 1/3)",
    ],
    ids=ascii,
)
def test_a_name_that_says_nothing_about_numbers_is_told_as_such(name, capsys, tmp_path):
    d = named(lambda proof: proof["loss"].update(name=name))
    assert verify.verify(d).asked.startswith(f"average risk, loss given by its numbers, and called {name!a}")
    (tmp_path / "m.json").write_bytes(bytes_of(d))
    assert verify.main([str(tmp_path / "m.json")]) == 0
    assert "designed for: average risk, loss given by its numbers" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["lp(1/0)", "tail(/)", "tail(1//2)", "a\nb", "\ud800", 7, None, True], ids=ascii)
def test_a_name_that_is_none_is_refused(name):
    assert kind_of_fault(named(lambda proof: proof["loss"].update(name=name), recipe=False)) == "shape"


def test_the_name_of_a_prior_is_compared_with_its_numbers():
    def prior(name: str, weights: list[int]) -> Callable[[Document], None]:
        return lambda proof: proof.update(
            loss={"name": "matrix", "denominator": "1", "rows": ["0 0 0 0 0 0"] * 6},
            prior={"name": name, "weights": " ".join(map(str, weights))},
        )

    binomial = [32, 80, 80, 40, 10, 1]  # C(5, k) 2^(5-k), over 3^5
    assert verify.verify(named(prior("binomial(1/3)", binomial))).asked.endswith(
        "prior binomial(1/3) (recomputed, up to 1e-9)"
    )
    assert verify.verify(named(prior("uniform", [7] * 6))).asked.endswith("prior uniform (recomputed)")
    assert verify.verify(named(prior("list", binomial))).asked.endswith("prior given by its numbers, and called 'list'")
    assert verify.verify(named(prior("normal(0, 1)", binomial))).asked.endswith("and called 'normal(0, 1)'")
    largest = [1, 8, 16, 24, 32, 19]  # of two records on 0..5: differences of 0, 1, 9, 25, 49, 81, 100
    for name, law in (("maximum(2)", largest), ("minimum(2)", largest[::-1])):
        assert verify.verify(named(prior(name, law))).asked.endswith(f"prior {name} (recomputed, up to 1e-9)")
    assert verify.verify(named(prior("maximum(1/2)", largest))).asked.endswith("and called 'maximum(1/2)'")
    near = [w * 10**12 + (k == 2) for k, w in enumerate(binomial)]
    verify.verify(named(prior("binomial(1/3)", near)))
    far = [w * 10**7 + (k == 2) for k, w in enumerate(binomial)]  # 1/(243e7) > 1e-10 of total variation: allowed
    verify.verify(named(prior("binomial(1/3)", far)))
    wrong = [w * 10**5 + (k == 2) for k, w in enumerate(binomial)]
    for name, law in (
        ("binomial(1/3)", wrong),
        ("binomial(1/3)", binomial[::-1]),
        ("uniform", [1, 1, 1, 1, 1, 2]),
        ("binomial(0)", [1, 0, 0, 0, 0, 0]),
        ("binomial(4/3)", binomial),
        ("maximum(2)", largest[::-1]),
        ("minimum(3)", largest),
    ):
        assert kind_of_fault(named(prior(name, law))) == "claim", name


@pytest.mark.parametrize("name", MADE)
def test_what_discreet_names_is_recomputed(name):
    """The negative control: every design in this file, on every grid, is told with a loss that was recomputed."""
    assert "loss l" in (asked := verify.verify(original(name)).asked) or "loss asymmetric" in asked
    assert asked.split(", prior")[0].endswith("(recomputed)")


@pytest.mark.parametrize("loss", ["tail(1/2)", "threshold(2)", "asymmetric(1/2, 3)", "lp(3)", "l0", "l2", "lp(3/2)"])
def test_named_losses_on_a_grid_of_other_units_are_recomputed(loss):
    m = dt.design(
        dt.Grid("1/3", "7/3", "2/3"), alpha="2/3", loss=loss, sensitivity="2/3", prior="binomial(1/3)"
    ).mechanism
    asked = verify.verify(document(m)).asked
    assert asked.endswith("prior binomial(1/3) (recomputed, up to 1e-9)")
    told = "loss given by its numbers, and called 'lp(3/2)'" if loss == "lp(3/2)" else f"loss {loss} (recomputed)"
    assert told in asked


@pytest.mark.parametrize(
    ("name", "value"),
    [("loss", "l2"), ("prior", "beta(2, 5)"), ("risk", "worst"), ("require", "none"), ("alpha", "1/2")],
)
def test_a_recipe_of_another_problem_is_refused(name, value):
    changed = resigned(original("average"), put("recipe", "parameters", name, value))
    assert kind_of_fault(changed) == "claim"


def test_recomputing_a_name_is_paid_for_too():
    """Distances of thousands of digits to the power of 64 are not worth a reader's minutes."""
    d = json.loads(json.dumps(named(losing("lp(64)", lambda i, j: 0))))
    wide = {"low": "0", "high": str(5 * 10**4000), "step": str(10**4000)}
    effort = verify.Effort(2**20)
    grids = {name: verify._grid(wide, name) for name in ("inputs", "outputs")}
    losses = [[int(x) for x in row.split()] for row in d["certificate"]["loss"]["rows"]]
    with pytest.raises(verify.Fault, match="too long"):
        verify._loss_fits("lp(64)", losses, 1, grids, effort)
