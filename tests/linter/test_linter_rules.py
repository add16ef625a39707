"""Every rule of the full set: what it catches, and honest code beside it that it must leave alone."""

from __future__ import annotations

import textwrap

import pytest

from bringup.candidate import Candidate
from bringup.dialect import Dialect, load_dialect
from bringup.linter import RULES, computes, lint, reads_values
from bringup.operators import CallShape, Operator
from bringup.suites import _aten
from bringup.verdict import Violation

DIALECT = load_dialect("triton")

KERNEL = """\
@triton.jit
def kernel_copy(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

"""
LAUNCH = "kernel_copy[(1,)](input, out, input.numel(), BLOCK=64)"


def operator(overloads: tuple[str, ...] = ("aten.exp.default",), calls: tuple[CallShape, ...] = ()) -> Operator:
    return Operator(
        name="op",
        suite="test",
        category="Other",
        case_counts={"float32": 1},
        overloads=overloads,
        computes=_aten.computes(overloads),
        reads=_aten.read_allowance(overloads),
        call_shapes=calls,
    )


def found(source: str, op: Operator | None = None, dialect: Dialect = DIALECT) -> list[Violation]:
    return lint(Candidate(source=textwrap.dedent(source)), dialect, op)


def in_wrapper(body: str, parameters: str = "input, other=None", extra: str = "") -> str:
    """A module whose wrapper runs `body` before a proper launch."""
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return (
        f"{KERNEL}{textwrap.dedent(extra)}\ndef wrapper({parameters}):\n"
        f"    out = torch.empty_like(input)\n{lines}\n    {LAUNCH}\n    return out\n"
    )


def in_kernel(body: str, extra: str = "") -> str:
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    return (
        f"{textwrap.dedent(extra)}\n@triton.jit\ndef kernel_copy(x, y, n, BLOCK: tl.constexpr):\n"
        f"    i = tl.arange(0, BLOCK)\n    v = tl.load(x + i)\n{lines}\n    tl.store(y + i, v)\n\n"
        f"def wrapper(input):\n    out = torch.empty_like(input)\n    {LAUNCH}\n    return out\n"
    )


WRAPPER_FAULTS = [
    ("no-import", "import os"),
    ("no-import", "from torch import sum"),
    ("no-class", "class T: pass"),
    ("no-try", "try:\n    n = 1\nfinally:\n    n = 2"),
    ("no-with", "with torch.no_grad():\n    n = 1"),
    ("no-global", "global n"),
    ("no-generator", "f = lambda: (yield)"),
    ("no-async", "async def f(): pass"),
    ("dynamic-code", "eval('torch.linalg.svd')"),
    ("dynamic-code", "exec('x = 1')"),
    ("dynamic-code", "getattr(torch, 'special').airy_ai(input)"),
    ("dynamic-code", "f = getattr"),
    ("dynamic-code", "__import__('os')"),
    ("dynamic-code", "globals()['x'] = 1"),
    ("dynamic-code", "type(input).sum(input)"),
    ("dynamic-code", "open('x')"),
    ("dynamic-code", "vars(input)"),
    ("dynamic-code", "breakpoint()"),
    ("dynamic-code", "[e for e in map(eval, ['1'])]"),
    ("unknown-name", "np.sum(input)"),
    ("unknown-name", "F.relu(input)"),
    ("unknown-name", "print(input)"),
    ("unknown-name", "libdevice.tanh(1)"),
    ("module-alias", "t = torch"),
    ("module-alias", "t = [torch][0]"),
    ("module-alias", "f = lambda m=torch: m"),
    ("module-alias", "list(map(lambda m: m, (torch,)))"),
    ("module-alias", "{'t': torch}['t'].sum(input)"),
    ("shadowing", "torch = input"),
    ("shadowing", "kernel_copy = input"),
    ("dunder", "input.__class__"),
    ("dunder", "input.__add__(input)"),
    ("dunder", "().__class__.__bases__[0].__subclasses__()"),
    ("dunder", "torch._C._nn.gelu(input)"),
    ("dunder", "input._base"),
    ("dunder", "__name__"),
    ("dynamic-code", "__builtins__"),
    ("dynamic-code", "match input:\n    case torch.Tensor(mean=m):\n        m()"),
    ("device-move", "d = {'device': 'cpu'}\ntorch.empty(1, **d)"),
    ("tensor-value", "list(map(float, input))"),
    ("tensor-value", "sorted(input.unbind(0), key=float)"),
    ("tensor-operator", "'%s' % input"),
    ("tensor-value", "sum([t for t in input.unbind(0)])"),
    ("tensor-value", "max(input.split(1))"),
    ("attribute-store", "wrapper.cache = input"),
    ("attribute-store", "input.data = out"),
    ("attribute-store", "torch.sum = None"),
    ("kernel-handle", "kernel_copy.fn"),
    ("kernel-handle", "kernel_copy.warmup(input, out, 1, grid=(1,))"),
    ("kernel-handle", "kernel_copy(input, out, 1, 64)"),
    ("kernel-handle", "wrapper.cache"),
    ("torch-function", "torch.sum(input)"),
    ("torch-function", "torch.zeros(3, device=input.device)"),
    ("torch-function", "torch.Tensor.sum(input)"),
    ("torch-function", "torch.nn.functional.relu(input)"),
    ("torch-function", "torch.ops.aten.relu(input)"),
    ("torch-function", "torch.ops.aten.relu.default(input)"),
    ("torch-function", "torch.compile(lambda x: x)"),
    ("torch-function", "torch.cuda.synchronize()"),
    ("torch-function", "f = torch.sum"),
    ("torch-function", "f = torch.empty"),
    ("torch-function", "torch.utils.dlpack.to_dlpack(input)"),
    ("triton-function", "triton.testing.do_bench(lambda: 1)"),
    ("triton-function", "triton.language.sum"),
    ("triton-function", "f = triton.jit"),
    ("tl-scope", "tl.sum(input)"),
    ("tl-scope", "n = tl.cdiv(3, 2)"),
    ("tensor-method", "input.sum()"),
    ("tensor-method", "out.mean(dim=0)"),
    ("tensor-method", "input.contiguous().view(-1).sum()"),
    ("tensor-method", "other.matmul(other)"),
    ("tensor-method", "torch.empty_like(input).fill_(0)"),
    ("tensor-method", "[t for t in (input, out)][0].exp()"),
    ("tensor-method", "(lambda t: t.cumsum(0))(input)"),
    ("tensor-method", "out.copy_(input)"),
    ("tensor-method", "input.to(torch.float32)"),
    ("tensor-method", "input.float()"),
    ("tensor-method", "input.data_ptr()"),
    ("tensor-method", "input.untyped_storage()"),
    ("tensor-method", "other.numpy_()"),
    ("tensor-method", "input.T.add(1)"),
    ("tensor-method", "input.sort()"),
    ("tensor-attribute", "f = input.sum"),
    ("tensor-attribute", "f = input.view"),
    ("tensor-attribute", "input.grad"),
    ("tensor-attribute", "input.data"),
    ("device-move", "input.cpu()"),
    ("device-move", "input.cuda()"),
    ("device-move", "input.to('cpu')"),
    ("device-move", "input.to(device='cpu')"),
    ("device-move", "input.numpy()"),
    ("device-move", "other.to(out.device)"),
    ("device-move", "torch.device('cpu')"),
    ("device-move", "torch.empty(1, device='cpu')"),
    ("device-move", "d = 'cp' + 'u'\ntorch.empty(1, device=d)"),
    ("device-move", "torch.empty(1, device=f'c{1}')"),
    ("device-argument", "torch.empty(3)"),
    ("device-argument", "torch.empty_strided((3,), (1,), dtype=torch.float32)"),
    ("tensor-operator", "input + 1"),
    ("tensor-operator", "1 - input"),
    ("tensor-operator", "-input"),
    ("tensor-operator", "~out"),
    ("tensor-operator", "input += 1"),
    ("tensor-operator", "out *= 2"),
    ("tensor-operator", "input @ other"),
    ("tensor-operator", "other @ other"),
    ("tensor-operator", "input == out"),
    ("tensor-operator", "0 < input"),
    ("tensor-operator", "1 in input"),
    ("tensor-operator", "input.view(-1)[0] + 1"),
    ("tensor-operator", "[t * 2 for t in input.unbind(0)]"),
    ("tensor-operator", "a, b = input.chunk(2)\na + b"),
    ("tensor-operator", "x = input\nfor _ in range(3):\n    x = x.T\nx * 2"),
    ("tensor-operator", "x = input if input.ndim else out\nx * 2"),
    ("tensor-operator", "(lambda: input * 2)()"),
    ("tensor-operator", "if isinstance(other, torch.Tensor):\n    other + 1"),
    ("tensor-operator", "if not isinstance(other, torch.Tensor):\n    raise TypeError()\nother + 1"),
    ("tensor-value", "input.item()"),
    ("tensor-value", "other.tolist()"),
    ("tensor-value", "float(input)"),
    ("tensor-value", "int(out)"),
    ("tensor-value", "complex(input)"),
    ("tensor-value", "sum(input)"),
    ("tensor-value", "max(input)"),
    ("tensor-value", "abs(input)"),
    ("tensor-value", "if input:\n    pass"),
    ("tensor-value", "not input"),
    ("tensor-value", "n = 1 if out else 2"),
    ("tensor-value", "f'{input}'"),
    ("tensor-value", "[1 for t in input if t]"),
    ("tensor-index", "input[other.shape[0]:][torch.empty_like(input)]"),
    ("tensor-index", "input[[0, 1]]"),
    ("tensor-index", "input[:, [0]]"),
    ("tensor-index", "out[0] = 1"),
    ("tensor-index", "out[:] = input"),
    ("decorator", "@triton.jit\ndef kernel_inner(x): pass"),
]


@pytest.mark.parametrize(("rule", "body"), WRAPPER_FAULTS, ids=[f"{r}: {b[:40]!r}" for r, b in WRAPPER_FAULTS])
def test_faults_in_the_wrapper(rule: str, body: str) -> None:
    violations = found(in_wrapper(body))
    hits = [v for v in violations if v.rule == rule]
    assert hits, [(v.rule, v.message) for v in violations]
    first = KERNEL.count("\n") + 4
    assert all(first <= v.line < first + body.count("\n") + 1 for v in hits if rule != "shadowing")
    assert all(v.message and v.source for v in hits)


KERNEL_FAULTS = [
    ("tl-function", "v = tl.tanh(v)"),
    ("tl-function", "v = tl.math.tanh(v)"),
    ("tl-function", "v = tl.extra.cuda.libdevice.tanh(v)"),
    ("tl-function", "v = tl.inline_asm_elementwise('', '', [v], tl.float32, True, 1)"),
    ("tl-function", "tl.device_print('v', v)"),
    ("tl-function", "v = tl.core.load(x)"),
    ("tl-function", "f = tl.semantic"),
    ("kernel-method", "v = v.tanh()"),
    ("kernel-method", "v = v.exp()"),
    ("kernel-method", "v = v.handle"),
    ("kernel-scope", "v = torch.sum(v)"),
    ("kernel-scope", "v = v * math.sqrt(2)"),
    ("kernel-scope", "v = v * FACTOR"),
    ("kernel-scope", "v = host(v)"),
    ("kernel-statement", "for k in range(3):\n    break"),
    ("kernel-statement", "for k in range(3):\n    continue"),
    ("kernel-statement", "f = lambda: 1"),
    ("kernel-statement", "d = {}"),
    ("kernel-statement", "raise ValueError('x')"),
    ("kernel-statement", "def inner(): pass"),
    ("kernel-statement", "kernel_copy[(1,)](x, y, n, 64)"),
    ("dynamic-code", "v = eval('v')"),
    ("dynamic-code", "v = getattr(tl, 'tanh')(v)"),
    ("module-alias", "t = tl"),
    ("unknown-name", "v = abs(v)"),
    ("unknown-name", "print(n)"),
]


@pytest.mark.parametrize(("rule", "body"), KERNEL_FAULTS, ids=[f"{r}: {b[:40]!r}" for r, b in KERNEL_FAULTS])
def test_faults_in_a_kernel(rule: str, body: str) -> None:
    violations = found(in_kernel(body, extra="FACTOR = 2.0\n\ndef host(v):\n    return v\n\n"))
    assert rule in {v.rule for v in violations}, [(v.rule, v.message) for v in violations]


HONEST = [
    "n = input.shape[0] * 2 + 1",
    "n = input.numel() * input.dim() - input.stride(0) // 2",
    "sizes = list(input.shape)\nsizes.append(1)\nsizes[0] += 2\nsizes.sort()\nsizes = sizes + [1] * 3",
    "total = sum(input.shape)\nlargest = max(input.shape, default=0)",
    "n = math.prod(input.shape[1:]) if input.dim() > 1 else 1",
    "rows, columns = input.shape[0], input.shape[-1]\nn = rows * columns",
    "if isinstance(other, torch.Tensor):\n    n = other.numel()\nelse:\n    n = other * 2",
    "n = other.dim() if isinstance(other, torch.Tensor) else other + 1",
    "if not isinstance(other, torch.Tensor):\n    other = other + 1\nelse:\n    other = other.contiguous()",
    "if other is None:\n    other = input.new_empty(input.shape)",
    "if torch.is_tensor(other) and other.dim() > 0:\n    other = other.view(-1)",
    "if isinstance(other, (int, float)) and other > 0:\n    n = other * 2",
    "if isinstance(other, complex):\n    raise RuntimeError('no complex numbers')",
    "dims = (other,) if isinstance(other, int) else tuple(other)\ndims = [d % input.dim() for d in dims]",
    "name = 'mean'.upper() + 'x'.join(['a', 'b'])\nok = name.startswith('M')",
    "seen = set()\nseen.add(3)\nseen.discard(3)",
    "table = {}\ntable['a'] = 1\nfor key, value in table.items():\n    n = value * 2",
    "parts = list(input.split(2)) + [out]\nparts += [input]\nparts.append(out)\nfirst = parts[0].contiguous()",
    "view = input[1:, ..., None]\nrow = input[0]\nlast = input[:, -1].T",
    "dtype = torch.promote_types(input.dtype, torch.float32)\nsmall = torch.finfo(dtype).eps * 2",
    "same = input.dtype == torch.float32 or input.shape == out.shape",
    "bits = input.dtype.itemsize * 8\nfloating = input.dtype.is_floating_point\nsize = torch.float32.itemsize",
    "kind = input.device.type == 'cpu'",
    "grid = lambda meta: (triton.cdiv(input.numel(), meta['BLOCK']),)",
    "out = torch.empty(input.shape, dtype=input.dtype, device=input.device)",
    "shape = torch.broadcast_shapes(input.shape, (1,))\nx = input.expand(shape)",
    "low = -1 if input.is_floating_point() else torch.iinfo(input.dtype).min - 0",
    "if input.dim() == 0 or not input.is_contiguous():\n    input = input.contiguous()",
    "raise ValueError(f'bad dim {input.dim()} of {input.shape}')",
    "assert input.dim() >= 0, 'dim'",
    "n = 0\nwhile n < input.numel():\n    n += 3",
    "for t in (input, out):\n    n = t.numel() * 2",
    "strides = [s * 2 for s in input.stride()]\nstrides.reverse()\nn = strides.index(2) if 2 in strides else 0",
    "compute = tl.float32 if input.dtype != torch.float64 else tl.float64",
    "n = int(input.shape[0] / 2)\nn = round(float(n) * 1.5)\nn = abs(n) + divmod(n, 2)[0] + pow(n, 2)",
    "k = kernel_copy\nk[(1,)](input, out, 1, BLOCK=64)",
    "match other:\n    case int(n) | float(n):\n        n = n * 2\n    case _:\n        n = 1",
    "def grid(meta):\n    return (triton.cdiv(input.numel(), meta['BLOCK']),)",
    "input.resize_(3)\nout.resize_as_(input)",
    "count = input.size(0) * (input.shape.numel() + 1)",
    "match input.dim():\n    case 0:\n        n = 1\n    case _:\n        n = 2 * input.dim()",
    "max = other\ntake = lambda a, b: a\nfirst = take(input, max)",  # a parameter of that name, as clamp has
]


@pytest.mark.parametrize("body", HONEST)
def test_no_false_alarm_in_the_wrapper(body: str) -> None:
    violations = found(in_wrapper(body), operator())
    assert not violations, [(v.rule, v.line, v.message) for v in violations]


HONEST_KERNEL = [
    "v = v.to(tl.float32)\nv = (v * 2).to(y.dtype.element_ty)",
    "v = tl.where(v != v, 0.0, v) + tl.math.exp(v)",
    "for k in range(0, n, BLOCK):\n    v += k",
    "for k in tl.static_range(3):\n    v += k",
    "k = 0\nwhile k < n:\n    k += 1",
    "v = helper(v) * SCALE",
    "v = tl.reduce(v, 0, helper2)",
    "v = tl.map_elementwise(helper, v)",
    "v = v + v.sum(axis=0) + min(n, 3) + max(n, 4) + len(v.shape)",
    "if y.dtype.element_ty == tl.float32:\n    v = v * 2\nelif y.dtype.element_ty.is_int():\n    v = v + 1",
    "v = v * float('inf') + math.pi",
    "if n > 100:\n    return",
    "a, b = tl.max(v, axis=0, return_indices=True)\nv = v + a",
    "v = v[:, None].T",
    "tl.static_assert(BLOCK >= 1)",
]


@pytest.mark.parametrize("body", HONEST_KERNEL)
def test_no_false_alarm_in_a_kernel(body: str) -> None:
    extra = """
        SCALE = tl.constexpr(2.0)

        @triton.jit
        def helper(v):
            return v + 1

        @triton.jit
        def helper2(a, b):
            return a + b
        """
    violations = found(in_kernel(body, extra), operator())
    assert not violations, [(v.rule, v.line, v.message) for v in violations]


def test_honest_modules_of_more_than_one_function() -> None:
    source = """
        TYPES = {torch.float16: tl.float32, torch.float32: tl.float32}
        CONFIGS = [triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 128) for w in (2, 4)]
        LIMIT = 2**20

        @triton.autotune(configs=CONFIGS, key=["n"])
        @triton.jit
        def kernel_a(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        @triton.heuristics({"BLOCK": lambda args: 128})
        @triton.jit
        def kernel_b(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        def run(kernel, x, out):
            n = x.numel()
            kernel[(triton.cdiv(n, 64),)](x, out, n)
            return out

        def sizes(shape, dim=-1):
            return shape[dim] * 2

        def wrapper(x, depth=0):
            strides = sizes(x.shape)
            if depth > 3 and strides < LIMIT:
                return wrapper(x.contiguous(), depth - 1)
            out = torch.empty_like(x)
            kind = TYPES.get(x.dtype, tl.float32)
            return run(kernel_a if kind == tl.float32 else kernel_b, x, out)
        """
    violations = found(source, operator())
    assert not violations, [(v.rule, v.line, v.message) for v in violations]


def module(top: str, wrapper: str = "def wrapper(input):\n    out = torch.empty_like(input)\n") -> str:
    return f"{KERNEL}{top}\n\n{wrapper}    {LAUNCH}\n    return out\n"


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        ("module-state", module("CACHE = {}", "def wrapper(input):\n    CACHE[1] = input\n    out = input\n")),
        ("module-state", module("CACHE = []", "def wrapper(input):\n    CACHE.append(input)\n    out = input\n")),
        ("module-state", module("CACHE = {}", "def wrapper(input):\n    out = CACHE.setdefault(1, input)\n")),
        ("module-state", module("CACHE = {}", "def wrapper(input):\n    c = CACHE\n    out = input\n")),
        ("module-state", module("BUFFER = torch.empty(3, device=None)")),
        ("module-state", module("for i in range(3):\n    pass")),
        ("tensor-method", module("total = lambda x: x.sum()")),
        ("tensor-operator", module("product = lambda x: x @ x")),
        ("device-move", module("move = lambda x: x.cpu()")),
        (
            "tensor-method",
            KERNEL.replace("@triton.jit", "@triton.heuristics({'N': lambda a: a['x'].mean()})\n@triton.jit"),
        ),
        ("module-state", module("", "def wrapper(input, cache=[]):\n    out = input\n")),
        ("module-state", module("", "def wrapper(input, cache={}):\n    out = input\n")),
        ("module-state", module("", "def wrapper(input):\n    out = (lambda c=[]: c)\n")),
        ("shadowing", module("wrapper = 1")),
        ("shadowing", module("tl = 1")),
        ("required-names", KERNEL + KERNEL + "def wrapper(input):\n    return input\n"),
        ("required-names", "def kernel_x(x, B: tl.constexpr):\n    pass\n\ndef wrapper(input):\n    return input\n"),
        ("required-names", module("").replace("kernel_copy", "copy")),
        ("decorator", module("", "@triton.jit\ndef wrapper(input):\n    out = input\n")),
        ("decorator", module("@staticmethod\ndef f(x):\n    return x")),
        ("decorator", module("@(lambda f: f)\ndef f(x):\n    return x")),
        ("decorator", module("@torch.compile\ndef f(x):\n    return x")),
        ("requires-kernel", "def wrapper(input):\n    return input.clone()\n"),
        ("requires-kernel", KERNEL + "def wrapper(input):\n    return input.clone()\n"),
        (
            "requires-kernel",
            KERNEL + f"def unused(input, out):\n    {LAUNCH}\n\ndef wrapper(input):\n    return input\n",
        ),
    ],
)
def test_faults_of_the_module(rule: str, source: str) -> None:
    violations = found(source, operator())
    assert rule in {v.rule for v in violations}, [(v.rule, v.message) for v in violations]


def test_every_rule_of_the_full_set_is_tested() -> None:
    tested = {rule for rule, _ in (*WRAPPER_FAULTS, *KERNEL_FAULTS)}
    tested |= {"module-state", "required-names", "requires-kernel", "wrapper-signature"}
    assert {r.id for r in RULES["full"]} == tested


@pytest.mark.parametrize("rule_set", ["full", "paper"])
def test_rules_have_distinct_ids_and_titles(rule_set: str) -> None:
    rules = RULES[rule_set]  # type: ignore[index]
    assert len({r.id for r in rules}) == len(rules)
    assert all(r.title and r.__doc__ for r in rules)


@pytest.mark.parametrize(
    ("parameters", "positional", "keywords", "problem"),
    [
        ("input", 1, (), None),
        ("input", 2, (), "at most 1 positional argument"),
        ("input, dim", 1, (), "parameter dim is required"),
        ("input, dim", 1, ("dim",), None),
        ("input, dim=None", 1, ("keepdim",), "no parameter named keepdim"),
        ("input, dim=None, *, out=None", 2, ("out",), None),
        ("input, *, out", 1, (), "parameter out is required"),
        ("input, dim", 2, ("dim",), "given twice"),
        ("input, /, dim=0", 1, ("input",), "no parameter named input"),
        ("*args, **kwargs", 5, ("a", "b"), None),
        ("input, **kwargs", 1, ("dim",), None),
    ],
)
def test_signature(parameters: str, positional: int, keywords: tuple[str, ...], problem: str | None) -> None:
    source = f"{KERNEL}def wrapper({parameters}):\n    kernel_copy[(1,)](1, 2, 3, BLOCK=64)\n"
    op = operator(calls=(CallShape(positional=positional, keywords=keywords),))
    messages = [v.message for v in found(source, op) if v.rule == "wrapper-signature"]
    assert (problem is None) == (not messages)
    if problem:
        assert problem in messages[0]


def test_views_need_no_kernel() -> None:
    source = "def wrapper(input, dim0, dim1):\n    return input.transpose(dim0, dim1)\n"
    view = operator(("aten.transpose.int", "aten.clone.default"))
    assert not found(source, view)
    assert not computes(view)
    assert {v.rule for v in found(source, operator(("aten.transpose.int", "aten.add.Tensor")))} == {"requires-kernel"}
    assert {v.rule for v in found(source)} == {"requires-kernel"}
    assert computes(None)


def test_values_may_be_read_where_the_shape_depends_on_them() -> None:
    source = in_wrapper("n = input.item() * 2\nif out:\n    n = int(out)")
    nonzero = operator(("aten.nonzero.default",))
    assert reads_values(nonzero)
    assert not found(source, nonzero)
    assert {v.rule for v in found(source, operator())} == {"tensor-value"}


def test_a_narrower_dialect_also_forbids_the_method() -> None:
    narrow = DIALECT.model_copy(
        update={"tl_functions": tuple(n for n in DIALECT.tl_functions if n != "tl.sum"), "name": "narrow"}
    )
    source = in_kernel("v = v + tl.sum(v, 0) + v.sum(0)")
    assert not found(source)
    assert sorted(v.rule for v in found(source, dialect=narrow)) == ["kernel-method", "tl-function"]


def test_libdevice_where_the_dialect_lists_it() -> None:
    wide = DIALECT.model_copy(
        update={
            "modules": (*DIALECT.modules, "libdevice"),
            "tl_functions": (*DIALECT.tl_functions, "libdevice.tanh"),
        }
    )
    assert not found(in_kernel("v = libdevice.tanh(v)"), dialect=wide)
    assert {v.rule for v in found(in_kernel("v = libdevice.sinh(v)"), dialect=wide)} == {"tl-function"}
    assert {v.rule for v in found(in_wrapper("n = libdevice.tanh(1)"), dialect=wide)} == {"tl-scope"}


def test_advice_names_an_alternative() -> None:
    (violation,) = (v for v in found(in_kernel("v = tl.math.sigmoid(v)")) if v.rule == "tl-function")
    assert violation.advice == "Use tl.sigmoid."
    (violation,) = (v for v in found(in_wrapper("torch.zeros_like(input)")) if v.rule == "torch-function")
    assert "torch.empty" in violation.advice


def test_source_that_does_not_parse() -> None:
    (violation,) = found("def wrapper(:\n    pass\n")
    assert violation.rule == "syntax"
    assert violation.line == 1
    deep = "def wrapper(x):\n    return " + "-" * 3000 + "x\n"
    assert lint(Candidate(source=deep), DIALECT)[0].rule in {"syntax", "requires-kernel"}


def test_a_launch_may_be_stored_first() -> None:
    source = KERNEL + "def wrapper(input):\n    run = kernel_copy[(1,)]\n    run(input, input, 1, BLOCK=64)\n"
    assert not found(source, operator())


LAYER_NORM = """'''Layer norm.'''
LOG2E: tl.constexpr = tl.constexpr(1.4426950408889634)
PI = tl.constexpr(math.pi)

@triton.jit
def _norm(x, mean, rstd):
    return (x - mean) * rstd

@triton.jit
def kernel_layer_norm(
    x_ptr, w_ptr, b_ptr, o_ptr, n, eps,
    HAS_W: tl.constexpr, HAS_B: tl.constexpr, OP: tl.constexpr = "ln", BLOCK: tl.constexpr = 128,
):
    '''Row.'''
    row = tl.program_id(axis=0)
    N: tl.constexpr = 4
    acc = tl.zeros((BLOCK,), tl.float32)
    for s in range(0, n, BLOCK):
        i = s + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(acc) / n
    var = 0.0
    if OP == "ln" and HAS_W:
        var = var + mean
    else:
        var = mean if HAS_B else -mean
    rstd = 1 / tl.sqrt(var + eps)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=float("-inf"))
    y = _norm(x, mean, rstd)
    if HAS_W:
        y *= tl.load(w_ptr + i, mask=i < n)
    assert BLOCK > 0
    lo, hi = tl.split(tl.join(y, y))
    tl.store(o_ptr + i, (lo + hi).to(o_ptr.dtype.element_ty), mask=(i < n) & (x == x) | (i > 3))

def _normalise(dim: int, rank: int) -> int:
    '''doc'''
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise IndexError(f"Dimension out of range (got {dim})")
    return dim + rank if dim < 0 else dim

def wrapper(
    input: torch.Tensor, normalized_shape: list[int], weight: torch.Tensor | None = None, bias=None, eps: float = 1e-05,
    *, device: torch.device | None = None, dtype: torch.dtype = None,
    memory_format: torch.memory_format = torch.preserve_format,
) -> torch.Tensor:
    '''Layer norm.'''
    if isinstance(normalized_shape, int):
        normalized_shape = (normalized_shape,)
    k = len(normalized_shape)
    assert tuple(input.shape[input.dim() - k:]) == tuple(normalized_shape)
    n = math.prod(normalized_shape)
    rows = input.numel() // n if n else 0
    scale = 1.0 / math.sqrt(max(n, 1))
    device = device if device is not None else input.device
    out = torch.empty(input.shape, dtype=dtype or input.dtype, device=device)
    if isinstance(device, torch.device) and rows == 0:
        return out
    x = input if input.is_contiguous() else input.contiguous()
    w = weight.contiguous() if weight is not None else x
    b = x if bias is None else bias.contiguous()
    has = {"HAS_W": weight is not None, "HAS_B": bias is not None}
    strides = [0] * input.dim()
    for i, (s, z) in enumerate(zip(input.stride(), input.shape)):
        strides[i] = s if z != 1 else 0
        strides[i] *= 2
    total = sum(s * z for s, z in zip(strides, input.shape))
    block = triton.next_power_of_2(n) if n < 1024 else 1024
    def grid(meta):
        return (rows,)
    kernel_layer_norm[grid](x, w, b, out, n, eps * scale + total * 0, BLOCK=block, num_warps=4, **has)
    return out.view(input.shape)
"""

CAT = """@triton.jit
def kernel_copy(src, dst, n, outer_stride, offset, inner, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(src + i, mask=m)
    tl.store(dst + (i // inner) * outer_stride + offset + i % inner, v, mask=m)

def wrapper(tensors, dim=0, *, out=None):
    tensors = [t for t in tensors if not (t.dim() == 1 and t.shape[0] == 0)] or list(tensors[:1])
    first = tensors[0]
    dtype = first.dtype
    for t in tensors[1:]:
        dtype = torch.promote_types(dtype, t.dtype)
        if t.dim() != first.dim():
            raise RuntimeError("sizes")
    dim = dim % max(first.dim(), 1)
    shape = list(first.shape)
    shape[dim] = sum(t.shape[dim] for t in tensors)
    result = torch.empty(shape, dtype=dtype, device=first.device) if out is None else out
    if result.shape != torch.Size(shape):
        result.resize_(shape)
    offset = 0
    outer = shape[dim] * math.prod(shape[dim + 1:])
    for t in tensors:
        inner = t.shape[dim] * math.prod(shape[dim + 1:])
        if t.numel() > 0:
            grid = (triton.cdiv(t.numel(), 256),)
            kernel_copy[grid](t.contiguous(), result, t.numel(), outer, offset, inner, BLOCK=256)
        offset += inner
    return result
"""


@pytest.mark.parametrize("source", [LAYER_NORM, CAT], ids=["layer_norm", "cat"])
def test_no_false_alarm_in_whole_candidates(source: str) -> None:
    violations = found(source, operator())
    assert not violations, [(v.rule, v.line, v.message) for v in violations]


def test_a_type_is_no_device() -> None:
    assert {v.rule for v in found(in_wrapper("d = torch.device\nx = d('cpu')"))} >= {"device-move"}


def test_a_dtype_that_the_target_lacks_is_named() -> None:
    narrow = DIALECT.model_copy(update={"tl_host": ("tl.float32", "tl.int32")})
    (violation,) = found(in_wrapper("acc = tl.float64"), dialect=narrow)
    assert violation.rule == "tl-scope"
    assert violation.message == "the target has no dtype tl.float64"
    assert violation.advice == "Its dtypes are tl.float32, tl.int32."
    assert not found(in_wrapper("acc = tl.float32"), dialect=narrow)


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        ("helper(input)", "tensor-value"),
        ("helper(t=out)", "tensor-value"),
        ("helper(3)", None),
        ("helper(other)", None),
    ],
)
def test_tensors_are_followed_into_helpers(call: str, rule: str | None) -> None:
    source = in_wrapper(f"n = {call}", extra="def helper(t):\n    return float(t)\n")
    assert [v.rule for v in found(source)] == ([rule] if rule else [])
    both = in_wrapper(f"n = {call}\nm = helper(2)", extra="def helper(t):\n    return float(t)\n")
    assert found(both) == []
    tested = in_wrapper(f"n = {call}", extra="def helper(t):\n    return t if torch.is_tensor(t) else float(t)\n")
    assert found(tested) == []


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (in_wrapper("p = input.data_ptr()"), "Pass the tensor itself to the kernel: it gets the address"),
        (in_wrapper("p = input.untyped_storage()"), "Pass the tensor itself"),
        (in_kernel("v = v * TABLE[0]", extra="TABLE = (0.5, 0.25)"), "(TABLE_0 = tl.constexpr(...))"),
        (in_kernel("v = v * SCALE", extra="SCALE = 0.5"), "Define it as SCALE = tl.constexpr(...)"),
        (
            in_wrapper("n = kernel_config()", extra="def kernel_config():\n    return 64\n"),
            "name (config, say)",
        ),
    ],
)
def test_advice_says_what_to_write_instead(source: str, words: str) -> None:
    assert any(words in violation.advice for violation in found(source)), found(source)
