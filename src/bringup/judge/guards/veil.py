"""The veil: device memory shows the host garbage; only launches and the copies a wrapper may make see true values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from bringup.judge.guards._base import Rerun, Watch
from bringup.judge.guards._memory import device_bytes

if TYPE_CHECKING:
    from bringup.judge._case import CaseJudge, Outcome
    from bringup.judge.guards._rerun import Rerunner

GARBAGE = 0x3B  # small positive numbers in every dtype: 0.0029 as float32, 59 as int8


class VeilCurtain(Watch):
    """The worker's half: every storage of the device that the wrapper can know is swapped for garbage and back."""

    id = "veil"

    def __init__(self, target: Any, facts: dict[str, Any]) -> None:
        """Start lifted."""
        super().__init__(target, facts)
        self.kind = target.device.partition(":")[0]
        self.on = False
        self.lifted = False  # for the copy that is being made
        self.hidden: dict[int, tuple[Any, Any, Any]] = {}  # id -> storage, its memory, its true bytes

    @contextmanager
    def around(self, mode: dict[str, Any]) -> Iterator[None]:
        """Draw the curtain for a call that asks for it; afterwards everything is as the kernels left it."""
        self.on, self.lifted = bool(mode.get("veil")), False
        try:
            yield
        finally:
            if self.on:
                self._show()
            self.hidden.clear()
            self.on = False

    def inputs(self, storages: list[Any]) -> None:
        """Hide the storages of the arguments before the wrapper runs."""
        if self.on:
            for storage in storages:
                self._track(storage)

    def launching(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Hide the arguments that were not known yet: `outside` shows a kernel what is hidden, and hides it again."""
        if self.on:
            from torch.utils._python_dispatch import _disable_current_modes

            with _disable_current_modes():
                self._track_all((args, tuple(kwargs.values())))

    def outside(self) -> AbstractContextManager[None]:
        """Return a context in which a kernel sees true values."""
        return self._swapped(self._show, self._hide)

    def inside(self) -> AbstractContextManager[None]:
        """Return a context in which the curtain is closed again: the wrapper's own code inside a launch."""
        return self._swapped(self._hide, self._show)

    def before(self, func: Any, args: Any, kwargs: Any) -> None:
        """Lift for a copy within the device, or onto it."""
        if self.on:
            self._track_all(args)
            if self._copies(func, args, kwargs):
                self._show()
                self.lifted = True

    def after(self, func: Any, args: Any, result: Any) -> None:
        """Hide what came out, and everything else again."""
        if self.on:
            self.broken(func)
            self._track_all((result,))

    def broken(self, func: Any) -> None:
        """Hide again what was shown for a copy, whether that was made or not."""
        if self.on and self.lifted:
            self.lifted = False
            self._hide()

    def _copies(self, func: Any, args: Any, kwargs: Any) -> bool:
        import torch

        from bringup.judge._schemas import COPIES

        if func._schema.name not in COPIES:
            return False
        destination = args[0] if func._schema.name == "aten::copy_" else None
        device = destination.device if destination is not None else (kwargs or {}).get("device") or args[0].device
        return bool(torch.device(device).type == self.kind)

    def _track_all(self, values: Any) -> None:
        import torch

        if isinstance(values, torch.Tensor):
            if values.device.type == self.kind and values.layout is torch.strided:
                self._track(values.untyped_storage())
        elif isinstance(values, tuple | list):
            for value in values:
                self._track_all(value)

    def _track(self, storage: Any) -> None:
        known = self.hidden.get(storage._cdata)
        if known is not None and known[1].numel() == storage.nbytes():
            return
        memory = device_bytes(self.target, storage)
        if memory is not None and memory.numel():
            self.hidden[storage._cdata] = (storage, memory, memory.clone())
            memory.fill_(GARBAGE)

    def _show(self) -> None:
        for _, memory, truth in self.hidden.values():
            memory.copy_(truth)

    def _hide(self) -> None:
        for _, memory, truth in self.hidden.values():
            truth.copy_(memory)
            memory.fill_(GARBAGE)

    @contextmanager
    def _swapped(self, enter: Callable[[], None], leave: Callable[[], None]) -> Iterator[None]:
        """Show or hide for a while."""
        if not self.on:
            yield
            return
        enter()
        try:
            yield
        finally:
            leave()


class Veil(Rerun):
    """A result may depend on values only through kernels: with the host blind it must still be right.

    Not asked of operators whose result has a shape, or is a number, that depends on data.
    """

    id = "veil"
    catches = "values read by the host and computed there (NumPy, ctypes, item, a round trip over the CPU)"
    misses = "the host reading while a kernel runs; operators that must read values"
    per_dtype = 1

    def applies(self, job: dict[str, Any]) -> bool:
        """Leave out operators that must read values."""
        return not job["reads_values"]

    def check(self, rerun: Rerunner, case: CaseJudge) -> Outcome | None:
        """Run once with the host blind."""
        outcome = rerun.outcome(case, {"veil": True})
        if outcome.kind == "passed":
            return None
        return rerun.cheated(
            self.id,
            "the result depends on values of device memory that the wrapper read on the host: with the host blind "
            f"the same call gives: {outcome.summary}",
            "compute with values in kernels only; the wrapper may read shapes, strides and dtypes",
        )
