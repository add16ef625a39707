"""One call of a sealed kernel: its arguments as a guest is told them, and what comes of its answer.

Tensors are told by their sizes, strides, dtype and place in a region: the stretch of a storage that the call's tensors
reach, those together that lie on one another. Regions have addresses that are the same for all calls of a kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bringup.device import space
from bringup.device.checks import check_extent
from bringup.device.elements import element_bytes
from bringup.device.memory import Map
from bringup.device.reach import Readable, covers, marks
from bringup.device.regions import regions_of
from bringup.device.seeds import SEED
from bringup.judge.calling import decode, encode
from bringup.library._numbers import Number, left_open, relation
from bringup.library._room import May, Room, View, alignment, view
from bringup.library._tapes import Tape
from bringup.library.errors import GuestFailed
from bringup.vpe.device import host_view, tensors

_PLAIN = (bool, int, str, type(None))


class Told(tuple[Any, ...]):
    """A tensor: region, dtype, shape, strides, offset in elements."""

    __slots__ = ()


class Plain(tuple[Any, ...]):
    """Any other value: its type and itself, floats as their digits; or None and how a guest is told it."""

    __slots__ = ()


class Listed(tuple[Any, ...]):
    """A list of arguments."""

    __slots__ = ()


@dataclass(frozen=True)
class Opened:
    """A place for a number that is left open."""

    place: int


class Template:
    """A call without its tensors' data, and with its numbers left open: what guests are told of it, for any numbers."""

    def __init__(self, args: tuple[Any, ...], kwargs: tuple[Any, ...], sizes: list[int], remainders: list[int]) -> None:
        self.args, self.kwargs, self.sizes, self.remainders = args, kwargs, sizes, remainders
        self.key = args, kwargs, tuple(sizes), tuple(remainders)

    def bases(self) -> list[int]:
        """The addresses at which the regions are said to lie; 0 for empty ones."""
        found, at, aligned = [], space.MIDDLE, alignment()
        for size, remainder in zip(self.sizes, self.remainders, strict=True):
            if not size:
                found.append(0)
                continue
            at = space.after(at, 0, aligned) + remainder
            found.append(at)
            at = -(-(at + size) // aligned) * aligned
        if at >= space.END:
            raise GuestFailed(f"its arguments have {at - space.MIDDLE} bytes, {space.END - space.MIDDLE} can be sealed")
        return found

    def request(self, numbers: Sequence[Number]) -> dict[str, Any]:
        """What a guest is told of the call with these numbers. Raises CallFailed, GuestFailed."""
        return {
            "args": {"tuple": [_told(value, numbers) for value in self.args]},
            "kwargs": {"dict": [[name, _told(value, numbers)] for name, value in self.kwargs]},
            "sizes": self.sizes, "bases": self.bases(),
        }  # fmt: skip

    def all_numbers(self, numbers: Sequence[Number]) -> list[Number]:
        """All numbers of the call, those included that are not left open."""
        return list(_numbers([self.args, [value for _, value in self.kwargs]], numbers))

    def kind(self, numbers: Sequence[Number]) -> tuple[Any, ...]:
        """What calls have in common whose numbers wrappers treat alike."""
        return self.key, tuple(left_open(number) for number in numbers), relation(self.all_numbers(numbers))


def _told(value: Any, numbers: Sequence[Number]) -> Any:
    if isinstance(value, Told):
        region, dtype, shape, stride, offset = value
        name = str(dtype).removeprefix("torch.")
        return {"t": region, "dtype": name, "shape": list(shape), "stride": list(stride), "offset": offset}
    if isinstance(value, Opened):
        return encode(numbers[value.place])
    if isinstance(value, Listed):
        return [_told(one, numbers) for one in value]
    kind, plain = value
    return json.loads(plain) if kind is None else encode(float.fromhex(plain) if kind is float else plain)


def _numbers(values: Any, numbers: Sequence[Number]) -> Iterator[Number]:
    for value in values:
        if isinstance(value, Opened):
            yield numbers[value.place]
        elif isinstance(value, Listed):
            yield from _numbers(value, numbers)
        elif isinstance(value, Plain) and value[0] in (int, float):
            yield value[1] if value[0] is int else float.fromhex(value[1])


class Call:
    """One call: its arguments as a guest is told them, and what comes of it."""

    def __init__(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Raises GuestFailed for arguments that no sealed kernel can take. Names are told in the judge's order."""
        kwargs = dict(sorted(kwargs.items()))
        self.given: list[Any] = [args, kwargs]
        self.tensors: list[Any] = []
        self._collect(args)
        self._named: dict[str, range] = {}
        """By the name of an argument: which of the tensors are in it."""
        for name, value in kwargs.items():
            first = len(self.tensors)
            self._collect([value])
            self._named[name] = range(first, len(self.tensors))
        default = torch.get_default_dtype()
        if default is not torch.float32 and not any(tensor.is_floating_point() for tensor in self.tensors):
            raise GuestFailed(
                f"the default dtype is {default}, of which a sealed kernel knows nothing: call it with floating-point "
                "tensors, or with float32 as default"
            )
        self.regions: list[Any] = []
        self._where: dict[int, tuple[int, int]] = {}  # by id of the tensor: region, bytes from its beginning
        self._lay_out()
        self._told: list[Told] = []
        self.numbers: list[Any] = []
        """Those that may be left open."""
        self.written: list[Any] = []
        """Arguments that the overload may write, or resize."""
        sizes = [region.numel() for region in self.regions]
        remainders = [
            region.data_ptr() % alignment() if size else 0 for region, size in zip(self.regions, sizes, strict=True)
        ]
        told = tuple([self._tell(value) for value in args])
        named = tuple([(name, self._tell(value)) for name, value in kwargs.items()])
        self.template = Template(told, named, sizes, remainders)
        exact = [number.hex() if type(number) is float else number for number in self.numbers]
        self.key = self.template.key, tuple(exact)
        self._kind: tuple[Any, ...] | None = None
        self.shown: list[Map | None] = []
        """Which bytes of each region the call may read; None for all, also where there is no entry."""
        self.unread: set[int] = set()
        """Which of the tensors it may not read."""
        self.may_write: list[May] = []
        """What of each it may write; everything where there is no entry."""

    def keep(self) -> None:
        """Leave nothing to be written but the elements of the arguments that the overload writes."""
        found: list[list[Readable]] = [[] for _ in self.regions]
        written = {id(tensor) for tensor in self.written}
        for tensor, told in zip(self.tensors, self._told, strict=True):
            if id(tensor) in written:
                found[told[0]].append(_reachable(told))
        self.may_write = [_may(region.numel(), elements) for region, elements in zip(self.regions, found, strict=True)]

    def show(self, outs: Iterable[str], filled: Iterable[int] = ()) -> None:
        """Leave the elements of all arguments to be read but of those that the call is to write as a whole.

        `outs`: by name; `filled`: which of the tensors, of those by position.
        """
        written = {place for name in outs for place in self._named.get(name, ())}
        readable: list[list[Readable]] = [[] for _ in self.regions]
        self.unread = written | {*filled}
        for place, told in enumerate(self._told):
            if place not in self.unread:
                readable[told[0]].append(_reachable(told))
        self.shown = [
            marks(region.numel(), found) if region.numel() else None
            for region, found in zip(self.regions, readable, strict=True)
        ]

    def changed(self) -> set[int]:
        """The regions that the call may write, and that hold what it may read, of the same tensor or of another."""
        return self.data() - self.read_only

    def data(self) -> set[int]:
        """The regions that hold what the call may read."""
        return {told[0] for place, told in enumerate(self._told) if place not in self.unread and 0 not in told[2]}

    @property
    def read_only(self) -> set[int]:
        """The regions that nothing of the call may write."""
        return {number for number, may in enumerate(self.may_write) if may == "nothing"}

    def views(self) -> list[tuple[int, View]]:
        """Those of its tensors that have elements, on its regions, each with its number."""
        return [
            (place, View(region, offset * dtype.itemsize, dtype, shape, stride))
            for place, (region, dtype, shape, stride, offset) in enumerate(self._told)
            if 0 not in shape
        ]

    def operands(self) -> list[Any]:
        """Its tensors that hold what it may read, in order."""
        return [tensor for place, tensor in enumerate(self.tensors) if place not in self.unread]

    @property
    def empty(self) -> bool:
        """Whether one of these has no elements."""
        return any(not tensor.numel() for tensor in self.operands())

    def kept(self) -> View | None:
        """Where the tensor is whose elements some operators leave, the first one; None if it has no element."""
        found = self.views_of(self.operands()[:1])
        return found[0] if found else None

    def views_of(self, chosen: Iterable[Any]) -> list[View]:
        """Some of its tensors on its regions, without those that have no elements."""
        by = {*map(id, chosen)}
        return [view for place, view in self.views() if id(self.tensors[place]) in by] if by else []

    def placed(self, base: Callable[[int], int]) -> list[tuple[int, Sequence[int], Sequence[int], int]]:
        """Where its tensors lie, if `base` says where regions begin: address, sizes, strides, bytes an element."""
        return [
            (base(region) + offset * dtype.itemsize, shape, stride, dtype.itemsize)
            for region, dtype, shape, stride, offset in self._told
        ]

    def elements(self) -> list[tuple[int, int]]:
        """The region of each of its tensors, and bytes of an element."""
        return [(region, element_bytes(dtype)) for region, dtype, *_ in self._told]

    @property
    def kind(self) -> tuple[Any, ...]:
        """As `Template.kind`."""
        if self._kind is None:
            self._kind = self.template.kind(self.numbers)
        return self._kind

    def _collect(self, values: Any) -> None:
        for value in values:
            if isinstance(value, torch.Tensor):
                if not tensors.is_device_tensor(value):
                    raise GuestFailed(f"an argument is a tensor on {value.device}, which a sealed kernel cannot take")
                self.tensors.append(value)
            elif isinstance(value, list | tuple):
                self._collect(value)

    def _lay_out(self) -> None:
        regions, places = regions_of(self.tensors)
        for tensor, (region, offset) in zip(self.tensors, places, strict=True):
            self._where[id(tensor)] = region, offset
        for number, start, size in regions:
            storage = self.tensors[number].untyped_storage()
            self.regions.append(tensors.make_tensor(storage, start, (size,), (1,), torch.uint8))

    def _tell(self, value: Any) -> Any:
        """An argument as a part of a key: two are equal where a guest is told the same."""
        if isinstance(value, torch.Tensor):
            region, first = self._where[id(value)]
            told = Told((region, value.dtype, tuple(value.shape), value.stride(), first // value.element_size()))
            self._told.append(told)
            return told
        if isinstance(value, list | tuple):
            return Listed([self._tell(one) for one in value])
        kind = type(value)
        if kind in (int, float) and value != SEED and left_open(value):
            self.numbers.append(value)
            return Opened(len(self.numbers) - 1)
        if kind in _PLAIN:
            return Plain((kind, value))
        return Plain((kind, value.hex())) if kind is float else Plain((None, json.dumps(encode(value))))

    # What comes of it ------------------------------------------------------------------------------------------

    def finished(self, tape: Tape, room: Room) -> Any:
        """Give arguments that were resized their new sizes; return the result on this process's tensors."""
        answer, regions = tape.answer, room.regions
        after = list(described(answer.after)) if answer.after is not None else None
        self._take_elements(room, after)
        if after is not None:
            self._resize(after, tape, regions)
        regions = [room.aside.get(number, (region,))[0] for number, region in enumerate(regions)]
        return self._made(answer.result, tape, regions)

    def _take_elements(self, room: Room, after: Sequence[dict[str, Any]] | None) -> None:
        """Write the elements that the call has changed in a copy; arguments with other sizes have their own way.

        No others: another thread may have written them meanwhile.
        """
        if not room.aside:
            return
        written = {id(tensor) for tensor in self.written}
        for place, (tensor, told) in enumerate(zip(self.tensors, self._told, strict=True)):
            region, dtype, size, stride, offset = told
            resized = after is not None and place < len(after) and _as_told(after[place]) != told
            if region in room.aside and id(tensor) in written and not resized:
                now, before = (
                    view(one, offset * dtype.itemsize, dtype, size, stride)
                    for one in (room.regions[region], room.aside[region][1])
                )
                tensors.copy_marks(now, tensor)
                new, old, target = (_bits(host_view(one)) for one in (now, before, tensor))
                changed = new != old
                target[changed] = new[changed]

    def _resize(self, after: Sequence[dict[str, Any]], tape: Tape, regions: list[Any]) -> None:
        if len(after) != len(self.tensors):
            raise GuestFailed("it has exchanged its arguments")
        for tensor, before, now in zip(self.tensors, self._told, after, strict=True):
            if _as_told(now) == before:
                continue
            if not any(tensor is one for one in self.written):
                raise GuestFailed("it has resized an argument that is not its result")
            held = self._tensor(now, tape, regions)
            if held.dtype != tensor.dtype:
                raise GuestFailed("it has changed the dtype of an argument")
            if held.shape == tensor.shape:  # as in the judge: `out` has the right size, and stays where it is
                raise GuestFailed("it has given an argument other memory or strides; it must write into its own memory")
            tensor.resize_(tuple(held.shape))
            if tensor.numel():
                tensor.copy_(held)

    def _made(self, told: Any, tape: Tape, regions: list[Any]) -> Any:
        if isinstance(told, list):
            return [self._made(one, tape, regions) for one in told]
        if isinstance(told, dict) and "t" in told:
            return self._tensor(told, tape, regions)
        if isinstance(told, dict) and "tuple" in told:
            return tuple(self._made(one, tape, regions) for one in told["tuple"])
        if isinstance(told, dict) and "dict" in told:
            raise GuestFailed("it returns a dictionary")
        return decode(told)

    def _tensor(self, described: dict[str, Any], tape: Tape, regions: list[Any]) -> Any:
        told = _as_told(described)
        if told in self._told:
            return self.tensors[self._told.index(told)]
        region, dtype, size, stride, offset = told
        number = tape.answer.storages[region]
        if number < 0 and 0 not in size:
            raise GuestFailed("it returns elements without memory")
        if 0 in size:
            return torch.empty_strided(size, stride, dtype=dtype, device=tensors.device())
        check_extent(offset * dtype.itemsize, dtype.itemsize, size, stride, tape.sizes[number])
        if regions[number] is None:
            raise GuestFailed("it returns memory that it has freed")
        return view(regions[number], offset * dtype.itemsize, dtype, size, stride)


def _bits(tensor: Any) -> Any:
    """The elements of a host tensor as integers, on the same memory."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.view(_INTEGERS[tensor.element_size()])


_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def _reachable(told: Told) -> Readable:
    _, dtype, size, stride, offset = told
    return Readable(offset * dtype.itemsize, size, stride, dtype.itemsize)


def _may(nbytes: int, elements: Sequence[Readable]) -> May:
    if not elements or not nbytes:
        return "nothing"
    return "everything" if any(covers(nbytes, one) for one in elements) else "elements"


def _as_told(described: dict[str, Any]) -> Told:
    """A tensor of a guest's answer."""
    dtype = getattr(torch, described["dtype"])
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"{described['dtype']} is no dtype")
    return Told((
        described["t"], dtype, tuple(described["shape"]), tuple(described["stride"]), int(described["offset"]),
    ))  # fmt: skip


def described(told: Any) -> Iterator[dict[str, Any]]:
    """The tensors of a tree, in order."""
    if isinstance(told, dict) and "t" in told:
        yield told
    elif isinstance(told, dict):
        for one in told.values():
            yield from described(one)
    elif isinstance(told, list):
        for one in told:
            yield from described(one)
