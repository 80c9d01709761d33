"""LevT: the contract of every model in several configurations, and what is particular to it."""

import itertools
import math
from argparse import Namespace
from functools import partial
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from contract import ROWS, ModelContract, System
from refusals import refuses
from tables import cases
from torch.utils._pytree import tree_leaves

from lev_plugins.systems.levenshtein import (
    LevenshteinEditorConfig,
    LevenshteinEditorModel,
)
from lev_plugins.systems.levenshtein.generator import RefinementGenerator
from lev_plugins.systems.levenshtein.model import source_at_placeholders
from lev_plugins.systems.levenshtein.replayed import ReplayedPasses, replayed
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_runtime.refine.feature_cache import reused

pytestmark = [pytest.mark.device, pytest.mark.kernels]

PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
JOINED = {"share_all_embeddings": True}
CONFIGURATIONS = {
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
    def system(self, request):
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


# the three heads ------------------------------------------------------------------------------


def test_the_pointer_adds_where_it_looks_to_the_logits_of_the_sources_tokens():
    # o_v = e_v · h + λ(h) Σ_s a_s [x_s = v], a = softmax_s(q(h) · k(m_s) / √C)
    task, model = make(share_all_embeddings=True, source_pointer=True)
    tiny.sharpen(model, 2.0).eval()
    sample = tiny.batch(task, ROWS, left=True)
    source, tokens = sample["net_input"]["src_tokens"], sample["draft"]
    memory, where = model.encode(source), tokens.gt(2)
    states = model.decode(tokens, memory, "token")[where]
    rows, pointer = where.nonzero()[:, 0], model.pointer
    logits = tiny.logits(model, "token", tokens, memory, where)
    for row, state, actual in zip(rows, states, logits, strict=True):
        looks = pointer.key(memory.states[row]) @ pointer.query(state) / len(state) ** 0.5
        shares = looks.masked_fill(source[row].eq(1), -math.inf).softmax(0)
        expected = model.output_weight() @ state
        expected.index_add_(0, source[row], pointer.scale(state) * shares)
        assert_near(actual, expected)


# what placeholders copy from the source -------------------------------------------------------


@pytest.mark.parametrize("left", [True, False])
def test_a_placeholder_is_read_beside_the_sources_state_at_its_relative_place(left):
    task, model = sharp()
    hole, read, written = task.placeholder, ("abcdefgh", "", "e"), ("a?c??", "???", "ab")
    source, tokens = (
        tiny.stack(
            [tiny.sentence(row, task.tgt_dict, task.placeholder) for row in side], 1, *layout
        )
        for side, *layout in ((read, left, 2), (written,))
    )
    memory = model.encode(source)
    copied = source_at_placeholders(tokens, memory, 1, hole)
    expected = torch.zeros_like(copied)
    for row, place in tokens.eq(hole).nonzero().tolist():
        states = memory.states[row, source[row].ne(1)]
        # <s> stands beside <s>, </s> beside </s>
        share = place / (len(written[row]) + 1)
        expected[row, place] = states[math.floor(share * (len(states) - 1) + 0.5)]
    assert expected.any() and torch.equal(copied, expected)


def test_parameters_that_have_learned_without_copying_are_read_without_it():
    task, old = sharp(source_copy="none")
    new, sample = tiny.model(task, 3).eval(), tiny.training_batch(task, ROWS)
    new.load_state_dict(old.state_dict())
    expected, logits = (answers(model, sample) for model in (old, new))
    assert all(torch.equal(expected[head][0], logits[head][0]) for head in expected)


# what is there for speed alone ----------------------------------------------------------------


LOOP = {"max_len_a": 0, "max_len_b": 20, "iter_decode_max_iter": 6, "retain_iter_history": True}


@pytest.mark.parametrize("policies, options, flags", cases("systems/cases.tsv", "layers"), ids=str)
def test_the_layers_around_a_model_may_be_left_out(policies, options, flags, monkeypatch):
    tasks, models = zip(*(sharp(seed, **options) for seed in range(3, 3 + policies)))
    models = [model.double() for model in models]
    rows, results = tiny.triples(32, longest=12), []
    samples = [
        tiny.batch(tasks[0], rows[first : first + size], left=True, drafted=drafted)
        for first, size, drafted in ((0, 11, True), (11, 1, True), (12, 9, False), (21, 11, True))
    ]
    for model in models:
        model.passes = ReplayedPasses(model, "cpu")
        scripted = partial(lambda says, *read: says(*read) / 2, model.head_logits)
        monkeypatch.setattr(model, "head_logits", scripted)  # is obeyed within all layers
    for layers in ((), (replayed, reused)):
        monkeypatch.setattr(RefinementGenerator, "layers", layers)
        generator = tasks[0].build_generator(models, Namespace(**LOOP, **flags))
        results.append([generator.generate(models, sample) for sample in samples])
        assert bool(models[0].passes.sources) == bool(layers)
    for expected, value in zip(*map(tree_leaves, results), strict=True):
        if isinstance(value, torch.Tensor | float):
            torch.testing.assert_close(value, expected)
        else:
            assert value == expected
    assert sum(each["steps"] > 1 for nbest in itertools.chain(*results[0]) for each in nbest) > 5


# limits and refusals --------------------------------------------------------------------------


def test_bert_initialisation_draws_the_decoder_narrowly():
    _, model = make(apply_bert_init=True, decoder_ffn_embed_dim=64, max_insertions=60)
    assert 0.018 < float(model.decoder_embed.weight.detach().std()) < 0.022
    for name, parameter in model.decoder.named_parameters():
        if parameter.dim() > 1:
            assert 0.015 < float(parameter.detach().std()) < 0.025, name
        assert not (name.endswith("bias") and parameter.any()), name


@pytest.mark.parametrize("options, flags", cases("systems/cases.tsv", "levt options"))
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
