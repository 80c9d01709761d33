"""preprocess: fairseq-preprocess's data, drafts beside them, all or nothing."""

import logging
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from fairseq import options
from fairseq.binarizer import BinarizeSummary, FileBinarizer
from fairseq.data import Dictionary, data_utils
from fairseq.file_chunker_utils import Chunker, find_offsets
from plain_files import put
from refusals import refuses

from lev_plugins.cli import preprocess
from lev_plugins.errors import UserError
from lev_plugins.io.text_files import SPECIAL_TOKENS
from lev_plugins.systems.levenshtein.task import PLACEHOLDER

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
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Current folder with train, valid, more and test, each .src .pe .mt, and train.align."""
    monkeypatch.chdir(tmp_path)
    for part in ("train", "valid", "more", "test"):
        for lang in LANGS:
            put(f"{part}.{lang}", lines_of(part, lang))
    put("train.align", ["0-0 1-1 5-4"] * 40)
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the log, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
        for path in folder.rglob("*")
        if path.name != "preprocess.log"
    }


def preprocess_command(*argv: str) -> None:
    """Run fairseq-preprocess itself."""
    from fairseq_cli.preprocess import logger, main

    handlers = list(logger.handlers)
    try:
        main(options.get_preprocessing_parser().parse_args(argv))
    finally:
        for handler in set(logger.handlers) - set(handlers):
            logger.removeHandler(handler)
            handler.close()


def run(flags: str, langs: Sequence[str] = TRIPLE) -> None:
    """Ours, into ``bin`` unless told otherwise."""
    preprocess.main([*langs, "--destdir", "bin", *flags.split()])


def binarised(folder: str, name: str, dictionary: Dictionary) -> list[str]:
    data = data_utils.load_indexed_dataset(f"{folder}/{name}", dictionary)
    return [dictionary.string(data[i]) for i in range(len(data))]


class TestPlainPairs:
    @pytest.mark.parametrize(
        "flags",
        [
            "--trainpref train --validpref valid,more --testpref test",
            "--trainpref train --validpref valid --joined-dictionary --workers 3",
            "--trainpref train --thresholdsrc 9 --thresholdtgt 11 --nwordstgt 15",
            "--trainpref train --joined-dictionary --nwordssrc 20 --padding-factor 1",
            "--trainpref train --testpref test --dataset-impl raw",
            "--trainpref train --testpref test --dataset-impl cached --workers 2",
            "--trainpref train --only-source --testpref test",
            "--trainpref train --dict-only --validpref absent",
            "--trainpref train --only-source --joined-dictionary",
            "--validpref valid --srcdict given.txt --tgtdict given.txt",
            "--validpref valid --joined-dictionary --tgtdict given.txt",
            "--trainpref train --srcdict given.txt --thresholdtgt 3",
            "--trainpref train --testpref test --align-suffix align",
            "--trainpref train --alignfile train.align",
        ],
    )
    def test_the_data_are_those_of_fairseq_byte_for_byte(self, corpus, flags):
        put("given.txt", [f"{letter}{i} {30 - i}" for i in range(20) for letter in "st"])
        preprocess_command(*PLAIN, *flags.split(), "--destdir", "stock")
        run(f"{flags} --destdir ours", PLAIN)
        assert snapshot(corpus / "ours") == snapshot(corpus / "stock")

    def test_text_without_languages_is_one_side(self, corpus):
        shutil.copy("train.src", "mono")
        flags = "--only-source --trainpref mono --workers 2 --destdir"
        preprocess_command(*flags.split(), "stock")
        run(f"{flags} ours", ())
        assert snapshot(corpus / "ours") == snapshot(corpus / "stock")


class TestDrafts:
    @pytest.mark.parametrize("extra", ["", "--joined-dictionary", "--workers 3"])
    def test_drafts_are_read_back_as_they_were_typed(self, corpus, extra):
        run(f"--trainpref train --validpref valid,more --testpref test {extra}")
        dictionary = Dictionary.load("bin/dict.pe.txt")
        names = {"train": "train", "valid": "valid", "valid1": "more", "test": "test"}
        for name, part in names.items():
            for lang in ("pe", "mt"):
                found = binarised("bin", f"{name}.src-pe.{lang}", dictionary)
                assert found == lines_of(part, lang)

    def test_raw_drafts_are_copied(self, corpus):
        run("--trainpref train --dataset-impl raw")
        assert (corpus / "bin/train.src-pe.mt").read_bytes() == Path("train.mt").read_bytes()

    def test_sources_and_targets_do_not_depend_on_drafts(self, corpus):
        put("train.mt", lines_of("train", "pe"))
        run("--trainpref train --destdir pairs", PLAIN)
        run("--trainpref train --destdir triples")
        pairs, triples = snapshot(corpus / "pairs"), snapshot(corpus / "triples")
        assert set(triples) - set(pairs) == {"train.src-pe.mt.bin", "train.src-pe.mt.idx"}
        for name in ("train.src-pe.src.bin", "train.src-pe.pe.idx", "dict.src.txt"):
            assert pairs[name] == triples[name]

    @pytest.mark.parametrize("joined", ["", "--joined-dictionary"])
    def test_training_drafts_count_towards_the_dictionary(self, corpus, joined):
        put("valid.mt", ["unseen"] * 40)
        run(f"--trainpref train --validpref valid {joined}")
        dictionary = Dictionary.load("bin/dict.pe.txt")
        assert "only1" in dictionary and "unseen" not in dictionary
        assert ("only1" in Dictionary.load("bin/dict.src.txt")) == bool(joined)
        targets = " ".join(lines_of("train", "pe") + lines_of("train", "mt")).split()
        assert dictionary.get_count(dictionary.index("t5")) == targets.count("t5")

    @pytest.mark.parametrize("joined", ["", "--joined-dictionary"])
    def test_a_given_dictionary_stays_as_it_is(self, corpus, joined, capsys):
        put("given.txt", [f"t{i} {50 - i}" for i in range(23)])
        run(f"--trainpref train --tgtdict given.txt {joined}")
        assert Path("bin/dict.pe.txt").read_bytes() == Path("given.txt").read_bytes()
        drafts = binarised("bin", "train.src-pe.mt", Dictionary.load("given.txt"))
        assert drafts[1].endswith("<unk>")
        unknown = sum("only" in line for line in lines_of("train", "mt"))
        tokens = sum(len(line.split()) for line in lines_of("train", "mt"))
        rows = capsys.readouterr().out.splitlines()
        (row,) = [row for row in rows if row.split()[:2] == ["train", "draft"]]
        assert f"{100 * unknown / tokens:.2f} %" in row


class TestSummary:
    def test_it_counts_what_deserves_a_look(self, corpus, capsys):
        put("train.mt", ["", *lines_of("train", "mt")[1:39], ""])
        put("train.src", [*lines_of("train", "src")[:39], ""])
        put("train.pe", [*lines_of("train", "pe")[:38], "t1 " * 1023, ""])
        run("--trainpref train --testpref test")
        out = capsys.readouterr().out
        assert "drafts that need no edit: train 13 of 40, test 14 of 40" in out
        assert "note: train.mt: empty lines 1, 40: generated from scratch" in out
        assert "note: train.src: empty lines 40: kept as empty sentences" in out
        assert "warning: train.pe: lines 39 are longer" in out and "--max-target-positions" in out
        assert out.splitlines()[-1].startswith("next: fairseq-train bin --user-dir ")
        assert "--task translation_edit" in out and "--draft-lang mt" in out
        assert out.partition("bin: dict")[2] in Path("bin/preprocess.log").read_text()

    def test_the_next_command_fits_the_data(self, corpus, capsys):
        run("--trainpref train --destdir one", PLAIN)
        out = capsys.readouterr().out
        for flag in ("--draft-lang", "--share-all", "--bpe", "--alpha"):
            assert flag not in out
        assert out.rstrip().endswith("--disable-validation")
        run("--trainpref train --validpref valid --joined-dictionary --destdir four")
        out = capsys.readouterr().out
        assert "--share-all-embeddings" in out and "--disable-validation" not in out
        assert "levenshtein_editor_small" in out and "--optimizer muon" in out
        assert "--alpha-start 0 --beta-start 0 --roll-in-updates 5000" in out
        dictionaries = "--srcdict one/dict.src.txt --tgtdict one/dict.pe.txt"
        run(f"{dictionaries} --testpref test --destdir two")
        assert "next: fairseq-generate two " in capsys.readouterr().out
        run("--trainpref train --dict-only --destdir three", PLAIN)
        assert "next:" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("word", "wanted"),
        [
            ("t", "--bpe characters --arch levenshtein_editor_char"),
            ("▁tea", 'such as "▁tea": add --bpe sentencepiece --sentencepiece-model FILE to'),
            ("te@@", 'such as "te@@": add --bpe subword_nmt --bpe-codes FILE to the next'),
        ],
    )
    def test_the_next_command_knows_characters_and_names_subwords(
        self, corpus, capsys, word, wanted
    ):
        for lang in LANGS[:2]:
            put(f"new.{lang}", [f"{word} a b ▁"])
        run("--trainpref new", PLAIN)
        assert wanted in capsys.readouterr().out

    @pytest.mark.parametrize("langs, flags", [(PLAIN, ""), (TRIPLE, "--joined-dictionary")])
    def test_fairseq_knows_every_word_of_the_next_command(self, corpus, capsys, langs, flags):
        run(f"--trainpref train {flags}", langs)
        words = shlex.split(capsys.readouterr().out.rpartition("next: fairseq-train ")[2])
        args = options.parse_args_and_arch(options.get_training_parser(), words)
        assert args.max_update and args.task == "translation_edit" and args.adam_betas


class TestCarriageReturns:
    def test_fairseq_still_loses_its_place_in_such_files(self, tmp_path):
        # When this fails fairseq fixes it and one process for such files can go.
        path = str(tmp_path / "crlf")
        put(path, ASTRAY, "\r\n")
        offsets = find_offsets(path, 2)
        lines = 0
        for start, end in zip(offsets, offsets[1:], strict=False):
            with Chunker(path, start, end) as chunk:
                lines += sum(1 for _ in chunk)
        assert lines != len(ASTRAY)

    def test_ours_are_those_of_plain_line_ends(self, corpus):
        for end, folder in (("\n", "unix"), ("\r\n", "dos")):
            for lang in LANGS:
                put(f"train.{lang}", ASTRAY, end)
            run(f"--trainpref train --workers 2 --destdir {folder}")
        assert snapshot(corpus / "dos") == snapshot(corpus / "unix")


def spoil(name: str, content: bytes):
    return lambda: Path(name).write_bytes(content)


#: what is done to the corpus, flags, what is said
MISTAKES = [
    (lambda: os.remove("train.mt"), "", "no such file: train.mt; drafts are"),
    (lambda: os.remove("valid.src"), "", "no such file: valid.src"),
    (None, "--tgtdict none.txt", "no such file: none.txt"),
    (spoil("valid.mt", b"a\n"), "", "valid.src has 40, valid.pe has 40, valid.mt has 1"),
    (spoil("train.mt", b"a </s> b\n"), "", "train.mt: line 1, word 2: </s>"),
    (spoil("given", b"a 1\nno-count\n"), "--tgtdict given", "given: is no dictionary"),
    (spoil("given", b"a 1\na 1\n"), "--srcdict given", "given: is no dictionary"),
    (spoil("given", b"a 1\n\xff 1\n"), "--srcdict given", "given: line 2, byte offset 4"),
    (None, "--draft-lang pe", "--draft-lang pe is a side of the pair"),
    (None, "--only-source", "--draft-lang needs the target side"),
    (None, "--joined-dictionary --srcdict a --tgtdict b", "--joined-dictionary has one dictionary"),
    (
        spoil("train.align", b"0-0\n" * 39 + b"0-9\n"),
        "--align-suffix align",
        "train.align: line 40: 0-9 points past the end",
    ),
    (None, "--alignfile none", "no such file: none"),
    (None, "--destdir train.src", "--destdir train.src: "),
]


class TestMistakes:
    @pytest.mark.parametrize("there", [False, True], ids=["new", "existing"])
    @pytest.mark.parametrize(("do", "flags", "message"), MISTAKES)
    def test_one_line_says_what_and_nothing_is_written(self, corpus, do, flags, message, there):
        if there:
            (corpus / "bin").mkdir()
            (corpus / "bin/precious").write_text("kept")
        if do is not None:
            do()
        before = snapshot(corpus)
        with refuses(message):
            run(f"--trainpref train --validpref valid {flags}")
        assert snapshot(corpus) == before

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            ("--trainpref train", "--source-lang and --target-lang are needed"),
            ("-s src -t pe", "nothing to do"),
            ("-s src -t pe --validpref valid", "give --trainpref or --srcdict"),
            ("-s src -t pe --validpref valid --srcdict given.txt", "--trainpref or --tgtdict"),
            ("-s src --only-source --trainpref train --align-suffix a", "leave out --only-source"),
            ("-s src -t pe --validpref valid --alignfile train.align", "--alignfile aligns"),
        ],
    )
    def test_flags_that_do_not_fit_are_named(self, corpus, flags, message):
        put("given.txt", ["a 1"])
        with pytest.raises(UserError, match=message):
            preprocess.main(flags.split())
        assert not (corpus / "data-bin").exists()

    @pytest.mark.parametrize("lang", ["src", "pe"])
    def test_an_old_dictionary_is_not_overwritten(self, corpus, lang):
        (corpus / "bin").mkdir()
        put(f"bin/dict.{lang}.txt", ["old 1"])
        before = snapshot(corpus)
        with pytest.raises(UserError, match=rf"bin/dict.{lang}.txt is there already"):
            run("--trainpref train")
        assert snapshot(corpus) == before


class TestAllOrNothing:
    FLAGS = (*TRIPLE, "--trainpref", "train", "--destdir", "deep/er/bin")

    @pytest.fixture
    def existing(self, corpus: Path) -> Path:
        """The corpus with data from an earlier run, and a file of the user's own."""
        preprocess.main(list(self.FLAGS))
        Path("deep/er/bin/notes").write_text("mine")
        return corpus

    def again(self) -> list[str]:
        put("train.mt", lines_of("later1", "mt"))
        put("train.src", lines_of("later1", "src"))
        folder = "deep/er/bin/dict"
        return [*self.FLAGS, "--srcdict", f"{folder}.src.txt", "--tgtdict", f"{folder}.pe.txt"]

    def test_a_second_run_replaces_its_files_and_keeps_others(self, existing):
        before = snapshot(existing / "deep/er/bin")
        preprocess.main(self.again())
        after = snapshot(existing / "deep/er/bin")
        assert set(after) == set(before)
        changed = {name for name in before if before[name] != after[name]}
        assert {"train.src-pe.mt.bin", "train.src-pe.src.bin"} <= changed
        assert not {"notes", "dict.src.txt", "dict.pe.txt"} & changed
        assert Path("deep/er/bin/preprocess.log").read_text().count("next: ") == 2

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    @pytest.mark.parametrize("kind", ["corpus", "existing"])
    def test_a_failure_while_writing_leaves_no_trace(self, kind, error, request, monkeypatch):
        root = request.getfixturevalue(kind)
        argv = self.again() if kind == "existing" else list(self.FLAGS)
        write = FileBinarizer.multiprocess_dataset

        def fail(path: str, *args, **kwargs) -> BinarizeSummary:
            if path == "train.mt":
                raise error
            return write(path, *args, **kwargs)

        monkeypatch.setattr(FileBinarizer, "multiprocess_dataset", fail)
        before = snapshot(root)
        expected = UserError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected, match="No space left" if expected is UserError else None):
            preprocess.main(argv)
        assert snapshot(root) == before

    def test_a_link_to_a_folder_is_followed(self, corpus):
        (corpus / "real").mkdir()
        (corpus / "bin").symlink_to("real")
        run("--trainpref train", PLAIN)
        assert (corpus / "bin").is_symlink() and (corpus / "real/dict.src.txt").is_file()

    def test_a_new_folder_can_be_read_by_others_as_usual(self, corpus):
        (corpus / "plain").mkdir()
        run("--trainpref train", PLAIN)
        assert (corpus / "bin").stat().st_mode == (corpus / "plain").stat().st_mode

    def test_lines_lost_by_fairseq_are_an_error(self, corpus, monkeypatch):
        write = FileBinarizer.multiprocess_dataset

        def lossy(path: str, *args, **kwargs) -> BinarizeSummary:
            put("less", lines_of("train", "src")[1:])
            return write("less" if path == "train.src" else path, *args, **kwargs)

        monkeypatch.setattr(FileBinarizer, "multiprocess_dataset", lossy)
        with pytest.raises(UserError, match="train.src: 40 lines were read but 39 written"):
            preprocess.main(list(self.FLAGS))
        assert not (corpus / "deep").exists()


def test_fairseq_logger_is_left_alone(corpus):
    before = list(logging.getLogger("fairseq_cli.preprocess").handlers)
    run("--trainpref train", PLAIN)
    assert list(logging.getLogger("fairseq_cli.preprocess").handlers) == before


def test_every_symbol_that_the_task_knows_is_refused_as_text():
    dictionary = Dictionary()
    control = {dictionary.bos_word, dictionary.pad_word, dictionary.eos_word, PLACEHOLDER}
    assert control == SPECIAL_TOKENS
