"""Text files: how one is to be read (`Reading`), and its lines, read so that each concerns its own person alone.

Nothing of how a file is read is guessed: encoding, separator, decimal mark, quotation mark and words for missing values.
Without a word it is RFC 4180 in UTF-8, as discreet writes files itself; what an office's programs write is said once, by
whoever holds the file.

What a forgiving reader makes of a damaged line depends on its neighbours: a quotation mark that is never closed hides
the people after it, a carriage return makes several of one, a separator too many shifts values into other columns. So a
file with such a line is refused as a whole, by the line's number and never by what stands in it; and a file that passes
has one meaning, the same to every strict reader.

    file    = [byte order mark] record *(end record) [end]      end = LF or CR LF
    record  = field *(separator field)                          as many fields as the first record has; or nothing
    field   = plain or "quoted"                                 only quoted ones hold separators, CR, LF, and " as ""

Every value is a text. An empty field is a missing value, quoted or not, and so is one of the words for missing values. An
empty line is nobody's where there are several columns, and a missing value where there is one.
"""

from __future__ import annotations

import codecs
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import TableInputError
from ..exact.arithmetic import encodable, show
from ..exact.given import whole
from .dates import Dates, read_dates
from .held_file import HeldFile

_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_ONE_BYTE = re.compile(r"ascii|iso8859-\d+|cp125\d|cp(437|737|775|85\d|86\d)|koi8-[rtu]|mac-\w+")
_LAST_ROW = 2**20  # of a sheet
_ASCII = bytes(range(128))

Remedies = tuple[tuple[str, str], ...]  # options of a reading that would mend a file, and what to say
Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]

LONGEST = 2**20  # bytes of a record
_BLOCK = 2**20
_MARK = b"\xef\xbb\xbf"
_LF, _CR = 10, 13
_CONTROLS = re.compile(rb"[\x80-\x9f]")  # letters in Windows' encodings, nothing in ISO's
_MOST_TOLD = 5  # lines named in a message
_FIRST_LINES = 20  # that another separator is looked for in

_TOO_LONG = f"longer than {LONGEST} bytes"
_ENDS = "write LF or CR LF at the end of lines, and a field that holds a carriage return in quotation marks"
_BARE = "broken by a carriage return that ends no line"
_QUOTING = (
    'write a field that holds a separator, a line end or a mark in quotation marks, each mark inside it as "", or say '
    "how the file is written (quote, separator)"
)
_OTHER_FIELDS = f"{_QUOTING}; if the names of the columns stand in another line, say which (--header-row 3)"
_ODD_LINES = (
    "complete such a line in the file itself, or take it out; a field that holds a separator needs quotation marks"
)
_ZERO = "take it out, or convert the file to UTF-8 if it is in UTF-16"
_ENCODING = "say its encoding, such as latin-1 or cp1252, or convert the file to UTF-8"


@dataclass(frozen=True)
class Reading:
    """One way of reading text files. `separator` None: by the file's name. `decimal` None: nothing was said, a point is read.

    >>> Reading.of(encoding="Latin1", separator="semicolon", decimal=",", null="NA, -")
    Reading(encoding='iso8859-1', separator=';', decimal=',', quote='"', nulls=('NA', '-'), sheet=None, header_row=1, dates=())
    """

    encoding: str = "utf-8"
    separator: str | None = None
    decimal: str | None = None
    quote: str = '"'  # empty: there is none, and every mark is a character like others
    nulls: tuple[str, ...] = ()
    sheet: str | None = None  # of an Excel file
    header_row: int = (
        1  # the line, or row of a sheet, that holds the names of the columns; what stands above is not read
    )
    dates: tuple[tuple[str, str], ...] = ()  # columns of dates, each with the form that they are written in

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
        dates: Dates = (),
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
        nulls = tuple(dict.fromkeys(w for w in listed if w))
        return cls(_codec(encoding), given, decimal, mark, nulls, sheet, row, () if dates == () else read_dates(dates))

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
            dates=written.get("dates", ()),
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
            **({"dates": dict(self.dates)} if self.dates else {}),
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
        said = [(k, v) for k, v in words.items() if v is not None and v != usual.get(k)]
        said += [("dates", f"{column}:{form}") for column, form in self.dates]
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


# Lines


def read_lines(
    file: HeldFile,
    reading: Reading,
    separator: str,
    fields: int,
    wanted: Sequence[int],
    progress: Callable[[int], None],
    numbered: bool = False,
) -> Iterator[list[Any]]:
    """The wanted columns, by number, of all records after the header: Arrow arrays of texts, some lines at a time.

    `progress` is told how many bytes were read. With `numbered`, an array of the records' line numbers stands first.
    """
    scan, unended, skipped = _Scan(file.name, ord(separator), reading.quote, fields, reading.header_row), b"", 1
    with file.opened() as opened:
        skip_to_header(opened, reading.header_row)
        while lines := _whole_lines(opened, scan, unended):
            block = unended + _as_utf8(lines, scan, reading.encoding, unended.count(b"\n"))
            starts, stops, read = scan.look(block)
            unended = block[read:]
            columns = [_texts(block, starts[skipped:, k], stops[skipped:, k], reading) for k in wanted]
            yield [scan.numbers(block, starts[skipped:, 0], read), *columns] if numbered else columns
            skipped = max(0, skipped - len(starts))
            progress(opened.tell())
    if unended:
        scan.refuse([scan.line], "opened by a quotation mark that is never closed", _QUOTING)


def skip_to_header(file: BinaryIO, header_row: int) -> bool:
    """Go past the byte order mark and the lines above the header, whatever stands in them; is there such a line?"""
    if file.read(len(_MARK)) != _MARK:
        file.seek(0)
    above = header_row - 1
    while above and (piece := file.readline(_BLOCK)):
        above -= piece.endswith(b"\n")
    return not above


def has_mark(file: HeldFile) -> bool:
    """Does the file begin with UTF-8's byte order mark?"""
    with file.opened() as opened:
        return opened.read(len(_MARK)) == _MARK


def check_wide(file: HeldFile) -> None:
    """Refuse UTF-16 and UTF-32 by their byte order marks: all their lines would be odd, and the first one tells why."""
    with file.opened() as opened:
        if opened.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise TableInputError(
                f"{show(file.name)} is in UTF-16 by its first bytes; save or convert it as UTF-8 (in a "
                "spreadsheet, CSV UTF-8)."
            )


def _as_utf8(lines: bytes, scan: _Scan, encoding: str, before: int) -> bytes:
    """Lines of a file of any encoding as UTF-8; a byte that is no character of it refuses the file. `before`: how many lines of the
    record under way were read already."""
    if encoding == "utf-8" or lines.isascii():
        return lines
    control = _CONTROLS.search(lines) if encoding.startswith("iso8859") else None
    wrong = -1 if control is None else control.start()
    try:
        text = lines.decode(encoding)
    except UnicodeDecodeError as error:
        wrong = error.start
    if wrong >= 0:
        line = scan.line + before + lines[:wrong].count(b"\n")
        scan.refuse([line], f"no text in {encoding}", "say another encoding, such as cp1252", other_encodings(encoding))
    return text.encode()


def other_encodings(used: str) -> Remedies:
    """Those that most files are in: Windows has letters where ISO has none."""
    return tuple(("encoding", name) for name in ("cp1252", "latin-1", "utf-8") if _codec(name) != used)


def likely_separators(data: Bytes, used: int) -> Remedies:
    """Other marks that stand equally often in each of the first lines."""
    *lines, _ = data[: 2**16].tobytes().split(b"\n", _FIRST_LINES)
    often = {word: {line.count(mark.encode()) for line in lines if line} for word, mark in _SEPARATORS.items()}
    likely = [word for word in ("semicolon", "tab", "comma", "pipe") if len(often[word]) == 1 and often[word] != {0}]
    return tuple(
        ("separator", "tab" if word == "tab" else _SEPARATORS[word])
        for word in likely
        if ord(_SEPARATORS[word]) != used
    )


def _whole_lines(file: BinaryIO, scan: _Scan, unended: bytes) -> bytes:
    """The next lines of the file, the last of them ended even where the file does not; nothing at its end."""
    block = file.read(_BLOCK)
    block += file.readline(LONGEST + 2)  # CR LF included, so that where a record begins decides nothing
    if not block or block.endswith(b"\n"):
        return block
    line = scan.line + unended.count(b"\n") + block.count(b"\n")
    if file.read(1):
        bare = b"\r" in block[block.rfind(b"\n") + 1 :]
        scan.refuse([line], _TOO_LONG, _ENDS if bare else "shorten it")
    if block.endswith(b"\r"):
        scan.refuse([line], _BARE, _ENDS)
    return block + b"\n"


def _texts(block: bytes, starts: Places, stops: Places, reading: Reading) -> Any:
    """These stretches of a block as Arrow texts, empty ones and nulls as missing, quoted ones without their quotes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mark, quoted = reading.quote, np.zeros(len(starts), dtype=np.bool_)
    if mark and mark.encode() in block:
        data = np.frombuffer(block, dtype=np.uint8)
        quoted = (stops > starts) & (data[np.minimum(starts, len(data) - 1)] == _byte(mark))
    # stretches and the gaps between them, as one array over the block: those at even places are the wanted ones
    edges = np.empty(2 * len(starts), dtype=np.int32)
    edges[::2], edges[1::2] = starts, stops
    count = max(len(edges) - 1, 0)
    if quoted.any():
        edges[::2] += quoted
        edges[1::2] -= quoted
    whole = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(edges), pa.py_buffer(block)])
    texts = whole.take(pa.array(np.arange(0, count, 2)))
    if quoted.any():
        texts = pc.if_else(pa.array(quoted), pc.replace_substring(texts, 2 * mark, mark), texts)
    there = edges[1::2] > edges[::2]
    if reading.nulls:
        there &= ~pc.is_in(texts, pa.array(reading.nulls, pa.string())).to_numpy(zero_copy_only=False)
    return texts if there.all() else pc.if_else(pa.array(there), texts, pa.scalar(None, pa.string()))


def _byte(mark: str) -> int:
    """The byte of a mark; one that no byte equals where there is none."""
    return ord(mark) if mark else 256


class _Scan:
    """Blocks of whole lines, each from the beginning of a record, which is line number `line` of the file."""

    def __init__(self, name: str, separator: int, quote: str, fields: int, header_row: int) -> None:
        self.name, self.separator, self.fields, self.line = name, separator, fields, header_row
        self.header_row = header_row
        self.header = "the first line" if header_row == 1 else f"line {header_row}"
        self.quote = _byte(quote)
        self.may_precede, self.may_follow = np.zeros((2, 256), dtype=np.bool_)  # an opening quote, a closing one
        if quote:
            self.may_precede[[separator, _LF, self.quote]] = self.may_follow[[separator, _LF, _CR, self.quote]] = True

    def look(self, block: bytes) -> tuple[Places, Places, int]:
        """Where the fields of a block's records begin and end, a row for each, and how many bytes these records take.

        Whether a mark stands in a quoted field is the parity of the quotes before it: a doubled one closes and opens
        at once. That each quote stands where one may stand is then seen from its two neighbours.
        """
        data = np.frombuffer(block, dtype=np.uint8)
        self._check_text(block, data)
        structural = (data == self.separator) | (data == _LF)
        quotes, has_returns = self.quote < 256 and bytes([self.quote]) in block, b"\r" in block
        for byte in ([self.quote] if quotes else []) + ([_CR] if has_returns else []):
            structural |= data == byte
        places = np.flatnonzero(structural)
        marks = data[places]
        if quotes:
            plain = self._outside_quotes(data, places, marks)
            places, marks = places[plain], marks[plain]
        if has_returns:
            returns = marks == _CR
            self._refuse_at(data, places[returns][data[places[returns] + 1] != _LF][:1], _BARE, _ENDS)
            places, marks = places[~returns], marks[~returns]
        ends = np.flatnonzero(marks == _LF)
        read = int(places[ends[-1]]) + 1 if len(ends) else 0
        if len(block) - read > LONGEST:
            self._refuse_at(data, np.array([read]), _TOO_LONG, "shorten it, or close its quotation mark")
        starts, stops = self._fields(data, places[: ends[-1] + 1] if len(ends) else places[:0], ends, has_returns)
        self.line += block.count(b"\n", 0, read) if quotes else len(ends)
        return starts, stops, read

    def _check_text(self, block: bytes, data: Bytes) -> None:
        wrong = block.find(b"\0")
        try:
            if not block.isascii():
                block.decode()
        except UnicodeDecodeError as error:
            wrong = error.start
        if wrong >= 0:
            if block[wrong : wrong + 1] == b"\0":
                self._refuse_at(data, np.array([wrong]), "no text: it holds a zero byte", _ZERO)
            self._refuse_at(data, np.array([wrong]), "no text in UTF-8", _ENCODING, other_encodings("utf-8"))

    def numbers(self, block: bytes, firsts: Places, read: int) -> Places:
        """The line numbers of records of the block that was looked at last, by where they begin."""
        feeds = np.flatnonzero(np.frombuffer(block, dtype=np.uint8)[:read] == _LF)
        return self.line - len(feeds) + np.searchsorted(feeds, firsts)

    def _outside_quotes(self, data: Bytes, places: Places, marks: Bytes) -> NDArray[np.bool_]:
        """Which marks are not in a quoted field, when every quote opens a field, closes one, or is doubled in one."""
        is_quote = marks == self.quote
        inside = np.cumsum(is_quote, dtype=np.uint8) & 1 == 1  # after this mark; a carry beyond 8 bits keeps parity
        opening, closing = places[is_quote & inside], places[is_quote & ~inside]
        # a block ends with a line feed: that stands before its first byte too, and behind every other
        misplaced = [opening[~self.may_precede[data[opening - 1]]], closing[~self.may_follow[data[closing + 1]]]]
        self._refuse_at(data, np.sort(np.concatenate(misplaced))[:1], "broken by a quotation mark", _QUOTING)
        plain: NDArray[np.bool_] = ~inside & ~is_quote
        return plain

    def _fields(self, data: Bytes, places: Places, ends: Places, has_returns: bool) -> tuple[Places, Places]:
        """From the separators and record ends (`ends` numbers these among `places`) to the fields, a row a record."""
        starts, stops = np.empty_like(places), places
        starts[:1] = 0
        np.add(places[:-1], 1, out=starts[1:])
        if has_returns:
            stops = places - ((places > starts) & (data[places - 1] == _CR) & (data[places] == _LF))
        found = np.diff(ends, prepend=-1)
        firsts = starts[ends - found + 1]
        lengths = stops[ends] - firsts
        wrong = (found != self.fields) & (lengths > 0)
        if wrong.any():
            told = f"not of {self.fields} fields as {self.header} is"
            likely = likely_separators(data, self.separator)
            few = 2 * np.count_nonzero(wrong) < np.count_nonzero(lengths)
            if few:  # the names stand where they should, and a few lines are odd; or commas are decimal marks
                remedy = f"{_ODD_LINES}; or say the separator, if it is another one" if likely else _ODD_LINES
                self._refuse_at(data, firsts[wrong], told, remedy, likely)
            remedies = (*likely, ("header_row", str(self.header_row + 1)))
            self._refuse_at(data, firsts[wrong], told, _OTHER_FIELDS, remedies)
        self._refuse_at(data, firsts[lengths > LONGEST], _TOO_LONG, "shorten it, or close its quotation mark")
        if self.fields > 1 and not lengths.all():
            kept = np.repeat(lengths > 0, found)
            starts, stops = starts[kept], stops[kept]
        return starts.reshape(-1, self.fields), stops.reshape(-1, self.fields)

    def _refuse_at(self, data: Bytes, places: Places, what: str, remedy: str, remedies: Remedies = ()) -> None:
        if len(places):
            some = places[: _MOST_TOLD + 1].tolist()
            self.refuse([self.line + int((data[:place] == _LF).sum()) for place in some], what, remedy, remedies)

    def refuse(self, lines: Iterable[int], what: str, remedy: str, remedies: Remedies = ()) -> NoReturn:
        """One sentence of positions; never of what stands there. `remedies` are ways of reading that would mend it."""
        told = [str(line) for line in lines]
        more = ", ..." if len(told) > _MOST_TOLD else ""
        many = f"lines {', '.join(told[:_MOST_TOLD])}{more} are" if len(told) > 1 else f"line {told[0]} is"
        raise TableInputError(f"In {show(self.name)}, {many} {what}; {remedy}. Nothing was counted.", remedies=remedies)
