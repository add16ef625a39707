"""What a guest may answer. Its code is the candidate's to tamper with: the referee reads nothing unchecked."""

from __future__ import annotations

import json
import math
import unicodedata
from typing import Any

from bringup.device.frames import DEPTH, TooLarge, depth

RETURNS = "returns "
# What a terminal obeys, and what turns the direction of writing or shows nothing: a report could read as another one.
HIDDEN = frozenset(("Cc", "Cf", "Co", "Cn", "Zl", "Zp"))
TEXTS = ("error", "raised", "family", "compile_log", "kernel", "unencodable", "message")
LONGEST = 1 << 16  # characters of one of them; a compiler's log may be longer
LONGEST_LOG = 1 << 19
TIMES, SPARE_ELEMENTS, SPARE_BYTES = 16, 1 << 23, 1 << 27  # of what an answer should have: the most that is looked at
CUT = "\n... cut ...\n"
REPLACED = "\N{REPLACEMENT CHARACTER}"


def check_reply(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a call, or raise TooLarge where a field is not of its kind.

    The trees of values (`result`, `after`) are left to the decoder, which refuses what it does not know; whether
    `storages` are what they say is the device process's business.
    """
    if any(depth(value) > DEPTH for value in reply.values()):  # before anything goes down into it
        raise TooLarge(f"a field of the answer is nested deeper than {DEPTH}")
    for name in TEXTS:
        _require(reply, name, reply.get(name) is None or isinstance(reply[name], str))
        if reply.get(name) is not None:
            reply[name] = cut(reply[name], LONGEST_LOG if name == "compile_log" else LONGEST)
    cleaned = as_text(reply)  # whatever is a text in it, names of dtypes and devices too
    reply.clear()  # in its place: nobody shall go on with what it was
    reply.update(cleaned)
    _require(reply, "error", reply.get("error") is None or bool(reply["error"].strip()))
    storages = reply.get("storages", [])
    _require(reply, "storages", isinstance(storages, list) and all(_is_storage(item) for item in storages))
    _require(reply, "after", "result" not in reply or {"after", "storages"} <= reply.keys())
    devices = reply.get("devices", [])
    _require(reply, "devices", isinstance(devices, list) and all(isinstance(one, str) for one in devices))
    return reply


def check_sizes(sizes: list[list[int]], elements: int, storages: list[Any], nbytes: int) -> None:
    """Raise ValueError where an answer is far too large to be looked at: a comparison takes many times its bytes.

    Args:
        sizes: those of the tensors that were returned, and of the arguments afterwards.
        elements: how many they should have together.
        storages: name and bytes of the memory in which they lie.
        nbytes: how many the memory of arguments and right results has.
    """
    found, kept = sum(map(math.prod, sizes)), sum(size for _, size in storages)
    if found > TIMES * elements + SPARE_ELEMENTS:
        raise ValueError(f"{found} elements in results and arguments, where there should be {elements}")
    if kept > TIMES * nbytes + SPARE_BYTES:
        raise ValueError(f"results and arguments keep {kept} bytes of memory, where {nbytes} are needed")


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
        text = value.encode("utf-8", "replace").decode("utf-8")
        if text.replace("\n", "").replace("\t", "").isprintable():
            return text
        return "".join(one if one in "\n\t" or unicodedata.category(one) not in HIDDEN else REPLACED for one in text)
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
    if len(reply.get("storages", ())) > len(sent) + _tensors([reply.get("result"), reply.get("after")]):
        raise ValueError("it names memory that no tensor is on")


def _tensors(value: Any) -> int:
    """How many tensors a tree describes, whatever else it is."""
    if isinstance(value, list):
        return sum(map(_tensors, value))
    if not isinstance(value, dict):
        return 0
    return 1 if "t" in value else sum(map(_tensors, value.values()))


def _is_storage(item: Any) -> bool:
    return isinstance(item, list) and len(item) == 2 and all(type(n) is int and 0 <= n < 1 << 63 for n in item)


def _require(reply: dict[str, Any], name: str, holds: bool) -> None:
    if not holds:
        raise TooLarge(f"'{name}' is not what it should be: {str(reply.get(name))[:80]}")
