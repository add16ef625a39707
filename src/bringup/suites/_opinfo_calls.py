"""How a sample becomes a call of the documented signature.

OpInfo always passes a sample's main tensor first; where PyTorch's signature has another order, or where OpInfo's
entry wraps the function (a clone before an in-place call, a product before a pseudo-inverse), the entry's `op` is a
lambda that rearranges. A candidate implements the documented signature, so the rearrangement is done here, on the
inputs; `tests/suites/test_opinfo_calls.py` checks that no such lambda is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Call:
    """A reference and the arguments of one call: `reference(*args, **kwargs)`."""

    reference: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _swap(a: Any, b: Any, *rest: Any, **kwargs: Any) -> Arguments:
    return (b, a, *rest), kwargs


def _same(*args: Any, **kwargs: Any) -> Arguments:
    return args, kwargs


def _lstsq(a: Any, b: Any, driver: str) -> Arguments:
    return (a, b), {"driver": driver}


def _pinv(a: Any, b: Any) -> Arguments:
    # The entry makes rank-deficient matrices as a product, for the sake of its gradient.
    return (a @ b.mT,), {}


# (operator, variant or None for all) -> (documented function, rearrangement of the sample's arguments)
_REARRANGED: Mapping[tuple[str, str | None], tuple[Callable[..., Any], Callable[..., Arguments]]] = {
    ("where", None): (torch.where, _swap),
    ("einsum", None): (torch.einsum, _swap),
    ("polygamma", None): (torch.polygamma, _swap),
    ("special.polygamma", "special_polygamma_n_0"): (torch.special.polygamma, _swap),
    ("nn.functional.embedding", None): (torch.nn.functional.embedding, _swap),
    ("nn.functional.embedding_bag", None): (torch.nn.functional.embedding_bag, _swap),
    ("linalg.lstsq", "grad_oriented"): (torch.linalg.lstsq, _lstsq),
    ("linalg.pinv", "singular"): (torch.linalg.pinv, _pinv),
    # In-place operators: OpInfo clones first so that its autograd tests can reuse the input; the documented
    # function changes its input, and so must a candidate.
    ("resize_", None): (torch.Tensor.resize_, _same),
    ("resize_as_", None): (torch.Tensor.resize_as_, _same),
    ("zero_", None): (torch.Tensor.zero_, _same),
}

REARRANGED_OPERATORS = frozenset(name for name, _ in _REARRANGED)

# Factories that take `device`; OpInfo calls some of them without it, and without it no device would be chosen.
FACTORIES = frozenset({
    "arange", "empty", "empty_permuted", "empty_strided", "eye", "full", "linspace", "logspace", "ones",
    "scalar_tensor", "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


def is_factory(operator: str) -> bool:
    """Tell whether the operator makes tensors from numbers alone, so that only `device` says where."""
    return operator in FACTORIES or operator.startswith("signal.windows.")


def canonical_call(
    operator: str, variant: str, op: Callable[..., Any], first: Any, rest: tuple[Any, ...], keywords: dict[str, Any]
) -> Call:
    """Return the documented call of one sample; `first`, `rest`, `keywords` are the sample's input, args, kwargs."""
    rule = _REARRANGED.get((operator, variant)) or _REARRANGED.get((operator, None))
    if rule is not None:
        reference, rearrange = rule
        args, kwargs = rearrange(first, *rest, **keywords)
    else:
        reference, args, kwargs = op, (first, *rest), dict(keywords)
    if is_factory(operator) and "device" not in kwargs and not has_tensor(args):
        return Call(reference, args, {**kwargs, "device": "cpu"})
    return Call(reference, args, kwargs)


def has_tensor(value: Any) -> bool:
    """Tell whether a nest of lists and tuples holds a tensor."""
    if isinstance(value, torch.Tensor):
        return True
    return isinstance(value, list | tuple) and any(has_tensor(item) for item in value)
