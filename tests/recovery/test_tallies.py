"""Which columns of a table have the reports and their counts: what its names say, or a question, or a refusal."""

from __future__ import annotations

import pytest

import discreet as dt
from discreet.errors import RecoveryError
from discreet.recovery.tallies import chosen_columns


@pytest.mark.parametrize(
    ("names", "given", "columns"),
    [
        (("y",), {}, ("y", None)),
        (("age", "count"), {}, ("age", "count")),
        (("count", "age"), {}, ("age", "count")),
        (("Age", "Count"), {}, ("Age", "Count")),
        (("count",), {}, ("count", None)),
        (("id", "report"), {}, (None, None)),
        (("id", "report", "count"), {}, (None, None)),
        (("count", "Count"), {}, (None, None)),
        (("id", "report", "count"), {"column": "report"}, ("report", "count")),
        (("id", "report", "count", "n"), {"column": "report", "counts": "n"}, ("report", "n")),
        (("age", "count"), {"column": "count"}, ("count", None)),
        (("id", "report"), {"column": "report"}, ("report", None)),
        (("age", "count"), {"column": "age", "counts": False}, ("age", None)),
        (("age", "count"), {"counts": False}, (None, None)),
        (("region", "age", "count"), {"by": ("region",)}, ("age", "count")),
        (("region", "age"), {"by": ("region",)}, ("age", None)),
    ],
)
def test_columns_are_taken_by_their_names_or_asked_for(names, given, columns):
    assert chosen_columns(names, **{"column": None, **given}) == columns


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"column": "nobody"}, "no column 'nobody'"),
        ({"column": "report", "counts": "report"}, "both reports and counts"),
        ({"column": "report", "counts": "nobody"}, "no column 'nobody'"),
        ({"column": "id", "by": ("id",)}, "no column 'id' beside the groups"),
        ({"column": "report", "counts": "id", "by": ("id",)}, "no column 'id' beside the groups"),
    ],
)
def test_what_does_not_fit_the_names_is_refused(given, words):
    with pytest.raises(RecoveryError, match=words):
        chosen_columns(("id", "report"), **given)


@pytest.mark.parametrize("names", [("3",), ("1", "5"), ("1e-9999999",), ("+3.0",), ("1.000,5",), ("a17", "3", "count")])
def test_a_first_line_of_reports_is_not_lost(names):
    with pytest.raises(RecoveryError, match="put a line of names above"):
        chosen_columns(names, "3" if "a17" in names else None)


def test_a_name_of_the_mechanism_is_no_name_of_a_column():
    outputs = dt.randomized_response(["yes", "no"], epsilon=1).outputs
    with pytest.raises(RecoveryError, match="put a line of names above"):
        chosen_columns(("yes",), None, outputs=outputs)
    assert chosen_columns(("answer",), None, outputs=outputs) == ("answer", None)
    assert chosen_columns(("yes",), None) == ("yes", None)
