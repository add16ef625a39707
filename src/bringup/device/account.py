"""What one call of a wrapper asked of the device, and the rules on it: they count, nothing guesses."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

READS, HOST_BYTES, STREAM, STATE, COPIES = (
    "reads",
    "host-bytes",
    "stream",
    "state",
    "provenance",
)  # ids of the rules, as in verdicts


@dataclass(frozen=True)
class Allowance:
    """What a call may do beside launches and copies."""

    read_bytes: int = 0
    """Bytes that the host may read; only bytes that a kernel wrote, unless `read_inputs`."""
    read_inputs: bool = False
    """Whether reading an input is the operator itself (`item`)."""
    host_bytes: int | None = None
    """Bytes that the host may make: uploads, arguments of launches and copies, constants and structure of kernels.

    None: no bound.
    """
    uploaded_bytes: int | None = None
    """Of these, bytes that it may upload: a table of what the call itself says. None: no bound of their own."""


class Broken(Exception):
    """A rule that the guest broke: a verdict, never an error of ours."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule


@dataclass
class Account:
    """Counters of one call."""

    launches: int = 0
    copies: int = 0
    copied_bytes: int = 0
    copied_pieces: int = 0
    """Stretches of neighbouring bytes that copies have read, and that they have written."""
    uploads: int = 0
    uploaded_bytes: int = 0
    argument_bytes: int = 0
    described_bytes: int = 0
    """Where copies take from and put to: 16 bytes each, and 8 for each size or stride that does not follow."""
    constant_bytes: int = 0
    reads: int = 0
    read_bytes: int = 0
    allocations: int = 0

    @property
    def host_bytes(self) -> int:
        """Everything that the host made."""
        return self.uploaded_bytes + self.argument_bytes + self.described_bytes + self.constant_bytes

    def check_host_bytes(self, allowance: Allowance) -> None:
        """Raise Broken when the host has made more than it may."""
        if allowance.uploaded_bytes is not None and self.uploaded_bytes > allowance.uploaded_bytes:
            raise Broken(
                HOST_BYTES,
                f"the host uploaded {self.uploaded_bytes} bytes for this call, {allowance.uploaded_bytes} are allowed: "
                "8 for each tensor of the call and each of its numbers (sizes, strides, offsets); what else "
                "a kernel needs it must compute from them",
            )
        if allowance.host_bytes is not None and self.host_bytes > allowance.host_bytes:
            raise Broken(
                HOST_BYTES,
                f"the host made {self.host_bytes} bytes for this call ({self.uploaded_bytes} uploaded, "
                f"{self.argument_bytes} in arguments of launches, {self.described_bytes} in places of copies, "
                f"{self.constant_bytes} as constants and structure of kernels), "
                f"{allowance.host_bytes} are allowed: values must be computed by kernels",
            )

    def check_read(self, nbytes: int, launched: bool, allowance: Allowance) -> None:
        """Raise Broken where a read of `nbytes` more is not allowed; `launched`: whether kernels wrote all of it."""
        if not allowance.read_bytes:
            raise Broken(READS, "the wrapper reads device memory on the host; nothing of this operator needs that")
        if not launched and not allowance.read_inputs:
            raise Broken(
                READS, "the wrapper reads an input on the host; only what a kernel has computed may be read here"
            )
        if self.read_bytes + nbytes > allowance.read_bytes:
            raise Broken(
                READS,
                f"the wrapper reads {self.read_bytes + nbytes} bytes of device memory on the host, "
                f"{allowance.read_bytes} are allowed: decide in kernels, and read only the size or the flag",
            )

    def to_json(self) -> dict[str, Any]:
        """The counters as a JSON object."""
        return asdict(self)
