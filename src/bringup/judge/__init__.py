"""Judge a candidate: isolated workers, guards, comparison, verdict."""

from bringup.judge._pool import Judge, JudgeFault, JudgePool, make_judge

__all__ = ["Judge", "JudgeFault", "JudgePool", "make_judge"]
