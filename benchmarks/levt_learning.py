"""How fast LevT learns: fairseq's own beside ours, after the same number of updates.

    bash examples/translation/prepare.sh CORPUS DATA
    python benchmarks/levt_learning.py DATA --updates 1000 --seeds 1,2,3

``stock`` and ``ours`` are trained by examples/translation/train.sh, and so is every variant:

    … --row 'beta0=--beta 0' --row 'no-copy=--source-copy none' -- --max-tokens 3600
    … --row 'stock+muon=--optimizer muon --lr 0.004'

A row whose name begins with ``stock`` is a variant of fairseq's own model. What stands behind
``--`` goes to fairseq-train for every row. One ruler for all: a checkpoint of stock is converted,
our criterion is computed on states of the validation set that are the same for all rows, and BLEU
is measured on the test set with the empty penalty γ that is best on the validation set, and once
more with the deletion threshold that is best there at this γ, which fairseq's own decoder does not
have. What is finished is kept in DATA/learning-UPDATES and not done again.
"""

import argparse
import json
import math
import os
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from lev_plugins.inference.checkpoints import load_model, load_state
from lev_plugins.systems.levenshtein import LevenshteinEditorModel
from lev_plugins.systems.levenshtein.criterion import EditPolicyLoss, EditPolicyLossConfig
from lev_plugins.systems.levenshtein.expert import make_states
from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_plugins.systems.levenshtein.task import TranslationEditConfig, TranslationEditTask
from lev_runtime.errors import UserError
from lev_runtime.io.commands import run_cli
from lev_runtime.io.text_files import read_lines

ROOT = Path(__file__).resolve().parents[1]
STOCK, OURS = "stock", "ours"
EPOCHS = 2  # how often the validation set is met, each time in other states
TOKENS = 4000  # of a batch that is measured
GAMMAS = (0.0, 0.5, 1.0, 2.0)  # empty penalties to choose from
EVEN, THRESHOLDS = 0.5, (0.7, 0.8, 0.9)  # deletion probabilities above which a token is deleted


#: What is measured of a checkpoint. token, placeholder, deletion: bits per labelled position in
#: random states without drafts. gamma, threshold: best on the validation set. bleu, brevity,
#: iterations: on the test set with gamma; tuned: with both. seconds: of the processor, in training.
COLUMNS = (
    *("token", "placeholder", "deletion", "gamma", "bleu", "brevity", "threshold", "tuned"),
    *("iterations", "seconds"),
)
Figures = dict[str, float]
Results = dict[str, dict[str, Figures]]  # by row and seed


# ---------------------------------------------------------------- training


def train(name: str, seed: int, flags: Sequence[str], args: argparse.Namespace) -> Path:
    """The folder of a trained row; what is there already is not trained again.

    Raises:
        UserError: the training failed, or was done with other flags.
    """
    folder = args.out / f"{name}.{seed}"
    done = folder / "trained.json"
    if done.is_file():
        if json.loads(done.read_text())["flags"] != list(flags):
            raise UserError(f"{folder} was trained with other flags; name another row")
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("*.pt"):  # of a training that was broken off: its seconds are lost
        left.unlink()
    system = STOCK if name.startswith(STOCK) else "levt"
    script = ROOT / "examples/translation/train.sh"
    command = ["bash", str(script), str(args.data), system, *flags]
    command += ["--disable-validation", "--save-dir", str(folder)]
    before, log = spent(), folder / "train.log"
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    given = {"UPDATES": str(args.updates), "SEED": str(seed), "OMP_NUM_THREADS": "1"}
    with open(log, "w", encoding="utf-8") as file:
        environ = {**os.environ, **given, "PATH": scripts}
        if subprocess.run(command, env=environ, stdout=file, stderr=file).returncode:
            raise UserError(f"the training of {name} failed: see {log}")
    done.write_text(json.dumps({"seconds": spent() - before, "flags": list(flags)}) + "\n")
    return folder


def spent() -> float:
    """Processor seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# ---------------------------------------------------------------- the ruler


class Ruler:
    """The validation and the test set of DATA, and what is measured on them."""

    def __init__(self, data: Path) -> None:
        limits = {"max_source_positions": 1024, "max_target_positions": 1024, "seed": 1}
        plain = {"dataset_impl": None, "num_batch_buckets": 0, "required_seq_len_multiple": 1}
        config = TranslationEditConfig(data=str(data / "data"), **limits, **plain)
        self.task = TranslationEditTask.setup_task(config)
        self.references = {}
        for split in ("valid", "test"):
            self.task.load_dataset(split)
            text = f"{data}/text/{split}.{self.task.cfg.target_lang}"
            self.references[split] = list(read_lines(text))

    def measure(self, folder: Path) -> Figures:
        """A trained row's figures, by :data:`COLUMNS`.

        Raises:
            UserError: its checkpoint cannot be read.
        """
        path = str(folder / "checkpoint_last.pt")
        model = load_model(path, self.task, load_state(path), LevenshteinEditorModel).eval()
        gamma, threshold = self.best_settings(model)
        bleu, brevity, iterations = self.bleu(model, "test", gamma)
        return {
            **self.losses(model),
            **{"gamma": gamma, "bleu": bleu, "brevity": brevity, "threshold": threshold},
            "tuned": self.bleu(model, "test", gamma, threshold)[0],
            "iterations": iterations,
            "seconds": json.loads((folder / "trained.json").read_text())["seconds"],
        }

    def best_settings(self, model: Any) -> tuple[float, float]:
        """γ, and at this γ the deletion threshold, with the best BLEU on the validation set."""
        by_gamma = {gamma: self.bleu(model, "valid", gamma)[0] for gamma in GAMMAS}
        gamma = max(by_gamma, key=lambda one: by_gamma[one])
        scores = {one: self.bleu(model, "valid", gamma, one)[0] for one in THRESHOLDS}
        scores[EVEN] = by_gamma[gamma]
        return gamma, max(scores, key=lambda one: scores[one])

    @torch.no_grad()
    def losses(self, model: Any) -> dict[str, float]:
        """Bits per labelled position of every head."""
        none = EditPolicyLossConfig(label_smoothing=0.0, placeholder_label_smoothing=0.0)
        criterion = EditPolicyLoss(self.task, none)
        heads = ("token", "placeholder", "deletion")
        totals = {head: [0.0, 0] for head in heads}
        cfg = TranslationEditConfig(seed=1)
        symbols = self.task.target_dictionary, self.task.placeholder, self.task.frequencies
        for epoch in range(1, EPOCHS + 1):
            for sample in self.samples("valid"):
                states = make_states(sample, epoch, (0.5, 0.0), cfg, *symbols)
                log = criterion(model, {**sample, "states": states})[2]
                for head in heads:
                    totals[head][0] += float(log[f"{head}_nll"])
                    totals[head][1] += log[f"{head}_count"]
        return {head: nats / count / math.log(2) for head, (nats, count) in totals.items()}

    def bleu(
        self, model: Any, split: str, gamma: float, threshold: float = EVEN
    ) -> tuple[float, float, float]:
        """BLEU, brevity penalty and iterations of decoding a split from nothing."""
        import sacrebleu

        symbols = self.task.target_dictionary
        options = RefinementOptions(empty_penalty=gamma, delete_threshold=threshold)
        generator = RefinementGenerator(symbols, self.task.placeholder, options)
        found: dict[int, tuple[str, int]] = {}
        for sample in self.samples(split):
            answers = generator.generate([model], sample)
            for number, (answer, *_) in zip(sample["id"].tolist(), answers, strict=True):
                ignored = {symbols.bos(), symbols.eos()}
                text = symbols.string(answer["tokens"], "sentencepiece", False, ignored)
                found[number] = text, answer["steps"]
        hypotheses = [found[number][0] for number in range(len(found))]
        score = sacrebleu.corpus_bleu(hypotheses, [self.references[split]])
        return score.score, score.bp, fmean(steps for _, steps in found.values())

    def samples(self, split: str) -> Iterator[dict[str, Any]]:
        """Batches of a split."""
        data = self.task.dataset(split)
        order = data.ordered_indices()
        for indices in data.batch_by_size(order, max_tokens=TOKENS):
            yield data.collater([data[int(index)] for index in indices])


# ---------------------------------------------------------------- the report


def report(results: Results) -> str:
    """A line for each row and seed, then mean and spread (largest less smallest) of each row."""
    width = max(map(len, results)) + 8
    lines = [" " * width + "".join(f"{name:>14}" for name in COLUMNS)]

    def line(label: str, values: Sequence[float]) -> str:
        return f"{label:{width}}" + "".join(f"{value:>14.3f}" for value in values)

    for name, seeds in results.items():
        rows = [[one[column] for column in COLUMNS] for one in seeds.values()]
        lines += [line(f"{name}, {seed}", row) for seed, row in zip(seeds, rows, strict=True)]
        if len(rows) > 1:
            columns = list(zip(*rows, strict=True))
            lines.append(line(f"{name}, mean", [fmean(column) for column in columns]))
            lines.append(line("  spread", [max(column) - min(column) for column in columns]))
    return "\n".join(lines)


def checked(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parsed options; ``rows``: flags by name.

    Raises:
        UserError: values that nothing can be measured with.
    """
    made = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="%(prog)s DATA [options] [-- flags of fairseq-train, for every row]",
    )
    add = made.add_argument
    add("data", metavar="DATA", type=Path, help="what examples/translation/prepare.sh has made")
    add("--updates", type=int, default=1000, help="of each training (default 1000)")
    add("--seeds", default="1,2,3", help="a training for each (default 1,2,3)")
    add("--row", action="append", default=[], metavar="NAME=FLAGS", help="a variant of ours, or of "
        "stock where NAME begins so: flags of fairseq-train; may be given again")  # fmt: skip
    add("--only", metavar="NAMES", help="rows to run now (default: stock, ours and each --row)")
    words = list(sys.argv[1:] if argv is None else argv)
    end = words.index("--") if "--" in words else len(words)
    args, flags = made.parse_args(words[:end]), words[end + 1 :]
    if args.updates < 1 or not all(seed.isdecimal() for seed in args.seeds.split(",")):
        raise UserError("--updates: give 1 or more; --seeds: whole numbers with commas")
    args.seeds = [int(seed) for seed in args.seeds.split(",")]
    if not (args.data / "data").is_dir():
        raise UserError(f"no {args.data}/data: bash examples/translation/prepare.sh makes it")
    args.out = args.data / f"learning-{args.updates}"
    args.rows = {STOCK: flags, OURS: flags}
    for row in args.row:
        name, sign, own = row.partition("=")
        if not sign or not re.fullmatch(r"[\w.+-]+", name) or name in args.rows:
            raise UserError(f"--row {row}: give a new name and flags, such as 'beta0=--beta 0'")
        args.rows[name] = [*shlex.split(own), *flags]
    if args.only:
        names = args.only.split(",")
        if unknown := [name for name in names if name not in args.rows]:
            raise UserError(f"--only {unknown[0]}: the rows are {', '.join(args.rows)}")
        args.rows = {name: args.rows[name] for name in names}
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Train and measure what is not there yet, and print the table."""
    args = checked(argv)
    torch.set_num_threads(1)
    ruler, results = None, Results()
    for seed in args.seeds:
        for name, flags in args.rows.items():
            folder = train(name, seed, flags, args)
            kept = folder / "figures.json"
            if not kept.is_file():
                ruler = ruler or Ruler(args.data)
                kept.write_text(json.dumps(ruler.measure(folder), indent=1) + "\n")
            results.setdefault(name, {})[str(seed)] = json.loads(kept.read_text())
    print(report(results))
    print(f"updates:{args.updates}|torch:{torch.__version__}|gammas:{GAMMAS}")
    return 0


if __name__ == "__main__":
    run_cli(main)
