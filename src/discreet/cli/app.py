"""The command line's frame: one app, where its commands are, and errors of one or two sentences.

Exit codes: 0 it held, 1 a check failed, 2 bad input. A command's module is imported when it is asked for, and heavy imports
wait until it runs.
"""

from __future__ import annotations

import difflib
import inspect
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    Group,
    MissingArgumentError,
    Parameter,
    RepeatArgumentError,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
)

from .options import FORMATS, Debug, ReadingOptions

if TYPE_CHECKING:
    from rich.console import Console

    from ..present.views import Result, View

# Who asks for what, in the order of their work, and the module of each command
KINDS = {
    "For an office that publishes tables": {
        "profile": "admission",
        "ledger": "ledgers",
        "admit": "admission",
        "preview": "releases",
        "release": "releases",
        "release-to": "releases",
        "check-release": "saved_releases",
        "compare-releases": "saved_releases",
        "plan-epsilon": "designs",
        "plan-error": "designs",
        "plan-tables": "designs",
    },
    "For a team that collects reports": {
        "plan-reports": "designs",
        "lifetime": "sharing",
        "perturb": "collecting",
        "tally": "collecting",
        "recover": "recovery",
    },
    "For research, and for whoever builds mechanisms": {
        "make": "mechanisms",
        "design": "designs",
        "check": "mechanisms",
        "show": "mechanisms",
        "compare": "designs",
        "sample": "mechanisms",
        "audit": "mechanisms",
        "sensitivity": "records",
        "collude": "sharing",
        "compose": "sharing",
        "cascade": "sharing",
    },
    "For everybody": {"demo": "tour", "studio": "program", "completion": "program"},
}
COMMANDS = tuple(name for commands in KINDS.values() for name in commands)


def _default(value: Any) -> str | None:
    """What is shown of a default: nothing where nothing is the default."""
    return None if value is None or value is False or value == "" else str(value)


app = App(
    name="discreet",
    help="Differential privacy for counts: publish tables, collect answers, design mechanisms.\n\n"
    "Begin with discreet demo; see what a command takes with discreet COMMAND --help.\n\n"
    "Example: discreet make geometric --n 8 --alpha 9/10 -o gm.json",
    version=lambda: str(sys.modules[__name__.partition(".")[0]].__version__),
    version_flags=["--version"],
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # stopping says what was done
    default_parameter=Parameter(negative_iterable=(), show_default=_default),
)
for place, (kind, commands) in enumerate(KINDS.items(), start=1):
    group = Group(kind, sort_key=place)
    for k, (name, module) in enumerate(commands.items()):
        app.command(f"{__package__}.{module}:{name.replace('-', '_')}", name=name, group=group, sort_key=k)
besides = Group("Besides", sort_key=len(KINDS) + 1)
for flag, told in (("--help", "Show this, and exit."), ("--version", "Show the version, and exit.")):
    app[flag].group, app[flag].help = besides, told


@dataclass(frozen=True)
class Output:
    """What a command found: its document for --json, its rows for --csv and --latex, and for people its text, or else its view."""

    result: Result | None = None
    code: int = 0
    text: str | None = None
    style: str | None = None  # of the text
    view: View | None = None  # instead of a result
    document: Any = None  # by default the result's,
    part: str | None = None  # or this part of it
    notes: tuple[str, ...] = ()  # for people, after the rest
    most: int | None = None  # rows that a terminal shows

    def present(self, json: bool = False, csv: bool = False, latex: bool = False) -> None:
        if json:
            document = self.document if self.result is None else self.result.to_dict()
            print(dump(document if self.part is None else document[self.part]))
        elif csv:
            self._print_rows()
        elif latex:
            self._print_latex()
        else:
            self._show()

    def _print_rows(self) -> None:
        from ..present.words import csv_lines, csv_text

        if self.view is not None:
            sys.stdout.write(csv_lines(self.view.columns, self.view.rows))
        elif self.result is not None:
            sys.stdout.write(csv_text(self.result.rows()))

    def _print_latex(self) -> None:
        from ..present.latex import tabular

        if self.view is not None:
            sys.stdout.write(tabular(self.view))
        elif self.result is not None:
            sys.stdout.write(self.result.to_latex())

    def drawn(self, out: str | None) -> Output:
        """The same, after a picture of its result was written where one is wanted."""
        from ..present import plot

        if out is None:
            return self
        plot.save(self.result.plot(), out)  # type: ignore[union-attr]
        return replace(self, notes=(*self.notes, f"Written: {out}."))

    def _show(self) -> None:
        from . import terminal

        console = make_console()
        if self.text is not None:
            console.print(self.text, style=self.style, markup=False)
        elif (view := self.result.view() if self.result is not None else self.view) is not None:
            terminal.show(console, view, terminal.MOST_ROWS if self.most is None else self.most)
        for note in self.notes:
            console.print(note, markup=False)


def command(*formats: str) -> Callable[[Callable[..., Output | int]], Callable[..., int]]:
    """A command. Its options --debug and, of "json" and "csv", the `formats` that it answers in are added here; where there is
    CSV there is LaTeX too.

    It returns an Output, which is presented, or an exit code where it has presented everything itself. Each paragraph of its
    words becomes one line, since terminals wrap by themselves.
    """

    def declare(function: Callable[..., Output | int]) -> Callable[..., int]:
        hints = get_type_hints(function, include_extras=True)
        own = inspect.signature(function)
        offered = [*formats, *(["latex"] if "csv" in formats else [])]
        added = {**{name: FORMATS[name] for name in offered}, "debug": Debug}
        options = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False) for name in added]

        @wraps(function)
        def run(*words: Any, **given: Any) -> int:
            asked = [f"--{name}" for name in FORMATS if given.get(name)]
            if len(asked) > 1:
                from ..errors import DiscreetError

                raise DiscreetError(f"{asked[0]} and {asked[1]} cannot both be had; give one of them.")
            _no_option_among([*words, *given.values()])
            wanted = {name: given.pop(name, False) for name in added}
            answer = function(*words, **given)
            if isinstance(answer, int):
                return answer
            answer.present(**{name: wanted[name] for name in offered})
            return answer.code

        paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
        run.__doc__ = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
        run.__annotations__ = {**hints, **added, "return": int}
        run.__signature__ = own.replace(parameters=[*own.parameters.values(), *options])  # type: ignore[attr-defined]
        del run.__wrapped__
        return run

    return declare


class TakenForValue(Exception):
    """A word that looks like an option and was taken for a file or for the value of an option."""


# What was typed before a word that is -- alone: after it, words that begin with a hyphen are files or values
_typed: ContextVar[tuple[str, ...]] = ContextVar("_typed", default=())
_OPTION = re.compile(r"--[A-Za-z].*|-(?!inf|nan)[A-Za-z][\w-]*", re.DOTALL | re.IGNORECASE)


def _no_option_among(values: list[Any]) -> None:
    """Values may begin with a hyphen, since numbers do, and - is standard input; a misspelt option is no value."""
    for value in values:
        for word in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(word, str) and _OPTION.fullmatch(word) and word in _typed.get():
                raise TakenForValue(word)


def dump(value: Any) -> str:
    return json.dumps(value, indent=1, allow_nan=False)


def apart(out: str | None, *read: str) -> None:
    """Refuse to write over a file that the same command reads."""
    from pathlib import Path

    from ..errors import FileError

    if out not in (None, "-") and Path(out).resolve() in {Path(name).resolve() for name in read}:
        raise FileError(f"{out} is read by this command and would be overwritten; choose another -o.", kind="missing")


def check_picture(out: str | None, *read: str) -> None:
    """Refuse a picture that could not be written, before the work for it begins."""
    from ..errors import FileError
    from ..present.plot import kind_of

    if out == "-":
        raise FileError("A picture needs a file, such as -o picture.svg; words go to standard output.", kind="missing")
    if out is not None:
        kind_of(out)
        apart(out, *read)


def saved(out: str) -> str:
    """What is said of a file that is about to be written: whether one takes the place of another is never silent."""
    return f"{'replaced' if os.path.exists(out) else 'saved to'} {out}"


def make_console(stderr: bool = False) -> Console:
    from rich.console import Console

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Patient(highlight=False, soft_wrap=True, stderr=stderr)


# How the package writes an argument and its value: what to write, and what was given
_ARGUMENTS = (
    re.compile(r"(?<![\w-])(?P<name>[a-z_]+)=(?:\"([^\"]+)\"|([\w/]+(?:\.\d+)?))"),
    re.compile(
        r"(?<![\w-])(?P<name>[a-z_]+) = (?:'([^']+)'|\"([^\"]+)\"|([\w./-]+))(?= (?:must|may|is|cannot|does|has)\b)"
    ),
)
# Options that people give again where they were settled before
_READING = {f"--{field.name.replace('_', '-')}" for field in fields(ReadingOptions)} | {"--codes", "--dates"}
_QUANTILES = {"--median", "--medians", "--quantile", "--quantiles", "--percentile", "--percentiles"}
_TERMS = {"--budget", "--delta", "--per", "--public", "--relation", "--unit"}
# What others call an option, for whoever types it
_SAME = dict.fromkeys(("sd", "sigma", "std", "standard-deviation"), ("standard-error", "rho")) | {
    "epsilon": ("budget",),
    "group-by": ("by",),
}
_PHRASES = {
    "pairs must be a list of pairs of neighbouring true values, for example [(0, 1)]": "--pairs are two neighbouring true values "
    'each, for example --pairs "0,1 50,51"',
    "for example pairs=[(0, 1)], or give mechanism=": 'for example --pairs "0,1"',
    "pass clamp=True": "say --clamp",
    "pass overwrite=True": "say --overwrite",
    "set overwrite=True": "say --overwrite",
    "set counts=None": "say --counts none",
    "Make it with create, or list the data sets with show": "Make it with discreet ledger create, or list the data sets with "
    "discreet ledger show",
    "(other=)": "(discreet make --other)",
    "leave out create": "leave out discreet ledger create",
    " or a Mechanism.": " or the file of a mechanism.",
    ", a function, a matrix or the Path of a file with one": " or a .csv or .json file of a matrix",
    ", a list of probabilities, {value: probability}, a function of a value, or the Path of a file with them": ", probabilities "
    "separated by commas, or a file of them",
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; an error is one or two sentences on standard error, and exit code 2. Ctrl+C is for the caller."""
    code = 0
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # a reader that hangs up (`discreet show m.json | head`) is no error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(words: list[str]) -> int:
    from ..errors import DiscreetError, FileError
    from . import stopping

    try:
        if not words or words[0] in app.help_flags:
            app.resolved_commands()  # the overview tells what all of them do
        _typed.set(tuple(words[: words.index("--")] if "--" in words else words))
        result = app(words, exit_on_error=False, print_error=False, result_action="return_value")
        return result if isinstance(result, int) else 0
    except (DiscreetError, CycloptsError) as error:
        if stopping.was_asked():  # an error that a library made of Ctrl+C
            raise KeyboardInterrupt from None
        _say(_told(error, words), error, words)
        failed_check = isinstance(error, FileError) and error.kind in ("digest", "sum", "claim")
        return 1 if failed_check and words[0] == "check" else 2
    except TakenForValue as error:
        _say(_of_a_word_taken_for_a_value(str(error), words), error, words)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # a fault of ours; its words may hold what is private, and are not shown
        if stopping.was_asked():
            raise KeyboardInterrupt from None
        why = f"{type(error).__name__}: {error.strerror}" if isinstance(error, OSError) else type(error).__name__
        more = "" if "--debug" in words else " Run it again with --debug, and tell us where it arose."
        _say(
            f"It could not be finished ({why}), which should not happen.{more or ' See the lines above.'}", error, words
        )
        return 2


def _say(told: str, error: BaseException, words: list[str]) -> None:
    if "--debug" in words:
        print(_frames(error), file=sys.stderr)
    print(f"discreet: {told}", file=sys.stderr)


def _frames(error: BaseException) -> str:
    """Where an error arose, and what it arose from: lines of code and kinds of errors, no values and no words of theirs."""
    import traceback

    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    earlier = "" if before is None else f"{_frames(before)}\nand from that:\n"
    return f"{earlier}Traceback (most recent call last):\n{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__}"


def _told(error: Exception, words: list[str]) -> str:
    """An error in the words of the command line, with the next move."""
    told = str(error).strip()
    if not isinstance(error, CycloptsError):
        return _as_options(told, words)
    chain = list(error.command_chain or ())
    if isinstance(error, MissingArgumentError) and (unknown := _misspelt(chain, _typed.get())) is not None:
        error, told = unknown, str(unknown).strip()  # what is missing may be what was misspelt
    told = (
        _fixed(error, chain)
        or _once_each(error, chain, words)
        or _of_the_words(error, told, " ".join(["discreet", *chain]), _example(chain))
    )
    where = " ".join(["discreet", *chain, "--help"])
    return f"{told if told.endswith(('.', '?')) else told + '.'} See {where}."


def _of_a_word_taken_for_a_value(word: str, words: list[str]) -> str:
    """An option that does not exist; or one that does, where the option before it lacks its value."""
    chain = list(app.parse_commands(words)[0])
    unknown = _misspelt(chain, [word])
    if unknown is not None:
        return _told(unknown, words)
    before = words[words.index(word) - 1]
    return f"{before} needs a value after it{_example(chain)}. See {' '.join(['discreet', *chain, '--help'])}."


def _misspelt(chain: list[str], words: Sequence[str]) -> UnknownOptionError | None:
    """The first of the words that looks like an option and is none of the command."""
    arguments = _command(chain).assemble_argument_collection()
    known = {name for argument in arguments for name in argument.names}
    for word in words:
        option = word.partition("=")[0]
        if _OPTION.fullmatch(word) and option not in known and (word.startswith("--") or word[:2] not in known):
            error = UnknownOptionError(token=Token(keyword=option, source="cli"), argument_collection=arguments)
            error.command_chain = tuple(chain)
            return error
    return None


def _of_the_words(error: CycloptsError, told: str, name: str, example: str) -> str:
    """What is wrong with the words of a command, in our words; what cyclopts says where it says more."""
    guess = re.search(r"Did you mean .*\?", told)
    hint = "" if guess is None else f". {guess[0]}"
    match error:
        case UnusedCliTokensError(unused_tokens=list(rest)):
            many = "are words" if len(rest) > 1 else "is a word"
            return f"{', '.join(rest)} {many} that {name} does not take{example}"
        case UnknownOptionError(token=token):
            option = (token.keyword or token.value).partition("=")[0]
            known = {option for argument in error.argument_collection or () for option in argument.names}
            return f"{option} is no option of {name}{_meant(option, known)}"
        case RepeatArgumentError(token=token):
            return f"{token.keyword} is given more than once; give it once"
        case CoercionError(token=token, target_type=kind) if token is not None:
            option = token.keyword or (error.argument.name if error.argument else "The word")
            if kind is bool:
                return f"{option} takes no value; write {option} alone"
            choices = ", ".join(map(str, get_args(kind)))
            return f"{option} {token.value} is not known; use {choices}{hint}" if choices else told
        case MissingArgumentError(argument=argument) if argument is not None and not hint:
            given = error.keyword or next((token.keyword for token in argument.tokens if token.keyword), None)
            if given is None:
                return f"{argument.name} is missing{example}"
            count = argument.token_count()[0]
            return f"{given} needs {'a value' if count == 1 else f'{count} words'} after it{example}"
    return told


def _meant(option: str, known: Collection[str]) -> str:
    """A question about the option that was meant: another word for the same, or one that is spelled nearly so."""
    words = [name[2:] for name in sorted(known) if name.startswith("--")]
    near = [word for word in _SAME.get(option[2:], ()) if word in words]
    near += difflib.get_close_matches(option[2:], words, n=1, cutoff=0.72)
    near += [word for word in words if len(word) > 2 and option[2:].startswith(word)]
    return f". Did you mean --{near[0]}?" if near else ""


def _fixed(error: CycloptsError, chain: list[str]) -> str | None:
    """What to say of an option of a release that was settled before: how the file is read, or what is protected in it."""
    if not isinstance(error, UnknownOptionError) or chain[:1] not in (
        ["admit"],
        ["preview"],
        ["release"],
        ["release-to"],
    ):
        return None
    from ..questions.question import NEEDLESS

    option = (error.token.keyword or error.token.value or "").partition("=")[0]
    needless = NEEDLESS.get(option[2:].replace("-", "_"))
    if needless is not None:
        return f"{option} is no option of discreet {chain[0]}. {needless}"
    if option in _QUANTILES:
        return "There are no medians or quantiles of groups here; OpenDP has private quantiles"
    if option in _TERMS:
        return f"{option} is fixed when the data set is created (discreet ledger create); leave it out"
    if option in _READING and chain[0] != "admit":
        written = (
            f"; for the CSV that is written, give --out-{option[2:]}" if option in ("--separator", "--decimal") else ""
        )
        return f"{option} is fixed at admission (discreet admit): the file is read as it was read there; leave it out{written}"
    return None


def _once_each(error: CycloptsError, chain: list[str], words: list[str]) -> str | None:
    """What to say of words after the value of an option that takes one value each time: --by a b; or after a switch."""
    if not isinstance(error, UnusedCliTokensError) or not error.unused_tokens:
        return None
    rest = list(error.unused_tokens)
    start = next((k for k in range(2, len(words)) if words[k : k + len(rest)] == rest), 0)
    option = words[start - 2] if start else ""
    if start and words[start - 1] == "--names":
        return "--names takes no list here: it is a switch; write --n 499 --names for 500 answers"
    many = {
        name
        for argument in _command(chain).assemble_argument_collection()
        for name in argument.names
        if any(get_origin(kind) is list for kind in (argument.hint, *get_args(argument.hint)))
    }
    if option not in many:
        return None
    written = " ".join(f"{option} {shlex.quote(value)}" for value in words[start - 1 : start + len(rest)])
    return f"{option} takes one value each time; write {written}"


def _command(chain: list[str]) -> App:
    found = app
    for name in chain:
        found = found[name]
    return found


def _example(commands: list[str]) -> str:
    """The first example of a command's help."""
    found = _command(commands)
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
        name = f"--{match['name'].replace('_', '-')}"
        value = next(filter(None, match.groups()[1:]), "")
        if name not in known:
            return match[0]
        return f'{name} "{value}"' if " " in value else f"{name} {value}"

    told = re.sub(
        r"domain=\{'(.*?)': \[\.\.\.\]\} lists", r'--domain FILE, JSON such as {"\1": ["a", "b"]}, lists', told
    )
    for spelling in _ARGUMENTS:
        told = spelling.sub(option, told)
    return told
