"""Judge a candidate: jobs, isolated workers, guards, comparison, verdict."""

from bringup.judge._contents import JobRefused, SuiteRef, TargetRef
from bringup.judge._door import Executor, Judge, executors, open_judge, unavailable, usual_jobs
from bringup.judge._processes import JudgeFault
from bringup.judge._warning import isolation_warning
from bringup.judge.conformance import CheckResult, check_target
from bringup.judge.job import JobTemplate, JudgeJob, Progress, Replayed, ReplayJob, Report
from bringup.judge.measuring import (
    COMPILE,
    EAGER,
    Baseline,
    CaseTiming,
    Diagnosis,
    LineCost,
    Measured,
    MeasureJob,
    Times,
    Timing,
)

__all__ = [
    "COMPILE",
    "EAGER",
    "Baseline",
    "CaseTiming",
    "CheckResult",
    "Diagnosis",
    "Executor",
    "JobRefused",
    "JobTemplate",
    "Judge",
    "JudgeFault",
    "JudgeJob",
    "LineCost",
    "MeasureJob",
    "Measured",
    "Progress",
    "ReplayJob",
    "Replayed",
    "Report",
    "SuiteRef",
    "TargetRef",
    "Times",
    "Timing",
    "check_target",
    "executors",
    "isolation_warning",
    "open_judge",
    "unavailable",
    "usual_jobs",
]  # fmt: skip
