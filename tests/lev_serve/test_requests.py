"""What each request gets: a table of requests and answers."""

import contextlib
import functools

import editors
import pytest
from serving import SPELLING, client, scripted
from tables import table

from lev_serve.model import serve_corrector

SERVERS = {
    "echo": scripted,
    "hosts": lambda: scripted(hosts=["localhost", "[::1]"]),
    "spelling": lambda: client(SPELLING, languages=["en-US", "en-GB"]),
    "editing": lambda: client(serve_corrector(editors.edit_corrector())),
}


@pytest.fixture(scope="module")
def started():
    """Returns a function from a server's name to a client that sends no token of its own."""
    with contextlib.ExitStack() as stack:

        @functools.cache
        def start(server):
            http = stack.enter_context(SERVERS[server]())
            http.headers.pop("Authorization")
            return http

        yield start


@pytest.mark.parametrize(
    "server, asked, headers, body, status, wanted", table("lev_serve/requests.tsv")
)
def test_a_request_gets_its_answer(started, server, asked, headers, body, status, wanted):
    method, path = asked.split()
    kind = "x-www-form-urlencoded" if "/v2/" in path else "json"
    sent = dict(header.split("=", 1) for header in headers.split(";") if header)
    sent["Content-Type"] = f"application/{kind}"
    answer = started(server).request(method, path, content=body.encode(), headers=sent)
    assert answer.status_code == int(status)
    text = f"{answer.headers} {answer.text}"
    for piece in filter(None, wanted.split(" & ")):
        times, is_counted, part = piece.rpartition("× ")
        assert part in text or times == "0"
        assert not is_counted or text.count(part) == int(times)
    if answer.is_error:
        assert r"\n" not in answer.text, "a refusal is one line"
