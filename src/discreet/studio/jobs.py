"""Work that takes longer than a slider may: it says how far it is, and can be called off. Two workers do all of it in turn."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from fastapi import APIRouter, HTTPException, Request
from pydantic import BaseModel

from ..errors import DiscreetError
from ..progress import Told

SOON = 0.05  # seconds that an answer may take before it is promised for later
_ASK_AGAIN = 1.0
_PATIENCE = 15.0  # seconds after which nobody is taken to wait: the page was closed
_KEPT = 64  # jobs that are remembered
_AT_ONCE = 2

T = TypeVar("T")
router = APIRouter(prefix="/api/jobs", tags=["jobs"])


class Promise(BaseModel, Generic[T]):
    """Work that goes on: ask for it again, by its name. Whoever promised it describes the answer."""

    job: str
    done: bool
    told: str
    answer: T | None = None


class _CalledOff(Exception):
    """Raised in the work that nobody waits for any more."""


@dataclass
class Job:
    """One piece of work."""

    work: Callable[..., Any]
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    ended: Future[None] = field(default_factory=Future)
    told: str = "waiting for its turn"
    result: Any = None
    error: Exception | None = None
    off: bool = False
    asked: float = field(default_factory=monotonic)

    def run(self) -> None:
        try:
            self.tell(Told("started"))
            self.result = self.work(self.tell)
        except _CalledOff:
            self.error = DiscreetError("This was called off.")
        except Exception as error:
            self.error = error
        self.ended.set_result(None)

    def tell(self, line: Told) -> None:
        """What the work calls as it goes on; also where it stops when it was called off, or nobody asks for it any more."""
        if self.off or monotonic() - self.asked > _PATIENCE:
            raise _CalledOff
        self.told = str(line)

    async def promise(self, seconds: float) -> Promise[Any]:
        """The answer, if it comes soon enough; no thread waits for it."""
        self.asked = monotonic()
        await asyncio.wait([asyncio.wrap_future(self.ended)], timeout=seconds)
        done = self.ended.done()
        if self.error is not None:
            raise self.error
        return Promise(job=self.name, done=done, told=self.told, answer=self.result if done else None)


class Jobs:
    """The jobs of one studio, the latest ones."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()
        self._waiting: SimpleQueue[Job] = SimpleQueue()
        self._workers = 0

    def start(self, work: Callable[..., Any]) -> Job:
        """Put it in the row. The oldest that nobody may ask for any more are called off."""
        job = Job(work)
        with self._lock:
            self._jobs[job.name] = job
            for name in list(self._jobs)[:-_KEPT]:
                self._jobs.pop(name).off = True
            if self._workers < _AT_ONCE:
                self._workers += 1
                threading.Thread(target=self._serve, daemon=True).start()
        self._waiting.put(job)
        return job

    def _serve(self) -> None:
        while True:
            self._waiting.get().run()

    def find(self, name: str) -> Job:
        job = self._jobs.get(name)
        if job is None:
            raise HTTPException(404, "There is no such work; ask anew.")
        return job


async def promised(request: Request, work: Callable[..., Any], soon: float = SOON) -> Any:
    """Begin, and wait a moment: what is done by then needs no further asking."""
    jobs: Jobs = request.app.state.jobs
    return await jobs.start(work).promise(soon)


@router.get("/{name}")
async def ask_again(request: Request, name: str) -> Promise[Any]:
    """How far promised work is, or its answer."""
    job: Job = request.app.state.jobs.find(name)
    return await job.promise(_ASK_AGAIN)


@router.post("/{name}/off")
async def call_off(request: Request, name: str) -> Promise[Any]:
    """Nobody waits for it any more."""
    job: Job = request.app.state.jobs.find(name)
    job.off = True
    return Promise(job=job.name, done=job.ended.done(), told="called off")
