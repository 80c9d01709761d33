"""The autoregressive baseline: a Transformer over ``source </s> draft </s>`` (paper, §C.2).

What it has in common with other systems: ``test_seq2seq.py``.
"""

import numpy as np
import pytest
import tiny
import torch
from fairseq.data import ListDataset
from fairseq.models.transformer import TransformerModelBase
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from seq2seq_models import CONCAT, ROWS, SIZES, task, tokens
from tiny import Triple

from lev_plugins.systems.transformer_concat.config import stock_config
from lev_plugins.systems.transformer_concat.model import parts_and_positions
from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig

pytestmark = [
    # said by fairseq and by torch about fairseq
    pytest.mark.filterwarnings("ignore:Support for mismatched key_padding_mask:UserWarning"),
    pytest.mark.filterwarnings(r"ignore:\s*'config' is validated:UserWarning"),
]
SYMBOLS, KINDS = CONCAT.symbols, CONCAT.kinds
build, batch = CONCAT.build, CONCAT.batch
PAD, EOS = SYMBOLS.pad(), SYMBOLS.eos()
words = st.lists(st.integers(SYMBOLS.nspecial, len(SYMBOLS) - 1), max_size=6)


def stock(**values):
    torch.manual_seed(3)
    cfg = stock_config(CONCAT.config(**{**SIZES, **values}))
    return TransformerModelBase.build_model(cfg, task(SYMBOLS)).eval()


@pytest.mark.parametrize("kind, left", list(zip(KINDS, [True, False, True])))
def test_without_draft_and_language_it_is_fairseqs_transformer_to_the_bit(kind, left):
    """Taking over fairseq's parameters sets the language to zero; one part is a plain source."""
    other = stock(**KINDS[kind])
    model = build(**KINDS[kind]).float()
    model.load_state_dict(other.state_dict(), strict=True)
    assert not model.encoder.embed_positions.language.weight.any()
    source = tiny.stack([tokens(row.source, SYMBOLS) for row in ROWS], PAD, left)
    inputs = source, source.ne(PAD).sum(1), batch(ROWS).before
    assert torch.equal(model(*inputs)[0], other(*inputs)[0])


# parts and positions --------------------------------------------------------------------------


@given(
    st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=4),
    st.booleans(),
    st.integers(0, 3),
)
def test_parts_and_positions_are_those_of_counting_token_by_token(sentences, left, extra):
    rows = [torch.tensor(sum([[*part, EOS] for part in parts], [])) for parts in sentences]
    stacked = tiny.stack(rows, PAD, left=left, extra=extra)
    numbers, real = torch.stack(parts_and_positions(stacked, PAD, EOS), 2), stacked.ne(PAD)
    assert numbers[~real][:, 1].eq(PAD).all()
    for texts, row, places in zip(sentences, numbers, real, strict=True):
        pairs = [[n, PAD + i + 1] for n, text in enumerate(texts) for i in range(len(text) + 1)]
        assert row[places].tolist() == pairs


# data ------------------------------------------------------------------------------------------

TYPED = [Triple("abc", "abh", "ab"), Triple("a", "bcdefgh", "cdefgh"), Triple("", "h", "")]
TYPED.append(Triple("abcdefgh", "a", "b"))
TASK = TranslationConcatTask(PostEditingConfig(required_seq_len_multiple=1), SYMBOLS, SYMBOLS)


def data_set(drafted=True):
    sides = []
    for texts in zip(*TYPED, strict=True):
        side = [tokens(text, SYMBOLS) for text in texts]
        sides.append(ListDataset(side, np.array(list(map(len, side)))))
    return TASK.make_dataset(*sides[:2], sides[2] if drafted else None, shuffle=False)


@pytest.mark.parametrize("drafted", [True, False])
def test_data_and_typed_lines_are_sources_and_drafts_joined_and_without_drafts_these_are_empty(
    drafted,
):
    rows = TYPED if drafted else [row._replace(draft="") for row in TYPED]
    lines = [" ".join(row.source) + ("\t" + " ".join(row.draft)) * drafted for row in rows]
    typed = TASK.build_dataset_for_inference(*TASK.get_interactive_tokens_and_lengths(lines, str))
    for data in (data_set(drafted), typed):
        for item, row in zip(data, rows, strict=True):
            assert torch.equal(item["source"], CONCAT.source(row))


@pytest.mark.parametrize(
    "limits, kept",
    [
        ((8, 8), [0, 1, 2]),
        ((6, 8), [0, 2]),  # the second draft has seven tokens
        ((9, 7), [0, 2, 3]),
        (4, [0, 2]),
    ],
)
def test_source_and_draft_are_each_held_to_the_sources_limit_and_together_to_a_batchs(limits, kept):
    data = data_set()
    indices, ignored = data.filter_indices_by_size(np.arange(4), limits)
    assert indices.tolist() == kept and sorted([*indices, *ignored]) == [0, 1, 2, 3]
    data.max_batch_tokens = 9
    assert data.filter_indices_by_size(np.arange(4), None)[0].tolist() == [0, 1, 2]


def test_two_dictionaries_and_lexical_constraints_are_refused():
    cfg = PostEditingConfig(data="bin", source_lang="src", target_lang="pe")
    with refuses("bin: dict.src.txt", "dict.pe.txt", "--joined-dictionary"):
        TranslationConcatTask(cfg, tiny.dictionary(), tiny.dictionary("xyz"))
    with refuses("--constraints"):
        TASK.build_dataset_for_inference([tokens("a", SYMBOLS)], [2], torch.zeros(1, 1))
