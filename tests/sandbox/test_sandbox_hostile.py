"""The hostile set: every candidate ends as a verdict, leaves nothing behind, and the next one is judged normally."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
from bringup_testkit import DOUBLE
from hostile import Hostile
from hostile_endings import ENDINGS
from hostile_escapes import ESCAPES
from hostile_resources import RESOURCES
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.judge import _processes
from bringup.judge.guards import guards_but
from bringup.suites import get_suite
from bringup.verdict import Verdict

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.own_servers]
ALL = [*RESOURCES, *ENDINGS, *ESCAPES]
# No guard looks on: what holds here is the sandbox alone.
CONFIG = JudgeConfig(
    case_seconds=30, candidate_seconds=60, memory_mb=1024, without_guards=guards_but(()), kernel_cache=NO_CACHE
)
# For what may end as a time-out; the rest must end by itself, however slow the machine.
BRIEF = CONFIG.model_copy(update={"case_seconds": 3})


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory that is none of the candidate's business, with a secret and a listening socket."""
    folder = tmp_path_factory.mktemp("canary")
    (folder / "secret").write_text("sk-canary")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as abstract:
        listening.bind(str(folder / "socket"))
        listening.listen()
        abstract.bind("\0bringup-sandbox-canary")
        abstract.listen()
        yield folder
        for server in (listening, abstract):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()


@dataclass(frozen=True)
class Pools:
    """A judge whose cases have time enough, and one for candidates that may use all of theirs."""

    patient: Bench
    brief: Bench
    isolation: dict[str, dict[str, str]]  # of their workers, as verdicts tell it

    def of(self, hostile: Hostile) -> Bench:
        return self.brief if "timed_out" in hostile.kinds else self.patient


@contextlib.asynccontextmanager
async def pools() -> AsyncIterator[Pools]:
    async with (
        Bench("vpe:permissive", CONFIG, compiles=False) as patient,
        Bench("vpe:permissive", BRIEF, compiles=False) as brief,
    ):
        first, _ = await asyncio.gather(judged(patient, DOUBLE), judged(brief, DOUBLE))  # starts the processes
        yield Pools(patient, brief, first.environment.isolation)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def isolated() -> AsyncIterator[Pools]:
    async with pools() as both:
        yield both


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def degraded() -> AsyncIterator[Pools]:
    """Judges whose workers believe that the system has no namespaces."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_processes, "PASSED_ENVIRONMENT", (*_processes.PASSED_ENVIRONMENT, "BRINGUP_SANDBOX_WITHOUT"))
        patch.setenv("BRINGUP_SANDBOX_WITHOUT", "namespaces")
        async with pools() as both:
            yield both


async def judged(pool: Bench, source: str) -> Verdict:
    return await pool.candidate(
        Candidate(source=source), get_suite("tiny").operator("double"), dtypes=("float32",), cases=(0,)
    )


def source_of(hostile: Hostile, canary: Path) -> str:
    return DOUBLE.replace("def wrapper", "def double") + hostile.source.replace("{canary}", str(canary))


async def try_out(pool: Bench, hostile: Hostile, canary: Path) -> Verdict:
    """Judge one hostile candidate, then an honest one; nothing may be left of the first."""
    before = traces(pool)
    verdict = await judged(pool, source_of(hostile, canary))
    assert verdict.kind in hostile.kinds, (verdict.kind, verdict.summary, verdict.exception, verdict.log)
    processes, files, mounts = traces(pool)
    # A device process that a fault has broken is replaced: one for one.
    assert len(processes) <= len(before[0]), [" ".join(psutil.Process(p).cmdline()) for p in processes - before[0]]
    assert files == before[1]
    assert mounts == before[2]
    assert (canary / "secret").read_text() == "sk-canary"
    assert sorted(os.listdir(canary)) == ["secret", "socket"]
    honest = await judged(pool, DOUBLE)
    assert honest.kind == "passed", honest.summary
    return verdict


def traces(pool: Bench) -> tuple[set[int], list[str], str]:
    """What a candidate could leave: processes of the pool's, wherever they hang; files of the pool's; mounts."""
    processes = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("TMPDIR") == pool._directory.name and process.status() != psutil.STATUS_ZOMBIE:
                processes.add(process.pid)
    files = sorted(str(path) for path in Path(pool._directory.name).rglob("*") if path.suffix != ".log")
    return processes, files, Path("/proc/self/mountinfo").read_text()


@pytest.mark.thinned
@pytest.mark.parametrize("hostile", ALL, ids=lambda h: h.name)
async def test_hostile(isolated: Pools, canary: Path, hostile: Hostile) -> None:
    if isolated.isolation["missing"]:
        pytest.skip(f"this system does not allow: {isolated.isolation['missing']}")
    verdict = await try_out(isolated.of(hostile), hostile, canary)
    assert hostile.says in verdict.summary + verdict.log


@pytest.mark.thinned("odd")
@pytest.mark.parametrize("hostile", [h for h in ALL if h.degraded], ids=lambda h: h.name)
async def test_hostile_without_namespaces(degraded: Pools, canary: Path, hostile: Hostile) -> None:
    if degraded.isolation["on"].get("files") != "Landlock":
        pytest.skip("neither namespaces nor Landlock")
    verdict = await try_out(degraded.of(hostile), hostile, canary)
    says = hostile.says if hostile.degraded_says is None else hostile.degraded_says
    assert says in verdict.summary + verdict.log
