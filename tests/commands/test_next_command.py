"""What preparing commands print as the next command runs as printed, and trains a model."""

import shlex

from enct5_corpus import write_corpus


def test_the_next_command_runs_as_printed(commands, triples, tmp_path):
    flags = f"{triples.flags} --joined-dictionary --destdir bin"
    places = f"--trainpref {triples.folder}/train --validpref {triples.folder}/valid"
    printed = commands.preprocess(f"{flags} {places}", tmp_path).out
    command = shlex.split(printed.rpartition("next: ")[2])
    commands.ok([*command, "--max-update", "2"], tmp_path)
    path = tmp_path / "checkpoints" / "checkpoint_best.pt"
    corrected = commands.ok(f"python -m lev_plugins correct --path {path}", tmp_path, stdin="ab\n")
    assert corrected.out.count("\n") == 1


def test_the_next_command_of_labelled_text_runs_as_printed(commands, tmp_path):
    write_corpus(tmp_path, "tagging")
    flags = "--kind tagging --train train.tsv --valid valid.tsv --bytes --destdir bin"
    prepared = commands.ok(f"python -m lev_plugins enct5-prepare {flags}", tmp_path)
    command = shlex.split(prepared.err.rpartition("next: ")[2])
    trained = commands.ok([*command, "--max-update", "2"], tmp_path)
    assert "word_accuracy" in trained.out + trained.err
    assert (tmp_path / "checkpoints" / "checkpoint_best.pt").is_file()
