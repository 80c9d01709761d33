"""Editing text, whatever computes the edits: from text to tokens, from hypotheses to traces."""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import zip_longest
from typing import Any

from ..batching import BUFFER, Pause, Prices, chunks, in_batches
from ..errors import UserError, require_count, strings
from ..history import EditHypothesis, EditTrace, Iteration, Step
from ..refine.arrays import Array
from ..refine.options import RefinementOptions
from ..refine.policy import Symbols
from .codec import TextProcessing
from .markup import joining_of, parse_markup, token_marks, whole_words, write_mark
from .terms import Draft as Draft
from .terms import holds, with_term

Terms = Iterable[Iterable[str] | None]
Row = tuple[str, str | None, Sequence[str] | None, str | None]


def read_rows(
    sources: Iterable[str],
    drafts: Iterable[str | None] | None,
    terms: Terms | None,
    old_sources: Iterable[str | None] | None = None,
    first: int = 1,
) -> list[Row]:
    """Returns source, draft, terms and older source of each sentence; ``first``: its number.

    Raises:
        UserError: what is no list of strings, or of another length.
    """
    texts = strings("sources", sources, first=first)
    rows: list[Any] = [texts]
    for name, side in {"drafts": drafts, "terms": terms, "old sources": old_sources}.items():
        listed: list[Any] = [None] * len(texts)
        if name == "terms" and side is not None:
            listed = [row if row is None else strings(name, row) for row in side]
        elif side is not None:
            listed = strings(name, side, True, first)
        if len(listed) != len(texts):
            raise UserError(f"{len(texts)} sources but {len(listed)} {name}")
        rows.append(listed)
    return list(zip(*rows))


@dataclass(frozen=True)
class Sentence:
    """A sentence as text and as tokens.

    coded: the draft, or the terms in its place. terms: that its output has to have besides.
    tokens: of the source, <s> and </s> with them. dictionary: gives symbols by their numbers.
    """

    source: str
    draft: str | None
    coded: Draft
    terms: Sequence[Draft]
    tokens: Any
    dictionary: Any

    def symbols(self, state: Step | EditHypothesis) -> tuple[str, ...]:
        """Returns a state's tokens as strings; what stands since the draft, as it was typed."""
        tokens = state["tokens"].tolist()[1:-1]
        origins = state["origin"].tolist()[1:-1]
        symbols = []
        for token, origin in zip(tokens, origins):
            symbol = self.dictionary[token] if origin < 0 else self.coded.words[origin - 1]
            symbols.append(symbol)
        return tuple(symbols)

    def trace(self, text: str, hypothesis: EditHypothesis) -> EditTrace:
        """Returns the trace of the sentence; ``text`` is the outcome."""
        return EditTrace(
            self.source,
            self.draft,
            text,
            hypothesis["score"],
            tuple(self._iterations(hypothesis["history"])),
            hypothesis["terminated"],
            hypothesis["steps"],
        )

    def _iterations(self, history: Sequence[Step]) -> Iterator[Iteration]:
        """Yields the changes that each iteration of a history made."""
        groups = itertools.groupby(history, key=lambda step: step["iteration"])
        iterations = [list(group) for _, group in groups]
        for (*_, before), steps in itertools.pairwise(iterations):
            after = steps[-1]
            # of each token that stands now its place in ``before``, where <s> has place 0
            since = after["since"].tolist()[1:-1]
            stays = set(since)
            last = len(before["tokens"]) - 1
            deleted = tuple(place not in stays for place in range(1, last))
            inserted = tuple(place < 0 for place in since)
            deletion_scores = steps[0].get("scores")  # the first phase is deletion
            yield Iteration(
                self.symbols(before),
                deleted,
                self.symbols(after),
                inserted,
                _probabilities(deletion_scores),
                _probabilities(after["scores"]),
            )


def _probabilities(scores: Array | None) -> tuple[float, ...]:
    """Returns probabilities, those of <s> and </s> left out; none of none."""
    logs = [] if scores is None else scores.tolist()[1:-1]
    return tuple(round(math.exp(log), 6) for log in logs)


Decoded = Callable[[Sequence[Sentence]], list[list[EditTrace]]]
#: makes the n-best of a batch
Decode = Callable[[Sequence[Sentence]], Iterable[list[EditHypothesis]]]


class TextEditor(ABC):
    """A trained model with its dictionaries and text processing; several threads may use one.

    delete_threshold, max_iter: of ``RefinementOptions``, unless the caller says another. max_len_b:
    of these too. prices: of decoding a batch; None: batches are full.
    dictionary: gives symbols of the target by their numbers. symbols: these, up to the placeholder.
    unknown: the symbol that stands for what has no spelling. limits: the longest source and draft
    that the model reads, in tokens.
    """

    delete_threshold: float
    max_iter = 10
    max_len_b = 200
    # packaged model, 799 drafts, int8: 0.94 of full batches' time at 32 sentences, 0.92 at 64;
    # benchmarks/speed.py prices, 40 drafts: 6.1 ms each, full batches 7.4
    prices: Prices | None = Prices(call=280.0, source=1.0, draft=4.0)
    dictionary: Any
    symbols: Symbols
    unknown: str
    limits: tuple[int, ...]

    @property
    @abstractmethod
    def text_processing(self) -> TextProcessing:
        """Returns the model's tokenizer and subwords."""

    def fits(
        self, source: str, draft: str = "", old: str | None = None, terms: Sequence[str] = ()
    ) -> bool:
        """Returns whether a sentence is within the model's limits, and knows the terms' words."""
        try:
            self.sentence(source, draft, terms, old, False)
        except UserError:
            return False
        return True

    def knows(self, term: str) -> bool:
        """Returns whether a term can be asked for: the model knows its words."""
        return self.fits("", terms=[term])

    def edit_nbest(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, nbest: int = 1, *,
        max_iter: int | None = None, batch_size: int = 64, empty_penalty: float | None = None,
        delete_threshold: float | None = None, candidates: int | None = None,
        noise_scale: float = 0.5, seed: int = 1, markup: bool = False, terms: Terms | None = None,
        old_sources: Iterable[str | None] | None = None, history: bool = True, first: int = 1,
    ) -> list[list[EditTrace]]:  # fmt: skip
        """Returns an n-best list for every source, the best first, none twice.

        Args:
            sources: plain text, one sentence each.
            drafts: a draft or None for every source; None where there are no drafts at all.
            nbest, candidates: given back at most, and made for each source (default: as many).
            batch_size: sentences decoded at once; does not change the outputs.
            max_iter, empty_penalty, delete_threshold, noise_scale, seed: of ``RefinementOptions``;
                iterations and threshold are the model's by default.
            markup: drafts have marks: ``[=stays=]``, ``[-goes-]``, ``[+term+]``
                (:mod:`lev_runtime.text.markup`).
            terms: for every source those that have to be in its output, each whole, or None. They
                come in this order where there is no draft. In a draft, one that its output lacks is
                tried at every place, and the output with the best score is kept.
            old_sources: for every source the older one that its draft translates, or None, for a
                model that was trained with ``--old-source``.
            history: whether traces have their iterations, which take time to read.
            first: number of the first sentence in messages.

        Raises:
            UserError: lists of other lengths, or of what is no text; an option that cannot be; a
                sentence beyond the model's limit; marks that cannot be read; an unknown term.
        """
        require_count("first", first)
        require_count("nbest", nbest)
        threshold = self.delete_threshold if delete_threshold is None else delete_threshold
        options = RefinementOptions(
            max_iter=self.max_iter if max_iter is None else max_iter,
            empty_penalty=0.0 if empty_penalty is None else empty_penalty,
            delete_threshold=threshold,
            retain_history=history,
            max_len_b=self.max_len_b,
            candidates=nbest if candidates is None else candidates,
            nbest=nbest,
            noise_scale=noise_scale,
            seed=seed,
        )
        decoded = self._decoded(options, batch_size)
        sentences = []
        for number, row in enumerate(read_rows(sources, drafts, terms, old_sources, first), first):
            try:
                sentences.append(self.sentence(*row, markup))
            except UserError as error:
                raise UserError(f"sentence {number}: {error}") from None
        results = decoded(sentences)
        return [self._with_terms(*each, decoded) for each in zip(sentences, results)]

    def _decoded(self, options: RefinementOptions, batch_size: int) -> Decoded:
        """Returns a function that makes the n-best traces of any number of sentences."""
        decode = self.decoder(options)
        processing = self.text_processing

        def edited(batch: Sequence[Sentence]) -> Iterator[list[EditTrace]]:
            for sentence, hypotheses in zip(batch, decode(batch), strict=True):
                texts = [processing.text(sentence.symbols(each)) for each in hypotheses]
                yield [sentence.trace(*pair) for pair in zip(texts, hypotheses)]

        def decoded(sentences: Sequence[Sentence]) -> list[list[EditTrace]]:
            sizes = [(len(sentence.tokens), len(sentence.coded.tokens)) for sentence in sentences]
            return in_batches(edited, sentences, sizes, batch_size, self.prices)

        return decoded

    def _with_terms(
        self, sentence: Sentence, result: list[EditTrace], decoded: Decoded
    ) -> list[EditTrace]:
        """Returns an n-best list that has the terms.

        Each that it lacks is tried at every place of the draft; what has the best score stays.
        """
        terms = list(sentence.terms)
        while lacking := [term for term in terms if not self._is_in(term, result)]:
            term = lacking[0]
            terms.remove(term)  # from now on a mark keeps it
            drafts = with_term(sentence.coded, term, joining_of(self.symbols.names))
            tried = [replace(sentence, coded=draft) for draft in drafts]
            results = decoded(tried)
            scores = [best.score for best, *_ in results]
            place = scores.index(max(scores))
            sentence, result = tried[place], results[place]
        return result

    def _is_in(self, term: Draft, result: list[EditTrace]) -> bool:
        text = self.text_processing.text(term.words)
        return all(holds(trace.text, text) for trace in result)

    def edit(
        self, sources: Iterable[str], drafts: Iterable[str | None] | None = None, **options: Any
    ) -> list[EditTrace]:
        """Edits every draft, or writes an output for every source that has none.

        Options and errors are those of :meth:`edit_nbest`.

        Returns:
            the best trace for every source, in order: text, score (in nats: of one candidate the
            mean over tokens of the log-probability of what put or kept each, of several a sum) and
            the iterations.
        """
        return [best for best, *_ in self.edit_nbest(sources, drafts, **options)]

    def stream(
        self, pairs: Iterable[str | Sequence[str | None] | Pause], *, buffer: int = BUFFER,
        **options: Any,
    ) -> Iterator[EditTrace]:  # fmt: skip
        """Yields the best trace for every item, in order; reads no more than a buffer ahead.

        Args:
            pairs: sources, or tuples of source, draft and old source, with one or both of the last
                missing or None; may be without an end.
            buffer: items that are taken, sorted by length and decoded in batches; 1 answers each
                before the next is asked for, a :class:`.Pause` what came before it. Does not change
                the outputs.
            **options: others of :meth:`edit_nbest`; so are the errors.
        """
        signature(self.edit_nbest).bind((), **options)  # also where no item comes
        first = 1
        for chunk in chunks(pairs, buffer):
            rows = [row if isinstance(row, list | tuple) else [row] for row in chunk]
            sides = dict(zip_longest(("sources", "drafts", "old_sources"), zip_longest(*rows)))
            if None in sides:
                raise UserError(f"from sentence {first} on: give source, draft and old source")
            yield from self.edit(first=first, **sides, **options)
            first += len(chunk)

    @abstractmethod
    def decoder(self, options: RefinementOptions) -> Decode:
        """Returns a function that makes the n-best of a batch."""

    @abstractmethod
    def encode_draft(self, text: str, markup: bool) -> Draft:
        """Returns a draft as tokens; errors of :func:`marked_tokens`."""

    @abstractmethod
    def encode_source(self, source: str, old: str | None) -> Any:
        """Returns a source as tokens, the change from an older one marked."""

    def sentence(
        self,
        source: str,
        draft: str | None,
        terms: Sequence[str] | None,
        old: str | None,
        markup: bool,
    ) -> Sentence:
        """Returns a sentence as tokens, none longer than the model's limits."""
        marked = [write_mark(term, "term") for term in terms or ()]
        if draft is None:  # they are what to start from, each to stay whole (Susanto et al., 2020)
            coded = self.encode_draft(" ".join(marked), markup or bool(marked))
            marked = []
        else:
            coded = self.encode_draft(draft, markup)
        lacking = [self.encode_draft(term, True) for term in marked]
        tokens = self.encode_source(source, old)
        written = len(coded.tokens) + sum(len(term.words) for term in lacking)
        sizes = {"source": len(tokens), "draft": written}
        for (name, size), limit in zip(sizes.items(), self.limits):
            if size > limit:
                raise UserError(f"{size} {name} tokens where the model's limit is {limit}")
        return Sentence(source, draft, coded, lacking, tokens, self.dictionary)


def marked_tokens(
    text: str,
    markup: bool,
    cut: Callable[[str], str],
    numbers: Callable[[list[str]], list[int]],
    symbols: Symbols,
    longest: int,
) -> Draft:
    """Returns a draft as tokens, with the marks on them.

    Args:
        markup: whether the text has marks.
        cut: makes tokens of text, with spaces between them. numbers: of such words, ends included.
        longest: most tokens of a draft; marks on more are not placed, which takes their square.

    Raises:
        UserError: marks that cannot be read, or a term with a word that is not known.
    """
    if not markup:
        words = cut(text).split()
        return Draft(words, numbers(words), [0] * (len(words) + 2))
    plain, spans = parse_markup(text)
    if spans and len(cut(plain).split()) + 2 > longest:
        spans = []
    words, bits = token_marks(plain, spans, cut)
    tokens = numbers(words)
    unknown = {word for word, token in zip(words, tokens[1:]) if token == symbols.unk}
    terms = [plain[span.start : span.end] for span in spans if span.kind == "term"]
    for term in terms:
        for word in cut(term).split():
            if word in unknown:
                raise UserError(
                    f"the term {term!r} has {word!r}, which is not in the vocabulary; choose "
                    "another word, or mark it [=…=] in a draft"
                )
    if any(bits):
        bits = whole_words(words, bits, joining_of(symbols.names))
    return Draft(words, tokens, [0, *bits, 0])
