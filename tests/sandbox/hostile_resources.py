"""Candidates that use too much: processes, threads, memory, disk, output, time."""

from __future__ import annotations

from hostile import Hostile, wrapper

TIMED_OUT, CRASHED, RAISED = ("timed_out",), ("crashed",), ("raised",)
NO_FORK = "Operation not permitted"  # what counts beside a wrapper is a clock: a guest starts no process

RESOURCES = [
    Hostile("fork bomb", wrapper("while True:\n    os.fork()"), RAISED, NO_FORK),
    Hostile(
        "fork bomb that ignores errors",
        wrapper("for _ in range(1000):\n    try:\n        os.fork()\n    except OSError:\n        pass\nos.fork()"),
        RAISED,
        NO_FORK,
    ),
    Hostile(
        "thread bomb",
        wrapper(
            "while True:\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
            "import threading, time",
        ),
        RAISED,
        "can't start new thread",
    ),
    Hostile("memory at once", wrapper("bytes(10**11)"), RAISED, "MemoryError"),
    Hostile("memory of a tensor", wrapper("torch.empty(10**11)"), RAISED, "memory"),
    Hostile(
        "memory bit by bit",
        wrapper("kept = []\nwhile True:\n    kept.append(bytearray(1 << 26))"),
        ("raised", "crashed"),
        "emory",
    ),
    Hostile(
        "memory of many processes",
        wrapper(
            "for _ in range(30):\n    if os.fork() == 0:\n        kept = b'x' * (300 << 20)\n        time.sleep(60)\n"
            "time.sleep(60)",
            "import os, time",
        ),
        RAISED,
        NO_FORK,
    ),
    Hostile(
        "memory shared by many processes",
        wrapper(
            "for _ in range(12):\n    if os.fork() == 0:\n        kept = mmap.mmap(-1, 300 << 20)\n"
            "        kept.write(b'x' * (300 << 20))\n        time.sleep(60)\ntime.sleep(60)",
            "import mmap, os, time",
        ),
        RAISED,
        NO_FORK,
    ),
    Hostile("sparse memory", wrapper("mmap.mmap(-1, 1 << 46)", "import mmap"), RAISED, "memory"),
    Hostile(
        "disk filler",
        wrapper(
            "for number in range(10000):\n    with open(f'file{number}', 'wb') as file:\n"
            "        file.write(bytes(16 << 20))"
        ),
        ("raised",),
        "PermissionError",
    ),
    Hostile(
        "many files",
        wrapper("for number in range(10**7):\n    open(f'file{number}', 'w').close()"),
        ("raised",),
        "PermissionError",
    ),
    Hostile(
        "one big file",
        wrapper("with open('big', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 24))"),
        ("raised",),
        "PermissionError",
    ),
    Hostile("one sparse file", wrapper("os.truncate(os.open('sparse', os.O_RDWR | os.O_CREAT), 1 << 44)"), RAISED),
    Hostile("loop in the wrapper", wrapper("while True:\n    pass"), TIMED_OUT, degraded=False),
    Hostile(
        "loop in a kernel",
        "@triton.jit\ndef kernel_loop(x, n):\n    go = n\n    while go > 0:\n"
        "        tl.store(x, tl.load(x) + 1)\n        go = tl.where(go > 1, go - 1, n)\n\n"
        + wrapper("kernel_loop[(1,)](torch.empty_like(input).copy_(input), 5)"),
        TIMED_OUT,
        degraded=False,
    ),
    Hostile(
        "native loop with every signal blocked",
        wrapper(
            "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))\nre.match('(a+)+$', 'a' * 60 + 'b')",
            "import re, signal",
        ),
        TIMED_OUT,
    ),
    Hostile(
        "loop while loading", "while True:\n    pass\n\ndef wrapper(input):\n    return input\n", TIMED_OUT, "", False
    ),
    Hostile(
        "deadlock",
        wrapper("lock = threading.Lock()\nlock.acquire()\nlock.acquire()", "import threading"),
        TIMED_OUT,
        degraded=False,
    ),
    Hostile("flood of output", wrapper("while True:\n    print('x' * 100000)"), TIMED_OUT, degraded=False),
    Hostile("much output", wrapper("for _ in range(20):\n    print('y' * 10**7)")),
    Hostile(
        "binary output",
        wrapper("os.write(1, bytes(range(256)) * 1000)\nraise ValueError('\\x00\\udcff')"),
        RAISED,
        "ValueError",
    ),
    Hostile("output closed", wrapper("os.close(1)\nos.close(2)\nos.close(0)")),
    Hostile("recursion", wrapper("wrapper(input)"), RAISED, "RecursionError"),
    Hostile(
        "recursion without a limit",
        wrapper("sys.setrecursionlimit(2**31 - 1)\nwrapper(input)", "import sys"),
        ("crashed", "raised", "timed_out"),
        degraded=False,
    ),
    Hostile(
        "native recursion",
        wrapper(
            "sys.setrecursionlimit(2**31 - 1)\nkind = ctypes.CFUNCTYPE(None)\n"
            "def again():\n    back()\nback = kind(again)\nback()",
            "import ctypes, sys",
        ),
        CRASHED,
        "SIGSEGV",
    ),
]
