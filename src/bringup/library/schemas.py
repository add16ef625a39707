"""What PyTorch's schemas say of overloads: parameters, outputs, and which forms (functional, in-place, `out=`) belong
together.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from bringup.errors import did_you_mean
from bringup.library.errors import LibraryError

WRITES_UNSAID = dict.fromkeys(
    ("batch_norm", "instance_norm", "native_batch_norm", "_batch_norm_impl_index", "batch_norm_update_stats",
     "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts", "cudnn_batch_norm", "miopen_batch_norm"),
    frozenset({"running_mean", "running_var"}),
)  # fmt: skip
"""By operator: parameters that it writes though its schemas do not say so. Of the suite `aten` it is one operator."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of an overload."""

    name: str
    type: str
    keyword_only: bool
    written: bool
    has_default: bool
    default: Any

    def left_out(self, value: Any) -> bool:
        """Whether PyTorch leaves this value out when it calls a kernel: it is the default, of the same kind."""
        default = self.default
        if not self.has_default:
            return False
        if value is None or default is None:
            return value is default
        if type(default) is list:
            return type(value) in (list, tuple) and list(value) == default
        return type(value) is type(default) and bool(value == default)

    @property
    def same(self) -> tuple[str, str]:
        """What must agree in two forms of one operator."""
        return self.name, self.type


@dataclass(frozen=True)
class Schema:
    """One overload's schema."""

    name: str
    parameters: tuple[Parameter, ...]
    returns: int
    random: bool = False
    """Whether it draws random numbers: its kernel takes a `seed` in the place of a generator."""

    @property
    def outs(self) -> tuple[Parameter, ...]:
        """Parameters that hold the results of an `out=` form."""
        return tuple(p for p in self.parameters if p.written and p.keyword_only)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The others."""
        return tuple(p for p in self.parameters if not (p.written and p.keyword_only))

    @property
    def writes_inputs(self) -> bool:
        """Whether it is an in-place form, or writes to another of its inputs."""
        return any(p.written for p in self.inputs)

    @property
    def tensors(self) -> bool:
        """Whether it takes tensors, other than those for its results."""
        return any("Tensor" in p.type for p in self.inputs)


def operator(name: str) -> Any:
    """Return the overload `add.out` of namespace aten; raises LibraryError."""
    import torch

    packet, _, overload = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), overload or "default")
    except AttributeError:
        raise unknown(name) from None


def unknown(name: str) -> LibraryError:
    """Return the error for a name that is no overload: those that its operator has, or operators of similar names."""
    import torch

    packet = name.partition(".")[0]
    if known := overloads(packet):
        hint = f"; {packet} has {', '.join(sorted(known))}"
    else:
        every = {
            one.partition("::")[2].partition(".")[0]
            for one in torch._C._dispatch_get_all_op_names()
            if one[:6] == "aten::"
        }
        hint = did_you_mean(packet, every)
    return LibraryError(f"'{name}' is no ATen {'overload' if known else 'operator'} of torch {torch.__version__}{hint}")


@functools.cache
def schema_of(name: str) -> Schema:
    """Return an overload's schema; raises LibraryError."""
    import torch

    found = operator(name)._schema
    parameters = tuple(
        Parameter(
            p.name,
            str(p.type),
            bool(p.kwarg_only),
            bool(p.alias_info is not None and p.alias_info.is_write),
            bool(p.has_default_value()),
            _default(p),
        )
        for p in found.arguments
    )
    random = torch.Tag.nondeterministic_seeded in operator(name).tags
    return Schema(name, parameters, len(found.returns), random)


def _default(argument: Any) -> Any:
    """Return an argument's default as a caller would write it; None where it has none.

    Schemas hold dtypes as numbers, and the dispatcher leaves out what equals a default: a wrapper shall not meet them.
    """
    import torch

    if not argument.has_default_value():
        return None
    value = argument.default_value
    if "ScalarType" in str(argument.real_type) and isinstance(value, int):
        return torch.ops.aten.empty.memory_format([0], dtype=value).dtype
    return value


def overloads(packet: str) -> list[str]:
    """Return the overloads of an operator that the dispatcher knows: `add` has `add.Tensor`, `add.out` and others."""
    import torch

    try:
        found = getattr(torch.ops.aten, packet).overloads()
    except AttributeError:
        return []
    names = [packet if one == "default" else f"{packet}.{one}" for one in found]
    # The others are built-in functions of TorchScript.
    return [name for name in names if torch._C._dispatch_has_kernel(f"aten::{name}")]


@functools.cache
def functional_of(name: str) -> str | None:
    """Return the functional overload of an `out=` one, or None: `add.out` is `add.Tensor`'s."""
    schema = schema_of(name)
    if not schema.outs or schema.writes_inputs:
        return None
    wanted = [p.same for p in schema.inputs]
    for other in overloads(name.partition(".")[0]):
        found = schema_of(other)
        if not found.outs and not found.writes_inputs and [p.same for p in found.parameters] == wanted:
            return other
    return None


@functools.cache
def out_of(name: str) -> str | None:
    """Return the `out=` overload of a functional one, or None."""
    schema = schema_of(name)
    if schema.outs or schema.writes_inputs:
        return None
    return next((other for other in overloads(name.partition(".")[0]) if functional_of(other) == name), None)


@functools.cache
def inplace_of(name: str) -> str | None:
    """Return the in-place overload with the same parameters as a functional or `out=` one, or None.

    Its first parameter is what it writes to; the others may not be written.
    """
    schema = schema_of(name)
    if schema.writes_inputs:
        return None
    wanted = [p.same for p in schema.inputs]
    for other in overloads(name.partition(".")[0] + "_"):
        found = schema_of(other)
        written = [p.written for p in found.parameters]
        if written and written[0] and sum(written) == 1 and [p.same for p in found.parameters] == wanted:
            return other
    return None


def is_structured(functional: str) -> bool:
    """Whether PyTorch itself makes a functional (or in-place) overload out of its `out=` form, on any device."""
    import torch

    return bool(
        torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{functional}", "CompositeExplicitAutogradNonFunctional")
    )


def is_composite(name: str) -> bool:
    """Whether PyTorch has this overload as a composition of others with its own gradient (CompositeImplicit)."""
    import torch

    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CompositeImplicitAutograd"))


def is_composed(name: str) -> bool:
    """Whether PyTorch itself has a composition of other operators for this overload, for any device."""
    import torch

    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return any(
        has(f"aten::{name}", key)
        for key in (
            "CompositeImplicitAutograd",
            "CompositeExplicitAutograd",
            "CompositeExplicitAutogradNonFunctional",
        )
    )
