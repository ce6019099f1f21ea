"""A made-up town to try the studio with: no real data. Its file is as an office's program might write it, so that there is
something to mend; its question is one that might be asked."""

from __future__ import annotations

import random
from typing import Any

from .release_place import GroupDraft, QuestionDraft, StatisticDraft

NAME = "made-up town.csv"
PEOPLE = 2000
DISTRICTS = ("Altstadt", "Bahnhof", "Hafen", "Mühle")


def people(seed: int = 2026) -> bytes:
    """Its file: Latin-1, semicolons, decimal commas, and k.A. where nothing is known."""
    draw = random.Random(seed)
    lines = ["district;sex;age;income;asthma"]
    for _ in range(PEOPLE):
        district = draw.choices(DISTRICTS, (8, 5, 3, 1))[0]
        age = draw.randint(0, 94)
        income = "k.A." if draw.random() < 0.05 else f"{draw.lognormvariate(7.7, 0.5):.2f}".replace(".", ",")
        ill = "yes" if draw.random() < 0.09 else "no"
        lines.append(f"{district};{draw.choice('fm')};{age};{income};{ill}")
    return ("\n".join(lines) + "\n").encode("latin-1")


def draft() -> dict[str, Any]:
    """What the other steps begin with. The ledger is one of its own: nobody pays for a try with a budget of people."""
    question = QuestionDraft(
        statistics=[StatisticDraft(where="asthma = 'yes'")],
        groups=[
            GroupDraft(column="district", keys=list(DISTRICTS)),
            GroupDraft(column="age", kind="bands", low="0", high="100", cuts=["18", "65"]),
        ],
        totals=["district"],
        fields={"epsilon": "1/2", "title": "Asthma in a made-up town"},
    )
    opening = {"budget": "2", "relation": "add-remove"}
    return {"ledger": "example.db", "dataset": "made-up town", "question": question, "opening": opening}
