"""The peers: each is installed on demand in its own virtual environment, and timed in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".peers"  # ignored by git
INSTALL_SECONDS = 300
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


def install(name: str) -> str:
    """Make the peer's environment unless it is there with the same pins. Returns the problem, or nothing."""
    home = FOLDER / name
    stamp = home / "pins.txt"
    pins = "\n".join((f"python {sys.version_info.major}.{sys.version_info.minor}", *PINS[name]))
    if stamp.is_file() and stamp.read_text() == pins:
        return ""
    shutil.rmtree(home, ignore_errors=True)
    pip = [str(_python(home)), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    try:
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True, text=True)
        subprocess.run([*pip, *PINS[name]], check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not installed: it took more than {INSTALL_SECONDS // 60} minutes"
    except subprocess.CalledProcessError as error:
        return f"not installed: {_reason(error.stderr)}"
    stamp.write_text(pins)
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
        return PeerRate(name, problem=f"does not run: {_reason(error.stderr)}")


def _python(home: Path) -> Path:
    return home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _reason(text: str) -> str:
    """The last line that names an error, without places on this machine."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(ERROR:|\w*(Error|Exception)\b)", line)]
    line = (errors or lines or ["no message"])[-1].removeprefix("ERROR:").strip()
    return re.sub(r"\s*\(?(\w+://|/)[^\s)]+\)?", "", line)[:160]
