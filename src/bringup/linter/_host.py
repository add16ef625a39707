"""Rules on code outside kernels: PyTorch may allocate, view and describe tensors there, and nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from bringup.linter._lattice import OBJECT, STRING, TENSOR, TENSORS, UNKNOWN
from bringup.linter._module import PROVIDED, Chain, Zone, words
from bringup.linter._operators import reads_values
from bringup.linter._rule import Context, Rule
from bringup.verdict import Violation

_DEVICE_METHODS = words("cpu cuda npu xpu hpu mps mtia numpy pin_memory share_memory_ to_dense to_mkldnn")
_CASTS = words("to type type_as float half bfloat16 double int long short char byte bool")
# Methods of Python's own objects that no tensor shares, and (second set) those that tensors have too.
_PYTHON_METHODS = words(
    "append extend insert pop remove index count reverse copy clear get items keys update setdefault "
    "popitem discard issubset issuperset isdisjoint difference intersection union symmetric_difference "
    "startswith endswith strip lstrip rstrip lower upper join replace find rfind isdigit isalpha "
    "partition rpartition title zfill bit_length bit_count is_integer as_integer_ratio is_floating_point "
    "is_complex numel"
)
_SHARED_METHODS = words("sort add values split conjugate")
# Attributes of dtypes, devices, finfo/iinfo, slices and Python numbers.
_PYTHON_ATTRIBUTES = words(
    "is_floating_point is_complex is_signed itemsize eps max min tiny bits smallest_normal resolution "
    "type index start stop step real imag"
)
_DTYPE_ATTRIBUTES = words("is_floating_point is_complex is_signed itemsize")
_DTYPE = re.compile(r"tl\.b?(?:u?int|float)\d+\w*")
_CAST_ADVICE = (
    "A cast is a computation: allocate the output in the right dtype and convert in the kernel (value.to(...))."
)

_ADDRESSES = words("data_ptr untyped_storage storage typed_storage set_ is_set_to")
_ADDRESS_ADVICE = "Pass the tensor itself to the kernel: it gets the address; stride() and storage_offset() say more."


def _host_zones(context: Context) -> list[Zone]:
    return context.module.outside


class TorchFunction(Rule):
    """The allowlist of `torch.*`: functions when called, constants otherwise."""

    id = "torch-function"
    title = "only allocation, views and metadata of torch"
    advice = ""

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at every chain that starts at torch, outside kernels."""
        allowed = context.allowed
        for zone in _host_zones(context):
            for chain in zone.chains:
                if chain.root_name != "torch" or "torch" in zone.bound:
                    continue
                name = chain.dotted
                if chain.call is not None and name in allowed.torch_functions:
                    continue
                if name in allowed.torch_constants and (chain.call is None or name == "torch.Size"):
                    continue
                if _attribute_of_constant(chain, allowed.torch_constants):
                    continue
                if name == "torch.device" or name.startswith("torch.device."):
                    continue  # DeviceMove speaks
                if name in allowed.torch_functions:
                    yield self.at(context, chain.node, f"{name} is used as a value", "Call it where it is needed.")
                    continue
                yield self.at(context, chain.node, f"{name} is not allowed", self._advice(name, context))

    @staticmethod
    def _advice(name: str, context: Context) -> str:
        last = name.rsplit(".", 1)[-1]
        if last in {"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "tensor", "scalar_tensor", "eye"}:
            return (
                "Allocate with torch.empty and write the values in a kernel; pass Python numbers as kernel arguments."
            )
        if last in {"cat", "stack", "where", "arange", "linspace"}:
            return "Allocate the result with torch.empty and fill it in a kernel."
        if last in {"no_grad", "inference_mode", "manual_seed", "compile", "set_default_device"}:
            return "Remove it: it changes nothing here."
        return "It leaves the work to PyTorch: compute it in a kernel."


def _attribute_of_constant(chain: Chain, constants: frozenset[str]) -> bool:
    """`torch.float32.itemsize`."""
    prefix, _, last = chain.dotted.rpartition(".")
    return prefix in constants and last in _DTYPE_ATTRIBUTES and chain.call is None


class TritonFunction(Rule):
    """The allowlist of `triton.*`; its decorators only as decorators."""

    id = "triton-function"
    title = "only triton.cdiv, triton.next_power_of_2, triton.Config and the kernel decorators"
    advice = "Use tl.* in kernels, and integer arithmetic or triton.cdiv outside."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at every chain that starts at triton."""
        allowed = context.allowed
        decorators = {
            id(d.func if isinstance(d, ast.Call) else d)
            for zone in context.module.zones
            if zone.function
            for d in zone.function.decorator_list
        }
        for zone in context.module.zones:
            for chain in zone.chains:
                if chain.root_name != "triton":
                    continue
                if chain.dotted in allowed.decorators and id(chain.node) in decorators:
                    continue
                if chain.dotted in allowed.triton_functions and chain.call is not None:
                    continue
                if chain.dotted == "triton.Config":
                    continue
                yield self.at(context, chain.node, f"{chain.dotted} is not allowed here")


class TlScope(Rule):
    """`tl` belongs into kernels; outside only dtypes, passed to a kernel as constexpr."""

    id = "tl-scope"
    title = "tl only inside kernels; outside only its dtypes and tl.constexpr(...)"
    advice = "Use tl inside @triton.jit functions; outside, use triton.cdiv and Python arithmetic."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at chains that start at tl or libdevice outside kernels."""
        for zone in _host_zones(context):
            for chain in zone.chains:
                if chain.root_name not in {"tl", "libdevice"} or chain.dotted in context.allowed.tl_host:
                    continue
                if context.allowed.tl_host and _DTYPE.fullmatch(chain.dotted):
                    kinds = ", ".join(n for n in context.dialect.tl_host if _DTYPE.fullmatch(n))
                    message = f"the target has no dtype {chain.dotted}"
                    yield self.at(context, chain.node, message, f"Its dtypes are {kinds}.")
                else:
                    yield self.at(context, chain.node, f"{chain.dotted} is used outside a kernel")


class TensorMethod(Rule):
    """The allowlist of tensor methods. A method that nothing but a tensor has is checked on unknown values too."""

    id = "tensor-method"
    title = "only methods of tensors that allocate, view or describe"
    advice = "It leaves the work to PyTorch: compute it in a kernel."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at the called end of every chain whose root is no module."""
        allowed = context.allowed
        for chain in _object_chains(context):
            if chain.call is None:
                continue
            method = chain.path[-1]
            if method in allowed.tensor_methods or method in allowed.value_reads or method.startswith("_"):
                continue
            kind = _receiver(context, chain)
            if method in _DEVICE_METHODS or (method in _CASTS and _moves(context, chain.call)):
                continue  # DeviceMove speaks
            if kind == TENSOR:
                if method == "copy_":
                    yield self.at(
                        context, chain.node, "tensor method .copy_() is not allowed", "Store the values in a kernel."
                    )
                else:
                    advice = _method_advice(method)
                    yield self.at(context, chain.node, f"tensor method .{method}() is not allowed", advice)
            elif method not in _PYTHON_METHODS and not (method in _SHARED_METHODS and kind != UNKNOWN):
                advice = _method_advice(method)
                yield self.at(context, chain.node, f"method .{method}() is not allowed", advice)


def _method_advice(method: str) -> str | None:
    """Return what to do instead of a method; None: what the rule says of all."""
    if method in _CASTS:
        return _CAST_ADVICE
    return _ADDRESS_ADVICE if method in _ADDRESSES else None


class TensorAttribute(Rule):
    """The allowlist of attributes, and no methods as values."""

    id = "tensor-attribute"
    title = "only attributes that describe a tensor, its dtype or its device"
    advice = "Use shape, dtype, device, ndim or the methods stride(), numel(), is_contiguous()."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at every part of a chain but a called end."""
        allowed = context.allowed
        known = allowed.tensor_attributes | _PYTHON_ATTRIBUTES
        for chain in _object_chains(context):
            inner = chain.path[:-1] if chain.call is not None else chain.path
            for part in inner:
                if part not in known and not part.startswith("_") and not chain.store:
                    if part in allowed.tensor_methods or part in _PYTHON_METHODS:
                        message, advice = f"method {part} is used as a value", "Call it where it is needed."
                    else:
                        message, advice = f"attribute .{part} is not allowed", None
                    yield self.at(context, chain.node, message, advice)
                    break


def _object_chains(context: Context) -> Iterator[Chain]:
    functions = context.module.functions
    for zone in _host_zones(context):
        for chain in zone.chains:
            if chain.root_name not in PROVIDED and not (
                chain.root_name in functions and chain.root_name not in zone.bound
            ):
                yield chain


def _receiver(context: Context, chain: Chain) -> int:
    return context.kinds.of(chain.node.value)


def _moves(context: Context, call: ast.Call) -> bool:
    """Whether a call of .to() or the like names a device."""
    if any(k.arg in {"device", "non_blocking"} for k in call.keywords):
        return True
    return any(
        context.kinds.of(a) == STRING or (isinstance(a, ast.Attribute) and a.attr == "device") for a in call.args
    )


class DeviceMove(Rule):
    """Everything stays on the device of the inputs."""

    id = "device-move"
    title = "no moves between devices: methods, device= strings, torch.device"
    advice = "Stay on the device of the inputs: device=input.device when allocating, kernels for the work."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at methods, keywords and torch.device."""
        for chain in _object_chains(context):
            if chain.call is None:
                continue
            method = chain.path[-1]
            if method in _DEVICE_METHODS or (method in _CASTS and _moves(context, chain.call)):
                yield self.at(context, chain.node, f".{method}() moves data between devices")
        for zone in _host_zones(context):
            for chain in zone.chains:
                if chain.dotted == "torch.device" or chain.dotted.startswith("torch.device."):
                    if chain.call is None and id(chain.node) in context.module.type_positions():
                        continue
                    yield self.at(context, chain.node, "torch.device is not allowed")
            for keyword in zone.of(ast.keyword):
                if keyword.arg == "device" and _is_string(context, keyword.value):
                    yield self.at(context, keyword.value, "device is given as a string")
            for table in zone.of(ast.Dict):  # keyword arguments in the making
                for key, value in zip(table.keys, table.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "device" and _is_string(context, value):
                        yield self.at(context, value, "device is given as a string")


def _is_string(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | int) and not isinstance(node.value, bool)
    return context.kinds.of(node) == STRING


class DeviceArgument(Rule):
    """torch.empty without device= allocates on the host."""

    id = "device-argument"
    title = "torch.empty, torch.empty_strided and torch.empty_permuted name the device"
    advice = "Add device=input.device (of any input tensor), or use torch.empty_like or input.new_empty."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at calls of the three."""
        for zone in _host_zones(context):
            for chain in zone.chains:
                if chain.call is None or chain.dotted not in _ALLOCATORS:
                    continue
                keywords = {k.arg for k in chain.call.keywords}
                if "device" not in keywords and None not in keywords and "out" not in keywords:
                    yield self.at(context, chain.node, f"{chain.dotted} without device= allocates on the host")


_ALLOCATORS = frozenset({"torch.empty", "torch.empty_strided", "torch.empty_permuted"})
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.USub: "unary -", ast.UAdd: "unary +", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in",
    ast.NotIn: "not in",
}  # fmt: skip


class TensorOperator(Rule):
    """Arithmetic, comparison and matrix product on values that are known to be tensors."""

    id = "tensor-operator"
    title = "no arithmetic, comparison or @ on tensors outside kernels"
    advice = "It leaves the work to PyTorch: compute it in a kernel."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at operators in functions outside kernels."""
        kinds = context.kinds
        for zone in context.module.outside:
            for node in zone.of(ast.BinOp):
                left, right = kinds.of(node.left), kinds.of(node.right)
                if left == STRING and right != TENSOR:
                    continue
                if TENSOR in (left, right) or isinstance(node.op, ast.MatMult):
                    yield self._found(context, node, node.op)
            for augmented in zone.of(ast.AugAssign):
                target = kinds.of(augmented.target)
                operands = (target, kinds.of(augmented.value))
                grows = target in (TENSORS, OBJECT)  # a list of tensors, extended
                if (TENSOR in operands and not grows) or isinstance(augmented.op, ast.MatMult):
                    yield self._found(context, augmented, augmented.op, "=")
            for unary in zone.of(ast.UnaryOp):
                if kinds.of(unary.operand) == TENSOR and not isinstance(unary.op, ast.Not):
                    yield self._found(context, unary, unary.op)
            for compare in zone.of(ast.Compare):
                operands_ = [compare.left, *compare.comparators]
                for i, op in enumerate(compare.ops):
                    left, right = kinds.of(operands_[i]), kinds.of(operands_[i + 1])
                    membership = isinstance(op, ast.In | ast.NotIn)
                    if isinstance(op, ast.Is | ast.IsNot):
                        continue
                    if right == TENSOR or (left == TENSOR and not membership):
                        yield self._found(context, compare, op)

    def _found(self, context: Context, node: ast.AST, op: ast.AST, suffix: str = "") -> Violation:
        return self.at(context, node, f"operator {_OPERATORS[type(op)]}{suffix} on a tensor outside a kernel")


_READING = words("float int bool complex round str repr")
_COMPUTING = words("sum min max abs pow divmod sorted any all round")


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


class TensorValue(Rule):
    """A wrapper does not look at values: not by truth, not by conversion, not by .item()."""

    id = "tensor-value"
    title = "no reading of tensor values on the host (truth, float(), .item(), built-ins that compute)"
    advice = "Read the value inside a kernel (tl.load); pass shapes and Python numbers as arguments."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at tests, conversions and reading methods."""
        kinds = context.kinds
        may_read = reads_values(context.operator)
        for zone in context.module.outside:
            for call in zone.of(ast.Call):
                if isinstance(call.func, ast.Name) and call.func.id not in zone.bound:
                    name = call.func.id
                    passed = {a.id for a in _arguments(call) if isinstance(a, ast.Name)} - set(zone.bound)
                    if passed & (_READING | _COMPUTING) and any(kinds.of(a) in (TENSOR, TENSORS) for a in call.args):
                        yield self.at(context, call, f"{name}() applies a built-in to tensors")
                    given = [kinds.of(a) for a in call.args]
                    if name in _COMPUTING and TENSORS in given:
                        yield self.at(
                            context, call, f"{name}() on tensors leaves the work to PyTorch", "Compute it in a kernel."
                        )
                    if TENSOR not in given:
                        continue
                    if name in _COMPUTING and not (name in {"min", "max", "round"} and len(call.args) > 1 and may_read):
                        yield self.at(
                            context, call, f"{name}() on a tensor leaves the work to PyTorch", "Compute it in a kernel."
                        )
                    elif name in _READING and not may_read:
                        yield self.at(context, call, f"{name}() reads the value of a tensor")
            if may_read:
                continue
            for test in _tests(zone):
                if kinds.of(test) == TENSOR:
                    yield self.at(context, test, "the truth value of a tensor is read", _truth_advice(test))
            for formatted in zone.of(ast.FormattedValue):
                if kinds.of(formatted.value) == TENSOR:
                    yield self.at(context, formatted, "a tensor is printed into a string")
            for chain in zone.chains:
                if (
                    chain.call is not None
                    and chain.path[-1] in context.allowed.value_reads
                    and chain.root_name not in PROVIDED
                ):
                    yield self.at(
                        context,
                        chain.node,
                        f".{chain.path[-1]}() reads values of a tensor",
                        "Read the value inside a kernel (tl.load). Only operators whose result or whose output shape "
                        "depends on values may read them on the host.",
                    )


def _truth_advice(test: ast.expr) -> str | None:
    return "Ask `is not None` where an argument may be missing." if isinstance(test, ast.Name) else None


def _tests(zone: Zone) -> Iterator[ast.expr]:
    for node in zone.of(ast.If, ast.While, ast.IfExp, ast.Assert):
        assert isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert)
        yield node.test
    for unary in zone.of(ast.UnaryOp):
        if isinstance(unary.op, ast.Not):
            yield unary.operand
    for boolean in zone.of(ast.BoolOp):
        yield from boolean.values[:-1]
    for comprehension in zone.of(ast.comprehension):
        yield from comprehension.ifs


class TensorIndex(Rule):
    """Slices and integers make views; tensors and lists as indices compute, and stores write."""

    id = "tensor-index"
    title = "indexing tensors by tensors or lists, and writing into them, is work for kernels"
    advice = "Do it in a kernel with tl.load and tl.store."

    def check(self, context: Context) -> Iterator[Violation]:
        """Look at subscripts of known tensors."""
        kinds = context.kinds
        for zone in context.module.outside:
            for node in zone.of(ast.Subscript):
                if kinds.of(node.value) != TENSOR:
                    continue
                if not isinstance(node.ctx, ast.Load):
                    yield self.at(context, node, "a tensor is written outside a kernel")
                    continue
                parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                for part in parts:
                    if kinds.of(part) in (TENSOR, TENSORS) or isinstance(part, ast.List | ast.ListComp):
                        yield self.at(context, node, "a tensor is indexed by a tensor or a list")
                        break


HOST_RULES: tuple[type[Rule], ...] = (
    TorchFunction,
    TritonFunction,
    TlScope,
    TensorMethod,
    TensorAttribute,
    DeviceMove,
    DeviceArgument,
    TensorOperator,
    TensorValue,
    TensorIndex,
)
