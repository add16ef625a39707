"""Texts that a guest may choose: cut, cleaned, and read in a time that grows as they do."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from bringup.judge import _case, _compile_log, _reply, _tidy
from bringup.judge._named import named

SECONDS = 5.0  # on a slow machine; a guess at each place of a text took minutes


def reply(**fields: Any) -> dict[str, Any]:
    return _reply.check_reply({"error": "E", "storages": [], "result": None, "after": [], "devices": [], **fields})


def test_nothing_in_a_text_steers_a_terminal() -> None:
    found = reply(error="first\x1b[2Jsecond\r\x07\n\tthird", message="a\u202eb\x9b1m", raised="X\x00")
    assert found["error"] == "first\ufffd[2Jsecond\ufffd\ufffd\n\tthird"
    assert found["message"] == "a\ufffdb\ufffd1m"
    assert found["raised"] == "X\ufffd"
    assert _reply.as_text("a\u061cb\u200bc\u2028d\xad\ue000") == "a\ufffdb\ufffdc\ufffdd\ufffd\ufffd"
    assert _reply.as_text("é\xa0→ 数 \u0627") == "é\xa0→ 数 \u0627"
    assert _reply.as_text(["\x1b", {"\x1b": "\ud800"}]) == ["\ufffd", {"\ufffd": "?"}]


def test_whatever_is_a_text_in_an_answer_is_clean() -> None:
    found = reply(devices=["vpe\x1b[31m"], result={"t": 0, "dtype": "\x1b[31m\ud800"})
    assert "\x1b" not in str(found)
    assert "\ud800" not in str(found)
    given = {"error": "E", "devices": ["\x1b"]}
    assert _reply.check_reply(given) is given
    assert given["devices"] == ["\ufffd"]
    with pytest.raises(_reply.TooLarge, match="'storages' is not what it should be: s\ufffd"):
        reply(storages="s\x1b")
    for devices in (None, ["vpe", 3], "vpe"):
        with pytest.raises(_reply.TooLarge, match="'devices' is not what it should be"):
            reply(devices=devices)


@pytest.mark.parametrize("field", ["result", "after", "devices", "anything"])
def test_what_is_nested_deeply_is_not_gone_into(field: str) -> None:
    def nested(levels: int) -> list[Any]:
        value: list[Any] = []
        for _ in range(levels - 1):
            value = [value]
        return value

    with pytest.raises(_reply.TooLarge, match="nested deeper than 64"):
        reply(**{field: nested(5000)})
    assert reply(anything=nested(_reply.DEPTH))
    with pytest.raises(_reply.TooLarge, match="nested deeper than 64"):
        reply(**{field: nested(_reply.DEPTH + 1)})


@pytest.mark.parametrize("dtype", ["Tensor", "nothing", "\x1b[31m", 7])
def test_what_is_no_dtype_is_none(dtype: Any) -> None:
    with pytest.raises(ValueError, match="which is no dtype"):
        _case._output({"t": 0, "offset": 0, "shape": [1], "stride": [1], "dtype": dtype})


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    found = reply(error="begin" + "x" * 10_000_000 + "end", compile_log="y" * 10_000_000)
    assert len(found["error"]) < 1.1 * _reply.LONGEST
    assert found["error"].startswith("begin")
    assert found["error"].endswith("end")
    assert len(found["compile_log"]) < 1.1 * _reply.LONGEST_LOG


LONG = _reply.LONGEST_LOG
TABLES = (
    "\n".join(f"#loc{n} = loc(callsite(#loc{n + 1} at #loc{n + 1}))" for n in range(8000)),
    '#loc = loc(callsite(#loc at #loc))\n#loc1 = loc("x"(#loc1))',
    "\n".join(f'#loc{n} = loc("x"(#loc{n + 1}))' for n in range(8000)),
)


@pytest.mark.parametrize(
    "read",
    [
        *(lambda text=text: _tidy.tidy(text) for text in (
            "/" * LONG, " /" * (LONG // 2), ("/" * 4000 + " ") * (LONG // 4001), "/lib/python" * (LONG // 11),
            '  File "' * (LONG // 8), "\nExtension modules: " * (LONG // 20), "0x" + "f" * LONG,
        )),
        *(lambda text=text: _case.DELIBERATE.search(text) for text in (
            "IndexError: " + "\n" * LONG + "x", " " * LONG, " raise" * (LONG // 6), " raise x\n" * (LONG // 9),
        )),
        *(lambda text=text: _compile_log.explained(text, "x = 1\n") for text in TABLES),
        lambda: _case.ERROR_LINE.match("a." * (LONG // 2)),
        lambda: named("a = [" + "1," * 10_000 + "]\n" + "a < a\n" * 10_000),
        lambda: named("(lambda a=" * 90 + "[" + ",".join(["1<<127"] * 2000) + "]" + ": 0)" * 90),
        lambda: named("x = " + "(" * 90 + "1 < 2" + " < 3)" * 90),
    ],
)  # fmt: skip
def test_no_text_takes_long(read: Callable[[], Any]) -> None:
    began = time.process_time()
    read()
    assert time.process_time() - began < SECONDS


def test_callers_of_a_line_are_still_told() -> None:
    log = (
        'candidate.py:2:5: error: no\n#loc1 = loc("candidate.py":2:5)\n#loc2 = loc("candidate.py":9:1)\n'
        '#loc3 = loc("inner"(#loc1))\n#loc4 = loc(callsite(#loc3 at #loc2))\n'
    )
    found = _compile_log.explained(log, "\n".join(f"line {n}" for n in range(1, 10)))
    assert "  2 | line 2\n  called from candidate.py:9:\n  9 | line 9" in found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('File "/usr/lib/python3.11/site-packages/torch/x.py", line 3', 'File "torch/x.py", line 3'),
        ("(/a/b/bringup/x.py)", "(bringup/x.py)"),
        ("at=/opt/lib/python3.12/json/a.py:3", "at=json/a.py:3"),
        ("/tmp/other/x.py and 3/4", "/tmp/other/x.py and 3/4"),
    ],
)
def test_paths_of_libraries_are_short(text: str, left: str) -> None:
    assert _tidy.tidy(text) == left


def test_a_deliberate_index_error_is_one_of_a_raise() -> None:
    assert _case.DELIBERATE.search(
        '  File "candidate.py", line 3, in wrapper\n    raise IndexError("no")\nIndexError: no'
    )
    assert not _case.DELIBERATE.search("    x[9]\n    ~^^^\nIndexError: list index out of range")
    assert not re.search(r"\\s\+", _case.DELIBERATE.pattern)


def test_what_is_far_too_large_is_not_looked_at() -> None:
    _reply.check_sizes([[3, 4], [1 << 20]], 12, [["a", 48], ["b", 1 << 20]], 96)
    with pytest.raises(ValueError, match="1073741824 elements in results and arguments, where there should be 12"):
        _reply.check_sizes([[1 << 10, 1 << 20]], 12, [["a", 48]], 96)
    with pytest.raises(ValueError, match="keep 4294967296 bytes of memory, where 96 are needed"):
        _reply.check_sizes([[3]], 12, [["a", 1 << 32]], 96)
