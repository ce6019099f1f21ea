"""What other systems lack is not needed: without it every module is imported and a table is released and checked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

FILES = sorted(Path(discreet.__file__).parent.rglob("*.py"))

LACKING = """
import os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "register_at_fork", "pread", "fchmod", "posix_fallocate", "O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW",
             "getuid", "geteuid", "kill", "sync", "fdatasync"):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGALRM", "SIGUSR1"):
    delattr(signal, name)
"""

RELEASED = """
import importlib, pkgutil
import discreet as dt
for module in pkgutil.walk_packages(dt.__path__, "discreet."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
open("people.csv", "w", newline="").write("district,ill\\r\\n" + "north,yes\\r\\nsouth,no\\r\\n" * 50)
ledger = dt.Ledger("budget.db")
town = ledger.create("town", budget="1", relation="add-remove")
town.admit("people.csv")
made = town.release("people.csv", count="ill = 'yes'", by=["district"], domain={"district": ["north", "south"]}, epsilon="1/2")
made.save("table.csv")
assert dt.check_release("table.json", ledger=ledger).holds
assert b"\\r" not in open("table.csv", "rb").read() + open("table.json", "rb").read()
"""


@pytest.mark.long
def test_a_table_is_released_without_what_windows_lacks(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LACKING + RELEASED], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_taken_away_is_gone():
    """The test above would pass if it took nothing away."""
    for use in ("import fcntl", "import resource", "os.fork()", "os.pread(0, 1, 0)"):
        done = subprocess.run([sys.executable, "-c", f"{LACKING}\n{use}"], capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1].startswith(("ModuleNotFoundError", "AttributeError", "ImportError"))


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_without_our_letters_is_written_to(encoding):
    command = [sys.executable, "-m", "discreet", "make", "explicit-fair", "--n", "8", "--alpha", "9/10"]
    own = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, env=own, check=False)
    assert done.returncode == 0
    assert b"level: alpha 9/10" in done.stdout
    assert not done.stderr
