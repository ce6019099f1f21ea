"""Every example that people read is run: docstrings, README, docs."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import discreet
from discreet.cli import main
from discreet.registry import with_table

ROOT = Path(__file__).parent.parent
TEXTS = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if p.name != "api.md")]
MODULES = [m.name for m in pkgutil.walk_packages(discreet.__path__, "discreet.")]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_some_docstrings_have_examples():
    """The test above would pass on none."""
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) >= 10


def sessions(text: str) -> list[tuple[str, str]]:
    """The commands of ```console blocks, each with the output that the text shows for it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.name)
def test_examples(path, tmp_path, monkeypatch, capsys):
    """Python lines answer as the text shows, and then, in the same folder, so do `discreet ...` lines (... stands for anything)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    failed = doctest.testfile(str(path), module_relative=False, optionflags=doctest.ELLIPSIS).failed
    assert failed == 0, capsys.readouterr().out
    capsys.readouterr()
    for command, output in sessions(path.read_text(encoding="utf-8")):
        words = shlex.split(command)
        if words[0] != "discreet":
            continue
        with pytest.raises(SystemExit):
            main(words[1:])
        told = capsys.readouterr()
        shown = re.sub(r"[ \t]+$", "", told.out + told.err, flags=re.MULTILINE)
        assert doctest.OutputChecker().check_output(output, shown, doctest.ELLIPSIS), f"$ {command}\n{shown}"


@pytest.mark.parametrize("path", [*TEXTS, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere_and_names_exist(path):
    """Relative links point to files, and every dt.name or dt.noise.name of a text is one."""
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert "://" in target or (path.parent / target).exists(), target
    for name, inner in re.findall(r"\bdt\.(\w+)(?:\.(\w+))?", text):
        assert hasattr(discreet, name), name
        assert not inner or hasattr(getattr(discreet, name), inner), f"{name}.{inner}"


def test_the_table_of_mechanisms_is_the_one_that_the_code_has():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.count("<!-- mechanisms -->") == 1
    assert with_table(readme) == readme, "run `make readme`"
    assert with_table(readme.replace("| uniform (UM)", "| another")) == readme


def test_the_readme_opens_with_eight_lines():
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert sum(line.startswith(">>> ") for line in first_screen) == 8
