"""`bringup bisect`: which kernel, and which of its calls, makes a program's result differ from the CPU's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bringup.cli._library import LibraryOption
from bringup.cli._output import JsonOption, print_json

if TYPE_CHECKING:
    from bringup.library._trial import Outcome, Program
    from bringup.library.bisecting import Setting


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("bisect", context_settings={"allow_interspersed_args": False})(bisect)


def bisect(
    script: Annotated[Path, typer.Argument(help="Python program that computes on the device, or model:NAME.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
    metric: Annotated[
        str,
        typer.Option(help="Expression in the program's variables after its end: a number, tensors, lists of them."),
    ] = "loss",
    library: LibraryOption = None,
    device: Annotated[str, typer.Option(help="vpe or vpe:PROFILE.")] = "vpe",
    rtol: Annotated[float, typer.Option(min=0, help="Relative difference that is still good.")] = 1e-4,
    atol: Annotated[float, typer.Option(min=0, help="Absolute difference that is still good.")] = 1e-6,
    seconds: Annotated[float, typer.Option(min=1, help="Time for one run of the program.")] = 600.0,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Let kernels serve that nobody judged, too.")] = False,
    json_output: JsonOption = False,
) -> None:
    """Find the kernels that make a program's result differ from the CPU's, by switching kernels between ours and its.

    The program runs on the device many times: with all kernels, with none, and with ever smaller sets, until the
    smallest are known; then with ever fewer calls of these. Options come before the script. Exit code 0 when nothing
    differs, 1 when something does.
    """
    from dataclasses import replace

    from bringup.cli._library import open_library
    from bringup.errors import ConfigError
    from bringup.library import _trial

    script, arguments = _program(script, arguments or [])
    if not script.is_file():
        raise ConfigError(str(script), "no such file", "give the Python program to run")
    if device.partition(":")[0] != "vpe":
        raise ConfigError(f"--device {device}", "programs are bisected on vpe", "use vpe or vpe:PROFILE")
    opened = open_library(library)
    serving = sorted({entry.overload for entry in opened.entries if unjudged or entry.judged})
    idle = [] if unjudged else sorted({entry.overload for entry in opened.entries if not entry.judged})
    if idle:
        typer.echo(f"not judged, so they do not serve: {', '.join(idle)}; --unjudged lets them", err=True)
    with tempfile.TemporaryDirectory(prefix="bringup-bisect-") as scratch:
        program = _trial.Program(
            script.resolve(), tuple(arguments), metric, opened.path, device, unjudged, seconds,
            Path(scratch) / "log",
        )  # fmt: skip
        _trial.warm(device if ":" in device else opened.target)
        search = _Search(replace(program), rtol, atol, quiet=json_output)
        found = search.run(serving)
    if json_output:
        print_json(found)
    else:
        _print(found)
    if found["faults"]:
        raise typer.Exit(1)


def _program(script: Path, arguments: list[str]) -> tuple[Path, list[str]]:
    """Return the program that a command means: a file, or the training of a model (`model:gpt --steps 5`)."""
    kind, colon, name = str(script).partition(":")
    if kind != "model" or not colon:
        return script, arguments
    from importlib.util import find_spec

    from bringup.models import catalog

    catalog.get(name)
    found = find_spec("bringup.models.__main__")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin), [name, *arguments]


class _Search:
    """The trials of one search, each made once."""

    def __init__(self, program: Program, rtol: float, atol: float, quiet: bool) -> None:
        self.program, self.rtol, self.atol, self.quiet = program, rtol, atol, quiet
        self.made: dict[Setting, Outcome] = {}
        self.reference: list[Any] = []

    def trial(self, setting: Setting) -> Outcome:
        from bringup.library import _trial

        if setting not in self.made:
            self.made[setting] = _trial.run(self.program, setting)
            if not self.quiet:
                outcome = self.made[setting]
                first = "".join(f", first {count} calls of {name}" for name, count in setting.first)
                said = self._said(outcome) if self.reference else outcome.error or "done"
                typer.echo(f"run {len(self.made)}: {len(setting.ours)} kernels{first}: {said}", err=True)
        return self.made[setting]

    def _said(self, outcome: Outcome) -> str:
        if outcome.values is None:
            return outcome.error
        return "differs" if self.bad_outcome(outcome) else "agrees with the CPU"

    def bad_outcome(self, outcome: Outcome) -> bool:
        from bringup.library._trial import gap

        return outcome.values is None or gap(outcome.values, self.reference, self.rtol, self.atol) > 1

    def run(self, overloads: list[str]) -> dict[str, Any]:
        from bringup.errors import FormatError
        from bringup.library import _trial
        from bringup.library.bisecting import Setting, find

        nothing = self.trial(Setting(frozenset()))
        if nothing.values is None:
            log = self.program.log.read_text(errors="replace").strip().splitlines()[-8:]
            raise FormatError(
                f"{self.program.script}: does not run with all operators on the CPU: {nothing.error}"
                + "".join(f"\n  {line}" for line in log)
            )
        self.reference = nothing.values
        again = _trial.run(self.program, Setting(frozenset()))
        if self.bad_outcome(again):
            raise FormatError(
                f"{self.program.script}: two equal runs on the CPU give different values of '{self.program.metric}'; "
                "seed the program's random numbers"
            )
        everything = self.trial(Setting(frozenset(overloads)))
        called = {*nothing.calls, *everything.calls}
        faults = []
        if self.bad_outcome(everything):
            every = Setting(frozenset(called))
            self.made.setdefault(every, everything)
            for fault in find(called, lambda s: self.bad_outcome(self.trial(s)), self.calls):
                rows = []
                for name, first in fault.first_calls.items():
                    setting = Setting(frozenset(fault.kernels), ((name, first + 1),))
                    described = _trial.run(self.program, setting, (name, first)).described
                    rows.append({"kernel": name, "call": first, "calls": self.calls(setting, name),
                                 "described": described})  # fmt: skip
                outcome = self.trial(Setting(frozenset(fault.kernels)))
                faults.append({"kernels": rows, "result": self._result(outcome)})
        return {
            "metric": self.program.metric,
            "cpu": [_plain(v) for v in self.reference],
            "ours": self._result(everything),
            "kernels": len(called),
            "runs": len(self.made) + 1,
            "unserved": dict(everything.unserved),
            "faults": faults,
        }

    def calls(self, setting: Setting, name: str) -> int:
        return self.trial(setting).calls[name]

    def _result(self, outcome: Outcome) -> Any:
        return outcome.error if outcome.values is None else [_plain(v) for v in outcome.values]


def _plain(value: Any) -> Any:
    return value.tolist() if value.size <= 64 else f"{value.size} numbers, sum {value.sum():.9g}"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:160]} ... (--json has all)"


def _print(found: dict[str, Any]) -> None:
    if found["unserved"]:
        names = ", ".join(sorted(found["unserved"]))
        typer.echo(f"no kernel for {names}: the CPU computed these in every run")
    if not found["faults"]:
        typer.echo(f"{found['metric']} agrees with the CPU's: {found['kernels']} kernels were called")
        return
    typer.echo(f"{found['metric']}: {_short(found['ours'])} with our kernels, {_short(found['cpu'])} with the CPU's")
    for fault in found["faults"]:
        rows = fault["kernels"]
        if len(rows) > 1:
            typer.echo(f"together: {', '.join(row['kernel'] for row in rows)}; neither alone makes it differ")
        for row in rows:
            typer.echo(f"{row['kernel']}: from its call {row['call'] + 1} of {row['calls']}")
            for line in row["described"].splitlines():
                typer.echo(f"    {line}")
    typer.echo(f"{len(found['faults'])} faults among {found['kernels']} kernels, {found['runs']} runs")
