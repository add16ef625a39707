"""A new guest's first call is not believed alone: another guest, which has made other calls, must make it alike."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from library_kernels import ADD
from library_testkit import make_library

import bringup
from bringup.judge._rehearsal import of_small_sizes
from bringup.library import _witness
from bringup.library._sealer import SEALERS
from bringup.library.errors import KernelFailed

# Right but in calls that ODD tells from others.
ODD = """
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(out_ptr + i, (a + b) * factor, mask=i < n)


calls = []


def wrapper(self, other, *, alpha=1, out):
    calls.append(tuple(self.shape))
    odd = ODD
    kernel_add[(1,)](self, other, out, out.numel(), 2.0 if odd else 1.0, BLOCK=1024)
    return out
"""


@pytest.fixture(autouse=True)
def own_tapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.thinned
@pytest.mark.parametrize(
    "odd",
    [
        "len(calls) == 1",
        "len(calls) <= 2",
        "calls[0] == tuple(self.shape)",
        "self.data_ptr() < (0x5000 << 32) + (1 << 43) + (1 << 20)",
    ],
    ids=["the first call", "the first two", "the shape that came first", "a low address"],
)
def test_what_only_a_new_guest_does_is_refused(tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "data_ptr" in odd:
        from bringup.device import space

        odd = f"self.data_ptr() < {space.MIDDLE + (1 << 20)}"
    library = make_library(tmp_path / "kernels", {"add.out": ODD.replace("ODD", odd)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(48).to("vpe")
        with pytest.raises(KernelFailed, match=r"goes by more than the call's|not PyTorch's"):
            x + x


TIMED = """
@triton.jit
def kernel_probe(p):
    tl.store(p, 0.0)


def taken(x):
    probe = x.new_empty(1)
    return triton.runtime.driver.active.get_benchmarker()(lambda: kernel_probe[(1,)](probe))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "odd",
    [
        "taken(self) > 0 and calls[0] == tuple(self.shape)",
        "taken(self) > 0 and calls[0][0] > 40",
        "len(calls) == 1 and taken(self) > 0 or taken(self) < 0",
        "len(calls) == 1 and taken(self) > 0",
    ],
    ids=["the shape that came first", "a large shape that came first", "the first call", "in the first call alone"],
)
def test_a_call_that_times_something_has_a_witness(tmp_path: Path, odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_witness, "FIRSTS", (of_small_sizes,))
    library = make_library(tmp_path / "kernels", {"add.out": TIMED + ODD.replace("ODD", odd)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        x = torch.randn(48).to("vpe")
        with pytest.raises(KernelFailed, match="goes by more"):
            x + x


TUNED = """
@triton.autotune(
    configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 32})], key=["large"]
)
@triton.jit
def kernel_add(a_ptr, b_ptr, out_ptr, n, large, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(a_ptr + i, mask=i < n)
    b = tl.load(b_ptr + i, mask=i < n)
    tl.store(out_ptr + i, a + b, mask=i < n)


def wrapper(self, other, *, alpha=1, out):
    n = out.numel()
    kernel_add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](self, other, out, n, KEY)
    return out
"""


@pytest.mark.parametrize("key", ["n", "int(n > 1000)"])
@pytest.mark.long
def test_a_tuner_may_have_chosen_before(tmp_path: Path, key: str) -> None:
    """Its witness has chosen for small sizes; what it chooses for these is another configuration."""
    library = make_library(tmp_path / "kernels", {"add.out": TUNED.replace("KEY", key)})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        for n in (700, 3, 2000, 64, 1500):
            right(torch.randn(n))


@pytest.mark.parametrize("blocks", [(16, 1024), (1024, 16)])
def test_the_fastest_of_what_a_tuner_tries_is_kept(tmp_path: Path, tapes: Path, blocks: tuple[int, int]) -> None:
    before = set(tapes.iterdir())
    configs = ", ".join(f'triton.Config({{"BLOCK": {block}}})' for block in blocks)
    source = re.sub(r"configs=\[.*\], key", f"configs=[{configs}], key", TUNED).replace("KEY", "n")
    library = make_library(tmp_path / "kernels", {"add.out": source})
    for _ in range(2):  # the second time the tape comes from the file
        with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
            right(torch.randn(50_000))
            asked = on.sealer.asked
    assert asked == 0
    (file,) = set(tapes.iterdir()) - before
    (told,) = [json.loads(line.partition(b" ")[2]) for line in file.read_bytes().splitlines()]
    (launch,) = [step for step in told["steps"] if step[0] == "launch"]
    *_, others, choice = launch
    assert len(others) == 2
    assert choice % 2 == blocks.index(1024)


IN_FIRST_CALLS = """
calls = []
kept = [triton.Config({"BLOCK": 16, "TIMES": 1}), triton.Config({"BLOCK": 1024, "TIMES": 1})]
odd = [kept[0], triton.Config({"BLOCK": 1024, "TIMES": 3})]


def wrapper(self, other, *, alpha=1, out):
    calls.append(1)
    kernel_add.configs = odd if len(calls) == 1 else kept
    n = out.numel()
    kernel_add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](self, other, out, n, n)
    return out
"""


def test_what_is_tried_in_first_calls_alone_does_not_run(tmp_path: Path) -> None:
    """What the launch names is the same for all guests; what may run in its place is not."""
    source = TUNED[: TUNED.index("def wrapper")].replace(
        "BLOCK: tl.constexpr", "BLOCK: tl.constexpr, TIMES: tl.constexpr"
    )
    source = re.sub(r"configs=\[.*\], key", 'configs=[triton.Config({"BLOCK": 16, "TIMES": 1})], key', source)
    source = source.replace("a + b, mask", "a + b * TIMES, mask") + IN_FIRST_CALLS
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):
        right(torch.randn(50_000))


@pytest.mark.long
def test_what_is_refused_is_not_kept(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": ODD.replace("ODD", "len(calls) == 1")})
    for _ in range(2):
        with bringup.enable(library, device="vpe:permissive", sealed=True):
            x = torch.randn(48).to("vpe")
            for _ in range(2):
                with pytest.raises(KernelFailed, match="goes by more"):
                    x + x


def right(x: torch.Tensor) -> None:
    torch.testing.assert_close((x.to("vpe") + x.to("vpe")).cpu(), x + x)


@pytest.mark.long
def test_a_wrapper_that_ends_its_process_for_other_sizes_has_no_witness(tmp_path: Path) -> None:
    source = ODD.replace(
        "odd = ODD", "odd = False\n    if self.shape[0] != 48:\n        import os\n        os._exit(3)"
    )
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with (
        bringup.enable(library, device="vpe:permissive", sealed=True),
        pytest.raises(KernelFailed, match="the process ended by itself"),
    ):
        right(torch.randn(48))


@pytest.mark.long
def test_a_witness_that_dies_is_replaced(tmp_path: Path) -> None:
    source = ODD.replace("odd = ODD", "odd = False\n    if len(calls) == 20:\n        import os\n        os._exit(3)")
    library = make_library(tmp_path / "kernels", {"add.out": source})
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        for n in range(30, 50):
            right(torch.randn(n))


def _guests() -> list[Any]:
    (sealer,) = [one for one in SEALERS if one.caller._spawners]
    return [witness._session for witness in sealer.witnesses._kept.values()]


def test_a_witness_that_fails_is_replaced_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have used up its addresses, which it is given once each."""
    library = make_library(tmp_path / "kernels", {"add.out": ODD.replace("odd = ODD", "odd = False")})
    failed: list[bool] = []
    once = _witness._Witness.again

    def again(self: Any, *args: Any) -> Any:
        found = once(self, *args)
        failed.append(len(failed) in fails)
        return None if failed[-1] else found

    monkeypatch.setattr(_witness._Witness, "again", again)
    with bringup.enable(library, device="vpe:permissive", sealed=True):
        fails = {0}
        right(torch.randn(40))
        assert failed == [True, False]
        fails = {2, 3}
        with pytest.raises(KernelFailed, match="it fails"):
            right(torch.randn(41))
        assert len(failed) == 4


@pytest.mark.long
def test_few_witnesses_stay_and_none_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_witness, "KEPT", 1)
    monkeypatch.setattr(_witness, "IDLE_SECONDS", 1.0)
    library = make_library(tmp_path / "kernels", {"add.out": ADD, "sub.out": ADD.replace("a + b", "a - b")})
    with bringup.enable(library, device="vpe:permissive", sealed=True, checked=False):  # one of them adds too much
        x = torch.randn(8).to("vpe")
        (x + x) - x
        (session,) = _guests()
        process = psutil.Process(session._guest.pid)
        deadline = time.monotonic() + 30
        while _guests():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.wait(10)
        right(torch.randn(9))
