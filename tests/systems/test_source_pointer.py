"""The pointer: tokens of the source, as what the token head writes."""

import tiny
import torch
from closeness import assert_near
from contract import ROWS
from refusals import refuses

OPTIONS = {"share_all_embeddings": True, "source_pointer": True}


def test_the_pointer_adds_where_it_looks_to_the_logits_of_the_sources_tokens():
    # o_v = e_v · h + λ(h) Σ_s a_s [x_s = v], a = softmax_s(q(h) · k(m_s) / √C)
    task = tiny.task(joined=True)
    model = tiny.sharpen(tiny.model(task, **OPTIONS), 2.0).eval()
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


def test_sentences_that_leave_take_their_source_along():
    task = tiny.task(joined=True)
    model = tiny.sharpen(tiny.model(task, **OPTIONS), 2.0).eval()
    sample = tiny.batch(task, ROWS)
    source, tokens = sample["net_input"]["src_tokens"], sample["draft"]
    rows = torch.arange(len(ROWS)).flip(0)[:3]
    where = tokens[rows].gt(2)
    assert_near(
        model.token_logits(tokens[rows], model.encode(source).select(rows), where),
        model.token_logits(tokens[rows], model.encode(source[rows]), where),
    )


def test_it_needs_one_dictionary():
    with refuses("--source-pointer", "--share-all-embeddings"):
        tiny.model(tiny.task(), source_pointer=True)
