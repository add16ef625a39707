"""Small drawn images to learn from."""

from __future__ import annotations

from typing import Any

import torch

CLASSES = 4


def quarters(step: int, batch: int, side: int) -> tuple[Any, Any]:
    """Return float32 images (batch, 3, side, side) under noise, and int64 (batch,): which quarter of each is bright."""
    draw = torch.Generator().manual_seed(3000 + step)
    labels = torch.randint(0, CLASSES, (batch,), generator=draw)
    images = torch.randn(batch, 3, side, side, generator=draw)
    half = side // 2
    for image, label in zip(images, labels.tolist(), strict=True):
        row, column = half * (label // 2), half * (label % 2)
        image[:, row : row + half, column : column + half] += 1
    return images, labels


def squares(draw: Any, batch: int, side: int) -> Any:
    """Return float32 images (batch, 1, side, side): -1 but for a square of half the side that is 1, anywhere."""
    images = torch.full((batch, 1, side, side), -1.0)
    half = side // 2
    corners = torch.randint(0, side - half + 1, (batch, 2), generator=draw).tolist()
    for image, (row, column) in zip(images, corners, strict=True):
        image[:, row : row + half, column : column + half] = 1
    return images
