"""What holds a candidate's processes in place: namespaces, Landlock, seccomp, limits. docs/sandbox.md says why."""

from bringup.judge.sandbox._copies import answered, ask, copies, framed
from bringup.judge.sandbox._isolate import PROTECTIONS, Facts, Sandbox, SandboxFault, spawn, warm_up
from bringup.judge.sandbox._limits import Limits
from bringup.judge.sandbox._pages import use_huge_pages
from bringup.judge.sandbox._privileges import die_with_parent, hide
from bringup.judge.sandbox._start import forget, imported
from bringup.judge.sandbox._timeless import stop_counting_cycles, stop_the_clock, take_up_the_clock
from bringup.judge.sandbox._world import World, survey

__all__ = [
    "PROTECTIONS",
    "Facts",
    "Limits",
    "Sandbox",
    "SandboxFault",
    "World",
    "answered",
    "ask",
    "copies",
    "die_with_parent",
    "forget",
    "framed",
    "hide",
    "imported",
    "spawn",
    "stop_counting_cycles",
    "stop_the_clock",
    "survey",
    "take_up_the_clock",
    "use_huge_pages",
    "warm_up",
]
