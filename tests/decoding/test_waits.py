"""On a device: how often decoding waits for it, what the host knows without asking it."""

from typing import Any

import pytest
import tiny
import torch
from fairseq import utils
from tables import cases

from lev_plugins.systems.levenshtein.generator import RefinementGenerator, RefinementOptions
from lev_runtime.text.markup import DROP, JOINED, KEEP
from tests.fake_gpu import module_to_gpu, present, to_gpu

pytestmark = pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
MOST_WAITS = 3
POINTER = {"source_pointer": True, "share_all_embeddings": True, "deletion_trace": True}


@pytest.mark.parametrize("models, options, marked", cases("decoding/cases.tsv", "waits"), ids=str)
def test_edits_are_the_cpus_and_an_iteration_waits_three_times_at_most(models, options, marked):
    task = tiny.task(joined=True)
    nets = [
        tiny.sharpen(tiny.model(task, seed, **values)).eval()
        for seed, values in enumerate(models, start=3)
    ]
    batch = tiny.batch(task, tiny.triples(12))
    if marked:
        inner = batch["draft"].gt(task.target_dictionary.eos())
        bits = torch.tensor([0, KEEP, DROP, DROP | JOINED])
        batch["marks"] = bits[torch.arange(inner.size(1)) % 4] * inner

    def edits(sample: Any, iterations: int) -> list[Any]:
        values = {"adaptive": False, "max_len_b": 20, "max_iter": iterations, **options}
        how = RefinementOptions(**values)
        generator = RefinementGenerator(task.target_dictionary, task.placeholder, how)
        hypotheses = sum(generator.generate(nets, sample), [])
        return [(each["tokens"].tolist(), each["terminated"]) for each in hypotheses]

    host, waits = edits(batch, 4), []
    for net in nets:
        module_to_gpu(net)
    with present() as counted:
        sample = utils.apply_to_sample(to_gpu, batch)
        for iterations in (2, 4):
            counted.clear()
            device = edits(sample, iterations)
            waits.append(counted.total())
    assert device == host
    assert 2 <= waits[1] - waits[0] <= 2 * MOST_WAITS, counted
