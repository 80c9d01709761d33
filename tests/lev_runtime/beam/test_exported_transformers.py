"""Exported Transformers search as fairseq's generator does."""

import functools
import random
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import saved
import tiny
import torch
from fairseq import options, tasks
from fairseq.sequence_generator import SequenceGenerator
from refusals import refuses
from tables import rows

from lev_plugins.cli import export
from lev_plugins.export.folder import generator_writer, write_folder
from lev_plugins.inference.generation import GeneratingParts
from lev_plugins.inference.text_processing import TextProcessing
from lev_runtime import Generator, folder, load

SMALL = (
    "--encoder-embed-dim 32 --encoder-ffn-embed-dim 48 --encoder-attention-heads 4 "
    "--encoder-layers 2 --decoder-layers 2 --dropout 0 --max-source-positions 64 "
    "--max-target-positions 64 --optimizer adam --source-lang a --target-lang b --task"
)
DECODER = "--decoder-embed-dim 32 --decoder-ffn-embed-dim 48 --decoder-attention-heads 4"
STOCK = f"{SMALL} translation {DECODER} --arch transformer"
JOINED = "--share-all-embeddings"
PRE_NORM = f"{STOCK} --encoder-normalize-before --decoder-normalize-before"
PBD = f"{SMALL} translation --arch pbd_transformer"
APART = "--no-parameter-sharing --no-future-modelling --decoder-layers 1"
#: with less, layers have too few weights for 8 bits
WIDE = "--encoder-embed-dim 128 --encoder-ffn-embed-dim 160"
#: one of each kind of positions, norms and embeddings; those with JOINED have one dictionary
ARCHITECTURES = {
    "normed, unscaled embeddings": f"{STOCK} --layernorm-embedding --no-scale-embedding "
    f"--encoder-learned-pos --decoder-learned-pos {JOINED}",
    "layers that training drops": f"{STOCK} --encoder-layerdrop 0.5 --decoder-layerdrop 0.5",
    "no positions": f"{STOCK} --no-token-positional-embeddings",
    "narrow decoder": f"{STOCK} --decoder-embed-dim 16 --decoder-attention-heads 2 "
    "--encoder-normalize-before",
    "noise, a wide output": f"{STOCK} --quant-noise-pq 0.1 --decoder-output-dim 24 "
    "--activation-fn linear",
    "transformer_concat": f"{SMALL} translation_concat {DECODER} {JOINED} "
    "--arch transformer_concat",
    "pbd_transformer": f"{PBD} --encoder-normalize-before --rotary-positions",
    "pbd_transformer, outputs": f"{PBD} --copied-states output --no-segment-embedding",
    "pbd_transformer, apart": f"{PBD} {APART}",
    "gated_transformer": f"{SMALL} translation --arch gated_transformer --gates all "
    f"--encoder-normalize-before --copy-bias 0 {JOINED}",
}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beam": 1},
    "beam 5": {"beam": 5},
    "penalties": {"beam": 4, "lenpen": 0.6, "unkpen": 1.5, "min_len": 4, "max_len_b": 12},
    "draft-guided": {"beam": 1, "draft_guided": True},
}
#: of options in ``SequenceGenerator``
NAMES = {"beam": "beam_size", "lenpen": "len_penalty", "unkpen": "unk_penalty"}
LIMITS = {"max_len_a": 1.25, "max_len_b": 6}
SYMBOLS = [f"w{number}" for number in range(60)]
DRAW = random.Random(1)
#: sources and drafts of one length, with unknown words
ROWS = [
    [" ".join(DRAW.choices([*SYMBOLS, "unknown"], k=length)) for _ in range(2)]
    for length in range(1, 17, 2)
]


class Both(NamedTuple):
    """A model of fairseq's and its export."""

    parts: GeneratingParts
    exported: Generator


def build(flags: str, folder: Path, int8: bool = False) -> Both:
    """An untrained model with these options."""
    cfg = saved.configuration([str(folder), *flags.split()])
    source = target = tiny.dictionary(SYMBOLS)
    if JOINED not in flags and "pbd" not in flags:
        target = tiny.dictionary(SYMBOLS[:50:-1] + SYMBOLS[:40])
    task = tasks.TASK_REGISTRY[cfg.task._name](cfg.task, source, target)
    model = saved.untrained(cfg, task)  # as a training has it: layers would be dropped
    parts = GeneratingParts(model, task, cfg, TextProcessing(None, None), True)
    write_folder(folder / "exported", generator_writer(parts, {}), int8)
    return Both(parts, Generator(folder / "exported", threads=1))


@torch.no_grad()
def by_fairseq(both: Both, row: list[str], **search: Any) -> list[tuple[str, float]]:
    """Texts and scores of an n-best list."""
    model, task, *_ = both.parts
    symbols, flags = (
        task.target_dictionary,
        {NAMES.get(name, name): search[name] for name in search},
    )
    encode = functools.partial(task.source_dictionary.encode_line, add_if_not_exist=False)
    sides = tuple(encode(side).long() for side in row)
    item = sides if both.exported.joins_draft else sides[0]
    data = task.build_dataset_for_inference([item], [len(item)])
    generator = SequenceGenerator([model], symbols, **flags)
    (nbest,) = generator.generate([model], data.collater([data[0]]))
    return [(symbols.string(best["tokens"]), float(best["score"])) for best in nbest]


@pytest.fixture(scope="module", params=["transformer_concat", "pbd_transformer"])
def both(request, tmp_path_factory) -> Both:
    return build(ARCHITECTURES[request.param], tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_texts_and_scores_are_fairseqs(name, tmp_path):
    check_nbest_lists(build(ARCHITECTURES[name], tmp_path), "greedy")


@pytest.mark.parametrize("search", SEARCHES)
def test_nbest_lists_and_scores_are_fairseqs(both, search):
    check_nbest_lists(both, search)


def check_nbest_lists(both: Both, search: str) -> None:
    asked = SEARCHES[search]
    plain = {name: asked[name] for name in asked if name != "draft_guided"}
    wanted = [by_fairseq(both, row, **{**LIMITS, **plain}) for row in ROWS]
    drafts = [None] * len(ROWS)
    if both.exported.joins_draft:
        drafts = [draft for _, draft in ROWS]
    elif "draft_guided" in asked:
        drafts = [f"{SYMBOLS[1]} {best[0][0]}" for best in wanted]
    read = [(source, draft) for (source, _), draft in zip(ROWS, drafts)]
    lists = both.exported.stream_nbest(read, asked["beam"], **{**LIMITS, **asked})
    for ours, theirs in zip(lists, wanted, strict=True):
        (texts, scores), (expected, likelihoods) = zip(*ours), zip(*theirs)
        assert texts == expected
        assert scores == pytest.approx(likelihoods, abs=1e-5)


@pytest.mark.parametrize("flags", [f"{PRE_NORM} --decoder-embed-dim 128", PBD, f"{PBD} {APART}"])
def test_int8_writes_the_same_in_every_batch(flags, tmp_path, monkeypatch):
    """Products are computed as a CPU without VNNI has to, which shared weights have failed at."""
    monkeypatch.setattr(folder, "overflows", lambda: True)
    both = build(f"{flags} {WIDE}", tmp_path, int8=True)
    sources = [source for source, _ in ROWS]
    alone, together = (both.exported.generate(sources, batch_size=size) for size in (1, 8))
    assert [best.text for best in alone] == [best.text for best in together]
    assert len({best.text for best in alone}) > 2


def test_a_right_draft_is_read_in_a_fraction_of_the_passes(tmp_path, monkeypatch):
    """It may be longer than a source: the model does not read it."""
    exported, source = build(PBD, tmp_path).exported, ROWS[-1][0]
    search = {"beam": 1, "min_len": 20}
    (greedy,) = exported.generate([source], **search)
    passes = []
    run = exported.run
    monkeypatch.setattr(exported, "run", lambda *inputs: passes.append(1) or run(*inputs))
    (guided,) = exported.generate([(source, greedy.text)], draft_guided=True, **search)
    assert guided.text == greedy.text
    assert guided.score == pytest.approx(greedy.score, abs=1e-5)
    assert 4 * len(passes) < len(greedy.text.split())
    longer = [(source, " ".join(SYMBOLS * 3))]
    assert exported.generate(longer, draft_guided=True, **search)[0].text == greedy.text
    with refuses("source 1"):
        exported.generate([" ".join(SYMBOLS * 3)], **search)


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
        outputs.append(load(tmp_path / name, threads=1).generate(["a b", "d"], min_len=3))
    assert outputs[0] == outputs[1]
    assert len(outputs[0][0].text.split()) > 2, "letters are words, as fairseq-generate has them"


REFUSED = rows(f"""
{STOCK} --no-cross-attention | --no-cross-attention
{STOCK} --adaptive-softmax-cutoff 6 --criterion adaptive_loss | --adaptive-softmax-cutoff
{SMALL} translation --arch gated_transformer --gate-variant paper | --gate-variant paper
""")


@pytest.mark.parametrize("flags, named", REFUSED)
def test_what_cannot_be_exported_is_refused_by_its_option(flags, named, tmp_path):
    with refuses(f"with {named} "):
        build(flags, tmp_path)


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
        both.exported.sessions.pop("block_reader", None)
        with refuses("lev-export"):
            both.exported.generate(["w1"], beam=1, draft_guided=True)
    finally:
        description["block_reader"] = reader
