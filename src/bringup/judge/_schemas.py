"""What ATen's schemas say of an overload: whether it computes, copies, or only allocates and takes views."""

from __future__ import annotations

from typing import Any

# Memory that nothing has been written to yet.
FRESH = frozenset(
    {
        "aten::empty",
        "aten::empty_like",
        "aten::empty_permuted",
        "aten::empty_strided",
        "aten::new_empty",
        "aten::new_empty_strided",
    }
)
# Allocation and metadata, which every device has; `_local_scalar_dense` reads one number back (`item`), because the
# shape of some results depends on data.
ALLOCATION = FRESH | frozenset(
    {
        "aten::resize_",
        "aten::_local_scalar_dense",
        "aten::lift_fresh",
        "aten::_unsafe_view",
        "aten::_reshape_alias",
        "aten::set_",
        # questions about dtypes and shapes, answered without touching data
        "aten::promote_types",
        "aten::result_type",
        "aten::can_cast",
        "aten::is_same_size",
    }
)
# Copies every device has as well; one that changes the dtype computes.
COPIES = frozenset({"aten::clone", "aten::copy_", "aten::_to_copy"})


def moves_no_data(schema: Any) -> bool:
    """Whether an overload only allocates, reads metadata or returns a view."""
    if schema.name in ALLOCATION:
        return True
    infos = [item.alias_info for item in schema.returns]
    return bool(infos) and all(info is not None and not info.is_write for info in infos)


def schemas(overloads: tuple[str, ...]) -> list[Any]:
    """Look up the schemas of overloads such as `aten.abs.default`; unknown ones are left out."""
    import torch  # here: guards import this module, and they must not import torch

    found = []
    for name in overloads:
        packet: Any = torch.ops
        try:
            for part in name.split("."):
                packet = getattr(packet, part)
            found.append(packet._schema)
        except (AttributeError, RuntimeError):
            continue
    return found


def aliases_inputs(overloads: tuple[str, ...]) -> bool:
    """Whether some overload behind an operator declares that its result aliases an argument."""
    return any(item.alias_info is not None for schema in schemas(overloads) for item in schema.returns)
