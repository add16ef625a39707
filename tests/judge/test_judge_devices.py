"""Device processes under the judge: they hang, are killed, run out of memory, are flooded; the next candidate works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import JudgeFault
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.own_servers]

STREAM = """
import json, os, signal, socket, struct, time

def stream():
    for fd in range(4, 64):
        try:
            return socket.socket(fileno=fd).detach()
        except OSError:
            pass

def send(command, body, times=1):
    data = (struct.pack("<BI", command, len(body)) + body) * times
    while data:
        data = data[os.write(stream(), data):]

def reply(header):
    text = json.dumps(header).encode()
    os.write(3, struct.pack(">IQ", len(text), 0) + text)
"""
LOOP = DOUBLE.replace(
    "    tl.store(y + i, v + v, mask=i < n)",
    "    go = n\n    while go > 0:\n        tl.store(y + i, v + v, mask=i < n)\n"
    "        go = tl.where(go > 1, go - 1, n)",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=3, memory_mb=1024, kernel_cache=NO_CACHE)) as judge:
        yield judge


async def judged(pool: Bench, source: str, **options: object) -> Verdict:
    return await pool.candidate(Candidate(source=source), get_suite("tiny").operator("double"), **options)


def devices(pool: Bench) -> set[int]:
    """The device processes of a pool: those that may touch the range of device memory."""
    process = pool._parents["run"].process
    assert process is not None
    found = set()
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            maps = Path(f"/proc/{child.pid}/maps").read_text()
        except OSError:
            continue
        if any(line.startswith("500000000000-") and " rw-p " in line for line in maps.splitlines()):
            found.add(child.pid)
    return found


@pytest.mark.long
async def test_one_device_process_serves_one_candidate_after_the_other(pool: Bench) -> None:
    assert (await judged(pool, DOUBLE)).kind == "passed"
    before = devices(pool)
    assert len(before) <= 1
    for source in (DOUBLE.replace("v + v", "v + 1"), "def wrapper(x):\n    return x + x\n", DOUBLE):
        await judged(pool, source)
    assert devices(pool) == before


@pytest.mark.long
async def test_a_fault_does_not_cost_the_simulators_process(pool: Bench) -> None:
    await judged(pool, DOUBLE)
    before = devices(pool)
    verdict = await judged(pool, DOUBLE.replace("tl.load(x + i, mask=i < n)", "tl.load(x + i + 4096)"))
    assert verdict.kind == "crashed"
    assert (await judged(pool, DOUBLE)).kind == "passed"
    assert devices(pool) == before


@pytest.mark.long
async def test_a_kernel_that_never_ends_has_used_up_its_cycles() -> None:
    """By what was simulated, long before the wall clock; the next candidate meets the same device process."""
    async with Bench("vpe:pe64", JudgeConfig(memory_mb=1024, kernel_cache=NO_CACHE)) as pool:
        verdict = await judged(pool, LOOP)
        assert verdict.kind == "timed_out", verdict.summary
        assert verdict.summary.startswith("too many cycles: the program had used up its 1,000,000,000 cycles in kernel")
        assert "while go > 0:" in verdict.summary
        assert "go: int32 = " in verdict.log
        before = devices(pool)
        assert (await judged(pool, DOUBLE)).kind == "passed"
        assert devices(pool) == before


@pytest.mark.long
async def test_launches_of_a_call_share_the_cycles(tmp_path: Path) -> None:
    """A host loop over launches that end is no way around the limit, nor is a call after many others."""
    chip = tmp_path / "chip.yaml"
    chip.write_text("extends: pe64\nname: strict\nlimits: {call_cycles: 100000, call_cycles_per_byte: 0}\n")
    many = DOUBLE.replace("    return y", "    for _ in range(100):\n        KERNEL\n    return y")
    many = many.replace("KERNEL", next(line.strip() for line in DOUBLE.splitlines() if "[(" in line))
    config = JudgeConfig(memory_mb=1024, kernel_cache=NO_CACHE)
    async with Bench(f"vpe:{chip}", config) as pool:
        assert (await judged(pool, DOUBLE)).kind == "passed"
        verdict = await judged(pool, many)
        assert verdict.kind == "timed_out", verdict.summary
        assert "100,000 cycles" in verdict.summary
    chip.write_text("extends: pe64\nname: strict\nlimits: {call_cycles: 100000, call_cycles_per_byte: 1000000}\n")
    async with Bench(f"vpe:{chip}", config) as pool:  # the arguments' bytes count, each call's anew
        assert (await judged(pool, many)).kind == "passed"


FOLLOWS = """
@triton.jit
def kernel_follows(table, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(table).to(tl.pointer_type(tl.float32))
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, v + v, mask=i < n)

def wrapper(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    table = torch.tensor([x.data_ptr()], device=x.device)
    kernel_follows[(triton.cdiv(x.numel(), 64),)](table, y, x.numel(), BLOCK=64)
    return y
"""


async def test_no_kernel_makes_a_pointer_of_a_number(pool: Bench) -> None:
    """It could look at the number as well, and so at where its data lie."""
    for source, words in (
        (FOLLOWS, "a number is made an address (tt.int_to_ptr)"),
        (FOLLOWS.replace("tl.load(table)", "tl.load(table.to(tl.pointer_type(tl.pointer_type(tl.float32))))").replace(
            ".to(tl.pointer_type(tl.float32))\n", "\n"), "an address is read from memory"),
    ):  # fmt: skip
        verdict = await judged(pool, source, dtypes=("float32",))
        assert verdict.kind == "compile", verdict.summary
        assert words in verdict.summary
        assert "pass the tensors to the launch" in verdict.summary


@pytest.mark.long
async def test_the_wall_clock_is_a_backstop(tmp_path: Path) -> None:
    chip = tmp_path / "chip.yaml"
    chip.write_text("extends: pe64\nname: patient\nlimits: {call_cycles: null}\nnotes: []\n")
    async with Bench(f"vpe:{chip}", JudgeConfig(case_seconds=3, memory_mb=1024, kernel_cache=NO_CACHE)) as pool:
        verdict = await judged(pool, LOOP)
        assert verdict.kind == "timed_out", verdict.summary
        assert "3 s" in verdict.summary
        assert (await judged(pool, DOUBLE)).kind == "passed"
        assert len(devices(pool)) <= 1


@pytest.mark.parametrize("when", ["in a call", "between calls"])
async def test_a_device_process_that_is_killed(pool: Bench, when: str) -> None:
    await judged(pool, DOUBLE)
    if not devices(pool):
        pytest.skip("the device process shows nothing of itself to this user")
    if when == "between calls":
        for pid in devices(pool):
            psutil.Process(pid).kill()
        assert (await judged(pool, DOUBLE)).kind in ("passed", "crashed")
    else:
        slow = DOUBLE.replace("    n = x.numel()\n", "    n = x.numel()\n    time.sleep(1.5)\n")
        judging = asyncio.ensure_future(judged(pool, "import time\n" + slow))
        await asyncio.sleep(0.7)
        for pid in devices(pool):
            psutil.Process(pid).kill()
        verdict = await judging
        assert verdict.kind == "crashed", verdict.summary
        assert "device process has ended" in verdict.summary
    assert (await judged(pool, DOUBLE)).kind == "passed"


ENDINGS = {
    "floods": ("while True:\n        send(2, bytes(8), 1000)", {"cheated", "timed_out"}),
    "floods with allocations": (
        "at = 0x5000_0000_1000\n    while True:\n        send(1, struct.pack('<QQ', at, 64))\n        at += 128",
        {"timed_out", "cheated", "raised", "crashed"},
    ),
    "reads no answers": ("while True:\n        send(9, b'', 1000)", {"timed_out", "crashed", "cheated", "raised"}),
    "stalls in a command": ("os.write(stream(), struct.pack('<BI', 3, 100))\n    time.sleep(60)", {"timed_out"}),
    "closes the stream": ("os.close(stream())", {"raised", "crashed", "wrong"}),
    "announces the largest": (
        "os.write(stream(), struct.pack('<BI', 4, 512 << 20))",
        {"wrong", "timed_out", "cheated"},
    ),
    "asks for a kernel and dies": (
        "send(6, json.dumps({'text': 'x', 'source': '', 'options': {}, 'args': [], 'constants': {}}).encode())\n"
        "    os.abort()",
        {"crashed"},
    ),
    "asks for a kernel and answers": (
        "send(6, json.dumps({'text': 'y', 'source': '', 'options': {}, 'args': [], 'constants': {}}).encode())\n"
        "    reply({'result': None, 'after': [[], {}], 'storages': []})\n    time.sleep(60)",
        {"wrong", "crashed", "cheated", "raised"},
    ),
    "a text of 65 MiB": (
        "body = {'text': 'x' * (65 << 20), 'source': '', 'options': {}, 'args': [], 'constants': {}}\n"
        "    send(6, json.dumps(body).encode())\n    time.sleep(60)",
        {"crashed", "cheated", "raised", "timed_out", "wrong"},
    ),
    "a result that is not there": (
        "reply({'result': {'t': 9, 'dtype': 'float32', 'shape': [4], 'stride': [1], 'offset': 0}, 'after': [[], {}],"
        " 'storages': []})\n    time.sleep(60)",
        {"wrong", "crashed", "cheated"},
    ),
    "a nested answer": (
        "text = b'{\"result\":' + b'[' * 450 + b']' * 450 + b', \"after\": [[], {}]}'\n"
        "    os.write(3, struct.pack('>IQ', len(text), 0) + text)\n    time.sleep(60)",
        {"wrong", "crashed"},
    ),
    "device memory": ("torch.empty(1 << 31, dtype=torch.uint8, device=x.device)", {"raised"}),
    "addresses": (
        "for _ in range(40):\n        torch.empty(1 << 30, dtype=torch.uint8, device=x.device)",
        {"raised"},
    ),
}


@pytest.mark.thinned
@pytest.mark.parametrize("name", ENDINGS)
async def test_a_hostile_guest_ends_as_a_verdict_and_the_next_candidate_works(pool: Bench, name: str) -> None:
    body, kinds = ENDINGS[name]
    honest = DOUBLE.replace("def wrapper", "def honest")
    verdict = await judged(pool, f"{STREAM}\n{honest}\ndef wrapper(x):\n    {body}\n    return honest(x)\n", cases=(0,))
    assert verdict.kind in kinds, (verdict.kind, verdict.summary)
    assert len(verdict.summary.splitlines()) == 1
    assert (await judged(pool, DOUBLE)).kind == "passed"


async def test_a_module_that_uses_the_device_while_it_is_loaded_is_told_so(pool: Bench) -> None:
    verdict = await judged(pool, "import torch\nTABLE = torch.empty(4, device='vpe')\n" + DOUBLE)
    assert verdict.kind == "raised", verdict.summary
    assert "the module cannot be loaded" in verdict.summary
    assert "does not use it while it is loaded" in verdict.summary


async def test_what_a_module_asks_for_while_it_is_loaded_belongs_to_its_first_call(pool: Bench) -> None:
    """Whoever goes around Python's device, too."""
    asks = STREAM + "\nsend(1, struct.pack('<QQ', 0x5000_0000_0000, 16))\n"
    verdict = await judged(pool, asks + DOUBLE)
    assert (verdict.kind, verdict.guard) == ("cheated", "stream"), verdict.summary  # the call's own memory lies there
    assert (await judged(pool, DOUBLE)).kind == "passed"


async def test_a_judge_that_does_not_start_says_so_at_once_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    async def fails(pool: Bench) -> None:
        starts.append(pool)
        raise JudgeFault("no such chip")

    monkeypatch.setattr(Bench, "_start_parents", fails)
    async with Bench("vpe:pe64", JudgeConfig()) as pool:
        for _ in range(3):
            with pytest.raises(JudgeFault, match="no such chip"):
                await judged(pool, DOUBLE)
    assert len(starts) == 1
