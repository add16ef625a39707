"""Random kernels (carried tensors, branches, reductions, layout changes, dots) against Triton's interpreter."""

from __future__ import annotations

import random

import torch
from both_ways import both_ways, drawn
from whole import WHOLE

_SHAPES = [(4, 8), (8, 16), (16, 16), (1, 32), (32, 4), (16, 64), (2, 2), (64, 1)]
_LAUNCHED = """
def launched(seed, kernel, M, N):
    torch.manual_seed(seed)
    x, o = torch.randn(4 * M * N), torch.zeros(6 * M * N)
    kernel[(2,)](x, o, 4, M=M, N=N)
    return o
"""


class Writer:
    """Writes the source of one random kernel."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.m, self.n = self.r.choice(_SHAPES)
        self.lines = [
            "@triton.jit",
            f"def k{seed}(x, o, n, M: tl.constexpr, N: tl.constexpr):",
            "    rm = tl.arange(0, M)",
            "    rn = tl.arange(0, N)",
            "    p = tl.program_id(0)",
            "    ix = rm[:, None] * N + rn[None, :]",
            "    v0 = tl.load(x + ix) + p",
        ]
        self.blocks, self.rows, self.columns, self.count = ["v0"], [], [], 0
        for _ in range(self.r.randrange(4, 14)):
            self.statement(1, 0)
        parts = self.r.sample(self.blocks, min(4, len(self.blocks)))
        parts += [f"{v}[:, None]" for v in self.rows[:1]] + [f"{v}[None, :]" for v in self.columns[:1]]
        self.lines.append(f"    tl.store(o + (3 + p) * M * N + ix, {' + '.join(parts)})")

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def block(self, indent: int, text: str) -> None:
        name = self.new()
        self.put(indent, f"{name} = {text}")
        self.blocks.append(name)

    def statement(self, indent: int, depth: int) -> None:
        r = self.r
        a, b = r.choice(self.blocks), r.choice(self.blocks)
        kind = r.randrange(20)
        if kind == 0 and depth < 2:
            self.loop(indent, depth)
        elif kind == 1 and depth < 2:
            self.branch(indent, depth, a, b)
        elif kind == 2:
            name = self.new()
            self.put(indent, f"{name} = tl.{r.choice(['sum', 'max', 'min'])}({a}, 1)")
            self.rows.append(name)
        elif kind == 3:
            name = self.new()
            self.put(indent, f"{name} = tl.{r.choice(['sum', 'max'])}({a}, 0)")
            self.columns.append(name)
        elif kind == 4 and self.n > 1:
            name = self.new()
            self.put(indent, f"{name}l, {name}r = tl.split(tl.reshape({a}, (M, N // 2, 2)))")
            self.put(indent, f"{name} = tl.reshape(tl.join({name}r, {name}l), (M, N))")
            self.blocks.append(name)
        elif kind == 16:  # halves of which one is wanted at once, and the other later
            one, two = self.new(), self.new()
            self.put(indent, f"{one}, {two} = tl.split(tl.join({a}, {b} * 0.5))")
            if depth == 0:
                self.put(indent, f"tl.store(o + {r.randrange(1, 3)} * M * N + ix, {one})")
            self.blocks += r.sample([one, two], r.randrange(1, 3))
        elif kind == 17:
            axis, value = r.randrange(2), self.new()
            self.put(indent, f"{value}, {value}at = tl.{r.choice(['max', 'min'])}({a}, {axis}, return_indices=True)")
            (self.columns if axis == 0 else self.rows).append(r.choice([value, f"{value}at.to(tl.float32)"]))
        elif kind == 18:  # places that are listed in local memory
            self.block(indent, f"tl.load(x + (ix ^ n) % (M * N)) + {a} * 0.5")
        elif kind == 5 and depth == 0:
            self.put(indent, f"tl.store(o + {r.randrange(1, 3)} * M * N + ix, {a})")
        else:
            row = f"{r.choice(self.rows)}[:, None]" if self.rows else "1.0"
            column = f"{r.choice(self.columns)}[None, :]" if self.columns else "2.0"
            choices = [
                f"{a} {r.choice('+-*')} {b}",
                f"tl.where({a} > {b}, {a}, {b} * 0.5)",
                f"tl.exp(-tl.abs({a}))",
                f"{a} + {row} * 0.1",
                f"{a} - {column} * 0.1",
                f"tl.reshape(tl.trans({a}), (M, N))",
                f"tl.cumsum({a}, {r.randrange(2)}) * 0.25",
                f"tl.load(x + {r.randrange(3)} * M * N + ix, mask=(rm[:, None] < n) & (rn[None, :] >= 1), other=2.0)",
                f"tl.dot(tl.dot({a} * 0.1, tl.trans({b} * 0.1)), {b} * 0.3)",
                f"tl.sort({a})",
                f"({a}.to(tl.float16) + {b}.to(tl.float16)).to(tl.float32)",
                f"(tl.clamp({a}, -100.0, 100.0) * 3).to(tl.int32) % 7 + 0.5",
                f"tl.minimum({a}, {b}) + 1.5",
            ]
            self.block(indent, r.choice(choices))

    def loop(self, indent: int, depth: int) -> None:
        r = self.r
        carried = []
        for source in r.sample(self.blocks, min(len(self.blocks), r.randrange(1, 4))):
            name = self.new()
            self.put(indent, f"{name} = {source}{' * 1.0' if r.random() < 0.5 else ''}")
            carried.append(name)
        walk = self.new()
        self.put(indent, f"{walk} = ix % {r.choice([3, 5, 4096])} if {r.random() < 0.5} else ix + 0")
        self.put(indent, f"for j{depth} in range({r.choice(['n', '3', 'p + 1'])}):")
        kept = list(self.blocks), list(self.rows), list(self.columns)
        self.blocks += carried
        if r.random() < 0.5:  # a walk that the loop carries, in another shape
            flat = r.choice(["(N, M)", "(M * N,)"])
            self.block(indent + 1, f"tl.reshape(tl.reshape({walk}, {flat}), (M, N)).to(tl.float32) * 0.01")
            self.put(indent + 1, f"o_{walk} = tl.min(tl.reshape({walk}, (M * N,)), 0)")
            self.block(indent + 1, f"{r.choice(carried)} + o_{walk}")
        for _ in range(r.randrange(0, 3)):
            self.statement(indent + 1, depth + 1)
        self.put(indent + 1, f"{walk} += 1")
        for name in carried:
            other = r.choice(self.blocks)
            updates = [
                f"{name} * 0.5 + {other} * 0.25",
                r.choice(carried),
                f"tl.where({other} > 0, {name}, -{name})",
                f"{name} + 1.0",
                f"tl.reshape(tl.trans({name}), (M, N)) * 0.5",
            ]
            self.put(indent + 1, f"{name} = {r.choice(updates)}")
        if len(carried) > 1:
            self.put(indent + 1, f"{carried[0]}, {carried[1]} = {carried[1]}, {carried[0]}")
        self.blocks, self.rows, self.columns = kept
        self.blocks += carried
        if r.random() < 0.5:
            self.block(indent, f"tl.reshape(tl.reshape({walk}, (N, M)), (M, N)).to(tl.float32) * 0.01")

    def branch(self, indent: int, depth: int, a: str, b: str) -> None:
        r = self.r
        name = self.new()
        self.put(indent, f"{name} = {a}")
        self.put(indent, f"if {r.choice(['n > 3', 'p == 0', f'tl.sum({b}) > 0'])}:")
        kept = list(self.blocks), list(self.rows), list(self.columns)
        for _ in range(r.randrange(0, 2)):
            self.statement(indent + 1, depth + 1)
        self.put(indent + 1, f"{name} = {r.choice(self.blocks)} * 2.0")
        self.blocks, self.rows, self.columns = kept
        if r.random() < 0.5:
            self.put(indent, "else:")
            self.put(indent + 1, f"{name} = {name} + {b}")
        self.blocks.append(name)


def test_against_the_interpreter(tmp_path):
    writers = [(seed, Writer(seed)) for seed in drawn(1000, 25 if WHOLE else 10)]
    mine, reference = both_ways(tmp_path, _LAUNCHED, [(seed, one.lines, (one.m, one.n)) for seed, one in writers])
    for seed, wanted in reference.items():
        # values that exploded carry no information beyond their size
        sane = torch.isfinite(wanted) & (wanted.abs() < 1e6)
        torch.testing.assert_close(
            mine[seed][sane], wanted[sane], rtol=1e-3, atol=1e-3, msg=lambda text, seed=seed: f"seed {seed}: {text}"
        )
