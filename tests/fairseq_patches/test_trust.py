"""A checkpoint's settings: no code of its choice, few models, and no files but its own."""

import contextlib
import io
import os
import re
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import pytest
import tiny
import torch
from damage import refused
from fairseq import checkpoint_utils, file_utils, models, tasks
from fairseq.data.encoders import BPE_REGISTRY
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, ARCH_MODEL_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer import TransformerModel
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_REGISTRY
from omegaconf import OmegaConf
from saved import Malicious, changed, save

from lev_plugins import Corrector, LevenshteinEditor, UserError
from lev_plugins import fairseq_patches as patches
from lev_plugins.cli import correct
from lev_plugins.io import trust
from lev_plugins.systems.gated import model as gated
from lev_plugins.tasks import NoisyTranslationConfig, NoisyTranslationTask

URL = "https://example.org/file"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints, their dictionaries in ``bin``, and a sentencepiece model in a folder apart."""
    made = tmp_path_factory.mktemp("trust")
    (made / "apart").mkdir()
    tiny.dictionaries(made / "bin")
    for kind in ("editor", "stock", "concat"):
        save(made / "run" / f"{kind}.pt", made / "bin", kind)
    lines = ["abcdefgh", "hgfedcba"]
    (made / "text").write_text("".join(f"{line}\n" for line in lines))
    path = made / "apart" / "spm.model"
    tiny.sentencepiece_model(path, lines, model_type="char", vocab_size=12)
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


def with_model(folder: Path, outcome: Path, **settings: Any) -> Path:
    """A stock checkpoint that says it is of another model."""
    state = torch.load(folder / "run" / "stock.pt", weights_only=True)
    state["cfg"]["model"] = Namespace(**settings)
    torch.save(state, outcome)
    return outcome


# code ---------------------------------------------------------------------------------------------


@pytest.fixture
def payload(tmp_path: Path) -> tuple[Path, Path]:
    """A pickle that makes a file when it is run, and that file."""
    victim = tmp_path / "victim"
    state = {"cfg": Malicious(victim), "model": {}}
    torch.save(state, tmp_path / "payload.pt")
    return tmp_path / "payload.pt", victim


@pytest.mark.parametrize("allowed", [False, True])
def test_no_model_runs_a_second_pickle(folder, evil, payload, monkeypatch, capsys, allowed):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    if allowed:
        monkeypatch.setenv(trust.ALLOWED, "other, xm_transformer")
    second, victim = payload
    asked = {"_name": "xm_transformer", "load_pretrained_decoder_from": str(second)}
    with_model(folder, evil, **asked)
    with pytest.raises((UserError, UnpicklingError)) as raised:
        correct.main(["--path", str(evil)])
    assert not victim.exists(), "it was run"
    said = patches.explain(raised.value) or ""
    if allowed:
        assert f"{second} asks for posix.system, which is not allowed" in said
    else:
        assert f"{evil} is of --arch xm_transformer" in said
        assert "LEV_PLUGINS_ALLOW=xm_transformer" in said


def call_from(module: str, *arguments: Any, **options: Any) -> Any:
    """``torch.load`` as code of a module calls it."""
    names = {"__name__": module, "torch": torch, "arguments": arguments, "options": options}
    exec("found = torch.load(*arguments, **options)", names)
    return names["found"]


@pytest.mark.parametrize("options", [{}, {"weights_only": False}, {"pickle_module": None}])
@pytest.mark.parametrize("module", ["fairseq.models.later", "fairseq_cli.train", "fairseq"])
def test_no_module_of_fairseq_reads_more_than_weights(payload, monkeypatch, module, options):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    path, victim = payload
    with pytest.raises(Exception, match="(?i)weights.only"):
        call_from(module, str(path), **options)
    with pytest.raises(Exception, match="(?i)weights.only"), path.open("rb") as file:
        call_from(module, file, "cpu", **options)
    assert not victim.exists()


def test_what_processes_send_each_other_is_read():
    """The settings of a training that resumes have values that are missing."""
    stream = io.BytesIO()
    torch.save({"cfg": OmegaConf.create({"needed": "???"})}, stream)
    stream.seek(0)
    assert "cfg" in call_from("fairseq.distributed.utils", stream, map_location="cpu")


def test_the_users_own_calls_of_torch_are_left_alone(payload):
    path, victim = payload
    call_from("fairseqish", path, weights_only=False)
    assert victim.exists()


# models, tasks, criterions ------------------------------------------------------------------------


def test_models_that_are_not_expected_are_not_built(folder):
    for arch in ARCH_MODEL_REGISTRY:
        known = ARCH_MODEL_NAME_REGISTRY[arch]
        ours = not MODEL_REGISTRY[known].__module__.startswith("fairseq.")
        if ours or known in trust.EXPECTED["arch"]:
            continue
        for cfg in (Namespace(_name=arch), Namespace(arch=arch), OmegaConf.create({arch: {}})):
            with trust.settings_of(["evil.pt"]):
                said = refused(lambda cfg=cfg: models.build_model(cfg, None))
            assert f"checkpoint evil.pt is of --arch {arch}" in said
            assert f"{trust.ALLOWED}={known} in" in said
    assert trust.EXPECTED["arch"] <= set(MODEL_REGISTRY)


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


SMALL = {
    f"{side}_{size}": 8
    for side in ("encoder", "decoder")
    for size in ("embed_dim", "ffn_embed_dim", "hidden_size", "out_embed_dim", "conv_dim")
} | {
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "max_source_positions": 16,
    "max_target_positions": 16,
    "criterion": "cross_entropy",
    "attention_dropout": 0.0,
}
CONVOLVED: dict[str, Any] = {"encoder_kernel_size_list": [3], "decoder_kernel_size_list": [3]}
LISTS = {"encoder_layers": "[(8, 3)]", "decoder_layers": "[(8, 3)]", "decoder_attention": "False"}
PARTICULAR = {
    "fconv": LISTS,
    "fconv_lm": {**LISTS, "adaptive_softmax_cutoff": None},
    "lightconv": CONVOLVED,
    "lightconv_lm": CONVOLVED,
}


@pytest.mark.parametrize("name", sorted(trust.EXPECTED["arch"]))
def test_expected_models_open_no_file(tmp_path, name):
    marker = tmp_path / "marker"
    said = {**options_of(MODEL_REGISTRY[name], marker), **SMALL, **PARTICULAR.get(name, {})}
    arch = name if name in ARCH_MODEL_REGISTRY else f"{name}_large"
    cfg = Namespace(**{**said, "_name": arch, "arch": arch})
    symbols = tiny.dictionary()
    sides = ("source_dictionary", "target_dictionary", "dictionary", "output_dictionary")
    task = Namespace(**dict.fromkeys(sides, symbols))
    with unopened(marker), trust.settings_of(["evil.pt"]):
        assert isinstance(models.build_model(cfg, task), torch.nn.Module)


@pytest.mark.parametrize("kind", ["stock", "concat"])
def test_a_checkpoint_brings_its_embeddings(folder, evil, kind):
    embeddings = evil.parent / "embeddings"
    state = torch.load(folder / "run" / f"{kind}.pt", weights_only=True)
    section = state["cfg"]["model"]
    section = section if isinstance(section, dict) else vars(section)
    section.update(encoder_embed_path=str(embeddings), decoder_embed_path=str(embeddings))
    torch.save(state, evil)
    with unopened(embeddings):
        load = checkpoint_utils.load_model_ensemble_and_task
        (model,), _, _ = load([str(evil)], {"data": str(folder / "bin")})
    assert all(torch.equal(state["model"][name], one) for name, one in model.named_parameters())


def test_a_checkpoint_brings_its_backbone(monkeypatch):
    def unread(*_: Any, **__: Any) -> None:
        raise AssertionError("the folder is read")

    monkeypatch.setattr(gated, "load_backbone", unread)
    monkeypatch.setattr(gated, "describe_backbone", unread)
    monkeypatch.setattr(gated, "build_backbone", lambda plan, *_, **__: plan)
    cfg = gated.GatedTransformerConfig(backbone="/somewhere", backbone_plan="plan")
    with trust.settings_of(["evil.pt"]):
        assert gated.make_backbone(cfg, tiny.dictionary(), tiny.dictionary()) == "plan"


def test_tasks_that_are_not_expected_are_not_set_up(folder, evil):
    changed(folder / "run" / "stock.pt", evil, "task", "_name", "audio_pretraining")
    said = refused(lambda: checkpoint_utils.load_model_ensemble_and_task([str(evil)]))
    assert "is of --task audio_pretraining" in said
    for name in TASK_REGISTRY:
        ours = not TASK_REGISTRY[name].__module__.startswith("fairseq.")
        with trust.settings_of(["evil.pt"]):
            for cfg in (Namespace(_name=name), Namespace(task=name), Namespace(task=3, _name=name)):
                if not ours and name not in trust.EXPECTED["task"]:
                    said = refused(lambda cfg=cfg: tasks.setup_task(cfg))
                    assert f"is of --task {name}" in said
    assert trust.EXPECTED["task"] <= set(TASK_REGISTRY)


def test_validation_builds_no_criterion_that_is_not_expected(folder, evil, monkeypatch):
    cfg = {"_name": "sentence_ranking", "save_predictions": str(evil.parent / "victim")}
    state = torch.load(folder / "run" / "stock.pt", weights_only=True)
    state["cfg"]["criterion"] = cfg
    torch.save(state, evil)
    load = checkpoint_utils.load_model_ensemble_and_task
    load([str(evil)])
    monkeypatch.setattr(sys, "argv", ["fairseq-validate"])
    assert "is of --criterion sentence_ranking" in refused(lambda: load([str(evil)]))
    state["cfg"]["criterion"] = {"_name": "cross_entropy"}
    torch.save(state, evil)
    load([str(evil)])
    assert trust.EXPECTED["criterion"] <= set(REGISTRIES["criterion"]["registry"])


# files --------------------------------------------------------------------------------------------


def spm(folder: Path, place: Path) -> Path:
    """The sentencepiece model at another place."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes((folder / "apart" / "spm.model").read_bytes())
    return place


def bpe(folder: Path, outcome: Path, kind: str = "editor", **settings: Any) -> Path:
    """A checkpoint with other subwords, or none."""
    state = torch.load(folder / "run" / f"{kind}.pt", weights_only=True)
    state["cfg"]["bpe"] = settings or None
    torch.save(state, outcome)
    return outcome


def python(path: Path, **options: Any) -> Any:
    return LevenshteinEditor.from_pretrained(str(path), **options).bpe


def corrector(path: Path, **options: Any) -> Any:
    return Corrector.from_pretrained(str(path), **options)


def hub(path: Path, **options: Any) -> Any:
    options = {"source_lang": "src", "target_lang": "tgt", **options}
    data = options.pop("data", str(path.parent))
    return TransformerModel.from_pretrained(str(path.parent), path.name, data, **options).bpe


LOADS = {"editor": [python, corrector], "stock": [corrector, hub]}
ENTRIES = [(kind, load) for kind, loads in LOADS.items() for load in loads]
entries = pytest.mark.parametrize("kind, load", ENTRIES)


@entries
@pytest.mark.parametrize("place", ["home/evil/spm.model", "home/spm.model", "data/spm.model"])
def test_subwords_beside_a_checkpoint_or_its_data_are_read(folder, evil, kind, load, place):
    data = evil.parents[2] / "data"
    data.mkdir()
    for one in (folder / "bin").iterdir():
        (data / one.name).write_bytes(one.read_bytes())
    file = spm(folder, evil.parents[2] / place)
    bpe(folder, evil, kind, _name="sentencepiece", sentencepiece_model=str(file))
    assert load(evil, data=str(data)) is not None


@entries
@pytest.mark.parametrize("how", ["apart", "link", "fifo"])
def test_subwords_of_other_places_are_refused_and_may_be_named(folder, evil, kind, load, how):
    apart = file = folder / "apart" / "spm.model"
    if how == "link":
        file = evil.parent / "spm.model"
        file.symlink_to(apart)
    elif how == "fifo":
        file = evil.parent / "fifo"
        os.mkfifo(file)
    bpe(folder, evil, kind, _name="sentencepiece", sentencepiece_model=str(file))
    data = str(folder / "bin")
    said = refused(lambda: load(evil, data=data))
    assert f"checkpoint {evil}" in said or f"checkpoint {evil.parent}" in said
    assert f"--sentencepiece-model {file} is n" in said and "give --bpe sentencepiece --sen" in said
    named = {"bpe": "sentencepiece", "sentencepiece_model": str(apart)}
    assert load(evil, data=data, **named) is not None
    assert load(evil, data=data, sentencepiece_model=str(apart)) is not None


def test_a_file_that_is_gone_is_told_as_before(folder, evil):
    bpe(folder, evil, _name="sentencepiece", sentencepiece_model="/no/such.model")
    assert "such.model" in refused(lambda: python(evil)) and "not found" in refused(
        lambda: python(evil)
    )


@entries
@pytest.mark.parametrize(
    "settings",
    [
        {"_name": "gpt2"},
        {"_name": "gpt2", "gpt2_encoder_json": URL, "gpt2_vocab_bpe": URL},
        {"_name": "sentencepiece", "sentencepiece_model": URL},
        {"_name": "sentencepiece", "sentencepiece_model": "HTTPS:" + URL[6:]},
        {"_name": "sentencepiece", "sentencepiece_model": "s3://bucket/key"},
        {"_name": "subword_nmt", "bpe_codes": URL},
        {"_name": "fastbpe", "bpe_codes": URL},
        {"_name": "byte_bpe", "sentencepiece_model_path": URL},
        {"_name": "hf_byte_bpe", "bpe_merges": URL, "bpe_vocab": URL},
        {"_name": "bert"},
        {"_name": "bert", "bpe_vocab_file": URL},
    ],
    ids=lambda one: "-".join(map(str, one.values())).replace("/", ""),
)
def test_nothing_is_fetched_for_a_checkpoint(folder, evil, fetched, kind, load, settings):
    bpe(folder, evil, kind, **settings)
    said = refused(lambda: load(evil, data=str(folder / "bin")))
    assert f"--bpe {settings['_name']}" in said and not fetched


@pytest.mark.parametrize("load", [python, hub])
def test_what_the_user_names_is_fetched(folder, evil, fetched, load):
    kind = "editor" if load is python else "stock"
    bpe(folder, evil, kind, _name="sentencepiece", sentencepiece_model="/no/such.model")
    with pytest.raises((UserError, OSError)):
        load(evil, data=str(folder / "bin"), sentencepiece_model=URL)
    assert fetched == [URL]
    bpe(folder, evil, kind)
    with pytest.raises((UserError, OSError)):
        load(evil, data=str(folder / "bin"), bpe="gpt2")
    assert len(fetched) == 2


def test_every_file_of_subwords_is_looked_at():
    known = REGISTRIES["bpe"]["dataclass_registry"]
    assert not set(BPE_REGISTRY) - set(known)
    texts = {
        field.name
        for made in known.values()
        for field in made.__dataclass_fields__.values()
        if "str" in str(field.type) and not field.name.startswith("_")
    }
    assert texts - set(trust.FILES) == {"bpe_separator"}


def test_a_setting_that_refers_to_another_or_is_no_text_is_no_file(folder, evil):
    bpe(folder, evil, _name="sentencepiece", sentencepiece_model="${x}", x=str(folder / "text"))
    assert "is no path on this machine" in refused(lambda: python(evil))
    bpe(folder, evil, _name="sentencepiece", sentencepiece_model=os.fsencode(folder / "text"))
    assert "is no path on this machine" in refused(lambda: python(evil))


def test_the_alignment_dictionary_of_a_checkpoint_is_not_read(folder, evil):
    secret = folder / "apart" / "secret"
    state = torch.load(folder / "run" / "stock.pt", weights_only=True)
    state["cfg"]["generation"]["replace_unk"] = str(secret)
    torch.save(state, evil)
    with unopened(secret):
        assert "--replace-unk" in refused(lambda: hub(evil, data=str(folder / "bin")))


def test_noisy_text_is_cut_by_files_of_the_checkpoint_alone(folder, evil):
    chosen = {"_name": "sentencepiece", "sentencepiece_model": str(folder / "apart" / "spm.model")}
    table = str(folder / "text")
    cfg = NoisyTranslationConfig(
        data=str(evil.parent),
        text_bpe=OmegaConf.create(chosen),
        text_tokenizer=None,
        noise="ocr",
        noise_confusions=table,
    )

    def task(path: Path, **given: Any) -> NoisyTranslationTask:
        with trust.settings_of([str(path)], given):
            return NoisyTranslationTask(cfg, tiny.dictionary(), tiny.dictionary())

    assert "--sentencepiece-model" in refused(lambda: task(evil).encode_line("abc"))
    assert "--noise-confusions" in refused(lambda: task(evil)._noise_of("test"))
    assert task(folder / "apart" / "x.pt").encode_line("abc")
    given = {"sentencepiece_model": chosen["sentencepiece_model"]}
    assert task(evil, **given).encode_line("abc")


@pytest.mark.parametrize("name", ["source_lang", "target_lang"])
def test_a_language_leads_to_no_other_folder(folder, evil, name):
    changed(folder / "run" / "stock.pt", evil, "task", name, "/../../secret")
    for load in (corrector, lambda path: checkpoint_utils.load_model_ensemble([str(path)])):
        assert f"--{name.replace('_', '-')} /../../secret is no language" in refused(
            lambda load=load: load(evil)
        )


def test_data_on_the_network_are_not_looked_for(folder, evil):
    changed(folder / "run" / "stock.pt", evil, "task", "data", "s3://bucket/data")
    for load in (corrector, lambda path: checkpoint_utils.load_model_ensemble([str(path)])):
        assert "on the network" in refused(lambda load=load: load(evil))


def test_nothing_of_it_holds_for_the_command_line(folder):
    assert patches.origin() is None
    cfg = Namespace(_name="nat_nothing")
    with pytest.raises(AssertionError, match="Could not infer model type"):
        models.build_model(cfg, None)


@pytest.mark.parametrize(
    ("name", "kind"), [("hf_directory", "DIR"), ("sentencepiece_model", "FILE")]
)
def test_a_refused_place_is_asked_for_as_what_it_is(tmp_path, name, kind):
    (tmp_path / "apart").mkdir()
    origin = trust.Origin(("/no/such/last.pt",), {})
    with pytest.raises(UserError, match=f"--{name.replace('_', '-')} {kind} yourself"):
        origin.check_file(name, str(tmp_path / "apart"))
