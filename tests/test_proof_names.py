"""What can be said about the proofs without Coq: theorems that are named exist, and the build says what it needs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROOFS = ROOT / "proofs"
LISTED = dict(line.split(": ") for line in (PROOFS / "assumptions.txt").read_text().splitlines())
THEOREMS = {name.split(".")[1]: name.split(".")[0] for name in LISTED}
IN_SOURCE = re.compile(r"proofs/(\w+)\.v,\s+((?:\w+,\s+)*\w+(?:\s+and\s+\w+)?)")
IN_PAGE = re.compile(r"`([a-z]+(?:_[a-z0-9]+)+)`")


def cited_in_source(text: str) -> list[tuple[str, str]]:
    """(file, theorem) of every "proofs/File.v, one and two"."""
    return [
        (file, name) for file, names in IN_SOURCE.findall(text) for name in re.findall(r"\w+", names) if name != "and"
    ]


def cited_in_page(text: str) -> list[str]:
    """Theorems in paragraphs, items and rows of tables that point to the page of the proofs."""
    return [name for part in text.split("\n\n") if "proofs.md" in part for name in IN_PAGE.findall(part)]


def test_every_theorem_of_the_list_stands_in_its_file():
    """The list is what the build compares: each name is a theorem, none is admitted, and every file of proofs is looked at."""
    files = {path.stem: path.read_text() for path in PROOFS.glob("*.v")}
    for name, told in LISTED.items():
        file, theorem = name.split(".")
        assert told == "Closed under the global context"
        assert re.search(rf"^(Theorem|Corollary|Lemma|Example) {theorem}\b", files[file], re.MULTILINE), name
    for text in files.values():
        assert not re.search(r"\b(Admitted|Axiom|Parameter|Conjecture|admit|Abort)\b", text)
    built = (PROOFS / "Makefile").read_text().split("FILES := ")[1].splitlines()[0].split()
    assert {*built, "Extract"} == files.keys()
    assert len(THEOREMS) == len(LISTED)  # no name twice, so that a page need not say in which file


def test_what_every_theorem_states_is_kept():
    """Statements as Coq prints them, of each theorem of the list, and the definitions that they use; one of them in full."""
    kept = (PROOFS / "statements.txt").read_text()
    for name in [*LISTED, *(PROOFS / "definitions.txt").read_text().split()]:
        assert re.search(
            rf"^({re.escape(name)}( =|\n     :)|(Inductive|Record) {name.split('.')[1]} )", kept, re.MULTILINE
        ), name
    assert "@Certificates.risk_is R c (@length (seq Z) (Check.losses c)) (Certificates.own R d)" in kept


# What decides, rather than says: that the right things are decided is what the theorems about these functions state.
FUNCTIONS = {
    f"Check.{name}"
    for name in [
        "check",
        "ratio_of_table",
        "table_has",
        "geometric_has",
        "pairs_ok",
        "edges_of",
        "charges",
        "multipliers_ok",
        "bound_ok",
        "ray_costs",
        "cheapest_ray",
        "rays_ok",
        "ray_bound_ok",
        "prior_inside",
        "set_ok",
    ]
}


def not_printed(kept: str, listed: set[str]) -> set[str]:
    """Names of our files in the statements that are neither listed nor a constructor or a field of a printed type."""
    files = {path.stem for path in PROOFS.glob("*.v")}
    used = {name for name in re.findall(r"\b[A-Z][a-z]+\.\w+", kept) if name.split(".")[0] in files}
    types = re.findall(r"^(?:Inductive|Record) (\w+)[^=]*?:=(.*?)\.$", kept, re.MULTILINE | re.DOTALL)
    for module, (_, parts) in [
        (name.split(".")[0], body) for name in listed for body in types if body[0] == name.split(".")[1]
    ]:
        used -= {f"{module}.{part}" for part in re.findall(r"(?:^|[|{;])\s*(?:\w+\s*{\s*)?(\w+) :", parts)}
    return used - listed


def test_every_definition_that_a_statement_uses_is_kept():
    """A definition that is not printed could mean something else, and no statement would look different."""
    kept = (PROOFS / "statements.txt").read_text()
    listed = {*LISTED, *(PROOFS / "definitions.txt").read_text().split()}
    assert not_printed(kept, listed) == FUNCTIONS
    for name in ("Cascade.is_level", "Check.short", "Check.power_of"):
        assert not_printed(kept, listed - {name}) == FUNCTIONS | {name}
    assert "Check.the_neighbours" in not_printed(kept, listed - {"Check.document"})


def test_theorems_that_the_library_names_are_proved():
    found = [pair for path in (ROOT / "src").rglob("*.py") for pair in cited_in_source(path.read_text())]
    assert len(found) >= 18
    for file, theorem in found:
        assert THEOREMS.get(theorem) == file, f"{file}.{theorem}"


def test_theorems_that_pages_name_are_proved():
    pages = {path: cited_in_page(path.read_text()) for path in (ROOT / "docs" / "theory").glob("*.md")}
    pages[ROOT / "docs" / "proofs.md"] = IN_PAGE.findall((ROOT / "docs" / "proofs.md").read_text())
    assert sum(map(bool, pages.values())) >= 13
    defined = {name.split(".")[1] for name in (PROOFS / "definitions.txt").read_text().split()}
    for path, names in pages.items():
        assert set(names) <= THEOREMS.keys() | defined, (path.name, set(names) - THEOREMS.keys() - defined)


def told_on_the_page(text: str) -> dict[str, str]:
    """The sentence of every theorem in the tables of the page."""
    return dict(re.findall(r"^\| `(\w+)` \| (\S.*\.) \|$", text, re.MULTILINE))


def test_every_theorem_of_the_list_has_a_sentence_of_its_own_on_the_page():
    told = told_on_the_page((ROOT / "docs" / "proofs.md").read_text())
    assert told.keys() == THEOREMS.keys()
    assert told_on_the_page("| `one` | It holds. |\n| `two` | |\n| `three` | Not a sentence |\n") == {
        "one": "It holds."
    }


def test_a_theorem_that_is_not_proved_is_noticed():
    assert cited_in_source("proofs/Rays.v, no_such and cheapest_ray_sound") == [
        ("Rays", "no_such"),
        ("Rays", "cheapest_ray_sound"),
    ]
    assert cited_in_page("See `no_such` of [proofs](../proofs.md).\n\nAnd `max_count` elsewhere.") == ["no_such"]
    assert "no_such" not in THEOREMS


def test_a_machine_without_coq_is_told_which_packages_are_needed(tmp_path):
    for program in ("make", "sh", "bash"):
        if found := shutil.which(program):
            (tmp_path / program).symlink_to(found)
    done = subprocess.run(
        ["make", "-C", str(PROOFS), f"BUILD={tmp_path / 'build'}"],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
    )
    assert done.returncode != 0
    said = [line for line in done.stdout.splitlines() if "Debian" in line]
    assert said[0].startswith("The proofs need Debian's packages: coq, libcoq-mathcomp-ssreflect,")
    assert said[0].endswith("libzarith-ocaml-dev. Install them, then say make proofs again.")
    assert len(said) == 1
    assert "command not found" not in done.stderr + done.stdout
    assert "No rule" not in done.stderr
    assert not (tmp_path / "build").exists()
