"""OpInfo's samples as cases: grouped by operator name, seeded so that each case has the same bits in every process.

This module imports torch and OpInfo (some seconds in a cold process); only workers and the survey need it.
"""

from __future__ import annotations

import functools
import hashlib
import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from bringup.errors import EnvironmentFault
from bringup.suites._opinfo_calls import Call, canonical_call
from bringup.suites._opinfo_import import import_opinfo
from bringup.suites._opinfo_numbers import portable_numbers


class SuiteFault(EnvironmentFault):
    """The installed torch's OpInfo does not behave as this suite needs."""


@functools.cache
def entries() -> dict[str, tuple[Any, ...]]:
    """Return op_db's entries by operator name: the variants of one name, in op_db order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        op_db = import_opinfo().op_db
    grouped: dict[str, list[Any]] = {}
    for entry in op_db:
        grouped.setdefault(entry.name, []).append(entry)
    return {name: tuple(group) for name, group in grouped.items()}


@dataclass(frozen=True)
class Sample:
    """One sample of one variant, as the operator is called by its documented signature."""

    variant: str
    entry: Any  # the OpInfo
    call: Call
    output_hook: Any  # OpInfo's output_process_fn_grad, None when it is the identity


# What OpInfo seeds with outside of a test case, before every single sample.
_OPINFO_SEED = 1234
# Tries to find a seed that yields as many samples as seed 0 does (needed by 4 operators; 40 have always sufficed).
_MAX_TRIES = 40


def seed_of(seed: int, operator: str, variant: str, dtype: str, attempt: int = 0) -> int:
    """Return the 63-bit seed of one variant in one dtype, independent of everything generated before."""
    digest = hashlib.sha256(f"opinfo\0{seed}\0{operator}\0{variant}\0{dtype}\0{attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def reseed(seed: int) -> None:
    """Seed the three global generators that OpInfo draws from."""
    torch.default_generator.manual_seed(seed)  # torch.manual_seed would also visit every accelerator, every time
    numpy.random.seed(seed & 0xFFFFFFFF)
    random.seed(seed)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run a block with all three generators seeded and torch's process-wide defaults pinned; restore all after it.

    Besides the generators, two settings of the process reach the samples: the default dtype and device, and the
    number of threads (a reduction inside a generator, such as `a @ a.mT`, may round differently). Random numbers have
    the same bits under every instruction set.
    """
    states = torch.get_rng_state(), numpy.random.get_state(), random.getstate()
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    reseed(seed)
    torch.set_default_dtype(torch.float32)
    if threads != 1:
        torch.set_num_threads(1)
    try:
        # The mode costs every torch call in the block, so it is entered only where somebody has set a default.
        on_cpu = nullcontext() if torch.get_default_device().type == "cpu" else torch.device("cpu")
        with on_cpu, portable_numbers():
            yield
    finally:
        if threads != 1:
            torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
        torch.set_rng_state(states[0])
        numpy.random.set_state(states[1])
        random.setstate(states[2])


def samples(operator: str, dtype: str, seed: int = 0) -> list[Sample]:
    """Generate the samples of all variants of `operator` in `dtype`, in op_db order.

    Seed 0 draws what PyTorch's own tests draw: OpInfo's constant seed, set anew before every sample. Any other seed
    is hashed with operator, variant and dtype, and set once a variant, so that no two samples share values.
    A few generators decide by their random values how many samples they yield (max_unpool*'s gradient variants,
    masked.var, masked.std); for those the hash is advanced until the number is that of seed 0, so that a case index
    exists under every seed. Where seed 0 yields an unusual number, samples of several draws follow one another.
    """
    found: list[Sample] = []
    for entry in entries()[operator]:
        if getattr(torch, dtype) in entry.supported_dtypes("cpu"):
            variant = entry.variant_test_name
            for sample in _draw(entry, dtype, seed):
                hook = sample.output_process_fn_grad
                call = canonical_call(operator, variant, entry.op, sample.input, sample.args, sample.kwargs)
                identity = hook.__qualname__.startswith("SampleInput.__init__")
                found.append(Sample(variant, entry, call, None if identity else hook))
    return found


# Generators whose number of samples depends on the values drawn.
_RANDOM_COUNT = frozenset({
    "nn.functional.max_unpool1d", "nn.functional.max_unpool2d", "nn.functional.max_unpool3d",
    "masked.var", "masked.std",
})  # fmt: skip


# Generators that loop over a set of strings, so that PYTHONHASHSEED decides the order: operator -> (keyword, size of
# the set). The tensors drawn do not depend on the keyword, so its values are dealt out anew, in sorted order.
_HASH_ORDERED = {"meshgrid": ("indexing", 2)}


def _draw(entry: Any, dtype: str, seed: int) -> list[Any]:
    if seed == 0:
        return _draw_once(entry, dtype, _OPINFO_SEED, every_sample=True)
    key = seed, entry.name, entry.variant_test_name, dtype
    drawn = _draw_once(entry, dtype, seed_of(*key), every_sample=False)
    if entry.name not in _RANDOM_COUNT:
        return drawn
    wanted = len(_draw(entry, dtype, 0))
    draws = [drawn]
    while len(draws) < _MAX_TRIES and len(draws[-1]) != wanted:
        draws.append(_draw_once(entry, dtype, seed_of(*key, len(draws)), every_sample=False))
    if len(draws[-1]) == wanted:
        return draws[-1]
    together = [sample for one in draws for sample in one]
    if len(together) < wanted:
        raise SuiteFault(f"{entry.name} in {dtype}: {_MAX_TRIES} seeds near {seed} yield no {wanted} samples")
    return together[:wanted]


def _draw_once(entry: Any, dtype: str, seed: int, *, every_sample: bool) -> list[Any]:
    with seeded(seed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Not entry.sample_inputs(): that one obeys an environment variable which selects a single sample.
        iterator = iter(entry.sample_inputs_func(entry, "cpu", getattr(torch, dtype), False))
        drawn: list[Any] = []
        while True:
            if every_sample:
                reseed(seed)
            sample = next(iterator, None)
            if sample is None:
                break
            drawn.append(sample)
    if entry.name in _HASH_ORDERED:
        keyword, size = _HASH_ORDERED[entry.name]
        for start in range(0, len(drawn), size):
            group = drawn[start : start + size]
            for sample, value in zip(group, sorted(s.kwargs[keyword] for s in group), strict=True):
                sample.kwargs = {**sample.kwargs, keyword: value}
    return drawn
