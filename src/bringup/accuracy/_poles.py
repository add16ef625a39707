"""Where a function is infinite, and double precision gives some large number instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from bringup.accuracy._conditions import UNIT

Poles = Callable[[tuple[Any, ...], Mapping[str, Any]], "tuple[torch.Tensor, torch.Tensor] | None"]


def _trigamma(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor] | None:
    """`polygamma(1, x)` at negative whole numbers: (pi / sin(pi x))**2 of a product that is rounded.

    With an error of eight units in pi x, the sine is at most 8 pi |x| u. Other orders give infinities, and so do those
    at 0.
    """
    order, x = (args[place] if len(args) > place else kwargs.get(name) for place, name in ((0, "n"), (1, "input")))
    if isinstance(order, torch.Tensor) and not isinstance(x, torch.Tensor):
        order, x = x, order  # the method, `x.polygamma(n)`
    if order != 1 or not isinstance(x, torch.Tensor) or x.is_complex():
        return None
    wide = x.detach().double()
    return wide.isfinite() & (wide < 0) & (wide == wide.floor()), (8 * UNIT * wide.abs().clamp(min=1)) ** -2


POLES: Mapping[str, Poles] = {"trigamma": _trigamma}
