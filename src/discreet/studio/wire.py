"""What the rooms of the studio have in common on the wire."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=200)]
Letter = Literal["RH", "RM", "CH", "CM", "F", "WH", "S"]
MOST_VALUES = 128


class Problem(BaseModel):
    """Why a question was refused, in a sentence."""

    detail: str


class Asked(BaseModel):
    """A question: what is not known is refused, so that no option is silently ignored."""

    model_config = ConfigDict(extra="forbid")


class Level(Asked):
    """A level, as alpha or as epsilon, exactly as it is written."""

    alpha: Text | None = None
    epsilon: Text | None = None


class Counts(Level):
    """Counts from 0 to n at a level."""

    n: int = Field(8, ge=1, le=MOST_VALUES)
