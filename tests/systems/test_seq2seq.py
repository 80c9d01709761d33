"""What every system that writes from left to right has to keep to: one contract for all of them.

Beside that of every model (``contract.py``): steps, fewer bits, beam search, limits, dropout,
options that contradict each other; and that without its ideas each is fairseq's Transformer.
"""

import copy
import itertools
import re
from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from closeness import assert_near
from contract import ModelContract
from fairseq.models.transformer import TransformerModel, base_architecture
from seq2seq_models import CONCAT, GATED, PBD, SIZES, Seq2Seq, task
from tiny import Triple

from lev_plugins.nn.precision import prepare_for_decoding
from lev_runtime.errors import UserError

# said by torch about fairseq
pytestmark = [
    pytest.mark.device,
    pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning"),
]
SYSTEMS = {"pbd": PBD, "gated": GATED, "concat": CONCAT}
each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS.keys())


def under_contract() -> list[Any]:
    """Returns each kind of each system; with other kernels the first of each is run."""
    return [
        pytest.param(
            system.under(**options),
            id=f"{name}, {kind}",
            marks=[] if number else [pytest.mark.kernels],
        )
        for name, system in SYSTEMS.items()
        for number, (kind, options) in enumerate(system.kinds.items())
    ]


class TestSeq2Seq(ModelContract):
    @pytest.fixture(params=under_contract())
    def system(self, request):
        return request.param

    def test_what_is_written_token_by_token_is_what_is_said_of_the_whole(self, system):
        model, writer = system.model(), system.task
        expected = writer.answers(model, system.rows)
        for layout in ({}, *system.layouts):
            logits = writer.answers(model, system.rows, stepwise=True, **layout)
            system.same(logits, expected)


# fewer bits -----------------------------------------------------------------------------------


# wide enough for their layers to be worth the rounding
WIDE = {"encoder_embed_dim": 64, "encoder_ffn_embed_dim": 128, "encoder_attention_heads": 4}


@pytest.mark.kernels
@pytest.mark.parametrize("system", [PBD, GATED], ids=["pbd", "gated"])
def test_with_fewer_bits_it_is_close_to_itself(system: Seq2Seq):
    model = system.build(factor=1.0, **WIDE)
    less = copy.deepcopy(model)
    prepare_for_decoding([less], "bf16")
    full, reduced = (
        torch.cat(system.logits(net, system.rows[:4])).double() for net in (model, less)
    )
    seen = full > -50  # all but the symbols that cannot be written
    difference = (full - reduced)[seen].abs().max()
    assert 0 < difference < 0.3 * full[seen].std()


# beam search ----------------------------------------------------------------------------------


@pytest.mark.parametrize("system, learned", [(PBD, True), (GATED, False)], ids=["pbd", "gated"])
def test_sentences_of_the_longest_length_pass_and_longer_ones_are_named(system, learned):
    limits = {"max_source_positions": 9, "max_target_positions": 7}
    model = system.build(encoder_learned_pos=learned, **limits)
    assert model.max_positions() == (9, 7)
    longest = [Triple("a" * 8, "b" * 6, ""), Triple("c", "", "")]
    system.same(system.answers(model, longest, stepwise=True), system.answers(model, longest))
    with pytest.raises(ValueError, match="a sequence of 10 tokens is longer than"):
        system.answers(model, [Triple("a" * 9, "", "")])
    (group,) = system.searched([model], longest[:1], max_len_b=99, min_len=6)
    assert {len(hypothesis["tokens"]) for hypothesis in group} == {7}


# options --------------------------------------------------------------------------------------


@each_system
def test_each_kind_of_dropout_is_at_work_in_training_alone(system: Seq2Seq):
    expected = system.logits(system.build(), system.rows)
    for name in ("dropout", "attention_dropout", "activation_dropout"):
        model = system.build(**{name: 0.5})
        system.same(system.logits(model, system.rows), expected)
        noisy = system.logits(model.train(), system.rows)
        for logits, other in zip(noisy, expected, strict=True):
            assert (logits - other).abs().max() > 1e-3, name


def test_a_checkpoint_holds_nothing_twice():
    for model in (PBD.build(), GATED.build(share_all_embeddings=True)):
        assert len(model.state_dict()) == len(list(model.parameters()))


HEADS = "--encoder-attention-heads"
# one table for two dictionaries
SHARED = {"share_all_embeddings": True, "two": True}
REFUSED = [
    (PBD, {"encoder_attention_heads": 3}, HEADS),
    (PBD, {"encoder_attention_heads": 0}, HEADS),
    (PBD, {"decoder_layers": 3}, "--no-future-modelling"),
    (PBD, {"decoder_layers": 1, "no_parameter_sharing": True}, "--decoder-layers"),
    (PBD, {"decoder_layers": 1, "no_future_modelling": True}, "--no-parameter-sharing"),
    (PBD, SHARED, "--no-parameter-sharing"),
    (PBD, {"no_parameter_sharing": True, **SHARED}, "--share-all-embeddings"),
    *((GATED, {"gates": gates}, "--gates") for gates in ("mask,delete", "none,copy")),
    (GATED, {"gates": "mask,copy,skip"}, "--gate-variant"),
    (GATED, SHARED, "--share-all-embeddings"),
    (CONCAT, {"decoder_attention_heads": 0}, "--decoder-attention-heads"),
    (CONCAT, SHARED, "--joined-dictionary"),
    (PBD, {"keeps": True}, "--retain-dropout"),
]


@pytest.mark.parametrize("system, values, named", REFUSED)
def test_options_that_contradict_each_other_are_refused_by_name(system: Seq2Seq, values, named):
    options = dict(values)
    target = tiny.dictionary("xyz") if options.pop("two", False) else None
    keeps = Namespace(generation=Namespace(retain_dropout=options.pop("keeps", False)))
    with pytest.raises(UserError, match=named):
        system.new(target=target, **options).prepare_for_inference_(keeps)


# fairseq's own Transformer --------------------------------------------------------------------

# without a future there are no segments to tell apart
NO_IDEAS = {"no_parameter_sharing": True, "no_future_modelling": True}
PLAIN = {"pbd": (PBD, NO_IDEAS), "gated": (GATED, {"gates": "none"})}
OPTIONS = {
    "own tables, post-norm": {},
    "one table, learned, pre-norm": {
        "share_all_embeddings": True,
        "encoder_normalize_before": True,
        "encoder_learned_pos": True,
    },
    "one target table, deep decoder, gelu": {
        "share_decoder_input_output_embed": True,
        "decoder_layers": 3,
        "activation_fn": "gelu",
    },
}
#: fairseq's names of parameters → ours; several of one name are one tensor, one below the other
NAMES = {
    r"\boutput_projection": "output.table",
    r"embed_tokens": "embed.table",
    r"embed_positions": "embed.positions",
    r"coder\.layer_norm": "coder.norm",
    r"layers\.(\d+)\.encoder_attn_layer_norm": r"blocks.\1.cross_norm",
    r"layers\.(\d+)\.encoder_attn\.": r"blocks.\1.cross_attention.",
    r"decoder\.layers\.(\d+)": r"decoder.blocks.\1.block",
    r"layers\.": "blocks.",
    r"self_attn_layer_norm": "self_norm",
    r"final_layer_norm": "feed_norm",
    r"self_attn\.": "self_attention.",
    r"out_proj": "output",
    r"cross_attention\.q_proj": "cross_attention.query",
    r"[qkv]_proj": "inputs",
}


def stock(symbols, **values):
    """fairseq's Transformer with the options of ours; its decoder has its own."""
    ours = {"decoder_layers": 2, **SIZES, **values}
    theirs = {name.replace("encoder", "decoder"): tensor for name, tensor in ours.items()}
    args = Namespace(**theirs | ours)
    base_architecture(args)
    torch.manual_seed(4)
    return TransformerModel.build_model(args, task(symbols)).eval()


def converted(theirs, system):
    """The parameters of fairseq's Transformer under the names of ours."""
    renamed = {}
    state = dict(theirs.named_parameters(remove_duplicate=False))
    # so that of an attention the queries' come first, then the keys', then the values'
    for name in sorted(state, key=lambda name_: "qkv".find(name_.partition("_proj")[0][-1])):
        ours = name
        for old, new in NAMES.items():
            ours = re.sub(old, new, ours)
        if system is GATED:
            ours = ours.replace("encoder.blocks", "encoder.body.stack.blocks")
            ours = ours.replace("encoder.norm", "encoder.body.norm")
        before = [renamed[ours]] if ours in renamed else []
        renamed[ours] = torch.cat([*before, state[name].detach()])
    return renamed


@pytest.fixture(params=itertools.product(PLAIN, OPTIONS), ids=", ".join, scope="module")
def twins(request):
    """The system, fairseq's Transformer and ours, with the same parameters."""
    (system, plain), options = PLAIN[request.param[0]], OPTIONS[request.param[1]]
    theirs = stock(system.symbols, **options)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.2)
            elif parameter.dim() > 1:
                parameter.mul_(2.0)
    ours = system.new(**plain, **options).eval()
    ours.load_state_dict(converted(theirs, system), strict=True)
    count = [sum(p.numel() for p in model.parameters()) for model in (theirs, ours)]
    assert count[0] == count[1]
    return system, theirs, ours


@pytest.mark.kernels
@pytest.mark.parametrize("left", [True, False])
def test_without_its_ideas_it_is_fairseqs_transformer(twins, left):
    system, *models = twins
    inputs = system.sample(system.rows, left=left)
    real = inputs["target"].ne(system.symbols.pad())
    for training in (False, True):
        expected, actual = (
            model.train(training)(**inputs["net_input"])[0][real].detach() for model in models
        )
        assert_near(actual, expected)
        assert float(expected.std()) > 0.1
    for model in models:
        model.eval()
