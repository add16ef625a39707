"""Which models there are. Importing this imports no torch; `get` does."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from bringup.errors import ConfigError, UnknownName

if TYPE_CHECKING:
    from bringup.models.recipe import Recipe

_ZOO = {
    "gpt": "gpt:Gpt",
    "llama": "llama:LlamaDecoder",
    "bert": "bert:Bert",
    "dlrm": "dlrm:Dlrm",
    "dlrm-sparse": "dlrm:SparseDlrm",
    "resnet": "resnet:Resnet",
    "unet": "unet:Unet",
    "lstm": "recurrent:Lstm",
    "gru": "recurrent:Gru",
    "transformers-gpt2": "transformers:Gpt2",
    "transformers-llama": "transformers:Llama",
    "transformers-bert": "transformers:Bert",
    "timm-resnet": "timm:Resnet",
    "timm-vit": "timm:Vit",
}


def names(installed: bool = False) -> list[str]:
    """Return the models' names; with `installed` only those whose packages are installed."""
    return [name for name in _ZOO if not installed or not lacking(name)]


def lacking(name: str) -> list[str]:
    """Return the packages that a model needs and that are not installed."""
    family = name.partition("-")[0]
    return [family] if family in ("transformers", "timm") and find_spec(family) is None else []


def get(name: str) -> Recipe:
    """Return a model's recipe; raises UnknownName, and ConfigError where a package is missing."""
    if name not in _ZOO:
        raise UnknownName("model", name, names(), "the zoo")
    if missing := lacking(name):
        raise ConfigError(
            f"model {name}", f"{', '.join(missing)} is not installed", "install it with pip install 'bringup[models]'"
        )
    module, _, attribute = _ZOO[name].partition(":")
    recipe: Recipe = getattr(importlib.import_module(f"bringup.models.zoo.{module}"), attribute)()
    return recipe


def chosen(given: Sequence[str]) -> list[str]:
    """Return the models that a command means: names, or `all`: all that can run here. Raises as `get`."""
    found: list[str] = []
    for name in given:
        if name == "all":
            found += names(installed=True)
        elif name not in _ZOO:
            raise UnknownName("model", name, [*names(), "all"], "the zoo")
        else:
            get(name)
            found.append(name)
    return list(dict.fromkeys(found))
