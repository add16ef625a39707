"""Which models there are. Importing this imports no torch; `get` does."""

from __future__ import annotations

import functools
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
    "transformers-resnet": "transformers:Resnet",
    "transformers-vit": "transformers:Vit",
    "diffusers-unet": "diffusers:Unet",
    "timm-resnet": "timm:Resnet",
    "timm-vit": "timm:Vit",
}

PACKAGES = ("transformers", "diffusers", "timm")
"""Packages whose models are in the zoo; `NAME-...` needs NAME."""


def names() -> list[str]:
    """Return the models' names."""
    return list(_ZOO)


def lacking(name: str) -> list[str]:
    """Return the packages that a model needs and that are not installed."""
    family = name.partition("-")[0]
    return [family] if family in PACKAGES and find_spec(family) is None else []


def unusable(name: str) -> tuple[str, str] | None:
    """Return why a model cannot run here, and what to do about it; None where it can. Imports the model's package."""
    if missing := lacking(name):
        return f"{', '.join(missing)} is not installed", "install it with pip install 'bringup[models]'"
    package = name.partition("-")[0]
    if package not in PACKAGES:
        return None
    if find_spec("torchvision") is not None and (said := _import_error("torchvision")):
        return f"torchvision does not import: {said}", "install a torchvision built for this torch; only timm needs one"
    if said := _import_error(package):
        return f"{package} does not import: {said}", f"install what {package} needs in versions that fit"
    return None


@functools.cache  # a failed import says something else the second time
def _import_error(package: str) -> str:
    """Import a package; return what it raises, on one line, or the empty string."""
    try:
        importlib.import_module(package)
    except Exception as error:  # whatever packages of other versions raise
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return ""


def get(name: str) -> Recipe:
    """Return a model's recipe; raises UnknownName, and ConfigError where a package is missing or does not import."""
    if name not in _ZOO:
        raise UnknownName("model", name, names(), "the zoo")
    if problem := unusable(name):
        raise ConfigError(f"model {name}", *problem)
    module, _, attribute = _ZOO[name].partition(":")
    recipe: Recipe = getattr(importlib.import_module(f"bringup.models.zoo.{module}"), attribute)()
    return recipe


def chosen(given: Sequence[str]) -> list[str]:
    """Return the models that a command means: names, or `all`: all that can run here. Raises as `get`."""
    found: list[str] = []
    for name in given:
        if name == "all":
            found += [one for one in names() if not unusable(one)]
        elif name not in _ZOO:
            raise UnknownName("model", name, [*names(), "all"], "the zoo")
        else:
            get(name)
            found.append(name)
    return list(dict.fromkeys(found))
