"""What a model of the zoo is: a module, its data, its loss, its optimiser, and what it generates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Tolerance:
    """How far a device's numbers may be from the CPU's, relative."""

    loss: float
    """|ours - CPU's| / |CPU's| of each step's loss."""
    gradient: float
    """Largest |ours - CPU's| of a parameter's gradient, by its largest element, and by no less than a thousandth of
    the model's largest gradient: some gradients are zero but for rounding."""
    output: float = 1e-3
    """The same of generated numbers (images), by their largest element. Generated tokens have to be equal."""


@dataclass(frozen=True)
class Generated:
    """What a trained model generates. Tensors on the CPU."""

    tokens: Any = None
    """int64 (batch, length), chosen without random numbers of the device: equal on every device."""
    sampled: Any = None
    """int64 (batch, length), drawn with random numbers of the device."""
    allowed: Any = None
    """bool (batch, length, vocabulary), or (batch, length) for `sampled` alone: what a draw may be."""
    output: Any = None
    """float32, any shape: numbers."""


class Recipe(ABC):
    """A model with everything that training needs. All tensors that it makes are the CPU's, the same in every run."""

    name: ClassVar[str]
    what: ClassVar[str]
    """One line for the list."""
    optimizer_name: ClassVar[str]
    tolerance: ClassVar[Tolerance]
    clip: ClassVar[float | None] = None
    """Gradients' norm is clipped to this."""
    generates: ClassVar[str] = ""
    """What `generate` makes; empty: nothing."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Packages that have to be installed."""

    @abstractmethod
    def model(self) -> Any:
        """Return the module, in training mode, with weights drawn from torch's CPU generator, seeded by the caller."""

    @abstractmethod
    def batch(self, step: int) -> tuple[Any, ...]:
        """Return the tensors of a step."""

    @abstractmethod
    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Return the loss, a scalar with a gradient; `batch` is on the model's device."""

    @abstractmethod
    def optimizers(self, model: Any) -> list[Any]:
        """Return what takes the steps."""

    def schedules(self, optimizers: Sequence[Any]) -> list[Any]:
        """Return what changes their learning rates after each step."""
        return []

    def generate(self, model: Any, device: Any) -> Generated | None:
        """Let the trained model, in evaluation mode, generate; None where it does not."""
        return None
