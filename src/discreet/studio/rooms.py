"""What the rooms of the studio have in common: the frame and charts that a browser sees, the forms that pages send, and a shelf.

A room's own HTML is in static/. The shelf holds what was dropped in or made.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field

from ..errors import LevelError
from ..exact.level import Level
from ..present import plot
from .field_words import FieldRefusedError

_HERE = Path(__file__).parent / "static"
T = TypeVar("T")
Text = Annotated[str, Field(max_length=200)]
Letter = Literal["RH", "RM", "CH", "CM", "F", "WH", "S"]
MOST_VALUES = 128


@dataclass(frozen=True)
class Page:
    """A page: its address, its name for people, and the sentence that says what one sees."""

    name: str
    title: str
    sentence: str


ROOMS = (
    Page(
        "choose",
        "Choose",
        "Six mechanisms at one level, side by side: what each reports, how far off it is, and what it has to do for that.",
    ),
    Page("release", "Release", "From a file to counts that may be published, paid for from a budget."),
    Page("recover", "Recover", "From many noisy reports back to the distribution behind them."),
    Page("collude", "Collude", "What people learn when they put their reports together."),
)

_CHARTS: Mapping[str, Callable[[], Any]] = {
    "shared-loss": lambda: plot.live_curves("users who share", "mean distance from the truth", width=370, height=200),
    "shared-level": lambda: plot.live_curves("users who share", "epsilon of all their reports", width=370, height=200),
    "many-tables": lambda: plot.live_curves(
        "tables from the same people", "standard error of a count", width=420, height=200, log_x=True, log_y=True
    ),
    "error-epsilon": lambda: plot.live_curves(
        "epsilon", "off by at most", width=520, height=220, log_x=True, log_y=True, chosen=True
    ),
    "error-rho": lambda: plot.live_curves(
        "rho", "off by at most", width=520, height=220, log_x=True, log_y=True, chosen=True
    ),
    "distribution": lambda: plot.live_distribution(width=760),
    "reports": lambda: plot.live_reports(width=760),
    "named-reports": lambda: plot.live_reports(names=True, width=760),
    "shares": lambda: plot.live_intervals("share", share=True, width=640),
    "means": lambda: plot.live_intervals("mean of the true values", width=640),
    "fit": lambda: plot.live_curves(
        "steps", "log-likelihood of a report, on average", width=330, height=180, log_x=True
    ),
}
router = APIRouter(prefix="/api/charts", tags=["charts"])

_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · discreet studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="stylesheet" href="/static/studio.css"><link rel="icon" href="/static/icon.svg">
{script}</head>
<body><a class="skip" href="#room">To the room</a>
<header><p class="brand">discreet <span>studio</span></p><nav aria-label="Rooms">{links}</nav></header>
<main id="room" tabindex="-1"><div class="top"><h1>{title}</h1><p class="lead">{sentence}</p></div>
{body}
</main></body></html>
"""
_SCRIPT = '{style}<script type="module" src="/static/{name}.js"></script>'
_STYLE = '<link rel="stylesheet" href="/static/{name}.css">'
_BODY = """<p id="closed" class="problem" role="alert" hidden>The studio does not answer: was it closed?
Start it again with discreet studio.</p>
<p id="problem" class="problem" role="alert" hidden></p>
<noscript><p class="problem">The studio needs JavaScript, its own alone.</p></noscript>
{body}"""


@lru_cache
def page(name: str) -> str:
    """The whole page of a room."""
    room = next(room for room in ROOMS if room.name == name)
    body = _BODY.format(body=(_HERE / f"{name}.html").read_text(encoding="utf-8"))
    style = _STYLE.format(name=name) if (_HERE / f"{name}.css").exists() else ""  # where a room has a look of its own
    return _framed(room.title, room.sentence, body, script=_SCRIPT.format(name=name, style=style), current=room)


def notice(sentence: str) -> str:
    """A page that says why there is no other."""
    return _framed("Not here", sentence, "<p>Choose a room above.</p>")


def _framed(title: str, sentence: str, body: str, script: str = "", current: Page | None = None) -> str:
    links = "".join(
        f'<a href="/{r.name}"{" aria-current=page" if r is current else ""}>{escape(r.title)}</a>' for r in ROOMS
    )
    return _FRAME.format(title=escape(title), script=script, sentence=escape(sentence), links=links, body=body)


@lru_cache
def specification(name: str) -> dict[str, Any]:
    """A chart without its data, as Vega-Lite has it; made once, since making one takes longer than a slider may.

    The page behind gives the colour of its ground.
    """
    spec: dict[str, Any] = _CHARTS[name]().to_dict()
    spec["config"] |= {"background": "transparent", "padding": 3}
    return spec


@router.get("/{name}")
def chart(name: str) -> dict[str, Any]:
    """The specification of a chart by its name."""
    if name not in _CHARTS:
        raise HTTPException(404, "There is no such chart.")
    return specification(name)


class Refusal(BaseModel):
    """Why a question was refused, in a sentence; and the field of the page that it belongs to, where that is known."""

    detail: str
    field: str | None = None


class Form(BaseModel):
    """A question: what is not known is refused, so that no option is silently ignored."""

    model_config = ConfigDict(extra="forbid")


class LevelForm(Form):
    """A level, as alpha or as epsilon, exactly as it is written."""

    alpha: Text | None = None
    epsilon: Text | None = None

    def level(self, field: str = "") -> Level:
        """The level, or a refusal at its field; `field` is what stands before the field's name."""
        try:
            return Level.of(alpha=self.alpha, epsilon=self.epsilon)
        except LevelError as error:
            raise FieldRefusedError(
                str(error), field=f"{field}{'epsilon' if self.alpha is None else 'alpha'}"
            ) from None

    def spelt(self) -> str:
        """As Python has it among the arguments."""
        return f"epsilon={self.epsilon!r}" if self.alpha is None else f"alpha={self.alpha!r}"


class CountsForm(LevelForm):
    """Counts from 0 to n at a level."""

    n: int = Field(8, ge=1, le=MOST_VALUES)


class Shelf(Generic[T]):
    """The latest things, by names that nobody can guess; the oldest goes first."""

    def __init__(self, most: int = 16) -> None:
        self._things: dict[str, T] = {}
        self._most = most
        self._lock = threading.Lock()

    def put(self, thing: T) -> str:
        name = secrets.token_urlsafe(12)
        with self._lock:
            self._things[name] = thing
            while len(self._things) > self._most:
                self.dropped(self._things.pop(next(iter(self._things))))
        return name

    def take(self, name: str, what: str) -> T:
        thing = self._things.get(name)
        if thing is None:
            raise HTTPException(404, f"There is no such {what} any more; drop it in again.")
        return thing

    def drop(self, name: str) -> None:
        """Let one go before its time."""
        with self._lock:
            thing = self._things.pop(name, None)
        if thing is not None:
            self.dropped(thing)

    def dropped(self, thing: T) -> None:
        """What happens to a thing that goes."""
