"""`bringup tune`: search for a faster kernel of one operator, or go on with a search."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from rich.console import Console

    from bringup.config import RunConfig
    from bringup.search.running import SearchResult

List = list[str] | None
FIXED = ("suite", "target", "dtypes", "seed", "ops", "search.cases", "search.start", "search.against", "search.warm")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    op: Annotated[str | None, typer.Argument(metavar="[OP|FILE]", help="Operator, or a file with a problem.")] = None,
    target: Annotated[str | None, typer.Option(help="Target, NAME or NAME:PROFILE.")] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="What is tried next: see `bringup policies`. Default: greedy, without a client parameters."),
    ] = None,
    option: Annotated[
        List, typer.Option("--option", "-o", metavar="NAME=VALUE", help="A parameter of the policy (repeatable).")
    ] = None,
    client: Annotated[
        str | None, typer.Option(metavar="NAME[:MODEL]", help="Who writes kernels: openai, anthropic, mailbox, ...")
    ] = None,
    client_path: Annotated[str | None, typer.Option(help="Recordings, mailbox folder or script of the client.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible endpoint.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Candidates to make beside the start.")] = None,
    drafts: Annotated[int | None, typer.Option(min=0, help="Of them first, independent samples.")] = None,
    memory: Annotated[str | None, typer.Option(help="What an expansion is told: none, parent, siblings, both.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes.")] = None,
    target_speedup: Annotated[float | None, typer.Option(help="Stop at this fitness.")] = None,
    stall: Annotated[int | None, typer.Option(min=1, help="Stop after so many nodes without a better one.")] = None,
    budget_tokens: Annotated[int | None, typer.Option(help="Stop after this many tokens.")] = None,
    budget_money: Annotated[float | None, typer.Option(help="Stop after this much money (needs `prices`).")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Nodes under way at once.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Judge workers (default: as many as workers).")] = None,
    start: Annotated[Path | None, typer.Option(metavar="FILE.py", help="Kernel to start from.")] = None,
    warm: Annotated[int | None, typer.Option(min=0, help="Further stored kernels to begin with.")] = None,
    suite: Annotated[str | None, typer.Option(help="Suite that the operator belongs to.")] = None,
    shapes: Annotated[
        Path | None,
        typer.Option(metavar="FILE.yaml", help="Calls to time (docs/problems.md); default: the shipped ones."),
    ] = None,
    case: Annotated[
        List, typer.Option("--case", metavar="DTYPE:INDEX", help="Case to time (repeatable; default: the largest).")
    ] = None,
    dtype: Annotated[List, typer.Option(help="Only these dtypes (repeatable).")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the cases and of the policy.")] = None,
    against: Annotated[List, typer.Option(help="Baseline: eager, compile, start (repeatable).")] = None,
    helpers: Annotated[
        bool | None, typer.Option("--helpers/--no-helpers", help="The two helper calls before an expansion.")
    ] = None,
    knowledge: Annotated[List, typer.Option(help="Folder of knowledge files beside the shipped ones.")] = None,
    config_file: Annotated[
        Path | None, typer.Option("--config", metavar="CONFIG.yaml", help="Configuration; options win over it.")
    ] = None,
    settings: Annotated[
        List, typer.Option("--set", metavar="FIELD=VALUE", help="Any field: --set search.restart=5 (repeatable).")
    ] = None,
    resume: Annotated[str | None, typer.Option(metavar="RUN", help="Go on with a search, or join it.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="The run's name, in its id after the time.")] = None,
    note: Annotated[str, typer.Option("--note", help="A remark, kept with the run.")] = "",
    store_url: Annotated[
        str | None,
        typer.Option("--store-url", envvar="BRINGUP_STORE_URL", help="Database that several machines share."),
    ] = None,
    blobs_url: Annotated[
        str | None, typer.Option("--blobs-url", envvar="BRINGUP_BLOBS_URL", help="Where the texts go then.")
    ] = None,
    lease_seconds: Annotated[
        float, typer.Option(min=0.1, help="Without a sign of life for so long, other processes take nodes over.")
    ] = 15.0,
    runs_dir: RunsDirOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Plain lines instead of the live view.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Search for a faster kernel of an operator; the best so far is shown while it runs.

    Without a client no model is asked: the built-in tuner varies what the kernel's own source leaves open. The start
    is the recorded kernel of the operator, or --start. Ctrl-C stops cleanly, and --resume goes on; the same command in
    a second terminal joins the search. Exit code 0 when a kernel faster than the start was found, 1 when not.
    """
    from bringup.cli._output import make_console

    given = {
        "target": target,
        "search.policy": policy,
        "search.options": _options(option),
        "client.path": client_path,
        "client.base_url": base_url,
        "search.nodes": nodes,
        "search.drafts": drafts,
        "search.memory": memory,
        "budget.seconds": None if minutes is None else minutes * 60,
        "search.target_speedup": target_speedup,
        "search.stall": stall,
        "budget.tokens": budget_tokens,
        "budget.money": budget_money,
        "search.workers": workers,
        "jobs": jobs if jobs is not None else workers,
        "search.start": None if start is None else str(start.resolve()),
        "search.warm": warm,
        "suite": suite,
        "search.cases": _cases(case),
        "dtypes": dtype,
        "seed": seed,
        "search.against": against,
        "search.remember": helpers,
        "search.look_up": helpers,
        "search.knowledge": knowledge,
    }
    from bringup.cli.run import _chain, _setting

    overrides = {field: value for field, value in given.items() if value is not None}
    overrides |= dict(_setting(text) for text in settings or ())
    chain = _chain(client, None)
    if chain:
        overrides["client.name"] = chain[0][0]
        if chain[0][1] is not None:
            overrides["client.model"] = chain[0][1]
    console = make_console(stderr=json_output)
    result = asyncio.run(
        _tune(
            op,
            shapes,
            config_file,
            overrides,
            resume,
            {"name": name, "note": note, "store_url": store_url, "blobs_url": blobs_url},
            lease_seconds,
            runs_dir,
            console,
            quiet or json_output,
        )
    )
    if json_output:
        print_json(_data(result))
    else:
        _print(result, console)
    if result.fault is not None:
        raise result.fault
    best = result.graph.best
    if best is None or best.fitness <= 1.0:
        raise typer.Exit(1)


async def _tune(
    op: str | None,
    shapes: Path | None,
    config_file: Path | None,
    overrides: dict[str, Any],
    resume: str | None,
    called: dict[str, Any],
    lease_seconds: float,
    runs_dir: Path | None,
    console: Console,
    quiet: bool,
) -> SearchResult:
    from bringup.cli._runs import runs_root
    from bringup.cli.run import _merged
    from bringup.errors import ConfigError
    from bringup.search import running
    from bringup.search.graph import Graph
    from bringup.search.live import lines, live
    from bringup.search.policies import make_policy
    from bringup.store import find_run

    def notify(text: str) -> None:
        from rich.text import Text

        console.print(Text(text), soft_wrap=True)

    root = runs_root(runs_dir)
    draw = lines if quiet or not console.is_terminal else live
    shown = Graph()
    if resume is not None:
        if op is not None or shapes is not None or config_file is not None or called["name"] or called["note"]:
            raise ConfigError("command line", "a search keeps its operator, configuration and name")
        folder = find_run(resume, root, called["store_url"])
        changed = sorted(field for field in overrides if field in FIXED)
        if changed:
            raise ConfigError("command line", f"{', '.join(changed)}: a search keeps what it began with")
        with draw(shown, f"going on with search {folder.name}", console) as observe:
            return await running.resume(
                folder,
                changes=lambda data: _merged(data, overrides),
                lease_seconds=lease_seconds,
                observers=[observe],
                notify=notify,
                signals=True,
            )
    config = _config(op, shapes, config_file, overrides)
    plan = await asyncio.to_thread(running.make_plan, config, root, notify)
    search = plan.config.search
    assert search is not None
    asks = make_policy(search.policy, search.options).asks_model
    if not asks and "client" not in config.model_fields_set:
        notify("No model is asked: policy `parameters` varies what the kernel's source leaves open.")
    if config.client.name == "mailbox" and asks:
        notify("The prompts wait in a mailbox: answer them from another terminal, see bringup mailbox --help")
    for number, one in enumerate(plan.starts):
        notify(f"{'start' if number == 0 else 'with '}  {one.origin}")
    title = f"{plan.operator.name} on {plan.config.target}, policy {search.policy}, {search.nodes} nodes"
    with draw(shown, title, console) as observe:
        return await running.start(
            plan, root, **called, lease_seconds=lease_seconds, observers=[observe], notify=notify, signals=True
        )


def _config(op: str | None, shapes: Path | None, config_file: Path | None, overrides: dict[str, Any]) -> RunConfig:
    """Return the configuration with what a search leaves open filled in."""
    from bringup.config import ClientConfig, SearchConfig, load_config
    from bringup.errors import ConfigError

    if op is not None and (op.endswith(".py") or Path(op).is_file()):
        overrides = {**overrides, **_of_file(Path(op), overrides)}
    elif op is not None:
        overrides = {**overrides, "ops": (op,)}
    config = load_config(config_file, overrides)
    if "ops" not in config.model_fields_set:
        raise ConfigError("command line", "which operator?", "bringup tune OP --target vpe:pe64; see bringup ops list")
    config = _with_shapes(config, shapes)
    search = config.search or SearchConfig()
    client = config.client
    has_client = "client" in config.model_fields_set and bool(client.model_fields_set - {"path"} or client.path)
    if has_client and "name" not in client.model_fields_set and (client.model or client.base_url):
        client = client.model_copy(update={"name": "openai"})
    update: dict[str, Any] = {}
    if "policy" not in search.model_fields_set:
        update["policy"] = "greedy" if has_client else "parameters"
    if update.get("policy", search.policy) == "parameters" and "gate" not in search.model_fields_set:
        update["gate"] = "improvements"
    search = search.model_copy(update=update)
    return config.model_copy(update={"search": search, "client": client if has_client else ClientConfig()})


def _with_shapes(config: RunConfig, shapes: Path | None) -> RunConfig:
    """Time calls of realistic sizes: those of a file, or the shipped ones where nothing else was said.

    A modelled chip gets the small ones, which are simulated in seconds.
    """
    from bringup.errors import ConfigError
    from bringup.suites import get_suite, suite_of_shapes

    given = "suite" in config.model_fields_set
    base = config.suite.partition(":")[0]
    if shapes is None and (given or (config.search is not None and config.search.cases)):
        return config
    if given and config.suite != base:
        raise ConfigError("--shapes", f"suite {config.suite} has options of its own", "name sizes in its own way")
    path = "shipped" if shapes is None else str(shapes.resolve())
    suite = suite_of_shapes(path, base if given else "opinfo", small=_modelled(config.target))
    if shapes is None and config.ops[0] not in {operator.name for operator in get_suite(suite).operators()}:
        return config
    return config.model_copy(update={"suite": suite})


def _of_file(path: Path, overrides: dict[str, Any]) -> dict[str, Any]:
    """Return suite and operator of a problem file: one in KernelBench's format, or in our own."""
    from bringup.config import RunConfig
    from bringup.errors import ConfigError
    from bringup.suites import get_suite, suite_of_file

    target = str(overrides.get("target", RunConfig.model_fields["target"].default))
    suite = str(overrides.get("suite") or suite_of_file(str(path.resolve()), small=_modelled(target))[0])
    names = [operator.name for operator in get_suite(suite).operators()]
    if len(names) != 1:
        raise ConfigError(str(path), f"holds {len(names)} problems", "name one of them, with --suite")
    return {"suite": suite, "ops": (names[0],)}


def _modelled(target: str) -> bool:
    """Whether a target's clock is a model: it gets small sizes, which are simulated in seconds."""
    from bringup.targets import get_target

    return get_target(target).clock == "model"


def _options(given: List) -> dict[str, Any] | None:
    """Read the policy's parameters; the values are YAML."""
    from bringup.cli.run import _setting

    return dict(_setting(text) for text in given) if given else None


def _cases(given: List) -> dict[str, tuple[int, ...]] | None:
    """Read `float32:3`, each with commas if there are several."""
    from bringup.errors import ConfigError

    if not given:
        return None
    found: dict[str, list[int]] = {}
    for text in given:
        for part in text.split(","):
            dtype, colon, index = part.strip().partition(":")
            if not colon or not index.isdecimal():
                raise ConfigError(f"--case {text}", "is not DTYPE:INDEX", "for example --case float32:3")
            found.setdefault(dtype, []).append(int(index))
    return {dtype: tuple(sorted(set(indices))) for dtype, indices in found.items()}


def _print(result: SearchResult, console: Console) -> None:
    """Print how a search stands, and what to type next."""
    from rich.text import Text

    from bringup.search.words import best_line

    graph = result.graph
    best = graph.best
    console.print()
    style = "bold green" if best is not None and best.fitness > 1 else "bold yellow"
    console.print(Text(best_line(graph), style=style))
    tokens = sum(node.tokens for node in graph)
    calls = sum(node.calls for node in graph)
    asked = f", {calls} model calls, {tokens:,} tokens" if calls else ""
    console.print(Text(f"{graph.spent} nodes, {len(graph.valid)} right and timed{asked}", style="dim"))
    if result.ended is not None:
        console.print(Text(f"ended: {result.ended.reason}", style="dim"))
    elif result.interrupted:
        console.print(Text(f"stopped early: {result.interrupted}", style="yellow"))
    console.print(Text(f"run      {result.folder}"), soft_wrap=True)
    console.print(Text(f"tree     bringup tree {result.run}"), soft_wrap=True)
    if best is not None:
        console.print(Text(f"kernel   bringup best {result.run} -o FILE.py"), soft_wrap=True)
    more = {"nodes": " --nodes MORE", "time": " --minutes MORE", "stall": " --stall MORE", "target": ""}
    cause = result.ended.cause if result.ended is not None else ""
    if cause != "policy":
        console.print(Text(f"go on    bringup tune --resume {result.run}{more.get(cause, '')}"), soft_wrap=True)


def _data(result: SearchResult) -> dict[str, Any]:
    from bringup.search.export import search_data

    ended = result.ended
    return {
        **search_data(result.graph, result.run, result.config.model_dump(mode="json")),
        "folder": str(result.folder),
        "ended": {"cause": ended.cause, "reason": ended.reason} if ended is not None else None,
        "interrupted": result.interrupted,
    }
