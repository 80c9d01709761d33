"""Options of decoding that cannot be."""

import pytest
from refusals import refuses

from lev_runtime.refine.options import RefinementOptions


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"noise_scale": -1.0}, "noise_scale=-1.0"),
        ({"empty_penalty": "1"}, "empty_penalty='1'"),
        ({"nbest": 3, "candidates": 2}, "candidates=3 or more"),
    ],
)
def test_options_out_of_range_are_refused_in_one_line(values, named):
    with refuses(named):
        RefinementOptions(**values)
