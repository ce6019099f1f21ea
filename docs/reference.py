"""Two pages that are written from the code: every public name with its signature and words, and every command with its help."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import discreet
from discreet.cli.app import COMMANDS, app

_FACES = ("measure", "queries", "sharing", "theory", "noise", "traditional")
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
    "tables": "Releases",
    "collect": "Collecting",
    "randomness": "Randomness",
}


def api() -> str:
    """All public names, room by room: those on top, then those one dot down."""
    parts: dict[str, list[str]] = {}
    for name in discreet.__all__:
        thing = getattr(discreet, name)
        if not inspect.ismodule(thing):
            parts.setdefault(_GROUPS[thing.__module__.split(".")[1]], []).append(name)
    lines = ["# Names", "", "Every public name, `import discreet as dt`. This page is written from the code.", ""]
    for group in dict.fromkeys(_GROUPS.values()):
        if group in parts:
            lines += [f"## {group}", ""]
            for name in parts[group]:
                lines += _described(name, getattr(discreet, name))
    for face in _FACES:
        module = getattr(discreet, face)
        lines += [f"## dt.{face}", "", _words(inspect.getdoc(module) or ""), ""]
        for name in module.__all__:
            if inspect.isfunction(thing := getattr(module, name)):
                lines += _described(f"{face}.{name}", thing)
    lines += ["## dt.results", "", _words(inspect.getdoc(discreet.results) or ""), ""]
    for name in discreet.results.__all__:
        lines += _described(f"results.{name}", getattr(discreet.results, name))
    return "\n".join(lines).rstrip() + "\n"


def _described(name: str, thing: Any) -> Iterator[str]:
    yield f"### dt.{name}"
    yield ""
    yield from ("```python", f"dt.{name}{_signature(thing)}", "```", "")
    yield _words(inspect.getdoc(thing) or "")
    yield ""
    if inspect.isclass(thing):
        for method, code in inspect.getmembers(
            thing, lambda member: inspect.isfunction(member) or isinstance(member, property)
        ):
            told = inspect.getdoc(code)
            if method.startswith("_") or not told:
                continue
            given = "" if isinstance(code, property) else _signature(code, method=True)
            yield f"- `.{method}{given}`: {' '.join(told.split(chr(10) * 2)[0].split())}"
        yield ""


def _signature(thing: Any, method: bool = False) -> str:
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()][1 if method else 0 :]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


def _words(text: str) -> str:
    """A docstring as Markdown: its examples and tables of words are blocks of code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text):
        if block.lstrip().startswith(">>>"):
            blocks.append(f"```python\n{textwrap.dedent(block)}\n```")
        elif all(line.startswith("    ") for line in block.splitlines() if line):
            blocks.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            blocks.append(re.sub(r"([*_<>\[\]|])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", block, flags=re.MULTILINE))
    return "\n\n".join(blocks)


def commands() -> str:
    """All commands, with their options and examples."""
    lines = [
        "# Commands",
        "",
        "Every command. This page is written from the code: run `make readme` after a change.",
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


def _help(text: str) -> str:
    told = inspect.cleandoc(text)
    example = r"^Example: (.*(?:\n(?!\n).*)*)"
    return re.sub(example, lambda m: f"```sh\n{' '.join(m[1].split())}\n```", told, flags=re.MULTILINE)


def _options(command: Any) -> list[str]:
    lines = [_help(command.help), ""]
    rows = []
    for argument in command.assemble_argument_collection():
        if argument.names == ("*",):  # options that several commands share
            continue
        told = " ".join((argument.parameter.help or "").split()).replace("|", "\\|")
        names = [name for name in argument.names if not name.startswith("--no-")] or [argument.field_info.name]
        if "--debug" not in names:
            rows.append(f"| `{', '.join(names)}` | {told} |")
    return lines + (["| option | meaning |", "|---|---|", *rows, ""] if rows else [])
