"""examples/at_scale: a worker's blocks are corrected as files of their own.

That blocks come back in order, also where a worker is killed, is Ray's, which no test installs.
"""

import runpy
import sys
from types import SimpleNamespace

from plain_files import ROOT

from lev_correct import Corrector

SCRIPT = ROOT / "examples/at_scale/at_scale.py"
ODD = ["na\udcefve teh \u2028 cat\r", "", "    teh code", "a teh b"]
LINES = [line for number in range(4) for line in (f"Teh goverment beleives {number}.", *ODD)]


def test_a_worker_writes_what_one_process_writes_of_each_block(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace())
    worker = runpy.run_path(str(SCRIPT), run_name="at_scale")["Worker"](None, False)
    corrector = Corrector.from_pretrained()
    for start in range(0, len(LINES), 3):
        lines = LINES[start : start + 3]
        end = "\n" * (start + 3 < len(LINES))
        block = ("\n".join(lines) + end).encode("utf-8", "surrogateescape")
        (written,) = worker({"block": [block]})["block"]
        corrected = corrector.correct(lines, document=corrector.document())
        text = "\n".join(correction.text for correction in corrected) + end
        assert written == text.encode("utf-8", "surrogateescape") != block
