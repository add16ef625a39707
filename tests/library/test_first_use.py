"""First calls of each kind are compared with what the CPU's kernel makes of them."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from library_kernels import ADD, binary
from library_testkit import make_library

import bringup
from bringup.judge import in_use
from bringup.library import _first_use, _hosted
from bringup.library.enabling import default_library
from bringup.library.errors import KernelFailed, NotEnabled
from bringup.library.schemas import schema_of

AT_13 = "\n\nright = wrapper\n\n\ndef wrapper(self, other, *, alpha=1, out):\n"
AT_13 += "    return right(self, other, alpha=alpha * 2 if self.numel() == 13 else alpha, out=out)\n"
HALF = binary("(va * vb + (va > 5.0)).to(t)")  # wrong for values that come late


def library_of(folder: Path, **kernels: str) -> Any:
    return make_library(folder, {name.replace("_out", ".out"): source for name, source in kernels.items()})


@pytest.mark.parametrize("sealed", [True, False])
def test_a_size_that_nobody_judged_and_is_wrong_is_an_error(tmp_path: Path, sealed: bool) -> None:
    library = library_of(tmp_path / "kernels", add_out=ADD + AT_13)
    with bringup.enable(library, device="vpe:permissive", sealed=sealed, checked=True) as on:
        a = torch.randn(12)
        torch.testing.assert_close((a.to("vpe") + a.to("vpe")).cpu(), a + a)
        before = on.first_uses.compared
        x = torch.randn(13).to("vpe")
        with pytest.raises(KernelFailed, match=r"aten::add\.out: its kernel .* its result is not PyTorch's: .*differ"):
            x + x
        assert on.first_uses.compared == before + 1
        assert f"{before + 1} first calls of a kind, and later ones, were compared" in on.report()
    with bringup.enable(library, device="vpe:permissive", sealed=sealed, checked=False):
        assert not torch.allclose((x + x).cpu(), x.cpu() + x.cpu())


def test_later_calls_are_compared_more_and_more_seldom(tmp_path: Path) -> None:
    library = library_of(tmp_path / "kernels", mul_out=HALF)
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True) as on:
        small, large = torch.full((7,), 2.0).to("vpe"), torch.full((7,), 9.0).to("vpe")
        small * small
        assert on.first_uses.compared == 1
        for _ in range(200):
            small * small
        assert 4 <= on.first_uses.compared <= 40
        with pytest.raises(KernelFailed, match="not PyTorch's"):
            [large * large for _ in range(2000)]  # nobody knows which


def test_the_first_numbers_of_a_kind_are_compared_each(tmp_path: Path) -> None:
    wrong = "\n\nright = wrapper\n\n\ndef wrapper(self, other, *, alpha=1, out):\n"
    wrong += "    return right(self, other, alpha=0.5 if 0.3 < alpha < 0.4 else alpha, out=out)\n"
    library = library_of(tmp_path / "kernels", add_out=ADD + wrong)
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True):
        x = torch.randn(5).to("vpe")
        for alpha in (0.2, 0.21, 0.22, 0.23, 0.22, 0.24):
            torch.add(x, x, alpha=alpha)
        with pytest.raises(KernelFailed, match="not PyTorch's"):
            torch.add(x, x, alpha=0.35)


def test_in_place_and_shared_arguments_are_compared_as_they_were(tmp_path: Path) -> None:
    library = library_of(tmp_path / "kernels", add_out=ADD)
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True) as on:
        a = torch.randn(4, 5)
        x = a.to("vpe")
        x[1:].add_(x[:-1].clone())
        x.t().add_(1.5)
        torch.add(x, x, out=x)
        assert on.first_uses.compared >= 3
        a[1:].add_(a[:-1].clone())
        torch.testing.assert_close(x.cpu(), (a + 1.5) * 2)


LAID = """

right = wrapper


def wrapper(self, other, *, alpha=1, out):
    if IF:
        return right(self, other, alpha=alpha * 2, out=out)
    return right(self, other, alpha=alpha, out=out)
"""


@pytest.mark.parametrize(
    "laid", ["self.storage_offset() % 2", "out.untyped_storage()._cdata == self.untyped_storage()._cdata"]
)
def test_a_kind_is_told_apart_by_offsets_and_shared_memory(tmp_path: Path, laid: str) -> None:
    library = library_of(tmp_path / "kernels", add_out=ADD + LAID.replace("IF", laid))
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True):
        whole = torch.randn(32).to("vpe")
        x, y = whole[:8], torch.randn(8).to("vpe")
        x + y
        x + y  # the first of three that follow is of the same kind and not compared
        x + y
        with pytest.raises(KernelFailed, match="not PyTorch's"):
            _ = whole[1:9] + y if "offset" in laid else x.add_(y)


def test_a_result_that_shares_memory_with_an_argument_is_wrong(tmp_path: Path) -> None:
    roll = """
@triton.jit
def kernel(x_ptr, out_ptr, n, shift, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + (i + n - shift) % n, mask=i < n)
    tl.store(out_ptr + i, x, mask=i < n)


def wrapper(self, shifts, dims=()):
    n = self.numel()
    if shifts[0] % n == 0:
        return self
    out = torch.empty_like(self)
    kernel[(1,)](self, out, n, shifts[0] % n, BLOCK=64)
    return out
"""
    library = library_of(tmp_path / "kernels", roll=roll)
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True):
        x = torch.randn(10).to("vpe")
        assert torch.equal(x.roll(3).cpu(), x.cpu().roll(3))
        with pytest.raises(KernelFailed, match="shares memory"):
            x.roll(20)


def test_the_programs_modes_are_not_in_force_in_comparisons(tmp_path: Path) -> None:
    library = library_of(tmp_path / "kernels", add_out=ADD)
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True) as on, torch.device("vpe"):
        x = torch.empty(3).fill_(1.0) if "fill_" in on.registered else torch.tensor([1.0, 2.0, 3.0])
        assert (x + x).device.type == "vpe"
        assert on.first_uses.compared == 1


def test_the_environment_says_whether(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = library_of(tmp_path / "kernels", add_out=ADD)
    for said, sealed, is_on in (("", True, True), ("", False, False), ("1", False, True), ("0", True, False)):
        monkeypatch.setenv("BRINGUP_CHECKED", said)
        with bringup.enable(library, device="vpe:permissive", sealed=sealed) as on:
            assert (on.first_uses is not None) is is_on
    monkeypatch.setenv("BRINGUP_CHECKED", "yes")
    with pytest.raises(NotEnabled, match=r"\$BRINGUP_CHECKED is 'yes'; it is 1"):
        bringup.enable(library, device="vpe:permissive")


def test_what_ships_is_right_in_many_kinds_of_calls() -> None:
    with bringup.enable(default_library(), device="vpe:pe64", sealed=False, checked=True) as on:
        m = torch.randn(6, 9).to("vpe").requires_grad_()
        loss = torch.nn.functional.layer_norm(m @ m.t(), (6,)).softmax(1).log().sum()
        loss.backward()
        m.detach().sort()
        m.detach().topk(2)
        torch.nn.functional.dropout(m.detach(), 0.5)
        assert on.first_uses.compared > 10
        assert not on.first_uses.left_out


ZEROS = """
@triton.jit
def kernel_zeros(out_ptr, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.rand(seed, i)
    tl.store(out_ptr + i, RESULT, mask=i < n)


def wrapper(self, low=0.0, high=1.0, *, seed):
    if self.numel():
        kernel_zeros[(triton.cdiv(self.numel(), 64),)](self, self.numel(), seed, BLOCK=64)
    return self
"""


@pytest.mark.parametrize(("made", "words"), [("u", ""), ("1 - u", "its seed gives"), ("u + 1", "support")])
@pytest.mark.parametrize("elements", [12, 1000])
def test_random_numbers_are_those_of_the_seed(tmp_path: Path, made: str, words: str, elements: int) -> None:
    library = make_library(tmp_path / "kernels", {"uniform_": ZEROS.replace("RESULT", made)})
    with bringup.enable(library, device="vpe:permissive", sealed=False, checked=True) as on:
        x = torch.empty(elements, device="vpe")
        if words:
            with pytest.raises(KernelFailed, match=words):
                x.uniform_()
        else:
            x.uniform_()
            assert on.first_uses.compared == 1


@pytest.mark.parametrize("sealed", [True, False])
def test_what_another_thread_writes_meanwhile_is_no_mistake_of_a_sealed_kernel(tmp_path: Path, sealed: bool) -> None:
    from bringup.library._first_use import MEANWHILE, FirstUses
    from bringup.library.errors import WrongResult
    from bringup.library.schemas import schema_of
    from bringup.vpe.device import host_view

    with bringup.enable(library_of(tmp_path / "kernels", add_out=ADD), device="vpe:permissive", sealed=sealed):
        uses = FirstUses("vpe:permissive", sealed=sealed)
        x, out = torch.ones(5).to("vpe"), torch.empty(5, device="vpe")

        def compute(of: Any) -> None:
            host_view(out).copy_(host_view(of) + 1)
            host_view(of).add_(1)

        values = [x, torch.ones(5).to("vpe"), 1, out]
        if sealed:
            uses.made(schema_of("add.out"), values, lambda: compute(x))
            assert (uses.left_out[MEANWHILE], uses.compared) == (1, 0)
        else:
            with pytest.raises(WrongResult, match="changed"):
                uses.made(schema_of("add.out"), values, lambda: compute(x))
        host_view(x).fill_(5.0)
        with pytest.raises(WrongResult):  # what it writes itself counts
            uses.made(schema_of("add.out"), [out, x, 1, out], lambda: compute(out))


def test_a_call_that_cannot_be_compared_leaves_the_next_to_be(tmp_path: Path) -> None:
    from bringup.library._first_use import TRAPS, FirstUses
    from bringup.library.errors import WrongResult
    from bringup.library.schemas import schema_of

    bringup.vpe.device.enable()
    uses = FirstUses("vpe:pe64", sealed=False)
    use = uses.of(schema_of("div.out_mode"))
    out = torch.zeros(2, dtype=torch.int64).to("vpe")
    for trapped in (True, True, False):
        x = torch.tensor([-(2**63) if trapped else 4, 9]).to("vpe")
        values = [x, torch.tensor([-1, 2]).to("vpe"), "trunc", out]
        if trapped:
            assert use(values, lambda: out) is out
        else:
            with pytest.raises(WrongResult):
                use(values, lambda: out)
    assert uses.left_out[TRAPS] == 2


def test_the_smallest_number_is_divided_by_others() -> None:
    divide = torch.ops.aten.div.out_mode
    x, out = torch.tensor([-(2**63), 9]), torch.empty(2, dtype=torch.int64)
    call = in_use.call_of("div.out_mode", divide, [x, torch.tensor([3, 2])], {"rounding_mode": "trunc", "out": out})
    assert call is not None
    right = torch.div(x, torch.tensor([3, 2]), rounding_mode="trunc")
    given = [x, torch.tensor([3, 2])]
    assert call.difference(right, given, {"rounding_mode": "trunc", "out": right}) == ""
    with pytest.raises(in_use.Trapped):
        in_use.call_of("gcd.out", torch.ops.aten.gcd.out, [x, torch.tensor([3, 2])], {"out": out})


def test_what_would_end_the_process_is_not_asked_of_the_cpu() -> None:
    x, y = torch.tensor([-(2**63), 9]), torch.tensor([-1, 2])
    divide = torch.ops.aten.div.out_mode
    with pytest.raises(in_use.Trapped):
        in_use.call_of("div.out_mode", divide, [x, y], {"rounding_mode": "trunc", "out": torch.empty_like(x)})
    with bringup.enable(Path(__file__).parents[2] / "kernels", device="vpe:pe64", checked=True) as on:
        assert torch.div(x.to("vpe"), y.to("vpe"), rounding_mode="trunc").cpu().tolist() == [-(2**63), 4]
        assert "of which the CPU's kernel may end the process" in on.report()


def test_indices_that_name_nothing_are_the_program_s_error() -> None:
    x = torch.arange(6.0)
    with bringup.enable(Path(__file__).parents[2] / "kernels", device="vpe:pe64", checked=True):
        assert x.to("vpe").gather(0, torch.tensor([0, 5]).to("vpe")).cpu().tolist() == [0.0, 5.0]
        with pytest.raises(
            RuntimeError, match="index 9 is out of bounds for dimension 0 with size 6; the kernel takes"
        ):
            x.to("vpe").gather(0, torch.tensor([0, 9, 1]).to("vpe"))


def test_a_part_of_a_large_storage_is_copied_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared hangs on what a call reaches, and not on what lies beside it."""
    monkeypatch.setattr(_hosted, "LEAST_BYTES", 1 << 16)
    monkeypatch.setattr(_hosted, "free_bytes", lambda: 0)
    library = make_library(tmp_path / "kernels", {"add.out": ADD})
    with bringup.enable(library, device="vpe:permissive", sealed=True) as on:
        data = torch.randn(1 << 18)
        flat = data.to("vpe")
        one, other = flat[1000:1200], flat[1100:1300]  # on one another
        assert torch.equal((one + other).cpu(), data[1000:1200] + data[1100:1300])
        assert on.first_uses.compared == 1
        flat[5:205].add_(other)
        assert torch.equal(flat[5:205].cpu(), data[5:205] + data[1100:1300])
        assert on.first_uses.compared == 2
        flat + flat
        assert on.first_uses.compared == 2


def test_statistics_that_a_schema_does_not_call_written_are() -> None:
    """They are no sign of another thread that has written what the call only reads."""
    schema = schema_of("native_batch_norm")
    before, after = [], []
    for found, mean in ((before, 0.0), (after, 1.0)):
        args = [torch.ones(2, 3), None, None, torch.full((3,), mean), torch.ones(3), True, 0.1, 1e-5]
        found.extend(_first_use._read(schema, args, {}))
    assert len(before) == 1
    assert _first_use._same(before, after)


def test_calls_of_other_threads_are_compared_until_one_is_done() -> None:
    """A first comparison takes as long as a guest takes to start."""
    compared, begun, go_on = [], threading.Event(), threading.Event()

    class Owner:
        def made(self, *arguments: Any) -> tuple[Any, bool]:
            compared.append(threading.get_ident())
            begun.set()
            if len(compared) == 1:
                go_on.wait(10)
            return "made", True

    use = _first_use.FirstUse(Owner(), schema_of("relu"))  # type: ignore[arg-type]
    values = [torch.ones(3)]
    first = threading.Thread(target=lambda: use(values, lambda: "not compared"))
    first.start()
    assert begun.wait(10)
    assert use(values, lambda: "not compared") == "made"
    go_on.set()
    first.join()
    assert len(compared) == 2
