"""`enable(fallback="cpu")`: with the CPU's kernels behind it the device is a whole one, and agrees with the CPU."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from bringup.vpe import device
from bringup.vpe.device import fallback


@pytest.fixture(autouse=True)
def _cpu_kernels() -> Iterator[None]:
    device.enable(fallback="cpu")
    yield
    device.enable()
    device.allocator().check()


def both(function: Any, *shapes: tuple[int, ...]) -> tuple[Any, Any]:
    """Results of `function(*inputs)` with gradients of all inputs, on the CPU and on the device."""
    results = []
    for place in ("cpu", "vpe"):
        torch.manual_seed(0)
        inputs = [torch.randn(shape).to(place).requires_grad_() for shape in shapes]
        value = function(*inputs)
        assert value.device.type == place
        value.sum().backward()
        results.append([value.detach().cpu(), *(i.grad.cpu() for i in inputs if i.grad is not None)])
    return results[0], results[1]


def in_place_through_a_view(x: Any) -> Any:
    y = x * 1
    y[1:, 1:3].mul_(5.0)
    return y


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda p, q: (p + q)[:, 1:] * 2, [(3, 4), (4,)]),
        (in_place_through_a_view, [(3, 4)]),
        (
            lambda x, w: torch.nn.functional.conv2d(x, w, torch.ones(3, device=x.device), padding=1),
            [(1, 2, 8, 8), (3, 2, 3, 3)],
        ),
        (lambda x, w: torch.nn.functional.conv_transpose2d(x, w, stride=2), [(1, 2, 4, 4), (2, 3, 3, 3)]),
        (lambda x: torch.nn.functional.layer_norm(x, (4,)), [(3, 4)]),
        (lambda x: torch.nn.functional.group_norm(x, 2), [(3, 4, 5)]),
        (lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([1, 0, 2], device=x.device)), [(3, 4)]),
        (lambda q, k: torch.nn.functional.scaled_dot_product_attention(q, k, k, is_causal=True), [(1, 2, 8, 4)] * 2),
        (lambda x: x[x > 0], [(3, 4)]),
        (lambda x: x.sort(dim=0).values[::2], [(5, 2)]),
        (lambda x: 1 / (x.abs() + 1), [(3, 4)]),
        (lambda x: torch.cat(torch.split(x, 2), 1), [(4, 3)]),
        (lambda x: torch.linalg.inv(x + 3 * torch.eye(3, device=x.device)), [(3, 3)]),
    ],
)
def test_values_and_gradients_agree_with_the_cpu(function: Any, shapes: list[tuple[int, ...]]) -> None:
    here, there = both(function, *shapes)
    torch.testing.assert_close(there, here)


def test_training_takes_the_same_path() -> None:
    torch.manual_seed(0)
    here = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3))
    there = copy.deepcopy(here).to("vpe")
    x, y = torch.randn(5, 4), torch.randint(0, 3, (5,))
    for model, place in ((here, "cpu"), (there, "vpe")):
        optimiser = torch.optim.AdamW(model.parameters(), lr=0.1)
        for _ in range(4):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x.to(place)), y.to(place)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
    for one, two in zip(here.parameters(), there.parameters(), strict=True):
        torch.testing.assert_close(two.cpu(), one)


def test_out_and_in_place() -> None:
    x = torch.arange(12.0).reshape(3, 4).to("vpe")
    out = torch.empty(0, device="vpe")
    assert torch.mul(x, x, out=out) is out
    assert out.cpu()[2].tolist() == [64, 81, 100, 121]
    wide = torch.zeros(3, 8, device="vpe")
    torch.mul(x, x, out=wide[:, ::2])
    assert wide.cpu()[2].tolist() == [64, 0, 81, 0, 100, 0, 121, 0]
    values, indices = torch.empty(0, device="vpe"), torch.empty(0, dtype=torch.int64, device="vpe")
    torch.topk(x, 2, out=(values, indices))
    assert values.cpu()[0].tolist() == [3, 2]
    assert indices.cpu()[0].tolist() == [3, 2]
    view = x[1:]
    view += 1
    assert x.cpu()[:, 0].tolist() == [0, 5, 9]
    pointer = x.data_ptr()
    x.t_()
    x.squeeze_()
    assert x.shape == (4, 3)
    assert x.data_ptr() == pointer


def test_results_are_memory_of_the_device() -> None:
    x = torch.ones(3, 4, device="vpe")
    y = x + 1
    record = device.allocation_of(y.data_ptr())
    assert record is not None
    assert record.nbytes == 48
    assert record.initialised is None
    assert torch.ones(4, device="vpe").expand(3, 4)[:, 1:].sum(1).cpu().tolist() == [3, 3, 3]


def test_mixed_devices_are_refused_as_elsewhere() -> None:
    x = torch.ones(3, device="vpe")
    assert (x * torch.tensor(2.0)).cpu().tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.ones(3)


def test_calls_are_counted_and_the_fallback_can_be_taken_back() -> None:
    x = torch.ones(3, device="vpe")
    before = fallback.calls["aten::add.out"]
    x + 1
    assert fallback.calls["aten::add.out"] == before + 1
    device.enable()
    for call in (lambda: x + 1, lambda: torch.nn.functional.layer_norm(x, (3,))):
        with pytest.raises(NotImplementedError, match="vpe has no kernel"):
            call()
    with pytest.raises(NotImplementedError, match=r"vpe has no kernel for aten::convolution"):
        torch.nn.functional.conv1d(torch.empty(1, 1, 3, device="vpe"), torch.empty(1, 1, 2, device="vpe"))


def test_autocast() -> None:
    a = torch.randn(4, 4).to("vpe")
    with torch.autocast("vpe", dtype=torch.bfloat16):
        product = a @ a
        assert product.dtype == torch.bfloat16
        assert (a + a).dtype == torch.float32
        assert torch.nn.functional.mse_loss(product, product).dtype == torch.float32
    assert (a @ a).dtype == torch.float32


def test_random_numbers_with_a_generator_of_the_device() -> None:
    drawn = [torch.randn(5, device="vpe", generator=torch.Generator("vpe").manual_seed(3)) for _ in range(2)]
    assert torch.equal(drawn[0].cpu(), drawn[1].cpu())
    assert torch.equal(drawn[0].cpu(), torch.randn(5, generator=torch.Generator().manual_seed(3)))


def test_function_transforms_and_gradcheck() -> None:
    x = torch.arange(6.0).reshape(2, 3).to("vpe")
    assert torch.vmap(lambda row: row.sum())(x).cpu().tolist() == [3, 12]
    assert torch.func.grad(lambda v: (v * v).sum())(x).cpu().flatten().tolist() == [0, 2, 4, 6, 8, 10]
    assert torch.autograd.gradcheck(
        lambda v: v.sin() * v, torch.randn(3, dtype=torch.float64).to("vpe").requires_grad_()
    )


SAMPLED = (
    "add",
    "sub",
    "mul",
    "sum",
    "mean",
    "softmax",
    "log_softmax",
    "cat",
    "sort",
    "gather",
    "scatter",
    "index_select",
    "where",
    "nn.functional.gelu",
    "nn.functional.layer_norm",
    "matmul",
    "cumsum",
    "argmax",
    "masked_fill",
    "pow",
    "clamp",
    "tril",
    "transpose",
    "unfold",
    "std",
    "nn.functional.embedding",
    "nn.functional.max_pool2d",
    "linalg.qr",
    "view_as_complex",
)


@pytest.mark.long
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
def test_samples_of_the_operator_database(dtype: Any) -> None:
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils import _pytree

    def there(value: Any) -> Any:
        return value.detach().to("vpe") if isinstance(value, torch.Tensor) else value

    compared = 0
    for operator in op_db:
        if operator.name not in SAMPLED or dtype not in operator.supported_dtypes("cpu"):
            continue
        for sample in list(operator.sample_inputs("cpu", dtype))[::7]:
            expected = operator(sample.input, *sample.args, **sample.kwargs)
            moved = _pytree.tree_map(there, (sample.input, sample.args, sample.kwargs))
            got = operator(moved[0], *moved[1], **moved[2])
            for one, two in zip(_pytree.tree_leaves(expected), _pytree.tree_leaves(got), strict=True):
                if isinstance(one, torch.Tensor):
                    assert two.device.type == "vpe", operator.name
                    torch.testing.assert_close(two.cpu(), one, equal_nan=True)
                    compared += 1
    assert compared > 40


def test_calls_can_be_watched() -> None:
    seen: list[tuple[str, int]] = []
    x = torch.ones(3, device="vpe").requires_grad_()
    with fallback.observed(lambda operator, args, kwargs: seen.append((fallback.name_of(operator), len(args)))):
        (x * 2).sum().backward()  # backward passes run on threads of torch's own
    (x * 2).sum()
    names = [name for name, _ in seen]
    assert names.count("aten::mul.out") == 2
    assert "aten::sum.IntList_out" in names
    assert ("aten::mul.out", 2) in seen


@pytest.mark.parametrize("name", ["add", "floor_divide", "remainder", "fmod", "bitwise_and", "pow", "maximum"])
def test_a_number_widens_no_tensor_of_its_own_kind(name: str) -> None:
    """Neither does it as 0-d tensor that stands for it, as PyTorch wraps numbers."""
    packet = getattr(torch.ops.aten, name)
    operator = getattr(packet, {"pow": "Tensor_Tensor"}.get(name, packet.overloads()[0]))
    if "Tensor" in packet.overloads():
        operator = packet.Tensor
    for shape in ((), (2,)):
        for dtype in (torch.int32, torch.int8, torch.float16, torch.bfloat16):
            number = 3 if not dtype.is_floating_point else 0.75
            x = torch.full(shape, 6, dtype=dtype)
            if name == "bitwise_and" and dtype.is_floating_point:
                continue
            assert fallback.on_host(operator, (x, number), {}).dtype is dtype, (shape, dtype)
            if name != "bitwise_and":
                wider = dtype if dtype.is_floating_point else torch.float32
                assert fallback.on_host(operator, (x, 0.75), {}).dtype is wider, (shape, dtype)
