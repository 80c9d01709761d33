"""Many sentences through one process: the script that measures it, and what it has to find."""

import re

import pytest
from test_benchmarks import script, scripts  # noqa: F401

ROW = re.compile(
    r"^(\w+) +(\w+) +(\d+) +([\d.]+) +([\d.]+) +(-?[\d.]+) +(\d+|inf) +(\d+|inf)  (yes|no)$", re.M
)
GROWTH = 7.0  # MiB; half a kibibyte a sentence that is never given back is more, in 15,000


load = script("load")


def test_an_interface_is_measured_and_the_table_says_how_it_went(load, capsys):
    words = "--sentences 400 --updates 2 --system levenshtein --interface python"
    assert load.main(words.split()) == 0
    (row,) = ROW.findall(capsys.readouterr().out)
    assert row[:3] == ("levenshtein", "python", "400") and row[-1] == "yes"
    early, late, growth = map(float, row[3:6])
    assert early > 50 and growth <= late - early + 0.2


@pytest.mark.long
def test_memory_is_flat_the_pace_steady_and_the_order_kept(load, capsys, monkeypatch):
    # oneDNN keeps a kernel for each of the last thousand shapes: a bound that this never reaches
    monkeypatch.setenv("LEV_PLUGINS_ONEDNN", "0")
    words = "--sentences 15000 --updates 50 --system levenshtein,gated,enct5 --clock cpu"
    assert load.main(words.split()) == 0
    rows = ROW.findall(capsys.readouterr().out)
    assert len(rows) == 10
    for _, interface, *_, growth, second, last, order in rows:
        assert order == "yes" and float(growth) < GROWTH
        # answers of correct and predict come by buffers of lines: their tenths are too coarse
        assert interface not in ("generate", "interactive") or float(last) > 0.5 * float(second)
