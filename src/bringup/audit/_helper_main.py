"""The helper process: reads questions about an operator's cases from stdin, answers each with one JSON line.

A process of its own, so that the commands import no torch and a crash in a reference costs one operator.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any

import torch

from bringup.audit._trivial import Expected, Tally, expected_of, judge, passes
from bringup.errors import BringupError, ConfigError
from bringup.judge._codec import tensors_of
from bringup.suites import CaseInputs, Suite, get_suite

MOST_ADDED = 8  # cases of one seed for one dtype
SEEDS = 4  # of the audit that are tried; what their cases do not refuse needs a person


def judge_gate(suite: Suite, name: str) -> dict[str, Any]:
    """Judge the trivial candidates on every dtype of an operator's gate."""
    began = time.monotonic()
    dtypes = {}
    for dtype in suite.operator(name).dtypes:
        tally = judge(suite.materialise(name, dtype))
        dtypes[dtype] = {"cases": tally.cases, "skipped": tally.skipped, "killed_by": tally.killed_by}
    return {"operator": name, "dtypes": dtypes, "seconds": round(time.monotonic() - began, 3)}


def choose(suite: Suite, name: str, refuse: dict[str, list[str]]) -> dict[str, Any]:
    """Choose, by dtype, the fewest and plainest audit cases that refuse the given candidates."""
    if suite.audit is None:
        raise ConfigError(f"suite {suite.name}", "has no audit", "there are no cases to choose from")
    audit = get_suite(suite.audit)
    chosen, left = [], {}
    for dtype, wanted in refuse.items():
        first = _first(suite, name, dtype)
        if first is None:
            left[dtype] = wanted
            continue
        rest = list(wanted)
        for seed in range(SEEDS):  # other seeds draw other samples and shapes
            if rest:
                found, rest = cover(audit.materialise(name, dtype, seed), first, rest)
                chosen += [
                    {
                        "operator": name,
                        "dtype": dtype,
                        "key": case.notes["key"],
                        "seed": case.notes["seed"],
                        "kills": kills,
                    }
                    for case, kills in found
                ]
        if rest:
            left[dtype] = rest
    return {"operator": name, "chosen": chosen, "left": left}


def _first(suite: Suite, name: str, dtype: str) -> Expected | None:
    tally = Tally()
    for inputs in suite.materialise(name, dtype):
        tally.add(inputs)
        if tally.first is not None:
            break
    return tally.first


def cover(
    cases: Sequence[CaseInputs], first: Expected, wanted: Sequence[str]
) -> tuple[list[tuple[CaseInputs, list[str]]], list[str]]:
    """Return a greedy choice of cases, each with the candidates that it refuses, and the candidates that none refuses.

    Of cases that refuse equally many the one of the plainest family is taken, then the smallest: what a model is
    asked to repair should be about the values that the gate lacked, not about a corner of floating point.
    """
    useful: list[tuple[CaseInputs, int, set[str]]] = []
    for inputs in cases:
        found = None if inputs.raises or inputs.requires else expected_of(inputs)
        if found is None:
            continue
        kills = {name for name in wanted if not passes(name, inputs, found, first.expected)}
        if not all(t.numel() for _, t in tensors_of(found.expected, "")):
            kills &= {"constant-shape"}  # an empty result refuses by its shape alone
        if kills:
            elements = sum(tensor.numel() for _, tensor in tensors_of(found.expected, "")) + sum(
                tensor.numel() for tensor in found.tensors
            )
            useful.append((inputs, elements, kills))
    chosen: list[tuple[CaseInputs, list[str]]] = []
    rest = set(wanted)
    while rest and useful and len(chosen) < MOST_ADDED:
        inputs, _, kills = max(
            useful, key=lambda item: (len(item[2] & rest), -_unusualness(item[0]), -item[1], _negative(item[0]))
        )
        if not kills & rest:
            break
        chosen.append((inputs, [name for name in wanted if name in kills & rest]))
        rest -= kills
    return chosen, [name for name in wanted if name in rest]


def locate(suite: Suite, name: str, wanted: dict[str, list[int]], seed: int) -> dict[str, Any]:
    """Return key and seed of cases of the audit that are known by dtype and index."""
    found = []
    for dtype, indices in wanted.items():
        cases = {inputs.case.index: inputs for inputs in suite.materialise(name, dtype, seed)}
        for index in indices:
            if index in cases:
                notes = cases[index].notes
                found.append({"dtype": dtype, "index": index, "key": notes["key"], "seed": notes["seed"]})
    return {"operator": name, "found": found}


# Families of the audit by how close they are to what a user would call with first, and marks of the far ones.
PLAIN = ("reference", "factors", "options", "values", "sizes", "layout", "promotion", "empty")
CORNERS = ("nan", "infinit", "subnormal", "largest")


def _unusualness(inputs: CaseInputs) -> int:
    key = str(inputs.notes["key"])
    family = key.partition("/")[0]
    rank = PLAIN.index(family) if family in PLAIN else len(PLAIN)
    return rank + 10 * any(word in key for word in CORNERS)


def _negative(inputs: CaseInputs) -> int:
    return -inputs.case.index


def main() -> None:
    """Serve until stdin ends; the first argument names the suite."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    suite = get_suite(sys.argv[1])
    out = sys.stdout
    for line in sys.stdin:
        question = json.loads(line)
        name = question["operator"]
        with contextlib.redirect_stdout(sys.stderr):
            try:
                if "refuse" in question:
                    answer = choose(suite, name, question["refuse"])
                elif "locate" in question:
                    answer = locate(suite, name, question["locate"], question["seed"])
                else:
                    answer = judge_gate(suite, name)
            except BringupError as error:
                answer = {"operator": name, "error": str(error)}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
