"""lev-serve as a process: it prints its address, answers, and ends when it is told to."""

import json
import os
import signal
import threading
import time
import urllib.request
from pathlib import Path

import pytest

fastapi = pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
ROOT = Path(__file__).resolve().parents[2]
# wherever pip put it
PLACES = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(fastapi.__file__).parents[1])])}


def post(address: str, path: str, body: object) -> dict:
    url = address.replace("/?", f"/{path}?")
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def started(commands, checkpoint: Path, folder: Path):
    run = commands.start(
        f"python -m lev_plugins serve --path {checkpoint} --port 0", folder, environ=PLACES
    )
    out = run[1][1]
    deadline = time.monotonic() + 120
    while not out.read_text().endswith("\n"):
        said = run[1][2].read_text()
        assert time.monotonic() < deadline and not said, said
        time.sleep(0.02)
    return run, out.read_text().strip()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_it_serves_a_checkpoint_until_a_signal_and_answers_what_is_under_way(
    commands, triples, tmp_path, name
):
    run, address = started(commands, triples.checkpoint, tmp_path)
    line = {"source": "a b", "draft": "A . xyz B ! ."}
    line["marks"] = [{"start": 4, "end": 7, "kind": "keep"}]
    (result,) = post(address, "edit", {"sentences": [line]})["results"]
    assert "xyz" in result["hypotheses"][0]["text"].split()
    many: list[dict] = []
    body = {"sentences": [line] * 200, "nbest": 16}
    last = threading.Thread(target=lambda: many.append(post(address, "edit", body)))
    last.start()
    time.sleep(0.2)
    assert last.is_alive(), "it was too quick to be seen"
    os.kill(run[0], getattr(signal, name))
    done = commands.finish(run)
    last.join(120)
    assert done.code == 0 and done.err == "", done.err
    assert len(many[0]["results"]) == 200


def test_what_is_no_checkpoint_is_one_line(commands, tmp_path):
    (tmp_path / "no.pt").write_text("nothing")
    words = "python -m lev_plugins serve --path no.pt --port 0"
    done = commands(words, tmp_path, environ=PLACES)
    assert done.code == 1 and done.out == "" and "no.pt" in done.error
