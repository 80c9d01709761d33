"""The HTTP interface: the page, its files, and JSON in and out, described in /openapi.json."""

import asyncio
import hmac
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h11
from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.security import APIKeyQuery, HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from lev_runtime import __version__
from lev_runtime.errors import UserError

from .languagetool import languagetool
from .model import ServedModel
from .schema import (
    MAX_CHARS,
    CorrectRequest,
    EditRequest,
    Failure,
    PredictRequest,
    Result,
    Results,
)
from .service import Answer, Middleware, metrics, observer
from .worker import Worker

MAX_BYTES = 1_000_000  # of a request
SECONDS = 10.0  # for a whole request to come in
STATIC = Path(__file__).parent / "static"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",  # the token stands in the address
    "X-Content-Type-Options": "nosniff",
}
#: What an editor's plug-in asks, with the token in the path: it takes an address, no headers. Pages
#: elsewhere may read the answer, as those of plug-ins are: they have the token.
EDITORS = re.compile(r"(?:/([^/]+))?/v2/")
CORS = {"Access-Control-Allow-Origin": "*"}
PUBLIC = re.compile("/(health|ready|static/.*)")  # needs no token
NO_TOKEN = "the token is missing or wrong: open the address that lev-serve printed"
#: How the token may be sent, in the description; who checks it is the guard.
_TOKEN: Any = [
    Security(HTTPBearer(auto_error=False)),
    Security(APIKeyQuery(name="token", auto_error=False)),
]


def make_app(
    model: ServedModel,
    token: str,
    hosts: Sequence[str] | None = None,
    seconds: float = 30.0,
    languages: Sequence[str] = ("en-US",),
    access_log: bool = False,
) -> FastAPI:
    """The application, ready for any ASGI server.

    Args:
        token: what a request has to bring. hosts: by which the server may be called; None for any.
        seconds: after which a request is given up. languages: of a corrector, for LanguageTool's
            clients. access_log: whether each request is a line on standard error.
    """
    app = FastAPI(
        title="lev-serve",
        version=__version__,
        docs_url=None,  # these load scripts from elsewhere
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # texts stay here
        responses=dict.fromkeys((422, "default"), {"model": Failure, "description": "Why"}),
    )
    for kind in (HTTPException, RequestValidationError, UserError, Exception):
        app.add_exception_handler(kind, _refused)
    worker = Worker(model.runners, seconds)
    _add_page(app, model.info, worker)
    _add_model(app, worker)
    if "correct" in model.runners:
        router = languagetool(worker, languages)
        app.include_router(router, prefix="/v2", dependencies=_TOKEN)
        app.include_router(router, prefix="/{token}/v2", include_in_schema=False)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BYTES)
    app.middleware("http")(_guard(token.encode()))
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts or ["*"], www_redirect=False)
    app.middleware("http")(_as_json)
    app.middleware("http")(observer(access_log))
    return app


def _guard(token: bytes) -> Middleware:
    async def guard(request: Request, answer: Answer) -> Response:
        """Answers who has the token; anybody where the path is public."""
        path = request.url.path
        for_editor = EDITORS.match(path)
        kind, _, credentials = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            in_path = for_editor and for_editor[1]
            credentials = in_path or request.query_params.get("token", "")
        has_token = hmac.compare_digest(credentials.encode("utf-8", "replace"), token)
        encoding = request.headers.get("content-encoding", "identity")
        if not (has_token or PUBLIC.fullmatch(path)):
            return _failed(403, NO_TOKEN)
        if encoding != "identity":
            return _failed(415, f"Content-Encoding: {encoding}; send plain JSON")
        response = await answer(request)
        response.headers.update(HEADERS | (CORS if for_editor else {}))
        return response

    return guard


def _failed(status: int, message: str) -> JSONResponse:
    if status == 413:
        message = f"a request may have {MAX_BYTES:,} bytes: send less at once"
    return JSONResponse({"error": message}, status, HEADERS)


async def _as_json(request: Request, answer: Answer) -> Response:
    """An answer, or in JSON what a library refuses in plain text."""
    response = await answer(request)
    kind = response.headers.get("content-type", "")
    if response.status_code < 400 or not kind.startswith("text/plain"):
        return response
    reason = b"".join([part async for part in response.body_iterator])
    return _failed(response.status_code, reason.decode())


async def _refused(request: Request, error: Exception) -> Response:
    match error:
        case HTTPException():
            return _failed(error.status_code, f"{request.url.path}: {error.detail}")
        case RequestValidationError():
            first = error.errors()[0]
            reason = first["msg"]
            if first["type"] == "string_too_long":
                reason = f"{len(first['input']):,} characters, more than {MAX_CHARS:,}: divide it"
            message = f"{'.'.join(map(str, first['loc']))}: {reason}"
            if first["loc"] == ("body",):
                message += " (has it Content-Type: application/json?)"
            return _failed(422, message)
        case UserError():
            return _failed(422, str(error))
    return _failed(500, "the server failed; its log has the reason")


def _add_page(app: FastAPI, info: Result, worker: Worker) -> None:
    page = (STATIC / "index.html").read_text("utf-8")
    app.add_route("/", lambda _: Response(page, media_type="text/html"))
    app.mount("/static", StaticFiles(directory=STATIC))
    app.get("/metrics", dependencies=_TOKEN, response_class=Response)(metrics)

    @app.get("/health")
    def health() -> Result:
        """Say that the process lives."""
        return {"status": "ok"}

    @app.get("/ready")
    async def ready() -> Result:
        """Say whether a request would be answered soon."""
        await worker.wait()
        return {"status": "ready"}

    @app.get("/info", dependencies=_TOKEN)
    def describe() -> Result:
        """Describe the model."""
        return {**info, "chars": MAX_CHARS}


def _add_model(app: FastAPI, worker: Worker) -> None:
    async def edit(asked: EditRequest) -> Any:
        """Edit drafts, or write new outputs."""
        return {"results": await worker.answer("edit", asked, asked.sentences)}

    async def correct(asked: CorrectRequest) -> Any:
        """Correct lines."""
        return {"results": await worker.correct(asked, asked.lines)}

    async def predict(asked: PredictRequest) -> Any:
        """Predict labels, values or tags: the fields of a line of lev-predict."""
        return {"results": await worker.answer("predict", asked, asked.rows)}

    described: Any = {200: {"model": Results}}
    for handler in (edit, correct, predict):
        if handler.__name__ in worker.runners:
            path = f"/{handler.__name__}"
            app.post(path, dependencies=_TOKEN, responses=described)(handler)


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
