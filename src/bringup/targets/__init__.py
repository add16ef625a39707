"""Targets: a device and its toolchain. One file a target."""

from bringup.targets._base import Target, TargetDefaults, compile_log, error_chain, get_target, targets

__all__ = ["Target", "TargetDefaults", "compile_log", "error_chain", "get_target", "targets"]
