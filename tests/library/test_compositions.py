"""What PyTorch asks for and neither composes nor computes on the CPU; numbers where tensors are meant; sparse bags."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import bringup
from bringup.library import NotServed


@pytest.fixture
def on(shared: Path) -> Iterator[Any]:
    """Kernels for some operators; the CPU for the rest, but only behind compositions."""
    with bringup.enable(shared, device="vpe:permissive", fallback="cpu") as enabled:
        enabled.compose_first = True
        yield enabled
        enabled.fallbacks.clear()


def gradients(place: str, kind: type[nn.Module], used: str, **options: Any) -> list[Any]:
    torch.manual_seed(0)
    model = kind(3, 5, **options).to(place)
    x = torch.randn(2, 4, 3).to(place).requires_grad_()
    result, state = model(x)
    states = list(state) if isinstance(state, tuple) else [state]
    loss = {"result": result, "state": sum(one.pow(2).sum() for one in states), "cell": states[-1]}[used].sum()
    loss.backward()
    found = [result, *states, x.grad, *(p.grad for p in model.parameters())]
    return [torch.zeros(()) if one is None else one.detach().cpu() for one in found]


@pytest.mark.thinned
@pytest.mark.parametrize("used", ["result", "state", "cell"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (nn.LSTM, {"batch_first": True, "num_layers": 2}),
        (nn.LSTM, {"bias": False}),
        (nn.LSTM, {"bidirectional": True, "proj_size": 2}),
        (nn.GRU, {"batch_first": True, "bidirectional": True}),
        (nn.GRU, {"bias": False}),
    ],
)
def test_recurrent_networks(on: Any, kind: type[nn.Module], options: dict[str, Any], used: str) -> None:
    expected = gradients("cpu", kind, used, **options)
    torch.testing.assert_close(gradients("vpe", kind, used, **options), expected, rtol=1e-4, atol=1e-6)
    assert any(name.startswith("_thnn_fused") for name in on.compositions)


def test_their_lack_of_kernels_is_told(shared: Path) -> None:
    with (
        bringup.enable(shared, device="vpe:permissive", include=["add", "fill_", "mm"]),
        pytest.raises(NotServed, match=r"_thnn_fused_lstm_cell.*needs aten::\w"),
    ):
        nn.LSTM(3, 5).to("vpe")(torch.randn(2, 4, 3).to("vpe"))


def test_a_decomposition_writes_to_what_out_gives(on: Any) -> None:
    x = torch.randn(1, 1, 6, 6)
    found = []
    for place in ("cpu", "vpe"):
        leaf = x.to(place, copy=True).requires_grad_()
        F.max_pool2d(leaf, 3, stride=2, padding=1).sum().backward()
        found.append(leaf.grad.cpu())
    torch.testing.assert_close(found[1], found[0])
    assert on.compositions["max_pool2d_with_indices_backward.grad_input"] == 1


@pytest.mark.parametrize("sparse", [True, False])
def test_bags_with_sparse_gradients(sparse: bool) -> None:
    # The kernel of the dense gradient ships; it knows nothing of sparse tensors.
    kernels = Path(__file__).parents[2] / "kernels"
    found = []
    with warnings.catch_warnings(), bringup.enable(kernels, "vpe:pe64", fallback="cpu") as enabled:
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        for place in ("cpu", "vpe"):
            torch.manual_seed(0)
            bag = nn.EmbeddingBag(6, 4, mode="sum", sparse=sparse).to(place)
            rows, starts = torch.tensor([1, 1, 4, 5]).to(place), torch.tensor([0, 0, 3]).to(place)
            bag(rows, starts).pow(2).sum().backward()
            assert bag.weight.grad.is_sparse == sparse
            found.append(bag.weight.grad.cpu().to_dense() if sparse else bag.weight.grad.cpu())
        enabled.fallbacks.clear()
    torch.testing.assert_close(found[1], found[0])
    assert ("_embedding_bag_backward" in {n for n, c in enabled.calls().items() if c}) == (not sparse)


def test_numbers_where_the_schema_says_tensor() -> None:
    kernels = Path(__file__).parents[2] / "kernels"
    with bringup.enable(kernels, "vpe:pe64"):
        whole, halves = torch.tensor([7, -7, 9]), torch.tensor([1.5, -2.5], dtype=torch.bfloat16)
        for value, number in ((whole, 3), (whole, 2.5), (halves, 2), (halves, 0.5), (whole[0], 3), (halves[0], 2)):
            found = torch.remainder(value.to("vpe"), number)
            expected = torch.remainder(value, number)
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found.cpu(), expected)


def halves(*shape: int) -> Any:
    return torch.randn(*shape).bfloat16()


def rounded_once(ours: Any, exact: Any) -> bool:
    """Whether a bfloat16 result is the exact one with one rounding, and some of float32's."""
    return bool(((ours.double() - exact).abs() <= exact.abs() * (2.0**-8 + 2.0**-20) + 1e-6).all())


@pytest.mark.parametrize(("mode", "name"), [("reflect", "reflection"), ("replicate", "replication")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_decomposition_that_converts_its_arguments_writes_to_what_out_gives(
    on: Any, mode: str, name: str, dtype: Any
) -> None:
    x = torch.randn(2, 3, 5).to(dtype)
    assert torch.equal(F.pad(x.to("vpe"), (2, 1), mode=mode).cpu(), F.pad(x, (2, 1), mode=mode))
    assert on.compositions[f"{name}_pad1d.out"] == 1


def test_group_norm_rounds_once(on: Any) -> None:
    torch.manual_seed(0)
    x, weight, bias = halves(4, 6, 50), halves(6), halves(6)
    ours = F.group_norm(x.to("vpe"), 3, weight.to("vpe"), bias.to("vpe")).cpu()
    assert rounded_once(ours, F.group_norm(x.double(), 3, weight.double(), bias.double()))
    assert on.compositions["native_group_norm"] == 1


def test_linear_with_out_rounds_once(on: Any) -> None:
    torch.manual_seed(0)
    x, weight, bias = halves(3, 7, 16), halves(5, 16), halves(5)
    out = torch.empty(3, 7, 5, dtype=torch.bfloat16, device="vpe")
    ours = torch.ops.aten.linear.out(x.to("vpe"), weight.to("vpe"), bias.to("vpe"), out=out)
    assert ours is out
    exact = F.linear(x.double(), weight.double(), bias.double())
    size = F.linear(x.double().abs(), weight.double().abs(), bias.double().abs())
    off = (ours.cpu().double() - exact).abs()
    assert bool((off <= exact.abs() * 2.0**-8 + size * 2.0**-18).all())


def test_conj_physical_with_out_copies_what_is_real(on: Any) -> None:
    x = torch.randn(3, 4).t()
    given = torch.empty(0, device="vpe")
    found = torch.conj_physical(x.to("vpe"), out=given)
    assert found is given
    torch.testing.assert_close(given.cpu(), x, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.conj_physical(x.to("vpe"), out=torch.empty(4, 3, dtype=torch.int64, device="vpe"))
    assert on.compositions["conj_physical.out"] == 1
    assert not on.calls()


def test_mode_with_out(on: Any) -> None:
    x = torch.tensor([[3, 1, 3, 2], [5, 5, 4, 4]])
    outs = torch.empty(0, dtype=torch.int64, device="vpe"), torch.empty(0, dtype=torch.int64, device="vpe")
    torch.mode(x.to("vpe"), out=outs)
    assert outs[0].cpu().tolist() == [3, 4]
    assert torch.equal(x.gather(1, outs[1].cpu()[:, None])[:, 0], outs[0].cpu())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("parameters", [torch.float32, torch.bfloat16, None])
def test_batch_norm_returns_what_the_cpu_returns(on: Any, training: bool, parameters: Any) -> None:
    torch.manual_seed(0)
    x = halves(4, 3, 5)
    if parameters is None and not training:
        pytest.skip("it needs running statistics")

    def call(place: str) -> Any:
        made = [None] * 4 if parameters is None else [torch.ones(3, dtype=parameters).to(place) for _ in range(4)]
        return *torch.native_batch_norm(x.to(place), *made, training, 0.5, 1e-5), *(made[2:] if parameters else ())

    wanted, ours = call("cpu"), [one.cpu() for one in call("vpe")]
    for one, other in zip(wanted, ours, strict=True):
        torch.testing.assert_close(other, one, rtol=2.0**-6, atol=2.0**-7)


def test_batch_norm_with_out_needs_room_of_a_fitting_dtype(on: Any) -> None:
    x, ones = torch.randn(4, 3).to("vpe"), [torch.ones(3, device="vpe") for _ in range(4)]
    outs = {name: torch.empty(0, device="vpe") for name in ("out", "save_mean", "save_invstd")}
    made = torch.ops.aten._native_batch_norm_legit.out(x, *ones, True, 0.1, 1e-5, **outs)
    assert [tuple(one.shape) for one in made] == [(4, 3), (3,), (3,)]
    assert made[0] is outs["out"]
    outs["out"] = torch.empty(4, 3, dtype=torch.int64, device="vpe")
    with pytest.raises(
        RuntimeError, match=r"result type torch\.float32 can't be cast to the desired output type torch\.int64"
    ):
        torch.ops.aten._native_batch_norm_legit.out(x, *ones, True, 0.1, 1e-5, **outs)


def test_ours_take_the_place_of_pytorchs_only_where_composing_is_allowed(shared: Path) -> None:
    def registered() -> bool:
        return bool(torch._C._dispatch_has_kernel_for_dispatch_key("aten::native_group_norm", "PrivateUse1"))

    before = registered()  # whatever other tests of this process have left
    with bringup.enable(shared, device="vpe:permissive") as enabled:
        route = enabled.route("native_group_norm")
        assert route.kind == "decomposed"
        assert "rounds" in route.why
    with bringup.enable(shared, device="vpe:permissive", compose=False) as enabled:
        assert registered() == before


def exact_ldexp(x: Any, exponents: Any) -> Any:
    """The product by Python's numbers, which have room for it, rounded once to the dtype of `x`."""
    shape = torch.broadcast_shapes(x.shape, exponents.shape)
    pairs = zip(x.expand(shape).flatten().tolist(), exponents.expand(shape).flatten().tolist(), strict=True)
    return torch.tensor([scaled(one, n) for one, n in pairs], dtype=torch.float64).to(x.dtype).view(shape)


def scaled(number: float, n: int) -> float:
    try:
        return math.ldexp(number, max(-5000, min(5000, n)))
    except OverflowError:
        return math.copysign(math.inf, number)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("whole", [torch.int64, torch.int16])
def test_ldexp_scales_by_powers_that_are_no_numbers(dtype: Any, whole: Any) -> None:
    info = torch.finfo(dtype)
    x = torch.tensor(
        [1e-30, 1e30, 1.0, -3.0, 1 + info.eps, info.max, info.tiny, info.tiny * info.eps, -info.tiny * 3.5, 0.0, -0.0,
         float("inf"), -float("inf"), float("nan"), 1.75 * 2.0**-10],
        dtype=torch.float64,
    ).to(dtype)  # fmt: skip
    exponents = torch.tensor(
        [200, -160, 0, 1, -1, 127, 128, -126, -127, -139, -149, -150, 277, -277, 330, -330, 1023, 2098, -1074, -2098,
         5000, -5000, 32767, -32768],
        dtype=whole,
    ).unsqueeze(1)  # fmt: skip
    kernels = Path(__file__).parents[2] / "kernels"
    with bringup.enable(kernels, "vpe:pe64") as enabled:
        found = torch.ldexp(x.to("vpe"), exponents.to("vpe")).cpu()
        given = torch.empty(found.shape, dtype=dtype, device="vpe")
        assert torch.ldexp(x.to("vpe"), exponents.to("vpe"), out=given) is given
        itself = x.to("vpe").ldexp_(exponents[0].to("vpe"))
        number = torch.ldexp(x.to("vpe"), exponents[0, 0])
        assert enabled.compositions["ldexp.Tensor"] == 2
        assert enabled.compositions["ldexp.out"] == 2
    expected = exact_ldexp(x, exponents)
    pairs = [(found, expected), (given.cpu(), expected), (itself.cpu(), expected[0]), (number.cpu(), expected[0])]
    for ours, right in pairs:
        assert ours.dtype == dtype
        torch.testing.assert_close(ours, right, rtol=0, atol=0, equal_nan=True)


def test_ldexp_with_other_exponents_is_as_pytorch_defines_it() -> None:
    kernels = Path(__file__).parents[2] / "kernels"
    cases = [
        (torch.tensor([3, -5, 0]), torch.tensor([4, -2, 30])),
        (torch.tensor([True, False]), torch.tensor([True, True])),
        (torch.tensor([1.5, -2.0]), torch.tensor([2.5, -0.5])),
        (torch.tensor([1.5, -2e30], dtype=torch.float64), torch.tensor([100, -160])),
        (torch.tensor([1.5, -2.0]).bfloat16(), torch.tensor([2.5, -0.5]).half()),
    ]
    with bringup.enable(kernels, "vpe:pe64"):
        for x, exponents in cases:
            found, expected = torch.ldexp(x.to("vpe"), exponents.to("vpe")).cpu(), torch.ldexp(x, exponents)
            assert found.dtype == expected.dtype
            torch.testing.assert_close(found, expected)


@pytest.fixture
def shipped() -> Iterator[Any]:
    with bringup.enable(Path(__file__).parents[2] / "kernels", "vpe:pe64") as enabled:
        yield enabled


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_axes_that_keep_or_double_their_size_are_resized_as_by_the_cpu(shipped: Any, axes: int) -> None:
    x = torch.arange(2 * 6.0**axes).reshape((1, 2) + (6,) * axes)
    for factor in (1.1, 2.05, 2.0, 1.7, 0.7):
        found = F.interpolate(x.to("vpe"), scale_factor=factor).cpu()
        assert torch.equal(found, F.interpolate(x, scale_factor=factor)), factor
    wide = F.interpolate(x.to("vpe"), scale_factor=(1.1, *[1.5] * (axes - 1))).cpu()
    assert torch.equal(wide, F.interpolate(x, scale_factor=(1.1, *[1.5] * (axes - 1))))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_an_empty_batch_is_pooled_to_one(shipped: Any, axes: int) -> None:
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[axes - 1]
    for batch in (0, 2):
        x = torch.arange(batch * 3 * 4.0**axes).reshape((batch, 3) + (4,) * axes)
        for options in ({}, {"stride": 1, "padding": 1}):
            found, right = pool(x.to("vpe"), 2, **options).cpu(), pool(x, 2, **options)
            assert found.shape == right.shape
            assert torch.equal(found, right)


@pytest.mark.parametrize(("axes", "mode"), [(1, "linear"), (2, "bilinear"), (3, "trilinear")])
@pytest.mark.parametrize("corners", [True, False])
def test_axes_that_keep_their_size_are_interpolated_as_by_the_cpu(
    shipped: Any, axes: int, mode: str, corners: bool
) -> None:
    x = torch.arange(2 * 3.0**axes).square().reshape((1, 2) + (3,) * axes)
    for factor in (1.3, 2.1, 2.0, 0.7):
        wide = (1.3, *[factor] * (axes - 1))
        found = F.interpolate(x.to("vpe"), scale_factor=wide, mode=mode, align_corners=corners).cpu()
        torch.testing.assert_close(found, F.interpolate(x, scale_factor=wide, mode=mode, align_corners=corners))


def test_labels_behind_the_end_are_none(shipped: Any) -> None:
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(0))
    for labels in ([0, 1, -1, 2, 2, 2], [3, -1, 0, 1, 2, 2], [0, 1, 2, 3, 4, 5], [-1] * 6, [2, 2, -1, -1, -1, -1]):
        y = torch.tensor([labels, labels, [5, -1, 0, 0, 0, 0], labels])
        for reduction in ("none", "mean", "sum"):
            found = F.multilabel_margin_loss(x.to("vpe"), y.to("vpe"), reduction=reduction).cpu()
            torch.testing.assert_close(found, F.multilabel_margin_loss(x, y, reduction=reduction))
        one = F.multilabel_margin_loss(x[0].to("vpe"), y[0].to("vpe")).cpu()
        torch.testing.assert_close(one, F.multilabel_margin_loss(x[0], y[0]))


def test_nothing_is_pooled_to_nothing(shipped: Any) -> None:
    x = torch.ones(1, 2, 4, 4, device="vpe")
    assert [tuple(F.adaptive_avg_pool2d(x, size).shape) for size in (0, (0, 3), (2, 0))] == [
        (1, 2, 0, 0), (1, 2, 0, 3), (1, 2, 2, 0),
    ]  # fmt: skip
    assert F.adaptive_avg_pool1d(x[0], 0).shape == (2, 4, 0)
    torch.testing.assert_close(F.adaptive_avg_pool2d(x, 3).cpu(), torch.ones(1, 2, 3, 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_running_statistics_of_half_precisions_are_rounded_once(shipped: Any, dtype: Any) -> None:
    torch.manual_seed(0)
    x = (torch.randn(6, 64, 9) * 40).to(dtype)
    mean, variance = (torch.randn(64) * 5).to(dtype), (torch.rand(64) * 5).to(dtype)
    exact = (mean.double(), variance.double())
    F.batch_norm(x.double(), *exact, training=True, momentum=-1.2)
    ours = (mean.to("vpe"), variance.to("vpe"))
    F.batch_norm(x.to("vpe"), *ours, training=True, momentum=-1.2)
    for found, right, before in zip(ours, exact, (mean, variance), strict=True):
        room = torch.finfo(dtype).eps / 2 * right.abs() + 2.0**-18 * (before.double().abs() + right.abs() + 100)
        assert bool(((found.cpu().double() - right).abs() <= room).all())
