"""Auditing candidates: what is judged, kept, taken up again, reported and published. The judge is a double here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from bringup.audit import (
    AuditRecord,
    Options,
    Subject,
    audit,
    load_all,
    of_file,
    of_kernels,
    of_library,
    of_recordings,
    publish,
    totals_of,
)
from bringup.audit import work as work_module
from bringup.audit.publish import default_path, spread
from bringup.audit.records import family_of_result, load
from bringup.candidate import Candidate
from bringup.cli.main import build_app
from bringup.clients import Call, Message, Reply, Usage
from bringup.clients.recording import Manifest, Recording, write_recordings
from bringup.config import JudgeConfig
from bringup.errors import BringupError, ConfigError, StoreError
from bringup.judge import JudgeFault, JudgeJob, Progress, Replayed, ReplayJob
from bringup.operators import DTYPES
from bringup.suites import get_suite, read_additions
from bringup.verdict import NO_CASE, CaseId, CaseResult, Mismatch, Verdict

SOURCE = "def wrapper(x):\n    return x\n"
OPTIONS = Options(lints=False, jobs=2)


def failing(operator: str, *titles: str, dtype: str = "float32") -> tuple[CaseResult, ...]:
    return tuple(
        CaseResult(case=CaseId(operator=operator, dtype=dtype, index=i), kind="wrong", summary=f"bad {i}", title=title)
        for i, title in enumerate(titles)
    )


class Judge:
    """Passes everything but the cases of `bad` (operator -> titles of failing audit cases) and the gates in `gates`."""

    def __init__(self, bad: dict[str, tuple[str, ...]] | None = None, gates: Iterable[str] = ()) -> None:
        self.bad = bad or {}
        self.gates = set(gates)
        self.asked: list[tuple[str, str, Any]] = []

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        operator = job.operator
        [cases] = set(job.cases.values())
        self.asked.append((operator.suite, operator.name, cases))
        await asyncio.sleep(0)
        if progress is not None:
            progress("case", "passed")
        if operator.suite == "opinfo":
            kind = "wrong" if operator.name in self.gates else "passed"
            return Verdict(kind=kind, summary=f"gate {kind}", cases_total=5)
        results = failing(operator.name, *self.bad.get(operator.name, ()))
        results = tuple(r for r in results if job.takes(r.case.dtype, r.case.index))
        skipped = {"skipped": {"the wrapper has no parameter out": 3}}
        if not results:
            return Verdict(kind="passed", summary="all", cases_total=50, environment=skipped)
        return Verdict(
            kind="wrong",
            summary=results[0].summary,
            case=results[0].case,
            call=f"wrapper({results[0].case.index})",
            mismatch=Mismatch(aspect="values", output="output", message="m"),
            failures=results if job.report.keep_going else (),
            cases_total=50,
            environment=skipped,
        )

    async def replay(self, job: ReplayJob) -> Replayed:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


def subject(operator: str, source: str = SOURCE, covered: bool | None = None) -> Subject:
    return Subject(operator, Candidate(source=source), "somewhere", covered)


BAD = {"abs": ("layout: transposed", "layout: strided", "sizes: 127", "values: zeros")}


async def test_trusted_needs_the_gate_and_every_case_of_the_audit(tmp_path: Path) -> None:
    judge = Judge(BAD, gates={"exp"})
    subjects = [subject("abs"), subject("exp"), subject("sin")]
    records = await audit(subjects, OPTIONS, tmp_path / "a", judge=judge)
    assert {name: record.standing for name, record in records.items()} == {
        "abs": "failed",
        "exp": "not covered",
        "sin": "trusted",
    }
    assert [name for name, record in records.items() if record.trusted] == ["sin"]
    assert records["abs"].families == {"layout": 2, "sizes": 1, "values": 1}
    assert records["sin"].skipped == {"the wrapper has no parameter out": 3}
    totals = totals_of(records.values())
    assert totals.standings == {"trusted": 1, "failed": 1, "not covered": 1}
    assert totals.cases_failed == 4
    assert totals.operators_by_family["layout"] == 1
    assert totals.skipped == {"the wrapper has no parameter out": 9}


async def test_each_failing_family_is_shown_in_full_once() -> None:
    judge = Judge(BAD)
    [record] = (await audit([subject("abs")], OPTIONS, None, judge=judge)).values()
    assert [(e.family, e.verdict.call) for e in record.examples] == [
        ("layout", "wrapper(0)"),
        ("sizes", "wrapper(2)"),
        ("values", "wrapper(3)"),
    ]
    # the first failure is in the audit's own verdict already: two cases were judged again, alone
    assert [cases for suite, _, cases in judge.asked if suite == "audit" and cases] == [(2,), (3,)]


async def test_what_is_stored_is_not_judged_again_until_something_changes(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    await audit([subject("abs"), subject("sin")], OPTIONS, folder, judge=Judge(BAD))
    assert {path.name for path in folder.iterdir()} == {"abs.json", "abs.py", "sin.json", "sin.py"}
    assert (folder / "abs.py").read_text() == SOURCE
    idle = Judge()
    records = await audit([subject("abs"), subject("sin")], OPTIONS, folder, judge=idle)
    assert not idle.asked
    assert records["abs"].standing == "failed"
    fresh = Judge()
    changed = [subject("abs", SOURCE + "\n# repaired\n"), subject("sin")]
    records = await audit(changed, OPTIONS, folder, judge=fresh)
    assert {name for _, name, _ in fresh.asked} == {"abs"}
    assert records["abs"].trusted
    again = Judge()
    await audit([subject("sin")], OPTIONS, folder, judge=again, again=True)
    assert again.asked
    other = Judge()
    await audit([subject("sin")], Options(lints=False, seed=1), folder, judge=other)
    assert other.asked
    (folder / "sin.json").write_text("{")
    with pytest.raises(StoreError, match=r"sin.json: not a record"):
        load(folder / "sin.json")
    broken = Judge()
    await audit([subject("sin")], OPTIONS, folder, judge=broken)
    assert broken.asked


async def test_an_error_keeps_what_was_finished(tmp_path: Path) -> None:
    class Breaking(Judge):
        async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
            if job.operator.name == "sin":
                raise ConfigError("judge", "broke")
            return await super().judge(job, progress, tapes=tapes)

    with pytest.raises(ConfigError, match="broke"):
        await audit([subject("abs"), subject("sin")], Options(lints=False, jobs=1), tmp_path, judge=Breaking())
    assert load_all(tmp_path).keys() == {"abs"}


class Faulty(Judge):
    """Fails on its own account on the operators of `faults`, as the pool does."""

    def __init__(self, *faults: str) -> None:
        super().__init__()
        self.faults = faults

    async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
        if job.operator.name in self.faults:
            raise JudgeFault("the judge failed on an internal error:\nTraceback ...\nKeyError: 'x'")
        return await super().judge(job, progress, tapes=tapes)


async def test_a_fault_of_the_judge_is_its_operators_alone_and_not_kept(tmp_path: Path) -> None:
    subjects = [subject("abs"), subject("sin", covered=True), subject("exp")]
    records = await audit(subjects, Options(lints=False, jobs=1), tmp_path, judge=Faulty("sin"))
    assert {name: record.standing for name, record in records.items()} == {
        "abs": "trusted",
        "sin": "not judged",
        "exp": "trusted",
    }
    assert "KeyError: 'x'" in records["sin"].fault
    assert totals_of(records.values()).standings == {"trusted": 2, "not judged": 1}
    assert load_all(tmp_path).keys() == {"abs", "exp"}
    assert not (tmp_path / "sin.py").exists()
    whole = Judge()
    records = await audit(subjects, OPTIONS, tmp_path, judge=whole)
    assert {name for _, name, _ in whole.asked} == {"sin"}
    assert records["sin"].trusted


async def test_a_lost_process_is_no_word_about_the_candidate(tmp_path: Path) -> None:
    class Losing(Judge):
        async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
            if job.operator.name == "sin":
                return Verdict(kind="untested", summary="the judge's process was lost: killed")
            return await super().judge(job, progress, tapes=tapes)

    subjects = [subject("abs"), subject("sin")]
    records = await audit(subjects, Options(lints=False, jobs=1), tmp_path, judge=Losing())
    assert records["sin"].standing == "not judged"
    assert records["sin"].fault == "the judge's process was lost: killed"
    assert load_all(tmp_path).keys() == {"abs"}  # the next call judges it again


async def test_an_audit_without_cases_is_no_fault_of_the_judge(tmp_path: Path) -> None:
    class Caseless(Judge):
        async def judge(self, job: JudgeJob, progress: Progress | None = None, *, tapes: str | None = None) -> Verdict:
            verdict = await super().judge(job, progress, tapes=tapes)
            if job.operator.name != "sin" or job.operator.suite != "audit":
                return verdict
            return Verdict(kind="untested", summary=NO_CASE)

    records = await audit([subject("abs"), subject("sin")], Options(lints=False, jobs=1), tmp_path, judge=Caseless())
    assert {name: record.standing for name, record in records.items()} == {"abs": "trusted", "sin": "no audit"}
    assert not records["sin"].fault
    assert load_all(tmp_path).keys() == {"abs", "sin"}
    refused = records["sin"].model_copy(update={"covered": False})
    assert refused.standing == "not covered"


async def test_a_judge_that_fails_on_everything_ends_the_audit(tmp_path: Path) -> None:
    names = ["abs", "sin", "exp", "cos", "tan"]
    options = Options(lints=False, jobs=1)
    with pytest.raises(JudgeFault, match="internal error"):
        await audit([subject(name) for name in names], options, None, judge=Faulty(*names))
    # one verdict shows that it works: then every fault is an operator's
    records = await audit([subject(name) for name in names], options, None, judge=Faulty(*names[1:]))
    assert [record.standing for record in records.values()] == ["trusted", *["not judged"] * 4]


async def test_without_its_gate_a_candidate_is_trusted_only_on_its_runs_word() -> None:
    options = Options(lints=False, gate=False)
    judge = Judge()
    records = await audit([subject("abs"), subject("sin", covered=True)], options, None, judge=judge)
    assert records["abs"].standing == "gate not judged"
    assert records["sin"].standing == "trusted"
    assert {suite for suite, _, _ in judge.asked} == {"audit"}


async def test_the_linter_comes_first() -> None:
    judge = Judge()
    [record] = (await audit([subject("abs")], Options(), None, judge=judge)).values()
    assert record.standing == "not covered"
    assert record.gate is not None
    assert record.gate.kind == "lint"
    assert not judge.asked


def test_candidates_of_files_folders_and_recordings(tmp_path: Path) -> None:
    (tmp_path / "abs.py").write_text(SOURCE)
    (tmp_path / "helper.py").write_text(SOURCE)
    known = [operator.name for operator in get_suite("opinfo").operators()]
    found = of_library(tmp_path, known)
    assert [s.operator for s in found.subjects] == ["abs"]
    assert "helper" in found.left_out
    assert of_file("abs", tmp_path / "abs.py").subjects[0].candidate.source == SOURCE
    with pytest.raises(ConfigError, match="no candidate"):
        of_library(tmp_path, ["sin"])
    with pytest.raises(ConfigError, match="no folder"):
        of_library(tmp_path / "none", known)


def test_the_kernels_of_a_library_are_audited_as_overloads() -> None:
    shipped = Path(__file__).parents[2] / "kernels"
    found = of_kernels(shipped)
    assert found.suite == "aten"
    assert found.target == "vpe:pe64"
    assert {"add.out", "mm.out"} <= {subject.operator for subject in found.subjects}
    assert all("def wrapper" in subject.candidate.source for subject in found.subjects)


def test_published_cases_go_to_the_file_of_their_suite() -> None:
    def of(suite: str) -> AuditRecord:
        return record("abs", (), suite)

    assert default_path([of("aten")]) == Path("aten-additions.yaml")
    assert default_path([of("aten:mine.yaml"), of("aten")]) == Path("mine.yaml")
    with pytest.raises(BringupError, match="for one suite"):
        default_path([of("aten"), of("opinfo")])
    with pytest.raises(BringupError, match="captured"):
        default_path([of("captured:calls.json")])


def test_the_last_candidate_of_a_dialog_counts(tmp_path: Path) -> None:
    def reply(turn: int, text: str, operator: str = "abs") -> Recording:
        call = Call(run="r", operator=operator, attempt=1, turn=turn)
        return Recording.of(call, [Message(role="user", content="p")], Reply(text=text, usage=Usage(), model="m"))

    first, last = "def wrapper(x):\n    return 1\n", "def wrapper(x):\n    return 2\n"
    records = [reply(1, f"```python\n{first}```"), reply(2, f"```python\n{last}```"), reply(1, "no", "sin")]
    write_recordings(tmp_path, records, Manifest(target="vpe:pe64", date="2026-01-01"))
    found = of_recordings(str(tmp_path))
    assert [(s.operator, s.candidate.source) for s in found.subjects] == [("abs", last)]
    assert found.target == "vpe:pe64"
    assert found.left_out == {"sin": "no reply holds a candidate"}
    found = of_recordings(str(tmp_path), ["cos"])  # as under another PyTorch
    assert found.subjects == ()
    assert found.left_out["abs"] == "no operator of the suite has this name"


def record(operator: str, results: tuple[CaseResult, ...], suite: str = "opinfo") -> AuditRecord:
    basis = work_module._Auditor(Options()).basis(subject(operator)).model_copy(update={"suite": suite})
    verdict = Verdict(kind="wrong", summary="bad", failures=results) if results else Verdict(kind="passed", summary="")
    return AuditRecord(operator=operator, origin="run r1", basis=basis, covered=True, audit=verdict)


def test_published_cases_spread_over_families_and_dtypes() -> None:
    results = [
        result
        for dtype in DTYPES
        for result in failing("abs", "layout: a", "layout: b", "sizes: 1", "values: z", dtype=dtype)
    ]
    chosen = spread(results, 6)
    assert [family_of_result(r) for r in chosen] == ["layout", "sizes", "values"]
    assert len({r.case.dtype for r in chosen}) == 3
    assert len(spread(results, 2)) == 2


@pytest.mark.long
def test_publishing_writes_the_keys_of_real_audit_cases(tmp_path: Path) -> None:
    path = tmp_path / "more.yaml"
    cases = get_suite("audit").materialise("abs", "int32")
    results = tuple(
        CaseResult(case=cases[index].case, kind="wrong", summary="bad", title=cases[index].title)
        for index in (0, len(cases) - 1)
    )
    made = publish([record("abs", results), record("sin", ())], path)
    written = read_additions(path)
    keys = {case.key for case in written.of("abs", "int32")}
    assert keys == {cases[0].notes["key"], cases[-1].notes["key"]}
    assert made.cases == {"abs": tuple(f"int32 {case.key}" for case in written.of("abs", "int32"))}
    assert all(
        case.reason.startswith("published: failed in the audit of run r1") for case in written.of("abs", "int32")
    )
    assert written.draws("abs", "int32") == {family.partition("/")[0]: 1 for family in keys}
    assert publish([record("abs", results)], path).known == 2
    assert read_additions(path) == written
    with pytest.raises(ConfigError, match="nothing to publish"):
        publish([record("sin", ())], path)
    gone = (CaseResult(case=CaseId(operator="abs", dtype="int32", index=9999), kind="wrong", title="sizes: 1"),)
    assert "audit again" in publish([record("abs", gone)], path).missing["abs"]


def test_the_file_to_publish_in(tmp_path: Path) -> None:
    assert default_path([record("abs", ())]) == Path("gate-additions.yaml")
    file = tmp_path / "mine.yaml"
    file.write_text("")
    assert default_path([record("abs", (), f"opinfo:{file}")]) == file


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), ["audit", *arguments])
    return result.exit_code, result.stdout


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> list[Judge]:
    """The judges that the command is going to ask, one a call."""
    coming: list[Judge] = []

    def open_judge(target: str, config: JudgeConfig, *, jobs: int) -> Judge:
        assert target == "vpe:pe64"
        return coming.pop(0)

    monkeypatch.setattr(work_module, "open_judge", open_judge)
    return coming


def test_the_command_judges_by_default_and_prints_what_failed(tmp_path: Path, judges: list[Judge]) -> None:
    for name in ("abs", "sin"):
        (tmp_path / f"{name}.py").write_text(SOURCE)
    judges.append(Judge(BAD))
    arguments = ("--library", str(tmp_path), "--no-lint", "--target", "vpe:pe64", "--out", str(tmp_path / "out"))
    code, output = run(*arguments)
    assert code == 1
    assert "trusted 1 of 2 candidates on vpe:pe64" in output
    assert "layout: transposed  abs[float32:0]" in output
    assert "wrapper(2)" in output
    code, output = run(*arguments, "--json", "--ops", "sin")
    assert code == 0  # stored: there is no second judge to ask
    [entry] = json.loads(output)["operators"]
    assert entry["standing"] == "trusted"
    code, output = run()
    assert "publish" in output


def test_without_a_gate_nobody_is_trusted_and_the_headline_says_why(tmp_path: Path, judges: list[Judge]) -> None:
    (tmp_path / "abs.py").write_text(SOURCE)
    judges.append(Judge())
    arguments = ("--library", str(tmp_path), "--no-lint", "--target", "vpe:pe64", "--out", str(tmp_path / "out"))
    _, output = run(*arguments, "--no-gate")
    assert "without a judged gate; the audit passed by 1 of 1 candidates on vpe:pe64" in output


def test_the_command_says_what_the_judge_failed_on(tmp_path: Path, judges: list[Judge]) -> None:
    for name in ("abs", "sin"):
        (tmp_path / f"{name}.py").write_text(SOURCE)
    judges += [Faulty("sin"), Faulty("sin"), Judge()]
    arguments = ("--library", str(tmp_path), "--no-lint", "--target", "vpe:pe64", "--out", str(tmp_path / "out"))
    code, output = run(*arguments)
    assert code == 3
    assert "trusted 1 of 2 candidates on vpe:pe64, 1 not judged" in output
    assert "the judge failed on an internal error: KeyError: 'x'" in output
    assert "the same command judges it again" in output
    code, output = run(*arguments, "--json")
    assert code == 3
    entries = {entry["operator"]: entry for entry in json.loads(output)["operators"]}
    assert entries["sin"]["standing"] == "not judged"
    assert "Traceback" in entries["sin"]["fault"]
    assert run(*arguments)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("judge",), "name one thing to audit"),
        (("r1", "--recordings", "x"), "name one thing to audit"),
        (("publish", "nowhere"), "holds no audit"),
    ],
)
def test_wrong_calls_say_what_to_do(arguments: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(build_app(), ["audit", *arguments])
    assert said in str(result.exception)
