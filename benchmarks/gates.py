"""What the gates of gated-Trans know: by the paper's own protocol, and without it.

    python benchmarks/gates.py WORK NAME [--json FILE]

WORK is of examples/spelling_and_ocr, with the checkpoint WORK/gated-NAME. *forced*: the share of
words that are right, in percent, when each character is the likeliest after the right ones before
it, which is how the paper scores (teacher forcing). *AUC* says how well the mask gate tells wrong
words from right ones (the paper's Figure 2): the chance that a wrong word's highest u is above a
right one's. *AUC of new words* is that of not being among the training words.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from fairseq.models import BaseFairseqModel
from sklearn.metrics import roc_auc_score

import lev_plugins  # noqa: F401  (registers the model)
from lev_runtime.io.commands import run_cli
from lev_runtime.io.options import Parser
from lev_runtime.io.text_files import read_lines
from lev_runtime.text.words import correction_counts

SPACE = "▁"
Rows = list[list[str]]


class Word(NamedTuple):
    """A noisy word: whether it is wrong, whether training lacks it, and its highest u."""

    is_wrong: bool
    is_new: bool
    masked: float


def characters(work: Path, name: str) -> Rows:
    """Returns the characters of each line of ``test.noisy`` and the like."""
    return [line.split() for line in read_lines(str(work / "characters" / name))]


def text(symbols: list[str]) -> str:
    """Returns a line as words with spaces between them."""
    return "".join(symbols).replace(SPACE, " ")


def numbers(symbols: list[str], dictionary: Dictionary) -> torch.Tensor:
    """Returns a line of characters as a batch of one, with </s> at its end."""
    return torch.tensor([[*map(dictionary.index, symbols), dictionary.eos()]])


def forced(
    model: BaseFairseqModel, source: torch.Tensor, target: torch.Tensor, dictionary: Dictionary
) -> str:
    """Returns the likeliest character at each place of the target, given the right ones before."""
    logits, _ = model(source, None, target.roll(1))
    best = logits.argmax(2)[0].tolist()
    return text([dictionary[number] for number in best if number != dictionary.eos()])


def words_of(
    noisy: list[str], clean: list[str], masked: list[float], known: set[str]
) -> Iterator[Word]:
    """Yields the words of a line; none where noisy and clean text have not as many."""
    said, right = text(noisy).split(" "), text(clean).split(" ")
    if len(said) != len(right):
        return
    end = -1
    for word, wanted in zip(said, right, strict=True):
        start, end = end + 1, end + 1 + len(word)
        if word:
            yield Word(word != wanted, word not in known, max(masked[start:end]))


@torch.no_grad()
def figures(work: Path, name: str) -> dict[str, float]:
    """Returns the numbers of one checkpoint."""
    path, data = work / f"gated-{name}" / "checkpoint_last.pt", work / "data"
    (model,), _, task = checkpoint_utils.load_model_ensemble_and_task(
        [str(path)], arg_overrides={"data": str(data)}
    )
    model.eval()
    known = {word for line in characters(work, "train.clean") for word in text(line).split()}
    outputs, words = list[str](), list[Word]()
    noisy, clean = characters(work, "test.noisy"), characters(work, "test.clean")
    for said, right in zip(noisy, clean, strict=True):
        source = numbers(said, task.source_dictionary)
        target = numbers(right, task.target_dictionary)
        outputs.append(forced(model, source, target, task.target_dictionary))
        masked = model.encoder(source)["encoder_out"][0].masked
        if masked is not None:
            words += words_of(said, right, masked[0].tolist(), known)
    teacher = correction_counts(list(map(text, noisy)), outputs, list(map(text, clean)))
    scores = {"forced": teacher.word_accuracy}
    if words:
        is_wrong = [word.is_wrong for word in words]
        scores["AUC"] = float(roc_auc_score(is_wrong, [word.masked for word in words]))
        scores["AUC of new words"] = float(roc_auc_score(is_wrong, [word.is_new for word in words]))
    return scores


def main() -> None:
    """Prints the numbers, and writes them."""
    parser = Parser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder of prepare_ocr.sh")
    parser.add_argument("name", help="of the folder WORK/gated-NAME")
    parser.add_argument("--json", type=Path, help="file to write")
    args = parser.parse_args()
    written = json.dumps({"systems": {args.name: figures(args.work, args.name)}}, indent=1)
    print(written)
    if args.json:
        args.json.write_text(f"{written}\n", encoding="utf-8")


if __name__ == "__main__":
    run_cli(main)
