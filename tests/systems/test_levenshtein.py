"""LevT: the contract of every model in several configurations, and what is particular to it."""

import itertools
import math
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from contract import ROWS, DecodingContract, ModelContract, System
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.tasks.translation import TranslationTask
from refusals import refuses

from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
from lev_plugins.systems.levenshtein.generator import RefinementGenerator
from lev_plugins.systems.levenshtein.model import source_at_placeholders
from lev_plugins.systems.levenshtein.replayed import ReplayedPasses, replayed
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_runtime.feature_cache import reused
from lev_runtime.markup import BEGINS, DROP, ENDS, KEEP

pytestmark = [pytest.mark.device, pytest.mark.kernels]

PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
JOINED = {"share_all_embeddings": True}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm, deletion apart, rotary": {
        **PRE_NORM,
        "weight_sharing": "plh-tok",
        "rotary_positions": True,
    },
    "learned positions, placeholders apart, early exit": {
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "weight_sharing": "tok-del",
        "early_exit": "1,2",
    },
    "joined, tokens apart, gelu": {
        **JOINED,
        "weight_sharing": "plh-del",
        "activation_fn": "gelu",
        "rotary_positions": True,
    },
    "deletions leave a trace, joined, pointer": {
        **PRE_NORM,
        **JOINED,
        "deletion_trace": True,
        "source_pointer": True,
    },
    "nothing shared; masked, sampled": {
        **PRE_NORM,
        "separate_output_embed": True,
        "weight_sharing": "none",
        "early_exit": "2,1",
    },
}


def make(seed: int = 1, **options: Any) -> tuple[Any, LevenshteinEditorModel]:
    task = tiny.task(joined=options.get("share_all_embeddings", False))
    return task, tiny.model(task, seed, **options)


def sharp(seed: int = 1, **options: Any) -> tuple[Any, LevenshteinEditorModel]:
    task, model = make(seed, **options)
    return task, tiny.sharpen(model).eval()


def answers(model: LevenshteinEditorModel, sample: dict[str, Any]) -> Any:
    """Each head's logits and labels."""
    source = sample["net_input"]
    return model(source["src_tokens"], source["src_lengths"], sample["states"])


class TestLevenshteinEditor(ModelContract):
    @pytest.fixture(params=CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
    def system(self, request) -> System:
        learns = {"token_masking": "uniform"} if "separate_output_embed" in request.param else {}
        task = tiny.task(joined=request.param.get("share_all_embeddings", False), **learns)
        tokens = "sample" if learns else "argmax"

        return System(
            task=task,
            build=lambda seed: tiny.model(task, seed, **request.param),
            sample=lambda rows, **options: tiny.training_batch(
                task, rows, tokens=tokens, **options
            ),
            answers=answers,
        )


@dataclass
class Decoded(System):
    """A way to decode. flags: of fairseq-generate. others: models next to the one that is asked.

    marked: letters of the drafts carry marks, by their places.
    """

    flags: dict[str, Any] = field(default_factory=dict)
    others: Sequence[torch.nn.Module] = ()
    marked: bool = False

    def decoded(self, model, rows, **layout):
        sample = tiny.batch(self.task, rows, **layout)
        if self.marked:
            inner = sample["draft"].gt(2)
            bits = torch.tensor([0, KEEP, DROP, KEEP | BEGINS | ENDS])
            sample["marks"] = bits[torch.arange(inner.size(1)) % 4] * inner
        generator = self.generator(model, **self.flags)
        return generator.generate([model, *self.others], sample)


def another() -> LevenshteinEditorModel:
    return tiny.model(tiny.task(), 7, max_insertions=9, weight_sharing="none").double()


def judge() -> torch.nn.Module:
    args = Namespace(**{**tiny.SIZES, "no_token_positional_embeddings": True})
    base_architecture(args)
    torch.manual_seed(3)
    return TransformerModel.build_model(args, TranslationTask(args, *[tiny.dictionary()] * 2))


DECODED: dict[str, Callable[[], dict[str, Any]]] = {
    "candidates": lambda: {"flags": {"iter_decode_with_beam": 3, "nbest": 2}},
    "marks": lambda: {"marked": True},
    "ensemble": lambda: {"others": [another()]},
    "re-ranker": lambda: {
        "flags": {"iter_decode_with_beam": 3, "iter_decode_with_external_reranker": True},
        "others": [judge()],
    },
}


class TestDecoding(DecodingContract):
    @pytest.fixture(params=DECODED.values(), ids=DECODED.keys())
    def system(self, request) -> System:
        task = tiny.task()
        return Decoded(task, lambda seed: tiny.model(task, seed), None, None, **request.param())


# the three heads ------------------------------------------------------------------------------


def test_the_pointer_adds_where_it_looks_to_the_logits_of_the_sources_tokens():
    # o_v = e_v · h + λ(h) Σ_s a_s [x_s = v], a = softmax_s(q(h) · k(m_s) / √C)
    task, model = make(share_all_embeddings=True, source_pointer=True)
    tiny.sharpen(model, 2.0).eval()
    sample = tiny.batch(task, ROWS, left=True)
    source, tokens = sample["net_input"]["src_tokens"], sample["draft"]
    memory, where = model.encode(source), tokens.gt(2)
    h = model.decode(tokens, memory, "token")
    logits = iter(tiny.logits(model, "token", tokens, memory, where))
    pointer, dim = model.pointer, h.size(2)
    for row, column in where.nonzero().tolist():
        state, real = h[row, column], source[row].ne(1)
        looks = pointer.key(memory.states[row, real]) @ pointer.query(state) / dim**0.5
        expected = model.output_weight() @ state
        for token, share in zip(source[row, real], looks.softmax(0), strict=True):
            expected[token] += pointer.scale(state)[0] * share
        assert_near(next(logits), expected)


# what placeholders copy from the source -------------------------------------------------------


@pytest.mark.parametrize("left", [True, False])
def test_a_placeholder_is_read_beside_the_sources_state_at_its_relative_place(left):
    task, model = sharp()
    rows = {"abcdefgh": "a?c??", "": "???", "e": "ab"}
    triples = [tiny.Triple(row, "", "") for row in rows]
    sample = tiny.batch(task, triples, left=left, extra=2)
    symbols = task.target_dictionary
    holes = [tiny.sentence(row, symbols, task.placeholder) for row in rows.values()]
    tokens = tiny.stack(holes, symbols.pad())
    source = sample["net_input"]["src_tokens"]
    memory = model.encode(source)
    copied = source_at_placeholders(tokens, memory, symbols.pad(), task.placeholder)
    expected = torch.zeros_like(copied)
    for i, written in enumerate(rows.values()):
        states = memory.states[i][source[i].ne(symbols.pad())]
        for place, token in enumerate(f"<{written}>"):
            if token == "?":  # <s> stands beside <s>, </s> beside </s>
                share = place / (len(written) + 1)
                expected[i, place] = states[math.floor(share * (len(states) - 1) + 0.5)]
    assert expected.any() and torch.equal(copied, expected)


def test_parameters_that_have_learned_without_copying_are_read_without_it():
    task, old = sharp(source_copy="none")
    new, again = (tiny.model(task, seed).eval() for seed in (3, 2))
    new.load_state_dict(old.state_dict())
    again.load_state_dict(new.state_dict())
    sample = tiny.training_batch(task, ROWS)
    first, *others = (answers(model, sample) for model in (old, new, again))
    for other in others:
        assert all(torch.equal(first[head][0], other[head][0]) for head in first)


# what is there for speed alone ----------------------------------------------------------------


def assert_same(actual: Any, expected: Any) -> None:
    """Hypotheses with all that they hold: numbers close by, all else equal."""
    if isinstance(actual, dict):
        assert actual.keys() == expected.keys()
        actual, expected = list(actual.values()), list(expected.values())
    if isinstance(actual, list):
        for part, other in zip(actual, expected, strict=True):
            assert_same(part, other)
    elif isinstance(actual, torch.Tensor | float):
        torch.testing.assert_close(actual, expected)
    else:
        assert actual == expected


LOOP = {"max_len_a": 0, "max_len_b": 20, "iter_decode_max_iter": 6, "retain_iter_history": True}
CANDIDATES = {"iter_decode_with_beam": 2, "nbest": 2, "iter_decode_force_max_iter": True}


@pytest.mark.parametrize(
    ("policies", "options", "flags"),
    [
        (1, {"rotary_positions": True}, {}),
        (2, {}, {}),
        (1, {"weight_sharing": "none"}, {}),
        (1, {"early_exit": "2,1"}, CANDIDATES),
        (1, {"deletion_trace": True, **JOINED, "source_pointer": True}, {}),
    ],
    ids=str,
)
def test_any_layer_around_a_model_may_be_left_out(policies, options, flags, monkeypatch):
    tasks, models = zip(*(sharp(seed, **options) for seed in range(3, 3 + policies)))
    models = [model.double() for model in models]
    rows, results, deleted = tiny.triples(32, longest=12), [], 0
    samples = [
        tiny.batch(tasks[0], rows[first : first + size], left=True, drafted=drafted)
        for first, size, drafted in ((0, 11, True), (11, 1, True), (12, 9, False), (21, 11, True))
    ]
    for model in models:
        model.passes = ReplayedPasses(model, "cpu")
    for layers in ((), (replayed,), (reused,), (replayed, reused)):
        monkeypatch.setattr(RefinementGenerator, "layers", layers)
        generator = tasks[0].build_generator(models, Namespace(**LOOP, **flags))
        results.append([generator.generate(models, sample) for sample in samples])
        assert bool(models[0].passes.sources) == (replayed in layers or len(results) > 2)
    for result in results[1:]:
        assert_same(result, results[0])
    for nbest in itertools.chain(*results[0]):
        deleted += sum(bool(each["actions"]) and each["steps"] > 1 for each in nbest)
    assert deleted > 5


def test_no_sentence_is_read_twice_nor_without_a_token_to_write(monkeypatch):
    written = 0
    for seed in range(3, 6):
        task, model = sharp(seed)
        read: list[tuple[str, Any]] = []
        decode = model.decode

        def noting(tokens, encoder_out, head, deleted=None, decode=decode, read=read):
            read.append((head, tokens))
            return decode(tokens, encoder_out, head, deleted)

        monkeypatch.setattr(model, "decode", noting)
        generator = task.build_generator([model], Namespace(**LOOP))
        rows = tiny.triples(9, longest=12)
        for row in rows:
            read.clear()
            generator.generate([model], tiny.batch(task, [row]))
            texts = [tokens.tolist() for _, tokens in read]
            assert all(before != after for before, after in itertools.pairwise(texts))
        read.clear()
        steps = [
            step
            for (hypothesis,) in generator.generate([model], tiny.batch(task, rows))
            for step in hypothesis["history"]
            if step["phase"] == "token" and (step["since"] < 0).any()
        ]
        assert sum(len(tokens) for head, tokens in read if head == "token") == len(steps)
        written += len(steps)
    assert written > 20


# limits and refusals --------------------------------------------------------------------------


def test_bert_initialisation_draws_the_decoder_narrowly():
    _, model = make(apply_bert_init=True, decoder_ffn_embed_dim=64, max_insertions=60)
    weights = [p for p in model.decoder.parameters() if p.dim() > 1]
    weights.append(model.decoder_embed.weight)
    assert 0.018 < float(torch.cat([p.detach().flatten() for p in weights]).std()) < 0.022
    biases = [p for name, p in model.decoder.named_parameters() if name.endswith("bias")]
    assert not any(bias.any() for bias in biases)


def test_generation_never_outgrows_the_positions_and_the_longest_sequences_fit():
    task, model = sharp(max_source_positions=9, max_target_positions=7)
    with torch.no_grad():  # always wants five more in every slot
        model.placeholder_head.weight.zero_()
        model.placeholder_head.weight[5, :] = 1e-3
        model.deletion_head.weight.zero_()  # and keeps what stands, whatever was sampled
    system = System(task, None, None, None)
    generator = system.generator(model, max_len_b=200, iter_decode_eos_penalty=3.0)
    longest = tiny.batch(task, [tiny.Triple("abcdefg", "", "")], drafted=False)
    (hypothesis,) = generator.generate([model], longest)[0]
    assert len(hypothesis["tokens"]) == 7
    stock = system.generator(model, stock_decoding=True, iter_decode_eos_penalty=3.0)
    assert len(stock.generate([model], longest)[0][0]["tokens"]) <= 7


@pytest.mark.parametrize(
    "options, flags",
    [
        ({"decoder_embed_dim": 16}, "--encoder-embed-dim 8 and --decoder-embed-dim 16"),
        ({"encoder_attention_heads": 3}, "3 does not divide --encoder-embed-dim 8"),
        ({"decoder_attention_heads": 0}, "--decoder-attention-heads 0"),
        ({"share_all_embeddings": True, "separate_output_embed": True}, "--separate-output-embed"),
        ({"source_pointer": True}, "--share-all-embeddings"),
        ({"edit_operations": "insert,fill"}, "--edit-operations insert,fill"),
        ({"rotary_positions": True, "decoder_attention_heads": 8}, "--decoder-attention-heads 8"),
        *(({"early_exit": e}, f"--early-exit {e}") for e in ("0,2", "2", "a,b", "2,3", "2,2,1")),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(options, flags):
    with refuses(flags):
        make(**options)


OURS = {LevenshteinEditorModel: LevenshteinEditorConfig, PBDTransformerModel: PBDTransformerConfig}


@pytest.mark.parametrize("of", OURS)
def test_a_training_resumes_with_the_positions_that_it_has_learnt_with(of):
    plain, rotary = OURS[of](), OURS[of](rotary_positions=True)
    for cfg, stored in ((plain, rotary), (rotary, plain), (rotary, object())):
        with refuses("last.pt", "--rotary-positions"):
            of.check_resumed(cfg, stored, "last.pt")
    for model in (plain, rotary):
        of.check_resumed(model, model, "last.pt")
    with refuses("--encoder-attention-heads 2;"):
        of.check_resumed(plain, OURS[of](encoder_attention_heads=2), "last.pt")


def test_what_does_not_fit_the_task_is_named_with_the_way_out():
    with refuses("--task translation_edit"):
        LevenshteinEditorModel.build_model(LevenshteinEditorConfig(), object())
    task = tiny.task()
    task.src_dict.add_symbol("only here")
    with refuses("--joined-dictionary"):
        tiny.model(task, share_all_embeddings=True)
