"""The `captured` suite: the kernels that a model needs, with the calls that it makes as cases.

`captured:FILE` takes a file that `bringup capture` or `bringup.capture` wrote. docs/captured.md says more.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from bringup.errors import ConfigError
from bringup.operators import DocNode
from bringup.suites._aten_facts import AtenSurvey, Overload, read_aten
from bringup.suites._base import CaseInputs, elements_of
from bringup.suites._cache import Progress, cached, keep, run_module, torch_build, torch_version
from bringup.suites._digest import source_digest
from bringup.suites._opinfo_source import OpInfoSource
from bringup.suites.aten import WORDS, OverloadSuite, load_aten, with_public
from bringup.suites.captured._file import (
    Capture,
    CaptureError,
    copy_data,
    data_folder,
    merged,
    only,
    parse_capture,
    read_capture,
    read_text,
    require_torch,
    write_capture,
)

__all__ = [
    "Capture",
    "CaptureError",
    "CapturedSuite",
    "copy_data",
    "data_folder",
    "merged",
    "only",
    "read_capture",
    "require_torch",
    "write_capture",
]

MOST_TIMED = 8
"""Calls that a search times."""
LOWER_MODULE = "bringup.suites.captured._lower"


class CapturedSuite(OverloadSuite):
    """Overloads by name, as in the suite `aten`; the cases are a program's calls.

    Listing imports no torch; what a bare device is asked for is worked out by a helper process once, and cached.
    """

    name = "captured"
    audit: str | None = "aten-audit"  # the overload's other calls: what is fitted to a program's alone is not trusted
    dtypes = ("float32", "bfloat16", "float16", "int32", "int64", "bool", "uint8", "int8", "int16")
    words = WORDS.model_copy(
        update={
            "right": (
                *WORDS.right[:-1],
                "The tests are calls that a program has made, forward, backward and in its optimiser: no argument is "
                "invalid, and autograd is not the kernel's business. An audit that is not shown asks for other calls "
                "of the overload, too, in all sizes, dtypes, layouts and values that it is documented for.",
            )
        }
    )

    def __init__(self, progress: Progress | None = None, options: str = "") -> None:
        """`options`: the file's path. Raises ConfigError without one, and CaptureError for what it cannot use."""
        if not options:
            raise ConfigError("suite captured", "names no file", "name it `captured:FILE`; see `bringup capture`")
        self.path = Path(options).expanduser()
        self.name = f"captured:{options}"
        self._progress = progress
        self._text = read_text(self.path)
        self.capture = parse_capture(self._text, str(self.path))
        require_torch(self.capture, str(self.path), torch_version())
        if not self.capture.calls:
            raise CaptureError(f"{self.path}: no call was captured; nothing can be judged on it")

    @functools.cached_property
    def survey(self) -> AtenSurvey:  # type: ignore[override]
        """What a bare device is asked for when the captured calls are made on it."""
        name = f"captured-{torch_build()}-{self.digest()[:24]}.json.gz"
        data = cached(name)
        survey = read_aten(data, name) if data is not None else None
        if survey is None:
            data = run_module(LOWER_MODULE, (str(self.path.resolve()),), self._progress)
            if data.startswith(b"{"):
                raise CaptureError(json.loads(data)["error"])
            keep(name, data)
            survey = read_aten(data, name)
        assert survey is not None  # written by this code, so of this format
        known = {one.name: one for one in load_aten(self._progress).overloads}
        return survey.model_copy(update={"overloads": tuple(_with_parents(one, known) for one in survey.overloads)})

    def funnel(self) -> list[tuple[str, int, int]]:
        """Return (what counts, overloads, different calls): as captured, on a bare device, and as cases."""
        calls, every = self.capture.calls, list(self._operators.values())
        left = [op for op in every if op.exclusion is None]
        return [
            ("captured", len({call.overload for call in calls}), len(calls)),
            ("what a bare device is asked for", len(every), sum(sum(o.counts.values()) for o in self.survey.overloads)),
            ("random operators, and more cases than 64 a dtype", len(left), sum(op.cases_total for op in left)),
        ]

    def docs(self, name: str) -> list[DocNode]:
        """Return the overload's schema, formulas and calls of the program, then its public operator's docstrings."""
        from bringup.suites._aten_docs import load_aten_docs

        self.operator(name)
        own = load_aten_docs(self._progress, self.overloads[name])
        public = self.parent(name).public
        if not public:
            return [DocNode(name=name, text=own)]
        return with_public(name, own, public, OpInfoSource(self._progress).docs(public))

    def timed(self, operator: str, dtypes: Sequence[str], seed: int = 0) -> dict[str, dict[int, float]]:
        """Return the calls that take most of the program's time, as far as elements times count tell.

        Their weights are their shares. Builds the cases (imports torch).
        """
        self.operator(operator)
        costs: dict[tuple[str, int], float] = {}
        for dtype in dtypes:
            times = self.overloads[operator].times.get(dtype, ())
            for inputs in self.materialise(operator, dtype, seed):
                elements = elements_of((inputs.args, inputs.kwargs))
                if elements:
                    costs[dtype, inputs.case.index] = float(elements * times[inputs.case.index])
        return _heaviest(costs)

    def digest(self) -> str:
        """Return the digest of the file and the code that rebuilds its calls, wherever the file lies."""
        return source_digest("captured", hashlib.sha256(self._text.encode()).hexdigest())

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of an overload in one dtype: same arguments, same bits, in every process.

        The captured calls are made again on the device `vpe` of this process with the CPU behind, with values like
        those captured, or these themselves where they were kept. Imports torch. Raises UnknownOperator, and
        CaptureError for data that is missing or damaged; a dtype without cases gives an empty list.
        """
        if not self.operator(operator).case_counts.get(dtype):
            return []
        from bringup.suites.captured._cases import cases

        return cases(self.capture, self.path, self.overloads[operator], self.parent(operator), dtype, seed)


def _heaviest(costs: dict[tuple[str, int], float]) -> dict[str, dict[int, float]]:
    """Return the cases that cost most, with their shares of what all of them cost."""
    heaviest = set(sorted(costs, key=lambda case: -costs[case])[:MOST_TIMED])
    total = sum(costs[case] for case in heaviest)
    found: dict[str, dict[int, float]] = {}
    for (dtype, index), cost in costs.items():
        if (dtype, index) in heaviest:
            found.setdefault(dtype, {})[index] = cost / total
    return found


def _with_parents(facts: Overload, known: dict[str, Overload]) -> Overload:
    """Return the facts with what the suite `aten` knows of the public operators behind the overload."""
    other = known.get(facts.name)
    if other is None:
        return facts.model_copy(update={"parents": {}})
    return facts.model_copy(update={"parents": other.parents, "alone_of": other.alone_of})
