"""Targets: a device and its toolchain. One file a target."""

from bringup.targets._base import Target, get_target, targets

__all__ = ["Target", "get_target", "targets"]
