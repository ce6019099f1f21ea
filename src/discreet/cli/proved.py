"""The checker whose answers are proved in Coq (proofs/), where it was built: a program of its own that reads mechanism files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from ..errors import FileError

NAME = "discreet-checker"


def checker() -> str:
    """Where the program is: DISCREET_CHECKER names it, or it is on the path, or `make proofs` built it beside these sources."""
    built = Path(__file__).resolve().parents[3] / "proofs" / "build" / NAME
    given = os.environ.get("DISCREET_CHECKER")
    found = given or shutil.which(NAME) or (str(built) if built.is_file() else None)
    if found is None or not os.access(found, os.X_OK):
        raise FileError(
            "The proved checker is not built here. Say make proofs in discreet's sources, and name the program that it "
            "makes in DISCREET_CHECKER.",
            kind="missing",
        )
    return found


def ask_proved(data: bytes) -> tuple[int, str]:
    """What the proved checker says about the bytes of a file: 0 holds, 1 does not, 2 unreadable, 3 not covered; and its words."""
    try:
        done = subprocess.run([checker(), "-"], input=data, capture_output=True, check=False)
    except OSError as error:
        raise FileError(
            f"The proved checker cannot be run ({error.strerror}). Build it with make proofs.", kind="missing"
        ) from None
    return done.returncode, done.stdout.decode("utf-8", "replace").partition(": ")[2].strip()
