"""What a candidate's kernels use: the features that files name in their front matter."""

from __future__ import annotations

import ast


def features_of(source: str) -> tuple[str, ...]:
    """Return what the source uses, sorted: `tl.dot`, `libdevice.tanh`, `for`, `while`, `triton.autotune`.

    Nothing of it is run. A source that does not parse has none.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: set[str] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        inner = {id(one.value) for one in ast.walk(function) if isinstance(one, ast.Attribute)}
        for one in ast.walk(function):
            if isinstance(one, ast.Attribute) and id(one) not in inner and (name := _dotted(one)):
                found.add(name)
            elif _is_kernel(function) and isinstance(one, ast.For | ast.While):
                found.add("for" if isinstance(one, ast.For) else "while")
    return tuple(sorted(found))


def _is_kernel(function: ast.FunctionDef) -> bool:
    return function.name.startswith("kernel") or any("jit" in ast.dump(one) for one in function.decorator_list)


def _dotted(node: ast.Attribute) -> str:
    """Return `tl.dot` for it and for `triton.language.dot`, `libdevice.tanh` for every way to reach it, else ""."""
    parts = [node.attr]
    inner = node.value
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    if not isinstance(inner, ast.Name):
        return ""
    name = ".".join([inner.id, *reversed(parts)])
    if "libdevice." in name:
        return f"libdevice.{node.attr}"
    name = name.replace("triton.language.", "tl.")
    return name if name.split(".", 1)[0] in {"tl", "triton"} and name.count(".") == 1 else ""
