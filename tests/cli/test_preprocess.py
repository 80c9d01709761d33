"""preprocess: fairseq-preprocess's data, drafts beside them, all or nothing."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import saved
import tiny
from fairseq import options
from fairseq.binarizer import BinarizeSummary, FileBinarizer
from fairseq.data import Dictionary, data_utils
from fairseq_cli import preprocess as fairseq_preprocess
from plain_files import put
from refusals import files, refuses
from tables import table

from lev_plugins.cli import preprocess
from lev_plugins.systems.levenshtein.task import PLACEHOLDER
from lev_runtime.errors import UserError
from lev_runtime.io.text_files import SPECIAL_TOKENS

LANGS = ("src", "pe", "mt")
PLAIN = ("--source-lang", "src", "--target-lang", "pe")
TRIPLE = (*PLAIN, "--draft-lang", "mt")
# Line lengths with which fairseq loses its place in a file of CR LF lines.
ASTRAY = ["x" * (i * i % 9) for i in range(100)]


def lines_of(part: str, lang: str) -> list[str]:
    """40 lines; every third draft is its target, the others lack or change a word."""
    lines = []
    for i in range(40):
        words = [f"{'s' if lang == 'src' else 't'}{(i * k + len(part)) % 23}" for k in range(1, 7)]
        if lang == "mt" and i % 3:
            words = words[: i % 5] + [f"only{i % 4}"]
        lines.append(" ".join(words))
    return lines


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Current folder with train, valid, more and test, each .src .pe .mt, and train.align."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fairseq_preprocess.logger, "handlers", [])  # it gets one in every run
    for part in ("train", "valid", "more", "test"):
        for lang in LANGS:
            put(f"{part}.{lang}", lines_of(part, lang))
    put("train.align", ["0-0 1-1 5-4"] * 40)
    put("mono", lines_of("train", "src"))
    put("given.txt", [f"{letter}{i} {30 - i}" for i in range(20) for letter in "st"])
    return tmp_path


def run(flags: str, langs: Sequence[str] = TRIPLE) -> None:
    """Ours, into ``bin`` unless told otherwise."""
    preprocess.main([*langs, "--destdir", "bin", *flags.split()])


def binarised(folder: str, name: str, dictionary: Dictionary) -> list[str]:
    data = data_utils.load_indexed_dataset(f"{folder}/{name}", dictionary)
    return [dictionary.string(data[i]) for i in range(len(data))]


@pytest.mark.parametrize(
    "flags",
    [
        "--trainpref train --validpref valid,more --testpref test",
        "--trainpref train --validpref valid --joined-dictionary --workers 3",
        "--trainpref train --thresholdsrc 9 --thresholdtgt 11 --nwordstgt 15 --dataset-impl raw",
        "--trainpref train --testpref test --dataset-impl cached --workers 2",
        "--trainpref train --dict-only --validpref absent",
        "--validpref valid --joined-dictionary --tgtdict given.txt",
        "--trainpref train --alignfile train.align",
        "--only-source --trainpref mono --workers 2",
    ],
)
def test_pairs_are_those_of_fairseq_byte_for_byte(corpus, flags):
    langs = () if "mono" in flags else PLAIN
    words = [*langs, *flags.split(), "--destdir", "stock"]
    fairseq_preprocess.main(options.get_preprocessing_parser().parse_args(words))
    run(f"{flags} --destdir ours", langs)
    assert files(corpus / "ours") == files(corpus / "stock")


# drafts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["", "--joined-dictionary", "--workers 3"])
def test_drafts_are_read_back_and_those_of_the_training_count_towards_the_dictionary(corpus, extra):
    put("test.mt", ["unseen"] * 40)
    run(f"--trainpref train --validpref valid,more --testpref test {extra}")
    dictionary = Dictionary.load("bin/dict.pe.txt")
    for name, part in {"train": "train", "valid": "valid", "valid1": "more"}.items():
        for lang in ("pe", "mt"):
            assert binarised("bin", f"{name}.src-pe.{lang}", dictionary) == lines_of(part, lang)
    assert binarised("bin", "test.src-pe.mt", dictionary) == ["<unk>"] * 40
    assert ("only1" in Dictionary.load("bin/dict.src.txt")) == ("joined" in extra)
    targets = " ".join(lines_of("train", "pe") + lines_of("train", "mt")).split()
    assert dictionary.get_count(dictionary.index("t5")) == targets.count("t5")


def test_files_with_carriage_returns_give_the_data_of_plain_ones(corpus):
    for end, folder in (("\n", "unix"), ("\r\n", "dos")):
        for lang in LANGS:
            put(f"train.{lang}", ASTRAY, end)
        run(f"--trainpref train --workers 2 --destdir {folder}")
    assert files(corpus / "dos") == files(corpus / "unix")


# refusals, all or nothing -------------------------------------------------------------------------


#: files that are written first, or removed | flags, ``=`` for "DATA" | what is named
DATA = "--trainpref train --validpref valid"
MISTAKES = r"""
-train.mt | = | train.mt
| = --tgtdict none.txt | none.txt
valid.mt:a\n | = | valid.src has 40 | valid.pe has 40 | valid.mt has 1
train.mt:a\nb\x20</s>\x20b\n | = | train.mt: line 2, word 2
train.src:\xfd7zXZ\0 | = | train.src is compressed
new.src: new.pe: new.mt: | --trainpref new | new.src | new.mt
given:a\x201\nno-count\n | = --tgtdict given | given
given:a\x201\n\xff\x201\n | = --srcdict given | given: line 2
bin/dict.src.txt:old\x201\n | = | bin/dict.src.txt | --srcdict
bin/dict.pe.txt:old\x201\n | = --joined-dictionary --srcdict bin/dict.pe.txt | without --joined-dict
| = --destdir train.src | --destdir train.src
| = --draft-lang pe | --draft-lang pe
| = --only-source | --draft-lang | --only-source
| = --joined-dictionary --srcdict a --tgtdict b | --joined-dictionary
| | --trainpref
| --validpref valid | --trainpref | --srcdict
| --validpref valid --srcdict given.txt | --trainpref | --tgtdict
| = -t= | --target-lang
"""


@pytest.mark.parametrize("row", MISTAKES.strip().splitlines())
def test_one_line_says_what_and_nothing_is_written(corpus, row):
    changes, flags, *parts = (field.strip() for field in row.split("|"))
    put("bin/precious", ["kept"])
    for file in changes.split():
        name, _, content = file.encode().decode("unicode_escape").partition(":")
        if name[0] == "-":
            os.remove(name[1:])
        else:
            Path(name).write_text(content, "latin-1")
    before = files(corpus)
    with refuses(*parts):
        run(flags.replace("=", DATA, 1) if flags[:1] == "=" else flags)
    assert files(corpus) == before


def test_a_second_run_replaces_its_files_and_keeps_others_or_leaves_no_trace(corpus, monkeypatch):
    run("--trainpref train")
    put("bin/notes", ["mine"])
    for lang in ("src", "mt"):
        put(f"train.{lang}", lines_of("later1", lang))
    before, write = files(corpus), FileBinarizer.multiprocess_dataset
    again = "--trainpref train --srcdict bin/dict.src.txt --tgtdict bin/dict.pe.txt"

    def fail(path: str, *args, **kwargs) -> BinarizeSummary:
        if path == "train.mt":
            raise OSError(28, "No space left on device")
        return write(path, *args, **kwargs)

    monkeypatch.setattr(FileBinarizer, "multiprocess_dataset", fail)
    with pytest.raises(UserError):
        run(again)
    assert files(corpus) == before
    monkeypatch.setattr(FileBinarizer, "multiprocess_dataset", write)
    run(again)
    after = files(corpus)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"bin/train.src-pe.mt.bin", "bin/train.src-pe.src.bin"}


def test_every_symbol_that_the_task_knows_is_refused_as_text():
    dictionary = Dictionary()
    control = {dictionary.bos_word, dictionary.pad_word, dictionary.eos_word, PLACEHOLDER}
    assert control == SPECIAL_TOKENS


@pytest.fixture
def checkpoint(corpus):
    """An edit model of small letters, and text with capitals."""
    for part in ("train", "valid"):
        for lang in LANGS:
            put(f"{part}.{lang}", ["aBc", "hgf", ""] if lang == "mt" else ["ABh", "Abd", "c"])
    return saved.save(corpus / "model.pt", tiny.dictionaries(corpus / "data"), "editor")


def test_text_becomes_data_for_a_checkpoint_s_model(checkpoint, capsys):
    run(f"--trainpref train --validpref valid,valid --like {checkpoint} --bpe characters")
    for lang, side in (("src", "src"), ("pe", "tgt")):
        assert (
            Path(f"bin/dict.{lang}.txt").read_bytes() == Path(f"data/dict.{side}.txt").read_bytes()
        )
    target = Dictionary.load("bin/dict.pe.txt")
    assert binarised("bin", "train.src-pe.mt", target) == ["a b c", "h g f", ""]
    assert binarised("bin", "valid1.src-pe.src", target) == ["a b h", "a b d", "c"]
    flags = capsys.readouterr().out.rpartition("next: fairseq-train bin ")[2].split()
    parser = options.get_training_parser()
    args = options.parse_args_and_arch(parser, ["bin", "--optimizer", "adam", *flags[2:]])
    sizes = args.encoder_embed_dim, args.encoder_layers, args.decoder_layers
    assert sizes == (16, 1, 1) and args.finetune_from_model == str(checkpoint)
    assert (args.arch, args.bpe) == ("levenshtein_editor", "characters")


@pytest.mark.parametrize("flags, message", table("cli/refused.tsv", "preprocess --like"))
def test_text_that_is_not_the_checkpoint_s_is_refused(checkpoint, flags, message):
    with refuses(message):
        run(f"--trainpref train {flags}")
    assert not Path("bin").exists()
