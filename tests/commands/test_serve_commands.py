"""lev-serve as a process: it prints its address, answers, and ends when it is told to."""

import json
import os
import signal
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from conftest import ROOT

fastapi = pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
# wherever pip put it
PLACES = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(fastapi.__file__).parents[1])])}


def asked(address: str, path: str, body: object = None) -> dict:
    url, headers = address.replace("/?", f"/{path}?"), {"Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as answer:
        return json.load(answer)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_it_serves_a_checkpoint_until_a_signal_and_answers_what_is_under_way(
    commands, triples, tmp_path, name
):
    command = f"python -m lev_plugins serve --path {triples.checkpoint} --port 0"
    run = pid, (_, out, err) = commands.start(command, tmp_path, environ=PLACES)
    deadline = time.monotonic() + 120
    while not (address := out.read_text().partition("\n")[0]):
        assert time.monotonic() < deadline and not err.read_text(), err.read_text()
        time.sleep(0.02)
    assert asked(address, "info")["model"] == triples.checkpoint.name
    many: list[dict] = []
    body = {"sentences": [{"source": "a b", "draft": "A . xyz B ! ."}] * 200, "nbest": 16}
    last = threading.Thread(target=lambda: many.append(asked(address, "edit", body)))
    last.start()
    time.sleep(0.2)
    assert last.is_alive(), "it was too quick to be seen"
    os.kill(pid, getattr(signal, name))
    done = commands.finish(run)
    last.join(120)
    assert done.code == 0 and done.err == "", done.err
    assert len(many[0]["results"]) == 200
