"""What editors and other clients of LanguageTool get of lev-serve."""

import json
import re
import time

import pytest
from serving import SPELLING, TOKEN, client
from tables import table


@pytest.fixture
def editor():
    with client(SPELLING, languages=["en-US", "en-GB"]) as http:
        http.headers.pop("Authorization")
        yield http


def check(http, text, **form):
    """Returns the matches in a text, or in annotated parts of one."""
    whole = {"text": text} if isinstance(text, str) else {"data": json.dumps({"annotation": text})}
    answer = http.post(f"/{TOKEN}/v2/check", data={"language": "auto", **whole, **form})
    return answer.json()["matches"]


def words_found(text, matches):
    """Returns what the matches name, read as a client does that counts UTF-16 code units."""
    units = text.encode("utf-16-le")
    places = [(2 * match["offset"], 2 * match["length"]) for match in matches]
    return [units[start : start + length].decode("utf-16-le") for start, length in places]


TEXT = "😀 teh 𝒳 teh\n\nno tea\n" + "😀\n" * 300 + "teh 👍"


def test_an_editor_gets_places_in_utf16_units_of_a_text_of_any_length(editor):
    matches = check(editor, TEXT, language="en-GB")
    assert words_found(TEXT, matches) == ["teh"] * 3
    for match in matches:
        context = match["context"]
        start = 2 * context["offset"]
        assert context["text"].encode("utf-16-le")[start:].decode("utf-16-le").startswith("teh")


@pytest.mark.parametrize("text, wanted", table("lev_serve/annotated.tsv"))
def test_markup_is_read_as_what_it_stands_for_and_never_changed(editor, text, wanted):
    pieces = re.split("<(.*?)>", text)
    parts = [{"text": piece} for piece in pieces]
    for number in range(1, len(parts), 2):
        markup, is_read, shown = pieces[number].partition("=")
        parts[number] = {"markup": markup} | ({"interpretAs": shown} if is_read else {})
    written = "".join(part.get("text", part.get("markup")) for part in parts)
    assert " ".join(words_found(written, check(editor, parts))) == wanted


def test_a_text_of_the_length_that_is_named_is_read(editor):
    most = int(editor.get(f"/{TOKEN}/v2/maxtextlength").text)
    text = "𝒳€" * (most // 3)
    assert editor.post(f"/{TOKEN}/v2/check", data={"text": text}).status_code == 200


def test_requests_are_counted_and_logged_without_token_and_text(capfd):
    with client(SPELLING, access_log=True) as http:
        http.post(f"/{TOKEN}/v2/check", data={"text": "secret teh"})
        http.get(f"/{TOKEN}/nowhere-{time.time()}?token={TOKEN}")
        answer = http.get(f"/info?token={TOKEN}", headers={"X-Request-ID": "mine"})
        assert answer.headers["X-Request-ID"] == "mine"
        measured = http.get("/metrics").text
    logged = capfd.readouterr().err
    records = [json.loads(line) for line in logged.splitlines()]
    assert [record["status"] for record in records] == [200, 404, 200, 200]
    assert records[0]["path"] == "/v2/check" and records[2]["id"] == "mine"
    assert 'lev_serve_seconds_count{path="/v2/check",status="200"}' in measured
    for shown in (logged, measured):
        assert TOKEN not in shown and "secret" not in shown
    assert "nowhere" not in measured, "anybody could fill the memory"
