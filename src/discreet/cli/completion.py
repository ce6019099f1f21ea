"""The command that writes what a shell needs to complete our words."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from .app import app, command
from .options import Debug


@command
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell that shall complete.")],
    /,
    *,
    debug: Debug = False,
) -> int:
    """Print what a shell needs to complete commands and options.

    It is printed alone, and no file is touched. For bash: discreet completion bash >
    ~/.local/share/bash-completion/completions/discreet. For zsh: into a file _discreet in a folder of $fpath. For fish:
    into ~/.config/fish/completions/discreet.fish. Then open a new shell.

    Example: discreet completion bash
    """
    print(app.generate_completion(prog_name="discreet", shell=shell), end="")
    return 0
