"""A model of the package `diffusers`, unmodified, with random weights, tiny, trained and sampled by its schedulers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._images import squares

BATCH, SIDE, STEPS = 4, 8, 100


class Unet(Recipe):
    """The U-Net of DDPM."""

    name = "diffusers-unet"
    what = "UNet2DModel of diffusers, unmodified, two levels with attention, images of 8 x 8; DDIMScheduler"
    optimizer_name = "AdamW"
    tolerance = Tolerance(loss=1e-3, gradient=1e-3, output=1e-2)
    clip = 1.0
    generates = "images"

    def model(self) -> Any:
        """See `Recipe`."""
        from diffusers import UNet2DModel

        return UNet2DModel(
            sample_size=SIDE, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(8, 16),
            down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            norm_num_groups=4, attention_head_dim=8,
        ).train()  # fmt: skip

    def batch(self, step: int) -> tuple[Any, ...]:
        """Noisy images of bright squares, the time steps (int64), and the noise."""
        from diffusers import DDPMScheduler

        draw = torch.Generator().manual_seed(5000 + step)
        images = squares(draw, BATCH, SIDE)
        steps = torch.randint(0, STEPS, (BATCH,), generator=draw)
        noise = torch.randn(images.shape, generator=draw)
        return DDPMScheduler(num_train_timesteps=STEPS).add_noise(images, noise, steps), steps, noise

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Mean square of what is left of the noise."""
        noisy, steps, noise = batch
        return F.mse_loss(model(noisy, steps).sample, noise)

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=2e-3)]

    def generate(self, model: Any, device: Any) -> Generated:
        """Two images."""
        from diffusers import DDIMScheduler

        scheduler = DDIMScheduler(num_train_timesteps=STEPS)
        scheduler.set_timesteps(5, device=device)
        x = torch.randn(2, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(7)).to(device)
        for now in scheduler.timesteps:
            x = scheduler.step(model(x, now).sample, now, x).prev_sample
        return Generated(output=x.cpu())
