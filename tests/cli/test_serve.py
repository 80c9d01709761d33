"""lev-serve without a browser: what requests get, what is refused, and nothing is mixed up."""

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import editors
import pytest
from refusals import refuses

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
from starlette.testclient import TestClient  # noqa: E402

from lev_plugins.cli import serve  # noqa: E402
from lev_plugins.errors import UserError  # noqa: E402
from lev_plugins.serve import app as serving  # noqa: E402
from lev_plugins.serve.app import REQUESTS, Limits, make_app  # noqa: E402
from lev_plugins.serve.batcher import Batcher, Full, Stopped  # noqa: E402
from lev_plugins.serve.fields import read  # noqa: E402
from lev_plugins.serve.files import page_files  # noqa: E402
from lev_plugins.serve.model import (  # noqa: E402
    ServedModel,
    serve_corrector,
    serve_editor,
    serve_predictor,
)
from lev_plugins.serve.requests import EditRequest  # noqa: E402

TOKEN = "right-token"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def client(model: ServedModel, limits: Limits | None = None, hosts: Any = None) -> TestClient:
    made = TestClient(make_app(model, TOKEN, hosts, limits), raise_server_exceptions=False)
    made.headers.update(BEARER)
    return made


def echo(options: Any, rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"source": row, "text": row, "edits": []} for row in rows]


def scripted(correct: Any = echo, **limits: Any) -> TestClient:
    return client(ServedModel({"modes": ["correct"]}, {"correct": correct}), Limits(**limits))


@pytest.fixture(scope="module")
def editing() -> Iterator[TestClient]:
    with client(serve_editor(editors.editor(max_insertions=1))) as made:
        yield made


# who may ask --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/info", "/metrics", "/openapi.json"])
def test_everything_but_files_and_health_needs_the_token(path):
    with client(ServedModel({}, {"correct": echo})) as one:
        assert one.get(path).status_code == 200
        one.headers.pop("Authorization")
        assert one.get(f"{path}?token={TOKEN}").status_code == 200
        for wrong in ("", "?token=wrong", "?token=", "?token=é"):
            refused = one.get(path + wrong)
            assert refused.status_code == 403 and "token" in refused.json()["error"]
        assert one.post("/correct", json={"lines": ["a"]}).status_code == 403
        assert one.get("/health").json() == {"status": "ok"}
        assert one.get("/static/app.js").status_code == 200


def test_a_page_elsewhere_cannot_call_the_server_by_a_name_of_its_own():
    with client(ServedModel({}, {}), hosts=serve.hosts_of("127.0.0.1")) as one:
        assert one.get("/health", headers={"Host": "evil.example:8000"}).status_code == 421
        for host in ("127.0.0.1:8000", "localhost", "[::1]:8000", "LOCALHOST:1"):
            assert one.get("/health", headers={"Host": host}).status_code == 200
    assert serve.hosts_of("0.0.0.0") is None


def test_the_page_may_load_nothing_from_anywhere_else():
    with client(ServedModel({}, {})) as one:
        policy = one.get("/").headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        for name, (content, kind) in page_files().items():
            assert one.get(f"/static/{name}").headers["content-type"].startswith(kind)
            assert b"://" not in content and b"innerHTML" not in content, name
        assert one.get("/static/nothing.js").status_code == 404
        assert one.get("/static/%2e%2e%2fapp.py").status_code == 404


# what models say ----------------------------------------------------------------------------------


def test_edit_gives_the_editors_own_answers_and_edits_that_lead_to_them(editing):
    editor = editors.editor(max_insertions=1)
    sources, drafts = ["a b", "c", "a", "d h"], ["c d e", "", None, "a c e g"]
    sentences = [{"source": s, "draft": d} for s, d in zip(sources, drafts)]
    results = editing.post("/edit", json={"sentences": sentences, "nbest": 2}).json()["results"]
    for result, expected in zip(results, editor.edit_nbest(sources, drafts, nbest=2), strict=True):
        found = result["hypotheses"]
        assert [one["text"] for one in found] == [trace.text for trace in expected]
        for step in found[0]["iterations"]:
            assert len(step.get("token_probabilities", ())) == len(step["after"])
        for one in found if result["draft"] else []:
            text, place = "", 0
            for edit in one["edits"]:
                assert result["draft"][edit["offset"] :].startswith(edit["before"])
                text += result["draft"][place : edit["offset"]] + edit["after"]
                place = edit["offset"] + edit["length"]
            assert (text + result["draft"][place:]).split() == one["text"].split()


def test_marks_hold_and_markup_in_a_text_is_text(editing):
    draft = "[=a=] \\[- b c"
    marks = [
        {"start": 6, "end": 9, "kind": "keep"},
        {"start": 10, "end": 11, "kind": "replace"},
        {"start": 12, "end": 13, "kind": "drop"},
    ]
    sentence = {"source": "a", "draft": draft, "marks": marks}
    (result,) = editing.post("/edit", json={"sentences": [sentence]}).json()["results"]
    text = result["hypotheses"][0]["text"].split()
    assert "\\[-" in text and "c" not in text
    assert len(text) > text.index("\\[-") + 1, "something stands in the place of b"


def test_terms_are_in_the_output(editing):
    sentence = {"source": "a b", "terms": ["d", "g h"]}
    (result,) = editing.post("/edit", json={"sentences": [sentence]}).json()["results"]
    assert "g h" in result["hypotheses"][0]["text"]


def test_correct_gives_the_correctors_own_text():
    corrector = editors.edit_corrector()
    lines = ["a b c", "", "dd  e", "x\ty"]
    with client(serve_corrector(corrector)) as one:
        assert one.get("/info").json()["modes"] == ["edit", "correct"]
        results = one.post("/correct", json={"lines": lines, "min_confidence": 0.1}).json()
    found = [(result["source"], result["text"]) for result in results["results"]]
    assert found == [(c.source, c.text) for c in corrector.correct(lines, min_confidence=0.1)]


@pytest.mark.parametrize("kind", ["classification", "multilabel", "tagging", "regression"])
def test_predict_gives_the_models_own_records(kind):
    model = editors.enct5(kind)
    predict = model.predict_tags if kind == "tagging" else model.predict
    top = {} if kind == "regression" else {"top_k": 2}
    with client(serve_predictor(model)) as one:
        asked = one.post("/predict", json={"texts": ["a b", "ccc"], **top}).json()
    assert asked["results"] == [one.to_dict() for one in predict(["a b", "ccc"], **top)]


def test_pairs_are_predicted_of_both_texts():
    model = editors.enct5("classification", texts=2)
    with client(serve_predictor(model)) as one:
        found = one.post("/predict", json={"texts": ["a"], "pairs": ["b"]}).json()["results"]
        assert found == [model.predict([("a", "b")])[0].to_dict()]
        wrong = one.post("/predict", json={"texts": ["a"], "pairs": []})
        assert wrong.status_code == 422 and "as many" in wrong.json()["error"]


# what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("{", 400, "not JSON"),
        ("[" * 100_000, 400, "not JSON"),
        (b"\xff", 400, "not JSON"),
        ("[]", 422, "not a JSON object"),
        ("{}", 422, "sentences is missing"),
        ('{"sentences": [], "nbset": 1}', 422, "no field 'nbset'"),
        ('{"sentences": ["a"]}', 422, "sentences[0] is 'a'"),
        ('{"sentences": [{"source": 1}]}', 422, "sentences[0].source is 1, not a text"),
        ('{"sentences": [{"source": "\\ud800"}]}', 422, "half a character"),
        ('{"sentences": [], "nbest": 0}', 422, "nbest is 0; the least is 1"),
        ('{"sentences": [], "nbest": 99}', 422, "the most is 16"),
        ('{"sentences": [], "nbest": true}', 422, "not a whole number"),
        ('{"sentences": [], "empty_penalty": NaN}', 422, "not a finite number"),
        ('{"sentences": [{"source": "a", "terms": "a"}]}', 422, "terms is 'a', not a list"),
        (
            '{"sentences": [{"source": "a", "draft": "b", '
            '"marks": [{"start": 0, "end": 2, "kind": "keep"}]}]}',
            422,
            "0 to 2 is outside of the draft",
        ),
        (
            '{"sentences": [{"source": "a", "draft": "b", '
            '"marks": [{"start": 0, "end": 1, "kind": "lock"}]}]}',
            422,
            "choose one of keep, drop",
        ),
        (
            '{"sentences": [{"source": "a", "draft": "b", "terms": ["c"]}]}',
            422,
            "sentences[0].terms: they are for a sentence without a draft; mark them in the draft",
        ),
        (json.dumps({"sentences": [{"source": "a " * 200}]}), 422, "limit is"),
        (json.dumps({"sentences": [{"source": "a"}] * 300}), 413, "256"),
        (json.dumps({"sentences": [{"source": "a" * 1_000_001}]}), 413, "bytes"),
    ],
)
def test_a_request_that_cannot_be_used_is_refused_in_one_line(editing, body, status, said):
    refused = editing.post("/edit", content=body)
    assert refused.status_code == status
    assert said in refused.json()["error"] and "\n" not in refused.json()["error"]
    assert editing.post("/edit", json={"sentences": [{"source": "a"}]}).status_code == 200


def test_what_the_model_cannot_do_and_what_is_not_there_is_named(editing):
    refused = editing.post("/predict", json={"texts": ["a"]})
    assert refused.status_code == 404 and "/correct, /edit" in refused.json()["error"]
    assert editing.get("/nowhere").json() == {"error": "there is no /nowhere"}
    assert editing.get("/edit").status_code == 405


def test_a_fault_of_the_model_is_one_line_and_the_server_continues(caplog):
    def fails(options: Any, rows: Sequence[Any]) -> list[Any]:
        if "bad" in rows:
            raise RuntimeError("secret details")
        return echo(options, rows)

    with scripted(fails) as one:
        failed = one.post("/correct", json={"lines": ["bad"]})
        assert failed.status_code == 500 and "secret" not in failed.text
        assert "secret details" in caplog.text
        assert one.post("/correct", json={"lines": ["good"]}).status_code == 200


def test_a_request_that_takes_too_long_is_given_up_and_leaves_the_queue():
    release = threading.Event()

    def slow(options: Any, rows: Sequence[Any]) -> list[Any]:
        release.wait(20)
        return echo(options, rows)

    with scripted(slow, seconds=0.05, waiting=2, batch_size=1) as one:
        late = one.post("/correct", json={"lines": ["a", "b"]})
        assert late.status_code == 504 and "not done after 0.05 s" in late.json()["error"]
        release.set()
        deadline = time.monotonic() + 20
        while one.post("/correct", json={"lines": ["c"]}).status_code != 200:
            assert time.monotonic() < deadline


# batches ------------------------------------------------------------------------------------------


class Model:
    """Notes its batches; each can be held up."""

    def __init__(self, held: bool = False) -> None:
        self.batches: list[tuple[Any, list[Any]]] = []
        self.go, self.begun = threading.Event(), threading.Event()
        if not held:
            self.go.set()

    def __call__(self, options: Any, rows: Sequence[Any]) -> list[Any]:
        self.begun.set()
        self.go.wait(20)
        self.batches.append((options, list(rows)))
        if "bad" in rows:
            raise UserError("a bad row")
        return [(options, row) for row in rows]


def held_up(model: Model, **options: Any) -> Batcher:
    """A batcher whose model is busy with a first request until ``model.go`` is set."""
    made = Batcher({"x": model}, **options)
    made.submit("x", "first", ["first"])
    model.begun.wait(20)
    return made


def test_requests_with_the_same_options_share_a_batch():
    model = Model(held=True)
    batcher = held_up(model, batch_size=4)
    asked = [batcher.submit("x", option, [n, -n]) for n, option in enumerate("aabaa", 1)]
    model.go.set()
    found = [one.result(20) for one in asked]
    batcher.close()
    assert found == [[(option, n), (option, -n)] for n, option in enumerate("aabaa", 1)]
    assert model.batches[1:] == [("a", [1, -1, 2, -2]), ("b", [3, -3]), ("a", [4, -4, 5, -5])]


def test_a_long_request_does_not_hold_up_a_short_one():
    model = Model(held=True)
    batcher = held_up(model, batch_size=2)
    long = batcher.submit("x", "file", list(range(6)))
    short = batcher.submit("x", "typed", ["a"])
    model.go.set()
    assert short.result(20) and len(long.result(20)) == 6
    batcher.close()
    assert [options for options, _ in model.batches[1:]] == ["file", "typed", "file", "file"]


def test_one_bad_request_in_a_batch_fails_alone():
    model = Model(held=True)
    batcher = held_up(model)
    good, bad, other = (batcher.submit("x", 0, [row]) for row in ("good", "bad", "other"))
    late = batcher.submit("x", 1, ["good"] * batcher.batch_size + ["bad"])
    model.go.set()
    assert (good.result(20), other.result(20)) == ([(0, "good")], [(0, "other")])
    with pytest.raises(UserError, match="a bad row$"):
        bad.result(20)
    with pytest.raises(UserError, match="a bad row .counted behind the first 64 of the request"):
        late.result(20)
    batcher.close()


def test_a_queue_that_is_full_refuses_and_one_that_is_closed_gives_up_what_waits():
    model = Model(held=True)
    batcher = held_up(model, waiting=3)
    waiting = [batcher.submit("x", n, ["a"]) for n in (1, 2)]
    with pytest.raises(Full):
        batcher.submit("x", 3, ["a"])
    waiting[0].cancel()
    closing = threading.Thread(target=batcher.close)
    closing.start()
    deadline = time.monotonic() + 20
    with pytest.raises(Stopped):  # once it has begun to close
        while time.monotonic() < deadline:
            with suppress(Full):
                batcher.submit("x", 3, ["a"])
            time.sleep(0.001)
    model.go.set()
    closing.join(20)
    with pytest.raises(Stopped):
        waiting[1].result(20)
    with pytest.raises(Stopped):
        batcher.submit("x", 4, ["a"])


def test_many_clients_at_once_each_get_their_own():
    editor = editors.editor(max_insertions=1)
    draws = random.Random(1)
    asked = [
        [" ".join(draws.choices(["a", "b", f"w{n}"], k=draws.randint(1, 5))) for _ in range(3)]
        for n in range(24)
    ]
    expected = [[trace.text for trace in editor.edit(rows, rows, max_iter=2)] for rows in asked]
    with client(serve_editor(editor), Limits(batch_size=5)) as one:

        def post(rows: list[str]) -> list[str]:
            sentences = [{"source": row, "draft": row} for row in rows]
            found = one.post("/edit", json={"sentences": sentences, "max_iter": 2}).json()
            return [result["hypotheses"][0]["text"] for result in found["results"]]

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(post, asked)) == expected


# what it says of itself ---------------------------------------------------------------------------


def test_metrics_count_requests_sentences_and_batches():
    with client(ServedModel({"model": 'a "b"\n'}, {"correct": echo})) as one:
        one.post("/correct", json={"lines": ["a", "b"]})
        one.post("/correct", json={})
        text = one.get("/metrics").text
    assert 'lev_requests_total{path="/correct",status="200"} 1\n' in text
    assert 'lev_requests_total{path="/correct",status="422"} 1\n' in text
    assert 'lev_sentences_total{kind="correct"} 2\n' in text
    assert 'lev_batches_total{kind="correct"} 1\n' in text
    assert 'lev_request_seconds_bucket{path="/correct",le="+Inf"} 2\n' in text
    assert 'lev_model_info{model="a \\"b\\"\\n",task="",device=""} 1\n' in text
    for line in text.splitlines():
        assert line.startswith("# ") or float(line.rpartition(" ")[2]) >= 0


def test_openapi_describes_every_field_that_is_read(editing):
    described = editing.get("/openapi.json").json()
    assert {"/edit", "/correct", "/info", "/health", "/metrics"} == set(described["paths"])
    parts = described["components"]["schemas"]
    for kind in ("edit", "correct"):
        name = REQUESTS[kind].__name__
        fields = REQUESTS[kind].__dataclass_fields__
        assert set(parts[name]["properties"]) == set(fields)
        assert all(one["description"] for one in parts[name]["properties"].values())
    kinds = parts["Mark"]["properties"]["kind"]["enum"]
    assert kinds == ["keep", "drop", "term", "replace"]
    assert parts["EditRequest"]["required"] == ["sentences"]
    for reference in set(json.dumps(described).split('"$ref": "')[1:]):
        assert reference.partition('"')[0].rpartition("/")[2] in parts


def test_defaults_are_those_of_python():
    asked = read(EditRequest, {"sentences": []})
    assert (asked.nbest, asked.max_iter, asked.delete_threshold) == (1, 10, None)


# the command --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--port 70000", "--port 70000: a port is a number"),
        ("--batch-size 0", "--batch-size 0: must be above 0"),
        ("--timeout -1", "--timeout -1.0: must be above 0"),
        ("--token-file nowhere", "--token-file nowhere: cannot be read"),
        ("--host 192.0.2.1", "--host 192.0.2.1 --port 8000"),
    ],
)
def test_options_that_cannot_be_used_are_refused_before_the_model_is_loaded(flags, said):
    with refuses(said):
        serve.main(["--path", "nowhere.pt", *flags.split()])


def test_a_port_that_is_taken_is_named():
    with serve.listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: .*--port 0 for one that is free"):
            serve.main(["--path", "nowhere.pt", "--port", str(port)])


def test_a_token_from_a_file_has_to_be_long_and_plain(tmp_path):
    file = tmp_path / "token"
    file.write_text("abcdefgh-_1\n")
    assert serve.read_token(str(file)) == "abcdefgh-_1"
    for wrong in ("short", "with space in it", "é" * 10):
        file.write_text(wrong)
        with pytest.raises(UserError):
            serve.read_token(str(file))
    assert serve.read_token(None) != serve.read_token(None)


def test_without_starlette_one_line_says_how_to_install_it(monkeypatch):
    real = serve.importlib.util.find_spec
    monkeypatch.setattr(
        serve.importlib.util, "find_spec", lambda name: None if name == "starlette" else real(name)
    )
    with pytest.raises(UserError, match="needs starlette: pip install starlette uvicorn"):
        serve.main(["--path", "x"])


def test_the_address_that_is_printed_opens_the_page(monkeypatch, capsys):
    served = ServedModel({"modes": ["correct"]}, {"correct": echo})
    apps: list[Any] = []
    monkeypatch.setattr("lev_plugins.serve.model.load", lambda *_: served)
    monkeypatch.setattr(serve, "run", lambda app, *_: apps.append(app))
    assert serve.main(["--path", "runs/m.pt", "--port", "0"]) == 0
    address = capsys.readouterr().out.strip()
    assert address.startswith("http://127.0.0.1:")
    with TestClient(apps[0], base_url="http://127.0.0.1") as one:
        assert one.get(address).status_code == 200
        token = address.partition("token=")[2]
        assert one.get("/info", params={"token": token}).json()["model"] == "m.pt"
    assert serving.HEADERS["Referrer-Policy"] == "no-referrer", "the token stays in the address"
