"""Judge candidates on the audit's cases, several at once, each verdict stored as it comes."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from bringup import __version__
from bringup.audit.records import AuditRecord, Basis, Example, family_of_result, load, record_file, save
from bringup.audit.subjects import Subject
from bringup.config import JudgeConfig
from bringup.errors import ConfigError, StoreError, UnknownOperator
from bringup.judge import JobTemplate, Judge, JudgeFault, open_judge
from bringup.linter import lint
from bringup.operators import DTYPES, Operator
from bringup.suites import additions_of, get_suite
from bringup.targets import get_target
from bringup.verdict import NO_CASE, Environment, Verdict

MOST_EXAMPLES = 8  # families whose first failing case is judged again alone, to be shown in full
MOST_FAULTS = 3  # alike and without a single verdict before them: then the judge does not work here at all
Progress = Callable[[str, int], None]  # operator, cases judged since the last call
Finished = Callable[[AuditRecord, bool], None]  # record, whether it was stored earlier


@dataclass(frozen=True)
class Options:
    """How candidates are audited."""

    target: str = "vpe:pe64"
    suite: str = "opinfo"  # of the gate; "opinfo:PATH" with a file of additions
    dtypes: tuple[str, ...] = ()  # none: all
    seed: int = 0
    jobs: int = 2
    gate: bool = True  # judge the gate as well
    lints: bool = True
    compiles: bool = True
    judge: JudgeConfig = field(default_factory=JudgeConfig)

    @property
    def audit_suite(self) -> str:
        """The suite of the tests that no model sees; raises ConfigError where the gate's suite has none."""
        found = get_suite(self.suite).audit
        if found is None:
            raise ConfigError(f"suite {self.suite}", "has no audit")
        return found


async def audit(
    subjects: Sequence[Subject],
    options: Options,
    folder: Path | None,
    *,
    again: bool = False,
    progress: Progress | None = None,
    finished: Finished | None = None,
    judge: Judge | None = None,
) -> dict[str, AuditRecord]:
    """Audit every subject and return the records by operator, in the order of the subjects.

    A record in `folder` with the same basis is taken as it is unless `again`; new ones are stored there at once, so
    that an interrupted audit goes on where it stopped. A candidate that the judge itself fails on gets a record with
    the fault, which is not stored: the next audit judges it again. `judge` replaces the one that is opened (tests).

    Raises JudgeFault when the judge fails alike on the first candidates, whatever they are.
    """
    auditor = _Auditor(options)
    records: dict[str, AuditRecord] = {}
    todo = []
    for subject in subjects:
        stored = None if again or folder is None else _stored(folder, auditor.basis(subject), subject.operator)
        if stored is None:
            todo.append(subject)
            continue
        records[subject.operator] = stored
        if finished is not None:
            finished(stored, True)
    if todo:
        gate = asyncio.Semaphore(max(1, options.jobs))
        async with AsyncExitStack() as stack:
            if judge is None:
                judge = await stack.enter_async_context(open_judge(options.target, options.judge, jobs=options.jobs))

            async def one(subject: Subject) -> None:
                async with gate:
                    record = await auditor.record_or_fault(subject, judge, progress)
                if folder is not None and not record.fault:
                    save(folder, record, subject.candidate.source)
                records[subject.operator] = record
                if finished is not None:
                    finished(record, False)

            await _all(one(subject) for subject in todo)
    return {subject.operator: records[subject.operator] for subject in subjects}


async def _all(works: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all at once; the first error ends the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for work in works:
                group.create_task(work)
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _stored(folder: Path, basis: Basis, operator: str) -> AuditRecord | None:
    path = record_file(folder, operator)
    if not path.is_file():
        return None
    try:
        record = load(path)
    except StoreError:
        return None  # judged again, and overwritten
    # Other code of the audit may build other cases. That is said in the report, not taken for a reason to judge anew:
    # a release changes `version` too.
    return record if record.basis.model_copy(update={"cases": basis.cases}) == basis else None


@functools.cache
def cases_digest() -> str:
    """Return a digest of the code that builds the audit's cases: what `Basis.cases` is now."""
    root = Path(str(files("bringup.suites")))
    state = hashlib.sha256()
    for path in sorted([*root.glob("_opinfo_*.py"), *root.glob("_aten_*.py"), *(root / "audit").glob("*.py")]):
        state.update(path.read_bytes())
    return state.hexdigest()[:16]


class _Auditor:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.gate_suite = get_suite(options.suite)
        self.audit_suite = get_suite(options.audit_suite)
        self.additions = additions_of(options.suite)
        target = get_target(options.target)
        self.dialect, self.features = target.dialect(), target.features
        self.template = JobTemplate(options.target, options.judge, compiles=options.compiles)
        self._faults: Counter[str] = Counter()
        self._works = False  # the judge has given a verdict

    def basis(self, subject: Subject) -> Basis:
        """Return what the outcome of the subject's audit hangs on."""
        options = self.options
        counts = self.gate_suite.operator(subject.operator).case_counts
        # A gate may have others than the five: an operator that takes bytes.
        dtypes = options.dtypes or (*DTYPES, *(dtype for dtype in counts if dtype not in DTYPES))
        draws = {dtype: self.additions.draws(subject.operator, dtype) for dtype in dtypes}
        return Basis(
            candidate=subject.candidate.digest,
            target=options.target,
            suite=options.suite,
            dtypes=dtypes,
            seed=options.seed,
            gate_cases={dtype: counts[dtype] for dtype in dtypes if counts.get(dtype)} if options.gate else {},
            draws={dtype: families for dtype, families in draws.items() if families},
            version=__version__,
            cases=cases_digest(),
        )

    async def record_or_fault(self, subject: Subject, judge: Judge, progress: Progress | None) -> AuditRecord:
        """Judge gate and audit, or say what the judge failed on; raises JudgeFault when it fails on everything."""
        began = time.monotonic()
        try:
            return await self.record(subject, judge, progress)
        except JudgeFault as fault:
            self._faults[str(fault)] += 1
            if not self._works and self._faults[str(fault)] >= MOST_FAULTS:
                raise
            return AuditRecord(
                operator=subject.operator,
                origin=subject.origin,
                basis=self.basis(subject),
                covered=subject.covered,
                seconds=round(time.monotonic() - began, 3),
                fault=str(fault),
            )

    async def record(self, subject: Subject, judge: Judge, progress: Progress | None) -> AuditRecord:
        """Judge gate and audit."""
        began = time.monotonic()
        operator = self.gate_suite.operator(subject.operator)
        gate = self._linted(subject, operator)
        worth = gate is None
        if gate is None and self.options.gate:
            gate = await self._judge(judge, subject, operator, progress)
            worth = gate.kind != "untested"
        audited = None
        examples: tuple[Example, ...] = ()
        if worth:
            try:
                operator = self.audit_suite.operator(subject.operator)
            except UnknownOperator:  # a program may call overloads that none of PyTorch's own samples comes to
                audited = Verdict(kind="untested", summary=f"suite {self.audit_suite.name} has no such operator")
            else:
                audited = await self._judge(judge, subject, operator, progress, keep_going=True)
                examples = await self._examples(judge, subject, operator, audited)
        return AuditRecord(
            operator=subject.operator,
            origin=subject.origin,
            basis=self.basis(subject),
            gate=gate,
            covered=subject.covered if gate is None else gate.passed,
            audit=audited,
            examples=examples,
            seconds=round(time.monotonic() - began, 3),
        )

    def _linted(self, subject: Subject, operator: Operator) -> Verdict | None:
        """Return the linter's verdict when it refuses the candidate."""
        violations = lint(subject.candidate, self.dialect, operator) if self.options.lints else ()
        if not violations:
            return None
        summary = f"{len(violations)} violation{'s' if len(violations) > 1 else ''} of the linter's rules"
        return Verdict(kind="lint", summary=summary, violations=tuple(violations))

    async def _judge(
        self,
        judge: Judge,
        subject: Subject,
        operator: Operator,
        progress: Progress | None,
        keep_going: bool = False,
        case: tuple[str, int] | None = None,
    ) -> Verdict:
        def advance(_case: str, _kind: str) -> None:
            if progress is not None:
                progress(subject.operator, 1)

        job = self.template.job(
            subject.candidate,
            operator,
            dtypes=self.options.dtypes or None,
            cases=None if case is None else {case[0]: (case[1],)},
            seed=self.options.seed,
            keep_going=keep_going,
        )
        verdict = await judge.judge(job, advance if progress is not None else None)
        untested = verdict.kind == "untested" and operator.not_applicable(self.features) is None
        if untested and not (keep_going and verdict.summary == NO_CASE):  # an audit may have no case; a gate has some
            raise JudgeFault(verdict.summary)  # its process was lost, say: no word about the candidate
        self._works = self._works or verdict.kind != "untested"  # which the pool says before it starts anything
        return verdict

    async def _examples(
        self, judge: Judge, subject: Subject, operator: Operator, audited: Verdict
    ) -> tuple[Example, ...]:
        """Return the first failing case of each family in full: the audit's verdict has only the very first."""
        examples: dict[str, Example] = {}
        for result in audited.failures:
            family = family_of_result(result)
            if family in examples or len(examples) == MOST_EXAMPLES:
                continue
            if result.case == audited.case:
                verdict = audited.model_copy(update={"failures": ()})
            else:
                alone = await self._judge(judge, subject, operator, None, case=(result.case.dtype, result.case.index))
                # A failure that needs its predecessors does not show alone: then the short result has to do.
                verdict = alone if not alone.passed else Verdict(kind=result.kind, summary=result.summary)
            verdict = verdict.model_copy(update={"case": result.case, "environment": Environment()})
            examples[family] = Example(family=family, verdict=verdict)
        return tuple(examples.values())
