"""A U-Net that predicts noise, as diffusion models have it: group norms, SiLU, embedded time steps, attention, down-
and upsampling with skipped connections; images come from noise by deterministic steps (DDIM).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._images import squares

BATCH, SIDE, WIDTH, STEPS = 4, 8, 8, 100
# DDPM's schedule: noise per step from 1e-4 to 0.02 for 1000 steps, ten times that for a hundred.
KEPT = torch.cumprod(1 - torch.linspace(1e-3, 0.2, STEPS, dtype=torch.float64), 0).float()


def embedded(steps: Any) -> Any:
    """Sines and cosines of time steps, float32 (batch,) to (batch, width)."""
    half = WIDTH // 2
    frequencies = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float32, device=steps.device) / half)
    angles = steps[:, None] * frequencies[None, :]
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=-1)


class Residual(nn.Module):  # type: ignore[misc]
    """Two convolutions behind norms, with the time step added between, beside a shortcut."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, before), nn.GroupNorm(4, after)
        self.conv1, self.conv2 = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.time = nn.Linear(4 * WIDTH, after)
        self.shortcut: Any = nn.Conv2d(before, after, 1) if before != after else nn.Identity()

    def forward(self, x: Any, time: Any) -> Any:
        """(batch, before, side, side) and (batch, 4 width) to (batch, after, side, side)."""
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(time))[:, :, None, None]
        return self.conv2(F.silu(self.norm2(y))) + self.shortcut(x)


class Attention(nn.Module):  # type: ignore[misc]
    """Attention among the pixels."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = (
            nn.GroupNorm(4, channels), nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1),
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        """(batch, channels, side, side) to the same."""
        batch, channels, high, wide = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(batch, 3, channels, high * wide).unbind(1)
        weights = torch.softmax(torch.einsum("bci,bcj->bij", q, k) * channels**-0.5, dim=-1)
        mixed = torch.einsum("bij,bcj->bci", weights, v).reshape(batch, channels, high, wide)
        return x + self.out(mixed)


class UNet(nn.Module):  # type: ignore[misc]
    """Noisy images and time steps to the noise."""

    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.SiLU(), nn.Linear(4 * WIDTH, 4 * WIDTH))
        self.first, self.down1 = nn.Conv2d(1, WIDTH, 3, padding=1), Residual(WIDTH, WIDTH)
        self.smaller = nn.Conv2d(WIDTH, WIDTH, 3, stride=2, padding=1)
        self.down2, self.attention = Residual(WIDTH, 2 * WIDTH), Attention(2 * WIDTH)
        self.middle = Residual(2 * WIDTH, 2 * WIDTH)
        self.larger, self.up = nn.Conv2d(2 * WIDTH, WIDTH, 3, padding=1), Residual(2 * WIDTH, WIDTH)
        self.norm, self.last = nn.GroupNorm(4, WIDTH), nn.Conv2d(WIDTH, 1, 3, padding=1)

    def forward(self, images: Any, steps: Any) -> Any:
        """(batch, 1, side, side) and float32 (batch,) to (batch, 1, side, side)."""
        time = self.time(embedded(steps))
        high = self.down1(self.first(images), time)
        low = self.attention(self.down2(self.smaller(high), time))
        low = self.larger(F.interpolate(self.middle(low, time), scale_factor=2.0, mode="nearest"))
        return self.last(F.silu(self.norm(self.up(torch.cat([low, high], dim=1), time))))


class Unet(Recipe):
    """See the module."""

    name = "unet"
    what = "diffusion U-Net of two levels with attention, images of 8 x 8; five deterministic steps from noise"
    optimizer_name = "AdamW"
    tolerance = Tolerance(loss=1e-3, gradient=1e-3, output=1e-2)
    clip = 1.0
    generates = "images"

    def model(self) -> Any:
        """See `Recipe`."""
        return UNet()

    def batch(self, step: int) -> tuple[Any, ...]:
        """Noisy images of bright squares, the time steps (float32), and the noise."""
        draw = torch.Generator().manual_seed(5000 + step)
        images = squares(draw, BATCH, SIDE)
        steps = torch.randint(0, STEPS, (BATCH,), generator=draw)
        noise = torch.randn(images.shape, generator=draw)
        kept = KEPT[steps][:, None, None, None]
        return kept.sqrt() * images + (1 - kept).sqrt() * noise, steps.float(), noise

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """Mean square of what is left of the noise."""
        noisy, steps, noise = batch
        return F.mse_loss(model(noisy, steps), noise)

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=2e-3)]

    def generate(self, model: Any, device: Any) -> Generated:
        """Two images."""
        x = torch.randn(2, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(7)).to(device)
        times = [80, 60, 40, 20, 0]
        with torch.no_grad():
            for now, after in zip(times, [*times[1:], None], strict=True):
                noise = model(x, torch.full((2,), float(now), device=device))
                kept = float(KEPT[now])
                clean = ((x - math.sqrt(1 - kept) * noise) / math.sqrt(kept)).clamp(-1, 1)
                left = 1.0 if after is None else float(KEPT[after])
                x = math.sqrt(left) * clean + math.sqrt(1 - left) * noise
        return Generated(output=x.cpu())
