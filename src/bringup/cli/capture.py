"""`bringup capture`: record what a program asks of a device, merge records, and ask what a library serves of them."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, listed, make_console, print_json
from bringup.cli._runs import RunsDirOption

if TYPE_CHECKING:
    from bringup.suites.captured import Capture

OutOption = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")]


class _Group(TyperGroup):
    """`bringup capture [OPTIONS] -- PROGRAM` is `bringup capture run ...`: what begins with no command is a program."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = ["run", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        cls=_Group,
        no_args_is_help=True,
        help="Record what a program asks of a device: `bringup capture -o FILE -- python train.py`.",
    )
    group.command("run", context_settings={"allow_interspersed_args": False})(run)
    group.command("show")(show)
    group.command("merge")(merge)
    group.command("coverage")(coverage)
    app.add_typer(group, name="capture")


def run(
    command: Annotated[list[str], typer.Argument(metavar="COMMAND...", help="Program with its arguments, after `--`.")],
    out: OutOption = Path("capture.json"),
    data: Annotated[bool, typer.Option("--data", help="Keep the values too, in FILE.data; else statistics.")] = False,
    device: Annotated[
        str | None,
        typer.Option(help="Keep calls on this type of device, or all (default: the accelerator's if any, else cpu's)."),
    ] = None,
    replace: ReplaceOption = False,
) -> None:
    """Run a program, and record each overload that it asks a device for, with its arguments.

    The program's Python needs bringup installed. What was recorded until a crash is kept; the exit code is then 1.
    """
    from bringup.errors import ConfigError
    from bringup.suites.captured import CaptureError, copy_data, merged, only, read_capture, write_capture

    _check_program(command)
    _check_free(out, replace)
    shown = " ".join(command)
    with tempfile.TemporaryDirectory(prefix="bringup-capture-") as folder:
        environment = {
            **os.environ,
            "BRINGUP_CAPTURE": folder,
            "BRINGUP_CAPTURE_DATA": "1" if data else "0",
            "BRINGUP_CAPTURE_PROGRAM": shown,
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "1",
        }
        try:
            code = subprocess.run(command, env=environment, check=False).returncode
        except OSError as error:
            raise ConfigError(command[0], f"cannot be run: {error.strerror}", "give a program") from error
        how = f"code {code}" if code >= 0 else f"signal {-code}"
        parts = sorted(Path(folder).glob("*.json"))
        found = [(str(part), read_capture(part)) for part in parts]
        kept = [(name, capture) for name, capture in found if capture.calls]
        if not kept:
            why = "asked no device for anything" if parts else "did not import torch, or its Python has no bringup"
            raise CaptureError(f"{shown}: {why}, and ended with {how}; nothing is captured")
        capture = only(merged(kept), device)
        if not capture.calls:
            raise CaptureError(f"{shown}: no call on the device {device}; there were {_devices(merged(kept))}")
        if code:
            capture = capture.model_copy(update={"ended": {shown: capture.ended.get(shown, "") or f"with {how}"}})
        copy_data(parts, out)
        write_capture(out, capture)
    typer.echo(f"{_summary(capture)} written to {out}", err=True)
    if code:
        why = capture.ended[shown]
        said = how if why == f"with {how}" else f"{how} ({why})"
        typer.echo(f"the program ended with {said}; what it did until then is kept", err=True)
        raise typer.Exit(1)


def _devices(capture: Capture) -> str:
    return ", ".join(sorted({f"calls on {call.device}" for call in capture.calls}))


def _check_program(command: list[str]) -> None:
    """Raise ConfigError for a script that is not there: Python's own message would come without ours."""
    from bringup.errors import ConfigError

    first = next((word for word in command[1:] if not word.startswith("-")), "")
    if Path(command[0]).name.startswith("python") and first.endswith(".py") and not Path(first).is_file():
        raise ConfigError(first, "no such script", "give the program as you would run it, after `--`")


def _check_free(out: Path, replace: bool) -> None:
    from bringup.errors import ConfigError

    if out.exists() and not replace:
        raise ConfigError(str(out), "is there already", "name another file with -o, or write over it with --replace")
    if not out.parent.is_dir():
        raise ConfigError(str(out), f"there is no folder {out.parent}", "make it first")


def _summary(capture: Capture) -> str:
    overloads = len({call.overload for call in capture.calls})
    return f"{len(capture.calls)} different calls ({capture.total} in all) of {overloads} overloads"


def show(
    file: Annotated[Path, typer.Argument(help="File of captured calls.")],
    json_output: JsonOption = False,
) -> None:
    """Show what a file holds: programs, overloads with their calls, and what was left out."""
    from collections import Counter

    from bringup.suites.captured import read_capture

    capture = read_capture(file)
    phases: dict[str, Counter[str]] = {}
    different: Counter[str] = Counter()
    for call in capture.calls:
        phases.setdefault(call.overload, Counter()).update(call.times)
        different[call.overload] += 1
    rows = [
        {"overload": name, "different": different[name], **{p: times[p] for p in ("forward", "backward", "optimizer")}}
        for name, times in sorted(phases.items())
    ]
    if json_output:
        print_json({
            "file": str(file), "torch": capture.torch, "programs": list(capture.programs), "ended": capture.ended,
            "left_out": capture.left_out, "overloads": rows,
        })  # fmt: skip
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("overload", "different", "forward", "backward", "optimizer"):
        table.add_column(column, justify="left" if column == "overload" else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(str(value or "") for value in row.values()))
    console = make_console()
    console.print(table)
    console.print(f"\n{_summary(capture)}, torch {capture.torch}: {'; '.join(capture.programs)}", soft_wrap=True)
    for program, how in capture.ended.items():
        console.print(f"not to its end: {program}: {how}", soft_wrap=True)
    for reason, count in capture.left_out.items():
        console.print(f"left out: {count} calls: {reason}", soft_wrap=True)


def merge(
    files: Annotated[list[Path], typer.Argument(help="Files of captured calls.")],
    out: OutOption = Path("capture.json"),
    replace: ReplaceOption = False,
) -> None:
    """Make one file of several: equal calls once, with the real data beside them."""
    from bringup.suites.captured import copy_data, merged, read_capture, write_capture

    _check_free(out, replace)
    capture = merged([(str(file), read_capture(file)) for file in files])
    copy_data(files, out)
    write_capture(out, capture)
    typer.echo(f"{_summary(capture)} written to {out}")


def coverage(
    file: Annotated[Path, typer.Argument(help="File of captured calls.")],
    library: LibraryOption = None,
    target: Annotated[str | None, typer.Option(help="Target (default: the library's).")] = None,
    refined: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Also count the kernels of a run on these calls.")
    ] = None,
    ops: Annotated[
        list[str] | None, typer.Option("--ops", callback=listed, help="Only these operators (repeatable, globs).")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Judge workers.")] = 2,
    runs_dir: RunsDirOption = None,
    json_output: JsonOption = False,
) -> None:
    """Judge a library's kernels on captured calls: which operators of the program does it serve as it is?

    With --run the kernels that a run refined or made are judged for the rest: which does it serve then? Every kernel is
    judged on all cases of `captured:FILE`, whatever it passed before. Exit code 0 when all operators are served.
    """
    from bringup.cli._captured import Asked, measure, print_coverage

    asked = Asked(file, library, target, refined, tuple(ops or ["all"]), jobs, runs_dir)
    found = measure(asked, shows=not json_output)
    if json_output:
        print_json(found)
    else:
        print_coverage(found)
    if found["served"] + found["refined"] < found["operators"]:
        raise typer.Exit(1)
