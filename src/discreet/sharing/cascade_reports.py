"""The reports of a cascade: handed out level by level, stored, and extended by levels that were not thought of before.

Together they are as sensitive as their least private level: an audience gets its own level's reports, never this object
or its file. A level between two others, or more private than all, is drawn from what is stored and costs nothing. One less
private than all is drawn from the truth and the stored reports, and costs the difference; on changed data it would cost
far more, so it is refused unless the caller's keyed fingerprint of the data is the stored one.
"""

from __future__ import annotations

import hmac
import json
import math
import os
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ..errors import DiscreetError, FileError, LevelError, ReleaseError
from ..exact.arithmetic import show, show_above
from ..exact.grid import Grid
from ..exact.intake import Kind
from ..exact.level import Epsilon, Level
from ..exact.positions import values_at
from ..files import file_name, write_whole, written_level
from ..formats import VERSION, check_version
from ..present.views import Result, View, plain
from ..randomness.source import FROM_SEED, Source, fork_mark, warn_of_seed
from ..sampling import Places, checked_source, draw_chain
from ..verify import digest
from .cascades import Bridge, Cascade, level_words, step

Indices = NDArray[np.int64]

FORMAT = "discreet-cascade"
_RATIONAL = re.compile(r"-?[0-9]+(?:/0*[1-9][0-9]*)?")
_LONGEST = 8000  # characters of a number
_TOGETHER = 2**20  # reports for which one table of each distance is made
_SECRET = "together as sensitive as the least private level: give each audience its own level's reports, never this"


@final
@dataclass(frozen=True, repr=False, eq=False)
class CascadeReports(Result):
    """One report, or one array of reports, for each level: reports[0] is the most accurate, reports.at("1/2") that of a
    level. Together as sensitive as the least private level. `places` are positions on the grid."""

    cascade: Cascade
    places: tuple[Indices, ...]
    shape: tuple[int, ...] | None  # None: of one number
    fingerprint: str | None = field(default=None)
    kind: Kind = field(default=np.asarray)
    insecure: bool = False  # some of it was drawn from a seed

    def __post_init__(self) -> None:
        for places in self.places:
            places.flags.writeable = False

    def __reduce__(self) -> Any:
        return CascadeReports.loads, (self.text(),)  # a copy elsewhere is what its file would hold

    def __copy__(self) -> CascadeReports:
        return self  # nothing in it changes

    def __deepcopy__(self, memo: object) -> CascadeReports:
        return self

    # Handing out

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: Any) -> Any:
        """The reports of the k-th level alone, or of a level given as a text, Fraction or Level, of the kind that the true
        values had. Nothing of other levels is in them."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            return self.at(k)
        if not -len(self) <= k < len(self):
            raise LevelError(
                f"There is no level number {show(k)}; the {len(self)} levels are numbered from 0.", value=k
            )
        if self.shape is None:
            return self.cascade.grid.value(int(self.places[k][0]))
        return self.kind(values_at(self.cascade.grid, self.places[k]).reshape(self.shape))

    def at(self, level: Any = None, *, epsilon: Any = None) -> Any:
        """The reports of one level, given as an alpha, as an epsilon or as a Level."""
        return self[self.cascade.place(level, epsilon=epsilon)]

    # Adding levels

    def price_of(self, level: Any = None, *, epsilon: Any = None) -> Level:
        """What a further level costs: nothing (alpha 1), or what the new alpha lacks of the least private one, a factor:
        the difference of the two epsilons, exactly."""
        wanted, first = Level.of(alpha=level, epsilon=epsilon), self.cascade.levels[0]
        return Level(min(wanted.alpha / first.alpha, Fraction(1)))

    def add(self, level: Any = None, *, epsilon: Any = None, source: Any = None) -> CascadeReports:
        """With one more level, between two others or more private than all. It is drawn from the stored reports alone, so
        it costs nothing, and no other report changes. Together they follow the distribution of a cascade made of all
        levels at once. Go on with what is returned: two levels drawn from the same state, each without the other, are no cascade.

        >>> import discreet as dt
        >>> reports = dt.sharing.cascade(["3/10", "4/5"], 100).release(42)
        >>> more = reports.add("1/2")
        >>> [str(x.alpha) for x in more.cascade.levels], more[0] == reports[0], more[2] == reports[1]
        (['3/10', '1/2', '4/5'], True, True)
        """
        at, wider = self._with(Level.of(alpha=level, epsilon=epsilon))
        if at == 0:
            raise LevelError(
                f"{level_words(wider.levels[0])} is less private than all stored reports, which do not hold "
                "what it tells; refine draws it from the true values, for a price.",
                value=level,
            )
        stream, low = _words(source), self.cascade.span[0]
        before = self.places[at - 1]
        if at == len(self.places):
            channel = step(wider.span[1], *wider.decays[at - 1 :])
            (drawn,) = draw_chain((channel,), len(before), lambda start, stop: before[start:stop] - low, stream)
            return self._extended(wider, at, drawn + low, stream)
        bridge = Bridge(wider.span[1], *wider.decays[at - 1 : at + 2])
        return self._extended(wider, at, _bridged(bridge, before - low, self.places[at] - low, stream) + low, stream)

    def refine(
        self,
        level: Any = None,
        values: Any = None,
        *,
        epsilon: Any = None,
        fingerprint: str | None,
        clamp: bool = False,
        source: Any = None,
    ) -> CascadeReports:
        """With one more level, less private than all others, drawn from the true values given the stored reports. It costs
        `price_of(level)`, to be charged before; no other report changes.

        Only for the very data that were released: at levels 3/10 and 1/2 the joint loss on changed data would be 2.59 where
        1.20 is charged. `fingerprint` must be the one the reports were released with; else this is refused, and a new
        cascade is charged whole. Once for each state: go on with what is returned. Two levels a and b refined from the same
        state of level c lose up to a b c together, not the a b / c that was charged.
        """
        if values is None:
            raise ReleaseError(
                "A less private level is drawn from the true values; give them as values=, for example "
                'refine("1/10", values=...) or refine(epsilon=2, values=...). Nothing was drawn.'
            )
        at, wider = self._with(Level.of(alpha=level, epsilon=epsilon))
        if at > 0:
            raise LevelError(
                f"{level_words(wider.levels[at])} is more private than a stored report: add draws it from "
                "that, without the true values and at no cost.",
                value=level,
            )
        proof = checked_fingerprint(fingerprint)
        if self.fingerprint is None:
            raise ReleaseError(
                "These reports were stored without a fingerprint of their data, so nobody can tell whether the data are the "
                "same; release a new cascade, and charge it whole. Nothing was drawn."
            )
        if proof is None or not hmac.compare_digest(proof.encode(), self.fingerprint.encode()):
            raise ReleaseError(
                "The fingerprint of the data is not the stored one: on changed data a further level would tell more than "
                "its price; release a new cascade, and charge it whole. Nothing was drawn."
            )
        stream, low = _words(source), self.cascade.span[0]
        found = Places.of(self.cascade.grid, values, clamp)
        if found.shape != self.shape:
            raise ReleaseError(
                "There are not as many true values as stored reports, in the same shape; give those that were "
                "released. Nothing was drawn."
            )
        truth = found.at(0, found.size) - low
        bridge = Bridge(wider.span[1], Fraction(0), *wider.decays[:2])
        return self._extended(wider, 0, _bridged(bridge, truth, self.places[0] - low, stream) + low, stream)

    def _with(self, wanted: Level) -> tuple[int, Cascade]:
        """Where a new level comes to stand, and the cascade with it."""
        levels = self.cascade.levels
        alphas = [x.alpha for x in levels]
        if wanted.alpha in alphas:
            raise LevelError(f"{level_words(wanted)} is stored already; take its reports with at.", value=wanted)
        at = bisect_left(alphas, wanted.alpha)
        return at, replace(self.cascade, levels=(*levels[:at], wanted, *levels[at:]))

    def _extended(self, wider: Cascade, at: int, drawn: Indices, stream: Source) -> CascadeReports:
        places = (*self.places[:at], drawn, *self.places[at:])
        return replace(self, cascade=wider, places=places, insecure=self.insecure or stream.insecure)

    # Storing

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True, instead_of: bytes | None = None) -> None:
        """Write everything to one JSON file: as sensitive as the least private level, so keep it where the data are. Its
        owner alone may read it (0600). Without `overwrite` a file that is there is refused; with `instead_of`, one that holds
        something else: reports that are lost cannot be drawn again without a second price."""
        write_whole(path, self.text(), private=True, overwrite=overwrite, instead_of=instead_of)

    def text(self) -> str:
        """The content of that file."""
        cascade = self.cascade
        body: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "note": _SECRET,
            "grid": cascade.grid.written(),
            "sensitivity": str(cascade.sensitivity),
            "levels": [written_level(level) for level in cascade.levels],
            "fingerprint": self.fingerprint,
            "shape": None if self.shape is None else list(self.shape),
            "places": [places.tolist() for places in self.places],
            **({"insecure": FROM_SEED} if self.insecure else {}),
        }
        return json.dumps({**body, "digest": digest(body)}, separators=(",", ":")) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CascadeReports:
        """Read the reports again; a file that was cut or changed is refused."""
        name = file_name(path)
        try:
            data = Path(name).read_bytes()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", "no such name")
            raise FileError(f"{name!r} cannot be read ({why}). Check the path.", kind="missing") from None
        return cls.loads(data, name)

    @classmethod
    def loads(cls, data: bytes | str, name: str = "the text") -> CascadeReports:
        """The same from the content of a file."""
        try:
            content = json.loads(data)
            whole = digest(content) if isinstance(content, dict) else ""
        except (TypeError, ValueError, RecursionError):
            content = None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileError(f"{name} is no file of a cascade's reports; write one with save.", kind="shape")
        if content.get("digest") != whole:
            raise FileError(f"{name} was cut or changed after it was written; take a whole copy.", kind="digest")
        check_version(
            "file of a cascade's reports", content.get("version"), instead="release a new cascade, charged whole"
        )
        try:
            return _read(content)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            why = str(error) if isinstance(error, DiscreetError) else type(error).__name__
            raise FileError(f"{name} is not as discreet writes it ({why}).", kind="shape") from None

    # Showing

    def view(self) -> View:
        one = self.shape is None
        return View(
            f"reports of a cascade of {len(self)} level{'s' if len(self) > 1 else ''} on {self.cascade.grid}",
            self.cascade.columns("report" if one else "reports"),
            self.cascade.lines(self if one else [self.places[0].size] * len(self)),
            (
                f"all of it costs epsilon <= {show_above(self.cascade.price.epsilon)}, whoever shares with whom",
                _SECRET,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """The cascade with each level's reports; as sensitive as the least private level."""
        found = self.cascade.to_dict()
        for level, reports in zip(found["levels"], self, strict=True):
            level["report" if self.shape is None else "reports"] = plain(reports)
        return found


def checked_fingerprint(given: object) -> str | None:
    """A fingerprint as it is: a text of the caller's, or none."""
    if given is None or (isinstance(given, str) and given and given.isprintable() and given.isascii()):
        return given
    raise ReleaseError(
        "A fingerprint is a text such as the hexadecimal digits of a keyed digest of the data; "
        "give one, or none. Nothing was drawn."
    )


def _words(source: Any) -> Source:
    stream = checked_source(source)
    warn_of_seed(stream, stacklevel=4)
    return stream


def _bridged(bridge: Bridge, first: Indices, second: Indices, stream: Source) -> Indices:
    """In chunks; a child forked in the middle holds words of its parent and draws everything anew."""
    while True:
        process, drawn = fork_mark(), np.empty_like(first)
        for start in range(0, len(first), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            drawn[part] = bridge.draw(first[part], second[part], stream)
        if process == fork_mark():
            return drawn


def _number(text: Any) -> Fraction:
    """A rational as it is written: no other text, which could stand for a number that fills the memory."""
    if not isinstance(text, str) or len(text) > _LONGEST or _RATIONAL.fullmatch(text) is None:
        raise FileError("a number is no fraction of whole numbers", kind="shape")
    return Fraction(text)


def _end(text: Any) -> Fraction | None:
    return None if text is None else _number(text)


def _epsilon(part: Any) -> Epsilon | None:
    if part is None:
        return None
    epsilon = Epsilon(_number(part["factor"]), _end(part["base"]))
    if epsilon.factor <= 0 or (epsilon.base is not None and epsilon.base <= 1):
        raise FileError("an epsilon is not positive", kind="shape")
    return epsilon


def _read(content: dict[str, Any]) -> CascadeReports:
    ends = content["grid"]
    grid = Grid(_end(ends["low"]), _end(ends["high"]), _number(ends["step"]))
    levels = [Level.of(alpha=Level(_number(x["alpha"]), _epsilon(x["epsilon"]))) for x in content["levels"]]
    cascade = Cascade(tuple(levels), grid, _number(content["sensitivity"]))
    shape = None if content["shape"] is None else tuple(content["shape"])
    if not all(type(size) is int and size >= 0 for size in shape or ()):
        raise FileError("its shape is none", kind="shape")
    places = []
    for listed in content["places"]:
        if not all(type(place) is int for place in listed):
            raise FileError("a report is no whole number", kind="shape")
        places.append(np.array(listed, dtype=np.int64))
    low, n = cascade.span
    size = 1 if shape is None else math.prod(shape)
    if (
        len(places) != len(levels)
        or not levels
        or any(len(p) != size or p.min(initial=low) < low or p.max(initial=low) > low + n for p in places)
    ):
        raise FileError("its reports do not fit its levels and grid", kind="shape")
    proof, insecure = checked_fingerprint(content["fingerprint"]), content.get("insecure") is not None
    return CascadeReports(cascade, tuple(places), shape, proof, insecure=insecure)
