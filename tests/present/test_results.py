"""Every result of the library is alike: one test over all of them, and what some of them owe beyond that."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow
import pytest

import discreet as dt
from discreet.collect.perturbing import perturb_summary
from discreet.collect.request import PerturbRequest, PerturbSummary, ReportLevels
from discreet.designs import Priors
from discreet.ledger.balances import Balance, Balances
from discreet.ledger.chain import Head
from discreet.ledger.history import Entry
from discreet.ledger.periods import Period
from discreet.ledger.promise import Promise
from discreet.ledger.terms import Terms
from discreet.present.views import Result, View, plain
from discreet.randomness.source import simulation
from discreet.recovery.shares import GroupEstimates
from discreet.tables.count.question_check import QuestionCheck, QuestionFinding
from discreet.tables.publish.error_statement import ErrorStatement
from discreet.tables.publish.previews import Preview
from discreet.tables.publish.released import Release
from discreet.tables.saved.checking import Check, ReleaseVerdict
from discreet.tables.saved.differences import Difference

EVIL = "<script>alert(1)</script>&\r\n\x1b[31mred\u2028"

G = dt.geometric(8, alpha="9/10")
TERMS = Terms(EVIL, Fraction(1), "change-one", (EVIL,), EVIL, "then")
BALANCE = Balance(Fraction(1), Fraction(1, 3), Fraction(2, 3), 1)
CAPPED = dataclasses.replace(TERMS, per=(("month", Fraction(1, 2)),))
PERIOD = Period("month", "2026-11", Fraction(1, 2), Fraction(1, 3), "2026-12-01")
COUNTS = np.arange(9) * 10 + 5
MEDIAN = dt.queries.query("median", records=5, low=0, high=10)


ASKED = {
    "name": EVIL,
    "kind": "sum",
    "what": EVIL,
    "column": EVIL,
    "low": "0",
    "high": "9",
    "part": "1",
    "epsilon": "1/2",
}


def record(**other: Any) -> dict[str, Any]:
    return {
        "dataset": EVIL,
        "statistics": [ASKED],
        "by": [EVIL],
        "protects": "All of it.",
        "left_out": [],
        "person": "A row.",
        "beware": [EVIL],
        "checked": EVIL,
        "supersedes": {"version": EVIL, "reason": EVIL, "line": 3},
        "empty_groups": [[EVIL]],
        "margins": [],
        "measured": [],
        "confidence": "19/20",
        "simultaneous": False,
        "unit": EVIL,
        "counted": EVIL,
        "question": {"domain": {}, "max_rows": 6, "max_groups": 1},
        "presentation": {"title": f"{EVIL} title", "notes": [EVIL], "labels": {EVIL: EVIL}},
        "repeated": False,
        "epsilon_charged": "1/2",
        "rho_charged": None,
        "delta": None,
        "parts": None,
        "part": None,
        "budget": {"budget": "1", "spent": "1/2", "left": "1/2"},
        "version": EVIL,
        "relation": "add-remove",
        "released": None,
        "groups": 3,
        "mechanisms": [{"family": "geometric"}],
        "interval": EVIL,
        "errors": [
            {
                "statistic": ASKED["name"],
                "of": of,
                "numbers": 3,
                "each": 6,
                "all": 9.5,
                "least": 6,
                "by_size": of == "groups",
            }
            for of in ("groups", EVIL)
        ],
        **other,
    }


def of_names(more: int = 0) -> Any:
    return dt.recover([40 + more, 30, 20], dt.randomized_response(["a", "b", "c"], epsilon=1), "inverse", kind="counts")


def a_sheet() -> Any:
    """What a dry run shows of what would be drawn."""
    return SimpleNamespace(record=record(), advice=None)


def a_release(groups: int = 3, keys: str = EVIL) -> Release:
    numbers = list(range(groups))
    columns: dict[str, list[Any]] = {
        keys: [f"{EVIL}{k}" for k in numbers],
        "published": numbers,
        "low": numbers,
        "high": numbers,
        "report": numbers,
        "estimate": [float(k) for k in numbers],
        "standard_error": [0.5] * groups,
        "mechanism": ["geometric"] * groups,
        "digest": ["sha256:0"] * groups,
        "epsilon": ["1/2"] * groups,
    }
    totals = [{keys: EVIL, "total": k, "low": 0, "high": None} for k in numbers]
    return Release(columns, {EVIL: totals}, record())


def audiences() -> dt.results.Audiences:
    one = a_release()
    mine = {"alpha": "1/2", "epsilon": "7/10", "charged": "13/10"}
    return dt.results.Audiences({EVIL: dataclasses.replace(one, record={**one.record, "audience": mine})})


RESULTS: dict[str, Callable[[], Result]] = {
    "a verdict that holds": lambda: dt.check_privacy(G),
    "a verdict that does not": lambda: dt.check_privacy(G, epsilon="1/20"),
    "a rho that holds": lambda: dt.check_privacy(dt.gaussian(8, q="99/100"), rho="1/90"),
    "a rho that does not": lambda: dt.check_privacy(dt.gaussian(8, q="99/100"), rho="1/200"),
    "an epsilon with a delta that hold": lambda: dt.check_privacy(dt.gaussian(8, q="99/100"), epsilon=1, delta="1e-6"),
    "an epsilon with a delta that do not": lambda: dt.check_privacy(G, epsilon="1/20", delta="1e-9"),
    "a verdict on what claims nothing": lambda: dt.check_privacy(dt.traditional.random_rounding(20, base=3)),
    "a witness": lambda: dt.check_privacy(G, epsilon="1/20").witness,  # type: ignore[return-value]
    "an infinite witness": lambda: dt.check_privacy(dt.traditional.random_rounding(20, base=3)).witness,  # type: ignore[return-value]
    "a design": lambda: dt.design(4, alpha="9/10", loss="l1"),
    "a design by theorem": lambda: dt.design(2000, alpha="9/10", loss="l1"),
    "a design for a set of priors": lambda: dt.design(4, alpha="9/10", loss="l1", priors=Priors.moments(mean=(1, 2))),
    "a design for the worst truth": lambda: dt.design(3, alpha="9/10", loss="l1", risk="worst"),
    "one best design": lambda: dt.theory.uniqueness(dt.design(2, alpha="9/10", loss="l0")),
    "several best designs": lambda: dt.theory.uniqueness(dt.design(2, alpha="9/10", loss="l0", require="F")),
    "a random remap": lambda: dt.theory.minimax_remap(G, "l0"),
    "bounds for an interval": lambda: dt.queries.continuous_bounds(0, 1, sensitivity="1/2", alpha="1/2", cells=[4, 6]),
    "a query": lambda: MEDIAN,
    "a query where records come and go": lambda: dt.queries.query(
        "median", relation="add-remove", records=9, low=0, high=10, empty=0
    ),
    "data sets": lambda: dt.queries.data_sets(max, domain=range(3), records=2),
    "a design over data sets": lambda: dt.queries.data_sets(max, domain=range(3), records=2).design(
        alpha="1/2", loss="l1"
    ),
    "a design for cells": lambda: dt.design(
        dt.designs.Cells.evenly(0, 1, 4), alpha="1/2", sensitivity="1/2", loss="l1"
    ),
    "a sensitivity": lambda: dt.queries.sensitivity("mean", records=100, low=0, high=120),
    "a sensitivity near data": lambda: dt.queries.sensitivity(MEDIAN, [1, 2, 3, 5, 8]),
    "a sensitivity of a function": lambda: dt.queries.sensitivity(max, domain=range(3), records=2),
    "a split of a budget": lambda: dt.queries.admissible("cauchy", epsilon=1),
    "a law of releases": lambda: MEDIAN.smooth_noise(step=1, epsilon=1),
    "a verdict on a law of releases": lambda: MEDIAN.smooth_noise(step=5, epsilon=1).verify(),
    "a report of a median": lambda: MEDIAN.release([1, 2, 3, 5, 8], step=1, epsilon=1, source=simulation(1)),
    "curves": lambda: dt.queries.tradeoff(alphas=["1/4", "1/2"]),
    "what three users learn": lambda: dt.sharing.collude(G, 3),
    "what some users learn": lambda: dt.sharing.collude({EVIL: G}, [1, 3]),
    "a perturbation": lambda: perturb_summary(
        pyarrow.table({EVIL: [1, 2, 2]}), PerturbRequest.of(column=EVIL, mechanism=G)
    ),
    "a perturbation that was paid for": lambda: PerturbSummary(
        EVIL, G, 3, ReportLevels(1, math.inf), (EVIL,), Fraction(1), Fraction(2)
    ),
    "a composition": lambda: dt.sharing.compose(G, 20),
    "a promise with a delta": lambda: dt.sharing.approximate_dp(epsilon=1, delta="1e-6"),
    "normal noise, as a promise": lambda: dt.sharing.approximate_dp(dt.noise.gauss(3)),
    "a year of reports": lambda: dt.sharing.lifetime({"brand": 1, "hours": "1/2"}, times=52, most=3, permanent=2),
    "a cascade": lambda: dt.sharing.cascade(["3/10", "1/2"], 8),
    "reports of a cascade": lambda: dt.sharing.cascade(["3/10", "1/2"], 8).release(3, source=simulation(1)),
    "many reports of a cascade": lambda: dt.sharing.cascade(["3/10", "1/2"], 8).release(
        np.arange(9), source=simulation(1)
    ),
    "a composition of several mechanisms": lambda: dt.sharing.compose(
        [G, dt.traditional.random_rounding(20, base=3)], 2
    ),
    "an estimate": lambda: dt.recover(COUNTS, G, kind="counts"),
    "an estimate without a certificate": lambda: dt.recover(COUNTS, G, method="inverse", kind="counts"),
    "an estimate of one report": lambda: dt.recover([3], G),
    "shares of names": lambda: of_names().shares(),
    "shares that differ": lambda: of_names().difference(of_names(1)),
    "means that differ": lambda: dt.recover(COUNTS, G, kind="counts").difference(
        dt.recover(COUNTS, G, kind="counts"), of="mean", names=(EVIL, "other")
    ),
    "estimates by group": lambda: GroupEstimates((EVIL,), ((EVIL, of_names()), ("other", of_names(1)))),
    "an audit": lambda: dt.audit(G, draws=1000),
    "an audit of no claim": lambda: dt.audit(dt.traditional.random_rounding(20, base=3), draws=1000),
    "an audit of a stranger": lambda: dt.audit(lambda x: x, pairs=[(0, 1)], draws=1000),
    "a description": lambda: dt.measure.describe(G, matrix=True),
    "a description of what is open": lambda: dt.measure.describe(dt.laplace(epsilon=1), matrix=True),
    "a description of no claim": lambda: dt.measure.describe(dt.traditional.random_rounding(20, base=3)),
    "a derivation": lambda: dt.theory.derivable(G),
    "a derivation that fails": lambda: dt.theory.derivable(dt.explicit_fair(8, alpha="9/10")),
    "a violation": lambda: dt.theory.derivable(dt.explicit_fair(8, alpha="9/10")).violation,  # type: ignore[return-value]
    "a regret": lambda: dt.theory.regret([("red", "green"), ("green", "blue"), ("blue", "red")], alpha="1/2"),
    "no regret": lambda: dt.theory.regret([(0, 1), (1, 2)], alpha="1/2"),
    "a graph": lambda: dt.theory.query_graph([(0, EVIL), (1, EVIL)], lambda d: d),
    "a release": a_release,
    "releases for audiences": audiences,
    "a dry run": lambda: Preview(({EVIL: EVIL, "mechanism": "geometric", "half width": 1.0},) * 200, a_sheet()),
    "an error statement": lambda: ErrorStatement(record()),
    "a question beside the data": lambda: QuestionCheck(
        (QuestionFinding("condition", EVIL, EVIL, EVIL),), EVIL, Fraction(1, 2), Fraction(2)
    ),
    "a question without a mistake": lambda: QuestionCheck((), EVIL, Fraction(1, 2), Fraction(2)),
    "a release of nothing": lambda: a_release(0),
    "a long release": lambda: a_release(5000),
    "a check of a release": lambda: ReleaseVerdict(
        EVIL, (Check("a", True), Check("b", None, EVIL), Check("c", False, EVIL))
    ),
    "a difference": lambda: Difference(
        {
            EVIL: [EVIL, None],
            "earlier": [1, None],
            "later": [2, 3.5],
            "difference": [1, None],
            "low": [0, None],
            "high": [2, 1],
        },
        {EVIL: [{EVIL: EVIL, "difference": 1}]},
        {
            "later": {"dataset": EVIL, "version": EVIL, "part": EVIL},
            "earlier": {"dataset": EVIL, "version": EVIL, "part": None},
            "notes": [EVIL],
            "totals": {EVIL: EVIL},
        },
    ),
    "a look": lambda: dt.profile(pyarrow.table({"town": [EVIL, "b", None], "age": [1, 2, 3]})),
    "a look at ids": lambda: dt.profile(pyarrow.table({"id": ["a"] * 30}), unit="id"),
    "terms": lambda: TERMS,
    "a balance": lambda: BALANCE,
    "a period of a cap": lambda: PERIOD,
    "balances": lambda: Balances(((TERMS, BALANCE),)),
    "balances with caps": lambda: Balances(((CAPPED, dataclasses.replace(BALANCE, periods=(PERIOD,))),)),
    "terms with caps": lambda: CAPPED,
    "no balances": lambda: Balances(()),
    "a promise": lambda: Promise(CAPPED, BALANCE, Fraction(1, 4)),
    "a promise without caps": lambda: Promise(TERMS, BALANCE),
    "an entry": lambda: Entry(2, "charge", "then", {"epsilon": "1/2", "kind": "charge"}, "00"),
    "a head": lambda: Head(3, "ab" * 32),
}


@functools.cache
def made(name: str) -> Any:
    """A result by its name; they are frozen, so the tests can share them."""
    return RESULTS[name]()


class Tags(HTMLParser):
    """The names of all tags, and whether each is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@functools.cache
def page_of(name: str) -> str:
    """What a notebook shows of a result; most of the work is its picture."""
    return str(made(name)._repr_html_())


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_alike(name):
    result = made(name)
    assert isinstance(result, Result)
    assert len(repr(result)) < 200
    assert repr(result).isprintable()
    assert len(repr(result).splitlines()) == 1
    assert repr(result).startswith(f"<{type(result).__name__} ")
    assert str(result).strip()
    assert len(str(result)) < 5000
    told = result.to_dict()
    assert isinstance(told, dict)
    assert json.loads(json.dumps(told, allow_nan=False)) == told, "nothing changes on the way: no tuples, no other keys"
    assert isinstance(result.rows(), list)
    assert all(isinstance(row, dict) for row in result.rows())
    tags = Tags(page_of(name))
    pictures = {"svg", "g", "path", "rect", "text", "line", "defs", "clippath", "lineargradient", "stop", "tspan"}
    assert tags.names <= {"div", "p", "br", "table", "thead", "tbody", "tr", "th", "td"} | pictures
    # one of its mechanisms keeps nothing secret, so that there is no curve; and where there is no row there is no dot
    without = name in ("a composition of several mechanisms", "a release of nothing")
    assert ("svg" in tags.names) == (hasattr(result, "plot") and not without)
    assert tags.open == []


PLANS: dict[str, Callable[[], Result]] = {
    "a choice": lambda: dt.plan_epsilon(20, error=3)["geometric"],
    "a choice by its standard error": lambda: dt.plan_reports(
        10, epsilon=1, standard_error=".1", prior="binomial(0.3)"
    )["geometric"],
    "a choice that is none": lambda: dt.plan_epsilon(2**25, error=3, families=["explicit_fair"])["explicit_fair"],
}


def is_there(value: Any) -> bool:
    return value is not None and value != "" and not (isinstance(value, float) and not math.isfinite(value))


def untold(result: Any) -> list[str]:
    """Names that to_dict and the result share, of which only one of the two has a value, or which have two."""
    told = result.to_dict()
    both = {
        name: getattr(result, name) for name in told if hasattr(result, name) and not callable(getattr(result, name))
    }
    return [
        name
        for name, own in both.items()
        if (told[name] is None) != (not isinstance(own, np.ndarray) and not is_there(own))
        or (isinstance(own, (bool, int, float, str)) and is_there(own) and told[name] not in (plain(own), str(own)))
    ]


@pytest.mark.parametrize("name", [*RESULTS, *PLANS])
def test_machines_are_told_what_the_attributes_say(name):
    assert untold(made(name) if name in RESULTS else PLANS[name]()) == []


def test_a_value_that_machines_are_not_told_is_noticed(monkeypatch):
    design = made("a design")
    told = design.to_dict()
    assert told["worst_prior"] == design.worst_prior.floats.tolist()
    monkeypatch.setattr(dt.results.Design, "to_dict", lambda self: {**told, "worst_prior": None, "gap": 0.5})
    assert untold(design) == ["gap", "worst_prior"]


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_is_frozen(name):
    result = made(name)
    for field in dataclasses.fields(result):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)


@pytest.mark.parametrize("name", RESULTS)
def test_the_notebook_shows_what_print_shows(name):
    """Every word of the title, and every name of a column, stands in both."""
    result = made(name)

    def all_of(shown: View) -> list[str]:
        words = [*shown.title.split(), *(shown.columns if shown.rows else ())]
        words += [word for note in shown.notes for word in note.split()]
        return words + [word for part in shown.parts for word in all_of(part)]

    from html import escape

    text, page = str(result), page_of(name)
    for word in all_of(result.view()):
        assert word in text
        assert escape(word) in page


def test_no_class_of_results_is_forgotten():
    """Whatever is a Result, anywhere in the library, stands in the list above; those of planning have their own tests."""
    import importlib
    import pkgutil

    for module in pkgutil.walk_packages(dt.__path__, "discreet."):
        importlib.import_module(module.name)

    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    known = {type(made(name)) for name in RESULTS}
    own = {
        k for k in below(Result) - {Result} if k.__module__.startswith("discreet.") and ".planning." not in k.__module__
    }
    assert own == known


def test_the_types_of_results_are_public():
    kinds = {type(made(name)) for name in RESULTS}
    shown_alone = {PerturbSummary}  # by the command line; the library gives its facts with an Arrow table
    assert kinds - {dt.Mechanism} - shown_alone <= {getattr(dt.results, name) for name in dt.results.__all__}
    assert isinstance(made("a design"), dt.results.Design)
    assert isinstance(made("an estimate"), dt.results.Estimate)


def test_plain_values_are_those_of_json():
    given = {
        "a": Fraction(1, 3),
        "b": float("inf"),
        "c": float("nan"),
        "d": np.array([1.5, np.nan]),
        "e": (1, None, True),
        "f": np.int64(7),
        "g": {1: Fraction(2)},
        "h": Fraction(1, 3**10_000),
        "k": Fraction(7**9000 + 1, 7**9001),
        "l": -(3**10_000),
        "i": np.float64(0.5),
        "j": np.bool_(True),
    }
    assert json.loads(json.dumps(plain(given), allow_nan=False)) == {
        "a": "1/3",
        "b": None,
        "c": None,
        "d": [1.5, None],
        "e": [1, None, True],
        "f": 7,
        "g": {"1": "2"},
        "h": "~2^-15849",
        "k": "~0.142857143",
        "l": "-~2^15849",
        "i": 0.5,
        "j": True,
    }


def test_a_number_too_long_to_write_is_no_error():
    """Python refuses to write integers of thousands of digits: a repr must not fail for it."""
    from discreet.measure.privacy import Witness

    told = Witness(0, 1, 2, Fraction(3**20_000))
    assert "is about 2^31" in str(told)
    squared = str(Witness(0, 1, 2, Fraction(3**20_000), power=2))
    assert re.search(r"is \(about 2\^31\d*\)\^2 times as likely", squared)
    assert "is 1.5^2 times as likely" in str(Witness(0, 1, 2, Fraction(3, 2), power=2))
    assert len(repr(told)) < 200
    json.dumps(told.to_dict())


def test_the_rows_of_a_long_release_are_not_made_to_print_it(monkeypatch):
    long, rows = a_release(5000), Release.rows
    few = lambda self, most, start=0: rows(self, most, start) if most < 50 else pytest.fail("all rows were built")  # noqa: E731
    monkeypatch.setattr(Release, "rows", few)
    assert "... and 4970 more rows: rows() and columns have all" in str(long)
    assert "... and 4900 more rows" in long._repr_html_()
    assert repr(long)


def test_the_rows_of_a_release_are_its_columns():
    seven = a_release(7)
    assert len(seven.rows()) == seven.size == 7
    assert seven.rows(3) == seven.rows()[:3]
    assert [row["report"] for row in seven.rows()] == seven.columns["report"]
    assert seven.rows()[0].keys() == seven.columns.keys()


def test_the_rows_of_an_estimate_are_its_law():
    e = dt.recover(COUNTS, G, kind="counts")
    rows = e.rows()
    assert [row["value"] for row in rows] == list(range(9))
    assert [row["probability"] for row in rows] == e.distribution.tolist()
    half = dt.recover([1, 2, 3], dt.geometric(dt.Grid(0, 1, "1/2"), alpha="1/2", sensitivity="1/2"), kind="counts")
    assert [row["value"] for row in half.rows()] == [0, Fraction(1, 2), 1]


def test_a_head_is_read_as_it_is_printed():
    head = Head(3, "ab" * 32)
    assert Head.of(str(head)) == head
    for text in ("3", ":", "x:y", "3:", "٣:ab"):
        with pytest.raises(dt.errors.LedgerError, match="count:hash"):
            Head.of(text)


def test_results_can_be_pickled_and_compared():
    import pickle

    for name in ("a verdict that holds", "a split of a budget", "balances", "a head"):
        result = made(name)
        assert pickle.loads(pickle.dumps(result)) == result


def test_presenting_is_loaded_when_something_is_shown():
    """Words and HTML are not loaded by a check."""
    code = (
        "import sys, discreet as dt; dt.check_privacy(dt.uniform(2)); "
        "sys.exit('discreet.present.html' in sys.modules or 'discreet.present.words' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
