"""The ledger of compiler faults: what is a fault and what a refusal, entries, and trying them again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judge_bench import Bench
from typer.testing import CliRunner

from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import _compiling
from bringup.judge._compiling import Compiling
from bringup.judge._kernels import KernelStore, key_of
from bringup.judge.faults import FOLDER, CompilerFault, Ledger, advised, fault_in, fault_of, ledger_beside
from bringup.suites import get_suite

GOOD = """module {
  tt.func public @kernel_k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %v = tt.load %x : !tt.ptr<f32>
    tt.store %y, %v : !tt.ptr<f32>
    tt.return
  }
}
"""
REQUEST = {"text": GOOD, "source": "", "options": {}}
DIED = "RuntimeError: PassManager::run failed"


@pytest.mark.parametrize(
    ("log", "how"),
    [
        ("the compiler crashed: the process was killed by signal 11 (SIGSEGV)\n", "the compiler crashed: the process"),
        ("the compiler did not finish within 60 s", "the compiler did not finish within 60 s"),
        (DIED, "a pass failed without saying why"),
        ("x.cpp:3: Assertion `a == b' failed.\n", "an assertion of the compiler's failed: x.cpp:3"),
        ("error: Failures have been detected while processing an MLIR pass pipeline\npass 'convert-scan-to-llvm'",
         "its pass convert-scan-to-llvm failed"),
        (f"{DIED}\nPipeline failed while executing [`TritonGPUPass` on 'builtin.module' operation]",
         "its pass TritonGPUPass failed"),
        (f"{DIED}\npython: /src/a/Pass.cpp:341: void ns::Pass::run(): Assertion `a' failed.",
         "an assertion of the compiler's failed: Pass.cpp:341: Assertion `a' failed"),
    ],
)  # fmt: skip
def test_a_compiler_that_dies_is_at_fault(log: str, how: str) -> None:
    found = fault_in(log)
    assert found is not None
    assert found.startswith(how)
    assert advised(log).startswith("This is a fault of the compiler")
    assert advised(log).endswith(log)


@pytest.mark.parametrize(
    "log",
    [
        "candidate.py:5:9: error: tl.log1p is not in the profile\nRuntimeError: PassManager::run failed",
        "CompilationError: at 5:20:\nunexpected type",
        "OutOfResources: shared memory",
    ],
)
def test_a_refusal_with_a_line_is_the_kernels_doing(log: str) -> None:
    assert fault_in(log) is None
    assert advised(log) == log


def fault(toolchain: str = "triton 3.6.0 cuda:sm_90", text: str = GOOD) -> CompilerFault:
    made = fault_of(
        DIED, {**REQUEST, "text": text, "target": "x"}, toolchain, "cuda:sm_90", further=True, kernel="kernel_k"
    )
    assert made is not None
    return made


def test_an_entry_is_kept_once(tmp_path: Path) -> None:
    ledger = ledger_beside(str(tmp_path / "kernels"))
    assert ledger is not None
    assert list(ledger) == []
    ledger.add(fault())
    ledger.add(fault())
    ledger.add(fault(text=GOOD + "\n"))
    assert len(list(ledger)) == 2
    (tmp_path / FOLDER / "torn.json").write_text("{")
    assert len(list(ledger)) == 2
    assert ledger_beside(None) is None


def test_a_compiling_process_that_dies_leaves_an_entry(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)

    def start() -> object:
        raise AssertionError("not started")

    compiling = Compiling(
        "triton 0",
        ("cuda:sm_90",),
        1,
        KernelStore(None),
        {},
        start,
        target="vpe:pe64",
        ledger=ledger,  # type: ignore[arg-type]
    )
    compiling._compile = lambda target, request: ({"log": DIED, "short": DIED}, b"")  # type: ignore[method-assign]
    assert compiling.answer(REQUEST)[0]["log"] == DIED
    outcome = compiling.check([{**REQUEST, "target": "cuda:sm_90", "kernel": "kernel_k"}], 1)
    assert outcome is not None
    assert outcome.kind == "compile"
    assert [(one.target, one.further, one.toolchain.split()[0]) for one in sorted(ledger, key=lambda f: f.target)] == [
        ("cuda:sm_90", True, "triton"),
        ("vpe:pe64", False, "triton"),
    ]


def test_no_candidate_pushes_all_others_kernels_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_compiling, "MOST_SHARED", 10)
    store = KernelStore(str(tmp_path))
    compiling = Compiling("triton 0", (), 1, store, {}, lambda: pytest.fail("not started"))
    made: list[str] = []

    def compiled(target: str, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        made.append(request["text"])
        return {"name": request["text"]}, b"1234"

    compiling._compile = compiled  # type: ignore[method-assign]
    requests = [{**REQUEST, "text": str(number)} for number in range(4)]
    for request in [*requests, *requests]:
        assert compiling.answer(request) == ({"name": request["text"]}, b"1234")
    assert made == ["0", "1", "2", "3"]  # the same process has all of them
    kept = [KernelStore(str(tmp_path)).get(key_of("triton 0", request)) is not None for request in requests]
    assert kept == [True, True, False, False]


CARRIED = """
@triton.jit
def kernel_sums(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    carry = tl.zeros([1], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + at, mask=at < n, other=0.0)
        tl.store(out_ptr + at, x + carry[:, None], mask=at < n)
        carry = carry + tl.sum(x, axis=1)


def wrapper(x):
    out = torch.empty_like(x)
    kernel_sums[(1,)](x, out, x.numel(), BLOCK=256)
    return out
"""


@pytest.mark.asyncio
async def test_what_a_pass_prints_before_it_fails_is_told() -> None:
    """Triton moves the sum of a loop out of it, and holds it impossible that the loop itself reads it."""
    config = JudgeConfig(compile_for=("cuda:sm_90",), kernel_cache=NO_CACHE)
    async with Bench("vpe:pe64", config) as judge:
        verdict = await judge.candidate(Candidate(source=CARRIED), get_suite("tiny").operator("double"))
    assert verdict.kind == "compile"
    assert "OptimizeThreadLocality.cpp" in verdict.log
    assert "hasOneUse" in verdict.log
    assert str(fault_in(verdict.log)).endswith("Assertion `loopResult.hasOneUse()' failed")


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["targets", "faults", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout


def test_entries_are_tried_again_when_the_compiler_has_changed(tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    assert run("--kernel-cache", kernels)[0] == 0
    ledger = ledger_beside(str(kernels))
    assert ledger is not None
    ledger.add(fault())
    bad = fault(text="module { nonsense }")
    ledger.add(bad)
    [*rows] = json.loads(run("--kernel-cache", kernels, "--json")[1])
    assert {row["state"] for row in rows} == {"the compiler has changed since: --retry"}
    code, output = run("--kernel-cache", kernels, "--retry", "--json")
    assert code == 1  # one still fails
    states = {row["entry"]: row["state"] for row in json.loads(output)}
    assert states[bad.key] == "fails (tried now)"
    assert states[fault().key].startswith("compiles with triton 3")
    code, output = run("--kernel-cache", kernels, "--retry", "--json")
    assert code == 0  # nothing has changed since: nothing is tried
    assert run("--kernel-cache", kernels, "--retry", "--all")[0] == 1
