"""Random kernels, made by vpe's compiler and by Triton's interpreter, each in a process of its own."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_DRIVER = """
def main(out):
    torch.set_num_threads(1)
    found = {}
    for seed, kernel, *sizes in KERNELS:
        found[seed] = launched(seed, kernel, *sizes)
    pickle.dump(found, open(out, "wb"))

if __name__ == "__main__":
    if sys.argv[1] == "vpe":
        import bringup.vpe as vpe
        vpe.activate("permissive")
    main(sys.argv[2])
"""


def drawn(seed: int, count: int) -> range:
    """The seeds to try: these, or what `BRINGUP_VPE_FUZZ_SEED` and `BRINGUP_VPE_FUZZ_COUNT` say."""
    start = int(os.environ.get("BRINGUP_VPE_FUZZ_SEED", seed))
    return range(start, start + int(os.environ.get("BRINGUP_VPE_FUZZ_COUNT", count)))


def both_ways(folder: Path, launched: str, kernels: Iterable[tuple[int, list[str], tuple[int, ...]]]) -> list[Any]:
    """Return what vpe and the interpreter make of kernels, by seed.

    Args:
        folder: to write to.
        launched: source of `launched(seed, kernel, *sizes)`, which launches one and returns its results.
        kernels: of each its seed, the lines of `k{seed}` and its sizes.
    """
    parts = ["import pickle, sys, torch, triton, triton.language as tl", "KERNELS = []"]
    for seed, lines, sizes in kernels:
        parts += [*lines, f"KERNELS.append(({', '.join(map(str, (seed, f'k{seed}', *sizes)))}))"]
    script = folder / "kernels.py"
    script.write_text("\n".join([*parts, launched, _DRIVER]))
    results = []
    for mode, extra in (("vpe", {}), ("interpreter", {"TRITON_INTERPRET": "1"})):
        out = folder / mode
        command = [sys.executable, "-W", "ignore", str(script), mode, str(out)]
        done = subprocess.run(command, env={**os.environ, **extra}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        results.append(pickle.loads(out.read_bytes()))
    return results
