"""lev-serve as a process: it prints its address, answers, and ends when it is told to."""

import json
import os
import signal
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import ROOT

fastapi = pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
measures = pytest.importorskip("prometheus_client")
# wherever pip put them
PARENTS = [str(Path(module.__file__).parents[1]) for module in (fastapi, measures)]
PLACES = {"PYTHONPATH": os.pathsep.join([str(ROOT), *PARENTS])}


def asked(address: str, path: str, body: object = None) -> dict:
    url, headers = address.replace("/?", f"/{path}?"), {"Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=120) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    "name, token", [("SIGINT", {}), ("SIGTERM", {"LEV_SERVE_TOKEN": "one-that-is-my-own"})]
)
def test_it_serves_a_checkpoint_until_a_signal_and_answers_what_is_under_way(
    commands, triples, tmp_path, name, token
):
    command = f"python -m lev_plugins serve --path {triples.checkpoint} --port 0 --example x"
    run = pid, (_, out, err) = commands.start(command, tmp_path, environ={**PLACES, **token})
    while not (address := out.read_text().partition("\n")[0]):
        assert not err.read_text(), err.read_text()
        time.sleep(0.02)
    info = asked(address, "info")
    assert (info["model"], info["example"]) == (triples.checkpoint.name, "x")
    body = {"sentences": [{"source": "a b", "draft": "A . xyz B ! ."}] * 200, "nbest": 16}
    with ThreadPoolExecutor() as pool:
        last = pool.submit(asked, address, "edit", body)
        time.sleep(0.2)
        assert last.running(), "it was too quick to be seen"
        os.kill(pid, getattr(signal, name))
        done = commands.finish(run)
        assert (done.code, done.err) == (0, "")
        assert len(last.result(120)["results"]) == 200
