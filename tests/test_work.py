"""The count of lines that stands in for a time: it sees loops of the package, and stops what does too much."""

from __future__ import annotations

import sys
from fractions import Fraction

import pytest

from discreet.exact import arithmetic
from tests.work import TooMuchWork, lines_of


def test_lines_of_the_package_are_counted_and_others_are_not():
    once = lines_of(lambda: arithmetic.parse_exact("1/3"))
    assert once > 0
    assert lines_of(lambda: [arithmetic.parse_exact("1/3") for _ in range(7)]) == 7 * once
    assert lines_of(lambda: [Fraction("1/3") for _ in range(7)]) == 0


def test_too_much_work_is_stopped_and_the_trace_put_back():
    before, done = sys.gettrace(), []
    with pytest.raises(TooMuchWork, match="more than 5 lines"):
        lines_of(lambda: [done.append(arithmetic.parse_exact("1/3")) for _ in range(10**9)], most=5)
    assert len(done) <= 5
    assert sys.gettrace() is before
