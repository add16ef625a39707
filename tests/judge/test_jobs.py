"""Jobs: what one holds, files of them, and judging one where nothing is shared with the process that made it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bringup_testkit import DOUBLE
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.config import JudgeConfig, suite_with
from bringup.errors import BringupError, ConfigError, EnvironmentFault, FormatError, UnknownName
from bringup.judge import (
    JobRefused,
    JobTemplate,
    Judge,
    JudgeJob,
    Progress,
    Replayed,
    ReplayJob,
    TargetRef,
    executors,
    open_judge,
    usual_jobs,
)
from bringup.judge._contents import local_operator, local_target, suite_ref, target_ref
from bringup.judge.guards import IDS
from bringup.judge.job_file import JobVerdict, VerdictFile, read_jobs, read_verdicts, write_jobs
from bringup.suites import get_suite
from bringup.targets import get_target
from bringup.verdict import Verdict

CANDIDATE = Candidate(source=DOUBLE)
ADDED = """\
format: 1
additions:
  neg:
    int32:
      - {key: empty/0x3/0, seed: 0, reason: mine}
"""


def job(operator: str = "double", **options: object) -> JudgeJob:
    template = JobTemplate("vpe:pe64")
    return template.job(CANDIDATE, get_suite("conformance").operator(operator), **options)  # type: ignore[arg-type]


# What a job holds ----------------------------------------------------------------------------------------------


def test_a_job_is_the_same_after_a_journey_as_text() -> None:
    one = job(cases={"float32": (0, 2), "int64": None}, without_guards=["fresh"], keep_going=True)
    again = JudgeJob.model_validate_json(one.model_dump_json())
    assert again == one
    assert again.digest == one.digest
    assert [one.takes("float32", index) for index in (0, 1, 2)] == [True, False, True]
    assert (one.takes("int64", 7), one.takes("int32", 0)) == (True, False)
    assert "fresh" not in one.guards


def test_jobs_that_differ_in_anything_have_different_names() -> None:
    fixed = {"fresh_seed": 3}
    made = [
        job(**fixed),
        job(fresh_seed=4),
        job(seed=1, **fixed),
        job(dtypes=["int32"], **fixed),
        job(cases=[0], **fixed),
        job(keep_going=True, **fixed),
        job(failures=2, **fixed),
        job(profile=True, **fixed),
        job(without_guards=["repeat"], **fixed),
        job(limits=JudgeConfig(case_seconds=1).limits, **fixed),
        job("add_one_", **fixed),
    ]
    assert len({one.digest for one in made}) == len(made)
    assert job(**fixed).digest == made[0].digest


def test_one_question_has_one_name_whatever_dtypes_are_named_beside_the_operators() -> None:
    operator = get_suite("opinfo").operator("nn.functional.gelu")  # of floats alone
    assert "int64" not in operator.dtypes
    template = JobTemplate("vpe:pe64")
    every = template.job(CANDIDATE, operator, dtypes=operator.dtypes, fresh_seed=3)
    more = template.job(CANDIDATE, operator, dtypes=["int64", *reversed(operator.dtypes)], fresh_seed=3)
    assert every == more
    assert every.digest == more.digest
    assert template.job(CANDIDATE, operator, dtypes=["int64"], fresh_seed=3).cases == {}


def test_the_other_seed_is_drawn_for_each_job_and_never_that_of_the_cases() -> None:
    assert len({job().fresh_seed for _ in range(8)}) == 8
    assert job(seed=5, fresh_seed=5).fresh_seed == 6


def test_what_another_version_may_know_is_refused() -> None:
    data = json.loads(job().model_dump_json())
    for change in (
        {"version": 2},
        {"guards": [*IDS, "of-tomorrow"]},
        {"compile_for": ["cuda"]},
        {"something": 1},
        {"fresh_seed": -1},
    ):
        with pytest.raises(ValidationError):
            JudgeJob.model_validate({**data, **change})


# Contents --------------------------------------------------------------------------------------------------------


def test_a_profile_counts_by_its_content_wherever_it_lies(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("extends: pe64\nname: mine\n")
    one = target_ref(f"vpe:{mine}")
    (tmp_path / "elsewhere.yaml").write_text("extends: pe64\nname: mine\n")
    assert one.same_as(target_ref(f"vpe:{tmp_path}/elsewhere.yaml"))
    assert not one.same_as(target_ref("vpe:pe64"))
    assert target_ref("vpe").same_as(target_ref("vpe:pe64"))
    mine.write_text("name: [")  # whatever becomes of the file
    found = get_target(local_target(one, tmp_path))
    assert found.profile_text() == one.profile
    assert found.facts()["name"] == "mine"
    assert local_target(target_ref("vpe:pe64"), tmp_path) == "vpe:pe64"


def test_a_shipped_name_means_the_profile_of_the_job_not_that_of_this_version(tmp_path: Path) -> None:
    known = target_ref("vpe:pe64")
    old = known.model_copy(update={"profile": known.profile.replace("8x8 PEs", "8x8 elements of old")})
    assert old != known
    assert get_target(local_target(old, tmp_path)).profile_text() == old.profile


def test_bad_targets_of_jobs(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown target 'npu'"):
        local_target(TargetRef(name="npu:big", profile="{}"), tmp_path)
    with pytest.raises(JobRefused, match="cannot read the job's profile"):
        local_target(TargetRef(name="vpe:big", profile='{"name": "big"}'), tmp_path)
    with pytest.raises(ConfigError, match="no profile is named"):
        local_target(TargetRef(name="vpe:big"), tmp_path)


def test_a_suites_additions_travel_with_the_job(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(ADDED)
    operator = get_suite(suite_with("opinfo", str(mine))).operator("neg")
    ref = suite_ref(operator.suite)
    assert (ref.name, ref.additions) == ("opinfo", ADDED)
    mine.unlink()
    there = tmp_path / "there"
    there.mkdir()
    here = local_operator(operator, ref, there)
    assert get_suite(here.suite).operator("neg").case_counts == operator.case_counts
    assert ref.digest != suite_ref("opinfo").digest


def test_other_cases_than_the_jobs_are_refused(tmp_path: Path) -> None:
    operator = get_suite("opinfo:alone").operator("neg")
    ref = suite_ref(operator.suite)
    assert local_operator(operator, ref, tmp_path) == operator
    stale = ref.model_copy(update={"digest": "0" * 64})
    with pytest.raises(JobRefused, match="operator neg: the suite opinfo:alone is another here"):
        local_operator(operator, stale, tmp_path)
    assert local_operator(operator, ref.model_copy(update={"digest": ""}), tmp_path) == operator
    with pytest.raises(UnknownName, match="unknown suite 'gone'"):
        local_operator(operator, ref.model_copy(update={"name": "gone"}), tmp_path)


# The door ----------------------------------------------------------------------------------------------------------


class Agreeing:
    """An executor of a plug-in: passes everything."""

    def __init__(self, target: TargetRef, *, jobs: int, kernel_cache: str) -> None:
        self.target, self.jobs = target, jobs

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        if job.operator.name == "flip_view":
            raise JobRefused("not that one")
        return Verdict(kind="passed", summary=f"{job.operator.name} on {self.target.name}", cases_total=1)

    async def replay(self, job: ReplayJob) -> Replayed:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    async def __aenter__(self) -> Agreeing:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


@pytest.fixture
def agreeing() -> str:
    executors.register("agreeing")(Agreeing)
    return "agreeing"


async def test_executors_make_judges(agreeing: str) -> None:
    judge: Judge = open_judge("vpe:pe64", JudgeConfig(executor=agreeing), jobs=3)
    assert isinstance(judge, Agreeing)
    assert judge.jobs == 3
    assert (await judge.judge(job())).summary == "double on vpe:pe64"
    with pytest.raises(UnknownName, match="unknown executor 'agreed'; did you mean agreeing"):
        open_judge("vpe:pe64", JudgeConfig(executor="agreed"))


def test_workers_suit_the_machine_where_nobody_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"SC_PHYS_PAGES": 16 << 18, "SC_PAGE_SIZE": 4096}  # 16 GiB
    monkeypatch.setattr(os, "sysconf", memory.__getitem__)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(2)))
    assert usual_jobs("vpe:pe64") == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)))
    assert usual_jobs("vpe:pe64") == 5
    assert usual_jobs("cuda") == 2
    memory["SC_PHYS_PAGES"] = 1 << 18
    assert usual_jobs("vpe:pe64") == 1
    with pytest.raises(UnknownName):
        usual_jobs("vpa")


async def test_a_judge_refuses_a_job_for_another_target() -> None:
    async with open_judge("vpe:permissive") as judge:
        with pytest.raises(JobRefused, match="a job for target vpe:pe64 was given to a judge of vpe:permissive"):
            await judge.judge(job())


# Files -------------------------------------------------------------------------------------------------------------


def test_a_file_gives_back_the_jobs_that_it_was_given(tmp_path: Path) -> None:
    jobs = [job(), job("row_sum", dtypes=["int64"])]
    write_jobs(tmp_path / "deep" / "jobs.jsonl", jobs)
    assert read_jobs(tmp_path / "deep" / "jobs.jsonl") == jobs
    write_jobs(tmp_path / "none.jsonl", [])
    assert read_jobs(tmp_path / "none.jsonl") == []
    with pytest.raises(EnvironmentFault, match="cannot be written"):
        write_jobs(tmp_path / "none.jsonl" / "below", jobs)


@given(st.data())
def test_a_file_that_is_not_whole_or_was_changed_is_never_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    file = tmp_path_factory.getbasetemp() / "jobs.jsonl"
    if not file.exists():
        write_jobs(file, [job(fresh_seed=1), job("row_sum", fresh_seed=2)])
    whole = file.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 2))
    cut = data.draw(st.booleans())
    changed = whole[:place] if cut else whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    if whole[place:].strip() == b"":
        return
    other = file.with_name("changed.jsonl")
    other.write_bytes(changed)
    with pytest.raises(FormatError, match=r"changed\.jsonl: "):
        read_jobs(other)


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    file = tmp_path / "jobs.jsonl"
    write_jobs(file, [job(), job()])
    whole = file.read_text()
    lines = whole.splitlines(keepends=True)
    for text, words in (
        ("", "not a file of jobs; `bringup jobs export` writes one"),
        ('{"operator": "exp"}\n', "not a file of jobs"),
        (whole.replace('"version": 1', '"version": 7', 1), "version 7 (of bringup"),
        ("".join(lines[:2]), "it breaks off after 0 jobs"),
        ("".join(lines[:3]), "it breaks off after 1 jobs"),
        (whole.replace("kernel_double", "kernel_other"), "it was changed after it was written"),
        ("".join([lines[0], lines[1], lines[3]]), "it was changed after it was written"),
    ):
        file.write_text(text)
        with pytest.raises(FormatError) as caught:
            read_jobs(file)
        assert words in str(caught.value)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_jobs(tmp_path / "nothing.jsonl")


def test_verdicts_are_kept_and_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "verdicts"
    entries = [
        JobVerdict(job=str(n), operator="exp", candidate="c", verdict=Verdict(kind="passed", summary=f"{n}"))
        for n in range(3)
    ]
    file = VerdictFile.open(path)
    file.add(entries[0])
    file.add(entries[1])
    with path.open("a") as torn:
        torn.write(entries[2].model_dump_json()[:40])  # killed here
    again = VerdictFile.open(path)
    assert list(again.by_job) == ["0", "1"]
    again.add(entries[2])
    assert read_verdicts(path) == entries
    path.write_text("notes\n")
    with pytest.raises(FormatError, match="not a file of verdicts"):
        VerdictFile.open(path)


# Commands ----------------------------------------------------------------------------------------------------------


def run(*arguments: object) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(build_app(), ["jobs", *map(str, arguments)])
    return result.exit_code, result.stdout, result.exception


def test_jobs_are_judged_once_and_those_that_cannot_be_are_named(tmp_path: Path, agreeing: str) -> None:
    for name in ("double", "flip_view"):
        (tmp_path / f"{name}.py").write_text(DOUBLE)
    file = tmp_path / "jobs.jsonl"
    code, output, _ = run("export", tmp_path, "--suite", "conformance", "--out", file)
    assert (code, output.partition(" in ")[0]) == (0, "2 jobs")
    code, output, _ = run("show", file, "--json")
    assert [row["operator"] for row in json.loads(output)] == ["double", "flip_view"]
    code, output, _ = run("run", file, "--executor", agreeing, "--json")
    rows = {row["operator"]: row for row in json.loads(output)["jobs"]}
    assert code == 2
    assert rows["double"]["verdict"] == "passed"
    assert (rows["flip_view"]["verdict"], rows["flip_view"]["summary"]) == ("refused", "not that one")
    [kept] = read_verdicts(tmp_path / "jobs.jsonl.verdicts")
    assert (kept.operator, kept.candidate) == ("double", CANDIDATE.digest)
    run("run", file, "--executor", agreeing)
    assert len(read_verdicts(tmp_path / "jobs.jsonl.verdicts")) == 1
    code, _, error = run("run", file, "--executor", "nobody")
    assert isinstance(error, UnknownName)


def test_bad_input_to_export(tmp_path: Path) -> None:
    (tmp_path / "nothing_of_the_kind.py").write_text(DOUBLE)
    out = ("--suite", "conformance", "--out", tmp_path / "jobs.jsonl")
    for arguments, words in (
        ((tmp_path / "nothing_of_the_kind.py",), "unknown operator 'nothing_of_the_kind'"),
        ((tmp_path / "gone" / "double.py",), "cannot be read"),
        ((tmp_path, "--ops", "double"), "no candidate of these operators"),
        ((tmp_path, "--target", "vqe"), "unknown target 'vqe'"),
        ((tmp_path, "--dtype", "float8"), "not a dtype of the suite"),
    ):
        code, _, error = run("export", *arguments, *out)
        assert code != 0
        assert isinstance(error, BringupError)
        assert words in str(error)
        assert not (tmp_path / "jobs.jsonl").exists()


@pytest.mark.long
def test_a_job_is_judged_by_a_process_that_shares_nothing_with_the_one_that_made_it(tmp_path: Path) -> None:
    """Neither folder nor home nor environment; the profile and the additions are gone when it is judged."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / "home").mkdir(parents=True)
        (folder / "tmp").mkdir()
    (here / "chip.yaml").write_text("extends: permissive\nname: mine\n")
    (here / "mine.yaml").write_text(ADDED)
    (here / "neg.py").write_text(
        DOUBLE.replace("v + v", "-v").replace(
            "def wrapper(input):", "def wrapper(input):\n    input = input.contiguous()"
        )
    )

    def bringup(folder: Path, *arguments: str) -> tuple[int, str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        command = [sys.executable, "-m", "bringup.cli.main", "jobs", *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    suite = suite_with("opinfo", str(here / "mine.yaml"))
    options = ("--suite", suite, "--target", "vpe:chip.yaml", "--dtype", "int32", "--keep-going")
    code, output = bringup(here, "export", "neg.py", *options, "--out", str(there / "jobs.jsonl"))
    assert code == 0, output
    [made] = read_jobs(there / "jobs.jsonl")
    for file in here.rglob("*"):
        if file.is_file():
            file.unlink()
    code, output = bringup(there, "run", "jobs.jsonl", "--json")
    [row] = json.loads(output)["jobs"]
    [kept] = read_verdicts(there / "jobs.jsonl.verdicts")
    assert row["job"] == kept.job == made.digest
    # `out=` is none of this kernel's business, and the case that was added is among the 3 of the gate
    assert (kept.verdict.cases_total, kept.verdict.kind) == (made.operator.case_counts["int32"], "passed"), output
    assert kept.verdict.environment.target == f"vpe:{here}/chip.yaml"
    assert code == 0
