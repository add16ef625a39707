"""Libraries of kernels written by hand, with the evidence that a judge would leave."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bringup.candidate import Candidate, digest
from bringup.judge.evidence import Bundle, Evidence
from bringup.library import Library
from bringup.library.adding import add_judged
from bringup.targets import get_target

TARGET = "vpe:permissive"


def bundle(operator: str, source: str, target: str = TARGET, **changes: Any) -> Bundle:
    """What a judge's passed verdict would leave."""
    source = source.strip("\n") + "\n"
    facts = get_target(target).facts()
    evidence = Evidence(
        candidate=Candidate(source=source).digest,
        operator=operator,
        suite="aten",
        target=target,
        chip=digest(json.dumps(facts, sort_keys=True, default=str)),
        versions={"torch": version("torch"), "triton": version("triton")},
        kind="passed",
        cases_total=7,
        passed_by_dtype={"float32": 7},
    )
    return Bundle(evidence=evidence.model_copy(update=changes), source=source)


def make_library(path: Path, kernels: dict[str, str], target: str = TARGET) -> Library:
    library = Library.create(path, target)
    for overload, source in kernels.items():
        add_judged(library, bundle(overload, source, target), origin="a test")
    return library


def dense(*numbers: float) -> list[float]:
    """Numbers next to these with as many digits as a float can have: of few digits none is left open."""
    return [number * (1 + 1e-10 * math.pi) for number in numbers]
