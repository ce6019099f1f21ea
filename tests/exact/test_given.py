"""Numbers are read once: what people write for a number is read alike everywhere, and refused alike."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import discreet as dt
from discreet.errors import (
    AuditError,
    DiscreetError,
    GridError,
    LevelError,
    LossError,
    MetricError,
    PriorError,
    RecoveryError,
    RemapError,
    SealError,
    StructureError,
    TableError,
)
from discreet.exact import given
from discreet.exact.level import Level
from discreet.measure.loss import loss_of
from discreet.measure.prior import prior_of
from discreet.measure.utility import bias, variance
from discreet.recovery.tallies import histogram_of
from tests.cells import for_each
from tests.ids import repr_id

EIGHT = [8, "8", " 8 ", "16/2", 8.0, Fraction(8), Decimal("8"), Decimal("8.0"), np.int64(8), np.uint8(8), np.float32(8)]
NO_NUMBER = [
    True,
    np.True_,
    None,
    "eight",
    "",
    [8],
    np.array([8]),
    float("nan"),
    float("inf"),
    Decimal("NaN"),
    8j,
    object(),
]
HALF = ["1/2", "0.5", 0.5, Fraction(1, 2), Decimal("0.5"), np.float64(0.5), np.float32(0.5)]


@pytest.mark.parametrize("value", EIGHT, ids=repr_id)
def test_a_whole_number_is_read_however_it_is_written(value):
    found = given.whole(value, "n")
    assert (found, type(found)) == (8, int)


@pytest.mark.parametrize("value", [*NO_NUMBER, 0, -8, 8.5, "1/3"], ids=repr_id)
def test_what_is_no_whole_number_is_refused_in_the_callers_class(value):
    with pytest.raises(
        GridError, match=r"base = .* must be a whole number of at least 2; write for example base=3\."
    ) as caught:
        given.whole(value, "base", 2, example=3, error=GridError)
    assert caught.value.value is value


def test_bounds_of_whole_numbers_are_said_in_words():
    assert given.whole(5, "k", 5, 5) == 5
    with pytest.raises(DiscreetError, match="from 20 to 100000; write for example draws=1000"):
        given.whole(100_001, "draws", 20, 100_000, example=1000)
    with pytest.raises(DiscreetError, match=r"from 1 to 2\^63 - 1;"):
        given.whole(2**63, "pass_number", 1, 2**63 - 1)
    with pytest.raises(DiscreetError, match=r"from 1 - 2\^256 to 2\^256 - 1;"):
        given.whole(2**256, "seed", 1 - 2**256, 2**256 - 1)


@pytest.mark.parametrize("value", HALF, ids=repr_id)
def test_a_share_is_read_exactly(value):
    assert given.share(value, "confidence", "how often") == Fraction(1, 2)


@pytest.mark.parametrize("value", [*NO_NUMBER, 0, 1, "1.0", -0.5, 2], ids=repr_id)
def test_no_share(value):
    with pytest.raises(AuditError, match=r'must lie between 0 and 1: how often; write for example confidence="0\.95"'):
        given.share(value, "confidence", "how often", error=AuditError)


def test_the_ends_of_a_closed_share_and_of_positive_numbers():
    assert [given.share(x, "p", "a part", closed=True) for x in (0, "1")] == [0, 1]
    assert given.positive("1e-9", "gap") == Fraction(1, 10**9)
    assert given.positive(0, "error", zero=True) == 0
    for value, zero in ((0, False), (-1, True), (float("inf"), False)):
        with pytest.raises(DiscreetError, match="gap = "):
            given.positive(value, "gap", zero=zero)


# Laws


def test_a_law_is_read_from_numbers_of_any_kind():
    mixed = ["1/4", Fraction(1, 4), 0.25, Decimal("0.25")]
    assert given.weights(given.law(mixed, "The law")) == (1, 1, 1, 1)
    for kind in (list, tuple, np.array, iter, lambda x: np.array(x, dtype=object)):
        assert given.weights(given.law(kind([0.5, 0.25, 0.25]), "The law")) == (2, 1, 1)


def test_a_law_of_floats_is_what_its_binary_values_are():
    """0.1 + 0.2 + 0.7 is not 1, but nearer to it than floats can tell: the weights are those of the floats."""
    chances = [0.1, 0.2, 0.7]
    found = given.weights(given.law(chances, "The law"))
    for i in range(3):
        assert Fraction(found[i], sum(found)) == Fraction(chances[i]) / sum(map(Fraction, chances))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.5, 0.6], "The law sums to 1.1; probabilities must sum to 1"),
        ([1.5, -0.5], "1.5 at position 0"),
        ([0.5, True], "True at position 1"),
        ("uniform", "must be a list of at least one number"),
        ([], "at least one"),
        ({0: 1}, "must be a list of at least one number"),
        ({0.5}, "must be a list"),
        ([[0.5, 0.5]], "must be a list"),
        (3, "must be a list"),
        (np.ma.array([0.5, 0.5], mask=[0, 1]), "must be a list"),
        (np.array([1, 2], dtype="m8[s]"), "must be a list"),
        (["a", 1], "'a' at position 0, which is not a probability"),
    ],
)
def test_what_is_no_law(values, words):
    with pytest.raises(PriorError, match=words):
        given.law(values, "The law", error=PriorError)


def test_a_law_may_lie_a_rounding_below_zero_only_where_that_is_said():
    assert given.law([1.0, -1e-12], "The law", below=given.WITHIN) == [1.0, 0.0]
    with pytest.raises(DiscreetError, match="-1e-12 at position 1"):
        given.law([1.0, -1e-12], "The law")


# Matrices


@pytest.mark.parametrize("kind", [list, np.array, lambda x: map(tuple, x), lambda x: [np.array(row) for row in x]])
def test_a_matrix_is_read_from_rows_of_any_kind(kind):
    assert given.matrix(kind([[0, 1], [2, 3]]), "The loss") == [[0, 1], [2, 3]]


def test_an_entry_is_named_by_row_and_column():
    with pytest.raises(SealError, match="Row 1, column 0 of the matrix is 'x', which is not a probability") as caught:
        given.stochastic([["1/2", "1/2"], ["x", 1]], "The matrix", error=SealError)
    assert (caught.value.row, caught.value.column) == (1, 0)
    with pytest.raises(SealError, match=r"Row 1 of the matrix sums to 0\.75") as caught:
        given.stochastic([["1/2", "1/2"], ["1/2", "1/4"]], "The matrix", error=SealError)
    assert caught.value.row == 1


@pytest.mark.parametrize(
    "bad",
    [
        [[1, 2], [3]],
        [[], []],
        [],
        "ab",
        ["ab", "cd"],
        3,
        None,
        [1, 2],
        np.eye(2)[0],
        np.ma.array([[1, 2]], mask=[[0, 1]]),
        {0: [1]},
        np.zeros((2, 2, 2)),
        [[1, 2], None],
    ],
    ids=repr_id,
)
def test_what_is_no_matrix(bad):
    with pytest.raises(LossError, match="must be a list of rows of numbers, all of one length"):
        given.matrix(bad, "The loss", error=LossError)


# One reading, wherever a number is taken


ONE = dt.geometric(8, alpha="1/2")
SEEN = dt.recover([40, 30, 20, 30, 40, 20, 10, 10, 5], ONE, "mle", kind="counts")


@pytest.mark.parametrize("value", EIGHT, ids=repr_id)
def test_n_and_other_whole_numbers_take_every_kind(value):
    assert dt.geometric(value, alpha="1/2").digest == ONE.digest
    assert dt.uniform(value).inputs == dt.Grid.of(8)
    assert dt.check_privacy(ONE, alpha="1/256", group=value).holds
    assert not dt.check_privacy(ONE, alpha="1/255", group=value).holds
    assert dt.traditional.random_rounding(9, base=value).outputs.step == 8
    assert dt.queries.exact_mean([8] * 8, dt.Grid(0, 10), size=value) == 8
    assert dt.recover(SEEN.counts, ONE, "ibu", kind="counts", iterations=value).iterations == 8
    assert dt.insecure_source(value).word() == dt.insecure_source(8).word()
    assert SEEN.band(0.9, 100, value)[0].tolist() == SEEN.band(0.9, 100, 8)[0].tolist()


@pytest.mark.parametrize("value", [True, np.True_, None, "many", 0.5, [8]], ids=repr_id)
def test_no_whole_number_is_one_anywhere(value):
    for call in (
        lambda: dt.geometric(value, alpha="1/2"),
        lambda: dt.check_privacy(ONE, group=value),
        lambda: dt.traditional.random_rounding(9, base=value),
        lambda: dt.queries.exact_mean([8], dt.Grid(0, 10), size=value),
        lambda: dt.insecure_source(value),
        lambda: SEEN.band(draws=value),
        lambda: dt.audit(ONE, draws=value),
    ):
        with pytest.raises(DiscreetError, match=r"whole number|integer"):
            call()


def test_an_auditor_takes_its_numbers_as_people_write_them():
    plain = dt.audit(ONE, draws=1000, confidence=0.999, source=dt.insecure_source(1))
    for draws, confidence in ((np.int64(1000), "0.999"), ("1000", Fraction(999, 1000)), (1000, np.float64(0.999))):
        told = dt.audit(ONE, draws=draws, confidence=confidence, source=dt.insecure_source(np.int64(1)))
        assert told.epsilon_lower == pytest.approx(plain.epsilon_lower, rel=1e-9)
        assert type(told.confidence) is float


@pytest.mark.parametrize("half", HALF, ids=repr_id)
def test_every_confidence_takes_every_kind(half):
    assert SEEN.interval(half) == SEEN.interval(0.5)
    assert SEEN.quantile(half) == SEEN.quantile(0.5)
    assert SEEN.band(half, 50, 1)[0].tolist() == SEEN.band(0.5, 50, 1)[0].tolist()
    assert dt.measure.confidence_interval(ONE, 3, half) == dt.measure.confidence_interval(ONE, 3, "1/2")
    assert dt.measure.credible_interval(ONE, 3, confidence=half) == dt.measure.credible_interval(
        ONE, 3, confidence="1/2"
    )


@pytest.mark.parametrize("bad", [True, 0, 1, "often", None], ids=repr_id)
def test_every_confidence_is_refused_in_one_wording(bad):
    for error, call in (
        (RecoveryError, lambda: SEEN.interval(bad)),
        (RecoveryError, lambda: SEEN.band(bad)),
        (DiscreetError, lambda: dt.measure.confidence_interval(ONE, 3, bad)),
        (DiscreetError, lambda: dt.measure.credible_interval(ONE, 3, confidence=bad)),
        (AuditError, lambda: dt.audit(ONE, confidence=bad)),
    ):
        with pytest.raises(error, match=r"confidence = .* must lie between 0 and 1: .*; write for example confidence="):
            call()


# Levels


def test_a_level_stands_wherever_its_text_does_and_keeps_the_epsilon_that_was_asked():
    level = Level.of(epsilon="1/3")
    for made in (
        dt.geometric(8, alpha=level),
        dt.geometric(8, epsilon=level),
        dt.explicit_fair(8, alpha=level),
        dt.laplace(epsilon=level),
        dt.design(4, alpha=level).mechanism,
    ):
        assert made.level is level
        assert str(made.level) == "epsilon 1/3"
    assert dt.check_privacy(dt.geometric(8, alpha=level), epsilon=level).asked is level


@pytest.mark.parametrize("alpha", [Fraction(0), Fraction(1)])
def test_a_measured_level_of_nothing_or_of_all_cannot_be_asked_for(alpha):
    for name in ("alpha", "epsilon"):
        with pytest.raises(LevelError, match=r"outside \(0, 1\)"):
            Level.of(**{name: Level(alpha)})


# Mechanisms


ASKED = [
    dt.check_privacy,
    dt.properties,
    dt.measure.explain,
    lambda m: dt.expected_loss(m, "l1"),
    lambda m: dt.measure.worst_loss(m, "l1"),
    bias,
    variance,
    dt.measure.rmse,
    lambda m: dt.measure.best_remap(m, "l2"),
    dt.measure.bayes_risk,
    dt.theory.vulnerability,
    lambda m: dt.measure.posterior(m, 0),
    lambda m: dt.measure.credible_interval(m, 0),
    lambda m: dt.measure.confidence_interval(m, 0),
    dt.measure.unbiased_estimate,
    lambda m: dt.measure.coverage(m, []),
    dt.theory.derivable,
    lambda m: dt.recover([1, 2, 3], m),
    lambda m: dt.check_privacy(m, alpha="1/2"),
]


@pytest.mark.parametrize("ask", ASKED)
@for_each("matrix", [[[0.5, 0.5], [0.5, 0.5]], np.eye(2), ((1, 0), (0, 1))])
def test_a_matrix_in_place_of_a_mechanism_is_told_where_to_go(ask, matrix):
    with pytest.raises(DiscreetError, match="from_matrix"):
        ask(matrix)


@pytest.mark.parametrize("ask", ASKED)
@for_each("other", [None, 3, "m.json", dt.Grid.of(3), {}, dt.geometric])
def test_what_else_is_no_mechanism_gets_a_sentence(ask, other):
    with pytest.raises(DiscreetError, match="no mechanism"):
        ask(other)


def test_a_design_in_place_of_a_mechanism_is_told_that_it_has_one():
    with pytest.raises(DiscreetError, match=r"give its \.mechanism"):
        dt.properties(dt.design(4, alpha="1/2"))


# Names in any case, one order of arguments


@pytest.mark.parametrize("name", ["L0", " l1 ", "L2", "Lp(3)", "TAIL(2)", "Threshold(5)", "ASYMMETRIC(1, 3)"])
def test_losses_are_read_in_any_case(name):
    grid = dt.Grid.of(8)
    assert loss_of(name, grid, grid).name == loss_of(name.strip().lower(), grid, grid).name
    assert dt.expected_loss(ONE, name) == dt.expected_loss(ONE, name.lower())
    assert dt.measure.best_remap(ONE, name) == dt.measure.best_remap(ONE, name.lower())


def test_a_large_mechanism_reads_them_too():
    large = dt.geometric(10**5, alpha="1/2")
    assert dt.measure.best_remap(large, "L1") == dt.measure.best_remap(large, "l1")
    assert dt.design(2000, alpha="9/10", loss="L1").objective == dt.design(2000, alpha="9/10", loss="l1").objective
    assert dt.noise.staircase(epsilon=1, gamma="L2").gamma == dt.noise.staircase(epsilon=1, gamma="l2").gamma
    assert dt.noise.geometric(alpha="1/2").expected_loss("L2") == 4


@pytest.mark.parametrize("name", ["Uniform", "BINOMIAL(0.3)", "Normal(4, 2)", " beta(2, 5)"])
def test_priors_are_read_in_any_case(name):
    assert prior_of(name, dt.Grid.of(8)).weights == prior_of(name.lower(), dt.Grid.of(8)).weights


@pytest.mark.parametrize("require", ["wh, cm", "WH CM", {"wh", "cm"}, ["Wh", " CM "], ("cm", "WH")])
def test_properties_are_read_in_any_case(require):
    assert dt.design(4, alpha="9/10", require=require).problem.require == {"WH", "CM"}


@pytest.mark.parametrize("bad", [3, None, [3], "XX", {"wh": 1, 4: 2}])
def test_what_names_no_property(bad):
    with pytest.raises(StructureError, match=r"use .*WH"):
        dt.design(4, alpha="9/10", require=bad)


def test_gains_are_read_in_any_case():
    assert dt.theory.user_utility(ONE, "DISTANCE", exact=True) == dt.theory.user_utility(
        ONE, gain="distance", exact=True
    )


def test_the_order_is_mechanism_loss_prior():
    law = [0.5, 0.25, 0.25] + [0] * 6
    by_name = dt.measure.bayes_risk(ONE, loss="l1", prior=law, exact=True)
    assert dt.measure.bayes_risk(ONE, "l1", law, exact=True) == by_name
    assert dt.theory.user_utility(ONE, "distance", law, exact=True) == 8 - by_name
    for prior in (law, tuple(law), np.array(law), {0: 0.5, 1: 0.25, 2: 0.25}, prior_of(law, ONE.inputs)):
        assert dt.measure.bayes_risk(ONE, prior, exact=True) == dt.measure.bayes_risk(
            ONE, prior=law, exact=True
        )  # the loss left out
        assert dt.theory.user_utility(ONE, prior, exact=True) == dt.theory.user_utility(ONE, prior=law, exact=True)
    assert dt.measure.bayes_risk(ONE, "Binomial(0.3)") == dt.measure.bayes_risk(ONE, prior="binomial(0.3)")


def test_arguments_in_another_order_are_told_the_right_one():
    for wrong in (("binomial(0.3)", "l1"), ([1] + [0] * 8, "l1"), ({0: 1}, "l1")):
        with pytest.raises(LossError, match=r"\(mechanism, loss, prior\)"):
            dt.measure.bayes_risk(ONE, *wrong)
    with pytest.raises(LossError, match="say prior='uniform'"):
        dt.expected_loss(ONE, "uniform")


def test_a_histogram_is_a_kind_of_counts():
    assert histogram_of(SEEN.counts, ONE, "histogram").tolist() == SEEN.counts.tolist()
    few = dt.geometric(3, alpha="1/2")
    assert dt.recover([1, 2, 3, 1], few, kind="histogram").counts.tolist() == [1, 2, 3, 1]


# Places


def test_the_place_of_a_value_is_found_in_one_way():
    grid = dt.Grid("1/2", "5/2", "1/2")
    for value in ("3/2", 1.5, Fraction(3, 2), Decimal("1.5"), np.float64(1.5)):
        assert (grid.place(value), grid.place_of(value, "The report"), grid.position(value)) == (2, 2, 2)
    for value in ("1.6", 3, True, None, "x"):
        with pytest.raises(
            MetricError, match=r"The report .* is not on 1/2\.\.5/2 in steps of 1/2; give a value of the grid"
        ):
            grid.place_of(value, "The report", MetricError)


def test_a_remap_takes_texts_and_numpy_numbers_for_values():
    plain = dt.uniform(2).remap([0, 1, 1])
    assert dt.uniform(2).remap(["0", np.int64(1), 1.0]).digest == plain.digest
    with pytest.raises(RemapError, match="True, which is not on the grid"):
        dt.uniform(2).remap([0, True, 1])
    with pytest.raises(TableError, match="at least 2 rows"):
        dt.theory.user_utility([[1.0]], query=[0])
