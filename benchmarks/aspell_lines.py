"""aspell's first suggestions for words that it does not know, line by line.

python benchmarks/aspell_lines.py < noisy > corrected      # apt install aspell aspell-en
"""

import subprocess
import sys

COMMAND = ["aspell", "--lang=en", "--encoding=utf-8", "--sug-mode=normal", "pipe"]


def corrected(text: str, answers: list[str]) -> str:
    """A line with the first suggestion of each answer, ``& word count offset: first, …``."""
    done, rest = "", text
    for answer in answers:
        if answer.startswith("&"):
            word, first = answer.split()[1], answer.partition(": ")[2].split(", ")[0]
            before, _, rest = rest.partition(word)
            done += before + first
    return done + rest


def main() -> None:
    """Standard input to standard output."""
    lines = sys.stdin.read().split("\n")
    asked = "".join(f"^{line}\n" for line in lines)  # the mark: whatever follows is text
    told = subprocess.run(COMMAND, input=asked, capture_output=True, encoding="utf-8", check=True)
    answers = told.stdout.split("\n")[1:]  # below the version
    outputs, place = [], 0
    for line in lines:
        end = answers.index("", place)  # an empty line ends the answers of each
        outputs.append(corrected(line, answers[place:end]))
        place = end + 1
    sys.stdout.write("\n".join(outputs))


if __name__ == "__main__":
    main()
