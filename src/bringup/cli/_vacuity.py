"""What `bringup audit vacuity` does and prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from bringup.audit import Choices, OperatorResult
    from bringup.operators import Operator


def run_vacuity(
    patterns: Sequence[str],
    suite: str,
    *,
    every: bool,
    adding: str | None,
    out: str | None,
    jobs: int,
    as_json: bool,
) -> bool:
    """Make and print the table, with `adding` after closing the gates; return whether every gate proves something."""
    from bringup.audit import additions_path, forget_choices, survey
    from bringup.cli._output import make_console, print_json
    from bringup.cli._progress import Bar
    from bringup.suites import get_suite, select

    console = make_console(stderr=as_json)
    if adding and not out:
        additions_path(suite)  # raises before the work is done
    if adding == "anew":
        number = forget_choices(suite, Path(out) if out else None)
        console.print(f"{number:,} cases taken out", highlight=False)
    operators = [op for op in select(get_suite(suite), patterns) if op.exclusion is None]
    with Bar("judging trivial candidates") as bar:
        results = survey(suite, operators, jobs=jobs, progress=bar)
    choices: list[Choices] = []
    if adding:
        results, choices, operators = _add(results, suite, operators, out, jobs, console)
    broken = [result for result in results.values() if result.error]
    still_open = {name: found for name, result in results.items() if (found := result.open())}
    if as_json:
        print_json(_data(results, operators, choices))
        print()
    else:
        _print(results, operators, every, console)
    return not broken and not still_open


def _add(
    results: dict[str, OperatorResult],
    suite: str,
    operators: Sequence[Operator],
    out: str | None,
    jobs: int,
    console: Console,
) -> tuple[dict[str, OperatorResult], list[Choices], list[Operator]]:
    """Choose and write down cases, then judge the changed gates again."""
    from bringup.audit import add_choices, choose, survey
    from bringup.cli._progress import Bar
    from bringup.suites import get_suite

    with Bar("choosing audit cases") as bar:
        choices = choose(suite, results.values(), jobs=jobs, progress=bar)
    path, number = add_choices(choices, suite, Path(out) if out else None)
    console.print(f"{number:,} cases of the audit added to {path}", highlight=False, soft_wrap=True)
    if not number or (out and suite != f"opinfo:{out}"):
        return results, choices, list(operators)
    source = get_suite(suite)
    operators = [source.operator(op.name) for op in operators]
    with Bar("judging the changed gates") as bar:
        return survey(suite, operators, jobs=jobs, progress=bar), choices, operators


def _by_candidate(result: OperatorResult, found: Mapping[str, Sequence[str]]) -> str:
    """Return the candidates of {dtype: candidates}, those of some dtypes only after the dtypes' names."""
    from bringup.audit import TRIVIAL
    from bringup.cli._runs import short_dtype

    groups: dict[tuple[str, ...], list[str]] = {}
    for trivial in TRIVIAL:
        dtypes = tuple(dtype for dtype in result.judged if trivial in found.get(dtype, ()))
        if dtypes:
            groups.setdefault(dtypes, []).append(trivial)
    return "; ".join(
        ("" if len(dtypes) == len(result.judged) else f"{' '.join(short_dtype(d) for d in dtypes)}: ")
        + ", ".join(names)
        for dtypes, names in groups.items()
    )


def _print(results: dict[str, OperatorResult], operators: Sequence[Operator], every: bool, console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    from bringup.audit import TRIVIAL

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("operator", no_wrap=True)
    for name in ("cases", "added"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("candidates that pass the suite's own cases", overflow="fold")
    table.add_column("with the added cases", overflow="fold")
    for operator in operators:
        result = results[operator.name]
        alone, partly = result.alone, result.partly()
        if not every and not alone and not partly and not result.error:
            continue
        table.add_row(
            operator.name,
            str(_own_cases(operator, result)),
            str(operator.cases_added or ""),
            _by_candidate(result, {dtype: found.alone for dtype, found in result.judged.items()}),
            _standing(result),
        )
    console.print(table)
    console.print()
    _print_totals(results, operators, console)
    console.print(Text("\ncandidates:", style="dim"))
    for name, meaning in TRIVIAL.items():
        console.print(Text(f"  {name:15} {meaning}", style="dim"))


def _own_cases(operator: Operator, result: OperatorResult) -> int:
    """Return the cases of the suite's own source: those that were built, since some suites only know a bound before."""
    if result.dtypes:
        return sum(found.own for found in result.dtypes.values())
    return sum(operator.own_counts.values())


def _standing(result: OperatorResult) -> Any:
    from rich.text import Text

    if result.error:
        return Text(f"not judged: {result.error}", style="red")
    still_open = result.open()
    if still_open:
        return Text(f"passes: {_by_candidate(result, still_open)}", style="red")
    reasons = dict.fromkeys(
        reason
        for dtype, found in result.judged.items()
        for trivial in found.now
        if (reason := result.definition(dtype, trivial)) is not None
    )
    if reasons:
        return Text(f"by definition: {'; '.join(reasons)}", style="dim")
    return Text("refused" if result.alone or result.partly() else "", style="green")


def totals(results: dict[str, OperatorResult], operators: Sequence[Operator]) -> dict[str, Any]:
    """Return the figures below the table."""
    from bringup.audit import TRIVIAL

    judged = [r for r in results.values() if r.judged]
    alone = [r for r in judged if r.alone]
    meant = [r for r in judged if r.meaningful(r.alone)]
    return {
        "operators": len(results),
        "judged": len(judged),
        "cases": sum(_own_cases(op, results[op.name]) for op in operators),
        "added": sum(op.cases_added for op in operators),
        "vacuous": len(alone),
        "by_definition": len(alone) - len(meant),
        "vacuous_values": sum(bool(set(r.meaningful(r.alone)) - {"constant-shape"}) for r in judged),
        "vacuous_in_some_dtype": sum(any(r.meaningful(d.alone) for d in r.judged.values()) for r in judged),
        "by_candidate": {t: sum(t in r.alone for r in judged) for t in TRIVIAL},
        "meant_by_candidate": {t: sum(t in r.meaningful(r.alone) for r in judged) for t in TRIVIAL},
        "open": sum(bool(r.open()) for r in judged),
    }


def _print_totals(results: dict[str, OperatorResult], operators: Sequence[Operator], console: Console) -> None:
    from rich.text import Text

    t = totals(results, operators)
    lines = [
        f"{t['operators']:,} operators, {t['cases']:,} cases of the suite's source + {t['added']:,} added; "
        f"{t['operators'] - t['judged']} operators compare no values",
        f"the source's cases alone are vacuous in {t['vacuous']} operators, {t['by_definition']} of them trivial by "
        f"definition; of the other {t['vacuous'] - t['by_definition']} the values are not tested in "
        f"{t['vacuous_values']}, only the shape in {t['vacuous'] - t['by_definition'] - t['vacuous_values']}",
        f"counting single dtypes: vacuous in at least one dtype of {t['vacuous_in_some_dtype']} operators",
        "by candidate (not by definition): "
        + ", ".join(f"{name} {count}" for name, count in t["meant_by_candidate"].items()),
    ]
    for line in lines:
        console.print(Text(line), soft_wrap=True)
    _print_stale(results, console)
    if t["open"]:
        console.print(
            Text(f"open: {t['open']} gates; close them with bringup audit vacuity --add", style="bold red"),
            soft_wrap=True,
        )
    else:
        console.print(Text("with the added cases every gate refuses every candidate", style="bold green"))


def _print_stale(results: dict[str, OperatorResult], console: Console) -> None:
    """Name marks 'by definition' that some case refutes: then the reason is wrong."""
    from rich.text import Text

    from bringup.audit import stale_definitions

    for operator, dtype, trivial, index in stale_definitions(results):
        text = f"marked as {trivial} by definition, but case {operator}[{dtype}:{index}] refuses it: correct the mark"
        console.print(Text(text, style="yellow"), soft_wrap=True)


def _data(
    results: dict[str, OperatorResult], operators: Sequence[Operator], choices: Sequence[Choices]
) -> dict[str, Any]:
    return {
        "totals": totals(results, operators),
        "operators": [
            {
                **result.model_dump(mode="json"),
                "passing_own_cases": result.alone,
                "passing_own_cases_in": result.partly(),
                "open": result.open(),
            }
            for result in results.values()
        ],
        "chosen": [choice.model_dump(mode="json") for choice in choices],
    }
