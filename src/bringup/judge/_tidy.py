"""Take out of a worker's texts what is the machine's own, so that the same failure reads the same everywhere.

The judge's frames, install paths and the places where memory happened to lie say nothing about a kernel; they would
only make the prompts of a replayed dialog differ from the recorded ones.
"""

from __future__ import annotations

import re

HARNESS_FRAME = re.compile(r'^  File "[^"]*(?:/bringup/judge/|<frozen runpy>)[^"]*", line \d+ in .*\n?', re.MULTILINE)
EXTENSION_LIST = re.compile(r"^Extension modules: .*\n?", re.MULTILINE)
# Each path is looked at once: a text of slashes would take a guess at each of them.
PATH = re.compile(r"/[^\s\"':]*")
LIBRARY = re.compile(r"\A/.*/(?:site-packages/|lib/python[\d.]+/|(?=bringup/))")
THREAD = re.compile(r"\b([Tt]hread) 0x[0-9a-f]+")
ADDRESS = re.compile(r"\b0x[0-9a-f]{9,16}\b")
FIRST_ADDRESS = 0x10000


def tidy(text: str) -> str:
    """Return `text` without the judge's frames, with short paths, and addresses counted from the lowest in it."""
    text = HARNESS_FRAME.sub("", EXTENSION_LIST.sub("", text))
    text = PATH.sub(lambda match: short_path(match.group()), text)
    text = THREAD.sub(r"\1", text)
    found = [int(match, 16) for match in ADDRESS.findall(text)]
    if not found:
        return text
    base = min(found) & ~0xFFF  # alignment within a page is kept, and so are distances
    return ADDRESS.sub(lambda match: hex(int(match.group(), 16) - base + FIRST_ADDRESS), text)


def short_path(path: str) -> str:
    """A file's path from the folder on that packages are installed in."""
    return LIBRARY.sub("", path)


def last_line(text: str) -> str:
    """The last line of a text that is not blank, cut."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
