"""All work of the studio: it waits for its turn, may say how far it is, and ends when nobody waits for it any more.

Nobody waits when the connection is closed that asked for it or asks for it again, when it was called off by its name, or when
nobody has asked for some time. Work that was not begun is left; work that was stops where it next tells how far it is.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import secrets
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from queue import SimpleQueue
from time import monotonic
from typing import Any, Generic, TypeVar

from fastapi import APIRouter, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ..errors import DiscreetError
from ..progress import Progress, Told

SOON = 0.05  # seconds that an answer may take before it is promised for later
NAME = "x-discreet-job"  # how a page names its work, so that it can call it off before it has an answer
_ASK_AGAIN = 1.0
_PATIENCE = 5.0  # seconds between two questions after which nobody is taken to wait
_KEPT = 64  # jobs that are remembered
_AT_ONCE = 2  # in each row

T = TypeVar("T")
router = APIRouter(prefix="/api/jobs", tags=["jobs"])
_own = threading.local()


class Promise(BaseModel, Generic[T]):
    """Work that goes on: ask for it again, by its name. Whoever promised it describes the answer."""

    job: str
    done: bool
    told: str
    answer: T | None = None


class _CalledOff(Exception):
    """Raised in the work that nobody waits for any more."""


@dataclass
class StudioJob:
    """One piece of work."""

    work: Callable[..., Any]
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    ended: Future[None] = field(default_factory=Future)
    told: str = "waiting for its turn"
    result: Any = None
    error: Exception | None = None
    off: bool = False
    waited: int = 0
    asked: float = field(default_factory=monotonic)

    def run(self) -> None:
        _own.job = self
        try:
            self.tell(Told("started"))
            self.result = self.work(self.tell)
        except _CalledOff:
            self.error = DiscreetError("This was called off.")
        except Exception as error:
            self.error = error
        _own.job = None
        self.ended.set_result(None)

    def tell(self, line: Told) -> None:
        """What the work calls as it goes on; also where it stops when nobody waits for it any more."""
        if self.off or (not self.waited and monotonic() - self.asked > _PATIENCE):
            raise _CalledOff
        self.told = str(line)

    async def wait(self, request: Request, seconds: float | None = None) -> Any:
        """The answer, or nothing if it takes longer; no thread waits for it. If whoever asks goes away, the work is called off."""
        end, left = asyncio.wrap_future(self.ended), asyncio.ensure_future(_left(request))
        self.waited += 1
        try:
            await asyncio.wait([end, left], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if left.done() and not end.done():
                raise ClientDisconnect
        except (ClientDisconnect, asyncio.CancelledError):
            self.off = True
            raise
        finally:
            left.cancel()
            self.waited, self.asked = self.waited - 1, monotonic()
        if self.error is not None:
            raise self.error
        return self.result

    async def promise(self, request: Request, seconds: float) -> Promise[Any]:
        answer = await self.wait(request, seconds)
        return Promise(job=self.name, done=self.ended.done(), told=self.told, answer=answer)


async def _left(request: Request) -> None:
    """Wait until whoever asks is gone, or sends what nobody asked for."""
    with suppress(HTTPException):
        while (await request.receive())["type"] != "http.disconnect":
            pass


class _Row:
    """Work in the order in which it came, for so many workers."""

    def __init__(self) -> None:
        self.waiting: SimpleQueue[StudioJob] = SimpleQueue()
        self._workers = 0

    def put(self, job: StudioJob) -> None:
        self.waiting.put(job)
        if self._workers < _AT_ONCE:
            self._workers += 1
            threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self.waiting.get().run()


class Jobs:
    """The jobs of one studio, the latest ones. What is quick does not wait for what is not."""

    def __init__(self) -> None:
        self._jobs: dict[str, StudioJob] = {}
        self._off: dict[str, None] = {}  # called off before they came
        self._lock = threading.Lock()
        self._quick, self._long = _Row(), _Row()

    def start(self, work: Callable[..., Any], *, name: str | None = None, quick: bool = False) -> StudioJob:
        """Put it in its row. The oldest are called off where there are too many."""
        job = StudioJob(work)
        with self._lock:
            if name is not None and name not in self._jobs:
                job.name, job.off = name, name in self._off
            self._jobs[job.name] = job
            for old in list(self._jobs)[:-_KEPT]:
                self._jobs.pop(old).off = True
            (self._quick if quick else self._long).put(job)
        return job

    def find(self, name: str) -> StudioJob:
        job = self._jobs.get(name)
        if job is None:
            raise HTTPException(404, "There is no such work; ask anew.")
        return job

    def forget(self, job: StudioJob) -> None:
        with self._lock:
            self._jobs.pop(job.name, None)

    def call_off(self, name: str) -> None:
        """Also what is still on its way: a page may go on before its question has come."""
        with self._lock:
            job = self._jobs.get(name)
            if job is not None:
                job.off = True
            else:
                self._off[name] = None
                for old in list(self._off)[:-_KEPT]:
                    del self._off[old]


async def promised(request: Request, work: Callable[..., Any], soon: float | None = None) -> Any:
    """Begin, and wait a moment: what is done by then needs no further asking."""
    jobs: Jobs = request.app.state.jobs
    name = request.headers.get(NAME, "")
    job = jobs.start(work, name=name if re.fullmatch(r"[\w-]{16,64}", name, re.ASCII) else None)
    return await job.promise(request, SOON if soon is None else soon)


async def answered(request: Request, work: Callable[..., Any], quick: bool = False) -> Any:
    """The answer itself, however long it takes, as long as the connection is open."""
    jobs: Jobs = request.app.state.jobs
    job = jobs.start(work, quick=quick)
    try:
        return await job.wait(request)
    finally:
        jobs.forget(job)


def under_way() -> Progress | None:
    """How to tell how far the work is that this thread does, if it does any."""
    job: StudioJob | None = getattr(_own, "job", None)
    return None if job is None else job.tell


def as_job(quick: bool = False) -> Callable[[Callable[..., T]], Callable[..., Awaitable[T]]]:
    """Make a route's function a job that is answered: it runs in its turn, and not if its asker is gone by then."""

    def make(function: Callable[..., T]) -> Callable[..., Awaitable[T]]:
        own = inspect.signature(function, eval_str=True)
        needed = "request" in own.parameters

        @wraps(function)
        async def route(*, request: Request, **given: Any) -> T:
            more = {"request": request, **given} if needed else given
            found: T = await answered(request, lambda tell: function(**more), quick)
            return found

        added = [] if needed else [inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)]
        route.__signature__ = own.replace(parameters=[*own.parameters.values(), *added])  # type: ignore[attr-defined]
        return route

    return make


@router.get("/{name}")
async def ask_again(request: Request, name: str) -> Promise[Any]:
    """How far promised work is, or its answer."""
    job: StudioJob = request.app.state.jobs.find(name)
    return await job.promise(request, _ASK_AGAIN)


@router.post("/{name}/off")
async def call_off(request: Request, name: str) -> Promise[Any]:
    """Nobody waits for it any more."""
    request.app.state.jobs.call_off(name)
    return Promise(job=name, done=False, told="called off")
