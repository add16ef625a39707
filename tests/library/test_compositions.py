"""What PyTorch asks for and neither composes nor computes on the CPU; numbers where tensors are meant; sparse bags."""

from __future__ import annotations

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
