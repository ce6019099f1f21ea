"""The house: public names, lazy loading, the arrows of the design, small rooms."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import subprocess
import sys
import types
from functools import cache
from pathlib import Path

import pytest

import discreet
from discreet import channels
from tests.cells import for_each

SOURCE = Path(discreet.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# The map of the house: every room, and the rooms whose code it may use. A room is a folder or a module of the package.
BASE = "errors exact"
USING = f"{BASE} channels mechanism"  # a mechanism
MAKING = f"{USING} seal"
ROOMS = {
    "errors": "",
    "lazy": "",
    "verify": "",  # stands alone: the standard library is enough to check a mechanism file
    "blas": "",
    "lp": "",
    "progress": "",
    "formats": "errors",
    "exact": "errors",
    "present": BASE,
    "randomness": BASE,
    "noise": f"{BASE} randomness",
    "channels": f"{BASE} randomness noise progress",
    "sampling": f"{BASE} randomness channels",
    "seal": f"{BASE} channels",
    "mechanism": f"{BASE} present channels sampling seal",
    "mechanisms": f"{MAKING} noise",
    "traditional": MAKING,
    "measure": f"{USING} present randomness noise",
    "adapters": "errors exact mechanism measure",
    "files": f"{BASE} present verify channels mechanism traditional measure",
    "designs": f"{MAKING} present blas lp mechanisms measure progress",
    "recovery": f"{BASE} present randomness blas lp channels mechanism measure progress",
    "theory": f"{BASE} present lp channels mechanism measure",
    "queries": f"{USING} present randomness noise mechanisms measure designs progress",
    "sharing": f"{USING} present randomness sampling noise mechanisms measure progress",
    "registry": "mechanism",
    "planning": f"{BASE} present progress noise channels mechanism measure mechanisms designs recovery registry",
    "ledger": f"{BASE} formats present mechanism",
    "questions": f"{BASE} files mechanism registry",
    "engines": f"{BASE} questions progress",
    "collect": f"{BASE} present randomness sampling files mechanism measure ledger engines progress",
    "tables": f"{BASE} formats present noise files mechanism mechanisms measure sharing registry ledger "
    "questions engines collect progress",
    "studio": f"{BASE} present progress files mechanism measure designs recovery sharing registry planning ledger questions "
    "engines tables collect",
    "cli": f"{BASE} present randomness verify files mechanism mechanisms measure designs recovery queries sharing registry "
    "planning ledger questions engines collect tables progress studio",
    "__main__": "cli",
    "results": "",  # a face: it lists what others have
}

# The only imports that point upwards: all inside functions, so that loading a room never loads what stands on it.
UPWARD = {("mechanism", "files"), ("mechanism", "measure"), ("mechanism", "adapters"), ("traditional", "files")}

# The only circles: a value does with one word what a module above it does, which must know the value. All inside functions.
CIRCLES = {
    ("mechanism", "files"): "save, load and digest of a mechanism",
    ("traditional.methods", "files"): "save and load of a method",
    ("mechanism", "measure.pictures"): "plot of a mechanism",
    ("mechanism", "adapters"): "a mechanism as a measurement of OpenDP",
    (
        "channels.contract",
        "channels.then",
    ): "every channel can be followed by a map, and becomes another kind of channel",
    ("queries.queries", "queries.smooth_noise"): "smooth_noise of a query",
    ("sharing.cascades", "sharing.cascade_reports"): "a cascade draws its reports, which say whose they are",
    ("tables.publish.released", "tables.publish.rebuilding"): "a release with totals, or with other intervals",
    ("tables.publish.released", "tables.saved.differences"): "difference between two releases",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def room(module: str) -> str:
    return module.partition(".")[0]


LOADING, RUNNING, TYPING = (
    "loading",
    "running",
    "typing",
)  # when an import happens; the last one is for type checkers alone


@cache
def parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def imports(path: Path) -> list[tuple[str, str]]:
    """Every module of the package that a file imports, by statement or by a text given to import_module; and when: as the
    file is loaded, as one of its functions runs, or never, since the type checker alone reads it."""
    return imports_of(path.read_text(encoding="utf-8"), list(path.relative_to(SOURCE).with_suffix("").parts))


def imports_of(text: str, here: list[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    waiting: list[tuple[ast.AST, str]] = [(parsed(text), LOADING)]
    while waiting:
        node, when = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and when == LOADING:
            when = RUNNING
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += [(child, TYPING) for child in node.body] + [(child, when) for child in node.orelse]
            continue
        waiting += [(child, when) for child in ast.iter_child_nodes(node)]
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here[: len(here) - node.level]
            target = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{target}.{a.name}".strip(".") for a in node.names]
            found += [(name if name in MODULES else target, when) for name in names]
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value in MODULES
            and "." in node.value
        ):
            found.append((node.value, RUNNING))  # the home of something that is loaded when it is needed
    return found


def test_every_module_is_in_a_room_and_every_room_has_one():
    assert {room(name) for name in MODULES if name} == set(ROOMS)


def test_no_room_hides_a_module_of_the_standard_library():
    """A file run as a script looks into its own folder first: verify.py stands beside these rooms."""
    assert not {room(name) for name in MODULES} & set(sys.stdlib_module_names)


def test_studies_stand_outside_the_package():
    """They use discreet, from a checkout; nothing of discreet uses them."""
    assert importlib.util.find_spec("discreet.studies") is None
    for name, path in MODULES.items():
        for node in ast.walk(parsed(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert (node.module or "").split(".")[0] != "studies", name
            elif isinstance(node, ast.Import):
                assert "studies" not in {alias.name.split(".")[0] for alias in node.names}, name


def test_rooms_stand_on_rooms_above_them():
    """The map itself has no circle: read from the top, every room uses only rooms that were named before."""
    seen: set[str] = set()
    for name, used in ROOMS.items():
        assert set(used.split()) <= seen, name
        seen.add(name)


@for_each("path", FILES)
def test_a_room_uses_only_what_the_map_says(path):
    me = module_name(path)
    if me == "registry":  # it names what it lists, and loads it when it is asked for
        return
    for target, when in imports(path):
        if target == "lazy":  # every face has its loader
            continue
        if (room(me), room(target)) in UPWARD:
            assert when != LOADING, f"{me} may import {target} only inside a function"
        elif room(target) != room(me):
            assert room(target) in ROOMS[room(me)].split(), f"{me} may not look into {target}"


def test_every_permission_of_the_map_is_used():
    used: dict[str, set[str]] = {name: set() for name in ROOMS}
    for name, path in MODULES.items():
        if name:
            used[room(name)] |= {room(target) for target, _ in imports(path)}
    unused = {name: sorted(set(may.split()) - used[name]) for name, may in ROOMS.items()}
    assert not {name: rooms for name, rooms in unused.items() if rooms}
    assert all(above in used[name] for name, above in UPWARD)


def circle(needs: dict[str, set[str]]) -> set[str]:
    """The modules that are in a circle of imports, or need one that is; none where all can be put in an order."""
    placed: set[str] = set()
    while free := {name for name, targets in needs.items() if name not in placed and targets <= placed}:
        placed |= free
    return set(needs) - placed


def test_modules_import_each_other_in_no_circle_but_the_listed_ones():
    """Imports inside functions count: they put a circle off, they do not break it. Those for type checkers do not."""
    needs = {name: {t for t, when in imports(path) if when != TYPING} - {name} for name, path in MODULES.items()}
    listed = {(name, target) for name, target in CIRCLES}
    open_ = {name: {t for t in targets if (name, t) not in listed} for name, targets in needs.items()}
    assert not circle(open_)
    for name, target in CIRCLES:  # none is listed that is gone, or that closes no circle
        assert (target, RUNNING) in imports(MODULES[name]), f"{name} imports {target} no more"
        assert circle({**open_, name: open_[name] | {target}}), f"{name} and {target} are in no circle any more"


def test_circles_are_found_where_imports_stand_inside_functions():
    lazy = "def f():\n    from .guard import Guarded\nasync def g():\n    from . import reading\n"
    assert imports_of(lazy, ["engines", "sources"]) == [("engines.reading", RUNNING), ("engines.guard", RUNNING)]
    typed = "if TYPE_CHECKING:\n    from .guard import Guarded\nelse:\n    from . import reading\n"
    assert set(imports_of(typed, ["engines", "sources"])) == {
        ("engines.guard", TYPING),
        ("engines.reading", LOADING),
    }
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"a", "b", "c"}
    assert not circle({"a": {"b", "d"}, "b": {"c"}, "c": set(), "d": set()})


def test_nobody_asks_what_kind_a_channel_is():
    """Outside channels/ no isinstance and no match looks at a kind: what differs is a method."""
    kinds = {
        name for name, kind in vars(channels).items() if isinstance(kind, type) and issubclass(kind, channels.Channel)
    }
    kinds |= {kind.__name__ for kind in channels.Channel.__subclasses__()}
    assert {"Geometric", "Table", "Noisy"} <= kinds
    for name, path in MODULES.items():
        if room(name) in ("channels", "verify"):
            continue
        text = path.read_text(encoding="utf-8")
        nodes = list(ast.walk(parsed(text))) if "channels" in text else []
        from_channels = {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and "channels" in (node.module or "")
            for alias in node.names
        } & kinds
        for node in nodes if from_channels else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                asked = {getattr(part, "id", "") for part in ast.walk(node.args[1])}
                assert not asked & from_channels, f"{name}, line {node.lineno}"
            if isinstance(node, ast.MatchClass):
                assert getattr(node.cls, "id", "") not in from_channels, f"{name}, line {node.lineno}"


def test_verify_stands_alone():
    tree = ast.parse((SOURCE / "verify.py").read_text(encoding="utf-8"))
    names = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {(n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert names <= sys.stdlib_module_names
    assert not any(n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom))


def test_verify_runs_where_it_stands(tmp_path):
    """As the README says, from the checkout: a room beside it has the name of a module of the standard library."""
    discreet.geometric(4, alpha="1/2").save(tmp_path / "m.json")
    command = [sys.executable, str(SOURCE / "verify.py"), str(tmp_path / "m.json")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "alpha 1/2" in done.stdout


def test_every_public_name_works_twice_in_a_fresh_interpreter():
    """Lazy loading must not let a module shadow a function of the same name."""
    code = """
import discreet, types
FACES = {"designs", "errors", "measure", "noise", "queries", "results", "sharing", "theory", "traditional"}
for _ in range(2):
    for name in discreet.__all__:
        value = getattr(discreet, name)
        assert isinstance(value, types.ModuleType) == name.islower() and name in FACES or callable(value), name
        for below in getattr(value, "__all__", ()) if name in FACES else ():
            assert not isinstance(getattr(value, below), types.ModuleType), (name, below)
import discreet.designs.design, discreet.recovery.recover, discreet.tables.ledger
assert callable(discreet.design) and callable(discreet.recover) and callable(discreet.Ledger)
from discreet import *
assert geometric(2, alpha="1/2")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("stub", sorted(SOURCE.rglob("*.pyi")), ids=lambda path: module_name(path.with_suffix(".py")))
def test_a_stub_has_every_name_of_its_module_and_no_other(stub):
    """The stub is the one list: what the type checker reads there is what `attach` found with its regular expression."""
    module = importlib.import_module(f"discreet.{module_name(stub.with_suffix('.py'))}".rstrip("."))
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    seen = [alias for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert all(alias.asname == alias.name for alias in seen)
    assert sorted(alias.name for alias in seen) == module.__all__
    assert {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)} <= {"__version__"}


def test_no_module_shares_a_name_with_a_public_name_of_its_package():
    """Importing the module would hide what the package shows under that name."""
    for name, path in MODULES.items():
        if path.name != "__init__.py":
            package = importlib.import_module(f"discreet.{name}".rpartition(".")[0])
            shown = path.stem in getattr(package, "__all__", ())
            assert not shown or isinstance(getattr(package, path.stem), types.ModuleType), name


def test_not_too_many_names_are_on_top():
    assert len(discreet.__all__) <= 52


def public_functions() -> dict[str, types.FunctionType]:
    """Every function on top and one dot down, by its name."""
    found = {}
    for name in discreet.__all__:
        value = getattr(discreet, name)
        below = {f"{name}.{k}": getattr(value, k) for k in getattr(value, "__all__", ()) if name.islower()}
        found |= {k: v for k, v in {name: value, **below}.items() if inspect.isfunction(v)}
    return found


def test_one_argument_has_one_name_and_a_type():
    """A mechanism is called that, true values live on n or a Grid, and levels, priors, losses and neighbours say what they are."""
    wrong = {"m", "d", "channel", "grid"}
    typed = {"n", "alpha", "epsilon", "prior", "loss", "neighbours", "sensitivity", "confidence"}
    functions = public_functions()
    assert {"check_privacy", "plan_error", "measure.posterior", "sharing.collude"} <= set(functions)
    for name, function in functions.items():
        if name in ("queries.exact_sum", "queries.exact_mean"):  # of records: the grid is not that of the answer
            continue
        told = {p.name: str(p.annotation) for p in inspect.signature(function).parameters.values()}
        assert not wrong & set(told), name
        loose = {k for k in typed & set(told) if told[k] in ("Any", "object")}
        assert not loose or (name, loose) in LOOSE, (name, loose)


# the loss of noise on the line is a function of the error; a graph's neighbours are a function of two data sets
LOOSE = [
    ("sharing.collude", {"loss"}),
    ("theory.query_graph", {"neighbours"}),
]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="geometrical"):
        _ = discreet.geometrical


def test_importing_loads_nothing_heavy():
    """`import discreet` alone must not pull in NumPy: 0.25 s is the promise, and this is what it rests on."""
    code = (
        "import sys, discreet; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy', 'flint', 'rich', 'cyclopts')))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@for_each("path", FILES)
def test_no_room_is_too_large(path):
    # verify.py must stand alone, so it cannot be split: it recomputes what mechanisms, releases and ledgers say, counts its own
    # work, and has a map and a docstring on every function, since strangers read it
    most = 3550 if module_name(path) == "verify" else 600
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most
