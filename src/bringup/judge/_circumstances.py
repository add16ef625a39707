"""What a call's text may not depend on beside its metadata: drawn in the referee, brought about in the guest.

A wrapper sees more of a call than sizes, strides, offsets, dtypes and numbers: whether a tensor requires gradients, is
a view, or has been written to, how large its storage is, PyTorch's modes, how deep the stack is, ids.
"""

from __future__ import annotations

import contextlib
import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.judge import _codec

PAUSED, PAUSE = 0.05, 3  # share of the calls after a pause, and the binary logarithm of the most milliseconds of one
HALF = 0.5
COLLECTED, OFTEN = 0.03, 0.1  # of the calls come after a collection, in any other circumstance
IDS = 512  # objects in whose places the arguments may be made
ROOM, APART = 4, 37  # of these make room for a call, so many apart
DEPTH = 200  # frames below a call, at most
VERSIONS = 9
SLACK = 18  # binary logarithm of the most bytes that a storage may have behind what it had
OF_TENSORS = ("gradient", "view", "version", "objects")  # what a call has to be made tensors for
MODES = {"no_grad": torch.no_grad, "enable_grad": torch.enable_grad, "inference_mode": torch.inference_mode}
DEFAULTS = ("float64", "bfloat16")
GRADIENTS = {"requires_grad": lambda tensor: tensor.requires_grad_(), "parameter": torch.nn.Parameter}


@dataclass(frozen=True)
class Varied:
    """What may be varied around the calls of one case."""

    gradients: tuple[str, ...]
    """How tensors may require gradients: PyTorch's own result has the same metadata but for that."""
    default_dtypes: tuple[str, ...]
    """Default dtypes that change nothing about the result."""
    sizes: bool
    """Whether storages may be larger: nothing among the arguments is written to, and so none is resized."""


def varied(reference: Callable[..., Any], arguments: tuple[Any, Any], *, writes: bool, plain: bool) -> Varied:
    """Say what may be varied around a call, by what PyTorch does with it on tensors without contents (meta).

    `plain`: the wrapper's own result was without gradients. Where PyTorch cannot tell, nothing is varied that it is
    asked for.
    """
    tensors = [tensor for _, tensor in _codec.tensors_of(list(arguments), "")]
    usual = _metadata(reference, arguments)
    if usual is None:
        return Varied((), (), not writes)
    asked = plain and not writes and any(_takes_gradients(tensor) for tensor in tensors)
    gradients = tuple(name for name in GRADIENTS if asked and _metadata(reference, arguments, name) == usual)
    # Beside an integer the default dtype is what a number has, or what is computed in, whatever the result is.
    floats = all(tensor.is_floating_point() for tensor in tensors)
    defaults = tuple(name for name in DEFAULTS if floats and _under(name, reference, arguments) == usual)
    return Varied(gradients, defaults, not writes)


def drawn(chance: random.Random, varied: Varied) -> dict[str, Any]:
    """Return the circumstances of one call; a few calls have each."""
    around: dict[str, Any] = {"ids": chance.randrange(IDS)}
    if chance.random() < PAUSED:
        around["pause"] = round(2 ** chance.uniform(0, PAUSE), 2)
    if chance.random() < HALF:
        around["recycle"] = True
    for name, share, values in (
        ("objects", OFTEN, [True]),
        ("mode", OFTEN, list(MODES)),
        ("view", OFTEN, [True]),
        ("version", OFTEN, range(VERSIONS)),
        ("depth", OFTEN, range(1, DEPTH)),
        ("collect", COLLECTED, [True]),
        ("gradient", OFTEN, varied.gradients),
        ("default", OFTEN, varied.default_dtypes),
    ):
        if chance.random() < share and values:
            around[name] = chance.choice(values)
    return around


def larger(sizes: Sequence[int], chance: random.Random, varied: Varied) -> list[int]:
    """Return bytes of the storages of one call: as many, or more behind."""
    if not varied.sizes or chance.random() > OFTEN:
        return list(sizes)
    return [size + 16 * int(2 ** chance.uniform(0, SLACK - 4)) if size else 0 for size in sizes]


def words(around: Mapping[str, Any], *, larger: bool) -> str:
    """Say what is unusual about a call."""
    told = [
        f"under {around['mode']}" if "mode" in around else "",
        "on views" if "view" in around else "",
        f"on tensors of version {around['version']}" if "version" in around else "",
        "on objects of other calls" if "objects" in around else "",
        "on the objects of the call before" if "again" in around else "",
        f"after {around['pause']} ms" if "pause" in around else "",
        "below more frames" if "depth" in around else "",
        "after gc.collect()" if "collect" in around else "",
        {"parameter": "with nn.Parameter", "requires_grad": "with requires_grad"}.get(around.get("gradient", ""), ""),
        f"with {around['default']} as default dtype" if "default" in around else "",
        "on larger storages" if larger else "",
    ]
    return ", ".join(filter(None, told))


def tensor_on(
    storages: list[Any], description: dict[str, Any], around: Mapping[str, Any], old: Sequence[Any] = ()
) -> Any:
    """Build the described tensor of a guest's, as the circumstances have it; of one of the `old` ones if there is one.

    An old one has the same dtype.
    """
    tensor = _codec.tensor_on(storages, description)
    storage = storages[description["t"]]
    if old:
        return old[0].set_(storage, description["offset"], description["shape"], description["stride"])
    if around.get("view") and storage.nbytes():
        whole = torch.empty(0, dtype=tensor.dtype, device=storage.device)
        whole.set_(storage, 0, (storage.nbytes() // tensor.element_size(),), (1,))
        tensor = whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    if "version" in around:
        torch._C._autograd._unsafe_set_version_counter((tensor,), (around["version"],))
    if "gradient" in around and _takes_gradients(tensor):
        tensor = GRADIENTS[around["gradient"]](tensor)
    return tensor


def called(around: Mapping[str, Any], function: Callable[[], Any]) -> Callable[[], Any]:
    """Return what calls a function in the circumstances; it returns and raises what the function does."""
    if "collect" in around:
        gc.collect()
    if "pause" in around:
        time.sleep(around["pause"] * 1e-3)
    inner = _deep(around["depth"], function) if "depth" in around else function
    if "mode" in around or "default" in around:
        moded = inner
        inner = lambda: _in_modes(around, moded)  # noqa: E731
    return inner


class Room:
    """Tensors of the same kind as arguments, some of which make room for these: what is made next has drawn ids."""

    def __init__(self) -> None:
        self._kept: list[Any] = [torch.empty(0) for _ in range(IDS)]
        self._gone: list[int] = []

    def make(self, ids: int) -> None:
        """Make room for a few objects, the first of which is chosen by a number."""
        for place in self._gone:
            self._kept[place] = torch.empty(0)
        self._gone = [(ids + n * APART) % IDS for n in range(ROOM)]
        for place in self._gone:
            self._kept[place] = None


def without_gradients(tree: Any) -> Any:
    """Return an encoded tree without what it says of gradients, which follow from those of the arguments."""
    if isinstance(tree, list):
        return [without_gradients(item) for item in tree]
    if isinstance(tree, dict):
        return {key: without_gradients(item) for key, item in tree.items() if key != "requires_grad"}
    return tree


def _in_modes(around: Mapping[str, Any], function: Callable[[], Any]) -> Any:
    with _default(around.get("default")), MODES.get(around.get("mode", ""), contextlib.nullcontext)():
        return function()


def _deep(frames: int, function: Callable[[], Any]) -> Callable[[], Any]:
    def below(left: int) -> Any:
        return below(left - 1) if left else function()

    return lambda: below(frames)


@contextlib.contextmanager
def _default(name: str | None) -> Iterator[None]:
    before = torch.get_default_dtype()
    if name is not None:
        torch.set_default_dtype(getattr(torch, name))
    try:
        yield
    finally:
        if name is not None:
            torch.set_default_dtype(before)


def _takes_gradients(tensor: torch.Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _under(default: str, reference: Callable[..., Any], arguments: tuple[Any, Any]) -> Any:
    with _default(default):
        return _metadata(reference, arguments)


def _metadata(reference: Callable[..., Any], arguments: tuple[Any, Any], gradient: str = "") -> Any:
    """What PyTorch returns for a call, and leaves of its arguments, without contents; None where it does not say."""
    storages = _codec.Storages()
    around = {"gradient": gradient} if gradient else {}
    try:
        tree = _codec.encode(list(arguments), storages)
        empty: list[Any] = [torch.UntypedStorage(size, device="meta") for size in storages.sizes()]
        args, kwargs = _codec.decode(tree, lambda described: tensor_on(empty, described, around), "meta")
        result = reference(*args, **kwargs)
        told = _codec.encode([result, args, kwargs], _codec.Storages())
    except Exception:  # whatever a reference raises that wants to see values
        return None
    # What returns its own argument would return a Parameter, which is no plain tensor.
    plain = all(type(tensor) is torch.Tensor for _, tensor in _codec.tensors_of([result], ""))
    return without_gradients(told) if plain else None
