"""Stopped by Ctrl+C: what was written until then, and where to see what was charged.

Files are written whole and charges in one transaction. What became of a charge the ledger says, and not the program.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

CODE = 130
_CHARGED = (
    "What was charged until then stands: see discreet ledger history. A stored answer is given again free of charge."
)
_State = tuple[int, int, int] | None

_begun = False
_asked = False  # was Ctrl+C pressed? Some libraries make an error of their own of it
_target: tuple[str, _State] | None = None  # what -o names, and how it was before
_has_ledger = False


@contextmanager
def heard(words: Sequence[str], to_the_end: bool = False) -> Iterator[None]:
    """While this lasts, Ctrl+C is remembered, and what -o names is watched.

    With `to_the_end` the process ends after it. Everything is done and said by then, so Ctrl+C changes nothing any more.
    """
    global _begun, _asked, _target, _has_ledger
    _asked, _has_ledger = False, any(word.partition("=")[0] == "--ledger" for word in words)
    out = _out(words)
    _target = None if out is None else (out, _state(out))
    _begun = True
    own = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if own:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    except BaseException:
        if _asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        if own:
            signal.signal(signal.SIGINT, _afterwards(to_the_end))


def _afterwards(to_the_end: bool) -> Any:
    return signal.SIG_IGN if to_the_end else signal.default_int_handler


def was_asked() -> bool:
    """Was Ctrl+C pressed, whatever has become of it since?"""
    return _asked


def said(to_the_end: bool = False) -> int:
    """Say on standard error what was done until it was stopped; the exit code."""
    with suppress(ValueError):  # a second Ctrl+C must not take the words away
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        told = (
            " ".join(filter(None, ("stopped.", _CHARGED if _has_ledger else "", _written())))
            if _begun
            else "stopped before anything was done."
        )
        print(f"discreet: {told}", file=sys.stderr, flush=True)
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGINT, _afterwards(to_the_end))
    return CODE


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked
    _asked = True
    raise KeyboardInterrupt


def _written() -> str:
    if _target is None:
        return ""
    out, before = _target
    if os.path.isdir(out):
        return f"What is in {out} may not be all of it; run it again."
    return f"{out} was not written." if _state(out) == before else f"{out} was written, all of it."


def _out(words: Sequence[str]) -> str | None:
    """What -o names, if it is a file."""
    for k, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in ("-o", "--out"):
            found = value if equals else next(iter(words[k + 1 : k + 2]), "")
            return found if found not in ("", "-") else None
    return None


def _state(path: str) -> _State:
    """Which file this is, and when it was last changed; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
