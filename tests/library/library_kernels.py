"""Kernels of ATen overloads, written by hand, that stand for generated ones: contracts as the dispatcher has them.

A structured operator's kernel gets `out` with the right shape and dtype, any strides, and perhaps in place.
"""

from __future__ import annotations

BINARY = """
@triton.jit
def kernel_binary(a, b, out, n, sa0, sa1, sa2, sa3, sb0, sb1, sb2, sb3, so0, so1, so2, so3, d1, d2, d3, alpha,
                  BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    x3 = i % d3
    x2 = (i // d3) % d2
    x1 = (i // (d3 * d2)) % d1
    x0 = i // (d3 * d2 * d1)
    va = tl.load(a + x0 * sa0 + x1 * sa1 + x2 * sa2 + x3 * sa3, mask=m)
    vb = tl.load(b + x0 * sb0 + x1 * sb1 + x2 * sb2 + x3 * sb3, mask=m)
    t = out.dtype.element_ty
    tl.store(out + x0 * so0 + x1 * so1 + x2 * so2 + x3 * so3, EXPRESSION, mask=m)

def four(t, shape):
    t = t.expand(shape)
    while t.dim() < 4:
        t = t.unsqueeze(0)
    return t

def wrapper(PARAMETERS):
    shape = out.shape
    if not isinstance(other, torch.Tensor):
        kind = torch.float32 if isinstance(other, float) else torch.int32
        other = torch.tensor(other, dtype=kind, device=out.device)
    if not isinstance(self, torch.Tensor):
        kind = torch.float32 if isinstance(self, float) else torch.int32
        self = torch.tensor(self, dtype=kind, device=out.device)
    a, b, o = four(self, shape), four(other, shape), four(out, shape)
    n = out.numel()
    if n:
        kernel_binary[(triton.cdiv(n, 64),)](
            a, b, o, n, *a.stride(), *b.stride(), *o.stride(), o.shape[1], o.shape[2], o.shape[3], ALPHA, BLOCK=64)
    return out
"""


def binary(expression: str, alpha: bool = False) -> str:
    parameters = "self, other, *, alpha=1, out" if alpha else "self, other, *, out"
    return (
        BINARY.replace("EXPRESSION", expression)
        .replace("PARAMETERS", parameters)
        .replace("ALPHA", "alpha" if alpha else "1")
    )


ADD = binary("(va.to(tl.float32) + vb.to(tl.float32) * alpha).to(t)", alpha=True)
MUL = binary("(va.to(tl.float32) * vb.to(tl.float32)).to(t)")


def decides(rule: str) -> str:
    """An addition whose wrapper goes by its number."""
    at = ADD.index("def wrapper(")
    body = ADD.index("\n", ADD.index(":\n", at)) + 1
    return f"{ADD[:body]}    alpha = {rule}\n{ADD[body:]}"


RELU = """
@triton.jit
def kernel_relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.where(v < 0, 0, v).to(v.dtype), mask=i < n)

def wrapper(self):
    x = self.contiguous()
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    n = x.numel()
    if n:
        kernel_relu[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""

MM = """
@triton.jit
def kernel_mm(a, b, o, M, N, K, sa0, sa1, sb0, sb1, so0, so1, BK: tl.constexpr):
    row = tl.program_id(0) // N
    column = tl.program_id(0) % N
    total = 0.0
    for k in range(0, K, BK):
        i = k + tl.arange(0, BK)
        m = i < K
        va = tl.load(a + row * sa0 + i * sa1, mask=m, other=0.0).to(tl.float32)
        vb = tl.load(b + i * sb0 + column * sb1, mask=m, other=0.0).to(tl.float32)
        total += tl.sum(va * vb)
    tl.store(o + row * so0 + column * so1, total.to(o.dtype.element_ty))

def wrapper(self, mat2, *, out):
    M, K = self.shape
    N = mat2.shape[1]
    if M * N:
        kernel_mm[(M * N,)](self, mat2, out, M, N, K, *self.stride(), *mat2.stride(), *out.stride(), BK=32)
    return out
"""

SUM = """
@triton.jit
def kernel_sum(x, y, n, so, si, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    total = 0.0
    for k in range(0, n, BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + p * n + i, mask=i < n, other=0).to(tl.float32))
    tl.store(y + p, total.to(y.dtype.element_ty))

def wrapper(self, dim, keepdim=False, *, dtype=None, out):
    rank = self.dim()
    dims = sorted(d % rank for d in dim) if dim else list(range(rank))
    kept = [d for d in range(rank) if d not in dims]
    x = self.permute(kept + dims).contiguous()
    n = 1
    for d in dims:
        n *= self.shape[d]
    y = torch.empty([self.shape[d] for d in kept], dtype=out.dtype, device=self.device)
    if y.numel():
        kernel_sum[(y.numel(),)](x, y, n, 1, 1, BLOCK=64)
        out.copy_(y.view(out.shape))
    return out
"""

FILL = """
@triton.jit
def kernel_fill(y, n, value, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, value.to(y.dtype.element_ty) + tl.zeros([BLOCK], y.dtype.element_ty), mask=i < n)

def wrapper(self, value):
    y = torch.empty(self.shape, dtype=self.dtype, device=self.device)
    n = y.numel()
    if n:
        kernel_fill[(triton.cdiv(n, 64),)](y, n, float(value), BLOCK=64)
        self.copy_(y)
    return self
"""

SOFTMAX = """
@triton.jit
def kernel_softmax(x, y, n, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=float("-inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v))
    tl.store(y + p * n + i, (e / tl.sum(e)).to(y.dtype.element_ty), mask=i < n)

def wrapper(self, dim, half_to_float, *, out):
    x = self.movedim(dim, -1).contiguous() if self.dim() else self.view(1)
    y = torch.empty(x.shape, dtype=out.dtype, device=x.device)
    n = x.shape[-1]
    if x.numel():
        kernel_softmax[(x.numel() // n,)](x, y, n, BLOCK=triton.next_power_of_2(n))
        out.copy_(y.movedim(-1, dim) if self.dim() else y.view(()))
    return out
"""

THRESHOLD_BACKWARD = binary("tl.where(vb.to(tl.float32) <= 0, 0.0, va.to(tl.float32)).to(t)").replace(
    "def wrapper(self, other, *, out):",
    "def wrapper(grad_output, self, threshold, *, grad_input):\n    self, other, out = grad_output, self, grad_input",
)

LAYER_NORM = """
@triton.jit
def kernel_norm(x, w, b, y, mean, rstd, n, eps, BLOCK: tl.constexpr, WEIGHT: tl.constexpr, BIAS: tl.constexpr):
    p = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + p * n + i, mask=i < n, other=0).to(tl.float32)
    mu = tl.sum(v) / n
    d = tl.where(i < n, v - mu, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(d * d) / n + eps)
    z = d * r
    if WEIGHT:
        z = z * tl.load(w + i, mask=i < n, other=0).to(tl.float32)
    if BIAS:
        z = z + tl.load(b + i, mask=i < n, other=0).to(tl.float32)
    tl.store(y + p * n + i, z.to(y.dtype.element_ty), mask=i < n)
    tl.store(mean + p, mu.to(mean.dtype.element_ty))
    tl.store(rstd + p, r.to(rstd.dtype.element_ty))

def wrapper(input, normalized_shape, weight, bias, eps):
    x = input.contiguous()
    n = 1
    for s in normalized_shape:
        n *= s
    outer = list(input.shape[: input.dim() - len(normalized_shape)])
    y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    statistics = outer + [1] * len(normalized_shape)
    mean = torch.empty(statistics, dtype=x.dtype, device=x.device)
    rstd = torch.empty(statistics, dtype=x.dtype, device=x.device)
    if x.numel():
        kernel_norm[(x.numel() // n,)](x, weight if weight is not None else x, bias if bias is not None else x, y,
            mean, rstd, n, eps, BLOCK=triton.next_power_of_2(n), WEIGHT=weight is not None, BIAS=bias is not None)
    return y, mean, rstd
"""

KERNELS = {
    "add.out": ADD,
    "mul.out": MUL,
    "relu": RELU,
    "mm.out": MM,
    "sum.IntList_out": SUM,
    "fill_.Scalar": FILL,
    "_softmax.out": SOFTMAX,
    "native_layer_norm": LAYER_NORM,
    "threshold_backward.grad_input": THRESHOLD_BACKWARD,
}
