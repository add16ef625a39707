"""Huge pages for what many forks share: a fork copies a table entry for each page that its process has written to.

A process that has imported PyTorch and Triton has written to some 170 MiB: 44,000 pages of 4 KiB, 12 ms a fork, where
90 huge ones take 3. A copy that writes to one gets the 4 KiB that it writes to, not all of it.
"""

from __future__ import annotations

import ctypes

from bringup.judge.sandbox import _kernel

HUGE = 2 << 20
MADV_HUGEPAGE, MADV_COLLAPSE = 14, 25
MEMORY = ("", "[heap]")  # what no file lies behind


def use_huge_pages() -> int:
    """Put what this process has written to into huge pages; return how many bytes.

    0 where the kernel has none (before Linux 6.1, or switched off): then forks take longer, and nothing else.
    """
    libc, found = _kernel.libc(), 0
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:
        return 0
    for line in lines:
        fields = line.split(maxsplit=5)
        if fields[1] != "rw-p" or "".join(fields[5:]).strip() not in MEMORY:
            continue
        low, high = (int(place, 16) for place in fields[0].split("-"))
        low, high = -(-low // HUGE) * HUGE, high // HUGE * HUGE
        for start in range(low, high, HUGE):
            place, size = ctypes.c_void_p(start), ctypes.c_size_t(HUGE)
            if libc.madvise(place, size, MADV_HUGEPAGE) == 0 and libc.madvise(place, size, MADV_COLLAPSE) == 0:
                found += HUGE
    return found
