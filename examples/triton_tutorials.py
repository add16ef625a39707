"""Triton kernels written for GPUs, run on the virtual accelerator and checked against PyTorch.

    python examples/triton_tutorials.py [--profile permissive]

Vector add, fused softmax, matrix multiplication, layer norm forward and backward, fused attention: the kernels and the
code around them know nothing of bringup. The set-up is the three lines of `main` marked below; PyTorch's own operators
(`torch.rand`, `torch.allclose`) run on the CPU behind the device, the kernels on the device.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

# --- vector add -------------------------------------------------------------------------------------------------------


@triton.jit
def add_kernel(a_ptr, b_ptr, sum_ptr, count, BLOCK: tl.constexpr):
    block = tl.program_id(axis=0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    a = tl.load(a_ptr + at, mask=inside)
    b = tl.load(b_ptr + at, mask=inside)
    tl.store(sum_ptr + at, a + b, mask=inside)


def add(a, b):
    total = torch.empty_like(a)
    count = total.numel()
    add_kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](a, b, total, count, BLOCK=1024)
    return total


def check_add(device):
    a, b = torch.rand(98_432, device=device), torch.rand(98_432, device=device)
    torch.testing.assert_close(add(a, b).cpu(), a.cpu() + b.cpu(), rtol=0, atol=0)


# --- fused softmax ----------------------------------------------------------------------------------------------------


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, rows, cols, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        inside = at < cols
        values = tl.load(in_ptr + row * in_stride + at, mask=inside, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * out_stride + at, powers / tl.sum(powers, axis=0), mask=inside)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    chip = triton.runtime.driver.active.utils.get_device_properties(triton.runtime.driver.active.get_current_device())
    block, warps = triton.next_power_of_2(cols), 8
    compiled = softmax_kernel.warmup(
        out, x, x.stride(0), out.stride(0), rows, cols, BLOCK=block, STAGES=4, num_warps=warps, grid=(1,)
    )
    compiled._init_handles()
    fit = chip["max_num_regs"] // (compiled.n_regs * chip["warpSize"] * warps)
    if compiled.metadata.shared:
        fit = min(fit, chip["max_shared_mem"] // compiled.metadata.shared)
    programs = min(chip["multiprocessor_count"] * fit, rows)
    softmax_kernel[(programs,)](out, x, x.stride(0), out.stride(0), rows, cols, BLOCK=block, STAGES=4, num_warps=warps)
    return out


def check_softmax(device):
    x = torch.randn(623, 781, device=device)
    torch.testing.assert_close(softmax(x).cpu(), torch.softmax(x.cpu(), 1))


# --- matrix multiplication --------------------------------------------------------------------------------------------


@triton.autotune(
    configs=[
        triton.Config({"BM": 64, "BN": 64, "BK": 32, "GROUP": 8}, num_stages=3, num_warps=8),
        triton.Config({"BM": 32, "BN": 64, "BK": 32, "GROUP": 4}, num_stages=4, num_warps=4),
        triton.Config({"BM": 64, "BN": 32, "BK": 64, "GROUP": 4}, num_stages=5, num_warps=2),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACTIVATION: tl.constexpr,
):  # fmt: skip
    # tiles in groups of rows, so that neighbours find each other's operands in the cache
    tile = tl.program_id(axis=0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = tile // (GROUP * tiles_n)
    height = min(tiles_m - group * GROUP, GROUP)
    tile_m = group * GROUP + (tile % (GROUP * tiles_n)) % height
    tile_n = (tile % (GROUP * tiles_n)) // height
    tl.assume(tile_m >= 0)
    tl.assume(tile_n >= 0)

    rows = (tile_m * BM + tl.arange(0, BM)) % M
    cols = (tile_n * BN + tl.arange(0, BN)) % N
    depth = tl.arange(0, BK)
    a_at = a_ptr + rows[:, None] * a_row + depth[None, :] * a_col
    b_at = b_ptr + depth[:, None] * b_row + cols[None, :] * b_col
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(a_at, mask=depth[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_at, mask=depth[:, None] < K - k * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_at += BK * a_col
        b_at += BK * b_row
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    rows = tile_m * BM + tl.arange(0, BM)
    cols = tile_n * BN + tl.arange(0, BN)
    c_at = c_ptr + rows[:, None] * c_row + cols[None, :] * c_col
    tl.store(c_at, total.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


def matmul(a, b, activation=""):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation
    )
    return c


def check_matmul(device):
    a = torch.randn(200, 130, device=device, dtype=torch.float16)
    b = torch.randn(130, 170, device=device, dtype=torch.float16)
    exact = a.cpu().double() @ b.cpu().double()
    torch.testing.assert_close(matmul(a, b).cpu(), exact.half(), rtol=1e-2, atol=1e-2)
    activated = torch.nn.functional.leaky_relu(exact).half()
    torch.testing.assert_close(matmul(a, b, "leaky_relu").cpu(), activated, rtol=1e-2, atol=1e-2)


# --- layer norm -------------------------------------------------------------------------------------------------------


@triton.jit
def norm_forward_kernel(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        centred = tl.where(at < n, x - mean, 0.0)
        squares += centred * centred
    rstd = libdevice.rsqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for first in range(0, n, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < n
        normal = (tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32) - mean) * rstd
        y = normal * tl.load(w_ptr + at, mask=inside) + tl.load(b_ptr + at, mask=inside)
        tl.store(y_ptr + at, y, mask=inside)


@triton.jit
def norm_input_gradient_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, n,
    GROUP: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + at, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=inside, other=0.0).to(tl.float32)
    mean, rstd = tl.load(mean_ptr + row), tl.load(rstd_ptr + row)
    normal = tl.where(inside, (x - mean) * rstd, 0.0)
    wdy = tl.where(inside, w * dy, 0.0)
    along = tl.sum(normal * wdy, axis=0) / n
    level = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + at, (wdy - (normal * along + level)) * rstd, mask=inside)
    # rows of one group add up their share of the gradients of weight and bias, one after the other behind a lock
    group = row % GROUP
    lock, count = lock_ptr + group, lock_ptr + GROUP + group
    dw_at, db_at = dw_ptr + group * n + at, db_ptr + group * n + at
    dw, db = (dy * normal).to(w.dtype), dy.to(w.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_at, mask=inside)
        db += tl.load(db_at, mask=inside)
    tl.store(dw_at, dw, mask=inside)
    tl.store(db_at, db, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def norm_sum_kernel(part_w_ptr, part_b_ptr, dw_ptr, db_ptr, groups, n, BG: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    dw, db = tl.zeros((BG, BN), dtype=tl.float32), tl.zeros((BG, BN), dtype=tl.float32)
    for first in range(0, groups, BG):
        rows = first + tl.arange(0, BG)
        inside = (rows[:, None] < groups) & (cols[None, :] < n)
        at = rows[:, None] * n + cols[None, :]
        dw += tl.load(part_w_ptr + at, mask=inside, other=0.0)
        db += tl.load(part_b_ptr + at, mask=inside, other=0.0)
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < n)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < n)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        rows, n = x.shape
        y = torch.empty_like(x)
        mean = torch.empty(rows, dtype=torch.float32, device=x.device)
        rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
        norm_forward_kernel[(rows,)](x, y, weight, bias, mean, rstd, x.stride(0), n, eps, BLOCK=128)
        ctx.save_for_backward(x, weight, mean, rstd)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        rows, n = x.shape
        groups = 16
        locks = torch.zeros(2 * groups, dtype=torch.int32, device=x.device)
        part_w = torch.zeros((groups, n), dtype=torch.float32, device=x.device)
        part_b = torch.zeros((groups, n), dtype=torch.float32, device=x.device)
        dx, dw, db = torch.empty_like(dy), torch.empty_like(weight), torch.empty_like(weight)
        norm_input_gradient_kernel[(rows,)](
            dx, dy, part_w, part_b, x, weight, mean, rstd, locks, x.stride(0), n,
            GROUP=groups, BLOCK=triton.next_power_of_2(n),
        )  # fmt: skip
        norm_sum_kernel[(triton.cdiv(n, 128),)](part_w, part_b, dw, db, groups, n, BG=16, BN=128)
        return dx, dw, db, None


def check_layer_norm(device):
    x, dy = torch.randn(151, 300, device=device), torch.randn(151, 300, device=device)
    weight, bias = torch.rand(300, device=device), torch.rand(300, device=device)
    leaves = [t.requires_grad_() for t in (x, weight, bias)]
    y = LayerNorm.apply(*leaves, 1e-5)
    y.backward(dy)
    host = [t.detach().cpu().requires_grad_() for t in leaves]
    wanted = torch.nn.functional.layer_norm(host[0], (300,), host[1], host[2], 1e-5)
    wanted.backward(dy.cpu())
    torch.testing.assert_close(y.detach().cpu(), wanted.detach(), rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(leaves, host, strict=True):
        torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)


# --- fused attention --------------------------------------------------------------------------------------------------


@triton.jit
def attend(total, norm, top, q, k_desc, v_desc, base, first, last, rows, scale, BN: tl.constexpr, MASKED: tl.constexpr):
    for start in tl.range(first, last, BN):
        start = tl.multiple_of(start, BN)
        k = k_desc.load([base + start, 0])
        scores = tl.dot(q, k.T) * scale
        if MASKED:
            scores += tl.where(rows[:, None] >= (start + tl.arange(0, BN))[None, :], 0.0, -1.0e6)
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(top - higher)
        norm = norm * shrink + tl.sum(p, 1)
        v = v_desc.load([base + start, 0])
        total = tl.dot(p.to(v.dtype), v, total * shrink[:, None])
        top = higher
    return total, norm, top


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, scale, lines, length,
    HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block, base = tl.program_id(0), tl.program_id(1) * length
    q_desc = tl.make_tensor_descriptor(q_ptr, shape=[lines, HEAD], strides=[HEAD, 1], block_shape=[BM, HEAD])
    k_desc = tl.make_tensor_descriptor(k_ptr, shape=[lines, HEAD], strides=[HEAD, 1], block_shape=[BN, HEAD])
    v_desc = tl.make_tensor_descriptor(v_ptr, shape=[lines, HEAD], strides=[HEAD, 1], block_shape=[BN, HEAD])
    out_desc = tl.make_tensor_descriptor(out_ptr, shape=[lines, HEAD], strides=[HEAD, 1], block_shape=[BM, HEAD])
    rows = block * BM + tl.arange(0, BM)
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    norm = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, HEAD], dtype=tl.float32)
    q = q_desc.load([base + block * BM, 0])
    scale *= 1.44269504  # powers of two instead of e
    if CAUSAL:
        total, norm, top = attend(
            total, norm, top, q, k_desc, v_desc, base, 0, block * BM, rows, scale, BN=BN, MASKED=False
        )
        total, norm, top = attend(
            total, norm, top, q, k_desc, v_desc, base, block * BM, (block + 1) * BM, rows, scale, BN=BN, MASKED=True
        )
    else:
        total, norm, top = attend(
            total, norm, top, q, k_desc, v_desc, base, 0, length, rows, scale, BN=BN, MASKED=False
        )
    out_desc.store([base + block * BM, 0], (total / norm[:, None]).to(out_ptr.dtype.element_ty))


def attention(q, k, v, causal):
    batch, heads, length, size = q.shape
    out = torch.empty_like(q)
    triton.set_allocator(lambda nbytes, align, stream: torch.empty(nbytes, device=q.device, dtype=torch.int8))
    attention_kernel[(triton.cdiv(length, 64), batch * heads)](
        q, k, v, out, size**-0.5, batch * heads * length, length, HEAD=size, BM=64, BN=32, CAUSAL=causal
    )
    return out


def check_attention(device):
    for dtype, tolerance in ((torch.float16, 5e-3), (torch.float32, 1e-5)):
        q, k, v = (torch.randn(2, 3, 128, 32, device=device, dtype=dtype) for _ in range(3))
        for causal in (False, True):
            wanted = torch.nn.functional.scaled_dot_product_attention(
                q.cpu().float(), k.cpu().float(), v.cpu().float(), is_causal=causal
            )
            torch.testing.assert_close(attention(q, k, v, causal).cpu().float(), wanted, rtol=0, atol=tolerance)


CHECKS: dict[str, Callable[[torch.device], None]] = {
    "vector add": check_add,
    "fused softmax": check_softmax,
    "matrix multiplication": check_matmul,
    "layer norm, forward and backward": check_layer_norm,
    "fused attention": check_attention,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", default="permissive", help="a shipped chip, or the path of a profile")
    options = parser.parse_args()

    # The set-up: everything else would run on a GPU as it stands.
    from bringup import vpe
    from bringup.vpe import device

    vpe.activate(options.profile)
    device.enable(fallback="cpu")

    torch.manual_seed(0)
    where = triton.runtime.driver.active.get_active_torch_device()
    for name, check in CHECKS.items():
        vpe.clear_launches()
        began = time.perf_counter()
        check(where)
        launches = vpe.last_launches()
        modelled = sum(launch.modelled_seconds for launch in launches)
        print(
            f"{name}: right on {where} ({options.profile}); {len(launches)} launches, "
            f"{modelled * 1e6:.0f} us on the chip by its model, {time.perf_counter() - began:.1f} s here"
        )


if __name__ == "__main__":
    main()
