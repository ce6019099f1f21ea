"""A question of the page as a program and as commands, for whoever wants to ask it again elsewhere."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .release_question import QuestionForm

_SHOWN = ("margins", "confidence", "simultaneous")  # which cost nothing
_OF_CALL = ("version", "part", *_SHOWN)
_USUAL: dict[str, Any] = {"version": "1", "counted": "units", "confidence": "0.95", "simultaneous": False}
_WORDS = ("title", "source", "notes", "labels", "separator", "decimal")


def _said(asked: QuestionForm, question: dict[str, Any]) -> dict[str, Any]:
    """What a call or a command must say: everything that is not as usual."""
    terms = {"dataset": asked.dataset, "ledger": asked.ledger, "epsilon": asked.epsilon, "rho": asked.rho}
    given = {**question, **terms, **{name: getattr(asked, name) for name in _OF_CALL}}
    return {name: value for name, value in given.items() if value not in (None, [], {}) and value != _USUAL.get(name)}


def as_python(asked: QuestionForm, question: dict[str, Any], file: str) -> str:
    """The call of the library, and what writes its files."""
    said = {name: value for name, value in _said(asked, question).items() if name not in ("dataset", "ledger", *_SHOWN)}
    lines = [f"    {name}={value!r}," for name, value in said.items()]
    words = {name: value for name, value in asked.presentation.model_dump().items() if value not in (None, [], {}, ".")}
    more = "".join(f", {name}={value!r}" for name, value in words.items())
    totals = ", ".join(repr(margin or "total") for margin in asked.margins)
    intervals = ", ".join(f"{name}={value!r}" for name, value in _said(asked, {}).items() if name in _SHOWN[1:])
    shown = [f"made = made.with_totals({totals})"] if totals else []
    shown += [f"made = made.presented({intervals})"] if intervals else []
    return "\n".join(
        [
            "import discreet as dt",
            "",
            f"made = dt.Ledger({asked.ledger!r})[{asked.dataset!r}].release(\n    {file!r},",
            *lines,
            ")",
            *shown,
            f'made.save("released.csv"{more})',
        ]
    )


def as_command(asked: QuestionForm, question: dict[str, Any], file: str) -> str:
    """The same as commands; declared keys are a file of their own."""
    said, words = _said(asked, question), ["discreet", "release", file]
    domain = said.pop("domain", None)
    for name, value in said.items():
        option = f"--{name.replace('_', '-')}"
        if name in ("by", "margins"):
            words += [option, ",".join(x or "total" for x in value)]
        elif isinstance(value, list):
            words += [part for each in value for part in (option, each)]
        else:
            words += [option] if value is True else [option, str(value)]
    for name in _WORDS:
        value = getattr(asked.presentation, name)
        if name == "notes":
            words += [part for note in value for part in ("--note", note)]
        elif name == "labels":
            words += [part for pair in value.items() for part in ("--label", "=".join(pair))]
        elif value is not None and (name, value) != ("decimal", "."):
            words += [f"--out-{name}" if name in ("separator", "decimal") else f"--{name}", value]
    if domain is None:
        return shlex.join([*words, "-o", "released.csv"])
    keys = json.dumps(domain, ensure_ascii=False)
    written = f"cat > domain.json <<'END'\n{keys}\nEND\n"
    return written + shlex.join([*words, "--domain", "domain.json", "-o", "released.csv"])
