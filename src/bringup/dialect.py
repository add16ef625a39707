"""A target's dialect of Triton as data: what its kernels may use. Feeds the linter, the prompts and the compiler."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import Field, ValidationError

from bringup.errors import ConfigError
from bringup.verdict import Record


class Dialect(Record):
    """Allowlists and limits of one target's Triton. Names are fully qualified: `tl.load`, `torch.empty`.

    A target whose chip is narrower starts from a shipped dialect and replaces what differs:
    `load_dialect("triton").model_copy(update={"name": ..., "tl_functions": ..., "rules": ...})`. Removing a name
    from `tl_functions` also forbids the method of the same name on values in kernels (`tl.sum` and `x.sum()`).
    """

    name: str
    description: str = ""
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16", "int32", "int64")
    # Inside kernels.
    tl_functions: tuple[str, ...] = Field(default=())  # callable inside kernels, `tl.math.*`, `libdevice.*` too
    tl_constants: tuple[str, ...] = ()  # dtypes and types: usable in kernels without a call
    kernel_methods: tuple[str, ...] = ()  # methods of values inside kernels: `x.to(...)`
    kernel_attributes: tuple[str, ...] = ()  # attributes of values and dtypes inside kernels: `x.dtype`
    kernel_builtins: tuple[str, ...] = ()  # Python built-ins that Triton compiles
    # Outside kernels.
    tl_host: tuple[str, ...] = ()  # `tl` names usable outside kernels: dtypes passed as constexpr
    triton_functions: tuple[str, ...] = ()  # `triton.cdiv` ...
    decorators: tuple[str, ...] = ()  # of kernels: `triton.jit` ...
    torch_functions: tuple[str, ...] = ()  # allocation, views, metadata: callable inside the wrapper
    torch_constants: tuple[str, ...] = ()  # dtypes, memory formats, types for isinstance
    tensor_methods: tuple[str, ...] = ()  # methods of tensors allowed in the wrapper
    tensor_attributes: tuple[str, ...] = ()  # attributes (shape, dtype, device ...) allowed in the wrapper
    # Methods that read values of a tensor; only for operators whose result or its shape depends on values.
    value_reads: tuple[str, ...] = ()
    builtins: tuple[str, ...] = ()  # Python built-ins allowed outside kernels
    modules: tuple[str, ...] = ("torch", "triton", "tl", "math")  # names that the loader provides; nothing is imported
    rules: tuple[str, ...] = ()  # prose: what a kernel author must know; goes into the first prompt
    examples: str = "plain"  # folder of worked examples in bringup/prompts/examples


def load_dialect(name: str) -> Dialect:
    """Load a shipped dialect by name, or one from a YAML file by path; raises ConfigError with file and field."""
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        text, source = _read(path), str(path)
    else:
        resource = files("bringup.linter").joinpath("dialects", f"{name}.yaml")
        if not resource.is_file():
            raise ConfigError(f"dialect {name}", "no such dialect", "give a shipped name or the path of a YAML file")
        text, source = resource.read_text(encoding="utf-8"), f"dialect {name}"
    try:
        return Dialect.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ConfigError(source, f"not valid YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ConfigError(source, f"field {field}: {first['msg']}") from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
