"""Models of the package `timm`, unmodified, with random weights: its smallest of two kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.nn import functional as F

from bringup.models.recipe import Recipe, Tolerance
from bringup.models.zoo import resnet

SIDE = 32


class _Classifier(Recipe):
    """Says which quarter of an image is bright."""

    optimizer_name: ClassVar[str] = "SGD, momentum"
    tolerance: ClassVar[Tolerance] = Tolerance(loss=1e-3, gradient=1e-3)
    timm_name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}

    def model(self) -> Any:
        """See `Recipe`."""
        import timm

        return timm.create_model(self.timm_name, pretrained=False, num_classes=resnet.CLASSES, **self.options).train()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Images (4, 3, 32, 32) and labels."""
        images, labels = resnet.Resnet().batch(step)
        return F.interpolate(images, size=SIDE, mode="nearest"), labels

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy."""
        return F.cross_entropy(model(batch[0]), batch[1])

    def optimizers(self, model: Any) -> list[Any]:
        """SGD."""
        return [torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)]


class Resnet(_Classifier):
    """A ResNet."""

    name = "timm-resnet"
    what = "timm's test_resnet, unmodified, images of 32 x 32"
    timm_name = "test_resnet"


class Vit(_Classifier):
    """A vision transformer."""

    name = "timm-vit"
    what = "timm's test_vit, unmodified, images of 32 x 32"
    timm_name = "test_vit"
    options: ClassVar[dict[str, Any]] = {"img_size": SIDE}
