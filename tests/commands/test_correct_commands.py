"""The command ``correct`` with real checkpoints, of both kinds."""

import json
import random

import pytest
from conftest import SIZES

from lev_plugins import Corrector

PUNCTUATION = "A .  B\tD !\r\n\r\n \t\r\nA . Zzz . B .\xa0C\nE . ☃ .. \x85H . ! G".encode()
MISPRINTS = "ay  bya\tb\n\n \t\r\ny☃ya\nya\u2028 b".encode()


def correct(commands, path, more, cwd, text):
    """How the command ended, and the bytes that it wrote."""
    done = commands(f"python -m lev_plugins correct --path {path} {more}", cwd, stdin=text)
    return done, (commands.folder / f"{commands.count}.out").read_bytes()


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A folder with words of a few letters, each x of theirs misprinted as y."""
    folder = tmp_path_factory.mktemp("misprints")
    draw = random.Random(3)
    for part, size in (("train", 400), ("valid", 20)):
        clean = ["".join(draw.choices("abx", k=draw.randint(1, 4))) for _ in range(size)]
        for side, lines in (("typo", [w.replace("x", "y") for w in clean]), ("word", clean)):
            text = "".join(" ".join(line) + "\n" for line in lines)
            (folder / f"{part}.{side}").write_text(text)
    return folder


@pytest.fixture(scope="module")
def transformer(commands, words, root):
    """fairseq's own transformer, which has learnt to write x for y."""
    commands.preprocess(
        "--source-lang typo --target-lang word --joined-dictionary --trainpref train "
        "--validpref valid --destdir bin",
        words,
    )
    commands.ok(
        f"fairseq-train bin -s typo -t word --task translation --arch transformer {SIZES} "
        "--share-all-embeddings --criterion cross_entropy --optimizer adam --lr 0.01 --dropout 0 "
        "--batch-size 64 --max-epoch 12 --disable-validation --no-epoch-checkpoints "
        f"--num-workers 0 --cpu --save-dir model --user-dir {root / 'lev_plugins'}",
        words,
    )
    return words / "model" / "checkpoint_last.pt"


def made(text, edits):
    """Bytes with edits of the characters of their lines; bytes that are no text stay."""
    lines = text.decode("utf-8", "surrogateescape").split("\n")
    for edit in reversed(edits):
        line = lines[edit["line"] - 1]
        start, end = edit["offset"], edit["offset"] + edit["length"]
        assert line[start:end] == edit["before"] and 0 <= edit["probability"] <= 1
        if edit["applied"]:
            lines[edit["line"] - 1] = line[:start] + edit["after"] + line[end:]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def test_an_editor_corrects_what_it_can_and_keeps_the_rest(commands, triples, tmp_path):
    done, out = correct(commands, triples.checkpoint, "--bpe none --edits e", tmp_path, PUNCTUATION)
    assert done.code == 0 and done.err == ""
    edits = [json.loads(line) for line in (tmp_path / "e").read_text().splitlines()]
    assert any(edit["applied"] for edit in edits)
    assert out == made(PUNCTUATION, edits)
    assert b"<unk>" not in out and out.count(b"\r\n") == 3


def test_its_words_are_those_of_fairseq_interactive(commands, transformer, words, root):
    lines = (words / "valid.typo").read_text().splitlines()
    told = commands(
        f"fairseq-interactive bin --path {transformer} --beam 5 --cpu --task translation "
        f"--source-lang typo --target-lang word --user-dir {root / 'lev_plugins'}",
        words,
        stdin="".join(f"{line}\n" for line in lines),
    )
    corrector = Corrector.from_pretrained(str(transformer))
    assert corrector.unit == "word"
    found = corrector.correct([line.replace(" ", "") for line in lines], batch_size=3)
    assert [one.text for one in found] == [text.replace(" ", "") for text in told.texts("H")]
    checked = 0
    for number, one in enumerate(found):
        (numbers,) = told.lines("P")[number]
        scores = [float(score) for score in numbers.split()]  # to the base of 2
        differ = [n for n, (a, b) in enumerate(zip(one.source, one.text)) if a != b]
        if len(one.source) == len(one.text) and len(differ) == 1:
            (edit,), (place,) = one.edits, differ
            wanted = 2 ** (scores[place] + scores[place + 1])
            assert edit.probability == pytest.approx(wanted, abs=1e-3)
            checked += 1
    assert checked
    done, out = correct(commands, transformer, "--edits e --beam 2", words, MISPRINTS)
    assert done.code == 0 and done.err == ""
    edits = [json.loads(line) for line in (words / "e").read_text().splitlines()]
    assert any(edit["applied"] for edit in edits) and out == made(MISPRINTS, edits)
    assert b"<unk>" not in out and out.split(b"\n")[1:3] == [b"", b" \t\r"]
