"""Scores the no-edit baseline, a look-up table and the trained correctors; evaluate_ocr.sh calls
it.

WORK is the folder of prepare_ocr.sh and train_ocr.sh. What can be chosen is chosen by the dev set,
by the most words right and of equals the fewest word errors: LevT's deletion threshold and last or
best checkpoint; of the others one of all checkpoints that were kept, or the average of those of
certain updates. Each system is scored as it decodes, and again with its n best re-ranked by a
lexicon and a look-up table, with weights and a threshold from the dev set. The test set is decoded
once with each.
"""

import argparse
import filecmp
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

import lookup
import ocr_ranking
from ocr_pieces import joined, pieces
from ocr_ranking import Candidate, Decode
from ocr_scores import Scores, score
from prepare_codespell import whole_number

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.inference import averaging
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.inference.correction.settings import Settings
from lev_plugins.io.text_files import read_lines

CHECKPOINTS = ("checkpoint_last.pt", "checkpoint_best.pt")
AVERAGE = "average.pt"
BATCH = 64
NAMES = {"ar": "AR", "pbd": "PBD", "levt": "LevT"}
TRAINED = re.compile(rf"({'|'.join(NAMES)})(?:-(.+))?")
# what decides on dev, the smallest first
CHOICES: dict[str, Callable[[Scores], tuple[int, int]]] = {
    "accuracy": lambda found: (-found.words_right, found.word_errors),
    "wer": lambda found: (found.word_errors, -found.words_right),
}


class Text:
    """Noisy and clean lines of a part: all, or ``some`` of them, evenly spaced."""

    def __init__(self, work: Path, part: str, some: int | None = None) -> None:
        self.noisy = list(read_lines(str(work / "text" / f"{part}.noisy")))
        self.clean = list(read_lines(str(work / "text" / f"{part}.clean")))
        every = len(self.noisy)
        if some is not None and some < every:
            taken = [n * every // some for n in range(some)]
            self.noisy = [self.noisy[n] for n in taken]
            self.clean = [self.clean[n] for n in taken]

    def score(self, lines: list[str]) -> Scores:
        """Of this part's noisy lines, corrected."""
        return score(lines, self.noisy, self.clean)


def main() -> None:
    """Choose, decode, score, print."""
    args = _arguments()
    train, test = (Text(args.work, part) for part in ("train", "test"))
    dev = Text(args.work, "dev", args.dev_lines)
    table = lookup.learn(train.noisy + dev.noisy, train.clean + dev.clean)
    outputs = {
        "no-edit baseline": test.noisy,
        "look-up": [lookup.correct(table, line) for line in test.noisy],
    }
    trained = _trained(args.work, args.systems)
    ensembles = _ensembles(args.ensemble, trained)
    known = ocr_ranking.resources(args.work, train.noisy, train.clean, args.lexicon, args.lookup)
    if args.symspell:
        outputs["symspellpy"] = ocr_ranking.dictionary_corrected(known, test.noisy)
    baselines = len(outputs)
    paths: dict[str, Path] = {}  # of a system's folder, the checkpoint that was chosen
    for name, members in [*((name, [name]) for name in trained), *ensembles.items()]:
        sets = (
            _alone(args, trained[name], name) if name in trained else [[paths[m] for m in members]]
        )
        chosen = _chosen(name, list(_candidates(args, name, sets)), dev, CHOICES[args.choose_by])
        paths[name] = chosen.paths[0]
        ways = {name: chosen}
        if not args.plain:
            ways[f"{name}, ranked"] = _ranked(args, name, chosen, known, dev)
        for label, way in ways.items():
            if not args.dev_only:
                print(f"test {label:18} {way.label}", flush=True)
                outputs[label] = way.decode(test.noisy)
    if not args.dev_only:
        _write(args.work / "output", outputs)
        scores = {name: test.score(lines) for name, lines in outputs.items()}
        _print(scores, baselines)
        if args.json:
            _write_json(args.json, scores, {name: paths[name] for name in trained})


def _trained(work: Path, wanted: Sequence[str] | None) -> dict[str, Path]:
    """Name → folder of every system that was trained, the baselines first; says which kinds are
    not.

    Args:
        wanted: names of folders; None for all.

    Raises:
        UserError: nothing was trained under a name that is wanted.
    """
    found: dict[str, Path] = {}
    for kind, name in NAMES.items():
        folders = {path.name: path for path in sorted(work.iterdir()) if _checkpoints(path)}
        for folder, path in folders.items():
            match = TRAINED.fullmatch(folder)
            if match and match[1] == kind and (wanted is None or folder in wanted):
                found[f"{name} {match[2]}" if match[2] else name] = path
        if kind not in folders and wanted is None:
            script = "bash examples/spelling_and_ocr/train_ocr.sh"
            print(f"{name} is not trained: {script} {work} {kind}")
    gone = sorted(set(wanted or ()) - {path.name for path in found.values()})
    if gone:
        raise UserError(f"--systems {' '.join(gone)}: no checkpoints in {work / gone[0]}")
    return found


def _ensembles(wanted: Sequence[list[str]], trained: dict[str, Path]) -> dict[str, list[str]]:
    """Name → the systems of every ensemble.

    Raises:
        UserError: folders that are not scored, fewer than two, or systems of different kinds.
    """
    names = {path.name: name for name, path in trained.items()}
    found = {}
    for folders in wanted:
        said = f"--ensemble {' '.join(folders)}"
        for folder in folders:
            if folder not in names:
                raise UserError(f"{said}: {folder} is not scored; there are {', '.join(names)}")
        members = [names[folder] for folder in folders]
        if len({_kind(name) for name in members}) > 1 or len({*members}) < max(2, len(members)):
            raise UserError(f"{said}: name two or more different folders of one kind")
        found[" + ".join(members)] = members
    return found


def _kind(name: str) -> str:
    """AR, PBD or LevT."""
    return name.split()[0]


def _checkpoints(folder: Path) -> list[Path]:
    """The last and the best."""
    return [folder / name for name in CHECKPOINTS if (folder / name).is_file()]


def _unequal(paths: Sequence[Path]) -> list[Path]:
    """The paths without those whose file is a copy of one before."""
    return [
        path
        for i, path in enumerate(paths)
        if not any(filecmp.cmp(path, earlier, False) for earlier in paths[:i])
    ]


def _average(folder: Path, kept: Sequence[Path]) -> list[Path]:
    """The average of checkpoints, where there are several."""
    if len(kept) < 2:
        return []
    averaging.save(averaging.average(kept), str(folder / AVERAGE))
    return [folder / AVERAGE]


def _words(work: Path) -> int:
    """How many words a segment has, as prepare_ocr.sh noted it; 0: whole lines."""
    return int("".join(read_lines(str(work / "words"))))


def _by_pieces(decode: Decode, words: int, lines: list[str]) -> list[str]:
    """Corrected lines, cut and joined where the systems were trained on pieces."""
    cut = [pieces(line, words) for line in lines]
    corrected = iter(decode([piece for line in cut for piece in line]))
    return [joined([next(corrected) for _ in line]) for line in cut]


def _chosen(
    name: str,
    candidates: list[Candidate],
    dev: Text,
    key: Callable[[Scores], tuple[int, int]],
) -> Candidate:
    """The candidate that does best on dev by a key, the first of equals."""
    found: list[tuple[tuple[int, int], int]] = []
    for candidate in candidates:
        scores = dev.score(candidate.decode(dev.noisy))
        found.append((key(scores), len(found)))
        _show(name, candidate.label, scores)
    return candidates[min(found)[1]]


def _show(name: str, label: str, scores: Scores) -> None:
    print(
        f"dev  {name:18} {label:40} words right {scores.word_accuracy:6.2f} %  "
        f"broken {scores.miscorrected:4}  WER {scores.wer:6.2f}",
        flush=True,
    )


def _alone(args: argparse.Namespace, folder: Path, name: str) -> list[list[Path]]:
    """The checkpoints of one system; of those that write from left to right the kept ones and
    their average too; or those that are asked for."""
    if args.checkpoints:
        for file in args.checkpoints:
            if not (folder / file).is_file():
                raise UserError(f"--checkpoints {file}: {folder} has no such file")
        return [[folder / file] for file in args.checkpoints]
    if _kind(name) == NAMES["levt"]:
        return [[path] for path in _unequal(_checkpoints(folder))]
    kept = averaging.numbered(folder)
    found = [*_unequal([*_checkpoints(folder), *kept]), *_average(folder, kept)]
    return [[path] for path in found]


def _candidates(
    args: argparse.Namespace, name: str, path_sets: Sequence[list[Path]]
) -> Iterator[Candidate]:
    """Ways to decode with each set of checkpoints, whose models are averaged."""
    for paths in path_sets:
        label = ", ".join(dict.fromkeys(path.name for path in paths))
        if _kind(name) == NAMES["levt"]:
            ways = [
                (f"--delete-threshold {one:g}", _edited(args, paths, one), one)
                for one in args.thresholds
            ]
        else:
            ways = [(f"--beam {args.beam}", partial(_written, args, paths), None)]
        for options, decode, threshold in ways:
            cut = partial(_by_pieces, decode, _words(args.work))
            yield Candidate(f"{label}, {options}", cut, tuple(paths), threshold)


def _edited(args: argparse.Namespace, paths: Sequence[Path], threshold: float) -> Decode:
    """LevT with y0 = the noisy line."""
    from lev_plugins.inference.editor import LevenshteinEditor

    @cache
    def editor() -> LevenshteinEditor:
        path = ":".join(map(str, paths))
        return LevenshteinEditor.from_pretrained(path, str(args.work / "data"))

    def decode(lines: list[str]) -> list[str]:
        options = {"max_iter": args.max_iter, "delete_threshold": threshold}
        traces = editor().edit(lines, lines, batch_size=BATCH, **options)
        return [trace.text for trace in traces]

    return decode


def _written(args: argparse.Namespace, paths: Sequence[Path], lines: list[str]) -> list[str]:
    """What fairseq's beam search makes of lines, with its transformer or PBD."""
    import torch
    from fairseq import hub_utils

    data = str((args.work / "data").resolve())
    files = ":".join(str(path.resolve()) for path in paths)
    found = hub_utils.from_pretrained(str(paths[0].parent), files, data, bpe="characters")
    hub = hub_utils.GeneratorHubInterface(found["args"], found["task"], found["models"]).eval()
    if torch.cuda.is_available():
        hub.cuda()
    # said by torch on every machine without a GPU, though fairseq asks for it
    warnings.filterwarnings("ignore", message=".*pin_memory")
    return hub.translate(lines, beam=args.beam, max_len_a=1.5, max_len_b=10)


def _ranked(
    args: argparse.Namespace, name: str, chosen: Candidate, known: Settings, dev: Text
) -> Candidate:
    """The same models with their n best re-ranked; weights and threshold are chosen on dev."""
    found = ocr_ranking.fitted(
        chosen,
        str(args.work / "data"),
        _words(args.work),
        (args.nbest, args.max_iter),
        known,
        (dev.noisy, dev.clean),
    )
    threshold, scores = found.choose_threshold(dev, CHOICES[args.choose_by], args.most_broken)
    label = f"--nbest {args.nbest}, --min-confidence {threshold:.3f}"
    _show(f"{name}, ranked", label, scores)
    if len(chosen.paths) == 1:
        print(f"dev  {found.store(chosen.paths[0], threshold, scores)}")
    return chosen._replace(label=label, decode=partial(found.correct, threshold=threshold))


def _write(folder: Path, outputs: dict[str, list[str]]) -> None:
    folder.mkdir(exist_ok=True)
    for name, lines in outputs.items():
        path = folder / f"test.{name.replace(' ', '-').lower()}"
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="\n")


def _print(scores: dict[str, Scores], baselines: int) -> None:
    first = next(iter(scores.values()))
    wrong = first.words - first.words_right
    print(f"\ntest: {first.lines} lines, {first.words} words, {wrong} of them wrong as they came")
    heads = (
        "words right",
        "CER",
        "WER",
        "lines right",
        "of the wrong",
        "corrected",
        "miscorrected",
    )
    width = max(15, *(len(name) + 1 for name in scores))
    print(f"{'':{width}}" + "".join(f"{head:>13}" for head in heads))
    for name, found in scores.items():
        lines = 100 * found.lines_right / max(found.lines, 1)
        print(
            f"{name:{width}}{found.word_accuracy:>11.2f} %{found.cer:>13.2f}{found.wer:>13.2f}"
            f"{lines:>11.2f} %{found.counts.correction_rate:>11.2f} %"
            f"{found.corrected:>13}{found.miscorrected:>13}"
        )
    trained = [*scores.items()][baselines:]
    print("\n" + "\n".join(_verdict(name, found, first) for name, found in trained))


def _write_json(path: Path, scores: dict[str, Scores], chosen: dict[str, Path]) -> None:
    """The numbers of the table, by name of the system; with the size of single models."""
    systems: dict[str, dict[str, float]] = {}
    for name, found in scores.items():
        systems[name] = {
            "words_right": found.word_accuracy,
            "cer": found.cer,
            "wer": found.wer,
            "corrected": found.corrected,
            "miscorrected": found.miscorrected,
        }
    for name, checkpoint in chosen.items():
        state = load_state(str(checkpoint))["model"]
        shared_once = {one.data_ptr(): one.numel() for one in state.values()}
        systems[name]["parameters"] = sum(shared_once.values())
    path.write_text(json.dumps({"systems": systems}, indent=1) + "\n", encoding="utf-8")


def _verdict(name: str, found: Scores, first: Scores) -> str:
    """One line on what a system is worth beside the no-edit baseline."""
    if found.words_right <= first.words_right:
        return (
            f"{name}: no better than no edits yet: train longer, with more data, or a larger model"
        )
    less = 100 * (1 - found.character_errors / max(first.character_errors, 1))
    return (
        f"{name}: corrects {found.counts.correction_rate:.1f} % of the wrong words, miscorrects "
        f"{found.miscorrected / found.corrected:.2f} for each, character errors {-less:+.1f} %"
    )


def _thresholds(text: str) -> list[float]:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [-1.0]
    if not all(0 <= value <= 1 for value in values):
        raise argparse.ArgumentTypeError(f"numbers from 0 to 1 with commas, not {text!r}")
    return values


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of 0 or more, not {text!r}")
    return value


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path, help="folder of prepare_ocr.sh and train_ocr.sh")
    parser.add_argument(
        "--thresholds",
        type=_thresholds,
        default=[0.5, 0.6, 0.7, 0.9],
        help="deletion thresholds of LevT to choose from on dev (default 0.5,0.6,0.7,0.9)",
    )
    count = whole_number(1)
    parser.add_argument(
        "--checkpoints",
        nargs="+",
        metavar="FILE",
        help="checkpoints of every folder to choose from (default: all, and the average)",
    )
    parser.add_argument("--beam", type=count, default=4, help="beam of AR and PBD (default 4)")
    parser.add_argument("--max-iter", type=count, default=10, help="LevT's iterations (default 10)")
    parser.add_argument(
        "--systems", nargs="+", metavar="NAME", help="folders in WORK to score (default: all)"
    )
    parser.add_argument(
        "--choose-by",
        choices=list(CHOICES),
        default="accuracy",
        help="what decides on dev: words right (accuracy, the default) or word errors (wer)",
    )
    parser.add_argument(
        "--ensemble",
        nargs="+",
        action="append",
        default=[],
        metavar="NAME",
        help="also average the probabilities of these systems, folders of WORK of one kind; may "
        "be given several times",
    )
    parser.add_argument(
        "--plain", action="store_true", help="leave out the rows with re-ranked hypotheses"
    )
    parser.add_argument(
        "--nbest", type=count, default=10, help="hypotheses that are re-ranked (default 10)"
    )
    parser.add_argument(
        "--lexicon",
        metavar="FILE",
        help="words to rank by, one a line, with their counts or without (default: those of the "
        "clean training text, and of the list that prepare_ocr.sh was given)",
    )
    parser.add_argument(
        "--lookup",
        metavar="FILE",
        help="noisy words to rank by, a tab and the clean word on each line (default: those whose "
        "clean word in the training text is the same 8 times in 10)",
    )
    parser.add_argument(
        "--symspell",
        action="store_true",
        help="also score symspellpy, a dictionary corrector (pip install symspellpy), with the "
        "words to rank by",
    )
    parser.add_argument(
        "--most-broken",
        type=_share,
        default=0.2,
        help="words that re-ranking may break on dev for each that it corrects (default 0.2)",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the table's numbers there"
    )
    parser.add_argument(
        "--dev-lines",
        type=count,
        metavar="N",
        help="choose on so many dev lines, evenly spaced (default: all)",
    )
    parser.add_argument("--dev-only", action="store_true", help="leave the test set alone")
    args = parser.parse_args()
    if not (args.work / "data").is_dir():
        script = "bash examples/spelling_and_ocr/prepare_ocr.sh"
        raise UserError(f"no data in {args.work}: {script} DATA {args.work} makes them")
    return args


if __name__ == "__main__":
    sys.exit(run_cli(main))
