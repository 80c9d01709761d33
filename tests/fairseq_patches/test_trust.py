"""A checkpoint's settings: no code of its choice, few models, and no files but its own."""

import contextlib
import io
import os
import re
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairseq
import pytest
import tiny
import torch
from fairseq import checkpoint_utils, file_utils, models, tasks
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from omegaconf import OmegaConf
from refusals import refuses
from saved import Malicious, save

from lev_plugins import Corrector, LevenshteinEditor, UserError
from lev_plugins.fairseq_patches import trust
from lev_plugins.fairseq_patches.trust import origin
from lev_plugins.systems.gated import model as gated
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

URL = "https://example.org/file"
LOAD = checkpoint_utils.load_model_ensemble_and_task


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints, their dictionaries in ``bin``, and a sentencepiece model in a folder apart."""
    made = tmp_path_factory.mktemp("trust")
    (made / "apart").mkdir()
    tiny.dictionaries(made / "bin")
    for kind in ("editor", "stock", "concat"):
        save(made / "run" / f"{kind}.pt", made / "bin", kind)
    lines = ["abcdefgh", "hgfedcba"]
    tiny.sentencepiece_model(made / "apart" / "spm.model", lines, model_type="char", vocab_size=12)
    return made


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Where a forged checkpoint goes: a folder with no other file."""
    (tmp_path / "home" / "evil").mkdir(parents=True)
    return tmp_path / "home" / "evil" / "evil.pt"


@pytest.fixture(autouse=True)
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that fairseq fetches; there is no network in a test."""
    found: list[str] = []

    def get(url: str, cache_dir: Any = None) -> str:
        found.append(url)
        raise OSError("no network")

    monkeypatch.setattr(file_utils, "get_from_cache", get)
    return found


_watched: set[str] = set()
_opened: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and str(arguments[0]) in _watched:
        _opened.append(str(arguments[0]))


sys.addaudithook(_audit)


@contextlib.contextmanager
def unopened(path: Path) -> Iterator[None]:
    """Inside, nobody opens a file."""
    path.write_text("1 2\na 0 0\n")
    _watched.add(str(path))
    try:
        yield
    finally:
        _watched.clear()
        opened = list(_opened)
        _opened.clear()
    assert not opened


def forged(folder: Path, outcome: Path, kind: str, section: str, **settings: Any) -> Path:
    """A checkpoint with other settings in one section."""
    state = torch.load(folder / "run" / f"{kind}.pt", weights_only=True)
    part = state["cfg"][section] or {}
    (vars(part) if isinstance(part, Namespace) else part).update(settings)
    state["cfg"][section] = part or None
    torch.save(state, outcome)
    return outcome


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


def call_from(module: str, *arguments: Any, **options: Any) -> Any:
    """``torch.load`` as code of a module calls it."""
    names = {"__name__": module, "torch": torch, "arguments": arguments, "options": options}
    exec("found = torch.load(*arguments, **options)", names)
    return names["found"]


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"pickle_module": None}])
def test_no_module_of_fairseq_reads_more_than_weights(payload, monkeypatch, options):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = payload
    for module in ("fairseq.models.later", "fairseq_cli.train"):
        with refuses("system"), path.open("rb") as file:
            call_from(module, file, "cpu", **options)
    assert not victim.exists()
    call_from("fairseqish", str(path), weights_only=False)
    assert victim.exists(), "the user's own calls are left alone"
    stream = io.BytesIO()  # what processes send each other: settings with values that are missing
    torch.save({"cfg": OmegaConf.create({"needed": "???"})}, stream)
    stream.seek(0)
    assert "cfg" in call_from("fairseq.distributed.utils", stream, map_location="cpu")


@pytest.mark.parametrize("name", ["adaptive_softmax_cutoff", "xformers_att_config"])
def test_a_setting_of_the_plain_transformer_is_not_run(folder, evil, name):
    victim = evil.parent / "victim"
    call = f"__import__('os').system('touch {victim}') or [1, 2]"
    forged(folder, evil, "stock", "model", **{name: call})
    with pytest.raises(UserError):
        corrector(evil)
    assert not victim.exists()


def test_fairseq_evaluates_settings_where_it_is_disarmed_or_out_of_reach():
    """A model's texts: in its own module, and in fairseq.utils."""
    home = Path(fairseq.__file__).parent
    calls = re.compile(r"(?<![\w.])(?:eval|exec)\(")
    found = {
        str(path.relative_to(home).with_suffix("")).replace("/", ".")
        for part in ("models", "modules", "tasks", "criterions", "data", "utils.py")
        for path in ((home / part).rglob("*.py") if "." not in part else [home / part])
        if calls.search(path.read_text("utf-8"))
    }
    expected = {MODEL_REGISTRY[name].__module__ for name in trust.EXPECTED["arch"]}
    reached = {name for name in found if f"fairseq.{name}" in expected}
    assert reached == {"models.transformer_lm", "models.lightconv_lm"}
    refused = re.compile(r"models\.(fconv\w*|hubert|wav2vec|speech_to_text)\b")
    rest = {name for name in found - reached - {"utils"} if not refused.match(name)}
    assert rest == {"criterions.ctc", "data.audio.raw_audio_dataset", "data.codedataset"}


# models, tasks, criterions ------------------------------------------------------------------------


def test_models_that_are_not_expected_are_not_built():
    assert origin() is None, "nothing of it holds for the command line"
    for arch in ARCH_MODEL_REGISTRY:
        known = ARCH_MODEL_NAME_REGISTRY[arch]
        ours = not MODEL_REGISTRY[known].__module__.startswith("fairseq.")
        if ours or known in trust.EXPECTED["arch"]:
            continue
        for cfg in (Namespace(_name=arch), Namespace(arch=arch), OmegaConf.create({arch: {}})):
            with trust.settings_of(["evil.pt"]), refuses("evil.pt", f"--arch {arch} ", known):
                models.build_model(cfg, None)
    both = Namespace(_name="fconv", arch="transformer")  # of which fairseq takes the first
    for cfg in (Namespace(_name="${x}", x="fconv"), Namespace(), OmegaConf.create({"_name": "x"})):
        for one in (cfg, both):
            with trust.settings_of(["evil.pt"]), refuses("--arch"):
                models.build_model(one, None)
    assert set(trust.EXPECTED["arch"]) <= set(MODEL_REGISTRY)


def options_of(model: Any, marker: Path) -> dict[str, Any]:
    """The options of a model by default; those whose names are of files say ``marker``."""
    parser = ArgumentParser(conflict_handler="resolve", argument_default=SUPPRESS)
    model.add_args(parser)
    found = {
        action.dest: action.default
        for action in parser._actions
        if action.default not in (None, SUPPRESS)
    }
    for action in parser._actions:
        if action.nargs != 0 and re.search("path|file|dir|pretrained|from", action.dest):
            found[action.dest] = str(marker)
    return found


SIZES = ("embed_dim", "ffn_embed_dim", "hidden_size", "out_embed_dim", "conv_dim")
SMALL: dict[str, Any] = {
    **{f"{side}_{size}": 8 for side in ("encoder", "decoder") for size in SIZES},
    **{f"{side}_attention_heads": 2 for side in ("encoder", "decoder")},
    **{f"{side}_layers": 1 for side in ("encoder", "decoder")},
    **{"max_source_positions": 16, "max_target_positions": 16},
    **{"criterion": "cross_entropy", "attention_dropout": 0.0},
}
CONVOLVED: dict[str, Any] = {"encoder_kernel_size_list": [3], "decoder_kernel_size_list": [3]}


@pytest.mark.parametrize("name", sorted(trust.EXPECTED["arch"]))
def test_expected_models_open_no_file(tmp_path, name):
    marker = tmp_path / "marker"
    said = {**options_of(MODEL_REGISTRY[name], marker), **SMALL}
    if name.startswith("lightconv"):
        said |= CONVOLVED
    arch = name if name in ARCH_MODEL_REGISTRY else f"{name}_large"
    cfg = Namespace(**{**said, "_name": arch, "arch": arch})
    sides = ("source_dictionary", "target_dictionary", "dictionary", "output_dictionary")
    task = Namespace(**dict.fromkeys(sides, tiny.dictionary()))
    with unopened(marker), trust.settings_of(["evil.pt"]):
        assert isinstance(models.build_model(cfg, task), torch.nn.Module)


@pytest.mark.parametrize("kind", ["stock", "concat"])
def test_a_checkpoint_brings_its_embeddings(folder, evil, kind):
    embeddings = evil.parent / "embeddings"
    named = dict.fromkeys(("encoder_embed_path", "decoder_embed_path"), str(embeddings))
    state = torch.load(forged(folder, evil, kind, "model", **named), weights_only=True)
    with unopened(embeddings):
        (model,), _, _ = LOAD([str(evil)], {"data": str(folder / "bin")})
    assert all(torch.equal(state["model"][name], one) for name, one in model.named_parameters())


def test_a_checkpoint_brings_its_backbone(monkeypatch):
    def unread(*_: Any, **__: Any) -> None:
        raise AssertionError("the folder is read")

    monkeypatch.setattr(gated, "Pretrained", unread)
    monkeypatch.setattr(gated, "build_backbone", lambda plan, *_, **__: plan)
    cfg = gated.GatedTransformerConfig(backbone="/somewhere", backbone_plan="plan")
    with trust.settings_of(["evil.pt"]):
        assert gated.make_backbone(cfg, tiny.dictionary(), tiny.dictionary()) == "plan"


def test_tasks_that_are_not_expected_are_not_set_up(folder, evil):
    forged(folder, evil, "stock", "task", _name="audio_pretraining")
    with refuses("--task audio_pretraining", evil):
        LOAD([str(evil)])
    for name in TASK_REGISTRY:
        ours = not TASK_REGISTRY[name].__module__.startswith("fairseq.")
        both = Namespace(task=name, _name="translation")  # of which fairseq takes the first
        for cfg in (Namespace(_name=name), both, Namespace(task=3, _name=name)):
            if not ours and name not in trust.EXPECTED["task"]:
                with trust.settings_of(["evil.pt"]), refuses(f"--task {name} "):
                    tasks.setup_task(cfg)
    assert set(trust.EXPECTED["task"]) <= set(TASK_REGISTRY)


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
@pytest.mark.parametrize("place", ["home/evil/spm.model", "home/spm.model", "data/spm.model"])
def test_subwords_beside_a_checkpoint_or_its_data_are_read(folder, evil, kind, load, place):
    data, file = evil.parents[2] / "data", evil.parents[2] / place
    data.mkdir()
    for one in (*(folder / "bin").iterdir(), folder / "apart" / "spm.model"):
        (file if one.suffix == ".model" else data / one.name).write_bytes(one.read_bytes())
    forged(folder, evil, kind, "bpe", _name="sentencepiece", sentencepiece_model=str(file))
    assert load(evil, data=str(data)) is not None


@entries
@pytest.mark.parametrize("how", ["apart", "link", "fifo", "gone"])
def test_subwords_of_other_places_are_refused_and_may_be_named(folder, evil, kind, load, how):
    apart = folder / "apart" / "spm.model"
    file = apart if how == "apart" else evil.parent / "spm.model"
    if how == "link":
        file.symlink_to(apart)
    elif how == "fifo":
        os.mkfifo(file)
    forged(folder, evil, kind, "bpe", _name="sentencepiece", sentencepiece_model=str(file))
    data = str(folder / "bin")
    with refuses(f"checkpoint {evil}", f"--sentencepiece-model {file}"):
        load(evil, data=data)
    named = {"bpe": "sentencepiece", "sentencepiece_model": str(apart)}
    assert load(evil, data=data, **named) is not None
    assert load(evil, data=data, sentencepiece_model=str(apart)) is not None


def test_nothing_is_fetched_for_a_checkpoint(folder, evil, fetched):
    for settings in (
        {"_name": "gpt2"},
        {"_name": "gpt2", "gpt2_encoder_json": URL, "gpt2_vocab_bpe": URL},
        {"_name": "sentencepiece", "sentencepiece_model": "HTTPS:" + URL[6:]},
        {"_name": "sentencepiece", "sentencepiece_model": "s3://bucket/key"},
        {"_name": "sentencepiece", "sentencepiece_model": "${x}", "x": __file__},
        {"_name": "sentencepiece", "sentencepiece_model": __file__.encode()},
        {"_name": "subword_nmt", "bpe_codes": URL},
        {"_name": "fastbpe", "bpe_codes": URL},
        {"_name": "byte_bpe", "sentencepiece_model_path": URL},
        {"_name": "hf_byte_bpe", "bpe_merges": URL, "bpe_vocab": URL},
        {"_name": "bert"},
        {"_name": "bert", "bpe_vocab_file": URL},
    ):
        forged(folder, evil, "editor", "bpe", **settings)
        with refuses("checkpoint"):
            editor(evil, data=str(folder / "bin"))
        assert not fetched
    said = {"_name": "sentencepiece", "sentencepiece_model": "/no/such.model"}
    for settings, named in (said, {"sentencepiece_model": URL}), ({}, {"bpe": "gpt2"}):
        forged(folder, evil, "editor", "bpe", **settings)
        with pytest.raises((UserError, OSError)):
            editor(evil, data=str(folder / "bin"), **named)
    assert len(fetched) == 2 and fetched[0] == URL, "what the user names is fetched"


def test_every_file_of_subwords_is_looked_at():
    known = REGISTRIES["bpe"]["dataclass_registry"]
    texts = {
        field.name
        for made in filter(None, known.values())
        for field in made.__dataclass_fields__.values()
        if "str" in str(field.type) and not field.name.startswith("_")
    }
    assert texts - set(trust.FILES) == {"bpe_separator"}


def test_noisy_text_is_cut_by_files_of_the_checkpoint_alone(folder, evil):
    chosen = {"_name": "sentencepiece", "sentencepiece_model": str(folder / "apart" / "spm.model")}
    cfg = NoisyTranslationConfig(
        data=str(evil.parent),
        text_bpe=OmegaConf.create(chosen),
        text_tokenizer=None,
        noise="ocr",
        noise_confusions=__file__,
    )

    def task(path: Path, **given: Any) -> NoisyTranslationTask:
        with trust.settings_of([str(path)], given):
            return NoisyTranslationTask(cfg, tiny.dictionary(), tiny.dictionary())

    with refuses("--sentencepiece-model"):
        task(evil).encoding()("abc")
    with refuses("--noise-confusions"):
        task(evil)._noise_of("test")
    assert task(folder / "apart" / "x.pt").encoding()("abc")
    given = {"sentencepiece_model": chosen["sentencepiece_model"]}
    assert task(evil, **given).encoding()("abc")


def test_data_lie_in_the_data_folder(folder, evil):
    said = {"source_lang": "/../../x", "target_lang": "${x}", "data": "s3://a/b"}
    for name, value in said.items():
        forged(folder, evil, "stock", "task", **{name: value})
        for load in (corrector, lambda path: LOAD([str(path)])):
            with refuses(value, evil):
                load(evil)
