"""Check a mechanism, a release or a ledger with the standard library alone:  python verify.py released.json ledger.json

A mechanism file, the record of a release (the .json beside its CSV files) and a ledger (what `discreet ledger export` wrote) are
told apart by what they say they are. A release is compared with the ledger that is given besides.

This file imports nothing from discreet and nothing outside the standard library, so that anyone can read it and run it
elsewhere. It re-derives every claim of a mechanism file from its integers: that rows sum to the total, that the level holds for
all neighbours, that the properties are those claimed, and that alpha is at least e^-epsilon, by bounds that are
rational numbers rounded in a known direction. What it does not know it refuses: no key of the file goes unread, so that
nothing stands in a verified file that was not verified (but for the recipe, which is words for people). Of releases and
ledgers it says what it checked, and what nobody can check from these files. It counts its work before it does it. It
deliberately shares no code with what made the file.

Exit codes: 0 everything claimed holds, 1 something does not or could not be checked, 2 the file cannot be read.

The map, from the top down:

    Reading             bytes to a document without doubled keys or strange numbers; its digest; fields, integers, rationals
    Channels            one class for each kind: its exact weights, the worst ratio of probabilities at a distance, that of
                        two given values, the seven properties; then the readers, one for each kind
    Tables              ratios and properties of integer weights
    Neighbours          between which true values the level is claimed, and that it holds there
    Directed bounds     of e^x and ln(x): is alpha at least e^-epsilon?
    The document        `verify`: grids, level, neighbours and claims, in the order of the file
    The certificate     the risk of a design, and the bound below which no mechanism goes, by weak duality
    Verdicts            what holds of a ledger or a release, what does not, and what was left to others
    An exported ledger  its chain of hashes, line by line: charges within the budget and the caps, one answer for each
    A release           its digests, what it cost, the level of every mechanism, rows, totals, its line in the ledger
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import os
import re
import sys
import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

FORMAT, VERSION = "discreet-mechanism", 1
MAX_BYTES = 256 * 2**20
MAX_TOTAL = 2**63
MAX_PRODUCT, MAX_WORK, MAX_WEIGHT_BITS, WRITTEN_BITS = 2**21, 2**32, 2**28, 2**13
MAX_ENTRIES, MAX_STAIR, MAX_POINTS, MAX_NAME = 2**20, 2**13, 2**21, 1000
MAX_DEPTH, MAX_PARTS = 64, 2**10  # of channels in sequence
MAX_EFFORT = 2**32  # operations on machine words: some seconds
MAX_DIGITS = 4200  # of an integer in the file
CHARGE_BITS, AMOUNT_BITS = 2**8, 2**12  # of a budget or charge, and of a level or a sum
KINDS = ("missing", "too large", "unreadable", "format", "version", "digest", "shape", "sum", "claim", "unknown")
LETTERS = ("RH", "RM", "CH", "CM", "F", "WH", "S")

_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00")
_DECIMAL = re.compile(r"-?[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[+-]?[0-9]{1,3})?")  # as Python writes a float
# of names: what breaks a line, turns what stands about it around or is half a character; and what nobody sees
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u2060-\u2064\ufeff]")
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
    rho: Fraction | None = None  # of Gaussian noise: zero-concentrated privacy that a theorem proves
    risk_and_bound: tuple[Fraction, Fraction] | None = None  # of a design: no mechanism goes below the bound
    asked: str = ""  # of a design: the problem it is best for, and what of its names was checked
    among: str = ""  # of a design: the mechanisms that the bound is about
    epsilon: str = ""  # as it was asked for: alpha is at least e^-epsilon


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
    """The document in a mechanism file, as it stands; nothing in it is trusted yet."""
    name = os.fspath(path)
    return parse(_bytes(name), name)


def _bytes(name: str) -> bytes:
    """What a file holds, if it is not too large."""
    try:
        size = os.path.getsize(name)
        if size > MAX_BYTES:
            raise Fault(
                "too large", f"{name} has {size} bytes; this program reads at most {MAX_BYTES}. Is it another file?"
            )
        with open(name, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Fault("missing", f"{name!r} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError as error:
        if isinstance(error, Fault):
            raise
        raise Fault("missing", "The name of the file cannot be used. Check the path.") from None


def parse(data: bytes, name: str = "the file") -> dict[str, Any]:
    """The document of a mechanism in some bytes."""
    document = _parsed_json(data, name)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        other = isinstance(document, dict) and "record" in document
        move = "It is the record of a release: use discreet check-release" if other else "Check the path"
        raise Fault("format", f"{name} is not a mechanism file: its format is not {FORMAT!r}. {move}.")
    return document


def _parsed_json(data: bytes, name: str) -> Any:
    """What some bytes say as JSON; whatever two readers may read in two ways is refused."""
    if len(data) > MAX_BYTES:
        raise Fault("too large", f"{name} is larger than {MAX_BYTES} bytes, which no such file is.")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_no_doubles,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_integer,
        )
    except RecursionError:
        raise Fault("unreadable", f"{name} nests too deeply. {_AGAIN}") from None
    except Fault:
        raise
    except ValueError:
        raise Fault("unreadable", f"{name} is cut short or is not JSON. {_AGAIN}") from None


_AGAIN = "Save or export it again, or copy it again from where it was published."


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose keys stand once each."""
    if len({key for key, _ in pairs}) != len(pairs):
        raise Fault("unreadable", f"A key stands twice in the file. {_AGAIN}")
    return dict(pairs)


def _no_constant(text: str) -> float:
    """JSON has no NaN and no Infinity, though readers take them."""
    raise Fault("unreadable", f"{text} is no number of such a file. {_AGAIN}")


def _finite(text: str) -> float:
    """A float, unless it is beyond all of them."""
    number = float(text)
    return number if abs(number) < float("inf") else _no_constant("A number beyond all floats")


def _short_integer(text: str) -> int:
    """An integer of a length that is read quickly."""
    _need(len(text) <= MAX_DIGITS, "unreadable", f"A number in the file has too many digits. {_AGAIN}")
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


def _claim(condition: bool, message: str) -> None:
    """What a file claims must hold."""
    _need(condition, "claim", message)


def _shape(condition: bool, message: str) -> None:
    """What is read must be of its kind."""
    _need(condition, "shape", message)


def _field(holder: Any, name: str, where: str) -> Any:
    """One part of an object, which must be there."""
    _shape(isinstance(holder, dict) and name in holder, f"The {where} has no {name!r}.")
    return holder[name]


def _fields(holder: Any, where: str, *names: str, maybe: tuple[str, ...] = ()) -> list[Any]:
    """The parts with these names; there is no other, since it would be believed without having been checked."""
    found = [_field(holder, name, where) for name in names]
    unknown = next((key for key in holder if key not in names and key not in maybe), None)
    _shape(unknown is None, f"The {where} has {ascii(unknown)[:40]}, which this program does not know.")
    return found


def _integer(value: Any, where: str) -> int:
    """A whole number, also one in a text."""
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    _shape(isinstance(value, int) and not isinstance(value, bool), f"The {where} is not an integer.")
    return int(value)


def _rational(value: Any, where: str) -> Fraction:
    """A fraction such as 9/10, in a text."""
    _shape(isinstance(value, str), f"The {where} is not a rational number in a text.")
    top, slash, bottom = value.partition("/")
    denominator = _integer(bottom if slash else "1", where)
    _shape(denominator > 0, f"The {where} has a denominator that is not positive.")
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
    ends: tuple[int | None, int | None] = None, None  # of an unbounded one: 0, or none

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

    def concentration(self, distance: int) -> tuple[Fraction, int] | None:
        """(q, p) where true values at most so far apart keep rho = p ln(1/q) by a theorem (zCDP); else None."""
        return None

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
        self.n, self.a, self.noise = n, a, _Noise(a, 1, 1)

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


class _Projective(_Channel):
    """Of K = (q^t - 1)/(q - 1) reports those of a hyperplane, turned by one for each true value, are 1/a times as likely; q = p^m.

    The hyperplane is where a recurrence with a primitive polynomial is 0 (channels/projective.py says why). Every row has the same
    two weights equally often, so that no ratio is above 1/a; and no set but the whole circle is the same when turned by one.
    """

    def __init__(self, size: int, points: int, m: int, p: int, recurrence: list[int], a: Fraction) -> None:
        super().__init__(size, points)
        self.points, self.m, self.p, self.recurrence, self.a = points, m, p, recurrence, a

    @cached_property
    def row(self) -> list[int]:
        """The weights of the first true value's reports."""
        factors = [(k, r) for k, r in enumerate(self.recurrence) if r]
        self.effort.spend(self.m * self.points * (300 + 100 * len(factors)))
        terms, zero = deque([0] * (len(self.recurrence) - 1) + [1]), [True] * self.points
        for i in range(self.m * self.points):
            zero[i % self.points] &= terms[0] == 0
            terms.append(-sum(r * terms[k] for k, r in factors) % self.p)
            terms.popleft()
        first = zero.index(True)
        return [self.a.denominator if here else self.a.numerator for here in zero[first:] + zero[:first]]

    def _weights(self) -> Weights | None:
        row, rows = self.row, self.rows or 0
        small = rows * len(row) <= MAX_ENTRIES
        return ([row[len(row) - i :] + row[: len(row) - i] for i in range(rows)], sum(row)) if small else None

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(Fraction(min(self.row), max(self.row)))

    def between(self, i: int, k: int) -> _Ratio:
        return self.tight(1)


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

    noise: _Noise

    def __init__(self, noise: _Noise, low: int | None, high: int | None) -> None:
        super().__init__(None, None)
        self.noise, self.ends = noise, (low, high)

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(self.noise.b, self.noise.edges(distance))

    def between(self, i: int, k: int) -> _Ratio:
        return self.tight(abs(i - k))


class _Clamped(_Channel):
    """Noise on 0..n; both ends take what lies beyond them."""

    noise: _Noise

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


class _Gaussian(_Channel):
    """Noise x with the weight q^(x^2), on 0..n or on an open grid; a closed end takes what lies beyond it.

    It keeps no level. By Canonne, Kamath and Steinke (The discrete Gaussian for differential privacy, 2020) it keeps
    rho = d^2 ln(1/q) between true values d steps apart, and clamping, as post-processing, no more.
    """

    def __init__(self, q: Fraction, size: int | None, ends: tuple[int | None, int | None]) -> None:
        super().__init__(size, size)
        self.q, self.ends = q, ends

    def tight(self, distance: int) -> _Ratio:
        return _Ratio(Fraction(0), exact=False)

    def between(self, i: int, k: int) -> _Ratio:
        return self.tight(abs(i - k))

    def concentration(self, distance: int) -> tuple[Fraction, int]:
        return self.q, distance**2


class _Then(_Channel):
    """A second channel that takes the reports of a first."""

    def __init__(self, first: _Channel, second: _Channel) -> None:
        super().__init__(first.rows, second.reports)
        self.first, self.second = first, second
        fits = first.reports is not None and first.reports == second.rows
        _shape(fits, "Two channels in sequence do not fit.")

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

    def concentration(self, distance: int) -> tuple[Fraction, int] | None:
        first = self.first
        return (
            self.second.concentration(first.jump(distance))
            if isinstance(first, _Map)
            else first.concentration(distance)
        )

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
    _shape(depth <= MAX_DEPTH and effort.parts <= MAX_PARTS, "The file has too many channels in sequence.")
    kind = _field(part, "kind", "channel")
    if kind == "then":
        _, first, second = _fields(part, "channel", "kind", "first", "second")
        channel: _Channel = _Then(*(_channel(other, effort, depth + 1) for other in (first, second)))
    elif kind == "mixture" and part.get("other") is not None:
        channel = _read_mixture(part, _channel(part["other"], effort, depth + 1))
    else:
        _shape(isinstance(kind, str) and kind in _READERS, "The channel is of an unknown kind.")
        channel = _READERS[kind](part)
    channel.effort = effort
    return channel


def _read_geometric(part: Any) -> _Channel:
    """Geometric noise on 0..n."""
    _, n, a = _fields(part, "channel", "kind", "n", "a")
    n, a = _integer(n, "n"), _rational(a, "a")
    _shape(n >= 1 and 0 < a < 1, "A geometric distribution needs n >= 1 and 0 < a < 1.")
    return _Geometric(n, a)


def _read_mixture(part: Any, other: _Channel | None = None) -> _Channel:
    """Kept, or drawn: uniformly, or by the channel that was read before."""
    _, size, keep, *_ = _fields(part, "channel", "kind", "size", "keep", *(("other", "ends") if other else ()))
    size, keep = _integer(size, "size"), _rational(keep, "keep")
    ends = None if part.get("ends") is None else _rational(part["ends"], "ends")
    _shape(
        size >= 2 and all(0 <= chance < 1 for chance in (keep, ends or 0)),
        "Keeping needs two values and a probability in [0, 1).",
    )
    _shape(
        other is None or (other.rows == other.reports == size and size <= MAX_ENTRIES),
        "The channel that draws what is not kept does not fit.",
    )
    return _Keep(size, keep, ends, other)


def _read_window(part: Any) -> _Channel:
    """A window around the true value."""
    _, n, width, a = _fields(part, "channel", "kind", "n", "width", "a")
    n, width, a = _integer(n, "n"), _integer(width, "width"), _rational(a, "a")
    _shape(n >= 1 and width >= 1 and 0 < a < 1, "A window needs n >= 1, width >= 1 and 0 < a < 1.")
    return _Window(n, width, a)


def _read_projective(part: Any) -> _Channel:
    """Hyperplanes of a projective space."""
    _, *numbers, recurrence, a = _fields(part, "channel", "kind", "size", "p", "m", "t", "recurrence", "a")
    (size, p, m, t), a = (_integer(number, "space") for number in numbers), _rational(a, "a")
    small = 2 <= p < MAX_POINTS and 1 <= m <= 64 and 2 <= t <= 64 and m * p ** (m * (t - 1)) < 2 * MAX_POINTS
    _shape(small, "A projective space needs a field, two dimensions and at most 2^21 points.")
    points, factors = (
        (p ** (m * t) - 1) // (p**m - 1),
        [_integer(r, "recurrence") for r in _words(recurrence, "numbers")],
    )
    fits = 2 <= size <= points < MAX_POINTS and len(factors) == m * t and all(0 <= r < p for r in factors)
    _shape(fits and 0 < a < 1, "Hyperplanes need as many points as values, m t numbers below p, and 0 < a < 1.")
    _shape(_is_primitive(p, factors), "The polynomial of the recurrence is not primitive, so it has no hyperplanes.")
    return _Projective(size, points, m, p, factors, a)


def _is_primitive(p: int, factors: list[int]) -> bool:
    """Is p^n - 1 the order of x modulo p and f = x^n + r_(n-1) x^(n-1) + ... + r_0? No ring but a field has so many units."""
    n, order = len(factors), p ** len(factors) - 1

    def times(a: list[int], b: list[int]) -> list[int]:
        """The product modulo p and f, from the lowest coefficient on."""
        product = [0] * (2 * n - 1)
        for i, x in enumerate(a):
            for k, y in enumerate(b):
                product[i + k] += x * y
        for i in range(2 * n - 2, n - 1, -1):
            for k, r in enumerate(factors):
                product[i - n + k] -= product[i] * r
        return [x % p for x in product[:n]]

    one, x = [1] + [0] * (n - 1), [0, 1] + [0] * (n - 2)

    def power(exponent: int) -> list[int]:
        """A power of x."""
        found = one
        for bit in f"{exponent:b}":
            found = times(found, found)
            found = times(found, x) if bit == "1" else found
        return found

    halves = [
        (d, part // d) for part in (p - 1, order // (p - 1)) for d in range(1, math.isqrt(part) + 1) if part % d == 0
    ]
    divisors = sorted({d for pair in halves for d in pair if d > 1})  # all primes that divide the order are among them
    primes = [d for k, d in enumerate(divisors) if all(d % smaller for smaller in divisors[:k])]
    return power(order) == one and all(power(order // r) != one for r in primes)


def _read_additive(part: Any) -> _Channel:
    """Noise on an open grid."""
    _, noise, *ends = _fields(part, "channel", "kind", "noise", "low", "high")
    _shape(
        all(end is None or (type(end) is int and end == 0) for end in ends),
        "The ends of unbounded noise are 0 or open.",
    )
    law = _noise(noise)
    return _Gaussian(law, None, (ends[0], ends[1])) if isinstance(law, Fraction) else _Additive(law, *ends)


def _read_clamped(part: Any) -> _Channel:
    """Noise on 0..n."""
    _, n, noise = _fields(part, "channel", "kind", "n", "noise")
    n = _integer(n, "n")
    _shape(n >= 1, "Clamped noise needs n >= 1.")
    law = _noise(noise)
    return _Gaussian(law, n + 1, (0, n)) if isinstance(law, Fraction) else _Clamped(n, law)


def _read_map(part: Any) -> _Channel:
    """One target for each true value."""
    _, size, targets = _fields(part, "channel", "kind", "size", "targets")
    size, targets = _integer(size, "size"), [_integer(t, "map") for t in _words(targets, "targets")]
    _shape(len(targets) > 0 and all(0 <= t < size for t in targets), "A map points outside its reports.")
    return _Map(targets, size)


def _read_table(part: Any) -> _Channel:
    """Rows of weights that sum to the total, which drawing can divide into cells."""
    _, total, rows = _fields(part, "channel", "kind", "total", "rows")
    total = _integer(total, "total")
    _shape(
        isinstance(rows, list) and len(rows) >= 2 and all(isinstance(row, str) for row in rows),
        "A table is a list of at least two rows, each a text of integers.",
    )
    width = len(rows[0].split())
    _shape(width >= 1 and len(rows) * width <= MAX_ENTRIES, "A table has from 1 to 2^20 weights.")
    weights = [[_integer(w, f"row {i}") for w in row.split()] for i, row in enumerate(rows)]
    _shape(all(len(row) == width for row in weights), "The rows of the table differ in length.")
    _need(0 < total <= MAX_TOTAL, "sum", f"The total {total} is not between 1 and 2^63.")
    for i, row in enumerate(weights):
        _shape(min(row) >= 0, f"Row {i} has a negative weight.")
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
    "projective": _read_projective,
}


def _noise(part: Any) -> _Noise | Fraction:
    """The distribution of the noise: geometric or staircase; of Gaussian noise its q."""
    family = _field(part, "family", "noise")
    _shape(family in ("geometric", "staircase", "gaussian"), "The noise is of an unknown family.")
    if family == "gaussian":
        q = _rational(_fields(part, "noise", "family", "q")[1], "q")
        _shape(0 < q < 1, "Gaussian noise needs 0 < q < 1.")
        return q
    if family == "geometric":
        _, a = _fields(part, "noise", "family", "a")
        a = _rational(a, "a")
        _shape(0 < a < 1, "Geometric noise needs 0 < a < 1.")
        return _Noise(a, 1, 1)
    _, b, D, r = _fields(part, "noise", "family", "b", "D", "r")
    b, D, r = _rational(b, "b"), _integer(D, "D"), _integer(r, "r")
    _shape(0 < b < 1 and 1 <= r <= D <= MAX_STAIR, "Staircase noise needs 0 < b < 1 and 1 <= r <= D <= 2^13.")
    return _Noise(b, D, r)


def _words(text: Any, name: str) -> list[str]:
    """The parts of a text, between spaces."""
    _shape(isinstance(text, str), f"The {name} are not a text of integers.")
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
            _shape(all(d == 1 for *_, d in self.pairs), "A certificate is not about neighbours with distances.")
            return [(i, k) for i, k, _ in self.pairs]
        return [(j, k) for j in range(size) for k in range(j + 1, min(j + self.reach, size - 1) + 1)]

    def concentration(self, channel: _Channel) -> tuple[Fraction, int] | None:
        """What a theorem says about the farthest neighbours; nothing about distances other than 1."""
        if any(d != 1 for *_, d in self.pairs):
            return None
        farthest = self.reach or max(k - i for i, k, _ in self.pairs)
        return channel.concentration(farthest if channel.rows is None else min(farthest, channel.rows - 1))

    def hold(self, channel: _Channel, alpha: Fraction) -> _Ratio:
        """Refuse what is not private at this level; the tight level, for pairs a bound of it."""
        if self.reach is not None:
            ratio = channel.tight(self.reach if channel.rows is None else min(self.reach, channel.rows - 1))
            _claim(
                _keeps(ratio, alpha, Fraction(1), channel.effort),
                f"The level alpha = {alpha} does not hold for all neighbours.",
            )
            return ratio
        channel.effort.spend(len(self.pairs) * 10**4)
        for i, k, d in self.pairs:
            _claim(
                _keeps(channel.between(i, k), alpha, d, channel.effort),
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


def _neighbours(part: Any, channel: _Channel) -> _Neighbours:
    """Those that a part of the file describes, for the true values of a channel."""
    rows = channel.rows
    low, high = channel.ends if rows is None else (0, rows - 1)
    kind = _field(part, "kind", "neighbours")
    if kind == "steps":
        reach = _integer(_fields(part, "neighbours", "kind", "steps")[1], "number of steps")
        _shape(reach >= 1, "Neighbours are less than one step apart.")
        return _Neighbours(f"true values at most {'one step' if reach == 1 else f'{reach} steps'} apart", reach)
    if kind == "any":
        _fields(part, "neighbours", "kind")
        _shape(rows is not None, "No noise hides any two values of an open grid from each other.")
        return _Neighbours("any two true values", (rows or 0) - 1)
    _shape(kind in ("pairs", "distances"), "The neighbours are of an unknown kind.")
    _need(len(str(part.get("pairs"))) < 2**24, "too large", "There are too many pairs of neighbours in the file.")
    _, text, *lengths = _fields(part, "neighbours", "kind", "pairs", *(["distances"] if kind == "distances" else []))
    ends = [_integer(j, "neighbours") for j in _words(text, "neighbours")]
    apart = (
        [_rational(d, "distances") for d in _words(lengths[0], "distances")]
        if lengths
        else [Fraction(1)] * (len(ends) // 2)
    )
    pairs = tuple(zip(ends[::2], ends[1::2], apart, strict=False))
    _shape(
        0 < 2 * len(apart) == len(ends)
        and all(i < k and (low is None or low <= i) and (high is None or k <= high) for i, k, _ in pairs)
        and [pair[:2] for pair in pairs] == sorted({pair[:2] for pair in pairs})
        and min(apart) >= 0,
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


def pays_for(rho: Fraction, epsilon: Fraction, effort: Effort) -> bool:
    """Is rho >= epsilon tanh(epsilon/2), which every mechanism of that epsilon keeps? With tanh(x/2) = (e^x - 1)/(e^x + 1)."""
    if rho >= epsilon:
        return True  # tanh is below 1
    bits = 192 + _length(epsilon) + _length(rho)
    while bits <= 2**14:
        effort.spend(0.5 * bits * _times(bits, bits))
        low, high = (epsilon * (x - 1) / (x + 1) for x in _exp_bounds(epsilon, bits))
        if rho >= high or rho < low:
            return rho >= high
        bits *= 2
    raise Fault("claim", "A charge of rho is too close to what its epsilon costs to be decided.")


def epsilon_of(rho: Fraction, delta: Fraction, effort: Effort) -> Fraction:
    """An epsilon with which every event is at most e^epsilon times as likely, plus delta, under a budget of rho; rounded up.

    For every order a > 1: a rho + (ln(1/delta) + a ln(1 - 1/a) - ln(a - 1)) / (a - 1) (Canonne, Kamath and Steinke 2020). Floats
    look for a good order; the bound holds at every one, and is computed from logarithms that are rounded to the safe side.
    """

    def about(t: float) -> float:
        """The bound at a = 1 + e^t."""
        a = 1 + math.exp(t)
        return a * float(rho) + (-math.log(delta) - a * math.log1p(math.exp(-t)) - t) * math.exp(-t)

    low, high = -30.0, 60.0
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if about(left) <= about(right) else (left, high)
    a = 1 + Fraction(math.exp(low)).limit_denominator(2**40)
    _need(a > 1, "too large", "A budget of so much rho promises nothing that this program can say.")
    bits = 256 + _length(delta)
    effort.spend(6.0 * bits * _times(bits, bits))
    failing, near = _log_bounds(1 / delta, bits)[1], _log_bounds(a / (a - 1), bits)[0]
    beyond = _log_bounds(a - 1, bits)[0] if a >= 2 else -_log_bounds(1 / (a - 1), bits)[1]
    return max(a * rho + (failing - a * near - beyond) / (a - 1), Fraction(0))


# The whole document


def verify(document: dict[str, Any], effort: Effort | None = None) -> Verified:
    """Re-derive every claim of a mechanism's document; a Fault says which one fails."""
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
    effort = Effort() if effort is None else effort
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
    grids = {name: _answers(grid, name, effort) for name, grid in (("inputs", inputs), ("outputs", outputs))}
    of_names = "names" in inputs
    _shape(not of_names or neighbours == {"kind": "any"}, "Names have no order: any two are neighbours.")
    for name, size in (("inputs", channel.rows), ("outputs", channel.reports)):
        _shape(grids[name].size == size, f"The {name} do not fit the channel.")
    if isinstance(channel, _Additive | _Gaussian) and channel.rows is None:
        ends = tuple(None if inputs.get(end) is None else 0 for end in ("low", "high"))
        _shape(
            inputs == outputs and channel.ends == ends,
            "Noise must be added on one grid and saturate where that grid ends.",
        )
    near, (alpha, asked_as) = _neighbours(neighbours, channel), _level(level, effort)
    ratio = near.hold(channel, alpha)
    tight, listed, *_ = _fields(claims, "claims", "tight", "properties", maybe=("rho",))
    rho = _rho(claims.get("rho"), near.concentration(channel), effort)
    if near.reach is None:
        _shape(tight is None, "Of pairs of neighbours no tight level is claimed.")
    else:
        told, power, exact = _fields(tight, "tight level", "alpha", "power", "exact")
        right = (_rational(told, "tight level"), _integer(power, "power")) == (ratio.alpha, ratio.power)
        _claim(right and exact is ratio.exact, "The tight level in the file is not the one its weights have.")
    same = grids["inputs"] == grids["outputs"] and grids["inputs"].size is not None  # however they are written
    same = inputs == outputs or (same and "names" not in inputs and "names" not in outputs)
    properties = channel.properties() if same else None
    if of_names and properties is not None:  # the others speak of an order
        properties = tuple(letter for letter in properties if letter in ("RH", "CH", "F", "WH"))
    if listed is not None:
        right = isinstance(listed, list) and properties is not None and sorted(map(str, listed)) == sorted(properties)
        _claim(right, "The properties in the file are not those that its weights have.")
    found = Verified(alpha, ratio.alpha, ratio.power, ratio.exact, properties, near.words, rho, epsilon=asked_as)
    proof = document.get("certificate")
    if proof is None:
        return found
    _shape(not of_names and "names" not in outputs, "A certificate is about numbers, not about names.")
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
    _shape(exact is not None and channel.rows == channel.reports, "The mechanism is too large for a certificate.")
    weights, total = exact or ([], 1)
    size = len(weights)
    loss_name, per, losses = _fields(loss, "loss", "name", "denominator", "rows")
    prior_name, law = _fields(prior, "prior", "name", "weights")
    per, losses = _integer(per, "denominator"), _numbers(losses, size, size, "loss")
    law = _numbers([law], 1, size, "prior")[0]
    _shape(
        per > 0 and min(map(min, losses)) >= 0 and min(law) >= 0 and sum(law) > 0,
        "The certificate's loss or prior has negative numbers.",
    )
    _claim(
        isinstance(require, list) and set(map(str, require)) <= set(found.properties or ()),
        "The mechanism does not have the properties that its certificate requires.",
    )
    longest = max(map(max, losses)).bit_length()
    channel.effort.spend(size * size * _times(longest, total.bit_length()))
    risks = [sum(map(int.__mul__, a, b)) for a, b in zip(losses, weights, strict=True)]
    _shape(kind in ("average", "worst", "family"), "The risk of the certificate is of an unknown kind.")
    _shape((kind == "family") == ("family" in proof), "A set of priors goes with the risk of one, and with no other.")
    family = ""
    if kind == "family":
        _claim(among is None, "The risk of a set of priors has no values that it is the worst case among.")
        highest, family = _family(
            proof["family"], law, [Fraction(x, per * total) for x in risks], grids, channel.effort
        )
        top, bottom = highest.numerator, highest.denominator
    elif kind == "worst":
        places = [_integer(j, "among") for j in _words(among, "among")]
        _shape(len(places) > 0 and all(0 <= j < size for j in places), "The values of the worst case are no values.")
        possible = set(places)
        _claim(all(w == 0 or j in possible for j, w in enumerate(law)), "The prior leaves the worst case's values.")
        top, bottom = max(risks[j] for j in places), per * total
    else:
        _claim(among is None, "An average risk has no values that it is the worst case among.")
        top, bottom = sum(map(int.__mul__, law, risks)), sum(law) * per * total
    channel.effort.spend(2 * _reducing(max(top, bottom).bit_length()))
    risk = Fraction(top, bottom)
    _claim(
        risk == _rational(objective, "objective"), "The risk in the certificate is not the one that the weights have."
    )
    own = _rational(own, "alpha")
    _shape(0 < own < 1, "The level of the certificate is not between 0 and 1.")
    _claim(own == found.alpha, "The certificate is about another level than the mechanism's.")
    bits = _integer(bits, "bits")
    _shape(0 <= bits <= WRITTEN_BITS, "The multipliers of the certificate have too many bits.")
    if isinstance(given, dict) and given.keys() == {"rows"} and near.reach is not None:
        bound = _ray_bound(given["rows"], bits, own, near.reach, set(require), law, losses, per, channel.effort)
    else:
        bound = _dual_bound(given, bits, own, near.edges(size), set(require), law, losses, per, channel.effort)
    _claim(
        bound == _rational(claimed, "bound"), "The bound in the certificate is not the one that its multipliers prove."
    )
    told = _told("loss", loss_name, _loss_fits(loss_name, losses, per, grids, channel.effort))
    under = _told("prior", prior_name, _prior_fits(prior_name, law))  # of every risk, though the worst case names none
    under = {"average": f", {under}", "family": f", the largest under {family}"}.get(kind, "")
    return (risk, bound), f"{'average' if family else kind} risk, {told}{under}", _among(own, near, require, among)


def _family(
    part: Any, law: list[int], risks: list[Fraction], grids: dict[str, _Grid], effort: Effort
) -> tuple[Fraction, str]:
    """The largest mean of these losses of the truths under a prior of a set, and the set in words; the law must lie in it."""
    kind = _field(part, "kind", "set of priors")
    _shape(kind in ("hull", "limits"), "The set of priors is of an unknown kind.")
    names = ("priors", "mixture") if kind == "hull" else ("limits", "prices", "worst")
    _, parts, proof, *told_worst = _fields(part, "set of priors", "kind", *names)
    _shape(isinstance(parts, list) and 0 < len(parts) <= MAX_PARTS, f"The {names[0]} of the set are no list.")
    longest = max(x.numerator.bit_length() + x.denominator.bit_length() for x in (*risks, *map(Fraction, law)))
    if kind == "hull":
        read = [_fields(p, "prior", "name", "weights") for p in parts]
        members = [_numbers([weights], 1, len(law), "prior")[0] for _, weights in read]
        shares = _numbers([proof], 1, len(members), "mixture")[0]
        _shape(
            min(map(min, members)) >= 0 and min(map(sum, members)) > 0 and min(shares) >= 0 and sum(shares) > 0,
            "The set of priors has negative numbers, or nothing but zeros.",
        )
        bits = sum(sum(p).bit_length() for p in members) + max(shares).bit_length() + longest
        effort.spend(4 * len(members) * len(law) * (_times(bits, bits) + _reducing(bits)))
        laws = [[Fraction(x, sum(p)) for x in p] for p in members]
        mixed = [
            sum(map(Fraction.__mul__, map(Fraction, shares), chances), Fraction(0))
            for chances in zip(*laws, strict=True)
        ]
        _claim(
            all(a * sum(law) == b * sum(shares) for a, b in zip(mixed, law, strict=True)),
            "The prior of the bound is not the mixture that the certificate says.",
        )
        told = (_told("prior", name, _prior_fits(name, p)) for (name, _), p in zip(read, members, strict=True))
        return max(sum(map(Fraction.__mul__, p, risks), Fraction(0)) for p in laws), "any mixture of: " + "; ".join(
            told
        )
    rows: list[list[Fraction]] = []  # c with c . p <= 0
    words = []
    worst = _numbers(told_worst, 1, len(law), "worst prior")[0]
    _shape(min(worst) >= 0 and sum(worst) > 0, "The worst prior of the set is no distribution.")
    longest += sum(worst).bit_length()
    for limit in parts:
        name, numbers, per, *ends = _fields(limit, "limit", "name", "coefficients", "denominator", "low", "high")
        bottom = _integer(per, "denominator")
        _shape(bottom > 0, "A limit of the priors has a denominator that is not positive.")
        values = [Fraction(x, bottom) for x in _numbers([numbers], 1, len(law), "limit")[0]]
        signed = [(sign, _rational(end, "limit")) for sign, end in zip((-1, 1), ends, strict=True) if end is not None]
        known = (*values, *(end for _, end in signed))
        bits = max(x.numerator.bit_length() + x.denominator.bit_length() for x in known)
        effort.spend(8 * len(law) * _reducing(2 * bits + longest))
        rows += [[sign * (x - end) for x in values] for sign, end in signed]
        words.append(f"{_told('limit', name, _limit_fits(name, values, grids))} in {_between(limit)}")
    _claim(
        all(sum(map(Fraction.__mul__, c, map(Fraction, p)), Fraction(0)) <= 0 for c in rows for p in (law, worst)),
        "The prior of the bound, or the worst prior, breaks the limits of the set.",
    )
    paid = [_rational(x, "price") for x in _words(proof, "prices")]
    _claim(
        len(paid) == len(rows) and min(paid, default=Fraction(0)) >= 0,
        "The prices of the limits are not one for each end, and none negative.",
    )
    bits = sum(x.denominator.bit_length() + x.numerator.bit_length() for x in paid)
    effort.spend(8 * len(law) * len(rows) * _reducing(longest + bits))
    left = (x - sum((u * c[j] for u, c in zip(paid, rows, strict=True)), Fraction(0)) for j, x in enumerate(risks))
    most, mean = max(left), sum(map(Fraction.__mul__, map(Fraction, worst), risks), Fraction(0)) / sum(worst)
    _claim(most == mean, "Under the worst prior of the set the risk is not the largest that its prices allow.")
    return most, "any prior with " + " and ".join(words)


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
    _claim(fits, "A limit of the priors is not the moment that it is called.")
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
        _claim(parameters.get(name, value) == value, f"The recipe and the certificate differ in the {name}.")


def _told(what: str, name: Any, fits: str) -> str:
    """A loss or a prior in words; a name that proves nothing is quoted, and told apart."""
    return f"{what} {name} {fits}" if fits else f"{what} given by its numbers, and called {ascii(name)[:60]}"


def _parsed(name: Any) -> tuple[str, list[Fraction]]:
    """The kind of a name such as "lp(3)" and its numbers; "" for a name that says nothing about numbers."""
    _shape(isinstance(name, str) and name.isprintable(), "A name in the certificate is not plain text.")
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
    _claim(fits, f"The loss in the certificate is not the {kind} that it is called.")
    return "(recomputed)"


def _prior_fits(name: Any, law: list[int]) -> str:
    """The same for a prior; distributions that stand in rounded numbers must be near the exact ones."""
    kind, numbers = _parsed(name)
    n, total = len(law) - 1, sum(law)
    if kind == "uniform" and not numbers:
        _claim(min(law) == max(law), "The prior in the certificate is not the uniform one that it is called.")
        return "(recomputed)"
    if kind not in ("binomial", "maximum", "minimum") or len(numbers) != 1:
        return ""
    p, q = numbers[0].numerator, numbers[0].denominator
    if kind == "binomial":
        if n * q.bit_length() > WRITTEN_BITS:
            return ""
        _claim(0 < p < q, "The prior in the certificate is called binomial with a chance outside (0, 1).")
        whole, exact = q**n, [math.comb(n, k) * p**k * (q - p) ** (n - k) for k in range(n + 1)]
    else:  # of p records that are alike between the ends: its powers, half a step around each value
        if q != 1 or p < 1 or p * (2 * n).bit_length() > WRITTEN_BITS:
            return ""
        whole, powers = (2 * n) ** p, [0, *((2 * k + 1) ** p for k in range(n)), (2 * n) ** p]
        exact = [above - below for below, above in pairwise(powers)]
        exact = exact if kind == "maximum" else exact[::-1]
    apart = sum(abs(w * whole - total * x) for w, x in zip(law, exact, strict=True))
    _claim(apart * 10**9 <= 2 * total * whole, f"The prior in the certificate is not the {kind} one that it is called.")
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
    _shape(
        isinstance(given, dict) and {"rows", "level"} <= given.keys() <= allowed - {"S"},
        "The certificate has multipliers for what was not required.",
    )
    told = {kind: _numbers(lines, *shapes[kind], kind) for kind, lines in given.items()}
    signed = all(
        min(map(min, lines), default=0) >= 0 for kind, lines in told.items() if kind not in ("rows", "F") and lines
    )
    _claim(signed, "A multiplier of an inequality is negative.")
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
        _claim(
            _cheapest_ray(prices, reach, alpha) >= 0,
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
    _shape(
        isinstance(lines, list) and len(lines) == rows and all(isinstance(line, str) for line in lines),
        f"The {where} of the certificate are not {rows} lines of integers.",
    )
    numbers = [[_integer(x, where) for x in line.split()] for line in lines]
    _shape(all(len(line) == columns for line in numbers), f"A line of the certificate's {where} has the wrong length.")
    return numbers


def _recipe(recipe: Any, depth: int = 0) -> None:
    """How it was made: plain texts for people, a distance between 0 and 1, and what it was made from."""
    _shape(depth <= MAX_DEPTH, "The recipe nests too deeply.")
    family, parameters, citation, distance, of = _fields(
        recipe, "recipe", "family", "parameters", "citation", "distance", "of"
    )
    _shape(isinstance(parameters, dict), "The recipe's parameters are not named texts.")
    texts = [family, citation, *parameters.keys(), *parameters.values()]
    _shape(
        all(isinstance(text, str) and text.isprintable() for text in texts),
        "The recipe holds something other than plain text.",
    )
    _shape(isinstance(distance, float) and 0 <= distance <= 1, "The recipe's distance is not between 0 and 1.")
    if of is not None:
        _recipe(of, depth + 1)


def _level(level: Any, effort: Effort) -> tuple[Fraction, str]:
    """The claimed alpha, and the epsilon that was asked for in words, after comparing the two."""
    alpha, epsilon = _fields(level, "level", "alpha", "epsilon")
    alpha = _rational(alpha, "alpha")
    _claim(0 <= alpha <= 1, f"alpha = {alpha} is not between 0 and 1.")
    if epsilon is None:
        return Fraction(alpha), ""
    factor, base = _fields(epsilon, "epsilon", "factor", "base")
    factor, base = _rational(factor, "epsilon"), None if base is None else _rational(base, "epsilon")
    _shape(factor > 0 and (base is None or base > 1), "The epsilon in the file is not positive.")
    _claim(grants(alpha, factor, base, effort), f"alpha = {alpha} is weaker than the epsilon in the file.")
    return Fraction(alpha), str(factor) if base is None else f"{factor} ln({base})"


def _rho(claimed: Any, kept: tuple[Fraction, int] | None, effort: Effort) -> Fraction | None:
    """The claimed rho, after comparing q^p with e^-rho; claimed of Gaussian noise and of nothing else."""
    _shape((claimed is None) == (kept is None), "A rho is claimed of Gaussian noise, and of nothing else.")
    if kept is None:
        return None
    rho, (q, power) = _rational(claimed, "rho"), kept
    right = rho >= 0 and (power == 0 or (rho > 0 and grants(q, rho / power, None, effort)))
    _claim(right, f"rho = {rho} is less than the noise in the file gives away.")
    return rho


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
    _shape(width > 0, f"The step of the {name} is not positive.")
    ends = [None if end is None else _rational(end, f"end of the {name}") for end in (low, high)]
    if ends[0] is None or ends[1] is None:
        return _Grid(ends[0] or ends[1] or Fraction(0), width, None)
    steps = (ends[1] - ends[0]) / width
    _shape(steps.denominator == 1 and steps >= 1, f"The {name} are not a grid.")
    return _Grid(ends[0], width, int(steps) + 1)


def _answers(part: Any, name: str, effort: Effort) -> _Grid:
    """A grid, or names: texts, each once, of which one may be for all other answers."""
    if not isinstance(part, dict) or "names" not in part:
        return _grid(part, name)
    names, other = _fields(part, name, "names", "other")
    right = isinstance(names, list) and 1 < len(names) <= MAX_ENTRIES and all(isinstance(text, str) for text in names)
    right = right and (other is None or (isinstance(other, str) and other in names))
    _shape(right, f"The {name} are no names, each once.")
    right = all(t == t.strip() and len(t) <= MAX_NAME and not _UNFIT.search(t) for t in names)
    effort.spend(sum(2 * len(t) ** 2 for t in names if right and not t.isascii()))  # accents are sorted, one by one
    alike = {" ".join(unicodedata.normalize("NFC", _UNSEEN.sub("", text)).split()) for text in names if right}
    right = len(alike) == len(names) and "" not in alike
    _shape(right, f"The {name} are no names, each once, that can be told apart and written in one line.")
    return _Grid(Fraction(0), Fraction(1), len(names))


# Verdicts on ledgers and releases: what holds, what does not, and what nobody can check from these files


@dataclass(frozen=True)
class Finding:
    """One matter: `held` is None where it could not be checked. `words` say what was found, or what is wrong."""

    held: bool | None
    words: str


@dataclass(frozen=True)
class Verdict:
    """All matters of one file, and in `beyond` what this program leaves to others."""

    title: str
    findings: tuple[Finding, ...]
    beyond: tuple[str, ...] = ()
    unopened: bool = False  # of a release beside a ledger: was the commitment to its reports not opened?

    @property
    def holds(self) -> bool:
        """Was every matter checked, and did it hold?"""
        return all(finding.held for finding in self.findings)


_BROKEN = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, csv.Error)


def _judged(check: Callable[[], str]) -> Finding:
    """One matter; whatever is so misshapen that its check fails does not hold."""
    try:
        return Finding(True, check())
    except Fault as fault:
        return Finding(None if fault.kind in ("unknown", "too large") else False, str(fault))
    except _BROKEN as error:
        return Finding(False, f"A part of the file is missing or of another kind ({type(error).__name__}).")


def _unknown(condition: bool, message: str) -> None:
    """Nothing is concluded from what this program does not know."""
    _need(condition, "unknown", message)


def _known(holder: Any, where: str, *names: str, maybe: tuple[str, ...] = ()) -> list[Any]:
    """The parts with these names. With another one the others may mean something else: then nothing is concluded from them."""
    found = [_field(holder, name, where) for name in names]
    other = next((key for key in holder if key not in names and key not in maybe), None)
    _unknown(
        other is None,
        f"The {where} has {_named(other)}, which this program does not know. Get the verify.py of the version that wrote it.",
    )
    return found


def _named(value: Any) -> str:
    """Something that a file says, quoted: nothing in it steers a terminal, and it is cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _list(value: Any, where: str) -> list[Any]:
    """A list of anything."""
    _shape(isinstance(value, list), f"The {where} are not a list.")
    return list(value)


def _text(value: Any, where: str) -> str:
    """A text."""
    _shape(isinstance(value, str), f"The {where} is not a text.")
    return str(value)


def _whole(value: Any, where: str, least: int = 0) -> int:
    """A whole number that is written as one."""
    _shape(type(value) is int and value >= least, f"The {where} is not a whole number from {least} on.")
    return int(value)


def _amount(value: Any, where: str, bits: int = AMOUNT_BITS) -> Fraction:
    """A rational that is not negative, of a length that is added up quickly."""
    amount = _rational(value, where)
    _shape(amount >= 0, f"The {where} is negative.")
    _need(_length(amount) <= bits, "too large", f"The {where} is a number of more than {bits} bits.")
    return amount


def _length(x: Fraction) -> int:
    """The bits of the longer part of a rational."""
    return max(x.numerator.bit_length(), x.denominator.bit_length())


def _same(found: Any, must: Any, words: str) -> None:
    """Two values that must be the same, of one kind too: 1, 1.0 and true are three."""
    _claim(json.dumps(found, sort_keys=True) == json.dumps(must, sort_keys=True), words)


# An exported ledger


class _Spent:
    """Sums of charges: a charge without a part counts for every part, and the largest sum of a part is what is spent.

    A version that corrects another may move people from part to part: from its line on every charge counts for every part."""

    def __init__(self) -> None:
        self.every = Fraction(0)
        self.parts: dict[str, Fraction] = {}

    def add(self, cost: Fraction, part: str | None, corrected: bool) -> Fraction:
        """One more charge; what is spent then."""
        if part is None or corrected:
            self.every += cost
        else:
            self.parts[part] = self.parts.get(part, Fraction(0)) + cost
        return self.of(None)

    def of(self, part: str | None) -> Fraction:
        """What counts for a part, or else for the one that has spent most."""
        most = max(self.parts.values(), default=Fraction(0))
        return self.every + (most if part is None else self.parts.get(part, Fraction(0)))


class History:
    """The lines of a data set, added one after the other; whatever does not follow from those before is refused."""

    def __init__(self, name: str) -> None:
        self.name, self.previous, self.before = name, bytes(32), ""
        self.terms: dict[str, Any] = {}
        self.budget, self.spent = Fraction(0), Fraction(0)
        self.delta: Fraction | None = None  # of concentrated terms: then budget and charges are rho
        self.effort = Effort()
        self.caps: dict[str, Fraction] = {}
        self.ever, self.corrected, self.parts_as = _Spent(), False, None
        self.in_period: dict[tuple[str, str], _Spent] = {}
        self.lines: list[dict[str, Any]] = []
        self.links: list[str] = []
        self.sums: list[Fraction] = []  # spent after each line
        self.charges: dict[int, Fraction] = {}
        self.stated: dict[int, Fraction] = {}
        self.answers: dict[int, int] = {}  # the line of the answer of each charge
        self.opened: dict[int, str] = {}  # the salts of published answers, by the line of the charge

    def add(self, line: Any) -> None:
        """One more line: first its hash, then what it says."""
        number = len(self.lines) + 1
        facts, link = _fields(line, f"line {number}", "entry", "hash", maybe=("what", "salt"))
        _shape(isinstance(facts, dict), f"Line {number} has no content.")
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
        hashed = hashlib.sha256(self.previous + text.encode("ascii"))
        _need(
            link == hashed.hexdigest(),
            "digest",
            f"Line {number} was changed, or one before it was changed or left out: its hash does not follow.",
        )
        self.previous = hashed.digest()
        kind, when = _field(facts, "kind", f"line {number}"), _field(facts, "when", f"line {number}")
        _claim(_field(facts, "number", f"line {number}") == number, f"Line {number} has another number.")
        _shape(
            isinstance(when, str) and _TIME.fullmatch(when) is not None and 1 <= int(when[5:7]) <= 12,
            f"Line {number} has no time.",
        )
        _claim(when >= self.before, f"Line {number} is dated before the line that it follows.")
        self.before = when
        _unknown(isinstance(kind, str) and kind in _LINES, f"Line {number} is of an unknown kind.")
        _claim((kind == "create") is (number == 1), f"Line {number} is in the wrong place: terms come first, and once.")
        required, maybe = _LINES[kind]
        values = dict(facts)
        _known(values, f"line {number}", "kind", "number", "when", *required.split(), maybe=tuple(maybe.split()))
        if "what" in line:
            words = facts.get("words")
            _claim(_opens(line.get("salt"), line["what"], words), f"The words of line {number} are others.")
        getattr(self, f"_{kind}")(number, values, line)
        self.lines.append(values)
        self.links.append(link)
        self.sums.append(self.spent)

    def _create(self, number: int, facts: dict[str, Any], line: dict[str, Any]) -> None:
        """The terms, fixed once."""
        _claim(facts["name"] == self.name, f"Line {number} has the terms of another data set.")
        _need(type(facts["version"]) is int and facts["version"] == VERSION, "version", "It is of another version.")
        _shape(facts["relation"] in ("change-one", "add-remove"), f"Line {number} has an unknown relation.")
        self.budget = _amount(facts["budget"], "budget", CHARGE_BITS)
        caps = facts.get("per", {})
        _shape(isinstance(caps, dict) and set(caps) <= set(_MONTHS), f"Line {number} has unreadable caps.")
        self.caps = {kind: _amount(cap, "cap", CHARGE_BITS) for kind, cap in caps.items()}
        parts, public = facts.get("parts", ""), _list(facts["public"], "public columns")
        _shape(
            isinstance(parts, str) and all(isinstance(x, str) for x in public), f"Line {number} has unreadable columns."
        )
        _claim(
            not parts or facts["relation"] == "add-remove" or parts.lower() in [x.lower() for x in public],
            f"Line {number} declares parts by a column that is not public, and one person may change it.",
        )
        self.delta = _amount(facts["delta"], "delta", CHARGE_BITS) if "delta" in facts else None
        _claim(self.delta is None or 0 < self.delta < 1, f"Line {number} has a delta that is not between 0 and 1.")
        self.terms = facts

    def _cost(self, number: int, facts: dict[str, Any]) -> Fraction:
        """What a line charges: an epsilon, or under concentrated terms a rho, which is enough for an epsilon beside it."""
        amounts: dict[str, Fraction] = {
            x: _amount(facts[x], f"charge of line {number}", CHARGE_BITS) for x in ("epsilon", "rho") if x in facts
        }
        _claim(all(x > 0 for x in amounts.values()), f"Line {number} charges nothing.")
        measure = "epsilon" if self.delta is None else "rho"
        _shape(measure in amounts, f"Line {number} charges no {measure}.")
        _claim(
            self.delta is not None or "rho" not in amounts, f"Line {number} charges rho, and the budget is of epsilon."
        )
        if self.delta is not None and "epsilon" in amounts:
            enough = pays_for(amounts["rho"], amounts["epsilon"], self.effort)
            _claim(enough, f"Line {number} charges less rho than epsilon tanh(epsilon/2).")
        return amounts[measure]

    def _charge(self, number: int, facts: dict[str, Any], line: dict[str, Any]) -> None:
        """What was spent, within the budget and the caps of the periods of its time (UTC)."""
        cost = self._cost(number, facts)
        part = facts.get("part")
        right = part is None or (isinstance(part, str) and part != "" and "parts" in self.terms)
        _claim(right, f"Line {number} charges for a part that the data set does not have.")
        self._read_as(number, facts)
        file = facts.get("admission")
        known = type(file) is int and 0 < file < number and self.lines[file - 1]["kind"] == "admitted"
        _claim(file is None or known, f"Line {number} is of a file that no line admitted.")
        self.spent = self.ever.add(cost, part, self.corrected)
        _need(_length(self.spent) <= AMOUNT_BITS, "too large", f"The sum after line {number} is too long a number.")
        _claim(self.spent <= self.budget, f"Line {number} charges more than the budget had left.")
        for kind, cap in self.caps.items():
            period = kind, _period(kind, self.before)
            spent = self.in_period.setdefault(period, _Spent()).add(cost, part, self.corrected)
            _claim(spent <= cap, f"Line {number} charges more than the {kind} {period[1]} had left.")
        self.charges[number] = cost
        if facts.get("basis") == "stated, unverified":
            self.stated[number] = cost

    def _read_as(self, number: int, facts: dict[str, Any]) -> None:
        """How the column of parts is read: as it was first, unless people may have moved between parts anyway."""
        told = facts.get("parts_as")
        _shape(told is None or ("parts" in self.terms and isinstance(told, dict)), f"Line {number} reads no parts.")
        self.parts_as = told if self.parts_as is None else self.parts_as
        right = told is None or self.corrected or told == self.parts_as
        _claim(right, f"Line {number} reads the column of parts in another way than the first line that did.")

    def _answer(self, number: int, facts: dict[str, Any], line: dict[str, Any]) -> None:
        """A charge has one answer at most."""
        charge = facts["charge"]
        waiting = type(charge) is int and charge in self.charges and charge not in self.stated
        _claim(waiting and charge not in self.answers, f"Line {number} answers no charge that waited for an answer.")
        self.answers[charge] = number
        if "salt" in line:
            self.opened[charge] = _text(line["salt"], f"salt of line {number}")

    def _admitted(self, number: int, facts: dict[str, Any], line: dict[str, Any]) -> None:
        """A version of the data: nothing of it is known here but whether it corrects another."""
        _claim(
            facts.get("correction", True) is True, f"Line {number} says neither that it is a correction nor that not."
        )
        self.corrected = self.corrected or "correction" in facts
        self._read_as(number, facts)

    def sums_of(self, part: str | None) -> list[Fraction]:
        """What counted as spent after each line, of a part; of none, in the one that had spent most."""
        if part is None:
            return self.sums
        again, corrected, found = _Spent(), False, list[Fraction]()
        for number, facts in enumerate(self.lines, 1):
            corrected = corrected or "correction" in facts
            if number in self.charges:
                again.add(self.charges[number], facts.get("part"), corrected)
            found.append(again.of(None if corrected else part))
        return found

    def has(self, count: Any, link: Any) -> bool:
        """Was this the end of the history once?"""
        return type(count) is int and 0 < count <= len(self.links) and self.links[count - 1] == link


# What the lines of each kind must have besides kind, number and time, and what they may have.
_LINES = {
    "create": ("name budget relation public unit version salt", "per parts delta"),
    "admitted": ("fingerprint commitment", "correction parts_as"),
    "charge": ("question", "epsilon rho fingerprint admission words basis part parts_as"),
    "answer": ("charge commitment", ""),
}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def _period(kind: str, when: str) -> str:
    """The period that a time lies in: 2026, 2026-Q4 or 2026-11."""
    return {"year": when[:4], "quarter": f"{when[:4]}-Q{(int(when[5:7]) + 2) // 3}", "month": when[:7]}[kind]


def _opens(salt: Any, text: Any, commitment: Any) -> bool:
    """Is the commitment SHA-256(salt || text)?"""
    try:
        return bool(hashlib.sha256(bytes.fromhex(salt) + text.encode()).hexdigest() == commitment)
    except (TypeError, ValueError, AttributeError):
        return False


def history(document: Any) -> History:
    """The lines of an exported ledger, each of which follows from those before."""
    _, version, name, head, entries = _fields(document, "ledger", "format", "version", "name", "head", "entries")
    _need(
        type(version) is int and version == VERSION,
        "version",
        f"The ledger has version {_named(version)}; this program reads version {VERSION}.",
    )
    found = History(_text(name, "name of the data set"))
    for line in _list(entries, "lines of the ledger"):
        found.add(line)
    _shape(len(found.lines) > 0, "The ledger has no lines.")
    count, link = _fields(head, "head", "count", "hash")
    _claim(
        count == len(found.lines) and found.has(count, link),
        f"The head of the ledger is at line {_named(count)}, but the last of its lines is {len(found.lines)}.",
    )
    return found


def check_ledger(document: Any, head: str | None = None) -> tuple[Verdict, History | None]:
    """A verdict on an exported ledger; with a head that was kept elsewhere (count:hash) also that nothing was rewritten."""
    found: list[History] = []

    def lines() -> str:
        """The chain, and all that follows from line to line."""
        found.append(history(document))
        return f"{_counted(len(found[0].lines), 'line')}, each with the hash that follows from the one before it"

    findings = [_judged(lines)]
    if not found:
        return Verdict("a ledger", tuple(findings), _BEYOND_LEDGER), None
    told = found[0]
    stated = f", of which {_short_text(sum(told.stated.values(), Fraction(0)))} was stated and drawn elsewhere"
    waiting = len(told.charges) - len(told.stated) - len(told.answers)
    column, several = told.terms.get("parts"), len(told.ever.parts)
    divided, beyond = "", list(_BEYOND_LEDGER)
    if column is not None:
        divided = (
            f"; each part by {_named(column)} has this budget, {several} were charged alone, and the largest sum counts"
        )
        beyond.append(f"that nobody is in two parts by {_named(column)}, from version to version too, which is stated")
    charges = _counted(len(told.charges), "charge") + (stated if told.stated else "")
    rho = "" if told.delta is None else "rho "
    spent = f"{rho}{_short_text(told.spent)} of {_short_text(told.budget)} is spent"
    findings.append(Finding(True, f"{spent}, in {charges}; {waiting} without an answer{divided}"))
    caps = ", ".join(f"{_short_text(cap)} a {kind}" for kind, cap in told.caps.items())
    findings.append(Finding(True, f"no charge went beyond the budget{f' or the caps: at most {caps}' if caps else ''}"))
    if told.delta is not None:
        findings.append(_judged(lambda: _promised(told)))
    if head is not None:
        findings.append(_judged(lambda: _kept_head(told, head)))
        after = f"whether lines after line {head.partition(':')[0]}, whose head was kept, were rewritten or removed"
        beyond[0] = after if findings[-1].held else beyond[0]
    return Verdict(f"the ledger of {_named(told.name)}", tuple(findings), tuple(beyond)), told


def _promised(told: History) -> str:
    """What the whole of a concentrated budget is worth."""
    assert told.delta is not None
    epsilon = Fraction(math.ceil(epsilon_of(told.budget, told.delta, told.effort) * 10**6), 10**6)
    return (
        f"under a budget of rho {_short_text(told.budget)} every event is at most e^{_shown(epsilon, ROUND_CEILING)} times as "
        f"likely if one person is changed, plus {_shown(told.delta, ROUND_CEILING)}"
    )


def _kept_head(told: History, head: str) -> str:
    """A head that was printed or published before: nothing up to there was cut off or written anew."""
    count, _, link = head.partition(":")
    _shape(_INTEGER.fullmatch(count) is not None, "A head is written as count:hash.")
    wrong = f"The head {_named(head)} was never the end of this history: lines were cut off or written anew."
    _claim(told.has(int(count), link), wrong)
    return f"the head that was kept, of line {count}, is in this history"


_BEYOND_LEDGER = (
    "whether the ledger was rewritten or its end removed: compare its head with one that was published before",
    "that everything that was published was charged, and that no other ledger has the same people",
    "what was stated and drawn elsewhere, which the ledger believes",
)


def _counted(count: int, what: str) -> str:
    """How many, in words."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _short_text(x: Fraction) -> str:
    """An amount for people."""
    return str(x) if x.denominator < 10**6 else f"about {_shown(x)}"


# The record of a release


@dataclass(frozen=True)
class _Statistic:
    """What was asked of each group, as its record says, and what one person can change."""

    name: str
    kind: str
    weight: Fraction
    share: Fraction  # what each report costs: an epsilon, or a rho
    alpha: Fraction
    change: int
    pair: bool
    grid: tuple[Fraction, Fraction, Fraction] | None
    origin: Fraction  # what a person's value counts from
    told: dict[str, Any]  # the same as it stands in the record

    @property
    def is_out(self) -> bool:
        """Is whoever has no value left out?"""
        return bool(self.told["missing"] == "out")

    @property
    def parts(self) -> tuple[str, ...]:
        """The numbers that are drawn of a group: a mean or share of an unknown number of people has two."""
        return ("u", "v") if self.pair else ("",)

    def ratio(self, u: Fraction, v: Fraction) -> Fraction:
        """The mean of people who have u steps above the lower bound in all, and lack v to the upper one."""
        low, high = (Fraction(0), Fraction(1)) if self.grid is None else self.grid[:2]
        return low + (high - low) * (u / (u + v) if u + v else 0)

    def is_near(self, found: Fraction, must: Fraction) -> bool:
        """Nine digits of what a mean can be."""
        scale = Fraction(1) if self.grid is None else max(map(abs, self.grid[:2]))
        return abs(found - must) <= scale / 10**9

    def of_one(self, total: Fraction, size: int) -> Fraction | None:
        """A total as it is; of a mean or share what it is per person, where there is any."""
        if self.kind not in ("mean", "share"):
            return total
        return total / size if size > 0 else None


@dataclass(frozen=True)
class _Drawn:
    """The mechanism of groups of one size: its channel and digest; no channel for an empty public group, which has no noise."""

    family: str
    channel: _Channel | None
    digest: str
    level: Fraction | None = None


Plans = dict[tuple[str, str], dict[int, _Drawn]]  # by the name of a statistic, part and size of the group


class Release:
    """A record with the files beside it. Each check says what it found, or raises the Fault that it met."""

    def __init__(self, document: Any, path: str) -> None:
        self.document, self.path, self.effort = document, path, Effort()
        self.record = _field(document, "record", "file")

    # What stands in the record

    def field(self, name: str) -> Any:
        """One field of the record."""
        return _field(self.record, name, "record")

    def amount(self, name: str) -> Fraction:
        """An amount among the fields of the record."""
        return _amount(self.field(name), name)

    @property
    def is_rho(self) -> bool:
        """Was it paid for in rho, and not at a level?"""
        return self.field("alpha") is None

    @property
    def spent(self) -> str:
        """What was paid: epsilon, or rho."""
        return "rho" if self.is_rho else "epsilon"

    @cached_property
    def question(self) -> dict[str, Any]:
        """What was asked. A question with parts that this program does not know may be charged in another way."""
        question = self.field("question")
        _known(question, "question", *_QUESTION.split())
        _need(
            (question["format"], question["version"]) == ("discreet-question", 1), "version", "It is another question."
        )
        return dict(question)

    @cached_property
    def cells(self) -> list[list[Any]]:
        """The keys of the groups in their order, the pooled one at the end."""
        keys, by = _list(_field(self.question["domain"], "keys", "domain"), "keys"), self.by
        _shape(all(isinstance(key, list) and len(key) == len(by) for key in keys), "The keys do not fit.")
        return [*keys, *([["(other)"] * len(by)] if self.question["pool_other"] is True else [])]

    @cached_property
    def by(self) -> list[str]:
        """The columns to group by."""
        by = [_text(name, "column") for name in _list(self.question["by"], "columns")]
        _same(self.field("by"), by, "The record is by other columns than its question.")
        return by

    @cached_property
    def contribution(self) -> int:
        """How many of what is counted one unit adds at most: rows or ids, or itself in so many groups."""
        most, rows = _whole(self.question["max_groups"], "max_groups", 1), self.question["max_rows"]
        _claim(self.field("unit") is not None or most == 1, "Without an id column nobody is in several groups.")
        by_unit = _text(self.question["counted"], "counted") == "units"
        _claim(
            by_unit is (rows is None), "It is not said how many rows of a unit are counted, or it is where units are."
        )
        if rows is not None:
            _claim(self.field("unit") is not None and most == 1, "Rows of units are counted, in all groups together.")
            most = _whole(rows, "max_rows", 1)
        _same(self.field("contribution"), most, f"One unit adds at most {most} to what is counted, by the question.")
        _same(self.field("counted"), self.counted, "The record counts something else than its question.")
        return most

    @cached_property
    def counted(self) -> str:
        """What is counted, in the words of a record."""
        unit, counted = self.field("unit"), _text(self.question["counted"], "counted")
        if counted in ("units", "rows"):
            return "people" if unit is None else f"units of {unit}" if counted == "units" else counted
        return f"distinct values of {counted}"

    def _in_words(self, what: str, of_values: bool) -> str:
        """What the record says of a statistic that the question declares so: where there is a unit, what is counted, too."""
        if self.field("unit") is None:
            return "people" if what == "*" else what
        if of_values:
            return f"{what} over {self.counted}"
        return self.counted if what == "*" else f"{self.counted} with {what}"

    @property
    def has_tables(self) -> bool:
        """Are counts drawn by mechanisms with ends? Then nothing is added up of them."""
        return self.question["mechanism"] not in ("auto", "geometric", "gaussian")

    @cached_property
    def changes_one(self) -> bool:
        """Are groups and their sizes public?"""
        relation = self.field("relation")
        _shape(relation in ("change-one", "add-remove"), "The relation is unknown.")
        return bool(relation == "change-one")

    @cached_property
    def tiers(self) -> list[tuple[list[str], Fraction]]:
        """The totals that were measured too, by their columns, with their parts of epsilon."""
        tiers = [_known(tier, "tier", "by", "part") for tier in _list(self.question["measure_totals"], "tiers")]
        return [([_text(c, "column") for c in by], _amount(part, "part of a tier")) for by, part in tiers]

    @cached_property
    def cells_part(self) -> Fraction:
        """What measured totals leave of epsilon for the cells."""
        return 1 - _sum(part for _, part in self.tiers)

    @cached_property
    def statistics(self) -> list[_Statistic]:
        """All that was asked of each group; what one person changes is computed anew."""
        asked, told = _list(self.question["statistics"], "statistics"), _list(self.field("statistics"), "statistics")
        _claim(0 < len(asked) == len(told) <= MAX_PARTS, "The record has other statistics than its question.")
        return [self._statistic(one, other) for one, other in zip(asked, told, strict=True)]

    def _statistic(self, asked: Any, told: Any) -> _Statistic:
        """One of them, by the question and by the record."""
        name, kind, what, weight = _known(asked, "statistic", "name", "kind", "what", "weight")
        _known(told, "statistic", *_STATISTIC.split())
        _same([told["name"], told["kind"], told["part"]], [name, kind, weight], "The record has other statistics.")
        _unknown(kind in ("count", "sum", "mean", "share"), f"A statistic of the kind {_named(kind)} is unknown.")
        ends, grid = [told[end] for end in ("low", "high", "step")], None
        if kind in ("sum", "mean"):
            low, high, step = (_rational(end, "bound of a sum") for end in ends)
            _shape(low < high and step > 0 and max(map(_length, (low, high, step))) <= CHARGE_BITS, "Odd bounds.")
            grid = low, high, step
        right = what in _declared(told, grid) and told["what"] == self._in_words(what, grid is not None)
        _claim(right, f"{_named(name)}: the record has other bounds or conditions than its question.")
        pair = _is_pair(told, self.changes_one)
        change, origin = _change(told, grid, self.changes_one, pair)
        _claim(told["pair"] is pair, f"{_named(name)}: it is drawn as two numbers, or as one, where it should not.")
        _same(told["change"], change, f"{_named(name)}: one person can change it by {change} steps, as declared.")
        spent, other = ("rho", "epsilon") if self.is_rho else ("epsilon", "rho")
        _claim(told[other] is None, f"{_named(name)}: it costs both an epsilon and a rho.")
        _claim(not self.is_rho or told["alpha"] is None, f"{_named(name)}: what is drawn for a rho has no level.")
        alpha = Fraction(0) if self.is_rho else _amount(told["alpha"], "alpha")
        share = _amount(told[spent], spent)
        return _Statistic(
            _text(name, "name"), kind, _amount(weight, "weight"), share, alpha, change, pair, grid, origin, told
        )

    @cached_property
    def sizes(self) -> list[int]:
        """The public sizes of the groups; -1 where they are private."""
        sizes = [_whole(size, "size", -1) for size in _list(_field(self.field("answer"), "sizes", "answer"), "sizes")]
        fits = all((size >= 0) is self.changes_one for size in sizes)
        _claim(fits and len(sizes) == len(self.cells), "The sizes of the groups do not fit the question.")
        return sizes

    @cached_property
    def plans(self) -> Plans:
        """The mechanisms of the cells, by statistic, part and size of the group; each proved to hold its level."""
        return self._proved(self.field("answer"), self.sizes, self.cells_part, self._moves(None))

    @cached_property
    def reports(self) -> dict[tuple[str, str], list[Fraction]]:
        """The reports of each number that was drawn, one for each group."""
        answer = self.field("answer")
        rows, names = _list(_field(answer, "reports", "answer"), "reports"), list(self.plans)
        fits = len(rows) == len(names) and all(isinstance(row, list) and len(row) == len(self.cells) for row in rows)
        _claim(fits, "There are more or fewer reports than groups.")
        _shape(all(type(x) in (int, float) for row in rows for x in row), "A report is no number.")
        return {name: [Fraction(x) for x in row] for name, row in zip(names, rows, strict=True)}

    # The checks

    def whole(self) -> str:
        """The record's own digest."""
        _fields(self.document, "file", "record", "margins", "digest")
        body = {key: value for key, value in self.document.items() if key != "digest"}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
        right = self.document["digest"] == "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        _need(right, "digest", "The record was changed after it was written: its digest does not fit its content.")
        _need(self.field("format") == "discreet-release", "format", "It is no record of a release.")
        version = self.field("format_version")
        _need(type(version) is int and version == VERSION, "version", "The record is of another version.")
        _known(self.record, "record", *_RECORD.split())
        return "the record has the digest of its content"

    def files(self) -> str:
        """The digests of the files beside it."""
        listed = self.field("files")
        _shape(isinstance(listed, dict) and len(listed) > 0, "The record lists no files.")
        stem = self.rows_file[: -len(".csv")]
        right = {self.rows_file, f"{stem}.html"} <= listed.keys()
        right = right and all(
            name.startswith(f"{stem}-by-") for name in listed.keys() - {self.rows_file, f"{stem}.html"}
        )
        _claim(right, f"The record does not list {_named(self.rows_file)}, its totals and its page, and nothing else.")
        for name, must in listed.items():
            right = "sha256:" + hashlib.sha256(self.beside(name)).hexdigest() == must
            _need(right, "digest", f"{_named(name)} was changed after it was written: its digest is not the record's.")
        return f"{_counted(len(listed), 'file')} beside it with the digests that it lists"

    @property
    def rows_file(self) -> str:
        """The name of the CSV with the rows."""
        return os.path.splitext(os.path.basename(self.path))[0] + ".csv"

    def beside(self, name: Any) -> bytes:
        """The content of a file beside the record, and of no other."""
        plain = isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")
        _claim(plain, "The record lists a file that does not lie beside it.")
        place = os.path.join(os.path.dirname(self.path), name)
        _need(os.path.isfile(place), "missing", f"{_named(name)} is missing: put it beside the record.")
        return _bytes(place)

    def charge(self) -> str:
        """The parts of epsilon add up to what was charged, and the levels are worth it."""
        _claim(_sum(s.weight for s in self.statistics) == 1, "The parts of the statistics do not add up to 1.")
        _claim(0 < self.cells_part <= 1, "The measured totals leave nothing to the groups.")
        if self.is_rho:
            return self._charge_of_rho()
        charge, alpha, most = self.amount("epsilon_charged"), self.amount("alpha"), self.contribution
        _claim(0 < alpha < 1 and self.field("rho") is None, "alpha is not between 0 and 1, or it was asked for a rho.")
        for s in self.statistics:
            must = charge * s.weight * self.cells_part / most
            _claim(s.share == must, f"{_named(s.name)} costs {must} of {charge}, not {s.share}.")
            worth = s.alpha < 1 and (charge == 0 or self._worth(s.alpha, must))
            _claim(worth, f"{_named(s.name)}: alpha {s.alpha} is not what epsilon {must} pays for.")
        self._each_report()
        draws = any(self.sizes)  # empty public groups are free
        _claim(draws is (charge > 0), "Empty public groups, and nothing else, are free of charge.")
        _claim(not draws or self._worth(alpha, charge), f"alpha {alpha} is not what epsilon {charge} pays for.")
        whole, spent, left = (self._of_budget(x) for x in ("budget", "spent", "left"))
        _claim(self._taken(charge) <= spent <= whole and left == whole - spent, "The budget does not add up.")
        audience, several = self.field("audience"), _list(self.field("audiences"), "audiences")
        _claim((audience is None) is (not several), "A release for audiences says for which one, and no other does.")
        if audience is not None:
            _, own, paid, charged = _known(audience, "audience", "name", "alpha", "epsilon", "charged")
            levels = [_amount(x, "alpha of an audience") for x in several]
            _claim(levels == sorted({*levels}), "The levels of the audiences are not in order.")
            right = _amount(own, "alpha") == alpha and alpha in levels and _amount(paid, "epsilon") == charge
            _claim(right, "The audience has another level than the record.")
            all_of_it = _amount(charged, "charge")
            _claim(
                charge <= all_of_it and (not draws or self._worth(min(levels), all_of_it)),
                "What was charged for all audiences is not what the most accurate of them costs.",
            )
            return f"this audience's reports cost {charge}; {all_of_it} was charged once for all audiences"
        times = f", for each of up to {most} that a unit adds" if most > 1 else ""
        return f"the parts of all statistics add up to the {charge} that was charged{times}, and alpha >= e^-({charge})"

    def _each_report(self) -> None:
        """The fields of the record that say the same of each report, where all are alike."""
        found: list[set[str | None]] = [set(), set(), set()]
        for s in self.statistics:
            own = (None, None, str(s.share)) if self.is_rho else (str(s.share), str(s.alpha), None)
            for values, value in zip(found, own, strict=True):
                values.add(value)
        told = [self.field(f"{name}_each_report") for name in ("epsilon", "alpha", "rho")]
        must = [values.pop() if len(values) == 1 else None for values in found]
        _same(told, must, "The epsilon or rho of each report is another one.")

    def _taken(self, charge: Fraction) -> Fraction:
        """What a charge took of the budget: under concentrated terms the rho of an epsilon."""
        delta, rho = self.field("delta"), self.field("rho_charged")
        _claim((delta is None) is (rho is None), "A rho was charged without a delta, or a delta without a rho.")
        if delta is None:
            return charge
        _claim(0 < _amount(delta, "delta") < 1, "The delta is not between 0 and 1.")
        taken = _amount(rho, "rho_charged")
        if not self.is_rho:
            enough = taken == 0 if charge == 0 else pays_for(taken, charge, self.effort)
            _claim(enough, f"rho {taken} is less than epsilon {charge} costs.")
        return taken

    def _charge_of_rho(self) -> str:
        """The parts of rho add up to what was charged."""
        charge, asked = self.amount("rho_charged"), self.amount("rho")
        _claim(
            self.field("epsilon_charged") is None and self.field("delta") is not None, "It has an epsilon, or no delta."
        )
        _claim(self.field("audience") is None and self.field("audiences") == [], "For a rho there are no audiences.")
        for s in self.statistics:
            must = charge * s.weight * self.cells_part / sum(k * k for k in self._moves(None))
            _claim(s.share == must, f"{_named(s.name)} costs {must} of {charge}, not {s.share}.")
        self._each_report()
        draws = any(self.sizes)
        _claim(charge == (asked if draws else 0), "It was asked for another rho than was charged.")
        whole, spent, left = (self._of_budget(x) for x in ("budget", "spent", "left"))
        _claim(self._taken(charge) <= spent <= whole and left == whole - spent, "The budget does not add up.")
        return f"the parts of all statistics add up to the rho {charge} that was charged"

    def _moves(self, by: list[str] | None) -> list[int]:
        """How often one unit moves each group, or each total by some columns, where the squares add up to most."""
        most = self.contribution
        if self.question["max_rows"] is not None:
            return [most]  # all its rows in one group
        if by is None:
            return [1] * min(most, MAX_PARTS) if most <= MAX_PARTS else self._too_many()
        moves: list[int] = []
        for size in sorted(Counter(self._totals_by(by)).values(), reverse=True):
            moves.append(min(size, most - sum(moves)))
        return [k for k in moves if k > 0]

    def _too_many(self) -> list[int]:
        """Refuse what would take too long to add up."""
        raise Fault("too large", "A unit may be in more groups than this program counts.")

    def _paid(
        self, s: _Statistic, share: Fraction, moves: list[int], alpha: Fraction, channel: _Channel | None
    ) -> bool:
        """Does a share of rho pay for Gaussian noise, or for a level, against one unit that moves so many groups?

        The numbers of a group move by squares that add up to the change squared; those of a pair whose values change, both by half
        of it. Of a level with epsilon e, moves k cost k e tanh(k e / 2): at most that of the largest, per move.
        """
        times = 2 if s.pair and self.changes_one else 1
        told = [None if channel is None else channel.concentration(k * s.change // times) for k in moves]
        known = [each for each in told if each is not None]
        if known:
            return grants(known[0][0], share / (times * sum(power for _, power in known)), None, self.effort)
        if alpha == 0:
            return False
        self.effort.spend(3.0 * 256 * _times(256, 256))
        epsilon = max(moves) * _log_bounds(1 / alpha, 192 + _length(alpha))[1]
        short = Fraction(math.ceil(epsilon * 10**30), 10**30)
        return pays_for(share * max(moves) / sum(moves), short, self.effort)

    def _worth(self, alpha: Fraction, epsilon: Fraction) -> bool:
        """Is alpha what an epsilon buys? Not below e^-epsilon, and above it by what is rounded alone: steps of 2^-62 and 1e-12."""
        if not grants(alpha, epsilon, None, self.effort):
            return False
        less, below = epsilon - Fraction(1, 10**11), alpha - Fraction(1, 2**62)
        return less <= 0 or below <= 0 or not grants(below, less, None, self.effort)

    def levels(self) -> str:
        """Every mechanism holds the level that its statistic has, against what one person changes."""
        for (name, _), plan in self.plans.items() if not self.is_rho else ():
            least = next(s.alpha for s in self.statistics if s.name == name)
            own = not isinstance(self.question["mechanism"], str)  # one's own may be more private than is needed
            levels = {drawn.level for drawn in plan.values() if drawn.level is not None}
            right = all(level >= least if own else level == least for level in levels)
            _claim(right, f"{_named(name)} was drawn at another level than the record says.")
        each = self.amount(f"{self.spent}_charged") / (1 if self.is_rho else self.contribution)
        must = [
            {
                **_shares(by, len(sizes), part, each, self.spent),
                "statistics": [self._level_of(s, plans, part * each, k) for s in self.statistics],
            }
            for k, ((by, part), (sizes, plans)) in enumerate(zip(self.tiers, self.tier_plans, strict=True))
        ]
        must += [_shares(self.by, len(self.cells), self.cells_part, each, self.spent)] if self.tiers else []
        _same(self.field("measured"), must, "What the record says of measured totals is not what was drawn.")
        families = sorted({drawn.family for plan in self.plans.values() for drawn in plan.values()})
        if self.is_rho:
            return f"rho pays for all that one unit moves, by the weights of its noise ({', '.join(families)})"
        return f"the level of every report follows from its distribution, in integers ({', '.join(families)})"

    def _level_of(self, s: _Statistic, plans: Plans, share: Fraction, tier: int) -> dict[str, str | None]:
        """What the record must say of a statistic of a tier. Where all its totals are public zeros no report has the level."""
        if self.is_rho:
            return {"name": s.name, "rho": str(share * s.weight), "alpha": None}
        levels = {str(drawn.level) for drawn in plans[s.name, s.parts[0]].values() if drawn.level is not None}
        if not levels:
            told = _list(_field(_list(self.field("measured"), "tiers")[tier], "statistics", "tier"), "statistics")
            levels = {str(_amount(each.get("alpha"), "alpha")) for each in told if each.get("name") == s.name}
        _unknown(len(levels) == 1, "The levels of measured totals of several mechanisms are not compared here.")
        return {"name": s.name, "epsilon": str(share * s.weight), "alpha": levels.pop()}

    @cached_property
    def tier_plans(self) -> list[tuple[list[int], Plans]]:
        """The same for each tier of measured totals, with the sizes of its totals."""
        tiers, found = _list(self.field("answer").get("tiers", []), "tiers"), []
        _claim(len(tiers) == len(self.tiers), "Other totals were measured than the question asks for.")
        for tier, (by, part) in zip(tiers, self.tiers, strict=True):
            _same(_field(tier, "by", "tier"), by, "Other totals were measured than the question asks for.")
            sizes = [_whole(size, "size", -1) for size in _list(_field(tier, "sizes", "tier"), "sizes")]
            _claim(all((size >= 0) is self.changes_one for size in sizes), "The sizes of totals do not fit.")
            found.append((sizes, self._proved(tier, sizes, part, self._moves(by))))
        return found

    def _totals_by(self, by: list[str]) -> list[str]:
        """The total by some columns that each group is part of; columns that contain keys have the map declared with them."""
        looks: list[tuple[int, dict[str, Any] | None]] = []
        for column in by:
            maps = [m for m in self._containers if m[0] == column] if column not in self.by else []
            _claim(column in self.by or len(maps) == 1, f"No groups are declared for totals by {_named(column)}.")
            looks.append((self.by.index(maps[0][1] if maps else column), maps[0][2] if maps else None))
        keys = [
            [key[k] if known is None else known.get(json.dumps(key[k]), key[k]) for k, known in looks]
            for key in self.cells
        ]
        return [json.dumps(key) for key in keys]

    @cached_property
    def _containers(self) -> list[tuple[str, str, dict[str, Any]]]:
        """The columns that contain the keys of another one, with that and the container of each key."""
        found = []
        for one in _list(_field(self.question["domain"], "containers", "domain"), "containers"):
            column, of, pairs = _known(one, "container", "column", "of", "map")
            listed = [_list(pair, "map") for pair in _list(pairs, "map")]
            _shape(all(len(pair) == 2 for pair in listed), "The map of a container has something else than pairs.")
            known = {json.dumps(key): label for key, label in listed}
            found += [(_text(column, "column"), _text(of, "column"), known)] if of in self.by else []
        return found

    def said_twice(self) -> str:
        """What the record says besides, where it follows from question and answer."""
        _claim(self.field("part") is None or self.field("parts") is not None, "It is of a part of data that have none.")
        _same(self.field("groups"), len(self.cells), "The record has another number of groups than its question.")
        empty = [key for key, size in zip(self.cells, self.sizes, strict=True) if size == 0]
        _same(self.field("empty_groups"), empty, "The record names other empty groups than its answer has.")
        unit = self.field("unit")
        left_out = ["rows with keys that were not declared"] if self.by and not self.question["pool_other"] else []
        left_out += [] if unit is None else [f"rows without {unit}"]
        _same(self.field("left_out"), left_out, "The record says of something else that totals leave it out.")
        checked = self.field("answer").get("checked") is True
        _claim(
            (self.field("checked") is not None) is checked, "It says in two ways whether it was checked before payment."
        )
        used: dict[str, set[int]] = {}
        for (_, part), plan in self.plans.items():
            for size, drawn in plan.items() if part != "v" else ():
                if drawn.channel is not None:
                    used.setdefault(drawn.family, set()).add(size)
        told = [_known(one, "mechanism", "family", "sizes", "citation")[:2] for one in self.field("mechanisms")]
        must = [[family, len(used[family])] for family in sorted(used)]
        _same(told, must, "The record names other mechanisms than those that drew its reports.")
        return "groups, empty groups and mechanisms are those of the question and the answer"

    def _proved(self, answer: Any, sizes: list[int], part: Fraction, moves: list[int]) -> Plans:
        """The mechanisms of cells or of a tier with this part of epsilon, or of rho against one unit that makes these moves."""
        measures = _list(_field(answer, "measures", "answer"), "measures")
        must = [(s.name, p) for s in self.statistics for p in s.parts]
        found = [tuple(_known(m, "measure", "name", "part", "statistic", "mechanism")[:2]) for m in measures]
        _claim(found == must, "Other numbers were drawn than the question asks for, or more of them.")
        by_name, plans = {s.name: s for s in self.statistics}, {}
        for measure, (name, which) in zip(measures, must, strict=True):
            s = by_name[name]
            drawn_of = measure["statistic"]
            missing = None if s.kind == "mean" and not self.changes_one and s.is_out else s.told["missing"]
            must_be = {"kind": s.kind, "part": s.told["part"], "where": drawn_of["where"]}
            must_be |= {"among": drawn_of["among"], "missing": missing} if s.kind == "share" else {}
            _claim((must_be.get("among") is None) is (s.told["among"] is None), "A share was drawn of other people.")
            if s.grid is not None:
                must_be |= {"column": drawn_of["column"], "missing": missing}
                must_be |= {"grid": [s.told[end] for end in ("low", "high", "step")]}
            _same(drawn_of, must_be, f"{_named(name)}: something else was drawn than the question asks for.")
            share = self.amount(f"{self.spent}_charged") * s.weight * part / (1 if self.is_rho else self.contribution)
            drawn, told = sorted({*sizes} - {0}), measure["mechanism"]
            _claim((told is None) is (not drawn), "Empty public groups, and no others, have no mechanism.")
            plan = self._mechanism(told, drawn, s, share, moves) if drawn else {}
            plans[name, which] = plan | ({0: _Drawn("public zero", None, "")} if 0 in sizes else {})
        return plans

    def _mechanism(
        self, entry: Any, sizes: list[int], s: _Statistic, share: Fraction, moves: list[int]
    ) -> dict[int, _Drawn]:
        """The mechanisms of groups of these sizes: made again from their family, or read from their file, and proved."""
        if isinstance(entry, dict) and "own" in entry:
            _known(entry, "mechanism", "own")
            return dict.fromkeys(sizes, self._from_file(self.question["mechanism"], s, share, moves))
        family = _field(entry, "family", "mechanism")
        if family == "gaussian":
            return self._gaussian(entry, sizes, s, share, moves)
        *_, alpha, told = _known(entry, "mechanism", "family", "alpha", "digest", maybe=("change",))
        level, change = _amount(alpha, "alpha"), entry.get("change")
        counted = s.kind == "count" or (s.kind == "share" and not s.pair)
        right = (change is None) is (counted and self.has_tables)
        _claim(right, "Counts by a mechanism that was named have ends; everything else has noise without ends.")
        _claim(change is None or _whole(change, "change", 1) >= s.change, "The noise hides less than one person adds.")
        _claim(0 < level < 1, "A mechanism has no level.")
        kept = self._paid(s, share, moves, level, None) if self.is_rho else grants(level, share, None, self.effort)
        _claim(kept, f"alpha {level} is weaker than {self.spent} {share}.")
        tops = {size: None if change is not None else size for size in sizes}
        laws: dict[int | None, _Law] = {}
        for r in _choices(family, change):
            laws = {top: _law(family, top, level, change, r, self.effort) for top in dict.fromkeys(tops.values())}
            texts = [json.dumps(law.written, sort_keys=True) for law in laws.values()]
            self.effort.spend(sum(200 + len(text) for text in texts))
            if "sha256:" + hashlib.sha256("\n".join(dict.fromkeys(texts)).encode()).hexdigest() == told:
                break
        else:
            raise Fault(
                "claim", f"The {_named(family)} distributions of the record are others than its level and sizes give."
            )
        drawn = {}
        for top, law in laws.items():
            channel = _channel(law.written["channel"], Effort())
            channel.effort = self.effort
            _neighbours(law.neighbours, channel).hold(channel, level)
            own = digest({**law.written, "alpha": str(level), "neighbours": law.neighbours})
            drawn[top] = _Drawn(_text(family, "family"), channel, own, level)
        return {size: drawn[tops[size]] for size in sizes}

    def _gaussian(
        self, entry: Any, sizes: list[int], s: _Statistic, share: Fraction, moves: list[int]
    ) -> dict[int, _Drawn]:
        """Gaussian noise on all whole numbers."""
        _, weights, change, told = _known(entry, "mechanism", "family", "q", "change", "digest")
        q = _amount(weights, "q")
        _claim(self.is_rho and 0 < q < 1, "Gaussian noise keeps no epsilon.")
        kept = self._paid(s, share, moves, Fraction(0), _Gaussian(q, None, (None, None)))
        _claim(kept, f"Noise of the weights q^(x^2), q = {q}, costs more than rho {share}.")
        noise, ends = {"family": "gaussian", "q": str(q)}, {"low": None, "high": None, "step": "1"}
        channel: dict[str, Any] = {"kind": "additive", "noise": noise, "low": None, "high": None}
        law, near = (
            {"inputs": ends, "outputs": ends, "channel": channel},
            {"kind": "steps", "steps": _whole(change, "change", 1)},
        )
        text = json.dumps(law, sort_keys=True)
        drawn = _channel(channel, Effort())
        drawn.effort = self.effort
        found = dict.fromkeys(sizes, _Drawn("gaussian", drawn, digest({**law, "alpha": "0", "neighbours": near})))
        right = "sha256:" + hashlib.sha256(text.encode()).hexdigest() == told
        _claim(right, "The gaussian distribution of the record is another than its weights give.")
        return found

    def _from_file(self, document: Any, s: _Statistic, share: Fraction, moves: list[int]) -> _Drawn:
        """A mechanism that stands in the record whole: verified as its own file would be."""
        _shape(isinstance(document, dict), "The mechanism of the record is missing.")
        proved = verify(document, self.effort)
        inputs, near = document["inputs"], document["neighbours"]
        reach = near["kind"] == "any" or near["kind"] == "steps"
        _claim(
            reach and inputs.get("low") == "0" and inputs.get("step") == "1" and s.grid is None and not s.pair,
            "The mechanism of the record is not one for counts of people.",
        )
        channel = _channel(document["channel"], Effort())
        kept = (
            self._paid(s, share, moves, proved.alpha, channel)
            if self.is_rho
            else grants(proved.alpha, share, None, self.effort)
        )
        _claim(kept, f"Its mechanism is weaker than {self.spent} {share}.")
        channel.effort = self.effort
        own = {name: document[name] for name in ("inputs", "outputs", "channel")}
        shortest = {"kind": "any"} if near == {"kind": "steps", "steps": (channel.rows or 0) - 1} else near
        own_digest = digest({**own, "alpha": document["level"]["alpha"], "neighbours": shortest})
        return _Drawn(_text(document["recipe"]["family"], "family"), channel, own_digest, proved.alpha)

    def rows(self) -> str:
        """The rows of the CSV: their keys, and the reports that the record says were drawn."""
        for line, s, place in self._lines():
            size = self.sizes[place]
            drawn = self.plans[s.name, s.parts[0]][size]
            must = {"mechanism": drawn.family, "digest": drawn.digest}
            must |= {self.spent: "0" if drawn.channel is None else str(s.share)}
            must |= {"n": str(size)} if self.changes_one else {}
            for name, value in must.items():
                self._cell(line, name, name not in line or line[name] == value)
            values = [self._shown(s, self.reports[s.name, part][place], drawn, size) for part in s.parts]
            self._cell(line, "published", line["published"] == self._to_print(line, s))
            if not s.pair:
                self._cell(line, "report", _says(line["report"], values[0]))
                continue
            for name, drawn_part in zip(("report_u", "report_v"), values, strict=True):
                self._cell(line, name, _says(line[name], drawn_part))
            right = line["report"] == "" if size == 0 else _is_ratio(line, s, values)
            self._cell(line, "report", right)
        count = len(self.cells) * len(self.statistics)
        return f"the {count} rows have the keys of the question, and the reports and mechanisms of the answer in the record"

    def _lines(self) -> Iterator[tuple[dict[str, str], _Statistic, int]]:
        """Each row of the CSV by its columns, with its statistic and the place of its group; their keys are compared."""
        lines, columns = self.table(self.rows_file), self.field("columns")
        _same(self.head, columns, "The columns of the CSV are not those that the record names.")
        named = len(self.statistics) > 1
        column = "count" if all(s.kind == "count" for s in self.statistics) else "statistic"
        _claim(len(lines) == len(self.statistics) * len(self.cells), "The CSV has more or fewer rows than groups.")
        spelled = self._spelled()
        for k, line in enumerate(lines):
            s, place = self.statistics[k // len(self.cells)], k % len(self.cells)
            right = [line[c] for c in self.by] == spelled[place] and (not named or line[column] == s.name)
            _claim(right, f"Row {k + 1} of the CSV is of another group or statistic than the question's.")
            yield line, s, place

    def _spelled(self) -> list[list[str]]:
        """The keys as a CSV has them."""
        pooled = self.question["pool_other"] is True
        both = [{None, ""} <= {key[c] for key in self.cells if key[c] in (None, "")} for c in range(len(self.by))]
        return [
            [("(missing)" if pooled or both[c] else "") if x is None else str(x) for c, x in enumerate(key)]
            for key in self.cells
        ]

    def _shown(self, s: _Statistic, report: Fraction, drawn: _Drawn, size: int) -> Fraction | None:
        """What a row has for a report; None where it is nothing."""
        start, step = (Fraction(0), Fraction(1)) if s.grid is None else (s.origin, s.grid[2])
        total = report * step + (0 if s.pair else max(size, 0) * start)
        if drawn.channel is None:
            _claim(report == 0, "The report of an empty public group is not 0.")
        return total / step if s.pair else s.of_one(total, size)

    def _fitted(self, line: dict[str, str], s: _Statistic) -> str:
        """The number that was fitted to the totals, where it is the one that is published."""
        return "" if s.kind not in ("count", "sum") else line.get("fitted", "")

    def _to_print(self, line: dict[str, str], s: _Statistic) -> str:
        """What a row publishes: the fitted number, or the report; one outside its interval as the end next to it."""
        if self._fitted(line, s) or line["report"] == "":
            return self._fitted(line, s) or line["report"]
        for name, sign in (("low", 1), ("high", -1)):
            if line[name] != "" and sign * (_number(line["report"]) - _number(line[name])) < 0:
                return line[name]
        return line["report"]

    def _cell(self, line: dict[str, str], name: str, right: bool) -> None:
        """What a cell must say."""
        where = ", ".join(line[c] for c in self.by)
        _claim(right, f"The row of {_named(where)}: {name} is {_named(line[name])}, which is not what the record says.")

    def table(self, name: str) -> list[dict[str, str]]:
        """The rows of a CSV beside the record, by its columns."""
        text = self.beside(name).decode("utf-8").removeprefix("\ufeff")
        _, _, _, _, separator, mark = _known(self.field("presentation"), "presentation", *_PRESENTATION.split())
        right = separator in (",", ";", "|", "\t") and mark in (".", ",") and mark != separator
        _shape(right, "The record names no marks that a CSV can have.")
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True) if row]
        _shape(len(rows) > 0 and len(set(rows[0])) == len(rows[0]), f"{_named(name)} is no table.")
        _shape(all(len(row) == len(rows[0]) for row in rows), f"{_named(name)} has rows of different lengths.")
        self.head = rows[0]
        lines = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
        for line in lines if mark == "," else ():
            for column in _WITH_MARKS & line.keys():
                _shape("." not in line[column], f"{_named(name)} has a decimal point, and the record says a comma.")
                line[column] = line[column].replace(",", ".")
        return lines

    @cached_property
    def margins(self) -> list[list[str]]:
        """The columns of all totals, each set of them once."""
        asked = [[_text(c, "column") for c in _list(by, "columns")] for by in _list(self.field("margins"), "margins")]
        return list({frozenset(by): by for by in [*asked, *(by for by, _ in self.tiers)]}.values())

    def totals(self) -> str:
        """The totals: in the record as in their files, and the sums of the fitted numbers of their groups."""
        margins = _field(self.document, "margins", "file")
        _claim(not (self.has_tables and self.margins), "It has totals of counts that cannot be added up.")
        names = [n for n in self.field("files") if n != self.rows_file and n.endswith(".csv")]
        _claim(isinstance(margins, dict) and len(margins) == len(names), "The record has other totals than files.")
        wanted = ["+".join(by) or "total" for by in self.margins]
        must = {"+".join(sorted(name.split("+"))) for name in wanted}  # in whatever order their columns were named
        _claim(
            must == {"+".join(sorted(name.split("+"))) for name in margins},
            "There are other totals than were asked for.",
        )
        added = 0
        for (margin, rows), name in zip(margins.items(), names, strict=True):
            lines = self.table(name)
            told = [{c: "" if x is None else str(x) for c, x in row.items()} for row in _list(rows, "totals")]
            _claim(lines == told, f"{_named(name)} has other totals than the record.")
            added += self._added(margin, rows)
        count = _counted(sum(map(len, margins.values())), "total")
        return f"{count} in the record as in the files; {_counted(added, 'sum')} of groups added up again"

    def _added(self, margin: str, rows: list[dict[str, Any]]) -> int:
        """How many totals of a margin are the sums of the fitted numbers of their groups; one that is not is refused."""
        sums: dict[tuple[Any, ...], Fraction | None] = {}
        columns = [c for c in self.by if c in rows[0]] if rows else []
        if "fitted" not in self.field("columns") or len(columns) != len([c for c in margin.split("+") if c != "total"]):
            return 0
        for line, s, _ in self._lines():
            key = (s.name, *(line[c] for c in columns))
            before, cell = sums.get(key, Fraction(0)), line["fitted"]
            sums[key] = (
                None if before is None or cell == "" or s.kind not in ("count", "sum") else before + _number(cell)
            )
        count, named = 0, len(self.statistics) > 1
        for row in rows:
            name = (row.get("count") or row.get("statistic")) if named else self.statistics[0].name
            total = sums.get((name, *("" if row[c] is None else str(row[c]) for c in columns)))
            if total is not None and row["total"] is not None:
                near = abs(_number(row["total"]) - total) <= abs(total) * Fraction(1, 10**9)
                _claim(near, f"A total by {_named(margin)} is not the sum of its groups.")
                count += 1
        return count

    def in_ledger(self, told: History) -> str:
        """The line that charged for it, the head of the history then, and the answer that the ledger is committed to."""
        terms = told.terms
        _claim(self.field("dataset") == told.name, f"The ledger is that of {_named(told.name)}, another data set.")
        names, part = ("relation", "unit", "parts"), self.field("part")
        same = [terms.get(name) for name in names] == [self.field(name) for name in names]
        delta = self.field("delta")
        same = same and told.delta == (None if delta is None else _amount(delta, "delta"))
        _claim(same and self._of_budget("budget") == told.budget, "The ledger has other terms for the data set.")
        line, head, audience = (self.field(name) for name in ("ledger_line", "ledger_head", "audience"))
        if line is None:
            free = self.amount(f"{self.spent}_charged") == 0
            _claim(free, "It was charged for, but it names no line of the ledger.")
            raise Fault("unknown", "Nothing was charged for it, so no line of the ledger confirms it.")
        _claim(type(line) is int and line in told.answers, f"Line {_named(line)} is no charge that was answered.")
        answered = told.answers[line]
        asked = (
            self.amount(f"{self.spent}_charged")
            if audience is None
            else _amount(_field(audience, "charged", "audience"), "charge")
        )
        written, paid = told.lines[line - 1], told.charges[line]
        right = self.spent in written and _rational(written[self.spent], "charge") == asked
        right = right and (told.delta is None or audience is not None or paid == self.amount("rho_charged"))
        _claim(right, f"Line {line} charged {paid}, not {asked}.")
        _claim(told.lines[line - 1].get("part") == part, f"Line {line} charged another part of the data set.")
        count, link = _fields(head, "head", "count", "hash")
        _claim(count == answered and told.has(count, link), "The head in the record is not in this history.")
        _claim(told.lines[answered - 1]["when"] == self.field("released"), "It was answered at another time.")
        sums = told.sums_of(part)[answered - 1 :]  # an answer that is given again says what was spent by then
        right = self._of_budget("spent") in (sums if self.field("repeated") is True else sums[:1])
        _claim(right, "That much was not spent then.")
        corrected = self.field("supersedes")
        if corrected is not None:
            _, _, before = _known(corrected, "correction", "version", "reason", "line")
            right = before is None or (type(before) is int and before < line and before in told.answers)
            _claim(right, "The line of the release that it corrects is no earlier charge that was answered.")
            admitted = told.lines[line - 1].get("admission")
            known = "parts" not in terms or (admitted is not None and "correction" in told.lines[admitted - 1])
            _claim(known, "The ledger did not admit its data as a correction, and counts parts as if nobody had moved.")
        words = f"line {line} charged {paid} for it, and the head in the record is that of line {answered}"
        if line not in told.opened or self.shows_less:
            return f"{words}; the commitment to its reports was not opened"
        stored = self._stored()
        right = _opens(told.opened[line], stored, told.lines[answered - 1]["commitment"])
        again = "the same answer, asked again in another order or in other words."
        _unknown(right or self.field("repeated") is not True, f"Line {answered} has another text: it may be {again}")
        _claim(right, f"Line {answered} is committed to another question or answer than those in the record.")
        return f"{words}; question, reports and mechanisms are those that line {answered} is committed to"

    @property
    def shows_less(self) -> bool:
        """Does the ledger store more than is shown here? Then its commitment is to something that was not published."""
        return self.field("audience") is not None

    def _of_budget(self, name: str) -> Fraction:
        """What the record says of the budget."""
        amounts = dict(zip(_BUDGET, _known(self.field("budget"), "budget", *_BUDGET), strict=True))
        return _amount(amounts[name], name)

    def _stored(self) -> str:
        """The answer as the ledger stores it, with all that was asked: what its commitment is a digest of."""
        asked = {name: self.field(name) for name in ("version", "part", "supersedes")}
        told = {"format": "discreet-answer", "version": VERSION, "asked": asked, "question": self.question}
        answer = self.field("answer")
        _shape(not answer.keys() & told.keys() and answer.keys() <= set(_ANSWER), "The answer has other fields.")
        told |= answer
        texts = [f'"{x}":{json.dumps(told[x], sort_keys=True, separators=(",", ":"))}' for x in _ANSWER if x in told]
        return "{" + ",".join(texts) + "}"


def _shares(by: list[str], totals: int, part: Fraction, each: Fraction, spent: str) -> dict[str, Any]:
    """What the record must say of a tier of totals, or of the cells beside them."""
    return {"by": by, "totals": totals, "part": str(part), spent: str(part * each)}


_RECORD = (
    "format format_version discreet method repeated released dataset version part parts supersedes relation unit protects "
    "person counted contribution left_out question statistics by groups empty_groups mechanisms answer columns "
    "table_columns margins measured alpha rho delta epsilon_charged rho_charged alpha_each_report epsilon_each_report "
    "rho_each_report audience audiences budget ledger_line ledger_head interval confidence simultaneous report published "
    "fitted errors beware checked presentation files"
)
_BUDGET = ("budget", "spent", "left")
_PRESENTATION = "title source notes labels separator decimal"
_QUESTION = "format version statistics by domain max_groups counted max_rows pool_other measure_totals mechanism"
_ANSWER = ("format", "version", "asked", "question", "sizes", "measures", "tiers", "checked", "reports", "totals")
_STATISTIC = "name kind what where among column low high step missing part epsilon rho alpha change pair"


def _sum(amounts: Iterable[Fraction]) -> Fraction:
    """A sum that stays short, or is refused."""
    total = Fraction(0)
    for amount in amounts:
        total += amount
        _need(_length(total) <= AMOUNT_BITS, "too large", "The parts add up to too long a number.")
    return total


def _is_pair(told: dict[str, Any], changes_one: bool) -> bool:
    """Is it a mean or share over a private number of people? Then two numbers are drawn: what they have, and what they lack."""
    chosen = told["among"] if told["kind"] == "share" else told["where"]
    private = not changes_one or chosen is not None or told["missing"] == "out"
    return private and told["kind"] in ("mean", "share")


def _change(
    told: dict[str, Any], grid: tuple[Fraction, Fraction, Fraction] | None, changes_one: bool, pair: bool
) -> tuple[int, Fraction]:
    """How many steps one person can move a number of a group by (the two of a pair together), and what values count from.

    A person who is counted anyway moves a sum from one bound to the other; one who may also add nothing, from 0 to the farther one.
    Of a pair, one who comes or goes moves both by the range together; one whose value changes moves each of them by it.
    """
    low, high, step = (Fraction(0), Fraction(1), Fraction(1)) if grid is None else grid
    whole = math.ceil((high - low) / step)
    if pair:
        return whole * (2 if changes_one else 1), low
    if grid is None or (changes_one and told["missing"] is not None and told["where"] is None):
        return whole, low
    far = max(high, Fraction(0)) - min(low, Fraction(0)) if changes_one else max(abs(low), abs(high))
    return math.ceil(far / step), Fraction(0)


def _declared(told: dict[str, Any], grid: tuple[Fraction, Fraction, Fraction] | None) -> tuple[str, ...]:
    """How the question must declare a statistic: a condition, or a column with its bounds; none where fields do not fit."""
    column, where, among, missing = (told[name] for name in ("column", "where", "among", "missing"))
    if grid is None:
        plain = all(told[name] is None for name in ("column", "low", "high", "step"))
        if not plain or (told["kind"] == "count" and (among, missing) != (None, None)) or missing not in (None, "out"):
            return ()
        of_whom = "" if among is None else f" where {among}"
        left_out = "" if missing is None else " missing out"
        return (
            ()
            if where is None and told["kind"] != "count"
            else (f"{'*' if where is None else where}{of_whom}{left_out}",)
        )
    low, high, step = grid
    slashed = f"{high}/{step}" if high.denominator == 1 else f"{high}/{step.numerator}/{step.denominator}"
    rest = "" if where is None else f" where {where}"
    bounds = f":{low}..{slashed}{rest}" + ("" if missing is None else f" missing {missing}")
    quoted = str(column).replace('"', '""')
    return (f"{column}{bounds}", f'"{quoted}"{bounds}') if among is None else ()


@dataclass(frozen=True)
class _Law:
    """A mechanism as its file writes it: grids and channel, and between which true values its level is claimed."""

    written: dict[str, Any]
    neighbours: dict[str, Any]


def _choices(family: Any, change: int | None) -> Iterable[int]:
    """The edges that a stair may have: the level is the same for all of them, so the digest tells which one was used."""
    return range(1, change + 1) if family == "staircase" and change is not None and change <= MAX_STAIR else (1,)


def _law(family: Any, top: int | None, alpha: Fraction, change: int | None, r: int, effort: Effort) -> _Law:
    """The mechanism of a family at a level: noise without ends that hides a change, or for counts from 0 to `top`."""
    ends = {"low": None if change is not None else "0", "high": None if top is None else str(top), "step": "1"}
    near: dict[str, Any] = {"kind": "steps", "steps": change or 1}
    if change is not None and family in ("geometric", "staircase"):
        a = alpha if family == "staircase" and change != 1 else _root(alpha, change, effort)
        noise: dict[str, Any] = {"family": "geometric", "a": str(a)}
        if family == "staircase" and change != 1:
            noise = {"family": "staircase", "b": str(a), "D": change, "r": r}
        channel: dict[str, Any] = {"kind": "additive", "noise": noise, "low": None, "high": None}
        return _Law({"inputs": ends, "outputs": ends, "channel": channel}, near)
    n = top or 0
    known = n > 0 and family in ("explicit_fair", "randomized_response")
    _unknown(known, f"Mechanisms of the family {_named(family)} cannot be made here.")
    if family == "explicit_fair":
        channel = _fair(n, alpha, effort)
    else:
        channel = {"kind": "mixture", "size": n + 1, "keep": str((1 - alpha) / (1 + n * alpha))}
    any_two = n == 1 or family == "randomized_response"
    return _Law({"inputs": ends, "outputs": ends, "channel": channel}, {"kind": "any"} if any_two else near)


def _root(alpha: Fraction, steps: int, effort: Effort) -> Fraction:
    """The smallest multiple of 2^-62 whose power `steps` is at least alpha; finer where it is below that."""
    if steps == 1:
        return alpha
    _need(steps < 2**63, "too large", "One person changes a sum by too many steps.")
    zeros = (alpha.denominator.bit_length() - alpha.numerator.bit_length()) // steps
    bits = 62 if zeros < 62 else 62 + zeros
    digits = 192 + bits + _length(alpha)
    effort.spend(8 * digits * _times(digits, digits))
    low, high = (_exp_bounds(x / steps, digits) for x in _log_bounds(1 / alpha, digits))
    first, last = math.ceil(2**bits / high[1]), math.ceil(2**bits / low[0])
    while first < last:
        if grants(Fraction(first, 2**bits), Fraction(1, steps), 1 / alpha, effort):
            break
        first += 1
    return Fraction(first, 2**bits)


def _fair(n: int, alpha: Fraction, effort: Effort) -> dict[str, Any]:
    """The explicit fair mechanism (Cormode, Kulkarni and Srivastava 2018): report j of the truth i has the weight of a class.

    With d = |i - j| and m = min(i, n - i) that is class d where d < m, else (d + m) / 2, rounded up. A class has alpha times the
    weight of the one before; where the exact weights are too long they are rounded up, and the first class gives back the excess.
    """
    _need(n < 2**10, "too large", "The explicit fair mechanism is a table of at most 2^20 weights.")
    effort.spend(200 * (n + 1) ** 2 + 64 * 100 * n)
    p, q, last = alpha.numerator, alpha.denominator, (n + 1) // 2
    times = [1] + [2] * last
    if n % 2:
        times[-1] = 1
    drawn = 1 << n.bit_length()  # drawing divides the total into so many cells

    def row(weights: list[int]) -> int:
        """The sum of a row."""
        return sum(map(int.__mul__, times, weights))

    def rounded(first: int) -> list[int]:
        """The classes that follow from the first, each rounded up."""
        weights = [first]
        for _ in range(last):
            weights.append(-(-p * weights[-1] // q))
        return weights

    weights: list[int] = []
    if q.bit_length() * last <= 64:
        exact = [p**e * q ** (last - e) for e in range(last + 1)]
        unit = math.lcm(row(exact), drawn)
        weights = [w * (MAX_TOTAL // unit * unit // row(exact)) for w in exact]
    if not any(weights):
        low, high = 1, MAX_TOTAL
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if row(rounded(middle)) >= MAX_TOTAL else (middle + 1, high)
        weights = rounded(low)
        weights[0] -= row(weights) - MAX_TOTAL
        if weights[0] < weights[1]:  # so close to 1 that all are alike
            unit = math.lcm(n + 1, drawn)
            weights = [MAX_TOTAL // unit * unit // (n + 1)] * (last + 1)

    def place(i: int, j: int) -> int:
        """The class of a report."""
        d, m = abs(i - j), min(i, n - i)
        return d if d < m else (d + m + 1) // 2

    rows = [" ".join(str(weights[place(i, j)]) for j in range(n + 1)) for i in range(n + 1)]
    return {"kind": "table", "total": str(row(weights)), "rows": rows}


def _says(cell: str, value: Fraction | None) -> bool:
    """Does a cell hold this number: a whole one in digits, another as the float nearest to it; nothing for none?"""
    if value is None:
        return cell == ""
    if _INTEGER.fullmatch(cell):
        return str(int(cell)) == cell and int(cell) == value
    return cell == repr(float(value))


def _number(value: Any) -> Fraction:
    """A number that is written as Python writes it, in JSON or in a CSV; longer ones would fill the memory."""
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) else ""
    _shape(_DECIMAL.fullmatch(text) is not None, "A number is not written as one.")
    return Fraction(text)


def _is_ratio(line: dict[str, str], s: _Statistic, values: list[Fraction | None]) -> bool:
    """Is a mean or share the ratio of its two reports, moved into its interval? To nine digits: it is computed in floats."""
    if line["report"] == "" or None in values:
        return True  # its interval says nothing, or a report is hidden
    u, v = (max(x or Fraction(0), Fraction(0)) for x in values)
    moved = min(max(s.ratio(u, v), _number(line["low"])), _number(line["high"]))
    return s.is_near(_number(line["report"]), moved)


# The columns of a CSV whose numbers may have a decimal mark; none of them is a key
_WITH_MARKS = {
    "published",
    "low",
    "high",
    "report",
    "fitted",
    "standard_error",
    "report_u",
    "report_v",
    "total",
}


def check_release(document: Any, path: str, ledger: History | None = None) -> Verdict:
    """A verdict on the record of a release with its files, beside an exported ledger where there is one."""
    release = Release(document, path)
    checks = [
        release.whole,
        release.files,
        release.charge,
        release.levels,
        release.said_twice,
        release.rows,
        release.totals,
    ]
    findings = [_judged(check) for check in checks]
    if ledger is not None:
        findings.append(_judged(lambda: release.in_ledger(ledger)))
    else:
        findings.append(Finding(None, _NO_LEDGER))
    dataset, version = (_named(release.record.get(name)) for name in ("dataset", "version"))
    line = release.record.get("ledger_line")
    whole = release.record.get("audience") is None
    opened = ledger is not None and whole and type(line) is int and line in ledger.opened
    beyond = ("that these are the reports that were drawn: ask for an export that opens the commitment to them",)
    fields = _WORDS if opened else f"{_WORDS}, {_OPENED}"
    return Verdict(
        f"a release from the data set {dataset}, version {version}",
        tuple(findings),
        (
            *(() if opened else beyond),
            *_BEYOND_RELEASE,
            f"the page, and fields of the record that are not compared: {fields}",
        ),
        not opened,
    )


# Fields that follow from others (discreet check-release derives them), and what the publisher is free to choose
_WORDS = (
    "discreet, method, repeated, protects, person, beware, interval, report, published, fitted, errors, "
    "mechanisms.citation, table_columns, checked, presentation, confidence, simultaneous, margins, audience.name"
)
# what an opened commitment confirms
_OPENED = "version, question, answer, supersedes, statistics, audiences, by, columns"
_NO_LEDGER = "That it was charged: no ledger was given. Ask for the exported one, and give it to this program too."
_BEYOND_RELEASE = (
    "that the data were counted as the question says, and that the noise was drawn as its distribution says",
    "intervals, estimates, standard errors, fitted numbers and the page: discreet check-release writes all of it again",
    "who wrote it: a digest is no signature, so compare it with the one that the publisher names",
)


# What is printed


def _shown(x: Fraction, rounding: str = ROUND_HALF_EVEN, digits: int = 9) -> str:
    """A number for people, also one beyond all floats: a bound from above is rounded up, one from below down."""
    shorter = Context(prec=digits, rounding=rounding)
    return f"{shorter.divide(Decimal(x.numerator), Decimal(x.denominator)):.{digits}g}"


def main(arguments: list[str]) -> int:
    """Check one file or several, and say in words what was proved."""
    files, head = _arguments(arguments)
    if not files:
        print("usage: python verify.py FILE ... [--head COUNT:HASH]", file=sys.stderr)
        print("FILE: a mechanism, the record of a release, or an exported ledger (one)", file=sys.stderr)
        return 2
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter is no reason to stop
    try:
        documents = {name: _document(name) for name in files}
        ledgers = [name for name, (kind, _) in documents.items() if kind == "ledger"]
        _shape(len(ledgers) < 2, "Two ledgers were given: check them one after the other.")
        _shape(head is None or len(ledgers) == 1, "A head is compared with an exported ledger: give that too.")
        told, worst = None, 0
        for name in [*ledgers, *(name for name in documents if name not in ledgers)]:  # releases are compared with it
            kind, document = documents[name]
            if kind == "mechanism":
                _print_verified(verify(document))
                continue
            if kind == "ledger":
                verdict, told = check_ledger(document, head)
            else:
                verdict = check_release(document, name, told)
            _print_verdict(name, verdict)
            worst = max(worst, 0 if verdict.holds else 1)
        sys.stdout.flush()
        return worst
    except BrokenPipeError:  # a reader that hung up (python verify.py released.json | head -1) saw no verdict
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Fault as fault:
        print(f"refused ({fault.kind}): {fault}", file=sys.stderr)
        return 1 if fault.kind in ("digest", "sum", "claim") else 2


def _arguments(arguments: list[str]) -> tuple[list[str], str | None]:
    """The files, and a head that was kept elsewhere; no files where this cannot be read."""
    head = None
    if "--head" in arguments:
        place = arguments.index("--head")
        head = next(iter(arguments[place + 1 : place + 2]), None)
        arguments = [*arguments[:place], *arguments[place + 2 :]]
        if head is None:
            return [], None
    return ([] if any(name.startswith("-") for name in arguments) else list(dict.fromkeys(arguments))), head


def _document(name: str) -> tuple[str, dict[str, Any]]:
    """What a file is, and what it says."""
    document = _parsed_json(_bytes(name), name)
    holder = document if isinstance(document, dict) else {}
    record = holder.get("record") if isinstance(holder.get("record"), dict) else {}
    kind = {FORMAT: "mechanism", "discreet-ledger": "ledger"}.get(str(holder.get("format")))
    kind = "release" if record and record.get("format") == "discreet-release" else kind
    if kind is None:
        raise Fault(
            "format", f"{name} is no mechanism file, no record of a release and no exported ledger. Check the path."
        )
    return kind, holder


def _print_verdict(name: str, verdict: Verdict) -> None:
    """All that was found, a line for each matter."""
    print(f"{name}: {verdict.title}")
    for finding in verdict.findings:
        word = {True: "holds", False: "DOES NOT HOLD", None: "NOT CHECKED"}[finding.held]
        print(f"  {word}: {finding.words}")
    for words in verdict.beyond:
        print(f"  cannot be checked here: {words}")
    refuted = any(finding.held is False for finding in verdict.findings)
    partly = (
        "do not rely on it before this is explained" if refuted else "what was checked holds, but not all was checked"
    )
    unopened = "; the commitment to its reports was not opened, so they may be others than those that were drawn"
    print("verdict: " + (f"all of this holds{unopened if verdict.unopened else ''}" if verdict.holds else partly))


def _print_verified(found: Verified) -> None:
    """What was proved of a mechanism."""
    power = f" to the power {found.power}" if found.power != 1 else ""
    asked = f" (epsilon {found.epsilon})" if found.epsilon else ""
    among = f"holds for all {found.between}".replace("all any", "any")
    if found.rho is not None:
        print(f"verified: rho {found.rho} (zero-concentrated privacy) {among}")
    elif found.alpha == 0:
        print(f"the file is whole, but it claims no privacy between {found.between}")
    else:
        print(f"verified: alpha {found.alpha}{asked} {among}")
    short = f" (about {_shown(found.tight)})" if found.tight.denominator > 10**6 else ""
    known = f"{found.tight}{short}{power}"
    tight = "none: some report rules a neighbour out" if found.tight == 0 and found.exact else known
    if found.rho is None:
        print(f"tight level: {tight}" + ("" if found.exact else " or better"))
    if found.risk_and_bound is not None:
        (risk, bound), up = found.risk_and_bound, ROUND_CEILING
        told, least, gap = _shown(risk, up), _shown(bound, ROUND_FLOOR), _shown(risk - bound, up, 2)
        print(f"design: risk at most {told}; no mechanism of this kind goes below {least}; the gap is at most {gap}")
        print(f"designed for: {found.asked}\nmechanisms of this kind: {found.among}")
    if found.properties is not None:
        print("properties: " + (", ".join(found.properties) or "none"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
