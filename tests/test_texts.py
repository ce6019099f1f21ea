"""What people read: links named by titles, the words of CONTRIBUTING.md, spelling, and pictures that their pages make."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.test_documentation import PAGES, TEXTS

ROOT = Path(__file__).parent.parent
OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "VISION.md")]
LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
A_PATH = re.compile(r"^[\w./-]+\.(?:md|ipynb|py|html|json)$|^(?:docs|src|tests|benchmarks)/")

GONE = {  # words that CONTRIBUTING.md says are not used any more, as far as they can be told from others of the same letters
    r"\blaws?\b": "distribution",
    r"likelihood interval": "confidence interval",
    r"\bdt\.look\b|discreet look\b": "profile",
    r"\bShown\b": "View",
    r"--strict\b": "--show-dropped",
    r'relation="(?:bit|presence)"|relation (?:bit|presence)\b': "change-one, add-remove",
    r"\bmeasure\.unbiased\b": "unbiased_estimate",
    r"\bneighbors\b": "neighbours",
}


def paths_as_words(text: str) -> list[str]:
    """The links of a text whose words are a path."""
    return [words for words, _ in LINK.findall(text) if A_PATH.search(words.strip("`"))]


def gone(text: str) -> list[str]:
    """The words of a text that are not used any more. Names of studies, and what others say, may have them."""
    text = re.sub(r"\*Others say:[^*]*\*|\|\s*`?[\w-]+-laws`?\s*\||Noise laws", "", text)
    return [found[0] for word in GONE for found in re.finditer(word, text)]


def test_no_link_is_named_by_a_path():
    control = "See [glossary.md](glossary.md), [`a/b.py`](b.py) and [the glossary](glossary.md)."
    assert paths_as_words(control) == ["glossary.md", "`a/b.py`"]
    for path in [*TEXTS, *OTHERS]:
        assert not paths_as_words(path.read_text(encoding="utf-8")), path


def test_words_that_are_gone_are_gone():
    assert gone("The law, by its likelihood interval; dt.look") == ["law", "likelihood interval", "dt.look"]
    assert not gone("A lawyer looks. *Others say: law.*")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("not used any more")[2]
    for word in ("law", "likelihood interval", "look", "Shown", "strict", "presence", "unbiased"):
        assert re.search(rf"^\|[^|]*\b{word}\b", contributing, re.MULTILINE), f"{word} is not in CONTRIBUTING.md"
    for path in TEXTS:
        if "theory" not in path.parts:  # which may keep "law"
            assert not gone(path.read_text(encoding="utf-8")), path


def test_the_spelling_is_right(tmp_path):
    """Of texts and of code. pyproject.toml has the words that codespell does not know."""
    wrong = tmp_path / "wrong.md"
    wrong.write_text("Publsih the accomodation.\n", encoding="utf-8")
    program = [sys.executable, "-m", "codespell_lib", "--toml", str(ROOT / "pyproject.toml")]
    assert subprocess.run([*program, str(wrong)], capture_output=True, check=False).returncode != 0
    places = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "VISION.md",
        "docs",
        "src",
        "tools",
        "studies",
    ]
    ran = subprocess.run([*program, *places], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_pictures_are_there_and_have_words():
    """Every picture has a text alternative, every file of docs/images is shown, and some page of those that show it saves it."""
    shown: dict[str, list[str]] = {}
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for words, target in PICTURE.findall(text):
            assert len(words) > 5, (path, target)
            assert (path.parent / target).is_file(), (path, target)
            if Path(target).parent.name == "images":
                shown.setdefault(Path(target).name, []).append(text)
    assert set(shown) == {path.name for path in (ROOT / "docs" / "images").glob("*.*")}
    for name, texts in shown.items():
        stem = Path(name).stem
        saved = rf'"{re.escape(stem)}\.(?:svg|html|csv)"'
        assert any(re.search(saved, text) for text in texts), f"no page saves {name}; see tools/pictures.py"


def test_how_to_pages_and_tutorials_show_pictures():
    for path in PAGES:
        if path.parent.name in ("howto", "tutorials") and path.name != "index.md":
            assert PICTURE.search(path.read_text(encoding="utf-8")), path


def test_pictures_are_small():
    """All of those that pages make together, and each."""
    sizes = [path.stat().st_size for path in (ROOT / "docs" / "images").rglob("*.*")]
    assert sum(sizes) < 3 * 10**6
    assert max(sizes) < 400_000
