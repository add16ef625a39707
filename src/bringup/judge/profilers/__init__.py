"""Profilers: whoever can say what a call's time hangs on. All give the same `Diagnosis`.

A profiler that cannot be used (a tool that is not installed, a device that does not count) is named in
`Diagnosis.missing` with the reason; it never fails a measurement. Plug-ins enter by `bringup.profilers`.
"""

from bringup.judge.profilers._base import Profiler, Seen, diagnose, profilers

__all__ = ["Profiler", "Seen", "diagnose", "profilers"]
