"""The errors: the tree that is drawn is the tree that is, and messages name commands that work."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

from discreet import errors
from discreet.errors import DiscreetError, MissingExtraError

ROOT = Path(__file__).parent.parent


def drawn(text: str) -> dict[str, str]:
    """Every name in the tree with the name it hangs from: that of the last line above that starts further left."""
    parents, path = {}, []
    for line in text.splitlines():
        found = re.match(r"^([ │├└─]*)(\w+(?:Error))\b", line)
        if found and (path or found[2] == "ValueError"):
            depth = len(found[1])
            path = [(d, name) for d, name in path if d < depth]
            parents[found[2]] = path[-1][1] if path else "Exception"
            path.append((depth, found[2]))
    return parents


def test_the_drawn_tree_is_that_of_the_classes():
    classes = {name: c for name, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, DiscreetError)}
    tree = {name: c.__bases__[0].__name__ for name, c in classes.items()}
    assert all(len(c.__bases__) == 1 for c in classes.values())
    assert drawn(errors.__doc__) == {"ValueError": "Exception", **tree}
    assert "ReleaseError" in tree


def test_the_comparison_sees_a_missing_and_a_moved_name():
    """Negative control."""
    whole = drawn(errors.__doc__)
    lines = errors.__doc__.splitlines()
    fewer = drawn("\n".join(line for line in lines if "SealError" not in line))
    assert set(whole) - set(fewer) == {"SealError"}
    moved = drawn(errors.__doc__.replace("│   └── BudgetError", "├── BudgetError"))
    assert (whole["BudgetError"], moved["BudgetError"]) == ("LedgerError", "DiscreetError")


def test_every_error_is_told_in_its_own_words():
    """One line in the tree, and a docstring of its own."""
    told = dict(re.findall(r"── (\w+Error) +(\S.*)", errors.__doc__))
    for name in drawn(errors.__doc__):
        if name != "ValueError":
            assert told[name]
            assert vars(errors)[name].__doc__


def test_extras_are_installed_by_a_command_that_works_today():
    """The package is not published: only a checkout can be installed from."""
    told = str(MissingExtraError.needing("Tables need DuckDB", "tables"))
    assert told == 'Tables need DuckDB; in a checkout of discreet, run pip install ".[tables]".'
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    asked = set()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pip install \S*discreet", text), path
        for several in re.findall(r'pip install (?:-e )?"?\.\[([\w,]+)\]', text):
            asked |= set(several.split(","))
        asked |= set(re.findall(r'MissingExtraError\.needing\(\s*[^"]*"[^"]*",\s*"(\w+)"\s*\)', text))
    assert asked == {"all", "tables", "frames", "excel", "postgres", "plots", "studio", "spark"}
    assert asked <= set(extras)
