"""The number of examples follows the profile; ids are the same in every worker, and a folder can stay on one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import profiles
from tests.conftest import folder_of, has_address
from tests.profiles import examples

TESTS = Path(__file__).parent


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


def test_a_folder_is_what_one_worker_runs():
    """Also where the text of a parameter looks like a path."""
    assert folder_of("tests/engines/test_spark.py::test_it[a/b::c]") == "tests/engines"
    assert folder_of("tests/test_site.py::test_it") == "tests/test_site.py"


def test_no_test_names_a_number_that_no_profile_can_change():
    literal = re.compile(r"max_examples=\d")
    assert literal.search("@settings(max_examples=" + "25)")
    assert not [path.name for path in sorted(TESTS.rglob("*.py")) if literal.search(path.read_text("utf-8"))]


def test_an_id_with_an_address_is_refused():
    """Each worker has another one, and pytest-xdist runs nothing where workers disagree."""
    assert has_address("tests/test_it.py::test_it[<object object at 0x7fc1dd990690>]")
    assert not has_address("tests/test_it.py::test_it[0x10-at 0 o'clock]")
