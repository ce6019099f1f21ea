"""Is the question of a record, as the ledger knows it, the one that the rest of the record tells?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..ledger.chain import canonical
from ..mechanism import Mechanism
from ..questions.predicate import Predicate, parse
from ..questions.purpose import READING
from .sheet import Sheet
from .spelling import content_of

_TEXT, _COLUMN = re.compile(r"'(?:[^']|'')*'"), re.compile(r'"((?:[^"]|"")+)"')


def asked_alike(told: Mapping[str, Any], sheet: Sheet) -> bool:
    """All of it but digests of the declared keys and of measured totals, and levels, which other checks look at."""
    question, counted = sheet.question, [m for m in sheet.measures if m.counts_people]
    by = question.mechanism.digest if isinstance(question.mechanism, Mechanism) else None
    families = {m.recipe.family for one in counted for m in one.plan.values() if m is not None}
    aim = question.purpose.written()
    return bool(
        told["rule"] == 1
        and told["version"] == sheet.asked.version
        and (told["pool_other"], told["max_count"], told["max_groups"])
        == (question.pool_other, question.max_count, question.max_groups)
        and told["by"] == sorted(name.lower() for name in question.by)
        and ("measured" in told) == bool(question.tiers)
        and told.get("purpose", aim if aim["name"] == READING else None) == aim
        and (told["mechanism"] == by if by else told["mechanism"] == "auto" or {told["mechanism"]} >= families)
        and sorted(map(canonical, told["statistics"])) == sorted(map(canonical, contents(told, sheet).values()))
    )


def contents(told: Mapping[str, Any], sheet: Sheet) -> dict[str, dict[str, Any]]:
    """What tells each statistic of a record apart, with the names of columns as the question spells them."""
    names = {one["column"] for one in told["statistics"] if "column" in one}
    for one in told["statistics"]:
        bare = _TEXT.sub("''", one["where"] or "")
        names |= {name.replace('""', '"') for name in _COLUMN.findall(bare)}
    return {
        one.name: content_of(one, None if one.where is None else _parsed(one.where, frozenset(names)), names)
        for one in sheet.question.statistics
    }


@lru_cache(maxsize=256)
def _parsed(where: str, names: frozenset[str]) -> Predicate:
    """Once for each condition: every parser is a database of its own."""
    return parse(where, names)
