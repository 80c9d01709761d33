"""Distilling: what fairseq-generate printed becomes targets in the sources' order."""

import random
import sys
from pathlib import Path

import pytest
from conftest import SIZES
from example_scripts import modules
from plain_files import put, read
from refusals import refuses

(distilled,) = modules("translation", "distilled")
LANGUAGES = "--source-lang en --target-lang de"


@pytest.mark.parametrize(
    "beam, source, reference, nearest, wanted",
    [
        (["a b", "c d"], "x y", "c d", False, "a b"),
        (["a b", "c d"], "x y", "c d", True, "c d"),
        (["a"], "", "r", False, ""),
        (["", "b"], "x", "r", False, "r"),
        (["", "b"], "x", "r", True, "b"),
        (["a " * 9], "x", "r", False, "r"),
        (["a"] * 2, "x " * 9, "r", False, "r"),
        (["a"], "x " * 8, "r", False, "a"),
        (["a " * 10], "x " * 10, "r", False, "r"),
        (["a " * 9], "x", "", False, "a " * 9),
    ],
)
def test_what_cannot_be_right_gives_way_to_the_reference(beam, source, reference, nearest, wanted):
    assert distilled.choose(beam, source, reference, 10, nearest) == wanted


def test_lines_come_out_in_the_order_of_the_sources_or_not_at_all(tmp_path, monkeypatch, capsys):
    put(tmp_path / "en", ["x", "", "y\u2028z"])
    put(tmp_path / "de", ["r", "", "s"])
    printed = ["log", "S-2\tx", "H-2\t-0.5\tc\u2028c", "H-0\t-1\ta", "H-0\t-2\tb", "H-1\t-1\td"]
    files = [str(tmp_path / name) for name in ("printed", "en", "de", "out")]
    monkeypatch.setattr(sys, "argv", ["distilled.py", *files])
    put(tmp_path / "printed", printed)
    distilled.main()
    assert read(tmp_path / "out") == ["a", "", "c\u2028c"]
    for lines, said in ((printed[:5], "no H-1 line"), ([*printed, "H-3\t-1\ta"], "4 sentences")):
        put(tmp_path / "printed", lines)
        (tmp_path / "out").unlink(missing_ok=True)
        with refuses(said):
            distilled.main()
        assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_the_script_makes_data_of_the_teachers_translations(commands, succeed, root, tmp_path):
    draw = random.Random(3)
    for name, size in (("train", 300), ("valid", 5), ("test", 5)):
        sources = [" ".join(draw.choices("abcdefgh", k=draw.randint(1, 9))) for _ in range(size)]
        for side, lines in (("en", sources), ("de", [line.upper() for line in sources])):
            put(tmp_path / f"pieces/{name}.{side}", lines)
    commands.preprocess(
        f"{LANGUAGES} --joined-dictionary --trainpref pieces/train --destdir data", tmp_path
    )
    commands.ok(
        f"fairseq-train data --user-dir {root}/lev_plugins --task translation {LANGUAGES} "
        f"--arch transformer {SIZES} --share-all-embeddings --optimizer adam --lr 0.005 "
        "--batch-size 50 --cpu --disable-validation --criterion cross_entropy --max-update 60 "
        "--no-epoch-checkpoints --save-dir ar",
        tmp_path,
    )
    generate = f"fairseq-generate data --user-dir {root}/lev_plugins --task translation --cpu "
    generate += f"{LANGUAGES} --path ar/checkpoint_last.pt --gen-subset train --unkpen inf"
    best = commands.ok(f"{generate} --beam 3 --max-len-b 12", tmp_path).texts("H")
    succeed("translation/distill.sh", tmp_path, "--beam", "3", "--max-len-b", "12", "--cpu")
    targets = read(tmp_path / "distilled-text/train.de")
    references = read(tmp_path / "pieces/train.de")
    assert all(one in pair for one, pair in zip(targets, zip(best, references), strict=True))
    assert 10 < sum(one != other for one, other in zip(targets, references)) < 300
    text = Path("distilled-text/train.en"), Path("pieces/train.en")
    assert (tmp_path / text[0]).read_bytes() == (tmp_path / text[1]).read_bytes()
    assert (tmp_path / "distilled-data/train.en-de.de.bin").is_file()
