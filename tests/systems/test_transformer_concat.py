"""The autoregressive baseline: a Transformer over ``source </s> draft </s>`` (paper, §C.2).

What it has in common with other systems: ``test_seq2seq.py``.
"""

import pytest
import saved
import tiny
import torch
from concat_models import CONCAT, KINDS, ROWS, SYMBOLS, batch, build, config, logits
from fairseq.models.transformer import TransformerModelBase
from seq2seq_models import SIZES, task

from lev_plugins.systems.transformer_concat.config import stock_config

pytestmark = [
    # said by fairseq and by torch about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
    pytest.mark.filterwarnings(r"ignore:\s*'config' is validated:UserWarning"),
]
PAD = SYMBOLS.pad()
EXACT = {"rtol": 1e-9, "atol": 1e-9}
SHORT = {"max_source_positions": 16, "max_target_positions": 16}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def model(request):
    return build(**request.param)


def side(texts, left=False, extra=0):
    """Sentences with </s> and without <s>, padded."""
    return tiny.stack([tiny.sentence(text, SYMBOLS)[1:] for text in texts], PAD, left, extra)


def encoded(model, source, draft):
    """A sentence's encoder states: S × C and N × C."""
    tokens, _, _ = batch([tiny.Triple(source, "", draft)])
    states = model.encoder(tokens)["encoder_out"][0][:, 0]
    return states[: len(source) + 1], states[len(source) + 1 :]


def without_language(model):
    model.encoder.embed_positions.language.weight.data.zero_()
    return model


def test_positions_restart_with_the_draft(model):
    """Without the language nothing tells the parts apart: swapped, they are encoded the same."""
    model = without_language(model)
    source, draft = encoded(model, "abc", "cadh")
    swapped, other = encoded(model, "cadh", "abc")
    assert torch.allclose(source, other, **EXACT) and torch.allclose(draft, swapped, **EXACT)
    assert (source[0] - source[1]).abs().max() > 1e-3
    same, again = encoded(model, "abc", "abc")
    assert torch.allclose(same, again, **EXACT)


def test_a_position_within_the_part_matters(model):
    first, _ = encoded(without_language(model), "aa", "b")
    assert (first[0] - first[1]).abs().max() > 1e-3


def test_the_side_on_which_a_token_stands_changes_it(model):
    source, draft = encoded(model, "abc", "abc")
    assert (source - draft).abs().amax(1).min() > 1e-3
    first = logits(model, [tiny.Triple("abc", "abcd", "cadh")])[0]
    second = logits(model, [tiny.Triple("cadh", "abcd", "abc")])[0]
    assert (first - second).abs().max() > 1e-3


def test_every_token_of_a_part_has_the_language_of_that_part(model):
    """The language is added before anything else is done, </s> and empty parts included."""
    tokens, _, _ = batch(ROWS)
    language = model.encoder.embed_positions.language.weight
    added = model.encoder.embed_positions(tokens)
    saved = language.detach().clone()
    language.data.zero_()
    difference = added - model.encoder.embed_positions(tokens)
    for row, (source, _, draft) in zip(difference, ROWS, strict=True):
        sizes = len(source) + 1, len(draft) + 1
        expected = saved.repeat_interleave(torch.tensor(sizes), 0)
        assert torch.allclose(row[: sum(sizes)], expected, **EXACT)


def test_a_draft_changes_its_own_sentence_and_no_other(model):
    before = logits(model, ROWS)
    changed = [row._replace(draft="fade") if i == 1 else row for i, row in enumerate(ROWS)]
    after = logits(model, changed)
    CONCAT.same(before[:1] + before[2:], after[:1] + after[2:])
    assert (before[1] - after[1]).abs().max() > 1e-3


def stock(**values):
    torch.manual_seed(3)
    cfg = stock_config(config(**{**SIZES, **values}))
    return TransformerModelBase.build_model(cfg, task(SYMBOLS)).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", [True, False])
def test_without_draft_and_language_it_is_fairseqs_transformer_to_the_bit(kind, left):
    """Taking over fairseq's parameters sets the language to zero; one part is a plain source."""
    other = stock(**KINDS[kind])
    model = build(**KINDS[kind]).float()
    model.load_state_dict(other.state_dict(), strict=True)
    assert not model.encoder.embed_positions.language.weight.any()
    tokens = side([row.source for row in ROWS], left=left)
    _, before, _ = batch(ROWS)
    lengths = tokens.ne(PAD).sum(1)
    mine, theirs = model.encoder(tokens), other.encoder(tokens)
    assert torch.equal(mine["encoder_out"][0], theirs["encoder_out"][0])
    assert torch.equal(model(tokens, lengths, before)[0], other(tokens, lengths, before)[0])
    drafted, before, _ = batch(ROWS, left=left)
    lengths = drafted.ne(PAD).sum(1)
    difference = model(drafted, lengths, before)[0] - other(drafted, lengths, before)[0]
    assert difference.abs().max() > 1e-4, "a draft has positions of its own"


def test_both_languages_are_learnt(model):
    CONCAT.loss_of(model.train(), ROWS).backward()
    language = model.encoder.embed_positions.language.weight.grad
    assert (language.abs().sum(1) > 0).all()


@pytest.mark.parametrize("left", [True, False])
def test_the_limit_of_learned_positions_holds_for_each_part(left):
    model = build(encoder_learned_pos=True, **SHORT)
    assert model.max_positions() == (16, 16)
    longest = "abcdefghabcdefg"  # sixteen tokens with </s>
    logits(model, [tiny.Triple(longest, "a", longest), ROWS[0]], left=left)
    for row in (tiny.Triple(longest + "h", "a", ""), tiny.Triple("a", "a", longest + "h")):
        with pytest.raises(IndexError):
            logits(model, [row, ROWS[0]], left=left)


def test_sinusoids_have_no_end():
    model = build(**SHORT)
    table = model.encoder.embed_positions.positions.weights.size(0)
    row = tiny.Triple("abcdefgh" * 8, "a", "abcdefgh" * 9)
    (answer,) = logits(model, [row])
    assert answer.isfinite().all()
    assert model.encoder.embed_positions.positions.weights.size(0) > table
    CONCAT.same(logits(model, ROWS), logits(build(**SHORT), ROWS))


def parsed(arch, *flags):
    """The model's configuration that fairseq-train makes of a command line."""
    arguments = ["data", "--task", "translation_concat", "--arch", arch, *flags]
    return saved.configuration(arguments).model


@pytest.mark.parametrize(
    ("arch", "layers", "width", "hidden", "heads", "pre_norm"),
    [
        ("transformer_concat", 6, 512, 2048, 8, False),
        ("transformer_concat_small", 3, 256, 1024, 4, True),
        ("transformer_concat_char", 2, 128, 512, 4, True),
    ],
)
def test_an_architecture_sets_the_sizes(arch, layers, width, hidden, heads, pre_norm):
    stock = stock_config(parsed(arch))
    for side in (stock.encoder, stock.decoder):
        assert (side.embed_dim, side.ffn_embed_dim, side.layers) == (width, hidden, layers)
        assert side.attention_heads == heads and side.learned_pos is False
        assert side.normalize_before is pre_norm
    assert stock.decoder.input_dim == stock.decoder.output_dim == stock.decoder.embed_dim
    assert stock.max_source_positions == stock.max_target_positions == 1024


def test_what_the_user_sets_is_set_and_the_decoder_follows_the_encoder():
    flags = "--encoder-embed-dim 64 --decoder-layers 7 --encoder-layerdrop 0.2 --activation-fn gelu"
    stock = stock_config(parsed("transformer_concat_char", *flags.split()))
    assert stock.encoder.embed_dim == stock.decoder.embed_dim == 64
    assert stock.decoder.output_dim == 64
    assert (stock.encoder.layers, stock.decoder.layers) == (2, 7)
    assert stock.encoder.layerdrop == 0.2 and stock.activation_fn == "gelu"
