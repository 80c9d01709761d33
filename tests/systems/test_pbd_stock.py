"""Without its ideas ``pbd_transformer`` is fairseq's Transformer; with them it is half as large."""

from argparse import Namespace

import pytest
import torch
from closeness import assert_near
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerModelBase
from fairseq.sequence_generator import SequenceGenerator
from pbd_models import PAD, ROWS, SIZES, SYMBOLS, batch, sample, task

from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.pbd.arch import pbd_transformer_big, pbd_transformer_char

pytestmark = [
    # said by torch about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
]
PLAIN = {
    "no_parameter_sharing": True,
    "no_future_modelling": True,
    "no_segment_embedding": True,
}
EMBEDDINGS = {
    "own tables": {},
    "one table": {"share_all_embeddings": True},
    "one target table": {"share_decoder_input_output_embed": True},
}


def stock(width=8, hidden=12, pre_norm=False, learned=False, **embeddings):
    """fairseq's own, of the same size."""
    side = {
        "embed_dim": width,
        "ffn_embed_dim": hidden,
        "layers": 2,
        "attention_heads": 2,
        "normalize_before": pre_norm,
        "learned_pos": learned,
    }
    values = {f"{name}_{key}": one for name in ("encoder", "decoder") for key, one in side.items()}
    cfg = Namespace(
        **values,
        **embeddings,
        decoder_input_dim=width,
        decoder_output_dim=width,
        dropout=0.0,
        max_source_positions=32,
        max_target_positions=32,
    )
    torch.manual_seed(4)
    return TransformerModelBase.build_model(TransformerConfig.from_namespace(cfg), task()).eval()


PARTS = {
    "fc1": "fc1",
    "fc2": "fc2",
    "self_attn_layer_norm": "self_norm",
    "encoder_attn_layer_norm": "cross_norm",
    "final_layer_norm": "feed_norm",
}


def layer_of(state, here, block, own, kind):
    """Weights or biases of a layer; in the decoder ``own`` is another place than ``block``."""
    made = {}
    for name, ours in PARTS.items():
        if f"{here}{name}.{kind}" in state:
            where = block if ours == "cross_norm" else own
            made[f"{where}{ours}.{kind}"] = state[f"{here}{name}.{kind}"]
    joined = [(f"{own}self_attention.inputs", "self_attn", ("q_proj", "k_proj", "v_proj"))]
    joined += [(f"{own}self_attention.output", "self_attn", ("out_proj",))]
    if own != block:
        joined += [(f"{block}cross_attention.query", "encoder_attn", ("q_proj",))]
        joined += [(f"{block}cross_attention.inputs", "encoder_attn", ("k_proj", "v_proj"))]
        joined += [(f"{block}cross_attention.output", "encoder_attn", ("out_proj",))]
    for name, part, parts in joined:
        made[f"{name}.{kind}"] = torch.cat([state[f"{here}{part}.{one}.{kind}"] for one in parts])
    return made


def converted(state):
    """fairseq's parameters under our names."""
    made = {}
    for side in ("encoder", "decoder"):
        for kind in ("weight", "bias"):
            if f"{side}.layer_norm.{kind}" in state:
                made[f"{side}.norm.{kind}"] = state[f"{side}.layer_norm.{kind}"]
        for table, ours in (("embed_tokens", "table"), ("embed_positions", "positions")):
            if f"{side}.{table}.weight" in state:
                made[f"{side}.embed.{ours}.weight"] = state[f"{side}.{table}.weight"]
        for layer in range(2):
            here = f"{side}.layers.{layer}."
            block = f"{side}.blocks.{layer}."
            own = block + ("block." if side == "decoder" else "")
            for kind in ("weight", "bias"):
                made |= layer_of(state, here, block, own, kind)
    made["decoder.output.table.weight"] = state["decoder.output_projection.weight"]
    return made


@pytest.fixture(params=EMBEDDINGS.values(), ids=EMBEDDINGS.keys())
def embeddings(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["pre-norm", "post-norm"])
def pair(request, embeddings):
    """fairseq's Transformer, and ours with its parameters; learned positions with pre-norm."""
    theirs = stock(pre_norm=request.param, learned=request.param, **embeddings)
    cfg = PBDTransformerConfig(
        **{**SIZES, **PLAIN, **embeddings},
        encoder_normalize_before=request.param,
        encoder_learned_pos=request.param,
    )
    ours = PBDTransformerModel.build_model(cfg, task()).eval()
    ours.load_state_dict(converted(theirs.state_dict()), strict=True)
    count = [sum(p.numel() for p in model.parameters()) for model in (theirs, ours)]
    assert count[0] == count[1]
    return theirs, ours


@pytest.mark.parametrize("left", [True, False])
def test_without_future_sharing_and_segments_it_is_fairseqs_transformer(pair, left):
    theirs, ours = pair
    source, before, target = batch(ROWS, left=left)
    real = target.ne(PAD)
    lengths = source.ne(PAD).sum(1)
    expected = theirs(source, lengths, before)[0]
    assert_near(ours(source, lengths, before)[0][real], expected[real])
    trained = [model.train()(source, lengths, before)[0][real] for model in pair]
    assert_near(trained[1], trained[0])


def test_beam_search_finds_what_it_finds_with_fairseqs(pair):
    found = [
        SequenceGenerator([model], SYMBOLS, beam_size=3, max_len_b=12).generate(
            [model], sample(ROWS)
        )
        for model in pair
    ]
    for one, other in zip(*found, strict=True):
        for theirs, ours in zip(one, other, strict=True):
            assert torch.equal(ours["tokens"], theirs["tokens"])
            assert_near(ours["positional_scores"], theirs["positional_scores"])
            assert_near(ours["attention"], theirs["attention"])


def test_tables_and_attention_are_sampled_as_fairseqs_are():
    """Feed-forward layers are not: theirs are torch's default since 0.10, ours Xavier's."""
    cfg = PBDTransformerConfig(
        **{**SIZES, **PLAIN, "encoder_embed_dim": 64, "encoder_ffn_embed_dim": 128},
        encoder_learned_pos=True,
    )
    ours = PBDTransformerModel.build_model(cfg, task())
    theirs = stock(64, 128, learned=True)
    expected = converted(theirs.state_dict())
    for name, value in ours.state_dict().items():
        if name.endswith("weight") and not name.endswith(("fc1.weight", "fc2.weight")):
            spread = expected[name].std().item()
            assert value.std().item() == pytest.approx(spread, rel=0.15), name


# numbers of parameters ------------------------------------------------------------------------


def parameters(arch, symbols, **values):
    """How many parameters a named size has, without initialising them."""
    dictionary = Dictionary()
    for number in range(symbols - dictionary.nspecial):
        dictionary.add_symbol(str(number))
    chosen = Namespace(**values)
    arch(chosen)
    cfg = PBDTransformerConfig(**vars(chosen), max_source_positions=1024, max_target_positions=1024)
    with torch.device("meta"):
        model = PBDTransformerModel.build_model(cfg, task(dictionary))
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_papers_numbers_of_parameters():
    """Table 1: 132M, 232M and 383M; of its 210M only 207M are there with 30,000 symbols."""
    apart = {"no_parameter_sharing": True, "share_all_embeddings": True}
    table = [
        ({}, 131_512_320),
        ({"encoder_layers": 12}, 232_304_640),
        (apart, 207_089_664),
        ({**apart, "encoder_layers": 12}, 383_459_328),
    ]
    for values, number in table:
        assert parameters(pbd_transformer_big, 30_000, **values) == number
    without = parameters(pbd_transformer_big, 30_000, no_segment_embedding=True)
    assert 131_512_320 - without == 6 * 2 * 1024, "two vectors for each block"


def test_sharing_leaves_a_little_more_than_half():
    values = {"share_all_embeddings": True, "no_parameter_sharing": True}
    one = parameters(pbd_transformer_char, 100)
    other = parameters(pbd_transformer_char, 100, **values)
    assert 0.55 < one / other < 0.65
