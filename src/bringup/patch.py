"""Edits of a module in a reply: blocks that say which lines to look for and which ones take their place.

    <<<<<<< SEARCH
    lines of the module, word for word
    =======
    lines that take their place
    >>>>>>> REPLACE

Each edit is looked for in the module as it was before the reply, so that their order says nothing; white space at the
ends of lines does not count. A single line may be a part of one that stands nowhere else, when a single line takes its
place: nothing but that part changes. What cannot be applied with certainty is a problem, never a guess.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

ProblemKind = Literal["bad_edit", "edit_not_found", "edit_ambiguous", "edits_overlap"]

_BEGIN = re.compile(r"^\s*<{5,9} ?SEARCH\s*$")
_MIDDLE = re.compile(r"^\s*={5,9}\s*$")
_END = re.compile(r"^\s*>{5,9} ?REPLACE\s*$")
_SHOWN = 8  # lines of a search text that an explanation repeats
_CLOSE = 0.6  # likeness of the lines that are shown for a text that is not found


@dataclass(frozen=True)
class Edit:
    """Lines to look for, and those that take their place."""

    search: tuple[str, ...]
    replace: tuple[str, ...]


@dataclass(frozen=True)
class PatchProblem:
    """Why edits cannot be applied; `explanation` is written for the model."""

    kind: ProblemKind
    explanation: str


def has_edits(text: str) -> bool:
    """Whether a text holds the first line of an edit."""
    return any(_BEGIN.match(line) for line in text.split("\n"))


def read_edits(text: str) -> list[Edit] | PatchProblem:
    """Read all edits of a text, in fenced blocks or not; what stands between them is ignored."""
    edits: list[Edit] = []
    search: list[str] = []
    replace: list[str] | None = None
    inside = False
    for line in text.split("\n"):
        if _BEGIN.match(line):
            if inside:
                return _bad(len(edits) + 1, "another one begins before its line >>>>>>> REPLACE")
            inside, search, replace = True, [], None
        elif not inside:
            if _END.match(line):
                return _bad(len(edits) + 1, "it has a line >>>>>>> REPLACE, and no line <<<<<<< SEARCH before it")
        elif replace is None:
            if _MIDDLE.match(line):
                replace = []
            elif _END.match(line):
                return _bad(len(edits) + 1, "it has no line ======= between what to look for and its replacement")
            else:
                search.append(line)
        elif _END.match(line):
            if not any(one.strip() for one in search):
                why = "it looks for nothing; to add lines, look for the line before them and repeat it"
                return _bad(len(edits) + 1, why)
            edits.append(Edit(tuple(search), tuple(replace)))
            inside = False
        else:
            replace.append(line)
    if inside:
        return _bad(len(edits) + 1, "it has no line >>>>>>> REPLACE: the reply may have been cut off")
    return edits


def _bad(number: int, why: str) -> PatchProblem:
    return PatchProblem("bad_edit", f"Edit {number} cannot be read: {why}.")


def apply_edits(module: str, edits: list[Edit]) -> str | PatchProblem:
    """Return a module with its edits, or why they do not fit it."""
    lines = module.split("\n")
    plain = [line.rstrip() for line in lines]
    places: list[tuple[int, int, int]] = []  # first line, line behind the last one, number of the edit
    made: dict[int, Sequence[str]] = {}  # number of the edit: lines that take the place
    for number, edit in enumerate(edits, 1):
        wanted = [line.rstrip() for line in edit.search]
        found = [at for at in range(len(plain) - len(wanted) + 1) if plain[at : at + len(wanted)] == wanted]
        made[number] = edit.replace
        if not found and (inside := _inside_a_line(edit, plain)) is not None:
            at, line = inside
            found, made[number] = [at], [line]
        if not found:
            return PatchProblem("edit_not_found", _not_found(number, wanted, plain))
        if len(found) > 1:
            where = ", ".join(str(at + 1) for at in found[:_SHOWN])
            return PatchProblem(
                "edit_ambiguous",
                f"What edit {number} looks for stands {len(found)} times in the module (lines {where}). Take more of "
                f"the lines around it, so that it stands there once:\n{_quoted(wanted)}",
            )
        places.append((found[0], found[0] + len(wanted), number))
    places.sort()
    for (_, end, one), (begin, _, other) in itertools.pairwise(places):
        if begin < end:
            first, second = sorted((one, other))
            return PatchProblem(
                "edits_overlap",
                f"Edits {first} and {second} look for the same lines (line {begin + 1} of the module is in both). Make "
                "one edit of them.",
            )
    for begin, end, number in reversed(places):
        lines[begin:end] = made[number]
    return "\n".join(lines)


def _inside_a_line(edit: Edit, lines: list[str]) -> tuple[int, str] | None:
    """Return the line that alone holds the text of an edit of a single line as a part, and what becomes of it.

    The part begins and ends where a word does, and stands once in the module. Lines that differ in nothing but their
    indentation are no part of one another.
    """
    if len(edit.search) != 1 or len(edit.replace) != 1 or not edit.replace[0].strip():
        return None
    part, new = edit.search[0].strip(), edit.replace[0].strip()
    places = [(at, found) for at, line in enumerate(lines) for found in re.finditer(_as_words(part), line)]
    if len(places) != 1 or lines[places[0][0]].strip() == part:
        return None
    at, found = places[0]
    return at, lines[at][: found.start()] + new + lines[at][found.end() :]


def _as_words(part: str) -> str:
    """A pattern for a text that is not preceded or followed by more of its first and last word."""
    before = r"(?<!\w)" if re.match(r"\w", part) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", part) else ""
    return before + re.escape(part) + after


def _not_found(number: int, wanted: list[str], lines: list[str]) -> str:
    said = (
        f"What edit {number} looks for does not stand in the module. Lines are compared word for word, with their "
        f"indentation:\n{_quoted(wanted)}"
    )
    stripped = [line.strip() for line in wanted]
    shifted = [line.strip() for line in lines]
    for at in range(len(lines) - len(wanted) + 1):
        if shifted[at : at + len(wanted)] == stripped:
            return f"{said}\nLines {at + 1} to {at + len(wanted)} are the same with another indentation."
    for line in wanted:
        if line.strip() and line not in lines:
            told = f"{said}\nThis line is not in it: {line.strip()}"
            holding = [at for at, other in enumerate(lines) if line.strip() in other]
            if holding:
                where = ", ".join(str(at + 1) for at in holding[:_SHOWN])
                one = f"line {where} holds" if len(holding) == 1 else f"lines {where} hold"
                shown = lines[holding[0]].strip()
                return f"{told}\nBut {one} it as a part; take whole lines: {shown}"
            near = difflib.get_close_matches(line, lines, n=1, cutoff=_CLOSE)
            return told + (f"\nThe nearest is line {lines.index(near[0]) + 1}: {near[0].strip()}" if near else "")
    return f"{said}\nEach of these lines stands in it, but not one after the other."


def _quoted(lines: list[str]) -> str:
    shown = [f"    {line}" for line in lines[:_SHOWN]]
    return "\n".join([*shown, *(["    ..."] if len(lines) > _SHOWN else [])])
