"""N-best for a sentence, several checkpoints and a re-ranker, by real commands."""

from typing import NamedTuple

import pytest
from conftest import PACKAGE

RANK = "--iter-decode-with-external-reranker --iter-decode-with-beam 4 --noise-scale 1"


class Answer(NamedTuple):
    """An H- line: the score to base 2, and the text."""

    score: float
    text: str


def answers(result) -> list[list[Answer]]:
    """All H- lines of every sentence, in the order printed; the sentences in theirs."""
    found: dict[int, list[Answer]] = {}
    for line in result.out.splitlines():
        if line.startswith("H-"):
            name, score, text = line.split("\t")
            found.setdefault(int(name[2:]), []).append(Answer(float(score), text))
    assert sorted(found) == list(range(len(found)))
    return [found[i] for i in range(len(found))]


def texts(groups: list[list[Answer]]) -> list[list[str]]:
    return [[answer.text for answer in group] for group in groups]


@pytest.fixture(scope="module")
def plain(commands, triples):
    """The answers of plain decoding."""
    return answers(commands.done(triples.generate("--gen-subset valid"), triples.folder))


def score_references(commands, triples, transformer, folder, groups) -> list[float]:
    """What fairseq itself says of the answers: its own task, with them as the references."""
    sources = triples.text("valid", "src")
    pairs = [(sources[i], answer.text) for i, group in enumerate(groups) for answer in group]
    for side, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        (folder / f"test.{side}").write_text("".join(f"{line}\n" for line in lines))
    known = " ".join(f"--{s}dict {triples.data}/dict.{s}.txt" for s in ("src", "tgt"))
    languages = "--source-lang src --target-lang tgt"
    commands.preprocess(f"{languages} {known} --testpref test --destdir bin", folder)
    result = commands.ok(
        f"fairseq-generate bin {languages} --task translation --path {transformer} --cpu "
        f"--score-reference --required-batch-size-multiple 1 --user-dir {PACKAGE}",
        folder,
    )
    return [answer.score for (answer,) in answers(result)]


def test_answers_are_ranked_by_the_score_of_the_autoregressive_model(
    commands, triples, plain, transformer, tmp_path
):
    both = f"{triples.checkpoint}:{transformer}"
    flags = f"--gen-subset valid {RANK} --nbest 4"
    groups = answers(commands.done(triples.generate(flags, both), triples.folder))
    found = [answer.score for group in groups for answer in group]
    expected = score_references(commands, triples, transformer, tmp_path, groups)
    assert len(found) > 11 and found == pytest.approx(expected, abs=2e-4)
    for group, (single,) in zip(groups, plain, strict=True):
        scores = [answer.score for answer in group]
        assert scores == sorted(scores, reverse=True)
        assert single.text in {answer.text for answer in group}
