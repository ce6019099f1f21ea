"""One-token changes that the tests should notice: draws some for a room, and lists those that survive.

    make mutants ROOM=exact.level COUNT=20 SEED=1            # a module or a folder of src/discreet
    make mutants ROOM=channels COUNT=40 WHOLE=1        # survivors also meet the whole suite

Each change is made in a copy of the checkout and put to the tests named for its room. A run that fails, or that takes
many times longer than without the change, has killed it. Changes that are known to mean nothing stand in
tests/mutants.txt, each with its reason.
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "//",
    "//": "*",
    "/": "*",
    "+=": "-=",
    "-=": "+=",
    "*=": "//=",
    "//=": "*=",
    "and": "or",
    "or": "and",
}
TWINS = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("ceil", "floor"), ("any", "all")]
NAMES = {a: b for pair in TWINS for a, b in (pair, pair[::-1])}
SUITE = "not campaign"  # the suite, as `make check` runs it
SPARE = ("__pycache__", ".*", "demo-out", "build", "dist", "results")  # what no test needs, left out of the copy

# Rooms without tests of their own name, and the tests that look at them: files or folders below tests/.
TESTED_IN = {
    "__main__": "cli/test_bare.py",
    "blas": "designs",
    "channels.circle": "channels mechanisms/test_wave.py randomness/test_alias.py",
    "channels.contract": "channels measure/test_posteriors.py",
    "channels.shares": "channels/test_shares.py channels/test_projective.py",
    "channels.two_levels": "channels mechanisms/test_wave.py",
    "channels.window": "channels mechanisms/test_wave.py",
    "cli": "cli test_documentation.py",
    "collect.account": "collect/test_account.py collect/test_hostile.py",
    "collect.reporter": "collect/test_reporter.py",
    "engines.plain": "engines/test_plain.py engines/test_arrow_types.py collect/test_hostile.py collect/test_placing.py",
    "engines.duckdb": "engines/test_duckdb.py engines/test_lines.py engines/test_values.py",
    "engines.reading": "engines/test_reading.py engines/test_lines.py engines/test_duckdb.py",
    "engines.guard": "engines/test_guard.py",
    "engines.table_source": "engines/test_arrow_types.py engines/test_plain.py engines/test_dates.py engines/test_guard.py",
    "engines.count_sql": "engines/test_duckdb.py engines/test_values.py engines/test_kept.py tables/test_parts.py",
    "engines.count_people": "engines/test_kept.py engines/test_duckdb.py engines/test_adding.py",
    "engines.bounds": "engines/test_adding.py",
    "errors": "test_errors.py",
    "files": "test_files.py test_verify.py",
    "lazy": "test_house.py",
    "ledger.chain": "ledger/test_audit_of_lines.py ledger/test_ledger.py",
    "ledger.entries": "ledger/test_caps.py ledger/test_parts.py ledger/test_ledger.py tables/test_parts_reading.py",
    "ledger.history": "ledger/test_audit_of_lines.py ledger/test_caps.py ledger/test_ledger.py",
    "ledger.periods": "ledger/test_caps.py ledger/test_parts.py",
    "ledger.promise": "ledger/test_promise.py ledger/test_concentrated.py",
    "ledger.state": "ledger/test_audit_of_lines.py ledger/test_parts.py ledger/test_moving.py ledger/test_caps.py "
    "ledger/test_concentrated.py ledger/test_ledger.py",
    "ledger.terms": "ledger/test_concentrated.py ledger/test_audit_of_lines.py ledger/test_caps.py ledger/test_ledger.py "
    "ledger/test_parts.py cli/test_paying.py",
    "mechanism": "mechanisms measure/test_privacy.py test_postprocessing.py",
    "exact.intake": "test_sampling.py",
    "questions.domain": "questions/test_hierarchy.py questions/test_question.py tables/test_release.py",
    "questions.statistic": "engines/test_adding.py tables/test_statistics.py",
    "recovery.tallies": "recovery/test_tallies.py recovery/test_recovery.py",
    "results": "test_house.py present/test_results.py",
    "registry": "test_registry.py test_documentation.py",
    "traditional": "test_house.py",
    "tables.draw.answers": "tables/test_answers.py tables/test_question_check.py",
    "tables.draw.audiences": "tables/test_audiences.py",
    "questions.question": "questions/test_question.py",
    "tables.saved.checking": "tables/test_checking.py tables/test_forgeries.py",
    "tables.publish.error_statement": "tables/test_confidence.py present/test_results.py",
    "tables.publish.expected_errors": "tables/test_confidence.py",
    "tables.publish.pictures": "tables/test_table.py",
    "tables.publish.presentation": "tables/test_table.py tables/test_pages.py",
    "tables.publish.previews": "tables/test_statistics.py tables/test_release.py tables/test_confidence.py",
    "tables.count.question_check": "tables/test_question_check.py tables/test_parts.py",
    "tables.count.true_numbers": "tables/test_statistics.py tables/test_admission.py tables/test_parts.py",
    "tables.draw.measures": "tables/test_measures.py tables/test_statistics.py",
    "tables.publish.readings": "tables/test_open_counts.py tables/test_statistics.py tables/test_confidence.py",
    "tables.totals.fitting": "tables/test_fitting.py tables/test_least_squares.py channels/test_reading.py",
    "tables.totals.margin_rows": "tables/test_totals.py tables/test_confidence.py",
    "tables.totals.noise_sums": "tables/test_noise_sums.py tables/test_least_squares.py",
    "questions.margins": "tables/test_totals.py tables/test_release.py",
    "tables.saved.saved_release": "tables/test_checking.py tables/test_forgeries.py tables/test_verify_release.py",
    "tables.saved.release_files": "tables/test_saving.py tables/test_checking.py",
    "tables.ask.asked": "tables/test_audiences.py tables/test_release.py tables/test_statistics.py tables/test_answers.py",
}

Place = tuple[int, int]  # a line, from 1, and a column in characters


@dataclass(frozen=True, order=True)
class Mutant:
    """One token of one file, and what takes its place."""

    path: str  # below the root
    start: Place
    end: Place
    before: str
    after: str

    def changed(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        line, (row, first), last = lines[self.start[0] - 1], self.start, self.end[1]
        lines[row - 1] = line[:first] + self.after + line[last:]
        return "".join(lines)

    def lines(self, text: str) -> tuple[str, str]:
        """Its line before and after the change."""
        before, after = (whole.splitlines()[self.start[0] - 1].strip() for whole in (text, self.changed(text)))
        return before, after

    def __str__(self) -> str:
        return f"{self.path}:{self.start[0]}: {self.before} -> {self.after or 'nothing'}"


# Finding what can be changed


def _silent(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which a change is no change of behaviour that a test should pin down."""
    match node:
        case ast.JoinedStr() | ast.Raise() | ast.FunctionDef(name="__repr__") | ast.Import() | ast.ImportFrom():
            yield node
        case ast.If(test=ast.Name("TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            yield from node.body
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from filter(None, [node.returns, *node.decorator_list])
        case ast.ClassDef():
            yield from node.decorator_list
        case ast.arg() | ast.AnnAssign():
            yield from filter(None, [node.annotation])


class _Text:
    """A file's tokens, where the syntax tree says they are."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.tree, self.lines = path, ast.parse(text), text.splitlines()
        self.tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))

    def place(self, line: int, offset: int) -> Place:
        """The tree counts bytes, tokens count characters."""
        return line, len(self.lines[line - 1].encode()[:offset].decode())

    def start(self, node: ast.AST) -> Place:
        return self.place(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> Place:
        return self.place(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def within(self, first: Place, last: Place, known: Callable[[str], bool]) -> Iterator[tokenize.TokenInfo]:
        return (t for t in self.tokens if first <= t.start and t.end <= last and known(t.string))

    def mutant(self, token: tokenize.TokenInfo, after: str) -> Mutant:
        return Mutant(self.path, token.start, token.end, token.string, after)

    def of(self, node: ast.AST) -> Iterator[Mutant]:
        """The changes of the node's own tokens, not of its parts'."""
        match node:
            case ast.BinOp():
                yield from self._between([node.left, node.right])
            case ast.AugAssign():
                yield from self._between([node.target, node.value])
            case ast.BoolOp():
                yield from self._between(node.values)
            case ast.Compare():
                yield from self._between([node.left, *node.comparators])
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                token = next(self.within(self.start(node), self.end(node), {"not", "-"}.__contains__))
                yield self.mutant(token, "")
            case ast.Constant(value=bool()):
                yield self.mutant(self._first(node), str(not node.value))
            case ast.Constant(value=int()):
                yield self.mutant(self._first(node), str(node.value + 1))
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
                *_, token = self.within(self.start(node), self.end(node), name.__eq__)
                yield self.mutant(token, NAMES[name])

    def _first(self, node: ast.AST) -> tokenize.TokenInfo:
        return next(self.within(self.start(node), self.end(node), bool))

    def _between(self, parts: Sequence[ast.AST]) -> Iterator[Mutant]:
        """The operators between the parts: nothing else but parentheses stands there."""
        for left, right in pairwise(parts):
            for token in self.within(self.end(left), self.start(right), OPERATORS.__contains__):
                yield self.mutant(token, OPERATORS[token.string])


def mutants(path: str, text: str) -> list[Mutant]:
    """Every change of a file, in its order."""
    read = _Text(path, text)
    silent = {id(part) for node in ast.walk(read.tree) for top in _silent(node) for part in ast.walk(top)}
    return sorted({m for node in ast.walk(read.tree) if id(node) not in silent for m in read.of(node)})


# Rooms and their tests


def rooms(package: Path, room: str) -> list[Path]:
    """The files of a module, or of every module of a folder."""
    base = package.joinpath(*room.split("."))
    files = [base.with_suffix(".py")] if base.with_suffix(".py").is_file() else sorted(base.rglob("*.py"))
    if not files:
        raise SystemExit(
            f"There is no room {room!r} in {package.name}; name a module or a folder, for example ROOM=exact.level."
        )
    return files


def tests_of(tests: Path, room: str) -> list[str]:
    """The tests named for a room, below the folder of tests: a file of its name, or all of the folder it is in."""
    own = Path(*room.split("."))
    named = own.parent / f"test_{own.name}.py"
    if room in TESTED_IN:
        return TESTED_IN[room].split()
    if (tests / named).is_file():
        return [named.as_posix()]
    if (tests / own).is_dir():
        return [own.as_posix()]
    return tests_of(tests, room.rpartition(".")[0]) if "." in room else []


def known_changes(path: Path) -> dict[tuple[str, str, str], str]:
    """What is listed as meaning nothing: (room, line before, line after), and the reason.

    Each entry is four lines: the room, `- ` the line, `+ ` the changed line (`+ *` for every change of that line), and
    why nobody can tell.
    """
    if not path.is_file():
        return {}
    text = "\n".join(line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    entries = [[line.strip() for line in entry.splitlines()] for entry in text.split("\n\n")]
    entries = [[line for line in entry if line] for entry in entries if any(entry)]
    for entry in entries:
        if len(entry) != 4 or entry[1][:2] != "- " or entry[2][:2] != "+ ":
            raise SystemExit(f"{path.name}: {entry} is not a room, `- ` a line, `+ ` the changed line and a reason.")
    return {(room, before[2:], after[2:]): why for room, before, after, why in entries}


# Running


@dataclass(frozen=True)
class Checkout:
    """A copy of a checkout, in which one file at a time is changed."""

    root: Path
    package: str
    times: float = 4.0  # how many times longer than without a change a run may take,
    grace: float = 10.0  # and how many seconds beyond that: other programs run, too
    seed: int = 0

    @property
    def source(self) -> Path:
        return self.root / "src" / self.package

    def room(self, path: Path) -> str:
        parts = path.relative_to(self.source).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)

    def passes(self, tests: Iterable[str], seconds: float | None = None) -> bool:
        """Whether the tests pass, in time."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", SUITE]
        command += [
            f"--hypothesis-seed={self.seed}",
            *(f"tests/{name}" for name in tests),
        ]  # the same examples each time
        environment, silence = {**os.environ, "PYTHONPATH": str(self.root / "src")}, subprocess.DEVNULL
        with subprocess.Popen(
            command, cwd=self.root, env=environment, stdout=silence, stderr=silence, start_new_session=True
        ) as run:
            try:
                return run.wait(seconds) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                if run.poll() is None:
                    os.killpg(run.pid, signal.SIGKILL)  # what the tests started goes with them

    def survives(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> bool:
        """Whether the tests pass in spite of the change."""
        path = self.root / mutant.path
        text = path.read_text(encoding="utf-8")
        try:
            self._write(path, mutant.changed(text))
            return self.passes(tests, seconds)
        finally:
            self._write(path, text)

    @staticmethod
    def _write(path: Path, text: str) -> None:
        """Compiled code is told by size and second of change, which a change may share with what was there before."""
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def copied(root: Path, to: Path) -> Path:
    """A copy of what the tests need."""
    return Path(shutil.copytree(root, to / "checkout", ignore=shutil.ignore_patterns(*SPARE), symlinks=True))


def drawn(found: Sequence[Mutant], count: int, seed: int) -> list[Mutant]:
    return sorted(random.Random(seed).sample(found, min(count, len(found))))


@dataclass
class _Clock:
    """How long a list of tests takes without a change: it must pass, or nothing can be learnt from it."""

    checkout: Checkout
    known: dict[tuple[str, ...], float]

    def limit(self, tests: tuple[str, ...]) -> float:
        if tests not in self.known:
            start = time.monotonic()
            if not self.checkout.passes(tests):
                raise SystemExit(f"{' '.join(tests) or 'The suite'} does not pass without any change; mend that first.")
            self.known[tests] = time.monotonic() - start
        return self.checkout.grace + self.checkout.times * self.known[tests]


def survivors(
    checkout: Checkout, room: str, count: int, seed: int, whole: bool = False, say: Callable[[str], None] = print
) -> list[Mutant]:
    """Draw changes of a room, run its tests against each, and say what survives."""
    found = [m for path in rooms(checkout.source, room) for m in _of_file(checkout, path)]
    known = known_changes(checkout.root / "tests" / "mutants.txt")
    clock, left, meant = _Clock(checkout, {}), [], 0
    chosen = drawn(found, count, seed)
    say(f"{room}: {len(chosen)} of {len(found)} changes, seed {seed}")
    for number, mutant in enumerate(chosen, 1):
        name, text = (
            checkout.room(checkout.root / mutant.path),
            (checkout.root / mutant.path).read_text(encoding="utf-8"),
        )
        before, after = mutant.lines(text)
        why = known.get((name, before, after)) or known.get((name, before, "*"))
        fate = f"no change ({why})" if why else "killed"
        if why is None:
            meant += 1
            if _survives(checkout, mutant, tests_of(checkout.root / "tests", name), whole, clock):
                fate = "SURVIVES"
                left.append(mutant)
        say(f"[{number:{len(str(len(chosen)))}}/{len(chosen)}] {mutant}  {fate}")
    say(f"{room}: {meant - len(left)} of {meant} changes of meaning were noticed")
    for mutant in left:
        before, after = mutant.lines((checkout.root / mutant.path).read_text(encoding="utf-8"))
        say(f"\n{mutant}\n- {before}\n+ {after}")
    return left


def _of_file(checkout: Checkout, path: Path) -> list[Mutant]:
    return mutants(path.relative_to(checkout.root).as_posix(), path.read_text(encoding="utf-8"))


def _survives(checkout: Checkout, mutant: Mutant, named: Sequence[str], whole: bool, clock: _Clock) -> bool:
    """First the tests named for the room, then all of them if that is asked for; no tests at all notice nothing."""
    stages = [tuple(named)] if named else []
    stages += [("",)] if whole else []
    return all(checkout.survives(mutant, stage, clock.limit(stage)) for stage in stages)


def main(arguments: Sequence[str] | None = None) -> None:
    words = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    words.add_argument("room", help="a module or a folder of src/discreet, for example exact.level or channels.mixture")
    words.add_argument("--count", type=int, default=20, help="how many changes to draw")
    words.add_argument("--seed", type=int, default=1, help="which ones")
    words.add_argument("--whole", action="store_true", help="put survivors to the whole suite, too")
    asked = words.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        checkout = Checkout(copied(Path(__file__).resolve().parent.parent, Path(folder)), "discreet", seed=asked.seed)
        survivors(checkout, asked.room, asked.count, asked.seed, asked.whole, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
