"""Triton's interpreter on host memory: runs everywhere, checks semantics, knows nothing of a real compiler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError


class InterpreterTarget:
    """The target `interpreter`: kernels run one program after the other in NumPy, tensors live on the CPU."""

    name = "interpreter"
    device = "cpu"
    features: frozenset[str] = frozenset()  # no complex numbers, no sparse tensors
    limits_address_space = True
    compile_for: tuple[str, ...] = ("cuda:sm_90",)  # the interpreter accepts what a compiler refuses

    def __init__(self, profile: str | None = None) -> None:
        """Make the target; it has no profiles."""
        if profile is not None:
            raise ConfigError(f"target interpreter:{profile}", "the interpreter has no profiles", "use `interpreter`")
        self.profile = profile

    def dialect(self) -> Dialect:
        """Return upstream Triton's language, as both the interpreter and a real compiler accept it."""
        return load_dialect("interpreter")

    def profiles(self) -> tuple[str, ...]:
        """There are none."""
        return ()

    def facts(self) -> dict[str, Any]:
        """There is no chip."""
        return {}

    def environment(self) -> Mapping[str, str]:
        """Triton must be told before it is imported."""
        return {"TRITON_INTERPRET": "1"}

    def unavailable(self) -> str | None:
        """The interpreter runs everywhere."""
        return None

    def warm_up(self) -> None:
        """Triton and torch are imported by the judge."""

    def worker_setup(self) -> None:
        """Nothing to prepare."""

    def worker_to_device(self, tensor: Any) -> Any:
        """Host memory is device memory."""
        return tensor

    def worker_to_host(self, tensor: Any) -> Any:
        """Host memory is device memory."""
        return tensor

    def worker_synchronize(self) -> None:
        """Launches are synchronous."""

    def worker_fault(self, error: BaseException) -> str | None:
        """The interpreter has no faults of its own: a bad access ends the process."""
        return None

    def worker_counters(self) -> list[dict[str, Any]]:
        """Nothing is counted."""
        return []

    def worker_compile_log(self, error: BaseException) -> str | None:
        """The interpreter compiles nothing."""
        return None
