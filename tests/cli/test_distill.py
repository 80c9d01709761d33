"""distill: a teacher's translations in the place of targets, every line of them, in order."""

import argparse
import json
import math
import os
import random
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import saved
import torch
from fairseq import options, tasks
from fairseq.data import Dictionary
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from hypothesis import given
from hypothesis import strategies as st
from plain_files import put, read
from refusals import refuses
from sacrebleu.metrics import BLEU

from lev_plugins.cli import distill, preprocess
from lev_plugins.cli.distill import made_folder
from lev_plugins.errors import UserError
from lev_plugins.inference.distillation import teacher as teachers
from lev_plugins.inference.distillation import text as texts
from lev_plugins.inference.distillation.journal import EMPTY, ENDLESS, FINE, RATIO, Journal, Record
from lev_plugins.inference.distillation.lines import judge, make_batches
from lev_plugins.inference.distillation.teacher import Teacher, Translation, no_text
from lev_plugins.io.text_files import check_parallel

LETTERS = "abcdefgh"
SIZES = (
    "--encoder-embed-dim 16 --encoder-ffn-embed-dim 24 --encoder-layers 1 "
    "--encoder-attention-heads 2 --decoder-embed-dim 16 --decoder-ffn-embed-dim 24 "
    "--decoder-layers 1 --decoder-attention-heads 2 --max-source-positions 12"
)


def settings(folder: Path, flags: str = "") -> argparse.Namespace:
    command = f"{folder} --source-lang en --target-lang de --arch transformer --task translation"
    words = f"{command} {SIZES} {flags}".split()
    return options.parse_args_and_arch(options.get_training_parser(), words)


def save_teacher(path: Path, args: argparse.Namespace, seed: int = 1, old: bool = False) -> None:
    """A checkpoint as fairseq-train leaves it, of a model with random parameters.

    old: with a namespace in place of a configuration, as checkpoints were before hydra.
    """
    cfg = convert_namespace_to_omegaconf(args)
    torch.manual_seed(seed)
    model = tasks.setup_task(cfg.task).build_model(cfg.model)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(2 * torch.randn(parameter.shape) * parameter.size(1) ** -0.5)
        prefer(model.decoder, bias=6.0, tokens=("<s>", "<unk>", "madeupword0000"))
        prefer(model.decoder, bias=2.1, tokens=("</s>",))
    saved.write(path, cfg, model, {})
    if old:
        state = torch.load(path, weights_only=True)
        torch.save({**state, "args": args, "cfg": None}, path)


def prefer(decoder: Any, bias: float, tokens: Sequence[str]) -> None:
    """Make tokens likelier, through a feature that is constant."""
    norm = decoder.layers[-1].final_layer_norm
    norm.weight[0], norm.bias[0] = 0.0, 1.0
    for token in tokens:
        decoder.output_projection.weight[decoder.dictionary.index(token), 0] = bias


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with dictionaries in ``bin`` and checkpoints."""
    home = tmp_path_factory.mktemp("teacher")
    (home / "bin").mkdir()
    for lang, letters in (("en", LETTERS), ("de", LETTERS.upper())):
        dictionary = Dictionary()
        for letter in letters:
            dictionary.add_symbol(letter)
        dictionary.finalize()  # fills it up with words that nobody wrote
        dictionary.save(str(home / "bin" / f"dict.{lang}.txt"))
    save_teacher(home / "one.pt", settings(home / "bin"))
    save_teacher(home / "two.pt", settings(home / "bin"), seed=3)
    save_teacher(home / "old.pt", settings(home / "bin"), old=True)
    return home


@pytest.fixture
def text(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Current folder with ``train.en`` of 40 lines (two empty) and ``train.de``."""
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    rng = random.Random(4)
    lines = [" ".join(rng.choices(LETTERS, k=rng.randint(1, 9))) for _ in range(40)]
    lines[3] = lines[17] = ""
    put("train.en", lines)
    put("train.de", [f"real {number}" for number in range(1, 41)])
    return lines


Run = Callable[..., list[str]]


@pytest.fixture
def run(home: Path, text: list[str]) -> Run:
    """Distils ``train.en`` into ``out/train``; gives the targets."""

    def run(flags: str = "", path: str = "one.pt", expected: int = 40) -> list[str]:
        command = (
            f"--path {':'.join(str(home / name) for name in path.split(':'))} --data {home}/bin "
            f"--source train.en --output-prefix out/train --cpu --max-len-b 12 {flags}"
        )
        assert distill.main(command.split()) == 0
        assert sorted(os.listdir("out")) == ["train.de", "train.en"]
        assert Path("out/train.en").read_bytes() == Path("train.en").read_bytes()
        assert check_parallel(["out/train.en", "out/train.de"]) == expected
        lines = read("out/train.de")
        for name in os.listdir("out"):
            os.unlink(f"out/{name}")
        return lines

    return run


SCRIPT = {"empty": 0, "long": 20, "endless": 7}  # tokens of the translation of such a word


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> list[list[list[str]]]:
    """Teachers turn words round and write them large, but for the words of SCRIPT.

    A beam holds that first, then the words in their order, and at last nothing but X.

    Gives the batches they have been asked to translate.
    """
    batches: list[list[list[str]]] = []

    def translate(self: Teacher, sources: Sequence[Any]) -> list[list[Translation]]:
        batches.append([list(source) for source in sources])
        found = []
        for words in sources:
            size = next((SCRIPT[word] for word in words if word in SCRIPT), None)
            target = [word.upper() for word in reversed(words)] if size is None else ["X"] * size
            beam = [target, target[::-1], ["X"] * 50]
            found.append([Translation(tuple(one), "endless" in words) for one in beam])
        return found

    monkeypatch.setattr(Teacher, "encode", lambda self, words: list(words))
    monkeypatch.setattr(Teacher, "translate", translate)
    return batches


def large(line: str) -> str:
    return " ".join(word.upper() for word in reversed(line.split()))


# ---------------------------------------------------------------- a real search


@pytest.fixture
def few(text: list[str]) -> int:
    """Leaves 14 lines of ``train.en``, one of them empty."""
    put("train.en", text[:14])
    return 14


def test_outputs_do_not_depend_on_batches(run, few, capsys):
    short = "--max-len-a 0.4 --max-len-b 1"  # a limit that depends on the source
    first = run(f"{short} --batch-size 1", expected=few)
    assert "length limit reached without an end" in capsys.readouterr().out
    assert run(f"{short} --batch-size 16", expected=few) == first
    first = run("--batch-size 1", expected=few)
    assert run("--max-len-b 6", expected=few) != first
    assert run("--batch-size 16", expected=few) == first
    assert run("--max-tokens 30 --chunk-size 6", expected=few) == first
    assert len({len(line.split()) for line in first}) > 4, "too uniform to tell anything"
    assert len(set(first)) > 9


def test_translations_come_in_the_order_of_the_sources(home, text):
    command = f"--path {home}/one.pt --data {home}/bin --source x --output-prefix y --cpu"
    args = distill.parse_args([*command.split(), "--max-len-b", "6"])
    teacher, languages = teachers.load_teacher(args)
    assert languages == ("en", "de")
    sources = [teacher.encode(line.split()) for line in sorted(text[:12], key=len) if line]
    alone = [teacher.translate([source])[0] for source in sources]
    assert teacher.translate(sources) == alone != alone[::-1]


def test_nothing_but_words_of_the_target_is_written(run, few, home):
    """The model's favourites are <s>, <unk> and a word that fills the dictionary up."""
    allowed = set(LETTERS.upper())
    for path in ("one.pt", "one.pt:two.pt"):
        assert {word for line in run("", path, few) for word in line.split()} <= allowed
    symbols = Dictionary.load(str(home / "bin" / "dict.de.txt"))
    symbols.add_symbol("<plh>")
    symbols.add_symbol("two words", n=3)
    symbols.add_symbol("madeupwords", n=2)  # a real one
    made = {f"madeupword{number:04d}" for number in range(4)}
    assert set(no_text(symbols)) == {"<s>", "<plh>", "two words", *made}


def test_an_ensemble_and_each_of_it_differ_and_old_checkpoints_teach(run, few):
    one, two, both, old = (
        run("--batch-size 5", path, few) for path in ("one.pt", "two.pt", "one.pt:two.pt", "old.pt")
    )
    assert one == old != two and both not in (one, two)


def test_the_beam_and_the_length_penalty_matter(run, few):
    wide = run("--beam 5", expected=few)
    assert run("--beam 1", expected=few) != wide
    short, long = run("--lenpen 0", expected=few), run("--lenpen 3", expected=few)
    assert sum(map(len, short)) < sum(map(len, long))


# ---------------------------------------------------------------- judging


@pytest.mark.parametrize(
    ("source", "target", "ratio", "verdict"),
    [
        (4, 0, 3, EMPTY),
        (4, 4, 3, FINE),
        (10, 35, 3, FINE),
        (10, 36, 3, RATIO),
        (35, 10, 3, FINE),
        (36, 10, 3, RATIO),
        (1, 8, 3, FINE),
        (1, 9, 3, RATIO),
        (1, 500, math.inf, FINE),
        (10, 15, 1, FINE),
        (10, 16, 1, RATIO),
    ],
)
def test_a_translation_is_judged_by_its_length(source, target, ratio, verdict):
    assert judge(source, Translation(("x",) * target, False), ratio) == verdict
    if target:
        assert judge(source, Translation(("x",) * target, True), ratio) == ENDLESS


@pytest.mark.parametrize("reference", [True, False])
def test_failed_lines_are_replaced_or_kept_and_named(run, scripted, capsys, reference):
    lines = ["a b", "empty c", "", "long", "a endless", "c", "b b b " * 9]
    put("train.en", lines)
    put("train.de", ["R 1", "R  2", "R 3", "R 4", "R 5", "R 6", "R 7"])
    flags = "--reference train.de " if reference else ""
    if not reference:  # the last line is beyond what the teacher can read
        lines.pop()
        put("train.en", lines)
    targets = run(flags, expected=len(lines))
    said = capsys.readouterr().out
    if reference:
        assert targets == ["B A", "R 2", "", "R 4", "R 5", "C", "R 7"]
        assert "7 lines, 1 with an empty source, 4 replaced by the reference" in said
        assert "kept" not in said
    else:
        assert targets == ["B A", "", "", "X " * 19 + "X", "X X X X X X X", "C"]
        assert "6 lines, 1 with an empty source, 0 replaced by the reference" in said
        assert "replaced:" not in said
    outcome = "replaced" if reference else "kept"
    assert f"{outcome}: empty translation of a source that is not: 1, lines 2\n" in said
    assert f"{outcome}: length limit reached without an end: 1, lines 5\n" in said
    assert f"{outcome}: length ratio above --max-ratio: 1, lines 4\n" in said
    assert ("source too long for the teacher: 1, lines 7\n" in said) == reference
    assert "note: 1 line outside --max-ratio 3" in said
    counts = [
        len(target.split()) / len(line.split()) for line, target in zip(lines, targets) if line
    ]
    assert f"mean over the lines: {sum(counts) / len(counts):.2f}\n" in said


def test_interpolation_takes_the_nearest_translation_that_can_be_right(run, scripted):
    """Equals are taken as the beam has them, and so are all where there is no reference."""
    put("train.en", ["a b c", "a b c", "a b c", "a b c", "", "long"])
    put("train.de", ["A B C D", "C B A", "X " * 50, "", "A", "Y"])
    targets = run("--reference train.de --interpolate", expected=6)
    assert targets == ["A B C", "C B A", "C B A", "C B A", "", "Y"]


def test_interpolated_text_is_of_the_beam_and_nearer_to_the_references(run, few):
    put("train.de", [line.upper() for line in read("train.en")])
    score = BLEU(tokenize="none", effective_order=True).sentence_score
    references = read("train.de")
    plain, chosen = (
        run(f"--reference train.de --beam 6 {flag}", expected=few) for flag in ("", "--interpolate")
    )
    pairs = [
        (score(first, [reference]).score, score(nearest, [reference]).score)
        for first, nearest, reference in zip(plain, chosen, references)
        if first != reference  # the teacher failed
    ]
    assert all(first <= nearest for first, nearest in pairs)
    assert sum(first < nearest for first, nearest in pairs) > 2
    assert run("--reference train.de --beam 6 --interpolate --batch-size 1", expected=few) == chosen


def test_an_empty_reference_replaces_nothing(run, scripted, capsys):
    put("train.en", ["long", "a"])
    put("train.de", ["", ""])
    assert run("--reference train.de", expected=2) == ["X " * 19 + "X", "A"]
    said = capsys.readouterr().out
    assert "kept: length ratio above --max-ratio: 1, lines 1" in said


def test_twenty_lines_are_named_and_all_are_counted(run, scripted, capsys):
    put("train.en", ["long"] * 30)
    run(expected=30)
    numbers = ", ".join(map(str, range(1, 21)))
    assert f"length ratio above --max-ratio: 30, lines {numbers} …\n" in capsys.readouterr().out


@given(
    st.lists(st.integers(1, 30), max_size=40),
    st.integers(1, 60),
    st.none() | st.integers(1, 9),
    st.booleans(),
)
def test_batches_hold_every_line_once_within_the_limits(lengths, max_tokens, size, equal):
    batches = list(make_batches(lengths, max_tokens, size, equal))
    assert sorted(line for batch in batches for line in batch) == list(range(len(lengths)))
    for batch in batches:
        longest = max(lengths[line] for line in batch)
        assert len(batch) == 1 or len(batch) * longest <= max_tokens
        assert size is None or len(batch) <= size
        assert not equal or {lengths[line] for line in batch} == {longest}


def test_lines_of_like_length_share_a_batch(run, scripted, text):
    assert run("--max-tokens 40") == [large(line) for line in text]
    waste = sum(max(map(len, batch)) * len(batch) - sum(map(len, batch)) for batch in scripted)
    assert len(scripted) < 12 and waste < 0.2 * sum(len(line.split()) for line in text)


# ---------------------------------------------------------------- interrupted and resumed


def interrupt_after(monkeypatch: pytest.MonkeyPatch, batches: int, error: BaseException) -> None:
    """The teacher of the next run is interrupted in its batch after ``batches``."""
    plain, done = Teacher.translate, 0

    def translate(self: Teacher, sources: Sequence[Any]) -> list[list[Translation]]:
        nonlocal done
        if done == batches:
            monkeypatch.setattr(Teacher, "translate", plain)
            raise error
        done += 1
        return plain(self, sources)

    monkeypatch.setattr(Teacher, "translate", translate)


JOURNAL = "out/train.en-de.part"


@pytest.fixture
def interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    """Runs with these flags until so many batches are done."""

    def interrupted(flags: str, batches: int) -> None:
        interrupt_after(monkeypatch, batches, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            run(flags)

    return interrupted


@pytest.mark.parametrize("torn", [b"", b"fine\t0\tX", b"fine\t0\tX\nfine\t0\tY\n"])
def test_an_interrupted_run_ends_as_if_it_had_not_been(run, interrupted, capsys, torn):
    whole = run("--chunk-size 8 --reference train.de")
    flags = "--chunk-size 8 --reference train.de --resume"  # with nothing to resume, at first
    interrupted(flags, 3)
    assert os.listdir("out") == ["train.en-de.part"]
    assert "interrupted: 24 of 40 lines are kept in out/train.en-de.part" in capsys.readouterr().err
    with open(JOURNAL, "ab") as file:  # as if the power had gone while a chunk was saved
        file.write(torn)
    assert run(flags) == whole
    assert "resuming after line 24 of 40" in capsys.readouterr().err


def test_the_interrupted_part_is_not_translated_again(run, scripted, interrupted, text):
    interrupted("--chunk-size 10 --batch-size 5", 4)  # two batches a chunk
    scripted.clear()
    assert run("--chunk-size 10 --batch-size 7 --resume") == [large(line) for line in text]
    assert sum(map(len, scripted)) == 20


def test_an_interruption_before_anything_is_finished_leaves_nothing(run, interrupted):
    interrupted("--batch-size 4", 1)
    assert os.listdir("out") == []


def test_one_that_was_interrupted_at_the_very_end_only_writes(run, scripted, monkeypatch, text):
    real = texts.publish

    def publish(*_: Any) -> None:
        monkeypatch.setattr(texts, "publish", real)
        raise KeyboardInterrupt

    monkeypatch.setattr(texts, "publish", publish)
    with pytest.raises(KeyboardInterrupt):
        run()
    scripted.clear()
    assert run("--resume") == [large(line) for line in text] and not scripted


def test_too_little_gpu_memory_says_what_to_do(run, monkeypatch):
    interrupt_after(monkeypatch, 1, torch.cuda.OutOfMemoryError("out of memory"))
    with pytest.raises(UserError, match="lower --max-tokens and continue with --resume"):
        run("--chunk-size 4")
    assert os.listdir("out") == ["train.en-de.part"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--chunk-size 8", "is there, of a run that was interrupted; continue it with --resume"),
        ("--resume --chunk-size 8 --beam 4", "was begun with --beam 5, not 4"),
        ("--resume --chunk-size 4", "was begun with --chunk-size 8, not 4"),
        ("--resume --chunk-size 8 --reference train.de", "was begun with another --reference"),
        ("--resume --chunk-size 8 --path {0}/two.pt", "was begun with another --path"),
        ("--resume --chunk-size 8 --source turned.en", "was begun with another --source"),
    ],
)
def test_a_run_is_resumed_with_the_same_settings_only(run, home, interrupted, flags, said):
    interrupted("--chunk-size 8", 2)
    before = Path(JOURNAL).read_bytes()
    put("turned.en", read("train.en")[::-1])
    with refuses(said, JOURNAL):
        run(flags.format(home))
    assert Path(JOURNAL).read_bytes() == before


@pytest.mark.parametrize("content", ["my notes", "my notes\n", "[1]\n", "\n"])
def test_a_foreign_file_in_the_place_of_the_journal_is_left_alone(run, content):
    Path(JOURNAL).write_text(content)
    with pytest.raises(UserError, match="is no journal of this command"):
        run("--resume")
    assert Path(JOURNAL).read_text() == content


@pytest.mark.parametrize("begun", [{}, {"--interpolate": True}])
@pytest.mark.parametrize("resumed", [{}, {"--interpolate": True}])
def test_a_setting_that_a_journal_lacks_is_compared_too(tmp_path, begun, resumed):
    path = str(tmp_path / "journal")
    with Journal(path, {"--beam": 1, **begun}, 1, 2) as journal:
        journal.append([Record(FINE, False, "a")])
    with nullcontext() if begun == resumed else refuses("begun with", "--interpolate"):
        with Journal(path, {"--beam": 1, **resumed}, 1, 2) as journal:
            assert journal.done == 1


def test_two_runs_do_not_write_the_same_files(run, scripted, monkeypatch):
    with Journal(JOURNAL, {"--beam": 1}, 1, 1):
        with pytest.raises(UserError, match="another run is writing it"):
            run("--resume")
        assert json.loads(Path(JOURNAL).read_text()) == {"--beam": 1}


def test_a_source_that_changes_meanwhile_is_noticed(run, scripted, monkeypatch):
    real = texts.publish
    for lines in (["a"], ["a"] * 50):

        def publish(*arguments: Any, lines: list[str] = lines) -> Any:
            put("train.en", lines)
            return real(*arguments)

        monkeypatch.setattr(texts, "publish", publish)
        put("train.en", ["b"] * 40)
        with pytest.raises(UserError, match="has changed meanwhile"):
            run()
        assert os.listdir("out") == ["train.en-de.part"]
        os.unlink(JOURNAL)


def test_both_outputs_appear_or_none(run, scripted, monkeypatch):
    real, moved = os.replace, []

    def replace(source: Any, target: Any) -> None:
        moved.append(target)
        if len(moved) == 2:
            raise PermissionError(13, "not allowed", str(target))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(PermissionError):
        run()
    assert os.listdir("out") == ["train.en-de.part"]
    monkeypatch.setattr(os, "replace", real)
    run("--resume")


@given(st.sampled_from([FINE, EMPTY, RATIO]), st.booleans(), st.text("ab \u2028\x85é", max_size=9))
def test_a_record_comes_back_as_it_was(reason, replaced, line):
    record = Record(reason, replaced, line)
    assert Record.parse(str(record)) == record and str(record).count("\n") == 1


# ---------------------------------------------------------------- text


def test_the_source_is_copied_byte_for_byte(run, scripted):
    odd = ["a\tb", "  c ", "", "d\u2028e", "\u202e f", "g\x85h"]
    put("train.en", odd, "\r\n")
    assert run(expected=6) == [large(line) for line in odd]
    Path("train.en").write_text("a b\nc")  # without a last line end
    assert run(expected=2) == ["B A", "C"]


def test_unknown_words_are_translated_and_many_of_them_told(run, capsys):
    put("train.en", ["a b c d e f g h", "x yz"])
    run(expected=2)
    assert "note: 20.0% of the source tokens are not in" in capsys.readouterr().err
    put("train.en", ["a b c d e f g h"] * 9 + ["x"])
    run(expected=10)
    assert "note:" not in capsys.readouterr().err


def test_progress_is_told_on_standard_error(run, scripted, monkeypatch, capsys):
    now = iter(range(0, 10**6, 4))
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    run("--batch-size 2 --chunk-size 20")
    said = capsys.readouterr().err.splitlines()
    assert 3 <= len(said) <= 12
    assert "of 40 lines, " in said[0] and " sentences/s, " in said[0] and "min left" in said[0]


# ---------------------------------------------------------------- mistakes


@pytest.fixture
def refused(home: Path, text: list[str]) -> Callable[[str], str]:
    """The error of a command that has to fail before anything is written."""

    def refused(flags: str) -> str:
        words = (
            f"--path {home}/one.pt --data {home}/bin --source train.en --output-prefix out/train "
            f"--cpu {flags}"
        )
        with refuses() as error:
            distill.main(words.split())
        assert os.listdir("out") == []
        return str(error.value)

    return refused


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--path none.pt", "checkpoint none.pt does not exist"),
        ("--path train.en:none.pt", "checkpoint none.pt does not exist"),
        ("--source none", "no such file: none"),
        ("--reference none", "no such file: none"),
        ("--data none", "--data none: no such folder"),
        (
            "--data out",
            "no such file: out/dict.en.txt, out/dict.de.txt; --data needs the teacher's",
        ),
        ("--output-prefix train.en/of/train", "--output-prefix train.en/of/train: train.en is no"),
        ("--output-prefix out/", "names a folder; give out/train"),
        ("--output-prefix train", "train.en would be overwritten; choose another"),
        ("--source-lang de", "source and target language are both de"),
        ("--beam 0", "--beam 0: must be 1 or more"),
        ("--max-len-b 0", "--max-len-b 0: must be 1 or more"),
        ("--max-len-a -1", "--max-len-a -1.0: must be 0 or more"),
        ("--lenpen nan", "--lenpen nan: must be a number"),
        ("--interpolate", "--interpolate chooses by --reference in a --beam above 1: give both"),
        ("--max-ratio 0.5", "--max-ratio 0.5: must be 1 or more"),
        ("--max-ratio nan", "--max-ratio nan: must be 1 or more"),
        ("--fp16", "--fp16 needs a GPU"),
        ("--source control.en", "line 1, word 2: </s> is a control symbol"),
        ("--reference short.de", "train.en has 40, short.de has 1"),
        ("--data broken", "broken/dict.en.txt: is no dictionary"),
        ("--path empty.pt", "checkpoint empty.pt is not a fairseq checkpoint"),
    ],
)
def test_options_that_cannot_be(refused, home, flags, said):
    put("short.de", ["a"])
    put("control.en", ["b </s> c"])
    Path("broken").mkdir()
    put("broken/dict.en.txt", ["no count"])
    put("broken/dict.de.txt", ["A 1"])
    state = torch.load(home / "one.pt", weights_only=True)
    torch.save({**state, "cfg": None, "model": {}}, "empty.pt")
    assert said in refused(flags)


def test_the_folder_of_the_outputs_is_made_once_all_else_is_right(home, refused, scripted):
    refused("--output-prefix deep/er/train --beam 0")
    refused("--output-prefix deep/er/train --reference gone")
    put("long.en", ["a " * 40])
    refused("--output-prefix deep/er/train --source long.en")
    assert not Path("deep").exists()
    words = f"--path {home}/one.pt --data {home}/bin --source train.en --cpu"
    assert distill.main([*words.split(), "--output-prefix", "deep/er/train"]) == 0
    assert sorted(os.listdir("deep/er")) == ["train.de", "train.en"]
    with pytest.raises(KeyboardInterrupt), made_folder("deep/other/one/train"):
        raise KeyboardInterrupt
    assert os.listdir("deep") == ["er"]


def test_a_folder_stands_for_the_teacher_in_it(home, run):
    os.makedirs("teacher")
    os.symlink(home / "two.pt", "teacher/checkpoint_last.pt")
    folder = os.path.abspath("teacher")
    assert run("--max-len-b 6", path=f"one.pt:{folder}") == run(
        "--max-len-b 6", path="one.pt:two.pt"
    )


def test_outputs_that_are_there_are_not_overwritten(refused, monkeypatch):
    put("train.real", ["precious"])
    os.symlink("train.de", "linked.de")
    assert "out2.de is there already" in refused_with(refused, "out2.de", "--output-prefix out2")
    # the reference through a link: the same file by another name
    assert "train.de would be overwritten" in refused("--output-prefix linked --reference train.de")


def refused_with(refused: Callable[[str], str], path: str, flags: str) -> str:
    put(path, ["precious"])
    said = refused(flags)
    assert read(path) == ["precious"]
    return said


def test_sources_that_are_too_long_are_named_before_decoding(refused, run, scripted, text):
    """The limit of 12 positions counts </s>."""
    put("train.en", ["a " * 11, "a " * 12, "b", "a " * 40])
    said = refused("")
    assert "the teacher can read 11 tokens" in said and "number 2: 2, 4; shorten" in said
    put("some.de", ["x", "y", "z", ""])
    said = refused("--reference some.de")
    assert "number 1: 4; shorten them, or give them a reference" in said
    assert not scripted
    put("all.de", ["x", "y", "z", "v w"])
    assert run("--reference all.de", expected=4) == [large("a " * 11), "y", "B", "v w"]


def test_other_dictionaries_than_the_teachers(refused, run, home, capsys):
    Path("larger").mkdir()
    Path("other").mkdir()
    for lang in ("en", "de"):
        words = read(home / "bin" / f"dict.{lang}.txt")
        put(f"other/dict.{lang}.txt", words[::-1])
        put(f"larger/dict.{lang}.txt", [*words, "more 1"])
    said = refused("--data larger")
    size = len(Dictionary.load("other/dict.en.txt"))
    assert f"larger/dict.en.txt has {size + 1} symbols, but" in said
    assert f"was trained with {size}; give --data with the dictionaries" in said
    assert "note:" not in capsys.readouterr().err
    # as many symbols, others: only the folder of the training can tell
    run("--data other")
    assert f"note: other/dict.en.txt differs from {home}/bin/dict.en.txt" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["translation_edit", "translation_lev", "language_modeling"])
def test_a_model_that_cannot_teach(refused, home, name):
    state = torch.load(home / "one.pt", weights_only=True)
    state["cfg"]["task"]["_name"] = name
    torch.save(state, "other.pt")
    said = refused("--path other.pt")
    assert f"other.pt was trained with --task {name}; a teacher is a left-to-right model" in said


def test_a_decoder_that_is_not_incremental_cannot_teach(refused, monkeypatch):
    monkeypatch.setattr(teachers.checkpoints, "FairseqIncrementalDecoder", type("None", (), {}))
    assert "holds a model that does not write from left to right" in refused("")


def test_languages_come_from_the_teacher_the_flags_or_the_folder(home, text, scripted):
    state = torch.load(home / "one.pt", weights_only=True)
    state["cfg"]["task"]["source_lang"] = state["cfg"]["task"]["target_lang"] = None
    torch.save(state, "mute.pt")
    command = f"--path mute.pt --data {home}/bin --source train.en --output-prefix out/train --cpu"
    with pytest.raises(UserError, match="does not tell its languages"):
        distill.main(command.split())
    assert distill.main(f"{command} --source-lang en --target-lang de".split()) == 0
    assert sorted(os.listdir("out")) == ["train.de", "train.en"]


# ---------------------------------------------------------------- further


def test_the_printed_command_makes_the_data(run, home, text, scripted, capsys, monkeypatch):
    command = f"--path {home}/one.pt --data {home}/bin --source train.en --output-prefix out/train"
    distill.main([*command.split(), "--cpu"])
    printed = capsys.readouterr().out.splitlines()[-1]
    assert printed.startswith("next: python -m lev_plugins.cli.preprocess --source-lang en")
    words = shlex.split(printed.removeprefix("next: "))
    assert preprocess.main(words[3:]) == 0
    for lang in ("en", "de"):
        made, given = (
            Path(folder, f"dict.{lang}.txt") for folder in ("out/train-bin", home / "bin")
        )
        assert made.read_bytes() == given.read_bytes()
    assert " 0.00 % " in capsys.readouterr().out, "a word of the teacher's is unknown"
