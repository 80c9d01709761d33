"""Algorithm 2 of the paper (Gu et al., 2019): delete, insert placeholders, fill them, and again.

Sentences are edited one by one; what the model says of them is computed for all at once.
"""

from collections.abc import Sequence

import numpy as np

from .constraints import Constraints
from .markup import DROP, JOINED, KEEP
from .noise import gumbel_noise
from .options import RefinementOptions
from .policy import Memory, Policy
from .sentence import Sentence
from .text import Dictionary

NEVER = np.float32(-np.inf)


class Decoding:
    """A batch of sentences while it is decoded.

    Args:
        policy, memory: what says how to edit, and what it has read of the sources.
        sentences: to be edited, in place.
        dictionary: of the target. options: how to decode.
        constraints: how tokens join into words, for sentences with orders.
    """

    def __init__(
        self,
        policy: Policy,
        memory: Memory,
        sentences: Sequence[Sentence],
        dictionary: Dictionary,
        options: RefinementOptions,
        constraints: Constraints,
    ) -> None:
        self.policy, self.memory, self.options = policy, memory, options
        self.sentences, self.dictionary, self.constraints = sentences, dictionary, constraints

    def run(self) -> None:
        """Edits every sentence until nothing changes or an earlier state comes back."""
        active = list(self.sentences)
        for step in range(self.options.max_iter):
            self.delete(active, step)
            active = [sentence for sentence in active if sentence.terminated is None]
            if not active:
                return
            counts = self.count(active, step)
            active, counts = self.finish_idle(active, counts, step)
            if not active:
                return
            self.insert(active, counts, step)
        for sentence in active:
            sentence.finish(self.options.max_iter, "max_iterations")

    # the phases ---------------------------------------------------------------------------------

    def delete(self, sentences: Sequence[Sentence], step: int) -> None:
        """Deletes; a sentence that is then where it was before ends as it stood."""
        # <s> and </s> alone are not read: they stay
        filled = [sentence for sentence in sentences if len(sentence.tokens) > 2]
        self.policy.read_deletions(self.memory, filled)
        for sentence in sentences:
            keep = self.kept(sentence)
            if sentence.seen:
                left = sentence.tokens[keep].tobytes()
                if left in sentence.seen:
                    rests = left == sentence.last and bool(keep.all())
                    sentence.finish(step, "unchanged" if rests else "loop")
                    continue
            sentence.keep(keep, self.policy.traces)

    def kept(self, sentence: Sentence) -> np.ndarray:
        """Which tokens are kept, T, bool; notes why drafted ones stay."""
        keep = np.ones(len(sentence.tokens), bool)
        if len(keep) == 2:
            sentence.deleting = np.zeros(2, np.float32)
            return keep
        assert sentence.deletion is not None
        log_probs = log_softmax(sentence.deletion)
        sentence.deleting = log_probs[:, 1]
        delete = np.exp(sentence.deleting) > self.options.delete_threshold
        if sentence.marks is not None:
            delete &= ~sentence.standing(KEEP)
            delete |= sentence.standing(DROP)
        drafted = sentence.origin >= 0
        drafted[0] = drafted[-1] = False
        sentence.scores = np.where(drafted, log_probs[:, 0], sentence.scores)
        keep[1:-1] = ~delete[1:-1]
        return keep

    def count(self, sentences: Sequence[Sentence], step: int) -> list[np.ndarray]:
        """How many tokens to insert in every slot, T − 1 of each sentence, within its limit."""
        self.policy.read_slots(self.memory, sentences)
        counts = [self.missing(sentence, step) for sentence in sentences]
        for sentence in sentences:
            if sentence.trace is not None:  # what was deleted is read at this insertion alone
                sentence.slots = None
        return counts

    def missing(self, sentence: Sentence, step: int) -> np.ndarray:
        """How many tokens to insert in every slot of a sentence, T − 1."""
        logits = sentence.slots
        assert logits is not None
        if self.options.empty_penalty:
            logits = logits.copy()
            logits[:, 0] -= np.float32(self.options.empty_penalty)
        if sentence.candidate:
            logits = logits + self.noise(sentence, 2 * step, np.arange(len(logits)), logits)
        counts = logits.argmax(1)
        if sentence.marks is not None:
            open_slots = ~sentence.standing(JOINED)[:-1]
            counts = np.where(open_slots, counts, 0)
            # what would grow onto a word that stays is set apart by one token at least
            onto = self.constraints.grown_together(sentence) & open_slots
            counts = np.maximum(counts, onto)
        room = sentence.cap - len(sentence.tokens)
        if int(counts.sum()) > room:
            before = counts.cumsum() - counts
            counts = np.minimum(counts, np.maximum(room - before, 0))
        return counts

    def finish_idle(
        self, sentences: Sequence[Sentence], counts: Sequence[np.ndarray], step: int
    ) -> tuple[list[Sentence], list[np.ndarray]]:
        """Ends those that nothing is deleted from nor inserted into; gives back the others."""
        going: list[tuple[Sentence, np.ndarray]] = []
        for sentence, missing in zip(sentences, counts):
            if sentence.changed or missing.any():
                sentence.remember()
                going.append((sentence, missing))
            else:
                sentence.finish(step, "unchanged")
        return [sentence for sentence, _ in going], [missing for _, missing in going]

    def insert(
        self, sentences: Sequence[Sentence], counts: Sequence[np.ndarray], step: int
    ) -> None:
        """Opens the slots and fills every placeholder."""
        placeholder = self.dictionary.placeholder
        opened: list[Sentence] = []
        for sentence, missing in zip(sentences, counts):
            if missing.any():
                sentence.open(missing, placeholder)
                opened.append(sentence)
        # most have no orders and no noise: of these the likeliest tokens are enough
        free = [sentence for sentence in opened if self.is_free(sentence)]
        others = [sentence for sentence in opened if not self.is_free(sentence)]
        if free:
            for sentence, best in zip(free, self.policy.best_tokens(self.memory, free)):
                sentence.fill(*best)
        if others:
            for sentence, logits in zip(others, self.policy.token_logits(self.memory, others)):
                self.choose(sentence, logits, step)
        if self.options.history:
            for sentence in sentences:
                sentence.record()

    @staticmethod
    def is_free(sentence: Sentence) -> bool:
        """Whether nothing but the model decides what is written."""
        return sentence.marks is None and not sentence.candidate

    def choose(self, sentence: Sentence, logits: np.ndarray, step: int) -> None:
        """Writes the likeliest token that orders allow at each of P placeholders; ``logits``:
        P × V."""
        places = np.flatnonzero(sentence.inserted)
        choice = logits
        if sentence.candidate:
            choice = logits + self.noise(sentence, 2 * step + 1, places, logits)
        if sentence.marks is not None:
            tokens = self.constraints.allowed_tokens(sentence, places, choice)
        else:
            tokens = choice.argmax(1)
        chosen = logits[np.arange(len(places)), tokens]
        sentence.fill(tokens, chosen - log_sum_exp(logits))

    def noise(
        self, sentence: Sentence, stream: int, positions: np.ndarray, logits: np.ndarray
    ) -> np.ndarray:
        """What a candidate's logits differ by at the positions."""
        options, classes = self.options, logits.shape[1]
        names = options.seed, sentence.key, sentence.candidate
        return np.float32(options.noise_scale) * gumbel_noise(*names, stream, positions, classes)

    # candidates ---------------------------------------------------------------------------------

    def rate(self) -> None:
        """Gives candidates a score to compare those of a source by.

        It is the sum, in nats, of log p of every deletion and of every token written on the way,
        of keeping each token of the answer, and of inserting nothing in each slot.
        """
        for sentence in self.sentences:
            sentence.trace = None
            sentence.deletion = sentence.slots = None
        self.policy.read_deletions(self.memory, self.sentences)
        self.policy.read_slots(self.memory, self.sentences)
        for sentence in self.sentences:
            assert sentence.deletion is not None and sentence.slots is not None
            kept = log_softmax(sentence.deletion)[1:-1, 0].sum()
            closed = log_softmax(sentence.slots)[:, 0].sum()
            sentence.score = sentence.actions + float(kept) + float(closed)


def best(candidates: Sequence[Sentence], number: int) -> list[Sentence]:
    """The ``number`` best different candidates; of equal ones the first."""
    different: dict[bytes, Sentence] = {}
    for candidate in sorted(candidates, key=lambda candidate: -candidate.score):
        different.setdefault(candidate.tokens.tobytes(), candidate)
    return list(different.values())[:number]


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Rows of logits as log-probabilities."""
    return logits - log_sum_exp(logits)[:, None]


def log_sum_exp(logits: np.ndarray) -> np.ndarray:
    """Of each row."""
    highest = logits.max(1)
    sums: np.ndarray = np.exp(logits - highest[:, None]).sum(1)
    return highest + np.log(sums)
