"""Progress on stderr: one bar for every command that keeps a person waiting."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn


def make_progress(*more: ProgressColumn, shows: bool, console: Console | None = None) -> Progress:
    """Return what draws bars of description, bar, count and time, then `more`; they vanish when it ends.

    `console` is one on stderr by default.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), *more)
    return Progress(*columns, console=console or Console(stderr=True), transient=True, disable=not shows)


class Bar:
    """One bar for rooms that report `(done, total, name)`.

    It is shown from the first report until all is done, or the `with` block ends; and only to a person.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._progress: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, done: int, total: int, name: str) -> None:
        """Show that `done` of `total` are done, and the name of the last one."""
        if self._progress is None:
            self._progress = make_progress(shows=sys.stderr.isatty())
            self._progress.start()
            self._task = self._progress.add_task(self._title, total=total)
        description = f"{self._title}: {name}" if name else self._title
        self._progress.update(self._task, completed=done, description=description)
        if done == total:
            self.__exit__()
