"""Without their ideas ``pbd_transformer`` and ``gated_transformer`` are fairseq's Transformer."""

import pytest
import torch
from closeness import assert_near
from gated_models import GATED
from pbd_models import PBD
from seq2seq_models import converted, stock

pytestmark = [
    pytest.mark.kernels,
    # said by torch about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
]
PLAIN = {
    "pbd": (
        PBD,
        {"no_parameter_sharing": True, "no_future_modelling": True, "no_segment_embedding": True},
    ),
    "gated": (GATED, {"gates": "none"}),
}
LEARNED = {"encoder_normalize_before": True, "encoder_learned_pos": True}
OPTIONS = {
    "own tables, post-norm": {},
    "one table, learned, pre-norm": {"share_all_embeddings": True, **LEARNED},
    "one target table, deep decoder, gelu": {
        "share_decoder_input_output_embed": True,
        "decoder_layers": 3,
        "activation_fn": "gelu",
    },
}
GATED_NAMES = {
    "encoder.blocks": "encoder.body.stack.blocks",
    "encoder.norm": "encoder.body.norm",
}


def named(system, state):
    """fairseq's parameters under the names of this system."""
    if system is PBD:
        return state
    made = {}
    for name, value in state.items():
        for old, new in GATED_NAMES.items():
            name = name.replace(old, new)
        made[name] = value
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
    ours.load_state_dict(named(system, converted(theirs)), strict=True)
    count = [sum(p.numel() for p in model.parameters()) for model in (theirs, ours)]
    assert count[0] == count[1]
    return system, theirs, ours


@pytest.mark.parametrize("left", [True, False])
def test_without_its_ideas_it_is_fairseqs_transformer(twins, left):
    system, *models = twins
    made, pad = system.batch(system.rows, left=left), system.symbols.pad()
    real, lengths = made.target.ne(pad), made.source.ne(pad).sum(1)
    for training in (False, True):
        expected, found = (
            model.train(training)(made.source, lengths, made.before)[0][real].detach()
            for model in models
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
    expected = named(system, converted(stock(system.symbols, **wide)))
    for name, value in system.new(**plain, **wide).state_dict().items():
        if name.endswith("weight") and not name.endswith(("fc1.weight", "fc2.weight")):
            spread = expected[name].std().item()
            assert value.std().item() == pytest.approx(spread, rel=0.15), name
