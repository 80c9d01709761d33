"""Which words of a draft are wrong: LevT's own probabilities as word-level quality estimates.

    lev-export WORK/scratch/checkpoint_last.pt EXPORT
    python examples/analysis/word_quality.py EXPORT WORK/text

WORK/text of examples/post_editing holds {train,dev,test}.{src,mt,pe}. A word of the draft is wrong
where an alignment with fewest errors does not set an equal word of the post-edit against it; a gap
where words of the post-edit are missing. LevT reads a draft once: a word is as probably wrong as it
is deleted, a gap as something is inserted there. A linear model learns from train, of the word, its
neighbours and whether the source has it, without LevT's probability and with it. Thresholds are the
best of dev. Who calls everything right has an MCC of 0.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import matthews_corrcoef
from sklearn.pipeline import make_pipeline

from lev_runtime import Editor
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_parallel
from lev_runtime.refine.policy import EditState
from lev_runtime.text.words import aligned

LEVT = "LevT"


def main() -> None:
    """Prints a row for words and one for gaps."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", help="folder of lev-export")
    parser.add_argument("text", type=Path, help="folder of {train,dev,test}.{src,mt,pe}")
    args = parser.parse_args()
    editor = Editor(args.export)
    parts = []
    for part in ("train", "dev", "test"):
        lines = read_parallel([args.text / f"{part}.{side}" for side in ("src", "mt", "pe")])
        parts.append([place for line in lines for place in places(editor, *line)])
    for kind in ("word", "gap"):
        train, dev, test = ([place for place in part if kind in place[0]] for part in parts)
        rows = {LEVT: [np.array([place[LEVT] for place, _ in part]) for part in (dev, test)]}
        for name, left_out in {"linear": {LEVT}, "linear with LevT": set()}.items():
            (known, wrong), *described = (without(left_out, part) for part in (train, dev, test))
            model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=1000))
            model.fit(known, wrong)
            rows[name] = [model.predict_proba(place)[:, 1] for place, _ in described]
        scores = ", ".join(f"{name} {mcc(*row, dev, test):.3f}" for name, row in rows.items())
        wrong = [is_wrong for _, is_wrong in test]
        print(f"{kind}: {len(wrong)}, of these wrong {100 * np.mean(wrong):.1f} %; MCC: {scores}")


Place = tuple[dict[str, str | bool | float], bool]  # what is known of it, and whether it is wrong


def places(editor: Editor, source: str, draft: str, edited: str) -> Iterator[Place]:
    """Describes all words and gaps of a draft."""
    words = ["<s>", *draft.split(), "</s>"]
    pairs = aligned(words, wanted := ["<s>", *edited.split(), "</s>"])
    right = {i for i, j in pairs if words[i] == wanted[j]}
    missing = {i for (_, j), (i, following) in zip(pairs, pairs[1:]) if following > j + 1}
    encoder_out = editor.policy.encode(np.array([editor.encode_source(source, None)]))
    pieces = editor.encode_draft(draft, markup=False)
    state = EditState(np.array([pieces.tokens]), encoder_out)
    deletion = softmax(editor.policy.logits("deletion", state)[0])[:, 1]
    insertion = 1 - softmax(editor.policy.logits("placeholder", state)[0])[:, 0]
    starts = [i for i, piece in enumerate([*pieces.words, "▁"], 1) if piece.startswith("▁")]
    for i, (start, end) in enumerate(zip(starts, [*starts[1:], starts[-1] + 1]), 1):
        known = {"before": words[i - 1], "here": words[i], "in source": words[i] in source.split()}
        yield known | {"gap": True, LEVT: float(insertion[start - 1])}, i in missing
        if i < len(words) - 1:
            probability = float(max([*deletion[start:end], *insertion[start : end - 1]]))
            yield known | {"word": True, "after": words[i + 1], LEVT: probability}, i not in right


def softmax(logits: np.ndarray) -> np.ndarray:
    """Returns probabilities over the last axis."""
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def without(names: set[str], places: list[Place]) -> tuple[list[dict], list[bool]]:
    """Returns what is known of places but for some names, and which are wrong."""
    known = [{k: v for k, v in place.items() if k not in names} for place, _ in places]
    return known, [is_wrong for _, is_wrong in places]


def mcc(on_dev: np.ndarray, on_test: np.ndarray, dev: list[Place], test: list[Place]) -> float:
    """Returns Matthews' correlation on test by the threshold that is best on dev."""
    thresholds = np.linspace(0.02, 0.98, 49)
    wrong = [is_wrong for _, is_wrong in dev]
    best = max(thresholds, key=lambda bound: matthews_corrcoef(wrong, on_dev > bound))
    return matthews_corrcoef([is_wrong for _, is_wrong in test], on_test > best)


if __name__ == "__main__":
    run_cli(main)
