"""Seeds of random operators: a guest is told a name for one, and the device knows the number.

What the host knows of no chance it can make nothing of. So a wrapper gets `SEED` in the place of the call's seed,
judged and in sealed use, and the device puts the seed there where a launch has `SEED` among its arguments, as it is.
It is odd and wider than 32 bits, so that Triton makes the same kernel of each seed.
"""

from __future__ import annotations

import hashlib
import struct

SEED = 0x5EED_0FAC_A11D_0E5B
"""The number that stands for every seed."""
_WORD = struct.Struct("<Q")
NAMED = _WORD.pack(SEED)
"""The same as an argument of a launch."""


def word(seed: int) -> bytes:
    """Return a seed as an argument of a launch: eight bytes."""
    return _WORD.pack(seed & (1 << 64) - 1)


def mixed(salt: str, seed: int) -> int:
    """Return the seed that a kernel gets for one that a program's generator gave.

    Which seeds programs have after `torch.manual_seed(0)` everybody can list. What becomes of them, by SHA-256, hangs
    on what was drawn when the kernel was added to its library; judged kernels get seeds drawn from all that there are.
    """
    digest = hashlib.sha256(salt.encode() + b"\0" + word(seed)).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def put(body: bytes | memoryview, places: list[int], seed: int) -> bytes:
    """Return the body of a launch with a seed at these places, each eight bytes long, that hold `SEED`."""
    found = bytearray(body)
    for place in places:
        if found[place : place + _WORD.size] == NAMED:
            found[place : place + _WORD.size] = word(seed)
    return bytes(found)
