"""Triton's compiler interface for vpe: Triton's own front end and TTIR passes, then our checks and code generator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget, Language

from bringup.vpe.identity import source_digest

_LARGEST_E4B15 = 0x3F00
"""1.75 in fp16."""


@dataclass(frozen=True)
class VpeOptions:
    """Launch options. Those of GPUs are accepted and have no effect, so that kernels written for them run
    unmodified.
    """

    enable_scatter_stores: bool = False
    """Allow stores whose addresses have no stride known to the compiler (profiles with `scatter_stores_option`)."""
    profile: str = ""
    """Digest of the profile: part of the cache key."""
    debug: bool = False
    sanitize_overflow: bool = True
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    num_buffers_warp_spec: int = 0
    num_consumer_groups: int = 0
    reg_dec_producer: int = 0
    reg_inc_consumer: int = 0
    maxnreg: int | None = None
    cluster_dims: tuple[int, ...] = (1, 1, 1)
    ptx_version: int | None = None
    ptx_options: str | None = None
    ir_override: str | None = None
    enable_fp_fusion: bool = False
    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e4b15", "fp8e4b8", "fp8e4nv", "fp8e5", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: Any = None
    waves_per_eu: int = 0
    matrix_instr_nonkdim: int = 0
    kpack: int = 1
    schedule_hint: str = "none"
    allow_flush_denorm: bool = False
    backend_name: str = "vpe"
    instrumentation_mode: str = ""
    arch: str = ""

    def hash(self) -> str:
        """Digest of all options."""
        key = "_".join(f"{name}-{value}" for name, value in sorted(self.__dict__.items()))
        return hashlib.sha256(key.encode()).hexdigest()


class VpeBackend(BaseBackend):  # type: ignore[misc]
    """Compiles kernels for the virtual accelerator of the current profile."""

    binary_ext = "vpe"
    ignores_alignment = True
    """See `alignment`."""
    sends_source = True
    """To the device's side, which runs Triton's passes: the form of addressing is seen before these only."""

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        """Whether the target is a vpe."""
        return bool(target.backend == "vpe")

    def hash(self) -> str:
        """Identifies this version of the code generator."""
        return f"vpe-{source_digest()}"

    def parse_options(self, opts: dict[str, Any]) -> VpeOptions:
        """Launch keywords to options."""
        from bringup.vpe import state

        known = VpeOptions.__dataclass_fields__
        args = {key: value for key, value in opts.items() if key in known and value is not None}
        args["arch"] = self.target.arch
        chip = state.profile_named(self.target.arch)
        args["profile"] = chip.digest
        args["extern_libs"] = None
        args["supported_fp8_dtypes"] = tuple(sorted(name for name in chip.dtypes if name.startswith("fp8")))
        warps = args.get("num_warps", 1)
        if warps < 1 or warps & (warps - 1):
            raise ValueError(f"num_warps must be a power of two, not {warps}")
        for key in (
            "supported_fp8_dtypes",
            "allowed_dot_input_precisions",
            "deprecated_fp8_dot_operand_dtypes",
            "cluster_dims",
        ):
            if key in args:
                args[key] = tuple(args[key])
        return VpeOptions(**args)

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        """What the launcher gets besides the arguments."""
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: VpeOptions) -> dict[str, Any]:
        """Hooks of the front end: any dot size is fine; fp8e4b15 converts like the other formats."""
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1), "convert_custom_types": _convert_custom}

    def get_module_map(self) -> dict[str, ModuleType]:
        """Our libdevice behind `triton.language.extra.libdevice`."""
        from bringup.vpe.language import libdevice

        return {"triton.language.extra.libdevice": libdevice}

    def load_dialects(self, ctx: Any) -> None:
        """Nothing beyond Triton's own dialects."""

    def add_stages(self, stages: dict[str, Any], options: VpeOptions, language: Any = None) -> None:
        """ttir: Triton's passes; vpe: checks and code."""
        if language is not None and language != Language.TRITON:
            raise NotImplementedError(
                "vpe compiles Triton, not Gluon: Gluon names GPU layouts that this chip does not have"
            )
        stages["ttir"] = lambda source, metadata: make_ttir(source, options)
        stages["vpe"] = lambda source, metadata: _make_binary(source, metadata, options)


def _convert_custom(value: Any, dtype: Any, fp_downcast_rounding: Any = None, _semantic: Any = None) -> Any:
    """Casts from and to fp8e4b15, which TTIR has as bytes: by way of fp16, whose exponent has the same bias.

    The format has neither infinity nor NaN; what is larger than 1.75 becomes 1.75, as do NaN.
    """
    import triton.language as tl

    def integer(operator: str, left: Any, right: int) -> Any:
        return getattr(left, f"__{operator}__")(right, _semantic=_semantic)

    if value.type.scalar.is_fp8e4b15():
        code = _semantic.cast(_semantic.bitcast(value, tl.int8), tl.int16)
        magnitude = integer("lshift", integer("and", code, 0x7F), 7)
        half = _semantic.bitcast(_semantic.or_(magnitude, integer("and", code, -0x8000)), tl.float16)
        return _semantic.cast(half, dtype.scalar)
    code = _semantic.cast(_semantic.bitcast(_semantic.cast(value, tl.float16), tl.int16), tl.int32)
    magnitude = integer("and", code, 0x7FFF)
    largest = _semantic.to_tensor(_LARGEST_E4B15)
    magnitude = _semantic.minimum(magnitude, largest, tl.PropagateNan.NONE)
    if fp_downcast_rounding == _semantic._str_to_rounding_mode("rtne"):
        odd = integer("and", integer("rshift", magnitude, 7), 1)
        magnitude = _semantic.add(integer("add", magnitude, 0x3F), odd, False)
    code = _semantic.or_(integer("rshift", magnitude, 7), integer("and", integer("rshift", code, 8), 0x80))
    return tl.tensor(_semantic.cast(code, tl.int8).handle, dtype)


def make_ttir(module: Any, options: Any) -> Any:
    """Check a module of the front end's and run Triton's passes on it, in place; returns it.

    Of `options` it needs the profile, `arch`. Raises VpeCompileError.
    """
    from bringup.vpe.compile import check_source

    check_source(module, options)
    manager = ir.pass_manager(module.context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    passes.ttir.add_rewrite_tensor_pointer(manager)
    passes.ttir.add_rewrite_tensor_descriptor_to_pointer(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.ttir.add_reorder_broadcast(manager)
    passes.common.add_cse(manager)
    passes.ttir.add_triton_licm(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")
    return module


def _make_binary(module: Any, metadata: dict[str, Any], options: VpeOptions) -> bytes:
    from bringup.vpe.compile import compile_ttir

    binary, name, local = compile_ttir(str(module), options)
    metadata["name"] = name
    metadata["shared"] = local
    return binary
