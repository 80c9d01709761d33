"""Servers as tests start and ask them."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

for needed in ("fastapi", "prometheus_client", "uvicorn"):
    pytest.importorskip(needed)
import uvicorn  # noqa: E402
from starlette.testclient import TestClient  # noqa: E402

from lev_correct import Edit  # noqa: E402
from lev_correct.lines import apply_edits  # noqa: E402
from lev_runtime.errors import UserError  # noqa: E402
from lev_serve import cli  # noqa: E402
from lev_serve.app import HttpProtocol, make_app  # noqa: E402
from lev_serve.model import ServedModel  # noqa: E402

TOKEN = "right-token"


@contextmanager
def serving(application, port=0):
    """Yields the port at which an application answers."""
    config = uvicorn.Config(application, http=HttpProtocol, ws="none", log_level="error")
    server = uvicorn.Server(config)
    with cli.listen("127.0.0.1", port) as listening, ThreadPoolExecutor(1) as pool:
        pool.submit(server.run, [listening])
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True


def client(model, **limits):
    http = TestClient(make_app(model, TOKEN, **limits), raise_server_exceptions=False)
    http.headers.update({"Authorization": f"Bearer {TOKEN}"})
    return http


def echo(asked, rows):
    if "bad" in rows:
        raise RuntimeError("secret details")
    if "wrong" in rows:
        raise UserError("a wrong row")
    return [{"source": row, "text": row, "edits": []} for row in rows]


#: word → what it becomes, the probability, and why that is not made
WRONG = {
    "teh": ("the", 0.99, None),
    "big": ("large", 0.5, None),
    "uh": ("", 0.99, None),
    "hte": ("the", 0.03, "confidence"),
    "het": ("the", 0.01, "confidence"),
    "eht": ("the", 0.03, "unsure"),
}


def spelled(text, kept=()):
    """Puts right what is wrong, but for what begins at ``kept``."""
    edits = []
    for word in re.finditer("|".join(WRONG), text):
        if word.start() not in kept:
            after, probability, reason = WRONG[word[0]]
            before = word[0] + " " * (not after)
            edits.append(Edit(word.start(), before, after, probability, not reason, reason))
    return {"text": apply_edits(text, edits), "edits": [edit.to_dict() for edit in edits]}


OTHERS = ["ten", "tea", "then", "them"]


def correct(asked, rows):
    results = [{"source": row, **spelled(row), "code": False} for row in rows]
    for edit in sum((result["edits"] for result in results), []):
        edit |= {"message": f"why {edit['after']}", "others": OTHERS}
    return results


SPELLING = ServedModel({"modes": ["correct"]}, {"correct": correct})


def scripted(correct=echo, **limits):
    return client(ServedModel({"modes": ["correct"]}, {"correct": correct}), **limits)
