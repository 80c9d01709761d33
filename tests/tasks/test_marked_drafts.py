"""Typed drafts in the task: words it does not know, marks, and terms."""

from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.systems.levenshtein.markup import DROP, ENDS, JOINED, KEEP
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

# letters that the dictionary has, words that it has not, and the names of its special symbols
WORDS = st.sampled_from(["a", "b", "h", "xyz", "Zürich", "<s>", "<pad>", "</s>", "<unk>", "<plh>"])
LINES = st.lists(WORDS, max_size=7)


def words_of(task: TranslationEditTask, tokens: Tensor) -> list[str]:
    return [task.target_dictionary[token] for token in tokens.tolist()]


# words that are not known -----------------------------------------------------------------------


@given(LINES)
def test_words_that_are_not_known_are_unknown_and_the_dictionary_stays(line):
    task = tiny.task()
    symbols = task.target_dictionary
    size, names, counts = len(symbols), list(symbols.symbols), list(symbols.count)
    tokens = task.encode_draft(" ".join(line), str).tokens.tolist()
    known = [word if word in "abh" else "<unk>" for word in line]
    assert [symbols[token] for token in tokens] == ["<s>", *known, "</s>"]
    assert (len(symbols), symbols.symbols, symbols.count) == (size, names, counts)


def decode(
    task: TranslationEditTask, model: Any, lines: list[str], size: int = 3, **flags: Any
) -> list[dict[str, Any]]:
    """Hypotheses of typed lines, in their order, by way of the task as fairseq-interactive goes."""
    pairs, lengths = task.get_interactive_tokens_and_lengths(lines, str)
    data = task.build_dataset_for_inference(pairs, lengths)
    generator = task.build_generator([model], Namespace(**flags))
    found = {}
    batches = task.get_batch_iterator(data, max_sentences=size).next_epoch_itr(shuffle=False)
    for batch in batches:
        hypotheses = task.inference_step(
            generator, [model], {"net_input": batch["net_input"]}, constraints=batch["constraints"]
        )
        for number, (hypothesis,) in zip(batch["id"].tolist(), hypotheses, strict=True):
            found[number] = hypothesis
    return [found[number] for number in range(len(lines))]


@pytest.fixture(scope="module")
def model():
    task = tiny.task()
    return tiny.sharpen(tiny.model(task), 2.0)


# marks --------------------------------------------------------------------------------------------


def test_drafts_have_marks_only_where_the_task_says_so():
    text = "[=a=] [-b-] [+a h+]"
    marked = tiny.task(markup=True).encode_draft(text, str)
    assert marked.marks.tolist() == [0, KEEP, DROP, KEEP | JOINED, KEEP, 0]
    task = tiny.task()
    assert task.encode_draft(text, str).marks.eq(0).all()
    assert task.encode_draft(text, str, markup=True).marks.tolist() == marked.marks.tolist()
    plain = tiny.task(markup=True).encode_draft(text, str, markup=False)
    assert plain.marks.eq(0).all() and len(plain.tokens) == 6


def test_marks_reach_the_decoder_and_other_lines_have_none(model):
    task = tiny.task(markup=True, delete_threshold=0.0)  # deletes all that may be deleted
    lines = ["a b\ta [=b=] h", "a b\ta b h", "a b", "a\t[+a b+] [-h-]", "a\t[=xyz=] a", "b\t\\[=a"]
    values = {"iter_decode_max_iter": 1, "max_len_b": 3}
    for size in (1, 3, 6):
        found = decode(task, model, lines, size, **values)
        standing = [
            [task.target_dictionary[token] for token, o in zip(*sides, strict=True) if o >= 0][1:-1]
            for sides in ((one["tokens"].tolist(), one["origin"].tolist()) for one in found)
        ]
        assert standing == [["b"], [], [], ["a", "b"], ["<unk>"], []]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a\tb [=a", "[=a"),
        ("a\tb [--]", "[--]"),
        ("a\t[=b [-a-]=]", "[=b [-a-]=]"),
        ("a\t[=a=][-b-]", "'ab'"),
        ("a\t[+a xyz+]", "'xyz'"),
        ("a\t[=xyz=] [+xyz+]", "'xyz'"),
        ("a\tb\ta", "2 tabs"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_by_its_number(line, said):
    task = tiny.task(markup=True)
    for number, lines in ((1, [line]), (4, ["b", "b\t[=a=]", line])):
        with refuses(said) as caught:
            task.get_interactive_tokens_and_lengths(lines, str)
        assert str(caught.value).startswith(f"input line {number}")
    draft = task.encode_draft("[=xyz=] [+a+] [-uvw-]", str)  # unknown words may be kept
    assert draft.marks.tolist() == [0, KEEP, KEEP, DROP, 0]


# terms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("terms", "said"),
    [(["a", "xyz b"], "'xyz'"), (["<s>"], "'<s>'"), (["<plh>"], "'<plh>'"), (["a", " "], "empty")],
)
def test_terms_that_cannot_be_written_are_refused(terms, said):
    with refuses(said):
        tiny.task().encode_terms(terms, str)


TERMS = st.lists(
    st.lists(st.text("abh", min_size=1, max_size=3), max_size=3), min_size=1, max_size=4
)


@settings(max_examples=25)
@given(TERMS)
def test_terms_are_written_whole_and_in_their_order(rows):
    task = tiny.task(markup=True, delete_threshold=0.0)
    net = tiny.sharpen(tiny.model(task), 2.0)
    drafts = [" ".join(f"[+{' '.join(term)}+]" for term in terms) for terms in rows]
    lines = [f"{' '.join('abcdefgh'[: n + 1])}\t{draft}" for n, draft in enumerate(drafts)]
    found = decode(task, net, lines, iter_decode_max_iter=2, max_len_b=12)
    for hypothesis, terms in zip(found, rows, strict=True):
        rest = tiny.letters(hypothesis["tokens"], task.target_dictionary)
        for term in terms:
            assert term in rest
            rest = rest[rest.index(term) + len(term) :]


def test_terms_are_whole_words_however_they_come_in():
    symbols = Dictionary()
    for symbol in "▁Fluss ▁Win ter n s ▁im .".split():
        symbols.add_symbol(symbol)
    task = TranslationEditTask(
        TranslationEditConfig(
            seed=1, delete_threshold=0.0, max_source_positions=64, max_target_positions=64
        ),
        symbols,
        symbols,
    )
    pieces = {"Fluss": "▁Fluss", "Winter": "▁Win ter"}

    def encode(text: str) -> str:
        return " ".join(pieces.get(word, word) for word in text.split())

    def typed(text: str) -> list[int]:
        return task.encode_draft(text, encode, markup=True).marks.tolist()[1:-1]

    wanted = [KEEP | ENDS, KEEP | JOINED, KEEP | ENDS]
    assert task.encode_terms(["Fluss", "Winter"], encode).marks.tolist()[1:-1] == wanted
    assert typed("[+Fluss+] [+Winter+]") == typed("[=Fluss=] [=Winter=]") == wanted
    net = tiny.sharpen(tiny.model(task), 2.0).eval()
    terms = task.encode_terms(["Fluss", "Winter"], encode)
    data = task.build_dataset_for_inference([(torch.tensor([0, 4, 2]), terms)], [3])
    generator = task.build_generator([net], Namespace(iter_decode_max_iter=3, max_len_b=12))
    sample = data.collater([data[0]])
    ((found,),) = task.inference_step(generator, [net], sample, constraints=sample["constraints"])
    text = "".join(words_of(task, found["tokens"])[1:-1]).replace("▁", " ")
    assert {"Fluss", "Winter"} <= set(text.replace(".", " ").split())
