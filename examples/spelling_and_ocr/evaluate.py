"""Scores a corrector on held-out data beside the no-edit baseline, and shows its edits.

    python examples/spelling_and_ocr/evaluate.py DATA CHECKPOINT [--split test] [--max-iter 10]

CHECKPOINT is of LevT, or of a model that writes from left to right, such as PBD.
"""

import argparse
import os
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lev_plugins.errors import UserError, printable  # noqa: E402
from lev_plugins.fairseq_patches import run_cli  # noqa: E402
from lev_plugins.inference import averaging  # noqa: E402
from lev_plugins.inference.averaging import chosen  # noqa: E402

CHECKPOINTS = ("checkpoint_best.pt", "checkpoint_last.pt", "model.pt")
EDITING = ("translation_edit", "translation_lev")


def main() -> None:
    args = _arguments()
    path = _checkpoint(Path(args.checkpoint))
    if averaging.load(path)["cfg"]["task"]["_name"] in EDITING:
        _edited(args, path)
    else:
        _written(args, path)


def _checkpoint(path: Path) -> Path:
    """The best or the last in a folder."""
    if not path.is_dir():
        return chosen([str(path)])[0]
    found = [path / name for name in CHECKPOINTS if (path / name).is_file()]
    if not found:
        raise UserError(f"{path} holds none of {', '.join(CHECKPOINTS)}")
    return found[0]


def _edited(args: argparse.Namespace, path: Path) -> None:
    """A model that edits drafts."""
    from lev_plugins.inference.editor import LevenshteinEditor

    editor = LevenshteinEditor.from_pretrained(str(path), args.data)
    data = _dataset(editor.task, args.split)
    sources, drafts, targets = (
        _text(side, dictionary, editor.bpe)
        for side, dictionary in (
            (data.src, editor.task.src_dict),
            (data.draft, editor.task.tgt_dict),
            (data.tgt, editor.task.tgt_dict),
        )
    )
    traces = editor.edit(sources, drafts, max_iter=args.max_iter, batch_size=250)
    _report(args.split, [trace.text for trace in traces], drafts, targets)
    _report_iterations(traces)
    _show_edits(traces, targets, args.show)


def _written(args: argparse.Namespace, path: Path) -> None:
    """A model that writes from left to right; there the source is what is to be corrected."""
    from fairseq import hub_utils

    found = hub_utils.from_pretrained(str(path.parent), path.name, os.path.abspath(args.data))
    hub = hub_utils.GeneratorHubInterface(found["args"], found["task"], found["models"]).eval()
    data = _dataset(hub.task, args.split)
    sources = _text(data.src, hub.src_dict, hub.bpe)
    targets = _text(data.tgt, hub.tgt_dict, hub.bpe)
    # said by torch on every machine without a GPU, though fairseq asks for it
    warnings.filterwarnings("ignore", message=".*pin_memory")
    outputs = hub.translate(sources, beam=args.beam)
    _report(args.split, outputs, sources, targets)
    print()
    changed = [i for i, output in enumerate(outputs) if output != sources[i]]
    for i in _spread(changed, args.show):
        shown = f"{sources[i]} → {outputs[i]}   ({_verdict(outputs[i], targets[i])})"
        print(printable(shown))


def _dataset(task: Any, split: str) -> Any:
    task.load_dataset(split)
    return task.dataset(split)


def _text(side: Any, dictionary: Any, bpe: Any) -> list[str]:
    """One side of a split as text."""
    decode = bpe.decode if bpe else str
    return [decode(dictionary.string(side[i])) for i in range(len(side))]


def _report(
    split: str, outputs: Sequence[str], drafts: Sequence[str], targets: Sequence[str]
) -> None:
    total = len(targets)

    def share(lines: Sequence[str]) -> float:
        return 100 * sum(a == b for a, b in zip(lines, targets)) / total

    untouched = 100 * sum(a == b for a, b in zip(outputs, drafts)) / total
    right = [d == t for d, t in zip(drafts, targets)]
    miscorrected = sum(was and o != t for was, o, t in zip(right, outputs, targets))
    print(f"\n{split}: {total} pairs")
    print(f"exactly right:  {share(outputs):.1f} %   (no-edit baseline: {share(drafts):.1f} %)")
    print(f"left as it was: {untouched:.1f} %")
    if any(right):
        print(f"right before and miscorrected: {miscorrected} of {sum(right)}")


def _report_iterations(traces: Sequence) -> None:
    total = len(traces)
    steps = Counter(trace.steps for trace in traces)
    mean = sum(count * step for step, count in steps.items()) / total
    histogram = ", ".join(f"{step}: {100 * n / total:.1f} %" for step, n in sorted(steps.items()))
    print(f"iterations:     {mean:.2f} on average ({histogram})\n")


def _show_edits(traces: Sequence, targets: list[str], number: int) -> None:
    """Edits as the paper's Figure 3 shows them."""
    from lev_plugins.reports.traces import render_text

    for i in _spread([i for i, trace in enumerate(traces) if trace.steps], number):
        print(render_text(traces[i], i + 1, color=sys.stdout.isatty()), end="")
        print(printable(f"({_verdict(traces[i].text, targets[i])})") + "\n")


def _spread(places: list[int], number: int) -> list[int]:
    """Some of the places, evenly spread."""
    return places[:: max(len(places) // max(number, 1), 1)][:number]


def _verdict(output: str, target: str) -> str:
    return "right" if output == target else f"wrong, it should be {target}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="folder that preprocess wrote")
    parser.add_argument("checkpoint", help="checkpoint, or the folder that holds it")
    parser.add_argument("--split", default="test", help="what to score (default test)")
    parser.add_argument("--max-iter", type=int, default=10, help="of LevT, at most (default 10)")
    parser.add_argument("--beam", type=int, default=4, help="of the others (default 4)")
    parser.add_argument("--show", type=int, default=8, help="edits to show (default 8)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(run_cli(main))
