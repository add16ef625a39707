"""What gets a buffer in local memory and for how long; everything else is computed where it is used.

Element-wise operations are fused into their consumers. A tensor is *materialised* (written to local memory
once) if its operation
must see whole tensors (loads, reductions, dots ...), if a consumer needs it dense, or if recomputing it for several
consumers would cost more than keeping it.
"""

from __future__ import annotations

from bringup.vpe.ir import Block, Func, Op, Type, Value
from bringup.vpe.lower.affine import AffineAnalysis, Expr, Fits
from bringup.vpe.lower.elementwise import ELEMENTWISE, SPECIAL
from bringup.vpe.lower.masks import Box, box_of

WHOLE = {
    "tt.load", "tt.scan", "tt.dot", "tt.dot_scaled", "tt.gather", "tt.histogram", "tt.cat", "tt.atomic_rmw",
    "tt.atomic_cas", "scf.for",
    "scf.while", "scf.if", "tt.call", "tt.reduce",
}  # fmt: skip
LAYOUT = {
    "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.trans", "tt.make_range", "tt.join", "tt.split", "arith.constant",
    "tt.reshape", "ub.poison",
}  # fmt: skip
_WRITES = {"tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.call"}
_WINDOW_BYTES = 256
"""Blocks below this are cheaper to copy than to branch for."""
SINKS = {
    "tt.store",
    "tt.print",
    "tt.assert",
    "scf.yield",
    "scf.condition",
    "tt.return",
    "cf.br",
    "cf.cond_br",
    "tt.unsplat",
}
_SPECIAL_COST, _MAX_DEPTH, _PERMUTED_COST = 20, 40, 4


def inline_reduce(op: Op) -> bool:
    """Whether a reduction is so short that it is computed where it is used (as in sorting networks)."""
    if op.name != "tt.reduce":
        return False
    operand = op.operands[0].type
    return len(operand.dims) > 1 and operand.dims[op.int_attr("axis")] <= 2


def flat_reshape(op: Op) -> bool:
    """Whether a reshape only adds or drops axes of length 1."""
    have = [size for size in op.operands[0].type.dims if size > 1]
    return have == [size for size in op.result.type.dims if size > 1]


class Plan:
    """The decisions for one function."""

    def __init__(self, func: Func) -> None:
        self.affine = AffineAnalysis()
        self.materialised: set[Value] = set()
        self.alias: dict[Value, Value] = {}
        """Reshaped value -> the value whose buffer it shares."""
        self.dead_after: dict[Op, list[Value]] = {}
        self.in_place: dict[Value, Value] = {}
        """Yielded value -> the loop argument whose buffer it may overwrite directly."""
        self.order: dict[Op, int] = {}
        self.windows: set[Value] = set()
        """Loaded blocks that may be read where they lie in device memory: nothing is written until their last use."""
        self._cost: dict[Value, int] = {}
        self._depth: dict[Value, int] = {}
        self._level: dict[Op, int] = {}
        self._ops: list[Op] = []
        self._block_of: dict[Op, Block] = {}
        for block in func.blocks:
            self.materialised.update(value for value in block.args if value.type.is_tensor)  # branches hand them over
            self._forward(block, 0)
        for op in reversed(self._ops):
            for value in op.results:
                self._decide(value)
        self._writers = [op for op in self._ops if op.name in _WRITES]
        structured = len(func.blocks) == 1
        self._loops()
        if structured:
            self._lifetimes(func)

    def box(self, pointer: Value, mask: Value) -> Box | None:
        """The box that a mask cuts out of a block access, if the access is one that takes a box."""
        walk = self.affine.of(pointer)
        if walk is None or not mask.type.is_tensor:
            return None
        if sum(size > 1 for size in mask.type.dims) > 3 or len(mask.type.dims) > 3:
            return None
        return box_of(self.affine, mask)

    def needs(self, pointer: Value, masks: list[Value]) -> list[Fits]:
        """What must hold for a load or store, of one mask or none, to be the block and the box that were found."""
        found = self.affine.line(pointer)
        if found is None:
            return []
        if not masks:
            return found[1]
        if is_constant(masks[0]):
            assert masks[0].op is not None
            return [] if masks[0].op.attrs["value"] in ("false", "0") else found[1]
        box = self.box(pointer, masks[0])
        return [*found[1], *(box.needs if box else [])]

    def is_buffer(self, value: Value) -> bool:
        """Whether a tensor lies in local memory."""
        return value in self.materialised or value in self.alias

    def root(self, value: Value) -> Value:
        """The value that owns the buffer."""
        while value in self.alias:
            value = self.alias[value]
        return value

    def _need(self, value: Value) -> None:
        """A consumer needs the tensor dense."""
        if not value.type.is_tensor or value in self.affine.carried:
            if value in self.affine.carried:
                self.materialised.add(value)
            return
        op = value.op
        if op is not None and op.name == "tt.reshape" and not self.is_buffer(value):
            self._alias(op)
        elif value not in self.alias:
            self.materialised.add(value)

    def _alias(self, op: Op) -> None:
        if op.operands[0] in self.affine.carried:  # which has no buffer
            self.materialised.add(op.result)
            return
        self._need(op.operands[0])
        self.alias[op.result] = op.operands[0]

    def _forward(self, block: Block, level: int) -> None:
        for op in block.ops:
            self.order[op] = len(self.order)
            self._ops.append(op)
            self._level[op] = level
            self._block_of[op] = block
            if op.name == "scf.for":
                self.affine.enter_loop(op)
            if op.name in ("tt.reduce", "tt.scan", "tt.map_elementwise"):
                pass
            else:
                for region in op.regions:
                    loop = op.name in ("scf.for", "scf.while")
                    for value in region.args:
                        if value.type.is_tensor and value not in self.affine.carried:
                            self.materialised.add(value)
                    self._forward(region, level + (1 if loop else 0))
            self._needs(op)
            for value in op.results:
                if value.type.is_tensor:
                    self._first(op, value)

    def _needs(self, op: Op) -> None:
        name = op.name
        if name in ("tt.load", "tt.store"):
            walk = self.affine.of(op.operands[0])
            if op.operands[0].type.is_tensor:
                if walk is None:
                    self._need(op.operands[0])
                mask = op.operands[2 if name == "tt.store" else 1 :]
                if mask and not is_constant(mask[0]) and self.box(op.operands[0], mask[0]) is None:
                    self._need(mask[0])
            if name == "tt.store":
                self._need(op.operands[1])
        elif name == "tt.dot":
            for value in op.operands[:2]:
                if value.type.elem in ("f32", "f64", "i32"):
                    self._need(value)
        elif name == "tt.gather":
            self._need(op.operands[0])
        elif name == "tt.trans":
            if self._cost.get(op.operands[0], 0) > _PERMUTED_COST:  # or it is computed for each order of its index
                self._need(op.operands[0])
        elif (
            name == "tt.reshape"
            and not flat_reshape(op)
            and self.affine.of(op.result) is None
            and not is_constant(op.operands[0])
        ):
            self._alias(op)
        elif inline_reduce(op):
            for value in op.operands:
                if self._cost.get(value, 0) > 4:
                    self._need(value)

    def _first(self, op: Op, value: Value) -> None:
        if op.name in WHOLE and not inline_reduce(op):
            if value not in self.affine.carried:
                self.materialised.add(value)
            self._cost[value] = self._depth[value] = 0
            return
        if self.is_buffer(value):
            self._cost[value] = self._depth[value] = 0
            return
        if self.affine.of(value) is not None:
            self._cost[value], self._depth[value] = 1, 0
            return
        own = _SPECIAL_COST if op.name in SPECIAL else (0 if op.name in LAYOUT else 1)
        if op.name in ("tt.reduce", "tt.map_elementwise"):
            own = 2 * len(op.regions[0].ops)
        if op.name in ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui"):
            own = 8
        self._cost[value] = own + sum(0 if self.is_buffer(x) else self._cost.get(x, 0) for x in op.operands)
        self._depth[value] = 1 + max(
            (0 if self.is_buffer(x) else self._depth.get(x, 0) for x in op.operands), default=0
        )
        if self._depth[value] > _MAX_DEPTH and op.name != "tt.splat":
            self._need(value)

    def sinks(self, value: Value) -> set[Op]:
        """Operations that read the value from local memory or through expressions that nobody keeps."""
        found: set[Op] = set()
        stack, seen = [value], set()
        while stack:
            current = stack.pop()
            for op in current.uses:
                if op in seen:
                    continue
                seen.add(op)
                if (
                    op.name in SINKS
                    or not op.results
                    or any(self.is_buffer(r) or not r.type.is_tensor for r in op.results)
                ):
                    found.add(op)
                    for result in op.results:  # of several some may be read later through expressions
                        if result in self.alias or (result.type.is_tensor and not self.is_buffer(result)):
                            stack.append(result)
                else:
                    stack.extend(op.results)
        return found

    def _decide(self, value: Value) -> None:
        op = value.op
        if op is None or not value.type.is_tensor or self.is_buffer(value) or value in self.affine.carried:
            return
        cost = self._cost.get(value, 0)
        if cost <= 1 or op.name in ("tt.splat", "tt.make_range", "arith.constant"):
            return
        if self.affine.of(value) is not None:
            return
        keep = False
        for use in value.uses:
            if use.name == "tt.broadcast":
                have, want = value.type.dims, use.result.type.dims
                outer = any(
                    h != w and any(x > 1 for x in have[i + 1 :])
                    for i, (h, w) in enumerate(zip(have, want, strict=True))
                )
                keep = keep or (outer and cost > 3) or cost > 10
        sinks = self.sinks(value)
        if len(sinks) > 1 and cost > 4:
            keep = True
        if cost > 2 and any(self._level.get(sink, 0) > self._level[op] for sink in sinks):
            keep = True
        if keep:
            self._need(value)

    def _loops(self) -> None:
        """Find loop results that may be written over the loop argument's buffer (accumulators)."""
        for op in self._ops:
            if op.name == "scf.for":
                args, body = op.regions[0].args[1:], op.regions[0]
            elif op.name == "scf.while":
                continue
            else:
                continue
            for arg, value in zip(args, body.ops[-1].operands, strict=True):
                if not arg.type.is_tensor or arg in self.affine.carried or value is arg:
                    continue
                producer = value.op
                if producer is None or self._block_of.get(producer) is not body or len(value.uses) != 1:
                    continue
                if value in self.alias:
                    continue
                if producer.name == "tt.dot":
                    if producer.operands[2] is arg and arg.uses == [producer]:
                        self.in_place[value] = arg
                elif producer.name in ELEMENTWISE and self._same_index(arg, producer):
                    self._need(value)
                    self.in_place[value] = arg

    def _same_index(self, arg: Value, producer: Op) -> bool:
        """Whether the argument is read by the producer alone, element by element."""
        stack = list(arg.uses)
        seen: set[Op] = set()
        while stack:
            op = stack.pop()
            if op in seen or op is producer:
                continue
            seen.add(op)
            if (
                op.name not in ELEMENTWISE
                or self.is_buffer(op.result)
                or self._block_of.get(op) is not self._block_of[producer]
            ):
                return False
            stack.extend(op.result.uses)
        return True

    def _lifetimes(self, func: Func) -> None:
        for value in self.materialised:
            if value.op is None or value in self.in_place:
                continue
            home = self._block_of.get(value.op)
            if home is None:
                continue
            last = value.op
            for sink in self._all_sinks(value):
                ancestor: Op | None = sink
                while ancestor is not None and self._block_of.get(ancestor) is not home:
                    ancestor = ancestor.parent
                if ancestor is not None and self.order[ancestor] > self.order[last]:
                    last = ancestor
            self.dead_after.setdefault(last, []).append(value)
            if value.op.name == "tt.load" and self._is_window(value, last):
                self.windows.add(value)

    def _is_window(self, value: Value, last: Op) -> bool:
        """Whether a loaded block, last used by `last` of its own block, can stay in device memory until then."""
        load = value.op
        if load is None or value.type.nbytes < _WINDOW_BYTES:
            return False
        found = self.affine.line(load.operands[0])
        if found is None or not _dense(found[0].strides, value.type):
            return False
        for sink in self._all_sinks(value):
            if sink.name in ("tt.store", *_WRITES) or (
                sink.name in WHOLE and sink.name not in ("tt.reduce", "tt.load")
            ):
                return False
        first, end = self.order[load], self._end(last)
        return not any(first < self.order[op] <= end for op in self._writers)

    def _end(self, op: Op) -> int:
        """Number of the last operation within an operation."""
        numbers = [self._end(inner) for region in op.regions for inner in region.ops if inner in self.order]
        return max([self.order[op], *numbers])

    def _all_sinks(self, value: Value) -> set[Op]:
        found = self.sinks(value)
        for alias, source in self.alias.items():
            if source is value:
                found |= self._all_sinks(alias)
        return found


def _dense(strides: tuple[Expr, ...], type_: Type) -> bool:
    """Whether a walk in bytes goes through one contiguous, row-major block."""
    step = type_.bytes
    for size, stride in zip(reversed(type_.dims), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def is_constant(value: Value) -> bool:
    """A splat constant."""
    if value.op is None or value.op.name != "arith.constant":
        return False
    return value.op.attrs["value"][:1] not in ("[", '"')  # many values, listed or as their bytes
