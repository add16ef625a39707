"""`bringup mailbox`: answer the prompts of a run by hand, by script or by a coding agent."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._output import JsonOption, make_console, print_json

if TYPE_CHECKING:
    from bringup.clients.mailbox import Mailbox

POLL_SECONDS = 0.2
SHOWN = ("answered", "claimed", "pending")  # what waits stands where a terminal's user looks: at the end
# RUN.OPERATOR.aATTEMPT.tTURN.ROLE; a run's name begins with the time of its start
FULL_KEY = re.compile(r"(?P<run>\d{8}-\d{6}-[^.]+)\.(?P<operator>.+)\.a\d+\.t\d+(?:\.\w+)?")

RunOption = Annotated[
    str | None, typer.Option("--run", help="Run whose mailbox is meant: id or unique beginning (default: the newest).")
]
DirOption = Annotated[Path | None, typer.Option("--dir", help="Mailbox directory, or a run's folder.")]
RunsDirOption = Annotated[
    Path | None, typer.Option("--runs-dir", help="Folder of the runs (default: $BRINGUP_RUNS or bringup-runs).")
]
KeyArgument = Annotated[str, typer.Argument(help="Key of the prompt; the part with the run may be left out.")]
WorkerOption = Annotated[str, typer.Option("--worker", help="Who answers (default: user and parent process).")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    group = typer.Typer(
        no_args_is_help=True, help="Answer the prompts of a run by hand, by script or by a coding agent."
    )
    group.command("list")(list_prompts)
    group.command("show")(show)
    group.command("wait")(wait)
    group.command("answer")(answer)
    group.command("release")(release)
    app.add_typer(group, name="mailbox")


def list_prompts(
    run: RunOption = None,
    directory: DirOption = None,
    runs_dir: RunsDirOption = None,
    as_json: JsonOption = False,
    state: Annotated[str | None, typer.Option(help="Only pending, claimed or answered ones.")] = None,
    pending: Annotated[bool, typer.Option("--pending", help="Only what waits: as --state pending.")] = False,
) -> None:
    """List the prompts with their states, and how the operators' sessions stand.

    What was answered stands first and what waits last, the newest at the end.
    """
    if state not in (None, "pending", "claimed", "answered"):
        raise typer.BadParameter("is one of pending, claimed, answered", param_hint="--state")
    if pending and state not in (None, "pending"):
        raise typer.BadParameter(f"asks for what waits, --state for what is {state}", param_hint="--pending")
    state = "pending" if pending else state
    with _mailbox(_choose(run, directory, runs_dir)) as box:
        entries = [entry for entry in box.entries() if state is None or entry.state == state]
        entries.sort(key=lambda entry: SHOWN.index(entry.state))  # stable: within a state by age
        closed = box.closed
        sessions = _sessions(box.directory)
        if as_json:
            prompts = [{**entry.model_dump(), "session": _session(entry.key, sessions)} for entry in entries]
            print_json({"mailbox": str(box.directory), "closed": closed, "prompts": prompts})
            return
        console = make_console()
        if not console.is_terminal:  # for other programs: a line a prompt, nothing wrapped
            for entry in entries:
                typer.echo(f"{entry.key}\t{entry.state}\t{entry.worker}\t{_session(entry.key, sessions)}")
            if closed:
                typer.echo(f"{box.directory}: the run has ended", err=True)
            return
        from rich.table import Table

        table = Table(title=f"{box.directory}{' (the run has ended)' if closed else ''}", title_justify="left")
        for column in ("key", "state", "session", "worker", "since"):
            table.add_column(column, overflow="fold", no_wrap=column in {"state", "session"})
        for entry in entries:
            since = _age(time.time() - entry.since)
            left = f", lease {_age(entry.expires - time.time())}" if entry.expires is not None else ""
            table.add_row(entry.key, entry.state, _session(entry.key, sessions), entry.worker, f"{since}{left}")
        console.print(table)


def show(
    key: KeyArgument,
    run: RunOption = None,
    directory: DirOption = None,
    runs_dir: RunsDirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a whole prompt: the dialog so far, as a model would get it. Claims nothing."""
    with _mailbox(_choose(run, directory, runs_dir, key)) as box:
        _print_prompt(box, box.resolve(key), as_json)


def wait(
    *,
    run: RunOption = None,
    directory: DirOption = None,
    runs_dir: RunsDirOption = None,
    worker: WorkerOption = "",
    timeout: Annotated[
        float | None, typer.Option(help="Seconds to wait at most; then exit code 1. Default: no limit.", min=0)
    ] = None,
    lease: Annotated[
        float | None, typer.Option(help="Seconds until the prompt goes to somebody else (default: the mailbox's).")
    ] = None,
    print_prompt: Annotated[bool, typer.Option("--print", help="Print the prompt, and its key on stderr.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Wait for a prompt, claim it, and print its key and path.

    Exit code 0: a prompt is yours; 1: none came in time; 3: the run has ended.
    """
    from bringup.errors import BringupError

    worker = worker or f"{os.environ.get('USER') or os.getuid()}-{os.getppid()}"
    deadline = None if timeout is None else time.monotonic() + timeout
    told: set[str] = set()

    def pause(note: str, missing: str) -> None:
        """Sleep a little and tell once why; raises Exit(1) when the time is up."""
        if note and note not in told:
            told.add(note)
            typer.echo(note, err=True)
        if deadline is not None and time.monotonic() >= deadline:
            typer.echo(f"no {missing} within {timeout:g} seconds", err=True)
            raise typer.Exit(1)
        time.sleep(POLL_SECONDS if deadline is None else max(0.0, min(POLL_SECONDS, deadline - time.monotonic())))

    while True:  # the run may still be starting
        try:
            chosen = _choose(run, directory, runs_dir)
            break
        except BringupError as error:
            pause(f"waiting: {error}", "mailbox")
    with _mailbox(chosen) as box:
        while True:
            if box.closed:
                raise _ended(box)
            entry = box.claim(worker, lease)
            if entry is not None:
                break
            gone = "the run's process is gone; waiting for `bringup run --resume`" if box.abandoned() else ""
            pause(gone, f"prompt in {box.directory}")
        if as_json or print_prompt:
            _print_prompt(box, entry.key, as_json)
            typer.echo(entry.key, err=True)
        else:
            typer.echo(f"{entry.key}\t{entry.prompt}")


def answer(
    key: KeyArgument,
    file: Annotated[Path, typer.Argument(help="File with the reply, or - for standard input.")],
    run: RunOption = None,
    directory: DirOption = None,
    runs_dir: RunsDirOption = None,
    worker: WorkerOption = "",
    json_output: JsonOption = False,
) -> None:
    """Store the reply to a prompt. The first answer stands; a second one is refused."""
    from bringup.errors import FormatError

    with _mailbox(_choose(run, directory, runs_dir, key)) as box:
        full = box.resolve(key)
        try:
            data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        except OSError as error:
            raise FormatError(f"{file}: cannot be read: {error.strerror}") from error
        path = box.answer(full, data.decode("utf-8", "replace"), worker)
        if json_output:
            print_json({"key": full, "bytes": len(data), "file": str(path), "run_ended": box.closed})
            return
        typer.echo(f"answered {full} ({len(data)} bytes): {path}")
        if box.closed:
            typer.echo("the run has ended; `bringup run --resume` takes this answer up", err=True)


def release(
    key: KeyArgument,
    run: RunOption = None,
    directory: DirOption = None,
    runs_dir: RunsDirOption = None,
) -> None:
    """Give a claimed prompt back, so that somebody else gets it."""
    with _mailbox(_choose(run, directory, runs_dir, key)) as box:
        full = box.resolve(key)
        box.release(full)
        typer.echo(f"released {full}")


@contextmanager
def _mailbox(path: Path) -> Iterator[Mailbox]:
    """Open the mailbox in `path`, and turn faults of the disk into one line."""
    from bringup.clients.mailbox import Mailbox
    from bringup.errors import EnvironmentFault

    box = Mailbox.open(path)
    try:
        yield box
    except OSError as error:
        raise EnvironmentFault(f"mailbox {box.directory}: {error.strerror or error}") from error


def _sessions(mailbox: Path) -> dict[str, str]:
    """Return the state of each operator's session in the run whose mailbox this is; {} where no run is to be found."""
    from bringup.errors import BringupError
    from bringup.store import open_run

    try:
        with open_run(mailbox.parent) as run:
            return {name: summary.state for name, summary in run.summaries().items()}
    except BringupError:  # a mailbox of its own, or a run that this version cannot read: it has prompts all the same
        return {}


def _session(key: str, sessions: dict[str, str]) -> str:
    """Return the state of the session that a key belongs to; "" where it is not known."""
    found = [name for name in sessions if f".{name}.a" in key]  # RUN.OPERATOR.aATTEMPT.tTURN.ROLE
    return sessions[max(found, key=len)] if found else ""


def _choose(run: str | None, directory: Path | None, runs_dir: Path | None, key: str = "") -> Path:
    """Return the mailbox that the options mean, else that of the run which a prompt's key begins with.

    Raises BringupError or UnknownName when there is none.
    """
    from bringup.clients.mailbox import Mailbox
    from bringup.errors import BringupError, UnknownName

    if directory is not None:
        inner = directory / "mailbox"
        return Mailbox.open(inner if (inner / "MAILBOX.json").is_file() else directory).directory
    root = runs_dir or Path(os.environ.get("BRINGUP_RUNS") or "bringup-runs")
    found = [path.parent for path in root.glob("*/mailbox/MAILBOX.json")]
    if run is not None:
        names = {path.parent.name: path for path in found}
        matches = [run] if run in names else [name for name in names if name.startswith(run)]
        if len(matches) != 1:
            raise UnknownName("run with a mailbox", run, names, str(root))
        return names[matches[0]]
    if (named := root / key.partition(".")[0] / "mailbox") in found:
        return named
    if not found:
        named_by = FULL_KEY.fullmatch(key)
        if named_by is not None:
            raise BringupError(
                f"no run with a mailbox in {root}; the key names the run {named_by['run']} of {named_by['operator']}: "
                "say with --runs-dir in which folder it is, or name its own with --dir"
            )
        raise BringupError(
            f"no run with a mailbox in {root}; start one with `bringup run --client mailbox`, or name one with --dir"
        )
    return max(found, key=lambda path: (path / "MAILBOX.json").stat().st_mtime)


def _ended(box: Mailbox) -> Exception:
    from bringup.errors import EnvironmentFault

    still_open = sum(entry.state != "answered" for entry in box.entries())
    more = f"; {still_open} of its prompts have no answer, `bringup run --resume` hands them out" if still_open else ""
    return EnvironmentFault(f"{box.directory}: the run has ended, no more prompts will come{more}")


def _print_prompt(box: Mailbox, key: str, as_json: bool) -> None:
    from bringup.clients.mailbox import render

    messages = box.messages(key)
    if as_json:
        content: dict[str, Any] = {"key": key, "path": str(box.prompt_path(key))}
        print_json(content | {"messages": [m.model_dump() for m in messages]})
    else:
        typer.echo(render(messages), nl=False)


def _age(seconds: float) -> str:
    seconds = max(0, int(seconds))
    if seconds < 60:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 3600 else f"{seconds // 3600} h {seconds % 3600 // 60} min"
