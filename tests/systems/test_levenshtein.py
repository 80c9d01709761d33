"""LevT: the contract of every model in several configurations, and what is particular to it."""

import itertools
import math
from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from contract import ROWS, ModelContract, System
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.nn import TransformerBlock
from lev_plugins.ops.edits import Compaction
from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
from lev_plugins.systems.levenshtein.decoding.policy import EditPolicy
from lev_plugins.systems.levenshtein.model import source_at_placeholders
from lev_plugins.systems.levenshtein.roll_in import expert_labels

pytestmark = pytest.mark.kernels

HEADS = ("deletion", "placeholder", "token")
PRE_NORM = {"encoder_normalize_before": True, "decoder_normalize_before": True}
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm, deletion apart": {**PRE_NORM, "weight_sharing": "plh-tok"},
    "learned positions, placeholders apart, early exit": {
        "encoder_learned_pos": True,
        "decoder_learned_pos": True,
        "weight_sharing": "tok-del",
        "early_exit": "1,2",
    },
    "joined, tokens apart, gelu": {
        "share_all_embeddings": True,
        "weight_sharing": "plh-del",
        "activation_fn": "gelu",
    },
    "deletions leave a trace, joined, pointer": {
        **PRE_NORM,
        "share_all_embeddings": True,
        "deletion_trace": True,
        "source_pointer": True,
    },
    "nothing shared": {
        **PRE_NORM,
        "separate_output_embed": True,
        "weight_sharing": "none",
        "early_exit": "2,1",
    },
}


def make(seed: int = 1, **options: Any) -> tuple[Any, LevenshteinEditorModel]:
    """A task and a model for it."""
    task = tiny.task(joined=options.get("share_all_embeddings", False))
    return task, tiny.model(task, seed, **options)


def sharp(seed: int = 1, **options: Any) -> tuple[Any, LevenshteinEditorModel]:
    task, model = make(seed, **options)
    return task, tiny.sharpen(model).eval()


def trained(model: LevenshteinEditorModel, sample: dict[str, Any]) -> tuple:
    """Each head's logits, their labels, and y_del."""
    source, roll_in = sample["net_input"], sample["roll_in"]
    logits, inputs = model(source["src_tokens"], source["src_lengths"], roll_in)
    return logits, expert_labels(roll_in, inputs, model.cfg.max_insertions), inputs


class TestLevenshteinEditor(ModelContract):
    @pytest.fixture(params=CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
    def system(self, request) -> System:
        task = tiny.task(joined=request.param.get("share_all_embeddings", False))

        def answers(model, sample):
            logits, labels, _ = trained(model, sample)
            return {head: (logits[head], labels[head]) for head in HEADS}

        return System(
            task=task,
            build=lambda seed: tiny.model(task, seed, **request.param),
            sample=lambda rows, **options: tiny.training_batch(task, rows, **options),
            answers=answers,
            classes={"deletion": 2, "placeholder": 6, "token": len(task.target_dictionary)},
        )


# the three heads ------------------------------------------------------------------------------


def states(task: Any, model: LevenshteinEditorModel) -> tuple[Tensor, Any]:
    """Drafts of :data:`ROWS` and the memory of their sources."""
    sample = tiny.batch(task, ROWS)
    return sample["draft"], model.encode(sample["net_input"]["src_tokens"])


def test_a_slot_is_classified_by_its_neighbours_and_a_token_by_the_embedding_it_is_read_with():
    # Eq. 4: softmax(concat(h_i, h_i+1) · Bᵀ)
    task, model = sharp()
    tokens, memory = states(task, model)
    features = model.features(tokens, memory, "placeholder")
    both = torch.cat([features[:, :-1], features[:, 1:]], dim=2)
    expected = both @ model.placeholder_head.weight.T
    assert_near(model.placeholder_logits(tokens, memory), expected)
    # Eq. 5
    features = model.features(tokens, memory, "token").flatten(0, 1)
    everywhere = torch.ones_like(tokens, dtype=torch.bool)
    expected = features @ model.decoder_embed.weight.T
    assert_near(model.token_logits(tokens, memory, everywhere), expected)


def test_the_pointer_adds_where_it_looks_to_the_logits_of_the_sources_tokens():
    # o_v = e_v · h + λ(h) Σ_s a_s [x_s = v], a = softmax_s(q(h) · k(m_s) / √C)
    task, model = make(share_all_embeddings=True, source_pointer=True)
    tiny.sharpen(model, 2.0).eval()
    sample = tiny.batch(task, ROWS, left=True)
    source, tokens = sample["net_input"]["src_tokens"], sample["draft"]
    memory, where = model.encode(source), tokens.gt(2)
    h = model.features(tokens, memory, "token")
    found = iter(model.token_logits(tokens, memory, where))
    pointer, dim = model.pointer, h.size(2)
    for row, column in where.nonzero().tolist():
        one, real = h[row, column], source[row].ne(1)
        looks = pointer.key(memory.states[row, real]) @ pointer.query(one) / dim**0.5
        expected = model.output_weight() @ one
        for token, share in zip(source[row, real], looks.softmax(0), strict=True):
            expected[token] += pointer.scale(one)[0] * share
        assert_near(next(found), expected)


LABELS = {  # target, draft → d*, p*, t*; of several minimal scripts the leftmost
    ("abcdefgh", "abdgh"): ([0] * 5, [0, 0, 1, 2, 0, 0], "cef"),
    ("cafe", "cafebabe"): ([0, 0, 0, 0, 1, 1, 1, 1], [0] * 5, ""),
    ("", "gaga"): ([1] * 4, [0], ""),
    ("abcdefgh", "h"): ([0], [3, 0], "abcdefg"),  # K_max is 3
}


def test_labels_are_the_experts():
    task, model = sharp(max_insertions=3)
    for (target, draft), (deletions, counts, missing) in LABELS.items():
        sample = tiny.training_batch(task, [tiny.Triple("a", target, draft)], alpha=1.0, beta=1.0)
        _, labels, _ = trained(model, sample)
        assert labels["deletion"].tolist() == deletions, draft
        assert labels["placeholder"].tolist() == counts
        assert "".join(task.tgt_dict[i] for i in labels["token"].tolist()) == missing


def test_deletion_learns_from_what_the_model_itself_would_insert():
    # α = 0 on pairs: y_del is y* with the model's argmax at every gap
    task, model = sharp()
    sample = tiny.training_batch(task, ROWS, alpha=0.0, drafted=False)
    roll_in, source = sample["roll_in"], sample["net_input"]["src_tokens"]
    answers, labels, inputs = trained(model, sample)
    logits = answers["token"].detach().clone()
    logits[:, [0, 1, 2, task.placeholder]] = float("-inf")
    tokens = roll_in.insertion.after.masked_scatter(roll_in.insertion.missing, logits.argmax(1))
    inner = tokens.gt(2)
    expected = model.deletion_logits(tokens, model.encode(source))[inner]
    assert_near(answers["deletion"], expected)
    right = tokens.eq(sample["target"])[inner]
    assert torch.equal(inputs, tokens)
    assert 0 < int(labels["deletion"].sum()) <= int((~right).sum())


# sharing and early exit -----------------------------------------------------------------------


def blocks_run(model: LevenshteinEditorModel, task: Any, head: str) -> list[TransformerBlock]:
    """The decoder blocks that one pass for a head goes through, in order."""
    run: list[TransformerBlock] = []
    blocks = [module for module in model.decoder.modules() if isinstance(module, TransformerBlock)]
    handles = [block.register_forward_hook(lambda one, *_: run.append(one)) for block in blocks]
    tokens, memory = states(task, model)
    if head == "token":
        model.token_logits(tokens, memory, tokens.eq(5))
    else:
        getattr(model, f"{head}_logits")(tokens, memory)
    for handle in handles:
        handle.remove()
    return run


SHARED = {
    "all": [("deletion", "placeholder"), ("deletion", "token"), ("placeholder", "token")],
    "plh-tok": [("placeholder", "token")],
    "tok-del": [("deletion", "token")],
    "plh-del": [("deletion", "placeholder")],
    "none": [],
}


@pytest.mark.parametrize(
    ("sharing", "early_exit"), [*zip(SHARED, ["", "1,3", "3,1", "2,2", "1,2"]), ("all", "3,1")]
)
def test_heads_run_to_their_exits_through_the_blocks_they_share_and_no_others(sharing, early_exit):
    task, model = make(weight_sharing=sharing, early_exit=early_exit, decoder_layers=3)
    run = {head: blocks_run(model, task, head) for head in HEADS}
    deletion, placeholder = map(int, early_exit.split(",")) if early_exit else (3, 3)
    assert list(map(len, run.values())) == [deletion, placeholder, 3]
    for pair in itertools.combinations(HEADS, 2):
        first, second = run[pair[0]], run[pair[1]]
        if pair in SHARED[sharing]:
            assert all(a is b for a, b in zip(first, second, strict=False))
        else:
            assert not set(map(id, first)) & set(map(id, second))
    used = {id(block) for blocks in run.values() for block in blocks}
    there = [one for one in model.decoder.modules() if isinstance(one, TransformerBlock)]
    assert used == set(map(id, there)), "no block exists that no head runs through"


@pytest.mark.parametrize(("pre_norm", "depth"), [(True, 1), (False, 2)])
def test_an_early_exit_is_a_model_cut_off_there(pre_norm, depth):
    norm = PRE_NORM if pre_norm else {}
    task, model = sharp(decoder_layers=3, early_exit=f"{depth},{depth}", **norm)
    _, cut = make(seed=2, decoder_layers=depth, **norm)
    parameters = model.state_dict()
    cut.load_state_dict({name: parameters[name] for name in cut.state_dict()})
    cut.eval()
    tokens, memory = states(task, model)
    other = states(task, cut)[1]
    for logits in ("deletion_logits", "placeholder_logits"):
        expected = getattr(cut, logits)(tokens, other)
        assert_near(getattr(model, logits)(tokens, memory), expected)
    deeper = model.features(tokens, memory, "token")
    assert not torch.allclose(deeper, cut.features(tokens, other, "token"), atol=1e-2)


# tables, and what placeholders copy from the source ---------------------------------------------


def test_tables_are_shared_as_asked():
    for options, tables in (
        ({"share_all_embeddings": True}, 1),
        ({}, 2),
        ({"separate_output_embed": True}, 3),
    ):
        task, model = make(**options)
        shape = model.decoder_embed.weight.shape
        found = [p for p in model.parameters() if p.shape == shape]
        assert len(found) == tables
    tokens, memory = states(task, model)
    model.token_logits(tokens, memory, tokens.eq(5)).sum().backward()
    assert sum(p.grad is not None and bool(p.grad[3:].all()) for p in found) == 1


@pytest.mark.parametrize("left", [True, False])
def test_a_placeholder_is_read_beside_the_sources_state_at_its_relative_place(left):
    task, model = sharp()
    rows = {"abcdefgh": "a?c??", "": "???", "e": "ab"}
    triples = [tiny.Triple(one, "", "") for one in rows]
    sample = tiny.batch(task, triples, left=left, extra=2)
    symbols = task.target_dictionary
    holes = [tiny.sentence(one, symbols, task.placeholder) for one in rows.values()]
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


def test_only_the_token_head_copies_and_only_if_it_is_asked_to():
    task, copying = sharp()
    plain = sharp(source_copy="none")[1]
    tokens, memory = states(task, copying)
    where = tokens.eq(5)
    holes = tokens.masked_fill(where, task.placeholder)

    def answers(model: LevenshteinEditorModel, tokens: Tensor) -> list[Tensor]:
        heads = (model.deletion_logits, model.placeholder_logits)
        written = model.token_logits(tokens, memory, where)
        return [written, *(head(tokens, memory) for head in heads)]

    with_holes = list(zip(answers(copying, holes), answers(plain, holes), strict=True))
    assert [torch.equal(one, other) for one, other in with_holes] == [False, True, True]
    without = zip(answers(copying, tokens), answers(plain, tokens), strict=True)
    assert all(torch.equal(one, other) for one, other in without)


@pytest.mark.parametrize("marked", [True, False], ids=["ours", "stock"])
def test_parameters_that_have_learned_without_copying_are_read_without_it(marked):
    task, old = sharp(source_copy="none")
    parameters = old.state_dict()
    if not marked:
        del parameters["source_copy"]
    new, again = (tiny.model(task, seed).eval() for seed in (3, 2))
    new.load_state_dict(parameters)
    again.load_state_dict(new.state_dict())
    sample = tiny.training_batch(task, ROWS)
    answers = [trained(model, sample)[0] for model in (old, new, again)]
    for other in answers[1:]:
        assert all(torch.equal(answers[0][head], other[head]) for head in HEADS)


# passes that Algorithm 2 does not need --------------------------------------------------------

SENTENCES = ["abcde", "a", "", "hgfedcba", "aabb"]


@given(
    kept=st.lists(st.lists(st.booleans(), min_size=10, max_size=10), min_size=5, max_size=5),
    chosen=st.permutations(range(5)).flatmap(lambda p: st.integers(1, 5).map(lambda n: p[:n])),
)
def test_features_of_untouched_sentences_serve_both_heads(kept, chosen):
    task, model = sharp()
    model.double()
    batch = tiny.batch(task, [tiny.Triple(one[::-1], one, one) for one in SENTENCES])
    source, tokens = batch["net_input"]["src_tokens"], batch["draft"]
    memory = model.with_features(tokens, model.encode(source))
    # some sentences are finished, some tokens of the others go
    rows = torch.tensor(chosen)
    memory, tokens = memory.select(rows), tokens[rows]
    keep = torch.tensor(kept)[rows][:, : tokens.size(1)] & tokens.ne(model.pad)
    keep |= tokens.eq(model.bos) | tokens.eq(model.eos)
    after = Compaction(keep)(tokens, model.pad)
    found = model.placeholder_logits(after, memory)
    backwards = torch.arange(len(rows)).flip(0)
    turned = model.placeholder_logits(after[backwards], memory.select(backwards))
    anew = model.placeholder_logits(after, model.with_features(after, memory))
    wanted = model.placeholder_logits(after, model.encode(source[rows]))
    slots = after[:, 1:].ne(model.pad)
    for one in (found, turned[backwards], anew):
        torch.testing.assert_close(one[slots], wanted[slots], rtol=0, atol=1e-10)


class Forgetful(EditPolicy):
    """A policy that computes anew whatever it is asked."""

    def __init__(self, model: LevenshteinEditorModel) -> None:
        self.encode, self.max_positions = model.encode, model.max_positions
        self.deletion_logits, self.token_logits = model.deletion_logits, model.token_logits
        self.placeholder_logits = model.placeholder_logits


@pytest.mark.parametrize(
    ("policies", "options"),
    [(1, {}), (2, {}), (1, {"weight_sharing": "none"}), (1, {"early_exit": "2,1"})],
    ids=str,
)
def test_outputs_are_those_of_a_policy_that_remembers_nothing(policies, options):
    task = tiny.task()
    rows = tiny.triples(9, longest=12)
    limits = Namespace(max_len_a=0, max_len_b=20, iter_decode_max_iter=6)
    deleted = 0
    for seed in range(3, 11, policies):
        chosen = [sharp(seed + n, **options)[1].double() for n in range(policies)]
        generator = task.build_generator(chosen, limits)
        found, expected = (
            [one for (one,) in generator.generate(some, tiny.batch(task, rows))]
            for some in (chosen, list(map(Forgetful, chosen)))
        )
        deleted += sum(bool(one["actions"]) and one["steps"] > 1 for one in found)
        for one, other in zip(found, expected, strict=True):
            assert torch.equal(one["tokens"], other["tokens"]) and one["steps"] == other["steps"]
            torch.testing.assert_close(one["positional_scores"], other["positional_scores"])
    assert deleted > 5


# limits and refusals --------------------------------------------------------------------------


def test_generation_never_outgrows_the_positions_and_the_longest_sequences_fit():
    task, model = sharp(max_source_positions=9, max_target_positions=7)
    with torch.no_grad():  # always wants five more in every slot
        model.placeholder_head.weight.zero_()
        model.placeholder_head.weight[5, :] = 1e-3
        model.deletion_head.weight.zero_()  # and keeps what stands, whatever was sampled
    system = System(task, None, None, None, {})
    generator = system.generator(model, max_len_b=200, iter_decode_eos_penalty=3.0)
    longest = tiny.batch(task, [tiny.Triple("abcdefg", "", "")], drafted=False)
    (hypothesis,) = generator.generate([model], longest)[0]
    assert len(hypothesis["tokens"]) == 7


@pytest.mark.parametrize(
    "options, flags",
    [
        ({"decoder_embed_dim": 16}, "--encoder-embed-dim 8 and --decoder-embed-dim 16"),
        ({"encoder_attention_heads": 3}, "3 does not divide --encoder-embed-dim 8"),
        ({"decoder_attention_heads": 0}, "--decoder-attention-heads 0"),
        ({"share_all_embeddings": True, "separate_output_embed": True}, "--separate-output-embed"),
        ({"source_pointer": True}, "--share-all-embeddings"),
        *(({"early_exit": e}, f"--early-exit {e}") for e in ("0,2", "2", "a,b", "2,3", "2,2,1")),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(options, flags):
    with refuses(flags):
        make(**options)


def test_what_does_not_fit_the_task_is_named_with_the_way_out():
    with refuses("--task translation_edit"):
        LevenshteinEditorModel.build_model(LevenshteinEditorConfig(), object())
    task = tiny.task()
    task.src_dict.add_symbol("only here")
    with refuses("--joined-dictionary"):
        tiny.model(task, share_all_embeddings=True)
