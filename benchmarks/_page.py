"""All benchmarks on one page: what is ours, what it is held against, their ratio, what was asked, and whether it was met.

Usage: python benchmarks/_page.py run [--quick | --full] [--peers] [NAME ...]   run the scripts and write the page
       python benchmarks/_page.py page                                          write the page of the last run again
       python benchmarks/_page.py readme                                        take README.md's numbers from the last run

`make bench` (QUICK=1, FULL=1, PEERS=1) and `make numbers` call this. A run is meant for a quiet machine of two cores, and takes
about 20 minutes; `PLANS` says what each script takes. --full adds the sizes and repeats that decide no bar (hours), --quick
runs small sizes for a few minutes, prints the page and keeps nothing. With names these scripts alone run, and the rows of the
others stay.

A script gives its rows to `keep`, all of one shape (`Line`). They are gathered in results/page.json, of which the page
results/README.md is made; both are kept in the repository. A script that fails, takes far too long or keeps no rows
leaves one row that says so, and the others go on. Tables of a script's own (results/NAME.md) are replaced where it ran with no
words, as somebody would run it by hand.

Peers have environments of their own, which --peers makes before the run (benchmarks/.peers, a gigabyte, some minutes once). Without
one its row says "peer not installed", with what was measured last and when (results/peers.json), and no ratio.

Numbers in README.md stand between markers, which do not show:

    <!-- number: draws -->168,600,000<!-- /number -->

`readme` writes into each marked place the number of that name in results/page.json, and changes nothing else. A row names its
numbers itself (`Line.numbers`); besides these there are `date` and `python`, of the run. The page ends with a list of the names
that exist. An unknown name, or one that the last run did not measure, is told in a sentence, and README.md stays as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
README = HERE.parent / "README.md"
WHERE = "DISCREET_BENCH"  # where scripts write, if not to results/
FOLDER = Path(os.environ.get(WHERE, RESULTS))
BUSY = 0.7  # the load at the start from which a machine of two cores is not quiet
DRIFT = 1.25  # times the least that the calibration loop may take at other times of a run
PATIENCE = 4  # times the expected minutes, and at least as many minutes, after which a script is ended
MARKER = re.compile(r"(<!-- number: ([^<>\n]*?) -->)(.*?)(<!-- /number -->)")


@dataclass(frozen=True)
class Plan:
    """How a script runs: the minutes that it takes on a quiet machine of two cores, and its words for each size."""

    minutes: float
    page: tuple[str, ...] = ()
    quick: tuple[str, ...] | None = ("--quick",)  # None: left out of a quick run
    full: tuple[str, ...] = ()


PLANS = {
    "alike": Plan(0.2, quick=()),
    "calls": Plan(0.5),
    "cascade": Plan(0.4, page=("--rounds", "3"), quick=("--rounds", "1")),
    "categories": Plan(0.3, page=("--bars",)),
    "cluster": Plan(2.2, quick=("--rows", "2000000", "--runs", "1")),
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
    "totals": Plan(0.1, page=("--quick",)),
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
    numbers: dict[str, str] = field(default_factory=dict)  # for README.md, by their names


def seconds(value: float | None) -> str:
    """A time as people read it."""
    if value is None:
        return ""
    return f"{value:.3g} s" if value >= 0.1 else f"{value * 1e3:.3g} ms" if value >= 1e-4 else f"{value * 1e6:.3g} µs"


def keep(script: str, lines: Iterable[Line], folder: Path | None = None) -> None:
    """The rows of a script, for the page."""
    folder = folder or FOLDER
    folder.mkdir(exist_ok=True)
    rows = [asdict(line) for line in lines]
    (folder / f"{Path(script).stem}.page.json").write_text(_json(rows), encoding="utf-8")


def machine() -> str:
    """What the numbers of one table depend on, without the processor's name."""
    load = f", load {os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else ""
    return f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores{load}"


def scripts() -> list[str]:
    """The names of all benchmarks."""
    return sorted(file.stem for file in HERE.glob("*.py") if not file.name.startswith("_"))


def run(names: list[str], size: str, folder: Path, program: Path = HERE) -> dict[str, Any]:
    """Run the scripts one after the other, each in a process of its own, in this folder: what the page says of them."""
    words = {name: getattr(PLANS[name], size) for name in names}
    left = sum(PLANS[name].minutes for name in names)
    about: dict[str, Any] = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "size": size,
        "cores": os.cpu_count(),
        "load": [_load()],
        "loops": [calibrated()],
        "scripts": {},
    }
    for k, name in enumerate(names):
        minutes = PLANS[name].minutes
        until = f", about {minutes:g} minutes; {left:.0f} minutes left" if size == "page" else ""
        print(f"{k + 1} of {len(names)}: {' '.join((name, *words[name]))}{until}", flush=True)
        start = time.perf_counter()
        allowed = 60 * (minutes + max(PATIENCE, 3 * minutes)) if size != "full" else 6 * 3600
        problem = _ended([sys.executable, str(program / f"{name}.py"), *words[name]], name, folder, allowed)
        file = folder / f"{name}.page.json"
        rows = json.loads(file.read_text("utf-8")) if file.is_file() else []
        if size == "quick":  # small sizes decide nothing
            rows = [{**row, "met": None} for row in rows]
        if problem or not rows:
            rows = [*rows, asdict(Line(name, f"failed: {problem or 'it kept no rows'}", bar="to end well", met=False))]
        taken = (time.perf_counter() - start) / 60
        run_of = {"started": about["started"], "date": about["date"]}
        about["scripts"][name] = {**run_of, "words": words[name], "minutes": taken, "rows": rows}
        about["loops"].append(calibrated())
        left -= minutes
    about["load"].append(_load())
    return about


def _ended(command: list[str], name: str, folder: Path, allowed: float) -> str:
    """Run a script, with its output in a file: the problem, or nothing. Whatever it started ends with it."""
    log = folder / f"{name}.log"
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            command,
            env={**os.environ, WHERE: str(folder)},
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            code = process.wait(allowed)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"it took more than {allowed / 60:.0f} minutes"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if code == 0:
        return ""
    text = log.read_text("utf-8", errors="replace")
    print("\n".join(text.splitlines()[-15:]), file=sys.stderr, flush=True)
    return f"{reason(text)} (exit code {code})"


def reason(text: str) -> str:
    """The last line that names an error, without places on this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR:|[\w.]*(Error|Exception|Exit|Interrupt)\b)", line)]
    line = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
    return re.sub(r"\s*\(?(\w+://|/)[^\s)]+\)?", "", line)[:160]


def calibrated() -> float:
    """Seconds on the wall of a loop that adds up a million numbers, the middle of five: it grows where others work too."""

    def loop() -> float:
        start, total = time.perf_counter(), 0
        for k in range(1_000_000):
            total += k
        return time.perf_counter() - start

    return sorted(loop() for _ in range(5))[2]


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def merged(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """A run, and for the scripts that it left out their rows as they were."""
    kept = {} if old is None else {name: one for name, one in old["scripts"].items() if name in PLANS}
    return {**new, "scripts": dict(sorted({**kept, **new["scripts"]}.items()))}


def noise(about: dict[str, Any]) -> str:
    """A sentence where the machine was not quiet, or nothing."""
    load, (least, most) = about["load"][0], (min(about["loops"]), max(about["loops"]))
    if load is not None and load > BUSY:
        return f"The machine was not quiet: its load was {load:g} at the start, so times may be too long."
    if most > DRIFT * least:
        times = f"{most / least:.2f}"
        return f"The machine was not quiet: the calibration loop took up to {times} times its least, so times may be too long."
    return ""


def page(about: dict[str, Any]) -> str:
    """A run as Markdown."""
    found = about["scripts"]
    rows = [row for one in found.values() for row in one["rows"]]
    asked = [row for row in rows if row["met"] is not None]
    missed = [(name, row) for name, one in found.items() for row in one["rows"] if row["met"] is False]
    size = {"page": "", "quick": ", small sizes", "full": ", all sizes"}[about["size"]]
    others = sorted(name for name, one in found.items() if one["started"] != about["started"])
    loads = " and ".join("unknown" if load is None else f"{load:g}" for load in about["load"])
    loops = f"{1e3 * min(about['loops']):.0f} to {1e3 * max(about['loops']):.0f} ms"
    lines = [
        "# Results",
        "",
        f"{about['date']}{size}, Python {about['python']}, {about['cores']} cores, load {loads} at start and end, a loop of a "
        f"million additions {loops}, {sum(one['minutes'] for one in found.values()):.0f} minutes. {len(rows)} rows; of "
        f"{len(asked)} with a bar {len(asked) - len(missed)} met it.",
    ]
    lines += ["", noise(about)] if noise(about) else []
    if others:
        lines += ["", f"From earlier runs, with loads of their own: {', '.join(others)}."]
    lines += [
        "",
        "Made by `make bench`; `make numbers` takes README.md's numbers from it. Where a bar begins with ≥ the ratio "
        "is theirs divided by ours, and above 1 is in our favour; elsewhere it is ours divided by theirs.",
    ]
    if missed:
        lines += ["", "Not met:", "", *(f"- {name}: {_missed(row)}" for name, row in missed)]
    for name, one in found.items():
        more = f" ([more]({name}.md))" if (RESULTS / f"{name}.md").is_file() else ""
        words = f" with `{' '.join(one['words'])}`" if one["words"] else ""
        spent = f"{one['date']}, {one['minutes']:.1f} minutes{words}."
        lines += ["", f"## {name}{more}", "", spent, "", *table(one["rows"])]
    told = numbers(about)
    lines += ["", "## Numbers for README.md", "", "| name | number |", "|---|--:|"]
    lines += [f"| `{name}` | {value} |" for name, value in told.items()]
    return "\n".join(lines) + "\n"


def _missed(row: dict[str, Any]) -> str:
    ratio = "" if row["ratio"] is None else f", ratio {row['ratio']:.3g}"
    return f"{row['name']}: {row['ours']}{ratio}, asked {row['bar']}".replace("|", "/")


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as a table in Markdown."""
    lines = ["| | ours | peer or floor | ratio | bar | met |", "|---|--:|--:|--:|---|---|"]
    for row in rows:
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}" if row["ratio"] < 1000 else f"{row['ratio']:,.0f}"
        met = {None: "", True: "yes", False: "**no**"}[row["met"]]
        cells = (row["name"], row["ours"], row["other"], ratio, row["bar"], met)
        lines.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return lines


def numbers(about: dict[str, Any]) -> dict[str, str]:
    """What README.md can take from a run, by name: of the scripts that ran in it."""
    found = {"date": about["date"], "python": about["python"]}
    for one in about["scripts"].values():
        if one["date"] == about["date"]:
            for row in one["rows"]:
                found |= row["numbers"]
    return found


def with_numbers(readme: str, about: dict[str, Any]) -> str:
    """README.md with the number of each marked place taken from a run."""
    told = numbers(about)
    opened, closed = len(re.findall(r"<!--\s*number\b", readme)), len(re.findall(r"<!--\s*/number\b", readme))
    whole = MARKER.findall(readme)
    if not whole or len(whole) != opened or len(whole) != closed:
        raise SystemExit(
            f"README.md has {opened} openings, {closed} ends and {len(whole)} whole places of a number; they look like "
            "<!-- number: date -->2026-11-15<!-- /number --> and stand on one line."
        )
    absent = list(dict.fromkeys(name for _, name, _, _ in whole if name not in told))
    if absent:
        raise SystemExit(
            f"README.md asks for {', '.join(absent)}, which the run of {about['date']} did not measure. It has "
            f"{', '.join(told)}. Peers are measured by `make bench PEERS=1`; nothing was changed."
        )
    return MARKER.sub(lambda place: f"{place[1]}{told[place[2]]}{place[4]}", readme)


def last(folder: Path = RESULTS) -> dict[str, Any]:
    """The run that lies in results/."""
    file = folder / "page.json"
    if not file.is_file():
        raise SystemExit("No run lies in benchmarks/results; run `make bench` first.")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def write_readme(readme: Path = README, folder: Path = RESULTS) -> None:
    """All numbers of README.md, or none."""
    about = last(folder)
    if about["size"] == "quick":
        raise SystemExit("The last run was of small sizes; run `make bench` first.")
    text = with_numbers(readme.read_text("utf-8"), about)
    if noise(about):
        print(noise(about), file=sys.stderr)
    beside = readme.with_name(readme.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(readme)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Run, print and write what is asked for."""
    parser = argparse.ArgumentParser(description="All benchmarks on one page.")
    parser.add_argument("what", choices=["run", "page", "readme"])
    parser.add_argument("names", nargs="*", help="with run: these scripts alone; the others' rows stay as they are")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes; the page is printed, and nothing is kept")
    size.add_argument("--full", action="store_true", help="all sizes and repeats, for hours")
    parser.add_argument("--peers", action="store_true", help="install the peers that are not there")
    options = parser.parse_intermixed_args()
    unknown = [name for name in options.names if name not in PLANS]
    if unknown:
        parser.error(f"There is no benchmark {', '.join(unknown)}; there are {', '.join(PLANS)}.")
    if options.what == "readme":
        write_readme()
        return
    if options.what == "page":
        (RESULTS / "README.md").write_text(page(last()), encoding="utf-8")
        return
    chosen = "quick" if options.quick else "full" if options.full else "page"
    names = [name for name in options.names or PLANS if getattr(PLANS[name], chosen) is not None]
    if options.peers:
        import _peers

        _peers.install_all()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        about = run(names, chosen, folder)
        if chosen != "quick":
            old = last() if (RESULTS / "page.json").is_file() else None
            about = merged(old, about)
            for name in names:
                if not getattr(PLANS[name], chosen) and (folder / f"{name}.md").is_file():
                    shutil.copyfile(folder / f"{name}.md", RESULTS / f"{name}.md")
            (RESULTS / "page.json").write_text(_json(about), encoding="utf-8")
            (RESULTS / "README.md").write_text(page(about), encoding="utf-8")
    print(page(about))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("Interrupted: nothing was written.") from None
