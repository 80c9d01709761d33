"""A signature names the version, the model by its content, and the settings."""

from refusals import refuses

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
