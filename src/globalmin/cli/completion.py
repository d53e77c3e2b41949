"""`globalmin completion`: the script that lets a shell complete commands, options and files."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from globalmin.cli.arguments import JSON

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_GLOBALMIN_COMPLETE"  # in which the script asks
INSTALLED = {
    "bash": 'eval "$(globalmin completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(globalmin completion zsh)" in ~/.zshrc, after compinit',
    "fish": "globalmin completion fish > ~/.config/fish/completions/globalmin.fish",
}


def completion(
    shell: Annotated[str, typer.Argument(metavar="bash|zsh|fish", help="The shell.")],
    *,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Print the script that completes `globalmin` in a shell.

    bash: put eval "$(globalmin completion bash)" into ~/.bashrc; zsh: the same into ~/.zshrc after
    compinit; fish: write the script to ~/.config/fish/completions/globalmin.fish.
    """
    from typer._completion_shared import get_completion_script

    from globalmin.cli.options import check_choice
    from globalmin.cli.terminal import print_json

    check_choice("SHELL", shell, SHELLS)
    script = get_completion_script(prog_name="globalmin", complete_var=VARIABLE, shell=shell)
    if json:
        told = {"shell": shell, "script": script, "install": INSTALLED[shell]}
        print_json({"command": "completion", "exit_code": 0, **told})
    else:
        typer.echo(script)
    return 0


def answer_shells() -> None:
    """Make the application answer when a shell asks; typer does so only for its own option."""
    if VARIABLE in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
