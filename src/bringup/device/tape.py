"""A tape: one call's commands with its inputs and kernels. It can be replayed without the candidate, anywhere.

Nothing in it is code of a candidate's but TTIR text. Addresses are those of the reserved range, which every device
process has.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

FORMAT = 1
MAGIC = b"bringup tape\n"
_SIZE = struct.Struct("<Q")


class BadTape(ValueError):
    """Bytes that are no tape."""


@dataclass
class Tape:
    """What one call asked of the device."""

    about: dict[str, Any] = field(default_factory=dict)
    """Operator, case, target, digest of the candidate: for people."""
    inputs: list[tuple[int, bytes]] = field(default_factory=list)
    """Address and contents of each storage that the referee put in."""
    kernels: dict[int, dict[str, Any]] = field(default_factory=dict)
    """By the number that launches name: text, source, options, args, constants."""
    commands: list[tuple[int, bytes]] = field(default_factory=list)
    storages: list[tuple[int, int]] = field(default_factory=list)
    """Address and bytes of the storages that the call gave back."""
    result: str = ""
    """SHA-256 of these storages' bytes, one after the other."""

    def pack(self) -> bytes:
        """The tape as bytes."""
        head = {
            "format": FORMAT, "about": self.about, "storages": self.storages, "result": self.result,
            "kernels": {str(number): kernel for number, kernel in self.kernels.items()},
            "inputs": [[base, len(data)] for base, data in self.inputs],
            "commands": [[code, len(body)] for code, body in self.commands],
        }  # fmt: skip
        text = json.dumps(head).encode()
        bodies = [data for _, data in self.inputs] + [body for _, body in self.commands]
        return b"".join([MAGIC, _SIZE.pack(len(text)), text, *bodies])


def unpack(data: bytes | memoryview) -> Tape:
    """Read a tape; raises BadTape."""
    view = memoryview(data)
    try:
        if bytes(view[: len(MAGIC)]) != MAGIC:
            raise BadTape("this is no tape of bringup's")
        (size,) = _SIZE.unpack_from(view, len(MAGIC))
        at = len(MAGIC) + _SIZE.size
        head = json.loads(bytes(view[at : at + size]))
        if head["format"] != FORMAT:
            raise BadTape(f"a tape of format {head['format']}; this bringup reads {FORMAT}")
        at += size
        parts: list[list[tuple[int, bytes]]] = []
        for kind in ("inputs", "commands"):
            parts.append([])
            for name, length in head[kind]:
                parts[-1].append((int(name), bytes(view[at : at + length])))
                at += length
        if at != len(view):
            raise BadTape("a tape that was cut short")
        return Tape(
            about=head["about"], inputs=parts[0], commands=parts[1],
            kernels={int(number): kernel for number, kernel in head["kernels"].items()},
            storages=[(int(base), int(nbytes)) for base, nbytes in head["storages"]], result=head["result"],
        )  # fmt: skip
    except (struct.error, ValueError, KeyError, TypeError) as error:
        if isinstance(error, BadTape):
            raise
        raise BadTape(f"this is no tape of bringup's: {error}") from None


def digest_of(parts: Sequence[bytes | memoryview]) -> str:
    """SHA-256 of bytes, one part after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
