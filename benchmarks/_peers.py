"""The peers: each is installed in its own virtual environment, and timed in a process of its own.

`make bench PEERS=1`, or `python benchmarks/_peers.py [NAME ...]`, installs them. The row that needs one that is not there says
so, and what was measured last, from results/peers.json.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import _page

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".peers"  # ignored by git
LATEST = _page.RESULTS / "peers.json"
INSTALL_SECONDS = 300
NOT_INSTALLED = "peer not installed"
RUN_SECONDS = 180

PINS: dict[str, tuple[str, ...]] = {
    "opendp": ("opendp==0.16.0",),
    # diffprivlib 0.6.6 imports names that scikit-learn has since removed, and its own pins allow those versions.
    "diffprivlib": ("diffprivlib==0.6.6", "scikit-learn==1.6.1", "numpy==2.4.6", "scipy==1.17.1"),
    "pydp": ("python-dp==1.1.5",),
    # pure-LDP 1.2.0 imports scikit-learn and statsmodels, and does not say that it needs them.
    "pure-ldp": ("pure-ldp==1.2.0", "scikit-learn==1.6.1", "statsmodels==0.15.0", "numpy==2.4.6", "scipy==1.17.1"),
    "multi-freq-ldpy": ("multi-freq-ldpy==0.2.5", "numpy==2.4.6", "scipy==1.17.1", "numba==0.68.1"),
    "tmlt.core": ("tmlt.core==0.20.0", "pyspark==3.5.9"),
    "qif": ("qif==1.6.0", "numpy==2.4.6"),
    "dp-accounting": ("dp-accounting==0.6.0",),  # pins old versions of attrs and others
}


@dataclass(frozen=True)
class PeerRate:
    """What one peer managed, or why it managed nothing."""

    name: str
    version: str = ""
    rate: float | None = None  # values per second of its fastest route
    route: str = ""
    routes: dict[str, float] = field(default_factory=dict)
    rho: float | None = None  # that it says its noise keeps, where it was asked
    problem: str = ""


def missing(name: str) -> str:
    """Why a peer cannot be measured, or nothing."""
    return "" if _is_installed(name) else NOT_INSTALLED


def remember(what: str, told: str) -> None:
    """Keep what was measured of a peer, with today's date."""
    known = json.loads(LATEST.read_text("utf-8")) if LATEST.is_file() else {}
    known[what] = {"date": datetime.now(UTC).date().isoformat(), "told": told}
    LATEST.write_text(json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def latest(what: str, problem: str) -> str:
    """A problem, and what was measured last, if anything."""
    known = json.loads(LATEST.read_text("utf-8")) if LATEST.is_file() else {}
    return f"{problem}; {known[what]['told']} on {known[what]['date']}" if what in known else problem


def _pins(name: str) -> str:
    return "\n".join((f"python {sys.version_info.major}.{sys.version_info.minor}", *PINS[name]))


def _is_installed(name: str) -> bool:
    stamp = FOLDER / name / "pins.txt"
    return stamp.is_file() and stamp.read_text() == _pins(name)


def install(name: str) -> str:
    """Make the peer's environment unless it is there with the same pins. Returns the problem, or nothing."""
    home = FOLDER / name
    if _is_installed(name):
        return ""
    shutil.rmtree(home, ignore_errors=True)
    pip = [str(_python(home)), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    try:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True, text=True)
        subprocess.run([*pip, *PINS[name]], check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not installed: it took more than {INSTALL_SECONDS // 60} minutes"
    except subprocess.CalledProcessError as error:
        return f"not installed: {_page.reason(error.stderr)}"
    (home / "pins.txt").write_text(_pins(name))
    return ""


def measure(name: str, seconds: float, rounds: int, script: str = "_peer_draws.py", *more: str) -> PeerRate:
    """The rate of an installed peer, from a process of its own: what the script prints, given `more`."""
    python = str(_python(FOLDER / name))
    command = [python, "-W", "ignore", str(HERE / script), name, str(seconds), str(rounds), *more]
    outside = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=RUN_SECONDS, env=outside)
        return PeerRate(name, **json.loads(done.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return PeerRate(name, problem=f"no answer in {RUN_SECONDS} seconds")
    except subprocess.CalledProcessError as error:
        return PeerRate(name, problem=f"does not run: {_page.reason(error.stderr)}")


def _python(home: Path) -> Path:
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install_all(names: Iterable[str] = ()) -> None:
    """Make the environments of these peers, or of all, and say how it went."""
    for name in names or PINS:
        print(f"{name}: {install(name) or 'installed'}", flush=True)


if __name__ == "__main__":
    install_all(sys.argv[1:])
