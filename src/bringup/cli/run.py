"""`bringup run`: start a run, go on with one, or try its failures again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._ablations import WithoutOption, overrides_of
from bringup.cli._output import JsonOption, listed, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from rich.console import Console

    from bringup.config import ClientConfig, RunConfig
    from bringup.runs import RunResult

List = list[str] | None
FIXED = (
    "suite",
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
        List,
        typer.Option(
            "--ops",
            callback=listed,
            help="Operators: names, globs, @FILE, all, recorded, chosen, @plan[:N]; repeatable.",
        ),
    ] = None,
    skip: Annotated[
        List, typer.Option("--skip", help="Operators left out, as in --ops; with --resume, by this part of the run.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Target, NAME or NAME:PROFILE.")] = None,
    client: Annotated[
        str | None,
        typer.Option(
            metavar="NAME[:MODEL],...",
            help="What answers: openai, anthropic, recorded, mailbox, scripted, or a plug-in; with commas, a chain: "
            "the first makes the first attempt, the second the second, the last all further ones.",
        ),
    ] = None,
    client_path: Annotated[str | None, typer.Option(help="Recordings, mailbox folder or script of the client.")] = None,
    model: Annotated[str | None, typer.Option(help="Model name at the endpoint.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")] = None,
    suite: Annotated[str | None, typer.Option(help="Suite of operators.")] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Judge workers (default: as many as suit the machine and the target).")
    ] = None,
    sessions: Annotated[int | None, typer.Option(help="Operators under way at once.")] = None,
    dtype: Annotated[List, typer.Option(help="Only these dtypes (repeatable).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the cases.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts an operator.")] = None,
    calls: Annotated[int | None, typer.Option(help="Model calls an attempt.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Stop after this many tokens.")] = None,
    budget_money: Annotated[float | None, typer.Option(help="Stop after this much money (needs `prices`).")] = None,
    budget_seconds: Annotated[float | None, typer.Option(help="Stop after this many seconds.")] = None,
    refine_from: Annotated[str | None, typer.Option(help="Start from the kernels of a folder, library or run.")] = None,
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
    without: WithoutOption = None,
    settings: Annotated[
        List, typer.Option("--set", metavar="FIELD=VALUE", help="Any field: --set states.lint=false (repeatable).")
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a run.")] = None,
    retry_failed: Annotated[
        str | None, typer.Option(metavar="RUN", help="A new run with the operators that RUN did not cover.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The run's name, in its id after the time (default: two words).")
    ] = None,
    note: Annotated[str, typer.Option("--note", help="A remark, kept with the run and shown in lists.")] = "",
    store_url: Annotated[
        str | None,
        typer.Option(
            "--store-url",
            envvar="BRINGUP_STORE_URL",
            help="Database for the events instead of SQLite in the run's folder: several machines may work on one run.",
        ),
    ] = None,
    blobs_url: Annotated[
        str | None,
        typer.Option(
            "--blobs-url",
            envvar="BRINGUP_BLOBS_URL",
            help="Where the texts go instead of the run's folder: a folder or an fsspec URL, such as s3://BUCKET/runs.",
        ),
    ] = None,
    lease_seconds: Annotated[
        float,
        typer.Option(
            envvar="BRINGUP_LEASE_SECONDS",
            min=0.1,
            help="With --store-url: without a sign of life for so long, others take this process's sessions over.",
        ),
    ] = 60.0,
    runs_dir: RunsDirOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Plain log lines instead of the live table.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Take operators through generation, lint, compilation, tests and repair until they are covered.

    Without a model the recorded dialogs that ship with bringup are replayed. Ctrl-C stops cleanly: answers in
    flight are stored first; a second Ctrl-C stops at once; either way --resume goes on. Exit code 0 when every
    applicable operator is covered, 1 when not.
    """
    from bringup.cli._output import make_console

    given = {
        "ops": ops,
        "skip": skip,
        "target": target,
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
    overrides |= overrides_of(without)
    overrides |= dict(_setting(text) for text in settings or ())
    chain = _chain(client, model)
    called = {"name": name, "note": note}
    console = make_console(stderr=json_output)
    result = asyncio.run(
        _run(
            config_file,
            overrides,
            chain,
            resume,
            retry_failed,
            called,
            {"store_url": store_url, "blobs_url": blobs_url},
            lease_seconds,
            runs_dir,
            console,
            quiet or json_output,
        )
    )
    if json_output:
        print_json(_data(result))
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
    chain: list[tuple[str, str | None]],
    resume: str | None,
    retry_failed: str | None,
    called: dict[str, Any],
    store: dict[str, str | None],
    lease_seconds: float,
    runs_dir: Path | None,
    console: Console,
    quiet: bool,
) -> RunResult:
    from bringup.cli._runs import count, runs_root
    from bringup.config import load_config
    from bringup.errors import ConfigError
    from bringup.runs import Board, make_plan, runner, settled
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
        if any(called.values()):
            raise ConfigError("command line", "a run keeps its name", "`bringup runs note RUN TEXT` writes a note")
        folder = find_run(resume, root, store["store_url"])
        ops, skip = overrides.pop("ops", ()), overrides.pop("skip", ())
        changed = sorted({field for field in overrides if field.split(".")[0] in FIXED})
        if changed:
            raise ConfigError(
                "command line", f"{', '.join(changed)}: a run keeps what it began with", "start a new run"
            )
        with draw(board, f"going on with run {folder.name}", console) as observe:
            board.live = False
            return await runner.resume(
                folder,
                changes=lambda data: _chained(_merged(data, overrides), chain, overrides),
                ops=ops,
                skip=skip,
                lease_seconds=lease_seconds,
                observers=[_live_after_resume(board, observe)],
                notify=notify,
                signals=True,
            )
    parent = None
    if retry_failed:
        config, parent = _retry(find_run(retry_failed, root, store["store_url"]), overrides)
        config = _chained(config, chain, overrides)
    else:
        config = _chained(load_config(config_file, overrides), chain, overrides)
        config = _with_defaults(config, console)
    config = settled(config)
    plan = make_plan(config, root)
    who = ", then ".join(section.title if config.then else section.name for section in config.chain)
    title = f"{count(len(plan.operators), 'operator')} of {config.suite} on {config.target}, client {who}"
    if any(section.name == "mailbox" for section in config.chain):
        _say(console, "The prompts wait in a mailbox: answer them from another terminal, see bringup mailbox --help")
    board.live = True
    with draw(board, title, console) as observe:
        return await runner.start(
            config,
            root,
            plan=plan,
            parent=parent,
            **called,
            store_url=store["store_url"],
            blobs_url=store["blobs_url"],
            lease_seconds=lease_seconds,
            observers=[observe],
            notify=notify,
            signals=True,
        )


def _live_after_resume(board: Any, observe: Any) -> Any:
    """Return an observer that makes the board live from the `run_resumed` event of this process on."""
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


def _chain(client: str | None, model: str | None) -> list[tuple[str, str | None]]:
    """Read `NAME[:MODEL],...`; the model may come by `--model` where there is one client."""
    from bringup.errors import ConfigError

    if client is None:
        return [("", model)] if model else []
    links = []
    for text in client.split(","):
        name, colon, own = (part.strip() for part in text.partition(":"))
        if not name or (colon and not own):
            raise ConfigError(f"--client {client}", f"'{text}' is not NAME or NAME:MODEL")
        links.append((name, own or None))
    if model is not None:
        if len(links) > 1 or links[0][1] is not None:
            raise ConfigError("--model", "the clients of --client have their models", "write NAME:MODEL for each")
        links = [(links[0][0], model)]
    return links


def _chained(config: RunConfig, chain: list[tuple[str, str | None]], overrides: dict[str, Any]) -> RunConfig:
    """Put the chain of the command line into a configuration.

    A client that the configuration describes keeps its settings, but for the model: two models of one endpoint are
    the usual chain. Of another client's it keeps how replies are sampled and tried again, and not where they come from.
    """
    if not chain:
        return config
    base = config.client
    known = base.name if "name" in base.model_fields_set else None
    given = {field.removeprefix("client.") for field in overrides}  # what this command line says is for the first
    sections: list[ClientConfig] = []
    for name, model in chain:
        update: dict[str, Any] = {"name": name} if name else {}
        if known is not None and name not in ("", known):
            kept = given if not sections else set()
            update |= {field: value for field, value in _PLACE.items() if field not in kept}
        if model is not None:
            update["model"] = model
        section = base.model_copy(update=update)
        if not sections:
            base, known = section, section.name
        sections.append(section)
    return config.model_copy(update={"client": sections[0], "then": tuple(sections[1:])})


_PLACE: dict[str, Any] = {"model": None, "base_url": None, "key_variable": None, "path": None, "options": {}}


def _setting(text: str) -> tuple[str, Any]:
    """Read FIELD=VALUE; the value is YAML."""
    import yaml

    from bringup.errors import ConfigError, not_yaml

    field, equals, value = text.partition("=")
    if not equals or not field.strip():
        raise ConfigError(f"--set {text}", "is not FIELD=VALUE", "for example --set states.lint=false")
    try:
        return field.strip(), yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {text}", f"the value: {not_yaml(error)}") from error


def _data(result: RunResult) -> dict[str, Any]:
    from bringup.cli._runs import failing_by_verdict, outcome_counts

    return {
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
