"""Draws the state machine from the table: Mermaid and Markdown, and keeps a page's generated block current."""

from __future__ import annotations

from pathlib import Path

from bringup.session.table import ENDS, TABLE, State

BEGIN = "<!-- generated from bringup/session/table.py: begin -->"
END = "<!-- generated from bringup/session/table.py: end -->"


def _node(state: State) -> str:
    return state.value.replace(" ", "_")


def mermaid() -> str:
    """Return a Mermaid state diagram of every row of the table."""
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{s.value}" as {_node(s)}' for s in State if " " in s.value and s is not State.BEFORE]
    lines.append(f"    [*] --> {_node(State.START)}")
    together: dict[tuple[State, State], list[str]] = {}
    for row in TABLE:
        together.setdefault((row.state, row.to), []).append(row.on.value)
    for (state, to), reasons in together.items():
        if to is not State.BEFORE:
            # Mermaid reads a colon as the start of a label, so the words use a dash
            label = " / ".join(reason.replace(": ", " - ") for reason in reasons)
            lines.append(f"    {_node(state)} --> {_node(to)}: {label}")
    lines += [f"    {_node(s)} --> [*]" for s in State if s in ENDS]
    return "\n".join(lines)


def markdown_table() -> str:
    """Return the table in Markdown, one line a row."""
    lines = ["| state | on | goes to |", "| --- | --- | --- |"]
    lines += [f"| {row.state.value} | {row.on.value} | {row.to.value} |" for row in TABLE]
    return "\n".join(lines)


def block() -> str:
    """Return the generated part of the page: diagram and table between markers."""
    return f"{BEGIN}\n\n```mermaid\n{mermaid()}\n```\n\n{markdown_table()}\n\n{END}"


def updated(page: str) -> str:
    """Return `page` with its generated block replaced; raises ValueError when it has no markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no block between '{BEGIN}' and '{END}'")
    return f"{before}{block()}{after}"


def main(arguments: list[str]) -> int:
    """Update the pages given as arguments; with `--check` only tell (exit code 1) which are out of date."""
    check = "--check" in arguments
    stale = 0
    for name in (a for a in arguments if a != "--check"):
        path = Path(name)
        old = path.read_text(encoding="utf-8")
        new = updated(old)
        if new == old:
            continue
        stale += 1
        if check:
            print(f"{path}: the state machine is out of date; run `python -m bringup.session.diagram {path}`")
        else:
            path.write_text(new, encoding="utf-8")
            print(f"{path}: updated")
    return 1 if check and stale else 0


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
