"""Typed drafts in the task: words it does not know, marks, and terms."""

from argparse import Namespace
from typing import Any

import pytest
import tiny
import torch
from fairseq.data import Dictionary
from fairseq.token_generation_constraints import pack_constraints
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses
from torch import Tensor

from lev_plugins.errors import UserError
from lev_plugins.systems.levenshtein.decoding import RefinementOptions
from lev_plugins.systems.levenshtein.markup import DROP, ENDS, JOINED, KEEP
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask

# letters that the dictionary has, words that it has not, and the names of its special symbols
WORDS = st.sampled_from(["a", "b", "h", "xyz", "Zürich", "<s>", "<pad>", "</s>", "<unk>", "<plh>"])
LINES = st.lists(WORDS, max_size=7)


def characters(text: str) -> str:
    return " ".join("▁" if c == " " else c for c in text)


def words_of(task: TranslationEditTask, tokens: Tensor) -> list[str]:
    return [task.target_dictionary[token] for token in tokens.tolist()]


# words that are not known -----------------------------------------------------------------------


@given(LINES)
def test_words_that_are_not_known_have_numbers_of_their_own_and_the_dictionary_stays(line):
    task = tiny.task()
    symbols = task.target_dictionary
    size, names, counts = len(symbols), list(symbols.symbols), list(symbols.count)
    oov_words = task.new_oov_words()
    draft = task.encode_draft(" ".join(line), str, None, oov_words)
    assert list(map(oov_words.symbol, draft.tokens.tolist()))[1:-1] == line
    assert (draft.tokens[0], draft.tokens[-1]) == (symbols.bos(), symbols.eos())
    for word, token in zip(line, draft.tokens[1:-1].tolist(), strict=True):
        assert token > task.placeholder if word not in "abh" else token == symbols.index(word)
    assert draft.marks.eq(0).all()
    assert (len(symbols), symbols.symbols, symbols.count) == (size, names, counts)
    assert symbols.index("xyz") == symbols.unk() and symbols.index("<plh>") == task.placeholder
    alone = task.encode_draft(" ".join(line), str).tokens
    assert alone.equal(draft.tokens.masked_fill(draft.tokens > task.placeholder, symbols.unk()))


def test_lines_that_are_read_next_take_the_place_of_the_words_before():
    task = tiny.task()
    size = len(task.target_dictionary)
    for word in ("xyz", "uvw", "a"):
        ((_, draft),), _ = task.get_interactive_tokens_and_lengths([f"a\t{word} {word}"], str)
        assert words_of(task, draft.tokens)[1:-1] == [word, word]
    assert len(task.target_dictionary) == size
    task.get_interactive_tokens_and_lengths(["a\txyz", "b"], str)
    assert len(task.target_dictionary) == size + 1
    task.get_interactive_tokens_and_lengths(["a"], str)
    assert len(task.target_dictionary) == size


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


@pytest.mark.parametrize("threshold", [0.5, 1.0])
def test_a_word_that_is_not_known_is_read_as_unknown_and_printed_as_typed(model, threshold):
    task = tiny.task(delete_threshold=threshold)
    lines = [
        f"a b {end}\t{draft}" for end in "ab" for draft in ("xyz a", "a uvw xyz", "b", "h <s>")
    ]
    plain = [line.replace("xyz", "?").replace("uvw", "?").replace("<s>", "?") for line in lines]
    found = decode(task, model, lines, iter_decode_max_iter=3)
    for line, hypothesis in zip(lines, found, strict=True):
        draft = ["", *line.partition("\t")[2].split(), ""]
        origin = hypothesis["origin"].tolist()
        written = words_of(task, hypothesis["tokens"])
        assert all(word == draft[o] for word, o in zip(written, origin) if o > 0 and draft[o])
        if threshold == 1.0:  # nothing is deleted
            assert [word for word, o in zip(written, origin) if o > 0] == [*draft[1:-1], "</s>"]
    # another unknown word in its place changes nothing else
    for one, other in zip(found, decode(task, model, plain, iter_decode_max_iter=3), strict=True):
        assert one["origin"].tolist() == other["origin"].tolist()
        assert one["positional_scores"].tolist() == other["positional_scores"].tolist()
        unknown = one["tokens"].gt(task.placeholder)
        assert torch.equal(unknown, other["tokens"].gt(task.placeholder))
        assert torch.equal(one["tokens"][~unknown], other["tokens"][~unknown])


def test_histories_show_words_that_are_not_known_as_they_were_typed(model):
    task = tiny.task(delete_threshold=1.0)
    flags = {"iter_decode_max_iter": 2, "retain_iter_history": True}
    (hypothesis,) = decode(task, model, ["a b\ta xyz b"], **flags)
    steps = hypothesis["history"]
    assert words_of(task, steps[0]["tokens"])[1:-1] == ["a", "xyz", "b"]
    assert all("xyz" in words_of(task, step["tokens"]) for step in steps)


# marks --------------------------------------------------------------------------------------------


def test_drafts_have_marks_only_where_the_task_says_so():
    text = "[=a=] [-b-] [+a h+]"
    marked = tiny.task(markup=True).encode_draft(text, str)
    assert marked.marks.tolist() == [0, KEEP, DROP, KEEP | JOINED, KEEP, 0]
    task = tiny.task()
    assert task.encode_draft(text, str, None, (words := task.new_oov_words())).marks.eq(0).all()
    assert words.words == [word for word in text.split() if word != "h"]
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
        assert standing == [["b"], [], [], ["a", "b"], ["xyz"], []]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a\tb [=a", "the mark '[=a' is not closed; end it with '=]'"),
        ("a\tb [--]", "the mark '[--]' is empty"),
        ("a\t[=b [-a-]=]", "has '[-' inside"),
        ("a\t[=a=][-b-]", "the token 'ab' of 'b' is marked to stay and to go"),
        ("a\t[+a xyz+]", "the term 'a xyz' has 'xyz', which is not in the vocabulary"),
        ("a\tb\ta", "has 2 tabs"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_by_its_number(line, said):
    task = tiny.task(markup=True)
    for number, lines in ((1, [line]), (4, ["b", "b\t[=a=]", line]), (7, ["a", "b", line])):
        with refuses(said) as caught:
            task.get_interactive_tokens_and_lengths(lines, str)
        assert str(caught.value).startswith(f"input line {number}")


def test_words_that_are_not_known_may_be_kept_but_are_no_terms():
    task = tiny.task(markup=True)
    draft = task.encode_draft("[=xyz=] [+a+] [-uvw-]", str)
    assert draft.marks.tolist() == [0, KEEP, KEEP, DROP, 0]
    with pytest.raises(UserError, match="cannot place what it does not know: choose another word"):
        task.encode_draft("[=xyz=] [+xyz+]", str)


# terms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", [["a"], ["a b", "h"], ["b", "b"], ["a b a", "a b", "c d e"]])
def test_terms_are_a_draft_of_which_every_term_stays_whole(terms):
    task = tiny.task()
    draft = task.encode_terms(terms, str)
    assert words_of(task, draft.tokens)[1:-1] == " ".join(terms).split()
    joined = [n < len(term.split()) for term in terms for n, _ in enumerate(term.split(), 1)]
    assert draft.marks.tolist()[1:-1] == [KEEP | JOINED * one for one in joined]


def test_terms_are_cut_as_text_is_and_the_blank_between_them_is_in_no_term():
    task = tiny.task()
    oov_words = task.new_oov_words()
    draft = task.encode_terms(["ab", "c"], characters, oov_words)
    assert list(map(oov_words.symbol, draft.tokens.tolist()))[1:-1] == ["a", "b", "▁", "c"]
    assert draft.marks.tolist() == [0, KEEP | JOINED, KEEP, 0, KEEP, 0]


@pytest.mark.parametrize(
    "term",
    ["[=", "=]", "+]", "[+", "[+a+]", "\\[-", "[", "]", "+", "a [+] b", "\\", "a\\", "\\[=\\"],
)
def test_terms_may_hold_the_characters_of_marks(term):
    symbols = tiny.dictionary()
    for word in ["a", "b", *term.split()]:
        symbols.add_symbol(word)
    task = TranslationEditTask(tiny.task().cfg, tiny.dictionary(), symbols)
    draft = task.encode_terms([term, "a"], str)
    assert words_of(task, draft.tokens)[1:-1] == [*term.split(), "a"]
    assert draft.marks.ne(0).tolist() == [False, *[True] * len(term.split()), True, False]


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        (["a", "xyz b"], "the term 'xyz b' has 'xyz', which is not in the vocabulary"),
        (["a", "<s>"], "the term '<s>' has '<s>', which is not in the vocabulary"),
        (["<plh>"], "has '<plh>', which is not"),
        (["a", " "], "is empty"),
    ],
)
def test_terms_that_cannot_be_written_are_refused(terms, said):
    with refuses(said):
        tiny.task().encode_terms(terms, str)


def packed(task: TranslationEditTask, rows: list[list[str]]) -> Tensor:
    """Terms as fairseq-interactive packs them."""
    symbols = task.target_dictionary
    return pack_constraints(
        [
            [
                symbols.encode_line(term, append_eos=False, add_if_not_exist=False).long()
                for term in terms
            ]
            for terms in rows
        ]
    )


TERMS = st.lists(
    st.lists(st.text("abh", min_size=1, max_size=3), max_size=3), min_size=1, max_size=4
)


@settings(max_examples=25)
@given(TERMS)
def test_packed_terms_are_written_whole_and_in_their_order(rows):
    task = tiny.task(delete_threshold=0.0)
    net = tiny.sharpen(tiny.model(task), 2.0)
    lines = ["abcdefgh"[: n + 1] for n in range(len(rows))]  # of different lengths
    tokens, lengths = task.get_interactive_tokens_and_lengths([" ".join(one) for one in lines], str)
    constraints = packed(task, [[" ".join(term) for term in terms] for terms in rows])
    data = task.build_dataset_for_inference(tokens, lengths, constraints)
    generator = task.build_generator([net], Namespace(iter_decode_max_iter=2, max_len_b=12))
    for batch in task.get_batch_iterator(data, max_sentences=3).next_epoch_itr(shuffle=False):
        sample = {"net_input": batch["net_input"]}
        found = task.inference_step(generator, [net], sample, constraints=batch["constraints"])
        for number, (hypothesis,) in zip(batch["id"].tolist(), found, strict=True):
            rest = tiny.letters(hypothesis["tokens"], task.target_dictionary)
            for term in rows[number]:
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
    constraints = packed(task, [[encode(one) for one in pieces]])
    generator = task.build_generator([net], Namespace(iter_decode_max_iter=3, max_len_b=12))
    sample = {"net_input": {"src_tokens": torch.tensor([[0, 4, 2]])}}
    ((found,),) = task.inference_step(generator, [net], sample, constraints=constraints)
    text = "".join(words_of(task, found["tokens"])[1:-1]).replace("▁", " ")
    assert {"Fluss", "Winter"} <= set(text.replace(".", " ").split())


def test_packed_terms_that_cannot_be_written_are_refused_by_their_line():
    task = tiny.task()
    task.get_interactive_tokens_and_lengths(["a", "b", "c"], str)
    tokens, lengths = task.get_interactive_tokens_and_lengths(["a", "b"], str)
    for bad in ("a xyz", "", "</s>", "<pad>", "<plh>", "a <plh> b"):
        with refuses(match="^input line 5: a term of --constraints is empty or has"):
            task.build_dataset_for_inference(tokens, lengths, packed(task, [["a"], ["b", bad]]))


def test_a_word_that_is_not_known_has_one_number_however_often_it_comes():
    # answers that read the same are then the same answer
    task = tiny.task()
    oov_words = task.new_oov_words()
    first = task.encode_draft("xyz a xyz uvw", str, None, oov_words).tokens.tolist()
    second = task.encode_draft("uvw xyz", str, None, oov_words).tokens.tolist()
    assert first[1] == first[3] == second[2] and first[4] == second[1] != first[1]


def test_words_that_fairseq_has_joined_are_forgotten_too():
    # as fairseq-interactive does with --post-process
    task = tiny.task()
    symbols = task.target_dictionary
    size = len(symbols)
    task.get_interactive_tokens_and_lengths(["a\txyz"], str)
    symbols.encode_line("ab xyz a", add_if_not_exist=True)
    stale = packed(task, [["ab"]])
    tokens, lengths = task.get_interactive_tokens_and_lengths(["a\tab xyz", "b"], str)
    assert words_of(task, tokens[0][1].tokens)[1:-1] == ["ab", "xyz"]
    with pytest.raises(UserError, match="a term of --constraints"):
        task.build_dataset_for_inference(tokens[1:], lengths[1:], stale)
    task.get_interactive_tokens_and_lengths(["a"], str)
    assert len(symbols) == len(symbols.indices) == size
    assert symbols.index("ab") == symbols.index("xyz") == symbols.unk()


def test_at_least_one_answer_is_given_back():
    for number in (0, -1):
        with pytest.raises(UserError, match=f"--nbest {number}: at least 1"):
            RefinementOptions(nbest=number)
