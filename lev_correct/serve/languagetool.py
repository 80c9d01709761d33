"""LanguageTool's HTTP interface, which the plug-ins of editors and browsers speak.

Places in a text are counted in UTF-16 code units, from 0, as LanguageTool counts them.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request

from lev_runtime.errors import UserError

from .schema import FORM, RULE, SOFTWARE, Checked, Result

#: Probability below which a message tells it; characters around a match that are its context.
SURE, CONTEXT = 0.95, 40
Correct = Callable[[list[str]], Awaitable[list[Result]]]


def languagetool(correct: Correct, tags: list[str]) -> APIRouter:
    """Returns ``/check`` and ``/languages``.

    Args:
        correct: gives the records of a text's lines. tags: of the languages, such as en-US.
    """
    router = APIRouter(tags=["LanguageTool"])

    @router.get("/languages")
    def languages() -> list[dict[str, str]]:
        """List the languages that are checked."""
        return [{"name": tag, "code": tag[:2], "longCode": tag} for tag in tags]

    @router.post("/check", response_model=Checked, openapi_extra=FORM)
    async def check(request: Request) -> Result:
        """Find misspellings in a text."""
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        tag = form.get("language", "auto")
        if tag[:2] not in ("au", *(known[:2] for known in tags)):
            raise UserError(f"language={tag}: this server checks {', '.join(tags)}")
        tag = tags[0] if tag == "auto" else tag
        language = {"name": tag, "code": tag}
        results = await correct(read_text(form).split("\n"))
        language["detectedLanguage"] = dict(language)
        return {"software": SOFTWARE, "language": language, "matches": [*matches(results)]}

    return router


def read_text(form: dict[str, str]) -> str:
    """Returns the text of a request, with spaces instead of markup.

    Raises:
        UserError: neither ``text`` nor ``data`` as LanguageTool describes it.
    """
    try:
        if "text" in form:
            return form["text"]
        data = json.loads(form["data"])
        parts = data.get("annotation", [data])
        return "".join(
            part.get("text") or re.sub(r"\S", " ", part["markup"]) for part in parts
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UserError('send text=…, or data={"annotation": [{"text": …}, …]}') from None


def matches(results: list[Result]) -> Iterator[Result]:
    """Yields LanguageTool's record of each edit that is made in consecutive lines."""
    start = 0
    for result in results:
        line = result["source"]
        for edit in result["edits"]:
            if edit["applied"]:
                yield match(line, start, edit)
        start += utf16(line) + 1


def match(line: str, start: int, edit: Result) -> Result:
    """Returns the record of an edit; ``start``: of its line in the text."""
    offset, length, sure = edit["offset"], utf16(edit["before"]), edit["probability"]
    head = line[:offset][-CONTEXT:]
    around = head + line[offset:][: edit["length"] + CONTEXT]
    doubt = f" ({sure:.0%} sure)" if sure < SURE else ""
    return {
        "offset": start + utf16(line[:offset]),
        "length": length,
        "message": f"Possible spelling mistake{doubt}",
        "shortMessage": "Spelling",
        "replacements": [{"value": edit["after"]}],
        "context": {"text": around, "offset": utf16(head), "length": length},
        "sentence": line,
        "rule": RULE,
    }


def utf16(text: str) -> int:
    """Returns how many code units of UTF-16 a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
