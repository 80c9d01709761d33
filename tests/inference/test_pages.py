"""The Python of the systems' pages runs as it stands."""

import re

import saved
import tiny


def test_the_gates_are_shown_as_the_page_shows_them(root, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(saved.KINDS, "gated", "--task translation --arch gated_transformer_char")
    monkeypatch.chdir(tmp_path)
    saved.save(
        tmp_path / "my/gated/checkpoint_best.pt", tiny.dictionaries(tmp_path / "my/text"), "gated"
    )
    (code,) = re.findall("```python\n(.*?)```", (root / "docs/systems/gated.md").read_text(), re.S)
    exec(code.replace("a noisy line", "a b c"), {})
    masked, *rows = capsys.readouterr().out.splitlines()
    assert masked.count(",") == 3 and all("'copy'" in row and "'generate'" in row for row in rows)
