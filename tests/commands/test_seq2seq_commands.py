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

import pytest
from conftest import ENCODER, Commands, Corpus, Result
from states import assert_equal, parameters, tensors

from lev_plugins.systems.gated import GatedTransformerModel
from lev_plugins.systems.pbd import PBDTransformerModel
from lev_plugins.systems.transformer_concat import TransformerConcatModel

SIZES = f"{ENCODER} --decoder-layers 1 --share-all-embeddings"
LANGUAGES = "--source-lang src --target-lang tgt"
TRAINING = (
    "--criterion label_smoothed_cross_entropy --label-smoothing 0.1 --optimizer adam --lr 0.005 "
    "--clip-norm 1 --batch-size 32 --num-workers 0 --log-format simple --log-interval 50 "
    "--no-epoch-checkpoints --disable-validation"
)
RANDOM = "--dropout 0.3 --attention-dropout 0.1 --seed 2"


class Kind(NamedTuple):
    """model: the class. task and arch: flags. drafted: flags for data with drafts. updates: of a
    training that ends in outputs that differ."""

    model: Any
    task: str
    arch: str
    updates: int
    drafted: str = ""


KINDS = {
    "pbd": Kind(
        PBDTransformerModel,
        "translation",
        f"--arch pbd_transformer_char {SIZES}",
        120,
    ),
    "gated": Kind(
        GatedTransformerModel,
        "translation",
        f"--arch gated_transformer_char {SIZES} --gates mask,copy,generate",
        120,
    ),
    "concat": Kind(
        TransformerConcatModel,
        "translation_concat",
        f"--arch transformer_concat_char {SIZES}",
        60,
        "--draft-lang mt",
    ),
}


class System(NamedTuple):
    """The commands of a system on the triples; ``folder`` gets what they write."""

    kind: Kind
    commands: Commands
    corpus: Corpus
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
        return self.commands.done(
            f"{command} {LANGUAGES} --cpu", self.folder, task=self.kind.task, **options
        )

    def train(self, more: str) -> str:
        kind = self.kind
        return f"fairseq-train {self.corpus.data} {kind.arch} {kind.drafted} {TRAINING} {more}"

    def generate(self, more: str = "", path: object = None) -> str:
        path = path or self.checkpoint
        drafted = self.kind.drafted
        return f"fairseq-generate {self.corpus.data} --path {path} --beam 4 {drafted} {more}"

    def typed(self, lines: list[str], more: str = "") -> Result:
        command = f"fairseq-interactive {self.corpus.data} --path {self.checkpoint} --beam 4 {more}"
        return self.done(command, stdin="".join(f"{line}\n" for line in lines))


@pytest.fixture(scope="module")
def made(
    commands: Commands, triples: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], System]:
    """Systems by their names, each trained once."""
    systems: dict[str, System] = {}

    def make(name: str) -> System:
        if name not in systems:
            kind = KINDS[name]
            system = System(kind, commands, triples, tmp_path_factory.mktemp(name))
            flags = f"--dropout 0 --max-update {kind.updates} --save-dir trained"
            system.done(system.train(flags))
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
        sources = [line.replace("\t", " ").strip() for line in system.lines]
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


def test_validation_counts_every_sentence_and_a_prefix_is_scored_as_it_is(system):
    """Four a batch: the loss is the mean of the scores of all references."""
    scored, led = (
        system.done(system.generate(f"--gen-subset valid {flags}"))
        for flags in ("--score-reference", "--prefix-size 99")
    )
    assert led.texts("H") == scored.texts("H") == system.corpus.text("valid", "tgt")
    values = [[float(one) for one in row[-1].split()] for row in scored.lines("P").values()]
    for row, expected in zip(led.lines("P").values(), values, strict=True):
        assert [float(one) for one in row[-1].split()] == pytest.approx(expected, abs=2e-4)
    result = system.done(
        f"fairseq-validate {system.corpus.data} --path {system.checkpoint} --batch-size 4"
    )
    loss = float(re.search(r"\| nll_loss ([0-9.]+)", result.out + result.err)[1])
    tokens = sum(values, [])
    assert loss == pytest.approx(-sum(tokens) / len(tokens), abs=2e-3)


def test_the_python_interface_gives_what_the_command_gives(system, generated):
    if system.kind.drafted:  # fairseq's interface reads no drafts
        return
    hub = system.kind.model.from_pretrained(
        str(system.checkpoint.parent), system.checkpoint.name, str(system.corpus.data)
    )
    assert hub.translate(system.lines, beam=4) == generated.texts("H")
    assert hub.translate("a x b", beam=4) == hub.translate(["a x b"], beam=4)[0]


def test_a_training_resumed_is_the_one_that_never_stopped(system, second, tmp_path):
    system.done(system.train(f"{RANDOM} --max-update 3 --save-dir {tmp_path}"))
    result = system.done(system.train(f"{RANDOM} --max-update 8 --save-dir {tmp_path}"))
    assert "checkpoint_last.pt (epoch 1 @ 3 updates)" in result.out
    assert_equal(tensors(tmp_path / "checkpoint_last.pt"), tensors(second), least=50)


# ---------------------------------------------------------------- what is particular


def test_dropout_that_is_to_be_kept_and_a_limit_of_no_position_are_refused(made):
    """fairseq never ends where no sentence is left."""
    pbd = made("pbd")
    refused = {
        pbd.generate("--retain-dropout"): "--retain-dropout",
        pbd.train("--max-source-positions 0 --save-dir no"): "a data set has no sentence",
    }
    for command, named in refused.items():
        assert named in pbd(command).error
    assert not list((pbd.folder / "no").glob("*"))


def test_lines_typed_without_drafts_are_answered_as_data_without_drafts(made):
    concat = made("concat")
    with_drafts = concat.done(concat.generate())
    expected = concat.done(concat.generate().replace(concat.kind.drafted, ""))
    typed = concat.typed(concat.corpus.text("test", "src"))
    assert typed.texts("H") == expected.texts("H")
    scores = ([score for score, _ in one.lines("H").values()] for one in (with_drafts, expected))
    assert next(scores) != next(scores)


def test_bleu_chooses_the_best_checkpoint(made, tmp_path):
    concat = made("concat")
    flags = '--eval-bleu --eval-bleu-args {"beam":2,"max_len_b":12} --max-update 3'
    best = "--best-checkpoint-metric bleu --maximize-best-checkpoint-metric"
    command = concat.train(f"{flags} {best} --encoder-learned-pos --save-dir {tmp_path}")
    log = concat.done(command.replace("--disable-validation", "")).out
    assert re.search(r"\| bleu [0-9.]+", log)
    saved = parameters(tmp_path / "checkpoint_best.pt")
    assert saved["encoder.embed_positions.positions.weight"].shape == (1026, 32)


def gates_of(system: System, more: str, path: object = None, stdin: str = "") -> Result:
    command = f"python -m lev_plugins trace --path {path or system.checkpoint} --beam 4"
    return system.commands(f"{command} --bpe none --json {more}", system.folder, stdin=stdin)


def test_the_gates_are_those_of_what_beam_search_writes(made, tmp_path):
    gated, page = made("gated"), tmp_path / "gates.html"
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


def test_gates_that_cannot_be_shown_are_refused_in_one_line(made, tmp_path):
    gated = made("gated")
    long = "a\n" + "a " * 1100 + "\n"
    refused = [
        gates_of(gated, "", f"{gated.checkpoint}:{gated.checkpoint}"),
        gates_of(gated, "", stdin="a\nb\tc\n"),
        gates_of(gated, f"--html {tmp_path}/page.html", stdin=long),
    ]
    for result, named in zip(refused, ("one checkpoint", "line 2: ", "line 2: "), strict=True):
        assert named in result.error
    assert not list(tmp_path.iterdir())
