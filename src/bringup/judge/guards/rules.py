"""Rules on the command stream: the device process counts, and keeps the first thing that is broken."""

from __future__ import annotations

from bringup.device.account import HOST_BYTES, READS, STATE, STREAM
from bringup.judge.guards._base import RuleOfStream


class Reads(RuleOfStream):
    """The host reads nothing; where the operator's result has a size or a flag that depends on data, so many bytes.

    Of a result that is a truth value it reads 0 or 1: more would be something to decide with.
    """

    id = READS
    catches = "values read by the host, to compute or decide with them there"
    misses = "what fits into the few bytes that `nonzero`, `equal` and their like may read, if a kernel made them"
    advice = "compute with values in kernels only; the wrapper knows shapes, strides and dtypes"


class HostBytes(RuleOfStream):
    """Uploads, arguments of launches and what kernels' texts say count; for a factory they cannot hold its result.

    A call has 512 bytes, 64 for each of its numbers (sizes, strides and offsets of its tensors included), and 4 KiB
    where it has a tensor. An argument of a launch counts 8 bytes, one that the call's launches had before 1. Of these
    8 for each number and each tensor may be uploaded: tables of what the call says.
    """

    id = HOST_BYTES
    catches = "answers made in Python and carried to the device: uploads, scalars, tables of constants"
    misses = "answers that are as small as the numbers of the call"
    advice = "compute the values in a kernel from the numbers of the call"


class Stream(RuleOfStream):
    """Commands are well-formed, name the guest's own memory, and come during a call of the wrapper. Always on."""

    id = STREAM
    catches = "forged handles, commands after the wrapper has returned, broken framing"
    misses = "nothing that reaches memory"
    advice = "use tensors and launches as PyTorch and Triton offer them, within the call"


class State(RuleOfStream):
    """Device memory lives for one call of the wrapper. Always on."""

    id = STATE
    catches = "results and inputs kept from an earlier call"
    misses = "what Python remembers of shapes; it never sees data"
    advice = "allocate what you need in every call: device memory of an earlier call is gone"
