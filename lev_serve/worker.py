"""The thread that owns a model, in which requests take turns."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.exceptions import HTTPException

from lev_runtime.batching import by_budget
from lev_runtime.errors import UserError

from .model import Runner
from .schema import MAX_CHARS, Asked, CorrectRequest, Result, size

ROWS = 64  # that the model reads before other requests have their turn
#: As much of a line as the model takes, if possible up to a space.
_PART = re.compile(rf"(?s)^$|.{{1,{MAX_CHARS}}}(?!\S)|.{{1,{MAX_CHARS}}}")


class Worker:
    """Owns a model: one thread, in which requests take turns.

    Args:
        seconds: after which a request is given up.
    """

    def __init__(self, runners: Mapping[str, Runner], seconds: float) -> None:
        self.runners, self.seconds = runners, seconds
        self._thread = ThreadPoolExecutor(1, "lev-serve model")

    async def wait(self) -> None:
        """Waits for a turn; raises an HTTPException after half of ``seconds``."""
        try:
            async with asyncio.timeout(self.seconds / 2):
                await asyncio.get_running_loop().run_in_executor(self._thread, int)
        except TimeoutError:
            raise HTTPException(503, "the model is busy") from None

    async def answer(self, kind: str, asked: Asked, rows: Sequence[Any]) -> list[Result]:
        """Returns a result for each row; raises an HTTPException after ``seconds``."""
        run = asyncio.get_running_loop().run_in_executor
        sizes = list(map(size, rows))
        results: list[Result] = []
        try:
            async with asyncio.timeout(self.seconds):
                for part in by_budget(sizes, MAX_CHARS, ROWS):  # takes turns
                    batch = [rows[i] for i in part]
                    results += await run(self._thread, self.runners[kind], asked, batch)
        except TimeoutError:
            message = f"not done after {self.seconds:g} s; send fewer or shorter rows"
            raise HTTPException(504, message) from None
        except UserError as error:
            behind = f" (counted behind the first {len(results)})" if results else ""
            raise UserError(f"{error}{behind}") from None
        return results

    async def correct(self, asked: CorrectRequest, lines: Sequence[str]) -> list[Result]:
        """Returns the corrections of lines of any length, which are read in parts."""
        parts = [_PART.findall(line) for line in lines]
        answers = iter(await self.answer("correct", asked, sum(parts, [])))
        return [joined([next(answers) for _ in of_line]) for of_line in parts]


def joined(parts: Sequence[Result]) -> Result:
    """Returns the correction of a line of those of its parts."""
    first, *others = parts
    for part in others:
        start = len(first["source"])
        edits = [{**edit, "offset": start + edit["offset"]} for edit in part["edits"]]
        first = {name: first[name] + part[name] for name in ("source", "text")} | {
            "edits": first["edits"] + edits,
            "code": first["code"] and part["code"],
        }
    return first
