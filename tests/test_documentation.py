"""Every example that people read is run: docstrings, README, docs."""

from __future__ import annotations

import dataclasses
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


def test_numbers_in_the_readme_are_those_of_the_results():
    """`make numbers` changes nothing; and it would, were a marked number another one."""
    readme, module = (ROOT / "README.md").read_text(encoding="utf-8"), page()
    assert module.with_numbers(readme, module.last()) == readme, "run `make numbers`"
    marked = module.MARKER.findall(readme)
    assert {"date", "draws", "mle-seconds"} <= {name for _, name, _, _ in marked}
    for opening, _, value, end in marked:
        assert value.strip()
        changed = readme.replace(f"{opening}{value}{end}", f"{opening}{value}9{end}", 1)
        assert changed != readme
        assert module.with_numbers(changed, module.last()) == readme


def page() -> types.ModuleType:
    """The module that makes one page of all benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        return importlib.import_module("_page")


def a_run(**scripts: list[dict]) -> dict:
    """A run of the page, as it lies in page.json."""
    kept = {
        name: {
            "started": "now",
            "date": "2026-11-18",
            "words": [],
            "minutes": 1.5,
            "rows": [dataclasses.asdict(row) for row in rows],
        }
        for name, rows in scripts.items()
    }
    about = {"started": "now", "date": "2026-11-18", "python": "3.11.7", "size": "page", "cores": 2, "load": [0.1, 1.9]}
    return {**about, "loops": [0.030, 0.031], "scripts": kept}


def test_benchmarks_are_one_page():
    """Ours, theirs, ratio, bar and whether it was met; what was missed stands first; other dates are said."""
    module = page()
    rows = [module.Line("one", "1 s", "2 s, a peer", 2.0, "≥ 1", True), module.Line("two", "3 s")]
    run = a_run(walk=rows, alike=[module.Line("three", "4 s", bar="at most 3 s", met=False)])
    text = module.page(run)
    assert "3 rows; of 2 with a bar 1 met it." in text
    assert "2026-11-18, Python 3.11.7, 2 cores, load 0.1 and 1.9 at start and end" in text
    assert "| one | 1 s | 2 s, a peer | 2 | ≥ 1 | yes |\n| two | 3 s |  |  |  |  |" in text
    assert "- alike: three: 4 s, asked at most 3 s" in text.partition("## alike")[0]
    assert "earlier runs" not in text
    run["scripts"]["walk"]["started"] = "before"
    assert "From earlier runs, with loads of their own: walk." in module.page(run)


def test_the_page_says_when_the_machine_was_not_quiet():
    module = page()
    run = a_run(walk=[page().Line("one")])
    assert "not quiet" not in module.page(run)
    assert "its load was 3 at the start" in module.page({**run, "load": [3.0, 0.1]})
    assert "took up to 1.50 times" in module.page({**run, "loops": [0.030, 0.045]})


def test_a_benchmark_that_fails_leaves_a_row_and_the_others_go_on(tmp_path, monkeypatch, capsys):
    """One that raises, one that keeps nothing, one that takes too long, and one that is well."""
    module = page()
    head = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import _page\n"
    bodies = {
        "raises": "raise ValueError('no such thing in /home/somebody/x')",
        "empty": "pass",
        "slow": "_page.keep(__file__, [_page.Line('begun')]); import time; time.sleep(60)",
        "well": "_page.keep(__file__, [_page.Line('fine', '1 s')])",
    }
    for name, body in bodies.items():
        (tmp_path / f"{name}.py").write_text(head + body, encoding="utf-8")
    monkeypatch.setattr(module, "PLANS", {name: module.Plan(0.0) for name in bodies})
    monkeypatch.setattr(module, "PATIENCE", 0.03)
    monkeypatch.setattr(module, "calibrated", lambda: 0.03)
    (tmp_path / "out").mkdir()
    run = module.run(list(bodies), "page", tmp_path / "out", tmp_path)
    told = {
        name: [(row["name"], row["ours"], row["met"]) for row in one["rows"]] for name, one in run["scripts"].items()
    }
    assert told["raises"] == [("raises", "failed: ValueError: no such thing in (exit code 1)", False)]
    assert told["empty"] == [("empty", "failed: it kept no rows", False)]
    assert told["slow"] == [("begun", "", None), ("slow", "failed: it took more than 0 minutes", False)]
    assert told["well"] == [("fine", "1 s", None)]
    assert "4 of 4: well" in capsys.readouterr().out


def test_numbers_are_written_all_or_not_at_all(tmp_path):
    """A number that the run does not have, a marker that does not close, a run of small sizes, and no run."""
    module = page()
    run = a_run(walk=[module.Line("one", numbers={"draws": "170,000,000"})])
    readme, good = (
        tmp_path / "README.md",
        "<!-- number: date -->x<!-- /number -->, <!-- number: draws -->1<!-- /number -->.",
    )

    def written(text: str) -> str:
        readme.write_text(text, encoding="utf-8")
        module.write_readme(readme, tmp_path)
        return readme.read_text(encoding="utf-8")

    with pytest.raises(SystemExit, match="run `make bench` first"):
        written(good)
    (tmp_path / "page.json").write_text(json.dumps(run), encoding="utf-8")
    assert "-->2026-11-18<!--" in written(good)
    assert "-->170,000,000<!--" in written(good)
    for bad, sentence in (
        (good + "<!-- number: mle-qif -->27<!-- /number -->", "asks for mle-qif, which the run of 2026-11-18 did not"),
        (good + "<!-- number: draws -->27", "3 openings, 2 ends"),
        ("no numbers", "0 openings"),
    ):
        with pytest.raises(SystemExit, match=sentence):
            written(bad)
        assert readme.read_text(encoding="utf-8") == bad
    run["scripts"]["walk"]["date"] = "2026-11-01"
    (tmp_path / "page.json").write_text(json.dumps(run), encoding="utf-8")
    with pytest.raises(SystemExit, match="asks for draws"):
        written(good)
    (tmp_path / "page.json").write_text(json.dumps({**run, "size": "quick"}), encoding="utf-8")
    with pytest.raises(SystemExit, match="small sizes"):
        written(good)


def test_every_benchmark_has_a_plan_and_gives_its_rows_to_the_page():
    """And all together take the time that `make bench` promises."""
    module = page()
    assert sorted(module.PLANS) == module.scripts()
    texts = {name: (ROOT / "benchmarks" / f"{name}.py").read_text(encoding="utf-8") for name in module.scripts()}
    assert [name for name, text in texts.items() if "_page.keep(" not in text] == []
    assert sum(plan.minutes for plan in module.PLANS.values()) <= 22


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
