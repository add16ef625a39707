"""The shipped dialects: every name exists in the installed packages, every file loads, faults are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from bringup.candidate import Candidate
from bringup.dialect import Dialect, load_dialect, load_examples
from bringup.errors import ConfigError
from bringup.linter import Context, Rule, lint, rules_for
from bringup.linter._kernel import _WITHOUT_FUNCTION
from bringup.suites._aten import NO_KERNEL, READ_BYTES

DIALECT = load_dialect("triton")


def resolve(root: object, dotted: str) -> object:
    for part in dotted.split(".")[1:]:
        root = getattr(root, part)
    return root


@pytest.mark.parametrize("name", [*DIALECT.tl_functions, *DIALECT.tl_constants, *DIALECT.tl_host])
def test_tl_names_exist(name: str) -> None:
    import triton.language as tl

    assert name.startswith("tl.")
    resolve(tl, name)


def test_torch_and_triton_names_exist() -> None:
    import torch
    import triton

    for name in (*DIALECT.torch_functions, *DIALECT.torch_constants):
        resolve(torch, name)
    for name in (*DIALECT.triton_functions, *DIALECT.decorators):
        resolve(triton, name)
    for name in (*DIALECT.tensor_methods, *DIALECT.tensor_attributes, *DIALECT.value_reads):
        assert hasattr(torch.Tensor, name), name
    assert all(callable(getattr(torch.Tensor, name)) for name in DIALECT.tensor_methods)


def test_kernel_methods_exist() -> None:
    import triton.language as tl

    for name in DIALECT.kernel_methods:
        assert hasattr(tl.tensor, name) or hasattr(tl.dtype, name), name


def test_lists_have_no_duplicates() -> None:
    for field, value in DIALECT:
        if isinstance(value, tuple):
            assert len(set(value)) == len(value), field


def test_nothing_that_computes_or_moves_is_allowed() -> None:
    """The dispatch level is the judge: no allowed function or method may run more than views, copies, allocation."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: set[str] = set()

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            seen.add(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.arange(24.0).reshape(4, 6)
    calls = {
        "as_strided": ((2, 2), (1, 1)), "broadcast_to": ((4, 6),), "chunk": (2,), "diagonal": (), "dsplit": None,
        "expand": (4, 6), "expand_as": (x,), "hsplit": (2,), "moveaxis": (0, 1), "movedim": (0, 1), "narrow": (0, 0, 2),
        "permute": ((1, 0),), "reshape": ((24,),), "reshape_as": (x,), "resize_": ((4, 6),), "resize_as_": (x,),
        "select": (0, 0), "split": (2,), "split_with_sizes": ([2, 2],), "swapaxes": (0, 1), "swapdims": (0, 1),
        "tensor_split": (2,), "transpose": (0, 1), "unflatten": (0, (2, 2)), "unfold": (0, 2, 1), "unsqueeze": (0,),
        "view": (24,), "view_as": (x,), "vsplit": (2,), "new_empty": ((2,),), "new_empty_strided": ((2,), (1,)),
        "is_same_size": (x,),
    }  # fmt: skip
    with Log():
        for method in DIALECT.tensor_methods:
            arguments = calls.get(method, ())
            if arguments is not None:
                getattr(x.detach(), method)(*arguments)
    computing = {name for name in seen if name not in NO_KERNEL | {"aten.is_same_size.default"}}
    assert not computing


def test_overload_tables_name_real_overloads() -> None:
    import torch

    for name in NO_KERNEL | set(READ_BYTES):
        _, _, rest = name.partition(".")
        packet, _, overload = rest.rpartition(".")
        if packet != "contiguous":  # composite: it exists as a packet, and no overload of it is ever dispatched
            assert overload in getattr(torch.ops.aten, packet).overloads() or overload == "default", name


def test_methods_follow_their_functions() -> None:
    """A kernel method is either without a function of its name, a dtype's question, or paired with an allowed one."""
    functions = {name.removeprefix("tl.") for name in DIALECT.tl_functions}
    for method in DIALECT.kernel_methods:
        assert method in functions or method in _WITHOUT_FUNCTION or method.startswith("is_"), method


def test_loading_faults(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such dialect"):
        load_dialect("nonsense")
    path = tmp_path / "d.yaml"
    with pytest.raises(ConfigError, match="cannot be read"):
        load_dialect(str(path))
    path.write_text("name: [", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid YAML"):
        load_dialect(str(path))
    path.write_text("name: x\nfunctions: []\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="functions"):
        load_dialect(str(path))
    path.write_text("name: x\ntl_functions: [tl.load]\n", encoding="utf-8")
    assert load_dialect(str(path)) == Dialect(name="x", tl_functions=("tl.load",))


def written(folder: Path, text: str, name: str = "chip.yaml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_dialect_starts_from_another(tmp_path: Path) -> None:
    text = """
extends: triton
name: chip
tl_functions: {remove: [tl.dot, tl.sort], add: [libdevice.tanh]}
rules: {add: ["One grid axis."]}
torch_functions: [torch.empty]
limits: {programs: 16, block: 256}
"""
    chip = load_dialect(written(tmp_path, text))
    assert set(DIALECT.tl_functions) - set(chip.tl_functions) == {"tl.dot", "tl.sort"}
    assert chip.tl_functions[-1] == "libdevice.tanh"
    assert chip.rules == (*DIALECT.rules, "One grid axis.")
    assert chip.torch_functions == ("torch.empty",)
    assert (chip.limits.programs, chip.limits.block) == (16, 256)
    assert chip.tensor_methods == DIALECT.tensor_methods
    next_one = load_dialect(written(tmp_path, "extends: chip.yaml\nname: next\nlimits: {block: 512}\n", "next.yaml"))
    assert (next_one.limits.programs, next_one.limits.block) == (16, 512)
    assert next_one.tl_functions == chip.tl_functions


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("extends: triton\nname: x\ntl_function: []\n", "field tl_function: there is none; did you mean tl_functions"),
        ("extends: triton\nname: x\ntl_functions: {remove: [tl.dott]}\n", "'tl.dott' is not inherited; .*tl.dot"),
        ("extends: triton\nname: x\ntl_functions: {drop: [tl.dot]}\n", "not a list; give one, or"),
        ("extends: triton\nname: x\nlimits: {block: 100}\n", "field limits.block: not a power of two"),
        ("extends: triton\nname: x\nlimits: {programs: 0}\n", "field limits.programs: "),
        ("extends: tritom\nname: x\n", "dialect tritom: no such dialect"),
        ("extends: [triton]\nname: x\n", "field extends: .* is not a name or path"),
        ("extends: chip.yaml\nname: x\n", "field extends: leads back to this file"),
        ("extends: triton\n", "field name: missing"),
        ("- a\n", "not a mapping of fields"),
    ],
)
def test_faults_of_a_dialect_that_extends(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        load_dialect(written(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "says"),
    [("bringup.linter:gone.yaml", "no such file in the package"), ("no_package:d.yaml", "'no_package' cannot be read")],
)
def test_a_dialect_of_a_package(name: str, says: str) -> None:
    assert load_dialect("bringup.linter:dialects/triton.yaml") == DIALECT
    with pytest.raises(ConfigError, match=says):
        load_dialect(name)


def test_examples_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_examples("bringup.prompts:examples/plain") == load_examples("plain")
    folder = tmp_path / "chip_with_examples" / "shown"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    for name in ("neg", "exp", "_helper"):
        (folder / f"{name}.py").write_text("def wrapper(input, *,\n            out=None):\n    return input\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    shown = load_examples("chip_with_examples:shown")
    assert [e.name for e in shown] == ["exp", "neg"]  # those that every chip shows come first
    assert shown[1].signature == "neg(input, *, out=None) -> Tensor"
    (tmp_path / "chip_with_examples" / "broken").mkdir()
    for text, says in (("def w(:\n", "exp.py: line 1"), ("x = 1\n", "no function 'wrapper'")):
        (tmp_path / "chip_with_examples" / "broken" / "exp.py").write_text(text)
        with pytest.raises(ConfigError, match=says):
            load_examples("chip_with_examples:broken")
    with pytest.raises(ConfigError, match="no such folder"):
        load_examples("chip_with_examples:gone")


class NoNegation(Rule):
    """A rule as a target's package has it."""

    id = "no-negation"
    title = "kernels do not negate"
    advice = "Subtract from zero."

    def check(self, context: Context):  # type: ignore[no-untyped-def]
        import ast

        for zone in context.module.kernels:
            for node in zone.of(ast.UnaryOp):
                if isinstance(node.op, ast.USub):
                    yield self.at(context, node, "negation")


class Nameless(Rule):
    pass


class Double(NoNegation):
    id = "tl-function"


NEGATES = """
@triton.jit
def kernel_neg(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, -tl.load(x + i, mask=i < n), mask=i < n)

def wrapper(input):
    y = torch.empty_like(input)
    kernel_neg[(triton.cdiv(input.numel(), 64),)](input, y, input.numel(), BLOCK=64)
    return y
"""


def test_a_target_has_lint_rules_of_its_own() -> None:
    dialect = DIALECT.model_copy(update={"lint_rules": (f"{__name__}:NoNegation",)})
    candidate = Candidate(source=NEGATES)
    assert lint(candidate, DIALECT) == []
    (found,) = lint(candidate, dialect)
    assert (found.rule, found.line, found.advice) == ("no-negation", 5, "Subtract from zero.")
    assert lint(candidate, dialect, rule_set="paper") == lint(candidate, DIALECT, rule_set="paper")
    assert rules_for(dialect)[-1].id == "no-negation"


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("gone_module:Rule", "cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:Gone", "cannot be loaded: AttributeError"),
        (f"{__name__}", "write MODULE:CLASS"),
        (f"{__name__}:NEGATES", "not a subclass"),
        (f"{__name__}:Nameless", "has no `id`"),
        (f"{__name__}:Double", "its id 'tl-function' is that of a rule of bringup's own"),
    ],
)
def test_faults_of_a_rule(reference: str, says: str) -> None:
    dialect = DIALECT.model_copy(update={"lint_rules": (reference,)})
    with pytest.raises(ConfigError, match=says):
        lint(Candidate(source=NEGATES), dialect)
