"""Several candidates for a sentence: noisy parallel decoding (Cho, 2016; paper, §3.3), and ranking.

Shapes: B sentences, S source tokens, N draft tokens, R candidates in all, P places.
"""

from collections.abc import Sequence
from typing import Any

import torch
from fairseq.data import Dictionary, data_utils
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from lev_runtime.batching import by_budget

from ....errors import UserError
from ....ops.randomness import uniform
from .options import RefinementOptions
from .policy import EditPolicy, is_edit_model
from .records import EditHypothesis

_LINES = 1 << 20  # room for the positions of a sentence in a key of the random numbers
_NOISE_STREAM = 7  # apart from those of the roll-in
NOISE_BYTES = 1 << 26  # of a tensor of random bits; there are some at a time
MAX_TOKENS = 4096  # padded, of either side, in one pass of a re-ranker


class CandidateNoise:
    """The noise of a batch's candidates; R: candidates, those of a sentence side by side.

    Args:
        keys: R, of :func:`sentence_keys`.
    """

    def __init__(self, options: RefinementOptions, keys: Tensor) -> None:
        self.options, self.keys = options, keys

    def __call__(
        self, rows: Tensor, places: Tensor, width: int, stream: int, classes: int
    ) -> Tensor:
        """P × ``classes`` at ``places`` (P) of R' × ``width`` laid flat; ``rows``: R' of R."""
        candidates = rows[places.div(width, rounding_mode="floor")]
        positions = places.remainder(width)
        return gumbel_noise(
            self.options, self.keys[candidates], candidates, stream, positions, classes
        )


def gumbel_noise(
    options: RefinementOptions,
    keys: Tensor,
    rows: Tensor,
    stream: int,
    positions: Tensor,
    classes: int,
) -> Tensor:
    """Noise on logits, P × ``classes``; 0 for the first candidate, that of plain decoding.

    It depends on the seed, the sentence and the candidate alone. keys: P, of
    :func:`sentence_keys`. rows: P, candidates. stream: iteration and phase. positions: P.
    """
    number = rows.remainder(options.candidates)
    lines = (keys + number) * _LINES + positions
    row_bytes = lines.element_size() * classes
    noise = []
    for part in lines.split(max(1, NOISE_BYTES // row_bytes)):
        points = uniform(options.seed, stream, part, classes, _NOISE_STREAM)
        noise.append(_gumbel(points))
    is_noisy = number.ne(0).unsqueeze(1)
    return options.noise_scale * torch.cat(noise) * is_noisy


def _gumbel(points: Tensor) -> Tensor:
    """Uniform numbers of [0, 1) as samples of Gumbel's distribution."""
    return -(-points.clamp(min=1e-7, max=1 - 1e-7).log()).log()


def sentence_keys(source: Tensor, draft: Tensor, pad: int) -> Tensor:
    """R, long: numbers that depend on the tokens of source and draft alone, not on padding."""
    keys = torch.zeros(source.size(0), dtype=torch.long, device=source.device)
    for tokens in (source, draft):
        real = tokens.ne(pad)
        # mixed before they are added: else words that change places, or weigh the same, are lost
        mixed = (tokens * 2_654_435_761 + real.cumsum(1)) * 0x2127599BF4325C37
        mixed = (mixed ^ (mixed >> 32)) * 0x2545F4914F6CDD1D
        keys = keys * 1_000_003 + (mixed * real).sum(1)
    return keys.bitwise_and((1 << 40) - 1)


def rate(
    policy: EditPolicy,
    memory: Any,
    hypotheses: Sequence[EditHypothesis],
    dictionary: Dictionary,
    device: torch.device,
) -> None:
    """Gives candidates (R, as the rows of ``memory``) a ``score`` to compare those of a sentence.

    It is the sum, in nats, of log p of every deletion and of every token written on the way
    (``actions``), of keeping each token of the answer, and of inserting nothing in each slot.
    """
    answers = [hypothesis["tokens"] for hypothesis in hypotheses]
    tokens = data_utils.collate_tokens(answers, dictionary.pad()).to(device)
    real = tokens.ne(dictionary.pad())
    inner = real & tokens.ne(dictionary.bos()) & tokens.ne(dictionary.eos())
    settled = torch.zeros(len(tokens), device=device)
    for operation in policy.operations:
        if operation.stage != "write":
            logits = policy.logits(operation, tokens, memory)
            settled = settled + operation.rest(logits, inner, real)
    for hypothesis, final in zip(hypotheses, settled.tolist()):
        hypothesis["score"] = hypothesis["actions"] + final


def best(candidates: Sequence[EditHypothesis], number: int) -> list[EditHypothesis]:
    """The ``number`` best different candidates; of equal ones the first."""
    different: list[EditHypothesis] = []
    for answer in sorted(candidates, key=lambda answer: -answer["score"]):
        if not any(torch.equal(answer["tokens"], other["tokens"]) for other in different):
            different.append(answer)
    return different[:number]


class Reranker:
    """An encoder-decoder model of fairseq that says how likely each hypothesis is.

    The source is given as fairseq's ``translation`` task gives it in training: without <s>, padded
    on the left. A model with the attribute ``joins_draft`` reads source </s> draft </s> instead.

    Args:
        dictionary: that of the hypotheses. placeholder: index of the symbol that the model's may
            lack; fairseq adds words that it has joined (--post-process) behind it.
        length_penalty: as fairseq's ``--lenpen``: above 1 long hypotheses gain.
    """

    def __init__(
        self, model: object, dictionary: Dictionary, placeholder: int, length_penalty: float = 1.0
    ) -> None:
        if not isinstance(model, FairseqEncoderDecoderModel) or is_edit_model(model):
            raise UserError(
                f"--iter-decode-with-external-reranker: {type(model).__name__} cannot rank; give "
                "an autoregressive model last: --path edit_model.pt:transformer.pt"
            )
        own = (getattr(model.decoder, "dictionary", None) or dictionary).symbols
        if own not in (dictionary.symbols[:placeholder], dictionary.symbols[: placeholder + 1]):
            raise UserError(
                "the reranker has a different target dictionary; use one trained on the same data"
            )
        self.model = model
        self.model.eval()  # in fairseq-generate it returns nothing
        self.dictionary, self.size, self.length_penalty = dictionary, len(own), length_penalty

    @torch.no_grad()
    def score(
        self, src_tokens: Tensor, draft: Tensor | None, hypotheses: Sequence[Sequence[Tensor]]
    ) -> list[list[float]]:
        """The log-probability (nats) of each candidate's n tokens, </s> counted and <s> not, over n
        to the power of the length penalty.

        All have <s> and </s>. src_tokens: B × S, padded on either side. draft: B × N; None: empty.
        hypotheses: for each of B sentences its candidates, without padding.
        """
        sources = [self._read(sentence, known=False) for sentence in src_tokens]
        if getattr(self.model, "joins_draft", False):
            empty = src_tokens.new_full((len(sources), 1), self.dictionary.eos())
            drafts = map(self._read, empty if draft is None else draft)
            sources = [torch.cat(sides) for sides in zip(sources, drafts, strict=True)]
        # candidates of one sentence often come out the same: each is scored once
        keys = [
            [(row, tuple(self._read(candidate).tolist())) for candidate in candidates]
            for row, candidates in enumerate(hypotheses)
        ]
        sizes = {key: (len(sources[key[0]]), len(key[1])) for row in keys for key in row}
        # the longest sources first, as fairseq's LSTM wants them
        order = sorted(sizes, key=sizes.__getitem__, reverse=True)
        scores: dict[tuple[int, tuple[int, ...]], float] = {}
        for chunk in by_budget([max(sizes[key]) for key in order], MAX_TOKENS):
            part = [order[i] for i in chunk]
            targets = [torch.tensor(target) for _, target in part]
            their_sources = [sources[row] for row, _ in part]
            scores |= zip(part, self._score(their_sources, targets))
        return [[scores[key] for key in row] for row in keys]

    def _read(self, sentence: Tensor, known: bool = True) -> Tensor:
        """A sentence without padding and <s>; with only symbols that are ``known``."""
        tokens = sentence.cpu()
        tokens = tokens[tokens.ne(self.dictionary.pad()) & tokens.ne(self.dictionary.bos())]
        return tokens.masked_fill(tokens >= self.size, self.dictionary.unk()) if known else tokens

    def _score(self, sources: list[Tensor], targets: list[Tensor]) -> list[float]:
        pad, eos = self.dictionary.pad(), self.dictionary.eos()
        device = next(self.model.parameters()).device
        source = data_utils.collate_tokens(sources, pad, left_pad=True)
        previous = data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True)
        target = data_utils.collate_tokens(targets, pad).to(device)
        lengths = torch.tensor(list(map(len, sources)), device=device)
        output = self.model(source.to(device), lengths, previous.to(device))
        log_probs = self.model.get_normalized_probs(output, True, {"target": target})
        real = target.ne(pad)
        chosen = log_probs.gather(2, target.unsqueeze(2)).squeeze(2).float()
        sums = chosen.masked_fill(~real, 0.0).sum(1)
        return (sums / real.sum(1).pow(self.length_penalty)).tolist()
