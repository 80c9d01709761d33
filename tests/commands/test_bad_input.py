"""A user's mistake ends a command with one line that names it and the way out."""


def test_an_interactive_draft_above_the_limit_is_named_by_its_line(commands, triples, tmp_path):
    lines = f"a\nb\nc\na b\t{'A ' * 1100}\n"
    for buffer in (1, 3):
        command = triples.interactive(f"--buffer-size {buffer}")
        error = commands.plugin(command, tmp_path, stdin=lines).error
        assert "line 4 " in error and "1102" in error and "1024/1024" in error
    flags = "--skip-invalid-size-inputs-valid-test"
    result = commands.done(triples.interactive(flags), triples.folder, stdin=f"{lines}d\n")
    assert list(result.lines("H")) == [0, 1, 2, 4]


def test_data_without_the_drafts_of_the_training_are_noted_once(commands, triples):
    bare = triples.generate("").replace(" --draft-lang mt", "")
    result = commands.done(bare, triples.folder)
    assert result.err.count("note:") == 1 and "--draft-lang mt" in result.err
