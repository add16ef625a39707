"""Programs of several steps: any order of float32 sums is right in them, narrower accumulators and one pass are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from bringup.accuracy import Rule, Standard, Steps, stepwise
from bringup.accuracy._twin import shares

Program = Callable[..., torch.Tensor]
ON_A_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU here")


def wrong(program: Program, args: tuple[torch.Tensor, ...], actual: torch.Tensor) -> float:
    """Return the share of elements that are refused."""
    expected = program(*args)
    rule = Rule("composite", ulps=4.0, half=1.0)
    standard = Standard("a program", program, "float32", given=rule, stepped=partial(stepwise, program))
    limit = standard.limits(args, {}, expected, (args, {})).outputs[0]
    assert limit is not None
    assert not bool(limit.wrong(expected, expected).any()), "PyTorch's own result"
    return float(limit.wrong(expected, actual).double().mean())


def numbers(kind: str, *shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if kind == "positive":
        return torch.rand(*shape, generator=generator)
    return torch.randn(*shape, generator=generator)


def sequential(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Add one product after another, each rounded, in an accumulator of `dtype`."""
    found = torch.zeros(a.shape[0], b.shape[1], dtype=dtype)
    for k in range(a.shape[1]):
        found = (found.float() + a[:, k, None] * b[None, k]).to(dtype)
    return found.float()


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Round to 10 bits after the point, to nearest."""
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


@pytest.mark.parametrize("length", [16, 512, 2048])
@pytest.mark.parametrize("kind", ["positive", "mixed"])
def test_products(kind: str, length: int) -> None:
    a, b = numbers(kind, 128, length), numbers(kind, length, 128, seed=1)
    assert wrong(torch.matmul, (a, b), sequential(a, b)) == 0
    assert wrong(torch.matmul, (a, b), sequential(a.flip(1), b.flip(0))) == 0
    assert wrong(torch.matmul, (a, b), (tf32(a).double() @ tf32(b).double()).float()) > 0
    few = a[:8]
    assert wrong(torch.matmul, (few, b), sequential(few, b, torch.float16)) > 0.1
    assert wrong(torch.matmul, (few, b), sequential(few, b, torch.bfloat16)) > 0.1
    assert wrong(torch.matmul, (a, b), (a.bfloat16() @ b.bfloat16()).float()) > 0.1


@pytest.mark.long
def test_sequential_sums_within_a_program() -> None:
    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return functional.relu(x @ w).mean(1)

    x, w = numbers("mixed", 32, 2048), numbers("mixed", 2048, 256, seed=1)
    hidden = functional.relu(sequential(x, w))
    right = sequential(hidden, torch.full((256, 1), 1 / 256))[:, 0]
    assert wrong(program, (x, w), right) == 0
    narrow = functional.relu(sequential(x, w, torch.float16))
    assert wrong(program, (x, w), narrow.mean(1)) > 0.5


def test_scans_and_convolutions_in_order() -> None:
    x = numbers("positive", 16, 4096)
    scanned = torch.empty_like(x)
    carry = torch.zeros(16)
    for k in range(x.shape[1]):
        carry = carry + x[:, k]
        scanned[:, k] = carry
    assert wrong(lambda x: x.cumsum(1), (x,), scanned) == 0
    assert wrong(lambda x: x.cumsum(1), (x,), x.half().cumsum(1).float()) > 0.5

    image, kernel = numbers("positive", 2, 64, 12, 12), numbers("positive", 32, 64, 3, 3, seed=1)
    columns = functional.unfold(image, 3)
    rows = kernel.reshape(32, -1)
    convolved = torch.stack([sequential(rows, one) for one in columns]).reshape(2, 32, 10, 10)
    assert wrong(functional.conv2d, (image, kernel), convolved) == 0
    coarse = functional.conv2d(tf32(image).double(), tf32(kernel).double()).float()
    assert wrong(functional.conv2d, (image, kernel), coarse) > 0


def variance(x: torch.Tensor) -> torch.Tensor:
    return x.var(1, correction=0)


def test_one_pass_variances_are_refused_and_two_passes_are_not() -> None:
    x = 1000 + numbers("mixed", 64, 1000) / 8
    mean = x.sum(1) / 1000
    two = ((x - mean[:, None]) ** 2).sum(1) / 1000
    one = (x * x).sum(1) / 1000 - mean * mean
    assert wrong(variance, (x,), two) == 0
    assert wrong(variance, (x,), one) > 0.5

    def norm(x: torch.Tensor) -> torch.Tensor:
        return functional.layer_norm(x, (1000,))

    assert wrong(norm, (x,), (x - mean[:, None]) * (two[:, None] + 1e-5).rsqrt()) == 0
    assert wrong(norm, (x,), (x - mean[:, None]) * (one[:, None] + 1e-5).rsqrt()) > 0.5


def test_elementwise_steps_are_a_few_units() -> None:
    x = numbers("mixed", 64, 1024)

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x) + 1

    other = 1 + x / (1 + torch.exp2(x * -1.4426950408889634))
    assert wrong(program, (x,), other) == 0
    assert wrong(program, (x,), program(x.half().float())) > 0.5
    assert wrong(program, (x,), program(x) * (1 + 2**-17)) > 0.5


def test_gradients_and_writes_in_place() -> None:
    def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            return torch.autograd.grad((leaf @ w).square().sum(), leaf)[0]

    x, w = numbers("mixed", 32, 256), numbers("mixed", 256, 128, seed=1)
    assert wrong(program, (x, w), sequential(2 * sequential(x, w), w.t().contiguous())) == 0
    assert wrong(program, (x, w), sequential(2 * sequential(x, w, torch.float16), w.t().contiguous())) > 0.5

    def in_place(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.zeros(x.shape[0], w.shape[1], dtype=x.dtype).addmm_(x, w).mul_(2)

    assert wrong(in_place, (x, w), 2 * sequential(x, w)) == 0
    assert wrong(in_place, (x, w), 2 * sequential(x, w, torch.float16)) > 0.5


def test_the_bound_is_the_same_each_time() -> None:
    x = numbers("mixed", 8, 300)
    found = []
    for _ in range(2):
        with Steps(1):
            found.append(functional.softmax(x.double() @ x.double().t(), 1))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], functional.softmax(x.double() @ x.double().t(), 1))


def test_floats_among_the_arguments_count_as_float32_where_they_decide_about_no_size() -> None:
    x = numbers("positive", 8)
    how = {"integers": False, "halves": False}
    assert stepwise(torch.mul, (x, 0.1), scalars=True, **how).exact[0].equal(x.double() * float(torch.tensor(0.1)))
    assert stepwise(torch.mul, (x, 0.1), scalars=False, **how).exact[0].equal(x.double() * 0.1)

    def program(x: torch.Tensor, step: float) -> torch.Tensor:
        return torch.arange(0, 1, step) + x[0]

    expected = program(x, 0.1)
    standard = Standard("a program", program, "float32", given=Rule("composite"), stepped=partial(stepwise, program))
    limit = standard.limits((x, 0.1), {}, expected, ((x, 0.1), {})).outputs[0]
    assert limit is not None
    assert limit.exact is not None
    assert limit.exact.shape == expected.shape


def test_half_precisions_may_round_once_on_the_way_and_wider_ones_not() -> None:
    x, w = numbers("mixed", 16, 64), numbers("mixed", 64, 32, seed=1)
    how = {"integers": False, "scalars": True}
    assert stepwise(torch.matmul, (x, w), halves=False, **how).halves == []
    near = stepwise(torch.matmul, (x, w), halves=True, **how).halves[0]
    assert near.shape == (16, 32)
    # Arguments that are one unit off move a sum of products by two units of the products' sizes at most.
    assert (near > 0).all()
    assert (near <= 2.01 * (x.double().abs() @ w.double().abs())).all()


class NoNumbers(TorchDispatchMode):  # type: ignore[misc]  # untyped in PyTorch
    """Tensors without data, as far as numbers are asked of them: every one is 3."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.name in ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"):
            return args[0].dtype is torch.bool or 3.0
        return func(*args, **(kwargs or {}))


def several(x: torch.Tensor, w: torch.Tensor) -> Any:
    """Steps of every kind: elementwise, summed, decomposed, of nearby arguments, in place, backwards."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        hidden = functional.layer_norm(functional.softmax(leaf @ w, 1), (w.shape[1],)) + leaf.cumsum(1).mean()
        found = torch.autograd.grad(functional.gelu(hidden).square().sum(), leaf)[0]
    return found.clone().mul_(2), x.logsumexp(1), x.var(1), x.cumprod(1), torch.linalg.norm(w), x.argmax(1)


def test_all_is_computed_on_the_arguments_device() -> None:
    """PyTorch refuses operands on two devices; `meta` is one that every build has."""
    given = torch.empty(8, 16, device="meta"), torch.empty(16, 12, device="meta")
    with NoNumbers():
        made = stepwise(several, given, integers=False, scalars=True, halves=True)
    assert [len(part) for part in made] == [6, 6, 6]
    assert all(one.device.type == "meta" for part in made for one in part)


@ON_A_GPU
def test_a_gpu_finds_the_bounds_of_the_host() -> None:
    given = numbers("mixed", 64, 128), numbers("mixed", 128, 96, seed=1)
    how = {"integers": False, "scalars": True, "halves": True}
    here, there = stepwise(several, given, **how), stepwise(several, [one.cuda() for one in given], **how)
    for one, other in zip(
        [*here.exact, *here.moved, *here.halves], [*there.exact, *there.moved, *there.halves], strict=True
    ):
        assert other.is_cuda
        torch.testing.assert_close(other.cpu(), one, rtol=1e-4, atol=1e-4 * float(one.abs().max()))


@ON_A_GPU
def test_shares_are_the_same_bits_on_a_gpu() -> None:
    for draw in (0, 5, 40003):
        assert torch.equal(shares(100_000, draw), shares(100_000, draw, torch.device("cuda")).cpu())
