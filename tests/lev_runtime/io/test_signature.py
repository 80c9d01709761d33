"""A signature names the version, the model by its content, and the settings."""

import json

import pytest
from refusals import refuses

from lev_correct.cli import main
from lev_runtime import __version__
from lev_runtime.io.signature import signature


def test_a_signature_follows_the_content_of_a_model_and_its_settings(tmp_path):
    (tmp_path / "model.pt").write_bytes(b"one")
    first = signature(tmp_path, threshold=0.5, beam=None)
    assert first.startswith(f"version:{__version__}|model:") and first.endswith("|threshold:0.5")
    assert first == signature(tmp_path / "model.pt", threshold=0.5)
    (tmp_path / "model.pt").write_bytes(b"two")
    changed = signature(tmp_path, threshold=0.5)
    (tmp_path / "runtime.json").write_text("{}")  # of an export, which comes first
    assert len({first, changed, signature(tmp_path, threshold=0.5)}) == 3
    with refuses(f"{tmp_path / 'none'}: no model there to sign"):
        signature(tmp_path / "none")


@pytest.mark.parametrize("options, threshold", [([], "0.3"), (["--min-confidence=0.9"], "0.9")])
def test_every_edit_of_lev_correct_has_the_signature_of_its_run(
    options, threshold, tmp_path, capsys
):
    (tmp_path / "in").write_text("I recieve it.\n")
    words = [*options, "--signature", "--edits", str(tmp_path / "edits"), str(tmp_path / "in")]
    assert main.main(words) == 0
    (edit,) = map(json.loads, (tmp_path / "edits").read_text().splitlines())
    assert f"threshold:{threshold}" in edit["signature"].split("|")
    assert f"signature: {edit['signature']}" in capsys.readouterr().err
