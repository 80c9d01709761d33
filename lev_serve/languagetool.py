"""LanguageTool's HTTP interface, which the plug-ins of editors and browsers speak.

Places in a text are counted in UTF-16 code units, from 0, as LanguageTool counts them.
"""

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request

from lev_correct.lines import WORTH
from lev_runtime import __version__
from lev_runtime.errors import UserError

from .schema import DOUBT, FORM, RULE, CorrectRequest, Result
from .worker import Worker

#: UTF-16 code units of a text at most: each takes nine bytes of a form, or fewer.
MAX_TEXT = 100_000
CONTEXT = 40  #: characters around a match that are shown with it
MARKUP = -1  #: place of a character that only stands for markup
SOFTWARE = {
    "name": "lev-serve",
    "version": __version__,
    "buildDate": "",
    "apiVersion": 1,
    "premium": False,
    "premiumHint": "",
    "status": "",
}
#: The end of a sentence: a mark before a capital, but for initials and titles; an empty line.
_END = re.compile(
    r"(?:(?<!\b[A-Z])(?<!\b(?:Mr|Ms|Dr|St))(?<!\bMrs)\.|[!?…])[\"')\]’”]*\s+(?=\W?[^\W\d_a-z])"
    r"|\n\s*\n"
)
_HALF = re.compile("[\ud800-\udfff]")  # of a character


def languagetool(worker: Worker, tags: Sequence[str]) -> APIRouter:
    """Returns the requests below ``/v2``; ``tags``: of the languages, such as en-US."""
    router = APIRouter(tags=["LanguageTool"])
    answers: Result = {
        "languages": [{"name": tag, "code": tag[:2], "longCode": tag} for tag in tags],
        "info": {"software": SOFTWARE},
        "maxtextlength": MAX_TEXT,
        "words": {"words": []},  # clients keep those that they add
    }
    for name, answer in answers.items():
        router.add_api_route(f"/{name}", _always(answer), name=name)

    @router.get("/check")
    @router.post("/check", openapi_extra=FORM)
    async def check(request: Request) -> Result:
        """Find misspellings in a text: ``matches``, in UTF-16 code units."""
        body = (await request.body()).decode("utf-8", "replace")
        form = dict(parse_qsl(f"{request.url.query}&{body}", keep_blank_values=True))
        tag = form.get("language", "auto").replace("auto", tags[0])
        if not any(tag[:2] == known[:2] for known in tags):
            raise UserError(f"language={tag}: this server checks {', '.join(tags)}")
        text, places = read_text(form)
        lines = text.split("\n")
        asked = CorrectRequest.model_construct(lines=lines, before=[])
        results = await worker.correct(asked, lines)
        starts = accumulate((len(line) + 1 for line in lines), initial=0)
        edits = [
            edit | {"offset": start + edit["offset"]}
            for start, result in zip(starts, results)
            for edit in result["edits"]
        ]
        language = {"name": tag, "code": tag}
        return {
            "software": SOFTWARE,
            "warnings": {"incompleteResults": False},
            "language": {**language, "detectedLanguage": language},
            "matches": [match for match in matches(text, places, edits) if is_on(match, form)],
        }

    return router


def _always(answer: Any) -> Callable[[], Any]:
    return lambda: answer


def read_text(form: Mapping[str, str]) -> tuple[str, list[int]]:
    """Returns the text of a request as it is read, and where its characters are written.

    Raises:
        UserError: neither ``text`` nor ``data`` as LanguageTool describes it.
    """
    text, places, end = "", list[int](), 0
    try:
        data: Any = json.loads(form["data"]) if "data" in form else form
        for part in data.get("annotation", [data]):
            if "text" in part:
                shown = part["text"]
                *starts, end = accumulate(map(utf16, shown), initial=end)
            else:
                shown = part.get("interpretAs", "")
                starts = [MARKUP] * len(shown)
                end += utf16(part["markup"])
            text += shown
            places += starts
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UserError('send text=…, or data={"annotation": [{"text": …}, …]}') from None
    return _HALF.sub("\ufffd", text), places


def utf16(text: str) -> int:
    """Returns how many code units of UTF-16 a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def matches(text: str, places: Sequence[int], edits: Iterable[Result]) -> Iterator[Result]:
    """Yields LanguageTool's record of each edit that is made or worth a look, but for those that
    would touch markup; arguments as of :func:`read_text`."""
    ends = [0, *(end.end() for end in _END.finditer(text)), len(text)]
    for edit in edits:
        start, end = edit["offset"], edit["offset"] + edit["length"]
        first, last = start, end
        if start == end:  # clients show no match without a character: one next to it is taken
            first, last = max(start - 1, 0), max(end, 1)
        written, before = places[first:last], text[first:last]
        is_whole = written[-1] == written[0] + utf16(before[:-1]) and MARKUP not in written
        reasons = ("confidence", "unsure", "reported")
        is_worth = edit["reason"] in reasons and edit["probability"] >= WORTH
        if not (is_whole and (edit["applied"] or is_worth)):
            continue
        after = text[first:start] + edit["after"] + text[end:last]
        values = dict.fromkeys([after, *edit["others"]])
        rule, length = RULE if edit["applied"] else DOUBT, utf16(before)
        head = text[max(0, first - CONTEXT) : first]
        number = bisect(ends, first)
        yield {
            "offset": written[0],
            "length": length,
            "message": edit["message"] or rule["description"],
            "shortMessage": "Spelling",
            "replacements": [{"value": value} for value in values],
            "context": {
                "text": head + text[first : last + CONTEXT],
                "offset": utf16(head),
                "length": length,
            },
            "sentence": text[ends[number - 1] : ends[number]].strip(),
            "type": {"typeName": "UnknownWord" if edit["applied"] else "Hint"},
            "rule": rule,
            "ignoreForIncompleteSentence": False,
            "contextForSureMatch": 0,
        }


def is_on(match: Result, form: Mapping[str, str]) -> bool:
    """Returns whether a request asks for the rule of a match."""

    def is_listed(name: str, value: str) -> bool:
        return value in form.get(name, "").split(",")

    rule, category = match["rule"]["id"], match["rule"]["category"]["id"]
    is_named = is_listed("enabledRules", rule) or is_listed("enabledCategories", category)
    is_off = is_listed("disabledCategories", category)
    is_off = is_off or form.get("enabledOnly") in ("true", "yes")
    return not is_listed("disabledRules", rule) and (is_named or not is_off)
