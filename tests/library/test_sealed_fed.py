"""Whoever decides on a size, a truth value or what stays was given all that decides, in use as in the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from library_testkit import make_library

import bringup
from bringup.library.errors import KernelFailed

KERNELS = """
@triton.jit
def kernel_differ(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + i, mask=i < n, other=0), tl.load(y_ptr + i, mask=i < n, other=0)
    tl.store(out_ptr, tl.max((x != y).to(tl.int64), axis=0))


@triton.jit
def kernel_count(mask_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum((tl.load(mask_ptr + i, mask=i < n, other=0) != 0).to(tl.int64), axis=0))


@triton.jit
def kernel_select(x_ptr, mask_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    chosen = tl.load(mask_ptr + i, mask=i < n, other=0).to(tl.int64) != 0
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    tl.store((out_ptr + tl.cumsum(chosen.to(tl.int64), axis=0) - 1)[:, None], x[:, None], mask=chosen[:, None])


@triton.jit
def kernel_put(index_ptr, source_ptr, out_ptr, count, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(index_ptr + i, mask=i < count, other=0)
    x = tl.load(source_ptr + i, mask=i < count, other=0)
    tl.store((out_ptr + at)[:, None], x[:, None], mask=(i < count)[:, None])


@triton.jit
def kernel_look(x_ptr, out_ptr):
    tl.num_programs(0)


@triton.jit
def kernel_number(x_ptr, out_ptr, n):
    tl.store(out_ptr, n.to(tl.int64))


@triton.jit
def kernel_shows(index_ptr, source_ptr, x_ptr, out_ptr, n):
    tl.device_assert(tl.load(index_ptr) + tl.load(source_ptr).to(tl.int64) > -1)
    tl.store(out_ptr + n, tl.load(x_ptr + n))  # which hangs on no index


@triton.jit
def kernel_norm(x_ptr, out_ptr, mean_ptr, rstd_ptr, ran_mean_ptr, ran_var_ptr, n, factor, eps, STAT: tl.constexpr,
                BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0)
    mean = tl.sum(x, axis=0) / n
    apart = tl.where(i < n, x - mean, 0.0)
    var = tl.sum(apart * apart, axis=0) / n
    rstd = 1.0 / tl.sqrt(var + eps)
    tl.store(out_ptr + i, apart * rstd, mask=i < n)
    tl.store(mean_ptr, mean)
    tl.store(rstd_ptr, rstd)
    if STAT:
        tl.store(ran_mean_ptr, tl.load(ran_mean_ptr) * (1 - factor) + mean * factor)
        tl.store(ran_var_ptr, tl.load(ran_var_ptr) * (1 - factor) + var * n / (n - 1) * factor)
"""
EQUAL = """
def wrapper(self, other):
    n = self.numel()
    flag = torch.empty(8, dtype=torch.int64, device=self.device)
    BODY
    return flag[0].item() == 0
"""
SELECT = """
def wrapper(self, mask):
    n = self.numel()
    size = torch.empty(1, dtype=torch.int64, device=self.device)
    BODY
    out = torch.empty(size.item(), dtype=self.dtype, device=self.device)
    kernel_select[(1,)](self, mask, out, n, BLOCK=64, enable_scatter_stores=True)
    return out
"""
COPY = """
def wrapper(self, dim, index, source, *, out):
    count = index.numel()
    out.copy_(self)
    BODY
    return out
"""
NORM = """
def wrapper(input, weight, bias, running_mean, running_var, training, momentum, eps):
    out, (mean, rstd) = torch.empty_like(input), (torch.empty_like(running_mean) for _ in range(2))
    n = input.numel()
    kernel_norm[(1,)](input, out, mean, rstd, running_mean, running_var, n, momentum, eps, STAT=WRITES, BLOCK=64)
    return out, mean, rstd
"""
HALVES = """a, b = torch.empty_like(self), torch.empty_like(other)
    for half in (slice(0, n // 2), slice(n // 2, n)):
        a[half].copy_(self[half])
        b[half].copy_(other[half])
    kernel_differ[(1,)](a, b, flag, n, BLOCK=64)"""
FEW = """a, b = torch.empty_like(self), torch.empty_like(other)
    a[:1].copy_(self[:1])
    b.copy_(other)
    kernel_differ[(1,)](a, b, flag, 1, BLOCK=64)"""
OVER = """x, y = self.clone(), other.clone()
    x.copy_(y)
    kernel_differ[(1,)](x, y, flag, n, BLOCK=64)"""
BESIDE_ONE = """x, y = (torch.empty(n + 1, dtype=self.dtype, device=self.device) for _ in range(2))
    for one, given in ((x, self), (y, other)):
        kernel_number[(1,)](one, one, 3)
        one[1:].copy_(given)
    a, b = torch.empty_like(flag[:1]), torch.empty_like(flag[:1])
    a.copy_(x[:1])
    b.copy_(y[:1])
    kernel_differ[(1,)](a, b, flag, 1, BLOCK=64)"""
NOTHING = """kernel_differ[(1,)](self, self, flag, n, BLOCK=64)
    flag[:0].tolist()"""
PUT = "kernel_put[(1,)](index, source, out, count, BLOCK=64, enable_scatter_stores=True)"
WHOLE = f"""same = index.clone()
    kernel_look[(1,)](same, self)
    {PUT.replace("index,", "same,")}
    kernel_look[(1,)](self, out)"""
SHOWN = """kernel_look[(1,)](self, index)
    kernel_look[(1,)](index, source)
    kernel_look[(1,)](source, out)"""
BESIDE = """made = torch.empty_like(source)
    kernel_put[(1,)](index, source, made, 1, BLOCK=64, enable_scatter_stores=True)
    kernel_look[(1,)](self, made)
    out[:1].copy_(made[:1])"""
SHOWS = """kernel_shows[(1,)](index, source, self, out, count)"""
PART = """few = torch.empty_like(index)
    few[:1].copy_(index[:1])
    kernel_look[(1,)](self, source)
    kernel_put[(1,)](few, source, out, 1, BLOCK=64, enable_scatter_stores=True)"""

WRITTEN_OVER = """kernel_differ[(1,)](self, other, flag, n, BLOCK=64)
    kernel_number[(1,)](self, flag, 0)"""
ASKED_IN_VAIN = """kernel_number[(1,)](self, flag, 0)
    kernel_differ[(1,)](self, other, flag[4:], n, BLOCK=64)"""

X, SOURCE, INDEX = torch.arange(40.0), -torch.arange(1.0, 5.0), torch.tensor([0, 30, 3, 9])


def enabled(tmp_path: Path, overload: str, source: str) -> Any:
    library = make_library(tmp_path / "kernels", {overload: KERNELS + source}, "vpe:pe64")
    return bringup.enable(library, device="vpe:pe64", sealed=True, checked=False)


def refused(said: str) -> Any:
    return pytest.raises(KernelFailed, match=said)


@pytest.mark.parametrize("body", ["kernel_differ[(1,)](self, other, flag, n, BLOCK=64)", HALVES])
def test_a_truth_value_of_all_that_decides(tmp_path: Path, body: str) -> None:
    x, y = torch.arange(40), torch.arange(40)
    y[30] = 7
    with enabled(tmp_path, "equal", EQUAL.replace("BODY", body)):
        for one, other in ((x, x), (x, y), (x, x)):
            assert torch.equal(one.to("vpe"), other.to("vpe")) == torch.equal(one, other)
        both = torch.cat([x, y]).to("vpe")
        assert not torch.equal(both[:40], both[40:])  # of one storage


@pytest.mark.parametrize(
    "body",
    [
        "kernel_differ[(1,)](self, self, flag, n, BLOCK=64)", FEW, OVER, BESIDE_ONE, NOTHING, WRITTEN_OVER,
        ASKED_IN_VAIN,
    ],
)  # fmt: skip
def test_a_truth_value_of_less(tmp_path: Path, body: str) -> None:
    x, y = torch.arange(40), torch.arange(40) + torch.eye(40, dtype=torch.int64)[7]
    with enabled(tmp_path, "equal", EQUAL.replace("BODY", body)), refused("from all that decides on it"):
        torch.equal(x.to("vpe"), y.to("vpe"))


def test_a_size_that_a_mask_decides(tmp_path: Path) -> None:
    x, mask = torch.arange(40), torch.arange(40) % 3 == 0
    with enabled(tmp_path, "masked_select", SELECT.replace("BODY", "kernel_count[(1,)](mask, size, n, BLOCK=64)")):
        assert torch.equal(torch.masked_select(x.to("vpe"), mask.to("vpe")).cpu(), x[mask])


@pytest.mark.parametrize("body", ["kernel_count[(1,)](self, size, n, BLOCK=64)", "kernel_number[(1,)](mask, size, n)"])
def test_a_size_of_what_does_not_decide(tmp_path: Path, body: str) -> None:
    """Nor of what a kernel was given and has not looked at."""
    x, mask = torch.ones(40, dtype=torch.int64), torch.ones(40, dtype=torch.bool)
    with enabled(tmp_path, "masked_select", SELECT.replace("BODY", body)), refused("from all that decides on it"):
        torch.masked_select(x.to("vpe"), mask.to("vpe"))


@pytest.mark.parametrize("body", [PUT, WHOLE])
def test_what_stays_is_for_who_has_all_that_decides(tmp_path: Path, body: str) -> None:
    out = torch.zeros(40).to("vpe")
    with enabled(tmp_path, "index_copy.out", COPY.replace("BODY", body)):
        torch.index_copy(X.to("vpe"), 0, INDEX.to("vpe"), SOURCE.to("vpe"), out=out)
    assert torch.equal(out.cpu(), torch.index_copy(X, 0, INDEX, SOURCE))


@pytest.mark.parametrize("body", [SHOWN, BESIDE, PART, SHOWS])
def test_what_stays_is_not_for_who_has_less(tmp_path: Path, body: str) -> None:
    out = torch.zeros(40).to("vpe")
    with enabled(tmp_path, "index_copy.out", COPY.replace("BODY", body)), refused("a kernel must find out which"):
        torch.index_copy(X.to("vpe"), 0, INDEX.to("vpe"), SOURCE.to("vpe"), out=out)


@pytest.mark.parametrize("moves", [False, True])
def test_where_nothing_is_to_be_done_all_stays_where_it_was(tmp_path: Path, moves: bool) -> None:
    """Of an index without elements no kernel is asked; but copies do not lay elements down otherwise."""
    out = torch.zeros(40).to("vpe")
    body = "out[:20].copy_(self[20:])" if moves else ""
    with enabled(tmp_path, "index_copy.out", COPY.replace("BODY", body)):
        for _ in range(2):  # of a guest, and by its tape
            if moves:
                with refused("or copies have put others there"):
                    torch.index_copy(X.to("vpe"), 0, INDEX[:0].to("vpe"), SOURCE[:0].to("vpe"), out=out)
            else:
                torch.index_copy(X.to("vpe"), 0, INDEX[:0].to("vpe"), SOURCE[:0].to("vpe"), out=out)
                assert torch.equal(out.cpu(), X)


@pytest.mark.parametrize("writes", [True, False])
def test_running_statistics_are_written_in_training(tmp_path: Path, writes: bool) -> None:
    x, mean, var = torch.randn(2, 1, 20), torch.zeros(1), torch.ones(1)

    def call(device: str, training: bool) -> list[torch.Tensor]:
        kept = [one.clone().to(device) for one in (mean, var)]
        given = x.to(device)
        made = torch.native_batch_norm(given, None, None, *kept, training, 0.1, 1e-5)
        return [one.cpu() for one in (*made, *kept)]

    with enabled(tmp_path, "native_batch_norm", NORM.replace("WRITES", str(writes))):
        if not writes:
            with refused("as they were; a kernel must write all of them"):
                call("vpe", True)
            return
        for ours, theirs in zip(call("vpe", True), call("cpu", True), strict=True):
            torch.testing.assert_close(ours, theirs)
