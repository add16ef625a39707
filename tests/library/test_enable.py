from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from library_kernels import ADD, KERNELS, MUL, RELU, binary
from library_testkit import bundle, make_library

import bringup
from bringup.library import KernelFailed, Library, LibraryError, NotEnabled, NotServed, WrongDevice, parse_when
from bringup.library.adding import add_judged, add_unjudged, dtypes_noted
from bringup.library.enabling import active


@pytest.fixture(autouse=True)
def _nothing_stays_enabled() -> Iterator[None]:
    yield
    for device in ("vpe", "cpu"):
        enabled = active(device)
        if enabled is not None:
            enabled.disable()


@pytest.fixture
def on(shared: Path) -> Iterator[Any]:
    with bringup.enable(shared, device="vpe:permissive") as enabled:
        yield enabled


def same(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-5, atol=1e-6)


def test_functional_in_place_and_out_come_from_one_kernel(on: Any) -> None:
    a, b = torch.randn(3, 4), torch.randn(4)
    x, y = a.to("vpe"), b.to("vpe")
    same(x + y, a + b)
    same(torch.add(x, y, alpha=2), torch.add(a, b, alpha=2))
    out = torch.empty(3, 4, device="vpe")
    assert torch.add(x, y, out=out) is out
    same(out, a + b)
    x += y
    same(x, a + b)
    same(x.t(), (a + b).t())
    same(x.t() + 1, (a + b).t() + 1)
    same(x * 2.5, (a + b) * 2.5)
    same(x + torch.tensor(2.0), a + b + 2)
    assert on.calls()["add.out"] == 6
    assert on.calls()["mul.out"] == 1


def test_factories_and_fills(on: Any) -> None:
    same(torch.ones(3, device="vpe") + 1, torch.full((3,), 2.0))
    same(torch.zeros(2, 3, device="vpe"), torch.zeros(2, 3))
    same(torch.full((2,), 7, device="vpe"), torch.full((2,), 7))


def test_writing_through_views(on: Any) -> None:
    a = torch.arange(12.0).reshape(3, 4)
    x = a.to("vpe")
    x[1:, ::2] += 10
    a[1:, ::2] += 10
    same(x, a)
    x.t().mul_(2)
    same(x, a * 2)


def test_results_that_overlap_inputs(on: Any) -> None:
    a = torch.arange(5.0)
    x = a.to("vpe")
    torch.add(x[:-1], x[1:], out=x[1:])
    same(x, torch.cat([a[:1], a[:-1] + a[1:]]))
    m = torch.randn(4, 4)
    y = m.to("vpe")
    torch.mm(y, y, out=y)
    same(y, m @ m)
    z = m.to("vpe")
    with pytest.raises(RuntimeError, match="single memory location"):
        z += z.t()
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.add(x[:1], 1, out=x[:1].expand(4))


def test_out_of_another_size_and_dtype(on: Any) -> None:
    a = torch.randn(3)
    x = a.to("vpe")
    out = torch.empty(0, device="vpe")
    torch.add(x, 1, out=out)
    same(out, a + 1)
    with pytest.warns(UserWarning, match="resized"):
        torch.add(x, 1, out=(other := torch.empty(7, device="vpe")))
    same(other, a + 1)
    half = torch.empty(3, dtype=torch.float16, device="vpe")
    torch.add(x, 1, out=half)
    assert torch.equal(half.cpu(), (a + 1).half())
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.add(x, 1, out=torch.empty(3, dtype=torch.int32, device="vpe"))
    with pytest.raises(RuntimeError, match="on vpe"):
        torch.add(x, 1, out=torch.empty(3))


def test_bad_arguments_get_pytorchs_errors(on: Any) -> None:
    x = torch.randn(3).to("vpe")
    with pytest.raises(RuntimeError, match="size"):
        x + torch.randn(4).to("vpe")
    with pytest.raises(RuntimeError, match="same device"):
        x + torch.randn(3)
    with pytest.raises(IndexError):
        x.sum(3)


def test_reductions_softmax_and_norms_with_gradients(on: Any) -> None:
    a, w = torch.randn(4, 6), torch.randn(6, 5)
    values = {}
    for device in ("cpu", "vpe"):
        x, v = a.clone().to(device).requires_grad_(), w.clone().to(device).requires_grad_()
        y = torch.relu(x @ v)
        loss = (y + y).sum()
        loss.backward()
        values[device] = (loss.detach(), x.grad, v.grad)
    for actual, expected in zip(values["vpe"], values["cpu"], strict=True):
        same(actual, expected)
    x = a.to("vpe")
    same(torch.softmax(x, 1), torch.softmax(a, 1))
    same(x.sum((0, 1)), a.sum((0, 1)))
    same(x.sum(1, keepdim=True), a.sum(1, keepdim=True))
    g, b = torch.randn(6), torch.randn(6)
    same(
        torch.nn.functional.layer_norm(x, (6,), g.to("vpe"), b.to("vpe")), torch.nn.functional.layer_norm(a, (6,), g, b)
    )


def test_forms_that_pytorch_lacks_are_derived(on: Any) -> None:
    x = torch.tensor([-1.0, 2.0]).to("vpe")
    assert x.relu_() is x
    same(x, torch.tensor([0.0, 2.0]))
    assert on.route("relu_").kind == "form"
    assert on.route("add_.Tensor").kind == "form"


def test_a_functional_kernel_serves_out_where_pytorch_does_not(tmp_path: Path) -> None:
    angle = RELU.replace("tl.where(v < 0, 0, v)", "tl.where(v < 0, 3.14159265, 0.0)")
    assert angle != RELU
    library = make_library(tmp_path / "kernels", {"angle": angle})
    a = torch.tensor([[-1.0, 2.0], [0.0, -3.0]])
    with bringup.enable(library.path, device="vpe:permissive") as on:
        x = a.to("vpe")
        out = torch.full((2, 2), 7.0).to("vpe")
        assert torch.angle(x, out=out) is out
        same(out, torch.angle(a))
        assert on.calls()["angle"] == 1
        assert (on.route("angle.out").kind, on.route("angle").kind) == ("form", "kernel")
        other = torch.empty(2, 2, dtype=torch.float64, device="vpe").t()
        torch.angle(x, out=other)
        same(other, torch.angle(a).double())
        empty = torch.empty(0, device="vpe")
        torch.angle(x, out=empty)
        same(empty, torch.angle(a))
        torch.angle(x, out=x)
        same(x, torch.angle(a))
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch.angle(x, out=torch.empty(2, 2, dtype=torch.int32, device="vpe"))
        with pytest.raises(RuntimeError, match="single memory location"):
            torch.angle(x, out=torch.empty(1, device="vpe").expand(2, 2))
        with pytest.raises(RuntimeError, match="not on vpe"):
            torch.angle(x, out=torch.empty(2, 2))


def test_what_nobody_serves_is_told_with_a_remedy(on: Any, shared: Path) -> None:
    x = torch.ones(3, device="vpe")
    with pytest.raises(NotServed, match=r"no kernel for aten::exp\.out in .*bringup run --suite aten --ops exp\.out"):
        torch.exp(x)
    same(x + 1, torch.full((3,), 2.0))


def test_what_the_target_cannot_judge_is_told_instead_of_a_command(folder: Path) -> None:
    with bringup.enable(folder, device="vpe:permissive") as enabled:
        with pytest.raises(NotServed, match="none can be judged on vpe:permissive: the results are complex") as found:
            torch.fft.rfft(torch.ones(4, device="vpe"))
        assert "--ops" not in str(found.value)
        assert "none can be judged" in enabled.route("_fft_r2c").why
        # an overload that the suite does not know: a command that works
        assert "captured:calls.json --ops _fft_c2c" in enabled.route("_fft_c2c").why


@pytest.mark.parametrize("device", ["cuda", "vpe:pe64"])
def test_a_device_in_the_place_of_the_library(device: str) -> None:
    with pytest.raises(LibraryError, match=rf"is a device.*bringup.enable\(device='{device}'\)"):
        bringup.enable(device)


def test_pytorch_decompositions_compose(on: Any) -> None:
    x, y = torch.randn(4), torch.randn(4)
    got = torch.addcmul(x.to("vpe"), x.to("vpe"), y.to("vpe"), value=1.0)
    same(got, torch.addcmul(x, x, y))
    assert sum(on.compositions.values()) == 1
    assert on.route("addcmul.out").kind == "decomposed"


def test_the_cpu_stands_in_where_asked_for(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bringup.enable(shared, device="vpe:permissive", fallback="cpu") as enabled:
        x = torch.randn(3, 4)
        same(torch.exp(x.to("vpe")), x.exp())
        same(torch.nn.functional.group_norm(x.to("vpe"), 2), torch.nn.functional.group_norm(x, 2))
        assert enabled.fallbacks["exp.out"] == 1
        assert enabled.route("exp.out").kind == "cpu"
    told = capsys.readouterr().err  # group_norm is composed, of operators that have no kernel either
    assert "the CPU computed 4 calls of 4 operators" in told
    assert all(name in told for name in ("exp.out (1)", "var_mean.correction (1)"))
    with bringup.enable(shared, device="vpe:permissive"), pytest.raises(NotServed):
        torch.exp(torch.ones(3, device="vpe"))


def test_include_and_exclude(shared: Path) -> None:
    with bringup.enable(shared, device="vpe:permissive", exclude=["relu", "m*"]) as enabled:
        assert enabled.route("relu").kind == "decomposed"
        assert "exclude=" in enabled.route("relu").why
        assert enabled.route("add.Tensor").kind == "form"
        with pytest.raises(NotServed, match=r"no kernel for aten::mm\.out .*among exclude="):
            torch.mm(*[torch.ones(2, 2, device="vpe")] * 2)
        with pytest.raises(NotServed, match=r"no kernel for aten::relu .*among exclude=.*needs aten::le\.Scalar_out"):
            torch.relu(torch.ones(2, device="vpe"))
    with bringup.enable(shared, device="vpe:permissive", include="add.*") as enabled:
        assert set(enabled.choice.serving) == {"add.out"}
    with pytest.raises(LibraryError, match="no kernel matches 'ad'"):
        bringup.enable(shared, device="vpe:permissive", include=["ad"])


def test_one_library_a_device_and_disabling(shared: Path, folder: Path) -> None:
    enabled = bringup.enable(shared, device="vpe:permissive")
    with pytest.raises(NotEnabled, match="is enabled for vpe already"):
        bringup.enable(folder, device="vpe:permissive")
    x = torch.ones(3, device="vpe")
    enabled.disable()
    enabled.disable()
    same(x.t().clone(), torch.ones(3))  # tensors live on
    with pytest.raises(NotImplementedError, match=r"no kernel for aten::add\.out"):
        x + 1
    with bringup.enable(folder, device="vpe:permissive"):
        same(x + 1, torch.full((3,), 2.0))


def test_devices_that_are_not_there(shared: Path) -> None:
    with pytest.raises(NotEnabled, match="cuda is not available"):
        bringup.enable(shared, device="cuda")
    with pytest.raises(NotEnabled, match="not one that a library serves"):
        bringup.enable(shared, device="mps")
    with pytest.raises(NotEnabled, match="fallback"):
        bringup.enable(shared, device="vpe:permissive", fallback="gpu")
    assert active() is None


def test_a_library_for_another_profile_or_other_versions(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(WrongDevice, match=r"judged on vpe:permissive.*bringup library verify .*--target vpe:pe64"):
        bringup.enable(shared, device="vpe:pe64")
    library = Library.create(tmp_path / "old", "vpe:permissive")
    add_judged(library, bundle("relu", RELU, versions={"torch": "1.9.0", "triton": "3.7.1"}), origin="t")
    with pytest.raises(WrongDevice, match=r"judged with torch 1\.9\.0"):
        bringup.enable(library, device="vpe:permissive")
    add_judged(library, bundle("add.out", ADD), origin="t")
    with bringup.enable(library, device="vpe:permissive") as enabled:
        assert "judged with torch 1.9.0" in enabled.route("relu").why
        with pytest.raises(NotServed, match=r"judged with torch 1\.9\.0"):
            torch.relu(torch.empty(2, device="vpe"))
    with bringup.enable(library, device="vpe:permissive", unjudged=True):
        same(torch.relu(torch.tensor([-1.0, 1.0]).to("vpe")), torch.tensor([0.0, 1.0]))


def test_an_edited_kernel_never_runs(folder: Path) -> None:
    with bringup.enable(folder, device="vpe:permissive"):
        path = folder / "relu" / "kernel.py"
        path.write_text(path.read_text().replace("v < 0", "v > 0"))
        x = torch.tensor([-1.0, 1.0]).to("vpe")
        with pytest.raises(LibraryError, match="edited or damaged"):
            torch.relu(x)
        same(x + 1, torch.tensor([0.0, 2.0]))


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("    raise KeyError('no')\n", KernelFailed, r"aten::relu: its kernel .*relu/kernel\.py failed: KeyError"),
        ("    raise ValueError('too small')\n", ValueError, "too small"),
        ("    return torch.exp(self)\n", KernelFailed, r"calls aten::exp\.out, which it does not declare"),
        ("    return self + 1\n", KernelFailed, r"calls aten::add\.out, which it does not declare"),
        (
            "    y = torch.empty_like(self)\n    far[(1,)](self, y)\n    return y\n",
            KernelFailed,
            r"failed: VpeFault",
        ),
        ("    return nothing\n", KernelFailed, "NameError"),
        (
            "    y = torch.empty_like(self)\n    lost[(1,)](self, y)\n    return y\n",
            KernelFailed,
            r"failed: CompilationError: at 2:.*nowhere is not defined",
        ),
    ],
)
def test_a_kernel_that_fails_in_the_middle_of_backward(tmp_path: Path, body: str, kind: Any, said: str) -> None:
    far = "@triton.jit\ndef far(x, y):\n    tl.store(y + 100000, tl.load(x))\n\n"
    far += "@triton.jit\ndef lost(x, y):\n    tl.store(y, nowhere(tl.load(x)))\n\n"
    mine = {name: source for name, source in KERNELS.items() if name != "threshold_backward.grad_input"}
    library = make_library(tmp_path / "kernels", mine)
    failing = far + "def wrapper(grad_output, self, threshold, *, grad_input):\n" + body
    add_judged(library, bundle("threshold_backward.grad_input", failing), origin="t")
    said = said.replace("aten::relu", r"aten::threshold_backward\.grad_input").replace("relu/", r"input/")
    with bringup.enable(library, device="vpe:permissive"):
        x = torch.randn(4).to("vpe").requires_grad_()
        loss = torch.relu(x).sum()
        with pytest.raises(kind, match=said) as caught:
            loss.backward()
        assert caught.value.__cause__ is not caught.value  # who follows the chain comes to its end
        same(x.detach() + 1, x.detach().cpu() + 1)  # the process and the device live


def test_kernels_may_call_what_they_declare(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": ADD, "mul.out": MUL})
    text = "def wrapper(self, tensor1, tensor2, *, value=1, out):\n    torch.add(self, tensor1 * tensor2, out=out)\n"
    add_unjudged(library, "addcmul.out", text, origin="t", calls=["mul.out", "add.out"])
    a, b, c = torch.randn(3, 4), torch.randn(4), torch.randn(3, 1)
    with bringup.enable(library, device="vpe:permissive", unjudged=True) as enabled:
        same(torch.addcmul(a.to("vpe"), b.to("vpe"), c.to("vpe")), torch.addcmul(a, b, c))
        assert enabled.calls() == {"add.out": 1, "addcmul.out": 1, "mul.out": 1}


def test_a_parameter_that_the_kernel_lacks(tmp_path: Path) -> None:
    library = make_library(
        tmp_path / "kernels",
        {"add.out": ADD.replace("alpha=1, out", "out").replace(", alpha, BLOCK=64", ", 1, BLOCK=64")},
    )
    with bringup.enable(library, device="vpe:permissive"):
        x = torch.ones(3).to("vpe")
        same(x + x, torch.full((3,), 2.0))
        with pytest.raises(KernelFailed, match="does not take 'alpha'"):
            torch.add(x, x, alpha=2)


TRIANGLE = """
@triton.jit
def kernel(out, n: tl.constexpr):
    row = tl.arange(0, 2)[:, None]
    col = tl.arange(0, 2)[None, :]
    tl.store(out + row * n + col, (row + col * 0).to(out.dtype.element_ty))

def wrapper(row, col, offset=0, *, dtype=torch.int64, layout=None, device=None, pin_memory=None):
    out = torch.empty((2, row), dtype=dtype, device=device)
    kernel[(1,)](out, 2)
    return out
"""


def test_a_dtype_that_is_a_default_reaches_the_kernel_as_a_dtype(tmp_path: Path) -> None:
    # PyTorch's schema has the number 4 there, and the dispatcher leaves out an argument that equals its default.
    library = Library.create(tmp_path / "kernels", "vpe:permissive")
    found = {"dtype": ("int32",)}
    judged = {"int64": 1, "int32": 1}
    add_judged(library, bundle("tril_indices", TRIANGLE, passed_by_dtype=judged, argument_dtypes=found), origin="t")
    narrow = Library.create(tmp_path / "narrow", "vpe:permissive")
    add_judged(
        narrow, bundle("tril_indices", TRIANGLE, passed_by_dtype={"int32": 1}, argument_dtypes=found), origin="t"
    )
    with bringup.enable(library, device="vpe:permissive"):
        for dtype in (torch.int64, torch.int32):
            assert torch.tril_indices(2, 1, dtype=dtype, device="vpe").dtype is dtype
        assert torch.tril_indices(2, 1, device="vpe").dtype is torch.int64
    with bringup.enable(narrow, device="vpe:permissive"):
        assert torch.tril_indices(2, 1, dtype=torch.int32, device="vpe").dtype is torch.int32
        with pytest.raises(NotServed, match="'dtype' is int64 and the kernel was judged with only int32"):
            torch.tril_indices(2, 1, device="vpe")


def test_variants_by_dtype_and_size_with_the_kernel_for_all_behind(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": ADD})
    wrong = binary("(va.to(tl.float32) * 0 + 42).to(t)", alpha=True)
    add_judged(
        library, bundle("add.out", wrong), origin="t", variant="big", when=parse_when("elements>=100,dtype=float32")
    )
    with bringup.enable(library, device="vpe:permissive") as enabled:
        small, big = torch.ones(99).to("vpe"), torch.ones(100).to("vpe")
        same(small + small, torch.full((99,), 2.0))
        same(big + big, torch.full((100,), 42.0))
        assert (big.to(torch.int32) + 1).cpu().unique().tolist() == [2]
        assert [e.variant for e in enabled.route("add.out").entries] == ["big", ""]
    alone = Library.create(tmp_path / "alone", "vpe:permissive")
    add_judged(alone, bundle("add.out", ADD), origin="t", variant="big", when=parse_when("elements>=100"))
    with bringup.enable(alone, device="vpe:permissive"):
        same(big + big, torch.full((100,), 2.0))
        with pytest.raises(NotServed, match="no variant"):
            small + small


def test_an_override_for_the_profile_wins(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", {"add.out": MUL.replace("*, out", "*, alpha=1, out")})
    add_judged(library, bundle("add.out", ADD), origin="t", profile="vpe:permissive")
    with bringup.enable(library, device="vpe:permissive"):
        same(torch.full((2,), 3.0, device="cpu").to("vpe") + 4, torch.full((2,), 7.0))


def test_kernels_of_composite_operators_serve_where_no_gradient_is_asked(tmp_path: Path) -> None:
    library = make_library(tmp_path / "kernels", KERNELS)
    text = "def wrapper(input, weight, bias=None):\n    return torch.mm(input, weight.t())\n"
    add_unjudged(library, "linear", text, origin="t", calls=["mm.out"])
    a, w = torch.randn(3, 4), torch.randn(5, 4)
    with bringup.enable(library, device="vpe:permissive", unjudged=True) as enabled:
        x, v = a.to("vpe"), w.to("vpe").requires_grad_()
        torch.nn.functional.linear(x, v).sum().backward()
        assert enabled.calls().get("linear", 0) == 0
        same(v.grad, a.sum(0).expand(5, 4))
        same(torch.nn.functional.linear(x, v.detach()), a @ w.t())
        assert enabled.calls()["linear"] == 1


def test_overriding_a_devices_own_kernels(shared: Path) -> None:
    """As on `cuda`, tried on the CPU's kernels: each form is registered by itself, and given back."""
    a, b = torch.randn(3, 4), torch.randn(4)
    expected = a + b
    with bringup.enable(shared, device="cpu") as enabled:
        functional = a + b
        assert enabled.calls()["add.out"] == 1
        out = torch.empty(0)
        torch.add(a, b, out=out)
        assert enabled.calls()["add.out"] == 2
        c = a.clone()
        c += b
        assert enabled.calls()["add.out"] == 3
        for result in (functional, out, c):
            same(result, expected)
        x = a.clone().requires_grad_()
        torch.relu(x).sum().backward()
        same(x.grad, (a > 0).float())
        assert enabled.calls()["threshold_backward.grad_input"] == 1
        assert enabled.route("exp.out").kind == "builtin"
        same(torch.exp(a), a.exp())
        with pytest.raises(RuntimeError, match="broadcast shape"):
            torch.ones(2).add_(torch.ones(3, 2))
    before = enabled.calls()["add.out"]
    same(a + b, expected)
    assert enabled.calls()["add.out"] == before


def test_numbers_in_the_place_of_tensors(tmp_path: Path) -> None:
    """Of `add` PyTorch's Python binding takes a number for a tensor, of `maximum` or `remainder` it does not."""
    remainder = binary("(va.to(tl.float32) - tl.floor(va.to(tl.float32) / vb) * vb).to(t)")
    library = make_library(tmp_path / "kernels", {"remainder.Tensor_out": remainder, "add.out": ADD})
    a = torch.tensor([5.0, -7.0, 2.5])
    with bringup.enable(library.path, device="vpe:permissive"):
        for made in (a, a.to(torch.int32), a.bfloat16(), a[0]):
            x = made.to("vpe")
            for number in (3, 1.5):
                expected = torch.remainder(made, number)
                out = torch.empty(0, dtype=expected.dtype, device="vpe")
                for result in (torch.remainder(x, number), torch.remainder(x, number, out=out)):
                    assert result.dtype == expected.dtype
                    same(result, expected)
        y = a.to("vpe")
        same(y.remainder_(2), torch.remainder(a, 2))


def test_numbers_and_signatures_are_not_mixed_up(on: Any) -> None:
    x = torch.ones(3, dtype=torch.int32).to("vpe")
    assert (x + 1).dtype == torch.int32
    assert (x + 1.0).dtype == torch.float32
    assert (x + True).dtype == torch.int32
    same(x + 1.5, torch.full((3,), 2.5))
    same(x + 2.5, torch.full((3,), 3.5))
    for n in (1, 2, 3, 70):
        same(torch.ones(n).to("vpe") + n, torch.full((n,), n + 1.0))


def judged_with(path: Path, **dtypes: tuple[str, ...]) -> Path:
    """A library of `add.out` whose cases gave its arguments these dtypes."""
    library = Library.create(path, "vpe:permissive")
    given = {"0": ("float32", "int32"), "1": ("float32", "int32"), "out": ("float32", "int32"), **dtypes}
    add_judged(library, bundle("add.out", ADD, argument_dtypes=given), origin="a test")
    return library.path


def test_a_kernel_serves_the_dtypes_of_its_gate_and_no_others(tmp_path: Path) -> None:
    path = judged_with(tmp_path / "kernels")
    x, n = torch.randn(3), torch.arange(3, dtype=torch.int32)
    with bringup.enable(path, device="vpe:permissive"):
        same(x.to("vpe") + n.to("vpe"), x + n)
        same(n.to("vpe") + 1, n + 1)
        for other in (torch.bool, torch.float16, torch.int64):
            name = str(other).removeprefix("torch.")
            refused = rf"aten::add\.out .*argument 'self' is {name} .*only float32, int32.*captured:.*--ops add\.out"
            for _ in range(2):  # the second time from the signatures that are known
                with pytest.raises(NotServed, match=refused):
                    n.to(other).to("vpe") + n.to("vpe")
        with pytest.raises(NotServed, match="argument 'other' is bool"):
            x.to("vpe") + (x > 0).to("vpe")
        b = (x > 0).to("vpe")
        with pytest.raises(NotServed, match="argument 'self' is bool"):
            b += b


def test_calls_in_other_dtypes_go_to_the_cpu_where_asked_for(tmp_path: Path) -> None:
    path = judged_with(tmp_path / "kernels")
    b = torch.tensor([True, False])
    with bringup.enable(path, device="vpe:permissive", fallback="cpu") as enabled:
        same(b.to("vpe") + b.to("vpe"), b + b)
        assert enabled.fallbacks == {"add.out": 1}
        same(torch.ones(2).to("vpe") + 1, torch.full((2,), 2.0))
        assert enabled.calls()["add.out"] == 1


def test_a_result_in_another_dtype_than_the_gates_is_not_served(tmp_path: Path) -> None:
    path = judged_with(tmp_path / "kernels", out=("int32",))
    with bringup.enable(path, device="vpe:permissive"):
        n = torch.arange(3, dtype=torch.int32)
        same(n.to("vpe") + n.to("vpe"), n + n)
        with pytest.raises(NotServed, match="argument 'out' is float32"):
            torch.ones(3).to("vpe") + 1


def test_the_index_keeps_the_dtypes_and_older_judgements_can_be_completed(tmp_path: Path) -> None:
    library = Library.open(judged_with(tmp_path / "kernels"))
    noted = library.entries[0].judged[0].argument_dtypes
    assert dict(noted)["out"] == ("float32", "int32")
    older = Library.create(tmp_path / "older", "vpe:permissive")
    add_judged(older, bundle("relu", RELU, passed_by_dtype={"float32": 1, "int64": 1}), origin="a test")
    assert not Library.open(older.path).entries[0].judged[0].argument_dtypes
    assert dtypes_noted(older) == 1
    assert dict(Library.open(older.path).entries[0].judged[0].argument_dtypes) == {"0": ("float32", "int64")}
    assert dtypes_noted(older) == 0
    assert not older.problems()


def test_a_number_in_a_tensors_place(tmp_path: Path) -> None:
    library = Library.create(tmp_path / "kernels", "vpe:permissive")
    add_judged(library, bundle("copysign.out", ADD), origin="a test")
    with bringup.enable(library, device="vpe:permissive"):
        # the kernel adds: what is tried here is that PyTorch says how large its result is
        same(torch.copysign(torch.ones(3).to("vpe"), -2.0), torch.full((3,), -1.0))
