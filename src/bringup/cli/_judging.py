"""What the judging commands share: read a candidate, judge it with a progress bar, print the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bringup.candidate import Candidate
from bringup.cli._output import make_console
from bringup.cli._progress import make_progress
from bringup.config import JudgeConfig
from bringup.errors import ConfigError, FormatError
from bringup.operators import Operator
from bringup.verdict import Mismatch, Verdict

if TYPE_CHECKING:
    from bringup.suites import Suite

SHOWN_LINES = 60  # of a log or traceback on the terminal


def read_candidate(file: Path) -> Candidate:
    """Read a candidate's source; raises FormatError."""
    try:
        return Candidate(source=file.read_text(encoding="utf-8-sig"))  # editors on Windows write a byte order mark
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: not UTF-8 text: {error.reason} at byte {error.start}") from error


def check_dtypes(dtypes: Sequence[str] | None, suite: Suite) -> None:
    """Raise ConfigError for a dtype that no case of the suite has."""
    for dtype in dtypes or ():
        if dtype not in suite.dtypes:
            known = ", ".join(suite.dtypes)
            raise ConfigError(f"--dtype {dtype}", f"not a dtype of the suite {suite.name}", f"use one of {known}")


async def judge_candidate(
    op: str,
    candidate: Candidate,
    *,
    suite: str,
    target: str,
    config: JudgeConfig,
    dtypes: Sequence[str] | None,
    cases: Sequence[int] | None,
    seed: int,
    keep_going: bool,
    compiles: bool,
    lints: bool,
    shows_progress: bool,
    tapes: str | None = None,
) -> Verdict:
    """Lint and judge a candidate on operator `op`."""
    from bringup.judge import JobTemplate, open_judge
    from bringup.suites import get_suite
    from bringup.targets import get_target

    source = get_suite(suite)
    check_dtypes(dtypes, source)
    operator = source.operator(op)
    if lints:
        from bringup.linter import lint

        violations = lint(candidate, get_target(target).dialect(), operator)
        if violations:
            summary = f"{len(violations)} violation{'s' if len(violations) > 1 else ''} of the linter's rules"
            total = number_of_cases(operator, dtypes, cases)
            return Verdict(kind="lint", summary=summary, violations=tuple(violations), cases_total=total)
    job = JobTemplate(target, config, compiles=compiles).job(
        candidate, operator, dtypes=dtypes, cases=cases, seed=seed, keep_going=keep_going, failures=config.failures
    )
    with make_progress(shows=shows_progress) as bar:
        task = bar.add_task("starting the judge", total=number_of_cases(operator, dtypes, cases))

        def advance(case: str, kind: str) -> None:
            bar.update(task, advance=1, description=case)

        async with open_judge(target, config) as judge:
            return await judge.judge(job, advance, tapes=tapes)


def number_of_cases(operator: Operator, dtypes: Sequence[str] | None, cases: Sequence[int] | None) -> int:
    """Count the cases that a selection leaves."""
    chosen = [d for d in operator.dtypes if dtypes is None or d in dtypes]
    counts = [operator.case_counts[d] for d in chosen]
    if cases is None:
        return sum(counts)
    return sum(sum(0 <= index < count for index in cases) for count in counts)


def print_verdict(verdict: Verdict, console: Console | None = None) -> None:
    """Print a verdict for a person."""
    console = console or make_console()
    style = "green" if verdict.passed else "yellow" if verdict.kind == "untested" else "red"
    head = Text(f"{verdict.kind.replace('_', ' ')}", style=f"bold {style}")
    head.append(f"  {verdict.summary}", style="default")
    console.print(head)
    if verdict.case is not None:
        console.print(Text(f"case   {verdict.case}"))
        console.print(Text(f"call   {verdict.call}"))
    for item in verdict.violations:
        console.print(Text(f"  line {item.line}: [{item.rule}] {item.message}"))
        if item.advice:
            console.print(Text(f"    {item.advice}", style="dim"))
    if verdict.mismatch is not None:
        _print_mismatch(verdict.mismatch, console)
    for title, text in (("traceback", verdict.exception), ("log", verdict.log)):
        if text.strip():
            lines = text.strip().splitlines()
            if len(lines) > SHOWN_LINES:
                lines = [*lines[:SHOWN_LINES], f"... {len(lines) - SHOWN_LINES} more lines: --json has them"]
            console.print(Panel(Text("\n".join(lines)), title=title, title_align="left"))
    for failure in verdict.failures[1:] or verdict.others:
        console.print(Text(f"  also {failure.kind}: {failure.case}: {failure.summary}"))
    dtypes = ", ".join(f"{dtype} {count}" for dtype, count in verdict.passed_by_dtype.items())
    compiled = ", ".join(f"{count} kernel specialisations for {name}" for name, count in verdict.compiled.items())
    if verdict.resources:
        _print_resources(verdict, console)
    from bringup.judge import isolation_warning

    console.print(
        Text(
            f"{verdict.cases_passed} of {verdict.cases_total} cases passed"
            + (f" ({dtypes})" if dtypes else "")
            + (f"; compiled {compiled}" if compiled else "")
            + f"; {verdict.seconds:.1f} s",
            style="dim",
        )
    )
    warning = isolation_warning(verdict.environment)
    if warning is not None:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _print_mismatch(mismatch: Mismatch, console: Console) -> None:
    if not mismatch.first:
        return
    table = Table(title=f"{mismatch.output}: first differences", title_justify="left")
    exact = any(item.exact for item in mismatch.first)
    bounded = any(item.allowed for item in mismatch.first)
    columns = (
        "index",
        *(("exact",) if exact else ()),
        "PyTorch",
        "actual",
        *(("off by", "allowed") if bounded else ()),
    )
    for column in columns:
        table.add_column(column, justify="right")
    for item in mismatch.first:
        table.add_row(
            str(item.index), *((item.exact,) if exact else ()), item.expected, item.actual,
            *((item.off, item.allowed) if bounded else ()),
        )  # fmt: skip
    console.print(table)
    errors = (("max abs", mismatch.max_abs_error), ("mean abs", mismatch.mean_abs_error))
    text = ", ".join(f"{name} {value:.4g}" for name, value in errors if value is not None)
    console.print(Text(f"error: {text} (right is {mismatch.rule})"))


SHOWN_KERNELS = 12  # of a report of resources


def _print_resources(verdict: Verdict, console: Console) -> None:
    """What compiled kernels take of devices that need not be here, the hungriest first."""
    table = Table(box=None, title="resources of compiled kernels", title_justify="left", padding=(0, 2, 0, 0))
    for column in ("toolchain", "kernel", "registers", "spilled", "shared", "local", "occupancy", "instructions"):
        table.add_column(column, justify="left" if column in {"toolchain", "kernel"} else "right")

    def of(one: dict[str, object], *names: str) -> str:
        return next((str(one[name]) for name in names if name in one), "–")

    rows = sorted(verdict.resources, key=lambda one: -int(of(one, "registers", "vector registers").replace("–", "0")))
    for one in rows[:SHOWN_KERNELS]:
        share = one.get("share of most waves", one.get("share of most warps"))
        table.add_row(
            Text(str(one["target"])),
            Text(str(one["kernel"])),
            of(one, "registers", "vector registers"),
            of(one, "vector registers spilled"),
            of(one, "shared bytes"),
            of(one, "local bytes a thread"),
            "–" if share is None else f"{float(share):.0%}",
            of(one, "instructions"),
        )
    console.print(table)
    if len(rows) > SHOWN_KERNELS:
        console.print(Text(f"{len(rows) - SHOWN_KERNELS} more: --json has them", style="dim"))
