"""Every example that people read is run: docstrings, README, docs."""

from __future__ import annotations

import doctest
import importlib
import json
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
from discreet.registry import FAMILIES, with_table
from studies.__main__ import main as run_study
from tests.cells import for_each

ROOT = Path(__file__).parent.parent
WRITTEN_BY_THE_BUILD = {"api.md", "_build", "notebooks"}
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if not WRITTEN_BY_THE_BUILD & set(p.parts))
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
def test_docstrings(name):
    tried = doctest.testmod(importlib.import_module(name))
    assert tried.failed == 0
    assert tried.attempted > 0


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


def with_needs(path: Path) -> object:
    return pytest.param(path, marks=pytest.mark.outside("java"), id=named(path)) if path.name in WITH_JAVA else path


@pytest.mark.parametrize("path", [*map(with_needs, TEXTS)], ids=named)
def test_examples(path, tmp_path, monkeypatch, capsys):
    """Python lines answer as the text shows, and then, in the same folder, so do `discreet ...` lines (... stands for anything)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
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
        assert "://" in target or (path.parent / target).exists(), target
    for name, inner in re.findall(r"\bdt\.(\w+)(?:\.(\w+))?", text):
        assert hasattr(discreet, name), name
        assert not inner or hasattr(getattr(discreet, name), inner), f"{name}.{inner}"


def test_the_table_of_mechanisms_is_the_one_that_the_code_has():
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    assert page.count("<!-- mechanisms -->") == 1
    assert with_table(page) == page, "run `make readme`"
    assert with_table(page.replace("| uniform (UM)", "| another")) == page


def test_the_readme_is_short_and_says_first_what_it_is():
    """One sentence, the install, lines that release a table and their picture; then for whom it is, and what others do better."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme.splitlines()) < 150
    assert "Python library for **differential privacy**" in readme.split("\n\n")[1]
    marks = [
        "pip install",
        ">>> import discreet",
        "](docs/images/",
        "**Status**",
        "**publish tables**",
        "**collect from people**",
    ]
    marks += ["**do research**", "The others do some things better", "make demo", "make test"]
    places = [readme.index(mark) for mark in marks]
    assert places == sorted(places)
    assert places[3] < 3_500  # what stands before the status is the first screen


def test_speeds_in_the_readme_are_those_of_the_results():
    """`make numbers` changes nothing; and it would, were a speed or the date another one."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert page().with_numbers(readme) == readme, "run `make numbers`"
    [date] = re.findall(r"two cores, (\d{4}-\d\d-\d\d)", readme)
    speeds = [
        line for line in readme.splitlines() if line.startswith(("| values a second", "| likeliest distribution"))
    ]
    assert [len(re.findall(r"\d[\d,.]{3,}", line.partition("| ")[2].partition("| ")[2])) for line in speeds] == [4, 2]
    for old in (date, *(cell.strip() for line in speeds for cell in line.split("|")[2:] if cell.strip())):
        changed = readme.replace(old, old.replace(old[-1], str((int(old[-1]) + 1) % 10)), 1)
        assert changed != readme
        assert page().with_numbers(changed) == readme


def page() -> types.ModuleType:
    """The module that makes one page of all benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module("_page")


def test_benchmarks_are_one_page(tmp_path):
    """Rows as they were kept, rows of a script with names of its own, and a script that failed."""
    module = page()
    lines = [module.Line("one", "1 s", "2 s, a peer", 2.0, "≥ 1", True), module.Line("two", "3 s")]
    module.keep("walk.py", lines, tmp_path)
    module.keep("alike.py", [module.Line("alike ended with exit code 1", bar="0", met=False)], tmp_path)
    rows = [{"case": "a release", "seconds": 4.9, "duckdb": 0.49, "asked": 0.98, "peak_mb": 272.0, "met": False}]
    (tmp_path / "release.json").write_text(json.dumps({"date": "2026-11-15", "rows": rows}), encoding="utf-8")
    (tmp_path / "totals.json").write_text(
        json.dumps({"rows": [{"width": 3}]}), encoding="utf-8"
    )  # nothing is asked there
    text = module.page(tmp_path, {"walk": 1.5})
    assert "4 rows; of 3 with a bar 1 met it." in text
    assert "| one | 1 s | 2 s, a peer | 2 | ≥ 1 | yes |\n| two | 3 s |  |  |  |  |" in text
    assert "| alike ended with exit code 1 |  |  |  | 0 | **no** |" in text
    assert "| a release | 4.9 | 0.49 |  | 0.98 | **no** |" in text
    assert "1.5 minutes" in text
    assert "totals" not in text.partition("## ")[2]


def test_every_benchmark_is_on_the_page_or_has_a_reason():
    """A script gives its rows to the page, or writes them under names that the page reads."""
    without = {"local", "totals", "without_scipy"}  # tables in which nothing is asked
    adapted = {"release", "cluster"}
    texts = {name: (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8") for name in page().scripts()}
    assert {name for name, text in texts.items() if "_page.keep(" not in text} <= without | adapted


def test_every_family_has_its_place_in_the_page_on_which_mechanism():
    """But those that are here to be checked, which the page sends to docs/office.md, and the bottom line."""
    text = (ROOT / "docs" / "which.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\bdt\.(?:\w+\.)?(\w+)", text))  # rounded is one dot down
    elsewhere = {"uniform", "random_rounding", "suppression", "cell_key"}
    assert {family.name for family in FAMILIES} - told == elsewhere


def glossary() -> str:
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_the_words_of_the_tutorials_are_in_the_glossary():
    """What stands there in bold is explained again; steps and sentences in bold are no words."""
    known = {word.lower() for word in re.findall(r"\*\*([\w -]+)\*\*", glossary())}
    for path in (ROOT / "docs" / "tutorials").glob("*.md"):
        text = path.read_text(encoding="utf-8").partition("# ")[2]
        words = {word.lower() for word in re.findall(r"(?<!\w)\*\*([\w -]+)\*\*", text)} - {"bold"}
        assert words or path.name == "index.md"
        assert words <= known, (path.name, words - known)


def test_the_glossary_has_what_others_say():
    """Whoever searches for the word of another library, or of the literature, finds ours."""
    told = " ".join(glossary().lower().split())
    for word in (
        *(
            "add/remove",
            "unbounded",
            "bounded",
            "privacy loss",
            "post-processing",
            "ldp",
            "zcdp",
            "histogram",
            "k-rr",
            "accountant",
        ),
        *(
            "parallel composition",
            "frequency oracle",
            "confidence interval",
            "laplace",
            "rappor",
            "shuffle",
            "approximate dp",
        ),
        *(
            "measurement",
            "contribution bound",
            "noisy answer",
            "central model",
            "adjacent",
            "marginal",
            "deconvolution",
        ),
    ):
        assert word in told, word
