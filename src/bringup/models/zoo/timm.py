"""Models of the package `timm`, unmodified, with random weights: its smallest of two kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._images import CLASSES, quarters

SIDE = 32


class _Classifier(Recipe):
    """Says which quarter of an image is bright."""

    tolerance: ClassVar[Tolerance] = Tolerance(loss=1e-3, gradient=1e-3, output=1e-2)
    generates: ClassVar[str] = "scores"
    timm_name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    images: ClassVar[int] = 4
    """A step."""

    def model(self) -> Any:
        """See `Recipe`."""
        import timm

        return timm.create_model(self.timm_name, pretrained=False, num_classes=CLASSES, **self.options).train()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Images (images, 3, 32, 32) and labels."""
        return quarters(step, self.images, SIDE)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Cross entropy."""
        return F.cross_entropy(model(batch[0]), batch[1])

    def generate(self, model: Any, device: Any) -> Generated:
        """Scores of images that it has not seen."""
        return Generated(output=model(quarters(9999, self.images, SIDE)[0].to(device)).cpu())


class Resnet(_Classifier):
    """A ResNet."""

    name = "timm-resnet"
    what = "timm's test_resnet, unmodified, images of 32 x 32"
    optimizer_name = "SGD, momentum"
    timm_name = "test_resnet"
    # Its last norms see one pixel an image: with fewer images, or larger steps, a rounding error grows a
    # hundred-thousandfold within 50 steps, on the CPU itself.
    images = 16

    def optimizers(self, model: Any) -> list[Any]:
        """SGD."""
        return [torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)]


class Vit(_Classifier):
    """A vision transformer."""

    name = "timm-vit"
    what = "timm's test_vit, unmodified, images of 32 x 32"
    optimizer_name = "AdamW"
    timm_name = "test_vit"
    options: ClassVar[dict[str, Any]] = {"img_size": SIDE}

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=1e-3)]
