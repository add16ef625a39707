"""A ResNet of basic blocks on small drawn images: convolutions, batch norm, pooling, SGD with momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._images import CLASSES, quarters

BATCH, SIDE, WIDTH = 4, 16, 8


class Block(nn.Module):  # type: ignore[misc]
    """Two convolutions beside a shortcut, which is projected where shapes differ."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(after), nn.BatchNorm2d(after)
        self.shortcut: Any = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride=stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Any) -> Any:
        """(batch, before, side, side) to (batch, after, side / stride, side / stride)."""
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):  # type: ignore[misc]
    """Stem, two stages, average, classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(inplace=True),
            nn.MaxPool2d(3, stride=2, padding=1),
        )  # fmt: skip
        self.stages = nn.Sequential(Block(WIDTH, WIDTH, 1), Block(WIDTH, 2 * WIDTH, 2))
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(2 * WIDTH, CLASSES)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Any) -> Any:
        """Images (batch, 3, side, side) to logits (batch, classes)."""
        return self.head(torch.flatten(self.pool(self.stages(self.stem(images))), 1))


class Resnet(Recipe):
    """See the module."""

    name = "resnet"
    what = "ResNet of basic blocks, width 8, images of 16 x 16; at the end with the running statistics"
    optimizer_name = "SGD, Nesterov momentum, decay"
    tolerance = Tolerance(loss=1e-3, gradient=1e-3, output=1e-2)
    generates = "scores"

    def model(self) -> Any:
        """See `Recipe`."""
        return ResNet()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Images with a bright quarter, which is the class, under noise."""
        return quarters(step, BATCH, SIDE)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy with smoothed labels."""
        return F.cross_entropy(model(batch[0]), batch[1], label_smoothing=0.1)

    def optimizers(self, model: Any) -> list[Any]:
        """SGD."""
        return [torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, nesterov=True)]

    def generate(self, model: Any, device: Any) -> Generated:
        """Scores of images that it has not seen, with the statistics that norms kept."""
        return Generated(output=model(quarters(9999, BATCH, SIDE)[0].to(device)).cpu())
