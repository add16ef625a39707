"""Rules on names: what a candidate may refer to, and tricks that reach anything else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bringup.linter._module import PROVIDED, Zone, words
from bringup.linter._rule import Context, Rule
from bringup.verdict import Violation

# Built-ins that run code, reach names by string, or leave the process's sandbox.
DYNAMIC = words(
    "eval exec compile getattr setattr delattr hasattr globals locals vars dir __import__ open input "
    "breakpoint type object super memoryview id help exit quit __builtins__ __loader__ __spec__ "
    "classmethod staticmethod property callable"
)


class ModuleAlias(Rule):
    """A provided module is only used as `module.name`, so that every use can be checked."""

    id = "module-alias"
    title = "torch, triton, tl and math are not assigned, passed or stored"
    advice = "Write the full name where it is used: torch.empty(...), tl.load(...)."

    def check(self, context: Context) -> Iterator[Violation]:
        """A bare load of a module's name is an alias."""
        for zone in context.module.zones:
            for name in zone.names:
                if name.id in PROVIDED and (name.id in context.allowed.modules or name.id not in zone.bound):
                    yield self.at(context, name, f"{name.id} is used as a value, not as {name.id}.<name>")


class DynamicCode(Rule):
    """eval, exec, getattr and the like."""

    id = "dynamic-code"
    title = "no eval, exec, compile, getattr, setattr, globals, open, __import__ and the like"
    advice = "Name functions and attributes directly."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at loads of the built-ins' names, called or not, and at class patterns, which read attributes."""
        for zone in context.module.zones:
            for pattern in zone.of(ast.MatchClass):
                if pattern.kwd_attrs:
                    yield self.at(context, pattern, f"a pattern reads attribute {pattern.kwd_attrs[0]}")
            for name in (*zone.names, *(c.root for c in zone.chains if isinstance(c.root, ast.Name))):
                if name.id in DYNAMIC and not _local(context, zone, name.id):
                    allowed = context.allowed.kernel_builtins if zone.kind == "kernel" else context.allowed.builtins
                    if name.id not in allowed:
                        hint = "Use isinstance(x, ...) instead." if name.id == "type" else None
                        yield self.at(context, name, f"{name.id} is not allowed", hint)


class UnknownNames(Rule):
    """Every name is a local, a function or constant of the module, a provided module or an allowed built-in."""

    id = "unknown-name"
    title = "only names of the module, the provided modules and allowed built-ins"
    advice = ""

    def check(self, context: Context) -> Iterator[Violation]:
        """Resolve every load."""
        allowed = context.allowed
        provided = allowed.modules
        for zone in context.module.zones:
            builtins = allowed.kernel_builtins if zone.kind == "kernel" else allowed.builtins
            for name in (*zone.names, *(c.root for c in zone.chains if isinstance(c.root, ast.Name))):
                identifier = name.id
                if (
                    identifier in builtins
                    or identifier in provided
                    or identifier in DYNAMIC
                    or identifier.startswith("__")
                    or _local(context, zone, identifier)
                ):
                    continue
                where = "in kernels" if zone.kind == "kernel" else "in the module"
                yield self.at(
                    context,
                    name,
                    f"the name {identifier} is not available {where}",
                    _instead(context, identifier, zone),
                )


def _instead(context: Context, name: str, zone: Zone) -> str:
    if zone.kind == "kernel":
        if f"tl.{name}" in context.allowed.tl_functions:
            return f"Use tl.{name}."
        return f"Kernels have parameters, tl.*, @triton.jit helpers and {', '.join(context.dialect.kernel_builtins)}."
    if name in {"np", "numpy"}:
        return "numpy is not available: compute in a kernel; use math for single numbers."
    if name in {"F", "nn"}:
        return "PyTorch's functions may not compute: write the operation as a kernel."
    if name == "print":
        return "Remove it: output is not read."
    return f"Available are {', '.join(sorted(context.allowed.modules))}, the module's own names and common built-ins."


def _local(context: Context, zone: Zone, name: str) -> bool:
    module = context.module
    return name in zone.bound or name in module.functions or name in module.globals


class Dunder(Rule):
    """Double-underscore names lead to everything else in Python; private names to internals."""

    id = "dunder"
    title = "no double-underscore or private attributes and names"
    advice = "Use public names only."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at attribute chains, names and keyword arguments."""
        for zone in context.module.zones:
            for chain in zone.chains:
                for part in chain.path:
                    if part.startswith("_"):
                        yield self.at(context, chain.node, f"attribute {part} is private")
                        break
            for name in zone.of(ast.Name):
                if name.id.startswith("__") and name.id not in DYNAMIC:
                    yield self.at(context, name, f"name {name.id} is reserved")


class AttributeStore(Rule):
    """Attributes are not assigned: neither on tensors nor on functions or modules."""

    id = "attribute-store"
    title = "no assignment to attributes (state on functions, patched modules, changed tensors)"
    advice = "Keep values in local variables."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at attribute chains that are assigned or deleted."""
        for zone in context.module.zones:
            for chain in zone.chains:
                if chain.store:
                    yield self.at(context, chain.node, f"attribute {chain.path[-1]} is assigned")


class KernelHandle(Rule):
    """Kernels are launched, chosen or called from kernels; nothing else is done with them."""

    id = "kernel-handle"
    title = "kernels are only launched as `kernel[grid](...)`: no attributes, no direct calls outside kernels"
    advice = "Launch with kernel_name[grid](arguments)."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at attributes of functions, and at calls of kernels from the host."""
        module = context.module
        for zone in module.zones:
            for chain in zone.chains:
                own = zone.bound if zone is not module.top else frozenset[str]()
                if chain.root_name in module.functions and chain.root_name not in own:
                    yield self.at(context, chain.node, f"attribute {chain.path[0]} of function {chain.root_name}")
            if zone.kind == "host":
                for call in zone.of(ast.Call):
                    if isinstance(call.func, ast.Name) and call.func.id in module.jit:
                        yield self.at(context, call, f"kernel {call.func.id} is called without a grid")


NAME_RULES: tuple[type[Rule], ...] = (ModuleAlias, DynamicCode, UnknownNames, Dunder, AttributeStore, KernelHandle)
