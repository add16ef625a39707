"""Triton's interpreter on host memory: runs everywhere, checks semantics, knows nothing of a real compiler."""

from __future__ import annotations

from collections.abc import Mapping

from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults


class InterpreterTarget(TargetDefaults):
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

    def environment(self) -> Mapping[str, str]:
        """Triton must be told before it is imported."""
        return {"TRITON_INTERPRET": "1"}

    def worker_compile_log(self, error: BaseException) -> str | None:
        """The interpreter compiles nothing."""
        return None
