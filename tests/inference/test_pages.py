"""The Python of the systems' pages runs as it stands."""

import saved
import tiny


def test_the_gates_are_shown_as_the_page_shows_them(root, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = tiny.dictionaries(tmp_path / "my/text")
    saved.save(tmp_path / "my/gated/checkpoint_best.pt", data, "gated")
    _, code = (root / "docs/systems/gated.md").read_text().split("```python\n")
    exec(code.partition("```")[0].replace("a noisy line", "a b c"), {})
    masked, *rows = capsys.readouterr().out.splitlines()
    assert masked.count(",") == 3 and all("'copy'" in row and "'generate'" in row for row in rows)
