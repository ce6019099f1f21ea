"""A report from a single device, with the standard library alone:  python reporter.py mechanism.json VALUE

This file imports nothing from discreet, so that it can be copied to where the value is. It reads a mechanism file, checks
that its content fits its digest and that it understands all of its distribution, and draws one report exactly by that
distribution: whole numbers from the operating system's randomness, no floats. The digest notices damage; against a forged
file compare it with one that you hold. What privacy the distribution gives is proved by verify.py, once, by whoever hands
the file out. reporter.mjs does the same in JavaScript, and takes and refuses the same files.

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
from typing import Any, NamedTuple

FORMAT, VERSION = "discreet-mechanism", "1"
MEMO = "discreet-memo"
_VALUE = re.compile(r"([+-]?[0-9]{1,40}(?:\.[0-9]{1,40})?)(?:/([0-9]{1,40}))?")
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of characters, which cannot be written
_BLANKS = " \t\n\v\f\r"  # may stand about a value
_MAX_DEPTH = 200  # of lists and objects within each other
_MAX_POWER_BITS = 2**18  # of the powers of b from which geometric noise is drawn
_MAX_TURNS = 2**10  # of a loop, on average
_MAX_POINTS = 2**21  # of a projective space

Draw = Callable[[int, "Chances"], int]  # from the position of a true value to the position of a report


class RefusedError(ValueError):
    """Why there is no report: one sentence, without the value."""


class Chances:
    """Exact random choices from fair bits. Tests replace them to enumerate every choice there is."""

    def __init__(self, bits: Callable[[int], int] | None = None) -> None:
        self.bits = bits or secrets.randbits

    def below(self, size: int) -> int:
        """A uniform whole number from 0 to size - 1."""
        if size == 1:
            return 0
        length = (size - 1).bit_length()
        while True:
            drawn = self.bits(length)
            if drawn < size:
                return drawn

    def chance(self, part: int, whole: int) -> bool:
        """True with probability part/whole: whether a uniform number, drawn 64 binary digits at a time, is below it.

        One word decides, whatever the numbers are, except one time in 2^64.
        """
        while True:
            digits, part = divmod(part << 64, whole)
            drawn = self.bits(64)
            if drawn != digits:
                return drawn < digits

    def pick(self, weights: list[int]) -> int:
        """A position, with probability proportional to its weight."""
        left = self.below(sum(weights))
        for position, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return position
        raise AssertionError("the weights sum to less than their sum")


# Reading a mechanism file


class _Number(NamedTuple):
    """A number in JSON, as it is written there: the digest is over that text, and no reader rounds it."""

    text: str


def _parsed(data: bytes) -> dict[str, Any]:
    """The document in a file, whose digest fits its content."""
    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_without_doubles,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_constant,
        )
        _need(isinstance(document, dict) and document.get("format") == FORMAT, "it is another kind of file")
        _need(document.get("version") == _Number(VERSION), f"this program reads version {VERSION} of such files alone")
        text = _canonical({key: value for key, value in document.items() if key != "digest"})
    except RefusedError:
        raise
    except (ValueError, RecursionError):
        raise RefusedError("This is no mechanism file: it is not JSON, or was cut short. Get it anew.") from None
    digest = "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()
    _need(document.get("digest") == digest, "it was changed after it was saved")
    return dict(document)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _no_constant(text: str) -> None:
    raise ValueError("JSON has no NaN and no Infinity")


def _canonical(value: Any, depth: int = 0) -> str:
    """JSON without blanks, with sorted keys and every number as it was written."""
    if depth > _MAX_DEPTH:
        raise ValueError("lists and objects nest too deeply")
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, list):
        return f"[{','.join(_canonical(part, depth + 1) for part in value)}]"
    if isinstance(value, dict):
        parts = (f"{json.dumps(key)}:{_canonical(value[key], depth + 1)}" for key in sorted(value))
        return f"{{{','.join(parts)}}}"
    return json.dumps(value)


def _need(condition: object, why: str) -> None:
    if not condition:
        raise RefusedError(f"The mechanism file cannot be used: {why}. Check it with verify.py.")


def _rational(text: Any) -> Fraction:
    readable = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,4200}(/[0-9]{1,4200})?", text)
    _need(readable, "a number in it cannot be read")
    top, _, bottom = text.partition("/")
    _need(int(bottom or "1") > 0, "a number in it cannot be read")
    return Fraction(int(top), int(bottom or "1"))


def _whole(value: Any, least: int) -> int:
    text = value.text if isinstance(value, _Number) else value
    _need(isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,4200}", text), "a number in it cannot be read")
    _need(int(text) >= least, "a number in it is too small")
    return int(text)


def _wholes(text: Any) -> list[int]:
    """Whole numbers of 0 or more, between single spaces."""
    _need(isinstance(text, str), "a list of numbers in it is no text")
    return [_whole(word, 0) for word in text.split(" ")]


def _probability(text: Any) -> Fraction:
    number = _rational(text)
    _need(0 < number < 1, "a number in it is not between 0 and 1")
    return number


# The distribution of reports: each kind of channel gives its draw and the numbers of true values and of reports


def _table(part: dict[str, Any]) -> tuple[Draw, int, int]:
    """Each row has the integer weights of all reports."""
    _need(isinstance(part["rows"], list) and len(part["rows"]) >= 2, "its table has no rows")
    rows = [_wholes(row) for row in part["rows"]]
    total = _whole(part["total"], 1)
    fits = all(len(row) == len(rows[0]) and sum(row) == total for row in rows)
    _need(fits, "the rows of its table do not sum to the total")
    return lambda i, chances: chances.pick(rows[i]), len(rows), len(rows[0])


def _mixture(part: dict[str, Any]) -> tuple[Draw, int, int]:
    """Randomised response: the truth with probability `keep`, else any value."""
    size, keep = _whole(part["size"], 2), _rational(part["keep"])
    _need(0 <= keep < 1, "a number in it is not between 0 and 1")

    def draw(i: int, chances: Chances) -> int:
        stays, other = chances.chance(keep.numerator, keep.denominator), chances.below(size)  # both: time tells neither
        return i if stays else other

    return draw, size, size


def _window(part: dict[str, Any]) -> tuple[Draw, int, int]:
    """The square wave: the 2 width + 1 reports about the truth are likelier than the n others."""
    n, length, a = _whole(part["n"], 1), 2 * _whole(part["width"], 1) + 1, _probability(part["a"])
    near, far = length * a.denominator, n * a.numerator

    def draw(i: int, chances: Chances) -> int:
        inside, j, k = chances.chance(near, near + far), chances.below(length), chances.below(n)
        return i + j if inside else k if k < i else k + length

    return draw, n + 1, n + length


def _projective(part: dict[str, Any]) -> tuple[Draw, int, int]:
    """Points of a projective space over the field of p^m elements: a hyperplane is where a recurrence modulo p is 0."""
    size, p, m, t = (_whole(part[name], 1) for name in ("size", "p", "m", "t"))
    a = _probability(part["a"])
    small = p > 1 and t > 1 and m * t < 64 and m * p ** (m * (t - 1)) < 2 * _MAX_POINTS
    _need(small, "its space is larger than this program draws")
    points, q = (p ** (m * t) - 1) // (p**m - 1), p**m
    factors = _wholes(part["recurrence"])
    _need(len(factors) == m * t and 2 <= size <= points, "its parts do not fit")
    terms, is_zero = [0] * (m * t - 1) + [1], [True] * points
    used = [(k - m * t, factor) for k, factor in enumerate(factors) if factor]
    for i in range(m * points):
        is_zero[i % points] &= terms[i] == 0
        terms.append(-sum(factor * terms[k] for k, factor in used) % p)
    hyperplane = [i - is_zero.index(True) for i, zero in enumerate(is_zero) if zero]
    _need(len(hyperplane) == (points - 1) // q, "its parts do not fit")
    # a report is from the truth's hyperplane with what it has beyond the weight of any point, or any point at all
    more, even = len(hyperplane) * (a.denominator - a.numerator), points * a.numerator

    def draw(i: int, chances: Chances) -> int:
        inside, j, k = chances.chance(more, more + even), chances.below(len(hyperplane)), chances.below(points)
        return (i + hyperplane[j]) % points if inside else k

    return draw, size, points


def _geometric(part: dict[str, Any]) -> tuple[Draw, int, int]:
    """Truth plus noise with Pr[k] in proportion to a^|k|, clamped to 0..n."""
    n, a = _whole(part["n"], 1), _probability(part["a"])
    size_of_noise = _geometric_number(a.numerator, a.denominator)

    def draw(i: int, chances: Chances) -> int:
        while True:
            size, negative = size_of_noise(chances), chances.chance(1, 2)
            if size or not negative:  # -0 is drawn again, which tells nothing about what is drawn then
                return min(max(i - size if negative else i + size, 0), n)

    return draw, n + 1, n + 1


def _geometric_number(p: int, q: int) -> Callable[[Chances], int]:
    """A number k with probability (1 - b) b^k, b = p/q: its binary digits are independent of each other and of the rest.

    Digit j is 1 with probability b^(2^j) / (1 + b^(2^j)); what is left is such a number again, for b^(2^digits). The choices that
    a small one does not need are made as well and thrown away: all but one number in 2^64 take as many.
    """
    powers = [(p, q)]
    while 2 * powers[-1][0] > powers[-1][1] and 2 * powers[-1][1].bit_length() <= _MAX_POWER_BITS:
        powers.append((powers[-1][0] ** 2, powers[-1][1] ** 2))
    *digits, (top, bottom) = powers
    _need((bottom - top) * _MAX_TURNS >= bottom, "its noise is wider than this program draws")
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


_KINDS: dict[str, tuple[Callable[[dict[str, Any]], tuple[Draw, int, int]], set[str]]] = {
    "table": (_table, {"kind", "total", "rows"}),
    "mixture": (_mixture, {"kind", "size", "keep"}),
    "window": (_window, {"kind", "n", "width", "a"}),
    "projective": (_projective, {"kind", "size", "p", "m", "t", "recurrence", "a"}),
    "geometric": (_geometric, {"kind", "n", "a"}),
}


def channel(part: Any) -> tuple[Draw, int, int]:
    """How a report is drawn for the position of a true value, and how many true values and reports there are."""
    kind = part.get("kind") if isinstance(part, dict) else None
    known = isinstance(kind, str) and kind in _KINDS
    _need(known, "its distribution is of a kind that this program does not know")
    read, keys = _KINDS[str(kind)]
    _need(set(part) == keys, "its distribution has other parts than this program knows")
    draw, rows, reports = read(part)

    def checked(i: int, chances: Chances) -> int:
        if not 0 <= i < rows:  # a list would count from its end
            raise AssertionError("a position without a row was to be drawn for")
        return draw(i, chances)

    return checked, rows, reports


# The file, the value, the report


class Reporter:
    """The distribution of one mechanism file, ready to draw."""

    def __init__(self, data: bytes) -> None:
        document = _parsed(data)
        self.digest: str = document["digest"]
        try:
            self._draw, rows, reports = channel(document["channel"])
            self._inputs, self._outputs = (_answers(document[name]) for name in ("inputs", "outputs"))
            alpha = _rational(document["level"]["alpha"])
        except (KeyError, TypeError, AttributeError):
            raise RefusedError(
                "The mechanism file cannot be used: a part of it is misshapen. Check it with verify.py."
            ) from None
        _need(0 < alpha <= 1, "it promises no privacy")
        _need((self._inputs.size, self._outputs.size) == (rows, reports), "its grids do not fit its distribution")

    @classmethod
    def load(cls, path: str) -> Reporter:
        """The reporter of a mechanism file."""
        try:
            with open(path, "rb") as file:
                return cls(file.read())
        except OSError as error:
            raise RefusedError(f"{path} cannot be read ({error.strerror}). Check the path.") from None

    def report(self, value: object, chances: Chances | None = None) -> str:
        """A report for a true value, as a text: a whole number, a fraction such as 1/2, or a name."""
        return self._outputs.value(self._draw(self._inputs.position(value), chances or Chances()))

    def remembered(self, value: object, memo: str, most: int, chances: Chances | None = None) -> str:
        """A report for a true value with a memo in a file, which is written, whole, before the report is known to anyone."""
        if type(most) is not int or most < 1:
            raise RefusedError(
                "How many different values get a report of their own must be a whole number, at least 1."
            )
        position = self._inputs.position(value)
        key = self._inputs.value(position)
        with _Lock(memo):
            known = self._read(memo, most)
            reports: dict[str, str] = known["reports"]
            if not known["frozen"] and key not in reports and len(reports) < most:
                known["last"] = reports[key] = self.report(value, chances)
            else:
                self._outputs.value(
                    self._draw(position, Chances())
                )  # in vain: the time does not tell that a value came before
                known["frozen"] = known["frozen"] or key not in reports
                known["last"] = known["last"] if known["frozen"] else reports[key]
            _write(memo, known)
        return str(known["last"])

    def _read(self, memo: str, most: int) -> dict[str, Any]:
        head = {"format": MEMO, "version": 1, "mechanism": self.digest, "most": most}
        fresh = {**head, "reports": {}, "last": None, "frozen": False}
        try:
            with open(memo, encoding="ascii") as file:
                known = json.load(file)
        except FileNotFoundError:
            return fresh
        except (OSError, ValueError, RecursionError):
            raise RefusedError(
                "The memo cannot be read; a lost one counts as new values, so bring back a good copy."
            ) from None
        if not isinstance(known, dict) or set(known) != set(fresh) or (known["format"], known["version"]) != (MEMO, 1):
            raise RefusedError("The memo is another kind of file; name another one.")
        if any(known[key] != value or type(known[key]) is not type(value) for key, value in head.items()):
            raise RefusedError("The memo belongs to another mechanism or another number of values; name another one.")
        if not self._is_possible(known):
            raise RefusedError(
                "The memo was changed by somebody else; a lost one counts as new values, so bring back a good copy."
            )
        return known

    def _is_possible(self, known: dict[str, Any]) -> bool:
        """Whether this program can have written the memo."""
        reports, last, frozen = known["reports"], known["last"], known["frozen"]
        if not isinstance(reports, dict) or not 0 < len(reports) <= known["most"] or last not in reports.values():
            return False
        if type(frozen) is not bool or (frozen and len(reports) < known["most"]):
            return False
        return all(self._inputs.has(value) and self._outputs.has(report) for value, report in reports.items())


class _Answers:
    """True values or reports, and their positions."""

    size: int

    def position(self, value: object) -> int:
        """Where a value stands."""
        raise NotImplementedError

    def value(self, position: int) -> str:
        """The value that stands there, as a text."""
        raise NotImplementedError

    def has(self, text: object) -> bool:
        """Whether a text is one of the values, written as `value` writes it."""
        try:
            return isinstance(text, str) and self.value(self.position(text)) == text
        except RefusedError:
            return False


class _Grid(_Answers):
    """The numbers low, low + step, ..., high."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.low, high, self.step = (_rational(part[name]) for name in ("low", "high", "step"))
        _need(self.step > 0, "its step is not a positive number")
        self.size = int((high - self.low) / self.step) + 1

    def position(self, value: object) -> int:
        """Where a number stands: one that lies on the grid, or the float that is nearest to one that does."""
        number: Fraction | None = None
        if isinstance(value, str):
            match = _VALUE.fullmatch(value.strip(_BLANKS))
            number = Fraction(match[1]) / int(match[2] or "1") if match and int(match[2] or "1") else None
        elif isinstance(value, float):
            number = self._nearest(value)
        elif isinstance(value, (int, Fraction)) and not isinstance(value, bool):
            number = Fraction(value)
        else:
            raise RefusedError(
                "A value of this type is not read; nothing was drawn. Give a text, a whole number, a Fraction or a float."
            )
        steps = None if number is None else (number - self.low) / self.step
        if steps is None or steps.denominator != 1 or not 0 <= steps < self.size:
            raise RefusedError("The value is not on the mechanism's grid; nothing was drawn. Give one that is.")
        return int(steps)

    def _nearest(self, value: float) -> Fraction | None:
        """The number of the grid for which a float stands: the one nearest to it, if it has no nearer float."""
        try:
            near = self.low + math.floor((Fraction(value) - self.low) / self.step + Fraction(1, 2)) * self.step
            return near if float(near) == value else None
        except (ValueError, OverflowError):  # no number, or beyond all of them
            return None

    def value(self, position: int) -> str:
        return str(self.low + position * self.step)


class _Names(_Answers):
    """Answers that are names; one of them may be for all that are not declared."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.names, other = part["names"], part["other"]
        texts = isinstance(self.names, list) and all(isinstance(name, str) and name for name in self.names)
        texts = texts and not any(_SURROGATES.search(name) for name in self.names)
        _need(texts and set(part) == {"names", "other"}, "its names are no texts")
        self.positions, self.size = {name: k for k, name in enumerate(self.names)}, len(self.names)
        _need(len(self.positions) == self.size and (other is None or other in self.positions), "its names do not fit")
        self.other = None if other is None else self.positions[other]

    def position(self, value: object) -> int:
        position = self.positions.get(value, self.other) if isinstance(value, str) and value else None
        if position is None:
            raise RefusedError("The value is none of the mechanism's names; nothing was drawn. Give one of them.")
        return position

    def value(self, position: int) -> str:
        return str(self.names[position])


def _answers(part: Any) -> _Answers:
    return _Names(part) if "names" in part else _Grid(part)


# The memo


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
