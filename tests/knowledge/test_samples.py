"""Every sample does what it says: it runs on the virtual accelerator, and compiles for each platform that it names."""

from __future__ import annotations

import pytest
import samples_run
import torch

from bringup.candidate import FormatProblem, parse_module
from bringup.knowledge import code_blocks
from bringup.linter import lint
from bringup.targets import get_target

SAMPLES = samples_run.samples()


@pytest.fixture(autouse=True, scope="module")
def private_caches(tmp_path_factory):
    patch = pytest.MonkeyPatch()
    patch.setenv("BRINGUP_VPE_CACHE", str(tmp_path_factory.mktemp("vpe-objects")))
    patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
    yield
    patch.undo()


def profile_of(file):
    """Return the chip that a sample runs on; those for GPUs run on the one without limits."""
    return "pe64" if {"any", "vpe"} & set(file.front.platforms) else "permissive"


def test_every_sample_has_a_check():
    assert set(SAMPLES) == set(samples_run.CHECKS)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_it_runs_and_is_right(name, tmp_path):
    import bringup.vpe as vpe

    check = samples_run.CHECKS[name]
    module = samples_run.module_of(SAMPLES[name], tmp_path)
    arguments = check.arguments()
    vpe.activate(profile_of(SAMPLES[name]))
    try:
        result = module["wrapper"](*arguments)
    finally:
        vpe.deactivate()
    if name == "dropout-philox":
        assert sorted(result.unique().tolist()) == [0.0, pytest.approx(1 / 0.75)]
        assert abs((result == 0).float().mean().item() - 0.25) < 0.01
        return
    wanted = check.reference(*check.arguments())
    torch.testing.assert_close(result, wanted, rtol=check.rtol, atol=check.atol, equal_nan=True)
    for given, fresh in zip(arguments, check.arguments(), strict=True):
        assert not isinstance(given, torch.Tensor) or torch.equal(given, fresh), "an argument was changed"


COMPILED = [
    (name, platform)
    for name, file in sorted(SAMPLES.items())
    for platform in ("nvidia", "amd")
    if {"any", platform} & set(file.front.platforms)
]


@pytest.mark.thinned
@pytest.mark.parametrize(("name", "platform"), COMPILED)
def test_it_compiles_without_a_gpu(name, platform, tmp_path):
    """sm_90 and gfx942. A sample for all platforms is compiled for both."""
    module = samples_run.module_of(SAMPLES[name], tmp_path)
    launches = samples_run.record(module)
    module["wrapper"](*samples_run.CHECKS[name].arguments())
    assert launches
    for launch in launches:
        binary = "cubin" if platform == "nvidia" else "hsaco"
        assert launch.compiled(platform).asm[binary]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_it_keeps_the_rules_of_candidates(name):
    file = SAMPLES[name]
    blocks, _ = code_blocks(file.body)
    candidate = parse_module(next(code for _, language, code in blocks if language == "python"))
    assert not isinstance(candidate, FormatProblem)
    target = f"vpe:{profile_of(file)}"
    assert [v.message for v in lint(candidate, get_target(target).dialect())] == []
