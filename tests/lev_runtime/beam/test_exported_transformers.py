"""Exported Transformers search as fairseq does; benchmarks/exported_search.py has them all."""

import sys

import pytest
import saved
import tiny
import torch
from fairseq import options
from refusals import refuses
from test_docs import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import exported_search  # noqa: E402

from lev_plugins.cli import export  # noqa: E402
from lev_runtime import load  # noqa: E402

ROWS = exported_search.sentences(8)
#: one of each kind of positions, norms and embeddings
NAMES = [
    "normed, unscaled embeddings",
    "no positions",
    "narrow decoder",
    "transformer_concat",
    "pbd_transformer, rotary, pre-norm",
    "gated_transformer, all gates, pre-norm",
]


@pytest.fixture(scope="module", params=NAMES)
def both(request, tmp_path_factory) -> exported_search.Both:
    return exported_search.build(request.param, tmp_path_factory.mktemp("model"), updates=20)


@pytest.mark.parametrize("search", exported_search.SEARCHES)
def test_nbest_lists_and_scores_are_fairseqs(both, search):
    equal, difference = exported_search.compare(both, ROWS, exported_search.SEARCHES[search])
    assert equal == len(ROWS)
    assert difference < 1e-5


def test_int8_writes_the_same_in_every_batch(tmp_path):
    both = exported_search.build("pre-norm", tmp_path, updates=20, int8=True)
    sources = [source for source, _ in ROWS]
    alone, together = (both.exported.generate(sources, batch_size=size) for size in (1, 8))
    assert [best.text for best in alone] == [best.text for best in together]
    assert len({best.text for best in alone}) > 2


def test_a_right_draft_is_read_in_a_fraction_of_the_passes(tmp_path, monkeypatch):
    both = exported_search.build("pbd_transformer", tmp_path, updates=20)
    exported, source = both.exported, ROWS[-1][0]
    search = {"beam": 1, "min_len": 20}
    (greedy,) = exported.generate([source], **search)
    passes = []
    run = exported.run
    monkeypatch.setattr(exported, "run", lambda *inputs: passes.append(1) or run(*inputs))
    (guided,) = exported.generate([(source, greedy.text)], draft_guided=True, **search)
    assert guided.text == greedy.text
    assert guided.score == pytest.approx(greedy.score, abs=1e-5)
    assert 4 * len(passes) < len(greedy.text.split())


def test_a_checkpoint_of_old_fairseq_is_exported(tmp_path):
    """It has ``args`` in the place of a configuration, carries no symbols, and calls its output
    layer otherwise."""
    data = tiny.dictionaries(tmp_path / "data", "abcd")
    new = saved.save(tmp_path / "new.pt", data, "stock")
    state = torch.load(new, weights_only=True)
    words = f"{data} {saved.KINDS['stock']} {saved.SIZES} --source-lang src --target-lang tgt"
    parser = options.get_training_parser()
    state["args"] = options.parse_args_and_arch(parser, words.split())
    state["model"]["decoder.embed_out"] = state["model"].pop("decoder.output_projection.weight")
    del state["cfg"], state["task_state"]
    torch.save(state, tmp_path / "old.pt")
    outputs = []
    for name in ("new", "old"):
        export.main([f"{tmp_path}/{name}.pt", f"{tmp_path}/{name}", "--data", str(data)])
        outputs.append(load(tmp_path / name, threads=1).generate(["a b", "d"]))
    assert outputs[0] == outputs[1]


def test_what_does_not_go_together_is_refused(both):
    with refuses("draft_guided", "beam"):
        both.exported.generate(["w1"], draft_guided=True)
    with refuses("min_len=9"):
        both.exported.generate(["w1"], min_len=9, max_len_b=4)
    with refuses("source 1"):
        both.exported.generate([("w1", "w2", "w3")])


def test_an_older_export_reads_no_draft(both):
    description = both.exported.folder.description["graphs"]
    reader = description.pop("block_reader")
    try:
        both.exported.__dict__.pop("block_reader", None)
        with refuses("lev-export"):
            both.exported.generate(["w1"], beam=1, draft_guided=True)
    finally:
        description["block_reader"] = reader
