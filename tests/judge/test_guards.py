"""Each guard on a candidate whose answers are right, but not for the right reason; and that switch's absence."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE

from bringup.candidate import Candidate
from bringup.config import JudgeConfig
from bringup.errors import UnknownName
from bringup.judge import JudgePool
from bringup.judge.guards import GUARDS, IDS, RERUNS, guards_but, spread
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

KERNELS = DOUBLE.split("def wrapper")[0]
HOST = (
    "def host(x):\n    return torch.tensor([v + v for v in x.reshape(-1).tolist()], dtype=x.dtype).reshape(x.shape)\n\n"
)
COPY = KERNELS.replace("v + v", "v")

CHEATS = {
    # The kernel runs and its result is thrown away.
    "ghost": (
        KERNELS + HOST + "def wrapper(x):\n    y = torch.empty_like(x.contiguous())\n    if x.numel():\n"
        "        kernel_double[(1,)](x.contiguous(), y, x.numel(), BLOCK=16)\n    return host(x)\n",
        ("dispatch-spy", "host-events"),
    ),
    # The host computes, a kernel copies what it is given.
    "veil": (
        COPY + HOST + "def wrapper(x):\n    h, y = host(x), torch.empty(x.shape, dtype=x.dtype)\n    n = x.numel()\n"
        "    if n:\n        kernel_double[(triton.cdiv(n, 16),)](h, y, n, BLOCK=16)\n    return y\n",
        ("dispatch-spy", "host-events"),
    ),
    # The first answer for each shape is kept.
    "fresh": (
        DOUBLE.replace("def wrapper", "def honest") + "\n\nkept = {}\n\ndef wrapper(x):\n    key = (x.shape, x.dtype)\n"
        "    if key not in kept:\n        kept[key] = honest(x)\n    return kept[key].clone()\n",
        ("aliasing", "veil", "ghost", "near"),
    ),
    # Right as long as fresh memory holds NaN.
    "repeat": (
        DOUBLE.replace("(x, y, n,", "(x, y, z, n,")
        .replace("v + v", "v + v + tl.where(tl.load(z) == tl.load(z), 1, 0).to(v.dtype)")
        .replace(
            "    n = x.numel()\n", "    z = torch.empty(1, dtype=torch.float32, device=x.device)\n    n = x.numel()\n"
        ),
        (),
    ),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[JudgePool]:
    async with JudgePool("interpreter", JudgeConfig(), compiles=False) as pool:
        yield pool


async def judged(pool: JudgePool, source: str, *, without: tuple[str, ...] = ()) -> Verdict:
    return await pool.judge(Candidate(source=source), get_suite("tiny").operator("double"), without_guards=without)


@pytest.mark.parametrize("guard", ["ghost", "veil", "fresh", "repeat"])
async def test_a_guard_finds_what_the_others_let_through(judge: JudgePool, guard: str) -> None:
    source, others = CHEATS[guard]
    verdict = await judged(judge, source, without=others)
    assert verdict.guard == guard, verdict.summary
    assert not verdict.passed
    assert verdict.environment["reruns"][guard]["runs"] >= 1
    free = await judged(judge, source, without=(*others, guard))
    assert free.guard != guard


async def test_unwritten_elements_hold_poison(judge: JudgePool) -> None:
    partial = DOUBLE.replace("v + v, mask=i < n)", "v + v, mask=i < n - 1)")
    assert partial != DOUBLE
    verdict = await judge.judge(Candidate(source=partial), get_suite("tiny").operator("double"))
    assert verdict.kind == "wrong"
    assert verdict.mismatch is not None
    assert verdict.mismatch.actual is not None
    assert verdict.mismatch.actual.nans > 0


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("eval('1 + 1')", "eval()"),
        ("exec('a = 1')", "exec()"),
        ("__import__('os')", "__import__ os"),
        ("open('/dev/null').close()", "open()"),
        ("torch.os.getpid(), torch.os.listdir('.')", "os.listdir"),
        ("torch.sys._getframe(0)", "sys._getframe"),
    ],
)
async def test_host_events_are_told(judge: JudgePool, line: str, found: str) -> None:
    source = DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n")
    verdict = await judge.judge(Candidate(source=source), get_suite("tiny").operator("double"))
    assert (verdict.kind, verdict.guard) == ("cheated", "host-events")
    assert found in verdict.summary


@pytest.mark.parametrize(
    "line",
    [
        "torch.add = torch.mul",
        "torch.Tensor.add = None",
        "tl.exp2 = tl.exp",
        "math.sin = math.cos",
        "torch.sys.modules['bringup.judge._codec'].encode = None",
        "triton.runtime.jit.JITFunction.warmup = None",
    ],
)
async def test_the_seal_sees_patches(judge: JudgePool, line: str) -> None:
    source = DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {line}\n")
    verdict = await judged(judge, source, without=("host-events",))
    assert (verdict.kind, verdict.guard) == ("cheated", "seal"), verdict.summary


async def test_a_subclass_is_no_output(judge: JudgePool) -> None:
    source = "class Lying(torch.Tensor):\n    pass\n\n\n" + DOUBLE.replace("return y", "return y.as_subclass(Lying)")
    verdict = await judge.judge(Candidate(source=source), get_suite("tiny").operator("double"))
    assert (verdict.kind, verdict.guard) == ("wrong", "outputs")


async def test_outputs_must_not_share_memory(judge: JudgePool) -> None:
    source = DOUBLE.replace("return y", "return y, [y]")
    verdict = await judge.judge(Candidate(source=source), get_suite("tiny").operator("split"))
    assert verdict.guard == "aliasing"
    assert "shares memory with output[0]" in verdict.summary


async def test_guards_are_switched_off_by_id() -> None:
    assert guards_but(()) == IDS
    assert "ghost" not in guards_but(("ghost",))
    with pytest.raises(UnknownName, match="unknown guard 'gost'"):
        guards_but(("gost",))


async def test_every_guard_says_what_it_catches_and_misses() -> None:
    assert len({guard.id for guard in GUARDS}) == len(GUARDS)
    for guard in GUARDS:
        assert guard.catches
        assert guard.misses
    assert {guard.id for guard in RERUNS} <= set(IDS)


async def test_spread_takes_the_ends() -> None:
    assert spread(range(10), None) == list(range(10))
    assert spread(range(10), 1) == [9]
    assert spread(range(10), 3) == [0, 4, 9]
    assert spread([1, 2], 3) == [1, 2]
