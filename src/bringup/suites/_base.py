"""The door for suites: an iterable of operators that can rebuild each case's inputs inside a worker."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from bringup.errors import ConfigError, PluginError, UnknownOperator
from bringup.operators import CATEGORIES, DTYPES, DocNode, Operator, PromptWords
from bringup.registry import Registry
from bringup.verdict import CaseId

if TYPE_CHECKING:
    from bringup.accuracy import Standard  # imports torch


@dataclass(frozen=True)
class CaseInputs:
    """One case with real tensors on the host, ready to be judged.

    `reference` is called as `reference(*args, **kwargs)` on copies of the inputs, in the judge only.
    `rtol`/`atol` are None where PyTorch's `assert_close` defaults for the output's dtype hold.
    `reference_on_device` tells a reference that itself needs the device argument rewritten (factories).
    """

    case: CaseId
    variant: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    reference: Callable[..., Any]
    rtol: float | None = None
    atol: float | None = None
    tolerance_reason: str = ""
    # Applied to expected and actual before comparison where only a function of the output is defined
    # (the sign of singular vectors, say); from the suite's own data, never from the candidate.
    postprocess: Callable[[Any], Any] | None = None
    # The same for the operator's call with other arguments; None where nobody knows.
    postprocess_for: Callable[[tuple[Any, ...], Mapping[str, Any]], Callable[[Any], Any] | None] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""  # what the case is there for, as a report says it: "layout: input 0 transposed"
    requires: str = ""  # a parameter by name: a wrapper whose signature lacks it is not asked (and counted as such)
    # What PyTorch raises for these inputs, "RuntimeError: ..."; the wrapper must raise too. "": it returns.
    raises: str = ""
    # What "right" means for the operator, by class. None, or where it knows no exact result: `rtol` and `atol` decide.
    standard: Standard | None = None


def argument_dtypes(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the dtypes of a call's arguments, by position ("0") or keyword ("out"): of tensors, also in lists.

    An argument that is a dtype itself counts. Imports torch.
    """
    import torch
    from torch.utils import _pytree as pytree

    given = {**{str(place): value for place, value in enumerate(args)}, **kwargs}
    found: dict[str, set[str]] = {}
    for name, value in given.items():
        leaves = [v for v in pytree.tree_leaves(value) if isinstance(v, torch.Tensor | torch.dtype)]
        dtypes = {str(v if isinstance(v, torch.dtype) else v.dtype).removeprefix("torch.") for v in leaves}
        if dtypes:
            found[name] = dtypes
    return found


def elements_of(value: Any) -> int:
    """Return how many elements all tensors of a call's arguments have, also those in lists and dicts."""
    count = getattr(value, "numel", None)
    if callable(count):
        return int(count())
    if isinstance(value, Mapping):
        return sum(map(elements_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(elements_of, value))
    return 0


@runtime_checkable
class Suite(Protocol):
    """A source of operators with their tests. Only `materialise` may import torch: everything else serves commands.

    `SuiteDefaults` has all but `name`, `operators`, `operator`, `docs` and `materialise`.
    """

    name: str  # as `get_suite` takes it, options included
    dtypes: tuple[str, ...]  # that cases may have, in judging order
    categories: tuple[str, ...]  # that operators may have, in the order of reports
    audit: str | None  # the suite of the tests that no model sees, as `get_suite` takes it; None: there is none
    words: PromptWords  # what a prompt says of all its operators

    def operators(self) -> Iterator[Operator]:
        """Yield every operator of the source, excluded ones too (with their `exclusion`)."""
        ...

    def operator(self, name: str) -> Operator:
        """Return one operator; raises UnknownOperator."""
        ...

    def docs(self, name: str) -> list[DocNode]:
        """Return the operator's docstring followed by those that it refers to, each once, in topological order."""
        ...

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild all cases of an operator in one dtype: same arguments, same bits, in every process."""
        ...

    def own_cases(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild those of `materialise` that cost little, which come first; all of them where none costs much."""
        ...

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Rebuild up to `count` of those that `own_cases` lacks and that give a result; the seed draws which."""
        ...

    def timed(self, operator: str, dtypes: Sequence[str], seed: int = 0) -> dict[str, dict[int, float]]:
        """Return the cases that a search times: weights by index, by dtype of `dtypes`; {}: it chooses the largest.

        A weight says how much a case counts beside the others. May import torch.
        """
        ...

    def free(self, operator: str) -> bool:
        """Whether an argument's values may be any that occur in it, in any order: no factors, no sorted boundaries."""
        ...

    def funnel(self) -> list[tuple[str, int, int]]:
        """Return how the operators that count were arrived at: (what was left out, operators left, their cases)."""
        ...

    def digest(self) -> str:
        """Return a digest of all that the operators and their cases are made of: equal digests, equal tests.

        64 hexadecimal digits; the same in every process. A job that was written elsewhere names it.
        """
        ...


SUITE_PARTS = (*Suite.__annotations__, *(name for name in vars(Suite) if not name.startswith("_")))


class SuiteDefaults:
    """What most suites have in common: inherit it, and write what is different in yours."""

    dtypes: tuple[str, ...] = DTYPES
    categories: tuple[str, ...] = CATEGORIES
    audit: str | None = None
    words: PromptWords = PromptWords()

    def digest(self) -> str:
        """Return the digest of the source file that defines the suite's class, and of all its operators' records.

        A suite whose cases are made of more than its own file (data, other modules, options) says so itself.
        """
        source = inspect.getsourcefile(type(self))
        state = hashlib.sha256(Path(source).read_bytes() if source else b"")
        for operator in self.operators():
            state.update(operator.model_dump_json().encode())
        return state.hexdigest()

    def own_cases(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """No case costs much: all of them."""
        return self.materialise(operator, dtype, seed)

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Nothing is missing in `own_cases`."""
        return ()

    def timed(self, operator: str, dtypes: Sequence[str], seed: int = 0) -> dict[str, dict[int, float]]:
        """It does not say."""
        return {}

    def free(self, operator: str) -> bool:
        """Nothing is known: values stay as they are."""
        return False

    def funnel(self) -> list[tuple[str, int, int]]:
        """Every operator counts that is not excluded."""
        every = list(self.operators())
        left = [operator for operator in every if operator.exclusion is None]
        return [
            ("all names", len(every), sum(operator.cases_total for operator in every)),
            ("excluded", len(left), sum(operator.cases_total for operator in left)),
        ]

    def operators(self) -> Iterator[Operator]:
        """Every suite says this itself."""
        raise NotImplementedError

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Every suite says this itself."""
        raise NotImplementedError


class ListedSuite(SuiteDefaults):
    """A suite that knows all its operators: say `name` and `_listed`."""

    name: str

    def _listed(self) -> Iterable[Operator]:
        """Return all operators, in the suite's order; asked once."""
        raise NotImplementedError

    @functools.cached_property
    def _operators(self) -> dict[str, Operator]:
        return {operator.name: operator for operator in self._listed()}

    def operators(self) -> Iterator[Operator]:
        """Yield all operators in the suite's order, excluded ones with their `exclusion`."""
        yield from self._operators.values()

    def operator(self, name: str) -> Operator:
        """Return one operator; raises UnknownOperator."""
        try:
            return self._operators[name]
        except KeyError:
            raise UnknownOperator(name, self._operators, self.name) from None


suites: Registry[Suite] = Registry(
    "suite",
    "bringup.suites",
    {
        "aten": "bringup.suites.aten:AtenSuite",
        "aten-audit": "bringup.suites.aten_audit:AtenAuditSuite",
        "audit": "bringup.suites.audit:AuditSuite",
        "captured": "bringup.suites.captured:CapturedSuite",
        "conformance": "bringup.suites.conformance:ConformanceSuite",
        "kernelbench": "bringup.suites.problems:KernelBenchSuite",
        "modules": "bringup.suites.problems:ModulesSuite",
        "opinfo": "bringup.suites.opinfo:OpInfoSuite",
        "shaped": "bringup.suites.shaped:ShapedSuite",
    },
)


def get_suite(spec: str, progress: Callable[[int, int, str], None] | None = None) -> Suite:
    """Return the suite for `name` or `name:options`; its factory gets what follows the colon as `options`.

    `progress(done, total, name)` is called by a suite whose factory takes it, while it has to compute something.

    Raises UnknownName, ConfigError for options that the suite does not take or cannot use, and PluginError for a
    plug-in that is no suite.
    """
    name, _, options = spec.partition(":")
    factory = suites.factory(name)
    takes = inspect.signature(factory).parameters
    given: dict[str, Any] = {"progress": progress} if progress is not None and "progress" in takes else {}
    if options:
        if "options" not in takes:
            raise ConfigError(
                f"suite {spec}", f"'{name}' takes no options, so no gate additions either", f"name it `{name}`"
            )
        given["options"] = options
    suite = factory(**given)
    if not isinstance(suite, Suite):
        lacks = ", ".join(part for part in SUITE_PARTS if not hasattr(suite, part))
        raise PluginError(suites.group, name, TypeError(f"it has no {lacks}; inherit bringup.suites.SuiteDefaults"))
    return suite


def suite_of_file(path: str, small: bool) -> tuple[str, str]:
    """Return suite and operator of a problem's file; `small`: at sizes for a modelled chip.

    Raises ConfigError for a file that is missing, or of neither contract.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, f"cannot be read: {error}", "name an operator, or the file of a problem") from None
    if "class Model" in text:
        return f"kernelbench:{path}{'?memory=1M' if small else ''}", Path(path).stem
    if "class Reference" in text:
        return f"modules:{path}{'' if small else '?sizes=all'}", Path(path).stem
    raise ConfigError(
        path,
        "no problem: it has neither a class Model nor a class Reference",
        "see docs/problems.md; a kernel to start from is given with --start",
    )


def suite_of_shapes(shapes: str, base: str, small: bool) -> str:
    """Return the suite of chosen sizes behind the cases of the suite `base`; "shipped" are those of bringup itself."""
    options = [*(["small=1"] if small else []), *([f"suite={base}"] if base != "opinfo" else [])]
    path = "" if shapes == "shipped" else shapes
    return f"shaped:{path}{'?' if options else ''}{'&'.join(options)}".removesuffix(":")
