"""What is a tensor outside kernels: a small abstract interpretation of the host functions, statement by statement.

It errs towards "unknown": a kind is only given when the code leaves no doubt, so that `n * 2`, `x.shape[0] * y` or
`sum(sizes)` raise no alarm. What stays unknown is left to the dispatch spy at run time.
"""

from __future__ import annotations

import ast

from bringup.linter._lattice import (
    EVIDENCE,
    NONE,
    OBJECT,
    PASSING_BUILTINS,
    SCALAR,
    SCALAR_ATTRIBUTES,
    SCALAR_BUILTINS,
    STRING,
    TENSOR,
    TENSOR_ATTRIBUTES,
    TENSORS,
    UNKNOWN,
    arithmetic,
    join,
    method_result,
    torch_result,
)
from bringup.linter._module import Module, arguments, dotted, nested_zone

Env = dict[str, int]


class Kinds:
    """Kinds of the expressions in host functions and module code; `of(node)` is UNKNOWN where nothing is certain."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._kinds: dict[int, int] = {}
        self._returns: dict[str, int] = {}
        self._active: set[str] = set()
        self._collected: list[int] = []
        self._zones = {z.name: z for z in module.hosts}
        self._sites: dict[str, list[Env]] = {}  # host function -> kinds of its arguments, by parameter, at each call
        self._passed: dict[str, Env] = {}
        self._infer()
        # A helper's parameter that is a tensor in every call is a tensor in it; one more round is enough in practice.
        if self._learn():
            self._kinds.clear()
            self._returns.clear()
            self._infer()

    def of(self, node: ast.AST) -> int:
        """Return the kind of an expression."""
        return self._kinds.get(id(node), UNKNOWN)

    # -- functions ----------------------------------------------------------------------------------------------

    def _infer(self) -> None:
        for name in [*(n for n in self._zones if n != "wrapper"), "wrapper"]:
            self._returned(name)

    def _learn(self) -> bool:
        """Find parameters that every call gives a tensor; False when that tells nothing new."""
        for name, calls in self._sites.items():
            known = self._parameters(self._zones[name].function) if name != "wrapper" else {}  # type: ignore[arg-type]
            for parameter, kind in known.items():
                kinds = {call.get(parameter, UNKNOWN) for call in calls}
                if kind == UNKNOWN and len(kinds) == 1 and kinds <= {TENSOR, TENSORS}:
                    self._passed.setdefault(name, {})[parameter] = kinds.pop()
        return bool(self._passed)

    def _site(self, name: str, call: ast.Call, kinds: list[int]) -> None:
        function = self._module.functions[name]
        if name not in self._zones or any(isinstance(a, ast.Starred) for a in call.args):
            return
        parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        given = dict(zip(parameters, kinds, strict=False))
        given.update({k.arg: self.of(k.value) for k in call.keywords if k.arg})
        self._sites.setdefault(name, []).append(given)

    def _returned(self, name: str) -> int:
        if name in self._returns:
            return self._returns[name]
        function = self._module.functions.get(name)
        if function is None or name in self._active or name in self._module.jit:
            return UNKNOWN
        self._active.add(name)
        outer, self._collected = self._collected, []
        self._block(function.body, self._parameters(function))
        kind = self._collected[0] if self._collected else NONE
        for other in self._collected[1:]:
            kind = join(kind, other)
        self._collected = outer
        self._active.discard(name)
        self._returns[name] = kind
        return kind

    def _parameters(self, function: ast.FunctionDef) -> Env:
        """Kinds of the parameters: tensors by annotation or use; nothing is assumed of what isinstance asks about."""
        zone = self._zones.get(function.name)
        if zone is None or zone.function is not function:  # nested: its code is part of the zone around it
            zone = nested_zone(function)
        tested = {
            n.id
            for call in zone.of(ast.Call)
            if call.args and zone.called(call) in {"isinstance", "torch.is_tensor", "type"}
            for n in ast.walk(call.args[0])
            if isinstance(n, ast.Name)
        }
        evidence = {c.root_name for c in zone.chains if c.path[0] in EVIDENCE}
        env: Env = {}
        for argument in arguments(function.args):
            name = argument.arg
            annotation = dotted(argument.annotation) if argument.annotation else ""
            if name in tested:
                env[name] = UNKNOWN
            elif name in evidence or annotation == "torch.Tensor":
                env[name] = TENSOR
            elif annotation in {"int", "float", "bool", "str"}:
                env[name] = STRING if annotation == "str" else SCALAR
            else:
                env[name] = UNKNOWN
        if function.name == "wrapper":
            positional = [*function.args.posonlyargs, *function.args.args]
            if positional and positional[0].arg in {"input", "self"} and positional[0].arg not in tested:
                required = len(positional) > len(function.args.defaults)
                env[positional[0].arg] = TENSOR if required else env[positional[0].arg]
        for parameter, kind in self._passed.get(function.name, {}).items():
            if parameter in env and parameter not in tested and self._zones[function.name].function is function:
                env[parameter] = kind
        for variadic in (function.args.vararg, function.args.kwarg):
            if variadic:
                env[variadic.arg] = OBJECT
        return env

    # -- statements ---------------------------------------------------------------------------------------------

    def _block(self, body: list[ast.stmt], env: Env | None) -> Env | None:
        """Run statements; None means that the end is not reached."""
        for statement in body:
            if env is None:
                return None
            env = self._statement(statement, env)
        return env

    def _statement(self, node: ast.stmt, env: Env) -> Env | None:
        if isinstance(node, ast.Assign):
            kind = self._expression(node.value, env)
            for target in node.targets:
                self._assign(target, node.value, kind, env)
        elif isinstance(node, ast.AnnAssign):
            if node.value:
                self._assign(node.target, node.value, self._expression(node.value, env), env)
        elif isinstance(node, ast.AugAssign):
            right = self._expression(node.value, env)
            if isinstance(node.target, ast.Name):
                left = env.get(node.target.id, UNKNOWN)
                self._note(node.target, left)
                env[node.target.id] = arithmetic(left, right)
            else:
                self._expression(node.target, env)
        elif isinstance(node, ast.Return):
            self._collected.append(self._expression(node.value, env) if node.value else NONE)
            return None
        elif isinstance(node, ast.Raise | ast.Continue | ast.Break):
            return None
        elif isinstance(node, ast.If):
            self._expression(node.test, env)
            return _merge(
                self._block(node.body, self._narrow(node.test, env, True)),
                self._block(node.orelse, self._narrow(node.test, env, False)),
            )
        elif isinstance(node, ast.For | ast.While):
            return self._loop(node, env)
        elif isinstance(node, ast.Expr):
            self._expression(node.value, env)
        elif isinstance(node, ast.Assert):
            self._expression(node.test, env)
            return self._narrow(node.test, env, True)
        elif isinstance(node, ast.FunctionDef):
            env[node.name] = OBJECT
            inner = {**env, **self._parameters(node)}
            outer, self._collected = self._collected, []
            self._block(node.body, inner)
            self._collected = outer
        elif isinstance(node, ast.Try):
            after = self._block(node.body, dict(env))
            for handler in node.handlers:
                after = _merge(after, self._block(handler.body, dict(env)))
            return self._block(node.finalbody, after)
        elif isinstance(node, ast.With):
            for item in node.items:
                self._expression(item.context_expr, env)
            return self._block(node.body, env)
        elif isinstance(node, ast.Match):
            self._expression(node.subject, env)
            matched: Env | None = dict(env)
            for case in node.cases:
                inner = dict(env)
                inner.update({n.name: UNKNOWN for n in ast.walk(case.pattern) if isinstance(n, ast.MatchAs) and n.name})
                matched = _merge(matched, self._block(case.body, inner))
            return matched
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expression(child, env)
        return env

    def _loop(self, node: ast.For | ast.While, env: Env) -> Env | None:
        # Names that the body assigns are joined with their values before it; two rounds reach the fixed point
        # of this lattice, whose only step is towards UNKNOWN.
        assigned = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        current = dict(env)
        for _ in range(2):
            inner = dict(current)
            if isinstance(node, ast.For):
                kind = self._element(self._expression(node.iter, inner))
                self._assign(node.target, None, kind, inner)
            else:
                self._expression(node.test, inner)
            after = self._block(node.body, inner)
            for name in assigned:
                reached = after.get(name, UNKNOWN) if after is not None else UNKNOWN
                current[name] = join(current.get(name, reached), reached)
        return self._block(node.orelse, current) if node.orelse else current

    def _assign(self, target: ast.expr, value: ast.expr | None, kind: int, env: Env) -> None:
        if isinstance(target, ast.Name):
            env[target.id] = kind
        elif isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
                for one, source in zip(target.elts, value.elts, strict=True):
                    self._assign(one, source, self.of(source), env)
            else:
                for one in target.elts:
                    self._assign(one, None, self._element(kind), env)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None, OBJECT, env)
        else:
            self._expression(target, env)

    @staticmethod
    def _element(kind: int) -> int:
        if kind in (TENSOR, TENSORS):
            return TENSOR
        return kind if kind in (SCALAR, STRING) else UNKNOWN

    def _narrow(self, test: ast.expr, env: Env, truth: bool) -> Env:
        """The environment in the branch where `test` came out as `truth`."""
        env = dict(env)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self._narrow(test.operand, env, not truth)
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) == truth:
                for value in test.values:
                    env = self._narrow(value, env, truth)
            return env
        if isinstance(test, ast.Call) and test.args and isinstance(test.args[0], ast.Name):
            name = test.args[0].id
            function = dotted(test.func)
            types: list[str] = []
            if function == "torch.is_tensor":
                types = ["torch.Tensor"]
            elif function == "isinstance" and len(test.args) == 2:
                second = test.args[1]
                types = [dotted(t) for t in (second.elts if isinstance(second, ast.Tuple) else [second])]
            if types == ["torch.Tensor"]:
                env[name] = TENSOR if truth else OBJECT
            elif types and "torch.Tensor" not in types and all(types) and truth:
                scalars = {"int", "float", "bool", "complex"}
                env[name] = SCALAR if set(types) <= scalars else STRING if types == ["str"] else OBJECT
        elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
            none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
            if none and isinstance(test.ops[0], ast.Is if truth else ast.IsNot):
                env[test.left.id] = NONE
        return env

    # -- expressions --------------------------------------------------------------------------------------------

    def _note(self, node: ast.expr, kind: int) -> int:
        known = self._kinds.get(id(node))
        self._kinds[id(node)] = kind if known is None else join(known, kind)
        return kind

    def _expression(self, node: ast.expr, env: Env) -> int:
        return self._note(node, self._evaluate(node, env))

    def _evaluate(self, node: ast.expr, env: Env) -> int:
        if isinstance(node, ast.Constant):
            value = node.value
            return NONE if value is None else STRING if isinstance(value, str | bytes) else SCALAR
        if isinstance(node, ast.Name):
            if node.id in env:
                return env[node.id]
            return OBJECT if node.id in self._module.functions else UNKNOWN
        if isinstance(node, ast.Attribute):
            return self._attribute(node, env)
        if isinstance(node, ast.Call):
            return self._call(node, env)
        if isinstance(node, ast.BinOp):
            left, right = self._expression(node.left, env), self._expression(node.right, env)
            if left == STRING and isinstance(node.op, ast.Mod):
                return STRING
            return arithmetic(left, right)
        if isinstance(node, ast.UnaryOp):
            kind = self._expression(node.operand, env)
            return SCALAR if isinstance(node.op, ast.Not) else kind
        if isinstance(node, ast.Compare):
            kinds = [self._expression(node.left, env)] + [self._expression(c, env) for c in node.comparators]
            plain = all(isinstance(o, ast.Is | ast.IsNot | ast.In | ast.NotIn) for o in node.ops)
            return TENSOR if TENSOR in kinds and not plain else SCALAR
        if isinstance(node, ast.BoolOp):
            kind = -1
            for operand in node.values:
                found = self._expression(operand, env)
                kind = found if kind < 0 else join(kind, found)
                env = self._narrow(operand, env, isinstance(node.op, ast.And))
            return kind
        if isinstance(node, ast.IfExp):
            self._expression(node.test, env)
            return join(
                self._expression(node.body, self._narrow(node.test, env, True)),
                self._expression(node.orelse, self._narrow(node.test, env, False)),
            )
        if isinstance(node, ast.Tuple | ast.List):
            return self._display([self._expression(e, env) for e in node.elts])
        if isinstance(node, ast.Subscript):
            self._expression(node.slice, env)
            kind = self._expression(node.value, env)
            if kind == TENSORS:
                return TENSORS if isinstance(node.slice, ast.Slice) else TENSOR
            return kind if kind in (TENSOR, SCALAR, STRING) else UNKNOWN
        if isinstance(node, ast.JoinedStr):
            for part in node.values:
                if isinstance(part, ast.FormattedValue):
                    self._expression(part.value, env)
            return STRING
        if isinstance(node, ast.NamedExpr):
            kind = self._expression(node.value, env)
            env[node.target.id] = kind
            return kind
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            return self._comprehension(node, env)
        if isinstance(node, ast.Lambda):
            inner = {**env, **{a.arg: UNKNOWN for a in arguments(node.args)}}
            self._expression(node.body, inner)
            return OBJECT
        if isinstance(node, ast.Dict | ast.Set):
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self._expression(child, env)
            return OBJECT
        if isinstance(node, ast.Slice):
            for part_ in (node.lower, node.upper, node.step):
                if part_ is not None:
                    self._expression(part_, env)
            return SCALAR
        if isinstance(node, ast.Starred):
            return self._element(self._expression(node.value, env))
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self._expression(child, env)
        return UNKNOWN

    @staticmethod
    def _display(kinds: list[int]) -> int:
        if not kinds:
            return OBJECT
        if all(k == TENSOR for k in kinds):
            return TENSORS
        return SCALAR if all(k in (SCALAR, STRING, NONE) for k in kinds) else OBJECT

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, env: Env) -> int:
        env = dict(env)
        for generator in node.generators:
            kind = self._expression(generator.iter, env)
            self._assign(generator.target, None, self._element(kind), env)
            for test in generator.ifs:
                self._expression(test, env)
                env = self._narrow(test, env, True)
        if isinstance(node, ast.DictComp):
            self._expression(node.key, env)
            self._expression(node.value, env)
            return OBJECT
        return self._display([self._expression(node.elt, env)])

    def _attribute(self, node: ast.Attribute, env: Env) -> int:
        name = dotted(node)
        if name and name.split(".")[0] in {"torch", "triton", "tl", "math"}:
            return SCALAR
        kind = self._expression(node.value, env)
        if node.attr in TENSOR_ATTRIBUTES and kind == TENSOR:
            return TENSOR
        if node.attr in SCALAR_ATTRIBUTES and kind not in (TENSORS, OBJECT):
            return SCALAR
        return SCALAR if kind == SCALAR else UNKNOWN

    def _call(self, node: ast.Call, env: Env) -> int:
        kinds = [self._expression(a, env) for a in node.args]
        for keyword in node.keywords:
            self._expression(keyword.value, env)
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in self._module.functions and function.id not in env:
                self._site(function.id, node, kinds)
            return self._call_name(function.id, kinds, env)
        if isinstance(function, ast.Attribute):
            name = dotted(function)
            root, _, rest = name.partition(".")
            if root == "torch":
                return torch_result(rest)
            if root in {"triton", "math"}:
                return SCALAR
            kind = self._expression(function.value, env)
            return method_result(function.attr, kind)
        if isinstance(function, ast.Subscript):  # a kernel launch
            self._expression(function, env)
            return NONE
        self._expression(function, env)
        return UNKNOWN

    def _call_name(self, name: str, kinds: list[int], env: Env) -> int:
        if name in env:
            return UNKNOWN
        if name in self._module.functions:
            return self._returned(name)
        if name in SCALAR_BUILTINS:
            return STRING if name in {"str", "repr"} else SCALAR
        if name in PASSING_BUILTINS:
            if all(k == SCALAR for k in kinds) and kinds:
                return SCALAR
            if name in {"list", "tuple", "reversed"}:
                return kinds[0] if kinds and kinds[0] == TENSORS else OBJECT
            return UNKNOWN
        return OBJECT if name in {"set", "dict", "frozenset", "zip", "enumerate", "map", "filter", "iter"} else UNKNOWN


def _merge(a: Env | None, b: Env | None) -> Env | None:
    if a is None or b is None:
        return b if a is None else a
    return {
        name: join(a[name], b[name]) if name in a and name in b else a.get(name, b.get(name, UNKNOWN))
        for name in a.keys() | b.keys()
    }
