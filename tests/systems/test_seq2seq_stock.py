"""Without their ideas ``pbd_transformer`` and ``gated_transformer`` are fairseq's Transformer."""

import re
from argparse import Namespace

import pytest
import torch
from closeness import assert_near
from fairseq.models.transformer import TransformerModel, base_architecture
from seq2seq_models import GATED, PBD, SIZES, task

pytestmark = [
    pytest.mark.kernels,
    # said by torch about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
]
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
    merged = {"decoder_layers": 2, **SIZES, **values}
    for name in ("embed_dim", "ffn_embed_dim", "attention_heads", "normalize_before",
                 "learned_pos"):  # fmt: skip
        if f"encoder_{name}" in merged:
            merged[f"decoder_{name}"] = merged[f"encoder_{name}"]
    args = Namespace(**merged)
    base_architecture(args)
    torch.manual_seed(4)
    return TransformerModel.build_model(args, task(symbols)).eval()


def converted(theirs, system):
    """The parameters of fairseq's Transformer under the names of ours."""
    made = {}
    state = dict(theirs.named_parameters(remove_duplicate=False))
    # so that of an attention the queries' come first, then the keys', then the values'
    for name in sorted(state, key=lambda one: "qkv".find(one.partition("_proj")[0][-1])):
        ours = name
        for old, new in NAMES.items():
            ours = re.sub(old, new, ours)
        if system is GATED:
            ours = ours.replace("encoder.blocks", "encoder.body.stack.blocks")
            ours = ours.replace("encoder.norm", "encoder.body.norm")
        before = [made[ours]] if ours in made else []
        made[ours] = torch.cat([*before, state[name].detach()])
    return made


@pytest.fixture(params=OPTIONS.values(), ids=OPTIONS.keys(), scope="module")
def options(request):
    return request.param


@pytest.fixture(params=PLAIN.values(), ids=PLAIN.keys(), scope="module")
def twins(request, options):
    """The system, fairseq's Transformer and ours, with the same parameters."""
    system, plain = request.param
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


@pytest.mark.parametrize("left", [True, False])
def test_without_its_ideas_it_is_fairseqs_transformer(twins, left):
    system, *models = twins
    inputs = system.sample(system.rows, left=left)
    real = inputs["target"].ne(system.symbols.pad())
    for training in (False, True):
        expected, found = (
            model.train(training)(**inputs["net_input"])[0][real].detach() for model in models
        )
        assert_near(found, expected)
        assert float(expected.std()) > 0.1
    for model in models:
        model.eval()


def test_beam_search_finds_what_it_finds_with_fairseqs(twins):
    system, *models = twins
    found = [system.searched([model], system.rows, max_len_b=12) for model in models]
    for one, other in zip(*found, strict=True):
        for theirs, ours in zip(one, other, strict=True):
            assert torch.equal(ours["tokens"], theirs["tokens"])
            assert_near(ours["positional_scores"], theirs["positional_scores"])
            assert_near(ours["attention"], theirs["attention"])


@pytest.mark.parametrize(("system", "plain"), PLAIN.values(), ids=PLAIN.keys())
def test_tables_and_attention_are_sampled_as_fairseqs_are(system, plain):
    """Feed-forward layers are not: theirs are torch's default since 0.10, ours Xavier's."""
    wide = {"encoder_embed_dim": 64, "encoder_ffn_embed_dim": 128, "encoder_learned_pos": True}
    expected = converted(stock(system.symbols, **wide), system)
    for name, value in system.new(**plain, **wide).state_dict().items():
        if name.endswith("weight") and not name.endswith(("fc1.weight", "fc2.weight")):
            spread = expected[name].std().item()
            assert value.std().item() == pytest.approx(spread, rel=0.15), name
