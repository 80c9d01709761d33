"""lev-serve without a browser: what requests get, what is refused, and nothing is mixed up."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import editors
import pytest
from serving import TOKEN, client, correct, echo, scripted, serving

from lev_plugins.export.folder import editor_writer, write_folder
from lev_runtime import __version__
from lev_serve import app, worker
from lev_serve.model import (
    ServedModel,
    load,
    serve_corrector,
    serve_predictor,
)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """Requests take turns after two rows."""
    monkeypatch.setattr(worker, "ROWS", 2)


class Held:
    """A model that is busy until it is let go; ``order``: what it has read."""

    def __init__(self):
        self.begun, self.go, self.order = threading.Event(), threading.Event(), []

    def __call__(self, asked, rows):
        self.order.append(rows[0][:4])
        self.begun.set()
        self.go.wait(20)
        return echo(asked, rows)


CORRECTOR = editors.edit_corrector()


@pytest.fixture(scope="module")
def editing():
    with client(serve_corrector(CORRECTOR)) as http:
        yield http


def test_the_files_of_the_page_load_nothing_from_elsewhere():
    with scripted() as http:
        for file in app.STATIC.iterdir():
            answer = http.get(f"/static/{file.name}")
            assert answer.headers["cache-control"] == "no-store"
            assert b"://" not in answer.content and b"innerHTML" not in answer.content, file


# what models say ----------------------------------------------------------------------------------


def test_edit_gives_the_editors_own_answers_and_edits_that_lead_to_them(editing):
    editor = CORRECTOR.backend.editor
    sources, drafts = ["a b", "c", "a", "d h"], ["c d e", "", None, "a c e g"]
    sentences = [{"source": s, "draft": d} for s, d in zip(sources, drafts)]
    results = editing.post("/edit", json={"sentences": sentences, "nbest": 2}).json()["results"]
    for result, expected in zip(results, editor.edit_nbest(sources, drafts, nbest=2), strict=True):
        hypotheses = result["hypotheses"]
        assert [each["text"] for each in hypotheses] == [trace.text for trace in expected]
        for edit in hypotheses[0]["edits"]:
            assert result["draft"][edit["offset"] :].startswith(edit["before"])


def test_marks_hold_and_markup_in_a_text_is_text(tmp_path):
    """Of an export too."""
    editor = editors.editor(max_insertions=1)
    write_folder(tmp_path / "model", editor_writer(editor), int8=False)
    draft = "[=a=] \\[- b c"
    marks = [{"start": 6, "end": 9, "kind": "keep"}, {"start": 12, "end": 13, "kind": "drop"}]
    sentence = {"source": "a", "draft": draft, "marks": marks}
    with client(load(str(tmp_path / "model"))) as http:
        assert http.get("/info").json()["modes"] == ["edit"]
        (result,) = http.post("/edit", json={"sentences": [sentence]}).json()["results"]
    text = result["hypotheses"][0]["text"].split()
    assert result["draft"] == draft and "\\[-" in text and "c" not in text


def test_correct_gives_the_correctors_own_text(editing):
    lines = ["a b c", "", "dd  e", "x\ty"]
    assert editing.get("/info").json()["modes"] == ["edit", "correct"]
    asked = {"lines": lines, "min_confidence": 0.1, "protect_words": ["b"]}
    results = editing.post("/correct", json=asked).json()["results"]
    wanted = CORRECTOR.correct(lines, min_confidence=0.1, protect_words=["b"])
    assert [row["text"] for row in results] == [correction.text for correction in wanted]


@pytest.mark.parametrize("word", ["teh ", "𝒳", "\n"])
def test_a_line_of_any_length_is_corrected_at_its_places(word):
    line = word * 12_000 + "teh end"
    with scripted(correct) as http:
        whole, short = http.post("/correct", json={"lines": [line, "a teh"]}).json()["results"]
    assert [whole["source"], whole["text"]] == [line, line.replace("teh", "the")]
    assert len(whole["edits"]) == line.count("teh") and short["text"] == "a the"
    assert all(line.startswith("teh", edit["offset"]) for edit in whole["edits"])


@pytest.mark.parametrize(
    "kind, more",
    [
        ("tagging", {"top_k": 1}),
        ("multilabel", {"threshold": 1}),
        ("classification", {"pairs": ["b", ""]}),
    ],
)
def test_predict_gives_the_models_own_records(kind, more):
    asked, pairs = {"texts": ["a b", "ccc"], **more}, more.get("pairs")
    model = editors.enct5(kind, 2 if pairs else 1)
    with client(serve_predictor(model)) as http:
        results = http.post("/predict", json=asked).json()["results"]
        assert http.post("/predict", json={**asked, "pairs": ["a"]}).status_code == 422
    expected = (
        model.predict(zip(asked["texts"], pairs))
        if pairs
        else model.predict(asked["texts"], **more)
    )
    assert results == [prediction.to_dict() for prediction in expected]


# what an operator sees ----------------------------------------------------------------------------


def test_a_server_whose_model_is_busy_lives_but_is_not_ready():
    with scripted(model := Held(), seconds=0.6) as http, ThreadPoolExecutor(1) as pool:
        pool.submit(http.post, "/correct", json={"lines": ["a"]})
        assert model.begun.wait(20)
        assert http.get("/ready").status_code == 503
        assert http.get("/health").status_code == 200
        model.go.set()
        assert any(http.get("/ready").status_code == 200 for _ in range(400))


def test_the_description_has_types_and_how_to_send_the_token(editing):
    described = editing.get("/openapi.json").json()
    assert described["info"]["version"] == __version__
    kinds = {scheme["type"] for scheme in described["components"]["securitySchemes"].values()}
    assert kinds == {"http", "apiKey"}
    for path in ("/edit", "/correct", "/v2/check", "/metrics"):
        for operation in described["paths"][path].values():
            assert operation["security"]
    correct = described["paths"]["/correct"]["post"]["responses"]["200"]["content"]
    assert "$ref" in correct["application/json"]["schema"]
    assert {"offset", "before", "after"} <= {
        *described["components"]["schemas"]["EditRecord"]["properties"]
    }


# what is refused ----------------------------------------------------------------------------------


TOO_LARGE = [
    ["[" * 100_000, 400, "parsing"],
    [json.dumps({"sentences": [{"source": "a " * 200}]}), 422, "limit is"],
    [json.dumps({"sentences": [{"source": "a"}] * 300}), 422, "256"],
    [json.dumps({"sentences": [{"source": "a" * 10_001}]}), 422, "10,001 characters"],
    [b"a" * 1_000_001, 413, "1,000,000 bytes"],
    [(b"a" * 100_000 for _ in range(11)), 413, "1,000,000 bytes"],  # of an unknown length
]


@pytest.mark.parametrize("body, status, message", TOO_LARGE)
def test_a_request_that_is_too_large_is_refused_in_one_line(editing, body, status, message):
    refused = editing.post("/edit", content=body, headers={"Content-Type": "application/json"})
    assert refused.status_code == status
    assert message in refused.json()["error"] and "\n" not in refused.json()["error"]


def test_a_request_that_takes_too_long_is_given_up_and_leaves_the_queue():
    with scripted(model := Held(), seconds=0.05) as http:
        late = http.post("/correct", json={"lines": ["a", "b", "c"]})
        assert late.status_code == 504
        model.go.set()
        tries = (http.post("/correct", json={"lines": ["c"]}).status_code for _ in range(400))
        assert 200 in tries


@pytest.mark.parametrize("rows", [["file"] * 6, ["file" * 2000] * 3])
def test_a_long_request_does_not_hold_up_a_short_one(rows):
    with scripted(model := Held()) as http, ThreadPoolExecutor(2) as pool:
        long = pool.submit(http.post, "/correct", json={"lines": rows})
        assert model.begun.wait(20)
        pool.submit(http.post, "/correct", json={"lines": ["typed"]})
        time.sleep(0.3)  # until it waits
        model.go.set()
    assert [row["text"] for row in long.result().json()["results"]] == rows
    assert model.order == ["file", "type", "file", "file"]


HEAD = f"POST /correct HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {TOKEN}\r\n"
HEAD += "Content-Type: application/json\r\nConnection: close\r\nContent-Length: 15\r\n\r\n"


@pytest.mark.parametrize(
    "sent, status", [("", []), (HEAD[:9], []), (HEAD, []), (HEAD + '{"lines":["a"]}', ["200"])]
)
def test_a_connection_with_a_part_of_a_request_is_closed(monkeypatch, sent, status):
    monkeypatch.setattr(app, "SECONDS", 0.2)

    def slow(asked, rows):
        time.sleep(0.5)  # a request that is whole is waited for
        return [{}]

    application = app.make_app(ServedModel({"modes": ["correct"]}, {"correct": slow}), TOKEN)
    with serving(application) as port:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(sent.encode())
            answer = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answer.decode().partition("\r\n")[0].split()[1:2] == status
