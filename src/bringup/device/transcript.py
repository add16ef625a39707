"""What a call asks of the device, as text: by handles instead of addresses, so that two calls can be compared.

A call has no data to work with, so what it asks for is a function of its metadata: sizes, strides, dtypes, numbers. The
text leaves out what says nothing about results: numbers of kernels and when they were compiled, when memory was freed,
lines, and launches that were only tried; of a launch it has what the device may run in its place. Memory is named in
the order in which it is first used, where a command names memory. A number that happens to be an address is a number
like any other: no kernel makes a pointer of one, so whoever hands one to a kernel wants its bits, and two calls whose
bits differ are not the same.
"""

from __future__ import annotations

import bisect
import hashlib
import re
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from bringup.device import space
from bringup.device.wire import ALLOCATION, LAUNCH, POINTER, Command, Descriptor, Malformed, unpack_descriptor

if TYPE_CHECKING:
    from bringup.device.launchers import Launcher
    from bringup.device.timing import Choice

MOST_LINES = 1 << 11  # that are told one by one; of the rest there is a digest
MOST_CHARACTERS = 1 << 22  # of these lines
MOST_PAIRS = 1 << 16  # of lines that are compared with one another
LEFT_OUT = 6  # words of a line that is quoted
SHORT = 32  # digits of a digest: pairs of texts that share twelve are found in minutes
WORDS = 8  # of an upload that are quoted
WORD_BYTES, TEXT_BYTES = 8, 64  # that a word can tell, and at least that a text of a kernel can
UNKNOWN = 1 << 30  # bytes that lines tell of which there is only a digest
_REST = re.compile(r"\d+ more: ")
_KERNEL = re.compile(rf".*<[0-9a-f]{{{SHORT}}}>")
_WORD = struct.Struct("<q")


class Transcript:
    """The text of one call."""

    def __init__(self, inputs: Iterable[tuple[int, int]], launchers: Mapping[int, Launcher]) -> None:
        """`inputs`: address and bytes of each storage among the arguments, in order; `launchers` by number."""
        self._launchers = launchers
        self._sizes: dict[int, int] = {}
        self._bases: list[int] = []
        self._names: dict[int, str] = {}
        self._named = 0  # of the guest's own allocations
        self._lines: list[str] = []
        self._characters = 0  # of these
        self._rest, self._more = hashlib.sha256(), 0
        self._marked: list[tuple[Any, ...]] = []  # lines, digest and number of the rest, number of names, names
        for number, (base, nbytes) in enumerate(inputs):
            if nbytes:
                self._place(base, nbytes)
                self._names[base] = f"input {number}"

    def lines(self) -> list[str]:
        """What was asked for so far, one line each."""
        more = [f"{self._more} more: {self._rest.hexdigest()[:SHORT]}"] if self._more else []
        return [*self._lines, *more]

    def name(self, base: int) -> str:
        """The name of the storage that begins at an address, as results say it."""
        return self._name(base) if base in self._sizes else "memory of nobody" if base else "nothing"

    def add(self, command: Command, body: bytes | memoryview, choices: Sequence[Choice] = ()) -> None:
        """Note a command; `choices`: of a launch, what may run in its place."""
        if command is Command.MARK:
            rest = self._rest.copy(), self._more
            self._marked.append((len(self._lines), *rest, self._named, dict(self._names)))
        elif command is Command.TIME:
            self._timed()
        elif command in _WORDS:
            try:
                line = _WORDS[command](self, memoryview(body))
                line += "".join(f" or {self._kernel(one)}" for one in choices)
            except (struct.error, Malformed, ValueError, IndexError, OverflowError) as error:
                line = f"{command.name} that makes no sense: {error}"
            if line:
                self._say(line)

    def _say(self, line: str) -> None:
        if len(self._lines) < MOST_LINES and self._characters + len(line) <= MOST_CHARACTERS:
            self._lines.append(line)
            self._characters += len(line)
        else:
            self._rest.update(line.encode() + b"\n")
            self._more += 1

    def _timed(self) -> None:
        """Forget what was said since the latest mark; what was first named there has no name yet."""
        if self._marked:
            start, self._rest, self._more, self._named, self._names = self._marked.pop()
            self._characters -= sum(map(len, self._lines[start:]))
            del self._lines[start:]

    # Memory ----------------------------------------------------------------------------------------------------

    def _place(self, base: int, nbytes: int) -> None:
        if base not in self._sizes:
            bisect.insort(self._bases, base)
        self._sizes[base] = nbytes

    def _name(self, base: int) -> str:
        if base not in self._names:
            self._named += 1
            self._names[base] = f"memory {self._named} ({self._sizes[base]} bytes)"
        return self._names[base]

    def _address(self, value: int, base: int = 0) -> str:
        """An address that a command names, by the storage that it lies in."""
        if base not in self._sizes and space.BASE <= value < space.END:
            found = bisect.bisect_right(self._bases, value)
            known = self._bases[found - 1] if found else 0
            base = known if found and value <= known + self._sizes[known] else 0
        if not value and base in self._sizes:  # of a tensor without elements
            return f"null of {self._name(base)}"
        if base in self._sizes:
            return self._name(base) + (f" at {value - base:+d}" if value != base else "")
        return f"{value:#x}" if value else "null"

    def _tensor(self, tensor: Descriptor) -> str:
        where = self._address(tensor.address, tensor.base)
        return f"{where} as {tensor.dtype}{list(tensor.size)} strides {list(tensor.stride)}"

    # One command -----------------------------------------------------------------------------------------------

    def _alloc(self, body: memoryview) -> str:
        self._place(*ALLOCATION.unpack(body))
        return ""  # said where it is used

    def _copy(self, body: memoryview) -> str:
        source, at = unpack_descriptor(body, 0)
        target, _ = unpack_descriptor(body, at)
        return f"copy {self._tensor(source)} to {self._tensor(target)}"

    def _upload(self, body: memoryview) -> str:
        target, at = unpack_descriptor(body, 0)
        data = bytes(body[at:])
        words = [data[i : i + 8].hex() for i in range(0, min(len(data), 8 * WORDS), 8)]
        digest = hashlib.sha256(data).hexdigest()[:SHORT]
        return f"upload {len(data)} bytes ({' '.join(words)}; {digest}) to {self._tensor(target)}"

    def _read(self, body: memoryview) -> str:
        return f"read {self._tensor(unpack_descriptor(body, 0)[0])}"

    def _launch(self, body: memoryview) -> str:
        number, *grid, _, count = LAUNCH.unpack_from(body)
        launcher = self._launchers.get(number)
        if launcher is None or count != len(launcher.kinds):
            return f"launch of a kernel that there is not, with {count} arguments: {bytes(body).hex()}"
        at, words = LAUNCH.size, []
        for name, kind in zip(launcher.names, launcher.kinds, strict=True):
            if kind.startswith("*"):
                value = self._address(*POINTER.unpack_from(body, at))
                at += POINTER.size
            else:
                (scalar,) = _WORD.unpack_from(body, at)
                value = str(scalar) if kind[0] in "iu" else f"{scalar:#x}"
                at += _WORD.size
            words.append(f"{name}={value}")
        return f"launch {_named(launcher, grid)} {' '.join(words)}"

    def _kernel(self, choice: Choice) -> str:
        launcher = self._launchers.get(choice.kernel)
        return "a kernel that there is not" if launcher is None else _named(launcher, choice.grid)


def _named(launcher: Launcher, grid: Sequence[int]) -> str:
    return f"{launcher.kernel.name}<{launcher.digest[:SHORT]}> {'x'.join(map(str, grid))}"


_WORDS = {
    Command.ALLOC: Transcript._alloc,
    Command.COPY: Transcript._copy,
    Command.UPLOAD: Transcript._upload,
    Command.READ: Transcript._read,
    Command.LAUNCH: Transcript._launch,
}


def digest(lines: Sequence[str]) -> str:
    """Of the text of a call; half a surrogate, which is no text, counts as a question mark."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()


def first_difference(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """Return the first line in which two transcripts differ, "" where there is none; None where they are the same."""
    if before == after:
        return None
    return next((pair for pair in zip_longest(before, after, fillvalue="") if pair[0] != pair[1]), None)


def apart(one: str, other: str) -> tuple[str, str]:
    """Return two lines from shortly before the first word in which they differ."""
    words, others = one.split(" "), other.split(" ")
    same = next((n for n, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), 0)
    start = max(0, same - 1) if same > LEFT_OUT else 0
    head = f"{words[0]} ... " if start else ""
    return head + " ".join(words[start:]), head + " ".join(others[start:])


def told_by_data(before: Sequence[str], after: Sequence[str], kernels: Container[str] = ()) -> int:
    """Return how many bytes of two calls with the same metadata and other data differ: what the host has made of data.

    A word (an argument, a grid, a size) is 8 bytes, the same exchange again 1, and so is a line that comes once more or
    once less; lines of which there is only a digest may tell anything (`UNKNOWN`). A kernel is a word if it is one of
    `kernels`, and what a text can hold otherwise; of an upload all bytes count.
    """
    exchanged: set[tuple[str, str]] = set()
    total = 0
    common = set(before) & set(after)
    for kind, i, j, k, m in _changes(before, after):
        if kind == "equal":
            continue
        for one, other in zip_longest(before[i:j], after[k:m], fillvalue=""):
            if {one, other} <= {*common, ""}:
                total += 1
                continue
            if _REST.match(one) or _REST.match(other):
                return UNKNOWN
            for pair in zip_longest(one.split(" "), other.split(" "), fillvalue=""):
                if pair[0] != pair[1]:
                    total += 1 if pair in exchanged else max(_bytes(word, kernels) for word in pair)
                    exchanged.add(pair)
            total += max(_uploaded(line) for line in (one, other))
    return total


def _changes(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """What has become of lines, as `difflib` tells it; line by line where there are too many to look for a match."""
    most = min(len(before), len(after))
    begin = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), most)
    ends = zip(reversed(before[begin:]), reversed(after[begin:]), strict=False)
    same = next((n for n, (a, b) in enumerate(ends) if a != b), most - begin)
    one, other = before[begin : len(before) - same], after[begin : len(after) - same]
    if len(one) * len(other) > MOST_PAIRS:  # its time may grow with the third power
        return [("replace", begin, begin + len(one), begin, begin + len(other))]
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return [(kind, i + begin, j + begin, k + begin, m + begin) for kind, i, j, k, m in codes]


def kernels_of(lines: Iterable[str]) -> set[str]:
    """Return the kernels that a call has launched, as its lines name them."""
    return {line.split(" ", 2)[1] for line in lines if line.startswith("launch ")}


def _bytes(word: str, kernels: Container[str]) -> int:
    is_kernel = _KERNEL.fullmatch(word) is not None
    return TEXT_BYTES if is_kernel and word not in kernels else WORD_BYTES


def _uploaded(line: str) -> int:
    return int(line.split(" ", 2)[1]) if line.startswith("upload ") else 0
