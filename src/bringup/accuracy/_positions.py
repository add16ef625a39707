"""What rounding computed positions can change: operators that sample an image between its elements.

Positions and weights are computed on the way, rounded at each step, so that no change of the data itself says what
they may do. The functions here return, for each tensor of a call, an absolute error (float64, broadcasting to it) and
the size of the terms that are added up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.accuracy._conditions import UNIT
from bringup.accuracy._numbers import FLOATS, unit
from bringup.accuracy._twin import Twin, double, leaves

# Roundings of one position, in units of its own size: g + 1, times the size, less a half, and one to spare.
STEPS = 4.0
REFLECTION = 2.0  # more of a reflected one: its distance from an edge, what is left of a period, the edge again
# Roundings of a term, by mode and axes: weights, their product, the product with the element, and the sum of four terms
# of an image (2 + 1 + 1 + 3) or eight of a volume (3 + 2 + 1 + 7), and one to spare.
TERM = {"bilinear": {2: 8.0, 3: 14.0}, "nearest": {2: 0.0, 3: 0.0}, "bicubic": {2: 32.0}}
LOST_ELEMENTS = 1.0
# The largest sum of the sizes of the weights, on two axes: of cubic kernels 1.375 each.
ANYWHERE = {"bilinear": 1.0, "nearest": 1.0, "bicubic": 1.375**2}
MODES = ("bilinear", "nearest", "bicubic")
# Gradients in half precisions may have twice as many: PyTorch's own need 0.98 of those above.
GRADIENTS = 2.0
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
    padding = _option(twin, 3, ("padding_mode",), "zeros")
    box = _steps(padding) * rounding * (wide.abs() + 1)
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
    largest = data.abs().flatten(2).amax(2).reshape(*image.shape[:2], *[1] * (grid.dim() - 2))
    if mode == "bicubic":  # its weights have both signs
        size = largest
    # A position that is off by elements may lie on any of them: reflected, its place in the period is chance.
    lost = (box * torch.tensor(image.shape[:1:-1], dtype=torch.float64) / 2 > LOST_ELEMENTS).any(-1).unsqueeze(1)
    anywhere = ANYWHERE[mode] * largest
    lowest = torch.where(lost, torch.minimum(lowest, -anywhere), lowest)
    highest = torch.where(lost, torch.maximum(highest, anywhere), highest)
    error = torch.maximum(highest - exact[0], exact[0] - lowest) + TERM[mode][axes] * rounding * size
    return [Moved(error, size), *[Moved() for _ in exact[1:]]]


def _steps(padding: str | int) -> float:
    """The roundings of a position under a padding mode, by its name or number."""
    return STEPS + (REFLECTION if padding in ("reflection", 2) else 0.0)


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


def _filtered(twin: Twin, exact: Sequence[torch.Tensor]) -> list[Moved]:
    """`_upsample_bilinear2d_aa(input, ...)`: each axis filtered by triangles, one or more elements to each side.

    Places in the image are computed in float32, for every dtype; the slopes of the weights, which are a triangle's, add
    up to 2 at most for each element that a place is off by.
    """
    image = _named(twin, 0, "input", "self")
    if not image.numel():
        return [Moved() for _ in exact]
    axes, data = image.dim() - 2, image.double()
    largest = float(data[data.isfinite()].abs().max()) if bool(data.isfinite().any()) else 0.0
    error = axes * 2 * STEPS * UNIT * (max(image.shape[2:]) + 1) * largest
    return [Moved(error) for _ in exact]


def _grid_backward(twin: Twin, exact: Sequence[torch.Tensor]) -> list[Moved]:
    """`grid_sampler_2d_backward`, `grid_sampler_3d_backward`: the gradients of an image and of the grid.

    Of (grad_output, input, grid, interpolation_mode, padding_mode, align_corners, output_mask). A gradient of the grid
    is a slope of its own sample: within a piece of the interpolation it changes by the size of its terms times the box
    of positions, and between pieces it jumps, so that it may be anything between the extremes over the corners of the
    box. An element of the image's gradient is a sum over samples of weights, and each may change by its slope times the
    box of its own sample; beyond an element, all of its weight. What a sample can reach, by an error too, is covered by
    a linear interpolation at positions that lie whole elements apart; elements that are taken whole (`nearest`) change
    where the box has corners in two.
    """
    gradient, image, grid = (
        _named(twin, place, name) for place, name in ((0, "grad_output"), (1, "input"), (2, "grid"))
    )
    mode = MODES[int(_option(twin, 3, ("interpolation_mode",), 0))]
    padding, corners = int(_option(twin, 4, ("padding_mode",), 0)), bool(_option(twin, 5, ("align_corners",), False))
    if image.dtype not in FLOATS or not grid.numel() or not image.numel():
        return [Moved() for _ in exact]
    rounding = unit(image.dtype)
    top, data, wide = (tensor.detach().double() for tensor in (gradient, image, grid))
    axes = wide.shape[-1]
    lengths = torch.tensor(image.shape[2:], dtype=torch.float64).flip(0)  # the last axis is the grid's first
    element = 2 / (lengths - 1).clamp(min=1) if corners else 2 / lengths
    more = 1.0 if image.dtype is torch.float32 else GRADIENTS
    box = more * _steps(padding) * rounding * (wide.abs() + 1)
    box = torch.where(box.isfinite(), box, torch.zeros_like(box))
    signs = [(*(0.0,) * axis, sign, *(0.0,) * (axes - axis - 1)) for axis in range(axes) for sign in (-1.0, 1.0)]
    signs += itertools.product((-1.0, 1.0), repeat=axes)
    shifts = [box * torch.tensor(one, dtype=torch.float64) for one in signs]
    samples = _sampler(axes)

    def moved(steps: Sequence[int]) -> torch.Tensor:
        """Positions that lie so many elements on."""
        return wide + torch.tensor(steps, dtype=torch.float64) * element

    def reached(values: torch.Tensor, way: int = 0, reach: int = 0) -> torch.Tensor:
        """Add up values of samples: by their weights, or (`reach` elements) once in each element that they reach."""
        total = torch.zeros_like(data)
        for steps in itertools.product(range(-reach, reach + 1), repeat=axes):
            total += samples.backward(values, data, moved(steps), way, padding, corners, [True, False])[0]
        return total * cover if reach else total

    def around(along: int | None) -> torch.Tensor:
        """Add up the sizes of the elements around each sample, of all axes or on both sides of one."""
        total = torch.zeros_like(top)
        for steps in itertools.product(range(-reach, reach + 1), repeat=axes):
            if along is None or not any(step for axis, step in enumerate(steps) if axis != along):
                total += samples.forward(data.abs(), moved(steps), 0, padding, corners)
        return total * cover

    # Linear weights of positions one element apart add up to 1, but where positions are held back at an edge.
    cover, reach, slope = (2.0 if padding else 1.0), (2 if mode == "bicubic" else 1), 1.0
    # A position that is off by elements may lie on any of them, and the sample's weight on each.
    lost = (box / element > LOST_ELEMENTS).any(-1).unsqueeze(1)
    off = torch.where(lost, 0.0, (box / element).sum(-1).unsqueeze(1))  # of a sample's position, in elements
    sizes = top.abs()
    anywhere = ANYWHERE[mode] * (sizes * lost).flatten(2).sum(2).reshape(*data.shape[:2], *[1] * axes)
    everywhere = lost.double().flatten(2).sum(2).reshape(data.shape[0], 1, *[1] * axes)
    terms = reached(sizes, reach=reach) if mode == "bicubic" else reached(sizes, way=MODES.index(mode))
    if mode == "nearest":
        places = torch.arange(1, 1 + math.prod(image.shape[2:]), dtype=torch.float64).reshape(1, 1, *image.shape[2:])
        places = places.expand(image.shape[0], 1, *image.shape[2:])
        here = samples.forward(places, wide, 1, padding, corners)
        jumps = torch.zeros_like(here, dtype=torch.bool)
        for shift in shifts:
            jumps |= samples.forward(places, wide + shift, 1, padding, corners) != here
        error = reached(sizes * jumps, reach=reach)
        terms = terms + error
    else:
        slope = BICUBIC_SLOPE if mode == "bicubic" else 1.0
        error = reached(sizes * off * slope, reach=reach)
    number = reached(torch.ones_like(sizes), reach=reach) + everywhere
    error, terms = error + anywhere, terms + anywhere
    of_image = Moved(error + rounding * (more * TERM[mode][axes] + number) * terms, terms)
    if mode == "nearest":
        return _asked(twin, exact, of_image, Moved())  # no slope

    near = [around(None if mode == "bicubic" else axis) for axis in range(axes)]
    largest = data.abs().flatten(2).amax(2).reshape(*data.shape[:2], *[1] * axes)
    reaching = sizes * lost * largest * (2 * reach * ANYWHERE[mode])
    slopes = torch.stack([(sizes * one + reaching).sum(1) for one in near], -1) * (slope / element)
    numbers = {"input": data, "grad_output": top}
    found = [_slope(twin, wide + shift, numbers) for shift in (torch.zeros_like(box), *shifts)]
    widest = torch.stack([(one - found[0]).abs() for one in found]).amax(0)
    count = image.shape[1] * (2 * reach) ** axes
    widest = widest + 2 * reaching.sum(1).unsqueeze(-1) * (slope / element)
    of_grid = widest + (off.squeeze(1).unsqueeze(-1) * 2 + rounding * (more * TERM[mode][axes] + count)) * slopes
    return _asked(twin, exact, of_image, Moved(of_grid, slopes))


@dataclass(frozen=True)
class _Sampler:
    forward: Callable[..., torch.Tensor]
    backward: Callable[..., Any]


def _sampler(axes: int) -> _Sampler:
    aten = torch.ops.aten
    if axes == 2:
        return _Sampler(aten.grid_sampler_2d, aten.grid_sampler_2d_backward)
    return _Sampler(aten.grid_sampler_3d, aten.grid_sampler_3d_backward)


def _slope(twin: Twin, grid: torch.Tensor, wide: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The gradient of the grid at other positions."""
    given = {0: wide["grad_output"], 1: wide["input"], 2: grid}
    names = {"grad_output": 0, "input": 1, "grid": 2, "output_mask": 6}
    mask = [False, True]
    args = tuple(given.get(place, mask if place == 6 else value) for place, value in enumerate(twin.args))
    kwargs = {name: given.get(names[name], mask) if name in names else value for name, value in twin.kwargs.items()}
    with double():
        return leaves(_sampler(grid.shape[-1]).backward(*args, **kwargs))[-1]


def _asked(twin: Twin, exact: Sequence[torch.Tensor], image: Moved, grid: Moved) -> list[Moved]:
    """Return the gradients in their places among a call's tensors: the image's, if it was asked for, and the grid's."""
    mask = _option(twin, 6, ("output_mask",), [True, True])
    found = [image, grid] if mask[0] else [grid]
    return [*found, *[Moved() for _ in exact[len(found) :]]]


Positions = Callable[[Twin, Sequence[torch.Tensor]], list[Moved]]
POSITIONS: Mapping[str, Positions] = {
    "filtered": _filtered,
    "grid": _grid,
    "grid_backward": _grid_backward,
    "resampled": _resampled,
}
