"""LevT: the contract of every model in several configurations, and what is particular to it."""

import math
from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from contract import ROWS, ModelContract, System
from refusals import refuses

from lev_plugins.systems.levenshtein import LevenshteinEditorConfig, LevenshteinEditorModel
from lev_plugins.systems.levenshtein.expert import deletion_state
from lev_plugins.systems.levenshtein.model import source_at_placeholders
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_runtime.policy import EditPolicy

pytestmark = [pytest.mark.device, pytest.mark.kernels]

HEADS = ("deletion", "placeholder", "token")
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
    "nothing shared": {
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


def trained(model: LevenshteinEditorModel, sample: dict[str, Any]) -> tuple:
    """Each head's logits, their labels, and y_del."""
    source, states = sample["net_input"], sample["states"]
    answers = model(source["src_tokens"], source["src_lengths"], states)
    logits, labels = ({head: answers[head][side] for head in answers} for side in (0, 1))
    y_del = deletion_state(states, answers["token"][0], model.forbidden_symbols)
    return logits, labels, y_del


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
        )


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
    expert, source = sample["states"], sample["net_input"]["src_tokens"]
    answers, labels, inputs = trained(model, sample)
    logits = answers["token"].detach().clone()
    logits[:, [0, 1, 2, task.placeholder]] = float("-inf")
    tokens = expert.insertion.after.masked_scatter(expert.insertion.missing, logits.argmax(1))
    inner = tokens.gt(2)
    expected = tiny.logits(model, "deletion", tokens, model.encode(source))[inner]
    assert_near(answers["deletion"], expected)
    right = tokens.eq(sample["target"])[inner]
    assert torch.equal(inputs, tokens)
    assert 0 < int(labels["deletion"].sum()) <= int((~right).sum())


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
    answers = [trained(model, sample)[0] for model in (old, new, again)]
    for other in answers[1:]:
        assert all(torch.equal(answers[0][head], other[head]) for head in HEADS)


# passes that Algorithm 2 does not need --------------------------------------------------------


class Plain(EditPolicy):
    """A model without what only makes it faster."""

    def __init__(self, model: LevenshteinEditorModel) -> None:
        self.arrays, self.traces = model.arrays, model.traces
        self.encode, self.logits = model.encode, model.logits
        self.max_positions = model.max_positions


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
        (1, {}, {}),
        (2, {}, {}),
        (1, {"weight_sharing": "none"}, {}),
        (1, {"early_exit": "2,1"}, CANDIDATES),
        (1, {"deletion_trace": True, **JOINED, "source_pointer": True}, {}),
    ],
    ids=str,
)
def test_outputs_are_those_of_a_policy_that_reuses_nothing(policies, options, flags):
    rows = tiny.triples(9, longest=12)
    deleted = 0
    for seed in range(3, 11, policies):
        tasks, chosen = zip(*(sharp(seed + n, **options) for n in range(policies)))
        chosen = [model.double() for model in chosen]
        generator = tasks[0].build_generator(chosen, Namespace(**LOOP, **flags))
        actual, expected = (
            [hypothesis for nbest in generator.generate(models, sample) for hypothesis in nbest]
            for sample in [tiny.batch(tasks[0], rows)]
            for models in (chosen, list(map(Plain, chosen)))
        )
        deleted += sum(
            bool(hypothesis["actions"]) and hypothesis["steps"] > 1 for hypothesis in actual
        )
        assert_same(actual, expected)
    assert deleted > 5


def passes(hypothesis: dict[str, Any]) -> int:
    """How many a sentence needs whose heads share their decoder, by what became of it."""
    _, *steps = hypothesis["history"]
    edits = [
        (len(delete["mask"]), not delete["mask"].all(), token["mask"].any())
        for delete, token in zip(steps[::3], steps[2::3], strict=True)
    ]
    if hypothesis["terminated"] != "max_iterations":
        edits.append((len(hypothesis["tokens"]), False, False))
    count, is_known = 0, False
    for size, deletes, inserts in edits:
        if not is_known and size > 2:  # nothing of <s> and </s> is deleted
            count, is_known = count + 1, True
        count += deletes or not is_known
        count += inserts
        is_known = not inserts
    return count


def test_no_sentence_is_read_twice(monkeypatch):
    counted, only_deleted = 0, 0
    for seed in range(3, 9):
        task, model = sharp(seed)
        read: list[int] = []
        decode = model.decode

        def counting(tokens, *others, decode=decode, read=read):
            read.append(len(tokens))
            return decode(tokens, *others)

        monkeypatch.setattr(model, "decode", counting)
        generator = task.build_generator([model], Namespace(**LOOP))
        for row in tiny.triples(9, longest=12):
            read.clear()
            ((hypothesis,),) = generator.generate([model], tiny.batch(task, [row]))
            if hypothesis["terminated"] != "loop":
                counted += 1
                last = hypothesis["history"][-1]
                only_deleted += last["phase"] == "token" and not last["mask"].any()
                assert sum(read) == passes(hypothesis)
    assert counted > 20 and only_deleted > 5


def test_in_a_batch_sentences_with_nothing_to_write_are_not_read_for_it(monkeypatch):
    task, model = sharp(4)
    read: list[tuple[str, int]] = []
    decode = model.decode

    def counting(tokens, memory, head, deleted=None):
        read.append((head, len(tokens)))
        return decode(tokens, memory, head, deleted)

    monkeypatch.setattr(model, "decode", counting)
    generator = task.build_generator([model], Namespace(**LOOP))
    hypotheses = generator.generate([model], tiny.batch(task, tiny.triples(9, longest=12)))
    written = sum(
        bool(step["mask"].any())
        for (hypothesis,) in hypotheses
        for step in hypothesis["history"]
        if step["phase"] == "token"
    )
    assert sum(rows for head, rows in read if head == "token") == written


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
