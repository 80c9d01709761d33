"""What editors and other clients of LanguageTool get of lev-serve."""

import json
import re
import time

import pytest
from serving import OTHERS, TOKEN, client, correct
from tables import cases, table

from lev_serve.model import ServedModel

SPELLING = ServedModel({"modes": ["correct"]}, {"correct": correct})


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


@pytest.mark.parametrize("word", ["a ", "𝒳"])
def test_a_line_of_any_length_is_read(editor, word):
    text = f"{word * 12_000}teh {word * 12_000}teh\nteh"
    assert words_found(text, check(editor, text)) == ["teh"] * 3


@pytest.mark.parametrize("text, wanted", table("lev_serve/annotated.tsv"))
def test_markup_is_read_as_what_it_stands_for_and_never_changed(editor, text, wanted):
    pieces = re.split("<(.*?)>", text)
    parts = [{"text": piece} for piece in pieces]
    for number in range(1, len(parts), 2):
        markup, is_read, shown = pieces[number].partition("=")
        parts[number] = {"markup": markup} | ({"interpretAs": shown} if is_read else {})
    written = "".join(part.get("text", part.get("markup")) for part in parts)
    assert " ".join(words_found(written, check(editor, parts))) == wanted


def test_markup_is_a_letter_where_it_stands_for_one(editor):
    (match,) = check(
        editor, [{"text": "A caf"}, {"markup": "\\'e", "interpretAs": "é"}, {"text": " teh."}]
    )
    assert match["sentence"] == "A café teh." and match["offset"] == 9


def test_the_correction_comes_first_of_several_with_the_reason(editor):
    (match,) = check(editor, "a teh")
    values = [each["value"] for each in match["replacements"]]
    assert values == ["the", *OTHERS] and match["message"] == "why the"


def test_what_is_in_doubt_is_a_hint_that_can_be_switched_off(editor):
    text = "a teh\na hte\na eht\na het"
    sure, *doubts = check(editor, text)
    assert [match["type"]["typeName"] for match in (sure, *doubts)] == [
        "UnknownWord",
        "Hint",
        "Hint",
    ]
    assert check(editor, text, disabledRules=doubts[0]["rule"]["id"]) == [sure]


@pytest.mark.parametrize("lists, count", table("lev_serve/rules.tsv"))
def test_a_request_chooses_rules_as_it_does_of_languagetool(editor, lists, count):
    text = "a teh\na hte"
    rule = check(editor, text)[0]["rule"]["id"]
    form = dict(each.split("=") for each in re.sub(r"\bR\b", rule, lists).split())
    assert len(check(editor, text, **form)) == int(count)


@pytest.mark.parametrize(
    "text",  # its sentence with the misspelling in brackets
    [
        "[A teh.] Another one.",
        "One. [Two teh?] Three!",
        'Mr. J. Smith came. [Dr. Adams said teh at 3.5 p.m. today.] Then "he" left.',
        "He said “no.” [“A teh” he said.] She did.",
        "A heading\n\n[a line and\nteh other] \n \n more",
    ],
)
def test_the_sentence_of_a_match_is_the_one_around_it(editor, text):
    (match,) = check(editor, re.sub(r"[\[\]]", "", text))
    assert match["sentence"] == text[text.index("[") + 1 : text.index("]")]


@pytest.mark.parametrize(
    "form, status",
    cases("lev_serve/cases.tsv", "languagetool: a form that cannot be used is refused"),
)
def test_a_form_that_cannot_be_used_is_refused(editor, form, status):
    answer = editor.post(f"/{TOKEN}/v2/check", data=form)
    assert answer.status_code == status and ("error" in answer.json()) == (status == 422)


def test_what_clients_ask_besides_is_answered(editor):
    def get(path):
        answer = editor.get(f"/{TOKEN}/v2/{path}")
        assert answer.status_code == 200
        return answer.json()

    assert words_found("a teh", get("check?text=a+teh&language=en-US")["matches"]) == ["teh"]
    assert get("info")["software"] == get("check?text=a")["software"]
    assert get("words") == {"words": []}
    assert [each["longCode"] for each in get("languages")] == ["en-US", "en-GB"]
    longest = "𝒳€" * (get("maxtextlength") // 3)
    assert editor.post(f"/{TOKEN}/v2/check", data={"text": longest}).status_code == 200


def test_the_token_stands_in_the_path_and_only_who_has_it_may_read_from_elsewhere(editor):
    elsewhere = {"Origin": "https://elsewhere.example"}

    def answer(path, **headers):
        got = editor.get(path, headers={**elsewhere, **headers})
        return got.status_code, "access-control-allow-origin" in got.headers

    assert answer(f"/{TOKEN}/v2/languages") == (200, True)
    assert answer("/v2/languages", Authorization=f"Bearer {TOKEN}") == (200, True)
    assert answer("/wrong/v2/languages") == answer("/v2/languages") == (403, False)
    assert answer(f"/{TOKEN}/info") == answer(f"/v2/{TOKEN}/info") == (403, False)
    assert answer(f"/info?token={TOKEN}") == (200, False)


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
