"""Pages that are written from the code: one for each public module, with signatures and examples, and one of all commands."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import discreet
from discreet.cli.app import COMMANDS, app
from discreet.present.views import Result

FACES = ("measure", "designs", "queries", "sharing", "theory", "traditional", "noise", "results", "errors")
_GROUPS = {
    "mechanisms": "Mechanisms",
    "mechanism": "Mechanisms",
    "files": "Mechanisms",
    "exact": "Levels, grids, neighbours",
    "measure": "What a mechanism is worth",
    "designs": "Designs",
    "recovery": "Recovery",
    "planning": "Planning and comparing",
    "ledger": "Budgets",
    "questions": "Releases",
    "engines": "Releases",
    "tables": "Releases",
    "collect": "Collecting",
    "randomness": "Randomness",
}
_WIDTH = 110


# The pages of names


def write(folder: Path) -> None:
    """The page of every public module, into docs/reference."""
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Every page by the name of its file: discreet.md has the names on top, discreet.measure.md those of dt.measure."""
    return {"discreet.md": _top(), **{f"discreet.{face}.md": _face(face) for face in FACES}}


def public_names(face: str = "") -> list[str]:
    """The names of a public module, but for modules."""
    module = getattr(discreet, face) if face else discreet
    named = getattr(module, "__all__", None) or [
        name for name, thing in vars(module).items() if inspect.isclass(thing) and thing.__module__ == module.__name__
    ]
    return [name for name in named if not inspect.ismodule(getattr(module, name))]


def _top() -> str:
    groups: dict[str, list[str]] = {}
    for name in public_names():
        groups.setdefault(_GROUPS[getattr(discreet, name).__module__.split(".")[1]], []).append(name)
    lines = [
        "# discreet",
        "",
        "What everybody uses daily: `import discreet as dt`. Everything else is in submodules (`dt.measure`, `dt.queries`, ...).",
        "",
    ]
    for group in (group for group in dict.fromkeys(_GROUPS.values()) if group in groups):
        lines += [f"**{group}**", "", *_listed(groups[group], ""), ""]
    for group in (group for group in dict.fromkeys(_GROUPS.values()) if group in groups):
        lines += [f"## {group}", ""]
        for name in groups[group]:
            lines += _described(name, getattr(discreet, name), "###")
    return _finished(lines)


def _face(face: str) -> str:
    module, names = getattr(discreet, face), public_names(face)
    lines = [f"# discreet.{face}", "", _words(inspect.getdoc(module) or ""), "", *_listed(names, f"{face}."), ""]
    for name in names:
        lines += _described(f"{face}.{name}", getattr(module, name), "##")
    return _finished(lines)


def _finished(lines: list[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"


def _listed(names: list[str], before: str) -> Iterator[str]:
    """A table of names, each with the first sentence about it."""
    yield from ("| name | what it is |", "|---|---|")
    for name in names:
        home = getattr(discreet, before[:-1]) if before else discreet
        told = (inspect.getdoc(getattr(home, name)) or "").split("\n\n")[0]
        first = re.split(r"(?<=[a-z0-9)`\]])[.:] (?=[A-Z`])", " ".join(told.split()))[0].rstrip(".")
        first = re.sub(r"(?<!\\)\|", r"\|", _escaped(first))  # bars within code would end the cell
        yield f"| {link(before + name)} | {first} |"


def _described(name: str, thing: Any, heading: str) -> Iterator[str]:
    yield from (f"({anchor(name)})=", f"{heading} dt.{name}", "")
    if not (_is_result(thing) and givers().get(thing.__name__)):  # nobody calls these: their fields are listed below
        yield from ("```python", _called(f"dt.{name}", thing), "```", "")
    yield _words(inspect.getdoc(thing) or "")
    yield ""
    if inspect.isclass(thing):
        yield from _origin(thing)
        yield from _members(thing)
    else:
        given = [_linked(word) for word in _returned(thing) if word in homes()]
        if given:
            yield from (f"Returns {' or '.join(given)}.", "")


def _origin(thing: type) -> Iterator[str]:
    """Where a value of this type comes from: the calls that return it, and the types that are one."""
    calls = givers().get(thing.__name__, [])
    if calls:
        yield from (f"Given by {', '.join(calls[:6])}.", "")
    kinds = [_linked(other) for other, kind in _classes().items() if thing in kind.__mro__[1:] and kind is not thing]
    if kinds and not calls:
        yield from (f"Every {', '.join(kinds[:8])}{' and others' if len(kinds) > 8 else ''} is one.", "")


def _members(thing: type) -> Iterator[str]:
    """The attributes and methods of a class, those first that are fields."""
    fields = {
        name: str(kind)
        for name, kind in getattr(thing, "__annotations__", {}).items()
        if not name.startswith("_")
        and "ClassVar" not in str(kind)
        and name in getattr(thing, "__dataclass_fields__", {})
    }
    for name, kind in fields.items():
        yield f"- `.{name}: {kind}`"
    inherited, mapped = list[str](), list[str]()
    for name, member in inspect.getmembers(thing, _is_member):
        told = inspect.getdoc(member)
        if name.startswith("_") or name in fields or not told:
            continue
        if _is_result(thing) and hasattr(Result, name) and told == inspect.getdoc(getattr(Result, name)):
            inherited.append(f"`.{name}()`")
            continue
        call = _function(member)
        if call.__module__ == "collections.abc":
            mapped.append(f"`.{name}()`")
            continue
        is_call = not isinstance(member, property | cached_property)
        given = _signature(call, skip=1) if is_call else _annotation(call)
        yield f"- `.{name}{given}`: {_escaped(' '.join(told.split(chr(10) * 2)[0].split()))}"
    if mapped:
        yield f"- {', '.join(mapped)}: as every mapping has them"
    if inherited:
        yield f"- {', '.join(inherited)}: as every {_linked('Result')} has them"
    yield ""


def _is_result(thing: Any) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Result) and thing is not Result


def _is_member(member: Any) -> bool:
    return inspect.isfunction(member) or inspect.ismethod(member) or isinstance(member, property | cached_property)


def _function(member: Any) -> Any:
    """The function behind a method, a property or a value that is worked out once."""
    for name in ("fget", "func", "__func__"):
        member = getattr(member, name, member)
    return member


# Signatures, with types


def _called(name: str, thing: Any) -> str:
    """A call in one line, or with a line for each argument."""
    text = name + _signature(thing)
    return text if len(text) <= _WIDTH else name + _signature(thing, first="\n    ", between=",\n    ", last=",\n")


def _signature(thing: Any, skip: int = 0, *, first: str = "", between: str = ", ", last: str = "") -> str:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    rows, starred = list[str](), False
    for p in [*found.parameters.values()][skip:]:
        if p.kind is p.KEYWORD_ONLY and not starred:
            rows, starred = [*rows, "*"], True
        starred = starred or p.kind is p.VAR_POSITIONAL
        rows.append(_plain(p))
    back = (
        ""
        if found.return_annotation is found.empty or inspect.isclass(thing)
        else f" -> {_named(found.return_annotation)}"
    )
    return f"({first}{between.join(rows)}{last}){back}" if rows else f"(){back}"


def _plain(p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    kind = "" if p.annotation is p.empty else f": {_named(p.annotation)}"
    usual = p.default.__name__ if inspect.isclass(p.default) else repr(p.default)
    default = "" if p.default is p.empty else f" = {usual}" if kind else f"={usual}"
    return f"{stars}{p.name}{kind}{default}"


def _annotation(function: Any) -> str:
    kind = inspect.signature(function).return_annotation if callable(function) else inspect.Signature.empty
    return "" if kind is inspect.Signature.empty else f": {_named(kind)}"


def _named(kind: Any) -> str:
    return kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))


def _returned(thing: Any) -> list[str]:
    try:
        return list(dict.fromkeys(re.findall(r"\w+", _named(inspect.signature(thing).return_annotation))))
    except (TypeError, ValueError):
        return []


@cache
def homes() -> dict[str, str]:
    """Where every public class is described, by its own name: Verdict is dt.results.Verdict."""
    found = {name: f"results.{name}" for name in public_names("results")}
    for face in ("traditional", "noise", "designs"):
        found |= {name: f"{face}.{name}" for name in public_names(face) if name[:1].isupper()}
    return found | {name: name for name in public_names() if name[:1].isupper()}


def _linked(name: str) -> str:
    return link(homes()[name])


def link(path: str) -> str:
    """A link to the entry of a name, such as noise.Laplace."""
    return f"[`dt.{path}`](#{anchor(path)})"


def anchor(path: str) -> str:
    """What the entry of a name is linked by; anchors have no case, so that noise.Laplace is told apart from noise.laplace."""
    face, _, name = path.rpartition(".")
    is_taken = name != name.lower() and name.lower() in public_names(face)
    return f"dt.{path}-type" if is_taken else f"dt.{path}"


@cache
def _classes() -> dict[str, type]:
    return {name: _thing(home) for name, home in homes().items()}


def _thing(path: str) -> Any:
    thing: Any = discreet
    for name in path.split("."):
        thing = getattr(thing, name)
    return thing


@cache
def givers() -> dict[str, list[str]]:
    """The calls and attributes that give a value of each public class, as links."""
    found: dict[str, list[str]] = {}
    for face in ("", *FACES):
        for name in public_names(face):
            path = f"{face}.{name}".lstrip(".")
            thing = _thing(path)
            if inspect.isfunction(thing):
                for word in _returned(thing):
                    found.setdefault(word, []).append(link(path))
            elif inspect.isclass(thing):
                for member, word in _given_by(thing):
                    if word != name:
                        found.setdefault(word, []).append(f"[`.{member}` of `dt.{path}`](#{anchor(path)})")
    return {word: list(dict.fromkeys(calls)) for word, calls in found.items()}


def _given_by(thing: type) -> Iterator[tuple[str, str]]:
    """The members of a class, each with the words of its type."""
    for name, kind in getattr(thing, "__annotations__", {}).items():
        yield from ((name, word) for word in re.findall(r"\w+", str(kind)) if not name.startswith("_"))
    for name, member in inspect.getmembers(thing, _is_member):
        if not name.startswith("_") and (name != "view" or thing.__name__ == "Result"):
            yield from ((name, word) for word in _returned(_function(member)))


# Words


def _words(text: str) -> str:
    """A docstring as Markdown: its examples are blocks of code, and what it says of each argument is a table."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```python\n{textwrap.dedent(block)}\n```")
        elif re.search("[├└│]", block):
            blocks.append(f"```text\n{textwrap.dedent(block)}\n```")
        elif all(line.startswith("    ") for line in block.splitlines() if line):
            blocks.append(_told_of_each(textwrap.dedent(block)))
        else:
            blocks.append(_escaped(block))
    return "\n\n".join(blocks)


def _told_of_each(block: str) -> str:
    """A table of what follows each name, after two spaces or more and in further lines."""
    rows = [re.split(r"\s{2,}", part, maxsplit=1) for part in re.split(r"\n(?=\S)", block)]
    first = "value" if block.startswith('"') else "argument"
    told = (f"| `{name}` | {_escaped(' '.join(words.split()))} |" for name, words in rows)
    return "\n".join((f"| {first} | meaning |", "|---|---|", *told))


def _escaped(text: str) -> str:
    """Marks that mean something in Markdown, but not within code; pages that are named by their files become links."""
    text = re.sub(r"\bdocs/([\w/-]+\.md)\b", r"{\1}", text)
    text = _raised(_unmarked(text))
    return re.sub(r"\{([\w/-]+\.md)\}", r"[](../\1)", text)  # a link without words has the page's title


def _unmarked(text: str) -> str:
    return re.sub(r"([*_<>\[\]|])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", text, flags=re.MULTILINE)


def _raised(text: str) -> str:
    """Exponents and indices as people write them: 2^-128, e^(-k beta), a^\\|k\\|, x_{j-1}; not within code."""
    bracket = r"\((?:[^()]|\([^()]*\))*\)"
    power = rf"\^(-?(?:\w*{bracket}|\w+|\\\|\w+\\\|))"
    index = r"\b([A-Za-z])\\_(?:\{([^}]*)\}|(\w)\b)"
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(index, r"\1<sub>\2\3</sub>", _powers(power, part)) for part in parts[::2]]
    return "".join(parts)


def _powers(power: str, text: str) -> str:
    def raised(found: re.Match[str]) -> str:
        inner = found[1][1:-1] if found[1].startswith("(") else found[1]
        return f"<sup>{_powers(power, inner)}</sup>"

    return re.sub(power, raised, text)


# The page of commands


def commands() -> str:
    """All commands, with their options and examples."""
    lines = [
        "# Commands",
        "",
        "Every command with its options; `discreet COMMAND --help` says the same. Exit codes are 0 (it held, or was done), 1 (a",
        "check failed) and 2 (bad input, said in a sentence or two). `-` stands for standard input and output.",
        "This page is written from the code: run `make readme` after a change.",
        "",
        "| command | what it does |",
        "|---|---|",
        *(f"| [`discreet {name}`](#discreet-{name}) | {_first(app[name].help)} |" for name in COMMANDS),
        "",
    ]
    for name in COMMANDS:
        command = app[name]
        lines += [f"## discreet {name}", ""]
        if command.default_command is None:
            lines += [_help(command.help), ""]
            for part in (word for word in command if not word.startswith("-")):
                lines += [f"### discreet {name} {part}", "", *_options(command[part])]
        else:
            lines += _options(command)
    return "\n".join(lines).rstrip() + "\n"


def _first(text: str) -> str:
    """The first sentence of a help text."""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split()).rstrip(".").replace("|", "\\|")


def _help(text: str) -> str:
    told = inspect.cleandoc(text)
    example = r"^Example: (.*(?:\n(?!\n).*)*)"
    parts = re.split(r"(^```sh\n.*?^```)", re.sub(example, _example, told, flags=re.MULTILINE), flags=re.M | re.S)
    return "".join(part if part.startswith("```") else _coded(part) for part in parts)


def _example(found: re.Match[str]) -> str:
    """A line for the shell, which goes on in the next one where it is long: before an option."""
    lines = [""]
    for word in re.split(r" (?=-[a-z-])", " ".join(found[1].split())):
        together = f"{lines[-1]} {word}" if lines[-1] else word
        if len(together) <= _WIDTH - 2:
            lines[-1] = together
        else:
            lines.append(f"    {word}")
    return "```sh\n" + " \\\n".join(lines) + "\n```"


def _coded(text: str) -> str:
    """Options within sentences as code."""
    return re.sub(r"(`[^`]*`)|(?<![\w-])(--[a-z][a-z-]*|-[a-z])(?![\w-])", lambda m: m[1] or f"`{m[2]}`", text)


def _options(command: Any) -> list[str]:
    lines = [_help(command.help), ""]
    rows = []
    for argument in command.assemble_argument_collection():
        if argument.names == ("*",):  # options that several commands share
            continue
        told = _coded(" ".join((argument.parameter.help or "").split()).replace("|", "\\|"))
        choices = [choice for choice in argument.get_choices() or () if choice not in told]
        if choices:
            told += f" One of {', '.join(f'`{choice}`' for choice in argument.get_choices())}."
        if "--debug" not in argument.names:
            rows.append(f"| {', '.join(f'`{name}`' for name in argument.names)} | {told} |")
    return lines + (["| option | meaning |", "|---|---|", *rows, ""] if rows else [])
