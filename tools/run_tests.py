"""Run the tests in two processes, since they take twenty minutes in one: some rooms here, all others there.

    python tools/run_tests.py [arguments of pytest]

Both get the same arguments. What the second one says is printed when the first one is done; the exit code is 0 when both
were green.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
FIRST = ("tables", "engines", "browser", "studio", "ledger", "collect")  # about half of the time


def main(given: list[str]) -> int:
    first = [TESTS / name for name in FIRST]
    rest = sorted(path for path in TESTS.iterdir() if path not in first and _has_tests(path))
    rest.append(ROOT / "studies" / "tests")
    pytest = [sys.executable, "-m", "pytest", *given]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
        other = subprocess.Popen([*pytest, *map(str, rest)], stdout=told, stderr=subprocess.STDOUT)
        try:
            codes = [subprocess.run([*pytest, *map(str, first)], check=False).returncode, other.wait()]
        except BaseException:
            other.kill()
            raise
        told.seek(0)
        sys.stdout.write(told.read())
    return max(codes)


def _has_tests(path: Path) -> bool:
    return any(path.glob("test_*.py")) if path.is_dir() else path.match("test_*.py")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
