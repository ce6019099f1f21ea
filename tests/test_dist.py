"""What goes out: no path of a machine in the bill of materials, no audit that looked at nothing, versions that agree."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import discreet

ROOT = Path(__file__).parent.parent
spec = importlib.util.spec_from_file_location("dist", ROOT / "tools" / "dist.py")
dist = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dist)


@pytest.mark.parametrize(
    "text", ["file:///x/y.whl", '"/home/me/x"', "see /tmp/wheels", '"/usr/lib/python3"', '"C:\\\\Users\\\\me"']
)
def test_paths_of_a_machine_are_found(text):
    assert dist.paths_in(text)


@pytest.mark.parametrize("text", ["https://numpy.org/home", "pkg:pypi/numpy@2.0", "MIT/X11", "and/or", "a/tmp"])
def test_addresses_and_names_are_no_paths(text):
    assert not dist.paths_in(text)


def test_where_parts_were_fetched_from_is_taken_out_of_the_bill():
    links = [{"type": "distribution", "url": "file:///tmp/x.whl"}, {"type": "website", "url": "https://numpy.org"}]
    bill = {
        "components": [
            {"name": "numpy", "externalReferences": links},
            {"name": "rich", "externalReferences": links[:1]},
        ]
    }
    text = dist.cleaned(json.dumps(bill))
    assert not dist.paths_in(text)
    assert "https://numpy.org" in text
    assert dist.cleaned(text) == text


def test_an_audit_that_skipped_packages_fails():
    good = {
        "dependencies": [{"name": "numpy", "version": "2", "vulns": []}, {"name": "Rich", "version": "1", "vulns": []}]
    }
    assert dist.faults(good, {"numpy", "rich"}) == []
    assert dist.faults({"dependencies": []}, {"numpy"}) == ["numpy was not looked at"]
    skipped = {"dependencies": [{"name": "numpy", "skip_reason": "no network"}]}
    assert len(dist.faults(skipped, {"numpy"})) == 2
    bad = {"dependencies": [{"name": "numpy", "version": "2", "vulns": [{"id": "PYSEC-1"}]}]}
    assert dist.faults(bad, {"numpy"}) == ["numpy 2: PYSEC-1"]


def test_the_lock_of_the_audit_names_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        line
        for name in re.findall(r"[\w-]+", project["optional-dependencies"]["all"][0])[1:]
        for line in project["optional-dependencies"][name]
        if not line.startswith("discreet[")
    ]
    wanted = {re.match(r"[\w.-]+", line)[0].lower() for line in [*project["dependencies"], *extras]}
    assert wanted <= dist.locked((ROOT / "requirements" / "all.txt").read_text(encoding="utf-8"))


def test_the_version_stands_in_one_place():
    """`discreet.__version__` says it; the built package takes it from there, and the citation and the changelog name the same."""
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)[1]
    listed = re.findall(r"^## \[?([0-9][^]\s]*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert discreet.__version__ == WheelBuilder(str(ROOT)).metadata.version == cited == listed[0]


def test_the_wheel_has_the_package_alone():
    """As the locked backend would build it. Studies, tests and tools are in the sdist."""
    inside = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {"discreet/__init__.py", "discreet/verify.py", "discreet/py.typed"} <= inside
    assert dist.strangers(inside) == []
    assert {"studies/shelf.py", "tests/conftest.py"} <= {
        file.relative_path for file in SdistBuilder(str(ROOT)).recurse_included_files()
    }


def test_what_does_not_belong_into_a_wheel_is_found():
    info = "discreet-0.1.0.dist-info/METADATA"
    assert dist.strangers(["discreet/a.py", info]) == []
    others = ["studies/shelf.py", "discreet/studies/shelf.py", "discreet/studies/data/a.json", "tests/a.py", "setup.py"]
    assert dist.strangers(["discreet/a.py", info, *others]) == sorted(others)


def test_the_forge_only_calls_what_anybody_can_call():
    text = (ROOT / ".github" / "workflows" / "check.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"- run: (.*)", text)) == {".ci/run", "make oldest", "make bare", "make dist"}
