"""Triton's random numbers on the host: Philox 4x32 with ten rounds, and the numbers that `tl.rand` and `tl.randn` make.

Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2, 3* (2011), define the words; the key is the
seed, the counter an offset.
"""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDS = 10
_A, _B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_A, _KEY_B = 0x9E3779B9, 0xBB67AE85
_WORD, _SHIFT = np.uint64(0xFFFFFFFF), np.uint64(32)
_SCALE = np.float32(4.6566127342e-10)  # of `tl.rand`: the largest word becomes the largest number below 1
LEAST = np.float32(1e-7)  # what `tl.randn` takes the logarithm of, at least
Words = Any  # uint64[n] with 32 bits each


def words(seed: int, offsets: Words) -> tuple[Words, Words, Words, Words]:
    """Return the four words of each offset: uint64[n] with 32 bits each. `tl.randint` gives the first.

    Args:
        seed: 64 bits.
        offsets: integers [n], of which 32 bits count.
    """
    zeros = np.zeros(len(offsets), np.uint64)
    first, second, third, fourth = np.asarray(offsets).astype(np.uint64) & _WORD, zeros, zeros, zeros
    low, high = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(ROUNDS):
        one, other = _A * first, _B * third
        first, second = (other >> _SHIFT) ^ second ^ np.uint64(low), other & _WORD
        third, fourth = (one >> _SHIFT) ^ fourth ^ np.uint64(high), one & _WORD
        low, high = low + _KEY_A & 0xFFFFFFFF, high + _KEY_B & 0xFFFFFFFF
    return first, second, third, fourth


def uniform(word: Words) -> Any:
    """Return the float32 number in [0, 1) that `tl.rand` makes of a word."""
    signed = word.astype(np.uint32).view(np.int32)
    return np.where(signed < 0, -1 - signed, signed).astype(np.float32) * _SCALE


def wide(seed: int, offsets: Words) -> tuple[Words, Words]:
    """Return the upper and lower 32 bits of 64 random ones: the first words of offsets 2 * i and 2 * i + 1."""
    twice = np.asarray(offsets).astype(np.uint64) * np.uint64(2)
    return words(seed, twice)[0], words(seed, twice + np.uint64(1))[0]


def scaled(high: Words, low: Words, span: int) -> Words:
    """Return the upper 64 of the 128 bits of a product of 64 bits, given as two words, and a number below 2**64."""
    upper, lower = np.uint64(span >> 32), np.uint64(span & 0xFFFFFFFF)
    middle = high * lower + ((low * lower) >> _SHIFT)
    rest = low * upper + (middle & _WORD)
    return high * upper + (middle >> _SHIFT) + (rest >> _SHIFT)
