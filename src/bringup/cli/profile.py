"""`bringup profile`: what a candidate's launches cost on the chip, by the target's counters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from bringup.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("profile")(profile)


def profile(
    op: Annotated[str, typer.Argument(help="Operator, as `bringup ops list` names it.")],
    file: Annotated[Path, typer.Argument(help="Candidate: one module with `wrapper` and `kernel*`.")],
    target: Annotated[str, typer.Option(help="Target that counts, such as vpe:pe64.")] = "vpe",
    suite: Annotated[str, typer.Option(help="Suite that the operator belongs to.")] = "opinfo",
    dtype: Annotated[list[str] | None, typer.Option(help="Only these dtypes (repeatable).")] = None,
    case: Annotated[list[int] | None, typer.Option(help="Only cases with these indices (repeatable).")] = None,
    top: Annotated[int, typer.Option(help="How many launches to list, slowest first.")] = 10,
    json_output: JsonOption = False,
) -> None:
    """Run a candidate's cases and show what each launch of theirs moved and computed, and what bounds it.

    The modelled time is the profile's, deterministic (docs/vpe-compiler.md has the formula). Exit code 1 when a case
    fails.
    """
    verdict = asyncio.run(_measure(op, file, target, suite, dtype, case))
    if json_output:
        print_json({"verdict": verdict.kind, "launches": verdict.profile})
    else:
        _print(verdict, top)
    if not verdict.passed:
        raise typer.Exit(1)


async def _measure(
    op: str, file: Path, target: str, suite: str, dtypes: list[str] | None, cases: list[int] | None
) -> Verdict:
    from bringup.cli._judging import check_dtypes, read_candidate
    from bringup.judge import JobTemplate, open_judge
    from bringup.suites import get_suite

    source = get_suite(suite)
    check_dtypes(dtypes, source)
    operator, candidate = source.operator(op), read_candidate(file)
    job = JobTemplate(target, compiles=False).job(candidate, operator, dtypes=dtypes, cases=cases, profile=True)
    async with open_judge(target) as judge:
        return await judge.judge(job)


def _print(verdict: Verdict, top: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from bringup.cli._judging import print_verdict
    from bringup.cli._output import make_console

    console = make_console()
    if not verdict.passed:
        print_verdict(verdict, console)
    if not verdict.profile:
        console.print("no launch was counted: the target has no counters, or nothing was launched")
        return
    kernels: dict[str, list[dict[str, Any]]] = {}
    for launch in verdict.profile:
        kernels.setdefault(str(launch["kernel"]), []).append(launch)
    summary = Table(box=None, title="by kernel", title_justify="left", padding=(0, 2, 0, 0))
    for column in ("kernel", "launches", "modelled µs", "bounded by"):
        summary.add_column(column, justify="left" if column in {"kernel", "bounded by"} else "right")
    for name, launches in sorted(kernels.items(), key=lambda item: -_microseconds(item[1])):
        bounds: dict[str, float] = {}
        for launch in launches:
            bounds[launch["bound"]] = bounds.get(launch["bound"], 0.0) + launch["modelled_us"]
        share = sorted(bounds.items(), key=lambda item: -item[1])
        text = ", ".join(f"{bound} {time / _microseconds(launches):.0%}" for bound, time in share)
        summary.add_row(name, str(len(launches)), f"{_microseconds(launches):.1f}", text)
    console.print(summary)
    slowest = sorted(verdict.profile, key=lambda item: -item["modelled_us"])[:top]
    table = _table(
        "slowest launches", "#", "case", "kernel", "programs", "modelled µs", "bound", left=("case", "kernel")
    )
    for number, launch in enumerate(slowest, 1):
        table.add_row(
            str(number),
            Text(str(launch["case"])),  # its brackets are no markup
            Text(str(launch["kernel"])),
            f"{launch['programs']:,}",
            f"{launch['modelled_us']:.2f}",
            Text(str(launch["bound"])),
        )
    console.print(table)
    heads = ("#", "DMA in", "DMA out", "vector", "special", "dot", "local", "balance")
    table = _table("what they moved (bytes) and computed (operations)", *heads)
    for number, launch in enumerate(slowest, 1):
        counters = launch["counters"]
        counts = (
            counters["bytes_in"],
            counters["bytes_out"],
            sum(v for k, v in counters.items() if k.startswith("vector_")),
            counters["special"],
            sum(v for k, v in counters.items() if k.startswith("dot_")),
            launch["local_bytes"],
        )
        table.add_row(str(number), *(short_count(count) for count in counts), f"{launch['balance']:.2f}")
    console.print(table)


def _table(title: str, *columns: str, left: tuple[str, ...] = ()) -> Table:
    from rich.table import Table

    table = Table(box=None, title=title, title_justify="left", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column,
            justify="left" if column in left or column == "bound" else "right",
            overflow="fold",
            no_wrap=column not in left,
        )
    return table


def short_count(number: float) -> str:
    """Render a count in at most six characters: `4096`, `65.5k`, `1.34M`."""
    if number < 10_000:
        return f"{number:.0f}"
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if number < size * 999.5 or unit == "G":
            return f"{number / size:.3g}{unit}"
    raise AssertionError("unreachable")


def _microseconds(launches: list[dict[str, Any]]) -> float:
    return float(sum(launch["modelled_us"] for launch in launches))
