"""N-best for a sentence, several checkpoints and a re-ranker, by real commands."""

import pytest
from conftest import PACKAGE

RANK = "--iter-decode-with-external-reranker --iter-decode-with-beam 4 --noise-scale 1"


def answers(result) -> list[list[tuple[float, str]]]:
    """Score to base 2 and text of all H- lines of every sentence, in the order printed; the
    sentences in theirs."""
    found: dict[int, list[tuple[float, str]]] = {}
    for line in result.out.splitlines():
        if line.startswith("H-"):
            name, score, text = line.split("\t")
            found.setdefault(int(name[2:]), []).append((float(score), text))
    return [found[i] for i in range(len(found))]


def score_references(commands, triples, transformer, folder, groups) -> list[float]:
    """What fairseq itself says of the answers: its own task, with them as the references."""
    sources = triples.text("valid", "src")
    pairs = [(source, text) for source, group in zip(sources, groups) for _, text in group]
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
    return [score for ((score, _),) in answers(result)]


def test_answers_are_ranked_by_the_score_of_the_autoregressive_model(
    commands, triples, transformer, tmp_path
):
    both = f"{triples.checkpoint}:{transformer}"
    flags = f"--gen-subset valid {RANK} --nbest 4"
    groups = answers(commands.done(triples.generate(flags, both), triples.folder))
    plain = answers(commands.done(triples.generate("--gen-subset valid"), triples.folder))
    found = [score for group in groups for score, _ in group]
    expected = score_references(commands, triples, transformer, tmp_path, groups)
    assert len(found) > 11 and found == pytest.approx(expected, abs=2e-4)
    for group, ((_, single),) in zip(groups, plain, strict=True):
        assert group == sorted(group, key=lambda answer: -answer[0])
        assert single in {text for _, text in group}
