"""Draft-guided decoding writes what greedy decoding writes, whatever the draft, in fewer passes."""

import dataclasses
import json
import random
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models.lstm import LSTMModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from refusals import refuses
from seq2seq_models import CONCAT, GATED, PBD, Seq2Seq, task
from test_seq2seq import stock
from tiny import Triple

from lev_plugins.nn.seq2seq.draft_guided import DraftGuidedGenerator
from lev_plugins.nn.t5 import T5Size
from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig

# said by torch about fairseq
pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
Drafts = Sequence[Sequence[int]]
T5 = T5Size(8, 2, 3, 10, 2, 2, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
PLAN = json.dumps({"kind": "t5", "mask": None, "plan": dataclasses.asdict(T5)})


def fairseqs(**options: Any) -> Any:
    """fairseq's own Transformer, in double precision, far from undecided."""
    return tiny.sharpen(stock(CONCAT.symbols, **options), 2.0).double()


#: name → the system whose sentences it reads, and a model
MODELS = {
    **{
        f"{name}, {kind}": (system, lambda s=system, k=kind: s.build(3, 1.5, **s.kinds[k]))
        for name, system in {"pbd": PBD, "gated": GATED, "concat": CONCAT}.items()
        for kind in system.kinds
    },
    "gated, T5": (
        GATED,
        lambda: GATED.build(2, 1.0, gates="copy,generate", backbone_plan=PLAN),
    ),
    "fairseq's": (CONCAT, lambda: fairseqs(encoder_learned_pos=True)),
}
each_model = pytest.mark.parametrize(("system", "make"), MODELS.values(), ids=MODELS.keys())


def written(
    system: Seq2Seq,
    models: Sequence[Any],
    rows: Sequence[Triple],
    drafts: Drafts | None = None,
    **options: Any,
) -> Any:
    """Returns what greedy decoding writes, guided by drafts if there are any."""
    flags = {"beam_size": 1, "max_len_b": 20, **options}
    if drafts is not None:
        flags["drafts"] = lambda sample: drafts
    kind = SequenceGenerator if drafts is None else DraftGuidedGenerator
    generator = kind(models, system.symbols, **flags)
    return generator.generate(models, system.sample(rows, left=not system.joins))


def hostile(text: list[int], size: int, rng: random.Random) -> list[int]:
    """A draft of a text that ends in </s>, helpful or not; ``size``: of the dictionary."""
    noisy = [token if rng.random() < 0.8 else rng.randrange(size) for token in text[:-1]]
    cut = rng.randrange(len(text))
    return rng.choice(
        [
            [],
            text[:-1],
            noisy,
            text[:cut] + noisy[cut + 2 :],  # tokens are missing
            noisy[:cut] + noisy,  # repeated
            text + text,  # with </s> in it, and longer than any target
            [rng.randrange(size) for _ in range(rng.randint(1, 70))],  # unrelated, special symbols
            [text[0]] * 60,
            [3] * 9,  # unknown
        ]
    )


def assert_same(actual: Any, expected: Any) -> None:
    for (hypothesis,), (other,) in zip(actual, expected, strict=True):
        assert hypothesis["tokens"].tolist() == other["tokens"].tolist()
        assert_near(hypothesis["positional_scores"].float(), other["positional_scores"].float())
        assert_near(hypothesis["score"].float(), other["score"].float())


@each_model
def test_whatever_the_drafts_it_writes_what_greedy_decoding_writes(system, make):
    model, rng = make(), random.Random(1)
    passes, tokens = 0, 0
    for number in range(8):
        rows = rng.sample(list(system.rows), 1 if number < 2 else rng.randint(2, len(system.rows)))
        options = {"min_len": rng.choice([1, 3]), "unk_penalty": rng.choice([0, 0.5])}
        expected = written(system, [model], rows, **options)
        texts = [best["tokens"].tolist() for best, *_ in expected]
        drafts = [hostile(text, len(system.symbols), rng) for text in texts]
        guided_groups = written(system, [model], rows, drafts, **options)
        assert_same(guided_groups, expected)
        tokens += sum(map(len, texts))
        passes += sum(group[0]["steps"] for group in guided_groups)
    assert passes < tokens


@pytest.mark.parametrize("system", [PBD, CONCAT], ids=["pbd", "concat"])
@pytest.mark.parametrize("learned", [True, False])
def test_ensembles_and_drafts_above_the_positions_are_read_as_far_as_there_are_any(system, learned):
    limits = {"max_source_positions": 9, "max_target_positions": 7}
    options = {"factor": 1.5, "encoder_learned_pos": learned, **limits}
    models = [system.build(seed, **options) for seed in (5, 6)]
    rows = [Triple("abcd", "", "ab"), Triple("c", "", ""), Triple("", "", "abc")]
    expected = written(system, models, rows, min_len=6)
    drafts = [best["tokens"].tolist()[:-1] + [5] * 30 for best, *_ in expected]
    assert_same(written(system, models, rows, drafts, min_len=6), expected)


# the option ------------------------------------------------------------------------------------


def built(task_: TranslationTask, *models: Any, **values: Any) -> Any:
    """The generator of a task with the option."""
    options = {**vars(GenerationConfig(beam=1)), "draft_guided": True, **values}
    return task_.build_generator(list(models), Namespace(**options))


def translation(source: Any = PBD.symbols) -> TranslationTask:
    return TranslationTask(TranslationConfig(), source, PBD.symbols)


def test_the_draft_is_what_is_joined_to_the_source_or_the_source():
    rows = [Triple("abc", "", "de"), Triple("h", "", "")]
    joined = TranslationConcatTask(PostEditingConfig(), CONCAT.symbols, CONCAT.symbols)
    for drafts, sample, texts in (
        (joined.drafts, CONCAT.sample(rows), ["de", "h"]),
        (built(translation(), PBD.build(3)).drafts, PBD.sample(rows), ["abc", "h"]),
    ):
        kept = [[PBD.symbols[token] for token in draft if token > 3] for draft in drafts(sample)]
        assert list(map("".join, kept)) == texts
    other = built(translation(tiny.dictionary("cxb")), PBD.build(3))
    sample = {"net_input": {"src_tokens": torch.tensor([[4, 5, 6, 3, 2]])}}  # c x b <unk> </s>
    c, b = map(PBD.symbols.index, "cb")
    assert other.drafts(sample) == [[c, 3, b, 3, 2]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 5}, "--beam 1"),
        ({"sampling": True}, "--sampling"),
        ({"nbest": 2}, "--nbest"),
    ],
)
def test_what_greedy_decoding_does_not_do_is_refused_by_name(values, message):
    with refuses("--draft-guided", message):
        built(translation(), PBD.build(), **values)


def test_a_model_that_reads_one_token_at_a_time_and_an_edit_model_are_refused():
    args = Namespace(max_source_positions=32, max_target_positions=32, criterion="cross_entropy")
    base_architecture(args)
    with refuses("--draft-guided", "LSTMModel"):
        built(translation(), LSTMModel.build_model(args, task(PBD.symbols)))
    with refuses("--draft-guided", "edit model"):
        built(tiny.task())
