"""examples/at_scale: several workers write what one process writes, also where one is killed."""

import os
import signal
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from lev_correct import Corrector

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "at_scale"
ODD = ["na\udcefve teh \u2028 cat\r", "", "    teh code", "a teh b"]
LINES = [line for number in range(9) for line in (f"Teh goverment beleives {number}.", *ODD)]


def test_workers_write_what_one_process_writes(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import at_scale

    class Killed(at_scale.Worker):
        """Is killed once, when it has corrected the block with a line."""

        def answers(self, lines: list[str]) -> list[Any]:
            done = list(super().answers(lines))
            if "Teh goverment beleives 4." in lines and not (tmp_path / "killed").exists():
                (tmp_path / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return done

    monkeypatch.setattr(at_scale, "LINES", 3)
    for module in (sys.modules[__name__], at_scale):
        ray.cloudpickle.register_pickle_by_value(module)
    text = "\n".join(LINES).encode("utf-8", "surrogateescape")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        written = b"".join(at_scale.answered(BytesIO(text), 2, None, False, kind=Killed))
    finally:
        ray.shutdown()
    corrector, lines = Corrector.from_pretrained(), []
    for start in range(0, len(LINES), 3):
        block = LINES[start : start + 3]
        lines += corrector.correct(block, document=corrector.document())
    corrected = "\n".join(correction.text for correction in lines)
    assert written == corrected.encode("utf-8", "surrogateescape")
    assert "government" in corrected and (tmp_path / "killed").exists()
