"""Every number reaches the library as the text that was typed: nothing is rounded on its way."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from discreet.cli.app import app
from discreet.cli.options import Number
from tests.cells import for_each
from tests.cli.test_cli import assert_one_good_error, gm, run  # noqa: F401
from tests.cli.test_grammar import ALL

TYPED = ["0.1", "1e-1", "1/2", "ln 2"]
WORDS = {
    str,
    bool,
    list[str],
    tuple[str, ...],
    tuple[str, str],
    list[tuple[str, str]],
}  # and choices: what cyclopts cannot change


def arguments(name: str) -> list[Any]:
    return [a for a in ALL[name].assemble_argument_collection() if a.names != ("*",)]


def kinds(hint: Any) -> set[Any]:
    """The types that an option may have, None apart; of a choice, that of its words."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    if type(None) in get_args(hint):
        return {kind for part in parts for kind in kinds(part)}
    return {type(part) for part in parts} if parts and all(isinstance(part, str) for part in parts) else {hint}


NUMBERS = [
    (name, next(n for n in a.names if n.startswith("--")))
    for name in ALL
    for a in arguments(name)
    if Number in kinds(a.hint) and any(n.startswith("--") for n in a.names)
]


def received(name: str, typed: dict[str, str]) -> dict[str, object]:
    """What a command is called with for options that were typed."""
    needed: list[str] = []
    for a in arguments(name):
        words = ["a", "b"] if kinds(a.hint) == {tuple[str, str]} else [next(iter(get_args(a.hint)), "a")]
        if a.required and not {*typed} & {*a.names}:
            named = next((n for n in a.names if n.startswith("--")), None)
            needed += [*([] if named is None else [named]), *(w if isinstance(w, str) else "a" for w in words)]
    options = [word for pair in typed.items() for word in pair]
    _, bound, _ = app.parse_args([*name.split(), *needed, *options], exit_on_error=False, print_error=False)
    values = bound.arguments
    keys = {option: option.removeprefix("--").replace("-", "_") for option in typed}
    return {option: values[key] if key in values else _shared(values, key) for option, key in keys.items()}


def _shared(values: dict[str, object], key: str) -> object:
    """The value of an option that several commands have in common."""
    return getattr(next(value for value in values.values() if hasattr(value, key)), key)


@for_each("name", ALL)
def test_no_option_has_a_type_that_changes_what_was_typed(name):
    for argument in arguments(name):
        assert kinds(argument.hint) <= {*WORDS, Number}, argument.names


def test_the_options_of_numbers_are_known():
    """So that the next test is about as many as there are, and about those where an int once stood."""
    assert {
        ("audit", "--draws"),
        ("audit", "--seed"),
        ("check", "--group"),
        ("collude", "--runs"),
        ("perturb", "--max-rows"),
        ("plan-reports", "--runs"),
        ("recover", "--iterations"),
        ("release", "--epsilon"),
        ("release", "--max-groups"),
        ("release", "--max-groups"),
        ("studio", "--port"),
    } <= {*NUMBERS}
    assert len(NUMBERS) > 90


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in NUMBERS))
def test_a_number_is_the_text_that_was_typed(name):
    """Every option of a command at once, each with every text in turn: none takes that of its neighbour."""
    options = [option for command, option in NUMBERS if command == name]
    for first in range(len(TYPED)):
        typed = {option: TYPED[(first + k) % len(TYPED)] for k, option in enumerate(options)}
        assert received(name, typed) == typed


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "gm.json", "--draws"],
        ["audit", "gm.json", "--seed"],
        ["check", "gm.json", "--group"],
        ["collude", "--alpha", "1/2", "--k", "3", "--runs"],
        ["plan-reports", "--n", "9", "--reports", "100", "--epsilon", "1", "--prior", "binomial(0.3)", "--runs"],
        ["plan-error", "--n", "9", "--epsilon", "1", "--neighbours"],
        ["studio", "--no-open", "--port"],
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_what_must_be_whole_is_refused_where_it_is_not(run, gm, words):  # noqa: F811
    """As an int, 0.1 was 0 and 1.5 was 2."""
    for text in ("0.1", "1/2", "1.5", "ln 2"):
        told = run(*words, text)
        assert_one_good_error(told)
        assert words[-1] in told.err or "neighbours" in told.err
    told = run(*words, "many")
    assert_one_good_error(told)


def test_whole_numbers_may_be_written_as_one_likes(run, gm):  # noqa: F811
    told = [run("audit", gm, "--draws", text, "--seed", "1", "--json") for text in ("1000", "1e3", "1000.0", "2000/2")]
    assert {answer.code for answer in told} == {0}
    assert len({answer.out for answer in told}) == 1
    steps = [run("check", gm, "--epsilon", "1", "--neighbours", text).out for text in ("2", "2.0", "4/2")]
    assert len(set(steps)) == 1
