"""The limit of cycles: loops that spin end, at the same place on every host; what stays below it is not touched."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

import bringup.vpe as vpe
from bringup.vpe import launch, state
from bringup.vpe.layout import Counter
from bringup.vpe.lower.evaluate import Eval
from bringup.vpe.profile import load_profile
from bringup.vpe.work import SCALE, Budget, launch_work, weights

pytestmark = pytest.mark.usefixtures("pe64")
LIMIT = 2_000_000


@triton.jit
def kernel_spin(x, n):
    i = tl.load(x)
    while i < n:
        i = (i * 5 + 1) % 7  # what never changes would be taken out with the loop
    tl.store(x, i)


@triton.jit
def kernel_nested(x, n):
    i = tl.load(x)
    while i < n:
        for j in range(0, 4):
            i += tl.load(x + j) * j
    tl.store(x, i)


@triton.jit
def kernel_carried(x, n, B: tl.constexpr):
    a = tl.load(x + tl.arange(0, B))
    b = tl.zeros([B], tl.int32)
    i = tl.load(x)
    while i < n:
        a, b = b, a
        i = (i * 5 + 1) % 7
    tl.store(x + tl.arange(0, B), a)


@triton.jit
def kernel_helper(x, y, n, rounds):
    p = tl.program_id(0)
    i = tl.load(x)
    total = i
    for k in range(0, rounds):
        for j in range(0, 8):
            total += tl.load(x + j) + j * k
    tl.store(y + p, total)
    while i > n:
        i = tl.load(x + p) * 0 + i


@triton.jit(noinline=True)
def called(x, n):
    i = tl.load(x)
    while i < n:
        i = (i * 5 + 1) % 7
    return i


@triton.jit
def kernel_calls(x, n):
    tl.store(x, called(x, n))


@triton.jit
def kernel_straight(x, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i) * 2)


@triton.jit
def kernel_late_fault(x, n, first):
    p = tl.program_id(0)
    total = 0
    for k in range(0, tl.where(p == first, 20_000, 10)):
        total += tl.load(x + k % 8)
    tl.store(x + tl.where(p < first, p, 1 << 20), total)


@triton.jit
def kernel_remainders(x, turns, MANY: tl.constexpr):
    """Scalars alone: remainders of numbers far apart take libm hundreds of steps each."""
    small = tl.load(x) * 2.0e-38
    total = small
    for _ in range(0, turns):
        for _ in tl.static_range(0, MANY):
            total = 3.0e38 % (small + total)
    tl.store(x, total)


@triton.jit
def kernel_permutes(x):
    i = tl.arange(0, 1024)
    value = tl.reshape(tl.load(x + i), [4, 4, 4, 4, 4])
    for _ in tl.static_range(0, 2):
        value = value * 3 + tl.permute(value, (1, 0, 2, 3, 4))
        value = value * 3 + tl.permute(value, (0, 2, 1, 3, 4))
        value = value * 3 + tl.permute(value, (0, 1, 3, 2, 4))
        value = value * 3 + tl.permute(value, (0, 1, 2, 4, 3))
    tl.store(x + i, tl.reshape(value, [1024]))


@triton.jit
def kernel_special(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, libdevice.lgamma(tl.load(x + i)))


@triton.jit
def kernel_writes_nothing(x, n, B: tl.constexpr, ADDS: tl.constexpr):
    i = tl.arange(0, B) * 7 % 64
    turn = tl.load(x)
    while turn < n:
        turn = (turn * 5 + 1) % 7
        if ADDS:
            tl.atomic_add(x + i, i, mask=i < 0)
        else:
            tl.store(x + i, i, mask=i < 0)
    tl.store(x, turn)


@triton.jit
def combine_by_remainder(a, b):
    return a % b


@triton.jit
def kernel_reduces(x, B: tl.constexpr):
    tl.store(x, tl.reduce(tl.load(x + tl.arange(0, B)), 0, combine_by_remainder))


def stopped(call: Any, **mode: Any) -> dict[str, Any]:
    with vpe.launch_mode(**{"cycles": LIMIT, **mode}), pytest.raises(vpe.VpeFault) as caught:
        call()
    dump = dict(caught.value.dump)
    del dump["time"]
    return dump


def line_of(kernel: Any, text: str) -> int:
    code = kernel.fn.__code__
    with open(code.co_filename, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return next(i for i in range(code.co_firstlineno, len(lines)) if text in lines[i - 1])


def ints(*values: int, size: int = 64) -> torch.Tensor:
    x = torch.zeros(size, dtype=torch.int32)
    x[: len(values)] = torch.tensor(values, dtype=torch.int32)
    return x


def test_an_empty_loop_ends_with_its_line() -> None:
    dump = stopped(lambda: kernel_spin[(1,)](ints(), 1 << 20))
    assert (dump["kind"], dump["kernel"], dump["limit"], dump["limit_of"]) == ("cycles", "kernel_spin", LIMIT, "launch")
    assert dump["line"] == line_of(kernel_spin, "while i < n")
    assert dump["programs_done"] == 0
    start = launch_work(load_profile("pe64")) // SCALE
    assert LIMIT - start < dump["program_cycles"] + 200
    assert dump["program_cycles"] <= LIMIT
    assert {"name": "n", "type": "int32", "value": 1 << 20} in dump["variables"]
    text = vpe.render_dump(dump | {"time": ""})
    assert "used up its 2,000,000 cycles in kernel 'kernel_spin' in the loop at line" in text


def test_nested_loops_are_all_named() -> None:
    dump = stopped(lambda: kernel_nested[(1,)](ints(), 1 << 20))
    outer, inner = line_of(kernel_nested, "while i < n"), line_of(kernel_nested, "for j in")
    assert dump["loops"] in ([inner, outer], [outer])
    assert dump["line"] == dump["loops"][0]


def test_a_loop_that_only_moves_blocks_costs_what_it_moves() -> None:
    x = torch.zeros(1 << 16, dtype=torch.int32)
    with vpe.launch_mode(cycles=LIMIT), pytest.raises(vpe.VpeFault) as caught:
        kernel_carried[(1,)](x, 1 << 20, B=1 << 16)
    assert caught.value.dump["kind"] == "cycles"
    turns = state.last_launches(1)[0].totals["turns"]
    assert turns < LIMIT / ((1 << 18) / 64)


def test_scalars_count() -> None:
    x = torch.ones(64, dtype=torch.float32)
    kernel_remainders[(1,)](x, 3, MANY=100)
    stats = state.last_launches(1)[0]
    assert 3 * 100 * 32 * 32 <= stats.totals["scalar"] < 3 * 100 * (32 * 32 + 8)
    assert stats.cycles["total"].max() < 1000  # and cost no modelled time
    turns = 1 << 20
    dump = stopped(lambda: kernel_remainders[(1,)](x, turns, MANY=100))
    assert dump["kind"] == "cycles"
    assert state.last_launches(1)[0].totals["turns"] < turns / 1000


def test_what_is_used_in_many_orders_is_not_computed_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    done = []
    define = Eval.define
    monkeypatch.setattr(Eval, "define", lambda *args: done.append(1) or define(*args))
    x = ints(*range(1024), size=1024)
    value = x.reshape([4] * 5).clone()
    for _ in range(2):
        for axis in range(4):
            value = value * 3 + value.transpose(axis, axis + 1)
    kernel_permutes[(1,)](x)
    assert torch.equal(x, value.reshape(-1))
    assert 24 <= len(done) < 150  # 24 operations; in each order anew 489


def test_functions_of_c_count_for_each_element() -> None:
    x = torch.ones(256, dtype=torch.float32)
    kernel_special[(1,)](x, B=256)
    assert 256 <= state.last_launches(1)[0].totals["scalar"] < 2 * 256


@pytest.mark.parametrize("adds", [False, True])
def test_blocks_of_which_nothing_is_written_count(adds: bool) -> None:
    options = {"B": 4096, "ADDS": adds, "enable_scatter_stores": True}
    dump = stopped(lambda: kernel_writes_nothing[(1,)](ints(), 1 << 20, **options))
    assert dump["kind"] == "cycles"
    assert state.last_launches(1)[0].totals["turns"] < LIMIT / (4096 * 8 / 64)


@triton.jit
def kernel_multiplies(x, n, MANY: tl.constexpr):
    if n == 0:
        return
    a = tl.full([16, 16384], 1, tl.int8)
    b = tl.full([16384, 32], 1, tl.int8)
    c = tl.zeros([16, 32], tl.int32)
    for _ in tl.static_range(MANY):
        c = tl.dot(a, b, c, out_dtype=tl.int32)
    tl.store(x + tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :], c)


def test_what_lies_between_operations_has_a_limit_and_counts() -> None:
    """A function with an early return uses no room twice."""
    x = torch.zeros(512, dtype=torch.int32)
    kernel_multiplies[(1,)](x, 0, MANY=3)
    stats = state.last_launches(1)[0]
    assert stats.scratch_bytes > 3 << 20
    assert stats.limit_cycles > stats.scratch_bytes // 64
    with pytest.raises(vpe.VpeCompileError, match="MiB are allowed"):
        kernel_multiplies[(1,)](x, 0, MANY=400)


def test_what_a_reduction_does_for_each_element_counts_as_elsewhere() -> None:
    x = torch.ones(64, dtype=torch.float32)
    kernel_reduces[(1,)](x, B=64)
    assert state.last_launches(1)[0].totals["special"] == 64 * 32


def test_a_called_function_s_loop_is_named() -> None:
    dump = stopped(lambda: kernel_calls[(1,)](ints(), 1 << 20))
    assert dump["line"] == line_of(kernel_calls, "tl.store(x, called") or dump["stack"][0]["function"] == "called"
    assert any(frame["text"] == "while i < n:" for frame in dump["stack"])


@pytest.mark.parametrize("seed", [None, 3])
def test_the_program_that_is_stopped_does_not_depend_on_threads(seed: int | None) -> None:
    x, y = ints(*range(8)), ints(size=512)

    def call() -> None:
        kernel_helper[(300,)](x, y, 1 << 20, 200)

    call()  # so that launches are worth threads, or not, in all of them alike
    with vpe.launch_mode(seed=seed):
        call()
    dumps = [stopped(call, threads=threads, seed=seed) for threads in (1, 2, 5)]
    assert 0 < dumps[0]["programs_done"] < 300
    assert dumps[0] == dumps[1] == dumps[2]


def test_the_limit_is_what_the_counters_say() -> None:
    def call() -> None:
        kernel_helper[(50,)](ints(*range(8)), ints(), 1 << 20, 3)

    call()
    stats = state.last_launches(1)[0]
    begins = launch_work(stats.profile, stats.scratch_bytes)
    parts = begins + int((stats.per_pe * weights(stats.profile)).sum())
    assert stats.limit_cycles == parts // SCALE
    with vpe.launch_mode(cycles=-(-parts // SCALE)):
        call()
    dump = stopped(call, cycles=-(-parts // SCALE) - 1)
    assert dump["programs_done"] == 49


def test_straight_programs_are_counted_too() -> None:
    x = torch.zeros(1 << 16, dtype=torch.int32)
    dump = stopped(lambda: kernel_straight[(512,)](x, B=128), cycles=100_000)
    assert dump["loops"] == []
    assert dump["line"]
    assert 0 < dump["programs_done"] < 512


def test_launches_share_a_budget() -> None:
    chip = load_profile("pe64")
    budget = Budget(10)
    assert budget.take(launch_work(chip)) == 0
    assert Budget(1 << 20).take(3) == (1 << 20) * SCALE - 3


@triton.jit
def kernel_uneven(x, y, n, ends):
    """Programs below `ends` take a thousand turns, the others spin."""
    p = tl.program_id(0)
    i = tl.load(x + p % 8)
    for k in range(0, 1000):
        i = (i * 5 + k) % 7
    while (p >= ends) & (i < n):
        i = (i * 5 + 1) % 7
    tl.store(y + p, i)


def budgeted(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    """Let every launch begin with a fresh budget, as the first launch of a judged call does."""
    run = launch.run
    monkeypatch.setattr(launch, "run", lambda *args: run(*args, Budget(**limits)))


@pytest.mark.parametrize("seed", [None, 5])
def test_one_program_is_stopped_long_before_all_together(monkeypatch: pytest.MonkeyPatch, seed: int | None) -> None:
    x, y = ints(*range(8)), ints(size=512)
    kernel_uneven[(100,)](x, y, 1 << 20, 100)  # so that launches are worth threads, or not, in all of them alike
    budgeted(monkeypatch, cycles=1 << 40, program_cycles=LIMIT)

    def call() -> None:
        kernel_uneven[(100,)](x, y, 1 << 20, 40)

    dumps = [stopped(call, cycles=None, threads=threads, seed=seed) for threads in (1, 2, 5)]
    assert dumps[0] == dumps[1] == dumps[2]
    assert (dumps[0]["limit"], dumps[0]["limit_of"]) == (LIMIT, "program")
    assert LIMIT < dumps[0]["program_cycles"] < LIMIT + 200
    assert dumps[0]["program"][0] >= 40
    if seed is None:
        assert dumps[0]["program"] == [40, 0, 0]
    assert "the program had used up its 2,000,000 cycles" in vpe.render_dump(dumps[0] | {"time": ""})


def test_where_a_program_stops_does_not_depend_on_who_had_begun_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all together reach the limit, a thread may or may not have begun the program that reaches it."""
    x, y = ints(*range(8)), ints(size=512)
    kernel_uneven[(100,)](x, y, 1 << 20, 100)
    one = state.last_launches(1)[0].limit_cycles // 100
    budgeted(monkeypatch, cycles=one * 60, program_cycles=one * 50)
    dumps = [
        stopped(lambda: kernel_uneven[(100,)](x, y, 1 << 20, 30), cycles=None, threads=threads)
        for threads in (1, 2, 3, 4, 7)
    ]
    assert all(dump == dumps[0] for dump in dumps)
    assert dumps[0]["program"] == [30, 0, 0]


def test_the_limit_of_a_call_grows_with_its_data() -> None:
    limits = load_profile("pe64").limits
    budget = Budget.for_call(limits)
    assert budget is not None
    assert budget.cycles == budget.program_cycles == limits.call_cycles
    budget.grow(limits, 1_000_000)
    assert budget.cycles == 2 * limits.call_cycles
    assert budget.program_cycles == limits.call_cycles
    assert Budget.for_call(limits.model_copy(update={"call_cycles": None})) is None


def test_the_first_fault_in_order_is_reported() -> None:
    """Also where a later program faults long before it."""
    x = torch.zeros(256, dtype=torch.int32)
    kernel_late_fault[(40,)](x, 0, 1000)
    for threads in (1, 2, 4):
        dump = stopped(lambda: kernel_late_fault[(200,)](x, 0, 17), cycles=None, threads=threads)
        assert dump["kind"] == "out_of_bounds"
        assert dump["program"] == [17, 0, 0]


def test_a_limit_changes_no_result() -> None:
    plain, limited = (ints(*range(8), size=512) for _ in range(2))
    kernel_helper[(9,)](plain, plain[64:], 1 << 20, 7)
    with vpe.launch_mode(cycles=1 << 40):
        kernel_helper[(9,)](limited, limited[64:], 1 << 20, 7)
    assert torch.equal(plain, limited)


def test_turns_cost_no_modelled_time() -> None:
    x = ints(*range(8))
    kernel_helper[(1,)](x, x, 1 << 20, 3)
    stats = state.last_launches(1)[0]
    assert stats.totals["turns"] == 3 * 8 + 3
    before = stats.modelled_seconds
    counted = stats.per_pe.copy()
    counted[:, Counter.TURNS] = 1 << 20
    again = type(stats)(stats.kernel, stats.grid, stats.profile, counted, stats.local_bytes, 0.0)
    assert again.modelled_seconds == before
    assert again.limit_cycles > stats.limit_cycles
