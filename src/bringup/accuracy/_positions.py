"""What rounding computed positions can change: operators that sample an image between its elements.

Positions and weights are computed on the way, rounded at each step, so that no change of the data itself says what
they may do. The functions here return, for each tensor of a call, an absolute error (float64, broadcasting to it) and
the size of the terms that are added up.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.accuracy._conditions import UNIT
from bringup.accuracy._numbers import FLOATS, unit
from bringup.accuracy._twin import Twin, double, leaves

# Roundings of one position, in units of its own size: g + 1, times the size, less a half, and a reflection's steps.
STEPS = 4.0
# Roundings of a term: weights, their product, the product with the element, the sum.
TERM = {"bilinear": 8.0, "nearest": 0.0, "bicubic": 32.0}
MODES = ("bilinear", "nearest", "bicubic")
BICUBIC_SLOPE = 1.5  # the largest derivative of the cubic kernel with A = -0.75


@dataclass(frozen=True)
class Moved:
    """What positions do to one tensor."""

    error: Any = 0.0
    size: Any = 0.0


def _grid(twin: Twin, exact: Sequence[torch.Tensor]) -> list[Moved]:
    """`grid_sample`, `grid_sampler_2d`, `grid_sampler_3d`: the extremes over the box in which a position may lie.

    A grid's value g is turned into the position ((g + 1) * size - 1) / 2, or (g + 1) / 2 * (size - 1), in the dtype of
    the call. The exact result is computed at the corners of the box and the centres of its sides: linear pieces have
    their extremes there, or rise as much on the other side, and where `nearest` changes its mind both samples are
    found. A box wider than an element is looked at half-way, too.
    """
    image, grid = (_named(twin, place, name) for place, name in ((0, "input"), (1, "grid")))
    if image.dtype not in FLOATS:
        return [Moved() for _ in exact]
    rounding = unit(image.dtype)
    wide, data = grid.detach().double(), image.detach().double()
    box = STEPS * rounding * (wide.abs() + 1)
    axes = grid.shape[-1]
    signs = [(*(0.0,) * axis, sign, *(0.0,) * (axes - axis - 1)) for axis in range(axes) for sign in (-1.0, 1.0)]
    signs += itertools.product((-1.0, 1.0), repeat=axes)
    finite = box[box.isfinite()]
    elements = float(finite.max()) * max(image.shape[2:]) / 2 if finite.numel() else 0.0
    lowest, highest = exact[0].clone(), exact[0].clone()
    for share, one in itertools.product((0.5, 1.0) if elements > 0.5 else (1.0,), signs):
        found = _called(twin, data, wide + box * share * torch.tensor(one, dtype=torch.float64))
        torch.minimum(lowest, found, out=lowest)
        torch.maximum(highest, found, out=highest)
    mode = _mode(twin)
    size: Any = _called(twin, data.abs(), wide)
    if mode == "bicubic":  # its weights have both signs
        size = data.abs().flatten(2).amax(2).reshape(*image.shape[:2], *[1] * (grid.dim() - 2))
    error = torch.maximum(highest - exact[0], exact[0] - lowest) + TERM[mode] * rounding * size
    return [Moved(error, size), *[Moved() for _ in exact[1:]]]


def _mode(twin: Twin) -> str:
    given = _option(twin, 2, ("mode", "interpolation_mode"), "bilinear")
    return given if isinstance(given, str) else MODES[int(given)]


def _named(twin: Twin, place: int, *names: str) -> Any:
    return twin.args[place] if len(twin.args) > place else next(twin.kwargs[n] for n in names if n in twin.kwargs)


def _option(twin: Twin, place: int, names: tuple[str, ...], default: Any) -> Any:
    return (
        twin.args[place]
        if len(twin.args) > place
        else next((twin.kwargs[n] for n in names if n in twin.kwargs), default)
    )


def _called(twin: Twin, image: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
    """The function on another image and grid."""
    given = {"input": image, "grid": grid}
    args = tuple({0: image, 1: grid}.get(place, value) for place, value in enumerate(twin.args))
    kwargs = {name: given.get(name, value) for name, value in twin.kwargs.items()}
    with double():
        return leaves(twin.function(*args, **kwargs))[0]


def _resampled(twin: Twin, exact: Sequence[torch.Tensor]) -> list[Moved]:
    """`upsample_*_backward(grad_output, output_size, input_size, ...)`: positions in float32, for every dtype.

    A position up to `size` is off by `STEPS` roundings of it, and each of the terms that meet in an element of the
    input by the slope of its kernel times that.
    """
    gradient = _named(twin, 0, "grad_output")
    outputs, inputs = (
        list(_named(twin, place, name))[-gradient.dim() + 2 :]
        for place, name in ((1, "output_size"), (2, "input_size"))
    )
    if not gradient.numel():
        return [Moved() for _ in exact]
    met = 1.0  # terms that meet: four elements of the input under the kernel on each axis, and the clamped edge
    for out, given in zip(outputs, inputs, strict=True):
        met *= min(float(out), 4.0 * out / max(given, 1) + 4)
    error = len(inputs) * BICUBIC_SLOPE * STEPS * UNIT * (max(inputs) + 1) * met * float(gradient.double().abs().max())
    return [Moved(error) for _ in exact]


Positions = Callable[[Twin, Sequence[torch.Tensor]], list[Moved]]
POSITIONS: Mapping[str, Positions] = {"grid": _grid, "resampled": _resampled}
