"""What goes wrong on the chip: compile errors and faults."""

from __future__ import annotations

from typing import Any

from triton.compiler.errors import TritonError


class VpeCompileError(TritonError):  # type: ignore[misc]
    """The compiler refuses a kernel: an operation without a lowering, or a rule of the profile that it breaks.

    `str(error)` is the short form, one paragraph for each violated rule; `log` is the whole compiler log.
    """

    def __init__(self, message: str, log: str = "", problems: tuple[Any, ...] = ()) -> None:
        super().__init__(message)
        self.message, self.log, self.problems = message, log or message, problems

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Any:
        return (VpeCompileError, (self.message, self.log, self.problems))


class VpeLaunchError(RuntimeError):
    """A launch that cannot start: a grid outside of the limits, an unaligned pointer, a tensor of another device."""


class VpeFault(RuntimeError):
    """A program was stopped by the chip. `dump` is the core dump, `dump_path` the file that holds it (None if
    not written).
    """

    def __init__(self, message: str, dump: dict[str, Any], dump_path: str | None = None) -> None:
        super().__init__(message)
        self.dump, self.dump_path = dump, dump_path

    def __reduce__(self) -> Any:
        return (VpeFault, (str(self), self.dump, self.dump_path))
