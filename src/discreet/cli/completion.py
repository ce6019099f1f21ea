"""The command that writes what a shell needs to complete our words."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from cyclopts import Parameter

from .app import app, command


@command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell that shall complete.")],
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
