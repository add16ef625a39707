"""What a worker may answer. Its code is the candidate's to tamper with: the referee reads nothing unchecked."""

from __future__ import annotations

from typing import Any

from bringup.judge._wire import TooLarge

MOST_LAUNCHES = 1 << 40
TEXTS = ("error", "fault", "compile_log", "kernel", "unencodable")


def check_reply(reply: dict[str, Any], payload: int) -> dict[str, Any]:
    """Return the answer to a call, or raise TooLarge where a field is not of its kind; `payload`: its size in bytes.

    The trees of values (`result`, `after`) are left to the decoder, which refuses what it does not know.
    """
    for name in TEXTS:
        _require(reply, name, reply.get(name) is None or isinstance(reply[name], str))
    _require(reply, "error", reply.get("error") is None or bool(reply["error"].strip()))
    launches = reply.get("launches", 0)
    _require(reply, "launches", type(launches) is int and 0 <= launches < MOST_LAUNCHES)
    sizes = reply.get("sizes", [])
    _require(reply, "sizes", isinstance(sizes, list) and all(type(n) is int and n >= 0 for n in sizes))
    _require(reply, "sizes", sum(sizes) == payload)
    for name in ("counters", "specialisations"):
        rows = reply.get(name, [])
        _require(reply, name, isinstance(rows, list) and all(isinstance(row, dict) for row in rows))
    for row in reply.get("specialisations", []):
        _require(reply, "specialisations", all(isinstance(row.get(key), str) for key in ("kernel", "target")))
    found = reply.get("found") or []
    _require(reply, "found", isinstance(found, list) and all(_is_finding(item) for item in found))
    for name in ("devices", "subclasses"):
        _require(reply, name, isinstance(reply.get(name) or [], list))
    return reply


def check_log(reply: dict[str, Any]) -> str | None:
    """Return the log in a compiler's answer, None for success; raises TooLarge where there is neither."""
    _require(reply, "log", "log" in reply and (reply["log"] is None or isinstance(reply["log"], str)))
    log: str | None = reply["log"]
    return log


def _is_finding(item: Any) -> bool:
    return (
        isinstance(item, list)
        and len(item) == 3
        and all(isinstance(text, str) for text in item[:2])
        and type(item[2]) is int
    )


def _require(reply: dict[str, Any], name: str, holds: bool) -> None:
    if not holds:
        raise TooLarge(f"'{name}' is not what it should be: {str(reply.get(name))[:80]}")
