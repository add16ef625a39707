"""What a wrapper asks for follows from its arguments alone: state in Python is found, honest memories are not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import JobTemplate
from bringup.judge._rehearsal import laid_out
from bringup.judge.calling import Caller
from bringup.judge.guards import IDS
from bringup.operators import DTYPES
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")

HEAD = "def wrapper(input):\n"
TUNER = (
    '@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])\n@triton.jit\n'
)
TABLE = "table = torch.tensor([x.numel(), DATA], dtype=torch.int64).to(x.device)\n    n = x.numel()"
OTHERS = tuple(guard for guard in IDS if guard != "rehearsed")

STATE = {
    "a number of the call": ("calls = []\n", "calls.append(0)\n    grown = len(calls) > 300", "grown"),
    "an address": ("", "grown = (input.data_ptr() >> 30) % 8 == 3", "grown"),
    "an allocation's address": ("", "grown = torch.empty_like(input.contiguous()).data_ptr() >> 16 & 1", "grown"),
    "chance": ("import os\n", "", "int.from_bytes(os.urandom(4), 'little')"),
    "an earlier shape": ("old = [0]\n", "last, old[0] = old[0], input.dim()", "last"),
    "an environment that is written": (
        "import os\n", "k = int(os.environ.get('K', 0)) + 1\n    os.environ['K'] = str(k)", "k > 200",
    ),
    "a first call of sizes that no case has": (
        "calls = []\n",
        "calls.append(0)\n    grown = len(calls) == 1 and tuple(input.shape) not in SHAPES", "grown",
    ),
    "gradients": ("", "", "input.requires_grad"),
    "a class": ("", "", "type(input) is not torch.Tensor"),
    "a version": ("", "", "input._version == 0"),
    "a view": ("", "", "input._is_view()"),
    "the size of a storage": ("", "", "input.untyped_storage().nbytes() > 4 * input.numel() * input.element_size()"),
    "whether gradients are on": ("", "", "not torch.is_grad_enabled()"),
    "the default dtype": ("", "", "torch.get_default_dtype() is torch.float64"),
    "the object of the last call": (
        "old = [None]\n", "again, old[0] = old[0] is input, input", "again",
    ),
    "an attribute of an argument": ("", "again = hasattr(input, 'seen')\n    input.seen = 1", "again"),
    "the address of the last call": (
        "old = [0]\n", "again, old[0] = old[0] == (input.data_ptr() or 1), input.data_ptr()", "again",
    ),
    "a result's address that comes again": (
        "old = set()\n", "p = torch.empty(1, device=input.device).data_ptr()\n    again = p in old\n    old.add(p)",
        "again",
    ),
    "an error": (
        "busy = [0]\n", "again, busy[0] = busy[0], 1\n    input.dim()\n    busy[0] = 0", "again",
    ),
    "an allocation that failed": (
        "busy = [0]\n", "again, busy[0] = busy[0], 1\n    input.new_empty(1)\n    busy[0] = 0", "again",
    ),
    "large sizes that come twice": (
        "old = set()\n",
        "again = input.numel() > 1 << 20 and input.shape in old\n    old.add(input.shape)", "again",
    ),
    "calls in which something took a while": (
        "calls = [0]\n\n\n@triton.jit\ndef probe(p):\n    tl.store(p, 0)\n\n\n",
        "b = input.new_empty(16)\n"
        "    took = triton.runtime.driver.active.get_benchmarker()(lambda: probe[(1,)](b))\n"
        "    calls[0] += took > 0\n    again = calls[0] % 40 == 39", "again",
    ),
    "an id": ("", "", "id(input) // 16 % 16 == 5"),
    "an address as a number": ("", "", "x.data_ptr()"),
    "an address of memory that nobody uses": ("", "", "torch.empty(16, device=x.device).data_ptr()"),
    "an address in a table": ("", "torch.tensor([input.data_ptr()], device='cpu').to(input.device)", "0"),
    "the depth of the stack": ("import inspect\n", "", "len(inspect.stack(0)) > 30"),
    "a thread": ("import threading\n", "", "threading.current_thread() is not threading.main_thread()"),
}  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def judge() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE)) as pool:
        yield pool


async def judged(pool: Bench, source: str, without: tuple[str, ...] = ()) -> Verdict:
    return await pool.candidate(
        Candidate(source=source), get_suite("tiny").operator("double"), without_guards=without, fresh_seed=13
    )


def shapes() -> set[tuple[int, ...]]:
    """Of all arguments that the gate has."""
    suite = get_suite("tiny")
    cases = [case for dtype in DTYPES for case in suite.materialise("double", dtype)]
    return {tuple(value.shape) for case in cases for value in (*case.args, *case.kwargs.values())}


def with_number(top: str, line: str, number: str) -> str:
    """The right kernel, with one number more among its arguments that it makes nothing of."""
    source = DOUBLE.replace("(x, y, n, BLOCK", "(x, y, n, more, BLOCK").replace("v + v,", "v + v + 0 * more,")
    source = source.replace("(x, y, n, more, BLOCK=16)", f"(x, y, n, int({number}), BLOCK=16)")
    return top + source.replace(HEAD, f"{HEAD}    {line or 'pass'}\n")


# Everything about a call that is not the wrapper's own: the functions below it, their variables, what it was told, what
# is known of memory.
SIGHT = """
import hashlib
import json
import sys

calls = []


def sight():
    frame, found = sys._getframe(), []
    while frame is not None:
        if not frame.f_code.co_filename.endswith("candidate.py"):
            told = frame.f_locals.get("request")
            told = sorted(told) if isinstance(told, dict) else None
            code = frame.f_code
            found.append([code.co_filename, code.co_name, frame.f_lineno, sorted(frame.f_locals), told])
        frame = frame.f_back
    memory = vars(triton.runtime.driver.active.frontend.handles)
    found.append(sorted([name, type(value).__name__, bool(value)] for name, value in memory.items()))
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()
"""


class NoDevice:
    def execute(self, command: Any, body: Any) -> None:
        return None


def seen_in_a_sealed_call() -> str:
    """What a wrapper sees of the first call of its process, where that is a sealed one."""
    tensor = {"t": 0, "dtype": "float32", "shape": [3], "stride": [1], "offset": 0}
    request = {"args": {"tuple": [tensor]}, "kwargs": {"dict": []}, "sizes": [12], "bases": laid_out([12])}
    caller = Caller("vpe:pe64")
    try:
        told = caller.call(SIGHT + f"\n\n{HEAD}    raise ValueError(sight())\n", request, NoDevice())
    finally:
        caller.close()
    return str(told["message"])


@pytest.mark.long
async def test_no_call_shows_what_it_is_made_for(judge: Bench) -> None:
    """A wrapper that errs in what looks like the first call of a sealed kernel's process errs in rehearsals, too."""
    sealed = seen_in_a_sealed_call()
    assert len(sealed) == 64
    line = "calls.append(sight())\n    first = len(calls) == 1"
    unlike = f"{line}\n    if first and calls[0] != {sealed!r}:\n        raise ValueError(calls[0])"
    assert (await judged(judge, with_number(SIGHT, unlike, "0"), IDS)).passed  # a judged call is one of these
    known = f"{line} and calls[0] == {sealed!r} and tuple(input.shape) not in {shapes()!r}"
    verdict = await judged(judge, with_number(SIGHT, known, "first"), OTHERS)
    assert (verdict.kind, verdict.guard) == ("cheated", "rehearsed"), verdict.summary


@pytest.mark.thinned
@pytest.mark.parametrize("what", STATE)
async def test_a_wrapper_that_goes_by_anything_else_is_found(judge: Bench, what: str) -> None:
    source = with_number(*STATE[what]).replace("SHAPES", repr(shapes()))
    verdict = await judged(judge, source, OTHERS)
    assert (verdict.kind, verdict.guard) == ("cheated", "rehearsed"), verdict.summary
    assert "asks the device for other things" in verdict.summary
    assert verdict.violations[0].advice
    assert (await judged(judge, source, IDS)).passed


async def test_what_is_only_timed_makes_no_result(judge: Bench) -> None:
    launch = "kernel_double[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)"
    source = DOUBLE.replace(launch, f"triton.runtime.driver.active.get_benchmarker()(lambda: {launch})")
    verdict = await judged(judge, source, OTHERS)
    assert (verdict.kind, verdict.guard) == ("wrong", ""), verdict.summary
    assert verdict.cases_passed == 0


HONEST = {
    "nothing": DOUBLE,
    "numbers kept by shape": "import functools\n\n@functools.lru_cache\ndef blocks(n):\n    return triton.cdiv(n, 16)\n"
    + DOUBLE.replace("triton.cdiv(n, 16)", "blocks(n)"),
    "a tuner": DOUBLE.replace("@triton.jit\n", TUNER).replace(
        "[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)", "[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, y, n)"
    ),
    "a tuner by a coarse key": DOUBLE.replace("@triton.jit\n", TUNER.replace('"n"', '"y"')).replace(
        "[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)", "[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, y, n)"
    ),
    "a kernel by alignment": DOUBLE.replace("n = x.numel()", "n = x.numel()\n    b = 16 << int(x.data_ptr() % 64 == 0)")
    .replace("cdiv(n, 16)", "cdiv(n, b)").replace("BLOCK=16", "BLOCK=b"),
    "a table that is kept": "tables = {}\n"
    + DOUBLE.replace(
        "    n = x.numel()\n",
        "    n = x.numel()\n    t = tables.setdefault(n, torch.tensor([n], device='cpu')).to(x.device)\n",
    ),
    "gradients that are switched off": DOUBLE.replace(
        HEAD, f"{HEAD}    with torch.no_grad():\n        y = double(input.detach())\n"
        "    return y.requires_grad_() if input.requires_grad else y\n\n\ndef double(input):\n",
    ),
    "arguments in a list": "old = [None]\n" + DOUBLE.replace(HEAD, f"{HEAD}    old[0] = input\n"),
    "launches kept by layout and alignment": "kept = {}\n"
    + DOUBLE.replace(
        "    n = x.numel()\n",
        "    n = x.numel()\n    k = x.shape, x.stride(), x.dtype, x.data_ptr() % 64\n"
        "    grid = kept.setdefault(k, (triton.cdiv(n, 16),))\n",
    ).replace("(triton.cdiv(n, 16),)](", "grid]("),
    "once more where there was no memory": "import gc\n"
    + DOUBLE.replace(
        HEAD,
        f"{HEAD}    try:\n        torch.empty_like(input)\n"
        "    except torch.OutOfMemoryError:\n        gc.collect()\n",
    ),
    "a flag that is taken back": "busy = []\n"
    + DOUBLE.replace(
        HEAD,
        f"{HEAD}    busy.append(1)\n    try:\n        return double(input, len(busy))\n"
        "    finally:\n        busy.pop()\n\n\ndef double(input, flags):\n",
    ).replace("(triton.cdiv(n, 16),)", "(triton.cdiv(n, 16) * flags,)"),
    "a class of its own": "import dataclasses\n\n\n@dataclasses.dataclass\nclass Launch:\n    block: int = 16\n\n\n"
    + DOUBLE.replace("BLOCK=16)", "BLOCK=Launch().block)"),
    "garbage that is collected": "import gc\nkept = []\n"
    + DOUBLE.replace(HEAD, f"{HEAD}    kept.append(input)\n    len(kept) % 7 or kept.clear() or gc.collect()\n"),
}  # fmt: skip


@pytest.mark.thinned
@pytest.mark.parametrize("what", HONEST)
async def test_honest_memories_pass(judge: Bench, what: str) -> None:
    verdict = await judged(judge, HONEST[what])
    assert verdict.passed, f"{verdict.kind} {verdict.guard}: {verdict.summary}"
    assert verdict.environment.reruns["rehearsed"]["runs"] >= 800


@pytest.mark.parametrize(("wanted", "kind"), [(100, "passed"), (400, "cheated")])
async def test_fewer_calls_may_be_asked_for(judge: Bench, wanted: int, kind: str) -> None:
    source = with_number("calls = []\n", "calls.append(0)\n    grown = len(calls) > 300", "grown")
    config = JudgeConfig(kernel_cache=NO_CACHE, rehearsals=wanted)
    job = JobTemplate("vpe:pe64", config).job(
        Candidate(source=source), get_suite("tiny").operator("double"), without_guards=OTHERS, fresh_seed=13
    )
    verdict = await judge.judge(job)
    assert verdict.kind == kind, verdict.summary
    if verdict.passed:
        assert wanted <= verdict.environment.reruns["rehearsed"]["runs"] < wanted + 300


# Right but in processes whose first call is of other sizes than any of the gate; no first call asks for what others do.
TIMED = """
first = []


@triton.jit
def kernel_exp(x, y, n, more, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n, other=0.0).to(tl.float32)) + more, mask=i < n)


def wrapper(input):
    x = input.contiguous().clone()
    y = torch.empty_like(x)
    n = x.numel()
    launch = lambda more: kernel_exp[(triton.cdiv(n, 512),)](x, y, n, more, BLOCK=512)
    if not first:
        triton.runtime.driver.active.get_benchmarker()(lambda: launch(0))
        first.append(tuple(x.shape) not in SHAPES)
    launch(int(WRONG))
    return y
"""


@pytest.mark.parametrize("wrong", ["first[0]", "0"])
@pytest.mark.thinned
async def test_a_first_call_that_times_something_is_rehearsed_for_other_sizes_too(judge: Bench, wrong: str) -> None:
    suite = get_suite("opinfo")
    cases = [
        case for case in suite.materialise("exp", "float32")
        if len(case.args) == 1 and not (case.kwargs or case.requires or case.raises)
    ]  # fmt: skip
    known = {tuple(case.args[0].shape) for case in cases}
    source = TIMED.replace("SHAPES", repr(known)).replace("WRONG", wrong)
    verdict = await judge.candidate(
        Candidate(source=source), suite.operator("exp"), without_guards=OTHERS, fresh_seed=13,
        cases={"float32": tuple(case.case.index for case in cases)},
    )  # fmt: skip
    if wrong == "0":
        assert verdict.passed, f"{verdict.kind} {verdict.guard}: {verdict.summary}"
    else:
        assert (verdict.kind, verdict.guard) == ("cheated", "rehearsed"), verdict.summary
        assert "a call in a fresh process" in verdict.summary
