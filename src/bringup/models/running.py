"""Running a model of the zoo: on the CPU, on a device with a library behind it, and what is missing there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from bringup.library import NotServed, schemas
from bringup.library.enabled import Enabled, entries_of
from bringup.library.enabling import active, enable
from bringup.library.folder import Library
from bringup.models import comparing
from bringup.models.recipe import Recipe
from bringup.models.records import ModelResult, OperatorUse, Status
from bringup.models.training import Trained, train

SURVEYED = 2
"""Steps that are enough to meet every operator of a training."""

Told = Callable[[str, int, float], None]
"""Called with the device, the step and the loss after each step."""


@dataclass(frozen=True)
class Setting:
    """What stands behind the device."""

    library: Library
    target: str
    fallback: bool = False
    """The CPU computes what has no kernel; counted."""
    unjudged: bool = False


def run(recipe: Recipe, setting: Setting, steps: int, told: Told | None = None) -> ModelResult:
    """Train a model on the CPU and on the device, and compare.

    Raises what enabling the library raises (LibraryError, NotEnabled, WrongDevice); whatever happens in the training on
    the device is its result.
    """
    say = told or (lambda device, step, loss: None)
    base: dict[str, Any] = {
        "model": recipe.name, "what": recipe.what, "optimizer": recipe.optimizer_name, "steps": steps,
        "target": setting.target, "library": _named(setting.library.path), "fallback": setting.fallback,
        "unjudged": setting.unjudged,
        "torch": torch.__version__, "loss_tolerance": recipe.tolerance.loss,
        "gradient_tolerance": recipe.tolerance.gradient,
    }  # fmt: skip
    try:
        right = train(recipe, "cpu", steps, lambda step, loss: say("cpu", step, loss))
    except Exception as error:  # a package of other versions
        return ModelResult(**base, status="failed", problem=f"on the CPU: {_line(error)}")
    kind = setting.target.partition(":")[0]
    found, problem, lacks = Trained(), "", False
    with serving(setting, fallback=setting.fallback) as enabled:
        try:
            found = train(recipe, kind, steps, lambda step, loss: say(kind, step, loss))
        except Exception as error:
            lacks = lacking(error) is not None
            problem = _line(error)
        uses = used(enabled)
        missing = dict(enabled.lacked)
        calls = dict(enabled.fallbacks)
    if lacks:
        missing, uses, after = survey(recipe, setting)
        problem = f"{len({name for names in missing.values() for name in names})} kernels missing{after}"
    lacked = sorted({name for names in missing.values() for name in names})
    for name in lacked:
        parents = sorted(parent for parent, names in missing.items() if name in names and parent != name)
        note = f"for {', '.join(parents)}" if name not in missing.get(name, ()) else ""
        if is_random(name):
            note += f"{', ' if note else ''}random: not in the suite aten"
        if lacks:
            uses.append(OperatorUse(overload=name, use="missing", note=note))
        else:
            uses.append(OperatorUse(overload=name, use="cpu", calls=calls[name], note=note))
    base |= {
        "parameters": right.parameters, "losses_cpu": right.losses, "seconds_cpu": right.seconds, "operators": uses,
        "command": command(lacked, setting.target),
    }  # fmt: skip
    if problem:
        return ModelResult(**base, status="lacks" if lacks else "failed", problem=problem)
    return _compared(recipe, right, found, base, bool(lacked))


def _compared(recipe: Recipe, right: Trained, found: Trained, base: dict[str, Any], lacked: bool) -> ModelResult:
    errors = comparing.loss_errors(right, found)
    gradients = comparing.gradient_errors(right, found)
    said, good = comparing.generation(recipe, right, found)
    worst = max(errors, default=0.0)
    problems = []
    if worst > recipe.tolerance.loss:
        step = next(n for n, one in enumerate(errors) if one > recipe.tolerance.loss)
        problems.append(f"loss off by {worst:.1e}, beyond {recipe.tolerance.loss:g} from step {step}")
    far = [row for row in gradients if row.error > recipe.tolerance.gradient]
    if far:
        row = max(far, key=lambda one: one.error)
        problems.append(
            f"{len(far)} gradients beyond {recipe.tolerance.gradient:g}, most {row.parameter} ({row.error:.1e})"
        )
    if good is False:
        problems.append(said)
    status: Status = "differs" if problems else "lacks" if lacked else "passed"
    if lacked and not problems:
        problems.append("the CPU stood in for missing kernels")
    return ModelResult(
        **base, status=status, problem="; ".join(problems), losses=found.losses, loss_error=worst, gradients=gradients,
        generated=said, generated_right=good, seconds=found.seconds,
    )  # fmt: skip


@contextlib.contextmanager
def serving(setting: Setting, fallback: bool) -> Iterator[Enabled]:
    """Enable a library for a while, in the place of one that PyTorch's autoload brought."""
    before = active(setting.target.partition(":")[0])
    if before is not None and before.by_itself:
        before.disable()
    enabled = enable(setting.library, setting.target, fallback="cpu" if fallback else None, unjudged=setting.unjudged)
    enabled.compose_first = True  # the CPU stands in for kernels that are missing, not for what can be composed
    try:
        yield enabled
    finally:
        enabled.report()  # said by the result
        enabled.disable()


def survey(recipe: Recipe, setting: Setting) -> tuple[dict[str, set[str]], list[OperatorUse], str]:
    """Train a few steps with the CPU behind what is missing.

    Returns what is missing, by the overload that was called, what served the rest, and what else went wrong.
    """
    kind = setting.target.partition(":")[0]
    with serving(setting, fallback=True) as enabled:
        after = ""
        try:
            train(recipe, kind, SURVEYED)
        except Exception as error:
            after = f"; with the CPU in their place: {_line(error)}"
        return dict(enabled.lacked), used(enabled), after


def lacking(error: BaseException | None) -> str | None:
    """Return the overload for lack of which a training failed, or None where it failed for another reason."""
    while error is not None:
        if isinstance(error, NotServed):
            return error.overload or "?"
        error = error.__cause__ or error.__context__
    return None


def used(enabled: Enabled) -> list[OperatorUse]:
    """Return what kernels and compositions served so far."""
    folders: dict[str, list[Any]] = {}
    for entry in entries_of(enabled):
        folders.setdefault(entry.overload, []).append(entry)
    rows = []
    for name, count in sorted(enabled.calls().items()):
        if not count:
            continue
        entries = folders[name]
        refined = any(judged.suite.startswith("captured") for entry in entries for judged in entry.judged)
        rows.append(
            OperatorUse(
                overload=name, use="refined" if refined else "kernel", calls=count,
                kernels=[entry.folder for entry in entries],
            )
        )  # fmt: skip
    for name, count in sorted(enabled.compositions.items()):
        rows.append(OperatorUse(overload=name, use="composed", calls=count))
    return rows


def command(overloads: list[str], target: str) -> str:
    """Return the command that would make kernels of these overloads."""
    named = [name for name in overloads if not is_random(name)]
    return f"bringup run --suite aten --target {target} --ops {','.join(named)}" if named else ""


def is_random(overload: str) -> bool:
    """Whether an overload draws random numbers: no gate can judge it by its results."""
    return torch.Tag.nondeterministic_seeded in schemas.operator(overload).tags


def _named(path: Path) -> str:
    """Return a folder as a user here would name it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:400]}" if text else type(error).__name__
