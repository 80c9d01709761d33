"""The curve of Figure 5: one decoding a mode, and what is written of it."""

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import oracle_curve as command
import pytest
import tiny
from decoding.fake_policy import RandomPolicy
from oracle import ORACLES, with_oracle
from oracle_curve import Corpus

from lev_plugins.systems.levenshtein.decoding.policy import EnsemblePolicy

TASK = tiny.task()
ROWS = tiny.triples(20, 4, longest=7)
MOST = 4


def policies(count: int = 1) -> list[RandomPolicy]:
    return [RandomPolicy(TASK.tgt_dict, TASK.placeholder, 6 + i, 0.5) for i in range(count)]


def flags(**values: Any) -> Namespace:
    """The command's options; those that only reading the data needs are left out."""
    chosen = {"max_iter": MOST, "iter_decode_eos_penalty": 0.0, "remove_bpe": None}
    return Namespace(**{**chosen, "max_len_a": 0.0, "max_len_b": 9, **values})


def corpus(drafted: bool = True) -> Corpus:
    """Three batches, the sentences of each in another order."""
    spaced = {i: " ".join(row.target) for i, row in enumerate(ROWS)}
    drafts = {i: " ".join(row.draft) for i, row in enumerate(ROWS)}
    batches = [
        tiny.batch(TASK, [ROWS[i] for i in ids], ids, left=True, drafted=drafted)
        for ids in ([0, 5, 2, 1], [*range(19, 12, -1)], [3, 4, *range(6, 13)])
    ]
    return Corpus(batches, spaced, drafts if drafted else None)


def separately(
    models: Sequence[Any], mode: str, limit: int, args: Namespace, drafted: bool
) -> dict[int, tuple[str, int]]:
    """Outputs and iterations of a run of its own under a limit."""
    options = Namespace(
        iter_decode_max_iter=limit,
        iter_decode_eos_penalty=args.iter_decode_eos_penalty,
        max_len_a=args.max_len_a,
        max_len_b=args.max_len_b,
    )
    generator = TASK.build_generator(models, options)
    policy = models[0] if len(models) == 1 else EnsemblePolicy(models)
    found = {}
    for batch in corpus(drafted).batches:
        helped = with_oracle(policy, mode, batch["target"])
        for number, (one,) in zip(
            batch["id"].tolist(), generator.generate([helped], batch), strict=True
        ):
            text = " ".join(tiny.letters(one["tokens"], TASK.tgt_dict)).replace("_", "<unk>")
            found[number] = (text, one["steps"])
    return found


@pytest.mark.parametrize("mode", ORACLES)
@pytest.mark.parametrize(("count", "drafted"), [(1, True), (2, False)])
def test_one_decoding_gives_what_separate_runs_give(mode, count, drafted):
    args = flags(iter_decode_eos_penalty=0.3)
    models = policies(count)
    decoded = dict(command.decode(TASK, models, corpus(drafted), mode, args))
    assert sorted(decoded) == list(range(20))
    for limit in range(1, MOST + 1):
        for number, (text, steps) in separately(models, mode, limit, args, drafted).items():
            assert decoded[number].outputs[limit - 1] == text
            assert min(decoded[number].steps, limit) == steps
    if drafted:
        assert len({one.steps for one in decoded.values()}) > 2, "they end at different times"
        changed = [len(set(one.outputs)) for one in decoded.values()]
        assert max(changed) > 2 and min(changed) == 1
