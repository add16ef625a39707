"""Which operators' gates a trivial candidate passes: the table, its cache, and the cases that would close a gate.

No torch here: the work is done in helper processes, whose answers are kept in the cache folder as they come, so that
an interrupted table goes on where it stopped.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from bringup.audit.definition import definition_of
from bringup.audit.helper import ask
from bringup.operators import Operator
from bringup.suites import additions_of, cache_directory, torch_build
from bringup.verdict import Record

# The trivial candidates, in the order of the table (their code is in `_trivial`).
TRIVIAL: Mapping[str, str] = {
    "zeros": "zeros of the right shape and dtype",
    "ones": "ones",
    "minus-one": "minus one (unsigned: the largest number; bool: True)",
    "nan": "NaN (integers: 0)",
    "input": "the first tensor among the arguments, cast to the output's dtype",
    "first-answer": "the right answer to the gate's first case, whatever the input",
    "constant-shape": "right values, but always in the shape of the first case's output",
}
Progress = Callable[[int, int, str], None]
_SOURCES = ("audit/_trivial.py", "judge/_compare.py", "judge/_codec.py")  # what a result depends on beside the suite


class DtypeResult(Record):
    """The trivial candidates against one operator's gate in one dtype."""

    cases: int  # with the added ones
    added: int = 0
    skipped: int = 0  # cases that compare no values: the reference fails, or the wrapper must raise
    killed_by: dict[str, int] = Field(default_factory=dict)  # candidate -> index of the first case that refuses it

    @property
    def own(self) -> int:
        """Cases of the suite's source, added ones left out: they come first."""
        return self.cases - self.added

    @property
    def judged(self) -> bool:
        """Whether any case compares values."""
        return self.cases > self.skipped

    @property
    def alone(self) -> tuple[str, ...]:
        """Candidates that pass every case of the suite's source."""
        return tuple(t for t in TRIVIAL if self.killed_by.get(t, self.own) >= self.own) if self.judged else ()

    @property
    def now(self) -> tuple[str, ...]:
        """Candidates that pass the whole gate, added cases included."""
        return tuple(t for t in TRIVIAL if t not in self.killed_by) if self.judged else ()


class OperatorResult(Record):
    """The trivial candidates against one operator's gate."""

    operator: str
    dtypes: dict[str, DtypeResult] = Field(default_factory=dict)
    seconds: float = 0.0
    error: str = ""  # why it could not be judged
    note: str = ""  # why it is not asked: it has no values to compare
    suite: str = "opinfo"  # whose gate

    @property
    def judged(self) -> dict[str, DtypeResult]:
        """The dtypes in which some case compares values."""
        return {dtype: result for dtype, result in self.dtypes.items() if result.judged}

    @property
    def alone(self) -> tuple[str, ...]:
        """Candidates that pass all cases of the suite's source in every dtype."""
        return tuple(t for t in TRIVIAL if self.judged and all(t in r.alone for r in self.judged.values()))

    @property
    def now(self) -> tuple[str, ...]:
        """Candidates that pass the whole gate in every dtype."""
        return tuple(t for t in TRIVIAL if self.judged and all(t in r.now for r in self.judged.values()))

    def partly(self) -> dict[str, tuple[str, ...]]:
        """Return candidates that pass the suite's cases of some dtypes only, with those dtypes."""
        found = {t: tuple(d for d, r in self.judged.items() if t in r.alone) for t in TRIVIAL if t not in self.alone}
        return {t: dtypes for t, dtypes in found.items() if dtypes}

    def open(self) -> dict[str, tuple[str, ...]]:
        """Return dtype -> candidates that pass its gate now though the operator is not that by definition."""
        found = {
            dtype: tuple(t for t in result.now if self.definition(dtype, t) is None)
            for dtype, result in self.judged.items()
        }
        return {dtype: trivial for dtype, trivial in found.items() if trivial}

    def meaningful(self, trivial: Iterable[str]) -> tuple[str, ...]:
        """Leave out candidates that the operator is by definition in every dtype."""
        return tuple(t for t in trivial if any(self.definition(dtype, t) is None for dtype in self.judged))

    def definition(self, dtype: str, trivial: str) -> str | None:
        """Why the operator is a trivial candidate by definition in a dtype; None when it is not."""
        return definition_of(self.operator, dtype, trivial, self.suite)


class Choice(Record):
    """An audit case that refuses trivial candidates which the gate let pass."""

    operator: str
    dtype: str
    key: str
    seed: int = 0
    kills: tuple[str, ...]


class Choices(Record):
    """Cases to add to one operator's gate, and what no case of the audit refuses."""

    operator: str
    chosen: tuple[Choice, ...] = ()
    left: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # dtype -> candidates
    error: str = ""


def survey(
    suite: str, operators: Sequence[Operator], *, jobs: int = 1, progress: Progress | None = None
) -> dict[str, OperatorResult]:
    """Judge the trivial candidates on the gates of `operators`; results of earlier calls are taken from the cache."""
    cache = _Cache(suite)
    results = {op.name: found for op in operators if (found := cache.get(op)) is not None}
    for op in operators:
        if "defined_values" in op.needs:  # not judged on a target that promises no values of fresh memory
            results[op.name] = OperatorResult(operator=op.name, note=op.needs["defined_values"])
    todo = [op for op in operators if op.name not in results]
    by_name = {op.name: op for op in todo}

    def take(answer: dict[str, Any]) -> None:
        operator = by_name[answer["operator"]]
        for dtype, result in answer.get("dtypes", {}).items():
            result["added"] = operator.added_counts.get(dtype, 0)
        found = OperatorResult.model_validate(answer)
        results[found.operator] = found
        if not found.error:
            cache.put(operator, found)
        if progress is not None:
            progress(len(results), len(operators), found.operator)

    if progress is not None and todo:
        progress(len(results), len(operators), "")
    ask(suite, [{"operator": op.name} for op in todo], take, jobs)
    return {op.name: results[op.name].model_copy(update={"suite": suite}) for op in operators}


def choose(
    suite: str, results: Iterable[OperatorResult], *, jobs: int = 1, progress: Progress | None = None
) -> list[Choices]:
    """Find audit cases that refuse what the gates let pass, the fewest that do."""
    questions = [{"operator": r.operator, "refuse": wanted} for r in results if (wanted := r.open())]
    found: list[Choices] = []

    def take(answer: dict[str, Any]) -> None:
        found.append(Choices.model_validate(answer))
        if progress is not None:
            progress(len(found), len(questions), found[-1].operator)

    ask(suite, questions, take, jobs)
    return sorted(found, key=lambda choices: choices.operator)


class _Cache:
    """Results in the cache folder, one JSON line each; valid for one torch build, suite and state of the code."""

    def __init__(self, suite: str) -> None:
        self.path = cache_directory() / f"vacuity-{torch_build()}.jsonl"
        self.base = f"{suite.partition(':')[0]}\0{_code()}"
        self.additions = additions_of(suite)
        self.known: dict[str, dict[str, Any]] = {}
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return
        for line in text.splitlines():
            try:
                entry = json.loads(line)
                self.known[entry["key"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                continue  # a line that was being written when the process was killed

    def key(self, operator: Operator) -> str:
        what = f"{self.base}\0{operator.model_dump_json(exclude={'suite'})}"
        if operator.cases_added:
            added = {d: [(a.key, a.seed) for a in self.additions.of(operator.name, d)] for d in operator.dtypes}
            what += f"\0{_code(audit=True)}\0{json.dumps(added)}"
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    def get(self, operator: Operator) -> OperatorResult | None:
        found = self.known.get(self.key(operator))
        try:
            return None if found is None else OperatorResult.model_validate(found)
        except ValidationError:
            return None

    def put(self, operator: Operator, result: OperatorResult) -> None:
        entry = {"key": self.key(operator), "result": result.model_dump(mode="json")}
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError:
            return  # a cache that cannot be written is no error


@functools.cache
def _code(*, audit: bool = False) -> str:
    """Return a digest of the code that results depend on: the candidates, the comparison and the suite, or the audit's.

    The audit's own code matters only where its cases were added to a gate.
    """
    root = Path(str(files("bringup")))
    state = hashlib.sha256()
    paths = (root / "suites" / "audit").glob("*.py") if audit else (root / "suites").glob("*.py")
    for path in [*(root / name for name in _SOURCES), *sorted(paths)]:
        state.update(path.read_bytes())
    return state.hexdigest()[:32]
