"""Plant a fault in each kernel that a model uses, one after the other, and in pairs; does `bringup bisect` find it?

    python benchmarks/bisecting.py [--model dlrm] [--steps 2] [--pairs 5] [--seed 0] [--ops GLOBS] [--out OUT.jsonl]

A fault is a factor of 1.0625 on all that the kernel stores, or the opposite of truth values; what stores integers alone
is left out, since another index ends the program, which needs no bisection. A fault that the model's losses and
gradients do not show is `unseen`: nothing differs. Found is a planted kernel that is named, and no other. With `--out`
each trial is a line as soon as it is there, and the same command goes on.
"""

from __future__ import annotations

import argparse
import ast
import fnmatch
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bringup.library import Library

LIBRARY = Path(__file__).resolve().parents[1] / "kernels"
COMMAND = (sys.executable, "-m", "bringup.cli.main")
PLANTED = """
@triton.jit
def planted_fault(value):
    if value.dtype.is_floating():
        return (value * 1.0625).to(value.dtype)
    elif value.dtype == tl.int1:
        return value == 0
    else:
        return value


"""


def planted(source: str) -> str:
    """Return a kernel's text in which every store of a computed value goes through `planted_fault`."""
    values: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("tl.store", "tl.atomic_add")
            and len(node.args) > 1
        ):
            values.append(node.args[1])
    lines = source.splitlines(keepends=True)
    for value in sorted(values, key=lambda v: (v.lineno, v.col_offset), reverse=True):
        if isinstance(value, ast.Constant) or value.lineno != value.end_lineno:
            continue
        line = lines[value.lineno - 1].encode()
        first, last = value.col_offset, value.end_col_offset or 0
        lines[value.lineno - 1] = (line[:first] + b"planted_fault(" + line[first:last] + b")" + line[last:]).decode()
    return PLANTED + "".join(lines)


def bringup(*arguments: str | Path) -> Any:
    """Run a command and return what it prints as JSON."""
    done = subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1]) from None


def trial(names: Sequence[str], model: str, steps: int) -> dict[str, Any]:
    """Bisect a model on a library in which these kernels are faulty."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / "faulty"
        shutil.copytree(LIBRARY, library)
        opened = Library.open(LIBRARY)
        for name in names:
            entry = opened.find(name)
            assert entry is not None, name
            kernel = Path(scratch) / f"{name}.py"
            kernel.write_text(planted(opened.source(entry)))
            bringup("library", "add", kernel, "--json", "--op", name, "--unjudged", "--replace", "-l", library)
        try:
            found = bringup(
                *("bisect", "--json", "-l", library, "--unjudged", "--metric", "[losses, gradients]", "--rtol", "1e-3"),
                *(f"model:{model}", "--steps", str(steps)),
            )
        except RuntimeError as error:
            return {"planted": sorted(names), "result": "error", "why": str(error)[:300]}
    named = sorted({row["kernel"] for fault in found["faults"] for row in fault["kernels"]})
    right = "found" if named == sorted(names) else "unseen" if not named else "part" if {*named} < {*names} else "wrong"
    return {
        "planted": sorted(names),
        "result": right,
        "named": named,
        "runs": found["runs"],
        "seconds": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    """Plant, bisect and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="dlrm")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ops", default="*", help="globs, separated by commas")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    (model,) = bringup("models", "run", options.model, "--json", "--steps", str(options.steps), "--library", LIBRARY)
    used = sorted({kernel for row in model["operators"] for kernel in row["kernels"]})
    used = [name for name in used if any(fnmatch.fnmatch(name, glob) for glob in options.ops.split(","))]
    draw = random.Random(options.seed)
    pairs = [sorted(draw.sample(used, 2)) for _ in range(options.pairs if len(used) > 1 else 0)]
    lines = (
        [json.loads(line) for line in options.out.read_text().splitlines()]
        if options.out and options.out.exists()
        else []
    )
    done = {tuple(line["planted"]) for line in lines}
    for names in [*([name] for name in used), *pairs]:
        if tuple(names) in done:
            continue
        lines.append(trial(names, options.model, options.steps))
        print(json.dumps(lines[-1]), flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
    for what, some in (
        ("kernels", [x for x in lines if len(x["planted"]) == 1]),
        ("pairs", [x for x in lines if len(x["planted"]) == 2]),
    ):
        counts = Counter(line["result"] for line in some)
        print(
            f"{options.model}: {len(some)} {what}: {', '.join(f'{n} {result}' for result, n in counts.most_common())}"
        )


if __name__ == "__main__":
    main()
