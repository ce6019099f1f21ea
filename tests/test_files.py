"""Mechanisms as files: whole round trips, every kind of damage refused with its own error, atomic writing."""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import stat
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet import files, verify
from discreet.channels import Additive, Channel, Clamped, Geometric, Map, Mixture, Projective, Table, Then, Window
from discreet.errors import FileError, GridError
from discreet.exact.level import Epsilon, Level
from discreet.files import load_procedure
from discreet.mechanism import Procedure, Recipe
from tests.cells import for_each
from tests.profiles import examples
from tests.strategies import mechanisms
from tests.test_verify import apart, bytes_of, document, put, resigned

THIRDS = [["1/3", "1/3", "1/3"], [0, 1, 0], ["1/2", 0, "1/2"], [0, 0, 1], [1, 0, 0]]

OPEN_STAIRS = dt.staircase(dt.Grid(None, None), alpha="1/3", sensitivity=7)
LONG_STAIRS = dt.staircase(dt.Grid(None, None), alpha="1/3", sensitivity=3000, r=1200)

# The kinds of channels that files hold, and how many of each a saved mechanism has
EVERY_KIND: dict[str, tuple[dt.Mechanism, type[Channel]]] = {
    "exact table": (dt.explicit_fair(4, alpha="1/2"), Table),
    "sealed table": (dt.explicit_fair(20, epsilon="0.3"), Table),
    "two values": (dt.explicit_fair(1, alpha="999/1000"), Table),
    "geometric": (dt.geometric(8, alpha="9/10"), Geometric),
    "geometric of 10^9": (dt.geometric(10**9, epsilon="ln(2)/10"), Geometric),
    "geometric on the edge": (dt.geometric(100, alpha="1/2"), Geometric),
    "geometric, sensitivity 3": (dt.geometric(20, epsilon=1, sensitivity=3), Geometric),
    "fair, sensitivity 2": (dt.explicit_fair(9, alpha="1/3", sensitivity=2), Table),
    "keep": (dt.randomized_response(5000, epsilon=0.7), Mixture),
    "uniform": (dt.uniform(8), Mixture),
    "names": (dt.randomized_response(["Fiat", "Citro\u00ebn", "\U0001f697"], epsilon=1), Mixture),
    "other names": (dt.randomized_response(["Fiat", "\U0001f697", "Citro\u00ebn"], epsilon=1), Mixture),
    "names and another": (dt.randomized_response(dt.Names(["Fiat", "VW"], other="another"), epsilon=1), Mixture),
    "names with another": (dt.randomized_response(["Fiat", "VW", "another"], epsilon=1), Mixture),
    "names to numbers": (dt.from_matrix([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["a", "b"], outputs=1), Table),
    "numbers to names": (dt.from_matrix([["3/4", "1/4"], ["1/4", "3/4"]], outputs=["a", "b"]), Table),
    "window": (dt.square_wave(8, alpha="1/3"), Window),
    "window of 10^9": (dt.square_wave(dt.Grid(-3, 10**9 - 3, "1/2"), epsilon="ln(2)/10"), Window),
    "window without a width": (dt.square_wave(8, epsilon=1, width=0), Mixture),
    "projective": (dt.projective_response(9, alpha="1/3"), Projective),
    "projective, field of four": (dt.projective_response(dt.Grid(5, 25), epsilon=1), Projective),
    "projective of 5000": (dt.projective_response(4999, epsilon=2), Projective),
    "open": (dt.geometric(dt.Grid(None, None), alpha="9/10", sensitivity=2), Additive),
    "open above": (dt.geometric(dt.Grid(0, None), epsilon="1/3"), Additive),
    "open below": (dt.geometric(dt.Grid(None, "7/2", "1/2"), alpha="0.3"), Additive),
    "truncated": (dt.geometric(dt.Grid(0, None), epsilon="1/3").truncate(2, 9), Geometric),
    "rational steps": (dt.geometric(dt.Grid("-1/3", "5/3", "2/9"), alpha="2/3"), Geometric),
    "table, rational steps": (dt.explicit_fair(dt.Grid("-1/3", 1, "1/3"), alpha="2/3"), Table),
    "random remap": (dt.geometric(4, alpha="2/5").remap(THIRDS), Then),
    "random remap of a table": (dt.explicit_fair(4, alpha="2/5").remap(THIRDS), Then),
    "list remap": (dt.geometric(6, alpha="2/5").remap([0, 0, 2, 3, 4, 6, 6]), Then),
    "list remap of a table": (dt.explicit_fair(4, alpha="2/5").remap([0, 0, 2, 4, 4]), Table),
    "large list remap": (dt.randomized_response(5000, epsilon=1).remap([0, *range(5000)]), Then),
    "then": (dt.geometric(5, alpha="1/2").then(dt.explicit_fair(5, alpha="1/2")), Then),
    "clamped stairs": (dt.staircase(12, step=1, alpha="1/3", sensitivity=4, r=2), Clamped),
    "clamped stairs, rational steps": (dt.staircase(dt.Grid("-1/2", 4, "3/4"), epsilon="2/3", sensitivity=2), Clamped),
    "clamped stairs of 10^9": (dt.staircase(10**9, step=1, epsilon=1, sensitivity=5), Clamped),
    "stairs longer than their grid": (OPEN_STAIRS.truncate(0, 3), Clamped),
    "stairs with a bound only": (LONG_STAIRS.truncate(0, 1100), Clamped),
    "stairs, then a map": (dt.staircase(4, step=1, epsilon=1, sensitivity=2).remap([0, 0, 2, 4, 4]), Then),
    "open stairs": (OPEN_STAIRS, Additive),
    "stairs open above": (dt.staircase(dt.Grid(0, None), epsilon="1/3", sensitivity=3, r=1), Additive),
    "stairs open below": (dt.staircase(dt.Grid(None, "7/2", "1/2"), alpha="0.3", sensitivity=2, r=4), Additive),
    "the longest stairs": (dt.staircase(dt.Grid(None, None), alpha="1/2", sensitivity=2**13, r=1), Additive),
    "laplace": (dt.laplace(epsilon=1, sensitivity="1/3"), Additive),
    "laplace on a grid": (dt.laplace(2, epsilon="ln(3)", sensitivity="1/2"), Geometric),
    "matrix": (dt.from_matrix([["2/3", "1/3"], ["1/3", "2/3"]], alpha="1/2"), Table),
    "matrix without a level": (dt.from_matrix([["2/3", "1/3", 0], ["1/3", 0, "2/3"]]), Table),
    "matrix of floats": (dt.from_matrix(dt.geometric(6, alpha="0.7").matrix, alpha="0.7", require={"S", "RM"}), Table),
    "matrix of sensitivity 2": (
        dt.from_matrix([[0.5, 0.5], [0.4, 0.6], [0.3, 0.7]], epsilon=1, inputs=dt.Grid(-1, 1), sensitivity=2),
        Table,
    ),
    "random rounding": (dt.traditional.random_rounding(10, base=3), Table),
    "suppression": (dt.traditional.suppression(10, below=5), Map),
    "suppression of a long table": (dt.traditional.suppression(10**5, below=10), Map),
    "suppression of everything": (dt.traditional.suppression(3, below=9, show_zero=False), Map),
    "cell key": (dt.traditional.cell_key(8, deviation=3, variance="3/2", never_report=1), Table),
}


def load_bytes(path: Any, data: bytes) -> Procedure:
    path.write_bytes(data)
    return load_procedure(path)


def refused(d: dict[str, Any] | bytes) -> FileError:
    """The error that loading gives; the same from bytes and, where there is a kind, one that verify knows."""
    with pytest.raises(FileError) as caught:
        files.loads_procedure(d if isinstance(d, bytes) else bytes_of(d))
    assert caught.value.kind in verify.KINDS
    return caught.value


# Round trips


def same_law(one: Channel, other: Channel) -> bool:
    """Equal, entry by entry where there are entries."""
    if type(one) is not type(other):
        return False
    match one, other:
        case Table(), Table():
            return one.total == other.total and one.weights.tolist() == other.weights.tolist()
        case Map(), Map():
            return one.size == other.size and one.targets.tolist() == other.targets.tolist()
        case Then(), Then():
            return same_law(one.first, other.first) and same_law(one.second, other.second)
    return one == other


@pytest.mark.parametrize("name", EVERY_KIND)
def test_loading_gives_back_what_was_saved(name, tmp_path):
    m, kind = EVERY_KIND[name]
    assert isinstance(m.channel, kind), "the example is not of the kind it is here for"
    m.save(tmp_path / "m.json")
    back = load_procedure(tmp_path / "m.json")
    assert same_law(back.channel, m.channel)
    assert (back.inputs, back.outputs, back.claim, back.sensitivity) == (m.inputs, m.outputs, m.claim, m.sensitivity)
    assert back.recipe == m.recipe
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    assert back.digest == m.digest
    assert back == m
    assert document(m)["digest"] == json.loads((tmp_path / "again.json").read_text())["digest"]


@given(mechanisms(max_n=16))
@settings(max_examples=examples(60))
def test_any_mechanism_survives_the_trip(m):
    back = files.loads_procedure(files.text(m).encode())
    assert same_law(back.channel, m.channel)
    assert (back.level, back.digest) == (m.level, m.digest)


def test_different_mechanisms_have_different_digests():
    digests = [m.digest for m, _ in EVERY_KIND.values()]
    assert len(set(digests)) == len(digests)


def test_a_file_is_ascii_json_with_its_parts():
    """Grids, recipe, integers, claims and digest stand in one document that any JSON reader opens."""
    d = json.loads(files.text(dt.explicit_fair(4, alpha="1/2")).encode("ascii"))
    rows = [list(map(int, row.split())) for row in d["channel"]["rows"]]
    assert {sum(row) for row in rows} == {int(d["channel"]["total"])}
    assert d["inputs"] == {"low": "0", "high": "4", "step": "1"}
    assert d["recipe"]["family"] == "explicit_fair"
    assert sorted(d["claims"]["properties"]) == sorted(["RH", "RM", "CH", "CM", "F", "WH", "S"])
    assert d["claims"]["tight"] == {"alpha": "1/2", "power": 1, "exact": True}
    assert d["digest"].startswith("sha256:")


def test_a_long_rational_grid_survives_the_trip():
    """Fractions of any length make a grid; the file must not cut them off at what people may type."""
    low = Fraction(1, 10**250)
    m = dt.geometric(dt.Grid(low, low + 4), alpha="9/10")
    assert files.loads_procedure(files.text(m).encode()).inputs == m.inputs


def test_a_long_chain_of_post_processing_survives_the_trip():
    """What can be built and saved can be loaded, or else saving says that it cannot."""
    m = step = dt.geometric(2, alpha="1/2")
    for _ in range(20):
        m = m.then(step)
    try:
        text = files.text(m)
    except FileError:
        return
    assert files.loads_procedure(text.encode()).digest == m.digest


def test_a_level_with_thousands_of_digits_survives_or_is_refused_on_purpose():
    """A random remap of a law with a long alpha has a tight level beyond the digits Python prints."""
    n = 12
    law = dt.geometric(n, alpha="0.4" + "9" * 390)
    try:
        m = law.remap([[Fraction(j * j + 1, 1000), 1 - Fraction(j * j + 1, 1000)] for j in range(n + 1)], outputs=1)
        text = files.text(m)
    except dt.errors.DiscreetError:
        return
    assert files.loads_procedure(text.encode()).digest == m.digest


def test_a_level_far_beyond_62_nats_survives_the_trip():
    m = dt.uniform(3)
    level = Level(Fraction(1, 10**60), Epsilon(Fraction(200)))  # e^-200 is about 10^-87
    made = dt.Mechanism(m.inputs, m.outputs, m.channel, level, m.sensitivity, m.recipe)
    assert files.loads_procedure(files.text(made).encode()).level == level


def test_every_kind_of_channel_can_be_written_down():
    """`written` is abstract: a kind without a file form cannot be made, so nothing is refused only when it is saved."""

    class Strange(Channel):
        rows = reports = 2

    assert "written" in Strange.__abstractmethods__
    with pytest.raises(TypeError, match="abstract"):
        Strange()


# Damage that the digest finds

TABLE, LAW = EVERY_KIND["exact table"][0], EVERY_KIND["geometric"][0]
ASKED = dt.geometric(8, epsilon="1/2")


@pytest.mark.parametrize(
    "change",
    [
        put("channel", "rows", 0, "1 1 1 1 1"),
        put("level", "alpha", "1/3"),
        put("recipe", "family", "geometric"),
        put("claims", "properties", None),
        apart(2),
        put("digest", "sha256:" + "0" * 64),
        put("digest", None),
        put("unknown", 0),
    ],
)
def test_a_change_without_a_new_digest_is_refused(change):
    d = document(TABLE)
    change(d)
    error = refused(d)
    assert error.kind == "digest"
    assert "changed after it was saved" in str(error)


# Damage behind a valid digest


def moved(d: dict[str, Any]) -> None:
    """One unit of weight from one report to the next: the sum stays."""
    row = list(map(int, d["channel"]["rows"][1].split()))
    d["channel"]["rows"][1] = " ".join(map(str, [row[0] - 1, row[1] + 1, *row[2:]]))


def added(d: dict[str, Any]) -> None:
    row = list(map(int, d["channel"]["rows"][1].split()))
    d["channel"]["rows"][1] = " ".join(map(str, [row[0] + 1, *row[1:]]))


def below_zero(d: dict[str, Any]) -> None:
    row = list(map(int, d["channel"]["rows"][1].split()))
    d["channel"]["rows"][1] = " ".join(map(str, [-1, row[1] + row[0] + 1, *row[2:]]))


def shorter(d: dict[str, Any]) -> None:
    d["channel"]["rows"][1] = d["channel"]["rows"][1].rsplit(" ", 1)[0]


def odd_total(d: dict[str, Any]) -> None:
    """Sums that fit each other but not the cells of drawing: five reports need a multiple of eight."""
    d["channel"].update(total="5", rows=["1 1 1 1 1"] * 5)


def epsilon(factor: str, base: str | None = None) -> Any:
    return put("level", "epsilon", {"factor": factor, "base": base})


GRID = {"low": "0", "high": "8", "step": "1"}
STAIRS, BOUND = EVERY_KIND["clamped stairs"][0], EVERY_KIND["stairs with a bound only"][0]
NAMES = EVERY_KIND["names and another"][0]
OFFICE, HIDDEN = EVERY_KIND["random rounding"][0], EVERY_KIND["suppression"][0]

TAMPERED = {
    "a weight moved": (TABLE, moved, "claim"),
    "a weight added": (TABLE, added, "sum"),
    "a negative weight": (TABLE, below_zero, "shape"),
    "a row cut": (TABLE, shorter, "shape"),
    "a row lost": (TABLE, lambda d: d["channel"]["rows"].pop(), "shape"),
    "a word in a row": (TABLE, put("channel", "rows", 0, "a b c d e"), "shape"),
    "no rows": (TABLE, put("channel", "rows", []), "shape"),
    "empty rows": (TABLE, put("channel", "rows", [""] * 5), "shape"),
    "another total": (TABLE, put("channel", "total", "8"), "sum"),
    "a total of zero": (TABLE, lambda d: d["channel"].update(total="0", rows=["0 0 0 0 0"] * 5), "sum"),
    "a total beyond 2^63": (
        TABLE,
        lambda d: d["channel"].update(total=str(5 * 2**64), rows=[f"{2**64} " * 5] * 5),
        "sum",
    ),
    "a total the cells do not divide": (TABLE, odd_total, "sum"),
    "a stronger level": (TABLE, put("level", "alpha", "1000000001/2000000000"), "claim"),
    "a level above 1": (TABLE, put("level", "alpha", "3/2"), "claim"),
    "a level below 0": (TABLE, put("level", "alpha", "-1/2"), "claim"),
    "a level over zero": (TABLE, put("level", "alpha", "1/0"), "shape"),
    "a stronger tight level": (TABLE, put("claims", "tight", "alpha", "51/100"), "claim"),
    "a weaker tight level": (TABLE, put("claims", "tight", "alpha", "49/100"), "claim"),
    "another power": (TABLE, put("claims", "tight", "power", 2), "claim"),
    "a bound for an exact level": (TABLE, put("claims", "tight", "exact", False), "claim"),
    "a property left out": (TABLE, lambda d: d["claims"]["properties"].remove("F"), "claim"),
    "a property too many": (LAW, lambda d: d["claims"]["properties"].append("F"), "claim"),
    "a property twice": (LAW, lambda d: d["claims"]["properties"].append("S"), "claim"),
    "an unknown property": (LAW, lambda d: d["claims"]["properties"].append("X"), "claim"),
    "no property": (TABLE, put("claims", "properties", []), "claim"),
    "a stronger epsilon": (LAW, epsilon("1/10"), "claim"),
    "a stronger logarithm": (LAW, epsilon("1", "9999/9000"), "claim"),
    "an epsilon of zero": (LAW, epsilon("0"), "shape"),
    "a negative epsilon": (LAW, epsilon("-1"), "shape"),
    "a logarithm of 1": (LAW, epsilon("1", "1"), "shape"),
    "a larger sensitivity": (LAW, apart(2), "claim"),
    "no sensitivity": (LAW, apart(0), "shape"),
    "a law with less noise": (LAW, put("channel", "a", "89/100"), "claim"),
    "a law with more noise": (LAW, put("channel", "a", "91/100"), "claim"),
    "a law without noise": (LAW, put("channel", "a", "0"), "shape"),
    "a law of another size": (LAW, put("channel", "n", 9), "shape"),
    "an unknown kind": (LAW, put("channel", "kind", "laplace"), "shape"),
    "a grid of another size": (LAW, put("inputs", {**GRID, "high": "9"}), "shape"),
    "a grid upside down": (LAW, put("outputs", {"low": "8", "high": "0", "step": "1"}), "shape"),
    "a grid with half a step": (LAW, put("inputs", {**GRID, "high": "17/2"}), "shape"),
    "a grid without steps": (LAW, put("inputs", {**GRID, "step": "0"}), "shape"),
    "an open grid": (LAW, put("inputs", {**GRID, "high": None}), "shape"),
    "a grid of words": (LAW, put("inputs", {**GRID, "low": "zero"}), "shape"),
    "names with steps": (NAMES, put("neighbours", {"kind": "steps", "steps": 2}), "shape"),
    "a name twice": (NAMES, put("inputs", "names", ["Fiat", "VW", "VW"]), "shape"),
    "a name without a text": (NAMES, put("inputs", "names", ["Fiat", "VW", ""]), "shape"),
    "a name that is a number": (NAMES, put("inputs", "names", ["Fiat", "VW", 3]), "shape"),
    "names that are a text": (NAMES, put("inputs", "names", "abc"), "shape"),
    "a name too many": (NAMES, put("inputs", "names", ["Fiat", "VW", "another", "x"]), "shape"),
    "another that is no name": (NAMES, put("inputs", "other", "x"), "shape"),
    "another that is a list": (NAMES, put("inputs", "other", ["VW"]), "shape"),
    "names with a step": (NAMES, put("inputs", "step", "1"), "shape"),
    "a property that needs an order": (NAMES, put("claims", "properties", ["RH", "RM", "CH", "F", "WH"]), "claim"),
    "a remap outside": (EVERY_KIND["list remap"][0], put("channel", "second", "targets", "0 0 2 3 4 6 7"), "shape"),
    "a remap too short": (EVERY_KIND["list remap"][0], put("channel", "second", "targets", "0 0"), "shape"),
    "a remap of more": (EVERY_KIND["list remap"][0], put("channel", "first", "n", 7), "shape"),
    "keep always": (EVERY_KIND["uniform"][0], put("channel", "keep", "1"), "shape"),
    "keep more": (EVERY_KIND["keep"][0], put("channel", "keep", "1/2"), "claim"),
    "a higher window": (EVERY_KIND["window"][0], put("channel", "a", "1/4"), "claim"),
    "a lower window": (EVERY_KIND["window"][0], put("channel", "a", "1/2"), "claim"),
    "a window of another width": (EVERY_KIND["window"][0], put("channel", "width", 1), "shape"),
    "a window without a width": (EVERY_KIND["window"][0], put("channel", "width", 0), "shape"),
    "a window without a wall": (EVERY_KIND["window"][0], put("channel", "a", "1"), "shape"),
    "a higher hyperplane": (EVERY_KIND["projective"][0], put("channel", "a", "1/4"), "claim"),
    "a lower hyperplane": (EVERY_KIND["projective"][0], put("channel", "a", "1/2"), "claim"),
    "a hyperplane without a wall": (EVERY_KIND["projective"][0], put("channel", "a", "1"), "shape"),
    "another field": (EVERY_KIND["projective"][0], put("channel", "p", 2), "shape"),
    "no field": (EVERY_KIND["projective"][0], put("channel", "p", 1), "shape"),
    "a larger field": (EVERY_KIND["projective"][0], put("channel", "m", 2), "shape"),
    "more dimensions": (EVERY_KIND["projective"][0], put("channel", "t", 4), "shape"),
    "endless dimensions": (EVERY_KIND["projective"][0], put("channel", "t", 10**9), "shape"),
    "no dimension": (EVERY_KIND["projective"][0], put("channel", "t", 1), "shape"),
    "more answers than points": (EVERY_KIND["projective"][0], put("channel", "size", 14), "shape"),
    "a shorter recurrence": (EVERY_KIND["projective"][0], put("channel", "recurrence", "1 2"), "shape"),
    "a recurrence beyond its field": (EVERY_KIND["projective"][0], put("channel", "recurrence", "1 2 3"), "shape"),
    "a recurrence of no hyperplane": (EVERY_KIND["projective"][0], put("channel", "recurrence", "1 0 0"), "shape"),
    "a recurrence with right numbers of zeros": (
        EVERY_KIND["projective"][0],
        put("channel", "recurrence", "0 2 1"),
        "shape",
    ),
    "a recurrence of words": (EVERY_KIND["projective"][0], put("channel", "recurrence", "1 two 0"), "shape"),
    "less noise on an open grid": (EVERY_KIND["open"][0], put("channel", "noise", "a", "1/2"), "claim"),
    "unknown noise": (EVERY_KIND["open"][0], put("channel", "noise", "family", "laplace"), "shape"),
    "an additive channel in sequence": (
        EVERY_KIND["list remap"][0],
        put("channel", "first", document(EVERY_KIND["open"][0])["channel"]),
        "shape",
    ),
    "steeper stairs": (STAIRS, put("channel", "noise", "b", "1/4"), "claim"),
    "flatter stairs": (STAIRS, put("channel", "noise", "b", "2/5"), "claim"),
    "shorter stairs": (STAIRS, put("channel", "noise", "D", 3), "claim"),
    "stairs of no step": (STAIRS, lambda d: d["channel"]["noise"].update(D=0, r=0), "shape"),
    "stairs too long": (STAIRS, put("channel", "noise", "D", 2**13 + 1), "shape"),
    "stairs without an upper part": (STAIRS, put("channel", "noise", "r", 0), "shape"),
    "an upper part beyond its stair": (STAIRS, put("channel", "noise", "r", 5), "shape"),
    "half an upper part": (STAIRS, put("channel", "noise", "r", 1.5), "shape"),
    "stairs that do not fall": (STAIRS, put("channel", "noise", "b", "1"), "shape"),
    "stairs that end": (STAIRS, put("channel", "noise", "b", "0"), "shape"),
    "stairs as a float": (STAIRS, put("channel", "noise", "b", 0.5), "shape"),
    "stairs on no grid": (STAIRS, put("channel", "n", 0), "shape"),
    "stairs on another grid": (STAIRS, put("channel", "n", 13), "shape"),
    "stairs on far too many values": (STAIRS, put("channel", "n", 10**9), "shape"),
    "stairs with another power": (STAIRS, put("claims", "tight", "power", 2), "claim"),
    "stairs with power 0": (STAIRS, put("claims", "tight", "power", 0), "claim"),
    "stairs with a bound only, it says": (STAIRS, put("claims", "tight", "exact", False), "claim"),
    "stairs whose bound is exact, it says": (BOUND, put("claims", "tight", "exact", True), "claim"),
    "exact as a number": (STAIRS, put("claims", "tight", "exact", 1), "claim"),
    "stairs called geometric": (STAIRS, put("channel", "noise", "family", "geometric"), "shape"),
    "stairs of no family": (STAIRS, put("channel", "noise", "family", "staircases"), "shape"),
    "stairs for farther neighbours": (STAIRS, apart(5), "claim"),
    "stairs with a property too many": (STAIRS, lambda d: d["claims"]["properties"].append("F"), "claim"),
    "open stairs, steeper": (OPEN_STAIRS, put("channel", "noise", "b", "1/4"), "claim"),
    "open stairs, shorter": (OPEN_STAIRS, put("channel", "noise", "D", 6), "claim"),
    "open stairs, too long": (OPEN_STAIRS, put("channel", "noise", "D", 10**9), "shape"),
    "open stairs, an upper part beyond": (OPEN_STAIRS, put("channel", "noise", "r", 8), "shape"),
    "open stairs with a bound only": (OPEN_STAIRS, put("claims", "tight", "exact", False), "claim"),
    "open stairs for farther neighbours": (OPEN_STAIRS, apart(8), "claim"),
    "a level where there is none": (OFFICE, put("level", "alpha", "1/1000000"), "claim"),
    "an epsilon where there is none": (OFFICE, epsilon("1000"), "claim"),
    "a tight level where there is none": (OFFICE, put("claims", "tight", "alpha", "1/1000000"), "claim"),
    "suppressed reports on another grid": (HIDDEN, put("outputs", "low", "0"), "shape"),
    "suppression with a level": (HIDDEN, put("level", "alpha", "1/2"), "claim"),
    "one count shown": (EVERY_KIND["suppression of everything"][0], put("channel", "targets", "0 0 0 4"), "claim"),
    "a long table with a level": (EVERY_KIND["suppression of a long table"][0], put("level", "alpha", "1/2"), "claim"),
    "version 2": (LAW, put("version", 2), "version"),
    "version 0": (LAW, put("version", 0), "version"),
    "version as a text": (LAW, put("version", "1"), "version"),
    "no version": (LAW, put("version", None), "version"),
    "another format": (LAW, put("format", "discreet"), "format"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_file_with_a_valid_digest_is_refused(name):
    m, change, kind = TAMPERED[name]
    assert refused(resigned(document(m), change)).kind == kind


NO_NAMES = (" x", "x" * 1001, "x\ny", "x\x85y", "x\u2028y", "\u202ex", "x\u2069", "\ud800", "", " ", "\u200b", "\u00ad")
ALIKE = ("another", "an\u200bother", "a\u00adnother", "V\u00a0W", "V  W")


@pytest.mark.parametrize("bad", ["Citro\u00ebn", "a\u200db", "x" * 1000, *NO_NAMES, *ALIKE])
def test_names_are_taken_by_verify_exactly_where_discreet_takes_them(bad):
    def change(d: dict[str, Any]) -> None:
        d["inputs"]["names"] = d["outputs"]["names"] = ["V W", bad, "another"]

    forged = resigned(document(NAMES), change)
    try:
        dt.Names(["V W", bad, "another"])
    except GridError:
        assert bad in NO_NAMES or bad in ALIKE
        with pytest.raises(verify.Fault, match="no names") as fault:
            verify.verify(forged)
        assert fault.value.kind == "shape"
    else:
        assert bad not in NO_NAMES
        assert bad not in ALIKE
        assert verify.verify(forged).alpha == NAMES.level.alpha


def test_the_untampered_file_with_a_new_digest_loads():
    """The negative control of all tampering above."""
    for m, _ in EVERY_KIND.values():
        assert files.loads_procedure(bytes_of(resigned(document(m), lambda d: None))).digest == m.digest


def test_longer_stairs_or_another_upper_part_are_another_mechanism_with_claims_of_its_own():
    """Neighbours at most one stair apart keep the level, whatever the stair: such a file is true, and no tampering."""
    for name, value in (("D", 5), ("D", 2**13), ("r", 1), ("r", 4)):
        change = put("channel", "noise", name, value)
        true = resigned(document(STAIRS), lambda d, change=change: (change(d), put("claims", "properties", None)(d)))
        m = files.loads_procedure(bytes_of(true))
        assert dt.check_privacy(m, alpha="1/3").holds
        assert m.digest != STAIRS.digest


@pytest.mark.parametrize("n", [10**9, 10**18, 2**61 - 1, 10**1000])
def test_a_huge_grid_is_loaded_or_refused_at_once(n):
    """No power of that size is computed, for this would never end: stairs are counted, and what no grid holds is refused."""
    change = put("channel", "n", n)
    huge = resigned(
        document(EVERY_KIND["clamped stairs of 10^9"][0]),
        lambda d: (change(d), put("inputs", "high", str(n))(d), put("outputs", "high", str(n))(d)),
    )
    if n < 2**61:
        assert files.loads_procedure(bytes_of(huge)).inputs.n == n
    else:
        assert refused(huge).kind == "shape"
    far = resigned(huge, apart(n))
    assert refused(far).kind == "claim"


def test_an_unknown_version_says_which_one():
    error = refused(resigned(document(LAW), put("version", 7)))
    assert "version 7" in str(error)
    assert "version of discreet that wrote it" in str(error)


def test_a_wrong_sum_says_where():
    assert "Row 1 " in str(refused(resigned(document(TABLE), added)))


@pytest.mark.parametrize(("rounding", "holds"), [(ROUND_CEILING, True), (ROUND_FLOOR, False)])
def test_an_epsilon_slightly_stronger_than_alpha_is_refused(rounding, holds):
    """alpha = 9/10 grants ln(10/9), not the number 10^-50 below it."""
    with localcontext() as context:
        context.prec = 90
        edge = (Decimal(10) / Decimal(9)).ln().quantize(Decimal(1).scaleb(-50), rounding=rounding)
    d = resigned(document(LAW), epsilon(str(Fraction(edge))))
    if holds:
        assert files.loads_procedure(bytes_of(d)).level.asked.factor == Fraction(edge)
    else:
        assert refused(d).kind == "claim"


@pytest.mark.parametrize("steps", [-1, 0, 1])
def test_alpha_one_step_below_what_epsilon_needs_is_refused(steps):
    """alpha was rounded up to a multiple of 2^-62: one step less is weaker than the epsilon in the file."""
    alpha = ASKED.alpha + Fraction(steps, 2**62)
    tight = str(alpha)
    d = resigned(
        document(ASKED),
        lambda d: (
            put("level", "alpha", tight)(d),
            put("channel", "a", tight)(d),
            put("claims", "tight", "alpha", tight)(d),
        ),
    )
    if steps < 0:
        assert refused(d).kind == "claim"
    else:
        assert files.loads_procedure(bytes_of(d)).alpha == alpha


# Missing parts and wrong types


def paths(part: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every part of a document."""
    inner = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [*([way] if way else []), *(p for key, value in inner for p in paths(value, (*way, key)))]


def at(d: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        d = d[key]
    return d


FULL = dt.geometric(3, epsilon="ln(2)/2").remap([0, 1, 1, 3])
KEYS = [p for p in paths(document(FULL)) if isinstance(p[-1], str) and "parameters" not in p[:-1] and p != ("format",)]


@pytest.mark.parametrize("way", KEYS, ids=lambda way: ".".join(map(str, way)))
def test_a_missing_part_is_named(way):
    error = refused(resigned(document(FULL), lambda d: at(d, way[:-1]).pop(way[-1])))
    assert error.kind == "shape"
    assert f"'{way[-1]}'" in str(error)


def test_a_missing_format_is_another_file():
    assert refused(resigned(document(FULL), lambda d: d.pop("format"))).kind == "format"


ALIENS: list[Any] = [True, 1.5, "x", [1], {"x": 1}, -7]
EXAMPLES = {
    "table": TABLE,
    "asked": ASKED,
    "half open": EVERY_KIND["open above"][0],
    "map": FULL,
    "stairs": STAIRS,
    "open stairs": OPEN_STAIRS,
}
PLACES = [
    (name, way)
    for name, m in EXAMPLES.items()
    for way in paths(document(m))
    if way[0] != "digest" and (name == "map" or way[0] in ("inputs", "level", "channel")) and way[-1] not in (1, 2, 3)
]


@pytest.mark.parametrize(("name", "way"), PLACES, ids=lambda x: x if isinstance(x, str) else ".".join(map(str, x)))
def test_a_part_of_a_wrong_type_is_refused(name, way):
    """Nothing is guessed from a value of another type, wherever it stands."""
    d = document(EXAMPLES[name])
    for alien in ALIENS:
        old = at(d, way)
        if type(alien) is type(old) and (isinstance(old, str) or alien == old):
            continue  # a text for a text may be right: recipes are free texts
        if way[-1] == "distance" and isinstance(alien, float):
            continue
        refused(resigned(d, put(*way, alien)))


@pytest.mark.parametrize("distance", [-1.0, 2.0])
def test_a_distance_that_is_none_is_refused(distance):
    """A total variation lies between 0 and 1."""
    refused(resigned(document(TABLE), put("recipe", "distance", distance)))


@pytest.mark.parametrize("end", ["low", "high"])
def test_the_ends_of_an_open_channel_are_those_of_its_grid(end):
    """Saturating at another place than the grid's end would report values off the grid."""
    refused(resigned(document(EVERY_KIND["open above"][0]), put("channel", end, 5)))


def test_noise_is_added_on_one_grid():
    """An additive channel whose reports have other steps than its true values is none that discreet makes."""
    refused(resigned(document(EVERY_KIND["open"][0]), put("outputs", "step", "1/2")))


# Not even a document


def text_with(old: str, new: str, m: dt.Mechanism = TABLE) -> bytes:
    text = files.text(m)
    assert old in text
    return text.replace(old, new, 1).encode()


UNREADABLE = {
    "empty": b"",
    "white space": b" \n ",
    "not JSON": b"alpha: 9/10\n",
    "not text": bytes(range(256)),
    "UTF-16": files.text(LAW).encode("utf-16"),
    "a pickle": pickle.dumps({"format": "discreet-mechanism"}),
    "two documents": files.text(LAW).encode() * 2,
    "NaN": text_with('"distance": 0.0', '"distance": NaN'),
    "Infinity": text_with('"distance": 0.0', '"distance": -Infinity'),
    "a key twice": text_with('"steps": 1', '"steps": 1, "steps": 1'),
    "a key twice inside": text_with('"exact": true', '"exact": true, "exact": true'),
    "deep lists": b"[" * 10**6,
    "deep objects": b'{"a":' * 10**5,
    "an integer of 5000 digits": text_with('"steps": 1', f'"steps": {"1" * 5000}'),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_not_json_is_refused(name):
    assert refused(UNREADABLE[name]).kind == "unreadable"


def test_a_number_beyond_floats_is_refused():
    """1e999 is JSON, but reads as infinity."""
    refused(text_with('"distance": 0.0', '"distance": 1e999'))


@pytest.mark.parametrize(("name", "word"), [("a key twice", "twice"), ("NaN", "NaN"), ("deep lists", "deep")])
def test_what_is_not_cut_short_is_not_called_cut_short(name, word):
    """Each damage has its own error."""
    assert word in str(refused(UNREADABLE[name]))


@pytest.mark.parametrize("data", [b"[]", b"{}", b"null", b"7", b'"discreet-mechanism"', b'{"format": ["x"]}'], ids=str)
def test_other_json_is_another_format(data):
    assert refused(data).kind == "format"


def test_a_file_cut_anywhere_is_refused():
    data = files.text(dt.geometric(2, alpha="1/2")).rstrip().encode()
    assert files.loads_procedure(data).alpha == Fraction(1, 2)
    for end in range(len(data)):
        error = refused(data[:end])
        assert (error.kind, "cut short" in str(error)) == ("unreadable", True), end


def test_a_file_of_2_gb_is_refused_unread(tmp_path, monkeypatch):
    def opened(*args, **kwargs):
        raise AssertionError("the file was opened")

    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, 2 * 2**30)
    monkeypatch.setattr(verify, "open", opened, raising=False)
    with pytest.raises(FileError, match=str(2 * 2**30)) as caught:
        load_procedure(path)
    assert caught.value.kind == "too large"
    path.write_bytes(b"{}")
    with pytest.raises(AssertionError, match="was opened"):  # that is where a smaller file is read
        load_procedure(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, tmp_path / "none" / "m.json"):
        with pytest.raises(FileError, match="Check the path") as caught:
            load_procedure(path)
        assert caught.value.kind == "missing"


def test_a_path_with_a_null_byte_is_refused():
    with pytest.raises(FileError):
        load_procedure("a\0b")
    with pytest.raises(FileError):
        LAW.save("a\0b")


class Bomb:
    """Unpickling this makes a folder."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


def test_a_pickle_is_never_run(tmp_path):
    bomb = tmp_path / "bomb"
    with pytest.raises(FileError):
        load_bytes(tmp_path / "m.json", pickle.dumps(Bomb(str(bomb))))
    assert not bomb.exists()


# Fuzzing

FUZZED = files.text(dt.explicit_fair(6, epsilon="0.3")).encode()


@given(st.integers(0, len(FUZZED) - 1), st.integers(0, 255))
@settings(max_examples=examples(400))
def test_a_changed_byte_is_refused_or_changes_nothing(place, byte):
    damaged = FUZZED[:place] + bytes([byte]) + FUZZED[place + 1 :]
    try:
        m = files.loads_procedure(damaged)
    except FileError:
        return
    assert json.loads(damaged) == json.loads(FUZZED)  # white space, or another way to write the same number
    assert document(m)["digest"] == json.loads(FUZZED)["digest"]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.fractions().map(str),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SPOTS = [(m, way) for m in (*EXAMPLES.values(), EVERY_KIND["uniform"][0]) for way in paths(document(m))]


@given(st.sampled_from(SPOTS), json_values)
@settings(max_examples=examples(300))
def test_any_value_anywhere_behind_a_valid_digest_gives_a_file_error_or_loads(spot, value):
    """No other exception, whatever stands where; and what loads can be saved again."""
    m, way = spot
    d = resigned(document(m), put(*way, value))
    try:
        loaded = files.loads_procedure(bytes_of(d))
    except FileError:
        return
    assert files.loads_procedure(files.text(loaded).encode()).digest == loaded.digest


# Writing


def test_saving_replaces_an_old_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "m.json"
    path.write_text("old")
    LAW.save(path)
    assert load_procedure(str(path)).digest == LAW.digest
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


@pytest.mark.parametrize("step", ["replace", "fsync", "chmod"])
def test_a_failing_write_leaves_the_old_file(step, tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_text("old")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileError, match="No space left") as caught:
        LAW.save(path)
    monkeypatch.undo()
    assert caught.value.kind == "missing"
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_an_interrupted_write_leaves_no_temporary_file(tmp_path, monkeypatch):
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LAW.save(tmp_path / "m.json")
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_saving_where_no_file_can_be_is_refused(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "none" / "m.json", tmp_path / "file" / "m.json", tmp_path / "folder"):
        with pytest.raises(FileError, match="cannot be written"):
            LAW.save(path)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder"]


def test_saving_to_a_pipe_does_not_replace_the_pipe(tmp_path):
    """The same would replace /dev/null by a file when run by an administrator."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    try:
        LAW.save(path)
    except FileError:
        pass
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_saved_file_has_the_permissions_that_the_user_gives_new_files(tmp_path):
    old = os.umask(0o027)
    try:
        LAW.save(tmp_path / "m.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m.json").stat().st_mode) == 0o666 & ~0o027


def test_the_digest_of_a_file_covers_its_recipe_and_that_of_a_mechanism_does_not():
    told = dt.Mechanism(LAW.inputs, LAW.outputs, LAW.channel, LAW.level, LAW.neighbours, dt.uniform(1).recipe)
    assert LAW.digest == told.digest
    assert document(LAW)["digest"] != document(told)["digest"]
    assert math.isclose(LAW.epsilon, math.log(10 / 9))


# What can be built can be saved, verified and loaded, or saving says that it cannot


def assert_whole(m: dt.Mechanism) -> dt.Mechanism:
    """Saved, verified, loaded: the same in every part."""
    text = files.text(m)
    verify.verify(verify.parse(text.encode()))
    loaded = files.loads_procedure(text.encode())
    assert (loaded.inputs, loaded.outputs, loaded.claim) == (m.inputs, m.outputs, m.claim)
    assert (loaded.sensitivity, loaded.recipe, loaded.digest) == (m.sensitivity, m.recipe, m.digest)
    assert same_law(loaded.channel, m.channel)
    return loaded


def test_seventy_remaps_in_a_row_are_one():
    shift = [1, 2, 3, 4, 5, 6, 7, 8, 8]
    m = law = dt.geometric(8, alpha="1/2")
    for _ in range(70):
        m = m.remap(shift)
    assert_whole(m)
    assert isinstance(m.channel, Then)
    assert m.channel.second.targets.tolist() == [8] * 9
    assert m.recipe.of == law.recipe
    once = law.remap(shift).remap([0, 0, 1, 1, 2, 2, 3, 3, 4])
    assert [once.channel.entry(i, j) for i in range(9) for j in range(9)] == [
        law.remap([0, 1, 1, 2, 2, 3, 3, 4, 4]).channel.entry(i, j) for i in range(9) for j in range(9)
    ]


def test_a_table_remapped_seventy_times_loads():
    m = dt.explicit_fair(8, alpha="1/2")
    for _ in range(70):
        m = m.remap([1, 0, 2, 3, 4, 5, 6, 7, 8])
    assert assert_whole(m).recipe.of.family == "explicit_fair"


def test_truncated_noise_is_no_map_of_reports():
    """Its true values are others: the recipe must still say from what it was cut."""
    m = dt.geometric(dt.Grid(None, None), alpha="1/2").truncate(0, 8).truncate(2, 6).remap([2, 2, 4, 6, 6])
    assert_whole(m)
    assert (m.recipe.family, m.recipe.of.family, m.recipe.of.of.family) == ("remap", "truncate", "geometric")
    assert m.recipe.of.of.of is None


def test_a_level_that_only_the_first_of_two_maps_shows_is_not_lost():
    """Merged, the maps would be too large to multiply, and the tighter level of the first could not be seen any more."""
    m = dt.randomized_response(100, alpha="1/2").remap([0] * 50 + [100] * 51)
    wide = m.remap({v: v * 100 for v in range(101)}, outputs=dt.Grid(0, 10000))
    assert wide.alpha == m.alpha > Fraction(1, 2)
    assert_whole(wide)


def test_256_parts_in_sequence_load():
    m = dt.geometric(2, alpha="1/2")
    for _ in range(8):
        m = m.then(m)
    assert_whole(m)


@pytest.mark.parametrize("doublings", [10, 12])
def test_more_parts_than_can_be_loaded_are_refused_when_saving(doublings):
    m = dt.randomized_response(1, alpha="1/2")
    for _ in range(doublings):
        m = dt.Mechanism(m.inputs, m.outputs, Then(m.channel, m.channel), m.level, 1, m.recipe)
    with pytest.raises(FileError, match="merge some first"):
        files.text(m)


def test_a_long_row_of_mechanisms_loads_or_is_refused_when_saving():
    step = dt.randomized_response(2, alpha="1/2")
    m = dt.geometric(dt.Grid(None, None), alpha="1/2").truncate(0, 2).truncate(0, 2)
    refusals = 0
    for _ in range(70):
        m = m.then(step)
        try:
            files.text(m)
        except FileError:
            refusals += 1
        else:
            assert_whole(m)
    assert 0 < refusals < 10


@for_each("blank", ["\t", "\n", " ", "\r\n", "\x0b"])
@for_each("family", [dt.geometric, dt.explicit_fair, dt.staircase, dt.laplace])
def test_white_space_around_a_number_is_no_part_of_the_recipe(family, blank):
    m = family(dt.Grid(0, 8), alpha="1/2", sensitivity=f"{blank}1{blank}")
    assert dict(assert_whole(m).recipe.parameters)["sensitivity"] == "1"


def test_a_recipe_is_plain_text_whatever_it_was_given():
    def loss(i: int, j: int) -> int:
        return abs(i - j)

    loss.__name__ = "a\n\ud800\x1b[31mb"
    m = dt.design(3, alpha="1/2", loss=loss).mechanism
    assert_whole(m)
    assert all(text.isprintable() for pair in m.recipe.parameters for text in pair)


def test_a_recipe_of_a_recipe_keeps_every_parameter():
    g = dt.geometric(3, alpha="1/2")
    m = g.then(g.then(g.then(dt.randomized_response(3, alpha="1/3"))))
    assert_whole(m)
    assert len(m.recipe.parameters) == len(dict(m.recipe.parameters))
    with pytest.raises(dt.errors.DiscreetError):
        Recipe("x", (("a", "1"), ("a", "2")))


def test_a_name_that_lies_about_its_loss_is_refused_when_saving(tmp_path):
    import numpy as np

    from discreet.measure.loss import Loss

    m = dt.design(3, alpha="1/2", loss=Loss("l1", np.zeros((4, 4), dtype=np.int64), 1)).mechanism
    with pytest.raises(FileError) as caught:
        m.save(tmp_path / "m.json")
    assert caught.value.kind == "claim"
    assert list(tmp_path.iterdir()) == []


FAMILIES = [
    lambda n: dt.geometric(n, alpha="2/3"),
    lambda n: dt.geometric(n, epsilon="0.3", sensitivity=2),
    lambda n: dt.explicit_fair(n, alpha="2/3"),
    lambda n: dt.randomized_response(n, epsilon="ln(3)/2"),
    dt.uniform,
    lambda n: dt.staircase(dt.Grid(0, n), epsilon=1, sensitivity=2),
    lambda n: dt.laplace(dt.Grid(0, n), epsilon="1/2", sensitivity=1),
    lambda n: dt.geometric(n, alpha="1/2").then(dt.traditional.random_rounding(n)),
    lambda n: dt.geometric(n, alpha="1/2").then(dt.traditional.cell_key(n)),
    lambda n: dt.geometric(n, alpha="1/2").then(dt.traditional.suppression(n)),
    lambda n: dt.from_matrix(dt.geometric(n, alpha="1/2").matrix, alpha="1/2"),
    lambda n: dt.design(n, alpha="2/3", loss="l1", require="WH").mechanism,
    lambda n: dt.weakly_honest(n, alpha="9/10"),
    lambda n: dt.geometric(dt.Grid(None, None), alpha="1/2").truncate(0, n),
    lambda n: dt.staircase(dt.Grid(0, None), alpha="1/2", sensitivity=3).truncate(1, n),
]


@pytest.mark.parametrize("make", FAMILIES)
@given(st.data())
@settings(max_examples=examples(12))
def test_any_chain_of_post_processing_survives_the_trip(make, data):
    """Maps, random remaps, truncations and further mechanisms, in any order; also written, read and written again."""
    m = make(data.draw(st.integers(3, 6)))
    for step in data.draw(st.lists(st.sampled_from(["map", "random", "truncate", "then"]), max_size=7)):
        grid, size = m.outputs, m.outputs.size
        if step == "map":
            places = data.draw(st.lists(st.integers(0, size - 1), min_size=size, max_size=size))
            m = m.remap([grid.value(k) for k in places])
        elif step == "random":
            width = data.draw(st.integers(2, 4))
            rows = st.lists(st.integers(0, 5), min_size=width, max_size=width).filter(any)
            weights = data.draw(st.lists(rows, min_size=size, max_size=size))
            m = m.remap([[Fraction(w, sum(row)) for w in row] for row in weights], outputs=dt.Grid(0, width - 1))
        elif step == "truncate" and size > 2:
            low = data.draw(st.integers(0, size - 2))
            m = m.truncate(*(grid.value(k) for k in (low, data.draw(st.integers(low + 1, size - 1)))))
        elif step == "then":
            m = m.then(dt.geometric(grid, alpha="1/2"))
    assert_whole(assert_whole(m))


# Files written by hand, as the format is documented


TABLE_BY_HAND = """{
 "format": "discreet-mechanism",
 "version": 1,
 "inputs": {"low": "0", "high": "2", "step": "1"},
 "outputs": {"low": "0", "high": "1", "step": "1"},
 "neighbours": {"kind": "pairs", "pairs": "0 2"},
 "level": {"alpha": "1/2", "epsilon": null},
 "recipe": {"family": "by hand", "parameters": {}, "citation": "", "distance": 0.0, "of": null},
 "channel": {"kind": "table", "total": "6", "rows": ["4 2", "2 4", "2 4"]},
 "claims": {"tight": null, "properties": null}
}"""

GEOMETRIC_BY_HAND = """{
 "format": "discreet-mechanism",
 "version": 1,
 "inputs": {"low": "0", "high": "2", "step": "1"},
 "outputs": {"low": "0", "high": "2", "step": "1"},
 "neighbours": {"kind": "steps", "steps": 1},
 "level": {"alpha": "1/2", "epsilon": {"factor": "1", "base": "2"}},
 "recipe": {
  "family": "geometric",
  "parameters": {"grid": "0..2", "sensitivity": "1", "epsilon": "ln(2)"},
  "citation": "Ghosh, Roughgarden, Sundararajan, Universally utility-maximizing privacy mechanisms, STOC 2009",
  "distance": 0.0,
  "of": null
 },
 "channel": {"kind": "geometric", "n": 2, "a": "1/2"},
 "claims": {
  "tight": {"alpha": "1/2", "power": 1, "exact": true},
  "properties": ["RH", "RM", "CH", "CM", "WH", "S"]
 }
}"""


def signed_by_hand(text: str) -> dict[str, Any]:
    """With its digest, as the format says it: SHA-256 of all the rest as ASCII JSON with sorted keys and no spaces."""
    body = json.loads(text)
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    return {**body, "digest": f"sha256:{hashlib.sha256(canonical).hexdigest()}"}


def test_a_table_written_by_hand_is_read():
    d = signed_by_hand(TABLE_BY_HAND)
    assert verify.verify(d).alpha == Fraction(1, 2)
    m = files.loads_procedure(bytes_of(d))
    assert m.neighbours == dt.Neighbours.of([(0, 2)], m.inputs)
    weights, total = m.channel.integers()
    assert (weights.tolist(), total) == ([[4, 2], [2, 4], [2, 4]], 6)


def test_a_mechanism_is_written_as_by_hand():
    """Rows (4, 1, 1), (2, 2, 2), (1, 1, 4) over 6: every property but fairness, for the truth is told as often as 4, 2, 4."""
    m, d = dt.geometric(2, epsilon="ln 2"), signed_by_hand(GEOMETRIC_BY_HAND)
    assert json.loads(files.text(m)) == d
    assert files.loads_procedure(bytes_of(d)) == m
    assert (m.matrix * 6).round(12).tolist() == [[4, 1, 1], [2, 2, 2], [1, 1, 4]]


def test_one_letter_of_a_file_by_hand_is_refused():
    for d, other in ((signed_by_hand(GEOMETRIC_BY_HAND), "1/3"), (signed_by_hand(TABLE_BY_HAND), "2/3")):
        d["level"] = {"alpha": other, "epsilon": None}
        assert refused(d).kind == "digest"
