"""Commands about the program itself: one opens the studio, one writes what a shell needs to complete our words."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from cyclopts import Parameter

from .app import app, command
from .options import Number, entry


@command()
def studio(
    *,
    port: Annotated[Number, entry("The port on 127.0.0.1; 0 is any free one, which is safer.")] = "0",
    open: Annotated[bool, Parameter(name="--open", negative="--no-open", help="Open the page in the browser.")] = True,
) -> int:
    """Open the studio in your browser; only this computer can reach it.

    Mechanisms side by side, releases, recovery, and what people who share their reports learn. It runs until Ctrl+C.

    Example: discreet studio --no-open
    """
    import importlib.util

    from ..errors import MissingExtraError

    if any(importlib.util.find_spec(name) is None for name in ("fastapi", "uvicorn", "altair", "vl_convert")):
        raise MissingExtraError.needing("The studio needs FastAPI, uvicorn and what draws pictures", "studio")
    from ..studio.server import serve

    serve(port, show=open)
    return 0


@command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell in which to complete.")],
    /,
) -> int:
    """Print what a shell needs to complete commands and options.

    It is printed alone, and no file is touched. For bash: discreet completion bash >
    ~/.local/share/bash-completion/completions/discreet. For zsh: into a file _discreet in a folder of $fpath. For fish:
    into ~/.config/fish/completions/discreet.fish. Then open a new shell.

    Example: discreet completion bash
    """
    print(_with_files(app.generate_completion(prog_name="discreet", shell=shell), shell), end="")
    return 0


def _with_files(script: str, shell: str) -> str:
    """Where nothing else is known, the names of files: most of our words are some. fish offers them by itself."""
    if shell == "bash":
        return script.replace("complete -F", "complete -o default -F")
    if shell == "zsh":
        return re.sub(
            r"^(\s*'(?:[*\d]+:(?:[^:'\\]|\\.)*|.*\]:[\w-]+))'(?= \\$)", r"\1:_files'", script, flags=re.MULTILINE
        )
    return script
