"""`bringup run`: start a run, go on with one, or try its failures again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._runs import JsonOption, RunsDirOption

if TYPE_CHECKING:
    from rich.console import Console

    from bringup.config import RunConfig
    from bringup.runs import RunResult

List = list[str] | None
FIXED = (
    "suite",
    "ops",
    "target",
    "dtypes",
    "seed",
    "additions",
    "refine_from",
)  # what a run cannot change once it has begun


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run)


def run(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.yaml]", help="Configuration; options win over it.")
    ] = None,
    ops: Annotated[
        List, typer.Option("--ops", help="Operators: names, globs, @FILE, all, recorded; repeatable, or with commas.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target, NAME or NAME:PROFILE.")] = None,
    client: Annotated[
        str | None, typer.Option(help="What answers: openai, anthropic, recorded, mailbox, scripted, or a plug-in.")
    ] = None,
    client_path: Annotated[str | None, typer.Option(help="Recordings, mailbox folder or script of the client.")] = None,
    model: Annotated[str | None, typer.Option(help="Model name at the endpoint.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")] = None,
    suite: Annotated[str | None, typer.Option(help="Suite of operators.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Judge workers.")] = None,
    sessions: Annotated[int | None, typer.Option(help="Operators under way at once.")] = None,
    dtype: Annotated[List, typer.Option(help="Only these dtypes (repeatable).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the cases.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts an operator.")] = None,
    calls: Annotated[int | None, typer.Option(help="Model calls an attempt.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Stop after this many tokens.")] = None,
    budget_money: Annotated[float | None, typer.Option(help="Stop after this much money (needs `prices`).")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    refine_from: Annotated[str | None, typer.Option(help="Start from the kernels of a folder (OP.py) or run.")] = None,
    additions: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Published audit cases that join the gate (bringup audit publish)."),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Judge all cases of a candidate, not only up to the first failure.")
    ] = False,
    without_guard: Annotated[
        List, typer.Option("--without-guard", metavar="ID", help="Switch a guard of the judge off (ablations).")
    ] = None,
    settings: Annotated[
        List, typer.Option("--set", metavar="FIELD=VALUE", help="Any field: --set states.lint=false (repeatable).")
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run.")] = None,
    retry_failed: Annotated[
        str | None, typer.Option(metavar="RUN", help="A new run with the operators that RUN did not cover.")
    ] = None,
    store_url: Annotated[
        str | None,
        typer.Option("--store-url", envvar="BRINGUP_STORE_URL", help="Database instead of SQLite in the run's folder."),
    ] = None,
    runs_dir: RunsDirOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Plain log lines instead of the live table.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Take operators through generation, lint, compilation, tests and repair until they are covered.

    Without a model the recorded dialogs that ship with bringup are replayed. Ctrl-C stops cleanly: answers in
    flight are stored first; a second Ctrl-C stops at once; either way --resume goes on. Exit code 0 when every
    applicable operator is covered, 1 when not.
    """
    from bringup.cli._runs import make_console

    given = {
        "ops": ops,
        "target": target,
        "client.name": client,
        "client.path": client_path,
        "client.model": model,
        "client.base_url": base_url,
        "suite": suite,
        "jobs": jobs,
        "sessions": sessions,
        "dtypes": dtype,
        "seed": seed,
        "attempts.attempts": attempts,
        "attempts.calls": calls,
        "budget.tokens": budget_tokens,
        "budget.money": budget_money,
        "budget.seconds": budget_seconds,
        "refine_from": refine_from,
        "additions": additions,
        "judge.keep_going": keep_going or None,
        "judge.without_guards": without_guard or None,
    }
    overrides = {field: value for field, value in given.items() if value is not None}
    overrides |= dict(_setting(text) for text in settings or ())
    console = make_console(stderr=json_output)
    result = asyncio.run(
        _run(config_file, overrides, resume, retry_failed, store_url, runs_dir, console, quiet or json_output)
    )
    if json_output:
        typer.echo(_json(result))
    else:
        from bringup.cli._runs import print_result

        print_result(result, console)
    if result.fault is not None:
        raise result.fault
    if not result.complete:
        raise typer.Exit(1)


async def _run(
    config_file: Path | None,
    overrides: dict[str, Any],
    resume: str | None,
    retry_failed: str | None,
    store_url: str | None,
    runs_dir: Path | None,
    console: Console,
    quiet: bool,
) -> RunResult:
    from bringup.cli._runs import count, runs_root
    from bringup.config import load_config
    from bringup.errors import ConfigError
    from bringup.runs import Board, make_plan, runner
    from bringup.runs.progress import lines, live
    from bringup.store import find_run

    def notify(line: str) -> None:
        _say(console, line)

    root = runs_root(runs_dir)
    if resume and retry_failed:
        raise ConfigError("command line", "--resume and --retry-failed exclude each other")
    if (resume or retry_failed) and config_file is not None:
        raise ConfigError("command line", f"{config_file}: the run has its own configuration", "use --set for changes")
    board = Board()
    draw = lines if quiet or not console.is_terminal else live
    if resume:
        folder = find_run(resume, root)
        changed = sorted({field for field in overrides if field.split(".")[0] in FIXED})
        if changed:
            raise ConfigError(
                "command line", f"{', '.join(changed)}: a run keeps what it began with", "start a new run"
            )
        with draw(board, f"going on with run {folder.name}", console) as observe:
            board.live = False
            return await runner.resume(
                folder,
                changes=lambda data: _merged(data, overrides),
                observers=[_enliven(board, observe)],
                notify=notify,
                signals=True,
            )
    parent = None
    if retry_failed:
        config, parent = _retry(find_run(retry_failed, root), overrides)
    else:
        config = _with_defaults(load_config(config_file, overrides), console)
    plan = make_plan(config, root)
    title = (
        f"{count(len(plan.operators), 'operator')} of {config.suite} on {config.target}, client {config.client.name}"
    )
    if config.client.name == "mailbox":
        _say(console, "The prompts wait in a mailbox: answer them from another terminal, see bringup mailbox --help")
    board.live = True
    with draw(board, title, console) as observe:
        return await runner.start(
            config,
            root,
            plan=plan,
            parent=parent,
            store_url=store_url,
            observers=[observe],
            notify=notify,
            signals=True,
        )


def _enliven(board: Any, observe: Any) -> Any:
    """Feed earlier events silently: the run is live from its `run_resumed` event of this process on."""
    import os

    def feed(stored: Any) -> None:
        if stored.event.kind == "run_resumed" and stored.event.pid == os.getpid():
            board.live = True
        observe(stored)

    return feed


def _say(console: Console, line: str) -> None:
    from rich.text import Text

    console.print(Text(line), soft_wrap=True)


def _with_defaults(config: RunConfig, console: Console) -> RunConfig:
    """Fill in what was left open: an endpoint means the client `openai`; no model means recorded dialogs."""
    client = config.client
    if "name" not in client.model_fields_set:
        if client.model or client.base_url:
            client = client.model_copy(update={"name": "openai"})
            config = config.model_copy(update={"client": client})
        else:
            _say(
                console,
                "No model is configured: replaying recorded dialogs (client `recorded`). To ask a model: "
                "bringup run --client openai --base-url URL --model NAME",
            )
    if client.name == "recorded" and "ops" not in config.model_fields_set:
        config = config.model_copy(update={"ops": ("recorded",)})
    return config


def _merged(data: dict[str, Any], overrides: dict[str, Any]) -> RunConfig:
    """Return the stored configuration with the options of this command line."""
    from bringup.config import load_config

    return load_config(None, {**_flat(data), **overrides})


def _flat(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested sections as dotted fields; `prices` and `options` are values, their keys may hold dots."""
    flat: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, dict) and value and key not in {"prices", "options"}:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _retry(folder: Path, overrides: dict[str, Any]) -> tuple[RunConfig, str]:
    """Return the configuration for the operators that the run in `folder` did not cover."""
    from bringup.errors import ConfigError
    from bringup.store import open_run

    with open_run(folder) as old:
        failed = [s.operator for s in old.summaries().values() if s.applicable and not s.covered]
        data = old.config()
    if not failed:
        raise ConfigError(f"run {folder.name}", "every applicable operator is covered", "nothing to try again")
    return _merged(dict(data), {"ops": failed, **overrides}), folder.name


def _setting(text: str) -> tuple[str, Any]:
    """Read FIELD=VALUE; the value is YAML."""
    import yaml

    from bringup.errors import ConfigError

    field, equals, value = text.partition("=")
    if not equals or not field.strip():
        raise ConfigError(f"--set {text}", "is not FIELD=VALUE", "for example --set states.lint=false")
    try:
        return field.strip(), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {text}", "the value is not valid YAML") from error


def _json(result: RunResult) -> str:
    import json

    from bringup.cli._runs import failing_by_verdict, outcome_counts

    data = {
        "run": result.run,
        "folder": str(result.folder),
        "asked": result.asked,
        "applicable": result.applicable,
        "covered": result.covered,
        "interrupted": result.interrupted,
        "states": outcome_counts(result.summaries),
        "not_covered_by_verdict": failing_by_verdict(result.summaries),
        "excluded": result.excluded,
        "operators": {name: s.model_dump(mode="json", exclude={"turns"}) for name, s in result.summaries.items()},
    }
    return json.dumps(data, indent=1)
