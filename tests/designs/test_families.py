"""Designs for sets of priors, against a program of the test's own over the set's corners; sets as people write them; files.

The corners of a set of limits are found by brute force, from every choice of as many equations as there are values. Nothing
here knows of prices or of the way the set stands in discreet's linear program.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import discreet as dt
from discreet import files, verify
from discreet.cli import main
from discreet.designs import Priors
from discreet.designs.families import Limits, family_of
from discreet.designs.rational import near_solution
from discreet.errors import DesignError, DiscreetError, PriorError, SizeError
from discreet.exact.grid import Grid
from tests.cells import for_each
from tests.designs.test_certificate import bound_of, on_proof, word
from tests.designs.test_design import SEVEN, Case, any_case, integers, program
from tests.test_seal import broken_level, broken_property, near
from tests.test_verify import Document, document, kind_of_fault, put, resigned

Law = list[Fraction]


# The set's corners


def corners(rows: list[tuple[list[Fraction], Fraction | None, Fraction | None]], size: int) -> list[np.ndarray]:
    """The corners of {p >= 0, sum p = 1, low <= a p <= high}: every full set of equations that gives a prior of it."""
    sides = [(np.eye(size)[j], 0.0) for j in range(size)]
    for a, low, high in rows:
        sides += [
            (np.array([float(x) for x in a]) * sign, float(end) * sign)
            for end, sign in ((low, 1), (high, -1))
            if end is not None
        ]
    found = []
    for chosen in combinations(sides, size - 1):
        matrix = np.array([np.ones(size), *(a for a, _ in chosen)])
        if abs(np.linalg.det(matrix)) > 1e-9:
            p = np.linalg.solve(matrix, [1.0, *(b for _, b in chosen)])
            if all(a @ p >= b - 1e-9 for a, b in sides):
                found.append(p)
    return found


def best_over(case: Case, laws: list[Any]) -> float:
    """The least largest mean loss: t is at least the mean under each of the laws."""
    lp, size = program(case, float(case.alpha)), case.n + 1
    for law in laws:
        line = {j * size + i: -float(law[j]) * float(case.costs[j][i]) for j in range(size) for i in range(size)}
        lp.at_least({size * size: 1.0, **line})
    return lp.solve([0.0] * size**2 + [1.0])[0]


def a_hull(r: random.Random, n: int) -> tuple[Any, list[Law]]:
    laws = []
    for _ in range(r.randint(1, 4)):
        weights = [r.choice([0, 0, 1, 2, 5, 9]) for _ in range(n + 1)]
        weights[r.randint(0, n)] += 1
        laws.append([Fraction(w, sum(weights)) for w in weights])
    if r.random() < 0.4:  # a symmetric set
        laws += [law[::-1] for law in laws]
    return laws, laws


def some_limits(r: random.Random, n: int) -> tuple[Any, list[tuple[Law, Fraction | None, Fraction | None]]]:
    """Limits that a random prior keeps to, some of them exactly."""
    inside = [r.randint(1, 9) for _ in range(n + 1)]
    told, rows = [], []
    for _ in range(r.randint(1, 3)):
        order, about = r.randint(1, 2), Fraction(r.randint(0, 2 * n), 2)
        a = [(j - about) ** order for j in range(n + 1)]
        what: Any = f"moment({order}, {about})"
        if r.random() < 0.3:
            a = [Fraction(r.randint(-3, 3)) for _ in range(n + 1)]
            what = r.choice([a, dict(enumerate(a)), lambda x, a=a: a[x]])
        mean = sum(x * w for x, w in zip(a, inside, strict=True)) / sum(inside)
        low, high = mean - r.choice([0, 1, 3]) * Fraction(1, 4), mean + r.choice([0, 1, 3]) * Fraction(1, 4)
        ends = r.choice([(low, high), (low, None), (None, high)])
        told.append((what, *ends))
        rows.append((a, *ends))
    return Priors.limits(told), rows


def judged(d: dt.results.Design, case: Case, laws: list[Any]) -> None:
    """Level and properties on the integers; the largest mean over the corners; and the optimum, which is the test's."""
    weights, total = integers(d)
    assert broken_level(weights, d.problem.level.alpha, near(case.n + 1, case.neighbours)) <= 0
    assert all(broken_property(weights, total, letter) <= 0 for letter in case.require)
    means = np.array(
        [
            sum(float(x) * w for x, w in zip(row, ws, strict=True)) / total
            for row, ws in zip(case.costs, weights, strict=True)
        ]
    )
    scale = max(1.0, float(max(map(max, case.costs))))
    assert d.objective == pytest.approx(
        max(float(np.array(law, dtype=float) @ means) for law in laws), abs=1e-8 * scale
    )
    best = best_over(case, laws)
    assert d.objective == pytest.approx(best, abs=2e-7 * scale)
    assert d.bound <= best + 1e-9 * scale
    assert d.gap < 1e-6
    proof = document(d.mechanism)["certificate"]
    assert bound_of(proof, case.neighbours) == Fraction(proof["bound"])
    assert verify.verify(document(d.mechanism)).risk_and_bound == (
        Fraction(proof["objective"]),
        Fraction(proof["bound"]),
    )


def asked(case: Case, priors: Any) -> dt.results.Design:
    near_ = {"sensitivity": case.sensitivity} if case.graph is None else {"neighbours": case.graph}
    return dt.design(case.n, loss=case.loss, require=case.require, priors=priors, **case.level, **near_)


def an_average_case(seed: int) -> Case:
    """A random problem of the average; small losses, whose common scale the tolerances know."""
    case = any_case(seed, most=5)
    return Case(
        case.n,
        case.level,
        case.loss,
        case.costs,
        case.law,
        None,
        case.require,
        "average",
        None,
        case.sensitivity,
        case.graph,
    )


@for_each("seed", range(40))
def test_a_hull_is_served_at_its_corners(seed):
    case = an_average_case(seed)
    given, laws = a_hull(random.Random(seed), case.n)
    d = asked(case, given)
    judged(d, case, laws)
    mixture = [int(q) for q in document(d.mechanism)["certificate"]["family"]["mixture"].split()]
    mixed = [
        sum(Fraction(q, sum(mixture)) * law[j] for q, law in zip(mixture, unique(laws), strict=True))
        for j in range(case.n + 1)
    ]
    assert [Fraction(w, d.worst_prior.total) for w in d.worst_prior.weights] == mixed


def unique(laws: list[Law]) -> list[Law]:
    return [list(law) for law in dict.fromkeys(map(tuple, laws))]


@for_each("seed", range(40))
def test_limits_are_served_at_their_corners(seed):
    case = an_average_case(seed)
    given, rows = some_limits(random.Random(seed), case.n)
    d = asked(case, given)
    judged(d, case, corners(rows, case.n + 1))
    law = [Fraction(w, d.worst_prior.total) for w in d.worst_prior.weights]
    for a, low, high in rows:
        mean = sum((x * p for x, p in zip(a, law, strict=True)), Fraction(0))
        assert low is None or low <= mean
        assert high is None or mean <= high


# Longer grids, where the interior point works: corners are too many, so sets whose answer is known otherwise


@pytest.mark.parametrize(("n", "require", "sensitivity"), [(30, "", 1), (24, "WH CM", 1), (20, "F", 1), (20, "RM", 3)])
def test_all_point_masses_are_the_worst_case(n, require, sensitivity):
    given: dict[str, Any] = {"alpha": "4/5", "loss": "l1", "require": require, "sensitivity": sensitivity}
    worst = dt.design(n, risk="worst", **given).objective
    points = dt.design(n, priors=[{j: 1} for j in range(n + 1)], **given)
    every = dt.design(n, priors=Priors.limits([("x", 0, n)]), **given)  # which every prior keeps to
    assert points.objective == pytest.approx(worst, rel=1e-7)
    assert every.objective == pytest.approx(worst, rel=1e-7)
    assert max(points.gap, every.gap) < 1e-6


@pytest.mark.parametrize("loss", ["l1", "asymmetric(1, 2)"])
def test_a_single_prior_is_the_average(loss):
    law = [Fraction(w, 231) for w in range(1, 22)]
    alone = dt.design(20, alpha="4/5", loss=loss, prior=law).objective
    assert dt.design(20, alpha="4/5", loss=loss, priors=[law]).objective == pytest.approx(alone, rel=1e-7)
    pinned = Priors.limits([({j: 1}, p, p) for j, p in enumerate(law)])  # equations for every value
    assert dt.design(20, alpha="4/5", loss=loss, priors=pinned).objective == pytest.approx(alone, rel=1e-7)


def test_five_priors_on_forty_values_are_between_one_and_the_worst_case():
    laws = ["binomial(0.2)", "binomial(0.5)", "binomial(0.8)", "uniform", "beta(2, 5)"]
    d = dt.design(40, alpha="9/10", loss="l1", priors=laws)
    each = [dt.design(40, alpha="9/10", loss="l1", prior=law).objective for law in laws]
    assert d.gap < 1e-6
    assert max(each) - 1e-9 <= d.objective <= dt.design(40, alpha="9/10", loss="l1", risk="worst").objective + 1e-9
    assert d.objective == pytest.approx(max(dt.expected_loss(d.mechanism, "l1", law) for law in laws), rel=1e-12)
    assert dt.design(40, alpha="9/10", loss="l1", prior=d.worst_prior).objective == pytest.approx(d.objective, rel=1e-6)


def test_wider_sets_cost_more():
    """On a grid that is centred, -10..10, with a variance that is small: the more is known, the less is lost."""
    grid = dt.Grid(-10, 10, 1)
    widths = [
        dt.design(grid, alpha="1/2", loss="l1", priors=Priors.moments(mean=(-m, m), second=(None, c))).objective
        for m, c in ((0, "1/2"), (1, "3/2"), (2, 5), (10, 100))
    ]
    assert all(a < b - 1e-6 for a, b in pairwise(widths[:3]))
    assert widths[2] <= widths[3] + 1e-9
    assert widths[3] == pytest.approx(dt.design(grid, alpha="1/2", loss="l1", risk="worst").objective, rel=1e-7)


# What people write


def test_priors_are_read_in_many_ways():
    a = Priors.moments(mean=(-2, 2), second=(None, 5))
    b = Priors.limits([(" X ", "-2", 2.0), ("x^2", None, Fraction(5))])
    c = Priors.limits([("moment(1, 0)", -2, 2), (lambda x: x * x, None, 5)])
    grid = Grid(-4, 4, 1)
    rows = [[limit[1:] for limit in family_of(p, grid).limits] for p in (a, b, c)]
    assert rows[0] == rows[1] == rows[2]
    assert str(family_of(a, grid)) == "any with moment(1, 0) in -2..2 and moment(2, 0) in ..5"
    assert family_of(a, grid).is_symmetric
    assert not family_of(a, Grid(-4, 5, 1)).is_symmetric
    assert str(family_of(["uniform", "binomial(0.5)"], Grid(0, 4))) == "any mixture of uniform, binomial(1/2)"


@pytest.mark.parametrize(
    ("priors", "words"),
    [
        ([], "is empty"),
        ("uniform", "must be a list"),
        ({0: 1}, "must be a list"),
        (5, "must be a list"),
        ([[0.5, 0.5]], "2 of the 5 probabilities"),
        ([{9: 1}], "9"),
        (lambda: Priors.limits([("x", -2, 2), "x"]), "a limit is"),
        (lambda: Priors.limits([("x", None, None)]), "at most one of them None"),
        (lambda: Priors.limits([("x", 3, 1)]), "exchange them"),
        (lambda: Priors("hulls", ("uniform",)), "no set of priors"),
        (lambda: Priors("hull", ()), "no set of priors"),
        (lambda: Priors.limits([("x", "a", 1)]), "numbers"),
        (lambda: Priors.limits([("sigma", 0, 1)]), "is no moment"),
        (lambda: Priors.limits([([1, 2], 0, 1)]), "2 of the 5 numbers"),
        (lambda: Priors.limits([(lambda x: "no", 0, 1)]), "no number"),
        (lambda: Priors.moments(), "two ends"),
        (lambda: Priors.moments(mean=2), "two ends"),
        (lambda: Priors.moments(mean=(5, None)), "no prior on 0..4 keeps to"),
        (lambda: Priors.moments(mean=(2, 2), second=(None, "399/100")), "no prior on 0..4 keeps to"),
        (lambda: Priors.moments(mean=(2, 2), second=(None, 4 - Fraction(1, 10**12))), "keeps to"),
    ],
)
def test_sets_that_are_none_are_refused(priors, words):
    with pytest.raises(PriorError, match=f"(?i){words}") as caught:
        dt.design(4, alpha="1/2", priors=priors() if callable(priors) else priors)
    assert len(str(caught.value)) < 300


def test_a_set_of_one_point_is_a_set():
    """The mean at an end leaves one prior; E x = 2 with E x^2 = 4 another: neither has an inner point."""
    for given, value in ((Priors.moments(mean=(None, 0)), 0), (Priors.moments(mean=(2, 2), second=(None, 4)), 2)):
        d = dt.design(4, alpha="1/2", loss="l1", priors=given)
        assert d.worst_prior.weights == tuple(int(j == value) for j in range(5))
        assert d.objective == pytest.approx(0, abs=1e-6)


def test_what_does_not_go_together_is_refused():
    for more, error in (
        ({"prior": "uniform"}, DesignError),
        ({"risk": "worst"}, DesignError),
        ({"among": [0]}, DesignError),
    ):
        with pytest.raises(error):
            dt.design(4, alpha="1/2", priors=["uniform"], **more)
    for n in (5000, 500):
        with pytest.raises(SizeError):
            dt.design(n, alpha="1/2", priors=["uniform"])
    with pytest.raises(DiscreetError):
        dt.design(4, alpha="1/2", priors=[None, 3])


def test_near_solutions_are_exact_or_none():
    rows, right = [[1, 1, 1], [0, 1, 3]], [1, Fraction(1, 3)]
    x = near_solution(rows, right, np.array([0.7, 0.28, 0.02]))
    assert x is not None
    assert (sum(x), x[1] + 3 * x[2]) == (1, Fraction(1, 3))
    assert min(x) >= 0
    assert near_solution([[1, 1], [1, 1]], [1, 2], np.array([0.5, 0.5])) is None
    assert near_solution([[1, 1], [0, 1]], [1, -1], np.array([1.0, 0.0])) is None
    assert near_solution([[1, 1], [0, 1]], [1, -1], np.array([1.0, 0.0]), signed=[1]) == [2, -1]
    assert isinstance(family_of(Priors.moments(mean=(1, 2)), Grid(0, 4)), Limits)


# Files


@cache
def saved(kind: str) -> Document:
    if kind == "hull":
        d = dt.design(4, alpha="1/2", loss="l1", priors=["uniform", [".1", ".2", ".4", ".2", ".1"]])
    else:
        d = dt.design(4, alpha="1/2", loss="l1", priors=Priors.moments(mean=(1, "5/2"), second=(None, 1), about=2))
    loaded = files.loads(files.text(d.mechanism).encode())
    assert loaded == d.mechanism
    assert loaded.certificate == d.mechanism.certificate
    return document(d.mechanism)


def test_the_certificate_names_its_set():
    hull, limits = (verify.verify(saved(kind)).asked for kind in ("hull", "limits"))
    assert "any mixture of: prior uniform (recomputed); prior given by its numbers, and called 'list'" in hull
    assert "moment(1, 0) (recomputed) in 1..5/2 and limit moment(2, 2) (recomputed) in ..1" in limits


def inner(*path: Any) -> Any:
    return put("certificate", "family", *path)


ALTERED: dict[str, tuple[str, Any, str]] = {
    "a prior outside the hull": ("hull", put("certificate", "prior", "weights", "1 0 0 0 0"), "claim"),
    "another mixture": ("hull", word("family", "mixture", by=lambda x: x + 1), "claim"),
    "a negative mixture": ("hull", word("family", "mixture", by=lambda x: -x), "shape"),
    "a member less": ("hull", on_proof(lambda p: p["family"]["priors"].pop()), "shape"),
    "a member more": (
        "hull",
        on_proof(
            lambda p: (
                p["family"]["priors"].append({"name": "list", "weights": "1 0 0 0 0"}),
                p["family"].update(mixture=p["family"]["mixture"] + " 0"),
            )
        ),
        "claim",
    ),
    "a member altered": ("hull", word("family", "priors", 1, "weights", by=lambda x: x + 1), "claim"),
    "a member that is not what it is called": (
        "hull",
        word("family", "priors", 0, "weights", by=lambda x: x + 1),
        "claim",
    ),
    "no members": ("hull", inner("priors", []), "shape"),
    "a set of no kind": ("hull", inner("kind", "ball"), "shape"),
    "no set": ("hull", on_proof(lambda p: p.pop("family")), "shape"),
    "the average for a set": ("hull", put("certificate", "risk", "average"), "shape"),
    "values of the worst case": ("hull", put("certificate", "among", "0 1"), "claim"),
    "a lower risk": (
        "hull",
        on_proof(lambda p: p.update(objective=str(Fraction(p["objective"]) - Fraction(1, 10**12)))),
        "claim",
    ),
    "an upper end moved in": ("limits", inner("limits", 0, "high", "3/2"), "claim"),
    "an upper end moved out": ("limits", inner("limits", 1, "high", "2"), "claim"),
    "an end taken away": ("limits", inner("limits", 0, "low", None), "claim"),
    "a limit taken away": ("limits", on_proof(lambda p: p["family"]["limits"].pop()), "claim"),
    "coefficients altered": ("limits", word("family", "limits", 0, "coefficients", by=lambda x: x + 1), "claim"),
    "a limit renamed": ("limits", inner("limits", 0, "name", "moment(1, 1)"), "claim"),
    "a limit without a name": ("limits", inner("limits", 0, "name", "numbers"), "claim"),
    "a denominator of zero": ("limits", inner("limits", 0, "denominator", "0"), "shape"),
    "a negative price": ("limits", inner("prices", "-1 -1 -1"), "claim"),
    "a price less": ("limits", inner("prices", "0 0"), "claim"),
    "other prices": ("limits", inner("prices", "0 0 0"), "claim"),
    "a prior outside the limits": ("limits", put("certificate", "prior", "weights", "1 0 0 0 0"), "claim"),
    "a key that nobody knows": ("limits", inner("more", "1"), "shape"),
    "another set in the recipe": (
        "limits",
        put("recipe", "parameters", "priors", "any with moment(1, 0) in 0..4"),
        "claim",
    ),
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_sets_are_refused(name):
    which, change, kind = ALTERED[name]
    changed = resigned(saved(which), change)
    assert changed != saved(which)
    assert kind_of_fault(json.loads(json.dumps(changed))) == kind


def test_all_seven_properties_with_a_set():
    d = dt.design(8, alpha="4/5", loss="l2", require=SEVEN, priors=["binomial(0.3)", "beta(2, 5)"])
    assert dt.properties(d.mechanism) == set(SEVEN)
    assert d.gap < 1e-6


@pytest.mark.parametrize(
    ("text", "priors"),
    [
        ("uniform; .1,.2,.4,.2,.1", ["uniform", [".1", ".2", ".4", ".2", ".1"]]),
        ("x in 1..3; x^2 in ..6", Priors.moments(mean=(1, 3), second=(None, 6))),
    ],
)
def test_sets_on_the_command_line(text, priors, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["design", "--n", "4", "--alpha", "1/2", "--priors", text, "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["digest"] == dt.design(4, alpha="1/2", priors=priors).mechanism.digest
    for bad in (f"{text}; x in 1..2..3", "x in 1e900..2", " ; "):
        with pytest.raises(SystemExit) as ended:
            main(["design", "--n", "4", "--alpha", "1/2", "--priors", bad])
        assert (ended.value.code, len(capsys.readouterr().err) < 150) == (2, True)


def test_messages_use_the_words_that_were_given():
    with pytest.raises(PriorError, match=r"one prior alone as prior="):
        dt.design(4, alpha="1/2", priors="uniform")
    with pytest.raises(
        PriorError, match=r"a mean of x of at least 5 and at most 6 and a mean of x\^2 of at most 9 together"
    ):
        dt.design(4, alpha="1/2", priors=Priors.moments(mean=(5, 6), second=(None, 9)))
    found = dt.design(4, alpha="1/2", priors=["uniform", "binomial(1/3)"])
    assert repr(found.worst_prior).startswith("<Prior least favourable on 5 values: 0.")
    assert len(repr(found.worst_prior)) < 90
    assert "no property required" in str(found)
