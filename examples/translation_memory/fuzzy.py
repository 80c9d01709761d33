"""Fill the fuzzy entries of a .po file with proposals.

    python examples/translation_memory/fuzzy.py WORK messages.po [-o OUTPUT] [--memory FOLDER]

A fuzzy translation is of an older source: that which ``msgmerge --previous`` keeps, else that
which the memory has for it; where there is none, both come from the most similar source of the
memory. The draft is repaired by rule and then edited by the model. Entries stay fuzzy, a comment
has the probability, and nothing else in the file changes.
"""

import argparse
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memory import Memory, forms, po_pairs, read_po, repair, to_line, to_text
from prepare import read
from proposals import Change, Proposal, load, propose, settings_of

from lev_plugins.errors import UserError
from lev_plugins.fairseq_patches import run_cli

COMMENT = "lev_plugins: proposal, probability"
# of printf and str.format: what a program fills in has to be in the translation
_PLACEHOLDER = re.compile(r"%(?:\([^)]*\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?[a-zA-Z%]|\{[^{}]*\}")
_FIELD = re.compile(r'msgstr(?:\[(\d+)\])?\s*"')


class Text(NamedTuple):
    """A translation to propose: its entry and plural form (None: no plural), what is edited."""

    entry: Any
    form: int | None
    source: str
    change: Change


def texts_of(entries: Sequence[Any], memory: Memory) -> list[Text]:
    """The translations of entries; those without an older source and a draft are left out."""
    found = []
    for entry in entries:
        for form, source, old, draft in forms(entry):
            new, old, draft = map(to_line, (source, old, draft))
            old = old or memory.source_of.get(draft, "")
            if not (old and draft):
                near = [*memory.matches([new], 1, itself=True)][0]
                old, draft = near[0][:2] if near else ("", "")
            if old:
                found.append(Text(entry, form, source, Change(new, old, repair(old, new, draft))))
    return found


def safe(one: Proposal, text: Text) -> Proposal:
    """A proposal with the placeholders of its source, else the repaired draft; with the source's
    line breaks at both ends, as msgfmt demands."""
    source = text.source
    fine = Counter(_PLACEHOLDER.findall(to_text(one.text))) == Counter(_PLACEHOLDER.findall(source))
    body = to_text(one.text if fine else text.change.draft).strip("\n")
    first, last = (len(source) - len(cut) for cut in (source.lstrip("\n"), source.rstrip("\n")))
    return Proposal("\n" * first + body + "\n" * last, one.probability)


def field(form: int | None, text: str) -> list[str]:
    """The lines of a translation in a .po file, wrapped as gettext does."""
    import polib

    lines = str(polib.POEntry(msgstr=text)).split("msgstr ", 1)[1].rstrip("\n").split("\n")
    return [f"msgstr{'' if form is None else f'[{form}]'} {lines[0]}", *lines[1:]]


def filled(content: str, proposals: dict[int, dict[int | None, Proposal]]) -> str:
    """The content of a .po file with proposals: first line of an entry, from 1 → form → text."""
    made: list[str] = []
    forms_left: dict[int | None, Proposal] = {}
    replaced = False  # what stands here is the rest of a translation that was replaced
    for number, line in enumerate(io.StringIO(content, newline=""), start=1):
        end = line[len(line.rstrip("\r\n")) :] or "\n"
        if number in proposals:
            forms_left = dict(proposals[number])
            least = min(one.probability for one in forms_left.values())
            made.append(f"# {COMMENT} {least:.2f}{end}")
        match = _FIELD.match(line)
        form = int(match[1]) if match and match[1] else None
        if match and form in forms_left:
            made += [one + end for one in field(form, forms_left.pop(form).text)]
        elif not (replaced and line.startswith('"')):
            made.append(line)
        replaced = bool(match) and made[-1] is not line or replaced and line.startswith('"')
    return "".join(made)


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description="Fill the fuzzy entries of a .po file.")
    parser.add_argument("work", metavar="WORK", type=Path, help="folder of prepare.py, train.sh")
    parser.add_argument("po", metavar="FILE", type=Path, help="a .po file")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="default: FILE itself")
    parser.add_argument(
        "--memory", metavar="FOLDER", type=Path, help="more .po files to match from"
    )
    args = parser.parse_args()
    entries = [one for one in read_po(args.po) if one.fuzzy and not one.obsolete]
    new = [one for one in entries if COMMENT not in one.tcomment]
    pairs = read(args.work / "memory.src", args.work / "memory.tgt")
    memory = Memory([*(po_pairs(args.memory) if args.memory else []), *pairs])
    texts, editor = texts_of(new, memory), load(args.work)
    found = propose(editor, [one.change for one in texts], settings_of(args.work))
    proposals: dict[int, dict[int | None, Proposal]] = {}
    for text, one in zip(texts, found, strict=True):
        if text.change.old == text.change.new:  # the memory has it as it is
            one = Proposal(text.change.draft, 1.0)
        proposals.setdefault(text.entry.linenum, {})[text.form] = safe(one, text)
    try:
        with open(args.po, encoding="utf-8", newline="") as file:
            content = filled(file.read(), proposals)
    except UnicodeDecodeError as error:
        raise UserError(f"{args.po} is not UTF-8: msgconv -t UTF-8 {args.po}") from error
    target = args.output or args.po
    part = target.with_name(target.name + ".part")
    part.write_text(content, "utf-8", newline="")
    part.replace(target)
    same = sum(
        all(text == made[form].text for form, _, _, text in forms(one) if form in made)
        for one in new
        if (made := proposals.get(one.linenum))
    )
    said = f"{len(proposals)} of {len(entries)} fuzzy entries have a new proposal"
    print(f"{target}: {said}, in {same} of them the text that stood there")


if __name__ == "__main__":
    run_cli(main)
