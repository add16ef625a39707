"""Integers of n bits that walk past the end of n bits: every reader sees two's complement, also in more bits."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from both_ways import both_ways, drawn
from whole import WHOLE

import bringup.vpe as vpe
from bringup.vpe.ir import Type, Value
from bringup.vpe.lower.affine import Affine, Extended, Fits, _fits, saturated, span

TOP = 2**31 - 1


@pytest.fixture(params=["permissive", "pe64"])
def chip(request):
    vpe.activate(request.param)
    yield
    vpe.deactivate()


@triton.jit
def kernel_values(o, f, factor: tl.constexpr, s, B: tl.constexpr):
    i = tl.arange(0, B)
    w = i * factor + s
    tl.store(o + i, w.to(tl.int64))
    tl.store(o + B + i, w.to(tl.int64) // 7)
    tl.store(o + 2 * B + i, (w // 7).to(tl.int64))
    tl.store(o + 3 * B + i, (w < 5).to(tl.int64))
    tl.store(o + 4 * B + i, (w > 5).to(tl.int64) + (w.to(tl.int64) > 5).to(tl.int64) * 2)
    tl.store(o + 5 * B + i, w.to(tl.uint32, bitcast=True).to(tl.int64))
    tl.store(f + i, w.to(tl.float32))
    tl.store(f + B + i, w.to(tl.int64).to(tl.float32))


@pytest.mark.parametrize("factor", [1, 1103515245, -(2**30), 2**30 + 1])
@pytest.mark.parametrize("s", [0, 7, TOP - 3, TOP, -(2**31), -(2**31) + 5])
def test_widening_comparing_dividing_converting(chip, factor, s):
    size = 64
    o, f = torch.zeros(6 * size, dtype=torch.int64), torch.zeros(2 * size)
    kernel_values[(1,)](o, f, factor, s, B=size)
    w = (np.arange(size, dtype=np.int64) * factor + s).astype(np.int32).astype(np.int64)
    towards_zero = np.sign(w) * (np.abs(w) // 7)
    wanted = [w, towards_zero, towards_zero, w < 5, (w > 5) * 3, w & 0xFFFFFFFF]
    assert o.tolist() == np.concatenate(wanted).astype(np.int64).tolist()
    assert f.tolist() == [*w.astype(np.float32).tolist()] * 2


@triton.jit
def kernel_carried(o, n, step, B: tl.constexpr):
    i = tl.arange(0, B)
    narrow, wide = i, (i + step).to(tl.int64)
    for _ in range(n):
        tl.store(o + 2 * B + i, narrow.to(tl.int64), mask=narrow < 5)
        narrow += step
        wide += step
    tl.store(o + i, narrow.to(tl.int64))
    tl.store(o + B + i, wide)


@pytest.mark.parametrize("step", [2**30, TOP - 20, -(2**30)])
def test_carried_by_a_loop(chip, step):
    o, i = torch.zeros(3 * 64, dtype=torch.int64), np.arange(64, dtype=np.int64)
    kernel_carried[(1,)](o, 3, step, B=64)
    wide = (i + step).astype(np.int32) + 3 * np.int64(step)
    kept = np.zeros(64, dtype=np.int64)
    for turn in range(3):
        narrow = (i + turn * step).astype(np.int32)
        kept = np.where(narrow < 5, narrow, kept)
    wanted = [(i + 3 * step).astype(np.int32), wide, kept]
    assert o.tolist() == np.concatenate(wanted).tolist()


@triton.jit
def kernel_mask(x, o, p, s, bound, B: tl.constexpr, WIDE: tl.constexpr):
    i = tl.arange(0, B)
    w = i + (s.to(tl.int64) if WIDE else s)
    m = (w < bound) & (w >= -bound)
    v = tl.load(x + i, mask=m, other=-1)
    tl.store(o + i, v, mask=m)
    tl.store(p + i, tl.where(m, 1, 0))


@pytest.mark.parametrize(
    ("s", "bound", "wide"),
    [(TOP - 7, 5, False), (TOP - 7, TOP, False), (-(2**31), TOP, False), (-5, 5, False), (2**63 - 8, 5, True),
     (-(2**63), 2**63 - 1, True), (-(2**63) + 3, 5, True), (-5, 2**63 - 1, True), (TOP - 7, 2**31, True)],
)  # fmt: skip
def test_a_mask_is_one(chip, s, bound, wide):
    x = torch.arange(128, dtype=torch.int32) + 1
    o, p = torch.zeros(128, dtype=torch.int32), torch.zeros(128, dtype=torch.int32)
    kernel_mask[(1,)](x, o, p, s, bound, B=128, WIDE=wide)
    dtype = np.int64 if wide else np.int32
    with np.errstate(over="ignore"):
        w = np.arange(128).astype(dtype) + dtype(s)
    m = (w < bound) & (w >= -bound)
    assert p.tolist() == m.astype(int).tolist()
    assert o.tolist() == np.where(m, np.arange(128) + 1, 0).tolist()


@triton.jit
def kernel_shifted(x, o, s, B: tl.constexpr):
    i = tl.arange(0, B)
    w = i + s
    back = tl.where(w < 0, 2147483648, -s.to(tl.int64))
    tl.store(o + i, tl.load(x + w + back))
    far = x + w
    for turn in range(2):
        far += 1
        tl.store(o + (turn + 1) * B + i, tl.load(far + back, mask=i + turn < B, other=-1))


def test_offsets_wrap_before_they_are_addresses(chip):
    """Some of the offsets are near 2^31, and the others near -2^31: `back` takes both to the same memory."""
    size, s = 64, TOP - 31
    x, o = torch.arange(4 * size, dtype=torch.int32), torch.zeros(3 * size, dtype=torch.int32)
    kernel_shifted[(1,)](x, o, s, B=size)
    w = (np.arange(size) + np.int64(s)).astype(np.int32).astype(np.int64)
    place = np.where(w < 0, w + 2**31, w - s)
    assert o.tolist() == [*place, *(place + 1), *(place[:-1] + 2), -1]


@triton.jit
def kernel_windows(x, o, s, M: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.arange(0, M), tl.arange(0, N)
    w = (rm[:, None] * N + rn[None, :]) * 2 + s
    inside = (w >= 0) & (w < 2 * M * N)
    v = tl.load(x + w, mask=inside, other=-7)
    tl.store(o + rm[:, None] * N + rn[None, :], v)
    tl.store(x + tl.trans(w), tl.trans(v) * 3, mask=tl.trans(inside))


@pytest.mark.parametrize("s", [0, 3, -200, TOP - 100, TOP, -(2**31)])
def test_broadcast_walks(permissive, s):
    m, n = 16, 32
    x = torch.arange(2 * m * n, dtype=torch.int32)
    before, o = x.clone(), torch.zeros(m, n, dtype=torch.int32)
    kernel_windows[(1,)](x, o, s, M=m, N=n)
    w = (np.arange(m * n) * 2 + np.int64(s)).astype(np.int32)
    inside = torch.from_numpy((w >= 0) & (w < 2 * m * n))
    at = torch.from_numpy(w.astype(np.int64))[inside]
    wanted = torch.full((m * n,), -7, dtype=torch.int32)
    wanted[inside] = before[at]
    assert torch.equal(o.flatten(), wanted)
    before[at] *= 3
    assert torch.equal(x, before)


@triton.jit
def kernel_stays(x, o, s, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i + s < 5, other=2.0)  # read where it lies, if all of it is active
    w = tl.load(x + (i + s), mask=i + s >= 0, other=3.0)
    tl.store(o, tl.sum(v, 0))
    tl.store(o + 1, tl.sum(w, 0))


@pytest.mark.parametrize("s", [0, -128, -(2**31), TOP, TOP - 100])
@pytest.mark.parametrize("race", [False, True])
def test_blocks_that_stay_where_they_are(chip, s, race):
    x, o = torch.arange(256, dtype=torch.float32), torch.zeros(2)
    w = (np.arange(128) + np.int64(s)).astype(np.int32)
    with vpe.launch_mode(race=race):
        if (w > 255).any():  # an address that nobody has
            with pytest.raises(vpe.VpeFault, match="out of bounds"):
                kernel_stays[(1,)](x, o, s, B=128)
            return
        kernel_stays[(1,)](x, o, s, B=128)
    assert o[0] == np.where(w < 5, np.arange(128), 2).sum()
    assert o[1] == np.where(w >= 0, w, 3).sum()


@triton.jit
def kernel_block(x, o, n, first, B: tl.constexpr):
    i = (tl.program_id(0) + first) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(o + i, v + 1, mask=m)


def test_the_usual_block_is_one_transfer(pe64):
    """The check costs no gather: as many requests as blocks."""
    x, o = torch.randn(1000), torch.zeros(1000)
    kernel_block[(4,)](x, o, 1000, 0, B=256)
    assert torch.equal(o, x + 1)
    assert vpe.last_launches(1)[0].totals["requests"] == 8


@pytest.mark.parametrize(("s", "blocks"), [(TOP - 127, True), (TOP - 126, False), (-(2**31), True), (0, True)])
def test_the_check_is_exact(pe64, s, blocks):
    x, o, p = (torch.zeros(128, dtype=torch.int32) for _ in range(3))
    kernel_mask[(1,)](x, o, p, s, TOP, B=128, WIDE=False)
    requests = vpe.last_launches(1)[0].totals["requests"]
    assert requests <= 3 if blocks else requests > 3


@triton.jit
def kernel_numbers(o, s, truth: tl.constexpr, B: tl.constexpr):
    i = tl.arange(0, B)
    p = tl.program_id(0)
    small = (s % 1000) * 3 + (s // 4096) - tl.minimum(s, 77)
    w = i * 3 + small + (p % 7) * (s % 5) + (tl.full((), truth, tl.int1) & (s > 0)).to(tl.int32)
    tl.store(o + p * B + i, w.to(tl.int64), mask=w < 5)


@pytest.mark.parametrize("s", [0, 1, -1, 999, -999, TOP, -(2**31), 123456789])
@pytest.mark.parametrize("truth", [False, True])
def test_scalars_of_known_range(permissive, s, truth):
    o = torch.zeros(3 * 32, dtype=torch.int64)
    kernel_numbers[(3,)](o, s, truth, B=32)
    rest, quotient = int(np.fmod(s, 1000)) * 3, int(s / 4096)
    small = rest + quotient - min(s, 77)
    p, i = np.arange(3)[:, None], np.arange(32)[None, :]
    w = (i * 3 + small + p % 7 * np.fmod(s, 5) + (truth and s > 0)).astype(np.int32)
    assert o.tolist() == np.where(w < 5, w, 0).flatten().tolist()


def test_what_is_known_needs_no_check():
    scalar = Value("s", Type("i32"))
    dims = (4, 8)
    assert _fits(Extended(32, 0, (8, 1)), dims).known is True
    assert _fits(Extended(32, TOP - 30, (8, 1)), dims).known is False
    assert _fits(Extended(32, scalar, (8, 1)), dims).known is None
    assert _fits(Extended(32, scalar, (0, 0)), dims).known is True
    assert _fits(Extended(32, ("wrap", ("+", ("*", Value("b", Type("i8")), 8), 1), 32), (8, 1)), dims).known is True
    assert Fits(8, 0, ((Value("b", Type("i8")), 1),)).known is True
    assert span(("*", scalar, scalar)) == (-(2**31) * TOP, 2**62)
    wide = Value("n", Type("i64"))
    assert saturated("ssub.sat", scalar, 5) == ("+", scalar, -5)
    assert saturated("ssub.sat", wide, 5) == ("ssub.sat", wide, 5)


def test_terms_of_a_sum_cancel():
    term = Extended(32, Value("s", Type("i32")), (1,))
    walk = Affine(0, (2,), None, ((1, term),))
    assert walk.plus(walk.times(-1)).uniform
    assert walk.plus(walk) == walk.times(2)
    assert walk.along(lambda _: (0,)) == Affine(term.start, (0,))


_CONSTANTS = [1, 2, 3, 5, 2**30, 2**30 + 1, TOP, TOP - 40, -1, -(2**30), -TOP, 65536, 1103515245]
_LAUNCHED = """
def launched(seed, kernel, M, N, slots):
    x = torch.arange(4 * M * N, dtype=torch.int32)
    o = torch.zeros(2, slots, M * N, dtype=torch.int64)
    f = torch.zeros(2, slots, M * N, dtype=torch.float64)
    y = torch.zeros(slots, 4 * M * N, dtype=torch.int64)
    kernel[(2,)](x, o, f, y, 3, 2147483600, -2147483640, 9223372036854775800, slots, M=M, N=N)
    return o, f, y
"""


class Writer:
    """Writes the source of one random kernel of walks near the ends of their types, each read in every way."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.m, self.n = self.r.choice([(4, 8), (8, 16), (16, 4), (1, 32), (2, 2), (64, 1)])
        self.lines = [
            "@triton.jit",
            f"def k{seed}(x, o, f, y, n, near, far, end, slots, M: tl.constexpr, N: tl.constexpr):",
            "    rm, rn = tl.arange(0, M), tl.arange(0, N)",
            "    p = tl.program_id(0)",
            "    ix = rm[:, None] * N + rn[None, :]",
            "    oo, ff = o + p * slots * M * N + ix, f + p * slots * M * N + ix",
        ]
        self.walks = [("ix", 32), ("(rm[:, None] + 0 * rn[None, :])", 32)]
        self.slots = self.count = 0
        for _ in range(self.r.randrange(3, 8)):
            self.walk(1)
        for name, bits in self.r.sample(self.walks[2:], min(4, len(self.walks) - 2)):
            self.read(1, name, bits)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def constant(self, bits: int) -> int:
        value = self.r.choice(_CONSTANTS)
        return value if bits >= 32 else value % (1 << (bits - 1))

    def step(self, name: str, bits: int) -> str:
        """A walk of the same type, from one."""
        r = self.r
        other = r.choice([w for w, b in self.walks if b == bits])
        scalars = ["near", "far", "n"] + (["end"] if bits == 64 else [])
        scalar = f"{r.choice(scalars)}.to(tl.int{bits})"
        return r.choice([
            f"{name} + {self.constant(bits)}", f"{name} * {self.constant(bits)}", f"{name} + {scalar}",
            f"{scalar} - {name}", f"{name} * {scalar}", f"{name} << {r.choice([1, 3, min(bits, 32) - 2])}",
            f"{name} + {other}", f"{name} - {other}", f"({name} + p.to(tl.int{bits}) * 3)",
            f"tl.reshape(tl.trans({name}), (M, N))", f"tl.reshape(tl.reshape({name}, (M * N,)), (M, N))",
            f"tl.trans(tl.reshape({name}, (N, M)))",
        ])  # fmt: skip

    def walk(self, indent: int) -> None:
        r = self.r
        name, bits = r.choice(self.walks)
        self.count += 1
        mine = f"w{self.count}"
        kind = r.randrange(10)
        if kind < 3:
            wanted = r.choice([8, 16, 32, 64, 64])
            self.put(indent, f"{mine} = ({name}).to(tl.int{wanted})")
            bits = wanted
        elif kind < 5:
            self.put(indent, f"{mine} = {name} + 0")
            self.put(indent, f"for j{self.count} in range({r.choice(['n', '2', 'p + 1'])}):")
            if r.random() < 0.5:
                self.read(indent + 1, mine, bits)
            scalar = f"{r.choice(['near', 'far', 'n'])}.to(tl.int{bits})"
            self.put(indent + 1, f"{mine} += {r.choice([str(self.constant(bits)), scalar])}")
        else:
            self.put(indent, f"{mine} = {self.step(name, bits)}")
        self.walks.append((mine, bits))

    def read(self, indent: int, name: str, bits: int) -> None:
        r, at = self.r, self.slots
        self.slots += 4
        bound = r.choice(["5", "n", *([] if bits < 32 else ["near", "far"]), *(["end"] if bits == 64 else [])])
        compared = f"{name} {r.choice(['<', '<=', '>', '>='])} {bound}"
        self.put(indent, f"tl.store(oo + {at} * M * N, {name}.to(tl.int64))")
        self.put(indent, f"tl.store(ff + {at} * M * N, {name}.to(tl.float64))")
        self.put(indent, f"tl.store(oo + {at + 1} * M * N, ({name} // 7).to(tl.int64))")
        self.put(indent, f"tl.store(oo + {at + 2} * M * N, tl.where({compared}, 1, 2), mask={compared})")
        self.put(indent, f"q = ({name} >= 0) & ({name} < {min(4 * self.m * self.n, 2 ** (bits - 1) - 1)})")
        self.put(indent, f"tl.store(oo + {at + 3} * M * N, tl.load(x + {name}, mask=q, other=-1))")
        self.put(indent, f"tl.store(y + {at} * 4 * M * N + {name}, {name}.to(tl.int64) + 1, mask=q)")
        if r.random() < 0.5:  # pointers that a loop carries, of which some are far from others
            self.put(indent, f"q = ({name} >= 0) & ({name} < {min(4 * self.m * self.n, 2 ** (bits - 1) - 1) - 2})")
            self.put(indent, f"pp = x + {name}")
            self.put(indent, "for _ in range(2):")
            self.put(indent + 1, f"tl.store(ff + {at + 3} * M * N, tl.load(pp, mask=q, other=-2) + 1)")
            self.put(indent + 1, "pp += 1")
            self.put(indent, f"tl.store(oo + {at + 3} * M * N, tl.load(pp, mask=q, other=-3))")
        if r.random() < 0.5:  # bounds along one axis, of a walk of its own
            start = r.choice(["near", "far", "n", "p * n"] + (["end"] if bits == 64 else []))
            axis = f"(rn + {start}.to(tl.int{bits}))[None, :]"
            self.put(indent, f"q = ({axis} {r.choice(['<', '<=', '>', '>='])} {bound}) & (rm[:, None] >= 1)")
            self.put(indent, f"tl.store(ff + {at + 1} * M * N, tl.load(x + ix, mask=q, other=-1))")
            self.put(indent, f"tl.store(ff + {at + 2} * M * N, tl.where(q, 1.0, 2.0), mask=q)")


def test_against_the_interpreter(tmp_path):
    writers = [(seed, Writer(seed)) for seed in drawn(5000, 40 if WHOLE else 12)]
    kernels = [(seed, one.lines, (one.m, one.n, max(one.slots, 1))) for seed, one in writers]
    mine, reference = both_ways(tmp_path, _LAUNCHED, kernels)
    for seed, wanted in reference.items():
        for which, (a, b) in enumerate(zip(mine[seed], wanted, strict=True)):
            assert torch.equal(a, b), f"seed {seed}, result {which}: {(a != b).nonzero()[:5].tolist()}"


@triton.jit
def kernel_unrolled(o, s, B: tl.constexpr, N: tl.constexpr, GROWS: tl.constexpr):
    i = tl.arange(0, B)
    w = i + s
    for _ in tl.static_range(N):
        w = w + w * s if GROWS else w + s
    tl.store(o + i, w, mask=w != 12345)


@pytest.mark.parametrize(("count", "grows"), [(1100, False), (30, True), (200, True)])
def test_a_walk_of_very_many_parts_is_computed_by_lanes(chip, count, grows):
    """What the analysis says of it would be as long at each use, and twice as long with each step on itself."""
    o = torch.zeros(64, dtype=torch.int32)
    kernel_unrolled[(1,)](o, 3, B=64, N=count, GROWS=grows)
    wanted = torch.arange(64) + 3
    for _ in range(count):
        wanted = wanted * 4 if grows else wanted + 3
    assert torch.equal(o, wanted.to(torch.int32))


@triton.jit
def kernel_shared(x, o, n, B: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    for k in tl.static_range(N):
        m = (m & (i < n + k)) & (m & (i >= 0 - k))
    tl.store(o + i, tl.load(x + i, mask=m) + 1, mask=m)


@pytest.mark.parametrize("count", [11, 200])
def test_a_mask_of_very_many_parts_is_looked_at_once(chip, count):
    """Each part twice in the next: what shares it demands it once."""
    x, o = torch.arange(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    kernel_shared[(1,)](x, o, 50, B=64, N=count)
    assert torch.equal(o, torch.where(x < 50, x + 1, 0))
