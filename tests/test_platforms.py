"""What other systems lack is not needed: without it every module is imported and a table is released and checked."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import discreet
from tests.cells import for_each

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
ledger.create("town", budget="1", relation="add-remove")
dt.admit("people.csv", dataset="town", ledger=ledger)
made = dt.release("people.csv", dataset="town", ledger=ledger, count="ill = 'yes'", by=["district"],
                  domain={"district": ["north", "south"]}, epsilon="1/2")
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


def unnamed_encodings(source: str) -> list[int]:
    """Lines that open a text file and leave its encoding to the system."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        holder = getattr(getattr(node.func, "value", None), "id", "")
        if name not in ("open", "fdopen", "read_text", "write_text") or holder in ("webbrowser", "archive"):
            continue
        if isinstance(node.func, ast.Name) and name != "open":  # a function of ours by that name
            continue
        if name == "open" and holder == "os":
            continue
        texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        binary = name in ("open", "fdopen") and any("b" in text and len(text) <= 3 for text in texts)
        if not binary and not any(word.arg in ("encoding", None) for word in node.keywords):
            found.append(node.lineno)
    return found


@for_each("path", FILES)
def test_every_text_file_is_opened_with_its_encoding(path):
    assert not unnamed_encodings(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("open('a')", [1]),
        ("open('a', 'w')", [1]),
        ("p.read_text()", [1]),
        ("p.write_text('b')", [1]),
        ("open('a', 'rb')", []),
        ("open('a', encoding='utf-8')", []),
        ("p.open('rb+')", []),
        ("os.open('a', 1)", []),
    ],
)
def test_an_encoding_that_is_missing_is_found(line, lines):
    assert unnamed_encodings(line) == lines


def needed_at_once(source: str) -> set[str]:
    """Modules of other systems than Windows that a module cannot be imported without."""
    body = ast.parse(source).body
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in body if isinstance(node, ast.ImportFrom) and not node.level]
    return {"fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"} & set(names)


@for_each("path", FILES)
def test_no_module_needs_what_windows_lacks_to_be_imported(path):
    assert not needed_at_once(path.read_text(encoding="utf-8"))


def test_a_module_that_windows_lacks_is_found():
    assert needed_at_once("import os, fcntl") == {"fcntl"}
    assert needed_at_once("from resource import getrlimit") == {"resource"}
    assert not needed_at_once("try:\n    import fcntl\nexcept ImportError:\n    fcntl = None")
