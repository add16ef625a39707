"""Recurrent networks over bytes: an LSTM of two layers, and a GRU that reads in both directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._text import VOCABULARY, pieces

LENGTH, WIDTH, BATCH, CLASSES = 12, 16, 4, 3


class Predictor(nn.Module):  # type: ignore[misc]
    """An LSTM that says the next byte."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.lstm = nn.Embedding(VOCABULARY, WIDTH), nn.LSTM(WIDTH, WIDTH, num_layers=2, batch_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: Any, state: Any = None) -> tuple[Any, Any]:
        """int64 (batch, time) and the state before, to logits and the state after."""
        read, state = self.lstm(self.tokens(tokens), state)
        return self.head(read), state


class Lstm(Recipe):
    """Language model."""

    name = "lstm"
    what = "LSTM of 2 layers, width 16, over bytes; generation from its state"
    optimizer_name = "RMSprop"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    clip: ClassVar[float | None] = 0.5
    generates = "tokens"

    def model(self) -> Any:
        """See `Recipe`."""
        return Predictor()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens, and the tokens that follow."""
        text = pieces(step, BATCH, LENGTH + 1)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy of the next byte."""
        return F.cross_entropy(model(batch[0])[0].flatten(0, 1), batch[1].flatten())

    def optimizers(self, model: Any) -> list[Any]:
        """RMSprop."""
        return [torch.optim.RMSprop(model.parameters(), lr=2e-3)]

    def generate(self, model: Any, device: Any) -> Generated:
        """The likeliest eight bytes after four."""
        fed, state, made = pieces(9999, 2, 4).to(device), None, []
        with torch.no_grad():
            for _ in range(8):
                scores, state = model(fed, state)
                fed = scores[:, -1].argmax(dim=-1, keepdim=True)
                made.append(fed.cpu())
        return Generated(tokens=torch.cat(made, dim=1))


class Classifier(nn.Module):  # type: ignore[misc]
    """A GRU in both directions; the largest of what it says over time decides."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.gru, self.head = nn.GRU(WIDTH, WIDTH, batch_first=True, bidirectional=True), nn.Linear(2 * WIDTH, CLASSES)

    def forward(self, tokens: Any) -> Any:
        """int64 (batch, time) to logits (batch, classes)."""
        return self.head(self.gru(self.tokens(tokens))[0].amax(dim=1))


class Gru(Recipe):
    """Classification of short texts."""

    name = "gru"
    what = "GRU in both directions, width 16, that says what kind of character a text begins with"
    optimizer_name = "Adamax"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)

    def model(self) -> Any:
        """See `Recipe`."""
        return Classifier()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Texts, and the kinds of their first characters: space, letter, other."""
        text = pieces(step, BATCH, LENGTH)
        first = text[:, 0]
        letter = ((first >= 97) & (first <= 122)).long()
        return text, torch.where(first == 32, 0, 2 - letter)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy."""
        return F.cross_entropy(model(batch[0]), batch[1])

    def optimizers(self, model: Any) -> list[Any]:
        """Adamax."""
        return [torch.optim.Adamax(model.parameters(), lr=5e-3)]
