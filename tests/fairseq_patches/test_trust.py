"""A checkpoint's settings: no code of its choice, few models, and no files but its own."""

import io
import os
import shutil
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from fairseq import checkpoint_utils, file_utils, models, tasks
from fairseq.distributed import utils as distributed_utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from omegaconf import OmegaConf
from refusals import refuses
from saved import Malicious, changed, save

from lev_correct import Corrector
from lev_plugins import LevenshteinEditor
from lev_plugins.fairseq_patches import trust
from lev_plugins.fairseq_patches.trust import origin
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

URL = "https://example.org/file"
LOAD = checkpoint_utils.load_model_ensemble_and_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints, their dictionaries in ``bin``, and a sentencepiece model in a folder apart."""
    paths = tmp_path_factory.mktemp("trust")
    (paths / "apart").mkdir()
    tiny.dictionaries(paths / "bin")
    for kind in ("editor", "stock", "concat"):
        save(paths / "run" / f"{kind}.pt", paths / "bin", kind)
    lines = ["abcdefgh", "hgfedcba"]
    tiny.sentencepiece_model(paths / "apart" / "spm.model", lines, model_type="char", vocab_size=12)
    return paths


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Where a forged checkpoint goes: a folder with no other file."""
    (tmp_path / "home" / "evil").mkdir(parents=True)
    return tmp_path / "home" / "evil" / "evil.pt"


@pytest.fixture(autouse=True)
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that fairseq fetches; there is no network in a test."""
    packages: list[str] = []

    def get(url: str, cache_dir: Any = None) -> str:
        packages.append(url)
        raise OSError("no network")

    monkeypatch.setattr(file_utils, "get_from_cache", get)
    return packages


_opened: set[str] = set()
sys.addaudithook(lambda event, arguments: event == "open" and _opened.add(str(arguments[0])))


def forged(folder: Path, outcome: Path, kind: str, section: str, **settings: Any) -> Path:
    return changed(folder / "run" / f"{kind}.pt", outcome, section, **settings)


def editor(path: Path, **options: Any) -> Any:
    return LevenshteinEditor.from_pretrained(str(path), **options).bpe


def corrector(path: Path, **options: Any) -> Any:
    return Corrector.from_pretrained(str(path), **options)


entries = pytest.mark.parametrize("kind, load", [("editor", editor), ("stock", corrector)])


# code ---------------------------------------------------------------------------------------------


@pytest.fixture
def payload(tmp_path: Path) -> tuple[Path, Path]:
    """A pickle that makes a file when it is run, and that file."""
    victim = tmp_path / "victim"
    torch.save({"cfg": Malicious(victim), "model": {}}, tmp_path / "payload.pt")
    return tmp_path / "payload.pt", victim


@pytest.mark.parametrize("allowed", [False, True])
def test_no_model_runs_a_second_pickle(folder, evil, payload, monkeypatch, allowed):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    if allowed:
        monkeypatch.setenv(trust.ALLOWED, "other, xm_transformer")
    second, victim = payload
    asked = {"_name": "xm_transformer", "load_pretrained_decoder_from": str(second)}
    forged(folder, evil, "stock", "model", **asked)
    with refuses(second if allowed else evil, "system" if allowed else "LEV_PLUGINS_ALLOW=xm_tr"):
        corrector(evil)
    assert not victim.exists(), "it was run"


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"pickle_module": None}])
def test_no_module_of_fairseq_reads_more_than_weights(payload, monkeypatch, options):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = payload
    readers = [
        module
        for name, module in sys.modules.items()
        if name.startswith("fairseq.") and b"torch.load(" in Path(module.__file__).read_bytes()
    ]
    assert len(readers) > 3
    for module in readers:
        with refuses("system"), path.open("rb") as file:
            module.torch.load(file, "cpu", **options)
    assert not victim.exists()
    torch.load(str(path))
    assert victim.exists(), "the user's own calls are left alone"
    stream = io.BytesIO()  # what processes send each other: settings with values that are missing
    torch.save({"cfg": OmegaConf.create({"needed": "???"})}, stream)
    stream.seek(0)
    assert "cfg" in distributed_utils.torch.load(stream, map_location="cpu")


def test_a_setting_of_the_plain_transformer_is_not_run(folder, evil):
    victim = evil.parent / "victim"
    call = f"__import__('os').system('touch {victim}') or [1, 2]"
    for name in ("adaptive_softmax_cutoff", "xformers_att_config"):
        forged(folder, evil, "stock", "model", **{name: call})
        with refuses():
            corrector(evil)
        assert not victim.exists()


# models, tasks, criterions ------------------------------------------------------------------------


def unexpected(registry: dict[str, Any], kind: str, alias: dict[str, str]) -> list[str]:
    """Names of fairseq's that a checkpoint may not ask for."""
    assert set(trust.EXPECTED[kind]) <= set(alias or registry)
    return [
        name
        for name, component in registry.items()
        if component.__module__.startswith("fairseq.")
        and not {name, alias.get(name, name)} & set(trust.EXPECTED[kind])
    ]


def test_models_that_are_not_expected_are_not_built():
    assert origin() is None, "nothing of it holds for the command line"
    evil = [Namespace(_name="${x}", x="fconv"), Namespace(), OmegaConf.create({"_name": "x"})]
    evil.append(Namespace(_name="fconv", arch="transformer"))  # of which fairseq takes the first
    for arch in unexpected(ARCH_MODEL_REGISTRY, "arch", ARCH_MODEL_NAME_REGISTRY):
        evil += [Namespace(_name=arch), Namespace(arch=arch), OmegaConf.create({arch: {}})]
    assert len(evil) > 100
    for cfg in evil:
        with trust.loading_checkpoint(["evil.pt"]), refuses("evil.pt", "--arch", trust.ALLOWED):
            models.build_model(cfg, None)


@pytest.mark.parametrize("kind", ["stock", "concat"])
def test_a_checkpoint_brings_its_embeddings(folder, evil, kind):
    embeddings = evil.parent / "embeddings"
    named = dict.fromkeys(("encoder_embed_path", "decoder_embed_path"), str(embeddings))
    state = torch.load(forged(folder, evil, kind, "model", **named), weights_only=True)
    embeddings.write_text("1 2\na 0 0\n")
    _opened.clear()
    (model,), _, _ = LOAD([str(evil)], {"data": str(folder / "bin")})
    assert str(evil) in _opened and str(embeddings) not in _opened
    assert all(
        torch.equal(state["model"][name], parameter) for name, parameter in model.named_parameters()
    )


def test_tasks_that_are_not_expected_are_not_set_up(folder, evil):
    forged(folder, evil, "stock", "task", _name="audio_pretraining")
    with refuses("--task audio_pretraining", evil):
        LOAD([str(evil)])
    for name in unexpected(TASK_REGISTRY, "task", {}):
        both = Namespace(task=name, _name="translation")  # of which fairseq takes the first
        for cfg in (Namespace(_name=name), both, Namespace(task=3, _name=name)):
            with trust.loading_checkpoint(["evil.pt"]), refuses(f"--task {name} "):
                tasks.setup_task(cfg)


def test_validation_builds_no_criterion_that_is_not_expected(folder, evil, monkeypatch):
    victim = str(evil.parent / "victim")
    wanted = {"_name": "sentence_ranking", "save_predictions": victim}
    forged(folder, evil, "stock", "criterion", **wanted)
    LOAD([str(evil)])
    monkeypatch.setattr(sys, "argv", ["fairseq-validate"])
    with refuses("--criterion sentence_ranking "):
        LOAD([str(evil)])
    LOAD([str(forged(folder, evil, "stock", "criterion", _name="cross_entropy"))])
    assert set(trust.EXPECTED["criterion"]) <= set(REGISTRIES["criterion"]["registry"])


# files --------------------------------------------------------------------------------------------


@entries
@pytest.mark.parametrize(
    "place", ["home/evil", "home", "data", "apart", "a link out of home/evil", "a pipe", "nowhere"]
)
def test_subwords_lie_beside_a_checkpoint_or_its_data_or_are_named(folder, evil, kind, load, place):
    root, apart = evil.parents[2], str(folder / "apart" / "spm.model")
    data, file = str(shutil.copytree(folder / "bin", root / "data")), evil.parent / "spm.model"
    if near := (root / place).is_dir():
        file = Path(shutil.copy(apart, root / place))
    elif place == "a pipe":
        os.mkfifo(file)
    elif "link" in place:
        file.symlink_to(apart)
    wanted = apart if place == "apart" else str(file)
    forged(folder, evil, kind, "bpe", _name="sentencepiece", sentencepiece_model=wanted)
    if near:
        assert load(evil, data=data) is not None
        return
    with refuses(f"checkpoint {evil}", f"--sentencepiece-model {wanted}"):
        load(evil, data=data)
    for named in ({}, {"bpe": "sentencepiece"}):
        assert load(evil, data=data, sentencepiece_model=apart, **named) is not None


def test_nothing_is_fetched_for_a_checkpoint(folder, evil, fetched):
    for settings in (
        {"_name": "gpt2"},
        {"_name": "gpt2", "gpt2_encoder_json": URL, "gpt2_vocab_bpe": URL},
        {"_name": "sentencepiece", "sentencepiece_model": "HTTPS:" + URL[6:]},
        {"_name": "sentencepiece", "sentencepiece_model": "${x}", "x": __file__},
        {"_name": "sentencepiece", "sentencepiece_model": __file__.encode()},
        {"_name": "subword_nmt", "bpe_codes": URL},
        {"_name": "byte_bpe", "sentencepiece_model_path": URL},
        {"_name": "hf_byte_bpe", "bpe_merges": URL, "bpe_vocab": URL},
        {"_name": "bert", "bpe_vocab_file": URL},
    ):
        forged(folder, evil, "editor", "bpe", **settings)
        with refuses("checkpoint"):
            editor(evil, data=str(folder / "bin"))
        assert not fetched
    with refuses("no network"):  # what the user names is fetched
        editor(evil, data=str(folder / "bin"), sentencepiece_model=URL, bpe="gpt2")
    assert fetched


def test_noisy_text_is_cut_by_files_of_the_checkpoint_alone(folder, evil):
    model = str(folder / "apart" / "spm.model")
    chosen = OmegaConf.create({"_name": "sentencepiece", "sentencepiece_model": model})
    noise = {"noise": "ocr", "noise_confusions": __file__}
    cfg = NoisyTranslationConfig(
        data=str(evil.parent), text_bpe=chosen, text_tokenizer=None, **noise
    )

    def task(path: Path, **overrides: Any) -> NoisyTranslationTask:
        with trust.loading_checkpoint([str(path)], overrides):
            return NoisyTranslationTask(cfg, tiny.dictionary(), tiny.dictionary())

    with refuses("--sentencepiece-model"):
        task(evil).encoding()("abc")
    with refuses("--noise-confusions"):
        task(evil)._noise_of("test")
    assert task(folder / "apart" / "x.pt").encoding()("abc")
    assert task(evil, sentencepiece_model=model).encoding()("abc")


def test_data_lie_in_the_data_folder(folder, evil):
    settings = {"source_lang": "/../../x", "target_lang": "${x}", "data": "s3://a/b"}
    for name, value in settings.items():
        forged(folder, evil, "stock", "task", **{name: value})
        for load in (corrector, lambda path: LOAD([str(path)])):
            with refuses(value, evil):
                load(evil)
