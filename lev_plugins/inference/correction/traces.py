"""The edits of a trace as a corrector tells its own: characters of the draft, probabilities."""

import math
import re
from collections.abc import Iterable
from dataclasses import replace

from ...systems.levenshtein.decoding.history import EditTrace
from .backends import Answer, TextProcessing
from .corrector import Correction, Edit, apply_edits
from .edits import script
from .levenshtein import changed, follow
from .proposals import proposals
from .review import whole_words

_SMALLEST = 1e-9


def trace_edits(trace: EditTrace, processing: TextProcessing) -> list[Edit]:
    """What turns the draft of a trace into its text, in whole words, in order.

    Args:
        trace: with probabilities, as :meth:`.LevenshteinEditor.edit` returns it.
        processing: the text processing of its model.

    Returns:
        disjoint edits; the probability of one is the product of those of its tokens' deletions
        and insertions. All of the draft is one edit where its tokens cannot be told apart.
        Without a draft there are none.
    """
    draft, answer = trace.draft, trace_answer(trace)
    if not draft or not trace.iterations or trace.text == draft:
        return []
    found = proposals(processing, draft, trace.iterations[0].before, answer)
    edits = [
        Edit(start, draft[start:end], after, one.probability)
        for one in found
        for start, end, after in one.edits
    ]
    if apply_edits(draft, edits).split() != trace.text.split():
        sure = math.exp(math.fsum(map(answer.log_probability, answer.changes)))
        edits = [Edit(0, draft, trace.text, min(1.0, sure))]
    return words_only(whole_words(Correction(draft, trace.text, tuple(edits))))


def trace_answer(trace: EditTrace) -> Answer:
    """A trace as a backend's answer: which tokens went, which came, and how likely each was."""
    before = trace.iterations[0].before if trace.iterations else ()
    moves = [
        (
            [not out for out in step.deleted],
            _logs(step.delete_probabilities),
            step.inserted,
            _logs(step.token_probabilities or (1.0,) * len(step.after)),
        )
        for step in trace.iterations
    ]
    gone, tokens = follow(len(before), moves)
    return Answer(
        trace.iterations[-1].after if trace.iterations else (),
        tuple(changed([origin for origin, _ in tokens], len(before))),
        tuple(gone),
        tuple(value for _, value in tokens),
        (0.0,) * (len(tokens) + 1),
    )


def _logs(probabilities: Iterable[float]) -> list[float]:
    return [math.log(max(one, _SMALLEST)) for one in probabilities]


def words_only(edits: Iterable[Edit]) -> list[Edit]:
    """Edits less the words that each has before and after: ``a`` → ``a b`` only adds `` b``."""
    found = []
    for edit in edits:
        before, after = (re.findall(r"\s+|\S+", text) for text in (edit.before, edit.after))
        for i, j, k, m in script(before, after):
            offset = edit.offset + sum(map(len, before[:i]))
            gone, come = "".join(before[i:j]), "".join(after[k:m])
            found.append(replace(edit, offset=offset, before=gone, after=come))
    return found
