"""What preparing commands print as the next command runs as printed, and trains a model."""

import random
import shlex

from enct5_corpus import write_corpus


def test_the_next_command_runs_as_printed(commands, tmp_path):
    draw = random.Random(1)
    rows = [draw.choices("abcdefgh▁", k=9) for _ in range(40)]
    for part in ("train", "valid"):
        for lang, start in {"src": 0, "tgt": 0, "mt": 2}.items():
            lines = (" ".join(row[start:]) + "\n" for row in rows)
            (tmp_path / f"{part}.{lang}").write_text("".join(lines), encoding="utf-8")
    flags = "--source-lang src --target-lang tgt --draft-lang mt --joined-dictionary"
    printed = commands.preprocess(
        f"{flags} --trainpref train --validpref valid --destdir bin", tmp_path
    ).out
    command = shlex.split(printed.rpartition("next: ")[2])
    commands.ok([*command, "--max-update", "2"], tmp_path)
    path = tmp_path / "checkpoints" / "checkpoint_best.pt"
    corrected = commands(f"python -m lev_plugins correct --path {path}", tmp_path, stdin="ab\n")
    assert corrected.code == 0 and corrected.out.count("\n") == 1, corrected.err


def test_the_next_command_of_labelled_text_runs_as_printed(commands, tmp_path):
    write_corpus(tmp_path, "tagging")
    flags = "--kind tagging --train train.tsv --valid valid.tsv --bytes --destdir bin"
    prepared = commands.ok(f"python -m lev_plugins enct5-prepare {flags}", tmp_path)
    command = shlex.split(prepared.err.rpartition("next: ")[2])
    trained = commands.ok([*command, "--max-update", "2"], tmp_path)
    assert "word_accuracy" in trained.out + trained.err
    assert (tmp_path / "checkpoints" / "checkpoint_best.pt").is_file()
