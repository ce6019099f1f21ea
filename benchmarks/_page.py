"""All benchmarks on one page: what is ours, what it is held against, their ratio, what was asked, and whether it was met.

Usage: python benchmarks/_page.py run [--quick] [NAME ...]     run the scripts and write the page
       python benchmarks/_page.py page                          write the page of what was measured
       python benchmarks/_page.py readme                        take README.md's numbers from the page

A script gives its rows to `keep`, all of one shape, and `keep` writes results/NAME.page.json, of which the page results/README.md
is made. A script that keeps no rows but writes results/NAME.json is read from there. `run` makes a page of one run: a script that
fails leaves a row that says so. --quick runs small sizes in a folder of its own; its page is printed, and nothing is kept.
`make bench`, `make bench QUICK=1` and `make numbers` call this.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import _machine

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
README = HERE.parent / "README.md"
WHERE = "DISCREET_BENCH"  # where scripts write, if not to results/
FOLDER = Path(os.environ.get(WHERE, RESULTS))
QUICK: dict[str, list[str]] = {  # the words of a short run; scripts that are not named take --quick
    "alike": [],
    "cascade": ["--rounds", "1"],
    "cluster": ["1000000"],
    "collect": ["1000000"],
    "compose": [],
    "drawing": ["--no-peers", "--rounds", "1"],
    "gaussian": ["--no-peers", "--rounds", "1"],
    "ledger": ["--charges", "50"],
    "release": [],
    "startup": ["3"],
    "studio": ["--rounds", "2"],
    "sums": ["1000000", "1"],
    "totals": [],
    "walk": [],
}
LONG = ("alike", "compose", "release", "totals")  # have no short run, and are left out of one


@dataclass(frozen=True)
class Line:
    """One row of the page. Texts are as people read them; a ratio above 1 is in our favour unless the bar says "at most"."""

    name: str
    ours: str = ""
    other: str = ""  # what it is held against: a peer, a floor, the commit before
    ratio: float | None = None
    bar: str = ""
    met: bool | None = None  # None: nothing was asked


def seconds(value: float | None) -> str:
    """A time as people read it."""
    if value is None:
        return ""
    return f"{value:.3g} s" if value >= 0.1 else f"{value * 1e3:.3g} ms" if value >= 1e-4 else f"{value * 1e6:.3g} µs"


def keep(script: str, lines: Iterable[Line], folder: Path | None = None) -> None:
    """The rows of a script, for the page."""
    folder = folder or FOLDER
    folder.mkdir(exist_ok=True)
    document = {"date": datetime.now(UTC).date().isoformat(), "rows": [asdict(line) for line in lines]}
    file = folder / f"{Path(script).stem}.page.json"
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def run(names: list[str], quick: bool, folder: Path) -> dict[str, float]:
    """Run the scripts, each in a process of its own: the minutes that each took. What they kept before is removed first."""
    taken = {}
    for name in names:
        (folder / f"{name}.page.json").unlink(missing_ok=True)
        words = QUICK.get(name, ["--quick"]) if quick else []
        print(f"== {name} {' '.join(words)}".rstrip(), flush=True)
        start = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, str(HERE / f"{name}.py"), *words], env={**os.environ, WHERE: str(folder)}, check=False
        )
        taken[name] = (time.perf_counter() - start) / 60
        if ended.returncode:
            keep(name, [Line(f"{name} ended with exit code {ended.returncode}", bar="0", met=False)], folder)
    return taken


def scripts() -> list[str]:
    """The names of all benchmarks."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.name.startswith("_"))


def kept(folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of all scripts, by their names: as they were given to `keep`, or as they lie in NAME.json."""
    found = {}
    for name in scripts():
        own, plain = (folder / f"{name}{end}" for end in (".page.json", ".json"))
        if own.is_file():
            found[name] = json.loads(own.read_text("utf-8"))
        elif plain.is_file():
            document = json.loads(plain.read_text("utf-8"))
            rows = [row for row in document.get("rows", []) if "met" in row and ("case" in row or "name" in row)]
            if rows:
                found[name] = {"date": document.get("date", "no date"), "rows": [asdict(adapted(row)) for row in rows]}
    return found


def adapted(row: dict[str, Any]) -> Line:
    """A row of a script that has its own names for what stands on the page."""

    def text(*names: str) -> str:
        value = next((row[name] for name in names if row.get(name) is not None), "")
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    other = text("other", "floor", "duckdb", "theirs")
    return Line(
        text("name", "case"), text("ours", "seconds"), other, row.get("ratio"), text("bar", "asked"), row["met"]
    )


def page(folder: Path, taken: dict[str, float] | None = None, quick: bool = False) -> str:
    """All rows that lie in a folder, as Markdown."""
    found = kept(folder)
    rows = [row for name in sorted(found) for row in found[name]["rows"]]
    asked = [row for row in rows if row["met"] is not None]
    missed = [row for row in asked if not row["met"]]
    dates = sorted({document["date"] for document in found.values()})
    when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "never"
    load = f", load {os.getloadavg()[0]:.2f} at the end" if hasattr(os, "getloadavg") else ""
    lines = [
        "# Results",
        "",
        f"{when}{', the short run' if quick else ''}, Python {platform.python_version()}, {_machine.cpu_model()}, "
        f"{os.cpu_count()} cores{load}. {len(rows)} rows; of {len(asked)} with a bar {len(asked) - len(missed)} met it.",
        "",
        "Made by `make bench` from one run; `make numbers` takes README.md's numbers from it. Where a bar begins with ≥ the ratio "
        "is theirs divided by ours, and above 1 is in our favour; elsewhere it is ours divided by theirs. Tables without a bar: "
        "[totals](totals.md), [local](local.md).",
    ]
    for name in sorted(found):
        more = f" ([more]({name}.md))" if (RESULTS / f"{name}.md").is_file() else ""
        spent = "" if not taken or name not in taken else f" {taken[name]:.1f} minutes."
        lines += ["", f"## {name}{more}", "", f"{found[name]['date']}.{spent}", "", *table(found[name]["rows"])]
    return "\n".join(lines) + "\n"


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as a table in Markdown."""
    lines = ["| | ours | peer or floor | ratio | bar | met |", "|---|--:|--:|--:|---|---|"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}" if row["ratio"] < 1000 else f"{row['ratio']:,.0f}"
        met = {None: "", True: "yes", False: "**no**"}[row["met"]]
        cells = (row["name"], row["ours"], row["other"], ratio, row["bar"], met)
        lines.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return lines


def with_numbers(readme: str, folder: Path = RESULTS) -> str:
    """README.md with the speeds and the date of drawing.md and recovery.md, which must be from one day."""
    drawing, recovery = ((folder / f"{name}.md").read_text("utf-8") for name in ("drawing", "recovery"))
    peers = {}
    for line in drawing.splitlines():
        case, ours, against, theirs, *_ = [*(cell.strip() for cell in line.split("|")[1:]), "", "", "", ""]
        if case == "geometric 0..100" and against.partition(" ")[0] in ("opendp", "diffprivlib", "pydp"):
            peers[against.partition(" ")[0]] = ours, theirs.removesuffix(" /s")
    drawn = f"{round(float(peers['opendp'][0].removesuffix(' M/s')) * 10**6):,}"
    [found] = [line.split("|") for line in recovery.splitlines() if "0..1,000 at ln(2)/10," in line]
    fast, slow = (float(found[k].removesuffix(" s ")) for k in (2, 4))
    [day] = set(re.findall(r"^(\d{4}-\d\d-\d\d), Python", drawing, re.M)) & set(
        re.findall(r"^(\d{4}-\d\d-\d\d), Python", recovery.partition("## Speed")[2], re.M)
    ) or [None]
    if day is None:
        raise SystemExit("The speeds of drawing.md and recovery.md are from different days; run `make bench` first.")
    speeds = " | ".join([drawn, peers["opendp"][1], peers["diffprivlib"][1], "", peers["pydp"][1]]).replace(
        "|  |", "| |"
    )
    for pattern, text in (
        (r"(?<=\| values a second, in 0\.\.100 \| )[^\n]*(?= \|\n)", speeds),
        (r"(?<=\| likeliest distribution, 0\.\.1000, seconds \| )[^\n]*(?= \|\n)", f"{fast:.3f} | | | {slow:.2f} |"),
        (r"(?<=from one run on two cores, )\d{4}-\d\d-\d\d", day),
    ):
        readme, count = re.subn(pattern, text, readme)
        if count != 1:
            raise SystemExit(f"README.md has {count} places that fit {pattern}; there must be one.")
    return readme


def main() -> None:
    """Run, print and write what is asked for."""
    parser = argparse.ArgumentParser(description="All benchmarks on one page.")
    parser.add_argument("what", choices=["run", "page", "readme"])
    parser.add_argument("names", nargs="*", help="with run: these scripts alone; the others' rows stay as they are")
    parser.add_argument("--quick", action="store_true", help="small sizes; the page is printed alone")
    options = parser.parse_intermixed_args()
    if options.what == "readme":
        README.write_text(with_numbers(README.read_text("utf-8")), encoding="utf-8")
        return
    if options.what == "page":
        text = page(RESULTS)
    elif options.quick:
        with tempfile.TemporaryDirectory() as folder:
            names = options.names or [name for name in scripts() if name not in LONG]
            taken = run(names, True, Path(folder))
            print(page(Path(folder), taken, quick=True))
        return
    else:
        text = page(RESULTS, run(options.names or scripts(), False, RESULTS))
    (RESULTS / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
