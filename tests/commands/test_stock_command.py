"""A checkpoint that fairseq's own code has trained, in our commands."""

import json

FLAGS = "--gen-subset valid --print-step --required-batch-size-multiple 1 --batch-size 1"


def test_a_stock_checkpoint_gives_the_stock_commands_outputs(commands, stock, root):
    """One sentence a batch: stock's decoder fails where only some sentences change at first."""
    for settings in ("--iter-decode-max-iter 9", "--iter-decode-max-iter 0"):
        command = stock.generate(f"{FLAGS} {settings} --user-dir {root}/lev_plugins")
        theirs = commands(f"{command} --task translation_lev", stock.folder)
        ours = commands.done(stock.generate(f"{FLAGS} {settings} --stock-decoding"), stock.folder)
        assert theirs.code == 0, theirs.err
        assert ours.texts("H") == theirs.texts("H")
        assert ours.texts("I") == theirs.texts("I")
        for number, (score, _) in theirs.lines("H").items():
            assert abs(float(ours.lines("H")[number][0]) - float(score)) < 1e-3
        assert len(set(theirs.texts("H"))) > 4, "the outputs are too uniform to tell anything"


def test_a_stock_checkpoint_edits_drafts(commands, stock, triples, tmp_path):
    edited = commands.done(triples.generate("--gen-subset valid", stock.checkpoint), tmp_path)
    written = commands.done(stock.generate("--gen-subset valid"), tmp_path)
    drafts = triples.text("valid", "mt")
    assert len(edited.texts("H")) == 11 and edited.texts("H") != written.texts("H")
    assert edited.texts("H") != drafts
    # the same through a command that is given nothing but the checkpoint
    lines = [f"{s}\t{d}\n" for s, d in zip(triples.text("valid", "src"), drafts, strict=True)]
    traced = commands.ok(
        f"python -m lev_plugins trace --path {stock.checkpoint} --json",
        tmp_path,
        stdin="".join(lines),
    )
    assert [json.loads(line)["text"] for line in traced.out.splitlines()] == edited.texts("H")
