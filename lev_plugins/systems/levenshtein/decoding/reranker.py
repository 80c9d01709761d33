"""Scoring finished sentences with an autoregressive model (paper, §3.3).

Shapes: B sentences, S source tokens, N draft tokens, C candidates, T target tokens.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from fairseq.data import Dictionary, data_utils
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from ....data.batching import by_budget
from ....errors import UserError
from ....fairseq_patches import filter_mask_warning
from .policy import is_edit_model

Key = tuple[int, tuple[int, ...]]  # the sentence, and the tokens of a hypothesis


class Candidate(NamedTuple):
    """What the model reads, and what it is asked for: both without <s> and with </s>."""

    source: Tensor
    target: Tensor


class Reranker:
    """An encoder-decoder model of fairseq that says how likely each hypothesis is.

    The source is given as fairseq's ``translation`` task gives it in training: without <s>. A
    model with the attribute ``joins_draft`` reads source </s> draft </s> instead.

    Args:
        model: an autoregressive model; it is put into evaluation mode.
        dictionary: that of the hypotheses. The model's own may lack its last symbol, the
            placeholder, which no hypothesis has.
        symbols: of the dictionary, where more stand in it by now.
        left_pad_source: whether sources were padded on the left in training, as they are by
            default in fairseq.
        max_tokens: most padded tokens, of either side, in one pass through the model.
        length_penalty: as fairseq's ``--lenpen``: 1 ranks by the mean over tokens; above 1 long
            hypotheses gain, below 1 short ones.

    Raises:
        UserError: the model is not autoregressive, or was trained with another target
            dictionary.
    """

    def __init__(
        self,
        model: object,
        dictionary: Dictionary,
        left_pad_source: bool = True,
        max_tokens: int = 4096,
        length_penalty: float = 1.0,
        symbols: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(model, FairseqEncoderDecoderModel) or is_edit_model(model):
            raise UserError(
                f"{type(model).__name__} cannot rank hypotheses; give an autoregressive model, "
                "such as one trained with --task translation --arch transformer"
            )
        filter_mask_warning()
        model.eval()  # in fairseq-generate it returns nothing
        self.model = model
        self.pad, self.bos, self.eos = dictionary.pad(), dictionary.bos(), dictionary.eos()
        self.unk = dictionary.unk()
        self.left_pad_source, self.max_tokens = left_pad_source, max_tokens
        self.length_penalty = length_penalty
        self.joins_draft = bool(getattr(model, "joins_draft", False))
        own = getattr(model.decoder, "dictionary", None) or dictionary
        symbols = symbols or dictionary.symbols
        if own.symbols not in (symbols, symbols[:-1]):
            raise UserError(
                "the reranker was trained with another target dictionary; give a model trained on "
                "the same data"
            )
        self.size = len(own)

    @torch.no_grad()
    def score(
        self,
        src_tokens: Tensor,
        draft: Tensor | None,
        hypotheses: Sequence[Sequence[Tensor]],
    ) -> list[list[float]]:
        """How likely every hypothesis is.

        What the model has no symbol for, in drafts and hypotheses, is an unknown word to it.

        Args:
            src_tokens: B × S, <s> … </s>, padded on either side.
            draft: B × N, <s> … </s>, or None; read only by a model that joins drafts, to which
                None is an empty draft.
            hypotheses: for each of B sentences its candidates, <s> … </s>, without padding.

        Returns:
            for each candidate the log-probability (nats) of its n tokens, </s> counted and <s>
            not, divided by n to the power of the length penalty: by default the mean, as fairseq's
            ``SequenceScorer`` gives it. It does not depend on the other candidates.
        """
        src_tokens = src_tokens.cpu()
        drafts = None if draft is None else draft.cpu()
        # candidates of one sentence often come out the same: each is scored once
        keys: list[list[Key]] = []
        wanted: dict[Key, Candidate] = {}
        for row, candidates in enumerate(hypotheses):
            source = self._source(src_tokens[row], None if drafts is None else drafts[row])
            keys.append([(row, tuple(tokens.tolist())) for tokens in candidates])
            for key, tokens in zip(keys[row], candidates):
                target = self._written(tokens.cpu())
                wanted[key] = Candidate(source, target)
        order = sorted(wanted, key=lambda key: tuple(map(len, wanted[key])), reverse=True)
        longest = [max(map(len, wanted[key])) for key in order]
        chunks = by_budget(longest, self.max_tokens)
        scores = [s for chunk in chunks for s in self._score([wanted[order[i]] for i in chunk])]
        found = dict(zip(order, scores))
        return [[found[key] for key in row] for row in keys]

    def _strip(self, tokens: Tensor) -> Tensor:
        """A sentence without padding and without <s>."""
        return tokens[tokens.ne(self.pad) & tokens.ne(self.bos)]

    def _written(self, sentence: Tensor) -> Tensor:
        """A draft or a hypothesis."""
        tokens = self._strip(sentence)
        return tokens.masked_fill(tokens >= self.size, self.unk)

    def _source(self, source: Tensor, draft: Tensor | None) -> Tensor:
        """What the encoder reads."""
        tokens = self._strip(source)
        if not self.joins_draft:
            return tokens
        end = source.new_tensor([self.eos])
        return torch.cat([tokens, end if draft is None else self._written(draft)])

    def _score(self, candidates: list[Candidate]) -> list[float]:
        """Their scores; the sources come longest first, as fairseq's LSTM wants them."""
        sources, targets = zip(*candidates)
        source = data_utils.collate_tokens(sources, self.pad, left_pad=self.left_pad_source)
        previous = data_utils.collate_tokens(
            targets, self.pad, self.eos, move_eos_to_beginning=True
        )
        device = next(self.model.parameters()).device
        target = data_utils.collate_tokens(targets, self.pad).to(device)
        net_output = self.model(
            src_tokens=source.to(device),
            src_lengths=torch.tensor(list(map(len, sources)), device=device),
            prev_output_tokens=previous.to(device),
        )
        log_probs = self.model.get_normalized_probs(
            net_output, log_probs=True, sample={"target": target}
        )
        real = target.ne(self.pad)
        chosen = log_probs.gather(2, target.unsqueeze(2)).squeeze(2).float()
        sums = chosen.masked_fill(~real, 0.0).sum(1)
        scores: list[float] = (sums / real.sum(1).pow(self.length_penalty)).tolist()
        return scores
