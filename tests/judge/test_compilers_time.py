"""What compilers take is no time of a call's, and yet no call goes on for ever by asking them."""

from __future__ import annotations

import time

import pytest
from judge_bench import Bench

from bringup.candidate import Candidate
from bringup.config import NO_CACHE, JudgeConfig
from bringup.suites import get_suite

WITHOUT_END = """
@triton.jit
def kernel_abs(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.abs(tl.load(x_ptr + i, mask=i < n)), mask=i < n)


def wrapper(self, *, out):
    stream = triton.runtime.driver.active.frontend.handles.stream
    ask = stream.ask

    def again(command, body=b""):
        if int(command) != 6:
            return ask(command, body)
        for number in range(1 << 20):  # the same text by another name is another text
            ask(command, bytes(body).replace(b"kernel_abs", b"kernel_abs%d" % number))

    stream.ask = again
    kernel_abs[(1,)](self, out, self.numel(), BLOCK=64)
    return out
"""


@pytest.mark.asyncio
async def test_kernels_without_end_end_the_candidate() -> None:
    config = JudgeConfig(case_seconds=5, candidate_seconds=8, compile_seconds=4, kernel_cache=NO_CACHE)
    began = time.monotonic()
    async with Bench("vpe:pe64", config) as bench:
        verdict = await bench.candidate(Candidate(source=WITHOUT_END), get_suite("aten").operator("abs.out"))
    assert verdict.kind in ("cheated", "timed_out"), verdict.summary  # it asked for what it did not launch, too
    assert time.monotonic() - began < 60  # 8 and 4 by design, and a machine that has other work
