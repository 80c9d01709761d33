"""LanguageTool's HTTP interface, which the plug-ins of editors and browsers speak.

Places in a text are counted in UTF-16 code units, from 0, as LanguageTool counts them.
"""

import json
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request

from lev_runtime import __version__
from lev_runtime.errors import UserError

from .schema import DOUBT, FORM, MAX_CHARS, RULE, Result
from .worker import Worker

#: UTF-16 code units of a text at most: each takes nine bytes of a form, or fewer.
MAX_TEXT = 100_000
CONTEXT = 40  #: characters around a match that are shown with it
WORTH = 0.2  #: probability from which on an edit that is not made is shown, as on the page
REPLACEMENTS = 5  #: of a match, at most
SOFTWARE = {
    **{"name": "lev-serve", "version": __version__, "buildDate": "", "apiVersion": 1},
    **{"premium": False, "premiumHint": "", "status": ""},
}
#: A line, or as much of it as the model takes, if possible up to a space.
_PART = re.compile(rf"(?m)^$|[^\n]{{1,{MAX_CHARS}}}(?!\S)|[^\n]{{1,{MAX_CHARS}}}")
#: The end of a sentence: a mark before a capital, but for initials and titles; an empty line.
_END = re.compile(
    r"(?:(?<!\b[A-Z])(?<!\b(?:Mr|Ms|Dr|St))(?<!\b(?:Mrs|etc))\.|[!?…])[\"')\]’”]*\s+(?=\W?[^\W\d_a-z])"
    r"|\n\s*\n"
)
_HALF = re.compile("[\ud800-\udfff]")  # of a character


class Text(NamedTuple):
    """Holds a text as it is written, with markup, and as it is read.

    places: of each character that is read, where it is written; −1 for what stands for markup.
    """

    written: str
    read: str
    places: Sequence[int]


class Change(NamedTuple):
    """``written[start:end]``, which is read as ``before``, may become ``after``.

    place: where ``before`` begins in what is read. rule: as whose finding it is shown.
    """

    start: int
    end: int
    place: int
    before: str
    after: str
    rule: Result


def languagetool(worker: Worker, tags: Sequence[str]) -> APIRouter:
    """Returns the requests below ``/v2``; ``tags``: of the languages, such as en-US."""
    router = APIRouter(tags=["LanguageTool"])

    @router.get("/languages")
    def languages() -> list[Result]:
        """List the languages that are checked."""
        return [{"name": tag, "code": tag[:2], "longCode": tag} for tag in tags]

    @router.get("/info")
    def info() -> Result:
        """Name the program and its version."""
        return {"software": SOFTWARE}

    @router.get("/maxtextlength")
    def longest() -> int:
        """Say how many UTF-16 code units a text may have."""
        return MAX_TEXT

    @router.get("/words")
    def words() -> Result:
        """List the words that clients have added: none, as they keep their own."""
        return {"words": []}

    @router.post("/words/{action}")
    def change_words(action: str) -> None:
        """Refuse to add or to delete a word."""
        raise UserError("this server keeps no words: add them in your editor")

    @router.get("/check")
    @router.post("/check", openapi_extra=FORM)
    async def check(request: Request) -> Result:
        """Find misspellings in a text: ``matches``, in UTF-16 code units."""
        body = (await request.body()).decode("utf-8", "replace")
        form = dict(parse_qsl(f"{request.url.query}&{body}", keep_blank_values=True))
        tag = form.get("language", "auto").replace("auto", tags[0])
        if not any(tag[:2] == known[:2] for known in tags):
            raise UserError(f"language={tag}: this server checks {', '.join(tags)}")
        text = read_text(form)
        parts = [*_PART.finditer(text.read)]
        results = await worker.correct([part[0] for part in parts])
        starts = [part.start() for part in parts]
        found = [change for change in changes(text, starts, results) if is_on(change.rule, form)]
        others = await worker.suggest([change.before for change in found])
        language = {"name": tag, "code": tag}
        return {
            "software": SOFTWARE,
            "warnings": {"incompleteResults": False},
            "language": {**language, "detectedLanguage": language},
            "matches": [*matches(text, found, others)],
        }

    return router


def read_text(form: Mapping[str, str]) -> Text:
    """Returns the text of a request.

    Raises:
        UserError: neither ``text`` nor ``data`` as LanguageTool describes it.
    """
    written, read, places = "", "", list[int]()
    try:
        data: Any = json.loads(form["data"]) if "data" in form else form
        for part in data.get("annotation", [data]):
            is_text = "text" in part
            shown = part["text"] if is_text else part.get("interpretAs", "")
            start = len(written)
            places += range(start, start + len(shown)) if is_text else [-1] * len(shown)
            written += shown if is_text else part["markup"]
            read += shown
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UserError('send text=…, or data={"annotation": [{"text": …}, …]}') from None
    return Text(_HALF.sub("\ufffd", written), _HALF.sub("\ufffd", read), places)


def is_on(rule: Result, form: Mapping[str, str]) -> bool:
    """Returns whether a request asks for the findings of a rule."""

    def is_listed(name: str, value: str) -> bool:
        return value in form.get(name, "").split(",")

    number, category = rule["id"], rule["category"]["id"]
    if is_listed("disabledRules", number):
        return False
    if is_listed("enabledRules", number) or is_listed("enabledCategories", category):
        return True
    is_off = is_listed("disabledCategories", category)
    return not (is_off or form.get("enabledOnly") in ("true", "yes"))


def changes(text: Text, starts: Iterable[int], results: Iterable[Result]) -> Iterator[Change]:
    """Yields the edits that are made or worth a look, but for those that would touch markup.

    Args:
        starts: where the parts of the text that were corrected begin. results: of the parts.
    """
    for begin, result in zip(starts, results, strict=True):
        for edit in result["edits"]:
            is_open = edit["reason"] in ("confidence", "reported")
            if not (edit["applied"] or (is_open and edit["probability"] >= WORTH)):
                continue
            first = start = begin + edit["offset"]
            last = end = start + edit["length"]
            if start == end:  # clients show no match without a character: one next to it is taken
                first, last = (start - 1, end) if start else (start, end + 1)
            after = text.read[first:start] + edit["after"] + text.read[end:last]
            places, at = [*text.places[first:last]], text.places[first]
            if at >= 0 and places == [*range(at, at + len(places))]:
                before, rule = text.read[first:last], RULE if edit["applied"] else DOUBT
                yield Change(at, at + len(places), first, before, after, rule)


def matches(
    text: Text, found: Iterable[Change], others: Iterable[Sequence[str]]
) -> Iterator[Result]:
    """Yields LanguageTool's record of each change; ``others``: what else each may become."""
    units = [0, *accumulate(1 + (character > "\uffff") for character in text.written)]
    ends = [end.end() for end in _END.finditer(text.read)]
    bounds = [0, *ends, len(text.read)]
    for change, texts in zip(found, others, strict=True):
        start, end, place, before, after, rule = change
        offset, length = units[start], units[end] - units[start]
        begin = max(0, start - CONTEXT)
        around = text.written[begin : end + CONTEXT].replace("\n", " ")
        number = bisect(ends, place)
        sentence = text.read[bounds[number] : bounds[number + 1]]
        values = [value for value in dict.fromkeys([after, *texts]) if value != before]
        yield {
            "offset": offset,
            "length": length,
            "message": rule["description"],
            "shortMessage": "Spelling",
            "replacements": [{"value": value} for value in values[:REPLACEMENTS]],
            "context": {"text": around, "offset": offset - units[begin], "length": length},
            "sentence": sentence.strip(),
            "type": {"typeName": "UnknownWord" if rule is RULE else "Hint"},
            "rule": rule,
            "ignoreForIncompleteSentence": False,
            "contextForSureMatch": 0,
        }
