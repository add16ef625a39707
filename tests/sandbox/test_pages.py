"""Huge pages change what a fork costs, and nothing that is in memory."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import hashlib, os
from bringup.judge.sandbox import use_huge_pages

kept = [bytes([number % 251]) * 3000 for number in range(20000)]  # 60 MB


def digest():
    return hashlib.sha256(b"".join(kept)).hexdigest()


before = digest()
size = use_huge_pages()
same = digest() == before
pid = os.fork()
if pid == 0:
    kept[7] = b"x" * 3000
    os._exit(0 if digest() != before else 1)
_, status = os.waitpid(pid, 0)
huge = sum(int(line.split()[1]) for line in open("/proc/self/smaps") if line.startswith("AnonHugePages"))
print(size >> 10, huge, same, status, digest() == before)
"""


def test_what_is_in_memory_stays() -> None:
    told = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True).stdout.split()
    moved, huge = map(int, told[:2])
    assert told[2:] == ["True", "0", "True"]
    assert huge >= moved // 2, "0 KiB were moved where the kernel has no huge pages"
