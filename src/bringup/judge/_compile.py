"""Compile one recorded specialisation with the real toolchain; needs no GPU. Runs in an isolated worker."""

from __future__ import annotations

from typing import Any

from bringup.judge._launches import decode_constant, gpu_target
from bringup.targets import error_chain


def compile_specialisation(module: dict[str, Any], entry: dict[str, Any]) -> str | None:
    """Compile `entry` (see LaunchRecorder) for its target; return None, or the compiler's log."""
    import triton
    from triton.compiler.compiler import ASTSource, make_backend

    name = entry["kernel"]
    function = module.get(name)
    while function is not None and not hasattr(function, "params"):
        function = getattr(function, "fn", None)  # autotune and heuristics wrap the kernel
    if function is None:
        return f"kernel {name} is not a function of the module: kernels must be defined at its top level"
    if entry["line"] not in _first_lines(function):
        # Only what stands at the top level is executed here: a kernel defined twice has two faces.
        return f"kernel {name} that was launched is not the function {name} at the module's top level"
    target = gpu_target(entry["target"])
    try:
        constants = {(int(i),): decode_constant(v, module) for i, v in entry["constants"].items()}
        attributes = {(int(i),): v for i, v in entry["attributes"].items()}
        backend = make_backend(target)
        known = vars(backend.parse_options({}))
        for option in entry["options"]:
            if option not in known:
                return f"keyword argument {option} of the launch is neither a parameter of {name} nor a compile option"
        source = ASTSource(fn=function, signature=entry["signature"], constexprs=constants, attrs=attributes)
        triton.compile(source, target=target, options=dict(entry["options"]))
    except Exception as error:
        return error_chain(error)
    return None


def _first_lines(function: Any) -> tuple[int, int]:
    """Lines at which a kernel may be said to begin: its first decorator, or `def`, as Triton's interpreter has it."""
    above = next((n for n, line in enumerate(function.raw_src) if line.lstrip().startswith("def ")), 0)
    return function.fn.__code__.co_firstlineno, function.starting_line_number + above
