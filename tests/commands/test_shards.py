"""fairseq-generate --num-shards: disjoint parts, together all lines; or one line of error."""

import pytest

PARTS = "--gen-subset test --iter-decode-max-iter 2 --beam 1 --batch-size 2"


def decoded(commands, corpus, task, more, cwd):
    result = commands.plugin(corpus.generate(f"{PARTS} {more}"), cwd, task=task)
    assert result.code == 0, result.err
    return result.lines("H")


@pytest.mark.parametrize(
    ("name", "task"), [("triples", "translation_edit"), ("stock", "translation_lev")]
)
def test_shards_are_disjoint_and_together_all_lines(commands, request, tmp_path, name, task):
    corpus = request.getfixturevalue(name)
    whole = decoded(commands, corpus, task, "", tmp_path)
    parts = [
        decoded(commands, corpus, task, f"--num-shards 2 --shard-id {number}", tmp_path)
        for number in range(2)
    ]
    assert sorted(len(part) for part in parts) == [5, 6], "six batches of two sentences at most"
    assert {number: line for part in parts for number, line in part.items()} == whole


def test_a_shard_without_a_batch_decodes_nothing(commands, triples, tmp_path):
    shard = "--num-shards 7 --shard-id 6"
    assert not decoded(commands, triples, "translation_edit", shard, tmp_path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("generate --shard-id 2", "--shard-id 2: with --num-shards 2 shards go from 0 to 1"),
        ("interactive", "fairseq-interactive knows no shards and would use all lines; leave"),
    ],
)
def test_shards_that_are_not_there_are_refused(commands, triples, tmp_path, command, said):
    name, _, more = command.partition(" ")
    words = getattr(triples, name)(f"--num-shards 2 {more}")
    assert said in commands.plugin(words, tmp_path).error
