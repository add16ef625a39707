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


BACKWARD = Rule("rounding", ulps=8, half=1, positions="grid_backward")


def gradients(
    gradient: torch.Tensor, image: torch.Tensor, grid: torch.Tensor, *options: int
) -> tuple[list[Limit], tuple[torch.Tensor, ...]]:
    aten = torch.ops.aten
    function = aten.grid_sampler_2d_backward if grid.shape[-1] == 2 else aten.grid_sampler_3d_backward
    call = (gradient, image, grid, *options, [True, True])
    made = function(*call)
    dtype = str(image.dtype).removeprefix("torch.")
    found = Standard("", function, dtype, given=BACKWARD).limits(call, {}, made, (call, {}))
    assert all(limit is not None and limit.exact is not None for limit in found.outputs), found.reason
    return list(found.outputs), made  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("mode", "padding", "corners"), [*itertools.product((0, 1, 2), (0, 1, 2), (0, 1))])
def test_gradients_of_samples_pass_however_they_are_rounded(
    dtype: torch.dtype, mode: int, padding: int, corners: int
) -> None:
    image, grid = drawn(dtype)
    grid[0, 0, :7] = torch.linspace(-1, 1, 7, dtype=dtype).unsqueeze(-1)  # on elements and edges, between two slopes
    gradient = torch.randn(2, 3, 11, 13, generator=torch.Generator().manual_seed(4)).to(dtype)
    found, made = gradients(gradient, image, grid, mode, padding, corners)
    for wide in (dtype, torch.float32, torch.float64):
        other = torch.ops.aten.grid_sampler_2d_backward(
            gradient.to(wide), image.to(wide), grid.to(wide), mode, padding, bool(corners), [True, True]
        )
        for limit, one, two in zip(found, made, other, strict=True):
            assert not limit.wrong(one, two.to(dtype)).any()


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_wrong_gradients_of_samples_are_refused(mode: int) -> None:
    image, grid = drawn(torch.float32)
    gradient = torch.randn(2, 3, 11, 13, generator=torch.Generator().manual_seed(4))
    (of_image, of_grid), (first, second) = gradients(gradient, image, grid, mode, 0, 0)
    other = torch.ops.aten.grid_sampler_2d_backward

    def shares(*call: object) -> tuple[float, float]:
        one, two = other(gradient, image, *call, [True, True])
        return (
            float(of_image.wrong(first, one).double().mean()),
            float(of_grid.wrong(second, two).double().mean()),
        )

    calls = [
        (grid, (mode + 1) % 3, 0, False),
        (grid, mode, 1, False),
        (grid, mode, 0, True),
        (grid + 1e-2, mode, 0, False),
    ]
    for call in calls:
        image_share, grid_share = shares(*call)
        assert image_share > 0.05, call
        assert grid_share > 0.05 or (mode == 1 and call[1] == 1), call  # taken whole, samples have no slope
    assert of_image.wrong(first, first * (1 + 1e-3)).double().mean() > 0.5
    assert mode == 1 or of_grid.wrong(second, second * (1 + 1e-3)).double().mean() > 0.5
    assert of_image.wrong(first, torch.zeros_like(first)).double().mean() > 0.5


def test_a_gradient_that_is_not_asked_for_has_no_place() -> None:
    image, grid = drawn(torch.float32)
    gradient = torch.randn(2, 3, 11, 13, generator=torch.Generator().manual_seed(4))
    for mask in ([True, False], [False, True]):
        call = (gradient, image, grid, 0, 0, False, mask)
        made = torch.ops.aten.grid_sampler_2d_backward(*call)
        tensors = [tensor for tensor in made if tensor is not None]
        found = Standard("", torch.ops.aten.grid_sampler_2d_backward, "float32", given=BACKWARD).limits(
            call, {}, made, (call, {})
        )
        assert len(found.outputs) == len(tensors)
        for limit, tensor in zip(found.outputs, tensors, strict=True):
            assert limit is not None
            assert limit.exact is not None
            assert not limit.wrong(tensor, tensor).any()
            assert limit.wrong(tensor, tensor * 1.01).double().mean() > 0.5


def test_flags_in_a_tensor_of_floats_are_held() -> None:
    """`multilabel_margin_loss_backward` refuses flags that are not 0 or 1: a change of them is no call."""
    x = torch.randn(10, 5, generator=torch.Generator().manual_seed(4))
    target = torch.tensor([[0, 3, -1, 2, 1]] * 10)
    function = torch.ops.aten.multilabel_margin_loss_backward
    _, flags = torch.ops.aten.multilabel_margin_loss_forward(x, target, 1)
    call = (torch.tensor(0.7), x, target, 1, flags)
    y = function(*call)
    rule = Rule("composite", ulps=8, half=1, fixed=4)
    [limit] = Standard("", function, "float32", given=rule).limits(call, {}, y, (call, {})).outputs
    assert limit is not None
    assert limit.exact is not None
    assert not limit.wrong(y, y).any()
    assert limit.wrong(y, y * 1.0001).any()
    assert limit.wrong(y, torch.where(flags == 1, torch.zeros_like(y), y)).any()


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_a_position_far_beyond_the_image_may_be_reflected_to_any_place(mode: str) -> None:
    """Near overflow a position's rounding is larger than the image: any element, but nothing larger than those."""
    image, grid = drawn(torch.float32)
    found, y = sampling(image, grid * 1e30, mode, "reflection", False)
    least = image.flatten(2).abs().amax(2)[:, :, None, None]
    assert not found.wrong(y, torch.zeros_like(y) + least).any()
    assert found.wrong(y, torch.zeros_like(y) + 3 * least).all()
    near, near_y = sampling(image, grid, mode, "reflection", False)
    assert near.wrong(near_y, torch.zeros_like(y) + least).double().mean() > 0.5


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_samples_at_places_that_nobody_can_know_may_land_anywhere(mode: int) -> None:
    """Reflected from 1e35 elements away, a place is chance: its weights may meet any element of the image."""
    image, grid = drawn(torch.bfloat16)
    far = grid.clone()
    far[0] *= 1e35
    gradient = torch.randn(2, 3, 11, 13, generator=torch.Generator().manual_seed(4)).bfloat16()
    (of_image, of_grid), (first, second) = gradients(gradient, image, far, mode, 2, 0)
    other = grid.clone()
    other[0] = torch.rand(11, 13, 2, generator=torch.Generator().manual_seed(5)) * 2 - 1
    elsewhere = torch.ops.aten.grid_sampler_2d_backward(gradient, image, other, mode, 2, False, [True, True])
    assert not of_image.wrong(first, elsewhere[0])[0].any()
    assert mode == 1 or not of_grid.wrong(second, elsewhere[1])[0].any()
    # The second image's samples are where they were, and so is what is right of them.
    near, _ = gradients(gradient, image, grid, mode, 2, 0)
    assert all(torch.equal(a.allowed[1], b.allowed[1]) for a, b in zip((of_image, of_grid), near, strict=True))


def test_a_reflected_position_takes_more_roundings() -> None:
    """Each step in bfloat16, as PyTorch's kernel has them: its own is right, and so is one of five and a half."""
    rule = Rule("rounding", ulps=8, positions="grid")
    function = torch.grid_sampler_3d
    image = torch.arange(24.0).reshape(1, 1, 1, 1, 24).expand(1, 1, 21, 22, 24).bfloat16()  # a sample is its position
    line = (torch.arange(-512, 512) / 128).bfloat16()  # exact
    grid = torch.zeros(1, 1, 1, 1024, 3, dtype=torch.bfloat16)
    grid[..., 0] = line
    call = (image, grid, 0, 2, False)
    y = function(*call)
    found = Standard("", function, "bfloat16", given=rule).limits(call, {}, y, (call, {})).outputs[0]
    assert found is not None
    assert not found.wrong(y, y).any()
    shift = 5.5 * 2.0**-8 * (line.double().abs() + 1)
    moved = grid.double()
    moved[..., 0] += shift
    other = function(image.double(), moved, 0, 2, False).bfloat16()
    assert not found.wrong(y, other).any()
    moved[..., 0] += 4 * shift
    assert found.wrong(y, function(image.double(), moved, 0, 2, False).bfloat16()).double().mean() > 0.3


def test_places_of_a_filtered_image_are_computed_in_float32() -> None:
    generator = torch.Generator().manual_seed(3)
    function = torch.ops.aten._upsample_bilinear2d_aa.vec
    image = torch.randn(6, 3, 10, 20, generator=generator) * 3
    call = (image, None, False, [1.7, 0.9])
    y = function(*call)
    found = Standard("_upsample_bilinear2d_aa", function, "float32").limits(call, {}, y, (call, {})).outputs[0]
    assert found is not None
    assert found.allowed is not None
    moved = function(image, None, False, [1.7 * (1 + 3e-7), 0.9 * (1 + 3e-7)])
    assert not found.wrong(y, moved).any()
    for wrong in (function(image, None, True, [1.7, 0.9]), y * 1.01, function(image, None, False, [1.7, 0.9001])):
        assert found.wrong(y, wrong).double().mean() > 0.1
