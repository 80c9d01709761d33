"""Scores a post-editor on held-out data beside doing nothing, and shows its edits.

python examples/spelling_and_ocr/evaluate.py DATA CHECKPOINT [--split test] [--max-iter 10]
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import List, Sequence, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


def main() -> None:
    args = _arguments()
    from lev_plugins.hub import LevenshteinEditor

    editor = LevenshteinEditor.from_pretrained(args.checkpoint, args.data)
    sources, drafts, targets = _lines(editor, args.split)
    traces = editor.edit(sources, drafts, max_iter=args.max_iter, batch_size=250)
    _report(args.split, traces, drafts, targets)
    _show(traces, targets, args.show)


def _lines(editor, split: str) -> Tuple[List[str], List[str], List[str]]:
    """Sources, drafts and targets of a split, as text."""
    task = editor.task
    task.load_dataset(split)
    data = task.dataset(split)
    sides = ((data.src, task.src_dict), (data.draft, task.tgt_dict), (data.tgt, task.tgt_dict))
    decode = editor.bpe.decode if editor.bpe else str
    return tuple(
        [decode(dictionary.string(side[i])) for i in range(len(data))] for side, dictionary in sides
    )


def _report(split: str, traces: Sequence, drafts: List[str], targets: List[str]) -> None:
    outputs = [trace.text for trace in traces]
    total = len(targets)

    def share(lines: Sequence[str]) -> float:
        return 100 * sum(a == b for a, b in zip(lines, targets)) / total

    steps = Counter(trace.steps for trace in traces)
    mean = sum(count * step for step, count in steps.items()) / total
    untouched = 100 * sum(a == b for a, b in zip(outputs, drafts)) / total
    right = [d == t for d, t in zip(drafts, targets)]
    broken = sum(was and o != t for was, o, t in zip(right, outputs, targets))
    print(f"\n{split}: {total} pairs")
    print(f"exactly right:  {share(outputs):.1f} %   (doing nothing: {share(drafts):.1f} %)")
    print(f"left as it was: {untouched:.1f} %")
    if any(right):
        print(f"right before and broken: {broken} of {sum(right)}")
    histogram = ", ".join(f"{step}: {100 * n / total:.1f} %" for step, n in sorted(steps.items()))
    print(f"iterations:     {mean:.2f} on average ({histogram})\n")


def _show(traces: Sequence, targets: List[str], number: int) -> None:
    """Edits evenly spread over the split, as the paper's Figure 3 shows them."""
    from lev_plugins.cli.trace.render import render_text

    changed = [i for i, trace in enumerate(traces) if trace.steps]
    chosen = changed[:: max(len(changed) // max(number, 1), 1)][:number]
    for i in chosen:
        print(render_text(traces[i], i + 1, color=sys.stdout.isatty()), end="")
        verdict = "right" if traces[i].text == targets[i] else f"wrong, it should be {targets[i]}"
        print(f"({verdict})\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", help="folder that preprocess wrote")
    parser.add_argument("checkpoint", help="checkpoint, or the folder that holds it")
    parser.add_argument("--split", default="test", help="what to score (default test)")
    parser.add_argument("--max-iter", type=int, default=10, help="iterations at most (default 10)")
    parser.add_argument("--show", type=int, default=8, help="edits to show (default 8)")
    return parser.parse_args()


if __name__ == "__main__":
    from lev_plugins.compat import run_cli

    sys.exit(run_cli(main))
