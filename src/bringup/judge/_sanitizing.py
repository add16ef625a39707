"""Crash feedback on an NVIDIA GPU: `compute-sanitizer` over the tape of the call that crashed.

The hardware says of a fault neither the kernel's line nor the address. The sanitizer does, at a price that only a crash
is worth. Allocations are taken from the driver one by one, so that one past the end is nobody's.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from bringup.judge.profilers._gpu import run

_HEAD = re.compile(
    r"========= (?P<what>(?:Invalid|Misaligned|Uninitialized|Program hit|Race|Barrier)[^\n]*)\n"
    r"(?P<rest>(?:=========     [^\n]*\n?)+)"
)
_AT = re.compile(r"at (?P<kernel>[\w.$]+)(?:\([^)]*\))?\+0x[0-9a-f]+(?: in (?P<file>[^\n]*?):(?P<line>\d+))?")
_BY = re.compile(r"by thread (?P<thread>\([\d,]+\)) in block (?P<block>\([\d,]+\))")
_ADDRESS = re.compile(r"Address (?P<address>0x[0-9a-f]+) (?P<words>[^\n]*)")
MOST = 3  # different accesses that a report names


def examine(folder: Path, device: int) -> str:
    """Run a packed tape under the sanitizer; returns what it found in a few lines, or why it could not look."""
    tool = shutil.which("compute-sanitizer")
    if tool is None:
        return "compute-sanitizer is not installed: neither line nor address of the access are known"
    command = [tool, "--tool", "memcheck", "--print-limit", "20", "--target-processes", "all"]
    command += [sys.executable, "-m", "bringup.judge._player", str(folder), str(device)]
    said = run(command, more={"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"})
    return report(said) or "compute-sanitizer found nothing when it ran the call again"


def report(said: str) -> str:
    """What of the sanitizer's output an author needs: access, kernel, line, thread, address; each kind once."""
    found: dict[tuple[str, str, str], str] = {}
    for match in _HEAD.finditer(said):
        rest = match["rest"]
        at, by, address = _AT.search(rest), _BY.search(rest), _ADDRESS.search(rest)
        kernel = at["kernel"] if at else "?"
        line = at["line"] or "" if at else ""
        key = (match["what"], kernel, line)
        if key in found or len(found) >= MOST:
            continue
        text = f"{match['what'].strip()} in kernel '{kernel}'"
        text += f", candidate.py:{line}" if line else ""
        text += f", program {by['block']}, thread {by['thread']}" if by else ""
        text += f": address {address['address']} {address['words'].strip()}" if address else ""
        found[key] = text
    return "\n".join(found.values())
