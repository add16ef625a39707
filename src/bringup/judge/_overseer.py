"""The worker's watches around one call of the wrapper: one dispatch mode for all, one context for launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from bringup.judge.guards import WATCHES, VeilCurtain, Watch
from bringup.judge.guards.events import HostEvents


class _Dispatch(TorchDispatchMode):  # type: ignore[misc]
    """Shows every ATen call to the watches; the calls themselves go through."""

    def __init__(self, watches: list[Watch]) -> None:
        super().__init__()
        self.watches = watches

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        for watch in self.watches:
            watch.before(func, args, kwargs)
        result = func(*args, **kwargs)
        for watch in self.watches:
            watch.after(func, args, result)
        return result


class Overseer:
    """All watches of one worker."""

    def __init__(self, ids: list[str], target: Any, facts: dict[str, Any]) -> None:
        """Create the watches with these ids; `start` them before the candidate is loaded."""
        self.watches = [watch(target, facts) for watch in WATCHES if watch.id in ids]
        self.veil = next((w for w in self.watches if isinstance(w, VeilCurtain)), None)
        self.target = target
        self.ghost = False
        self._mode: _Dispatch | None = None

    def start(self) -> None:
        """Prepare every watch."""
        for watch in self.watches:
            watch.start()

    def builtins(self) -> dict[str, Any] | None:
        """Return the builtins for the candidate's module where a watch has its own."""
        return next((w.builtins() for w in self.watches if isinstance(w, HostEvents)), None)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Look on while the candidate's module is executed."""
        with self._around({}):
            yield

    @contextmanager
    def calling(self, mode: dict[str, Any], storages: list[Any]) -> Iterator[None]:
        """Look on while the wrapper runs on arguments with these storages, in the way that the judge asks for."""
        self.ghost = bool(mode.get("ghost"))
        protected = self.target.worker_protect(storages if mode.get("read_only") else [])
        with self.target.worker_order(mode.get("order")), protected, self._around(mode):
            if self.veil is not None:
                with _disable_current_modes():
                    self.veil.inputs(storages)
            yield

    @contextmanager
    def _around(self, mode: dict[str, Any]) -> Iterator[None]:
        with ExitStack() as stack:
            for watch in self.watches:
                stack.enter_context(watch.around(mode))
            if self.watches:
                self._mode = stack.enter_context(_Dispatch(self.watches))
            yield

    def take(self) -> list[list[Any]]:
        """Let the watches look once more, and return what they found."""
        found = []
        for watch in self.watches:
            watch.finish()
            found += [finding.to_json() for finding in watch.take()]
        return found

    @contextmanager
    def launching(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
        """Stand aside while a kernel with these arguments is launched."""
        with ExitStack() as stack:
            stack.enter_context(_disable_current_modes())
            for watch in self.watches:
                stack.enter_context(watch.outside())
            if self.veil is not None:
                stack.enter_context(self.veil.launch(args, kwargs))
            yield

    def wrappers_own(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a callable that runs inside a launch but is the wrapper's (a grid, a hook): it is watched again."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            with ExitStack() as stack:
                if self.veil is not None:
                    stack.enter_context(self.veil.drawn())
                for watch in self.watches:
                    if isinstance(watch, HostEvents):
                        stack.enter_context(watch.around({}))
                if self._mode is not None:
                    stack.enter_context(_Dispatch(self.watches))
                return function(*args, **kwargs)

        return watched
