"""A problem file as a program: loaded unmodified, sizes cut where asked, its reference called on given tensors.

Runs only in processes of its own (`_process`, `_survey`): problem files are code of other people.
"""

from __future__ import annotations

import ast
import inspect
import random
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from bringup.suites.problems._bundle import Contract

KEPT = 64  # sizes up to here are kept at first: kernels' sides, groups, heads
_PLAIN = (bool, int, float, str, type(None))


class ProblemError(Exception):
    """A problem file that is of no use; the message is one line for its user."""


class Problem:
    """One problem file at one scale."""

    def __init__(self, contract: Contract, name: str, text: str, divisor: int = 1, kept: int = KEPT) -> None:
        """Execute the file with the sizes at its top level beyond `kept` divided by `divisor`. Raises ProblemError."""
        self.contract, self.name = contract, name
        self.module = _executed(name, text, divisor, kept)
        self.names = vars(self.module)
        self.root = self._class("Model" if contract == "kernelbench" else "Reference")

    def _class(self, name: str) -> type[torch.nn.Module]:
        found = self.names.get(name)
        if not (isinstance(found, type) and issubclass(found, torch.nn.Module)):
            raise ProblemError(f"defines no class {name}(torch.nn.Module)")
        return found

    def _function(self, name: str) -> Any:
        found = self.names.get(name)
        if not callable(found):
            raise ProblemError(f"defines no function {name}()")
        return found

    # What the contract says ---------------------------------------------------------------------------------------

    def sizes(self, which: str) -> list[dict[str, Any]]:
        """Return the sizes that cases have: one set for KernelBench, those of the file for our contract."""
        if self.contract == "kernelbench":
            return [{}]
        lists = {"checks": ("CHECKS",), "timed": ("SIZES",), "all": ("CHECKS", "SIZES")}[which]
        found: list[dict[str, Any]] = []
        for name in lists:
            given = self.names.get(name)
            if not isinstance(given, list | tuple) or not all(isinstance(one, dict) for one in given):
                raise ProblemError(f"defines no list {name} of sizes ({{'batch': 8, ...}})")
            found += [dict(one) for one in given]
        if not found:
            raise ProblemError(f"{' and '.join(lists)} have no sizes")
        return found

    def dtypes(self) -> tuple[str, ...]:
        """Return the dtypes of floating inputs and parameters that the file asks for."""
        given = self.names.get("DTYPES", ("float32",)) if self.contract == "modules" else ("float32",)
        names = tuple(str(one).removeprefix("torch.") for one in given)
        if wrong := [one for one in names if one not in {"float32", "bfloat16", "float16"}]:
            raise ProblemError(f"DTYPES names {wrong[0]}; it may hold float32, bfloat16 and float16")
        return names

    @property
    def training(self) -> bool:
        """Whether the file asks for gradients."""
        return self.contract == "modules" and bool(self.names.get("TRAINING", False))

    def build(self, sizes: Mapping[str, Any], seed: int, device: str = "cpu") -> tuple[torch.nn.Module, list[Any]]:
        """Return the reference with its parameters, and inputs: the same of the same seed. Raises ProblemError."""
        model = self.model(sizes, seed, device)
        with _seeded(seed + 1), torch.device(device):
            if self.contract == "kernelbench":
                return model, _list(self._function("get_inputs")(), "get_inputs")
            made = self._function("inputs")
            return model, _list(made(**_taken(made, sizes)), "inputs")

    def model(self, sizes: Mapping[str, Any], seed: int, device: str = "cpu") -> torch.nn.Module:
        """Return the reference with its parameters."""
        with _seeded(seed), torch.device(device):
            if self.contract == "kernelbench":
                return self.root(*_list(self._function("get_init_inputs")(), "get_init_inputs"))
            return self.root(**self.init(sizes))

    def init(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the reference's constructor by name."""
        if self.contract == "modules":
            return _taken(self.root.__init__, sizes)
        values = _list(self._function("get_init_inputs")(), "get_init_inputs")
        names = [p for p in inspect.signature(self.root.__init__).parameters.values() if p.name != "self"]
        found: dict[str, Any] = {}
        for number, value in enumerate(values):
            named = number < len(names) and names[number].kind is not inspect.Parameter.VAR_POSITIONAL
            found[names[number].name if named else f"init_{number}"] = value
        return found

    def defaults(self, init: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the parameters of the reference's constructor that `init` leaves at their defaults."""
        return tuple(
            parameter.name
            for parameter in inspect.signature(self.root.__init__).parameters.values()
            if parameter.name not in {"self", *init}
            and parameter.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        )


class Call:
    """A reference as a function of all its data: `call(*inputs, *parameters, *buffers, [*gradients,] **init)`.

    With `training`, gradients of the results come after the buffers, and the gradients with respect to the floating
    inputs and then the parameters after the results.
    """

    def __init__(self, problem: Problem, model: torch.nn.Module, inputs: Sequence[Any], training: bool) -> None:
        self.problem, self.model, self.training = problem, model, training
        self.inputs = len(inputs)
        self.parameters = [name for name, _ in model.named_parameters()]
        self.buffers = [name for name, _ in model.named_buffers()]
        self.attributes = list(_attributes(model))

    def data(self, inputs: Sequence[Any]) -> list[Any]:
        """Return all positional arguments but the gradients."""
        tensors = dict(self.model.named_parameters()) | dict(self.model.named_buffers())
        own = [tensors[name].detach().clone() for name in (*self.parameters, *self.buffers)]
        return [*inputs, *own, *(value.detach().clone() for _, value in _attributes(self.model).values())]

    def argument_names(self, init: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """Return the names of the positional arguments but the gradients, and of the keywords; all different."""
        forward = list(inspect.signature(self.model.forward).parameters.values())
        names: list[str] = []
        for number in range(self.inputs):
            named = number < len(forward) and forward[number].kind is not inspect.Parameter.VAR_POSITIONAL
            names.append(_fresh(forward[number].name if named else f"input_{number}", names))
        for name in (*self.parameters, *self.buffers, *self.attributes):
            names.append(_fresh(name.replace(".", "_"), names))
        keywords: list[str] = []
        for name in init:
            keywords.append(_fresh(name, [*names, *keywords], "init_"))
        return names, keywords

    def __call__(self, *arguments: Any) -> Any:
        """Run the reference on these data; buffers that it changes are changed in copies."""
        given = list(arguments)
        inputs, rest = given[: self.inputs], given[self.inputs :]
        count = len(self.parameters) + len(self.buffers) + len(self.attributes)
        values, gradients = rest[:count], rest[count:]
        named = dict(zip((*self.parameters, *self.buffers), values, strict=False))
        named = {name: t.clone() if name in self.buffers else t for name, t in named.items()}
        with _attached(self.model, dict(zip(self.attributes, values[len(named) :], strict=True))):
            if not self.training:
                with torch.no_grad():
                    return _results(torch.func.functional_call(self.model, named, tuple(inputs)))
            return self._with_gradients(inputs, named, gradients)

    def _with_gradients(self, inputs: list[Any], named: dict[str, torch.Tensor], gradients: list[Any]) -> Any:
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_() if _floating(t) else t for t in inputs]
            own = {name: t.detach().requires_grad_(name in self.parameters) for name, t in named.items()}
            results = _results(torch.func.functional_call(self.model, own, tuple(leaves)))
            outputs = [results] if isinstance(results, torch.Tensor) else list(results)
            sources = [*(t for t in leaves if _floating(t)), *(own[name] for name in self.parameters)]
            pairs = [(t, g) for t, g in zip(_differentiable(outputs), gradients, strict=True)]
            found = torch.autograd.grad([t for t, _ in pairs], sources, [g for _, g in pairs], materialize_grads=True)
        return (*(t.detach() for t in outputs), *found)

    def gradients(self, arguments: Sequence[Any], seed: int) -> list[torch.Tensor]:
        """Return gradients of the results to begin with: standard normal."""
        if not self.training:
            return []
        plain = Call(self.problem, self.model, [None] * self.inputs, training=False)
        results = plain(*arguments)
        outputs = [results] if isinstance(results, torch.Tensor) else list(results)
        with _seeded(seed + 2):
            return [torch.randn_like(t) for t in outputs if _floating(t)]


def _differentiable(outputs: Sequence[Any]) -> list[torch.Tensor]:
    return [t for t in outputs if _floating(t)]


def _floating(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _results(value: Any) -> Any:
    """Return a tensor or a tuple of tensors; raises ProblemError for anything else."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(one, torch.Tensor) for one in value):
        return tuple(value)
    raise ProblemError(f"forward() returns {type(value).__name__}; it must return a tensor or a tuple of tensors")


def _attributes(model: torch.nn.Module) -> dict[str, tuple[torch.nn.Module, torch.Tensor]]:
    """Return tensors that modules hold as plain attributes: data that neither parameters nor buffers show."""
    found = {}
    for path, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found[f"{path}.{name}" if path else name] = (module, value)
    return found


@contextmanager
def _attached(model: torch.nn.Module, values: Mapping[str, torch.Tensor]) -> Iterator[None]:
    known = _attributes(model)
    try:
        for path, value in values.items():
            setattr(known[path][0], path.rpartition(".")[2], value)
        yield
    finally:
        for path in values:
            setattr(known[path][0], path.rpartition(".")[2], known[path][1])


def _fresh(name: str, taken: Sequence[str], prefix: str = "") -> str:
    if name in taken and prefix:
        name = prefix + name
    while name in taken:
        name += "_"
    return name


def _list(value: Any, name: str) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    if not isinstance(value, list | tuple):
        raise ProblemError(f"{name}() returns {type(value).__name__}; it must return a list")
    return list(value)


def _taken(function: Any, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the sizes that a function names. Raises ProblemError where one is missing."""
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in {"self"} or parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        if parameter.name in sizes:
            found[parameter.name] = sizes[parameter.name]
        elif parameter.default is inspect.Parameter.empty and parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            raise ProblemError(
                f"{getattr(function, '__qualname__', 'a function')} asks for {parameter.name}, which no size gives"
            )
    return found


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    torch.manual_seed(seed)
    random.seed(seed)
    yield


def _executed(name: str, text: str, divisor: int, kept: int) -> types.ModuleType:
    """Run a file, statement by statement: sizes are divided where they get their names, so that others follow."""
    try:
        tree = ast.parse(text, filename=f"{name}.py")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ProblemError(f"is not Python: {error}") from None
    module = types.ModuleType(f"problem_{name}")
    module.__file__ = f"{name}.py"
    names = vars(module)
    for statement in tree.body:
        try:
            code = compile(ast.Module(body=[statement], type_ignores=[]), f"{name}.py", "exec", dont_inherit=True)
            exec(code, names)
        except Exception as error:  # whatever the file raises
            raise ProblemError(f"does not import: line {statement.lineno}: {type(error).__name__}: {error}") from None
        if divisor > 1 and isinstance(statement, ast.Assign) and _literal(statement.value):
            for target in statement.targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        names[node.id] = divided(names[node.id], divisor, kept)
    return module


def _literal(node: ast.expr) -> bool:
    """Whether a value is made of numbers alone: what is made of other names is divided with them."""
    return not any(isinstance(n, ast.Name | ast.Call | ast.Attribute) for n in ast.walk(node))


def divided(value: Any, divisor: int, kept: int) -> Any:
    """Return sizes halved until they are divided or would fall below `kept`: common factors of two stay common."""
    if isinstance(value, list | tuple):
        return type(value)(divided(one, divisor, kept) for one in value)
    if type(value) is not int:
        return value
    while divisor > 1 and (value + 1) // 2 >= kept:
        value, divisor = (value + 1) // 2, divisor // 2
    return value
