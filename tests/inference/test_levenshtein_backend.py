"""Edit models as correctors: their outputs, and the probabilities of their actions."""

import math
import random

import pytest
import tiny
import torch
from closeness import near

from lev_plugins import LevenshteinEditor
from lev_plugins.inference.correction.backends import TextProcessing
from lev_plugins.inference.correction.levenshtein import LevenshteinBackend, _Step, replay

DRAW = random.Random(5)
WORDS = ["".join(DRAW.choices("abcdefghxyz", k=DRAW.randint(1, 9))) for _ in range(20)]


class Letters:
    """A letter is a token."""

    def encode(self, text):
        return " ".join(text.replace(" ", "_"))

    def decode(self, text):
        return text.replace(" ", "").replace("_", " ")


def editor(count=1, **options):
    task = tiny.task()
    models = [tiny.sharpen(tiny.model(task, seed)) for seed in range(3, 3 + count)]
    return LevenshteinEditor(models, task, bpe=Letters())


def backend(of, **options):
    return LevenshteinBackend(of, TextProcessing(None, of.bpe), knows_spaces=False, **options)


ONE = editor()
THREE = editor(3)


@pytest.mark.parametrize("of", [ONE, THREE], ids=["one", "ensemble"])
def test_what_it_writes_is_what_the_editor_writes(of):
    model = backend(of)
    units = [model.tokens(word) for word in WORDS]
    answers = model.write(units, 7)
    texts = [model.text(answer.tokens) for answer in answers]
    traces = of.edit(WORDS, WORDS)
    assert [text.replace("\ufffd", "<unk>") for text in texts] == [trace.text for trace in traces]


def test_outside_of_its_changes_a_unit_is_as_it_was():
    model = backend(ONE)
    units = [model.tokens(word) for word in WORDS]
    for unit, answer in zip(units, model.write(units, 7)):
        made, place = [], 0
        for i, j, k, m in answer.changes:
            made += [*unit[place:i], *answer.tokens[k:m]]
            place = j
            assert answer.log_probability((i, j, k, m)) <= 0
        assert (*made, *unit[place:]) == answer.tokens


def test_probabilities_do_not_depend_on_the_batch():
    model = backend(ONE)
    units = [model.tokens(word) for word in ("abc", "h", "gfedcba", "axyb", "dd", "cafe")]
    together = model.write(units, 64)
    for unit, answer in zip(units, together):
        (alone,) = model.write([unit], 1)
        assert (alone.tokens, alone.changes) == (answer.tokens, answer.changes)
        for change in alone.changes:
            found = answer.log_probability(change)
            assert found == near(alone.log_probability(change))
    assert sum(len(answer.changes) for answer in together) > 3


@torch.no_grad()
def by_hand(model, task, word):
    """Sum of the log-probabilities of all that one iteration does to a word, and its outcome."""
    tokens = torch.tensor([[0, *(task.tgt_dict.index(letter) for letter in word), 2]])
    memory = model.encode(tokens)
    logits = model.deletion_logits(tokens, memory).log_softmax(-1)[0]
    total, stays = 0.0, [0]
    for place in range(1, tokens.size(1) - 1):
        if logits[place, 1] > math.log(0.5):
            total += float(logits[place, 1])
        else:
            stays.append(place)
    tokens = tokens[:, [*stays, tokens.size(1) - 1]]
    sizes = model.placeholder_logits(tokens, memory).log_softmax(-1)[0]
    opened = [0]
    for slot, token in enumerate(tokens[0, 1:].tolist()):
        count = int(sizes[slot].argmax())
        total += float(sizes[slot, count]) if count else 0.0
        opened += [task.placeholder] * count + [token]
    tokens = torch.tensor([opened])
    where = tokens == task.placeholder
    if where.any():
        written = model.token_logits(tokens, memory, where)
        never = [0, 1, 2, task.placeholder]
        chosen = written.index_fill(1, torch.tensor(never), float("-inf")).log_softmax(-1)
        best = chosen.max(-1)
        total += float(best.values.sum())
        tokens[where] = best.indices
    return total, tokens[0, 1:-1].tolist()


@pytest.mark.parametrize("word", ["abc", "hgf", "aabbcc", "d", "fade", "bead"])
def test_a_probability_is_the_product_over_the_actions(word):
    model = backend(ONE, max_iter=1)
    (answer,) = model.write([tuple(word)], 1)
    total, numbers = by_hand(ONE.models[0], ONE.task, word)
    unknown = ONE.task.tgt_dict.unk()
    assert answer.tokens == tuple(
        None if number == unknown else ONE.task.tgt_dict[number] for number in numbers
    )
    found = sum(map(answer.log_probability, answer.changes))
    assert found == near(total)


def entry(tokens, mask=None):
    made = {"tokens": torch.tensor(tokens)}
    return made if mask is None else {**made, "mask": torch.tensor(mask)}


def test_a_token_is_followed_through_all_iterations():
    # <s> 5 6 7 </s> → 5 and 8 9 for 6 7; then 8 goes again
    history = [
        entry([0, 5, 6, 7, 2]),
        entry([0, 5, 2], [True, True, False, False, True]),
        entry([0, 5, 4, 4, 2]),
        entry([0, 5, 8, 9, 2], [False, False, True, True, False]),
        entry([0, 5, 9, 2], [True, True, False, True, True]),
        entry([0, 5, 9, 2]),
        entry([0, 5, 9, 2], [False] * 4),
    ]
    steps = [
        _Step([0.0, -9.0, -0.1, -0.2, 0.0], [-0.3, -0.3]),
        _Step([0.0, -9.0, -0.4, -9.0, 0.0]),
        _Step([0.0, -9.0, -9.0, 0.0]),
    ]
    gone, places = replay(history, steps, 3)
    assert gone == [0.0, -0.1, -0.2]
    assert places == [(0, 0.0), (None, -0.3)]


def test_a_unit_longer_than_it_was_still_fits():
    assert backend(ONE).limit == 51  # of 64 positions, with room for a longer correction
    (answer,) = backend(ONE).write([tuple("abcdefgh" * 6)], 1)
    assert answer is not None
