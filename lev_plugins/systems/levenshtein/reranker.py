"""Ranks the candidates for a sentence by an autoregressive model of fairseq.

Shapes: B sentences, S source tokens, N draft tokens.
"""

import itertools
from collections.abc import Sequence

import torch
from fairseq.data import Dictionary, data_utils
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from lev_runtime.batching import in_budget
from lev_runtime.errors import UserError
from lev_runtime.refine.policy import is_edit_model

MAX_TOKENS = 4096  # padded, of either side, in one pass of a re-ranker
#: the number of a source in its batch, and the tokens of a candidate for it
Pair = tuple[int, tuple[int, ...]]


class Reranker:
    """An encoder-decoder model of fairseq that says how likely each hypothesis is.

    The source is given as fairseq's ``translation`` task gives it in training: without <s>, padded
    on the left. A model with the attribute ``joins_draft`` reads source </s> draft </s> instead.

    Args:
        dictionary: that of the hypotheses. placeholder: index of the symbol that the model's may
            lack; fairseq adds words that it has joined (--post-process) after it.
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
        model.eval()  # not chained: fairseq-generate replaces train(), which returns None then
        self.dictionary = dictionary
        self.size = len(own)
        self.length_penalty = length_penalty

    @torch.no_grad()
    def score(
        self, src_tokens: Tensor, draft: Tensor | None, hypotheses: Sequence[Sequence[Tensor]]
    ) -> list[list[float]]:
        """Returns each candidate's log-probability (nats) over its length to the power of lenpen.

        The length counts </s> and not <s>. All sentences have both.

        Args:
            src_tokens: B × S, padded on either side. draft: B × N; None: empty.
            hypotheses: for each of B sentences its candidates, without padding.
        """
        sources = [self._read(sentence, known=False) for sentence in src_tokens]
        if getattr(self.model, "joins_draft", False):
            empty = src_tokens.new_full((len(sources), 1), self.dictionary.eos())
            drafts = map(self._read, empty if draft is None else draft)
            sources = [torch.cat(sides) for sides in zip(sources, drafts, strict=True)]
        # candidates of one sentence often come out the same: each is scored once
        pairs = [
            [(row, tuple(self._read(candidate).tolist())) for candidate in candidates]
            for row, candidates in enumerate(hypotheses)
        ]
        different = list(dict.fromkeys(itertools.chain(*pairs)))
        sizes = [(len(sources[row]), len(target)) for row, target in different]

        def work(batch: list[Pair]) -> list[float]:
            batch = batch[::-1]  # the longest sources first, as fairseq's LSTM wants them
            targets = [torch.tensor(target) for _, target in batch]
            return self._score([sources[row] for row, _ in batch], targets)[::-1]

        scores = dict(zip(different, in_budget(work, different, sizes, MAX_TOKENS)))
        return [[scores[pair] for pair in sentence_pairs] for sentence_pairs in pairs]

    def _read(self, sentence: Tensor, known: bool = True) -> Tensor:
        """Returns a sentence without padding and <s>; with only symbols that are ``known``."""
        tokens = sentence.cpu()
        is_read = tokens.ne(self.dictionary.pad()) & tokens.ne(self.dictionary.bos())
        tokens = tokens[is_read]
        if not known:
            return tokens
        return tokens.masked_fill(tokens >= self.size, self.dictionary.unk())

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
        means = sums / real.sum(1).pow(self.length_penalty)
        return means.tolist()
