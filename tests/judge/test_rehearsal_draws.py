"""What is drawn for calls that nothing runs for: addresses, sizes, requests that are refused, freed addresses."""

from __future__ import annotations

import itertools
import math
import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bringup.device import space
from bringup.device.handles import Handles
from bringup.judge._rehearsal import ALIGNED, Places, Wanted, of_other_sizes, without_a_tensor
from bringup.judge._reply import ending
from bringup.judge.guards._base import MUCH
from bringup.judge.guards.rehearsed import Rehearsed


def tensor(number: int, *shape: int, stride: tuple[int, ...] = (), dtype: str = "float32") -> dict[str, Any]:
    dense = torch.empty(shape, device="meta").stride()
    return {"t": number, "dtype": dtype, "shape": list(shape), "stride": list(stride or dense), "offset": 0}


def request(*tensors: dict[str, Any]) -> dict[str, Any]:
    sizes = [4 * math.prod(one["shape"]) for one in tensors]
    return {"args": {"tuple": [*tensors, 3]}, "kwargs": {"dict": []}, "sizes": sizes}


def test_addresses_come_again_lie_behind_others_and_anywhere() -> None:
    reached = space.MIDDLE + 4096
    places, chance = Places(reached), random.Random(3)
    sizes, bases = [400, 0, 10_000, 1 << 21], [space.MIDDLE + 64, 0, space.MIDDLE + 1024, space.MIDDLE + 1 << 14]
    calls = [places.drawn(sizes, bases, chance) for _ in range(400)]
    for call in calls:
        assert call[1] == 0
        taken = sorted((at, at + size) for at, size in zip(call, sizes, strict=True) if size)
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))
        assert taken[0][0] >= space.MIDDLE
        assert taken[-1][1] <= space.END
        assert all(at % ALIGNED == base % ALIGNED for at, base in zip(call, bases, strict=True) if at)
    first = [call[0] for call in calls]
    assert min(at for at in first if at > reached) < reached + 4096
    assert len(set(first)) < 360
    assert max(first) - min(first) > 8 << 30


def test_what_is_larger_than_the_range_that_is_left_begins_again() -> None:
    places, chance = Places(space.END - 4096), random.Random(1)
    assert all(
        space.MIDDLE < places.drawn([1 << 20], [space.MIDDLE], chance)[0] <= space.END - (1 << 20) for _ in range(50)
    )


@pytest.mark.parametrize("large", [False, True])
def test_other_sizes_have_storages_of_their_own_size(large: bool) -> None:
    chance, old = random.Random(5), request(tensor(0, 5, 7, stride=(1, 5)), tensor(1, 7, 1))
    seen = set()
    for _ in range(40):
        made = of_other_sizes(old, chance, large=large)
        assert made is not None
        one, other = made["args"]["tuple"][:2]
        assert one["stride"] == [1, one["shape"][0]]
        assert one["shape"][1] == other["shape"][0]
        assert made["sizes"] == [4 * math.prod(one["shape"]), 4 * math.prod(other["shape"])]
        assert (max(made["sizes"]) > 4 << 20) is large
        seen.add(tuple(one["shape"]))
    assert len(seen) > 4
    assert (5, 7) not in seen
    assert old == request(tensor(0, 5, 7, stride=(1, 5)), tensor(1, 7, 1))


def test_sizes_that_share_memory_or_are_none_are_left() -> None:
    chance = random.Random(5)
    assert of_other_sizes(request(tensor(0, 5), tensor(0, 5)), chance) is None
    assert of_other_sizes(request(tensor(0, 1, 1)), chance) is None
    assert of_other_sizes(request(tensor(0, 2)), chance) is None
    assert of_other_sizes(request(tensor(0, 2)), chance, large=True) is not None


def test_a_request_without_its_tensor() -> None:
    made = without_a_tensor(request(tensor(0, 5), tensor(1, 5)))
    assert made is not None
    assert made["args"] == {"tuple": ["no tensor", tensor(1, 5), 3]}
    assert without_a_tensor({"args": {"tuple": [3]}, "kwargs": {"dict": []}, "sizes": []}) is None


def test_a_text_that_is_as_it_must_be_is_told_as_such() -> None:
    reply = {"result": [1, {"float": "0x1.8p+0"}], "after": [], "storages": [[5, 64]]}
    wanted = Wanted(["launch k", ending(reply, ["input 0"])], ())
    assert wanted.told(None, ["input 0"], reply) is wanted.transcript
    assert wanted.told(["launch j"], ["input 0"], reply) == ("launch j", wanted.transcript[-1])
    assert wanted.told(None, ["memory 1"], reply)[-1] != wanted.transcript[-1]
    assert wanted.told(None, [], {"error": "x", "raised": "E"}) == ("launch k", "raises E")
    assert not Wanted((), ())


class Nowhere:
    def put(self, *_: Any) -> None: ...

    later = put


def test_freed_addresses_are_given_again_where_a_call_asks_for_that() -> None:
    handles = Handles(64)
    handles.start(Nowhere())  # type: ignore[arg-type]

    def base() -> int:
        return int(handles.allocate(256).allocation.base)

    handles.begin()
    first = base()
    assert base() == first + 256 + 64  # not what was freed in this call
    handles.begin(again=True)
    assert base() in (first, first + 256 + 64)
    handles.begin()
    assert base() > first + 256 + 64
    handles.begin(again=True, failing=2)
    base()
    with pytest.raises(torch.OutOfMemoryError):
        base()
    base()


@pytest.mark.parametrize(
    ("judged", "nbytes", "before", "now", "found"),
    [
        (False, MUCH, ["launch f", "raises OutOfMemoryError"], ["launch f", "returns"], ""),
        (False, MUCH, ["launch f", "returns"], ["raises OutOfMemoryError"], ""),
        (False, 4096, ["launch f", "returns"], ["raises OutOfMemoryError"], "differs"),
        (False, 4097, ["launch f", "returns"], ["raises OutOfMemoryError"], ""),  # broadcast it is much
        (False, MUCH, ["launch f", "returns"], ["launch g", "returns"], "differs"),
        (True, MUCH, ["launch f", "returns"], ["raises OutOfMemoryError"], "differs"),
        (True, MUCH, ["launch f", "returns"], ["launch f", "returns"], ""),
    ],
)
def test_large_calls_that_nobody_has_judged_may_find_memory_now_and_none_then(
    judged: bool, nbytes: int, before: list[str], now: list[str], found: str
) -> None:
    wanted = Wanted(tuple(before), ())
    one = SimpleNamespace(judged=judged, wanted=[wanted], case="case", differs=lambda *told: "differs")
    shapes = [[4096, 1], [1, 4096]] if nbytes % 2 else []
    told = [
        {"t": n, "dtype": "float32", "shape": shape, "stride": [1, 1], "offset": 0} for n, shape in enumerate(shapes)
    ]
    request = {"args": {"tuple": told}, "kwargs": {"dict": []}}
    call = SimpleNamespace(wanted=wanted, around={}, words="", sizes=[nbytes], request=request)
    rerun: Any = SimpleNamespace(rehearse=lambda calls: ([tuple(now)], None))
    batch: Any = [(one, call)]
    result = Rehearsed()._differs(rerun, batch, "a call")
    assert (result[0] if result else "") == found
