"""embeddings: from binarised pairs to the first parameters of every model that has them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import saved
import tiny
import torch
from fairseq import tasks, utils
from fairseq.data import Dictionary
from refusals import refusal, refuses
from tables import table

from lev_plugins.cli import embeddings
from lev_plugins.registration import register

#: letters of a source and of its target
PAIRS = [("abc", "abd"), ("cde", "cd"), ("efgh", "fgh"), ("ah", "gb"), ("bdf", "ace")]


def write_data(
    folder: Path,
    letters: Sequence[str] = (tiny.LETTERS,) * 2,
    pairs: Sequence[tuple[str, str]] = PAIRS,
) -> list[Dictionary]:
    """Binarised pairs, with these dictionaries of source and target."""
    folder.mkdir()
    dictionaries = [tiny.dictionary(known) for known in letters]
    for number, (side, symbols) in enumerate(zip(("src", "tgt"), dictionaries)):
        symbols.save(str(folder / f"dict.{side}.txt"))
        rows = [tiny.sentence(pair[number], symbols)[1:] for pair in pairs]
        tiny.write_indexed(folder / f"train.src-tgt.{side}", rows, len(symbols))
    return dictionaries


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    register()
    write_data(Path("data"))


def built(kind: str, *flags: str, data: str = "data"):
    """A model as a training begins with it, and its task."""
    words = f"{data} {saved.KINDS[kind]} --optimizer adam {saved.SIZES} -s src -t tgt"
    if kind != "pbd":
        words += " --decoder-embed-dim 16 --decoder-ffn-embed-dim 16 --decoder-attention-heads 2"
    cfg = saved.configuration([*words.split(), *flags])
    task = tasks.setup_task(cfg.task)
    return task.build_model(cfg.model), task


def tables(model: torch.nn.Module) -> list[torch.Tensor]:
    """All embeddings, or output layers, of symbols."""
    weights = dict(model.named_parameters()).values()
    rows = len(tiny.dictionary())  # and the placeholder
    return [weight for weight in weights if weight.dim() == 2 and len(weight) in (rows, rows + 1)]


@pytest.mark.parametrize("kind", [kind for kind in saved.KINDS if kind != "gated"])
def test_a_model_starts_from_the_file(kind):
    vectors = torch.randn(8, 16)
    with open("file.txt", "w") as file:
        file.write("8 16\n")
        for letter, vector in zip(tiny.LETTERS, vectors.tolist()):
            file.write(f"{letter} {' '.join(map(str, vector))}\n")
    model, task = built(kind, "--share-all-embeddings", "--encoder-embed-path", "file.txt")
    first = task.source_dictionary.index("a")
    assert any(torch.allclose(table[first : first + 8], vectors) for table in tables(model))


def test_the_file_has_a_vector_for_each_symbol_that_stands_with_others():
    embeddings.main(["data", "file.txt", "--dim", "4"])
    vectors = utils.parse_embedding("file.txt")
    assert set(vectors) == set(tiny.LETTERS)
    assert all(abs(vector.norm() - 1) < 1e-3 for vector in vectors.values())
    first = Path("file.txt").read_bytes()
    embeddings.main(["data", "file.txt", "--dim", "4"])
    assert Path("file.txt").read_bytes() == first


@pytest.mark.parametrize("dim", ["1", "64"])
@pytest.mark.parametrize("pairs", ["-;abc-abd;cde-cd;efgh-fgh;-", "-_;a-;-b", "abcdefgh-;-a;-b;-h"])
def test_pairs_that_say_little_or_nothing_are_passed_over(pairs, dim):
    rows = [tuple(pair.split("-")) for pair in pairs.split(";")]
    write_data(Path("some"), ("abcdefgh", "bacdefgh"), rows)
    embeddings.main(["some", "file", "--dim", dim])
    vectors = {**utils.parse_embedding("file.src"), **utils.parse_embedding("file.tgt")}
    assert vectors and all(vector.isfinite().all() for vector in vectors.values())


def test_two_dictionaries_have_a_file_each_for_their_own_tables():
    write_data(Path("two"), ("hgfedcba", "xabcdefgh"))
    embeddings.main(["two", "file", "--dim", "4"])
    flags = "--encoder-embed-dim 4 --decoder-embed-dim 4 --encoder-embed-path file.src "
    flags += "--decoder-embed-path file.tgt"
    model, task = built("editor", *flags.split(), data="two")
    for side, symbols, embedded in (
        ("src", task.source_dictionary, model.encoder_embed),
        ("tgt", task.target_dictionary, model.decoder_embed),
    ):
        for letter, vector in utils.parse_embedding(f"file.{side}").items():
            assert torch.equal(embedded.weight[symbols.index(letter)], vector)


@pytest.mark.parametrize("text, reason", table("cli/refused.tsv", "embeddings, files"))
def test_a_file_that_cannot_be_or_does_not_fit_is_refused(text, reason):
    if text != "-":
        Path("file.txt").write_text(text.replace(";", "\n"))
    with refuses(reason, "file.txt"):
        built("editor", "--encoder-embed-path", "file.txt")


@pytest.mark.parametrize("words, reason", table("cli/refused.tsv", "embeddings"))
def test_data_that_tell_nothing_are_refused(words, reason):
    pairs = {"empty": [], "blank": [("", ""), ("_", "__")], "same": [("a", "a"), ("aa", "")]}
    for name, pairs_of in pairs.items():
        write_data(Path(name), pairs=pairs_of)
    assert reason in refusal(embeddings.main, *words.split())


def test_two_files_for_one_table_are_refused():
    embeddings.main(["data", "a", "--dim", "16"])
    paths = "--encoder-embed-path a --decoder-embed-path b --share-all-embeddings"
    with refuses("one table"):
        built("editor", *paths.split())
