"""Which of the n-best for a sentence is the best.

Shapes: R candidates, T tokens.
"""

from collections.abc import Sequence

import torch
from fairseq.data import Dictionary

from .policy import EditPolicy, MemoryT, with_features
from .state import EditHypothesis


def rate(
    policy: EditPolicy[MemoryT],
    memory: MemoryT,
    hypotheses: Sequence[EditHypothesis],
    dictionary: Dictionary,
    placeholder: int,
    device: torch.device | None = None,
) -> None:
    """Gives candidates a ``score`` by which those to one sentence can be compared.

    It is the sum, in nats, of log p of every deletion and of every token written on the way
    (``actions``), of keeping each token of the answer, and of inserting nothing in each of its
    slots: what was done, and that nothing is left to do. A mean over tokens favours short
    candidates, and what was tried and taken back would cost nothing. How many tokens were inserted
    at a time is no part of it: a gap may be filled at once or little by little.

    Args:
        memory: of the encoder, row for row with ``hypotheses`` (R).
        dictionary: of the target. placeholder: its last symbol; larger numbers are unknown words.
        device: of the policy; None where the hypotheses' tokens are there already.
    """
    if not hypotheses:
        return
    pad = dictionary.pad()
    tokens = torch.nn.utils.rnn.pad_sequence(
        [one["tokens"] for one in hypotheses], batch_first=True, padding_value=pad
    )
    tokens = tokens.masked_fill(tokens > placeholder, dictionary.unk()).to(device)
    fixed = tokens.eq(pad) | tokens.eq(dictionary.bos()) | tokens.eq(dictionary.eos())
    memory = with_features(policy, tokens, memory)
    keep = policy.deletion_logits(tokens, memory).float().log_softmax(-1)[..., 0]
    close = policy.placeholder_logits(tokens, memory).float().log_softmax(-1)[..., 0]
    settled = keep.masked_fill(fixed, 0.0).sum(1)
    settled = settled + close.masked_fill(tokens[:, 1:].eq(pad), 0.0).sum(1)
    for hypothesis, final in zip(hypotheses, settled.tolist()):
        hypothesis["score"] = hypothesis["actions"] + final


def best(candidates: Sequence[EditHypothesis], number: int) -> list[EditHypothesis]:
    """The ``number`` best different candidates; of equal ones the first."""
    different: list[EditHypothesis] = []
    for answer in sorted(candidates, key=lambda answer: -answer["score"]):
        if not any(torch.equal(answer["tokens"], other["tokens"]) for other in different):
            different.append(answer)
    return different[:number]
