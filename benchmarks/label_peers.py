"""What users would take instead of EncT5 for texts with labels, on the same lines.

    python benchmarks/label_peers.py WORK [--json FILE]
    python benchmarks/label_peers.py WORK --fine-tune [--updates 1500 --lr 0.0001 --seed 1]

WORK is the folder of ``examples/classification/prepare.sh multilabel DATA WORK``. scikit-learn
(pip install -r benchmarks/requirements-peers.txt) counts words and pairs of words, weighs them by
TF-IDF, and fits a logistic regression for each label. With ``--fine-tune`` it is the BERT that
WORK was prepared with (``BERT=DIR``) and one linear layer over its [CLS] instead, all at one
learning rate (Devlin et al., 2019, section 4.1) unless ``--head-lr-ratio`` gives the layer another.
How much is regularized, and the threshold above which a label holds, are chosen on the validation
set; the test set is scored once.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from common import machine

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples" / "classification"))

from evaluate import Example, label_scores, read  # noqa: E402

from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402

DROPOUT = 0.1
STRENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # scikit-learn's C
THRESHOLDS = [step / 100 for step in range(5, 96)]
TEXTS, LONGEST = 64, 128  # in an update; subwords of a text
HALF = 0.5
Parts = Sequence[Sequence[Example]]  # train, valid and test


def fitted(labels: Sequence[str], parts: Parts) -> tuple[Any, dict[str, float]]:
    """The labels' probabilities for each test text, and what was chosen on valid."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    seen = words.fit_transform(one.text for one in parts[0])
    new = [words.transform(one.text for one in part) for part in parts[1:]]
    tried = []
    for strength in STRENGTHS:
        model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))
        model.fit(seen, truth_of(labels, parts[0]).numpy())
        on_valid, on_test = (model.predict_proba(part) for part in new)
        tried.append((*best_threshold(labels, on_valid, parts[1]), strength, on_test))
    best, threshold, strength, chances = max(tried, key=lambda one: one[:3])
    size = (seen.shape[1] + 1) * len(labels)
    chosen = {"micro-F1, validation": best, "threshold": threshold, "C": strength}
    return chances, {**chosen, "parameters": size}


def fine_tuned(
    args: argparse.Namespace, labels: Sequence[str], parts: Parts
) -> tuple[Any, dict[str, float]]:
    """As :func:`fitted`, for a BERT with a linear layer."""
    from transformers import AutoTokenizer

    torch.manual_seed(args.seed)
    folder = (args.work / "bert").read_text("utf-8").strip()
    tokenizer, short = AutoTokenizer.from_pretrained(folder), {"truncation": True}
    inputs = [
        [torch.tensor(tokenizer(one.text, max_length=LONGEST, **short).input_ids) for one in part]
        for part in parts
    ]
    truth = truth_of(labels, parts[0]).float()
    model = FineTuned(folder, len(labels))
    own = {id(one) for one in model.head.parameters()}
    backbone = [one for one in model.parameters() if id(one) not in own]
    head = {"params": list(model.head.parameters()), "lr": args.lr * args.head_lr_ratio}
    optimizer = torch.optim.AdamW([{"params": backbone}, head], lr=args.lr, weight_decay=0.01)
    warmup = args.updates // 10 + 1
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warmup, (args.updates - step) / (args.updates - warmup)),
    )
    order: list[int] = []
    for _ in range(args.updates):
        if len(order) < TEXTS:
            order = torch.randperm(len(truth)).tolist() + order
        rows = [order.pop() for _ in range(TEXTS)]
        with torch.autocast("cpu", torch.bfloat16):
            logits = model([inputs[0][row] for row in rows])
        loss = F.binary_cross_entropy_with_logits(logits.float(), truth[rows])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    on_valid, on_test = (model.chances(part) for part in inputs[1:])
    best, threshold = best_threshold(labels, on_valid, parts[1])
    size = sum(parameter.numel() for parameter in model.parameters())
    chosen = {"micro-F1, validation": best, "threshold": threshold, "updates": args.updates}
    return on_test, {**chosen, "parameters": size}


class FineTuned(torch.nn.Module):
    """A pre-trained BERT of a folder, read by transformers, and a linear layer over its [CLS]."""

    def __init__(self, folder: str, labels: int) -> None:
        from transformers import AutoModel

        super().__init__()
        rates = dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), DROPOUT)
        self.bert = AutoModel.from_pretrained(folder, add_pooling_layer=False, **rates).train()
        self.head = torch.nn.Linear(self.bert.config.hidden_size, labels)

    def forward(self, texts: Sequence[Any]) -> Any:
        """B texts of any lengths → logits, B × N."""
        tokens = torch.nn.utils.rnn.pad_sequence(list(texts), batch_first=True)
        states = self.bert(tokens, attention_mask=tokens.ne(0).long()).last_hidden_state
        return self.head(F.dropout(states[:, 0], DROPOUT, self.training))

    @torch.no_grad()
    def chances(self, texts: Sequence[Any]) -> Any:
        """Each label's probability for each text."""
        self.eval()
        parts = [self(texts[at : at + TEXTS]).sigmoid() for at in range(0, len(texts), TEXTS)]
        return torch.cat(parts).numpy()


def truth_of(labels: Sequence[str], examples: Sequence[Example]) -> torch.Tensor:
    """Whether each label holds for each text."""
    return torch.tensor([[name in one.labels for name in labels] for one in examples])


def best_threshold(
    labels: Sequence[str], chances: Any, examples: Sequence[Example]
) -> tuple[float, float]:
    """The highest micro-F1 that any threshold has, and the threshold."""
    return max(
        (label_scores(above(labels, chances, one), examples)["micro-F1"], one) for one in THRESHOLDS
    )


def above(labels: Sequence[str], chances: Any, threshold: float) -> list[list[str]]:
    """Of each text the labels above a threshold."""
    return [[labels[i] for i in (row > threshold).nonzero()[0]] for row in chances]


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, choose, score, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("work", type=Path, help="folder of prepare.sh multilabel")
    add("--fine-tune", action="store_true", help="WORK's BERT with a linear layer instead")
    add("--updates", type=int, default=1500, help="of that training (default: 1500)")
    add("--lr", type=float, default=1e-4, help="highest learning rate (default: 0.0001)")
    add("--head-lr-ratio", type=float, default=1, help="the linear layer's, in --lr (default: 1)")
    add("--seed", type=int, default=1, help="of that training (default: 1)")
    add("--json", type=Path, metavar="FILE", help="write the numbers to FILE too")
    args = parser.parse_args(argv)
    if args.fine_tune and not (args.work / "bert").is_file():
        raise UserError(f"{args.work} has no BERT: BERT=DIR …/prepare.sh multilabel names one")
    began = time.process_time()
    parts = [
        read(args.work / "text" / f"{part}.tsv", "multilabel")
        for part in ("train", "valid", "test")
    ]
    labels = sorted({label for one in parts[0] for label in one.labels})
    chances, chosen = fine_tuned(args, labels, parts) if args.fine_tune else fitted(labels, parts)
    row: dict[str, float] = {}
    for how, threshold in (("0.5", HALF), ("tuned", chosen["threshold"])):
        found = label_scores(above(labels, chances, threshold), parts[2])
        row |= {f"{metric}, {how}": value for metric, value in found.items()}
    row |= {**chosen, "processor hours": (time.process_time() - began) / 3600}
    name = "BERT with a linear layer" if args.fine_tune else "TF-IDF and logistic regression"
    print(f"{name}: {len(parts[2]):,} test examples, {machine()}")
    print("\n".join(f"{metric:20} {value:,.4g}" for metric, value in row.items()))
    if args.json:
        args.json.write_text(json.dumps({"systems": {name: row}}, indent=1) + "\n")


if __name__ == "__main__":
    run_cli(main)
