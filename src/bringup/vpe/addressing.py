"""Which forms of addressing a kernel uses, read from TTIR before Triton rewrites block pointers and
descriptors to pointers.
"""

from __future__ import annotations

import re

from bringup.vpe.ir import Block, Func, Module, Op
from bringup.vpe.profile import Profile
from bringup.vpe.verify import Problem, place

_FORMS = (
    ("block_pointers", re.compile(r"tt\.make_tensor_ptr\b"), "tl.make_block_ptr"),
    ("tensor_descriptors", re.compile(r"tt\.(make_tensor_descriptor|descriptor_\w+)\b"), "tl.make_tensor_descriptor"),
    (
        "pointer_tensors",
        re.compile(r"tt\.(load|store|atomic_\w+)\b.* : \(?tensor<[\dx]+!tt\.ptr"),
        "a tensor of pointers",
    ),
)


def check_addressing(text: str, profile: Profile) -> tuple[Module, list[Problem]]:
    """Problems with the forms of addressing in TTIR text, and a module that resolves their locations."""
    locs: dict[str, str] = {}
    found: list[tuple[str, str, str]] = []
    for line in text.splitlines():
        if line.startswith("#loc"):
            name, _, rest = line.partition(" = ")
            locs[name] = rest.strip()[4:-1]
            continue
        for feature, pattern, shown in _FORMS:
            if pattern.search(line):
                named = re.search(r"loc\((#\w+)\)\s*$", line)
                found.append((feature, shown, named[1] if named else ""))
    public = re.search(r"tt\.func public @([\w.$]+)", text)
    module = Module({"kernel": Func(public[1] if public else "kernel", [], [], [], [Block()], True)}, locs, text)
    problems = []
    seen: set[tuple[object, ...]] = set()
    for feature, shown, loc in found:
        key = (feature, *place(module, Op(shown, loc=loc)))
        if not getattr(profile.features, feature) and key not in seen:
            seen.add(key)
            allowed = [other for flag, _, other in _FORMS if getattr(profile.features, flag)]
            problems.append(
                Problem(
                    Op(shown, loc=loc),
                    "addressing",
                    f"{shown} does not exist on {profile.name}",
                    f"use {' or '.join(allowed)}",
                )
            )
    forms = {feature for feature, _, _ in found}
    if not problems and not profile.features.mixed_addressing and {"pointer_tensors", "tensor_descriptors"} <= forms:
        _, shown, loc = next(entry for entry in found if entry[0] == "tensor_descriptors")
        problems.append(
            Problem(
                Op(shown, loc=loc),
                "mixed addressing",
                f"the kernel uses tensors of pointers and tensor descriptors; {profile.name} allows one of them "
                "in a kernel",
                "use one form for all loads and stores",
            )
        )
    return module, problems
