"""Judge a candidate: isolated workers, guards, comparison, verdict."""

from bringup.judge._pool import Judge, JudgeFault, JudgePool, make_judge
from bringup.judge._warning import isolation_warning
from bringup.judge.conformance import CheckResult, check_target

__all__ = ["CheckResult", "Judge", "JudgeFault", "JudgePool", "check_target", "isolation_warning", "make_judge"]
