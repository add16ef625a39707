"""Tell the watcher of a run once what the judge's sandbox lacks on this system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bringup.runs.services import ClosableJudge
from bringup.verdict import Verdict


class TellingJudge:
    """A judge whose first isolated candidate also answers whether the isolation is complete."""

    def __init__(self, judge: ClosableJudge, notify: Callable[[str], None]) -> None:
        """Wrap `judge`; `notify` takes the warning, if there is one."""
        self._judge, self._notify = judge, notify
        self._told = False

    async def judge(self, *args: Any, **options: Any) -> Verdict:
        """Judge as the wrapped one does."""
        from bringup.judge import isolation_warning

        verdict = await self._judge.judge(*args, **options)
        if not self._told and verdict.environment.get("isolation"):
            self._told = True
            warning = isolation_warning(verdict.environment)
            if warning is not None:
                self._notify(f"warning: {warning}")
        return verdict

    async def close(self) -> None:
        """Close the wrapped judge."""
        await self._judge.close()
