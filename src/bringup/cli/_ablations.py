"""`--without PART`: what can be left out of the loop, for ablations, by the names of the paper where it has one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from bringup.errors import UnknownName

PARTS: dict[str, tuple[str, Any]] = {
    "linter": ("states.lint", False),
    "debugger": ("states.debug", False),
    "summariser": ("states.summarise", False),
    "doc-graph": ("prompts.documentation", "own"),
    "documentation": ("prompts.documentation", "none"),
    "examples": ("prompts.examples", False),
    "patches": ("prompts.patches", False),
}  # in the order in which they win: no documentation at all also has none of other operators

WithoutOption = Annotated[
    list[str] | None,
    typer.Option("--without", metavar="PART", help=f"Leave out, for ablations: {', '.join(PARTS)} (repeatable)."),
]


def overrides_of(parts: Iterable[str] | None) -> dict[str, Any]:
    """Return the fields of the configuration that leave these parts out; raises UnknownName."""
    given = [part.strip() for text in parts or () for part in text.split(",") if part.strip()]
    for part in given:
        if part not in PARTS:
            raise UnknownName("part", part, list(PARTS), "--without")
    return dict(PARTS[part] for part in PARTS if part in given)
