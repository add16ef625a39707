"""A BERT encoder that learns to fill in masked bytes, with padding, segments and attention to what is no padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._text import VOCABULARY, pieces

LENGTH, WIDTH, HEADS, LAYERS, BATCH = 24, 32, 4, 2, 4
MASK, PADDING = VOCABULARY, VOCABULARY + 1
IGNORED = -100


class Layer(nn.Module):  # type: ignore[misc]
    """Attention and a network, each followed by a layer norm of the sum with its input."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out, self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 64), nn.Linear(64, WIDTH)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Any, bias: Any) -> Any:
        """`x`: (batch, length, width); `bias`: (batch, 1, 1, length), added to the scores."""
        q, k, v = (part(x).view(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (WIDTH // HEADS) ** 0.5 + bias
        mixed = torch.matmul(F.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous().view(x.shape)
        x = self.norm1(self.out(mixed) + x)
        return self.norm2(self.down(F.gelu(self.up(x))) + x)


class BERT(nn.Module):  # type: ignore[misc]
    """Tokens to logits of every position, and of whether the text continues."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY + 2, WIDTH, padding_idx=PADDING)
        self.positions, self.segments = nn.Embedding(LENGTH, WIDTH), nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.pooler, self.continues = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)
        self.transform, self.transform_norm = nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)
        self.decoder = nn.Linear(WIDTH, VOCABULARY + 2)

    def forward(self, tokens: Any, segments: Any) -> tuple[Any, Any]:
        """int64 (batch, length) twice, to (batch, length, words) and (batch, 2)."""
        kept = tokens.ne(PADDING)
        bias = (1.0 - kept[:, None, None, :].to(torch.float32)) * torch.finfo(torch.float32).min
        places = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        x = self.norm(self.words(tokens) + self.segments(segments) + self.positions(places))
        for layer in self.layers:
            x = layer(x, bias)
        words = self.decoder(self.transform_norm(F.gelu(self.transform(x))))
        return words, self.continues(torch.tanh(self.pooler(x[:, 0])))


class Bert(Recipe):
    """See the module."""

    name = "bert"
    what = "BERT encoder, 2 layers, width 32, masked bytes and next sentence, padded batches"
    optimizer_name = "Adam"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    clip = 1.0
    generates = "masked tokens"

    def model(self) -> Any:
        """See `Recipe`."""
        return BERT()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens with masks, segments, the bytes under the masks, and whether the second half continues the first."""
        draw = torch.Generator().manual_seed(4000 + step)
        text = pieces(step, BATCH, LENGTH)
        continues = torch.randint(0, 2, (BATCH,), generator=draw)
        other = pieces(step + 5000, BATCH, LENGTH)
        half = LENGTH // 2
        text[:, half:] = torch.where(continues[:, None] == 1, text[:, half:], other[:, half:])
        masked = torch.rand(text.shape, generator=draw) < 0.2
        labels = torch.where(masked, text, IGNORED)
        tokens = torch.where(masked, MASK, text)
        lengths = torch.randint(half, LENGTH + 1, (BATCH, 1), generator=draw)
        beyond = torch.arange(LENGTH)[None, :] >= lengths
        tokens[beyond], labels[beyond] = PADDING, IGNORED
        segments = (torch.arange(LENGTH) >= half).long().expand(BATCH, LENGTH).contiguous()
        return tokens, segments, labels, continues

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """The sum of both cross entropies."""
        tokens, segments, labels, continues = batch
        words, pair = model(tokens, segments)
        words_loss = F.cross_entropy(words.view(-1, VOCABULARY + 2), labels.view(-1), ignore_index=IGNORED)
        return words_loss + F.cross_entropy(pair, continues)

    def optimizers(self, model: Any) -> list[Any]:
        """Adam."""
        return [torch.optim.Adam(model.parameters(), lr=2e-3)]

    def generate(self, model: Any, device: Any) -> Generated:
        """The likeliest byte at each place of a batch."""
        tokens, segments, *_ = self.batch(9999)
        words, _ = model(tokens.to(device), segments.to(device))
        return Generated(tokens=words[..., :VOCABULARY].argmax(dim=-1).cpu())
