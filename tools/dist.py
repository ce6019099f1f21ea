"""Make a distribution: wheel and sdist, the list of what it is made of, the licences, and the tests against the wheel.

    python tools/dist.py build     wheel and sdist into dist/
    python tools/dist.py bill      dist/discreet.cdx.json (CycloneDX) and dist/LICENCES.md, of an environment from dist/ alone
    python tools/dist.py test      the tests against the installed wheel
    python tools/dist.py audit     known faults of the locked packages; it fails when a package was not looked at

`make dist` runs the first three, `make audit` the last, which needs the network.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
_PATH = re.compile(
    r"(?:file:/|(?<![\w.:/])/(?:home|root|tmp|usr|opt|var|work|Users|private|mnt|srv|build)\b|[A-Z]:\\\\)"
)


def run(*words: str | Path, cwd: Path = ROOT) -> None:
    told = [str(word) for word in words]
    print("$", " ".join(told), flush=True)
    subprocess.run(told, check=True, cwd=cwd)


def build() -> None:
    """Wheel and sdist, without isolation: the locked backend builds them."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST)
    with zipfile.ZipFile(wheel()) as files:
        outside = strangers(files.namelist())
    if outside:
        raise SystemExit(f"The wheel has files that are no part of the package: {', '.join(outside)}")


def strangers(names: Iterable[str]) -> list[str]:
    """Files of a wheel that belong neither to the package nor to its description. Studies stand outside the package."""
    own = re.compile(r"discreet/(?!studies/)|discreet-[^/]+\.dist-info/")
    return sorted(name for name in names if not own.match(name))


def wheel() -> Path:
    found = sorted(DIST.glob("discreet-*.whl"))
    if len(found) != 1:
        raise SystemExit("There is not one wheel in dist/; run `make dist`.")
    return found[0]


def environment(place: Path, *words: str | Path) -> Path:
    """A fresh environment, and its Python."""
    venv.create(place, with_pip=True)
    python = place / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *words)
    return python


def bill() -> None:
    """What the wheel is made of: installed from files alone, so that what is listed is what was hashed in the lock."""
    with tempfile.TemporaryDirectory() as folder:
        wheels, place = Path(folder, "wheels"), Path(folder, "environment")
        lock = ROOT / "requirements" / "all.txt"
        run(
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--disable-pip-version-check",
            "--require-hashes",
            "--only-binary=:all:",
            "-r",
            lock,
            "-d",
            wheels,
        )
        shutil.copy(wheel(), wheels)
        python = environment(place, "--no-index", "--find-links", wheels, "discreet[all]")
        run(python, "-m", "pip", "uninstall", "-q", "-y", "pip", "setuptools")
        out = DIST / "discreet.cdx.json"
        run(
            sys.executable,
            "-m",
            "cyclonedx_py",
            "environment",
            "--output-reproducible",
            "--pyproject",
            ROOT / "pyproject.toml",
            "-o",
            out,
            python,
        )
        text = cleaned(out.read_text(encoding="utf-8"))
        out.write_text(text, encoding="utf-8")
        if paths_in(text):
            raise SystemExit(f"The bill of materials names a path of this machine: {paths_in(text)[0]}")
        run(
            sys.executable,
            "-m",
            "piplicenses",
            f"--python={python}",
            "--format=markdown",
            "--with-urls",
            f"--output-file={DIST / 'LICENCES.md'}",
        )


def cleaned(text: str) -> str:
    """A bill of materials without where each part was fetched from: that is the builder's business."""
    bill = json.loads(text)
    for part in [*bill.get("components", []), bill.get("metadata", {}).get("component", {})]:
        kept = [link for link in part.get("externalReferences", []) if link.get("type") != "distribution"]
        if kept:
            part["externalReferences"] = kept
        else:
            part.pop("externalReferences", None)
    return json.dumps(bill, indent=2, sort_keys=True) + "\n"


def paths_in(text: str) -> list[str]:
    """Places of a machine that a text names."""
    return [text[max(found.start() - 20, 0) : found.end() + 40] for found in _PATH.finditer(text)]


def test() -> None:
    """The tests, from a folder without the sources: only the wheel can be imported, and src/ is what lies in the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        python = environment(place / "environment", "--require-hashes", "-r", ROOT / "requirements" / "dev.txt")
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", wheel())
        for name in (
            "tests",
            "studies",
            "docs",
            "README.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "CITATION.cff",
            "SECURITY.md",
            "VISION.md",
            "LICENSE",
            "pyproject.toml",
            "requirements",
            "benchmarks",
            "tools",
            "proofs",  # pages and docstrings name its theorems
            "Makefile",
            ".github",
        ):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, place / name)
        shutil.unpack_archive(wheel(), place / "src", "zip")  # some tests read the code, and texts link to it
        # as `make check` does: a worker for each core, with one thread of linear algebra, and what is outside one by one
        os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="")
        for spread, chosen in (
            ("worksteal", "not campaign and not outside and not long"),
            ("loadscope", "(outside or long) and not campaign"),
        ):
            run(python, "-m", "pytest", "-q", "-n", "auto", "--dist", spread, "-m", chosen, cwd=place)


def audit() -> None:
    """Known faults of what the lock names. A package that could not be looked at is a failure, not a success."""
    words = [
        sys.executable,
        "-m",
        "pip_audit",
        "--disable-pip",
        "--require-hashes",
        "-r",
        "requirements/all.txt",
        "-f",
        "json",
    ]
    found = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    try:
        report = json.loads(found.stdout)
    except ValueError:
        raise SystemExit(
            f"Nothing was audited: {found.stderr.strip().splitlines()[-1:] or ['pip-audit said nothing']}"
        ) from None
    wrong = faults(report, locked((ROOT / "requirements" / "all.txt").read_text(encoding="utf-8")))
    if wrong:
        raise SystemExit("\n".join(wrong))
    print("Every locked package was looked at; no fault is known.")


def locked(text: str) -> set[str]:
    """The packages that a lock names, for any platform."""
    return {name.lower().replace("_", "-") for name in re.findall(r"^([A-Za-z0-9_.-]+)==", text, re.MULTILINE)}


def faults(report: Mapping[str, Any], wanted: set[str]) -> Sequence[str]:
    """What an audit's report says against a lock: known faults, packages skipped, packages not named at all."""
    told, seen = [], set()
    for package in report.get("dependencies", []):
        name = str(package.get("name", "")).lower().replace("_", "-")
        if "skip_reason" in package:
            told.append(f"{name} was skipped: {package['skip_reason']}")
            continue
        seen.add(name)
        told += [f"{name} {package.get('version')}: {fault.get('id')}" for fault in package.get("vulns", [])]
    return told + [f"{name} was not looked at" for name in sorted(wanted - seen)]


if __name__ == "__main__":
    steps = {step.__name__: step for step in (build, bill, test, audit)}
    if len(sys.argv) != 2 or sys.argv[1] not in steps:
        raise SystemExit(__doc__)
    steps[sys.argv[1]]()
