"""What people write and do not mean: numbers with separators of thousands or decimal commas, and names with a slip of the finger.

Neither is guessed.

"20.000" is twenty in one country and twenty thousand in another. A count or a value of a grid that is written so is refused
with both readings; a level is not, since nobody means an epsilon of some thousands. What is no number here but one for
people ("0,5", "20 000") is refused with the one that they mean.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from fractions import Fraction

from .arithmetic import parse_exact, show

_APART = " '’_\u00a0\u202f"  # what separates thousands and nothing else
_LONGEST = 60  # characters: longer texts are no typing errors of this kind
_IN_TWO_WAYS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
_GROUPED = re.compile(
    rf"(?P<whole>[+-]?[1-9]\d{{0,2}}(?:(?P<mark>[.,{_APART}])\d{{3}})(?:(?P=mark)\d{{3}})*)(?:(?P<point>[.,])(?P<rest>\d+))?",
    re.ASCII,
)
_COMMA = re.compile(r"[+-]?\d*,\d+", re.ASCII)


def misread(value: object, *, whole: bool = False, fractions: bool = True) -> str | None:
    """What to say of a text that is a number for people and another one here, or none: the predicate of a sentence.

    None where there is nothing to say. Only where `whole` numbers or values of a grid are meant is "20.000" refused. Where no
    `fractions` can be written, 1.125 is proposed as 1.1250.

    >>> misread("20.000", whole=True), misread("0,5"), misread("20 000")
    ('may mean 20 or 20000: write 20 or 20000', 'has a comma: write 0.5', 'has separators of thousands: write 20000')
    >>> misread("0.500", whole=True), misread("20.000"), misread("1.25", whole=True), misread("twenty")
    (None, None, None, None)
    """
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST or (parse_exact(text) is not None and not whole):
        return None
    if _IN_TWO_WAYS.fullmatch(text):
        near = text.replace(",", ".")
        both = f"{_decimal(near) if fractions else unambiguous(near)} or {int(re.sub('[.,]', '', text))}"
        return f"may mean {both}: write {both}"
    if parse_exact(text) is not None:
        return None
    grouped = _GROUPED.fullmatch(text)
    if grouped is not None and grouped["point"] != grouped["mark"]:
        digits = grouped["whole"].replace(grouped["mark"], "")
        rest = "" if grouped["rest"] is None else f".{grouped['rest']}"
        return f"has separators of thousands: write {digits}{rest}"
    return f"has a comma: write {_decimal(text.replace(',', '.'))}" if _COMMA.fullmatch(text) else None


def unambiguous(text: str) -> str:
    """A decimal as short as it can be without being read as one of thousands too.

    >>> unambiguous("20.000"), unambiguous("1.125")
    ('20', '1.1250')
    """
    short = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{short}0" if _IN_TWO_WAYS.fullmatch(short) else short


def by_name(texts: Iterable[str], wrong: Exception, *, last: bool = False) -> dict[str, str]:
    """What texts NAME=VALUE give by name, cut at the first = or at the `last`. A name twice, or nothing on one side, is `wrong`.

    >>> by_name(["brand=299", " region = 15"], ValueError())
    {'brand': '299', 'region': '15'}
    """
    pairs = [text.rpartition("=") if last else text.partition("=") for text in texts]
    found = {name.strip(): value.strip() for name, _, value in pairs}
    if len(found) < len(pairs) or not all(name and value for name, value in found.items()):
        raise wrong
    return found


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question about the nearest of the names that there are, in any case, with a blank before it; empty where none is near.

    >>> did_you_mean("survay", ["town", "Survey"])
    " Did you mean 'Survey'?"
    """
    lower = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {show(lower[near[0]])}?" if near else ""


def _decimal(text: str) -> str:
    """A decimal without the zeros at its end; one that could be read in two ways again as a fraction."""
    short = text.rstrip("0").rstrip(".")
    short = f"{'0' if short[:1] == '.' else ''}{short}"
    return str(Fraction(short)) if _IN_TWO_WAYS.fullmatch(short) else short
