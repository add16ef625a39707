"""Nsight Compute's source view: where warps were when they were sampled, by line of the candidate's source.

It prints one table for each kernel and file, after two rows that name them. In a table a row is a line of that file,
or, without a number, an instruction of the line above it. What Triton's own library has been inlined from has a table
of its own, without the line that called it.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping

from bringup.judge.measuring import LineCost
from bringup.judge.profilers._base import Seen

MOST_LAUNCHES = 16  # that are looked at: each is run several times
MOST_LINES, LEAST_SHARE = 3, 0.05  # that are named; of the samples that one has then
LIBRARY = "/triton/language/"
SAMPLES, INSTRUCTIONS = "# Samples", "Instructions Executed"
STALLS = {
    "stall_long_sb": "device memory", "stall_short_sb": "shared memory or special functions",
    "stall_lg": "the queue of accesses to device memory",
    "stall_mio": "the queue of shared memory and special functions",
    "stall_math": "a busy unit", "stall_wait": "a fixed latency", "stall_barrier": "a barrier",
    "stall_not_selected": "other warps", "stall_gmma": "the matrix unit",
}  # fmt: skip


def source_options(seen: Seen) -> tuple[str, ...]:
    """What `ncu` is asked for the view, for the candidate's kernels alone."""
    names = "|".join(sorted({str(kernel["name"]) for kernel in seen.kernels}))
    return (
        "--csv", "--page", "source", "--print-source", "cuda,sass", "--section", "SourceCounters",
        "--kernel-name", f"regex:^({names})$", "--launch-count", str(MOST_LAUNCHES), "--target-processes", "all",
    )  # fmt: skip


def read_source(text: str, seen: Seen) -> tuple[LineCost, ...] | str:
    """The lines with most samples; why there are none."""
    names = {str(kernel["name"]) for kernel in seen.kernels}
    total = 0.0
    counted: dict[int, Counter[str]] = {}
    for file, function, line, row in _lines(text):
        if function.partition("(")[0] not in names:
            continue
        total += _number(row.get(SAMPLES, ""))
        if LIBRARY not in file.replace("\\", "/"):
            found = counted.setdefault(line, Counter())
            for name, value in row.items():
                if name in (SAMPLES, INSTRUCTIONS) or name in STALLS:
                    found[name] += _number(value)  # type: ignore[assignment]
    if not total:
        return "it has no samples of the candidate's kernels"
    texts = seen.source.splitlines()
    costly = sorted(counted, key=lambda line: -counted[line][SAMPLES])
    return tuple(
        LineCost(line=line, text=texts[line - 1].strip(), figures=_figures(counted[line], total))
        for line in costly
        if 0 < line <= len(texts) and counted[line][SAMPLES] >= LEAST_SHARE * total
    )[:MOST_LINES]


def _lines(text: str) -> Iterator[tuple[str, str, int, Mapping[str, str]]]:
    """File, function, line and columns of each row that is a line; the rows of instructions repeat them."""
    file = function = ""
    header: list[str] = []
    for row in csv.reader(io.StringIO(text)):
        if len(row) >= 2 and row[0] in ("File Path", "File Name"):
            file, header = row[1], []
        elif len(row) >= 2 and row[0] in ("Function Name", "Kernel Name"):
            function = row[1]
        elif row and row[0] == "Line No":
            header = row
        elif header and row and row[0].isdigit() and len(row) == len(header):
            yield file, function, int(row[0]), dict(zip(header, row, strict=True))


def _figures(count: Mapping[str, float], total: float) -> dict[str, float]:
    """The line's share of all samples, and what most of its own waited for."""
    samples = count[SAMPLES]
    found = {"% of the samples of warps": 100 * samples / total}
    stall = max(STALLS, key=lambda name: count.get(name, 0.0))
    if waiting := count.get(stall, 0.0):
        found[f"% of these waiting for {STALLS[stall]}"] = 100 * waiting / samples
    if instructions := count.get(INSTRUCTIONS, 0.0):
        found["instructions of warps"] = instructions
    return {name: float(f"{value:.4g}") for name, value in found.items()}


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
