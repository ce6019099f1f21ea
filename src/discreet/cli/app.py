"""The command line's frame: one app, words that mean the same everywhere, errors of one or two sentences.

Exit codes: 0 it held, 1 a check failed, 2 bad input. Heavy imports wait until a command needs them.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter

if TYPE_CHECKING:
    from rich.console import Console

N = Annotated[
    str | None, Parameter(allow_leading_hyphen=True, help="The largest count: true values and reports are 0..n.")
]
Alpha = Annotated[
    str | None,
    Parameter(allow_leading_hyphen=True, help='The level alpha = e^-epsilon, exactly as written: "9/10" or "0.9".'),
]
EpsilonText = Annotated[
    str | None,
    Parameter(
        name=["--epsilon", "--eps"], allow_leading_hyphen=True, help='The level as epsilon: "0.5", "1/3", "ln(2)/10".'
    ),
]
File = Annotated[str, Parameter(allow_leading_hyphen=True, help="A mechanism file; - for standard input.")]
Json = Annotated[bool, Parameter(name="--json", negative=(), help="JSON for machines instead of a table for people.")]
Csv = Annotated[bool, Parameter(name="--csv", negative=(), help="CSV for spreadsheets instead of a table for people.")]
Out = Annotated[
    str | None,
    Parameter(name=["-o", "--out"], allow_leading_hyphen=True, help="The file to write; - for standard output."),
]
Debug = Annotated[bool, Parameter(negative=(), help="Show the traceback of an error.")]

app = App(
    name="discreet",
    help='Answers "how many?" without giving anyone away.\n\n'
    "Example: discreet make geometric --n 8 --alpha 9/10 -o gm.json",
    version_flags=["--version"],
)


def one_of(json: bool, csv: bool) -> None:
    from ..errors import DiscreetError

    if json and csv:
        raise DiscreetError("--json and --csv cannot both be had; give one of them.")


def finite_or_none(x: float) -> float | None:
    return x if x < float("inf") else None


def dump(value: Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False)


def apart(out: str | None, *read: str) -> None:
    """Refuse to write over a file that the same command reads."""
    from pathlib import Path

    from ..errors import FileError

    if out not in (None, "-") and Path(out).resolve() in {Path(name).resolve() for name in read}:
        raise FileError(f"{out} is read by this command and would be overwritten; choose another -o.", kind="missing")


def plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def make_console() -> Console:
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Patient(highlight=False, soft_wrap=True)


COMMANDS = (
    "make", "check", "show", "audit", "sample", "design", "compare", "plan", "perturb", "tally", "recover",
    "sensitivity", "collude", "compose", "cascade", "look", "admit", "release", "check-release", "ledger", "study",
    "studio", "demo",
)  # fmt: skip
_PHRASES = {
    "pass clamp=True": "say --clamp",
    "pass overwrite=True": "say --overwrite",
    "say overwrite=True": "say --overwrite",
    "say rows=True": "say --rows",
    "say counts=None": "say --counts none",
    "take its reports with at": "see its report with --stored alone",
}  # fmt: skip


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one or two sentences on standard error, and exit code 2."""
    code = 0
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that hangs up (`discreet show m.json | head`) is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(words: list[str]) -> int:
    from ..errors import DiscreetError, FileError

    try:
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        return result if isinstance(result, int) else 0
    except (DiscreetError, CycloptsError) as error:
        if "--debug" in words:
            traceback.print_exc()
        print(f"discreet: {_told(error, words)}", file=sys.stderr)
        failed_check = isinstance(error, FileError) and error.kind in ("digest", "sum", "claim")
        return 1 if failed_check and words[0] == "check" else 2
    except KeyboardInterrupt:
        print("discreet: stopped.", file=sys.stderr)
        return 130


def _told(error: Exception, words: list[str]) -> str:
    """An error in the words of the command line, with the next move."""
    told = str(error).strip()
    if not isinstance(error, CycloptsError):
        return _as_options(told, words)
    if isinstance(error, MissingArgumentError) and error.keyword is None and error.argument and "Did you mean" not in told:
        told = f"{error.argument.name} is missing{_example(list(error.command_chain or ()))}"
    command = f"{words[0]} " if words and words[0] in COMMANDS else ""
    return f"{told if told.endswith(('.', '?')) else told + '.'} See discreet {command}--help."


def _example(commands: list[str]) -> str:
    """The first example of a command's help."""
    found = app
    for name in commands:
        found = found[name]
    match = re.search(r"^\s*Example: (.*)$", found.help, re.MULTILINE)
    return "" if match is None else f"; write for example {match[1].strip()}"


def _as_options(told: str, words: list[str]) -> str:
    """Where the package says what to write in Python: the same as options, if the command has them."""
    for phrase, instead in _PHRASES.items():
        told = told.replace(phrase, instead)
    if not words or words[0] not in COMMANDS or app[words[0]].default_command is None:
        return told
    known = {name for argument in app[words[0]].assemble_argument_collection() for name in argument.names}

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        return f"{name} {match[2] or match[3]}" if name in known else match[0]

    return re.sub(r"(?<![\w-])([a-z_]+)=(?:\"([^\"\s]+)\"|([\w/]+(?:\.\d+)?))", option, told)
