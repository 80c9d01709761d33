"""Commands as they are installed, in a folder with data of others, and models that were moved."""

import os
import shutil
from pathlib import Path

import pytest
import tiny
from conftest import PACKAGE, ROOT, SIZES, Commands, others
from saved import changed, save

INSTALLED = {"PYTHONPATH": str(ROOT)}  # what is tried, not what happens to be installed
USER = f"--user-dir {PACKAGE} --cpu"
TRAINING = (
    f"fairseq-train my/bin {USER} -s src -t tgt --optimizer adam --lr 0.01 --max-update 1 "
    "--batch-size 4 --num-workers 0 --disable-validation --no-epoch-checkpoints --dropout 0 "
    "--bpe sentencepiece --sentencepiece-model my/spm.model --max-source-positions 40 "
    "--max-target-positions 40 --save-dir my/run"
)
SYSTEMS = {
    "levt": f"--task translation_edit --arch levenshtein_editor_char {SIZES} "
    "--criterion edit_policy_loss",
    "pbd": "--task translation --arch pbd_transformer_char --encoder-embed-dim 32",
    "gated": "--task noisy_translation --noise none --arch gated_transformer_char "
    "--encoder-embed-dim 32",
    "concat": f"--task translation_concat --arch transformer_concat_char {SIZES}",
}


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder that somebody works in."""
    return others(tmp_path / "there")


def test_the_first_command_of_the_readme_works_beside_data_of_others(commands: Commands, there):
    before = sorted(there.rglob("*"))
    done = commands.ok("lev-correct", there, stdin="Teh cat\n", environ=INSTALLED)
    assert done.out == "The cat\n"
    assert sorted(there.rglob("*")) == before


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    """A model with its dictionaries and data beside it, trained where ``data`` was the data."""
    folder = tiny.dictionaries(tmp_path / "packaged")
    save(tmp_path / "model.pt", folder, "pbd")
    changed(tmp_path / "model.pt", folder / "model.pt", "task", data="data")
    rows = [tiny.sentence(word, tiny.dictionary())[1:] for word in ("abc", "hg")]
    for side in ("src", "tgt"):
        tiny.write_indexed(folder / f"test.src-tgt.{side}", rows)
    return folder


def test_a_packaged_folder_decodes_beside_data_of_others(commands: Commands, there, packaged):
    tiny.dictionaries(there / "data", "xyz")
    generate = f"fairseq-generate {packaged} --path {packaged} {USER}"
    sources = commands.ok(generate, there).texts("S")
    assert sources == ["a b c", "h g"]
    typed = f"fairseq-interactive data --path {packaged}/model.pt -s src -t tgt {USER}"
    assert commands.ok(typed, there, stdin="a b c\n").texts("S") == ["a b c"]
    ours = commands.ok(f"lev-correct --path {packaged}", there, stdin="abc\n", environ=INSTALLED)
    assert ours.out.count("\n") == 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_trained_model_works_from_any_folder_and_wherever_it_is_moved(
    commands: Commands, there, tmp_path, system
):
    """With the paths as they are typed in the README: relative ones."""
    my = tmp_path / "my"
    my.mkdir()
    lines = ["abcdefgh", "hgfedcba"] * 4
    tiny.sentencepiece_model(my / "spm.model", lines, model_type="char", vocab_size=12)
    letters = "▁" + tiny.LETTERS
    tiny.dictionaries(my / "bin", letters)
    rows = [tiny.sentence(f"▁{word}", tiny.dictionary(letters))[1:] for word in ("abc", "hg")]
    for side in ("src", "tgt"):
        tiny.write_indexed(my / "bin" / f"train.src-tgt.{side}", rows)
    commands.ok(f"{TRAINING} {SYSTEMS[system]}", tmp_path)

    def corrected(path: Path, cwd: Path) -> str:
        words = f"lev-correct --path {path}"
        return commands.ok(words, cwd, stdin="abc hg\n", environ=INSTALLED).out

    wanted = corrected(Path("my/run"), tmp_path)
    assert corrected(Path("run"), my) == corrected(my / "run", there) == wanted
    alone = tmp_path / "alone"  # the model and its subwords, and nothing else
    alone.mkdir()
    for name in ("run/checkpoint_last.pt", "spm.model"):
        shutil.copy(my / name, alone)
    shutil.move(my, there / "moved")
    assert corrected(alone, there) == corrected(there / "moved" / "run", tmp_path) == wanted
    os.remove(alone / "spm.model")
    refused = commands(f"lev-correct --path {alone}", there, stdin="abc\n", environ=INSTALLED)
    assert "does not exist" in refused.error and "spm.model" in refused.error
