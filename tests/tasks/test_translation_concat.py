"""The task of autoregressive post-editing: source and draft side by side, joined for the model."""

from argparse import Namespace

import numpy as np
import pytest
import tiny
import torch
from closeness import assert_near
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

from lev_plugins.errors import UserError
from lev_plugins.systems.transformer_concat import TransformerConcatConfig, TransformerConcatModel
from lev_plugins.systems.transformer_concat.task import TranslationConcatTask
from lev_plugins.tasks.post_editing import PostEditingConfig

ROWS = [
    tiny.Triple("abcd", "abcdefgh", "abdgh"),
    tiny.Triple("hg", "cafe", "cafebabe"),
    tiny.Triple("e", "ddd", ""),
    tiny.Triple("", "b", "gaga"),
]


def make_task(**values):
    symbols = tiny.dictionary()
    values = {"required_seq_len_multiple": 1, "max_source_positions": 16, **values}
    return TranslationConcatTask(PostEditingConfig(**values), symbols, symbols)


@pytest.fixture
def task():
    return make_task()


def make_model(task, seed=1):
    torch.manual_seed(seed)
    sizes = {name: size for name, size in tiny.SIZES.items() if name.startswith("encoder_")}
    layers = {"encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    limits = {"max_source_positions": 16, "max_target_positions": 16}
    cfg = TransformerConcatConfig(**sizes | layers | limits)
    return tiny.sharpen(TransformerConcatModel.build_model(cfg, task)).eval()


@pytest.fixture
def model(task):
    return make_model(task)


def plain(texts, symbols):
    """Sentences as they are binarised, without <s>."""
    return [tiny.sentence(text, symbols)[1:] for text in texts]


class Sides(list):
    """Sentences with their sizes, as an indexed data set has them."""

    @property
    def sizes(self):
        return np.array([len(one) for one in self])


def data_set(task, rows=ROWS, drafted=True):
    sides = [Sides(plain(texts, task.src_dict)) for texts in zip(*rows, strict=True)]
    source, target, draft = sides
    return task.make_dataset(source, target, draft if drafted else None, shuffle=False)


def sample_of(task, rows=ROWS, **options):
    data = data_set(task, rows, **options)
    return data.collater([data[i] for i in range(len(rows))])


def texts_of(tokens, task):
    """``source|draft`` of every joined row."""
    eos, pad = task.src_dict.eos(), task.src_dict.pad()
    found = []
    for row in tokens.tolist():
        row = [token for token in row if token != pad]
        end = row.index(eos)
        assert row[-1] == eos and row.count(eos) == 2
        parts = row[:end], row[end + 1 : -1]
        found.append("|".join("".join(task.src_dict[token] for token in part) for part in parts))
    return found


def test_a_model_reads_source_and_draft_joined(task):
    sample = sample_of(task)
    net_input = sample["net_input"]
    assert texts_of(net_input["src_tokens"], task) == [
        f"{ROWS[i].source}|{ROWS[i].draft}" for i in sample["id"].tolist()
    ]
    assert torch.equal(net_input["src_lengths"], net_input["src_tokens"].ne(1).sum(1))
    assert "draft" not in sample


def test_without_drafts_every_draft_is_empty(task):
    joined = sample_of(task, drafted=False)
    assert sorted(texts_of(joined["net_input"]["src_tokens"], task)) == ["abcd|", "e|", "hg|", "|"]


def test_a_multiple_of_lengths_is_kept():
    task = make_task(required_seq_len_multiple=8)
    sample = sample_of(task)
    assert sample["net_input"]["src_tokens"].size(1) == 16
    assert sample["target"].size(1) == 16


def test_training_and_validation_see_the_drafts(task, model):
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)

    def loss(rows, step):
        sample = sample_of(task, rows)
        if step == "valid":
            return task.valid_step(sample, model, criterion)[0].item()
        optimizer = Namespace(backward=lambda loss: loss.backward())
        return task.train_step(sample, model, criterion, optimizer, 0)[0].item()

    changed = [row._replace(draft=row.draft[::-1] + "a") for row in ROWS]
    for step in ("train", "valid"):
        assert loss(ROWS, step) == loss(ROWS, step) != loss(changed, step)
    language = model.encoder.embed_positions.language.weight.grad
    assert language.isfinite().all() and (language.abs().sum(1) > 0).all()


def hypotheses(task, models, sample, prefix=None, **flags):
    generator = task.build_generator(models, Namespace(**{"beam": 4, "max_len_b": 9, **flags}))
    return task.inference_step(generator, models, sample, prefix)


def tokens_of(found):
    return [[one["tokens"].tolist() for one in answers] for answers in found]


def test_beam_search_reads_the_drafts_and_gives_every_answer(task, model):
    found = tokens_of(hypotheses(task, [model], sample_of(task)))
    assert [len(answers) for answers in found] == [4] * 4
    assert all(len({tuple(one) for one in answers}) == 4 for answers in found)
    assert found != tokens_of(hypotheses(task, [model], sample_of(task, drafted=False)))


def test_a_sentence_alone_is_decoded_as_in_a_batch(task, model):
    sample = sample_of(task)
    together = hypotheses(task, [model], sample)
    for i, number in enumerate(sample["id"].tolist()):
        (alone,) = hypotheses(task, [model], sample_of(task, [ROWS[number]]))
        assert tokens_of([alone]) == tokens_of([together[i]])
        for one, other in zip(alone, together[i], strict=True):
            assert_near(one["score"], other["score"])


def test_interactive_data_give_what_the_data_set_gives(task, model):
    lines = [f"{' '.join(row.source)}\t{' '.join(row.draft)}" for row in ROWS]
    lines.append("a b c d")  # no draft at all
    pairs, lengths = task.get_interactive_tokens_and_lengths(lines, lambda text: text)
    data = task.build_dataset_for_inference(pairs, lengths)
    typed = data.collater([data[i] for i in range(len(lines))])
    rows = [*ROWS, tiny.Triple("abcd", "", "")]
    sample = sample_of(task, rows)
    assert typed["id"].tolist() == sample["id"].tolist()
    expected = tokens_of(hypotheses(task, [model], sample))
    # what fairseq-interactive passes on of a batch
    passed = {"net_input": typed["net_input"]}
    assert tokens_of(hypotheses(task, [model], passed)) == expected


def test_data_for_inference_may_be_joined_already(task):
    joined = [torch.cat(plain([row.source, row.draft], task.src_dict)) for row in ROWS]
    joined.append(plain(["abc"], task.src_dict)[0])
    data = task.build_dataset_for_inference(joined, [len(one) for one in joined])
    found = data.collater([data[i] for i in range(5)])["net_input"]["src_tokens"]
    assert sorted(texts_of(found, task)) == sorted(
        [f"{row.source}|{row.draft}" for row in ROWS] + ["abc|"]
    )


def test_a_prefix_of_the_target_is_kept(task, model):
    sample = sample_of(task)
    found = hypotheses(task, [model], sample, prefix=sample["target"][:, :2], beam=2)
    for answers, target in zip(found, sample["target"], strict=True):
        for one in answers:
            assert one["tokens"][:2].tolist() == target[:2].tolist()


def test_an_ensemble_averages_what_its_members_say(task, model):
    other = make_model(task, seed=2)
    sample = sample_of(task)
    one, two, both = (
        hypotheses(task, models, sample, score_reference=True)
        for models in ([model], [other], [model, other])
    )
    for first, second, mean in zip(one, two, both, strict=True):
        first, second, mean = (one[0]["positional_scores"].exp() for one in (first, second, mean))
        assert torch.allclose((first + second) / 2, mean, rtol=1e-4)


def test_two_dictionaries_are_refused():
    cfg = PostEditingConfig(data="bin", source_lang="src", target_lang="pe")
    with pytest.raises(UserError) as caught:
        TranslationConcatTask(cfg, tiny.dictionary(), tiny.dictionary("xyz"))
    assert str(caught.value) == (
        "bin: dict.src.txt and dict.pe.txt differ, but source and draft are read with one; "
        "preprocess with --joined-dictionary"
    )


def test_lexical_constraints_are_refused(task, model):
    said = "^--constraints is not supported by translation_concat$"
    tokens = plain(["a"], task.src_dict)
    with pytest.raises(UserError, match=said):
        task.build_dataset_for_inference(tokens, [2], constraints=torch.zeros(1, 1))


def test_a_checkpoint_with_another_dictionary_is_refused(task):
    task.load_state_dict(task.state_dict())
    task.load_state_dict({})  # of a model that fairseq's own task has trained
    other = TranslationConcatTask(task.cfg, *[tiny.dictionary("abcdxfgh")] * 2)
    with pytest.raises(UserError, match="another source dictionary .symbol 8 is 'x' there and"):
        task.load_state_dict(other.state_dict())
    longer = TranslationConcatTask(task.cfg, *[tiny.dictionary(tiny.LETTERS + "i")] * 2)
    with pytest.raises(UserError, match="symbol 12 is 'i' there and missing in"):
        task.load_state_dict(longer.state_dict())
