"""What all commands print with: one `--json`, one console."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def listed(values: list[str] | None) -> list[str] | None:
    """Split an option's values at their commas: `--ops add,mul` is `--ops add --ops mul`, with every command."""
    if values is None:
        return None
    return [part for value in values for part in map(str.strip, value.split(",")) if part]


def print_json(data: Any) -> None:
    """Print `data` on stdout as JSON, in the one form that all commands have."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def make_console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal; a pipe or file gets long lines rather than cut ones."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console = Console(stderr=stderr, highlight=False, width=160)
    return console
