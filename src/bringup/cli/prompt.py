"""`bringup prompt`: show what a model is told in any situation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._ablations import WithoutOption, overrides_of
from bringup.cli._output import JsonOption, print_json

if TYPE_CHECKING:
    from bringup.candidate import Candidate
    from bringup.dialect import Dialect
    from bringup.operators import DocNode, Operator, PromptWords
    from bringup.prompts import Prompt
    from bringup.verdict import Verdict


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("prompt")(prompt)


def prompt(
    op: Annotated[str, typer.Argument(help="Operator, as `bringup ops list` names it.")],
    situation: Annotated[
        str,
        typer.Option(
            help="first, refine, format_error, lint, compile, crash, wrong, raised, timed_out, cheated, again, "
            "summarise, system, expand, remember or look_up."
        ),
    ] = "first",
    target: Annotated[str, typer.Option(help="Target, NAME or NAME:PROFILE.")] = "vpe:pe64",
    suite: Annotated[str, typer.Option(help="Suite that the operator belongs to.")] = "opinfo",
    candidate: Annotated[
        Path | None, typer.Option(help="Candidate or reply: what refine, lint and format_error are about.")
    ] = None,
    verdict: Annotated[
        Path | None, typer.Option(help="Verdict as JSON (`bringup test ... --json`); chooses the situation too.")
    ] = None,
    dtype: Annotated[list[str] | None, typer.Option(help="Only these dtypes (repeatable).")] = None,
    compile_for: Annotated[
        list[str] | None, typer.Option(help="Also for these, as `judge.compile_for` says (cuda:sm_90, hip:gfx942).")
    ] = None,
    without: WithoutOption = None,
    stats: Annotated[bool, typer.Option("--stats", help="Print size, token estimate and digest instead.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Render the prompt of a situation. Where nothing is given to report on, a realistic sample is used and marked."""

    from bringup.candidate import FormatProblem
    from bringup.cli._judging import check_dtypes
    from bringup.config import load_config
    from bringup.errors import ConfigError
    from bringup.linter import lint
    from bringup.prompts import SITUATION_OF, SITUATIONS, PromptBook, samples
    from bringup.suites import get_suite
    from bringup.targets import get_target, options_of

    source = get_suite(suite)
    check_dtypes(dtype, source)
    operator = source.operator(op)
    dialect = get_target(target).dialect()
    shown_parts = load_config(None, overrides_of(without)).prompts
    beside = {one: options_of(one) for one in _checked(compile_for or ())}
    book = PromptBook(dialect, target, source.docs, dtype, source.words, shown_parts, beside)
    given = None if verdict is None else _read_verdict(verdict)
    if given is not None and situation == "first":
        situation = "lint" if given.kind == "lint" else SITUATION_OF.get(given.kind, given.kind)
    if situation not in SITUATIONS:
        raise ConfigError(f"--situation {situation}", "no such situation", f"use one of {', '.join(SITUATIONS)}")
    sample = False
    if situation == "first":
        result = book.first(operator)
    elif situation == "refine":
        sample = candidate is None
        module = samples.candidate(dialect) if candidate is None else _candidate(candidate)
        result = book.refine(operator, module, None if given is None else book.verdict(operator, given))
    elif situation == "again":
        sample = given is None
        failed = samples.verdict("wrong", operator) if given is None else given
        result = book.again(operator, book.verdict(operator, failed), repeats=1)
    elif situation == "system":
        result = book.system()
    elif situation in {"expand", "remember", "look_up"}:
        sample = True
        result = _of_search(situation, operator, source.docs(op), dialect, target, dtype, source.words)
    elif situation == "summarise":
        sample = given is None
        result = book.summarise(operator, samples.log() if given is None else given.log)
    elif situation == "format_error":
        from bringup.cli.lint import read

        sample = candidate is None
        problem = samples.problem() if candidate is None else read(candidate)
        if not isinstance(problem, FormatProblem):
            raise ConfigError(str(candidate), "it is well-formed", "there is no format error to report")
        result = book.format_error(operator, problem)
    elif situation == "lint":
        if given is not None:
            violations = given.violations
        elif candidate is not None:
            violations = tuple(lint(_candidate(candidate), dialect, operator))
            if not violations:
                raise ConfigError(str(candidate), "the linter finds nothing", "there is no report to render")
        else:
            sample = True
            violations = samples.violations(dialect, operator)
        result = book.lint(operator, violations)
    else:
        sample = given is None
        shown = samples.verdict(situation, operator) if given is None else given
        debugger = samples.debugger() if sample and situation == "crash" else None
        if SITUATION_OF.get(shown.kind) != situation:
            raise ConfigError(
                str(verdict),
                f"its kind is '{shown.kind}', not {situation}",
                "leave --situation out to follow the verdict",
            )
        result = book.verdict(operator, shown, debugger)
    record = {
        "situation": situation,
        "template": result.template,
        "template_digest": result.template_digest,
        "characters": len(result.text),
        "tokens_estimate": result.tokens,
        "sample": sample,
    }
    if json_output:
        print_json(record if stats else {**record, "text": result.text})
        return
    if stats:
        for name, value in record.items():
            typer.echo(f"{name:16} {value}")
        return
    if sample:
        typer.echo("note: what this prompt reports is a sample, not a real result", err=True)
    typer.echo(result.text, nl=False)


def _of_search(
    situation: str,
    operator: Operator,
    docs: list[DocNode],
    dialect: Dialect,
    target: str,
    dtypes: list[str] | None,
    words: PromptWords,
) -> Prompt:
    """Return a prompt of a search, with sample material."""
    from bringup.prompts import render, samples

    known: dict[str, Any] = {"operator": operator, "target": target, "shown": (samples.shown(dialect),)}
    told = {"ancestors": samples.tried()[:1], "siblings": samples.tried()[1:2], "best": 1.32, "against": "the start"}
    directives = "**Next**: load each row once, and keep it for both passes."
    if situation == "look_up":
        index = "guidance/performance/memory.md: Moving fewer bytes [any; memory]"
        return render("look_up", **known, index=index, most=4, directives=directives)
    if situation == "remember":
        return render("remember", **known, **told)
    asked = tuple(one for one in operator.dtypes if dtypes is None or one in dtypes)
    return render(
        "expand", **known, **told, docs=tuple(docs), dialect=dialect, dtypes=asked, words=words, directives=directives,
        cases=("wrapper(Tensor[f32, 4096x512])",), hardware=("memory: local bytes 1048576",),
    )  # fmt: skip


def _candidate(file: Path) -> Candidate:
    from bringup.candidate import FormatProblem
    from bringup.cli.lint import read
    from bringup.errors import FormatError

    found = read(file)
    if isinstance(found, FormatProblem):
        raise FormatError(f"{file}: {found.explanation}")
    return found


def _read_verdict(file: Path) -> Verdict:
    from pydantic import ValidationError

    from bringup.errors import FormatError
    from bringup.verdict import Verdict

    try:
        return Verdict.model_validate_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FormatError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValidationError, UnicodeDecodeError) as error:
        first = error.errors()[0] if isinstance(error, ValidationError) else None
        where = ".".join(str(p) for p in first["loc"]) if first else ""
        what = f"{where or 'content'}: {first['msg']}" if first else "not UTF-8 text"
        raise FormatError(f"{file}: not a verdict: {what}; make one with bringup test ... --json") from error


def _checked(toolchains: Sequence[str]) -> Sequence[str]:
    from bringup.errors import ConfigError
    from bringup.targets import gpu_target

    for one in toolchains:
        try:
            gpu_target(one)
        except ValueError as error:
            raise ConfigError("--compile-for", str(error)) from None
    return toolchains
