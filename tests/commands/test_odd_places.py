"""Commands in odd places: installed ones beside others' data, models and plug-ins that were moved,
and lines with spaces at their ends."""

import os
import random
import re
import shutil
from pathlib import Path

import pytest
import tiny
from conftest import PACKAGE, ROOT, SIZES, Commands, others
from plain_files import put, read
from saved import changed, save

INSTALLED = {"PYTHONPATH": str(ROOT)}  # this checkout, not what happens to be installed
USER = f"--user-dir {PACKAGE} --cpu"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Returns a folder that somebody works in."""
    return others(tmp_path / "there")


def test_the_first_command_of_the_readme_works_beside_data_of_others(commands: Commands, there):
    before = sorted(there.rglob("*"))
    done = commands.ok("lev-correct", there, stdin="Teh cat\n", environ=INSTALLED)
    assert done.out == "The cat\n"
    assert sorted(there.rglob("*")) == before


def test_a_packaged_folder_decodes_beside_data_of_others(commands: Commands, there, tmp_path):
    """A model with its dictionaries and data, trained where ``data`` was the data."""
    packaged = tiny.dictionaries(tmp_path / "packaged")
    save(tmp_path / "model.pt", packaged, "pbd")
    changed(tmp_path / "model.pt", packaged / "model.pt", "task", data="data")
    for side in ("src", "tgt"):
        rows = [tiny.sentence(word, tiny.dictionary())[1:] for word in ("abc", "hg")]
        tiny.write_indexed(packaged / f"test.src-tgt.{side}", rows)
    tiny.dictionaries(there / "data", "xyz")
    generate = f"fairseq-generate {packaged} --path {packaged} {USER}"
    assert commands.ok(generate, there).texts("S") == ["a b c", "h g"]
    typed = f"fairseq-interactive {packaged} --path {packaged}/model.pt -s src -t tgt {USER}"
    assert commands.ok(typed, there, stdin="a b c\n").texts("S") == ["a b c"]
    ours = commands.ok(f"lev-correct --path {packaged}", there, stdin="abc\n", environ=INSTALLED)
    assert ours.out.count("\n") == 1


def test_a_model_trained_by_relative_paths_works_from_anywhere_and_moved(
    commands: Commands, there, tmp_path
):
    tiny.dictionaries(my := tmp_path / "my" / "bin")
    my = my.parent
    tiny.sentencepiece_model(my / "spm.model", ["abc hg abc"], vocab_size=9, model_type="char")
    for split in ("train", "valid"):
        for side in ("src", "tgt"):
            rows = [tiny.sentence("abc", tiny.dictionary())[1:]] * 4
            tiny.write_indexed(my / f"bin/{split}.src-tgt.{side}", rows)
    training = (
        f"fairseq-train my/bin {USER} -s src -t tgt --optimizer adam --lr 0.01 --max-update 1 "
        "--batch-size 4 --num-workers 0 --disable-validation --no-epoch-checkpoints --dropout 0 "
        "--bpe sentencepiece --sentencepiece-model my/spm.model --save-dir my/run "
        f"--task translation_edit --arch levenshtein_editor_char {SIZES} "
        "--criterion edit_policy_loss --max-source-positions 40 --max-target-positions 40"
    )
    commands.ok(training, tmp_path)

    def corrected(path: Path, cwd: Path) -> str:
        words = f"lev-correct --path {path}"
        return commands.ok(words, cwd, stdin="abc hg\n", environ=INSTALLED).out

    expected = corrected(Path("my/run"), tmp_path)
    assert corrected(Path("run"), my) == corrected(my / "run", there) == expected
    alone = tmp_path / "alone"  # the model and its subwords, and nothing else
    alone.mkdir()
    for name in ("run/checkpoint_last.pt", "spm.model"):
        shutil.copy(my / name, alone)
    shutil.move(my, there / "moved")
    assert corrected(alone, there) == corrected(there / "moved" / "run", tmp_path) == expected
    os.remove(alone / "spm.model")
    refused = commands(f"lev-correct --path {alone}", there, stdin="abc\n", environ=INSTALLED)
    assert "does not exist" in refused.error and "spm.model" in refused.error


def test_the_plug_in_is_found_under_another_name(commands, triples, tmp_path, root):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "my_edits", ignore=ignored)
    command = f"preprocess {triples.flags} --joined-dictionary --trainpref {triples.folder}/train"
    environ = {"PYTHONPATH": str(tmp_path)}
    commands.ok(f"python -m my_edits {command} --destdir {tmp_path}/bin", tmp_path, environ=environ)
    for name in ("train.src-tgt.mt.bin", "dict.tgt.txt"):
        assert (tmp_path / "bin" / name).read_bytes() == (triples.data / name).read_bytes()
    task, few = "--task translation_edit", "--gen-subset test1"
    for cwd, user_dir in ((root, "lev_plugins"), (tmp_path, "my_edits")):
        command = triples.train(f"--max-update 2 --disable-validation --save-dir {tmp_path}/ck")
        commands.ok(f"{command} --user-dir {user_dir} {task}", cwd)
        last = tmp_path / "ck" / "checkpoint_last.pt"
        for checkpoint, decoder in ((triples.checkpoint, user_dir), (last, PACKAGE)):
            command = f"{triples.generate(few, checkpoint)} --user-dir {decoder} {task}"
            assert len(commands.ok(command, cwd).texts("H")) == 3
        shutil.rmtree(tmp_path / "ck")


# spaces at the ends of lines ------------------------------------------------------------------

SIDES = ("src", "tgt", "mt")
SPACES = (" ", "  ", "\u00a0", "\u3000", "\u2009 ", "\u202f", "\f", "\x85", "\u2028")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, commands: Commands) -> Path:
    """Returns ``test.SIDE`` as it is typed, and binarised in characters."""
    folder, draw = tmp_path_factory.mktemp("spaces"), random.Random(3)
    texts = [" ".join(draw.choices(["ab", "cad", "bee"], k=3)) for _ in range(20)]
    for side in SIDES:
        ends = ["".join(draw.choices(SPACES, k=2)) for _ in range(40)]
        lines = [f"{ends[i]}{text}{ends[-1 - i]}" for i, text in enumerate(texts)]
        put(folder / f"test.{side}", lines)
        characters = [" ".join(re.sub(r"\s", "\u2581", line)) for line in lines]
        put(folder / f"test.ch.{side}", characters)
    languages = "--source-lang src --target-lang tgt --draft-lang mt --joined-dictionary"
    commands.preprocess(f"{languages} --trainpref test.ch --testpref test.ch --destdir bin", folder)
    return folder


@pytest.mark.parametrize(
    ("kind", "task"),
    [("pbd", "translation"), ("editor", "translation_edit"), ("concat", "translation_concat")],
)
def test_typed_lines_are_answered_as_the_same_lines_binarised(commands, folder, kind, task):
    """Spaces at the ends of a line are part of it."""
    sides = ("src",) if kind == "pbd" else ("src", "mt")
    checkpoint = save(folder / f"{kind}.pt", folder / "bin", kind)
    languages = "--source-lang src --target-lang tgt"
    model = f"--path {checkpoint} --beam 1 --max-len-b 12 --bpe characters --cpu"
    drafted = f"{languages} --draft-lang mt" if len(sides) > 1 else languages
    binarised = commands.done(f"fairseq-generate bin {drafted} {model}", folder, task=task)
    columns = [read(folder / f"test.{side}") for side in sides]
    lines = "".join("\t".join(fields) + "\n" for fields in zip(*columns, strict=True))
    typed = commands.done(
        f"fairseq-interactive bin {languages} {model}", folder, task=task, stdin=lines
    )
    assert typed.texts("H") == binarised.texts("H")
    # fairseq-interactive shows the source's tokens, fairseq-generate its text
    shown = [text.replace(" ", "").replace("\u2581", " ") for text in typed.texts("S")]
    assert shown == binarised.texts("S")
    assert any(source.endswith("  ") for source in shown)
