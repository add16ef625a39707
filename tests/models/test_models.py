"""The zoo of models: what is compared, what is told, and the command's bad input. Tiny, few steps."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from bringup.cli.main import build_app
from bringup.errors import BringupError, ConfigError, FormatError, UnknownName
from bringup.library import Library
from bringup.models import catalog, comparing, records, running, tables
from bringup.models.recipe import Generated, Recipe, Tolerance
from bringup.models.training import Trained, train

KERNELS = Path(__file__).parents[2] / "kernels"
OWN = [name for name in catalog.names() if name.partition("-")[0] not in catalog.PACKAGES]


@pytest.fixture(scope="module")
def dlrm() -> Trained:
    return train(catalog.get("dlrm"), "cpu", 2)


@pytest.mark.thinned
@pytest.mark.parametrize("name", OWN)
def test_models_train_the_same_way_twice(name: str) -> None:
    recipe = catalog.get(name)
    first, second = train(recipe, "cpu", 2), train(recipe, "cpu", 2)
    assert first.losses == second.losses
    assert len(set(first.losses)) == 2
    assert all(math.isfinite(loss) for loss in first.losses)
    assert not any(row.error for row in comparing.gradient_errors(first, second))
    assert bool(recipe.generates) == (first.generated is not None)
    said, right = comparing.generation(recipe, first, second)
    assert right is (True if recipe.generates else None), said


def test_a_cache_of_keys_changes_nothing() -> None:
    made = train(catalog.get("llama"), "cpu", 2).generated
    assert made is not None
    cached, plain = made.tokens.chunk(2)
    assert torch.equal(cached, plain)


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda g: g, False),
        (lambda g: g * (1 + 1e-6), False),
        (lambda g: g * 1.001, True),
        (lambda g: g.index_fill(0, torch.tensor([0]), float("nan")), True),
        (lambda g: g[1:], True),
        (lambda g: None, True),
    ],
)
def test_a_gradient_that_is_off_is_seen(dlrm: Trained, change: Any, wrong: bool) -> None:
    name = "top.0.weight"
    found = replace(dlrm, gradients={**dlrm.gradients, name: change(dlrm.gradients[name])})
    off = {row.parameter for row in comparing.gradient_errors(dlrm, found) if row.error > 1e-4}
    assert off == ({name} if wrong else set())


def test_a_gradient_that_should_be_sparse_is_seen(dlrm: Trained) -> None:
    found = replace(dlrm, sparse=frozenset({"tables.0.weight"}))
    assert {r.parameter for r in comparing.gradient_errors(dlrm, found) if r.error > 1e-4} == {"tables.0.weight"}


def test_a_loss_that_is_off_is_seen() -> None:
    right = Trained(losses=[1.0, 2.0, 0.0, math.nan])
    assert comparing.loss_errors(right, replace(right)) == [0, 0, 0, 0]
    found = replace(right, losses=[1.0, 2.002, math.nan, 1.0])
    assert comparing.loss_errors(right, found) == pytest.approx([0, 1e-3, math.inf, math.inf])


def test_what_is_generated_is_compared() -> None:
    gpt, unet = catalog.get("gpt"), catalog.get("unet")
    right = Generated(tokens=torch.tensor([[1, 2]]))
    allowed = torch.tensor([[[True, False, True]]])

    def verdict(recipe: Any, one: Generated, other: Generated) -> bool | None:
        return comparing.generation(recipe, Trained(generated=one), Trained(generated=other))[1]

    assert verdict(gpt, right, Generated(tokens=torch.tensor([[1, 2]])))
    assert not verdict(gpt, right, Generated(tokens=torch.tensor([[1, 3]])))
    for drawn, good in ((2, True), (1, False)):
        found = Generated(tokens=right.tokens, sampled=torch.tensor([[drawn]]), allowed=allowed)
        assert verdict(gpt, right, found) is good
    image = torch.ones(2, 2)
    assert verdict(unet, Generated(output=image), Generated(output=image * 1.001))
    assert not verdict(unet, Generated(output=image), Generated(output=image * 1.1))


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> running.Setting:
    """The library that ships, without two kernels."""
    folder = tmp_path_factory.mktemp("library") / "kernels"
    library = Library.create(folder, "vpe:pe64")
    shipped = Library.open(KERNELS)
    from bringup.library.adding import add_unjudged

    for name in (
        "_embedding_bag",
        "_embedding_bag_backward",
        "addmm.out",
        "fill_.Scalar",
        "zero_",
        "cat.out",
        "bmm.out",
    ):
        add_unjudged(library, name, shipped.source(shipped.of(name)[0]), origin="a test")
    return running.Setting(library, "vpe:pe64", unjudged=True)


def test_a_model_that_lacks_kernels(lacking: running.Setting) -> None:
    found = running.run(catalog.get("dlrm"), lacking, 1)
    assert found.status == "lacks"
    assert not found.losses
    missing = {one.overload: one for one in found.of("missing")}
    assert {"index.Tensor_out", "sqrt.out"} <= set(missing)
    assert "for log_sigmoid_forward" in missing["minimum.out"].note
    assert not {"addmm.out", "bmm.out", "log_sigmoid_forward"} & set(missing)
    assert {"addmm.out", "bmm.out"} <= {one.overload for one in found.of("kernel")}
    assert found.command == f"bringup run --suite aten --target vpe:pe64 --ops {','.join(sorted(missing))}"


def test_the_cpu_stands_in_where_asked_for_and_is_counted(lacking: running.Setting) -> None:
    found = running.run(catalog.get("dlrm"), replace(lacking, fallback=True), 2)
    assert found.status == "lacks"  # the numbers are right, the device is not complete
    assert found.loss_error is not None
    assert found.loss_error < 1e-4
    assert max(row.error for row in found.gradients) < 1e-4
    calls = {one.overload: one.calls for one in found.of("cpu")}
    assert calls["index.Tensor_out"] == 2
    assert not found.of("missing")


def test_a_kernel_that_computes_something_else(lacking: running.Setting, tmp_path: Path) -> None:
    from bringup.library.adding import add_unjudged

    library = Library.create(tmp_path / "kernels", "vpe:pe64")
    for name in lacking.library.overloads():
        source = lacking.library.source(lacking.library.of(name)[0])
        if name == "bmm.out":
            source = source.replace("def wrapper(", "def honest(") + (
                "\n\n@triton.jit\ndef kernel_spoil(o):\n    tl.store(o + 4, tl.load(o + 4) * 1.5)\n\n"
                "def wrapper(self, mat2, *, out):\n    honest(self, mat2, out=out)\n"
                "    if out.is_contiguous():\n        kernel_spoil[(1,)](out)\n    return out\n"
            )
        add_unjudged(library, name, source, origin="a test")
    found = running.run(catalog.get("dlrm"), running.Setting(library, "vpe:pe64", fallback=True, unjudged=True), 2)
    assert found.status == "differs"
    assert "loss off" in found.problem
    assert "gradients beyond" in found.problem
    assert any("bringup bisect" in line for line in tables.details(found))


class Line(Recipe):
    """Fits a line with what the first kernels compute."""

    name, what, optimizer_name, tolerance = "line", "a line", "SGD", Tolerance(loss=1e-5, gradient=1e-5)
    generates = "numbers"

    def model(self) -> Any:
        return torch.nn.Linear(3, 2)

    def batch(self, step: int) -> tuple[Any, ...]:
        return (torch.arange(12.0).reshape(4, 3).sin() + step,)

    def loss(self, model: Any, batch: Any) -> Any:
        made = model(batch[0])
        return (made * made).sum()

    def optimizers(self, model: Any) -> list[Any]:
        return [torch.optim.SGD(model.parameters(), lr=0.01)]

    def generate(self, model: Any, device: Any) -> Generated:
        return Generated(output=model(torch.ones(1, 3).to(device)).cpu())


def test_a_model_that_the_library_serves() -> None:
    found = running.run(Line(), running.Setting(Library.open(KERNELS), "vpe:pe64"), 3)
    assert found.status == "passed", found.problem
    assert len(found.losses) == 3
    assert found.losses[0] != found.losses[2]
    assert found.generated_right
    assert {one.use for one in found.operators} == {"kernel"}
    assert "addmm.out" in {one.overload for one in found.operators}
    assert tables.summary(found).startswith("3 steps, losses within")
    assert not found.command


def result(**changes: Any) -> records.ModelResult:
    base: dict[str, Any] = {
        "model": "gpt", "what": "w", "optimizer": "o", "parameters": 12345, "steps": 2, "target": "vpe:pe64",
        "library": "kernels", "fallback": False, "torch": "2.13.0", "status": "differs", "losses_cpu": [2.0, 1.0],
        "losses": [2.0, math.nan], "loss_error": math.inf, "loss_tolerance": 1e-4, "gradient_tolerance": 1e-4,
        "operators": [records.OperatorUse(overload="add.out", use="kernel", calls=3, kernels=["add.out"])],
    }  # fmt: skip
    return records.ModelResult(**{**base, **changes})


def test_results_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    records.save([result()], path)
    assert "NaN" not in path.read_text()
    (found,) = records.load(path)
    assert math.isnan(found.losses[1])
    assert found.loss_error == math.inf
    assert found.operators == result().operators
    records.save([result(model="bert")], path)
    records.save([result(steps=9)], path)
    assert [(one.model, one.steps) for one in records.load(path)] == [("gpt", 9), ("bert", 2)]
    assert "| `gpt` | 12,345 | 2 |" in tables.markdown([found])
    assert tables.short_markdown([found]).splitlines()[2].startswith(f"| `gpt` | {found.optimizer} | ")
    for text, said in (("{", "no results"), ('{"format": 9}', "format 9"), ("[]", "no results")):
        path.write_text(text)
        with pytest.raises(FormatError, match=said):
            records.load(path)
    with pytest.raises(FormatError, match="no such file"):
        records.load(tmp_path / "nowhere.json")


def test_what_would_unlock_most() -> None:
    use = records.OperatorUse(overload="sub.out", use="missing")
    lines = tables.together([result(operators=[use]), result(model="bert", operators=[use])])
    assert lines == ["0 of 2 models pass", "missing sub.out: gpt, bert"]


def test_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="did you mean"):
        catalog.chosen(["resnett"])
    monkeypatch.setattr(catalog, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"timm is not installed.*bringup\[models\]"):
        catalog.get("timm-vit")
    with pytest.raises(ConfigError, match=r"diffusers is not installed.*bringup\[models\]"):
        catalog.chosen(["diffusers-unet"])
    assert catalog.chosen(["gpt", "all", "gpt"]) == ["gpt", *(n for n in OWN if n != "gpt")]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("timm", "timm does not import: RuntimeError: operator nms does not exist"),
        ("torchvision", "torchvision does not import: RuntimeError: .*built for this torch"),
    ],
)
def test_packages_that_do_not_fit(broken: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = {"timm", "torchvision"}
    for name in packages:
        (tmp_path / f"{name}.py").write_text(
            "raise RuntimeError('operator nms\\ndoes not exist')\n" if name == broken else ""
        )
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    catalog._import_error.cache_clear()
    try:
        for _ in range(2):
            with pytest.raises(ConfigError, match=said):
                catalog.get("timm-vit")
        assert "timm-vit" not in catalog.chosen(["all"])
        listed = CliRunner().invoke(build_app(), ["models", "list", "--json"])
        row = next(one for one in json.loads(listed.output) if one["name"] == "timm-vit")
        assert "does not import" in row["problem"]
        assert row["needs"] == []
    finally:
        catalog._import_error.cache_clear()
        for name in packages:
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gptt"], "did you mean gpt"),
        (["gpt", "--fallback", "gpu"], "only the CPU"),
        (["gpt", "--target", "tpu"], "no PyTorch device"),
        (["gpt", "--out", "nowhere/models.json"], "does not exist"),
        (["gpt", "--library", "nowhere"], "nowhere"),
    ],
)
def test_bad_input(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(build_app(), ["models", "run", *arguments])
    assert isinstance(done.exception, BringupError)
    assert said in str(done.exception)
    assert done.exception.exit_code == 2


def test_the_commands(tmp_path: Path) -> None:
    listed = CliRunner().invoke(build_app(), ["models", "list", "--json"])
    rows = {row["name"]: row for row in json.loads(listed.output)}
    assert list(rows) == catalog.names()
    assert rows["gpt"]["loss_tolerance"] == 1e-4
    path = tmp_path / "models.json"
    records.save([result(), result(model="bert", status="passed", losses=[2.0, 1.0], loss_error=0.0)], path)
    shown = CliRunner().invoke(build_app(), ["models", "show", str(path), "--operators"])
    assert shown.exit_code == 1
    assert "gpt: differs" in shown.output
    assert "1 of 2 models pass" in shown.output
    records.save([result(status="passed", losses=[2.0, 1.0], loss_error=0.0)], path)
    assert CliRunner().invoke(build_app(), ["models", "show", str(path)]).exit_code == 0


@pytest.mark.long
def test_models_are_programs_for_bisect_and_capture() -> None:
    from bringup.cli.bisect import _program

    script, arguments = _program(Path("model:gpt"), ["--steps", "1"])
    assert script.is_file()
    assert arguments == ["gpt", "--steps", "1"]
    assert _program(Path("train.py"), ["1"]) == (Path("train.py"), ["1"])
    with pytest.raises(UnknownName, match="did you mean gpt"):
        _program(Path("model:gptt"), [])
    command = [sys.executable, "-m", "bringup.models", "dlrm", "--device", "cpu", "--steps", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len([float(loss) for loss in done.stdout.split()]) == 2
