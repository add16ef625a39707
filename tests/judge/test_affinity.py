"""Which referee does a job: the one that keeps the operator's inputs and references, where it is idle."""

from __future__ import annotations

import socket

from bringup.judge._contents import target_ref
from bringup.judge._pool import JudgePool
from bringup.judge._processes import KEPT_OPERATORS, Slot


def _pool(slots: int) -> JudgePool:
    pool = JudgePool(target_ref("vpe:pe64"), jobs=slots)
    pool._idle = [Slot(socket.socketpair()[0]) for _ in range(slots)]
    return pool


def test_a_job_goes_to_the_referee_that_did_its_operator_last() -> None:
    pool = _pool(3)
    first, second, third = pool._idle
    for slot, operator in ((first, "opinfo:add"), (second, "opinfo:mm"), (third, "opinfo:exp")):
        assert pool._take(operator) is slot  # none knows it: the one that has waited longest
        pool._idle.append(slot)
    assert pool._take("opinfo:mm") is second
    assert pool._take("opinfo:mm") is first  # the other one is at work: nobody waits for it
    assert pool._take("opinfo:exp") is third


def test_a_referee_is_asked_for_no_more_than_it_keeps() -> None:
    pool = _pool(2)
    first, second = pool._idle
    for number in range(KEPT_OPERATORS + 1):
        first.knows(f"opinfo:{number}")
    pool._idle = [second, first]
    assert pool._take("opinfo:0") is second  # the first has let go of it
    pool._idle = [second, first]
    assert pool._take("opinfo:1") is first
