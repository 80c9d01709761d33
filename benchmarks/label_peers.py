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

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT, ROOT / "examples" / "classification"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import texts  # noqa: E402
from scores import label_scores  # noqa: E402

from benchmarks.machine import machine  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.pretrained.filling import Dropouts  # noqa: E402
from lev_plugins.systems.enct5.directory import EncoderDirectory  # noqa: E402
from lev_plugins.systems.enct5.metadata import Metadata  # noqa: E402
from lev_plugins.systems.enct5.network import BertEncoder  # noqa: E402
from lev_plugins.systems.enct5.problem_types import ProblemType  # noqa: E402

NAME = "TF-IDF and logistic regression"
FINE_TUNED = "BERT with a linear layer, fine-tuned"
DROPOUT = 0.1
STRENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)  # scikit-learn's C
THRESHOLDS = [step / 100 for step in range(5, 96)]
HALF = 0.5


def main(argv: Sequence[str] | None = None) -> None:
    """Fit, choose, score, print."""
    args = _arguments(argv)
    began = time.process_time()
    parts = [
        texts.read(args.work / "text" / f"{part}.tsv", ProblemType.MULTILABEL)
        for part in ("train", "valid", "test")
    ]
    name = FINE_TUNED if args.fine_tune else NAME
    labels, chances, chosen = fine_tuned(args, *parts) if args.fine_tune else fitted(*parts)
    test = parts[2]
    scores: dict[str, Any] = {}
    for how, threshold in (("0.5", HALF), ("tuned", chosen["threshold"])):
        found = label_scores(above(labels, chances, threshold), test)
        scores |= {f"{metric}, {how}": value for metric, value in found.items()}
    row = {**scores, **chosen, "processor hours": (time.process_time() - began) / 3600}
    print(f"{name}: {len(test):,} test examples, {machine('cpu')}")
    for metric, value in row.items():
        print(f"{metric:20} {value:,.4g}")
    if args.json:
        made = json.dumps({"systems": {name: row}}, indent=1) + "\n"
        Path(args.json).write_text(made, encoding="utf-8")


def fitted(
    train: Sequence[texts.Example], valid: Sequence[texts.Example], test: Sequence[texts.Example]
) -> tuple[list[str], Any, dict[str, float]]:
    """The labels, their probabilities for each test text, and what was chosen on ``valid``."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer

    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    seen = words.fit_transform(one.text for one in train)
    new = [words.transform(one.text for one in part) for part in (valid, test)]
    names = MultiLabelBinarizer()
    truth = names.fit_transform([one.labels for one in train])
    labels = [str(name) for name in names.classes_]
    tried = []
    for strength in STRENGTHS:
        model = OneVsRestClassifier(LogisticRegression(C=strength, solver="liblinear"))
        model.fit(seen, truth)
        on_valid, on_test = (model.predict_proba(part) for part in new)
        tried.append((*best_threshold(labels, on_valid, valid), strength, on_test))
    best, threshold, strength, chances = max(tried, key=lambda one: one[:3])
    chosen = {"micro-F1, validation": best, "threshold": threshold, "C": strength}
    return labels, chances, {**chosen, "parameters": seen.shape[1] * len(labels) + len(labels)}


def fine_tuned(
    args: argparse.Namespace,
    train: Sequence[texts.Example],
    valid: Sequence[texts.Example],
    test: Sequence[texts.Example],
) -> tuple[list[str], Any, dict[str, float]]:
    """As :func:`fitted`, for a BERT with a linear layer."""
    torch.manual_seed(args.seed)
    metadata = Metadata.read(str(args.work / "data"))
    labels, tokenizer = metadata.labels, metadata.tokenizer()
    inputs = [
        [torch.tensor(tokenizer.texts([one.text], metadata.max_length).pieces) for one in part]
        for part in (train, valid, test)
    ]
    truth = torch.tensor([[name in one.labels for name in labels] for one in train]).float()
    model = FineTuned((args.work / "bert").read_text("utf-8").strip(), len(labels))
    head = list(model.head.parameters())
    backbone = [*model.table.parameters(), *model.encoder.parameters()]
    optimizer = torch.optim.AdamW(
        [{"params": backbone}, {"params": head, "lr": args.lr * args.head_lr_ratio}],
        lr=args.lr,
        weight_decay=0.01,
    )
    warmup = args.updates // 10 + 1
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warmup, (args.updates - step) / (args.updates - warmup)),
    )
    order: list[int] = []
    for _ in range(args.updates):
        if len(order) < args.texts:
            order = torch.randperm(len(train)).tolist() + order
        rows = [order.pop() for _ in range(args.texts)]
        with torch.autocast("cpu", torch.bfloat16):
            logits = model([inputs[0][row] for row in rows])
        loss = F.binary_cross_entropy_with_logits(logits.float(), truth[rows])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    on_valid, on_test = (model.chances(part) for part in inputs[1:])
    best, threshold = best_threshold(labels, on_valid, valid)
    size = sum(parameter.numel() for parameter in model.parameters())
    chosen = {"micro-F1, validation": best, "threshold": threshold, "updates": args.updates}
    return labels, on_test, {**chosen, "parameters": size}


class FineTuned(torch.nn.Module):
    """A pre-trained BERT and a linear layer over its [CLS].

    Args:
        folder: of the BERT.
        labels: N.
    """

    def __init__(self, folder: str, labels: int) -> None:
        super().__init__()
        directory = EncoderDirectory(folder, "bert_dir")
        self.table = torch.nn.Embedding(len(directory.pieces()), directory.plan.dim)
        self.encoder = BertEncoder(directory.plan, Dropouts(*[DROPOUT] * 3))
        directory.fill(self.table, self.encoder)
        self.head = torch.nn.Linear(directory.plan.dim, labels)

    def forward(self, texts: Sequence[Any]) -> Any:
        """B texts of any lengths → logits, B × N."""
        tokens = torch.nn.utils.rnn.pad_sequence(list(texts), batch_first=True)
        states = self.encoder(self.table(tokens), tokens.ne(0))
        return self.head(F.dropout(states[:, 0], DROPOUT, self.training))

    @torch.no_grad()
    def chances(self, texts: Sequence[Any]) -> Any:
        """Each label's probability for each text."""
        self.eval()
        parts = [self(texts[at : at + 64]).sigmoid() for at in range(0, len(texts), 64)]
        return torch.cat(parts).numpy()


def best_threshold(
    labels: Sequence[str], chances: Any, examples: Sequence[texts.Example]
) -> tuple[float, float]:
    """The highest micro-F1 that any threshold has, and the threshold."""
    return max(
        (label_scores(above(labels, chances, one), examples)["micro-F1"], one) for one in THRESHOLDS
    )


def above(labels: Sequence[str], chances: Any, threshold: float) -> list[list[str]]:
    """Of each text the labels above a threshold."""
    return [
        [labels[i] for i in chosen.nonzero()[0]] for chosen in (row > threshold for row in chances)
    ]


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare.sh multilabel")
    add = parser.add_argument
    add("--fine-tune", action="store_true", help="WORK's BERT with a linear layer instead")
    add("--updates", type=int, default=1500, help="of that training (default: 1500)")
    add("--texts", type=int, default=64, help="in an update (default: 64)")
    add("--lr", type=float, default=1e-4, help="highest learning rate (default: 0.0001)")
    add("--head-lr-ratio", type=float, default=1, help="the linear layer's, in --lr (default: 1)")
    add("--seed", type=int, default=1, help="of that training (default: 1)")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to FILE too")
    args = parser.parse_args(argv)
    if not (args.work / "text" / "valid.tsv").is_file():
        raise UserError(
            f"{args.work} has no text: examples/classification/prepare.sh multilabel makes it"
        )
    if args.fine_tune:
        if not (args.work / "bert").is_file():
            raise UserError(
                f"{args.work} has no BERT: BERT=DIR examples/classification/prepare.sh multilabel "
                f"DATA {args.work} names one"
            )
        if args.updates < 2 or args.texts < 1:
            raise UserError("--updates: give 2 or more; --texts: give 1 or more")
        return args
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise UserError(
            "scikit-learn is not installed: pip install -r benchmarks/requirements-peers.txt"
        ) from error
    return args


if __name__ == "__main__":
    run_cli(main)
