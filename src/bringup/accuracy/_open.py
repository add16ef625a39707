"""Elements of a result that nothing is known of: any value is right there.

Memory that PyTorch allocates and never writes, and points where PyTorch's own series fail in double precision too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

Open = Callable[[tuple[Any, ...], Mapping[str, Any], Sequence[torch.Tensor]], list[torch.Tensor | None]]


def _ctc_alpha(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """`_ctc_loss(log_probs, targets, input_lengths, target_lengths, ...)`: its second result, log_alpha.

    log_alpha has the shape (batch, longest input, 2 * longest target + 1). Of each sample only the steps of its own
    input and the states of its own target are part of the recursion.
    """
    found: list[torch.Tensor | None] = [None] * len(outputs)
    if len(outputs) < 2 or outputs[1].dim() != 3:
        return found
    inputs, targets = (
        torch.as_tensor(args[place] if len(args) > place else kwargs[name]).reshape(-1, 1, 1)
        for place, name in ((2, "input_lengths"), (3, "target_lengths"))
    )
    _, steps, states = outputs[1].shape
    late = torch.arange(steps).reshape(1, -1, 1) >= inputs
    found[1] = (late | (torch.arange(states) > 2 * targets)).expand(outputs[1].shape)
    return found


def _at_infinity(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """A function of one tensor that is infinite at infinity, where PyTorch's formula gives infinity over infinity."""
    x = torch.as_tensor(args[0] if args else kwargs["input"])
    return [x.isinf() if x.is_floating_point() else None, *[None] * (len(outputs) - 1)]


def _far(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """Hurwitz's `zeta(x, q)` at large x and positive q: the factors of its series overflow, and give NaN for 0 or 1."""
    x, q = (torch.as_tensor(value) for value in ([*args, *kwargs.values()])[:2])
    return [((x > FAR) & (q > 0)).broadcast_to(outputs[0].shape), *[None] * (len(outputs) - 1)]


def _near_one(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """`igamma(a, x)`, `igammac(a, x)` at an a so small that `lgamma(1 + a)`, rounded to 0, is what is left of it."""
    a = torch.as_tensor(args[0] if args else kwargs["input"])
    return [(a.abs() < TINY).broadcast_to(outputs[0].shape), *[None] * (len(outputs) - 1)]


def _unheld(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """A conversion of floating-point numbers to integers: what the dtype cannot hold is undefined, as in C.

    Processors differ: x86 gives the smallest integer, ARM the nearest or 0.
    """
    x, result = torch.as_tensor(args[0] if args else kwargs["input"]), outputs[0]
    if not x.is_floating_point() or result.is_floating_point() or result.dtype == torch.bool or x.shape != result.shape:
        return [None] * len(outputs)
    # PyTorch makes bytes of 64-bit integers, so that negative numbers wrap around
    limits = torch.iinfo(torch.int64 if result.dtype == torch.uint8 else result.dtype)
    whole = x.double().trunc()
    # the largest int64 is no double; the next one is the first that is too large
    return [~((whole >= float(limits.min)) & (whole < float(limits.max) + 1)), *[None] * (len(outputs) - 1)]


def _far_apart(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """A remainder of two finite numbers whose quotient no number of the dtype is: some kernels say NaN, others do not.

    PyTorch computes half precisions in float32.
    """
    result = outputs[0]
    if result.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return [None] * len(outputs)
    x, y = (torch.as_tensor(value).to(torch.float32) for value in ([*args, *kwargs.values()])[:2])
    apart = (x / y).isinf() & x.isfinite() & (y != 0)
    return [apart.broadcast_to(result.shape), *[None] * (len(outputs) - 1)]


def _far_apart_turned(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    """The same, where the first argument divides the second."""
    return _far_apart(tuple([*args, *kwargs.values()][1::-1]), {}, outputs)


TINY = 2.0**-26  # below it 1 + a keeps fewer bits of a than float32 has
FAR = 1e12  # the factor x (x + 1) ... (x + 23) of the series' last term overflows in double precision above 7e12

OPEN: Mapping[str, Open] = {
    "ctc_alpha": _ctc_alpha,
    "near_one": _near_one,
    "at_infinity": _at_infinity,
    "far": _far,
    "far_apart": _far_apart,
    "far_apart_turned": _far_apart_turned,
    "unheld": _unheld,
}
