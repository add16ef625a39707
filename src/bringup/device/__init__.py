"""The wall: a device process that owns memory, kernels and clock, and guests that hold handles.

Three parties, each in a process of its own. The guest loads a candidate and runs its wrapper; its device tensors are
handles on a range of addresses without any access right. What it wants done to data goes into an ordered stream of
commands (`wire`, `stream`). The device process (`process`) runs no code of a candidate's: it allocates, copies,
launches compiled text and keeps the account by which the rules are checked (`memory`, `account`). The referee, in
the room `judge`, puts inputs into the device process and takes outputs out of it.

`engine` is the door for targets: what a device must do behind the wall. Importing this package imports neither torch
nor Triton.
"""

from bringup.device.engine import Call, Engine, Fault, Kernel, Stopwatch, TimedEngine

__all__ = ["Call", "Engine", "Fault", "Kernel", "Stopwatch", "TimedEngine"]
