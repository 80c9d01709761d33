"""The runtime writes text as fairseq's generator does: same texts, scores close by."""

from pathlib import Path
from typing import Any

import pytest
import saved
import tiny
from fairseq.dataclass.configs import GenerationConfig

from lev_plugins.export.folder import export
from lev_plugins.inference.checkpoints import load_state
from lev_plugins.inference.generation import GeneratingModel, load_parts
from lev_runtime import Generator, load

LINES = ["a b", "", "dcba", "▁a x ▁", "  b\t\u2028c  ", "<s> <unk> a </s>", "\ud800 é"]
LINES += [("abcd " * 6)[:count] for count in (9, 17, 30)]
#: of the corpus for subwords: letters and pieces of several
CORPUS = ["ab cd abcd", "dc ba ab", "a b c d"] * 9


def written(model: GeneratingModel, line: str, nbest: int, **options: Any) -> list[Any]:
    """What fairseq's generator finds for a line: texts and scores."""
    generator = model.task.build_generator([model.model], GenerationConfig(**options))
    line = line.encode("utf-8", "replace").decode()
    (found,) = model.search([model.processing.tokens(line)], generator)
    texts = [model.task.target_dictionary.string(best["tokens"]) for best in found]
    bpe = model.processing.bpe
    decoded = [bpe.decode(text) if bpe else text for text in texts]
    scores = [float(best["score"]) for best in found]
    return list(zip(decoded, scores, strict=True))[:nbest]


@pytest.fixture(scope="module", params=["words", "characters", "subwords"])
def both(request, tmp_path_factory) -> tuple[GeneratingModel, Generator]:
    """A small PBD of the units and its export."""
    folder: Path = tmp_path_factory.mktemp(request.param)
    typed, symbols = {"bpe": "none"}, ["ab", "dcba", *"abcd"]
    if request.param == "characters":
        typed, symbols = {}, [*"abcd", "\u2581"]
    elif request.param == "subwords":
        spm = tiny.sentencepiece_model(folder / "spm", CORPUS, vocab_size=14)
        typed = {"bpe": "sentencepiece", "sentencepiece_model": str(spm)}
        symbols = ["\u2581", "ab", "cd", "\u2581ab", *"abcd"]
    data = tiny.dictionaries(folder / "bin", symbols)
    path = str(saved.save(folder / "model.pt", data, "pbd", seed=29))
    export(path, str(folder / "exported"), **typed)
    parts = load_parts(path, load_state(path), None, typed)
    runtime = load(folder / "exported", threads=1)
    assert isinstance(runtime, Generator)
    return GeneratingModel(*parts), runtime


@pytest.mark.parametrize(
    "options",
    [{"beam": 1}, {"beam": 5}, {"beam": 40}, {"beam": 3, "max_len_b": 7}],
)
def test_texts_are_those_of_fairseqs_generator(both, options):
    model, runtime = both
    nbest = min(3, options["beam"])
    lists = list(runtime.stream_nbest(LINES, nbest, batch_size=4, **options))
    for line, found in zip(LINES, lists, strict=True):
        wanted = written(model, line, nbest, **options)
        assert [each.text for each in found] == [text for text, _ in wanted], repr(line)
        scores = [score for _, score in wanted]
        assert [each.score for each in found] == pytest.approx(scores, abs=1e-4)
    assert len({best.text for best, *_ in lists}) > 2
