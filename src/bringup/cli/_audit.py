"""What `bringup audit` does and prints: progress while judging, then who may be trusted and what failed where."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from bringup.audit import AuditRecord, Options, Subject, Subjects

UNJUDGED = "gate not judged"  # the standing of one that passes the audit, which is all that was asked
STYLES = {
    "trusted": "green",
    "failed": "red",
    "not covered": "yellow",
    "not applicable": "dim",
    "gate not judged": "cyan",
    "no audit": "cyan",
    "not judged": "magenta",
}


def run_audit(
    subjects: Subjects,
    settings: dict[str, Any],
    folder: Path | None,
    *,
    ops: Sequence[str] | None,
    again: bool,
    as_json: bool,
) -> int:
    """Audit, print the report, and return the exit code.

    0: every candidate may be trusted (those not applicable aside); 1: not every one; 3: the judge failed on some.
    """
    from bringup.audit import Options
    from bringup.cli._output import make_console, print_json
    from bringup.errors import ConfigError, EnvironmentFault
    from bringup.suites import get_suite, select

    chosen = list(subjects.subjects)
    if ops:
        names = {operator.name for operator in select(get_suite(settings["suite"]), ops)}
        chosen = [subject for subject in chosen if subject.operator in names]
        if not chosen:
            raise ConfigError("--ops", "none of the candidates is of these operators")
    if not settings["dtypes"]:
        settings = {key: value for key, value in settings.items() if key != "dtypes"}
    options = Options(**settings)
    console = make_console(stderr=as_json)
    try:
        records = asyncio.run(_audit(chosen, options, folder, again, console))
    except KeyboardInterrupt:
        kept = f"; what is done is kept in {folder}, and the same command goes on" if folder is not None else ""
        console.print(f"stopped{kept}", highlight=False, soft_wrap=True)
        raise SystemExit(130) from None
    left_out = subjects.left_out if not ops else {}
    if as_json:
        print_json(report_data(records, left_out, folder))
        print()
    else:
        print_audit(records, left_out, console, options.target)
        if folder is not None:
            console.print(f"stored   {folder}", highlight=False, soft_wrap=True)
    standings = {record.standing for record in records.values()}
    if "not judged" in standings:
        return EnvironmentFault.exit_code
    return 0 if standings <= {"trusted", "not applicable"} else 1


async def _audit(
    subjects: Sequence[Subject], options: Options, folder: Path | None, again: bool, console: Console
) -> Mapping[str, AuditRecord]:
    """Judge with a bar for all candidates and a line for each that is under way; plain lines in a pipe."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    from bringup.audit import audit
    from bringup.cli._progress import make_progress

    stderr = RichConsole(stderr=True)
    live = stderr.is_terminal
    with make_progress(shows=live, console=stderr) as bar:
        whole = bar.add_task(f"auditing on {options.target}", total=len(subjects))
        counts: dict[str, int] = {}

        def advance(operator: str, cases: int) -> None:
            counts[operator] = counts.get(operator, 0) + cases
            under_way = ", ".join(f"{name} ({count:,} cases)" for name, count in counts.items())
            bar.update(whole, description=f"auditing {under_way}")

        def finished(record: AuditRecord, stored: bool) -> None:
            counts.pop(record.operator, None)
            bar.advance(whole)
            if stored:
                return
            line = Text(f"{record.standing:12} ", style=STYLES[record.standing])
            line.append(f"{record.operator}  {record.seconds:.0f} s", style="default")
            if record.families:
                line.append(f"  {_families(record)}", style="dim")
            (stderr if live else console).print(line, soft_wrap=True)

        return await audit(subjects, options, folder, again=again, progress=advance, finished=finished)


def _families(record: AuditRecord) -> str:
    """Return failing cases by family, saying where all that a family has against the candidate is its slowness."""
    from bringup.audit import family_of_result

    failures = record.audit.failures if record.audit is not None else ()
    wrong = {family_of_result(result) for result in failures if result.kind != "timed_out"}
    return ", ".join(
        f"{family} {count}{'' if family in wrong else ' (timed out)'}" for family, count in record.families.items()
    )


def print_audit(records: Mapping[str, AuditRecord], left_out: Mapping[str, str], console: Console, target: str) -> None:
    """Print what failed, operator by operator, then the totals."""
    from rich.table import Table
    from rich.text import Text

    from bringup.audit import cases_digest, totals_of

    totals = totals_of(records.values())
    for record in records.values():
        if record.standing in {"failed", "not covered", "not judged"}:
            _print_failure(record, console)
    console.print()
    told = "trusted" if "trusted" in totals.standings or UNJUDGED not in totals.standings else UNJUDGED
    words = "trusted" if told == "trusted" else "without a judged gate; the audit passed by"
    headline = Text(f"{words} {totals.standings.get(told, 0)} of {totals.candidates} candidates", style="bold")
    headline.append(f" on {target}", style="default")
    for standing, count in totals.standings.items():
        if standing != told:
            headline.append(f", {count} {standing}", style=STYLES[standing])
    console.print(headline)
    console.print(
        Text(f"{totals.cases:,} cases of the audit judged, {totals.cases_failed:,} failed", style="dim"),
        soft_wrap=True,
    )
    if totals.families:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("family")
        table.add_column("failing cases", justify="right")
        table.add_column("operators", justify="right")
        for family, count in totals.families.items():
            table.add_row(family, f"{count:,}", str(totals.operators_by_family[family]))
        console.print(table)
    if totals.guards:
        words = ", ".join(f"{guard} {count}" for guard, count in totals.guards.items())
        console.print(Text(f"found by guards: {words}", style="dim"), soft_wrap=True)
    for reason, count in totals.skipped.items():
        console.print(Text(f"{count:,} cases not asked: {reason}", style="dim"), soft_wrap=True)
    older = sum(record.basis.cases != cases_digest() for record in records.values())
    if older:
        text = f"{older} audits were made with other cases than today's code builds: --again judges them anew"
        console.print(Text(text, style="yellow"), soft_wrap=True)
    for name, reason in list(left_out.items())[:5]:
        console.print(Text(f"not audited: {name}: {reason}", style="dim"), soft_wrap=True)
    if len(left_out) > 5:
        console.print(Text(f"not audited: {len(left_out) - 5} more", style="dim"))


def _print_failure(record: AuditRecord, console: Console) -> None:
    from rich.text import Text

    head = Text(f"\n{record.operator}", style="bold")
    head.append(f"  {record.standing}", style=STYLES[record.standing])
    if record.families:
        head.append(f"  {_families(record)}", style="dim")
    console.print(head, soft_wrap=True)
    if record.covered is False and record.gate is not None:
        where = f"{record.gate.case}: " if record.gate.case is not None else ""
        console.print(Text(f"  gate: {where}{record.gate.kind}: {record.gate.summary}"), soft_wrap=True)
    if record.fault:
        console.print(Text(f"  {_in_brief(record.fault)}"), soft_wrap=True)
        advice = "not stored: the same command judges it again"
        if len(record.fault.splitlines()) > 1:
            advice += "; --json has the whole error, to report it if it stays"
        console.print(Text(f"  {advice}", style="dim"), soft_wrap=True)
    titles = {str(result.case): result.title for result in record.audit.failures} if record.audit is not None else {}
    for example in record.examples:
        verdict = example.verdict
        where = str(verdict.case) if verdict.case is not None else ""
        guard = f" ({verdict.guard})" if verdict.guard else ""
        console.print(Text(f"  {titles.get(where) or example.family}  {where}", style="yellow"), soft_wrap=True)
        if verdict.call:
            console.print(Text(f"    {verdict.call}"), soft_wrap=True)
        console.print(Text(f"    {verdict.kind.replace('_', ' ')}{guard}: {verdict.summary}"), soft_wrap=True)
        if verdict.mismatch is not None and verdict.mismatch.first:
            first = verdict.mismatch.first[0]
            console.print(
                Text(f"    at {first.index}: expected {first.expected}, got {first.actual}", style="dim"),
                soft_wrap=True,
            )


def _in_brief(fault: str) -> str:
    """Return the first and the last line of a fault, which between them has a traceback or nothing."""
    lines = [line.strip() for line in fault.splitlines() if line.strip()]
    return lines[0] if len(lines) == 1 else f"{lines[0].rstrip(':')}: {lines[-1]}"


def run_publish(folder: Path, ops: Sequence[str], path: Path | None, *, most: int, jobs: int, as_json: bool) -> None:
    """Publish the failed cases of a stored audit, and say what can be done with them."""
    from rich.text import Text

    from bringup.audit import default_path, load_all, publish
    from bringup.cli._output import make_console, print_json
    from bringup.cli._runs import count
    from bringup.errors import ConfigError, UnknownName

    records = load_all(folder)
    if not records:
        raise ConfigError(str(folder), "holds no audit", "make one with `bringup audit`")
    for name in ops:
        if name not in records:
            raise UnknownName("operator", name, records, f"audit {folder}")
    chosen = [record for name, record in records.items() if not ops or name in ops]
    made = publish(chosen, path or default_path(chosen), most=most, jobs=jobs)
    if as_json:
        data = {"file": str(made.path), "cases": made.cases, "known": made.known, "missing": made.missing}
        print_json(data)
        print()
        return
    console = make_console()
    number = sum(len(cases) for cases in made.cases.values())
    for operator, cases in made.cases.items():
        console.print(Text(operator, style="bold"))
        for case in cases:
            console.print(Text(f"  {case}", style="dim"), soft_wrap=True)
    for operator, reason in made.missing.items():
        console.print(Text(f"{operator}: {reason}", style="yellow"), soft_wrap=True)
    known = f", {made.known} were published before" if made.known else ""
    console.print(Text(f"{count(number, 'case')} published in {made.path}{known}"), soft_wrap=True)
    if made.cases:
        names = ",".join(made.cases)
        console.print(
            Text(f"repair   bringup run --refine-from {folder} --additions {made.path} --ops {names}"), soft_wrap=True
        )


def report_data(records: Mapping[str, AuditRecord], left_out: Mapping[str, str], folder: Path | None) -> dict[str, Any]:
    """Return the report as data: totals, and every record with its standing."""
    from bringup.audit import totals_of

    return {
        "totals": totals_of(records.values()).model_dump(mode="json"),
        "folder": None if folder is None else str(folder),
        "left_out": dict(left_out),
        "operators": [
            {
                "standing": record.standing,
                "trusted": record.trusted,
                "families": record.families,
                "skipped": record.skipped,
                **record.model_dump(mode="json"),
            }
            for record in records.values()
        ],
    }
