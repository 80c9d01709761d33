"""N-best for a sentence, several checkpoints and a re-ranker, by real commands."""

RANK = "--iter-decode-with-external-reranker --iter-decode-with-beam 4 --noise-scale 1"


def answers(result) -> list[list[tuple[float, str]]]:
    """Score to base 2 and text of all H- lines of every sentence, in the order printed; the
    sentences in theirs."""
    answers_of: dict[int, list[tuple[float, str]]] = {}
    for line in result.out.splitlines():
        if line.startswith("H-"):
            name, score, text = line.split("\t")
            answers_of.setdefault(int(name[2:]), []).append((float(score), text))
    return [answers_of[i] for i in range(len(answers_of))]


def test_answers_are_ranked_by_the_score_of_the_autoregressive_model(
    commands, triples, transformer
):
    """Whose own score of each is that of fairseq (tests/decoding/test_reranker.py)."""
    flags, both = "--gen-subset valid", f"{triples.checkpoint}:{transformer}"
    ranked = triples.generate(f"{flags} {RANK} --nbest 4", both)
    groups = answers(commands.done(ranked, triples.folder))
    plain = answers(commands.done(triples.generate(flags), triples.folder))
    assert sum(map(len, groups)) > len(plain)
    for group, ((own, single),) in zip(groups, plain, strict=True):
        assert group == sorted(group, key=lambda answer: -answer[0])
        (score,) = [score for score, text in group if text == single]
        assert score != own, "the edit model's own score"
