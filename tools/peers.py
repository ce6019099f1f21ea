"""Run the peers' lines of docs/coming-from.md, each in an environment of its own: make peers (needs the network; Tumult also Java)

What they print goes to benchmarks/results/peers.md, with versions and the date. An environment that is there is used again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "benchmarks" / ".peers"  # ignored by git
PINS = {
    "opendp": ["opendp[polars]==0.16.0"],
    "tumult": ["tmlt.analytics==0.21.0", "pyspark==3.5.9"],
    # diffprivlib 0.6.6 imports names that scikit-learn has removed since, and its own pins allow those versions
    "diffprivlib": ["diffprivlib==0.6.6", "scikit-learn==1.6.1"],
    "qif": ["qif==1.6.0"],
}
PEOPLE = "district,ill\n" + "north,yes\nnorth,no\nnorth,no\n" * 80 + "south,no\nsouth,yes\n" * 45


def snippets(text: str) -> dict[str, str]:
    """The code of each peer on the page."""
    return dict(re.findall(r"^<!-- peer: (\w+) -->\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


def python_of(name: str) -> Path:
    """The Python of a peer's environment, which is made where it is missing."""
    home = FOLDER / f"page-{name}"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PINS[name]], check=True)
    return python


def printed(python: Path, code: str) -> str:
    """What some lines print, in a folder with the file of people."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "people.csv").write_text(PEOPLE, encoding="utf-8")
        Path(folder, "lines.py").write_text(code, encoding="utf-8")
        own = {**os.environ, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
        done = subprocess.run(
            [python, "-W", "ignore", "lines.py"],
            cwd=folder,
            env=own,
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{code}\n{done.stderr}")
        return done.stdout.strip()


def main() -> None:
    found = snippets((ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8"))
    told = [
        "# What the peers of docs/coming-from.md printed",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, Python {sys.version.split()[0]}; written by `make peers`. Draws differ from run to run.",
    ]
    for name, code in found.items():
        told += ["", f"## {name} ({', '.join(PINS[name])})", "", "```text", printed(python_of(name), code), "```"]
        print(f"{name}: ran")
    (ROOT / "benchmarks" / "results" / "peers.md").write_text("\n".join(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
