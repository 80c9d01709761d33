"""The example's subwords: text with spaces of all kinds."""

import sys

from example_scripts import modules, write

(pieces,) = modules("post_editing", "pieces")


def test_words_are_cut_alike_whatever_space_stands_between_them(tmp_path, monkeypatch):
    plain = ["a cat and a dog", "a dog here", "", "and a cat"]
    odd = [line.replace(" ", space) for line, space in zip(plain, "\u00a0\u2028\u3000\t")]
    cut = {}
    for name, lines in (("plain", plain), ("odd", odd)):
        work = tmp_path / name
        write(work / "text" / "train.src", lines)
        (work / "pieces").mkdir()
        monkeypatch.setattr(sys, "argv", ["pieces.py", str(work), "40", "train", "src"])
        pieces.main()
        cut[name] = [(work / file).read_bytes() for file in ("pieces/train.src", "spm.vocab")]
    assert cut["odd"] == cut["plain"] and cut["odd"][0].count(b"\n") == 4
