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
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from refusals import refuses
from torch import Tensor

from lev_plugins.nn import TransformerBlock
from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
from lev_plugins.systems.levenshtein.config import exit_depths
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


def sharp(**options: Any) -> tuple[Any, LevenshteinEditorModel]:
    task, model = make(**options)
    return task, tiny.sharpen(model).eval()


class TestLevenshteinEditor(ModelContract):
    @pytest.fixture(params=CONFIGURATIONS.values(), ids=CONFIGURATIONS.keys())
    def system(self, request) -> System:
        task = tiny.task(joined=request.param.get("share_all_embeddings", False))

        def answers(model, sample):
            source, roll_in = sample["net_input"], sample["roll_in"]
            logits, inputs = model(source["src_tokens"], source["src_lengths"], roll_in)
            labels = expert_labels(roll_in, inputs, model.cfg.max_insertions)
            return {head: (logits[head], labels[head]) for head in HEADS}

        return System(
            task=task,
            build=lambda seed: tiny.model(task, seed, **request.param),
            sample=lambda rows, **options: tiny.training_batch(task, rows, **options),
            answers=answers,
        )


# the three heads ------------------------------------------------------------------------------


def states(task: Any, model: LevenshteinEditorModel) -> tuple[Tensor, Any]:
    """Drafts of :data:`ROWS` and the memory of their sources."""
    sample = tiny.batch(task, ROWS)
    return sample["draft"], model.encode(sample["net_input"]["src_tokens"])


def test_a_slot_is_classified_by_the_tokens_on_either_side():
    # Eq. 4: softmax(concat(h_i, h_i+1) · Bᵀ)
    task, model = sharp()
    tokens, memory = states(task, model)
    features = model.features(tokens, memory, "placeholder")
    both = torch.cat([features[:, :-1], features[:, 1:]], dim=2)
    expected = both @ model.placeholder_head.weight.T
    assert_near(model.placeholder_logits(tokens, memory), expected)


def test_tokens_are_classified_by_the_embedding_they_are_read_with():
    task, model = sharp()
    tokens, memory = states(task, model)
    everywhere = torch.ones_like(tokens, dtype=torch.bool)
    features = model.features(tokens, memory, "token").flatten(0, 1)
    expected = features @ model.decoder_embed.weight.T
    assert_near(model.token_logits(tokens, memory, everywhere), expected)


DRAFTED = [row for row in ROWS if row.draft]


def test_training_asks_each_head_what_decoding_asks_it():
    task, model = sharp()
    sample = tiny.training_batch(task, DRAFTED, alpha=1.0)  # so that y_del is the draft
    insertion, source = sample["roll_in"].insertion, sample["net_input"]["src_tokens"]
    (answers, _), memory = model(source, None, sample["roll_in"]), model.encode(source)
    expected = {
        "placeholder": model.placeholder_logits(insertion.before, memory)[insertion.slots],
        "token": model.token_logits(insertion.after, memory, insertion.missing),
        "deletion": model.deletion_logits(sample["draft"], memory)[sample["draft"].gt(2)],
    }
    for head, logits in expected.items():
        assert_near(answers[head], logits)


def labels_of(model: LevenshteinEditorModel, sample: dict[str, Any]) -> dict[str, Tensor]:
    """The expert's labels for what the model reads in training."""
    roll_in = sample["roll_in"]
    _, inputs = model(sample["net_input"]["src_tokens"], None, roll_in)
    return expert_labels(roll_in, inputs, model.cfg.max_insertions)


def test_labels_are_the_experts():
    task, model = sharp()
    sample = tiny.training_batch(task, DRAFTED, alpha=1.0, beta=1.0)
    labels = labels_of(model, sample)
    deletions, insertions, written = [], [], ""
    for row in DRAFTED:
        gone, counts, missing = edits(row.draft, row.target)
        deletions += gone
        insertions += counts
        written += missing
    symbols = task.target_dictionary
    assert labels["deletion"].tolist() == deletions
    assert labels["placeholder"].tolist() == [min(count, 5) for count in insertions]
    assert "".join(symbols[i] for i in labels["token"].tolist()) == written


def edits(draft: str, target: str) -> tuple[list[int], list[int], str]:
    """A minimal script of a pair, by trying every subset of the draft; the leftmost of several."""
    for size in range(len(draft), -1, -1):
        for kept in itertools.combinations(range(len(draft)), size):
            places, start = [], 0
            for letter in (draft[i] for i in kept):
                place = target.find(letter, start)
                places.append(place)
                start = place + 1 if place >= 0 else len(target) + 1
            if -1 not in places:
                bounds = [-1, *places, len(target)]
                counts = [b - a - 1 for a, b in itertools.pairwise(bounds)]
                missing = "".join(c for i, c in enumerate(target) if i not in places)
                return [int(i not in kept) for i in range(len(draft))], counts, missing
    raise AssertionError("the empty subset always fits")


def test_deletion_learns_from_what_the_model_itself_would_insert():
    # α = 0 on pairs: y_del is y* with the model's argmax at every gap
    task, model = sharp()
    sample = tiny.training_batch(task, ROWS, alpha=0.0, drafted=False)
    roll_in, source = sample["roll_in"], sample["net_input"]["src_tokens"]
    answers, inputs = model(source, None, roll_in)
    logits = answers["token"].detach().clone()
    logits[:, [0, 1, 2, task.placeholder]] = float("-inf")
    tokens = roll_in.insertion.after.masked_scatter(roll_in.insertion.missing, logits.argmax(1))
    inner = tokens.gt(2)
    expected = model.deletion_logits(tokens, model.encode(source))[inner]
    assert_near(answers["deletion"], expected)
    right = tokens.eq(sample["target"])[inner]
    assert torch.equal(inputs, tokens)
    assert 0 < int(labels_of(model, sample)["deletion"].sum()) <= int((~right).sum())


def test_more_missing_tokens_than_k_max_are_labelled_k_max():
    task, model = sharp(max_insertions=3)
    rows = [tiny.Triple("a", "abcdefgh", "h")]
    sample = tiny.training_batch(task, rows, beta=1.0)
    assert sample["roll_in"].insertion.counts.tolist() == [[7, 0]]
    labels = labels_of(model, sample)
    assert labels["placeholder"].tolist() == [3, 0]
    assert labels["token"].numel() == 7


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


@pytest.mark.parametrize("text", ["7,3", "0,3", "3", "a,b", "3,3,5", "3,3,6,6"])
def test_an_exit_that_the_decoder_does_not_have_is_refused(text):
    with refuses(match=f"--early-exit {text}"):
        exit_depths(LevenshteinEditorConfig(early_exit=text))


# embeddings and initial parameters ------------------------------------------------------------


def test_tables_are_shared_as_asked():
    for options, tables in (({"share_all_embeddings": True}, 1), ({}, 2)):
        _, model = make(**options)
        shape = model.decoder_embed.weight.shape
        assert sum(p.shape == shape for p in model.parameters()) == tables
    task, model = make(separate_output_embed=True)
    tokens, memory = states(task, model)
    model.token_logits(tokens, memory, tokens.eq(5)).sum().backward()
    tables = [p for p in model.parameters() if p.shape == (len(task.target_dictionary), 8)]
    assert len(tables) == 3
    assert sum(p.grad is not None and bool(p.grad[3:].all()) for p in tables) == 1


def test_padding_embeds_to_nothing():
    for options in ({}, {"apply_bert_init": True}, {"share_all_embeddings": True}):
        task, model = make(**options)
        pad = task.target_dictionary.pad()
        assert not model.decoder_embed.weight[pad].any()
        assert not model.encoder_embed.weight[pad].any()


def test_bert_initialisation_draws_the_decoder_narrowly():
    _, model = make(apply_bert_init=True, decoder_ffn_embed_dim=64, max_insertions=60)
    initialised = [p for p in model.decoder.parameters() if p.dim() > 1]
    initialised += [model.placeholder_head.weight, model.decoder_embed.weight]
    values = torch.cat([p.detach().flatten() for p in initialised])
    assert 0.018 < float(values.std()) < 0.022
    biases = [p for name, p in model.decoder.named_parameters() if name.endswith("bias")]
    assert not any(bias.any() for bias in biases)


# what placeholders copy from the source -------------------------------------------------------


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
    answers = [
        model(sample["net_input"]["src_tokens"], None, sample["roll_in"])[0]
        for model in (old, new, again)
    ]
    for other in answers[1:]:
        assert all(torch.equal(answers[0][head], other[head]) for head in HEADS)


# limits, sizes and refusals -------------------------------------------------------------------


def test_the_longest_sequences_fit():
    task, model = make(max_source_positions=9, max_target_positions=7)
    assert model.max_positions() == (9, 7)
    memory = model.encode(torch.tensor([[0, *[4] * 7, 2]]))
    assert model.deletion_logits(torch.tensor([[0, *[4] * 5, 2]]), memory).shape == (1, 7, 2)


def test_generation_never_outgrows_the_positions():
    task, model = sharp(max_target_positions=7)
    with torch.no_grad():  # always wants five more in every slot
        model.placeholder_head.weight.zero_()
        model.placeholder_head.weight[5, :] = 1e-3
        model.deletion_head.weight.zero_()  # and keeps what stands, whatever was sampled
    system = System(task, None, None, None)
    generator = system.generator(model, max_len_b=200, iter_decode_eos_penalty=3.0)
    (hypothesis,) = generator.generate([model], tiny.batch(task, ROWS[:1], drafted=False))[0]
    assert len(hypothesis["tokens"]) == 7


@pytest.mark.parametrize(
    "options, flags",
    [
        ({"decoder_embed_dim": 16}, "--encoder-embed-dim 8 and --decoder-embed-dim 16"),
        ({"encoder_attention_heads": 3}, "3 does not divide --encoder-embed-dim 8"),
        ({"decoder_attention_heads": 0}, "--decoder-attention-heads 0"),
        ({"max_insertions": 0}, "--max-insertions 0"),
        ({"share_all_embeddings": True, "separate_output_embed": True}, "--separate-output-embed"),
        ({"early_exit": "5,5"}, "--early-exit 5,5 does not fit --decoder-layers 2"),
    ],
)
def test_options_that_do_not_fit_are_refused_in_one_line(options, flags):
    with refuses(match=flags):
        make(**options)


ARCHITECTURES = {  # blocks, width, hidden width, heads, pre-norm
    "levenshtein_editor": (6, 512, 2048, 8, False),
    "levenshtein_editor_small": (3, 256, 1024, 4, True),
    "levenshtein_editor_char": (2, 128, 512, 4, True),
}
FIELDS = ("layers", "embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before")


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures_have_their_sizes(name, side):
    assert ARCH_MODEL_REGISTRY[name] is LevenshteinEditorModel
    args, default = Namespace(), LevenshteinEditorConfig()
    ARCH_CONFIG_REGISTRY[name](args)
    found = tuple(
        getattr(args, f"{side}_{field}", getattr(default, f"{side}_{field}")) for field in FIELDS
    )
    assert found == ARCHITECTURES[name]


def test_what_does_not_fit_the_task_is_named_with_the_way_out():
    with refuses("--task translation_edit"):
        LevenshteinEditorModel.build_model(LevenshteinEditorConfig(), object())
    task = tiny.task()
    task.src_dict.add_symbol("only here")
    with refuses("--joined-dictionary"):
        tiny.model(task, share_all_embeddings=True)
