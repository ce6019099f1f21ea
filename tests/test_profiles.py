"""The number of examples follows the profile."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import profiles
from tests.profiles import examples


def test_the_profile_scales_the_number():
    assert [examples(60, name) for name in ("dev", "check", "campaign")] == [15, 60, 600]


def test_a_search_keeps_a_few_examples():
    assert [examples(number, "dev") for number in (1, 4, 5, 12, 20, 24)] == [1, 4, 5, 5, 5, 6]


@pytest.mark.parametrize("name", profiles.SHARES)
def test_the_environment_chooses(monkeypatch, name):
    monkeypatch.setenv(profiles.VARIABLE, name)
    assert profiles.current() == name
    assert examples(40) == examples(40, name)


def test_an_unknown_profile_is_refused_with_the_names_of_all(monkeypatch):
    monkeypatch.setenv(profiles.VARIABLE, "thorough")
    with pytest.raises(ValueError, match="'thorough'; choose one of dev, check, campaign"):
        profiles.current()


def test_hypothesis_tries_that_many():
    tried = []

    @settings(max_examples=examples(60), database=None)
    @given(st.integers())
    def searched(number):
        tried.append(number)

    searched()
    assert len(tried) == examples(60)
    assert settings().max_examples == examples(profiles.USUAL)
