"""The suite `shaped`: operators of another suite with calls of chosen sizes behind their own cases, to be timed.

`shaped` takes the shipped calls for PyTorch's operators, `shaped:FILE` a file of the same form; `?small=1` takes the
small calls, for a modelled chip, `?suite=NAME` operators of another suite than `opinfo`. docs/problems.md says more.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import yaml
from pydantic import Field, ValidationError

from bringup.errors import ConfigError, UnknownOperator, not_yaml
from bringup.operators import DocNode, Operator
from bringup.suites._base import CaseInputs, ListedSuite, get_suite
from bringup.suites._digest import source_digest
from bringup.verdict import CaseId, Record

if TYPE_CHECKING:
    import torch

_TENSOR = re.compile(r"([fub]|[ip]\d+)\[([\d, ]*)\]")
_ADVICE = 'a tensor is written "f[64, 128]"; see docs/problems.md'


class Calls(Record):
    """Calls of one operator: positional arguments each."""

    calls: tuple[tuple[Any, ...], ...]
    small: tuple[tuple[Any, ...], ...] = ()
    kwargs: dict[str, Any] = Field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)


class Shapes(Record):
    """A file of calls."""

    kinds: dict[str, Calls] = Field(default_factory=dict)
    operators: dict[str, tuple[str, ...]] = Field(default_factory=dict)  # kind -> operators
    own: dict[str, Calls] = Field(default_factory=dict)  # operator -> its calls

    def of(self) -> dict[str, Calls]:
        """Return the calls by operator."""
        found = {name: self.kinds[kind] for kind, names in self.operators.items() for name in names}
        return dict(sorted({**found, **self.own}.items()))


class ShapedSuite(ListedSuite):
    """Operators with their own cases first, then those of chosen sizes: the gate has both, a clock takes the last."""

    name = "shaped"

    def __init__(self, options: str = "") -> None:
        """`options`: a file's path, and options after `?`. Raises ConfigError for what cannot be used."""
        self.name = f"shaped:{options}" if options else "shaped"
        path, _, query = options.partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := given.keys() - {"small", "suite"} or ({query} if query and not given else set()):
            raise ConfigError("suite shaped", f"no option '{min(unknown)}'", "there are small=1 and suite=NAME")
        if given.get("small", "0") not in {"0", "1"}:
            raise ConfigError("suite shaped", f"option small: '{given['small']}' is neither 0 nor 1")
        self.small = given.get("small") == "1"
        self.base = get_suite(given.get("suite", "opinfo"))
        self.dtypes, self.categories, self.words = self.base.dtypes, self.base.categories, self.base.words
        self._source = path or "timed-shapes.yaml"
        self._text = _text(path)
        self.calls = _read(self._source, self._text).of()

    def _listed(self) -> Iterable[Operator]:
        for name, calls in self.calls.items():
            try:
                own = self.base.operator(name)
            except UnknownOperator as error:
                raise ConfigError(self._source, str(error)) from None
            counts = {
                dtype: count + (len(self._of(calls)) if dtype in calls.dtypes else 0)
                for dtype, count in own.case_counts.items()
            }
            yield own.model_copy(update={"suite": self.name, "case_counts": counts})

    def _of(self, calls: Calls) -> tuple[tuple[Any, ...], ...]:
        return calls.small or calls.calls if self.small else calls.calls

    def timed(self, operator: str, dtypes: Sequence[str], seed: int = 0) -> dict[str, dict[int, float]]:
        """Return the cases of chosen sizes, which count alike."""
        found = self.chosen(operator)
        return {dtype: dict.fromkeys(indices, 1.0) for dtype, indices in found.items() if dtype in dtypes}

    def chosen(self, operator: str) -> dict[str, tuple[int, ...]]:
        """Return the indices of the cases of chosen sizes, by dtype."""
        calls = self.calls[self.operator(operator).name]
        counts = self.base.operator(operator).case_counts
        return {
            dtype: tuple(range(counts[dtype], counts[dtype] + len(self._of(calls))))
            for dtype in calls.dtypes
            if counts.get(dtype)
        }

    def docs(self, name: str) -> list[DocNode]:
        """Return what the operator's own suite says."""
        self.operator(name)
        return self.base.docs(name)

    def digest(self) -> str:
        """Return the digest of the calls and of the suite that they are added to."""
        return source_digest("shaped", self.base.digest(), self._text, str(self.small))

    def own_cases(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild those of the operator's own suite."""
        self.operator(operator)
        return self.base.own_cases(operator, dtype, seed)

    def drawn_cases(self, operator: str, dtype: str, seed: int, count: int) -> Sequence[CaseInputs]:
        """Rebuild some of those that the operator's own suite draws."""
        self.operator(operator)
        return self.base.drawn_cases(operator, dtype, seed, count)

    def materialise(self, operator: str, dtype: str, seed: int = 0) -> Sequence[CaseInputs]:
        """Rebuild the operator's own cases and those of chosen sizes. Raises UnknownOperator."""
        self.operator(operator)
        own = list(self.base.materialise(operator, dtype, seed))
        return [*own, *self._chosen(own, operator, dtype, seed)]

    def _chosen(self, own: Sequence[CaseInputs], operator: str, dtype: str, seed: int) -> Iterable[CaseInputs]:
        indices = self.chosen(operator).get(dtype, ())
        calls = self.calls[operator]
        model = next((case for case in own if not case.raises and case.standard is not None), None)
        if not indices or model is None or model.standard is None:
            return
        from bringup.accuracy import Standard
        from bringup.suites._opinfo_calls import Call
        from bringup.suites._opinfo_postprocess import postprocess_of

        public = self.base.name.partition(":")[0] == "opinfo"
        for index, call in zip(indices, self._of(calls), strict=True):
            build = _Builder(dtype, seed * 1_000_003 + index)
            standard = Standard(operator, model.reference, dtype, given=model.standard.given)
            args = tuple(build(one) for one in call)
            kwargs = {name: build(value) for name, value in calls.kwargs.items()}
            # What the operator leaves open, as for its own cases: which of equal elements comes first, say.
            compared = postprocess_of(operator, Call(model.reference, args, kwargs)) if public else None
            yield CaseInputs(
                case=CaseId(operator=operator, dtype=dtype, index=index, seed=seed),
                variant=model.variant,
                args=args,
                kwargs=kwargs,
                reference=model.reference,
                postprocess=compared.function if compared else None,
                rtol=model.rtol,
                atol=model.atol,
                tolerance_reason=model.tolerance_reason,
                title=f"chosen size: {', '.join(str(one) for one in call)}",
                standard=standard,
            )


class _Builder:
    """Makes arguments of what a file says, the same of the same seed."""

    def __init__(self, dtype: str, seed: int) -> None:
        import torch

        self.dtype: torch.dtype = getattr(torch, dtype)
        self.random = torch.Generator().manual_seed(seed)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self(one) for one in value]
        match = _TENSOR.fullmatch(value) if isinstance(value, str) else None
        return self._tensor(match[1], [int(n) for n in match[2].split(",") if n.strip()]) if match else value

    def _tensor(self, kind: str, shape: list[int]) -> torch.Tensor:
        import torch

        match kind[0]:
            case "f":
                return torch.randn(shape, generator=self.random).to(self.dtype)
            case "u":
                return torch.rand(shape, generator=self.random).mul_(0.95).add_(0.05).to(self.dtype)
            case "b":
                return torch.rand(shape, generator=self.random) < 0.5
            case "i":
                return torch.randint(0, int(kind[1:]), shape, generator=self.random)
        return torch.randperm(int(kind[1:]), generator=self.random)[: shape[0]]


def _text(path: str) -> str:
    if not path:
        return files("bringup.suites").joinpath("data", "timed-shapes.yaml").read_text(encoding="utf-8")
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(path, "no such file", "name a YAML file of calls; see docs/problems.md") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(path, f"cannot be read: {error}") from error


@functools.lru_cache(maxsize=8)
def _read(source: str, text: str) -> Shapes:
    try:
        shapes = Shapes.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ConfigError(source, not_yaml(error)) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(source, f"field {'.'.join(map(str, first['loc']))}: {first['msg']}", _ADVICE) from None
    for kind in shapes.operators:
        if kind not in shapes.kinds:
            raise ConfigError(source, f"operators.{kind}: no such kind", f"kinds: {', '.join(shapes.kinds)}")
    for name, calls in shapes.of().items():
        for value in _strings([calls.calls, calls.small, list(calls.kwargs.values())]):
            match = _TENSOR.fullmatch(value)
            if match is None and "[" in value:
                raise ConfigError(source, f"{name}: '{value}' is no tensor", _ADVICE)
            if match and match[1][0] == "p" and not ("," not in match[2] and int(match[2]) <= int(match[1][1:])):
                raise ConfigError(source, f"{name}: '{value}' takes more than there are, or has several axes", _ADVICE)
            if match and match[1] in {"i0", "p0"}:
                raise ConfigError(source, f"{name}: '{value}' has no values", _ADVICE)
    return shapes


def _strings(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for one in value for text in _strings(one)]
    return [value] if isinstance(value, str) else []
