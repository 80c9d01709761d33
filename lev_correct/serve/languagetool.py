"""LanguageTool's HTTP interface, which the plug-ins of editors and browsers speak.

Places in a text are counted in UTF-16 code units, from 0, as LanguageTool counts them.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request

from lev_runtime.errors import UserError

from .schema import FORM, RULE, Result

CONTEXT = 40  #: characters around a match that are shown with it


def languagetool(correct: Any, tags: Sequence[str]) -> APIRouter:
    """Returns ``/check`` and ``/languages``.

    Args:
        correct: awaits the records of a text's lines. tags: of the languages, such as en-US.
    """
    router = APIRouter(tags=["LanguageTool"])

    @router.get("/languages")
    def languages() -> list[Result]:
        """List the languages that are checked."""
        return [{"name": tag, "code": tag[:2], "longCode": tag} for tag in tags]

    @router.post("/check", openapi_extra=FORM)
    async def check(request: Request) -> Result:
        """Find misspellings in a text: ``matches``, in UTF-16 code units."""
        body = (await request.body()).decode("utf-8", "replace")
        form = dict(parse_qsl(body, keep_blank_values=True))
        tag = form.get("language", "auto").replace("auto", tags[0])
        if not any(tag[:2] == known[:2] for known in tags):
            raise UserError(f"language={tag}: this server checks {', '.join(tags)}")
        results = await correct(read_text(form).split("\n"))
        language = {"name": tag, "code": tag}
        return {
            "software": {"name": "lev-serve", "apiVersion": 1},
            "language": {**language, "detectedLanguage": language},
            "matches": [*matches(results)],
        }

    return router


def read_text(form: Mapping[str, str]) -> str:
    """Returns the text of a request, with spaces instead of markup.

    Raises:
        UserError: neither ``text`` nor ``data`` as LanguageTool describes it.
    """
    try:
        data: Any = json.loads(form["data"]) if "data" in form else form
        text = "".join(
            part["text"] if "text" in part else re.sub(r"\S", " ", part["markup"])
            for part in data.get("annotation", [data])
        )
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UserError('send text=…, or data={"annotation": [{"text": …}, …]}') from None


def matches(results: Iterable[Result]) -> Iterator[Result]:
    """Yields LanguageTool's record of each edit that is made in the lines of a text."""
    start = 0
    for result in results:
        line = result["source"]
        for edit in result["edits"]:
            if edit["applied"]:
                yield match(line, start, edit)
        start += utf16(line) + 1


def match(line: str, start: int, edit: Result) -> Result:
    """Returns the record of an edit; ``start``: of its line in the text."""
    offset, length = edit["offset"], utf16(edit["before"])
    head = line[:offset][-CONTEXT:]
    around = head + line[offset:][: edit["length"] + CONTEXT]
    return {
        "offset": start + utf16(line[:offset]),
        "length": length,
        "message": RULE["description"],
        "shortMessage": "Spelling",
        "replacements": [{"value": edit["after"]}],
        "context": {"text": around, "offset": utf16(head), "length": length},
        "sentence": line,
        "rule": RULE,
    }


def utf16(text: str) -> int:
    """Returns how many code units of UTF-16 a text has."""
    return len(text.encode("utf-16-le")) // 2
