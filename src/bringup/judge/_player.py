"""Runs one tape in a process of its own, for tools that watch a whole process: profilers, `compute-sanitizer`.

`python -m bringup.judge._player FOLDER DEVICE [--times N] [--with torch|proton]`. The folder holds `call.tape` and
`kernels.json`, the compiled kernels by the digest of their text: nothing is compiled here, and nothing of a candidate's
runs but its kernels. The last line of the output is JSON: blocks of memory with their addresses on the device, and
figures of the profiler that was asked for.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path
from typing import Any

from bringup.device import frames
from bringup.device.machine import TEXT, Compile, Machine
from bringup.device.prepared import Prepared
from bringup.device.tape import unpack

TAPE, KERNELS = "call.tape", "kernels.json"
MEMORY_BYTES = 1 << 40  # the device itself is the limit


def pack(folder: Path, tape: bytes, answer: Any) -> None:
    """Write what the player needs; `answer` gives facts and binary of a text, as `Compiling.answer` does."""
    kernels = {}
    for request in unpack(tape).kernels.values():
        text = {key: request[key] for key in TEXT}
        header, binary = answer(text)
        kernels[frames.digest(text)] = {**header, "binary": base64.b64encode(binary).decode()}
    (folder / TAPE).write_bytes(tape)
    (folder / KERNELS).write_text(json.dumps(kernels), encoding="utf-8")


def compiled(folder: Path) -> Compile:
    """Kernels from a folder, as a machine asks for them."""
    known = json.loads((folder / KERNELS).read_text(encoding="utf-8"))

    def answer(digest: str, text: dict[str, Any]) -> tuple[dict[str, Any], memoryview]:
        found = dict(known[digest])
        return found, memoryview(base64.b64decode(found.pop("binary", "")))

    return answer


def play(folder: Path, engine: Any, times: int, profiler: str) -> dict[str, Any]:
    """Run the tape once, and `times` more times under a profiler."""
    engine.start(lambda address: "")
    tape = unpack((folder / TAPE).read_bytes())
    prepared = Prepared(Machine(engine, compiled(folder)), tape, MEMORY_BYTES)
    said: dict[str, Any] = {
        "blocks": [
            [block.describe(), getattr(block.real, "address", block.base), block.nbytes] for block in prepared.memory
        ]
    }

    def again() -> None:
        for _ in range(times):
            prepared.run()
        engine.synchronize()

    if profiler == "torch":
        said["kernels"] = _with_torch(again, times)
    elif profiler == "proton":
        said["kernels"] = _with_proton(again, times, folder)
    else:
        again()
    return said


def _with_torch(body: Any, times: int) -> dict[str, float]:
    """Microseconds a run by kernel, from PyTorch's profiler."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as found:
        body()
    return {event.key: event.device_time_total / times for event in found.key_averages() if event.device_time_total > 0}


def _with_proton(body: Any, times: int, folder: Path) -> dict[str, float]:
    """Microseconds a run by kernel, from Triton's profiler."""
    import triton.profiler as proton

    name = str(folder / "proton")
    proton.start(name)
    body()
    proton.finalize()
    tree = json.loads(Path(f"{name}.hatchet").read_text(encoding="utf-8"))
    found: dict[str, float] = {}

    def walk(node: dict[str, Any]) -> None:
        metrics = node.get("metrics", {})
        spent = metrics.get("time (ns)")
        if spent and not node.get("children"):
            kernel = str(node.get("frame", {}).get("name", "?"))
            found[kernel] = found.get(kernel, 0.0) + float(spent) / 1e3 / times
        for child in node.get("children", ()):
            walk(child)

    for root in tree:
        if isinstance(root, dict) and "children" in root:
            walk(root)
    return found


def main() -> None:
    """Play a folder on a CUDA device, print what came of it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("device", type=int)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--with", dest="profiler", default="")
    given = parser.parse_args()
    from bringup.targets._cuda_engine import CudaEngine

    said = play(given.folder, CudaEngine(given.device), given.times, given.profiler)
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
