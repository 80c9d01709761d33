"""preprocess: fairseq-preprocess's data, drafts beside them, all or nothing."""

import logging
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from fairseq import options
from fairseq.binarizer import BinarizeSummary, FileBinarizer
from fairseq.data import Dictionary, data_utils
from fairseq_cli import preprocess as fairseq_preprocess
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
    put("mono", lines_of("train", "src"))
    put("given.txt", [f"{letter}{i} {30 - i}" for i in range(20) for letter in "st"])
    return tmp_path


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below the folder but the log, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"folder"
        for path in folder.rglob("*")
        if path.name != "preprocess.log"
    }


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """What a command, which ends after it, leaves to its process is closed."""
    handlers = set(fairseq_preprocess.logger.handlers)
    yield
    for handler in set(fairseq_preprocess.logger.handlers) - handlers:
        fairseq_preprocess.logger.removeHandler(handler)
        handler.close()


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
    assert snapshot(corpus / "ours") == snapshot(corpus / "stock")


# drafts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", ["", "--joined-dictionary", "--workers 3"])
def test_drafts_are_read_back_as_they_were_typed(corpus, extra):
    run(f"--trainpref train --validpref valid,more --testpref test {extra}")
    dictionary = Dictionary.load("bin/dict.pe.txt")
    names = {"train": "train", "valid": "valid", "valid1": "more", "test": "test"}
    for name, part in names.items():
        for lang in ("pe", "mt"):
            assert binarised("bin", f"{name}.src-pe.{lang}", dictionary) == lines_of(part, lang)


@pytest.mark.parametrize("joined", ["", "--joined-dictionary"])
def test_training_drafts_count_towards_the_dictionary(corpus, joined):
    put("valid.mt", ["unseen"] * 40)
    run(f"--trainpref train --validpref valid --dataset-impl raw {joined}")
    dictionary = Dictionary.load("bin/dict.pe.txt")
    assert "only1" in dictionary and "unseen" not in dictionary
    assert ("only1" in Dictionary.load("bin/dict.src.txt")) == bool(joined)
    targets = " ".join(lines_of("train", "pe") + lines_of("train", "mt")).split()
    assert dictionary.get_count(dictionary.index("t5")) == targets.count("t5")
    assert Path("bin/train.src-pe.mt").read_bytes() == Path("train.mt").read_bytes()


@pytest.mark.parametrize("joined", ["", "--joined-dictionary"])
def test_a_given_dictionary_stays_as_it_is(corpus, joined, caplog):
    caplog.set_level(logging.INFO)
    put("given.txt", [f"t{i} {50 - i}" for i in range(23)])
    run(f"--trainpref train --tgtdict given.txt {joined}")
    assert Path("bin/dict.pe.txt").read_bytes() == Path("given.txt").read_bytes()
    drafts = binarised("bin", "train.src-pe.mt", Dictionary.load("given.txt"))
    assert drafts[1].endswith("<unk>")
    words = " ".join(lines_of("train", "mt")).split()
    unknown = 100 * sum(word.startswith("only") for word in words) / (len(words) + 40)
    (said,) = [line for line in caplog.messages if line.startswith("[mt] train.mt: 40 sents")]
    assert f"{unknown:.3}% replaced" in said


# what is printed ----------------------------------------------------------------------------------


def test_the_next_command_fits_the_data(corpus, capsys):
    run("--trainpref train --testpref test")
    out = capsys.readouterr().out
    assert "train 14 of 40, test 14 of 40" in out  # drafts that are their target
    run("--trainpref train --destdir one", PLAIN)
    out = capsys.readouterr().out
    for flag in ("--draft-lang", "--share-all", "--bpe", "--alpha"):
        assert flag not in out
    assert "--disable-validation" in out
    dictionaries = "--srcdict one/dict.src.txt --tgtdict one/dict.pe.txt"
    run(f"{dictionaries} --testpref test --destdir two")
    assert "next: fairseq-generate two " in capsys.readouterr().out
    run("--trainpref train --dict-only --destdir three", PLAIN)
    assert "next:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("t", "--bpe characters --arch pbd_transformer_char"),
        ("▁tea", "--bpe sentencepiece --sentencepiece-model FILE"),
        ("te@@", "--bpe subword_nmt --bpe-codes FILE"),
    ],
)
def test_the_next_command_knows_characters_and_names_subwords(corpus, capsys, word, wanted):
    for lang in LANGS[:2]:
        put(f"new.{lang}", [f"{word} a b ▁"])
    run("--trainpref new", PLAIN)
    assert wanted in capsys.readouterr().out


def test_fairseq_knows_every_word_of_the_next_command(corpus, capsys):
    run("--trainpref train --validpref valid --joined-dictionary")
    words = shlex.split(capsys.readouterr().out.rpartition("next: fairseq-train ")[2])
    args = options.parse_args_and_arch(options.get_training_parser(), words)
    assert args.task == "translation_edit" and args.draft_lang == "mt"
    assert args.lr_scheduler == "time_budget" and args.stop_time_hours and args.share_all_embeddings
    assert (args.optimizer, args.alpha_start, args.roll_in_updates) == ("muon", 0, 0.7)
    assert not args.disable_validation and args.arch == "levenshtein_editor_small"


# carriage returns ---------------------------------------------------------------------------------


def test_files_with_carriage_returns_give_the_data_of_plain_ones(corpus):
    for end, folder in (("\n", "unix"), ("\r\n", "dos")):
        for lang in LANGS:
            put(f"train.{lang}", ASTRAY, end)
        run(f"--trainpref train --workers 2 --destdir {folder}")
    assert snapshot(corpus / "dos") == snapshot(corpus / "unix")


# refusals, all or nothing -------------------------------------------------------------------------


def spoil(name: str, content: bytes):
    return lambda: put(name, []).write_bytes(content)


#: what is done to the corpus, flags, what has to be named
DATA = "--trainpref train --validpref valid"
MISTAKES = [
    (lambda: os.remove("train.mt"), DATA, ["train.mt"]),
    (None, f"{DATA} --tgtdict none.txt", ["none.txt"]),
    (spoil("valid.mt", b"a\n"), DATA, ["valid.src has 40", "valid.pe has 40", "valid.mt has 1"]),
    (spoil("train.mt", b"a\nb </s> b\n"), DATA, ["train.mt: line 2, word 2"]),
    (spoil("train.pe", b"<pad>\n"), DATA, ["train.pe: line 1, word 1"]),
    (lambda: [put(f"new.{lang}", []) for lang in LANGS], "--trainpref new", ["new.src", "new.mt"]),
    (spoil("given", b"a 1\nno-count\n"), f"{DATA} --tgtdict given", ["given"]),
    (spoil("given", b"a 1\n\xff 1\n"), f"{DATA} --srcdict given", ["given: line 2"]),
    (spoil("bin/dict.src.txt", b"old 1\n"), DATA, ["bin/dict.src.txt", "--srcdict"]),
    (None, f"{DATA} --destdir train.src", ["--destdir train.src"]),
    (None, f"{DATA} --draft-lang pe", ["--draft-lang pe"]),
    (None, f"{DATA} --only-source", ["--draft-lang", "--only-source"]),
    (None, f"{DATA} --joined-dictionary --srcdict a --tgtdict b", ["--joined-dictionary"]),
    (None, "", ["--trainpref"]),
    (None, "--validpref valid", ["--trainpref", "--srcdict"]),
    (None, "--validpref valid --srcdict given.txt", ["--trainpref", "--tgtdict"]),
    (None, f"{DATA} -t=", ["--target-lang"]),
]


@pytest.mark.parametrize(("do", "flags", "said"), MISTAKES)
def test_one_line_says_what_and_nothing_is_written(corpus, do, flags, said):
    put("bin/precious", ["kept"])
    if do is not None:
        do()
    before = snapshot(corpus)
    with refuses(*said):
        run(flags)
    assert snapshot(corpus) == before


class TestAllOrNothing:
    FLAGS = (*TRIPLE, "--trainpref", "train", "--destdir", "deep/er/bin")

    @pytest.fixture
    def existing(self, corpus: Path, caplog: pytest.LogCaptureFixture) -> Path:
        """The corpus with data from an earlier run, and a file of the user's own."""
        caplog.set_level(logging.INFO)
        preprocess.main(list(self.FLAGS))
        put("deep/er/bin/notes", ["mine"])
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
        assert "Namespace(" in Path("deep/er/bin/preprocess.log").read_text()

    @pytest.mark.parametrize(
        ("kind", "error"),
        [("corpus", OSError(28, "No space left on device")), ("existing", KeyboardInterrupt())],
    )
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
        with pytest.raises((UserError, KeyboardInterrupt)):
            preprocess.main(argv)
        assert snapshot(root) == before

    def test_links_are_followed_and_new_folders_are_as_usual(self, corpus):
        (corpus / "real").mkdir()
        (corpus / "link").symlink_to("real")
        run("--trainpref train --destdir link", PLAIN)
        assert (corpus / "link").is_symlink() and (corpus / "real/dict.src.txt").is_file()
        run("--trainpref train", PLAIN)
        assert (corpus / "bin").stat().st_mode == (corpus / "real").stat().st_mode


def test_every_symbol_that_the_task_knows_is_refused_as_text():
    dictionary = Dictionary()
    control = {dictionary.bos_word, dictionary.pad_word, dictionary.eos_word, PLACEHOLDER}
    assert control == SPECIAL_TOKENS
