"""A GPT over bytes as nanoGPT trains it: fused attention, tied weights, AdamW with decay of matrices only, clipping,
a learning rate that warms up and decays, generation with temperature and top-k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._text import VOCABULARY, pieces

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 32, 32, 4, 2, 4


class Attention(nn.Module):  # type: ignore[misc]
    """Causal attention of several heads, with queries, keys and values of one matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        """(batch, time, width) to the same."""
        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.qkv(x).split(WIDTH, dim=2)
        )  # fmt: skip
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).contiguous().view(batch, length, WIDTH))


class Block(nn.Module):  # type: ignore[misc]
    """Attention and a two-layer network, each behind a layer norm and beside a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2 = nn.LayerNorm(WIDTH)
        self.network = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Any) -> Any:
        """(batch, time, width) to the same."""
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class GPT(nn.Module):  # type: ignore[misc]
    """A decoder over bytes; the matrix of the tokens is that of the head, too."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                scale = 1 / math.sqrt(2 * LAYERS) if name.endswith(("out.weight", "network.2.weight")) else 1.0
                nn.init.normal_(parameter, std=0.02 * scale)

    def forward(self, tokens: Any) -> Any:
        """int64 (batch, time) to logits (batch, time, vocabulary)."""
        places = torch.arange(tokens.shape[1], dtype=torch.long, device=tokens.device)
        x = self.tokens(tokens) + self.positions(places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def generate(self, tokens: Any, new: int, temperature: float = 1.0, top_k: int | None = None) -> Any:
        """Append `new` tokens, the likeliest ones, or with `top_k` drawn among the k likeliest."""
        for _ in range(new):
            logits = self(tokens[:, -CONTEXT:])[:, -1, :] / temperature
            if top_k is None:
                chosen = logits.argmax(dim=-1, keepdim=True)
            else:
                least = torch.topk(logits, top_k)[0][:, [-1]]
                logits[logits < least] = -float("inf")
                chosen = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            tokens = torch.cat((tokens, chosen), dim=1)
        return tokens


class Gpt(Recipe):
    """See the module."""

    name = "gpt"
    what = "nanoGPT-style decoder, 2 layers, width 32, tied weights, fused attention; generation with top-k"
    optimizer_name = "AdamW, decay of matrices, cosine schedule"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    clip = 1.0
    generates = "tokens"

    def model(self) -> Any:
        """See `Recipe`."""
        return GPT()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens, and the tokens that follow."""
        text = pieces(step, BATCH, CONTEXT + 1)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy of the next byte."""
        logits = model(batch[0])
        return F.cross_entropy(logits.view(-1, VOCABULARY), batch[1].view(-1), ignore_index=-1)

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW, with no decay of vectors."""
        matrices = [p for p in model.parameters() if p.dim() >= 2]
        vectors = [p for p in model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
        return [torch.optim.AdamW(groups, lr=6e-3, betas=(0.9, 0.95))]

    def schedules(self, optimizers: Sequence[Any]) -> list[Any]:
        """Ten steps of warming up, then a cosine down to a tenth."""
        return [
            torch.optim.lr_scheduler.LambdaLR(
                one, lambda step: min((step + 1) / 10, 0.55 + 0.45 * math.cos(math.pi * min(step, 200) / 200))
            )
            for one in optimizers
        ]

    def generate(self, model: Any, device: Any) -> Generated:
        """Twelve likeliest bytes, and twelve drawn among the likeliest five."""
        start = pieces(9999, 2, 8)
        likeliest = model.generate(start.to(device), 12).cpu()
        drawn = model.generate(start.to(device), 12, temperature=0.8, top_k=5)
        # What was drawn has to be among the five likeliest after what came before it.
        scores = model(drawn[:, :-1])[:, 7:].cpu()
        allowed = scores >= scores.topk(5, dim=-1)[0][..., -1:]
        return Generated(tokens=likeliest, sampled=drawn[:, 8:].cpu(), allowed=allowed)
