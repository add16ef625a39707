"""Models of the package `transformers`, unmodified, with random weights, tiny; their own loss and generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.zoo._images import CLASSES, quarters
from bringup.models.zoo._text import VOCABULARY, pieces

CONTEXT, WIDTH, HEADS, LAYERS, BATCH, SIDE = 32, 32, 4, 2, 4, 32


class _Decoder(Recipe):
    """A language model that predicts the next byte."""

    optimizer_name: ClassVar[str] = "AdamW"
    tolerance: ClassVar[Tolerance] = Tolerance(loss=1e-4, gradient=1e-4)
    clip: ClassVar[float | None] = 1.0
    generates: ClassVar[str] = "tokens"

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens; the model shifts them by itself."""
        return (pieces(step, BATCH, CONTEXT),)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """The model's own."""
        return model(input_ids=batch[0], labels=batch[0]).loss

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=3e-3)]

    def generate(self, model: Any, device: Any) -> Generated:
        """Eight likeliest bytes, by the model's own `generate` with its cache."""
        start = pieces(9999, 2, 8).to(device)
        made = model.generate(
            start, attention_mask=torch.ones_like(start), max_new_tokens=8, min_new_tokens=8, do_sample=False,
            pad_token_id=0, eos_token_id=None,
        )  # fmt: skip
        return Generated(tokens=made.cpu())


class Gpt2(_Decoder):
    """GPT-2."""

    name = "transformers-gpt2"
    what = "GPT-2 of transformers, unmodified, 2 layers, width 32; generate() with its cache"

    def model(self) -> Any:
        """See `Recipe`."""
        from transformers import GPT2Config, GPT2LMHeadModel

        return GPT2LMHeadModel(
            GPT2Config(
                vocab_size=VOCABULARY, n_positions=2 * CONTEXT, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS,
                resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=None, eos_token_id=None,
            )
        ).train()  # fmt: skip


class Llama(_Decoder):
    """Llama."""

    name = "transformers-llama"
    what = "Llama of transformers, unmodified, 2 layers, width 32, grouped queries; generate() with its cache"

    def model(self) -> Any:
        """See `Recipe`."""
        from transformers import LlamaConfig, LlamaForCausalLM

        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=88, num_hidden_layers=LAYERS,
                num_attention_heads=HEADS, num_key_value_heads=2, max_position_embeddings=2 * CONTEXT,
                bos_token_id=None, eos_token_id=None, pad_token_id=None,
            )
        ).train()  # fmt: skip


class Bert(Recipe):
    """BERT, filling in masked bytes."""

    name = "transformers-bert"
    what = "BERT of transformers, unmodified, 2 layers, width 32, masked bytes"
    optimizer_name = "AdamW"
    tolerance = Tolerance(loss=1e-4, gradient=1e-4)
    clip = 1.0

    def model(self) -> Any:
        """See `Recipe`."""
        from transformers import BertConfig, BertForMaskedLM

        return BertForMaskedLM(
            BertConfig(
                vocab_size=VOCABULARY + 2, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                intermediate_size=64, max_position_embeddings=CONTEXT, hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0, pad_token_id=VOCABULARY + 1,
            )
        ).train()  # fmt: skip

    def batch(self, step: int) -> tuple[Any, ...]:
        """Tokens with masks, which of them are no padding, and the bytes under the masks."""
        draw = torch.Generator().manual_seed(4000 + step)
        text = pieces(step, BATCH, 24)
        masked = torch.rand(text.shape, generator=draw) < 0.2
        kept = torch.arange(24)[None, :] < torch.randint(12, 25, (BATCH, 1), generator=draw)
        tokens = torch.where(kept, torch.where(masked, VOCABULARY, text), VOCABULARY + 1)
        return tokens, kept.long(), torch.where(masked & kept, text, -100)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """The model's own."""
        return model(input_ids=batch[0], attention_mask=batch[1], labels=batch[2]).loss

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=2e-3)]


class _Classifier(Recipe):
    """Says which quarter of an image is bright."""

    optimizer_name: ClassVar[str] = "SGD, momentum"
    tolerance: ClassVar[Tolerance] = Tolerance(loss=1e-3, gradient=1e-3, output=1e-2)
    generates: ClassVar[str] = "scores"

    def batch(self, step: int) -> tuple[Any, ...]:
        """Images (4, 3, 32, 32) and labels."""
        return quarters(step, BATCH, SIDE)

    def loss(self, model: Any, batch: Sequence[Any]) -> Any:
        """The model's own."""
        return model(pixel_values=batch[0], labels=batch[1]).loss

    def optimizers(self, model: Any) -> list[Any]:
        """SGD."""
        return [torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)]

    def generate(self, model: Any, device: Any) -> Generated:
        """Scores of images that it has not seen."""
        return Generated(output=model(pixel_values=quarters(9999, BATCH, SIDE)[0].to(device)).logits.cpu())


class Resnet(_Classifier):
    """ResNet."""

    name = "transformers-resnet"
    what = "ResNet of transformers, unmodified, bottleneck blocks, images of 32 x 32"

    def model(self) -> Any:
        """See `Recipe`."""
        from transformers import ResNetConfig, ResNetForImageClassification

        return ResNetForImageClassification(
            ResNetConfig(embedding_size=8, hidden_sizes=[16, 32], depths=[1, 2], num_labels=CLASSES)
        ).train()


class Vit(_Classifier):
    """A vision transformer."""

    name = "transformers-vit"
    what = "ViT of transformers, unmodified, 2 layers, width 32, images of 32 x 32"
    optimizer_name = "AdamW"

    def model(self) -> Any:
        """See `Recipe`."""
        from transformers import ViTConfig, ViTForImageClassification

        return ViTForImageClassification(
            ViTConfig(
                hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=64,
                image_size=SIDE, patch_size=8, num_labels=CLASSES, hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
            )
        ).train()  # fmt: skip

    def optimizers(self, model: Any) -> list[Any]:
        """AdamW."""
        return [torch.optim.AdamW(model.parameters(), lr=1e-3)]
