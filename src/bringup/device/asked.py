"""What a guest says of a kernel that it wants: judge and recorder read and check it in one and the same way."""

from __future__ import annotations

import json
from typing import Any

from bringup.device.elements import pointed_bytes
from bringup.device.engine import FENCE, Kernel
from bringup.device.frames import DEPTH, depth
from bringup.device.wire import LONGEST_CONSTANT, Malformed

MOST_DIGITS = 400  # of a number that a kernel is described with
MOST_KERNELS = 1 << 16  # of one guest
MOST_CONSTANTS = 1 << 16  # characters: a kernel has few, and each is cut
MOST_CONSTANT = LONGEST_CONSTANT + 100  # characters of one, with what says that it was cut
MOST_NAME = 1 << 10  # characters of an argument's
MOST_TEXT = 256 << 20  # bytes of all kernels that one guest asks for
MOST_COMMANDS, MOST_QUEUED = 1 << 17, 256 << 20  # of one call, and bytes of them
FRESH = "fresh"  # with a text: compiled anew for one guest, neither looked up nor kept


def request_of(body: memoryview) -> dict[str, Any]:
    """Return a request. Raises Malformed, ValueError (of texts that are no Unicode, too)."""
    try:
        found = json.loads(bytes(body), parse_int=_integer)
    except RecursionError:
        found = None
    if not isinstance(found, dict):
        raise Malformed("no kernel")
    if depth(found) > DEPTH:
        raise Malformed(f"a kernel whose description is nested deeper than {DEPTH}")
    json.dumps(found, ensure_ascii=False).encode()  # halves of characters can be read, and be noted nowhere
    constants = found.get("constants", {})
    if not isinstance(constants, dict) or len(json.dumps(constants)) > MOST_CONSTANTS:
        raise Malformed("more constants than messages quote")
    if not all(value is None or isinstance(value, bool | int | float | str) for value in constants.values()):
        raise Malformed("a constant that is no number and no text")  # lists take many times their characters
    if any(isinstance(value, str) and len(value) > MOST_CONSTANT for value in constants.values()):
        raise Malformed("a constant that is longer than messages quote")
    return found


def check_options(request: dict[str, Any], known: int) -> None:
    """Raise Malformed for options that are none of a launch's, and for a kernel too many: so many are `known`."""
    if not isinstance(request["options"], dict) or FENCE in request["options"]:
        raise Malformed("options that are none of a launch's")
    if known >= MOST_KERNELS:
        raise Malformed("more kernels than any program needs")


def arguments_of(request: dict[str, Any], kernel: Kernel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names and kinds of a kernel's arguments; raises Malformed where they are not those of the text."""
    names, kinds = (tuple(str(pair[place]) for pair in request["args"]) for place in (0, 1))
    if not all(name.isidentifier() and len(name) <= MOST_NAME for name in names):
        raise Malformed("a kernel whose arguments have no names, or long ones")
    own = kernel.facts.get("signature", [])
    if len(own) != len(kinds) or any(_width(a) != _width(b) for a, b in zip(own, kinds, strict=True)):
        raise Malformed("a kernel with other arguments than its text has")
    return names, kinds


def _width(kind: str) -> int:
    """Bytes of what a pointer points to: elements are known by them; 0 for what is none."""
    return pointed_bytes(kind) if kind.startswith("*") else 0


def _integer(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise Malformed(f"a number of {len(digits)} digits, {MOST_DIGITS} are allowed")
    return int(digits)
