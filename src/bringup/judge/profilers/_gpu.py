"""What bounds a call on a GPU: facts of its compiled kernels, PyTorch's profiler, Proton, Nsight Compute.

The roofline needs two figures of the device. Bandwidth comes from the driver (`memory_gb_s`), or from the published
figures of a chip that is not here; the peak of matrix products from capability, multiprocessors and clock. What must be
moved at least are the call's arguments and results; Nsight Compute counts what was moved in fact.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bringup.config import DEVICES
from bringup.judge.measuring import Bound, Diagnosis
from bringup.judge.profilers._arithmetic import Products, products
from bringup.judge.profilers._base import Seen
from bringup.judge.profilers._source_view import read_source, source_options

TOOL_SECONDS = 120
SHORT_LAUNCH_US = 4.0  # a kernel's time below which its start is most of it
FULL = 0.6  # of a ceiling: what is near it is bound by it
BUSY = 0.3  # of a unit's peak: from here on its work hides what has a smaller share
AT_PEAK = "near the peak of its matrix products"
FAILED = "failed: "  # what begins so is no output
RUNS = 20  # of the tape under a profiler of time
METRICS = {
    "gpu__time_duration.sum": "ns",
    "dram__bytes.sum": "DRAM bytes",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "% of DRAM peak",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "% of SM peak",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": "% of special-function peak",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "% of warps active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "% of issue slots",
}


class CompiledFacts:
    """Registers, spills, occupancy and instructions of the compiled kernels, and the least traffic."""

    name = "compiled"

    def diagnose(self, seen: Seen) -> Diagnosis | str | None:
        """Read the kernels; None where there are none of a GPU's."""
        if not seen.target.startswith("cuda") or not seen.kernels:
            return None
        from bringup.targets import cubin_resources

        figures: dict[str, float] = {}
        arch = int(seen.facts.get("capability", 90))
        for kernel in seen.kernels:
            warps = int(kernel["facts"].get("num_warps") or 4)
            found = cubin_resources(bytes(kernel["binary"]), arch, warps, int(kernel["shared"]))
            for what, number in found.items():
                worst = min if what.startswith("share") else max
                figures[what] = float(worst(figures.get(what, number), number))
        return judged(seen, figures, self.name)


def judged(seen: Seen, figures: dict[str, float], name: str) -> Diagnosis:
    """What the least traffic, the matrix products, the launches and the kernels' facts say together."""
    figures = {**figures, "us": seen.seconds * 1e6, "launches": float(len(seen.launches))}
    peak = float(seen.facts.get("memory_gb_s", 0))
    rate = seen.least_bytes / seen.seconds / 1e9
    figures["GB/s at least"] = round(rate, 3)
    memory = min(rate / peak, 1.0) if peak else None
    made = products(seen)
    compute = None
    if isinstance(made, Products):
        done = made.operations / seen.seconds / 1e12
        compute = min(done / made.peak, 1.0)
        figures[f"TFLOP/s in {made.unit}"] = float(f"{done:.4g}")
        figures[f"peak TFLOP/s in {made.unit}"] = float(f"{made.peak:.4g}")
    share = max((one for one in (memory, compute) if one is not None), default=None)
    times = [float(one["microseconds"]) for one in seen.launches if "microseconds" in one]
    spilled = figures.get("local bytes a thread", 0)
    bound: Bound = "unknown"
    words = "what bounds it is not known without hardware counters"
    nearer = compute is not None and compute > (memory or 0.0)
    if share is not None and share >= FULL:
        bound, words = ("compute", AT_PEAK) if nearer else ("memory", "near what device memory delivers")
    elif times and max(times) < SHORT_LAUNCH_US:
        bound, words = "launch", f"every kernel takes less than {SHORT_LAUNCH_US:g} us: starting it is most of that"
    elif spilled:
        bound, words = "memory", f"{spilled:g} bytes a thread are kept outside of registers"
    elif figures.get("share of most warps", 1.0) < 0.25:
        bound, words = "latency", f"only {figures['share of most warps']:.0%} of the warps fit at once"
    elif nearer and compute is not None and compute >= BUSY:
        bound, words = "compute", "nearer to the peak of its matrix products than to what device memory delivers"
    text = f"{words[0].upper()}{words[1:]}: {figures['us']:.4g} us in {len(seen.launches)} launches"
    text += f", {rate:.4g} GB/s at least"
    if memory is not None:
        text += f" ({memory:.0%} of {peak:g})"
    if isinstance(made, Products) and compute is not None:
        done = made.operations / seen.seconds / 1e12
        text += f", {done:.4g} TFLOP/s in {made.unit} ({compute:.0%} of {made.peak:.4g})"
    elif isinstance(made, str):
        text += f"; arithmetic unknown: {made}"
    return Diagnosis(bound=bound, summary=f"{text}.", share=share, figures=figures, profilers=(name,))


class _Watched:
    """A profiler that watches the player."""

    name = ""

    def diagnose(self, seen: Seen) -> Diagnosis | str | None:
        if not seen.target.startswith("cuda") or not seen.folder:
            return None
        return self.watch(seen)

    def watch(self, seen: Seen) -> Diagnosis | str:
        raise NotImplementedError


class _KernelTimes(_Watched):
    """One that gives times by kernel."""

    module = ""

    def watch(self, seen: Seen) -> Diagnosis | str:
        """Run the tape under it."""
        said = played(seen, ("--times", str(RUNS), "--with", self.name))
        if isinstance(said, str):
            return said
        times: Mapping[str, float] = said.get("kernels", {})
        if not times:
            return "it saw no kernel"
        figures = {f"us in {kernel} ({self.name})": round(spent, 3) for kernel, spent in times.items()}
        total = sum(times.values())
        text = f"{total:.4g} us in kernels of {seen.seconds * 1e6:.4g} us."
        return Diagnosis(bound="unknown", summary=text, figures=figures, profilers=(self.name,))


class TorchProfiler(_KernelTimes):
    """PyTorch's profiler."""

    name = "torch"


class Proton(_KernelTimes):
    """Triton's profiler."""

    name = "proton"


class NsightCompute(_Watched):
    """Hardware counters by Nsight Compute."""

    name = "ncu"

    def watch(self, seen: Seen) -> Diagnosis | str:
        """Run the tape under `ncu`, and read its counters."""
        tool = shutil.which("ncu")
        if tool is None:
            return "not installed (no `ncu` in the path)"
        command = [tool, "--csv", "--page", "raw", "--metrics", ",".join(METRICS), "--target-processes", "all"]
        done = run([*command, *player(seen, ("--times", "1"))])
        said = done if done.startswith(FAILED) else read_ncu(done, seen)
        if isinstance(said, str):
            return said
        done = run([tool, *source_options(seen), *player(seen, ("--times", "1"))])
        lines = done if done.startswith(FAILED) else read_source(done, seen)
        if isinstance(lines, str):
            return said.model_copy(update={"missing": (f"{self.name}: lines of the source: {lines}",)})
        return said.model_copy(update={"lines": lines})


def read_ncu(text: str, seen: Seen) -> Diagnosis | str:
    """Read the table that `ncu --csv --page raw` prints: a row of names, one of units, one a kernel."""
    if "ERR_NVGPUCTRPERM" in text:
        return "this user may not read the GPU's counters (ERR_NVGPUCTRPERM)"
    start = text.find('"ID"')
    rows = list(csv.DictReader(io.StringIO(text[start:]))) if start >= 0 else []
    names = {str(kernel["name"]) for kernel in seen.kernels}
    units, kernels = (rows[0], rows[1:]) if rows else ({}, [])
    mine = [row for row in kernels if row.get("Kernel Name", "").partition("(")[0] in names]
    if not mine:
        return "it saw none of the candidate's kernels"
    figures: dict[str, float] = {}
    spent = 0.0
    for row in mine:
        weight = _number(row.get("gpu__time_duration.sum", ""))
        spent += weight
        for metric, what in METRICS.items():
            if metric in row:
                number = _number(row[metric])
                figures[what] = figures.get(what, 0.0) + (number * weight if what.startswith("%") else number)
    figures = {w: n / spent if w.startswith("%") and spent else n for w, n in figures.items()}
    figures["kernels counted"] = float(len(mine))
    if unit := units.get("dram__bytes.sum"):
        figures["DRAM bytes"] = figures.get("DRAM bytes", 0.0) * _SCALES.get(unit.lower(), 1.0)
    return decided(figures)


_SCALES = {"kbyte": 1e3, "mbyte": 1e6, "gbyte": 1e9, "byte": 1.0}


def decided(figures: dict[str, float]) -> Diagnosis:
    """What hardware counters, averaged over time, say."""
    memory = figures.get("% of DRAM peak", 0.0) / 100
    compute = figures.get("% of SM peak", 0.0) / 100
    special = figures.get("% of special-function peak", 0.0) / 100
    bound: Bound
    if max(memory, compute, special) < FULL:
        bound, words = "latency", "no unit is near its ceiling: too few warps, or too long chains of waiting"
    elif special >= max(memory, compute) - 0.05:
        bound, words = "special", "the special-function unit is the busiest"
    elif memory >= compute:
        bound, words = "memory", "device memory is near its ceiling"
    else:
        bound, words = "compute", "the multiprocessors are near their ceiling"
    text = (
        f"{words[0].upper()}{words[1:]}: {memory:.0%} of the memory's peak, {compute:.0%} of the multiprocessors', "
        f"{figures.get('% of warps active', 0.0):.0f} % of the warps active."
    )
    rounded = {what: float(f"{number:.4g}") for what, number in figures.items()}
    return Diagnosis(
        bound=bound, summary=text, share=min(max(memory, compute), 1.0), figures=rounded, profilers=("ncu",)
    )


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


# The player ------------------------------------------------------------------------------------------------------


def player(seen: Seen, options: Sequence[str]) -> list[str]:
    """The command that plays the call's tape."""
    number = seen.target.partition(":")[2] or "0"
    return [sys.executable, "-m", "bringup.judge._player", seen.folder, number, *options]


def played(seen: Seen, options: Sequence[str]) -> dict[str, Any] | str:
    """Play the tape; what the player says in its last line, or why it does not."""
    said = run(player(seen, options))
    return said if said.startswith(FAILED) else _last_line(said)


def _last_line(said: str) -> dict[str, Any] | str:
    try:
        found = json.loads(said.rstrip().splitlines()[-1])
    except (ValueError, IndexError):
        return "the player says nothing that can be read"
    return found if isinstance(found, dict) else "the player says nothing that can be read"


def run(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """The output of a tool that watches the GPU; one line that says why there is none."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TOOL_SECONDS, check=False, env=environment(more or {}),
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return f"{FAILED}{type(error).__name__}: {str(error)[:200]}"
    if done.returncode and not done.stdout.strip():
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return f"{FAILED}{lines[-1][:300]}"
    return done.stdout


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's, with the GPUs that the user sees."""
    found = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    if DEVICES in found and found[DEVICES] != "all":
        found["CUDA_VISIBLE_DEVICES"] = found[DEVICES]
    return {**found, **more}
