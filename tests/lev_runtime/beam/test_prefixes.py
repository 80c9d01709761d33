"""The runtime reads prefixes as a PBD of torch does."""

import numpy as np
import pytest
import tiny
import torch
from exported import APART, SIZES, Bare, Pad

from lev_plugins.export import pbd
from lev_plugins.export.graph import WeightFile
from lev_plugins.inference import correcting
from lev_plugins.systems.pbd import PBDTransformerConfig, PBDTransformerModel
from lev_plugins.systems.pbd.model import build

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
