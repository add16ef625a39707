"""The worker's watches around one call of the wrapper: one dispatch mode for all, one context for launches."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from bringup.judge.guards import WATCHES, Watch


def _dispatch(watches: tuple[Watch, ...]) -> TorchDispatchMode:
    """Make a mode that shows every ATen call to the watches; the calls themselves go through.

    The watches hang on no attribute: a wrapper finds the mode easily.
    """

    class Dispatch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            for watch in watches:
                watch.before(func, args, kwargs)
            try:
                result = func(*args, **kwargs)
            except BaseException:
                for watch in watches:
                    watch.broken(func)
                raise
            for watch in watches:
                watch.after(func, args, result)
            return result

    return Dispatch()


# All but those that a fault of the process itself raises.
ASYNCHRONOUS = frozenset(
    {signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO, signal.SIGINT}
    | {signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE}
    | {signal.SIGCONT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    | set(range(signal.SIGRTMIN, signal.SIGRTMAX + 1))
)


class Overseer:
    """All watches of one worker."""

    def __init__(self, ids: list[str], target: Any, facts: dict[str, Any]) -> None:
        """Create the watches with these ids; `start` them before the candidate is loaded."""
        self.watches = tuple(watch(target, facts) for watch in WATCHES if watch.id in ids)
        self.fault: BaseException | None = None  # the device's, raised by a launch of this call
        self.target = target
        self.ghost = False

    def start(self) -> None:
        """Prepare every watch."""
        for watch in self.watches:
            watch.start()

    def builtins(self) -> dict[str, Any] | None:
        """Return the builtins for the candidate's module where a watch has its own."""
        return next((own for watch in self.watches if (own := watch.builtins()) is not None), None)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Look on while the candidate's module is executed."""
        with self._around({}):
            yield

    @contextmanager
    def calling(self, mode: dict[str, Any], storages: list[Any]) -> Iterator[None]:
        """Look on while the wrapper runs on arguments with these storages, in the way that the judge asks for."""
        self.ghost, self.fault = bool(mode.get("ghost")), None
        protected = self.target.worker_protect(storages if mode.get("read_only") else [])
        with self.target.worker_order(mode.get("order")), protected, self._around(mode):
            with _disable_current_modes():
                for watch in self.watches:
                    watch.inputs(storages)
            yield

    @contextmanager
    def _around(self, mode: dict[str, Any]) -> Iterator[None]:
        with ExitStack() as stack:
            for watch in self.watches:
                stack.enter_context(watch.around(mode))
            if self.watches:
                stack.enter_context(_dispatch(self.watches))
            yield

    def take(self) -> list[list[Any]]:
        """Let the watches look once more, and return what they found."""
        found = []
        for watch in self.watches:
            watch.finish()
            found += [finding.to_json() for finding in watch.take()]
        return found

    def loaded(self, module: Any) -> None:
        """Show the candidate's module to the watches."""
        for watch in self.watches:
            watch.loaded(module)

    @contextmanager
    def launching(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        """Stand aside while a kernel with these arguments is launched; nothing else of the candidate's runs then."""
        with ExitStack() as stack:
            stack.enter_context(_undisturbed())
            # With modes on: what a watch looks at here may be code of the candidate's, a property say.
            for watch in self.watches:
                watch.launching(kernel, args, kwargs)
            stack.enter_context(_disable_current_modes())
            for watch in self.watches:
                stack.enter_context(watch.outside())
            yield

    def failed(self, error: BaseException) -> None:
        """Note that a launch raised."""
        if self.fault is None and self.target.worker_fault(error) is not None:
            self.fault = error

    def wrappers_own(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a callable that runs inside a launch but is the wrapper's (a grid, a hook): it is watched again."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                for watch in reversed(self.watches):  # as they come back after the launch
                    stack.enter_context(watch.inside())
                if self.watches:
                    stack.enter_context(_dispatch(self.watches))
                return function(*args, **kwargs)

        return watched


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back what could run the candidate's code inside a launch: signals, callbacks of the garbage collector."""
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ASYNCHRONOUS)
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    try:
        yield
    finally:
        gc.callbacks[:] = callbacks
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
