"""The narrower rule groups of the published TritorX linter, for ablations. Their holes are kept on purpose.

Known holes of these groups: tensor methods that compute (`output.sum()`), operators on tensors (`x @ y`), `getattr`,
aliases of modules, `.to('cpu')`, `device='cpu'`, methods reached through results of calls.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bringup.linter._module import Module, Zone, words
from bringup.linter._rule import Context, Rule
from bringup.verdict import Violation

# Allocation and reshaping, as the published examples use them; wider than the full rule set, which has no fills.
PAPER_TORCH = words(
    "zeros ones full zeros_like ones_like full_like tensor empty empty_like empty_strided device", prefix="torch."
)
_KERNEL = re.compile(r"^kernel.*")
_MOVES = frozenset({"cpu", "cuda"})
_DYNAMIC = frozenset({"eval", "exec", "compile"})


class PaperModules(Rule):
    """Group module_restrictions: allowlists of tl and torch functions."""

    id = "module-restrictions"
    title = "allowlists of tl and torch functions"
    advice = "Use the allowed functions of the module."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at every call whose name starts at tl or torch."""
        allowed = context.allowed
        torch = allowed.torch_functions | allowed.torch_constants | PAPER_TORCH
        tl = allowed.tl_functions | allowed.tl_constants | allowed.tl_host
        for zone in context.module.zones:
            for chain in zone.chains:
                if chain.call is None:
                    continue
                if chain.root_name == "tl" and chain.dotted not in tl:
                    yield self.at(context, chain.node, f"Forbidden tl module usage: {chain.dotted}")
                elif chain.root_name == "torch" and chain.dotted not in torch:
                    yield self.at(context, chain.node, f"Forbidden torch module usage: {chain.dotted}")


class PaperScope(Rule):
    """Group module_scope_restrictions: tl only inside functions named kernel*."""

    id = "module-scope-restrictions"
    title = "tl only inside functions called kernel*"
    advice = "Use tl only inside functions whose name starts with kernel."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at calls of tl functions in other functions."""
        for zone in context.module.zones:
            if zone.function is not None and _KERNEL.match(zone.name):
                continue
            for chain in zone.chains:
                if chain.root_name == "tl" and chain.call is not None and chain.dotted != "tl.constexpr":
                    yield self.at(context, chain.node, f"{chain.dotted} outside a kernel function")


class PaperMethods(Rule):
    """Group forbidden_tensor_methods: cpu and cuda."""

    id = "forbidden-tensor-methods"
    title = "no .cpu() and .cuda()"
    advice = "Keep the data on the device."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at called attributes of these names."""
        for zone in context.module.zones:
            for chain in zone.chains:
                if chain.call is not None and chain.path[-1] in _MOVES:
                    yield self.at(context, chain.node, f"method .{chain.path[-1]}() is forbidden")


class PaperArguments(Rule):
    """Group forbidden_function_arguments: torch.device("cpu")."""

    id = "forbidden-function-arguments"
    title = "no torch.device with 'cpu' or 'cuda'"
    advice = "Use the device of the inputs."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at string arguments of torch.device."""
        for zone in context.module.zones:
            for chain in zone.chains:
                if chain.dotted == "torch.device" and chain.call is not None:
                    values = [*chain.call.args, *(k.value for k in chain.call.keywords)]
                    if any(isinstance(v, ast.Constant) and v.value in _MOVES for v in values):
                        yield self.at(context, chain.node, "torch.device with a forbidden string")


class PaperFunctions(Rule):
    """Group forbidden_functions: eval, exec, compile."""

    id = "forbidden-functions"
    title = "no eval, exec and compile"
    advice = "Write the code directly."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at calls by these names."""
        for zone in context.module.zones:
            for call in zone.of(ast.Call):
                if isinstance(call.func, ast.Name) and call.func.id in _DYNAMIC:
                    yield self.at(context, call, f"function {call.func.id} is forbidden")


class PaperFormat(Rule):
    """Formatting: no imports, one wrapper, kernels called kernel*."""

    id = "format"
    title = "no imports; functions are called kernel* and wrapper"
    advice = "Define wrapper and at least one @triton.jit function kernel*, without imports."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at imports and names."""
        module: Module = context.module
        for zone in module.zones:
            for node in _imports(zone):
                yield self.at(context, node, "import statements are not allowed")
        if "wrapper" not in module.functions:
            yield self.at(context, None, "there is no function named wrapper")
        if not any(_KERNEL.match(name) for name in module.functions):
            yield self.at(context, None, "there is no function named kernel*")


def _imports(zone: Zone) -> list[ast.Import | ast.ImportFrom]:
    return [*zone.of(ast.Import), *zone.of(ast.ImportFrom)]


PAPER_RULES: tuple[type[Rule], ...] = (
    PaperModules,
    PaperScope,
    PaperMethods,
    PaperArguments,
    PaperFunctions,
    PaperFormat,
)
