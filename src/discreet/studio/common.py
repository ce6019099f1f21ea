"""What the rooms of the studio have in common: the forms that pages send, and a shelf for what was dropped in or made."""

from __future__ import annotations

import secrets
import threading
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

T = TypeVar("T")
Text = Annotated[str, Field(max_length=200)]
Letter = Literal["RH", "RM", "CH", "CM", "F", "WH", "S"]
MOST_VALUES = 128


class Refusal(BaseModel):
    """Why a question was refused, in a sentence."""

    detail: str


class Form(BaseModel):
    """A question: what is not known is refused, so that no option is silently ignored."""

    model_config = ConfigDict(extra="forbid")


class LevelForm(Form):
    """A level, as alpha or as epsilon, exactly as it is written."""

    alpha: Text | None = None
    epsilon: Text | None = None


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

    def dropped(self, thing: T) -> None:
        """What happens to a thing that goes."""
