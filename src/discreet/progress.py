"""How long work says how far it is: everywhere a callable that takes one line of text; `progress=print` will do."""

from __future__ import annotations

from collections.abc import Callable


class Told(str):
    """One line for people, such as "counting: 40 %". `done` is the part that is done, from 0 to 1, where it is known."""

    words: str
    done: float | None

    def __new__(cls, words: str, done: float | None = None) -> Told:
        line = super().__new__(cls, words if done is None else f"{words}: {int(100 * done)} %")
        line.words, line.done = words, done
        return line


Progress = Callable[[Told], None]


def tell(progress: Progress | None, words: str, done: float | None = None) -> None:
    """Tell whoever listens."""
    if progress is not None:
        progress(Told(words, done))


def part(progress: Progress | None, start: float, length: float) -> Progress | None:
    """Progress of a part as progress of the whole, or nobody to tell."""
    return None if progress is None else lambda line: tell(progress, line.words, start + (line.done or 0.0) * length)
