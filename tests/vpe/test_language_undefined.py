"""What has no value or no meaning here: undefined values in the text, and bitcode for other machines in a launch."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

from bringup.vpe import compile as compiling
from bringup.vpe.backend import compiler

pytestmark = pytest.mark.usefixtures("permissive")


@triton.jit
def k_filled(x, o, scale):
    i = tl.arange(0, 16)
    v = tl.load(x + i)
    tl.store(o + i, tl.where(i < 8, v * scale, 7.5))
    s = tl.load(x)
    if scale > 100.0:
        s += 6.25
    tl.store(o + 16, s)


@pytest.mark.parametrize(
    ("constant", "type_"), [("dense<7.500000e+00>", "tensor<16xf32>"), ("6.250000e+00", "f32")], ids=["block", "scalar"]
)
def test_a_value_that_is_undefined_may_be_any_where_nobody_uses_it(
    monkeypatch: pytest.MonkeyPatch, constant: str, type_: str
) -> None:
    """Triton's passes put `ub.poison` where no path gives a value; here it takes the place of a constant."""
    whole = compiling.compile_ttir
    replaced = []

    def undefined(ttir: str, options: object) -> tuple[bytes, str, int]:
        text = ttir.replace(f"arith.constant {constant} : {type_}", f"ub.poison : {type_}")
        replaced.append(text != ttir)
        return whole(text, options)

    monkeypatch.setattr(compiling, "compile_ttir", undefined)
    x, o = torch.randn(16), torch.zeros(17)
    k_filled[(1,)](x, o, 3.0, num_stages=2 if constant.startswith("dense") else 3)  # no compiled kernel is found again
    assert replaced == [True]
    assert torch.equal(o[:8], x[:8] * 3.0)
    assert o[16] == x[0]


@triton.jit
def k_plain(x, o):
    i = tl.arange(0, 16)
    tl.store(o + i, tl.exp(tl.load(x + i)))


def test_bitcode_libraries_of_a_launch_are_not_read() -> None:
    """They are for other machines: `extern_libs` changes nothing, and compiles nothing anew."""
    x, plain, given = torch.randn(16), torch.zeros(16), torch.zeros(16)
    k_plain[(1,)](x, plain)
    k_plain[(1,)](x, given, extern_libs={"libdevice": "/nowhere/libdevice.10.bc"})
    assert torch.equal(plain, given)
    options = compiler.VpeBackend(triton.runtime.driver.active.get_current_target()).parse_options(
        {"extern_libs": {"libdevice": "/nowhere"}}
    )
    assert options.extern_libs is None
