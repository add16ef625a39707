"""Sparse tensors of the device: what gradients of embeddings and their optimisers do with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from bringup.vpe import device

ROWS = torch.tensor([[0, 2, 2, 4]])
PAIRS = torch.tensor([[0, 2, 2, 4], [3, 1, 1, 0]])


@pytest.fixture(autouse=True)
def _cpu_kernels() -> Iterator[None]:
    device.enable(fallback="cpu")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        yield
    device.enable()
    device.allocator().check()


def rows(place: str) -> Any:
    """(5, 4), with rows of values; one row comes twice."""
    return torch.sparse_coo_tensor(ROWS.to(place), torch.arange(16.0).reshape(4, 4).to(place), (5, 4))


def pairs(place: str) -> Any:
    """(5, 4), with single values; one comes twice."""
    return torch.sparse_coo_tensor(PAIRS.to(place), torch.arange(4.0).to(place), (5, 4))


@pytest.mark.parametrize("make", [rows, pairs])
@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.coalesce(),
        lambda s: s.to_dense(),
        lambda s: s + s,
        lambda s: torch.ones(5, 4, device=s.device) + s,
        lambda s: torch.ones(4, 5, device=s.device).t().add_(s, alpha=-0.5),
        lambda s: s.clone().add_(s, alpha=3),
        lambda s: s * 2.5,
        lambda s: s.clone().mul_(2.5),
        lambda s: s / 2,
        lambda s: -s,
        lambda s: s.clone().zero_(),
        lambda s: s.double(),
        lambda s: torch.arange(20.0, device=s.device).reshape(5, 4).sparse_mask(s.coalesce()),
        lambda s: torch.sparse_coo_tensor(s._indices()[:, :0], s._values()[:0], s.shape).coalesce(),
    ],
)
def test_sparse_tensors_as_on_the_cpu(make: Callable[[str], Any], function: Callable[[Any], Any]) -> None:
    expected, actual = function(make("cpu")), function(make("vpe"))
    assert actual.device.type == "vpe"
    assert (actual.layout, actual.dtype, actual.shape) == (expected.layout, expected.dtype, expected.shape)
    if expected.is_sparse:
        assert actual.is_coalesced() == expected.is_coalesced()
        expected, actual = expected.coalesce(), actual.cpu().coalesce()
        assert torch.equal(actual.indices(), expected.indices())
        expected, actual = expected.values(), actual.values()
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.parametrize("make", [rows, pairs])
def test_there_and_back(make: Callable[[str], Any]) -> None:
    there = make("cpu").to("vpe")
    assert there.is_sparse
    assert there._values().device.type == "vpe"
    back = there.cpu()
    assert back.device.type == "cpu"
    assert torch.equal(back.to_dense(), make("cpu").to_dense())
    assert "indices=tensor" in repr(there)


def trained(place: str, kind: str, optimizer: Callable[[Any], Any]) -> tuple[Any, Any]:
    torch.manual_seed(0)
    if kind == "embedding":
        model: Any = nn.Embedding(5, 4, sparse=True).to(place)
    else:
        model = nn.EmbeddingBag(5, 4, sparse=True, mode=kind).to(place)
    steps = optimizer(model.parameters())
    where = ROWS[0].to(place)
    for step in range(3):
        steps.zero_grad(set_to_none=step == 1)
        out = model(where) if kind == "embedding" else model(where, torch.tensor([0, 1, 1]).to(place))
        (out * out).sum().backward()
        assert model.weight.grad.is_sparse
        steps.step()
    return model.weight.detach().cpu(), model.weight.grad.cpu().to_dense()


@pytest.mark.parametrize("kind", ["embedding", "sum", "mean"])
@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: torch.optim.SGD(p, lr=0.1),
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.SparseAdam(list(p), lr=0.1),
        lambda p: torch.optim.Adagrad(p, lr=0.1),
    ],
)
def test_gradients_of_embeddings_and_their_optimisers(kind: str, optimizer: Callable[[Any], Any]) -> None:
    torch.testing.assert_close(trained("vpe", kind, optimizer), trained("cpu", kind, optimizer))


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda s: s + 1, "would become dense"),
        (lambda s: s * s, "by numbers only"),
        (lambda s: torch.ones(4, 4, device="vpe") + s, "shape"),
        (lambda s: s.sin(), "of sparse"),
    ],
)
def test_what_is_not_there_says_so(function: Callable[[Any], Any], said: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError), match=said):
        function(rows("vpe"))
