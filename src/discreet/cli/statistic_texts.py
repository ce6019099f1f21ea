"""Statistics as the command line writes them: several of a kind, each with a name before it where an = is no comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

_NAMED = re.compile(r"\s*(?P<name>\w[\w -]*?)\s*=(?P<what>.*)", re.DOTALL)


def statistic_arguments(
    count: Sequence[str] | None,
    sum: Sequence[str] | None,
    mean: Sequence[str] | None,
    share: Sequence[str] | None,
    weights: str,
) -> dict[str, Any]:
    """The arguments of `release` that say what is asked of each group."""
    return {
        "count": _conditions(count, _is_condition),
        "share": _conditions(share, _is_share),
        "sum": _values(sum),
        "mean": _values(mean),
        "weights": _weights(weights),
    }


def _values(texts: Sequence[str] | None) -> Any:
    """Sums or means; what stands before an = in front of the colon is a name."""
    if not texts:
        return None
    named = [_NAMED.fullmatch(text) if "=" in text.partition(":")[0] else None for text in texts]
    if not any(named):
        return list(texts)
    return _together(
        (m["name"], m["what"]) if m else (text.partition(":")[0].strip(), text)
        for m, text in zip(named, texts, strict=True)
    )


def _conditions(texts: Sequence[str] | None, is_one: Callable[[str], bool]) -> Any:
    """Conditions, or shares; a = that is no comparison names the one after it."""
    if not texts:
        return None
    named = [_named(text, is_one) for text in texts]
    if not any(named):
        return texts[0] if len(texts) == 1 else list(texts)
    return _together(pair or (text, text) for pair, text in zip(named, texts, strict=True))


def _named(text: str, is_one: Callable[[str], bool]) -> tuple[str, str] | None:
    """("ill", "sick = 'yes'") of "ill=sick = 'yes'": where the whole is no condition, and what comes after the = is one."""
    match = _NAMED.fullmatch(text)
    return (match["name"], match["what"].strip()) if match and not is_one(text) and is_one(match["what"]) else None


def _is_share(text: str) -> bool:
    from ..errors import ReleaseError
    from ..questions.statistic import read_share

    try:
        condition, among, _ = read_share(text)
    except ReleaseError:
        return False
    return _is_condition(condition) and (among is None or _is_condition(among))


def _is_condition(text: str) -> bool:
    from ..errors import PredicateError
    from ..questions.predicate import in_one_order

    try:
        return text.strip() == "*" or bool(in_one_order(text))
    except PredicateError:
        return False


def _together(pairs: Any) -> dict[str, str]:
    from ..errors import ReleaseError

    found: dict[str, str] = {}
    for name, what in pairs:
        if name in found:
            raise ReleaseError(f"Two statistics are named {name!r}; give each its own name.")
        found[name] = what
    return found


def _weights(text: str) -> dict[str, str] | None:
    from ..errors import ReleaseError
    from ..exact.written import by_name

    wrong = "--weights are names and numbers, each name once, such as count=1,income=3."
    return by_name(text.split(","), ReleaseError(wrong), last=True) if text.strip() else None
