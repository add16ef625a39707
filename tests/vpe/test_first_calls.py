"""First calls of many threads: what is loaded once is loaded once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from bringup.vpe.native import once

PROGRAM = """
import threading
import torch
from bringup import vpe

vpe.activate("permissive")
wrong = []

def work(k):
    x = torch.full((64,), float(k)).to("vpe")
    if not torch.equal(x.clone().cpu(), torch.full((64,), float(k))):
        wrong.append(k)
    from bringup.vpe import native
    loaded.append(native.runtime())

loaded = []
threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for one in threads:
    one.start()
for one in threads:
    one.join()
assert not wrong, wrong
assert len({id(one) for one in loaded}) == 1 and len(loaded) == 8
"""


def test_no_two_threads_compute_the_same() -> None:
    calls = []

    @once
    def slow(name: str) -> object:
        calls.append(name)
        time.sleep(0.05)
        return object()

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(slow("a"))) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert calls == ["a"]
    assert len(set(map(id, found))) == 1
    assert slow("b") is not found[0]


def test_a_process_may_begin_with_many_threads() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
