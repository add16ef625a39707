"""How much a kernel's text says: what each operation is, and which values its operands are.

Whoever writes a text may put numbers into it without any constant of their own: sixteen constants are enough for an
alphabet, and each operand of a call is a letter; or so are sixteen kinds of operations, or the attributes of one. So a
choice costs what telling it from the others does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

# As MLIR's lexer has it: what is a string or a comment is so as a whole. Constants are counted by themselves.
# `%x:2` defines two values, `%x#1` is the second of them.
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<comment>//[^\n]*)|(?P<name>[%@^][\w$.-]+(?:#\d+)?)|(?P<alias>#[\w$.-]+)'
    r"|(?P<constant>\barith\.constant\s+(?:dense<[^>\n]*>|[-+\w.]+))"
    r"|(?P<word>[A-Za-z_][\w.$]*|-?\d[\w.]*(?:[eE][-+]\d+)?)|(?P<mark>[:()\n])"
)
_WORD = re.compile(r"[A-Za-z_][\w.$]*|-?\d[\w.]*")
_PART = re.compile(r"\d{1,4000}|[^\d]+")
KEPT = 256  # different words, kinds or types that are remembered
FOLLOWERS = 32  # and behind one operation
MOST_CONTEXTS = 1 << 12
MOST_BITS = 1 << 19  # that are counted: many times what any call allows, and counting takes time
ENDLESS = 1 << 40  # bits, where there are more
WORD_BITS = 10  # of a word of the dialects: an operation, an attribute, a type

Words = tuple[str, ...]


def text_bytes(text: str) -> int:
    """Return the bytes that a text says beside its constants."""
    return Said().add(text) // 8


class Said:
    """What several texts say beside their constants, one text after the other: who repeats another says little.

    An operation costs as many bits as say how many others have come since behind one like the operation before; its
    types and its operands the same, behind those of such an operation. What never came there is told by how many others
    have been used since it was, anywhere; and what is new in words, each at that price where it was used before, else
    as one of a vocabulary. Operands that are new there are told by how many names have been mentioned since each was.
    The first occurrence of a name is its definition, and free; locations and comments say nothing.
    """

    def __init__(self) -> None:
        """Nothing has been said."""
        self._bits_said = 0
        self._words = _Recent(KEPT)
        self._known = {part: _Recent(KEPT) for part in ("kind", "types")}
        self._followers: dict[object, _Recent] = {}

    def add(self, text: str) -> int:
        """Return the bits that one more text says; `ENDLESS` once all together say more than `MOST_BITS`."""
        bits = 0
        before: Words = ()
        for kind, types, operands in _operations(text):
            for part, context, one in (("kind", before, kind), ("types", kind, types), ("operands", kind, operands)):
                if one:
                    more = self._bits(part, context, one) if len(one) < MOST_BITS else ENDLESS
                    bits, self._bits_said = bits + more, self._bits_said + more
            if self._bits_said > MOST_BITS:
                return ENDLESS
            before = kind
        return bits

    def _bits(self, part: str, context: Words, one: tuple[Any, ...]) -> int:
        if len(self._followers) > MOST_CONTEXTS:
            self._followers.clear()
        followers = self._followers.setdefault((part, context), _Recent(FOLLOWERS))
        anywhere = None if part == "operands" else self._known[part].rank(one)
        there = followers.rank(one)
        if there is not None:
            return (there + 1).bit_length()
        escaped = (len(followers) - 1).bit_length()
        if part == "operands":
            return escaped + sum(int(distance).bit_length() for distance in one)
        if anywhere is not None:
            return escaped + (anywhere + 1).bit_length()
        return escaped + sum(_word_bits(word, self._words) for word in one)


class _Recent:
    """What was used last, the latest first."""

    def __init__(self, most: int) -> None:
        self._order: list[object] = []
        self._most = most

    def __len__(self) -> int:
        return len(self._order)

    def rank(self, one: object) -> int | None:
        """How many others have been used since; None where it is new, or was forgotten."""
        try:
            place = self._order.index(one)
        except ValueError:
            self._order.insert(0, one)
            del self._order[self._most :]
            return None
        self._order.insert(0, self._order.pop(place))
        return place


def _word_bits(word: str, words: _Recent) -> int:
    rank = words.rank(word)
    if rank is not None:
        return (rank + 1).bit_length()
    parts = _PART.findall(word)
    if len(parts) > 1:  # 1024x16xf32
        return 1 + sum(_word_bits(part, words) for part in parts)
    # A number tells how long it is before it is told.
    return 2 * int(word).bit_length() + 1 if word.isdecimal() else WORD_BITS


def _operations(text: str) -> Iterator[tuple[Words, Words, tuple[int, ...]]]:
    """The words of each line before its last colon, and behind it; and how many names came since each of its operands.

    Locations are left out. Where one of several results is an operand, its number follows.
    """
    known: dict[str, int] = {}
    words: list[str] = []
    operands: list[int] = []
    mentions, colon, depth, located = 0, 0, 0, False  # `depth`: of parentheses within a location
    for found in _TOKEN.finditer(f"{text}\n"):
        kind, token = found.lastgroup, found.group()
        if depth:
            depth += {"(": 1, ")": -1}.get(token, 0)
        elif token == "(" and located:
            depth = 1
            words.pop()  # `loc`
        elif token == "\n":
            if words or operands:
                cut = colon or len(words)
                yield tuple(words[:cut]), tuple(words[cut:]), tuple(operands)
            words, operands, colon = [], [], 0
        elif kind == "name":
            name, _, number = token.partition("#")
            mentions += 1
            if name in known:
                operands += [mentions - known[name], *([int(number[:9]) + 1] if number else [])]
            known[name] = mentions
        elif token == ":":
            colon = len(words)
        elif kind == "constant":
            words.append("arith.constant")
        elif kind == "string":
            words += _WORD.findall(token)
        elif kind == "word":
            words.append(token)
        located = kind == "word" and token == "loc" and not depth
