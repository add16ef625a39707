"""CPU time of linting, by length of the candidate: `python benchmarks/linter.py [--json]`. Aim: 5 ms at 200 lines."""

from __future__ import annotations

import argparse
import json
import statistics
import time

from bringup.candidate import Candidate, parse_source
from bringup.dialect import load_dialect
from bringup.linter import lint

# One kernel, one helper and the host code that goes with them: the mix of a real candidate.
_PART = """\
@triton.jit
def kernel_part{n}(x_ptr, out_ptr, rows, columns, stride, ACC: tl.constexpr, BLOCK: tl.constexpr):
    # One program sums one row of the input.
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], dtype=ACC)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + row * stride + offsets, mask=mask, other=0.0).to(ACC)
        total += tl.where(mask, x * x, 0.0)
    value = tl.sum(total, axis=0)
    tl.store(out_ptr + row, value.to(out_ptr.dtype.element_ty))


def run_part{n}(input, dim):
    sizes = list(input.shape)
    dim = dim % max(len(sizes), 1)
    outer = math.prod(sizes[:dim])
    inner = math.prod(sizes[dim + 1 :])
    x = input.contiguous().view(outer, -1)
    out = torch.empty((outer * inner,), dtype=input.dtype, device=input.device)
    if out.numel() == 0 or inner == 0:
        return out

    acc = tl.float64 if input.dtype == torch.float64 else tl.float32
    block = min(triton.next_power_of_2(x.shape[1]), 1024)
    grid = (outer,)
    kernel_part{n}[grid](x, out, outer, x.shape[1], x.stride(0), ACC=acc, BLOCK=block)
    return out.view(sizes[:dim] + sizes[dim + 1 :])


"""
_PART_LINES = _PART.count("\n")


def candidate_of(lines: int) -> Candidate:
    """Make a clean candidate of about so many lines."""
    parts = max(1, round((lines - 8) / _PART_LINES))
    calls = "\n".join(f"    if mode == {n}:\n        return run_part{n}(input, dim)" for n in range(min(parts, 3)))
    body = "".join(_PART.replace("{n}", str(n)) for n in range(parts))
    return Candidate(source=f"{body}def wrapper(input, dim=-1, mode=0):\n{calls}\n    return run_part0(input, dim)\n")


def measure(lines: int, repeat: int = 101) -> dict[str, float]:
    """Median milliseconds of linting and, for comparison, of Python's own parser."""
    dialect = load_dialect("triton")
    candidate = candidate_of(lines)
    assert lint(candidate, dialect) == []

    def median(call: object) -> float:
        times = []
        for _ in range(repeat):
            start = time.process_time()
            call()  # type: ignore[operator]
            times.append(time.process_time() - start)
        return statistics.median(times) * 1000

    return {
        "lines": candidate.source.count("\n"),
        "lint_ms": median(lambda: lint(candidate, dialect)),
        "paper_ms": median(lambda: lint(candidate, dialect, rule_set="paper")),
        "parse_ms": median(lambda: parse_source(candidate.source)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [measure(lines) for lines in (50, 100, 200, 400)]
    if options.json:
        print(json.dumps(results, indent=2))
        return
    print("lines   full rules   paper rules   of which Python's parser   (median ms)")
    for r in results:
        print(f"{r['lines']:5.0f} {r['lint_ms']:12.2f} {r['paper_ms']:13.2f} {r['parse_ms']:26.2f}")


if __name__ == "__main__":
    main()
