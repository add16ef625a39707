"""Run a command in a pseudo terminal and keep what the screen showed as SVG: the pictures of the README.

    python scripts/terminal_svg.py OUT.svg [--at SECONDS] [--columns N] [--rows N] -- COMMAND...

`--at` takes the picture that many seconds after the start, while the command goes on; without it, at its end.
"""

from __future__ import annotations

import argparse
import os
import pty
import select
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text


def main() -> None:
    """Run, watch, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--at", type=float)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--title", default="")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    screen = pyte.Screen(options.columns, options.rows)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", options.rows, options.columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(options.columns), "COLORTERM": "truecolor"}
    began = time.monotonic()
    process = subprocess.Popen(options.command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    picture: Text | None = None
    while True:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            try:
                data = os.read(ours, 65536)
            except OSError:
                break
            if not data:
                break
            stream.feed(data)
        if options.at is not None and picture is None and time.monotonic() - began >= options.at:
            picture = drawn(screen)
    process.wait()
    title = options.title or " ".join(options.command)
    with open(os.devnull, "w") as sink:
        console = Console(record=True, width=options.columns, file=sink, force_terminal=True)
        console.print(picture if picture is not None else drawn(screen), soft_wrap=False)
        options.out.write_text(console.export_svg(title=title), encoding="utf-8")


def drawn(screen: pyte.Screen) -> Text:
    """Return the screen as styled text, without the empty lines at its end."""
    lines = []
    for row in range(screen.lines):
        line = Text()
        for column in range(screen.columns):
            cell = screen.buffer[row][column]
            line.append(cell.data, Style(color=colour(cell.fg), bold=cell.bold, reverse=cell.reverse))
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return Text("\n").join(lines)


def colour(name: str) -> str | None:
    """Translate pyte's colour names to rich's."""
    if name == "default":
        return None
    if len(name) == 6 and all(c in "0123456789abcdef" for c in name.lower()):
        return f"#{name}"
    return {"brown": "yellow"}.get(name, name.replace("bright", "bright_"))


if __name__ == "__main__":
    main()
