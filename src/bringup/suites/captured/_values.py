"""Values by statistics: what those of a tensor are like, and others that are like them. Imports torch.

Drawn from NumPy's PCG64 with additions, comparisons and powers of two alone, so that they have the same bits on every
host.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bringup.suites.captured._file import Call, CaptureError, Tensor, Values, data_folder, end_of

_HEAVY = 4.0  # excess kurtosis above which values are spread over magnitudes (a normal distribution has 0)
_FLAT = -0.8  # and below which they are uniform (a uniform distribution has -1.2)
_MAX_NORMALS = 12  # uniform numbers that make one of a normal distribution: their sum has variance 1


def describe(tensor: torch.Tensor) -> Values:
    """Return the statistics of a tensor of numbers on any device."""
    with torch.no_grad():
        if tensor.dtype.is_floating_point:
            return _of_floats(tensor)
        flat = tensor.detach().reshape(-1).to("cpu", torch.int64) if tensor.numel() else torch.empty(0)
        count = flat.numel()
        if not count:
            return Values(kind="integers")
        steps = flat[1:] - flat[:-1]
        ordered = bool((steps >= 0).all())
        distinct = int(flat.unique().numel()) == count
        return Values(
            kind="integers",
            low=int(flat.min()),
            high=int(flat.max()),
            zeros=float((flat == 0).sum()) / count,
            ascending=ordered and count > 1,
            distinct=distinct and count > 1,
        )


def ordinary(tensor: torch.Tensor) -> Values:
    """Return statistics of ordinary values of a tensor's dtype, whatever its own are."""
    if tensor.dtype.is_floating_point:
        return Values(kind="normal", low=-4.0, high=4.0, spread=1.0)
    return Values(kind="integers", low=0, high=1 if tensor.dtype is torch.bool else 100)


def _of_floats(tensor: torch.Tensor) -> Values:
    flat = tensor.detach().reshape(-1).to("cpu", torch.float64)
    count = flat.numel()
    finite = flat[torch.isfinite(flat)]
    if not finite.numel():
        shares = _specials(flat, count) if count else {}
        return Values(kind="constant", **shares)
    shares = {**_specials(flat, count), "zeros": float((flat == 0).sum()) / count}
    low, high = float(finite.min()), float(finite.max())
    rest = finite[finite != 0]
    if not rest.numel() or float(rest.min()) == float(rest.max()):
        value = float(rest[0]) if rest.numel() else 0.0
        return Values(kind="constant", low=value, high=value, mean=value, **shares)
    mean, spread = float(rest.mean()), float(rest.std(correction=0))
    kurtosis = float(((rest - mean) / spread).pow(4).mean()) - 3 if spread else 0.0
    if kurtosis > _HEAVY:
        magnitudes = rest.abs().log2()
        return Values(
            kind="log",
            low=low,
            high=high,
            mean=float(magnitudes.mean()),
            spread=float(magnitudes.std(correction=0)),
            negative=float((rest < 0).sum()) / rest.numel(),
            **shares,
        )
    kind: Any = "uniform" if kurtosis < _FLAT else "normal"
    return Values(kind=kind, low=low, high=high, mean=mean, spread=spread, **shares)


def _specials(flat: torch.Tensor, count: int) -> dict[str, float]:
    found = {"nan": flat.isnan(), "inf": flat == float("inf"), "neginf": flat == float("-inf")}
    return {name: float(where.sum()) / count for name, where in found.items()}


def _uniform(bits: np.random.PCG64, count: int) -> NDArray[np.float64]:
    """Numbers in [0, 1)."""
    raw = np.atleast_1d(bits.random_raw(count)).astype(np.uint64)
    return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _normal(bits: np.random.PCG64, count: int) -> NDArray[np.float64]:
    """Mean 0, variance 1, no farther than 6 from it."""
    total = np.zeros(count)
    for _ in range(_MAX_NORMALS):
        total += _uniform(bits, count)
    return total - _MAX_NORMALS / 2


def draw(values: Values, count: int, seed: int) -> NDArray[Any]:
    """Return so many values that are like those described: float64, or int64 for integers."""
    bits = np.random.PCG64(seed)
    if values.kind == "integers":
        return _integers(values, count, bits)
    if values.kind == "constant":
        drawn = np.full(count, float(values.low))
    elif values.kind == "uniform":
        drawn = values.low + (values.high - values.low) * _uniform(bits, count)
    elif values.kind == "normal":
        drawn = values.mean + values.spread * _normal(bits, count)
    else:
        power = values.mean + values.spread * _normal(bits, count)
        whole = np.floor(power)
        drawn = np.ldexp(1 + (power - whole), whole.astype(np.int64).clip(-1074, 1023))
        drawn = np.where(_uniform(bits, count) < values.negative, -drawn, drawn)
    if values.kind != "constant":
        drawn = drawn.clip(values.low, values.high)
    choice = _uniform(bits, count)
    threshold = 0.0
    for share, value in (
        (values.nan, np.nan), (values.inf, np.inf), (values.neginf, -np.inf), (values.zeros, 0.0),
    ):  # fmt: skip
        drawn = np.where((choice >= threshold) & (choice < threshold + share), value, drawn)
        threshold += share
    return drawn


def _integers(values: Values, count: int, bits: np.random.PCG64) -> NDArray[Any]:
    low, high = int(values.low), int(values.high)
    size = high - low + 1
    if values.distinct and count <= size <= 64 * count + 64:
        drawn = low + np.argsort(_uniform(bits, size), kind="stable")[:count].astype(np.int64)
    else:
        drawn = np.array(low + np.floor(_uniform(bits, count) * float(size)), dtype=np.float64)
        drawn = drawn.clip(low, high).astype(np.int64)
        if low <= 0 <= high and not values.distinct:
            choice = _uniform(bits, count)
            drawn = np.where((drawn == 0) & (choice >= values.zeros), high if high else low, drawn)
            drawn = np.where(choice < values.zeros, 0, drawn)
    if values.ascending and count:
        drawn = np.sort(drawn)
        drawn[0], drawn[-1] = low, high
    return drawn


def rebuild(call: Call, number: int, path: Path, seed: int) -> list[torch.Tensor]:
    """Return a call's tensors on the host: the real data where it was kept, else values like them.

    Under another seed than 0 floating-point values are drawn where the real data is there too, so that a call can be
    made with others; integers, which may be indices, stay. Raises CaptureError for data that is missing or damaged.
    """
    storages = []
    for storage in call.storages:
        memory = bytearray(storage.nbytes)
        if storage.data:
            memory = _data(data_folder(path) / storage.data, storage.data, storage.nbytes)
        whole = torch.frombuffer(memory, dtype=torch.uint8) if memory else torch.empty(0, dtype=torch.uint8)
        storages.append(whole.untyped_storage())
    made = []
    for place, facts in enumerate(call.tensors):
        dtype = getattr(torch, facts.dtype)
        storage = storages[facts.storage]
        empty = torch.empty(0, dtype=dtype)
        real = bool(call.storages[facts.storage].data)
        if end_of(facts) and (not real or (seed and dtype.is_floating_point)):
            count = end_of(facts) - facts.offset
            text = f"captured\0{seed}\0{call.overload}\0{number}\0{place}"
            own = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
            drawn = torch.from_numpy(_placed(facts, count, own)).to(dtype)
            empty.set_(storage, facts.offset, (count,), (1,)).copy_(drawn)
        made.append(torch.empty(0, dtype=dtype).set_(storage, facts.offset, facts.shape, facts.strides))
    return made


def _placed(facts: Tensor, count: int, seed: int) -> NDArray[Any]:
    """Return values for the memory from a tensor's first element to its last."""
    drawn = draw(facts.values, count, seed)
    return np.ascontiguousarray(drawn)


def _data(file: Path, digest: str, nbytes: int) -> bytearray:
    try:
        data = bytearray(file.read_bytes())
    except OSError as error:
        raise CaptureError(
            f"{file}: the real data of the capture cannot be read: {error.strerror}; it belongs beside the file"
        ) from error
    if len(data) != nbytes or hashlib.sha256(data).hexdigest() != digest:
        raise CaptureError(f"{file}: the real data of the capture is damaged; capture the program again")
    return data
