"""libdevice from kernels: by the generic module, by upstream's CUDA module, with profiles that lack functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as upstream

from bringup import vpe
from bringup.vpe import VpeCompileError, device


@pytest.fixture(autouse=True)
def _active() -> Iterator[None]:
    device.enable()
    vpe.activate("permissive")
    yield
    vpe.deactivate()
    device.allocator().check()


@triton.jit
def one_argument(x_ptr, many_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(many_ptr + offsets, libdevice.tanh(x), mask=mask)
    tl.store(many_ptr + n + offsets, libdevice.asinh(x), mask=mask)
    tl.store(many_ptr + 2 * n + offsets, libdevice.erfinv(libdevice.tanh(x)), mask=mask)
    tl.store(many_ptr + 3 * n + offsets, libdevice.cyl_bessel_i0(x), mask=mask)
    tl.store(many_ptr + 4 * n + offsets, libdevice.lgamma(x), mask=mask)
    tl.store(many_ptr + 5 * n + offsets, libdevice.expm1(x), mask=mask)
    tl.store(many_ptr + 6 * n + offsets, upstream.tan(x), mask=mask)
    tl.store(many_ptr + 7 * n + offsets, tl.where(libdevice.isnan(x) | libdevice.signbit(x) != 0, -1.0, 1.0), mask=mask)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_functions_of_one_argument(dtype: Any) -> None:
    n = 300
    x = torch.linspace(-3.07, 3.03, n, dtype=dtype)
    out = torch.empty(8, n, dtype=dtype, device="vpe")
    one_argument[(3,)](x.to("vpe"), out, n, BLOCK=128)
    expected = torch.stack(
        [
            x.tanh(), x.asinh(), x.tanh().erfinv(), torch.i0(x), torch.lgamma(x), x.expm1(), x.tan(),
            torch.where(x < 0, -1.0, 1.0).to(dtype),
        ]
    )  # fmt: skip
    tolerance = 2e-6 if dtype == torch.float32 else 1e-14
    # erfinv of a tanh close to 1 repeats the rounding of that tanh many times over
    torch.testing.assert_close(out.cpu(), expected, rtol=tolerance, atol=1e-5 if dtype == torch.float32 else 1e-13)


@triton.jit
def several_arguments(x_ptr, y_ptr, n_ptr, out_ptr, bits_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x, y, n = tl.load(x_ptr + offsets), tl.load(y_ptr + offsets), tl.load(n_ptr + offsets)
    tl.store(out_ptr + offsets, libdevice.pow(x, y))
    tl.store(out_ptr + N + offsets, libdevice.pow(y, n))
    tl.store(out_ptr + 2 * N + offsets, libdevice.atan2(x, y))
    tl.store(out_ptr + 3 * N + offsets, libdevice.fma(x, y, 2.0))
    tl.store(out_ptr + 4 * N + offsets, libdevice.ldexp(x, n))
    tl.store(out_ptr + 5 * N + offsets, libdevice.add_ru(x, 1e-9) - x)
    tl.store(bits_ptr + offsets, libdevice.popc(n) + libdevice.float_as_int(x) * 0 + libdevice.mulhi(n, n))


def test_functions_of_several_arguments_and_of_integers() -> None:
    x = torch.linspace(0.1, 4, 64)
    y = torch.linspace(-2, 2, 64)
    n = torch.arange(-32, 32, dtype=torch.int32)
    out, bits = torch.empty(6, 64, device="vpe"), torch.empty(64, dtype=torch.int32, device="vpe")
    several_arguments[(1,)](x.vpe(), y.vpe(), n.vpe(), out, bits, N=64)
    got = out.cpu()
    for row, expected in enumerate((x**y, y.double() ** n.double(), torch.atan2(x, y), x * y + 2, torch.ldexp(x, n))):
        torch.testing.assert_close(got[row], expected.float(), rtol=1e-6, atol=1e-7)
    assert (got[5] > 0).all()
    assert bits.cpu().tolist() == [(int(v) % 2**32).bit_count() for v in n]


@triton.jit
def half(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, libdevice.exp(tl.load(x_ptr + offsets)))


def test_a_wrong_dtype_is_explained_with_its_line() -> None:
    x = torch.empty(16, dtype=torch.float16, device="vpe")
    with pytest.raises(Exception, match=r"libdevice\.exp takes \(fp32\) or \(fp64\), not \(fp16\)") as caught:
        half[(1,)](x, x)
    assert "libdevice.exp(tl.load(x_ptr + offsets))" in str(caught.value)


@triton.jit
def bessel(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, libdevice.j0(tl.load(x_ptr + offsets)))


def test_a_function_that_the_chip_lacks_is_a_compile_error() -> None:
    x = torch.ones(16).vpe()
    out = torch.empty(16, device="vpe")
    bessel[(1,)](x, out)
    assert out.cpu()[0] == pytest.approx(0.7651976865579666)
    vpe.activate("pe64")
    with pytest.raises(VpeCompileError, match=r"libdevice\.j0 does not exist on pe64"):
        bessel[(1,)](x, out)
