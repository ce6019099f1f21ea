"""A report from a single device, with the standard library alone:  python reporter.py mechanism.json VALUE

This file imports nothing from discreet, so that it can be copied to where the value is. It reads a mechanism file, checks
that its content fits its digest and that it understands all of its distribution, and draws one report exactly by that
distribution: whole numbers from the operating system's randomness, no floats. The digest notices damage; against a forged
file compare it with one that you hold. What privacy the distribution gives is proved by verify.py, once, by whoever hands
the file out.

For repeated collection give a memo:  python reporter.py mechanism.json VALUE --memo memo.json --most 5
A value that comes again gets the report it got before; after 5 different values the last report is repeated for good. Then,
between two histories of values that change, and come back to earlier values, at the same moments, all reports together tell
at most 5 times the epsilon between any two values (once for each different value). Between other histories there is no bound:
that a report changes, or comes back, tells that the value did. A lost memo counts as new values. The memo holds true values:
it stays here.

VALUE is a number, or a name where the mechanism's answers are names. It may be - to read it from standard input, where other
users of the machine do not see it. A report is written in UTF-8. Exit codes: 0, and 2 for an error.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import os
import re
import secrets
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

FORMAT, VERSION = "discreet-mechanism", 1
MEMO = "discreet-memo"
_NUMBER = re.compile(r"([+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?)(?:/([0-9]{1,40}))?")
_HALVES = re.compile("[\ud800-\udfff]")  # of characters, which cannot be written
_BLANKS = " \t\n\v\f\r"  # may stand about a value
_FAR = 2**61 - 1  # where every grid ends
_BITS = 2**18  # of the powers that noise is drawn with
_LONGEST = 2**10  # turns of a loop to be expected
_POINTS = 2**21  # of a projective space

Place = int
Draw = Callable[[Place, "Chances"], Place]


class RefusedError(ValueError):
    """Why there is no report: one sentence, without the value."""


class Chances:
    """Exact choices, from fair bits. Tests put others in their place to see every choice there is."""

    def __init__(self, bits: Callable[[int], int] | None = None) -> None:
        self.bits = bits or secrets.randbits

    def below(self, size: int) -> int:
        """A whole number from 0 below `size`, all alike."""
        if size == 1:
            return 0
        length = (size - 1).bit_length()
        while True:
            drawn = self.bits(length)
            if drawn < size:
                return drawn

    def chance(self, part: int, whole: int) -> bool:
        """True with the probability part/whole: is a uniform number, drawn 64 binary digits at a time, below it?

        One word decides, whatever the numbers are, but for one time in 2^64.
        """
        while True:
            digits, part = divmod(part << 64, whole)
            drawn = self.bits(64)
            if drawn != digits:
                return drawn < digits

    def pick(self, weights: list[int]) -> int:
        """A position, with the probability of its weight over their sum."""
        left = self.below(sum(weights))
        for k, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return k
        raise AssertionError("the weights are no weights")


# The distribution of a file


def _need(condition: object, why: str) -> None:
    if not condition:
        raise RefusedError(f"The mechanism file cannot be used: {why}. Check it with verify.py.")


def _rational(text: Any) -> Fraction:
    _need(
        isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,4200}(/[0-9]{1,4200})?", text),
        "a number in it cannot be read",
    )
    top, _, bottom = text.partition("/")
    _need(int(bottom or "1") > 0, "a number in it cannot be read")
    return Fraction(int(top), int(bottom or "1"))


def _whole(value: Any, least: int) -> int:
    readable = type(value) is int or (isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,4200}", value))
    _need(readable, "a number in it cannot be read")
    _need(int(value) >= least, "a number in it is too small")
    return int(value)


def _inside(text: Any) -> Fraction:
    number = _rational(text)
    _need(0 < number < 1, "a number in it is not a probability")
    return number


def _table(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    _need(isinstance(part["rows"], list) and len(part["rows"]) >= 2, "its table has no rows")
    rows = [[_whole(w, 0) for w in row.split()] for row in part["rows"]]
    total = _whole(part["total"], 1)
    _need(
        all(len(row) == len(rows[0]) and sum(row) == total for row in rows),
        "the rows of its table do not sum to the total",
    )
    return lambda i, chances: chances.pick(rows[i]), len(rows), len(rows[0])


def _mixture(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    size, keep = _whole(part["size"], 2), _rational(part["keep"])
    ends = keep if part.get("ends") is None else _rational(part["ends"])
    _need(0 <= keep < 1 and 0 <= ends < 1, "a number in it is not a probability")
    other: Draw = lambda i, chances: chances.below(size)  # noqa: E731
    whole = math.lcm(keep.denominator, ends.denominator)
    if part.get("other") is not None:
        other, rows, reports = channel(part["other"])
        _need(rows == reports == size, "its parts do not fit")

    def draw(i: int, chances: Chances) -> int:
        kept = ends if i in (0, size - 1) else keep
        stays, drawn = chances.chance(int(kept * whole), whole), other(i, chances)  # both: the time tells of neither
        return i if stays else drawn

    return draw, size, size


def _window(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    n, length, a = _whole(part["n"], 1), 2 * _whole(part["width"], 1) + 1, _inside(part["a"])
    near, far = length * a.denominator, n * a.numerator

    def draw(i: int, chances: Chances) -> int:
        inside, j, k = chances.chance(near, near + far), chances.below(length), chances.below(n)
        return i + j if inside else k if k < i else k + length

    return draw, n + 1, n + length


def _projective(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    """Points of a projective space over the field of p^m elements: a hyperplane is where a recurrence modulo p is 0."""
    size, p, m, t, a = *(_whole(part[name], 1) for name in ("size", "p", "m", "t")), _inside(part["a"])
    _need(
        p > 1 and t > 1 and m * t < 64 and m * p ** (m * (t - 1)) < 2 * _POINTS,
        "its space is larger than this program draws",
    )
    points, q = (p ** (m * t) - 1) // (p**m - 1), p**m
    factors = [_whole(r, 0) for r in part["recurrence"].split()]
    _need(len(factors) == m * t and 2 <= size <= points, "its parts do not fit")
    terms, zero = [0] * (m * t - 1) + [1], [True] * points
    used = [(k - m * t, r) for k, r in enumerate(factors) if r]
    for i in range(m * points):
        zero[i % points] &= terms[i] == 0
        terms.append(-sum(r * terms[k] for k, r in used) % p)
    near = [i - zero.index(True) for i, here in enumerate(zero) if here]
    _need(len(near) == (points - 1) // q, "its parts do not fit")
    more, whole = (
        len(near) * (a.denominator - a.numerator),
        points * a.numerator,
    )  # beyond any point's own, and of all points

    def draw(i: int, chances: Chances) -> int:
        inside, j, k = chances.chance(more, more + whole), chances.below(len(near)), chances.below(points)
        return (i + near[j]) % points if inside else k

    return draw, size, points


def _geometric(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    return _clamped({"n": part["n"], "noise": {"family": "geometric", "a": part["a"]}})


def _clamped(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    n, noise = _whole(part["n"], 1), _noise(part["noise"])
    return lambda i, chances: min(max(i + noise(chances), 0), n), n + 1, n + 1


def _additive(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    noise, low, high = _noise(part["noise"]), part["low"], part["high"]
    _need(all(end is None or end == 0 for end in (low, high)), "its ends are unknown")
    least, most = (-_FAR if low is None else 0), (_FAR if high is None else 0)
    return lambda i, chances: min(max(i + noise(chances), least), most), None, None


def _map(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    targets, size = [_whole(t, 0) for t in part["targets"].split()], _whole(part["size"], 1)
    _need(targets and max(targets) < size, "its map leads outside")
    return lambda i, chances: targets[i], len(targets), size


def _then(part: dict[str, Any]) -> tuple[Draw, int | None, int | None]:
    (first, rows, middle), (second, fits, reports) = channel(part["first"]), channel(part["second"])
    _need(middle is not None and middle == fits, "its parts do not fit")
    return lambda i, chances: second(first(i, chances), chances), rows, reports


_KINDS = {
    "table": _table,
    "mixture": _mixture,
    "window": _window,
    "projective": _projective,
    "geometric": _geometric,
    "clamped": _clamped,
    "additive": _additive,
    "map": _map,
    "then": _then,
}
_KEYS = {
    "table": "kind total rows",
    "mixture": "kind size keep ends other",
    "window": "kind n width a",
    "projective": "kind size p m t recurrence a",
    "geometric": "kind n a",
    "clamped": "kind n noise",
    "additive": "kind noise low high",
    "map": "kind size targets",
    "then": "kind first second",
}


def channel(part: Any) -> tuple[Draw, int | None, int | None]:
    """How a report is drawn from a position, and how many true values and reports there are (None: without end)."""
    kind = str(part.get("kind")) if isinstance(part, dict) else ""
    _need(kind in _KINDS, "its distribution is of a kind that this program does not know")
    _need(set(part) <= set(_KEYS[kind].split()), "its distribution has parts that this program does not know")
    draw, rows, reports = _KINDS[kind](part)

    def checked(i: int, chances: Chances) -> int:
        if rows is not None and not 0 <= i < rows:  # a list would count from its end
            raise AssertionError("a position without a row was to be drawn for")
        return draw(i, chances)

    return checked, rows, reports


def _noise(part: Any) -> Callable[[Chances], int]:
    """Pr[i] in proportion to b^j, where |i| = kD + u, and j = k for u < r, else k + 1; geometric noise is D = r = 1.

    k, u and a sign are drawn apart; -0 is drawn again, which tells nothing about what is drawn then.
    """
    family = part.get("family") if isinstance(part, dict) else None
    _need(family in ("geometric", "staircase"), "its noise is of a kind that this program does not know")
    b, wide, top = (
        (_inside(part["a"]), 1, 1)
        if family == "geometric"
        else (_inside(part["b"]), _whole(part["D"], 1), _whole(part["r"], 1))
    )
    _need(top <= wide, "its stairs are wider than the sensitivity")
    p, q = b.numerator, b.denominator
    steps = _geometric_number(p, q)

    def draw(chances: Chances) -> int:
        while True:
            size = wide * steps(chances)
            upper = top * q
            high, j, k = (
                chances.chance(upper, upper + (wide - top) * p),
                chances.below(top),
                chances.below(max(wide - top, 1)),
            )
            size += j if high else top + k
            negative = chances.chance(1, 2)
            if size or not negative:
                return -size if negative else size

    return draw


def _geometric_number(p: int, q: int) -> Callable[[Chances], int]:
    """A number k with probability (1 - b) b^k, b = p/q: its low binary digits are independent of each other and of the rest.

    Digit j is 1 with probability b^(2^j) / (1 + b^(2^j)); what is left is such a number again, for b^(2^digits). The choices that
    a small one does not need are made as well and thrown away: all but one number in 2^64 take as many.
    """
    powers = [(p, q)]
    while 2 * powers[-1][0] > powers[-1][1] and 2 * powers[-1][1].bit_length() <= _BITS:
        powers.append((powers[-1][0] ** 2, powers[-1][1] ** 2))
    *digits, (top, bottom) = powers
    _need((bottom - top) * _LONGEST >= bottom, "its noise is wider than this program draws")
    turns = 46 * bottom // (bottom - top)  # b^turns < e^-45 < 2^-64

    def draw(chances: Chances) -> int:
        number = 0
        while chances.chance(top, bottom):
            number += 1
        spare = Chances()
        for _ in range(number, turns):
            spare.chance(top, bottom)
        for p, q in reversed(digits):
            number = 2 * number + chances.chance(p, p + q)
        return number

    return draw


# The file, the value, the report


class Reporter:
    """The distribution of one mechanism file, ready to draw."""

    def __init__(self, data: bytes) -> None:
        try:
            document = json.loads(data.decode("utf-8"), object_pairs_hook=_once)
        except (ValueError, RecursionError):
            raise RefusedError("This is no mechanism file: it is not JSON, or was cut short. Get it anew.") from None
        _need(isinstance(document, dict) and document.get("format") == FORMAT, "it is another kind of file")
        version = document.get("version")
        _need(type(version) is int and version == VERSION, f"this program reads version {VERSION} of such files alone")
        body = {key: value for key, value in document.items() if key != "digest"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        self.digest = "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()
        _need(document.get("digest") == self.digest, "it was changed after it was saved")
        try:
            self._draw, self.rows, self.reports = channel(document["channel"])
            self._inputs, self._outputs = (_answers(document[name]) for name in ("inputs", "outputs"))
            private = (
                document["level"]["alpha"] != "0"
            )  # a traditional method is saved with the level that it has, none
        except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
            raise RefusedError(
                "The mechanism file cannot be used: a part of it is misshapen. Check it with verify.py."
            ) from None
        _need(private, "it promises no privacy")
        _need(
            (self._inputs.size, self._outputs.size) == (self.rows, self.reports),
            "its grids do not fit its distribution",
        )

    @classmethod
    def load(cls, path: str) -> Reporter:
        try:
            with open(path, "rb") as file:
                return cls(file.read())
        except OSError as error:
            raise RefusedError(f"{path} cannot be read ({error.strerror}). Check the path.") from None

    def report(self, value: object, chances: Chances | None = None) -> str:
        """A report for a true value, as a text: a whole number, a fraction such as 1/2, or a name."""
        return self._outputs.value(self._draw(self._inputs.position(value), chances or Chances()))

    def remembered(self, value: object, memo: str, most: int, chances: Chances | None = None) -> str:
        """The same with a memo in a file, which is written, whole, before the report is known to anyone."""
        if type(most) is not int or most < 1:
            raise RefusedError("The number of different values that get a report of their own must be at least 1.")
        place = self._inputs.position(value)
        key = self._inputs.value(place)
        with _Lock(memo):
            known = self._read(memo, most)
            reports: dict[str, str] = known["reports"]
            if not known["frozen"] and key not in reports and len(reports) < most:
                known["last"] = reports[key] = self.report(value, chances)
            else:
                self._outputs.value(
                    self._draw(place, Chances())
                )  # for nothing: the time does not tell that a value came before
                known["frozen"] = known["frozen"] or key not in reports
                known["last"] = known["last"] if known["frozen"] else reports[key]
            _write(memo, known)
        return str(known["last"])

    def _read(self, memo: str, most: int) -> dict[str, Any]:
        fresh = {
            "format": MEMO,
            "version": 1,
            "mechanism": self.digest,
            "most": most,
            "reports": {},
            "last": None,
            "frozen": False,
        }
        try:
            with open(memo, encoding="ascii") as file:
                known = json.load(file)
        except FileNotFoundError:
            return fresh
        except (OSError, ValueError):
            raise RefusedError(
                "The memo cannot be read; a lost one counts as new values, so bring back a good copy."
            ) from None
        if not isinstance(known, dict) or set(known) != set(fresh) or (known["format"], known["version"]) != (MEMO, 1):
            raise RefusedError("The memo is another kind of file; name another one.")
        if (known["mechanism"], known["most"]) != (self.digest, most):
            raise RefusedError("The memo belongs to another mechanism or another number of values; name another one.")
        if not self._is_possible(known):
            raise RefusedError(
                "The memo was changed by somebody else; a lost one counts as new values, so bring back a good copy."
            )
        return known

    def _is_possible(self, known: dict[str, Any]) -> bool:
        """Could this program have written it?"""
        reports, last = known["reports"], known["last"]
        if not isinstance(reports, dict) or not 0 < len(reports) <= known["most"] or last not in reports.values():
            return False
        try:
            pairs = [
                (self._inputs.position(value), self._outputs.position(report)) for value, report in reports.items()
            ]
        except RefusedError:
            return False
        written = {self._inputs.value(i): self._outputs.value(j) for i, j in pairs}
        return (
            written == reports
            and type(known["frozen"]) is bool
            and (not known["frozen"] or len(reports) == known["most"])
        )


class _Grid:
    """Values low, low + step, ..., high; positions count from low, from high where low is open, from 0 where both are."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.low, self.high = (None if part[end] is None else _rational(part[end]) for end in ("low", "high"))
        self.step = _rational(part["step"])
        _need(self.step > 0, "its step is not a positive number")
        self.anchor = self.low if self.low is not None else self.high if self.high is not None else Fraction(0)
        self.size = None if self.low is None or self.high is None else int((self.high - self.low) / self.step) + 1

    def position(self, value: object) -> int:
        match = _NUMBER.fullmatch(str(value).strip(_BLANKS)) if isinstance(value, (str, int, Fraction)) else None
        bottom = int(match[2] or "1") if match else 0
        steps = (Fraction(match[1]) / bottom - self.anchor) / self.step if match and bottom else Fraction(1, 2)
        place, least, most = int(steps), (0 if self.low is not None else -_FAR), (0 if self.high is not None else _FAR)
        if steps.denominator != 1 or not (0 <= place < self.size if self.size is not None else least <= place <= most):
            raise RefusedError("The value is not on the mechanism's grid; nothing was drawn. Give one that is.")
        return place

    def value(self, place: int) -> str:
        return str(self.anchor + place * self.step)


class _Names:
    """Answers that are names; one of them may be for all that are not declared."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.names, other = part["names"], part["other"]
        texts = isinstance(self.names, list) and all(isinstance(name, str) and name for name in self.names)
        texts = texts and not any(_HALVES.search(name) for name in self.names)
        _need(texts and set(part) == {"names", "other"}, "its names are no texts")
        self.places, self.size = {name: k for k, name in enumerate(self.names)}, len(self.names)
        _need(len(self.places) == self.size and (other is None or other in self.places), "its names do not fit")
        self.other = None if other is None else self.places[other]

    def position(self, value: object) -> int:
        place = self.places.get(value, self.other) if isinstance(value, str) and value else None
        if place is None:
            raise RefusedError("The value is none of the mechanism's names; nothing was drawn. Give one of them.")
        return place

    def value(self, place: int) -> str:
        return str(self.names[place])


def _answers(part: dict[str, Any]) -> _Grid | _Names:
    return _Names(part) if "names" in part else _Grid(part)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _need(len({key for key, _ in pairs}) == len(pairs), "a key stands twice in it")
    return dict(pairs)


class _Lock:
    """One program at a time has a memo."""

    def __init__(self, memo: str) -> None:
        self.path = f"{memo}.lock"

    def __enter__(self) -> None:
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            raise RefusedError(
                f"Another program has the memo. If none runs, one was killed: remove {self.path}."
            ) from None
        except OSError as error:
            raise RefusedError(
                f"The memo cannot be written ({error.strerror}); nothing was drawn. Check its folder."
            ) from None

    def __exit__(self, *_: object) -> None:
        os.unlink(self.path)


def _write(memo: str, known: dict[str, Any]) -> None:
    """Under another name first, on disk, then in its place: a memo is whole or as it was."""
    temporary = f"{memo}.new"
    try:
        _remove(temporary)  # of a program that was killed, or somebody else's: nothing of it stays, nor its mode
        try:
            with open(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="ascii") as file:
                json.dump(known, file, indent=1)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, memo)
        except OSError:
            _remove(temporary)  # it holds true values
            raise
        if os.name == "posix":  # its name too is on disk, before the report is shown
            folder = os.open(os.path.dirname(memo) or ".", os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise RefusedError(
            f"The memo cannot be written ({error.strerror}); the report is not shown. Check its folder."
        ) from None


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def main() -> int:
    options = argparse.ArgumentParser(description="One report for one value, drawn exactly by a mechanism file.")
    options.add_argument("mechanism", help="the mechanism file")
    options.add_argument("value", help="the true value; - reads it from standard input; -7/3 goes after --")
    options.add_argument("--memo", help="a file that remembers reports, for repeated collection")
    options.add_argument("--most", type=int, help="with --memo: how many different values get a report of their own")
    given = options.parse_args()
    try:
        if (given.memo is None) != (given.most is None):
            raise RefusedError(
                "--memo and --most, the number of different values that get a report of their own, go together."
            )
        reporter = Reporter.load(given.mechanism)
        if isinstance(sys.stdin, io.TextIOWrapper) and isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="surrogateescape")  # bytes that are no text have no name
            sys.stdout.reconfigure(encoding="utf-8")  # every name can be written
        value = sys.stdin.read().strip(_BLANKS) if given.value == "-" else given.value
        print(reporter.report(value) if given.memo is None else reporter.remembered(value, given.memo, given.most))
    except RefusedError as error:
        print(f"reporter: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
