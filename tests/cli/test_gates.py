"""Gates as text and page."""

import re
from typing import Any

import pytest
import torch
from refusals import refuses

from lev_plugins.cli import trace
from lev_plugins.reports.gates import Record, render_html, render_text


def record(source: str = "a b", target: str = "c", line: int = 1, **fields: Any) -> Record:
    """A record of all four gates; tokens are words unless they are given."""
    sources = [*fields.pop("source_tokens", source.split()), "</s>"]
    targets = [*fields.pop("target_tokens", target.split()), "</s>"]
    values: dict[str, Any] = {
        "mask": [0.1 * (i % 10) for i in range(len(sources))],
        "copy": [0.3] * len(targets),
        "generate": [0.5] * len(targets),
        "skip": [0.2] * len(targets),
        "log_probability": [-0.1] * len(targets),
    } | fields
    return Record(line, source, sources, target=target, target_tokens=targets, **values)


# text and page ----------------------------------------------------------------------------------


def test_each_token_stands_with_its_probability_and_gates_that_are_off_are_left_out():
    one = record("girl crickter", "girl", mask=[0.05, 0.97, 0.0], copy=[0.5, 0.25], skip=None)
    assert render_text(one).splitlines() == [
        "(line 1)        source » girl crickter",
        "                target » girl",
        "                mask   » girl 5  crickter 97  </s> 0",
        "                copy   » girl 50  </s> 25",
        "                generate » girl 50  </s> 50",
    ]
    page = render_html([one], "Gates")
    cells = re.findall(r'--p: ([0-9.]+)" title="\1"><b>(.*?)</b><i>(\d+)</i>', page)
    assert cells[:2] == [("0.0500", "girl", "5"), ("0.9700", "crickter", "97")]
    assert len(cells) == 3 + 2 * 2 and page.count('class="cell dark"') == 1


@pytest.mark.parametrize("flags", [("--max-iter", "3"), ("--markup",)])
def test_options_of_edit_models_are_refused(tmp_path, flags):
    path = tmp_path / "x.pt"
    torch.save({"cfg": {"model": {"_name": "gated_transformer_char"}}}, path)
    with refuses(flags[0], path):
        trace.main(["--path", str(path), *flags])
