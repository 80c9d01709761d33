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


def test_options_that_nothing_reads_end_a_command_and_shards_are_within_their_number(
    commands, triples, tmp_path
):
    for flags, named in (
        ("--temperature 2", "--temperature"),
        ("--sacrebleu", "--scoring sacrebleu"),
        ("--min-len 3", "--min-len"),
        ("--lenpen 2", "--iter-decode-with-external-reranker"),
        ("--num-shards 2 --shard-id 2", "--shard-id 2"),
        ("--num-shards 99", "--num-shards 99"),
        ("--num-shards 2 --results-path results", "--results-path"),
    ):
        assert named in commands.plugin(triples.generate(flags), tmp_path).error
    assert (
        "--prefix-size" in commands.plugin(triples.interactive("--prefix-size 2"), tmp_path).error
    )
    assert not [*tmp_path.iterdir()]


def test_a_checkpoint_that_does_not_fit_is_told_by_the_options_that_differ(
    commands, triples, tmp_path
):
    small = "--encoder-embed-dim 16 --decoder-embed-dim 16"
    starts = f"--restore-file {triples.checkpoint}", f"--finetune-from-model {triples.checkpoint}"
    for flags, *named in (
        (small, "--encoder-embed-dim is 32 there and 16 here", "--decoder-embed-dim"),
        ("--decoder-layers 2", "--decoder-layers is 1 there and 2 here"),
        ("--max-insertions 7", "--max-insertions is 15 there and 7 here"),
    ):
        for start in starts:
            command = triples.train(f"{start} {flags} --max-update 1 --save-dir {tmp_path}/new")
            error = commands.plugin(command, tmp_path).error
            assert all(name in error for name in (*named, str(triples.checkpoint))), error
            assert "--dropout" not in error and "size mismatch" not in error
    overrides = ["--model-overrides", "{'encoder_ffn_embed_dim': 8}"]
    error = commands.plugin([*triples.generate("").split(), *overrides], tmp_path).error
    assert overrides[1] in error and "size mismatch" not in error
