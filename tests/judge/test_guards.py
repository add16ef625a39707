"""Each guard on a candidate whose answers are right, but not for the right reason; and that switch's absence."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE, REFERENCES, TinySuite
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.errors import UnknownName
from bringup.judge.guards import GUARDS, IDS, RERUNS, RULES, guards_but, spread
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

KERNELS = DOUBLE.split("def wrapper")[0]
COPY = KERNELS.replace("v + v", "v")
HONEST = DOUBLE.replace("def wrapper", "def honest")
HOST = (
    "def host(x):\n    values = [v + v for v in x.cpu().reshape(-1).tolist()]\n"
    "    return torch.tensor(values, dtype=x.dtype).reshape(x.shape).to(x.device)\n\n"
)
LAUNCHED_COPY = (
    "    y, n = torch.empty(x.shape, dtype=x.dtype, device=x.device), x.numel()\n"
    "    if n:\n        kernel_double[(triton.cdiv(n, 16),)](h, y, n, BLOCK=16)\n    return y\n"
)


def answers() -> dict[tuple[str, tuple[int, ...]], list[float]]:
    """What is right for the values of seed 0, by dtype and shape."""
    found = {}
    for dtype in ("float32", "int32"):
        for case in TinySuite().materialise("double", dtype):
            (x,) = case.args
            found[dtype, tuple(x.shape)] = REFERENCES["double"][0](x).reshape(-1).tolist()
    return found


TABLE = f"ANSWERS = {answers()!r}\n\n"
LOOKED_UP = (
    "def look_up(x):\n    values = ANSWERS[str(x.dtype).removeprefix('torch.'), tuple(x.shape)]\n"
    "    return torch.tensor(values, dtype=x.dtype).reshape(x.shape).to(x.device)\n\n"
)

CHEATS = {
    # The host reads and computes; a kernel runs and its result is thrown away.
    "reads": (
        KERNELS + HOST + "def wrapper(x):\n    y = torch.empty_like(x.contiguous())\n    if x.numel():\n"
        "        kernel_double[(1,)](x.contiguous(), y, x.numel(), BLOCK=16)\n    return host(x)\n",
        ("provenance", "host-bytes"),
    ),
    # Answers that are known beforehand, carried to the device.
    "provenance": (
        KERNELS + TABLE + LOOKED_UP + "def wrapper(x):\n    y = torch.empty_like(x)\n    if x.numel():\n"
        "        kernel_double[(1,)](x, y, x.numel(), BLOCK=16)\n    return look_up(x)\n",
        ("fresh", "host-bytes"),
    ),
    # The same, and no kernel at all.
    "launches": (TABLE + LOOKED_UP + "def wrapper(x):\n    return look_up(x)\n", ("provenance", "fresh", "host-bytes")),
    # A kernel copies what was known beforehand.
    "fresh": (COPY + TABLE + LOOKED_UP + "def wrapper(x):\n    h = look_up(x)\n" + LAUNCHED_COPY, ("host-bytes",)),
    # Right as often as the gate asks.
    "repeat": (
        HONEST + "\n\ncalls = []\n\ndef wrapper(x):\n    calls.append(1)\n    if len(calls) <= 10:\n"
        "        return honest(x)\n    return honest(honest(x))\n",
        ("fresh", "rehearsed"),
    ),
    # More uploaded than the call has numbers, for show.
    "host-bytes": (
        DOUBLE.replace("    n = x.numel()\n", "    torch.tensor([1] * 90).to(x.device)\n    n = x.numel()\n"),
        (),
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


async def judged(pool: Bench, source: str, *, without: tuple[str, ...] = (), op: str = "double") -> Verdict:
    return await pool.candidate(Candidate(source=source), get_suite("tiny").operator(op), without_guards=without)


@pytest.mark.thinned
@pytest.mark.parametrize("guard", CHEATS)
async def test_a_guard_finds_what_the_others_let_through(judge: Bench, guard: str) -> None:
    source, others = CHEATS[guard]
    verdict = await judged(judge, source, without=others)
    assert verdict.guard == guard, verdict.summary
    assert not verdict.passed
    if guard in {kind.id for kind in RERUNS}:
        # Where the time went: what every judgement has (references may be known from the one before), and no more.
        assert {"inputs", "calls", "comparison", "start"} <= set(verdict.environment.phases)
        assert sum(verdict.environment.phases.values()) <= verdict.seconds + 0.1
        assert verdict.environment.reruns[guard]["runs"] >= 1
    free = await judged(judge, source, without=(*others, guard))
    assert free.kind == "passed", free.summary


@pytest.mark.parametrize(
    "source",
    [
        HONEST + "\n\nkept = []\n\ndef wrapper(x):\n    kept.append(honest(x))\n    return kept[0].clone()\n",
        HONEST
        + "\n\nkept = []\n\ndef wrapper(x):\n    kept.append(honest(x))\n    kept[0].clone()\n    return kept[-1]\n",
        HONEST + "\n\nkept = []\n\ndef wrapper(x):\n    kept.append(honest(x))\n    return kept[0]\n",
        # a kernel reads an input of an earlier call
        DOUBLE.replace("def wrapper(input):\n", "kept = []\n\ndef wrapper(input):\n    kept.append(input)\n").replace(
            "[(triton.cdiv(n, 16),)](x, y", "[(triton.cdiv(n, 16),)](kept[0], y"
        ),
    ],
    ids=["a copy of a result", "a copy for show", "an earlier result", "an earlier input"],
)
async def test_device_memory_lives_for_one_call(judge: Bench, source: str) -> None:
    every_other = tuple(g for g in IDS if g not in ("state", "stream"))
    for without in ((), every_other):
        verdict = await judged(judge, source, without=without)
        assert verdict.guard in ("state", "stream") or verdict.kind == "crashed", verdict.summary
        assert "earlier call" in verdict.summary + verdict.log or "freed" in verdict.log


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("os.write(stream(), b'\\xff' * 16)", "stream"),
        ("os.write(stream(), bytes([3, 0, 0, 0, 0]))", "stream"),
        ("os.write(stream(), bytes([8, 4, 0, 0, 0, 1, 2, 3, 4]))", "stream"),
    ],
)
async def test_rules_of_the_stream_are_always_on(judge: Bench, line: str, rule: str) -> None:
    source = STREAM + DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n")
    verdict = await judged(judge, source, without=guards_but(()))
    assert (verdict.kind, verdict.guard) == ("cheated", rule), verdict.summary
    assert verdict.violations[0].advice


STREAM = """
import os, socket, threading, time

def stream():
    for fd in range(4, 64):
        try:
            return socket.socket(fileno=fd).detach()
        except OSError:
            pass
"""
LATE = {
    "a thread": "threading.Thread(target=lambda: (time.sleep(0.05), copy(y)), daemon=True).start()",
    "a finaliser": "global late\n    late = Late(y)",
}


@pytest.mark.parametrize("how", LATE)
async def test_commands_after_the_wrapper_has_returned(judge: Bench, how: str) -> None:
    helper = (
        "def copy(y):\n    try:\n        y.copy_(torch.empty_like(y))\n        torch.vpe.synchronize()\n"
        "    except BaseException:\n        pass\n\n"
        "class Late:\n    def __init__(self, y):\n        self.y = y\n    def __del__(self):\n        copy(self.y)\n\n"
        "late = None\n"
    )
    body = DOUBLE.replace("return y", f"{LATE[how]}\n    return y").replace("(0.05)", "(0.0)")
    body = body.replace("def wrapper(input):\n", "def wrapper(input):\n    time.sleep(0.2)\n")
    verdict = await judged(judge, STREAM + helper + body)
    assert (verdict.kind, verdict.guard) in {("cheated", "stream"), ("cheated", "state")} or (
        how == "a thread" and verdict.kind != "cheated"
    ), (verdict.kind, verdict.summary)


async def test_the_host_cannot_touch_device_memory(judge: Bench) -> None:
    for line in (
        "ctypes.string_at(input.data_ptr(), 4)",
        "ctypes.memmove(input.data_ptr(), b'1234', 4)",
        "ctypes.c_int.from_address(torch.empty_like(input).data_ptr()).value",
    ):
        source = "import ctypes\n" + DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n")
        verdict = await judged(judge, source, without=guards_but(()))
        assert (verdict.kind, verdict.guard) == ("crashed", "wall"), verdict.summary
        assert "the host touched device memory" in verdict.summary


async def test_unwritten_elements_hold_poison(judge: Bench) -> None:
    partial = DOUBLE.replace("v + v, mask=i < n)", "v + v, mask=i < n - 1)")
    assert partial != DOUBLE
    verdict = await judged(judge, partial)
    assert verdict.kind == "wrong"
    assert verdict.mismatch is not None
    assert verdict.mismatch.actual is not None
    assert verdict.mismatch.actual.nans > 0


async def test_reading_what_nobody_has_written_is_a_fault(judge: Bench) -> None:
    source = (
        DOUBLE.replace("(x, y, n,", "(x, y, z, n,")
        .replace("v + v", "v + v + tl.where(tl.load(z) == tl.load(z), 1, 0).to(v.dtype)")
        .replace(
            "    n = x.numel()\n", "    z = torch.empty(1, dtype=torch.float32, device=x.device)\n    n = x.numel()\n"
        )
    )
    verdict = await judged(judge, source)
    assert verdict.kind == "crashed"
    assert "kernel_double" in verdict.summary


HARMLESS = [
    "eval('1 + 1')",
    "exec('a = 1')",
    "__import__('os')",
    "torch.os.getpid(), torch.os.getcwd()",
    "torch.sys._getframe(0)",
    "torch.add = torch.mul",
    "torch.Tensor.add = None",
    "tl.exp2 = tl.exp",
    "math.sin = math.cos",
]
PATCHES = [
    "torch.allclose = torch.equal = lambda *a, **k: True",
    "torch.sys.modules['bringup.judge._codec'].encode = lambda value, storages: None",
    "torch.sys.modules['bringup.judge._plain'].odd_result = lambda value: ''",
    "triton.runtime.jit.JITFunction.warmup = None",
    "torch.sys.modules['bringup.device.account'].Account.check_read = lambda *a: None",
    "torch.sys.modules['bringup.device.handles'].describe = lambda tensor: b''",
]


@pytest.mark.thinned
@pytest.mark.parametrize("line", HARMLESS)
async def test_what_a_wrapper_does_in_its_own_process_is_its_own_business(judge: Bench, line: str) -> None:
    verdict = await judged(judge, DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n"))
    assert verdict.kind == "passed", verdict.summary


@pytest.mark.parametrize("line", [*HARMLESS, *PATCHES])
async def test_patches_help_no_wrong_kernel(judge: Bench, line: str) -> None:
    wrong = DOUBLE.replace("v + v", "v + v + 1")
    verdict = await judged(judge, wrong.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n"))
    assert not verdict.passed
    read = "def wrapper(input):\n" + f"    {line}\n    return torch.tensor([v * 2 for v in input.tolist()])\n"
    assert not (await judged(judge, read)).passed


async def test_a_subclass_is_no_output(judge: Bench) -> None:
    source = "class Lying(torch.Tensor):\n    pass\n\n\n" + DOUBLE.replace("return y", "return y.as_subclass(Lying)")
    verdict = await judged(judge, source)
    assert (verdict.kind, verdict.guard) == ("wrong", "outputs")


async def test_a_result_on_another_device_is_none(judge: Bench) -> None:
    verdict = await judged(judge, "def wrapper(x):\n    return torch.empty(x.shape, dtype=x.dtype)\n")
    assert (verdict.kind, verdict.guard) == ("wrong", "outputs")


async def test_outputs_must_not_share_memory(judge: Bench) -> None:
    verdict = await judged(judge, DOUBLE.replace("return y", "return y, [y]"), op="split")
    assert verdict.guard == "aliasing"
    assert "shares memory with output[0]" in verdict.summary


async def test_guards_are_switched_off_by_id() -> None:
    assert guards_but(()) == IDS
    assert "fresh" not in guards_but(("fresh",))
    with pytest.raises(UnknownName, match="unknown guard 'frsh'"):
        guards_but(("frsh",))


@pytest.mark.long
async def test_the_other_seed_is_drawn_for_each_verdict_and_recorded(judge: Bench) -> None:
    drawn = {(await judged(judge, DOUBLE)).environment.fresh_seed for _ in range(2)}
    assert len(drawn) == 2
    candidate, operator = Candidate(source=DOUBLE), get_suite("tiny").operator("double")
    for wanted, seed, used in ((5, 0, 5), (5, 5, 6)):  # the cases' own seed would show nothing
        verdict = await judge.candidate(candidate, operator, seed=seed, fresh_seed=wanted)
        assert verdict.environment.fresh_seed == used
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE, fresh_seed=7)) as pool:
        assert (await judged(pool, DOUBLE)).environment.fresh_seed == 7


async def test_every_guard_says_what_it_catches_and_misses() -> None:
    assert len({guard.id for guard in GUARDS}) == len(GUARDS)
    for guard in GUARDS:
        assert guard.catches
        assert guard.misses
    assert {guard.id for guard in RERUNS} <= set(IDS)
    assert {guard.id for guard in RULES} == {"reads", "host-bytes", "stream", "state"}


async def test_spread_takes_the_ends() -> None:
    assert spread(range(10), None) == list(range(10))
    assert spread(range(10), 1) == [9]
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread([1, 2], 3) == [1, 2]
