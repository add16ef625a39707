"""Candidates that end, stop or outlive themselves, and those that talk to the judge in its own protocol."""

from __future__ import annotations

from hostile import REFUSED, Hostile, wrapper

CRASHED, RAISED = ("crashed",), ("raised",)
NO_FORK = "Operation not permitted"

# Frames as the judge's protocol has them: header length, payload length, header, payload; the socket is 3.
FRAME = """
import json, os, struct

TENSOR = {"t": 0, "dtype": "float32", "shape": [4], "stride": [1], "offset": 0}
OWN = [0x5008_0000_0040, 16]  # where the first input lies

def reply(header, payload=b"", announced=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    data = struct.pack(">IQ", len(text), len(payload) if announced is None else announced) + text + payload
    while data:
        data = data[os.write(3, data):]
"""


def forged(name: str, expression: str, *, kinds: tuple[str, ...] = ("crashed", "wrong", "cheated")) -> Hostile:
    """Return a candidate that answers the judge itself and then ends."""
    return Hostile(name, wrapper(f"{expression}\nos._exit(0)", FRAME), kinds)


ENDINGS = [
    Hostile("segmentation fault", wrapper("ctypes.string_at(0)", "import ctypes"), CRASHED, "SIGSEGV"),
    Hostile("abort", wrapper("os.abort()"), CRASHED, "SIGABRT"),
    Hostile("kills itself", wrapper("os.kill(os.getpid(), 9)"), RAISED, "PermissionError"),
    Hostile("sends itself a fault", wrapper("signal.raise_signal(11)", "import signal"), ("crashed",), "SIGSEGV"),
    Hostile("unknown signal", wrapper("signal.raise_signal(40)", "import signal"), RAISED, "Operation not permitted"),
    Hostile("exit code 0", wrapper("os._exit(0)"), CRASHED, "exit code 0"),
    Hostile("system exit", wrapper("raise SystemExit(0)"), RAISED, "SystemExit"),
    Hostile("exit while loading", "import os\nos._exit(0)\n\ndef wrapper(input):\n    pass\n", CRASHED, "exit code 0"),
    Hostile("keyboard interrupt", wrapper("raise KeyboardInterrupt"), RAISED, "KeyboardInterrupt"),
    Hostile(
        "at exit",
        wrapper(
            "atexit.register(os.write, 3, b'x' * 64)\nthreading._register_atexit(os.write, 3, b'x' * 64)",
            "import atexit, os, threading",
        ),
    ),
    Hostile("stops itself", wrapper("os.kill(os.getpid(), signal.SIGSTOP)", "import os, signal"), RAISED),
    Hostile(  # within the grace after the limit of 3 s
        "crashes when its time is up",
        wrapper("time.sleep(3.2)\nctypes.string_at(0)", "import ctypes, time"),
        ("timed_out",),
    ),
    Hostile("zombies", wrapper("for _ in range(20):\n    if os.fork() == 0:\n        os._exit(0)"), RAISED, NO_FORK),
    Hostile(
        "daemon",
        wrapper(
            "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        signal.signal(15, signal.SIG_IGN)\n"
            "        time.sleep(500)\n    os._exit(0)",
            "import os, signal, time",
        ),
        RAISED,
        NO_FORK,
    ),
    Hostile(
        "daemon that answers",
        wrapper("if os.fork():\n    os._exit(0)\nos.setsid()\ntime.sleep(0.5)", "import os, time"),
        RAISED,
        NO_FORK,
    ),
    Hostile("kills its group", wrapper("os.killpg(0, 9)"), RAISED),
    Hostile(
        "core dump",
        wrapper(
            "refused('a limit on core dumps', resource.setrlimit, resource.RLIMIT_CORE, (1 << 20, 1 << 20))\n"
            "ctypes.string_at(0)",
            REFUSED + "import ctypes, resource",
        ),
        CRASHED,
        "SIGSEGV",
    ),
    Hostile(
        "closes every file", wrapper("os.closerange(0, 1024)\ntime.sleep(60)", "import os, time"), CRASHED, "closed"
    ),
    Hostile("garbage to the judge", wrapper("os.write(3, b'\\xff' * 64)"), CRASHED, "protocol"),
    forged("announces a terabyte", "reply({}, b'', 1 << 40)"),
    forged("announces what never comes", "reply({'result': None}, b'', 1 << 20)"),
    forged(
        "forged verdict", "reply({'verdict': {'kind': 'passed', 'summary': 'ok'}, 'passed': True, 'kind': 'passed'})"
    ),
    forged("forged success", "reply({'ok': True})"),
    forged("empty answer", "reply({})"),
    forged("list for an answer", "reply([1, 2])"),
    forged("nested answer", "reply(b'[' * 500000)"),
    forged("nested dictionary", "reply(b'{\"result\":' * 100000)"),
    forged("no JSON", "reply(b'{nonsense')"),
    forged("not a number", 'reply(b\'{"launches": NaN, "result": Infinity}\')'),
    forged("wrong types", "reply({'result': 1, 'after': 2, 'sizes': 3, 'launches': 'x', 'counters': 4})"),
    forged("nested below the limit", "reply(b'{\"result\":' + b'[' * 800 + b']' * 800 + b'}')"),
    forged("nested a little", "reply(b'{\"result\":' + b'[' * 450 + b']' * 450 + b'}')"),
    forged("nested in an argument", "reply(b'{\"result\": null, \"after\":' + b'[' * 450 + b']' * 450 + b'}')"),
    forged("a list for devices", "reply({'result': None, 'after': [[], {}], 'devices': [[1]]})"),
    forged("a huge number of launches", "reply({'launches': 10**30, 'result': None})"),
    forged("negative storages", "reply({'result': None, 'after': [[], {}], 'storages': [[-1, -5]]})"),
    forged("huge storages", "reply({'result': None, 'after': [[], {}], 'storages': [[5 << 44, 1 << 60]]})"),
    forged("the judge's memory", "reply({'result': TENSOR, 'after': [[], {}], 'storages': [[0x400000, 64]]})"),
    forged("a result on no storage", "reply({'result': dict(TENSOR, t=9), 'after': [[TENSOR], {}], 'storages': []})"),
    forged(
        "a result without end",
        "reply({'result': dict(TENSOR, shape=[1 << 40], stride=[0]), 'after': [[TENSOR], {}], 'storages': [OWN]})",
    ),
    forged(
        "a result of many axes",
        "reply({'result': dict(TENSOR, shape=[1] * 70, stride=[1] * 70), 'after': [[TENSOR], {}], 'storages': [OWN]})",
    ),
    forged(
        "a result of no dtype",
        "reply({'result': dict(TENSOR, dtype='nn'), 'after': [[TENSOR], {}], 'storages': [OWN]})",
    ),
    forged("half a tensor", "reply({'result': {'t': 0}, 'after': [[TENSOR], {}], 'storages': [OWN]})"),
    forged("error of another kind", "reply({'error': ['not', 'text']})", kinds=("crashed", "raised")),
    forged("empty error", "reply({'error': ''})", kinds=("crashed", "raised")),
]
