"""An untrusted checkpoint: no way in runs what it says, and each says in one line why not.

Files that Python reads: tests/test_damaged_files.py.
"""

from collections.abc import Callable
from pathlib import Path

import checkpoints
import pytest
import torch
from conftest import PACKAGE, SIZES, TRAINING
from plain_files import put
from saved import Malicious, save

from lev_plugins import LevenshteinEditor, UserError
from lev_plugins.cli import enct5_prepare
from lev_plugins.systems.transformer_concat import TransformerConcatModel

LETTERS = "abcdefgh"
LANGUAGES = "--source-lang src --target-lang tgt"


@pytest.fixture(scope="module")
def folder(commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin``, good checkpoints of an editor and of one that writes, and examples for EncT5."""
    checkpoints = tmp_path_factory.mktemp("untrusted")
    lines = [" ".join(LETTERS[i:] + LETTERS[:i]) for i in range(8)]
    for language in ("src", "tgt", "mt"):
        put(checkpoints / f"text.{language}", lines)
    prefixes = "".join(f" --{split}pref text" for split in ("train", "valid", "test"))
    drafts = f"{LANGUAGES} --draft-lang mt --joined-dictionary --destdir bin"
    commands.preprocess(drafts + prefixes, checkpoints)
    for kind in ("editor", "stock"):
        save(checkpoints / f"{kind}.pt", checkpoints / "bin", kind)
    put(checkpoints / "examples", [f"{line[0]}\t{line}" for line in lines])
    flags = f"--kind classification --train {checkpoints}/examples --bytes"
    enct5_prepare.main(f"{flags} --destdir {checkpoints}/enct5".split())
    return checkpoints


@pytest.fixture
def places(folder: Path, tmp_path: Path) -> dict[str, Path]:
    """A folder with a good checkpoint that holds one thing more, under the usual names; a Hugging
    Face directory whose weights are a pickle of that sort; and what is good.
    """
    victim, home = tmp_path / "victim", tmp_path / "evil"
    home.mkdir()
    state = torch.load(folder / "editor.pt", weights_only=True)
    for name in ("checkpoint_last.pt", "checkpoint_best.pt", "model.pt", "evil.pt"):
        torch.save({**state, "extra_state": Malicious(victim)}, home / name)
    t5 = checkpoints.t5(home / "t5")
    (t5 / "model.safetensors").unlink()
    torch.save({"shared.weight": Malicious(victim)}, t5 / "pytorch_model.bin")
    good = {"data": "bin", "lines": "text.src", "examples": "examples", "enct5": "enct5"}
    good |= {"editor": "editor.pt", "stock": "stock.pt"}
    paths = {name: folder / path for name, path in good.items()}
    return {**paths, "victim": victim, "evil": home / "evil.pt", "home": home, "t5": t5}


def hub(at: dict[str, Path]) -> None:
    """fairseq's own ``from_pretrained``."""
    languages = {"source_lang": "src", "target_lang": "tgt"}
    TransformerConcatModel.from_pretrained(str(at["home"]), "evil.pt", str(at["data"]), **languages)


READ = f"{{data}} {LANGUAGES} --cpu"
TRAIN = f"fairseq-train {{data}} {LANGUAGES} {TRAINING} --max-update 1 --disable-validation"
EDIT = (
    f"{TRAIN} --task translation_edit --arch levenshtein_editor_char {SIZES} "
    "--criterion edit_policy_loss"
)
ENTRIES: list[str | Callable[[dict[str, Path]], object]] = [
    f"{EDIT} --save-dir new --restore-file {{evil}}",
    f"{EDIT} --save-dir {{home}}",
    f"{TRAIN} --task noisy_translation --arch gated_transformer --backbone {{t5}} "
    "--criterion cross_entropy --save-dir new",
    f"fairseq-train {{enct5}} --task enct5 --arch enct5_base --t5-dir {{t5}} --criterion enct5 "
    f"{TRAINING} --save-dir new",
    f"fairseq-generate {READ} --task translation_edit --path {{evil}}",
    f"fairseq-interactive {READ} --task translation_edit --path {{evil}}",
    f"fairseq-validate {READ} --task translation_edit --path {{evil}} --batch-size 2",
    "correct --path {evil}",
    "trace --path {evil} --input {lines}",
    "predict --path {evil} --input {lines}",
    "enct5_prepare --kind classification --train {examples} --t5-dir {t5} --destdir {home}/new",
    "average {editor} {evil} --output {home}/new.pt",
    "backbone {t5}",
    lambda at: LevenshteinEditor.from_pretrained(at["home"]),
    hub,
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_way_in_runs_a_pickle(entry, places, commands, monkeypatch, tmp_path):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    environ = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    if callable(entry):
        with pytest.raises(UserError) as raised:
            entry(places)
        message = str(raised.value)
    else:
        words = entry.format(**places)
        words += f" --user-dir {PACKAGE}" if words.startswith("fairseq") else ""
        words = words if words.startswith("fairseq") else f"python -m lev_plugins {words}"
        message = commands(words, tmp_path, stdin=b"a b\n", environ=environ).error
    assert not places["victim"].exists(), "it was run"
    assert "system" in message, "refused, but for another reason"
    assert any(str(places[name]) in message for name in ("evil", "home", "t5"))
    assert not list(tmp_path.glob("new*")) or not list((tmp_path / "new").glob("*"))
