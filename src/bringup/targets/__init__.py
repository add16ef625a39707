"""Targets: a device and its toolchain. One file a target."""

from bringup.targets._base import Target, TargetDefaults, compile_log, error_chain, get_target, located, targets
from bringup.targets._compile import compile_with_triton, gpu_target
from bringup.targets._dots import dots_of
from bringup.targets._new import new_profile, new_target
from bringup.targets._options import options_of
from bringup.targets._peaks import peak_tflops
from bringup.targets._porting import ported
from bringup.targets._resources import of_cubin as cubin_resources
from bringup.targets.simulated import SimulatedTarget

__all__ = [
    "SimulatedTarget", "Target", "TargetDefaults", "compile_log", "compile_with_triton", "cubin_resources", "dots_of",
    "error_chain", "get_target", "gpu_target", "located", "new_profile", "new_target", "options_of", "peak_tflops",
    "ported", "targets",
]  # fmt: skip
