"""How soon the command line answers: processor seconds of `--help` and others, against `python -c pass`.

Asked: under 0.3 s. Processor time, since it says the same on a busy machine; each is a process of its own, the best of several.
Modules are compiled before, as after any first run. The last rows say where the time of a first release goes.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from datetime import date

import _machine
import _page

RESULTS = _page.FOLDER
MAIN = "import sys; from discreet.cli import main; main(sys.argv[1:])"
ENGINES = "import duckdb, pyarrow, pyarrow.compute; pyarrow.scalar(1)"  # PyArrow itself imports pandas here, where it is installed
RELEASE = """
import pathlib, tempfile
import discreet as dt
with tempfile.TemporaryDirectory() as folder:
    file, districts = pathlib.Path(folder) / "people.csv", [f"d{k}" for k in range(10)]
    file.write_text("district,id\\n" + "".join(f"d{k % 10},{k}\\n" for k in range(1000)))
    people = dt.Ledger(str(file.with_name("book.db"))).create("people", budget=10, relation="add-remove")
    people.admit(str(file))
    people.release(str(file), by="district", domain={"district": districts}, epsilon="1/2")
"""
CASES = {
    "python -c pass": ("pass", []),
    "import discreet": ("import discreet", []),
    "import DuckDB and PyArrow": (ENGINES, []),
    "the same, and discreet's admission and first release": (f"{ENGINES}\n{RELEASE}", []),
    "import cyclopts, the parser of words": ("import cyclopts", []),
    "discreet --version": (MAIN, ["--version"]),
    "discreet --help": (MAIN, ["--help"]),
    "discreet release --help": (MAIN, ["release", "--help"]),
    "discreet completion bash": (MAIN, ["completion", "bash"]),
    "discreet make geometric --n 8 --alpha 9/10": (MAIN, ["make", "geometric", "--n", "8", "--alpha", "9/10"]),
}


LOADED = f"""
{ENGINES}
import sys
before = set(sys.modules)
{RELEASE}
print(*(set(sys.modules) - before))
"""
LOAD = """
import contextlib, importlib
for name in {names}:
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""


def seconds(code: str, words: list[str], compiled: str) -> float:
    """Processor seconds of a process and what it started; compiled modules lie in a folder of their own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True, env=environment(compiled))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment(compiled: str) -> dict[str, str]:
    """With which modules are compiled once."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": compiled}


def imports(compiled: str) -> dict[str, tuple[str, list[str]]]:
    """The imports of a first release beside the engines: those of others, and ours too."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED], check=True, capture_output=True, text=True, env=environment(compiled)
    )
    names = sorted(done.stdout.split())
    others = [name for name in names if name.partition(".")[0] != "discreet"]
    return {
        "import engines, and others' modules that a first release loads": (f"{ENGINES}{LOAD.format(names=others)}", []),
        "the same, and discreet's own": (f"{ENGINES}{LOAD.format(names=[*others, *names])}", []),
    }


def first_release(found: dict[str, float]) -> dict[str, float]:
    """Where the time of a first release goes, beside the imports of the engines."""
    names = (
        "import DuckDB and PyArrow",
        "import engines, and others' modules that a first release loads",
        "the same, and discreet's own",
        "the same, and discreet's admission and first release",
    )
    engines, others, own, whole = (found[name] for name in names)
    return {
        "to load others' modules": others - engines,
        "to load discreet's own": own - others,
        "to admit and release": whole - own,
    }


def bar(taken: float, most: float | None) -> tuple[str, bool | None]:
    """What is asked, and whether it is met."""
    return ("", None) if most is None else (f"under {most:g} s", taken < most)


def main(repeats: int = 15) -> None:
    with tempfile.TemporaryDirectory() as compiled:
        cases = {**CASES, **imports(compiled)}
        found = {name: min(seconds(*case, compiled) for _ in range(repeats)) for name, case in cases.items()}
    least = found["python -c pass"]
    about = {"date": date.today().isoformat(), "python": platform.python_version(), "machine": _machine.cpu_model()}
    (RESULTS / "startup.json").write_text(json.dumps({**about, "seconds": found}, indent=1) + "\n", encoding="utf-8")
    when = f"{', '.join(about.values())}, load {os.getloadavg()[0]:.2f}"
    text = [
        "# Start-up",
        "",
        f"{when}. Processor seconds, the best of {repeats}; asked of --help: under 0.3 s.",
        "",
        "| command | s | times python -c pass |",
        "|---|--:|--:|",
    ]
    text += [f"| `{name}` | {s:.3f} | {s / least:.1f} |" for name, s in found.items()]
    parts = first_release(found)
    first = sum(parts.values())
    where = ", ".join(f"{s:.3f} s {name}" for name, s in parts.items())
    text += [
        "",
        f"The first release in a fresh process takes {first:.3f} s beside the imports of DuckDB and PyArrow: {where}.",
    ]
    (RESULTS / "startup.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    print("\n".join(text))
    asked = {"import discreet": 0.25, "discreet --help": 0.3}
    lines = [
        _page.Line(
            name, _page.seconds(s), f"{_page.seconds(least)}, python -c pass", s / least, *bar(s, asked.get(name))
        )
        for name, s in found.items()
    ]
    lines.append(_page.Line("the first release beside these imports", _page.seconds(first), "", None, *bar(first, 1.0)))
    lines += [_page.Line(f"of this {name}", _page.seconds(s), "", s / first) for name, s in parts.items()]
    _page.keep(__file__, lines)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
