"""A training that diverges ends in one line, and nothing that is not finite is saved or used."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import editors
import fairseq.trainer
import pytest
import saved
import tiny
import torch
from fairseq import checkpoint_utils, nan_detector
from saved import resumable
from torch import nn

from lev_plugins import Corrector, EncT5, LevenshteinEditor, UserError
from lev_plugins import fairseq_patches as patches
from lev_plugins.fairseq_patches import divergence
from lev_plugins.inference import averaging

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_checkpoint_that_is_not_finite_replaces_none(tmp_path, value):
    last = resumable(tmp_path / "checkpoint_last.pt")
    resumable(tmp_path / "checkpoint1.pt", 9, NAN)  # from before
    before = last.read_bytes()
    model = {"count": torch.tensor([1]), "head.weight": torch.tensor([[1.0, value]])}
    with pytest.raises(UserError) as caught:
        checkpoint_utils.torch_persistent_save({"model": model}, str(last))
    assert str(caught.value) == (
        f"checkpoint {last} is not written: the training has diverged, head.weight is not finite; "
        f"lower --lr, raise --warmup-updates or give --clip-norm; {last}, with 7 updates, is good"
    )
    assert last.read_bytes() == before and len(list(tmp_path.iterdir())) == 2


def test_what_holds_no_parameters_or_finite_ones_is_written(tmp_path):
    kinds = (torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.float8_e4m3fn)
    model = {str(kind): torch.ones(2).to(kind) for kind in kinds}
    for state in ({"model": {**model, "none": torch.empty(0)}}, {"other": NAN}, [NAN]):
        checkpoint_utils.torch_persistent_save(state, str(tmp_path / "one.pt"))
        assert (tmp_path / "one.pt").is_file()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of each kind, with one NaN."""
    made = tmp_path_factory.mktemp("diverged")
    tiny.dictionaries(made / "bin")
    for kind in saved.KINDS:
        path = saved.save(made / f"{kind}.pt", made / "bin", kind)
        state = torch.load(path, weights_only=True)
        next(one for one in state["model"].values() if one.is_floating_point()).view(-1)[-1] = NAN
        torch.save(state, path)
    return made


@pytest.mark.parametrize("kind", saved.KINDS)
@pytest.mark.parametrize(
    "load",
    [
        LevenshteinEditor.from_pretrained,
        Corrector.from_pretrained,
        EncT5.from_pretrained,
        checkpoint_utils.load_checkpoint_to_cpu,
        lambda path: checkpoint_utils.load_model_ensemble_and_task([path]),
        lambda path: averaging.average([Path(path)]),
    ],
)
def test_a_checkpoint_that_is_not_finite_is_refused_wherever_one_is_read(folder, kind, load):
    path = str(folder / f"{kind}.pt")
    with pytest.raises(UserError) as caught:
        load(path)
    assert str(caught.value).startswith(f"checkpoint {path}: ")
    assert str(caught.value).endswith(
        " is not finite; its training has diverged, or the file is damaged: use an earlier "
        "checkpoint"
    )


def broken(model: nn.Module) -> None:
    """Nothing in it is a number any more."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.fill_(NAN)


@pytest.mark.parametrize(
    ("make", "ask"),
    [
        (editors.editor, lambda one: one.edit(["a b"], ["b a"])),
        (editors.editor, lambda one: one.edit(["a b"])),
        (lambda: editors.editor(2), lambda one: one.edit(["a b"], [""])),
        (editors.edit_corrector, lambda one: one.correct(["a b"])),
        (editors.writing_corrector, lambda one: one.correct(["a b"])),
        (lambda: editors.writing_corrector("translation_concat"), lambda one: one.correct(["a"])),
        (lambda: editors.enct5("classification"), lambda one: one.predict(["a b"])),
    ],
)
def test_a_model_whose_outputs_are_not_finite_gives_no_answer(make, ask):
    made = make()
    backend = getattr(made, "backend", None)
    policy = getattr(backend, "policy", None)
    models = getattr(made, "models", None) or getattr(backend, "models", None)
    for model in models or [policy or made.model]:
        broken(model)
    with pytest.raises(UserError, match="^the model's scores are not finite: its training has div"):
        ask(made)


class Trainer:
    """As much of fairseq's as a step and a checkpoint need."""

    def __init__(self, folder: Path, metric: str = "loss") -> None:
        settings = SimpleNamespace(save_dir=str(folder), best_checkpoint_metric=metric)
        self.cfg = SimpleNamespace(checkpoint=settings)
        self.saved: list[str] = []

    def get_num_updates(self) -> int:
        return 8

    def train_step(self, samples: list[Any]) -> None:
        """Fails as fairseq's does: first over the gradients, then over what looks for a layer."""
        try:
            raise samples[0]
        except FloatingPointError:
            if len(samples) > 1:
                raise StopIteration from None
            raise

    def save_checkpoint(self, filename: str, extra_state: dict[str, Any]) -> None:
        self.saved.append(filename)


@pytest.fixture
def trainer(monkeypatch, tmp_path):
    monkeypatch.setattr(fairseq.trainer, "Trainer", type("Fresh", (Trainer,), {}))
    monkeypatch.setattr(fairseq.trainer, "NanDetector", nan_detector.NanDetector)
    divergence.stop_when_diverged()
    divergence.stop_when_diverged()
    resumable(tmp_path / "checkpoint_last.pt")
    return lambda metric="loss": fairseq.trainer.Trainer(tmp_path, metric)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("gradients are Nan/Inf", "gradients are not finite"),
        (
            "Minimum loss scale reached (0.0001). Your loss is probably exploding. Try lowering",
            "Minimum loss scale reached (0.0001)",
        ),
    ],
)
def test_a_step_that_diverges_is_one_line_with_the_last_good_checkpoint(
    trainer, tmp_path, said, reason
):
    for samples in ([FloatingPointError(said)], [FloatingPointError(said), "and a second one"]):
        with pytest.raises(UserError) as caught:
            trainer().train_step(samples)
        assert str(caught.value) == (
            f"the training has diverged after 8 updates ({reason}); lower --lr, raise "
            f"--warmup-updates or give --clip-norm; {tmp_path}/checkpoint_last.pt, with 7 updates, "
            "is good"
        )
        assert patches.explain(caught.value) == str(caught.value)


@pytest.mark.parametrize("fault", [FloatingPointError("gradients are inconsistent"), KeyError(1)])
def test_other_faults_of_a_step_stay_what_they_are(trainer, fault):
    with pytest.raises(type(fault)):
        trainer().train_step([fault])


def test_a_validation_loss_of_nan_is_not_saved_and_another_metric_may_be(trainer):
    with pytest.raises(UserError, match="diverged after 8 updates .the validation loss is NaN"):
        trainer().save_checkpoint("checkpoint1.pt", {"val_loss": NAN})
    for metric, loss in (("loss", None), ("loss", 1.5), ("loss", INF), ("pearson", NAN)):
        one = trainer(metric)
        one.save_checkpoint("checkpoint1.pt", {"val_loss": loss})
        assert one.saved == ["checkpoint1.pt"]


def test_the_first_layer_that_is_not_finite_is_logged_whatever_a_model_returns(trainer, caplog):
    class Recorded(nn.Module):
        """Returns a record, at which fairseq's hooks on the way back fail."""

        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> dict[str, Any]:
            return {"outputs": SimpleNamespace(logits=self.layer(x) / 0)}

    model = Recorded()
    with fairseq.trainer.NanDetector(model):
        model(torch.full((1, 2), INF))["outputs"].logits.sum().backward()
    assert "detected in output of layer" in caplog.text and "gradients" not in caplog.text
