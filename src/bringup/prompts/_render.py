"""Rendering: templates with strict names, typed contexts, limits on length, and a digest for the store."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound, meta
from pydantic import ValidationError

from bringup.candidate import digest
from bringup.dialect import Example, has_examples, load_examples
from bringup.errors import BringupError
from bringup.linter import computes, moves, read_allowance
from bringup.operators import Operator
from bringup.prompts._calls import call_texts
from bringup.prompts._contexts import (
    CONTEXTS,
    FormatContext,
    LintContext,
    Situation,
    TaskContext,
    VerdictContext,
)
from bringup.prompts._docs import documents
from bringup.prompts._text import (
    clean,
    compiler_log,
    fenced,
    number,
    oneline,
    scrub,
    shape,
    short,
    without_locations,
)
from bringup.tokens import estimate_tokens
from bringup.verdict import Mismatch, Record

# Longest pieces of a prompt, in characters (`inputs`, `violations`, `differences`: in entries).
LIMITS: dict[str, int] = {
    "log": 12_000,
    "exception": 8_000,
    "summarised": 60_000,
    "values": 3_000,
    "call": 2_000,
    "line": 600,
    "other": 1_500,  # log or traceback of one more failure
    "other_differences": 3,
    "doc": 12_000,  # the operator's own docstring
    "nested_doc": 8_000,
    "docs": 20_000,  # all docstrings together
    "inputs": 12,
    "violations": 20,
    "differences": 12,
    "calls": 12,
}


# Operators whose indices are compared by what they name (bringup.suites._opinfo_postprocess), unless sorted stably.
TIES = frozenset({"sort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian", "cummax", "cummin"})
EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
ROUNDING = 64  # units in the last place of the largest value up to which an error is called rounding


class Prompt(Record):
    """A rendered prompt. `template_digest` covers the template and everything that it includes."""

    text: str
    template: str
    template_digest: str

    @property
    def tokens(self) -> int:
        """An estimate of its length in tokens."""
        return estimate_tokens(self.text)


class PromptError(BringupError):
    """A situation that does not exist, or a context that does not fit it."""


class _Loader(BaseLoader):
    """Templates of the package."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, Callable[[], bool] | None]:
        path = files("bringup.prompts").joinpath("templates", template)
        if not path.is_file():
            raise TemplateNotFound(template)
        return path.read_text(encoding="utf-8"), None, lambda: True


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=_Loader(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # plain text for a model, not HTML
    )
    environment.filters.update(
        short=short,
        fenced=fenced,
        oneline=oneline,
        shape=shape,
        number=number,
        without_locations=without_locations,
        compiler_log=compiler_log,
    )
    environment.globals["limits"] = SimpleNamespace(**LIMITS)  # a dict would offer its own .values
    return environment


def render(situation: Situation, **context: Any) -> Prompt:
    """Render one situation's prompt.

    The context is checked against the situation's record (`CONTEXTS`): a missing, misspelt or ill-typed entry raises
    PromptError. Everything that comes from outside is shortened, and secrets of the environment are blanked.
    """
    try:
        checked = CONTEXTS[situation].model_validate(context)
    except KeyError:
        raise PromptError(f"unknown situation '{situation}'; known: {', '.join(CONTEXTS)}") from None
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise PromptError(f"prompt {situation}: context {field}: {first['msg']}") from error
    values = {name: getattr(checked, name) for name in type(checked).model_fields}
    values.update(_derived(checked))
    template = f"{situation}.jinja"
    text = _tidy(_environment().get_template(template).render(values))
    return Prompt(text=scrub(clean(text)), template=situation, template_digest=template_digest(situation))


@cache
def asked() -> dict[str, str]:
    """Return, for every family of the audit's cases, the sentence of the task that says what it asks.

    The families stand in a comment before each sentence in `_asked.jinja`.
    """
    source = _Loader().get_source(_environment(), "_asked.jinja")[0]
    found = re.findall(r"\{# families: ([\w, ]+) #\}\n- (.+)", source)
    return {family: sentence for names, sentence in found for family in names.split(", ")}


@cache
def template_digest(situation: str) -> str:
    """SHA-256 over a situation's template and all templates that it uses, in a fixed order."""
    environment = _environment()
    sources: dict[str, str] = {}
    todo = [f"{situation}.jinja"]
    while todo:
        name = todo.pop()
        if name in sources:
            continue
        sources[name] = _Loader().get_source(environment, name)[0]
        todo.extend(n for n in meta.find_referenced_templates(environment.parse(sources[name])) if n)
    return digest("\0".join(f"{name}\0{sources[name]}" for name in sorted(sources)))


def _tidy(text: str) -> str:
    """Collapse the blank lines that switched-off parts leave, outside fenced text."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if fence:
            if stripped == fence:
                fence = ""
        elif stripped.startswith("```") and stripped.count("`") == len(stripped) - len(stripped.lstrip("`")):
            fence = "`" * (len(stripped) - len(stripped.lstrip("`")))
        elif not stripped and (not lines or not lines[-1].strip()):
            continue
        lines.append(line.rstrip() if not fence else line)
    return "\n".join(lines).strip() + "\n"


# -- what templates need beside the context ---------------------------------------------------------------------------


def _derived(context: Record) -> dict[str, Any]:
    if isinstance(context, TaskContext):
        return _task(context)
    if isinstance(context, FormatContext):
        return {"computes": computes(context.operator)}
    if isinstance(context, VerdictContext):
        return {"units": _rounding(context.verdict.mismatch), "own_units": _at_elements(context.verdict.mismatch)}
    if isinstance(context, LintContext):
        return {"allowed": _allowed(context)}
    return {}


def _task(context: TaskContext) -> dict[str, Any]:
    operator, dialect = context.operator, context.dialect
    reads = read_allowance(operator)
    docs, left = documents(context.docs, LIMITS["doc"], LIMITS["nested_doc"], LIMITS["docs"])
    calls = call_texts(operator, context.docs[0].text if context.docs else "")
    counts = [
        f"{count} {dtype} {'case' if count == 1 else 'cases'}"
        for dtype in context.dtypes
        if (count := operator.case_counts.get(dtype))
    ]
    functions = {name for name in dialect.tl_functions if name.count(".") == 1}
    shared = {"to", "logical_and", "logical_or", "item"}
    return {
        "asked": _asked_of(context),
        "computes": computes(operator),
        "moves": moves(operator),
        "by_indices": operator.indexed,
        "reads": reads if reads.nbytes else None,
        "modules": [f"`{name}`" for name in dialect.modules],
        "signature": operator.signature,
        "calls": calls[: LIMITS["calls"]],
        "calls_left": max(0, len(calls) - LIMITS["calls"]),
        "takes_device": any("device" in shape_.keywords for shape_ in operator.call_shapes),
        "case_counts": ", ".join(counts),
        "torch_functions": dialect.torch_functions,
        "triton_functions": dialect.triton_functions,
        "tl_host": dialect.tl_host,
        "tl_functions": [name for name in dialect.tl_functions if name.startswith("tl.") and name.count(".") == 1],
        "tl_math": [name for name in dialect.tl_functions if name.startswith("tl.math.")],
        "libdevice": [name for name in dialect.tl_functions if name.startswith("libdevice.")],
        "kernel_methods": [n for n in dialect.kernel_methods if f"tl.{n}" in functions or n in shared],
        "docs": docs,
        "docs_left": left,
        "indexed": any("Tensor[" in call for call in calls),
        "out_rule": _out_rule(operator),
        "ties": (operator.start or operator.name) in TIES,
        "wide": "tl.float64" in dialect.tl_constants,
        "examples": [e for e in _examples(context) if e.name != operator.name] if context.examples else [],
    }


def _examples(context: TaskContext) -> tuple[Example, ...]:
    """The dialect's worked examples in the suite's contract, where it has such; else those of public functions."""
    folder, own = context.dialect.examples, context.words.examples
    if own and has_examples(f"{folder}-{own}"):
        return load_examples(f"{folder}-{own}")
    return load_examples(folder)


def _asked_of(context: TaskContext) -> list[str]:
    """The sentences on what the tests ask that hold for the suite, each once; none where all hold."""
    families = context.words.families or ()
    return list(dict.fromkeys(sentence for family, sentence in asked().items() if family in families))


def _out_rule(operator: Operator) -> str:
    """What PyTorch does with an `out=` of another dtype, in a sentence; "" where it is not known, or not asked for."""
    found = operator.out
    if "out" not in re.findall(r"\w+", operator.signature) or not found:
        return ""
    cast, lower = found.get("cast"), found.get("lower")
    if cast == "taken" and lower == "taken":
        return "`out=` of any other dtype is cast to, also of integers where the result is floating-point."
    if "mixed" in (cast, lower):
        return ""
    denied = f"; one that it cannot be cast to is refused with {lower}" if lower else ""
    if cast == "taken":
        return (
            f"`out=` of another dtype that the result can be cast to (`torch.can_cast`) is cast to{denied}. Allocate "
            "the result in the dtype of `out`, or let the kernel store into `out`: `copy_` never casts. No complex "
            "`out` is asked for."
        )
    return f"`out=` must have exactly the result's dtype; any other is refused with {cast}."


def _rounding(found: Mismatch | None) -> int:
    """Return the largest error in units in the last place of the largest expected value, where it looks like rounding.

    0 for anything else: errors of more than `ROUNDING` units, other values that are not finite, integers.
    """
    if found is None or found.aspect != "values" or not found.max_abs_error:
        return 0
    expected, actual = found.expected, found.actual
    if expected is None or actual is None or expected.dtype not in EPSILON or found.output.startswith("argument"):
        return 0
    if (expected.nans, expected.infs) != (actual.nans, actual.infs):
        return 0
    largest = max(abs(value) for value in (expected.minimum or 0.0, expected.maximum or 0.0))
    if not largest or not math.isfinite(found.max_abs_error):
        return 0
    units = found.max_abs_error / (largest * EPSILON[expected.dtype])
    return max(1, round(units)) if units <= ROUNDING else 0


def _at_elements(found: Mismatch | None) -> int:
    """Return the largest error of the elements shown, in units of their own last place, where it exceeds `ROUNDING`."""
    if found is None or found.expected is None or found.expected.dtype not in EPSILON:
        return 0
    most = 0.0
    for difference in found.first:
        try:
            right, actual = float(difference.exact or difference.expected), float(difference.actual)
        except ValueError:  # a complex number, say
            continue
        error = abs(actual - right)
        if right and math.isfinite(error):
            most = max(most, error / (abs(right) * EPSILON[found.expected.dtype]))
    return round(most) if most > ROUNDING else 0


def _allowed(context: LintContext) -> list[dict[str, Any]]:
    """The dialect's lists that the violations speak of, each once."""
    dialect = context.dialect
    topics = {
        "tl-function": ("Allowed in kernels", dialect.tl_functions),
        "kernel-method": ("Allowed methods in kernels", dialect.kernel_methods),
        "torch-function": ("Allowed torch functions", dialect.torch_functions),
        "module-restrictions": ("Allowed torch functions", dialect.torch_functions),
        "tensor-method": ("Allowed methods of tensors in the wrapper", dialect.tensor_methods),
        "tensor-attribute": ("Allowed attributes of tensors in the wrapper", dialect.tensor_attributes),
        "unknown-name": ("Allowed built-ins outside kernels", dialect.builtins),
    }
    found: dict[str, tuple[str, ...]] = {}
    for violation in context.violations[: LIMITS["violations"]]:
        topic = topics.get(violation.rule)
        if topic:
            found[topic[0]] = topic[1]
    return [{"title": title, "names": names} for title, names in found.items()]
