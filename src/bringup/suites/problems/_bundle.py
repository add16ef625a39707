"""Files of problems and how they are asked for: `PATH?memory=16M&dtypes=float32,bfloat16`. Imports no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from bringup.candidate import digest
from bringup.errors import ConfigError, FormatError, did_you_mean
from bringup.operators import DTYPES
from bringup.verdict import Record

Contract = Literal["kernelbench", "modules"]
FORMAT = 1
MARK = "bringup problems"
_MEMORY = re.compile(r"(\d+)([KMG]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_FLOATS = ("float32", "bfloat16", "float16")
_LARGEST = 1_000_000  # characters of a file; a problem is a page


class Options(Record):
    """What follows the path."""

    memory: int = Field(default=0, ge=0)  # bytes of inputs, parameters and outputs; sizes are cut to it; 0: as they are
    scale: int = Field(default=1, ge=1)  # by which sizes are divided
    dtypes: tuple[str, ...] = ()  # empty: the file's own
    training: bool = False  # gradients too
    sizes: Literal["checks", "timed", "all"] = "checks"  # of the contract `modules`
    device: Literal["cpu", "cuda"] = "cpu"  # where the problem's process computes; inputs are made on the host always

    @model_serializer(mode="wrap")
    def _named(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out a device that is the host: digests of suites without the option stay what they were."""
        found: dict[str, Any] = handler(self)
        return {key: value for key, value in found.items() if key != "device" or value != "cpu"}

    @property
    def scaled(self) -> bool:
        """Whether sizes are smaller than the file's."""
        return bool(self.memory) or self.scale > 1


class Bundle(Record):
    """Problem files with their texts, as a job takes them along."""

    problems: str = MARK
    format: int = FORMAT
    contract: Contract
    options: Options = Options()
    files: dict[str, str]  # name without `.py` -> text

    def packed(self) -> str:
        """Return the bundle as the text of a file that the suite takes in the place of a path."""
        return self.model_dump_json()

    @property
    def digest(self) -> str:
        """SHA-256 of contract, options and texts."""
        return digest(self.packed())


def read_bundle(contract: Contract, given: str) -> Bundle:
    """Read what a suite is named with: a file, a folder (searched downwards) or a packed bundle, and options.

    Raises ConfigError for options and for a path without problems, FormatError for files that cannot be read.
    """
    what = f"suite {contract}"
    path_text, _, query = given.partition("?")
    if not path_text:
        raise ConfigError(what, "names no file or folder", f"name it `{contract}:PATH`")
    path = Path(path_text).expanduser()
    options = _options(what, query)
    if path.is_dir():
        found = sorted(p for p in path.rglob("*.py") if not any(part.startswith((".", "_")) for part in p.parts[-2:]))
        if not found:
            raise ConfigError(what, f"no problem files (*.py) in {path}", "give a file, or the folder of a level")
        files: dict[str, str] = {}
        for one in found:
            if one.stem in files:
                raise ConfigError(
                    what, f"two files are called {one.name} in {path}", "give the folder of one of them (a level)"
                )
            files[one.stem] = _text(one)
        return Bundle(contract=contract, options=options, files=dict(sorted(files.items(), key=_in_order)))
    text = _text(path)
    if text.startswith("{") and MARK in text[:200]:
        return _unpacked(contract, str(path), text)
    return Bundle(contract=contract, options=options, files={path.stem: text})


def _in_order(item: tuple[str, str]) -> tuple[int, str]:
    """KernelBench numbers its problems: 2 comes before 10."""
    number = re.match(r"\d+", item[0])
    return (int(number.group()) if number else 0, item[0])


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise FormatError(f"{path}: too long for a problem file ({path.stat().st_size:,} bytes)")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file or folder", "give the path of a problem file or a folder") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be read: {error.strerror}") from None


def _unpacked(contract: Contract, where: str, text: str) -> Bundle:
    try:
        raw = json.loads(text)
        if raw.get("format") != FORMAT:
            raise FormatError(f"{where}: problems in format {raw.get('format')}, this bringup reads {FORMAT}")
        bundle = Bundle.model_validate(raw)
    except (ValueError, ValidationError) as error:
        raise FormatError(f"{where}: damaged problems ({str(error).splitlines()[0]}); make the job anew") from None
    if bundle.contract != contract:
        raise FormatError(f"{where}: holds problems of {bundle.contract}, not of {contract}")
    return bundle


def _options(what: str, query: str) -> Options:
    values: dict[str, object] = {}
    for key, text in parse_qsl(query, keep_blank_values=True):
        if key not in Options.model_fields:
            raise ConfigError(what, f"no option '{key}'{did_you_mean(key, Options.model_fields)}", _ADVICE)
        values[key] = _value(what, key, text)
    if query and not values:
        raise ConfigError(what, f"'?{query}' is no option", _ADVICE)
    try:
        return Options.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(what, f"option {first['loc'][0]}: {first['msg']}", _ADVICE) from None


_ADVICE = (
    "options: memory=16M, scale=8, dtypes=float32,bfloat16, training=1, sizes=checks|timed|all, device=cuda; "
    "joined by &"
)


def _value(what: str, key: str, text: str) -> object:
    if key == "memory":
        match = _MEMORY.fullmatch(text.upper().removesuffix("B").removesuffix("I"))
        if match is None:
            raise ConfigError(what, f"option memory: '{text}' is no amount", "write 64K, 16M or 2G")
        return int(match.group(1)) * _UNITS[match.group(2)]
    if key == "dtypes":
        names = tuple(name.strip() for name in text.split(",") if name.strip())
        wrong = [name for name in names if name not in _FLOATS]
        if wrong or not names:
            raise ConfigError(what, f"option dtypes: '{text}'", f"name some of {', '.join(_FLOATS)}")
        return tuple(name for name in DTYPES if name in names)
    if key == "training":
        if text not in {"0", "1"}:
            raise ConfigError(what, f"option training: '{text}' is neither 0 nor 1")
        return text == "1"
    return text
