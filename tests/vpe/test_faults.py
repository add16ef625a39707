"""Every class of fault, its core dump and the debugger's text; races; the rules of a profile at launch."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

import bringup.vpe as vpe
from bringup.vpe import memory


def aligned(n, dtype=torch.float32, shift=0):
    """CPU memory at a multiple of 64 bytes, plus `shift` elements."""
    size = torch.empty(0, dtype=dtype).element_size()
    raw = torch.zeros(n + 64 + shift, dtype=dtype)
    skip = (-raw.data_ptr() % 64) // size + shift
    return raw[skip : skip + n]


@triton.jit
def helper(p, offsets, k):
    q = offsets + k
    return tl.load(p + q)


@triton.jit
def k_bounds(x, o, n, B: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * B + tl.arange(0, B)
    mask = offsets < n + 100
    total = tl.zeros((B,), tl.float32)
    for j in range(3):
        total += helper(x, offsets, j)
    tl.store(o + offsets, total, mask=mask)


@pytest.mark.usefixtures("permissive")
def test_out_of_bounds_dump_says_everything(tmp_path):
    x, o = torch.randn(1024), torch.full((1024,), 7.0)
    with vpe.launch_mode(dump_dir=str(tmp_path)), pytest.raises(vpe.VpeFault) as caught:
        k_bounds[(4,)](x, o, 1024, B=256)
    dump = caught.value.dump
    assert dump["kind"] == "out_of_bounds"
    assert dump["program"] == [3, 0, 0]
    assert dump["pointer_argument"] == "x"
    assert dump["nearest"]["argument"] == "x"
    assert dump["text"] == "return tl.load(p + q)"
    assert [frame["function"] for frame in dump["stack"]] == ["helper", "k_bounds"]
    values = {variable["name"]: variable for variable in dump["variables"]}
    assert values["pid"]["value"] == 3
    assert values["offsets"]["first"][0] == 768
    assert values["mask"]["true"] == 256
    assert values["n"]["value"] == 1024
    assert values["j"]["value"] == 1
    assert values["total"]["type"] == "fp32[256]"
    assert dump["constants"] == {"B": 256}
    assert json.loads((tmp_path / caught.value.dump_path.rsplit("/", 1)[1]).read_text()) == dump
    text = vpe.render_dump(caught.value.dump_path)
    for part in ("4 bytes past its end", "helper", "offsets: int32[256]", "program (3, 0, 0)"):
        assert part in text
    # nothing of the faulted program reached memory, and the replay left no trace
    assert (o[768:] == 7).all()


@triton.jit
def inner(p, at, step):
    far = at * step
    return tl.load(p + far)


@triton.jit
def middle(p, at, k):
    shifted = at + k
    near = tl.sum(tl.load(p + tl.arange(0, 16)), 0)
    got = inner(p, shifted, 3)
    return got * near


@triton.jit
def k_nested(x, o, n, B: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * B + tl.arange(0, B)
    first = tl.min(at * 2, 0)
    v = middle(x, at, 7)
    tl.store(o + at, v + first)


@pytest.mark.usefixtures("pe64")
def test_dump_names_variables_of_all_calls_and_the_other_pes():
    n = 4096
    # What lies beyond x must be no other argument of the launch, whatever the heap does: x is the end of its storage.
    both = aligned(2 * n + 64)
    o, x = both[:n], both[-n:]
    o.fill_(5)
    faulting = [pid for pid in range(64) if (pid * 64 + 63 + 7) * 3 >= n]
    with pytest.raises(vpe.VpeFault) as caught, vpe.launch_mode(threads=1):
        k_nested[(64,)](x, o, n, B=64)
    dump = caught.value.dump
    assert [frame["function"] for frame in dump["stack"]] == ["inner", "middle", "k_nested"]
    assert dump["program"] == [faulting[0], 0, 0]
    values = {variable["name"]: variable for variable in dump["variables"]}
    pid = faulting[0]
    assert set(values) == {"x", "o", "n", "pid", "at", "first", "middle.shifted", "middle.near", "inner.far"}
    assert values["first"]["value"] == pid * 128
    assert values["middle.shifted"]["first"][0] == pid * 64 + 7
    assert values["inner.far"]["last"][-1] == (pid * 64 + 63 + 7) * 3
    # the programs of the other PEs run again: all that would fault are named, and they leave no trace
    assert [other["program"][0] for other in dump["other_faults"]] == faulting[1:]
    assert dump["other_faults"][-1]["pe"] == [7, 7]
    assert {other["kind"] for other in dump["other_faults"]} == {"out_of_bounds"}
    assert (o[faulting[0] * 64 :] == 5).all()
    text = vpe.render_dump(dump)
    assert f"other PEs that faulted at the same time ({len(faulting) - 1})" in text
    assert "(7, 7)" in text


@triton.jit
def k_swap(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    b = tl.load(y + i)
    t = a
    a = b
    b = t
    tl.store(y + i + (1 << 20), a - b)


@triton.jit
def k_carried(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    b = tl.load(y + i)
    for _k in range(0, n):
        c = a + b
        a = b
        b = c
    m = n
    rest = n * 2
    while m > 0:
        m -= 1
        rest += m
    tl.store(y + i + (1 << 20) + m, a - b + rest)


@triton.jit
def k_branch(x, y, n, FLAG: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    b = a * 2
    kept = b + 1
    if FLAG:
        kept = kept * 100
    if tl.load(x) < n:
        a = a + 10
        b = a + 20
    else:
        b = b + 30
    tl.store(y + i + (1 << 20), a - b + kept)


@triton.jit
def k_other_branch(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i)
    b = tl.load(y + i)
    if tl.load(x) > n:
        a = b
        tl.store(x + i, a)
    else:
        tl.store(y + i + (1 << 20), a - b)


@triton.jit
def k_best(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    best = tl.load(x + i)
    at = i * 2
    best, at = tl.max(best, 0, return_indices=True)
    tl.store(y + at + (1 << 20), best)


SHOWN = [
    # what a name is bound to now, or nothing; never what it was bound to before
    (k_swap, {}, {"a": None, "b": None}),
    (k_carried, {}, {"a": [30, 35, 40, 45], "b": [50, 58, 66, 74], "m": 0, "rest": 14}),
    (k_branch, {"FLAG": False}, {"a": [10, 11, 12, 13], "b": [30, 31, 32, 33], "kept": [1, 3, 5, 7]}),
    (k_branch, {"FLAG": True}, {"kept": [100, 300, 500, 700]}),
    (k_other_branch, {}, {"a": [0, 1, 2, 3], "b": [10, 11, 12, 13]}),
    (k_best, {}, {"best": None, "at": None}),
]


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize(("kernel", "constants", "values"), SHOWN)
def test_dump_shows_values_under_their_own_names(kernel, constants, values):
    x, y = torch.arange(4.0), torch.arange(10.0, 14.0)
    with pytest.raises(vpe.VpeFault) as caught:
        kernel[(1,)](x, y, 4, B=4, **constants)
    found = {variable["name"]: variable["value"] for variable in caught.value.dump["variables"]}
    assert {name: found.get(name) for name in values} == values
    assert found["i"] == [0, 1, 2, 3]


@triton.jit
def k_copy(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i))


@triton.jit
def k_elements(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + (i * 7) % B, tl.load(x + (i * 5) % B))


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("kernel", [k_copy, k_elements])
@pytest.mark.parametrize("side", ["read", "write"])
def test_exact_byte_ranges(kernel, side):
    x, o = torch.randn(64), torch.zeros(64)
    if side == "read":
        x = torch.randn(63)
    else:
        o = torch.zeros(63)
    with pytest.raises(vpe.VpeFault) as caught:
        kernel[(1,)](x, o, B=64)
    assert caught.value.dump["kind"] == "out_of_bounds"
    assert caught.value.dump["access"] == side


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("kernel", [k_copy, k_elements])
def test_negative_offsets(kernel):
    base = torch.randn(128)
    with pytest.raises(vpe.VpeFault):
        kernel[(1,)](base[-32:], torch.zeros(64), B=64)


class _Special:
    """A tensor whose memory has properties."""

    def __init__(self, tensor, **properties):
        self.tensor, self.properties, self.dtype = tensor, properties, tensor.dtype

    def data_ptr(self):
        return self.tensor.data_ptr()


@pytest.fixture
def resolver(monkeypatch):
    def resolve(argument, pointer):
        if isinstance(argument, _Special):
            storage = argument.tensor.untyped_storage()
            return memory.Buffer(storage.data_ptr(), storage.nbytes(), **argument.properties)
        return None

    monkeypatch.setattr(memory, "_resolvers", [resolve])


@pytest.mark.usefixtures("permissive", "resolver")
@pytest.mark.parametrize("kernel", [k_copy, k_elements])
def test_read_only_freed_and_poison(kernel):
    x, o = torch.randn(64), torch.zeros(64)
    with pytest.raises(vpe.VpeFault, match="read-only"):
        kernel[(1,)](x, _Special(o, writable=False), B=64)
    with pytest.raises(vpe.VpeFault, match="freed"):
        kernel[(1,)](_Special(x, freed=True), o, B=64)
    written = np.ones(256, np.uint8)
    written[100:104] = 0
    with pytest.raises(vpe.VpeFault, match="never written") as caught:
        kernel[(1,)](_Special(x, initialised=written), o, B=64)
    assert int(caught.value.dump["address"], 16) == x.data_ptr() + 100
    fresh = np.zeros(256, np.uint8)
    kernel[(1,)](x, _Special(o, initialised=fresh), B=64)
    assert fresh.all()
    with vpe.launch_mode(checks=False):
        kernel[(1,)](_Special(x, initialised=written), o, B=64)


@triton.jit
def k_atomic(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.atomic_add(o + i, tl.load(x + i))


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("kernel", [k_copy, k_elements, k_atomic])
@pytest.mark.parametrize("where", ["cpu", "vpe"])
def test_protected_tensors_are_read_only(kernel, where):
    from bringup.vpe import device

    device.enable()
    values = torch.randn(128)
    x, o = values.clone().to(where), torch.zeros(128).to(where)
    with vpe.protect(x):
        kernel[(1,)](x, o, B=64)
        for target in (x, x[64:]):
            with pytest.raises(vpe.VpeFault, match="kernels may not write it") as caught:
                kernel[(1,)](o, target, B=64)
            assert caught.value.dump["kind"] == "read_only"
            assert caught.value.dump["nearest"]["argument"] == "o"
        with vpe.protect(o), vpe.launch_mode(seed=3), pytest.raises(vpe.VpeFault, match="read-only"):
            kernel[(1,)](x, o, B=64)
        kernel[(1,)](x, o, B=64)
    assert torch.equal(x.cpu(), values)
    with vpe.launch_mode(read_only=[o, torch.empty(0)]), pytest.raises(vpe.VpeFault, match="read-only"):
        kernel[(1,)](x, o, B=64)
    kernel[(1,)](torch.full((64,), 7.0).to(where), x, B=64)
    assert not torch.equal(x.cpu(), values)


@triton.jit
def k_misaligned(x, o):
    p = (x.to(tl.pointer_type(tl.int8)) + 2).to(tl.pointer_type(tl.float32))
    tl.store(o, tl.load(p))


@pytest.mark.usefixtures("permissive")
def test_misaligned():
    with pytest.raises(vpe.VpeFault, match="misaligned"):
        k_misaligned[(1,)](torch.zeros(8), torch.zeros(1))


@triton.jit
def k_assert(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.device_assert(v < 100, "value too large")


@pytest.mark.usefixtures("permissive")
def test_device_assert_only_in_debug():
    x = torch.tensor([1.0, 200.0, 3.0, 4.0])
    k_assert[(1,)](x, B=4)
    with pytest.raises(vpe.VpeFault) as caught:
        k_assert[(1,)](x, B=4, debug=True)
    assert "value too large" in vpe.render_dump(caught.value.dump)


@triton.jit
def k_index(x, i, o, B: tl.constexpr):
    r = tl.arange(0, B)
    tl.store(o + r, tl.gather(tl.load(x + r), tl.load(i + r), 0))


@pytest.mark.usefixtures("permissive")
def test_gather_index_out_of_range():
    index = torch.arange(16, dtype=torch.int32)
    index[3] = 16
    with pytest.raises(vpe.VpeFault) as caught:
        k_index[(1,)](torch.randn(16), index, torch.empty(16), B=16)
    assert caught.value.dump["kind"] == "index"


@triton.jit
def k_race(o, x, READ: tl.constexpr):
    pid = tl.program_id(0)
    if READ:
        tl.store(x + pid, tl.load(o + (pid + 1) % 8))
        tl.store(o + pid, pid.to(tl.float32))
    else:
        tl.store(o + pid // 2, pid.to(tl.float32))


@triton.jit
def k_no_race(o, t, B: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * B + tl.arange(0, B)
    tl.store(o + i, tl.load(o + i) + 1)
    tl.atomic_add(t, 1.0)


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("seed", range(3))
def test_races(seed):
    o, x = torch.zeros(8), torch.zeros(8)
    k_race[(8,)](o, x, READ=False)
    with vpe.launch_mode(race=True, seed=seed):
        with pytest.raises(vpe.VpeFault, match="two programs write") as caught:
            k_race[(8,)](o, x, READ=False)
        assert caught.value.dump["other_program"][0] // 2 == caught.value.dump["program"][0] // 2
        with pytest.raises(vpe.VpeFault, match="reads what another writes"):
            k_race[(8,)](o, x, READ=True)
        many, total = torch.zeros(256), torch.zeros(1)
        k_no_race[(8,)](many, total, B=32)
        assert total.item() == 8


@triton.jit
def k_rows(x, o, stride, B: tl.constexpr):
    r = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(o + r * stride + i, tl.load(x + r * stride + i))


@pytest.mark.usefixtures("pe64")
def test_alignment_of_rows_and_pointers():
    x, o = aligned(1024), aligned(1024)
    k_rows[(4,)](x, o, 104, B=64)
    assert torch.equal(o[104:168], x[104:168])
    with pytest.raises(vpe.VpeFault) as caught:
        k_rows[(4,)](x, o, 99, B=64)
    assert caught.value.dump["kind"] == "dma_alignment"
    assert caught.value.dump["program"] == [1, 0, 0]
    assert "12 bytes past a multiple of 32" in vpe.render_dump(caught.value.dump)
    with pytest.raises(vpe.VpeLaunchError, match=r"argument 'x'.*not a multiple of 32"):
        k_rows[(1,)](aligned(512, shift=1), o, 104, B=64)
    # short rows and strided ones go element by element
    k_rows[(4,)](x, o, 99, B=4)


@pytest.mark.usefixtures("pe64")
def test_grid_limits():
    x, o = aligned(64), aligned(64)
    with pytest.raises(vpe.VpeLaunchError, match="65535"):
        k_rows[(65536,)](x, o, 0, B=64)
    k_rows[(0,)](x, o, 0, B=64)


@pytest.mark.usefixtures("permissive")
def test_empty_tensors():
    empty = torch.empty(0)
    k_masked[(1,)](empty, empty, 0, B=16)
    with pytest.raises(vpe.VpeFault):
        k_masked[(1,)](empty, empty, 1, B=16)


@triton.jit
def k_masked(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def k_before_null(p, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(p - BLOCK + i))


@triton.jit
def k_steps(p, out, STEP: tl.constexpr, WRITE: tl.constexpr):
    i = tl.arange(0, 4)
    if WRITE:
        tl.store(p + i.to(tl.int64) * STEP, 1.0)
    else:
        tl.store(out + i, tl.load(p + i.to(tl.int64) * STEP))


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("block", [1, 16])
def test_what_lies_before_a_null_pointer_is_nobodys(block):
    """The end of such an access is address 0, where an empty tensor's range ends."""
    with pytest.raises(vpe.VpeFault, match="out of bounds"):
        k_before_null[(1,)](torch.empty(0), aligned(16), BLOCK=block)


@pytest.mark.usefixtures("permissive")
@pytest.mark.parametrize("write", [False, True])
def test_steps_that_go_once_around_leave_the_range_between(write):
    """Three such steps are one element in 64 bits, so that the first and the last element are in the tensor."""
    step = pow(3, -1, 1 << 62)
    assert 3 * 4 * step % (1 << 64) == 4
    x = aligned(64)
    with pytest.raises(vpe.VpeFault, match="out of bounds"):
        k_steps[(1,)](x, aligned(16), STEP=step, WRITE=write)
    assert not x[1:].any()
