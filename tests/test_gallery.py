"""The gallery: thirty pictures and more, each with the few lines that make it. The lines are run as those of every page."""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
import types
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"


def tool() -> types.ModuleType:
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools" / "gallery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = tool().sections(TEXT)
NAMES = [name for name in SECTIONS if name]


def test_every_section_is_read():
    assert len(NAMES) == TEXT.count("\n## ") == TEXT.count("![") >= 30
    assert sorted(f"{name}.svg" for name in NAMES) == sorted(path.name for path in PICTURES.iterdir()), "make gallery"


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_small_and_made_by_five_lines(name):
    examples = doctest.DocTestParser().get_examples(SECTIONS[name])
    assert 1 <= len(examples) <= 5
    last = ast.parse(examples[-1].source).body[-1]
    assert isinstance(last, ast.Assign)
    assert ast.unparse(last.targets[0]) == "picture"
    root = ElementTree.fromstring((PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
    assert root.tag.endswith("svg")
    assert float(re.sub("px", "", root.attrib["width"])) <= 1400


def test_all_together_are_small():
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < 2_500_000


def test_a_section_without_a_picture_is_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "# Page\n\n## One\n\n![One](images/gallery/one.svg)\n\n```python\n>>> picture = 3\n\n```\n"
    assert tool().pictures(text) == {"one": 3}
    with pytest.raises(KeyError, match="picture"):
        tool().pictures(text + text.partition("\n\n")[2].replace("one", "two").replace("picture = 3", "other = 3"))
