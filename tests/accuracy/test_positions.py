"""Operators that sample between elements: any rounding of positions passes, a wrong position or weight does not."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.nn import functional

from bringup.accuracy import Limit, Rule, Standard

CASES = list(itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)))


def sampling(image: torch.Tensor, grid: torch.Tensor, *options: object) -> tuple[Limit, torch.Tensor]:
    y = functional.grid_sample(image, grid, *options)  # type: ignore[arg-type]
    call = (image, grid, *options)
    dtype = str(image.dtype).removeprefix("torch.")
    found = Standard("nn.functional.grid_sample", functional.grid_sample, dtype).limits(call, {}, y, (call, {}))
    assert found.outputs[0] is not None, found.reason
    return found.outputs[0], y


def drawn(dtype: torch.dtype, spread: float = 1.3) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    image = torch.randn(2, 3, 7, 9, generator=generator)
    grid = (torch.rand(2, 11, 13, 2, generator=generator) * 2 - 1) * spread
    return image.to(dtype), grid.to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("mode", "padding", "corners"), CASES)
def test_every_way_of_rounding_passes(dtype: torch.dtype, mode: str, padding: str, corners: bool) -> None:
    """PyTorch's own, which rounds each step to the dtype, and the exact and the float32 result, rounded once."""
    image, grid = drawn(dtype)
    found, y = sampling(image, grid, mode, padding, corners)
    assert not found.wrong(y, y).any()
    for wide in (torch.float32, torch.float64):
        other = functional.grid_sample(image.to(wide), grid.to(wide), mode, padding, corners).to(dtype)
        assert not found.wrong(y, other).any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_wrong_samplers_are_refused(dtype: torch.dtype, mode: str) -> None:
    image, grid = drawn(dtype)
    found, y = sampling(image, grid, mode, "zeros", False)
    image, grid = image.double(), grid.double()

    def refused(result: torch.Tensor) -> float:
        """The share of refused elements, of which one is enough; bfloat16 leaves a tenth of an element to positions."""
        share = float(found.wrong(y, result.to(dtype)).double().mean())
        return share * 10 if dtype is torch.bfloat16 else share

    assert refused(functional.grid_sample(image, grid, mode, "zeros", True)) > 0.05  # other corners
    assert refused(functional.grid_sample(image, grid, mode, "border", False)) > 0.02  # the edge alone
    assert refused(functional.grid_sample(image, grid.flip(-1), mode, "zeros", False)) > 0.5  # x and y exchanged
    assert refused(torch.zeros_like(y)) > 0.5
    for other in {"bilinear", "nearest", "bicubic"} - {mode}:
        assert refused(functional.grid_sample(image, grid, other, "zeros", False)) > 0.05
    assert refused(functional.grid_sample(image, grid + 0.1, mode, "zeros", False)) > 0.2  # half an element off


def test_volumes_have_limits_too() -> None:
    generator = torch.Generator().manual_seed(3)
    image, grid = torch.randn(1, 2, 4, 5, 6, generator=generator), torch.rand(1, 3, 4, 5, 3, generator=generator)
    image, grid = image.half(), grid.half()
    found, y = sampling(image, grid, "bilinear", "border", True)
    assert not found.wrong(y, y).any()
    assert found.wrong(y, functional.grid_sample(image, grid, "bilinear", "border", False)).double().mean() > 0.2


def test_positions_of_a_bicubic_gradient_may_be_rounded() -> None:
    """A gradient of ones whose weights nearly cancel; each position moves by a few roundings of it."""
    rule = Rule("composite", ulps=4, argument=4, half=1, positions="resampled")
    gradient = torch.randn(1, 1, 37, 41, generator=torch.Generator().manual_seed(3))
    function = torch.ops.aten.upsample_bicubic2d_backward
    call = (gradient, [37, 41], [1, 1, 23, 29], False)
    y = function(*call)
    found = Standard("", function, "float32", given=rule).limits(call, {}, y, (call, {})).outputs[0]
    assert found is not None
    assert found.exact is not None
    assert not found.wrong(y, y).any()
    # The same interpolation on an image shifted by three roundings of the largest position.
    x = torch.zeros(1, 1, 23, 29, dtype=torch.float64, requires_grad=True)
    size = torch.tensor([29.0, 23.0], dtype=torch.float64)
    rows, columns = (
        ((torch.arange(out, dtype=torch.float64) + 0.5) * n / out - 0.5) * (1 + 3 * 2.0**-24)
        for out, n in ((37, 23), (41, 29))
    )
    grid = torch.stack([columns.expand(37, 41), rows.unsqueeze(1).expand(37, 41)], -1).unsqueeze(0)
    moved = functional.grid_sample(x, (2 * grid + 1) / size - 1, "bicubic", "border", False)
    [shifted] = torch.autograd.grad(moved, x, gradient.double())
    assert not found.wrong(y, shifted.float()).any()
    for wrong in (
        function(gradient, [37, 41], [1, 1, 23, 29], True),
        torch.zeros_like(y),
        y * 1.01,
        y.transpose(2, 3).reshape(y.shape),
    ):
        assert found.wrong(y, wrong).double().mean() > 0.5
