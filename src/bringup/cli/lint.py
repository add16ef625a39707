"""`bringup lint`: check a candidate against a target's dialect without running it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bringup.cli._output import JsonOption, make_console, print_json

if TYPE_CHECKING:
    from bringup.candidate import Candidate, FormatProblem
    from bringup.verdict import Violation


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lint")(lint)


def lint(
    file: Annotated[
        Path | None, typer.Argument(help="Candidate: a module (.py), or a model's reply (.md, .txt). '-' reads stdin.")
    ] = None,
    target: Annotated[str, typer.Option(help="Target whose dialect applies, NAME or NAME:PROFILE.")] = "vpe:pe64",
    op: Annotated[
        str | None, typer.Option(help="Operator: also checks signature and whether a kernel is needed.")
    ] = None,
    suite: Annotated[str, typer.Option(help="Suite that the operator belongs to.")] = "opinfo",
    rules: Annotated[str, typer.Option(help="full, or paper: the narrower rule set of the published linter.")] = "full",
    list_rules: Annotated[
        bool, typer.Option("--list-rules", help="List the rules, the target's own too, and exit.")
    ] = False,
    json_output: JsonOption = False,
) -> None:
    """Lint a candidate. Exit code 0 when it is clean, 1 when it breaks a rule."""

    from bringup.candidate import FormatProblem
    from bringup.errors import ConfigError
    from bringup.linter import RuleSet, rules_for
    from bringup.linter import lint as run_linter

    if rules not in ("full", "paper"):
        raise ConfigError(f"--rules {rules}", "no such rule set", "use full or paper")
    rule_set: RuleSet = "paper" if rules == "paper" else "full"
    from bringup.targets import get_target

    if not list_rules and file is None:
        raise ConfigError("lint", "no file given", "give a candidate's file, or '-' for stdin")
    dialect = get_target(target).dialect()
    if list_rules or file is None:
        _print_rules({r.id: r.title for r in rules_for(dialect, rule_set)}, json_output)
        return
    operator = None
    if op is not None:
        from bringup.suites import get_suite

        operator = get_suite(suite).operator(op)
    found = read(file)
    if isinstance(found, FormatProblem):
        violations = [_as_violation(found)]
        lines: list[str] = []
    else:
        violations = run_linter(found, dialect, operator, rule_set)
        lines = found.source.splitlines()
    if json_output:
        record = {
            "file": str(file),
            "target": target,
            "operator": op,
            "rules": rules,
            "violations": [v.model_dump() for v in violations],
        }
        print_json(record)
    else:
        _print(str(file), violations, lines)
    if violations:
        raise typer.Exit(1)


def read(file: Path) -> Candidate | FormatProblem:
    """Read a candidate: a reply when the text holds a fence and the file is no .py, else a bare module."""
    import sys

    from bringup.candidate import parse_module, parse_reply
    from bringup.errors import FormatError

    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{file}: not UTF-8 text: {error.reason} at byte {error.start}") from error
    reply = file.suffix != ".py" and any(line.lstrip().startswith(("```", "~~~")) for line in text.splitlines())
    return parse_reply(text) if reply else parse_module(text)


def _as_violation(problem: FormatProblem) -> Violation:
    from bringup.verdict import Violation

    message, _, rest = problem.explanation.partition("\n")
    return Violation(
        rule=f"format-{problem.kind.replace('_', '-')}",
        message=message,
        line=problem.line or 1,
        column=(problem.column or 1) - 1,
        source=problem.source or rest.strip(),
    )


def _print(name: str, violations: list[Violation], lines: list[str]) -> None:
    from rich.text import Text

    console = make_console()
    for violation in violations:
        head = Text(f"{name}:{violation.line}:{violation.column + 1}: ")
        head.append(f"[{violation.rule}] ", style="bold red")
        head.append(violation.message)
        console.print(head)
        in_range = 0 < violation.line <= len(lines)
        source = lines[violation.line - 1] if in_range else violation.source
        if source.strip():
            margin = f"{violation.line:>5} | "
            console.print(Text(margin, style="dim") + Text(source.rstrip()), soft_wrap=True)
            if in_range:
                console.print(Text(" " * (len(margin) + violation.column) + "^", style="red"), soft_wrap=True)
        if violation.advice:
            console.print(Text(f"        {violation.advice}", style="cyan"))
    if violations:
        rules = len({v.rule for v in violations})
        count = len(violations)
        console.print(
            f"[bold red]{count} violation{'s' if count > 1 else ''}[/] of {rules} rule{'s' if rules > 1 else ''}"
        )
    else:
        console.print("[bold green]clean[/]")


def _print_rules(rules: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json(rules)
        return
    from rich.table import Table

    table = Table("rule", "demands")
    for identifier, title in rules.items():
        table.add_row(identifier, title)
    make_console().print(table)
