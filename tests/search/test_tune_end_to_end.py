"""A search as a user makes it: captured calls, a script in a model's place, the real judge, a library of what won."""

from __future__ import annotations

import json
from pathlib import Path

import command_line
import pytest
import torch
import yaml

import bringup
from bringup.library import Library

KERNEL = """@triton.jit
def kernel_exp(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0).to(tl.float32)
    tl.store(out_ptr + i, tl.exp(x).to(out_ptr.dtype.element_ty), mask=i < n)


def wrapper(self, *, out):
    n = out.numel()
    if n:
        x, y = (t if t.is_contiguous() and t.storage_offset() % 32 == 0 else None for t in (self, out))
        source = self.contiguous().clone() if x is None else x
        target = torch.empty(out.shape, dtype=out.dtype, device=out.device) if y is None else y
        kernel_exp[(triton.cdiv(n, {block}),)](source, target, n, BLOCK={block})
        if y is None:
            out.copy_(target)
    return out
"""


def run(*arguments: object, cwd: Path) -> str:
    found = command_line.bringup(*arguments, cwd=cwd)
    assert found.returncode == 0, found.stderr + found.stdout
    return found.stdout


def reply(block: int) -> str:
    return f"Change: blocks of {block}\n```python\n{KERNEL.format(block=block)}```\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with captured calls, a slow kernel, and the replies of two nodes: small blocks, large blocks."""
    with bringup.capture(str(tmp_path / "calls.json")):
        for _ in range(3):
            torch.linspace(-1, 1, 65536).exp()
        torch.linspace(-1, 1, 64).exp()
    (tmp_path / "start.py").write_text(KERNEL.format(block=64))
    script = {"exp.out~n1": [reply(32)], "exp.out~n2": [reply(2048)]}
    (tmp_path / "script.yaml").write_text(yaml.safe_dump(script))
    return tmp_path


@pytest.mark.long
def test_a_kernel_is_searched_shown_and_added_to_a_library(folder: Path) -> None:
    answers = ("--client", "scripted", "--client-path", "script.yaml", "--drafts", 0, "--no-helpers")
    tuned = run(
        "tune", "exp.out", "--suite", "captured:calls.json", "--target", "vpe:pe64", "--start", "start.py", "--warm", 0,
        "--policy", "one-shot", "--nodes", 2, *answers, "--runs-dir", "runs", "--jobs", 1, "--json", cwd=folder,
    )  # fmt: skip
    found = json.loads(tuned)
    assert [node["result"] for node in found["nodes"]] == ["passed"] * 3, found["nodes"]
    assert [node["gate"] for node in found["nodes"]] == [True] * 3
    slower, faster = (node["fitness"] for node in found["nodes"][1:])
    assert slower < 1 < faster
    assert found["best"] == "2"
    # what the program spends its time with counts most: 3 x 65536 elements to 64
    assert found["cases"] == {"float32": [0, 1]}
    assert found["weights"]["float32"] == pytest.approx([196608 / 196672, 64 / 196672])

    tree = run("tree", "latest", "--runs-dir", "runs", cwd=folder)
    assert "blocks of 2048" in tree
    assert f"best {faster:.3g}x, node 2" in tree

    best = run("best", "-o", "exp.py", "--runs-dir", "runs", cwd=folder)
    assert (folder / "exp.py").read_text() == KERNEL.format(block=2048)
    assert best.splitlines()[0].endswith(f"{faster:.3g}x")
    # node 1 is slower on the whole, and the fastest where there are 64 elements: two programs for one
    served = [line.rpartition(", ")[0] for line in best.splitlines()[1:]]
    assert served == ["float32, rank 1, 65,536 elements: node 2", "float32, rank 1, 64 elements: node 1"]

    added = run("library", "add", "latest", "-l", "lib", "--runs-dir", "runs", cwd=folder)
    assert "2 kernels added" in added
    library = Library.open(folder / "lib")
    kernels = {str(entry.when): library.source(entry) for entry in library.of("exp.out")}
    small, large = "dtype=float32,rank=1,elements>=64,elements<=64", "dtype=float32,rank=1,elements>=65536"
    assert kernels == {small: KERNEL.format(block=32), large: KERNEL.format(block=2048)}
    shown = run("library", "show", "exp.out", "-l", "lib", cwd=folder)
    assert f"# exp.out+tuned-2, for {large}: passed 2 cases of captured:" in shown
    assert f"# exp.out+tuned-1, for {small}: passed 2 cases of captured:" in shown
    assert all(source in shown for source in kernels.values())
