"""`bringup verify`: judge again from the evidence, and say the same or what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, listed, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.judge import Judge
    from bringup.judge.evidence import Bundle


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    what: Annotated[list[str], typer.Argument(metavar="RUN|FILE.json...", help="A run, or evidence files.")],
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Of a run: only these operators (repeatable).")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Judge on this target instead of the evidence's.")] = None,
    jobs: Annotated[int, typer.Option(help="Judge workers.")] = 2,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Judge candidates again under the same conditions, and compare the verdicts with those on record.

    Of a run every operator's last judged candidate is taken. Exit code 0 when all verdicts are the same, 1 when not.
    """
    import asyncio

    from bringup.cli._bundles import bundles_of
    from bringup.cli._output import make_console
    from bringup.judge.evidence import circumstances, differences

    bundles = bundles_of(what, ops or [], runs_dir)
    results = asyncio.run(_judge_again(bundles, target, jobs, shows=not json_output))
    rows: list[dict[str, Any]] = []
    for bundle, now in zip(bundles, results, strict=True):
        differs = differences(bundle.evidence, now)
        rows.append(
            {
                "operator": now.operator,
                "candidate": now.candidate,
                "same": not differs,
                "differs": differs,
                "circumstances": circumstances(bundle.evidence, now),
                "before": bundle.evidence.model_dump(mode="json"),
                "now": now.model_dump(mode="json"),
            }
        )
    if json_output:
        print_json(rows)
    else:
        _print(make_console(), rows)
    if not all(row["same"] for row in rows):
        raise typer.Exit(1)


async def _judge_again(bundles: list[Bundle], target: str | None, jobs: int, *, shows: bool) -> list[Any]:
    """Judge each bundle as its evidence says; one judge a target."""
    import asyncio

    from bringup.cli._progress import make_progress
    from bringup.judge import open_judge
    from bringup.judge.evidence import evidence_of

    results: dict[int, Any] = {}
    groups: dict[str, list[int]] = {}
    for number, bundle in enumerate(bundles):
        groups.setdefault(target or bundle.evidence.target, []).append(number)
    with make_progress(shows=shows) as bar:
        task = bar.add_task("verifying", total=len(bundles))
        for spec, numbers in groups.items():
            async with open_judge(spec, jobs=jobs) as judge:

                async def one(number: int, spec: str = spec, judge: Judge = judge) -> None:
                    old = bundles[number].evidence
                    job = bundles[number].job(spec)
                    results[number] = evidence_of(await judge.judge(job), job.candidate, old.operator, old.suite)
                    bar.update(task, advance=1, description=old.operator)

                await asyncio.gather(*(one(number) for number in numbers))
    return [results[number] for number in range(len(bundles))]


def _print(console: Any, rows: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table("operator", "on record", "now", "")
    for row in rows:
        mark = Text("same", style="green") if row["same"] else Text("; ".join(row["differs"]), style="bold red")
        table.add_row(row["operator"], row["before"]["kind"], row["now"]["kind"], mark)
    console.print(table)
    others = list(dict.fromkeys(text for row in rows for text in row["circumstances"]))
    for text in others:
        console.print(Text(f"judged under other conditions: {text}", style="yellow"))
    same = sum(row["same"] for row in rows)
    console.print(f"{same} of {len(rows)} verdicts are the same")
