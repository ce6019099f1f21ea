"""How a text file is to be read: its encoding, separator, decimal mark, quotation mark and words for missing values.

Nothing of this is guessed. Without a word it is RFC 4180 in UTF-8, as discreet writes files itself; what an office's
programs write is said once, by whoever holds the file.
"""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import TableInputError
from ..exact.arithmetic import encodable, show
from ..exact.given import whole

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_ONE_BYTE = re.compile(r"ascii|iso8859-\d+|cp125\d|cp(437|737|775|85\d|86\d)|koi8-[rtu]|mac-\w+")
_LAST_ROW = 2**20  # of a sheet
_ASCII = bytes(range(128))


@dataclass(frozen=True)
class Reading:
    """One way of reading text files. `separator` None: by the file's name. `decimal` None: nothing was said, a point is read.

    >>> Reading.of(encoding="Latin1", separator="semicolon", decimal=",", null="NA, -")
    Reading(encoding='iso8859-1', separator=';', decimal=',', quote='"', nulls=('NA', '-'), sheet=None, header_row=1)
    """

    encoding: str = "utf-8"
    separator: str | None = None
    decimal: str | None = None
    quote: str = '"'  # empty: there is none, and every mark is a character like others
    nulls: tuple[str, ...] = ()
    sheet: str | None = None  # of an Excel file
    header_row: int = 1  # of a sheet: the one that holds the names of the columns; what stands above it is not read

    @classmethod
    def of(
        cls,
        *,
        encoding: str = "utf-8",
        separator: str | None = None,
        decimal: str | None = None,
        quote: str = '"',
        null: str | Sequence[str] = (),
        sheet: str | None = None,
        header_row: object = 1,
    ) -> Reading:
        """From what people write: any name of an encoding, words for separators, nulls as a list or one text with commas."""
        mark = "" if quote == "none" else quote
        given = separator if separator is None else _SEPARATORS.get(separator, separator)
        if given is not None and not (_is_mark(given) or given == "\t"):
            raise TableInputError(
                f'A separator is one character such as ";" or "|", or the word tab, not {show(separator)}.'
            )
        if mark and not _is_mark(mark):
            raise TableInputError(
                f"A quotation mark is one character such as ' or \", or the word none, not {show(quote)}."
            )
        if decimal not in (None, ".", ","):
            raise TableInputError(f'A decimal mark is "." or ",", not {show(decimal)}.')
        if mark and mark in (given, decimal):
            raise TableInputError("The quotation mark is also the separator or the decimal mark; they must differ.")
        listed = [word.strip() for word in null.split(",")] if isinstance(null, str) else null
        if not isinstance(listed, Sequence) or not all(isinstance(w, str) and encodable(w) for w in listed):
            raise TableInputError('Words for missing values are texts, such as null="NA,-" or a list of them.')
        if sheet is not None and not (isinstance(sheet, str) and sheet and encodable(sheet)):
            raise TableInputError(f"A sheet is named by a text, not {show(sheet)}.")
        row = whole(header_row, "header_row", 1, _LAST_ROW, example=3, error=TableInputError)
        return cls(_codec(encoding), given, decimal, mark, tuple(dict.fromkeys(w for w in listed if w)), sheet, row)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> Reading:
        """What `to_dict` gave."""
        return cls.of(
            encoding=written["encoding"],
            separator=written["separator"],
            decimal=written["decimal"],
            quote=written["quote"] or "none",
            null=list(written["nulls"]),
            sheet=written.get("sheet"),
            header_row=written.get("header_row", 1),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "encoding": self.encoding,
            "separator": self.separator,
            "decimal": self.decimal,
            "quote": self.quote,
            "nulls": list(self.nulls),
            "sheet": self.sheet,
            **({"header_row": self.header_row} if self.header_row != 1 else {}),
        }

    def check_for(self, kind: str, *used: str) -> None:
        """Refuse what was said about the reading of a kind of table that does not need it: no option is ignored."""
        plain = Reading().to_dict()
        said = [name for name, value in self.to_dict().items() if name not in used and value != plain.get(name)]
        if said:
            names = ", ".join("null" if name == "nulls" else name for name in said)
            raise TableInputError(f"{kind} is not read by {names}; leave that out.")

    @property
    def is_utf8(self) -> bool:
        return self.encoding == "utf-8"

    def options(self) -> str:
        """The same on the command line, as a shell reads it; empty for plain CSV.

        >>> Reading.of(encoding="latin-1", separator=";", null="NA").options()
        " --encoding iso8859-1 --separator ';' --null NA"
        """
        plain = Reading()
        words = {
            "encoding": self.encoding,
            "separator": "tab" if self.separator == "\t" else self.separator,
            "decimal": self.decimal,
            "quote": self.quote or "none",
            "null": ",".join(self.nulls) or None,
            "sheet": self.sheet,
            "header-row": None if self.header_row == 1 else str(self.header_row),
        }
        usual = {"encoding": plain.encoding, "quote": plain.quote}
        said = ((k, v) for k, v in words.items() if v is not None and v != usual.get(k))
        return "".join(f" {shlex.join([f'--{k}', v])}" for k, v in said)


def _is_mark(text: object) -> bool:
    return (
        isinstance(text, str) and len(text) == 1 and text.isascii() and text.isprintable() and not text.isalnum()
    ) and text not in "+-."


def _codec(name: object) -> str:
    """The one name of an encoding in which each byte is a character and ASCII is itself, or of UTF-8."""
    try:
        found = codecs.lookup(name).name if isinstance(name, str) else ""
    except (LookupError, ValueError):
        found = ""
    if found in ("utf-8", "utf-8-sig"):  # a byte order mark is read past anyway
        return "utf-8"
    if not _ONE_BYTE.fullmatch(found) or _ASCII.decode(found, errors="replace") != _ASCII.decode():
        raise TableInputError(
            f"{show(name)} is no encoding that can be read here; use utf-8, latin-1, cp1252, or another with one "
            "byte for each character, or convert the file to UTF-8."
        )
    return found
