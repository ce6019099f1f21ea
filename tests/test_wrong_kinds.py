"""What is of the wrong kind altogether gets a sentence of ours, and never Python's TypeError."""

from __future__ import annotations

import pytest

import discreet as dt
from discreet.errors import DiscreetError, FileError, LedgerError, LossError
from tests.cells import for_each

GEOMETRIC = dt.geometric(8, alpha="1/2")


@for_each("wrong", [5, None, b"name", ["a"], 1.5])
@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (dt.load, FileError),
        (GEOMETRIC.save, FileError),
        (dt.Ledger, LedgerError),
    ],
)
def test_a_file_is_named_by_a_text_or_a_path(call, kind, wrong):
    with pytest.raises(kind, match=r"[Gg]ive"):
        call(wrong)


def test_intervals_are_many():
    with pytest.raises(DiscreetError, match="give the two ends for each report"):
        dt.measure.coverage(GEOMETRIC, 5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda wrong: dt.expected_loss(GEOMETRIC, wrong),
        lambda wrong: dt.design(4, alpha="1/2", loss=wrong),
        lambda wrong: dt.theory.user_utility(GEOMETRIC, wrong),
    ],
)
def test_a_loss_is_a_function_of_two_values(ask):
    with pytest.raises(LossError, match="function of two values"):
        ask(lambda error: abs(error))
    with pytest.raises(TypeError):  # a mistake within the function is the author's own, and shown
        ask(lambda truth, report: len(truth))
