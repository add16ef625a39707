"""What bounds a call on a chip whose simulator counts (`vpe`): the counters of its launches, as its model weighs them.

Each launch's time goes to what it hangs on, by the model of docs/vpe-compiler.md: its start; device memory, where all
PEs together wait for that; else the slowest PE, whose time is that of its DMA (bytes, and waiting for requests) or of
its units, whichever is longer, and of starting programs and atomic updates. Of a slowest PE's time only the part that
a perfect balance would leave is the resource's own; the rest is idle PEs.

The share of the roofline is the greatest of what was moved or computed over what the whole chip could in the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, get_args

from bringup.judge.measuring import Bound, Diagnosis, LineCost
from bringup.judge.profilers._base import Seen

# Where the time went -> what it is bound by, and how a person says it.
CAUSES: dict[str, tuple[Bound, str]] = {
    "launches": ("launch", "starting launches"),
    "copies' starts": ("launch", "starting copies that the wrapper asks for"),
    "copies": ("memory", "copies that the wrapper asks for"),
    "program starts": ("launch", "starting programs: fewer and larger ones would help"),
    "device memory": ("memory", "bytes that device memory delivers to all PEs"),
    "DMA": ("memory", "bytes that a PE's DMA engine moves"),
    "DMA requests": ("latency", "waiting for DMA requests: fewer and larger ones would help"),
    "idle PEs": ("latency", "PEs that wait for the slowest: more or more even programs would help"),
    "atomics": ("latency", "atomic updates"),
    "vector unit": ("compute", "the vector unit"),
    "dot unit": ("compute", "the matrix unit"),
    "special functions": ("special", "special functions (exp, log, division ...)"),
}
_WIDTHS = {"vector_8": 8, "vector_16": 16, "vector_32": 32, "vector_64": 64}
_DOTS = {
    "dot_fp32": "fp32", "dot_fp16": "fp16", "dot_bf16": "bf16", "dot_int8": "int8", "dot_fp64": "fp64",
    "dot_fp8": "fp8e5",
}  # fmt: skip

MOST_LINES, LEAST_SHARE = 3, 0.05  # of the source that are named; of the time that one has then


class ModelledCounters:
    """Counters of a simulated chip."""

    name = "counters"

    def diagnose(self, seen: Seen) -> Diagnosis | str | None:
        """Weigh the counters; None for a device that is none of the simulator's."""
        cost = seen.facts.get("cost")
        if not cost or not all("slowest" in launch for launch in seen.launches):
            return None
        spent = time_by_cause(seen)
        total = sum(spent.values())
        if not total:
            return "nothing was launched"
        used = utilisation(seen)
        by_bound: Counter[str] = Counter()
        for cause, seconds in spent.items():
            by_bound[CAUSES[cause][0]] += seconds  # type: ignore[assignment]
        bound = max(get_args(Bound), key=lambda name: by_bound[name])
        cause = max((c for c in spent if CAUSES[c][0] == bound), key=lambda name: spent[name])
        share = max((one for one, _ in used.values()), default=0.0)
        return Diagnosis(
            bound=bound,
            summary=_summary(bound, cause, spent[cause] / total, used, seen),
            share=min(share, 1.0),
            figures=_figures(seen, spent, used),
            lines=expensive_lines(seen),
            profilers=(self.name,),
            missing=(f"{self.name}: lines of the source: {seen.by_line}",) if isinstance(seen.by_line, str) else (),
        )


def expensive_lines(seen: Seen) -> tuple[LineCost, ...]:
    """The lines of the source that most of the modelled time goes to, with what was counted there."""
    if isinstance(seen.by_line, str):
        return ()
    cycle = 1e-9 / seen.facts["cost"]["clock_ghz"]
    seconds: Counter[int] = Counter()
    counted: dict[int, Counter[str]] = {}
    for launch in seen.by_line:
        for one in launch.get("lines", ()):
            seconds[one["line"]] += one["cycles"] * cycle
            counted.setdefault(one["line"], Counter()).update(one["counters"])
    texts = seen.source.splitlines()
    return tuple(
        LineCost(line=line, text=texts[line - 1].strip(), figures=_line_figures(spent, seen, counted[line]))
        for line, spent in seconds.most_common()
        if 0 < line <= len(texts) and spent >= LEAST_SHARE * seen.seconds
    )[:MOST_LINES]


def _line_figures(seconds: float, seen: Seen, count: Mapping[str, int]) -> dict[str, float]:
    found = {
        "% of the modelled time": 100 * seconds / seen.seconds,
        "us": seconds * 1e6,
        "DMA bytes": count.get("bytes_in", 0) + count.get("bytes_out", 0),
        "DMA requests": count.get("requests", 0),
        "vector operations": sum(count.get(slot, 0) for slot in _WIDTHS),
        "special functions": count.get("special", 0),
        "multiply-accumulates": sum(count.get(slot, 0) for slot in _DOTS),
        "atomic updates": count.get("atomics", 0),
    }
    return {name: _rounded(value) for name, value in found.items() if value}


def time_by_cause(seen: Seen) -> dict[str, float]:
    """Seconds of the modelled time by cause, the largest first."""
    cost = seen.facts["cost"]
    cycle = 1e-9 / cost["clock_ghz"]
    spent: Counter[str] = Counter()
    if seen.copy_seconds:
        asked = int(seen.account.get("copies", 0)) + int(seen.account.get("uploads", 0))
        starts = min(asked * cost["launch_us"] * 1e-6, seen.copy_seconds)
        spent["copies' starts"] += starts
        spent["copies"] += seen.copy_seconds - starts
    for launch in seen.launches:
        spent["launches"] += cost["launch_us"] * 1e-6
        slowest: Mapping[str, float] = launch["slowest"]
        if not slowest:
            continue
        if launch["chip_cycles"] > slowest["total"]:
            spent["device memory"] += launch["chip_cycles"] * cycle
            continue
        for cause, cycles in _parts(slowest).items():
            spent[cause] += cycles * launch["balance"] * cycle
        spent["idle PEs"] += slowest["total"] * (1 - launch["balance"]) * cycle
    return {cause: float(seconds) for cause, seconds in spent.most_common()}


def _parts(slowest: Mapping[str, float]) -> dict[str, float]:
    parts = {"program starts": slowest["programs"], "atomics": slowest["atomics"]}
    computing = slowest["vector"] + slowest["special"] + slowest["dot"]
    if slowest["dma"] >= computing:
        parts |= {"DMA": slowest["dma"] - slowest["waits"], "DMA requests": slowest["waits"]}
    else:
        units = {"vector unit": "vector", "special functions": "special", "dot unit": "dot"}
        parts |= {cause: slowest[unit] for cause, unit in units.items()}
    return parts


def _counted(seen: Seen) -> Counter[str]:
    total: Counter[str] = Counter()
    for launch in seen.launches:
        total.update(launch["counters"])
    return total


def utilisation(seen: Seen) -> dict[str, tuple[float, float]]:
    """By resource: its share of what the whole chip could do in the time, and the rate in units a second."""
    cost, grid = seen.facts["cost"], seen.facts["grid"]
    pes, count = grid["rows"] * grid["columns"], _counted(seen)
    cycles = max(seen.seconds * cost["clock_ghz"] * 1e9, 1.0)
    moved = count["bytes_in"] + count["bytes_out"]
    vector = sum(count[slot] * width / 32 for slot, width in _WIDTHS.items())  # in operations on 32 bits
    rates = cost["dot_macs_per_cycle"]
    slowest = min(rates.values(), default=1)
    dot = sum(count[slot] / rates.get(dtype, slowest) for slot, dtype in _DOTS.items())  # cycles of one PE
    macs = sum(count[slot] for slot in _DOTS)
    found = {
        "GB/s": (moved / cost["dma_bytes_per_cycle_chip"] / cycles, moved / seen.seconds / 1e9),
        "vector Gop/s": (vector / cost["vector_lanes"] / pes / cycles, vector / seen.seconds / 1e9),
        "special Gop/s": (
            count["special"] / cost["special_lanes"] / pes / cycles, count["special"] / seen.seconds / 1e9,
        ),
        "TFLOP/s": (dot / pes / cycles, 2 * macs / seen.seconds / 1e12),
    }  # fmt: skip
    return {name: pair for name, pair in found.items() if pair[1]}


def _figures(seen: Seen, spent: Mapping[str, float], used: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    count, granularity = _counted(seen), seen.facts["memory"]["dma_granularity_bytes"]
    moved = count["bytes_in"] + count["bytes_out"]
    transactions = count["transactions_in"] + count["transactions_out"]
    figures = {"us": seen.seconds * 1e6, "launches": float(len(seen.launches)), "programs": float(count["programs"])}
    figures |= {f"us of {cause}": seconds * 1e6 for cause, seconds in spent.items()}
    figures |= {name: rate for name, (_, rate) in used.items()}
    figures |= {f"share of peak {name}": share for name, (share, _) in used.items()}
    if seen.launches:
        figures["busy PEs"] = float(max(launch["busy"] for launch in seen.launches))
        figures["PEs"] = float(max(launch["pes"] for launch in seen.launches))
        figures["local bytes"] = float(max(launch["local_bytes"] for launch in seen.launches))
    if transactions:
        figures["useful share of DMA bytes"] = moved / (transactions * granularity)
    if count["requests"]:
        figures["bytes a DMA request"] = moved / count["requests"]
    if copies := seen.account.get("copies", 0):
        figures |= {"copies": float(copies), "bytes copied": float(seen.account.get("copied_bytes", 0))}
    return {name: _rounded(value) for name, value in figures.items()}


def _rounded(value: float) -> float:
    """Four significant digits: more are of no use to a reader, and texts that hold them stay short."""
    return float(f"{value:.4g}")


def _summary(
    bound: str, cause: str, share: float, used: Mapping[str, tuple[float, float]], seen: Seen
) -> str:  # fmt: skip
    words = {"special": "special functions", "compute": "arithmetic"}.get(bound, bound)
    text = f"Bound by {words}: {share:.0%} of {seen.seconds * 1e6:.4g} us is {CAUSES[cause][1]}."
    if used:
        name, (most, rate) = max(used.items(), key=lambda item: item[1][0])
        text += f" The nearest ceiling of the chip: {rate:.3g} {name}, {most:.0%} of its peak."
    busy: Any = max((launch["busy"] for launch in seen.launches), default=0)
    pes = max((launch["pes"] for launch in seen.launches), default=0)
    return text + (f" {busy} of {pes} PEs have work." if busy < pes else "")
