"""What is particular to PBD; what it has in common with others: ``test_seq2seq.py``."""

from argparse import Namespace

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from refusals import refuses
from seq2seq_models import NORMS, PBD, task

from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.pbd.model import pbd_transformer_big

build = PBD.build


def test_all_but_the_attention_to_the_source_and_the_segments_is_shared():
    model = build(encoder_learned_pos=True, encoder_normalize_before=True)
    encoder = set(map(id, model.encoder.parameters()))
    own = {name for name, one in model.decoder.named_parameters() if id(one) not in encoder}
    assert encoder < set(map(id, model.decoder.parameters())) | encoder
    parts = ("cross_attention", "cross_norm", "self_attention.segment")
    assert own and all(any(part in name for part in parts) for name in own)
    assert len([name for name in own if "segment" in name]) == 2, "one for each block"


@pytest.mark.parametrize(
    ("values", "common"),
    [
        ({}, set()),
        ({"share_decoder_input_output_embed": True}, {"output"}),
        ({"share_all_embeddings": True}, {"source", "output"}),
    ],
)
def test_without_sharing_tables_are_shared_as_asked(values, common):
    model = build(no_parameter_sharing=True, encoder_normalize_before=True, **values)
    target = model.decoder.embed.table.weight
    tables = {
        "source": model.encoder.embed.table.weight,
        "output": model.decoder.output.table.weight,
    }
    assert {name for name, one in tables.items() if one is target} == common
    both = set(map(id, model.encoder.parameters())) & set(map(id, model.decoder.parameters()))
    assert len(both) == ("source" in common)


def test_two_dictionaries_may_differ_where_nothing_is_shared():
    model = PBD.new(target=tiny.dictionary("xyz"), no_parameter_sharing=True)
    source, before = torch.tensor([[4, 5, 11, 2]]), torch.tensor([[2, 6, 4]])
    assert model(source, None, before)[0].shape == (1, 3, 7)


def test_a_checkpoint_with_every_name_of_a_parameter_is_read_too():
    model, other = (build(seed, **NORMS["pre-norm"]) for seed in (1, 2))
    everything = torch.nn.Module.state_dict(model)
    assert len(everything) > len(model.state_dict())
    other.load_state_dict(dict(everything), strict=True)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), other.parameters()))


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


def test_parameters_that_do_not_fit_are_refused():
    apart = build(no_parameter_sharing=True, share_all_embeddings=True)
    with refuses("encoder.blocks.0", "--no-parameter-sharing"):
        build().load_state_dict(apart.state_dict())
    model = build()
    state = {**model.state_dict(), "encoder.embed.table.weight": torch.zeros(13, 8)}
    with refuses("13 symbols in the encoder, the dictionary 12"):
        model.load_state_dict(state)
