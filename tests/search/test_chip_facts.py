"""What a search knows of its chip: figures of the local target, else those that came with times from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from search_doubles import Bench, FakeJudge, config, reply

from bringup.judge.measuring import CaseTiming, Measured, MeasureJob, Times
from bringup.search.chip import device_of
from bringup.search.parameters import freedom_of
from bringup.targets import get_target
from bringup.verdict import CaseId

H100 = {"name": "NVIDIA H100 80GB HBM3", "capability": 90, "multiprocessors": 132, "clock_mhz": 1980}


class FarJudge(FakeJudge):
    """Judges where the GPU is, which this process does not see."""

    def __init__(self, facts: dict[str, Any]) -> None:
        super().__init__()
        self.facts = facts

    def timing(self, case: CaseId, seconds: float) -> CaseTiming:
        eager = Times(median=1.0, low=1.0, high=1.0)
        return super().timing(case, seconds).model_copy(update={"baselines": {"eager": eager}})

    async def measure(self, job: MeasureJob, progress: object = None) -> Measured:
        measured = await super().measure(job, progress)
        update = {"clock": "device", "device": "cuda", "facts": self.facts}
        return Measured.model_validate_json(measured.model_copy(update=update).model_dump_json())


async def searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], target: str = "cuda"
) -> tuple[dict[str, str], FarJudge]:
    monkeypatch.setattr("bringup.targets.cuda.CudaTarget.facts", lambda self: {})
    folder = tmp_path / "knowledge"
    folder.mkdir()
    for device in ("sm_80", "sm_90"):
        front = f"---\ntitle: Of {device}\nplatforms: [nvidia]\nconcerns: [memory]\nsources: [us]\n"
        front += f"specificity: device\ndevices: [{device}]\nevidence: tested\n---\n"
        (folder / f"of-{device}.md").write_text(f"{front}\n# Of {device}\n\nOnly {device} does that.\n")
    prompts: dict[str, str] = {}

    def script(messages: Any, sampling: Any, call: Any) -> str:
        prompts[call.node] = messages[-1].content
        return reply(0.5, note=call.node)

    settings = config(nodes=2, drafts=1, knowledge=(str(folder),), against=("eager",))
    settings = settings.model_copy(update={"target": target})
    judge = FarJudge(facts)
    await Bench(tmp_path / "runs", script, judge).start(settings)
    return prompts, judge


@pytest.mark.parametrize("target", ["cuda", "cuda:1"])
async def test_figures_that_came_with_times_fill_prompts_and_choose_knowledge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    prompts, _ = await searched(tmp_path, monkeypatch, H100, target)
    for node in "12":
        assert "name NVIDIA H100 80GB HBM3, capability 90, multiprocessors 132" in prompts[node]
        assert "peak TFLOP/s by what is multiplied: fp32 66.91" in prompts[node]
    assert "Only sm_90 does that." in prompts["2"]
    assert "Only sm_80 does that." not in prompts["2"]


async def test_without_figures_prompts_say_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, _ = await searched(tmp_path, monkeypatch, {})
    assert "capability" not in prompts["2"]
    assert "TFLOP/s" not in prompts["2"]


def test_times_that_an_older_bringup_wrote_are_read() -> None:
    old = '{"verdict": {"kind": "passed", "summary": "passed"}, "clock": "device", "device": "cuda"}'
    assert Measured.model_validate_json(old).facts == {}


def test_the_architecture_is_that_of_the_capability() -> None:
    assert (device_of(H100), device_of({}), device_of({"grid": {}})) == ("sm_90", "", "")


def test_the_tuner_knows_the_processors_of_a_chip_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bringup.targets.cuda.CudaTarget.facts", lambda self: {})
    assert freedom_of(get_target("cuda")).processors == 0
    assert freedom_of(get_target("cuda"), facts=H100).processors == 132
    pe64 = get_target("vpe:pe64")
    assert freedom_of(pe64, facts=H100) == freedom_of(pe64)
