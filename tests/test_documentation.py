"""Every example that people read is run: docstrings, README, docs."""

from __future__ import annotations

import doctest
import importlib
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import types
from pathlib import Path

import pytest

import discreet
from discreet.cli import main
from discreet.registry import with_table
from studies.__main__ import main as run_study
from tests.cells import for_each

ROOT = Path(__file__).parent.parent
WRITTEN_BY_THE_BUILD = {"_build", "notebooks"}  # and the pages of names, reference/discreet*.md
PAGES = sorted(
    p
    for p in (ROOT / "docs").rglob("*.md")
    if not WRITTEN_BY_THE_BUILD & set(p.parts) and not p.name.startswith("discreet")
)
TEXTS = [ROOT / "README.md", *PAGES]
WITH_JAVA = {"spark.md"}  # what these pages run needs Java
MODULES = [m.name for m in pkgutil.walk_packages(discreet.__path__, "discreet.")]


@for_each("name", MODULES)
def test_every_module_can_be_imported(name):
    importlib.import_module(name)


def has_examples(name: str) -> bool:
    """Whether the prompt that a doctest begins with stands in a module's source."""
    path = Path(importlib.util.find_spec(name).origin)
    return ">>> " in path.read_text(encoding="utf-8")


WITH_EXAMPLES = [name for name in MODULES if has_examples(name)]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstrings(name, tmp_path, monkeypatch):
    """Each docstring in an empty folder of its own."""
    runner = doctest.DocTestRunner()
    for k, test in enumerate(doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name))):
        (tmp_path / str(k)).mkdir()
        monkeypatch.chdir(tmp_path / str(k))
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
    assert runner.tries > 0


def test_some_docstrings_have_examples():
    """The test above would pass on none."""
    assert len(WITH_EXAMPLES) >= 10


def test_an_example_that_fails_is_noticed(capsys):
    module = types.ModuleType("wrong", ">>> 1 + 1\n3")
    assert doctest.testmod(module).failed == 1
    assert "Expected:\n    3\nGot:\n    2\n" in capsys.readouterr().out


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of ```console blocks, each with the output that the text shows for it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


SECONDS = {"gallery.md"}  # pages whose lines take several seconds


NEEDS_JAVA = [
    pytest.mark.outside("java"),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # PySpark's own, between it and Java
]


def with_needs(path: Path) -> object:
    marks = NEEDS_JAVA * (path.name in WITH_JAVA) + [pytest.mark.long] * (path.name in SECONDS)
    return pytest.param(path, marks=marks, id=named(path))


@pytest.mark.parametrize("path", [with_needs(path) for path in TEXTS])
def test_examples(path, tmp_path, monkeypatch, capsys):
    """Python lines answer as the text shows, and then, in the same folder, so do `discreet ...` lines (... stands for anything)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    if path.name in WITH_JAVA:  # Java stays in the folder in which another test may have started it
        own = subprocess.run(
            [sys.executable, "-m", "doctest", "-o", "ELLIPSIS", path], capture_output=True, text=True, check=False
        )
        assert own.returncode == 0, own.stdout + own.stderr
    else:
        failed = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
        assert failed == 0, capsys.readouterr().out
    capsys.readouterr()
    for command, output in sessions(path.read_text(encoding="utf-8")):
        told = _told(command, tmp_path, capsys)
        shown = re.sub(r"[ \t]+$", "", told, flags=re.MULTILINE)
        assert doctest.OutputChecker().check_output(output, shown, doctest.ELLIPSIS), f"$ {command}\n{shown}"


def _told(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints; scripts of ours that stand alone lie in the folder, where readers are told to copy them."""
    if command.startswith("discreet "):
        with pytest.raises(SystemExit):
            main(shlex.split(command)[1:])
        told = capsys.readouterr()
        return told.out + told.err
    if command.startswith("python -m studies "):  # readers are in the checkout, where it is found
        assert run_study(shlex.split(command)[3:]) == 0
        return capsys.readouterr().out
    for name in re.findall(r"\bpython (\w+\.py)", command):
        [script] = (ROOT / "src").rglob(name)
        (folder / name).write_bytes(script.read_bytes())
    own = {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=own, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, f"$ {command}\n{ran.stderr}"
    return ran.stdout


@for_each("path", TEXTS)
def test_every_block_of_code_is_run(path):
    """Or is no code. Help examples are run by tests/cli, lines for browsers and clusters by their own tests, make by readers."""
    also = {"collect.md": {"js"}, "commands.md": {"sh"}, "scale.md": {""}}.get(path.name, set())
    for kind, body in re.findall(
        r"^```([^\n`]*)\n(.*?)^```", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        if kind == "sh" and path in (ROOT / "README.md", ROOT / "docs" / "index.md"):
            assert all(line.startswith(("make ", "pip install ")) for line in body.splitlines())
            continue
        assert kind in {"python", "console", "text", "json", "{toctree}", "{include} ../SECURITY.md", *also}, (
            f"{kind}: {body}"
        )
        assert kind != "python" or body.startswith(">>> "), body
        assert kind != "console" or body.startswith("$ "), body
        assert kind not in ("text", "json") or not re.search(r"^(?:\$|>>>|discreet|python) ", body, re.MULTILINE), body


@for_each("path", [*TEXTS, ROOT / "CONTRIBUTING.md"])
def test_links_lead_somewhere_and_names_exist(path):
    """Relative links point to files, and every dt.name or dt.noise.name of a text is one."""
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "notebooks/" in target:  # their pages are written by the build
            target = target.removesuffix(".md").removesuffix(".ipynb") + ".ipynb"
        assert "://" in target or (path.parent / target).exists(), target
    for name, inner in re.findall(r"\bdt\.(\w+)(?:\.(\w+))?", text):
        assert hasattr(discreet, name), name
        assert not inner or hasattr(getattr(discreet, name), inner), f"{name}.{inner}"


def test_the_table_of_mechanisms_is_the_one_that_the_code_has():
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert page.count("<!-- mechanisms -->") == 1
    assert with_table(page) == page, "run `make readme`"
    assert with_table(page.replace("| uniform (UM)", "| another")) == page
