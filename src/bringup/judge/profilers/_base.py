"""The door for profilers, and how what several say becomes one diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bringup.judge.measuring import Diagnosis
from bringup.registry import Registry


@dataclass(frozen=True)
class Seen:
    """What is known of a timed call, for profilers to judge."""

    target: str
    """NAME or NAME:PROFILE."""
    seconds: float
    """Of the call on the device: the median, or the modelled time."""
    launches: Sequence[Mapping[str, Any]]
    """The target's counters of each launch."""
    account: Mapping[str, Any] = field(default_factory=dict)
    """What the call asked of the device, as `bringup.device.account.Account` has it."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The chip's figures, as `Target.facts` gives them."""
    copy_seconds: float = 0.0
    """Modelled time of the call's copies, where the clock is a model's."""
    source: str = ""
    """The candidate's."""
    by_line: Sequence[Mapping[str, Any]] | str = ()
    """Counters of each launch of the same call, made once more, with `lines`; why they are not known; () where nobody
    asked for them."""
    least_bytes: int = 0
    """Bytes of the call's inputs and results: what must be moved at least."""
    least_operations: int = 0
    """Of the matrix products that the suite's own reference makes of the call (a multiply-add is two); 0: not known."""
    kernels: Sequence[Mapping[str, Any]] = ()
    """The compiled kernels: `name`, `shared`, `facts`, `binary` (bytes)."""
    folder: str = ""
    """Folder with the call's tape and its compiled kernels, for the player; "" where there is none."""


class Profiler(Protocol):
    """Reads what was seen of a call."""

    name: str

    def diagnose(self, seen: Seen) -> Diagnosis | str | None:
        """Say what bounds the call; why this profiler cannot (one line); None where it is not meant for the target."""
        ...


profilers: Registry[Profiler] = Registry(
    "profiler",
    "bringup.profilers",
    {
        "counters": "bringup.judge.profilers._counters:ModelledCounters",
        "compiled": "bringup.judge.profilers._gpu:CompiledFacts",
        "ncu": "bringup.judge.profilers._gpu:NsightCompute",
        "proton": "bringup.judge.profilers._gpu:Proton",
        "torch": "bringup.judge.profilers._gpu:TorchProfiler",
    },
)


_FIRST = ("ncu", "counters", "compiled")


def diagnose(seen: Seen) -> Diagnosis:
    """Ask all profilers; the first that knows what bounds the call decides, figures of all are kept.

    Who counts in hardware is asked first, then who counts in a simulator, then the others by name.
    """
    found: list[Diagnosis] = []
    missing: list[str] = []
    rest = [name for name in profilers.names() if name not in _FIRST]
    for name in (*_FIRST, *rest):
        try:
            said = profilers.create(name).diagnose(seen)
        except Exception as error:  # a plug-in's fault must not cost the times
            said = f"failed: {type(error).__name__}: {error}"
        if isinstance(said, str):
            missing.append(f"{name}: {said}")
        elif said is not None:
            found.append(said)
    return combined(found, missing)


def combined(found: Sequence[Diagnosis], missing: Sequence[str]) -> Diagnosis:
    """One diagnosis of several: the first with a known bound decides, and the others add their figures."""
    known = [one for one in found if one.bound != "unknown"]
    first = (known or list(found) or [Diagnosis(bound="unknown", summary="no profiler knows this device")])[0]
    figures: dict[str, float] = {}
    for one in (first, *found):
        figures = {**one.figures, **figures}
    return first.model_copy(
        update={
            "figures": figures,
            "lines": first.lines or next((one.lines for one in found if one.lines), ()),
            "share": first.share if first.share is not None else next((o.share for o in found if o.share), None),
            "profilers": tuple(dict.fromkeys(name for one in (first, *found) for name in one.profilers)),
            "missing": (*first.missing, *missing),
        }
    )
