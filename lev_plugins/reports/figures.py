"""The numbers of a report, computed once: the table, the JSON and the picture show the same."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from ..metrics.corpus import METRICS, Metric, add_up, bleu, make_metric, ter
from ..metrics.correction import (
    CORRECTION_METRICS,
    PLAIN_CORRECTION_METRICS,
    CorrectionMetric,
    Counts,
    WordCounts,
    make_correction_metric,
    word_totals,
)
from ..metrics.words import is_char_tokenized
from .edits import EditCounts, common, count_edits
from .input import Corpus
from .printed import Printed

NO_EDIT_BASELINE = "no-edit baseline"
# those of ERRANT need a library and English, and are computed where they are asked for
DEFAULT_METRICS = (*METRICS, *PLAIN_CORRECTION_METRICS)
UNITS: dict[str, Callable[[str], Sequence[str]]] = {
    "word": str.split,
    "character": lambda text: list(" ".join(text.split())),
}


# of a system, in their order; None where they cannot be computed
_NUMBERS = "scores unchanged edits_made edits words against_draft iterations".split()
#: as JSON has them
Figures = dict[str, Any]
System = dict[str, Any]
AnyMetric = Metric | CorrectionMetric


@dataclass(frozen=True)
class Settings:
    """How to count.

    metrics: names in METRICS and CORRECTION_METRICS. unit: what an edit is an edit of.
    length_step: width of the classes of source lengths, in tokens.
    """

    metrics: Sequence[str] = DEFAULT_METRICS
    unit: str = "word"
    length_step: int = 10
    ter_case_sensitive: bool = False
    bleu_tokenize: str | None = None

    def metric(self, name: str) -> Metric:
        """The metric of that name with these settings; raises UserError where it cannot be had."""
        if name == "bleu":
            return bleu(self.bleu_tokenize)
        if name in ("ter", "ter_normalized"):
            normalized = name == "ter_normalized"
            return ter(normalized, case_sensitive=self.ter_case_sensitive or normalized)
        return make_metric(name)


def compute(corpus: Corpus, names: Sequence[str], settings: Settings) -> Figures:
    """The report as plain data, ready for JSON.

    Returns:
        ``sentences``, ``unit``, ``origin``, ``metrics`` (name → signature and direction),
        ``systems`` (a list; where there are drafts the first is the draft itself) and ``notes``.
        What cannot be computed for want of references, drafts, sources or ``I-`` lines is None.
    """
    metrics, cut = _chosen(corpus, settings), UNITS[settings.unit]
    systems = [_system(*pair, corpus, metrics, settings) for pair in zip(names, corpus.systems)]
    if corpus.drafts is not None:
        nothing = Printed("", outputs=dict(zip(corpus.numbers, corpus.drafts)))
        systems.insert(0, _system(NO_EDIT_BASELINE, nothing, corpus, metrics, settings))
    return {
        "sentences": len(corpus.numbers),
        "unit": settings.unit,
        "reference_tokens": _size(corpus.references, cut),
        "draft_tokens": _size(corpus.drafts, cut),
        "origin": corpus.origin,
        "metrics": {
            one.name: {"higher_is_better": one.higher_is_better, "signature": one.signature()}
            for one in metrics
        },
        "systems": systems,
        "notes": [*corpus.notes, *_wanting(corpus)],
    }


def _chosen(corpus: Corpus, settings: Settings) -> list[AnyMetric]:
    """The metrics that can be computed: all need references, those of a correction drafts too."""
    if corpus.references is None:
        return []
    return [
        make_correction_metric(name) if name in CORRECTION_METRICS else settings.metric(name)
        for name in settings.metrics
        if name not in CORRECTION_METRICS or corpus.drafts is not None
    ]


def _size(texts: Sequence[str] | None, cut: Callable[[str], Sequence[str]]) -> int | None:
    return None if texts is None else sum(len(cut(text)) for text in texts)


def _wanting(corpus: Corpus) -> list[str]:
    """What was not computed, and what it needs."""
    notes = []
    if corpus.references is None:
        notes.append("no scores: there are no T- lines; give --references FILE")
    elif corpus.origin["references"].startswith("T- ") and any(
        "<<unk>>" in text for text in corpus.references
    ):
        notes.append(
            "references hold <<unk>>, words that are not in the dictionary and never count as "
            "right; --references FILE scores against the text"
        )
    if corpus.drafts is not None and corpus.origin["drafts"].startswith("S- "):
        unknown = sum("<unk>" in text for text in corpus.drafts)
        if unknown:
            notes.append(
                f"{unknown} S- lines hold <unk>, what the dictionary does not know; these words "
                "count as wrong before; --sources FILE takes the text"
            )
    if corpus.drafts is None:
        notes.append(
            "no edits: there are no drafts; give --drafts FILE, or --data and --draft-lang; where "
            "the source itself was corrected: --against source"
        )
    if corpus.references is not None and is_char_tokenized(corpus.references):
        notes.append(
            "references are single characters with spaces between them, and each counts as a word; "
            "--remove-bpe characters --remove-bpe-from drafts,hypotheses,references,sources joins "
            "them"
        )
    if not any(system.iterations for system in corpus.systems):
        notes.append("no iterations: there are no I- lines; generate with --print-step")
    elif corpus.sources is None:
        notes.append("no iterations by length: there are no S- lines; give --sources FILE")
    return notes


# ---------------------------------------------------------------- one system


def _system(
    name: str, printed: Printed, corpus: Corpus, metrics: Sequence[AnyMetric], settings: Settings
) -> System:
    outputs = [printed.outputs[number] for number in corpus.numbers]
    steps = [printed.iterations[number] for number in corpus.numbers if printed.iterations]
    drafts, references, cut = corpus.drafts, corpus.references, UNITS[settings.unit]
    found: System = {"name": name, "file": printed.path or None, **dict.fromkeys(_NUMBERS)}
    if references is not None:
        found["scores"] = _scores(metrics, outputs, references)
    if drafts is not None:
        pairs = list(zip(drafts, outputs, strict=True))
        found["unchanged"] = sum(draft.split() == output.split() for draft, output in pairs)
        found["edits_made"] = _edits_made((cut(draft), cut(output)) for draft, output in pairs)
    if drafts is not None and references is not None:
        counts = [
            count_edits(cut(draft), cut(output), cut(reference))
            for draft, output, reference in zip(drafts, outputs, references)
        ]
        found["edits"] = EditCounts(*map(sum, zip(*counts)))._asdict()
        totals = _correction_totals(metrics, drafts, outputs, references)
        found["words"] = asdict(word_totals(totals[WordCounts()]))
        found["against_draft"] = _against_draft(counts)
        for one in metrics:
            if isinstance(one, CorrectionMetric):
                found["scores"][one.name] = one.score(totals[one.counts])
    if steps:
        found["iterations"] = _iterations(steps, corpus.sources, settings.length_step)
    return found


def _scores(
    metrics: Iterable[AnyMetric], outputs: Sequence[str], references: Sequence[str]
) -> dict[str, float]:
    """Scores by the metrics that need outputs and references alone."""
    pairs = list(zip(outputs, references, strict=True))
    return {
        one.name: one.score(add_up(one, (one.statistics(*pair) for pair in pairs)))
        for one in metrics
        if not isinstance(one, CorrectionMetric)
    }


def _correction_totals(
    metrics: Iterable[AnyMetric],
    drafts: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[str],
) -> dict[Counts, list[float]]:
    """Sums of all that is counted against the drafts, each once; of the words in any case."""
    countings = {one.counts for one in metrics if isinstance(one, CorrectionMetric)}
    triples = list(zip(drafts, outputs, references, strict=True))
    return {
        one: add_up(one, (one.statistics(*triple) for triple in triples))
        for one in countings | {WordCounts()}
    }


def _edits_made(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, int]:
    total = {"kept": 0, "deleted": 0, "inserted": 0}
    for draft, output in pairs:
        kept = common(draft, output)
        total["kept"] += kept
        total["deleted"] += len(draft) - kept
        total["inserted"] += len(output) - kept
    return total


def _against_draft(counts: Iterable[EditCounts]) -> dict[str, int]:
    """Sentences that need fewer, more and as many edits to the reference as their draft."""
    found = {"better": 0, "worse": 0, "equal": 0}
    for one in counts:
        change = one.remaining - one.needed
        found["better" if change < 0 else "worse" if change else "equal"] += 1
    return found


def _iterations(steps: Sequence[int], sources: Sequence[str] | None, width: int) -> dict[str, Any]:
    """How many sentences took how many iterations (Table 6), and by source length (Fig. 4a)."""
    found = Counter(steps)
    return {
        "mean": fmean(steps),
        "histogram": [{"iterations": count, "sentences": found[count]} for count in sorted(found)],
        "by_length": None if sources is None else _by_length(steps, sources, width),
    }


def _by_length(
    steps: Sequence[int], sources: Sequence[str], width: int
) -> list[dict[str, float | int]]:
    """Mean iterations of the sources of 0 … width tokens, width + 1 … 2·width, and so on."""
    classes: dict[int, list[tuple[int, int]]] = {}
    for count, source in zip(steps, sources, strict=True):
        length = len(source.split())
        classes.setdefault(max(length - 1, 0) // width, []).append((length, count))
    return [
        {
            "from": place * width + 1 if place else 0,
            "to": (place + 1) * width,
            "sentences": len(members),
            "mean_length": fmean(length for length, _ in members),
            "mean_iterations": fmean(count for _, count in members),
        }
        for place, members in sorted(classes.items())
    ]
