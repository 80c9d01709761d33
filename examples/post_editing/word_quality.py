"""Asks a LevT which words of a translation are wrong: Matthews correlation with the post-edits.

    python examples/post_editing/word_quality.py WORK WORK/scratch/checkpoint_last.pt

A word is bad if the deletion head would delete a part of it, a gap between words if the placeholder
head would fill it (Ding et al., 2021). In truth a word is bad if an alignment of fewest errors does
not keep it, a gap if it puts a word there. WORK is what prepare.sh made; the two thresholds are
those that are best on the development set.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import matthews_corrcoef as mcc

from lev_plugins import LevenshteinEditor
from lev_runtime.io.text_files import read_parallel
from lev_runtime.refine.policy import EditState
from lev_runtime.text.words import aligned


def labels(draft: list[str], edited: list[str]) -> list[list[bool]]:
    """Returns which words are wrong, and which gaps lack words."""
    pairs = dict(aligned(draft, edited))
    words = [i not in pairs or draft[i] != edited[pairs[i]] for i in range(len(draft))]
    ends = [-1, *(pairs.get(i, -1) for i in range(len(draft))), len(edited)]
    latest = np.maximum.accumulate(ends)  # word of the post-edit before each gap
    return [words, [b - a > 1 for a, b in zip(latest, latest[1:])]]


@torch.no_grad()
def probabilities(editor: LevenshteinEditor, source: str, draft: str) -> list[np.ndarray]:
    """Returns the probability of an edit of each word and each gap."""
    (model,) = editor.models
    coded = editor.encode_draft(draft, markup=False)
    encoder_out = model.encode(editor.encode_source(source, None)[None])
    state = EditState(coded.tokens[None], encoder_out)
    deleted = model.logits("deletion", state).softmax(-1)[0, 1:-1, 1]
    filled = 1 - model.logits("placeholder", state).softmax(-1)[0, :, 0]
    starts = [n for n, piece in enumerate(coded.words) if piece.startswith("▁")]
    return [np.maximum.reduceat(deleted, starts), filled[[*starts, -1]].numpy()]


def main(work: str, checkpoint: str) -> None:
    editor = LevenshteinEditor.from_pretrained(
        checkpoint, bpe="sentencepiece", sentencepiece_model=f"{work}/spm.model"
    )
    parts = []
    for part in ("dev", "test"):
        files = [str(Path(work, "text", f"{part}.{side}")) for side in ("src", "mt", "pe")]
        lines = list(read_parallel(files))
        truth = zip(*(labels(mt.split(), pe.split()) for _, mt, pe in lines))
        said = zip(*(probabilities(editor, source, mt) for source, mt, _ in lines))
        parts += [[*map(np.concatenate, truth)], [*map(np.concatenate, said)]]
    for name, truth, said, test_truth, test in zip(("words", "gaps"), *parts):
        steps = np.quantile(said, np.linspace(0.5, 0.995, 100))
        best = max(steps, key=lambda step: mcc(truth, said > step))
        print(f"{name}: MCC {mcc(test_truth, test > best):.3f}, {test_truth.mean():.1%} bad")


if __name__ == "__main__":
    main(*sys.argv[1:])
