"""The judge on the virtual accelerator: a right kernel, a fault with its dump, a refusal by the chip's compiler."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE, in_place, replaced
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.errors import ConfigError
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Bench]:
    async with Bench("vpe:pe64", JudgeConfig(case_seconds=10, kernel_cache=NO_CACHE)) as judge:
        yield judge


async def judged(pool: Bench, source: str, op: str = "double") -> Verdict:
    return await pool.candidate(Candidate(source=source), get_suite("tiny").operator(op))


async def test_a_right_kernel_passes(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE)
    assert verdict.kind == "passed", verdict
    assert verdict.environment.target == "vpe:pe64"
    assert verdict.environment.launches == 8


async def test_work_left_to_pytorch_fails_by_construction_and_is_named(pool: Bench) -> None:
    verdict = await judged(pool, "def wrapper(x):\n    return x + x\n")
    assert verdict.kind == "raised"
    assert "work left to PyTorch: the device has no aten::add" in verdict.summary


@pytest.mark.long
async def test_a_relative_profile_that_extends_another_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text("extends: pe64\nname: base\n")
    (tmp_path / "chip.yaml").write_text("extends: base.yaml\nname: mine\n")
    async with Bench("vpe:chip.yaml", JudgeConfig(case_seconds=10, kernel_cache=NO_CACHE)) as judge:
        assert judge.ref.name == f"vpe:{tmp_path}/chip.yaml"
        assert (await judged(judge, DOUBLE)).kind == "passed"
        (tmp_path / "chip.yaml").unlink()
        (tmp_path / "base.yaml").write_text("name: [")
        await judged(judge, DOUBLE.replace("tl.load(x + i,", "tl.load(x + i + 4096,"))  # costs the device process
        verdict = await judged(judge, DOUBLE.replace("v + v", "v + v + 0"))  # and this asks the compiler anew
        assert verdict.kind == "passed", verdict


async def test_out_of_bounds_is_a_crash_with_the_debuggers_text(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE.replace("tl.load(x + i, mask=i < n)", "tl.load(x + i + 4096, mask=i < n)"))
    assert verdict.kind == "crashed", verdict
    assert "line 5" in verdict.log
    assert "kernel_double" in verdict.log
    assert "PE" in verdict.log


async def test_a_scatter_store_is_a_compile_error_with_its_line(pool: Bench) -> None:
    source = DOUBLE.replace("tl.store(y + i, v + v, mask=i < n)", "tl.store(y + v.to(tl.int32), v, mask=i < n)")
    verdict = await judged(pool, source)
    assert verdict.kind == "compile", verdict
    assert "catter" in verdict.log
    assert verdict.kernel == "kernel_double"
    allowed = source.replace("BLOCK=16)", "BLOCK=16, enable_scatter_stores=True)")
    assert (await judged(pool, allowed)).kind != "compile"


async def test_each_refusal_names_its_own_kernel(pool: Bench) -> None:
    """Triton compiles a kernel once; the device is asked again, when another kernel was compiled last."""
    body = DOUBLE.replace("tl.store(y + i, v + v, mask=i < n)", "tl.store(y + v.to(tl.int32), v, mask=i < n)")
    other = body.partition("def wrapper")[0].replace("kernel_double", "kernel_other").strip()
    scatter = "tl.store(y + v.to(tl.int32), v, mask=i < n)"
    other = other.replace(scatter, "tl.store(y + i, v + v, mask=i < n)")
    source = f"{other}\n\n{body}".replace(
        "    if n:\n", "    if n > 4:\n        kernel_other[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)\n    if n:\n"
    )
    verdict = await pool.candidate(Candidate(source=source), get_suite("tiny").operator("double"), keep_going=True)
    assert (verdict.kind, verdict.kernel) == ("compile", "kernel_double")
    refused = [one.summary for one in verdict.failures if one.kind == "compile"]
    assert len(refused) == 8  # of both dtypes all cases with an element
    assert all("kernel_double" in summary for summary in refused), refused


async def test_a_front_end_error_is_a_compile_error(pool: Bench) -> None:
    verdict = await judged(pool, DOUBLE.replace("BLOCK=16", "BLOCK=24"))
    assert verdict.kind == "compile"
    assert "power of 2" in verdict.log


async def test_views_in_place_and_mutation(pool: Bench) -> None:
    view = "def wrapper(x):\n    return x.t() if x.dim() == 2 else x.view(x.shape)\n"
    assert (await judged(pool, view, "transpose")).kind == "passed"
    adds = in_place(replaced(DOUBLE, "v + v", "v + 1"))
    assert (await judged(pool, adds, "add_one_")).kind == "passed"
    verdict = await judged(pool, replaced(DOUBLE, "y = torch.empty_like(x)", "y = x"))
    assert verdict.kind == "crashed", verdict
    assert "write to a read-only input" in verdict.log


async def test_two_launches_after_a_fork_on_many_threads(pool: Bench) -> None:
    for _ in range(3):
        assert (await judged(pool, DOUBLE)).kind == "passed"


async def test_the_dialect_follows_the_profile() -> None:
    strict, free = get_target("vpe:pe64").dialect(), get_target("vpe:permissive").dialect()
    assert "tl.float64" not in strict.tl_constants
    assert "tl.float64" in free.tl_constants
    assert "libdevice.tanh" in strict.tl_functions
    assert any("multiple of 32 bytes" in rule for rule in strict.rules)
    assert strict.examples == "vpe"


async def test_a_bad_profile_is_one_line() -> None:
    with pytest.raises(ConfigError, match="pe65"):
        get_target("vpe:pe65")
