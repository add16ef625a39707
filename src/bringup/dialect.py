"""A target's dialect of Triton as data: what its kernels may use. Feeds the linter, the prompts and the compiler."""

from __future__ import annotations

import ast
import importlib
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator

from bringup.errors import ConfigError, did_you_mean, not_yaml
from bringup.verdict import Record

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


class Limits(Record):
    """Figures of a chip that a kernel's author must keep to; None: there is no such limit.

    The conformance suite keeps to them. They are no rules of the linter, and a prompt does not show them: say them in
    the dialect's `rules`, too.
    """

    programs: int | None = Field(default=None, ge=1)  # of one launch
    block: int | None = Field(default=None, ge=1)  # elements of the largest block, a power of two

    @field_validator("block")
    @classmethod
    def _is_a_power_of_two(cls, value: int | None) -> int | None:
        if value is not None and value & (value - 1):
            raise ValueError("not a power of two; Triton's blocks are")
        return value


class Dialect(Record):
    """Allowlists and limits of one target's Triton. Names are fully qualified: `tl.load`, `torch.empty`.

    A target whose chip is narrower starts from a shipped dialect and replaces what differs, in Python
    (`load_dialect("triton").model_copy(update={"name": ..., "tl_functions": ..., "rules": ...})`) or in a YAML file of
    its own with `extends: triton` (see `load_dialect`). Removing a name from `tl_functions` also forbids the method of
    the same name on values in kernels (`tl.sum` and `x.sum()`).
    """

    name: str
    description: str = ""
    dtypes: tuple[str, ...] = ("float32", "bfloat16", "float16", "int32", "int64")  # that kernels load and store
    limits: Limits = Limits()
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
    # Whether copies by the runtime may make a result (`move`), or only prepare what kernels read (`prepare`).
    copies: Literal["prepare", "move"] = "prepare"
    builtins: tuple[str, ...] = ()  # Python built-ins allowed outside kernels
    modules: tuple[str, ...] = ("torch", "triton", "tl", "math")  # names that the loader provides; nothing is imported
    rules: tuple[str, ...] = ()  # prose: what a kernel author must know; goes into the first prompt
    lint_rules: tuple[str, ...] = ()  # the linter's rules of this target's own, "module:Class" (docs/linter.md)
    # Worked examples: a folder of bringup/prompts/examples, or "package:folder" for one of a package's own.
    examples: str = "plain"


class Example(Record):
    """One worked example: operator, signature, module."""

    name: str
    signature: str
    source: str


def load_dialect(name: str) -> Dialect:
    """Load a dialect: a shipped one by name, `package:file.yaml` from a package, or a YAML file by path.

    A file may start from another with `extends: NAME`. What it gives replaces what it inherits, but for lists that are
    written as changes: `tl_functions: {remove: [tl.dot], add: [libdevice.tanh]}`; `limits` merge. Raises ConfigError
    with file and field.
    """
    source, data = _load(name, ())
    try:
        return Dialect.model_validate(data)
    except ValidationError as error:
        raise _explained(source, error) from error


def load_examples(folder: str) -> tuple[Example, ...]:
    """Read the worked examples of a folder of bringup's own, or of `package:folder`.

    Each file is a candidate named by its operator, `exp.py` or `exp.py.txt`. The shipped ones' names (`EXAMPLES`) come
    first, then the others, sorted. Raises ConfigError when there is none, or one without a wrapper.
    """
    return _load_examples(folder)


# Operators shown, in this order: elementwise with type promotion, a reduction with ties and NaN, strided access.
EXAMPLES: tuple[str, ...] = ("exp", "argmax", "diag")
_IN_PACKAGE = re.compile(r"([A-Za-z_][\w.]*):(.+)")  # "package:place"; anything else is a name or a path


def has_examples(folder: str) -> bool:
    """Whether there is a folder of worked examples of that name; raises ConfigError for a package that is not there."""
    return _examples_folder(folder).is_dir()


def _examples_folder(folder: str) -> Traversable:
    inside = _IN_PACKAGE.fullmatch(folder)
    package, place = inside.groups() if inside else ("bringup.prompts", f"examples/{folder}")
    return _resource(f"examples {folder}", package, place)


@lru_cache(maxsize=8)
def _load_examples(folder: str) -> tuple[Example, ...]:
    where = _examples_folder(folder)
    sources = {}
    for path in where.iterdir() if where.is_dir() else ():
        name = path.name.removesuffix(".txt").removesuffix(".py")
        if path.name.endswith((".py", ".py.txt")) and not name.startswith("_"):
            sources[name] = path.read_text(encoding="utf-8")
    if not sources:
        raise ConfigError(
            f"examples {folder}", "no such folder with examples", "a dialect names one that holds OPERATOR.py"
        )
    found = []
    for name in sorted(sources, key=lambda n: (EXAMPLES.index(n) if n in EXAMPLES else len(EXAMPLES), n)):
        parameters = _parameters(f"examples {folder}: {name}.py", sources[name])
        found.append(Example(name=name, signature=f"{name}({parameters}) -> Tensor", source=sources[name]))
    return tuple(found)


def _parameters(source: str, text: str) -> str:
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise ConfigError(source, f"line {error.lineno}: {error.msg}") from error
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name == "wrapper":
            return ast.unparse(node.args)
    raise ConfigError(source, "no function 'wrapper'", "an example is a candidate as it passes")


_Trail = tuple[str, ...]


def _load(name: str, seen: _Trail) -> tuple[str, dict[str, Any]]:
    """Return a name for messages and the fields of a dialect, with what it inherits."""
    source, text, key = _text_of(name, seen)
    if key in seen:
        raise ConfigError(source, "field extends: leads back to this file")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(source, not_yaml(error)) from error
    if not isinstance(data, dict):
        raise ConfigError(source, "not a mapping of fields", "start with `extends: triton` and `name: ...`")
    parent = data.pop("extends", None)
    for field in data:
        if field not in Dialect.model_fields:
            raise ConfigError(source, f"field {field}: there is none{did_you_mean(str(field), Dialect.model_fields)}")
    if "name" not in data:
        raise ConfigError(source, "field name: missing", "a dialect needs its own name")
    if parent is None:
        return source, data
    if not isinstance(parent, str):
        raise ConfigError(source, f"field extends: {parent!r} is not a name or path")
    if parent.endswith((".yaml", ".yml")) and not _IN_PACKAGE.fullmatch(parent):  # beside this file
        inside = _IN_PACKAGE.fullmatch(name)
        parent = f"{inside[1]}:{Path(inside[2]).parent / parent}" if inside else str(Path(name).parent / parent)
    _, inherited = _load(parent, (*seen, key))
    return source, {**inherited, **{f: _changed(source, f, inherited.get(f), value) for f, value in data.items()}}


def _changed(source: str, field: str, inherited: Any, value: Any) -> Any:
    """What becomes of an inherited field."""
    if not isinstance(value, dict):
        return value
    if field == "limits":
        return {**(inherited or {}), **value}
    if set(value) - {"add", "remove"} or not all(isinstance(names, list) for names in value.values()):
        raise ConfigError(source, f"field {field}: not a list", "give one, or {add: [...], remove: [...]}")
    default = Dialect.model_fields[field].default
    names = list((default if isinstance(default, tuple) else ()) if inherited is None else inherited)
    for name in value.get("remove", ()):
        if name not in names:
            raise ConfigError(
                source, f"field {field}: '{name}' is not inherited{did_you_mean(str(name), map(str, names))}"
            )
        names.remove(name)
    return names + [name for name in value.get("add", ()) if name not in names]


def _text_of(name: str, seen: _Trail) -> tuple[str, str, str]:
    """Return what to call a dialect's file, its text, and what tells it from others."""
    inside = _IN_PACKAGE.fullmatch(name)
    if inside:
        package, place = inside.groups()
        resource = _resource(f"dialect {name}", package, place)
        if not resource.is_file():
            raise ConfigError(f"dialect {name}", "no such file in the package", "is it among its package data?")
        return name, resource.read_text(encoding="utf-8"), name
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        try:
            return str(path), path.read_text(encoding="utf-8"), str(path.resolve())
        except OSError as error:
            raise ConfigError(str(path), f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(str(path), f"not UTF-8 text: {error.reason} at byte {error.start}") from error
    resource = files("bringup.linter").joinpath("dialects", f"{name}.yaml")
    if "/" in name or not resource.is_file():
        raise ConfigError(f"dialect {name}", "no such dialect", "give a shipped name or the path of a YAML file")
    return f"dialect {name}", resource.read_text(encoding="utf-8"), name


def _resource(source: str, package: str, place: str) -> Traversable:
    try:
        importlib.import_module(package)
        return files(package).joinpath(*Path(place).parts)
    except (ImportError, TypeError, ValueError) as error:
        raise ConfigError(source, f"package '{package}' cannot be read: {error}") from error


def _explained(source: str, error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    return ConfigError(source, f"field {field}: {first['msg'].removeprefix('Value error, ')}")
