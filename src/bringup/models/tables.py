"""Results of models in words: for the terminal, and as a table of a page. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence

from bringup.models.records import ModelResult, OperatorUse, Use


def summary(result: ModelResult) -> str:
    """Say in one line how it went."""
    if result.problem:
        return result.problem
    return (
        f"{result.steps} steps, losses within {result.loss_error:.1e} of the CPU's (allowed {result.loss_tolerance:g})"
    )


def details(result: ModelResult) -> list[str]:
    """Say the rest, a line each."""
    lines = []
    if result.losses:
        lines.append(
            f"loss {result.losses[0]:.6f} to {result.losses[-1]:.6f}, the CPU's {result.losses_cpu[0]:.6f} to "
            f"{result.losses_cpu[-1]:.6f}; largest relative difference {result.loss_error:.1e}, allowed "
            f"{result.loss_tolerance:g}"
        )
    if result.gradients:
        worst = max(result.gradients, key=lambda one: one.error)
        sparse = sum(one.sparse for one in result.gradients)
        lines.append(
            f"gradients of {len(result.gradients)} parameters{f', {sparse} of them sparse' if sparse else ''}: largest "
            f"difference {worst.error:.1e} ({worst.parameter}), allowed {result.gradient_tolerance:g}"
        )
    if result.generated:
        lines.append(f"generated: {result.generated}")
    counts = [(result.of(use), words) for use, words in _WORDS.items()]
    told = [f"{len(ops)} {words} ({sum(o.calls for o in ops)} calls)" for ops, words in counts if ops]
    if told:
        lines.append(f"operators: {', '.join(told)}")
    if result.of("missing", "cpu"):
        lines.append(f"missing: {', '.join(_named(one) for one in result.of('missing', 'cpu'))}")
        if result.command:
            lines.append(f"make them: {result.command}")
    if result.status == "differs":
        lines.append(f"which kernel is to blame: {blame(result)}")
    if result.seconds is not None and result.seconds_cpu is not None:
        lines.append(f"{result.seconds * 1e3:.0f} ms a step, the CPU {result.seconds_cpu * 1e3:.0f}")
    return lines


def blame(result: ModelResult) -> str:
    """Return the command that finds the kernel: by the first step's gradients where these are off, else by losses."""
    if any(one.error > result.gradient_tolerance for one in result.gradients):
        scale = max(one.largest for one in result.gradients)
        how = f"gradients --rtol {result.gradient_tolerance:g} --atol {result.gradient_tolerance * scale * 1e-3:.1g}"
        steps = 1
    else:
        how, steps = f"losses --rtol {result.loss_tolerance:g}", result.steps
        for at, (one, other) in enumerate(zip(result.losses_cpu, result.losses, strict=True)):
            if not abs(one - other) <= result.loss_tolerance * abs(one):
                steps = at + 1
                break
    trusting = " --unjudged" if result.unjudged else ""
    return f"bringup bisect --metric {how} --library {result.library}{trusting} model:{result.model} --steps {steps}"


_WORDS: dict[Use, str] = {
    "kernel": "by kernels", "refined": "by kernels refined on captured calls", "composed": "composed by PyTorch",
    "cpu": "by the CPU",
}  # fmt: skip


def _named(one: OperatorUse) -> str:
    return f"{one.overload} ({one.note})" if one.note else one.overload


def served(one: OperatorUse) -> str:
    """Say who served an operator."""
    words = {
        "kernel": ", ".join(one.kernels), "refined": f"{', '.join(one.kernels)}, refined on captured calls",
        "composed": "composed of others", "cpu": "the CPU: no kernel", "missing": "no kernel",
    }  # fmt: skip
    return words[one.use] + (f", {one.note}" if one.note else "")


def together(results: Sequence[ModelResult]) -> list[str]:
    """Say how many models passed, and which missing kernels would unlock most."""
    passed = sum(one.status == "passed" for one in results)
    lines = [f"{passed} of {len(results)} models pass"]
    wanting: dict[str, list[str]] = {}
    for result in results:
        for one in result.of("missing", "cpu"):
            wanting.setdefault(one.overload, []).append(result.model)
    for name, models in sorted(wanting.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"missing {name}: {', '.join(models)}")
    return lines


def markdown(results: Sequence[ModelResult]) -> str:
    """Return the table of a page."""
    rows = [
        "| model | parameters | steps | loss on the device, CPU | loss within | gradients within | kernels | "
        "composed | missing |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in results:
        losses = ", ".join(f"{found[-1]:.6f}" if found else "–" for found in (one.losses, one.losses_cpu))
        loss = f"{one.loss_error:.1e}" if one.loss_error is not None else "–"
        gradient = f"{max(g.error for g in one.gradients):.1e}" if one.gradients else "–"
        kernels, composed = len(one.of("kernel", "refined")), len(one.of("composed"))
        rows.append(
            f"| `{one.model}` | {one.parameters:,} | {one.steps} | {losses} | {loss} | {gradient} | {kernels} | "
            f"{composed} | {len(one.of('missing', 'cpu'))} |"
        )
    return "\n".join(rows)


def short_markdown(results: Sequence[ModelResult]) -> str:
    """Return a table for where there is little room: how near the training is to the CPU's, and what served it."""
    rows = [
        "| model | optimiser | loss after training, CPU | losses within | gradients within | kernels | missing |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for one in results:
        losses = ", ".join(f"{found[-1]:.4f}" if found else "–" for found in (one.losses, one.losses_cpu))
        loss = f"{one.loss_error:.1e}" if one.loss_error is not None else "–"
        gradient = f"{max(g.error for g in one.gradients):.1e}" if one.gradients else "–"
        kernels, lacking = len(one.of("kernel", "refined")), len(one.of("missing", "cpu"))
        rows.append(f"| `{one.model}` | {one.optimizer} | {losses} | {loss} | {gradient} | {kernels} | {lacking} |")
    return "\n".join(rows)
