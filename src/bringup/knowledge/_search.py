"""Plain text search: Okapi BM25 over titles, paths and bodies (Robertson and Zaragoza, "The Probabilistic Relevance
Framework: BM25 and Beyond", 2009, equation 3.15, with the usual k1 = 1.2 and b = 0.75)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from bringup.knowledge._files import KnowledgeFile

K1, B = 1.2, 0.75
TITLE_WEIGHT = 3  # a word of the title counts as so many of the body
_WORD = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")
_COMMON = frozenset(
    ("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it", "its", "of", "on", "one",
     "or", "that", "the", "this", "to", "with", "not")
)  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text; `tl.dot_scaled` gives `tl`, `dot_scaled`, `dot`, `scaled`."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        found += [word, *(word.split("_") if "_" in word else ())]
    return [word for word in found if word not in _COMMON]


def scores(found: Sequence[KnowledgeFile], query: str) -> list[float]:
    """Return the relevance of each file to a query, 0 where no word of it occurs."""
    wanted = set(words(query))
    if not wanted or not found:
        return [0.0] * len(found)
    counts = [Counter(_all_words(file)) for file in found]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / len(lengths)
    result = [0.0] * len(found)
    for word in sorted(wanted):
        holding = sum(word in count for count in counts)
        if not holding:
            continue
        rarity = math.log(1 + (len(found) - holding + 0.5) / (holding + 0.5))
        for n, count in enumerate(counts):
            times = count[word]
            if times:
                result[n] += rarity * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[n] / mean))
    return result


def _all_words(file: KnowledgeFile) -> list[str]:
    front = file.front
    named = " ".join((file.path, *front.operators, *front.features, *front.kinds, *front.devices, *front.platforms))
    return words(front.title) * TITLE_WEIGHT + words(named) + words(file.body)
