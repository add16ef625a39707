"""Rules on the shape of the module: statements, names, decorators, state, signature, kernels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from bringup.linter._module import PROVIDED, Zone, decorator_name, dotted
from bringup.linter._operators import computes, moves
from bringup.linter._rule import Context, Rule
from bringup.operators import CallShape
from bringup.verdict import Violation


class ForbiddenStatement(Rule):
    """Base of rules that forbid kinds of statements or expressions wherever they stand."""

    types: ClassVar[tuple[type[ast.AST], ...]]
    message: ClassVar[str]

    def check(self, context: Context) -> Iterator[Violation]:
        """Yield one violation for each such node."""
        for zone in context.module.zones:
            for node in zone.of(*self.types):
                yield self.at(context, node, self.message)


class NoImport(ForbiddenStatement):
    """`import x`, `from x import y`."""

    id = "no-import"
    title = "no import statements"
    advice = "Remove it: torch, triton, tl and math are already there, and nothing else is available."
    types = (ast.Import, ast.ImportFrom)
    message = "import statements are not allowed"


class NoClass(ForbiddenStatement):
    """`class X`."""

    id = "no-class"
    title = "no classes"
    advice = "Use plain functions and tuples."
    types = (ast.ClassDef,)
    message = "classes are not allowed"


class NoTry(ForbiddenStatement):
    """`try`: it would hide a fault of the device, or fall back to something else when a kernel fails."""

    id = "no-try"
    title = "no try statements: a fault of a kernel must not be hidden"
    advice = "Check the condition beforehand with if; raise is allowed where the operator must refuse its arguments."
    types = (ast.Try, ast.TryStar)
    message = "try statements are not allowed: they hide faults"


class NoWith(ForbiddenStatement):
    """`with`: contexts change devices and modes."""

    id = "no-with"
    title = "no with statements"
    advice = "Remove it: gradients are off, and the device is that of the inputs."
    types = (ast.With,)
    message = "with statements are not allowed: contexts change the device or the mode"


class NoAsync(ForbiddenStatement):
    """`async`, `await`."""

    id = "no-async"
    title = "no coroutines"
    advice = "Write plain synchronous functions."
    types = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    message = "async code is not allowed"


class NoGenerator(ForbiddenStatement):
    """`yield`: the wrapper returns its result."""

    id = "no-generator"
    title = "no generators"
    advice = "Return the result; use a list comprehension where a sequence is needed."
    types = (ast.Yield, ast.YieldFrom)
    message = "yield is not allowed"


class NoGlobal(ForbiddenStatement):
    """`global`, `nonlocal`."""

    id = "no-global"
    title = "no global or nonlocal: nothing is kept between calls"
    advice = "Pass values as arguments and return them."
    types = (ast.Global, ast.Nonlocal)
    message = "global and nonlocal are not allowed: a call must not depend on earlier calls"


class Decorators(Rule):
    """Only Triton's decorators, and only on kernels."""

    id = "decorator"
    title = "only triton.jit, triton.autotune and triton.heuristics as decorators, on kernels only"
    advice = "Remove it. Kernels and their helpers carry @triton.jit; wrapper carries nothing."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at every function, nested ones too."""
        module = context.module
        for zone in module.zones:
            nested = zone.of(ast.FunctionDef)
            for function in [*([zone.function] if zone.function else []), *nested]:
                for decorator in function.decorator_list:
                    name = decorator_name(decorator)
                    if name not in context.allowed.decorators:
                        yield self.at(context, decorator, f"decorator {name or 'expression'} is not allowed")
                    elif function.name == "wrapper" or function is not zone.function:
                        yield self.at(context, decorator, f"{function.name} must not be decorated with {name}")
                    elif name != "triton.jit" and function.name not in module.jit:
                        yield self.at(context, decorator, f"{name} stands on a function without triton.jit")


class RequiredNames(Rule):
    """One plain `def wrapper`; launched kernels are called kernel*."""

    id = "required-names"
    title = "exactly one wrapper; kernels are called kernel* and carry @triton.jit"
    advice = "Name kernels kernel_<something>, put @triton.jit on them, and define each function once."

    def check(self, context: Context) -> Iterator[Violation]:
        """Check definitions and launched names."""
        module = context.module
        wrapper = module.functions.get("wrapper")
        if wrapper is None:
            yield self.at(context, None, "there is no function named wrapper")
        for node in module.duplicates:
            yield self.at(context, node, f"{node.name} is defined twice")
        for name, node in module.functions.items():
            if name.startswith("kernel") and name not in module.jit:
                yield self.at(
                    context,
                    node,
                    f"{name} is not decorated with @triton.jit",
                    "Only kernels are called kernel*: put @triton.jit on it when it is one, and give it another name "
                    f"({name.removeprefix('kernel').lstrip('_') or 'launch'}, say) when it runs on the host.",
                )
        for zone in module.hosts:
            for call in zone.of(ast.Call):
                if isinstance(call.func, ast.Subscript) and isinstance(call.func.value, ast.Name):
                    name = call.func.value.id
                    if name in module.jit and not name.startswith("kernel"):
                        yield self.at(context, call, f"launched kernel {name} is not called kernel*")


class Signature(Rule):
    """The wrapper accepts every form in which the tests call the operator."""

    id = "wrapper-signature"
    title = "wrapper accepts every call shape of the operator"
    advice = (
        "Give wrapper the operator's own parameters, with its names, order and defaults; write a default list `[]` "
        "as a tuple `()`, since a list would be kept between calls."
    )

    def check(self, context: Context) -> Iterator[Violation]:
        """Compare the parameters with the operator's call shapes."""
        wrapper = context.module.functions.get("wrapper")
        if wrapper is None or context.operator is None:
            return
        problems: dict[str, str] = {}
        for shape in context.operator.call_shapes:
            problem = signature_problem(wrapper.args, shape)
            if problem and problem not in problems:
                keywords = ", ".join(f"{k}=..." for k in shape.keywords)
                arguments_ = ", ".join(filter(None, [", ".join(["..."] * shape.positional), keywords]))
                problems[problem] = f"wrapper({arguments_})"
        for problem, call in list(problems.items())[:4]:
            yield self.at(context, wrapper, f"the tests call {call}, but {problem}")


def signature_problem(args: ast.arguments, shape: CallShape) -> str | None:
    """Why a function with these parameters refuses a call of this shape; None when it accepts it."""
    positional = [*args.posonlyargs, *args.args]
    if shape.positional > len(positional) and not args.vararg:
        return f"it takes at most {len(positional)} positional argument{'s' if len(positional) != 1 else ''}"
    by_position = {a.arg for a in positional[: shape.positional]}
    named = {a.arg for a in [*args.args, *args.kwonlyargs]}
    for keyword in shape.keywords:
        if keyword in by_position and keyword in named:
            return f"its parameter {keyword} is then given twice"
        if keyword not in named and not args.kwarg:
            return f"it has no parameter named {keyword}"
    required = [a.arg for a in positional[: len(positional) - len(args.defaults)]]
    required += [a.arg for a, default in zip(args.kwonlyargs, args.kw_defaults, strict=True) if default is None]
    missing = [name for name in required if name not in by_position and name not in shape.keywords]
    return f"its parameter {missing[0]} is required" if missing else None


class RequiresKernel(Rule):
    """An operator that computes must launch a kernel of the candidate."""

    id = "requires-kernel"
    title = "an operator that computes launches at least one of the candidate's kernels"
    advice = "Compute in a @triton.jit function kernel_<something> and launch it with kernel_<something>[grid](...)."

    def check(self, context: Context) -> Iterator[Violation]:
        """Follow the wrapper through its helpers and look for a launch."""
        module = context.module
        wrapper = module.functions.get("wrapper")
        if wrapper is None or not computes(context.operator):
            return
        if context.dialect.copies == "move" and moves(context.operator):
            return  # the chip's copies may make that result
        if not module.jit:
            yield self.at(context, wrapper, "there is no kernel: the module has no @triton.jit function")
            return
        reachable = module.reachable()
        if not any(_launches(zone, set(module.jit)) for zone in reachable):
            yield self.at(context, wrapper, "wrapper launches no kernel")


def _launches(zone: Zone, jit: set[str]) -> bool:
    if any(isinstance(s.value, ast.Name) and s.value.id in jit for s in zone.of(ast.Subscript)):
        return True  # kernel[grid], called here or later
    for call in zone.of(ast.Call):
        if isinstance(call.func, ast.Subscript):
            root = call.func.value
            if not isinstance(root, ast.Name) or root.id in zone.bound:
                return True  # a kernel that was chosen or passed
    return False


class Shadowing(Rule):
    """The provided modules and `wrapper` keep their meaning."""

    id = "shadowing"
    title = "torch, triton, tl, math, wrapper and kernels are not rebound"
    advice = "Use another name."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at everything that is bound."""
        module = context.module
        for zone in module.zones:
            fixed = {"wrapper", *module.jit}
            hidden = (zone.bound & PROVIDED) | (fixed & (zone.bound if zone.function else set(module.globals)))
            for name in sorted(hidden):
                yield self.at(context, _binding(zone, name), f"the name {name} is rebound")


def _binding(zone: Zone, name: str) -> ast.AST | None:
    for node in zone.of(ast.Name):
        if node.id == name and not isinstance(node.ctx, ast.Load):
            return node
    for argument in zone.of(ast.arg):
        if argument.arg == name:
            return argument
    return zone.function


class ModuleState(Rule):
    """Nothing at module level that a call could change, and nothing that runs when the module is loaded."""

    id = "module-state"
    title = "module level holds functions and constants only; nothing is kept between calls"
    advice = "Build it inside wrapper, or make it a tuple, a number or tl.constexpr(...)."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at module-level statements, defaults of parameters and uses of module-level containers."""
        module = context.module
        for position, statement in enumerate(module.tree.body):
            if isinstance(
                statement, ast.FunctionDef | ast.Import | ast.ImportFrom | ast.ClassDef | ast.AsyncFunctionDef
            ):
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring or a comment in a string
            if isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets):
                value: ast.expr | None = statement.value
                names = [t.id for t in statement.targets if isinstance(t, ast.Name)]
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                value, names = statement.value, [statement.target.id]
            else:
                kind = type(statement).__name__
                yield self.at(context, statement, f"statement {position + 1} ({kind}) runs when the module is loaded")
                continue
            if value is None or _immutable(value):
                continue
            if not _readonly_container(value):
                yield self.at(context, statement, f"{', '.join(names)} is neither a constant nor a table of constants")
            else:
                for name in names:
                    use = _changing_use(context, name)
                    if use is not None:
                        yield self.at(context, use, f"the module-level container {name} can be changed here")
        for zone in module.zones:
            functions: list[ast.FunctionDef | ast.Lambda] = [zone.function] if zone.function else []
            functions += [*zone.of(ast.FunctionDef), *zone.of(ast.Lambda)]
            for function in functions:
                for default in (*function.args.defaults, *(d for d in function.args.kw_defaults if d)):
                    if not _immutable(default):
                        yield self.at(context, default, "a default that is not a constant is kept between calls")


_CONSTANT_CALLS = frozenset({"tl.constexpr", "float", "int", "frozenset", "triton.Config", "range", "torch.finfo"})


def _immutable(node: ast.expr) -> bool:
    """A constant expression: literals, tuples, dtypes, arithmetic, tl.constexpr(...), a lambda, a kernel's name."""
    if isinstance(node, ast.Constant | ast.Lambda | ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return dotted(node).split(".")[0] in PROVIDED or _immutable(node.value)
    if isinstance(node, ast.Tuple):
        return all(_immutable(e) for e in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _immutable(node.operand)
    if isinstance(node, ast.BinOp):
        return _immutable(node.left) and _immutable(node.right)
    if isinstance(node, ast.Call):
        if dotted(node.func) == "triton.Config":
            return True
        parts = [*node.args, *(k.value for k in node.keywords)]
        return dotted(node.func) in _CONSTANT_CALLS and all(_immutable(p) for p in parts)
    return isinstance(node, ast.Subscript) and _immutable(node.value) and _immutable(node.slice)


def _readonly_container(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Set):
        return all(_immutable(e) or _readonly_container(e) for e in node.elts)
    if isinstance(node, ast.Dict):
        parts = [*(k for k in node.keys if k), *node.values]
        return all(_immutable(p) or _readonly_container(p) for p in parts)
    return isinstance(node, ast.ListComp) and dotted(getattr(node.elt, "func", node.elt)) == "triton.Config"


_READS = frozenset({"get", "items", "keys", "values", "index", "count"})


def _readings(zone: Zone) -> set[int]:
    """Names and expressions of a zone that stand where they can only be read."""
    reading: set[int] = set()
    for subscript in zone.of(ast.Subscript):
        if isinstance(subscript.value, ast.Name) and isinstance(subscript.ctx, ast.Load):
            reading.add(id(subscript.value))
    for compare in zone.of(ast.Compare):
        reading.update(id(c) for c in compare.comparators)
    reading.update(id(loop.iter) for loop in zone.of(ast.For))
    reading.update(id(loop.iter) for loop in zone.of(ast.comprehension))
    for call in zone.of(ast.Call):
        function = zone.called(call)
        if function in {"len", "triton.autotune", "triton.heuristics"}:
            reading.update(id(a) for a in call.args)
            reading.update(id(k.value) for k in call.keywords)
    return reading


def _changing_use(context: Context, name: str) -> ast.AST | None:
    """The first use of a module-level container that is more than reading it."""
    module = context.module
    for zone in module.zones:
        if zone.function is not None and name in zone.bound:
            continue
        uses = [use for use in zone.names if use.id == name]
        reading = _readings(zone) if uses else set()
        for use in uses:
            if id(use) not in reading:
                return use
        for chain in zone.chains:
            if chain.root_name == name and not (len(chain.path) == 1 and chain.call and chain.path[0] in _READS):
                return chain.node
    return None


STRUCTURE_RULES: tuple[type[Rule], ...] = (
    NoImport,
    NoClass,
    NoTry,
    NoWith,
    NoAsync,
    NoGenerator,
    NoGlobal,
    Decorators,
    RequiredNames,
    Signature,
    RequiresKernel,
    Shadowing,
    ModuleState,
)
