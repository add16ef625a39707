"""What ATen's schemas say of an overload: whether its result aliases an argument."""

from __future__ import annotations

from typing import Any


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
