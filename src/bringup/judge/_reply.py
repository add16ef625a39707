"""What a guest may answer. Its code is the candidate's to tamper with: the referee reads nothing unchecked."""

from __future__ import annotations

import json
from typing import Any

from bringup.device.frames import TooLarge

RETURNS = "returns "
DEPTH = 64  # of a tree of values; each list of arguments takes two or three
TEXTS = ("error", "raised", "family", "compile_log", "kernel", "unencodable", "message")
LONGEST = 1 << 16  # characters of one of them; a compiler's log may be longer
LONGEST_LOG = 1 << 19
CUT = "\n... cut ...\n"
# What a terminal takes for a command, and what turns the direction of writing: a report could read as another one.
_CONTROLS = dict.fromkeys(
    [*(n for n in range(32) if n not in (9, 10)), *range(127, 160), 0x200E, 0x200F, *range(0x202A, 0x202F),
     *range(0x2066, 0x206A)],
    "\N{REPLACEMENT CHARACTER}",
)  # fmt: skip


def check_reply(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a call, or raise TooLarge where a field is not of its kind.

    The trees of values (`result`, `after`) are left to the decoder, which refuses what it does not know; whether
    `storages` are what they say is the device process's business.
    """
    for name in TEXTS:
        _require(reply, name, reply.get(name) is None or isinstance(reply[name], str))
        if reply.get(name) is not None:
            reply[name] = as_text(cut(reply[name], LONGEST_LOG if name == "compile_log" else LONGEST))
    _require(reply, "error", reply.get("error") is None or bool(reply["error"].strip()))
    storages = reply.get("storages", [])
    _require(reply, "storages", isinstance(storages, list) and all(_is_storage(item) for item in storages))
    for name in ("result", "after"):
        _require(reply, name, _depth(reply.get(name)) <= DEPTH)
    _require(reply, "devices", isinstance(reply.get("devices") or [], list))
    return reply


def ending(reply: dict[str, Any], names: list[str]) -> str:
    """How a call ended, in a line: what was raised, or the values and tensors that were returned.

    `names`: of the storages of the answer, as a transcript has them.
    """
    if "error" in reply:
        return f"raises {reply.get('raised') or 'an error'}"
    if "unencodable" in reply:
        return "returns what is no result"
    return RETURNS + json.dumps(returned(reply, names), sort_keys=True)


def returned(reply: dict[str, Any], names: list[str]) -> list[Any]:
    """What was returned, and what is left of the arguments: two trees, and name and bytes of each storage in them."""
    storages = [[name, nbytes] for name, (_, nbytes) in zip(names, reply.get("storages", []), strict=False)]
    return [reply.get("result"), reply.get("after"), storages]


def as_text(value: Any) -> Any:
    """A tree of JSON whose texts can be printed and stored: half a surrogate, which JSON may name, is no text.

    Nor is what a terminal would obey.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)
    if isinstance(value, list):
        return [as_text(item) for item in value]
    if isinstance(value, dict):
        return {as_text(key): as_text(item) for key, item in value.items()}
    return value


def cut(text: str, most: int) -> str:
    """Beginning and end of a text that is too long."""
    return text if len(text) <= most else text[: most // 2] + CUT + text[-most // 2 :]


def check_inputs(reply: dict[str, Any], request: dict[str, Any]) -> None:
    """Raise ValueError unless an answer's first storages are those of the inputs, which the guest cannot exchange."""
    sent = [[base, size] for base, size in zip(request["bases"], request["sizes"], strict=True)]
    if "storages" in reply and reply["storages"][: len(sent)] != sent:
        raise ValueError("the storages of the inputs are not those that were given")


def _depth(value: Any) -> int:
    """How deep a tree is nested; without recursion, which is what a deep one would break."""
    depth, level = 0, [value]
    while level and depth <= DEPTH:
        depth += 1
        level = [
            child
            for node in level
            if isinstance(node, list | dict)
            for child in (node if isinstance(node, list) else node.values())
        ]
    return depth


def _is_storage(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(type(n) is int and 0 <= n < 1 << 63 for n in item)


def _require(reply: dict[str, Any], name: str, holds: bool) -> None:
    if not holds:
        raise TooLarge(f"'{name}' is not what it should be: {str(reply.get(name))[:80]}")
