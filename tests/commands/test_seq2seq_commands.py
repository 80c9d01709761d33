"""Models that write from left to right, with fairseq's own commands.

One contract for ``pbd_transformer``, ``gated_transformer`` and the autoregressive baseline
``transformer_concat`` (LevT, §C.2), then what is particular to each.
"""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pbd_corpus
import pytest
import torch
from conftest import Commands, Corpus, Result, hydra
from states import assert_equal, parameters, tensors

from lev_plugins.systems.gated import GatedTransformerModel
from lev_plugins.systems.pbd import PBDTransformerModel
from lev_plugins.systems.transformer_concat import TransformerConcatModel

SIZES = f"{pbd_corpus.SIZES} --decoder-layers 1 --share-all-embeddings"
LANGUAGES = "--source-lang src --target-lang tgt"
RANDOM = "--dropout 0.3 --attention-dropout 0.1 --disable-validation --seed 2"
STILL = "--dropout 0 --attention-dropout 0 --disable-validation"


class Kind(NamedTuple):
    """model: the class. task and arch: flags. drafted: flags for data with drafts. updates: of a
    training that ends in outputs that differ. parameter: one that no other system has."""

    model: Any
    task: str
    arch: str
    updates: int
    parameter: str
    drafted: str = ""


KINDS = {
    "pbd": Kind(
        PBDTransformerModel,
        "translation",
        pbd_corpus.MODEL,
        240,
        "decoder.blocks.0.self_attention.segment",
    ),
    "gated": Kind(
        GatedTransformerModel,
        "translation",
        f"--arch gated_transformer_char {SIZES} --gates mask,copy,generate",
        80,
        "decoder.gates.gates.copy.weight",
    ),
    "concat": Kind(
        TransformerConcatModel,
        "translation_concat",
        f"--arch transformer_concat_char {SIZES}",
        60,
        "encoder.embed_positions.language.weight",
        "--draft-lang mt",
    ),
}


class System(NamedTuple):
    """The commands of a system on its corpus; ``folder`` gets what they write."""

    kind: Kind
    commands: Commands
    corpus: Any
    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "trained" / "checkpoint_last.pt"

    @property
    def lines(self) -> list[str]:
        """The test set as it is typed: it has an empty source and a word of no dictionary."""
        sources = self.corpus.text("test", "src")
        if not self.kind.drafted:
            return sources
        drafts = self.corpus.text("test", "mt")
        return [f"{source}\t{draft}" for source, draft in zip(sources, drafts, strict=True)]

    def __call__(self, command: str, **options: Any) -> Result:
        words = f"{command} {LANGUAGES} --cpu"
        return self.commands.plugin(words, self.folder, self.kind.task, **options)

    def done(self, command: str, **options: Any) -> Result:
        result = self(command, **options)
        assert result.code == 0, f"{command}\n{result.out[-3000:]}\n{result.err[-3000:]}"
        return result

    def train(self, more: str) -> str:
        kind = self.kind
        return (
            f"fairseq-train {self.corpus.data} {kind.arch} {kind.drafted} "
            f"{pbd_corpus.TRAINING} {more}"
        )

    def generate(self, more: str = "", path: object = None) -> str:
        path = path or self.checkpoint
        drafted = self.kind.drafted
        return f"fairseq-generate {self.corpus.data} --path {path} --beam 4 {drafted} {more}"

    def interactive(self, more: str = "") -> str:
        return f"fairseq-interactive {self.corpus.data} --path {self.checkpoint} --beam 4 {more}"

    def typed(self, lines: list[str], more: str = "") -> Result:
        return self(self.interactive(more), stdin="".join(f"{line}\n" for line in lines))

    def refused(self, more: str) -> str:
        """The error of a training, which writes nothing."""
        error = self(self.train(f"{more} --max-update 1 --save-dir no")).error
        assert not list((self.folder / "no").glob("*")), "something was written"
        return error


@pytest.fixture(scope="module")
def made(
    commands: Commands, triples: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], System]:
    """Systems by their names, each trained once."""
    pairs = pbd_corpus.prepared(commands, tmp_path_factory.mktemp("pairs"))
    systems: dict[str, System] = {}

    def make(name: str) -> System:
        if name not in systems:
            kind = KINDS[name]
            corpus = triples if kind.drafted else pairs
            system = System(kind, commands, corpus, tmp_path_factory.mktemp(name))
            variant = "--gate-variant pointer" if name == "gated" else ""
            flags = f"{STILL} --max-update {kind.updates} {variant}"
            system.done(system.train(f"{flags} --save-dir trained"))
            systems[name] = system
        return systems[name]

    return make


@pytest.fixture(scope="module", params=KINDS)
def system(made: Callable[[str], System], request: pytest.FixtureRequest) -> System:
    return made(request.param)


@pytest.fixture(scope="module")
def second(system: System) -> Path:
    """Another checkpoint, trained for a short time with everything random."""
    system.done(system.train(f"{RANDOM} --max-update 8 --save-dir second"))
    return system.folder / "second" / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def generated(system: System) -> Result:
    return system.done(system.generate("--batch-size 4 --scoring ter"))


# ---------------------------------------------------------------- the contract


def test_no_sentence_is_lost(system, generated):
    sources, targets = (system.corpus.text("test", side) for side in ("src", "tgt"))
    if system.kind.drafted:  # source and draft are read as one
        drafts = system.corpus.text("test", "mt")
        sources = [f"{source} {draft}".strip() for source, draft in zip(sources, drafts)]
    printed = generated.lines("S")
    found = [" ".join(printed[number]) for number in range(len(sources))]
    assert found == [re.sub("xyz|Xyz", "<unk>", source) for source in sources]
    assert sorted(generated.lines("H")) == sorted(generated.lines("T")) == list(range(len(targets)))
    assert len(set(generated.texts("H"))) > 2
    assert re.search(r"Generate test with beam=4: TER = \d+\.\d+", generated.out)


def test_lines_typed_are_answered_as_the_data_are(system, generated):
    typed = system.typed(system.lines, "--buffer-size 4 --batch-size 3")
    assert list(typed.lines("H")) == list(range(len(system.lines)))
    assert typed.texts("H") == generated.texts("H")


def test_a_prefix_is_kept_by_all_answers_of_an_ensemble(system, second):
    flags = "--gen-subset valid --nbest 2 --prefix-size 2"
    result = system.done(system.generate(flags, f"{system.checkpoint}:{second}"))
    heads = re.findall(r"^H-(\d+)\t(\S+)\t(.*)$", result.out, re.MULTILINE)
    targets = system.corpus.text("valid", "tgt")
    numbers = range(len(targets))
    assert sorted(int(number) for number, _, _ in heads) == sorted([*numbers, *numbers])
    for number, _, text in heads:
        assert text.split()[:2] == targets[int(number)].split()[:2]
    for (number, better, one), (same, worse, other) in zip(heads[::2], heads[1::2], strict=True):
        assert number == same and one != other and float(better) >= float(worse)


def test_validation_counts_every_sentence(concat):
    """Four a batch: the loss is the mean of the scores of all references."""
    scored = concat.done(concat.generate("--gen-subset valid --score-reference"))
    assert scored.texts("H") == concat.corpus.text("valid", "tgt")
    values = [float(one) for (row,) in scored.lines("P").values() for one in row.split()]
    result = concat.done(
        f"fairseq-validate {concat.corpus.data} --path {concat.checkpoint} --batch-size 4"
    )
    loss = float(re.search(r"\| nll_loss ([0-9.]+)", result.out + result.err)[1])
    assert loss == pytest.approx(-sum(values) / len(values), abs=2e-3)


def test_the_python_interface_gives_what_the_command_gives(system, generated):
    if system.kind.drafted:
        pytest.skip("fairseq's interface reads no drafts")
    hub = system.kind.model.from_pretrained(
        str(system.checkpoint.parent), system.checkpoint.name, str(system.corpus.data)
    )
    assert hub.translate(system.lines, beam=4) == generated.texts("H")
    assert hub.translate("a x b", beam=4) == hub.translate(["a x b"], beam=4)[0]


def test_a_training_resumed_is_the_one_that_never_stopped(system, second, tmp_path):
    system.done(system.train(f"{RANDOM} --max-update 3 --save-dir {tmp_path}"))
    result = system.done(system.train(f"{RANDOM} --max-update 8 --save-dir {tmp_path}"))
    assert "checkpoint_last.pt (epoch 1 @ 3 updates)" in result.out
    whole = tensors(second)
    assert_equal(tensors(tmp_path / "checkpoint_last.pt"), whole, least=50)
    assert any(name.startswith(system.kind.parameter) for name in whole)


# ---------------------------------------------------------------- pbd_transformer


@pytest.fixture(scope="module")
def pbd(made: Callable[[str], System]) -> System:
    return made("pbd")


def test_pbd_learns_and_a_reference_has_the_score_of_the_prefix_that_it_is(pbd):
    """Beam search that is led along the references gives them the scores of --score-reference."""
    outputs = pbd.done(pbd.generate()).texts("H")
    targets = pbd.corpus.text("test", "tgt")
    assert sum(a == b for a, b in zip(outputs, targets, strict=True)) >= 7
    led, scored = (
        pbd.done(pbd.generate(f"--gen-subset valid {flags}"))
        for flags in ("--prefix-size 99", "--score-reference")
    )
    assert led.texts("H") == scored.texts("H") == pbd.corpus.text("valid", "tgt")
    expected = scored.lines("P")
    for number, (row,) in led.lines("P").items():
        wanted = [float(one) for one in expected[number][-1].split()]
        assert [float(one) for one in row.split()] == pytest.approx(wanted, abs=2e-4)


def test_two_processes_train_what_one_does(pbd, root):
    """By plain gradient descent: differences stay as small as they arise."""
    one, two = pbd.folder / "one", pbd.folder / "two"
    plain = f"{STILL} --optimizer sgd --lr 0.5 --batch-size 8 --max-update 5"
    pbd.done(pbd.train(f"{plain} --update-freq 2 --save-dir {one}"))
    command = f"{pbd.train(f'{plain} --save-dir {two}')} --cpu"
    for result in pbd.commands.ranks(command, root, "translation"):
        assert result.code == 0, result.err
    first, second = (parameters(folder / "checkpoint_last.pt") for folder in (one, two))
    assert first.keys() == second.keys() and len(first) > 20
    for name, value in first.items():
        torch.testing.assert_close(second[name], value, rtol=1e-5, atol=1e-5)


def test_dropout_that_is_to_be_kept_is_refused(pbd):
    error = pbd(pbd.generate("--retain-dropout")).error
    assert error == "--retain-dropout is not supported by this model; leave it out"


def test_a_limit_of_no_position_is_refused_where_fairseq_never_ends(pbd):
    assert "a data set has no sentence" in pbd.refused("--max-source-positions 0")


def test_a_checkpoint_without_sharing_is_refused_by_a_model_that_shares(pbd):
    flags = "--max-update 1 --disable-validation --save-dir apart --share-all-embeddings"
    pbd.done(pbd.train(f"{flags} --no-parameter-sharing"))
    apart = pbd.folder / "apart" / "checkpoint_last.pt"
    error = pbd.refused(f"--finetune-from-model {apart}")
    assert "which this model shares" in error and "--no-parameter-sharing" in error


# ---------------------------------------------------------------- transformer_concat


@pytest.fixture(scope="module")
def concat(made: Callable[[str], System]) -> System:
    return made("concat")


def test_lines_typed_without_drafts_are_answered_as_data_without_drafts(concat):
    with_drafts = concat.done(concat.generate())
    expected = concat.done(concat.generate().replace(concat.kind.drafted, ""))
    typed = concat.typed(concat.corpus.text("test", "src"))
    assert typed.texts("H") == expected.texts("H")
    scores = ([score for score, _ in one.lines("H").values()] for one in (with_drafts, expected))
    assert next(scores) != next(scores)


def test_hydra_trains_concat_and_bleu_chooses_the_best_checkpoint(concat, tmp_path):
    best = ["best_checkpoint_metric=bleu", "maximize_best_checkpoint_metric=true"]
    options = ["+model.decoder_layers=1", "+task.draft_lang=mt", "+task.eval_bleu=true"]
    options += [f"checkpoint.{one}" for one in best]
    options.append("""+task.eval_bleu_args='{"beam": 2, "max_len_b": 12}'""")
    criterion = {"_name": "label_smoothed_cross_entropy", "label_smoothing": 0.1}
    made = {"_name": "transformer_concat", "encoder_learned_pos": True}
    task = {"_name": concat.kind.task}
    words = hydra(tmp_path, concat.corpus.data, task, made, criterion, "encoder")
    result = concat.commands.ok([*words, *options], tmp_path)
    log = result.out + "".join(path.read_text() for path in tmp_path.rglob("*.log"))
    assert re.search(r"\| bleu [0-9.]+", log) and "num_updates: 3 >= max_update: 3" in log
    saved = parameters(tmp_path / "ck" / "checkpoint_best.pt")
    assert saved["encoder.embed_positions.positions.weight"].shape == (1026, 16)


def test_a_draft_above_the_limit_is_named_and_source_and_draft_may_each_reach_it(concat):
    full, long = (" ".join("A" * count) for count in (11, 12))
    lines = [f"{full}\t{full}", f"a b\t{long}"]
    result = concat.typed(lines, "--max-len-b 3 --max-source-positions 12")
    assert result.error.startswith("line 2 has 3/0/13 tokens (source/target/draft)")
    assert "limit is 12/1024" in result.error
    assert list(result.lines("H")) == [0]


# ---------------------------------------------------------------- gated_transformer


@pytest.fixture(scope="module")
def gated(made: Callable[[str], System]) -> System:
    return made("gated")


def gates_of(system: System, more: str, path: object = None, stdin: str = "") -> Result:
    command = f"python -m lev_plugins trace --path {path or system.checkpoint} --beam 4"
    return system.commands(f"{command} --bpe none --json {more}", system.folder, stdin=stdin)


def test_the_gates_are_those_of_what_beam_search_writes(gated, tmp_path):
    page = tmp_path / "gates.html"
    lines = "".join(f"{line}\n" for line in gated.lines)
    result = gates_of(gated, f"--html {page} --batch-size 4", stdin=lines)
    assert result.code == 0, result.err
    found = [json.loads(line) for line in result.out.splitlines()]
    generated = gated.done(gated.generate("--max-len-a 1"))
    assert [one["line"] for one in found] == list(range(1, 12))
    assert [one["source"] for one in found] == gated.lines
    assert [one["target"] for one in found] == generated.texts("H")
    for number, one in enumerate(found):
        (printed,) = generated.lines("P")[number]
        scores = [math.log(2) * float(score) for score in printed.split()]
        assert one["log_probability"] == pytest.approx(scores, abs=1e-4)
        for copied, written in zip(one["copy"], one["generate"], strict=True):
            assert copied + written == pytest.approx(1, abs=1e-5)
        assert one["skip"] is None
        assert len(one["mask"]) == len(one["source_tokens"])
    assert page.read_text().count("<article>") == 11


def test_what_cannot_be_shown_is_refused_in_one_line(gated, tmp_path):
    both = f"{gated.checkpoint}:{gated.checkpoint}"
    assert gates_of(gated, "", both).error.endswith("name one checkpoint")
    assert gates_of(gated, "", stdin="a\nb\tc\n").error.startswith("line 2: ")
    long = "a\n" + "a " * 1100 + "\n"
    error = gates_of(gated, f"--html {tmp_path}/page.html", stdin=long).error
    assert error.startswith(
        "line 2: the source has 1101 tokens with </s>, and the model takes 1024"
    )
    assert not list(tmp_path.iterdir())
