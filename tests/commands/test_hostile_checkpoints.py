"""Untrusted checkpoints: no command runs what is in one, and one line says why it is not used.

Entries of Python: tests/test_damaged_files.py.
"""

from pathlib import Path

import checkpoints
import pytest
import torch
from conftest import LANGUAGES, PACKAGE, SIZES, TRAINING, Corpus
from enct5_corpus import prepared
from saved import Malicious

UNSAFE = {"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}


@pytest.fixture(scope="module")
def enct5(commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(commands, tmp_path_factory.mktemp("enct5"), "classification").folder


@pytest.fixture
def places(triples: Corpus, enct5: Path, tmp_path: Path) -> dict[str, Path]:
    """A folder with a good checkpoint that holds one thing more, under the usual names; a Hugging
    Face directory whose weights are a pickle of that sort; and what is good.
    """
    victim, home = tmp_path / "victim", tmp_path / "evil"
    home.mkdir()
    state = torch.load(triples.checkpoint, weights_only=True)
    for name in ("checkpoint_last.pt", "evil.pt"):
        torch.save({**state, "extra_state": Malicious(victim)}, home / name)
    t5 = checkpoints.t5(home / "t5")
    (t5 / "model.safetensors").unlink()
    torch.save({"shared.weight": Malicious(victim)}, t5 / "pytorch_model.bin")
    evil = {"victim": victim, "evil": home / "evil.pt", "home": home, "t5": t5}
    lines = triples.folder / "test.src"
    return {
        **evil,
        "data": triples.data,
        "good": triples.checkpoint,
        "lines": lines,
        "enct5": enct5,
    }


SHORT = f"{TRAINING} --max-update 1 --disable-validation"
READ = f"{{data}} {LANGUAGES} --cpu --task translation_edit --path {{evil}}"
EDIT = (
    f"fairseq-train {{data}} {LANGUAGES} {SHORT} --task translation_edit "
    f"--arch levenshtein_editor_char {SIZES} --criterion edit_policy_loss"
)


@pytest.mark.parametrize(
    "command",
    [
        f"{EDIT} --save-dir new --restore-file {{evil}}",
        f"{EDIT} --save-dir {{home}}",
        f"fairseq-train {{data}} {LANGUAGES} {SHORT} --task noisy_translation --arch "
        "gated_transformer --backbone {t5} --criterion cross_entropy --save-dir new",
        "fairseq-train {enct5}/data --task enct5 --arch enct5_base --t5-dir {t5} "
        f"--criterion enct5 {TRAINING} --save-dir new",
        f"fairseq-generate {READ}",
        f"fairseq-interactive {READ}",
        f"fairseq-validate {READ} --batch-size 2",
        "correct --path {evil}",
        "trace --path {evil} --input {lines}",
        "predict --path {evil} --input {lines}",
        "enct5_prepare --kind classification --train {enct5}/train.tsv --t5-dir {t5} "
        "--destdir {home}/new",
        "average {good} {evil} --output {home}/new.pt",
        "backbone {t5}",
    ],
)
def test_no_command_runs_a_pickle(command, places, commands, tmp_path):
    words = command.format(**places)
    if words.startswith("fairseq"):
        words = f"{words} --user-dir {PACKAGE}"
    else:
        words = f"python -m lev_plugins {words}"
    message = commands(words, tmp_path, stdin=b"a b\n", environ=UNSAFE).error
    assert not places["victim"].exists(), "it was run"
    assert "system" in message, "refused, but for another reason"
    assert any(str(places[name]) in message for name in ("evil", "home", "t5"))
    assert not list(tmp_path.glob("**/new*/*")) and not list(tmp_path.glob("**/new.pt"))
