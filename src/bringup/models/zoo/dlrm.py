"""DLRM, a model of recommendation: embedding bags for categories, a network for numbers, their inner products, a
network over these; binary cross entropy. With dense and with sparse gradients of the embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Recipe, Tolerance

NUMBERS, WIDTH, BATCH = 8, 8, 16
ROWS = (50, 30, 20)  # of each table


class DLRM(nn.Module):  # type: ignore[misc]
    """Numbers and categories to the logit of a click."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, WIDTH, mode="sum", sparse=sparse) for rows in ROWS)
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 16), nn.ReLU(), nn.Linear(16, WIDTH), nn.ReLU())
        pairs = (len(ROWS) + 1) * len(ROWS) // 2
        self.top = nn.Sequential(nn.Linear(WIDTH + pairs, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, numbers: Any, bags: Sequence[Any], offsets: Sequence[Any]) -> Any:
        """Numbers (batch, 8), and for each table rows (int64) and where each example's begin; logits (batch,)."""
        dense = self.bottom(numbers)
        looked_up = [table(rows, starts) for table, rows, starts in zip(self.tables, bags, offsets, strict=True)]
        vectors = torch.stack([dense, *looked_up], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        first, second = torch.tril_indices(vectors.shape[1], vectors.shape[1], offset=-1, device="cpu")
        pairs = products[:, first.tolist(), second.tolist()]
        return self.top(torch.cat([dense, pairs], dim=1)).squeeze(1)


class Dlrm(Recipe):
    """Dense gradients: rows that were not looked up have gradient zero."""

    name = "dlrm"
    what = "DLRM: 3 embedding bags, pairwise products, dense gradients"
    optimizer_name = "Adagrad"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    sparse = False

    def model(self) -> Any:
        """See `Recipe`."""
        return DLRM(self.sparse)

    def batch(self, step: int) -> tuple[Any, ...]:
        """Numbers, labels, and for each table rows and offsets; some bags are empty, some rows come twice."""
        draw = torch.Generator().manual_seed(2000 + step)
        numbers = torch.randn(BATCH, NUMBERS, generator=draw)
        bags, offsets, clicks = [], [], numbers[:, 0] * 2
        for rows in ROWS:
            lengths = torch.randint(0, 4, (BATCH,), generator=draw)
            chosen = torch.randint(0, rows, (int(lengths.sum()),), generator=draw)
            bags.append(chosen)
            offsets.append(lengths.cumsum(0) - lengths)
            owner = torch.repeat_interleave(torch.arange(BATCH), lengths)
            clicks = clicks.index_add(0, owner, (chosen % 3 - 1).float())
        labels = (torch.rand(BATCH, generator=draw) < clicks.sigmoid()).float()
        return numbers, labels, *bags, *offsets

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Binary cross entropy of clicks."""
        numbers, labels, *rest = batch
        return F.binary_cross_entropy_with_logits(model(numbers, rest[: len(ROWS)], rest[len(ROWS) :]), labels)

    def optimizers(self, model: Any) -> list[Any]:
        """Adagrad over all."""
        return [torch.optim.Adagrad(model.parameters(), lr=0.05)]


class SparseDlrm(Dlrm):
    """Sparse gradients of the tables, which three optimisers take: Adagrad, SparseAdam and SGD, a table each."""

    name = "dlrm-sparse"
    what = "DLRM with sparse gradients of its 3 tables"
    optimizer_name = "Adagrad, SparseAdam, SGD: a table each; Adagrad for the rest"
    sparse = True

    def optimizers(self, model: Any) -> list[Any]:
        """One optimiser for each table, and one for the rest."""
        first, second, third = (table.weight for table in model.tables)
        rest = [*model.bottom.parameters(), *model.top.parameters()]
        return [
            torch.optim.Adagrad([first], lr=0.05),
            torch.optim.SparseAdam([second], lr=0.01),
            torch.optim.SGD([third], lr=0.1),
            torch.optim.Adagrad(rest, lr=0.05),
        ]
