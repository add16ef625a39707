"""The judge on a plug-in suite of tiny operators: what passes, what is wrong, and every way a candidate can break."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE, in_place, replaced
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.own_servers]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    os.environ["BRINGUP_TEST_SECRET"] = "sk-canary"
    config = JudgeConfig(case_seconds=20, candidate_seconds=120, kernel_cache=NO_CACHE)
    async with Bench("vpe:pe64", config, jobs=1) as judge:
        yield judge


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def impatient() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=3), jobs=1) as judge:
        yield judge


async def judged(pool: Bench, source: str, op: str = "double", **options: object) -> Verdict:
    return await pool.candidate(Candidate(source=source), get_suite("tiny").operator(op), **options)


async def test_a_right_kernel_passes_every_case_and_is_compiled(tmp_path: Path) -> None:
    config = JudgeConfig(compile_for=("cuda:sm_90", "hip:gfx942", "hip:gfx950"), kernel_cache=str(tmp_path / "kernels"))
    async with Bench("vpe:pe64", config) as judge:
        verdict = await judged(judge, DOUBLE)
        assert set(verdict.compiled) == {"cuda:sm_90", "hip:gfx942", "hip:gfx950"}
        await refused_elsewhere(judge)
        again = await judged(judge, DOUBLE)
        assert again.kind == "passed"
    assert verdict.kind == "passed", verdict.summary
    assert verdict.cases_passed == verdict.cases_total == 10
    assert verdict.passed_by_dtype == {"float32": 5, "int32": 5}
    assert verdict.compiled["cuda:sm_90"] >= 2
    assert verdict.environment.launches == 8  # two empty cases launch nothing
    assert verdict.environment.versions["torch"]
    assert [path for path in (tmp_path / "kernels").glob("??/*") if path.is_file()]


async def refused_elsewhere(judge: Bench) -> None:
    """What the target's own compiler accepts, and another toolchain does not."""
    tiny = "tl.dot(tl.zeros((16, 8), tl.float32), tl.zeros((8, 16), tl.float32))"  # GPUs want 16 in the middle
    body = DOUBLE.replace("v + v", f"v + v + tl.sum({tiny}).to(v.dtype)")
    verdict = await judged(judge, body)
    assert verdict.kind == "compile", verdict.summary
    assert verdict.kernel == "kernel_double"
    assert verdict.compiled_for in ("cuda:sm_90", "hip:gfx942")


@pytest.mark.long
async def test_a_wrong_value_is_shown_with_numbers(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE.replace("v + v", "v + v + 1"))
    assert verdict.kind == "wrong"
    assert verdict.mismatch is not None
    assert verdict.mismatch.aspect == "values"
    assert verdict.mismatch.max_abs_error == 1.0
    assert verdict.mismatch.mismatched == 4
    assert len(verdict.mismatch.first) == 4
    assert "Tensor[float32, 4]" in verdict.call
    assert verdict.inputs[0].values is not None


async def test_a_report_tells_of_other_failures_and_of_pytorchs_answer(pool: Bench) -> None:
    body = DOUBLE.replace(
        "    x = input.contiguous()", "    if input.dim() == 2: raise ValueError('two')\n    x = input"
    )
    body = body.replace("v + v", "v + v + 1")
    verdict = await judged(pool, body, failures=3)
    assert verdict.kind == "wrong"
    assert verdict.mismatch is not None
    assert verdict.mismatch.first[0].inputs[0].startswith("argument 0[0] = ")
    assert [(other.kind, other.summary) for other in verdict.others] == [("raised", "ValueError: two")]
    assert verdict.others[0].reference.startswith("returns float32 of shape (3, 5) with values")
    assert verdict.others[0].case is not None
    alone = await judged(pool, body)
    assert not alone.others
    counts = (verdict.cases_passed, verdict.cases_total, verdict.environment.launches)
    assert counts == (alone.cases_passed, alone.cases_total, alone.environment.launches)
    went_on = await judged(pool, body, failures=3, keep_going=True)
    assert [other.kind for other in went_on.others] == ["raised"]


async def test_keep_going_counts_every_failure(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE.replace("v + v", "v + v + 1"), keep_going=True)
    assert verdict.kind == "wrong"
    assert verdict.cases_passed == 2  # the empty ones
    assert len(verdict.failures) == 8


@pytest.mark.parametrize(
    ("change", "aspect"),
    [
        (("return y", "return y.view(-1)"), "shape"),
        (("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float16)"), "dtype"),
        (("return y", "return [y]"), "structure"),
        (("return y", "return 1.5"), "structure"),
        (("return y", "return None"), "structure"),
        (("return y", "return object()"), "structure"),
    ],
)
async def test_what_is_compared_beside_values(pool: Bench, change: tuple[str, str], aspect: str) -> None:
    verdict = await judged(pool, DOUBLE.replace(*change))
    assert verdict.kind == "wrong", verdict.summary
    assert verdict.mismatch is not None
    assert verdict.mismatch.aspect == aspect


async def test_an_input_that_must_stay_as_it_is_cannot_be_written(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE.replace("y = torch.empty_like(x)", "y = x"))
    assert verdict.kind == "crashed"
    assert "write to a read-only input" in verdict.log
    verdict = await judged(pool, DOUBLE.replace("return y", "input.copy_(y)\n    return y"))
    assert verdict.kind == "raised"
    assert "a copy writes input #1 of 16 bytes" in verdict.summary


async def test_an_input_that_was_changed_is_seen_afterwards(pool: Bench) -> None:
    """Where the operator writes an input, another one is no more writable than its value is right."""
    change = "tl.store(y + i, v + 1, mask=i < n)\n    tl.store(y + i, v + 2, mask=i < 1)"
    source = DOUBLE.replace("tl.store(y + i, v + v, mask=i < n)", change)
    verdict = await judged(pool, source.replace("y = torch.empty_like(x)", "y = x"), "add_one_")
    assert verdict.mismatch is not None
    assert "after the call" in verdict.mismatch.output + verdict.summary or verdict.mismatch.aspect == "values"


async def test_returning_the_input_is_an_alias(pool: Bench) -> None:
    verdict = await judged(pool, "def wrapper(input):\n    return input\n")
    assert verdict.mismatch is not None
    assert verdict.mismatch.aspect == "aliasing"


async def test_a_view_operator_must_return_a_view(pool: Bench) -> None:
    view = "def wrapper(x):\n    return x.t() if x.dim() == 2 else x.view(x.shape)\n"
    assert (await judged(pool, view, "transpose")).kind == "passed"
    verdict = await judged(pool, view.replace("x.t()", "x.t().clone()"), "transpose")
    assert verdict.mismatch is not None
    assert verdict.mismatch.aspect == "aliasing"


async def test_an_in_place_operator_must_write_its_input(pool: Bench) -> None:
    body = replaced(DOUBLE, "v + v", "v + 1")
    assert (await judged(pool, in_place(body), "add_one_")).kind == "passed"
    verdict = await judged(pool, body, "add_one_")
    assert verdict.kind == "wrong"
    assert verdict.mismatch is not None
    assert "after the call" in verdict.mismatch.output


async def test_nested_results(pool: Bench) -> None:
    source = DOUBLE.replace("BLOCK: tl.constexpr", "F: tl.constexpr, BLOCK: tl.constexpr").replace("v + v", "v * F")
    source = source.split("def wrapper")[0] + (
        "def scaled(x, f):\n"
        "    y = torch.empty_like(x)\n"
        "    if x.numel():\n"
        "        kernel_double[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), F=f, BLOCK=16)\n"
        "    return y\n\n"
        "def wrapper(x):\n    return scaled(x, 2), [scaled(x, 3)]\n"
    )
    assert (await judged(pool, source, "split")).kind == "passed"
    verdict = await judged(pool, source.replace("scaled(x, 3)", "scaled(x, 2)"), "split")
    assert verdict.mismatch is not None
    assert verdict.mismatch.output == "output[1][0]"


async def test_an_operator_that_the_target_cannot_judge_is_untested(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE, "complex_only")
    assert verdict.kind == "untested"
    assert "the result is complex" in verdict.summary


@pytest.mark.parametrize(
    ("body", "operator"),
    [
        ("return input + input", "aten::add.out"),
        ("return getattr(torch, 'ad' + 'd')(input, input)", "aten::add.out"),
        ("return input.to(torch.float16).to(input.dtype)", "a copy that changes the dtype (float32 to float16)"),
        ("return torch.zeros_like(input)", "aten::zero_"),
        ("f = torch.mul\n    return f(input, 2)", "aten::mul.out"),
        ("return torch._neg_view(input).clone()", "a lazily conjugated or negated tensor"),
    ],
)
async def test_work_left_to_pytorch_is_named(pool: Bench, body: str, operator: str) -> None:
    verdict = await judged(pool, f"def wrapper(input):\n    {body}\n")
    assert verdict.kind == "raised"
    assert "NotImplementedError" in verdict.summary
    assert operator in verdict.summary
    assert f'File "candidate.py", line {2 + body.count(chr(10))}, in wrapper' in verdict.exception


async def test_what_triton_refuses_is_a_compile_error_with_its_line(pool: Bench) -> None:
    # A block that is no power of two is refused in the guest, by Triton's front end.
    source = DOUBLE.replace("BLOCK=16", "BLOCK=24").replace("triton.cdiv(n, 16)", "triton.cdiv(n, 24)")
    verdict = await judged(pool, source)
    assert verdict.kind == "compile"
    assert verdict.compiled_for == "vpe"
    assert verdict.kernel == "kernel_double"
    assert "power of 2" in verdict.log


async def test_an_exception_is_told_with_the_candidates_own_lines(pool: Bench) -> None:
    source = replaced(DOUBLE, "x.numel()", "x.nume()")
    verdict = await judged(pool, source)
    assert verdict.kind == "raised"
    assert "AttributeError" in verdict.summary
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "x.nume()" in text)
    assert f'File "candidate.py", line {line}, in wrapper' in verdict.exception
    assert "bringup/judge" not in verdict.exception


async def test_a_module_that_does_not_load(pool: Bench) -> None:
    verdict = await judged(pool, "kernel = triton.nonsense\n\ndef wrapper(x):\n    return x\n")
    assert verdict.kind == "raised"
    assert "cannot be loaded" in verdict.summary


HOSTILE = {
    "segfault": ("import ctypes\ndef wrapper(x):\n    ctypes.string_at(0)\n", "crashed", "SIGSEGV"),
    "exit": ("import os\ndef wrapper(x):\n    os._exit(0)\n", "crashed", "exit code 0"),
    "loop": ("def wrapper(x):\n    while True:\n        pass\n", "timed_out", "3 s"),
    "sleep": ("import time\ndef wrapper(x):\n    time.sleep(1000)\n", "timed_out", "3 s"),
    "memory": ("def wrapper(x):\n    return torch.empty(10**11)\n", "raised", "memory"),
    "device memory": (
        "def wrapper(x):\n    return torch.empty(10**11, device=x.device)\n",
        "raised",
        "out of device memory",
    ),
    "device memory bit by bit": (
        "def wrapper(x):\n    held = [torch.empty(1 << 28, device=x.device) for _ in range(20)]\n"
        "    return x.clone() if held else x\n",
        "raised",
        "out of device memory: 1073741824 bytes asked for",
    ),
    "more than anybody asked for": (
        "def wrapper(x):\n    return [torch.empty(1 << 28, device=x.device) for _ in range(20)]\n",
        "crashed",
        "elements in results and arguments, where there should be",
    ),
    "bytes": ("def wrapper(x):\n    return bytes(10**11)\n", "raised", "MemoryError"),
    "fork bomb": ("import os\ndef wrapper(x):\n    while True:\n        os.fork()\n", "crashed", "processes"),
    "flood": ("def wrapper(x):\n    while True:\n        print('x' * 100000)\n", "timed_out", "3 s"),
    "recursion": ("def wrapper(x):\n    return wrapper(x)\n", "raised", "RecursionError"),
    "kills its parent": (
        # Ignored where init is the same user, refused where it is another one.
        "import contextlib, os\ndef wrapper(x):\n    for pid in (os.getppid(), 1):\n        with "
        "contextlib.suppress(OSError):\n            os.kill(pid, 9)\n    return x.clone()\n",
        "wrong",
        "elements differ",
    ),
    "kills everything": ("import os\ndef wrapper(x):\n    os.kill(-1, 9)\n", "raised", "Operation not permitted"),
    "module loop": ("while True:\n    pass\n", "timed_out", ""),
    "module exit": ("import os\nos._exit(7)\n", "crashed", "exit code 7"),
    "system exit": ("import sys\ndef wrapper(x):\n    sys.exit(0)\n", "raised", "SystemExit"),
    "abort": ("import os\ndef wrapper(x):\n    os.abort()\n", "crashed", "SIGABRT"),
}


@pytest.mark.thinned
@pytest.mark.parametrize("name", HOSTILE)
async def test_hostile_candidates_end_as_a_verdict(pool: Bench, impatient: Bench, name: str) -> None:
    source, kind, said = HOSTILE[name]
    verdict = await judged(impatient if kind == "timed_out" else pool, source)
    assert verdict.kind == kind, (verdict.summary, verdict.log)
    assert said in verdict.summary
    assert (await judged(pool, DOUBLE)).kind == "passed"  # the judge goes on


async def test_a_time_out_says_where(impatient: Bench) -> None:
    verdict = await judged(impatient, HOSTILE["loop"][0])
    assert 'File "candidate.py", line 3 in wrapper' in verdict.log or "line 2" in verdict.log


async def test_output_is_capped(pool: Bench) -> None:
    verdict = await judged(pool, "def wrapper(x):\n    print('y' * 10**7)\n    raise ValueError('end')\n")
    assert verdict.kind == "raised"
    assert len(verdict.log) < 200_000
    assert "output cut" in verdict.log


async def test_a_daemon_does_not_outlive_its_candidate(pool: Bench) -> None:
    source = (
        "import os, time\n"
        "def wrapper(x):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(500)\n"
        "        os._exit(0)\n"
        "    return x.clone()\n"
    )
    await judged(pool, DOUBLE)
    before = processes_of(pool)
    await judged(pool, source)
    assert processes_of(pool) <= before


def processes_of(pool: Bench) -> set[int]:
    """Every process that the pool's workers could have left, wherever it now hangs in the tree."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR") == pool._directory.name:
                found.add(process.pid)
    return found


async def test_workers_have_no_secrets_no_network_and_a_private_directory(pool: Bench) -> None:
    source = (
        "import os, socket\n"
        "def wrapper(x):\n"
        "    facts = [sorted(os.environ), []]\n"
        "    for name in ('self/status', 'uptime', *map(str, range(1, 1 << 15))):\n"
        "        try:\n"
        "            facts[1].append(open(f'/proc/{name}/status' if name.isdigit() else f'/proc/{name}').read())\n"
        "        except OSError:\n"
        "            continue\n"
        "    try:\n"
        "        socket.create_connection(('127.0.0.1', 9), timeout=1)\n"
        "    except OSError as error:\n"
        "        facts.append(error.errno)\n"
        "    raise ValueError(facts)\n"
    )
    verdict = await judged(pool, source)
    assert "BRINGUP_TEST_SECRET" not in verdict.exception
    assert "sk-canary" not in verdict.exception
    isolation = verdict.environment.isolation
    if isolation["on"].get("proc") == "not there":
        assert ", []," in verdict.exception or ", []]" in verdict.exception  # it sees no process, not even itself
    assert "network" in isolation["on"] or "network" in isolation["missing"]
    if "network" in isolation["on"]:
        assert ", 1]" in verdict.exception or ", 101]" in verdict.exception  # EPERM or ENETUNREACH


# Guests have no gc.get_objects; the interpreter makes the module anew for those who insist.
OBJECTS = "objects = _imp.create_builtin(importlib.util.find_spec('gc')).get_objects()"


async def test_no_data_is_in_the_guests_memory(pool: Bench) -> None:
    """Neither as an object nor behind the handles: what lies there is not even readable."""
    source = (
        "import _imp, ctypes, importlib.util\n"
        "def wrapper(x):\n"
        f"    {OBJECTS}\n"
        "    tensors = [o for o in objects if isinstance(o, torch.Tensor) and o.numel() == 4]\n"
        "    libc = ctypes.CDLL(None, use_errno=True)\n"
        "    sent = libc.write(1, ctypes.c_void_p(0x500000000000), ctypes.c_size_t(1))\n"
        "    raise ValueError([{t.device.type for t in tensors}, sent, ctypes.get_errno()])\n"
    )
    assert "ValueError: [{'vpe'}, -1, 14]" in (await judged(pool, source)).summary  # EFAULT


async def test_references_are_not_in_the_workers_memory(pool: Bench) -> None:
    # The worker is forked by a process that never computed a reference: nothing expected can be found in it.
    source = (
        "import sys\n"
        "def wrapper(x):\n"
        "    names = ['bringup.judge._worker', 'bringup.judge._referee', 'bringup.accuracy']\n"
        "    names.append('bringup.suites._opinfo_import')\n"
        "    raise ValueError([name in sys.modules for name in names])\n"
    )
    assert "ValueError: [True, False, False, False]" in (await judged(pool, source)).summary


async def test_a_guest_finds_no_files_of_pythons(pool: Bench) -> None:
    # Bytecode and times of access change with use: who sees them knows whether he is judged.
    source = (
        "import os, sys\n"
        "def wrapper(x):\n"
        "    found = []\n"
        "    for place in (os.__file__, torch.__file__, torch.__cached__, sys.executable, '/bin/sh', '/proc/uptime'):\n"
        "        try:\n"
        "            found.append(len(open(place, 'rb').read(1)))\n"
        "        except OSError as error:\n"
        "            found.append(type(error).__name__)\n"
        "    raise ValueError(set(found))\n"
    )
    assert "ValueError: {'PermissionError'}" in (await judged(pool, source)).summary


@pytest.mark.long
async def test_a_lost_judge_is_replaced(pool: Bench) -> None:
    assert (await judged(pool, DOUBLE)).kind == "passed"
    os.kill(pool._slots[0].pid, 9)
    assert (await judged(pool, DOUBLE)).kind == "passed"


@pytest.mark.long
async def test_what_ends_a_judge_twice_is_told(pool: Bench) -> None:
    """PyTorch's own kernels run there, and may crash: no word about the candidate, and where it was is named."""
    sleeps = "import time\ndef wrapper(x):\n    time.sleep(1000)\n"

    async def ended() -> Verdict:
        judging = asyncio.ensure_future(judged(pool, sleeps))
        while not judging.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pool._slots[0].pid, signal.SIGSEGV)
            await asyncio.sleep(1.0)
        return await judging

    assert (await judged(pool, DOUBLE)).kind == "passed"
    verdict = await ended()
    assert verdict.kind == "untested"
    said = r"the judge's process was lost: Segmentation fault( in \S+ \(\S+:\d+\),?){2,8}"
    assert re.fullmatch(said, verdict.summary)
    assert " (bringup/judge/" in verdict.summary  # our own frames tell which of PyTorch's functions it was
    assert verdict.environment is not None  # its seed, with which it is seen again


@pytest.mark.long
@pytest.mark.parametrize("wanted", [None, 77])
async def test_another_process_draws_other_calls(pool: Bench, wanted: int | None) -> None:
    """One of those drawn may have ended the first one; but where somebody asked for a seed it is that."""
    job = pool.template.job(Candidate(source=DOUBLE), get_suite("tiny").operator("double"), fresh_seed=wanted)
    assert (await judged(pool, DOUBLE)).kind == "passed"
    killed: list[int] = []

    def kill(*_: object) -> None:
        if not killed:
            killed.append(pool._slots[0].pid)
            os.kill(killed[0], signal.SIGSEGV)

    verdict = await pool.judge(job, kill)
    assert verdict.kind == "passed"
    assert verdict.environment is not None
    assert (verdict.environment.fresh_seed == job.fresh_seed) is (wanted is not None)
    assert any("was lost (Segmentation fault in" in reason for reason in verdict.environment.skipped)


@pytest.mark.long
async def test_lost_fork_servers_are_replaced(pool: Bench) -> None:
    assert (await judged(pool, DOUBLE)).kind == "passed"  # the pool is at work
    for parent in pool._parents.values():
        assert parent.process is not None
        parent.process.kill()
        await parent.process.wait()
    os.kill(pool._slots[0].pid, 9)
    assert (await judged(pool, DOUBLE)).kind == "passed"


async def test_nonsense_on_the_wire_is_a_crash(pool: Bench) -> None:
    source = "import os\ndef wrapper(x):\n    os.write(3, b'\\xff' * 64)\n    return x\n"
    verdict = await judged(pool, source)
    assert verdict.kind == "crashed"
    forged = "import os\ndef wrapper(x):\n    os.write(3, (2).to_bytes(4, 'big') + bytes(8) + b'{}')\n    return x\n"
    assert (await judged(pool, forged)).kind == "crashed"


@pytest.mark.parametrize(
    "allocation",
    [
        "torch.empty_permuted(x.shape, tuple(range(x.dim())), dtype=x.dtype, device=x.device)",
        "torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)",
        "x.new_empty(x.shape)",
        "x.new_empty_strided(x.shape, x.stride())",
        "torch.empty(0, dtype=x.dtype, device=x.device).resize_(x.shape)",
        "torch.empty_like(x).view(-1).view(x.shape).expand(x.shape).detach()",
    ],
)
async def test_the_device_has_every_kind_of_allocation_and_view(pool: Bench, allocation: str) -> None:
    verdict = await judged(pool, DOUBLE.replace("torch.empty_like(x)", allocation))
    assert verdict.kind == "passed", verdict.summary


async def test_questions_about_dtypes_are_answered(pool: Bench) -> None:
    ask = (
        "    torch.promote_types(torch.int32, input.dtype), torch.result_type(input, 1.5), torch.can_cast(torch.int32, "
        "input.dtype), torch.is_same_size(input, input), torch.broadcast_shapes((1,), (3,))\n"
    )
    verdict = await judged(pool, DOUBLE.replace("def wrapper(input):\n", "def wrapper(input):\n" + ask))
    assert verdict.kind == "passed", verdict.summary
    for compares in ("torch.equal(input, input)", "torch.allclose(input, input)", "bool((input == input).all())"):
        verdict = await judged(pool, DOUBLE.replace("def wrapper(input):\n", f"def wrapper(input):\n    {compares}\n"))
        assert verdict.kind == "raised", compares
        assert "work left to PyTorch" in verdict.summary


@pytest.mark.long
async def test_references_use_the_instructions_that_the_user_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    libraries = {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}
    for name, value in libraries.items():
        monkeypatch.setenv(name, value)
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=20, kernel_cache=NO_CACHE), jobs=1) as judge:
        verdict = await judged(judge, DOUBLE)
    assert verdict.kind == "passed", verdict.summary
    assert verdict.environment.references == {"instructions": "DEFAULT", "threads": 2, **libraries}
