"""A device that is reached by files: batches, resuming, what comes back, and files that are not what they should be."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from bringup_testkit import DOUBLE
from typer.testing import CliRunner

from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.config import JudgeConfig
from bringup.errors import ConfigError, FormatError
from bringup.judge import (
    JobRefused,
    JobTemplate,
    JudgeFault,
    JudgeJob,
    Measured,
    MeasureJob,
    ReplayJob,
    executors,
    open_judge,
    unavailable,
)
from bringup.judge._by_file import Exchange, FileJudge
from bringup.judge.job_file import JobVerdict, VerdictFile, read_answers, read_jobs, write_jobs
from bringup.suites import get_suite
from bringup.verdict import Verdict

TEMPLATE = JobTemplate("vpe:pe64")


def job(source: str = DOUBLE, **options: Any) -> JudgeJob:
    return TEMPLATE.job(Candidate(source=source), get_suite("tiny").operator("double"), **options)


def judge(folder: Path, said: list[str] | None = None) -> FileJudge:
    found = [] if said is None else said
    return FileJudge(
        TEMPLATE.target, jobs=4, kernel_cache="", option=str(folder), collect=0.05, look=0.02, say=found.append
    )


def answer(folder: Path, name: str = "jobs-0001.jsonl", refuse: str = "") -> None:
    """What `bringup jobs run` would write."""
    verdicts = VerdictFile.open(folder / f"{name}.verdicts")
    for one in read_jobs(folder / name):
        judged = one if isinstance(one, JudgeJob) else one.judge
        verdict = Verdict(kind="untested" if refuse else "passed", summary=judged.candidate.digest[:8], cases_total=1)
        measured = Measured(verdict=verdict, device="far away") if isinstance(one, MeasureJob) else None
        verdicts.add(
            JobVerdict(
                job=one.digest, operator="double", candidate=judged.candidate.digest, verdict=verdict,
                measured=measured, refused=refuse,
            )
        )  # fmt: skip


async def until(path: Path) -> None:
    while not path.exists():  # noqa: ASYNC110, ASYNC240 - what another task writes
        await asyncio.sleep(0.01)


async def test_jobs_that_wait_together_travel_in_one_file(tmp_path: Path) -> None:
    said: list[str] = []
    sources = [DOUBLE, DOUBLE + "\n", DOUBLE + "\n\n"]
    async with judge(tmp_path, said) as far:
        waiting = [asyncio.create_task(far.judge(job(source))) for source in sources[:2]]
        waiting.append(asyncio.create_task(far.judge(job(sources[0]))))  # the same question, another seed
        measured = asyncio.create_task(far.measure(MeasureJob(judge=job(sources[2]))))
        await until(tmp_path / "jobs-0001.jsonl")
        assert [one.kind for one in read_jobs(tmp_path / "jobs-0001.jsonl")] == ["judge", "judge", "measure"]
        answer(tmp_path)
        verdicts = await asyncio.gather(*waiting)
        assert [v.summary for v in verdicts] == [Candidate(source=s).digest[:8] for s in (*sources[:2], sources[0])]
        assert (await measured).device == "far away"
    assert len(said) == 1
    assert "bringup jobs run jobs-0001.jsonl" in said[0]


async def test_what_was_asked_before_is_not_asked_again(tmp_path: Path) -> None:
    async with judge(tmp_path) as far:
        task = asyncio.create_task(far.judge(job()))
        await until(tmp_path / "jobs-0001.jsonl")
        task.cancel()  # the process ends here
    said: list[str] = []
    async with judge(tmp_path, said) as again:
        task = asyncio.create_task(again.judge(job()))  # with a seed of its own
        while not said:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.01)
        assert again.exchange.files() == [tmp_path / "jobs-0001.jsonl"]
        answer(tmp_path)
        assert (await task).passed
    async with judge(tmp_path) as later:
        assert (await later.judge(job())).passed  # at once: nobody answers any more
        other = asyncio.create_task(later.judge(job(DOUBLE + "\n")))
        await until(tmp_path / "jobs-0002.jsonl")
        other.cancel()


async def test_a_refusal_is_one_here_too(tmp_path: Path) -> None:
    async with judge(tmp_path) as far:
        task = asyncio.create_task(far.judge(job()))
        await until(tmp_path / "jobs-0001.jsonl")
        answer(tmp_path, refuse="the suite is another here")
        with pytest.raises(JobRefused, match="refused where the device is: the suite is another here"):
            await task
        # judged later with --any-suite: a verdict counts more than the refusal
        answer(tmp_path)
        assert (await far.judge(job())).passed


async def test_answers_that_make_no_sense_are_named(tmp_path: Path) -> None:
    async with judge(tmp_path) as far:
        task = asyncio.create_task(far.judge(job()))
        await until(tmp_path / "jobs-0001.jsonl")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        write_jobs(elsewhere / "jobs-0001.jsonl", [job(DOUBLE + "\n")])
        answer(elsewhere)
        (elsewhere / "jobs-0001.jsonl.verdicts").rename(tmp_path / "jobs-0001.jsonl.verdicts")
        with pytest.raises(FormatError, match="which was never exported to"):
            await task


async def test_times_that_were_asked_for_must_be_there(tmp_path: Path) -> None:
    asked = MeasureJob(judge=job())
    async with judge(tmp_path) as far:
        task = asyncio.create_task(far.measure(asked))
        await until(tmp_path / "jobs-0001.jsonl")
        [one] = read_jobs(tmp_path / "jobs-0001.jsonl")
        verdict = Verdict(kind="passed", summary="")
        entry = JobVerdict(job=one.digest, operator="double", candidate="c", verdict=verdict)
        VerdictFile.open(tmp_path / "jobs-0001.jsonl.verdicts").add(entry)
        with pytest.raises(JobRefused, match="has no times"):
            await task


async def test_what_does_not_travel_is_refused(tmp_path: Path) -> None:
    async with judge(tmp_path) as far:
        with pytest.raises(JobRefused, match="tapes do not travel"):
            await far.judge(job(), tapes="here")
        with pytest.raises(JudgeFault, match="tapes do not travel"):
            await far.replay(ReplayJob(tape="x"))
        other = job().model_copy(update={"target": TEMPLATE.target.model_copy(update={"profile": "{}"})})
        with pytest.raises(JobRefused, match="was given to a judge of"):
            await far.judge(other)


def test_the_folder_is_part_of_the_configuration(tmp_path: Path) -> None:
    assert isinstance(open_judge("vpe:pe64", JudgeConfig(executor=f"file:{tmp_path / 'there'}")), FileJudge)
    with pytest.raises(ConfigError, match="write file:FOLDER"):
        open_judge("vpe:pe64", JudgeConfig(executor="file"))


def test_several_processes_write_into_one_folder(tmp_path: Path) -> None:
    one, other = Exchange(tmp_path), Exchange(tmp_path)
    assert one.add([job()]) == tmp_path / "jobs-0001.jsonl"
    assert other.add([job(DOUBLE + "\n"), job()]) == tmp_path / "jobs-0002.jsonl"
    assert len(read_jobs(tmp_path / "jobs-0002.jsonl")) == 1  # what one has asked the other does not ask
    assert one.add([job(DOUBLE + "\n")]) is None
    assert [path.name for path in one.waiting()] == ["jobs-0001.jsonl", "jobs-0002.jsonl"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_file_of_the_folder_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    write_jobs(tmp_path / "jobs-0001.jsonl", [job()])
    whole = (tmp_path / "jobs-0001.jsonl").read_text()
    (tmp_path / "jobs-0001.jsonl").write_text(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match="breaks off"):
        Exchange(tmp_path)


def test_a_verdict_that_was_changed_by_hand_is_refused(tmp_path: Path) -> None:
    write_jobs(tmp_path / "jobs-0001.jsonl", [job()])
    answer(tmp_path)
    file = tmp_path / "jobs-0001.jsonl.verdicts"
    good = file.read_text()
    assert len(read_answers(file)) == 1
    for bad in (
        good.replace('"passed"', '"wrong"'),
        good.replace('{"check":"', '{"check":"0'),
        good.replace("check", "c"),
    ):
        file.write_text(bad)
        with pytest.raises(FormatError, match="line 2: it was changed after it was written"):
            read_answers(file)
    file.write_text(good.replace('"version": 2', '"version": 1'))
    with pytest.raises(FormatError, match=r"version 1 \(of bringup"):
        read_answers(file)


# Commands ----------------------------------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(build_app(), ["jobs", *map(str, arguments)])
    return result.exit_code, result.stdout, result.exception


@pytest.mark.long
@pytest.mark.slow
def test_a_job_goes_there_and_its_times_come_back(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    there.mkdir()
    (tmp_path / "double.py").write_text(DOUBLE)
    (tmp_path / "slow.py").write_text(DOUBLE.replace("BLOCK=16", "BLOCK=8").replace("n, 16", "n, 8"))
    asked = ("--suite", "tiny", "--dtype", "float32", "--measure", "--case", 0, "--case", 4)
    code, output, error = run(
        "export", tmp_path / "double.py", *asked, "--against", tmp_path / "slow.py", "--out", here / "jobs-0001.jsonl"
    )
    assert code == 0, error
    (there / "jobs.jsonl").write_bytes((here / "jobs-0001.jsonl").read_bytes())
    code, output, error = run("run", there / "jobs.jsonl", "--json")
    assert code == 0, error
    [row] = json.loads(output)["jobs"]
    assert (row["kind"], row["verdict"]) == ("measure", "passed")
    assert "2 cases timed" in row["summary"]
    code, output, error = run("import", there / "jobs.jsonl.verdicts", here, "--json")
    assert code == 0, error
    assert json.loads(output) == {"taken": 1, "waiting": []}
    [known] = Exchange(here).answers.values()
    assert known.measured is not None
    assert [set(case.baselines) for case in known.measured.cases] == [{"slow"}] * 2


def test_a_folder_of_job_files_is_judged_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "jobs"
    for number, source in enumerate((DOUBLE, DOUBLE + "\n"), 1):
        write_jobs(folder / f"jobs-{number:04d}.jsonl", [job(source)])
    asked: list[str] = []

    class Agreeing:
        def __init__(self, **options: Any) -> None: ...

        async def judge(self, one: JudgeJob, progress: Any = None, *, tapes: Any = None) -> Verdict:
            asked.append(one.candidate.digest)
            return Verdict(kind="passed", summary="agreed", cases_total=1)

        async def close(self) -> None: ...

        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *exc: object) -> None: ...

    monkeypatch.setitem(executors._factories, "agreeing", Agreeing)
    code, output, error = run("run", folder, "--executor", "agreeing", "--json")
    assert code == 0, error
    assert [Path(path).name for path in json.loads(output)["verdicts"]] == [
        "jobs-0001.jsonl.verdicts", "jobs-0002.jsonl.verdicts"
    ]  # fmt: skip
    assert len(asked) == 2
    code, _, error = run("run", folder, "--executor", "agreeing")
    assert code == 0, error
    assert len(asked) == 2  # each file has its verdict
    code, output, error = run("import", *sorted(folder.glob("*.verdicts")), folder, "--json")
    assert code == 0, error
    assert json.loads(output)["waiting"] == []
    _, _, error = run("run", folder, "--out", tmp_path / "one.verdicts")
    assert isinstance(error, ConfigError)
    assert "2 job files" in str(error)
    (tmp_path / "empty").mkdir()
    _, _, error = run("run", tmp_path / "empty")
    assert isinstance(error, FormatError)


def test_the_device_may_be_elsewhere() -> None:
    target = "hip:gfx942"  # of which no machine has an engine
    assert "cannot run here" in (unavailable(target) or "")
    assert unavailable(target, JudgeConfig(executor="file:jobs")) is None


def test_verdicts_for_other_jobs_are_not_imported(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    write_jobs(here / "jobs-0001.jsonl", [job()])
    write_jobs(there / "jobs-0001.jsonl", [job(DOUBLE + "\n")])
    answer(there)
    _, _, error = run("import", there / "jobs-0001.jsonl.verdicts", here)
    assert isinstance(error, FormatError)
    assert "which was never exported to" in str(error)
    assert [path.name for path in here.iterdir()] == ["jobs-0001.jsonl"]
    _, _, error = run("import", tmp_path / "nothing", here)
    assert isinstance(error, FormatError)


def test_what_is_timed_is_said_with_measure(tmp_path: Path) -> None:
    (tmp_path / "double.py").write_text(DOUBLE)
    _, _, error = run(
        "export", tmp_path / "double.py", "--suite", "tiny", "--case", 1, "--out", tmp_path / "jobs.jsonl"
    )
    assert isinstance(error, ConfigError)
    assert "add --measure" in str(error)
