"""A compiler's log made readable for the author of a kernel: the message in one line, source lines, call sites."""

from __future__ import annotations

import re

_ERROR = re.compile(r"^(?P<place>candidate\.py:(?P<line>\d+))(?::\d+)?: error: .*$", re.MULTILINE)
_TABLE = re.compile(r"^(?P<name>#loc\d*) = loc\((?P<place>.*)\)$", re.MULTILINE)
_PLACE = re.compile(r'^"candidate\.py":(\d+):\d+$')
_NAMED = re.compile(r'^".*"\((#loc\d*)\)$')
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")
MOST_CALLERS = 64  # entries of the table that are looked at for one place
_AT = re.compile(r"CompilationError: at \d+:\d+:")


def headline(log: str) -> str:
    """Return what a log says, in one line: the first `error:`, else the last message with the source line it is about.

    Triton's front end prints `CompilationError: at 5:20:`, the kernel up to that line, a caret, and only then what is
    wrong; where a helper was called, once more for the helper.
    """
    lines = [line.rstrip() for line in log.strip().splitlines() if line.strip()] or [""]
    named = next((line.strip() for line in lines if "error:" in line), "")
    if named:
        return named
    if not _AT.search(log):
        return lines[0].strip()
    carets = [number for number, line in enumerate(lines) if line.strip() == "^" and number]
    if not carets:
        return lines[-1].strip()
    return f"{lines[-1].strip()} (in `{lines[carets[-1] - 1].strip()}`)"


def explained(log: str, source: str) -> str:
    """Return a log with the candidate's own lines below the errors that name them by number, and who called them."""
    numbered = source.splitlines()
    table = {match["name"]: match["place"] for match in _TABLE.finditer(log)}
    chains = {tuple(_chain(name, table)) for name in table}

    def add(match: re.Match[str]) -> str:
        line = int(match["line"])
        words = [match.group(), *_shown(line, numbered)]
        callers = sorted({chain[1:] for chain in chains if chain[:1] == (line,) and len(chain) > 1})
        for caller in callers[:1]:
            for number in caller:
                words += [f"  called from candidate.py:{number}:", *_shown(number, numbered)]
        return "\n".join(words)

    return _ERROR.sub(add, log)


def _shown(line: int, numbered: list[str]) -> list[str]:
    return [f"  {line} | {numbered[line - 1].rstrip()}"] if 0 < line <= len(numbered) else []


def _chain(name: str, table: dict[str, str]) -> list[int]:
    """Return the candidate's lines behind an entry of MLIR's table of locations: the line itself, then its callers.

    At most so many as anybody reads: a table may name itself, or double with each entry.
    """
    lines: list[int] = []
    left = [name]
    for _ in range(MOST_CALLERS):
        if not left:
            break
        place = table.get(left.pop(), "")
        if found := _PLACE.match(place):
            lines.append(int(found.group(1)))
        elif named := _NAMED.match(place):
            left.append(named.group(1))
        elif call := _CALL.match(place):
            left += [call.group(2), call.group(1)]
    return lines
