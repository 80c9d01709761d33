"""A user's mistake ends a command with one line that names it and the way out."""

import json

import pytest

SHORT = "--max-update 1 --disable-validation --save-dir refused"


@pytest.fixture
def refused(commands, tmp_path):
    """Runs a fairseq command that has to fail, and leave nothing behind; gives its error line."""

    def run(command, stdin=b""):
        error = commands.plugin(command, tmp_path, stdin=stdin).error
        assert not list((tmp_path / "refused").glob("*")), "something was written"
        return error

    return run


def test_a_checkpoint_of_another_task(refused, triples, transformer):
    error = refused(triples.generate("", transformer))
    assert "the kind transformer," in error and "another task" in error
    assert "--task translation)" in error and "--task translation_edit" in error


def test_another_dictionary(refused, triples, pairs):
    error = refused(pairs.generate("", triples.checkpoint))
    assert "another source dictionary (symbol 4 is '.' there and" in error
    assert str(pairs.data) in error and "--srcdict" in error
    error = refused(pairs.train(f"{SHORT} --finetune-from-model {triples.checkpoint}"))
    assert "dictionary" in error and "was trained with" in error


@pytest.mark.parametrize("buffer", [1, 2, 100])
def test_an_interactive_line_with_two_tabs(refused, triples, buffer):
    lines = b"a b\na b\tA .\na\tb\tc\nd\n"
    error = refused(triples.interactive(f"--buffer-size {buffer}"), lines)
    assert error == "input line 3 has 2 tabs; write source, or source<TAB>draft"


def test_a_sentence_above_the_limit_is_named_and_may_be_skipped(refused, commands, triples):
    lines = triples.text("test", "src")
    long = [n for n, line in enumerate(lines, start=1) if len(line.split()) > 4]
    assert long and len(long) < 11
    error = refused(triples.generate("--max-source-positions 6"))
    assert error.startswith(f"line {long[0]} has 7/") and "where the limit is 6/1024" in error
    assert f"{len(long)} such lines: {', '.join(map(str, long))};" in error
    skip = "--skip-invalid-size-inputs-valid-test --max-source-positions 6"
    result = commands.done(triples.generate(skip), triples.folder)
    assert f"skipped: {', '.join(map(str, long))}" in result.out + result.err
    assert sorted(result.lines("H")) == [n for n in range(11) if n + 1 not in long]


def test_an_interactive_draft_above_the_limit_is_named_by_its_line(refused, commands, triples):
    lines = f"a\nb\nc\na b\t{'A ' * 1100}\n"
    for buffer in (1, 3):
        error = refused(triples.interactive(f"--buffer-size {buffer}"), lines)
        assert error.startswith("line 4 has 4/0/1102 tokens") and "1024/1024" in error
    flags = "--skip-invalid-size-inputs-valid-test"
    result = commands.done(triples.interactive(flags), triples.folder, stdin=f"{lines}d\n")
    assert list(result.lines("H")) == [0, 1, 2, 4]


def test_what_a_checkpoint_was_trained_with_and_a_command_lacks_is_noted_once(commands, triples):
    bare = triples.generate("").replace(" --draft-lang mt", "")
    result = commands.done(bare, triples.folder)
    assert result.err.count("note: test is read without drafts") == result.err.count("note:") == 1
    lines = "a b\tA .\na\nb\nzz zz zz zz zz zz\nb\n"
    result = commands.done(triples.interactive(), triples.folder, stdin=lines)
    notes = [line for line in result.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2 and notes[0].startswith("note: line 2 has no draft, and the model was")
    assert notes[1].startswith("note: 60.0% of the first 10 source tokens are not in the dict")


@pytest.mark.parametrize(
    ("command", "option", "said"),
    [
        ("train", f"{SHORT} --early-exit 9,9", "--early-exit 9,9 is deeper than the decoder"),
        ("train", f"{SHORT} --train-subset nosuch", "has no nosuch data for src-tgt"),
        ("generate", "--gen-subset nosuch", "has no nosuch data for src-tgt"),
        ("generate", "--retain-dropout", "--retain-dropout is not supported by edit models"),
        ("generate", "--model-overrides {'a':", "--model-overrides or --optimizer-overrides is no"),
        ("generate", "--path none.pt", "checkpoint none.pt cannot be used"),
    ],
)
def test_options_that_cannot_be(refused, triples, command, option, said):
    assert said in refused(getattr(triples, command)(option))


def test_a_folder_in_the_place_of_a_checkpoint(refused, triples):
    folder = triples.checkpoint.parent
    assert str(folder) in refused(triples.generate("", folder))
    assert f"--restore-file {folder}" in refused(triples.train(f"{SHORT} --restore-file {folder}"))


@pytest.mark.parametrize(
    ("without", "option"),
    [("", "--lr-scheduler inverse_sqrt --warmup-updates 4"), ("--share-all-embeddings", "")],
)
def test_resuming_with_options_that_the_optimizer_does_not_fit(refused, triples, without, option):
    train = triples.train(f"{SHORT} --restore-file {triples.checkpoint} {option}")
    assert f"checkpoint {triples.checkpoint} cannot be used" in refused(train.replace(without, ""))


def test_training_lines_above_the_limit_are_listed(commands, triples, tmp_path):
    flags = "--max-update 1 --disable-validation --max-source-positions 6 --save-dir short"
    result = commands.done(triples.train(flags), tmp_path)
    (line,) = [line for line in result.out.splitlines() if "are skipped" in line]
    long = [n for n, x in enumerate(triples.text("train", "src"), 1) if len(x.split()) > 4]
    assert f"{len(long)} lines above the limit of 6/1024 tokens are skipped: " in line
    listed = line.partition("skipped: ")[2].removesuffix(" …").split(", ")
    assert json.loads(f"[{','.join(listed)}]") == long[:20]
