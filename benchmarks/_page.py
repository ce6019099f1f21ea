"""All benchmarks on one page: what is ours, what it is held against, their ratio, what was asked, and whether it was met.

Usage: python benchmarks/_page.py [--quick | --full] [--peers] [NAME ...]

`make bench` (QUICK=1, FULL=1, PEERS=1) calls this. A run is meant for a quiet machine of two cores, and takes about 20 minutes;
`PLANS` says what each script takes. --full adds the sizes and repeats that decide no bar (hours), --quick runs small sizes for a
few minutes. A script gives its rows to `keep`, all of one shape (`Line`); the page is printed and written to results/README.md,
which git ignores. A script that fails or takes far too long leaves one row that says so, and the others go on.

Peers have environments of their own, which --peers makes before the run (benchmarks/.peers, a gigabyte, some minutes once). Without
one its row says "peer not installed", with what was measured last, and no ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = FOLDER = HERE / "results"


@dataclass(frozen=True)
class Plan:
    """How a script runs: the minutes that it takes on a quiet machine of two cores, and its words for each size."""

    minutes: float
    page: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ("--quick",)  # None: left out of a quick run
    full: tuple[str, ...] = ()


PLANS = {
    "calls": Plan(0.5),
    "cascade": Plan(0.4, page=("--rounds", "3"), quick=("--rounds", "1")),
    "categories": Plan(0.3, page=("--bars",)),
    "cluster": Plan(3.0, quick=("--rows", "10000000", "--runs", "1")),
    "collect": Plan(0.4, quick=("1000000",)),
    "compose": Plan(1.0, page=("--bars",)),
    "design": Plan(1.2, page=("--bars",)),
    "drawing": Plan(1.2, quick=("--no-peers", "--rounds", "1")),
    "gaussian": Plan(0.4, quick=("--no-peers", "--rounds", "1")),
    "ledger": Plan(0.4, quick=("--charges", "50")),
    "local": Plan(0.1, page=("--quick",)),
    "many_steps": Plan(4.5, page=("--bars",)),
    "recovery": Plan(1.2, page=("--bars",)),
    "release": Plan(1.6),
    "startup": Plan(0.5, page=("5",), quick=("2",)),
    "studio": Plan(0.3, quick=("--rounds", "2")),
    "sums": Plan(0.4, page=("10000000", "2"), quick=("1000000", "1")),
    "walk": Plan(0.1, quick=()),
    "without_scipy": Plan(0.1, page=("--quick",)),
}


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


def keep(script: str, lines: Iterable[Line]) -> None:
    """The rows of a script, for the page."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps([asdict(line) for line in lines], indent=1, ensure_ascii=False)
    (FOLDER / f"{Path(script).stem}.page.json").write_text(text + "\n", encoding="utf-8")


def machine() -> str:
    """What the numbers of one table depend on, without the processor's name."""
    load = f", load {os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else ""
    return f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores{load}"


def run(name: str, size: str) -> list[Line]:
    """The rows of one script, run in a process of its own."""
    plan, file = PLANS[name], FOLDER / f"{name}.page.json"
    file.unlink(missing_ok=True)
    allowed = 60 * (4 * plan.minutes + 4) if size != "full" else 6 * 3600
    command = [sys.executable, str(HERE / f"{name}.py"), *getattr(plan, size)]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=allowed)
        problem = f"failed: {reason(ended.stderr)} (exit code {ended.returncode})" if ended.returncode else ""
    except subprocess.TimeoutExpired:
        problem = f"failed: it took more than {allowed / 60:.0f} minutes"
    rows = [Line(**row) for row in json.loads(file.read_text("utf-8"))] if file.is_file() else []
    if problem or not rows:
        rows.append(Line(name, problem or "failed: it kept no rows", bar="to end well", met=False))
    return rows


def reason(text: str) -> str:
    """The last line that names an error, without paths and addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR:|[\w.]*(Error|Exception|Exit|Interrupt)\b)", line)]
    line = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
    return re.sub(r"\s*\(?(\w+://|/)[^\s)]+\)?", "", line)[:160]


def page(about: str, found: dict[str, list[Line]]) -> str:
    """The rows of all scripts as Markdown; those that missed their bar are counted first."""
    asked = [row for rows in found.values() for row in rows if row.met is not None]
    text = ["# Results", "", f"{about}. Of {len(asked)} rows with a bar {sum(bool(r.met) for r in asked)} met it."]
    text += [f"- not met: {row.name}: {row.ours}, asked {row.bar}" for row in asked if not row.met]
    for name, rows in found.items():
        text += ["", f"## {name}", "", "| | ours | peer or floor | ratio | bar | met |", "|---|--:|--:|--:|---|---|"]
        for row in rows:
            ratio = "" if row.ratio is None else f"{row.ratio:.3g}" if row.ratio < 1000 else f"{row.ratio:,.0f}"
            met = {None: "", True: "yes", False: "**no**"}[row.met]
            cells = (row.name, row.ours, row.other, ratio, row.bar, met)
            text.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return "\n".join(text) + "\n"


def main() -> None:
    """Run what is asked for, print the page and write it."""
    parser = argparse.ArgumentParser(description="All benchmarks on one page.")
    parser.add_argument("names", nargs="*", help="these scripts alone")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes, which decide no bar")
    size.add_argument("--full", action="store_true", help="all sizes and repeats, for hours")
    parser.add_argument("--peers", action="store_true", help="install the peers that are not there")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in PLANS]:
        parser.error(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(PLANS)}.")
    chosen = "quick" if options.quick else "full" if options.full else "page"
    if options.peers:
        import _peers

        _peers.install_all()
    about, found = machine() + {"page": "", "quick": ", small sizes", "full": ", all sizes"}[chosen], {}
    for name in options.names or PLANS:
        if getattr(PLANS[name], chosen) is not None:
            print(f"{name}, about {PLANS[name].minutes:g} minutes", file=sys.stderr, flush=True)
            found[name] = run(name, chosen)
    text = page(about, found)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "README.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
