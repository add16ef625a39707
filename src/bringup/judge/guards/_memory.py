"""Raw access to device memory for guards: past dispatch, past the device's own bookkeeping."""

from __future__ import annotations

from typing import Any


def device_bytes(target: Any, storage: Any) -> Any:
    """Return a flat uint8 tensor on the memory of `storage` that torch can fill and copy; None for meta tensors."""
    if storage.device.type == "meta":
        return None
    return target.worker_bytes(storage)
