"""Triton's interpreter on host memory: runs everywhere, checks semantics, knows nothing of a real compiler."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bringup.dialect import Dialect, load_dialect
from bringup.errors import ConfigError
from bringup.targets._base import TargetDefaults

LARGEST_SHUFFLE = 1 << 20  # programs; a larger grid takes its order from the numbers


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

    @contextmanager
    def worker_order(self, seed: int | None) -> Iterator[None]:
        """Hand the programs other places of the grid: the interpreter runs them one after the other."""
        if seed is None:
            yield
            return
        from triton.runtime import interpreter

        builder, generator = interpreter.interpreter_builder, random.Random(seed)
        set_dim, set_index = builder.set_grid_dim, builder.set_grid_idx
        places: dict[tuple[int, ...], list[int]] = {}

        def shuffled_dim(*dims: int) -> None:
            count = math.prod(dims)
            order = list(range(count))
            if count <= LARGEST_SHUFFLE:
                generator.shuffle(order)
            places.clear()
            places[tuple(dims)] = order
            set_dim(*dims)

        def shuffled_index(x: int, y: int, z: int) -> None:
            [(dims, order)] = places.items()
            place = order[(x * dims[1] + y) * dims[2] + z]
            set_index(place // (dims[1] * dims[2]), place // dims[2] % dims[1], place % dims[2])

        builder.set_grid_dim, builder.set_grid_idx = shuffled_dim, shuffled_index
        try:
            yield
        finally:
            del builder.set_grid_dim, builder.set_grid_idx

    def worker_compile_log(self, error: BaseException) -> str | None:
        """The interpreter compiles nothing."""
        return None
