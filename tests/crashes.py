"""Processes that use one ledger at once, and are killed at any instant: what the tests, the campaign and the benchmark share.

Children are forked and use the very Book object of their parent. What a child reveals it writes to a file, in one
call of the system, and only after `finish` returned: so the file says what the world has seen.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

from discreet.errors import BudgetError
from discreet.ledger.book import Answer, Book, Pending

Parts = Sequence[str | None]  # parts of a data set to charge; None is all of them
STEP = Fraction(1, 10**9)  # the charge of one question, small enough never to run out


def fork(task: Callable[[], None], errors: Path) -> int:
    """Run a task in a child that never returns to the tests; an error of it is written to a file."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        task()
        code = 0
    except BaseException:
        errors.write_text(traceback.format_exc())
    finally:
        os._exit(code)


def ask(
    ledger: Book, name: str, question: dict[str, object], amount: Fraction = STEP, part: str | None = None
) -> Answer:
    """One question as a release asks it: charge, draw, store, and only then show."""
    got = ledger.begin(name, question, **{measure_of(ledger, name): amount}, data="a", part=part)
    return ledger.finish(got, secrets.token_hex(8)) if isinstance(got, Pending) else got


def measure_of(ledger: Book, name: str) -> str:
    """What is charged: epsilon, or the rho of concentrated terms."""
    return ledger.terms(name).measure


def _ask_until_killed(ledger: Book, name: str, seed: int, seen: Path, ready: int, parts: Parts) -> None:
    rng = random.Random(seed)
    ledger.balance(name)
    os.write(ready, b".")
    file = os.open(seen, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        number = rng.randrange(30) if rng.random() < 0.3 else rng.getrandbits(60)
        answer = ask(ledger, name, {"q": number}, part=parts[number % len(parts)])
        os.write(file, json.dumps([number, answer.charge, answer.text, answer.repeated]).encode() + b"\n")


@dataclass(frozen=True)
class Killed:
    """What was found after the kills."""

    kills: int
    charges: int
    answers: int
    revealed: int
    repeated: int


def kill(
    ledger: Book, name: str, kills: int, seed: int, folder: Path, at_once: int = 2, parts: Parts = (None,)
) -> Killed:
    """Kill children that ask questions, at random instants, then check everything that was promised."""
    rng = random.Random(seed)
    seen, errors = folder / "seen", folder / "errors"
    seen.touch()
    start = time.perf_counter()
    for _ in range(5):
        ask(ledger, name, {"warm": rng.random()})
    longest = 2 * (time.perf_counter() - start)  # about ten questions, however fast the disk is
    done = 0
    while done < kills:
        children = []
        ready, tell = os.pipe()
        for _ in range(min(at_once, kills - done)):
            task = partial(_ask_until_killed, ledger, name, rng.getrandbits(60), seen, tell, parts)
            children.append(fork(task, errors))
        if rng.random() < 0.9:  # else it dies while it connects
            os.read(ready, 1)
        for child in children:
            time.sleep(rng.uniform(0, longest))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            assert os.WIFSIGNALED(status), errors.read_text()
            done += 1
        os.close(ready)
        os.close(tell)
    return check(ledger, name, seen, kills)


def check(ledger: Book, name: str, seen: Path, kills: int) -> Killed:
    """Whatever was revealed is stored as it was shown, and paid for; and the whole history holds."""
    ledger.verify(name)
    balance = ledger.balance(name)
    rows = ledger._rows(name)
    stored = {charge: text for charge, _, _, _, text in rows.answers}
    lines = [json.loads(body) for _, body, _ in rows.entries]
    of_part = Counter(facts.get("part") for facts in lines if facts["kind"] == "charge")
    charges, of_all = of_part.total(), of_part.pop(None, 0)
    revealed = [json.loads(line) for line in seen.read_text().splitlines()]
    repeats: dict[int, int] = {}
    for number, charge, text, repeated in revealed:
        assert stored[charge] == text
        if repeated:
            assert repeats.setdefault(number, charge) == charge  # always the same one
    paid = {charge for _, charge, _, _ in revealed}
    assert len(paid) <= charges
    corrected = any("correction" in facts for facts in lines)  # then every charge is for all parts: here from the start
    most = sum(of_part.values()) if corrected else max(of_part.values(), default=0)
    assert balance.spent == (of_all + most) * STEP
    for part, count in of_part.items():
        assert ledger.balance(name, part).spent == (of_all + (most if corrected else count)) * STEP
    assert balance.pending == charges - len(stored)
    return Killed(kills, charges, len(stored), len(revealed), sum(r[3] for r in revealed))


@dataclass(frozen=True)
class Raced:
    """How many charges each process was given, and the seconds from the start of all to the end of the last."""

    shares: list[int]
    seconds: float


def race(
    ledger: Book,
    names: list[str],
    amount: Fraction,
    processes: int,
    folder: Path,
    most: int = 10**9,
    parts: Parts = (None,),
) -> Raced:
    """Charge from many processes at once until a budget is used up, or `most` times each. No charge is given twice. Each process
    charges one of the parts."""
    errors = folder / "errors"
    gate, opened = os.pipe()
    connected, tell = os.pipe()

    def work(k: int) -> None:
        got = []
        os.close(opened)
        ledger.balance(names[0])
        os.write(tell, b".")
        os.close(tell)
        os.read(gate, 1)  # all start together: the pipe ends when the parent closes it
        for turn in range(most):
            name = names[(k + turn) % len(names)]
            try:
                asked = {measure_of(ledger, name): amount}
                pending = ledger.begin(
                    name, {"process": k, "turn": turn}, **asked, data="a", part=parts[k % len(parts)]
                )
            except BudgetError:
                break
            got.append([name, pending.charge])
        (folder / f"got-{k}").write_text(json.dumps([time.monotonic(), got]))

    children = [fork(partial(work, k), errors) for k in range(processes)]
    os.close(tell)
    waiting = processes
    while waiting and (some := os.read(connected, waiting)):
        waiting -= len(some)
    start = time.monotonic()
    for end in (opened, gate, connected):
        os.close(end)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0, errors.read_text()
    ends, got = zip(*(json.loads((folder / f"got-{k}").read_text()) for k in range(processes)), strict=True)
    every = [tuple(pair) for one in got for pair in one]
    assert len(set(every)) == len(every)
    return Raced([len(one) for one in got], max(ends) - start)
