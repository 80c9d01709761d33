"""Exports of before 0.9, whose graphs read tokens and run all heads, still serve."""

import random
from pathlib import Path

import pytest

from lev_runtime import Editor

EXPORTS = Path(__file__).parents[2] / "exports"


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 64])
def test_a_model_answers_alike_from_either_format(size):
    older, newer = (Editor(EXPORTS / name, threads=1) for name in ("traced_0_8", "traced"))
    rng = random.Random(1)
    sources, drafts = ([" ".join(rng.choices("abcdefgh", k=rng.randrange(12))) for _ in range(90)]
                       for _ in range(2))  # fmt: skip
    orders = [f"{draft} [=a=] [-b c-] [+d e+]" for draft in drafts]
    for texts, options in ((drafts, {}), (orders, {"markup": True}), (None, {"candidates": 3})):
        answers = [
            editor.edit(sources, texts, batch_size=size, max_iter=3, **options)
            for editor in (older, newer)
        ]
        for trace, other in zip(*answers, strict=True):
            assert trace.score == pytest.approx(other.score, abs=1e-4)
            assert (trace.text, trace.iterations) == (other.text, other.iterations)
    assert len({trace.text for trace in answers[0]}) > 20
