"""Inputs, references and verdicts are the same under every instruction set: a few operators of each class.

All of them: `python benchmarks/hosts.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from hosts import HOSTS, differences

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
OPERATORS = ("erf", "sort", "nn.functional.conv1d")
JUDGE = f"""
import json, sys
sys.path.insert(0, {BENCHMARKS!r})
import oracle, torch
judged = [oracle.judge("opinfo", name) for name in {OPERATORS!r}]
used = [torch.backends.cpu.get_cpu_capability(), torch.get_num_threads()]
print("found", json.dumps([used, judged]))
"""


def start(host: str) -> subprocess.Popen[str]:
    environment = {**os.environ, **HOSTS[host]}
    return subprocess.Popen([sys.executable, "-c", JUDGE], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def judged() -> dict[str, Any]:
    """What each host found: the instructions and threads used, and for each operator its verdict and digests."""
    started = {host: start(host) for host in ("default", "avx2")}
    lines = {host: process.communicate()[0].splitlines()[-1] for host, process in started.items()}
    return {host: json.loads(line.removeprefix("found ")) for host, line in lines.items()}


def test_the_hosts_are_different_ones(judged: dict[str, Any]) -> None:
    (default, one), (avx2, two) = (judged[host][0] for host in ("default", "avx2"))
    assert (one, two) == (1, 2)
    if avx2 == default:
        pytest.skip(f"this processor has {default} only")
    assert (default, avx2) == ("DEFAULT", "AVX2")


def test_pytorchs_own_results_pass_on_each_host(judged: dict[str, Any]) -> None:
    for host, (_, found) in judged.items():
        for name, passed, others, digests in found:
            assert not others, (host, name, others)
            assert passed >= len(digests) > 20


def test_inputs_and_exact_references_have_the_same_bits(judged: dict[str, Any]) -> None:
    by_name = zip(*(found for _, found in judged.values()), strict=True)
    for one, other in by_name:
        ways = [{"references": one[3]}, {"references": other[3]}]
        assert not differences("inputs", ways), one[0]
        assert not differences("exact", ways), one[0]
        assert one[0] != "sort" or any("exact" in found for found in one[3].values())


COUNT = """
import json
from bringup.suites import get_suite
suite = get_suite("opinfo")
for name, dtype in (("special.i0e", "bfloat16"), ("signal.windows.nuttall", "float32")):
    cases = suite.materialise(name, dtype)
    print(json.dumps([name, suite.operator(name).case_counts[dtype], [case.notes.get("key") for case in cases]]))
"""


@pytest.mark.long
def test_a_gate_has_the_same_cases_on_each_host() -> None:
    """PyTorch's own results differ here between hosts by more than their last bits; no case hangs on them."""
    hosts = ("default", "avx2")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", COUNT], env={**os.environ, **HOSTS[host]}, stdout=subprocess.PIPE, text=True
        )
        for host in hosts
    ]
    default, avx2 = ([json.loads(line) for line in one.communicate()[0].splitlines()] for one in started)
    assert default == avx2
    for name, counted, keys in default:
        assert counted == len(keys), name


RECORDED = """
import asyncio, json
from judge_bench import Bench
from bringup.clients.recording import RecordingSet, find_set
from bringup.config import NO_CACHE, JudgeConfig
from bringup.suites import get_suite
candidate = RecordingSet(find_set("vpe-pe64")).candidates()["mv"]


async def main():
    async with Bench("vpe:pe64", JudgeConfig(kernel_cache=NO_CACHE), jobs=1, compiles=False) as judge:
        asked = {"dtypes": ["float32"], "cases": [0, 1], "keep_going": True}
        verdict = await judge.candidate(candidate, get_suite("opinfo").operator("mv"), **asked)
        print(json.dumps([verdict.kind, verdict.summary, verdict.cases_passed, verdict.environment.references]))


asyncio.run(main())
"""


@pytest.mark.thinned("odd")
@pytest.mark.parametrize("host", ["default", "avx2"])
def test_a_recorded_kernel_passes_on_each_host(host: str) -> None:
    plugins = str(Path(__file__).parents[1] / "plugins")
    environment = {**os.environ, **HOSTS[host], "PYTHONPATH": os.pathsep.join([plugins, *sys.path])}
    done = subprocess.run([sys.executable, "-c", RECORDED], env=environment, stdout=subprocess.PIPE, check=True)
    kind, summary, passed, references = json.loads(done.stdout.splitlines()[-1])
    assert kind == "passed", summary
    assert passed == 2
    assert references["ONEDNN_MAX_CPU_ISA"] == HOSTS[host]["ONEDNN_MAX_CPU_ISA"]
    assert references["threads"] == int(HOSTS[host]["OMP_NUM_THREADS"])
