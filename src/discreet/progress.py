"""How long work tells how far it is: one kind of callable everywhere."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[float | None, str], None]  # the part done, from 0 to 1 (None where nobody knows it), and a few words


def part(progress: Progress | None, start: float, length: float) -> Progress | None:
    """Progress of a part as progress of the whole, or nobody to tell."""
    if progress is None:
        return None
    return lambda done, words: progress(None if done is None else start + done * length, words)


def tell(progress: Progress | None, done: float | None, words: str) -> None:
    """Tell whoever listens."""
    if progress is not None:
        progress(done, words)
