"""Commands in odd places: next to others' data, with models and plug-ins that were moved."""

import shutil
from pathlib import Path

import pytest
import tiny
from conftest import MODEL, PACKAGE, ROOT, Commands, Result, others

INSTALLED = {"PYTHONPATH": str(ROOT)}  # this checkout, not what happens to be installed


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Returns a folder that somebody works in."""
    return others(tmp_path / "there")


def test_the_first_command_of_the_readme_works_beside_data_of_others(commands: Commands, there):
    before = sorted(there.rglob("*"))
    done = commands.ok("lev-correct", there, stdin="Teh cat\n", environ=INSTALLED)
    assert done.out == "The cat\n"
    assert sorted(there.rglob("*")) == before


def test_a_model_trained_by_relative_paths_works_from_anywhere_and_moved(
    commands: Commands, there, tmp_path
):
    """So does the model with its subwords, and nothing else."""
    my, letters = tmp_path / "my", tiny.dictionary()
    tiny.dictionaries(my / "bin")
    tiny.sentencepiece_model(my / "spm.model", ["abc hg abc"], vocab_size=9, model_type="char")
    for side in ("src", "tgt"):
        rows = [tiny.sentence("abc", letters)[1:]] * 4
        tiny.write_indexed(my / f"bin/train.src-tgt.{side}", rows)
    training = (
        f"fairseq-train my/bin --user-dir {PACKAGE} -s src -t tgt --cpu --optimizer adam "
        "--max-update 1 --batch-size 4 --num-workers 0 --disable-validation --save-dir my/run "
        f"--no-epoch-checkpoints {MODEL} --task translation_edit --max-source-positions 40 "
        "--max-target-positions 40 --bpe sentencepiece --sentencepiece-model my/spm.model"
    )
    commands.ok(training, tmp_path)
    (alone := tmp_path / "alone").mkdir()
    for name in ("run/checkpoint_last.pt", "spm.model"):
        shutil.copy(my / name, alone)

    def corrected(path: Path, cwd: Path) -> Result:
        words = f"lev-correct --path {path}"
        return commands(words, cwd, stdin="abc hg\n", environ=INSTALLED)

    places = [(Path("my/run"), tmp_path), (Path("run"), my), (my / "run", there), (alone, there)]
    answers = [corrected(*place).succeeded(place).out for place in places]
    shutil.move(my, there / "moved")
    answers.append(corrected(there / "moved" / "run", tmp_path).out)
    assert answers == answers[:1] * 5
    (alone / "spm.model").unlink()
    refused = corrected(alone, there).error
    assert "does not exist" in refused and "spm.model" in refused


def test_the_plug_in_is_found_under_another_name(commands, triples, tmp_path):
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "my_edits", ignore=ignored)
    command = f"preprocess {triples.flags} --joined-dictionary --trainpref {triples.folder}/train"
    environ = {"PYTHONPATH": str(tmp_path)}
    commands.ok(f"python -m my_edits {command} --destdir {tmp_path}/bin", tmp_path, environ=environ)
    for name in ("train.src-tgt.mt.bin", "dict.tgt.txt"):
        assert (tmp_path / "bin" / name).read_bytes() == (triples.data / name).read_bytes()
    training = triples.train("--max-update 2 --disable-validation --save-dir ck")
    last = tmp_path / "ck" / "checkpoint_last.pt"
    decoding = (triples.generate("--gen-subset test1", path) for path in (triples.checkpoint, last))
    for command in (training, *decoding):
        commands.ok(f"{command} --user-dir my_edits --task translation_edit", tmp_path)
