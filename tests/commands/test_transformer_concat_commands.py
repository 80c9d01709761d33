"""The autoregressive baseline (paper, §C.2) with fairseq's own commands."""

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from lev_plugins.errors import UserError
from lev_plugins.systems.transformer_concat import TransformerConcatModel

SIZES = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 64 --encoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-layers 1 --share-all-embeddings"
)
MODEL = (
    f"--arch transformer_concat_char {SIZES} --criterion label_smoothed_cross_entropy "
    "--label-smoothing 0.1 --optimizer adam --lr 0.005 --clip-norm 1 --batch-size 32 "
    "--num-workers 0 --log-format simple --log-interval 50 --no-epoch-checkpoints"
)
RANDOM = "--dropout 0.3 --attention-dropout 0.1 --seed 2 --disable-validation"
QUICK = "--dropout 0 --max-update 60 --disable-validation"


class Baseline(NamedTuple):
    """Commands of the task on the corpus of triples; ``folder`` holds a checkpoint."""

    commands: object
    corpus: object
    folder: Path
    package: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint_last.pt"

    def __call__(self, command, **options):
        common = f"--user-dir {self.package} --task translation_concat --cpu"
        languages = "--source-lang src --target-lang tgt"
        return self.commands(f"{command} {common} {languages}", self.folder, **options)

    def done(self, command, **options):
        result = self(command, **options)
        assert result.code == 0, f"{command}\n{result.out[-3000:]}\n{result.err[-3000:]}"
        return result

    def train(self, more, data=None):
        return f"fairseq-train {data or self.corpus.data} --draft-lang mt {MODEL} {more}"

    def generate(self, more="", path=None):
        path = path or self.checkpoint
        return f"fairseq-generate {self.corpus.data} --path {path} --beam 4 {more}"

    def interactive(self, more=""):
        return f"fairseq-interactive {self.corpus.data} --path {self.checkpoint} --beam 4 {more}"


@pytest.fixture(scope="module")
def baseline(commands, triples, root, tmp_path_factory):
    folder = tmp_path_factory.mktemp("concat")
    made = Baseline(commands, triples, folder, root / "lev_plugins")
    made.done(made.train(f"{QUICK} --save-dir {folder}"))
    return made


@pytest.fixture(scope="module")
def second(baseline):
    """The folder of another checkpoint, trained for a short time with everything random."""
    baseline.done(baseline.train(f"{RANDOM} --max-update 12 --save-dir second"))
    return baseline.folder / "second"


@pytest.fixture(scope="module")
def generated(baseline):
    """The test set by beam search: it has an empty draft, an empty source and unknown words."""
    return baseline.done(baseline.generate("--draft-lang mt --scoring ter"))


def typed_lines(baseline, drafted=True):
    sources, drafts = (baseline.corpus.text("test", side) for side in ("src", "mt"))
    if not drafted:
        return sources
    return [f"{source}\t{draft}" for source, draft in zip(sources, drafts, strict=True)]


# decoding -------------------------------------------------------------------------------------


def test_no_sentence_is_lost_and_the_source_is_printed_without_its_draft(baseline, generated):
    printed = generated.lines("S")
    sources = baseline.corpus.text("test", "src")
    assert [printed[i][-1] for i in range(11)] == [re.sub("xyz", "<unk>", s) for s in sources]
    assert sorted(generated.lines("H")) == list(range(11)) == sorted(generated.lines("T"))
    assert len(set(generated.texts("H"))) > 2
    assert re.search(r"Generate test with beam=4: TER = \d+\.\d+", generated.out)


def test_lines_typed_with_drafts_are_answered_as_the_data_are(baseline, generated):
    text = "".join(f"{line}\n" for line in typed_lines(baseline))
    flags = "--buffer-size 4 --batch-size 3"
    typed = baseline.done(baseline.interactive(flags), stdin=text)
    assert typed.texts("H") == generated.texts("H")
    assert typed.texts("S") == generated.texts("S")


def test_lines_typed_without_drafts_are_answered_as_data_without_drafts(baseline, generated):
    expected = baseline.done(baseline.generate())
    text = "".join(f"{line}\n" for line in typed_lines(baseline, drafted=False))
    typed = baseline.done(baseline.interactive(), stdin=text)
    assert typed.texts("H") == expected.texts("H")
    with_drafts = [score for score, _ in generated.lines("H").values()]
    assert with_drafts != [score for score, _ in expected.lines("H").values()]


def test_all_answers_of_an_ensemble_begin_with_the_prefix(baseline, second):
    """Two checkpoints, two answers a sentence, two tokens of the target given."""
    path = f"{baseline.checkpoint}:{second}/checkpoint_last.pt"
    flags = "--draft-lang mt --nbest 2 --prefix-size 2 --gen-subset valid"
    result = baseline.done(baseline.generate(flags, path))
    heads = re.findall(r"^H-(\d+)\t\S+\t(.*)$", result.out, re.MULTILINE)
    assert sorted(int(number) for number, _ in heads) == sorted([*range(11), *range(11)])
    targets = baseline.corpus.text("valid", "tgt")
    for number, text in heads:
        assert text.split()[:2] == targets[int(number)].split()[:2]
    assert len({text for number, text in heads if number == "0"}) == 2


@pytest.mark.filterwarnings("ignore:'pin_memory' argument:UserWarning")
def test_the_python_interface_gives_what_the_command_gives(baseline, generated):
    hub = TransformerConcatModel.from_pretrained(
        str(baseline.folder), "checkpoint_last.pt", str(baseline.corpus.data)
    )
    assert hub.translate(typed_lines(baseline), beam=4) == generated.texts("H")
    assert hub.translate("a b", beam=2) == hub.translate("a b\t", beam=2)
    with pytest.raises(UserError, match="has 2 tabs"):
        hub.translate("a\tb\tc")


# training -------------------------------------------------------------------------------------


def tensors(path):
    """All tensors of a training's state: the model and what the optimizer remembers."""
    state = torch.load(path, weights_only=True)
    found = dict(state["model"])
    for number, moments in state["last_optimizer_state"]["state"].items():
        found |= {f"{number}.{name}": value for name, value in moments.items()}
    return {name: value for name, value in found.items() if torch.is_tensor(value)}


def test_a_training_resumed_is_the_one_that_never_stopped(baseline, second, tmp_path):
    baseline.done(baseline.train(f"{RANDOM} --max-update 5 --save-dir {tmp_path}"))
    result = baseline.done(baseline.train(f"{RANDOM} --max-update 12 --save-dir {tmp_path}"))
    assert "checkpoint_last.pt (epoch 1 @ 5 updates)" in result.out
    whole, parts = (tensors(folder / "checkpoint_last.pt") for folder in (second, tmp_path))
    assert whole.keys() == parts.keys()
    assert "encoder.embed_positions.language.weight" in whole
    assert not [name for name in whole if not torch.equal(whole[name], parts[name])]


CONFIG = """
common: {{cpu: true, seed: 1, log_format: simple}}
task:
  _name: translation_concat
  data: {data}
  source_lang: src
  target_lang: tgt
  draft_lang: mt
  eval_bleu: true
  eval_bleu_args: '{{"beam": 2, "max_len_b": 12}}'
model:
  _name: transformer_concat
  encoder_embed_dim: 16
  encoder_ffn_embed_dim: 16
  encoder_layers: 1
  encoder_attention_heads: 2
  encoder_learned_pos: true
  decoder_layers: 1
criterion: {{_name: label_smoothed_cross_entropy, label_smoothing: 0.1}}
optimizer: {{_name: adam}}
lr_scheduler: {{_name: fixed}}
dataset: {{batch_size: 32, num_workers: 0}}
optimization: {{max_update: 3, lr: [0.01]}}
checkpoint:
  save_dir: {folder}/ck
  no_epoch_checkpoints: true
  best_checkpoint_metric: bleu
  maximize_best_checkpoint_metric: true
"""


def test_hydra_trains_it_and_bleu_chooses_the_best_checkpoint(baseline, tmp_path):
    config = CONFIG.format(data=baseline.corpus.data, folder=tmp_path)
    (tmp_path / "concat.yaml").write_text(config)
    result = baseline.commands(
        f"fairseq-hydra-train --config-dir {tmp_path} --config-name concat "
        f"common.user_dir={baseline.package}",
        tmp_path,
    )
    assert result.code == 0, result.out + result.err
    log = result.out + "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    assert "num_updates: 3 >= max_update: 3" in log
    assert re.search(r"\| bleu [0-9.]+", log)
    saved = tensors(tmp_path / "ck" / "checkpoint_best.pt")
    assert saved["encoder.embed_positions.positions.weight"].shape == (1026, 16)


@pytest.mark.slow
def test_it_learns_to_post_edit(baseline, tmp_path):
    baseline.done(baseline.train(f"{QUICK} --max-update 300 --save-dir {tmp_path}"))
    path = tmp_path / "checkpoint_last.pt"
    result = baseline.done(baseline.generate("--draft-lang mt --gen-subset valid", path))
    outputs, targets = result.texts("H"), baseline.corpus.text("valid", "tgt")
    assert sum(a == b for a, b in zip(outputs, targets, strict=True)) >= 9


# mistakes -------------------------------------------------------------------------------------


def test_two_dictionaries_are_refused_before_anything_is_written(baseline, tmp_path):
    shutil.copytree(baseline.corpus.data, tmp_path / "bin")
    with open(tmp_path / "bin" / "dict.src.txt", "a") as dictionary:
        dictionary.write("zzz 1\n")
    command = baseline.train(f"{QUICK} --save-dir {tmp_path}/refused", tmp_path / "bin")
    assert baseline(command).error == (
        f"{tmp_path}/bin: dict.src.txt and dict.tgt.txt differ, but source and draft are read "
        "with one; preprocess with --joined-dictionary"
    )
    assert not list((tmp_path / "refused").glob("*"))


def test_a_line_with_two_tabs_is_named(baseline):
    result = baseline(baseline.interactive(), stdin="a b\na b\tA .\na\tb\tc\nd\n")
    assert result.error == "input line 3 has 2 tabs; write source, or source<TAB>draft"
    assert len(result.lines("H")) == 2


def test_a_draft_above_the_limit_is_named_and_source_and_draft_may_each_reach_it(baseline):
    flags = "--max-len-b 3 --max-source-positions 12"
    full, long = (" ".join("A" * count) for count in (11, 12))
    lines = f"{full}\t{full}\na b\t{long}\n"
    result = baseline(baseline.interactive(flags), stdin=lines)
    assert result.error.startswith("line 2 has 3/0/13 tokens (source/target/draft)")
    assert "limit is 12/1024" in result.error
    assert list(result.lines("H")) == [0]


def test_constraints_are_refused(baseline):
    result = baseline(baseline.interactive("--constraints"), stdin="a b\n")
    assert result.error == "--constraints is not supported by translation_concat"
