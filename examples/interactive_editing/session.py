"""Edit one sentence after another together with a trained model, in the terminal.

    python examples/interactive_editing/session.py CHECKPOINT [--answers 3] [--bpe characters …]

Type a source and, if there is one, its draft. The model's answers come numbered, the best first.
Then say what is to happen:

    Enter                       the first answer is good: on to the next source
    2                           answer 2 becomes the draft, to be marked or taken
    [=New York=] ist [-gross-]  the draft with marks: [=stays=], [-goes-], [+whole term+]

Ctrl-D ends. Lines can also come from a file: session.py CHECKPOINT < lines
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import suppress

from lev_plugins import LevenshteinEditor
from lev_plugins.errors import UserError, printable
from lev_plugins.fairseq_patches import run_cli
from lev_plugins.systems.levenshtein.markup import escape_markup


def main() -> int:
    args = _arguments()
    processing = {name: value for name in ("bpe", "tokenizer") if (value := getattr(args, name))}
    if args.sentencepiece_model:
        processing["sentencepiece_model"] = args.sentencepiece_model
    editor = LevenshteinEditor.from_pretrained(args.checkpoint, **processing)
    with suppress(EOFError):
        while True:
            source = _ask("source> ")
            accepted = _edit_together(editor, source, _ask("draft>  "), args)
            print(f"accepted: {printable(accepted)}\n", flush=True)
    return 0


def _edit_together(
    editor: LevenshteinEditor, source: str, draft: str, args: argparse.Namespace
) -> str:
    """Asks for marks and edits until an answer is taken; returns it."""
    marked = escape_markup(draft)
    answers = list(_answers(editor, source, marked, args))
    while True:
        for number, text in enumerate(answers, start=1):
            print(f"  {number}  {printable(text)}", flush=True)
        said = _ask("marks>  ").strip()
        if not said:
            return answers[0]
        if said.isdigit() and 1 <= int(said) <= len(answers):
            answers = [answers[int(said) - 1]]
            continue
        try:
            answers = list(_answers(editor, source, said, args))
        except UserError as error:
            print(f"  {error}", flush=True)


def _answers(
    editor: LevenshteinEditor, source: str, marked: str, args: argparse.Namespace
) -> Iterator[str]:
    (found,) = editor.edit_nbest([source], [marked], nbest=args.answers, markup=True)
    for trace in found:
        yield trace.text


def _ask(prompt: str) -> str:
    if not sys.stdin.isatty():
        prompt = ""
    return input(prompt)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("checkpoint", help="a trained levenshtein_editor; several joined by : are averaged")
    add("--answers", type=int, default=3, help="answers to choose from (default 3)")
    add("--bpe", help="text processing, as the model was trained by default")
    add("--tokenizer", help="the same")
    add("--sentencepiece-model", help="its file, if it has moved")
    return parser.parse_args()


if __name__ == "__main__":
    run_cli(main)
