"""Losses and priors from files and functions: read exactly as they are written, against a reader of our own."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dt
from discreet.errors import DesignError, LossError, PriorError
from discreet.measure.loss import loss_of
from discreet.measure.prior import Prior, prior_of
from tests.profiles import examples

GRID = dt.Grid(0, 3)
DECIMALS = st.decimals(0, 9, places=3, allow_nan=False)
WEIGHTS = st.lists(DECIMALS, min_size=4, max_size=4).filter(any)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> Path:
    Path(name).write_text(text, encoding="utf-8")
    return Path(name)


def law(prior: Prior) -> list[Fraction]:
    return [Fraction(w, prior.total) for w in prior.weights]


def exactly(numbers: list[Decimal]) -> list[Fraction]:
    """The reference: decimals by their digits and exponents, with no code of the library."""
    found = []
    for number in numbers:
        _, digits, exponent = number.as_tuple()
        found.append(Fraction(int("".join(map(str, digits)))) * Fraction(10) ** int(exponent))
    return found


@settings(max_examples=examples(60))
@given(WEIGHTS, st.permutations(range(4)), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_weights_in_any_form_are_one_prior(weights, order, mark, end, marked):
    exact = exactly(weights)
    wanted = [x / sum(exact) for x in exact]
    lines = [mark.join(["value", "weight"]), *(f"{k}{mark} {weights[k]}" for k in order), ""]
    Path("p.csv").write_bytes((b"\xef\xbb\xbf" if marked else b"") + end.join(lines).encode())
    assert law(prior_of(Path("p.csv"), GRID)) == wanted
    numbers = "[" + ", ".join(map(str, weights)) + "]"
    assert law(prior_of(write("p.json", f'{{"weights": {numbers}}}'), GRID)) == wanted
    by_value = "{" + ", ".join(f'"{k}": {weights[k]}' for k in order) + "}"
    assert law(prior_of(write("q.json", f'{{"weights": {by_value}}}'), GRID)) == wanted
    assert law(prior_of(lambda value: weights[value], GRID)) == wanted


@settings(max_examples=examples(40))
@given(st.lists(st.integers(0, 30), min_size=4, max_size=4).filter(any))
def test_probabilities_in_any_form_are_one_prior(counts):
    wanted = [Fraction(x, sum(counts)) for x in counts]
    for text in (" ".join, ",".join, "\n".join):
        assert law(prior_of(write("p.csv", text(map(str, wanted)) + "\n"), GRID)) == wanted
    headed = "probability,value\n" + "".join(f"{p},{k}\n" for k, p in enumerate(wanted) if p)
    assert law(prior_of(write("p.csv", headed), GRID)) == wanted
    for document in ([str(p) for p in wanted], {str(k): str(p) for k, p in enumerate(wanted) if p}):
        assert law(prior_of(write("p.json", json.dumps(document)), GRID)) == wanted


def test_a_decimal_in_a_file_is_no_float():
    assert law(prior_of(write("p.json", "[0.1, 0.2, 0.3, 0.4]"), GRID))[0] == Fraction(1, 10)
    assert prior_of([0.1, 0.2, 0.3, 0.4], GRID).weights[0] != 1  # as floats they are not
    assert prior_of(Path("p.json"), GRID).name == "p.json"


@settings(max_examples=examples(40))
@given(
    st.lists(st.lists(DECIMALS, min_size=3, max_size=3), min_size=4, max_size=4),
    st.permutations(range(4)),
    st.permutations(range(3)),
    st.sampled_from(",;\t"),
)
def test_a_loss_in_any_form_is_one_loss(matrix, down, across, mark):
    wanted = [exactly(row) for row in matrix]
    reports = dt.Grid(0, 4, 2)

    def read(loss: object) -> list[list[Fraction]]:
        found = loss_of(loss, GRID, reports)
        return [[Fraction(int(x), found.denominator) for x in row] for row in found.numerators]

    assert read(write("l.csv", "".join(mark.join(map(str, row)) + "\n" for row in matrix))) == wanted
    assert read(write("l.json", "[" + ",".join(f"[{','.join(map(str, row))}]" for row in matrix) + "]")) == wanted
    named = [mark.join(["truth", *(str(2 * j) for j in across)])]
    named += [mark.join([str(i), *(str(matrix[i][j]) for j in across)]) for i in down]
    assert read(write("n.csv", "\n".join(named))) == wanted
    assert read(lambda truth, report: matrix[truth][report // 2]) == wanted


def test_a_design_is_the_same_by_name_function_matrix_and_file():
    write("l1.csv", "".join(",".join(str(abs(i - j)) for j in range(4)) + "\n" for i in range(4)))
    wanted = dt.design(3, alpha="1/2", loss="l1", prior="binomial(1/2)").objective
    chances = {"0": "1/8", "1": "3/8", "2": "3/8", "3": "1/8"}
    write("p.json", json.dumps(chances))
    binomial = [1, 3, 3, 1]
    for loss in ("l1", Path("l1.csv"), lambda truth, report: abs(truth - report)):
        for prior in (Path("p.json"), lambda value: binomial[value]):
            assert dt.design(3, alpha="1/2", loss=loss, prior=prior).objective == pytest.approx(wanted, rel=1e-12)
    on_values = dt.design([0, 1, 2, 3], alpha="1/2", loss=Path("l1.csv"), prior=Path("p.json"))
    assert on_values.objective == pytest.approx(wanted, rel=1e-12)
    worse = write("l.csv", "0,1,2,3\n1,0,1,2\n2,1,0,1\n3,2,1.01,0\n")
    assert dt.design(3, alpha="1/2", loss=worse, prior=Path("p.json")).objective > wanted


def test_values_of_a_list_are_named_in_files():
    write("l.csv", "truth,10,0,5\n0,10,0,5\n5,5,5,0\n10,0,10,5\n")
    write("p.csv", "value,probability\n10,1/4\n0,1/2\n5,1/4\n")
    found = dt.design([0, 5, 10], alpha="1/2", loss=Path("l.csv"), prior=Path("p.csv"), neighbours=1)
    same = dt.design([0, 5, 10], alpha="1/2", loss="l1", prior=["1/2", "1/4", "1/4"], neighbours=1)
    assert found.objective == pytest.approx(same.objective, rel=1e-12)
    by_weight = dt.design([0, 5, 10], alpha="1/2", prior=lambda value: 2 if value == 0 else 1, neighbours=1)
    assert by_weight.objective == pytest.approx(same.objective, rel=1e-12)
    with pytest.raises(DesignError, match="pairs of values"):
        dt.design([0, 5, 10], alpha="1/2", neighbours=Path("l.csv"))


BAD_PRIORS = {
    "value,chance\n0,1\n": r"'value', 'chance'; call them value and probability",
    "value,weight\n0,1\n0,2\n": "'0' twice",
    "value,weight\n0,1\n1\n": "has not 2 cells",
    "value,weight\n0,0\n1,0\n": "All weights in p.csv are 0",
    "value,weight\n0,-1\n1,2\n": "a weight is a finite number of 0 or more",
    "value,weight\n9,1\n": "'9' is not on 0..3",
    "value,probability\n0,0.5\n1,0.4\n": "sums to 0.9",
    "0.5,0.5\n": "has 2 of the 4 probabilities",
    "": "is empty",
    '{"0": 0.5, "0": 0.5}': "'0' twice",
    '{"laws": [1]}': '"weights" or "probabilities"',
    "[0.5, 0.5": "is not JSON",
    "[NaN, 1, 0, 0]": "not a probability",
    '"abc': "called|CSV",
}


@pytest.mark.parametrize("text", BAD_PRIORS)
def test_what_is_no_prior_is_told(text):
    with pytest.raises(PriorError, match=BAD_PRIORS[text]):
        prior_of(write("p.csv", text), GRID)


BAD_LOSSES = {
    "0,1\n1,0\n": "must have 4 rows and 4 columns, not 2 and 2",
    "truth,0,1,2,2\n": "'2' twice",
    "truth,0,1,2,3\n0,0,1,2,3\n": "1 lines and 4 columns",
    "truth,0,1,2,9\n": "'9' is not on 0..3",
    "truth,0,1,2,3\n0,0,1,2,3\n1,1,0,1\n2,2,1,0,1\n3,3,2,1,0\n": "Line 3 of l.csv has 4 cells",
    "0,1,2,3\n1,0,1,2\n2,1,0,-1\n3,2,1,0\n": "Row 2, column 3 of the loss in l.csv is '-1'",
    "{}": "must be a list of rows",
    "[[0,1],[1]]": "all of one length",
}


@pytest.mark.parametrize("text", BAD_LOSSES)
def test_what_is_no_loss_is_told(text):
    with pytest.raises(LossError, match=BAD_LOSSES[text]):
        loss_of(write("l.csv", text), GRID, GRID)


def test_a_text_never_opens_a_file():
    """Texts come from forms of the studio and from other people's records too."""
    write("p.csv", "1,0,0,0")
    write("l.csv", "0,0,0,0\n" * 4)
    with pytest.raises(PriorError, match=r"not known.*Path\('p\.csv'\)"):
        prior_of("p.csv", GRID)
    with pytest.raises(LossError, match=r"not known.*Path\('l\.csv'\)"):
        loss_of("l.csv", GRID, GRID)
    with pytest.raises(dt.errors.MetricError, match=r"not known.*Path\('l\.csv'\)"):
        dt.check_privacy(dt.uniform(3), neighbours="l.csv")
    assert prior_of(Path("p.csv"), GRID).weights == (1, 0, 0, 0)


def test_files_that_cannot_be_read():
    for path in (Path("nowhere.csv"), Path(), Path("a\0b")):
        with pytest.raises(PriorError, match=r"cannot be read .*path of the prior"):
            prior_of(path, GRID)
    Path("b.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LossError, match="no text in UTF-8"):
        loss_of(Path("b.csv"), GRID, GRID)


def test_a_file_that_is_too_large_says_so(monkeypatch):
    path = write("p.csv", "1,0,0,0")
    monkeypatch.setattr("discreet.exact.small_files._MOST", 7)
    assert prior_of(path, GRID).weights == (1, 0, 0, 0)
    monkeypatch.setattr("discreet.exact.small_files._MOST", 6)
    with pytest.raises(PriorError, match="too large for the prior; give at most 6 bytes"):
        prior_of(path, GRID)


@pytest.mark.parametrize("text", ["value,weight\n{},0\n", '{{"0": 0, "{}": 0}}'])
def test_one_name_twice_among_many_is_found_at_once(text):
    """In one pass: comparing every two of 200,000 would not end while anybody waits."""
    many = range(200_000)
    names = (
        ",0\n".join(map(str, (*many, many[-1]))) if text[0] == "v" else '": 0, "'.join(map(str, (*many[1:], many[-1])))
    )
    with pytest.raises(PriorError, match="'199999' twice"):
        prior_of(write("p.csv", text.format(names)), GRID)


def test_functions_that_are_no_priors():
    with pytest.raises(PriorError, match="weight of the value 2 is -1"):
        prior_of(lambda value: 1 - value, dt.Grid(0, 2))
    with pytest.raises(PriorError, match="every value the weight 0"):
        prior_of(lambda value: 0, GRID)


def test_a_mechanism_file_is_no_prior_and_no_loss():
    dt.geometric(3, alpha="1/2").save("m.json")
    with pytest.raises(PriorError, match=r"m\.json has the format 'discreet-mechanism', and is no file of the prior"):
        prior_of(Path("m.json"), GRID)
    with pytest.raises(LossError, match=r"m\.json has the format 'discreet-mechanism', and is no file of the loss"):
        loss_of(Path("m.json"), GRID, GRID)


def test_a_prior_is_a_function_of_one_value():
    with pytest.raises(PriorError, match="A prior is a function of one value"):
        prior_of(lambda value, other: 1, GRID)
    assert law(prior_of(lambda value, more=1: more, GRID)) == [Fraction(1, 4)] * 4


def test_floats_of_a_function_are_those_of_a_list():
    """Both are the binary numbers that they are; a text is the decimal."""
    chances = [0.1, 0.2, 0.3, 0.4]
    assert law(prior_of(lambda value: chances[value], GRID)) == law(prior_of(chances, GRID))
    assert law(prior_of(lambda value: f"0.{value + 1}", GRID)) == [Fraction(k, 10) for k in (1, 2, 3, 4)]
