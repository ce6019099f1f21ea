"""Work that takes longer than a slider may: it says how far it is, and can be called off."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import DiscreetError
from ..progress import Told

SOON = 0.1  # seconds that an answer may take before it is promised for later
_KEPT = 64  # jobs that are remembered
_AT_ONCE = 2


class _CalledOff(Exception):
    """Raised in the thread of a job that nobody waits for any more."""


@dataclass
class Job:
    """One piece of work in its own thread."""

    name: str
    done: threading.Event = field(default_factory=threading.Event)
    told: str = ""
    result: Any = None
    error: Exception | None = None
    off: bool = False

    def run(self, work: Callable[..., Any], turn: threading.Semaphore) -> None:
        try:
            with turn:
                self.tell(Told("started"))
                self.result = work(self.tell)
        except _CalledOff:
            self.error = DiscreetError("This was called off.")
        except Exception as error:
            self.error = error
        finally:
            self.done.set()

    def tell(self, line: Told) -> None:
        """What the work calls as it goes on; also where it stops when it was called off."""
        if self.off:
            raise _CalledOff
        self.told = str(line)

    def answer(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.result


class Jobs:
    """The jobs of one studio, the latest ones."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._turn = threading.Semaphore(_AT_ONCE)

    def start(self, work: Callable[..., Any], soon: float = SOON) -> Job:
        """Begin, and wait a moment: what is done by then needs no further asking."""
        job = Job(secrets.token_urlsafe(12))
        with self._lock:
            self._jobs[job.name] = job
            for name in list(self._jobs)[:-_KEPT]:
                self._jobs.pop(name).off = True
        threading.Thread(target=job.run, args=(work, self._turn), daemon=True).start()
        job.done.wait(soon)
        return job

    def find(self, name: str) -> Job | None:
        return self._jobs.get(name)
