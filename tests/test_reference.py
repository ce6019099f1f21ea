"""The pages of names: every public name has its entry, with types, and an example that is run."""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import discreet
from tests.cells import for_each
from tests.test_documentation import WITH_EXAMPLES

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)

PAGES = reference.pages()
NAMES = [(face, name) for face in ("", *reference.FACES) for name in reference.public_names(face)]


def thing(face, name):
    return getattr(getattr(discreet, face) if face else discreet, name)


def page(face):
    return PAGES[f"discreet.{face}.md".replace("..", ".")]


def has_run_example(value) -> bool:
    """An example in its docstring, in a module whose docstrings are run."""
    return ">>> " in (inspect.getdoc(value) or "") and value.__module__ in WITH_EXAMPLES


def test_there_is_a_page_for_every_public_module():
    """But for the house's own ones, which no stub names."""
    modules = {name for name in discreet.__all__ if inspect.ismodule(getattr(discreet, name))}
    assert modules == set(reference.FACES)
    assert set(PAGES) == {"discreet.md", *(f"discreet.{name}.md" for name in modules)}
    listed = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    assert re.findall(r"^(discreet\S*)$", listed, re.MULTILINE) == [name.removesuffix(".md") for name in PAGES]


@for_each("face, name", NAMES)
def test_every_name_has_an_entry_with_an_anchor(face, name):
    path = f"{face}.{name}".lstrip(".")
    entry = page(face).partition(f"({reference.anchor(path)})=\n")[2].partition("\n(dt.")[0]
    assert re.match(rf"##+ dt\.{re.escape(path)}\n", entry)
    assert f"| {reference.link(path)} |" in page(face)  # in the table at the top
    assert inspect.getdoc(thing(face, name))


@for_each("face, name", [(face, name) for face, name in NAMES if face != "errors"])
def test_every_name_has_an_example(face, name):
    """Functions, and the classes on top, in their own words. Results and distributions come from calls that have one."""
    value = thing(face, name)
    if inspect.isfunction(value) or not face:
        assert has_run_example(value)
    else:
        kinds = [kind for kind in reference._classes().values() if value in kind.__mro__[1:]]
        assert has_run_example(value) or name in reference.givers() or kinds


def test_errors_have_one_example_together():
    assert ">>> " in discreet.errors.__doc__
    assert "discreet.errors" in WITH_EXAMPLES


def test_a_name_without_an_example_is_found():
    def bare():
        """Words alone."""

    def shown():
        """>>> 1
        1
        """

    assert not has_run_example(bare)
    assert not has_run_example(shown)  # this module's docstrings are not run
    assert has_run_example(discreet.geometric)


def test_anchors_differ_by_more_than_case():
    anchors = [reference.anchor(f"{face}.{name}".lstrip(".")).lower() for face, name in NAMES]
    assert len(set(anchors)) == len(anchors)
    assert reference.anchor("noise.Laplace") == "dt.noise.Laplace-type"


def test_signatures_have_types():
    for face, name in NAMES:
        value = thing(face, name)
        if inspect.isfunction(value):
            for p in inspect.signature(value).parameters.values():
                assert p.annotation is not p.empty, (face, name, p.name)
    entry = page("").partition("(dt.geometric)=")[2].partition("\n(dt.")[0]
    assert "alpha: LevelLike | None = None" in entry
    assert ") -> Mechanism" in entry


def test_results_say_which_call_gives_them():
    entry = page("results").partition("(dt.results.Verdict)=")[2].partition("\n(dt.")[0]
    assert "Given by [`dt.check_privacy`](#dt.check_privacy)" in entry
    assert "`.witness: Witness | None`" in entry
    assert "`.to_csv()`" in entry.partition("as every [`dt.results.Result`]")[0]  # told once, there
    assert ".to_csv(path: " not in entry
    assert ".to_csv(path: " in page("results").partition("(dt.results.Result)=")[2].partition("\n(dt.")[0]
    call = page("").partition("(dt.check_privacy)=")[2].partition("\n(dt.")[0]
    assert "Returns [`dt.results.Verdict`](#dt.results.Verdict)" in call


@pytest.mark.parametrize(
    ("text", "must"), [("per_row", "per\\_row"), ("`a_b` c_all", "`a_b` c\\_all"), ("p[i] < q", "p\\[i\\] \\< q")]
)
def test_marks_are_escaped_outside_code(text, must):
    assert reference._escaped(text) == must


@pytest.mark.parametrize(
    ("text", "must"),
    [
        ("e^epsilon, 2^-128.", "e<sup>epsilon</sup>, 2<sup>-128</sup>."),
        ("q^(k^2) of a^|k|", "q<sup>k<sup>2</sup></sup> of a<sup>\\|k\\|</sup>"),
        ("(1 + x^2)^(-(d+1)/2)", "(1 + x<sup>2</sup>)<sup>-(d+1)/2</sup>"),
        ("x_{j-1} and `x_j^2`", "x<sub>j-1</sub> and `x_j^2`"),
    ],
)
def test_exponents_and_indices_are_set_as_such_outside_code(text, must):
    assert reference._escaped(text) == must
