"""`bringup profile`: what a candidate's launches cost on the chip, by the target's counters."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
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
    json_output: Annotated[bool, typer.Option("--json", help="Print all launches as JSON.")] = False,
) -> None:
    """Run a candidate's cases and show what each launch moved and computed, and the resource that bounds it.

    The modelled time is the profile's, deterministic; docs/vpe.md has the formula. Exit code 1 when a case fails.
    """
    verdict = asyncio.run(_measure(op, file, target, suite, dtype, case))
    if json_output:
        typer.echo(json.dumps({"verdict": verdict.kind, "launches": verdict.profile}, indent=1))
    else:
        _print(verdict, top)
    if not verdict.passed:
        raise typer.Exit(1)


async def _measure(
    op: str, file: Path, target: str, suite: str, dtypes: list[str] | None, cases: list[int] | None
) -> Verdict:
    from bringup.cli._judging import check_dtypes, read_candidate
    from bringup.config import JudgeConfig
    from bringup.judge import JudgePool
    from bringup.suites import get_suite

    check_dtypes(dtypes)
    operator, candidate = get_suite(suite).operator(op), read_candidate(file)
    async with JudgePool(target, JudgeConfig(), compiles=False) as judge:
        return await judge.judge(candidate, operator, dtypes=dtypes, cases=cases, profile=True)


def _print(verdict: Verdict, top: int) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from bringup.cli._judging import print_verdict

    console = Console()
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
    table = Table(box=None, title="slowest launches", title_justify="left", padding=(0, 2, 0, 0))
    columns = ("case", "kernel", "programs", "DMA in", "DMA out", "vector", "special", "dot", "local", "balance", "µs")
    for column in (*columns, "bound"):
        table.add_column(column, justify="left" if column in {"case", "kernel", "bound"} else "right", overflow="fold")
    for launch in sorted(verdict.profile, key=lambda item: -item["modelled_us"])[:top]:
        counters = launch["counters"]
        table.add_row(
            Text(str(launch["case"])),  # its brackets are no markup
            str(launch["kernel"]),
            f"{launch['programs']:,}",
            f"{counters['bytes_in']:,} B",
            f"{counters['bytes_out']:,} B",
            f"{sum(v for k, v in counters.items() if k.startswith('vector_')):,}",
            f"{counters['special']:,}",
            f"{sum(v for k, v in counters.items() if k.startswith('dot_')):,}",
            f"{launch['local_bytes']:,} B",
            f"{launch['balance']:.2f}",
            f"{launch['modelled_us']:.2f}",
            str(launch["bound"]),
        )
    console.print(table)


def _microseconds(launches: list[dict[str, Any]]) -> float:
    return float(sum(launch["modelled_us"] for launch in launches))
