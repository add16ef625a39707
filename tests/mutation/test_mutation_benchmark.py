"""The benchmark's own logic against a judge that decides by rule: order, limits, resumption, audit, scores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from bringup.candidate import Candidate
from bringup.config import JudgeConfig, JudgeLimits
from bringup.errors import UnknownOperator
from bringup.judge import JobTemplate, JudgeFault, JudgeJob, Progress
from bringup.judge.guards import ALWAYS, IDS
from bringup.mutation import (
    Benchmark,
    Equivalents,
    Mark,
    Original,
    Result,
    ResultLog,
    Settings,
    Task,
    make_task,
    mutants_of,
    report,
    stale_marks,
)
from bringup.mutation.benchmark import Clock, spread
from bringup.mutation.view import summary, survivors_page
from bringup.operators import DocNode, Operator
from bringup.suites import SuiteDefaults, get_suite, suites
from bringup.targets import get_target
from bringup.verdict import CaseId, CaseResult, Verdict, VerdictKind

SOURCE = """@triton.jit
def kernel_double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    tl.store(y_ptr + i, x + x, mask=mask)


def wrapper(x):
    y = torch.empty_like(x)
    n = x.numel()
    if n > 0:
        kernel_double[(triton.cdiv(n, 64),)](x.contiguous(), y, n, BLOCK=64)
    return y
"""
ORIGINAL = Candidate(source=SOURCE)
SETTINGS = Settings(suite="conformance", target="vpe:pe64")
Rule = Callable[[str, Operator], VerdictKind]


class RuleJudge:
    """Judges by the candidate's text; remembers what it was asked, and under which limits."""

    def __init__(self, rule: Rule, seconds: float = 0.0) -> None:
        self.rule = rule
        self.seconds = seconds
        self.asked: list[tuple[str, str, tuple[int, ...] | None, JudgeLimits]] = []
        self.without: list[tuple[str, ...]] = []

    async def judge(self, job: JudgeJob, progress: Progress | None = None) -> Verdict:
        candidate, operator = job.candidate, job.operator
        [chosen] = set(job.cases.values())
        self.asked.append((candidate.source, operator.suite, chosen, job.limits))
        self.without.append(tuple(guard for guard in IDS if guard not in job.guards))
        kind = self.rule(candidate.source, operator)
        if progress is not None:
            progress("case", "passed")
            await asyncio.sleep(self.seconds)
            progress("case", "passed")
        await asyncio.sleep(0)
        failures: tuple[CaseResult, ...] = ()
        if job.report.keep_going and kind != "passed":
            failures = (CaseResult(case=CaseId(operator="double", dtype="int32", index=2), kind=kind),)
        return Verdict(
            kind=kind, summary=kind, failures=failures, cases_total=operator.cases_total, seconds=self.seconds
        )


AUDIT = "audit-double"


@suites.register(AUDIT)
class AuditSuite(SuiteDefaults):
    name = AUDIT

    def __init__(self, known: bool = True) -> None:
        self.known = known

    def operators(self) -> Iterator[Operator]:
        yield self.operator("double")

    def operator(self, name: str) -> Operator:
        if not self.known:
            raise UnknownOperator(name, [], "audit")
        return Operator(name=name, suite=AUDIT, category="Other", case_counts={"float32": 4, "int32": 3})

    def docs(self, name: str) -> list[DocNode]:
        return []


def by_text(killed: str, otherwise: VerdictKind = "passed", kind: VerdictKind = "wrong") -> Rule:
    return lambda source, _: kind if killed in source else otherwise


def task(mutators: Iterable[str] = ("boundary", "mask-dropped", "operator-replaced")) -> Task:
    from bringup.mutation import MUTATORS

    return make_task(
        get_suite("conformance"), "double", ORIGINAL, mutators=[m for m in MUTATORS if m.id in set(mutators)]
    )


def run(
    judge: RuleJudge,
    out: Path,
    work: Task | None = None,
    audit: AuditSuite | None = None,
    settings: Settings = SETTINGS,
    reach: bool = False,
) -> tuple[list[Result], Original]:
    seen: list[str] = []
    dialect = get_target("vpe:pe64").dialect()
    template = JobTemplate("vpe:pe64")
    benchmark = Benchmark(judge, template, dialect, ResultLog(out, settings), audit, reach=reach)  # type: ignore[arg-type]
    original, results = asyncio.run(benchmark.run(work or task(), lambda result: seen.append(result.digest)))
    assert sorted(seen) == sorted(result.digest for result in results)
    return results, original


def test_killed_survived_and_the_score(tmp_path: Path) -> None:
    results, original = run(RuleJudge(by_text("i <= n")), tmp_path)
    assert original.gate.kind == "passed"
    assert {r.digest for r in results} == {m.digest for m in task().mutants}
    assert {r.mutator for r in results if r.status == "killed"} == {"boundary"}
    made = report(SETTINGS, results, Equivalents())
    assert made.total.killed == 1
    assert made.total.survived == len(results) - 1
    assert made.by_mutator["boundary"].gate_score == 0.5  # `n > 0` lives
    assert made.by_operator["double"] == made.total
    assert made.kills == {"wrong": 1}
    assert "i <= n" not in survivors_page(made)
    assert "+    if n >= 0:" in survivors_page(made)


@pytest.mark.parametrize(("kind", "status"), [("timed_out", "timed_out"), ("compile", "invalid"), ("lint", "invalid")])
def test_time_outs_have_their_column_and_stillborn_mutants_are_not_in_the_score(
    tmp_path: Path, kind: VerdictKind, status: str
) -> None:
    results, _ = run(RuleJudge(by_text("i <= n", kind=kind)), tmp_path)
    assert {r.status for r in results if r.mutator == "boundary"} == {status, "survived"}
    count = report(SETTINGS, results, Equivalents()).by_mutator["boundary"]
    assert (count.timed_out, count.invalid) == ((1, 0) if status == "timed_out" else (0, 1))
    assert count.gate_score == (0.5 if status == "timed_out" else 0.0)


def test_what_ran_out_of_time_is_judged_once_more_alone_and_with_more_of_it(tmp_path: Path) -> None:
    class Busy(RuleJudge):
        running = most = 0

        async def judge(self, job: JudgeJob, progress: Progress | None = None) -> Verdict:
            self.running += 1
            self.most = max(self.most, self.running)
            if len([asked for asked in self.asked if asked[0] == job.candidate.source]) == 1:
                assert self.running == 1
            await asyncio.sleep(0.001)
            verdict = await super().judge(job, progress)
            self.running -= 1
            return verdict

    seen: list[str] = []

    def rule(source: str, _: Operator) -> VerdictKind:
        seen.append(source)
        return "timed_out" if source != SOURCE and seen.count(source) == 1 else "passed"

    judge = Busy(rule)
    results, original = run(judge, tmp_path)
    assert judge.most > 1
    assert {r.status for r in results} == {"survived"}
    for result in results:
        first, again = (limits for text, _, _, limits in judge.asked if Candidate(source=text).digest == result.digest)
        assert first.case_seconds == 10 * original.slowest + 2
        assert again.case_seconds == 2 * first.case_seconds


def test_the_linter_refuses_before_the_judge_is_asked(tmp_path: Path) -> None:
    judge = RuleJudge(by_text("nothing"))
    work = task()
    broken = work.mutants[0].model_copy(update={"source": "import os\n" + SOURCE})
    results, _ = run(judge, tmp_path, Task(work.operator, ORIGINAL, (broken,)))
    assert (results[0].gate.kind, results[0].status) == ("lint", "invalid")
    assert [asked[0] for asked in judge.asked] == [SOURCE]
    other = Settings(suite="conformance", target="vpe:pe64", lint=False)
    results, _ = run(judge, tmp_path, Task(work.operator, ORIGINAL, (broken,)), settings=other)
    assert results[0].status == "survived"


def test_an_original_that_fails_is_not_mutated(tmp_path: Path) -> None:
    judge = RuleJudge(by_text("", kind="wrong"))
    results, original = run(judge, tmp_path)
    assert results == []
    assert len(judge.asked) == 1
    made = report(SETTINGS, results, Equivalents(), [original])
    assert made.not_mutated == {"double": "wrong: wrong"}
    assert "double was not mutated" in summary(made)


def test_time_limits_come_from_the_original(tmp_path: Path) -> None:
    judge = RuleJudge(by_text("i <= n"), seconds=0.2)
    _, original = run(judge, tmp_path)
    assert judge.asked[0][3].case_seconds == JudgeConfig().case_seconds
    limits = {asked[3].case_seconds for asked in judge.asked[1:]}
    assert limits == {10 * original.slowest + 2}
    assert 0.2 <= original.slowest < 0.4


def test_waiting_for_a_turn_is_no_time_of_a_case() -> None:
    clock = Clock(ends=[100.0, 101.5, 102.0])
    assert clock.slowest(5.0) == 3.0  # the first case took what the others did not
    assert clock.slowest(2.5) == 1.5
    assert Clock().slowest(0.7) == 0.7


def test_a_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    run(RuleJudge(by_text("i <= n")), tmp_path)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    # the original and one mutant are there; the next line was half written when the process was killed
    (tmp_path / "results.jsonl").write_text("\n".join(lines[:2]) + "\n" + lines[2][:40])
    judge = RuleJudge(by_text("i <= n"))
    results, _ = run(judge, tmp_path)
    done = json.loads(lines[1])["digest"]
    assert {r.digest for r in results} == {m.digest for m in task().mutants}
    assert all(Candidate(source=asked[0]).digest not in {done, ORIGINAL.digest} for asked in judge.asked)
    again = RuleJudge(by_text("never asked"))
    assert {r.digest: r.status for r in run(again, tmp_path)[0]} == {r.digest: r.status for r in results}
    assert again.asked == []


def test_other_settings_do_not_use_old_results(tmp_path: Path) -> None:
    run(RuleJudge(by_text("i <= n")), tmp_path)
    judge = RuleJudge(by_text("i <= n"))
    run(judge, tmp_path, settings=Settings(suite="conformance", target="vpe:pe64", seed=1))
    assert len({asked[0] for asked in judge.asked}) == len(task().mutants) + 1


def test_many_cases_are_scouted_and_survivors_still_run_all_of_them(tmp_path: Path) -> None:
    work = task(["boundary"])
    many = work.operator.model_copy(update={"case_counts": {"float32": 30, "int32": 20}})
    judge = RuleJudge(by_text("i <= n"))
    results, _ = run(judge, tmp_path, Task(many, ORIGINAL, work.mutants))
    cases = {r.status: [a[2] for a in judge.asked if Candidate(source=a[0]).digest == r.digest] for r in results}
    assert cases == {"killed": [(0, 7, 14, 22, 29)], "survived": [(0, 7, 14, 22, 29), None]}
    # all guards look at a survivor; the few cases are only compared
    assert {cases is None: without for (_, _, cases, _), without in zip(judge.asked, judge.without, strict=True)} == {
        True: (),
        False: tuple(guard for guard in IDS if guard not in ALWAYS),
    }
    assert spread(3, 5) == [0, 1, 2]


def test_the_audit_judges_survivors_on_the_cases_that_the_original_passes(tmp_path: Path) -> None:
    def rule(source: str, operator: Operator) -> VerdictKind:
        if operator.suite == AUDIT:
            return "wrong" if source == SOURCE or "n >= 0" in source else "passed"
        return "wrong" if "i <= n" in source else "passed"

    run(RuleJudge(rule), tmp_path, task(["boundary"]))  # the gate alone, first
    judge = RuleJudge(rule)
    results, original = run(judge, tmp_path, task(["boundary"]), AuditSuite())
    assert original.audit_cases == (0, 1, 3)  # it fails the one with index 2
    asked = [(source != SOURCE, suite, cases) for source, suite, cases, _ in judge.asked]
    assert asked == [(False, AUDIT, None), (True, AUDIT, (0, 1, 3))]
    assert {(r.status, r.audit_status) for r in results} == {("killed", None), ("survived", "killed")}
    made = report(SETTINGS, results, Equivalents())
    assert (made.total.gate_score, made.total.audit_score) == (0.5, 1.0)
    assert made.survivors == ()
    assert run(RuleJudge(rule), tmp_path, task(["boundary"]), AuditSuite())[0] == results


def test_survivors_in_code_that_no_case_gets_to(tmp_path: Path) -> None:
    def rule(source: str, operator: Operator) -> VerdictKind:
        if "reached" in source:  # a trap: in the kernel only the audit runs into it, in the wrapper both do
            return "raised" if 'raise EOFError("reached")' in source or operator.suite == AUDIT else "passed"
        return "passed"

    work = task(["boundary"])
    results, _ = run(RuleJudge(rule), tmp_path, work, reach=True)
    assert {(r.place, r.gate.reached) for r in results} == {("kernel", False), ("wrapper", True)}
    made = report(SETTINGS, results, Equivalents())
    assert (made.total.survived, made.total.unreached) == (2, 1)
    assert survivors_page(made).count("[no case gets there]") == 1
    again = RuleJudge(rule)
    assert run(again, tmp_path, work, reach=True)[0] == results
    assert again.asked == []
    results, _ = run(RuleJudge(rule), tmp_path, work, AuditSuite(), reach=True)
    assert {(r.gate.reached, r.audit.reached) for r in results if r.audit} == {(False, True), (True, None)}
    assert "[no case gets there]" not in survivors_page(report(SETTINGS, results, Equivalents()))


def test_an_operator_that_the_audit_does_not_know_has_no_audit_score(tmp_path: Path) -> None:
    results, _ = run(RuleJudge(by_text("i <= n")), tmp_path, task(["boundary"]), AuditSuite(known=False))
    made = report(SETTINGS, results, Equivalents())
    assert made.total.gate_score == 0.5
    assert made.total.audit_score is None


def test_marked_survivors_leave_the_score_and_are_listed(tmp_path: Path) -> None:
    results, _ = run(RuleJudge(by_text("i <= n")), tmp_path, task(["boundary"]))
    alive = next(r for r in results if r.status == "survived")
    dead = next(r for r in results if r.status == "killed")
    reason = "with no elements the grid is empty"
    marks = Equivalents({"double": [Mark(mutant=r.digest[:12], reason=reason) for r in (alive, dead)]})
    made = report(SETTINGS, results, marks)
    # a mutant that the tests notice is not equivalent, whatever is written
    assert (made.total.equivalent, made.total.killed, made.total.valid) == (1, 1, 1)
    assert made.total.gate_score == 1.0
    assert [item.reason for item in made.equivalents] == [reason]
    assert reason in survivors_page(made)
    data = made.data()
    assert isinstance(data["total"], dict)
    assert data["total"]["gate_score"] == 1.0


def test_many_operators_take_turns_and_a_fault_is_of_one_of_them(tmp_path: Path) -> None:
    work = task()
    tasks = [
        Task(
            work.operator.model_copy(update={"name": f"double{i}"}),
            ORIGINAL,
            [mutant.model_copy(update={"operator": f"double{i}"}) for mutant in work.mutants],
        )
        for i in range(6)
    ]

    busy: set[str] = set()
    most: list[int] = []

    class Faulty(RuleJudge):
        async def judge(self, job: JudgeJob, progress: Progress | None = None) -> Verdict:
            name = job.operator.name
            if name == "double2" and job.candidate.source != SOURCE:
                raise JudgeFault("the device is gone")
            busy.add(name)
            most.append(len(busy))
            verdict = await super().judge(job, progress)
            busy.discard(name)
            return verdict

    judge = Faulty(by_text("i <= n"), seconds=0.01)
    dialect = get_target("vpe:pe64").dialect()
    log = ResultLog(tmp_path, SETTINGS)
    benchmark = Benchmark(judge, JobTemplate("vpe:pe64"), dialect, log, reach=False)  # type: ignore[arg-type]
    ended: list[str] = []
    found, faults = asyncio.run(
        benchmark.run_all(tasks, 3, lambda _: None, lambda one, judged: ended.append(f"{one.operator.name} {judged}"))
    )
    assert faults == {"double2": "the device is gone"}
    kept = [0, 1, 3, 4, 5]
    assert [original.operator for original, _ in found] == [f"double{i}" for i in kept]  # in the order of the tasks
    assert all(len(results) == len(work.mutants) for _, results in found)
    assert sorted(ended) == [f"double{i} {len(work.mutants)}" for i in kept]
    assert max(most) == 3


def test_a_mark_without_a_mutant_is_reported() -> None:
    digest = mutants_of("double", ORIGINAL)[0].digest
    marks = Equivalents({
        "double": [
            Mark(mutant=digest[:16], reason="a reason that is long enough"),
            Mark(mutant="0" * 12, reason="a reason that is long enough"),
        ]
    })  # fmt: skip
    assert stale_marks({"double": ORIGINAL, "row_sum": ORIGINAL}, marks) == {"double": ("0" * 12,)}
