"""Check a mechanism file with the standard library alone:  python verify.py mechanism.json

This file imports nothing from discreet and nothing outside the standard library, so that anyone can read it and run it
elsewhere. It re-derives every claim of the file from its integers: that rows sum to the total, that the level holds for
all neighbours, that the properties are those claimed, and that alpha is at least e^-epsilon, by bounds that are
rational numbers rounded in a known direction. What it does not know it refuses: no key of the file goes unread, so that
nothing stands in a verified file that was not verified (but for the recipe, which is words for people). It counts its
work before it does it. It deliberately shares no code with what made the file.

Exit codes: 0 everything claimed holds, 1 something does not, 2 the file cannot be read.

The map, from the top down:

    Reading             bytes to a document without doubled keys or strange numbers; its digest; fields, integers, rationals
    Channels            one class for each kind: its exact weights, the worst ratio of probabilities at a distance, that of
                        two given values, the seven properties; then the readers, one for each kind
    Tables              ratios and properties of integer weights
    Neighbours          between which true values the level is claimed, and that it holds there
    Directed bounds     of e^x and ln(x): is alpha at least e^-epsilon?
    The document        `verify`: grids, level, neighbours and claims, in the order of the file
    The certificate     the risk of a design, and the bound below which no mechanism goes, by weak duality
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

FORMAT, VERSION = "discreet-mechanism", 1
MAX_BYTES = 256 * 2**20
MAX_TOTAL = 2**63
MAX_PRODUCT, MAX_WORK, MAX_WEIGHT_BITS, WRITTEN_BITS = 2**21, 2**32, 2**28, 2**13
MAX_ENTRIES, MAX_STAIR = 2**20, 2**13
MAX_DEPTH, MAX_PARTS = 64, 2**10  # of channels in sequence
MAX_EFFORT = 2**32  # operations on machine words: some seconds
MAX_DIGITS = 4200  # of an integer in the file
KINDS = ("missing", "too large", "unreadable", "format", "version", "digest", "shape", "sum", "claim")
LETTERS = ("RH", "RM", "CH", "CM", "F", "WH", "S")

_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_NAMED = re.compile(r"([a-z]+[0-9]?)(?:\((-?[0-9/]+(?:, -?[0-9/]+)*)\))?")  # a loss or a prior as discreet names it


class Fault(ValueError):
    """Why a file is refused. `kind` is one of KINDS."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Verified:
    """What was proved: the claimed alpha, the tight level tight**power, whether that is exact, the properties.

    Of pairs of neighbours and of distances the claim alone was proved: there the tight level is alpha or better.
    """

    alpha: Fraction
    tight: Fraction
    power: int
    exact: bool
    properties: tuple[str, ...] | None
    between: str = ""  # the true values that it holds between, in words
    risk_and_bound: tuple[Fraction, Fraction] | None = None  # of a design: no mechanism goes below the bound
    asked: str = ""  # of a design: the problem it is best for, and what of its names was checked
    among: str = ""  # of a design: the mechanisms that the bound is about


class Effort:
    """Operations, counted before they are done: no small file keeps its reader busy."""

    def __init__(self, most: int = MAX_EFFORT) -> None:
        self.left, self.parts = most, 0

    def spend(self, operations: float) -> None:
        """Refuse the file when there is more to do than it is worth."""
        self.left -= int(operations)
        _need(
            self.left >= 0,
            "too large",
            "Checking the file would take too long. Use smaller grids, shorter numbers or fewer steps.",
        )


def _times(bits: int, others: int) -> float:
    """What one product of two integers costs: schoolbook or Karatsuba, and a little for the interpreter."""
    short, long = sorted((bits // 30 + 1, others // 30 + 1))
    return 50 + min(float(short * long), 6 * long * math.pow(short, 0.585))


def _reducing(bits: int) -> float:
    """What the greatest common divisor of two integers costs."""
    return 50 + float(bits // 30 + 1) ** 2


# Reading


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The document in a file, as it stands; nothing in it is trusted yet."""
    name = os.fspath(path)
    try:
        size = os.path.getsize(name)
        if size > MAX_BYTES:
            raise Fault(
                "too large", f"{name} has {size} bytes; a mechanism file has at most {MAX_BYTES}. Is it another file?"
            )
        with open(name, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Fault("missing", f"{name!r} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError as error:
        if isinstance(error, Fault):
            raise
        raise Fault("missing", "The name of the file cannot be used. Check the path.") from None
    return parse(data, name)


def parse(data: bytes, name: str = "the file") -> dict[str, Any]:
    """The document in some bytes."""
    if len(data) > MAX_BYTES:
        raise Fault("too large", f"{name} is larger than {MAX_BYTES} bytes, which no mechanism file is.")
    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_doubles,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except RecursionError:
        raise Fault("unreadable", f"{name} nests too deeply for a mechanism file. Save the mechanism again.") from None
    except Fault:
        raise
    except ValueError:
        raise Fault("unreadable", f"{name} is cut short or is not JSON. Save the mechanism again.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise Fault("format", f"{name} is not a mechanism file: its format is not {FORMAT!r}. Check the path.")
    return document


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys stand once each."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise Fault("unreadable", "A key stands twice in the file. Save the mechanism again.")
    return dict(pairs)


def _no_constant(text: str) -> float:
    """JSON has no NaN and no Infinity, though readers take them."""
    raise Fault("unreadable", f"{text} is no number of a mechanism file. Save the mechanism again.")


def _finite(text: str) -> float:
    """A float, unless it is beyond all of them."""
    number = float(text)
    return number if abs(number) < float("inf") else _no_constant("A number beyond all floats")


def _short_integer(text: str) -> int:
    """An integer of a length that is read quickly."""
    _need(len(text) <= MAX_DIGITS, "unreadable", "A number in the file has too many digits. Save the mechanism again.")
    return int(text)


def digest(document: dict[str, Any]) -> str:
    """SHA-256 over the canonical form of everything but the digest itself."""
    body = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _need(condition: bool, kind: str, message: str) -> None:
    """What must hold, or the file is refused."""
    if not condition:
        raise Fault(kind, message)


def _field(holder: Any, name: str, where: str) -> Any:
    """One part of an object, which must be there."""
    _need(isinstance(holder, dict) and name in holder, "shape", f"The {where} has no {name!r}.")
    return holder[name]


def _fields(holder: Any, where: str, *names: str, maybe: tuple[str, ...] = ()) -> list[Any]:
    """The parts with these names; there is no other, since it would be believed without having been checked."""
    found = [_field(holder, name, where) for name in names]
    unknown = next((key for key in holder if key not in names and key not in maybe), None)
    _need(unknown is None, "shape", f"The {where} has {ascii(unknown)[:40]}, which this program does not know.")
    return found


def _integer(value: Any, where: str) -> int:
    """A whole number, also one in a text."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    _need(isinstance(value, int) and not isinstance(value, bool), "shape", f"The {where} is not an integer.")
    return int(value)


def _rational(value: Any, where: str) -> Fraction:
    """A fraction such as 9/10, in a text."""
    _need(isinstance(value, str), "shape", f"The {where} is not a rational number in a text.")
    top, slash, bottom = value.partition("/")
    denominator = _integer(bottom if slash else "1", where)
    _need(denominator > 0, "shape", f"The {where} has a denominator that is not positive.")
    return Fraction(_integer(top, where), denominator)


# Channels: the largest ratio between neighbours, and the exact weights where they are small


@dataclass(frozen=True)
class _Ratio:
    """alpha**power is the smallest ratio of probabilities between neighbours; exact, or a safe bound."""

    alpha: Fraction
    power: int = 1
    exact: bool = True


Weights = tuple[list[list[int]], int]  # exact integer weights, and the total of each row


class _Channel:
    """A channel between `rows` true values and `reports` reports; None: unbounded."""

    effort: Effort

    def __init__(self, rows: int | None, reports: int | None) -> None:
        self.rows, self.reports = rows, reports

    @cached_property
    def weights(self) -> Weights | None:
        """The exact weights, where they are small enough to write out."""
        return self._weights()

    def _weights(self) -> Weights | None:
        """The same, worked out."""
        return None

    def tight(self, distance: int) -> _Ratio:
        """The smallest ratio between true values at most so many steps apart."""
        return self._ratio(self._written(), distance)

    def between(self, i: int, k: int) -> _Ratio:
        """The smallest ratio between two true values, either way round, or a safe bound of it."""
        weights, total = self._written()
        self.effort.spend(2 * len(weights[i]) * _times(total.bit_length(), total.bit_length()))
        return _table_ratio([weights[i], weights[k]], 1)

    def _written(self) -> Weights:
        """The exact weights, or a refusal."""
        if self.weights is None:
            raise Fault("shape", "The channel is too large to be checked entry by entry.")
        return self.weights

    def _ratio(self, exact: Weights, distance: int) -> _Ratio:
        """The smallest ratio in a table, after its work was counted."""
        bits = exact[1].bit_length()
        self.effort.spend(4 * len(exact[0]) * len(exact[0][0]) * _times(bits, bits) + _reducing(bits))
        return _table_ratio(exact[0], distance)

    def properties(self) -> tuple[str, ...] | None:
        """Which of the seven properties hold; None where they cannot be looked at."""
        exact = self.weights
        return None if exact is None else _table_properties(*exact)


class _Table(_Channel):
    """Integer weights, as they stand in the file."""

    def __init__(self, weights: list[list[int]], total: int) -> None:
        super().__init__(len(weights), len(weights[0]))
        self.exact = weights, total

    def _weights(self) -> Weights:
        return self.exact


class _Map(_Channel):
    """Each true value has one report."""

    def __init__(self, targets: list[int], size: int) -> None:
        super().__init__(len(targets), size)
        self.targets, self.size = targets, size

    def _weights(self) -> Weights | None:
        small = len(self.targets) * self.size <= 2**20
        return ([[int(t == j) for j in range(self.size)] for t in self.targets], 1) if small else None

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(Fraction(int(len(set(self.targets)) == 1)))  # two neighbours with two reports share none

    def between(self, i: int, k: int) -> _Ratio:
        return _Ratio(Fraction(int(self.targets[i] == self.targets[k])))

    def jump(self, distance: int) -> int:
        """How far apart two true values at most so many steps apart can end up. Windows grow by doubling."""
        self.effort.spend(200 * len(self.targets) * distance.bit_length())
        low, high, span = self.targets, self.targets, 1
        while span < min(distance + 1, len(self.targets)):
            shift = min(span, distance + 1 - span)
            low = [*map(min, low, low[shift:]), *low[-shift:]]
            high = [*map(max, high, high[shift:]), *high[-shift:]]
            span += shift
        return max(h - w for h, w in zip(high, low, strict=True))


class _Geometric(_Channel):
    """Geometric noise on 0..n, clamped: w_j a^|i-j| with w = 1/(1+a) at the ends and (1-a)/(1+a) between."""

    def __init__(self, n: int, a: Fraction) -> None:
        super().__init__(n + 1, n + 1)
        self.n, self.a = n, a

    def _weights(self) -> Weights | None:
        n, p, q = self.n, self.a.numerator, self.a.denominator
        if q.bit_length() * n * (n + 1) ** 2 > MAX_WEIGHT_BITS:
            return None
        self.effort.spend((n + 1) ** 2 * 50 + 8 * (n + 1) * _times(n * q.bit_length(), n * q.bit_length()))
        power = [p**d * q ** (n - d) for d in range(n + 1)]
        inner, ends = [(q - p) * x for x in power], [q * x for x in power]
        return [[ends[i], *(inner[abs(i - j)] for j in range(1, n)), ends[n - i]] for i in range(n + 1)], (q + p) * q**n

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(self.a, min(distance, self.n))

    def between(self, i: int, k: int) -> _Ratio:
        return _Ratio(self.a, abs(i - k))

    def entry(self, i: int, j: int) -> Fraction:
        """The chance of one report."""
        return self.a ** abs(i - j) * (1 if j in (0, self.n) else 1 - self.a) / (1 + self.a)

    def properties(self) -> tuple[str, ...]:
        broken = set() if self.n == 1 else {"F"}
        if self.n > 1 and self.n * (1 - self.a) < 2 * self.a:
            broken.add("WH")
        if self.n > 1 and 2 * self.a > 1:
            broken |= {"CH", "CM"}
        return tuple(letter for letter in LETTERS if letter not in broken)


class _Keep(_Channel):
    """The value is kept with a probability (its two ends with another), else drawn by another channel, or uniformly."""

    def __init__(self, size: int, keep: Fraction, ends: Fraction | None, other: _Channel | None) -> None:
        super().__init__(size, size)
        at_ends = keep if ends is None else ends
        self.size, self.other, self.kept = size, other, [at_ends, *([keep] * (size - 2) if other else []), at_ends]
        self.common = keep.denominator * (1 if ends is None else ends.denominator)

    def _weights(self) -> Weights | None:
        size, common, p = self.size, self.common, self.kept[0].numerator
        if size * size > 2**20:
            return None
        if self.other is None:
            other, truth = common - p, common - p + p * size
            return [[truth if i == j else other for j in range(size)] for i in range(size)], common * size
        drawn = self.other.weights
        if drawn is None or (drawn[1] * common).bit_length() * size**2 > MAX_WEIGHT_BITS:
            return None
        self.effort.spend(size**2 * _times(drawn[1].bit_length(), common.bit_length()))
        own = [int(chance * common) for chance in self.kept]
        rows = [[(common - kept) * w for w in row] for kept, row in zip(own, drawn[0], strict=True)]
        for i, kept in enumerate(own):
            rows[i][i] += kept * drawn[1]
        return rows, common * drawn[1]

    def tight(self, distance: int) -> _Ratio:
        """By the weights. Beyond them for geometric draws: rows are of two sorts, the ends and all others, and of each sort
        the farthest pairs are the worst."""
        if self.other is None:
            guess = (1 - self.kept[0]) / self.size
            return _Ratio(guess / (self.kept[0] + guess))
        exact, last = self.weights, self.size - 1
        if exact is not None:
            return _short(self._ratio(exact, distance))
        pairs = {(i, min(i + distance, k)) for i in (0, 1) for k in (last - 1, last)}
        return min((self.between(i, k) for i, k in pairs), key=lambda ratio: ratio.alpha)

    def between(self, i: int, k: int) -> _Ratio:
        """With geometric draws the ratio is largest at the report that may be kept (channels/mixture.py says why)."""
        if self.other is None:
            return self.tight(1)
        if self.weights is not None:
            return super().between(i, k)
        a = self.other.a if isinstance(self.other, _Geometric) else None
        if a is None or abs(i - k) * a.denominator.bit_length() > WRITTEN_BITS:
            return _Ratio(Fraction(0), exact=False)
        self.effort.spend(8 * _reducing(abs(i - k) * a.denominator.bit_length()))
        return _short(_Ratio(min(self._entry(k, i) / self._entry(i, i), self._entry(i, k) / self._entry(k, k))))

    def _entry(self, i: int, j: int) -> Fraction:
        """The chance of one report, with geometric draws."""
        assert isinstance(self.other, _Geometric)
        return (1 - self.kept[i]) * self.other.entry(i, j) + (self.kept[i] if i == j else 0)

    def properties(self) -> tuple[str, ...] | None:
        return LETTERS if self.other is None else super().properties()


class _Window(_Channel):
    """Of n + 1 + 2 width reports those of a window of 2 width + 1, one further for each true value, are 1/a times as likely."""

    def __init__(self, n: int, width: int, a: Fraction) -> None:
        super().__init__(n + 1, n + 1 + 2 * width)
        self.n, self.length, self.a = n, 2 * width + 1, a

    def _weights(self) -> Weights | None:
        n, length, p, q = self.n, self.length, self.a.numerator, self.a.denominator
        if (n + 1) * (n + length) > MAX_ENTRIES:
            return None
        return [[p] * i + [q] * length + [p] * (n - i) for i in range(n + 1)], length * q + n * p

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(self.a)  # no two windows are the same

    def between(self, i: int, k: int) -> _Ratio:
        return _Ratio(self.a)


@dataclass(frozen=True)
class _Noise:
    """Noise on the integers: Pr[i] = top b^j with |i| = kD + u, j = k where u < r, else k + 1; geometric for D = 1."""

    b: Fraction
    D: int
    r: int

    @property
    def top(self) -> Fraction:
        """The probability of 0."""
        return (1 - self.b) / (2 * self.r - 1 + self.b * (2 * (self.D - self.r) + 1))

    def at(self, i: int) -> Fraction:
        """The probability of i."""
        return self.top * self.b ** ((abs(i) + self.D - self.r) // self.D)

    def written(self, n: int) -> tuple[list[int], list[int], int]:
        """Pr[noise = k] and Pr[noise >= k] for k = 0..n, as integers over their least common denominator.

        The latter is the rest of the stair of k, and all stairs beyond: with |k| = sD + u and b = p/q it has the
        numerator p^s ((q - p)(A q + B p) + p (r q + (D - r) p)), A and B being the upper and lower steps left of the stair.
        """
        p, q, D, r = self.b.numerator, self.b.denominator, self.D, self.r
        most = n // D + 1
        power = [p**j * q ** (most - j) for j in range(most + 1)]
        beyond = p * (r * q + (D - r) * p)
        inner, tails = [], []
        for k in range(n + 1):
            stair, u = divmod(k, D)
            inner.append((q - p) * power[(k + D - r) // D])
            tails.append(power[stair] // q * ((q - p) * (max(r - u, 0) * q + (D - max(u, r)) * p) + beyond))
        total = (q * (2 * r - 1) + p * (2 * (D - r) + 1)) * q**most
        common = math.gcd(total, *inner, *tails)
        return [x // common for x in inner], [x // common for x in tails], total // common

    def edges(self, distance: int) -> int:
        """The most edges of stairs that lie within a distance."""
        return -(-distance // self.D)


class _Additive(_Channel):
    """Noise on an open grid; a closed end takes what lies beyond it."""

    def __init__(self, noise: _Noise, low: int | None, high: int | None) -> None:
        super().__init__(None, None)
        self.noise, self.ends = noise, (low, high)

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(self.noise.b, self.noise.edges(distance))

    def between(self, i: int, k: int) -> _Ratio:
        return self.tight(abs(i - k))


class _Clamped(_Channel):
    """Noise on 0..n; both ends take what lies beyond them."""

    def __init__(self, n: int, noise: _Noise) -> None:
        super().__init__(n + 1, n + 1)
        self.n, self.noise = n, noise

    def _weights(self) -> Weights | None:
        n, noise = self.n, self.noise
        if (n + 1) ** 2 > MAX_ENTRIES:
            return None
        self.effort.spend(4 * _reducing(noise.b.denominator.bit_length() * (n // noise.D + 2)))
        if noise.at(n).denominator.bit_length() * (n + 1) ** 2 > MAX_WEIGHT_BITS:
            return None
        bits = noise.at(n).denominator.bit_length() + 2 * noise.b.denominator.bit_length()
        self.effort.spend((n + 1) ** 2 * 50 + 8 * (n + 1) * _times(bits, bits) + 4 * _reducing(bits))
        a, t, total = noise.written(n)
        return [[t[i], *(a[abs(i - j)] for j in range(1, n)), t[n - i]] for i in range(n + 1)], total

    def tight(self, distance: int) -> _Ratio:
        """b^edges, reached by a pair whose best report lies within the grid, or a whole number of stairs apart."""
        noise, power = self.noise, self.noise.edges(distance)
        if noise.r + (power - 1) * noise.D + 1 <= self.n or power * noise.D <= distance:
            return _Ratio(noise.b, power)
        exact = self.weights
        ratio = None if exact is None else self._ratio(exact, distance)
        written = ratio is not None and ratio.alpha.denominator.bit_length() <= WRITTEN_BITS
        return ratio if ratio is not None and written else _Ratio(noise.b, power, exact=False)

    def between(self, i: int, k: int) -> _Ratio:
        within = _Ratio(self.noise.b, self.noise.edges(abs(i - k)), exact=False)
        return within if self.weights is None else super().between(i, k)


class _Then(_Channel):
    """A second channel that takes the reports of a first."""

    def __init__(self, first: _Channel, second: _Channel) -> None:
        super().__init__(first.rows, second.reports)
        self.first, self.second = first, second
        fits = first.reports is not None and first.reports == second.rows
        _need(fits, "shape", "Two channels in sequence do not fit.")

    def _weights(self) -> Weights | None:
        """The two tables multiplied, where that is little work."""
        rows, middle, reports = self.rows or 0, self.first.reports or 0, self.reports or 0
        if rows * middle * reports > MAX_PRODUCT:
            return None
        left, right = self.first.weights, self.second.weights
        if left is None or right is None:
            return None
        total = left[1] * right[1]
        if (
            total.bit_length() * rows * reports > MAX_WEIGHT_BITS
            or total.bit_length() * rows * middle * reports > MAX_WORK
        ):
            return None
        products = rows * middle * reports * _times(left[1].bit_length(), right[1].bit_length())
        self.effort.spend(products + total.bit_length() * rows * reports)
        columns = list(zip(*right[0], strict=True))
        return [[sum(map(int.__mul__, row, column)) for column in columns] for row in left[0]], total

    def tight(self, distance: int) -> _Ratio:
        exact = self.weights
        if exact is not None:
            ratio = self._ratio(exact, distance)
            if ratio.alpha.denominator.bit_length() <= WRITTEN_BITS:
                return ratio
        if isinstance(self.first, _Map):  # the second channel sees true values at most a jump apart
            jump = self.first.jump(distance)
            inner = self.second.tight(jump) if jump else _Ratio(Fraction(1))
        else:
            inner = self.first.tight(distance)  # post-processing never makes a ratio larger
        return _Ratio(inner.alpha, inner.power, exact=False)

    def between(self, i: int, k: int) -> _Ratio:
        if self.weights is not None:
            return super().between(i, k)
        if not isinstance(self.first, _Map):
            return self.first.between(i, k)
        i, k = self.first.targets[i], self.first.targets[k]
        return _Ratio(Fraction(1)) if i == k else self.second.between(i, k)


def _short(ratio: _Ratio) -> _Ratio:
    """A ratio that can be written out; nothing is claimed of others."""
    return ratio if ratio.alpha.denominator.bit_length() <= WRITTEN_BITS else _Ratio(Fraction(0), exact=False)


def _channel(part: Any, effort: Effort | None = None, depth: int = 0) -> _Channel:
    """The channel that a part of the file describes, with all that it is made of."""
    effort = Effort() if effort is None else effort
    effort.parts += 1
    _need(depth <= MAX_DEPTH and effort.parts <= MAX_PARTS, "shape", "The file has too many channels in sequence.")
    kind = _field(part, "kind", "channel")
    if kind == "then":
        _, first, second = _fields(part, "channel", "kind", "first", "second")
        channel: _Channel = _Then(*(_channel(other, effort, depth + 1) for other in (first, second)))
    elif kind == "mixture" and part.get("other") is not None:
        channel = _read_mixture(part, _channel(part["other"], effort, depth + 1))
    else:
        _need(isinstance(kind, str) and kind in _READERS, "shape", "The channel is of an unknown kind.")
        channel = _READERS[kind](part)
    channel.effort = effort
    return channel


def _read_geometric(part: Any) -> _Channel:
    """Geometric noise on 0..n."""
    _, n, a = _fields(part, "channel", "kind", "n", "a")
    n, a = _integer(n, "n"), _rational(a, "a")
    _need(n >= 1 and 0 < a < 1, "shape", "A geometric distribution needs n >= 1 and 0 < a < 1.")
    return _Geometric(n, a)


def _read_mixture(part: Any, other: _Channel | None = None) -> _Channel:
    """Kept, or drawn: uniformly, or by the channel that was read before."""
    _, size, keep, *_ = _fields(part, "channel", "kind", "size", "keep", *(("other", "ends") if other else ()))
    size, keep = _integer(size, "size"), _rational(keep, "keep")
    ends = None if part.get("ends") is None else _rational(part["ends"], "ends")
    _need(
        size >= 2 and all(0 <= chance < 1 for chance in (keep, ends or 0)),
        "shape",
        "Keeping needs two values and a probability in [0, 1).",
    )
    _need(
        other is None or (other.rows == other.reports == size and size <= MAX_ENTRIES),
        "shape",
        "The channel that draws what is not kept does not fit.",
    )
    return _Keep(size, keep, ends, other)


def _read_window(part: Any) -> _Channel:
    """A window around the true value."""
    _, n, width, a = _fields(part, "channel", "kind", "n", "width", "a")
    n, width, a = _integer(n, "n"), _integer(width, "width"), _rational(a, "a")
    _need(n >= 1 and width >= 1 and 0 < a < 1, "shape", "A window needs n >= 1, width >= 1 and 0 < a < 1.")
    return _Window(n, width, a)


def _read_additive(part: Any) -> _Channel:
    """Noise on an open grid."""
    _, noise, *ends = _fields(part, "channel", "kind", "noise", "low", "high")
    _need(
        all(end is None or (type(end) is int and end == 0) for end in ends),
        "shape",
        "The ends of unbounded noise are 0 or open.",
    )
    return _Additive(_noise(noise), *ends)


def _read_clamped(part: Any) -> _Channel:
    """Noise on 0..n."""
    _, n, noise = _fields(part, "channel", "kind", "n", "noise")
    n = _integer(n, "n")
    _need(n >= 1, "shape", "Clamped noise needs n >= 1.")
    return _Clamped(n, _noise(noise))


def _read_map(part: Any) -> _Channel:
    """One target for each true value."""
    _, size, targets = _fields(part, "channel", "kind", "size", "targets")
    size, targets = _integer(size, "size"), [_integer(t, "map") for t in _words(targets, "targets")]
    _need(len(targets) > 0 and all(0 <= t < size for t in targets), "shape", "A map points outside its reports.")
    return _Map(targets, size)


def _read_table(part: Any) -> _Channel:
    """Rows of weights that sum to the total, which drawing can divide into cells."""
    _, total, rows = _fields(part, "channel", "kind", "total", "rows")
    total = _integer(total, "total")
    _need(
        isinstance(rows, list) and len(rows) >= 2 and all(isinstance(row, str) for row in rows),
        "shape",
        "A table is a list of at least two rows, each a text of integers.",
    )
    width = len(rows[0].split())
    _need(width >= 1 and len(rows) * width <= MAX_ENTRIES, "shape", "A table has from 1 to 2^20 weights.")
    weights = [[_integer(w, f"row {i}") for w in row.split()] for i, row in enumerate(rows)]
    _need(all(len(row) == width for row in weights), "shape", "The rows of the table differ in length.")
    _need(0 < total <= MAX_TOTAL, "sum", f"The total {total} is not between 1 and 2^63.")
    for i, row in enumerate(weights):
        _need(min(row) >= 0, "shape", f"Row {i} has a negative weight.")
        _need(sum(row) == total, "sum", f"Row {i} sums to {sum(row)}, not to the total {total}.")
    cells = 1 << (width - 1).bit_length()
    _need(total % cells == 0, "sum", f"The total {total} is not a multiple of {cells}, the cells that drawing needs.")
    return _Table(weights, total)


_READERS: dict[str, Callable[[Any], _Channel]] = {
    "table": _read_table,
    "geometric": _read_geometric,
    "mixture": _read_mixture,
    "additive": _read_additive,
    "clamped": _read_clamped,
    "map": _read_map,
    "window": _read_window,
}


def _noise(part: Any) -> _Noise:
    """The distribution of the noise: geometric or staircase."""
    family = _field(part, "family", "noise")
    _need(family in ("geometric", "staircase"), "shape", "The noise is of an unknown family.")
    if family == "geometric":
        _, a = _fields(part, "noise", "family", "a")
        a = _rational(a, "a")
        _need(0 < a < 1, "shape", "Geometric noise needs 0 < a < 1.")
        return _Noise(a, 1, 1)
    _, b, D, r = _fields(part, "noise", "family", "b", "D", "r")
    b, D, r = _rational(b, "b"), _integer(D, "D"), _integer(r, "r")
    _need(0 < b < 1 and 1 <= r <= D <= MAX_STAIR, "shape", "Staircase noise needs 0 < b < 1 and 1 <= r <= D <= 2^13.")
    return _Noise(b, D, r)


def _words(text: Any, name: str) -> list[str]:
    """The parts of a text, between spaces."""
    _need(isinstance(text, str), "shape", f"The {name} are not a text of integers.")
    return list(text.split())


def _table_ratio(weights: list[list[int]], distance: int) -> _Ratio:
    """The smallest ratio over all rows at most `distance` apart: a sliding minimum down each column, in integers."""
    top, bottom = 1, 1  # the largest ratio so far, as a fraction
    for column in zip(*weights, strict=True):
        for oriented in (column, column[::-1]):
            window: deque[int] = deque()  # positions of increasing values, the smallest of the window first
            for i, value in enumerate(oriented):
                while window and oriented[window[-1]] >= value:
                    window.pop()
                window.append(i)
                if window[0] < i - distance:
                    window.popleft()
                low = oriented[window[0]]
                if value * bottom > top * low:
                    if low == 0:
                        return _Ratio(Fraction(0))
                    top, bottom = value, low
    return _Ratio(Fraction(bottom, top))


def _table_properties(w: list[list[int]], total: int) -> tuple[str, ...] | None:
    """The letters of the properties that hold, each compared in integers; None for a table that is not square."""
    size = len(w)
    if size != len(w[0]):
        return None
    span, columns = range(size), [list(column) for column in zip(*w, strict=True)]

    def honest(lines: list[list[int]]) -> bool:
        """Is the diagonal the largest of its line?"""
        return all(max(line) == line[i] for i, line in enumerate(lines))

    def monotone(lines: list[list[int]]) -> bool:
        """Does every line fall away from the diagonal?"""
        return all(
            line[: i + 1] == sorted(line[: i + 1]) and line[i:] == sorted(line[i:], reverse=True)
            for i, line in enumerate(lines)
        )

    diagonal = [w[i][i] for i in span]
    holds = {
        "RH": honest(columns),
        "RM": monotone(columns),
        "CH": honest(w),
        "CM": monotone(w),
        "F": min(diagonal) == max(diagonal),
        "WH": min(diagonal) * size >= total,
        "S": all(w[i] == w[size - 1 - i][::-1] for i in span),
    }
    return tuple(letter for letter in LETTERS if holds[letter])


# Neighbours: between which true values the level is claimed


@dataclass(frozen=True)
class _Neighbours:
    """All values at most `reach` steps apart, or else `pairs` of positions with their distances."""

    words: str
    reach: int | None = None
    pairs: tuple[tuple[int, int, Fraction], ...] = ()

    def edges(self, size: int) -> list[tuple[int, int]]:
        """Every pair once, as positions in order; a certificate has two lines of multipliers for each."""
        if self.reach is None:
            _need(all(d == 1 for *_, d in self.pairs), "shape", "A certificate is not about neighbours with distances.")
            return [(i, k) for i, k, _ in self.pairs]
        return [(j, k) for j in range(size) for k in range(j + 1, min(j + self.reach, size - 1) + 1)]

    def hold(self, channel: _Channel, alpha: Fraction) -> _Ratio:
        """Refuse what is not private at this level; the tight level, for pairs a bound of it."""
        if self.reach is not None:
            ratio = channel.tight(self.reach if channel.rows is None else min(self.reach, channel.rows - 1))
            _need(
                _keeps(ratio, alpha, Fraction(1), channel.effort),
                "claim",
                f"The level alpha = {alpha} does not hold for all neighbours.",
            )
            return ratio
        channel.effort.spend(len(self.pairs) * 10**4)
        for i, k, d in self.pairs:
            _need(
                _keeps(channel.between(i, k), alpha, d, channel.effort),
                "claim",
                f"The level alpha = {alpha} does not hold between the values {i} and {k}.",
            )
        return _Ratio(alpha, exact=False)


def _keeps(ratio: _Ratio, alpha: Fraction, distance: Fraction, effort: Effort) -> bool:
    """Is the ratio at least alpha^distance? At distance 0 the two distributions must be the same."""
    if distance == 0 or alpha == 1:
        return ratio.alpha == 1
    if alpha == 0 or ratio.alpha == 1:
        return True
    return grants(ratio.alpha, distance / ratio.power, 1 / alpha, effort)


def _neighbours(part: Any, rows: int | None) -> _Neighbours:
    """Those that a part of the file describes, for so many true values."""
    kind = _field(part, "kind", "neighbours")
    if kind == "steps":
        reach = _integer(_fields(part, "neighbours", "kind", "steps")[1], "number of steps")
        _need(reach >= 1, "shape", "Neighbours are less than one step apart.")
        return _Neighbours(f"true values at most {'one step' if reach == 1 else f'{reach} steps'} apart", reach)
    if kind == "any":
        _fields(part, "neighbours", "kind")
        _need(rows is not None, "shape", "No noise hides any two values of an open grid from each other.")
        return _Neighbours("any two true values", (rows or 0) - 1)
    _need(kind in ("pairs", "distances"), "shape", "The neighbours are of an unknown kind.")
    _need(len(str(part.get("pairs"))) < 2**24, "too large", "There are too many pairs of neighbours in the file.")
    _, text, *lengths = _fields(part, "neighbours", "kind", "pairs", *(["distances"] if kind == "distances" else []))
    ends = [_integer(j, "neighbours") for j in _words(text, "neighbours")]
    apart = (
        [_rational(d, "distances") for d in _words(lengths[0], "distances")]
        if lengths
        else [Fraction(1)] * (len(ends) // 2)
    )
    pairs = tuple(zip(ends[::2], ends[1::2], apart, strict=False))
    _need(
        0 < 2 * len(apart) == len(ends)
        and all(i < k and (rows is None or 0 <= i < k < rows) for i, k, _ in pairs)
        and [pair[:2] for pair in pairs] == sorted({pair[:2] for pair in pairs})
        and min(apart) >= 0,
        "shape",
        "The neighbours are no pairs of values, each once and in order.",
    )
    return _Neighbours(
        f"{len(pairs)} given pairs of true values" + (", by their distances" if lengths else ""), None, pairs
    )


# Directed bounds of e^-epsilon


def _exp_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^x for x >= 0: Taylor's series of x/2^k, then k squarings, rounded outwards."""
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 8)
    y, one = x / 2**halvings, 1 << bits
    y_low, y_high = y.numerator * one // y.denominator, -(-y.numerator * one // y.denominator)
    low = high = term_low = term_high = one
    k = 0
    while term_high > 1:
        k += 1
        term_low, term_high = (term_low * y_low >> bits) // k, -((-term_high * y_high >> bits) // k)
        low, high = low + term_low, high + term_high
    high += 2  # the rest of the series is below the last term, since y < 1/2
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return Fraction(low, one), Fraction(high, one)


def _log_bounds(r: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above ln(r) for r >= 1: k ln 2 + ln(r / 2^k) by the series of artanh, rounded outwards."""
    k = max(0, r.numerator.bit_length() - r.denominator.bit_length() - 1)
    while r / 2**k >= 2:
        k += 1
    one = 1 << bits

    def artanh_twice(m: Fraction) -> tuple[int, int]:
        """ln(m) = 2 artanh((m - 1)/(m + 1)), from below and above."""
        z = (m - 1) / (m + 1)  # at most 1/3
        z_low, z_high = z.numerator * one // z.denominator, -(-z.numerator * one // z.denominator)
        low = high = 0
        power_low, power_high, odd = z_low, z_high, 1
        while power_high > 1:
            low, high = low + power_low // odd, high - (-power_high // odd)
            power_low = (power_low * z_low >> bits) * z_low >> bits
            power_high = -(-power_high * z_high >> bits)
            power_high = -(-power_high * z_high >> bits)
            odd += 2
        return 2 * low, 2 * (high + 2)  # what is left out is below 1.2 times the last power, which is at most 1

    two, rest = artanh_twice(Fraction(2)), artanh_twice(r / 2**k)
    return Fraction(k * two[0] + rest[0], one), Fraction(k * two[1] + rest[1], one)


def grants(alpha: Fraction, factor: Fraction, base: Fraction | None, effort: Effort | None = None) -> bool:
    """Is alpha >= e^-epsilon, for epsilon = factor or factor * ln(base)? Proved either way."""
    effort = Effort() if effort is None else effort
    p, q = factor.numerator, factor.denominator
    size = alpha.denominator.bit_length()
    if alpha == 0:
        return False
    if base is not None and q * size + p * base.numerator.bit_length() <= 2**21:
        effort.spend(4 * _times(q * size, p * base.numerator.bit_length()))
        return alpha**q * base**p >= 1
    bits = 192 + size
    while bits <= 2**14 + 2 * size:
        effort.spend((0.5 if base is None else 3.0) * bits * _times(bits, bits))  # the terms of the series
        logs = (Fraction(1), Fraction(1)) if base is None else _log_bounds(base, bits)
        least, most = factor * logs[0], factor * logs[1]
        if least >= size:
            return True  # alpha >= 1/denominator > 2^-size > e^-least
        if alpha * _exp_bounds(least, bits)[0] >= 1:  # alpha >= e^-least >= e^-epsilon
            return True
        if alpha * _exp_bounds(most, bits)[1] < 1:
            return False
        bits *= 2
    raise Fault("claim", "The level in the file is too close to its limit to be decided. Save the mechanism again.")


# The whole document


def verify(document: dict[str, Any]) -> Verified:
    """Re-derive every claim of a document; a Fault says which one fails."""
    version = _field(document, "version", "file")
    _need(
        type(version) is int and version == VERSION,
        "version",
        f"The mechanism file has version {ascii(version)[:20]}; this program reads version {VERSION}. "
        "Use the version of discreet that wrote it, or make and save the mechanism again.",
    )
    try:
        whole = digest(document)
    except RecursionError:  # what the reader of JSON just manages may be too deep for its writer
        raise Fault("unreadable", "The file nests too deeply for a mechanism file. Save the mechanism again.") from None
    _need(
        _field(document, "digest", "file") == whole,
        "digest",
        "The file was changed after it was saved: its digest does not fit its content. Save the mechanism again.",
    )
    effort = Effort()
    inputs, outputs, neighbours, level, recipe, part, claims, *_ = _fields(
        document,
        "file",
        "inputs",
        "outputs",
        "neighbours",
        "level",
        "recipe",
        "channel",
        "claims",
        "format",
        "version",
        "digest",
        maybe=("certificate",),
    )
    _recipe(recipe)
    channel = _channel(part, effort)
    grids = {name: _grid(grid, name) for name, grid in (("inputs", inputs), ("outputs", outputs))}
    for name, size in (("inputs", channel.rows), ("outputs", channel.reports)):
        _need(grids[name].size == size, "shape", f"The {name} do not fit the channel.")
    if isinstance(channel, _Additive):
        ends = tuple(None if inputs[end] is None else 0 for end in ("low", "high"))
        _need(
            inputs == outputs and channel.ends == ends,
            "shape",
            "Noise must be added on one grid and saturate where that grid ends.",
        )
    near, alpha = _neighbours(neighbours, channel.rows), _level(level, effort)
    ratio = near.hold(channel, alpha)
    tight, listed = _fields(claims, "claims", "tight", "properties")
    if near.reach is None:
        _need(tight is None, "shape", "Of pairs of neighbours no tight level is claimed.")
    else:
        told, power, exact = _fields(tight, "tight level", "alpha", "power", "exact")
        right = (_rational(told, "tight level"), _integer(power, "power")) == (ratio.alpha, ratio.power)
        _need(
            right and exact is ratio.exact, "claim", "The tight level in the file is not the one that its weights have."
        )
    properties = channel.properties() if inputs == outputs else None
    if listed is not None:
        right = isinstance(listed, list) and properties is not None and sorted(map(str, listed)) == sorted(properties)
        _need(right, "claim", "The properties in the file are not those that its weights have.")
    found = Verified(alpha, ratio.alpha, ratio.power, ratio.exact, properties, near.words)
    proof = document.get("certificate")
    if proof is None:
        return found
    proved, asked, among = _certificate(proof, channel, grids, found, near)
    _agrees(recipe["parameters"], proof)
    return replace(found, risk_and_bound=proved, asked=asked, among=among)


# The certificate of a design: its risk, and a bound by weak duality (discreet/designs/certificate.py says how)


def _certificate(
    proof: Any, channel: _Channel, grids: dict[str, _Grid], found: Verified, near: _Neighbours
) -> tuple[tuple[Fraction, Fraction], str, str]:
    """The risk of the mechanism and the bound, both re-derived, and in words what they are the risk and the bound of."""
    loss, prior, kind, among, require, own, bits, objective, claimed, given = _fields(
        proof,
        "certificate",
        "loss",
        "prior",
        "risk",
        "among",
        "require",
        "alpha",
        "bits",
        "objective",
        "bound",
        "multipliers",
        maybe=("family",),
    )
    exact = channel.weights
    _need(
        exact is not None and channel.rows == channel.reports, "shape", "The mechanism is too large for a certificate."
    )
    weights, total = exact or ([], 1)
    size = len(weights)
    loss_name, per, losses = _fields(loss, "loss", "name", "denominator", "rows")
    prior_name, law = _fields(prior, "prior", "name", "weights")
    per, losses = _integer(per, "denominator"), _numbers(losses, size, size, "loss")
    law = _numbers([law], 1, size, "prior")[0]
    _need(
        per > 0 and min(map(min, losses)) >= 0 and min(law) >= 0 and sum(law) > 0,
        "shape",
        "The certificate's loss or prior has negative numbers.",
    )
    _need(
        isinstance(require, list) and set(map(str, require)) <= set(found.properties or ()),
        "claim",
        "The mechanism does not have the properties that its certificate requires.",
    )
    longest = max(map(max, losses)).bit_length()
    channel.effort.spend(size * size * _times(longest, total.bit_length()))
    risks = [sum(map(int.__mul__, a, b)) for a, b in zip(losses, weights, strict=True)]
    _need(kind in ("average", "worst", "family"), "shape", "The risk of the certificate is of an unknown kind.")
    _need(
        (kind == "family") == ("family" in proof),
        "shape",
        "A set of priors goes with the risk of one, and with no other.",
    )
    family = ""
    if kind == "family":
        _need(among is None, "claim", "The risk of a set of priors has no values that it is the worst case among.")
        highest, family = _family(
            proof["family"], law, [Fraction(x, per * total) for x in risks], grids, channel.effort
        )
        top, bottom = highest.numerator, highest.denominator
    elif kind == "worst":
        places = [_integer(j, "among") for j in _words(among, "among")]
        _need(
            len(places) > 0 and all(0 <= j < size for j in places),
            "shape",
            "The values of the worst case are no values.",
        )
        possible = set(places)
        _need(
            all(w == 0 or j in possible for j, w in enumerate(law)),
            "claim",
            "The prior leaves the worst case's values.",
        )
        top, bottom = max(risks[j] for j in places), per * total
    else:
        _need(among is None, "claim", "An average risk has no values that it is the worst case among.")
        top, bottom = sum(map(int.__mul__, law, risks)), sum(law) * per * total
    channel.effort.spend(2 * _reducing(max(top, bottom).bit_length()))
    risk = Fraction(top, bottom)
    _need(
        risk == _rational(objective, "objective"),
        "claim",
        "The risk in the certificate is not the one that the weights have.",
    )
    own = _rational(own, "alpha")
    _need(0 < own < 1, "shape", "The level of the certificate is not between 0 and 1.")
    _need(own == found.alpha, "claim", "The certificate is about another level than the mechanism's.")
    bits = _integer(bits, "bits")
    _need(0 <= bits <= WRITTEN_BITS, "shape", "The multipliers of the certificate have too many bits.")
    if isinstance(given, dict) and given.keys() == {"rows"} and near.reach is not None:
        bound = _ray_bound(given["rows"], bits, own, near.reach, set(require), law, losses, per, channel.effort)
    else:
        bound = _dual_bound(given, bits, own, near.edges(size), set(require), law, losses, per, channel.effort)
    _need(
        bound == _rational(claimed, "bound"),
        "claim",
        "The bound in the certificate is not the one that its multipliers prove.",
    )
    told = [_told("loss", loss_name, _loss_fits(loss_name, losses, per, grids, channel.effort))]
    if kind != "worst":
        told.append(
            f"the largest under {family}" if family else _told("prior", prior_name, _prior_fits(prior_name, law))
        )
    return (risk, bound), f"{'average' if family else kind} risk, " + ", ".join(told), _among(own, near, require, among)


def _family(
    part: Any, law: list[int], risks: list[Fraction], grids: dict[str, _Grid], effort: Effort
) -> tuple[Fraction, str]:
    """What no prior of a set exceeds with these losses of the truths, and the set in words; the distribution must lie in it."""
    kind = _field(part, "kind", "set of priors")
    _need(kind in ("hull", "limits"), "shape", "The set of priors is of an unknown kind.")
    names = ("priors", "mixture") if kind == "hull" else ("limits", "prices")
    _, parts, proof = _fields(part, "set of priors", "kind", *names)
    _need(isinstance(parts, list) and 0 < len(parts) <= MAX_PARTS, "shape", f"The {names[0]} of the set are no list.")
    longest = max(x.numerator.bit_length() + x.denominator.bit_length() for x in (*risks, *map(Fraction, law)))
    if kind == "hull":
        read = [_fields(p, "prior", "name", "weights") for p in parts]
        members = [_numbers([weights], 1, len(law), "prior")[0] for _, weights in read]
        shares = _numbers([proof], 1, len(members), "mixture")[0]
        _need(
            min(map(min, members)) >= 0 and min(map(sum, members)) > 0 and min(shares) >= 0 and sum(shares) > 0,
            "shape",
            "The set of priors has negative numbers, or nothing but zeros.",
        )
        bits = sum(sum(p).bit_length() for p in members) + max(shares).bit_length() + longest
        effort.spend(4 * len(members) * len(law) * (_times(bits, bits) + _reducing(bits)))
        laws = [[Fraction(x, sum(p)) for x in p] for p in members]
        mixed = [
            sum(map(Fraction.__mul__, map(Fraction, shares), chances), Fraction(0))
            for chances in zip(*laws, strict=True)
        ]
        _need(
            all(a * sum(law) == b * sum(shares) for a, b in zip(mixed, law, strict=True)),
            "claim",
            "The prior of the bound is not the mixture that the certificate says.",
        )
        told = (_told("prior", name, _prior_fits(name, p)) for (name, _), p in zip(read, members, strict=True))
        return max(sum(map(Fraction.__mul__, p, risks), Fraction(0)) for p in laws), "any mixture of: " + "; ".join(
            told
        )
    rows: list[list[Fraction]] = []  # c with c . p <= 0
    words = []
    for limit in parts:
        name, numbers, per, *ends = _fields(limit, "limit", "name", "coefficients", "denominator", "low", "high")
        bottom = _integer(per, "denominator")
        _need(bottom > 0, "shape", "A limit of the priors has a denominator that is not positive.")
        values = [Fraction(x, bottom) for x in _numbers([numbers], 1, len(law), "limit")[0]]
        signed = [(sign, _rational(end, "limit")) for sign, end in zip((-1, 1), ends, strict=True) if end is not None]
        known = (*values, *(end for _, end in signed))
        bits = max(x.numerator.bit_length() + x.denominator.bit_length() for x in known)
        effort.spend(8 * len(law) * _reducing(2 * bits + longest))
        rows += [[sign * (x - end) for x in values] for sign, end in signed]
        words.append(f"{_told('limit', name, _limit_fits(name, values, grids))} in {_between(limit)}")
    _need(
        all(sum(map(Fraction.__mul__, c, map(Fraction, law)), Fraction(0)) <= 0 for c in rows),
        "claim",
        "The prior of the bound breaks the limits of the set.",
    )
    paid = [_rational(x, "price") for x in _words(proof, "prices")]
    _need(
        len(paid) == len(rows) and min(paid, default=Fraction(0)) >= 0,
        "claim",
        "The prices of the limits are not one for each end, and none negative.",
    )
    bits = sum(x.denominator.bit_length() + x.numerator.bit_length() for x in paid)
    effort.spend(8 * len(law) * len(rows) * _reducing(longest + bits))
    left = (x - sum((u * c[j] for u, c in zip(paid, rows, strict=True)), Fraction(0)) for j, x in enumerate(risks))
    return max(left), "any prior with " + " and ".join(words)


def _set_name(part: dict[str, Any]) -> str:
    """The set as a recipe names it, by the names of its parts alone."""
    if part["kind"] == "hull":
        return "any mixture of " + ", ".join(prior["name"] for prior in part["priors"])
    return "any with " + " and ".join(f"{limit['name']} in {_between(limit)}" for limit in part["limits"])


def _between(limit: dict[str, Any]) -> str:
    """From low to high; an end that is null is open."""
    return f"{limit['low'] or ''}..{limit['high'] or ''}"


def _limit_fits(name: Any, values: list[Fraction], grids: dict[str, _Grid]) -> str:
    """Are these the numbers of the moment that a limit is called by? "" for another name; a Fault when it lies."""
    kind, numbers = _parsed(name)
    if kind != "moment" or len(numbers) != 2 or numbers[0].denominator != 1 or not 1 <= numbers[0] <= 64:
        return ""
    grid, order = grids["inputs"], int(numbers[0])
    fits = all(x == (grid.anchor + j * grid.step - numbers[1]) ** order for j, x in enumerate(values))
    _need(fits, "claim", "A limit of the priors is not the moment that it is called.")
    return "(recomputed)"


def _among(own: Fraction, near: _Neighbours, require: list[str], places: Any) -> str:
    """What the bound is about: it says nothing of mechanisms of a weaker level, or without the properties."""
    told = f"alpha {own} between {near.words}, properties required: {', '.join(sorted(require)) or 'none'}"
    return told if places is None else f"{told}, worst case among {len(set(places.split()))} values"


def _agrees(parameters: dict[str, str], proof: dict[str, Any]) -> None:
    """The recipe names the problem for people: it must not name another one than the certificate."""
    told = {name: proof[name]["name"] for name in ("loss", "prior")} | {name: proof[name] for name in ("risk", "alpha")}
    if "family" in proof:
        del told["prior"]
        told["priors"] = _set_name(proof["family"])
    told["require"] = " ".join(sorted(proof["require"])) or "none"
    for name, value in told.items():
        _need(parameters.get(name, value) == value, "claim", f"The recipe and the certificate differ in the {name}.")


def _told(what: str, name: Any, fits: str) -> str:
    """A loss or a prior in words; a name that proves nothing is quoted, and told apart."""
    return f"{what} {name} {fits}" if fits else f"{what} given by its numbers, and called {ascii(name)[:60]}"


def _parsed(name: Any) -> tuple[str, list[Fraction]]:
    """The kind of a name such as "lp(3)" and its numbers; "" for a name that says nothing about numbers."""
    _need(isinstance(name, str) and name.isprintable(), "shape", "A name in the certificate is not plain text.")
    match = _NAMED.fullmatch(name) if len(name) <= 2 * MAX_DIGITS else None
    if match is None:
        return "", []
    numbers = [_rational(x, "name") for x in match[2].split(", ")] if match[2] else []
    canonical = match[1] + (f"({', '.join(map(str, numbers))})" if numbers else "")
    return (match[1], numbers) if canonical == name else ("", [])


def _loss_fits(name: Any, losses: list[list[int]], per: int, grids: dict[str, _Grid], effort: Effort) -> str:
    """Are these the numbers that the name stands for? "" for a name that stands for none; a Fault when it lies."""
    kind, numbers = _parsed(name)
    wanted = {"l0": 0, "l1": 0, "l2": 0, "lp": 1, "tail": 1, "threshold": 1, "asymmetric": 2}.get(kind)
    if wanted != len(numbers) or (kind == "lp" and not (numbers[0].denominator == 1 and 1 <= numbers[0] <= 64)):
        return ""  # a fractional power is irrational: what stands in the file is a float near it
    if max((max(abs(x.numerator), x.denominator).bit_length() for x in numbers), default=0) > WRITTEN_BITS:
        return ""
    unit = math.lcm(*(x.denominator for g in grids.values() for x in (g.anchor, g.step)))
    truths, reports = (
        [int((grids[name].anchor + i * grids[name].step) * unit) for i in range(len(losses))]
        for name in ("inputs", "outputs")
    )  # whole numbers of 1/unit
    power = {"l0": 0, "l1": 1, "l2": 2, "asymmetric": 1}.get(kind, int(numbers[0]) if kind == "lp" else 0)
    common = math.lcm(*(x.denominator for x in numbers)) if kind == "asymmetric" else 1
    over, under = (int(x * common) for x in numbers) if kind == "asymmetric" else (1, 1)
    scale, cut = unit**power * common, numbers[0] * unit if numbers else Fraction(0)
    bits = (
        (power + 1) * max(abs(x) for x in (*truths, *reports, unit)).bit_length() + per.bit_length() + over.bit_length()
    )
    effort.spend(len(losses) ** 2 * 4 * _times(bits, bits))

    def expected(truth: int, report: int) -> int:
        """What the name says that this report costs."""
        match kind:
            case "tail":
                return int(abs(report - truth) > cut)
            case "threshold":
                return int((truth >= cut) != (report >= cut))
        return 0 if truth == report else (over if report > truth else under) * abs(report - truth) ** power

    fits = all(
        x * scale == expected(truth, report) * per
        for truth, line in zip(truths, losses, strict=True)
        for report, x in zip(reports, line, strict=True)
    )
    _need(fits, "claim", f"The loss in the certificate is not the {kind} that it is called.")
    return "(recomputed)"


def _prior_fits(name: Any, law: list[int]) -> str:
    """The same for a prior; distributions that stand in rounded numbers must be near the exact ones."""
    kind, numbers = _parsed(name)
    n, total = len(law) - 1, sum(law)
    if kind == "uniform" and not numbers:
        _need(min(law) == max(law), "claim", "The prior in the certificate is not the uniform one that it is called.")
        return "(recomputed)"
    if kind not in ("binomial", "maximum", "minimum") or len(numbers) != 1:
        return ""
    p, q = numbers[0].numerator, numbers[0].denominator
    if kind == "binomial":
        if n * q.bit_length() > WRITTEN_BITS:
            return ""
        _need(0 < p < q, "claim", "The prior in the certificate is called binomial with a chance outside (0, 1).")
        whole, exact = q**n, [math.comb(n, k) * p**k * (q - p) ** (n - k) for k in range(n + 1)]
    else:  # of p records that are alike between the ends: its powers, half a step around each value
        if q != 1 or p < 1 or p * (2 * n).bit_length() > WRITTEN_BITS:
            return ""
        whole, powers = (2 * n) ** p, [0, *((2 * k + 1) ** p for k in range(n)), (2 * n) ** p]
        exact = [above - below for below, above in pairwise(powers)]
        exact = exact if kind == "maximum" else exact[::-1]
    apart = sum(abs(w * whole - total * x) for w, x in zip(law, exact, strict=True))
    _need(
        apart * 10**9 <= 2 * total * whole,
        "claim",
        f"The prior in the certificate is not the {kind} one that it is called.",
    )
    return "(recomputed, up to 1e-9)"


def _dual_bound(
    given: Any,
    bits: int,
    alpha: Fraction,
    edges: list[tuple[int, int]],
    require: set[str],
    law: list[int],
    losses: list[list[int]],
    per: int,
    effort: Effort,
) -> Fraction:
    """The bound that the multipliers prove: what they pay to each entry, and what that leaves of its cost."""
    size, span = len(law), range(len(law))
    shapes = {
        "rows": (1, size),
        "level": (2 * len(edges), size),
        "RM": (size - 1, size),
        "CM": (size, size - 1),
        "RH": (size, size),
        "CH": (size, size),
        "WH": (1, size),
        "F": (1, size - 1),
    }
    allowed = {"rows", "level"} | require | {{"RM": "RH", "CM": "CH"}.get(letter, letter) for letter in require}
    if "F" in require and allowed & {"RH", "CH"}:  # on a diagonal of equal entries they are one and the same
        allowed |= {"RH", "CH"}
    _need(
        isinstance(given, dict) and {"rows", "level"} <= given.keys() <= allowed - {"S"},
        "shape",
        "The certificate has multipliers for what was not required.",
    )
    told = {kind: _numbers(lines, *shapes[kind], kind) for kind, lines in given.items()}
    signed = all(
        min(map(min, lines), default=0) >= 0 for kind, lines in told.items() if kind not in ("rows", "F") and lines
    )
    _need(signed, "claim", "A multiplier of an inequality is negative.")
    p, q, scale = alpha.numerator, alpha.denominator, 1 << bits
    longest = max(abs(u) for lines in told.values() for line in lines for u in line).bit_length()
    count = sum(len(lines) * size for lines in told.values())
    costly = (max(law) * max(map(max, losses)) * per * sum(law) * q).bit_length() + longest + bits
    effort.spend(4 * count * _times(q.bit_length(), longest) + 4 * size * size * _times(costly, costly))
    effort.spend(4 * _reducing(2 * costly))
    paid = [[q * told["rows"][0][j]] * size for j in span]  # by the constraints to each entry, in units of 1/(q scale)

    def pay(j: int, i: int, amount: int) -> None:
        """One entry gets what a constraint pays for it."""
        paid[j][i] += amount

    for e, (j, k) in enumerate(edges):
        for one, other, line in ((j, k, told["level"][2 * e]), (k, j, told["level"][2 * e + 1])):
            for i, u in enumerate(line):
                if u:
                    pay(one, i, q * u)
                    pay(other, i, -p * u)
    for kind, lines in told.items():
        for x, line in enumerate(lines if kind not in ("rows", "level") else []):
            for y, u in enumerate(line):
                if not u:
                    continue
                match kind:
                    case "RM":  # the entries (x, y) and (x + 1, y): the nearer to (y, y) exceeds the other
                        pay(x, y, -q * u if x < y else q * u)
                        pay(x + 1, y, q * u if x < y else -q * u)
                    case "CM":
                        pay(x, y, -q * u if y < x else q * u)
                        pay(x, y + 1, q * u if y < x else -q * u)
                    case "RH":
                        pay(y, y, q * u)
                        pay(x, y, -q * u)
                    case "CH":
                        pay(x, x, q * u)
                        pay(x, y, -q * u)
                    case "WH":
                        pay(y, y, q * u)
                    case "F":
                        pay(y, y, q * u)
                        pay(y + 1, y + 1, -q * u)
    cost, unit = _costs(law, losses, per, require)
    charged = sum(min(0, cost[j][i] * q * scale - unit * paid[j][i]) for j in span for i in span)
    honest = Fraction(sum(told["WH"][0]), size) if "WH" in told else Fraction(0)
    return (sum(told["rows"][0]) + honest) / scale + Fraction(charged, unit * q * scale)


def _ray_bound(
    lines: Any,
    bits: int,
    alpha: Fraction,
    reach: int,
    require: set[str],
    law: list[int],
    losses: list[list[int]],
    per: int,
    effort: Effort,
) -> Fraction:
    """The bound that multipliers of the rows prove alone, for all neighbours up to `reach` steps apart.

    Of one report, let x_i be its probability under truth i. Neighbours ask x_k >= alpha x_i whenever |i - k| <= reach. This
    cone is spanned by its extreme rays. On such a ray so many of the inequalities are equalities that they link all of its
    entries, so that up to a factor x_i = alpha^h_i with integers h; and within any reach + 1 consecutive values these differ by
    at most 1. The risk is the sum of the multipliers plus, for every report, the sum of (cost_i - multiplier_i) x_i, since every
    row sums to 1. If that sum is >= 0 on all such rays, then the risk is never below the sum of the multipliers.
    """
    size = len(law)
    rows = _numbers(lines, 1, size, "rows")[0]
    cost, unit = _costs(law, losses, per, require)
    longest = max(max(map(abs, rows)).bit_length(), bits + max(map(max, cost)).bit_length())
    short, levels = alpha.denominator.bit_length(), 2 + size // reach
    effort.spend(size * size * 10 * _times(longest + levels * short, short))
    for i in range(size):
        prices = [(line[i] << bits) // unit - y for line, y in zip(cost, rows, strict=True)]
        _need(
            _cheapest_ray(prices, reach, alpha) >= 0,
            "claim",
            "The multipliers of the certificate prove no bound: a ray costs less than nothing.",
        )
    effort.spend(_reducing(longest + bits))
    return Fraction(sum(rows), 1 << bits)


def _cheapest_ray(prices: list[int], reach: int, alpha: Fraction) -> int:
    """A lower bound of the sum of price_i alpha^h_i, h_0 = 0, over integers h that differ by at most 1 within `reach` steps.

    Backwards over the values. All costs from value i on are told at its height, with the prices up to i added. `free`: no
    other height was seen in the last `reach` values. `above`, `below`: this height was reached just now, from the one above or
    below; one may go back to it at once, but on in the same direction only `reach` values later. Products are rounded down.
    """
    p, q, last = alpha.numerator, alpha.denominator, len(prices) - 1
    before = [0]
    for price in prices:
        before.append(before[-1] + price)
    free = [before[-1]] * len(prices)
    above = below = before[-1]
    ups: deque[tuple[int, int]] = (
        deque()
    )  # of the next reach - 1 values those that may be the least, and where they are
    downs: deque[tuple[int, int]] = deque()
    for i in range(last - 1, -1, -1):
        paid = before[i + 1]
        up = paid + (below - paid) * p // q  # from here on h is larger by 1: all that follows costs alpha times as much
        down = paid + (above - paid) * q // p
        free[i] = min(free[i + 1], up, down)
        later = free[min(i + reach - 1, last)]
        above = min(later, _least(ups, up, i, reach - 1))
        below = min(later, _least(downs, down, i, reach - 1))
    return free[0]


def _least(kept: deque[tuple[int, int]], value: int, place: int, width: int) -> int:
    """The least of the values at `place` and the width - 1 places after it, which were given before."""
    while kept and kept[-1][0] >= value:
        kept.pop()
    kept.append((value, place))
    while kept and kept[0][1] >= place + width:
        kept.popleft()
    return kept[0][0] if kept else value


def _costs(law: list[int], losses: list[list[int]], per: int, require: set[str]) -> tuple[list[list[int]], int]:
    """What each entry costs, prior times loss, over one denominator.

    A symmetric matrix costs the same under the mirror image, and so under the mean of both.
    """
    cost, unit = [[w * x for x in line] for w, line in zip(law, losses, strict=True)], sum(law) * per
    if "S" not in require:
        return cost, unit
    return [
        [a + b for a, b in zip(line, other[::-1], strict=True)] for line, other in zip(cost, cost[::-1], strict=True)
    ], 2 * unit


def _numbers(lines: Any, rows: int, columns: int, where: str) -> list[list[int]]:
    """Lines of integers of a given shape."""
    _need(
        isinstance(lines, list) and len(lines) == rows and all(isinstance(line, str) for line in lines),
        "shape",
        f"The {where} of the certificate are not {rows} lines of integers.",
    )
    numbers = [[_integer(x, where) for x in line.split()] for line in lines]
    _need(
        all(len(line) == columns for line in numbers),
        "shape",
        f"A line of the certificate's {where} has the wrong length.",
    )
    return numbers


def _recipe(recipe: Any, depth: int = 0) -> None:
    """How it was made: plain texts for people, a distance between 0 and 1, and what it was made from."""
    _need(depth <= MAX_DEPTH, "shape", "The recipe nests too deeply.")
    family, parameters, citation, distance, of = _fields(
        recipe, "recipe", "family", "parameters", "citation", "distance", "of"
    )
    _need(isinstance(parameters, dict), "shape", "The recipe's parameters are not named texts.")
    texts = [family, citation, *parameters.keys(), *parameters.values()]
    _need(
        all(isinstance(text, str) and text.isprintable() for text in texts),
        "shape",
        "The recipe holds something other than plain text.",
    )
    _need(isinstance(distance, float) and 0 <= distance <= 1, "shape", "The recipe's distance is not between 0 and 1.")
    if of is not None:
        _recipe(of, depth + 1)


def _level(level: Any, effort: Effort) -> Fraction:
    """The claimed alpha, after comparing it with the epsilon that was asked for."""
    alpha, epsilon = _fields(level, "level", "alpha", "epsilon")
    alpha = _rational(alpha, "alpha")
    _need(0 <= alpha <= 1, "claim", f"alpha = {alpha} is not between 0 and 1.")
    if epsilon is not None:
        factor, base = _fields(epsilon, "epsilon", "factor", "base")
        factor, base = _rational(factor, "epsilon"), None if base is None else _rational(base, "epsilon")
        _need(factor > 0 and (base is None or base > 1), "shape", "The epsilon in the file is not positive.")
        _need(grants(alpha, factor, base, effort), "claim", f"alpha = {alpha} is weaker than the epsilon in the file.")
    return Fraction(alpha)


@dataclass(frozen=True)
class _Grid:
    """The value at position 0, the step, and how many values there are; None: no end."""

    anchor: Fraction
    step: Fraction
    size: int | None


def _grid(grid: Any, name: str) -> _Grid:
    """A grid from low to high; an end that is null is open."""
    low, high, step = _fields(grid, name, "low", "high", "step")
    width = _rational(step, f"step of the {name}")
    _need(width > 0, "shape", f"The step of the {name} is not positive.")
    ends = [None if end is None else _rational(end, f"end of the {name}") for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        return _Grid(ends[0] or ends[1] or Fraction(0), width, None)
    steps = (ends[1] - ends[0]) / width
    _need(steps.denominator == 1 and steps >= 1, "shape", f"The {name} are not a grid.")
    return _Grid(ends[0], width, int(steps) + 1)


def _shown(x: Fraction) -> str:
    """A number for people, also one beyond all floats."""
    try:
        return f"{float(x):.9g}"
    except OverflowError:
        return f"about 2^{x.numerator.bit_length() - x.denominator.bit_length()}"


def main(arguments: list[str]) -> int:
    """Verify one file, and say in words what was proved."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: python verify.py mechanism.json", file=sys.stderr)
        return 2
    try:
        found = verify(read(arguments[0]))
    except Fault as fault:
        print(f"refused ({fault.kind}): {fault}", file=sys.stderr)
        return 1 if fault.kind in ("digest", "sum", "claim") else 2
    power = f" to the power {found.power}" if found.power != 1 else ""
    if found.alpha == 0:
        print(f"the file is whole, but it claims no privacy between {found.between}")
    else:
        print(f"verified: alpha {found.alpha} holds for all {found.between}".replace("all any", "any"))
    short = f" (about {_shown(found.tight)})" if found.tight.denominator > 10**6 else ""
    known = f"{found.tight}{short}{power}"
    tight = "none: some report rules a neighbour out" if found.tight == 0 and found.exact else known
    print(f"tight level: {tight}" + ("" if found.exact else " or better"))
    if found.risk_and_bound is not None:
        risk, bound = (_shown(x) for x in found.risk_and_bound)
        print(f"design: risk {risk}; no mechanism of this kind goes below {bound}")
        print(f"designed for: {found.asked}\nmechanisms of this kind: {found.among}")
    if found.properties is not None:
        print("properties: " + (", ".join(found.properties) or "none"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
