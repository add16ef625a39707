"""How many tokens of repairs edits would save: the recorded repairs, each as the edits between its two modules.

Usage: python benchmarks/patches.py

For each reply with a module after another one in its dialog: the tokens of the module that was sent, and of the edits
that make it of the one before, each with as many lines around it as make it stand there once. A model would write the
shorter of the two; the rest of a reply (what it says around the module) is not counted.
"""

from __future__ import annotations

import difflib
import statistics

from bringup.candidate import Candidate, parse_reply
from bringup.clients.recording import read_recordings, shipped_sets
from bringup.patch import Edit, apply_edits
from bringup.tokens import estimate_tokens


def edits_between(before: list[str], after: list[str]) -> list[Edit]:
    """Return edits that make one text of another."""
    changed = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    ranges = [[i, j, k, m] for tag, i, j, k, m in changed if tag != "equal"]
    # Grow each until what it looks for stands there once; those that meet become one.
    grown: list[list[int]] = []
    for i, j, k, m in ranges:
        while not any(before[i:j]) or sum(before[n : n + j - i] == before[i:j] for n in range(len(before))) > 1:
            if i > 0:
                i, k = i - 1, k - 1
            if j < len(before):
                j, m = j + 1, m + 1
            if i == 0 and j == len(before):
                break
        if grown and i <= grown[-1][1]:
            first = grown.pop()
            i, k = min(first[0], i), min(first[2], k)
        grown.append([i, j, k, m])
    return [Edit(tuple(before[i:j]), tuple(after[k:m])) for i, j, k, m in grown]


def written(edits: list[Edit]) -> str:
    """Return edits as a reply has them."""
    parts = ["\n".join(["<<<<<<< SEARCH", *e.search, "=======", *e.replace, ">>>>>>> REPLACE"]) for e in edits]
    return "```patch\n" + "\n".join(parts) + "\n```\n"


def main() -> None:
    """Print the figures."""
    pairs: list[tuple[int, int]] = []
    for path in shipped_sets().values():
        base: tuple[str, int, str] | None = None
        for record in read_recordings(path):
            found = parse_reply(record.text, base[2] if base else None) if record.role == "generate" else None
            if not isinstance(found, Candidate):
                continue
            if base is not None and base[:2] == (record.operator, record.attempt) and base[2] != found.source:
                before = base[2].split("\n")
                edits = edits_between(before, found.source.split("\n"))
                made = apply_edits(base[2], edits)
                if made == found.source:  # the rest overlap after growing: a model would send the module
                    pairs.append((estimate_tokens(found.source), estimate_tokens(written(edits))))
                else:
                    pairs.append((estimate_tokens(found.source),) * 2)
            base = (record.operator, record.attempt, found.source)
    whole, shorter = sum(w for w, _ in pairs), sum(min(w, e) for w, e in pairs)
    shares = [min(w, e) / w for w, e in pairs]
    print(
        f"{len(pairs)} repairs in the shipped recordings: {whole} tokens as modules, {shorter} with edits where shorter"
    )
    print(f"that is {100 * shorter / whole:.0f} %; median of a repair {100 * statistics.median(shares):.0f} %")
    print(f"edits are shorter in {sum(e < w for w, e in pairs)}")


if __name__ == "__main__":
    main()
