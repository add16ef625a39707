"""A decoder as in Llama: RMS norms, rotary positions, grouped queries, SwiGLU, generation with a cache of keys and
values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._text import VOCABULARY, pieces

CONTEXT, WIDTH, HEADS, GROUPS, LAYERS, BATCH = 32, 32, 4, 2, 2, 4
HEAD = WIDTH // HEADS


class RMSNorm(nn.Module):  # type: ignore[misc]
    """Division by the root of the mean square, and a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Any) -> Any:
        """(..., width) to the same."""
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate(x: Any, cosine: Any, sine: Any) -> Any:
    """Turn pairs of elements of (batch, heads, time, head) by the angles of their positions, (time, head)."""
    first, second = x[..., : HEAD // 2], x[..., HEAD // 2 :]
    return x * cosine + torch.cat((-second, first), dim=-1) * sine


class Attention(nn.Module):  # type: ignore[misc]
    """Causal attention; two heads of queries share keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.o = nn.Linear(WIDTH, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, GROUPS * HEAD, bias=False) for _ in range(2))

    def forward(self, x: Any, angles: tuple[Any, Any], mask: Any, cache: dict[str, Any] | None) -> Any:
        """`mask`: bool (time, time of keys), or None where a single query sees all."""
        batch, length, _ = x.shape
        q = rotate(self.q(x).view(batch, length, HEADS, HEAD).transpose(1, 2), *angles)
        k = rotate(self.k(x).view(batch, length, GROUPS, HEAD).transpose(1, 2), *angles)
        v = self.v(x).view(batch, length, GROUPS, HEAD).transpose(1, 2)
        if cache is not None:
            if cache:
                k, v = torch.cat((cache["k"], k), dim=2), torch.cat((cache["v"], v), dim=2)
            cache["k"], cache["v"] = k, v
        k, v = (one.repeat_interleave(HEADS // GROUPS, dim=1) for one in (k, v))
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):  # type: ignore[misc]
    """Attention and SwiGLU, each behind a norm and beside a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention, self.norm2 = RMSNorm(), Attention(), RMSNorm()
        self.gate, self.up = nn.Linear(WIDTH, 88, bias=False), nn.Linear(WIDTH, 88, bias=False)
        self.down = nn.Linear(88, WIDTH, bias=False)

    def forward(self, x: Any, angles: tuple[Any, Any], mask: Any, cache: dict[str, Any] | None) -> Any:
        """(batch, time, width) to the same."""
        x = x + self.attention(self.norm1(x), angles, mask, cache)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):  # type: ignore[misc]
    """A decoder over bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = RMSNorm(), nn.Linear(WIDTH, VOCABULARY, bias=False)
        frequencies = 10000.0 ** (-torch.arange(0, HEAD, 2, dtype=torch.float32) / HEAD)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def forward(self, tokens: Any, caches: list[dict[str, Any]] | None = None) -> Any:
        """int64 (batch, time) to logits; with `caches` the tokens follow those that are cached."""
        length = tokens.shape[1]
        past = caches[0]["k"].shape[2] if caches and caches[0] else 0
        places = torch.arange(past, past + length, dtype=torch.float32, device=tokens.device)
        turned = torch.outer(places, self.frequencies)
        turned = torch.cat((turned, turned), dim=-1)
        angles = turned.cos(), turned.sin()
        mask = None
        if length > 1:
            every = torch.ones(length, past + length, dtype=torch.bool, device=tokens.device)
            mask = every.tril(diagonal=past)
        x = self.tokens(tokens)
        for number, block in enumerate(self.blocks):
            x = block(x, angles, mask, caches[number] if caches is not None else None)
        return self.head(self.norm(x))

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def generate(self, tokens: Any, new: int, cached: bool = True) -> Any:
        """Append the likeliest token `new` times; with the cache each step computes the last position alone."""
        caches: list[dict[str, Any]] | None = [{} for _ in self.blocks] if cached else None
        fed = tokens
        for _ in range(new):
            chosen = self(fed, caches)[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat((tokens, chosen), dim=1)
            fed = chosen if cached else tokens
        return tokens


class LlamaDecoder(Recipe):
    """See the module."""

    name = "llama"
    what = "Llama-style decoder, 2 layers, width 32, grouped queries, rotary positions; generation with a KV cache"
    optimizer_name = "AdamW"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    clip = 1.0
    generates = "tokens"

    def model(self) -> Any:
        """See `Recipe`."""
        return Llama()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens, and the tokens that follow."""
        text = pieces(step, BATCH, CONTEXT + 1)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy of the next byte."""
        return F.cross_entropy(model(batch[0]).transpose(1, 2), batch[1])

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)]

    def generate(self, model: Any, device: Any) -> Generated:
        """The same twelve bytes with the cache and without, one above the other."""
        start = pieces(9999, 2, 8).to(device)
        return Generated(tokens=torch.cat([model.generate(start, 12, cached).cpu() for cached in (True, False)]))
