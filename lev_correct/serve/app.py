"""The HTTP interface: the page, its files, and JSON in and out, described in /openapi.json."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h11
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from lev_runtime import __version__
from lev_runtime.batching import by_budget
from lev_runtime.errors import UserError

from .model import Runner, ServedModel
from .schema import (
    MAX_CHARS,
    Asked,
    CorrectRequest,
    EditRequest,
    PredictRequest,
    Result,
    size,
)

Results = dict[str, list[Result]]
MAX_BYTES = 1_000_000  # of a request
SECONDS = 10.0  # for a whole request to come in
ROWS = 64  # that the model reads before other requests have their turn
STATIC = Path(__file__).parent / "static"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",  # the token stands in the address
    "X-Content-Type-Options": "nosniff",
}


def make_app(
    model: ServedModel, token: str, hosts: Sequence[str] | None = None, seconds: float = 30.0
) -> FastAPI:
    """The application, ready for any ASGI server.

    Args:
        token: what a request has to bring. hosts: by which the server may be called; None for any.
        seconds: after which a request is given up.
    """
    app = FastAPI(
        title="lev-serve",
        version=__version__,
        **dict.fromkeys(("docs_url", "redoc_url")),  # they load scripts from elsewhere
        telemetry={"tracing": False, "metrics": False, "logs": False},  # texts stay here
        responses={"default": {"description": '{"error": "why, in one line"}'}},
    )
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BYTES)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts or ["*"], www_redirect=False)
    app.middleware("http")(_guard(token.encode()))
    app.middleware("http")(_as_json)
    for kind in (HTTPException, RequestValidationError, UserError, Exception):
        app.add_exception_handler(kind, _refused)
    _add_page(app, model.info)
    _add_model(app, model.runners, seconds)
    return app


def _guard(token: bytes) -> Callable[..., Awaitable[Response]]:
    message = "the token is missing or wrong: open the address that lev-serve printed"

    async def guard(request: Request, answer: Callable[..., Awaitable[Response]]) -> Response:
        kind, _, credentials = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            credentials = request.query_params.get("token", "")
        public = request.url.path == "/health" or request.url.path.startswith("/static/")
        encoding = request.headers.get("content-encoding", "identity")
        if not (public or hmac.compare_digest(credentials.encode("utf-8", "replace"), token)):
            response = JSONResponse({"error": message}, 403)
        elif encoding != "identity":
            response = JSONResponse(
                {"error": f"Content-Encoding: {encoding}; send plain JSON"}, 415
            )
        else:
            response = await answer(request)
        response.headers.update(HEADERS)
        return response

    return guard


async def _as_json(request: Request, answer: Callable[..., Awaitable[Any]]) -> Response:
    """An answer, or in JSON what a library refuses in plain text."""
    response = await answer(request)
    if not response.headers.get("content-type", "").startswith("text/plain"):
        return response
    reason = b"".join([part async for part in response.body_iterator]).decode()
    return JSONResponse({"error": reason}, response.status_code, HEADERS)


async def _refused(request: Request, error: Exception) -> Response:
    status, message = 422, str(error)
    if isinstance(error, HTTPException):
        status, message = error.status_code, f"{request.url.path}: {error.detail}"
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        message = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        if first["loc"] == ("body",):
            message += " (has it Content-Type: application/json?)"
    elif not isinstance(error, UserError):
        status, message = 500, "the server failed; its log has the reason"
    return JSONResponse({"error": message}, status)


def _add_page(app: FastAPI, info: Result) -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    app.add_route("/", lambda _: Response(page, media_type="text/html"))
    app.add_route("/health", lambda _: JSONResponse({"status": "ok"}))
    app.add_route("/info", lambda _: JSONResponse({**info, "chars": MAX_CHARS}))
    app.mount("/static", StaticFiles(directory=STATIC))


def _add_model(app: FastAPI, runners: Mapping[str, Runner], seconds: float) -> None:
    thread = ThreadPoolExecutor(1, "lev-serve model")  # owns the model

    async def answer(kind: str, asked: Asked, rows: Sequence[Any]) -> Results:
        run = asyncio.get_running_loop().run_in_executor
        sizes = list(map(size, rows))
        results: list[Result] = []
        try:
            async with asyncio.timeout(seconds):
                for part in by_budget(sizes, MAX_CHARS, ROWS):  # takes turns
                    batch = [rows[i] for i in part]
                    results += await run(thread, runners[kind], asked, batch)
        except TimeoutError:
            message = f"not done after {seconds:g} s; send fewer or shorter rows"
            raise HTTPException(504, message) from None
        except UserError as error:
            behind = f" (counted behind the first {len(results)})" if results else ""
            raise UserError(f"{error}{behind}") from None
        return {"results": results}

    async def edit(asked: EditRequest) -> Results:
        """Edit drafts, or write new outputs."""
        return await answer("edit", asked, asked.sentences)

    async def correct(asked: CorrectRequest) -> Results:
        """Correct lines."""
        return await answer("correct", asked, asked.lines)

    async def predict(asked: PredictRequest) -> Results:
        """Predict labels, values or tags: the fields of a line of lev-predict."""
        return await answer("predict", asked, asked.rows)

    for handler in (edit, correct, predict):
        if handler.__name__ in runners:
            app.post(f"/{handler.__name__}")(handler)


class HttpProtocol(H11Protocol):
    """uvicorn's, which closes a connection with a part of a request, or none, after a while."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See the base class."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See the base class."""
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        is_part = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        if is_part and self._limit is None:
            self._limit = self.loop.call_later(SECONDS, self.transport.close)
        elif self._limit is not None and not is_part:
            self._limit.cancel()
            self._limit = None
