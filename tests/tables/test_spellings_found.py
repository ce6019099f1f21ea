"""The check before paying against keys that are misspelt on purpose: it finds each that says the same, and no other.

Nothing here asks how the check compares: a base text is written in another way by edits that docs/release.md lists, or becomes
another text by one that changes what it says. The file has the base, the question the other one.
"""

from __future__ import annotations

import datetime
import random
import unicodedata

import polars
import pytest

import discreet as dt

WORDS = [
    "Nord",
    "Süd",
    "Große Straße",
    "Bad Öynhausen",
    "ost west",
    "Île",
    "Ärzte",
    "Müller-Lüdenscheidt",
    "a b c",
    "Ölmühle",
    "Fluß",
]


def same_text(text: str, rng: random.Random) -> str:
    """The same name, in other letters, blanks or forms."""
    for edit in rng.sample([0, 1, 2, 3, 4], rng.randint(1, 3)):
        if edit == 0:
            text = "".join(rng.choice([c.upper() if len(c.upper()) == 1 else c, c.lower()]) for c in text)
        elif edit == 1:
            text = " " * rng.randint(0, 2) + text.replace(" ", " " * rng.randint(1, 3)) + " " * rng.randint(0, 2)
        elif edit == 2:
            text = unicodedata.normalize(rng.choice(["NFC", "NFD"]), text)
        elif edit == 3:
            text = "".join(
                {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ö": "Oe"}.get(c, c)
                for c in unicodedata.normalize("NFC", text)
            )
        else:
            text = "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in text)  # full width
    return text


def other_text(text: str, rng: random.Random) -> str:
    """Another name: a letter more, one less, or one that no spelling makes the same."""
    place = rng.randrange(len(text))
    return rng.choice(
        [text + "x", text[:place] + "q" + text[place:], text[:place] + "7" + text[place + 1 :], text[::-1] + "z"]
    )


def number(rng: random.Random) -> tuple[str, str, str]:
    """A number as a text, the same one written otherwise, and another number. Three digits after a mark may be thousands."""
    whole, part = rng.randrange(10_000), rng.choice(["", "5", "25"])
    base = f"{whole}.{part}" if part else str(whole)
    zeros = "0" * rng.randint(1, 3)
    alike = [
        zeros + base,
        (f"{base}0" if len(part) == 1 else base + "00" if part else f"{base}.0"),
        base.replace(".", ",") if part else zeros + base,
    ]
    return (
        base,
        rng.choice(alike),
        rng.choice([base + "1" if part else base + "7", str(whole + 10_000), "-" + base if whole else "1"]),
    )


def day(rng: random.Random) -> tuple[str, str, str]:
    """A day, the same one in another form, and another day in that form."""
    first = datetime.date(1950, 1, 1) + datetime.timedelta(days=rng.randrange(30_000))
    other = first + datetime.timedelta(days=rng.randint(1, 400))
    iso, dotted, short = (
        (lambda d: d.isoformat()),
        (lambda d: f"{d:%d.%m.%Y}"),
        (lambda d: f"{d.day}.{d.month}.{d.year}"),
    )
    forms = rng.sample([iso, dotted, short], 2)
    if forms[0](first) == forms[1](first):  # 12.11.1990 has no shorter form
        forms = [dotted, iso]
    return forms[0](first), forms[1](first), forms[1](other)


def text(rng: random.Random) -> tuple[str, str, str]:
    base = rng.choice(WORDS) + rng.choice(["", " an der Ruhr", " Mitte", "-Stadt"])
    while True:
        alike = same_text(base, rng)
        if alike != base:
            return base, alike, other_text(base, rng)


def distinct(make, rng: random.Random, count: int) -> list[tuple[str, str, str]]:
    """Several of them whose bases are different things, so that each has one match at most."""
    found: dict[str, tuple[str, str, str]] = {}
    while len(found) < count:
        base, alike, other = make(rng)
        plain = unicodedata.normalize("NFKC", base).casefold().replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
        found.setdefault(plain, (base, alike, other))
    return list(found.values())


@pytest.mark.parametrize("make", [text, number, day])
@pytest.mark.parametrize("seed", range(6))
def test_every_other_spelling_is_found_and_nothing_else(tmp_path, make, seed):
    rng = random.Random(f"{make.__name__} {seed}")
    cases = distinct(make, rng, 12)
    bases = [base for base, *_ in cases]
    others = list(dict.fromkeys(other for *_, other in cases if other not in bases))
    others = [other for other in others if not any(other in (alike, base) for base, alike, _ in cases)]
    table = polars.DataFrame({"g": [*bases, "filler"] * 2, "v": range(2 * len(bases) + 2)})
    with dt.Ledger(tmp_path / "b.db") as ledger:
        ledger.create("d", 9, relation="add-remove")
        asked = {"dataset": "d", "ledger": ledger, "epsilon": 1, "check": True}

        def proposed(keys: list[str], conditions: bool) -> dict[str, str]:
            """What the check proposes for each of these texts, as keys or as values in a condition."""
            quoted = ", ".join("'" + key.replace("'", "''") + "'" for key in keys)
            how = {"count": f"g in ({quoted})"} if conditions else {"by": ["g"], "domain": {"g": keys}}
            proposals = dt.preview(table, **asked, **how).check.proposals
            return {key: f.proposal for f in proposals for key in keys if f.where.endswith(repr(key))}

        for conditions in (False, True):
            told = proposed([alike for _, alike, _ in cases], conditions)
            for base, alike, _ in cases:
                assert told.get(alike) == f"write {base!r}", (base, alike)
            assert proposed(bases, conditions) == {}
            assert proposed(others, conditions) == {}, "another text is no spelling"
