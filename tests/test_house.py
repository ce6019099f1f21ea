"""The house: public names, lazy loading, the arrows of the design, small rooms."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# Each room may look into the rooms above it in this list, and into none below: arrows point one way.
FLOORS = [
    {"verify", "errors", "blas"},
    {"exact", "source", "formats"},
    {"level", "grid", "draws"},
    {"positions", "digits", "loss", "prior", "present", "present.shown", "present.words", "present.html"},
    {"noise.expectation"},
    {"noise.contract"},
    {"noise.geometric", "noise.stairs", "noise.continuous", "noise.heavy", "noise.ongrid"},
    {"noise"},
    {"channels.contract"},
    {"channels.ratios", "channels.shape"},
    {"channels.table"},
    {"channels.geometric", "channels.keep", "channels.then", "channels.additive"},
    {"channels"},
    {"seal", "sampling"},
    {"sums"},
    {"mechanism"},
    {"mechanisms", "mechanisms.geometric", "mechanisms.fair", "mechanisms.response", "mechanisms.uniform"},
    {"mechanisms.laplace", "mechanisms.matrix", "mechanisms.rounding"},
    {"mechanisms.staircase"},
    {"privacy", "structure"},
    {"utility", "files", "auditing", "readings"},
    {"remaps", "posteriors"},
    {"designs", "designs.problem"},
    {"designs.certificate"},
    {"designs.constraints", "designs.theorems", "designs.factors"},
    {"designs.folded", "designs.full"},
    {"designs.interior"},
    {"designs.making"},
    {"designs.weak"},
    {"catalogue"},
    {"derivation", "graphs"},
    {"universality"},
    {"distances", "recovery", "recovery.contract"},
    {"recovery.reports", "recovery.inverse", "recovery.ibu", "recovery.knots", "recovery.bands"},
    {"recovery.mle", "recovery.bumps", "recovery.heldout"},
    {"recovery.smoothing"},
    {"recovery.auto"},
    {"recovery.estimate"},
    {"recovery.making"},
    {"recovery.sizes"},
    {"planning"},
    {"tables"},
    {"tables.stores", "tables.kinds", "tables.margins", "tables.predicate", "tables.domain"},
    {"tables.chain", "tables.counting", "tables.postgres"},
    {"tables.ledger"},
    {"tables.question"},
    {"tables.results"},
    {"tables.release", "tables.pages"},
    {"terminal"},
    {"cli.app"},
    {"cli.mechanisms", "cli.designs", "cli.tables"},
    {"cli.recovery"},
    {"cli.tour"},
    {"cli"},
    {""},
]
FLOOR = {name: k for k, names in enumerate(FLOORS) for name in names}

# The only imports that point upwards: all inside functions, so that loading a room never loads what stands on it.
UPWARD = {("mechanism", "files")}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> list[tuple[str, bool]]:
    """Every module of the package that a file imports, and whether inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = list(path.relative_to(SOURCE).with_suffix("").parts)
    inside = {id(node) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for node in ast.walk(f)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level]
            target = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{target}.{a.name}".strip(".") for a in node.names]
            found += [(name if name in FLOOR else target, id(node) in inside) for name in names]
    return found


def test_every_room_has_a_floor():
    assert {module_name(path) for path in FILES} == set(FLOOR)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_arrows_point_one_way(path):
    me = module_name(path)
    if me == "":
        return
    for target, lazy in imports(path):
        if (me, target) in UPWARD:
            assert lazy, f"{me} may import {target} only inside a function"
        else:
            assert FLOOR[target] < FLOOR[me], f"{me} looks up at {target}"


def test_verify_stands_alone():
    tree = ast.parse((SOURCE / "verify.py").read_text(encoding="utf-8"))
    names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    assert not any(n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))


def test_every_public_name_works_twice_in_a_fresh_interpreter():
    """Lazy loading must not let a module shadow a function of the same name."""
    code = """
import discreet, types
for _ in range(2):
    for name in discreet.__all__:
        value = getattr(discreet, name)
        assert isinstance(value, types.ModuleType) == (discreet._HOME[name] is None), name
import discreet.mechanisms.geometric, discreet.mechanisms.uniform
assert callable(discreet.geometric) and callable(discreet.uniform)
from discreet import *
assert geometric(2, alpha="1/2")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_table_of_names_is_the_type_checkers_view():
    tree = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    block = next(n for n in tree.body if isinstance(n, ast.If))
    seen = {a.asname: (n.module or "") for n in block.body if isinstance(n, ast.ImportFrom) for a in n.names}
    assert {name: home or "" for name, home in discreet._HOME.items()} == seen


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="geometrical"):
        _ = discreet.geometrical


def test_importing_loads_nothing_heavy():
    """`import discreet` alone must not pull in NumPy: 0.25 s is the promise, and this is what it rests on."""
    code = (
        "import sys, discreet; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'flint', 'rich', 'cyclopts')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_version_is_that_of_the_project():
    import tomllib

    project = SOURCE.parent.parent / "pyproject.toml"
    assert tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"] == discreet.__version__


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_no_room_is_too_large(path):
    most = 850 if module_name(path) == "verify" else 500  # verify.py must stand alone, so it cannot be split
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most
