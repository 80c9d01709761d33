"""What a report is made of: printed outputs and text files, sentence by sentence.

fairseq prints sentences in the order in which they were decoded; here they are sorted by their
number. Sentence N, counted from 0, is line N + 1 of a text file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..errors import UserError, counted
from ..io.text_files import SUBWORDS, few, read_lines
from ..metrics.words import is_char_tokenized
from ..registration import register
from .printed import Printed, Texts, read_printed

AGAINST = ("draft", "source")  # what was corrected
SIDES = ("drafts", "hypotheses", "references", "sources")
LETTERS = {"references": "T", "drafts": "E", "sources": "S"}
# what subwords leave in a text, and the flag that takes it out
_MARKERS = {"\u2581": "sentencepiece", "@@": "subword_nmt"}
_SHOWN = 5


@dataclass
class Side:
    """Sentences of one kind and where they come from."""

    name: str
    texts: Texts
    tokens: bool = False  # tokens of the model, as H- lines hold them


@dataclass
class Corpus:
    """Sentences that belong together; the lists have one item a sentence, in order."""

    numbers: list[int]
    systems: list[Printed]
    references: list[str] | None
    drafts: list[str] | None
    sources: list[str] | None
    origin: dict[str, str]  # side → where its sentences come from
    notes: list[str]


# ---------------------------------------------------------------- text and binarised data


def read_text(path: str) -> Texts:
    """The lines of a text file, by sentence number; raises what :func:`read_lines` raises."""
    return dict(enumerate(read_lines(path)))


def read_hypotheses(path: str) -> Printed:
    """A text file of outputs as a system."""
    texts = read_text(path)
    return Printed(path, outputs=texts, lines={number: number + 1 for number in texts})


def read_binarised(folder: str, lang: str, split: str) -> Side:
    """The drafts of a split as preprocess has written them; unknown words are ``<unk>``.

    Raises:
        UserError: there is no such file, no dictionary, or more than one language pair.
    """
    register(lean=True)
    from fairseq.data import Dictionary, data_utils

    found = sorted(Path(folder).glob(f"{split}.*-*.{lang}.idx"))
    if len(found) != 1:
        there = f"{len(found)} files" if found else "no file"
        raise UserError(
            f"{folder}: {there} {split}.SOURCE-TARGET.{lang}.idx; check --data, --draft-lang and "
            "--gen-subset, or give the drafts as text with --drafts"
        )
    prefix = str(found[0].with_suffix(""))
    target = found[0].name.removeprefix(f"{split}.").removesuffix(f".{lang}.idx").partition("-")[2]
    dictionary = Dictionary.load(str(Path(folder) / f"dict.{target}.txt"))
    data = data_utils.load_indexed_dataset(prefix, dictionary)
    if data is None:
        raise UserError(f"{prefix}.bin is missing; preprocess the files again")
    texts = {number: dictionary.string(data[number]) for number in range(len(data))}
    return Side(f"{prefix}.bin", texts, tokens=True)


# ---------------------------------------------------------------- everything together


@dataclass
class Given:
    """What a report is asked for: files and how to read them."""

    printed: Sequence[str] = ()
    hypotheses: Sequence[str] = ()
    references: str | None = None
    drafts: str | None = None
    sources: str | None = None
    data: str | None = None
    draft_lang: str | None = None
    against: str = AGAINST[0]
    split: str = "test"
    remove_bpe: str | None = None
    remove_bpe_from: Sequence[str] = ("drafts",)
    allow_missing: bool = False


def gather(given: Given) -> Corpus:
    """Read everything and put together what belongs together.

    Raises:
        UserError: a file that cannot be read, sentences that are missing, or sides that do not
            belong together.
    """
    systems = [read_printed(path) for path in given.printed]
    systems += [read_hypotheses(path) for path in given.hypotheses]
    sides = _text_sides(given)
    total = _number_of_sentences(systems[len(given.printed) :], sides)
    notes = [note for system in systems for note in system.notes]
    numbers = _common_numbers(systems, total, given.allow_missing, notes)
    for kind in ("references", "drafts", "sources"):
        if kind not in sides and (printed := _printed_side(kind, systems, numbers)):
            sides[kind] = printed
    if given.against == "source":
        sides["drafts"] = _corrected_sources(given, sides, systems, numbers)
    _refuse_tokens(given, sides.get("drafts"), systems)
    chosen = {kind: [side.texts[n] for n in numbers] for kind, side in sides.items()}
    origin = {kind: side.name for kind, side in sides.items()}
    _remove_subwords(given, chosen, origin, systems)
    _check_markers(given, chosen, origin, systems)
    return Corpus(
        numbers,
        systems,
        chosen.get("references"),
        chosen.get("drafts"),
        chosen.get("sources"),
        origin,
        notes,
    )


def _text_sides(given: Given) -> dict[str, Side]:
    sides: dict[str, Side] = {}
    for kind in ("references", "drafts", "sources"):
        path = getattr(given, kind)
        if path is not None:
            sides[kind] = Side(path, read_text(path))
    if given.data is not None:
        sides["drafts"] = read_binarised(given.data, given.draft_lang or "", given.split)
    return sides


def _corrected_sources(
    given: Given, sides: Mapping[str, Side], systems: Sequence[Printed], numbers: Sequence[int]
) -> Side:
    """The sources as what was corrected: for a system that reads the noisy text and no draft."""
    if "sources" not in sides:
        raise UserError("--against source: there are no S- lines; give the sources with --sources")
    if given.sources is None:
        _refuse_others("sources", [one for one in systems if one.sources], numbers)
    return sides["sources"]


def _number_of_sentences(files: Sequence[Printed], sides: Mapping[str, Side]) -> tuple[int, str]:
    """How many sentences the text files have, and what says so; 0 where there are no files."""
    counts = {system.path: len(system.outputs) for system in files}
    counts |= {side.name: len(side.texts) for side in sides.values()}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise UserError(f"line counts differ: {said}; line n of each file must belong together")
    name, total = next(iter(counts.items()), ("", 0))
    if counts and not total:
        raise UserError(f"no lines in {', '.join(counts)}; give files with sentences in them")
    return total, name


def _common_numbers(
    systems: Sequence[Printed], total: tuple[int, str], allow_missing: bool, notes: list[str]
) -> list[int]:
    """The sentences that every system has; those that one lacks are an error or a note."""
    count, name = total
    for system in systems:
        last = max(system.outputs)
        if name and last >= count:
            raise UserError(
                f"{system.path}: line {system.lines[last]}: sentence {last}, but {name} has "
                f"{counted(count, 'line')}, for sentences 0 to {count - 1}; they do not belong "
                "together"
            )
    count = count or 1 + max(max(system.outputs) for system in systems)
    for system in systems:
        missing = count - len(system.outputs)
        if not missing:
            continue
        # of numbers that may have no end
        first = islice((n for n in range(count) if n not in system.outputs), _SHOWN + 1)
        shown = few(list(first), _SHOWN)
        by = f" ({name} has {counted(count, 'line')})" if name else ""
        said = f"{system.path}: {missing} of {count} sentences{by} are missing: {shown}"
        if not allow_missing:
            raise UserError(
                f"{_other_set(system, total) or said + '; '}generate again, or leave them out of "
                "the report with --allow-missing (fairseq-generate leaves out long ones with "
                "--skip-invalid-size-inputs-valid-test)"
            )
        notes.append(f"{said}; left out for all systems")
    numbers = set.intersection(*(set(system.outputs) for system in systems))
    if not numbers:
        names = " and ".join(system.path for system in systems)
        raise UserError(f"{names} have no sentence in common; they do not belong together")
    return sorted(numbers)


def _other_set(system: Printed, total: tuple[int, str]) -> str:
    """How an error begins where a file has lines behind the last output: it may be another set."""
    (count, name), there = total, len(system.outputs)
    if not name or max(system.outputs) >= there:
        return ""
    return (
        f"{system.path} has sentences 0 to {there - 1}, and {name} has {count} lines: {name} may "
        f"be another set's; where it is not, the last {count - there} of {count} sentences are "
        f"missing in {system.path}: "
    )


def _printed_side(kind: str, systems: Sequence[Printed], numbers: Sequence[int]) -> Side | None:
    """References, drafts or sources that were printed beside outputs; None where there are none."""
    letter, flag = LETTERS[kind], f"--{kind}"
    having = [system for system in systems if getattr(system, kind)]
    if kind == "drafts":  # what was written from nothing has an empty first step
        having = [one for one in having if any(one.drafts.get(n, "").strip() for n in numbers)]
    if not having:
        return None
    if kind != "sources":
        _refuse_others(kind, having, numbers)
    first = having[0]
    texts: Texts = getattr(first, kind)
    for number in numbers:
        if number not in texts:
            raise UserError(
                f"{first.path}: line {first.lines[number]}: sentence {number} has no {letter}- "
                f"line, others have one; generate it again, or give {flag} FILE"
            )
    return Side(f"{letter}- lines of {first.path}", texts, tokens=letter == "E")


def _refuse_others(kind: str, systems: Sequence[Printed], numbers: Sequence[int]) -> None:
    """Raise where outputs were printed beside other references, drafts or sources."""
    first, *others = systems
    for number in numbers:
        for other in others:
            if getattr(other, kind).get(number) != getattr(first, kind).get(number):
                raise UserError(
                    f"{first.path} and {other.path} have other {LETTERS[kind]}- lines for sentence "
                    f"{number}: other data, or text processed in another way; give --{kind} FILE"
                )


# ---------------------------------------------------------------- subwords


def _remove_subwords(
    given: Given,
    chosen: dict[str, list[str]],
    origin: Mapping[str, str],
    systems: Sequence[Printed],
) -> None:
    if given.remove_bpe is None or given.remove_bpe == "none":
        return
    register(lean=True)
    from fairseq.data.data_utils import post_process

    symbol = SUBWORDS[given.remove_bpe]
    for kind in given.remove_bpe_from:
        if kind in chosen:
            _refuse_gluing(given, origin[kind], chosen[kind])
            chosen[kind] = [post_process(text, symbol) for text in chosen[kind]]
    if "hypotheses" in given.remove_bpe_from:
        for system in systems:
            _refuse_gluing(given, system.path, list(system.outputs.values()))
            for number, text in system.outputs.items():
                system.outputs[number] = post_process(text, symbol)


def _refuse_gluing(given: Given, name: str, lines: Sequence[str]) -> None:
    """Raise where text of whole words would lose its spaces."""
    if SUBWORDS[given.remove_bpe or "none"] != "sentencepiece" or is_char_tokenized(lines):
        return
    if any(" " in line.strip() for line in lines) and not any("\u2581" in line for line in lines):
        raise UserError(
            f"{name} has no \u2581, so --remove-bpe {given.remove_bpe} would take out its spaces: "
            "leave it out, or name the sides in subwords with --remove-bpe-from"
        )


def _refuse_tokens(given: Given, drafts: Side | None, systems: Sequence[Printed]) -> None:
    """Raise where drafts are the model's tokens, outputs are text, and nothing joins them."""
    if drafts is None or not drafts.tokens or given.remove_bpe is not None:
        return
    for system in systems:
        if system.joined:
            raise UserError(
                f"{drafts.name}: tokens, where the D- lines of {system.path} are text; say how to "
                "join them with --remove-bpe, or give the drafts as text with --drafts"
            )


def _check_markers(
    given: Given,
    chosen: Mapping[str, Sequence[str]],
    origin: Mapping[str, str],
    systems: Sequence[Printed],
) -> None:
    """Raise where drafts, outputs and references are not all words or all subwords."""
    if given.remove_bpe == "none":
        return
    texts = [(kind, origin[kind], chosen[kind]) for kind in SIDES[::2] if kind in chosen]
    texts += [("hypotheses", one.path, list(one.outputs.values())) for one in systems]
    # those with words in them
    filled = [(kind, name, [line for line in lines if line.strip()]) for kind, name, lines in texts]
    for marker, flag in _MARKERS.items():
        counts = [(kind, name, sum(marker in line for line in lines), len(lines))
                  for kind, name, lines in filled]  # fmt: skip
        cut = next(((kind, name) for kind, name, n, total in counts if 2 * n > total), None)
        whole = next((name for _, name, n, total in counts if total and not n), None)
        if cut and whole:
            raise UserError(
                f"{cut[1]} has subwords ({marker}) and {whole} has not; join them with "
                f"--remove-bpe {flag} --remove-bpe-from {cut[0]}, or leave all as it is with "
                "--remove-bpe none"
            )
