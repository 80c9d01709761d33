"""Harper's first suggestions for misspelt words and slips of typing, line by line.

    python benchmarks/harper_lines.py < noisy > corrected      # pip install harper-py

Its suggestions of style and grammar are left out: they are not what correctors.py compares.
"""

import sys

from harper import Language, Linter, SuggestionKind

KINDS = ("Spelling", "Typo")


def main() -> None:
    """Standard input to standard output."""
    linter = Linter()
    for line in sys.stdin:
        text = line.rstrip("\n")
        for lint in sorted(
            linter.lint(text, language=Language.PLAINTEXT), key=lambda lint: -lint.span.start
        ):
            first = next(iter(lint.suggestions), None)
            if lint.lint_kind in KINDS and first and first.kind == SuggestionKind.REPLACE:
                text = text[: lint.span.start] + first.replacement_text + text[lint.span.end :]
        sys.stdout.write(text + "\n" * line.endswith("\n"))


if __name__ == "__main__":
    main()
