"""What a guest is told of where arguments lie is the same in the judge and in sealed use."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from bringup.judge import _codec
from bringup.judge._told import on_regions
from bringup.library._sealed_call import Call
from bringup.vpe import device
from bringup.vpe.device import tensors


def draw(chance: random.Random) -> list[torch.Tensor]:
    """Tensors of one or several storages: rows, columns, halves, neighbours, empty ones, the same one again."""
    storages = [torch.arange(chance.choice([7, 64, 300]), dtype=torch.float32) for _ in range(2)]
    found: list[torch.Tensor] = []
    for _ in range(chance.randint(1, 4)):
        flat = chance.choice(storages)
        begin = chance.randrange(flat.numel())
        length = chance.randint(0, flat.numel() - begin)
        one = flat.narrow(0, begin, length)
        kind = chance.randrange(5)
        if kind == 0 and length >= 6:
            one = one[: length // 3 * 3].view(-1, 3).t()
        elif kind == 1 and length > 2:
            one = one[:: chance.randint(1, 3)]
        elif kind == 2 and length:
            one = one[:1].expand(4)
        elif kind == 3:
            one = one.view(torch.int32)
        found.append(one)
    if chance.random() < 0.3:
        found.append(found[0])
    return found


def copied(given: list[torch.Tensor]) -> list[torch.Tensor]:
    """The same tensors on the device, storages shared as on the host."""
    storages = _codec.Storages()
    told = [_codec.encode(tensor, storages) for tensor in given]
    on = {id(s): torch.empty(0, dtype=torch.uint8).set_(s, 0, (s.nbytes(),), (1,)).to("vpe") for s in storages.items}
    same: dict[int, Any] = {}
    for tensor, one in zip(given, told, strict=True):
        place = on[id(storages.items[one["t"]])]
        same.setdefault(
            id(tensor),
            tensors.make_tensor(place.untyped_storage(), one["offset"], one["shape"], one["stride"], tensor.dtype),
        )
    return [same[id(tensor)] for tensor in given]


@pytest.mark.parametrize("seed", range(60))
def test_a_call_is_told_alike_in_the_judge_and_in_use(seed: int) -> None:
    device.enable()
    given = draw(random.Random(seed))
    args, kwargs = on_regions(tuple(given), {})
    assert [t.tolist() for t in args] == [t.tolist() for t in given]
    assert [t.stride() for t in args] == [t.stride() for t in given]
    storages = _codec.Storages()
    judged = {"args": _codec.encode(args, storages), "sizes": storages.sizes()}
    used = Call(tuple(copied(given)), {}).template.request(())
    assert judged == {"args": used["args"], "sizes": used["sizes"]}
    again, _ = on_regions(args, kwargs)
    assert all(one is two for one, two in zip(again, args, strict=True))
