"""Sealed wrappers that read: one tape for each value that was found, and no more read than a judge allows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library._sealed import SealedWrapper
from bringup.library.errors import KernelFailed

COUNT = """
@triton.jit
def kernel_count(x_ptr, count_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(count_ptr + tl.arange(0, 2), tl.sum((x != 0).to(tl.int64)) + tl.zeros([2], tl.int64))


@triton.jit
def kernel_place(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    found = (tl.load(x_ptr + i, mask=i < n, other=0.0) != 0).to(tl.int64)
    tl.store(out_ptr + tl.cumsum(found, axis=0) - found, i.to(tl.int64), mask=found != 0)


def wrapper(self):
    count = torch.empty(2, dtype=torch.int64, device=self.device)
    kernel_count[(1,)](self, count, self.numel(), BLOCK=64)
    BODY
    out = torch.empty((found, 1), dtype=torch.int64, device=self.device)
    if found:
        kernel_place[(1,)](self, out, self.numel(), BLOCK=64)
    return out
"""
HONEST = "found = count[0].item()"


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    library = make_library(tmp_path_factory.mktemp("reads") / "kernels", {"nonzero": COUNT.replace("BODY", HONEST)})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as enabled:
        yield enabled


def asked(on: Any, *counts: int) -> int:
    """How many guests are asked for the places of so many elements; all must be right."""
    before = on.sealer.asked
    for count in counts:
        x = torch.zeros(40)
        x[torch.randperm(40)[:count]] = 1.5
        assert torch.equal(x.to("vpe").nonzero().cpu(), x.nonzero())
    return int(on.sealer.asked - before)


def test_each_value_that_is_found_is_asked_for_once(on: Any) -> None:
    assert asked(on, 3, 3, 5, 3, 5, 0, 40, 40, 0) == 4


def test_a_later_process_knows_them(on: Any, tapes: Path) -> None:
    asked(on, 7, 8)
    (file,) = [path for path in tapes.iterdir() if b'"readings": [[' in path.read_bytes()]
    assert file.read_bytes().count(b"\n") >= 2
    on.disable()
    with bringup.enable(on.library, device="vpe:permissive", sealed=True) as again:
        assert asked(again, 7, 8, 7) == 0
        assert asked(again, 9) == 1
        assert asked(again, 9, 7) == 0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("found = int(self[0].item())", "an argument, which it may not read"),
        ("found = count[0].item(); count[1].item(); count[0].item()", "more than a call of this operator may read"),
        ("found = sum(count.tolist()) // 2; count[0].item()", "more than a call of this operator may read"),
        ("found = count[0].item(); count.view(torch.float32)[2].item()", "which is no size of the result"),
        ("found = count[0].item(); torch.empty_like(count)[0].item()", "memory that no kernel has written"),
        (
            "import os\n    more = int.from_bytes(os.urandom(2), 'little')\n"
            "    kernel_count[(1,)](self, count, self.numel() + more, BLOCK=64)\n    " + HONEST,
            "asks for something else",
        ),
    ],
    ids=["arguments", "three numbers", "two and one", "no size", "nobody's", "goes by chance"],
)
def test_what_is_read_has_the_judge_s_bounds(tmp_path: Path, body: str, message: str) -> None:
    library = make_library(tmp_path / "kernels", {"nonzero": COUNT.replace("BODY", body)})

    def use() -> None:
        for count in range(1, 9):
            x = torch.zeros(64)
            x[:count] = 1
            x.to("vpe").nonzero()

    with bringup.enable(library, device="vpe:permissive", sealed=True), pytest.raises(KernelFailed, match=message):
        use()


def test_what_reads_has_no_alternatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs before a read nobody has agreed to, and one number holds for all of a call: so none after it either."""
    tuned = '@triton.autotune(configs=[triton.Config({"TURNS": 900}), triton.Config({"TURNS": 0})], key=["n"])\n'
    source = COUNT.replace("BODY", HONEST).replace("@triton.jit\n", f"{tuned}@triton.jit\n")
    source = source.replace("BLOCK: tl.constexpr", "TURNS: tl.constexpr, BLOCK: tl.constexpr")
    turns = "for t in range(0, TURNS):\n        n = n + t - t"
    source = source.replace("i = tl.arange(0, BLOCK)", f"i = tl.arange(0, BLOCK)\n    {turns}")
    library = make_library(tmp_path / "kernels", {"nonzero": source})
    tapes, keep = list[Any](), SealedWrapper._keep
    monkeypatch.setattr(SealedWrapper, "_keep", lambda self, call, tape: tapes.append(tape) or keep(self, call, tape))
    with bringup.enable(library, device="vpe:permissive", sealed=True) as enabled:
        assert asked(enabled, 3, 5, 0, 3) == 3
    assert [tape.tried() for tape in tapes] == [[[], []], [[], []], [[]]]
