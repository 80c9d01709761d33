"""The runtime reads prefixes as a PBD of torch does."""

from typing import Any

import numpy as np
import pytest
import tiny
import torch
from exported import APART, SIZES, Bare, Pad

from lev_correct.packaged import ENGLISH_SPELLING
from lev_correct.propose.loading import load_backend
from lev_plugins.export import pbd
from lev_plugins.export.folder import export
from lev_plugins.export.graph import WeightFile
from lev_plugins.inference import correcting
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.pbd.model import build
from lev_runtime.beam.prefixes import PrefixModel
from lev_runtime.beam.search import Beam, search

CONFIGURATIONS = {
    "shared": {},
    "pre_norm": {"encoder_normalize_before": True},
    "rotary": {"rotary_positions": True},
    "outputs": {"copied_states": "output", "no_segment_embedding": True},
    "apart": APART,
}
SOURCES = [[4, 5, 6, 7, 2], [8, 2], [9, 4, 4, 2]]
CLOSE = 1e-4


@torch.no_grad()
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_prefixes_are_read_as_by_torch(name, tmp_path):
    symbols = tiny.dictionary()
    torch.manual_seed(2)
    cfg = PBDTransformerConfig(**SIZES, **CONFIGURATIONS[name])
    model = PBDTransformerModel(*build(cfg, symbols, symbols)).eval()
    graphs = pbd.write_graphs(model, tmp_path, WeightFile(tmp_path), int8=False)
    theirs = Bare(tmp_path, graphs, Pad()).prefixes(SOURCES)
    tokens = tiny.stack([torch.tensor(row) for row in SOURCES], symbols.pad())
    lengths = torch.tensor([*map(len, SOURCES)])
    inputs = {"src_tokens": tokens, "src_lengths": lengths}
    ours = correcting.Prefixes(model, inputs)
    rng, units, parents = np.random.default_rng(1), np.arange(3), np.arange(3)
    written = np.full(3, symbols.eos())
    for _ in range(4):
        logs = [side.read(units, parents, written) for side in (ours, theirs)]
        assert logs[1] == pytest.approx(logs[0], abs=CLOSE)
        parents = np.sort(rng.integers(0, len(units), 5))
        units, written = units[parents], rng.integers(4, len(symbols), 5)


def test_the_packaged_model_finds_the_same_texts_exported(tmp_path):
    export(str(ENGLISH_SPELLING), str(tmp_path / "model"))
    theirs = PrefixModel(tmp_path / "model", threads=1)
    dictionary = theirs.target
    eos, pad = dictionary.eos, dictionary.pad
    units = ["goverment", "teh", "beleives"]

    def numbers(word: str) -> list[int]:
        return [dictionary.index[letter] for letter in word]

    def found(prefixes: Any) -> list[Any]:
        beam = Beam(5, np.full(len(units), 20), eos)
        search(prefixes, len(units), [beam], eos, pad)
        return [beam.best(unit) for unit in range(len(units))]

    sources = [[*numbers(word), eos] for word in units]
    own = found(theirs.prefixes(sources))
    backend: Any = load_backend(str(ENGLISH_SPELLING / "model.pt"))
    tokens = tiny.stack([torch.tensor(source) for source in sources], pad, left=True)
    inputs = {"src_tokens": tokens, "src_lengths": torch.tensor([*map(len, sources)])}
    for wanted, other in zip(found(correcting.Prefixes(backend.model, inputs)), own, strict=True):
        assert [text for text, _ in wanted] == [text for text, _ in other]
        logs = [[log for _, log in side] for side in (wanted, other)]
        assert logs[1] == pytest.approx(logs[0], abs=CLOSE)
    assert own[0][0][0] == "".join(map(chr, numbers("government")))
    assert theirs.codec.encode("a b") == "a \u2581 b"
